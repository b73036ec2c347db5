/*
 * Labels that are missing count nowhere: a run over nodes of which some have none is the run
 * without these; of several labels of an item each may be missing by itself, padded or not. Weights
 * of classes that are taken from the labels that there are.
 */
#include <check.h>

#include <regimen/graph_tasks.h>

enum { CLASSES = 4, VALID = 60, EPOCHS = 4 };

/* ---- nodes of one graph ---------------------------------------------------------------------- */

static void open_papers(rgm_graph_data *data)
{
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;

    citation.nodes = 300;
    citation.edges = 700;
    citation.classes = CLASSES;
    citation.words = 60;
    citation.words_per_node = 6;
    citation.train_per_class = 10;
    citation.valid = VALID;
    citation.test = 40;
    CHECK_OK(rgm_generate_citation(data, &citation));
}

static int64_t *labels_of(const rgm_graph_data *data)
{
    return rgm_tensor_i64(
        rgm_graph_feature(data->graphs[0], RGM_NODE_SET, "nodes", "label")->values);
}

/* Every third node of a part has `none` for its label, or is in no part. */
static void hide_as(rgm_graph_data *data, rgm_tensor **part, bool leave_out, int64_t none)
{
    int64_t *numbers = rgm_tensor_i64(*part), kept = 0, count = rgm_tensor_count(*part);
    rgm_tensor *rest;

    for (int64_t i = 0; i < count; i++)
        if (i % 3 != 1)
            numbers[kept++] = numbers[i];
        else if (!leave_out)
            labels_of(data)[numbers[kept++] = numbers[i]] = none;
    CHECK_OK(rgm_tensor_slice(&rest, *part, 0, kept));
    rgm_tensor_release(*part);
    *part = rest;
}

static void hide(rgm_graph_data *data, rgm_tensor **part, bool leave_out)
{
    hide_as(data, part, leave_out, -1);
}

static rgm_provider *provider_of(const rgm_graph_data *data, const char *part, int64_t batch_size,
                                 const rgm_sampling_spec *spec)
{
    rgm_sampling_provider_options options = {
        .batch_size = batch_size, .label = "label", .seed = 5, .threads = 1};

    if (batch_size == 0)
        return rgm_graph_data_provider(data, part);
    options.spec = spec;
    return rgm_sampling_provider(data->graphs[0],
                                 strcmp(part, "train") == 0 ? data->train : data->valid, &options);
}

/* Without messages: a seed more then changes nothing of the others. */
static rgm_graph_value *words_alone(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    rgm_value *words = rgm_node_sparse_feature(graph, "nodes", "words");

    (void)payload;
    return rgm_with_state(graph, "nodes", rgm_tanh(rgm_dense(scope, "words", words, 16)));
}

static rgm_status run_task(rgm_open_run **run, const rgm_graph_data *data,
                           const rgm_graph_task_type *type, const void *options, int64_t batch_size)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    const char *hops[] = {"edges"};
    rgm_sampling_spec *spec;
    rgm_status status;

    *run = NULL;
    CHECK_OK(rgm_sampling_spec_create(&spec, data->schema, data->split_set, hops, (int64_t[]){3}, 1,
                                      RGM_SAMPLE_UNIFORM));
    what.train_data = provider_of(data, "train", batch_size, spec);
    what.valid_data = provider_of(data, "valid", batch_size, spec);
    what.model_fn = words_alone;
    what.task = rgm_graph_task_create(type, NULL, options);
    how.optimizer = rgm_sgd(0.1, 0);
    how.trainer.epochs = batch_size > 0 ? 1 : EPOCHS;
    how.runtime.threads = 1;
    status = rgm_run(run, &what, &how);
    rgm_provider_release(what.train_data);
    rgm_provider_release(what.valid_data);
    rgm_graph_task_release(what.task);
    rgm_sampling_spec_release(spec);
    return status;
}

static rgm_status run_papers(rgm_open_run **run, const rgm_graph_data *data,
                             const rgm_graph_classification_options *options, int64_t batch_size)
{
    return run_task(run, data, &rgm_node_classification, options, batch_size);
}

static rgm_graph_classification_options of_papers(void)
{
    rgm_graph_classification_options options = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;

    options.place.node_set = "nodes";
    options.num_classes = CLASSES;
    return options;
}

static rgm_status count_items(const rgm_prediction *prediction, void *payload)
{
    *(int64_t *)payload += rgm_tensor_dim(prediction->values, 0);
    return RGM_OK;
}

