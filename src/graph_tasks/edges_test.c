/*
 * Tasks on edges: the states of both ends with features of the edge, of many graphs and of one
 * whose edges are split; labels are in no model's sight; padding and missing labels do not count.
 */
#include "gnn_check.h"
#include "learning.h"
#include "processors.h"

enum { GRAPHS = 24 };
#define BAGS                                                                                       \
    "node_sets { key: 'atom' value { features { key: 'x' value { dtype: DT_FLOAT shape { dim { "   \
    "size: 2 } } } } } }"                                                                          \
    "edge_sets { key: 'bond' value { source: 'atom' target: 'atom'"                                \
    "  features { key: 'kind' value { dtype: DT_INT64 } }"                                         \
    "  features { key: 'heat' value { dtype: DT_FLOAT } }"                                         \
    "  features { key: 'w' value { dtype: DT_FLOAT } } } }"

static void add_feature(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                        const char *name, rgm_dtype dtype, int64_t items, int64_t width,
                        const void *numbers)
{
    rgm_feature f = {0};

    CHECK_OK(rgm_tensor_create_from(&f.values, dtype, width > 0 ? 2 : 1, (int64_t[]){items, width},
                                    numbers));
    CHECK_OK(rgm_graph_builder_feature(builder, piece, set, name, &f));
    rgm_tensor_release(f.values);
}

/* A ring of atoms, both ways round. The heat of a bond is linear in both its ends and its weight,
 * its kind says whether it is above 0. */
static rgm_graph *make_ring(rgm_schema *schema, int64_t i, int64_t atoms, bool gaps)
{
    enum { MOST = 200 };
    int64_t source[2 * MOST], target[2 * MOST], kind[2 * MOST];
    float x[2 * MOST], heat[2 * MOST], w[2 * MOST];
    rgm_graph_builder *builder = NULL;
    rgm_graph *graph = NULL;

    for (int64_t k = 0; k < 2 * atoms; k++)
        x[k] = (float)number(13 * i + 3 * k);
    for (int64_t k = 0; k < 2 * atoms; k++) {
        source[k] = k < atoms ? k : (k - atoms + 1) % atoms;
        target[k] = k < atoms ? (k + 1) % atoms : k - atoms;
        w[k] = (float)number(5 * i + k % atoms);
        heat[k] = x[2 * source[k]] + x[2 * target[k]] + 2 * w[k]; /* the same both ways */
        kind[k] = heat[k] > 0;
        if (gaps && k % 7 == 3) {
            heat[k] = NAN;
            kind[k] = -1;
        }
    }
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "atom", &atoms));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "bond", (int64_t[]){2 * atoms}));
    add_edges(builder, "bond", 2 * atoms, source, target);
    add_feature(builder, RGM_NODE_SET, "atom", "x", RGM_F32, atoms, 2, x);
    add_feature(builder, RGM_EDGE_SET, "bond", "kind", RGM_I64, 2 * atoms, 0, kind);
    add_feature(builder, RGM_EDGE_SET, "bond", "heat", RGM_F32, 2 * atoms, 0, heat);
    add_feature(builder, RGM_EDGE_SET, "bond", "w", RGM_F32, 2 * atoms, 0, w);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    return graph;
}

