/*
 * Trials: a run folder driven by workloads. Killed and opened again it leaves the bytes of one that
 * was not; taken back, started anew or from another's checkpoint it begins where it should.
 */
#include <check.h>

#include "trial_internal.h"

static char folder[128];
static rgm_search_file *file;

static const char graph_search[] =
    "extends: demo\n"
    "data: {citation: {nodes: 300, edges: 900, words: 40, valid: 60, test: 60}}\n"
    "model: {hidden: [8], dropout: 0.1}\n"
    "hyperparameters: {optimizer.learning_rate: {type: double, minval: 0.03, maxval: 0.04}}\n"
    "searcher: {name: random, metric: accuracy, smaller_is_better: false, max_trials: 2, "
    "max_length: 6}\n"
    "batches_per_step: 4\n";

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", "/dev/shm/regimen-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static const char *path_of(const char *run, const char *name)
{
    static char paths[4][300];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s%s%s", folder, run, name[0] != '\0' ? "/" : "", name);
    return path;
}

static void load(const char *text)
{
    rgm_experiment_layers layers = {.name = path_of("s.yaml", "")};
    rgm_text mistakes = {0};

    rgm_search_file_release(file);
    CHECK_OK(rgm_file_save(layers.name, text, (int64_t)strlen(text)));
    if (rgm_trial_load_search(&file, &mistakes, &layers) != RGM_OK)
        fail_msg("%s\n%s", mistakes.data, rgm_error_text());
    rgm_text_clear(&mistakes);
}

static rgm_trial_setup setup_of(const char *run, rgm_hyper_value *values)
{
    rgm_mt19937 random;

    rgm_mt19937_seed(&random, 5);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    return (rgm_trial_setup){
        .file = file, .values = values, .seed = 11, .run_dir = path_of(run, "")};
}

static rgm_trial *open_trial(const char *run)
{
    rgm_hyper_value values[4] = {{0}};
    rgm_trial_setup s = setup_of(run, values);
    rgm_trial *trial;

    CHECK_OK(rgm_trial_open(&trial, &s));
    return trial;
}

static rgm_workload_result work(rgm_trial *trial, rgm_workload_kind kind, int64_t step,
                                int64_t batches)
{
    rgm_workload_result result;

    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){kind, step, batches}, &result));
    return result;
}

static void same_file(const char *a, const char *b, const char *name)
{
    char *data[2];
    int64_t size[2];

    CHECK_OK(rgm_file_load(&data[0], &size[0], path_of(a, name), 1 << 28));
    CHECK_OK(rgm_file_load(&data[1], &size[1], path_of(b, name), 1 << 28));
    CHECK_INT(size[0], size[1]);
    if (memcmp(data[0], data[1], (size_t)size[0]) != 0)
        fail_msg("%s differs between %s and %s", name, a, b);
    rgm_free(data[0]);
    rgm_free(data[1]);
}

static void same_runs(const char *a, const char *b, const char *checkpoint)
{
    static const char *const files[] = {"weights.safetensors", "slots.safetensors", "manifest.json",
                                        "best.safetensors"};

    same_file(a, b, "metrics.jsonl");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[128];

        snprintf(name, sizeof name, "ckpt/%s/%s", checkpoint, files[i]);
        same_file(a, b, name);
    }
}

/* ---- what workloads do
 * --------------------------------------------------------------------------- */

