/*
 * Kernels on segments: reductions and softmax within rows, gather. Work is cut into the row blocks
 * of equal entries of kernels_internal.h.
 */

/* ---- segment reductions -------------------------------------------------------------------- */

#define SEGMENT_ROWS 64 /* filled together, while they are in L1 */

/* One vector of channels over entries [begin, end) of a row. */
static inline __attribute__((always_inline)) vf segment_part(const rgm_segment_args *o,
                                                             int64_t begin, int64_t end, int64_t c,
                                                             int64_t left, rgm_reduction reduction)
{
    vf sum = v_set1(reduce_start(reduction));
    bool whole = left >= LANES;

    for (int64_t p = begin; p < end; p++) {
        const float *x = (const float *)o->x + rgmi_csr_entry(o->csr, p) * o->channels + c;
        sum = reduce_step(reduction, whole ? v_load(x) : v_load_n(x, left), sum);
    }
    return sum;
}

static inline __attribute__((always_inline)) void segment_row(const rgm_segment_args *o, int64_t r,
                                                              vf nothing, rgm_reduction reduction)
{
    int64_t begin = o->csr->row_start[r], end = o->csr->row_start[r + 1];
    float *y = (float *)o->y + r * o->channels;

    for (int64_t c = 0; c < o->channels; c += LANES) {
        int64_t left = o->channels - c;
        vf sum = nothing;
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

/* y[0..n) = x, whole vectors at their own addresses: a line each, or half of one. */
static void segment_fill(float *y, int64_t n, vf x)
{
    int64_t head = rgmi_min(n, (int64_t)(-(uintptr_t)y / sizeof *y % LANES));

    if (head > 0)
        v_store_n(y, x, head);
    for (y += head, n -= head; n >= LANES; y += LANES, n -= LANES)
        v_store(y, x);
    if (n > 0)
        v_store_n(y, x, n);
}

/*
 * Where most rows are empty, as in the gradient of a readout, they are filled with what no entry
 * gives, some at a time, before those with entries are written. A store to a line that another core
 * has read waits until that core gives it up: 7 ns where stores take whole lines, several times as
 * long where rows begin and end inside of lines and each is stored by itself.
 */
static inline __attribute__((always_inline)) void
segment_rows(const rgm_segment_args *o, int64_t from, int64_t to, rgm_reduction reduction)
{
    const vf nothing = v_set1(reduce_nothing(o->reduction));
    const int64_t *start = o->csr->row_start;
    bool fills = 2 * o->csr->count < o->csr->rows;

    for (int64_t first = from, last; first < to; first = last) {
        last = rgmi_min(to, first + SEGMENT_ROWS);
        if (fills)
            segment_fill((float *)o->y + first * o->channels, (last - first) * o->channels,
                         nothing);
        for (int64_t r = first; r < last; r++)
            if (!fills || start[r] < start[r + 1])
                segment_row(o, r, nothing, reduction);
    }
}

static void segment_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_args *o = payload;
    int64_t from = rgm_csr_block_begin(o->csr, begin), to = rgm_csr_block_begin(o->csr, end);

    switch (o->reduction) {
    case RGM_SUM:
    case RGM_MEAN:
        segment_rows(o, from, to, RGM_SUM);
        break;
    case RGM_PROD:
        segment_rows(o, from, to, RGM_PROD);
        break;
    case RGM_MAX:
    case RGM_MAX_NO_INF:
        segment_rows(o, from, to, RGM_MAX);
        break;
    default:
        segment_rows(o, from, to, RGM_MIN);
    }
}

static void segment_reduce(const rgm_segment_args *args)
{
    rgm_parallel(rgm_csr_blocks(args->csr),
                 rgmi_block_weight(args->csr) * (1 + 0.2 * (double)args->channels), segment_blocks,
                 (void *)args);
}

/* d for each entry that equals y, shared among ties. */
static void segment_grad_ties(const rgm_segment_args *o, int64_t r, int64_t c, int64_t left, vf d)
{
    const rgm_csr *csr = o->csr;
    vf most = v_load_n((const float *)o->y_forward + r * o->channels + c, left), ties = v_zero();

    for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
        vf x = v_load_n((const float *)o->x + rgmi_csr_entry(csr, p) * o->channels + c, left);
        ties = v_add(ties, v_select(v_eq(x, most), v_set1(1), v_zero()));
    }
    d = v_div(d, ties);
    for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
        int64_t at = rgmi_csr_entry(csr, p) * o->channels + c;
        vf x = v_load_n((const float *)o->x + at, left);
        v_store_n((float *)o->y + at, v_select(v_eq(x, most), d, v_zero()), left);
    }
}