static rgm_provider *make_rings(bool gaps)
{
    rgm_graph *graphs[GRAPHS];
    rgm_provider *provider;
    rgm_schema *schema;

    CHECK_OK(rgm_schema_parse(&schema, BAGS, sizeof BAGS - 1, "rings"));
    for (int64_t i = 0; i < GRAPHS; i++)
        graphs[i] = make_ring(schema, i, 3 + i % 4, gaps);
    provider = rgm_graphs_provider(graphs, GRAPHS, false);
    CHECK(provider != NULL);
    for (int64_t i = 0; i < GRAPHS; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
    return provider;
}

/* The atoms' numbers as they are; the label is in nobody's sight. */
static rgm_graph_value *plain(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    (void)scope;
    if (payload != NULL)
        CHECK(!rgm_has_feature(graph, RGM_EDGE_SET, "bond", payload));
    return rgm_with_state(graph, "atom", rgm_node_feature(graph, "atom", "x"));
}

static const rgm_graph_task_type *const kinds[] = {
    &rgm_edge_classification, &rgm_edge_binary_classification, &rgm_edge_regression};
static const char *const labels[] = {"kind", "kind", "heat"};
static const char *const weight[] = {"w"};

static rgm_graph_task *task_of(int kind, bool features)
{
    rgm_graph_classification_options classes = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;
    rgm_graph_regression_options numbers = RGM_GRAPH_REGRESSION_OPTIONS_INIT;
    rgm_graph_place *place = kind < 2 ? &classes.place : &numbers.place;

    place->label = labels[kind];
    if (features)
        place->features = (rgm_texts){weight, 1};
    classes.num_classes = kind == 0 ? 2 : 0;
    return rgm_graph_task_create(kinds[kind], NULL, kind < 2 ? (void *)&classes : &numbers);
}

static void run_rings(rgm_open_run **run, int kind, bool padded)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;

    what.train_data = what.valid_data = make_rings(true);
    what.model_fn = plain;
    what.model_payload = (void *)labels[kind];
    what.global_batch_size = 5;
    what.task = task_of(kind, true);
    if (padded)
        what.train_padding.kind = what.valid_padding.kind = RGM_PADDING_TIGHT;
    how.optimizer = rgm_adam(0.1);
    how.trainer.epochs = 40;
    how.runtime.threads = 1;
    CHECK_OK(rgm_run(run, &what, &how));
    rgm_provider_release(what.train_data);
    rgm_graph_task_release(what.task);
}

/* A model that looks at what processors made of edges. */
static rgm_graph_value *curious(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    CHECK(rgm_node_feature(graph, "bond_line", "heat") != NULL);
    return plain(scope, graph, payload);
}

/* It has the label's name and its numbers, and stands where the model sees it. */
static void a_label_among_the_features_is_told(void **state)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_graph_processor line = {.type = &rgmi_line_graph_processor};
    rgm_text plan = {0};
    rgm_open_run *run;
    char *options;

    (void)state;
    CHECK_OK(RGM_NEW(options, (int64_t)line.type->section.options_size));
    line.options = options;
    what.train_data = make_rings(false); /* a gap would be a NaN that the model reads */
    what.model_fn = curious;
    what.task = task_of(2, false);
    ((rgm_graph_place *)rgm_graph_task_options(what.task))->edge_set = "bond";
    what.processors = &line;
    what.processor_count = 1;
    how.optimizer = rgm_adam(0.1);
    how.trainer.train_steps = 1;
    how.runtime.threads = 1;
    CHECK_OK(rgm_run(&run, &what, &how));
    CHECK_OK(rgm_run_plan(&plan, run));
    CHECK(strstr(plan.data, "reads atom.x, bond_line.heat\n") != NULL);
    CHECK(strstr(plan.data, "bond.heat") == NULL);
    rgm_text_clear(&plan);
    rgm_run_close(run);
    rgm_provider_release(what.train_data);
    rgm_graph_task_release(what.task);
    rgm_free(options);
}

static rgm_status count_items(const rgm_prediction *prediction, void *payload)
{
    *(int64_t *)payload += rgm_tensor_dim(prediction->values, 0);
    return RGM_OK;
}

static void edges_of_many_graphs_are_learned(void **state)
{
    int64_t edges = 0;

    (void)state;
    for (int64_t i = 0; i < GRAPHS; i++)
        edges += 2 * (3 + i % 4);
    for (int kind = 0; kind < 3; kind++) {
        rgm_open_run *run[2];
        int64_t items = 0;

        for (int padded = 0; padded < 2; padded++)
            run_rings(&run[padded], kind, padded);
        for (int padded = 0; padded < 2; padded++) {
            if (kind == 2)
                CHECK(rgm_run_metric(run[padded], "valid", "r2") > 0.99);
            else
                CHECK(rgm_run_metric(run[padded], "valid",
                                     kind == 0 ? "accuracy" : "binary_accuracy") > 0.95);
        }
        CHECK_CLOSE(rgm_run_metric(run[0], "valid", "loss"),
                    rgm_run_metric(run[1], "valid", "loss"), 1e-3, 1e-5);
        CHECK_OK(rgm_run_predict(run[0], RGM_VALID, 0, count_items, &items));
        CHECK_INT(edges, items);
        rgm_run_close(run[0]);
        rgm_run_close(run[1]);
    }
}

