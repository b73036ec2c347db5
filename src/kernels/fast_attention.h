/*
 * Attention in tiles of four queries by up to 64 keys. Keys, and in the backward pass values, are
 * transposed block by block, so that every product runs along vectors of neighbouring numbers.
 * Tiles without a key that one of their queries sees are passed over: they would add zeros. Depths
 * that fill no whole vectors are left to the reference, and segments whose numbers fall.
 */

#define QUAD 4              /* queries */
#define WIDE (LANES / 4)    /* vectors of a tile's row that stay in registers: 4 or 2 */
#define PART (WIDE * LANES) /* floats of them */

/* s [QUAD][RGMI_KEYS] = a bt over `count` vectors of keys from `from` on; bt [depth][RGMI_KEYS]. */
static inline __attribute__((always_inline)) void quad_scores_of(float (*s)[RGMI_KEYS],
                                                                 const float *const *a,
                                                                 const float *bt, int64_t depth,
                                                                 int64_t from, int count)
{
    vf c[QUAD][WIDE];

    UNROLL for (int r = 0; r < QUAD; r++) UNROLL for (int u = 0; u < count; u++) c[r][u] = v_zero();
    for (int64_t d = 0; d < depth; d++) {
        vf b[WIDE];
        UNROLL for (int u = 0; u < count; u++) b[u] = v_load(bt + d * RGMI_KEYS + from + u * LANES);
        UNROLL for (int r = 0; r < QUAD; r++)
        {
            vf x = v_set1(a[r][d]);
            UNROLL for (int u = 0; u < count; u++) c[r][u] = v_fma(x, b[u], c[r][u]);
        }
    }
    UNROLL for (int r = 0; r < QUAD; r++) UNROLL for (int u = 0; u < count; u++)
        v_store(&s[r][from + u * LANES], c[r][u]);
}

/* The same for the first n keys, rounded up to whole vectors. */
static void quad_scores(float (*s)[RGMI_KEYS], const float *const *a, const float *bt,
                        int64_t depth, int64_t n)
{
    for (int64_t from = 0; from < n; from += PART) {
        switch (rgmi_min(WIDE, rgmi_blocks(n - from, LANES))) {
        case 1:
            quad_scores_of(s, a, bt, depth, from, 1);
            break;
        case 2:
            quad_scores_of(s, a, bt, depth, from, 2);
            break;
#if WIDE == 4
        case 3:
            quad_scores_of(s, a, bt, depth, from, 3);
            break;
        case 4:
            quad_scores_of(s, a, bt, depth, from, 4);
            break;
#endif
        }
    }
}

/* c[r] = factor[r] c[r] + sum over j < n of w[r][j] b[j], over `count` vectors of depth. */
static inline __attribute__((always_inline)) void quad_sum_of(float *const *c, const float *factor,
                                                              float (*w)[RGMI_KEYS], const float *b,
                                                              int64_t ld, int64_t n, int count)
{
    vf sum[QUAD][WIDE];

    UNROLL for (int r = 0; r < QUAD; r++) UNROLL for (int u = 0; u < count; u++) sum[r][u] =
        v_mul(v_load(c[r] + u * LANES), v_set1(factor[r]));
    for (int64_t j = 0; j < n; j++) {
        vf x[WIDE];
        UNROLL for (int u = 0; u < count; u++) x[u] = v_load(b + j * ld + u * LANES);
        UNROLL for (int r = 0; r < QUAD; r++)
        {
            vf weight = v_set1(w[r][j]);
            UNROLL for (int u = 0; u < count; u++) sum[r][u] = v_fma(weight, x[u], sum[r][u]);
        }
    }
    UNROLL for (int r = 0; r < QUAD; r++) UNROLL for (int u = 0; u < count; u++)
        v_store(c[r] + u * LANES, sum[r][u]);
}

