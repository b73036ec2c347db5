/* Scaled dot-product attention: two sweeps over the keys of each query, scores computed in both. */

/* Where head h of row i of sequence b stands in a value of `length` rows of `heads` heads. */
static inline int64_t head_at(const rgm_attention_args *o, int64_t length, int64_t heads, int64_t b,
                              int64_t i, int64_t h)
{
    return ((b * length + i) * heads + h) * o->depth;
}

static inline int64_t query_at(const rgm_attention_args *o, int64_t b, int64_t i, int64_t h)
{
    return head_at(o, o->queries, o->heads, b, i, h);
}

/* Of the key that query head h looks at. */
static inline int64_t key_at(const rgm_attention_args *o, int64_t b, int64_t j, int64_t h)
{
    int64_t group = rgmi_key_group(o->heads, o->kv_heads);

    return head_at(o, o->keys, o->heads / group, b, j, h / group);
}

static double dot_product(const REAL *a, const REAL *b, int64_t n)
{
    double sum = 0;

    for (int64_t c = 0; c < n; c++)
        sum += (double)a[c] * b[c];
    return sum;
}

/* What the probability of key j is multiplied by: 1, or 0 or 1 / (1 - rate) as it was drawn. */
static double attention_keep(const rgm_attention_args *o, int64_t item, int64_t i, int64_t j)
{
    uint64_t block;
    uint32_t words[4], least = (uint32_t)(o->rate * 65536 + 0.5);

    if (o->rate == 0)
        return 1;
    block = rgmi_attention_draws(o, item, j / RGMI_KEYS, i) + (uint64_t)(j % RGMI_KEYS / 8);
    rgm_rng_block(&o->rng, block, words);
    return (words[j % 8 / 2] >> (j % 2 * 16) & 0xffff) >= least ? 1 / (1 - o->rate) : 0;
}

/* The number of a head in `bias` at a distance. */
static inline int64_t bias_at(int64_t reach, int64_t h, int64_t distance)
{
    return h * (2 * reach + 1) + rgmi_max(-reach, rgmi_min(reach, distance)) + reach;
}

/* What a distance adds to a score of head h; slope and bias may be NULL. */
static double distance_score(const void *slope, const void *bias, int64_t reach, int64_t h,
                             int64_t distance)
{
    double sum = 0;

    if (slope != NULL)
        sum -= (double)((const REAL *)slope)[h] * (double)(distance < 0 ? -distance : distance);
    if (bias != NULL)
        sum += (double)((const REAL *)bias)[bias_at(reach, h, distance)];
    return sum;
}

static double attention_score(const rgm_attention_args *o, int64_t b, int64_t h, int64_t i,
                              int64_t j)
{
    double product = dot_product((const REAL *)o->q + query_at(o, b, i, h),
                                 (const REAL *)o->k + key_at(o, b, j, h), o->depth);

    return o->scale * product +
           distance_score(o->slope, o->bias, o->reach, h, j - rgmi_stands(o, i));
}

/* The largest score of a query and the sum of exp(score - largest); sum 0: nothing is visible. It
 * is NaN where a score is. */
static double attention_stats(double *most, const rgm_attention_args *o, int64_t b, int64_t h,
                              int64_t i)
{
    double sum = 0;

    *most = -INFINITY;
    for (int64_t j = rgmi_sees_from(o, i); j < rgmi_sees(o, i); j++) {
        double score, before = *most;
        if (!rgmi_key_seen(o, b, i, j))
            continue;
        score = attention_score(o, b, h, i, j);
        if (score > *most)
            *most = score;
        sum = sum * (before == *most ? 1 : exp(before - *most)) + exp(score - *most);
    }
    return sum;
}

static double attention_probability(const rgm_attention_args *o, int64_t b, int64_t h, int64_t i,
                                    int64_t j, double most, double sum)
{
    return rgmi_key_seen(o, b, i, j) ? exp(attention_score(o, b, h, i, j) - most) / sum : 0;
}

