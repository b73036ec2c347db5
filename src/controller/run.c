/*
 * A run: check the options, create trainer and controller, let them work, export. The loop is not
 * here.
 */
#include <math.h>
#include <string.h>

#include "run_internal.h"

rgm_run_options rgm_run_options_default(void)
{
    rgm_run_options options = {.mode = RGM_RUN_TRAIN_AND_EVAL};

    options.optimizer = rgm_adam(1e-3);
    rgm_trainer_defaults(&options.trainer);
    rgm_runtime_defaults(&options.runtime);
    return options;
}

int rgm_runtime_threads(const rgm_runtime_options *runtime)
{
    return runtime->threads > 0 ? (int)runtime->threads : rgm_processors();
}

/* ---- opening and closing ------------------------------------------------------------------- */

static bool is_only_asked(const rgm_run_options *o)
{
    return o->read_only || o->mode == RGM_RUN_EVAL || o->mode == RGM_RUN_CONTINUOUS_EVAL;
}

/* Whether the training data repeat; who only looks at a run in steps makes one pass. */
static bool repeats_data(const rgm_run_options *o)
{
    return o->trainer.steps_per_epoch > 0 || (o->trainer.train_steps > 0 && !is_only_asked(o));
}

static rgm_status open_trainer(rgm_open_run *run)
{
    const rgm_run_options *o = &run->options;
    rgm_trainer_setup setup = {
        .task = &run->task,
        .options = &o->trainer,
        .runtime = &o->runtime,
        .optimizer = &o->optimizer,
        .hooks = o->trainer_hooks,
        .comm = o->comm,
        .endless = repeats_data(o),
        .only_asked = is_only_asked(o),
        .maker = run->service != NULL ? rgm_service_maker(run->service) : NULL,
    };

    memcpy(setup.no_data, o->no_data, sizeof setup.no_data);
    return rgm_trainer_create(&run->trainer, &setup);
}

/* Open the controller, restored or initialized. */
static rgm_status open_controller(rgm_open_run *run)
{
    const rgm_run_options *o = &run->options;
    rgm_controller_setup setup = {
        .trainer = run->trainer,
        .options = &o->trainer,
        .run_dir = o->run_dir,
        .config = o->config,
        .sources = o->sources,
        .resume_keys = o->resume_keys,
        .hparams = o->hparams,
        .hparam_count = o->hparam_count,
        .read_only = is_only_asked(o),
        .saves_on_request = o->saves_on_request,
        .hooks = &o->hooks,
        .train_actions = o->train_actions,
        .train_action_count = o->train_action_count,
        .eval_actions = o->eval_actions,
        .eval_action_count = o->eval_action_count,
    };

    return rgm_controller_create(&run->controller, &setup);
}

/* Build the trainer and check the data; nothing is written yet, so there is no log of the run. */
static rgm_status open_and_check(rgm_open_run *run)
{
    RGM_TRY(rgmi_run_open_device(run));
    RGM_TRY(rgmi_run_service_open(run));
    RGM_TRY(open_trainer(run));
    return rgmi_run_check(run);
}

/* What was said before the run had a log. */
static void tell_notes(const rgm_open_run *run)
{
    rgm_logger *log = rgm_controller_logger(run->controller);

    if (run->controller->folder == NULL)
        return;
    if (run->options.notes != NULL)
        rgm_log_notes_tell(run->options.notes, log);
    rgm_log_notes_tell(&run->notes, log);
}

static int ranks(const rgm_open_run *run)
{
    return run->options.comm != NULL ? rgm_comm_size(run->options.comm) : 1;
}

/* Others must not wait for a rank that cannot go on. */
static rgm_status tell_ranks(const rgm_open_run *run, rgm_status status)
{
    return status < 0 && run->options.comm != NULL ? rgm_comm_fail(run->options.comm, status)
                                                   : status;
}

static rgm_status open_parts(rgm_open_run *run)
{
    rgm_run_options *o = &run->options;

    if (o->exporter_count > 0 && o->run_dir == NULL && o->export_dirs == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "exporters need run_dir or export_dirs");
    RGM_TRY(rgm_run_check_single(&o->trainer, &o->runtime));
    if (ranks(run) > 1 && is_only_asked(o))
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%d ranks: a run that does not train is one process's work", ranks(run));
    o->runtime.threads = rgm_runtime_threads(&o->runtime);
    rgm_threads_set((int)o->runtime.threads);
    RGM_TRY(rgm_log_notes_begin(&run->notes));
    RGM_TRY(rgm_log_notes_end(&run->notes, open_and_check(run)));
    RGM_TRY(open_controller(run));
    run->controller->result.describe = rgmi_run_describe_result;
    run->controller->result.payload = run;
    tell_notes(run);
    RGM_TRY(rgmi_run_service_report(run));
    RGM_TRY(rgmi_run_exports_open(run));
    RGM_TRY(rgmi_run_remark(run));
    return o->read_only ? rgm_controller_place_final_weights(run->controller) : RGM_OK;
}

