/*
 * Tests of the whole models: options from YAML, parameters, gradients of each, node order, batch
 * mates, random streams, mistakes, failing allocations.
 */
#include "gnn_check.h"

/* Options of a model as an experiment file would give them; arena holds the texts. */
typedef struct made {
    const rgm_graph_model_type *type;
    rgm_arena *arena;
    rgm_yaml *yaml;
    void *options;
} made;

static rgm_status make_options(made *m, const char *model, const char *yaml)
{
    *m = (made){.type =
                    (const rgm_graph_model_type *)rgm_section_type_find(rgm_graph_models, model)};
    if (m->type == NULL)
        fail_msg("no model '%s'", model);
    RGM_TRY(rgm_arena_create(&m->arena));
    m->options = rgm_arena_alloc(m->arena, m->type->section.options_size);
    if (m->options == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: options");
    m->type->section.defaults(m->options);
    if (yaml[0] == '\0')
        return RGM_OK;
    RGM_TRY(rgm_yaml_parse(&m->yaml, yaml, (int64_t)strlen(yaml), "model.yaml"));
    return rgm_options_read(m->options, m->type->section.fields, rgm_yaml_root(m->yaml), "model",
                            NULL, m->arena);
}

static void drop_options(made *m)
{
    rgm_yaml_release(m->yaml);
    rgm_arena_release(m->arena);
}

/* The model over the world's graph; a node set's state. */
static rgm_value *build_of(world *w, const char *model, const char *yaml, const char *node_set)
{
    made m;
    rgm_graph_value *graph;

    CHECK_OK(make_options(&m, model, yaml));
    graph = m.type->build(w->scope, w->value, m.options);
    drop_options(&m);
    if (rgm_cgraph_status(w->graph) != RGM_OK)
        fail_msg("%s: %s: %s", model, yaml, rgm_error_message());
    return rgm_node_feature(graph, node_set, RGM_HIDDEN_STATE);
}

static rgm_value *build(world *w, const char *model, const char *yaml)
{
    return build_of(w, model, yaml, "paper");
}

/* Papers with a second edge set, of no edges. */
#define LINKED PAPERS "edge_sets { key: 'near' value { source: 'paper' target: 'paper' } }"

static const struct {
    const char *model, *schema, *yaml;
} cases[] = {
    {"gcn", PAPERS, "hidden: [4]\noutput: 2\nl2: 0.01\nactivation: tanh\n"},
    {"gcn", PAPERS,
     "hidden: [3, 2]\nself_loops: false\nnormalization: in\nedge_weight: w\n"
     "input: {features: words, normalize: true}\nl2: 0.01\nl2_layers: all\n"},
    {"gat_v2", PAPERS, "hidden: [2]\nheads: 3\noutput: 2\noutput_heads: 2\nl2: 0.01\n"},
    {"gat_v2", PAPERS,
     "hidden: [2, 2]\nheads: 2\nresidual: true\nshare_weights: true\n"
     "self_loops: false\ninput: {features: [x]}\n"},
    {"graph_sage", PAPERS, "hidden: [4]\noutput: 2\nl2_normalize: true\n"},
    {"graph_sage", LIBRARY, "hidden: [4]\noutput: 2\nreceiver: both\ncombine: concat\nl2: 0.01\n"},
    {"graph_sage", PAPERS, "hidden: [3]\naggregator: pool\nhidden_units: 4\n"},
    {"graph_sage", PAPERS, "hidden: [3]\naggregator: max\ninput: {features: x}\n"},
    {"graph_sage", LIBRARY, "hidden: [3]\naggregator: gcn\noutput: 2\n"},
    {"vanilla_mpnn", LIBRARY,
     "units: 3\nmessage_dim: 4\nencode: false\nreceiver_state: false\nreduce_type: mean\n"},
    {"vanilla_mpnn", PAPERS, "units: 3\nmessage_dim: 4\nlayer_norm: true\nl2: 0.01\n"},
    {"vanilla_mpnn", LIBRARY,
     "units: 3\nmessage_dim: 4\nreceiver: both\nedge_feature: e\n"
     "reduce_type: mean|max_no_inf\ninput_units: 5\n"},
    {"appnp", PAPERS, "hidden: [3]\noutput: 2\niterations: 3\nactivation: tanh\nl2: 0.01\n"},
    {"appnp", PAPERS,
     "hidden: []\noutput: 2\niterations: 2\nteleport: 0.5\nself_loops: false\n"
     "normalization: in\nreceiver: source\n"},
    {"sgc", PAPERS, "output: 2\nl2: 0.01\n"},
    {"gin", PAPERS, "units: 3\nlayers: 2\nnorm: layer\nactivation: tanh\nl2: 0.01\n"},
    {"gin", PAPERS,
     "units: 3\nlayers: 2\nnorm: none\nedge_feature: e\njump: concat\ntrain_epsilon: false\n"
     "epsilon: 0.5\nactivation: tanh\n"},
    {"gin", PAPERS,
     "units: 3\nlayers: 2\nnorm: none\nreceiver: both\njump: sum\n"
     "activation: tanh\n"},
    {"hgt", PAPERS, "units: 4\nheads: 2\nlayers: 2\nl2: 0.01\n"},
    {"hgt", LIBRARY, "units: 4\nheads: 2\nlayers: 2\nreceiver: both\n"},
    {"hgt", LIBRARY,
     "units: 6\nheads: 3\nlayers: 2\nweighted_skip: false\nlayer_norm: false\nbias: false\n"
     "activation: tanh\n"},
    {"mt_albis", LIBRARY,
     "units: 3\nmessage_dim: 4\nreduce_type: mean|sum\nl2: 0.01\ncombine: sum\n"
     "receiver: both\nreceiver_state: false\ninput_activation: tanh\n"},
    {"mt_albis", LIBRARY,
     "units: 5\nmessage_dim: 4\nattention_type: multi_head\nheads: 2\nresidual: true\n"
     "edge_feature: e\ncontext_feature: c\nl2: 0.01\ninput_activation: tanh\n"},
    {"mt_albis", LIBRARY,
     "units: 3\nmessage_dim: 4\nattention_type: gat_v2\nheads: 2\nnorm: none\n"
     "attention_edge_sets: [cites]\nreceiver: source\ninput_activation: tanh\n"},
    {"rgcn", LIBRARY, "units: 3\nlayers: 1\noutput: 2\nbases: 2\nl2: 0.01\nreceiver: both\n"},
    {"rgcn", LIBRARY, "units: 4\nlayers: 2\ndecomposition: block\nbases: 2\nl2: 0.01\n"},
    {"rgcn", PAPERS, "units: 3\nlayers: 2\ndecomposition: none\nl2: 0.01\n"},
    {"pna", PAPERS, "units: 4\nlayers: 1\nnorm: layer\nactivation: tanh\nl2: 0.01\n"},
    {"pna", PAPERS,
     "units: 4\nlayers: 1\ntowers: 2\nnorm: none\nedge_feature: e\nreceiver: both\n"
     "jump: concat\nactivation: tanh\n"},
    {"gps", PAPERS,
     "units: 4\nheads: 2\nlayers: 2\nlocal: none\nattention_sets: [cites]\nnorm: none\n"
     "activation: tanh\nl2: 0.01\n"},
    {"vanilla_mpnn", PAPERS,
     "units: 3\nmessage_dim: 4\nedge_units: 3\ncontext_units: 2\nlayers: 3\n"
     "input_activation: tanh\n"},
    {"vanilla_mpnn", LIBRARY,
     "units: 3\nmessage_dim: 4\nedge_units: 2\nedge_feature: e\ncontext_units: 3\n"
     "receiver: both\nlayers: 2\ninput_activation: tanh\n"},
    {"gcn", PAPERS,
     "hidden: [3, 4]\nresidual: true\ncontext_units: 2\noutput: 2\nl2: 0.01\nl2_layers: all\n"
     "activation: tanh\n"},
    {"gcn", LIBRARY, "edge_set: cites\nhidden: [3]\ncontext_feature: c\nactivation: tanh\n"},
    {"gat_v2", PAPERS,
     "hidden: [2, 2]\nheads: 2\nedge_feature: e\nedge_units: 3\ncontext_units: 2\njump: concat\n"
     "l2: 0.01\n"},
    {"gat_v2", PAPERS,
     "hidden: [2]\nheads: 2\noutput: 2\nedge_feature: e\nself_loops: false\nresidual: true\n"},
    {"graph_sage", LIBRARY,
     "hidden: [3, 3, 3]\ncontext_feature: c\ncontext_units: 2\nresidual: true\njump: sum\n"
     "activation: tanh\nl2: 0.01\n"},
    {"graph_sage", PAPERS,
     "hidden: [3]\noutput: 2\naggregator: gcn\nresidual: true\nactivation: tanh\n"},
    {"vanilla_mpnn", LIBRARY,
     "units: 3\nmessage_dim: 4\nedge_feature: e\ncontext_feature: c\nresidual: true\njump: concat\n"
     "input_activation: tanh\n"},
    {"gin", PAPERS,
     "units: 3\nlayers: 2\nnorm: none\nedge_units: 2\ncontext_units: 3\nresidual: true\n"
     "activation: tanh\nl2: 0.01\n"},
    {"hgt", LIBRARY,
     "units: 4\nheads: 2\nlayers: 2\ncontext_feature: c\ncontext_units: 3\njump: concat\n"
     "l2: 0.01\n"},
    {"mt_albis", LIBRARY,
     "units: 3\nmessage_dim: 4\nattention_type: multi_head\nheads: 2\nnorm: none\nedge_units: 2\n"
     "edge_feature: e\ncontext_units: 2\njump: concat\ninput_activation: tanh\nactivation: tanh\n"},
    {"mt_albis", LIBRARY,
     "units: 3\nmessage_dim: 4\nattention_type: gat_v2\nheads: 2\nnorm: none\nedge_units: 2\n"
     "receiver: both\njump: sum\nresidual: true\ninput_activation: tanh\nactivation: tanh\n"},
    {"rgcn", LIBRARY,
     "units: 3\nlayers: 2\ncontext_feature: c\ncontext_units: 2\nresidual: true\njump: concat\n"
     "activation: tanh\ninput_activation: tanh\nl2: 0.01\n"},
    {"pna", PAPERS,
     "units: 4\nlayers: 1\nnorm: layer\nedge_units: 2\nedge_feature: e\nactivation: tanh\n"},
    {"gps", PAPERS,
     "units: 2\nheads: 1\nlayers: 2\nlocal: none\nattention_sets: [cites]\nnorm: none\n"
     "context_units: 2\nactivation: tanh\n"},
    {"gps", LINKED,
     "units: 4\nheads: 2\nlayers: 2\nlocal: gat_v2\nattention_sets: [near]\nnorm: none\n"
     "edge_units: 2\nedge_feature: e\nactivation: tanh\n"},
};
enum { CASES = sizeof cases / sizeof *cases };

static void gradients_of_each_model_agree_with_central_differences(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        world w;
        world_open(&w, cases[i].schema);
        check_gradients(&w, build(&w, cases[i].model, cases[i].yaml), 100);
        world_close(&w);
    }
}