static void quad_sum(float *const *c, const float *factor, float (*w)[RGMI_KEYS], const float *b,
                     int64_t ld, int64_t n, int64_t depth)
{
    for (int64_t d = 0; d < depth;) {
        float *at[QUAD];
        int64_t left = (depth - d) / LANES;
        for (int r = 0; r < QUAD; r++)
            at[r] = c[r] + d;
        if (left >= WIDE) {
            quad_sum_of(at, factor, w, b + d, ld, n, WIDE);
            d += PART;
        } else {
            quad_sum_of(at, factor, w, b + d, ld, n, 1);
            d += LANES;
        }
    }
}

/* c[j] += sum over the tile's rows of w[r][j] a[r], for j < n. */
static inline __attribute__((always_inline)) void quad_outer_of(float *c, int64_t ld,
                                                                float (*w)[RGMI_KEYS],
                                                                const float *const *a, int64_t d,
                                                                int64_t n, int count)
{
    vf x[QUAD][WIDE];

    UNROLL for (int r = 0; r < QUAD; r++) UNROLL for (int u = 0; u < count; u++) x[r][u] =
        v_load(a[r] + d + u * LANES);
    for (int64_t j = 0; j < n; j++) {
        float *to = c + j * ld + d;
        vf sum[WIDE];
        UNROLL for (int u = 0; u < count; u++) sum[u] = v_load(to + u * LANES);
        UNROLL for (int r = 0; r < QUAD; r++)
        {
            vf weight = v_set1(w[r][j]);
            UNROLL for (int u = 0; u < count; u++) sum[u] = v_fma(weight, x[r][u], sum[u]);
        }
        UNROLL for (int u = 0; u < count; u++) v_store(to + u * LANES, sum[u]);
    }
}

static void quad_outer(float *c, int64_t ld, float (*w)[RGMI_KEYS], const float *const *a,
                       int64_t n, int64_t depth)
{
    int64_t d = 0;

    for (; d + PART <= depth; d += PART)
        quad_outer_of(c, ld, w, a, d, n, WIDE);
    for (; d < depth; d += LANES)
        quad_outer_of(c, ld, w, a, d, n, 1);
}

/* ---- one head of one sequence ---- */

typedef struct attention_head {
    const rgm_attention_args *o;
    int64_t item, b, h, ld, kld; /* floats from row to row of queries, of keys */
    int64_t block, first, count; /* of keys */
    int64_t *from, *until;       /* [queries]: the keys of each, of which some may be hidden */
    float *near, *dnear;         /* by distance, 0 in the middle: what is added to scores, and its
                                    gradient; NULL: nothing is */
    float *kt, *vt;              /* [depth][RGMI_KEYS], the block transposed */
    float *most, *sum;           /* [queries] of the running softmax */
    float hidden[RGMI_KEYS];     /* 0, or -inf for keys that nobody sees */
    uint32_t words[DRAW_BLOCKS][4];
} attention_head;

static const float *head_row(const attention_head *t, const void *x, int64_t length, int64_t i)
{
    return (const float *)x + (t->b * length + i) * t->ld + t->h * t->o->depth;
}

static const float *key_row(const attention_head *t, const void *x, int64_t j)
{
    const rgm_attention_args *o = t->o;

    return (const float *)x + (t->b * o->keys + j) * t->kld +
           t->h / rgmi_key_group(o->heads, o->kv_heads) * o->depth;
}

/* Whether a query of the tile sees a key of the block. */
static bool tile_is_seen(const attention_head *t, int64_t i)
{
    for (int64_t r = i; r < rgmi_min(i + QUAD, t->o->queries); r++)
        if (t->from[r] < t->first + t->count && t->until[r] > t->first)
            return true;
    return false;
}

/* to [depth][RGMI_KEYS] from rows of keys or values; what fills the last vector behind them is 0.
 */
static void head_transpose(float *to, const float *x, int64_t ld, int64_t n, int64_t depth)
{
    for (int64_t j = 0; j < n; j += LANES)
        rows_transpose(to + j, RGMI_KEYS, x + j * ld, ld, n - j, depth);
}

