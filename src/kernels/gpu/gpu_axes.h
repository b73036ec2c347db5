/*
 * Shapes with strides for kernels that walk by them (axes.dev).
 */
#ifndef RGM_GPU_AXES_H
#define RGM_GPU_AXES_H

#include "gpu.h"

#define RGMI_GPU_SETS RGM_MAP_INPUTS

/** A shape, and strides of several things that are read by it; axis 0 is the outermost. */
typedef struct rgmi_gpu_axes {
    int rank, sets;
    int64_t shape[RGM_MAX_RANK], stride[RGMI_GPU_SETS][RGM_MAX_RANK];
} rgmi_gpu_axes;

/** Leave out axes of 1, and make one of neighbours that each set walks as one. */
void rgmi_gpu_axes_merge(rgmi_gpu_axes *axes);
/** The product of the shape. */
int64_t rgmi_gpu_axes_count(const rgmi_gpu_axes *axes);
/** SHAPE of axes.dev to arguments[0..7), and STRIDES of a set to arguments[0..6). */
void rgmi_gpu_axes_shape(rgm_argument *arguments, const rgmi_gpu_axes *axes);
void rgmi_gpu_axes_strides(rgm_argument *arguments, const rgmi_gpu_axes *axes, int set);

#endif
