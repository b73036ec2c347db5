/* Experiment files: what is read, what is refused and with which messages, layers and --set. */
#include <check.h>

#include <regimen/experiment.h>
#include <regimen/graph_tasks.h>

static char folder[128];

static const char *write_file(const char *name, const char *text)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    return path;
}

#define MINIMAL                                                                                    \
    "data: {type: citation, citation: {nodes: 60, edges: 120, classes: 3, words: 30,\n"            \
    "       words_per_node: 4, train_per_class: 4, valid: 20, test: 20}}\n"                        \
    "task: {type: node_classification, node_set: nodes, num_classes: 3}\n"                         \
    "model: {type: gcn, hidden: [4]}\n"                                                            \
    "optimizer: {type: adam, learning_rate: 1e-2}\n"                                               \
    "trainer: {epochs: 3}\n"

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static void refuse(const char *text, const char *const *sets, int64_t count, const char *part)
{
    rgm_experiment *experiment = NULL;

    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_experiment_load(&experiment, write_file("x.yaml", text), sets, count));
    CHECK(experiment == NULL);
    CHECK_MESSAGE(part);
}

static rgm_open_run *run_whole(const rgm_experiment *experiment, const rgm_run_options *options)
{
    rgm_open_run *run = NULL;

    CHECK_OK(rgm_experiment_open(&run, experiment, options));
    CHECK_OK(rgm_run_complete(run));
    return run;
}

static void an_experiment_runs_as_its_file_says(void **state)
{
    rgm_experiment *experiment = NULL;
    rgm_run_options options;
    rgm_open_run *result = NULL;
    const char *sets[] = {"trainer.epochs=5", "runtime.seed=9"};

    (void)state;
    CHECK_OK(rgm_experiment_load(&experiment, write_file("a.yaml", MINIMAL), sets, 2));
    CHECK_TEXT("a", rgm_experiment_name(experiment));
    CHECK_OK(rgm_experiment_prepare(&options, experiment, NULL));
    CHECK_INT(9, options.runtime.seed);
    result = run_whole(experiment, &options);
    CHECK_INT(5, rgm_run_epochs(result));
    CHECK_INT(5, rgm_run_steps(result));
    CHECK(rgm_run_metric(result, "valid", "accuracy") > 0);
    rgm_run_close(result);
    rgm_experiment_release(experiment);
}

/* 90 records of two numbers; the class is the nearest of three points on a line. */
static void write_records(void)
{
    char text[4096];
    size_t used = 0;

    for (int i = 0; i < 90; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d.%d,%d,%d\n", i % 3, i % 4,
                                 i % 3, i % 3);
    write_file("records.csv", text);
}

/* The file has the origin of each value of config.yaml, but of no default. */
static void check_sources(const char *path)
{
    char *data, want[200];
    int64_t size;
    rgm_json *json;

    snprintf(want, sizeof want, "%s/t.yaml:4", folder);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    CHECK_OK(rgm_json_parse(&json, data, size, path));
    CHECK_TEXT(want, rgm_json_text(rgm_json_find(json, "trainer.epochs")));
    CHECK(rgm_json_find(json, "task.num_classes") != NULL);
    CHECK(rgm_json_find(json, "trainer.checkpoint.keep") == NULL);
    rgm_json_release(json);
    rgm_free(data);
}

static void a_task_with_its_own_data_runs_too(void **state)
{
    rgm_experiment *experiment = NULL;
    rgm_run_options options;
    rgm_open_run *result = NULL;
    rgm_export_check check;
    char text[512], run_dir[160], onnx[192];

    (void)state;
    write_records();
    snprintf(run_dir, sizeof run_dir, "%s/own", folder);
    snprintf(onnx, sizeof onnx, "%s/export", run_dir);
    snprintf(text, sizeof text,
             "data: {path: %s, train: records.csv, test: records.csv, batch_size: 30}\n"
             "task: {type: classification, num_classes: 3}\nmodel: {type: mlp}\n"
             "trainer: {epochs: 30}\nexport: [{type: onnx}]\n",
             folder);
    CHECK_OK(rgm_experiment_load(&experiment, write_file("t.yaml", text), NULL, 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_experiment_open(&result, experiment, &(rgm_run_options){0}));
    CHECK_OK(rgm_experiment_prepare(&options, experiment, run_dir));
    result = run_whole(experiment, &options);
    CHECK_INT(90, rgm_run_steps(result));
    CHECK(rgm_run_metric(result, "test", "accuracy") == 1);
    CHECK_OK(rgm_run_verify_onnx(&check, result, onnx, RGM_TEST, 3));
    CHECK_INT(90, check.items);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                 rgm_graph_run_preprocess(&(rgm_graph *){NULL}, result, NULL, 1));
    CHECK_MESSAGE("'classification' is no graph network");
    rgm_run_close(result);
    snprintf(onnx, sizeof onnx, "%s/sources.json", run_dir);
    check_sources(onnx);
    rgm_experiment_release(experiment);
}

