/*
 * Where a run stands, in memory and in its folder. A checkpoint holds everything that the rest of
 * the run depends on: the trainer's state, the best weights so far, counters. A run that was killed
 * and started again ends with the same bytes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "controller_internal.h"

/* ---- what is kept -------------------------------------------------------------------------- */

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

/* Of a run that has it; saved with others, the key's absence would be a difference. */
static void plateau(rgm_key_place places[PLATEAU], rgm_controller *c)
{
    places[0] = (rgm_key_place){RGM_KEY_PLATEAU_VALUE, &c->plateau_value};
    places[1] = (rgm_key_place){RGM_KEY_PLATEAU_WAIT, &c->plateau_wait};
    places[2] = (rgm_key_place){RGM_KEY_PLATEAU_COOLDOWN, &c->plateau_cooldown};
    places[3] = (rgm_key_place){RGM_KEY_RATE_FACTOR, &c->rate_factor};
}

/* ---- save ---------------------------------------------------------------------------------- */

static rgm_status add_values(rgm_checkpoint *checkpoint, rgm_controller *c)
{
    rgm_str list = {(const char *)c->kept, c->kept_count * (int64_t)sizeof *c->kept};
    const char *metric = c->best_name;
    rgm_key_place places[BEST];

    counters(places, c);
    RGM_TRY(rgm_checkpoint_set_keys(checkpoint, places, COUNTERS));
    if (c->options.reduce_on_plateau.patience > 0) {
        plateau(places, c);
        RGM_TRY(rgm_checkpoint_set_keys(checkpoint, places, PLATEAU));
    }
    if (c->options.max_seconds > 0) {
        double seconds = rgmi_seconds(c);

        RGM_TRY(
            rgm_checkpoint_set_keys(checkpoint, &(rgm_key_place){RGM_KEY_SECONDS, &seconds}, 1));
    }
    best(places, c, &list);
    RGM_TRY(rgm_checkpoint_set_keys(checkpoint, places, BEST));
    RGM_TRY(rgm_checkpoint_set_keys(checkpoint, &(rgm_key_place){RGM_KEY_BEST_METRIC, &metric}, 1));
    return c->best_step < 0 ? RGM_OK
                            : rgm_checkpoint_add_best_parameters(checkpoint, c->best_weights);
}

/* *evaluated: how far an evaluator of every checkpoint is; INT64_MAX when there is none. */
static rgm_status ask_evaluator(int64_t *evaluated, rgm_controller *c)
{
    char *folder = NULL, *path = NULL, *text = NULL;
    int64_t size = 0;
    bool running = true;
    rgm_status status = RGM_OK;

    *evaluated = INT64_MAX;
    RGM_GO(rgm_path_join(&folder, c->run_dir, "continuous_eval"));
    RGM_GO(rgm_path_join(&path, folder, RGMI_EVALUATED_FILE));
    if (!rgm_path_exists(path))
        goto done;
    status = rgm_file_load(&text, &size, path, 64);
    *evaluated = text != NULL ? strtoll(text, NULL, 10) : -1; /* not readable: spare all */
    if (status == RGM_ERR_NOMEM)
        goto done;
    status = rgm_run_folder_in_use(&running, folder);
    if (status == RGM_OK && !running && !c->told_waiting) {
        c->told_waiting = true;
        rgm_log_write(RGM_LOG_WARNING,
                      "checkpoints behind step %lld are kept for an evaluator of every one, which "
                      "is not running: start it again, or remove %s",
                      (long long)*evaluated, path);
    }
done:
    rgm_free(text);
    rgm_free(path);
    rgm_free(folder);
    if (status != RGM_ERR_NOMEM && status != RGM_OK) {
        rgm_error_reset();
        status = RGM_OK;
    }
    return status;
}

/* Of the best validations, and those that an evaluator of every checkpoint has yet to see. */
static rgm_status spare(rgm_controller *c)
{
    int64_t *there = NULL, *spared = NULL, count = 0, evaluated;
    rgm_status status = RGM_OK;

    RGM_GO(ask_evaluator(&evaluated, c));
    if (evaluated < INT64_MAX)
        RGM_GO(rgm_checkpoint_steps(&there, &count, c->store));
    RGM_GO(RGM_NEW(spared, c->kept_count + count));
    for (int64_t i = 0; i < c->kept_count; i++)
        spared[i] = c->kept[i].step;
    for (int64_t i = 0; i < count; i++)
        spared[c->kept_count + i] = there[i] > evaluated ? there[i] : -1;
    RGM_GO(rgm_checkpoint_store_spare(c->store, spared, c->kept_count + count));
done:
    rgm_free(there);
    rgm_free(spared);
    return status;
}

