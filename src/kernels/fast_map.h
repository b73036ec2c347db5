/*
 * Element-wise programs over blocks that fit in L1: each instruction runs over a whole block before
 * the next, so an instruction costs a load, the arithmetic and a store. Axes that lie behind each
 * other in every input are first made one; inputs that are broadcast or strided are laid out in a
 * buffer of the block.
 */

#define MAP_BLOCK 512 /* elements; a multiple of 16 */
#define MAP_SHORT 32  /* rows up to here are taken several to a block */
#define MAP_SLOTS (RGM_MAP_INPUTS + RGM_MAP_STEPS)

typedef struct map_job {
    const rgm_map_args *o;
    int rank;
    int64_t shape[RGM_MAX_RANK + 1];
    int64_t stride[RGM_MAP_INPUTS][RGM_MAX_RANK + 1];
    int64_t length;             /* of the innermost axis      */
    int64_t rows;               /* of all others together     */
    int64_t block_rows;         /* rows of a block, when > 1  */
    int64_t row_blocks;         /* blocks of a row, otherwise */
    int8_t slot[RGM_MAP_STEPS]; /* buffer of each instruction's result */
    int slots;
    bool stream; /* the result goes past the cache */
} map_job;

/* ---- the instructions ---------------------------------------------------------------------- */

#define MAP_LOOP(expression)                                                                       \
    for (int64_t i = 0; i < n; i += LANES) {                                                       \
        vf x = v_load(a + i);                                                                      \
        v_store(y + i, (expression));                                                              \
    }                                                                                              \
    break
#define MAP_LOOP2(expression)                                                                      \
    for (int64_t i = 0; i < n; i += LANES) {                                                       \
        vf x = v_load(a + i), z = v_load(b + i);                                                   \
        v_store(y + i, (expression));                                                              \
    }                                                                                              \
    break

static void map_unary(float *y, const float *a, int64_t n, rgm_map_code code, float constant)
{
    const vf c = v_set1(constant), one = v_set1(1), zero = v_zero();

    switch (code) {
    case RGM_MAP_NEG:
        MAP_LOOP(v_neg(x));
    case RGM_MAP_ABS:
        MAP_LOOP(v_abs(x));
    case RGM_MAP_SQUARE:
        MAP_LOOP(v_mul(x, x));
    case RGM_MAP_SQRT:
        MAP_LOOP(v_sqrt(x));
    case RGM_MAP_RSQRT:
        MAP_LOOP(v_div(one, v_sqrt(x)));
    case RGM_MAP_RECIPROCAL:
        MAP_LOOP(v_div(one, x));
    case RGM_MAP_EXP:
        MAP_LOOP(v_exp(x));
    case RGM_MAP_LOG:
        MAP_LOOP(v_log(x));
    case RGM_MAP_RELU:
        MAP_LOOP(v_relu(x));
    case RGM_MAP_LEAKY_RELU:
        MAP_LOOP(v_leaky(x, c));
    case RGM_MAP_ELU:
        MAP_LOOP(v_elu(x));
    case RGM_MAP_SIGMOID:
        MAP_LOOP(v_sigmoid(x));
    case RGM_MAP_TANH:
        MAP_LOOP(v_tanh(x));
    case RGM_MAP_GELU:
        MAP_LOOP(v_gelu(x));
    case RGM_MAP_SIGN:
        MAP_LOOP(v_sub(v_select(v_gt(x, zero), one, zero), v_select(v_gt(zero, x), one, zero)));
    case RGM_MAP_IS_POSITIVE:
        MAP_LOOP(v_select(v_gt(x, zero), one, zero));
    case RGM_MAP_GELU_SLOPE:
        MAP_LOOP(v_gelu_slope(x));
    case RGM_MAP_SILU:
        MAP_LOOP(v_silu(x));
    case RGM_MAP_SILU_SLOPE:
        MAP_LOOP(v_silu_slope(x));
    case RGM_MAP_GELU_TANH:
        MAP_LOOP(v_gelu_tanh(x));
    case RGM_MAP_GELU_TANH_SLOPE:
        MAP_LOOP(v_gelu_tanh_slope(x));
    case RGM_MAP_SCALE:
        MAP_LOOP(v_mul(x, c));
    case RGM_MAP_SHIFT:
        MAP_LOOP(v_add(x, c));
    case RGM_MAP_SOFTPLUS:
        MAP_LOOP(v_softplus(x));
    default:
        MAP_LOOP(v_max(x, c)); /* RGM_MAP_FLOOR */
    }
}

