/*
 * What a run tells of its learning rate, and trainer.reduce_on_plateau: Keras' ReduceLROnPlateau on
 * top of any schedule. A reduction is a factor on the schedule's rate, and a checkpoint keeps it.
 */
#include <float.h>
#include <math.h>

#include "controller_internal.h"

void rgmi_plateau_apply(rgm_controller *c)
{
    rgm_optimizer *optimizer = rgm_trainer_optimizer(c->trainer);

    if (optimizer != NULL)
        rgm_optimizer_reduce_rate(optimizer, c->rate_factor,
                                  c->options.reduce_on_plateau.min_learning_rate);
}

void rgmi_rate_tell(const rgm_controller *c, int64_t before)
{
    const rgm_optimizer *optimizer = rgm_trainer_optimizer(c->trainer);
    int64_t updates = rgm_trainer_updates(c->trainer), epochs;
    double from, to;

    if (optimizer == NULL || updates == before)
        return;
    epochs = rgm_schedule_epochs(&rgm_optimizer_settings(optimizer)->learning_rate, updates);
    if (epochs == rgm_schedule_epochs(&rgm_optimizer_settings(optimizer)->learning_rate, before))
        return;
    from = rgm_optimizer_rate(optimizer, before);
    to = rgm_optimizer_rate(optimizer, updates);
    if (from != to)
        rgm_log_write(RGM_LOG_INFO,
                      "behind epoch %lld the learning rate goes from %g to %g at step %lld",
                      (long long)epochs, from, to, (long long)rgm_trainer_global_step(c->trainer));
}

static void reduce(rgm_controller *c)
{
    rgm_optimizer *optimizer = rgm_trainer_optimizer(c->trainer);
    int64_t updates = rgm_trainer_updates(c->trainer);
    double before = rgm_optimizer_rate(optimizer, updates);

    c->rate_factor = fmax(c->rate_factor * c->options.reduce_on_plateau.factor, DBL_MIN);
    rgmi_plateau_apply(c);
    rgm_log_write(
        RGM_LOG_INFO,
        "%s has not improved in %lld validations: the learning rate goes from %g to %g at "
        "step %lld",
        c->plateau_name, (long long)c->plateau_wait, before, rgm_optimizer_rate(optimizer, updates),
        (long long)rgm_trainer_global_step(c->trainer));
}

static bool improves(const rgm_controller *c, double value)
{
    double delta = c->options.reduce_on_plateau.min_delta;

    if (!isfinite(value) || isnan(c->plateau_value))
        return isfinite(value);
    return c->plateau_is_smaller ? value < c->plateau_value - delta
                                 : value > c->plateau_value + delta;
}

void rgmi_plateau_forget(rgm_controller *c)
{
    c->plateau_value = NAN;
    c->plateau_wait = c->plateau_cooldown = 0;
}

void rgmi_plateau_judge(rgm_controller *c, double value)
{
    const rgm_trainer_plateau *o = &c->options.reduce_on_plateau;
    rgm_optimizer *optimizer = rgm_trainer_optimizer(c->trainer);

    if (c->plateau_cooldown > 0) {
        c->plateau_cooldown--;
        c->plateau_wait = 0;
    }
    if (improves(c, value)) {
        c->plateau_value = value;
        c->plateau_wait = 0;
        return;
    }
    if (c->plateau_cooldown > 0 || ++c->plateau_wait < o->patience)
        return;
    if (rgm_optimizer_rate(optimizer, rgm_trainer_updates(c->trainer)) <= o->min_learning_rate)
        return; /* at the lowest rate: keep waiting, as Keras does */
    reduce(c);
    c->plateau_cooldown = o->cooldown;
    c->plateau_wait = 0;
}
