/* Row-wise kernels over dense arrays: softmax, cross entropy, layer norm. */

static inline int64_t label_at(const void *label, rgm_dtype dtype, int64_t i)
{
    return dtype == RGM_I32 ? ((const int32_t *)label)[i] : ((const int64_t *)label)[i];
}

static inline float log_scalar(float x)
{
    float y[LANES];

    v_store(y, v_log(v_set1(x)));
    return y[0];
}

#define LOWEST (-3.402823466e+38f)

/* The largest of a row, kept finite so that a row of -inf alone gives zeros and not NaN. */
static inline float row_most(const float *x, int64_t n)
{
    vf most = v_set1(LOWEST);

    for (int64_t c = 0; c < n; c += LANES)
        most = v_max(v_load_or(x + c, n - c, v_set1(LOWEST)), most);
    return v_most(most);
}

/* exp(x - most) of the first n lanes, 0 behind. */
static inline vf row_exp_vector(const float *x, float most, int64_t n)
{
    return v_exp(v_sub(v_load_or(x, n, v_set1(-__builtin_inff())), v_set1(most)));
}

/* y = exp(x - most); returns the sum. y may be NULL. */
static inline float row_exp(float *y, const float *x, float most, int64_t n)
{
    vf sum = v_zero();

    for (int64_t c = 0; c < n; c += LANES) {
        vf e = row_exp_vector(x + c, most, n - c);
        if (y)
            v_store_n(y + c, e, n - c);
        sum = v_add(sum, e);
    }
    return v_sum(sum);
}

static void softmax_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_softmax_args *o = payload;
    int64_t n = o->channels;

    for (int64_t r = begin; r < end; r++) {
        const float *x = (const float *)o->x + r * n;
        float *y = (float *)o->y + r * n, most = row_most(x, n);
        float sum = row_exp(o->log ? NULL : y, x, most, n);
        if (o->log) {
            vf shift = v_set1(sum == 0 ? 0 : log_scalar(sum));
            for (int64_t c = 0; c < n; c += LANES)
                v_store_n(y + c, v_sub(v_sub(v_load_n(x + c, n - c), v_set1(most)), shift), n - c);
        } else {
            vf factor = v_set1(sum == 0 ? 0 : 1 / sum);
            for (int64_t c = 0; c < n; c += LANES)
                v_store_n(y + c, v_mul(v_load_n(y + c, n - c), factor), n - c);
        }
    }
}

static void softmax(const rgm_softmax_args *args)
{
    rgm_parallel(args->rows, 15 + 2 * (double)args->channels, softmax_rows, (void *)args);
}

static void softmax_grad_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_softmax_args *o = payload;
    int64_t n = o->channels;

    for (int64_t r = begin; r < end; r++) {
        const float *y = (const float *)o->y_forward + r * n, *dy = (const float *)o->dy + r * n;
        float *dx = (float *)o->y + r * n;
        vf sum = v_zero();
        for (int64_t c = 0; c < n; c += LANES) {
            vf d = v_load_n(dy + c, n - c);
            sum = o->log ? v_add(sum, d) : v_fma(v_load_n(y + c, n - c), d, sum);
        }
        sum = v_set1(v_sum(sum));
        for (int64_t c = 0; c < n; c += LANES) {
            vf d = v_load_n(dy + c, n - c), value = v_load_n(y + c, n - c);
            v_store_n(dx + c, o->log ? v_fnma(v_exp(value), sum, d) : v_mul(value, v_sub(d, sum)),
                      n - c);
        }
    }
}

static void softmax_grad(const rgm_softmax_args *args)
{
    rgm_parallel(args->rows, 10 + (double)args->channels, softmax_grad_rows, (void *)args);
}

static inline int64_t classes_of(const rgm_cross_entropy_args *o)
{
    return o->classes > 0 ? o->classes : o->channels;
}

/* Sum of label_x - x over a row: what smoothing adds to the loss, without cancellation of large
 * sums. */
static inline float row_below(const float *x, float label_x, int64_t n)
{
    vf sum = v_zero(), shift = v_set1(label_x);

    for (int64_t c = 0; c < n; c += LANES)
        sum = v_add(sum, v_sub(shift, v_load_or(x + c, n - c, shift)));
    return v_sum(sum);
}