static void workloads_train_validate_and_save(void **state)
{
    rgm_trial *trial;
    rgm_workload_result r;
    int64_t bytes = 0;

    (void)state;
    load(graph_search);
    trial = open_trial("works");
    CHECK_INT(0, rgmi_trial_opened_at(trial));
    r = work(trial, RGM_RUN_STEP, 1, 4);
    CHECK_INT(4, r.num_batches);
    CHECK(rgm_logs_has(r.metrics, "loss") && rgm_logs_has(r.metrics, "learning_rate"));
    CHECK(!rgm_logs_has(r.metrics, "steps_per_second"));
    CHECK(r.num_inputs > 0 && r.seconds > 0 && r.objectives == NULL);
    r = work(trial, RGM_COMPUTE_VALIDATION_METRICS, 1, 4);
    CHECK(r.objectives[0] == rgm_logs_get(r.metrics, "accuracy") && r.objectives[0] > 0);
    CHECK(r.num_inputs > 0 && r.checkpoint == NULL);
    CHECK(!rgm_path_exists(path_of("works", "ckpt/step-00000004")));
    r = work(trial, RGM_CHECKPOINT_MODEL, 1, 4);
    CHECK_TEXT("ckpt/step-00000004", r.checkpoint);
    CHECK(r.file_count >= 4);
    for (int64_t i = 0; i < r.file_count; i++)
        bytes += r.files[i].size;
    CHECK(bytes == r.bytes && bytes > 1000);
    for (int64_t step = 2; step <= 5; step++) { /* every one stays */
        work(trial, RGM_RUN_STEP, step, step * 4);
        work(trial, RGM_CHECKPOINT_MODEL, step, step * 4);
    }
    CHECK(rgm_path_exists(path_of("works", "ckpt/step-00000004")));
    CHECK(rgm_path_exists(path_of("works", "config.yaml")));
    CHECK_INT(20, rgm_run_steps(rgm_trial_run(trial)));
    rgm_trial_close(trial);
}

/* Opened as any run folder, it has the metrics that the trial had. */
static void a_trials_folder_is_an_ordinary_run_folder(void **state)
{
    rgm_experiment *e;
    rgm_run_options options;
    rgm_open_run *run;
    const rgm_logs *logs;
    rgm_trial *trial;
    double accuracy;

    (void)state;
    load(graph_search);
    trial = open_trial("ordinary");
    work(trial, RGM_RUN_STEP, 1, 4);
    accuracy = work(trial, RGM_COMPUTE_VALIDATION_METRICS, 1, 4).objectives[0];
    work(trial, RGM_CHECKPOINT_MODEL, 1, 4);
    rgm_trial_close(trial);
    CHECK_OK(rgm_experiment_load_run(&e, path_of("ordinary", ""), NULL, 0));
    CHECK_OK(rgm_experiment_prepare_trained(&options, e, path_of("ordinary", "")));
    options.read_only = true;
    CHECK_OK(rgm_experiment_open(&run, e, &options));
    CHECK_INT(4, rgm_run_steps(run));
    CHECK_OK(rgm_run_evaluate(run, RGM_VALID, RGM_TO_END, &logs));
    CHECK(rgm_logs_get(logs, "accuracy") == accuracy);
    rgm_run_close(run);
    rgm_experiment_release(e);
}

static void workloads_elsewhere_are_refused(void **state)
{
    rgm_trial *trial;
    rgm_workload_result r;

    (void)state;
    load(graph_search);
    trial = open_trial("elsewhere");
    CHECK_STATUS(RGM_ERR_ARG, rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 0}, &r));
    CHECK_STATUS(RGM_ERR_ARG, rgm_trial_do(trial, &(rgm_workload){RGM_CHECKPOINT_MODEL, 1, 4}, &r));
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_trial_do(trial, &(rgm_workload){RGM_COMPUTE_VALIDATION_METRICS, 1, 4}, &r));
    CHECK_STATUS(RGM_ERR_ARG, rgm_trial_do(trial, &(rgm_workload){(rgm_workload_kind)7, 1, 4}, &r));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_TERMINATE, 0, 0}, &r));
    work(trial, RGM_RUN_STEP, 1, 4);
    rgm_trial_close(trial);
}

/* ---- opened again
 * -------------------------------------------------------------------------------- */

/* Two steps, a validation and a checkpoint, then three more steps with what belongs to them. */
static void first_part(rgm_trial *trial)
{
    work(trial, RGM_RUN_STEP, 1, 4);
    work(trial, RGM_RUN_STEP, 2, 8);
    work(trial, RGM_COMPUTE_VALIDATION_METRICS, 2, 8);
    work(trial, RGM_CHECKPOINT_MODEL, 2, 8);
}