rgm_status rgm_run_open(rgm_open_run **out, const rgm_task *task, const rgm_run_options *options)
{
    rgm_status status;
    rgm_open_run *run;
    rgm_task copy = *task;

    *out = NULL;
    status = RGM_NEW(run, 1);
    if (status != RGM_OK) {
        if (options->releases_task)
            rgm_task_release(&copy);
        return status;
    }
    run->task = copy;
    run->options = *options;
    status = tell_ranks(run, open_parts(run));
    if (status == RGM_OK)
        *out = run;
    else
        rgm_run_close(run);
    return status;
}

void rgm_run_close(rgm_open_run *run)
{
    if (run == NULL)
        return;
    for (int k = 0; k < RGM_MAX_HEADS; k++)
        rgm_executor_release(run->predictors[k]);
    rgm_controller_release(run->controller);
    rgm_trainer_release(run->trainer);
    rgm_service_close(run->service);
    for (int mode = 0; mode < 3; mode++)
        rgm_logs_clear(&run->metrics[mode]);
    for (int i = 0; i < RGM_MAX_EVAL_SETS; i++)
        rgm_logs_clear(&run->set_metrics[i]);
    rgm_names_release(run->exports, run->export_count);
    rgm_log_notes_clear(&run->notes);
    rgm_text_clear(&run->plan);
    rgm_text_clear(&run->identity);
    if (run->options.releases_task)
        rgm_task_release(&run->task);
    rgm_device_release(run->device);
    rgm_free(run);
}

/* ---- work ---------------------------------------------------------------------------------- */

/* Keep the numbers of the last pass over each set of a mode. */
static rgm_status take_set_metrics(rgm_open_run *run, rgm_mode mode)
{
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, run->trainer);

    for (int64_t i = 0; i < count; i++)
        if (sets[i].mode == mode)
            RGM_TRY(
                rgm_logs_merge(&run->set_metrics[i], rgm_trainer_eval_set_logs(run->trainer, i)));
    return RGM_OK;
}

static rgm_status final_sets(rgm_open_run *run, rgm_mode mode, int64_t steps)
{
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, run->trainer);
    const rgm_logs *logs;

    for (int64_t i = 0; i < count; i++)
        if (sets[i].mode == mode)
            RGM_TRY(rgm_trainer_evaluate_set(run->trainer, i, steps, &logs));
    return take_set_metrics(run, mode);
}

/* Test results exist nowhere else: keep them with the run. */
static rgm_status keep_tests(rgm_open_run *run)
{
    rgm_controller *c = run->controller;
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, run->trainer);

    if (run->kept_tests || !rgm_trainer_has_data(run->trainer, RGM_TEST))
        return RGM_OK;
    RGM_TRY(rgmi_tables_cut_tests(c));
    RGM_TRY(rgmi_keep_test(c, -1, &run->metrics[RGM_TEST]));
    for (int64_t i = 0; i < count; i++)
        if (sets[i].mode == RGM_TEST)
            RGM_TRY(rgmi_keep_test(c, i, &run->set_metrics[i]));
    run->kept_tests = true;
    return rgmi_logs_flush(c);
}

int64_t rgm_run_judged_steps(const rgm_open_run *run, rgm_mode mode)
{
    const rgm_trainer_options *o = &run->options.trainer;

    if (mode == RGM_TRAIN && rgm_trainer_pass_steps(run->trainer) == INT64_MAX)
        return o->steps_per_epoch;
    return mode == RGM_VALID ? o->validation_steps : RGM_TO_END;
}

static rgm_status final_metrics(rgm_open_run *run)
{
    for (int mode = 0; mode < 3; mode++) {
        int64_t steps;
        const rgm_logs *logs;

        if (!rgm_trainer_has_data(run->trainer, (rgm_mode)mode))
            continue;
        steps = rgm_run_judged_steps(run, (rgm_mode)mode);
        if (steps == 0) /* length in steps: a pass over endless data has no end */
            continue;
        RGM_TRY(rgm_trainer_evaluate(run->trainer, (rgm_mode)mode, steps, &logs));
        RGM_TRY(rgm_logs_merge(&run->metrics[mode], logs));
        RGM_TRY(final_sets(run, (rgm_mode)mode, steps));
    }
    return keep_tests(run);
}

