/*
 * Attention of all heads in one op: scores and probabilities are made block by block in the kernel
 * and again in its gradient, so neither is ever a value of the graph. The gradient is one flat
 * value [dq | dk | dv | dbias of each item of the batch] with views. Attributes: number[0] = scale,
 * number[1] = dropout's rate, integer[0] = heads, integer[1] = causal, integer[2] = which optional
 * inputs there are, integer[3] = heads of keys, integer[4] = window, text = dropout's stream.
 */
#include "autodiff_internal.h"
#include <math.h>
#include <stdio.h>

/* Optional inputs, in this order behind the others, the first four in that of rgm_attention_extra;
 * the newest are two, key and value. */
enum { KEY = 1, QUERY = 2, SLOPE = 4, BIAS = 8, NEWEST = 16, POSITION = 32 };

/* What stands at an optional input of ins, whose others are `first`; -1: there is none. */
static int place_of(const rgm_attributes *attributes, int first, int which)
{
    int64_t flags = attributes->integer[2];
    int at = first;

    if ((flags & which) == 0)
        return -1;
    for (int flag = 1; flag < which; flag *= 2)
        at += (flags & flag) == 0 ? 0 : flag == NEWEST ? 2 : 1;
    return at;
}

static int inputs_of(const rgm_attributes *attributes, int first)
{
    for (int flag = KEY; flag <= BIAS; flag *= 2)
        first += (attributes->integer[2] & flag) != 0;
    return first;
}

static const rgm_value *optional_in(rgm_value *const *in, const rgm_attributes *attributes,
                                    int first, int which)
{
    int at = place_of(attributes, first, which);

    return at < 0 ? NULL : in[at];
}

/* ---- checks that both forms share ---- */

static rgm_status heads_check(const rgm_value *q, rgm_dim key_width, const rgm_attributes *a)
{
    int64_t heads = a->integer[0], kv_heads = a->integer[3];
    char text[RGMI_TEXT];

    if (heads < 1 || q->s.shape[2] < 1 || q->s.shape[2] % heads != 0)
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "%lld heads do not divide the width of %s, which must be static",
                        (long long)heads, rgm_value_describe(q, text, sizeof text));
    if (kv_heads < 1 || heads % kv_heads != 0)
        return RGM_FAIL(RGM_ERR_ARG, "%lld heads of keys do not divide %lld heads",
                        (long long)kv_heads, (long long)heads);
    if (key_width != q->s.shape[2] / heads * kv_heads)
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "query %s of %lld heads needs keys and values of width %lld, %lld heads",
                        rgm_value_describe(q, text, sizeof text), (long long)heads,
                        (long long)(q->s.shape[2] / heads * kv_heads), (long long)kv_heads);
    if (a->integer[4] < 0)
        return RGM_FAIL(RGM_ERR_ARG, "the window is %lld, must be 0 or more",
                        (long long)a->integer[4]);
    return RGM_OK;
}

/* slope [heads] and bias [heads, 2 reach + 1]; either may be NULL. */
static rgm_status distances_check(const rgm_value *q, const rgm_value *slope, const rgm_value *bias,
                                  int64_t heads)
{
    char a[RGMI_TEXT];

    if (slope != NULL && (slope->s.is_pattern || slope->s.rank != 1 || slope->s.shape[0] != heads ||
                          slope->s.dtype != q->s.dtype))
        return RGM_FAIL(RGM_ERR_SHAPE, "slopes must be [%lld] in the query's dtype, got %s",
                        (long long)heads, rgm_value_describe(slope, a, sizeof a));
    if (bias != NULL &&
        (bias->s.is_pattern || bias->s.rank != 2 || bias->s.shape[0] != heads ||
         bias->s.shape[1] < 1 || bias->s.shape[1] % 2 == 0 || bias->s.dtype != q->s.dtype))
        return RGM_FAIL(
            RGM_ERR_SHAPE,
            "the bias of distances must be [%lld,2 reach + 1] in the query's dtype, got "
            "%s",
            (long long)heads, rgm_value_describe(bias, a, sizeof a));
    return RGM_OK;
}

