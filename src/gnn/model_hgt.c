/*
 * "hgt": an encoder for each node set, then rounds of the heterogeneous graph transformer (Hu et
 * al. 2020) over any number of node and edge sets.
 */
#include "model_fields.h"

static void hgt_defaults(void *payload)
{
    *(rgm_hgt_model_options *)payload = (rgm_hgt_model_options){.units = 64,
                                                                .heads = 4,
                                                                .layers = 2,
                                                                .input_activation = RGM_ACT_GELU,
                                                                .dropout = 0.2,
                                                                .weighted_skip = true,
                                                                .layer_norm = true,
                                                                .bias = true,
                                                                .activation = RGM_ACT_GELU,
                                                                .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_hgt_model_options
static const rgm_field hgt_fields[] = {
    RGMI_UNITS_FIELD,
    RGM_INT_FIELD(heads, 1, 1e4, "heads of the attention; they divide units"),
    RGMI_LAYERS_FIELD,
    RGMI_INPUT_ENCODER_FIELDS,
    RGMI_DROPOUT_FIELD("on what is new of a state"),
    RGM_BOOL_FIELD(weighted_skip,
                   "how much of a state is new is trained for each node set; false: it is added"),
    RGM_BOOL_FIELD(layer_norm, "normalise each new state"),
    RGM_BOOL_FIELD(bias, "biases of queries, keys, messages and outputs"),
    RGMI_ACTIVATION_FIELD("of what edges bring"),
    RGMI_L2_FIELD,
    RGMI_RECEIVER_FIELD("; both: with kernels for each"),
    RGMI_CONTEXT_FIELDS,
    RGMI_JUMP_FIELD,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

static rgm_status hgt_check(const void *payload)
{
    const rgm_hgt_model_options *o = payload;

    if (o->units % o->heads != 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "model.units: %lld is not a multiple of heads %lld",
                        (long long)o->units, (long long)o->heads);
    return RGM_OK;
}

static rgm_graph_value *hgt_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgmi_turn *turn, const void *round)
{
    (void)turn;
    return rgm_hgt_update(scope, name, graph, round);
}

static rgm_graph_value *hgt_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_hgt_model_options *o = payload;
    rgmi_first_layer first = {.units = o->units,
                              .activation = o->input_activation,
                              .dropout = o->input_dropout,
                              .l2 = o->l2};
    rgm_hgt_options round = {.heads = o->heads,
                             .units = o->units / o->heads,
                             .receivers = o->receiver,
                             .weighted_skip = o->weighted_skip,
                             .layer_norm = o->layer_norm,
                             .bias = o->bias,
                             .dropout = o->dropout,
                             .activation = o->activation,
                             .l2 = o->l2};
    rgmi_rounds plan = {.options = &o->rounds,
                        .input = &o->input,
                        .count = o->layers,
                        .joins_first = true,
                        .units = o->units,
                        .state = rgmi_round_state(o->activation, o->l2),
                        .round = hgt_round,
                        .payload = &round};

    if (scope == NULL || graph == NULL || !rgm_check_inputs(graph, &o->input, NULL))
        return NULL;
    return rgmi_run_rounds(scope, rgmi_first_states(scope, graph, &first, &o->input), &plan);
}

const rgm_graph_model_type rgm_hgt_model = {
    .section = {.name = "hgt",
                .help = "heterogeneous graph transformer: attention over all relations of a node",
                .options_size = sizeof(rgm_hgt_model_options),
                .defaults = hgt_defaults,
                .fields = hgt_fields,
                .check = hgt_check},
    .input = offsetof(rgm_hgt_model_options, input),
    .attention = "",
    .build = hgt_build,
};
