/*
 * Attention of all heads in one op: scores and probabilities are made block by block in the kernel
 * and again in its gradient, so neither is ever a value of the graph. The gradient is one flat
 * value [dq | dk | dv] with three views. Attributes: number[0] = scale, number[1] = dropout's rate,
 * integer[0] = heads, integer[1] = causal, text = dropout's stream.
 */
#include "autodiff_internal.h"
#include <math.h>
#include <stdio.h>

static rgm_status key_check(const rgm_value *key, const rgm_value *k)
{
    char a[RGMI_TEXT], b[RGMI_TEXT];

    if (key->s.is_pattern || key->s.rank != 2 || key->s.shape[0] != k->s.shape[0] ||
        key->s.shape[1] != k->s.shape[1])
        return RGM_FAIL(RGM_ERR_SHAPE, "keys %s need a mask [batch,keys], got %s",
                        rgm_value_describe(k, a, sizeof a), rgm_value_describe(key, b, sizeof b));
    if (!rgmi_is_index(key->s.dtype))
        return RGM_FAIL(RGM_ERR_DTYPE, "the mask of keys must be i32 or i64, is %s",
                        rgm_dtype_name(key->s.dtype));
    return RGM_OK;
}

static rgm_status attention_check(rgm_value *const *in, const rgm_attributes *attributes)
{
    const rgm_value *q = in[0], *k = in[1], *v = in[2];
    char a[RGMI_TEXT], b[RGMI_TEXT], c[RGMI_TEXT];

    for (int i = 0; i < 3; i++) {
        RGM_TRY(rgmi_need_float(in[i], "query, key and value"));
        RGM_TRY(rgmi_need_rank(in[i], "query, key and value", 3));
    }
    if (q->s.rank != 3 || k->s.rank != 3 || !rgmi_shapes_equal(k, v) ||
        q->s.shape[0] != k->s.shape[0] || q->s.shape[2] != k->s.shape[2] ||
        q->s.dtype != k->s.dtype || q->s.dtype != v->s.dtype)
        return RGM_FAIL(
            RGM_ERR_SHAPE,
            "needs query [batch,queries,width], key and value [batch,keys,width], got %s, %s "
            "and %s",
            rgm_value_describe(q, a, sizeof a), rgm_value_describe(k, b, sizeof b),
            rgm_value_describe(v, c, sizeof c));
    if (attributes->integer[0] < 1 || q->s.shape[2] < 1 ||
        q->s.shape[2] % attributes->integer[0] != 0)
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "%lld heads do not divide the width of %s, which must be static",
                        (long long)attributes->integer[0], rgm_value_describe(q, a, sizeof a));
    if (!(attributes->number[1] >= 0 && attributes->number[1] < 1))
        return RGM_FAIL(RGM_ERR_ARG, "rate is %g, must be in [0, 1)", attributes->number[1]);
    return RGM_OK;
}

static rgm_status attention_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                  const rgm_attributes *attributes)
{
    if (inputs != 3 && inputs != 4)
        return RGM_FAIL(RGM_ERR_ARG, "takes query, key, value and perhaps a mask of keys");
    RGM_TRY(attention_check(in, attributes));
    if (inputs == 4)
        RGM_TRY(key_check(in[3], in[1]));
    return rgmi_same_shape(out, in[0]);
}

/* What both directions share; key: the mask or NULL. */
static rgm_attention_args attention_args(const rgm_op_run *run, const rgm_view *key)
{
    const rgm_view *q = &run->in[0], *k = &run->in[1];
    const rgm_attributes *a = run->attributes;
    rgm_attention_args args = {.q = q->data,
                               .k = k->data,
                               .v = run->in[2].data,
                               .batch = q->shape[0],
                               .queries = q->shape[1],
                               .keys = k->shape[1],
                               .heads = a->integer[0],
                               .depth = q->shape[2] / a->integer[0],
                               .scale = a->number[0],
                               .causal = a->integer[1] != 0};

    if (key != NULL) {
        args.key = key->data;
        args.key_dtype = key->dtype;
    }
    if (run->training && a->number[1] > 0) {
        args.rate = a->number[1];
        args.rng = rgm_rng_stream(run->seed, a->text, run->step);
    }
    return args;
}

