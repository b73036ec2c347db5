/*
 * Opens a predictor from an export's folder: the tables of experiment files read its model.yaml,
 * and the task type makes a task without data from it.
 */
#include "experiment_internal.h"

static rgm_status open_folder(rgm_predictor **out, rgm_experiment *e, const char *folder)
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

static void release(void *experiment)
{
    rgm_experiment_release(experiment);
}

rgm_status rgm_predictor_open(rgm_predictor **out, const char *folder)
{
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(e, 1));
    RGM_GO(rgm_path_join(&e->path, folder, RGM_SERVING_MODEL));
    if (!rgm_path_exists(e->path))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "%s has no " RGM_SERVING_MODEL ": it is no export of an experiment file "
                        "that can be served",
                        folder));
    RGM_GO(rgm_arena_create(&e->arena));
    RGM_GO(rgm_yaml_load(&e->yaml, e->path));
    RGM_GO(open_folder(out, e, folder));
    rgm_predictor_keep(*out, release, e); /* its task's options belong to the experiment */
    e = NULL;
done:
    rgm_experiment_release(e);
    return status;
}
