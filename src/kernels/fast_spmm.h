/*
 * Sparse times dense, pulled over CSR: y[r] = scale * sum of weight *
 * x[column]. What bounds it is fetching rows of x from memory, so: up to eight
 * vectors of channels stay in registers while a row's entries go by, rows to
 * come are prefetched across the ends of rows, and large results are written
 * past the cache. Each element of y is summed in entry order, long rows in
 * parts of LONG_ROW.
 */

#define AHEAD        8           /* entries from the prefetch to its use                          */
#define LONG_ROW     1024        /* entries summed before they go to the second accumulator       */
#define CACHED_BYTES (256 << 10) /* x up to here is in L2 anyway: prefetching would only cost */
#define STREAM_BYTES (24 << 20)  /* a result above this will not be read from cache  */
#define GROUP        8           /* vectors of channels in registers                              */
#define TWICE        3           /* up to so many vectors, two sums take turns                    */

/* What multiplies a row of x: nothing; its entry's weight, in order or by the
 * entry's number; its column's scale; any of these; a weight for each head; or
 * for each vector, being a head, alone. */
enum { PLAIN, WEIGHTED, NUMBERED, COLUMN, SCALED, HEADED, EACH, KINDS };

static inline void prefetch_row(const float *row, int64_t channels)
{
    for (int64_t c = 0; c < channels; c += 16)
        _mm_prefetch((const char *)(row + c), _MM_HINT_T0);
}

typedef struct spmm_job {
    const rgm_spmm_args *o;
    int64_t first_row, end_row, first_block;
    bool stream, far, activates;
    int kind;
    bool whole_heads; /* each vector of channels lies in one head */
    int64_t depth;    /* channels of a head                       */
} spmm_job;

/* The group of channels under work: from `channel` on, `last` lanes in the last
 * vector. */
typedef struct spmm_group {
    int64_t channel, last;
    int32_t head[GROUP];           /* of each vector, when heads are whole */
    int32_t lane_head[GROUP * 16]; /* of each lane otherwise               */
} spmm_group;

/* What the loops over rows and entries read, by value: a vector's store may
 * alias anything, so that what lies behind a pointer would be read again after
 * each. */
typedef struct spmm_walk {
    const int32_t *column, *entry;
    const float *x; /* from the group's first channel on, as are bias, base and y */
    int64_t row_bytes;
    const float *weight, *column_scale, *row_scale, *bias, *base;
    float *y, base_scale;
    int64_t heads, count;
    const spmm_group *group;
    vm last;  /* lanes of the last vector, when there are less than GROUP */
    bool far; /* rows of x are not in L2: known where the loop is compiled */
    bool whole_heads, self_loop, relu, stream, activates;
} spmm_walk;

static inline __attribute__((always_inline)) const float *row_of(const float *x, int64_t row,
                                                                 const spmm_walk *w)
{
    return (const float *)((const char *)x + row * w->row_bytes);
}

static inline __attribute__((always_inline)) vf part_load(const int vectors, int k, const float *p,
                                                          const spmm_walk *w)
{
    return vectors < GROUP && k == vectors - 1 ? v_load_where(p + k * LANES, w->last)
                                               : v_load(p + k * LANES);
}

static inline __attribute__((always_inline)) void part_store(const int vectors, int k, float *p,
                                                             const spmm_group *group, vf x)
{
    if (vectors < GROUP && k == vectors - 1)
        v_store_n(p + k * LANES, x, group->last);
    else
        v_store(p + k * LANES, x);
}

/* The number that multiplies the row of entry p. */
static inline __attribute__((always_inline)) float spmm_factor(const int kind, const spmm_walk *w,
                                                               int64_t p)
{
    float scale;

    switch (kind) {
    case WEIGHTED:
        return w->weight[p];
    case NUMBERED:
        return w->weight[w->entry[p]];
    case COLUMN:
        return w->column_scale[w->column[p]];
    default:
        scale = w->column_scale ? w->column_scale[w->column[p]] : 1;
        if (kind == SCALED && w->weight)
            scale *= w->weight[(w->entry ? w->entry[p] : p) * w->heads + w->group->head[0]];
        return scale;
    }
}

/* sum[] += entry p. */
static inline __attribute__((always_inline)) void spmm_entry(const int vectors, const int kind,
                                                             vf *sum, const spmm_walk *w, int64_t p)
{
    const float *row = row_of(w->x, w->column[p], w);
    const bool by_head = kind == HEADED || kind == EACH;
    const float *weight = by_head ? w->weight + (w->entry ? w->entry[p] : p) * w->heads : NULL;
    vf factor = kind == PLAIN || kind == EACH ? v_zero() : v_set1(spmm_factor(kind, w, p));

    UNROLL
    for (int k = 0; k < vectors; k++) {
        vf value = part_load(vectors, k, row, w), each = factor;
        if (kind == HEADED) {
            each = w->whole_heads ? v_set1(weight[w->group->head[k]])
                                  : v_gather(weight, v_int_load(w->group->lane_head + k * LANES));
            if (w->column_scale)
                each = v_mul(factor, each);
        }
        if (kind == EACH)
            each = v_set1(weight[w->group->head[0] + k]);
        sum[k] = kind == PLAIN ? v_add(sum[k], value) : v_fma(each, value, sum[k]);
    }
}

