/*
 * Kernels on edges and segments: sddmm, GAT v2's logits and their gradients, reductions and softmax
 * within rows, gather. Work is cut into the row blocks of equal entries of kernels_internal.h.
 */

static inline void csr_range(const rgm_csr *csr, int64_t begin, int64_t end, int64_t *from,
                             int64_t *to)
{
    *from = rgmi_row_block_begin(csr, begin);
    *to = end == rgmi_row_blocks(csr) ? csr->rows : rgmi_row_block_begin(csr, end);
}

/* ---- sddmm and GAT v2's logits: one number an entry and head -------------------------------- */

typedef struct score_job {
    const rgm_csr *csr;
    float *y;
    const float *own, *other, *a; /* a NULL: own . other, else a . leaky(own + other) */
    int64_t heads, depth;
    float slope;
} score_job;

static inline __attribute__((always_inline)) vf score_vector(const score_job *g, const float *own,
                                                             const float *other, int64_t c,
                                                             int64_t left, vf slope)
{
    bool whole = left >= LANES;
    vf x = whole ? v_load(own + c) : v_load_n(own + c, left);
    vf y = whole ? v_load(other + c) : v_load_n(other + c, left);

    if (g->a == NULL)
        return v_mul(x, y);
    x = v_add(x, y);
    /* max(z, slope z) would do for slopes up to 1 only. */
    return v_mul(whole ? v_load(g->a + c) : v_load_n(g->a + c, left), v_leaky(x, slope));
}

static void score_entry(const score_job *g, float *y, const float *own, const float *other)
{
    vf slope = v_set1(g->slope);

#if LANES == 8
    if (g->depth == LANES && g->heads % 8 == 0) {
        for (int64_t h = 0; h < g->heads; h += 8) {
            vf part[8];
            UNROLL
            for (int k = 0; k < 8; k++)
                part[k] = score_vector(g, own, other, (h + k) * LANES, LANES, slope);
            v_sum_eight(y + h, part);
        }
        return;
    }
#endif
    for (int64_t h = 0; h < g->heads; h++) {
        vf sum = v_zero();
        for (int64_t d = 0; d < g->depth; d += LANES)
            sum = v_add(sum, score_vector(g, own, other, h * g->depth + d, g->depth - d, slope));
        y[h] = v_sum(sum);
    }
}

static void score_blocks(void *payload, int64_t begin, int64_t end)
{
    const score_job *g = payload;
    const rgm_csr *csr = g->csr;
    int64_t width = g->heads * g->depth, from, to;

    csr_range(csr, begin, end, &from, &to);
    for (int64_t r = from; r < to; r++)
        for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
            if (p + AHEAD < csr->count)
                prefetch_row(g->other + csr->column[p + AHEAD] * width, width);
            score_entry(g, g->y + rgmi_entry(csr, p) * g->heads, g->own + r * width,
                        g->other + csr->column[p] * width);
        }
}

static void score_run(score_job *g)
{
    rgm_parallel(rgmi_row_blocks(g->csr),
                 RGMI_ROW_BLOCK * (4 + 0.2 * (double)(g->heads * g->depth)), score_blocks, g);
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

/* z > 0 ? z : slope z, for any slope by the sign of slope - 1. */
static inline vf leaky_by(vf z, vf slope, bool steep)
{
    return steep ? v_min(v_mul(slope, z), z) : v_max(v_mul(slope, z), z);
}

/* y = a * sum over entries of dy * leaky'(z), row r, `vectors` from channel c. */
static inline __attribute__((always_inline)) void side_group(const int vectors, const side_job *g,
                                                             int64_t r, int64_t c, int64_t left)
{
    const rgm_gatv2_args *o = g->o;
    const rgm_csr *csr = o->csr;
    const int64_t width = o->heads * o->depth, head = c / o->depth;
    const int64_t heads_of = vectors > 1 ? o->depth / LANES : 1;
    const float *own = g->own + r * width + c, *a = (const float *)o->a + c;
    const vf one = v_set1(1), slope = v_set1((float)o->slope), zero = v_zero();
    vf sum[8];

    UNROLL
    for (int k = 0; k < vectors; k++)
        sum[k] = zero;
    for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
        const float *other = g->other + csr->column[p] * width + c;
        const float *dy = (const float *)o->dy + rgmi_entry(csr, p) * o->heads + head;
        UNROLL
        for (int k = 0; k < vectors; k++) {
            int64_t n = vectors > 1 ? LANES : left;
            vf z = v_add(v_load_n(own + k * LANES, n), v_load_n(other + k * LANES, n));
            sum[k] = v_fma(v_set1(dy[heads_of == 1 ? k : k / heads_of]),
                           v_select(v_gt(z, zero), one, slope), sum[k]);
        }
    }
    UNROLL
    for (int k = 0; k < vectors; k++) {
        int64_t n = vectors > 1 ? LANES : left;
        v_store_n((float *)o->y + r * width + c + k * LANES,
                  v_mul(v_load_n(a + k * LANES, n), sum[k]), n);
    }
}