/* Stars of purchases are no stars of ratings; those of ratings read backwards are. */
static void a_label_is_taken_off_its_own_edges_alone(void **state)
{
    static const char shop[] = "node_sets { key: 'user' } node_sets { key: 'item' }"
                               "edge_sets { key: 'rated' value { source: 'user' target: 'item'"
                               "  features { key: 'stars' value { dtype: DT_FLOAT } } } }"
                               "edge_sets { key: 'bought' value { source: 'user' target: 'item'"
                               "  features { key: 'stars' value { dtype: DT_FLOAT } } } }"
                               "edge_sets { key: 'backwards' value { source: 'item' target: 'user'"
                               "  features { key: 'stars' value { dtype: DT_FLOAT } } } }";
    rgm_graph_regression_options options = RGM_GRAPH_REGRESSION_OPTIONS_INIT;
    rgm_schema *schema;
    rgm_cgraph *cgraph;
    rgm_graph_value *value;
    rgm_graph_views views;

    (void)state;
    options.place.edge_set = "rated";
    options.place.label = "stars";
    CHECK_OK(rgm_schema_parse(&schema, shop, sizeof shop - 1, "shop"));
    CHECK_OK(rgm_cgraph_create(&cgraph));
    CHECK_OK(rgm_graph_value_create(&value, cgraph, schema));
    CHECK_OK(rgm_edge_regression.preprocess(&views, value, &options));
    CHECK(!rgm_has_feature(views.graphs[0], RGM_EDGE_SET, "rated", "stars"));
    CHECK(!rgm_has_feature(views.graphs[0], RGM_EDGE_SET, "backwards", "stars"));
    CHECK(rgm_has_feature(views.graphs[0], RGM_EDGE_SET, "bought", "stars"));
    CHECK(rgm_edge_feature(views.graphs[0], "backwards", "stars") == NULL);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_cgraph_status(cgraph));
    CHECK_MESSAGE("no model sees a label, nor what edges that run the other way have");
    rgm_graph_value_release(value);
    rgm_cgraph_release(cgraph);
    rgm_schema_release(schema);
}

/* ---- by hand ------------------------------------------------------------------------------------
 */

static void scores_are_those_of_both_ends_and_features(void **state)
{
    static const char *const e[] = {"e", "w"};
    rgm_graph_regression_options options = RGM_GRAPH_REGRESSION_OPTIONS_INIT;
    rgm_graph_views views = {.count = 1};
    rgm_head head[RGM_MAX_HEADS];
    rgm_graph_task *task;
    int64_t count = RGM_MAX_HEADS;
    double expected[CITE_COUNT];
    const double *kernel, *bias;
    rgm_value *features[2];
    rgm_tensor *values[2];
    world w;

    (void)state;
    world_open(&w, PAPERS);
    options.place.features = (rgm_texts){e, 2};
    options.place.label = "none";
    task = rgm_graph_task_create(&rgm_edge_regression, "edge", &options);
    views.graphs[0] = rgm_with_state(w.value, "paper", rgm_node_feature(w.value, "paper", "x"));
    features[0] = rgm_edge_feature(w.value, "cites", "e");
    features[1] = rgm_edge_feature(w.value, "cites", "w");
    snprintf(head[0].name, sizeof head[0].name, "edge");
    CHECK_OK(kinds[2]->predict(head, &count, w.scope, &views, &options));
    set_parameters(&w);
    kernel = parameter(&w, "edge/kernel");
    bias = parameter(&w, "edge/bias");
    for (int k = 0; k < 2; k++)
        values[k] = run(&w, features[k], w.data, false);
    for (int i = 0; i < CITE_COUNT; i++) {
        expected[i] = bias[0];
        for (int k = 0; k < 3; k++)
            expected[i] += number(3 * cite_source[i] + k) * kernel[k] +
                           number(3 * cite_target[i] + k) * kernel[3 + k];
        for (int k = 0; k < 2; k++)
            expected[i] += rgm_tensor_at(values[0], 2 * i + k) * kernel[6 + k];
        expected[i] += rgm_tensor_at(values[1], i) * kernel[8];
    }
    check_values(&w, head[0].predictions, expected, CITE_COUNT);
    check_gradients(&w, head[0].predictions, 5);
    for (int k = 0; k < 2; k++)
        rgm_tensor_release(values[k]);
    rgm_graph_task_release(task);
    world_close(&w);
}

/* ---- one graph whose edges are split ------------------------------------------------------------
 */

typedef struct ring {
    const char *folder;
    char *data;
} ring;

