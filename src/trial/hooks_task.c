/*
 * A trial of hooks as a task of the training core: data, model and optimizer are the program's,
 * everything else is train's.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"

enum { CHECKED_IN_TEST = 64 }; /* batches, so that a test and not a search finds what differs */

/* ---- what the core calls ------------------------------------------------------------------- */

static rgm_status build_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    rgmi_hooks_task *task = state;
    rgm_dataset *data = mode == RGM_TRAIN ? task->train : mode == RGM_VALID ? task->valid : NULL;

    *out = NULL;
    if (data == NULL)
        return RGM_OK;
    *out = rgm_dataset_retain(data);
    if (mode == RGM_TRAIN && endless && rgm_dataset_count(data) != INT64_MAX) {
        rgm_status status = rgm_dataset_repeat(out, -1);

        if (status != RGM_OK) {
            rgm_dataset_release(*out);
            *out = NULL;
        }
        return status;
    }
    return RGM_OK;
}

static rgm_status feed(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                       rgm_element *batch)
{
    rgmi_hooks_task *task = state;

    if (rgmi_hooks_is_asked(batch))
        return rgmi_hooks_feed_asked(feeds, capacity, count, task, batch);
    RGM_TRY(rgmi_hooks_check_batch(task, batch));
    task->records += rgm_tensor_dim(rgm_element_tensor(batch, 0), 0);
    return rgm_feed_tensors(feeds, capacity, count, task->inputs, task->form.count, batch);
}

/* ---- what the file says -------------------------------------------------------------------- */

/* The entrypoint as the run folder's config.yaml has it: beside the folder it is told relative to
 * it, so that both may move. */
static rgm_status set_entrypoint(rgmi_hooks_task *task, const rgm_trial_setup *setup,
                                 rgm_arena *arena)
{
    const char *entrypoint = setup->entrypoint;
    const char *slash = setup->run_dir != NULL ? strrchr(setup->run_dir, '/') : NULL;
    size_t size = slash != NULL ? (size_t)(slash + 1 - setup->run_dir) : 0;
    rgm_yaml_node *node = rgm_yaml_find(rgm_yaml_root(task->point), "entrypoint");
    bool is_beside =
        entrypoint != NULL && size > 0 && strncmp(entrypoint, setup->run_dir, size) == 0;
    char *text = NULL;

    if (entrypoint == NULL || node == NULL)
        return RGM_OK;
    if (is_beside)
        RGM_TRY(rgm_strprintf(&text, "../%s", entrypoint + size));
    node->text = rgm_arena_strdup(arena, text != NULL ? text : entrypoint);
    rgm_free(text);
    return node->text != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_NOMEM, "out of memory for an entrypoint");
}

/* The whole file with its defaults, as `experiment`; the point's values, as `hparams`. */
static rgm_status read_configs(rgmi_hooks_task *task, const rgm_trial_setup *setup,
                               rgm_arena *arena)
{
    const rgm_search_file *file = setup->file;
    RGM_TRY(rgm_search_file_whole(&task->document, file));
    RGM_TRY(rgm_search_file_point(&task->point, file, setup->values, setup->seed));
    RGM_TRY(set_entrypoint(task, setup, arena));
    task->experiment = (rgm_config){rgm_yaml_root(task->document), "the search file", &task->asked,
                                    &task->experiment};
    task->hparams = (rgm_config){rgm_yaml_find(rgm_yaml_root(task->point), "hyperparameters"),
                                 "the section hyperparameters", &task->asked, &task->experiment};
    return RGM_OK;
}

static rgm_status read_options(rgm_run_options *options, const rgmi_hooks_task *task,
                               rgm_arena *arena)
{
    const rgm_yaml_node *root = rgm_yaml_root(task->point);

    *options = rgm_run_options_default();
    RGM_TRY(rgm_options_read(&options->trainer, rgm_trainer_fields, rgm_yaml_find(root, "trainer"),
                             "trainer", NULL, arena));
    RGM_TRY(rgm_options_read(&options->runtime, rgm_runtime_fields, rgm_yaml_find(root, "runtime"),
                             "runtime", NULL, arena));
    return RGM_OK;
}