rgm_status rgmi_state_save(rgm_controller *c)
{
    rgm_status status = RGM_OK;
    rgm_checkpoint *checkpoint = NULL;
    double begin = rgmi_profile_now(c->trainer);
    int64_t offset = 0;

    if (c->folder == NULL || c->saved_changes == c->changes)
        return RGM_OK;
    RGM_GO(rgmi_check_weights(c->trainer, "saved"));
    if (c->options.exports.checkpoints)
        RGM_GO(rgmi_export_step(c));
    RGM_GO(rgm_checkpoint_create(&checkpoint, rgm_trainer_global_step(c->trainer)));
    RGM_GO(rgm_trainer_save_state(checkpoint, c->trainer));
    RGM_GO(add_values(checkpoint, c));
    RGM_GO(rgm_metrics_log_commit(&offset, c->metrics_log));
    RGM_GO(
        rgm_checkpoint_set_keys(checkpoint, &(rgm_key_place){RGM_KEY_METRICS_OFFSET, &offset}, 1));
    RGM_GO(rgmi_events_flush(c));
    RGM_GO(rgmi_tables_flush(c));
    RGM_GO(spare(c));
    RGM_GO(rgm_checkpoint_save(c->store, checkpoint));
    c->saved_changes = c->changes;
    c->saved_step = rgm_trainer_global_step(c->trainer);
    c->saved_time = rgm_now();
    rgmi_tell(c, RGM_EVENT_SAVE, RGM_TRAIN, NULL);
done:
    rgmi_profile_beside(c->trainer, "checkpoint", NULL, begin);
    rgm_checkpoint_release(checkpoint);
    return status;
}

rgm_status rgmi_state_keep(rgm_controller *c)
{
    return c->saves_on_request ? RGM_OK : rgmi_state_save(c);
}

rgm_status rgm_controller_save(rgm_controller *c)
{
    rgm_logger *before = rgmi_enter(c);

    return rgmi_leave(before, rgmi_state_save(c));
}

/* ---- restore ------------------------------------------------------------------------------- */

static rgm_status read_counters(rgm_controller *c, const rgm_checkpoint *checkpoint,
                                int64_t *offset)
{
    rgm_key_place places[COUNTERS];

    counters(places, c);
    RGM_TRY(rgm_checkpoint_get_keys(checkpoint, places, COUNTERS));
    RGM_TRY(rgmi_check_counters(places, COUNTERS));
    return rgm_checkpoint_get_keys(checkpoint, &(rgm_key_place){RGM_KEY_METRICS_OFFSET, offset}, 1);
}

/* A run that had none of it until now begins it now. */
static rgm_status read_if_there(const rgm_checkpoint *checkpoint, const rgm_key_place *places,
                                int64_t count)
{
    rgm_status status = rgm_checkpoint_get_keys(checkpoint, places, count);

    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        return RGM_OK;
    }
    RGM_TRY(status);
    return rgmi_check_counters(places, count);
}

/* seconds_too: what was spent is not taken back by a rollback. */
static rgm_status read_plateau(rgm_controller *c, const rgm_checkpoint *checkpoint,
                               bool seconds_too)
{
    rgm_key_place places[PLATEAU];

    if (c->options.max_seconds > 0 && seconds_too)
        RGM_TRY(read_if_there(checkpoint, &(rgm_key_place){RGM_KEY_SECONDS, &c->seconds}, 1));
    if (c->options.reduce_on_plateau.patience == 0)
        return RGM_OK;
    plateau(places, c);
    RGM_TRY(read_if_there(checkpoint, places, PLATEAU));
    if (!(c->rate_factor > 0 && c->rate_factor <= 1))
        return RGM_FAIL(RGM_ERR_FORMAT, "the checkpoint is damaged: its 'rate_factor' is %g",
                        c->rate_factor);
    rgmi_plateau_apply(c);
    return RGM_OK;
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
    if (rgm_checkpoint_best_weights(checkpoint) == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "checkpoint %lld says step %lld was best but lacks its weights",
                        (long long)rgm_checkpoint_step(checkpoint), (long long)c->best_step);
    RGM_TRY(rgmi_best_weights_open(c));
    return rgm_checkpoint_restore_best(checkpoint, c->best_weights);
}

