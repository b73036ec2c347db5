/*
 * The trainer with a small task of its own: when it validates, saves and stops, what a continued
 * run leaves, and refusals.
 */
#include "controller_check.h"

/* Stops before step `at` of this process; counts calls and events. */
typedef struct counter {
    int64_t asked, stop_at, epochs, validated;
} counter;

static bool stop_at(void *payload)
{
    counter *c = payload;

    return c->stop_at >= 0 && c->asked++ == c->stop_at;
}

static rgm_status epoch_end(const rgm_epoch_logs *epoch, void *payload)
{
    counter *c = payload;

    c->epochs++;
    c->validated += epoch->validated;
    return RGM_OK;
}

/* A trainer with its controller. */
typedef struct run {
    rgm_trainer *trainer;
    rgm_controller *controller;
} run;

static void end(run *r)
{
    rgm_controller_release(r->controller);
    rgm_trainer_release(r->trainer);
    *r = (run){0};
}

static rgm_status start(run *r, plane *p, counter *c, const rgm_trainer_options *options,
                        const char *run_dir)
{
    rgm_task task = plane_task(p);
    rgm_optimizer_options adam = rgm_adam(0.05);
    rgm_runtime_options runtime = {.seed = 5, .threads = 2};
    rgm_controller_hooks hooks = {.payload = c, .should_stop = stop_at, .epoch_end = epoch_end};
    rgm_trainer_setup setup = {.task = &task,
                               .options = options,
                               .runtime = &runtime,
                               .optimizer = &adam,
                               .endless = options->steps_per_epoch > 0};
    rgm_controller_setup control = {
        .options = options, .run_dir = run_dir, .config = "test: 1\n", .hooks = &hooks};
    rgm_status status;

    *r = (run){0};
    RGM_TRY(rgm_trainer_create(&r->trainer, &setup));
    control.trainer = r->trainer;
    status = rgm_controller_create(&r->controller, &control);
    if (status != RGM_OK)
        end(r);
    return status;
}

static rgm_status fit(run *r)
{
    const rgm_logs *logs;

    return rgm_controller_run(r->controller, RGM_RUN_TRAIN_AND_EVAL, &logs);
}

static rgm_trainer_options four_epochs(void)
{
    rgm_trainer_options options;

    rgm_trainer_defaults(&options);
    options.epochs = 4;
    options.checkpoint.every_seconds = 0;
    return options;
}

/* One process: RGM_OK when it reached the end, RGM_STOPPED when it was asked to stop. */
static rgm_status live(plane *p, const rgm_trainer_options *options, const char *run_dir,
                       int64_t stop, counter *c)
{
    run r;
    rgm_status status;

    *c = (counter){.stop_at = stop};
    CHECK_OK(start(&r, p, c, options, run_dir));
    status = fit(&r);
    end(&r);
    return status;
}

static void check_same_run(const char *a, const char *b, int step)
{
    static const char *const files[] = {
        "weights.safetensors", "slots.safetensors", "best.safetensors", "data.bin", "sums.bin",
        "manifest.json"};
    char name[128];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(name, sizeof name, "ckpt/step-%08d/%s", step, files[i]);
        check_same_file(a, b, name);
    }
    check_same_file(a, b, "metrics.jsonl");
}

/* ---- tests --------------------------------------------------------------------------------- */

