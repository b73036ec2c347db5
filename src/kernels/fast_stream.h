/* Kernels that stream over flat memory: random numbers, dropout, optimizers, reductions. */

/* ---- Philox4x32-10 -------------------------------------------------------------------------- */

#define DRAW_BLOCKS 128 /* blocks of the generator made at once: 1024 draws of 16 bits */

/* words[i] = block `first` + i, as rgm_rng_block() gives it, of `blocks` and what fills the last
 * LANES; LANES / 2 blocks to a vector. */
static inline void philox_blocks(uint32_t words[DRAW_BLOCKS][4], const rgm_rng *rng, uint64_t first,
                                 int64_t blocks)
{
    const vi m0 = v_long_set1(0xD2511F53u), m1 = v_long_set1(0xCD9E8D57u);
    const uint32_t w0 = 0x9E3779B9u, w1 = 0xBB67AE85u;

    for (int64_t i = 0; i < blocks; i += LANES) {
        /* Two vectors at once keep the multiplier busy. */
        vi c0a = v_long_ramp(first + (uint64_t)i),
           c0b = v_long_ramp(first + (uint64_t)i + LANES / 2);
        vi c1a = v_high(c0a), c1b = v_high(c0b);
        vi c2a = v_long_set1(rng->step), c3a = v_high(c2a), c2b = c2a, c3b = c3a;
        uint32_t k0 = rng->key[0], k1 = rng->key[1];
        for (int round = 0; round < 10; round++, k0 += w0, k1 += w1) {
            vi key0 = v_long_set1(k0), key1 = v_long_set1(k1);
            vi p0a = v_mul_wide(c0a, m0), p1a = v_mul_wide(c2a, m1);
            vi p0b = v_mul_wide(c0b, m0), p1b = v_mul_wide(c2b, m1);
            c0a = v_int_xor(v_int_xor(v_high(p1a), c1a), key0);
            c2a = v_int_xor(v_int_xor(v_high(p0a), c3a), key1);
            c0b = v_int_xor(v_int_xor(v_high(p1b), c1b), key0);
            c2b = v_int_xor(v_int_xor(v_high(p0b), c3b), key1);
            c1a = p1a;
            c3a = p0a;
            c1b = p1b;
            c3b = p0b;
        }
        v_store_words(words[i], c0a, c1a, c2a, c3a);
        v_store_words(words[i + LANES / 2], c0b, c1b, c2b, c3b);
    }
}

/* Results too large for the cache go past it. */
static inline bool streams(const void *y, int64_t count)
{
    return 4 * count > STREAM_BYTES && (uintptr_t)y % (4 * LANES) == 0;
}

/* stream: `begin` is a multiple of LANES, and streams(). */
static void dropout_each(const rgm_dropout_args *o, const uint16_t *draw, uint32_t least,
                         int64_t begin, int64_t end, bool stream)
{
    const float *x = o->x, *residual = o->residual;
    float *y = o->y;
    vf scale = v_set1((float)(1 / (1 - o->rate)));
    int64_t i = begin;

    for (; i + LANES <= end; i += LANES, draw += LANES) {
        vf value = v_select(v_draws_from(draw, least), v_mul(v_load(x + i), scale), v_zero());
        if (residual)
            value = v_add(v_load(residual + i), value);
        if (stream)
            v_stream(y + i, value);
        else
            v_store(y + i, value);
    }
    if (i < end) {
        vf value =
            v_select(v_draws_from(draw, least), v_mul(v_load_n(x + i, end - i), scale), v_zero());
        if (residual)
            value = v_add(v_load_n(residual + i, end - i), value);
        v_store_n(y + i, value, end - i);
    }
}