static void head_open_block(attention_head *t, int64_t block)
{
    const rgm_attention_args *o = t->o;

    t->block = block;
    t->first = block * RGMI_KEYS;
    t->count = rgmi_min(RGMI_KEYS, o->keys - t->first);
    for (int64_t j = 0; j < RGMI_KEYS; j++)
        t->hidden[j] =
            j < t->count && rgmi_key_visible(o, t->b, t->first + j) ? 0 : -__builtin_inff();
    head_transpose(t->kt, key_row(t, o->k, t->first), t->kld, t->count, o->depth);
    if (t->vt)
        head_transpose(t->vt, key_row(t, o->v, t->first), t->kld, t->count, o->depth);
}

/* Rows i, i + 1, .. of x; behind the last query the last one again, whose weights are then 0. */
static void quad_rows(const float **rows, const attention_head *t, const void *x, int64_t i)
{
    for (int r = 0; r < QUAD; r++)
        rows[r] = head_row(t, x, t->o->queries, rgmi_min(i + r, t->o->queries - 1));
}

/* The distances of the block's keys from query i. */
static float *head_near(const attention_head *t, float *near, int64_t i)
{
    return near != NULL ? near + t->first - rgmi_stands(t->o, i) : NULL;
}

/* Scaled scores of a tile, -inf where the query does not see the key. */
static void quad_masked_scores(float (*s)[RGMI_KEYS], const attention_head *t, int64_t i)
{
    const float *q[QUAD];
    vf scale = v_set1((float)t->o->scale), none = v_set1(-__builtin_inff());

    quad_rows(q, t, t->o->q, i);
    quad_scores(s, q, t->kt, t->o->depth, t->count);
    for (int r = 0; r < QUAD; r++) {
        bool real = i + r < t->o->queries;
        int64_t seen = real ? t->until[i + r] - t->first : 0;
        int64_t before = real ? t->from[i + r] - t->first : 0;
        const float *near = real ? head_near(t, t->near, i + r) : NULL;
        for (int64_t j = 0; j < t->count; j += LANES) {
            vf x = v_fma(v_load(&s[r][j]), scale, v_load(&t->hidden[j]));
            if (near != NULL)
                x = v_add(x, v_load(near + j));
            if (j < before)
                x = v_select(v_first(before - j), none, x);
            v_store(&s[r][j], v_select(v_first(seen - j), x, none));
        }
    }
}

/*
 * Take a tile's scores into the running softmax; *factor is what the sums so far shrink by. s
 * becomes exp(s - most); 0 for rows behind the last query.
 */
static void quad_stats(float *factor, attention_head *t, float (*s)[RGMI_KEYS], int64_t i)
{
    for (int r = 0; r < QUAD; r++) {
        bool real = i + r < t->o->queries;
        vf most = v_set1(real ? t->most[i + r] : 0), sum = v_zero();
        float shrink[LANES], largest;
        factor[r] = 1;
        for (int64_t j = 0; j < t->count; j += LANES)
            most = v_max(v_load(&s[r][j]), most);
        largest = v_most(most);
        for (int64_t j = 0; j < t->count; j += LANES) {
            vf e = v_exp(v_sub(v_load(&s[r][j]), v_set1(largest)));
            v_store(&s[r][j], e);
            sum = v_add(sum, e);
        }
        if (!real)
            continue;
        v_store(shrink, v_exp(v_set1(t->most[i + r] - largest)));
        factor[r] = shrink[0];
        t->sum[i + r] = t->sum[i + r] * factor[r] + v_sum(sum);
        t->most[i + r] = largest;
    }
}

/* s becomes exp(s - most); 0 for rows behind the last query, which see no key. */
static void quad_exp(float (*s)[RGMI_KEYS], const attention_head *t, int64_t i)
{
    for (int r = 0; r < QUAD; r++) {
        vf most = v_set1(i + r < t->o->queries ? t->most[i + r] : 0);
        for (int64_t j = 0; j < t->count; j += LANES)
            v_store(&s[r][j], v_exp(v_sub(v_load(&s[r][j]), most)));
    }
}

