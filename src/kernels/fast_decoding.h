/*
 * What writing one token after the other takes: attention to rows that lie scattered, and the most
 * probable classes of a row of logits. Depths that fill no whole vectors are left to the reference.
 */

/* ---- attention to rows ---- */

#define ROW_LINE   16 /* floats of a cache line */
#define KEYS_AHEAD 2  /* rows of keys that are asked for before they are read */

typedef struct rows_job {
    const rgm_attention_rows_args *o;
    atomic_bool no_memory;
} rows_job;

/* Where the rows of keys and values that item b sees stand, absent ones left out, and how far they
 * are from its queries; how many. */
static int64_t rows_find(const float **k, const float **v, int64_t *away,
                         const rgm_attention_rows_args *o, int64_t b)
{
    const int64_t *index = o->index + b * o->keys;
    int64_t width = o->heads / rgmi_key_group(o->heads, o->kv_heads) * o->depth, count = 0;
    int64_t stands = o->position != NULL ? o->position[b * o->position_step] : 0;

    for (int64_t j = 0; j < o->keys; j++) {
        int64_t distance = j - stands;
        if (index[j] < 0 || (o->window > 0 && (distance <= -o->window || distance >= o->window)))
            continue;
        away[count] = distance;
        k[count] = (const float *)o->k + index[j] * width;
        v[count++] = (const float *)o->v + index[j] * width;
    }
    if (o->newest_k) {
        away[count] = 0;
        k[count] = (const float *)o->newest_k + b * width;
        v[count++] = (const float *)o->newest_v + b * width;
    }
    return count;
}

static inline void row_ask(const float *row, int64_t width)
{
    for (int64_t c = 0; c < width; c += ROW_LINE)
        __builtin_prefetch(row + c);
}

/* y = (sum over j < n of p[j] v[j]) * factor, over `count` vectors from d of v on. */
static inline __attribute__((always_inline)) void rows_sum(float *y, const float *p,
                                                           const float *const *v, int64_t d,
                                                           int64_t n, float factor, int count)
{
    vf sum[WIDE];

    UNROLL for (int u = 0; u < count; u++) sum[u] = v_zero();
    for (int64_t j = 0; j < n; j++) {
        vf weight = v_set1(p[j]);
        UNROLL for (int u = 0; u < count; u++) sum[u] =
            v_fma(weight, v_load(v[j] + d + u * LANES), sum[u]);
    }
    UNROLL for (int u = 0; u < count; u++) v_store(y + u * LANES, v_mul(sum[u], v_set1(factor)));
}

/* p [heads][ld]: scores of all heads with one key after another, whose row is one piece of memory;
 * the first query asks for what follows and for the values. */
static void rows_scores(float *p, int64_t ld, const float *q, const float *const *k,
                        const float *const *v, int64_t n, const rgm_attention_rows_args *o,
                        bool first)
{
    int64_t group = rgmi_key_group(o->heads, o->kv_heads), width = o->heads / group * o->depth;

    for (int64_t j = 0; j < n; j++) {
        if (first && j + KEYS_AHEAD < n)
            row_ask(k[j + KEYS_AHEAD], width);
        if (first)
            row_ask(v[j], width);
        for (int64_t h = 0; h < o->heads; h++)
            p[h * ld + j] =
                row_dot(q + h * o->depth, k[j] + h / group * o->depth, o->depth) * (float)o->scale;
    }
}

/* What their distances add to scores. */
static void rows_near(float *p, int64_t ld, const int64_t *away, int64_t n,
                      const rgm_attention_rows_args *o)
{
    const float *slope = o->slope, *bias = o->bias;

    for (int64_t h = 0; h < o->heads; h++)
        for (int64_t j = 0; j < n; j++) {
            int64_t d = away[j], at = rgmi_max(-o->reach, rgmi_min(o->reach, d)) + o->reach;
            if (slope != NULL)
                p[h * ld + j] -= slope[h] * (float)(d < 0 ? -d : d);
            if (bias != NULL)
                p[h * ld + j] += bias[h * (2 * o->reach + 1) + at];
        }
}

/* The rows that an item sees, and room for its scores. */
typedef struct rows_seen {
    const float **k, **v;
    int64_t *away, n;
    float *p;
} rows_seen;

