/*
 * "gcn": a stack of graph convolutions with dropout before each (Kipf & Welling 2017). Their
 * recipe: hidden [16], dropout 0.5, normalized features, l2 2.5e-4 on the first layer (their weight
 * decay 5e-4 counts half the squares), Adam at 0.01.
 */
#include "gnn_internal.h"

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
    RGM_INT_FIELD(
        output, 0, 1e6,
        "channels of a last convolution without activation (classes, with no task head); 0: none"),
    RGM_FLOAT_FIELD(dropout, 0, 0.999, "rate of dropout before each convolution"),
    RGM_CHOICE_FIELD(activation, rgm_activation_names, "after each hidden convolution"),
    RGM_CHOICE_FIELD(normalization, rgmi_normalization_names, "how degrees scale the sum"),
    RGM_BOOL_FIELD(self_loops, "each node also hears itself"),
    RGM_BOOL_FIELD(bias, "add a bias"),
    RGM_FLOAT_FIELD(l2, 0, 1e6, "coefficient of the sum of squared kernel weights in the loss"),
    RGM_CHOICE_FIELD(l2_layers, rgmi_l2_layer_names, "which convolutions l2 holds for"),
    RGM_CHOICE_FIELD(receiver, rgmi_receiver_names, "which end of an edge hears"),
    RGM_TEXT_FIELD(node_set, "default: the only one"),
    RGM_TEXT_FIELD(edge_set, "default: the only one"),
    RGM_TEXT_FIELD(edge_weight, "edge feature with a number for each edge; default: ones"),
    RGM_GROUP_FIELD(input, rgmi_input_fields, "what the model starts from"),
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

static rgm_graph_value *gcn_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_gcn_model_options *o = payload;
    rgm_gcn_options conv = RGM_GCN_OPTIONS_INIT;
    const char *nodes, *edges;
    int64_t layers = o->hidden.count + (o->output > 0);
    rgm_value *h;

    h = rgmi_hom_input(&nodes, &edges, scope, graph, o->node_set, o->edge_set, o->receiver,
                       &o->input);
    if (h == NULL)
        return NULL;
    conv.receiver = (rgm_tag)o->receiver;
    conv.normalization = o->normalization;
    conv.self_loops = o->self_loops;
    conv.bias = o->bias;
    if (o->edge_weight != NULL)
        conv.edge_weight = edge_weight(scope, graph, edges, o->edge_weight);
    for (int64_t i = 0; i < layers; i++) {
        char name[32];
        bool last = i == o->hidden.count;

        snprintf(name, sizeof name, "conv_%lld", (long long)i);
        conv.units = last ? o->output : o->hidden.items[i];
        conv.activation = last ? RGM_ACT_NONE : o->activation;
        conv.l2 = i == 0 || o->l2_layers == RGM_L2_ALL ? o->l2 : 0;
        h = rgm_dropout(rgm_scope_enter(scope, name), h, o->dropout);
        h = rgm_gcn_conv_with(scope, name, graph, edges, h, &conv);
    }
    return rgm_with_state(graph, nodes, h);
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
