/*
 * Ranking of nodes: lists are the components of a batch, padded or not, items without labels are in
 * none; an order is learned, of lists that weigh the same in any batch; labels that are none, and
 * lists without an order.
 */
#include <check.h>
#include <regimen/graph_tasks.h>

enum { QUERIES = 60 };
#define RESULTS_OF(label)                                                                          \
    "node_sets { key: 'page' value { features { key: 'x' value { dtype: DT_FLOAT shape { dim { "   \
    "size: 2 } } } } } }"                                                                          \
    "node_sets { key: '_readout' value { features { key: 'label' value { dtype: DT_FLOAT " label   \
    " } } } }"                                                                                     \
    "edge_sets { key: '_readout/seed' value { source: 'page' target: '_readout' } }"

static void add_floats(rgm_graph_builder *builder, const char *set, const char *name, int rank,
                       int64_t items, const float *numbers)
{
    rgm_feature f = {0};

    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_F32, rank, (int64_t[]){items, 2}, numbers));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, set, name, &f));
    rgm_tensor_release(f.values);
}

/* What is learned from, and how. */
typedef struct trial {
    const char *shape;           /* of a label                             */
    int64_t most;                /* pages of a query                       */
    float first;                 /* label of the first page of query 5     */
    int64_t batch, each, epochs; /* each: batches of an update, 0: one     */
    bool padded;
    bool streamed; /* training data are in no memory */
    double rate;
    int64_t unordered; /* [out] queries whose pages have one label */
} trial;

static const trial usual = {
    .shape = "", .most = 6, .first = NAN, .batch = 12, .epochs = 1, .rate = 0.05};

/* One query's pages: the second number of a page is the query's, which moves all its labels; how
 * relevant a page is among the others the first number says. */
static rgm_graph *make_query(rgm_schema *schema, int64_t i, trial *t)
{
    rgm_rng rng = rgm_rng_stream(11, "query", (uint64_t)i);
    int64_t pages = 1 + i % t->most, numbers[6];
    float x[12], label[12], query = (float)rgm_rng_normal(&rng, 100);
    bool ordered = false;
    rgm_graph_builder *builder = NULL;
    rgm_tensor *ends;
    rgm_graph *graph;

    for (int64_t v = 0; v < pages; v++) {
        x[2 * v] = (float)rgm_rng_f64(&rng, (uint64_t)v);
        x[2 * v + 1] = query;
        label[v] = floorf(4 * x[2 * v]);
        label[pages + v] = 0; /* the second of two */
        numbers[v] = v;
    }
    label[0] = i == 5 ? t->first : label[0];
    for (int64_t v = 0; v < pages; v++)
        for (int64_t u = 0; u < v; u++)
            ordered |= label[v] < label[u] || label[v] > label[u];
    t->unordered += !ordered;
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "page", &pages));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "_readout", &pages));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "_readout/seed", &pages));
    CHECK_OK(rgm_tensor_create_from(&ends, RGM_I64, 1, &pages, numbers));
    CHECK_OK(rgm_graph_builder_edges(builder, "_readout/seed", ends, ends));
    rgm_tensor_release(ends);
    add_floats(builder, "page", "x", 2, pages, x);
    add_floats(builder, "_readout", "label", t->shape[0] != '\0' ? 2 : 1, pages, label);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    return graph;
}

static rgm_graph_value *plain(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    (void)scope, (void)payload;
    return rgm_with_state(graph, "page", rgm_node_feature(graph, "page", "x"));
}

