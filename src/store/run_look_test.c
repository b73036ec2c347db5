/*
 * Reading runs back: the summary of a run folder and its learning curves, whole, cut short,
 * damaged.
 */
#include <check.h>

#include <regimen/store.h>

#include <unistd.h>

/* A run of three epochs, the last two of them in a checkpoint, validated at the first two. */
static void make_run(const char *path, const char *config)
{
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    int64_t epoch = 2, best_step = 10;
    bool finished = false;
    double best = 0.75;
    const char *metric = "valid.accuracy";
    const rgm_key_place places[] = {{RGM_KEY_EPOCH, &epoch},
                                    {RGM_KEY_FINISHED, &finished},
                                    {RGM_KEY_BEST_STEP, &best_step},
                                    {RGM_KEY_BEST_VALUE, &best},
                                    {RGM_KEY_BEST_METRIC, &metric}};
    rgm_checkpoint_store *store;
    rgm_checkpoint *checkpoint;
    rgm_metrics_log *log;
    rgm_run_folder *run;
    char at[300];

    options.config = config;
    CHECK_OK(rgm_run_folder_open(&run, path, &options));
    snprintf(at, sizeof at, "%s/metrics.jsonl", path);
    CHECK_OK(rgm_metrics_log_open(&log, at, 0));
    for (int64_t e = 1; e <= 3; e++) {
        rgm_named_number train[] = {{"loss", 1.0 / (double)e}};
        rgm_named_number valid[] = {{"loss", 2.0 / (double)e}, {"accuracy", 0.25 * (double)e}};

        CHECK_OK(rgm_metrics_log_add(log, "train", 10 * e, e, train, 1));
        if (e < 3)
            CHECK_OK(rgm_metrics_log_add(log, "valid", 10 * e, e, valid, 2));
    }
    rgm_metrics_log_close(log);
    snprintf(at, sizeof at, "%s/ckpt", path);
    CHECK_OK(rgm_checkpoint_store_open(&store, at, NULL));
    CHECK_OK(rgm_checkpoint_create(&checkpoint, 20));
    CHECK_OK(rgm_checkpoint_set_keys(checkpoint, places, sizeof places / sizeof *places));
    CHECK_OK(rgm_checkpoint_save(store, checkpoint));
    rgm_checkpoint_release(checkpoint);
    rgm_checkpoint_store_close(store);
    rgm_run_folder_close(run);
}

/* ---- at a glance --------------------------------------------------------------------------- */

static void a_look_tells_what_is_known(void **state)
{
    const char *path = check_folder();
    rgm_run_look look;

    (void)state;
    CHECK(!rgm_run_folder_exists(path));
    make_run(path, "description: small\nmodel: {type: gcn}\ntrainer: {epochs: 5}\n");
    CHECK(rgm_run_folder_exists(path));
    CHECK_OK(rgm_run_look_load(&look, path, 1));
    CHECK_INT(RGM_RUN_STOPPED, look.state);
    CHECK_TEXT("small", look.description);
    CHECK_TEXT("gcn", look.model);
    CHECK_INT(5, look.epochs);
    CHECK_INT(3, look.epoch); /* the log is further than the checkpoint */
    CHECK_INT(30, look.step);
    CHECK_TEXT("valid.accuracy", look.best_metric);
    CHECK(look.best_value == 0.75 && look.best_step == 10 && look.reason == NULL);
    CHECK_INT(3, look.last_count);
    CHECK_TEXT("train.loss", look.last[0].name);
    CHECK(rgm_run_look_last(&look, "valid.loss") == 1);
    CHECK(rgm_run_look_last(&look, "valid.accuracy") == 0.5);
    CHECK(isnan(rgm_run_look_last(&look, "valid")));
    CHECK(look.modified > 1600000000);
    rgm_run_look_clear(&look);
    CHECK_EVERY_OOM(rgm_run_look_load(&look, path, 1), rgm_run_look_clear(&look));
    CHECK_OK(rgm_folder_remove(path));
}

