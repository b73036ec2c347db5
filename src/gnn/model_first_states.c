/*
 * How models of many sets begin, and what becomes of their states between rounds.
 */
#include "model_fields.h"

const char *const rgmi_norm_names[] = {"none", "batch", "layer", NULL};

rgm_graph_value *rgmi_first_states(rgm_scope *scope, const rgm_graph_value *graph,
                                   const rgmi_first_layer *first, const rgm_input_options *input)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    rgm_dense_options dense = {.bias = true,
                               .activation = first->activation,
                               .slope = 0.2,
                               .l2 = first->l2,
                               .l2_bias = first->l2_bias,
                               .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_graph_value *next = (rgm_graph_value *)graph;
    rgm_scope *inputs = rgm_scope_enter(scope, "input");

    for (int64_t i = 0; next != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        rgm_scope *own;
        rgm_value *x;

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name))
            continue;
        own = rgm_scope_enter(inputs, set->name);
        x = rgm_node_input(scope, graph, set->name, input);
        if (x == NULL && first->needed)
            return rgmi_no_input(graph, set->name);
        if (x == NULL)
            x = rgm_make_empty_feature(own, graph, RGM_NODE_SET, set->name);
        else
            x = rgm_dropout(own, x, first->dropout);
        if (!first->plain && rgm_width(x) > 0)
            x = rgm_dense_with(own, NULL, x, first->units, &dense);
        next = rgm_with_state(next, set->name, x);
    }
    return next;
}

rgm_graph_value *rgmi_drop_states(rgm_scope *round, rgm_graph_value *graph, double rate)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);

    for (int64_t i = 0; graph != NULL && rate > 0 && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name) ||
            !rgm_has_feature(graph, RGM_NODE_SET, set->name, RGM_HIDDEN_STATE))
            continue;
        graph = rgm_with_state(
            graph, set->name,
            rgm_dropout(rgm_scope_enter(rgm_scope_enter(round, "nodes"), set->name),
                        rgmi_piece_state(round, graph, RGM_NODE_SET, set->name, NULL), rate));
    }
    return graph;
}

/* A node set's state, or NULL without a failure. */
static rgm_value *state_of(const rgm_graph_value *graph, const char *node_set)
{
    return rgm_has_feature(graph, RGM_NODE_SET, node_set, RGM_HIDDEN_STATE)
               ? rgm_node_feature(graph, node_set, RGM_HIDDEN_STATE)
               : NULL;
}

rgm_graph_value *rgmi_keep_states(rgm_graph_value *next, const rgm_graph_value *dropped,
                                  const rgm_graph_value *before)
{
    const rgm_schema *schema = rgm_graph_value_schema(before);

    for (int64_t i = 0; next != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        rgm_value *x;

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name))
            continue;
        x = state_of(before, set->name);
        if (x != NULL && state_of(next, set->name) == state_of(dropped, set->name))
            next = rgm_with_state(next, set->name, x);
    }
    return next;
}

rgm_value *rgmi_normalise(rgm_scope *scope, const char *name, rgm_value *x, rgm_state_norm norm,
                          double momentum)
{
    rgm_batch_norm_options batch = RGM_BATCH_NORM_OPTIONS_INIT;

    batch.momentum = momentum;
    return norm == RGM_STATE_BATCH   ? rgm_batch_norm(scope, name, x, &batch)
           : norm == RGM_STATE_LAYER ? rgm_layer_norm(scope, name, x)
                                     : x;
}
