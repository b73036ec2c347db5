/*
 * Large products through oneDNN. The library threads a product by rules of its own and may cut a
 * long sum by the number of threads; here the output is cut into blocks fixed by the shape, and
 * each block is one single-threaded call, so that the bits depend on the shape alone. Its sgemm
 * compiles its kernels once per process, so there is no primitive to create or to keep.
 *
 * The one file that knows OpenMP: distributions build oneDNN on it, and its thread count, kept for
 * each calling thread, is the only way to ask sgemm for one thread.
 */
#include "kernels_internal.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

/* Measured on AVX2, one thread, blocks of 1024 x 1024: 4-10 % over our own tiles from these sizes
 * on; below, packing anew for each block eats the gain, and on narrow outputs ours is faster. */
#define LEAST_ROWS    1024
#define LEAST_COLUMNS 512
#define LEAST_K       256
#define BLOCK         1024

typedef struct onednn_job {
    const rgm_matmul_args *o;
    rgmi_gemm_finish *finish;
    int64_t row_block, column_block, column_blocks;
} onednn_job;

/* The arguments of block t, without what `finish` does afterwards. */
static rgm_matmul_args block_args(const onednn_job *g, int64_t t, int64_t *column)
{
    rgm_matmul_args o = *g->o;
    int64_t i = t / g->column_blocks * g->row_block, j = t % g->column_blocks * g->column_block;

    o.m = rgmi_min(g->row_block, o.m - i);
    o.n = rgmi_min(g->column_block, o.n - j);
    o.a = (const float *)o.a + (o.trans_a ? i : i * o.lda);
    o.b = (const float *)o.b + (o.trans_b ? j * o.ldb : j);
    o.c = (float *)o.c + i * o.ldc + j;
    o.bias = NULL;
    o.activation = RGM_ACT_NONE;
    *column = j;
    return o;
}

static void onednn_blocks(void *payload, int64_t begin, int64_t end)
{
    const onednn_job *g = payload;
    const float *bias = g->o->bias;
    int threads = omp_get_max_threads();

    omp_set_num_threads(1);
    for (int64_t t = begin; t < end; t++) {
        int64_t column;
        rgm_matmul_args o = block_args(g, t, &column);
        if (dnnl_sgemm(o.trans_a ? 'T' : 'N', o.trans_b ? 'T' : 'N', o.m, o.n, o.k, 1, o.a, o.lda,
                       o.b, o.ldb, o.accumulate ? 1 : 0, o.c, o.ldc) != dnnl_success)
            rgmi_reference_f32.matmul(&o); /* out of memory, before it wrote anything */
        g->finish(o.c, o.ldc, o.m, o.n, bias ? bias + column : NULL,
                  g->o->accumulate ? RGM_ACT_NONE : g->o->activation, (float)g->o->slope);
    }
    omp_set_num_threads(threads);
}

bool rgmi_onednn_matmul(const rgm_matmul_args *args, rgmi_gemm_finish *finish)
{
    onednn_job g = {.o = args, .finish = finish, .column_block = BLOCK};

    if (args->batch != 1 || args->m < LEAST_ROWS || args->n < LEAST_COLUMNS || args->k < LEAST_K)
        return false;
    g.row_block = args->m >= 8 * BLOCK ? BLOCK : BLOCK / 2;
    g.column_blocks = rgmi_blocks(args->n, g.column_block);
    rgm_parallel(rgmi_blocks(args->m, g.row_block) * g.column_blocks, 1e6, onednn_blocks, &g);
    return true;
}