static void map_binary(float *y, const float *a, const float *b, int64_t n, rgm_map_code code,
                       float constant)
{
    const vf c = v_set1(constant), one = v_set1(1), zero = v_zero();

    switch (code) {
    case RGM_MAP_ADD:
        MAP_LOOP2(v_add(x, z));
    case RGM_MAP_SUB:
        MAP_LOOP2(v_sub(x, z));
    case RGM_MAP_MUL:
        MAP_LOOP2(v_mul(x, z));
    case RGM_MAP_DIV:
        MAP_LOOP2(v_div(x, z));
    case RGM_MAP_MAX:
        MAP_LOOP2(v_max(x, z));
    case RGM_MAP_MIN:
        MAP_LOOP2(v_min(x, z));
    case RGM_MAP_GREATER:
        MAP_LOOP2(v_select(v_gt(x, z), one, zero));
    case RGM_MAP_EQUAL:
        MAP_LOOP2(v_select(v_eq(x, z), one, zero));
    case RGM_MAP_RELU_GRAD:
        MAP_LOOP2(v_select(v_gt(z, zero), x, zero));
    case RGM_MAP_LEAKY_GRAD:
        MAP_LOOP2(v_select(v_gt(z, zero), x, v_mul(c, x)));
    case RGM_MAP_ELU_GRAD:
        MAP_LOOP2(v_select(v_gt(z, zero), x, v_mul(x, v_add(z, one))));
    case RGM_MAP_SIGMOID_GRAD:
        MAP_LOOP2(v_mul(v_mul(x, z), v_sub(one, z)));
    default:
        MAP_LOOP2(v_mul(x, v_fnma(z, z, one))); /* RGM_MAP_TANH_GRAD */
    }
}

/* ---- axes and buffers ---------------------------------------------------------------------- */

/* Can axis `axis` and the one kept before it be walked as one in every input? */
static bool map_joins(const map_job *g, int axis)
{
    const rgm_map_args *o = g->o;

    for (int k = 0; k < o->inputs; k++)
        if (g->stride[k][g->rank - 1] != o->stride[k][axis] * o->shape[axis])
            return false;
    return true;
}

static void map_collapse(map_job *g)
{
    const rgm_map_args *o = g->o;

    for (int axis = 0; axis < o->rank; axis++) {
        if (o->shape[axis] == 1)
            continue;
        if (g->rank > 0 && map_joins(g, axis)) {
            g->shape[g->rank - 1] *= o->shape[axis];
        } else {
            g->shape[g->rank++] = o->shape[axis];
        }
        for (int k = 0; k < o->inputs; k++)
            g->stride[k][g->rank - 1] = o->stride[k][axis];
    }
    if (g->rank == 0) {
        g->shape[g->rank++] = 1;
        for (int k = 0; k < o->inputs; k++)
            g->stride[k][0] = 0;
    }
    g->length = g->shape[g->rank - 1];
    g->rows = 1;
    for (int axis = 0; axis < g->rank - 1; axis++)
        g->rows *= g->shape[axis];
}

/* A buffer for each instruction's result, taken again once its last reader is past. */
static void map_slots(map_job *g)
{
    const rgm_map_args *o = g->o;
    int last[RGM_MAP_STEPS], owner[RGM_MAP_STEPS];

    for (int s = 0; s < o->steps; s++) {
        last[s] = s;
        owner[s] = -1;
    }
    for (int s = 0; s < o->steps; s++) {
        if (o->step[s].a >= o->inputs)
            last[o->step[s].a - o->inputs] = s;
        if (o->step[s].code >= RGM_MAP_ADD && o->step[s].b >= o->inputs)
            last[o->step[s].b - o->inputs] = s;
    }
    for (int s = 0; s < o->steps; s++) {
        int slot = 0;
        while (owner[slot] >= 0 && last[owner[slot]] > s)
            slot++;
        owner[slot] = s;
        g->slot[s] = (int8_t)slot;
        g->slots = slot >= g->slots ? slot + 1 : g->slots;
    }
}

static int64_t map_row_offset(const map_job *g, int k, int64_t row)
{
    int64_t offset = 0;

    for (int axis = g->rank - 2; axis > 0; axis--) {
        offset += row % g->shape[axis] * g->stride[k][axis];
        row /= g->shape[axis];
    }
    return g->rank > 1 ? offset + row * g->stride[k][0] : 0;
}

/* The same elements in every block that begins at a row's beginning? */
static bool map_repeats(const map_job *g, int k)
{
    for (int axis = 0; axis < g->rank - 1; axis++)
        if (g->stride[k][axis] != 0)
            return false;
    return g->block_rows > 1 || g->stride[k][g->rank - 1] == 0;
}

static void map_lay_out(float *buffer, const map_job *g, int k, int64_t row, int64_t rows,
                        int64_t column, int64_t columns)
{
    int64_t stride = g->stride[k][g->rank - 1];

    for (int64_t r = 0; r < rows; r++, buffer += columns) {
        const float *x =
            (const float *)g->o->input[k] + map_row_offset(g, k, row + r) + column * stride;
        if (stride == 1)
            for (int64_t i = 0; i < columns; i++)
                buffer[i] = x[i];
        else
            for (int64_t i = 0; i < columns; i++)
                buffer[i] = x[i * stride];
    }
}

typedef struct map_state {
    _Alignas(64) float buffer[MAP_SLOTS][MAP_BLOCK]; /* a vector lies in one cache line */
    bool ready[RGM_MAP_INPUTS]; /* the buffer holds what repeats in each block */
} map_state;

