/*
 * How far a run is, and how long it has trained: over all its starts, for trainer.max_seconds; and
 * how much in this process, for rates.
 */
#include "controller_internal.h"

int64_t rgmi_epoch_now(const rgm_controller *c)
{
    return c->in_epochs ? c->epochs + (rgm_trainer_loop_step(c->trainer) > 0)
                        : rgm_trainer_passes(c->trainer);
}

bool rgm_controller_finished(const rgm_controller *c)
{
    if (c->finished || c->out_of_time)
        return true;
    return c->options.train_steps > 0
               ? rgm_trainer_global_step(c->trainer) >= c->options.train_steps
               : c->epochs >= c->options.epochs;
}

double rgmi_seconds(const rgm_controller *c)
{
    return c->in_stretch ? c->seconds + rgm_now() - c->stretch_time : c->seconds;
}

double rgmi_run_seconds(const rgm_controller *c)
{
    double here = rgmi_seconds(c) - c->seconds_before;

    return c->system_log != NULL ? rgm_system_log_seconds(c->system_log) + here : here;
}

rgmi_work rgmi_work_so_far(const rgm_controller *c)
{
    rgmi_work work = c->work;
    int64_t steps = rgm_trainer_global_step(c->trainer) - c->timer_step;

    if (!c->in_stretch || steps < 0) /* rolled back: nothing of it is left */
        return work;
    work.steps += (double)steps;
    work.seconds += rgm_now() - c->timer_time;
    work.items += c->timer_items;
    if (rgm_trainer_loop_step(c->trainer) > 0)
        work.items += rgm_trainer_loop_items(c->trainer);
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
