/*
 * Batch norm, column by column of vectors: a block of rows is read once from memory for its mean
 * and its sum of squares about it, and blocks are joined as Chan et al. (1979) join two samples, so
 * that a large mean does not eat the variance. Blocks do not depend on the threads.
 */

enum { NORM_ROWS = 128, NORM_BLOCKS = 64 }; /* rows read at a time; most blocks of a call */

/* Rows of a block: some times NORM_ROWS. */
static inline int64_t norm_block(int64_t rows)
{
    return NORM_ROWS * rgmi_max(1, rgmi_blocks(rows, (int64_t)NORM_ROWS * NORM_BLOCKS));
}

typedef struct batch_norm_job {
    const rgm_batch_norm_args *o;
    int64_t block, blocks;
    float *partial;       /* [blocks][2][channels]                      */
    float *factor, *grad; /* [channels]; [2][channels]: see norm_dx()   */
} batch_norm_job;

/* ---- moments ---- */

typedef struct moments {
    vf mean, squares; /* of what differs from the mean */
} moments;

/* Those of n rows of a column. */
static inline moments rows_moments(const float *x, int64_t n, int64_t channels, int64_t left)
{
    vf sum[4] = {v_zero(), v_zero(), v_zero(), v_zero()}, mean;

    for (int64_t r = 0; r < n; r += 4) {
        UNROLL
        for (int k = 0; k < 4; k++)
            if (r + k < n)
                sum[k] = v_add(sum[k], v_load_n(x + (r + k) * channels, left));
    }
    mean = v_mul(v_add(v_add(sum[0], sum[1]), v_add(sum[2], sum[3])), v_set1(1 / (float)n));
    UNROLL
    for (int k = 0; k < 4; k++)
        sum[k] = v_zero();
    for (int64_t r = 0; r < n; r += 4) {
        UNROLL
        for (int k = 0; k < 4; k++)
            if (r + k < n) {
                vf d = v_sub(v_load_n(x + (r + k) * channels, left), mean);
                sum[k] = v_fma(d, d, sum[k]);
            }
    }
    return (moments){mean, v_add(v_add(sum[0], sum[1]), v_add(sum[2], sum[3]))};
}

/* Of n rows and m others together. */
static inline moments joined(moments a, int64_t n, moments b, int64_t m)
{
    vf delta = v_sub(b.mean, a.mean);
    float part = (float)m / (float)(n + m);

    a.mean = v_fma(delta, v_set1(part), a.mean);
    a.squares = v_fma(v_mul(delta, delta), v_set1(part * (float)n), v_add(a.squares, b.squares));
    return a;
}

static inline moments moments_load(const float *at, int64_t channels, int64_t left)
{
    return (moments){v_load_n(at, left), v_load_n(at + channels, left)};
}

static inline void moments_store(float *at, moments m, int64_t channels, int64_t left)
{
    v_store_n(at, m.mean, left);
    v_store_n(at + channels, m.squares, left);
}

static void batch_moments_blocks(void *payload, int64_t begin, int64_t end)
{
    const batch_norm_job *g = payload;
    const rgm_batch_norm_args *o = g->o;

    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * g->block, last = rgmi_min(o->rows, first + g->block);
        float *partial = g->partial + b * 2 * o->channels;
        for (int64_t r = first; r < last; r += NORM_ROWS) {
            int64_t n = rgmi_min(NORM_ROWS, last - r);
            const float *x = (const float *)o->x + r * o->channels;
            for (int64_t c = 0; c < o->channels; c += LANES) {
                int64_t left = o->channels - c;
                moments m = rows_moments(x + c, n, o->channels, left);
                if (r > first)
                    m = joined(moments_load(partial + c, o->channels, left), r - first, m, n);
                moments_store(partial + c, m, o->channels, left);
            }
        }
    }
}

static void batch_moments_finish(const batch_norm_job *g)
{
    const rgm_batch_norm_args *o = g->o;
    vf inverse = v_set1(1 / (float)o->rows);

    for (int64_t c = 0; c < o->channels; c += LANES) {
        int64_t left = o->channels - c;
        moments m = moments_load(g->partial + c, o->channels, left);
        for (int64_t b = 1; b < g->blocks; b++)
            m = joined(m, b * g->block,
                       moments_load(g->partial + b * 2 * o->channels + c, o->channels, left),
                       rgmi_min(g->block, o->rows - b * g->block));
        m.squares = v_mul(m.squares, inverse);
        moments_store((float *)o->y + c, m, o->channels, left);
    }
}