/* Ids of queries or keys, which `of` [batch, n, width] are. */
static rgm_status ids_check(const rgm_value *ids, const rgm_value *of, const char *what)
{
    char a[RGMI_TEXT], b[RGMI_TEXT];

    if (ids->s.is_pattern || ids->s.rank != 2 || ids->s.shape[0] != of->s.shape[0] ||
        ids->s.shape[1] != of->s.shape[1])
        return RGM_FAIL(RGM_ERR_SHAPE, "%s %s need a mask [batch,%s], got %s", what,
                        rgm_value_describe(of, a, sizeof a), what,
                        rgm_value_describe(ids, b, sizeof b));
    if (!rgmi_is_index(ids->s.dtype))
        return RGM_FAIL(RGM_ERR_DTYPE, "the mask of %s must be i32 or i64, is %s", what,
                        rgm_dtype_name(ids->s.dtype));
    return RGM_OK;
}

/* ---- of whole sequences ---- */

static rgm_status attention_check(rgm_value *const *in, const rgm_attributes *attributes)
{
    const rgm_value *q = in[0], *k = in[1], *v = in[2];
    char a[RGMI_TEXT], b[RGMI_TEXT], c[RGMI_TEXT];

    for (int i = 0; i < 3; i++) {
        RGM_TRY(rgmi_need_float(in[i], "query, key and value"));
        RGM_TRY(rgmi_need_rank(in[i], "query, key and value", 3));
    }
    if (q->s.rank != 3 || k->s.rank != 3 || !rgmi_shapes_equal(k, v) ||
        q->s.shape[0] != k->s.shape[0] || q->s.dtype != k->s.dtype || q->s.dtype != v->s.dtype ||
        (attributes->integer[3] == attributes->integer[0] && q->s.shape[2] != k->s.shape[2]))
        return RGM_FAIL(
            RGM_ERR_SHAPE,
            "needs query [batch,queries,width], key and value [batch,keys,width], got %s, %s "
            "and %s",
            rgm_value_describe(q, a, sizeof a), rgm_value_describe(k, b, sizeof b),
            rgm_value_describe(v, c, sizeof c));
    RGM_TRY(heads_check(q, k->s.shape[2], attributes));
    if (!(attributes->number[1] >= 0 && attributes->number[1] < 1))
        return RGM_FAIL(RGM_ERR_ARG, "rate is %g, must be in [0, 1)", attributes->number[1]);
    return RGM_OK;
}

/* Inputs from `first` on: see KEY and what follows it. */
static rgm_status optional_check(rgm_value *const *in, const rgm_attributes *attributes, int first)
{
    const rgm_value *key = optional_in(in, attributes, first, KEY);
    const rgm_value *query = optional_in(in, attributes, first, QUERY);

    if (key != NULL)
        RGM_TRY(ids_check(key, in[1], "keys"));
    if (query != NULL) {
        RGM_TRY(ids_check(query, in[0], "queries"));
        if (key == NULL || key->s.dtype != query->s.dtype)
            return RGM_FAIL(RGM_ERR_ARG, "ids of queries need ids of keys, in the same dtype");
    }
    return distances_check(in[0], optional_in(in, attributes, first, SLOPE),
                           optional_in(in, attributes, first, BIAS), attributes->integer[0]);
}

static rgm_status attention_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                  const rgm_attributes *attributes)
{
    if (inputs != inputs_of(attributes, 3))
        return RGM_FAIL(RGM_ERR_ARG, "takes query, key, value and perhaps masks and distances");
    RGM_TRY(attention_check(in, attributes));
    RGM_TRY(optional_check(in, attributes, 3));
    return rgmi_same_shape(out, in[0]);
}

static const rgm_view *optional_of(const rgm_op_run *run, int first, int which)
{
    int at = place_of(run->attributes, first, which);

    return at < 0 ? NULL : &run->in[at];
}

static const void *data_of(const rgm_view *view)
{
    return view != NULL ? view->data : NULL;
}

static int64_t reach_of(const rgm_view *bias)
{
    return bias != NULL ? bias->shape[1] / 2 : 0;
}

/* What both directions share; optional inputs stand from `first` on. */
static rgm_attention_args attention_args(const rgm_op_run *run, int first)
{
    const rgm_view *q = &run->in[0], *k = &run->in[1], *key = optional_of(run, first, KEY);
    const rgm_view *bias = optional_of(run, first, BIAS);
    const rgm_attributes *a = run->attributes;
    rgm_attention_args args = {.q = q->data,
                               .k = k->data,
                               .v = run->in[2].data,
                               .key = data_of(key),
                               .key_dtype = key != NULL ? key->dtype : RGM_I64,
                               .query = data_of(optional_of(run, first, QUERY)),
                               .slope = data_of(optional_of(run, first, SLOPE)),
                               .bias = data_of(bias),
                               .reach = reach_of(bias),
                               .batch = q->shape[0],
                               .queries = q->shape[1],
                               .keys = k->shape[1],
                               .heads = a->integer[0],
                               .kv_heads = a->integer[3],
                               .depth = q->shape[2] / a->integer[0],
                               .window = a->integer[4],
                               .scale = a->number[0],
                               .causal = a->integer[1] != 0};

    if (run->training && a->number[1] > 0) {
        args.rate = a->number[1];
        args.rng = rgm_rng_stream(run->seed, a->text, run->step);
    }
    return args;
}

