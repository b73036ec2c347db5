/*
 * Elements of one dtype as another, and integers compared.
 */
#include "gpu_axes.h"

RGMI_GPU_KERNEL(cast, equal_i32);
RGMI_GPU_KERNEL(cast, equal_i64);
RGMI_GPU_KERNEL(cast, equal_bool);

#define CAST(kernel)                                                                               \
    {                                                                                              \
        .source = &rgmi_gpu_source_cast, .name = #kernel                                           \
    }
#define CASTS(from)                                                                                \
    {                                                                                              \
        CAST(from##_to_f32), CAST(from##_to_f64), CAST(from##_to_i32), CAST(from##_to_i64),        \
            CAST(from##_to_bool)                                                                   \
    }

static int place_of(rgm_dtype dtype)
{
    switch (dtype) {
    case RGM_F32:
        return 0;
    case RGM_F64:
        return 1;
    case RGM_I32:
        return 2;
    case RGM_I64:
        return 3;
    default:
        return 4;
    }
}

void rgmi_gpu_cast(rgm_dtype real, const rgm_cast_args *args)
{
    static rgmi_gpu_kernel kernels[5][5] = {CASTS(f32), CASTS(f64), CASTS(i32), CASTS(i64),
                                            CASTS(bool)};

    (void)real;
    RGMI_LAUNCH(&kernels[place_of(args->from)][place_of(args->to)], RGM_F32,
                rgmi_gpu_groups(args->count, 256), 256, rgm_memory(args->y), rgm_memory(args->x),
                rgm_integer(args->count));
}

void rgmi_gpu_equal(rgm_dtype real, const rgm_equal_args *args)
{
    enum { SHAPE = 1 + RGM_MAX_RANK };
    rgm_argument arguments[4 + SHAPE + 2 * RGM_MAX_RANK] = {
        rgm_memory(args->y), rgm_memory(args->a), rgm_memory(args->b)};
    rgmi_gpu_axes axes = {.rank = args->rank, .sets = 2};
    rgmi_gpu_kernel *kernel = args->dtype == RGM_I32   ? &equal_i32
                              : args->dtype == RGM_I64 ? &equal_i64
                                                       : &equal_bool;
    int64_t count;

    (void)real;
    for (int axis = 0; axis < args->rank; axis++) {
        axes.shape[axis] = args->shape[axis];
        axes.stride[0][axis] = args->stride[0][axis];
        axes.stride[1][axis] = args->stride[1][axis];
    }
    rgmi_gpu_axes_merge(&axes);
    count = rgmi_gpu_axes_count(&axes);
    arguments[3] = rgm_integer(count);
    rgmi_gpu_axes_shape(arguments + 4, &axes);
    rgmi_gpu_axes_strides(arguments + 4 + SHAPE, &axes, 0);
    rgmi_gpu_axes_strides(arguments + 4 + SHAPE + RGM_MAX_RANK, &axes, 1);
    rgmi_gpu_launch(kernel, RGM_F32, rgmi_gpu_groups(count, 256), 256, arguments,
                    (int)(sizeof arguments / sizeof *arguments));
}