static void quad_scale(float (*s)[RGMI_KEYS], const attention_head *t, const float *times)
{
    for (int r = 0; r < QUAD; r++)
        for (int64_t j = 0; j < t->count; j += LANES)
            v_store(&s[r][j], v_mul(v_load(&s[r][j]), v_set1(times[r])));
}

/* Draws for RGMI_QUERIES queries from `i` on, a multiple of it. */
static void head_draw(attention_head *t, int64_t i)
{
    if (t->o->rate > 0)
        philox_blocks(t->words, &t->o->rng, rgmi_attention_draws(t->o, t->item, t->block, i),
                      DRAW_BLOCKS);
}

/* to = w * keep, the draws of query i + r; to may be w. */
static void quad_drop(float (*to)[RGMI_KEYS], float (*w)[RGMI_KEYS], const attention_head *t,
                      int64_t i)
{
    uint32_t least = (uint32_t)(t->o->rate * 65536 + 0.5);
    vf scale = v_set1((float)(1 / (1 - t->o->rate)));

    for (int r = 0; r < QUAD; r++) {
        const uint16_t *draw = (const uint16_t *)t->words[(i + r) % RGMI_QUERIES * 8];
        for (int64_t j = 0; j < t->count; j += LANES)
            v_store(&to[r][j], v_select(v_draws_from(draw + j, least),
                                        v_mul(v_load(&w[r][j]), scale), v_zero()));
    }
}

static void head_forward_tile(attention_head *t, int64_t i)
{
    const rgm_attention_args *o = t->o;
    float s[QUAD][RGMI_KEYS], factor[QUAD], spare[256], *y[QUAD];

    quad_masked_scores(s, t, i);
    quad_stats(factor, t, s, i);
    if (o->rate > 0)
        quad_drop(s, s, t, i);
    for (int64_t d = 0; d < o->depth; d += 256) { /* rows behind the last query go to `spare` */
        int64_t part = rgmi_min(256, o->depth - d);
        memset(spare, 0, (size_t)part * sizeof(float));
        for (int r = 0; r < QUAD; r++)
            y[r] = i + r < o->queries ? (float *)head_row(t, o->y, o->queries, i + r) + d : spare;
        quad_sum(y, factor, s, key_row(t, o->v, t->first) + d, t->kld, t->count, part);
    }
}

static void head_clear(const attention_head *t, void *x)
{
    for (int64_t i = 0; i < t->o->queries; i++)
        memset((float *)head_row(t, x, t->o->queries, i), 0, (size_t)t->o->depth * sizeof(float));
}

static void keys_clear(const attention_head *t, void *x)
{
    for (int64_t j = 0; j < t->o->keys; j++)
        memset((float *)key_row(t, x, j), 0, (size_t)t->o->depth * sizeof(float));
}

static void head_forward(attention_head *t)
{
    const rgm_attention_args *o = t->o;

    head_clear(t, o->y);
    for (int64_t block = 0; block < rgmi_blocks(o->keys, RGMI_KEYS); block++) {
        head_open_block(t, block);
        for (int64_t i = 0; i < o->queries; i += QUAD) {
            if (i % RGMI_QUERIES == 0)
                head_draw(t, i);
            if (tile_is_seen(t, i))
                head_forward_tile(t, i);
        }
    }
    for (int64_t i = 0; i < o->queries; i++) {
        float *y = (float *)head_row(t, o->y, o->queries, i);
        vf factor = v_set1(t->sum[i] == 0 ? 0 : 1 / t->sum[i]);
        for (int64_t d = 0; d < o->depth; d += LANES)
            v_store(y + d, v_mul(v_load(y + d), factor));
    }
}

/* ---- gradient ---- */

