/*
 * Rotary positions.
 */
#include "gpu.h"

RGMI_GPU_KERNEL(rotary, rotary);

void rgmi_gpu_rotary(rgm_dtype real, const rgm_rotary_args *args)
{
    int64_t count = args->rows * args->heads * (args->depth / 2);

    RGMI_LAUNCH(&rotary, real, rgmi_gpu_groups(count, 256), 256, rgm_memory(args->y),
                rgm_memory(args->x), rgm_memory(args->table), rgm_memory(args->position),
                rgm_integer(count), rgm_integer(args->positions), rgm_integer(args->heads),
                rgm_integer(args->depth), rgm_integer(args->back));
}