static void second_part(rgm_trial *trial)
{
    work(trial, RGM_RUN_STEP, 3, 12);
    work(trial, RGM_RUN_STEP, 4, 14);
    work(trial, RGM_COMPUTE_VALIDATION_METRICS, 4, 14);
    work(trial, RGM_RUN_STEP, 5, 18);
    work(trial, RGM_CHECKPOINT_MODEL, 5, 18);
}

static bool stop_soon(void *payload)
{
    return --*(int *)payload < 0;
}

/* Whole; killed behind the checkpoint in each of three ways. */
static void check_exact_resume(void)
{
    static const char *const runs[] = {"whole", "lost", "stopped", "twice"};
    rgm_hyper_value values[4] = {{0}};
    rgm_trial *trial;

    for (int i = 0; i < 4; i++) {
        trial = open_trial(runs[i]);
        first_part(trial);
        if (i > 0) {
            rgm_trial_setup s;
            rgm_workload_result r;
            int left = 2;

            work(trial, RGM_RUN_STEP, 3, 12);
            work(trial, RGM_COMPUTE_VALIDATION_METRICS, 3, 12);
            rgm_trial_close(trial);
            s = setup_of(runs[i], values);
            s.should_stop = i == 2 ? stop_soon : NULL;
            s.payload = &left;
            CHECK_OK(rgm_trial_open(&trial, &s));
            CHECK_INT(8, rgmi_trial_opened_at(trial));
            if (i >= 2) {
                CHECK_STATUS(i == 2 ? RGM_STOPPED : RGM_OK,
                             rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 3, 12}, &r));
                if (i == 2)
                    CHECK_STATUS(RGM_ERR_ARG,
                                 rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 3, 12}, &r));
                rgm_trial_close(trial);
                trial = open_trial(runs[i]);
            }
        }
        second_part(trial);
        rgm_trial_close(trial);
        if (i > 0)
            same_runs("whole", runs[i], "step-00000018");
    }
    for (int i = 0; i < 4; i++)
        CHECK_OK(rgm_folder_remove(path_of(runs[i], "")));
}

static void a_killed_trial_ends_with_the_same_bytes(void **state)
{
    (void)state;
    load(graph_search);
    check_exact_resume();
}

static void so_does_one_on_digits(void **state)
{
    const char *data = check_data("digits");
    char text[1024];

    (void)state;
    if (data == NULL)
        SKIP("REGIMEN_DATA has no digits");
    snprintf(text, sizeof text,
             "extends: digits_mlp\n"
             "data: {path: %s}\n"
             "hyperparameters: {optimizer.learning_rate.initial: {type: log, base: 10, minval: -4, "
             "maxval: -2}}\n"
             "searcher: {name: random, metric: valid.cross_entropy, max_trials: 2, "
             "max_length: 6}\n"
             "batches_per_step: 4\n",
             data);
    load(text);
    check_exact_resume();
}

/* The trial's part of it: what was not finished is nowhere. */
static void case_38_a_fault_in_a_step_leaves_no_half_step(void **state)
{
    rgm_hyper_value values[4] = {{0}};
    rgm_trial_setup s;
    rgm_workload_result r;
    rgm_trial *trial;
    char *lines;
    int64_t size;
    int left = 3;

    (void)state;
    load(graph_search);
    s = setup_of("half", values);
    s.should_stop = stop_soon;
    s.payload = &left;
    CHECK_OK(rgm_trial_open(&trial, &s));
    CHECK_STATUS(RGM_STOPPED, rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 4}, &r));
    CHECK_INT(3, rgm_run_steps(rgm_trial_run(trial)));
    CHECK_STATUS(RGM_ERR_ARG, rgm_trial_do(trial, &(rgm_workload){RGM_CHECKPOINT_MODEL, 1, 3}, &r));
    rgm_trial_close(trial);
    CHECK_OK(rgm_file_load(&lines, &size, path_of("half", "metrics.jsonl"), 1 << 20));
    CHECK_INT(0, size);
    rgm_free(lines);
    trial = open_trial("half");
    CHECK_INT(0, rgm_run_steps(rgm_trial_run(trial)));
    CHECK_INT(4, work(trial, RGM_RUN_STEP, 1, 4).num_batches);
    rgm_trial_close(trial);
}