/* dbias of the head: distances beyond the reach are one. */
static void near_fold(const attention_head *t)
{
    const rgm_attention_args *o = t->o;
    float *dbias = (float *)o->dbias + t->item * (2 * o->reach + 1);

    memset(dbias, 0, (size_t)(2 * o->reach + 1) * sizeof(float));
    for (int64_t d = 1 - o->keys; d < o->queries; d++)
        dbias[rgmi_max(-o->reach, rgmi_min(o->reach, d)) + o->reach] += t->dnear[d];
}

/* The running softmax of all blocks, where one block is not all. */
static void head_stats(attention_head *t)
{
    float s[QUAD][RGMI_KEYS], factor[QUAD];

    for (int64_t block = 0; block < rgmi_blocks(t->o->keys, RGMI_KEYS); block++) {
        head_open_block(t, block);
        for (int64_t i = 0; i < t->o->queries; i += QUAD) {
            if (!tile_is_seen(t, i))
                continue;
            quad_masked_scores(s, t, i);
            quad_stats(factor, t, s, i);
        }
    }
}

static float row_dot(const float *a, const float *b, int64_t depth)
{
    vf sum = v_zero();

    for (int64_t d = 0; d < depth; d += LANES)
        sum = v_fma(v_load(a + d), v_load(b + d), sum);
    return v_sum(sum);
}

/* ds = p (dp - along) scale, in the place of dp; without the scale it is that of what is added. */
static void quad_score_grad(float (*dp)[RGMI_KEYS], float (*p)[RGMI_KEYS], const float *along,
                            const attention_head *t, int64_t i)
{
    for (int r = 0; r < QUAD; r++) {
        float *dnear = i + r < t->o->queries ? head_near(t, t->dnear, i + r) : NULL;
        for (int64_t j = 0; j < t->count; j += LANES) {
            vf ds = v_mul(v_load(&p[r][j]), v_sub(v_load(&dp[r][j]), v_set1(along[r])));
            v_store(&dp[r][j], v_mul(ds, v_set1((float)t->o->scale)));
            if (dnear != NULL)
                v_store(dnear + j, v_add(v_load(dnear + j), ds));
        }
    }
}

static void head_grad_tile(attention_head *t, int64_t i, bool alone)
{
    const rgm_attention_args *o = t->o;
    float p[QUAD][RGMI_KEYS], dp[QUAD][RGMI_KEYS], kept[QUAD][RGMI_KEYS], times[QUAD], along[QUAD];
    static const float ones[QUAD] = {1, 1, 1, 1};
    const float *q[QUAD], *dy[QUAD], *y[QUAD];
    float *dk = (float *)key_row(t, o->dk, t->first);
    float *dv = (float *)key_row(t, o->dv, t->first), *dq[QUAD], spare[256];

    quad_rows(q, t, o->q, i);
    quad_rows(dy, t, o->dy, i);
    quad_rows(y, t, o->y_forward, i);
    quad_masked_scores(p, t, i);
    if (alone)
        quad_stats(times, t, p, i);
    else
        quad_exp(p, t, i);
    for (int r = 0; r < QUAD; r++) {
        float sum = i + r < o->queries ? t->sum[i + r] : 0;
        times[r] = sum == 0 ? 0 : 1 / sum;
        along[r] = row_dot(dy[r], y[r], o->depth);
    }
    quad_scale(p, t, times);
    quad_scores(dp, dy, t->vt, o->depth, t->count);
    if (o->rate > 0) {
        quad_drop(kept, p, t, i);
        quad_drop(dp, dp, t, i);
    }
    quad_outer(dv, t->kld, o->rate > 0 ? kept : p, dy, t->count, o->depth);
    quad_score_grad(dp, p, along, t, i);
    quad_outer(dk, t->kld, dp, q, t->count, o->depth);
    for (int64_t d = 0; d < o->depth; d += 256) {
        int64_t part = rgmi_min(256, o->depth - d);
        memset(spare, 0, (size_t)part * sizeof(float));
        for (int r = 0; r < QUAD; r++)
            dq[r] = i + r < o->queries ? (float *)head_row(t, o->dq, o->queries, i + r) + d : spare;
        quad_sum(dq, ones, dp, key_row(t, o->k, t->first) + d, t->kld, t->count, part);
    }
}

