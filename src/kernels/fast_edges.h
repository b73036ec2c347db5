/*
 * Kernels that walk the entries of a sparse matrix and look at both ends of each: sddmm, GAT v2's
 * logits and their gradients. Rows are short, often of a few entries: all that is the same for
 * every row is set up once a range of rows, and what lies behind pointers is read into locals,
 * since a vector's store may alias anything. Work is cut into the row blocks of kernels_internal.h.
 */

/* The walk over a csr's entries, by value. */
typedef struct edge_walk {
    const int64_t *start;
    const int32_t *column, *entry, *visit;
    int64_t last;  /* number of the last entry           */
    int64_t width; /* channels of a row on either side   */
    bool far;      /* rows of the other side are not in L2 */
} edge_walk;

static inline edge_walk edge_walk_of(const rgm_csr *csr, int64_t width)
{
    bool far = csr->columns * width * 4 > CACHED_BYTES;

    return (edge_walk){.start = csr->row_start,
                       .column = csr->column,
                       .entry = csr->entry,
                       .visit = far ? NULL : csr->visit, /* rows are asked for as they stand */
                       .last = csr->count - 1,
                       .width = width,
                       .far = far};
}

static inline __attribute__((always_inline)) int64_t edge_entry(const edge_walk *w, int64_t p)
{
    return w->entry ? w->entry[p] : p;
}

/* Ask for `channels` of the row that the walk comes to soon after entry p. */
static inline __attribute__((always_inline)) void edge_ahead(const edge_walk *w, const float *other,
                                                             const int64_t channels, int64_t p)
{
    if (w->far)
        prefetch_row(other + w->column[rgmi_min(p + AHEAD, w->last)] * w->width, channels);
}

/* ---- sddmm and GAT v2's logits: one number an entry and head -------------------------------- */

typedef struct score_job {
    const rgm_csr *csr;
    float *y;
    const float *own, *other, *a; /* a NULL: own . other, else a . leaky(own + other) */
    int64_t heads, depth;
    float slope;
} score_job;

static inline __attribute__((always_inline)) vf score_vector(const bool gat, vf own, vf other, vf a,
                                                             vf slope)
{
    return gat ? v_mul(a, v_leaky(v_add(own, other), slope)) : v_mul(own, other);
}

#if LANES == 8
/* Heads of a whole vector, eight at a time. */
static inline __attribute__((always_inline)) void
score_eight_heads(const bool gat, const score_job *g, int64_t from, int64_t to)
{
    const edge_walk w = edge_walk_of(g->csr, g->heads * g->depth);
    const float *other = g->other, *a = g->a;
    const vf slope = v_set1(g->slope);
    const int64_t heads = g->heads;
    float *y = g->y;

    for (int64_t i = from; i < to; i++) {
        const int64_t r = rgmi_row_visited(w.visit, i);
        for (int64_t p = w.start[r], end = w.start[r + 1]; p < end; p++) {
            edge_ahead(&w, other, w.width, p);
            for (int64_t h = 0; h < heads; h += 8) {
                const float *mine = g->own + r * w.width + h * LANES;
                const float *x = other + w.column[p] * w.width + h * LANES;
                vf part[8];
                UNROLL
                for (int k = 0; k < 8; k++)
                    part[k] = score_vector(gat, v_load(mine + k * LANES), v_load(x + k * LANES),
                                           gat ? v_load(a + (h + k) * LANES) : v_zero(), slope);
                v_sum_eight(y + edge_entry(&w, p) * heads + h, part);
            }
        }
    }
}

/* y of the eight entries in `at`. */
static inline void score_put_eight(float *y, const int64_t *at, const vf *part)
{
    float sum[8];

    v_sum_each(sum, part);
    for (int k = 0; k < 8; k++)
        y[at[k]] = sum[k];
}

/* One head of at most a vector: entries are summed up eight at a time, across the ends of rows. */
static inline __attribute__((always_inline)) void score_one_head(const bool gat, const score_job *g,
                                                                 int64_t from, int64_t to)
{
    const edge_walk w = edge_walk_of(g->csr, g->depth);
    const float *other = g->other, *own = g->own;
    const vm lanes = v_first(g->depth);
    const vf slope = v_set1(g->slope), a = gat ? v_load_where(g->a, lanes) : v_zero();
    float *y = g->y;
    vf part[8];
    int64_t at[8];
    int have = 0;

    for (int64_t i = from; i < to; i++) {
        const int64_t r = rgmi_row_visited(w.visit, i);
        const vf mine = v_load_where(own + r * w.width, lanes);
        for (int64_t p = w.start[r], end = w.start[r + 1]; p < end; p++) {
            edge_ahead(&w, other, w.width, p);
            at[have] = edge_entry(&w, p);
            part[have++] = score_vector(
                gat, mine, v_load_where(other + w.column[p] * w.width, lanes), a, slope);
            if (have == 8) {
                score_put_eight(y, at, part);
                have = 0;
            }
        }
    }
    for (int k = 0; k < have; k++)
        y[at[k]] = v_sum(part[k]);
}
#endif

