/*
 * Runs of trials that ended: back to the newest checkpoint, and waiting for slots again, or over.
 */
#include "master_internal.h"

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

/* Nothing of it is under way: it waits for slots, or is over with its experiment. */
static rgm_status after_run(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial)
{
    if (trial->state == RGM_WORK_ACTIVE && e->state >= RGM_WORK_STOPPING_COMPLETED)
        return rgmi_trial_end(master, e, trial, RGM_WORK_CANCELED, NULL);
    return RGM_OK;
}

static rgm_status after_failure(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                                bool invalid, const char *message)
{
    char text[512];

    if (invalid)
        return rgmi_trial_end_as(master, e, trial, RGM_WORK_ERROR, RGM_INVALID, message);
    trial->restarts++;
    trial->dirty = true;
    if (trial->restarts <= rgm_search_file_settings(e->file)->max_restarts) {
        RGM_TRY(rgmi_database_run(master->database, "UPDATE trials SET message = ? WHERE id = ?",
                                  "ti", message, trial->id));
        return after_run(master, e, trial);
    }
    snprintf(text, sizeof text, "failed %lld times, the last one: %s", (long long)trial->restarts,
             message != NULL ? message : "no message; its log may tell");
    return rgmi_trial_end(master, e, trial, RGM_WORK_ERROR, text);
}

rgm_status rgmi_run_ended(rgm_master *master, int64_t id, rgmi_run_end how, bool invalid,
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
        return RGM_OK; /* its experiment is over, or was deleted */
    RGM_TRY(status);
    if (trial->state == RGM_WORK_ACTIVE) {
        rgm_workload saved;
        bool is_behind = rgm_sequencer_preclose(&saved, trial->sequencer);

        if (how == RGMI_RUN_STOPPED && is_behind)
            how = RGMI_RUN_FAILED; /* whatever it says: work is lost */
        RGM_TRY(rgmi_trial_rollback(master, trial, INT64_MAX));
        RGM_TRY(how == RGMI_RUN_FAILED ? after_failure(master, e, trial, invalid, message)
                                       : after_run(master, e, trial));
    }
    return rgmi_experiment_flush(master, e);
}
