/*
 * TF-GNN's "model template Albis": messages pooled or attention, and a next state with what helps
 * in practice, of which each is an option.
 */
#include "gnn_internal.h"

rgm_value *rgm_albis_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *payload)
{
    static const rgm_albis_state_options defaults = RGM_ALBIS_STATE_OPTIONS_INIT;
    const rgm_albis_state_options *options = payload != NULL ? payload : &defaults;
    rgm_dense_options dense = {.bias = true,
                               .activation = options->activation,
                               .slope = 0.2,
                               .l2 = options->l2,
                               .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_value *x[3 + RGMI_MOST_RELATIONS], *y;
    int64_t width = inputs->state != NULL ? rgm_width(inputs->state) : 0, count = 0, first;

    if (scope == NULL || width < 0 || !rgmi_positive(scope, options->units, "units"))
        return NULL;
    if (inputs->count > RGMI_MOST_RELATIONS)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_UNSUPPORTED,
                               "'%s': '%s' hears more than %d edge sets", rgm_scope_path(scope),
                               inputs->set, RGMI_MOST_RELATIONS);
    if (inputs->state != NULL)
        x[count++] = inputs->state;
    first = count;
    for (int64_t i = 0; i < inputs->count; i++) {
        if (options->sum && i > 0)
            x[first] = rgm_add(x[first], inputs->inputs[i]);
        else
            x[count++] = inputs->inputs[i];
    }
    if (inputs->context != NULL)
        x[count++] = inputs->context;
    for (int64_t i = first; i < count; i++)
        x[i] = rgm_dropout(scope, x[i], options->dropout);
    if (count == 0)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOT_FOUND,
                               "'%s': '%s' has neither a state nor inputs", rgm_scope_path(scope),
                               inputs->set);
    y = rgm_dense_concat(scope, NULL, x, count, options->units, &dense);
    y = rgm_dropout(scope, y, options->dropout);
    if (options->residual && width > 0) {
        if (!rgmi_fits_residual(scope, inputs, options->units))
            return NULL;
        y = rgm_add(y, inputs->state);
    }
    return rgmi_normalise(scope, "norm", y, options->norm, options->momentum);
}

/* The convolutions that edge sets choose from. */
typedef struct choice {
    const rgm_albis_options *options;
    rgm_simple_conv_options plain;
    rgm_multi_head_options multi_head;
    rgm_gatv2_options gat;
} choice;

static bool attends(const rgm_albis_options *options, const char *edge_set)
{
    if (options->attention == RGM_ALBIS_PLAIN || options->attention_edge_sets == NULL)
        return options->attention != RGM_ALBIS_PLAIN;
    for (int64_t i = 0; i < options->attention_edge_set_count; i++)
        if (strcmp(options->attention_edge_sets[i], edge_set) == 0)
            return true;
    return false;
}

static rgm_conv convolution(const char *edge_set, rgm_tag receiver, void *payload)
{
    const choice *c = payload;

    (void)receiver;
    if (!attends(c->options, edge_set))
        return (rgm_conv){rgm_simple_convolve, &c->plain};
    if (c->options->attention == RGM_ALBIS_MULTI_HEAD)
        return (rgm_conv){rgm_multi_head_convolve, &c->multi_head};
    return (rgm_conv){rgm_gatv2_convolve, &c->gat};
}

static void choose(choice *c, const rgm_albis_options *options)
{
    int64_t units =
        options->attention != RGM_ALBIS_PLAIN ? options->message_dim / options->heads : 0;

    c->options = options;
    c->plain = (rgm_simple_conv_options)RGM_SIMPLE_CONV_OPTIONS_INIT;
    c->plain.units = options->message_dim;
    c->plain.activation = options->activation;
    c->plain.reduce_type = options->reduce_type != NULL ? options->reduce_type : "mean";
    c->plain.receiver = options->receiver_state;
    c->plain.edge_dropout = options->edge_dropout;
    c->plain.l2 = options->l2;
    c->multi_head = (rgm_multi_head_options)RGM_MULTI_HEAD_OPTIONS_INIT;
    c->multi_head.heads = options->heads;
    c->multi_head.units = units;
    c->multi_head.activation = options->activation;
    c->multi_head.attention_dropout = options->edge_dropout;
    c->multi_head.l2 = options->l2;
    c->gat = (rgm_gatv2_options)RGM_GATV2_OPTIONS_INIT;
    c->gat.heads = options->heads;
    c->gat.units = units;
    c->gat.attention_dropout = options->edge_dropout;
    c->gat.activation = options->activation;
    c->gat.l2 = options->l2;
}

static bool check(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                  const rgm_albis_options *options)
{
    if (!rgmi_positive(scope, options->units, "units") ||
        !rgmi_positive(scope, options->message_dim, "message_dim"))
        return false;
    if (options->attention == RGM_ALBIS_PLAIN)
        return true;
    for (int64_t i = 0; i < options->attention_edge_set_count; i++)
        if (rgm_require_set(graph, RGM_EDGE_SET, options->attention_edge_sets[i]) == NULL)
            return false;
    return rgmi_heads_divide(scope, name, options->message_dim, options->heads);
}

rgm_graph_value *rgm_albis_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgm_albis_options *options)
{
    rgm_albis_state_options state = options->state;
    rgm_conv_gnn_options rule = RGM_CONV_GNN_OPTIONS_INIT;
    choice c;

    if (scope == NULL || graph == NULL || !check(scope, name, graph, options))
        return NULL;
    choose(&c, options);
    state.units = options->units;
    state.l2 = options->l2;
    rule.receivers = options->receivers;
    rule.conv_for = convolution;
    rule.payload = &c;
    rule.next_state = (rgm_next_state){rgm_albis_state, &state};
    rule.edge_feature = options->edge_feature;
    rule.context_feature = options->context_feature;
    rule.node_sets = options->node_sets;
    rule.node_set_count = options->node_set_count;
    return rgm_conv_gnn(scope, name, graph, &rule);
}
