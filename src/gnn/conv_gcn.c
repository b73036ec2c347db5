/*
 * GCN (Kipf & Welling 2017). One sparse-dense product with the degrees as scales at both ends and
 * the self-loop as a term of it; the dense product stands on the narrower side, and always first
 * when the rows are sparse, so that A (X W) never makes A X.
 */
#include "gnn_internal.h"

static const rgm_gcn_options gcn_defaults = RGM_GCN_OPTIONS_INIT;

/* Sum of the weights of each row's entries, loop counted; at least 1 without loops. */
static rgm_value *degree(rgm_value *pattern, const rgm_gcn_options *options, rgm_dtype dtype)
{
    rgm_value *sum = options->edge_weight != NULL
                         ? rgm_pool_rows(pattern, options->edge_weight, RGM_SUM)
                         : rgm_degree(pattern, dtype);

    return options->self_loops ? rgm_shift(sum, 1) : rgm_floor_at(sum, 1);
}

static void scales(rgm_spmm_options *spmm, rgm_value *pattern, const rgm_gcn_options *options,
                   rgm_dtype dtype)
{
    rgm_value *at_sender = NULL, *at_receiver = NULL;

    if (options->normalization == RGM_NORM_OUT || options->normalization == RGM_NORM_IN_OUT)
        at_sender = degree(rgm_transpose_pattern(pattern), options, dtype);
    if (options->normalization != RGM_NORM_OUT && options->normalization != RGM_NORM_NONE)
        at_receiver = degree(pattern, options, dtype);
    switch (options->normalization) {
    case RGM_NORM_NONE:
        break;
    case RGM_NORM_IN:
        spmm->row_scale = rgm_reciprocal(at_receiver);
        break;
    case RGM_NORM_OUT:
        spmm->column_scale = rgm_reciprocal(at_sender);
        break;
    case RGM_NORM_IN_OUT:
        spmm->row_scale = rgm_rsqrt(at_receiver);
        spmm->column_scale = rgm_rsqrt(at_sender);
        break;
    case RGM_NORM_IN_IN:
        spmm->row_scale = spmm->column_scale = rgm_rsqrt(at_receiver);
        break;
    }
}

/* Weighted edges and loops of weight 1: the pattern grows by the loops, the weights by ones. */
static void add_weighted_loops(rgm_scope *scope, rgm_value **pattern, rgm_spmm_options *spmm)
{
    rgm_dim rows = rgm_value_shape(*pattern)[0];
    rgm_value *ones = rgm_reshape(rgm_shift(rgm_zero_rows(scope, *pattern, 1), 1), 1, &rows);

    spmm->weight = rgm_concat((rgm_value *[]){spmm->weight, ones}, 2, 0);
    spmm->self_loop = false;
    *pattern = rgm_add_self_loops(*pattern);
}

rgm_spmm_options rgmi_gcn_sum(rgm_scope *scope, rgm_value **pattern, const rgm_gcn_options *options)
{
    rgm_spmm_options spmm = {.weight = options->edge_weight, .self_loop = options->self_loops};

    scales(&spmm, *pattern, options, rgm_scope_dtype(scope));
    if (spmm.weight != NULL && options->self_loops)
        add_weighted_loops(scope, pattern, &spmm);
    return spmm;
}

rgm_value *rgm_gcn_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    const rgm_gcn_options *options = payload != NULL ? payload : &gcn_defaults;
    rgm_value *p = in->pattern, *h = rgmi_need(scope, in, in->sender, "sender"), *y;
    rgm_dense_options dense = {.l2 = options->l2, .kernel = options->kernel};
    rgm_spmm_options spmm;
    int64_t units = options->units;

    if (scope == NULL || p == NULL || h == NULL || !rgmi_positive(scope, units, "units"))
        return NULL;
    if (rgm_value_shape(p)[0] != rgm_value_shape(p)[1])
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_SHAPE,
                               "'%s': a GCN needs one node set at both ends of '%s'",
                               rgm_scope_path(scope), in->name);
    if (options->edge_weight != NULL && rgm_value_rank(options->edge_weight) != 1)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_SHAPE,
                               "'%s': edge weights of '%s' are one number for each edge",
                               rgm_scope_path(scope), in->name);
    spmm = rgmi_gcn_sum(scope, &p, options);
    if (rgmi_sum_first(h, units))
        y = rgm_dense_with(scope, NULL, rgm_spmm(p, h, &spmm), units, &dense);
    else
        y = rgm_spmm(p, rgm_dense_with(scope, NULL, h, units, &dense), &spmm);
    if (options->bias)
        y = rgm_add(y,
                    rgm_scope_parameter(scope, "bias", 1, &units, (rgm_init){RGM_INIT_ZEROS, 0}));
    return rgm_activate(y, options->activation, 0.2);
}

rgm_value *rgm_gcn_conv_with(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                             const char *edge_set, rgm_value *h, const rgm_gcn_options *options)
{
    rgm_conv_input in;

    if (options == NULL)
        options = &gcn_defaults;
    if (scope == NULL || graph == NULL || h == NULL ||
        rgm_require_set(graph, RGM_EDGE_SET, edge_set) == NULL)
        return NULL;
    in = rgm_conv_along_edges(graph, edge_set, options->receiver, h, h, NULL);
    return rgm_gcn_convolve(rgm_scope_enter(scope, name), &in, options);
}

rgm_value *rgm_gcn_conv(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                        const char *edge_set, rgm_value *h, int64_t units)
{
    rgm_gcn_options options = RGM_GCN_OPTIONS_INIT;

    options.units = units;
    return rgm_gcn_conv_with(scope, name, graph, edge_set, h, &options);
}