static void the_merged_text_reads_back_to_itself(void **state)
{
    rgm_experiment *first = NULL, *second = NULL;
    const char *sets[] = {"optimizer.learning_rate=3e-3"};

    (void)state;
    CHECK_OK(rgm_experiment_load(&first, write_file("a.yaml", MINIMAL), sets, 1));
    CHECK(strstr(rgm_experiment_text(first), "3e-3") != NULL);
    CHECK_OK(
        rgm_experiment_load(&second, write_file("b.yaml", rgm_experiment_text(first)), NULL, 0));
    CHECK_TEXT(rgm_experiment_text(first), rgm_experiment_text(second));
    rgm_experiment_release(first);
    rgm_experiment_release(second);
}

static void a_file_lies_over_the_one_it_extends(void **state)
{
    rgm_experiment *experiment = NULL;
    rgm_run_options options;

    (void)state;
    write_file("base.yaml", MINIMAL);
    CHECK_OK(rgm_experiment_load(
        &experiment, write_file("over.yaml", "extends: base.yaml\ntrainer: {epochs: 7}\n"), NULL,
        0));
    CHECK_OK(rgm_experiment_prepare(&options, experiment, NULL));
    CHECK_INT(7, options.trainer.epochs);
    rgm_experiment_release(experiment);
}

static void files_that_extend_each_other_are_refused(void **state)
{
    (void)state;
    refuse("extends: x.yaml\n", NULL, 0, "extend each other");
}

static void an_unknown_key_is_told_with_place_and_nearest_name(void **state)
{
    (void)state;
    refuse(MINIMAL "runtime: {sed: 1}\n", NULL, 0, "x.yaml:7:");
    CHECK_MESSAGE("runtime.seed");
    refuse(MINIMAL "trian: {epochs: 1}\n", NULL, 0, "did you mean 'trainer'");
    refuse(MINIMAL "nothing: {alike: 1}\n", NULL, 0, "there are data, task");
    refuse(MINIMAL, (const char *[]){"trian.epochs=3"}, 1, "trainer");
    CHECK_MESSAGE("--set");
    refuse(MINIMAL, (const char *[]){"trainer.epohcs=3"}, 1, "trainer.epochs");
    refuse(MINIMAL, (const char *[]){"trainer.epochs"}, 1, "is not key=value");
}

static void wrong_types_and_values_are_refused(void **state)
{
    (void)state;
    refuse(MINIMAL, (const char *[]){"trainer.epochs=many"}, 1, "--set trainer.epochs: ");
    refuse(MINIMAL, (const char *[]){"trainer.epochs=0"}, 1, "--set trainer.epochs: ");
    refuse(MINIMAL, (const char *[]){"model.type=gnc"}, 1, "gcn");
    refuse(MINIMAL, (const char *[]){"data.type=csv"}, 1, "data.type");
    refuse("model: {type: gcn}\n", NULL, 0, "exactly one of the sections 'task' and 'tasks'");
    refuse("model: {type: gcn}\ntask: {type: node_classification, num_classes: 3}\n", NULL, 0,
           "'data' is missing");
    refuse("model: {type: gcn}\ntask: {type: node_classification}\ndata: {type: citation}\n", NULL,
           0, "x.yaml:2:7: task: exactly one of num_classes (0) and class_names");
    refuse("model: {type: gcn}\ntask: {type: node_clasification}\n", NULL, 0,
           "task.type 'node_clasification' is unknown; did you mean 'node_classification'?");
    refuse("- 1\n", NULL, 0, "map of sections");
}

#define RANKING "task={type: node_ranking, node_set: nodes}"

