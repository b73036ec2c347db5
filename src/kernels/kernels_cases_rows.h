/*
 * Cases of kernels of rows: softmax, cross-entropy, attention, norms.
 * Included by kernels_cases.h.
 */
#ifndef RGM_KERNELS_CASES_ROWS_H
#define RGM_KERNELS_CASES_ROWS_H

/* Logits up to +-1e4 and masked ones in some variants. */
static void *logits(run *t, int64_t n)
{
    void *x = in(t, n);

    if (t->variant % 3 == 0)
        for (int64_t i = 0; i < n; i++)
            put(t, x, i, get(t, x, i) * 1e4);
    return x;
}

/* One of x [n] is NaN, so that it comes to all that is made of it. */
static void put_nan(run *t, void *x, int64_t n)
{
    if (n > 0)
        put(t, x, draw_below(t, n), NAN);
}

static void softmax_case(run *t)
{
    rgm_softmax_args o = {.rows = draw_rows(t), .channels = draw_channels(t)};
    void *x = logits(t, o.rows * o.channels);

    o.log = draw_bool(t);
    for (int64_t i = 0; i < o.rows * o.channels && !o.log; i++)
        if (draw_below(t, 5) == 0)
            put(t, x, i, -INFINITY);
    if (t->variant % 5 == 4)
        put_nan(t, x, o.rows * o.channels);
    o.x = x;
    o.y = out(t, o.rows * o.channels, NULL);
    t->kernels->softmax(&o);
}

static void softmax_grad_case(run *t)
{
    rgm_softmax_args o = {.rows = draw_rows(t), .channels = draw_channels(t)};

    o.log = draw_bool(t);
    o.y_forward = in(t, o.rows * o.channels);
    o.dy = in(t, o.rows * o.channels);
    o.y = out(t, o.rows * o.channels, NULL);
    t->kernels->softmax_grad(&o);
}

static rgm_cross_entropy_args cross_entropy_args(run *t)
{
    rgm_cross_entropy_args o = {.rows = draw_rows(t), .channels = draw_channels(t)};

    o.label_dtype = draw_bool(t) ? RGM_I32 : RGM_I64;
    if (t->variant % 2) { /* columns behind the classes; smoothed */
        o.classes = 1 + draw_below(t, o.channels);
        o.spread = o.classes > 1 && draw_bool(t) ? 0.1 / (double)(o.classes - 1) : 0;
    }
    o.label = draw_index(t, o.rows, o.classes ? o.classes : o.channels, o.label_dtype);
    o.x = logits(t, o.rows * o.channels);
    return o;
}

static void cross_entropy_case(run *t)
{
    rgm_cross_entropy_args o = cross_entropy_args(t);

    o.y = out(t, o.rows, NULL);
    t->kernels->cross_entropy(&o);
}

static void cross_entropy_grad_case(run *t)
{
    rgm_cross_entropy_args o = cross_entropy_args(t);
    void *dloss = in(t, o.rows);

    for (int64_t r = 0; r < o.rows; r += 3)
        put(t, dloss, r, 0);
    o.dloss = dloss;
    o.y = out(t, o.rows * o.channels, NULL);
    t->kernels->cross_entropy_grad(&o);
}

/* Numbers of `count` tokens of an item that do not fall, hidden ones among them. */
static void put_segments(run *t, void *ids, rgm_dtype dtype, int64_t at, int64_t count)
{
    int64_t id = 1;

    for (int64_t i = 0; i < count; i++) {
        int64_t value = draw_below(t, 12) == 0 ? 0 : id;
        if (dtype == RGM_I32)
            ((int32_t *)ids)[at + i] = (int32_t)value;
        else
            ((int64_t *)ids)[at + i] = value;
        id += draw_below(t, 8) == 0 ? 1 + draw_below(t, 2) : 0;
    }
}