static void attention_queries(void *payload, int64_t begin, int64_t end)
{
    const rgm_attention_args *o = payload;

    for (int64_t r = begin; r < end; r++) {
        int64_t item = r / o->queries, i = r % o->queries, b = item / o->heads, h = item % o->heads;
        REAL *y = (REAL *)o->y + query_at(o, b, i, h);
        double most, sum = attention_stats(&most, o, b, h, i);

        memset(y, 0, (size_t)o->depth * sizeof(REAL));
        for (int64_t j = rgmi_sees_from(o, i); j < rgmi_sees(o, i) && sum != 0; j++) {
            const REAL *v = (const REAL *)o->v + key_at(o, b, j, h);
            double p =
                attention_probability(o, b, h, i, j, most, sum) * attention_keep(o, item, i, j);
            for (int64_t c = 0; c < o->depth; c++)
                y[c] += (REAL)(p * v[c]);
        }
    }
}

static void attention(const rgm_attention_args *args)
{
    rgm_parallel(args->batch * args->heads * args->queries, 10 * (double)(args->keys * args->depth),
                 attention_queries, (void *)args);
}

static void attention_grad_query(const rgm_attention_args *o, int64_t item, int64_t i)
{
    int64_t b = item / o->heads, h = item % o->heads, at = query_at(o, b, i, h);
    const REAL *q = (const REAL *)o->q + at, *dy = (const REAL *)o->dy + at;
    REAL *dq = (REAL *)o->dq + at;
    double most, sum = attention_stats(&most, o, b, h, i);
    /* sum over j of p dp: the y of the forward pass has it, dropout included */
    double along = dot_product(dy, (const REAL *)o->y_forward + at, o->depth);

    for (int64_t j = rgmi_sees_from(o, i); j < rgmi_sees(o, i) && sum != 0; j++) {
        int64_t of = key_at(o, b, j, h);
        const REAL *k = (const REAL *)o->k + of, *v = (const REAL *)o->v + of;
        REAL *dk = (REAL *)o->dk + of, *dv = (REAL *)o->dv + of;
        double p = attention_probability(o, b, h, i, j, most, sum),
               keep = attention_keep(o, item, i, j);
        double ds = p * (keep * dot_product(dy, v, o->depth) - along);
        if (o->bias != NULL)
            ((REAL *)o->dbias)[bias_at(o->reach, item, j - rgmi_stands(o, i))] += (REAL)ds;
        ds *= o->scale;
        for (int64_t c = 0; c < o->depth; c++) {
            dq[c] += (REAL)(ds * k[c]);
            dk[c] += (REAL)(ds * q[c]);
            dv[c] += (REAL)(p * keep * dy[c]);
        }
    }
}

/* Items are heads of keys, with all query heads that look at one: they add to the same rows. */
static void attention_grad_heads(void *payload, int64_t begin, int64_t end)
{
    const rgm_attention_args *o = payload;
    int64_t group = rgmi_key_group(o->heads, o->kv_heads);
    size_t size = (size_t)o->depth * sizeof(REAL);

    for (int64_t item = begin * group; item < end * group; item++) {
        int64_t b = item / o->heads, h = item % o->heads;
        for (int64_t j = 0; j < o->keys && item % group == 0; j++) {
            memset((REAL *)o->dk + key_at(o, b, j, h), 0, size);
            memset((REAL *)o->dv + key_at(o, b, j, h), 0, size);
        }
        if (o->bias != NULL)
            memset((REAL *)o->dbias + item * (2 * o->reach + 1), 0,
                   (size_t)(2 * o->reach + 1) * sizeof(REAL));
        for (int64_t i = 0; i < o->queries; i++) {
            memset((REAL *)o->dq + query_at(o, b, i, h), 0, size);
            attention_grad_query(o, item, i);
        }
    }
}

static void attention_grad(const rgm_attention_args *args)
{
    int64_t group = rgmi_key_group(args->heads, args->kv_heads);

    rgm_parallel(args->batch * args->heads / group,
                 30 * (double)(args->queries * args->keys * group) * (double)args->depth,
                 attention_grad_heads, (void *)args);
}
