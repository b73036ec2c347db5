/*
 * Dropout, by the draws of the CPU's.
 */
#include "gpu_walk.h"

RGMI_GPU_KERNEL(dropout, dropout_blocks);
RGMI_GPU_KERNEL(dropout, dropout_groups);
RGMI_GPU_KERNEL(dropout, dropout_numbered);

enum { SHARED = 9 }; /* arguments that all kernels have */

void rgmi_gpu_dropout(rgm_dtype real, const rgm_dropout_args *args)
{
    int64_t group = rgmi_max(1, args->group), count = args->count;
    rgm_argument arguments[SHARED + 2] = {
        rgm_memory(args->y),
        rgm_memory(args->x),
        rgm_memory(args->residual),
        rgm_integer(count),
        rgm_integer(group),
        rgm_integer((int64_t)(args->rate * 65536 + 0.5)),
        rgm_real(1 / (1 - args->rate)),
        rgm_integer((int64_t)(args->rng.key[0] | (uint64_t)args->rng.key[1] << 32)),
        rgm_integer((int64_t)args->rng.step)};

    if (args->number != NULL) {
        arguments[SHARED] = rgm_memory(args->number);
        arguments[SHARED + 1] = rgm_integer(args->width);
        rgmi_gpu_launch(&dropout_numbered, real, rgmi_gpu_groups(count, 256), 256, arguments,
                        SHARED + 2);
    } else if (group == 1) {
        arguments[SHARED] =
            rgm_integer(rgmi_gpu_is_aligned(real, args->x, args->y, args->residual));
        rgmi_gpu_launch(&dropout_blocks, real, rgmi_gpu_groups(rgmi_blocks(count, 8), 256), 256,
                        arguments, SHARED + 1);
    } else {
        rgmi_gpu_launch(&dropout_groups, real, rgmi_gpu_groups(count, 256), 256, arguments, SHARED);
    }
}
