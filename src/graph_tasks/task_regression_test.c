/*
 * Regression: losses by hand and by their gradients, metrics by hand, tasks from files over one
 * graph and over many, labels that are none.
 */
#include "gnn_check.h"

#include <regimen/graph_tasks.h>

/* ---- losses -------------------------------------------------------------------------------- */

static double by_hand(rgm_regression_loss_type type, double y, double p,
                      const rgm_regression_loss_options *o)
{
    double e = y - p, d;

    switch (type) {
    case RGM_LOSS_MEAN_SQUARED_ERROR:
        return e * e;
    case RGM_LOSS_MEAN_ABSOLUTE_ERROR:
        return fabs(e);
    case RGM_LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR:
        return 100 * fabs(e / y);
    case RGM_LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR:
        d = log((1 + y) / (1 + p));
        return d * d;
    case RGM_LOSS_MEAN_SQUARED_LOG_SCALED_ERROR:
        d = log((p + o->epsilon) / (y + o->epsilon));
        return e * e + o->alpha * d * d;
    case RGM_LOSS_HUBER:
        return fabs(e) <= o->delta ? e * e / 2 : o->delta * (fabs(e) - o->delta / 2);
    case RGM_LOSS_LOG_COSH:
        return log(cosh(e));
    case RGM_LOSS_QUANTILE:
        return e > 0 ? o->quantile * e : (o->quantile - 1) * e;
    case RGM_LOSS_POISSON:
        return p - y * log(p + 1e-7);
    case RGM_LOSS_COSINE_SIMILARITY:
        break;
    }
    return NAN;
}

enum { ITEMS = 4, UNITS = 3, LOSSES = RGM_LOSS_POISSON + 1 };
static const double labels[ITEMS * UNITS] = {0.5, 1, 2, 3, 0.25, 4, 1, 1, 1, 7, 0.125, 2};
static const double predictions[ITEMS * UNITS] = {0.75, 1, 0.5, 9, 0.5, 4.5, 2, 0.5, 1, 1, 1, 1};

static double cosine_by_hand(int item)
{
    double dot = 0, a = 0, b = 0;

    for (int u = item * UNITS; u < (item + 1) * UNITS; u++) {
        dot += labels[u] * predictions[u];
        a += labels[u] * labels[u];
        b += predictions[u] * predictions[u];
    }
    return -dot / sqrt(a * b);
}

static rgm_value *rows_of(world *w, const double *numbers)
{
    rgm_tensor *tensor = NULL;
    rgm_value *x;

    CHECK_OK(rgm_tensor_create_from(&tensor, RGM_F64, 2, (int64_t[]){ITEMS, UNITS}, numbers));
    x = rgm_constant(w->graph, tensor);
    rgm_tensor_release(tensor);
    return x;
}

static void losses_are_those_of_their_definitions(void **state)
{
    const rgm_regression_loss_options options = {
        .delta = 0.75, .quantile = 0.9, .alpha = 5, .epsilon = 1e-8};

    (void)state;
    for (int type = 0; type < LOSSES; type++) {
        world w;
        double expected[ITEMS];
        rgm_value *y, *p;

        world_open(&w, PAPERS);
        y = rows_of(&w, labels);
        p = rows_of(&w, predictions);
        for (int i = 0; i < ITEMS; i++) {
            expected[i] = 0;
            for (int u = i * UNITS; u < (i + 1) * UNITS; u++)
                expected[i] +=
                    by_hand((rgm_regression_loss_type)type, labels[u], predictions[u], &options) /
                    UNITS;
            if (type == RGM_LOSS_COSINE_SIMILARITY)
                expected[i] = cosine_by_hand(i);
        }
        set_parameters(&w);
        check_values(&w, rgm_regression_loss((rgm_regression_loss_type)type, p, y, &options),
                     expected, ITEMS);
        world_close(&w);
    }
}

/* Of numbers above 0, and away from the corners of those that have some. */
static void gradients_of_losses_agree_with_central_differences(void **state)
{
    const rgm_regression_loss_options options = {
        .delta = 0.75, .quantile = 0.9, .alpha = 5, .epsilon = 1e-8};

    (void)state;
    for (int type = 0; type < LOSSES; type++) {
        world w;
        rgm_value *x, *y, *p;

        world_open(&w, PAPERS);
        x = rgm_node_feature(w.value, "paper", "x");
        y = rgm_shift(rgm_square(x), 0.1);
        p = rgm_shift(rgm_softplus(rgm_dense(w.scope, "head", x, 3)), 0.1);
        check_gradients(&w, rgm_regression_loss((rgm_regression_loss_type)type, p, y, &options),
                        20);
        world_close(&w);
    }
}

