/*
 * Runs on a device whose memory is not the host's: the folder has the bytes that a run on the CPU
 * leaves, and a device that is lost stops the run, which then goes on from its last checkpoint.
 */
#include "far_device_check.h"

#include "controller_check.h"

/* Everything that looks at weights: histograms, norms, averages, best weights, early saves. */
static rgm_run_options all_options(const char *run_dir, rgm_device *device)
{
    rgm_run_options options = RGM_RUN_OPTIONS_INIT;

    options.optimizer = rgm_adam(0.05);
    options.optimizer.average = (rgm_average){.decay = 0.5, .dynamic = true};
    options.trainer.train_steps = 12;
    options.trainer.steps_per_loop = 3;
    options.trainer.validation_interval = 3;
    options.trainer.histograms = options.trainer.norms = true;
    options.trainer.checkpoint.every_steps = 3;
    options.trainer.checkpoint.every_seconds = 0;
    options.trainer.checkpoint.averages = 2;
    options.trainer.checkpoint.best.save = true;
    options.trainer.restore_best_weights = RGM_RESTORE_TRUE;
    options.trainer.device = device;
    options.runtime.threads = 1;
    options.run_dir = run_dir;
    return options;
}

static rgm_status run_to_end(rgm_run_options options, plane *p)
{
    rgm_task task = plane_task(p);
    rgm_open_run *run;
    rgm_status status;

    CHECK_OK(rgm_run_open(&run, &task, &options));
    status = rgm_run_complete(run);
    if (status == RGM_OK)
        CHECK_INT(12, rgm_run_steps(run));
    rgm_run_close(run);
    return status;
}

static void check_same_run(const char *a, const char *b)
{
    static const char *const files[] = {
        "metrics.jsonl", "tables.jsonl", "ckpt/step-00000012/weights.safetensors",
        "ckpt/step-00000012/slots.safetensors", "ckpt/step-00000012/best.safetensors"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[300];

        snprintf(path, sizeof path, "%s/%s", a, files[i]);
        if (rgm_path_exists(path))
            check_same_file(a, b, files[i]);
        else
            CHECK(strstr(files[i], "tables") != NULL);
    }
}

static void a_run_leaves_the_bytes_of_the_cpu(void **state)
{
    char root[128], here[160], there[160];
    plane p = make_plane(false);

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(here, sizeof here, "%s/here", root);
    snprintf(there, sizeof there, "%s/there", root);
    CHECK_OK(run_to_end(all_options(here, NULL), &p));
    CHECK_OK(run_to_end(all_options(there, far.device), &p));
    check_same_run(here, there);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

/* Lose the device once so many questions were asked. */
static bool lose_later(void *payload)
{
    int *left = payload;

    if (--*left == 0)
        far.lost = true;
    return false;
}

static void lose_run(const char *folder, plane *p, int after, const char *log)
{
    rgm_run_options options = all_options(folder, far.device);

    options.hooks = (rgm_controller_hooks){.should_stop = lose_later, .payload = &after};
    CHECK_STATUS(RGM_STOPPED, run_to_end(options, p));
    CHECK(rgm_device_is_lost(far.device));
    CHECK(file_says(folder, "log.txt", log));
    far_close();
    far_open();
}

/* Lost before the first checkpoint, behind it, and then again; the run ends on another device. */
static void a_lost_device_stops_the_run_which_then_goes_on(void **state)
{
    char root[128], whole[160], lost[160];
    plane p = make_plane(false);

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(whole, sizeof whole, "%s/whole", root);
    snprintf(lost, sizeof lost, "%s/lost", root);
    CHECK_OK(run_to_end(all_options(whole, NULL), &p));
    lose_run(lost, &p, 2, "the device is lost before anything was saved");
    lose_run(lost, &p, 6, "the device is lost, and with it the steps after 3: ");
    lose_run(lost, &p, 5, "the device far is lost");
    CHECK_OK(run_to_end(all_options(lost, NULL), &p));
    check_same_run(whole, lost);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

/* The evaluation behind the four of the training. */
static rgm_status lose_at_the_end(rgm_trainer *trainer, rgm_mode mode, void *payload)
{
    int *evaluations = payload;

    (void)trainer, (void)mode;
    far.lost = far.lost || ++*evaluations == 5;
    return RGM_OK;
}

static void a_device_that_is_lost_behind_the_last_step_stops_the_run_too(void **state)
{
    char root[128], whole[160], lost[160];
    int evaluations = 0;
    rgm_trainer_hooks hooks = {.eval_begin = lose_at_the_end, .payload = &evaluations};
    plane p = make_plane(false);
    rgm_run_options options;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(whole, sizeof whole, "%s/whole", root);
    snprintf(lost, sizeof lost, "%s/lost", root);
    CHECK_OK(run_to_end(all_options(whole, NULL), &p));
    options = all_options(lost, far.device);
    options.trainer_hooks = &hooks;
    CHECK_STATUS(RGM_STOPPED, run_to_end(options, &p));
    CHECK(file_says(lost, "log.txt", "the device is lost, and with it the steps after 12: "));
    far_close();
    far_open();
    CHECK_OK(run_to_end(all_options(lost, NULL), &p));
    check_same_run(whole, lost);
    clear_plane(&p);
    CHECK_OK(rgm_folder_remove(root));
}

/* Without a folder there is nothing to go on from, and a run that evaluates has nothing to save. */
static void elsewhere_a_lost_device_is_an_error(void **state)
{
    plane p = make_plane(false);
    rgm_run_options options = all_options(NULL, far.device);
    int after = 2;

    (void)state;
    options.trainer.checkpoint.best.save = false;
    options.trainer.checkpoint.averages = 0;
    options.trainer.histograms = false;
    options.hooks = (rgm_controller_hooks){.should_stop = lose_later, .payload = &after};
    CHECK_STATUS(RGM_ERR_IO, run_to_end(options, &p));
    CHECK_MESSAGE("the device far is lost");
    far.lost = false;
    clear_plane(&p);
}

static rgm_status compare(const rgm_prediction *p, void *payload)
{
    rgm_tensor **all = payload;

    if (*all == NULL)
        return rgm_tensor_copy(all, p->values);
    CHECK(rgm_tensor_equal(*all, p->values));
    return RGM_END;
}

static void predictions_are_those_of_the_cpu(void **state)
{
    plane p[2] = {make_plane(false), make_plane(false)};
    rgm_tensor *values = NULL;

    (void)state;
    for (int i = 0; i < 2; i++) {
        rgm_run_options options = all_options(NULL, i == 0 ? NULL : far.device);
        rgm_task task = plane_task(&p[i]);
        rgm_open_run *run;
        rgm_status status;

        options.trainer.checkpoint.best.save = options.trainer.histograms = false;
        options.trainer.checkpoint.averages = 0;
        CHECK_OK(rgm_run_open(&run, &task, &options));
        CHECK_OK(rgm_run_train(run, 6));
        p[i].batch = 12;
        status = rgm_run_predict(run, RGM_VALID, 0, compare, &values);
        CHECK(status == RGM_OK || status == RGM_END);
        rgm_run_close(run);
    }
    rgm_tensor_release(values);
    for (int i = 0; i < 2; i++)
        clear_plane(&p[i]);
}

TESTS(FAR(a_run_leaves_the_bytes_of_the_cpu), FAR(a_lost_device_stops_the_run_which_then_goes_on),
      FAR(a_device_that_is_lost_behind_the_last_step_stops_the_run_too),
      FAR(elsewhere_a_lost_device_is_an_error), FAR(predictions_are_those_of_the_cpu))
