/*
 * Whole models exported, names and sizes in the file, refusals, determinism, and memory that runs
 * out.
 */
#include "onnx_check.h"

#include <regimen/graph_tasks.h>

/* ---- models -------------------------------------------------------------------------------- */

static const struct {
    const char *model, *yaml;
} models[] = {
    {"gcn", "hidden: [8]\noutput: 4\ndropout: 0.5\ninput: {normalize: true}\n"},
    {"gcn", "hidden: [8, 4]\nself_loops: false\nnormalization: in\n"},
    {"gat_v2", "hidden: [4]\nheads: 3\noutput: 4\noutput_heads: 2\nattention_dropout: 0.5\n"},
    {"gat_v2", "hidden: [4]\nheads: 2\nself_loops: false\nresidual: true\nshare_weights: true\n"},
    {"graph_sage", "hidden: [8]\noutput: 4\nl2_normalize: true\n"},
    {"graph_sage", "hidden: [6]\naggregator: pool\nhidden_units: 5\n"},
    {"graph_sage", "hidden: [6]\naggregator: gcn\n"},
    {"appnp", "hidden: [6]\noutput: 4\niterations: 4\nedge_dropout: 0.5\n"},
    {"sgc", "output: 4\nself_loops: false\n"},
    {"gin", "units: 6\nlayers: 2\njump: concat\n"},
    {"gin", "units: 6\nlayers: 1\nnorm: none\njump: max\n"},
    {"hgt", "units: 8\nheads: 2\nreceiver: both\n"},
    {"hgt", "units: 8\nheads: 4\nlayers: 1\nweighted_skip: false\n"},
    {"mt_albis", "units: 6\nmessage_dim: 8\nresidual: true\nreduce_type: mean|max_no_inf\n"},
    {"mt_albis", "units: 6\nmessage_dim: 8\nattention_type: multi_head\nnorm: batch\n"},
    {"mt_albis", "units: 6\nmessage_dim: 8\nattention_type: gat_v2\nedge_dropout: 0.5\n"},
    {"rgcn", "units: 6\noutput: 4\nreceiver: both\n"},
    {"pna", "units: 6\ntowers: 2\n"},
    {"pna", "units: 6\nnorm: layer\nreceiver: both\njump: sum\n"},
    {"gps", "units: 8\nheads: 2\nlocal: none\nattention_sets: [edges]\n"},
    {"vanilla_mpnn", "units: 6\nmessage_dim: 8\nedge_units: 5\ncontext_units: 4\n"},
    {"rgcn", "units: 6\ndecomposition: block\nbases: 3\n"},
    {"gcn", "hidden: [6, 6]\nresidual: true\ncontext_units: 3\njump: max\n"},
    {"gat_v2", "hidden: [3, 3]\nheads: 2\nedge_units: 4\ncontext_units: 3\njump: concat\n"},
    {"graph_sage", "hidden: [6, 4]\nresidual: true\ncontext_units: 3\n"},
    {"gin", "units: 6\nlayers: 2\nedge_units: 4\nresidual: true\n"},
    {"hgt", "units: 8\nheads: 2\ncontext_units: 3\njump: sum\n"},
    {"mt_albis", "units: 6\nmessage_dim: 8\nedge_units: 4\ncontext_units: 3\njump: concat\n"},
    {"rgcn", "units: 6\ncontext_units: 3\nresidual: true\n"},
    {"pna", "units: 6\nedge_units: 4\ncontext_units: 3\n"},
    {"vanilla_mpnn", "units: 6\nmessage_dim: 8\nlayer_norm: true\n"},
    {"vanilla_mpnn", "units: 6\nmessage_dim: 8\nencode: false\nreceiver_state: false\n"
                     "reduce_type: mean|max_no_inf\n"},
};
enum { MODELS = sizeof models / sizeof *models };

typedef struct network {
    rgm_graph_data data;
    rgm_cgraph *graph;
    rgm_graph_value *value;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_value *state;
    rgm_feed feeds[64];
    int64_t feed_count;
} network;

