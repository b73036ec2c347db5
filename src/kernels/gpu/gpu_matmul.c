/* Dense products. */
#include "gpu_matmul.h"
#include "gpu_walk.h"

#include <stdlib.h>
#include <string.h>

enum {
    LANES = 256,
    MANY_GROUPS = 528, /* four for each processor of a large GPU */
    BUSY = 106,        /* tiles that keep most of its processors at work */
    SLICE = 256,       /* the shortest slice of k */
    MOST_SLICES = 128,
    DEEP = 32 /* k of a tile in mma.dev, of two in tiles.dev */
};
#define MOST_PARTS ((int64_t)64 << 20) /* bytes */
#define LARGE      2e8                 /* multiply-adds */

RGMI_GPU_KERNEL(product, product_128x64);
RGMI_GPU_KERNEL(product, product_64x64);
RGMI_GPU_KERNEL(product, product_128x32);
RGMI_GPU_KERNEL(product, product_256x16);
RGMI_GPU_KERNEL(product, product_16x256);
RGMI_GPU_KERNEL(product, product_slices);
RGMI_GPU_KERNEL(product, product_pack);
RGMI_GPU_KERNEL(product, product_finish);
RGMI_GPU_KERNEL(mma, mma_64x64);
RGMI_GPU_KERNEL(mma, mma_128x128);
RGMI_GPU_KERNEL(split, split_nn);
RGMI_GPU_KERNEL(split, split_nt);
RGMI_GPU_KERNEL(split, split_tn);

static int64_t tiles_of(const rgmi_gpu_tiling *t, const rgm_matmul_args *o)
{
    return rgmi_blocks(o->m, t->rows) * rgmi_blocks(o->n, t->columns) * o->batch;
}

/* By tensor cores, where the device has them. */
static rgmi_gpu_tiling mma_tiling(const rgm_matmul_args *o)
{
    static const rgmi_gpu_tiling large = {&mma_128x128, 128, 128, false};

    return tiles_of(&large, o) * 2 >= MANY_GROUPS ? large
                                                  : (rgmi_gpu_tiling){&mma_64x64, 64, 64, false};
}

static bool is_large(const rgm_matmul_args *o)
{
    return (double)o->m * (double)o->n * (double)o->k * (double)o->batch >= LARGE;
}

static bool in_one_piece(const rgm_matmul_args *o)
{
    return o->batch == 1 || o->stride_c == o->m * o->ldc;
}

/* Floats by tensor cores: a large product whose tiles, or slices of k, keep the device busy.
 * With REGIMEN_SPLIT=1: that they take less time than cuBLAS's products no GPU has shown. */
static bool split_tiling(rgmi_gpu_tiling *out, rgm_dtype real, const rgm_matmul_args *o)
{
    const char *wanted = getenv("REGIMEN_SPLIT");
    int64_t tiles;

    if (wanted == NULL || strcmp(wanted, "1") != 0 || real != RGM_F32 || o->packed ||
        (o->trans_a && o->trans_b) || o->n <= 32 || !in_one_piece(o) || !is_large(o))
        return false;
    *out = (rgmi_gpu_tiling){o->trans_a   ? &split_tn
                             : o->trans_b ? &split_nt
                                          : &split_nn,
                             128, 64, true};
    tiles = tiles_of(out, o);
    return tiles * rgmi_gpu_slices(o, tiles, sizeof(float)) >= BUSY &&
           rgmi_gpu_has(out->kernel, RGM_F32);
}

/* Tiles that fit a narrow side; large ones, which read less, where there are enough of them. */
static rgmi_gpu_tiling tiling_of(rgm_dtype real, const rgm_matmul_args *o)
{
    static const rgmi_gpu_tiling large = {&product_128x64, 128, 64, false};

    if (real == RGM_BF16 && rgmi_gpu_has(&mma_64x64, RGM_F32))
        return mma_tiling(o);
    if (o->m <= 16 && o->n > 64)
        return (rgmi_gpu_tiling){&product_16x256, 16, 256, false};
    if (o->n <= 16)
        return (rgmi_gpu_tiling){&product_256x16, 256, 16, false};
    if (o->n <= 32)
        return (rgmi_gpu_tiling){&product_128x32, 128, 32, false};
    return tiles_of(&large, o) * 2 >= MANY_GROUPS
               ? large
               : (rgmi_gpu_tiling){&product_64x64, 64, 64, false};
}