static void dropout_groups(const rgm_dropout_args *o, const uint16_t *draw, uint32_t least,
                           int64_t first, int64_t draws)
{
    const float *x = o->x, *residual = o->residual;
    float *y = o->y;
    vf scale = v_set1((float)(1 / (1 - o->rate)));

    for (int64_t d = 0; d < draws; d++) {
        int64_t i = (first + d) * o->group, end = rgmi_min(o->count, i + o->group);
        for (; i < end; i += LANES) {
            vf value = v_mul(v_load_n(x + i, end - i), scale);
            value = draw[d] >= least ? value : v_zero();
            if (residual)
                value = v_add(v_load_n(residual + i, end - i), value);
            v_store_n(y + i, value, end - i);
        }
    }
}

static void dropout_chunks(void *payload, int64_t begin, int64_t end)
{
    const rgm_dropout_args *o = payload;
    uint32_t least = (uint32_t)(o->rate * 65536 + 0.5);
    int64_t draws = rgmi_blocks(o->count, o->group);
    _Alignas(64) uint32_t words[DRAW_BLOCKS][4];

    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * DRAW_BLOCKS * 8, last = rgmi_min(draws, first + DRAW_BLOCKS * 8);
        philox_blocks(words, &o->rng, (uint64_t)b * DRAW_BLOCKS, DRAW_BLOCKS);
        if (o->group == 1)
            dropout_each(o, (const uint16_t *)words, least, first, last, streams(o->y, o->count));
        else
            dropout_groups(o, (const uint16_t *)words, least, first, last - first);
    }
    _mm_sfence();
}

/* Draws of a few blocks in a row, which rows with numbers near each other share. */
typedef struct draw_window {
    _Alignas(64) uint32_t words[DRAW_BLOCKS + LANES / 8][4]; /* a vector may begin at the last */
    uint64_t first;
    int64_t blocks;
} draw_window;

/* The draws from `draw` on; *count becomes how many of so many there are. */
static const uint16_t *draws_from(draw_window *w, const rgm_rng *rng, uint64_t draw, int64_t *count)
{
    int64_t blocks = rgmi_min(DRAW_BLOCKS, rgmi_blocks((int64_t)(draw % 8) + *count, 8)), at;

    if (draw / 8 < w->first || draw / 8 + (uint64_t)blocks > w->first + (uint64_t)w->blocks) {
        w->first = draw / 8;
        w->blocks = rgmi_blocks(blocks, LANES) * LANES;
        philox_blocks(w->words, rng, w->first, blocks);
    }
    at = (int64_t)(draw - w->first * 8);
    *count = rgmi_min(*count, w->blocks * 8 - at);
    return (const uint16_t *)w->words + at;
}

static void dropout_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_dropout_args *o = payload;
    uint32_t least = (uint32_t)(o->rate * 65536 + 0.5);
    draw_window window = {.first = 0};
    int64_t one = 1;

    for (int64_t r = begin; r < end; r++) {
        int64_t draw = o->number[r] * o->width, i = r * o->width, last = i + o->width, count;

        if (o->group > 1)
            dropout_groups(o, draws_from(&window, &o->rng, (uint64_t)o->number[r], &one), least, r,
                           1);
        for (; i < last && o->group == 1; i += count, draw += count) {
            count = last - i;
            const uint16_t *draws = draws_from(&window, &o->rng, (uint64_t)draw, &count);
            dropout_each(o, draws, least, i, i + count, false);
        }
    }
}

/* One draw for a row, or one for each element. */
static void dropout_numbered(const rgm_dropout_args *o)
{
    if (o->group != 1 && o->group != o->width)
        rgmi_reference_f32.dropout(o);
    else if (o->width > 0)
        rgm_parallel(o->count / o->width, 20 + 0.5 * (double)o->width, dropout_rows, (void *)o);
}

static void dropout(const rgm_dropout_args *args)
{
    rgm_dropout_args o = *args;

    o.group = rgmi_max(1, o.group);
    if (o.number != NULL) {
        dropout_numbered(&o);
        return;
    }
    rgm_parallel(rgmi_blocks(rgmi_blocks(o.count, o.group), DRAW_BLOCKS * 8),
                 DRAW_BLOCKS * 8 * (0.5 + 0.3 * (double)o.group), dropout_chunks, &o);
}

