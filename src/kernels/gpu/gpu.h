/*
 * What the files of the GPU's rows share. A row is C for the host, one for all dtypes: it chooses
 * groups and lanes and launches KERNELs of a source file beside it (NAME.dev), which are compiled
 * when they are first launched. A process drives one GPU, so a row need not be told which.
 */
#ifndef RGM_GPU_H
#define RGM_GPU_H

#include "../kernels_internal.h"
#include <regimen/device_program.h>

/** A source file, in the program: made by cmake/device_source.cmake. */
typedef struct rgmi_gpu_source {
    const char *name, *text;
} rgmi_gpu_source;
/** All of them; NULL is behind the last. */
extern const rgmi_gpu_source *const rgmi_gpu_sources[];

/** A KERNEL of a source file, and what it was compiled to: static data of its row. */
typedef struct rgmi_gpu_kernel {
    const rgmi_gpu_source *source;
    const char *name;
    struct {
        uint64_t opened; /* of which device: see rgm_device_opened() */
        rgm_device_kernel *kernel;
    } ready[2]; /* f32, f64 */
} rgmi_gpu_kernel;

/** At the top of a row's file: the KERNEL `kernel` of file.dev. */
#define RGMI_GPU_KERNEL(file, kernel)                                                              \
    extern const rgmi_gpu_source rgmi_gpu_source_##file;                                           \
    static rgmi_gpu_kernel kernel = {.source = &rgmi_gpu_source_##file, .name = #kernel}

/** The rows, which each dtype's table calls; `real` is RGM_F32, RGM_F64 or, where only matmul may
 * see it, RGM_BF16. */
#define RGMI_GPU_INSIDE(...) __VA_ARGS__
#define RGMI_GPU_ROW(result, name, arguments)                                                      \
    result rgmi_gpu_##name(rgm_dtype real, RGMI_GPU_INSIDE arguments);
RGM_KERNEL_LIST(RGMI_GPU_ROW, RGMI_GPU_ROW, RGMI_GPU_ROW)

/** The table of `device`, which compiles programs; from now on it is the process's GPU. */
const rgm_kernels *rgmi_gpu_kernels(rgm_device *device, rgm_dtype dtype);
/** The process's GPU. */
rgm_device *rgmi_gpu_device(void);

/** Queue a KERNEL, compiled for `real`; what fails is told by the device's next copy or wait. */
void rgmi_gpu_launch(rgmi_gpu_kernel *kernel, rgm_dtype real, int64_t groups, int lanes,
                     const rgm_argument *arguments, int count);
/** Whether the source has this KERNEL on this device, as it is one for some of them alone. */
bool rgmi_gpu_has(rgmi_gpu_kernel *kernel, rgm_dtype real);
/** RGMI_LAUNCH(&kernel, real, groups, lanes, argument, ...) */
#define RGMI_LAUNCH(kernel, real, groups, lanes, ...)                                              \
    rgmi_gpu_launch(kernel, real, groups, lanes, (const rgm_argument[]){__VA_ARGS__},              \
                    (int)(sizeof((const rgm_argument[]){__VA_ARGS__}) / sizeof(rgm_argument)))

/** A double for a parameter that is read by NUMBER() of the prelude: not rounded to REAL. */
rgm_argument rgmi_gpu_number(double number);

/** Scratch memory of the GPU, NULL when there is none: then the device has been told, and the row
 * returns. It may be given back as soon as the kernels that use it are launched. */
void *rgmi_gpu_take(size_t bytes);
void rgmi_gpu_give(void *memory);

/** Groups of `lanes` for `count` elements, each lane taking several where there are very many. */
int64_t rgmi_gpu_groups(int64_t count, int lanes);

#endif