/* With each seed in a component of its own, a list has one node and is always in order. */
static void an_order_is_not_asked_of_seeds_one_by_one(void **state)
{
    static const char *const cases[][3] = {
        {"{sizes: [3, 3]}", "data.batch_size=4", "data.sampling.store is records"},
        {"{spec: seeds.txt}", "data.batch_size=4", "data.sampling.store is records"},
        {"{type: shadow}", "data.batch_size=4", "data.sampling.type is shadow"},
        {"{sizes: [3], store: memory, seed_time_feature_name: asked}", "data.batch_size=4",
         "data.sampling.seed_time_feature_name is asked"},
        {"{sizes: [3], store: memory}", "data.batch_size=1", "data.batch_size is 1"},
        {"{type: random_walk}", "data.batch_size=1", "data.batch_size is 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sampling[128];
        const char *sets[] = {RANKING, sampling, cases[i][1]};

        snprintf(sampling, sizeof sampling, "data.sampling=%s", cases[i][0]);
        refuse(MINIMAL, sets, 3, cases[i][2]);
    }
}

/* A mini-batch in one component is a list, like the whole graph. */
static void an_order_is_of_the_seeds_of_a_mini_batch(void **state)
{
    static const char *const samplings[] = {"{}", "{sizes: [3], store: memory}",
                                            "{type: random_walk, random_walk: {sizes: [3]}}"};

    (void)state;
    for (size_t i = 0; i < sizeof samplings / sizeof *samplings; i++) {
        rgm_experiment *experiment = NULL;
        rgm_run_options options;
        rgm_open_run *run;
        rgm_text plan = {0};
        char sampling[128];
        const char *sets[] = {RANKING, sampling, "data.batch_size=4"};

        snprintf(sampling, sizeof sampling, "data.sampling=%s", samplings[i]);
        CHECK_OK(rgm_experiment_load(&experiment, write_file("a.yaml", MINIMAL), sets, 3));
        CHECK_OK(rgm_experiment_prepare(&options, experiment, NULL));
        run = run_whole(experiment, &options);
        CHECK(rgm_run_metric(run, "valid", "loss") > 0); /* there is an order that can be wrong */
        CHECK_OK(rgm_run_plan(&plan, run));
        CHECK(strstr(plan.data,
                     i == 0 ? "lists 1 train; 1 valid; 1 test\n"
                            : "lists one each mini-batch of train, valid, test: figures") != NULL);
        rgm_text_clear(&plan);
        rgm_run_close(run);
        rgm_experiment_release(experiment);
    }
}

static void a_missing_data_folder_says_what_to_do(void **state)
{
    rgm_experiment *experiment = NULL;
    rgm_run_options options;
    const char *sets[] = {"data={type: ogb, path: /nowhere/cora}"};

    (void)state;
    CHECK_OK(rgm_experiment_load(&experiment, write_file("a.yaml", MINIMAL), sets, 1));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_experiment_prepare(&options, experiment, NULL));
    CHECK_MESSAGE("/nowhere/cora");
    CHECK_MESSAGE("--set data.path=DIR");
    rgm_experiment_release(experiment);
}

static void subgraphs_are_sampled_into_records_or_memory(void **state)
{
    const char *stores[] = {"records", "memory"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        rgm_experiment *experiment = NULL;
        rgm_run_options options;
        rgm_open_run *result = NULL;
        char sampling[128], run_dir[160];
        const char *sets[] = {sampling, "data.batch_size=4"};

        snprintf(sampling, sizeof sampling, "data.sampling={sizes: [3, 3], store: %s}", stores[i]);
        snprintf(run_dir, sizeof run_dir, "%s/%s", folder, stores[i]);
        CHECK_OK(rgm_experiment_load(&experiment, write_file("a.yaml", MINIMAL), sets, 2));
        CHECK_OK(rgm_experiment_prepare(&options, experiment, run_dir));
        result = run_whole(experiment, &options);
        CHECK_INT(9, rgm_run_steps(result)); /* 12 seeds in batches of 4, 3 epochs */
        CHECK(isfinite(rgm_run_metric(result, "test", "loss")));
        rgm_run_close(result);
        rgm_experiment_release(experiment);
    }
}

#define EVENTS(sampling)                                                                           \
    "data:\n  type: events\n  batch_size: 50\n"                                                    \
    "  events: {accounts: 1000, train: 500, valid: 100}\n"                                         \
    "  sampling: {" sampling ", store: memory}\n"                                                  \
    "task: {type: root_node_classification, node_set: account, num_classes: 4}\n"                  \
    "model: {type: graph_sage, hidden: [32], receiver: source, dropout: 0}\n"                      \
    "optimizer: {type: adam, learning_rate: 2e-2}\ntrainer: {epochs: 8}\nexport: []\n"

#define LATEST                                                                                     \
    "spec: \"seed_op {op_name: 's' node_set_name: 'account'} sampling_ops {op_name: 'a' "          \
    "input_op_names: 's' edge_set_name: 'has' sample_size: 5 strategy: LATEST_K}\""