/* A folder with one large ring. */
static ring save_ring(void)
{
    rgm_graph_data_save_options options = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;
    ring r = {.folder = check_folder()};
    rgm_graph_data data = {0};
    rgm_graph *graph;

    CHECK_OK(rgm_schema_parse(&data.schema, BAGS, sizeof BAGS - 1, "rings"));
    graph = make_ring(data.schema, 1, 200, false);
    data.graphs = &graph;
    data.graph_count = 1;
    CHECK_OK(rgm_path_join(&r.data, r.folder, "data"));
    CHECK_OK(rgm_graph_data_save(&data, r.data, &options));
    rgm_graph_release(graph);
    rgm_schema_release(data.schema);
    return r;
}

static void close_ring(ring *r)
{
    rgm_free(r->data);
    CHECK_OK(rgm_folder_remove(r->folder));
}

static rgm_status open_ring(rgmi_graph_inputs *in, const ring *r, const rgmi_edge_split *split,
                            const rgm_graph_task_type *type, const char *label)
{
    rgm_graph_classification_options options = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;
    rgmi_data_options data;
    rgm_task_setup setup = {.data = &data, .part_count = 1, .threads = 1};
    rgm_status status;

    rgmi_graph_data_section.defaults(&data);
    data.type = RGMI_DATA_FOLDER;
    data.path = r->data;
    data.edge_split = *split;
    options.place.label = label;
    options.place.node_set = "atom";
    setup.parts[0] = (rgm_task_part){.type = &type->section, .options = &options};
    *in = (rgmi_graph_inputs){0};
    status = rgmi_graph_inputs_open(in, &setup);
    if (status != RGM_OK)
        rgmi_graph_inputs_clear(in);
    return status;
}

/* The labels that a part's graph has. */
static rgm_graph *graph_of(rgm_provider *provider)
{
    rgm_dataset *data;
    rgm_iterator *examples;
    rgm_element *example;
    rgm_graph *graph;

    CHECK_OK(rgm_provider_dataset(&data, provider, false));
    CHECK_OK(rgm_iterator_create(&examples, data, NULL));
    CHECK_OK(rgm_iterator_next(&example, examples));
    graph = rgm_graph_retain(rgm_element_pointer(example, &rgm_graph_element));
    rgm_element_release(example);
    rgm_iterator_release(examples);
    rgm_dataset_release(data);
    return graph;
}

static const rgm_tensor *labels_in(const rgm_graph *graph, const char *label)
{
    return rgm_graph_feature(graph, RGM_EDGE_SET, "bond", label)->values;
}

enum { ATOMS = 200, EDGES = 2 * ATOMS };

static void an_edge_and_its_reverse_are_in_one_part(void **state)
{
    const rgmi_edge_split split = {.valid = 0.1, .test = 0.2, .seed = 3};
    ring r = save_ring();

    (void)state;
    for (int kind = 0; kind < 3; kind += 2) {
        rgmi_graph_inputs in;
        rgm_graph *graphs[3];
        int64_t seen[3] = {0};

        CHECK_OK(open_ring(&in, &r, &split, kinds[kind], labels[kind]));
        for (int part = 0; part < 3; part++)
            graphs[part] = graph_of(in.providers[part]);
        for (int64_t e = 0; e < EDGES; e++) {
            int64_t of = -1, reverse = (e + ATOMS) % EDGES;

            for (int part = 0; part < 3; part++) {
                double label = rgm_tensor_at(labels_in(graphs[part], labels[kind]), e);
                double back = rgm_tensor_at(labels_in(graphs[part], labels[kind]), reverse);
                bool known = kind == 0 ? label >= 0 : !isnan(label);

                CHECK(known == (kind == 0 ? back >= 0 : !isnan(back)));
                CHECK(!known || of < 0);
                of = known ? part : of;
            }
            CHECK(of >= 0);
            seen[of]++;
        }
        for (int part = 0; part < 3; part++) {
            CHECK_INT(in.edges[part], seen[part]);
            rgm_graph_release(graphs[part]);
        }
        CHECK(seen[1] > 15 && seen[1] < 70 && seen[2] > 50 && seen[2] < 120);
        rgmi_graph_inputs_clear(&in);
    }
    close_ring(&r);
}

