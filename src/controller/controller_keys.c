/*
 * What of a controller is in a checkpoint beside the trainer's state: counters, the best
 * validations and their weights, where plateaus stand. Saving reads the same places that restoring
 * writes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller_internal.h"

enum { COUNTERS = 4, BEST = 6, PLATEAU = 4 };

/* Saving reads these places, restoring writes them. */
static void counters(rgm_key_place places[COUNTERS], rgm_controller *c)
{
    places[0] = (rgm_key_place){RGM_KEY_EPOCH, &c->epochs};
    places[1] = (rgm_key_place){RGM_KEY_EVALUATED_STEP, &c->evaluated_step};
    places[2] = (rgm_key_place){RGM_KEY_FINISHED, &c->finished};
    places[3] = (rgm_key_place){RGM_KEY_RECOVERY_TRIES, &c->tries};
}

static void best(rgm_key_place places[BEST], rgm_controller *c, rgm_str *list)
{
    places[0] = (rgm_key_place){RGM_KEY_BEST_STEP, &c->best_step};
    places[1] = (rgm_key_place){RGM_KEY_BEST_EPOCH, &c->best_epoch};
    places[2] = (rgm_key_place){RGM_KEY_BEST_VALUE, &c->best_value};
    places[3] = (rgm_key_place){RGM_KEY_STALE_VALIDATIONS, &c->stale};
    places[4] = (rgm_key_place){RGM_KEY_STOP_VALUE, &c->stop_value};
    places[5] = (rgm_key_place){RGM_KEY_BEST_LIST, list};
}

/* Only for a run with the option: among the common keys, a checkpoint without them would be
 * refused. */
static void plateau(rgm_key_place places[PLATEAU], rgm_controller *c)
{
    places[0] = (rgm_key_place){RGM_KEY_PLATEAU_VALUE, &c->plateau_value};
    places[1] = (rgm_key_place){RGM_KEY_PLATEAU_WAIT, &c->plateau_wait};
    places[2] = (rgm_key_place){RGM_KEY_PLATEAU_COOLDOWN, &c->plateau_cooldown};
    places[3] = (rgm_key_place){RGM_KEY_RATE_FACTOR, &c->rate_factor};
}

/* A value that was the best of one metric says nothing of another, nor of the other end of it. */
static void watched(char text[180], const char *name, bool smaller)
{
    snprintf(text, 180, "%s %s", name, smaller ? "min" : "max");
}

static rgm_status save_watched(rgm_checkpoint *checkpoint, rgm_run_key key, const char *name,
                               bool smaller)
{
    char text[180];
    const char *value = text;

    watched(text, name, smaller);
    return rgm_checkpoint_set_keys(checkpoint, &(rgm_key_place){key, &value}, 1);
}

/* ---- save ---------------------------------------------------------------------------------- */

rgm_status rgmi_keys_save(rgm_checkpoint *checkpoint, rgm_controller *c)
{
    rgm_str list = {(const char *)c->kept, c->kept_count * (int64_t)sizeof *c->kept};
    const char *metric = c->best_name;
    rgm_key_place places[BEST];

    counters(places, c);
    RGM_TRY(rgm_checkpoint_set_keys(checkpoint, places, COUNTERS));
    if (c->options.reduce_on_plateau.patience > 0) {
        plateau(places, c);
        RGM_TRY(rgm_checkpoint_set_keys(checkpoint, places, PLATEAU));
        RGM_TRY(save_watched(checkpoint, RGM_KEY_PLATEAU_METRIC, c->plateau_name,
                             c->plateau_is_smaller));
    }
    if (c->is_timed) {
        double seconds = rgmi_seconds(c);

        RGM_TRY(
            rgm_checkpoint_set_keys(checkpoint, &(rgm_key_place){RGM_KEY_SECONDS, &seconds}, 1));
    }
    best(places, c, &list);
    RGM_TRY(rgm_checkpoint_set_keys(checkpoint, places, BEST));
    RGM_TRY(save_watched(checkpoint, RGM_KEY_STOP_METRIC, c->stop_name, c->stop_is_smaller));
    RGM_TRY(rgm_checkpoint_set_keys(checkpoint, &(rgm_key_place){RGM_KEY_BEST_METRIC, &metric}, 1));
    return c->best_step < 0 ? RGM_OK
                            : rgm_checkpoint_add_best_parameters(checkpoint, c->best_weights);
}

/* ---- restore ------------------------------------------------------------------------------- */

rgm_status rgmi_counters_restore(rgm_controller *c, const rgm_checkpoint *checkpoint,
                                 int64_t *offset)
{
    rgm_key_place places[COUNTERS];

    counters(places, c);
    RGM_TRY(rgm_checkpoint_get_keys(checkpoint, places, COUNTERS));
    RGM_TRY(rgm_key_places_check_counts(places, COUNTERS));
    return rgm_checkpoint_get_keys(checkpoint, &(rgm_key_place){RGM_KEY_METRICS_OFFSET, offset}, 1);
}

/* A run that did not have it until now begins it now. */
static rgm_status read_if_there(bool *there, const rgm_checkpoint *checkpoint,
                                const rgm_key_place *places, int64_t count)
{
    rgm_status status = rgm_checkpoint_get_keys(checkpoint, places, count);

    *there = status == RGM_OK;
    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        return RGM_OK;
    }
    RGM_TRY(status);
    return rgm_key_places_check_counts(places, count);
}

/* Whether what `who` has seen is of another metric than `name`, which the log then tells; who NULL:
 * nobody. A checkpoint of an earlier version does not say of which, nor does a run that leaves its
 * validation data choose any. */
