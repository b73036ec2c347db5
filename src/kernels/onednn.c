/*
 * Products of moderate size, and large ones, through oneDNN. The library threads a product by rules
 * of its own and may cut a long sum by the number of threads; here the output is cut into blocks
 * fixed by the shape, and each block is one single-threaded call, so that the bits depend on the
 * shape alone. Its sgemm compiles its kernels once per process, so there is no primitive to create
 * or to keep.
 *
 * The one file that knows OpenMP: distributions build oneDNN on it, and its thread count, kept for
 * each calling thread, is the only way to ask sgemm for one thread.
 */
#include "kernels_internal.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

/*
 * Its kernels read both operands where they lie, so that a product of some hundred rows is not
 * packed first: there they have 1.1 to 1.7 times our tiles' speed, with AVX2 and AVX-512 (numbers:
 * docs/kernels.md). Of many rows packing costs nothing, and only wide products are faster here. A
 * turned A (the gradient of a weight) is packed at every call: only wide ones of many rows gain.
 */
#define LEAST_ROWS    64
#define LEAST_COLUMNS 48
#define LEAST_K       32
#define LEAST_SIZE    ((int64_t)1 << 18) /* m n k */
#define MANY_ROWS     4096 /* up to here any product that is no smaller, beyond only wide ones */
#define WIDE          512
#define DEEP          256 /* k of a wide product */
#define NARROW        128 /* columns that are left to our tiles where k is long */
#define LONG_K        1024
#define TURNED_ROWS   1024 /* least rows where A is turned, of a wide product */

/* Blocks of one call each. */
#define BLOCK         1024  /* most rows and columns */
#define BLOCK_ROWS    64    /* least rows, where there are so many */
#define BLOCK_COLUMNS 240   /* and least columns */
#define WIDE_BLOCK    512   /* least of both of a wide product */
#define COLUMNS_TILE  48    /* of oneDNN's tiles on AVX-512 */
#define TASKS         16    /* if there are as many of the least size */
#define FLOPS_NS      100.0 /* operations of one thread in a nanosecond */

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

static bool is_wide(const rgm_matmul_args *o)
{
    return o->n >= WIDE && o->k >= DEEP;
}

bool rgmi_onednn_takes(const rgm_matmul_args *o)
{
    if (o->batch != 1 || o->m < LEAST_ROWS || o->n < LEAST_COLUMNS || o->k < LEAST_K ||
        o->m * o->n * o->k < LEAST_SIZE || (o->n < NARROW && o->k >= LONG_K))
        return false;
    if (o->trans_a)
        return o->m >= TURNED_ROWS && is_wide(o);
    return o->m <= MANY_ROWS || is_wide(o);
}

/* About even blocks, no larger than `most`: `wanted` of them if none is smaller than `least`. */
static int64_t even_block(int64_t side, int64_t wanted, int64_t least, int64_t most)
{
    int64_t count = rgmi_max(1, rgmi_min(wanted, side / least));

    return rgmi_blocks(side, rgmi_max(count, rgmi_blocks(side, most)));
}

/* Blocks of rows, then of columns, fixed by the shape alone. */
static void set_blocks(onednn_job *g)
{
    const rgm_matmul_args *o = g->o;
    int64_t most = o->m >= 8 * BLOCK ? BLOCK : BLOCK / 2, column;
    bool wide = is_wide(o) && o->m >= WIDE_BLOCK;

    g->row_block = even_block(o->m, TASKS, wide ? WIDE_BLOCK : BLOCK_ROWS, most);
    column = even_block(o->n, TASKS / rgmi_blocks(o->m, g->row_block),
                        wide ? WIDE_BLOCK : BLOCK_COLUMNS, BLOCK);
    g->column_block = rgmi_min(BLOCK, rgmi_blocks(column, COLUMNS_TILE) * COLUMNS_TILE);
    g->column_blocks = rgmi_blocks(o->n, g->column_block);
}

void rgmi_onednn_matmul(const rgm_matmul_args *args, rgmi_gemm_finish *finish)
{
    onednn_job g = {.o = args, .finish = finish};
    int64_t tasks;

    set_blocks(&g);
    tasks = rgmi_blocks(args->m, g.row_block) * g.column_blocks;
    rgm_parallel(tasks, 2.0 * (double)(args->m * args->n * args->k) / FLOPS_NS / (double)tasks,
                 onednn_blocks, &g);
}
