/*
 * What dense products and convolutions share: how k is cut where there are few tiles.
 */
#ifndef RGM_GPU_MATMUL_H
#define RGM_GPU_MATMUL_H

#include "gpu.h"

/** A KERNEL that makes tiles of a product. */
typedef struct rgmi_gpu_tiling {
    rgmi_gpu_kernel *kernel;
    int64_t rows, columns;
    bool splits; /* of split.dev, where a kernel is for one way that operands lie */
} rgmi_gpu_tiling;

/** The product by a tiling; real: RGM_F32, RGM_F64 or RGM_BF16. */
void rgmi_gpu_matmul_by(const rgmi_gpu_tiling *tiling, rgm_dtype real, const rgm_matmul_args *args);
/** How many slices of k a product of so many tiles is cut into: one, or as many as keep a large GPU
 * busy. Of a packed product by n and k alone. */
int64_t rgmi_gpu_slices(const rgm_matmul_args *o, int64_t tiles, size_t size);
/** k of each of them: whole tiles. */
int64_t rgmi_gpu_slice_length(int64_t k, int64_t slices);
/** c of `o` from part [slices, batch, m, n], with bias, activation and accumulation; dtype RGM_F32
 * or RGM_F64. */
void rgmi_gpu_add_slices(rgm_dtype dtype, const rgm_matmul_args *o, int64_t slices, void *part);

#endif