static rgm_status attention_forward(rgm_op_run *run)
{
    rgm_attention_args args = attention_args(run, 3);

    args.y = run->out->data;
    if (args.batch > 0 && args.queries > 0)
        run->kernels->attention(&args);
    return RGM_OK;
}

/* The part of the flat gradient that is `like`; the next begins behind it. */
static rgm_value *part_like(rgm_value *all, rgm_dim *begin, int rank, const rgm_dim *shape,
                            bool wanted)
{
    rgm_dim size = rgmi_shape_product(all->graph, shape, rank), at = *begin;

    *begin = rgmi_dim_sum(all->graph, at, size);
    return wanted ? rgm_reshape(rgmi_slice_dim(all, 0, at, size), rank, shape) : NULL;
}

static rgm_status attention_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                     const bool *wanted)
{
    rgm_value *in[9] = {y->in[0], y->in[1], y->in[2], y, dy}, *all;
    int bias = place_of(&y->attributes, 3, BIAS), slope = place_of(&y->attributes, 3, SLOPE);
    rgm_dim begin = 0;

    if (dy == NULL)
        return RGM_OK; /* failed before */
    if (slope >= 0 && wanted[slope])
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "slopes of distances are not learned");
    for (int i = 3; i < y->inputs; i++)
        in[i + 2] = y->in[i];
    all = rgm_op(y->graph, &rgmi_attention_grad_op, in, y->inputs + 2, &y->attributes);
    if (all == NULL)
        return RGM_OK;
    for (int i = 0; i < 3; i++)
        dx[i] = part_like(all, &begin, y->in[i]->s.rank, y->in[i]->s.shape, wanted[i]);
    if (bias >= 0 && wanted[bias]) {
        rgm_dim shape[3] = {y->in[0]->s.shape[0], y->in[bias]->s.shape[0], y->in[bias]->s.shape[1]};
        dx[bias] = rgm_reduce(part_like(all, &begin, 3, shape, true), 0, RGM_SUM);
    }
    return RGM_OK;
}

const rgm_op_type rgmi_attention_op = {
    .name = "attention",
    .arity = -1,
    .infer = attention_infer,
    .forward = attention_forward,
    .backward = attention_backward,
    .random = true,
};

/* inputs: q, k, v, y, dy and the optional ones */
static rgm_status attention_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                       const rgm_attributes *attributes)
{
    rgm_cgraph *graph = in[0]->graph;
    const rgm_value *bias;
    rgm_dim keys, size;

    if (inputs != inputs_of(attributes, 5))
        return RGM_FAIL(RGM_ERR_ARG, "takes what attention takes, with y and dy behind the values");
    RGM_TRY(attention_check(in, attributes));
    RGM_TRY(optional_check(in, attributes, 5));
    keys = rgmi_shape_product(graph, in[1]->s.shape, 3);
    out->dtype = in[0]->s.dtype;
    out->rank = 1;
    size = rgmi_dim_sum(graph, keys, keys);
    size = rgmi_dim_sum(graph, rgmi_shape_product(graph, in[0]->s.shape, 3), size);
    bias = optional_in(in, attributes, 5, BIAS);
    if (bias != NULL) {
        rgm_dim shape[3] = {in[0]->s.shape[0], bias->s.shape[0], bias->s.shape[1]};
        size = rgmi_dim_sum(graph, size, rgmi_shape_product(graph, shape, 3));
    }
    out->shape[0] = size;
    return RGM_OK;
}