/* Segments: in order, as packed sequences have them, or in any. */
static void draw_segments(run *t, rgm_attention_args *o)
{
    void *key = draw_index(t, o->batch * o->keys, 3, o->key_dtype);
    void *query = draw_index(t, o->batch * o->queries, 3, o->key_dtype);

    if (t->variant % 3 > 0)
        for (int64_t b = 0; b < o->batch; b++) {
            put_segments(t, key, o->key_dtype, b * o->keys, o->keys);
            put_segments(t, query, o->key_dtype, b * o->queries, o->queries);
        }
    o->key = key;
    o->query = query;
}

/* What a third of the cases have: groups of heads, windows, distances, segments. */
static void draw_today(run *t, rgm_attention_args *o)
{
    o->heads *= PICK(t, 1, 2);
    o->kv_heads = o->heads / PICK(t, 1, o->heads % 2 == 0 ? 2 : 1, o->heads);
    o->window = PICK(t, 0, 0, 1, 4, 20, 100);
    o->reach = PICK(t, 0, 1, 5, 40);
    o->slope = maybe_in(t, o->heads);
    o->bias = maybe_in(t, o->heads * (2 * o->reach + 1));
    if (draw_bool(t))
        draw_segments(t, o);
}

/* Masks of all kinds, rows that see nothing, and depths that the fast rows take and decline. */
static rgm_attention_args attention_args(run *t)
{
    rgm_attention_args o = {.batch = PICK(t, 1, 1, 2, 3), .heads = PICK(t, 1, 2, 3)};
    int64_t kv_heads, keys;
    int32_t *key;
    void *k;

    o.queries = PICK(t, 1, 2, 3, 4, 5, 17, 33, t->variant % 8 ? 70 : 0);
    o.keys =
        draw_bool(t) ? o.queries : PICK(t, 1, 5, 16, 30, 63, 64, 65, 130, t->variant % 8 ? 1 : 0);
    o.depth = PICK(t, 1, 5, 8, 16, 16, 32, 48, 64, 64, t->variant % 8 ? 80 : 288);
    o.scale = 1 / sqrt((double)o.depth);
    o.causal = draw_bool(t);
    o.rate = draw_bool(t) ? 0.3 : 0;
    o.rng = rgm_rng_stream(11, "attention", (uint64_t)t->variant);
    o.key_dtype = draw_bool(t) ? RGM_I32 : RGM_I64;
    if (draw_bool(t)) {
        key = draw_index(t, o.batch * o.keys, 3, o.key_dtype);
        if (t->variant % 7 == 0)
            memset(key, 0, (size_t)(o.keys * 4)); /* nothing to see for the first rows */
        o.key = key;
    }
    if (t->variant % 3 == 2)
        draw_today(t, &o);
    kv_heads = o.kv_heads > 0 ? o.kv_heads : o.heads;
    keys = o.batch * o.keys * kv_heads * o.depth;
    o.q = in(t, o.batch * o.queries * o.heads * o.depth);
    o.k = k = in(t, keys);
    o.v = in(t, keys);
    if (t->variant % 3 == 1 && o.key == NULL && !o.causal && o.rate == 0)
        put_nan(t, k, keys); /* which all see and none drops */
    return o;
}

static void attention_case(run *t)
{
    rgm_attention_args o = attention_args(t);

    o.y = out(t, o.batch * o.queries * o.heads * o.depth, NULL);
    t->kernels->attention(&o);
}

static void attention_grad_case(run *t)
{
    rgm_attention_args o;
    int64_t queries, keys;

    do
        o = attention_args(t);
    while (o.keys < 16 || o.window == 1); /* of a query that sees one key the gradient is 0, and
                                             rounding */
    queries = o.batch * o.queries * o.heads * o.depth;
    keys = o.batch * o.keys * (o.kv_heads > 0 ? o.kv_heads : o.heads) * o.depth;
    o.y = keep(t, (size_t)queries * element(t));
    t->kernels->attention(&o);
    o.y_forward = o.y;
    o.dy = in(t, queries);
    o.dq = out(t, queries, NULL);
    o.dk = out(t, keys, NULL);
    o.dv = out(t, keys, NULL);
    if (o.bias != NULL)
        o.dbias = out(t, o.batch * o.heads * (2 * o.reach + 1), NULL);
    t->kernels->attention_grad(&o);
    for (int64_t i = 0; o.bias != NULL && i < o.batch * o.heads * (2 * o.reach + 1); i++)
        put(t, o.dbias, i, get(t, o.dbias, i) + 1); /* all of one bias may come to 0 as well */
}

