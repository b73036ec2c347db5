/* By index: gathers of any dtype, the check that goes before them, degrees. */
#include "gpu.h"

enum { LANES = 256, CHECK_GROUPS = 256, ONE_GROUP = 8192 /* indices */ };

RGMI_GPU_KERNEL(gather, gather_1);
RGMI_GPU_KERNEL(gather, gather_4);
RGMI_GPU_KERNEL(gather, gather_8);
RGMI_GPU_KERNEL(gather, gather_16);
RGMI_GPU_KERNEL(gather, index_outside);
RGMI_GPU_KERNEL(gather, index_raise);
RGMI_GPU_KERNEL(gather, degree_float);
RGMI_GPU_KERNEL(gather, degree_double);
RGMI_GPU_KERNEL(gather, degree_int);
RGMI_GPU_KERNEL(gather, degree_long);

/* In the largest units that rows consist of and that memory is aligned to. */
void rgmi_gpu_gather_bytes(rgm_dtype real, const rgm_gather_args *args)
{
    static const struct {
        rgmi_gpu_kernel *kernel;
        int64_t bytes;
    } units[] = {{&gather_16, 16}, {&gather_8, 8}, {&gather_4, 4}, {&gather_1, 1}};
    uint64_t apart = (uint64_t)args->channels | (uintptr_t)args->x | (uintptr_t)args->y;
    int k = 0;

    (void)real;
    while (apart % (uint64_t)units[k].bytes != 0)
        k++;
    RGMI_LAUNCH(units[k].kernel, RGM_F32,
                rgmi_gpu_groups(args->count * (args->channels / units[k].bytes), LANES), LANES,
                rgm_memory(args->y), rgm_memory(args->x), rgm_memory(args->index),
                rgm_integer(args->index_dtype == RGM_I64), rgm_integer(args->count),
                rgm_integer(args->channels / units[k].bytes));
}

void rgmi_gpu_gather(rgm_dtype real, const rgm_gather_args *args)
{
    rgm_gather_args bytes = *args;

    bytes.channels *= (int64_t)rgm_dtype_size(real);
    rgmi_gpu_gather_bytes(real, &bytes);
}

#define INDICES(o)                                                                                 \
    rgm_memory((o)->index), rgm_integer((o)->index_dtype == RGM_I64), rgm_integer((o)->count),     \
        rgm_integer((o)->least), rgm_integer((o)->limit)

/* Of many indices each group finds its own, and one group the lowest of them. What is launched from
 * now on watches the flag. */
void rgmi_gpu_index_check(rgm_dtype real, const rgm_index_args *args)
{
    int64_t groups = rgmi_min(CHECK_GROUPS, rgmi_blocks(args->count, LANES));
    void *first = NULL;

    (void)real;
    rgm_device_watch(rgmi_gpu_device(), args->flag);
    if (args->count > ONE_GROUP) {
        first = rgmi_gpu_take((size_t)groups * sizeof(int64_t));
        if (first == NULL)
            return;
        RGMI_LAUNCH(&index_outside, RGM_F32, groups, LANES, rgm_memory(first), INDICES(args));
    }
    if (args->count > 0)
        RGMI_LAUNCH(&index_raise, RGM_F32, 1, LANES, rgm_memory(args->flag), rgm_memory(first),
                    rgm_integer(groups), INDICES(args), rgm_integer(args->op));
    rgmi_gpu_give(first);
}

void rgmi_gpu_degree(rgm_dtype real, const rgm_degree_args *args)
{
    rgmi_gpu_kernel *kernel = args->dtype == RGM_F32   ? &degree_float
                              : args->dtype == RGM_F64 ? &degree_double
                              : args->dtype == RGM_I32 ? &degree_int
                                                       : &degree_long;

    (void)real;
    RGMI_LAUNCH(kernel, RGM_F32, rgmi_gpu_groups(args->csr->rows, LANES), LANES,
                rgm_memory(args->y), rgm_memory(args->csr->row_start),
                rgm_integer(args->csr->rows));
}
