/*
 * How long was trained: over all starts of a run, until trainer.max_seconds are enough; and what
 * that came to in this process, for rates.
 */
#include "controller_internal.h"

double rgmi_seconds(const rgm_controller *c)
{
    return c->in_stretch ? c->seconds + rgm_now() - c->stretch_time : c->seconds;
}

rgmi_work rgmi_work_so_far(const rgm_controller *c)
{
    rgmi_work work = c->work;
    int64_t steps = rgm_trainer_global_step(c->trainer) - c->timer_step;

    if (!c->in_stretch || steps < 0) /* rolled back: nothing that is left of it */
        return work;
    work.steps += (double)steps;
    work.seconds += rgm_now() - c->timer_time;
    work.items += c->timer_items;
    if (rgm_trainer_loop_step(c->trainer) > 0)
        work.items += c->trainer->train_sums.sums[1];
    return work;
}

void rgmi_take_work(rgm_controller *c)
{
    c->work = rgmi_work_so_far(c);
}

void rgmi_start_clock(rgm_controller *c)
{
    if (!c->in_stretch)
        c->stretch_time = rgm_now();
    c->in_stretch = true;
}

void rgmi_stop_clock(rgm_controller *c)
{
    rgmi_take_work(c);
    c->seconds = rgmi_seconds(c);
    c->in_stretch = false;
}

bool rgmi_is_out_of_time(rgm_controller *c)
{
    double most = c->options.max_seconds;

    if (most <= 0 || c->out_of_time || rgmi_seconds(c) < most)
        return c->out_of_time;
    c->out_of_time = true;
    rgm_log_write(RGM_LOG_INFO, "training ends at step %lld: trainer.max_seconds (%g) are over",
                  (long long)rgm_trainer_global_step(c->trainer), most);
    rgmi_tell(c, RGM_EVENT_STOP, RGM_TRAIN, NULL);
    return true;
}