/* Where block (row, rows, column, columns) of input k can be read in whole vectors. */
static const float *map_input(const map_job *g, map_state *state, int k, int64_t row, int64_t rows,
                              int64_t column, int64_t columns)
{
    bool dense = g->stride[k][g->rank - 1] == 1 || g->length == 1;
    float *buffer = state->buffer[k];

    if (rows > 1)
        dense = dense && g->rank == 2 && g->stride[k][0] == g->length;
    if (dense && rows * columns % LANES == 0)
        return (const float *)g->o->input[k] + map_row_offset(g, k, row) +
               column * g->stride[k][g->rank - 1];
    if (state->ready[k])
        return buffer;
    if (map_repeats(g, k)) { /* once for all blocks, so for the largest */
        map_lay_out(buffer, g, k, 0, rows > 1 ? g->block_rows : 1, 0,
                    rows > 1 ? columns : rgmi_min(MAP_BLOCK, g->length));
        state->ready[k] = rows == g->block_rows || g->block_rows <= 1;
    } else {
        map_lay_out(buffer, g, k, row, rows, column, columns);
    }
    return buffer;
}

static void map_block(const map_job *g, map_state *state, int64_t row, int64_t rows, int64_t column,
                      int64_t columns)
{
    const rgm_map_args *o = g->o;
    const float *value[MAP_SLOTS];
    int64_t count = rows * columns, whole = rgmi_blocks(count, LANES) * LANES;
    float *y = (float *)o->y + row * g->length + column, *to = y;

    for (int k = 0; k < o->inputs; k++)
        value[k] = map_input(g, state, k, row, rows, column, columns);
    for (int s = 0; s < o->steps; s++) {
        const rgm_map_step *step = &o->step[s];
        to = state->buffer[o->inputs + g->slot[s]];
        if (s == o->steps - 1 && whole == count && !g->stream)
            to = y;
        if (step->code < RGM_MAP_ADD)
            map_unary(to, value[(int)step->a], whole, step->code, (float)step->constant);
        else
            map_binary(to, value[(int)step->a], value[(int)step->b], whole, step->code,
                       (float)step->constant);
        value[o->inputs + s] = to;
    }
    if (g->stream && whole == count && (uintptr_t)y % (4 * LANES) == 0)
        for (int64_t i = 0; i < count; i += LANES)
            v_stream(y + i, v_load(to + i));
    else if (to != y)
        memcpy(y, to, (size_t)count * sizeof(float));
}

static void map_blocks(void *payload, int64_t begin, int64_t end)
{
    const map_job *g = payload;
    map_state state;

    memset(state.ready, 0, sizeof state.ready);
    /* Lanes past the end of a block are computed and dropped: let them be numbers. */
    memset(state.buffer, 0, (size_t)(g->o->inputs + g->slots) * sizeof state.buffer[0]);
    for (int64_t b = begin; b < end; b++) {
        if (g->block_rows > 1) {
            int64_t row = b * g->block_rows;
            map_block(g, &state, row, rgmi_min(g->block_rows, g->rows - row), 0, g->length);
        } else {
            int64_t column = b % g->row_blocks * MAP_BLOCK;
            map_block(g, &state, b / g->row_blocks, 1, column,
                      rgmi_min(MAP_BLOCK, g->length - column));
        }
    }
    _mm_sfence();
}

static double map_step_ns(rgm_map_code code)
{
    switch (code) {
    case RGM_MAP_EXP:
    case RGM_MAP_LOG:
    case RGM_MAP_ELU:
    case RGM_MAP_SIGMOID:
    case RGM_MAP_TANH:
    case RGM_MAP_GELU:
    case RGM_MAP_GELU_SLOPE:
    case RGM_MAP_SILU:
    case RGM_MAP_SILU_SLOPE:
    case RGM_MAP_GELU_TANH:
    case RGM_MAP_GELU_TANH_SLOPE:
    case RGM_MAP_SOFTPLUS:
        return 1.2;
    default:
        return 0.03;
    }
}

static void map(const rgm_map_args *args)
{
    map_job g = {.o = args};
    double ns;
    int64_t blocks;

    map_collapse(&g);
    if (g.length == 0 || g.rows == 0)
        return;
    map_slots(&g);
    ns = (4 * (1 + args->inputs) * g.rows * g.length > CACHED_BYTES ? 0.15 : 0.04) *
         (1 + args->inputs);
    for (int s = 0; s < args->steps; s++)
        ns += map_step_ns(args->step[s].code);
    g.row_blocks = rgmi_blocks(g.length, MAP_BLOCK);
    g.stream = streams(args->y, g.rows * g.length);
    g.block_rows = 1;
    if (g.length <= MAP_SHORT && g.rows > 1)
        g.block_rows = MAP_BLOCK / g.length / 16 * 16;
    blocks = g.block_rows > 1 ? rgmi_blocks(g.rows, g.block_rows) : g.rows * g.row_blocks;
    rgm_parallel(blocks, ns * (double)rgmi_min(MAP_BLOCK, g.length * g.block_rows), map_blocks, &g);
}
