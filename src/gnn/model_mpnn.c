/*
 * "vanilla_mpnn": input encoders, then rounds of dense messages and dense next states (TF-GNN's
 * VanillaMPNN) over any number of node and edge sets. Sets without features start with states of
 * width 0 and get one from their neighbours.
 */
#include "gnn_internal.h"

static void mpnn_defaults(void *payload)
{
    *(rgm_mpnn_model_options *)payload = (rgm_mpnn_model_options){.units = 64,
                                                                  .message_dim = 64,
                                                                  .layers = 2,
                                                                  .reduce_type = "sum",
                                                                  .input_activation = RGM_ACT_RELU,
                                                                  .encode = true,
                                                                  .receiver_state = true,
                                                                  .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_mpnn_model_options
static const rgm_field mpnn_fields[] = {
    RGM_INT_FIELD(units, 1, 1e6, "channels of the node states"),
    RGM_INT_FIELD(message_dim, 1, 1e6, "channels of the messages"),
    RGM_INT_FIELD(layers, 0, 1000, "rounds of message passing"),
    RGM_TEXT_FIELD(reduce_type, "sum, mean, max_no_inf, ..., or several with | between"),
    RGM_INT_FIELD(input_units, 0, 1e6, "channels of the input encoders; 0: units"),
    RGM_CHOICE_FIELD(input_activation, rgm_activation_names, "after the input encoders"),
    RGM_FLOAT_FIELD(input_dropout, 0, 0.999, "rate of dropout on the input features"),
    RGM_FLOAT_FIELD(dropout, 0, 0.999, "rate of dropout on messages and states"),
    RGM_FLOAT_FIELD(l2, 0, 1e6, "coefficient of the sum of squared kernels and biases in the loss"),
    RGM_BOOL_FIELD(layer_norm, "normalise each new state"),
    RGM_BOOL_FIELD(
        encode,
        "a dense layer on each node set's features; false: the features are the first states"),
    RGM_BOOL_FIELD(receiver_state, "messages see the receiver's state, not only the sender's"),
    RGM_CHOICE_FIELD(receiver, rgmi_receiver_names, "which end of an edge hears"),
    RGM_TEXT_FIELD(edge_feature, "dense edge feature in the messages; default: none"),
    RGM_INT_FIELD(edge_units, 0, 1e6,
                  "channels of states of the edges, made anew in each round of their own, both "
                  "ends' and the context's, and heard instead of edge_feature, from which they "
                  "start; 0: none"),
    RGM_INT_FIELD(context_units, 0, 1e6,
                  "channels of a state of each component, made anew in each round of the means of "
                  "its nodes, and heard by nodes and edges in the next; 0: none"),
    RGM_GROUP_FIELD(input, rgmi_input_fields, "what the model starts from"),
    {0}};
#undef RGM_OPTIONS

static rgm_status mpnn_check(const void *options)
{
    return rgmi_reduce_type_check("model.reduce_type",
                                  ((const rgm_mpnn_model_options *)options)->reduce_type);
}

/* An edge feature as the first state of every edge set that has it. */
static rgm_graph_value *states_of_edges(rgm_scope *scope, rgm_graph_value *graph,
                                        const char *feature)
{
    const rgm_schema *schema = graph != NULL ? rgm_graph_value_schema(graph) : NULL;
    bool found = false;

    for (int64_t i = 0; graph != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_EDGE_SET || rgmi_is_aux(set->name) ||
            !rgm_has_feature(graph, RGM_EDGE_SET, set->name, feature))
            continue;
        found = true;
        graph = rgm_with_feature(graph, RGM_EDGE_SET, set->name, RGM_HIDDEN_STATE,
                                 rgmi_state(scope, graph, RGM_EDGE_SET, set->name, feature));
    }
    if (graph != NULL && !found)
        rgmi_unknown_feature(graph, RGM_EDGE_SET, feature);
    return found ? graph : NULL;
}

static rgm_graph_value *mpnn_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_mpnn_model_options *o = payload;
    rgmi_first_layer first = {.units = o->input_units > 0 ? o->input_units : o->units,
                              .activation = o->input_activation,
                              .dropout = o->input_dropout,
                              .l2 = o->l2,
                              .l2_bias = o->l2,
                              .plain = !o->encode};
    rgm_mpnn_options round = RGM_MPNN_OPTIONS_INIT;
    rgm_graph_value *next;

    if (scope == NULL || graph == NULL || !rgmi_check_inputs(graph, &o->input, o->edge_feature))
        return NULL;
    next = rgmi_read_edges(scope, rgmi_first_states(scope, graph, &first, &o->input),
                           o->edge_feature, &o->input);
    if (o->edge_units > 0 && o->edge_feature != NULL)
        next = states_of_edges(scope, next, o->edge_feature);
    round.edge_units = o->edge_units;
    round.context_units = o->context_units;
    round.units = o->units;
    round.message_dim = o->message_dim;
    round.receivers = o->receiver;
    round.edge_feature = o->edge_units > 0 ? NULL : o->edge_feature;
    round.reduce_type = o->reduce_type;
    round.l2 = o->l2;
    round.dropout = o->dropout;
    round.layer_norm = o->layer_norm;
    round.receiver_state = o->receiver_state;
    for (int64_t i = 0; i < o->layers && next != NULL; i++) {
        char name[32];

        snprintf(name, sizeof name, "layer_%lld", (long long)i);
        next = rgm_vanilla_mpnn_update(scope, name, next, &round);
    }
    return next;
}

const rgm_graph_model_type rgm_mpnn_model = {
    .section = {.name = "vanilla_mpnn",
                .help = "dense messages and next states over any number of node and edge sets",
                .options_size = sizeof(rgm_mpnn_model_options),
                .defaults = mpnn_defaults,
                .fields = mpnn_fields,
                .check = mpnn_check},
    .input = offsetof(rgm_mpnn_model_options, input),
    .build = mpnn_build,
};
