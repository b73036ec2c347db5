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
    rgm_parallel(rgm_csr_blocks(g->csr),
                 rgmi_block_weight(g->csr) * (4 + 0.2 * (double)(g->heads * g->depth)),
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

/* ---- GAT v2: gradient ---------------------------------------------------------------------- */

/* Channels in groups of up to eight vectors, all of whole heads or, where a head is no whole number
 * of vectors, one vector inside a head. */
typedef struct side_job {
    const rgm_gatv2_args *o;
    float *partial; /* of da: [row blocks][width]   */
    bool whole;     /* depth is a multiple of LANES */
} side_job;

/* The group of channels under work. */
typedef struct side_group {
    int64_t channel;
    int64_t lanes;   /* of each vector: LANES, or less when there is one */
    int64_t head[8]; /* of each vector */
    int vectors;
    bool each; /* vector has a head of its own */
} side_group;

/* q's gradient, a * sum over entries of dy * leaky'(z), and da += q * that sum without a, of rows
 * [from, to), `vectors` of the group. */
static inline __attribute__((always_inline)) void side_rows(const int vectors, const bool each,
                                                            const side_job *g,
                                                            const side_group *group, float *da,
                                                            int64_t from, int64_t to)
{
    const rgm_gatv2_args *o = g->o;
    const edge_walk w = edge_walk_of(o->csr, o->heads * o->depth);
    const float *a = (const float *)o->a + group->channel, *dy = o->dy;
    const float *qs = (const float *)o->q + group->channel;
    const float *vs = (const float *)o->v + group->channel;
    float *dq = (float *)o->y + group->channel;
    const vf one = v_set1(1), slope = v_set1((float)o->slope), zero = v_zero();
    const int64_t heads = o->heads, first = group->head[0];
    const int64_t lanes = vectors > 1 ? LANES : group->lanes;
    const vm mask = v_first(lanes);

    da += group->channel;
    for (int64_t i = from; i < to; i++) {
        const int64_t r = rgmi_row_visited(w.visit, i), begin = w.start[r], end = w.start[r + 1];
        const float *q = qs + r * w.width;
        vf sum[8];
        UNROLL
        for (int k = 0; k < vectors; k++)
            sum[k] = zero;
        for (int64_t p = begin; p < end; p++) {
            const float *v = vs + w.column[p] * w.width;
            const float *d = dy + edge_entry(&w, p) * heads + first;
            edge_ahead(&w, vs, vectors * LANES, p);
            UNROLL
            for (int k = 0; k < vectors; k++) {
                vf z = vectors > 1 ? v_add(v_load(q + k * LANES), v_load(v + k * LANES))
                                   : v_add(v_load_where(q, mask), v_load_where(v, mask));
                sum[k] = v_fma(v_set1(d[each ? k : group->head[k] - first]),
                               v_select(v_gt(z, zero), one, slope), sum[k]);
            }
        }
        UNROLL
        for (int k = 0; k < vectors; k++)
            v_store_n(dq + r * w.width + k * LANES, v_mul(v_load_n(a + k * LANES, lanes), sum[k]),
                      lanes);
        if (begin == end)
            continue; /* whatever q is, it is not heard */
        UNROLL
        for (int k = 0; k < vectors; k++)
            v_store_n(
                da + k * LANES,
                v_fma(v_load_n(q + k * LANES, lanes), sum[k], v_load_n(da + k * LANES, lanes)),
                lanes);
    }
}

static void side_run(const side_job *g, const side_group *group, float *da, int64_t from,
                     int64_t to)
{
    if (group->vectors == 8 && group->each)
        side_rows(8, true, g, group, da, from, to);
    else if (group->vectors == 8)
        side_rows(8, false, g, group, da, from, to);
    else if (group->vectors == 4)
        side_rows(4, false, g, group, da, from, to);
    else if (group->vectors == 2)
        side_rows(2, false, g, group, da, from, to);
    else
        side_rows(1, false, g, group, da, from, to);
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
    group->each = g->o->depth <= LANES;
    return c + (group->vectors - 1) * LANES + group->lanes;
}

/* Rows one by one where there are several groups: a row of the other side is then read whole. */
static void side_blocks(void *payload, int64_t begin, int64_t end)
{
    const side_job *g = payload;
    const rgm_csr *csr = g->o->csr;
    int64_t width = g->o->heads * g->o->depth;
    side_group group;

    for (int64_t b = begin; b < end; b++) {
        int64_t from = rgm_csr_block_begin(csr, b), to = rgm_csr_block_begin(csr, b + 1);
        float *da = g->partial + b * width;
        memset(da, 0, (size_t)width * sizeof *da);
        if (side_group_at(&group, g, 0) == width) {
            side_run(g, &group, da, from, to);
            continue;
        }
        for (int64_t r = from; r < to; r++)
            for (int64_t c = 0; c < width;) {
                c = side_group_at(&group, g, c);
                side_run(g, &group, da, r, r + 1);
            }
    }
}

static void gatv2_grad(const rgm_gatv2_args *args)
{
    side_job g = {args, NULL, args->depth % LANES == 0};
    int64_t width = args->heads * args->depth, blocks = rgm_csr_blocks(args->csr);

    if (width == 0)
        return;
    NARROW_TAKES(args->depth, gatv2_grad(args));
    g.partial = rgmi_scratch_take((size_t)(blocks * width) * sizeof(float));
    if (g.partial == NULL) {
        rgmi_reference_f32.gatv2_grad(args);
        return;
    }
    rgm_parallel(blocks, rgmi_block_weight(args->csr) * (4 + 0.3 * (double)width), side_blocks, &g);
    for (int64_t c = 0; c < width; c++) {
        double sum = 0;
        for (int64_t b = 0; b < blocks; b++)
            sum += g.partial[b * width + c];
        ((float *)args->da)[c] = (float)sum;
    }
    rgmi_scratch_give(g.partial);
}
