/*
 * Several sets to validate and test on in one run: each has its own numbers under its own name, any
 * of them may choose the best weights and stop the run, and texts of a pass are reported.
 */
#include "controller_internal.h"
#include "controller_check.h"

/* Two validation sets and a test set beside the plane's own data; set i has the first 4 (i + 1)
 * items. */
static const char *set_names[3] = {"few", "more", "held_out"};

static void plane_sets(rgm_eval_set *out, int64_t *count, void *state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        out[i] = (rgm_eval_set){set_names[i], i < 2 ? RGM_VALID : RGM_TEST};
    *count = 3;
}

static rgm_status plane_set(rgm_dataset **out, void *state, int64_t set)
{
    RGM_TRY(plane_inputs(out, state, RGM_VALID, false));
    return rgm_dataset_take(out, set + 1);
}

static rgm_status own_and_test(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    return plane_inputs(out, state, mode == RGM_TEST ? RGM_VALID : mode, endless);
}

typedef struct sets_run {
    plane_setup setup;
    plane plane;
    rgm_task task;
    rgm_open_run *run;
} sets_run;

static rgm_status open_sets_run(sets_run *r, const char *folder)
{
    rgm_run_options options = RGM_RUN_OPTIONS_INIT;

    r->plane = r->setup.data;
    r->task = plane_task(&r->plane);
    r->task.build_inputs = own_and_test;
    r->task.eval_sets = plane_sets;
    r->task.build_eval_inputs = plane_set;
    options.trainer = r->setup.options;
    options.runtime = r->setup.runtime;
    options.optimizer = r->setup.optimizer;
    options.run_dir = folder;
    return rgm_run_open(&r->run, &r->task, &options);
}

static sets_run make_run(void)
{
    sets_run r = {.setup = make_plane_setup()};

    r.setup.options.train_steps = 0;
    r.setup.options.epochs = 3;
    r.setup.data.dropout = 0;
    return r;
}

/* The same items and weights, whichever way they are evaluated. */
static double loss_of(rgm_trainer *trainer, int64_t steps)
{
    const rgm_logs *logs;

    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, steps, &logs));
    return rgm_logs_get(logs, "loss");
}

static void each_set_has_its_own_numbers(void **state)
{
    sets_run r = make_run();
    const char *folder = check_folder();
    rgm_trainer *trainer;
    const rgm_eval_set *sets;
    char path[300], *log;
    int64_t size;

    (void)state;
    CHECK_OK(open_sets_run(&r, folder));
    trainer = rgm_run_trainer(r.run);
    CHECK_INT(3, rgm_trainer_eval_sets(&sets, trainer));
    CHECK_TEXT("valid_more", rgm_trainer_eval_set_name(trainer, 1));
    CHECK_OK(rgm_run_complete(r.run));
    CHECK_CLOSE(loss_of(trainer, 1), rgm_run_metric(r.run, "valid_few", "loss"), 1e-12, 0);
    CHECK_CLOSE(loss_of(trainer, 2), rgm_run_metric(r.run, "valid_more", "loss"), 1e-12, 0);
    CHECK_CLOSE(loss_of(trainer, 3), rgm_run_metric(r.run, "valid", "loss"), 1e-12, 0);
    CHECK_CLOSE(loss_of(trainer, 3), rgm_run_metric(r.run, "test_held_out", "loss"), 1e-12, 0);
    CHECK(rgm_run_metric(r.run, "valid_few", "loss") != rgm_run_metric(r.run, "valid", "loss"));
    CHECK(isnan(rgm_run_metric(r.run, "valid_none", "loss")));
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    CHECK_OK(rgm_file_load(&log, &size, path, 1 << 20));
    CHECK(strstr(log, "\"split\":\"valid_few\",\"step\":9") != NULL);
    CHECK(strstr(log, "\"split\":\"valid_more\",\"step\":9") != NULL);
    CHECK(strstr(log, "\"split\":\"test_held_out\",\"step\":9") != NULL);
    rgm_free(log);
    snprintf(path, sizeof path, "%s/validation_few", folder);
    CHECK(rgm_path_is_folder(path));
    rgm_run_close(r.run);
    clear_plane(&r.setup.data);
    CHECK_OK(rgm_folder_remove(folder));
}