static void renamed_nodes_get_the_same_states(void **state)
{
    (void)state;
    static const int64_t order[PAPER_COUNT] = {3, 0, 4, 2, 1};

    for (int i = 0; i < CASES; i++) {
        world w;
        rgm_graph *renamed = NULL;
        world_open(&w, cases[i].schema);
        rgm_value *y = build(&w, cases[i].model, cases[i].yaml);
        set_parameters(&w);
        make_graph(&renamed, w.schema, order);
        rgm_tensor *a = run(&w, y, w.data, false), *b = run(&w, y, renamed, false);
        int64_t width = rgm_tensor_dim(a, 1);
        for (int64_t v = 0; v < PAPER_COUNT; v++)
            for (int64_t u = 0; u < width; u++)
                CHECK_CLOSE(rgm_tensor_f64(b)[order[v] * width + u],
                            rgm_tensor_f64(a)[v * width + u], 1e-12, 1e-12);
        rgm_tensor_release(a);
        rgm_tensor_release(b);
        rgm_graph_release(renamed);
        world_close(&w);
    }
}

static void batch_mates_change_nothing(void **state)
{
    (void)state;
    static const int64_t order[PAPER_COUNT] = {3, 0, 4, 2, 1};

    for (int i = 0; i < CASES; i++) {
        world w;
        rgm_graph *mate = NULL, *both = NULL;
        world_open(&w, cases[i].schema);
        rgm_value *y = build(&w, cases[i].model, cases[i].yaml);
        set_parameters(&w);
        make_graph(&mate, w.schema, order);
        CHECK_OK(rgm_graph_merge(&both, (rgm_graph *[]){mate, w.data}, 2));
        rgm_tensor *a = run(&w, y, w.data, false), *b = run(&w, y, both, false);
        int64_t count = rgm_tensor_count(a);
        CHECK_INT(2 * count, rgm_tensor_count(b));
        for (int64_t k = 0; k < count; k++) /* the very same bits */
            CHECK(rgm_tensor_f64(b)[count + k] == rgm_tensor_f64(a)[k]);
        rgm_tensor_release(a);
        rgm_tensor_release(b);
        rgm_graph_release(mate);
        rgm_graph_release(both);
        world_close(&w);
    }
}

