/*
 * "appnp" and "sgc": what nodes say by themselves, spread over the edges without any weights. The
 * paper's recipe for Cora: hidden [64], 10 iterations, teleport 0.1, dropout 0.5 on features and on
 * edges, l2 5e-3 on the first layer, Adam at 0.01.
 */
#include "model_fields.h"

static void appnp_defaults(void *payload)
{
    static const int64_t hidden[] = {64};

    *(rgm_appnp_model_options *)payload =
        (rgm_appnp_model_options){.hidden = {hidden, 1},
                                  .iterations = 10,
                                  .teleport = 0.1,
                                  .dropout = 0.5,
                                  .activation = RGM_ACT_RELU,
                                  .normalization = RGM_NORM_IN_OUT,
                                  .self_loops = true,
                                  .bias = true,
                                  .l2_layers = RGM_L2_FIRST,
                                  .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_appnp_model_options
static const rgm_field appnp_fields[] = {
    RGM_INTS_FIELD(hidden, 1, 1e6, "channels of each hidden layer of a node by itself"),
    RGMI_OUTPUT_FIELD("layer"),
    RGM_INT_FIELD(iterations, 0, 1000, "how often what nodes say is spread over the edges"),
    RGM_FLOAT_FIELD(teleport, 0, 1, "how much of its own a node keeps at every iteration"),
    RGMI_DROPOUT_FIELD("before each layer"),
    RGM_FLOAT_FIELD(edge_dropout, 0, 0.999, "rate of dropout of edges at every iteration"),
    RGMI_ACTIVATION_FIELD("after each hidden layer"),
    RGMI_DEGREE_NORM_FIELDS,
    RGMI_L2_LAYERS_FIELDS("layers"),
    RGMI_ONE_SET_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

static void sgc_defaults(void *payload)
{
    *(rgm_sgc_model_options *)payload = (rgm_sgc_model_options){.hops = 2,
                                                                .normalization = RGM_NORM_IN_OUT,
                                                                .self_loops = true,
                                                                .bias = true,
                                                                .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_sgc_model_options
static const rgm_field sgc_fields[] = {
    RGM_INT_FIELD(output, 1, 1e6, "channels (classes, with no task head); required"),
    RGM_INT_FIELD(hops, 0, 1000, "how often features are spread over the edges"),
    RGMI_DROPOUT_FIELD("of the features"),
    RGMI_DEGREE_NORM_FIELDS,
    RGMI_L2_FIELD,
    RGMI_ONE_SET_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

static rgm_status sgc_check(const void *options)
{
    return ((const rgm_sgc_model_options *)options)->output > 0
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "model.output must be given: the channels of a node, "
                                          "which are its classes where no task head follows");
}

/* Where and how what nodes say is spread. */
typedef struct spreading {
    rgm_value *pattern;
    rgm_spmm_options sum;
    int64_t times;
    double teleport, dropout;
} spreading;

/* One for every entry of the pattern, to be dropped. */
static rgm_value *ones(rgm_scope *scope, rgm_value *pattern)
{
    rgm_value *x = rgm_broadcast_rows(pattern, rgm_shift(rgm_zero_rows(scope, pattern, 1), 1));
    rgm_dim count;

    if (x == NULL)
        return NULL;
    count = rgm_value_dim(x, 0);
    return rgm_reshape(x, 1, &count);
}

static spreading prepare(rgm_scope *scope, const rgm_graph_value *graph, const char *edges,
                         rgm_receivers receiver, const rgm_gcn_options *adjacency, double dropout)
{
    spreading s = {.pattern = rgm_adjacency(graph, edges, (rgm_tag)receiver), .dropout = dropout};
    rgm_gcn_options weighted = *adjacency;

    if (s.pattern == NULL)
        return s;
    if (dropout > 0) /* loops become entries like others, so that they are dropped as well */
        weighted.edge_weight = ones(scope, s.pattern);
    s.sum = rgmi_gcn_sum(scope, &s.pattern, &weighted);
    return s;
}

static rgm_value *spread(rgm_scope *scope, rgm_value *h, const spreading *s)
{
    rgm_value *z = h, *own = s->teleport > 0 ? rgm_scale(h, s->teleport) : NULL;

    for (int64_t i = 0; i < s->times; i++) {
        rgm_spmm_options sum = s->sum;
        char name[32];

        snprintf(name, sizeof name, "iteration_%lld", (long long)i);
        if (s->dropout > 0)
            sum.weight = rgm_dropout(rgm_scope_enter(scope, name), sum.weight, s->dropout);
        z = rgm_spmm(s->pattern, z, &sum);
        if (own != NULL)
            z = rgm_add(rgm_scale(z, 1 - s->teleport), own);
    }
    return z;
}

static rgm_graph_value *appnp_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_appnp_model_options *o = payload;
    const rgm_gcn_options adjacency = {.normalization = o->normalization,
                                       .self_loops = o->self_loops};
    rgm_dense_options dense = {
        .bias = o->bias, .slope = 0.2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    const char *nodes, *edges;
    int64_t layers = o->hidden.count + (o->output > 0);
    spreading s;
    rgm_value *h;

    h = rgmi_hom_input(&nodes, &edges, scope, graph, o->node_set, o->edge_set, o->receiver,
                       &o->input, NULL);
    if (h == NULL)
        return NULL;
    for (int64_t i = 0; i < layers; i++) {
        char name[32];
        bool last = i == o->hidden.count;

        snprintf(name, sizeof name, "dense_%lld", (long long)i);
        dense.activation = last ? RGM_ACT_NONE : o->activation;
        dense.l2 = i == 0 || o->l2_layers == RGM_L2_ALL ? o->l2 : 0;
        h = rgm_dropout(rgm_scope_enter(scope, name), h, o->dropout);
        h = rgm_dense_with(scope, name, h, last ? o->output : o->hidden.items[i], &dense);
    }
    s = prepare(scope, graph, edges, o->receiver, &adjacency, o->edge_dropout);
    s.times = o->iterations;
    s.teleport = o->teleport;
    return rgm_with_state(graph, nodes, spread(scope, rgm_as_rows(scope, h), &s));
}

/* A (X W) is (A X) W, and W makes it narrow first. */
static rgm_graph_value *sgc_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_sgc_model_options *o = payload;
    const rgm_gcn_options adjacency = {.normalization = o->normalization,
                                       .self_loops = o->self_loops};
    const rgm_dense_options dense = {
        .slope = 0.2, .l2 = o->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    const rgm_init zeros = {RGM_INIT_ZEROS, 0};
    rgm_scope *own = rgm_scope_enter(scope, "dense");
    const char *nodes, *edges;
    spreading s;
    rgm_value *h;

    if (scope == NULL || !rgmi_positive(scope, o->output, "output"))
        return NULL;
    h = rgmi_hom_input(&nodes, &edges, scope, graph, o->node_set, o->edge_set, o->receiver,
                       &o->input, NULL);
    if (h == NULL)
        return NULL;
    h = rgm_dense_with(own, NULL, rgm_dropout(own, h, o->dropout), o->output, &dense);
    s = prepare(scope, graph, edges, o->receiver, &adjacency, 0);
    s.times = o->hops;
    h = spread(scope, h, &s);
    if (o->bias)
        h = rgm_add(h, rgm_scope_parameter(own, "bias", 1, &o->output, zeros));
    return rgm_with_state(graph, nodes, h);
}

const rgm_graph_model_type rgm_appnp_model = {
    .section = {.name = "appnp",
                .help = "dense layers, then personalised PageRank, one node and one edge set",
                .options_size = sizeof(rgm_appnp_model_options),
                .defaults = appnp_defaults,
                .fields = appnp_fields},
    .input = offsetof(rgm_appnp_model_options, input),
    .build = appnp_build,
};

const rgm_graph_model_type rgm_sgc_model = {
    .section = {.name = "sgc",
                .help =
                    "a linear model of features spread over the edges, one node and one edge set",
                .options_size = sizeof(rgm_sgc_model_options),
                .defaults = sgc_defaults,
                .fields = sgc_fields,
                .check = sgc_check},
    .input = offsetof(rgm_sgc_model_options, input),
    .build = sgc_build,
};
