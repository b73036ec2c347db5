/*
 * Products with a b that was packed in 8 bits, written once over vectors of LANES columns: AVX-512
 * VNNI (avx512_vnni.c), AVX2 (avx2_int8.c) and, for tests, VNNI in plain C (int8_emulated.c).
 * Needs before: LANES, vec_math.h; int8_dot() and int8_narrow(); OFFSET (added to a's numbers, so
 * that they have no sign), TILE_ROWS and TILE_PANELS (rows and vectors of a tile of sums);
 * INT8_MATMUL and INT8_PACK (the functions' names), INT8_RATE (products a nanosecond and thread,
 * roughly) and INT8_OTHERWISE (the table that takes what is not packed, or too long).
 *
 * b is kept as steps [columns], corrections [columns] (OFFSET times the sum of a column) and
 * panels: LANES columns, four k of each side by side. Columns are filled up to a multiple of 16, k
 * to one of 4, with zeros. Rows of a are rounded when they come. Sums of 32 bits are exact, so
 * their order is nobody's business; the float operations behind them are the same in every row.
 */
#include <stdatomic.h>
#include <string.h>

#include "fast_finish.h"
#include "int8.h"

#define QUAD         4    /* k of a 32-bit word                           */
#define COLUMNS      16   /* of which b has a multiple                    */
#define ROW_BYTES    64   /* of which a row of a takes a multiple         */
#define ROW_TASK     256  /* rows of a task: they stay in L2              */
#define CHUNK        1024 /* k of a row that is rounded on the stack      */
#define TILE_COLUMNS (LANES * TILE_PANELS)

/* ---- numbers in a row ----------------------------------------------------------------------- */

static inline vf row_load(const float *a, int64_t ld, int64_t left)
{
    float gathered[LANES];

    if (ld == 1)
        return v_load_n(a, left);
    for (int64_t p = 0; p < LANES; p++)
        gathered[p] = p < left ? a[p * ld] : 0;
    return v_load(gathered);
}

/* The step of k numbers `ld` apart. */
static float row_step(const float *a, int64_t ld, int64_t k)
{
    int32_t bits[LANES];
    vi most = v_int_set1(0);
    int32_t all = 0;

    for (int64_t p = 0; p < k; p += LANES)
        most = int8_max(most, v_bits(v_abs(row_load(a + p * ld, ld, k - p))));
    memcpy(bits, &most, sizeof bits);
    for (int i = 0; i < LANES; i++)
        all = bits[i] > all ? bits[i] : all;
    return rgmi_int8_step_of_bits((uint32_t)all);
}

/* `count` numbers in 8 bits, with their offset; whole vectors are written. */
static void row_round(uint8_t *to, const float *a, int64_t ld, int64_t count, float inverse)
{
    vf factor = v_set1(inverse);

    if (inverse == 0) { /* what times 0 is no number must not be one either */
        memset(to, OFFSET, (size_t)(rgmi_blocks(count, LANES) * LANES));
        return;
    }
    for (int64_t p = 0; p < count; p += LANES)
        int8_narrow(to + p, v_round_int(v_mul(row_load(a + p * ld, ld, count - p), factor)));
}

/* ---- b -------------------------------------------------------------------------------------- */

typedef struct int8_b {
    float *step;
    int32_t *correction;
    int8_t *panel; /* [columns / LANES][quads][LANES][QUAD] */
    int64_t columns, quads;
} int8_b;

static int8_b int8_b_of(const void *memory, int64_t n, int64_t k)
{
    int8_b b = {.columns = rgmi_blocks(n, COLUMNS) * COLUMNS, .quads = rgmi_blocks(k, QUAD)};

    b.step = (float *)(uintptr_t)memory;
    if (memory != NULL) {
        b.correction = (int32_t *)(b.step + b.columns);
        b.panel = (int8_t *)(b.correction + b.columns);
    }
    return b;
}

typedef struct int8_pack_job {
    const rgm_matmul_args *o;
    int8_b b;
} int8_pack_job;

