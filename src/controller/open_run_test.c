/*
 * A run that is held open: driven in units it leaves the same bytes as a run that is completed in
 * one call, another run beside it changes nothing, it predicts and exports, and closing it frees
 * what it owns.
 */
#include "controller_check.h"

static rgm_run_options nine_steps(const char *run_dir, int64_t seed)
{
    rgm_run_options options = RGM_RUN_OPTIONS_INIT;

    options.optimizer = rgm_adam(0.05);
    options.trainer.train_steps = 9;
    options.trainer.steps_per_loop = 3;
    options.trainer.validation_interval = 3;
    options.runtime.seed = seed;
    options.runtime.threads = 2;
    options.run_dir = run_dir;
    return options;
}

static void run_alone(const char *run_dir, int64_t seed)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = nine_steps(run_dir, seed);
    rgm_open_run *run;

    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_OK(rgm_run_complete(run));
    CHECK_INT(9, rgm_run_steps(run));
    CHECK(isfinite(rgm_run_metric(run, "valid", "loss")));
    CHECK(isnan(rgm_run_metric(run, "test", "loss")));
    rgm_run_close(run);
    clear_plane(&p);
}

static void two_runs_in_units_leave_what_each_would_alone(void **state)
{
    static const char *const files[] = {"metrics.jsonl", "ckpt/step-00000009/weights.safetensors",
                                        "ckpt/step-00000009/slots.safetensors"};
    char root[128], alone[2][160], turns[2][160];
    plane p[2] = {make_plane(false), make_plane(false)};
    rgm_open_run *runs[2];

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    for (int r = 0; r < 2; r++) {
        rgm_task task = plane_task(&p[r]);
        rgm_run_options options;

        snprintf(alone[r], sizeof alone[r], "%s/alone-%d", root, r);
        snprintf(turns[r], sizeof turns[r], "%s/turns-%d", root, r);
        run_alone(alone[r], r + 5);
        options = nine_steps(turns[r], r + 5);
        CHECK_OK(rgm_run_open(&runs[r], &task, &options));
    }
    for (int64_t step = 3; step <= 9; step += 3)
        for (int r = 0; r < 2; r++) {
            const rgm_logs *logs;

            CHECK_OK(rgm_run_train(runs[r], step));
            CHECK_INT(step, rgm_run_steps(runs[r]));
            CHECK_OK(rgm_run_evaluate(runs[r], RGM_VALID, RGM_TO_END, &logs));
            CHECK(rgm_logs_has(logs, "accuracy"));
            CHECK_OK(rgm_run_save(runs[r]));
        }
    for (int r = 0; r < 2; r++) {
        rgm_run_close(runs[r]);
        for (int f = 0; f < 3; f++)
            check_same_file(alone[r], turns[r], files[f]);
        clear_plane(&p[r]);
    }
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- what can be asked --------------------------------------------------------------------- */

typedef struct seen {
    int64_t batches, items, most;
} seen;

static rgm_status count_batch(const rgm_prediction *p, void *payload)
{
    seen *s = payload;

    CHECK(p->batch != NULL && p->feed_count == 2);
    CHECK_INT(2, rgm_tensor_dim(p->values, 1));
    s->items += rgm_tensor_dim(p->values, 0);
    return ++s->batches == s->most ? RGM_END : RGM_OK;
}

static void an_open_run_predicts_and_exports(void **state)
{
    char root[128], to[160];
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options;
    rgm_export_check check;
    rgm_open_run *run;
    seen all = {0}, some = {.most = 2};
    rgm_predictor *asked;
    rgm_question_form form;
    rgm_answers answers;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(to, sizeof to, "%s/a/b", root);
    options = nine_steps(NULL, 1);
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_OK(rgm_run_train(run, 6));
    CHECK_INT(6, rgm_run_steps(run));
    CHECK_OK(rgm_run_predict(run, RGM_VALID, 0, count_batch, &all));
    CHECK_INT(ITEMS, all.items);
    CHECK_OK(rgm_run_predict(run, RGM_VALID, 0, count_batch, &some));
    CHECK_INT(2, some.batches);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_run_predict(run, RGM_TEST, 0, count_batch, &all));
    CHECK_STATUS(RGM_ERR_ARG, rgm_run_predict(run, RGM_VALID, 1, count_batch, &all));
    CHECK_OK(rgm_run_predictor(&asked, run));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_predictor_run_files(asked, &(rgm_new_data){.files = "x*"},
                                                              0, count_batch, &all));
    CHECK_MESSAGE("reads no files");
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_predictor_form(&form, asked));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_predictor_ask(&answers, asked, &(rgm_questions){0}));
    rgm_predictor_release(asked);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_run_export(run, NULL)); /* there is no run folder */
    CHECK_OK(rgm_run_export(run, to));
    CHECK_INT(1, rgm_run_export_count(run));
    CHECK_TEXT(to, rgm_run_export_dir(run, 0));
    CHECK(rgm_run_export_dir(run, 1) == NULL);
    CHECK_OK(rgm_run_verify_onnx(&check, run, to, RGM_VALID, 9));
    CHECK_INT(ITEMS, check.items);
    rgm_run_close(run);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

