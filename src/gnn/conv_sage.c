/*
 * GraphSAGE (Hamilton et al. 2017): the aggregating and the pooling convolution, the next state
 * that adds them to the transformed old one and normalises, and the GCN variant that updates a node
 * set as a whole. What is linear is multiplied on its narrower side; nothing is made for each edge
 * unless dropout is drawn for each edge.
 */
#include "gnn_internal.h"

static const rgm_sage_options sage_defaults = RGM_SAGE_OPTIONS_INIT;
static const rgm_sage_state_options state_defaults = RGM_SAGE_STATE_OPTIONS_INIT;
static const rgm_sage_gcn_options gcn_defaults = RGM_SAGE_GCN_OPTIONS_INIT;

/* Each edge's copy of the sender's state, dropped on its own: [count, width]. */
static rgm_value *dropped_senders(rgm_scope *scope, const rgm_conv_input *in, double rate)
{
    if (!rgmi_is_dense(in->sender))
        return rgm_cgraph_fail(
            rgm_scope_graph(scope), RGM_ERR_UNSUPPORTED,
            "'%s': dropout for each edge of sparse states would make them dense; "
            "drop the states before the convolution",
            rgm_scope_path(scope));
    return rgm_dropout(scope, rgm_broadcast_columns(in->pattern, in->sender), rate);
}

rgm_value *rgm_sage_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    const rgm_sage_options *options = payload != NULL ? payload : &sage_defaults;
    const char *reduce = options->reduce_type != NULL ? options->reduce_type : "mean";
    rgm_dense_options dense = {.l2 = options->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_value *h = rgmi_need(scope, in, in->sender, "sender"), *y;

    if (scope == NULL || in->pattern == NULL || h == NULL ||
        !rgmi_positive(scope, options->units, "units"))
        return NULL;
    if (options->dropout > 0) {
        y = rgm_conv_pool(in, dropped_senders(scope, in, options->dropout), reduce);
        return rgm_dense_with(scope, NULL, y, options->units, &dense);
    }
    if (rgmi_is_linear(reduce) && !rgmi_sum_first(h, options->units))
        return rgmi_pool_senders(in, rgm_dense_with(scope, NULL, h, options->units, &dense),
                                 reduce);
    if (!rgmi_is_dense(h))
        return rgm_cgraph_fail(
            rgm_scope_graph(scope), RGM_ERR_UNSUPPORTED,
            "'%s': '%s' of sparse states would make them dense; use mean, sum or "
            "the pooling convolution",
            rgm_scope_path(scope), reduce);
    return rgm_dense_with(scope, NULL, rgmi_pool_senders(in, h, reduce), options->units, &dense);
}

rgm_value *rgm_sage_pool_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    const rgm_sage_options *options = payload != NULL ? payload : &sage_defaults;
    const char *reduce = options->reduce_type != NULL ? options->reduce_type : "max_no_inf";
    int64_t hidden = options->hidden_units > 0 ? options->hidden_units : options->units;
    rgm_dense_options inner = {.bias = options->bias,
                               .activation = options->activation,
                               .slope = 0.2,
                               .l2 = options->l2,
                               .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_dense_options outer = {.l2 = options->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_value *h = rgmi_need(scope, in, in->sender, "sender"), *y;

    if (scope == NULL || in->pattern == NULL || h == NULL ||
        !rgmi_positive(scope, options->units, "units"))
        return NULL;
    if (options->dropout > 0) {
        h = dropped_senders(scope, in, options->dropout);
        y = rgm_conv_pool(in, rgm_dense_with(scope, "hidden", h, hidden, &inner), reduce);
    } else {
        y = rgmi_pool_senders(in, rgm_dense_with(scope, "hidden", h, hidden, &inner), reduce);
    }
    return rgm_dense_with(scope, NULL, y, options->units, &outer);
}

/* Inputs and the transformed old state, summed or side by side: [n, width]. */
static rgm_value *combine(rgm_scope *scope, const rgm_state_inputs *inputs,
                          const rgm_sage_state_options *options)
{
    rgm_dense_options dense = {.l2 = options->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_value **part = NULL, *y = NULL;
    int64_t count = 0;

    if (RGM_NEW(part, inputs->count + 1) != RGM_OK)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOMEM, "out of memory: combine");
    if (inputs->state != NULL)
        part[count++] =
            rgm_dense_with(scope, "self", rgm_dropout(scope, inputs->state, options->dropout),
                           options->units, &dense);
    for (int64_t i = 0; i < inputs->count; i++)
        part[count++] = inputs->inputs[i];
    if (options->concat && count > 1)
        y = rgm_concat(part, count, 1);
    else
        for (int64_t i = 0; i < count; i++)
            y = i == 0 ? part[0] : rgm_add(y, part[i]);
    rgm_free(part);
    return y;
}

rgm_value *rgm_sage_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *payload)
{
    const rgm_sage_state_options *options = payload != NULL ? payload : &state_defaults;
    rgm_value *y;
    int64_t width;

    if (scope == NULL || !rgmi_positive(scope, options->units, "units"))
        return NULL;
    if (inputs->context != NULL)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_UNSUPPORTED,
                               "'%s': a GraphSAGE state takes no context input",
                               rgm_scope_path(scope));
    if (inputs->state == NULL && inputs->count == 0)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOT_FOUND,
                               "'%s': '%s' has neither a state nor edge inputs",
                               rgm_scope_path(scope), inputs->set);
    y = combine(scope, inputs, options);
    width = rgm_width(y);
    if (width < 0)
        return NULL;
    if (options->bias)
        y = rgm_add(y,
                    rgm_scope_parameter(scope, "bias", 1, &width, (rgm_init){RGM_INIT_ZEROS, 0}));
    y = rgm_activate(y, options->activation, 0.2);
    return options->l2_normalize ? rgm_l2_normalize(y) : y;
}