/* ---- optimizers ---------------------------------------------------------------------------- */

#define SWEEP_BLOCK 2048 /* elements of an item */

static void adam_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_adam_args *o = payload;
    const float *gradient = o->gradient;
    float *w = o->w, *m = o->m, *v = o->v;
    const vf beta1 = v_set1((float)o->beta1), rest1 = v_set1(1 - (float)o->beta1);
    const vf beta2 = v_set1((float)o->beta2), rest2 = v_set1(1 - (float)o->beta2);
    const vf rate = v_set1((float)o->rate), epsilon = v_set1((float)o->epsilon);
    const vf l2 = v_set1((float)o->l2), scale = v_set1((float)o->gradient_scale);
    const vf decay = v_set1((float)o->weight_decay_rate), infinity = v_set1(__builtin_inff());
    int64_t last = rgmi_min(o->count, end * SWEEP_BLOCK);

    for (int64_t i = begin * SWEEP_BLOCK; i < last; i += LANES) {
        int64_t n = last - i;
        bool whole = n >= LANES;
        vf old = whole ? v_load(w + i) : v_load_n(w + i, n);
        vf g = v_mul(whole ? v_load(gradient + i) : v_load_n(gradient + i, n), scale);
        vf mean = whole ? v_load(m + i) : v_load_n(m + i, n);
        vf square = whole ? v_load(v + i) : v_load_n(v + i, n);
        g = v_fma(l2, old, g);
        mean = v_fma(beta1, mean, v_mul(rest1, g));
        square = v_fma(beta2, square, v_mul(rest2, v_mul(g, g)));
        old = v_fnma(decay, old, old);
        vf root = v_add(v_sqrt(square), epsilon);
        root = v_select(v_eq(root, v_zero()), infinity, root);
        old = v_fnma(rate, v_div(mean, root), old);
        if (whole) {
            v_store(m + i, mean);
            v_store(v + i, square);
            v_store(w + i, old);
        } else {
            v_store_n(m + i, mean, n);
            v_store_n(v + i, square, n);
            v_store_n(w + i, old, n);
        }
    }
}

static void adam(const rgm_adam_args *args)
{
    rgm_parallel(rgmi_blocks(args->count, SWEEP_BLOCK), SWEEP_BLOCK * 0.8, adam_blocks,
                 (void *)args);
}

static void sgd_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_sgd_args *o = payload;
    float *w = o->w, *m = o->m;
    const vf momentum = v_set1((float)o->momentum), rate = v_set1((float)o->rate);
    const vf l2 = v_set1((float)o->l2), scale = v_set1((float)o->gradient_scale);
    int64_t last = rgmi_min(o->count, end * SWEEP_BLOCK);

    for (int64_t i = begin * SWEEP_BLOCK; i < last; i += LANES) {
        int64_t n = last - i;
        vf old = v_load_n(w + i, n);
        vf g = v_fma(l2, old, v_mul(v_load_n((const float *)o->gradient + i, n), scale));
        if (m) {
            vf mean = v_fma(momentum, v_load_n(m + i, n), g);
            v_store_n(m + i, mean, n);
            g = o->nesterov ? v_fma(momentum, mean, g) : mean;
        }
        v_store_n(w + i, v_fnma(rate, g, old), n);
    }
}

static void sgd(const rgm_sgd_args *args)
{
    rgm_parallel(rgmi_blocks(args->count, SWEEP_BLOCK), SWEEP_BLOCK * 0.5, sgd_blocks,
                 (void *)args);
}

/* ---- reductions ---------------------------------------------------------------------------- */

/* Sums, largest and smallest numbers and products, in one shape: start, step, end. */
static inline float reduce_start(rgm_reduction reduction)
{
    switch (reduction) {
    case RGM_SUM:
    case RGM_MEAN:
        return 0;
    case RGM_PROD:
        return 1;
    case RGM_MAX:
    case RGM_MAX_NO_INF:
        return -__builtin_inff();
    default:
        return __builtin_inff();
    }
}

