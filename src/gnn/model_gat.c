/*
 * "gat_v2": a stack of attention convolutions (Brody et al. 2022) with dropout before each and on
 * the attention. The citation recipe of Velickovic et al. 2018: hidden [8], 8 heads, dropout 0.6
 * and 0.6, elu, l2 2.5e-4 on all layers, Adam at 0.005.
 */
#include "gnn_internal.h"

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
                                                                .l2_layers = 1,
                                                                .receiver = RGM_TARGET};
}

#define AT(member) offsetof(rgm_gat_model_options, member)
static const rgm_field gat_fields[] = {
    {.name = "hidden",
     .kind = RGM_FIELD_INTS,
     .offset = AT(hidden),
     .min = 1,
     .max = 1e6,
     .help = "channels of each head, for each hidden convolution"},
    {.name = "heads",
     .kind = RGM_FIELD_INT,
     .offset = AT(heads),
     .min = 1,
     .max = 1024,
     .help = "heads of the hidden convolutions, side by side"},
    {.name = "output",
     .kind = RGM_FIELD_INT,
     .offset = AT(output),
     .min = 0,
     .max = 1e6,
     .help =
         "channels of a last convolution without activation (classes, with no task head); 0: none"},
    {.name = "output_heads",
     .kind = RGM_FIELD_INT,
     .offset = AT(output_heads),
     .min = 1,
     .max = 1024,
     .help = "heads of the last convolution, averaged"},
    {.name = "dropout",
     .kind = RGM_FIELD_FLOAT,
     .offset = AT(dropout),
     .min = 0,
     .max = 0.999,
     .help = "rate of dropout before each convolution"},
    {.name = "attention_dropout",
     .kind = RGM_FIELD_FLOAT,
     .offset = AT(attention_dropout),
     .min = 0,
     .max = 0.999,
     .help = "rate of dropout on the attention coefficients"},
    {.name = "activation",
     .kind = RGM_FIELD_CHOICE,
     .offset = AT(activation),
     .choices = rgm_activation_names,
     .help = "after each hidden convolution"},
    {.name = "self_loops",
     .kind = RGM_FIELD_BOOL,
     .offset = AT(self_loops),
     .help = "each node also hears itself"},
    {.name = "bias", .kind = RGM_FIELD_BOOL, .offset = AT(bias), .help = "of queries and values"},
    {.name = "share_weights",
     .kind = RGM_FIELD_BOOL,
     .offset = AT(share_weights),
     .help = "queries and values by one kernel"},
    {.name = "residual",
     .kind = RGM_FIELD_BOOL,
     .offset = AT(residual),
     .help = "add the convolution's input, through a kernel where widths differ"},
    {.name = "l2",
     .kind = RGM_FIELD_FLOAT,
     .offset = AT(l2),
     .min = 0,
     .max = 1e6,
     .help = "coefficient of the sum of squared kernel weights in the loss"},
    {.name = "l2_layers",
     .kind = RGM_FIELD_CHOICE,
     .offset = AT(l2_layers),
     .choices = rgmi_l2_layer_names,
     .help = "which convolutions l2 holds for"},
    {.name = "receiver",
     .kind = RGM_FIELD_CHOICE,
     .offset = AT(receiver),
     .choices = rgmi_receiver_names,
     .help = "which end of an edge hears"},
    {.name = "node_set",
     .kind = RGM_FIELD_TEXT,
     .offset = AT(node_set),
     .help = "default: the only one"},
    {.name = "edge_set",
     .kind = RGM_FIELD_TEXT,
     .offset = AT(edge_set),
     .help = "default: the only one"},
    {.name = "input",
     .kind = RGM_FIELD_GROUP,
     .offset = AT(input),
     .group = rgmi_input_fields,
     .help = "what the model starts from"},
    {0},
};

/* act(conv(h) + h), the skip through a kernel where widths differ. */
static rgm_value *gat_layer(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                            const char *edges, rgm_value *h, rgm_gatv2_options conv,
                            const rgm_gat_model_options *o)
{
    rgm_scope *layer = rgm_scope_enter(scope, name);
    int64_t units = conv.mean_heads ? conv.units : conv.heads * conv.units;
    rgm_dense_options skip = {
        .no_bias = true, .l2 = conv.l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_activation activation = conv.activation;
    rgm_value *y;

    h = rgm_dropout(layer, h, o->dropout);
    if (!o->residual)
        return rgm_gatv2_conv(scope, name, graph, edges, h, &conv);
    conv.activation = RGM_ACT_NONE;
    y = rgm_gatv2_conv(scope, name, graph, edges, h, &conv);
    if (!rgmi_is_dense(h) || rgm_width(h) != units)
        h = rgm_dense_with(layer, "skip", h, units, &skip);
    return rgm_activate(rgm_add(y, h), activation, 0.2);
}

static rgm_graph_value *gat_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_gat_model_options *o = payload;
    rgm_gatv2_options conv = RGM_GATV2_OPTIONS_INIT;
    const char *nodes, *edges;
    int64_t layers = o->hidden.count + (o->output > 0);
    rgm_value *h;

    if (scope == NULL || graph == NULL || !rgmi_check_inputs(graph, &o->input) ||
        !rgmi_hom_sets(&nodes, &edges, graph, o->node_set, o->edge_set) ||
        !rgmi_one_receiver(scope, o->receiver))
        return NULL;
    h = rgmi_node_input(scope, graph, nodes, &o->input);
    if (h == NULL)
        return rgmi_no_input(graph, nodes);
    conv.receiver = (rgm_tag)o->receiver;
    conv.self_loops = o->self_loops;
    conv.no_bias = !o->bias;
    conv.share_weights = o->share_weights;
    conv.attention_dropout = o->attention_dropout;
    for (int64_t i = 0; i < layers; i++) {
        char name[32];
        bool last = i == o->hidden.count;

        snprintf(name, sizeof name, "conv_%lld", (long long)i);
        conv.heads = last ? o->output_heads : o->heads;
        conv.units = last ? o->output : o->hidden.items[i];
        conv.mean_heads = last;
        conv.activation = last ? RGM_ACT_NONE : (rgm_activation)o->activation;
        conv.l2 = i == 0 || o->l2_layers == 1 ? o->l2 : 0;
        h = gat_layer(scope, name, graph, edges, h, conv, o);
    }
    return rgm_with_state(graph, nodes, h);
}

const rgm_graph_model_type rgm_gat_model = {
    .section = {.name = "gat_v2",
                .help = "attention convolutions, one node and one edge set",
                .options_size = sizeof(rgm_gat_model_options),
                .defaults = gat_defaults,
                .fields = gat_fields},
    .build = gat_build,
};
