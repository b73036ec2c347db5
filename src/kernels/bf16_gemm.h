/*
 * Dense products whose operands are rounded to bf16 and whose sums stay in float, written once over
 * a block of 32 x 32: AMX tiles (amx.h), AVX-512's bf16 dot product (avx512_bf16.c) and, for tests,
 * tiles in plain C. Needs before: bf16_pack.h; block_product(), and block_begin() and block_end()
 * around a thread's calls of it; BF16_MATMUL (the function's name), BF16_RATE (products a
 * nanosecond and thread, roughly) and BF16_OTHERWISE (who takes shapes that are not worth it).
 *
 * Rounding happens while packing (bf16_pack.h), so both operands are read once as float.
 *
 * k is cut into passes of K_PASS; a pass adds to C as a whole. All of it depends on the shape
 * alone, and each element of C is summed by one thread: the same bits from any number of threads.
 */
#include <stdatomic.h>
#include <string.h>

#include "fast_finish.h"

#define BLOCK        (2 * TILE) /* rows and columns of a block                          */
#define K_PASS       1024       /* k of one pass                                        */
#define ROW_TASK     256        /* most rows of one task: their strips stay in L2       */
#define COLUMN_BLOCK 256        /* columns whose strips stay in L2 beside them          */
#define COLUMN_TASK  512        /* columns of one task where rows are few               */
#define TASKS_ENOUGH 8          /* more tasks are made until there are so many          */
#define SLOTS_MOST   64         /* threads that pack rows at a time                     */
#define PACK_COLUMNS (4 * TILE) /* of one packing task: whole cache lines of B's rows   */

/* ---- a product ----------------------------------------------------------------------------- */

typedef struct bf16_product {
    const rgm_matmul_args *o;
    uint32_t *packed_b; /* of this pass: [batch][strips][tiles] */
    int64_t from, k;    /* the pass                             */
    int64_t row_task, row_tasks, column_task, column_tasks;
    bool first, last;
    uint32_t *packed_a; /* [slots][strips of a task][tiles]     */
    int slots;
    atomic_flag busy[SLOTS_MOST]; /* slots in use */
} bf16_product;

static inline int64_t strip_words(const bf16_product *g)
{
    return rgmi_blocks(g->k, TILE_K) * TILE_SIZE;
}

static void pack_b(void *payload, int64_t begin, int64_t end)
{
    const bf16_product *g = payload;
    const rgm_matmul_args *o = g->o;
    int64_t groups = rgmi_blocks(o->n, PACK_COLUMNS);

    for (int64_t i = begin; i < end; i++) {
        int64_t z = i / groups, j = i % groups * PACK_COLUMNS;
        const float *b = (const float *)o->b + z * o->stride_b;
        pack_strips(g->packed_b + (z * strips_of(o->n) + j / TILE) * strip_words(g),
                    b + (o->trans_b ? j * o->ldb + g->from : g->from * o->ldb + j), o->ldb,
                    o->trans_b, o->trans_b, rgmi_min(PACK_COLUMNS, o->n - j), g->k);
    }
}

/* One block of C; at the edges through a whole block beside it. */
static void block_at(const bf16_product *g, float *c, const uint32_t *a, const uint32_t *b,
                     int64_t rows, int64_t columns)
{
    int64_t ldc = g->o->ldc, tiles = rgmi_blocks(g->k, TILE_K);
    int down = rows > TILE ? 2 : 1, across = columns > TILE ? 2 : 1;
    _Alignas(64) float edge[BLOCK * BLOCK];

    if (rows % TILE == 0 && columns % TILE == 0) {
        block_product(c, ldc, a, b, tiles, down, across, g->first);
        return;
    }
    for (int64_t i = 0; i < rows && !g->first; i++)
        memcpy(edge + i * BLOCK, c + i * ldc, (size_t)columns * sizeof *c);
    block_product(edge, BLOCK, a, b, tiles, down, across, g->first);
    for (int64_t i = 0; i < rows; i++)
        memcpy(c + i * ldc, edge + i * BLOCK, (size_t)columns * sizeof *c);
}

