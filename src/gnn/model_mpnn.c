/*
 * "vanilla_mpnn": input encoders, then rounds of dense messages and dense next states (TF-GNN's
 * VanillaMPNN) over any number of node and edge sets. Sets without features start with states of
 * width 0 and get one from their neighbours.
 */
#include "model_fields.h"

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
    RGMI_UNITS_FIELD,
    RGMI_MESSAGE_DIM_FIELD,
    RGMI_LAYERS_FIELD,
    RGM_TEXT_FIELD(reduce_type, "sum, mean, max_no_inf, ..., or several with | between"),
    RGM_INT_FIELD(input_units, 0, 1e6, "channels of the input encoders; 0: units"),
    RGMI_INPUT_ENCODER_FIELDS,
    RGMI_DROPOUT_FIELD("on messages and states"),
    RGM_FLOAT_FIELD(l2, 0, 1e6, "coefficient of the sum of squared kernels and biases in the loss"),
    RGM_BOOL_FIELD(layer_norm, "normalise each new state"),
    RGM_BOOL_FIELD(
        encode,
        "a dense layer on each node set's features; false: the features are the first states"),
    RGM_BOOL_FIELD(receiver_state, "messages see the receiver's state, not only the sender's"),
    RGMI_RECEIVER_FIELD(""),
    RGMI_EDGE_STATE_FIELDS,
    RGMI_ROUNDS_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

static rgm_status mpnn_check(const void *options)
{
    return rgm_reduce_type_check("model.reduce_type",
                                 ((const rgm_mpnn_model_options *)options)->reduce_type);
}

static rgm_graph_value *mpnn_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                   const rgmi_turn *turn, const void *payload)
{
    const rgm_mpnn_model_options *o = payload;
    rgm_mpnn_options round = RGM_MPNN_OPTIONS_INIT;

    round.units = o->units;
    round.message_dim = o->message_dim;
    round.receivers = o->receiver;
    round.edge_feature = turn->edge_feature;
    round.context_feature = turn->context_feature;
    round.reduce_type = o->reduce_type;
    round.l2 = o->l2;
    round.dropout = o->dropout;
    round.layer_norm = o->layer_norm;
    round.receiver_state = o->receiver_state;
    return rgm_vanilla_mpnn_update(scope, name, graph, &round);
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
    rgmi_rounds plan = {.options = &o->rounds,
                        .input = &o->input,
                        .count = o->layers,
                        .hears_context = true,
                        .joins_first = o->encode,
                        .units = o->units,
                        .state = rgmi_round_state(RGM_ACT_RELU, o->l2),
                        .round = mpnn_round,
                        .payload = o};

    if (scope == NULL || graph == NULL ||
        !rgm_check_inputs(graph, &o->input, o->rounds.edge_feature))
        return NULL;
    plan.state.l2_bias = o->l2;
    plan.state.dropout = o->dropout;
    plan.state.layer_norm = o->layer_norm;
    return rgmi_run_rounds(scope, rgmi_first_states(scope, graph, &first, &o->input), &plan);
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