static void rows_query(float *y, const float *q, const rows_seen *seen,
                       const rgm_attention_rows_args *o, bool first)
{
    int64_t ld = o->keys + 1, n = seen->n, group = rgmi_key_group(o->heads, o->kv_heads);
    float *p = seen->p;

    rows_scores(p, ld, q, seen->k, seen->v, n, o, first);
    if (o->slope != NULL || o->bias != NULL)
        rows_near(p, ld, seen->away, n, o);
    for (int64_t h = 0; h < o->heads; h++, p += ld) {
        float sum = row_exp(p, p, row_most(p, n), n);
        int64_t d = h / group * o->depth, end = d + o->depth, to = h * o->depth - d;
        sum = sum == 0 ? 0 : 1 / sum;
        for (; d + PART <= end; d += PART)
            rows_sum(y + to + d, p, seen->v, d, n, sum, WIDE);
        for (; d < end; d += LANES)
            rows_sum(y + to + d, p, seen->v, d, n, sum, 1);
    }
}

static void rows_items(void *payload, int64_t begin, int64_t end)
{
    rows_job *job = payload;
    const rgm_attention_rows_args *o = job->o;
    int64_t keys = o->keys + 1, width = o->heads * o->depth;
    rows_seen seen = {.k =
                          rgmi_scratch_take((size_t)keys * (2 * sizeof *seen.k + sizeof *seen.away +
                                                            (size_t)o->heads * sizeof(float)))};

    if (seen.k == NULL) {
        atomic_store(&job->no_memory, true);
        return;
    }
    seen.v = seen.k + keys;
    seen.away = (int64_t *)(seen.v + keys);
    seen.p = (float *)(seen.away + keys);
    for (int64_t b = begin; b < end; b++) {
        seen.n = rows_find(seen.k, seen.v, seen.away, o, b);
        for (int64_t i = 0; i < o->queries; i++) {
            int64_t at = (b * o->queries + i) * width;
            rows_query((float *)o->y + at, (const float *)o->q + at, &seen, o, i == 0);
        }
    }
    rgmi_scratch_give(seen.k);
}

static void attention_rows(const rgm_attention_rows_args *args)
{
    rows_job job = {.o = args};
    double products = (double)((args->keys + 1) * args->heads) * (double)args->depth;

    if (args->depth % LANES == 0)
        rgm_parallel(args->batch, 50 + 0.15 * (double)args->queries * products, rows_items, &job);
    if (args->depth % LANES != 0 || atomic_load(&job.no_memory))
        rgmi_reference_f32.attention_rows(args);
}

/* ---- the most probable classes ---- */

#define TOP_BLOCK (16 * LANES) /* columns looked at together */

/* Take columns from..end of x among the `count` largest of a row, largest first; *have: so far. */
static void top_take(int64_t *index, float *best, int64_t *have, const float *x, int64_t from,
                     int64_t end, int64_t count)
{
    for (int64_t c = from; c < end; c++) {
        int64_t at;
        if (*have == count && !(x[c] > best[count - 1]))
            continue;
        at = *have < count ? (*have)++ : count - 1;
        for (; at > 0 && best[at - 1] < x[c]; at--) {
            best[at] = best[at - 1];
            index[at] = index[at - 1];
        }
        best[at] = x[c];
        index[at] = c;
    }
}

/* Columns from..end, by pieces of a quarter; those without one of the largest are passed over. */
static void top_find(int64_t *index, float *best, int64_t *have, const float *x, int64_t from,
                     int64_t end, int64_t piece, int64_t count)
{
    for (; from < end; from += piece) {
        int64_t to = rgmi_min(end, from + piece);
        if (*have == count && !(row_most(x + from, to - from) > best[count - 1]))
            continue;
        if (piece > LANES)
            top_find(index, best, have, x, from, to, piece / 4, count);
        else
            top_take(index, best, have, x, from, to, count);
    }
}

static void top_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_top_args *o = payload;

    for (int64_t r = begin; r < end; r++) {
        const float *x = (const float *)o->x + r * o->channels;
        float *y = (float *)o->y + r * o->count, most, sum;
        int64_t have = 0;
        top_find(o->index + r * o->count, y, &have, x, 0, o->classes, TOP_BLOCK, o->count);
        most = y[0] > LOWEST ? y[0] : LOWEST;
        sum = row_exp(NULL, x, most, o->classes);
        sum = sum == 0 ? 0 : log_scalar(sum);
        for (int64_t i = 0; i < o->count; i++)
            y[i] = y[i] - most - sum;
    }
}

static void top_log_softmax(const rgm_top_args *args)
{
    rgm_parallel(args->rows, 30 + 0.3 * (double)args->classes, top_rows, (void *)args);
}
