/*
 * cuBLAS, loaded when a GPU is opened. Products of floats are in floats: its short forms (TF32)
 * have other digits and are not asked for.
 */
#include "cublas.h"
#include "cuda_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CUBLAS_FUNCTIONS(F)                                                                        \
    F(Create, "cublasCreate_v2", (void **))                                                        \
    F(Destroy, "cublasDestroy_v2", (void *))                                                       \
    F(SetStream, "cublasSetStream_v2", (void *, void *))                                           \
    F(GemmStridedBatchedEx, "cublasGemmStridedBatchedEx",                                          \
      (void *, int, int, int, int, int, const void *, const void *, int, int, long long,           \
       const void *, int, int, long long, const void *, void *, int, int, long long, int, int,     \
       int))

enum {
    CUDA_R_32F = 0,
    CUDA_R_64F = 1,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
};

static struct {
#define MEMBER(name, symbol, arguments) int(*name) arguments;
    CUBLAS_FUNCTIONS(MEMBER)
#undef MEMBER
    bool ready;
} blas;
static pthread_once_t looked = PTHREAD_ONCE_INIT;

static bool loads(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return false;
#define FIND(name, symbol, arguments)                                                              \
    {                                                                                              \
        void *found = dlsym(library, symbol);                                                      \
        if (found == NULL) {                                                                       \
            dlclose(library);                                                                      \
            return false;                                                                          \
        }                                                                                          \
        memcpy(&blas.name, &found, sizeof found);                                                  \
    }
    CUBLAS_FUNCTIONS(FIND)
#undef FIND
    return true;
}

static void look(void)
{
    const char *wanted = getenv("REGIMEN_CUBLAS");

    blas.ready = (wanted == NULL || strcmp(wanted, "0") != 0) && rgmi_cuda_library("cublas", loads);
}

void *rgmi_cublas_open(void *stream)
{
    void *handle = NULL;

    pthread_once(&looked, look);
    if (!blas.ready || blas.Create(&handle) != 0)
        return NULL;
    if (blas.SetStream(handle, stream) == 0)
        return handle;
    rgmi_cublas_close(handle);
    return NULL;
}

void rgmi_cublas_close(void *handle)
{
    if (handle != NULL)
        (void)blas.Destroy(handle);
}

static bool fits(const rgm_product *p)
{
    const int64_t most = INT32_MAX;

    return p->m <= most && p->n <= most && p->k <= most && p->lda <= most && p->ldb <= most &&
           p->ldc <= most && p->batch <= most;
}

/* What it refuses for what it is asked, it has not begun. */
static rgm_status status_of(int code)
{
    switch (code) {
    case 0:
        return RGM_OK;
    case CUBLAS_STATUS_INVALID_VALUE:
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return RGM_ERR_UNSUPPORTED;
    case CUBLAS_STATUS_ALLOC_FAILED:
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: cuBLAS needs more of the device");
    default:
        return RGM_FAIL(RGM_ERR_IO, "cuBLAS cannot multiply: error %d", code);
    }
}

/* Its matrices are stored by columns: what it takes for c^T = b^T a^T is our c = a b. */
rgm_status rgmi_cublas_multiply(void *handle, const rgm_product *p, rgm_dtype dtype)
{
    const bool wide = dtype == RGM_F64;
    const int type = wide ? CUDA_R_64F : CUDA_R_32F;
    const double one = 1, beta = p->accumulate;
    const float one_narrow = 1, beta_narrow = p->accumulate;
    int code;

    if (handle == NULL || !fits(p))
        return RGM_ERR_UNSUPPORTED;
    code = blas.GemmStridedBatchedEx(
        handle, p->trans_b, p->trans_a, (int)p->n, (int)p->m, (int)p->k,
        wide ? (const void *)&one : &one_narrow, p->b, type, (int)p->ldb, p->stride_b, p->a, type,
        (int)p->lda, p->stride_a, wide ? (const void *)&beta : &beta_narrow, p->c, type,
        (int)p->ldc, p->stride_c, (int)p->batch, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
        CUBLAS_GEMM_DEFAULT);
    return status_of(code);
}