static void any_of_them_may_choose_the_best_weights(void **state)
{
    sets_run r = make_run();
    const char *folder = check_folder();
    char path[300], *info;
    int64_t size;

    (void)state;
    r.setup.options.checkpoint.best.metric = "valid_few.loss";
    r.setup.options.checkpoint.best.save = true;
    r.setup.options.early_stopping.metric = "valid_more.accuracy";
    r.setup.options.early_stopping.patience = 3;
    CHECK_OK(open_sets_run(&r, folder));
    CHECK_OK(rgm_run_complete(r.run));
    CHECK_TEXT("valid_few.loss", rgm_controller_best_metric(rgm_run_controller(r.run)));
    CHECK_CLOSE(rgm_run_metric(r.run, "valid_few", "loss"),
                rgm_controller_best_value(rgm_run_controller(r.run)), 1e-12, 0);
    snprintf(path, sizeof path, "%s/best/info.json", folder);
    CHECK_OK(rgm_file_load(&info, &size, path, 1 << 20));
    CHECK(strstr(info, "\"valid_few.loss\": ") != NULL && strstr(info, "    \"loss\": ") != NULL);
    rgm_free(info);
    rgm_run_close(r.run);
    clear_plane(&r.setup.data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Three validations with constant weights: the second and the third are no better. */
static void any_of_them_may_reduce_the_rate(void **state)
{
    const char *metrics[] = {"valid_few.loss", "valid.loss"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        sets_run r = make_run();

        r.setup.optimizer = rgm_sgd(1e-30, 0);
        r.setup.options.reduce_on_plateau.metric = metrics[i];
        r.setup.options.reduce_on_plateau.patience = 2;
        CHECK_OK(open_sets_run(&r, NULL));
        CHECK_TEXT(metrics[i], rgm_run_controller(r.run)->plateau_name);
        CHECK_OK(rgm_run_complete(r.run));
        CHECK_CLOSE(rgm_run_metric(r.run, i ? "valid" : "valid_few", "loss"),
                    rgm_run_controller(r.run)->plateau_value, 1e-12, 0);
        CHECK_CLOSE(1e-31, rgm_optimizer_rate(rgm_trainer_optimizer(rgm_run_trainer(r.run)), 9),
                    1e-12, 0);
        rgm_run_close(r.run);
        clear_plane(&r.setup.data);
    }
}

/* Validations of one batch over data of 3 batches, and over a set of 2: each cycles by itself, over
 * stops too. */
static void each_set_continues_where_it_stood(void **state)
{
    sets_run r = make_run();
    const char *folder = check_folder();
    double own[6], more[6];

    (void)state;
    r.setup.optimizer = rgm_sgd(1e-30, 0);
    r.setup.options.epochs = 1;
    r.setup.options.steps_per_loop = r.setup.options.validation_interval = 1;
    r.setup.options.validation_steps = 1;
    r.setup.options.validation_continues = true;
    for (int i = 0; i < 6; i++) {
        const rgm_logs *logs;

        r.setup.options.train_steps = i + 1;
        CHECK_OK(open_sets_run(&r, folder));
        CHECK_OK(rgm_controller_train_and_evaluate(rgm_run_controller(r.run), i + 1, 1, 1, &logs));
        own[i] = rgm_logs_get(logs, "loss");
        more[i] = rgm_logs_get(rgm_trainer_eval_set_logs(rgm_run_trainer(r.run), 1), "loss");
        rgm_run_close(r.run);
    }
    for (int i = 0; i < 6; i++) {
        CHECK(own[i] == own[i % 3] && more[i] == more[i % 2]);
        CHECK(own[i] != own[(i + 1) % 3] && more[i] != more[(i + 1) % 2]);
    }
    clear_plane(&r.setup.data);
    CHECK_OK(rgm_folder_remove(folder));
}

static void what_cannot_be_is_refused_before_the_first_step(void **state)
{
    sets_run r = make_run();
    const char *kept = set_names[1];

    (void)state;
    r.setup.options.checkpoint.best.metric = "valid_fewer.loss";
    CHECK_STATUS(RGM_ERR_CONFIG, open_sets_run(&r, NULL));
    CHECK_MESSAGE("'valid_fewer.loss' is not a validation metric of this task; there are: "
                  "valid.loss valid.accuracy valid_few.loss valid_few.accuracy valid_more.loss");
    r.setup.options.checkpoint.best.metric = "test_held_out.loss";
    CHECK_STATUS(RGM_ERR_CONFIG, open_sets_run(&r, NULL));
    r.setup.options.checkpoint.best.metric = NULL;
    set_names[1] = "a.b";
    CHECK_STATUS(RGM_ERR_CONFIG, open_sets_run(&r, NULL));
    CHECK_MESSAGE("the set 'a.b' of valid data: a name is letters, digits, '_' and '-'");
    set_names[1] = kept;
    r.setup.data.blind = true;
    CHECK_STATUS(RGM_ERR_CONFIG, open_sets_run(&r, NULL));
    CHECK_MESSAGE("valid_few stands beside valid data, but there are none");
    clear_plane(&r.setup.data);
}

static void logs_carry_texts(void **state)
{
    rgm_logs logs = {0}, all = {0};

    (void)state;
    CHECK_OK(rgm_logs_set_text(&logs, "pair_1", "one"));
    CHECK_OK(rgm_logs_set_text(&logs, "pair_1", "two"));
    CHECK_OK(rgm_logs_merge(&all, &logs));
    CHECK_INT(1, all.text_count);
    CHECK_TEXT("two", all.texts[0].text);
    CHECK_INT(0, all.count);
    rgm_logs_clear(&all);
    CHECK_INT(0, all.text_count);
    CHECK_EVERY_OOM(rgm_logs_merge(&all, &logs), rgm_logs_clear(&all));
    rgm_logs_clear(&logs);
}

TESTS(cmocka_unit_test(each_set_has_its_own_numbers),
      cmocka_unit_test(any_of_them_may_choose_the_best_weights),
      cmocka_unit_test(any_of_them_may_reduce_the_rate),
      cmocka_unit_test(each_set_continues_where_it_stood),
      cmocka_unit_test(what_cannot_be_is_refused_before_the_first_step),
      cmocka_unit_test(logs_carry_texts))