static void segment_grad_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_args *o = payload;
    const rgm_csr *csr = o->csr;
    int64_t from = rgm_csr_block_begin(csr, begin), to = rgm_csr_block_begin(csr, end);

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
                v_store_n((float *)o->y + rgmi_csr_entry(csr, p) * o->channels + c, d, left);
        }
    }
}

static void segment_reduce_grad(const rgm_segment_args *args)
{
    if (args->reduction == RGM_PROD) {
        rgmi_reference_f32.segment_reduce_grad(args);
        return;
    }
    rgm_parallel(rgm_csr_blocks(args->csr),
                 rgmi_block_weight(args->csr) * (3 + 0.5 * (double)args->channels),
                 segment_grad_blocks, (void *)args);
}

/* ---- segment softmax ----------------------------------------------------------------------- */

/* A vector of channels from c on over the entries [begin, end) of a row; whole: there are no
 * others.
 */
static inline __attribute__((always_inline)) void softmax_vector(const bool whole,
                                                                 const rgm_segment_softmax_args *o,
                                                                 int64_t begin, int64_t end,
                                                                 int64_t c)
{
    const int32_t *entry = o->csr->entry;
    const int64_t channels = whole ? LANES : o->channels, left = channels - c;
    const vm lanes = v_first(left);
    const float *x = (const float *)o->x + c;
    float *y = (float *)o->y + c;
    vf most = v_set1(LOWEST), sum = v_zero();

    for (int64_t p = begin; p < end; p++) {
        const float *at = x + (entry ? entry[p] : p) * channels;
        most = v_max(whole ? v_load(at) : v_load_where(at, lanes), most);
    }
    for (int64_t p = begin; p < end; p++) {
        int64_t at = (entry ? entry[p] : p) * channels;
        vf e = v_exp(v_sub(whole ? v_load(x + at) : v_load_where(x + at, lanes), most));
        sum = v_add(sum, e);
        if (whole)
            v_store(y + at, e);
        else
            v_store_n(y + at, e, left);
    }
    sum = v_select(v_eq(sum, v_zero()), v_zero(), v_div(v_set1(1), sum));
    for (int64_t p = begin; p < end; p++) {
        int64_t at = (entry ? entry[p] : p) * channels;
        if (whole)
            v_store(y + at, v_mul(v_load(y + at), sum));
        else
            v_store_n(y + at, v_mul(v_load_where(y + at, lanes), sum), left);
    }
}

static void softmax_wide_row(const rgm_segment_softmax_args *o, int64_t begin, int64_t end)
{
    for (int64_t c = 0; c < o->channels; c += LANES)
        softmax_vector(false, o, begin, end, c);
}

#define SIDE_BY_SIDE 1024 /* entries of rows of one channel that are laid side by side */

/* One channel: the entries of rows [from, to), `count` in all, side by side in x, in the order of
 * visits: exp() then fills vectors, where a row would not. */
static void softmax_side_by_side(const rgm_segment_softmax_args *o, float *x, int64_t count,
                                 int64_t from, int64_t to)
{
    const rgm_csr *csr = o->csr;
    float *row = x, *y = o->y;

    for (int64_t v = from; v < to; v++) {
        int64_t r = rgmi_row_visited(csr->visit, v), begin = csr->row_start[r];
        int64_t n = csr->row_start[r + 1] - begin;
        float most = LOWEST;
        for (int64_t i = 0; i < n; i++) {
            row[i] = ((const float *)o->x)[rgmi_csr_entry(csr, begin + i)];
            most = row[i] > most ? row[i] : most;
        }
        for (int64_t i = 0; i < n; i++)
            row[i] -= most;
        row += n;
    }
    for (int64_t i = 0; i < count; i += LANES)
        v_store(x + i, v_exp(v_load(x + i)));
    row = x;
    for (int64_t v = from; v < to; v++) {
        int64_t r = rgmi_row_visited(csr->visit, v), begin = csr->row_start[r];
        int64_t n = csr->row_start[r + 1] - begin;
        float sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += row[i];
        sum = sum == 0 ? 0 : 1 / sum;
        for (int64_t i = 0; i < n; i++)
            y[rgmi_csr_entry(csr, begin + i)] = row[i] * sum;
        row += n;
    }
}

