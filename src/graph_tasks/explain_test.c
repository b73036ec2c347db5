/* Explanations of small trained models: scores add up, are zero where nothing comes from, find what
 * was planted. */
#include <math.h>

#include <check.h>
#include <regimen/graph_tasks.h>

/* ---- runs to be explained -------------------------------------------------------------------- */

static rgm_open_run *train_batched(rgm_provider *data, rgm_model_fn *model, void *payload,
                                   rgm_graph_task *task, int64_t epochs, int64_t batch_size)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_open_run *run = NULL;

    what.train_data = data;
    what.task = task;
    what.model_fn = model;
    what.model_payload = payload;
    what.global_batch_size = batch_size;
    how.optimizer = rgm_adam(0.02);
    how.trainer.epochs = epochs;
    how.runtime.seed = 3;
    how.runtime.threads = 1;
    CHECK_OK(rgm_run(&run, &what, &how));
    rgm_provider_release(data);
    rgm_graph_task_release(task);
    return run;
}

static rgm_open_run *train(rgm_provider *data, rgm_model_fn *model, void *payload,
                           rgm_graph_task *task, int64_t epochs)
{
    return train_batched(data, model, payload, task, epochs, 1);
}

enum { NODES = 80, CLASSES = 3 };

/* Mini-batches of 8 papers with those that they hear, two hops far. */
static rgm_provider *sampled_papers(const rgm_graph_data *data)
{
    const char *hops[] = {"<cites", "<cites"};
    rgm_sampling_provider_options options = {
        .batch_size = 8, .label = "label", .seed = 5, .threads = 1};
    rgm_sampling_spec *spec = NULL;
    rgm_provider *provider;

    CHECK_OK(rgm_sampling_spec_create(&spec, data->schema, "paper", hops, (int64_t[]){5, 5}, 2,
                                      RGM_SAMPLE_UNIFORM));
    options.spec = spec;
    provider = rgm_sampling_provider(data->graphs[0], data->train, &options);
    CHECK(provider != NULL);
    rgm_sampling_spec_release(spec);
    return provider;
}

/* Papers with words, or with dense features; as one graph, or samples of it. */
static rgm_open_run *papers_run(const rgm_graph_model_type *type, void *model, bool dense,
                                int64_t epochs, bool sampled)
{
    rgm_citation_options options = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data data = {0};
    rgm_open_run *run;

    options.node_set = "paper";
    options.edge_set = "cites";
    options.nodes = NODES;
    options.edges = 100;
    options.classes = CLASSES;
    options.words = 40;
    options.words_per_node = 5;
    options.dense = dense ? 6 : 0;
    options.train_per_class = 10;
    options.valid = 10;
    options.test = 10;
    CHECK_OK(rgm_generate_citation(&data, &options));
    run = train(sampled ? sampled_papers(&data) : rgm_graph_data_provider(&data, "train"),
                type->build, model, rgm_node_multiclass("paper", "label", CLASSES), epochs);
    rgm_graph_data_clear(&data);
    return run;
}

static rgm_open_run *citation_run(const rgm_graph_model_type *type, void *model, bool dense,
                                  int64_t epochs)
{
    return papers_run(type, model, dense, epochs, false);
}

/* ---- what is asked --------------------------------------------------------------------------- */

typedef struct asked {
    rgm_explainer *explainer;
    rgm_explanation *out;
    int64_t item, target;
    double predicted;
    rgm_status status;
} asked;

static rgm_status ask(const rgm_prediction *prediction, void *payload)
{
    asked *a = payload;

    a->status = rgm_explain(a->out, a->explainer, prediction, a->item, a->target);
    if (a->status == RGM_OK)
        a->predicted = rgm_tensor_at(
            prediction->values, a->item * rgm_tensor_dim(prediction->values, 1) + a->out->target);
    return RGM_END;
}

static rgm_explanation explain(const rgm_open_run *run, const rgm_explain_options *options,
                               int64_t item)
{
    rgm_explanation out;
    asked a = {.out = &out, .item = item, .target = -1};

    CHECK_OK(rgm_explainer_create(&a.explainer, run, options));
    CHECK_OK(rgm_run_predict(run, RGM_TRAIN, 0, ask, &a));
    CHECK_OK(a.status);
    CHECK_CLOSE(out.output, a.predicted, 1e-5, 1e-6);
    rgm_explainer_release(a.explainer);
    return out;
}

