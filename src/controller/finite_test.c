/*
 * Weights and validations that are not finite are detected where they arise, are reported, and are
 * never saved, chosen or exported.
 */
#include "controller_check.h"

typedef struct counts {
    int recovered, saved;
} counts;

static void count_events(const rgm_event *event, void *payload)
{
    counts *c = payload;

    c->recovered += event->kind == RGM_EVENT_RECOVER;
    c->saved += event->kind == RGM_EVENT_SAVE;
}

static rgm_status open_counted(rgm_controller **out, plane_setup *s, rgm_trainer *trainer,
                               const char *run, counts *counted)
{
    rgm_controller_hooks hooks = {.event = count_events, .payload = counted};
    rgm_controller_setup setup = {
        .trainer = trainer, .options = &s->options, .run_dir = run, .hooks = &hooks};

    *counted = (counts){0};
    return rgm_controller_create(out, &setup);
}

/* The rate is fine for four updates and then far too large. At most the checkpoint of step 3 is
 * written, and a step that can no longer be skipped is rolled back to it. */
static void an_update_that_overflows_is_never_saved(void **state)
{
    int64_t boundaries[] = {3};
    double rates[] = {0.1, 1e39};
    char root[128];

    (void)state;
    for (int policy = RGM_RECOVER_STOP; policy <= RGM_RECOVER_ROLLBACK; policy++) {
        plane_setup s = make_plane_setup();
        rgm_checkpoint_store_options look = {.keep = 1, .read_only = true};
        rgm_checkpoint_store *store;
        rgm_controller *controller;
        rgm_trainer *trainer;
        int64_t *steps, count;
        counts counted;
        char path[200];

        snprintf(root, sizeof root, "%s", check_fast_folder());
        s.optimizer.learning_rate = rgm_schedule_default(rgm_schedule_find("stepwise"), 0.1);
        s.optimizer.learning_rate.boundaries = (rgm_ints){boundaries, 1};
        s.optimizer.learning_rate.values = (rgm_floats){rates, 2};
        s.options.steps_per_loop = 3;
        s.options.checkpoint.every_steps = 3;
        s.options.recovery.policy = (rgm_recovery_policy)policy;
        s.options.recovery.max_tries = 2;
        CHECK_OK(open_plane(&trainer, &s));
        CHECK_OK(open_counted(&controller, &s, trainer, root, &counted));
        CHECK_STATUS(RGM_ERR_NUMERIC, rgm_controller_train(controller, 9));
        CHECK_MESSAGE("step 5: the update of 'logits/");
        CHECK_INT(policy == RGM_RECOVER_STOP ? 0 : 2, counted.recovered);
        CHECK_INT(1, counted.saved);
        CHECK_STATUS(RGM_ERR_NUMERIC, rgm_controller_save(controller));
        CHECK_MESSAGE("it is not saved");
        rgm_controller_release(controller);
        rgm_trainer_release(trainer);
        snprintf(path, sizeof path, "%s/ckpt", root);
        CHECK_OK(rgm_checkpoint_store_open(&store, path, &look));
        CHECK_OK(rgm_checkpoint_steps(&steps, &count, store));
        CHECK_INT(1, count);
        CHECK_INT(3, steps[0]);
        rgm_free(steps);
        rgm_checkpoint_store_close(store);
        CHECK_OK(rgm_folder_remove(root));
        clear_plane(&s.data);
    }
}

/* Without a checkpoint a rollback goes to the start, from where a smaller rate could continue. */
static void weights_that_were_spoiled_come_back_whole(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_controller *controller;
    rgm_trainer *trainer, *fresh;
    const rgm_logs *logs;

    (void)state;
    s.optimizer = rgm_sgd(1e39, 0.9);
    s.options.recovery.policy = RGM_RECOVER_SKIP;
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane(&fresh, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, NULL));
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_trainer_train(trainer, 1, &logs));
    CHECK(rgm_trainer_is_spoiled(trainer));
    rgm_error_reset();
    CHECK_OK(rgm_trainer_reset(trainer));
    check_same_weights("rolled back", fresh, trainer);
    CHECK(!rgm_trainer_is_spoiled(trainer));
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    rgm_trainer_release(fresh);
    clear_plane(&s.data);
}

/* ---- steps of one's own ---------------------------------------------------------------------- */

/* Sets a weight to infinity without the optimizer, so only the save can detect it. */
static rgm_status own_step(rgm_step *step, void *state)
{
    (void)state;
    RGM_TRY(rgm_trainer_default_train_step(step));
    rgm_tensor_f32(rgm_parameters_tensor(rgm_trainer_parameters(step->trainer), 1))[0] = INFINITY;
    return RGM_OK;
}