static rgm_status read_best(rgm_controller *c, const rgm_checkpoint *checkpoint)
{
    rgm_key_place places[BEST];
    const char *metric;
    rgm_str list;

    RGM_TRY(rgm_checkpoint_get_keys(checkpoint, &(rgm_key_place){RGM_KEY_BEST_METRIC, &metric}, 1));
    if (c->trainer->no_data[RGM_VALID])
        snprintf(c->best_name, sizeof c->best_name, "%s", metric);
    else if (strcmp(metric, c->best_name) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the run's best weights were chosen by '%s' and cannot go on by '%s'; use "
                        "another run folder",
                        metric, c->best_name);
    best(places, c, &list);
    RGM_TRY(rgm_checkpoint_get_keys(checkpoint, places, BEST));
    RGM_TRY(rgmi_check_counters(places, BEST));
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

/* All of a checkpoint, or (data_too false) what a rollback takes back. */
static rgm_status take_up(rgm_controller *c, const rgm_checkpoint *checkpoint, bool data_too,
                          int64_t *offset)
{
    RGM_TRY(read_counters(c, checkpoint, offset));
    RGM_TRY(data_too ? rgm_trainer_restore_state(c->trainer, checkpoint)
                     : rgmi_trainer_roll_back(c->trainer, checkpoint));
    RGM_TRY(read_best(c, checkpoint));
    RGM_TRY(read_plateau(c, checkpoint, data_too));
    c->saved_step = rgm_checkpoint_step(checkpoint);
    c->saved_changes = c->changes;
    rgmi_tell(c, RGM_EVENT_RESTORE, RGM_TRAIN, NULL);
    return RGM_OK;
}

static rgm_status initialize(rgm_controller *c)
{
    RGM_TRY(rgm_trainer_initialize_weights(c->trainer));
    rgmi_tell(c, RGM_EVENT_INITIALIZE, RGM_TRAIN, NULL);
    return RGM_OK;
}

static rgm_status restore_newest(rgm_controller *c, int64_t *offset)
{
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status = RGM_ERR_NOT_FOUND;

    if (c->store != NULL)
        status = rgm_checkpoint_load_newest(&checkpoint, c->store);
    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        return initialize(c);
    }
    RGM_GO(status);
    RGM_GO(take_up(c, checkpoint, true, offset));
    if (c->folder != NULL) { /* the last save may have been killed before its end */
        RGM_GO(spare(c));
        rgm_checkpoint_store_tidy(c->store, c->saved_step);
        if (c->best_store != NULL)
            rgm_checkpoint_store_tidy(c->best_store, c->best_step);
        if (c->averages_store != NULL)
            rgm_checkpoint_store_tidy(c->averages_store, c->saved_step);
    }
done:
    rgm_checkpoint_release(checkpoint);
    return status;
}

/* <run>/best is the best of what was taken up. */
static rgm_status best_set_aside(rgm_controller *c)
{
    rgm_status status = RGM_OK;
    rgm_logs logs = {0};
    char *info = NULL;
    int64_t moved;

    if (c->best_store == NULL)
        return RGM_OK;
    RGM_GO(rgm_checkpoint_store_set_aside(&moved, c->best_store, c->best_step));
    if (moved == 0)
        goto done;
    RGM_GO(rgm_strprintf(&info, "%s/best/info.json", c->run_dir));
    if (c->best_step < 0) {
        RGM_GO(rgm_folder_remove(info));
    } else {
        RGM_GO(rgm_logs_set(&logs, rgmi_best_number(c), c->best_value));
        RGM_GO(rgmi_save_best(c, &logs));
    }
done:
    rgm_logs_clear(&logs);
    rgm_free(info);
    return status;
}

/* Whether the checkpoint at `path` is one of this run's: its offset is one of this run's metrics.
 */