/* The last byte of a file is another one. */
static void damage(const char *path)
{
    char *data;
    int64_t size;

    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    data[size - 1] ^= 1;
    CHECK_OK(rgm_file_save(path, data, size));
    rgm_free(data);
}

static float first_weight(const rgm_open_run *run)
{
    return rgm_tensor_f32(rgm_parameters_read(rgm_trainer_parameters(rgm_run_trainer(run)), 0))[0];
}

/* The first weight that a whole run ends with. */
static float train_whole(const rgm_task *task, const rgm_run_options *options)
{
    rgm_open_run *run;
    float weight;

    CHECK_OK(rgm_run_open(&run, task, options));
    CHECK_OK(rgm_run_complete(run));
    weight = first_weight(run);
    rgm_run_close(run);
    return weight;
}

/* Slots are two thirds of what an Adam's run keeps: who only asks neither holds nor reads them. */
static void a_run_that_is_only_asked_does_without_slots(void **state)
{
    char root[128], slots[200];
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options;
    rgm_open_run *run;
    float weight;

    (void)state;
    snprintf(root, sizeof root, "%s/run", check_fast_folder());
    snprintf(slots, sizeof slots, "%s/ckpt/step-00000009/slots.safetensors", root);
    options = nine_steps(root, 1);
    weight = train_whole(&task, &options);
    damage(slots);
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_run_open(&run, &task, &options)); /* who trains needs them */
    options.read_only = true;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_INT(9, rgm_run_steps(run));
    CHECK(rgm_trainer_optimizer(rgm_run_trainer(run)) == NULL);
    CHECK(first_weight(run) == weight);
    CHECK_STATUS(RGM_ERR_ARG, rgm_run_train(run, 10));
    CHECK_MESSAGE("is only asked");
    rgm_run_close(run);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

static void averages_are_read_by_a_run_that_is_only_asked(void **state)
{
    char root[128];
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options;
    rgm_open_run *run;
    float average;

    (void)state;
    snprintf(root, sizeof root, "%s/run", check_fast_folder());
    options = nine_steps(root, 1);
    options.optimizer.average.decay = 0.5;
    options.trainer.restore_best_weights = RGM_RESTORE_FALSE;
    average = train_whole(&task, &options); /* which ends by placing the averages */
    options.read_only = true;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK(rgm_trainer_optimizer(rgm_run_trainer(run)) != NULL);
    CHECK(first_weight(run) == average);
    rgm_run_close(run);
    options.optimizer.average.decay = 0; /* the weights are not what the run would give */
    CHECK_STATUS(RGM_ERR_DATA, rgm_run_open(&run, &task, &options));
    CHECK_MESSAGE("has averages of the weights");
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

static void a_unit_longer_than_the_data_says_so(void **state)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = nine_steps(NULL, 1);
    rgm_open_run *run;

    (void)state;
    options.trainer.train_steps = 0; /* in epochs: a pass of 3 batches */
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_STATUS(RGM_END, rgm_run_train(run, 20));
    CHECK_INT(3, rgm_run_steps(run));
    rgm_run_close(run);
    clear_plane(&p);
}

/* ---- who decides what is kept ---------------------------------------------------------------- */

static bool stop_at_once(void *payload)
{
    (void)payload;
    return true;
}

static bool has_checkpoint(const char *run_dir, int64_t step)
{
    char path[256];

    snprintf(path, sizeof path, "%s/ckpt/step-%08lld", run_dir, (long long)step);
    return rgm_path_exists(path);
}

