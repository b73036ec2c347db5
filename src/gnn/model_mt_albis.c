/*
 * "mt_albis": an encoder for each node set, then rounds of TF-GNN's model template Albis over any
 * number of node and edge sets.
 */
#include "model_fields.h"

static const char *const attention_names[] = {"none", "multi_head", "gat_v2", NULL};

static void albis_defaults(void *payload)
{
    *(rgm_albis_model_options *)payload =
        (rgm_albis_model_options){.units = 64,
                                  .message_dim = 64,
                                  .layers = 2,
                                  .input_activation = RGM_ACT_RELU,
                                  .heads = 4,
                                  .reduce_type = "mean",
                                  .receiver_state = true,
                                  .norm = RGM_STATE_LAYER,
                                  .batch_momentum = 0.99,
                                  .combine = RGM_SAGE_CONCAT,
                                  .activation = RGM_ACT_RELU,
                                  .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_albis_model_options
static const rgm_field albis_fields[] = {
    RGMI_UNITS_FIELD,
    RGMI_MESSAGE_DIM_FIELD,
    RGMI_LAYERS_FIELD,
    RGMI_INPUT_ENCODER_FIELDS,
    RGM_CHOICE_FIELD(attention_type, attention_names, "how what neighbours say is weighed"),
    RGM_TEXTS_FIELD(attention_edge_sets,
                    "edge sets with attention, the others without; default: all"),
    RGM_INT_FIELD(heads, 1, 1e4, "heads of the attention; they divide message_dim"),
    RGM_TEXT_FIELD(reduce_type,
                   "of edge sets without attention: mean, sum, ..., or several with | between"),
    RGM_BOOL_FIELD(receiver_state, "messages without attention see the receiver's state too"),
    RGM_FLOAT_FIELD(state_dropout, 0, 0.999,
                    "rate of dropout on what edge sets and context bring and on new states"),
    RGM_FLOAT_FIELD(edge_dropout, 0, 0.999,
                    "rate of dropout of whole messages, or of attention's coefficients"),
    RGMI_NORM_FIELDS("of new states"),
    RGMI_RESIDUAL_FIELD("the old state is added to the new one, before the norm"),
    RGMI_JUMP_FIELD,
    RGM_CHOICE_FIELD(combine, rgmi_combine_names,
                     "what edge sets bring to a node summed or side by side"),
    RGMI_ACTIVATION_FIELD("of messages and new states"),
    RGMI_L2_FIELD,
    RGMI_RECEIVER_FIELD(""),
    RGMI_EDGE_STATE_FIELDS,
    RGMI_CONTEXT_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

static rgm_status albis_check(const void *payload)
{
    const rgm_albis_model_options *o = payload;

    if (o->attention_type != RGM_ALBIS_PLAIN && o->message_dim % o->heads != 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "model.message_dim: %lld is not a multiple of heads %lld",
                        (long long)o->message_dim, (long long)o->heads);
    return rgm_reduce_type_check("model.reduce_type", o->reduce_type);
}

static rgm_graph_value *albis_round(rgm_scope *scope, const char *name,
                                    const rgm_graph_value *graph, const rgmi_turn *turn,
                                    const void *payload)
{
    rgm_albis_options round = *(const rgm_albis_options *)payload;

    round.edge_feature = turn->edge_feature;
    round.context_feature = turn->context_feature;
    return rgm_albis_update(scope, name, graph, &round);
}

static rgm_graph_value *albis_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_albis_model_options *o = payload;
    const rgm_texts *attended = &o->attention_edge_sets;
    rgmi_first_layer first = {.units = o->units,
                              .activation = o->input_activation,
                              .dropout = o->input_dropout,
                              .l2 = o->l2};
    rgm_albis_options round = {.units = o->units,
                               .message_dim = o->message_dim,
                               .heads = o->heads,
                               .receivers = o->receiver,
                               .attention = o->attention_type,
                               .attention_edge_sets = attended->count > 0 ? attended->items : NULL,
                               .attention_edge_set_count = attended->count,
                               .reduce_type = o->reduce_type,
                               .receiver_state = o->receiver_state,
                               .edge_dropout = o->edge_dropout,
                               .activation = o->activation,
                               .l2 = o->l2,
                               .state = {.residual = o->rounds.residual,
                                         .sum = o->combine == RGM_SAGE_ADD,
                                         .dropout = o->state_dropout,
                                         .norm = o->norm,
                                         .momentum = o->batch_momentum,
                                         .activation = o->activation}};
    rgmi_rounds plan = {.options = &o->rounds,
                        .input = &o->input,
                        .count = o->layers,
                        .hears_context = true,
                        .own_residual = true,
                        .joins_first = true,
                        .units = o->units,
                        .state = rgmi_round_state(o->activation, o->l2),
                        .round = albis_round,
                        .payload = &round};

    if (scope == NULL || graph == NULL ||
        !rgm_check_inputs(graph, &o->input, o->rounds.edge_feature))
        return NULL;
    return rgmi_run_rounds(scope, rgmi_first_states(scope, graph, &first, &o->input), &plan);
}

const rgm_graph_model_type rgm_albis_model = {
    .section = {.name = "mt_albis",
                .help = "messages or attention, residuals and norms: TF-GNN's model template Albis",
                .options_size = sizeof(rgm_albis_model_options),
                .defaults = albis_defaults,
                .fields = albis_fields,
                .check = albis_check},
    .input = offsetof(rgm_albis_model_options, input),
    .attention = "attention_type: multi_head or gat_v2",
    .build = albis_build,
};
