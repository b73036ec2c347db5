/*
 * Shapes with strides: as few axes as say the same.
 */
#include "gpu_axes.h"

#include <string.h>

static void remove_axis(rgmi_gpu_axes *axes, int axis)
{
    size_t behind = (size_t)(axes->rank - axis - 1) * sizeof(int64_t);

    memmove(axes->shape + axis, axes->shape + axis + 1, behind);
    for (int k = 0; k < axes->sets; k++)
        memmove(axes->stride[k] + axis, axes->stride[k] + axis + 1, behind);
    axes->rank--;
}

/* Whether axis and the one behind it are walked as one. */
static bool are_one(const rgmi_gpu_axes *axes, int axis)
{
    for (int k = 0; k < axes->sets; k++)
        if (axes->stride[k][axis] != axes->stride[k][axis + 1] * axes->shape[axis + 1])
            return false;
    return true;
}

void rgmi_gpu_axes_merge(rgmi_gpu_axes *axes)
{
    for (int axis = axes->rank - 1; axis >= 0; axis--)
        if (axes->shape[axis] == 1)
            remove_axis(axes, axis);
    for (int axis = axes->rank - 2; axis >= 0; axis--)
        if (are_one(axes, axis)) {
            axes->shape[axis + 1] *= axes->shape[axis];
            remove_axis(axes, axis);
        }
}

int64_t rgmi_gpu_axes_count(const rgmi_gpu_axes *axes)
{
    int64_t count = 1;

    for (int axis = 0; axis < axes->rank; axis++)
        count *= axes->shape[axis];
    return count;
}

void rgmi_gpu_axes_shape(rgm_argument *arguments, const rgmi_gpu_axes *axes)
{
    arguments[0] = rgm_integer(axes->rank);
    for (int n = 0; n < RGM_MAX_RANK; n++)
        arguments[1 + n] = rgm_integer(n < axes->rank ? axes->shape[axes->rank - 1 - n] : 1);
}

void rgmi_gpu_axes_strides(rgm_argument *arguments, const rgmi_gpu_axes *axes, int set)
{
    for (int n = 0; n < RGM_MAX_RANK; n++)
        arguments[n] = rgm_integer(n < axes->rank ? axes->stride[set][axes->rank - 1 - n] : 0);
}