static void head_grad(attention_head *t)
{
    const rgm_attention_args *o = t->o;
    int64_t blocks = rgmi_blocks(o->keys, RGMI_KEYS);
    float *vt = t->vt;

    head_clear(t, o->dq);
    if (t->item % rgmi_key_group(o->heads, o->kv_heads) ==
        0) { /* the first of those that share them */
        keys_clear(t, o->dk);
        keys_clear(t, o->dv);
    }
    if (blocks > 1) {
        t->vt = NULL; /* not needed yet */
        head_stats(t);
        t->vt = vt;
    }
    for (int64_t block = 0; block < blocks; block++) {
        head_open_block(t, block);
        for (int64_t i = 0; i < o->queries; i += QUAD) {
            if (i % RGMI_QUERIES == 0)
                head_draw(t, i);
            if (tile_is_seen(t, i))
                head_grad_tile(t, i, blocks == 1);
        }
    }
    if (t->dnear != NULL)
        near_fold(t);
}

/* ---- which keys a query sees, and what a distance adds ---- */

/* Keys whose numbers are the same, one behind the other but for hidden ones. */
typedef struct key_runs {
    int64_t *id, *begin, *end, count;
} key_runs;

/* False: the numbers fall somewhere, so that one may come twice. */
static bool runs_find(key_runs *runs, const rgm_attention_args *o, int64_t b)
{
    runs->count = 0;
    for (int64_t j = 0; j < o->keys; j++) {
        int64_t id = rgmi_id_at(o->key, o->key_dtype, b * o->keys + j), last = runs->count - 1;
        if (id == 0)
            continue;
        if (last >= 0 && id < runs->id[last])
            return false;
        if (last < 0 || id > runs->id[last]) {
            last = runs->count++;
            runs->id[last] = id;
            runs->begin[last] = j;
        }
        runs->end[last] = j + 1;
    }
    return true;
}

