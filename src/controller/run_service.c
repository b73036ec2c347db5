/*
 * Input workers of a run: runtime.input_workers, from the options to input_workers.json.
 */
#include "run_internal.h"

#include <inttypes.h>

static bool will_train(const rgm_run_options *o)
{
    return !o->read_only && !o->no_data[RGM_TRAIN] && o->mode != RGM_RUN_EVAL &&
           o->mode != RGM_RUN_CONTINUOUS_EVAL;
}

/* What a step has taken already would be lost, so it waits on. */
static bool should_stop(void *payload)
{
    const rgm_open_run *run = payload;
    const rgm_controller_hooks *hooks = &run->options.hooks;

    return hooks->should_stop != NULL && run->trainer != NULL &&
           !rgm_trainer_is_in_step(run->trainer) && hooks->should_stop(hooks->payload);
}

static rgm_status check_options(const rgm_run_options *o)
{
    RGM_TRY(rgm_service_check(&o->runtime.input_workers));
    if (o->trainer.privacy.clipping_norm > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.input_workers: with trainer.privacy nobody may know which "
                        "examples are drawn, but workers would have to");
    if (o->runtime.distribution == RGM_ASYNCHRONOUS)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.input_workers: in an asynchronous run each worker makes the "
                        "batches of its own turns; unset runtime.input_workers.address, or "
                        "runtime.distribution");
    if (o->comm != NULL && rgm_comm_size(o->comm) > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.input_workers: %d ranks train this run, and each reads its "
                        "batches itself; start one process, or unset "
                        "runtime.input_workers.address",
                        rgm_comm_size(o->comm));
    return RGM_OK;
}

/* A worker has nobody to ask for what completes a batch. */
static rgm_status check_task(const rgm_task *task)
{
    if (task->complete == NULL)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "runtime.input_workers: the trainer itself completes the batches of task '%s' "
                    "by what its ranks have (data.sampling of a graph in parts); unset "
                    "runtime.input_workers.address",
                    task->name);
}

/* What a trainer and its workers must have alike: values, and the files that they name. */
static rgm_status print_identity(rgm_text *out, const rgm_run_options *o)
{
    uint64_t files;

    RGM_TRY(rgm_config_hash_files(&files, o->config, "data"));
    RGM_TRY(rgm_text_printf(out, "%s", o->data_identity != NULL ? o->data_identity : ""));
    return rgm_text_printf(out, "files of data: %016" PRIx64 "\n", files);
}

rgm_status rgmi_run_service_open(rgm_open_run *run)
{
    const rgm_run_options *o = &run->options;
    rgm_service_setup setup = {.options = &o->runtime.input_workers,
                               .types = run->element_types,
                               .should_stop = should_stop,
                               .payload = run};

    if (o->runtime.input_workers.address == NULL || !will_train(o))
        return RGM_OK;
    RGM_TRY(check_options(o));
    RGM_TRY(check_task(&run->task));
    RGM_TRY(print_identity(&run->identity, o));
    setup.identity = run->identity.data;
    run->element_types[0] = run->task.element_type;
    return rgm_service_open(&run->service, &setup);
}

rgm_status rgmi_run_service_report(rgm_open_run *run)
{
    char *path;
    rgm_status status;

    if (run->service == NULL || run->options.run_dir == NULL)
        return RGM_OK;
    RGM_TRY(rgm_path_join(&path, run->options.run_dir, "input_workers.json"));
    status = rgm_service_report_to(run->service, path);
    rgm_free(path);
    return status;
}

/* ---- a worker ------------------------------------------------------------------------------ */

static rgm_status open_training_data(rgm_dataset **out, const rgm_task *task,
                                     const rgm_run_options *o)
{
    bool endless = o->trainer.train_steps > 0 || o->trainer.steps_per_epoch > 0;

    *out = NULL;
    if (task->build_inputs != NULL)
        RGM_TRY(task->build_inputs(out, task->state, RGM_TRAIN, endless));
    return *out != NULL ? RGM_OK
                        : RGM_FAIL(RGM_ERR_CONFIG, "task '%s' has no training data", task->name);
}

rgm_status rgm_run_serve(int64_t *made, const rgm_task *task, const rgm_run_options *options,
                         const rgm_serve_options *serve)
{
    rgm_dataset *data = NULL;
    rgm_text identity = {0};
    rgm_status status = RGM_OK;
    rgm_input_worker worker = {.options = &options->runtime.input_workers,
                               .threads = serve->threads,
                               .stays = serve->stays,
                               .should_stop = serve->should_stop,
                               .payload = serve->payload};

    if (made != NULL)
        *made = 0;
    RGM_TRY(check_options(options));
    rgm_threads_set(serve->threads);
    RGM_GO(open_training_data(&data, task, options));
    RGM_GO(print_identity(&identity, options));
    worker.dataset = data;
    worker.identity = identity.data;
    RGM_GO(rgm_input_worker_serve(made, &worker));
done:
    rgm_dataset_release(data);
    rgm_text_clear(&identity);
    return status;
}