static double sum_of(const rgm_explanation *e)
{
    double sum = 0;

    for (int64_t k = 0; k < e->input_count; k++)
        for (int64_t i = 0; i < rgm_tensor_count(e->inputs[k].scores); i++)
            sum += rgm_tensor_at(e->inputs[k].scores, i);
    return sum;
}

static const rgm_explained_input *edges_of(const rgm_explanation *e)
{
    for (int64_t k = 0; k < e->input_count; k++)
        if (e->inputs[k].feature == NULL)
            return &e->inputs[k];
    fail_msg("no edges were explained");
    return NULL;
}

/* Nodes by how many edges lead from them to the one that item asks about; -1: none do. */
static void find_hops(int hops[NODES], const rgm_graph *graph, int64_t item)
{
    rgm_tensor *source = rgm_graph_source(graph, "cites"),
               *target = rgm_graph_target(graph, "cites");

    for (int i = 0; i < NODES; i++)
        hops[i] = -1;
    hops[rgm_tensor_at_int(rgm_graph_source(graph, "_readout/seed"), item)] = 0;
    for (int round = 0; round < NODES; round++)
        for (int64_t e = 0; e < rgm_tensor_count(source); e++) {
            int64_t from = rgm_tensor_at_int(source, e), to = rgm_tensor_at_int(target, e);

            if (hops[to] == round && hops[from] < 0)
                hops[from] = round + 1;
        }
}

/* ---- every model ----------------------------------------------------------------------------- */

static void *options_of(const rgm_graph_model_type *type)
{
    void *options = calloc(1, type->section.options_size);

    CHECK(options != NULL);
    type->section.defaults(options);
    return options;
}

static void scores_add_up_in_every_model(void **state)
{
    static const char *const sets[] = {"cites"};

    (void)state;
    for (int64_t m = 0; rgm_graph_models[m] != NULL; m++) {
        const rgm_graph_model_type *type = (const rgm_graph_model_type *)rgm_graph_models[m];
        rgm_explain_options options = RGM_EXPLAIN_OPTIONS_INIT;
        void *model = options_of(type);
        rgm_explanation e;
        rgm_open_run *run;

        if (type == &rgm_sgc_model)
            ((rgm_sgc_model_options *)model)->output = CLASSES;
        if (type == &rgm_gps_model)
            ((rgm_gps_model_options *)model)->attention_sets = (rgm_texts){sets, 1};
        run = citation_run(type, model, m % 2 == 0, 20);
        options.steps = 400;
        e = explain(run, &options, 1);
        CHECK_CLOSE(e.output - e.nothing - e.left, sum_of(&e), 1e-3, 1e-4);
        CHECK(fabs(e.left) < 0.02 * (fabs(e.output - e.nothing) + 0.5));
        rgm_explanation_clear(&e);
        rgm_run_close(run);
        free(model);
    }
}

/* Two rounds of messages: what is farther away has nothing to do with it. */
static void what_is_far_away_has_no_score(void **state)
{
    rgm_gcn_model_options model;
    rgm_open_run *run;

    (void)state;
    rgm_gcn_model.section.defaults(&model);
    run = citation_run(&rgm_gcn_model, &model, false, 20);
    for (int method = RGM_EXPLAIN_INTEGRATED_GRADIENTS; method <= RGM_EXPLAIN_MASK; method++) {
        rgm_explain_options options = RGM_EXPLAIN_OPTIONS_INIT;
        int64_t near = 0, far = 0;
        int hops[NODES];

        options.method = (rgm_explain_method)method;
        options.steps = 20;
        rgm_explanation e = explain(run, &options, 2);
        const rgm_explained_input *edges = edges_of(&e);

        find_hops(hops, e.graph, 2);
        for (int64_t i = 0; i < rgm_tensor_count(edges->scores); i++) {
            int64_t to = rgm_tensor_at_int(rgm_graph_target(e.graph, "cites"), i);
            double score = rgm_tensor_at(edges->scores, i);
            /* the model of one hidden layer and a head hears one edge far away for each round */
            bool heard = hops[to] >= 0 && hops[to] < (int)model.hidden.count;

            if (!heard)
                CHECK(score == 0);
            near += heard && score != 0;
            far += !heard;
            if (method == RGM_EXPLAIN_MASK)
                CHECK(score >= 0 && score <= 1);
        }
        CHECK(near > 0 && far > 0);
        rgm_explanation_clear(&e);
    }
    rgm_run_close(run);
}

