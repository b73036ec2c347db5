/*
 * The one place where a controller looks at what other processes of its run cannot see: the clock
 * and the signal that asks it to stop. All processes decide together on it (rgm_trainer_decide()),
 * so that all stop, save and end at the same step. The trainer decides in the same way on a step's
 * numbers.
 */
#include "controller_internal.h"

static bool is_asked_to_stop(const rgm_controller *c)
{
    return c->hooks.should_stop != NULL && c->hooks.should_stop(c->hooks.payload);
}

static bool is_save_due(const rgm_controller *c)
{
    return c->folder != NULL && c->options.checkpoint.every_seconds > 0 &&
           rgm_now() - c->saved_time >= c->options.checkpoint.every_seconds;
}

static bool is_out_of_time(const rgm_controller *c)
{
    return c->options.max_seconds > 0 && rgmi_seconds(c) >= c->options.max_seconds;
}

bool rgmi_decide(const rgm_controller *c, rgm_decision about)
{
    bool seen = (about == RGM_DECIDE_STOP && is_asked_to_stop(c)) ||
                (about == RGM_DECIDE_SAVE && is_save_due(c)) ||
                (about == RGM_DECIDE_OUT_OF_TIME && is_out_of_time(c));

    return (rgm_trainer_decide(c->trainer, seen ? about : 0) & about) != 0;
}

bool rgmi_is_out_of_time(rgm_controller *c)
{
    if (c->out_of_time || !rgmi_decide(c, RGM_DECIDE_OUT_OF_TIME))
        return c->out_of_time;
    c->out_of_time = true;
    rgm_log_write(RGM_LOG_INFO, "training ends at step %lld: trainer.max_seconds (%g) are over",
                  (long long)rgm_trainer_global_step(c->trainer), c->options.max_seconds);
    rgmi_tell(c, RGM_EVENT_STOP, RGM_TRAIN, NULL);
    return true;
}
