/*
 * Hooks as one run: the point of a search file that has only one.
 */
#include <regimen/trial_task.h>

#include <stdlib.h>
#include <string.h>

#include "hooks.h"

struct rgm_trial_task {
    rgm_search_file *file;
    const rgm_trial_hooks *own; /* or NULL */
    rgm_hyper_value *values;
    char *entrypoint;        /* without links and dots: config.yaml may lie anywhere */
    rgm_arena *arena;        /* of the run's options */
    rgm_experiment *premade; /* NULL: these are the hooks' */
    char *premade_name;
    rgmi_hooks_task *hooks;
    rgm_task task;
    rgm_exporter exporter;
};

static rgm_status check_point(const rgm_search_file *file)
{
    const rgm_space *space = rgm_search_file_space(file);

    if (rgm_search_file_settings(file)->command.count > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s is trained by a program, whose model this command does not know: "
                        "`regimen experiment run` trains it, and its checkpoints are what the "
                        "program saved",
                        rgm_search_file_path(file));
    if (rgm_search_file_settings(file)->entrypoint == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s has no entrypoint", rgm_search_file_path(file));
    for (int64_t i = 0; i < rgm_space_count(space); i++)
        if (rgm_space_at(space, i)->kind != RGM_HYPER_CONST)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "%s is a search, as its hyperparameter '%s' says: regimen experiment "
                            "run; --set hyperparameters.%s=VALUE makes one run of it",
                            rgm_search_file_path(file), rgm_space_at(space, i)->name,
                            rgm_space_at(space, i)->name);
    return RGM_OK;
}

rgm_status rgm_trial_task_create(rgm_trial_task **out, rgm_search_file *file,
                                 const rgm_trial_hooks *hooks)
{
    rgm_status status = RGM_OK;
    rgm_trial_task *task = NULL;
    rgm_mt19937 random;

    *out = NULL;
    RGM_GO(check_point(file));
    RGM_GO(RGM_NEW(task, 1));
    task->file = rgm_search_file_retain(file);
    task->own = hooks;
    RGM_GO(RGM_NEW(task->values, rgm_space_count(rgm_search_file_space(file)) + 1));
    rgm_mt19937_seed(&random, 0); /* values are given; nothing is drawn */
    RGM_GO(rgm_space_draw(task->values, rgm_search_file_space(file), &random));
    *out = task;
    task = NULL;
done:
    rgm_trial_task_release(task);
    return status;
}

void rgm_trial_task_release(rgm_trial_task *task)
{
    if (task == NULL)
        return;
    rgm_experiment_release(task->premade);
    rgm_free(task->premade_name);
    rgmi_hooks_task_release(task->hooks);
    rgm_arena_release(task->arena);
    rgm_search_file_release(task->file);
    rgm_free(task->entrypoint);
    rgm_free(task->values);
    rgm_free(task);
}

/* runtime.seed of a trial's file, else the search's. */
static rgm_status find_seed(uint32_t *seed, const rgm_search_file *file)
{
    const rgm_yaml_node *runtime = rgm_search_file_section(file, "runtime");
    const rgm_yaml_node *node = rgm_yaml_find(runtime, "seed");
    int64_t number = rgm_search_file_settings(file)->reproducibility.experiment_seed;

    if (node != NULL)
        RGM_TRY(rgm_yaml_int(&number, node));
    *seed = number >= 0 ? (uint32_t)number : 1;
    return RGM_OK;
}

static rgm_status find_object(rgm_trial_task *task)
{
    const char *entrypoint = rgm_search_file_settings(task->file)->entrypoint;
    const char *colon = strrchr(entrypoint, ':');
    rgm_status status = RGM_OK;
    char *path = NULL, *whole = NULL;

    RGM_GO(rgm_strndup(&path, entrypoint,
                       colon != NULL ? (size_t)(colon - entrypoint) : strlen(entrypoint)));
    whole = realpath(path, NULL);
    if (whole != NULL)
        RGM_GO(rgm_strprintf(&task->entrypoint, "%s%s", whole, colon != NULL ? colon : ""));
done:
    free(whole);
    rgm_free(path);
    return status;
}

rgm_status rgm_trial_task_prepare(rgm_run_options *options, rgm_trial_task *task,
                                  const char *run_dir)
{
    rgm_trial_setup setup = {
        .file = task->file, .hooks = task->own, .values = task->values, .run_dir = run_dir};

    if (task->hooks != NULL || task->premade != NULL)
        return RGM_FAIL(RGM_ERR_ARG, "a trial's task is prepared twice");
    RGM_TRY(find_seed(&setup.seed, task->file));
    if (task->own == NULL && task->entrypoint == NULL)
        RGM_TRY(find_object(task));
    setup.entrypoint = task->entrypoint;
    RGM_TRY(rgmi_premade_experiment(&task->premade, &task->premade_name, &setup));
    if (task->premade != NULL)
        return rgm_experiment_prepare(options, task->premade, run_dir);
    if (task->arena == NULL)
        RGM_TRY(rgm_arena_create(&task->arena));
    RGM_TRY(rgmi_hooks_task_create(&task->hooks, &task->task, options, task->arena, &setup));
    options->run_dir = run_dir;
    if (task->hooks->receiver_count > 0) {
        task->exporter = rgmi_hooks_exporter(task->hooks);
        options->exporters = options->checkpoint_exporters = &task->exporter;
        options->exporter_count = options->checkpoint_exporter_count = run_dir != NULL ? 1 : 0;
    }
    return RGM_OK;
}

static bool trains(const rgm_run_options *options)
{
    return options->mode == RGM_RUN_TRAIN || options->mode == RGM_RUN_TRAIN_AND_EVAL ||
           options->mode == RGM_RUN_TRAIN_AND_POST_EVAL;
}

rgm_status rgm_trial_task_open(rgm_open_run **run, const rgm_trial_task *task,
                               const rgm_run_options *options)
{
    rgm_run_options own = *options;
    rgm_status status;

    *run = NULL;
    if (task->premade != NULL)
        return rgm_experiment_open(run, task->premade, options);
    if (task->hooks == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "rgm_trial_task_prepare() comes first");
    if (options->read_only)
        return rgm_run_open(run, &task->task, options);
    RGM_TRY(
        rgmi_callbacks_attach(&own, task->hooks, options->run_dir, options->comm, trains(options)));
    RGM_TRY(rgm_run_open(run, &task->task, &own));
    status = rgmi_callbacks_opened(task->hooks, *run);
    if (status != RGM_OK) {
        rgm_run_close(*run);
        *run = NULL;
    }
    return status;
}

const char *rgm_trial_task_name(const rgm_trial_task *task)
{
    if (task->premade != NULL)
        return task->premade_name;
    return task->hooks != NULL ? task->hooks->hooks->name : "";
}

const char *rgm_trial_task_entrypoint(const rgm_trial_task *task)
{
    return rgm_search_file_settings(task->file)->entrypoint;
}

const char *rgm_trial_task_file(const rgm_trial_task *task)
{
    return rgm_search_file_name(task->file);
}