static void edges_of_the_future_are_kept_out(void **state)
{
    const char *texts[] = {EVENTS(LATEST ", seed_time_feature_name: asked"), EVENTS(LATEST),
                           EVENTS("sizes: [5], strategy: latest_k, seed_time_feature_name: asked")};
    double train[3], test[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        rgm_experiment *experiment = NULL;
        rgm_run_options options;
        rgm_open_run *result;

        CHECK_OK(rgm_experiment_load(&experiment, write_file("a.yaml", texts[i]), NULL, 0));
        CHECK_OK(rgm_experiment_prepare(&options, experiment, NULL));
        result = run_whole(experiment, &options);
        train[i] = rgm_run_metric(result, "train", "accuracy");
        test[i] = rgm_run_metric(result, "test", "accuracy");
        rgm_run_close(result);
        rgm_experiment_release(experiment);
    }
    CHECK(train[0] < 0.95 && test[0] > 0.75); /* one label in ten is noise */
    CHECK(train[1] > 0.99 && test[1] < 0.40); /* the future of the training part */
    CHECK(train[2] == train[0] && test[2] == test[0]);
}

/* Every sampler by its name in files: the result depends neither on threads nor on a stop in the
 * middle of an epoch. */
static void samplers_train_the_same_however_they_run(void **state)
{
    const char *samplings[] = {
        "data.sampling={type: random_walk, random_walk: {sizes: [3, 2], walks: 5}}",
        "data.sampling={type: cluster, cluster: {parts: 6}}",
        "data.sampling={type: saint, saint: {draw: node, budget: 9}}",
        "data.sampling={type: saint, saint: {draw: edge, budget: 7}}",
        "data.sampling={type: saint, saint: {budget: 5}}",
        "data.sampling={type: shadow, shadow: {neighbors: 3}}",
        "data.sampling={type: shadow, shadow: {draw: ppr, budget: 9}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof samplings / sizeof *samplings; i++) {
        double test[3] = {0}, train[3] = {0};

        for (int k = 0; k < 3; k++) { /* one thread; four; four and a stop after 2 steps */
            rgm_experiment *experiment = NULL;
            rgm_run_options options;
            rgm_open_run *result;
            const char *sets[] = {samplings[i], k == 0 ? "runtime.threads=1" : "runtime.threads=4",
                                  "data.batch_size=2"};
            char run_dir[160];

            snprintf(run_dir, sizeof run_dir, "%s/sampler-%d", folder, (int)i);
            CHECK_OK(rgm_experiment_load(&experiment, write_file("a.yaml", MINIMAL), sets, 3));
            CHECK_OK(rgm_experiment_prepare(&options, experiment, k == 2 ? run_dir : NULL));
            if (k == 2) {
                CHECK_OK(rgm_experiment_open(&result, experiment, &options));
                CHECK_OK(rgm_run_train(result, 2));
                CHECK_OK(rgm_run_save(result));
                rgm_run_close(result);
                CHECK_OK(rgm_experiment_prepare(&options, experiment, run_dir));
            }
            result = run_whole(experiment, &options);
            train[k] = rgm_run_metric(result, "train", "loss");
            test[k] = rgm_run_metric(result, "test", "loss");
            rgm_run_close(result);
            rgm_experiment_release(experiment);
        }
        CHECK(isfinite(train[0]) && isfinite(test[0]));
        CHECK(train[0] == train[1] && test[0] == test[1]);
        CHECK(train[0] == train[2] && test[0] == test[2]);
    }
}