static void task_run(const bf16_product *g, int64_t z, int64_t i, int64_t j, uint32_t *packed)
{
    const rgm_matmul_args *o = g->o;
    const float *a = (const float *)o->a + z * o->stride_a;
    const uint32_t *b = g->packed_b + z * strips_of(o->n) * strip_words(g);
    int64_t rows = rgmi_min(g->row_task, o->m - i), until = rgmi_min(o->n, j + g->column_task);
    float *c = (float *)o->c + z * o->stride_c + i * o->ldc;

    pack_strips(packed, a + (o->trans_a ? g->from * o->lda + i : i * o->lda + g->from), o->lda,
                !o->trans_a, o->trans_a, rows, g->k);
    for (int64_t from = j; from < until; from += COLUMN_BLOCK) {
        int64_t to = rgmi_min(until, from + COLUMN_BLOCK);
        for (int64_t r = 0; r < rows; r += BLOCK)
            for (int64_t s = from; s < to; s += BLOCK)
                block_at(g, c + r * o->ldc + s, packed + r / TILE * strip_words(g),
                         b + s / TILE * strip_words(g), rgmi_min(BLOCK, rows - r),
                         rgmi_min(BLOCK, to - s));
        if (g->last)
            block_finish(c + from, o->ldc, rows, to - from,
                         o->bias ? (const float *)o->bias + from : NULL,
                         o->accumulate ? RGM_ACT_NONE : o->activation, (float)o->slope);
    }
}

/* Memory for the packed rows of one task at a time; there are as many as threads. */
static int slot_take(bf16_product *g)
{
    for (int i = 0;; i = i + 1 < g->slots ? i + 1 : 0)
        if (!atomic_flag_test_and_set(&g->busy[i]))
            return i;
}

static void run_tasks(void *payload, int64_t begin, int64_t end)
{
    bf16_product *g = payload;
    int slot = slot_take(g);
    uint32_t *packed = g->packed_a + slot * strips_of(g->row_task) * strip_words(g);

    block_begin();
    for (int64_t t = begin; t < end; t++) {
        int64_t j = t % g->column_tasks, i = t / g->column_tasks % g->row_tasks;
        task_run(g, t / g->column_tasks / g->row_tasks, i * g->row_task, j * g->column_task,
                 packed);
    }
    block_end();
    atomic_flag_clear(&g->busy[slot]);
}

/* Tasks of many rows; of fewer, then of some columns too, where there would be few of them. */
static void tasks_cut(bf16_product *g)
{
    const rgm_matmul_args *o = g->o;
    int64_t most = rgmi_min(ROW_TASK, rgmi_blocks(o->m * o->batch, TASKS_ENOUGH));

    g->row_task = rgmi_min(rgmi_blocks(o->m, BLOCK), rgmi_blocks(most, BLOCK)) * BLOCK;
    g->row_tasks = rgmi_blocks(o->m, g->row_task);
    g->column_task = g->row_tasks * o->batch < TASKS_ENOUGH ? COLUMN_TASK : o->n;
    g->column_tasks = rgmi_blocks(o->n, g->column_task);
    g->slots = (int)rgmi_min(rgmi_min(rgm_threads(), SLOTS_MOST),
                             o->batch * g->row_tasks * g->column_tasks);
}

static void pass_run(bf16_product *g)
{
    const rgm_matmul_args *o = g->o;
    int64_t tasks = o->batch * g->row_tasks * g->column_tasks;
    double products = (double)(o->batch * o->m * o->n) * (double)g->k;

    rgm_parallel(o->batch * rgmi_blocks(o->n, PACK_COLUMNS), (double)(g->k * PACK_COLUMNS) * 0.15,
                 pack_b, g);
    rgm_parallel(tasks, products / (double)tasks / BF16_RATE, run_tasks, g);
}

static bool product_run(const rgm_matmul_args *o)
{
    bf16_product g = {.o = o, .first = !o->accumulate};
    size_t b_words, a_words;

    tasks_cut(&g);
    g.k = rgmi_min(K_PASS, o->k);
    b_words = (size_t)(o->batch * strips_of(o->n) * strip_words(&g));
    a_words = (size_t)(g.slots * strips_of(g.row_task) * strip_words(&g));
    g.packed_b = rgmi_scratch_take((b_words + a_words) * sizeof *g.packed_b);
    if (g.packed_b == NULL)
        return false;
    g.packed_a = g.packed_b + b_words;
    for (; g.from < o->k; g.from += K_PASS) {
        g.k = rgmi_min(K_PASS, o->k - g.from);
        g.last = g.from + g.k >= o->k;
        pass_run(&g);
        g.first = false;
    }
    rgmi_scratch_give(g.packed_b);
    return true;
}

/* Packing costs (m + n) k, the product m n k. Measured on Zen 4 beside the float rows: from 24 on
 * it is faster, and from 48 on where k takes many passes over a small C, with little work in each.
 */
static bool is_worth(const rgm_matmul_args *o)
{
#ifdef BF16_ANY_SHAPE
    return o->m > 0 && o->n > 0 && o->k > 0 && o->batch > 0;
#else
    return o->k >= TILE_K && o->m * o->n >= (o->k > 2 * K_PASS ? 48 : 24) * (o->m + o->n);
#endif
}

void BF16_MATMUL(const rgm_matmul_args *args)
{
    if (!is_worth(args) || !product_run(args))
        BF16_OTHERWISE(args);
}