static void check_metrics(const rgm_open_run *a, const rgm_open_run *b, const char *const metrics[],
                          size_t count)
{
    for (int mode = RGM_TRAIN; mode <= RGM_VALID; mode++)
        for (size_t i = 0; i < count; i++) {
            const char *name = rgm_mode_name((rgm_mode)mode);

            CHECK_CLOSE(rgm_run_metric(a, name, metrics[i]), rgm_run_metric(b, name, metrics[i]),
                        1e-5, 0);
        }
}

static void check_same(const rgm_open_run *a, const rgm_open_run *b)
{
    static const char *const metrics[] = {"loss", "accuracy", "cross_entropy"};

    check_metrics(a, b, metrics, 3);
}

static void a_node_without_a_label_is_as_good_as_in_no_part(void **state)
{
    rgm_graph_classification_options options = of_papers();
    rgm_graph_data data[2];
    rgm_open_run *run[2];
    rgm_text plan = {0};
    int64_t items = 0;

    (void)state;
    for (int k = 0; k < 2; k++) {
        open_papers(&data[k]);
        hide(&data[k], &data[k].train, k == 1);
        hide(&data[k], &data[k].valid, k == 1);
        CHECK_OK(run_papers(&run[k], &data[k], &options, 0));
    }
    check_same(run[0], run[1]);
    CHECK_OK(rgm_run_plan(&plan, run[0]));
    CHECK(strstr(plan.data, "missing label of 13 of 40 train, 20 of 60 valid\n") != NULL);
    rgm_text_clear(&plan);
    CHECK_OK(rgm_run_plan(&plan, run[1]));
    CHECK(strstr(plan.data, "missing") == NULL);
    CHECK_OK(rgm_run_predict(run[0], RGM_VALID, 0, count_items, &items));
    CHECK_INT(VALID, items); /* with the hidden ones */
    rgm_text_clear(&plan);
    for (int k = 0; k < 2; k++) {
        rgm_run_close(run[k]);
        rgm_graph_data_clear(&data[k]);
    }
}

/* The lowest integer is none, and no number that a regression could learn; -1 is a number. */
static void an_integer_that_is_missing_is_no_number(void **state)
{
    static const char *const metrics[] = {"loss", "mean_squared_error", "mean_absolute_error",
                                          "mean_absolute_percentage_error", "r2"};
    rgm_graph_regression_options options = RGM_GRAPH_REGRESSION_OPTIONS_INIT;
    rgm_graph_data data[2];
    rgm_open_run *run[2];
    rgm_text plan = {0};

    (void)state;
    options.place.node_set = "nodes";
    for (int64_t batch_size = 0; batch_size <= 100; batch_size += 100) {
        for (int k = 0; k < 2; k++) {
            open_papers(&data[k]);
            for (int64_t i = 0; i < 300; i++)
                labels_of(&data[k])[i] -= 1;
            hide_as(&data[k], &data[k].train, k == 1, INT64_MIN);
            hide_as(&data[k], &data[k].valid, k == 1, INT64_MIN);
            CHECK_OK(run_task(&run[k], &data[k], &rgm_node_regression, &options, batch_size));
        }
        check_metrics(run[0], run[1], metrics, 5);
        CHECK(rgm_run_metric(run[0], "train", "mean_squared_error") < 10);
        for (int k = 0; k < 2; k++) {
            CHECK_OK(rgm_run_plan(&plan, run[k]));
            CHECK((strstr(plan.data, "missing label of 13 of 40 train, 20 of 60 valid\n") !=
                   NULL) == (k == 0));
            CHECK(strstr(plan.data, "numbers label is -1 of ") != NULL);
            rgm_text_clear(&plan);
            rgm_run_close(run[k]);
            rgm_graph_data_clear(&data[k]);
        }
    }
}

/* All of an epoch in one batch: then the same items are in a step. */
static void a_seed_without_a_label_is_as_good_as_none(void **state)
{
    rgm_graph_classification_options options = of_papers();
    rgm_graph_data data[2];
    rgm_open_run *run[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        open_papers(&data[k]);
        hide(&data[k], &data[k].train, k == 1);
        hide(&data[k], &data[k].valid, k == 1);
        CHECK_OK(run_papers(&run[k], &data[k], &options, 100));
    }
    check_same(run[0], run[1]);
    for (int k = 0; k < 2; k++) {
        rgm_run_close(run[k]);
        rgm_graph_data_clear(&data[k]);
    }
}