static rgm_status attention_forward(rgm_op_run *run)
{
    rgm_attention_args args = attention_args(run, run->inputs == 4 ? &run->in[3] : NULL);

    args.y = run->out->data;
    if (args.batch > 0 && args.queries > 0)
        run->kernels->attention(&args);
    return RGM_OK;
}

static rgm_status attention_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                     const bool *wanted)
{
    rgm_cgraph *graph = y->graph;
    rgm_value *in[6] = {y->in[0], y->in[1], y->in[2], y, dy, y->inputs == 4 ? y->in[3] : NULL},
              *all;
    rgm_dim begin = 0;

    if (dy == NULL)
        return RGM_OK; /* failed before */
    all = rgm_op(graph, &rgmi_attention_grad_op, in, y->inputs == 4 ? 6 : 5, &y->attributes);
    for (int i = 0; i < 3; i++) {
        rgm_value *x = y->in[i];
        rgm_dim size = rgmi_shape_product(graph, x->s.shape, x->s.rank);
        if (wanted[i])
            dx[i] = rgm_reshape(rgmi_slice_dim(all, 0, begin, size), x->s.rank, x->s.shape);
        begin = rgmi_dim_sum(graph, begin, size);
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

/* inputs: q, k, v, y, dy and perhaps the mask */
static rgm_status attention_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                       const rgm_attributes *attributes)
{
    rgm_cgraph *graph = in[0]->graph;
    rgm_dim keys, both;

    if (inputs != 5 && inputs != 6)
        return RGM_FAIL(RGM_ERR_ARG, "takes query, key, value, y, dy and perhaps a mask of keys");
    RGM_TRY(attention_check(in, attributes));
    keys = rgmi_shape_product(graph, in[1]->s.shape, 3);
    out->dtype = in[0]->s.dtype;
    out->rank = 1;
    both = rgmi_dim_sum(graph, keys, keys);
    out->shape[0] = rgmi_dim_sum(graph, rgmi_shape_product(graph, in[0]->s.shape, 3), both);
    return RGM_OK;
}

static rgm_status attention_grad_forward(rgm_op_run *run)
{
    rgm_attention_args args = attention_args(run, run->inputs == 6 ? &run->in[5] : NULL);
    size_t size = rgm_dtype_size(run->out->dtype);
    char *out = run->out->data;

    args.y_forward = run->in[3].data;
    args.dy = run->in[4].data;
    args.dq = out;
    args.dk = out + (size_t)rgmi_view_count(&run->in[0]) * size;
    args.dv = (char *)args.dk + (size_t)rgmi_view_count(&run->in[1]) * size;
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

rgm_value *rgm_attention(rgm_value *q, rgm_value *k, rgm_value *v,
                         const rgm_attention_options *options)
{
    rgm_value *in[4] = {q, k, v, options->key};
    rgm_attributes attributes = {.integer = {options->heads, options->causal},
                                 .number = {options->scale, options->dropout},
                                 .text = options->stream};
    char name[256];

    if (q == NULL || k == NULL || v == NULL)
        return NULL;
    if (options->scale == 0 && q->s.rank == 3 && options->heads > 0)
        attributes.number[0] = 1 / sqrt((double)(q->s.shape[2] / options->heads));
    if (options->dropout > 0 && options->stream == NULL) {
        snprintf(name, sizeof name, "%s/attention_%lld", q->graph->scope ? q->graph->scope : "",
                 (long long)q->graph->count);
        attributes.text = name;
    }
    return rgm_op(q->graph, &rgmi_attention_op, in, options->key != NULL ? 4 : 3, &attributes);
}

/* ---- of tokens written one by one ---- */

/* Inputs: q, k, v, index and perhaps the newest key and value. Attributes: heads and scale as
 * above. */
static rgm_status attention_rows_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                       const rgm_attributes *attributes)
{
    const rgm_value *q = in[0], *k = in[1], *v = in[2], *index = in[3];
    char a[RGMI_TEXT], b[RGMI_TEXT], c[RGMI_TEXT];

    if (inputs != 4 && inputs != 6)
        return RGM_FAIL(RGM_ERR_ARG,
                        "takes query, keys, values, index and perhaps newest key and value");
    for (int i = 0; i < inputs; i++)
        if (i != 3)
            RGM_TRY(rgmi_need_float(in[i], "query, key and value"));
    if (q->s.rank != 3 || k->s.rank != 2 || !rgmi_shapes_equal(k, v) ||
        q->s.shape[2] != k->s.shape[1] || q->s.dtype != k->s.dtype || q->s.dtype != v->s.dtype)
        return RGM_FAIL(
            RGM_ERR_SHAPE,
            "needs query [batch,queries,width], key and value [rows,width], got %s, %s and %s",
            rgm_value_describe(q, a, sizeof a), rgm_value_describe(k, b, sizeof b),
            rgm_value_describe(v, c, sizeof c));
    if (index->s.is_pattern || index->s.dtype != RGM_I64 || index->s.rank != 2 ||
        index->s.shape[0] != q->s.shape[0])
        return RGM_FAIL(RGM_ERR_SHAPE, "query %s needs an i64 index [batch,keys], got %s",
                        rgm_value_describe(q, a, sizeof a), rgm_value_describe(index, b, sizeof b));
    for (int i = 4; i < inputs; i++)
        if (in[i]->s.rank != 2 || in[i]->s.shape[0] != q->s.shape[0] ||
            in[i]->s.shape[1] != q->s.shape[2] || in[i]->s.dtype != q->s.dtype)
            return RGM_FAIL(RGM_ERR_SHAPE, "query %s needs newest rows [batch,width], got %s",
                            rgm_value_describe(q, a, sizeof a),
                            rgm_value_describe(in[i], b, sizeof b));
    if (attributes->integer[0] < 1 || q->s.shape[2] < 1 ||
        q->s.shape[2] % attributes->integer[0] != 0)
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "%lld heads do not divide the width of %s, which must be static",
                        (long long)attributes->integer[0], rgm_value_describe(q, a, sizeof a));
    return rgmi_same_shape(out, in[0]);
}

