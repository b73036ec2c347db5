/*
 * Dense products whose operands are rounded to bf16 and whose sums stay in float, written once over
 * a block of 32 x 32: AMX tiles (amx.h), AVX-512's bf16 dot product (avx512_bf16.c) and, for tests,
 * tiles in plain C. Needs before: bf16_pack.h; block_product(), and block_begin() and block_end()
 * around a thread's calls of it; BF16_MATMUL and BF16_PACK (the functions' names), BF16_RATE
 * (products a nanosecond and thread, roughly) and BF16_OTHERWISE (who takes shapes that are not
 * worth it; where B was packed before all are).
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

static void pack_b_pass(bf16_product *g)
{
    rgm_parallel(g->o->batch * rgmi_blocks(g->o->n, PACK_COLUMNS),
                 (double)(g->k * PACK_COLUMNS) * 0.15, pack_b, g);
}

/* One block of C; at the edges through a whole block beside it. */
static void block_at(const bf16_product *g, float *c, const uint32_t *a, const uint32_t *b,
                     int64_t rows, int64_t columns)
{
    int64_t ldc = g->o->ldc, tiles = rgmi_blocks(g->k, TILE_K);
    int across = columns > TILE ? 2 : 1;
    _Alignas(64) float edge[BLOCK * BLOCK];

    if (rows % TILE == 0 && columns % TILE == 0) {
        block_product(c, ldc, a, b, tiles, (int)rows, across, g->first);
        return;
    }
    for (int64_t i = 0; i < rows && !g->first; i++)
        memcpy(edge + i * BLOCK, c + i * ldc, (size_t)columns * sizeof *c);
    block_product(edge, BLOCK, a, b, tiles, (int)rows, across, g->first);
    for (int64_t i = 0; i < rows; i++)
        memcpy(c + i * ldc, edge + i * BLOCK, (size_t)columns * sizeof *c);
}

