/* Reference rows over dense arrays. Part of reference.h. */

/* ---- matmul -------------------------------------------------------------------------------- */

static inline double exact(REAL x)
{
    return (double)x;
}

static inline __attribute__((always_inline)) void
product_rows(const rgm_matmul_args *o, int64_t begin, int64_t end, double (*operand)(REAL x))
{
    int64_t a_row = o->trans_a ? 1 : o->lda, a_column = o->trans_a ? o->lda : 1;
    bool across = o->trans_b && !o->packed;
    int64_t ldb = o->packed ? o->n : o->ldb, b_row = across ? 1 : ldb, b_column = across ? ldb : 1;

    for (int64_t i = begin; i < end; i++) {
        const REAL *a = (const REAL *)o->a + i / o->m * o->stride_a + i % o->m * a_row;
        const REAL *b = (const REAL *)o->b + i / o->m * o->stride_b;
        REAL *c = (REAL *)o->c + i / o->m * o->stride_c + i % o->m * o->ldc;

        for (int64_t j = 0; j < o->n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < o->k; p++)
                sum += operand(a[p * a_column]) * operand(b[p * b_row + j * b_column]);
            if (o->bias)
                sum += ((const REAL *)o->bias)[j];
            c[j] = o->accumulate ? (REAL)(c[j] + sum)
                                 : activate((REAL)sum, o->activation, (REAL)o->slope);
        }
    }
}

static void matmul_rows(void *payload, int64_t begin, int64_t end)
{
    product_rows(payload, begin, end, exact);
}

static void matmul(const rgm_matmul_args *args)
{
    rgm_parallel(args->m * args->batch, (double)args->n * (double)(args->k + 1), matmul_rows,
                 (void *)args);
}

/* Packed is [k, n] without gaps. */
static size_t matmul_pack(const rgm_matmul_args *args)
{
    REAL *packed = args->c;
    int64_t row = args->trans_b ? 1 : args->ldb, column = args->trans_b ? args->ldb : 1;

    for (int64_t p = 0; p < args->k && packed != NULL; p++)
        for (int64_t j = 0; j < args->n; j++)
            packed[p * args->n + j] = ((const REAL *)args->b)[p * row + j * column];
    return (size_t)(args->k * args->n) * sizeof(REAL);
}

#ifdef REAL_BF16_MATMUL
static inline double rounded_to_bf16(REAL x)
{
    return (double)rgm_bf16_to(rgm_bf16_from(x));
}

static void matmul_bf16_rows(void *payload, int64_t begin, int64_t end)
{
    product_rows(payload, begin, end, rounded_to_bf16);
}

/* The same with operands rounded to bf16. */
void REAL_BF16_MATMUL(const rgm_matmul_args *args)
{
    rgm_parallel(args->m * args->batch, 2 * (double)args->n * (double)(args->k + 1),
                 matmul_bf16_rows, (void *)args);
}
#endif

/* ---- reductions ---------------------------------------------------------------------------- */

static REAL product_sum(const REAL *x, const REAL *factor, int64_t count, int64_t stride)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += (double)x[i * stride] * (double)factor[i * stride];
    return (REAL)sum;
}

static void reduce_outer(void *payload, int64_t begin, int64_t end)
{
    const rgm_reduce_args *o = payload;

    for (int64_t i = begin; i < end; i++) {
        /* of nothing x may be NULL */
        int64_t at = o->axis > 0 ? i / o->inner * o->axis * o->inner + i % o->inner : 0;
        const REAL *x = o->axis > 0 ? (const REAL *)o->x + at : o->x;

        ((REAL *)o->y)[i] = o->factor != NULL
                                ? product_sum(x, (const REAL *)o->factor + at, o->axis, o->inner)
                                : reduce_strided(x, NULL, 0, o->axis, o->inner, o->reduction);
    }
}

static void reduce(const rgm_reduce_args *args)
{
    rgm_parallel(args->outer * args->inner, (double)(args->axis + 1), reduce_outer, (void *)args);
}

static double sum_of_squares(const rgm_flat_args *args)
{
    const REAL *x = args->x;
    double total = 0;

    for (int64_t begin = 0; begin < args->count; begin += RGMI_FLAT_BLOCK) {
        int64_t end = rgmi_min(args->count, begin + RGMI_FLAT_BLOCK);
        double sum = 0;
        for (int64_t i = begin; i < end; i++)
            sum += (double)x[i] * x[i];
        total += sum;
    }
    return total;
}

