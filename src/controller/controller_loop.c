/*
 * Training in loops: what is done between steps (signals, clock, summaries), at a loop's end
 * (actions, log, summaries, checkpoint, in this order), and after a failed step.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller_internal.h"

/* ---- checkpoints --------------------------------------------------------------------------- */

/*
 * Whether a multiple of every_steps was passed since the last check. This includes the first loop
 * of a run, and a run that was interrupted saves where it would have saved.
 */
static bool due_by_steps(rgm_controller *c)
{
    int64_t every = c->options.checkpoint.every_steps, before = c->looked_step;

    c->looked_step = rgm_trainer_global_step(c->trainer);
    return every > 0 && c->looked_step / every > before / every;
}

static void restart_timer(rgm_controller *c)
{
    rgmi_take_work(c);
    c->timer_time = rgm_now();
    c->timer_step = rgm_trainer_global_step(c->trainer);
    /* The sums of a continued loop include earlier amounts, which do not belong to this time. */
    c->timer_items = c->timer_flops = 0;
    if (rgm_trainer_loop_step(c->trainer) > 0) {
        c->timer_items = -rgm_trainer_loop_items(c->trainer);
        c->timer_flops = -rgm_trainer_loop_flops(c->trainer);
    }
}

/* The last check of a continued loop was at its beginning, or (in epochs) at its last execution. */
void rgmi_begin_stretch(rgm_controller *c)
{
    int64_t under_way = rgm_trainer_loop_step(c->trainer);

    if (under_way < 0)
        under_way = 0;
    if (c->in_epochs)
        under_way %= c->options.steps_per_execution;
    c->looked_step = rgm_trainer_global_step(c->trainer) - under_way;
    restart_timer(c);
    rgmi_start_clock(c);
}

static bool due_by_epochs(const rgm_controller *c)
{
    int64_t every = c->options.checkpoint.every_epochs;
    bool at_end = rgm_trainer_loop_step(c->trainer) < 0;

    return every > 0 && c->in_epochs && at_end && c->epochs % every == 0;
}

rgm_status rgmi_save_if_due(rgm_controller *c)
{
    bool steps, due;

    if (!c->keeps)
        return RGM_OK;
    RGM_TRY(rgmi_behind_look(c));
    steps = due_by_steps(c); /* always called, since it moves on */
    due = steps || due_by_epochs(c) || rgmi_decide(c, RGM_DECIDE_SAVE);
    return due ? rgmi_state_keep_on_the_way(c) : RGM_OK;
}

/* ---- recovery ------------------------------------------------------------------------------ */

static rgm_status recover(rgm_controller *c, rgm_status failure)
{
    const rgm_trainer_recovery *r = &c->options.recovery;
    /* the weights before an update that overflowed are kept nowhere else */
    bool skip = r->policy == RGM_RECOVER_SKIP && !rgm_trainer_is_spoiled(c->trainer);

    if (failure != RGM_ERR_NUMERIC || r->policy == RGM_RECOVER_STOP)
        return failure;
    if (c->tries >= r->max_tries)
        return rgm_error_prefix(failure,
                                "after %lld bad steps (trainer.recovery.max_tries is %lld)",
                                (long long)c->tries, (long long)r->max_tries);
    c->tries++;
    rgm_log_write(RGM_LOG_WARNING, "%s; %s (%lld of %lld)", rgm_error_message(),
                  skip ? "skipped" : "rolled back", (long long)c->tries, (long long)r->max_tries);
    rgm_error_reset();
    if (skip) {
        rgm_trainer_skip_step(c->trainer);
    } else {
        int64_t tries = c->tries;

        RGM_TRY(rgmi_roll_back(c));
        c->tries = tries; /* or it would be tried forever */
        rgmi_begin_stretch(c);
        c->rolled_back = true;
    }
    rgmi_tell(c, RGM_EVENT_RECOVER, RGM_TRAIN, NULL);
    return RGM_OK;
}

/* ---- one loop ------------------------------------------------------------------------------ */

static rgm_status stop(rgm_controller *c)
{
    RGM_TRY(rgmi_state_keep(c));
    rgmi_tell(c, RGM_EVENT_STOP, RGM_TRAIN, NULL);
    return RGM_STOPPED;
}

static rgm_status begin_loop(rgm_controller *c)
{
    if (rgm_trainer_loop_step(c->trainer) >= 0) /* an interrupted loop continues */
        return RGM_OK;
    RGM_TRY(rgm_trainer_train_loop_begin(c->trainer));
    rgmi_tell(c, RGM_EVENT_LOOP_BEGIN, RGM_TRAIN, NULL);
    return RGM_OK;
}