int64_t rgmi_gpu_slices(const rgm_matmul_args *o, int64_t tiles, size_t size)
{
    int64_t slices = rgmi_min(o->k / SLICE, MOST_SLICES);
    int64_t bytes = o->batch * o->m * o->n * (int64_t)size;

    if (o->packed)
        slices = o->n > 2048 ? 1 : rgmi_min(slices, 8);
    else if (tiles >= BUSY) /* less is gained than the slices' way through memory takes */
        slices = 1;
    else
        slices = rgmi_min(slices, rgmi_min(MANY_GROUPS / tiles, MOST_PARTS / bytes));
    return rgmi_max(1, slices);
}

int64_t rgmi_gpu_slice_length(int64_t k, int64_t slices)
{
    return rgmi_blocks(rgmi_blocks(k, slices), DEEP) * DEEP;
}

void rgmi_gpu_add_slices(rgm_dtype dtype, const rgm_matmul_args *o, int64_t slices, void *part)
{
    RGMI_LAUNCH(&product_slices, dtype, rgmi_gpu_groups(o->batch * o->m * o->n, LANES), LANES,
                rgm_memory(o->c), rgm_memory(part), rgm_memory(o->bias), rgm_integer(o->m),
                rgm_integer(o->n), rgm_integer(o->ldc), rgm_integer(o->batch),
                rgm_integer(o->stride_c), rgm_integer(slices), rgm_integer(o->accumulate),
                rgm_integer(o->activation), rgm_real(o->slope));
}

/* Bias and activation of c, whose products lie one behind the other. */
static void finish_rows(rgm_dtype real, const rgm_matmul_args *o, const void *bias)
{
    int64_t width = 1, rows = o->batch * o->m;

    while (width < o->n && width < LANES)
        width *= 2;
    RGMI_LAUNCH(&product_finish, real, rgmi_min(rgmi_blocks(rows, LANES / width), 65536), LANES,
                rgm_memory(o->c), rgm_memory(bias), rgm_integer(rows), rgm_integer(o->n),
                rgm_integer(o->ldc), rgm_integer(width), rgm_integer(o->activation),
                rgm_real(o->slope));
}

/* Whether a lane may read four floats at once. */
static bool is_wide(const void *x, int64_t apart, int64_t stride)
{
    return rgmi_gpu_is_aligned(RGM_F32, x, NULL, NULL) && apart % 4 == 0 && stride % 4 == 0;
}

static void launch_split(const rgm_matmul_args *o, const rgmi_gpu_tiling *t, int64_t slices,
                         void *part)
{
    int64_t stride_a = o->batch > 1 ? o->stride_a : 0, stride_b = o->batch > 1 ? o->stride_b : 0,
            stride_c = o->batch > 1 ? o->stride_c : 0;

    RGMI_LAUNCH(t->kernel, RGM_F32, tiles_of(t, o) * slices, LANES, rgm_memory(o->c),
                rgm_memory(part), rgm_memory(o->a), rgm_memory(o->b), rgm_memory(o->bias),
                rgm_integer(o->m), rgm_integer(o->n), rgm_integer(o->k), rgm_integer(o->lda),
                rgm_integer(o->ldb), rgm_integer(o->ldc), rgm_integer(o->batch),
                rgm_integer(stride_a), rgm_integer(stride_b), rgm_integer(stride_c),
                rgm_integer(slices), rgm_integer(rgmi_gpu_slice_length(o->k, slices)),
                rgm_integer(o->accumulate), rgm_integer(o->activation == RGM_ACT_RELU),
                rgm_integer(is_wide(o->a, o->lda, stride_a)),
                rgm_integer(is_wide(o->b, o->ldb, stride_b)),
                rgm_integer(slices > 1 ? o->m % 4 == 0 && o->n % 4 == 0
                                       : o->n % 2 == 0 && is_wide(o->c, o->ldc, stride_c)));
    if (slices == 1 && o->activation > RGM_ACT_RELU)
        finish_rows(RGM_F32, o, NULL);
}

