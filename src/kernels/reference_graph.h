/* Reference rows over sparse patterns and segments. Part of reference.h. */

static void spmm_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_spmm_args *o = payload;
    const rgm_csr *csr = o->csr;
    const REAL *x = o->x, *weight = o->weight, *bias = o->bias;
    const REAL *row_scale = o->row_scale, *column_scale = o->column_scale;
    REAL base_scale = o->base_scale ? *(const REAL *)o->base_scale : 1;
    int64_t depth = o->channels / o->heads;

    for (int64_t r = o->first_row + begin; r < o->first_row + end; r++)
        for (int64_t c = 0; c < o->channels; c++) {
            REAL *y = (REAL *)o->y + r * o->channels + c;
            double sum = 0;
            for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
                int64_t column = csr->column[p];
                REAL factor = column_scale ? column_scale[column] : 1;
                if (weight)
                    factor *= weight[rgmi_csr_entry(csr, p) * o->heads + c / depth];
                sum += (double)factor * x[column * o->channels + c];
            }
            if (o->self_loop)
                sum += (column_scale ? column_scale[r] : 1) * (double)x[r * o->channels + c];
            if (row_scale)
                sum *= row_scale[r];
            if (bias)
                sum += bias[c];
            *y = o->base ? (REAL)(base_scale * ((const REAL *)o->base)[r * o->channels + c] + sum)
                         : activate((REAL)sum, o->activation, (REAL)o->slope);
        }
}

static void spmm(const rgm_spmm_args *args)
{
    const rgm_csr *csr = args->csr;
    double entries = csr->rows ? (double)csr->count / (double)csr->rows : 0;
    int64_t end = args->end_row > 0 ? args->end_row : csr->rows;

    rgm_parallel(end - args->first_row, (entries + 2) * (double)args->channels * 1.5, spmm_rows,
                 (void *)args);
}

static void sddmm_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_sddmm_args *o = payload;
    const rgm_csr *csr = o->csr;
    int64_t width = o->heads * o->depth;

    for (int64_t r = begin; r < end; r++)
        for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++)
            for (int64_t h = 0; h < o->heads; h++) {
                const REAL *a = (const REAL *)o->a + r * width + h * o->depth;
                const REAL *b = (const REAL *)o->b + csr->column[p] * width + h * o->depth;
                double sum = 0;
                for (int64_t d = 0; d < o->depth; d++)
                    sum += (double)a[d] * b[d];
                ((REAL *)o->y)[rgmi_csr_entry(csr, p) * o->heads + h] = (REAL)sum;
            }
}

static void sddmm(const rgm_sddmm_args *args)
{
    const rgm_csr *csr = args->csr;
    double entries = csr->rows ? (double)csr->count / (double)csr->rows : 0;

    rgm_parallel(csr->rows, entries * (double)(args->heads * args->depth), sddmm_rows,
                 (void *)args);
}

/* ---- GAT v2 -------------------------------------------------------------------------------- */

static double gatv2_row_ns(const rgm_gatv2_args *o)
{
    double entries = o->csr->rows ? (double)o->csr->count / (double)o->csr->rows : 0;

    return (entries + 1) * (double)(o->heads * o->depth) * 1.5;
}

static void gatv2_score_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_gatv2_args *o = payload;
    const rgm_csr *csr = o->csr;
    int64_t width = o->heads * o->depth;
    REAL slope = (REAL)o->slope;

    for (int64_t r = begin; r < end; r++)
        for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++)
            for (int64_t h = 0; h < o->heads; h++) {
                const REAL *q = (const REAL *)o->q + r * width + h * o->depth;
                const REAL *v = (const REAL *)o->v + csr->column[p] * width + h * o->depth;
                const REAL *a = (const REAL *)o->a + h * o->depth;
                double sum = 0;
                for (int64_t d = 0; d < o->depth; d++) {
                    REAL z = q[d] + v[d];
                    sum += (double)a[d] * (z > 0 ? z : slope * z);
                }
                ((REAL *)o->y)[rgmi_csr_entry(csr, p) * o->heads + h] = (REAL)sum;
            }
}

static void gatv2_score(const rgm_gatv2_args *args)
{
    rgm_parallel(args->csr->rows, gatv2_row_ns(args), gatv2_score_rows, (void *)args);
}