static void a_rollback_sets_later_checkpoints_aside(void **state)
{
    rgm_hyper_value values[4] = {{0}};
    rgm_trial_setup s;
    rgm_trial *trial;

    (void)state;
    load(graph_search);
    trial = open_trial("straight");
    first_part(trial);
    second_part(trial);
    rgm_trial_close(trial);
    trial = open_trial("back");
    first_part(trial);
    work(trial, RGM_RUN_STEP, 3, 12);
    work(trial, RGM_CHECKPOINT_MODEL, 3, 12);
    rgm_trial_close(trial);
    s = setup_of("back", values);
    s.start = RGM_START_AT;
    s.at_batches = 8;
    CHECK_OK(rgm_trial_open(&trial, &s));
    CHECK_INT(8, rgmi_trial_opened_at(trial));
    CHECK(!rgm_path_exists(path_of("back", "ckpt/step-00000012")));
    CHECK(rgm_path_exists(path_of("back", "ckpt/step-00000012.rolled-back")));
    second_part(trial);
    rgm_trial_close(trial);
    CHECK(!rgm_path_exists(path_of("back", "ckpt/step-00000012.rolled-back"))); /* as far again */
    same_runs("straight", "back", "step-00000018");
    s.run_dir = path_of("back", ""); /* the ring of paths has gone round */
    s.at_batches = 9;
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_trial_open(&trial, &s));
    s.at_batches = 0; /* from the beginning */
    CHECK_OK(rgm_trial_open(&trial, &s));
    CHECK_INT(0, rgmi_trial_opened_at(trial));
    first_part(trial);
    second_part(trial);
    rgm_trial_close(trial);
    same_runs("straight", "back", "step-00000018");
    s.run_dir = path_of("back", "");
    CHECK_OK(rgm_trial_open(&trial, &s));
    rgm_trial_close(trial); /* nothing was done: it may have been a mistake */
    CHECK(rgm_path_exists(path_of("back", "ckpt/step-00000018.rolled-back")));
    s.run_dir = path_of("back", "");
    CHECK_OK(rgm_trial_open(&trial, &s));
    first_part(trial); /* saved, and ended before it came as far */
    rgm_trial_close(trial);
    CHECK(!rgm_path_exists(path_of("back", "ckpt/step-00000018.rolled-back")));
}

/* ---- warm start
 * ---------------------------------------------------------------------------------- */

static void a_warm_start_begins_with_anothers_weights(void **state)
{
    rgm_hyper_value values[4] = {{0}};
    rgm_trial_setup s;
    rgm_trial *trial, *plain;
    double cold, warm;

    (void)state;
    load(graph_search);
    trial = open_trial("source");
    for (int64_t step = 1; step <= 10; step++)
        work(trial, RGM_RUN_STEP, step, step * 4);
    work(trial, RGM_CHECKPOINT_MODEL, 10, 40);
    rgm_trial_close(trial);
    plain = open_trial("cold");
    cold = rgm_logs_get(work(plain, RGM_RUN_STEP, 1, 4).metrics, "loss");
    rgm_trial_close(plain);
    s = setup_of("warm", values);
    s.from = path_of("source", "ckpt/step-00000040");
    CHECK_OK(rgm_trial_open(&trial, &s));
    CHECK_INT(0, rgm_run_steps(rgm_trial_run(trial)));
    CHECK_INT(40, rgm_trainer_updates(rgm_run_trainer(rgm_trial_run(trial))));
    warm = rgm_logs_get(work(trial, RGM_RUN_STEP, 1, 4).metrics, "loss");
    if (!(warm < cold - 0.1))
        fail_msg("the loss begins at %g warm and at %g cold", warm, cold);
    work(trial, RGM_CHECKPOINT_MODEL, 1, 4);
    rgm_trial_close(trial);
    CHECK_OK(rgm_trial_open(&trial, &s)); /* its own checkpoint counts more */
    CHECK_INT(4, rgmi_trial_opened_at(trial));
    CHECK_INT(44, rgm_trainer_updates(rgm_run_trainer(rgm_trial_run(trial))));
    rgm_trial_close(trial);
    s.run_dir = path_of("nothing", "");
    s.from = path_of("nowhere", "");
    CHECK(rgm_trial_open(&trial, &s) < 0);
    CHECK_MESSAGE("warm start from");
}