static inline __attribute__((always_inline)) void spmm_prefetch(const int vectors,
                                                                const spmm_walk *w, int64_t p)
{
    int64_t last = w->count - 1;
    const float *next = row_of(w->x, w->column[p + AHEAD < last ? p + AHEAD : last], w);

    UNROLL
    for (int k = 0; k < (vectors * LANES + 15) / 16; k++)
        _mm_prefetch((const char *)(next + 16 * k), _MM_HINT_T0);
}

/* sum[] += the entries [begin, end). Few vectors: every other entry goes to a
 * second sum, so that one addition need not wait for the one before. */
static inline __attribute__((always_inline)) void spmm_entries(const int vectors, const int kind,
                                                               vf *sum, const spmm_walk *w,
                                                               int64_t begin, int64_t end)
{
    int64_t p = begin;

    if (vectors <= TWICE && end - begin > 1) {
        vf other[TWICE];
        UNROLL
        for (int k = 0; k < vectors; k++)
            other[k] = v_zero();
        for (; p < end - 1; p += 2) {
            if (w->far) {
                spmm_prefetch(vectors, w, p);
                spmm_prefetch(vectors, w, p + 1);
            }
            spmm_entry(vectors, kind, sum, w, p);
            spmm_entry(vectors, kind, other, w, p + 1);
        }
        UNROLL
        for (int k = 0; k < vectors; k++)
            sum[k] = v_add(sum[k], other[k]);
    }
    for (; p < end; p++) {
        if (w->far)
            spmm_prefetch(vectors, w, p);
        spmm_entry(vectors, kind, sum, w, p);
        if (vectors <= TWICE)
            break;
    }
}

/* Apart from the sums, and not inlined: those must stay in registers. */
static __attribute__((noinline)) void spmm_activate(const rgm_spmm_args *o, float *y, int64_t n)
{
    for (int64_t c = 0; c < n; c += LANES)
        v_store_n(y + c, v_activate(v_load_n(y + c, n - c), o->activation, v_set1((float)o->slope)),
                  n - c);
}

/* What follows the sum of a row, all vectors together. */
static inline __attribute__((always_inline)) void
spmm_finish(const int vectors, vf *sum, const spmm_job *g, const spmm_walk *w, int64_t r)
{
    float *y = (float *)((char *)w->y + r * w->row_bytes);
    const float *own = row_of(w->x, r, w);

    if (w->self_loop) {
        vf scale = v_set1(w->column_scale ? w->column_scale[r] : 1);
        UNROLL
        for (int k = 0; k < vectors; k++)
            sum[k] = v_fma(scale, part_load(vectors, k, own, w), sum[k]);
    }
    if (w->row_scale) {
        vf scale = v_set1(w->row_scale[r]);
        UNROLL
        for (int k = 0; k < vectors; k++)
            sum[k] = v_mul(scale, sum[k]);
    }
    if (w->bias) {
        UNROLL
        for (int k = 0; k < vectors; k++)
            sum[k] = v_add(sum[k], part_load(vectors, k, w->bias, w));
    }
    if (w->base) {
        const float *base = row_of(w->base, r, w);
        UNROLL
        for (int k = 0; k < vectors; k++)
            sum[k] = v_fma(part_load(vectors, k, base, w), v_set1(w->base_scale), sum[k]);
    }
    if (w->relu) {
        UNROLL
        for (int k = 0; k < vectors; k++)
            sum[k] = v_relu(sum[k]);
    }
    UNROLL
    for (int k = 0; k < vectors; k++)
        if (w->stream)
            v_stream(y + k * LANES, sum[k]);
        else
            part_store(vectors, k, y, w->group, sum[k]);
    if (w->activates)
        spmm_activate(g->o, y, (vectors - 1) * LANES + (vectors < GROUP ? w->group->last : LANES));
}

/* The parts of a long row behind the first LONG_ROW entries. */
static inline __attribute__((always_inline)) void spmm_parts(const int vectors, const int kind,
                                                             vf *sum, const spmm_walk *w,
                                                             int64_t begin, int64_t end)
{
    for (int64_t from = begin; from < end; from += LONG_ROW) {
        vf part[GROUP];
        UNROLL
        for (int k = 0; k < vectors; k++)
            part[k] = v_zero();
        spmm_entries(vectors, kind, part, w, from, rgmi_min(end, from + LONG_ROW));
        UNROLL
        for (int k = 0; k < vectors; k++)
            sum[k] = v_add(sum[k], part[k]);
    }
}

