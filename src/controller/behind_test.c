/*
 * trainer.checkpoint.asynchronous: checkpoints that a thread writes are those of a run that waits
 * for each, all are told, and whatever goes wrong with one ends the run.
 */
#include "controller_internal.h"
#include "controller_check.h"

typedef struct witness {
    const char *folder;
    rgm_text saved; /* steps of the saves that were told */
    bool breaks;    /* the folder of checkpoints, once there is one */
} witness;

static void break_folder(const char *folder)
{
    char path[300];

    snprintf(path, sizeof path, "%s/ckpt", folder);
    CHECK_OK(rgm_folder_remove(path));
    CHECK_OK(rgm_file_save(path, "no folder", 9));
}

static void on_event(const rgm_event *event, void *payload)
{
    witness *w = payload;

    if (event->kind != RGM_EVENT_SAVE)
        return;
    CHECK_OK(rgm_text_printf(&w->saved, " %lld", (long long)event->step));
    if (w->breaks)
        break_folder(w->folder);
}

/* Epochs of three steps, a checkpoint every two, also those of the best validations. */
static plane_setup setup_of(bool asynchronous)
{
    plane_setup s = make_plane_setup();

    s.optimizer = rgm_adam(0.05);
    s.optimizer.average = (rgm_average){0.9, 0, true};
    s.options.train_steps = 12;
    s.options.steps_per_loop = 2;
    s.options.validation_interval = 3;
    s.options.checkpoint.every_seconds = 0;
    s.options.checkpoint.every_steps = 2;
    s.options.checkpoint.keep = 100;
    s.options.checkpoint.best.keep = 2;
    s.options.checkpoint.asynchronous = asynchronous;
    return s;
}

static rgm_status train(plane_setup *s, witness *w)
{
    rgm_controller_hooks hooks = {.event = on_event, .payload = w};
    rgm_controller_setup setup = {
        .options = &s->options, .run_dir = w->folder, .config = "test: 1\n", .hooks = &hooks};
    rgm_controller *controller = NULL;
    rgm_status status = RGM_OK;
    const rgm_logs *logs;

    RGM_GO(open_plane(&setup.trainer, s));
    RGM_GO(rgm_controller_create(&controller, &setup));
    RGM_GO(rgm_controller_run(controller, RGM_RUN_TRAIN_AND_EVAL, &logs));
done:
    rgm_controller_release(controller);
    rgm_trainer_release(setup.trainer);
    return status;
}

static void a_run_that_goes_on_meanwhile_has_the_same_checkpoints(void **state)
{
    static const char *const names[] = {"manifest.json", "weights.safetensors", "slots.safetensors",
                                        "best.safetensors"};
    char root[128], folders[2][200];
    witness seen[2] = {{.folder = folders[0]}, {.folder = folders[1]}};

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    for (int i = 0; i < 2; i++) {
        plane_setup s = setup_of(i == 1);

        snprintf(folders[i], sizeof folders[i], "%s/%d", root, i);
        CHECK_OK(train(&s, &seen[i]));
        clear_plane(&s.data);
    }
    /* Validations cut loops of two steps; the last two are the best, and save once more. */
    CHECK_TEXT(" 2 3 5 6 6 8 9 11 12 12", seen[0].saved.data);
    CHECK_TEXT(seen[0].saved.data, seen[1].saved.data);
    check_same_file(folders[0], folders[1], "metrics.jsonl");
    for (const char *step = seen[0].saved.data; step != NULL; step = strchr(step + 1, ' '))
        for (size_t k = 0; k < (step == seen[0].saved.data ? 3 : 4); k++) {
            char name[100]; /* the first has no best weights yet */

            snprintf(name, sizeof name, "ckpt/step-%08ld/%s", strtol(step, NULL, 10), names[k]);
            check_same_file(folders[0], folders[1], name);
        }
    for (int i = 0; i < 2; i++)
        rgm_text_clear(&seen[i].saved);
    CHECK_OK(rgm_folder_remove(root));
}

static void a_checkpoint_that_cannot_be_written_ends_the_run(void **state)
{
    plane_setup s = setup_of(true);
    witness seen = {.breaks = true};
    char root[128];

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    seen.folder = root;
    CHECK_STATUS(RGM_ERR_IO, train(&s, &seen));
    CHECK_MESSAGE("/ckpt'");
    CHECK_TEXT(" 2", seen.saved.data);
    rgm_text_clear(&seen.saved);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* What has no room for a copy is the caller's still, who writes it at once. */
static void without_memory_nothing_is_started(void **state)
{
    plane_setup s = setup_of(true);
    rgm_checkpoint *checkpoint;
    rgm_controller *controller;
    rgm_trainer *trainer;
    char root[128];
    bool started = false;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, root));
    CHECK_OK(rgm_controller_train(controller, 1));
    CHECK_OK(rgm_checkpoint_create(&checkpoint, 9));
    CHECK_OK(rgm_trainer_save_state(checkpoint, trainer));
    rgmi_enter(controller);
    for (int64_t at = 0; !started; at++) {
        rgm_memory_fail_at(at, false);
        started = rgmi_behind_start(controller, checkpoint);
        if (!started) {
            CHECK(rgm_memory_failures() > 0);
            CHECK(controller->behind == NULL);
        } else {
            CHECK(at > 0);
        }
        if (started) /* the write may have met the failure */
            (void)rgmi_behind_end(controller);
        rgm_memory_fail_at(-1, false);
    }
    CHECK(controller->behind == NULL);
    rgm_logger_enter(NULL);
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
    CHECK(file_says(root, "log.txt", "checkpoint 9 is written before the next step: "));
    CHECK_OK(rgm_folder_remove(root));
}

/* A rollback reads the newest checkpoint: one that is being written counts. */
static void a_rollback_waits_for_it(void **state)
{
    int64_t boundaries[] = {3};
    double rates[] = {0.1, 1e39};
    plane_setup s = setup_of(true);
    witness seen = {0};
    char root[128];

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    seen.folder = root;
    s.optimizer = rgm_sgd(0.1, 0);
    s.optimizer.learning_rate = rgm_schedule_default(rgm_schedule_find("stepwise"), 0.1);
    s.optimizer.learning_rate.boundaries = (rgm_ints){boundaries, 1};
    s.optimizer.learning_rate.values = (rgm_floats){rates, 2};
    s.options.validation_interval = 0;
    s.options.checkpoint.best.keep = 0;
    s.options.steps_per_loop = 3;
    s.options.checkpoint.every_steps = 3;
    s.options.recovery.policy = RGM_RECOVER_ROLLBACK;
    s.options.recovery.max_tries = 2;
    CHECK_STATUS(RGM_ERR_NUMERIC, train(&s, &seen));
    CHECK_TEXT(" 3", seen.saved.data);
    CHECK(file_says(root, "log.txt", "step 5: the update of 'logits/"));
    CHECK(file_says(root, "log.txt", "rolled back (2 of 2)"));
    rgm_text_clear(&seen.saved);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

TESTS(cmocka_unit_test(a_run_that_goes_on_meanwhile_has_the_same_checkpoints),
      cmocka_unit_test(a_checkpoint_that_cannot_be_written_ends_the_run),
      cmocka_unit_test(without_memory_nothing_is_started),
      cmocka_unit_test(a_rollback_waits_for_it))
