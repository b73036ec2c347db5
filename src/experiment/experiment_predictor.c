/*
 * Opens a predictor from an export's folder, where the tables of experiment files read its
 * model.yaml and the task type makes a task without data from it; or from a run folder.
 */
#include "experiment_internal.h"

/* ---- an export ------------------------------------------------------------------------------- */

static rgm_status open_export(rgm_predictor **out, rgm_experiment *e, const char *folder)
{
    rgm_task task = {0};
    char *weights = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_serving_read(e));
    if (e->type->serve == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s: a model of the type %s cannot be asked by a predictor", folder,
                        e->type->name));
    e->setup.threads = rgm_threads();
    RGM_GO(e->type->serve(&task, &e->setup, folder));
    RGM_GO(rgm_path_join(&weights, folder, RGM_SERVING_WEIGHTS));
    RGM_GO(rgm_predictor_create(out, &task, weights));
done:
    rgm_task_release(&task);
    rgm_free(weights);
    return status;
}

static void release_experiment(void *experiment)
{
    rgm_experiment_release(experiment);
}

static rgm_status load_export(rgm_predictor **out, const char *folder, const char *const *sets,
                              int64_t set_count)
{
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;

    RGM_GO(RGM_NEW(e, 1));
    RGM_GO(rgm_path_join(&e->path, folder, RGM_SERVING_MODEL));
    if (!rgm_path_exists(e->path))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "%s has no " RGM_SERVING_MODEL ": it is no export of an experiment file "
                        "that can be served",
                        folder));
    RGM_GO(rgm_arena_create(&e->arena));
    RGM_GO(rgm_yaml_load(&e->yaml, e->path));
    for (int64_t i = 0; i < set_count; i++)
        RGM_GO(rgmi_apply_set(e->yaml, sets[i], e->arena));
    RGM_GO(open_export(out, e, folder));
    rgm_predictor_keep(*out, release_experiment, e); /* its task's options belong to it */
    e = NULL;
done:
    rgm_experiment_release(e);
    return status;
}

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct opened_run {
    rgm_experiment *experiment;
    rgm_open_run *run;
} opened_run;

static void release_run(void *payload)
{
    opened_run *opened = payload;

    if (opened == NULL)
        return;
    rgm_run_close(opened->run);
    rgm_experiment_release(opened->experiment);
    rgm_free(opened);
}

/* A program's own model is built by its functions, which nobody loads here. */
static rgm_status check_program(const char *folder)
{
    rgm_status status = RGM_OK;
    rgm_yaml *config = NULL;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, folder, "config.yaml"));
    RGM_GO(rgm_yaml_load(&config, path));
    if (rgm_yaml_find(rgm_yaml_root(config), "entrypoint") != NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s is a run of a program's own model, which only the program builds: "
                        "rgm_trial_predictor_open() and `regimen answer` open it where the program "
                        "is, and others serve what `regimen export` writes",
                        folder));
done:
    rgm_yaml_release(config);
    rgm_free(path);
    return status;
}

static rgm_status load_run(rgm_predictor **out, const char *folder, const char *const *sets,
                           int64_t set_count)
{
    rgm_status status = RGM_OK;
    opened_run *opened = NULL;
    rgm_run_options options;

    RGM_GO(check_program(folder));
    RGM_GO(RGM_NEW(opened, 1));
    RGM_GO(rgm_experiment_load_run(&opened->experiment, folder, sets, set_count));
    RGM_GO(rgm_experiment_prepare_asked(&options, opened->experiment, folder));
    options.read_only = true;
    options.runtime.threads = rgm_threads(); /* the program's, not those it was trained with */
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        options.no_data[mode] = true;
    RGM_GO(rgm_experiment_open(&opened->run, opened->experiment, &options));
    if (rgm_run_saved_step(opened->run) < 0)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no checkpoint yet", folder));
    RGM_GO(rgm_run_predictor(out, opened->run));
    rgm_predictor_keep(*out, release_run, opened);
    opened = NULL;
done:
    release_run(opened);
    return status;
}

/* ---- either ---------------------------------------------------------------------------------- */

rgm_model_folder rgm_model_folder_kind(const char *folder)
{
    if (rgm_folder_has(folder, "config.yaml"))
        return RGM_FOLDER_RUN;
    return rgm_folder_has(folder, RGM_SERVING_MODEL) ? RGM_FOLDER_EXPORT : RGM_FOLDER_NONE;
}

rgm_status rgm_predictor_open(rgm_predictor **out, const char *folder, const char *const *sets,
                              int64_t set_count)
{
    *out = NULL;
    return rgm_model_folder_kind(folder) == RGM_FOLDER_RUN
               ? load_run(out, folder, sets, set_count)
               : load_export(out, folder, sets, set_count);
}
