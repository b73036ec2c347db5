/*
 * What fills and moves memory.
 */
#include "gpu.h"

RGMI_GPU_KERNEL(fill, fill);

void rgmi_gpu_fill(rgm_dtype real, const rgm_fill_args *args)
{
    RGMI_LAUNCH(&fill, real, rgmi_gpu_groups(args->count, 256), 256, rgm_memory(args->y),
                rgm_integer(args->count), rgm_real(args->value));
}