static void dropout_acts_in_training_only(void **state)
{
    (void)state;
    static const struct {
        const char *model, *yaml;
    } models[] = {{"gcn", ""},
                  {"gat_v2", ""},
                  {"graph_sage", ""},
                  {"vanilla_mpnn", "dropout: 0.5\ninput_dropout: 0.5\n"},
                  {"appnp", ""},
                  {"appnp", "dropout: 0\nedge_dropout: 0.5\n"},
                  {"sgc", "output: 3\ndropout: 0.5\n"},
                  {"gin", "norm: none\ndropout: 0.5\n"},
                  {"hgt", ""},
                  {"hgt", "dropout: 0\ninput_dropout: 0.5"},
                  {"mt_albis", "edge_dropout: 0.5"},
                  {"mt_albis", "attention_type: multi_head\nedge_dropout: 0.5"},
                  {"mt_albis", "attention_type: gat_v2\nedge_dropout: 0.5"},
                  {"mt_albis", "state_dropout: 0.5"},
                  {"rgcn", "dropout: 0.5"}};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        world w;
        world_open(&w, PAPERS);
        rgm_value *y = build(&w, models[i].model, models[i].yaml);
        set_parameters(&w);
        rgm_tensor *off = run(&w, y, w.data, false), *on = run(&w, y, w.data, true);
        rgm_tensor *again = run(&w, y, w.data, true);
        CHECK(!rgm_tensor_equal(off, on));
        CHECK(rgm_tensor_equal(again, on));
        rgm_tensor_release(off);
        rgm_tensor_release(on);
        rgm_tensor_release(again);
        world_close(&w);
    }
}

/* What a training run's first moving mean takes of its batch, with this momentum: 4 channels. */
static void mean_of_batch(double *mean, const char *model, const char *momentum)
{
    world w;
    char yaml[128];
    rgm_value *next = NULL;
    const double *old = NULL;
    double kept = strtod(momentum, NULL);

    snprintf(yaml, sizeof yaml, "units: 4\nlayers: 1\nnorm: batch\nbatch_momentum: %s\n%s",
             momentum, strcmp(model, "gps") == 0 ? "attention_sets: [cites]\nlocal: none\n" : "");
    world_open(&w, PAPERS);
    build(&w, model, yaml);
    set_parameters(&w);
    for (int64_t i = 0; next == NULL && i < rgm_cgraph_update_count(w.graph); i++) {
        const char *name = rgm_value_name(rgm_cgraph_update_state(w.graph, i));
        if (strstr(name, "moving_mean") == NULL)
            continue;
        next = rgm_cgraph_update_next(w.graph, i);
        old = parameter(&w, name);
    }
    rgm_tensor *new = run(&w, next, w.data, true);
    CHECK_INT(4, rgm_tensor_count(new));
    for (int c = 0; c < 4; c++)
        mean[c] = (rgm_tensor_f64(new)[c] - kept * old[c]) / (1 - kept);
    rgm_tensor_release(new);
    world_close(&w);
}

static void a_batch_norms_momentum_is_the_files(void **state)
{
    (void)state;
    static const char *const models[] = {"gin", "pna", "gps", "mt_albis"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        double half[4], most[4];
        mean_of_batch(half, models[i], "0.5");
        mean_of_batch(most, models[i], "0.875");
        for (int c = 0; c < 4; c++)
            CHECK_CLOSE(most[c], half[c], 1e-12, 1e-13);
        CHECK(half[0] != half[1]);
        made m; /* 1 would keep the statistics of the start for ever */
        CHECK_STATUS(RGM_ERR_CONFIG, make_options(&m, models[i], "batch_momentum: 1\n"));
        CHECK_MESSAGE("must be in 0 .. 0.9999");
        drop_options(&m);
        CHECK_OK(make_options(&m, models[i], "batch_momentum: 0.9999\n"));
        drop_options(&m);
    }
}