static void build_state(network *n, const char *model, const char *yaml)
{
    const rgm_graph_model_type *type =
        (const rgm_graph_model_type *)rgm_section_type_find(rgm_graph_models, model);
    rgm_arena *arena;
    rgm_yaml *options;

    CHECK(type != NULL);
    CHECK_OK(rgm_arena_create(&arena));
    void *values = rgm_arena_alloc(arena, type->section.options_size);
    type->section.defaults(values);
    CHECK_OK(rgm_yaml_parse(&options, yaml, (int64_t)strlen(yaml), "model.yaml"));
    CHECK_OK(rgm_options_read(values, type->section.fields, rgm_yaml_root(options), "model", NULL,
                              arena));
    rgm_graph_value *out = type->build(n->scope, n->value, values);
    CHECK_OK(rgm_cgraph_status(n->graph));
    n->state = rgm_node_feature(out, "nodes", RGM_HIDDEN_STATE);
    rgm_yaml_release(options);
    rgm_arena_release(arena);
}

static void network_open(network *n, const char *model, const char *yaml, bool dense)
{
    rgm_citation_options options = RGM_CITATION_OPTIONS_INIT;

    *n = (network){.feed_count = 0};
    options.nodes = 120;
    options.edges = 260;
    options.words = 40;
    options.words_per_node = 5;
    options.classes = 4;
    options.dense = dense ? 12 : 0;
    options.train_per_class = 5;
    options.valid = 20;
    options.test = 20;
    CHECK_OK(rgm_generate_citation(&n->data, &options));
    CHECK_OK(rgm_cgraph_create(&n->graph));
    CHECK_OK(rgm_graph_value_create(&n->value, n->graph,
                                    (rgm_schema *)rgm_graph_schema(n->data.graphs[0])));
    CHECK_OK(rgm_scope_create(&n->scope, n->graph, RGM_F32));
    build_state(n, model, yaml);
    CHECK_OK(rgm_parameters_create(&n->parameters, n->graph, 5));
    CHECK_OK(rgm_graph_feeds(n->feeds, 64, &n->feed_count, n->value, n->data.graphs[0]));
}

static void network_close(network *n)
{
    rgm_parameters_release(n->parameters);
    rgm_scope_release(n->scope);
    rgm_graph_value_release(n->value);
    rgm_cgraph_release(n->graph);
    rgm_graph_data_clear(&n->data);
}

static void every_model_means_the_same_in_the_file(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * MODELS; i++) {
        network n;
        char what[64];
        network_open(&n, models[i / 2].model, models[i / 2].yaml, i % 2);
        snprintf(what, sizeof what, "model.%s-%d", models[i / 2].model, i);
        lab_check(n.state, n.parameters, n.feeds, n.feed_count, what, 1e-5);
        network_close(&n);
    }
}

/* The graph asked about some pairs of three relations. */
static rgm_graph *ask(const rgm_graph *graph)
{
    enum { COUNT = 6 };
    static const int64_t ends[COUNT] = {0, 5, 17, 3, 80, 119}, kinds[COUNT] = {0, 1, 2, 2, 1, 0};
    static const int64_t others[COUNT] = {7, 0, 42, 9, 11, 12}, labels[COUNT] = {1, 0, 1, 0, 1, 0};
    const int64_t *const numbers[] = {ends, others, labels, kinds}, count = COUNT;
    rgm_tensor *t[4] = {NULL};
    rgm_graph_pairs pairs = {.source_set = "nodes",
                             .target_set = "nodes",
                             .label = "label",
                             .relation = "relation",
                             .relation_count = 3};
    rgm_graph *asked = NULL;

    for (int i = 0; i < 4; i++)
        CHECK_OK(rgm_tensor_create_from(&t[i], RGM_I64, 1, &count, numbers[i]));
    pairs.source = t[0];
    pairs.target = t[1];
    pairs.labels = t[2];
    pairs.relations = t[3];
    CHECK_OK(rgm_graph_with_pairs(&asked, graph, &pairs));
    for (int i = 0; i < 4; i++)
        rgm_tensor_release(t[i]);
    return asked;
}