static void a_run_that_saves_on_request_saves_nothing_else(void **state)
{
    char root[128];
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options;
    rgm_open_run *run;
    const rgm_logs *logs;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    options = nine_steps(root, 1);
    options.saves_on_request = true;
    options.trainer.checkpoint.every_steps = 3;
    options.trainer.checkpoint.best.keep = 2;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_OK(rgm_run_train(run, 6));
    CHECK_INT(12, rgm_trainer_items(rgm_run_trainer(run), RGM_TRAIN)); /* 3 steps of 4, as loops */
    CHECK_INT(0, rgm_trainer_items(rgm_run_trainer(run), RGM_VALID));
    CHECK_OK(rgm_run_evaluate(run, RGM_VALID, RGM_TO_END, &logs));
    CHECK_INT(ITEMS, rgm_trainer_items(rgm_run_trainer(run), RGM_VALID));
    CHECK(!has_checkpoint(root, 3) && !has_checkpoint(root, 6));
    CHECK_OK(rgm_run_save(run));
    CHECK(has_checkpoint(root, 6));
    rgm_run_close(run);
    options.hooks.should_stop = stop_at_once;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_INT(6, rgm_run_steps(run));
    CHECK_STATUS(RGM_STOPPED, rgm_run_train(run, 9));
    rgm_run_close(run);
    CHECK(!has_checkpoint(root, 9));
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

static rgm_status count_save(const rgm_open_run *run, const char *folder, void *payload)
{
    (void)run;
    (void)folder;
    ++*(int64_t *)payload;
    return RGM_OK;
}

/* Its weights are others the second time. */
static void a_step_that_is_reached_again_is_exported_again(void **state)
{
    char root[128], path[200];
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    int64_t saves = 0;
    rgm_exporter counter = {.name = "counter", .save = count_save, .payload = &saves};
    rgm_run_options options;
    rgm_open_run *run;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(path, sizeof path, "%s/ckpt/step-00000003", root);
    options = nine_steps(root, 1);
    options.exporters = &counter;
    options.exporter_count = 1;
    options.trainer.exports.every_steps = 6;
    options.trainer.checkpoint.every_steps = 3;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_OK(rgm_run_train(run, 6));
    CHECK_INT(2, saves); /* in its own folder, and beside it */
    CHECK_OK(rgm_controller_restore(rgm_run_controller(run), path));
    CHECK_OK(rgm_run_train(run, 6));
    CHECK_INT(4, saves);
    rgm_run_close(run);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- warm start ------------------------------------------------------------------------------ */

/* Another seed starts from the checkpoint of step 6: its weights and moments, from step 0. */
static void a_warm_start_takes_weights_and_optimizer_alone(void **state)
{
    char root[128], path[160];
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options;
    rgm_open_run *old, *run;
    rgm_checkpoint *checkpoint;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(path, sizeof path, "%s/ckpt/step-00000006", root);
    options = nine_steps(root, 1);
    CHECK_OK(rgm_run_open(&old, &task, &options));
    CHECK_OK(rgm_run_train(old, 6));
    options = nine_steps(NULL, 2);
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_OK(rgm_checkpoint_load(&checkpoint, path));
    CHECK_OK(rgm_trainer_warm_start(rgm_run_trainer(run), checkpoint));
    CHECK_INT(0, rgm_run_steps(run));
    CHECK_INT(6, rgm_trainer_updates(rgm_run_trainer(run)));
    check_same_weights("warm start", rgm_run_trainer(old), rgm_run_trainer(run));
    for (int64_t i = 0; i < rgm_optimizer_slot_count(rgm_trainer_optimizer(rgm_run_trainer(run)));
         i++)
        check_same_tensor(
            "warm start", "slot",
            rgm_optimizer_slot(rgm_trainer_optimizer(rgm_run_trainer(old)), i).tensor,
            rgm_optimizer_slot(rgm_trainer_optimizer(rgm_run_trainer(run)), i).tensor);
    CHECK_OK(rgm_run_train(run, 3));
    CHECK_STATUS(RGM_ERR_ARG, rgm_trainer_warm_start(rgm_run_trainer(run), checkpoint));
    rgm_run_close(run);
    options.optimizer = rgm_sgd(0.1, 0.9);
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK(rgm_trainer_warm_start(rgm_run_trainer(run), checkpoint) < 0);
    CHECK_MESSAGE("slot");
    rgm_run_close(run);
    rgm_run_close(old);
    rgm_checkpoint_release(checkpoint);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- ownership ----------------------------------------------------------------------------- */

static int released;

static void count_release(rgm_task *task)
{
    released++;
    *task = (rgm_task){0};
}

static const rgm_task_type plane_type = {.name = "plane", .release = count_release};
static const rgm_task_type other_type = {.name = "flight", .release = count_release};

static void a_task_that_is_given_away_is_released_once(void **state)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = nine_steps(NULL, 1);
    rgm_open_run *run;
    void *found;

    (void)state;
    task.type = &plane_type;
    CHECK_OK(rgm_task_state(&found, &task, &plane_type));
    CHECK(found == &p);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_task_state(&found, &task, &other_type));
    CHECK_MESSAGE("task 'plane' is no flight");
    CHECK(found == NULL);

    released = 0;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    rgm_run_close(run);
    CHECK_INT(0, released); /* it was borrowed */
    options.releases_task = true;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_INT(0, released);
    rgm_run_close(run);
    CHECK_INT(1, released);
    options.trainer.steps_per_loop = 0;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_run_open(&run, &task, &options));
    CHECK(run == NULL);
    CHECK_INT(2, released);
    rgm_run_close(NULL);
    clear_plane(&p);
}

static void opening_survives_every_failing_allocation(void **state)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = nine_steps(NULL, 1);
    rgm_open_run *run = NULL;

    (void)state;
    CHECK_EVERY_OOM(rgm_run_open(&run, &task, &options), rgm_run_close(run));
    clear_plane(&p);
}

TESTS(cmocka_unit_test(two_runs_in_units_leave_what_each_would_alone),
      cmocka_unit_test(an_open_run_predicts_and_exports),
      cmocka_unit_test(a_run_that_is_only_asked_does_without_slots),
      cmocka_unit_test(averages_are_read_by_a_run_that_is_only_asked),
      cmocka_unit_test(a_unit_longer_than_the_data_says_so),
      cmocka_unit_test(a_run_that_saves_on_request_saves_nothing_else),
      cmocka_unit_test(a_step_that_is_reached_again_is_exported_again),
      cmocka_unit_test(a_warm_start_takes_weights_and_optimizer_alone),
      cmocka_unit_test(a_task_that_is_given_away_is_released_once),
      cmocka_unit_test(opening_survives_every_failing_allocation))