/* ---- asked before the first step
 * ------------------------------------------------------------------ */

static void the_metric_is_looked_for_before_the_first_step(void **state)
{
    rgm_hyper_value values[4] = {{0}};
    rgm_trial_setup s;
    rgm_trial *trial;

    (void)state;
    load("extends: demo\n"
         "data: {citation: {nodes: 300, edges: 900, words: 40, valid: 60, test: 60}}\n"
         "hyperparameters: {optimizer.learning_rate: 0.1}\n"
         "searcher: {name: random, metric: acuracy, max_trials: 2, max_length: 6}\n");
    s = setup_of("metric", values);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trial_open(&trial, &s));
    CHECK_MESSAGE("s.yaml:4:34: searcher.metric: validation gives no 'valid.acuracy'; did you mean "
                  "'valid.accuracy'?");
    s.run_dir = NULL;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trial_open(&trial, &s));
}

static void a_test_is_one_batch_of_everything(void **state)
{
    rgm_hyper_value values[4] = {{0}};
    rgm_trial_setup s;
    rgm_trial *trial;
    rgm_workload_result r;

    (void)state;
    load(graph_search);
    s = setup_of("test", values);
    s.is_test = true;
    CHECK_OK(rgm_trial_open(&trial, &s));
    work(trial, RGM_RUN_STEP, 1, 1);
    r = work(trial, RGM_COMPUTE_VALIDATION_METRICS, 1, 1);
    CHECK(isfinite(r.objectives[0]));
    work(trial, RGM_CHECKPOINT_MODEL, 1, 1);
    rgm_trial_close(trial);
}

static rgm_status open_and_close(const rgm_trial_setup *s)
{
    static const rgm_workload work_list[] = {{RGM_RUN_STEP, 1, 2},
                                             {RGM_COMPUTE_VALIDATION_METRICS, 1, 2}};
    rgm_status status = RGM_OK;
    rgm_workload_result r;
    rgm_trial *trial = NULL;

    RGM_GO(rgm_trial_open(&trial, s));
    for (int i = 0; i < 2; i++)
        RGM_GO(rgm_trial_do(trial, &work_list[i], &r));
done:
    rgm_trial_close(trial);
    return status;
}

static void memory_that_runs_out_is_told(void **state)
{
    static const char rows[] = "1,2,0\n3,4,1\n5,6,0\n7,8,1\n";
    char text[512];
    rgm_hyper_value values[4] = {{0}};
    rgm_trial_setup s;

    (void)state;
    CHECK_OK(rgm_file_save(path_of("rows.csv", ""), rows, sizeof rows - 1));
    snprintf(text, sizeof text,
             "data: {path: %s, train: rows.csv, valid: rows.csv, batch_size: 2}\n"
             "task: {type: classification, num_classes: 2}\n"
             "model: {type: mlp, hidden: [3]}\n"
             "optimizer: {type: adam}\n"
             "hyperparameters: {optimizer.learning_rate: 0.1}\n"
             "searcher: {name: random, metric: accuracy, max_trials: 2, max_length: 6}\n",
             folder);
    load(text);
    s = setup_of("memory", values);
    s.run_dir = NULL;
    CHECK_EVERY_OOM(open_and_close(&s), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workloads_train_validate_and_save),
        cmocka_unit_test(a_trials_folder_is_an_ordinary_run_folder),
        cmocka_unit_test(workloads_elsewhere_are_refused),
        cmocka_unit_test(a_killed_trial_ends_with_the_same_bytes),
        cmocka_unit_test(so_does_one_on_digits),
        cmocka_unit_test(case_38_a_fault_in_a_step_leaves_no_half_step),
        cmocka_unit_test(a_rollback_sets_later_checkpoints_aside),
        cmocka_unit_test(a_warm_start_begins_with_anothers_weights),
        cmocka_unit_test(the_metric_is_looked_for_before_the_first_step),
        cmocka_unit_test(a_test_is_one_batch_of_everything),
        cmocka_unit_test(memory_that_runs_out_is_told)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
