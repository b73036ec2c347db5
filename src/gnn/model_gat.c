/*
 * "gat_v2": a stack of attention convolutions (Brody et al. 2022) with dropout before each and on
 * the attention. The citation recipe of Velickovic et al. 2018: hidden [8], 8 heads, dropout 0.6
 * and 0.6, elu, l2 2.5e-4 on all layers, Adam at 0.005.
 */
#include "model_fields.h"

static void gat_defaults(void *payload)
{
    static const int64_t hidden[] = {8};

    *(rgm_gat_model_options *)payload = (rgm_gat_model_options){.hidden = {hidden, 1},
                                                                .heads = 8,
                                                                .output_heads = 1,
                                                                .dropout = 0.6,
                                                                .attention_dropout = 0.6,
                                                                .activation = RGM_ACT_ELU,
                                                                .self_loops = true,
                                                                .bias = true,
                                                                .l2_layers = RGM_L2_ALL,
                                                                .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_gat_model_options
static const rgm_field gat_fields[] = {
    RGM_INTS_FIELD(hidden, 1, 1e6, "channels of each head, for each hidden convolution"),
    RGM_INT_FIELD(heads, 1, 1024, "heads of the hidden convolutions, side by side"),
    RGMI_OUTPUT_FIELD("convolution"),
    RGM_INT_FIELD(output_heads, 1, 1024, "heads of the last convolution, averaged"),
    RGMI_DROPOUT_FIELD("before each convolution"),
    RGM_FLOAT_FIELD(attention_dropout, 0, 0.999, "rate of dropout on the attention coefficients"),
    RGMI_ACTIVATION_FIELD("after each hidden convolution"),
    RGM_BOOL_FIELD(self_loops, "each node also hears itself"),
    RGM_BOOL_FIELD(bias, "of queries and values"),
    RGM_BOOL_FIELD(share_weights, "queries and values by one kernel"),
    RGMI_RESIDUAL_FIELD("add the convolution's input, through a kernel where widths differ"),
    RGMI_JUMP_FIELD,
    RGMI_L2_LAYERS_FIELDS("convolutions"),
    RGMI_ONE_SET_FIELDS,
    RGMI_EDGE_STATE_FIELDS,
    RGMI_CONTEXT_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

typedef struct gat_stack {
    const rgm_gat_model_options *o;
    const char *nodes, *edges;
} gat_stack;

/* act(conv(h) + h), the skip through a kernel where widths differ. */
static rgm_value *gat_layer(rgm_scope *layer, const rgm_graph_value *graph, const gat_stack *s,
                            const char *edge_feature, rgm_gatv2_options conv)
{
    const rgm_gat_model_options *o = s->o;
    int64_t units = conv.mean_heads ? conv.units : conv.heads * conv.units;
    rgm_dense_options skip = {.l2 = conv.l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_activation activation = conv.activation;
    rgm_value *h = rgmi_piece_state(layer, graph, RGM_NODE_SET, s->nodes, NULL), *edge = NULL, *y;
    rgm_conv_input in;

    h = rgm_dropout(layer, h, o->dropout);
    if (edge_feature != NULL)
        edge = rgmi_piece_state(layer, graph, RGM_EDGE_SET, s->edges, edge_feature);
    in = rgm_conv_along_edges(graph, s->edges, (rgm_tag)o->receiver, h, h, edge);
    if (!o->rounds.residual)
        return rgm_gatv2_convolve(layer, &in, &conv);
    conv.activation = RGM_ACT_NONE;
    y = rgm_gatv2_convolve(layer, &in, &conv);
    if (!rgmi_is_dense(h) || rgm_width(h) != units)
        h = rgm_dense_with(layer, "skip", h, units, &skip);
    return rgm_activate(rgm_add(y, h), activation, 0.2);
}

static rgm_graph_value *gat_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgmi_turn *turn, const void *payload)
{
    const gat_stack *s = payload;
    const rgm_gat_model_options *o = s->o;
    bool last = turn->number == o->hidden.count;
    rgm_gatv2_options conv = RGM_GATV2_OPTIONS_INIT;
    rgm_scope *layer = rgm_scope_enter(scope, name);

    conv.self_loops = o->self_loops;
    conv.bias = o->bias;
    conv.share_weights = o->share_weights;
    conv.attention_dropout = o->attention_dropout;
    conv.heads = last ? o->output_heads : o->heads;
    conv.units = last ? o->output : o->hidden.items[turn->number];
    conv.mean_heads = last;
    conv.activation = last ? RGM_ACT_NONE : o->activation;
    conv.l2 = turn->number == 0 || o->l2_layers == RGM_L2_ALL ? o->l2 : 0;
    return rgm_with_state(graph, s->nodes, gat_layer(layer, graph, s, turn->edge_feature, conv));
}

static bool is_heard(const char *edge_set, const void *payload)
{
    return strcmp(edge_set, ((const gat_stack *)payload)->edges) == 0;
}

static rgm_graph_value *gat_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_gat_model_options *o = payload;
    gat_stack stack = {.o = o};
    rgmi_rounds plan = {.options = &o->rounds,
                        .input = &o->input,
                        .count = o->hidden.count + (o->output > 0),
                        .output = o->output > 0,
                        .name = "conv",
                        .carries = is_heard,
                        .own_residual = true,
                        .state = rgmi_round_state(o->activation, o->l2),
                        .l2_first = o->l2_layers == RGM_L2_FIRST,
                        .round = gat_round,
                        .payload = &stack};
    rgm_value *h = rgmi_hom_input(&stack.nodes, &stack.edges, scope, graph, o->node_set,
                                  o->edge_set, o->receiver, &o->input, o->rounds.edge_feature);

    if (h == NULL)
        return NULL;
    plan.node_set = stack.nodes;
    return rgmi_run_rounds(scope, rgm_with_state(graph, stack.nodes, h), &plan);
}

const rgm_graph_model_type rgm_gat_model = {
    .section = {.name = "gat_v2",
                .help = "attention convolutions, one node and one edge set",
                .options_size = sizeof(rgm_gat_model_options),
                .defaults = gat_defaults,
                .fields = gat_fields},
    .input = offsetof(rgm_gat_model_options, input),
    .attention = "",
    .build = gat_build,
};