static void batch_moments(const rgm_batch_norm_args *args)
{
    batch_norm_job g = {.o = args, .block = norm_block(args->rows)};

    g.blocks = rgmi_blocks(args->rows, g.block);
    if (g.blocks > 0)
        g.partial = rgmi_scratch_take((size_t)(g.blocks * 2 * args->channels) * sizeof(float));
    if (g.partial == NULL) {
        rgmi_reference_f32.batch_moments(args);
        return;
    }
    rgm_parallel(g.blocks, 0.1 * (double)g.block * (double)args->channels, batch_moments_blocks,
                 &g);
    batch_moments_finish(&g);
    rgmi_scratch_give(g.partial);
}

/* ---- the norm ---- */

/* gamma / sqrt(variance + epsilon). */
static void norm_factor(float *factor, const rgm_batch_norm_args *o)
{
    const float *variance = (const float *)o->moments + o->channels, *gamma = o->gamma;

    for (int64_t c = 0; c < o->channels; c += LANES) {
        int64_t left = o->channels - c;
        vf deviation = v_sqrt(v_add(v_load_n(variance + c, left), v_set1((float)o->epsilon)));
        v_store_n(factor + c, v_div(v_load_n(gamma + c, left), deviation), left);
    }
}

/* Rows that are read between two visits of a column. */
static inline int64_t norm_visit(int64_t channels)
{
    return rgmi_max(8, REDUCE_VISIT / rgmi_max(1, channels));
}

static inline __attribute__((always_inline)) void norm_rows(const batch_norm_job *g, int64_t begin,
                                                            int64_t end, const bool relu)
{
    const rgm_batch_norm_args *o = g->o;
    int64_t channels = o->channels, visit = norm_visit(channels);

    for (int64_t first = begin; first < end; first += visit)
        for (int64_t c = 0; c < channels; c += LANES) {
            int64_t left = channels - c, last = rgmi_min(end, first + visit);
            vf mean = v_load_n((const float *)o->moments + c, left);
            vf factor = v_load_n(g->factor + c, left);
            vf beta = v_load_n((const float *)o->beta + c, left);
            for (int64_t r = first; r < last; r++) {
                vf x = v_load_n((const float *)o->x + r * channels + c, left);
                vf y = v_fma(v_sub(x, mean), factor, beta);
                y = relu ? v_activate(y, RGM_ACT_RELU, y) : y;
                v_store_n((float *)o->y + r * channels + c, y, left);
            }
        }
}

static void batch_norm_rows(void *payload, int64_t begin, int64_t end)
{
    const batch_norm_job *g = payload;

    if (g->o->relu)
        norm_rows(g, begin, end, true);
    else
        norm_rows(g, begin, end, false);
}

static void batch_norm(const rgm_batch_norm_args *args)
{
    batch_norm_job g = {.o = args};

    g.factor = rgmi_scratch_take((size_t)args->channels * sizeof(float));
    if (g.factor == NULL) {
        rgmi_reference_f32.batch_norm(args);
        return;
    }
    norm_factor(g.factor, args);
    rgm_parallel(args->rows, 0.1 * (double)args->channels, batch_norm_rows, &g);
    rgmi_scratch_give(g.factor);
}

/* ---- its gradient ---- */

/* dy where the activation lets it through. */
static inline __attribute__((always_inline)) vf norm_dz(vf dy, vf centred, vf factor, vf beta,
                                                        const bool relu)
{
    return relu ? v_select(v_gt(v_fma(centred, factor, beta), v_zero()), dy, v_zero()) : dy;
}

/* Sums of dz and of dz (x - mean) over rows [first, last) of column c, added to partial. */
static inline __attribute__((always_inline)) void norm_sums(const batch_norm_job *g, float *partial,
                                                            int64_t c, int64_t first, int64_t last,
                                                            const bool relu)
{
    const rgm_batch_norm_args *o = g->o;
    int64_t channels = o->channels, left = channels - c;
    vf mean = v_load_n((const float *)o->moments + c, left);
    vf factor = v_load_n(g->factor + c, left), beta = v_load_n((const float *)o->beta + c, left);
    vf sum[2] = {v_zero(), v_zero()}, products[2] = {v_zero(), v_zero()};

    for (int64_t r = first; r < last; r += 2) {
        UNROLL
        for (int k = 0; k < 2; k++)
            if (r + k < last) {
                int64_t at = (r + k) * channels + c;
                vf centred = v_sub(v_load_n((const float *)o->x + at, left), mean);
                vf dz = v_load_n((const float *)o->dy + at, left);
                dz = norm_dz(dz, centred, factor, beta, relu);
                sum[k] = v_add(sum[k], dz);
                products[k] = v_fma(dz, centred, products[k]);
            }
    }
    v_store_n(partial + c, v_add(v_load_n(partial + c, left), v_add(sum[0], sum[1])), left);
    partial += channels;
    v_store_n(partial + c, v_add(v_load_n(partial + c, left), v_add(products[0], products[1])),
              left);
}

