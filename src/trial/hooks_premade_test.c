/*
 * Premade estimators: the same bytes as the experiment file that says the same, a run folder like
 * any experiment's, and mistakes that are told before the first step.
 */
#include <check.h>

#include <regimen/trial_task.h>

#include "hooks.h"

static char folder[128];
static int wrong; /* what a test has the hook do */

#define DATA                                                                                       \
    "data: {type: citation, citation: {nodes: 60, edges: 120, classes: 3, words: 20, "             \
    "words_per_node: 4, train_per_class: 5, valid: 20, test: 20}}\n"
#define MODEL                                                                                      \
    "task: {type: node_classification, node_set: nodes, num_classes: 3, head: none}\n"             \
    "model: {type: gcn, output: 3}\noptimizer: {type: adam}\n"
#define SEARCHER                                                                                   \
    "searcher: {name: random, metric: accuracy, smaller_is_better: false, max_trials: 2, "         \
    "max_length: 4}\nbatches_per_step: 2\n"

/* The same search twice: of an experiment, and of a program that makes it. */
static const char of_file[] = DATA MODEL "trainer: {histograms: false}\n"
                                         "hyperparameters: {model.hidden: {type: const, val: [8]}, "
                                         "optimizer.learning_rate: 0.01}\n" SEARCHER;
static const char of_hooks[] = "entrypoint: its-own\n" DATA "base: gcn\n"
                               "trainer: {histograms: false}\n"
                               "hyperparameters: {units: 8, rate: 0.01}\n" SEARCHER;

static rgm_status build_premade(rgm_premade *out, const rgm_config *experiment,
                                const rgm_config *hparams)
{
    int64_t units = rgm_config_int(hparams, wrong == 1 ? "unit" : "units");

    if (wrong == 2)
        return rgm_invalid_hyperparameters("%lld units", (long long)units);
    if (wrong == 3)
        rgm_premade_begin(out, "dmo");
    rgm_premade_take(out, "data", experiment, wrong == 4 ? "dat" : "data");
    rgm_premade_set(out, "task",
                    "{type: node_classification, node_set: nodes, num_classes: 3, "
                    "head: none}");
    rgm_premade_set(out, "model", "{type: gcn, hidden: [%lld], output: 3}", (long long)units);
    rgm_premade_set(out, "optimizer", "{type: adam, learning_rate: %g}",
                    rgm_config_float(hparams, "rate"));
    if (wrong == 5)
        rgm_premade_set(out, "model.hiden", "[%d]", 3);
    if (wrong == 6)
        rgm_premade_set(out, "trainer.folds", "%d", 3);
    if (wrong == 7)
        rgm_premade_set(out, "model", "[%s", "");
    return RGM_OK;
}

RGM_TRIAL(premade, .build_premade = build_premade);

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

static rgm_search_file *parse(const char *text, bool own)
{
    rgm_search_file *file;
    rgm_yaml *merged;

    CHECK_OK(rgm_yaml_parse(&merged, text, (int64_t)strlen(text), "s.yaml"));
    if (own)
        CHECK_OK(rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "s.yaml", NULL));
    else
        CHECK_OK(rgm_trial_load_merged(&file, NULL, "s.yaml", merged, NULL));
    rgm_yaml_release(merged);
    return file;
}

static rgm_status open_trial(rgm_trial **trial, rgm_search_file *file, const rgm_trial_hooks *hooks,
                             const char *run_dir)
{
    static rgm_hyper_value values[4];
    rgm_mt19937 random;

    rgm_mt19937_seed(&random, 1);
    RGM_TRY(rgm_space_draw(values, rgm_search_file_space(file), &random));
    return rgm_trial_open(
        trial, &(rgm_trial_setup){
                   .file = file, .hooks = hooks, .values = values, .seed = 3, .run_dir = run_dir});
}

/* Train, validate and save; the metric of the search. */
static double train(rgm_search_file *file, const rgm_trial_hooks *hooks, const char *run_dir)
{
    static const rgm_workload list[] = {{RGM_RUN_STEP, 1, 2},
                                        {RGM_RUN_STEP, 2, 4},
                                        {RGM_COMPUTE_VALIDATION_METRICS, 2, 4},
                                        {RGM_CHECKPOINT_MODEL, 2, 4}};
    rgm_workload_result r;
    rgm_trial *trial;
    double metric = 0;

    CHECK_OK(open_trial(&trial, file, hooks, run_dir));
    for (int i = 0; i < 4; i++) {
        CHECK_OK(rgm_trial_do(trial, &list[i], &r));
        metric = r.objectives != NULL ? r.objectives[0] : metric;
    }
    rgm_trial_close(trial);
    return metric;
}

