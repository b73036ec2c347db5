/*
 * "gcn": a stack of graph convolutions with dropout before each (Kipf & Welling 2017). Their
 * recipe: hidden [16], dropout 0.5, normalized features, l2 2.5e-4 on the first layer (their weight
 * decay 5e-4 counts half the squares), Adam at 0.01.
 */
#include "model_fields.h"

static void gcn_defaults(void *payload)
{
    static const int64_t hidden[] = {16};

    *(rgm_gcn_model_options *)payload = (rgm_gcn_model_options){.hidden = {hidden, 1},
                                                                .dropout = 0.5,
                                                                .activation = RGM_ACT_RELU,
                                                                .normalization = RGM_NORM_IN_OUT,
                                                                .self_loops = true,
                                                                .bias = true,
                                                                .l2_layers = RGM_L2_FIRST,
                                                                .receiver = RGM_AT_TARGET};
}

const char *const rgmi_normalization_names[] = {"none", "in", "out", "in_out", "in_in", NULL};

#define RGM_OPTIONS rgm_gcn_model_options
static const rgm_field gcn_fields[] = {
    RGM_INTS_FIELD(hidden, 1, 1e6, "channels of each hidden convolution"),
    RGMI_OUTPUT_FIELD("convolution"),
    RGMI_DROPOUT_FIELD("before each convolution"),
    RGMI_ACTIVATION_FIELD("after each hidden convolution"),
    RGMI_DEGREE_NORM_FIELDS,
    RGMI_L2_LAYERS_FIELDS("convolutions"),
    RGMI_ONE_SET_FIELDS,
    RGM_TEXT_FIELD(edge_weight, "edge feature with a number for each edge; default: ones"),
    RGMI_ROUNDS_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

static rgm_value *edge_weight(rgm_scope *scope, const rgm_graph_value *graph, const char *edge_set,
                              const char *feature)
{
    rgm_value *w = rgm_edge_feature(graph, edge_set, feature);
    rgm_dim shape[1];

    if (w == NULL)
        return NULL;
    if (rgm_value_dtype(w) != rgm_scope_dtype(scope))
        w = rgm_cast(w, rgm_scope_dtype(scope));
    if (w == NULL || rgm_value_rank(w) != 2 || rgm_value_dim(w, 1) != 1)
        return w;
    shape[0] = rgm_value_dim(w, 0);
    return rgm_reshape(w, 1, shape);
}

typedef struct gcn_stack {
    const rgm_gcn_model_options *o;
    const char *nodes, *edges;
    rgm_gcn_options conv; /* what all convolutions have */
} gcn_stack;

static rgm_graph_value *gcn_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgmi_turn *turn, const void *payload)
{
    const gcn_stack *s = payload;
    rgm_gcn_options conv = s->conv;
    rgm_value *h = rgmi_piece_state(scope, graph, RGM_NODE_SET, s->nodes, NULL);
    bool last = turn->number == s->o->hidden.count;

    conv.units = last ? s->o->output : s->o->hidden.items[turn->number];
    conv.activation = last ? RGM_ACT_NONE : s->o->activation;
    conv.l2 = turn->number == 0 || s->o->l2_layers == RGM_L2_ALL ? s->o->l2 : 0;
    h = rgm_dropout(rgm_scope_enter(scope, name), h, s->o->dropout);
    h = rgm_gcn_conv_with(scope, name, graph, s->edges, h, &conv);
    return rgm_with_state(graph, s->nodes, h);
}

static rgm_graph_value *gcn_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_gcn_model_options *o = payload;
    gcn_stack stack = {.o = o, .conv = RGM_GCN_OPTIONS_INIT};
    rgmi_rounds plan = {.options = &o->rounds,
                        .input = &o->input,
                        .count = o->hidden.count + (o->output > 0),
                        .output = o->output > 0,
                        .name = "conv",
                        .state = rgmi_round_state(o->activation, o->l2),
                        .l2_first = o->l2_layers == RGM_L2_FIRST,
                        .round = gcn_round,
                        .payload = &stack};
    rgm_value *h = rgmi_hom_input(&stack.nodes, &stack.edges, scope, graph, o->node_set,
                                  o->edge_set, o->receiver, &o->input, NULL);

    if (h == NULL)
        return NULL;
    plan.node_set = stack.nodes;
    stack.conv.receiver = (rgm_tag)o->receiver;
    stack.conv.normalization = o->normalization;
    stack.conv.self_loops = o->self_loops;
    stack.conv.bias = o->bias;
    if (o->edge_weight != NULL)
        stack.conv.edge_weight = edge_weight(scope, graph, stack.edges, o->edge_weight);
    return rgmi_run_rounds(scope, rgm_with_state(graph, stack.nodes, h), &plan);
}

const rgm_graph_model_type rgm_gcn_model = {
    .section = {.name = "gcn",
                .help = "graph convolutions with degree normalisation, one node and one edge set",
                .options_size = sizeof(rgm_gcn_model_options),
                .defaults = gcn_defaults,
                .fields = gcn_fields},
    .input = offsetof(rgm_gcn_model_options, input),
    .build = gcn_build,
};