/* The output of a linear model is a sum over what it reads: a step is as good as many. */
static void linear_models_are_explained_exactly(void **state)
{
    rgm_explain_options options = RGM_EXPLAIN_OPTIONS_INIT;
    rgm_sgc_model_options model;
    rgm_explanation one, many;
    rgm_open_run *run;

    (void)state;
    rgm_sgc_model.section.defaults(&model);
    model.output = CLASSES;
    run = citation_run(&rgm_sgc_model, &model, true, 20);
    options.edges = false;
    options.steps = 1;
    one = explain(run, &options, 0);
    options.steps = 50;
    many = explain(run, &options, 0);
    CHECK_INT(1, one.input_count);
    CHECK_INT(2, rgm_tensor_rank(one.inputs[0].scores)); /* as the feature is */
    CHECK(fabs(one.left) < 1e-5);
    for (int64_t i = 0; i < rgm_tensor_count(one.inputs[0].scores); i++)
        CHECK_CLOSE(rgm_tensor_at(one.inputs[0].scores, i), rgm_tensor_at(many.inputs[0].scores, i),
                    1e-4, 1e-6);
    rgm_explanation_clear(&one);
    rgm_explanation_clear(&many);
    rgm_run_close(run);
}

/* ---- what was planted ------------------------------------------------------------------------ */

#define BAGS                                                                                       \
    "node_sets { key: 'atom' value {"                                                              \
    "  features { key: 'x' value { dtype: DT_FLOAT shape { dim { size: 3 } } } }"                  \
    "  features { key: 'kind' value { dtype: DT_INT64 } } } }"                                     \
    "context { features { key: 'y' value { dtype: DT_INT64 } }"                                    \
    "          features { key: 'z' value { dtype: DT_FLOAT } } }"

enum { GRAPHS = 40, ATOMS = 3 };

/* y is whether the second number of the first atom is above 0, z is that number. */
static rgm_graph *make_bag(rgm_schema *schema, int64_t i)
{
    rgm_graph_builder *builder = NULL;
    rgm_graph *graph = NULL;
    rgm_feature f = {0};
    int64_t kinds[ATOMS] = {1, 2, 3}, y;
    float x[3 * ATOMS] = {0}, z;

    for (int k = 0; k < 3; k++)
        x[k] = (float)sin((1.3 + 0.7 * k) * (double)i + 2.1 * k + 0.4);
    z = x[1];
    y = x[1] > 0;
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "atom", (int64_t[]){ATOMS}));
    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_F32, 2, (int64_t[]){ATOMS, 3}, x));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "atom", "x", &f));
    rgm_tensor_release(f.values);
    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_I64, 1, (int64_t[]){ATOMS}, kinds));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "atom", "kind", &f));
    rgm_tensor_release(f.values);
    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_I64, 1, (int64_t[]){1}, &y));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_CONTEXT_PIECE, NULL, "y", &f));
    rgm_tensor_release(f.values);
    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_F32, 1, (int64_t[]){1}, &z));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_CONTEXT_PIECE, NULL, "z", &f));
    rgm_tensor_release(f.values);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    return graph;
}

/* All numbers, and the kind as an amount that the gradient does not know. */
static rgm_graph_value *plain(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    rgm_value *x = rgm_node_feature(graph, "atom", "x");
    rgm_value *kind = rgm_cast(rgm_node_feature(graph, "atom", "kind"), RGM_F32);

    (void)scope;
    if (payload == NULL)
        return rgm_with_state(graph, "atom", x);
    return rgm_with_state(graph, "atom",
                          rgm_reshape(kind, 2, (rgm_dim[]){rgm_value_dim(kind, 0), 1}));
}

static rgm_graph_task *bag_task(int kind)
{
    rgm_graph_classification_options classes = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;
    rgm_graph_regression_options numbers = RGM_GRAPH_REGRESSION_OPTIONS_INIT;

    classes.place.node_set = numbers.place.node_set = "atom";
    classes.place.reduce_type = numbers.place.reduce_type = "sum";
    classes.place.label = "y";
    numbers.place.label = "z";
    if (kind == 0)
        classes.num_classes = 2;
    return kind == 2   ? rgm_graph_task_create(&rgm_graph_regression, NULL, &numbers)
           : kind == 1 ? rgm_graph_task_create(&rgm_graph_binary_classification, NULL, &classes)
                       : rgm_graph_task_create(&rgm_graph_classification, NULL, &classes);
}