static inline __attribute__((always_inline)) void spmm_row(const int vectors, const int kind,
                                                           const spmm_job *g, const spmm_walk *w,
                                                           int64_t r, int64_t begin, int64_t end)
{
    vf sum[GROUP];

    UNROLL
    for (int k = 0; k < vectors; k++)
        sum[k] = v_zero();
    spmm_entries(vectors, kind, sum, w, begin, rgmi_min(end, begin + LONG_ROW));
    if (__builtin_expect(end - begin > LONG_ROW, 0))
        spmm_parts(vectors, kind, sum, w, begin + LONG_ROW, end);
    spmm_finish(vectors, sum, g, w, r);
}

/* Rows [from, to): setting up costs as much as a short row, so it is done once
 * for all. */
static inline __attribute__((always_inline)) void spmm_rows(const int vectors, const int kind,
                                                            const bool far, const spmm_job *g,
                                                            const spmm_group *group, int64_t from,
                                                            int64_t to)
{
    const rgm_spmm_args *o = g->o;
    const int64_t *start = o->csr->row_start;
    /* Rows that are far are asked for as they stand; an order is one of whole blocks. */
    const int32_t *visit = far || o->end_row > 0 ? NULL : o->csr->visit;
    const spmm_walk w = {.column = o->csr->column,
                         .entry = o->csr->entry,
                         .x = (const float *)o->x + group->channel,
                         .row_bytes = o->channels * (int64_t)sizeof(float),
                         .weight = o->weight,
                         .column_scale = o->column_scale,
                         .row_scale = o->row_scale,
                         .bias = o->bias ? (const float *)o->bias + group->channel : NULL,
                         .base = o->base ? (const float *)o->base + group->channel : NULL,
                         .y = (float *)o->y + group->channel,
                         .base_scale = o->base_scale ? *(const float *)o->base_scale : 1,
                         .heads = o->heads,
                         .count = o->csr->count,
                         .group = group,
                         .last = v_first(group->last),
                         .far = far,
                         .whole_heads = g->whole_heads,
                         .self_loop = o->self_loop,
                         .relu = o->base == NULL && o->activation == RGM_ACT_RELU,
                         .stream = g->stream,
                         .activates = g->activates};

    for (int64_t i = from; i < to; i++) {
        int64_t r = rgmi_row_visited(visit, i);
        spmm_row(vectors, kind, g, &w, r, start[r], start[r + 1]);
    }
}

typedef void spmm_function(const spmm_job *g, const spmm_group *group, int64_t from, int64_t to);
#define SPMM(name, kind, vectors)                                                                  \
    static void spmm_##name##_##vectors(const spmm_job *g, const spmm_group *group, int64_t from,  \
                                        int64_t to)                                                \
    {                                                                                              \
        if (vectors <= TWICE && !g->far)                                                           \
            spmm_rows(vectors, kind, false, g, group, from, to);                                   \
        else                                                                                       \
            spmm_rows(vectors, kind, g->far, g, group, from, to);                                  \
    }
#define SPMM_NARROW(name, kind)                                                                    \
    SPMM(name, kind, 1)                                                                            \
    SPMM(name, kind, 2) SPMM(name, kind, 3) SPMM(name, kind, 4)
#define SPMM_WIDE(name, kind)                                                                      \
    SPMM_NARROW(name, kind)                                                                        \
    SPMM(name, kind, 5)                                                                            \
    SPMM(name, kind, 6) SPMM(name, kind, 7) SPMM(name, kind, 8)
SPMM_WIDE(plain, PLAIN)
SPMM_NARROW(weighted, WEIGHTED)
SPMM_NARROW(numbered, NUMBERED)
SPMM_NARROW(column, COLUMN)
SPMM_WIDE(scaled, SCALED)
SPMM_WIDE(headed, HEADED)
SPMM(each, EACH, 8)
SPMM(weighted, WEIGHTED, 8)
SPMM(numbered, NUMBERED, 8)
SPMM(column, COLUMN, 8)

/* Wider rows spend their time on the row itself: the general form does for
 * them, but for the widest. */
#define ROW_NARROW(name)                                                                           \
    {                                                                                              \
        spmm_##name##_1, spmm_##name##_2, spmm_##name##_3, spmm_##name##_4, spmm_scaled_5,         \
            spmm_scaled_6, spmm_scaled_7, spmm_##name##_8                                          \
    }
#define ROW_WIDE(name)                                                                             \
    {                                                                                              \
        spmm_##name##_1, spmm_##name##_2, spmm_##name##_3, spmm_##name##_4, spmm_##name##_5,       \
            spmm_##name##_6, spmm_##name##_7, spmm_##name##_8                                      \
    }