/* Column j, a chunk of k at a time; quads lie LANES words apart. */
static void pack_column(const int8_pack_job *g, int64_t j)
{
    const rgm_matmul_args *o = g->o;
    int64_t row = o->trans_b ? 1 : o->ldb;
    const float *from = (const float *)o->b + j * (o->trans_b ? o->ldb : 1);
    int8_t *to = g->b.panel + (j / LANES * g->b.quads * LANES + j % LANES) * QUAD;
    float step = row_step(from, row, o->k);
    _Alignas(64) int8_t chunk[CHUNK];
    int32_t sum = 0;

    for (int64_t p = 0; p < o->k; p += CHUNK) {
        int64_t count = rgmi_min(CHUNK, o->k - p);
        row_round((uint8_t *)chunk, from + p * row, row, count, rgmi_int8_inverse(step));
        for (int64_t i = 0; i < rgmi_blocks(count, QUAD) * QUAD; i++)
            sum += chunk[i] = (int8_t)((uint8_t)chunk[i] - OFFSET);
        for (int64_t i = 0; i < count; i += QUAD, to += LANES * QUAD)
            memcpy(to, chunk + i, QUAD);
    }
    g->b.step[j] = step;
    g->b.correction[j] = OFFSET * sum;
}

/* A column behind the last. */
static void pack_nothing(const int8_pack_job *g, int64_t j)
{
    int8_t *to = g->b.panel + (j / LANES * g->b.quads * LANES + j % LANES) * QUAD;

    for (int64_t q = 0; q < g->b.quads; q++)
        memset(to + q * LANES * QUAD, 0, QUAD);
    g->b.step[j] = 0;
    g->b.correction[j] = 0;
}

static void pack_columns(void *payload, int64_t begin, int64_t end)
{
    const int8_pack_job *g = payload;

    for (int64_t j = begin; j < end; j++)
        if (j < g->o->n)
            pack_column(g, j);
        else
            pack_nothing(g, j);
}

size_t INT8_PACK(const rgm_matmul_args *args)
{
    int8_pack_job g = {.o = args, .b = int8_b_of(args->c, args->n, args->k)};

    if (args->k > RGMI_INT8_K)
        return INT8_OTHERWISE.matmul_pack(args);
    if (args->c != NULL)
        rgm_parallel(g.b.columns, 30 + (double)args->k, pack_columns, &g);
    return (size_t)(g.b.columns * (2 * (int64_t)sizeof(float) + g.b.quads * QUAD));
}

/* ---- tiles ---------------------------------------------------------------------------------- */

typedef struct int8_product {
    const rgm_matmul_args *o;
    int8_b b;
    uint8_t *a;  /* [m] rows of row_bytes */
    float *step; /* [m] */
    int64_t row_bytes, column_tasks;
} int8_product;

static inline __attribute__((always_inline)) vi word_of(const uint8_t *a)
{
    int32_t word;

    memcpy(&word, a, sizeof word);
    return v_int_set1(word);
}

/* c [columns from `column` on] of a row, of its sums. */
static inline void row_finish(float *c, const rgm_matmul_args *o, const int8_b *b, int64_t column,
                              int64_t columns, const int32_t *sums, float step)
{
    vf factor = v_set1(step);

    for (int64_t j = column; j < column + columns; j += LANES, c += LANES, sums += LANES) {
        int64_t left = o->n - j;
        vi sum = v_int_load(sums);
        vf y;
        if (OFFSET != 0)
            sum = v_int_sub(sum, v_int_load(b->correction + j));
        y = v_mul(v_from_int(sum), v_mul(factor, v_load(b->step + j)));
        if (o->bias != NULL)
            y = v_add(y, v_load_n((const float *)o->bias + j, left));
        if (o->accumulate)
            y = v_add(v_load_n(c, left), y);
        v_store_n(c, y, left);
    }
}