/* The other parts' labels are missing whatever is learned: to a regression -1 is a number. */
static void integers_of_other_parts_are_no_numbers(void **state)
{
    const rgmi_edge_split split = {.valid = 0.3, .test = 0.3};
    rgm_graph_regression_options options = RGM_GRAPH_REGRESSION_OPTIONS_INIT;
    ring r = save_ring();
    rgmi_graph_inputs in;

    (void)state;
    options.place.label = "kind";
    CHECK_OK(open_ring(&in, &r, &split, &rgm_edge_regression, "kind"));
    for (int part = 0; part < 3; part++) {
        rgm_label_counts counts = {0};
        rgm_graph *graph = graph_of(in.providers[part]);

        CHECK_OK(rgm_edge_regression.count_labels(&counts, graph, &options));
        CHECK_INT(in.edges[part], counts.known);
        CHECK_INT(EDGES - in.edges[part], counts.missing);
        CHECK_INT(0, counts.negative);
        CHECK_OK(rgm_edge_regression.check_labels(graph, &options));
        rgm_graph_release(graph);
    }
    rgmi_graph_inputs_clear(&in);
    close_ring(&r);
}

/* Ends of the graph's edges, whichever part they are of; which are of a part is told apart. */
static void a_prediction_is_of_an_edge_with_its_ends(void **state)
{
    const rgmi_edge_split split = {.valid = 0.3, .test = 0.3};
    rgm_graph_regression_options options = RGM_GRAPH_REGRESSION_OPTIONS_INIT;
    ring r = save_ring();
    rgmi_graph_inputs in;
    rgm_graph *graph;
    int64_t counts[4] = {0};

    (void)state;
    options.place.label = "heat";
    CHECK_OK(open_ring(&in, &r, &split, &rgm_edge_regression, "heat"));
    graph = graph_of(in.providers[RGM_VALID]);
    CHECK_INT(EDGES, in.edge_count);
    for (int64_t e = 0; e < EDGES; e++) {
        rgm_item_pair pair;

        rgm_edge_regression.pair(&pair, graph, e, &options);
        CHECK_INT(rgm_tensor_at_int(rgm_graph_source(graph, "bond"), e), pair.source);
        CHECK_INT(rgm_tensor_at_int(rgm_graph_target(graph, "bond"), e), pair.target);
        CHECK(pair.relation < 0 && pair.names[0].size == 0);
        counts[in.edge_parts[e]]++;
    }
    for (int part = 0; part < 3; part++)
        CHECK_INT(in.edges[part], counts[part]);
    rgm_graph_release(graph);
    rgmi_graph_inputs_clear(&in);
    close_ring(&r);
}

/* Which edges a part asks about where processors made others of them: those that have its labels.
 */
static void parts_go_through_processors_as_labels_do(void **state)
{
    static const int merges[2] = {true, false};
    const rgmi_edge_split split = {.valid = 0.3, .test = 0.3};
    const rgm_section_type *type = &rgmi_undirected_processor.section;
    ring r = save_ring();

    (void)state;
    for (int i = 0; i < 2; i++) {
        void *options[8] = {NULL}; /* of the processor */
        const rgm_graph_processor processor = {&rgmi_undirected_processor, options};
        rgm_graph_regression_options numbers = RGM_GRAPH_REGRESSION_OPTIONS_INIT;
        rgm_task_part part = {.type = &rgm_edge_regression.section, .options = &numbers};
        rgmi_graph_inputs in;
        int64_t before[3], seen[3] = {0};

        CHECK(type->options_size <= sizeof options);
        type->defaults(options);
        if (!merges[i])
            memset(options, 0, sizeof options);
        numbers.place.label = "heat";
        CHECK_OK(open_ring(&in, &r, &split, &rgm_edge_regression, "heat"));
        memcpy(before, in.edges, sizeof before);
        CHECK_OK(rgmi_edge_parts_process(&in, &part, &processor, 1));
        CHECK_INT(merges[i] ? EDGES : 2 * EDGES, in.edge_count);
        for (int mode = 0; mode < 3; mode++) {
            rgm_graph *graph = graph_of(in.providers[mode]), *processed;

            CHECK_OK(rgm_graph_process(&processed, graph, &processor, 1, NULL));
            for (int64_t e = 0; e < in.edge_count; e++) {
                bool known = !isnan(rgm_tensor_at(labels_in(processed, "heat"), e));

                CHECK_INT(known, in.edge_parts[e] == mode);
                seen[mode] += known;
            }
            CHECK_INT(seen[mode], in.edges[mode]);
            CHECK_INT(merges[i] ? before[mode] : 2 * before[mode], in.edges[mode]);
            rgm_graph_release(graph);
            rgm_graph_release(processed);
        }
        rgmi_graph_inputs_clear(&in);
    }
    close_ring(&r);
}