/* ---- metrics ------------------------------------------------------------------------------- */

static double measure(const rgm_metric_type *type)
{
    /* The last item does not count. */
    static const double more[2] = {100, -100}, weights[3] = {1, 0.5, 0};
    rgm_metric metric = {.type = type};
    rgm_metric_batch batch = {0};
    rgm_tensor *p, *y, *w;
    double state[64] = {0};
    const double numbers[2][3] = {{1, 3, more[0]}, {2, 2.5, more[1]}};

    CHECK_OK(rgm_tensor_create_from(&p, RGM_F64, 2, (int64_t[]){3, 1}, numbers[0]));
    CHECK_OK(rgm_tensor_create_from(&y, RGM_F64, 2, (int64_t[]){3, 1}, numbers[1]));
    CHECK_OK(rgm_tensor_create_from(&w, RGM_F64, 1, (int64_t[]){3}, weights));
    batch = (rgm_metric_batch){.predictions = p, .labels = y, .weights = w};
    CHECK(type->state_size(&metric) <= 64);
    type->update(state, &metric, &batch);
    type->update(state, &metric, &batch);
    rgm_tensor_release(p);
    rgm_tensor_release(y);
    rgm_tensor_release(w);
    return type->result(state, &metric);
}

static void metrics_are_those_of_their_definitions(void **state)
{
    const double mean = (2 + 0.5 * 2.5) / 1.5;
    const double spread = pow(2 - mean, 2) + 0.5 * pow(2.5 - mean, 2);

    (void)state;
    CHECK_CLOSE(measure(&rgm_metric_mean_squared_error), (1 + 0.5 * 0.25) / 1.5, 1e-14, 1e-14);
    CHECK_CLOSE(measure(&rgm_metric_mean_absolute_error), (1 + 0.5 * 0.5) / 1.5, 1e-14, 1e-14);
    CHECK_CLOSE(measure(&rgm_metric_mean_absolute_percentage_error), (50 + 0.5 * 20) / 1.5, 1e-12,
                1e-12);
    CHECK_CLOSE(measure(&rgm_metric_mean_squared_logarithmic_error),
                (pow(log(3.0 / 2), 2) + 0.5 * pow(log(3.5 / 4), 2)) / 1.5, 1e-14, 1e-14);
    CHECK_CLOSE(measure(&rgm_metric_r2), 1 - (1 + 0.5 * 0.25) / spread, 1e-12, 1e-12);
}

/* ---- tasks --------------------------------------------------------------------------------- */

enum { GRAPHS = 40 };
#define BAGS                                                                                       \
    "node_sets { key: 'atom' value { features { key: 'x' value { dtype: DT_FLOAT shape { dim { "   \
    "size: 1 } } } } features { key: 'z' value { dtype: DT_FLOAT } } } }"                          \
    "edge_sets { key: 'bond' value { source: 'atom' target: 'atom' } }"                            \
    "context { features { key: 'y' value { dtype: DT_FLOAT } } }"

static void add_floats(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                       const char *name, int rank, int64_t items, const float *numbers)
{
    rgm_feature f = {0};

    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_F32, rank, (int64_t[]){items, 1}, numbers));
    CHECK_OK(rgm_graph_builder_feature(builder, piece, set, name, &f));
    rgm_tensor_release(f.values);
}

/* Some atoms in a chain, each with a number x; y of the graph is their sum, z of its first atom
 * twice its x. */
static rgm_graph *make_bag(rgm_schema *schema, int64_t i, float first)
{
    int64_t atoms = 2 + i % 3, source[4], target[4];
    float x[4], z[4], y = 0;
    rgm_graph_builder *builder = NULL;
    rgm_graph *graph = NULL;

    for (int64_t v = 0; v < atoms; v++) {
        x[v] = 1 + (float)number(7 * i + v);
        y += x[v];
        z[v] = 2 * x[v];
        source[v] = v;
        target[v] = v + 1;
    }
    z[0] = i == 0 && first != 0 ? first : z[0];
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "atom", &atoms));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "bond", (int64_t[]){atoms - 1}));
    add_edges(builder, "bond", atoms - 1, source, target);
    add_floats(builder, RGM_NODE_SET, "atom", "x", 2, atoms, x);
    add_floats(builder, RGM_NODE_SET, "atom", "z", 1, atoms, z);
    add_floats(builder, RGM_CONTEXT_PIECE, NULL, "y", 1, 1, &y);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    return graph;
}

