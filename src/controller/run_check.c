/*
 * Checks a run before its first step: its data must fit the model, its exporters must be able to
 * write it, and its options must have an effect in a run of its length. controller_check.c checks
 * options by themselves.
 */
#include <string.h>

#include <regimen/train_apart.h>

#include "run_internal.h"

static bool will_train(const rgm_open_run *run)
{
    return !run->options.read_only && rgm_trainer_has_data(run->trainer, RGM_TRAIN) &&
           run->options.mode != RGM_RUN_EVAL && run->options.mode != RGM_RUN_CONTINUOUS_EVAL;
}

static rgm_status check_data(const rgm_open_run *run)
{
    const rgm_task *task = &run->task;

    for (int mode = RGM_TRAIN; mode <= RGM_TEST && task->check_data != NULL; mode++) {
        rgm_status status = RGM_OK;

        if (rgm_trainer_has_data(run->trainer, (rgm_mode)mode))
            status = task->check_data(task->state, (rgm_mode)mode);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "%s data", rgm_mode_name((rgm_mode)mode));
    }
    return RGM_OK;
}

static rgm_status check_exporters(const rgm_open_run *run)
{
    const rgm_run_options *o = &run->options;

    for (int64_t i = 0; i < o->exporter_count; i++) {
        const rgm_exporter *exporter = &o->exporters[i];
        rgm_status status = RGM_OK;

        if (exporter->check != NULL)
            status = exporter->check(run, exporter->payload);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "exporter '%s'", exporter->name);
    }
    return RGM_OK;
}

/* Without a server's or a worker's hooks its steps would be those of one process, without a word.
 */
static rgm_status check_distribution(const rgm_open_run *run)
{
    const rgm_trainer_hooks *hooks = rgm_trainer_hooks_of(run->trainer);

    if (run->options.runtime.distribution != RGM_ASYNCHRONOUS)
        return RGM_OK;
    if (hooks->train_step != NULL || hooks->update != NULL)
        return rgm_trainer_check_apart(run->trainer);
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "runtime.distribution is asynchronous, but nobody serves workers here: that is "
                    "for `regimen run` of an experiment file, or for a program with async.h");
}

rgm_status rgmi_run_check(const rgm_open_run *run)
{
    if (!run->options.read_only)
        RGM_TRY(rgmi_run_exports_check(&run->options));
    if (!will_train(run))
        return RGM_OK;
    RGM_TRY(check_distribution(run));
    RGM_TRY(check_data(run));
    RGM_TRY(rgmi_run_checkpoint_exports_check(run));
    RGM_TRY(check_exporters(run));
    return rgmi_run_export_folders_check(run);
}

/* ---- remarks ------------------------------------------------------------------------------- */

/* Remark on options that a run of so many steps never reaches. */
static rgm_status remark_on_intervals(rgm_text *out, const rgm_open_run *run, int64_t steps)
{
    const rgm_trainer_options *o = &run->options.trainer;
    const struct {
        const char *key;
        int64_t first; /* step of its first effect */
    } intervals[] = {
        {"summary_interval", o->summary_interval},
        {"checkpoint.every_steps", o->checkpoint.every_steps},
        {"recovery.begin_steps", o->recovery.begin_steps},
    };

    for (size_t i = 0; i < sizeof intervals / sizeof *intervals; i++)
        if (intervals[i].first > steps)
            RGM_TRY(rgm_text_printf(out, "%strainer.%s is %lld, but the run has %lld steps",
                                    out->size > 0 ? "; " : "", intervals[i].key,
                                    (long long)intervals[i].first, (long long)steps));
    return RGM_OK;
}

/* Remark on what waits for validations that the run does not make. */
static rgm_status remark_on_validations(rgm_text *out, const rgm_open_run *run)
{
    const rgm_trainer_options *o = &run->options.trainer;
    int64_t best = run->controller->best_step;

    if (run->options.saves_on_request || !rgm_trainer_has_data(run->trainer, RGM_VALID))
        return RGM_OK;
    if (run->options.mode == RGM_RUN_TRAIN_AND_EVAL && o->train_steps == 0 &&
        o->validation_freq > o->epochs)
        return rgm_text_printf(out,
                               "trainer.validation_freq is %lld, but the run has %lld epochs: it "
                               "is never validated and ends with its last weights",
                               (long long)o->validation_freq, (long long)o->epochs);
    if (run->options.mode != RGM_RUN_TRAIN)
        return RGM_OK;
    if (o->early_stopping.patience > 0 || o->reduce_on_plateau.patience > 0)
        return rgm_text_printf(out, "nothing is validated while it trains in this mode, so "
                                    "trainer.early_stopping and reduce_on_plateau do nothing");
    if (best >= 0 && o->restore_best_weights != RGM_RESTORE_FALSE &&
        !rgm_controller_finished(run->controller))
        return rgm_text_printf(out,
                               "nothing is validated in this mode: the run ends with the weights "
                               "of step %lld, the best of its validations so far; "
                               "trainer.restore_best_weights: false takes the last ones",
                               (long long)best);
    return RGM_OK;
}

