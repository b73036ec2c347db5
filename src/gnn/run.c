/*
 * rgm_run(): check the arguments, put the run together, let the trainer work, export. The order is
 * that of the TF-GNN runner; the loop is not here.
 */
#include <string.h>

#include "runner_internal.h"

rgm_run_options rgm_run_options_default(void)
{
    rgm_run_options options = {
        .global_batch_size = 1,
        .train_padding = RGM_PADDING_INIT,
        .valid_padding = RGM_PADDING_INIT,
        .mode = RGM_RUN_TRAIN_AND_EVAL,
    };

    options.optimizer = rgm_adam(1e-3);
    rgm_trainer_defaults(&options.trainer);
    rgm_runtime_defaults(&options.runtime);
    return options;
}

/* ---- arguments ----------------------------------------------------------------------------- */

static rgm_status check_tasks(const rgm_run_options *o)
{
    if (o->task_count > RGM_MAX_HEADS)
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld tasks, at most %d can be trained together",
                        (long long)o->task_count, RGM_MAX_HEADS);
    if ((o->task.type != NULL) == (o->task_count > 0))
        return RGM_FAIL(RGM_ERR_CONFIG, "exactly one of `task` and `tasks` is needed");
    for (int64_t i = 0; i < o->task_count; i++) {
        if (o->tasks[i].type == NULL || o->tasks[i].name == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "task %lld of several needs a type and a name",
                            (long long)i);
        for (int64_t j = 0; j < i; j++)
            if (strcmp(o->tasks[i].name, o->tasks[j].name) == 0)
                return RGM_FAIL(RGM_ERR_CONFIG, "two tasks are named '%s'", o->tasks[i].name);
    }
    if (o->loss_weights != NULL && o->task_count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "loss_weights go with several tasks");
    return RGM_OK;
}

static rgm_status check_arguments(const rgm_run_options *o)
{
    if (o->train_data == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "train_data is NULL%s%s",
                        rgm_error_message()[0] != '\0' ? ": " : "", rgm_error_message());
    if (o->model_fn == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "model_fn is NULL");
    if (o->schema == NULL && rgm_provider_schema(o->train_data) == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "schema is NULL and the provider does not know it");
    if (o->global_batch_size < 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "global_batch_size is %lld, at least 1 is needed",
                        (long long)o->global_batch_size);
    if (o->valid_data == NULL && o->valid_padding.kind != RGM_PADDING_NONE)
        return RGM_FAIL(RGM_ERR_CONFIG, "valid_padding is set but there are no validation data");
    return check_tasks(o);
}

static rgm_status check_exporters(const rgm_run_options *o)
{
    if (o->exporter_count > 0 && o->run_dir == NULL && o->export_dirs == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "exporters need run_dir or export_dirs");
    return RGM_OK;
}

/* ---- putting it together ------------------------------------------------------------------- */

static rgm_status copy_arguments(rgm_run_result *run, const rgm_run_options *o)
{
    const rgm_provider *providers[3] = {o->train_data, o->valid_data, o->test_data};

    for (int mode = 0; mode < 3; mode++)
        run->providers[mode] = rgm_provider_retain((rgm_provider *)providers[mode]);
    run->schema =
        rgm_schema_retain(o->schema != NULL ? o->schema : rgm_provider_schema(o->train_data));
    run->task_count = o->task_count > 0 ? o->task_count : 1;
    for (int64_t k = 0; k < run->task_count; k++) {
        run->tasks[k] = o->task_count > 0 ? o->tasks[k] : o->task;
        run->loss_weights[k] = o->loss_weights != NULL ? o->loss_weights[k] : 1;
    }
    run->model_fn = o->model_fn;
    run->model_payload = o->model_payload;
    run->batch_size = o->global_batch_size;
    run->drop_remainder = o->drop_remainder;
    RGM_TRY(RGM_NEW(run->processors, o->feature_processor_count));
    for (int64_t i = 0; i < o->feature_processor_count; i++)
        run->processors[i] = o->feature_processors[i];
    for (int mode = 0; mode < 3; mode++)
        run->pipelines[mode] = (rgmi_pipeline){.schema = run->schema,
                                               .processors = run->processors,
                                               .processor_count = o->feature_processor_count};
    return RGM_OK;
}