/* Do what may be due after a step that is not the loop's last. */
static rgm_status between_steps(rgm_controller *c)
{
    if (rgm_trainer_loop_step(c->trainer) % c->options.steps_per_execution != 0)
        return RGM_OK;
    if (c->in_epochs)
        return rgmi_save_if_due(c);
    RGM_TRY(rgmi_behind_look(c));
    return rgmi_decide(c, RGM_DECIDE_SAVE) ? rgmi_state_keep_on_the_way(c) : RGM_OK;
}

/* Validations inside an epoch are spread evenly over its steps, the last one at its end. */
static rgm_status validate_inside_epoch(rgm_controller *c)
{
    int64_t k = c->options.validation_per_epoch, n = c->options.steps_per_epoch;
    int64_t step = rgm_trainer_loop_step(c->trainer);
    const rgm_logs *logs;

    if (!c->in_epochs || k == 0 || step == n || step * k / n == (step - 1) * k / n)
        return RGM_OK;
    return rgmi_evaluate(c, RGM_VALID, c->options.validation_steps, &logs);
}

/* Whether a step was not made because those who make it are waited for (hooks.train_step). */
static bool is_waiting(const rgm_controller *c, rgm_status status)
{
    return status == RGM_STOPPED && rgm_trainer_hooks_of(c->trainer)->train_step != NULL;
}

/* What may be due meanwhile. */
static rgm_status while_waiting(rgm_controller *c)
{
    if (rgmi_decide(c, RGM_DECIDE_STOP))
        return stop(c);
    RGM_TRY(rgmi_behind_look(c));
    return c->keeps && rgmi_decide(c, RGM_DECIDE_SAVE) ? rgmi_state_keep_on_the_way(c) : RGM_OK;
}

static rgm_status run_steps(rgm_controller *c, int64_t steps)
{
    rgm_trainer *trainer = c->trainer;

    while (steps == RGM_TO_END || rgm_trainer_loop_step(trainer) < steps) {
        int64_t updates = rgm_trainer_updates(trainer);
        rgm_status status;

        if (rgm_trainer_loop_step(trainer) % c->options.steps_per_execution == 0) {
            if (rgmi_decide(c, RGM_DECIDE_STOP))
                return stop(c);
            if (rgmi_is_out_of_time(c))
                return RGM_OK;
        }
        status = rgm_trainer_train_step(trainer);
        if (status == RGM_END)
            return RGM_OK;
        if (is_waiting(c, status)) {
            RGM_TRY(while_waiting(c));
            if (rgmi_is_out_of_time(c))
                return RGM_OK;
            continue;
        }
        if (status == RGM_STOPPED) /* while it waited for a batch */
            return stop(c);
        c->changes++;
        c->placed_step = -1;
        if (status != RGM_OK) {
            RGM_TRY(recover(c, status));
            if (c->rolled_back)
                return RGM_OK;
        }
        if (rgm_trainer_profile_is_full(trainer))
            RGM_TRY(rgm_controller_write_profile(c));
        rgmi_rate_tell(c, updates);
        RGM_TRY(rgmi_log_model(c, false));
        RGM_TRY(rgmi_summarize_step(c));
        RGM_TRY(validate_inside_epoch(c));
        if (c->finished) /* by early stopping */
            return RGM_OK;
        if (!c->progress_in_epochs)
            rgmi_show_progress(c, c->last_seen);
        if (rgm_trainer_loop_step(trainer) != steps)
            RGM_TRY(between_steps(c));
    }
    return RGM_OK;
}

/* "examples_per_second", or the items that the task counts: "target_tokens_per_second". */
static void name_rate(char name[64], const char *items)
{
    snprintf(name, 64, "%s_per_second", items != NULL ? items : "examples");
    for (char *c = name; *c != '\0'; c++)
        if (*c == ' ')
            *c = '_';
}

/* Add operations a second, and their share of the machine's peak if that is known. */
static rgm_status add_flops(rgm_logs *rates, const rgm_controller *c, double seconds)
{
    double rate = c->timer_flops / seconds / 1e9,
           peak = rgm_trainer_runtime(c->trainer)->peak_gflops;

    if (!(rate > 0))
        return RGM_OK;
    RGM_TRY(rgm_logs_set(rates, "gflops_per_second", rate));
    return peak > 0 ? rgm_logs_set(rates, "mfu", rate / peak) : RGM_OK;
}

/* Steps and items a second since the last loop's end (or the restart of the timer). */
static rgm_status add_rates(rgm_controller *c, rgm_logs *rates)
{
    double now = rgm_now(), seconds = now - c->timer_time;
    int64_t step = rgm_trainer_global_step(c->trainer);
    char name[64];

    name_rate(name, rgm_trainer_task(c->trainer)->items);
    if (step > c->timer_step && seconds > 0) {
        RGM_TRY(rgm_logs_set(rates, "steps_per_second", (double)(step - c->timer_step) / seconds));
        RGM_TRY(rgm_logs_set(rates, name, c->timer_items / seconds));
        RGM_TRY(add_flops(rates, c, seconds));
    }
    rgmi_take_work(c); /* between two loops: the timer has all of it */
    c->timer_time = now;
    c->timer_step = step;
    c->timer_items = c->timer_flops = 0;
    return RGM_OK;
}