static void check_same(const char *a, const char *b, const char *name)
{
    char path[400], *data[2];
    int64_t size[2];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", i == 0 ? a : b, name);
        CHECK_OK(rgm_file_load(&data[i], &size[i], path, 1 << 20));
    }
    CHECK_INT(size[0], size[1]);
    CHECK(memcmp(data[0], data[1], (size_t)size[0]) == 0);
    rgm_free(data[0]);
    rgm_free(data[1]);
}

static void a_premade_task_is_that_of_the_experiment_file(void **state)
{
    rgm_search_file *files[2] = {parse(of_file, false), parse(of_hooks, true)};
    char run[2][200];
    double metrics[2];
    rgm_experiment *experiment;

    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(run[i], sizeof run[i], "%s/run-%d", folder, i);
        metrics[i] = train(files[i], i == 1 ? &rgm_hooks_premade : NULL, run[i]);
        rgm_search_file_release(files[i]);
    }
    CHECK(metrics[0] == metrics[1] && metrics[0] > 0);
    check_same(run[0], run[1], "ckpt/step-00000004/weights.safetensors");
    check_same(run[0], run[1], "metrics.jsonl");
    CHECK_OK(rgm_experiment_load_run(&experiment, run[1], NULL, 0)); /* no program is needed */
    CHECK_TEXT("8", rgm_experiment_find(experiment, "model.hidden")->value->items[0]->text);
    rgm_experiment_release(experiment);
}

/* What `regimen run` does with the file of a trial. */
static void its_file_is_a_run(void **state)
{
    rgm_search_file *file = parse(of_hooks, true);
    rgm_trial_task *task;
    rgm_run_options options;
    rgm_open_run *run;

    (void)state;
    CHECK_OK(rgm_trial_task_create(&task, file, &rgm_hooks_premade));
    CHECK_OK(rgm_trial_task_prepare(&options, task, NULL));
    CHECK_STATUS(RGM_ERR_ARG, rgm_trial_task_prepare(&options, task, NULL));
    CHECK_OK(rgm_trial_task_open(&run, task, &options));
    CHECK_OK(rgm_run_complete(run));
    CHECK_INT(8, rgm_run_steps(run));
    CHECK(rgm_run_metric(run, "test", "accuracy") > 0);
    CHECK_TEXT("premade", rgm_trial_task_name(task));
    rgm_run_close(run);
    rgm_trial_task_release(task);
    rgm_search_file_release(file);
}

static void mistakes_are_told(void **state)
{
    static const char *const told[] = {
        "",
        "trial 'premade': build_premade: the section hyperparameters has no 'unit'",
        "invalid hyperparameters: 8 units",
        "build_premade: 'dmo' is neither a file nor a named experiment; did you mean 'demo'?",
        "build_premade: the search file has no 'dat', which becomes 'data'",
        "unknown key 'model.hiden'; did you mean 'model.hidden'?",
        "trainer.folds and runtime.seeds make 3 runs, but a trial is one",
        "trial 'premade': build_premade: build_premade"};
    rgm_search_file *file = parse(of_hooks, true);
    rgm_trial_hooks both = rgm_hooks_premade;
    rgm_trial *trial;

    (void)state;
    for (wrong = 1; wrong < (int)(sizeof told / sizeof *told); wrong++) {
        rgm_status status = open_trial(&trial, file, &rgm_hooks_premade, NULL);

        if (status >= 0 || strstr(rgm_error_message(), told[wrong]) == NULL)
            fail_msg("%d: '%s' was expected, not: %s", wrong, told[wrong], rgm_error_text());
        CHECK(trial == NULL && rgm_trial_is_invalid(status) == (wrong == 2));
    }
    wrong = 0;
    both.training_metrics[0] = "accuracy";
    CHECK_STATUS(RGM_ERR_CONFIG, open_trial(&trial, file, &both, NULL));
    CHECK_MESSAGE("trial 'premade' has build_premade and other hooks");
    rgm_search_file_release(file);
}

static void memory_that_runs_out_is_told(void **state)
{
    rgm_search_file *file = parse(of_hooks, true);
    rgm_hyper_value values[4];
    rgm_experiment *experiment;
    rgm_mt19937 random;

    (void)state;
    rgm_mt19937_seed(&random, 1);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    CHECK_EVERY_OOM(
        rgmi_premade_experiment(
            &experiment, NULL,
            &(rgm_trial_setup){.file = file, .hooks = &rgm_hooks_premade, .values = values}),
        rgm_experiment_release(experiment));
    rgm_search_file_release(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_premade_task_is_that_of_the_experiment_file),
        cmocka_unit_test(its_file_is_a_run), cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(memory_that_runs_out_is_told)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