/* The next group at channel c: its vectors, and the lanes of the last. */
static inline int group_at(const side_job *g, int64_t c, int64_t *left)
{
    int64_t width = g->o->heads * g->o->depth, rest = (width - c) / LANES;

    *left = rgmi_min(LANES, g->o->depth - c % g->o->depth);
    if (!g->whole || rest < 2)
        return 1;
    return rest >= 8 ? 8 : (rest >= 4 ? 4 : 2);
}

static void side_row(const side_job *g, int64_t r)
{
    int64_t width = g->o->heads * g->o->depth, left;

    for (int64_t c = 0; c < width;) {
        switch (group_at(g, c, &left)) {
        case 8:
            side_group(8, g, r, c, LANES);
            c += 8 * LANES;
            break;
        case 4:
            side_group(4, g, r, c, LANES);
            c += 4 * LANES;
            break;
        case 2:
            side_group(2, g, r, c, LANES);
            c += 2 * LANES;
            break;
        default:
            side_group(1, g, r, c, left);
            c += left;
        }
    }
}

static void side_blocks(void *payload, int64_t begin, int64_t end)
{
    const side_job *g = payload;
    int64_t from, to;

    csr_range(g->o->csr, begin, end, &from, &to);
    for (int64_t r = from; r < to; r++)
        side_row(g, r);
}

static double side_block_ns(const rgm_gatv2_args *o)
{
    return RGMI_ROW_BLOCK * (4 + 0.3 * (double)(o->heads * o->depth));
}

static void gatv2_grad_q(const rgm_gatv2_args *args)
{
    side_job g = {args, args->q, args->v, NULL, args->depth % LANES == 0};

    NARROW_TAKES(args->depth, gatv2_grad_q(args));
    rgm_parallel(rgmi_row_blocks(args->csr), side_block_ns(args), side_blocks, &g);
}

static void gatv2_grad_v(const rgm_gatv2_args *args)
{
    side_job g = {args, args->v, args->q, NULL, args->depth % LANES == 0};

    NARROW_TAKES(args->depth, gatv2_grad_v(args));
    rgm_parallel(rgmi_row_blocks(args->csr), side_block_ns(args), side_blocks, &g);
}

/* to = sum of dy * leaky(q + v) over the entries of rows [from, end), `vectors` from channel c. */
static inline __attribute__((always_inline)) void grad_a_group(const int vectors, const side_job *g,
                                                               float *to, int64_t from, int64_t end,
                                                               int64_t c, int64_t left)
{
    const rgm_gatv2_args *o = g->o;
    const rgm_csr *csr = o->csr;
    const int64_t width = o->heads * o->depth, head = c / o->depth;
    const int64_t heads_of = vectors > 1 ? o->depth / LANES : 1, n = vectors > 1 ? LANES : left;
    const vf slope = v_set1((float)o->slope);
    const bool steep = o->slope > 1;
    vf sum[8];

    UNROLL
    for (int k = 0; k < vectors; k++)
        sum[k] = v_zero();
    for (int64_t r = from; r < end; r++) {
        const float *q = (const float *)o->q + r * width + c;
        for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
            const float *v = (const float *)o->v + csr->column[p] * width + c;
            const float *dy = (const float *)o->dy + rgmi_entry(csr, p) * o->heads + head;
            UNROLL
            for (int k = 0; k < vectors; k++) {
                vf z = v_add(v_load_n(q + k * LANES, n), v_load_n(v + k * LANES, n));
                sum[k] = v_fma(v_set1(dy[heads_of == 1 ? k : k / heads_of]),
                               leaky_by(z, slope, steep), sum[k]);
            }
        }
    }
    UNROLL
    for (int k = 0; k < vectors; k++)
        v_store_n(to + c + k * LANES, sum[k], n);
}