static void launch(rgm_dtype real, const rgm_matmul_args *o, const rgmi_gpu_tiling *t,
                   int64_t slices, void *part)
{
    rgm_dtype table = real == RGM_BF16 ? RGM_F32 : real;
    bool across = o->trans_b && !o->packed;
    int64_t ldb = o->packed ? o->n : o->ldb;

    if (t->splits)
        launch_split(o, t, slices, part);
    else
        RGMI_LAUNCH(t->kernel, table, tiles_of(t, o) * slices, LANES, rgm_memory(o->c),
                    rgm_memory(part), rgm_memory(o->a), rgm_memory(o->b), rgm_memory(o->bias),
                    rgm_integer(o->m), rgm_integer(o->n), rgm_integer(o->k),
                    rgm_integer(o->trans_a ? 1 : o->lda), rgm_integer(o->trans_a ? o->lda : 1),
                    rgm_integer(across ? 1 : ldb), rgm_integer(across ? ldb : 1),
                    rgm_integer(o->ldc), rgm_integer(o->batch), rgm_integer(o->stride_a),
                    rgm_integer(o->stride_b), rgm_integer(o->stride_c), rgm_integer(slices),
                    rgm_integer(rgmi_gpu_slice_length(o->k, slices)), rgm_integer(o->accumulate),
                    rgm_integer(o->activation), rgm_real(o->slope), rgm_integer(real == RGM_BF16));
    if (slices > 1)
        rgmi_gpu_add_slices(table, o, slices, part);
}

void rgmi_gpu_matmul_by(const rgmi_gpu_tiling *t, rgm_dtype real, const rgm_matmul_args *args)
{
    size_t size = real == RGM_F64 ? sizeof(double) : sizeof(float);
    rgm_matmul_args o = *args;
    int64_t slices, rows;
    void *part = NULL;

    if (o.m == 0 || o.n == 0 || o.batch == 0)
        return;
    slices = rgmi_gpu_slices(&o, tiles_of(t, &o), size);
    /* Only packed products may be larger than the memory for their slices: so many rows at once. */
    rows =
        slices > 1 ? rgmi_max(t->rows, MOST_PARTS / (slices * o.batch * o.n * (int64_t)size)) : o.m;
    rows = rgmi_min(rows, o.m);
    if (slices > 1 &&
        (part = rgmi_gpu_take((size_t)(slices * o.batch * rows * o.n) * size)) == NULL)
        return;
    for (int64_t row = 0; row < args->m; row += rows) {
        o.m = rgmi_min(rows, args->m - row);
        o.a = (const char *)args->a + (size_t)(row * (o.trans_a ? 1 : o.lda)) * size;
        o.c = (char *)args->c + (size_t)(row * o.ldc) * size;
        launch(real, &o, t, slices, part);
    }
    rgmi_gpu_give(part);
}

/* By the library of the device's maker, where that gains more than its own launches cost. Not what
 * is packed: a row of that has the same bits in any company. Bias and activation come behind. */
static bool matmul_by_library(rgm_dtype real, const rgm_matmul_args *o)
{
    bool finish = o->bias != NULL || o->activation != RGM_ACT_NONE;

    if (real == RGM_BF16 || o->packed || (finish && !in_one_piece(o)) || !is_large(o))
        return false;
    if (!rgm_device_multiply(rgmi_gpu_device(),
                             &(rgm_product){o->c, o->a, o->b, o->m, o->n, o->k, o->lda, o->ldb,
                                            o->ldc, o->batch, o->stride_a, o->stride_b, o->stride_c,
                                            o->trans_a, o->trans_b, o->accumulate},
                             real))
        return false;
    if (finish)
        finish_rows(real, o, o->bias);
    return true;
}

void rgmi_gpu_matmul(rgm_dtype real, const rgm_matmul_args *args)
{
    rgmi_gpu_tiling tiling;

    if (split_tiling(&tiling, real, args)) {
        rgmi_gpu_matmul_by(&tiling, real, args);
    } else if (!matmul_by_library(real, args)) {
        tiling = tiling_of(real, args);
        rgmi_gpu_matmul_by(&tiling, real, args);
    }
}

size_t rgmi_gpu_matmul_pack(rgm_dtype real, const rgm_matmul_args *o)
{
    rgm_dtype table = real == RGM_BF16 ? RGM_F32 : real;

    if (o->c != NULL)
        RGMI_LAUNCH(&product_pack, table, rgmi_gpu_groups(o->k * o->n, LANES), LANES,
                    rgm_memory(o->c), rgm_memory(o->b), rgm_integer(o->k), rgm_integer(o->n),
                    rgm_integer(o->trans_b ? 1 : o->ldb), rgm_integer(o->trans_b ? o->ldb : 1));
    return (size_t)(o->k * o->n) * rgm_dtype_size(table);
}