static rgm_status attention_grad_forward(rgm_op_run *run)
{
    rgm_attention_args args = attention_args(run, 5);
    size_t size = rgm_dtype_size(run->out->dtype);
    size_t keys = (size_t)rgmi_view_count(&run->in[1]) * size;
    char *out = run->out->data;

    args.y_forward = run->in[3].data;
    args.dy = run->in[4].data;
    args.dq = out;
    args.dk = out + (size_t)rgmi_view_count(&run->in[0]) * size;
    args.dv = (char *)args.dk + keys;
    if (args.bias != NULL)
        args.dbias = (char *)args.dv + keys;
    if (args.batch > 0)
        run->kernels->attention_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_attention_grad_op = {
    .name = "attention_grad",
    .arity = -1,
    .infer = attention_grad_infer,
    .forward = attention_grad_forward,
    .no_gradient = rgmi_second,
    .random = true,
};

/* Attributes of heads and distances. */
static rgm_attributes attributes_of(const rgm_value *q, const rgm_attention_options *o)
{
    rgm_attributes a = {.integer = {o->heads, o->causal}, .number = {o->scale, o->dropout}};

    a.integer[3] = o->kv_heads > 0 ? o->kv_heads : o->heads;
    a.integer[4] = o->window;
    if (o->scale == 0 && q->s.rank == 3 && o->heads > 0)
        a.number[0] = 1 / sqrt((double)(q->s.shape[2] / o->heads));
    return a;
}

rgm_value *rgm_attention(rgm_value *q, rgm_value *k, rgm_value *v,
                         const rgm_attention_options *options)
{
    rgm_value *optional[4] = {options->key, options->query, options->slope, options->bias};
    rgm_value *in[7] = {q, k, v};
    rgm_attributes attributes;
    int count = 3;
    char name[256];

    if (q == NULL || k == NULL || v == NULL)
        return NULL;
    attributes = attributes_of(q, options);
    attributes.text = options->stream;
    for (int i = 0; i < 4; i++)
        if (optional[i] != NULL) {
            attributes.integer[2] |= 1 << i;
            in[count++] = optional[i];
        }
    if (options->dropout > 0 && options->stream == NULL) {
        snprintf(name, sizeof name, "%s/attention_%lld", q->graph->scope ? q->graph->scope : "",
                 (long long)q->graph->count);
        attributes.text = name;
    }
    return rgm_op(q->graph, &rgmi_attention_op, in, count, &attributes);
}

rgm_value *rgm_attention_extra_of(const rgm_value *attention, rgm_attention_extra which)
{
    int at = place_of(&attention->attributes, 3, 1 << which);

    return at < 0 ? NULL : attention->in[at];
}

/* ---- of tokens written one by one ---- */

/* Inputs: q, k, v, index, then slope, bias, the newest key and value, position. */
static rgm_status rows_inputs_check(rgm_value *const *in, const rgm_attributes *attributes)
{
    const rgm_value *q = in[0], *index = in[3];
    const rgm_value *position = optional_in(in, attributes, 4, POSITION);
    int newest = place_of(attributes, 4, NEWEST);
    char a[RGMI_TEXT], b[RGMI_TEXT];

    if (index->s.is_pattern || index->s.dtype != RGM_I64 || index->s.rank != 2 ||
        index->s.shape[0] != q->s.shape[0])
        return RGM_FAIL(RGM_ERR_SHAPE, "query %s needs an i64 index [batch,keys], got %s",
                        rgm_value_describe(q, a, sizeof a), rgm_value_describe(index, b, sizeof b));
    for (int i = newest; newest >= 0 && i < newest + 2; i++)
        if (in[i]->s.rank != 2 || in[i]->s.shape[0] != q->s.shape[0] ||
            in[i]->s.shape[1] != in[1]->s.shape[1] || in[i]->s.dtype != q->s.dtype)
            return RGM_FAIL(RGM_ERR_SHAPE, "query %s needs newest rows [batch,width], got %s",
                            rgm_value_describe(q, a, sizeof a),
                            rgm_value_describe(in[i], b, sizeof b));
    if (position != NULL &&
        (position->s.is_pattern || position->s.dtype != RGM_I64 || position->s.rank != 1 ||
         (position->s.shape[0] != q->s.shape[0] && position->s.shape[0] != 1)))
        return RGM_FAIL(RGM_ERR_SHAPE, "query %s needs i64 positions [batch] or [1], got %s",
                        rgm_value_describe(q, a, sizeof a),
                        rgm_value_describe(position, b, sizeof b));
    if (position == NULL && (attributes->integer[4] > 0 || attributes->integer[2] & (SLOPE | BIAS)))
        return RGM_FAIL(RGM_ERR_ARG, "a window and distances need the positions of the queries");
    return RGM_OK;
}

static rgm_status attention_rows_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                       const rgm_attributes *attributes)
{
    const rgm_value *q = in[0], *k = in[1], *v = in[2];
    int64_t flags = attributes->integer[2];
    char a[RGMI_TEXT], b[RGMI_TEXT], c[RGMI_TEXT];

    if (inputs != inputs_of(attributes, 4) + (flags & NEWEST ? 2 : 0) + (flags & POSITION ? 1 : 0))
        return RGM_FAIL(RGM_ERR_ARG, "takes query, keys, values, index and perhaps distances, "
                                     "newest key and value, and position");
    for (int i = 0; i < inputs; i++)
        if (i != 3 && i != place_of(attributes, 4, POSITION))
            RGM_TRY(rgmi_need_float(in[i], "query, key and value"));
    if (q->s.rank != 3 || k->s.rank != 2 || !rgmi_shapes_equal(k, v) ||
        (attributes->integer[3] == attributes->integer[0] && q->s.shape[2] != k->s.shape[1]) ||
        q->s.dtype != k->s.dtype || q->s.dtype != v->s.dtype)
        return RGM_FAIL(
            RGM_ERR_SHAPE,
            "needs query [batch,queries,width], key and value [rows,width], got %s, %s and %s",
            rgm_value_describe(q, a, sizeof a), rgm_value_describe(k, b, sizeof b),
            rgm_value_describe(v, c, sizeof c));
    RGM_TRY(rows_inputs_check(in, attributes));
    RGM_TRY(heads_check(q, k->s.shape[1], attributes));
    RGM_TRY(distances_check(q, optional_in(in, attributes, 4, SLOPE),
                            optional_in(in, attributes, 4, BIAS), attributes->integer[0]));
    return rgmi_same_shape(out, in[0]);
}