/* Columns from..until of some rows of C, of whose strips `a` and `b` are the pass' part. */
static void columns_run(const bf16_product *g, float *c, const uint32_t *a, const uint32_t *b,
                        int64_t rows, int64_t from, int64_t until)
{
    const rgm_matmul_args *o = g->o;

    for (; from < until; from += COLUMN_BLOCK) {
        int64_t to = rgmi_min(until, from + COLUMN_BLOCK);
        for (int64_t r = 0; r < rows; r += BLOCK)
            for (int64_t s = from; s < to; s += BLOCK)
                block_at(g, c + r * o->ldc + s, a + r / TILE * strip_words(g),
                         b + s / TILE * strip_words(g), rgmi_min(BLOCK, rows - r),
                         rgmi_min(BLOCK, to - s));
        if (g->last)
            block_finish(c + from, o->ldc, rows, to - from,
                         o->bias ? (const float *)o->bias + from : NULL,
                         o->accumulate ? RGM_ACT_NONE : o->activation, (float)o->slope);
    }
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
    columns_run(g, c, packed, b, rows, j, until);
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

    pack_b_pass(g);
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

/* ---- products whose B was packed before ------------------------------------------------------ */

/* Words of `strips` strips before k = from, the beginning of a pass: passes lie one behind another.
 */
static inline int64_t words_before(int64_t strips, int64_t from)
{
    return strips * (from / TILE_K) * TILE_SIZE;
}

size_t BF16_PACK(const rgm_matmul_args *args)
{
    rgm_matmul_args o = *args;
    bf16_product g = {.o = &o};
    int64_t strips = strips_of(o.n);

    o.batch = 1;
    for (; o.c != NULL && g.from < o.k; g.from += K_PASS) {
        g.k = rgmi_min(K_PASS, o.k - g.from);
        g.packed_b = (uint32_t *)o.c + words_before(strips, g.from);
        pack_b_pass(&g);
    }
    return (size_t)(strips * rgmi_blocks(o.k, TILE_K) * TILE_SIZE) * sizeof(uint32_t);
}

/* `rows` rows of A, from i on, of g's pass. */
static void pack_a_rows(const bf16_product *g, uint32_t *packed, int64_t i, int64_t rows)
{
    const rgm_matmul_args *o = g->o;

    pack_strips(packed,
                (const float *)o->a + (o->trans_a ? g->from * o->lda + i : i * o->lda + g->from),
                o->lda, !o->trans_a, o->trans_a, rows, g->k);
}

/* Strip after strip of each pass. */
static void pack_a(void *payload, int64_t begin, int64_t end)
{
    bf16_product g = *(const bf16_product *)payload;
    int64_t strips = strips_of(g.o->m);

    for (int64_t i = begin; i < end; i++) {
        int64_t row = i % strips * TILE;
        g.from = i / strips * K_PASS;
        g.k = rgmi_min(K_PASS, g.o->k - g.from);
        pack_a_rows(&g, g.packed_a + words_before(strips, g.from) + i % strips * strip_words(&g),
                    row, rgmi_min(TILE, g.o->m - row));
    }
}

/* All passes over `rows` rows and the columns j..until; room: where to pack rows that are not. */
static void packed_block(const bf16_product *product, int64_t i, int64_t rows, int64_t j,
                         int64_t until, uint32_t *room)
{
    const rgm_matmul_args *o = product->o;
    bf16_product g = {.o = o, .first = !o->accumulate};

    for (; g.from < o->k; g.from += K_PASS) {
        const uint32_t *b = (const uint32_t *)o->b + words_before(strips_of(o->n), g.from);
        const uint32_t *a = room;
        g.k = rgmi_min(K_PASS, o->k - g.from);
        g.last = g.from + g.k >= o->k;
        if (room != NULL)
            pack_a_rows(&g, room, i, rows);
        else
            a = product->packed_a + words_before(strips_of(o->m), g.from) +
                i / TILE * strip_words(&g);
        columns_run(&g, (float *)o->c + i * o->ldc, a, b, rows, j, until);
        g.first = false;
    }
}

/* Without memory for A's rows. */
static __attribute__((noinline)) void packed_block_alone(const bf16_product *g, int64_t i,
                                                         int64_t rows, int64_t j, int64_t until)
{
    _Alignas(64) uint32_t room[BLOCK * (K_PASS / 2)];

    for (int64_t r = 0; r < rows; r += BLOCK)
        packed_block(g, i + r, rgmi_min(BLOCK, rows - r), j, until, room);
}

static void packed_tasks(void *payload, int64_t begin, int64_t end)
{
    const bf16_product *g = payload;

    block_begin();
    for (int64_t t = begin; t < end; t++) {
        int64_t j = t % g->column_tasks * g->column_task, i = t / g->column_tasks * g->row_task;
        int64_t rows = rgmi_min(g->row_task, g->o->m - i);
        int64_t until = rgmi_min(g->o->n, j + g->column_task);
        if (g->packed_a != NULL)
            packed_block(g, i, rows, j, until, NULL);
        else
            packed_block_alone(g, i, rows, j, until);
    }
    block_end();
}

static void packed_run(const rgm_matmul_args *o)
{
    bf16_product g = {.o = o};
    int64_t strips = strips_of(o->m), passes = rgmi_blocks(o->k, K_PASS), tasks;
    double products = (double)(o->m * o->n) * (double)o->k;

    g.row_task = rgmi_min(ROW_TASK, rgmi_blocks(o->m, BLOCK) * BLOCK);
    g.row_tasks = rgmi_blocks(o->m, g.row_task);
    g.column_task = rgmi_blocks(rgmi_blocks(o->n * g.row_tasks, 2 * TASKS_ENOUGH), BLOCK) * BLOCK;
    g.column_tasks = rgmi_blocks(o->n, g.column_task);
    tasks = g.row_tasks * g.column_tasks;
    g.packed_a = rgmi_scratch_take((size_t)(strips * rgmi_blocks(o->k, TILE_K) * TILE_SIZE) *
                                   sizeof *g.packed_a);
    if (g.packed_a != NULL)
        rgm_parallel(strips * passes, (double)(rgmi_min(K_PASS, o->k) * TILE) * 0.05, pack_a, &g);
    rgm_parallel(tasks, products / (double)tasks / BF16_RATE, packed_tasks, &g);
    rgmi_scratch_give(g.packed_a);
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
    bool empty = args->m == 0 || args->n == 0 || args->k == 0;

    if (args->packed && !empty)
        packed_run(args);
    else if (args->packed || !is_worth(args) || !product_run(args))
        BF16_OTHERWISE(args);
}