/* They would be edges of class 0, and of number 0. */
static void loops_that_have_no_label_are_refused(void **state)
{
    void *options[8] = {NULL}; /* of the processor */
    const rgm_graph_processor loops = {&rgmi_self_loops_processor, options};

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
        rgm_runtime_options runtime = {.threads = 1};
        rgm_task task;

        what.train_data = make_rings(false);
        what.model_fn = plain;
        what.task = task_of(kind, false);
        what.processors = &loops;
        what.processor_count = 1;
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_graph_learning_create(&task, &what, &runtime));
        CHECK_MESSAGE("processor 'self_loops' adds edges to 'bond' that have no label");
        rgm_provider_release(what.train_data);
        rgm_graph_task_release(what.task);
    }
}

static void edges_of_one_graph_are_learned_in_parts(void **state)
{
    const rgmi_edge_split split = {.valid = 0.1, .test = 0.1};
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_export_check check = {0};
    rgmi_graph_inputs in;
    rgm_open_run *run;
    ring r = save_ring();
    char *run_dir;

    (void)state;
    CHECK_OK(open_ring(&in, &r, &split, &rgm_edge_regression, "heat"));
    what.train_data = in.providers[RGM_TRAIN];
    what.valid_data = in.providers[RGM_VALID];
    what.test_data = in.providers[RGM_TEST];
    what.model_fn = plain;
    what.model_payload = (void *)"heat";
    what.task = task_of(2, true);
    how.optimizer = rgm_adam(0.1);
    how.trainer.epochs = 200;
    CHECK_OK(rgm_path_join(&run_dir, r.folder, "run"));
    how.run_dir = run_dir;
    how.runtime.threads = 1;
    CHECK_OK(rgm_run(&run, &what, &how));
    CHECK(rgm_run_metric(run, "test", "r2") > 0.999);
    CHECK_OK(rgm_run_export(run, run_dir));
    CHECK_OK(rgm_run_verify_onnx(&check, run, run_dir, RGM_VALID, 1));
    CHECK_INT(EDGES, check.items);
    rgm_run_close(run);
    rgm_free(run_dir);
    rgm_graph_task_release(what.task);
    rgmi_graph_inputs_clear(&in);
    close_ring(&r);
}

static void refuse(const ring *r, rgmi_edge_split split, const rgm_graph_task_type *type,
                   const char *label, const char *message)
{
    rgmi_graph_inputs in;

    CHECK_STATUS(RGM_ERR_CONFIG, open_ring(&in, r, &split, type, label));
    CHECK_MESSAGE(message);
}

static void splits_that_make_no_sense_are_refused(void **state)
{
    const rgmi_edge_split tenth = {.test = 0.1}, none = {.valid = 0}, w = {.feature = "w"},
                          kind = {.feature = "kind"};
    rgmi_data_options data;
    rgmi_graph_inputs in;
    ring r = save_ring();

    (void)state;
    refuse(&r, none, kinds[0], "kind", "data.edge_split: say which edges are judged on");
    refuse(&r, tenth, &rgm_graph_classification, "kind", "graph_classification is not about edges");
    refuse(&r, tenth, kinds[0], "colour", "task.label: edge set 'bond' has no feature 'colour'");
    refuse(&r, w, kinds[0], "kind", "has no feature 'w' of one integer an edge");
    CHECK_OK(open_ring(&in, &r, &kind, kinds[0], "kind"));
    CHECK_INT(EDGES, in.edges[RGM_TRAIN] + in.edges[RGM_VALID]);
    CHECK(in.providers[RGM_TEST] == NULL);
    rgmi_graph_inputs_clear(&in);
    rgmi_graph_data_section.defaults(&data);
    data.path = r.data;
    data.edge_split = (rgmi_edge_split){.valid = 0.5, .test = 0.5};
    CHECK_STATUS(RGM_ERR_CONFIG, rgmi_graph_data_section.check(&data));
    CHECK_MESSAGE("leave no edge to train on");
    data.edge_split = (rgmi_edge_split){.valid = 0.5, .feature = "kind"};
    CHECK_STATUS(RGM_ERR_CONFIG, rgmi_graph_data_section.check(&data));
    CHECK_MESSAGE("data.edge_split: feature says which edges are in a part, or");
    close_ring(&r);
}

/* The ring as a graph file, whose last bytes before the directory, ends of edges, are of no node.
 */