/* Kipf & Welling's network has 1433 x 16 + 16 + 16 x 7 + 7 parameters on Cora; here 5 words. */
static void parameters_are_those_of_the_papers(void **state)
{
    (void)state;
    static const char *const gcn[] = {"conv_0/kernel", "conv_0/bias", "conv_1/kernel",
                                      "conv_1/bias"};
    static const char *const gat[] = {
        "conv_0/query/kernel", "conv_0/query/bias",   "conv_0/value/kernel", "conv_0/value/bias",
        "conv_0/attention",    "conv_1/query/kernel", "conv_1/query/bias",   "conv_1/value/kernel",
        "conv_1/value/bias",   "conv_1/attention"};
    static const char *const sage[] = {"layer_0/nodes/paper/cites/kernel",
                                       "layer_0/nodes/paper/next_state/self/kernel",
                                       "layer_0/nodes/paper/next_state/bias"};
    static const char *const mpnn[] = {"input/paper/kernel",
                                       "input/paper/bias",
                                       "layer_0/nodes/paper/cites/kernel",
                                       "layer_0/nodes/paper/cites/bias",
                                       "layer_0/nodes/paper/next_state/kernel",
                                       "layer_0/nodes/paper/next_state/bias"};
    static const char *const appnp[] = {"dense_0/kernel", "dense_0/bias", "dense_1/kernel",
                                        "dense_1/bias"};
    static const char *const sgc[] = {"dense/kernel", "dense/bias"};
    static const char *const hgt[] = {"input/paper/kernel",
                                      "input/paper/bias",
                                      "layer_0/edges/cites/attention",
                                      "layer_0/edges/cites/prior",
                                      "layer_0/nodes/paper/query/kernel",
                                      "layer_0/nodes/paper/query/bias",
                                      "layer_0/nodes/paper/key/kernel",
                                      "layer_0/nodes/paper/key/bias",
                                      "layer_0/edges/cites/message",
                                      "layer_0/nodes/paper/message/kernel",
                                      "layer_0/nodes/paper/message/bias",
                                      "layer_0/nodes/paper/output/kernel",
                                      "layer_0/nodes/paper/output/bias",
                                      "layer_0/nodes/paper/skip",
                                      "layer_0/nodes/paper/layer_norm/gamma",
                                      "layer_0/nodes/paper/layer_norm/beta"};
    static const char *const rgcn[] = {"input/paper/kernel",
                                       "input/paper/bias",
                                       "layer_0/nodes/paper/self/kernel",
                                       "layer_0/edges/cites/coefficients",
                                       "layer_0/bases",
                                       "layer_0/nodes/paper/bias"};
    static const struct {
        const char *model, *yaml;
        const char *const *names;
        int64_t count, elements;
    } expected[] = {
        {"gcn", "output: 7\ninput: {features: words}", gcn, 4, 5 * 16 + 16 + 16 * 7 + 7},
        {"gat_v2", "output: 7\ninput: {features: words}", gat, 10,
         2 * (5 * 64 + 64) + 64 + 2 * (64 * 7 + 7) + 7},
        {"graph_sage", "hidden: 8\ninput: {features: paper.words}", sage, 3, 5 * 8 * 2 + 8},
        {"vanilla_mpnn", "units: 4\nmessage_dim: 6\nlayers: 1\ninput: {features: words}", mpnn, 6,
         5 * 4 + 4 + 8 * 6 + 6 + 10 * 4 + 4},
        {"appnp", "output: 7\ninput: {features: words}", appnp, 4, 5 * 64 + 64 + 64 * 7 + 7},
        {"sgc", "output: 7\ninput: {features: words}", sgc, 2, 5 * 7 + 7},
        {"hgt", "units: 4\nheads: 2\nlayers: 1\ninput: {features: words}", hgt, 16,
         5 * 4 + 4 + 4 * (4 * 4 + 4) + 2 * (2 * 2 * 2) + 2 + 1 + 2 * 4},
        {"rgcn", "units: 4\nlayers: 1\nbases: 3\ninput: {features: words}", rgcn, 6,
         5 * 4 + 4 + 4 * 4 + 3 + 3 * 4 * 4 + 4},
    };

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        world w;
        world_open(&w, PAPERS);
        build(&w, expected[i].model, expected[i].yaml);
        set_parameters(&w);
        check_names(&w, expected[i].names, expected[i].count);
        CHECK_INT(expected[i].elements, rgm_parameters_total(w.parameters));
        world_close(&w);
    }
}

static void kipfs_l2_is_on_the_first_layer_alone(void **state)
{
    (void)state;
    world w;
    double sum = 0;

    world_open(&w, PAPERS);
    build(&w, "gcn", "output: 2\nl2: 2.5e-4\ninput: {features: words}");
    set_parameters(&w);
    for (int i = 0; i < 80; i++)
        sum += 2.5e-4 * pow(parameter(&w, "conv_0/kernel")[i], 2);
    check_values(&w, rgm_scope_loss(w.scope), &sum, 1);
    world_close(&w);
}

/* The first round's: its convolution, residual, states of edges and what is heard of the context.
 */
static void l2_of_the_first_round_is_of_no_other(void **state)
{
    static const struct {
        const char *model, *schema, *yaml, *first;
    } models[] = {
        {"gcn", LIBRARY,
         "edge_set: cites\nhidden: [4, 2, 3]\nresidual: true\ncontext_feature: c\nl2: 0.01\n"
         "context_units: 2\ninput: {features: x}\n",
         "conv_0/"},
        {"gat_v2", PAPERS,
         "hidden: [2, 3]\nheads: 2\nresidual: true\nedge_feature: e\nedge_units: 3\n"
         "context_units: 2\nl2: 0.01\nl2_layers: first\n",
         "conv_0/"},
        {"graph_sage", LIBRARY,
         "hidden: [4, 2, 3]\nresidual: true\ncontext_feature: c\nl2: 0.01\nl2_layers: first\n",
         "layer_0/"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        double sum = 0;
        world w;

        world_open(&w, models[i].schema);
        build(&w, models[i].model, models[i].yaml);
        set_parameters(&w);
        for (int64_t p = 0; p < rgm_parameters_count(w.parameters); p++) {
            const char *name = rgm_parameters_name(w.parameters, p);
            const rgm_tensor *t = rgm_parameters_tensor(w.parameters, p);

            if (strncmp(name, models[i].first, strlen(models[i].first)) != 0 ||
                strstr(name, "bias") != NULL)
                continue;
            for (int64_t k = 0; k < rgm_tensor_count(t); k++)
                sum += 0.01 * pow(rgm_tensor_f64(t)[k], 2);
        }
        check_values(&w, rgm_scope_loss(w.scope), &sum, 1);
        world_close(&w);
    }
}

static void features_in_float_are_cast_to_the_scopes_dtype(void **state)
{
    (void)state;
    static const char text[] =
        "node_sets { key: 'paper' value { features { key: 'x' value { dtype: DT_FLOAT } }"
        " features { key: 'label' value { dtype: DT_INT64 } } } }"
        "edge_sets { key: 'cites' value { source: 'paper' target: 'paper' } }";
    rgm_graph_builder *builder = NULL;
    rgm_feature x = {0}, label = {0};
    world w = {0};

    CHECK_OK(rgm_schema_parse(&w.schema, text, (int64_t)strlen(text), "test"));
    CHECK_OK(rgm_graph_builder_create(&builder, w.schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "paper", (int64_t[]){2}));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "cites", (int64_t[]){1}));
    add_edges(builder, "cites", 1, (int64_t[]){0}, (int64_t[]){1});
    CHECK_OK(rgm_tensor_create_from(&x.values, RGM_F32, 1, (int64_t[]){2}, (float[]){1, 2}));
    CHECK_OK(rgm_tensor_create_from(&label.values, RGM_I64, 1, (int64_t[]){2}, (int64_t[]){0, 1}));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "paper", "x", &x));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "paper", "label", &label));
    CHECK_OK(rgm_graph_builder_finish(&w.data, builder));
    rgm_graph_builder_release(builder);
    rgm_tensor_release(x.values);
    rgm_tensor_release(label.values);
    CHECK_OK(rgm_cgraph_create(&w.graph));
    CHECK_OK(rgm_graph_value_create(&w.value, w.graph, w.schema));
    CHECK_OK(rgm_scope_create(&w.scope, w.graph, RGM_F64));
    rgm_value *y = build(&w, "gcn", "hidden: []\noutput: 1\nnormalization: none\n");
    set_parameters(&w);
    const double *k = parameter(&w, "conv_0/kernel"), *b = parameter(&w, "conv_0/bias");
    check_values(&w, y, (double[]){k[0] + b[0], 3 * k[0] + b[0]}, 2);
    world_close(&w);
}