static void cross_entropy_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_cross_entropy_args *o = payload;
    int64_t classes = classes_of(o);
    float sum[LANES] = {0}, rest[LANES] = {0}, spread[LANES] = {0};

    for (int64_t r = begin; r < end; r++) {
        const float *x = (const float *)o->x + r * o->channels;
        float most = row_most(x, classes), at_label = x[label_at(o->label, o->label_dtype, r)];
        int lane = (int)((r - begin) % LANES);
        sum[lane] = row_exp(NULL, x, most, classes);
        rest[lane] = most - at_label;
        spread[lane] = o->spread > 0 ? (float)o->spread * row_below(x, at_label, classes) : 0;
        if (lane + 1 == LANES || r + 1 == end) /* logarithms of LANES rows at once */
            v_store_n((float *)o->y + r - lane,
                      v_add(v_add(v_log(v_load(sum)), v_load(rest)), v_load(spread)), lane + 1);
    }
}

static void cross_entropy(const rgm_cross_entropy_args *args)
{
    rgm_parallel(args->rows, 20 + 2 * (double)args->channels, cross_entropy_rows, (void *)args);
}

static void cross_entropy_grad_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_cross_entropy_args *o = payload;
    int64_t n = classes_of(o), rest = o->channels - n;
    const vf spread = v_set1((float)o->spread), more = v_set1((float)(1 - o->spread * (double)n));

    for (int64_t r = begin; r < end; r++) {
        const float *x = (const float *)o->x + r * o->channels;
        float *dx = (float *)o->y + r * o->channels, dloss = ((const float *)o->dloss)[r];
        int64_t label = label_at(o->label, o->label_dtype, r);
        if (dloss == 0) { /* masked out: most rows of a semi-supervised step, padding */
            memset(dx, 0, (size_t)o->channels * sizeof(float));
            continue;
        }
        float most = row_most(x, n);
        vf e = row_exp_vector(x, most, n); /* the whole row, where it is one vector */
        vf factor = v_set1(1 / (n > LANES ? row_exp(dx, x, most, n) : v_sum(e)));
        for (int64_t c = 0; c < n; c += LANES) {
            if (n > LANES)
                e = v_load_n(dx + c, n - c);
            e = v_sub(v_mul(e, factor), spread);
            vf at_label = v_select(v_first(label - c), e, v_sub(e, more));
            e = v_select(v_first(label + 1 - c), at_label, e);
            v_store_n(dx + c, v_mul(e, v_set1(dloss)), n - c);
        }
        if (rest > 0)
            memset(dx + n, 0, (size_t)rest * sizeof(float));
    }
}

static void cross_entropy_grad(const rgm_cross_entropy_args *args)
{
    rgm_parallel(args->rows, 20 + 2 * (double)args->channels, cross_entropy_grad_rows,
                 (void *)args);
}

/* ---- layer norm ---------------------------------------------------------------------------- */

static inline vf norm_load(const rgm_layer_norm_args *o, int64_t r, int64_t c)
{
    int64_t at = r * o->channels + c, left = o->channels - c;
    vf x = v_load_n((const float *)o->x + at, left);

    return o->residual ? v_add(x, v_load_n((const float *)o->residual + at, left)) : x;
}

/* Two passes, so that a large mean does not eat the variance. */
static inline void norm_moments(float *mean, float *factor, const rgm_layer_norm_args *o, int64_t r)
{
    vf sum = v_zero(), squares = v_zero();
    float n = (float)o->channels;

    for (int64_t c = 0; c < o->channels && !o->rms; c += LANES)
        sum = v_add(sum, norm_load(o, r, c));
    *mean = o->rms ? 0 : v_sum(sum) / n;
    for (int64_t c = 0; c < o->channels; c += LANES) {
        vf d = v_sub(norm_load(o, r, c), v_set1(*mean));
        d = v_select(v_first(o->channels - c), d, v_zero());
        squares = v_fma(d, d, squares);
    }
    *factor = 1 / sqrtf(v_sum(squares) / n + (float)o->epsilon);
}

static void layer_norm_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_layer_norm_args *o = payload;
    const float *gamma = o->gamma, *beta = o->beta;

    for (int64_t r = begin; r < end; r++) {
        float mean, factor;
        norm_moments(&mean, &factor, o, r);
        for (int64_t c = 0; c < o->channels; c += LANES) {
            int64_t left = o->channels - c;
            vf y = v_mul(v_sub(norm_load(o, r, c), v_set1(mean)), v_set1(factor));
            if (gamma)
                y = v_mul(y, v_load_n(gamma + c, left));
            if (beta)
                y = v_add(y, v_load_n(beta + c, left));
            v_store_n((float *)o->y + r * o->channels + c, y, left);
        }
    }
}

static void layer_norm(const rgm_layer_norm_args *args)
{
    rgm_parallel(args->rows, 15 + (double)args->channels, layer_norm_rows, (void *)args);
}

typedef struct norm_job {
    const rgm_layer_norm_args *o;
    float *partial; /* [blocks][2][channels]: dgamma, dbeta of a block of rows */
} norm_job;