static rgm_value *score(network *n, rgm_link_head head)
{
    rgm_link_prediction_options o = RGM_LINK_PREDICTION_OPTIONS_INIT;
    rgm_head outputs[RGM_MAX_HEADS];
    int64_t count = RGM_MAX_HEADS;
    rgm_graph_views views;
    rgm_graph_task *task;

    o.head = head;
    task = rgm_graph_task_create(&rgm_link_prediction, NULL, &o);
    CHECK_OK(rgm_graph_task_views(&views, task, n->value));
    views.graphs[0] = rgm_with_state(
        views.graphs[0], "nodes",
        rgm_dense(n->scope, "state", rgm_node_sparse_feature(n->value, "nodes", "words"), 6));
    CHECK_OK(rgm_graph_task_outputs(outputs, &count, task, n->scope, &views, NULL));
    rgm_graph_task_release(task);
    CHECK_OK(rgm_graph_value_keep(n->value, &outputs[0].predictions, 1));
    return outputs[0].predictions;
}

static void every_link_head_means_the_same_in_the_file(void **state)
{
    (void)state;
    for (int head = RGM_LINK_DOT; head <= RGM_LINK_BILINEAR; head++) {
        network n;
        rgm_graph *asked;
        rgm_value *scores;
        char what[64];

        network_open(&n, "sgc", "output: 4\n", false);
        asked = ask(n.data.graphs[0]);
        rgm_parameters_release(n.parameters);
        rgm_scope_release(n.scope);
        rgm_graph_value_release(n.value);
        rgm_cgraph_release(n.graph);
        CHECK_OK(rgm_cgraph_create(&n.graph));
        CHECK_OK(rgm_graph_value_create(&n.value, n.graph, (rgm_schema *)rgm_graph_schema(asked)));
        CHECK_OK(rgm_scope_create(&n.scope, n.graph, RGM_F32));
        scores = score(&n, (rgm_link_head)head);
        CHECK_OK(rgm_parameters_create(&n.parameters, n.graph, 5));
        CHECK_OK(rgm_graph_feeds(n.feeds, 64, &n.feed_count, n.value, asked));
        snprintf(what, sizeof what, "link.%d", head);
        lab_check(scores, n.parameters, n.feeds, n.feed_count, what, 1e-5);
        network_close(&n);
        rgm_graph_release(asked);
    }
}

/* The file has the moving statistics, not the batch's, and none of the nodes that training needs.
 */
static void an_image_network_means_the_same_in_the_file(void **state)
{
    (void)state;
    for (int symbolic = 0; symbolic < 2; symbolic++) {
        lab l;
        rgm_scope *scope;
        rgm_parameters *parameters;
        lab_open(&l, RGM_F32);
        l.symbolic = symbolic;
        CHECK_OK(rgm_scope_create(&scope, l.graph, RGM_F32));
        rgm_value *x = lab_input(&l, 4, (int64_t[]){5, 8, 6, 3});
        rgm_value *h = rgm_conv2d_layer(scope, "first", x, 4, NULL);
        h = rgm_relu(rgm_batch_norm(scope, "norm", h, NULL));
        h = rgm_add(h, rgm_conv2d_layer(scope, "second", h, 4, NULL));
        h = rgm_global_avg_pool2d(rgm_max_pool2d(rgm_avg_pool2d(h, NULL), NULL));
        h = rgm_dense(scope, "logits", rgm_batch_norm(scope, "rows", h, NULL), 2);
        CHECK_OK(rgm_cgraph_status(l.graph));
        CHECK_OK(rgm_parameters_create(&parameters, l.graph, 5));
        for (int64_t i = 0; i < rgm_parameters_count(parameters); i++)
            for (int64_t k = 0; !rgm_parameters_trainable(parameters, i) && k < 4; k++)
                rgm_tensor_f32(rgm_parameters_tensor(parameters, i))[k] = 0.5f + (float)(i + k) / 9;
        lab_check(h, parameters, l.feeds, l.count, symbolic ? "images.varying" : "images.fixed",
                  1e-5);
        rgm_parameters_release(parameters);
        rgm_scope_release(scope);
        lab_close(&l);
    }
}

