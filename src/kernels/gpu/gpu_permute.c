/*
 * Axes in another order. What stays together is moved as one, in units as large as divide it.
 */
#include "gpu_axes.h"

RGMI_GPU_KERNEL(permute, permute16);
RGMI_GPU_KERNEL(permute, permute8);
RGMI_GPU_KERNEL(permute, permute4);
RGMI_GPU_KERNEL(permute, permute2);
RGMI_GPU_KERNEL(permute, permute1);
RGMI_GPU_KERNEL(permute, turn8);
RGMI_GPU_KERNEL(permute, turn4);

#define TILE  32
#define SHAPE (1 + RGM_MAX_RANK) /* arguments of SHAPE in axes.dev */

static rgmi_gpu_kernel *kernel_of(int64_t unit)
{
    switch (unit) {
    case 16:
        return &permute16;
    case 8:
        return &permute8;
    case 4:
        return &permute4;
    default:
        return unit == 2 ? &permute2 : &permute1;
    }
}

/* What moves together: the bytes of an element, or of a run of them. */
typedef struct moved_run {
    rgmi_gpu_axes axes; /* strides of set 0 are x's, of set 1 y's; both in units */
    int64_t unit;       /* bytes */
} moved_run;

static void describe(moved_run *run, const rgm_permute_args *o)
{
    rgmi_gpu_axes *axes = &run->axes;
    uintptr_t numbers = (uintptr_t)o->x | (uintptr_t)o->y;
    int64_t size = (int64_t)o->size, step = 1;

    *axes = (rgmi_gpu_axes){.rank = o->rank, .sets = 1};
    for (int axis = 0; axis < o->rank; axis++) {
        axes->shape[axis] = o->shape[axis];
        axes->stride[0][axis] = o->stride[axis] * size;
    }
    rgmi_gpu_axes_merge(axes);
    if (axes->rank > 0 && axes->stride[0][axes->rank - 1] == size)
        size *= axes->shape[--axes->rank];
    numbers |= (uintptr_t)size;
    for (int axis = 0; axis < axes->rank; axis++)
        numbers |= (uintptr_t)axes->stride[0][axis];
    run->unit = 16;
    while (numbers % (uintptr_t)run->unit != 0)
        run->unit /= 2;
    for (int axis = 0; axis < axes->rank; axis++)
        axes->stride[0][axis] /= run->unit;
    if (size > run->unit || axes->rank == 0) {
        axes->shape[axes->rank] = size / run->unit;
        axes->stride[0][axes->rank++] = 1;
    }
    for (int axis = axes->rank - 1; axis >= 0; step *= axes->shape[axis--])
        axes->stride[1][axis] = step;
    axes->sets = 2;
}

/* The axis along which x is read in tiles, -1: none. */
static int across_of(const moved_run *run)
{
    const rgmi_gpu_axes *axes = &run->axes;
    int last = axes->rank - 1;

    if ((run->unit != 4 && run->unit != 8) || axes->stride[0][last] == 1 || axes->shape[last] < 8)
        return -1;
    for (int axis = 0; axis < last; axis++)
        if (axes->stride[0][axis] == 1 && axes->shape[axis] >= 8)
            return axis;
    return -1;
}

static void turn(const moved_run *run, int across, void *y, const void *x)
{
    rgmi_gpu_axes others = {.sets = 2};
    const rgmi_gpu_axes *axes = &run->axes;
    int last = axes->rank - 1;
    rgm_argument arguments[6 + SHAPE + 2 * RGM_MAX_RANK] = {rgm_memory(y),
                                                            rgm_memory(x),
                                                            rgm_integer(axes->shape[last]),
                                                            rgm_integer(axes->shape[across]),
                                                            rgm_integer(axes->stride[0][last]),
                                                            rgm_integer(axes->stride[1][across])};
    int64_t tiles = rgmi_blocks(axes->shape[last], TILE) * rgmi_blocks(axes->shape[across], TILE);

    for (int axis = 0; axis < last; axis++)
        if (axis != across) {
            others.shape[others.rank] = axes->shape[axis];
            others.stride[0][others.rank] = axes->stride[0][axis];
            others.stride[1][others.rank++] = axes->stride[1][axis];
        }
    rgmi_gpu_axes_shape(arguments + 6, &others);
    rgmi_gpu_axes_strides(arguments + 6 + SHAPE, &others, 0);
    rgmi_gpu_axes_strides(arguments + 6 + SHAPE + RGM_MAX_RANK, &others, 1);
    rgmi_gpu_launch(run->unit == 8 ? &turn8 : &turn4, RGM_F32, tiles * rgmi_gpu_axes_count(&others),
                    256, arguments, (int)(sizeof arguments / sizeof *arguments));
}

void rgmi_gpu_permute(rgm_dtype real, const rgm_permute_args *args)
{
    rgm_argument arguments[3 + SHAPE + RGM_MAX_RANK] = {rgm_memory(args->y), rgm_memory(args->x)};
    int64_t count = 1;
    int across;
    moved_run run;

    (void)real;
    for (int axis = 0; axis < args->rank; axis++)
        count *= args->shape[axis];
    if (count == 0)
        return;
    describe(&run, args);
    across = across_of(&run);
    if (across >= 0) {
        turn(&run, across, args->y, args->x);
        return;
    }
    count = rgmi_gpu_axes_count(&run.axes);
    arguments[2] = rgm_integer(count);
    rgmi_gpu_axes_shape(arguments + 3, &run.axes);
    rgmi_gpu_axes_strides(arguments + 3 + SHAPE, &run.axes, 0);
    rgmi_gpu_launch(kernel_of(run.unit), RGM_F32, rgmi_gpu_groups(count, 256), 256, arguments,
                    (int)(sizeof arguments / sizeof *arguments));
}
