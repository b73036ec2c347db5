/*
 * The checks of a run before its first step: data of every part, exporters, schedule and intervals
 * against its length. Each refusal comes before anything is written.
 */
#include <stdio.h>

#include "controller_check.h"

static rgm_run_options nine_steps(void)
{
    rgm_run_options options = RGM_RUN_OPTIONS_INIT;

    options.trainer.train_steps = 9;
    options.trainer.steps_per_loop = 3;
    options.runtime.threads = 1;
    return options;
}

static char asked[64];
static rgm_mode wrong;

static rgm_status ask(void *state, rgm_mode mode)
{
    (void)state;
    snprintf(asked + strlen(asked), sizeof asked - strlen(asked), "%s ", rgm_mode_name(mode));
    return mode == wrong ? RGM_FAIL(RGM_ERR_DATA, "label 99") : RGM_OK;
}

static rgm_status save_nothing(const rgm_open_run *run, const char *export_dir, void *payload)
{
    (void)run;
    (void)export_dir;
    (void)payload;
    return RGM_OK;
}

static rgm_status refuse(const rgm_open_run *run, void *payload)
{
    CHECK(rgm_run_model(run)->head_count == 1);
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s has no form", (const char *)payload);
}

static void data_of_every_part_are_asked_before_the_first_step(void **state)
{
    char root[128], folder[160];
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = nine_steps();
    rgm_open_run *run;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(folder, sizeof folder, "%s/run", root);
    task.check_data = ask;
    options.run_dir = folder;
    asked[0] = '\0';
    wrong = RGM_VALID;
    CHECK_STATUS(RGM_ERR_DATA, rgm_run_open(&run, &task, &options));
    CHECK_MESSAGE("valid data: label 99");
    CHECK(run == NULL && !rgm_path_exists(folder));
    asked[0] = '\0';
    wrong = (rgm_mode)-1;
    options.run_dir = NULL;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_TEXT("train valid ", asked); /* there are no test data */
    rgm_run_close(run);
    asked[0] = '\0';
    options.read_only = true; /* nothing will be trained */
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_TEXT("", asked);
    rgm_run_close(run);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

static void exporters_are_asked_before_the_first_step(void **state)
{
    static const char *const folder = "/nowhere";
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = nine_steps();
    rgm_exporter exporters[3] = {
        rgm_onnx_exporter(),
        rgm_saved_model_exporter(),
        {.name = "mine", .save = save_nothing, .payload = "an op", .check = refuse}};
    const rgm_task_export several = {.file = "encoder.onnx"};
    rgm_open_run *run;

    (void)state;
    options.exporters = exporters;
    options.exporter_count = 2;
    options.export_dirs = &folder;
    options.export_dir_count = 1;
    CHECK_OK(rgm_run_open(&run, &task, &options)); /* a dry run writes nothing */
    CHECK_STATUS(RGM_ERR_IO, exporters[1].save(run, "/dev/null/no folder", NULL));
    rgm_run_close(run);
    task.exports = &several;
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_run_open(&run, &task, &options));
    CHECK_MESSAGE("exporter 'saved_model': export: the task 'plane' exports graphs that feed each "
                  "other");
    task.exports = NULL;
    options.exporter_count = 3;
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_run_open(&run, &task, &options));
    CHECK_MESSAGE("exporter 'mine': an op has no form");
    exporters[2].check = NULL;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    rgm_run_close(run);
    clear_plane(&p);
}

/* ---- against the length of the run --------------------------------------------------------- */

static void keep_warning(int level, const char *message, void *payload)
{
    rgm_text *text = payload;

    if (level == RGM_LOG_WARNING)
        (void)rgm_text_printf(text, "%s\n", message);
}

/* The warnings for a run with these options; "refused" with rgm_error_message(). */
static const char *warnings_of(const rgm_run_options *options)
{
    static char kept[512];
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_open_run *run;
    rgm_text text = {0};
    rgm_status status;

    CHECK_OK(rgm_logger_add_sink(NULL, keep_warning, &text));
    status = rgm_run_open(&run, &task, options);
    rgm_logger_remove_sink(NULL, keep_warning, &text);
    snprintf(kept, sizeof kept, "%s",
             status != RGM_OK ? "refused"
             : text.size > 0  ? text.data
                              : "");
    rgm_run_close(run);
    rgm_text_clear(&text);
    clear_plane(&p);
    return kept;
}

