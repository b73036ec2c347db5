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

static rgm_status prepare(rgm_run_options *options, rgm_trial_task *task, const char *run_dir,
                          bool is_asked)
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
    task->hooks->is_asked = is_asked;
    options->run_dir = run_dir;
    if (task->hooks->receiver_count > 0) {
        task->exporter = rgmi_hooks_exporter(task->hooks);
        options->exporters = options->checkpoint_exporters = &task->exporter;
        options->exporter_count = options->checkpoint_exporter_count = run_dir != NULL ? 1 : 0;
    }
    return RGM_OK;
}

rgm_status rgm_trial_task_prepare(rgm_run_options *options, rgm_trial_task *task,
                                  const char *run_dir)
{
    return prepare(options, task, run_dir, false);
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

/* ---- of a run folder ------------------------------------------------------------------------- */

/* Of a registered run the object lies in its folder code/. */
static rgm_status take_registered_code(rgm_yaml *merged, const char *run_dir)
{
    const rgm_yaml_node *node = rgm_yaml_find(rgm_yaml_root(merged), "entrypoint");
    const char *slash = node->text != NULL ? strrchr(node->text, '/') : NULL, *colon;
    rgm_status status = RGM_OK;
    char *object = NULL, *whole = NULL;
    rgm_text value = {0};

    if (node->text == NULL)
        return RGM_OK;
    slash = slash != NULL ? slash + 1 : node->text;
    colon = slash + strcspn(slash, ":");
    RGM_GO(rgm_strprintf(&object, "%s/code/%.*s", run_dir, (int)(colon - slash), slash));
    if (!rgm_path_exists(object))
        goto done;
    RGM_GO(rgm_strprintf(&whole, "%s%s", object, colon));
    RGM_GO(rgm_json_print_text(&value, whole));
    RGM_GO(rgm_yaml_set(merged, "entrypoint", value.data, run_dir));
done:
    rgm_free(object);
    rgm_free(whole);
    rgm_text_clear(&value);
    return status;
}

rgm_status rgm_trial_task_load(rgm_trial_task **out, const char *run_dir, const char *const *sets,
                               int64_t set_count)
{
    rgm_experiment_layers layers = {.sets = sets, .set_count = set_count};
    rgm_status status = RGM_OK;
    rgm_yaml *merged = NULL;
    rgm_search_file *file = NULL;
    char *path = NULL;

    *out = NULL;
    RGM_GO(rgm_path_join(&path, run_dir, "config.yaml"));
    layers.name = path;
    if (!rgm_path_exists(path))
        goto done;
    RGM_GO(rgm_experiment_merge_layers(&merged, &layers));
    if (rgm_yaml_find(rgm_yaml_root(merged), "entrypoint") == NULL)
        goto done;
    RGM_GO(take_registered_code(merged, run_dir));
    RGM_GO(rgm_trial_load_merged(&file, NULL, path, merged, NULL));
    RGM_GO(rgm_trial_task_create(out, file, NULL));
done:
    rgm_search_file_release(file);
    rgm_yaml_release(merged);
    rgm_free(path);
    return status;
}

/* ---- asked ----------------------------------------------------------------------------------- */

typedef struct asked_run {
    rgm_trial_task *task;
    rgm_open_run *run;
} asked_run;

static void release_asked(void *payload)
{
    asked_run *asked = payload;

    if (asked == NULL)
        return;
    rgm_run_close(asked->run);
    rgm_trial_task_release(asked->task);
    rgm_free(asked);
}

/* A run of hooks without its data, and whether what it is asked in suffices. */
static rgm_status open_asked(asked_run *asked, const char *run_dir)
{
    rgm_run_options options;

    RGM_TRY(prepare(&options, asked->task, run_dir, true));
    options.read_only = true;
    options.runtime.threads = rgm_threads(); /* the program's, not those it was trained with */
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        options.no_data[mode] = true;
    RGM_TRY(rgm_trial_task_open(&asked->run, asked->task, &options));
    if (rgm_run_steps(asked->run) == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no checkpoint yet", run_dir);
    return asked->task->hooks != NULL ? rgm_error_prefix(rgmi_hooks_check_asked(asked->task->hooks),
                                                         "%s cannot be asked", run_dir)
                                      : RGM_OK;
}

rgm_status rgm_trial_predictor_open(rgm_predictor **out, const char *folder,
                                    const char *const *sets, int64_t set_count)
{
    rgm_status status = RGM_OK;
    rgm_trial_task *task;
    asked_run *asked = NULL;

    *out = NULL;
    RGM_TRY(rgm_trial_task_load(&task, folder, sets, set_count));
    if (task == NULL)
        return rgm_predictor_open(out, folder, sets, set_count);
    status = RGM_NEW(asked, 1);
    if (status != RGM_OK) {
        rgm_trial_task_release(task);
        return status;
    }
    asked->task = task;
    RGM_GO(open_asked(asked, folder));
    RGM_GO(rgm_run_predictor(out, asked->run));
    rgm_predictor_keep(*out, release_asked, asked);
    asked = NULL;
done:
    release_asked(asked);
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