static rgm_status read_session(rgm_run_options *options, rgmi_hooks_task *task, rgm_arena *arena)
{
    rgm_session_config session = {.threads = options->runtime.threads,
                                  .mixed_precision = options->runtime.mixed_precision,
                                  .loss_scale = options->runtime.loss_scale,
                                  .run_eagerly = options->trainer.run_eagerly};

    if (task->hooks->session_config == NULL)
        return RGM_OK;
    task->hooks->session_config(&session, &task->hparams);
    RGM_TRY(rgmi_hook_done(task, RGM_OK, "session_config"));
    options->runtime.threads = session.threads;
    options->runtime.mixed_precision = session.mixed_precision;
    options->trainer.run_eagerly = session.run_eagerly;
    options->runtime.loss_scale = NULL;
    if (session.loss_scale != NULL) {
        options->runtime.loss_scale = rgm_arena_strdup(arena, session.loss_scale);
        if (options->runtime.loss_scale == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for session options");
    }
    return rgmi_hook_done(
        task, rgm_options_check(&options->runtime, rgm_runtime_fields, "session_config"),
        "session_config");
}

/* How a program reduces the rate, in the place of what the file says. */
static rgm_status read_plateau(rgm_run_options *options, rgmi_hooks_task *task, rgm_arena *arena)
{
    rgm_trainer_plateau *plateau = &options->trainer.reduce_on_plateau;

    if (task->hooks->reduce_on_plateau == NULL)
        return RGM_OK;
    task->hooks->reduce_on_plateau(plateau, &task->hparams);
    RGM_TRY(rgmi_hook_done(task, RGM_OK, "reduce_on_plateau"));
    if (plateau->metric != NULL) {
        plateau->metric = rgm_arena_strdup(arena, plateau->metric);
        if (plateau->metric == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a metric's name");
    }
    return RGM_OK; /* its values are checked with the others */
}

/* TensorBoard's page of hyperparameters. */
static rgm_status list_hparams(rgm_run_options *options, const rgm_search_file *file,
                               const rgm_hyper_value *values, rgm_arena *arena)
{
    const rgm_space *space = rgm_search_file_space(file);
    int64_t count = rgm_space_count(space);
    rgm_hparam *list = rgm_arena_alloc(arena, (size_t)(count + 1) * sizeof *list);
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    if (list == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for hyperparameters");
    for (int64_t i = 0; i < count; i++) {
        rgm_hparam *h = &list[options->hparam_count];
        char *end;

        if (!values[i].is_set)
            continue;
        rgm_text_clear(&text);
        RGM_GO(rgm_space_print_value(&text, space, i, &values[i]));
        h->name = rgm_space_at(space, i)->name;
        h->number = strtod(text.data, &end);
        if (*end != '\0' || end == text.data) {
            h->text = rgm_arena_strdup(arena, text.data);
            if (h->text == NULL)
                RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for hyperparameters"));
        }
        options->hparam_count++;
    }
    options->hparams = list;
done:
    rgm_text_clear(&text);
    return status;
}

/* ---- the hooks ------------------------------------------------------------------------------ */

static rgm_status check_optimizer(const rgm_optimizer_options *o)
{
    return o->type != NULL
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG,
                          "it gave no optimizer; begin with rgm_sgd(), rgm_adam(), ...");
}

static rgm_status ask_graph_hooks(rgm_run_options *options, rgmi_hooks_task *task)
{
    rgm_data_loaders loaders = {0};
    rgm_status status;

    status = task->hooks->make_data_loaders(&loaders, &task->experiment, &task->hparams);
    task->train = loaders.train;
    task->valid = loaders.valid;
    if (status == RGM_OK && task->asked.error.status == RGM_OK)
        status = rgmi_hooks_data(task, &(rgmi_data_words){.names = loaders.names,
                                                          .valid_names = loaders.valid_names,
                                                          .varying = {loaders.varying}});
    RGM_TRY(rgmi_hook_done(task, status, "make_data_loaders"));
    if (task->hooks->build_sequential != NULL) {
        RGM_TRY(rgmi_sequential_ask(task));
        options->optimizer = task->sequential.optimizer;
        return rgmi_hook_done(task, check_optimizer(&options->optimizer), "build_sequential");
    }
    options->optimizer = task->hooks->optimizer(&task->hparams);
    return rgmi_hook_done(task, check_optimizer(&options->optimizer), "optimizer");
}

static rgm_status ask_specs(rgmi_hooks_task *task)
{
    const rgm_trial_hooks *h = task->hooks;
    rgm_input_spec train = {0}, valid = {0};
    rgm_status status = h->build_train_spec(&train, &task->experiment, &task->hparams);

    task->train = train.dataset;
    RGM_TRY(rgmi_hook_done(task, status, "build_train_spec"));
    status = h->build_validation_spec(&valid, &task->experiment, &task->hparams);
    task->valid = valid.dataset;
    task->validation_steps = valid.steps;
    task->label_count = train.label_count;
    RGM_TRY(rgmi_hook_done(task, status, "build_validation_spec"));
    if (valid.steps < 0)
        status = RGM_FAIL(RGM_ERR_CONFIG, "%lld steps of validation", (long long)valid.steps);
    else
        status =
            rgmi_hooks_data(task, &(rgmi_data_words){.names = train.names,
                                                     .valid_names = valid.names,
                                                     .labels = train.label_count,
                                                     .valid_labels = valid.label_count,
                                                     .varying = {train.varying, valid.varying}});
    if (status == RGM_OK && (task->label_count < 0 || task->label_count >= task->form.count))
        status = RGM_FAIL(RGM_ERR_CONFIG, "%lld labels of %lld tensors leave no features",
                          (long long)task->label_count, (long long)task->form.count);
    if (train.steps > 0)
        rgm_log_write(RGM_LOG_INFO,
                      "trial '%s': max_steps %lld of the train spec is passed over: the searcher "
                      "says how long a trial trains",
                      h->name, (long long)train.steps);
    return rgmi_hook_done(task, status, "build_validation_spec");
}

static rgm_status check_receivers(const rgmi_hooks_task *task)
{
    for (int64_t i = 0; i < task->receiver_count; i++) {
        const char *name = task->receivers[i].name;

        if (name == NULL || name[0] == '\0' || strlen(name) > 100 ||
            strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
                strlen(name))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "receiver %lld is named '%s': letters, digits, '_' and '-' make a "
                            "folder's name",
                            (long long)i, name != NULL ? name : "");
        for (int64_t k = 0; k < i; k++)
            if (strcmp(task->receivers[k].name, name) == 0)
                return RGM_FAIL(RGM_ERR_CONFIG, "two receivers are named '%s'", name);
        RGM_TRY(rgmi_hooks_check_features(task, &task->receivers[i]));
    }
    return RGM_OK;
}

static rgm_status ask_receivers(rgmi_hooks_task *task)
{
    const rgm_trial_hooks *h = task->hooks;
    rgm_status status;

    if (h->build_serving_input_receiver_fns == NULL)
        return RGM_OK;
    status =
        h->build_serving_input_receiver_fns(task->receivers, &task->receiver_count, &task->hparams);
    if (status == RGM_OK &&
        (task->receiver_count < 0 || task->receiver_count > RGM_MAX_RECEIVERS)) {
        status = RGM_FAIL(RGM_ERR_CONFIG, "%lld receivers; 0 to %d are possible",
                          (long long)task->receiver_count, RGM_MAX_RECEIVERS);
        task->receiver_count = 0;
    }
    if (status == RGM_OK)
        status = check_receivers(task);
    return rgmi_hook_done(task, status, "build_serving_input_receiver_fns");
}

static rgm_status ask_estimator_hooks(rgm_run_options *options, rgmi_hooks_task *task)
{
    rgm_status status = task->hooks->build_estimator(&task->estimator, &task->hparams);

    if (status == RGM_OK && task->estimator.model_fn == NULL)
        status = RGM_FAIL(RGM_ERR_CONFIG, "it gave no model_fn");
    if (status == RGM_OK)
        status = check_optimizer(&task->estimator.optimizer);
    RGM_TRY(rgmi_hook_done(task, status, "build_estimator"));
    options->optimizer = task->estimator.optimizer;
    RGM_TRY(ask_specs(task));
    if (task->validation_steps > 0)
        options->trainer.validation_steps = task->validation_steps;
    return RGM_OK;
}

/* ---- creation ------------------------------------------------------------------------------ */

rgm_status rgmi_hooks_task_begin(rgmi_hooks_task **out, const rgm_trial_setup *setup,
                                 rgm_arena *arena)
{
    rgm_status status = RGM_OK;
    rgmi_hooks_task *task = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(task, 1));
    task->hooks = setup->hooks;
    task->checked = setup->is_test ? CHECKED_IN_TEST : 0;
    if (task->hooks == NULL)
        RGM_GO(rgmi_hooks_find(&task->hooks, &task->object,
                               setup->entrypoint != NULL
                                   ? setup->entrypoint
                                   : rgm_search_file_settings(setup->file)->entrypoint));
    RGM_GO(rgmi_hooks_check(task->hooks));
    RGM_GO(read_configs(task, setup, arena));
    *out = task;
    task = NULL;
done:
    rgmi_hooks_task_release(task);
    return status;
}