static void a_schedule_is_held_against_the_runs_length(void **state)
{
    rgm_run_options options = nine_steps();

    (void)state;
    CHECK_TEXT("", warnings_of(&options));
    options.optimizer.learning_rate = rgm_schedule_cosine(0.1, 0);
    CHECK_TEXT("", warnings_of(&options));
    options.optimizer.learning_rate.warmup.steps =
        9; /* of the nine steps that decay_steps becomes */
    CHECK_TEXT("refused", warnings_of(&options));
    CHECK_MESSAGE("warmup.steps is 9, but must be below the update at which the decay ends (9)");
    options.optimizer.learning_rate = rgm_schedule_cosine(0.1, 1000);
    CHECK(strstr(warnings_of(&options), "decays until update 1000, but the run has 9") != NULL);
    options.optimizer.learning_rate = rgm_schedule_constant(0);
    CHECK_TEXT("refused", warnings_of(&options));
    CHECK_MESSAGE("is 0 in each of the run's 9 updates");
    options.trainer.train_steps = 0; /* 2 epochs of 3 batches */
    options.trainer.epochs = 2;
    CHECK_TEXT("refused", warnings_of(&options));
    CHECK_MESSAGE("the run's 6 updates");
}

static void intervals_that_the_run_never_reaches_are_told(void **state)
{
    rgm_run_options options = nine_steps();

    (void)state;
    options.trainer.checkpoint.every_steps = 9;
    CHECK_TEXT("", warnings_of(&options));
    options.trainer.checkpoint.every_steps = 10;
    options.trainer.summary_interval = 12;
    CHECK_TEXT("trainer.summary_interval is 12, but the run has 9 steps; "
               "trainer.checkpoint.every_steps is 10, but the run has 9 steps\n",
               warnings_of(&options));
}

static void validations_that_are_waited_for_in_vain_are_told(void **state)
{
    char folder[128];
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = nine_steps();
    rgm_open_run *run;

    (void)state;
    options.trainer.train_steps = 0;
    options.trainer.epochs = options.trainer.validation_freq = 2;
    CHECK_TEXT("", warnings_of(&options));
    options.trainer.validation_freq = 3;
    CHECK_TEXT("trainer.validation_freq is 3, but the run has 2 epochs: it is never validated and "
               "ends with its last weights\n",
               warnings_of(&options));
    options = nine_steps();
    options.mode = RGM_RUN_TRAIN;
    CHECK_TEXT("", warnings_of(&options));
    options.trainer.early_stopping.patience = 1;
    CHECK(strstr(warnings_of(&options), "early_stopping and reduce_on_plateau do nothing") != NULL);

    snprintf(folder, sizeof folder, "%s/run", check_fast_folder());
    options = nine_steps();
    options.run_dir = folder;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_OK(rgm_run_complete(run));
    rgm_run_close(run);
    clear_plane(&p);
    options.mode = RGM_RUN_TRAIN;
    CHECK_TEXT("", warnings_of(&options)); /* nothing is trained */
    options.trainer.train_steps = 12;
    CHECK(strstr(warnings_of(&options), "ends with the weights of step 9, the best of its") !=
          NULL);
    options.trainer.restore_best_weights = RGM_RESTORE_FALSE;
    CHECK_TEXT("", warnings_of(&options));
    *strrchr(folder, '/') = '\0';
    CHECK_OK(rgm_folder_remove(folder));
}

static void asking_survives_every_failing_allocation(void **state)
{
    static const char *const folder = "/nowhere";
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = nine_steps();
    rgm_exporter exporters[] = {rgm_onnx_exporter(), rgm_saved_model_exporter()};
    rgm_open_run *run = NULL;

    (void)state;
    options.exporters = exporters;
    options.exporter_count = 2;
    options.export_dirs = &folder;
    options.export_dir_count = 1;
    options.trainer.checkpoint.every_steps = 10;
    CHECK_EVERY_OOM(rgm_run_open(&run, &task, &options), rgm_run_close(run));
    clear_plane(&p);
}

TESTS(cmocka_unit_test(data_of_every_part_are_asked_before_the_first_step),
      cmocka_unit_test(exporters_are_asked_before_the_first_step),
      cmocka_unit_test(a_schedule_is_held_against_the_runs_length),
      cmocka_unit_test(intervals_that_the_run_never_reaches_are_told),
      cmocka_unit_test(validations_that_are_waited_for_in_vain_are_told),
      cmocka_unit_test(asking_survives_every_failing_allocation))