/* The numbers as they are: what is to be learned is one weight. */
static rgm_graph_value *plain(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    (void)scope, (void)payload;
    return rgm_with_state(graph, "atom", rgm_node_feature(graph, "atom", "x"));
}

/* A run over bags; `first` is in the place of the first graph's z. */
static rgm_status learn(rgm_open_run **run, const rgm_graph_task_type *type,
                        rgm_regression_loss_type loss, const char *label, float first)
{
    rgm_graph_regression_options task = RGM_GRAPH_REGRESSION_OPTIONS_INIT;
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_schema *schema;
    rgm_graph *graphs[GRAPHS];
    rgm_status status;

    CHECK_OK(rgm_schema_parse(&schema, BAGS, sizeof BAGS - 1, "bags"));
    for (int64_t i = 0; i < GRAPHS; i++)
        graphs[i] = make_bag(schema, i, first);
    what.train_data = what.valid_data = rgm_graphs_provider(graphs, GRAPHS, true);
    for (int64_t i = 0; i < GRAPHS; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
    task.place.node_set = "atom";
    task.place.label = label;
    task.place.reduce_type = "sum";
    task.loss = loss;
    what.model_fn = plain;
    what.task = rgm_graph_task_create(type, NULL, &task);
    what.global_batch_size = 8;
    how.optimizer = rgm_adam(0.05);
    how.trainer.epochs = 60;
    how.runtime.threads = 1;
    status = rgm_run(run, &what, &how);
    rgm_provider_release(what.train_data);
    rgm_graph_task_release(what.task);
    return status;
}

static double last_of(const rgm_open_run *run, const char *name)
{
    const rgm_epoch_logs *records;
    int64_t count = rgm_run_history(&records, run);

    return rgm_logs_get(&records[count - 1].valid, name);
}

static void numbers_of_graphs_and_roots_are_learned(void **state)
{
    static const struct {
        const rgm_graph_task_type *type;
        const char *label;
    } tried[] = {{&rgm_graph_regression, "y"}, {&rgm_root_node_regression, "z"}};

    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (int loss = 0; loss < LOSSES; loss++) {
            rgm_open_run *run = NULL;

            CHECK_OK(learn(&run, tried[i].type, (rgm_regression_loss_type)loss, tried[i].label, 0));
            CHECK(isfinite(last_of(run, "loss")));
            if (loss == RGM_LOSS_MEAN_SQUARED_ERROR || loss == RGM_LOSS_HUBER ||
                loss == RGM_LOSS_MEAN_ABSOLUTE_ERROR || loss == RGM_LOSS_LOG_COSH)
                CHECK(last_of(run, "r2") > 0.99);
            CHECK(last_of(run, "mean_absolute_error") >= 0);
            rgm_run_close(run);
        }
}

static void labels_without_a_loss_are_refused(void **state)
{
    rgm_open_run *run = NULL;

    (void)state;
    CHECK_STATUS(RGM_ERR_DATA, learn(&run, &rgm_root_node_regression, RGM_LOSS_POISSON, "z", -1));
    CHECK_MESSAGE("label 'z' of item 0 is -1, and the loss is of numbers from 0 on");
    CHECK_STATUS(RGM_ERR_DATA, learn(&run, &rgm_root_node_regression, RGM_LOSS_MEAN_SQUARED_ERROR,
                                     "z", INFINITY));
    CHECK_MESSAGE("label 'z' of item 0 is inf");
    CHECK_OK(learn(&run, &rgm_root_node_regression, RGM_LOSS_MEAN_SQUARED_ERROR, "z", -1));
    rgm_run_close(run);
}

TESTS(cmocka_unit_test(losses_are_those_of_their_definitions),
      cmocka_unit_test(gradients_of_losses_agree_with_central_differences),
      cmocka_unit_test(metrics_are_those_of_their_definitions),
      cmocka_unit_test(numbers_of_graphs_and_roots_are_learned),
      cmocka_unit_test(labels_without_a_loss_are_refused))
