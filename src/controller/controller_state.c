/*
 * A run's state, in memory and in its folder. A checkpoint holds everything that the rest of the
 * run depends on: the trainer's state, the best weights so far, counters. A run that was killed and
 * started again ends with the same bytes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "controller_internal.h"

/* ---- save ---------------------------------------------------------------------------------- */

/* What the first of several processes saves for this one as well. */
static rgm_status hand_in(rgm_controller *c)
{
    if (c->keeps)
        RGM_TRY(rgm_trainer_save_state(NULL, c->trainer));
    c->saved_changes = c->changes;
    return RGM_OK;
}

/* The state as a checkpoint, and all that it refers to on disk. */
static rgm_status take_down(rgm_checkpoint *checkpoint, rgm_controller *c)
{
    int64_t offset = 0;

    RGM_TRY(rgm_trainer_save_state(checkpoint, c->trainer));
    RGM_TRY(rgmi_keys_save(checkpoint, c));
    RGM_TRY(rgm_metrics_log_commit(&offset, c->metrics_log));
    RGM_TRY(
        rgm_checkpoint_set_keys(checkpoint, &(rgm_key_place){RGM_KEY_METRICS_OFFSET, &offset}, 1));
    RGM_TRY(rgmi_events_flush(c));
    return rgmi_tables_flush(c);
}

static rgm_status write_state(rgm_controller *c, bool may_go_on)
{
    int64_t step = rgm_trainer_global_step(c->trainer);
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_trainer_check_weights(c->trainer, "saved"));
    if (c->options.exports.checkpoints)
        RGM_GO(rgmi_export_step(c));
    RGM_GO(rgm_checkpoint_create(&checkpoint, step));
    RGM_GO(take_down(checkpoint, c));
    RGM_GO(rgmi_spare(c));
    if (may_go_on && c->fill == NULL && rgmi_behind_start(c, checkpoint)) {
        checkpoint = NULL; /* the thread's */
    } else {
        RGM_GO(rgmi_save_filled(c, c->store, checkpoint, NULL));
        rgmi_tell_saved(c, step);
    }
    c->saved_time = rgm_now();
    c->saved_changes = c->changes;
done:
    rgm_checkpoint_release(checkpoint);
    return status;
}

/* may_go_on: with trainer.checkpoint.asynchronous a thread may write it. */
static rgm_status save(rgm_controller *c, bool may_go_on)
{
    double begin = rgm_trainer_profile_now(c->trainer);
    rgm_status status = rgmi_behind_end(c);

    if (status != RGM_OK || c->saved_changes == c->changes)
        return status;
    if (rgmi_rank(c) > 0)
        return hand_in(c);
    if (c->folder == NULL)
        return RGM_OK;
    status = write_state(c, may_go_on && c->options.checkpoint.asynchronous);
    rgm_trainer_profile_beside(c->trainer, "checkpoint", NULL, begin);
    return status;
}

rgm_status rgmi_state_save(rgm_controller *c)
{
    return save(c, false);
}

rgm_status rgmi_state_keep(rgm_controller *c)
{
    return c->saves_on_request ? RGM_OK : save(c, false);
}

rgm_status rgmi_state_keep_on_the_way(rgm_controller *c)
{
    return c->saves_on_request ? RGM_OK : save(c, true);
}

rgm_status rgm_controller_save(rgm_controller *c)
{
    rgm_logger *before = rgmi_enter(c);

    return rgmi_leave(before, rgmi_state_save(c));
}

/* ---- restore ------------------------------------------------------------------------------- */

/* Restore all of a checkpoint, or (data_too false) what a rollback takes back. */
static rgm_status take_up(rgm_controller *c, const rgm_checkpoint *checkpoint, bool data_too,
                          int64_t *offset)
{
    RGM_TRY(rgmi_counters_restore(c, checkpoint, offset));
    RGM_TRY(data_too ? rgm_trainer_restore_state(c->trainer, checkpoint)
                     : rgm_trainer_roll_back(c->trainer, checkpoint));
    RGM_TRY(rgmi_keys_restore(c, checkpoint, data_too));
    c->saved_step = rgm_checkpoint_step(checkpoint);
    c->saved_changes = c->changes;
    c->exported_step = -1; /* of another course, maybe */
    c->placed_step = -1;
    rgmi_tell(c, RGM_EVENT_RESTORE, RGM_TRAIN, NULL);
    return RGM_OK;
}

rgm_status rgmi_state_initialize(rgm_controller *c)
{
    RGM_TRY(rgm_trainer_initialize_weights(c->trainer));
    rgmi_tell(c, RGM_EVENT_INITIALIZE, RGM_TRAIN, NULL);
    return RGM_OK;
}