static void norm_grad_row(const norm_job *g, int64_t r, float *dgamma, float *dbeta)
{
    const rgm_layer_norm_args *o = g->o;
    const float *gamma = o->gamma, *dy = (const float *)o->dy + r * o->channels;
    float *dx = (float *)o->y + r * o->channels, mean, factor;
    vf sum = v_zero(), dot = v_zero();
    float n = (float)o->channels;

    norm_moments(&mean, &factor, o, r);
    for (int64_t c = 0; c < o->channels; c += LANES) {
        int64_t left = o->channels - c;
        vf z = v_mul(v_sub(norm_load(o, r, c), v_set1(mean)), v_set1(factor));
        vf d = v_load_n(dy + c, left), scaled = gamma ? v_mul(d, v_load_n(gamma + c, left)) : d;
        sum = v_add(sum, scaled);
        dot = v_fma(scaled, z, dot);
        v_store_n(dgamma + c, v_fma(d, z, v_load_n(dgamma + c, left)), left);
        v_store_n(dbeta + c, v_add(v_load_n(dbeta + c, left), d), left);
    }
    sum = v_set1(o->rms ? 0 : v_sum(sum) / n);
    dot = v_set1(v_sum(dot) / n);
    for (int64_t c = 0; c < o->channels && o->y; c += LANES) {
        int64_t left = o->channels - c;
        vf z = v_mul(v_sub(norm_load(o, r, c), v_set1(mean)), v_set1(factor));
        vf d = v_load_n(dy + c, left);
        d = gamma ? v_mul(d, v_load_n(gamma + c, left)) : d;
        v_store_n(dx + c, v_mul(v_set1(factor), v_fnma(z, dot, v_sub(d, sum))), left);
    }
}

static void norm_grad_blocks(void *payload, int64_t begin, int64_t end)
{
    const norm_job *g = payload;
    int64_t channels = g->o->channels;

    for (int64_t b = begin; b < end; b++) {
        float *dgamma = g->partial + b * 2 * channels;
        memset(dgamma, 0, (size_t)(2 * channels) * sizeof(float));
        for (int64_t r = b * RGMI_SUM_BLOCK; r < rgmi_min(g->o->rows, (b + 1) * RGMI_SUM_BLOCK);
             r++)
            norm_grad_row(g, r, dgamma, dgamma + channels);
    }
}

static void layer_norm_grad(const rgm_layer_norm_args *args)
{
    norm_job g = {.o = args};
    int64_t channels = args->channels, blocks = rgmi_blocks(args->rows, RGMI_SUM_BLOCK);
    float *out[2] = {args->dgamma, args->dbeta};

    g.partial = rgmi_scratch_take((size_t)(blocks * 2 * channels) * sizeof(float));
    if (g.partial == NULL) {
        rgmi_reference_f32.layer_norm_grad(args);
        return;
    }
    rgm_parallel(blocks, RGMI_SUM_BLOCK * (20 + 2 * (double)channels), norm_grad_blocks, &g);
    for (int k = 0; k < 2; k++)
        for (int64_t c = 0; c < channels && out[k]; c++) {
            float sum = 0;
            for (int64_t b = 0; b < blocks; b++)
                sum += g.partial[(b * 2 + k) * channels + c];
            out[k][c] = sum;
        }
    rgmi_scratch_give(g.partial);
}

/* ---- rotary positions ---------------------------------------------------------------------- */

static void rotary_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_rotary_args *o = payload;
    int64_t half = o->depth / 2;

    for (int64_t r = begin; r < end; r++) {
        const float *cosine = (const float *)o->table + o->position[r % o->positions] * o->depth;
        for (int64_t h = 0; h < o->heads; h++) {
            int64_t at = (r * o->heads + h) * o->depth;
            const float *x = (const float *)o->x + at;
            float *y = (float *)o->y + at;
            for (int64_t i = 0; i < half; i += LANES) {
                int64_t left = half - i;
                vf a = v_load_n(x + i, left), b = v_load_n(x + half + i, left);
                vf c = v_load_n(cosine + i, left), s = v_load_n(cosine + half + i, left);
                s = o->back ? v_neg(s) : s;
                v_store_n(y + i, v_fnma(b, s, v_mul(a, c)), left);
                v_store_n(y + half + i, v_fma(a, s, v_mul(b, c)), left);
            }
        }
    }
}

static void rotary(const rgm_rotary_args *args)
{
    rgm_parallel(args->rows, 5 + 0.15 * (double)(args->heads * args->depth), rotary_rows,
                 (void *)args);
}
