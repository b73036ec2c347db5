/*
 * The families' graph updates: one round of message passing each, made from the convolutions and
 * next states of this layer by the builder.
 */
#include "gnn_internal.h"

/* The unique edge set's convolution of the unique node set's state, as that set's new state. */
static rgm_graph_value *hom_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                   rgm_conv conv, rgm_tag receiver)
{
    rgm_next_state next = {rgm_single_input_state, NULL};
    rgm_edge_input input = {.receiver = receiver, .conv = conv};
    rgm_node_set_update nodes = {.inputs = &input, .input_count = 1, .next_state = next};
    rgm_graph_update_options update = {.node_sets = &nodes, .node_set_count = 1};

    if (scope == NULL || graph == NULL ||
        !rgmi_hom_sets(&nodes.node_set, &input.edge_set, graph, NULL, NULL))
        return NULL;
    return rgm_graph_update(scope, name, graph, &update);
}

rgm_graph_value *rgm_gcn_hom_update(rgm_scope *scope, const char *name,
                                    const rgm_graph_value *graph, const rgm_gcn_options *options)
{
    return hom_update(scope, name, graph, (rgm_conv){rgm_gcn_convolve, options},
                      options != NULL ? options->receiver : RGM_TARGET);
}

rgm_graph_value *rgm_gatv2_hom_update(rgm_scope *scope, const char *name,
                                      const rgm_graph_value *graph,
                                      const rgm_gatv2_options *options)
{
    return hom_update(scope, name, graph, (rgm_conv){rgm_gatv2_convolve, options},
                      options != NULL ? options->receiver : RGM_TARGET);
}

rgm_graph_value *rgm_vanilla_mpnn_update(rgm_scope *scope, const char *name,
                                         const rgm_graph_value *graph,
                                         const rgm_mpnn_options *options)
{
    rgm_simple_conv_options message = RGM_SIMPLE_CONV_OPTIONS_INIT;
    rgm_dense_state_options state = RGM_DENSE_STATE_OPTIONS_INIT;
    rgm_conv_gnn_options rule = RGM_CONV_GNN_OPTIONS_INIT;

    if (scope == NULL || graph == NULL ||
        !rgmi_positive(scope, options->message_dim, "message_dim") ||
        !rgmi_positive(scope, options->units, "units"))
        return NULL;
    message.units = options->message_dim;
    message.reduce_type = options->reduce_type;
    message.dropout = options->dropout;
    message.receiver = options->receiver_state;
    message.l2 = message.l2_bias = options->l2;
    state.units = options->units;
    state.dropout = options->dropout;
    state.l2 = state.l2_bias = options->l2;
    state.layer_norm = options->layer_norm;
    rule.receivers = options->receivers;
    rule.conv = (rgm_conv){rgm_simple_convolve, &message};
    rule.next_state = (rgm_next_state){rgm_dense_state, &state};
    rule.edge_feature = options->edge_feature;
    rule.node_sets = options->node_sets;
    rule.node_set_count = options->node_set_count;
    rule.context_feature = options->context_feature;
    return rgm_conv_gnn(scope, name, graph, &rule);
}

bool rgmi_heads_divide(rgm_scope *scope, const char *name, int64_t width, int64_t heads)
{
    if (!rgmi_positive(scope, heads, "heads"))
        return false;
    if (width % heads == 0)
        return true;
    rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG,
                    "'%s': message_dim %lld is not a multiple of heads %lld", name,
                    (long long)width, (long long)heads);
    return false;
}

rgm_graph_value *rgm_gatv2_mpnn_update(rgm_scope *scope, const char *name,
                                       const rgm_graph_value *graph,
                                       const rgm_gatv2_mpnn_options *options)
{
    rgm_gatv2_options conv = RGM_GATV2_OPTIONS_INIT;
    rgm_dense_state_options state = RGM_DENSE_STATE_OPTIONS_INIT;
    rgm_conv_gnn_options rule = RGM_CONV_GNN_OPTIONS_INIT;

    if (scope == NULL || graph == NULL ||
        !rgmi_positive(scope, options->message_dim, "message_dim") ||
        !rgmi_positive(scope, options->units, "units") ||
        !rgmi_heads_divide(scope, name, options->message_dim, options->heads))
        return NULL;
    conv.heads = options->heads;
    conv.units = options->message_dim / options->heads;
    conv.attention_dropout = options->edge_dropout;
    conv.attention_activation = options->attention_activation;
    conv.activation = options->conv_activation;
    conv.l2 = options->l2;
    state.units = options->units;
    state.activation = options->activation;
    state.dropout = options->state_dropout;
    state.l2 = options->l2;
    rule.receivers = options->receivers;
    rule.conv = (rgm_conv){rgm_gatv2_convolve, &conv};
    rule.next_state = (rgm_next_state){rgm_dense_state, &state};
    rule.edge_feature = options->edge_feature;
    rule.node_sets = options->node_sets;
    rule.node_set_count = options->node_set_count;
    return rgm_conv_gnn(scope, name, graph, &rule);
}

rgm_graph_value *rgm_sage_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                 const rgm_sage_update_options *options)
{
    rgm_sage_options conv = RGM_SAGE_OPTIONS_INIT;
    rgm_sage_state_options state = RGM_SAGE_STATE_OPTIONS_INIT;
    rgm_conv_gnn_options rule = RGM_CONV_GNN_OPTIONS_INIT;
    bool pooling = options->pooling || options->hidden_units > 0;

    if (scope == NULL || graph == NULL || !rgmi_positive(scope, options->units, "units"))
        return NULL;
    conv.units = options->units;
    conv.hidden_units = options->hidden_units;
    conv.reduce_type = options->reduce_type;
    conv.dropout = options->dropout;
    conv.bias = options->bias;
    conv.activation = options->activation;
    conv.l2 = options->l2;
    state.units = options->units;
    state.bias = options->bias;
    state.dropout = options->dropout;
    state.l2_normalize = options->l2_normalize;
    state.concat = options->concat;
    state.activation = options->linear ? RGM_ACT_NONE : options->activation;
    state.l2 = options->l2;
    rule.receivers = options->receivers;
    rule.conv = (rgm_conv){pooling ? rgm_sage_pool_convolve : rgm_sage_convolve, &conv};
    rule.next_state = (rgm_next_state){rgm_sage_state, &state};
    rule.node_sets = options->node_sets;
    rule.node_set_count = options->node_set_count;
    return rgm_conv_gnn(scope, name, graph, &rule);
}