/* Any heads: vector after vector, the last of each in part. */
static inline __attribute__((always_inline)) void score_any(const bool gat, const score_job *g,
                                                            int64_t from, int64_t to)
{
    const edge_walk w = edge_walk_of(g->csr, g->heads * g->depth);
    const int64_t heads = g->heads, depth = g->depth, whole = (depth - 1) / LANES * LANES;
    const vm lanes = v_first(depth - whole);
    const float *a = g->a;
    const vf slope = v_set1(g->slope), none = v_zero();
    float *y = g->y;

    for (int64_t i = from; i < to; i++) {
        const int64_t r = rgmi_row_visited(w.visit, i);
        for (int64_t p = w.start[r], end = w.start[r + 1]; p < end; p++) {
            const float *mine = g->own + r * w.width, *x = g->other + w.column[p] * w.width;
            edge_ahead(&w, g->other, w.width, p);
            for (int64_t h = 0, c = 0; h < heads; h++, c += depth - whole) {
                vf sum = none;
                for (int64_t last = c + whole; c < last; c += LANES)
                    sum = v_add(sum, score_vector(gat, v_load(mine + c), v_load(x + c),
                                                  gat ? v_load(a + c) : none, slope));
                sum = v_add(sum, score_vector(gat, v_load_where(mine + c, lanes),
                                              v_load_where(x + c, lanes),
                                              gat ? v_load_where(a + c, lanes) : none, slope));
                y[edge_entry(&w, p) * heads + h] = v_sum(sum);
            }
        }
    }
}

static inline __attribute__((always_inline)) void score_rows(const bool gat, const score_job *g,
                                                             int64_t from, int64_t to)
{
#if LANES == 8
    if (g->depth == LANES && g->heads % 8 == 0) {
        score_eight_heads(gat, g, from, to);
        return;
    }
    if (g->depth <= LANES && g->heads == 1) {
        score_one_head(gat, g, from, to);
        return;
    }
#endif
    score_any(gat, g, from, to);
}

static void score_blocks(void *payload, int64_t begin, int64_t end)
{
    const score_job *g = payload;
    int64_t from = rgm_csr_block_begin(g->csr, begin), to = rgm_csr_block_begin(g->csr, end);

    if (g->a != NULL)
        score_rows(true, g, from, to);
    else
        score_rows(false, g, from, to);
}

static void score_run(score_job *g)
{
    rgm_parallel(rgm_csr_blocks(g->csr), RGM_ROW_BLOCK * (4 + 0.2 * (double)(g->heads * g->depth)),
                 score_blocks, g);
}

static void sddmm(const rgm_sddmm_args *args)
{
    score_job g = {args->csr, args->y, args->a, args->b, NULL, args->heads, args->depth, 0};

    NARROW_TAKES(args->depth, sddmm(args));
    score_run(&g);
}

static void gatv2_score(const rgm_gatv2_args *args)
{
    score_job g = {args->csr, args->y,     args->q,     args->v,
                   args->a,   args->heads, args->depth, (float)args->slope};

    NARROW_TAKES(args->depth, gatv2_score(args));
    score_run(&g);
}

/* ---- GAT v2: gradients --------------------------------------------------------------------- */

/* Channels in groups of up to eight vectors, all of whole heads or, where a head is no whole number
 * of vectors, one vector inside a head. */
typedef struct side_job {
    const rgm_gatv2_args *o;
    const float *own, *other;
    float *partial; /* gradient of a: [row blocks][width] */
    bool whole;     /* depth is a multiple of LANES        */
} side_job;

/* The group of channels under work. */
typedef struct side_group {
    int64_t channel;
    int64_t lanes;   /* of each vector: LANES, or less when there is one */
    int64_t head[8]; /* of each vector */
    int vectors;
    bool each; /* vector has a head of its own, and no slope is above 1 */
} side_group;

