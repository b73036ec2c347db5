/*
 * Evaluation by a controller: the pass, its actions and summaries, and for validation its effect on
 * the best weights and on early stopping.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller_internal.h"

/* ---- which metrics ------------------------------------------------------------------------- */

/* Names of reduce_aggregated_logs' numbers; NULL: not known yet. */
static const char *const *reduced_names(const rgm_controller *c)
{
    const rgm_task *task = rgm_trainer_task(c->trainer);

    return task->reduced_names != NULL ? task->reduced_names(task->state) : NULL;
}

/* The part of "valid.accuracy" after the dot. */
static const char *number_of(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot != NULL ? dot + 1 : "";
}

static bool is_of(const char *name, const char *part)
{
    size_t size = strlen(part);

    return strncmp(name, part, size) == 0 && name[size] == '.';
}

/* The set of "valid_news.accuracy"; -1: validation's own data, -2: neither. */
static int64_t set_of(const rgm_controller *c, const char *name)
{
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, c->trainer);

    if (is_of(name, rgm_mode_name(RGM_VALID)))
        return -1;
    for (int64_t i = 0; i < count; i++)
        if (sets[i].mode == RGM_VALID && is_of(name, rgm_trainer_eval_set_name(c->trainer, i)))
            return i;
    return -2;
}

/* A validation's logs for the set of a metric; `own`: those of validation's own data. */
static const rgm_logs *logs_of(const rgm_controller *c, const char *name, const rgm_logs *own)
{
    int64_t set = set_of(c, name);

    return set >= 0 ? rgm_trainer_eval_set_logs(c->trainer, set) : own;
}

static rgm_status add_names(rgm_text *names, const rgm_controller *c, const char *part)
{
    for (int64_t i = 0; i < rgm_trainer_metric_count(c->trainer, RGM_VALID); i++)
        RGM_TRY(rgm_text_printf(names, " %s.%s", part,
                                rgm_trainer_metric_name(c->trainer, RGM_VALID, i)));
    for (const char *const *reduced = reduced_names(c); reduced != NULL && *reduced != NULL;
         reduced++)
        RGM_TRY(rgm_text_printf(names, " %s.%s", part, *reduced));
    return RGM_OK;
}

static rgm_status unknown_metric(const rgm_controller *c, const char *key, const char *name)
{
    rgm_text names = {0};
    rgm_status status = RGM_OK;
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, c->trainer);

    RGM_GO(add_names(&names, c, rgm_mode_name(RGM_VALID)));
    for (int64_t i = 0; i < count; i++)
        if (sets[i].mode == RGM_VALID)
            RGM_GO(add_names(&names, c, rgm_trainer_eval_set_name(c->trainer, i)));
    status =
        RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s' is not a validation metric of this task; there are:%s",
                 key, name, names.data);
done:
    rgm_text_clear(&names);
    return status;
}

/*
 * "valid.accuracy": only validation may choose. If the names of reduce_aggregated_logs' numbers are
 * not known yet, an unknown name is refused at the first validation.
 */
static rgm_status check_metric(rgm_controller *c, const char *key, const char *name)
{
    const rgm_task *task = rgm_trainer_task(c->trainer);

    if (strlen(name) >= sizeof c->best_name)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s is too long: '%s'", key, name);
    if (set_of(c, name) < -1)
        return unknown_metric(c, key, name);
    for (int64_t i = 0; i < rgm_trainer_metric_count(c->trainer, RGM_VALID); i++)
        if (strcmp(rgm_trainer_metric_name(c->trainer, RGM_VALID, i), number_of(name)) == 0)
            return RGM_OK;
    for (const char *const *reduced = reduced_names(c); reduced != NULL && *reduced != NULL;
         reduced++)
        if (strcmp(*reduced, number_of(name)) == 0)
            return RGM_OK;
    return (task->reduce_aggregated_logs != NULL && task->reduced_names == NULL) ||
                   rgm_trainer_hooks_of(c->trainer)->eval_end != NULL ||
                   task->validation_step != NULL
               ? RGM_OK
               : unknown_metric(c, key, name);
}

static bool is_smaller_better(const rgm_controller *c, rgm_best_mode mode, const char *name)
{
    return mode == RGM_BEST_MIN ||
           (mode == RGM_BEST_AUTO && rgm_trainer_smaller_is_better(c->trainer, number_of(name)));
}