rgm_status rgmi_state_restore_newest(rgm_controller *c, int64_t *offset)
{
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status = RGM_ERR_NOT_FOUND;

    if (c->store != NULL)
        status = rgm_checkpoint_load_newest(&checkpoint, c->store);
    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        return rgmi_state_initialize(c);
    }
    RGM_GO(status);
    RGM_GO(take_up(c, checkpoint, true, offset));
    if (c->folder != NULL) { /* the last save may have been killed before its end */
        RGM_GO(rgmi_spare(c));
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

/* Make <run>/best the best of the restored state. */
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

/* Let <run>/best and <run>/averages have nothing of behind the restored state. */
static rgm_status weights_set_aside(rgm_controller *c)
{
    int64_t moved;

    if (c->averages_store != NULL)
        RGM_TRY(rgm_checkpoint_store_set_aside(&moved, c->averages_store,
                                               rgm_trainer_global_step(c->trainer)));
    return best_set_aside(c);
}

/* Whether the checkpoint at `path` is one of this run's: its offset then fits this run's
 * metrics. */
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

/* Cut off what was logged after the restored state. */
static rgm_status cut_logs(rgm_controller *c, int64_t offset)
{
    if (c->metrics_log != NULL)
        RGM_TRY(rgm_metrics_log_truncate(c->metrics_log, offset));
    return rgmi_tables_cut(c, false);
}

/*
 * Make a state that was restored by name permanent, also for later starts: newer checkpoints are
 * set aside, and the state becomes a checkpoint of the run.
 */
static rgm_status settle(rgm_controller *c, const char *path, int64_t offset)
{
    int64_t moved, step = rgm_trainer_global_step(c->trainer);

    c->changes++; /* the state is no longer the run's newest */
    if (c->folder == NULL)
        return rgmi_state_save(c); /* what the first process lacks for its save below */
    rgmi_events_restart(c);
    RGM_TRY(rgm_checkpoint_store_set_aside(&moved, c->store, step));
    if (is_own(c, path, step)) /* no newer checkpoint needs what is cut off */
        RGM_TRY(cut_logs(c, offset));
    RGM_TRY(rgmi_state_save(c));
    RGM_TRY(rgmi_result_save(c)); /* it told of the later steps */
    return weights_set_aside(c);
}

/* That of the first of several processes, by its step. */
static rgm_status load_as_first(rgm_checkpoint **out, const rgm_controller *c, int64_t step)
{
    if (c->store == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "rank %d has no checkpoints, and rank 0 has that of step %lld: all ranks "
                        "must see one run folder",
                        rgmi_rank(c), (long long)step);
    return rgm_checkpoint_load_step(out, c->store, step);
}

/* The newest one; *out NULL: there is none. The first of several processes says which that is: a
 * thread of its own may just have written it, and a folder that others see by a network may lag. */
static rgm_status load_newest(rgm_checkpoint **out, rgm_controller *c)
{
    rgm_comm *comm = rgm_trainer_comm(c->trainer);
    rgm_status status = RGM_ERR_NOT_FOUND;
    int64_t step = -1;

    *out = NULL;
    RGM_TRY(rgm_comm_fail(comm, rgmi_behind_end(c)));
    if (rgmi_rank(c) == 0 && c->store != NULL)
        status = rgm_checkpoint_load_newest(out, c->store);
    if (status == RGM_OK)
        step = rgm_checkpoint_step(*out);
    else if (status == RGM_ERR_NOT_FOUND)
        rgm_error_reset();
    else
        return rgm_comm_fail(comm, status);
    RGM_TRY(rgm_comm_broadcast(comm, &step, sizeof step, 0));
    return step < 0 || *out != NULL ? RGM_OK : rgm_comm_fail(comm, load_as_first(out, c, step));
}

static rgm_status restore(rgm_controller *c, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_checkpoint *checkpoint = NULL;
    int64_t offset;

    if (path != NULL) {
        RGM_GO(rgmi_behind_end(c));
        RGM_GO(rgm_checkpoint_load(&checkpoint, path));
    } else {
        RGM_GO(load_newest(&checkpoint, c));
    }
    if (checkpoint == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no checkpoint in %s/ckpt", c->run_dir);
    RGM_GO(take_up(c, checkpoint, true, &offset));
    if (path != NULL)
        RGM_GO(settle(c, path, offset));
    else
        RGM_GO(cut_logs(c, offset));
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

/* Go back to the run's beginning, except for the data, which continue. */
static rgm_status back_to_start(rgm_controller *c)
{
    RGM_TRY(rgm_trainer_reset(c->trainer));
    c->epochs = c->evaluated_step = 0;
    c->best_step = c->exported_step = c->placed_step = -1;
    c->kept_count = c->stale = 0;
    c->best_value = c->stop_value = NAN;
    rgmi_plateau_forget(c);
    c->rate_factor = 1; /* as of the new optimizer */
    if (c->metrics_log != NULL)
        RGM_TRY(rgm_metrics_log_truncate(c->metrics_log, 0));
    c->changes++;
    RGM_TRY(rgmi_tables_cut(c, true));
    return weights_set_aside(c);
}

rgm_status rgmi_roll_back(rgm_controller *c)
{
    rgm_status status = RGM_OK;
    rgm_checkpoint *checkpoint = NULL;
    int64_t offset;

    RGM_GO(load_newest(&checkpoint, c));
    if (checkpoint == NULL)
        return back_to_start(c);
    RGM_GO(take_up(c, checkpoint, false, &offset));
    c->changes++; /* the data position has changed */
    RGM_GO(cut_logs(c, offset));
    RGM_GO(weights_set_aside(c));
done:
    rgm_checkpoint_release(checkpoint);
    return status;
}