/* What follows the sums [rows][columns] of a tile. Apart from them: sums stay in registers. */
static __attribute__((noinline)) void tile_finish(const int8_product *g, int64_t i, int64_t rows,
                                                  int64_t column, int64_t columns,
                                                  const int32_t *sums, const float *step)
{
    const rgm_matmul_args *o = g->o;
    float *c = (float *)o->c + i * o->ldc + column;

    for (int64_t r = 0; r < rows; r++)
        row_finish(c + r * o->ldc, o, &g->b, column, columns, sums + r * columns, step[r]);
    if (!o->accumulate)
        block_finish(c, o->ldc, rows, rgmi_min(columns, o->n - column), NULL, o->activation,
                     (float)o->slope);
}

/* Sums of `rows` rows from `a` on, `across` vectors of columns from `b` on. */
static inline __attribute__((always_inline)) void tile_sums(int32_t *sums, const uint8_t *a,
                                                            int64_t row, const int8_t *b,
                                                            int64_t quads, const int rows,
                                                            const int across)
{
    const int64_t panel = quads * LANES * QUAD;
    vi sum[TILE_ROWS][TILE_PANELS];

    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int j = 0; j < across; j++)
        sum[r][j] = v_int_set1(0);
    for (int64_t q = 0; q < quads; q++, a += QUAD, b += LANES * QUAD) {
        vi right[TILE_PANELS];
        UNROLL
        for (int j = 0; j < across; j++)
            right[j] = v_int_load((const int32_t *)(const void *)(b + j * panel));
        UNROLL
        for (int r = 0; r < rows; r++) {
            vi left = word_of(a + r * row);
            UNROLL
            for (int j = 0; j < across; j++)
                sum[r][j] = int8_dot(sum[r][j], left, right[j]);
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++)
        UNROLL
    for (int j = 0; j < across; j++)
        memcpy(sums + (r * across + j) * LANES, &sum[r][j], sizeof sum[r][j]);
}

/* `rows` rows from row i on, `across` vectors of columns from `column` on. */
static inline __attribute__((always_inline)) void
tile_run(const int8_product *g, int64_t i, int64_t column, const int rows, const int across)
{
    _Alignas(64) int32_t sums[TILE_ROWS * TILE_COLUMNS];

    tile_sums(sums, g->a + i * g->row_bytes, g->row_bytes,
              g->b.panel + column / LANES * g->b.quads * LANES * QUAD, g->b.quads, rows, across);
    tile_finish(g, i, rows, column, across * LANES, sums, g->step + i);
}

#define ROWS_CASE(rows, across)                                                                    \
    case rows:                                                                                     \
        tile_run(g, i, column, rows, across);                                                      \
        break;
#if TILE_ROWS > 3
#define MORE_ROWS(across) ROWS_CASE(4, across) ROWS_CASE(5, across) ROWS_CASE(6, across)
#else
#define MORE_ROWS(across)
#endif

static void tile_whole(const int8_product *g, int64_t i, int64_t column, int64_t rows)
{
    switch (rows) {
        ROWS_CASE(1, TILE_PANELS)
        ROWS_CASE(2, TILE_PANELS)
        ROWS_CASE(3, TILE_PANELS)
        MORE_ROWS(TILE_PANELS)
    default:
        break;
    }
}

static void tile_narrow(const int8_product *g, int64_t i, int64_t column, int64_t rows)
{
    switch (rows) {
        ROWS_CASE(1, 1)
        ROWS_CASE(2, 1)
        ROWS_CASE(3, 1)
        MORE_ROWS(1)
    default:
        break;
    }
}

/* Columns column..end of rows i..until, in tiles of as many rows each as can be. */
static void columns_run(const int8_product *g, int64_t i, int64_t until, int64_t column,
                        int64_t end)
{
    while (i < until) {
        int64_t rows = rgmi_blocks(until - i, rgmi_blocks(until - i, TILE_ROWS)), j = column;
        for (; j + TILE_COLUMNS <= end; j += TILE_COLUMNS)
            tile_whole(g, i, j, rows);
        for (; j < end; j += LANES)
            tile_narrow(g, i, j, rows);
        i += rows;
    }
}