static void squares(const rgm_squares_args *args)
{
    for (int64_t i = 0; i < args->arrays; i++)
        args->y[i] = sum_of_squares(&(rgm_flat_args){args->x[i], args->count[i]});
}

static bool all_finite(const rgm_flat_args *args)
{
    for (int64_t i = 0; i < args->count; i++)
        if (!isfinite(((const REAL *)args->x)[i]))
            return false;
    return true;
}

/* ---- softmax ------------------------------------------------------------------------------- */

/* The largest of a row, kept finite so that a row of -inf alone gives zeros and not NaN. */
static REAL row_most(const REAL *x, int64_t channels)
{
    REAL most = reduce_strided(x, NULL, 0, channels, 1, RGM_MAX);

    return most < REAL_LOWEST ? REAL_LOWEST : most;
}

static void softmax_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_softmax_args *o = payload;

    for (int64_t r = begin; r < end; r++) {
        const REAL *x = (const REAL *)o->x + r * o->channels;
        REAL *y = (REAL *)o->y + r * o->channels, most = row_most(x, o->channels);
        double sum = 0;
        for (int64_t c = 0; c < o->channels; c++)
            sum += R(exp)(x[c] - most);
        for (int64_t c = 0; c < o->channels; c++)
            if (o->log)
                y[c] = (REAL)(x[c] - most - (sum == 0 ? 0 : log(sum)));
            else
                y[c] = sum == 0 ? 0 : (REAL)(R(exp)(x[c] - most) / sum);
    }
}

static void softmax(const rgm_softmax_args *args)
{
    rgm_parallel(args->rows, 10 * (double)args->channels, softmax_rows, (void *)args);
}

static void softmax_grad_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_softmax_args *o = payload;

    for (int64_t r = begin; r < end; r++) {
        const REAL *y = (const REAL *)o->y_forward + r * o->channels;
        const REAL *dy = (const REAL *)o->dy + r * o->channels;
        REAL *dx = (REAL *)o->y + r * o->channels;
        double sum = 0;
        for (int64_t c = 0; c < o->channels; c++)
            sum += o->log ? dy[c] : (double)y[c] * dy[c];
        for (int64_t c = 0; c < o->channels; c++)
            dx[c] = o->log ? (REAL)(dy[c] - R(exp)(y[c]) * sum) : (REAL)(y[c] * (dy[c] - sum));
    }
}

static void softmax_grad(const rgm_softmax_args *args)
{
    rgm_parallel(args->rows, 4 * (double)args->channels, softmax_grad_rows, (void *)args);
}

static int64_t classes_of(const rgm_cross_entropy_args *o)
{
    return o->classes > 0 ? o->classes : o->channels;
}

static void cross_entropy_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_cross_entropy_args *o = payload;
    int64_t classes = classes_of(o);

    for (int64_t r = begin; r < end; r++) {
        const REAL *x = (const REAL *)o->x + r * o->channels;
        int64_t label = index_at(o->label, o->label_dtype, r);
        REAL most = row_most(x, classes);
        double sum = 0, below = 0;
        for (int64_t c = 0; c < classes; c++)
            sum += R(exp)(x[c] - most);
        for (int64_t c = 0; c < classes && o->spread > 0; c++)
            below += (double)x[label] - x[c];
        ((REAL *)o->y)[r] = (REAL)(log(sum) + ((double)most - x[label]) + o->spread * below);
    }
}

static void cross_entropy(const rgm_cross_entropy_args *args)
{
    rgm_parallel(args->rows, 8 * (double)args->channels, cross_entropy_rows, (void *)args);
}

static void cross_entropy_grad_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_cross_entropy_args *o = payload;
    int64_t classes = classes_of(o);
    double target = 1 - o->spread * (double)(classes - 1);

    for (int64_t r = begin; r < end; r++) {
        const REAL *x = (const REAL *)o->x + r * o->channels;
        REAL *dx = (REAL *)o->y + r * o->channels, dloss = ((const REAL *)o->dloss)[r];
        int64_t label = index_at(o->label, o->label_dtype, r);
        REAL most = row_most(x, classes);
        double sum = 0;
        for (int64_t c = 0; c < classes; c++)
            sum += R(exp)(x[c] - most);
        for (int64_t c = 0; c < classes; c++)
            dx[c] = (REAL)(R(exp)(x[c] - most) / sum - (c == label ? target : o->spread)) * dloss;
        for (int64_t c = classes; c < o->channels; c++)
            dx[c] = 0;
    }
}