/* Early stopping and plateaus watch their own metric, or else the best metric with its mode. */
static rgm_status choose(char name[sizeof((rgm_controller *)0)->best_name], bool *smaller,
                         rgm_controller *c, const char *key, const char *metric, rgm_best_mode mode)
{
    bool same = metric == NULL || strcmp(metric, c->best_name) == 0;
    char path[64];

    snprintf(path, sizeof path, "trainer.%s.metric", key);
    if (metric != NULL)
        RGM_TRY(check_metric(c, path, metric));
    snprintf(name, sizeof c->best_name, "%s", metric != NULL ? metric : c->best_name);
    *smaller = same ? c->best_is_smaller : is_smaller_better(c, mode, name);
    if (same && mode != RGM_BEST_AUTO && *smaller != (mode == RGM_BEST_MIN))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.%s.mode is %s, but the best %s is the %s one: say the "
                        "same with trainer.checkpoint.best.mode",
                        key, mode == RGM_BEST_MIN ? "min" : "max", name,
                        c->best_is_smaller ? "smallest" : "largest");
    return RGM_OK;
}

static rgm_status choose_others(rgm_controller *c)
{
    const rgm_trainer_stopping *stop = &c->options.early_stopping;
    const rgm_trainer_plateau *plateau = &c->options.reduce_on_plateau;

    RGM_TRY(
        choose(c->stop_name, &c->stop_is_smaller, c, "early_stopping", stop->metric, stop->mode));
    if (plateau->patience > 0 && rgm_trainer_optimizer(c->trainer) == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.reduce_on_plateau is set but there is no optimizer");
    return choose(c->plateau_name, &c->plateau_is_smaller, c, "reduce_on_plateau", plateau->metric,
                  plateau->mode);
}

rgm_status rgmi_choose_metrics(rgm_controller *c)
{
    const rgm_trainer_best *best = &c->options.checkpoint.best;
    const char *name = best->metric != NULL ? best->metric : "valid.loss";

    if (rgm_trainer_leaves_data(
            c->trainer, RGM_VALID)) /* nothing is chosen: the checkpoint has what was chosen */
        return RGM_OK;
    if (!rgm_trainer_has_data(c->trainer, RGM_VALID) && best->metric == NULL)
        return RGM_OK;
    RGM_TRY(check_metric(c, "trainer.checkpoint.best.metric", name));
    snprintf(c->best_name, sizeof c->best_name, "%s", name);
    c->best_is_smaller = is_smaller_better(c, best->mode, name);
    return choose_others(c);
}

/* ---- best ---------------------------------------------------------------------------------- */

static rgm_status keep_weights(void *payload)
{
    rgm_controller *c = payload;

    return rgm_parameters_take(c->best_weights, rgm_trainer_parameters(c->trainer));
}

static rgm_status keep_best(rgm_controller *c, double value)
{
    RGM_TRY(rgm_trainer_check_weights(c->trainer, "kept as best"));
    RGM_TRY(rgmi_best_weights_open(c));
    RGM_TRY(rgm_trainer_with_averages(c->trainer, keep_weights, c));
    c->best_value = value;
    c->best_step = rgm_trainer_global_step(c->trainer);
    c->best_epoch = c->epochs;
    return RGM_OK;
}

rgm_status rgm_controller_restore_best(rgm_controller *c)
{
    if (c->best_step < 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no best weights were kept: there was no validation");
    RGM_TRY(rgm_parameters_take(rgm_trainer_parameters(c->trainer), c->best_weights));
    rgm_trainer_reset_averages(c->trainer); /* else evaluations would still use the last averages */
    c->placed_step = c->best_step;
    c->changes++;
    return RGM_OK;
}

static bool is_better(double value, double than, bool smaller)
{
    return isfinite(value) && (isnan(than) || (smaller ? value < than : value > than));
}

/* Enter a validation that is among the k best so far: retention spares its checkpoint. */
static bool enter_list(rgm_controller *c, double value)
{
    int64_t most = c->options.checkpoint.best.keep, at = c->kept_count;

    while (at > 0 && is_better(value, c->kept[at - 1].value, c->best_is_smaller))
        at--;
    if (at >= most || !isfinite(value))
        return false;
    if (c->kept_count < most)
        c->kept_count++;
    memmove(c->kept + at + 1, c->kept + at, (size_t)(c->kept_count - at - 1) * sizeof *c->kept);
    c->kept[at] = (rgmi_best){.step = rgm_trainer_global_step(c->trainer), .value = value};
    return true;
}

/* A number that is not finite cannot be best: report it once, until there is a finite one again. */
static void tell_not_finite(rgm_controller *c, const char *name, double value)
{
    if (!isfinite(value) && !c->told_not_finite)
        rgm_log_write(RGM_LOG_WARNING, "%s is %g at step %lld: it counts as no improvement", name,
                      isnan(value) ? NAN : value, (long long)rgm_trainer_global_step(c->trainer));
    c->told_not_finite = !isfinite(value);
}

/* The default metric is a loss that a task's own steps may not give: an error if a key depends on
 * it, else a message in the log. */
static rgm_status no_metric(rgm_controller *c)
{
    const rgm_trainer_options *o = &c->options;
    const rgm_trainer_best *best = &o->checkpoint.best;

    if (best->metric != NULL || best->keep > 0 || best->save ||
        o->restore_best_weights == RGM_RESTORE_TRUE || o->early_stopping.patience > 0 ||
        o->reduce_on_plateau.patience > 0)
        return unknown_metric(c, "trainer.checkpoint.best.metric", c->best_name);
    if (!c->told_no_metric)
        rgm_log_write(RGM_LOG_WARNING,
                      "validation gives no %s to choose the best weights by: the last ones stay; "
                      "trainer.checkpoint.best.metric may name another metric",
                      c->best_name);
    c->told_no_metric = true;
    return RGM_OK;
}

/* Save with all numbers of the validation; those of a set by name: "valid_news.loss". */
static rgm_status save_best(rgm_controller *c, const rgm_logs *own)
{
    rgm_status status = RGM_OK;
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, c->trainer);
    rgm_logs all = {0};
    char name[160];

    RGM_GO(rgm_logs_merge(&all, own));
    for (int64_t k = 0; k < count; k++) {
        const rgm_logs *logs = rgm_trainer_eval_set_logs(c->trainer, k);

        for (int64_t i = 0; sets[k].mode == RGM_VALID && i < logs->count; i++) {
            snprintf(name, sizeof name, "%s.%s", rgm_trainer_eval_set_name(c->trainer, k),
                     logs->items[i].name);
            RGM_GO(rgm_logs_set(&all, name, logs->items[i].value));
        }
    }
    RGM_GO(rgmi_save_best(c, &all));
done:
    rgm_logs_clear(&all);
    return status;
}

static rgm_status judge_plateau(rgm_controller *c, const rgm_logs *logs)
{
    const rgm_logs *of = logs_of(c, c->plateau_name, logs);

    if (c->options.reduce_on_plateau.patience == 0 || !rgm_trainer_has_data(c->trainer, RGM_TRAIN))
        return RGM_OK;
    if (!rgm_logs_has(of, number_of(c->plateau_name)))
        return unknown_metric(c, "trainer.reduce_on_plateau.metric", c->plateau_name);
    rgmi_plateau_judge(c, rgm_logs_get(of, number_of(c->plateau_name)));
    return RGM_OK;
}

static rgm_status judge(rgm_controller *c, const rgm_logs *logs)
{
    const rgm_logs *of = logs_of(c, c->best_name, logs);
    double value = rgm_logs_get(of, number_of(c->best_name));
    const rgm_logs *stops_by = logs_of(c, c->stop_name, logs);
    double stop = rgm_logs_get(stops_by, number_of(c->stop_name));
    bool among_best;

    if (c->best_name[0] == '\0')
        return RGM_OK;
    if (!rgm_logs_has(of, number_of(c->best_name)))
        return no_metric(c);
    if (c->options.early_stopping.patience > 0 && !rgm_logs_has(stops_by, number_of(c->stop_name)))
        return unknown_metric(c, "trainer.early_stopping.metric", c->stop_name);
    RGM_TRY(judge_plateau(c, logs));
    c->last_seen = value;
    tell_not_finite(c, c->best_name, value);
    if (is_better(stop, c->stop_value, c->stop_is_smaller)) {
        c->stop_value = stop;
        c->stale = 0;
    } else {
        c->stale++;
    }
    among_best = enter_list(c, value);
    if (is_better(value, c->best_value, c->best_is_smaller)) {
        RGM_TRY(keep_best(c, value));
        rgmi_tell(c, RGM_EVENT_NEW_BEST, RGM_VALID, logs);
        RGM_TRY(save_best(c, logs));
    }
    if (c->options.early_stopping.patience > 0 && c->stale >= c->options.early_stopping.patience) {
        c->finished = true;
        rgmi_tell(c, RGM_EVENT_STOP, RGM_VALID, logs);
    }
    return among_best ? rgmi_state_keep_on_the_way(c) : RGM_OK;
}

/* ---- evaluation ---------------------------------------------------------------------------- */

/* Report a pass in the log and in the run's files. `all`: its numbers with those that are no
 * result, such as rates. */
static rgm_status report(rgm_controller *c, const char *what, rgm_mode mode, int64_t set,
                         const rgm_logs *logs, const rgm_logs *all)
{
    const char *split = set >= 0 ? rgm_trainer_eval_set_name(c->trainer, set) : rgm_mode_name(mode);

    if (set < 0)
        c->told_pass = mode == RGM_TEST || rgmi_is_told(c, RGMI_LINES_PASSES);
    if (c->told_pass) {
        rgmi_log_line(c, what, all);
        rgmi_log_texts(c, split, all);
    }
    RGM_TRY(rgmi_log_metrics(c, split, logs));
    RGM_TRY(rgmi_log_tables(c, split, mode, set, logs));
    return rgmi_summarize(c, split, all);
}

/* Make one pass and report it everywhere; set -1: over the mode's own data. */
static rgm_status pass(rgm_controller *c, rgm_mode mode, int64_t set, int64_t steps,
                       const rgm_logs **logs)
{
    rgm_status status = RGM_OK;
    const char *name = set >= 0 ? rgm_trainer_eval_set_name(c->trainer, set) : NULL;
    char what[80] = " eval";
    rgm_logs all = {0};
    double began = rgm_now(), seconds;

    rgmi_tell_pass(c, RGM_EVENT_EVAL_BEGIN, mode, name, NULL);
    RGM_GO(rgmi_run_pass(c, mode, set, steps, logs));
    seconds = rgm_now() - began;
    if (name == NULL)
        RGM_GO(rgmi_run_actions(c, c->eval_actions, c->eval_action_count, *logs));
    else
        snprintf(what, sizeof what, " eval %s", name);
    if (mode == RGM_VALID && name == NULL)
        RGM_GO(rgmi_save_averages(c, *logs));
    if (mode == RGM_VALID && name == NULL && c->options.exports.validations)
        RGM_GO(rgmi_export_step(c));
    RGM_GO(rgm_logs_merge(&all, *logs));
    if (steps > 0 && seconds > 0)
        RGM_GO(rgm_logs_set(&all, "steps_per_second",
                            (double)rgm_trainer_eval_steps(c->trainer) / seconds));
    RGM_GO(report(c, what, mode, set, *logs, &all));
    rgmi_tell_pass(c, RGM_EVENT_EVAL_END, mode, name, &all);
done:
    rgm_logs_clear(&all);
    return status;
}

rgm_status rgmi_keep_test(rgm_controller *c, int64_t set, const rgm_logs *logs)
{
    char what[80] = " test";

    if (set >= 0)
        snprintf(what, sizeof what, " test %s", rgm_trainer_eval_set_name(c->trainer, set));
    return report(c, what, RGM_TEST, set, logs, logs);
}

rgm_status rgmi_run_pass(rgm_controller *c, rgm_mode mode, int64_t set, int64_t steps,
                         const rgm_logs **logs)
{
    return set >= 0 ? rgm_trainer_evaluate_set(c->trainer, set, steps, logs)
                    : rgm_trainer_evaluate(c->trainer, mode, steps, logs);
}

rgm_status rgmi_evaluate(rgm_controller *c, rgm_mode mode, int64_t steps, const rgm_logs **logs)
{
    rgm_status status = RGM_OK;
    double began = rgm_now();
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, c->trainer);

    RGM_GO(pass(c, mode, -1, steps, logs));
    for (int64_t i = 0; i < count; i++) {
        const rgm_logs *of_set;

        if (sets[i].mode == mode)
            RGM_GO(pass(c, mode, i, steps, &of_set));
    }
    if (mode == RGM_VALID) {
        c->evaluated_step = rgm_trainer_global_step(c->trainer);
        c->changes++;
        RGM_GO(judge(c, *logs));
    }
done:
    c->timer_time += rgm_now() - began; /* evaluating is not training, so rates leave it out */
    return status == RGM_OK ? rgmi_log_figures(c, false) : status;
}

static rgm_status evaluate(rgm_controller *c, rgm_mode mode, int64_t steps, const rgm_logs **logs)
{
    const rgm_logs *found;

    RGM_TRY(rgmi_events_open(c));
    RGM_TRY(rgmi_evaluate(c, mode, steps, &found));
    if (logs != NULL)
        *logs = found;
    return RGM_OK;
}

rgm_status rgm_controller_evaluate(rgm_controller *c, rgm_mode mode, int64_t steps,
                                   const rgm_logs **logs)
{
    rgm_logger *before = rgmi_enter(c);

    return rgmi_leave(before, rgmi_behind_finish(c, evaluate(c, mode, steps, logs)));
}