static inline __attribute__((always_inline)) vf reduce_step(rgm_reduction reduction, vf x, vf sum)
{
    switch (reduction) {
    case RGM_SUM:
    case RGM_MEAN:
        return v_add(sum, x);
    case RGM_PROD:
        return v_mul(sum, x);
    case RGM_MAX:
    case RGM_MAX_NO_INF:
        return v_max(x, sum);
    default:
        return v_min(x, sum);
    }
}

static inline float reduce_lanes(rgm_reduction reduction, vf x)
{
    float lane[LANES], result;

    if (reduction == RGM_SUM || reduction == RGM_MEAN)
        return v_sum(x);
    v_store(lane, x);
    result = lane[0];
    for (int i = 1; i < LANES; i++)
        if (reduction == RGM_PROD)
            result *= lane[i];
        else if (reduction == RGM_MAX || reduction == RGM_MAX_NO_INF)
            result = lane[i] > result ? lane[i] : result;
        else
            result = lane[i] < result ? lane[i] : result;
    return result;
}

static inline float reduce_nothing(rgm_reduction reduction)
{
    switch (reduction) {
    case RGM_MAX:
        return LOWEST;
    case RGM_MIN:
        return -LOWEST;
    case RGM_PROD:
        return 1;
    default:
        return 0;
    }
}

typedef struct reduce_job {
    const rgm_reduce_args *o;
    int64_t blocks, block; /* of the axis, and their length */
    float *partial;        /* [outer][blocks][inner]        */
} reduce_job;

/* The result over n numbers of x, or of x times `factor` where `products`. */
static inline __attribute__((always_inline)) void reduce_row(float *y, const float *x,
                                                             const float *factor, int64_t n,
                                                             const bool products,
                                                             rgm_reduction reduction)
{
    vf start = v_set1(reduce_start(reduction)), a = start, b = start;
    int64_t i = 0;

    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        vf p = v_load(x + i), q = v_load(x + i + LANES);
        a = products ? v_fma(p, v_load(factor + i), a) : reduce_step(reduction, p, a);
        b = products ? v_fma(q, v_load(factor + i + LANES), b) : reduce_step(reduction, q, b);
    }
    for (; i < n; i += LANES) {
        vf p = v_load_or(x + i, n - i, start);
        a = products ? v_fma(p, v_load_n(factor + i, n - i), a) : reduce_step(reduction, p, a);
    }
    *y = reduce_lanes(reduction, reduce_step(reduction, b, a));
}

/* Chains of a column, added at the end, since an addition waits for the one before it; and how many
 * numbers of x are read to one visit of y. */
#define REDUCE_CHAINS 4
#define REDUCE_VISIT  4096

/* y[0..LANES) (or up to inner) = reduction of itself and n rows of x [n, inner]. */
static inline __attribute__((always_inline)) void
reduce_column(float *y, const float *x, const float *factor, int64_t n, int64_t inner, int64_t left,
              const bool products, rgm_reduction reduction)
{
    vf chain[REDUCE_CHAINS];
    int64_t r = 0;

    chain[0] = v_load_n(y, left);
    UNROLL
    for (int k = 1; k < REDUCE_CHAINS; k++)
        chain[k] = v_set1(reduce_start(reduction));
    for (; r + REDUCE_CHAINS <= n && left >= LANES; r += REDUCE_CHAINS) {
        UNROLL
        for (int k = 0; k < REDUCE_CHAINS; k++) {
            vf p = v_load(x + (r + k) * inner);
            chain[k] = products ? v_fma(p, v_load(factor + (r + k) * inner), chain[k])
                                : reduce_step(reduction, p, chain[k]);
        }
    }
    for (; r < n; r++) {
        vf p = v_load_n(x + r * inner, left);
        chain[0] = products ? v_fma(p, v_load_n(factor + r * inner, left), chain[0])
                            : reduce_step(reduction, p, chain[0]);
    }
    UNROLL
    for (int k = 1; k < REDUCE_CHAINS; k++)
        chain[0] = reduce_step(reduction, chain[k], chain[0]);
    v_store_n(y, chain[0], left);
}