/* Absent keys among the others and behind them, items without any, rows that several items see. */
static void attention_rows_case(run *t)
{
    rgm_attention_rows_args o = {.batch = PICK(t, 0, 1, 3, 8), .heads = PICK(t, 1, 2, 4)};
    int64_t rows = PICK(t, 1, 30, 200), *index, *position, width, kv_width;

    o.queries = PICK(t, 1, 1, 2, 4, 5);
    o.keys = PICK(t, 0, 1, 5, 16, 31, 64, 130);
    o.depth = PICK(t, 1, 5, 8, 16, 32, 48, 64, 80);
    o.scale = 1 / sqrt((double)o.depth);
    width = kv_width = o.heads * o.depth;
    if (t->variant % 2) {
        o.kv_heads = o.heads / PICK(t, 1, o.heads);
        kv_width = o.kv_heads * o.depth;
        o.window = PICK(t, 0, 0, 1, 7, 60);
        o.reach = PICK(t, 0, 3, 40);
        o.slope = maybe_in(t, o.heads);
        o.bias = maybe_in(t, o.heads * (2 * o.reach + 1));
        o.position_step = draw_below(t, 2);
        o.position = position = keep(t, (size_t)(o.batch + 1) * sizeof *position);
        for (int64_t b = 0; b <= o.batch; b++)
            position[b] = draw_below(t, o.keys + 1);
    }
    o.index = index = keep(t, (size_t)(o.batch * o.keys) * sizeof *index);
    for (int64_t i = 0; i < o.batch * o.keys; i++)
        index[i] = t->variant % 5 == 0 || draw_below(t, 3) == 0 ? -1 : draw_below(t, rows);
    o.q = in(t, o.batch * o.queries * width);
    o.k = in(t, rows * kv_width);
    o.v = in(t, rows * kv_width);
    if (draw_bool(t)) {
        o.newest_k = in(t, o.batch * kv_width);
        o.newest_v = in(t, o.batch * kv_width);
    }
    o.y = out(t, o.batch * o.queries * width, NULL);
    t->kernels->attention_rows(&o);
}

/* Rounded logits in a part of the variants: ties. */
static void top_log_softmax_case(run *t)
{
    rgm_top_args o = {.rows = PICK(t, 0, 1, 5, 40)};
    int64_t *index;
    void *x, *as_numbers;

    o.classes = PICK(t, 1, 7, 16, 63, 64, 65, 700, 3001);
    o.channels = o.classes + PICK(t, 0, 0, 5);
    o.count = PICK(t, 1, 1, 2, 8, 20);
    o.count = o.count < o.classes ? o.count : o.classes;
    x = in(t, o.rows * o.channels);
    for (int64_t i = 0; i < o.rows * o.channels && t->variant % 3 == 0; i++)
        put(t, x, i, floor(3 * get(t, x, i)));
    if (t->variant % 5 == 4)
        for (int64_t r = 0; r < o.rows; r++) /* which class is then the best is left open */
            put(t, x, r * o.channels + draw_below(t, o.classes), NAN);
    o.x = x;
    o.index = index = keep(t, (size_t)(o.rows * o.count) * sizeof *index);
    o.y = out(t, o.rows * o.count, NULL);
    as_numbers = out(t, o.rows * o.count, NULL);
    t->kernels->top_log_softmax(&o);
    for (int64_t i = 0; i < o.rows * o.count; i++)
        put(t, as_numbers, i, t->variant % 5 == 4 ? 0 : (double)index[i]);
}

