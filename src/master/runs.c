/*
 * Runs of trials that ended: back to the newest checkpoint, and waiting for slots again, or over.
 */
#include "master_internal.h"

#include <math.h>
#include <stdio.h>

rgm_status rgmi_trial_find(rgmi_trial **out, rgmi_experiment **experiment, rgm_master *master,
                           int64_t id)
{
    rgmi_rows *rows;
    int64_t of, number;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT experiment_id, number FROM trials WHERE id = ?", "i", id));
    rgm_status status = rgmi_rows_next(master->database, rows);
    if (status == RGM_END)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no trial %lld", (long long)id);
    RGM_TRY(status);
    of = rgmi_rows_int(rows, 0);
    number = rgmi_rows_int(rows, 1);
    rgmi_rows_leave(rows);
    RGM_TRY(rgmi_experiment_get(experiment, master, of));
    return rgmi_trial_get(out, master, *experiment, number);
}

rgm_status rgmi_run_prepare(rgm_master *master, int64_t id)
{
    rgmi_experiment *e;
    rgmi_trial *trial;
    rgm_workload saved;

    RGM_TRY(rgmi_trial_find(&trial, &e, master, id));
    if (!rgm_sequencer_preclose(&saved, trial->sequencer))
        return RGM_OK;
    RGM_TRY(rgmi_trial_rollback(master, trial, INT64_MAX));
    return rgmi_experiment_flush(master, e);
}

bool rgmi_is_unreadable(rgm_status status)
{
    return status < 0 && status != RGM_ERR_IO && status != RGM_ERR_NOMEM &&
           status != RGM_ERR_BUSY && status != RGM_ERR_NOT_FOUND;
}

/* Nothing of it is under way: it waits for slots, or is over with its experiment. */
static rgm_status after_run(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial)
{
    if (trial->state == RGM_WORK_ACTIVE && e->state >= RGM_WORK_STOPPING_COMPLETED)
        return rgmi_trial_end(master, e, trial, RGM_WORK_CANCELED, NULL);
    return RGM_OK;
}

static rgm_status note_message(rgm_master *master, const rgmi_trial *trial, const char *message)
{
    return rgmi_database_run(master->database, "UPDATE trials SET message = ? WHERE id = ?", "ti",
                             message, trial->id);
}

/* The machine's fault: it may be mended, or not at once. */
static rgm_status after_machine(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                                const char *message)
{
    rgmi_delay_note(master, e->id, 0, message);
    RGM_TRY(note_message(master, trial, message));
    return after_run(master, e, trial);
}

static rgm_status after_failure(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                                const char *message)
{
    char text[RGMI_REASON_ROOM];

    trial->restarts++;
    trial->dirty = true;
    if (trial->restarts <= rgm_search_file_settings(e->file)->max_restarts) {
        RGM_TRY(note_message(master, trial, message));
        return after_run(master, e, trial);
    }
    if (message == NULL)
        message = "no message; its log may tell";
    if (trial->restarts > 1)
        snprintf(text, sizeof text, "failed %lld times, the last one: %s",
                 (long long)trial->restarts, message);
    else
        snprintf(text, sizeof text, "%s", message);
    return rgmi_trial_end(master, e, trial, RGM_WORK_ERROR, text);
}

/* ---- a checkpoint that is lost -------------------------------------------------------------- */

rgm_status rgmi_checkpoint_release(rgm_master *master, int64_t experiment, int64_t number,
                                   int64_t checkpoint)
{
    rgm_status status = RGM_OK;
    rgmi_rows *rows = NULL;
    char *folder = NULL;

    RGM_GO(rgmi_database_query(&rows, master->database,
                               "SELECT folder FROM checkpoints WHERE id = ?", "i", checkpoint));
    RGM_GO(rgmi_rows_next(master->database, rows));
    RGM_GO(rgmi_master_path(&folder, master, experiment, number, rgmi_rows_text(rows, 0)));
    RGM_GO(rgmi_database_run(master->database,
                             "UPDATE trials SET source_checkpoint = ?, source_checkpoint_id = NULL"
                             " WHERE source_checkpoint_id = ?",
                             "ti", folder, checkpoint));
    RGM_GO(rgmi_database_run(master->database,
                             "UPDATE experiments SET source_checkpoint = ?, source_checkpoint_id ="
                             " NULL WHERE source_checkpoint_id = ?",
                             "ti", folder, checkpoint));
done:
    rgmi_rows_leave(rows);
    rgm_free(folder);
    return status;
}

