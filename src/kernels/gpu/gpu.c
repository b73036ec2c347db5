/*
 * The GPU's tables, made from the list of kernels; and how a row launches what its source file
 * compiles to.
 */
#include "gpu.h"

#include <pthread.h>
#include <string.h>

/* Set by the first rgm_kernels_for() of a device. A process drives one at a time. */
static rgm_device *gpu;

rgm_device *rgmi_gpu_device(void)
{
    return gpu;
}

/* Threads share what kernels were compiled to. */
static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;

/* Compiled and found; RGM_ERR_NOT_FOUND: the source has no such KERNEL for this device. */
static rgm_status find(rgm_device_kernel **out, const rgmi_gpu_kernel *kernel, int slot)
{
    rgm_program *program;

    *out = NULL;
    RGM_TRY(rgm_device_program(&program, gpu, kernel->source->name, kernel->source->text,
                               slot ? RGM_F64 : RGM_F32));
    return rgm_program_find(out, gpu, program, kernel->name);
}

/* NULL: it cannot be had, which the device has been told unless it may be missing. Each launch asks
 * again for what could not be had: none is left out without an error. */
static rgm_device_kernel *ready_for(rgmi_gpu_kernel *kernel, rgm_dtype real, bool may_be_missing)
{
    int slot = real == RGM_F64;
    rgm_device_kernel *found = NULL;
    rgm_status status = RGM_OK;

    pthread_mutex_lock(&compiling);
    if (kernel->ready[slot].opened == rgm_device_opened(gpu))
        found = kernel->ready[slot].kernel;
    else
        kernel->ready[slot].kernel = NULL;
    if (found == NULL &&
        !(may_be_missing && kernel->ready[slot].opened == rgm_device_opened(gpu))) {
        status = find(&found, kernel, slot);
        if (status == RGM_OK || (status == RGM_ERR_NOT_FOUND && may_be_missing))
            kernel->ready[slot].opened = rgm_device_opened(gpu);
        kernel->ready[slot].kernel = found;
    }
    pthread_mutex_unlock(&compiling);
    if (status != RGM_OK && !(may_be_missing && status == RGM_ERR_NOT_FOUND))
        rgm_device_fault(gpu, status);
    return found;
}

bool rgmi_gpu_has(rgmi_gpu_kernel *kernel, rgm_dtype real)
{
    return ready_for(kernel, real, true) != NULL;
}

void rgmi_gpu_launch(rgmi_gpu_kernel *kernel, rgm_dtype real, int64_t groups, int lanes,
                     const rgm_argument *arguments, int count)
{
    rgm_device_kernel *found = groups > 0 ? ready_for(kernel, real, false) : NULL;

    if (found != NULL)
        rgm_device_launch(gpu, found, groups, lanes, arguments, count);
}

rgm_argument rgmi_gpu_number(double number)
{
    int64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return rgm_integer(bits);
}

void *rgmi_gpu_take(size_t bytes)
{
    void *memory;
    rgm_status status = rgm_device_allocate(&memory, gpu, bytes);

    if (status != RGM_OK)
        rgm_device_fault(gpu, status);
    return memory;
}

void rgmi_gpu_give(void *memory)
{
    rgm_device_free(gpu, memory);
}

int64_t rgmi_gpu_groups(int64_t count, int lanes)
{
    return rgmi_min(rgmi_blocks(count, lanes), 65536);
}

/* ---- tables -------------------------------------------------------------------------------- */

#define F32(result, name, arguments)                                                               \
    static result f32_##name arguments                                                             \
    {                                                                                              \
        return rgmi_gpu_##name(RGM_F32, args);                                                     \
    }
#define F64(result, name, arguments)                                                               \
    static result f64_##name arguments                                                             \
    {                                                                                              \
        return rgmi_gpu_##name(RGM_F64, args);                                                     \
    }
RGM_KERNEL_LIST(F32, F32, F32)
RGM_KERNEL_LIST(F64, F64, F64)

/* Products in bf16: the float table with another matmul. */
static rgm_kernels bf16;
static pthread_once_t bf16_made = PTHREAD_ONCE_INIT;

static void bf16_matmul(const rgm_matmul_args *args)
{
    rgmi_gpu_matmul(RGM_BF16, args);
}

static size_t bf16_matmul_pack(const rgm_matmul_args *args)
{
    return rgmi_gpu_matmul_pack(RGM_BF16, args);
}

#define F32_ENTRY(result, name, arguments) .name = f32_##name,
#define F64_ENTRY(result, name, arguments) .name = f64_##name,

static const rgm_kernels f32 = {.isa = "gpu",
                                .dtype = RGM_F32,
                                .activates_sums = true,
                                RGM_KERNEL_LIST(F32_ENTRY, F32_ENTRY, F32_ENTRY)};
static const rgm_kernels f64 = {.isa = "gpu",
                                .dtype = RGM_F64,
                                .activates_sums = true,
                                RGM_KERNEL_LIST(F64_ENTRY, F64_ENTRY, F64_ENTRY)};

static void make_bf16(void)
{
    bf16 = f32;
    bf16.matmul = bf16_matmul;
    bf16.matmul_pack = bf16_matmul_pack;
}

const rgm_kernels *rgmi_gpu_kernels(rgm_device *device, rgm_dtype dtype)
{
    gpu = device;
    if (dtype == RGM_F64)
        return &f64;
    if (dtype != RGM_BF16)
        return dtype == RGM_F32 ? &f32 : NULL;
    pthread_once(&bf16_made, make_bf16);
    return &bf16;
}
