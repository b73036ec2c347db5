/*
 * Attention in tiles of sixteen queries by up to 64 keys. Keys, and in the backward pass values,
 * are transposed block by block, so that every product runs along vectors of neighbouring numbers.
 * A product takes four queries at a time, whose sums stay in registers, and goes over the whole
 * tile before the next one: what it reads of the block is brought to the first-level cache once a
 * tile, which has no room for all that a gradient reads and writes of a block. Keys that none of
 * four queries sees are passed over, by whole vectors: they would add zeros. Depths that fill no
 * whole vectors are left to the reference, and segments whose numbers fall.
 */

#define QUADS (RGMI_QUERIES / QUAD) /* of a tile; see fast_quads.h */
#ifndef KEPT_SCORES
#define KEPT_SCORES (1 << 18) /* most scores of a head that a gradient keeps: they stay in L2 */
#endif

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
    float *along;                /* [queries]: y dy of a gradient */
    float *scores; /* of a gradient with several blocks: [blocks][whole quads][RGMI_KEYS];
                      NULL: they are too many to keep */
    _Alignas(64) float hidden[RGMI_KEYS]; /* 0, or -inf for keys that nobody sees */
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

/* The keys of the block between those that the queries of a quad see; behind the last query none.
 */
static key_span quad_sees(const attention_head *t, int64_t i)
{
    key_span seen = {t->count, 0};

    for (int64_t r = i; r < rgmi_min(i + QUAD, t->o->queries); r++) {
        if (t->from[r] >= t->first + t->count || t->until[r] <= t->first)
            continue;
        seen.from = rgmi_min(seen.from, rgmi_max(0, t->from[r] - t->first));
        seen.to = rgmi_max(seen.to, rgmi_min(t->count, t->until[r] - t->first));
    }
    seen.from = seen.from / LANES * LANES;
    return seen;
}

/* The same of each quad of a tile; false: none sees a key. */
static bool tile_sees(key_span *seen, const attention_head *t, int64_t i)
{
    bool any = false;

    for (int n = 0; n < QUADS; n++) {
        seen[n] = quad_sees(t, i + n * QUAD);
        any |= seen[n].from < seen[n].to;
    }
    return any;
}

/* to [depth][RGMI_KEYS] from rows of keys or values; what fills the last vector behind them is 0.
 */
static void head_transpose(float *to, const float *x, int64_t ld, int64_t n, int64_t depth)
{
    for (int64_t j = 0; j < n; j += LANES)
        rows_transpose(to + j, RGMI_KEYS, x + j * ld, ld, n - j, depth);
}