static void a_look_hands_over_the_configuration_that_it_parsed(void **state)
{
    const char *path = check_folder();
    char at[300];
    rgm_yaml *config = NULL;
    rgm_run_look look;

    (void)state;
    make_run(path, "model: {type: gcn}\ntrainer: {epochs: 5}\n");
    CHECK_OK(rgm_run_look_load_config(&look, &config, path, 1));
    CHECK_TEXT("gcn", rgm_yaml_find(rgm_yaml_find(rgm_yaml_root(config), "model"), "type")->text);
    CHECK_INT(5, look.epochs);
    rgm_run_look_clear(&look);
    rgm_yaml_release(config);
    CHECK_EVERY_OOM(rgm_run_look_load_config(&look, &config, path, 1),
                    (rgm_run_look_clear(&look), rgm_yaml_release(config)));
    snprintf(at, sizeof at, "%s/config.yaml", path);
    CHECK_OK(rgm_file_save(at, "a: [\n", 5));
    CHECK_OK(rgm_run_look_load_config(&look, &config, path, 1));
    CHECK_INT(RGM_RUN_DAMAGED, look.state);
    CHECK(config == NULL);
    rgm_run_look_clear(&look);
    CHECK_OK(rgm_folder_remove(path));
}

static void keep_result(const char *path, const char *text)
{
    char at[300];

    snprintf(at, sizeof at, "%s/result.json", path);
    CHECK_OK(rgm_file_save(at, text, (int64_t)strlen(text)));
}

static rgm_run_look look_at(const char *path, int64_t epochs)
{
    rgm_run_look look;

    CHECK_OK(rgm_run_look_load(&look, path, epochs));
    return look;
}

#define RESULT(state, step)                                                                        \
    "{\"state\":\"" state "\",\"reason\":\"it broke\",\"step\":" #step                             \
    ",\"epoch\":3,\"seconds\":7.5,\"best\":{\"metric\":\"valid.loss\",\"value\":0.5,"              \
    "\"step\":30,\"epoch\":3},\"warnings\":{\"count\":2,\"first\":[\"a\",\"b\"]}}"

/* Of checkpoint and result.json the one of the later step counts: the first is seldom, the second
 * may be older than a checkpoint that was saved right before a kill. */
static void the_best_and_the_end_are_known_between_and_without_checkpoints(void **state)
{
    const char *path = check_folder();
    char at[300];
    rgm_run_look look;

    (void)state;
    make_run(path, "model: {type: gcn}\n");
    keep_result(path, RESULT("finished", 10)); /* the checkpoint is of step 20 */
    look = look_at(path, 5);
    CHECK_TEXT("valid.accuracy", look.best_metric);
    CHECK_INT(RGM_RUN_STOPPED, look.state);
    CHECK_CLOSE(look.seconds, 7.5, 0, 0);
    CHECK_INT(2, look.warnings);
    rgm_run_look_clear(&look);
    keep_result(path, RESULT("running", 25));
    look = look_at(path, 5);
    CHECK_TEXT("valid.loss", look.best_metric);
    CHECK(look.best_value == 0.5 && look.best_step == 30);
    CHECK_INT(RGM_RUN_STOPPED, look.state);
    rgm_run_look_clear(&look);
    CHECK_EVERY_OOM(rgm_run_look_load(&look, path, 5), rgm_run_look_clear(&look));
    snprintf(at, sizeof at, "%s/ckpt", path);
    CHECK_OK(rgm_folder_remove(at));
    keep_result(path, RESULT("finished", 30));
    look = look_at(path, 5);
    CHECK_TEXT("valid.loss", look.best_metric);
    CHECK_INT(RGM_RUN_FINISHED, look.state);
    rgm_run_look_clear(&look);
    keep_result(path, RESULT("failed", 30));
    look = look_at(path, 5);
    CHECK_INT(RGM_RUN_FAILED, look.state);
    CHECK_TEXT("failed", rgm_run_state_names[look.state]);
    CHECK_TEXT("it broke", look.failure);
    CHECK(look.reason == NULL);
    rgm_run_look_clear(&look);
    CHECK_OK(rgm_folder_remove(path));
}