static void product_tasks(void *payload, int64_t begin, int64_t end)
{
    const int8_product *g = payload;

    for (int64_t t = begin; t < end; t++) {
        int64_t i = t / g->column_tasks * ROW_TASK, j = t % g->column_tasks * TILE_COLUMNS;
        columns_run(g, i, rgmi_min(g->o->m, i + ROW_TASK), j, rgmi_min(g->o->n, j + TILE_COLUMNS));
    }
}

static inline const float *a_row(const rgm_matmul_args *o, int64_t i)
{
    return (const float *)o->a + i * (o->trans_a ? 1 : o->lda);
}

static void round_rows(void *payload, int64_t begin, int64_t end)
{
    const int8_product *g = payload;
    int64_t ld = g->o->trans_a ? g->o->lda : 1, k = g->o->k;

    for (int64_t i = begin; i < end; i++) {
        const float *a = a_row(g->o, i);
        g->step[i] = row_step(a, ld, k);
        row_round(g->a + i * g->row_bytes, a, ld, k, rgmi_int8_inverse(g->step[i]));
    }
}

/* ---- without memory for a's rows ------------------------------------------------------------- */

static void row_alone(const int8_product *g, int64_t i)
{
    _Alignas(64) uint8_t chunk[CHUNK];
    const rgm_matmul_args *o = g->o;
    int64_t ld = o->trans_a ? o->lda : 1;
    const float *a = a_row(o, i);
    float step = row_step(a, ld, o->k);

    for (int64_t column = 0; column < o->n; column += LANES) {
        const int8_t *panel = g->b.panel + column / LANES * g->b.quads * LANES * QUAD;
        int32_t sums[LANES];
        vi sum = v_int_set1(0);
        for (int64_t from = 0; from < o->k; from += CHUNK) {
            int64_t count = rgmi_min(CHUNK, o->k - from);
            row_round(chunk, a + from * ld, ld, count, rgmi_int8_inverse(step));
            for (int64_t p = 0; p < count; p += QUAD, panel += LANES * QUAD)
                sum = int8_dot(sum, word_of(chunk + p),
                               v_int_load((const int32_t *)(const void *)panel));
        }
        memcpy(sums, &sum, sizeof sums);
        tile_finish(g, i, 1, column, LANES, sums, &step);
    }
}

static void rows_alone(void *payload, int64_t begin, int64_t end)
{
    const int8_product *g = payload;

    for (int64_t i = begin; i < end; i++)
        row_alone(g, i);
}

void INT8_MATMUL(const rgm_matmul_args *args)
{
    int8_product g = {.o = args};
    double products = (double)args->n * (double)args->k;

    if (!args->packed || args->k > RGMI_INT8_K) {
        INT8_OTHERWISE.matmul(args);
        return;
    }
    g.b = int8_b_of(args->b, args->n, args->k);
    g.row_bytes = rgmi_blocks(args->k, ROW_BYTES) * ROW_BYTES;
    g.column_tasks = rgmi_blocks(args->n, TILE_COLUMNS);
    g.a = rgmi_scratch_take((size_t)(args->m * (g.row_bytes + (int64_t)sizeof *g.step)));
    if (g.a == NULL) {
        rgm_parallel(args->m, 1 + products, rows_alone, &g);
        return;
    }
    g.step = (float *)(void *)(g.a + args->m * g.row_bytes);
    rgm_parallel(args->m, 5 + 0.1 * (double)args->k, round_rows, &g);
    rgm_parallel(rgmi_blocks(args->m, ROW_TASK) * g.column_tasks,
                 10 + (double)rgmi_min(ROW_TASK, args->m) * (double)(TILE_COLUMNS * args->k) /
                          INT8_RATE,
                 product_tasks, &g);
    rgmi_scratch_give(g.a);
}