/* By hand on the papers' graph: each round hears the citing papers and the paper itself. */
static void what_nodes_say_is_spread_as_the_papers_have_it(void **state)
{
    (void)state;
    static const char *const names[] = {"dense_0", "dense"};
    static const char *const yaml[] = {
        "hidden: []\noutput: 1\niterations: 2\nteleport: 0.25\nnormalization: none\n"
        "input: {features: x}\n",
        "output: 1\nhops: 2\nnormalization: none\ninput: {features: x}\n"};

    for (int k = 0; k < 2; k++) {
        world w;
        double own[PAPER_COUNT], z[PAPER_COUNT], next[PAPER_COUNT];
        char kernel[32], bias[32];

        world_open(&w, PAPERS);
        rgm_value *y = build(&w, k == 0 ? "appnp" : "sgc", yaml[k]);
        set_parameters(&w);
        snprintf(kernel, sizeof kernel, "%s/kernel", names[k]);
        snprintf(bias, sizeof bias, "%s/bias", names[k]);
        const double *weights = parameter(&w, kernel), b = parameter(&w, bias)[0];
        for (int v = 0; v < PAPER_COUNT; v++) {
            own[v] = k == 0 ? b : 0;
            for (int c = 0; c < 3; c++)
                own[v] += number(3 * v + c) * weights[c];
            z[v] = own[v];
        }
        for (int round = 0; round < 2; round++) {
            memcpy(next, z, sizeof next);
            for (int e = 0; e < CITE_COUNT; e++)
                next[cite_target[e]] += z[cite_source[e]];
            for (int v = 0; v < PAPER_COUNT; v++)
                z[v] = k == 0 ? 0.75 * next[v] + 0.25 * own[v] : next[v];
        }
        for (int v = 0; v < PAPER_COUNT && k == 1; v++)
            z[v] += b;
        check_values(&w, y, z, PAPER_COUNT);
        world_close(&w);
    }
}

/* One round of one unit by hand; k = 1 with edge features. */
static void sums_of_neighbours_are_those_of_the_papers(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        world w;
        double h[PAPER_COUNT], z[PAPER_COUNT];

        world_open(&w, PAPERS);
        rgm_value *y = build(&w, "gin",
                             k == 0 ? "units: 1\nlayers: 1\nmlp_layers: 1\nnorm: none\n"
                                      "activation: linear\ntrain_epsilon: false\nepsilon: 0.5\n"
                                      "input: {features: x}\n"
                                    : "units: 1\nlayers: 1\nmlp_layers: 1\nnorm: none\n"
                                      "activation: linear\nedge_feature: e\n"
                                      "input: {features: x}\n");
        set_parameters(&w);
        const double *in = parameter(&w, "input/paper/kernel");
        double bias = parameter(&w, "input/paper/bias")[0];
        double own =
            1 + (k == 0 ? 0.5 : parameter(&w, "layer_0/nodes/paper/next_state/epsilon")[0]);
        for (int v = 0; v < PAPER_COUNT; v++) {
            h[v] = bias;
            for (int c = 0; c < 3; c++)
                h[v] += number(3 * v + c) * in[c];
            z[v] = own * h[v];
        }
        for (int e = 0; e < CITE_COUNT; e++) {
            double m = h[cite_source[e]];
            if (k == 1) {
                const double *edge = parameter(&w, "layer_0/nodes/paper/cites/edge/kernel");
                m += number(100 + e) * edge[0] + number(200 + e) * edge[1] +
                     parameter(&w, "layer_0/nodes/paper/cites/edge/bias")[0];
                m = m > 0 ? m : 0;
            }
            z[cite_target[e]] += m;
        }
        for (int v = 0; v < PAPER_COUNT; v++)
            z[v] = z[v] * parameter(&w, "layer_0/nodes/paper/next_state/dense_0/kernel")[0] +
                   parameter(&w, "layer_0/nodes/paper/next_state/dense_0/bias")[0];
        check_values(&w, y, z, PAPER_COUNT);
        world_close(&w);
    }
}

/* Hamilton et al. 2017, eq. 3: max over neighbours of relu(W h + b), of a last round too, whose own
 * states have no activation. */
static void an_output_pools_what_is_activated(void **state)
{
    double z[PAPER_COUNT];
    world w;

    (void)state;
    world_open(&w, PAPERS);
    rgm_value *y = build(&w, "graph_sage",
                         "hidden: []\noutput: 1\naggregator: pool\nhidden_units: 2\n"
                         "input: {features: x}\n");
    set_parameters(&w);
    const double *hidden = parameter(&w, "layer_0/nodes/paper/cites/hidden/kernel");
    const double *bias = parameter(&w, "layer_0/nodes/paper/cites/hidden/bias");
    const double *heard = parameter(&w, "layer_0/nodes/paper/cites/kernel");
    const double *self = parameter(&w, "layer_0/nodes/paper/next_state/self/kernel");
    for (int v = 0; v < PAPER_COUNT; v++) {
        double most[2] = {0}; /* nothing is below 0, nor heard of nobody */

        for (int e = 0; e < CITE_COUNT; e++)
            for (int u = 0; u < 2 && cite_target[e] == v; u++) {
                double h = bias[u];
                for (int c = 0; c < 3; c++)
                    h += number(3 * cite_source[e] + c) * hidden[2 * c + u];
                most[u] = fmax(most[u], h);
            }
        z[v] = parameter(&w, "layer_0/nodes/paper/next_state/bias")[0] + most[0] * heard[0] +
               most[1] * heard[1];
        for (int c = 0; c < 3; c++)
            z[v] += number(3 * v + c) * self[c];
    }
    check_values(&w, y, z, PAPER_COUNT);
    world_close(&w);
}