/* result.json counts the epoch under way, here the last one: its run has not reached its length. */
static void a_run_that_ended_inside_its_last_epoch_is_not_finished(void **state)
{
    const char *path = check_folder();
    char at[300];

    (void)state;
    make_run(path, "model: {type: gcn}\n");
    for (int saved = 1; saved >= 0; saved--) {
        static const char *const results[] = {RESULT("failed", 35), RESULT("stopped", 35),
                                              RESULT("running", 35), RESULT("finished", 35)};
        static const rgm_run_state states[] = {RGM_RUN_FAILED, RGM_RUN_STOPPED, RGM_RUN_STOPPED,
                                               RGM_RUN_FINISHED};

        for (int i = 0; i < 4; i++) {
            rgm_run_look look;

            keep_result(path, results[i]);
            look = look_at(path, 3);
            CHECK_INT(states[i], look.state);
            CHECK_INT(3, look.epoch);
            rgm_run_look_clear(&look);
        }
        snprintf(at, sizeof at, "%s/ckpt", path);
        if (saved)
            CHECK_OK(rgm_folder_remove(at));
    }
    CHECK_OK(rgm_folder_remove(path));
}

static void a_result_that_is_none_is_passed_over(void **state)
{
    static const char *const texts[] = {"", "{", "[]", "{\"step\":1e99,\"best\":5}",
                                        "{\"step\":40,\"best\":{\"metric\":\"a.b\",\"step\":-1}}"};
    const char *path = check_folder();
    rgm_run_look look;

    (void)state;
    make_run(path, "model: {type: gcn}\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        keep_result(path, texts[i]);
        look = look_at(path, 5);
        CHECK_INT(RGM_RUN_STOPPED, look.state);
        CHECK_TEXT("valid.accuracy", look.best_metric);
        CHECK(look.best_value == 0.75 && look.best_step == 10 && look.reason == NULL);
        CHECK(isnan(look.seconds) && look.warnings == -1);
        rgm_run_look_clear(&look);
    }
    CHECK_OK(rgm_folder_remove(path));
}

static void a_log_alone_tells_that_a_run_is_finished(void **state)
{
    const char *path = check_folder();
    char at[300];
    rgm_run_look look;

    (void)state;
    make_run(path, "model: {type: gcn}\n");
    snprintf(at, sizeof at, "%s/ckpt", path);
    CHECK_OK(rgm_folder_remove(at));
    look = look_at(path, 3);
    CHECK_INT(RGM_RUN_FINISHED, look.state);
    rgm_run_look_clear(&look);
    look = look_at(path, 4);
    CHECK_INT(RGM_RUN_STOPPED, look.state);
    rgm_run_look_clear(&look);
    CHECK_OK(rgm_folder_remove(path));
}

static void the_state_of_a_run(void **state)
{
    const char *path = check_folder();
    rgm_run_folder *run;
    rgm_run_look look;

    (void)state;
    make_run(path, "model: {type: gcn}\n");
    CHECK_OK(rgm_run_look_load(&look, path, 2)); /* an unset value is the default */
    CHECK_INT(RGM_RUN_FINISHED, look.state);
    CHECK(look.description == NULL);
    rgm_run_look_clear(&look);
    CHECK_OK(
        rgm_run_look_load(&look, path, 3)); /* by the checkpoint, from which the run can continue */
    CHECK_INT(RGM_RUN_STOPPED, look.state);
    rgm_run_look_clear(&look);
    CHECK_OK(rgm_run_folder_open(&run, path, NULL));
    CHECK_OK(rgm_run_look_load(&look, path, 2));
    CHECK_INT(RGM_RUN_RUNNING, look.state);
    CHECK_TEXT("running", rgm_run_state_names[look.state]);
    rgm_run_look_clear(&look);
    rgm_run_folder_close(run);
    CHECK_OK(rgm_folder_remove(path));
}

