/*
 * The controller as an object: creation, the modes of a run, properties. Loops are in
 * controller_loop.c, epochs in controller_epochs.c, evaluation in controller_eval.c, the run folder
 * in controller_state.c.
 */
#include <math.h>
#include <string.h>

#include "controller_internal.h"

/* ---- creation ------------------------------------------------------------------------------ */

static rgm_status copy_actions(rgm_action **out, int64_t *count, const rgm_action *actions,
                               int64_t n)
{
    RGM_TRY(RGM_NEW(*out, n));
    for (int64_t i = 0; i < n; i++)
        (*out)[i] = actions[i];
    *count = n;
    return RGM_OK;
}

rgm_status rgm_controller_create(rgm_controller **out, const rgm_controller_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_logger *before = rgm_logger_current();
    rgm_controller *c = NULL;

    *out = NULL;
    if (setup->trainer == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "a controller needs a trainer");
    RGM_GO(RGM_NEW(c, 1));
    c->trainer = setup->trainer;
    rgm_trainer_defaults(&c->options);
    if (setup->options != NULL)
        c->options = *setup->options;
    if (setup->hooks != NULL)
        c->hooks = *setup->hooks;
    c->saves_on_request = setup->saves_on_request;
    c->hparams = setup->hparams;
    c->hparam_count = setup->hparam_count;
    c->best_step = c->saved_step = c->saved_changes = c->histogram_step = c->exported_step = -1;
    c->placed_step = -1;
    c->best_value = c->stop_value = c->last_seen = c->plateau_value = NAN;
    c->rate_factor = 1;
    c->is_timed = c->options.max_seconds > 0;
    RGM_GO(copy_actions(&c->train_actions, &c->train_action_count, setup->train_actions,
                        setup->train_action_count));
    RGM_GO(copy_actions(&c->eval_actions, &c->eval_action_count, setup->eval_actions,
                        setup->eval_action_count));
    RGM_GO(rgmi_controller_check(c));
    RGM_GO(rgmi_choose_metrics(c));
    RGM_GO(rgmi_state_open(c, setup));
    *out = c;
    c = NULL;
done:
    rgm_logger_enter(before);
    rgm_controller_release(c);
    return status;
}

void rgm_controller_release(rgm_controller *c)
{
    if (c == NULL)
        return;
    rgmi_state_close(c);
    for (int64_t i = 0; i < c->history_count; i++)
        rgmi_epoch_logs_clear(&c->history[i]);
    rgm_free(c->history);
    rgm_free(c->result.reason);
    rgm_free(c->train_actions);
    rgm_free(c->eval_actions);
    rgm_free(c);
}

/* ---- modes --------------------------------------------------------------------------------- */

const char *const rgm_run_mode_names[] = {
    "train", "eval", "train_and_eval", "train_and_post_eval", "continuous_eval", NULL};

rgm_status rgm_controller_place_final_weights(rgm_controller *c)
{
    if (c->options.restore_best_weights != RGM_RESTORE_FALSE && c->best_step >= 0)
        return rgm_controller_restore_best(c);
    RGM_TRY(rgm_trainer_place_averages(c->trainer));
    return RGM_OK;
}

/* Train to the options' length, in steps or epochs; *logs stays NULL without a validation. */
static rgm_status train(rgm_controller *c, bool validate, const rgm_logs **logs)
{
    const rgm_trainer_options *o = &c->options;

    RGM_TRY(rgmi_log_privacy(c));
    validate = validate && rgm_trainer_has_data(c->trainer, RGM_VALID);
    if (o->train_steps == 0)
        RGM_TRY(rgmi_train_epochs(c, validate, logs));
    else if (validate)
        RGM_TRY(rgm_controller_train_and_evaluate(c, o->train_steps, o->validation_steps,
                                                  o->validation_interval, logs));
    else
        RGM_TRY(rgm_controller_train(c, o->train_steps));
    return RGM_OK;
}

/* Validate what was trained, unless that is done, and save what the validation has decided. */
static rgm_status validate_once(rgm_controller *c, const rgm_logs **logs)
{
    if (c->evaluated_step == rgm_trainer_global_step(c->trainer))
        return RGM_OK;
    RGM_TRY(rgm_controller_evaluate(c, RGM_VALID, c->options.validation_steps, logs));
    return rgmi_state_keep(c);
}

/* The best weights take the place of the last ones when these are validated and saved. */
static rgm_status train_and_finish(rgm_controller *c, rgm_run_mode mode, const rgm_logs **logs)
{
    RGM_TRY(train(c, mode == RGM_RUN_TRAIN_AND_EVAL, logs));
    if (mode == RGM_RUN_TRAIN_AND_POST_EVAL)
        RGM_TRY(validate_once(c, logs));
    RGM_TRY(rgmi_events_end(c));
    return rgm_controller_place_final_weights(c);
}

static rgm_status run(rgm_controller *c, rgm_run_mode mode, const rgm_logs **logs)
{
    const rgm_trainer_options *o = &c->options;

    *logs = NULL;
    switch (mode) {
    case RGM_RUN_TRAIN:
    case RGM_RUN_TRAIN_AND_EVAL:
    case RGM_RUN_TRAIN_AND_POST_EVAL:
        return train_and_finish(c, mode, logs);
    case RGM_RUN_EVAL:
        return rgm_controller_evaluate(c, RGM_VALID, o->validation_steps, logs);
    case RGM_RUN_CONTINUOUS_EVAL:
        return rgm_controller_evaluate_continuously(c, o->validation_steps,
                                                    rgm_trainer_run_length(c->trainer, o),
                                                    o->continuous_eval_timeout, NULL, NULL, logs);
    }
    return RGM_FAIL(RGM_ERR_ARG, "run mode %d", (int)mode);
}

rgm_status rgmi_controller_run(rgm_controller *c, rgm_run_mode mode, const rgm_logs **logs)
{
    rgm_logger *before = rgmi_enter(c);
    rgm_status status = rgmi_when_lost(c, run(c, mode, logs));

    rgmi_stop_clock(c);
    if (status == RGM_OK)
        status = rgmi_log_figures(c, true);
    if (status == RGM_OK)
        status = rgmi_log_model(c, true);
    return rgmi_leave(before, status);
}

rgm_status rgm_controller_run(rgm_controller *c, rgm_run_mode mode, const rgm_logs **logs)
{
    rgm_status status = rgmi_controller_run(c, mode, logs);
    rgm_logger *before = rgmi_enter(c);

    return rgmi_leave(before, rgmi_profile_finish(c, status));
}

/* ---- what can be asked --------------------------------------------------------------------- */

rgm_trainer *rgm_controller_trainer(const rgm_controller *c)
{
    return c->trainer;
}

int64_t rgm_controller_epochs(const rgm_controller *c)
{
    return c->epochs;
}

int64_t rgm_controller_best_step(const rgm_controller *c)
{
    return c->best_step;
}

double rgm_controller_best_value(const rgm_controller *c)
{
    return c->best_value;
}

const char *rgm_controller_best_metric(const rgm_controller *c)
{
    return c->best_name;
}

void rgm_controller_show_progress(rgm_controller *c, rgm_progress *progress, bool in_epochs)
{
    c->progress = progress;
    c->progress_in_epochs = in_epochs;
}

int64_t rgm_controller_history(const rgm_epoch_logs **epochs, const rgm_controller *c)
{
    *epochs = c->history;
    return c->history_count;
}