static rgm_status learn(rgm_open_run **run, const rgm_graph_ranking_options *task, trial *t)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_schema *schema;
    rgm_graph *graphs[QUERIES];
    rgm_status status;
    char text[1024];

    snprintf(text, sizeof text, RESULTS_OF("%s"), t->shape);
    t->unordered = 0;
    *run = NULL;
    CHECK_OK(rgm_schema_parse(&schema, text, (int64_t)strlen(text), "results"));
    for (int64_t i = 0; i < QUERIES; i++)
        graphs[i] = make_query(schema, i, t);
    what.train_data = what.valid_data = rgm_graphs_provider(graphs, QUERIES, true);
    if (t->streamed)
        what.train_data = rgm_mix_provider(&what.valid_data, NULL, 1);
    for (int64_t i = 0; i < QUERIES; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
    what.model_fn = plain;
    what.task = rgm_graph_task_create(&rgm_node_ranking, NULL, task);
    what.global_batch_size = t->batch;
    what.valid_padding.kind = t->padded ? RGM_PADDING_TIGHT : RGM_PADDING_NONE;
    how.optimizer = rgm_adam(t->rate);
    how.trainer.epochs = t->epochs;
    how.trainer.accumulation_steps = t->each > 0 ? t->each : 1;
    how.runtime.seed = 2; /* a first kernel that puts pages upside down */
    how.runtime.threads = 1;
    status = rgm_run(run, &what, &how);
    rgm_provider_release(what.valid_data);
    if (t->streamed)
        rgm_provider_release(what.train_data);
    rgm_graph_task_release(what.task);
    return status;
}

static rgm_graph_ranking_options of_pages(void)
{
    rgm_graph_ranking_options task = RGM_GRAPH_RANKING_OPTIONS_INIT;

    task.place.node_set = "page";
    task.place.key = "seed";
    return task;
}

static void the_order_of_each_component_is_learned(void **state)
{
    static const int64_t at[] = {1, 3};

    (void)state;
    for (int loss = 0; rgm_ranking_loss_names[loss] != NULL; loss++) {
        rgm_graph_ranking_options task = of_pages();
        trial t = usual;
        rgm_open_run *run;

        t.epochs = 30;
        task.loss = (rgm_ranking_loss_type)loss;
        task.ndcg_at = (rgm_ints){.items = at, .count = 2};
        CHECK_OK(learn(&run, &task, &t));
        CHECK(rgm_run_metric(run, "valid", "ndcg") > 0.99);
        CHECK(rgm_run_metric(run, "valid", "ndcg_at_1") > 0.98);
        CHECK(rgm_run_metric(run, "valid", "ndcg_at_3") > 0.98);
        CHECK(rgm_run_metric(run, "valid", "map") > 0.99);
        CHECK(rgm_run_metric(run, "valid", "mrr") > 0.99);
        rgm_run_close(run);
    }
}

/* Scores of all pages against each other would not have the same figures. */
static void batches_and_padding_change_no_list(void **state)
{
    static const char *const names[] = {"ndcg", "map", "mrr"};
    rgm_graph_ranking_options task = of_pages();
    trial t = usual;
    rgm_open_run *runs[2];

    (void)state;
    /* one epoch of one batch each: the weights are the same behind it */
    t.batch = QUERIES;
    CHECK_OK(learn(&runs[0], &task, &t));
    t.padded = true;
    CHECK_OK(learn(&runs[1], &task, &t));
    CHECK(rgm_run_metric(runs[0], "valid", "ndcg") < 0.999);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_CLOSE(rgm_run_metric(runs[0], "valid", names[i]),
                    rgm_run_metric(runs[1], "valid", names[i]), 0, 0);
    CHECK_CLOSE(rgm_run_metric(runs[0], "valid", "loss"), rgm_run_metric(runs[1], "valid", "loss"),
                1e-6, 0);
    rgm_run_close(runs[0]);
    rgm_run_close(runs[1]);
}