/* y[inner] = reduction over n rows of x [n, inner], some rows at a time, so that what is read for
 * one column of vectors is still there for the next. */
static inline __attribute__((always_inline)) void reduce_rows(float *y, const float *x,
                                                              const float *factor, int64_t n,
                                                              int64_t inner, const bool products,
                                                              rgm_reduction reduction)
{
    int64_t visit = rgmi_max(1, REDUCE_VISIT / inner / REDUCE_CHAINS) * REDUCE_CHAINS;

    for (int64_t c = 0; c < inner; c += LANES)
        v_store_n(y + c, v_set1(reduce_start(reduction)), inner - c);
    for (int64_t r = 0; r < n; r += visit)
        for (int64_t c = 0; c < inner; c += LANES)
            reduce_column(y + c, x + r * inner + c, products ? factor + r * inner + c : NULL,
                          rgmi_min(visit, n - r), inner, inner - c, products, reduction);
}

static void reduce_blocks(void *payload, int64_t begin, int64_t end)
{
    const reduce_job *g = payload;
    const rgm_reduce_args *o = g->o;

    for (int64_t t = begin; t < end; t++) {
        int64_t from = t % g->blocks * g->block, n = rgmi_min(g->block, o->axis - from);
        int64_t at = (t / g->blocks * o->axis + from) * o->inner;
        const float *x = (const float *)o->x + at;
        const float *factor = o->factor != NULL ? (const float *)o->factor + at : NULL;
        float *y = g->partial + t * o->inner;
        if (o->inner == 1 && factor != NULL)
            reduce_row(y, x, factor, n, true, RGM_SUM);
        else if (o->inner == 1)
            reduce_row(y, x, NULL, n, false, o->reduction);
        else if (factor != NULL)
            reduce_rows(y, x, factor, n, o->inner, true, RGM_SUM);
        else if (o->reduction <= RGM_MEAN)
            reduce_rows(y, x, NULL, n, o->inner, false, RGM_SUM);
        else
            reduce_rows(y, x, NULL, n, o->inner, false, o->reduction);
    }
}

/* Blocks of the axis in order; sums of them in double. */
static void reduce_finish(const reduce_job *g)
{
    const rgm_reduce_args *o = g->o;
    bool sums = o->reduction == RGM_SUM || o->reduction == RGM_MEAN;
    double divisor = o->reduction == RGM_MEAN ? (double)o->axis : 1;

    if (g->blocks == 1 && divisor == 1)
        return;
    for (int64_t i = 0; i < o->outer; i++)
        for (int64_t c = 0; c < o->inner; c++) {
            const float *part = g->partial + i * g->blocks * o->inner + c;
            double sum = part[0];
            for (int64_t b = 1; b < g->blocks; b++) {
                double next = part[b * o->inner];
                if (sums)
                    sum += next;
                else if (o->reduction == RGM_PROD)
                    sum *= next;
                else if (o->reduction == RGM_MAX || o->reduction == RGM_MAX_NO_INF)
                    sum = next > sum ? next : sum;
                else
                    sum = next < sum ? next : sum;
            }
            ((float *)o->y)[i * o->inner + c] = (float)(sum / divisor);
        }
}