static void a_part_without_any_label_is_refused(void **state)
{
    rgm_graph_classification_options options = of_papers();
    rgm_open_run *run;

    (void)state;
    for (int signs = 0; signs < 2; signs++) {
        rgm_graph_data data;

        open_papers(&data);
        for (int64_t i = 0; i < VALID && !signs; i++)
            labels_of(&data)[rgm_tensor_i64(data.valid)[i]] = -1;
        for (int64_t i = 0; i < 300 && signs; i++)
            labels_of(&data)[i] = i % 2 ? 1 : -1;
        options.num_classes = signs ? 2 : CLASSES;
        CHECK_STATUS(RGM_ERR_DATA, run_papers(&run, &data, &options, 0));
        CHECK_MESSAGE(signs ? "label 'label' is -1 or 1, but never 0"
                            : "valid data: node_classification: label 'label' is missing of all 60 "
                              "items");
        rgm_graph_data_clear(&data);
    }
}

/* ---- weights of classes ------------------------------------------------------------------------
 */

/* labels / (classes * labels of the class), of the labels that there are. */
static void balanced_weights_are_those_of_the_training_part(void **state)
{
    static const char *const balanced[] = {"balanced"};
    rgm_graph_classification_options options = of_papers();
    const char *numbers[CLASSES];
    char texts[CLASSES][32];
    double counts[CLASSES] = {0}, all = 0;
    rgm_graph_data data;
    rgm_open_run *run[3];
    rgm_text plan = {0};

    (void)state;
    open_papers(&data);
    for (int64_t i = 0; i < rgm_tensor_count(data.train); i++) {
        int64_t *label = &labels_of(&data)[rgm_tensor_i64(data.train)[i]];

        if (i % 4 == 0)
            *label = -1;
        else if (*label == 2 && i % 3 == 0)
            *label = 1;
        if (*label >= 0)
            all += 1;
        if (*label >= 0)
            counts[*label]++;
    }
    for (int c = 0; c < CLASSES; c++) {
        snprintf(texts[c], sizeof texts[c], "%.17g", all / (CLASSES * counts[c]));
        numbers[c] = texts[c];
    }
    CHECK_OK(run_papers(&run[2], &data, &options, 0));
    options.class_weights = (rgm_texts){balanced, 1};
    CHECK_OK(run_papers(&run[0], &data, &options, 0));
    options.class_weights = (rgm_texts){numbers, CLASSES};
    CHECK_OK(run_papers(&run[1], &data, &options, 0));
    for (int mode = RGM_TRAIN; mode <= RGM_VALID; mode++)
        CHECK_CLOSE(rgm_run_metric(run[0], rgm_mode_name((rgm_mode)mode), "loss"),
                    rgm_run_metric(run[1], rgm_mode_name((rgm_mode)mode), "loss"), 0, 0);
    CHECK(fabs(rgm_run_metric(run[0], "train", "loss") - rgm_run_metric(run[2], "train", "loss")) >
          1e-4);
    CHECK_OK(rgm_run_plan(&plan, run[0]));
    CHECK(strstr(plan.data, "\nweights 0 ") != NULL);
    rgm_text_clear(&plan);
    for (int k = 0; k < 3; k++)
        rgm_run_close(run[k]);
    rgm_graph_data_clear(&data);
}

static void refuse(rgm_graph_classification_options options, const rgm_graph_task_type *type,
                   const char *message)
{
    CHECK_STATUS(RGM_ERR_CONFIG, type->section.check(&options));
    CHECK_MESSAGE(message);
}

static void weights_that_make_no_sense_are_refused(void **state)
{
    static const char *const three[] = {"1", "2", "3"}, *const zeros[] = {"0", "0", "0", "0"},
                             *const words[] = {"1", "balanced", "1", "1"},
                             *const below[] = {"1", "-1", "1", "1"}, *const metrics[] = {"recall"};
    rgm_graph_classification_options options = of_papers();

    (void)state;
    options.class_weights = (rgm_texts){three, 3};
    refuse(options, &rgm_node_classification, "3 numbers, but there are 4 classes");
    options.class_weights = (rgm_texts){zeros, 4};
    refuse(options, &rgm_node_classification, "every class weighs 0");
    options.class_weights = (rgm_texts){words, 4};
    refuse(options, &rgm_node_classification, "'balanced' is no finite number");
    options.class_weights = (rgm_texts){below, 4};
    refuse(options, &rgm_node_classification, "'-1' is no finite number");
    options.num_classes = 0;
    options.class_weights = (rgm_texts){three, 3};
    refuse(options, &rgm_graph_binary_classification, "there are 2 classes, 0 and 1");
    options.class_weights = (rgm_texts){NULL, 0};
    options.metrics = (rgm_texts){metrics, 1};
    refuse(options, &rgm_node_binary_classification, "task.metrics: 'recall' is no metric of 0/1");
}

