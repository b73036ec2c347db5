/*
 * A GPU that is not there: its rows are those of GPUs, which choose groups and lanes and ask for
 * programs and launches as they would on one; nothing of that runs. The CPU's row behind each makes
 * the numbers, so that what depends on them goes as it would there: so its tables do not say
 * `activates_sums`, since the CPU's rows do not. Its memory is the host's.
 *
 * Who includes it defines, or leaves out:
 *     SHADOW_PROGRAM(name, source, dtype)   a status: a program is asked for
 *     SHADOW_LAUNCHED                       a launch, or a product of the maker's library
 *     SHADOW_CALLED(name, dtype)            behind the GPU's part of a row; its `args`, and
 *                                           shadow.scratch, the bytes that it took, can be read
 *     SHADOW_COPIED(member, bytes)          a copy; member is `to` or `from`
 */
#ifndef RGM_SHADOW_DEVICE_H
#define RGM_SHADOW_DEVICE_H

#include <regimen/device_program.h>
#include <regimen/kernels.h>

#include <stdlib.h>
#include <string.h>

#ifndef SHADOW_PROGRAM
#define SHADOW_PROGRAM(name, source, dtype) RGM_OK
#endif
#ifndef SHADOW_LAUNCHED
#define SHADOW_LAUNCHED (void)0
#endif
#ifndef SHADOW_CALLED
#define SHADOW_CALLED(name, dtype) (void)0
#endif
#ifndef SHADOW_COPIED
#define SHADOW_COPIED(member, bytes) (void)(bytes)
#endif

static struct shadow_device {
    rgm_device *device, *behind; /* the one that is used; whose rows are asked */
    bool cpu_alone;              /* without the GPU's rows                     */
    bool inside;                 /* a row runs: what it calls is part of it    */
    bool computing;              /* its numbers are made                       */
    size_t scratch;              /* bytes that the GPU's part of it has taken  */
} shadow;

static rgm_status shadow_allocate(void **out, rgm_device *device, size_t bytes)
{
    (void)device;
    *out = aligned_alloc(256, (bytes + 256) / 256 * 256);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes", bytes);
    memset(*out, 0, bytes);
    if (shadow.inside && !shadow.computing)
        shadow.scratch += bytes;
    return RGM_OK;
}

static void shadow_free(rgm_device *device, void *memory)
{
    (void)device;
    free(memory);
}

static rgm_status shadow_copy_to(rgm_device *device, void *to, const void *from, size_t bytes)
{
    (void)device;
    memmove(to, from, bytes);
    SHADOW_COPIED(to, bytes);
    return RGM_OK;
}

static rgm_status shadow_copy_from(rgm_device *device, void *to, const void *from, size_t bytes)
{
    (void)device;
    memmove(to, from, bytes);
    SHADOW_COPIED(from, bytes);
    return RGM_OK;
}

static rgm_status shadow_wait(rgm_device *device)
{
    (void)device;
    return RGM_OK;
}

/* Any address will do: nobody looks behind it. */
static rgm_status shadow_program(rgm_program **out, rgm_device *device, const char *name,
                                 const char *source, rgm_dtype dtype)
{
    (void)name, (void)source, (void)dtype;
    *out = (rgm_program *)(void *)device;
    return SHADOW_PROGRAM(name, source, dtype);
}

static rgm_status shadow_find(rgm_device_kernel **out, rgm_device *device, rgm_program *program,
                              const char *name)
{
    (void)program, (void)name;
    *out = (rgm_device_kernel *)(void *)device;
    return RGM_OK;
}

static void shadow_launch(rgm_device *device, rgm_device_kernel *kernel, int64_t groups, int lanes,
                          const rgm_argument *arguments, int count)
{
    (void)device, (void)kernel, (void)groups, (void)lanes, (void)arguments, (void)count;
    SHADOW_LAUNCHED;
}

/* As where cuBLAS is installed. */
static bool shadow_multiply(rgm_device *device, const rgm_product *product, rgm_dtype dtype)
{
    const char *wanted = getenv("REGIMEN_CUBLAS");

    (void)device, (void)dtype, (void)product;
    if (wanted != NULL && strcmp(wanted, "0") == 0)
        return false;
    SHADOW_LAUNCHED;
    return true;
}

static void shadow_watch(rgm_device *device, const void *flag)
{
    (void)device, (void)flag;
}

/* A row could not launch: a program that does not compile, say. */
static rgm_status shadow_failed;