/* Where there is no faster row for them, products in bf16 are those of f32, digit for digit. */
static rgm_status remark_on_precision(rgm_text *out, const rgm_open_run *run)
{
    rgm_device *device = rgm_trainer_device(run->trainer);

    if (!rgm_trainer_bf16(run->trainer) ||
        rgm_kernels_for(device, RGM_BF16) != rgm_kernels_for(device, RGM_F32))
        return RGM_OK;
    return rgm_text_printf(out,
                           "runtime.mixed_precision is bf16, but nothing here multiplies in bf16 "
                           "(AVX-512 BF16, AMX): all products are computed in f32");
}

/* ---- the plan ------------------------------------------------------------------------------ */

rgm_status rgm_run_plan(rgm_text *out, const rgm_open_run *run)
{
    const rgm_device *device = rgm_trainer_device(run->trainer);
    int ranks = rgm_comm_size(rgm_trainer_comm(run->trainer));
    const rgm_runtime_options *runtime = rgm_trainer_runtime(run->trainer);

    if (!rgm_device_is_host(device) && ranks > 1)
        RGM_TRY(rgm_text_printf(out, "device %s, rank 0 of %d\n", rgm_device_about(device), ranks));
    else if (!rgm_device_is_host(device))
        RGM_TRY(rgm_text_printf(out, "device %s\n", rgm_device_about(device)));
    if (runtime->distribution == RGM_ASYNCHRONOUS && will_train(run))
        RGM_TRY(rgm_text_printf(out,
                                "workers make the steps, asynchronously: gradients at most %lld "
                                "updates old%s\n",
                                (long long)runtime->staleness,
                                runtime->staleness == 0 ? ", so one works at a time" : ""));
    if (run->options.trainer.activation_checkpointing && will_train(run))
        RGM_TRY(rgm_text_printf(out,
                                "layers compute their insides again in the backward pass: less "
                                "memory, more time, the same weights\n"));
    if (run->service != NULL)
        RGM_TRY(rgm_text_printf(out, "input batches of workers that join at %s, %s, %lld ahead\n",
                                rgm_service_address(run->service),
                                run->options.runtime.input_workers.order == RGM_SERVICE_RECIPE
                                    ? "in the recipe's order"
                                    : "first come, first served",
                                (long long)run->options.runtime.input_workers.ahead));
    return run->task.plan != NULL ? run->task.plan(out, run->task.state) : RGM_OK;
}

/* Log the plan's lines, and the task's remarks on its training data. */
static rgm_status log_plan(const rgm_open_run *run)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    rgmi_log_begin(run->controller);
    RGM_GO(rgm_run_plan(&text, run));
    if (run->task.describe != NULL)
        RGM_GO(run->task.describe(&text, run->task.state));
    rgm_log_lines("plan | ", text.data);
done:
    rgm_text_clear(&text);
    return status;
}

/* Warn of it, and begin anew. */
static void tell(rgm_text *remark)
{
    if (remark->size > 0)
        rgm_log_write(RGM_LOG_WARNING, "%s", remark->data);
    rgm_text_clear(remark);
}

rgm_status rgmi_run_remark(const rgm_open_run *run)
{
    const rgm_schedule *schedule = &rgm_trainer_optimizer_options(run->trainer)->learning_rate;
    int64_t steps = rgm_trainer_total_updates(run->trainer);
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_logger *before = rgmi_enter(run->controller);

    if (will_train(run))
        RGM_GO(log_plan(run));
    if (!will_train(run) || steps < 1)
        goto done;
    if (rgm_trainer_optimizer(run->trainer) != NULL && schedule->type != NULL)
        RGM_GO(rgm_schedule_check_run(&text, schedule, steps));
    tell(&text);
    RGM_GO(remark_on_intervals(&text, run, steps));
    tell(&text);
    RGM_GO(remark_on_validations(&text, run));
    tell(&text);
    RGM_GO(remark_on_precision(&text, run));
    tell(&text);
done:
    rgm_text_clear(&text);
    return rgmi_leave(before, status);
}
