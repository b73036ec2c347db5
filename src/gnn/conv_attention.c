/*
 * Dot-product attention over edges (TF-GNN's MultiHeadAttentionConv). Of senders' states the scores
 * are one sampled product and the weighted sum is one sparse-dense product; only states of the
 * edges themselves make values of that size for each edge.
 */
#include "gnn_internal.h"

#include <math.h>

static const rgm_multi_head_options multi_head_defaults = RGM_MULTI_HEAD_OPTIONS_INIT;

/* What meets, after dropout of the inputs; sender and edge may be NULL, but not both. */
typedef struct meeting {
    rgm_scope *scope;
    const rgm_multi_head_options *options;
    rgm_dense_options dense;
    rgm_value *pattern, *receiver, *sender, *edge;
} meeting;

static rgm_value *plus(rgm_value *a, rgm_value *b)
{
    return a == NULL ? b : b == NULL ? a : rgm_add(a, b);
}

/* [n, heads * width] -> [n, heads, width] */
static rgm_value *by_head(const meeting *m, rgm_value *x)
{
    rgm_dim shape[3] = {0, m->options->heads, RGM_INFER};

    if (x == NULL)
        return NULL;
    shape[0] = rgm_value_dim(x, 0);
    shape[2] = rgm_width(x) / m->options->heads;
    return rgm_reshape(x, 3, shape);
}

/* x [n, width] the same for each head: [n, heads * width] */
static rgm_value *for_each_head(const meeting *m, rgm_value *x)
{
    enum { MOST = 64 };
    rgm_value *copies[MOST];

    if (x == NULL || m->options->heads == 1)
        return x;
    if (m->options->heads > MOST || !rgmi_is_dense(x))
        return rgm_cgraph_fail(rgm_scope_graph(m->scope), RGM_ERR_UNSUPPORTED,
                               "'%s': states that are not transformed are dense, for at most %d "
                               "heads",
                               rgm_scope_path(m->scope), MOST);
    for (int64_t k = 0; k < m->options->heads; k++)
        copies[k] = x;
    return rgm_concat(copies, m->options->heads, 1);
}

/* A product of what is sent by nodes, with a bias, and one of what edges have, which needs none
 * beside it; each [n, heads * units] or NULL. */
static void project(rgm_value **sender, rgm_value **edge, const meeting *m, const char *name)
{
    int64_t width = m->options->heads * m->options->units;
    rgm_dense_options dense = m->dense;
    char of_edges[32];

    snprintf(of_edges, sizeof of_edges, "%s_edge", name);
    *sender = *edge = NULL;
    if (m->sender != NULL) {
        *sender = rgm_dense_with(m->scope, name, m->sender, width, &dense);
        dense.bias = false;
    }
    if (m->edge != NULL)
        *edge = rgm_dense_with(m->scope, of_edges, m->edge, width, &dense);
}

/* sum over channels of q [rows, heads, width] at each entry times x [count, heads | 1, width] */
static rgm_value *edge_scores(const meeting *m, rgm_value *query, rgm_value *x)
{
    return rgm_reduce(rgm_mul(rgm_broadcast_rows(m->pattern, query), x), -1, RGM_SUM);
}

/* q . k of transformed keys, [count, heads] */
static rgm_value *scores(const meeting *m, rgm_value *query)
{
    rgm_activation activation = m->options->attention_activation;
    double slope = m->options->slope;
    rgm_value *sender, *edge, *score = NULL;

    project(&sender, &edge, m, "key");
    if (sender != NULL && edge != NULL && activation != RGM_ACT_NONE) {
        edge = rgm_add(rgm_broadcast_columns(m->pattern, sender), edge);
        sender = NULL;
    }
    if (sender != NULL)
        score = rgm_sddmm(m->pattern, query, by_head(m, rgm_activate(sender, activation, slope)));
    if (edge != NULL)
        score =
            plus(score, edge_scores(m, query, by_head(m, rgm_activate(edge, activation, slope))));
    return score;
}

/* [count, width] -> [count, 1, width] */
static rgm_value *one_head(rgm_value *x)
{
    rgm_dim shape[3] = {0, 1, 0};

    if (x == NULL)
        return NULL;
    shape[0] = rgm_value_dim(x, 0);
    shape[2] = rgm_width(x);
    return rgm_reshape(x, 3, shape);
}

/* The same where senders' own states are the keys, side by side with the edges'. */
static rgm_value *plain_scores(const meeting *m, rgm_value *query)
{
    int64_t sent = m->sender != NULL ? rgm_width(m->sender) : 0;
    int64_t width = sent + (m->edge != NULL ? rgm_width(m->edge) : 0);
    rgm_value *score = NULL, *part, *key;

    if (m->sender != NULL) {
        part = rgm_slice(query, 2, 0, sent);
        key = by_head(m, for_each_head(m, m->sender));
        score = rgm_sddmm(m->pattern, part, key);
    }
    if (m->edge != NULL) {
        part = rgm_slice(query, 2, sent, width);
        key = one_head(m->edge);
        score = plus(score, edge_scores(m, part, key));
    }
    return score;
}

static rgm_value *scaled(const meeting *m, rgm_value *score, int64_t key_width)
{
    const int64_t heads = m->options->heads;
    rgm_value *w;

    if (m->options->score_scaling == RGM_SCORE_PLAIN)
        return score;
    if (m->options->score_scaling == RGM_SCORE_RSQRT_DIM)
        return rgm_scale(score, 1 / sqrt((double)key_width));
    w = rgm_scope_parameter(m->scope, "scaling", 1, &heads, (rgm_init){RGM_INIT_ZEROS, 0});
    return rgm_mul(score, rgm_shift(rgm_elu(w), 1));
}