/* z > 0 ? z : slope z, for any slope by the sign of slope - 1. */
static inline vf leaky_by(vf z, vf slope, bool steep)
{
    return steep ? v_min(v_mul(slope, z), z) : v_max(v_mul(slope, z), z);
}

/* y = a * sum over entries of dy * leaky'(z), rows [from, to), `vectors` of the group. */
static inline __attribute__((always_inline)) void side_rows(const int vectors, const bool each,
                                                            const side_job *g,
                                                            const side_group *group, int64_t from,
                                                            int64_t to)
{
    const rgm_gatv2_args *o = g->o;
    const edge_walk w = edge_walk_of(o->csr, o->heads * o->depth);
    const float *a = (const float *)o->a + group->channel, *dy = o->dy;
    const float *others = g->other + group->channel;
    const vf one = v_set1(1), slope = v_set1((float)o->slope), zero = v_zero();
    const vm lanes = v_first(group->lanes);
    const int64_t heads = o->heads, first = group->head[0];

    for (int64_t i = from; i < to; i++) {
        const int64_t r = rgmi_row_visited(w.visit, i);
        const float *own = g->own + r * w.width + group->channel;
        float *y = (float *)o->y + r * w.width + group->channel;
        vf sum[8];
        UNROLL
        for (int k = 0; k < vectors; k++)
            sum[k] = zero;
        for (int64_t p = w.start[r], end = w.start[r + 1]; p < end; p++) {
            const float *other = others + w.column[p] * w.width;
            const float *d = dy + edge_entry(&w, p) * heads + first;
            edge_ahead(&w, others, vectors * LANES, p);
            UNROLL
            for (int k = 0; k < vectors; k++) {
                vf z = vectors > 1 ? v_add(v_load(own + k * LANES), v_load(other + k * LANES))
                                   : v_add(v_load_where(own, lanes), v_load_where(other, lanes));
                sum[k] = v_fma(v_set1(d[each ? k : group->head[k] - first]),
                               v_select(v_gt(z, zero), one, slope), sum[k]);
            }
        }
        UNROLL
        for (int k = 0; k < vectors; k++)
            v_store_n(y + k * LANES, v_mul(v_load_n(a + k * LANES, group->lanes), sum[k]),
                      group->lanes);
    }
}

/* to = sum of dy * leaky(q + v) over the entries of rows [from, end), `vectors` of the group. */
static inline __attribute__((always_inline)) void grad_a_rows(const int vectors, const bool each,
                                                              const side_job *g,
                                                              const side_group *group, float *to,
                                                              int64_t from, int64_t end_row)
{
    const rgm_gatv2_args *o = g->o;
    const edge_walk w = edge_walk_of(o->csr, o->heads * o->depth);
    const float *vs = (const float *)o->v + group->channel, *dy = o->dy;
    const vf slope = v_set1((float)o->slope);
    const vm lanes = v_first(group->lanes);
    const bool steep = !each && o->slope > 1;
    const int64_t heads = o->heads, first = group->head[0];
    vf sum[8];

    UNROLL
    for (int k = 0; k < vectors; k++)
        sum[k] = v_zero();
    for (int64_t i = from; i < end_row; i++) {
        const int64_t r = rgmi_row_visited(w.visit, i);
        const float *q = (const float *)o->q + r * w.width + group->channel;
        for (int64_t p = w.start[r], end = w.start[r + 1]; p < end; p++) {
            const float *v = vs + w.column[p] * w.width;
            const float *d = dy + edge_entry(&w, p) * heads + first;
            edge_ahead(&w, vs, vectors * LANES, p);
            UNROLL
            for (int k = 0; k < vectors; k++) {
                vf z = vectors > 1 ? v_add(v_load(q + k * LANES), v_load(v + k * LANES))
                                   : v_add(v_load_where(q, lanes), v_load_where(v, lanes));
                sum[k] = v_fma(v_set1(d[each ? k : group->head[k] - first]),
                               leaky_by(z, slope, steep), sum[k]);
            }
        }
    }
    UNROLL
    for (int k = 0; k < vectors; k++)
        v_store_n(to + group->channel + k * LANES, sum[k], group->lanes);
}

#define BY_VECTORS(call, ...)                                                                      \
    do {                                                                                           \
        if (group->vectors == 8 && group->each)                                                    \
            call(8, true, g, group, __VA_ARGS__);                                                  \
        else if (group->vectors == 8)                                                              \
            call(8, false, g, group, __VA_ARGS__);                                                 \
        else if (group->vectors == 4)                                                              \
            call(4, false, g, group, __VA_ARGS__);                                                 \
        else if (group->vectors == 2)                                                              \
            call(2, false, g, group, __VA_ARGS__);                                                 \
        else                                                                                       \
            call(1, false, g, group, __VA_ARGS__);                                                 \
    } while (0)

