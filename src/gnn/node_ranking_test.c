/*
 * Ranking of nodes: lists are the components of a batch, padded or not, items without labels are in
 * none; an order is learned; labels that are none.
 */
#include <check.h>
#include <regimen/gnn.h>

enum { QUERIES = 60 };
#define RESULTS                                                                                    \
    "node_sets { key: 'page' value { features { key: 'x' value { dtype: DT_FLOAT shape { dim { "   \
    "size: 2 } } } } } }"                                                                          \
    "node_sets { key: '_readout' value { features { key: 'label' value { dtype: DT_FLOAT } } } }"  \
    "edge_sets { key: '_readout/seed' value { source: 'page' target: '_readout' } }"

static void add_floats(rgm_graph_builder *builder, const char *set, const char *name, int rank,
                       int64_t items, const float *numbers)
{
    rgm_feature f = {0};

    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_F32, rank, (int64_t[]){items, 2}, numbers));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, set, name, &f));
    rgm_tensor_release(f.values);
}

/* One query's pages: the second number of a page is the query's, which moves all its labels; how
 * relevant a page is among the others the first number says. */
static rgm_graph *make_query(rgm_schema *schema, int64_t i, float first_label)
{
    rgm_rng rng = rgm_rng_stream(11, "query", (uint64_t)i);
    int64_t pages = 1 + i % 6, numbers[6];
    float x[12], label[6], query = (float)rgm_rng_normal(&rng, 100);
    rgm_graph_builder *builder = NULL;
    rgm_tensor *ends;
    rgm_graph *graph;

    for (int64_t v = 0; v < pages; v++) {
        x[2 * v] = (float)rgm_rng_f64(&rng, (uint64_t)v);
        x[2 * v + 1] = query;
        label[v] = floorf(4 * x[2 * v]);
        numbers[v] = v;
    }
    label[0] = i == 5 ? first_label : label[0];
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "page", &pages));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "_readout", &pages));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "_readout/seed", &pages));
    CHECK_OK(rgm_tensor_create_from(&ends, RGM_I64, 1, &pages, numbers));
    CHECK_OK(rgm_graph_builder_edges(builder, "_readout/seed", ends, ends));
    rgm_tensor_release(ends);
    add_floats(builder, "page", "x", 2, pages, x);
    add_floats(builder, "_readout", "label", 1, pages, label);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    return graph;
}

static rgm_graph_value *plain(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    (void)scope, (void)payload;
    return rgm_with_state(graph, "page", rgm_node_feature(graph, "page", "x"));
}

static rgm_status learn(rgm_open_run **run, const rgm_graph_ranking_options *task, float first,
                        int64_t batch, bool padded, int64_t epochs)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_schema *schema;
    rgm_graph *graphs[QUERIES];
    rgm_status status;

    *run = NULL;
    CHECK_OK(rgm_schema_parse(&schema, RESULTS, sizeof RESULTS - 1, "results"));
    for (int64_t i = 0; i < QUERIES; i++)
        graphs[i] = make_query(schema, i, first);
    what.train_data = what.valid_data = rgm_graphs_provider(graphs, QUERIES, true);
    for (int64_t i = 0; i < QUERIES; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
    what.model_fn = plain;
    what.task = rgm_graph_task_create(&rgm_node_ranking, NULL, task);
    what.global_batch_size = batch;
    what.valid_padding.kind = padded ? RGM_PADDING_TIGHT : RGM_PADDING_NONE;
    how.optimizer = rgm_adam(0.05);
    how.trainer.epochs = epochs;
    how.runtime.seed = 2; /* a first kernel that puts pages upside down */
    how.runtime.threads = 1;
    status = rgm_run(run, &what, &how);
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
        rgm_open_run *run;

        task.loss = (rgm_ranking_loss_type)loss;
        task.ndcg_at = (rgm_ints){.items = at, .count = 2};
        CHECK_OK(learn(&run, &task, NAN, 12, false, 30));
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
    rgm_open_run *runs[3];

    (void)state;
    /* one epoch of one batch each: the weights are the same behind it */
    CHECK_OK(learn(&runs[0], &task, NAN, QUERIES, false, 1));
    CHECK_OK(learn(&runs[1], &task, NAN, QUERIES, true, 1));
    CHECK(rgm_run_metric(runs[0], "valid", "ndcg") < 0.999);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_CLOSE(rgm_run_metric(runs[0], "valid", names[i]),
                    rgm_run_metric(runs[1], "valid", names[i]), 0, 0);
    CHECK_CLOSE(rgm_run_metric(runs[0], "valid", "loss"), rgm_run_metric(runs[1], "valid", "loss"),
                1e-6, 0);
    rgm_run_close(runs[0]);
    rgm_run_close(runs[1]);
}

static void wrong_labels_and_options_are_refused(void **state)
{
    static const int64_t twice[] = {5, 5};
    rgm_graph_ranking_options task = of_pages();
    rgm_open_run *run;

    (void)state;
    CHECK_STATUS(RGM_ERR_DATA, learn(&run, &task, -1, 12, false, 1));
    CHECK_MESSAGE("label 'label' of item 0 is -1, and the loss is of numbers from 0 on");
    task.ndcg_at = (rgm_ints){.items = twice, .count = 2};
    CHECK_STATUS(RGM_ERR_CONFIG, learn(&run, &task, 1, 12, false, 1));
    CHECK_MESSAGE("task.ndcg_at: 5 stands twice");
}

TESTS(cmocka_unit_test(the_order_of_each_component_is_learned),
      cmocka_unit_test(batches_and_padding_change_no_list),
      cmocka_unit_test(wrong_labels_and_options_are_refused))