static void gatv2_grad_channels(void *payload, int64_t begin, int64_t end)
{
    const rgm_gatv2_args *o = payload;
    const rgm_csr *csr = o->csr;
    const REAL *q = o->q, *v = o->v, *dy = o->dy;
    int64_t width = o->heads * o->depth;

    for (int64_t c = begin; c < end; c++) {
        double da = 0, a = ((const REAL *)o->a)[c];
        for (int64_t r = 0; r < csr->rows; r++) {
            double sum = 0;
            if (csr->row_start[r] == csr->row_start[r + 1]) { /* whatever q is, it is not heard */
                ((REAL *)o->y)[r * width + c] = 0;
                continue;
            }
            for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
                REAL z = q[r * width + c] + v[csr->column[p] * width + c];
                REAL d = dy[rgmi_csr_entry(csr, p) * o->heads + c / o->depth];
                sum += (double)d * (z > 0 ? 1 : o->slope);
            }
            ((REAL *)o->y)[r * width + c] = (REAL)(a * sum);
            da += q[r * width + c] * sum;
        }
        ((REAL *)o->da)[c] = (REAL)da;
    }
}

static void gatv2_grad(const rgm_gatv2_args *args)
{
    rgm_parallel(args->heads * args->depth, 1.5 * (double)(args->csr->count + args->csr->rows),
                 gatv2_grad_channels, (void *)args);
}

/* ---- segments ------------------------------------------------------------------------------ */

static REAL reduce_empty(rgm_reduction reduction)
{
    switch (reduction) {
    case RGM_MAX:
        return REAL_LOWEST;
    case RGM_MIN:
        return -REAL_LOWEST;
    case RGM_PROD:
        return 1;
    default:
        return 0;
    }
}

/* Sums are taken in double: a segment may be a whole batch. */
static REAL reduce_strided(const REAL *x, const rgm_csr *csr, int64_t begin, int64_t end,
                           int64_t stride, rgm_reduction reduction)
{
    double sum = reduction == RGM_PROD ? 1 : 0;
    REAL best = 0;

    if (begin == end)
        return reduce_empty(reduction);
    for (int64_t p = begin; p < end; p++) {
        REAL v = x[(csr ? rgmi_csr_entry(csr, p) : p) * stride];
        if (reduction == RGM_SUM || reduction == RGM_MEAN)
            sum += v;
        else if (reduction == RGM_PROD)
            sum *= v;
        else if (reduction == RGM_MAX || reduction == RGM_MAX_NO_INF)
            best = p == begin || v > best ? v : best;
        else
            best = p == begin || v < best ? v : best;
    }
    if (reduction == RGM_MEAN)
        return (REAL)(sum / (double)(end - begin));
    return reduction == RGM_SUM || reduction == RGM_PROD ? (REAL)sum : best;
}

static double segment_row_ns(const rgm_csr *csr, int64_t channels)
{
    return csr->rows ? (double)(csr->count + csr->rows) / (double)csr->rows * 2 * (double)channels
                     : 0;
}

static void segment_reduce_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_args *o = payload;

    for (int64_t r = begin; r < end; r++) {
        int64_t first = o->csr->row_start[r], last = o->csr->row_start[r + 1];
        for (int64_t c = 0; c < o->channels; c++)
            ((REAL *)o->y)[r * o->channels + c] =
                first == last ? reduce_empty(o->reduction) /* there may be no x at all */
                              : reduce_strided((const REAL *)o->x + c, o->csr, first, last,
                                               o->channels, o->reduction);
    }
}

static void segment_reduce(const rgm_segment_args *args)
{
    rgm_parallel(args->csr->rows, segment_row_ns(args->csr, args->channels), segment_reduce_rows,
                 (void *)args);
}

/* Product of a row's other entries for each of them: by division, and around zeros without. */
static void product_grad(const rgm_segment_args *o, int64_t r, int64_t c, REAL d)
{
    int64_t begin = o->csr->row_start[r], end = o->csr->row_start[r + 1], zeros = 0;
    double product = 1;

    for (int64_t p = begin; p < end; p++) {
        REAL x = ((const REAL *)o->x)[rgmi_csr_entry(o->csr, p) * o->channels + c];
        zeros += x == 0;
        product *= x == 0 ? 1 : x;
    }
    for (int64_t p = begin; p < end; p++) {
        int64_t i = rgmi_csr_entry(o->csr, p) * o->channels + c;
        REAL x = ((const REAL *)o->x)[i];
        double others = zeros == 0 ? product / x : (zeros == 1 && x == 0 ? product : 0);
        ((REAL *)o->y)[i] = (REAL)(d * others);
    }
}