static void side_run(const side_job *g, const side_group *group, int64_t from, int64_t to)
{
    BY_VECTORS(side_rows, from, to);
}

static void grad_a_run(const side_job *g, const side_group *group, float *sum, int64_t from,
                       int64_t to)
{
    BY_VECTORS(grad_a_rows, sum, from, to);
}

/* The group that begins at channel c; returns where the next one does. */
static int64_t side_group_at(side_group *group, const side_job *g, int64_t c)
{
    int64_t width = g->o->heads * g->o->depth, rest = (width - c) / LANES;

    *group = (side_group){.channel = c, .lanes = LANES};
    group->vectors = !g->whole || rest < 2 ? 1 : (rest >= 8 ? 8 : (rest >= 4 ? 4 : 2));
    if (group->vectors == 1)
        group->lanes = rgmi_min(LANES, g->o->depth - c % g->o->depth);
    for (int k = 0; k < group->vectors; k++)
        group->head[k] = (c + k * LANES) / g->o->depth;
    group->each = g->o->depth <= LANES && !(g->o->slope > 1);
    return c + (group->vectors - 1) * LANES + group->lanes;
}

/* Rows one by one where there are several groups: a row of the other side is then read whole. */
static void side_blocks(void *payload, int64_t begin, int64_t end)
{
    const side_job *g = payload;
    int64_t width = g->o->heads * g->o->depth, from, to;
    side_group group;

    from = rgm_csr_block_begin(g->o->csr, begin);
    to = rgm_csr_block_begin(g->o->csr, end);
    if (width == 0)
        return;
    if (side_group_at(&group, g, 0) == width) {
        side_run(g, &group, from, to);
        return;
    }
    for (int64_t r = from; r < to; r++)
        for (int64_t c = 0; c < width;) {
            c = side_group_at(&group, g, c);
            side_run(g, &group, r, r + 1);
        }
}

static double side_block_ns(const rgm_gatv2_args *o)
{
    return RGM_ROW_BLOCK * (4 + 0.3 * (double)(o->heads * o->depth));
}

static void gatv2_grad_q(const rgm_gatv2_args *args)
{
    side_job g = {args, args->q, args->v, NULL, args->depth % LANES == 0};

    NARROW_TAKES(args->depth, gatv2_grad_q(args));
    rgm_parallel(rgm_csr_blocks(args->csr), side_block_ns(args), side_blocks, &g);
}

static void gatv2_grad_v(const rgm_gatv2_args *args)
{
    side_job g = {args, args->v, args->q, NULL, args->depth % LANES == 0};

    NARROW_TAKES(args->depth, gatv2_grad_v(args));
    rgm_parallel(rgm_csr_blocks(args->csr), side_block_ns(args), side_blocks, &g);
}

static void grad_a_blocks(void *payload, int64_t begin, int64_t end)
{
    const side_job *g = payload;
    int64_t width = g->o->heads * g->o->depth, from, to;
    side_group group;

    for (int64_t b = begin; b < end; b++) {
        from = rgm_csr_block_begin(g->o->csr, b);
        to = rgm_csr_block_begin(g->o->csr, b + 1);
        for (int64_t c = 0; c < width;) {
            c = side_group_at(&group, g, c);
            grad_a_run(g, &group, g->partial + b * width, from, to);
        }
    }
}

static void gatv2_grad_a(const rgm_gatv2_args *args)
{
    side_job g = {args, NULL, NULL, NULL, args->depth % LANES == 0};
    int64_t width = args->heads * args->depth, blocks = rgm_csr_blocks(args->csr);

    NARROW_TAKES(args->depth, gatv2_grad_a(args));
    g.partial = rgmi_scratch_take((size_t)(blocks * width) * sizeof(float));
    if (g.partial == NULL) {
        rgmi_reference_f32.gatv2_grad_a(args);
        return;
    }
    rgm_parallel(blocks, side_block_ns(args), grad_a_blocks, &g);
    for (int64_t c = 0; c < width; c++) {
        double sum = 0;
        for (int64_t b = 0; b < blocks; b++)
            sum += g.partial[b * width + c];
        ((float *)args->y)[c] = (float)sum;
    }
    rgmi_scratch_give(g.partial);
}