static void shadow_fault(rgm_device *device, rgm_status status)
{
    (void)device;
    shadow_failed = status;
}

static inline void shadow_leave(const int *entered)
{
    (void)entered;
    shadow.inside = shadow.computing = false;
    shadow.scratch = 0;
}

#define SHADOW_ROW(dtype, name)                                                                    \
    if (shadow.inside)                                                                             \
        return rgm_kernels_for(shadow.computing ? rgm_device_cpu() : shadow.behind, dtype)         \
            ->name(args);                                                                          \
    shadow.inside = true;                                                                          \
    __attribute__((cleanup(shadow_leave), unused)) int entered = 0;                                \
    if (!shadow.cpu_alone)                                                                         \
        (void)rgm_kernels_for(shadow.behind, dtype)->name(args);                                   \
    SHADOW_CALLED(name, dtype);                                                                    \
    shadow.computing = true;                                                                       \
    return rgm_kernels_for(rgm_device_cpu(), dtype)->name(args)

#define SHADOW_F32(result, name, arguments)                                                        \
    static result shadow_f32_##name arguments                                                      \
    {                                                                                              \
        SHADOW_ROW(RGM_F32, name);                                                                 \
    }
#define SHADOW_F64(result, name, arguments)                                                        \
    static result shadow_f64_##name arguments                                                      \
    {                                                                                              \
        SHADOW_ROW(RGM_F64, name);                                                                 \
    }
#define SHADOW_BF16(result, name, arguments)                                                       \
    static result shadow_bf16_##name arguments                                                     \
    {                                                                                              \
        SHADOW_ROW(RGM_BF16, name);                                                                \
    }
RGM_KERNEL_LIST(SHADOW_F32, SHADOW_F32, SHADOW_F32)
RGM_KERNEL_LIST(SHADOW_F64, SHADOW_F64, SHADOW_F64)
RGM_KERNEL_LIST(SHADOW_BF16, SHADOW_BF16, SHADOW_BF16)

#define SHADOW_F32_ENTRY(result, name, arguments)  .name = shadow_f32_##name,
#define SHADOW_F64_ENTRY(result, name, arguments)  .name = shadow_f64_##name,
#define SHADOW_BF16_ENTRY(result, name, arguments) .name = shadow_bf16_##name,

static const rgm_kernels *shadow_kernels(rgm_device *device, rgm_dtype dtype)
{
    static const rgm_kernels f32 = {
        .isa = "gpu",
        .dtype = RGM_F32,
        RGM_KERNEL_LIST(SHADOW_F32_ENTRY, SHADOW_F32_ENTRY, SHADOW_F32_ENTRY)};
    static const rgm_kernels f64 = {
        .isa = "gpu",
        .dtype = RGM_F64,
        RGM_KERNEL_LIST(SHADOW_F64_ENTRY, SHADOW_F64_ENTRY, SHADOW_F64_ENTRY)};
    static const rgm_kernels bf16 = {
        .isa = "gpu",
        .dtype = RGM_F32,
        RGM_KERNEL_LIST(SHADOW_BF16_ENTRY, SHADOW_BF16_ENTRY, SHADOW_BF16_ENTRY)};

    (void)device;
    return dtype == RGM_F64 ? &f64 : dtype == RGM_BF16 ? &bf16 : &f32;
}

/** shadow.device, from now on. */
static rgm_status shadow_open(void)
{
    static const rgm_device_compiler compiler = {.program = shadow_program,
                                                 .find = shadow_find,
                                                 .launch = shadow_launch,
                                                 .watch = shadow_watch,
                                                 .fault = shadow_fault,
                                                 .multiply = shadow_multiply};
    static const rgm_device_type type = {.name = "shadow",
                                         .allocate = shadow_allocate,
                                         .free = shadow_free,
                                         .copy_to = shadow_copy_to,
                                         .copy_from = shadow_copy_from,
                                         .wait = shadow_wait,
                                         .kernels = shadow_kernels};
    static rgm_device_type behind;

    behind = type;
    behind.kernels = NULL;
    behind.compiler = &compiler;
    shadow_failed = RGM_OK;
    RGM_TRY(rgm_device_create(&shadow.behind, &behind, NULL));
    return rgm_device_create(&shadow.device, &type, NULL);
}

static inline void shadow_close(void)
{
    rgm_device_release(shadow.device);
    rgm_device_release(shadow.behind);
    shadow = (struct shadow_device){0};
}

#endif
