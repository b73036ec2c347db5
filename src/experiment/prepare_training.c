/*
 * Makes the task of an experiment that is to be trained, which may open models that were trained
 * before: its teachers.
 */
#include <regimen/train_teachers.h>

#include "experiment_internal.h"

static void release_predictor(void *predictor)
{
    rgm_predictor_release(predictor);
}

/* rgm_task_setup.open_model */
static rgm_status open_model(rgm_trained_model *out, const char *folder)
{
    rgm_predictor *predictor;

    RGM_TRY(rgm_predictor_open(&predictor, folder, NULL, 0));
    *out = (rgm_trained_model){.task = rgm_predictor_task(predictor),
                               .parameters = rgm_predictor_parameters(predictor),
                               .name = folder,
                               .release = release_predictor,
                               .owner = predictor};
    return RGM_OK;
}

rgm_status rgm_experiment_prepare(rgm_run_options *options, rgm_experiment *e, const char *run_dir)
{
    RGM_TRY(rgmi_rate_check(NULL, e)); /* before data are read in vain */
    e->setup.open_model = open_model;
    RGM_TRY(rgmi_experiment_prepare(options, e, run_dir, RGMI_TO_TRAIN));
    return e->setup.begun ? RGM_OK : rgmi_fine_tuning_tell(e);
}
