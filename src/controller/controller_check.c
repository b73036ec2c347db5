/*
 * Checks a controller's options before anything is written: each value must be possible, no two may
 * exclude each other, and the validation data that they need must exist.
 */
#include <math.h>

#include "controller_internal.h"

/* The first key that is set of those that choose the best weights; NULL: none is set. */
static const char *best_key(const rgm_trainer_best *best)
{
    return best->metric != NULL          ? "metric"
           : best->mode != RGM_BEST_AUTO ? "mode"
           : best->keep > 0              ? "keep"
           : best->save                  ? "save"
                                         : NULL;
}

static rgm_status check_validation(const rgm_controller *c)
{
    const rgm_trainer_options *o = &c->options;
    const char *hint;

    if (rgm_trainer_has_data(c->trainer, RGM_VALID) ||
        rgm_trainer_leaves_data(c->trainer, RGM_VALID))
        return RGM_OK;
    hint = o->folds > 0 ? "; trainer.fold_valid takes some from each fold's training part" : "";
    if (o->validation_per_epoch > 0 || o->validation_steps > 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "trainer.%s is set but there are no validation data%s",
                        o->validation_per_epoch > 0 ? "validation_per_epoch" : "validation_steps",
                        hint);
    if (o->restore_best_weights == RGM_RESTORE_TRUE)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.restore_best_weights is true but there are no "
                        "validation data to choose them by%s",
                        hint);
    if (o->early_stopping.patience > 0 || o->reduce_on_plateau.patience > 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "trainer.%s is set but there are no validation data%s",
                        o->early_stopping.patience > 0 ? "early_stopping" : "reduce_on_plateau",
                        hint);
    if (best_key(&o->checkpoint.best) != NULL && rgm_trainer_has_data(c->trainer, RGM_TRAIN))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.checkpoint.best.%s is set but there are no validation data to "
                        "choose the best weights by%s; in an experiment file ~ takes a key back",
                        best_key(&o->checkpoint.best), hint);
    return RGM_OK;
}

rgm_status rgmi_controller_check(const rgm_controller *c)
{
    rgm_trainer_options o = c->options, defaults;

    rgm_trainer_defaults(&defaults);
    if (c->hooks.steps_per_loop != NULL) /* the hook itself sets the length of loops */
        o.steps_per_loop = 1;
    RGM_TRY(
        rgm_options_check_rules(rgm_trainer_rules, &o, &defaults, rgm_trainer_fields, "trainer"));
    if (o.recovery.loss_upper_bound == INFINITY) /* no bound; all others are finite */
        o.recovery.loss_upper_bound = 0;
    RGM_TRY(rgm_options_check(&o, rgm_trainer_fields, "trainer"));
    return check_validation(c);
}