static rgm_open_run *bag_run(int kind, void *payload)
{
    rgm_graph *graphs[GRAPHS];
    rgm_provider *provider;
    rgm_schema *schema;

    CHECK_OK(rgm_schema_parse(&schema, BAGS, sizeof BAGS - 1, "bags"));
    for (int64_t i = 0; i < GRAPHS; i++)
        graphs[i] = make_bag(schema, i);
    provider = rgm_graphs_provider(graphs, GRAPHS, false);
    for (int64_t i = 0; i < GRAPHS; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
    return train(provider, plain, payload, bag_task(kind), payload == NULL ? 60 : 1);
}

/* One class of two, a logit, a number: each rests on the second column. */
static void masks_find_what_was_planted(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        rgm_explain_options options = RGM_EXPLAIN_OPTIONS_INIT;
        rgm_open_run *run = bag_run(kind, NULL);
        rgm_explanation e, again;

        options.method = RGM_EXPLAIN_MASK;
        options.learning_rate = 0.05;
        options.feature_size = 0.3;
        e = explain(run, &options, 0);
        CHECK_INT(1, e.input_count);
        CHECK(e.inputs[0].by_column);
        CHECK_INT(3, rgm_tensor_count(e.inputs[0].scores));
        for (int column = 0; column < 3; column += 2)
            CHECK(rgm_tensor_at(e.inputs[0].scores, 1) >
                  rgm_tensor_at(e.inputs[0].scores, column) + 0.1);
        again = explain(run, &options, 0);
        for (int column = 0; column < 3; column++)
            CHECK(rgm_tensor_at(e.inputs[0].scores, column) ==
                  rgm_tensor_at(again.inputs[0].scores, column));
        rgm_explanation_clear(&e);
        rgm_explanation_clear(&again);
        rgm_run_close(run);
    }
}

/* ---- attention ------------------------------------------------------------------------------- */

static const rgm_graph_model_type *const attentive[] = {&rgm_gat_model, &rgm_hgt_model,
                                                        &rgm_albis_model, &rgm_gps_model};
enum { ATTENTIVE = sizeof attentive / sizeof *attentive };

static void *attentive_options(const rgm_graph_model_type *type)
{
    static const char *const sets[] = {"cites"};
    void *options = options_of(type);

    if (type == &rgm_albis_model)
        ((rgm_albis_model_options *)options)->attention_type = RGM_ALBIS_MULTI_HEAD;
    if (type == &rgm_gps_model)
        ((rgm_gps_model_options *)options)->attention_sets = (rgm_texts){sets, 1};
    if (type == &rgm_hgt_model) /* one softmax over both ends */
        ((rgm_hgt_model_options *)options)->receiver = RGM_AT_BOTH;
    return options;
}

/* What a node hears at each head is 1 over the layers that share a softmax. */
static void check_sums(const rgm_explanation *e, int64_t first, int64_t count)
{
    const rgm_explained_attention *layers = &e->attention[first];
    int64_t heads = rgm_tensor_dim(layers->weights, 1);
    int64_t edges = rgm_tensor_count(rgm_graph_source(e->graph, "cites"));
    double sum[NODES][64] = {{0}};
    bool hears[NODES] = {false};

    CHECK(heads <= 64);
    for (int64_t i = 0; i < count * edges; i++) {
        const rgm_explained_attention *a = &layers[i / edges];
        const rgm_tensor *ends = a->receiver == RGM_TARGET ? rgm_graph_target(e->graph, "cites")
                                                           : rgm_graph_source(e->graph, "cites");
        int64_t to = rgm_tensor_at_int(ends, i % edges);

        hears[to] = true;
        for (int64_t h = 0; h < heads; h++)
            sum[to][h] += rgm_tensor_at(a->weights, i % edges * heads + h);
    }
    for (int64_t v = 0; v < NODES; v++)
        for (int64_t h = 0; h < heads; h++) {
            double own =
                layers->self_loops ? rgm_tensor_at(layers->weights, (edges + v) * heads + h) : 0;

            if (hears[v] || layers->self_loops)
                CHECK_CLOSE(1, sum[v][h] + own, 1e-5, 1e-5);
        }
    CHECK_INT((layers->self_loops ? NODES : 0) + edges, rgm_tensor_dim(layers->weights, 0));
}