static void grad_a_blocks(void *payload, int64_t begin, int64_t end)
{
    const side_job *g = payload;
    int64_t width = g->o->heads * g->o->depth, from, to, left;

    for (int64_t b = begin; b < end; b++) {
        float *sum = g->partial + b * width;
        csr_range(g->o->csr, b, b + 1, &from, &to);
        for (int64_t c = 0; c < width;) {
            switch (group_at(g, c, &left)) {
            case 8:
                grad_a_group(8, g, sum, from, to, c, LANES);
                c += 8 * LANES;
                break;
            case 4:
                grad_a_group(4, g, sum, from, to, c, LANES);
                c += 4 * LANES;
                break;
            case 2:
                grad_a_group(2, g, sum, from, to, c, LANES);
                c += 2 * LANES;
                break;
            default:
                grad_a_group(1, g, sum, from, to, c, left);
                c += left;
            }
        }
    }
}

static void gatv2_grad_a(const rgm_gatv2_args *args)
{
    side_job g = {args, NULL, NULL, NULL, args->depth % LANES == 0};
    int64_t width = args->heads * args->depth, blocks = rgmi_row_blocks(args->csr);

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

/* ---- segment reductions -------------------------------------------------------------------- */

/* One vector of channels over entries [begin, end) of a row. */
static inline __attribute__((always_inline)) vf segment_part(const rgm_segment_args *o,
                                                             int64_t begin, int64_t end, int64_t c,
                                                             int64_t left, rgm_reduction reduction)
{
    vf sum = v_set1(reduce_start(reduction));
    bool whole = left >= LANES;

    for (int64_t p = begin; p < end; p++) {
        const float *x = (const float *)o->x + rgmi_entry(o->csr, p) * o->channels + c;
        sum = reduce_step(reduction, whole ? v_load(x) : v_load_n(x, left), sum);
    }
    return sum;
}

static inline __attribute__((always_inline)) void segment_row(const rgm_segment_args *o, int64_t r,
                                                              rgm_reduction reduction)
{
    int64_t begin = o->csr->row_start[r], end = o->csr->row_start[r + 1];
    float *y = (float *)o->y + r * o->channels;

    for (int64_t c = 0; c < o->channels; c += LANES) {
        int64_t left = o->channels - c;
        vf sum = v_set1(reduce_nothing(o->reduction));
        if (begin < end)
            sum = segment_part(o, begin, rgmi_min(end, begin + LONG_ROW), c, left, reduction);
        for (int64_t from = begin + LONG_ROW; from < end; from += LONG_ROW)
            sum = reduce_step(
                reduction,
                segment_part(o, from, rgmi_min(end, from + LONG_ROW), c, left, reduction), sum);
        if (o->reduction == RGM_MEAN && begin < end)
            sum = v_div(sum, v_set1((float)(end - begin)));
        v_store_n(y + c, sum, left);
    }
}

static void segment_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_args *o = payload;
    int64_t from, to;

    csr_range(o->csr, begin, end, &from, &to);
    for (int64_t r = from; r < to; r++)
        switch (o->reduction) {
        case RGM_SUM:
        case RGM_MEAN:
            segment_row(o, r, RGM_SUM);
            break;
        case RGM_PROD:
            segment_row(o, r, RGM_PROD);
            break;
        case RGM_MAX:
        case RGM_MAX_NO_INF:
            segment_row(o, r, RGM_MAX);
            break;
        default:
            segment_row(o, r, RGM_MIN);
        }
}