/* alpha [count, heads] as [count, heads, 1] */
static rgm_value *for_channels(rgm_value *alpha)
{
    rgm_dim shape[3] = {0, 0, 1};

    if (alpha == NULL)
        return NULL;
    shape[0] = rgm_value_dim(alpha, 0);
    shape[1] = rgm_value_dim(alpha, 1);
    return rgm_reshape(alpha, 3, shape);
}

/* sum of alpha times what is sent by nodes [columns, heads * width] and by edges [count, heads | 1,
 * width], each [rows, heads, width] or NULL */
static void weighted_sums(rgm_value **of_nodes, rgm_value **of_edges, const meeting *m,
                          rgm_value *alpha, rgm_value *sender, rgm_value *edge)
{
    rgm_spmm_options spmm = {.weight = alpha};

    *of_nodes = sender != NULL ? by_head(m, rgm_spmm(m->pattern, sender, &spmm)) : NULL;
    *of_edges = edge != NULL
                    ? rgm_pool_rows(m->pattern, rgm_mul(edge, for_channels(alpha)), RGM_SUM)
                    : NULL;
}

/* x [n, heads, width] times a kernel for each head, [n, heads units] */
static rgm_value *project_heads(const meeting *m, rgm_value *x)
{
    const int64_t heads = m->options->heads, width = heads * m->options->units;
    rgm_scope *own = rgm_scope_enter(m->scope, "value");
    rgm_value *kernel, *bias;
    int64_t in;

    if (own == NULL || x == NULL)
        return NULL;
    in = rgm_value_dim(x, 2);
    kernel = rgm_scope_parameter(own, "kernel", 3, (int64_t[]){heads, in, m->options->units},
                                 m->options->kernel);
    rgm_scope_add_l2(own, kernel, m->options->l2);
    x = rgmi_project_parts(rgm_reshape(x, 2, (rgm_dim[]){RGM_INFER, heads * in}), kernel);
    if (!m->options->bias)
        return x;
    bias = rgm_scope_parameter(own, "bias", 1, &width, (rgm_init){RGM_INIT_ZEROS, 0});
    return rgm_add(x, bias);
}

/* [receivers, heads, units], or the heads side by side */
static rgm_value *pooled(const meeting *m, rgm_value *alpha)
{
    rgm_value *sender, *edge, *part[2];
    int64_t count = 0;

    if (alpha == NULL)
        return NULL;
    if (!m->options->transform_values_after_pooling) {
        project(&sender, &edge, m, "value");
        weighted_sums(&part[0], &part[1], m, alpha, sender, by_head(m, edge));
        return plus(part[0], part[1]);
    }
    sender = for_each_head(m, m->sender);
    weighted_sums(&sender, &edge, m, alpha, sender, one_head(m->edge));
    if (sender != NULL)
        part[count++] = sender;
    if (edge != NULL)
        part[count++] = edge;
    if (count == 0)
        return NULL;
    return project_heads(m, count == 1 ? part[0] : rgm_concat(part, count, 2));
}

/* Width of a key. */
static int64_t key_width(const meeting *m)
{
    if (m->options->transform_keys)
        return m->options->units;
    return (m->sender != NULL ? rgm_width(m->sender) : 0) +
           (m->edge != NULL ? rgm_width(m->edge) : 0);
}

static rgm_value *attend(rgm_scope *scope, const rgm_conv_input *in, rgm_value *sender,
                         const rgm_multi_head_options *options)
{
    meeting m = {.scope = scope, .options = options, .pattern = in->pattern};
    const rgm_dim merged[2] = {RGM_INFER, options->heads * options->units};
    rgm_value *query, *score, *alpha, *y;

    if (scope == NULL || in->pattern == NULL || !rgmi_positive(scope, options->heads, "heads") ||
        !rgmi_positive(scope, options->units, "units") ||
        rgmi_need(scope, in, in->receiver, "receiver") == NULL)
        return NULL;
    m.dense =
        (rgm_dense_options){.bias = options->bias, .l2 = options->l2, .kernel = options->kernel};
    m.receiver = rgm_dropout(scope, in->receiver, options->input_dropout);
    m.sender = rgm_dropout(scope, sender, options->input_dropout);
    m.edge = rgm_dropout(scope, in->edge, options->input_dropout);
    if (key_width(&m) <= 0)
        return NULL;
    query = rgm_dense_with(scope, "query", m.receiver, options->heads * key_width(&m), &m.dense);
    query = by_head(&m, rgm_activate(query, options->attention_activation, options->slope));
    score = options->transform_keys ? scores(&m, query) : plain_scores(&m, query);
    alpha = rgm_softmax_rows(in->pattern, scaled(&m, score, key_width(&m)));
    y = pooled(&m, rgm_dropout(scope, alpha, options->attention_dropout));
    rgmi_note_attention(scope, in->pattern, alpha, y);
    y = rgm_activate(y, options->activation, options->slope);
    return rgm_reshape(y, 2, merged);
}

rgm_value *rgm_multi_head_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    const rgm_multi_head_options *options = payload != NULL ? payload : &multi_head_defaults;

    if (scope == NULL || rgmi_need(scope, in, in->sender, "sender") == NULL)
        return NULL;
    return attend(scope, in, in->sender, options);
}

rgm_value *rgm_multi_head_edge_pool(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    const rgm_multi_head_options *options = payload != NULL ? payload : &multi_head_defaults;

    if (scope == NULL || rgmi_need(scope, in, in->edge, "edge") == NULL)
        return NULL;
    return attend(scope, in, NULL, options);
}