static void attention_is_told_by_edge_layer_and_head(void **state)
{
    static const int64_t layers[] = {1, 4, 2, 3}, shared[] = {1, 2, 1, 1}, heads[] = {8, 4, 4, 4};

    (void)state;
    for (int m = 0; m < ATTENTIVE; m++) {
        rgm_explain_options options = RGM_EXPLAIN_OPTIONS_INIT;
        void *model = attentive_options(attentive[m]);
        rgm_open_run *run = citation_run(attentive[m], model, true, 20);
        int64_t near = 0, far = 0;
        rgm_explanation e;
        int hops[NODES];

        options.method = RGM_EXPLAIN_ATTENTION;
        e = explain(run, &options, 2);
        CHECK_INT(layers[m], e.attention_count);
        CHECK_INT(1, e.input_count);
        CHECK_TEXT("cites", e.inputs[0].set);
        find_hops(hops, e.graph, 2);
        for (int64_t a = 0; a < e.attention_count; a += shared[m])
            check_sums(&e, a, shared[m]);
        for (int64_t i = 0; i < rgm_tensor_count(e.inputs[0].scores); i++) {
            double score = rgm_tensor_at(e.inputs[0].scores, i), mean = 0;
            int64_t to = rgm_tensor_at_int(rgm_graph_target(e.graph, "cites"), i);

            CHECK(score >= 0 && score <= 1);
            CHECK_INT(heads[m], rgm_tensor_dim(e.attention[0].weights, 1));
            for (int64_t h = 0; h < heads[m]; h++)
                mean += rgm_tensor_at(e.attention[0].weights, i * heads[m] + h) / (double)heads[m];
            if (m == 0) { /* of one layer only the node's own edges are heard */
                CHECK_CLOSE(hops[to] == 0 ? mean : 0, score, 1e-6, 1e-7);
                near += hops[to] == 0;
                far += hops[to] != 0;
            }
        }
        CHECK(m > 0 || (near > 0 && far > 0));
        rgm_explanation_clear(&e);
        rgm_run_close(run);
        free(model);
    }
}

/* Training on samples goes by a narrowed pass of its own, in which no layer's notes lie. */
static void attention_of_samples_is_heard(void **state)
{
    (void)state;
    for (int m = 0; m < ATTENTIVE; m++) {
        rgm_explain_options options = RGM_EXPLAIN_OPTIONS_INIT;
        void *model = attentive_options(attentive[m]);
        rgm_open_run *run = papers_run(attentive[m], model, true, 3, true);
        int64_t heard = 0, seed;
        rgm_explanation e;

        options.method = RGM_EXPLAIN_ATTENTION;
        e = explain(run, &options, 2);
        seed = rgm_tensor_at_int(rgm_graph_source(e.graph, "_readout/seed"), 2);
        CHECK_TEXT("cites", e.inputs[0].set);
        for (int64_t i = 0; i < rgm_tensor_count(e.inputs[0].scores); i++) {
            if (rgm_tensor_at_int(rgm_graph_target(e.graph, "cites"), i) != seed)
                continue;
            CHECK(rgm_tensor_at(e.inputs[0].scores, i) > 0);
            heard++;
        }
        CHECK(heard > 0);
        rgm_explanation_clear(&e);
        rgm_run_close(run);
        free(model);
    }
}

#define RINGS                                                                                      \
    "node_sets { key: 'atom' value {"                                                              \
    "  features { key: 'x' value { dtype: DT_FLOAT shape { dim { size: 2 } } } } } }"              \
    "edge_sets { key: 'bond' value { source: 'atom' target: 'atom' } }"                            \
    "context { features { key: 'y' value { dtype: DT_INT64 } } }"

enum { RINGS_COUNT = 12, RINGS_A_BATCH = 4 };