static void rotary_case(run *t)
{
    rgm_rotary_args o = {.positions = PICK(t, 1, 2, 5, 16), .heads = PICK(t, 1, 2, 3)};
    int64_t places = PICK(t, 1, 7, 100), *position;
    bool here = draw_bool(t);

    o.rows = o.positions * PICK(t, 0, 1, 3, 40);
    o.depth = 2 * PICK(t, 1, 3, 8, 16, 17, 32, 40);
    o.back = draw_bool(t);
    o.position = position = keep(t, (size_t)o.positions * sizeof *position);
    for (int64_t i = 0; i < o.positions; i++)
        position[i] = draw_below(t, places);
    o.table = in(t, places * o.depth);
    o.x = in(t, o.rows * o.heads * o.depth);
    o.y = out(t, o.rows * o.heads * o.depth, here ? o.x : NULL);
    o.x = here ? o.y : o.x;
    t->kernels->rotary(&o);
}

static rgm_layer_norm_args layer_norm_args(run *t)
{
    rgm_layer_norm_args o = {.rows = draw_rows(t), .channels = draw_channels(t), .epsilon = 1e-3};

    o.x = in(t, o.rows * o.channels);
    o.residual = maybe_in(t, o.rows * o.channels);
    o.gamma = maybe_in(t, o.channels);
    o.beta = maybe_in(t, o.channels);
    o.rms = draw_bool(t);
    return o;
}

static void layer_norm_case(run *t)
{
    rgm_layer_norm_args o = layer_norm_args(t);

    o.y = out(t, o.rows * o.channels, NULL);
    t->kernels->layer_norm(&o);
}

static void layer_norm_grad_case(run *t)
{
    rgm_layer_norm_args o;

    do
        o = layer_norm_args(t);
    while (o.channels < 7); /* two equal numbers have no well-conditioned norm */
    o.dy = in(t, o.rows * o.channels);
    o.y = out(t, o.rows * o.channels, NULL);
    o.dgamma = draw_bool(t) ? out(t, o.channels, NULL) : NULL;
    o.dbeta = draw_bool(t) ? out(t, o.channels, NULL) : NULL;
    t->kernels->layer_norm_grad(&o);
}

/* Every fourth with columns far from 0. */
static rgm_batch_norm_args batch_norm_args(run *t)
{
    rgm_batch_norm_args o = {.rows = PICK(t, 0, 1, 2, 3, 127, 128, 129, 500, 8193),
                             .channels = PICK(t, 0, 1, 2, 7, 8, 15, 16, 17, 32, 65),
                             .epsilon = 1e-3};
    double far = t->variant % 4 == 0 ? 100 : 0;
    void *x = in(t, o.rows * o.channels);

    for (int64_t i = 0; i < o.rows * o.channels; i++)
        put(t, x, i, get(t, x, i) + far);
    o.x = x;
    return o;
}

static void batch_moments_case(run *t)
{
    rgm_batch_norm_args o = batch_norm_args(t);

    o.y = out(t, 2 * o.channels, NULL);
    t->kernels->batch_moments(&o);
}

/* With moments that are not those of x, so that they too are seen to be read. */
static rgm_batch_norm_args normed_args(run *t)
{
    rgm_batch_norm_args o = batch_norm_args(t);
    void *moments = in(t, 2 * o.channels);

    for (int64_t c = 0; c < o.channels; c++) {
        put(t, moments, c, get(t, moments, c) + (t->variant % 4 == 0 ? 100 : 0));
        put(t, moments, o.channels + c, fabs(get(t, moments, o.channels + c)) + 0.1);
    }
    o.moments = moments;
    o.gamma = in(t, o.channels);
    o.beta = in(t, o.channels);
    o.relu = draw_bool(t);
    return o;
}

static void batch_norm_case(run *t)
{
    rgm_batch_norm_args o = normed_args(t);

    o.y = out(t, o.rows * o.channels, NULL);
    t->kernels->batch_norm(&o);
}

static void batch_norm_grad_case(run *t)
{
    rgm_batch_norm_args o = normed_args(t);

    o.dy = in(t, o.rows * o.channels);
    o.y = out(t, o.rows * o.channels, NULL);
    o.dgamma = out(t, o.channels, NULL);
    o.dbeta = out(t, o.channels, NULL);
    t->kernels->batch_norm_grad(&o);
}

#endif