static void segment_grad_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_args *o = payload;
    const rgm_csr *csr = o->csr;
    const REAL *x = o->x, *y = o->y_forward, *dy = o->dy;
    REAL *dx = o->y;

    for (int64_t r = begin; r < end; r++)
        for (int64_t c = 0; c < o->channels; c++) {
            int64_t from = csr->row_start[r], to = csr->row_start[r + 1], ties = 0;
            REAL d = dy[r * o->channels + c];
            bool sums = o->reduction == RGM_SUM || o->reduction == RGM_MEAN;
            if (o->reduction == RGM_PROD) {
                product_grad(o, r, c, d);
                continue;
            }
            for (int64_t p = from; !sums && p < to; p++)
                ties += x[rgmi_csr_entry(csr, p) * o->channels + c] == y[r * o->channels + c];
            for (int64_t p = from; p < to; p++) {
                int64_t i = rgmi_csr_entry(csr, p) * o->channels + c;
                if (o->reduction == RGM_SUM)
                    dx[i] = d;
                else if (o->reduction == RGM_MEAN)
                    dx[i] = d / (REAL)(to - from);
                else
                    dx[i] = x[i] == y[r * o->channels + c] ? d / (REAL)ties : 0;
            }
        }
}

static void segment_reduce_grad(const rgm_segment_args *args)
{
    rgm_parallel(args->csr->rows, 2 * segment_row_ns(args->csr, args->channels), segment_grad_rows,
                 (void *)args);
}

/* A row whose every logit is -inf (all masked) gives zeros, not NaN. */
static void segment_softmax_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_softmax_args *o = payload;
    const rgm_csr *csr = o->csr;
    const REAL *x = o->x;
    REAL *y = o->y;

    for (int64_t r = begin; r < end; r++)
        for (int64_t c = 0; c < o->channels; c++) {
            REAL most = reduce_strided(x + c, csr, csr->row_start[r], csr->row_start[r + 1],
                                       o->channels, RGM_MAX);
            double sum = 0;
            if (most < REAL_LOWEST)
                most = REAL_LOWEST;
            for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
                int64_t i = rgmi_csr_entry(csr, p) * o->channels + c;
                y[i] = R(exp)(x[i] - most);
                sum += y[i];
            }
            for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
                int64_t i = rgmi_csr_entry(csr, p) * o->channels + c;
                y[i] = sum > 0 ? (REAL)(y[i] / sum) : (sum == 0 ? 0 : (REAL)sum);
            }
        }
}

static void segment_softmax(const rgm_segment_softmax_args *args)
{
    rgm_parallel(args->csr->rows, 8 * segment_row_ns(args->csr, args->channels),
                 segment_softmax_rows, (void *)args);
}

static void segment_softmax_grad_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_segment_softmax_args *o = payload;
    const rgm_csr *csr = o->csr;
    const REAL *y = o->y_forward, *dy = o->dy;

    for (int64_t r = begin; r < end; r++)
        for (int64_t c = 0; c < o->channels; c++) {
            double dot = 0;
            for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
                int64_t i = rgmi_csr_entry(csr, p) * o->channels + c;
                dot += (double)y[i] * dy[i];
            }
            for (int64_t p = csr->row_start[r]; p < csr->row_start[r + 1]; p++) {
                int64_t i = rgmi_csr_entry(csr, p) * o->channels + c;
                ((REAL *)o->y)[i] = y[i] * (REAL)(dy[i] - dot);
            }
        }
}

static void segment_softmax_grad(const rgm_segment_softmax_args *args)
{
    rgm_parallel(args->csr->rows, segment_row_ns(args->csr, args->channels),
                 segment_softmax_grad_rows, (void *)args);
}

static void gather_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_gather_args *o = payload;
    size_t row = (size_t)o->channels * sizeof(REAL);

    for (int64_t i = begin; i < end; i++)
        memcpy((REAL *)o->y + i * o->channels,
               (const REAL *)o->x + index_at(o->index, o->index_dtype, i) * o->channels, row);
}

static void gather(const rgm_gather_args *args)
{
    rgm_parallel(args->count, 5 + (double)args->channels * 0.3, gather_rows, (void *)args);
}