static void contradictions_of_sampling_are_told(void **state)
{
    const struct {
        const char *sampling, *message;
    } cases[] = {
        {"data.sampling={sizes: [3], spec: a.pbtxt}", "both sizes and spec"},
        {"data.sampling={sizes: [3], always_there: [edges]}", "seed_time_feature_name"},
        {"data.sampling={spec: \"seed_op {op_name: 's' node_set_name: 'node'}\"}",
         "data.sampling.spec:1:1: sampling seeds: there is no node set 'node'"},
        {"data.sampling={spec: /nowhere.pbtxt}", "/nowhere.pbtxt"},
        {"data.sampling={type: shadow, sizes: [3]}", "type shadow has keys of its own"},
        {"data.sampling={type: saint, seed_time_feature_name: asked}", "edges of any time"},
        {"data.sampling={type: cluster, cluster: {parts: 1000}}", "into 1000 parts"},
        {"data.sampling={sizes: [3], seed_time_feature_name: asked}", "has no feature 'asked'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_experiment *experiment = NULL;
        rgm_run_options options;
        const char *sets[] = {cases[i].sampling, "data.sampling.store=memory"};

        if (rgm_experiment_load(&experiment, write_file("a.yaml", MINIMAL), sets, 2) == RGM_OK)
            CHECK(rgm_experiment_prepare(&options, experiment, NULL) != RGM_OK);
        CHECK_MESSAGE(cases[i].message);
        rgm_experiment_release(experiment);
    }
}

static void every_section_lists_its_keys(void **state)
{
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_experiment_keys(&text, NULL, NULL));
    CHECK(strstr(text.data, "trainer.epochs") != NULL);
    CHECK(strstr(text.data, "data.sampling.sizes") != NULL);
    CHECK(strstr(text.data, "model.type: gat_v2") != NULL);
    rgm_text_clear(&text);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_experiment_keys(&text, "modle", NULL));
    rgm_text_clear(&text);
}

static void check_part(const rgm_experiment *e, int64_t i, const char *name, const char *fold,
                       const char *seed)
{
    rgm_experiment *part;
    rgm_run_options options;
    char *got;

    CHECK_OK(rgm_experiment_part(&part, &got, e, i));
    CHECK_TEXT(name, got);
    CHECK_INT(1, rgm_experiment_part_count(part));
    CHECK_TEXT(fold, rgm_experiment_find(part, "trainer.fold")->value->text);
    CHECK_TEXT(seed, rgm_experiment_find(part, "runtime.seed")->value->text);
    CHECK_OK(rgm_experiment_prepare(&options, part, NULL));
    CHECK(strstr(rgm_experiment_text(part), "folds: 3") != NULL);
    rgm_experiment_release(part);
    rgm_free(got);
}

static void folds_and_seeds_are_runs_of_their_own(void **state)
{
    const char *sets[] = {"trainer.folds=3", "runtime.seeds=2", "runtime.seed=7"};
    rgm_experiment *e = NULL, *none;
    rgm_run_options options;
    char *name;

    (void)state;
    CHECK_OK(rgm_experiment_load(&e, write_file("a.yaml", MINIMAL), sets, 3));
    CHECK_INT(6, rgm_experiment_part_count(e));
    check_part(e, 0, "seed-7-fold-1", "1", "7");
    check_part(e, 2, "seed-7-fold-3", "3", "7");
    check_part(e, 4, "seed-8-fold-2", "2", "8");
    CHECK_STATUS(RGM_ERR_ARG, rgm_experiment_part(&none, &name, e, 6));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_experiment_prepare(&options, e, NULL));
    CHECK_MESSAGE("trainer.folds is 3: that is as many runs");
    CHECK_OK(rgm_experiment_check(e, true));
    CHECK_EVERY_OOM(rgm_experiment_part(&none, &name, e, 5),
                    (rgm_experiment_release(none), rgm_free(name)));
    rgm_experiment_release(e);
    CHECK_OK(rgm_experiment_load(&e, write_file("a.yaml", MINIMAL), sets, 1));
    check_part(e, 1, "fold-2", "2", "1");
    rgm_experiment_release(e);
    refuse(MINIMAL "runtime: {seeds: -1}\n", NULL, 0, "seeds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_experiment_runs_as_its_file_says),
        cmocka_unit_test(a_task_with_its_own_data_runs_too),
        cmocka_unit_test(the_merged_text_reads_back_to_itself),
        cmocka_unit_test(a_file_lies_over_the_one_it_extends),
        cmocka_unit_test(files_that_extend_each_other_are_refused),
        cmocka_unit_test(an_unknown_key_is_told_with_place_and_nearest_name),
        cmocka_unit_test(wrong_types_and_values_are_refused),
        cmocka_unit_test(an_order_is_not_asked_of_seeds_one_by_one),
        cmocka_unit_test(an_order_is_of_the_seeds_of_a_mini_batch),
        cmocka_unit_test(a_missing_data_folder_says_what_to_do),
        cmocka_unit_test(subgraphs_are_sampled_into_records_or_memory),
        cmocka_unit_test(edges_of_the_future_are_kept_out),
        cmocka_unit_test(samplers_train_the_same_however_they_run),
        cmocka_unit_test(contradictions_of_sampling_are_told),
        cmocka_unit_test(folds_and_seeds_are_runs_of_their_own),
        cmocka_unit_test(every_section_lists_its_keys)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