/* What a GINE of one unit makes of states h, edges' states e, and adds to h. */
static void round_by_hand(world *w, int number, double *h, double *e, double *c)
{
    double next[PAPER_COUNT], sum = 0, old[PAPER_COUNT];
    char name[128];
#define OF(text) (snprintf(name, sizeof name, "layer_%d/" text, number), parameter(w, name))

    memcpy(old, h, sizeof old);
    for (int i = 0; i < CITE_COUNT; i++) { /* own, source, target, context */
        const double *k = OF("edges/cites/kernel");
        int own = number == 0 ? 2 : 1;
        double y = OF("edges/cites/bias")[0];

        for (int j = 0; j < own; j++)
            y += k[j] * e[own * i + j];
        y += k[own] * h[cite_source[i]] + k[own + 1] * h[cite_target[i]];
        e[i] = y + (number > 0 ? k[own + 2] * *c : 0);
    }
    for (int v = 0; v < PAPER_COUNT; v++) {
        h[v] += number > 0 ? *c * OF("nodes/paper/context/kernel")[0] : 0;
        old[v] = h[v];
        next[v] = (1 + OF("nodes/paper/next_state/epsilon")[0]) * h[v];
    }
    for (int i = 0; i < CITE_COUNT; i++) {
        double m = old[cite_source[i]] + e[i] * OF("nodes/paper/cites/edge/kernel")[0] +
                   OF("nodes/paper/cites/edge/bias")[0];
        next[cite_target[i]] += m > 0 ? m : 0;
    }
    for (int v = 0; v < PAPER_COUNT; v++) {
        h[v] = old[v] + next[v] * OF("nodes/paper/next_state/dense_0/kernel")[0] +
               OF("nodes/paper/next_state/dense_0/bias")[0];
        sum += h[v] / PAPER_COUNT;
    }
    if (number == 1) /* nobody would hear what the last round made */
        return;
    *c = (number > 0 ? *c * OF("context/next_state/kernel")[0] : 0) +
         sum * OF("context/next_state/kernel")[number > 0] + OF("context/next_state/bias")[0];
#undef OF
}

static void edges_and_the_context_are_made_anew_in_each_round(void **state)
{
    world w;
    double h[PAPER_COUNT], e[2 * CITE_COUNT], c = 0;

    (void)state;
    world_open(&w, PAPERS);
    rgm_value *y = build(&w, "gin",
                         "units: 1\nlayers: 2\nmlp_layers: 1\nnorm: none\nactivation: linear\n"
                         "edge_feature: e\nedge_units: 1\ncontext_units: 1\nresidual: true\n"
                         "input: {features: x}\n");
    set_parameters(&w);
    for (int v = 0; v < PAPER_COUNT; v++) {
        h[v] = parameter(&w, "input/paper/bias")[0];
        for (int k = 0; k < 3; k++)
            h[v] += number(3 * v + k) * parameter(&w, "input/paper/kernel")[k];
    }
    for (int i = 0; i < CITE_COUNT; i++) {
        e[2 * i] = number(100 + i);
        e[2 * i + 1] = number(200 + i);
    }
    round_by_hand(&w, 0, h, e, &c);
    round_by_hand(&w, 1, h, e, &c);
    check_values(&w, y, h, PAPER_COUNT);
    CHECK(parameter(&w, "layer_0/context/next_state/kernel") != NULL);
    for (int64_t i = 0; i < rgm_parameters_count(w.parameters); i++)
        CHECK(strstr(rgm_parameters_name(w.parameters, i), "layer_1/context") == NULL);
    world_close(&w);
}

static void every_relation_is_heard_however_many_there_are(void **state)
{
    (void)state;
    enum { RELATIONS = 70 };
    static const char *const aggregators[] = {"gcn", "mean"};

    for (int k = 0; k < 2; k++) {
        rgm_text text = {0};
        world w = {0};
        char yaml[64];

        CHECK_OK(rgm_text_printf(&text, "%s", PAPERS));
        for (int i = 1; i < RELATIONS; i++)
            CHECK_OK(rgm_text_printf(&text,
                                     "edge_sets { key: 'r%d' value { source: 'paper' target: "
                                     "'paper' } }",
                                     i));
        CHECK_OK(rgm_schema_parse(&w.schema, text.data, text.size, "test"));
        CHECK_OK(rgm_cgraph_create(&w.graph));
        CHECK_OK(rgm_graph_value_create(&w.value, w.graph, w.schema));
        CHECK_OK(rgm_scope_create(&w.scope, w.graph, RGM_F64));
        snprintf(yaml, sizeof yaml, "hidden: [2]\nbias: false\naggregator: %s\n", aggregators[k]);
        CHECK(build(&w, "graph_sage", yaml) != NULL);
        CHECK_OK(rgm_parameters_create(&w.parameters, w.graph, 1));
        CHECK_INT(RELATIONS + 1, rgm_parameters_count(w.parameters)); /* and the node itself */
        rgm_text_clear(&text);
        world_close(&w);
    }
}

static void mistakes_in_options_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *model, *schema, *yaml, *message;
        rgm_status status;
    } wrong[] = {
        {"gcn", PAPERS, "input: {features: [word]}", "did you mean 'words'?", RGM_ERR_NOT_FOUND},
        {"gcn", PAPERS, "edge_set: cited", "did you mean 'cites'?", RGM_ERR_NOT_FOUND},
        {"gcn", LIBRARY, "", "there are 2: 'cites', 'writes'", RGM_ERR_ARG},
        {"gat_v2", LIBRARY, "edge_set: writes", "needs one node set, 'paper', at both ends",
         RGM_ERR_ARG},
        {"gcn", PAPERS, "receiver: both", "source or target, not both", RGM_ERR_ARG},
        {"graph_sage", PAPERS, "aggregator: max", "use mean, sum or the pooling convolution",
         RGM_ERR_UNSUPPORTED},
        {"vanilla_mpnn", PAPERS, "reduce_type: median", "unknown reduce_type 'median'",
         RGM_ERR_ARG},
        {"vanilla_mpnn", LIBRARY, "edge_feature: x", "no edge set has the input feature 'x'",
         RGM_ERR_NOT_FOUND},
        {"graph_sage", PAPERS, "aggregator: gcn\nl2_normalize: true", "no l2_normalize",
         RGM_ERR_ARG},
        {"graph_sage", PAPERS, "aggregator: gcn\ncombine: concat", "no combine", RGM_ERR_ARG},
        {"hgt", LIBRARY, "units: 4\nheads: 2\nlayers: 1\nreceiver: source\ninput: {features: [y]}",
         "no node set has the input feature 'y'", RGM_ERR_NOT_FOUND},
        {"mt_albis", PAPERS, "attention_type: gat_v2\nattention_edge_sets: [cited]",
         "did you mean 'cites'?", RGM_ERR_NOT_FOUND},
        {"mt_albis", PAPERS, "attention_type: gat_v2\nmessage_dim: 6", "not a multiple of heads 4",
         RGM_ERR_ARG},
        {"mt_albis", LIBRARY, "context_feature: d", "no feature 'd'", RGM_ERR_NOT_FOUND},
        {"rgcn", PAPERS, "units: 3\ndecomposition: block\nbases: 2", "2 blocks divide neither",
         RGM_ERR_SHAPE},
        {"gat_v2", PAPERS, "edge_feature: ee", "did you mean 'e'?", RGM_ERR_NOT_FOUND},
        {"gin", PAPERS, "layers: 1\ncontext_units: 2", "there is no second round", RGM_ERR_CONFIG},
        {"gcn", LIBRARY, "edge_set: cites\ncontext_feature: c\ncontext_units: 2",
         "model.context_feature alone", RGM_ERR_CONFIG},
        {"gcn", PAPERS, "hidden: [3]\njump: concat", "there is one state alone", RGM_ERR_CONFIG},
        {"gin", PAPERS, "layers: 0\njump: max", "there is one state alone", RGM_ERR_CONFIG},
        {"gcn", PAPERS, "output: 2\njump: max", "model.output, a last round", RGM_ERR_CONFIG},
        {"gcn", PAPERS, "hidden: [3, 4]\njump: max", "max of states of 3 and of 4 channels; concat",
         RGM_ERR_SHAPE},
        {"graph_sage", KNOWN_AUTHORS,
         "hidden: [3, 3]\njump: max\ncontext_feature: c\ninput: {one_hot: {kind: 3}}",
         "max of the states of 'author', which hears the context alone", RGM_ERR_UNSUPPORTED},
        {"hgt", LIBRARY, "context_feature: d", "no feature 'd'", RGM_ERR_NOT_FOUND},
        {"gps", LINKED, "attention_sets: [near, cites]", "'cites' and 'near' are both of 'paper'",
         RGM_ERR_ARG},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        world w;
        made m;
        world_open(&w, wrong[i].schema);
        CHECK_OK(make_options(&m, wrong[i].model, wrong[i].yaml));
        m.type->build(w.scope, w.value, m.options);
        CHECK_STATUS(wrong[i].status, rgm_cgraph_status(w.graph));
        CHECK_MESSAGE(wrong[i].message);
        drop_options(&m);
        world_close(&w);
    }
}

