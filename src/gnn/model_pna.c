/*
 * "pna": principal neighbourhood aggregation (Corso et al. 2020) over any number of node and edge
 * sets, with towers, residuals and jumping knowledge.
 */
#include "model_fields.h"

static void pna_defaults(void *payload)
{
    *(rgm_pna_model_options *)payload = (rgm_pna_model_options){.units = 32,
                                                                .layers = 3,
                                                                .towers = 1,
                                                                .norm = RGM_STATE_BATCH,
                                                                .batch_momentum = 0.99,
                                                                .rounds = {.residual = true},
                                                                .activation = RGM_ACT_RELU,
                                                                .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_pna_model_options
static const rgm_field pna_fields[] = {
    RGMI_UNITS_FIELD,
    RGMI_LAYERS_FIELD,
    RGM_INT_FIELD(towers, 1, 64, "parts of the states that are aggregated by themselves"),
    RGMI_NORM_FIELDS("of each round's states, before the activation"),
    RGMI_RESIDUAL_FIELD("add the round's input"),
    RGMI_JUMP_FIELD,
    RGMI_ACTIVATION_FIELD("of each round"),
    RGMI_DROPOUT_FIELD("behind each round"),
    RGMI_L2_FIELD,
    RGMI_RECEIVER_FIELD(""),
    RGMI_EDGE_STATE_FIELDS,
    RGMI_CONTEXT_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

static rgm_status pna_check(const void *options)
{
    const rgm_pna_model_options *o = options;

    return o->units % o->towers == 0
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "model.units is %lld, no multiple of model.towers, %lld",
                          (long long)o->units, (long long)o->towers);
}

/* drop(act(norm(mix(W h + b + sum of inputs)))) + h */
static rgm_value *pna_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *payload)
{
    const rgm_pna_model_options *o = payload;
    rgm_dense_options dense = {.bias = true, .l2 = o->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_value *y = rgm_dense_with(scope, "self", inputs->state, o->units, &dense);

    for (int64_t i = 0; i < inputs->count; i++)
        y = rgm_add(y, inputs->inputs[i]);
    if (o->towers > 1)
        y = rgm_leaky_relu(rgm_dense_with(scope, "mix", y, o->units, &dense), 0.01);
    y = rgmi_normalise(scope, "norm", y, o->norm, o->batch_momentum);
    y = rgm_dropout(scope, rgm_activate(y, o->activation, 0.2), o->dropout);
    return o->rounds.residual ? rgm_add(y, inputs->state) : y;
}

static rgm_graph_value *pna_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_pna_model_options *o = payload;
    rgm_pna_options conv = {.units = o->units, .towers = o->towers, .l2 = o->l2};
    rgmi_first_layer first = {.units = o->units, .l2 = o->l2, .needed = true};
    rgm_conv_gnn_options rule = RGM_CONV_GNN_OPTIONS_INIT;
    rgmi_rounds plan = {.options = &o->rounds,
                        .input = &o->input,
                        .count = o->layers,
                        .own_residual = true,
                        .joins_first = true,
                        .units = o->units,
                        .state = rgmi_round_state(o->activation, o->l2),
                        .round = rgmi_rule_round,
                        .payload = &rule};

    if (scope == NULL || graph == NULL ||
        !rgm_check_inputs(graph, &o->input, o->rounds.edge_feature))
        return NULL;
    rule.receivers = o->receiver;
    rule.conv = (rgm_conv){rgm_pna_convolve, &conv};
    rule.next_state = (rgm_next_state){pna_state, o};
    return rgmi_run_rounds(scope, rgmi_first_states(scope, graph, &first, &o->input), &plan);
}

const rgm_graph_model_type rgm_pna_model = {
    .section = {.name = "pna",
                .help = "four aggregators by three scalers of degrees, any number of node and edge "
                        "sets",
                .options_size = sizeof(rgm_pna_model_options),
                .defaults = pna_defaults,
                .fields = pna_fields,
                .check = pna_check},
    .input = offsetof(rgm_pna_model_options, input),
    .build = pna_build,
};
