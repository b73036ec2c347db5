/*
 * "rgcn": an encoder for each node set, then rounds of means with a kernel for each relation
 * (Schlichtkrull et al. 2018), which bases or blocks keep small. With receiver `both` the inverse
 * relations of the paper are there too.
 */
#include "model_fields.h"

static const char *const decomposition_names[] = {"none", "basis", "block", NULL};

static void rgcn_defaults(void *payload)
{
    *(rgm_rgcn_model_options *)payload = (rgm_rgcn_model_options){.units = 64,
                                                                  .layers = 2,
                                                                  .input_activation = RGM_ACT_RELU,
                                                                  .decomposition = RGM_BASIS,
                                                                  .bases = 4,
                                                                  .bias = true,
                                                                  .activation = RGM_ACT_RELU,
                                                                  .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_rgcn_model_options
static const rgm_field rgcn_fields[] = {
    RGMI_UNITS_FIELD,
    RGMI_LAYERS_FIELD,
    RGMI_OUTPUT_FIELD("round"),
    RGMI_INPUT_ENCODER_FIELDS,
    RGMI_DROPOUT_FIELD("on the states before each round"),
    RGM_CHOICE_FIELD(decomposition, decomposition_names,
                     "of relations' kernels: none, sums of shared ones, blocks on the diagonal"),
    RGM_INT_FIELD(bases, 1, 1e6, "how many shared kernels, or blocks"),
    RGM_BOOL_FIELD(bias, "add a bias"),
    RGMI_ACTIVATION_FIELD("after each round but the output"),
    RGMI_L2_FIELD,
    RGMI_RECEIVER_FIELD("; both: two relations of each edge set"),
    RGMI_ROUNDS_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

static rgm_status rgcn_check(const void *payload)
{
    const rgm_rgcn_model_options *o = payload;

    if (o->decomposition == RGM_BLOCK_DIAGONAL &&
        (o->units % o->bases != 0 || o->output % o->bases != 0))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "model.bases: %lld blocks do not divide units %lld and output %lld",
                        (long long)o->bases, (long long)o->units, (long long)o->output);
    return RGM_OK;
}

static rgm_graph_value *rgcn_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                   const rgmi_turn *turn, const void *payload)
{
    const rgm_rgcn_model_options *o = payload;
    bool last = turn->number == o->layers;
    rgm_rgcn_options round = {.units = last ? o->output : o->units,
                              .decomposition = o->decomposition,
                              .bases = o->bases,
                              .bias = o->bias,
                              .receivers = o->receiver,
                              .activation = last ? RGM_ACT_NONE : o->activation,
                              .l2 = o->l2};
    rgm_graph_value *dropped =
        rgmi_drop_states(rgm_scope_enter(scope, name), (rgm_graph_value *)graph, o->dropout);

    return rgmi_keep_states(rgm_rgcn_update(scope, name, dropped, &round), dropped, graph);
}

static rgm_graph_value *rgcn_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_rgcn_model_options *o = payload;
    rgmi_first_layer first = {.units = o->units,
                              .activation = o->input_activation,
                              .dropout = o->input_dropout,
                              .l2 = o->l2};
    rgmi_rounds plan = {.options = &o->rounds,
                        .input = &o->input,
                        .count = o->layers + (o->output > 0),
                        .output = o->output > 0,
                        .joins_first = true,
                        .units = o->units,
                        .state = rgmi_round_state(o->activation, o->l2),
                        .round = rgcn_round,
                        .payload = o};

    if (scope == NULL || graph == NULL || !rgm_check_inputs(graph, &o->input, NULL))
        return NULL;
    return rgmi_run_rounds(scope, rgmi_first_states(scope, graph, &first, &o->input), &plan);
}

const rgm_graph_model_type rgm_rgcn_model = {
    .section = {.name = "rgcn",
                .help = "means with a kernel for each relation, made of bases or blocks",
                .options_size = sizeof(rgm_rgcn_model_options),
                .defaults = rgcn_defaults,
                .fields = rgcn_fields,
                .check = rgcn_check},
    .input = offsetof(rgm_rgcn_model_options, input),
    .build = rgcn_build,
};
