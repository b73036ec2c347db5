/*
 * NVRTC, loaded when it is asked for.
 */
#include "nvrtc.h"
#include "cuda_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVRTC_FUNCTIONS(F)                                                                         \
    F(int, nvrtcVersion, (int *, int *))                                                           \
    F(int, nvrtcGetNumSupportedArchs, (int *))                                                     \
    F(int, nvrtcGetSupportedArchs, (int *))                                                        \
    F(int, nvrtcCreateProgram,                                                                     \
      (void **, const char *, const char *, int, const char *const *, const char *const *))        \
    F(int, nvrtcDestroyProgram, (void **))                                                         \
    F(int, nvrtcCompileProgram, (void *, int, const char *const *))                                \
    F(int, nvrtcGetCUBINSize, (void *, size_t *))                                                  \
    F(int, nvrtcGetCUBIN, (void *, char *))                                                        \
    F(int, nvrtcGetPTXSize, (void *, size_t *))                                                    \
    F(int, nvrtcGetPTX, (void *, char *))                                                          \
    F(int, nvrtcGetProgramLogSize, (void *, size_t *))                                             \
    F(int, nvrtcGetProgramLog, (void *, char *))                                                   \
    F(const char *, nvrtcGetErrorString, (int))

enum { NVRTC_ERROR_OUT_OF_MEMORY = 1, NVRTC_ERROR_COMPILATION = 6, MOST_ARCHITECTURES = 64 };

static struct {
#define MEMBER(result, name, arguments) result(*name) arguments;
    NVRTC_FUNCTIONS(MEMBER)
#undef MEMBER
    pthread_mutex_t lock;
    bool ready;
    int version;
} rtc = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- finding it ---------------------------------------------------------------------------- */