static rgm_status open_padding(rgm_run_result *run, const rgm_run_options *o)
{
    RGM_TRY(rgmi_pipeline_padding(&run->pipelines[RGM_TRAIN], run->providers[RGM_TRAIN],
                                  &o->train_padding, run->batch_size, (uint64_t)run->runtime.seed));
    if (run->providers[RGM_VALID] != NULL)
        RGM_TRY(rgmi_pipeline_padding(&run->pipelines[RGM_VALID], run->providers[RGM_VALID],
                                      &o->valid_padding, run->batch_size,
                                      (uint64_t)run->runtime.seed));
    return RGM_OK;
}

static rgm_status build_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    rgm_run_result *run = state;

    *out = NULL;
    if (run->providers[mode] == NULL)
        return RGM_OK;
    return rgmi_pipeline_dataset(out, &run->pipelines[mode], run->providers[mode], mode,
                                 run->batch_size, run->drop_remainder, endless,
                                 (int)run->runtime.threads);
}

static rgm_status feed_batch(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                             rgm_element *batch)
{
    rgm_run_result *run = state;

    return rgm_graph_feeds(feeds, capacity, count, run->root,
                           rgm_element_pointer(batch, &rgm_graph_element));
}

/* The GNN as a task of the training core; its state is the run. */
static rgm_task gnn_task(rgm_run_result *run)
{
    return (rgm_task){
        .name = "gnn",
        .state = run,
        .build_model = rgmi_build_model,
        .build_inputs = build_inputs,
        .feeds = feed_batch,
    };
}

static rgm_status open_trainer(rgm_run_result *run, const rgm_run_options *o,
                               const rgm_trainer_options *options)
{
    rgm_trainer_setup setup = {
        .task = &run->task,
        .options = options,
        .runtime = &run->runtime,
        .optimizer = &o->optimizer,
        .endless = options->train_steps > 0 || options->steps_per_epoch > 0,
    };

    for (int mode = 0; mode < 3; mode++)
        setup.no_data[mode] = o->no_data[mode];
    return rgm_trainer_create(&run->trainer, &setup);
}

/* Restored, or initialized; then told to whom it may concern. */
static rgm_status open_controller(rgm_run_result *run, const rgm_run_options *o,
                                  const rgm_trainer_options *options)
{
    rgm_controller_setup setup = {
        .trainer = run->trainer,
        .options = options,
        .run_dir = o->run_dir,
        .config = o->config,
        .hparams = o->hparams,
        .hparam_count = o->hparam_count,
        .read_only =
            o->no_training || o->mode == RGM_RUN_EVAL || o->mode == RGM_RUN_CONTINUOUS_EVAL,
        .hooks = &o->hooks,
    };

    RGM_TRY(rgm_controller_create(&run->controller, &setup));
    return o->begin != NULL ? o->begin(run, o->hooks.payload) : RGM_OK;
}

static rgm_status open_core(rgm_run_result *run, const rgm_run_options *o)
{
    rgm_trainer_options options = o->trainer;

    if (o->epochs > 0)
        options.epochs = o->epochs;
    if (o->steps_per_execution > 0)
        options.steps_per_execution = o->steps_per_execution;
    options.run_eagerly |= o->run_eagerly;
    RGM_TRY(open_trainer(run, o, &options));
    return open_controller(run, o, &options);
}

/* ---- after training ------------------------------------------------------------------------ */

/* Of a whole pass, or an epoch's worth of data that never end. */
static rgm_status final_metrics(rgm_run_result *run, const rgm_run_options *o)
{
    for (int mode = 0; mode < 3; mode++) {
        int64_t steps = mode == RGM_VALID ? o->trainer.validation_steps : RGM_TO_END;
        const rgm_logs *logs;

        if (!rgm_trainer_has_data(run->trainer, (rgm_mode)mode))
            continue;
        if (mode == RGM_TRAIN && rgm_trainer_pass_steps(run->trainer) == INT64_MAX)
            steps = o->trainer.steps_per_epoch;
        if (steps == 0) /* length in steps: a pass over endless data has no end */
            continue;
        RGM_TRY(rgm_trainer_evaluate(run->trainer, (rgm_mode)mode, steps, &logs));
        RGM_TRY(rgm_logs_merge(&run->metrics[mode], logs));
    }
    return RGM_OK;
}