static void a_run_stopped_anywhere_and_continued_ends_with_the_same_bytes(void **state)
{
    char root[128], whole[160], parts[160];
    int64_t steps_per_epoch[] = {0, 5};
    plane p = make_plane(false);
    counter c;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    for (int form = 0; form < 2; form++) {
        rgm_trainer_options options = four_epochs();
        int last = form == 0 ? 12 : 20;

        options.steps_per_epoch = steps_per_epoch[form];
        snprintf(whole, sizeof whole, "%s/whole%d", root, form);
        CHECK_OK(live(&p, &options, whole, -1, &c));
        CHECK_INT(4, c.epochs);
        for (int64_t stop = 1; stop < last + 4; stop += 2) {
            int lives = 0;

            snprintf(parts, sizeof parts, "%s/parts%d-%d", root, form, (int)stop);
            while (live(&p, &options, parts, stop, &c) == RGM_STOPPED)
                CHECK(++lives < 40);
            check_same_run(whole, parts, last);
        }
    }
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

static void saving_often_changes_nothing_of_the_result(void **state)
{
    char root[128], rarely[160], often[160];
    rgm_trainer_options options = four_epochs();
    plane p = make_plane(false);
    counter c;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(rarely, sizeof rarely, "%s/rarely", root);
    snprintf(often, sizeof often, "%s/often", root);
    CHECK_OK(live(&p, &options, rarely, -1, &c));
    options.checkpoint.every_steps = 1;
    options.checkpoint.every_epochs = 1;
    CHECK_OK(live(&p, &options, often, -1, &c));
    check_same_run(rarely, often, 12);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

static void validation_comes_when_it_was_asked_for(void **state)
{
    rgm_trainer_options options = four_epochs();
    plane p = make_plane(false);
    run r;
    counter c = {.stop_at = -1};
    const rgm_epoch_logs *epochs;

    (void)state;
    options.validation_freq = 3;
    CHECK_OK(start(&r, &p, &c, &options, NULL));
    CHECK_OK(fit(&r));
    CHECK_INT(4, c.epochs);
    CHECK_INT(1, c.validated);
    CHECK_INT(4, rgm_controller_history(&epochs, r.controller));
    CHECK(!epochs[1].validated && epochs[2].validated);
    CHECK_INT(9, epochs[2].step);
    CHECK(rgm_logs_get(&epochs[2].valid, "accuracy") > 0);
    CHECK(isnan(rgm_logs_get(&epochs[2].valid, "no such")));
    CHECK_INT(9, rgm_controller_best_step(r.controller));
    end(&r);
    clear_plane(&p);
}

/* The way of a search or a program with its own loop: train k batches, validate, save, continue,
 * stop. */
static void a_trainer_can_be_driven_from_outside_in_units(void **state)
{
    rgm_trainer_options options = four_epochs();
    plane p = make_plane(false);
    run r;
    counter c = {.stop_at = -1};
    const rgm_logs *logs;

    (void)state;
    CHECK_OK(start(&r, &p, &c, &options, NULL));
    CHECK_OK(rgm_trainer_train(r.trainer, 2, &logs));
    CHECK_INT(2, rgm_trainer_global_step(r.trainer));
    CHECK(!rgm_trainer_at_end(r.trainer));
    CHECK_TEXT("loss", logs->items[0].name);
    CHECK(rgm_logs_has(logs, "learning_rate"));
    CHECK_OK(rgm_trainer_evaluate(r.trainer, RGM_VALID, RGM_TO_END, &logs));
    CHECK_INT(2, logs->count);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_trainer_evaluate(r.trainer, RGM_TEST, RGM_TO_END, &logs));
    CHECK_STATUS(RGM_ERR_ARG, rgm_trainer_evaluate(r.trainer, RGM_VALID, 0, &logs));
    CHECK_STATUS(RGM_ERR_ARG, rgm_trainer_evaluate(r.trainer, RGM_VALID, -2, &logs));
    CHECK_OK(rgm_trainer_train(r.trainer, 100, &logs)); /* a pass has 3 batches */
    CHECK_INT(3, rgm_trainer_global_step(r.trainer));
    CHECK(rgm_trainer_at_end(r.trainer));
    CHECK_INT(1, rgm_trainer_passes(r.trainer));
    CHECK_OK(rgm_trainer_train(r.trainer, RGM_TO_END, &logs));
    CHECK_INT(6, rgm_trainer_global_step(r.trainer));
    /* A state takes its next value once a training step, and in no other run. */
    CHECK_INT(6, rgm_tensor_at(rgm_parameters_find(rgm_trainer_parameters(r.trainer), "steps"), 0));
    end(&r);
    clear_plane(&p);
}

static void endless_data_are_evaluated_for_an_epoch(void **state)
{
    rgm_trainer_options options = four_epochs();
    plane p = make_plane(false);
    run r;
    counter c = {.stop_at = -1};
    const rgm_logs *logs;

    (void)state;
    options.steps_per_epoch = 7;
    CHECK_OK(start(&r, &p, &c, &options, NULL));
    CHECK_OK(fit(&r));
    CHECK_INT(28, rgm_trainer_global_step(r.trainer));
    CHECK_STATUS(RGM_ERR_ARG, rgm_trainer_evaluate(r.trainer, RGM_TRAIN, RGM_TO_END, &logs));
    CHECK_OK(rgm_trainer_evaluate(r.trainer, RGM_TRAIN, 7, &logs));
    CHECK(isfinite(rgm_logs_get(logs, "loss")));
    end(&r);
    clear_plane(&p);
}

static void training_learns(void **state)
{
    rgm_trainer_options options = four_epochs();
    plane p = make_plane(false);
    run r;
    counter c = {.stop_at = -1};
    const rgm_epoch_logs *epochs;
    int64_t count;

    (void)state;
    options.epochs = 60;
    CHECK_OK(start(&r, &p, &c, &options, NULL));
    CHECK_OK(fit(&r));
    count = rgm_controller_history(&epochs, r.controller);
    CHECK(rgm_logs_get(&epochs[count - 1].valid, "loss") <
          0.6 * rgm_logs_get(&epochs[0].valid, "loss"));
    end(&r);
    clear_plane(&p);
}

static void a_long_run_remembers_its_last_epochs(void **state)
{
    rgm_trainer_options options = four_epochs();
    plane p = make_plane(false);
    counter c = {.stop_at = -1};
    const rgm_epoch_logs *epochs;
    int64_t count;
    run r;

    (void)state;
    options.epochs = 2 * RGM_HISTORY_EPOCHS + 5;
    CHECK_OK(start(&r, &p, &c, &options, NULL));
    CHECK_OK(fit(&r));
    count = rgm_controller_history(&epochs, r.controller);
    CHECK_INT(RGM_HISTORY_EPOCHS + 5, count);
    for (int64_t i = 0; i < count; i++) {
        CHECK_INT(options.epochs - count + 1 + i, epochs[i].epoch);
        CHECK(isfinite(rgm_logs_get(&epochs[i].valid, "loss")));
    }
    end(&r);
    clear_plane(&p);
}

static void patience_ends_a_run_early(void **state)
{
    rgm_trainer_options options = four_epochs();
    plane p = make_plane(false);
    run r;
    counter c = {.stop_at = -1};

    (void)state;
    options.epochs = 1000;
    options.early_stopping.patience = 5;
    options.checkpoint.best.metric = "valid.accuracy";
    CHECK_OK(start(&r, &p, &c, &options, NULL));
    CHECK_OK(fit(&r));
    CHECK(rgm_controller_epochs(r.controller) < 1000);
    CHECK_INT(rgm_controller_epochs(r.controller) * 3 - 15, rgm_controller_best_step(r.controller));
    end(&r);
    clear_plane(&p);
}

static void a_loss_that_is_no_number_stops_before_anything_is_spoilt(void **state)
{
    char root[128], folder[160], last[200];
    rgm_trainer_options options = four_epochs();
    plane p = make_plane(true);
    counter c;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(folder, sizeof folder, "%s/run", root);
    options.checkpoint.every_steps = 1;
    CHECK_STATUS(RGM_ERR_NUMERIC, live(&p, &options, folder, -1, &c));
    CHECK_MESSAGE("step ");
    /* Every existing checkpoint has finite weights. */
    for (int step = 1; step <= 12; step++) {
        rgm_checkpoint *checkpoint;

        snprintf(last, sizeof last, "%s/ckpt/step-%08d", folder, step);
        if (!rgm_path_exists(last))
            continue;
        CHECK_OK(rgm_checkpoint_load(&checkpoint, last));
        for (int64_t i = 0; i < rgm_safetensors_count(rgm_checkpoint_weights(checkpoint)); i++) {
            const rgm_safetensors *file = rgm_checkpoint_weights(checkpoint);
            rgm_tensor *w;

            CHECK_OK(rgm_safetensors_get(&w, file, rgm_safetensors_name(file, i)));
            for (int64_t k = 0; k < rgm_tensor_count(w); k++)
                CHECK(isfinite(rgm_tensor_at(w, k)));
            rgm_tensor_release(w);
        }
        rgm_checkpoint_release(checkpoint);
    }
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

static void options_that_exclude_each_other_are_refused(void **state)
{
    plane p = make_plane(false);
    counter c = {.stop_at = -1};
    run r;
    rgm_trainer_options options = four_epochs();

    (void)state;
    options.validation_per_epoch = 2;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&r, &p, &c, &options, NULL));
    CHECK_MESSAGE("trainer.steps_per_epoch");
    options.steps_per_epoch = 4;
    options.validation_freq = 2;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&r, &p, &c, &options, NULL));
    CHECK_MESSAGE("trainer.validation_per_epoch already says when");
    options = four_epochs();
    options.checkpoint.best.metric = "test.accuracy";
    CHECK_STATUS(RGM_ERR_CONFIG, start(&r, &p, &c, &options, NULL));
    CHECK_MESSAGE("valid.accuracy");
    p.blind = true;
    options = four_epochs();
    options.restore_best_weights = RGM_RESTORE_TRUE;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&r, &p, &c, &options, NULL));
    CHECK_MESSAGE("no validation data");
    options = four_epochs();
    options.checkpoint.best.metric = "valid.accuracy";
    CHECK_STATUS(RGM_ERR_CONFIG, start(&r, &p, &c, &options, NULL));
    CHECK_MESSAGE("trainer.checkpoint.best.metric is set but there are no validation data");
    options = four_epochs();
    options.checkpoint.best.keep = 2;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&r, &p, &c, &options, NULL));
    CHECK_MESSAGE("trainer.checkpoint.best.keep is set but");
    options = four_epochs();
    options.checkpoint.keep = -1; /* a file could not express it either */
    CHECK_STATUS(RGM_ERR_CONFIG, start(&r, &p, &c, &options, NULL));
    CHECK_MESSAGE("trainer.checkpoint.keep is -1, but must be");
    clear_plane(&p);
}