static void an_embedding_that_has_no_room_is_told(void **state)
{
    rgm_text text = {0};
    world w = {0};
    made m;

    (void)state;
    CHECK_OK(rgm_text_printf(&text, "node_sets { key: 'paper' value {"));
    for (int i = 0; i < 64; i++)
        CHECK_OK(rgm_text_printf(&text, " features { key: 'x%d' value { dtype: DT_FLOAT } }", i));
    CHECK_OK(rgm_text_printf(&text, "} } edge_sets { key: 'cites' value { source: 'paper' target: "
                                    "'paper' } }"));
    CHECK_OK(rgm_schema_parse(&w.schema, text.data, text.size, "test"));
    CHECK_OK(rgm_cgraph_create(&w.graph));
    CHECK_OK(rgm_graph_value_create(&w.value, w.graph, w.schema));
    CHECK_OK(rgm_scope_create(&w.scope, w.graph, RGM_F64));
    CHECK_OK(make_options(&m, "gcn", "input: {embeddings: {paper: 2}}\n"));
    m.type->build(w.scope, w.value, m.options);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("node set 'paper' has more than 64 input features");
    drop_options(&m);
    rgm_text_clear(&text);
    world_close(&w);
}

static void option_tables_are_complete(void **state)
{
    (void)state;
    int i = 0;

    CHECK(rgm_section_type_find(rgm_graph_models, "gnc") == NULL);
    for (; rgm_graph_models[i] != NULL; i++) {
        const rgm_section_type *type = rgm_graph_models[i];
        made m;

        CHECK(rgm_section_type_find(rgm_graph_models, type->name) == type);
        for (const rgm_field *f = type->fields; f->name != NULL; f++)
            CHECK(f->help != NULL && f->offset < type->options_size);
        CHECK_STATUS(RGM_ERR_CONFIG, make_options(&m, type->name, "recever: target\n"));
        CHECK_MESSAGE("did you mean 'model.receiver'?");
        drop_options(&m);
        CHECK_STATUS(RGM_ERR_CONFIG, make_options(&m, type->name, "l2: -1\n"));
        drop_options(&m);
    }
    CHECK_INT(12, i);
}

static rgm_status build_model(rgm_schema *schema, const char *model, const char *yaml)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;
    rgm_graph_value *root = NULL;
    rgm_scope *scope = NULL;
    made m = {0};

    RGM_GO(make_options(&m, model, yaml));
    RGM_GO(rgm_cgraph_create(&graph));
    RGM_GO(rgm_graph_value_create(&root, graph, schema));
    RGM_GO(rgm_scope_create(&scope, graph, RGM_F64));
    m.type->build(scope, root, m.options);
    status = rgm_cgraph_status(graph);
done:
    rgm_scope_release(scope);
    rgm_graph_value_release(root);
    rgm_cgraph_release(graph);
    drop_options(&m);
    return status;
}

static void integers_are_kinds_or_amounts_and_never_guessed(void **state)
{
    static const char text[] =
        "node_sets { key: 'atom' value { features { key: 'kind' value { dtype: DT_INT64 } }"
        " features { key: 'name' value { dtype: DT_STRING } } } }"
        "edge_sets { key: 'bond' value { source: 'atom' target: 'atom'"
        " features { key: 'order' value { dtype: DT_INT64 } } } }"
        "context { features { key: 'site' value { dtype: DT_INT64 } } }";
    static const struct {
        const char *model, *yaml, *message; /* NULL: it is built */
    } tried[] = {
        {"gcn", "hidden: [4]", "integers go in by model.input.one_hot or model.input.numbers"},
        {"gcn", "input: {features: [kind]}",
         "feature 'kind' of 'atom' is of integers: kinds go in by model.input.one_hot: {kind: how "
         "many} or model.input.embeddings: {kind: width}, amounts by model.input.numbers: [kind]"},
        {"gcn", "input: {features: [name]}", "is text"},
        {"gcn", "input: {one_hot: {kind: 4}}", NULL},
        {"gat_v2", "input: {one_hot: {atom.kind: 4}, normalize: true}", NULL},
        {"graph_sage", "input: {numbers: [kind]}", NULL},
        {"vanilla_mpnn", "input: {features: [kind], one_hot: {kind: 4}}", NULL},
        {"gcn", "input: {one_hot: {kidn: 4}}", "did you mean 'kind'?"},
        {"gcn", "input: {one_hot: {kind: 2.5}}", "'kind' is 2.5, not how many values there are"},
        {"gcn", "input: {one_hot: {order: 4}}", "no node set has the input feature 'order'"},
        {"gcn", "input: {features: [name], one_hot: {kind: 4}}", "leaves out 'kind'"},
        {"vanilla_mpnn", "edge_feature: order", "feature 'order' of 'bond' is of integers"},
        {"vanilla_mpnn", "edge_feature: order\ninput: {one_hot: {kind: 4, order: 3}}", NULL},
        {"vanilla_mpnn", "edge_feature: order\ninput: {numbers: [kind, order]}", NULL},
        {"gin", "context_feature: site\ninput: {numbers: [kind]}",
         "feature 'site' of the context is of integers; give it as floats"},
        {"vanilla_mpnn", "context_feature: site\ninput: {numbers: [kind]}", "'site'"},
        {"mt_albis", "context_feature: site\ncontext_units: 2\ninput: {numbers: [kind]}", "'site'"},
    };
    rgm_schema *schema;

    (void)state;
    CHECK_OK(rgm_schema_parse(&schema, text, (int64_t)strlen(text), "test"));
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        rgm_status status = build_model(schema, tried[i].model, tried[i].yaml);

        CHECK_INT(tried[i].message == NULL, status == RGM_OK);
        if (tried[i].message != NULL)
            CHECK_MESSAGE(tried[i].message);
    }
    CHECK_EVERY_OOM(build_model(schema, "gcn", "input: {one_hot: {kind: 4}}"), (void)0);
    rgm_schema_release(schema);
}