static void segment_reduce(const rgm_segment_args *args)
{
    rgm_parallel(rgmi_row_blocks(args->csr), RGMI_ROW_BLOCK * (3 + 0.3 * (double)args->channels),
                 segment_blocks, (void *)args);
}

/* d for each entry that equals y, shared among ties. */
static void segment_grad_ties(const rgm_segment_args *o, int64_t r, int64_t c, int64_t left, vf d)
{
    const rgm_csr *csr = o->csr;
    vf most = v_load_n((const float *)o->y_forward + r * o->channels + c, left), ties = v_zero();

    for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
        vf x = v_load_n((const float *)o->x + rgmi_entry(csr, p) * o->channels + c, left);
        ties = v_add(ties, v_select(v_eq(x, most), v_set1(1), v_zero()));
    }
    d = v_div(d, ties);
    for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
        int64_t at = rgmi_entry(csr, p) * o->channels + c;
        vf x = v_load_n((const float *)o->x + at, left);
        v_store_n((float *)o->y + at, v_select(v_eq(x, most), d, v_zero()), left);
    }
}

static void segment_grad_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_args *o = payload;
    const rgm_csr *csr = o->csr;
    int64_t from, to;

    csr_range(csr, begin, end, &from, &to);
    for (int64_t r = from; r < to; r++) {
        int64_t entries = csr->row_start[r + 1] - csr->row_start[r];
        vf divisor = v_set1(o->reduction == RGM_MEAN ? (float)entries : 1);
        for (int64_t c = 0; c < o->channels && entries; c += LANES) {
            int64_t left = o->channels - c;
            vf d = v_load_n((const float *)o->dy + r * o->channels + c, left);
            if (o->reduction > RGM_MEAN) {
                segment_grad_ties(o, r, c, left, d);
                continue;
            }
            d = v_div(d, divisor);
            for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++)
                v_store_n((float *)o->y + rgmi_entry(csr, p) * o->channels + c, d, left);
        }
    }
}

static void segment_reduce_grad(const rgm_segment_args *args)
{
    if (args->reduction == RGM_PROD) {
        rgmi_reference_f32.segment_reduce_grad(args);
        return;
    }
    rgm_parallel(rgmi_row_blocks(args->csr), RGMI_ROW_BLOCK * (3 + 0.5 * (double)args->channels),
                 segment_grad_blocks, (void *)args);
}

/* ---- segment softmax ----------------------------------------------------------------------- */

#define NARROW_ROW 512 /* entries of a row of one channel that are laid side by side */

/* One channel: a row's entries side by side fill vectors, where a vector of channels would not. */
static void softmax_narrow_row(const rgm_segment_softmax_args *o, int64_t begin, int64_t n)
{
    const float *x = o->x;
    float row[NARROW_ROW], *y = o->y, most, sum;

    row[0] = 0;
    for (int64_t i = 0; i < n; i++)
        row[i] = x[rgmi_entry(o->csr, begin + i)];
    most = row_most(row, n);
    sum = row_exp(row, row, most, n);
    sum = sum == 0 ? 0 : 1 / sum;
    for (int64_t i = 0; i < n; i++)
        y[rgmi_entry(o->csr, begin + i)] = row[i] * sum;
}

static void softmax_wide_row(const rgm_segment_softmax_args *o, int64_t begin, int64_t end)
{
    const rgm_csr *csr = o->csr;

    for (int64_t c = 0; c < o->channels; c += LANES) {
        const float *x = (const float *)o->x + c;
        float *y = (float *)o->y + c;
        int64_t left = o->channels - c;
        vf most = v_set1(LOWEST), sum = v_zero();
        for (int64_t p = begin; p < end; p++)
            most = v_max(v_load_n(x + rgmi_entry(csr, p) * o->channels, left), most);
        for (int64_t p = begin; p < end; p++) {
            int64_t at = rgmi_entry(csr, p) * o->channels;
            vf e = v_exp(v_sub(v_load_n(x + at, left), most));
            sum = v_add(sum, e);
            v_store_n(y + at, e, left);
        }
        sum = v_select(v_eq(sum, v_zero()), v_zero(), v_div(v_set1(1), sum));
        for (int64_t p = begin; p < end; p++) {
            int64_t at = rgmi_entry(csr, p) * o->channels;
            v_store_n(y + at, v_mul(v_load_n(y + at, left), sum), left);
        }
    }
}