static bool is_own(const rgm_controller *c, const char *path, int64_t step)
{
    struct stat here, there;
    char *own = NULL;
    bool same = rgm_strprintf(&own, "%s/ckpt/step-%08lld", c->run_dir, (long long)step) == RGM_OK &&
                stat(own, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev &&
                here.st_ino == there.st_ino;

    rgm_free(own);
    return same;
}

/*
 * A state that was asked for by name is the run's from now on, also for who starts it again: what
 * was newer is set aside, and the state is a checkpoint of the run.
 */
static rgm_status settle(rgm_controller *c, const char *path, int64_t offset)
{
    int64_t moved, step = rgm_trainer_global_step(c->trainer);

    c->changes++; /* another state than the run's newest */
    if (c->folder == NULL)
        return RGM_OK;
    rgmi_events_restart(c);
    RGM_TRY(rgm_checkpoint_store_set_aside(&moved, c->store, step));
    if (is_own(c, path, step)) { /* no newer checkpoint asks for what is cut off */
        RGM_TRY(rgm_metrics_log_truncate(c->metrics_log, offset));
        RGM_TRY(rgmi_tables_cut(c, false));
    }
    RGM_TRY(rgmi_state_save(c));
    return best_set_aside(c);
}

static rgm_status restore(rgm_controller *c, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_checkpoint *checkpoint = NULL;
    int64_t offset;

    RGM_GO(path != NULL ? rgm_checkpoint_load(&checkpoint, path)
                        : rgm_checkpoint_load_newest(&checkpoint, c->store));
    RGM_GO(take_up(c, checkpoint, true, &offset));
    if (path != NULL)
        RGM_GO(settle(c, path, offset));
    else if (c->metrics_log != NULL) {
        RGM_GO(rgm_metrics_log_truncate(c->metrics_log, offset));
        RGM_GO(rgmi_tables_cut(c, false));
    }
done:
    rgm_checkpoint_release(checkpoint);
    return status;
}

rgm_status rgm_controller_restore(rgm_controller *c, const char *path)
{
    rgm_logger *before;

    if (path == NULL && c->store == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no run folder to restore from");
    before = rgmi_enter(c);
    return rgmi_leave(before, restore(c, path));
}

/* As if the run had just begun, but for the data, which go on. */
static rgm_status back_to_start(rgm_controller *c)
{
    RGM_TRY(rgmi_trainer_reset(c->trainer));
    c->epochs = c->evaluated_step = 0;
    c->best_step = -1;
    c->kept_count = c->stale = 0;
    c->best_value = c->stop_value = c->plateau_value = NAN;
    c->plateau_wait = c->plateau_cooldown = 0;
    c->rate_factor = 1; /* as of the new optimizer */
    if (c->metrics_log != NULL)
        RGM_TRY(rgm_metrics_log_truncate(c->metrics_log, 0));
    c->changes++;
    return rgmi_tables_cut(c, true);
}

rgm_status rgmi_roll_back(rgm_controller *c)
{
    rgm_status status = RGM_ERR_NOT_FOUND;
    rgm_checkpoint *checkpoint = NULL;
    int64_t offset;

    if (c->store != NULL)
        status = rgm_checkpoint_load_newest(&checkpoint, c->store);
    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        return back_to_start(c);
    }
    RGM_GO(status);
    RGM_GO(take_up(c, checkpoint, false, &offset));
    c->changes++; /* the data stand elsewhere */
    if (c->metrics_log != NULL)
        RGM_GO(rgm_metrics_log_truncate(c->metrics_log, offset));
    RGM_GO(rgmi_tables_cut(c, false));
done:
    rgm_checkpoint_release(checkpoint);
    return status;
}

/* ---- run folder ---------------------------------------------------------------------------- */

rgm_status rgmi_store_open(rgm_controller *c, bool read_only)
{
    rgm_checkpoint_store_options options = RGM_CHECKPOINT_STORE_OPTIONS_INIT;
    char *path = NULL;
    rgm_status status;

    options.keep = c->options.checkpoint.keep;
    options.keep_every_hours = c->options.checkpoint.keep_every_hours;
    options.read_only = read_only;
    RGM_TRY(rgm_path_join(&path, c->run_dir, "ckpt"));
    status = rgm_checkpoint_store_open(&c->store, path, &options);
    rgm_free(path);
    if (status == RGM_ERR_NOT_FOUND && read_only) { /* a trainer may yet begin there */
        rgm_error_reset();
        return RGM_OK;
    }
    return status;
}

/* A store of weights alone in a folder of the run. */
static rgm_status weights_store_open(rgm_checkpoint_store **out, const rgm_controller *c,
                                     const char *name, int64_t keep)
{
    rgm_checkpoint_store_options options = {.keep = keep};
    char *path = NULL;
    rgm_status status;

    RGM_TRY(rgm_path_join(&path, c->run_dir, name));
    status = rgm_checkpoint_store_open(out, path, &options);
    rgm_free(path);
    return status;
}

static rgm_status weights_stores_open(rgm_controller *c)
{
    const rgm_trainer_checkpoints *o = &c->options.checkpoint;
    const rgm_optimizer *optimizer = rgm_trainer_optimizer(c->trainer);

    if (c->folder == NULL)
        return RGM_OK;
    if (o->best.save)
        RGM_TRY(weights_store_open(&c->best_store, c, "best", 1));
    if (o->averages == 0)
        return RGM_OK;
    if (optimizer == NULL || !rgm_optimizer_has_averages(optimizer))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.checkpoint.averages is %lld, but the optimizer keeps no averages: "
                        "set optimizer.average.decay",
                        (long long)o->averages);
    return weights_store_open(&c->averages_store, c, "averages", o->averages);
}