static void reduce(const rgm_reduce_args *args)
{
    reduce_job g = {.o = args};
    int64_t results = args->outer * args->inner;

    if (results == 0)
        return;
    if (args->axis == 0) {
        for (int64_t i = 0; i < results; i++)
            ((float *)args->y)[i] = reduce_nothing(args->reduction);
        return;
    }
    g.block = args->inner == 1 ? RGMI_FLAT_BLOCK : RGMI_SUM_BLOCK;
    g.blocks = rgmi_blocks(args->axis, g.block);
    g.partial = args->y;
    if (g.blocks > 1)
        g.partial = rgmi_scratch_take((size_t)(results * g.blocks) * sizeof(float));
    if (g.partial == NULL) {
        rgmi_reference_f32.reduce(args);
        return;
    }
    rgm_parallel(args->outer * g.blocks,
                 3 + 0.2 * (double)rgmi_min(g.block, args->axis) * (double)args->inner,
                 reduce_blocks, &g);
    reduce_finish(&g);
    if (g.partial != args->y)
        rgmi_scratch_give(g.partial);
}

typedef struct squares_job {
    const float *x;
    int64_t count;
    double *partial;
    atomic_bool bad;
} squares_job;

static double squares_block(const float *x, int64_t n)
{
    vd a = v_double_zero(), b = v_double_zero();

    for (int64_t i = 0; i < n; i += LANES) {
        vf v = n - i >= LANES ? v_load(x + i) : v_load_n(x + i, n - i);
        vd low = v_low_double(v), high = v_high_double(v);
        a = v_double_fma(low, low, a);
        b = v_double_fma(high, high, b);
    }
    return v_double_sum(v_double_add(a, b));
}

static void squares_blocks(void *payload, int64_t begin, int64_t end)
{
    const squares_job *g = payload;

    for (int64_t b = begin; b < end; b++)
        g->partial[b] = squares_block(g->x + b * RGMI_FLAT_BLOCK,
                                      rgmi_min(RGMI_FLAT_BLOCK, g->count - b * RGMI_FLAT_BLOCK));
}

static double sum_of_squares(const rgm_flat_args *args)
{
    int64_t count = args->count, blocks = rgmi_blocks(count, RGMI_FLAT_BLOCK);
    double few[64], total = 0;
    squares_job g = {.x = args->x, .count = count, .partial = few};

    if (blocks > 64)
        g.partial = rgmi_scratch_take((size_t)blocks * sizeof(double));
    if (g.partial) {
        rgm_parallel(blocks, RGMI_FLAT_BLOCK * 0.25, squares_blocks, &g);
        for (int64_t b = 0; b < blocks; b++)
            total += g.partial[b];
        if (g.partial != few)
            rgmi_scratch_give(g.partial);
        return total;
    }
    for (int64_t b = 0; b < blocks; b++)
        total += squares_block(g.x + b * RGMI_FLAT_BLOCK,
                               rgmi_min(RGMI_FLAT_BLOCK, count - b * RGMI_FLAT_BLOCK));
    return total;
}

static void squares(const rgm_squares_args *args)
{
    for (int64_t i = 0; i < args->arrays; i++)
        args->y[i] = sum_of_squares(&(rgm_flat_args){args->x[i], args->count[i]});
}

/* x - x is 0 for numbers and NaN for infinities and NaN. */
static void finite_blocks(void *payload, int64_t begin, int64_t end)
{
    squares_job *g = payload;
    int64_t last = rgmi_min(g->count, end * RGMI_FLAT_BLOCK);
    vf sum = v_zero();

    for (int64_t i = begin * RGMI_FLAT_BLOCK; i < last; i += LANES) {
        vf x = last - i >= LANES ? v_load(g->x + i) : v_load_n(g->x + i, last - i);
        sum = v_add(sum, v_sub(x, x));
    }
    if (v_sum(sum) != 0)
        atomic_store(&g->bad, true);
}

static bool all_finite(const rgm_flat_args *args)
{
    squares_job g = {.x = args->x, .count = args->count};

    rgm_parallel(rgmi_blocks(args->count, RGMI_FLAT_BLOCK), RGMI_FLAT_BLOCK * 0.2, finite_blocks,
                 &g);
    return !atomic_load(&g.bad);
}
