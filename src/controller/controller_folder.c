/*
 * The run folder of a controller: its lock, its stores of checkpoints, the files of the task, the
 * log of metrics. What is restored from it is controller_state.c's.
 */
#include <string.h>

#include "controller_internal.h"

rgm_status rgmi_store_open(rgm_controller *c, bool read_only)
{
    rgm_checkpoint_store_options options = RGM_CHECKPOINT_STORE_OPTIONS_INIT;
    char *path = NULL;
    rgm_status status;

    options.keep = c->options.checkpoint.keep;
    options.keep_every_hours = c->options.checkpoint.keep_every_hours;
    options.read_only = read_only;
    if (read_only && !rgm_trainer_reads_slots(c->trainer))
        options.slots_prefix = RGM_AVERAGE_PREFIX;
    RGM_TRY(rgm_path_join(&path, c->run_dir, "ckpt"));
    status = rgm_checkpoint_store_open(&c->store, path, &options);
    rgm_free(path);
    if (status == RGM_ERR_NOT_FOUND && read_only) { /* a trainer may still start there */
        rgm_error_reset();
        return RGM_OK;
    }
    return status;
}

/* A store of only weights in a folder of the run. */
static rgm_status weights_store_open(rgm_checkpoint_store **out, const rgm_controller *c,
                                     const char *name, int64_t keep)
{
    rgm_checkpoint_store_options options = {.keep = keep};
    char *path = NULL;
    rgm_status status;

    RGM_TRY(rgm_path_join(&path, c->run_dir, name));
    status = rgm_checkpoint_store_open(out, path, &options);
    rgm_free(path);
    return status;
}

static rgm_status weights_stores_open(rgm_controller *c)
{
    const rgm_trainer_checkpoints *o = &c->options.checkpoint;
    const rgm_optimizer *optimizer = rgm_trainer_optimizer(c->trainer);

    if (c->folder == NULL)
        return RGM_OK;
    if (o->best.save)
        RGM_TRY(weights_store_open(&c->best_store, c, "best", 1));
    if (o->averages == 0)
        return RGM_OK;
    if (optimizer == NULL || !rgm_optimizer_has_averages(optimizer))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.checkpoint.averages is %lld, but the optimizer keeps no averages: "
                        "set optimizer.average.decay",
                        (long long)o->averages);
    return weights_store_open(&c->averages_store, c, "averages", o->averages);
}

/* Check that files without which the weights mean nothing are unchanged; without weights, keep the
 * new ones. */
static rgm_status files_open(rgm_controller *c, const rgm_controller_setup *setup)
{
    const rgm_task *task = rgm_trainer_task(c->trainer);
    int64_t *steps = NULL, count = 0;

    if (c->store != NULL)
        RGM_TRY(rgm_checkpoint_steps(&steps, &count, c->store));
    rgm_free(steps);
    if (count > 0)
        RGM_TRY(rgm_task_files_check(task, setup->run_dir));
    return c->folder == NULL ? RGM_OK : rgm_task_files_save(task, setup->run_dir);
}

/* Measurements are worth less than the weights: a run with a damaged log continues without the
 * damaged lines, and saves its newest checkpoint, which has the log's length, again. */
static rgm_status metrics_open(rgm_controller *c, int64_t offset)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    bool damaged;

    RGM_GO(rgm_path_join(&path, c->run_dir, "metrics.jsonl"));
    c->was_tested = rgm_metrics_log_goes_on_with(path, offset, rgm_mode_name(RGM_TEST));
    status = rgm_metrics_log_open(&c->metrics_log, path, offset);
    damaged = status == RGM_ERR_FORMAT || status == RGM_ERR_NOT_FOUND;
    if (damaged) {
        rgm_error_reset();
        RGM_GO(rgm_metrics_log_repair(&offset, path, offset));
        RGM_GO(rgm_metrics_log_open(&c->metrics_log, path, offset));
        c->changes++;
        status = rgmi_state_save(c);
    }
done:
    rgm_free(path);
    return status;
}

static rgm_status open_folder(rgm_controller *c, const rgm_controller_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_run_folder_options folder = RGM_RUN_FOLDER_OPTIONS_INIT;
    int64_t offset = 0;
    bool other_data = false, writes = c->keeps && rgmi_rank(c) == 0;

    folder.config = setup->config;
    folder.sources = setup->sources;
    folder.resume_keys = setup->resume_keys;
    folder.seed = (uint64_t)rgm_trainer_runtime(c->trainer)->seed;
    folder.threads = rgm_threads();
    folder.isa = rgm_kernels_for(rgm_trainer_device(c->trainer), RGM_F32)->isa;
    if (writes)
        RGM_GO(rgm_run_folder_open(&c->folder, setup->run_dir, &folder));
    rgmi_enter(c); /* the creator of the controller leaves */
    RGM_GO(rgmi_store_open(c, !writes));
    RGM_GO(files_open(c, setup));
    RGM_GO(weights_stores_open(c));
    RGM_GO(rgm_run_folder_has_changed(&other_data, setup->run_dir, "data.*"));
    if (other_data)
        rgm_trainer_accept_other_data(c->trainer);
    RGM_GO(rgmi_state_restore_newest(c, &offset));
    if (writes) {
        RGM_GO(metrics_open(c, offset));
        RGM_GO(rgmi_figures_open(c));
    }
    c->saved_time = rgm_now();
done:
    return status;
}

rgm_status rgmi_state_open(rgm_controller *c, const rgm_controller_setup *setup)
{
    if (setup->run_dir == NULL) {
        RGM_TRY(rgmi_state_initialize(c));
        return rgmi_ranks_compare(c, setup);
    }
    c->keeps = !setup->read_only;
    RGM_TRY(rgm_strdup(&c->run_dir, setup->run_dir));
    return rgmi_ranks_open(c, setup, open_folder);
}

void rgmi_state_close(rgm_controller *c)
{
    rgm_logger *before = rgmi_enter(c);

    if (rgmi_behind_end(c) != RGM_OK) {
        rgm_log_write(RGM_LOG_WARNING, "%s", rgm_error_message());
        rgm_error_reset();
    }
    rgm_logger_enter(before);
    rgm_parameters_release(c->best_weights);
    rgmi_figures_close(c);
    rgmi_events_close(c);
    rgm_metrics_log_close(c->metrics_log);
    rgm_checkpoint_store_close(c->best_store);
    rgm_checkpoint_store_close(c->averages_store);
    rgm_checkpoint_store_close(c->store);
    rgm_run_folder_close(c->folder);
    rgm_free(c->run_dir);
}