static rgm_status export_to(rgm_run_result *run, const rgm_run_options *o, const char *folder)
{
    RGM_TRY(rgm_folder_make(folder));
    for (int64_t i = 0; i < o->exporter_count; i++) {
        rgm_status status = o->exporters[i].save(run, folder, o->exporters[i].payload);

        if (status != RGM_OK)
            return rgm_error_prefix(status, "exporter '%s'", o->exporters[i].name);
    }
    RGM_TRY(rgm_strdup(&run->exports[run->export_count], folder));
    run->export_count++;
    return RGM_OK;
}

static rgm_status export_all(rgm_run_result *run, const rgm_run_options *o)
{
    rgm_status status;
    char *folder = NULL;

    if (o->exporter_count == 0)
        return RGM_OK;
    RGM_TRY(RGM_NEW(run->exports, o->export_dirs != NULL ? o->export_dir_count : 1));
    if (o->export_dirs == NULL) {
        RGM_TRY(rgm_path_join(&folder, o->run_dir, "export"));
        status = rgm_path_is_folder(folder) ? rgm_folder_sweep(folder) : RGM_OK;
        if (status == RGM_OK)
            status = export_to(run, o, folder);
        rgm_free(folder);
        return status;
    }
    for (int64_t i = 0; i < o->export_dir_count; i++)
        RGM_TRY(export_to(run, o, o->export_dirs[i]));
    return RGM_OK;
}

static bool trains(const rgm_run_options *o)
{
    return o->mode != RGM_RUN_EVAL && o->mode != RGM_RUN_CONTINUOUS_EVAL;
}

static rgm_status train_and_export(rgm_run_result *run, const rgm_run_options *o)
{
    const rgm_logs *logs;

    if (o->no_training) /* the weights that a finished run would have in place */
        return rgm_controller_place_final_weights(run->controller);
    RGM_TRY(rgm_controller_run(run->controller, o->mode, &logs));
    if (!trains(o))
        return logs != NULL ? rgm_logs_merge(&run->metrics[RGM_VALID], logs) : RGM_OK;
    if (o->mode != RGM_RUN_TRAIN) /* which leaves all validation to another process */
        RGM_TRY(final_metrics(run, o));
    return export_all(run, o);
}

static rgm_status work(rgm_run_result *run, const rgm_run_options *o)
{
    rgm_logger *before = rgm_logger_enter(rgm_controller_logger(run->controller));
    rgm_status status = train_and_export(run, o);

    rgm_logger_enter(before);
    return status;
}

static rgm_status make_run(rgm_run_result **out, const rgm_run_options *options)
{
    RGM_TRY(check_exporters(options));
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->runtime = options->runtime;
    if ((*out)->runtime.threads <= 0)
        (*out)->runtime.threads = rgm_processors();
    rgm_threads_set((int)(*out)->runtime.threads);
    return RGM_OK;
}

static rgm_status finish(rgm_run_result **result, rgm_run_result *run, rgm_status status)
{
    if (status == RGM_OK || status == RGM_STOPPED)
        *result = run;
    else
        rgm_run_result_release(run);
    return status;
}

rgm_status rgm_run(rgm_run_result **result, const rgm_run_options *options)
{
    rgm_status status = RGM_OK;
    rgm_run_result *run = NULL;

    *result = NULL;
    RGM_GO(check_arguments(options));
    RGM_GO(make_run(&run, options));
    RGM_GO(copy_arguments(run, options));
    RGM_GO(rgmi_pipeline_schema(&run->processed_schema, &run->pipelines[RGM_TRAIN],
                                run->providers[RGM_TRAIN]));
    for (int64_t k = 0; k < run->task_count; k++)
        RGM_GO(rgm_gnn_task_check(&run->tasks[k], run->processed_schema));
    RGM_GO(open_padding(run, options));
    run->task = gnn_task(run);
    RGM_GO(open_core(run, options));
    RGM_GO(work(run, options));
done:
    return finish(result, run, status);
}

rgm_status rgm_run_task(rgm_run_result **result, const rgm_task *task,
                        const rgm_run_options *options)
{
    rgm_status status = RGM_OK;
    rgm_run_result *run = NULL;

    *result = NULL;
    RGM_GO(make_run(&run, options));
    run->task = *task;
    RGM_GO(open_core(run, options));
    RGM_GO(work(run, options));
done:
    return finish(result, run, status);
}
