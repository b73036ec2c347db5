/*
 * "gin": an encoder for each node set, then rounds of sums and dense layers, over any number of
 * node and edge sets; with edge features it is GINE, with `jump` the jumping knowledge of Xu et al.
 * 2018. Their recipe for small graphs: 5 rounds of 16 or 32 units, batch norm, Adam at 0.01, sums
 * as readout.
 */
#include "model_fields.h"

static void gin_defaults(void *payload)
{
    *(rgm_gin_model_options *)payload = (rgm_gin_model_options){.units = 32,
                                                                .layers = 3,
                                                                .mlp_layers = 2,
                                                                .train_epsilon = true,
                                                                .norm = RGM_STATE_BATCH,
                                                                .batch_momentum = 0.99,
                                                                .activation = RGM_ACT_RELU,
                                                                .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_gin_model_options
static const rgm_field gin_fields[] = {
    RGMI_UNITS_FIELD,
    RGMI_LAYERS_FIELD,
    RGM_INT_FIELD(mlp_layers, 1, 100, "dense layers of each round"),
    RGM_BOOL_FIELD(train_epsilon, "how much more a node's own state counts is trained"),
    RGM_FLOAT_FIELD(epsilon, -1e6, 1e6, "how much more it counts where that is not trained"),
    RGMI_NORM_FIELDS("of each dense layer, before its activation"),
    RGMI_JUMP_FIELD,
    RGMI_RESIDUAL_FIELD(RGMI_RESIDUAL_HELP),
    RGMI_ACTIVATION_FIELD("of each dense layer"),
    RGMI_DROPOUT_FIELD("behind each round"),
    RGMI_L2_FIELD,
    RGMI_RECEIVER_FIELD(""),
    RGMI_EDGE_STATE_FIELDS,
    RGMI_CONTEXT_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

static rgm_graph_value *gin_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_gin_model_options *o = payload;
    rgm_gin_conv_options conv = {.l2 = o->l2};
    rgm_gin_state_options state = {.units = o->units,
                                   .mlp_layers = o->mlp_layers,
                                   .train_epsilon = o->train_epsilon,
                                   .epsilon = o->epsilon,
                                   .norm = o->norm,
                                   .momentum = o->batch_momentum,
                                   .activation = o->activation,
                                   .dropout = o->dropout,
                                   .l2 = o->l2};
    rgmi_first_layer first = {.units = o->units, .l2 = o->l2, .needed = true};
    rgm_conv_gnn_options rule = RGM_CONV_GNN_OPTIONS_INIT;
    rgmi_rounds plan = {.options = &o->rounds,
                        .input = &o->input,
                        .count = o->layers,
                        .joins_first = true,
                        .units = o->units,
                        .state = rgmi_round_state(o->activation, o->l2),
                        .round = rgmi_rule_round,
                        .payload = &rule};

    if (scope == NULL || graph == NULL ||
        !rgm_check_inputs(graph, &o->input, o->rounds.edge_feature))
        return NULL;
    conv.units = rgmi_has_relations(graph, o->receiver) ? o->units : 0;
    rule.receivers = o->receiver;
    rule.conv = (rgm_conv){rgm_gin_convolve, &conv};
    rule.next_state = (rgm_next_state){rgm_gin_state, &state};
    return rgmi_run_rounds(scope, rgmi_first_states(scope, graph, &first, &o->input), &plan);
}

const rgm_graph_model_type rgm_gin_model = {
    .section = {.name = "gin",
                .help = "sums of neighbours and dense layers, any number of node and edge sets",
                .options_size = sizeof(rgm_gin_model_options),
                .defaults = gin_defaults,
                .fields = gin_fields},
    .input = offsetof(rgm_gin_model_options, input),
    .build = gin_build,
};
