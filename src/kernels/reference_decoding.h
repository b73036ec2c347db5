/* What writing one token after the other takes. Part of reference.h; needs dot_product() and
 * distance_score(). */

/* How far key j of item b, or the newest, is from the queries: 0 and below. */
static int64_t row_distance(const rgm_attention_rows_args *o, int64_t b, int64_t j)
{
    return o->position != NULL && j < o->keys ? j - o->position[b * o->position_step] : 0;
}

/* Row of key j of item b in x, keys, or newest, their last; NULL: there is no such key. */
static const REAL *attention_row(const rgm_attention_rows_args *o, const void *x,
                                 const void *newest, int64_t b, int64_t h, int64_t j)
{
    int64_t row = j < o->keys ? o->index[b * o->keys + j] : b;
    int64_t group = rgmi_key_group(o->heads, o->kv_heads), distance = row_distance(o, b, j);

    if (row < 0 || (o->window > 0 && (distance <= -o->window || distance >= o->window)))
        return NULL;
    return (const REAL *)(j < o->keys ? x : newest) +
           (row * (o->heads / group) + h / group) * o->depth;
}

static double row_score(const rgm_attention_rows_args *o, const REAL *q, const REAL *k, int64_t b,
                        int64_t h, int64_t j)
{
    return o->scale * dot_product(q, k, o->depth) +
           distance_score(o->slope, o->bias, o->reach, h, row_distance(o, b, j));
}

static void attention_rows_items(void *payload, int64_t begin, int64_t end)
{
    const rgm_attention_rows_args *o = payload;
    int64_t keys = o->keys + (o->newest_k != NULL);

    for (int64_t r = begin; r < end; r++) {
        int64_t h = r % o->heads, i = r / o->heads, b = i / o->queries;
        const REAL *q = (const REAL *)o->q + r * o->depth;
        REAL *y = (REAL *)o->y + (i * o->heads + h) * o->depth;
        double most = -INFINITY, sum = 0;
        memset(y, 0, (size_t)o->depth * sizeof(REAL));
        for (int64_t j = 0; j < keys; j++) {
            const REAL *k = attention_row(o, o->k, o->newest_k, b, h, j);
            if (k != NULL)
                most = fmax(most, row_score(o, q, k, b, h, j));
        }
        for (int64_t j = 0; j < keys; j++) {
            const REAL *k = attention_row(o, o->k, o->newest_k, b, h, j);
            if (k != NULL)
                sum += exp(row_score(o, q, k, b, h, j) - most);
        }
        for (int64_t j = 0; j < keys; j++) {
            const REAL *k = attention_row(o, o->k, o->newest_k, b, h, j);
            const REAL *v = attention_row(o, o->v, o->newest_v, b, h, j);
            double p = k != NULL ? exp(row_score(o, q, k, b, h, j) - most) / sum : 0;
            for (int64_t c = 0; k != NULL && c < o->depth; c++)
                y[c] += (REAL)(p * v[c]);
        }
    }
}

static void attention_rows(const rgm_attention_rows_args *args)
{
    rgm_parallel(args->batch * args->queries * args->heads,
                 20 + 4 * (double)(args->keys + 1) * (double)args->depth, attention_rows_items,
                 (void *)args);
}

/* ---- the most probable classes ---- */

static void top_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_top_args *o = payload;

    for (int64_t r = begin; r < end; r++) {
        const REAL *x = (const REAL *)o->x + r * o->channels;
        REAL *y = (REAL *)o->y + r * o->count;
        int64_t *index = o->index + r * o->count, count = 0;
        double sum = 0, most;
        for (int64_t c = 0; c < o->classes; c++) {
            int64_t at = count < o->count ? count++ : o->count;
            for (; at > 0 && x[index[at - 1]] < x[c]; at--)
                if (at < o->count)
                    index[at] = index[at - 1];
            if (at < o->count)
                index[at] = c;
        }
        most = x[index[0]] > REAL_LOWEST ? (double)x[index[0]] : (double)REAL_LOWEST;
        for (int64_t c = 0; c < o->classes; c++)
            sum += exp(x[c] - most);
        for (int64_t i = 0; i < o->count; i++)
            y[i] = (REAL)(x[index[i]] - most - (sum == 0 ? 0 : log(sum)));
    }
}

static void top_log_softmax(const rgm_top_args *args)
{
    rgm_parallel(args->rows, 20 + 8 * (double)args->classes, top_rows, (void *)args);
}