/* As many rows at once as there is room for; a longer one alone. */
static void softmax_narrow_rows(const rgm_segment_softmax_args *o, int64_t from, int64_t to)
{
    const int64_t *start = o->csr->row_start;
    float x[SIDE_BY_SIDE + LANES] = {0};

    for (int64_t v = from, first = from, count = 0; v <= to; v++) {
        int64_t r = v < to ? rgmi_row_visited(o->csr->visit, v) : 0;
        int64_t n = v < to ? start[r + 1] - start[r] : 0;
        if (v == to || count + n > SIDE_BY_SIDE) {
            softmax_side_by_side(o, x, count, first, v);
            first = v;
            count = 0;
        }
        if (n > SIDE_BY_SIDE) {
            softmax_wide_row(o, start[r], start[r + 1]);
            first = v + 1;
        } else {
            count += n;
        }
    }
}

static void segment_softmax_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_softmax_args *o = payload;
    const int64_t *start = o->csr->row_start;
    int64_t from = rgm_csr_block_begin(o->csr, begin), to = rgm_csr_block_begin(o->csr, end);

    if (o->channels == 1) {
        softmax_narrow_rows(o, from, to);
        return;
    }
    for (int64_t i = from; i < to; i++) {
        int64_t r = rgmi_row_visited(o->csr->visit, i);
        if (o->channels == LANES)
            softmax_vector(true, o, start[r], start[r + 1], 0);
        else
            softmax_wide_row(o, start[r], start[r + 1]);
    }
}

static void segment_softmax(const rgm_segment_softmax_args *args)
{
    NARROW_TAKES(args->channels > 1 ? args->channels : LANES, segment_softmax(args));
    rgm_parallel(rgm_csr_blocks(args->csr),
                 rgmi_block_weight(args->csr) * (8 + (double)args->channels),
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
            int64_t at = rgmi_csr_entry(csr, p) * o->channels;
            dot = v_fma(v_load_n(y + at, left), v_load_n(dy + at, left), dot);
        }
        for (int64_t p = begin; p < end; p++) {
            int64_t at = rgmi_csr_entry(csr, p) * o->channels;
            vf d = v_sub(v_load_n(dy + at, left), dot);
            v_store_n((float *)o->y + c + at, v_mul(v_load_n(y + at, left), d), left);
        }
    }
}

static void segment_softmax_grad_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_softmax_args *o = payload;
    const rgm_csr *csr = o->csr;
    int64_t from = rgm_csr_block_begin(csr, begin), to = rgm_csr_block_begin(csr, end);

    for (int64_t i = from; i < to; i++) {
        int64_t r = rgmi_row_visited(csr->visit, i);
        float dot = 0;
        if (o->channels > 1) {
            softmax_grad_wide(o, csr->row_start[r], csr->row_start[r + 1]);
            continue;
        }
        for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
            int64_t e = rgmi_csr_entry(csr, p);
            dot += ((const float *)o->y_forward)[e] * ((const float *)o->dy)[e];
        }
        for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
            int64_t e = rgmi_csr_entry(csr, p);
            ((float *)o->y)[e] =
                ((const float *)o->y_forward)[e] * (((const float *)o->dy)[e] - dot);
        }
    }
}

static void segment_softmax_grad(const rgm_segment_softmax_args *args)
{
    NARROW_TAKES(args->channels > 1 ? args->channels : LANES, segment_softmax_grad(args));
    rgm_parallel(rgm_csr_blocks(args->csr),
                 rgmi_block_weight(args->csr) * (4 + 0.5 * (double)args->channels),
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
