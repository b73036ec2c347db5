/*
 * Epochs on top of loops: an epoch is a loop of steps_per_epoch steps or of one pass over the data,
 * with validation after it (every validation_freq-th) or inside it (validation_per_epoch times).
 * Nothing else about training is here.
 */
#include <math.h>
#include <string.h>

#include "controller_internal.h"

/* Drop the older half when there are twice as many as promised: each takes a kilobyte. */
static void forget_old(rgm_controller *c)
{
    const int64_t kept = RGM_HISTORY_EPOCHS;

    if (c->history_count < 2 * kept)
        return;
    for (int64_t i = 0; i < c->history_count - kept; i++)
        rgmi_epoch_logs_clear(&c->history[i]);
    memmove(c->history, c->history + c->history_count - kept, (size_t)kept * sizeof *c->history);
    c->history_count = kept;
}

static rgm_status remember(rgm_controller *c, const rgm_logs *train, const rgm_logs *valid)
{
    rgm_epoch_logs *line;

    forget_old(c);
    RGM_TRY(RGM_RESERVE(c->history, c->history_capacity, c->history_count + 1));
    line = &c->history[c->history_count++];
    *line = (rgm_epoch_logs){.epoch = c->epochs,
                             .step = rgm_trainer_global_step(c->trainer),
                             .validated = valid != NULL};
    RGM_TRY(rgm_logs_merge(&line->train, train));
    if (valid != NULL)
        RGM_TRY(rgm_logs_merge(&line->valid, valid));
    if (c->hooks.epoch_end != NULL)
        return c->hooks.epoch_end(line, c->hooks.payload);
    return RGM_OK;
}

void rgmi_epoch_logs_clear(rgm_epoch_logs *epoch)
{
    rgm_logs_clear(&epoch->train);
    rgm_logs_clear(&epoch->valid);
}

static rgm_status one_epoch(rgm_controller *c, bool validate, const rgm_logs **valid)
{
    const rgm_trainer_options *o = &c->options;
    const rgm_logs *train, *now = NULL;
    bool done;

    RGM_TRY(
        rgmi_run_loop(c, o->steps_per_epoch > 0 ? o->steps_per_epoch : RGM_TO_END, &done, &train));
    if (!done && validate && c->out_of_time &&
        c->evaluated_step < rgm_trainer_global_step(c->trainer))
        return rgmi_evaluate(c, RGM_VALID, o->validation_steps, valid);
    if (!done)
        return RGM_OK;
    if (validate && c->epochs % o->validation_freq == 0)
        RGM_TRY(rgmi_evaluate(c, RGM_VALID, o->validation_steps, &now));
    if (now != NULL)
        *valid = now;
    RGM_TRY(remember(c, train, now));
    rgmi_show_progress(c, now != NULL ? c->last_seen : NAN);
    return rgmi_save_if_due(c);
}

rgm_status rgmi_train_epochs(rgm_controller *c, bool validate, const rgm_logs **logs)
{
    *logs = NULL;
    c->in_epochs = true;
    if (!rgm_trainer_has_data(c->trainer, RGM_TRAIN))
        return RGM_FAIL(RGM_ERR_ARG, "this trainer was made to evaluate only");
    if (c->epochs < c->options.epochs)
        RGM_TRY(rgmi_events_open(c));
    rgmi_begin_stretch(c);
    while (c->epochs < c->options.epochs && !c->finished && !rgmi_is_out_of_time(c))
        RGM_TRY(one_epoch(c, validate, logs));
    return rgmi_state_keep(c);
}