/* A ring of 3 to 5 atoms; y is whether i is odd, which the atoms tell. */
static rgm_graph *make_ring(rgm_schema *schema, int64_t i)
{
    int64_t n = 3 + i % 3, y = i % 2;
    rgm_graph_builder *builder = NULL;
    rgm_tensor *ends[2], *x, *label;
    rgm_graph *graph = NULL;

    CHECK_OK(rgm_tensor_create(&ends[0], RGM_I64, 1, &n));
    CHECK_OK(rgm_tensor_create(&ends[1], RGM_I64, 1, &n));
    CHECK_OK(rgm_tensor_create(&x, RGM_F32, 2, (int64_t[]){n, 2}));
    CHECK_OK(rgm_tensor_create_from(&label, RGM_I64, 1, (int64_t[]){1}, &y));
    for (int64_t k = 0; k < n; k++) {
        rgm_tensor_i64(ends[0])[k] = k;
        rgm_tensor_i64(ends[1])[k] = (k + 1) % n;
        rgm_tensor_f32(x)[2 * k] = (float)y + (float)sin(1.7 * (double)(i + 3 * k));
        rgm_tensor_f32(x)[2 * k + 1] = (float)cos(2.3 * (double)(i + k));
    }
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "atom", &n));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "bond", &n));
    CHECK_OK(rgm_graph_builder_edges(builder, "bond", ends[0], ends[1]));
    CHECK_OK(
        rgm_graph_builder_feature(builder, RGM_NODE_SET, "atom", "x", &(rgm_feature){.values = x}));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_CONTEXT_PIECE, NULL, "y",
                                       &(rgm_feature){.values = label}));
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    rgm_tensor_release(x);
    rgm_tensor_release(label);
    return graph;
}

static rgm_open_run *rings_run(void *model)
{
    rgm_graph_classification_options classes = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;
    rgm_graph *graphs[RINGS_COUNT];
    rgm_provider *provider;
    rgm_schema *schema;

    CHECK_OK(rgm_schema_parse(&schema, RINGS, sizeof RINGS - 1, "rings"));
    for (int64_t i = 0; i < RINGS_COUNT; i++)
        graphs[i] = make_ring(schema, i);
    provider = rgm_graphs_provider(graphs, RINGS_COUNT, false);
    for (int64_t i = 0; i < RINGS_COUNT; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
    classes.place.node_set = "atom";
    classes.place.reduce_type = "sum";
    classes.place.label = "y";
    classes.num_classes = 2;
    return train_batched(provider, rgm_gps_model.build, model,
                         rgm_graph_task_create(&rgm_graph_classification, NULL, &classes), 5,
                         RINGS_A_BATCH);
}

/* In training a batch norm mixes the graphs of a batch; the prediction of one is its own. */
static void attention_is_of_the_own_graph(void **state)
{
    static const char *const sets[] = {"bond"};
    rgm_explain_options options = RGM_EXPLAIN_OPTIONS_INIT;
    rgm_gps_model_options model;
    rgm_explanation e;
    rgm_open_run *run;
    int64_t edge = 0;

    (void)state;
    rgm_gps_model.section.defaults(&model);
    model.attention_sets = (rgm_texts){sets, 1};
    model.units = 8;
    model.layers = 2;
    CHECK(model.norm == RGM_STATE_BATCH);
    run = rings_run(&model);
    options.method = RGM_EXPLAIN_ATTENTION;
    e = explain(run, &options, 1);
    CHECK_INT(RINGS_A_BATCH, rgm_graph_components(e.graph));
    for (int64_t c = 0; c < RINGS_A_BATCH; c++)
        for (int64_t k = 0; k < rgm_graph_sizes(e.graph, RGM_EDGE_SET, "bond")[c]; k++, edge++)
            CHECK((rgm_tensor_at(e.inputs[0].scores, edge) > 0) == (c == 1));
    rgm_explanation_clear(&e);
    rgm_run_close(run);
}

static void models_without_attention_say_so(void **state)
{
    rgm_explain_options options = RGM_EXPLAIN_OPTIONS_INIT;
    rgm_albis_model_options model;
    rgm_explainer *explainer;
    rgm_open_run *run;

    (void)state;
    rgm_albis_model.section.defaults(&model); /* its messages are plain */
    run = citation_run(&rgm_albis_model, &model, true, 20);
    options.method = RGM_EXPLAIN_ATTENTION;
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_explainer_create(&explainer, run, &options));
    CHECK_MESSAGE("models with it are gat_v2, hgt, mt_albis (attention_type: multi_head or "
                  "gat_v2), gps");
    options.edges = false;
    CHECK_STATUS(RGM_ERR_ARG, rgm_explainer_create(&explainer, run, &options));
    CHECK_MESSAGE("attention is of edges");
    rgm_run_close(run);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void mistakes_are_told(void **state)
{
    rgm_explain_options options = RGM_EXPLAIN_OPTIONS_INIT;
    rgm_open_run *run = bag_run(0, NULL), *integers;
    rgm_explanation out;
    asked a = {.out = &out, .item = 99, .target = -1};
    int one = 1;

    (void)state;
    options.head = 1;
    CHECK_STATUS(RGM_ERR_ARG, rgm_explainer_create(&a.explainer, run, &options));
    CHECK_MESSAGE("head 1 of 1");
    options.head = 0;
    options.edges = options.features = false;
    CHECK_STATUS(RGM_ERR_ARG, rgm_explainer_create(&a.explainer, run, &options));
    CHECK_MESSAGE("neither edges nor features");
    options.edges = true; /* the model has none */
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_explainer_create(&a.explainer, run, &options));
    CHECK_MESSAGE("nothing of what the model reads can be explained");
    options.features = true;
    CHECK_OK(rgm_explainer_create(&a.explainer, run, &options));
    CHECK_TEXT("", rgm_explainer_left_out(a.explainer));
    CHECK_OK(rgm_run_predict(run, RGM_TRAIN, 0, ask, &a));
    CHECK_INT(RGM_ERR_ARG, a.status);
    a.item = 0;
    a.target = 2;
    CHECK_OK(rgm_run_predict(run, RGM_TRAIN, 0, ask, &a));
    CHECK_INT(RGM_ERR_ARG, a.status);
    CHECK_MESSAGE("number 2 of an output of 2");
    rgm_explainer_release(a.explainer);
    rgm_run_close(run);
    integers = bag_run(0, &one);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_explainer_create(&a.explainer, integers, &options));
    CHECK_MESSAGE("atom.kind");
    rgm_run_close(integers);
}