/* One term of the GCN variant's sum, and what it adds to the count of terms. */
static rgm_value *gcn_term(rgm_scope *scope, const rgm_conv_input *in, rgm_value *h,
                           const rgm_sage_gcn_options *options)
{
    rgm_dense_options dense = {.l2 = options->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_scope *own =
        options->share_weights ? scope : rgm_scope_enter(scope, in != NULL ? in->name : "self");

    h = rgm_dropout(scope, h, options->dropout);
    if (in == NULL)
        return rgm_dense_with(own, NULL, h, options->units, &dense);
    if (rgmi_sum_first(h, options->units))
        return rgm_dense_with(own, NULL, rgm_spmm(in->pattern, h, NULL), options->units, &dense);
    return rgm_spmm(in->pattern, rgm_dense_with(own, NULL, h, options->units, &dense), NULL);
}

/* sum / count of terms, 0 where there are none */
static rgm_value *mean_of(rgm_value *sum, rgm_value *terms)
{
    rgm_dim shape[2];

    if (sum == NULL || terms == NULL)
        return NULL;
    shape[0] = rgm_value_dim(sum, 0);
    shape[1] = 1;
    return rgm_mul(sum, rgm_reshape(rgm_reciprocal(rgm_floor_at(terms, 1)), 2, shape));
}

rgm_value *rgm_sage_gcn_node_update(rgm_scope *scope, const rgm_graph_value *graph,
                                    const char *node_set, const void *payload)
{
    const rgm_sage_gcn_options *options = payload != NULL ? payload : &gcn_defaults;
    rgm_value *sum = NULL, *terms = NULL, *own;
    int64_t units = options->units;

    if (scope == NULL || graph == NULL || !rgmi_positive(scope, units, "units"))
        return NULL;
    for (int64_t i = 0; i < options->edge_set_count; i++) {
        const rgm_set_schema *set = rgm_require_set(graph, RGM_EDGE_SET, options->edge_sets[i]);
        rgm_conv_input in;
        rgm_value *h, *term, *degree;

        if (set == NULL)
            return NULL;
        h = rgmi_piece_state(scope, graph, RGM_NODE_SET,
                             rgmi_end(set, rgm_tag_reverse(options->receiver)), NULL);
        in = rgm_conv_along_edges(graph, set->name, options->receiver, NULL, h, NULL);
        if (rgmi_need(scope, &in, h, "sender") == NULL)
            return NULL;
        term = gcn_term(scope, &in, h, options);
        degree = rgm_degree(in.pattern, rgm_scope_dtype(scope));
        sum = sum == NULL ? term : rgm_add(sum, term);
        terms = terms == NULL ? degree : rgm_add(terms, degree);
    }
    own = options->self ? rgmi_piece_state(scope, graph, RGM_NODE_SET, node_set, NULL) : NULL;
    if (own != NULL) {
        rgm_value *term = gcn_term(scope, NULL, own, options);
        sum = sum == NULL ? term : rgm_add(sum, term);
        terms = terms != NULL ? rgm_shift(terms, 1) : NULL;
    }
    if (sum == NULL)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOT_FOUND,
                               "'%s': '%s' has neither a state nor edge inputs",
                               rgm_scope_path(scope), node_set);
    if (!options->sum && terms != NULL)
        sum = mean_of(sum, terms);
    if (options->bias)
        sum = rgm_add(sum,
                      rgm_scope_parameter(scope, "bias", 1, &units, (rgm_init){RGM_INIT_ZEROS, 0}));
    return rgm_activate(sum, options->activation, 0.2);
}