static void cross_entropy_grad(const rgm_cross_entropy_args *args)
{
    rgm_parallel(args->rows, 10 * (double)args->channels, cross_entropy_grad_rows, (void *)args);
}

/* ---- layer norm ---------------------------------------------------------------------------- */

static inline REAL norm_input(const rgm_layer_norm_args *o, int64_t i)
{
    return ((const REAL *)o->x)[i] + (o->residual ? ((const REAL *)o->residual)[i] : 0);
}

/* Two passes, so that a large mean does not eat the variance. */
static void norm_moments(double *mean, double *factor, const rgm_layer_norm_args *o, int64_t r)
{
    double sum = 0, squares = 0;

    for (int64_t c = 0; c < o->channels; c++)
        sum += norm_input(o, r * o->channels + c);
    *mean = o->rms ? 0 : sum / (double)o->channels;
    for (int64_t c = 0; c < o->channels; c++) {
        double d = norm_input(o, r * o->channels + c) - *mean;
        squares += d * d;
    }
    *factor = 1 / sqrt(squares / (double)o->channels + o->epsilon);
}

static void layer_norm_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_layer_norm_args *o = payload;
    const REAL *gamma = o->gamma, *beta = o->beta;

    for (int64_t r = begin; r < end; r++) {
        double mean, factor;
        norm_moments(&mean, &factor, o, r);
        for (int64_t c = 0; c < o->channels; c++) {
            double z = (norm_input(o, r * o->channels + c) - mean) * factor;
            ((REAL *)o->y)[r * o->channels + c] =
                (REAL)(z * (gamma ? gamma[c] : 1) + (beta ? beta[c] : 0));
        }
    }
}

static void layer_norm(const rgm_layer_norm_args *args)
{
    rgm_parallel(args->rows, 5 * (double)args->channels, layer_norm_rows, (void *)args);
}

static void layer_norm_grad_row(const rgm_layer_norm_args *o, int64_t r)
{
    const REAL *gamma = o->gamma, *dy = (const REAL *)o->dy + r * o->channels;
    REAL *dx = (REAL *)o->y + r * o->channels, *dgamma = o->dgamma, *dbeta = o->dbeta;
    double mean, factor, sum = 0, dot = 0, n = (double)o->channels;

    norm_moments(&mean, &factor, o, r);
    for (int64_t c = 0; c < o->channels; c++) {
        double z = (norm_input(o, r * o->channels + c) - mean) * factor;
        double d = dy[c] * (double)(gamma ? gamma[c] : 1);
        sum += d;
        dot += d * z;
        if (dgamma)
            dgamma[c] += (REAL)(dy[c] * z);
        if (dbeta)
            dbeta[c] += dy[c];
    }
    sum = o->rms ? 0 : sum;
    for (int64_t c = 0; c < o->channels && dx; c++) {
        double z = (norm_input(o, r * o->channels + c) - mean) * factor;
        double d = dy[c] * (double)(gamma ? gamma[c] : 1);
        dx[c] = (REAL)(factor * (d - sum / n - z * dot / n));
    }
}

static void layer_norm_grad(const rgm_layer_norm_args *args)
{
    rgm_layer_norm_args o = *args;
    size_t row = (size_t)o.channels * sizeof(REAL);

    if (o.dgamma)
        memset(o.dgamma, 0, row);
    if (o.dbeta)
        memset(o.dbeta, 0, row);
    for (int64_t r = 0; r < o.rows; r++)
        layer_norm_grad_row(&o, r);
}

/* ---- rotary positions ---------------------------------------------------------------------- */

static void rotary_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_rotary_args *o = payload;
    int64_t half = o->depth / 2;

    for (int64_t r = begin; r < end; r++) {
        const REAL *cosine = (const REAL *)o->table + o->position[r % o->positions] * o->depth;
        for (int64_t h = 0; h < o->heads; h++) {
            int64_t at = (r * o->heads + h) * o->depth;
            const REAL *x = (const REAL *)o->x + at;
            REAL *y = (REAL *)o->y + at;
            for (int64_t i = 0; i < half; i++) {
                REAL a = x[i], b = x[i + half],
                     sine = o->back ? -cosine[half + i] : cosine[half + i];
                y[i] = a * cosine[i] - b * sine;
                y[i + half] = b * cosine[i] + a * sine;
            }
        }
    }
}