#define ROW_EACH                                                                                   \
    {                                                                                              \
        spmm_headed_1, spmm_headed_2, spmm_headed_3, spmm_headed_4, spmm_headed_5, spmm_headed_6,  \
            spmm_headed_7, spmm_each_8                                                             \
    }
/* [kind][vectors - 1] */
static spmm_function *const spmm_functions[KINDS][GROUP] = {ROW_WIDE(plain),
                                                            ROW_NARROW(weighted),
                                                            ROW_NARROW(numbered),
                                                            ROW_NARROW(column),
                                                            ROW_WIDE(scaled),
                                                            ROW_WIDE(headed),
                                                            ROW_EACH};

static int spmm_kind(const rgm_spmm_args *o)
{
    if (o->weight && o->heads > 1)
        return o->channels == o->heads * LANES && !o->column_scale ? EACH : HEADED;
    if (o->weight && o->column_scale)
        return SCALED;
    if (o->weight)
        return o->csr->entry ? NUMBERED : WEIGHTED;
    return o->column_scale ? COLUMN : PLAIN;
}

/* Channels [c, ...) as a group; returns its vectors. A full group has no
 * partial vector. */
static int64_t group_init(spmm_group *group, const spmm_job *g, int64_t c)
{
    int64_t left = g->o->channels - c, vectors = rgmi_blocks(left, LANES);

    if (left < GROUP * LANES && vectors == GROUP)
        vectors = GROUP - 1; /* a partial eighth vector goes with the next group */
    vectors = rgmi_min(vectors, GROUP);
    group->channel = c;
    group->last = rgmi_min(LANES, left - (vectors - 1) * LANES);
    if (g->kind != PLAIN)
        for (int64_t k = 0; k < vectors * LANES; k++) {
            int64_t head = rgmi_min(c + k, g->o->channels - 1) / g->depth;
            group->lane_head[k] = (int32_t)head;
            if (k % LANES == 0)
                group->head[k / LANES] = (int32_t)head;
        }
    return vectors;
}

#define GROUPS 32 /* of one sweep over the rows: 8 * LANES channels each */

static void spmm_blocks(void *payload, int64_t begin, int64_t end)
{
    const spmm_job *g = payload;
    const rgm_csr *csr = g->o->csr;
    int64_t from = rgmi_max(rgm_csr_block_begin(csr, g->first_block + begin), g->first_row);
    int64_t to = rgmi_min(rgm_csr_block_begin(csr, g->first_block + end), g->end_row);
    spmm_group groups[GROUPS];

    for (int64_t c = 0; c < g->o->channels;) {
        spmm_function *run[GROUPS];
        int count = 0;
        for (; count < GROUPS && c < g->o->channels; count++) {
            int64_t vectors = group_init(&groups[count], g, c);
            run[count] = spmm_functions[g->kind][vectors - 1];
            c += vectors * LANES;
        }
        if (count == 1)
            run[0](g, &groups[0], from, to);
        for (int64_t r = from; r < to && count > 1; r++)
            for (int i = 0; i < count; i++)
                run[i](g, &groups[i], r, r + 1);
    }
    if (g->stream)
        _mm_sfence();
}

/* The block in which row r is. */
static int64_t spmm_block(const rgm_csr *csr, int64_t r)
{
    return (csr->row_start[r] + r) / RGM_ROW_BLOCK;
}

static void spmm(const rgm_spmm_args *args)
{
    const rgm_csr *csr = args->csr;
    bool cut = args->end_row > 0;
    spmm_job g = {.o = args,
                  .first_row = args->first_row,
                  .end_row = cut ? args->end_row : csr->rows,
                  .first_block = cut ? spmm_block(csr, args->first_row) : 0};
    int64_t bytes = 4 * args->channels, blocks;

    if (args->channels == 0 || g.first_row >= g.end_row)
        return;
    g.depth = args->channels / args->heads;
    NARROW_TAKES(args->heads > 1 ? g.depth : LANES, spmm(args));
    g.kind = spmm_kind(args);
    g.whole_heads = g.depth % LANES == 0;
    g.far = csr->columns * bytes > CACHED_BYTES;
    g.activates = args->base == NULL && args->activation > RGM_ACT_RELU;
    g.stream = (g.end_row - g.first_row) * bytes > STREAM_BYTES && args->channels % LANES == 0 &&
               (uintptr_t)args->y % (4 * LANES) == 0 && args->base == NULL && !g.activates;
    blocks = cut ? spmm_block(csr, g.end_row - 1) + 1 - g.first_block : rgm_csr_blocks(csr);
    rgm_parallel(blocks,
                 rgmi_block_weight(csr) * (1 + (double)args->channels * (g.far ? 0.2 : 0.08)),
                 spmm_blocks, &g);
}