/* Keep the numbers of the last evaluation; NULL: there was none. */
static rgm_status take_validation(rgm_open_run *run, const rgm_logs *logs)
{
    if (logs == NULL)
        return RGM_OK;
    RGM_TRY(rgm_logs_merge(&run->metrics[RGM_VALID], logs));
    return take_set_metrics(run, RGM_VALID);
}

static rgm_status complete(rgm_open_run *run)
{
    rgm_run_mode mode = run->options.mode;
    const rgm_logs *logs;

    RGM_TRY(rgmi_controller_run(run->controller, mode, &logs));
    if (mode == RGM_RUN_EVAL || mode == RGM_RUN_CONTINUOUS_EVAL)
        return take_validation(run, logs);
    if (mode != RGM_RUN_TRAIN) /* RGM_RUN_TRAIN leaves all validation to another process */
        RGM_TRY(final_metrics(run));
    return rgmi_rank(run->controller) == 0 ? rgmi_run_export_all(run) : RGM_OK;
}

rgm_status rgm_run_complete(rgm_open_run *run)
{
    rgm_logger *before = rgmi_enter(run->controller);
    /* the evaluations and exports behind the last step can lose a device or a rank, too */
    rgm_status status = rgmi_when_lost(run->controller, complete(run));

    status = rgmi_profile_finish(run->controller, tell_ranks(run, status));
    return rgmi_leave(before, rgmi_result_end(run->controller, status));
}

rgm_status rgm_run_train(rgm_open_run *run, int64_t steps)
{
    RGM_TRY(tell_ranks(run, rgm_controller_train(run->controller, steps)));
    return rgm_run_steps(run) >= steps ? RGM_OK : RGM_END;
}

rgm_status rgm_run_evaluate(rgm_open_run *run, rgm_mode mode, int64_t steps, const rgm_logs **logs)
{
    return tell_ranks(run, rgm_controller_evaluate(run->controller, mode, steps, logs));
}

rgm_status rgm_run_save(rgm_open_run *run)
{
    return tell_ranks(run, rgm_controller_save(run->controller));
}

/* ---- what can be asked --------------------------------------------------------------------- */

double rgm_run_metric(const rgm_open_run *run, const char *mode, const char *name)
{
    for (int m = 0; m < 3; m++)
        if (strcmp(rgm_mode_name((rgm_mode)m), mode) == 0)
            return rgm_logs_get(&run->metrics[m], name);
    for (int64_t i = 0; i < rgm_trainer_eval_sets(NULL, run->trainer); i++)
        if (strcmp(rgm_trainer_eval_set_name(run->trainer, i), mode) == 0)
            return rgm_logs_get(&run->set_metrics[i], name);
    return NAN;
}

const rgm_logs *rgm_run_set_metrics(const rgm_open_run *run, int64_t set)
{
    return &run->set_metrics[set];
}

const rgm_logs *rgm_run_metrics(const rgm_open_run *run, rgm_mode mode)
{
    return &run->metrics[mode];
}

int64_t rgm_run_history(const rgm_epoch_logs **records, const rgm_open_run *run)
{
    return rgm_controller_history(records, run->controller);
}

int64_t rgm_run_steps(const rgm_open_run *run)
{
    return rgm_trainer_global_step(run->trainer);
}

int64_t rgm_run_saved_step(const rgm_open_run *run)
{
    return run->controller->saved_step;
}

int64_t rgm_run_epochs(const rgm_open_run *run)
{
    return rgm_controller_epochs(run->controller);
}

int64_t rgm_run_best_step(const rgm_open_run *run)
{
    return rgm_controller_best_step(run->controller);
}

int64_t rgm_run_export_count(const rgm_open_run *run)
{
    return run->export_count;
}

const char *rgm_run_export_dir(const rgm_open_run *run, int64_t i)
{
    return i >= 0 && i < run->export_count ? run->exports[i] : NULL;
}

const rgm_task *rgm_run_task(const rgm_open_run *run)
{
    return &run->task;
}

rgm_trainer *rgm_run_trainer(const rgm_open_run *run)
{
    return run->trainer;
}

rgm_controller *rgm_run_controller(const rgm_open_run *run)
{
    return run->controller;
}

const rgm_task_model *rgm_run_model(const rgm_open_run *run)
{
    return rgm_trainer_model(run->trainer);
}
