/*
 * What fills memory and moves it as it stands.
 */
#include "gpu.h"

RGMI_GPU_KERNEL(fill, fill);
RGMI_GPU_KERNEL(fill, copy16);
RGMI_GPU_KERNEL(fill, copy4);
RGMI_GPU_KERNEL(fill, copy1);
RGMI_GPU_KERNEL(fill, swap16);
RGMI_GPU_KERNEL(fill, swap4);
RGMI_GPU_KERNEL(fill, swap1);

void rgmi_gpu_fill(rgm_dtype real, const rgm_fill_args *args)
{
    RGMI_LAUNCH(&fill, real, rgmi_gpu_groups(args->count, 256), 256, rgm_memory(args->y),
                rgm_integer(args->count), rgm_real(args->value));
}

/* 16, 4 or 1: the largest that divides all of the numbers, which are or'ed. */
static int64_t unit_of(uintptr_t numbers)
{
    return numbers % 16 == 0 ? 16 : numbers % 4 == 0 ? 4 : 1;
}

void rgmi_gpu_copy(rgm_dtype real, const rgm_copy_args *args)
{
    size_t across = args->zeros_before + args->size + args->zeros_behind;
    uintptr_t step = args->outer > 1 ? args->x_step | args->y_step : 0;
    uintptr_t from = args->size > 0 ? (uintptr_t)args->x : 0;
    int64_t unit = unit_of((uintptr_t)args->y | from | step | args->size | args->zeros_before |
                           args->zeros_behind);
    int64_t each = (int64_t)across / unit, count = args->outer * each;
    rgmi_gpu_kernel *kernel = unit == 16 ? &copy16 : unit == 4 ? &copy4 : &copy1;

    (void)real;
    if (args->x == args->y && args->x_step == args->y_step && across == args->size)
        return; /* nothing moves */
    RGMI_LAUNCH(kernel, RGM_F32, rgmi_gpu_groups(count, 256), 256, rgm_memory(args->y),
                rgm_memory(args->size > 0 ? args->x : NULL), rgm_integer(count), rgm_integer(each),
                rgm_integer((int64_t)args->zeros_before / unit),
                rgm_integer((int64_t)args->size / unit), rgm_integer((int64_t)args->y_step / unit),
                rgm_integer((int64_t)args->x_step / unit));
}

void rgmi_gpu_swap(rgm_dtype real, const rgm_swap_args *args)
{
    int64_t unit = unit_of((uintptr_t)args->a | (uintptr_t)args->b | args->bytes);
    int64_t count = (int64_t)args->bytes / unit;
    rgmi_gpu_kernel *kernel = unit == 16 ? &swap16 : unit == 4 ? &swap4 : &swap1;

    (void)real;
    RGMI_LAUNCH(kernel, RGM_F32, rgmi_gpu_groups(count, 256), 256, rgm_memory(args->a),
                rgm_memory(args->b), rgm_integer(count));
}