/* The authors' states of a model, times 2. */
static rgm_tensor *authors(const char *model, const char *yaml, bool training)
{
    rgm_tensor *states;
    world w;

    world_open(&w, KNOWN_AUTHORS);
    rgm_value *y = rgm_scale(build_of(&w, model, yaml, "author"), 2);
    set_parameters(&w);
    states = run(&w, y, w.data, training);
    world_close(&w);
    return states;
}

/* Authors write papers and hear of nobody: no round adds to what they are, nor drops of it. */
static void who_hears_nobody_stays_as_it_was(void **state)
{
    static const struct {
        const char *model, *none, *rounds;
    } models[] = {
        {"graph_sage", "hidden: []\n", "hidden: [3, 3, 3]\n"},
        {"graph_sage", "hidden: []\n", "hidden: [3, 2, 3]\nresidual: true\n"},
        {"graph_sage", "hidden: []\n", "hidden: [3, 3]\naggregator: gcn\nresidual: true\n"},
        {"rgcn", "units: 3\nlayers: 0\n", "units: 3\nlayers: 2\ndropout: 0.5\n"},
        {"rgcn", "units: 3\nlayers: 0\n", "units: 3\nlayers: 3\ndropout: 0.5\nresidual: true\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int training = 0; training < 2; training++) {
            rgm_tensor *first = authors(models[i].model, models[i].none, training);
            rgm_tensor *last = authors(models[i].model, models[i].rounds, training);

            if (!rgm_tensor_equal(first, last))
                fail_msg("%s: %s%s", models[i].model, models[i].rounds,
                         training ? "in training" : "");
            rgm_tensor_release(first);
            rgm_tensor_release(last);
        }
}

/* So they may be features that no sum and no concatenation takes. */
static void who_hears_nobody_may_be_sparse(void **state)
{
    static const struct {
        const char *model, *yaml;
    } built[] = {
        {"graph_sage", "hidden: [4, 4]\nresidual: true\ninput: {one_hot: {kind: 3}}\n"},
        {"graph_sage",
         "hidden: [4, 4]\nresidual: true\ninput: {features: [x, kind], one_hot: {kind: 3}}\n"},
        {"graph_sage", "hidden: [4, 2]\njump: concat\ninput: {one_hot: {kind: 3}}\n"},
        {"graph_sage", "hidden: [4, 4]\njump: max\ndropout: 0\ninput: {one_hot: {kind: 3}}\n"},
        {"vanilla_mpnn",
         "units: 3\nmessage_dim: 4\nencode: false\njump: sum\ninput: {one_hot: {kind: 3}}\n"},
    };
    rgm_schema *schema;

    (void)state;
    CHECK_OK(rgm_schema_parse(&schema, KNOWN_AUTHORS, (int64_t)strlen(KNOWN_AUTHORS), "test"));
    for (size_t i = 0; i < sizeof built / sizeof *built; i++)
        CHECK_OK(build_model(schema, built[i].model, built[i].yaml));
    rgm_schema_release(schema);
}

static void models_survive_every_failing_allocation(void **state)
{
    (void)state;
    static const int chosen[] = {1, 3, 5, 11, 12, 16, CASES - 15, CASES - 14, CASES - 10};

    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        rgm_schema *schema = NULL;
        const char *text = cases[chosen[i]].schema;
        CHECK_OK(rgm_schema_parse(&schema, text, (int64_t)strlen(text), "test"));
        CHECK_EVERY_OOM(build_model(schema, cases[chosen[i]].model, cases[chosen[i]].yaml),
                        (void)0);
        rgm_schema_release(schema);
    }
}

TESTS(cmocka_unit_test(gradients_of_each_model_agree_with_central_differences),
      cmocka_unit_test(renamed_nodes_get_the_same_states),
      cmocka_unit_test(batch_mates_change_nothing), cmocka_unit_test(dropout_acts_in_training_only),
      cmocka_unit_test(a_batch_norms_momentum_is_the_files),
      cmocka_unit_test(parameters_are_those_of_the_papers),
      cmocka_unit_test(kipfs_l2_is_on_the_first_layer_alone),
      cmocka_unit_test(l2_of_the_first_round_is_of_no_other),
      cmocka_unit_test(features_in_float_are_cast_to_the_scopes_dtype),
      cmocka_unit_test(what_nodes_say_is_spread_as_the_papers_have_it),
      cmocka_unit_test(sums_of_neighbours_are_those_of_the_papers),
      cmocka_unit_test(an_output_pools_what_is_activated),
      cmocka_unit_test(edges_and_the_context_are_made_anew_in_each_round),
      cmocka_unit_test(every_relation_is_heard_however_many_there_are),
      cmocka_unit_test(integers_are_kinds_or_amounts_and_never_guessed),
      cmocka_unit_test(who_hears_nobody_stays_as_it_was),
      cmocka_unit_test(who_hears_nobody_may_be_sparse),
      cmocka_unit_test(mistakes_in_options_are_named),
      cmocka_unit_test(an_embedding_that_has_no_room_is_told),
      cmocka_unit_test(option_tables_are_complete),
      cmocka_unit_test(models_survive_every_failing_allocation))
