/*
 * GAT v2 (Brody et al. 2022). Logits come from one fused op where the attention is the usual leaky
 * relu over node states; with edge states or another activation they are built op by op. The
 * weighted sum is one sparse-dense product with a weight for each head.
 */
#include "gnn_internal.h"

static const rgm_gatv2_options gatv2_defaults = RGM_GATV2_OPTIONS_INIT;

/* Queries [receivers, width], values of senders [senders, width] and of edges [count, width]. */
typedef struct parts {
    rgm_value *pattern, *query, *value, *edge, *attention;
    int64_t heads, depth;
} parts;

static rgm_value *by_head(const parts *t, rgm_value *x)
{
    rgm_dim shape[3];

    if (x == NULL)
        return NULL;
    shape[0] = rgm_value_dim(x, 0);
    shape[1] = t->heads;
    shape[2] = t->depth;
    return rgm_reshape(x, 3, shape);
}

static rgm_value *plus(rgm_value *a, rgm_value *b)
{
    return a == NULL ? b : b == NULL ? a : rgm_add(a, b);
}

/* a . att(q + v + e), [count, heads] */
static rgm_value *logits(const parts *t, const rgm_gatv2_options *options)
{
    rgm_value *z;

    if (t->edge == NULL && options->attention_activation == RGM_ACT_LEAKY_RELU) {
        z = by_head(t, t->value);
        return rgm_gatv2_score(t->pattern, by_head(t, t->query), z, t->attention, options->slope);
    }
    z = rgm_broadcast_rows(t->pattern, t->query);
    if (t->value != NULL)
        z = rgm_add(z, rgm_broadcast_columns(t->pattern, t->value));
    z = rgm_activate(plus(z, t->edge), options->attention_activation, options->slope);
    return rgm_reduce(rgm_mul(by_head(t, z), t->attention), -1, RGM_SUM);
}

/* sum over entries of alpha [count, heads] times what is sent, [receivers, heads * depth] */
static rgm_value *weighted_sum(const parts *t, rgm_value *alpha)
{
    rgm_value *y = NULL, *sent;
    rgm_dim shape[3];

    if (alpha == NULL)
        return NULL;
    if (t->value != NULL) {
        rgm_spmm_options spmm = {.weight = alpha};
        y = rgm_spmm(t->pattern, t->value, &spmm);
    }
    if (t->edge != NULL) {
        shape[0] = rgm_value_dim(alpha, 0);
        shape[1] = t->heads;
        shape[2] = 1;
        sent = rgm_reshape(alpha, 3, shape);
        sent = rgm_mul(by_head(t, t->edge), sent);
        shape[1] = t->heads * t->depth;
        sent = rgm_reshape(sent, 2, shape);
        y = plus(y, rgm_pool_rows(t->pattern, sent, RGM_SUM));
    }
    return y;
}

static rgm_value *attend(rgm_scope *scope, const parts *t, const rgm_gatv2_options *options)
{
    rgm_value *alpha = rgm_softmax_rows(t->pattern, logits(t, options)), *y;

    y = weighted_sum(t, rgm_dropout(scope, alpha, options->attention_dropout));
    rgmi_note_attention(scope, t->pattern, alpha, y);
    if (options->mean_heads && t->heads > 1)
        y = rgm_reduce(by_head(t, y), 1, RGM_MEAN);
    return rgm_activate(y, options->activation, options->slope);
}

/* Common checks, query and attention vector; false: failure recorded. */
static bool begin(parts *t, rgm_scope *scope, const rgm_conv_input *in,
                  const rgm_gatv2_options *options, const rgm_dense_options *dense)
{
    if (scope == NULL || in->pattern == NULL || !rgmi_positive(scope, options->heads, "heads") ||
        !rgmi_positive(scope, options->units, "units") ||
        rgmi_need(scope, in, in->receiver, "receiver") == NULL)
        return false;
    *t = (parts){.pattern = in->pattern, .heads = options->heads, .depth = options->units};
    t->query = rgm_dense_with(scope, "query", in->receiver, t->heads * t->depth, dense);
    t->attention = rgm_scope_parameter(scope, "attention", 2, (int64_t[]){t->heads, t->depth},
                                       options->kernel);
    rgm_scope_add_l2(scope, t->attention, options->l2);
    return true;
}

static rgm_dense_options dense_options(const rgm_gatv2_options *options)
{
    return (rgm_dense_options){.bias = options->bias, .l2 = options->l2, .kernel = options->kernel};
}

rgm_value *rgm_gatv2_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    const rgm_gatv2_options *options = payload != NULL ? payload : &gatv2_defaults;
    rgm_dense_options dense = dense_options(options);
    int64_t width = options->heads * options->units;
    parts t;

    if (!begin(&t, scope, in, options, &dense) ||
        rgmi_need(scope, in, in->sender, "sender") == NULL)
        return NULL;
    if (options->self_loops)
        t.pattern = rgm_add_self_loops(t.pattern);
    if (options->share_weights && in->sender == in->receiver)
        t.value = t.query;
    else
        t.value = rgm_dense_with(scope, options->share_weights ? "query" : "value", in->sender,
                                 width, &dense);
    if (in->edge != NULL) {
        dense.bias = false;
        t.edge = rgm_dense_with(scope, "edge", in->edge, width, &dense);
        if (options->self_loops) /* the loops stand after the edges and have states of zeros */
            t.edge =
                rgm_concat((rgm_value *[]){t.edge, rgm_zero_rows(scope, in->pattern, width)}, 2, 0);
    }
    return attend(scope, &t, options);
}

rgm_value *rgm_gatv2_edge_pool(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    const rgm_gatv2_options *options = payload != NULL ? payload : &gatv2_defaults;
    rgm_dense_options dense = dense_options(options);
    parts t;

    if (!begin(&t, scope, in, options, &dense) || rgmi_need(scope, in, in->edge, "edge") == NULL)
        return NULL;
    t.edge = rgm_dense_with(scope, "value", in->edge, options->heads * options->units, &dense);
    return attend(scope, &t, options);
}

rgm_value *rgm_gatv2_conv(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                          const char *edge_set, rgm_value *h, const rgm_gatv2_options *options)
{
    rgm_conv_input in;

    if (options == NULL)
        options = &gatv2_defaults;
    if (scope == NULL || graph == NULL || h == NULL ||
        rgm_require_set(graph, RGM_EDGE_SET, edge_set) == NULL)
        return NULL;
    in = rgm_conv_along_edges(graph, edge_set, options->receiver, h, h, NULL);
    return rgm_gatv2_convolve(rgm_scope_enter(scope, name), &in, options);
}
