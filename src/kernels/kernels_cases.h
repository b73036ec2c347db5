/*
 * One table of cases for every kernel: each draws its shapes and options from the variant's number,
 * its inputs from a seed, and calls its kernel from whatever table it is given, float or double.
 * The test compares every row with the double reference; edge sizes and options come by the draw.
 */
#ifndef RGM_KERNELS_CASES_H
#define RGM_KERNELS_CASES_H

#include "kernels_internal.h"
#include <check.h>

#define GUARD 32 /* elements before and behind each output that must keep their bytes */

/* One call of a kernel: what it was given and what it wrote. */
typedef struct run {
    const rgm_kernels *kernels;
    int variant;
    uint64_t state; /* of the generator */
    void *memory[256];
    size_t bytes[256]; /* of each: what may be read and written */
    int memories;
    void *out[4]; /* guarded, of kernels->dtype */
    int64_t out_count[4];
    int outs;
} run;

static uint32_t draw(run *t)
{
    t->state = t->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(t->state >> 33);
}

static int64_t draw_below(run *t, int64_t n)
{
    return (int64_t)(draw(t) % (uint32_t)n);
}

static bool draw_bool(run *t)
{
    return draw(t) >> 5 & 1;
}

static double draw_number(run *t)
{
    double sum = 0;

    for (int i = 0; i < 4; i++)
        sum += (double)draw(t) / 2147483648.0 - 0.5;
    return (float)(sum * 1.7);
}

#define PICK(t, ...)                                                                               \
    ((const int64_t[]){__VA_ARGS__}[draw_below(                                                    \
        t, (int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))])

static int64_t draw_channels(run *t)
{
    return PICK(t, 1, 2, 3, 7, 8, 9, 15, 16, 16, 17, 31, 40, 47, 64, 65, 128, 256);
}

static int64_t draw_rows(run *t)
{
    return PICK(t, 0, 1, 2, 3, 5, 17, 64, 64, 131, 131, 500);
}

static void *keep(run *t, size_t size)
{
    void *memory = rgm_malloc(size + 64);

    CHECK(memory != NULL && t->memories < 256);
    memset(memory, 0, size + 64);
    t->bytes[t->memories] = size;
    return t->memory[t->memories++] = memory;
}

static size_t element(const run *t)
{
    return rgm_dtype_size(t->kernels->dtype);
}