static char *damaged_file(const ring *r)
{
    rgm_graph_data data;
    uint64_t directory;
    int64_t size;
    char *path, *bytes;

    CHECK_OK(rgm_graph_data_load(&data, r->data, NULL));
    CHECK_OK(rgm_path_join(&path, r->folder, "ring.graph"));
    CHECK_OK(rgm_graph_data_write(&data, path, NULL));
    CHECK_OK(rgm_file_load(&bytes, &size, path, 1 << 20));
    memcpy(&directory, bytes + 16, sizeof directory);
    memset(bytes + directory / 4, 0x7f, directory - directory / 4);
    CHECK_OK(rgm_file_save(path, bytes, size));
    rgm_free(bytes);
    rgm_graph_data_clear(&data);
    return path;
}

static void edges_that_lead_nowhere_are_refused(void **state)
{
    static const rgm_graph_task_type *const asking[] = {&rgm_edge_classification,
                                                        &rgm_link_prediction};
    const rgmi_edge_split tenth = {.test = 0.1};
    ring r = save_ring(), damaged = {.folder = r.folder, .data = damaged_file(&r)};
    rgmi_graph_inputs in;

    (void)state;
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(RGM_ERR_DATA, open_ring(&in, &damaged, &tenth, asking[i], "kind"));
        CHECK_MESSAGE("edge set 'bond': ");
        CHECK_MESSAGE("no sound graph file: edges of node");
    }
    rgm_free(damaged.data);
    close_ring(&r);
}

static void options_that_the_data_lack_are_refused(void **state)
{
    static const char *const heat[] = {"heat"}, *const kind[] = {"kind"}, *const no[] = {"no"};
    const struct {
        const char *label, *edge_set;
        rgm_texts features;
        const char *message;
    } cases[] = {
        {"heat", "bonds", {NULL, 0}, "task.edge_set: the schema has no edge set 'bonds'"},
        {"no", NULL, {NULL, 0}, "task.label: no label feature 'no' on '_readout' nor on bond"},
        {"kindly", NULL, {NULL, 0}, "nor on bond; did you mean 'kind'?"},
        {"heat", NULL, {heat, 1}, "task.features: 'heat' is the label"},
        {"heat", NULL, {kind, 1}, "'kind' of edge set 'bond' is no float"},
        {"heat", "bond", {no, 1}, "edge set 'bond' has no feature 'no'"}};
    rgm_schema *schema;

    (void)state;
    CHECK_OK(rgm_schema_parse(&schema, BAGS, sizeof BAGS - 1, "rings"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_graph_regression_options options = RGM_GRAPH_REGRESSION_OPTIONS_INIT;

        options.place.label = cases[i].label;
        options.place.edge_set = cases[i].edge_set;
        options.place.features = cases[i].features;
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_edge_regression.check(&options, schema));
        CHECK_MESSAGE(cases[i].message);
    }
    rgm_schema_release(schema);
}

static void splitting_survives_every_failing_allocation(void **state)
{
    const rgmi_edge_split split = {.valid = 0.1, .test = 0.1};
    rgmi_graph_inputs in;
    ring r = save_ring();

    (void)state;
    CHECK_EVERY_OOM(open_ring(&in, &r, &split, kinds[0], "kind"), rgmi_graph_inputs_clear(&in));
    close_ring(&r);
}

TESTS(cmocka_unit_test(edges_of_many_graphs_are_learned),
      cmocka_unit_test(a_label_among_the_features_is_told),
      cmocka_unit_test(scores_are_those_of_both_ends_and_features),
      cmocka_unit_test(an_edge_and_its_reverse_are_in_one_part),
      cmocka_unit_test(integers_of_other_parts_are_no_numbers),
      cmocka_unit_test(a_label_is_taken_off_its_own_edges_alone),
      cmocka_unit_test(a_prediction_is_of_an_edge_with_its_ends),
      cmocka_unit_test(parts_go_through_processors_as_labels_do),
      cmocka_unit_test(loops_that_have_no_label_are_refused),
      cmocka_unit_test(edges_of_one_graph_are_learned_in_parts),
      cmocka_unit_test(splits_that_make_no_sense_are_refused),
      cmocka_unit_test(edges_that_lead_nowhere_are_refused),
      cmocka_unit_test(options_that_the_data_lack_are_refused),
      cmocka_unit_test(splitting_survives_every_failing_allocation))
