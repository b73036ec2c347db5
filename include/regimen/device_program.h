/*
 * device_program: kernels that a device compiles from source when they are first needed: GPUs, and
 * whatever else speaks OpenCL. One source serves all: the part of C that OpenCL C 1.2 and CUDA C
 * share, by the words of src/device/prelude.dev.
 *
 *     KERNEL void scale(FLAG, MEMORY(y), MEMORY(x), long count, REAL factor)
 *     {
 *         STOP_IF_RAISED;
 *         for (long i = GROUP * LANES + LANE; i < count; i += GROUPS * LANES)
 *             AT(REAL, y)[i] = factor * AT(const REAL, x)[i];
 *     }
 *
 *     RGM_TRY(rgm_device_program(&program, device, "scale", source, RGM_F32));
 *     RGM_TRY(rgm_program_find(&scale, device, program, "scale"));
 *     rgm_argument arguments[] = {rgm_memory(y), rgm_memory(x), rgm_integer(n), rgm_real(0.5)};
 *     rgm_device_launch(device, scale, (n + 255) / 256, 256, arguments, 4);
 *     RGM_TRY(rgm_device_copy_from(device, host, y, bytes));
 */
#ifndef REGIMEN_DEVICE_PROGRAM_H
#define REGIMEN_DEVICE_PROGRAM_H

#include <regimen/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A compiled source: its device's. */
typedef struct rgm_program rgm_program;
/** One KERNEL of a program; lives as long as that. */
typedef struct rgm_device_kernel rgm_device_kernel;

/** What a kernel is given: an address of the device or NULL (MEMORY), a whole number (long), or a
 * number (REAL: of the program's dtype). */
typedef enum rgm_argument_kind {
    RGM_ARGUMENT_MEMORY,
    RGM_ARGUMENT_INTEGER,
    RGM_ARGUMENT_REAL
} rgm_argument_kind;

typedef struct rgm_argument {
    rgm_argument_kind kind;
    union {
        const void *memory;
        int64_t integer;
        double real;
    } value;
} rgm_argument;

/** An argument for MEMORY: an address of the device, or NULL. */
static inline rgm_argument rgm_memory(const void *memory)
{
    return (rgm_argument){RGM_ARGUMENT_MEMORY, {.memory = memory}};
}

/** An argument for a long. */
static inline rgm_argument rgm_integer(int64_t integer)
{
    return (rgm_argument){RGM_ARGUMENT_INTEGER, {.integer = integer}};
}

/** An argument for a REAL, rounded to what that is in the program. */
static inline rgm_argument rgm_real(double real)
{
    return (rgm_argument){RGM_ARGUMENT_REAL, {.real = real}};
}

/** The most arguments of a kernel, FLAG not counted. */
#define RGM_ARGUMENTS 48

/**
 * c [m, n] = a [m, k] b [k, n] (+ c when `accumulate`), for each of `batch` products; row-major,
 * ld* elements between rows as stored, stride_* between products. trans_a: a is stored [k, m];
 * trans_b: b is stored [n, k].
 */
typedef struct rgm_product {
    void *c;
    const void *a, *b;
    int64_t m, n, k, lda, ldb, ldc;
    int64_t batch, stride_a, stride_b, stride_c;
    bool trans_a, trans_b, accumulate;
} rgm_product;

/** The functions below, of a device that has them: the member `compiler` of its type. */
typedef struct rgm_device_compiler {
    rgm_status (*program)(rgm_program **out, rgm_device *device, const char *name,
                          const char *source, rgm_dtype dtype);
    rgm_status (*find)(rgm_device_kernel **out, rgm_device *device, rgm_program *program,
                       const char *name);
    void (*launch)(rgm_device *device, rgm_device_kernel *kernel, int64_t groups, int lanes,
                   const rgm_argument *arguments, int count);
    void (*watch)(rgm_device *device, const void *flag);
    void (*fault)(rgm_device *device, rgm_status status);
    bool (*multiply)(rgm_device *device, const rgm_product *product, rgm_dtype dtype); /* or NULL */
} rgm_device_compiler;

/**
 * Compile `source` behind the prelude, with REAL as `dtype` (RGM_F32 or RGM_F64). The result is
 * kept on disk by the content of source, options and compiler, and read from there the next time.
 * @param out   [out, borrowed] the device's, until it is released: asked for again, the same
 * @param name  of messages
 * Errors: RGM_ERR_UNSUPPORTED: the device compiles nothing, or has no doubles; RGM_ERR_DATA: the
 * compiler's words, with file and line; RGM_ERR_NOMEM.
 */
rgm_status rgm_device_program(rgm_program **out, rgm_device *device, const char *name,
                              const char *source, rgm_dtype dtype);
/**
 * Compile for a GPU that need not be here, to see whether it does: `architecture` is CUDA's compute
 * capability, 90 for 9.0 (H100). The other arguments and errors are those of rgm_device_program();
 * RGM_ERR_UNSUPPORTED: NVRTC was not found, with what was tried.
 */
rgm_status rgm_program_check(const char *name, const char *source, rgm_dtype dtype,
                             int architecture);
/** *out [borrowed]: the KERNEL of that name, or NULL. Errors: RGM_ERR_NOT_FOUND. */
rgm_status rgm_program_find(rgm_device_kernel **out, rgm_device *device, rgm_program *program,
                            const char *name);

/**
 * Queue a kernel: `groups` groups of `lanes` threads each, in the order of the calls. 0 groups do
 * nothing. FLAG is not among `arguments`: it is that of the thread's last rgm_device_watch(). What
 * fails, now or later, is told by the next copy_from or wait of the thread that launched it; until
 * then nothing that it launches is run. A thread that launches nothing is told what others were.
 */
void rgm_device_launch(rgm_device *device, rgm_device_kernel *kernel, int64_t groups, int lanes,
                       const rgm_argument *arguments, int count);
/**
 * Queue a dense product of floats or doubles by the library of the device's maker: cuBLAS on CUDA,
 * where it is installed and REGIMEN_CUBLAS is not 0. It does not look at the flag: it reads and
 * writes nothing but a, b and c. false: there is no such library, or it declines; nothing was
 * queued.
 */
bool rgm_device_multiply(rgm_device *device, const rgm_product *product, rgm_dtype dtype);
/** A number that no other device of this process has, not one before it either; above 0. */
uint64_t rgm_device_opened(const rgm_device *device);
/** Kernels that the calling thread launches from now on do nothing once the int64 at `flag`, in the
 * device's memory, is not 0. NULL: they always run, and so they do when that memory is freed. */
void rgm_device_watch(rgm_device *device, const void *flag);
/** A kernel could not be launched (no memory, no program): the next copy_from or wait says so with
 * the message that `status` left. The first one stands. */
void rgm_device_fault(rgm_device *device, rgm_status status);

#ifdef __cplusplus
}
#endif
#endif