/* ---- several labels of a graph -----------------------------------------------------------------
 */

enum { GRAPHS = 30, LABELS = 3 };
#define BAGS                                                                                       \
    "node_sets { key: 'atom' value { features { key: 'x' value { dtype: DT_FLOAT shape { dim { "   \
    "size: 2 } } } } } }"                                                                          \
    "context { features { key: 'y' value { dtype: DT_FLOAT shape { dim { size: 3 } } } } }"

static float label_at(int64_t graph, int64_t unit)
{
    int64_t k = 5 * graph + 3 * unit + graph * unit;

    return k % 4 == 1 ? NAN : (float)(k % 3 == 0);
}

static rgm_graph *make_bag(rgm_schema *schema, int64_t i)
{
    int64_t atoms = 1 + i % 4;
    rgm_feature x = {0}, y = {0};
    rgm_graph_builder *builder;
    rgm_graph *graph;

    CHECK_OK(rgm_tensor_create(&x.values, RGM_F32, 2, (int64_t[]){atoms, 2}));
    CHECK_OK(rgm_tensor_create(&y.values, RGM_F32, 2, (int64_t[]){1, LABELS}));
    for (int64_t k = 0; k < 2 * atoms; k++)
        rgm_tensor_f32(x.values)[k] = (float)sin((double)(7 * i + 3 * k));
    for (int64_t u = 0; u < LABELS; u++)
        rgm_tensor_f32(y.values)[u] = label_at(i, u);
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "atom", &atoms));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "atom", "x", &x));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_CONTEXT_PIECE, NULL, "y", &y));
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    rgm_feature_clear(&x);
    rgm_feature_clear(&y);
    return graph;
}

static rgm_graph_value *plain(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    (void)scope, (void)payload;
    return rgm_with_state(graph, "atom", rgm_node_feature(graph, "atom", "x"));
}

static rgm_provider *make_bags(void)
{
    rgm_graph *graphs[GRAPHS];
    rgm_provider *provider;
    rgm_schema *schema;

    CHECK_OK(rgm_schema_parse(&schema, BAGS, sizeof BAGS - 1, "bags"));
    for (int64_t i = 0; i < GRAPHS; i++)
        graphs[i] = make_bag(schema, i);
    provider = rgm_graphs_provider(graphs, GRAPHS, false);
    CHECK(provider != NULL);
    for (int64_t i = 0; i < GRAPHS; i++)
        rgm_graph_release(graphs[i]);
    rgm_schema_release(schema);
    return provider;
}

static const rgm_graph_task_type *const kinds[] = {&rgm_graph_binary_classification,
                                                   &rgm_graph_regression};

static rgm_graph_task *task_of_bags(int kind, rgm_regression_loss_type loss)
{
    static const char *const metrics[] = {"f1_macro", "auc_roc_macro"}, *const balanced[] = {
                                                                            "balanced"};
    rgm_graph_classification_options classes = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;
    rgm_graph_regression_options numbers = RGM_GRAPH_REGRESSION_OPTIONS_INIT;

    classes.place.node_set = numbers.place.node_set = "atom";
    classes.place.label = numbers.place.label = "y";
    classes.units = numbers.units = LABELS;
    numbers.loss = loss;
    classes.metrics = (rgm_texts){metrics, 2};
    classes.class_weights = (rgm_texts){balanced, 1};
    return rgm_graph_task_create(kinds[kind], NULL, kind == 0 ? (void *)&classes : &numbers);
}

static void run_bags(rgm_open_run **run, int kind, rgm_regression_loss_type loss, bool padded)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;

    what.train_data = what.valid_data = make_bags();
    what.model_fn = plain;
    what.global_batch_size = 7;
    what.task = task_of_bags(kind, loss);
    if (padded)
        what.train_padding.kind = what.valid_padding.kind = RGM_PADDING_TIGHT;
    how.optimizer = rgm_sgd(0.2, 0);
    how.trainer.epochs = 2;
    how.runtime.threads = 1;
    CHECK_OK(rgm_run(run, &what, &how));
    rgm_provider_release(what.train_data);
    rgm_graph_task_release(what.task);
}