/* The run of `id`, or -1. */
static int64_t run_of(const key_runs *runs, int64_t id)
{
    int64_t low = 0, high = runs->count;

    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (runs->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < runs->count && runs->id[low] == id ? low : -1;
}

static bool head_ranges(attention_head *t, key_runs *runs)
{
    const rgm_attention_args *o = t->o;

    if (o->query != NULL && !runs_find(runs, o, t->b))
        return false;
    for (int64_t i = 0; i < o->queries; i++) {
        int64_t run;
        t->from[i] = rgmi_sees_from(o, i);
        t->until[i] = rgmi_sees(o, i);
        if (o->query == NULL)
            continue;
        run = run_of(runs, rgmi_id_at(o->query, o->key_dtype, t->b * o->queries + i));
        t->from[i] = run < 0 ? 0 : rgmi_max(t->from[i], runs->begin[run]);
        t->until[i] = run < 0 ? 0 : rgmi_min(t->until[i], runs->end[run]);
    }
    return true;
}

/* What each distance of the head adds; vectors reach a block behind the last. */
static void near_fill(const attention_head *t)
{
    const rgm_attention_args *o = t->o;
    int64_t middle = t->h * (2 * o->reach + 1) + o->reach;
    const float *bias = o->bias;
    float slope = o->slope != NULL ? ((const float *)o->slope)[t->h] : 0;

    for (int64_t d = 1 - o->keys; d < o->queries + RGMI_KEYS; d++) {
        float x = -slope * (float)(d < 0 ? -d : d);
        if (o->bias != NULL)
            x += bias[middle + rgmi_max(-o->reach, rgmi_min(o->reach, d))];
        t->near[d] = x;
        if (t->dnear != NULL)
            t->dnear[d] = 0;
    }
}

/* ---- all of them ---- */

typedef struct attention_job {
    const rgm_attention_args *o;
    bool gradient;
    atomic_bool declined; /* no memory, or segments that fall */
} attention_job;

/* What a thread needs beside the blocks, in one piece of memory: numbers of 8 bytes first. */
static size_t head_memory(const rgm_attention_args *o)
{
    int64_t longs = 2 * o->queries + (o->query != NULL ? 3 * o->keys : 0);
    int64_t near = o->slope != NULL || o->bias != NULL ? o->keys + o->queries + RGMI_KEYS : 0;

    return (size_t)longs * sizeof(int64_t) +
           (size_t)(2 * o->depth * RGMI_KEYS + 2 * o->queries + 2 * near) * sizeof(float);
}

static void head_take(attention_head *t, key_runs *runs, void *memory, bool gradient)
{
    const rgm_attention_args *o = t->o;
    int64_t *longs = memory, near = o->keys + o->queries + RGMI_KEYS;
    float *floats;

    t->from = longs;
    t->until = longs + o->queries;
    longs += 2 * o->queries;
    if (o->query != NULL) {
        *runs = (key_runs){.id = longs, .begin = longs + o->keys, .end = longs + 2 * o->keys};
        longs += 3 * o->keys;
    }
    floats = (float *)longs;
    t->kt = floats;
    t->vt = gradient ? floats + o->depth * RGMI_KEYS : NULL;
    t->most = floats + 2 * o->depth * RGMI_KEYS;
    t->sum = t->most + o->queries;
    if (o->slope == NULL && o->bias == NULL)
        return;
    t->near = t->sum + o->queries + o->keys - 1;
    if (gradient && o->bias != NULL)
        t->dnear = t->near + near;
}

/* Of a gradient an item is a head of keys, with all query heads that look at it. */
static void attention_heads(void *payload, int64_t begin, int64_t end)
{
    attention_job *job = payload;
    const rgm_attention_args *o = job->o;
    int64_t group = rgmi_key_group(o->heads, o->kv_heads), each = job->gradient ? group : 1;
    attention_head t = {.o = o, .ld = o->heads * o->depth, .kld = o->heads / group * o->depth};
    key_runs runs = {0};
    void *memory = rgmi_scratch_take(head_memory(o));

    if (memory == NULL) {
        atomic_store(&job->declined, true);
        return;
    }
    head_take(&t, &runs, memory, job->gradient);
    for (t.item = begin * each; t.item < end * each && !atomic_load(&job->declined); t.item++) {
        t.b = t.item / o->heads;
        t.h = t.item % o->heads;
        if (!head_ranges(&t, &runs))
            atomic_store(&job->declined, true);
        if (t.near != NULL)
            near_fill(&t);
        for (int64_t i = 0; i < o->queries; i++) {
            t.most[i] = LOWEST;
            t.sum[i] = 0;
        }
        if (job->gradient)
            head_grad(&t);
        else
            head_forward(&t);
    }
    rgmi_scratch_give(memory);
}

/* False: declined; then all of it is to be done again. */
static bool attention_run(const rgm_attention_args *o, bool gradient)
{
    attention_job job = {.o = o, .gradient = gradient};
    int64_t each = gradient ? rgmi_key_group(o->heads, o->kv_heads) : 1;
    double products = (double)(o->queries * o->keys * each) * (double)o->depth;

    if (o->depth % LANES != 0 || o->queries == 0)
        return false;
    rgm_parallel(o->batch * o->heads / each, 100 + (gradient ? 0.3 : 0.1) * products,
                 attention_heads, &job);
    return !atomic_load(&job.declined);
}

static void attention(const rgm_attention_args *args)
{
    if (!attention_run(args, false))
        rgmi_reference_f32.attention(args);
}

static void attention_grad(const rgm_attention_args *args)
{
    if (!attention_run(args, true))
        rgmi_reference_f32.attention_grad(args);
}