static bool is_complete(void *library)
{
#define FIND(result, name, arguments)                                                              \
    {                                                                                              \
        void *found = dlsym(library, #name);                                                       \
        if (found == NULL)                                                                         \
            return false;                                                                          \
        memcpy(&rtc.name, &found, sizeof found);                                                   \
    }
    NVRTC_FUNCTIONS(FIND)
#undef FIND
    return true;
}

static bool loads(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return false;
    if (is_complete(library))
        return true;
    dlclose(library);
    return false;
}

static rgm_status find_library(void)
{
    const char *own = getenv("REGIMEN_NVRTC");

    if (own != NULL)
        return loads(own)
                   ? RGM_OK
                   : RGM_FAIL(RGM_ERR_UNSUPPORTED,
                              "REGIMEN_NVRTC names '%s', which is no NVRTC: %s", own, dlerror());
    if (rgmi_cuda_library("nvrtc", loads))
        return RGM_OK;
    return RGM_FAIL(
        RGM_ERR_UNSUPPORTED,
        "NVRTC, CUDA's compiler, was not found: not where the loader looks, not in $CUDA_HOME, "
        "/usr/local/cuda*, /opt/cuda, $CONDA_PREFIX, nor in Python's packages; pip install "
        "nvidia-cuda-nvrtc, install the CUDA toolkit, or let REGIMEN_NVRTC name the file");
}

rgm_status rgmi_nvrtc_load(int *version)
{
    rgm_status status = RGM_OK;
    int major = 0, minor = 0;

    pthread_mutex_lock(&rtc.lock);
    if (!rtc.ready) {
        status = find_library();
        rtc.ready = status == RGM_OK;
        if (rtc.ready && rtc.nvrtcVersion(&major, &minor) == 0)
            rtc.version = 1000 * major + 10 * minor;
    }
    *version = rtc.version;
    pthread_mutex_unlock(&rtc.lock);
    return status;
}

/* ---- compiling ----------------------------------------------------------------------------- */

static rgm_status refused(void *program, int code, const char *name)
{
    size_t size = 0;
    char *text = NULL;
    rgm_status status = RGM_ERR_DATA;

    if (code == NVRTC_ERROR_OUT_OF_MEMORY)
        return RGM_FAIL(RGM_ERR_NOMEM, "NVRTC is out of memory");
    if (code != NVRTC_ERROR_COMPILATION)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "NVRTC cannot compile %s.dev: %s", name,
                        rtc.nvrtcGetErrorString(code));
    if (rtc.nvrtcGetProgramLogSize(program, &size) == 0)
        text = rgm_calloc(1, size + 1);
    if (text == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: what NVRTC says of %s.dev", name);
    (void)rtc.nvrtcGetProgramLog(program, text);
    status =
        RGM_FAIL(RGM_ERR_DATA, "%s.dev does not compile: %.700s", name, rgmi_compiler_words(text));
    rgm_free(text);
    return status;
}

/* Machine code of the architecture if this NVRTC knows it, else PTX of the newest that it knows,
 * which the driver translates. */
static void choose(char *out, size_t size, bool *is_ptx, int architecture)
{
    int known[MOST_ARCHITECTURES], count = 0, best = architecture;

    *is_ptx = false;
    if (rtc.nvrtcGetNumSupportedArchs(&count) == 0 && count > 0 && count <= MOST_ARCHITECTURES &&
        rtc.nvrtcGetSupportedArchs(known) == 0) {
        *is_ptx = true;
        best = known[0];
        for (int i = 0; i < count; i++) {
            if (known[i] == architecture)
                *is_ptx = false;
            if (known[i] <= architecture)
                best = known[i];
        }
    }
    snprintf(out, size, "--gpu-architecture=%s_%d", *is_ptx ? "compute" : "sm", best);
}

static rgm_status take_binary(rgm_text *binary, void *program, bool is_ptx)
{
    int (*size_of)(void *, size_t *) = is_ptx ? rtc.nvrtcGetPTXSize : rtc.nvrtcGetCUBINSize;
    int (*get)(void *, char *) = is_ptx ? rtc.nvrtcGetPTX : rtc.nvrtcGetCUBIN;
    size_t size = 0;
    char *data;
    rgm_status status;

    if (size_of(program, &size) != 0 || size == 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "NVRTC has no result");
    RGM_TRY(RGM_NEW(data, (int64_t)size));
    status = get(program, data) == 0 ? rgm_text_add(binary, data, (int64_t)size)
                                     : RGM_FAIL(RGM_ERR_UNSUPPORTED, "NVRTC has no result");
    rgm_free(data);
    return status;
}

rgm_status rgmi_nvrtc_compile(rgm_text *binary, const char *name, const char *source,
                              int architecture, rgm_dtype real)
{
    char target[60];
    const char *options[] = {target,
                             real == RGM_F64 ? "-DREAL=double" : "-DREAL=float",
                             "--std=c++17",
                             "--fmad=false",
                             "--generate-line-info",
                             "--disable-warnings"};
    void *program;
    bool is_ptx;
    rgm_status status;
    int code = rtc.nvrtcCreateProgram(&program, source, name, 0, NULL, NULL);

    if (code != 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "NVRTC cannot begin %s.dev: %s", name,
                        rtc.nvrtcGetErrorString(code));
    choose(target, sizeof target, &is_ptx, architecture);
    code = rtc.nvrtcCompileProgram(program, (int)(sizeof options / sizeof *options), options);
    status = code == 0 ? take_binary(binary, program, is_ptx) : refused(program, code, name);
    (void)rtc.nvrtcDestroyProgram(&program);
    return status;
}

rgm_status rgm_program_check(const char *name, const char *source, rgm_dtype dtype,
                             int architecture)
{
    rgm_text whole = {0}, binary = {0};
    rgm_status status;
    int version;

    RGM_GO(rgmi_nvrtc_load(&version));
    RGM_GO(rgmi_whole_source(&whole, name, source));
    status = rgmi_nvrtc_compile(&binary, name, whole.data, architecture, dtype);
done:
    rgm_text_clear(&binary);
    rgm_text_clear(&whole);
    return status;
}