static rgm_status attention_rows_forward(rgm_op_run *run)
{
    const rgm_view *q = &run->in[0], *index = &run->in[3], *bias = optional_of(run, 4, BIAS);
    const rgm_attributes *a = run->attributes;
    const rgm_view *newest = optional_of(run, 4, NEWEST), *position = optional_of(run, 4, POSITION);
    rgm_attention_rows_args args = {.y = run->out->data,
                                    .q = q->data,
                                    .k = run->in[1].data,
                                    .v = run->in[2].data,
                                    .index = index->data,
                                    .newest_k = newest != NULL ? newest[0].data : NULL,
                                    .newest_v = newest != NULL ? newest[1].data : NULL,
                                    .position = data_of(position),
                                    .position_step = position != NULL && position->shape[0] > 1,
                                    .slope = data_of(optional_of(run, 4, SLOPE)),
                                    .bias = data_of(bias),
                                    .reach = reach_of(bias),
                                    .batch = q->shape[0],
                                    .queries = q->shape[1],
                                    .keys = index->shape[1],
                                    .heads = a->integer[0],
                                    .kv_heads = a->integer[3],
                                    .depth = q->shape[2] / a->integer[0],
                                    .window = a->integer[4],
                                    .scale = a->number[0]};

    RGM_TRY(rgmi_need_rows(run, index, INT64_MIN, run->in[1].shape[0]));
    if (args.batch > 0 && args.queries > 0)
        run->kernels->attention_rows(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_attention_rows_op = {
    .name = "attention_rows",
    .arity = -1,
    .infer = attention_rows_infer,
    .forward = attention_rows_forward,
    .no_gradient = "for decoding: a model is trained with attention",
};

rgm_value *rgm_attention_rows(rgm_value *q, rgm_value *k, rgm_value *v, rgm_value *index,
                              rgm_value *newest_k, rgm_value *newest_v, rgm_value *position,
                              const rgm_attention_options *options)
{
    rgm_value *in[9] = {q, k, v, index};
    rgm_value *optional[] = {options->slope, options->bias, newest_k, newest_v, position};
    static const int flags[] = {SLOPE, BIAS, NEWEST, NEWEST, POSITION};
    rgm_attributes attributes;
    int count = 4;

    if (q == NULL || k == NULL || v == NULL || index == NULL)
        return NULL;
    if ((newest_k == NULL) != (newest_v == NULL))
        return rgm_cgraph_fail(q->graph, RGM_ERR_ARG,
                               "attention_rows: newest keys without values, or "
                               "values without keys");
    if (options->key != NULL || options->query != NULL || options->dropout > 0)
        return rgm_cgraph_fail(q->graph, RGM_ERR_ARG,
                               "attention_rows: it has neither masks nor dropout");
    attributes = attributes_of(q, options);
    attributes.integer[1] = 0;
    for (int i = 0; i < 5; i++)
        if (optional[i] != NULL) {
            attributes.integer[2] |= flags[i];
            in[count++] = optional[i];
        }
    return rgm_op(q->graph, &rgmi_attention_rows_op, in, count, &attributes);
}