static void segment_softmax_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_softmax_args *o = payload;
    const int64_t *start = o->csr->row_start;
    int64_t from, to;

    csr_range(o->csr, begin, end, &from, &to);
    for (int64_t r = from; r < to; r++)
        if (o->channels == 1 && start[r + 1] - start[r] <= NARROW_ROW)
            softmax_narrow_row(o, start[r], start[r + 1] - start[r]);
        else
            softmax_wide_row(o, start[r], start[r + 1]);
}

static void segment_softmax(const rgm_segment_softmax_args *args)
{
    NARROW_TAKES(args->channels > 1 ? args->channels : LANES, segment_softmax(args));
    rgm_parallel(rgmi_row_blocks(args->csr), RGMI_ROW_BLOCK * (8 + (double)args->channels),
                 segment_softmax_blocks, (void *)args);
}

static void softmax_grad_wide(const rgm_segment_softmax_args *o, int64_t begin, int64_t end)
{
    const rgm_csr *csr = o->csr;

    for (int64_t c = 0; c < o->channels; c += LANES) {
        const float *y = (const float *)o->y_forward + c, *dy = (const float *)o->dy + c;
        int64_t left = o->channels - c;
        vf dot = v_zero();
        for (int64_t p = begin; p < end; p++) {
            int64_t at = rgmi_entry(csr, p) * o->channels;
            dot = v_fma(v_load_n(y + at, left), v_load_n(dy + at, left), dot);
        }
        for (int64_t p = begin; p < end; p++) {
            int64_t at = rgmi_entry(csr, p) * o->channels;
            vf d = v_sub(v_load_n(dy + at, left), dot);
            v_store_n((float *)o->y + c + at, v_mul(v_load_n(y + at, left), d), left);
        }
    }
}

static void segment_softmax_grad_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_softmax_args *o = payload;
    const rgm_csr *csr = o->csr;
    int64_t from, to;

    csr_range(csr, begin, end, &from, &to);
    for (int64_t r = from; r < to; r++) {
        float dot = 0;
        if (o->channels > 1) {
            softmax_grad_wide(o, csr->row_start[r], csr->row_start[r + 1]);
            continue;
        }
        for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
            int64_t e = rgmi_entry(csr, p);
            dot += ((const float *)o->y_forward)[e] * ((const float *)o->dy)[e];
        }
        for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
            int64_t e = rgmi_entry(csr, p);
            ((float *)o->y)[e] =
                ((const float *)o->y_forward)[e] * (((const float *)o->dy)[e] - dot);
        }
    }
}

static void segment_softmax_grad(const rgm_segment_softmax_args *args)
{
    NARROW_TAKES(args->channels > 1 ? args->channels : LANES, segment_softmax_grad(args));
    rgm_parallel(rgmi_row_blocks(args->csr), RGMI_ROW_BLOCK * (4 + 0.5 * (double)args->channels),
                 segment_softmax_grad_blocks, (void *)args);
}

/* ---- gather -------------------------------------------------------------------------------- */

static void gather_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_gather_args *o = payload;
    int64_t n = o->channels;

    for (int64_t i = begin; i < end; i++) {
        const float *x = (const float *)o->x + label_at(o->index, o->index_dtype, i) * n;
        float *y = (float *)o->y + i * n;
        int64_t c = 0;
        if (i + AHEAD < o->count)
            prefetch_row((const float *)o->x + label_at(o->index, o->index_dtype, i + AHEAD) * n,
                         n);
        for (; c + LANES <= n; c += LANES)
            v_store(y + c, v_load(x + c));
        for (; c < n; c++)
            y[c] = x[c];
    }
}

static void gather(const rgm_gather_args *args)
{
    rgm_parallel(args->count, 2 + (double)args->channels * 0.25, gather_rows, (void *)args);
}