static void put(const run *t, void *array, int64_t i, double value)
{
    if (t->kernels->dtype == RGM_F32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = (float)value;
}

static double get(const run *t, const void *array, int64_t i)
{
    return t->kernels->dtype == RGM_F32 ? ((const float *)array)[i] : ((const double *)array)[i];
}

/* An input of n random numbers, the same in both dtypes. */
static void *in(run *t, int64_t n)
{
    void *array = keep(t, (size_t)n * element(t));

    for (int64_t i = 0; i < n; i++)
        put(t, array, i, draw_number(t));
    return array;
}

static void *maybe_in(run *t, int64_t n)
{
    return draw_bool(t) ? in(t, n) : NULL;
}

/* An output of n elements between guards; it begins as random numbers or as a copy of `initial`. */
static void *out(run *t, int64_t n, const void *initial)
{
    char *array = keep(t, (size_t)(n + 2 * GUARD) * element(t));
    char *inside = array + GUARD * element(t);

    memset(array, 0x5a, (size_t)(n + 2 * GUARD) * element(t));
    for (int64_t i = 0; i < n; i++)
        put(t, inside, i, initial ? get(t, initial, i) : draw_number(t));
    t->out_count[t->outs] = n;
    return t->out[t->outs++] = inside;
}

/* The rows of each block in any order. */
static const int32_t *draw_visit(run *t, const rgm_csr *csr)
{
    int32_t *visit = keep(t, (size_t)csr->rows * sizeof *visit);

    for (int64_t b = 0; b < rgm_csr_blocks(csr); b++) {
        int64_t from = rgm_csr_block_begin(csr, b), to = rgm_csr_block_begin(csr, b + 1);
        for (int64_t r = from; r < to; r++) {
            int64_t at = from + draw_below(t, r - from + 1);
            visit[r] = visit[at];
            visit[at] = (int32_t)r;
        }
    }
    return visit;
}

/* A random pattern; some rows empty, one long; entries permuted or not. */
static rgm_csr *draw_csr(run *t, int64_t rows, int64_t columns, int64_t degree)
{
    rgm_csr *csr = keep(t, sizeof *csr);
    int64_t *start = keep(t, (size_t)(rows + 1) * sizeof *start), count = 0;
    int32_t *column, *entry;
    bool hub = rows > 2 && draw_below(t, 4) == 0;

    for (int64_t r = 0; r < rows; r++) {
        int64_t n = columns == 0 ? 0 : draw_below(t, 2 * degree + 1);
        if (hub && r == rows / 2)
            n = 2500;
        start[r] = count;
        count += n;
    }
    start[rows] = count;
    column = keep(t, (size_t)count * sizeof *column);
    entry = keep(t, (size_t)count * sizeof *entry);
    for (int64_t p = 0; p < count; p++) {
        column[p] = (int32_t)draw_below(t, columns);
        entry[p] = (int32_t)p;
    }
    for (int64_t p = count - 1; p > 0; p--) {
        int64_t q = draw_below(t, p + 1);
        int32_t swap = entry[p];
        entry[p] = entry[q];
        entry[q] = swap;
    }
    *csr = (rgm_csr){.rows = rows,
                     .columns = columns,
                     .count = count,
                     .row_start = start,
                     .column = column,
                     .entry = draw_bool(t) ? entry : NULL};
    if (draw_bool(t))
        csr->visit = draw_visit(t, csr);
    for (int64_t r = 0; t->variant % 2 == 1 && r < rows; r++) /* else it is not known */
        if (csr->longest < start[r + 1] - start[r])
            csr->longest = start[r + 1] - start[r];
    return csr;
}

/* ---- the cases ------------------------------------------------------------------------------- */

static rgm_matmul_args matmul_draw(run *t)
{
    rgm_matmul_args o = {.batch = 1, .slope = 0.3};
    int64_t a_rows, b_rows;

    if (t->variant < 24) { /* the shapes of networks, cut to size; long sums; oneDNN's share */
        static const int64_t shape[24][3] = {
            {677, 16, 7},     {677, 7, 16},    {16, 7, 2708},    {65, 33, 5000},   {300, 256, 128},
            {130, 40, 256},   {290, 40, 2049}, {7, 300, 600},    {1100, 520, 260}, {1100, 520, 260},
            {2708, 7, 16},    {40, 290, 2049}, {130, 300, 1030}, {300, 130, 1030}, {500, 40, 1030},
            {40, 500, 1100},  {130, 100, 40},  {70, 900, 64},    {600, 50, 300},   {2100, 48, 32},
            {256, 256, 2241}, {40, 256, 2241}, {257, 70, 200},   {65, 481, 33}};
        o.m = shape[t->variant][0];
        o.n = shape[t->variant][1];
        o.k = shape[t->variant][2];
    } else {
        o.m = PICK(t, 0, 1, 2, 5, 6, 7, 12, 13, 31, 64, 121, 250);
        o.n = PICK(t, 0, 1, 2, 7, 8, 9, 15, 16, 17, 24, 25, 32, 33, 40, 48, 49, 100);
        o.k = PICK(t, 0, 1, 2, 3, 7, 16, 64, 255, 256, 257, 385, 700);
        o.batch = PICK(t, 1, 1, 1, 3, 9);
    }
    o.trans_a = draw_bool(t);
    o.trans_b = draw_bool(t);
    o.accumulate = draw_below(t, 3) == 0;
    o.activation = o.accumulate ? RGM_ACT_NONE : (rgm_activation)draw_below(t, 7);
    a_rows = o.trans_a ? o.k : o.m;
    b_rows = o.trans_b ? o.n : o.k;
    o.lda = (o.trans_a ? o.m : o.k) + draw_below(t, 2) * 3;
    o.ldb = (o.trans_b ? o.k : o.n) + draw_below(t, 2) * 3;
    if (draw_below(t, 6) == 0 && !o.trans_a && o.k <= 512)
        o.lda = 512;
    o.ldc = o.n + (draw_below(t, 3) == 0 ? 3 : 0);
    o.stride_a = a_rows * o.lda;
    o.stride_b = b_rows * o.ldb;
    o.stride_c = o.m * o.ldc;
    o.a = in(t, o.batch * o.stride_a);
    o.b = in(t, o.batch * o.stride_b);
    o.bias = maybe_in(t, o.n);
    o.c = out(t, o.batch * o.stride_c, NULL);
    return o;
}

static void matmul_case(run *t)
{
    rgm_matmul_args o = matmul_draw(t);

    t->kernels->matmul(&o);
}

/* The first product of the batch, its b packed before. */
static void matmul_pack_case(run *t)
{
    rgm_matmul_args o = matmul_draw(t);
    void *c = o.c;
    size_t size = (o.c = NULL, t->kernels->matmul_pack(&o));
    unsigned char *packed = keep(t, size + GUARD);

    memset(packed + size, 0x5a, GUARD);
    o.c = packed;
    CHECK_INT(size, t->kernels->matmul_pack(&o));
    o.c = c;
    for (int i = 0; i < GUARD; i++)
        CHECK_INT(0x5a, packed[size + (size_t)i]);
    o.b = packed;
    o.packed = true;
    o.ldb = o.stride_b = -1;
    o.batch = 1;
    t->kernels->matmul(&o);
}

static rgm_spmm_args spmm_draw(run *t)
{
    rgm_spmm_args o = {.heads = 1, .slope = 0.2};
    int64_t rows = draw_rows(t), columns;

    o.channels = draw_channels(t);
    if (t->variant == 0) { /* large enough to be streamed past the cache */
        rows = 26000;
        o.channels = 256;
    }
    o.self_loop = draw_bool(t);
    columns = o.self_loop ? rows : rows / 2 + 1;
    o.csr = draw_csr(t, rows, columns, t->variant == 0 ? 2 : PICK(t, 1, 5, 20));
    if (t->variant % 3 == 1) {
        o.heads = PICK(t, 1, 2, 4, 8);
        o.channels = o.heads * PICK(t, 1, 3, 4, 7, 8, 16, 20, 32);
        o.weight = in(t, o.csr->count * o.heads);
    } else if (t->variant % 3 == 2) {
        o.weight = maybe_in(t, o.csr->count);
    }
    o.x = in(t, columns * o.channels);
    o.row_scale = maybe_in(t, rows);
    o.column_scale = maybe_in(t, columns);
    o.bias = maybe_in(t, o.channels);
    o.y = out(t, rows * o.channels, NULL);
    if (rows > 0 && t->variant % 4 == 3) { /* some of the rows */
        o.first_row = draw_below(t, rows);
        o.end_row = o.first_row + 1 + draw_below(t, rows - o.first_row);
    }
    if (draw_below(t, 3) == 0)
        o.base = draw_bool(t) ? o.y : in(t, rows * o.channels);
    if (o.base != NULL)
        o.base_scale = maybe_in(t, 1);
    o.activation = o.base != NULL ? RGM_ACT_NONE : (rgm_activation)draw_below(t, 7);
    return o;
}

static void spmm_case(run *t)
{
    const rgm_spmm_args o = spmm_draw(t);

    t->kernels->spmm(&o);
}

static void draw_heads(run *t, int64_t *heads, int64_t *depth)
{
    *heads = PICK(t, 1, 1, 2, 8, 8, 16);
    *depth = PICK(t, 1, 3, 7, 8, 8, 16, 20, 33);
}

static void sddmm_case(run *t)
{
    rgm_sddmm_args o = {0};
    int64_t rows = draw_rows(t), columns = rows + 3;

    draw_heads(t, &o.heads, &o.depth);
    o.csr = draw_csr(t, rows, columns, PICK(t, 1, 5, 20));
    o.a = in(t, rows * o.heads * o.depth);
    o.b = in(t, columns * o.heads * o.depth);
    o.y = out(t, o.csr->count * o.heads, NULL);
    t->kernels->sddmm(&o);
}

static rgm_gatv2_args gatv2_args(run *t, int64_t *rows, int64_t *columns)
{
    rgm_gatv2_args o = {.slope = draw_below(t, 4) == 0 ? 1.5 : 0.2};

    draw_heads(t, &o.heads, &o.depth);
    *rows = draw_rows(t);
    *columns = *rows + 3;
    o.csr = draw_csr(t, *rows, *columns, PICK(t, 1, 5, 20));
    o.q = in(t, *rows * o.heads * o.depth);
    o.v = in(t, *columns * o.heads * o.depth);
    o.a = in(t, o.heads * o.depth);
    o.dy = in(t, o.csr->count * o.heads);
    return o;
}

static void gatv2_score_case(run *t)
{
    int64_t rows, columns;
    rgm_gatv2_args o = gatv2_args(t, &rows, &columns);

    o.y = out(t, o.csr->count * o.heads, NULL);
    t->kernels->gatv2_score(&o);
}

static void gatv2_grad_case(run *t)
{
    int64_t rows, columns;
    rgm_gatv2_args o = gatv2_args(t, &rows, &columns);

    o.y = out(t, rows * o.heads * o.depth, NULL);
    o.da = out(t, o.heads * o.depth, NULL);
    t->kernels->gatv2_grad(&o);
}

/* Numbers with ties and zeros, for largest, smallest and product. */
static void *coarse_in(run *t, int64_t n)
{
    void *array = in(t, n);

    for (int64_t i = 0; i < n; i++)
        put(t, array, i, (double)(draw_below(t, 7) - 3) * 0.5);
    return array;
}

static rgm_segment_args segment_args(run *t)
{
    rgm_segment_args o = {.channels = draw_channels(t)};
    int64_t rows = draw_rows(t);

    o.reduction = (rgm_reduction)(t->variant % 7);
    if (rows > 200 && o.reduction == RGM_PROD)
        rows = 17;
    o.csr = draw_csr(t, rows, 9, PICK(t, 1, 3, 6));
    o.x = o.reduction > RGM_MEAN ? coarse_in(t, o.csr->count * o.channels)
                                 : in(t, o.csr->count * o.channels);
    return o;
}

/* Also with nearly all rows empty, and a result that begins anywhere. */
static void segment_reduce_case(run *t)
{
    rgm_segment_args o = segment_args(t);
    int64_t before = t->variant % 3;

    if (t->variant % 4 == 1) {
        int64_t *start = keep(t, (size_t)(o.csr->rows + 1) * sizeof *start);
        rgm_csr *csr = keep(t, sizeof *csr);
        for (int64_t r = 0; r < o.csr->rows; r++)
            start[r + 1] = start[r] + (start[r] < o.csr->count && draw_below(t, 9) == 0);
        *csr = *o.csr;
        csr->row_start = start;
        csr->count = start[csr->rows];
        o.csr = csr;
    }
    o.y = (char *)out(t, before + o.csr->rows * o.channels, NULL) + before * (int64_t)element(t);
    t->kernels->segment_reduce(&o);
}

static void segment_reduce_grad_case(run *t)
{
    rgm_segment_args o = segment_args(t);
    void *y = keep(t, (size_t)(o.csr->rows * o.channels) * element(t));

    o.y = y;
    t->kernels->segment_reduce(&o);
    o.y_forward = y;
    o.dy = in(t, o.csr->rows * o.channels);
    o.y = out(t, o.csr->count * o.channels, NULL);
    t->kernels->segment_reduce_grad(&o);
}

static rgm_segment_softmax_args segment_softmax_args(run *t)
{
    rgm_segment_softmax_args o = {.channels = PICK(t, 1, 1, 2, 7, 8, 16, 33)};
    int64_t rows, degree;

    rows = draw_rows(t); /* one draw a statement: compilers differ in the order of arguments */
    degree = PICK(t, 1, 5, 20);
    o.csr = draw_csr(t, rows, 9, degree);
    return o;
}

static void segment_softmax_case(run *t)
{
    rgm_segment_softmax_args o = segment_softmax_args(t);
    void *x = in(t, o.csr->count * o.channels);

    if (t->variant % 3 == 0) /* far apart, and some masked out */
        for (int64_t i = 0; i < o.csr->count * o.channels; i++)
            put(t, x, i, draw_below(t, 4) == 0 ? -INFINITY : get(t, x, i) * 1e4);
    o.x = x;
    o.y = out(t, o.csr->count * o.channels, NULL);
    t->kernels->segment_softmax(&o);
}

static void segment_softmax_grad_case(run *t)
{
    rgm_segment_softmax_args o = segment_softmax_args(t);
    void *y = keep(t, (size_t)(o.csr->count * o.channels) * element(t));

    o.x = in(t, o.csr->count * o.channels);
    o.y = y;
    t->kernels->segment_softmax(&o);
    o.y_forward = y;
    o.dy = in(t, o.csr->count * o.channels);
    o.y = out(t, o.csr->count * o.channels, NULL);
    t->kernels->segment_softmax_grad(&o);
}

static void *draw_index(run *t, int64_t n, int64_t below, rgm_dtype dtype)
{
    void *index = keep(t, (size_t)n * 8);

    for (int64_t i = 0; i < n; i++) {
        int64_t value = draw_below(t, below);
        if (dtype == RGM_I32)
            ((int32_t *)index)[i] = (int32_t)value;
        else
            ((int64_t *)index)[i] = value;
    }
    return index;
}

static void gather_case(run *t)
{
    rgm_gather_args o = {.channels = draw_channels(t), .count = draw_rows(t)};

    o.index_dtype = draw_bool(t) ? RGM_I32 : RGM_I64;
    o.index = draw_index(t, o.count, 50, o.index_dtype);
    o.x = in(t, 50 * o.channels);
    o.y = out(t, o.count * o.channels, NULL);
    t->kernels->gather(&o);
}

/* Inputs: whole, and broadcast along any axes. The program uses each input and often each result.
 */
static void map_case(run *t)
{
    rgm_map_args o = {.rank = (int)draw_below(t, 5)};
    int64_t count = 1;

    for (int axis = 0; axis < o.rank; axis++)
        count *= o.shape[axis] = PICK(t, 1, 1, 2, 3, 5, 7, 16, 31, 33, t->variant % 8 ? 40 : 0);
    if (t->variant % 5 == 0 && o.rank == 2)
        count = (o.shape[0] = 300) * (o.shape[1] = PICK(t, 7, 16, 40, 600));
    o.inputs = 1 + (int)draw_below(t, RGM_MAP_INPUTS);
    for (int k = 0; k < o.inputs; k++) {
        int64_t stride = 1;
        for (int axis = o.rank - 1; axis >= 0; axis--) {
            o.stride[k][axis] = k > 0 && draw_below(t, 3) == 0 ? 0 : stride;
            stride *= o.stride[k][axis] ? o.shape[axis] : 1;
        }
        o.input[k] = in(t, stride);
    }
    o.steps = 1 + (int)draw_below(t, RGM_MAP_STEPS);
    for (int s = 0; s < o.steps; s++) {
        static const rgm_map_code tame[] = {
            RGM_MAP_NEG,      RGM_MAP_ABS,   RGM_MAP_RELU,     RGM_MAP_LEAKY_RELU, RGM_MAP_ELU,
            RGM_MAP_SIGMOID,  RGM_MAP_TANH,  RGM_MAP_GELU,     RGM_MAP_SCALE,      RGM_MAP_SHIFT,
            RGM_MAP_SOFTPLUS, RGM_MAP_FLOOR, RGM_MAP_ADD,      RGM_MAP_MAX,        RGM_MAP_MIN,
            RGM_MAP_MUL,      RGM_MAP_SILU,  RGM_MAP_GELU_TANH};
        o.step[s] = (rgm_map_step){.code = tame[draw_below(t, sizeof tame / sizeof *tame)],
                                   .constant = 0.7};
        o.step[s].a = (int8_t)(s > 0 ? o.inputs + s - 1 : 0);
        o.step[s].b = (int8_t)draw_below(t, o.inputs + s);
    }
    if (t->variant >= 200) { /* each code by itself */
        o.steps = 1;
        o.inputs = 2;
        o.stride[1][0] = o.stride[0][0] = 1;
        o.rank = 1;
        count = o.shape[0] = 1000;
        o.input[0] = in(t, count);
        o.input[1] = in(t, count);
        o.step[0] = (rgm_map_step){(rgm_map_code)(t->variant - 200), 0, 1, 0.2};
        if (o.step[0].code == RGM_MAP_SQRT || o.step[0].code == RGM_MAP_RSQRT ||
            o.step[0].code == RGM_MAP_LOG)
            for (int64_t i = 0; i < count; i++)
                put(t, (void *)o.input[0], i, fabs(get(t, o.input[0], i)) + 1e-3);
    }
    o.y = out(t, count, NULL);
    t->kernels->map(&o);
}

/* Rows with numbers: near each other, far apart, some twice; narrow and wider than what is drawn at
 * once; a draw for each element, each row, or something between. */
static void number_rows(rgm_dropout_args *o, run *t)
{
    int64_t rows = PICK(t, 0, 1, 2, 7, 60, 700), at = PICK(t, 0, 5, 1 << 20);
    int64_t apart = PICK(t, 0, 1, 1, 3, 1000003), *number = keep(t, (size_t)rows * sizeof *number);

    o->width = PICK(t, 1, 1, 3, 7, 8, 16, 40, rows <= 7 ? 1030 : 40, rows <= 7 ? 2100 : 40);
    o->group = draw_bool(t) ? o->width : o->width % 2 == 0 ? PICK(t, 1, 1, 2) : 1;
    o->count = rows * o->width;
    for (int64_t r = 0; r < rows; r++, at += apart)
        number[r] = draw_below(t, 8) > 0 ? at : draw_below(t, 1000);
    o->number = number;
}

static void dropout_case(run *t)
{
    rgm_dropout_args o = {.group = PICK(t, 1, 1, 1, 2, 7, 16, 100)};

    o.count = PICK(t, 0, 1, 7, 8, 9, 1000, 1023, 1024, 1025, 5000, 40001);
    if (t->variant >= 60)
        number_rows(&o, t);
    o.rate = t->variant % 5 == 0 ? 0 : (double)draw_below(t, 100) / 100;
    o.rng = rgm_rng_stream((uint64_t)t->variant, "dropout", draw(t));
    o.x = in(t, o.count);
    o.residual = maybe_in(t, o.count);
    o.y = out(t, o.count, o.residual ? o.residual : o.x);
    if (draw_bool(t)) { /* over an input */
        if (o.residual)
            o.residual = o.y;
        else
            o.x = o.y;
    }
    t->kernels->dropout(&o);
}

static void reduce_case(run *t)
{
    rgm_reduce_args o = {.reduction = (rgm_reduction)(t->variant % 7)};

    o.outer = PICK(t, 0, 1, 1, 2, 13);
    o.axis = PICK(t, 0, 1, 2, 3, 4, 5, 17, 1000, 1025, 3000);
    o.inner = PICK(t, 0, 1, 1, 1, 2, 7, 8, 40, 64, 65);
    if (t->variant < 14)
        o = (rgm_reduce_args){
            .outer = 1, .axis = 40000, .inner = t->variant < 7 ? 1 : 16, .reduction = o.reduction};
    if (o.reduction == RGM_PROD && o.axis > 17)
        o.axis = 17;
    o.x = in(t, o.outer * o.axis * o.inner);
    if (o.reduction == RGM_SUM && draw_bool(t))
        o.factor = in(t, o.outer * o.axis * o.inner);
    o.y = out(t, o.outer * o.inner, NULL);
    t->kernels->reduce(&o);
}

#include "kernels_cases_rows.h"

static void sum_of_squares_case(run *t)
{
    int64_t n = PICK(t, 0, 1, 7, 100, 16384, 16385, 70001, 1100000);
    void *x = in(t, n), *y = out(t, 1, NULL);

    put(t, y, 0, t->kernels->sum_of_squares(&(rgm_flat_args){x, n}));
}

static void squares_case(run *t)
{
    enum { MOST = 43 }; /* more than two launches of a GPU hold */
    int64_t n[MOST] = {PICK(t, 0, 1, 7, 100), 16384, PICK(t, 16385, 70001), PICK(t, 3, 1100000)};
    rgm_squares_args o = {.count = n, .arrays = PICK(t, 0, 1, 4, 4, 20, MOST)};
    const void *x[MOST];
    double *sums = keep(t, MOST * sizeof *sums);
    void *y = out(t, MOST, NULL);

    for (int i = 4; i < MOST; i++)
        n[i] = draw_below(t, 300);
    for (int i = 0; i < MOST; i++)
        x[i] = in(t, n[i]);
    o.x = x;
    o.y = sums;
    t->kernels->squares(&o);
    for (int i = 0; i < o.arrays; i++) {
        CHECK(sums[i] == t->kernels->sum_of_squares(&(rgm_flat_args){x[i], n[i]}));
        put(t, y, i, sums[i]);
    }
}

static void all_finite_case(run *t)
{
    int64_t n = PICK(t, 0, 1, 7, 100, 16384, 16385, 70001);
    void *x = in(t, n), *y = out(t, 1, NULL);

    if (n > 0 && t->variant % 4 > 0)
        put(t, x, t->variant % 4 == 3 ? n - 1 : draw_below(t, n),
            t->variant % 4 == 1 ? NAN : -INFINITY);
    put(t, y, 0, t->kernels->all_finite(&(rgm_flat_args){x, n}));
}

#include "kernels_cases_image.h"
#include "kernels_cases_any.h"
#include "kernels_cases_optim.h"

/* entry: where in the table the kernel stands; bound: NMSE against the double reference. */
typedef struct kernel_case {
    const char *name;
    size_t entry;
    void (*call)(run *t);
    int variants;
    double bound;
} kernel_case;

#define CASE(name, variants, bound)                                                                \
    {                                                                                              \
#name, offsetof(rgm_kernels, name), name##_case, variants, bound                           \
    }

static const kernel_case kernel_cases[] = {
    CASE(matmul, 150, 1e-10),
    CASE(matmul_pack, 150, 1e-10),
    CASE(spmm, 120, 1e-10),
    CASE(sddmm, 40, 1e-10),
    CASE(gatv2_score, 40, 1e-10),
    CASE(gatv2_grad, 80, 1e-10),
    CASE(segment_reduce, 84, 1e-10),
    CASE(segment_reduce_grad, 84, 1e-11),
    CASE(segment_softmax, 60, 1e-11),
    CASE(segment_softmax_grad, 60, 1e-10),
    CASE(gather, 40, 0),
    CASE(gather_bytes, 40, 0),
    CASE(index_check, 60, 0),
    CASE(degree, 40, 0),
    CASE(copy, 60, 0),
    CASE(permute, 60, 0),
    CASE(cast, 100, 0),
    CASE(equal, 60, 0),
    CASE(fill, 20, 1e-14),
    CASE(map, 200 + RGM_MAP_CODE_COUNT, 1e-11),
    CASE(dropout, 140, 1e-11),
    CASE(reduce, 140, 1e-10),
    CASE(reduce_prod_grad, 60, 1e-11),
    CASE(argmax, 60, 0),
    CASE(softmax, 60, 1e-11),
    CASE(softmax_grad, 60, 1e-10),
    CASE(cross_entropy, 60, 1e-11),
    CASE(cross_entropy_grad, 60, 1e-11),
    CASE(attention, 120, 1e-11),
    CASE(attention_grad, 120, 1e-10),
    CASE(attention_rows, 100, 1e-11),
    CASE(top_log_softmax, 60, 1e-11),
    CASE(layer_norm, 60, 1e-11),
    CASE(layer_norm_grad, 60, 1e-10),
    CASE(rotary, 60, 1e-11),
    CASE(batch_moments, 60, 1e-11),
    CASE(batch_norm, 60, 1e-11),
    CASE(batch_norm_grad, 60, 1e-10),
    CASE(l2_normalize, 60, 1e-12),
    CASE(l2_normalize_grad, 60, 1e-11),
    CASE(conv2d, 80, 1e-10),
    CASE(conv2d_grad_input, 80, 1e-10),
    CASE(conv2d_grad_kernel, 80, 1e-10),
    CASE(max_pool2d, 60, 0),
    CASE(max_pool2d_grad, 60, 1e-11),
    CASE(avg_pool2d, 60, 1e-11),
    CASE(avg_pool2d_grad, 60, 1e-11),
    CASE(adam, 30, 1e-11),
    CASE(sgd, 30, 1e-11),
    CASE(amsgrad, 30, 1e-11),
    CASE(rmsprop, 40, 1e-11),
    CASE(adagrad, 30, 1e-11),
    CASE(lamb_direction, 30, 1e-11),
    CASE(lars_direction, 40, 1e-11),
    CASE(adafactor_direction, 40, 1e-11),
    CASE(adafactor_move, 30, 1e-11),
    CASE(clip, 30, 1e-13),
    CASE(average, 30, 1e-11),
    CASE(swap, 30, 0),
    CASE(sum_of_squares, 30, 1e-10),
    CASE(squares, 20, 1e-10),
    CASE(all_finite, 40, 0),
};

#endif