static void a_run_folder_has_one_trainer_at_a_time(void **state)
{
    char root[128], folder[160];
    plane p = make_plane(false), q = make_plane(false);
    counter c = {.stop_at = -1};
    run first, second;
    rgm_trainer_options options = four_epochs();

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(folder, sizeof folder, "%s/run", root);
    CHECK_OK(start(&first, &p, &c, &options, folder));
    CHECK_STATUS(RGM_ERR_BUSY, start(&second, &q, &c, &options, folder));
    end(&first);
    CHECK_OK(start(&first, &p, &c, &options, folder));
    end(&first);
    clear_plane(&p);
    clear_plane(&q);
    CHECK_OK(rgm_folder_remove(root));
}

static void creation_survives_every_failing_allocation(void **state)
{
    plane p = make_plane(false);
    counter c = {.stop_at = -1};
    run r;
    rgm_trainer_options options = four_epochs();

    (void)state;
    CHECK_OK(start(&r, &p, &c, &options, NULL)); /* work that is done once is done here */
    end(&r);
    CHECK_EVERY_OOM(start(&r, &p, &c, &options, NULL), end(&r));
    clear_plane(&p);
}

TESTS(cmocka_unit_test(a_run_stopped_anywhere_and_continued_ends_with_the_same_bytes),
      cmocka_unit_test(saving_often_changes_nothing_of_the_result),
      cmocka_unit_test(validation_comes_when_it_was_asked_for),
      cmocka_unit_test(a_trainer_can_be_driven_from_outside_in_units),
      cmocka_unit_test(endless_data_are_evaluated_for_an_epoch), cmocka_unit_test(training_learns),
      cmocka_unit_test(a_long_run_remembers_its_last_epochs),
      cmocka_unit_test(patience_ends_a_run_early),
      cmocka_unit_test(a_loss_that_is_no_number_stops_before_anything_is_spoilt),
      cmocka_unit_test(options_that_exclude_each_other_are_refused),
      cmocka_unit_test(a_run_folder_has_one_trainer_at_a_time),
      cmocka_unit_test(creation_survives_every_failing_allocation))