/* Whether the ending loop, of so many steps, has reached or passed a multiple of every_steps. */
static bool passed_export(const rgm_controller *c, int64_t steps)
{
    int64_t every = c->options.exports.every_steps, now = rgm_trainer_global_step(c->trainer);

    return every > 0 && now / every > (now - steps) / every;
}

static rgm_status end_loop(rgm_controller *c, const rgm_logs **logs)
{
    rgm_status status = RGM_OK;
    rgm_logs all = {0};
    int64_t steps = rgm_trainer_loop_step(c->trainer);
    double items = rgm_trainer_loop_items(c->trainer);

    c->timer_items += items;
    c->timer_flops += rgm_trainer_loop_flops(c->trainer);
    RGM_GO(rgmi_log_layers(c));
    RGM_GO(rgm_trainer_train_loop_end(c->trainer, logs));
    c->epochs += c->in_epochs;
    c->changes++;
    RGM_GO(rgm_logs_merge(&all, *logs));
    RGM_GO(rgmi_run_actions(c, c->train_actions, c->train_action_count, *logs));
    if (passed_export(c, steps))
        RGM_GO(rgmi_export_step(c));
    RGM_GO(add_rates(c, &all));
    rgmi_log_epsilon(c, &all);
    if (rgmi_is_told(c, RGMI_LINES_LOOPS))
        rgmi_log_line(c, "train", &all);
    RGM_GO(rgmi_log_metrics(c, "train", *logs));
    RGM_GO(rgmi_log_figures(c, false));
    RGM_GO(rgmi_summarize(c, "train", &all));
    if (c->options.summary_interval <= 0) /* a short run would have none before its end */
        RGM_GO(rgmi_summarize_weights(c));
    rgmi_tell(c, RGM_EVENT_LOOP_END, RGM_TRAIN, &all);
done:
    rgm_logs_clear(&all);
    return status;
}

rgm_status rgmi_run_loop(rgm_controller *c, int64_t steps, bool *done, const rgm_logs **logs)
{
    *done = false;
    c->rolled_back = false;
    if (rgmi_is_out_of_time(c))
        return RGM_OK;
    RGM_TRY(begin_loop(c));
    RGM_TRY(run_steps(c, steps));
    if (c->rolled_back)
        return RGM_OK;
    if ((c->out_of_time || c->finished) && rgm_trainer_loop_step(c->trainer) != steps)
        return RGM_OK; /* the loop stays unfinished; one that is out of time may get more */
    if (rgm_trainer_loop_step(c->trainer) == 0) { /* the loop before had used up the data */
        rgm_trainer_drop_loop(c->trainer);
        return RGM_OK;
    }
    RGM_TRY(end_loop(c, logs));
    *done = true;
    return RGM_OK;
}

/* ---- a lost device, a lost rank ------------------------------------------------------------ */

/* What is lost; NULL: nothing. Another rank's device is known by the errno that its error came
 * with. */
static const char *what_is_lost(const rgm_controller *c)
{
    rgm_comm *comm = rgm_trainer_comm(c->trainer);
    rgm_error error;

    rgm_error_save(&error, RGM_ERR_IO);
    if (rgm_device_is_lost(rgm_trainer_device(c->trainer)))
        return "the device";
    if (rgm_comm_is_lost(comm))
        return "a rank";
    return rgm_comm_size(comm) > 1 && error.system == ENODEV ? "a rank's device" : NULL;
}

rgm_status rgmi_when_lost(rgm_controller *c, rgm_status status)
{
    const char *what = status == RGM_ERR_IO ? what_is_lost(c) : NULL;

    status = rgmi_behind_finish(c, status);
    if (status < 0) /* the others wait, and are not told of a run that stopped */
        status = rgm_comm_fail(rgm_trainer_comm(c->trainer), status);
    if (what == NULL || !c->keeps)
        return status;
    if (c->folder != NULL && c->saved_step >= 0)
        rgm_log_write(RGM_LOG_WARNING, "%s is lost, and with it the steps after %lld: %s", what,
                      (long long)c->saved_step, rgm_error_message());
    else if (c->folder != NULL)
        rgm_log_write(RGM_LOG_WARNING, "%s is lost before anything was saved: %s", what,
                      rgm_error_message());
    rgm_error_reset();
    rgmi_tell(c, RGM_EVENT_STOP, RGM_TRAIN, NULL);
    return RGM_STOPPED;
}

/* ---- to a step ----------------------------------------------------------------------------- */

