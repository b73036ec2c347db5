/*
 * What a run's checkpoints have beside the state of the run: exports of their weights, written
 * before the checkpoint has its name, so that both are there or neither is.
 */
#include "controller_internal.h"

typedef struct filling {
    const rgm_controller *controller;
    const rgm_parameters *weights; /* NULL: the trainer's */
    const char *folder;
} filling;

static rgm_status call(void *payload)
{
    const filling *f = payload;

    return f->controller->fill(f->folder, f->controller->fill_payload);
}

/* While the trainer's weights are others. */
static rgm_status with_weights(filling *f)
{
    rgm_parameters *of_trainer = rgm_trainer_parameters(f->controller->trainer), *now = NULL;
    rgm_status status = RGM_OK, back;
    rgm_error error;

    RGM_GO(rgm_parameters_copy(&now, of_trainer));
    RGM_GO(rgm_parameters_take(of_trainer, f->weights));
    status = call(f);
    if (status != RGM_OK)
        rgm_error_save(&error, status);
    back = rgm_parameters_take(of_trainer, now);
    status = status != RGM_OK ? rgm_error_restore(&error) : back;
done:
    rgm_parameters_release(now);
    return status;
}

static rgm_status fill(const char *folder, void *payload)
{
    filling *f = payload;

    f->folder = folder;
    return f->weights != NULL ? with_weights(f)
                              : rgm_trainer_with_averages(f->controller->trainer, call, f);
}

rgm_status rgmi_save_filled(const rgm_controller *c, rgm_checkpoint_store *store,
                            const rgm_checkpoint *checkpoint, const rgm_parameters *weights)
{
    filling f = {c, weights, NULL};

    return rgm_checkpoint_save_with(store, checkpoint, c->fill != NULL ? fill : NULL, &f);
}