/* Files that weights mean nothing without are the same as before; where there are no weights, they
 * begin anew. */
static rgm_status files_open(rgm_controller *c, const rgm_controller_setup *setup)
{
    const rgm_task *task = rgm_trainer_task(c->trainer);
    int64_t *steps = NULL, count = 0;

    if (c->store != NULL)
        RGM_TRY(rgm_checkpoint_steps(&steps, &count, c->store));
    rgm_free(steps);
    if (count > 0)
        RGM_TRY(rgm_task_files_check(task, setup->run_dir));
    return setup->read_only ? RGM_OK : rgm_task_files_save(task, setup->run_dir);
}

/* What was measured is worth less than the weights: a run whose log is damaged goes on without the
 * damaged lines, and its newest checkpoint, which says how long the log is, is saved again. */
static rgm_status metrics_open(rgm_controller *c, int64_t offset)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    bool damaged;

    RGM_GO(rgm_path_join(&path, c->run_dir, "metrics.jsonl"));
    status = rgm_metrics_log_open(&c->metrics_log, path, offset);
    damaged = status == RGM_ERR_FORMAT || status == RGM_ERR_NOT_FOUND;
    if (damaged) {
        rgm_error_reset();
        RGM_GO(rgm_metrics_log_repair(&offset, path, offset));
        RGM_GO(rgm_metrics_log_open(&c->metrics_log, path, offset));
        c->changes++;
        status = rgmi_state_save(c);
    }
done:
    rgm_free(path);
    return status;
}

rgm_status rgmi_state_open(rgm_controller *c, const rgm_controller_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_run_folder_options folder = RGM_RUN_FOLDER_OPTIONS_INIT;
    int64_t offset = 0;

    if (setup->run_dir == NULL)
        return initialize(c);
    folder.config = setup->config;
    folder.sources = setup->sources;
    folder.seed = (uint64_t)c->trainer->runtime.seed;
    folder.threads = rgm_threads();
    folder.isa = rgm_kernels_for(RGM_F32)->isa;
    RGM_GO(rgm_strdup(&c->run_dir, setup->run_dir));
    if (!setup->read_only)
        RGM_GO(rgm_run_folder_open(&c->folder, setup->run_dir, &folder));
    rgmi_enter(c); /* whoever creates the controller leaves */
    RGM_GO(rgmi_store_open(c, setup->read_only));
    RGM_GO(files_open(c, setup));
    RGM_GO(weights_stores_open(c));
    RGM_GO(restore_newest(c, &offset));
    if (!setup->read_only) {
        RGM_GO(metrics_open(c, offset));
        RGM_GO(rgmi_figures_open(c));
    }
    c->saved_time = rgm_now();
done:
    return status;
}

void rgmi_state_close(rgm_controller *c)
{
    rgm_parameters_release(c->best_weights);
    rgmi_figures_close(c);
    rgmi_events_close(c);
    rgm_metrics_log_close(c->metrics_log);
    rgm_checkpoint_store_close(c->best_store);
    rgm_checkpoint_store_close(c->averages_store);
    rgm_checkpoint_store_close(c->store);
    rgm_run_folder_close(c->folder);
    rgm_free(c->run_dir);
}