static int64_t loop_length(const rgm_controller *c, int64_t step)
{
    int64_t length = c->hooks.steps_per_loop != NULL
                         ? c->hooks.steps_per_loop(step, c->hooks.payload)
                         : c->options.steps_per_loop;

    return length;
}

/* Run loops until the target, or a rollback; *ended when the data have ended for good. */
static rgm_status train_until(rgm_controller *c, int64_t target, bool *ended)
{
    rgm_trainer *trainer = c->trainer;
    const rgm_logs *logs;

    *ended = c->rolled_back = false;
    while (rgm_trainer_global_step(trainer) < target && !c->finished && !c->out_of_time) {
        /* A continued loop began before this step, and ends where it would have ended. */
        int64_t under_way = rgm_trainer_loop_step(trainer) > 0 ? rgm_trainer_loop_step(trainer) : 0;
        int64_t begin = rgm_trainer_global_step(trainer) - under_way;
        int64_t length = loop_length(c, begin);
        bool done;

        if (length < 1)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "steps_per_loop gave %lld at step %lld, at least 1 is "
                            "needed",
                            (long long)length, (long long)begin);
        if (length > target - begin)
            length = target - begin;
        RGM_TRY(rgmi_run_loop(c, length, &done, &logs));
        if (c->rolled_back) /* validations may be due before the target again */
            return RGM_OK;
        if (done)
            RGM_TRY(rgmi_save_if_due(c));
        if (rgm_trainer_at_end(trainer)) {
            *ended = true;
            return RGM_OK;
        }
    }
    return RGM_OK;
}

static rgm_status check_target(const rgm_controller *c, int64_t steps)
{
    if (steps < 0)
        return RGM_FAIL(RGM_ERR_ARG, "to train to step %lld", (long long)steps);
    if (!rgm_trainer_has_data(c->trainer, RGM_TRAIN))
        return RGM_FAIL(RGM_ERR_ARG, "this trainer was made to evaluate only");
    return RGM_OK;
}

static rgm_status train(rgm_controller *c, int64_t steps)
{
    bool ended;

    RGM_TRY(check_target(c, steps));
    c->in_epochs = false;
    RGM_TRY(rgmi_events_open(c));
    rgmi_begin_stretch(c);
    do
        RGM_TRY(train_until(c, steps, &ended));
    while (c->rolled_back);
    return rgmi_state_keep(c);
}

rgm_status rgm_controller_train(rgm_controller *c, int64_t steps)
{
    rgm_logger *before = rgmi_enter(c);
    rgm_status status = rgmi_when_lost(c, train(c, steps));

    rgmi_stop_clock(c);
    return rgmi_leave(before, status == RGM_OK ? RGM_OK : rgmi_profile_finish(c, status));
}

/* The step of the next validation: a multiple of the interval, wherever the last one was made. */
static int64_t next_validation(const rgm_controller *c, int64_t interval, int64_t train_steps)
{
    int64_t last;

    if (interval == 0)
        return train_steps;
    last = c->evaluated_step - c->evaluated_step % interval;
    return interval < train_steps - last ? last + interval : train_steps;
}

static rgm_status train_and_evaluate(rgm_controller *c, int64_t train_steps, int64_t eval_steps,
                                     int64_t eval_interval, const rgm_logs **logs)
{
    const rgm_logs *last = NULL;
    bool ended = false;

    RGM_TRY(check_target(c, train_steps));
    if (eval_interval < 0)
        return RGM_FAIL(RGM_ERR_ARG, "to evaluate each %lld steps", (long long)eval_interval);
    c->in_epochs = false;
    RGM_TRY(rgmi_events_open(c));
    rgmi_begin_stretch(c);
    /* The checkpoint has the last evaluation's step, so an interrupted run evaluates where it would
     * have. */
    while (c->evaluated_step < train_steps && !ended && !c->finished && !rgmi_is_out_of_time(c)) {
        int64_t target = next_validation(c, eval_interval, train_steps);

        RGM_TRY(train_until(c, target, &ended));
        if (rgm_trainer_global_step(c->trainer) < target && !ended && !c->out_of_time)
            continue; /* rolled back, or stopped */
        RGM_TRY(rgmi_evaluate(c, RGM_VALID, eval_steps, &last));
    }
    if (logs != NULL)
        *logs = last;
    return rgmi_state_keep(c);
}

rgm_status rgm_controller_train_and_evaluate(rgm_controller *c, int64_t train_steps,
                                             int64_t eval_steps, int64_t eval_interval,
                                             const rgm_logs **logs)
{
    rgm_logger *before = rgmi_enter(c);
    rgm_status status =
        rgmi_when_lost(c, train_and_evaluate(c, train_steps, eval_steps, eval_interval, logs));

    rgmi_stop_clock(c);
    return rgmi_leave(before, status == RGM_OK ? RGM_OK : rgmi_profile_finish(c, status));
}