static bool has_input(const rgm_onnx_model *model, const char *name)
{
    for (int64_t i = 0; i < rgm_onnx_input_count(model); i++)
        if (strcmp(rgm_onnx_input_name(model, i), name) == 0)
            return true;
    return false;
}

static char *model_path(char *folder, size_t size)
{
    lab_folder(folder, size);
    return lab_path(folder, "model.onnx");
}

static void a_size_is_an_input_only_where_no_tensor_has_it(void **state)
{
    (void)state;
    for (int dense = 0; dense < 2; dense++) {
        network n;
        rgm_onnx_model *model;
        rgm_dtype dtype;
        int64_t shape[RGM_MAX_RANK];
        int rank;
        char folder[64], *path = model_path(folder, sizeof folder);
        network_open(&n, models[0].model, models[0].yaml, dense);
        rgm_export_output output = {.name = "state", .value = n.state};
        CHECK_OK(rgm_onnx_save(path, n.graph, n.parameters, &output, 1, NULL));
        CHECK_OK(rgm_onnx_open(&model, path));
        CHECK(has_input(model, "edges/edges.rows") && has_input(model, "edges/edges.columns"));
        CHECK(has_input(model, "nodes/nodes.#size") == !dense);
        CHECK(has_input(model, "nodes/nodes.feat") == dense);
        CHECK_INT(1, rgm_onnx_output_count(model));
        CHECK_TEXT("state", rgm_onnx_output_name(model, 0));
        for (int64_t i = 0; i < rgm_onnx_input_count(model); i++) {
            CHECK_OK(rgm_onnx_input_type(&dtype, &rank, shape, model, i));
            CHECK(dtype == RGM_I64 || dtype == RGM_F32);
            CHECK(rank == 0 || shape[0] == -1);
        }
        rgm_onnx_close(model);
        network_close(&n);
        rgm_free(path);
        CHECK_OK(rgm_folder_remove(folder));
    }
}

static void the_bytes_depend_on_the_arguments_alone(void **state)
{
    (void)state;
    char folder[64], *path = model_path(folder, sizeof folder), *bytes[3];
    const char *const metadata[] = {"made by", "a test"};
    rgm_onnx_options options = {.description = "a doc", .metadata = metadata, .metadata_count = 1};
    int64_t size[3];

    for (int i = 0; i < 3; i++) {
        network n;
        void *hole = malloc((size_t)(1 + i) * 1000); /* other addresses each time */
        network_open(&n, models[2].model, models[2].yaml, false);
        rgm_export_output output = {.name = "state", .value = n.state};
        CHECK_OK(rgm_onnx_save(path, n.graph, n.parameters, &output, 1, &options));
        CHECK_OK(rgm_file_load(&bytes[i], &size[i], path, 1 << 30));
        network_close(&n);
        free(hole);
        CHECK(size[i] == size[0] && memcmp(bytes[i], bytes[0], (size_t)size[0]) == 0);
    }
    for (int i = 0; i < 3; i++)
        rgm_free(bytes[i]);
    rgm_free(path);
    CHECK_OK(rgm_folder_remove(folder));
}