/* A batch has up to six lists with an order or none at all, and a list counts as one in each. */
static void a_list_weighs_the_same_in_any_batch(void **state)
{
    static const int64_t sizes[] = {QUERIES, 1, 7};
    rgm_graph_ranking_options task = of_pages();
    double train = 0, valid = 0, updated = 0;
    trial t = usual;
    rgm_open_run *run;

    (void)state;
    t.rate = 1e-30; /* the weights stay */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        t.batch = sizes[i];
        CHECK_OK(learn(&run, &task, &t));
        train = i == 0 ? rgm_run_metric(run, "train", "loss") : train;
        valid = i == 0 ? rgm_run_metric(run, "valid", "loss") : valid;
        CHECK_CLOSE(valid, rgm_run_metric(run, "valid", "loss"), 1e-6, 0);
        CHECK_CLOSE(train, rgm_run_metric(run, "train", "loss"), 1e-6, 0);
        rgm_run_close(run);
    }
    CHECK(valid > 0.1);
    t.rate = 0.05;
    for (t.each = 1; t.each <= QUERIES; t.each *= 15) { /* one update of all, in parts or not */
        t.batch = QUERIES / t.each;
        CHECK_OK(learn(&run, &task, &t));
        updated = t.each == 1 ? rgm_run_metric(run, "valid", "loss") : updated;
        CHECK_CLOSE(updated, rgm_run_metric(run, "valid", "loss"), 1e-5, 0);
        rgm_run_close(run);
    }
}

static void lists_without_an_order_are_told(void **state)
{
    rgm_graph_ranking_options task = of_pages();
    char line[128];
    trial t = usual;
    rgm_open_run *run;
    rgm_text plan = {0};

    (void)state;
    CHECK_OK(learn(&run, &task, &t));
    CHECK(t.unordered > QUERIES / 6);
    snprintf(line, sizeof line,
             "\nlists %d train, %lld of them with no order; %d valid, %lld of them with no order\n",
             QUERIES, (long long)t.unordered, QUERIES, (long long)t.unordered);
    CHECK_OK(rgm_run_plan(&plan, run));
    CHECK(strstr(plan.data, line) != NULL);
    rgm_text_clear(&plan);
    rgm_run_close(run);
    t.most = 1;
    for (int streamed = 0; streamed < 2; streamed++) {
        t.streamed = streamed == 1;
        CHECK_STATUS(RGM_ERR_DATA, learn(&run, &task, &t));
        CHECK_MESSAGE("train data: node_ranking: none of 59 lists has two items of different "
                      "'label'");
    }
}

static void wrong_labels_and_options_are_refused(void **state)
{
    static const int64_t twice[] = {5, 5};
    rgm_graph_ranking_options task = of_pages();
    trial t = usual;
    rgm_open_run *run;

    (void)state;
    t.first = -1;
    CHECK_STATUS(RGM_ERR_DATA, learn(&run, &task, &t));
    CHECK_MESSAGE("label 'label' of item 0 is -1, and the loss is of numbers from 0 on");
    t.first = 51;
    CHECK_STATUS(RGM_ERR_DATA, learn(&run, &task, &t));
    CHECK_MESSAGE("label 'label' of item 0 is 51, above 50: gains are 2^label - 1; number the "
                  "grades from 0");
    t.first = 1;
    t.shape = "shape { dim { size: 2 } }";
    CHECK_STATUS(RGM_ERR_CONFIG, learn(&run, &task, &t));
    CHECK_MESSAGE("task.label: 'label' of '_readout' is 2 numbers an item, but an order is by one");
    t.shape = "";
    task.ndcg_at = (rgm_ints){.items = twice, .count = 2};
    CHECK_STATUS(RGM_ERR_CONFIG, learn(&run, &task, &t));
    CHECK_MESSAGE("task.ndcg_at: 5 stands twice");
}

TESTS(cmocka_unit_test(the_order_of_each_component_is_learned),
      cmocka_unit_test(batches_and_padding_change_no_list),
      cmocka_unit_test(a_list_weighs_the_same_in_any_batch),
      cmocka_unit_test(lists_without_an_order_are_told),
      cmocka_unit_test(wrong_labels_and_options_are_refused))