static rgm_status is_of_other(bool *other, const rgm_controller *c,
                              const rgm_checkpoint *checkpoint, rgm_run_key key, const char *who,
                              const char *name, bool smaller)
{
    const char *saved;
    char text[180];
    bool there;

    *other = false;
    RGM_TRY(read_if_there(&there, checkpoint, &(rgm_key_place){key, &saved}, 1));
    if (!there || rgm_trainer_leaves_data(c->trainer, RGM_VALID))
        return RGM_OK;
    watched(text, name, smaller);
    *other = strcmp(saved, text) != 0;
    if (*other && who != NULL)
        rgm_log_write(RGM_LOG_INFO, "%s goes by the %s %s from here on, and begins to count anew",
                      who, smaller ? "smallest" : "largest", name);
    return RGM_OK;
}

static rgm_status read_stop(rgm_controller *c, const rgm_checkpoint *checkpoint)
{
    const char *who = c->options.early_stopping.patience > 0 ? "early stopping" : NULL;
    bool other;

    RGM_TRY(is_of_other(&other, c, checkpoint, RGM_KEY_STOP_METRIC, who, c->stop_name,
                        c->stop_is_smaller));
    if (other) {
        c->stop_value = NAN;
        c->stale = 0;
    }
    return RGM_OK;
}

/* The rate stays reduced. */
static rgm_status begin_plateau(rgm_controller *c, const rgm_checkpoint *checkpoint)
{
    bool other;

    RGM_TRY(is_of_other(&other, c, checkpoint, RGM_KEY_PLATEAU_METRIC, "reduce_on_plateau",
                        c->plateau_name, c->plateau_is_smaller));
    if (other)
        rgmi_plateau_forget(c);
    return RGM_OK;
}

/* A start without trainer.max_seconds hands on what those with it have used. */
static rgm_status read_seconds(rgm_controller *c, const rgm_checkpoint *checkpoint)
{
    double seconds;
    bool there;

    RGM_TRY(read_if_there(&there, checkpoint, &(rgm_key_place){RGM_KEY_SECONDS, &seconds}, 1));
    if (there) {
        c->seconds = seconds;
        c->is_timed = true;
    }
    return RGM_OK;
}

static rgm_status read_plateau(rgm_controller *c, const rgm_checkpoint *checkpoint)
{
    rgm_key_place places[PLATEAU];
    bool there;

    if (c->options.reduce_on_plateau.patience == 0)
        return RGM_OK;
    plateau(places, c);
    RGM_TRY(read_if_there(&there, checkpoint, places, PLATEAU));
    if (!there) { /* reading may have written some of the places */
        rgmi_plateau_forget(c);
        c->rate_factor = 1;
    }
    if (!(c->rate_factor > 0 && c->rate_factor <= 1))
        return RGM_FAIL(RGM_ERR_FORMAT, "the checkpoint is damaged: its 'rate_factor' is %g",
                        c->rate_factor);
    rgmi_plateau_apply(c);
    return begin_plateau(c, checkpoint);
}

rgm_status rgmi_best_weights_open(rgm_controller *c)
{
    return c->best_weights != NULL
               ? RGM_OK
               : rgm_parameters_copy(&c->best_weights, rgm_trainer_parameters(c->trainer));
}

static rgm_status read_best_weights(rgm_controller *c, const rgm_checkpoint *checkpoint)
{
    if (c->best_step < 0)
        return RGM_OK;
    RGM_TRY(rgmi_best_weights_open(c));
    if (rgm_parameters_count(c->best_weights) == 0) /* as of a task that counts */
        return RGM_OK;
    if (rgm_checkpoint_best_weights(checkpoint) == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "checkpoint %lld says step %lld was best but lacks its weights",
                        (long long)rgm_checkpoint_step(checkpoint), (long long)c->best_step);
    return rgm_checkpoint_restore_best(checkpoint, c->best_weights);
}

static rgm_status read_best(rgm_controller *c, const rgm_checkpoint *checkpoint)
{
    rgm_key_place places[BEST];
    const char *metric;
    rgm_str list;

    RGM_TRY(rgm_checkpoint_get_keys(checkpoint, &(rgm_key_place){RGM_KEY_BEST_METRIC, &metric}, 1));
    if (rgm_trainer_leaves_data(c->trainer, RGM_VALID))
        snprintf(c->best_name, sizeof c->best_name, "%s", metric);
    else if (strcmp(metric, c->best_name) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the run's best weights were chosen by '%s' and cannot go on by '%s'; use "
                        "another run folder",
                        metric, c->best_name);
    best(places, c, &list);
    RGM_TRY(rgm_checkpoint_get_keys(checkpoint, places, BEST));
    RGM_TRY(rgm_key_places_check_counts(places, BEST));
    RGM_TRY(read_stop(c, checkpoint));
    if (list.size < 0 || list.size % (int64_t)sizeof *c->kept != 0 ||
        list.size > (int64_t)sizeof c->kept)
        return RGM_FAIL(RGM_ERR_FORMAT, "the checkpoint's list of best validations is damaged");
    c->kept_count = list.size / (int64_t)sizeof *c->kept;
    if (list.size > 0)
        memcpy(c->kept, list.data, (size_t)list.size);
    if (c->kept_count > c->options.checkpoint.best.keep) /* fewer are asked for now */
        c->kept_count = c->options.checkpoint.best.keep;
    return read_best_weights(c, checkpoint);
}

rgm_status rgmi_keys_restore(rgm_controller *c, const rgm_checkpoint *checkpoint, bool seconds_too)
{
    RGM_TRY(read_best(c, checkpoint));
    if (seconds_too) /* a rollback does not take back the time spent */
        RGM_TRY(read_seconds(c, checkpoint));
    return read_plateau(c, checkpoint);
}