static rgm_open_run *oom_run;

static rgm_status explain_once(rgm_explain_method method)
{
    rgm_explain_options options = RGM_EXPLAIN_OPTIONS_INIT;
    rgm_explanation out = {.input_count = 0};
    asked a = {.out = &out, .target = -1};
    rgm_status status;

    options.steps = 2;
    options.method = method;
    RGM_TRY(rgm_explainer_create(&a.explainer, oom_run, &options));
    status = rgm_run_predict(oom_run, RGM_TRAIN, 0, ask, &a);
    if (status == RGM_OK)
        status = a.status;
    if (status == RGM_OK)
        rgm_explanation_clear(&out);
    rgm_explainer_release(a.explainer);
    return status;
}

/* What is asked of the run's compute graph stays in it, so that memory is not the same behind. */
static void walk_allocations(rgm_explain_method method, void *model)
{
    int64_t failures = 0;

    for (int64_t i = 0;; i++) {
        rgm_status status;
        bool failed;

        oom_run = model != NULL ? citation_run(&rgm_gat_model, model, true, 1) : bag_run(0, NULL);
        rgm_memory_fail_at(i, false);
        status = explain_once(method);
        failed = rgm_memory_failures() > 0;
        rgm_memory_fail_at(-1, false);
        rgm_run_close(oom_run);
        if (status == RGM_OK && !failed)
            break;
        CHECK(status == RGM_OK || status == RGM_ERR_NOMEM);
        failures += status == RGM_ERR_NOMEM;
        i += i / 8;
    }
    CHECK(failures > 10);
}

static void every_failing_allocation_is_told(void **state)
{
    void *model = options_of(&rgm_gat_model);

    (void)state;
    walk_allocations(RGM_EXPLAIN_INTEGRATED_GRADIENTS, NULL);
    walk_allocations(RGM_EXPLAIN_ATTENTION, model);
    free(model);
}

TESTS(cmocka_unit_test(scores_add_up_in_every_model),
      cmocka_unit_test(what_is_far_away_has_no_score),
      cmocka_unit_test(linear_models_are_explained_exactly),
      cmocka_unit_test(masks_find_what_was_planted),
      cmocka_unit_test(attention_is_told_by_edge_layer_and_head),
      cmocka_unit_test(attention_of_samples_is_heard),
      cmocka_unit_test(attention_is_of_the_own_graph),
      cmocka_unit_test(models_without_attention_say_so), cmocka_unit_test(mistakes_are_told),
      cmocka_unit_test(every_failing_allocation_is_told))