/* `scored`: its scores are made, not read from those that were kept. */
static void head_open_block(attention_head *t, int64_t block, bool scored)
{
    const rgm_attention_args *o = t->o;

    t->block = block;
    t->first = block * RGMI_KEYS;
    t->count = rgmi_min(RGMI_KEYS, o->keys - t->first);
    for (int64_t j = 0; j < RGMI_KEYS; j++)
        t->hidden[j] =
            j < t->count && rgmi_key_visible(o, t->b, t->first + j) ? 0 : -__builtin_inff();
    if (scored)
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

/* Scaled scores of a quad, -inf where the query does not see the key. */
static void quad_masked_scores(float (*s)[RGMI_KEYS], const attention_head *t, int64_t i,
                               key_span span)
{
    const float *q[QUAD];
    vf scale = v_set1((float)t->o->scale), none = v_set1(-__builtin_inff());

    quad_rows(q, t, t->o->q, i);
    quad_scores(s, q, t->kt, t->o->depth, span);
    for (int r = 0; r < QUAD; r++) {
        bool real = i + r < t->o->queries;
        int64_t seen = real ? t->until[i + r] - t->first : 0;
        int64_t before = real ? t->from[i + r] - t->first : 0;
        const float *near = real ? head_near(t, t->near, i + r) : NULL;
        /* Behind the block all is hidden. */
        bool whole = near == NULL && before <= span.from &&
                     (seen >= t->count || seen >= rgmi_blocks(span.to, LANES) * LANES);
        for (int64_t j = span.from; j < span.to; j += LANES) {
            vf x = v_fma(v_load(&s[r][j]), scale, v_load(&t->hidden[j]));
            if (whole) {
                v_store(&s[r][j], x);
                continue;
            }
            if (near != NULL)
                x = v_add(x, v_load(near + j));
            if (j < before)
                x = v_select(v_first(before - j), none, x);
            v_store(&s[r][j], v_select(v_first(seen - j), x, none));
        }
    }
}

/*
 * Take a quad's scores into the running softmax; *factor is what the sums so far shrink by. Where
 * `e` is not NULL it becomes exp(s - most), 0 for rows behind the last query; it may be s. Each
 * step is made for all rows before the next: what one row waits for is long.
 */
static inline __attribute__((always_inline)) void quad_stats(float *factor, float (*e)[RGMI_KEYS],
                                                             attention_head *t,
                                                             float (*s)[RGMI_KEYS], int64_t i,
                                                             key_span seen)
{
    int64_t rows = rgmi_min(QUAD, t->o->queries - i);
    float largest[QUAD], shrink[LANES] = {0};
    vf sum[QUAD];

    for (int r = 0; r < QUAD; r++) {
        float before = r < rows ? t->most[i + r] : 0;
        vf most = v_set1(before);
        for (int64_t j = seen.from; j < seen.to; j += LANES)
            most = v_max(v_load(&s[r][j]), most);
        largest[r] = v_most(most);
        shrink[r] = before - largest[r];
    }
    v_store(shrink, v_exp(v_load(shrink)));
    UNROLL
    for (int r = 0; r < QUAD; r++) {
        sum[r] = v_zero();
        for (int64_t j = seen.from; j < seen.to; j += LANES) {
            vf x = v_exp(v_sub(v_load(&s[r][j]), v_set1(largest[r])));
            if (e != NULL)
                v_store(&e[r][j], x);
            sum[r] = v_add(sum[r], x);
        }
    }
    for (int r = 0; r < QUAD; r++) {
        factor[r] = shrink[r];
        if (r >= rows)
            continue;
        t->sum[i + r] = t->sum[i + r] * shrink[r] + v_sum(sum[r]);
        t->most[i + r] = largest[r];
    }
}

/* p = exp(s - most) times; 0 for rows behind the last query, which see no key. p may be s. */
static void quad_exp(float (*p)[RGMI_KEYS], float (*s)[RGMI_KEYS], const float *times,
                     const attention_head *t, int64_t i, key_span seen)
{
    for (int r = 0; r < QUAD; r++) {
        vf most = v_set1(i + r < t->o->queries ? t->most[i + r] : 0), factor = v_set1(times[r]);
        for (int64_t j = seen.from; j < seen.to; j += LANES)
            v_store(&p[r][j], v_mul(v_exp(v_sub(v_load(&s[r][j]), most)), factor));
    }
}

static void quad_scale(float (*s)[RGMI_KEYS], const float *times, key_span seen)
{
    for (int r = 0; r < QUAD; r++)
        for (int64_t j = seen.from; j < seen.to; j += LANES)
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
                      int64_t i, key_span seen)
{
    uint32_t least = (uint32_t)(t->o->rate * 65536 + 0.5);
    vf scale = v_set1((float)(1 / (1 - t->o->rate)));

    for (int r = 0; r < QUAD; r++) {
        const uint16_t *draw = (const uint16_t *)t->words[(i + r) % RGMI_QUERIES * 8];
        for (int64_t j = seen.from; j < seen.to; j += LANES)
            v_store(&to[r][j], v_select(v_draws_from(draw + j, least),
                                        v_mul(v_load(&w[r][j]), scale), v_zero()));
    }
}

static void head_forward_quad(const attention_head *t, int64_t i, const float *factor,
                              float (*p)[RGMI_KEYS], key_span seen)
{
    const rgm_attention_args *o = t->o;
    float spare[256], *y[QUAD];

    for (int64_t d = 0; d < o->depth; d += 256) { /* rows behind the last query go to `spare` */
        int64_t part = rgmi_min(256, o->depth - d);
        if (i + QUAD > o->queries)
            memset(spare, 0, (size_t)part * sizeof(float));
        for (int r = 0; r < QUAD; r++)
            y[r] = i + r < o->queries ? (float *)head_row(t, o->y, o->queries, i + r) + d : spare;
        quad_sum(y, factor, p, key_row(t, o->v, t->first) + d, t->kld, seen, part);
    }
}

static void head_forward_tile(attention_head *t, int64_t i)
{
    _Alignas(64) float p[RGMI_QUERIES][RGMI_KEYS];
    float factor[RGMI_QUERIES];
    key_span seen[QUADS];

    if (!tile_sees(seen, t, i))
        return;
    head_draw(t, i);
    for (int n = 0; n < QUADS; n++) {
        if (seen[n].from >= seen[n].to)
            continue;
        float(*quad)[RGMI_KEYS] = p + n * QUAD;
        quad_masked_scores(quad, t, i + n * QUAD, seen[n]);
        quad_stats(factor + n * QUAD, quad, t, quad, i + n * QUAD, seen[n]);
        if (t->o->rate > 0)
            quad_drop(quad, quad, t, i + n * QUAD, seen[n]);
    }
    for (int n = 0; n < QUADS; n++)
        if (seen[n].from < seen[n].to)
            head_forward_quad(t, i + n * QUAD, factor + n * QUAD, p + n * QUAD, seen[n]);
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
        head_open_block(t, block, true);
        for (int64_t i = 0; i < o->queries; i += RGMI_QUERIES)
            head_forward_tile(t, i);
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

typedef float score_row[RGMI_KEYS];

/* Where the scores of a quad stand that are kept. */
static score_row *kept_scores(const attention_head *t, int64_t i)
{
    int64_t rows = rgmi_blocks(t->o->queries, QUAD) * QUAD;

    return (score_row *)(t->scores + (t->block * rows + i) * RGMI_KEYS);
}

/* The running softmax of all blocks, where one block is not all. */
static void head_stats(attention_head *t)
{
    _Alignas(64) float spare[QUAD][RGMI_KEYS];
    float factor[QUAD];

    for (int64_t block = 0; block < rgmi_blocks(t->o->keys, RGMI_KEYS); block++) {
        head_open_block(t, block, true);
        for (int64_t i = 0; i < t->o->queries; i += QUAD) {
            key_span seen = quad_sees(t, i);
            float(*s)[RGMI_KEYS] = t->scores != NULL ? kept_scores(t, i) : spare;
            if (seen.from >= seen.to)
                continue;
            quad_masked_scores(s, t, i, seen);
            quad_stats(factor, NULL, t, s, i, seen);
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
static void quad_score_grad(float (*dp)[RGMI_KEYS], float (*p)[RGMI_KEYS], const attention_head *t,
                            int64_t i, key_span seen)
{
    for (int r = 0; r < QUAD; r++) {
        bool real = i + r < t->o->queries;
        float *dnear = real ? head_near(t, t->dnear, i + r) : NULL;
        vf along = v_set1(real ? t->along[i + r] : 0);
        for (int64_t j = seen.from; j < seen.to; j += LANES) {
            vf ds = v_mul(v_load(&p[r][j]), v_sub(v_load(&dp[r][j]), along));
            v_store(&dp[r][j], v_mul(ds, v_set1((float)t->o->scale)));
            if (dnear != NULL)
                v_store(dnear + j, v_add(v_load(dnear + j), ds));
        }
    }
}

/* What a tile's gradient goes through; `kept` is p where dropout lets it through. */
typedef struct grad_tile {
    _Alignas(64) float p[RGMI_QUERIES][RGMI_KEYS], dp[RGMI_QUERIES][RGMI_KEYS],
        kept[RGMI_QUERIES][RGMI_KEYS];
    key_span seen[QUADS];
} grad_tile;

/* What makes probabilities of exponentials: one by their sum; 0 where no key is seen. */
static void quad_times(float *times, const attention_head *t, int64_t i)
{
    for (int r = 0; r < QUAD; r++) {
        float sum = i + r < t->o->queries ? t->sum[i + r] : 0;
        times[r] = sum == 0 ? 0 : 1 / sum;
    }
}

/* The probabilities of a quad; `alone`: one block is all, and its softmax is taken here. */
static void quad_probabilities(float (*p)[RGMI_KEYS], attention_head *t, int64_t i, key_span seen,
                               bool alone)
{
    float times[QUAD];

    if (t->scores == NULL)
        quad_masked_scores(p, t, i, seen);
    if (alone) {
        quad_stats(times, p, t, p, i, seen);
        quad_times(times, t, i);
        quad_scale(p, times, seen);
        return;
    }
    quad_times(times, t, i);
    quad_exp(p, t->scores != NULL ? kept_scores(t, i) : p, times, t, i, seen);
}

/* p, dp by what the values are worth to dy, and what dropout makes of them. */
static void tile_probabilities(grad_tile *g, attention_head *t, int64_t i, bool alone)
{
    for (int n = 0; n < QUADS; n++)
        if (g->seen[n].from < g->seen[n].to)
            quad_probabilities(g->p + n * QUAD, t, i + n * QUAD, g->seen[n], alone);
    for (int n = 0; n < QUADS; n++) {
        const float *dy[QUAD];
        float(*dp)[RGMI_KEYS] = g->dp + n * QUAD;
        if (g->seen[n].from >= g->seen[n].to)
            continue;
        quad_rows(dy, t, t->o->dy, i + n * QUAD);
        quad_scores(dp, dy, t->vt, t->o->depth, g->seen[n]);
        if (t->o->rate == 0)
            continue;
        quad_drop(g->kept + n * QUAD, g->p + n * QUAD, t, i + n * QUAD, g->seen[n]);
        quad_drop(dp, dp, t, i + n * QUAD, g->seen[n]);
    }
}

/* to += w^T x, for the rows `to` of the block's keys and the rows of x that are the tile's. */
static void tile_outer(const void *to, const grad_tile *g, float (*w)[RGMI_KEYS],
                       const attention_head *t, const void *x, int64_t i)
{
    for (int n = 0; n < QUADS; n++) {
        const float *rows[QUAD];
        if (g->seen[n].from >= g->seen[n].to)
            continue;
        quad_rows(rows, t, x, i + n * QUAD);
        quad_outer((float *)(uintptr_t)key_row(t, to, t->first), t->kld, w + n * QUAD, rows,
                   g->seen[n], t->o->depth);
    }
}

static void quad_query_grad(const attention_head *t, float (*ds)[RGMI_KEYS], int64_t i,
                            key_span seen)
{
    static const float ones[QUAD] = {1, 1, 1, 1};
    const rgm_attention_args *o = t->o;
    float *dq[QUAD], spare[256];

    for (int64_t d = 0; d < o->depth; d += 256) {
        int64_t part = rgmi_min(256, o->depth - d);
        if (i + QUAD > o->queries)
            memset(spare, 0, (size_t)part * sizeof(float));
        for (int r = 0; r < QUAD; r++)
            dq[r] = i + r < o->queries ? (float *)head_row(t, o->dq, o->queries, i + r) + d : spare;
        quad_sum(dq, ones, ds, key_row(t, o->k, t->first) + d, t->kld, seen, part);
    }
}

static void head_grad_tile(attention_head *t, int64_t i, bool alone)
{
    const rgm_attention_args *o = t->o;
    grad_tile g;

    if (!tile_sees(g.seen, t, i))
        return;
    head_draw(t, i);
    tile_probabilities(&g, t, i, alone);
    tile_outer(o->dv, &g, o->rate > 0 ? g.kept : g.p, t, o->dy, i);
    for (int n = 0; n < QUADS; n++)
        if (g.seen[n].from < g.seen[n].to)
            quad_score_grad(g.dp + n * QUAD, g.p + n * QUAD, t, i + n * QUAD, g.seen[n]);
    tile_outer(o->dk, &g, g.dp, t, o->q, i);
    for (int n = 0; n < QUADS; n++)
        if (g.seen[n].from < g.seen[n].to)
            quad_query_grad(t, g.dp + n * QUAD, i + n * QUAD, g.seen[n]);
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
    for (int64_t i = 0; i < o->queries; i++)
        t->along[i] = row_dot(head_row(t, o->dy, o->queries, i),
                              head_row(t, o->y_forward, o->queries, i), o->depth);
    if (blocks > 1) {
        t->vt = NULL; /* not needed yet */
        head_stats(t);
        t->vt = vt;
    }
    for (int64_t block = 0; block < blocks; block++) {
        head_open_block(t, block, t->scores == NULL);
        for (int64_t i = 0; i < o->queries; i += RGMI_QUERIES)
            head_grad_tile(t, i, blocks == 1);
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

/* Floats of the scores of a head that are kept. */
static int64_t kept_count(const rgm_attention_args *o, bool gradient)
{
    int64_t blocks = rgmi_blocks(o->keys, RGMI_KEYS);
    int64_t count = blocks * rgmi_blocks(o->queries, QUAD) * QUAD * RGMI_KEYS;

    return gradient && blocks > 1 && count <= KEPT_SCORES ? count : 0;
}

/* What a thread needs beside the tiles, in one piece of memory: what is read by vectors first, then
 * numbers of 8 bytes. */
static size_t head_memory(const rgm_attention_args *o, bool gradient)
{
    int64_t longs = 2 * o->queries + (o->query != NULL ? 3 * o->keys : 0);
    int64_t near = o->slope != NULL || o->bias != NULL ? o->keys + o->queries + RGMI_KEYS : 0;

    return (size_t)longs * sizeof(int64_t) +
           (size_t)(2 * o->depth * RGMI_KEYS + kept_count(o, gradient) + 3 * o->queries +
                    2 * near) *
               sizeof(float);
}

static void head_take(attention_head *t, key_runs *runs, float *memory, bool gradient)
{
    const rgm_attention_args *o = t->o;
    int64_t *longs, near = o->keys + o->queries + RGMI_KEYS, kept = kept_count(o, gradient);

    t->kt = memory;
    t->vt = gradient ? memory + o->depth * RGMI_KEYS : NULL;
    memory += 2 * o->depth * RGMI_KEYS;
    t->scores = kept > 0 ? memory : NULL;
    longs = (int64_t *)(void *)(memory + kept);
    t->from = longs;
    t->until = longs + o->queries;
    longs += 2 * o->queries;
    if (o->query != NULL) {
        *runs = (key_runs){.id = longs, .begin = longs + o->keys, .end = longs + 2 * o->keys};
        longs += 3 * o->keys;
    }
    t->most = (float *)longs;
    t->sum = t->most + o->queries;
    t->along = t->sum + o->queries;
    if (o->slope == NULL && o->bias == NULL)
        return;
    t->near = t->along + o->queries + o->keys - 1;
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
    float *memory = rgmi_scratch_take(head_memory(o, job->gradient));

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