static void norm_sums_blocks(void *payload, int64_t begin, int64_t end)
{
    const batch_norm_job *g = payload;
    int64_t channels = g->o->channels, visit = norm_visit(channels);

    for (int64_t b = begin; b < end; b++) {
        float *partial = g->partial + b * 2 * channels;
        int64_t last = rgmi_min(g->o->rows, (b + 1) * g->block);
        memset(partial, 0, (size_t)(2 * channels) * sizeof *partial);
        for (int64_t r = b * g->block; r < last; r += visit)
            for (int64_t c = 0; c < channels; c += LANES)
                if (g->o->relu)
                    norm_sums(g, partial, c, r, rgmi_min(last, r + visit), true);
                else
                    norm_sums(g, partial, c, r, rgmi_min(last, r + visit), false);
    }
}

/* Blocks in order, in double; and of each column what norm_dx() needs. */
static void norm_sums_finish(const batch_norm_job *g)
{
    const rgm_batch_norm_args *o = g->o;
    int64_t channels = o->channels;
    const float *variance = (const float *)o->moments + channels;
    double n = (double)rgmi_max(o->rows, 1);

    for (int64_t c = 0; c < channels; c++) {
        double sum = 0, products = 0, inverse = 1 / (variance[c] + o->epsilon);
        for (int64_t b = 0; b < g->blocks; b++) {
            sum += g->partial[b * 2 * channels + c];
            products += g->partial[(b * 2 + 1) * channels + c];
        }
        ((float *)o->dbeta)[c] = (float)sum;
        ((float *)o->dgamma)[c] = (float)(products * sqrt(inverse));
        g->grad[c] = (float)(-g->factor[c] * sum / n);
        g->grad[channels + c] = (float)(g->factor[c] * products * inverse / n);
    }
}

/* dx = factor dz + grad[0] - (x - mean) grad[1]. */
static inline __attribute__((always_inline)) void norm_dx(const batch_norm_job *g, int64_t begin,
                                                          int64_t end, const bool relu)
{
    const rgm_batch_norm_args *o = g->o;
    int64_t channels = o->channels, visit = norm_visit(channels);

    for (int64_t first = begin; first < end; first += visit)
        for (int64_t c = 0; c < channels; c += LANES) {
            int64_t left = channels - c, last = rgmi_min(end, first + visit);
            vf mean = v_load_n((const float *)o->moments + c, left);
            vf factor = v_load_n(g->factor + c, left);
            vf beta = v_load_n((const float *)o->beta + c, left);
            vf of_sum = v_load_n(g->grad + c, left);
            vf of_products = v_load_n(g->grad + channels + c, left);
            for (int64_t r = first; r < last; r++) {
                vf centred = v_sub(v_load_n((const float *)o->x + r * channels + c, left), mean);
                vf dz = v_load_n((const float *)o->dy + r * channels + c, left);
                dz = norm_dz(dz, centred, factor, beta, relu);
                v_store_n((float *)o->y + r * channels + c,
                          v_fnma(centred, of_products, v_fma(dz, factor, of_sum)), left);
            }
        }
}

static void norm_dx_rows(void *payload, int64_t begin, int64_t end)
{
    const batch_norm_job *g = payload;

    if (g->o->relu)
        norm_dx(g, begin, end, true);
    else
        norm_dx(g, begin, end, false);
}

static void batch_norm_grad(const rgm_batch_norm_args *args)
{
    batch_norm_job g = {.o = args, .block = norm_block(args->rows)};
    int64_t channels = args->channels;

    g.blocks = rgmi_blocks(args->rows, g.block);
    g.partial = rgmi_scratch_take((size_t)((g.blocks * 2 + 3) * channels) * sizeof(float));
    if (g.partial == NULL) {
        rgmi_reference_f32.batch_norm_grad(args);
        return;
    }
    g.factor = g.partial + g.blocks * 2 * channels;
    g.grad = g.factor + channels;
    norm_factor(g.factor, args);
    rgm_parallel(g.blocks, 0.2 * (double)g.block * (double)channels, norm_sums_blocks, &g);
    norm_sums_finish(&g);
    rgm_parallel(args->rows, 0.15 * (double)channels, norm_dx_rows, &g);
    rgmi_scratch_give(g.partial);
}