static void class_names_are_in_the_file(void **state)
{
    (void)state;
    char folder[64], *path = model_path(folder, sizeof folder);
    const char *const metadata[] = {"made by", "a test"}, *const taken[] = {RGM_ONNX_CLASS_NAMES,
                                                                            "mine"};
    rgm_onnx_options options = {.metadata = metadata, .metadata_count = 1};
    const char *names[] = {"none", "\"aromatic\"", "ring, \xc3\xa4"};
    network n;
    rgm_onnx_model *model;

    network_open(&n, models[2].model, models[2].yaml, false);
    rgm_export_output outputs[] = {{.name = "a", .value = n.state, .classes = {names, 3}},
                                   {.name = "b", .value = n.state},
                                   {.name = "c", .value = n.state, .classes = {names, 1}}};
    CHECK_OK(rgm_onnx_save(path, n.graph, n.parameters, outputs, 3, &options));
    CHECK_OK(rgm_onnx_open(&model, path));
    CHECK_TEXT("{\"a\": [\"none\", \"\\\"aromatic\\\"\", \"ring, \xc3\xa4\"], \"c\": [\"none\"]}",
               rgm_onnx_metadata(model, RGM_ONNX_CLASS_NAMES));
    CHECK_TEXT("a test", rgm_onnx_metadata(model, "made by"));
    CHECK(rgm_onnx_metadata(model, "made") == NULL);
    rgm_onnx_close(model);
    CHECK_OK(rgm_onnx_save(path, n.graph, n.parameters, outputs + 1, 1, NULL));
    CHECK_OK(rgm_onnx_open(&model, path));
    CHECK(rgm_onnx_metadata(model, RGM_ONNX_CLASS_NAMES) == NULL);
    rgm_onnx_close(model);
    options.metadata = taken;
    CHECK_STATUS(RGM_ERR_ARG, rgm_onnx_save(path, n.graph, n.parameters, outputs, 1, &options));
    CHECK_MESSAGE("'class_names' are made of the outputs' classes");
    network_close(&n);
    rgm_free(path);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- refusals ------------------------------------------------------------------------------ */

typedef struct two_leaves {
    lab l;
    rgm_value *x, *w;
    rgm_parameters *parameters;
} two_leaves;

static void leaves_open(two_leaves *t, const char *input, const char *parameter)
{
    *t = (two_leaves){.x = NULL};
    lab_open(&t->l, RGM_F32);
    t->x = rgm_input(t->l.graph, input, RGM_F32, 2, (rgm_dim[]){-1 + 3, 3});
    t->w = rgm_parameter(t->l.graph, parameter, RGM_F32, 2, (int64_t[]){3, 2},
                         (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
    CHECK_OK(rgm_parameters_create(&t->parameters, t->l.graph, 1));
}

static void leaves_close(two_leaves *t)
{
    rgm_parameters_release(t->parameters);
    lab_close(&t->l);
}

static void check_refused(two_leaves *t, const char *output, rgm_value *y, rgm_status status,
                          const char *part)
{
    rgm_export_output o = {.name = output, .value = y};

    CHECK_STATUS(status,
                 rgm_onnx_save("/nowhere/model.onnx", t->l.graph, t->parameters, &o, 1, NULL));
    CHECK_MESSAGE(part);
}

static void names_that_would_be_taken_twice_are_refused(void **state)
{
    (void)state;
    two_leaves t;

    leaves_open(&t, "p.rows", "w");
    rgm_dim n = rgm_cgraph_symbol(t.l.graph, "n");
    rgm_value *p = rgm_input_pattern(t.l.graph, "p", n, 2, rgm_cgraph_symbol(t.l.graph, "m"));
    check_refused(&t, "y", rgm_spmm(p, rgm_matmul(t.x, t.w), NULL), RGM_ERR_ARG,
                  "'p.rows' would have the name of something else");
    leaves_close(&t);
    leaves_open(&t, "x", "w");
    check_refused(&t, "x", rgm_matmul(t.x, t.w), RGM_ERR_ARG, "the input 'x' would have");
    check_refused(&t, "w", rgm_matmul(t.x, t.w), RGM_ERR_ARG, "the parameter 'w' would have");
    check_refused(&t, "", rgm_matmul(t.x, t.w), RGM_ERR_ARG, "empty or not UTF-8");
    check_refused(&t, "\xff", rgm_matmul(t.x, t.w), RGM_ERR_ARG, "empty or not UTF-8");
    rgm_export_output twice[] = {{.name = "y", .value = t.x}, {.name = "y", .value = t.x}};
    CHECK_STATUS(RGM_ERR_ARG, rgm_onnx_save("/nowhere/m", t.l.graph, t.parameters, twice, 2, NULL));
    CHECK_MESSAGE("the output 'y' would have");
    CHECK_STATUS(RGM_ERR_ARG, rgm_onnx_save("/nowhere/m", t.l.graph, t.parameters, twice, 0, NULL));
    CHECK_MESSAGE("needs an output");
    leaves_close(&t);
}

/* Inner names give way to leaves, which come first. */
static void inner_names_avoid_those_of_leaves(void **state)
{
    (void)state;
    lab l;
    const char *const inputs[] = {"scale/Mul_0", "constant/f32:2", "add/Add_1", "scale/Mul_0_2"};
    rgm_value *x[4], *y;

    lab_open(&l, RGM_F32);
    l.symbolic = true;
    for (int i = 0; i < 4; i++) {
        int64_t size = 3;
        rgm_tensor *t;
        CHECK_OK(rgm_tensor_create(&t, RGM_F32, 1, &size));
        rgm_tensor_f32(t)[0] = (float)i;
        x[i] = lab_feed(&l, rgm_input(l.graph, inputs[i], RGM_F32, 1, &size), t, false);
    }
    y = rgm_add(rgm_scale(x[0], 2), rgm_add(x[1], rgm_add(x[2], rgm_scale(x[3], 3))));
    lab_check(y, NULL, l.feeds, l.count, "names", 0);
    lab_close(&l);
}

static void long_names_are_not_cut_off(void **state)
{
    (void)state;
    lab l;
    char name[2][1200];
    rgm_value *x[2];
    int64_t size = 2;

    lab_open(&l, RGM_F32);
    l.symbolic = true;
    for (int i = 0; i < 2; i++) { /* they differ at the very end */
        rgm_tensor *t;
        memset(name[i], 'n', sizeof name[i]);
        name[i][sizeof name[i] - 2] = i == 0 ? '0' : '1';
        name[i][sizeof name[i] - 1] = '\0';
        CHECK_OK(rgm_tensor_create_from(&t, RGM_F32, 1, &size, (float[]){(float)i, 5}));
        x[i] = lab_feed(&l, rgm_input(l.graph, name[i], RGM_F32, 1, &size), t, false);
    }
    lab_check(rgm_sub(x[0], x[1]), NULL, l.feeds, l.count, "long-names", 0);
    lab_close(&l);
}

static void parameters_of_another_graph_are_refused(void **state)
{
    (void)state;
    two_leaves t, other;

    leaves_open(&t, "x", "w");
    leaves_open(&other, "x", "v");
    rgm_export_output o = {.name = "y", .value = rgm_matmul(t.x, t.w)},
                      foreign = {.name = "y", .value = other.x};
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_onnx_save("/nowhere/m", t.l.graph, other.parameters, &o, 1, NULL));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_onnx_save("/nowhere/m", t.l.graph, NULL, &o, 1, NULL));
    CHECK_MESSAGE("the parameters have no 'w'");
    CHECK_STATUS(RGM_ERR_ARG, rgm_onnx_save("/nowhere/m", t.l.graph, NULL, &foreign, 1, NULL));
    leaves_close(&other);
    leaves_open(&other, "x", "w2");
    rgm_parameter(other.l.graph, "w", RGM_F32, 2, (int64_t[]){2, 3}, (rgm_init){RGM_INIT_ONES, 0});
    rgm_parameters_release(other.parameters);
    CHECK_OK(rgm_parameters_create(&other.parameters, other.l.graph, 1));
    CHECK_STATUS(RGM_ERR_SHAPE,
                 rgm_onnx_save("/nowhere/m", t.l.graph, other.parameters, &o, 1, NULL));
    CHECK_MESSAGE("parameter 'w' is f32[2,3], the graph has f32[3,2]");
    leaves_close(&other);
    leaves_close(&t);
}

static void patterns_and_unknown_sizes_are_refused(void **state)
{
    (void)state;
    two_leaves t;
    rgm_dim n;

    leaves_open(&t, "x", "w");
    n = rgm_cgraph_symbol(t.l.graph, "n");
    rgm_value *p = rgm_input_pattern(t.l.graph, "p", n, n, rgm_cgraph_symbol(t.l.graph, "m"));
    check_refused(&t, "y", p, RGM_ERR_UNSUPPORTED, "output 'y' is a sparse pattern");
    rgm_value *q = rgm_input_pattern(t.l.graph, "q", rgm_cgraph_symbol(t.l.graph, NULL), n,
                                     rgm_cgraph_symbol(t.l.graph, "m"));
    check_refused(&t, "y", rgm_degree(q, RGM_F32), RGM_ERR_UNSUPPORTED, "that no value has");
    leaves_close(&t);
}

static void a_failed_save_leaves_the_old_file(void **state)
{
    (void)state;
    two_leaves t;
    char folder[64], *path = model_path(folder, sizeof folder), *bytes, **names;
    int64_t size, count;

    leaves_open(&t, "x", "w");
    rgm_export_output o = {.name = "y", .value = rgm_matmul(t.x, t.w)};
    CHECK_OK(rgm_file_save(path, "old", 3));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_onnx_save(path, t.l.graph, NULL, &o, 1, NULL));
    CHECK_OK(rgm_file_load(&bytes, &size, path, 100));
    CHECK_TEXT("old", bytes);
    rgm_free(bytes);
    CHECK_OK(rgm_folder_list(&names, &count, folder));
    CHECK_INT(1, count);
    rgm_names_release(names, count);
    leaves_close(&t);
    rgm_free(path);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- memory -------------------------------------------------------------------------------- */

static rgm_status make_inputs(const network *n)
{
    rgm_named_tensor *inputs;
    int64_t count;

    RGM_TRY(rgm_onnx_inputs(&inputs, &count, n->feeds, n->feed_count));
    rgm_onnx_inputs_release(inputs, count);
    return RGM_OK;
}

static void every_failing_allocation_is_reported_and_nothing_leaks(void **state)
{
    (void)state;
    char folder[64], *path = model_path(folder, sizeof folder);
    network n;
    rgm_onnx_model *model = NULL;
    rgm_named_tensor *inputs;
    rgm_tensor *y = NULL;
    int64_t input_count;

    network_open(&n, models[0].model, models[0].yaml, false);
    rgm_export_output output = {.name = "state", .value = n.state};
    CHECK_EVERY_OOM(rgm_onnx_save(path, n.graph, n.parameters, &output, 1, NULL), (void)0);
    CHECK_EVERY_OOM(rgm_saved_model_save(folder, n.graph, n.parameters, &output, 1, NULL), (void)0);
    CHECK_EVERY_OOM(rgm_onnx_open(&model, path), rgm_onnx_close(model));
    CHECK_EVERY_OOM(make_inputs(&n), (void)0);
    CHECK_OK(rgm_onnx_open(&model, path));
    CHECK_OK(rgm_onnx_inputs(&inputs, &input_count, n.feeds, n.feed_count));
    CHECK_EVERY_OOM(rgm_onnx_run(&y, model, inputs, input_count), rgm_tensor_release(y));
    rgm_onnx_inputs_release(inputs, input_count);
    rgm_onnx_close(model);
    network_close(&n);
    rgm_free(path);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(every_model_means_the_same_in_the_file),
      cmocka_unit_test(every_link_head_means_the_same_in_the_file),
      cmocka_unit_test(an_image_network_means_the_same_in_the_file),
      cmocka_unit_test(a_size_is_an_input_only_where_no_tensor_has_it),
      cmocka_unit_test(the_bytes_depend_on_the_arguments_alone),
      cmocka_unit_test(class_names_are_in_the_file),
      cmocka_unit_test(names_that_would_be_taken_twice_are_refused),
      cmocka_unit_test(inner_names_avoid_those_of_leaves),
      cmocka_unit_test(long_names_are_not_cut_off),
      cmocka_unit_test(parameters_of_another_graph_are_refused),
      cmocka_unit_test(patterns_and_unknown_sizes_are_refused),
      cmocka_unit_test(a_failed_save_leaves_the_old_file),
      cmocka_unit_test(every_failing_allocation_is_reported_and_nothing_leaks))