static void what_cannot_be_read_is_damaged_and_the_rest_is_told(void **state)
{
    const char *path = check_folder();
    char at[300];
    rgm_run_look look;

    (void)state;
    make_run(path, "model: {type: gcn}\n");
    snprintf(at, sizeof at, "%s/config.yaml", path);
    CHECK_OK(rgm_file_save(at, "trainer: {epochs: x}\n", 21));
    CHECK_OK(rgm_run_look_load(&look, path, 1));
    CHECK_INT(RGM_RUN_DAMAGED, look.state);
    CHECK(strstr(look.reason, "config.yaml:1:19: ") != NULL);
    CHECK(look.model == NULL && look.epochs == -1);
    CHECK_INT(30, look.step);
    CHECK(look.best_step == 10);
    rgm_run_look_clear(&look);
    CHECK_OK(rgm_folder_remove(path));
    CHECK_OK(rgm_run_look_load(&look, path, 1)); /* nothing there at all */
    CHECK_INT(RGM_RUN_STOPPED, look.state);
    CHECK(look.step == 0 && look.modified == -1 && look.best_metric == NULL);
    rgm_run_look_clear(&look);
}

/* ---- curves -------------------------------------------------------------------------------- */

static void curves_have_every_point(void **state)
{
    const char *path = check_folder();
    rgm_run_curves run;

    (void)state;
    make_run(path, NULL);
    CHECK_OK(rgm_run_curves_load(&run, path));
    CHECK_TEXT(strrchr(path, '/') + 1, run.name);
    CHECK_INT(3, run.count);
    CHECK_TEXT("train", run.curves[0].split);
    CHECK_INT(3, run.curves[0].count);
    CHECK_INT(30, run.curves[0].points[2].step);
    CHECK_TEXT("valid", run.curves[2].split);
    CHECK_TEXT("accuracy", run.curves[2].metric);
    CHECK_INT(2, run.curves[2].count);
    CHECK(run.curves[2].points[1].value == 0.5);
    rgm_run_curves_clear(&run);
    CHECK_EVERY_OOM(rgm_run_curves_load(&run, path), rgm_run_curves_clear(&run));
    CHECK_OK(rgm_folder_remove(path));
}

static void a_folder_without_measurements_has_no_curves(void **state)
{
    const char *path = check_folder();
    char at[300];
    rgm_run_curves run;

    (void)state;
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_run_curves_load(&run, "/nowhere/at/all"));
    CHECK_MESSAGE("there is no run folder '/nowhere/at/all'");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_run_curves_load(&run, path));
    CHECK_MESSAGE("it is not a run folder");
    snprintf(at, sizeof at, "%s/metrics.jsonl", path);
    CHECK_OK(rgm_file_save(at, "", 0));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_run_curves_load(&run, path));
    CHECK_MESSAGE("its first epoch is not over");
    CHECK_OK(rgm_folder_remove(path));
}

TESTS(cmocka_unit_test(a_look_tells_what_is_known),
      cmocka_unit_test(a_look_hands_over_the_configuration_that_it_parsed),
      cmocka_unit_test(the_best_and_the_end_are_known_between_and_without_checkpoints),
      cmocka_unit_test(a_run_that_ended_inside_its_last_epoch_is_not_finished),
      cmocka_unit_test(a_result_that_is_none_is_passed_over),
      cmocka_unit_test(a_log_alone_tells_that_a_run_is_finished),
      cmocka_unit_test(the_state_of_a_run),
      cmocka_unit_test(what_cannot_be_read_is_damaged_and_the_rest_is_told),
      cmocka_unit_test(curves_have_every_point),
      cmocka_unit_test(a_folder_without_measurements_has_no_curves))