/* Back to the one before; it is made again on the way. */
static rgm_status give_up_checkpoint(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                                     const char *message)
{
    int64_t step = rgm_sequencer_steps(trial->sequencer), checkpoint;

    RGM_TRY(rgmi_database_int(&checkpoint, master->database, 0,
                              "SELECT id FROM checkpoints WHERE trial_id = ? AND step_id = ?", "ii",
                              trial->id, step));
    if (checkpoint == 0) /* it says so of the beginning: it would again */
        return after_failure(master, e, trial, message);
    RGM_TRY(rgmi_checkpoint_release(master, e->id, trial->number, checkpoint));
    RGM_TRY(rgmi_trial_rollback(master, trial, rgm_sequencer_batches(trial->sequencer) - 1));
    rgm_log_write(RGM_LOG_WARNING, "trial %lld goes back from step %lld to step %lld: %s",
                  (long long)trial->id, (long long)step,
                  (long long)rgm_sequencer_steps(trial->sequencer), message);
    RGM_TRY(note_message(master, trial, message));
    return after_run(master, e, trial);
}

/* ---- the end of a run ----------------------------------------------------------------------- */

/* Of what was validated and is still there: a rollback has deleted the rest. */
static rgm_status find_best(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial)
{
    bool smaller = rgmi_objective(e->file)->smaller_is_better;
    double others = NAN;
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT (SELECT metric FROM validations WHERE trial_id = t.id ORDER"
                                " BY step_id DESC LIMIT 1) AS metric, min(v.metric) AS smallest,"
                                " max(v.metric) AS largest, (SELECT min(best_metric) FROM trials o"
                                " WHERE o.experiment_id = t.experiment_id AND o.id <> t.id) AS"
                                " smallest, (SELECT max(best_metric) FROM trials o WHERE"
                                " o.experiment_id = t.experiment_id AND o.id <> t.id) AS largest"
                                " FROM trials t LEFT JOIN validations v ON v.trial_id = t.id AND"
                                " abs(v.metric) < 9e999 WHERE t.id = ?",
                                "i", trial->id));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_OK) {
        trial->metric = rgmi_rows_number(rows, 0);
        trial->best_metric = rgmi_rows_number(rows, smaller ? 1 : 2);
        others = rgmi_rows_number(rows, smaller ? 3 : 4);
    }
    rgmi_rows_leave(rows);
    RGM_TRY(status);
    trial->dirty = true;
    e->best = rgmi_is_better(e, trial->best_metric, others) ? trial->best_metric : others;
    return RGM_OK;
}

static rgm_status take_end(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                           rgmi_run_end how, const char *message)
{
    char text[120];

    switch (how) {
    case RGMI_RUN_MACHINE:
        return after_machine(master, e, trial, message);
    case RGMI_RUN_CHECKPOINT:
        return give_up_checkpoint(master, e, trial, message);
    case RGMI_RUN_TIME:
        snprintf(text, sizeof text, "its time is over: limits.trial_seconds is %g",
                 rgm_search_file_settings(e->file)->limits.trial_seconds);
        return rgmi_trial_end(master, e, trial, RGM_WORK_CANCELED, text);
    case RGMI_RUN_FAILED:
        return after_failure(master, e, trial, message);
    case RGMI_RUN_HOPELESS:
        trial->restarts++;
        return rgmi_trial_end(master, e, trial, RGM_WORK_ERROR, message);
    case RGMI_RUN_INVALID:
        return rgmi_trial_end_as(master, e, trial, RGM_WORK_ERROR, RGM_INVALID, message);
    default:
        return after_run(master, e, trial);
    }
}

rgm_status rgmi_run_ended(rgm_master *master, int64_t experiment, int64_t id, rgmi_run_end how,
                          const char *message)
{
    rgmi_experiment *e;
    rgmi_trial *trial;
    rgm_status status;

    RGM_TRY(rgmi_database_run(master->database,
                              "UPDATE runs SET end_time = ? WHERE trial_id = ? AND end_time IS"
                              " NULL",
                              "di", rgm_wall_time(), id));
    RGM_TRY(rgmi_database_run(master->database,
                              "UPDATE trials SET run_token = NULL, run_pid = NULL, run_started ="
                              " NULL, run_job = NULL WHERE id = ?",
                              "i", id));
    status = rgmi_trial_find(&trial, &e, master, id);
    if (status == RGM_ERR_BUSY || status == RGM_ERR_NOT_FOUND)
        return RGM_OK;                /* its experiment is over, or was deleted */
    if (rgmi_is_unreadable(status)) { /* it waits, and keeps no other waiting */
        rgmi_delay_note(master, experiment, 0, rgm_error_message());
        return RGM_OK;
    }
    RGM_TRY(status);
    if (trial->state == RGM_WORK_ACTIVE) {
        rgm_workload saved;
        bool is_behind = rgm_sequencer_preclose(&saved, trial->sequencer);

        if (how == RGMI_RUN_STOPPED && is_behind)
            how = RGMI_RUN_FAILED; /* whatever it says: work is lost */
        RGM_TRY(rgmi_trial_rollback(master, trial, INT64_MAX));
        RGM_TRY(take_end(master, e, trial, how, message));
        RGM_TRY(find_best(master, e, trial));
    }
    return rgmi_experiment_flush(master, e);
}