static rgm_status refuse(const rgm_open_run *run, const char *folder, void *payload)
{
    (void)run;
    (void)folder;
    ++*(int *)payload;
    return RGM_OK;
}

static void what_a_step_of_ones_own_spoils_is_not_kept_either(void **state)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = RGM_RUN_OPTIONS_INIT;
    char root[128], folder[200];
    int exported = 0;
    rgm_exporter exporter = {.name = "none", .save = refuse, .payload = &exported};
    rgm_open_run *run;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(folder, sizeof folder, "%s/out", root);
    task.train_step = own_step;
    options.exporters = &exporter;
    options.exporter_count = 1;
    options.run_dir = root;
    options.trainer.train_steps = 4;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_run_complete(run));
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_run_export(run, folder));
    CHECK_MESSAGE("weight 'logits/kernel' has a NaN or infinity");
    CHECK_MESSAGE("it is not exported");
    CHECK_INT(0, exported);
    rgm_run_close(run);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- validations ----------------------------------------------------------------------------- */

/* The score of each validation in turn; the best is the second to last, although infinity is
 * larger. */
static const double scores[] = {INFINITY, NAN, 1, NAN, 3, 2};

static rgm_status add_score(rgm_logs *logs, rgm_trainer *trainer, rgm_mode mode, void *payload)
{
    (void)trainer;
    (void)mode;
    return rgm_logs_set(logs, "score", scores[(*(int *)payload)++]);
}

static void a_validation_that_is_no_number_is_told_and_never_best(void **state)
{
    plane_setup s = make_plane_setup();
    plane own = s.data;
    rgm_task task = plane_task(&own);
    int seen = 0;
    rgm_trainer_hooks hooks = {.eval_end = add_score, .payload = &seen};
    rgm_trainer_setup made = {.task = &task,
                              .options = &s.options,
                              .runtime = &s.runtime,
                              .optimizer = &s.optimizer,
                              .endless = true,
                              .hooks = &hooks};
    rgm_controller *controller;
    rgm_trainer *trainer;
    const rgm_logs *logs;
    char root[128];

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    s.options.checkpoint.best.metric = "valid.score";
    s.options.checkpoint.best.mode = RGM_BEST_MAX;
    CHECK_OK(rgm_trainer_create(&trainer, &made));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, root));
    CHECK_OK(rgm_controller_train_and_evaluate(controller, 12, RGM_TO_END, 2, &logs));
    CHECK_INT(6, seen);
    CHECK_INT(10, rgm_controller_best_step(controller));
    CHECK(rgm_controller_best_value(controller) == 3);
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    CHECK(file_says(root, "log.txt", "valid.score is inf at step 2: it counts as no improvement"));
    CHECK(!file_says(root, "log.txt", "at step 4")); /* still none: said once */
    CHECK(file_says(root, "log.txt", "valid.score is nan at step 8"));
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* One of twelve items has a loss that is NaN. */
static void a_loss_that_is_no_number_is_the_loss_of_its_pass(void **state)
{
    const char *root = check_fast_folder();

    (void)state;
    for (int64_t batch = 4; batch <= 12; batch += 8) {
        plane_setup s = make_plane_setup();
        rgm_controller *controller;
        rgm_trainer *trainer;
        const rgm_logs *logs;

        clear_plane(&s.data);
        s.data = make_plane(true);
        s.data.batch = batch;
        s.options.checkpoint.best.metric = "valid.loss";
        s.options.early_stopping.patience = 2;
        CHECK_OK(open_plane(&trainer, &s));
        CHECK_OK(open_plane_controller(&controller, &s, trainer, root));
        for (int pass = 0; pass < 2; pass++) {
            CHECK_OK(rgm_controller_evaluate(controller, RGM_VALID, RGM_TO_END, &logs));
            CHECK(rgm_logs_has(logs, "loss") && isnan(rgm_logs_get(logs, "loss")));
            CHECK_INT(-1, rgm_controller_best_step(controller));
            CHECK(rgm_controller_finished(controller) == (pass == 1));
        }
        rgm_controller_release(controller);
        rgm_trainer_release(trainer);
        CHECK(file_says(root, "log.txt", "valid.loss is nan at step 0: it counts as no improve"));
        clear_plane(&s.data);
        CHECK_OK(rgm_folder_remove(root));
    }
}

TESTS(cmocka_unit_test(an_update_that_overflows_is_never_saved),
      cmocka_unit_test(weights_that_were_spoiled_come_back_whole),
      cmocka_unit_test(what_a_step_of_ones_own_spoils_is_not_kept_either),
      cmocka_unit_test(a_validation_that_is_no_number_is_told_and_never_best),
      cmocka_unit_test(a_loss_that_is_no_number_is_the_loss_of_its_pass))