static void rotary(const rgm_rotary_args *args)
{
    rgm_parallel(args->rows, 5 + 3 * (double)(args->heads * args->depth), rotary_rows,
                 (void *)args);
}

/* ---- dropout and optimizers ---------------------------------------------------------------- */

static void dropout_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_dropout_args *o = payload;
    uint32_t least = (uint32_t)(o->rate * 65536 + 0.5), words[4];
    REAL scale = (REAL)(1 / (1 - o->rate));

    for (int64_t b = begin; b < end; b++) {
        rgm_rng_block(&o->rng, (uint64_t)b, words);
        for (int64_t w = 0; w < 8; w++) {
            bool keep = (words[w / 2] >> (w % 2 * 16) & 0xffff) >= least;
            int64_t first = (b * 8 + w) * o->group;
            for (int64_t i = first; i < rgmi_min(o->count, first + o->group); i++) {
                REAL value = keep ? ((const REAL *)o->x)[i] * scale : 0;
                ((REAL *)o->y)[i] = o->residual ? ((const REAL *)o->residual)[i] + value : value;
            }
        }
    }
}

/* Rows that have numbers: draws that follow each other are of one block. */
static void dropout_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_dropout_args *o = payload;
    uint32_t least = (uint32_t)(o->rate * 65536 + 0.5), words[4];
    uint64_t block = UINT64_MAX;
    REAL scale = (REAL)(1 / (1 - o->rate));

    for (int64_t r = begin; r < end; r++)
        for (int64_t i = r * o->width; i < (r + 1) * o->width; i++) {
            uint64_t draw = (uint64_t)((o->number[r] * o->width + i - r * o->width) / o->group);
            REAL value;

            if (draw / 8 != block) {
                block = draw / 8;
                rgm_rng_block(&o->rng, block, words);
            }
            value = (words[draw % 8 / 2] >> (draw % 2 * 16) & 0xffff) >= least
                        ? ((const REAL *)o->x)[i] * scale
                        : 0;
            ((REAL *)o->y)[i] = o->residual ? ((const REAL *)o->residual)[i] + value : value;
        }
}

static void dropout(const rgm_dropout_args *args)
{
    rgm_dropout_args o = *args;

    o.group = rgmi_max(1, o.group);
    if (o.number != NULL) {
        rgm_parallel(o.width > 0 ? o.count / o.width : 0, 4 * (double)o.width, dropout_rows, &o);
        return;
    }
    rgm_parallel(rgmi_blocks(o.count, 8 * o.group), 20 + 8 * (double)o.group, dropout_blocks, &o);
}

static void adam_range(void *payload, int64_t begin, int64_t end)
{
    const rgm_adam_args *o = payload;
    REAL *w = o->w, *m = o->m, *v = o->v;
    REAL beta1 = (REAL)o->beta1, beta2 = (REAL)o->beta2, rate = (REAL)o->rate;

    for (int64_t i = begin; i < end; i++) {
        REAL g = ((const REAL *)o->gradient)[i] * (REAL)o->gradient_scale + (REAL)o->l2 * w[i];
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * (g * g);
        w[i] -= (REAL)o->weight_decay_rate * w[i];
        REAL root = R(sqrt)(v[i]) + (REAL)o->epsilon;
        w[i] -= rate * (m[i] / (root == 0 ? (REAL)INFINITY : root));
    }
}

static void adam(const rgm_adam_args *args)
{
    rgm_parallel(args->count, 3, adam_range, (void *)args);
}

static void sgd_range(void *payload, int64_t begin, int64_t end)
{
    const rgm_sgd_args *o = payload;
    REAL *w = o->w, *m = o->m, momentum = (REAL)o->momentum;

    for (int64_t i = begin; i < end; i++) {
        REAL g = ((const REAL *)o->gradient)[i] * (REAL)o->gradient_scale + (REAL)o->l2 * w[i];
        if (m) {
            m[i] = momentum * m[i] + g;
            g = o->nesterov ? g + momentum * m[i] : m[i];
        }
        w[i] -= (REAL)o->rate * g;
    }
}

static void sgd(const rgm_sgd_args *args)
{
    rgm_parallel(args->count, 1, sgd_range, (void *)args);
}
