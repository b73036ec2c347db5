/*
 * Every allocation of the training core fails in turn: the result is RGM_ERR_NOMEM, nothing leaks,
 * and the last checkpoint can be restored. Each run creates everything anew, so that memory kept
 * between calls counts too.
 */
#include "controller_internal.h"
#include "controller_check.h"

static rgm_status train_and_evaluate(plane_setup *s)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = NULL;
    const rgm_logs *logs;

    RGM_GO(open_plane(&trainer, s));
    RGM_GO(rgm_trainer_train(trainer, 2, &logs));
    RGM_GO(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
    RGM_GO(rgm_trainer_train(trainer, RGM_TO_END, &logs));
done:
    rgm_trainer_release(trainer);
    return status;
}

/* Run to the options' length in a run folder, continuing an existing run. */
static rgm_status live(plane_setup *s, const char *run)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = NULL;
    rgm_controller *controller = NULL;
    const rgm_logs *logs;

    RGM_GO(open_plane(&trainer, s));
    RGM_GO(open_plane_controller(&controller, s, trainer, run));
    RGM_GO(rgm_controller_run(controller, RGM_RUN_TRAIN_AND_EVAL, &logs));
done:
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    return status;
}

static plane_setup small_setup(void)
{
    plane_setup s = make_plane_setup();

    s.optimizer = rgm_adam(0.05);
    s.optimizer.average = (rgm_average){0.9, 0, true};
    s.options.train_steps = 3;
    s.options.steps_per_loop = 2;
    s.options.validation_interval = 2;
    s.options.checkpoint.every_steps = 2;
    s.options.checkpoint.best.keep = 1;
    s.options.checkpoint.best.save = true;
    return s;
}

static void training_and_evaluating_survive_every_failing_allocation(void **state)
{
    (void)state;
    for (int form = 0; form < 3; form++) {
        int64_t each = form == 0 ? 1 : 2;
        plane_setup s = small_setup();

        s.finite = true;
        s.options.accumulation_steps = each;
        s.runtime.loss_scale = each == 2 ? "dynamic" : NULL;
        s.runtime.shards = form == 2 ? 2 : 1;
        CHECK_OK(train_and_evaluate(&s)); /* one-time tables are made here */
        CHECK_EVERY_OOM(train_and_evaluate(&s), (void)0);
        clear_plane(&s.data);
    }
}

static void check_that_a_run_survives(bool asynchronous)
{
    /* Not data.bin: when prefetching has no memory for a position, it saves an older one and how
     * far it has moved on. */
    static const char *const files[] = {
        "ckpt/step-00000003/weights.safetensors", "ckpt/step-00000003/slots.safetensors",
        "ckpt/step-00000003/best.safetensors", "ckpt/step-00000003/sums.bin", "metrics.jsonl"};
    char root[128], whole[200], hurt[200];
    plane_setup s = small_setup();

    s.options.checkpoint.asynchronous = asynchronous;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(whole, sizeof whole, "%s/whole", root);
    snprintf(hurt, sizeof hurt, "%s/hurt", root);
    CHECK_OK(live(&s, whole));
    for (int64_t at = 0;; at += 1 + at / 8) { /* the parts are tested one by one below */
        int64_t before = rgm_memory_used();
        bool failed;
        rgm_status status;

        if (rgm_path_exists(hurt))
            CHECK_OK(rgm_folder_remove(hurt));
        rgm_memory_fail_at(at, false);
        status = live(&s, hurt);
        failed = rgm_memory_failures() > 0;
        rgm_memory_fail_at(-1, false);
        if (status != RGM_OK && status != RGM_ERR_NOMEM)
            fail_msg("allocation %lld failing gave %s: %s", (long long)at, rgm_status_name(status),
                     rgm_error_message());
        CHECK_INT(before, rgm_memory_used());
        if (!failed)
            break;
        CHECK_OK(live(&s, hurt));
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            check_same_file(whole, hurt, files[i]);
        CHECK_INT(before, rgm_memory_used());
    }
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

static void a_run_survives_every_failing_allocation_and_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    check_that_a_run_survives(false);
    check_that_a_run_survives(true);
}

static void saving_survives_every_failing_allocation(void **state)
{
    char root[128], run[200];
    plane_setup s = small_setup();
    rgm_trainer *trainer;
    rgm_controller *controller;
    int64_t before = rgm_memory_used();
    bool failed = true;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(run, sizeof run, "%s/run", root);
    CHECK_OK(live(&s, run)); /* so that there are best weights */
    s.options.train_steps = 4;
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, run));
    CHECK_OK(rgm_controller_train(controller, 4));
    for (int64_t at = 0; failed; at++) {
        rgm_status status;

        controller->changes++;
        rgm_memory_fail_at(at, false);
        status = rgm_controller_save(controller);
        failed = rgm_memory_failures() > 0;
        rgm_memory_fail_at(-1, false);
        if (status != RGM_ERR_NOMEM)
            CHECK_OK(status);
    }
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    CHECK_INT(before,
              rgm_memory_used()); /* all of them together: prefetching allocates at the same time */
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* Only restoring fails, each time in a new trainer. */
static void restoring_survives_every_failing_allocation(void **state)
{
    char root[128], run[200];
    plane_setup s = small_setup();
    bool failed = true;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(run, sizeof run, "%s/run", root);
    CHECK_OK(live(&s, run));
    for (int64_t at = 0; failed; at++) {
        int64_t before = rgm_memory_used();
        rgm_trainer *trainer;
        rgm_controller *controller;
        rgm_status status;

        CHECK_OK(open_plane(&trainer, &s));
        rgm_memory_fail_at(at, false);
        status = open_plane_controller(&controller, &s, trainer, run);
        failed = rgm_memory_failures() > 0;
        rgm_memory_fail_at(-1, false);
        if (status != RGM_ERR_NOMEM)
            CHECK_OK(status);
        if (status == RGM_OK)
            CHECK_INT(3, rgm_trainer_global_step(trainer));
        rgm_controller_release(controller);
        rgm_trainer_release(trainer);
        CHECK_INT(before, rgm_memory_used());
    }
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

static void refusing_a_metric_survives_every_failing_allocation(void **state)
{
    plane_setup s = small_setup();
    rgm_trainer *trainer;
    bool failed = true;

    (void)state;
    s.options.checkpoint.best.metric = "valid.a_metric_that_no_task_has";
    CHECK_OK(open_plane(&trainer, &s));
    for (int64_t at = 0; failed; at++) {
        int64_t before = rgm_memory_used();
        rgm_controller *controller;
        rgm_status status;

        rgm_memory_fail_at(at, false);
        status = open_plane_controller(&controller, &s, trainer, NULL);
        failed = rgm_memory_failures() > 0;
        rgm_memory_fail_at(-1, false);
        CHECK_INT(failed ? RGM_ERR_NOMEM : RGM_ERR_CONFIG, status);
        CHECK_INT(before, rgm_memory_used());
    }
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

TESTS(cmocka_unit_test(training_and_evaluating_survive_every_failing_allocation),
      cmocka_unit_test(a_run_survives_every_failing_allocation_and_goes_on_to_the_same_bytes),
      cmocka_unit_test(saving_survives_every_failing_allocation),
      cmocka_unit_test(restoring_survives_every_failing_allocation),
      cmocka_unit_test(refusing_a_metric_survives_every_failing_allocation))