static rgm_status attention_rows_forward(rgm_op_run *run)
{
    const rgm_view *q = &run->in[0], *index = &run->in[3];
    const rgm_attributes *a = run->attributes;
    rgm_attention_rows_args args = {.y = run->out->data,
                                    .q = q->data,
                                    .k = run->in[1].data,
                                    .v = run->in[2].data,
                                    .index = index->data,
                                    .newest_k = run->inputs == 6 ? run->in[4].data : NULL,
                                    .newest_v = run->inputs == 6 ? run->in[5].data : NULL,
                                    .batch = q->shape[0],
                                    .queries = q->shape[1],
                                    .keys = index->shape[1],
                                    .heads = a->integer[0],
                                    .depth = q->shape[2] / a->integer[0],
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
                              rgm_value *newest_k, rgm_value *newest_v, int64_t heads)
{
    rgm_value *in[6] = {q, k, v, index, newest_k, newest_v};
    rgm_attributes attributes = {.integer = {heads}};

    if (q == NULL || k == NULL || v == NULL || index == NULL)
        return NULL;
    if ((newest_k == NULL) != (newest_v == NULL))
        return rgm_cgraph_fail(q->graph, RGM_ERR_ARG,
                               "attention_rows: newest keys without values, or "
                               "values without keys");
    if (q->s.rank == 3 && heads > 0)
        attributes.number[0] = 1 / sqrt((double)(q->s.shape[2] / heads));
    return rgm_op(q->graph, &rgmi_attention_rows_op, in, newest_k != NULL ? 6 : 4, &attributes);
}