static rgm_status fill_in(rgmi_hooks_task *task, rgm_run_options *options, rgm_arena *arena,
                          const rgm_trial_setup *setup)
{
    const rgm_search_file *file = setup->file;
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    RGM_GO(read_options(options, task, arena));
    RGM_GO(list_hparams(options, file, setup->values, arena));
    RGM_GO(rgm_yaml_print(&text, rgm_yaml_root(task->point)));
    options->config = rgm_arena_strdup(arena, text.data);
    if (options->config == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a trial's file"));
    RGM_GO(read_session(options, task, arena));
    RGM_GO(read_plateau(options, task, arena));
    RGM_GO(rgmi_is_estimator(task->hooks) ? ask_estimator_hooks(options, task)
                                          : ask_graph_hooks(options, task));
    RGM_GO(ask_receivers(task));
    RGM_GO(rgmi_measures_ask(task));
    task->shards = options->runtime.shards;
    RGM_GO(rgmi_hooks_take_formats(task, options));
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_hooks_task_create(rgmi_hooks_task **out, rgm_task *task, rgm_run_options *options,
                                  rgm_arena *arena, const rgm_trial_setup *setup)
{
    rgm_status status = RGM_OK;
    rgmi_hooks_task *made = NULL;

    *out = NULL;
    RGM_GO(rgmi_hooks_task_begin(&made, setup, arena));
    RGM_GO(fill_in(made, options, arena, setup));
    *task = (rgm_task){.name = made->hooks->name,
                       .items = "records",
                       .state = made,
                       .build_inputs = build_inputs,
                       .build_model = rgmi_hooks_model,
                       .build_metrics = rgmi_hooks_metrics,
                       .feeds = feed,
                       .process_metrics = rgmi_hooks_count};
    rgmi_reducers_attach(task, made);
    rgmi_hooks_take_examples(task, made);
    rgmi_hooks_take_rows(task, made);
    *out = made;
    made = NULL;
done:
    rgmi_hooks_task_release(made);
    return status;
}

void rgmi_hooks_task_release(rgmi_hooks_task *task)
{
    if (task == NULL)
        return;
    rgmi_callbacks_release(&task->callbacks);
    rgm_dataset_release(task->train);
    rgm_dataset_release(task->valid);
    for (int i = 0; i < RGMI_MAX_TENSORS; i++)
        rgm_free(task->name_texts[i]);
    rgm_yaml_release(task->document);
    rgm_yaml_release(task->point);
    if (task->object != NULL)
        dlclose(task->object);
    rgm_free(task);
}