/* What predictions say by hand of the labels that there are. */
typedef struct judged {
    int64_t at, count;
    double right, squares;
} judged;

static rgm_status judge(const rgm_prediction *prediction, void *payload)
{
    judged *j = payload;

    for (int64_t i = 0; i < rgm_tensor_dim(prediction->values, 0); i++, j->at++)
        for (int64_t u = 0; u < LABELS; u++) {
            double given = rgm_tensor_at(prediction->values, i * LABELS + u);
            double label = label_at(j->at, u);

            if (isnan(label))
                continue;
            j->count++;
            j->right += (given > 0) == (label > 0.5);
            j->squares += (given - label) * (given - label);
        }
    return RGM_OK;
}

static void each_label_of_an_item_may_be_missing_by_itself(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        rgm_open_run *run[2];
        judged j = {0};

        for (int padded = 0; padded < 2; padded++)
            run_bags(&run[padded], kind, RGM_LOSS_MEAN_SQUARED_ERROR, padded);
        CHECK_OK(rgm_run_predict(run[0], RGM_VALID, 0, judge, &j));
        CHECK_INT(GRAPHS, j.at);
        CHECK(j.count < GRAPHS * LABELS);
        if (kind == 0) {
            CHECK_CLOSE(rgm_run_metric(run[0], "valid", "binary_accuracy"),
                        j.right / (double)j.count, 1e-9, 0);
            CHECK_CLOSE(rgm_run_metric(run[0], "valid", "f1_macro"),
                        rgm_run_metric(run[1], "valid", "f1_macro"), 1e-6, 0);
            CHECK(rgm_run_metric(run[0], "valid", "auc_roc_macro") > 0);
        } else {
            CHECK_CLOSE(rgm_run_metric(run[0], "valid", "mean_squared_error"),
                        j.squares / (double)j.count, 1e-5, 0);
            CHECK_CLOSE(rgm_run_metric(run[0], "valid", "loss"), j.squares / (double)j.count, 1e-5,
                        0);
        }
        CHECK_CLOSE(rgm_run_metric(run[0], "valid", "loss"),
                    rgm_run_metric(run[1], "valid", "loss"), 1e-5, 0);
        CHECK_CLOSE(rgm_run_metric(run[0], "train", "loss"),
                    rgm_run_metric(run[1], "train", "loss"), 1e-5, 0);
        for (int padded = 0; padded < 2; padded++)
            rgm_run_close(run[padded]);
    }
}

/* Rows that are judged as a whole are missing with any of their labels. */
static void losses_of_rows_know_of_missing_units(void **state)
{
    (void)state;
    for (int loss = 0; loss <= RGM_LOSS_POISSON; loss++) {
        rgm_open_run *run;

        run_bags(&run, 1, (rgm_regression_loss_type)loss, false);
        CHECK(isfinite(rgm_run_metric(run, "train", "loss")));
        CHECK(isfinite(rgm_run_metric(run, "valid", "mean_squared_error")));
        rgm_run_close(run);
    }
}

static rgm_status create(const rgm_graph_learning_options *what, rgm_task *task)
{
    const rgm_runtime_options runtime = {.threads = 1};

    return rgm_graph_learning_create(task, what, &runtime);
}

static void counting_survives_every_failing_allocation(void **state)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_task task;

    (void)state;
    what.train_data = what.valid_data = make_bags();
    what.model_fn = plain;
    what.task = task_of_bags(0, RGM_LOSS_HUBER);
    CHECK_EVERY_OOM(create(&what, &task), rgm_task_release(&task));
    rgm_provider_release(what.train_data);
    rgm_graph_task_release(what.task);
}

TESTS(cmocka_unit_test(a_node_without_a_label_is_as_good_as_in_no_part),
      cmocka_unit_test(an_integer_that_is_missing_is_no_number),
      cmocka_unit_test(a_seed_without_a_label_is_as_good_as_none),
      cmocka_unit_test(a_part_without_any_label_is_refused),
      cmocka_unit_test(balanced_weights_are_those_of_the_training_part),
      cmocka_unit_test(weights_that_make_no_sense_are_refused),
      cmocka_unit_test(each_label_of_an_item_may_be_missing_by_itself),
      cmocka_unit_test(losses_of_rows_know_of_missing_units),
      cmocka_unit_test(counting_survives_every_failing_allocation))
