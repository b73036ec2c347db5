/*
 * Bounds on time that a search file sets: of a process' silence, of a trial, of a search. What
 * counts is work, not the time in which nobody served: a trial's workloads, and for a search the
 * time in which some trial had a process.
 */
#include "master_internal.h"

#include <stdio.h>

enum { CHECK_S = 1, PUT_DOWN_S = 10 };

/* What its trial has done before, in the database; then what this process tells is added. */
static rgm_status find_worked(rgm_master *master, rgmi_process *p)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT (SELECT coalesce(sum(end_time - start_time), 0) FROM steps WHERE trial_id = t.id)"
        " + (SELECT coalesce(sum(end_time - start_time), 0) FROM validations WHERE trial_id ="
        " t.id) + (SELECT coalesce(sum(end_time - start_time), 0) FROM checkpoints WHERE trial_id ="
        " t.id) AS seconds FROM trials t WHERE t.id = ?",
        "i", p->trial));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_OK)
        p->worked = rgmi_rows_number(rows, 0);
    rgmi_rows_leave(rows);
    return status;
}

/* Its message is told as that of its failure. One that has done all and does not end has not
 * failed. */
static void end_silent(rgm_master *master, rgmi_process *p, double most)
{
    char text[160];

    rgmi_process_kill(master, p);
    if (p->terminated)
        return;
    snprintf(text, sizeof text,
             "its process said nothing for %.0f s and was ended; limits.silent_seconds is %g",
             rgm_now() - p->heard, most);
    rgm_free(p->message);
    if (rgm_strdup(&p->message, text) != RGM_OK)
        p->message = NULL;
    p->failed = true;
    p->failure = RGMI_RUN_FAILED;
}

static rgm_status keep_process(rgm_master *master, rgmi_process *p, const rgm_search_limits *limits)
{
    double now = rgm_now();

    if (p->ended || p->killed || (p->is_job && !p->asked))
        return RGM_OK;
    if (limits->silent_seconds > 0 && now - p->heard > limits->silent_seconds) {
        end_silent(master, p, limits->silent_seconds);
        return RGM_OK;
    }
    if (!(limits->trial_seconds > 0))
        return RGM_OK;
    if (p->worked < 0)
        RGM_TRY(find_worked(master, p));
    if (p->kill_at > 0 && now > p->kill_at)
        rgmi_process_kill(master, p);
    else if (p->kill_at <= 0 && p->worked + now - p->heard > limits->trial_seconds) {
        p->stops = true;
        p->kill_at = now + master->options.stop_seconds;
    }
    return RGM_OK;
}

/* ---- searches ------------------------------------------------------------------------------- */

static rgm_status put_down(double *total, rgm_master *master, rgmi_experiment *e)
{
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_run(master->database,
                              "UPDATE experiments SET seconds = seconds + ? WHERE id = ?", "di",
                              e->seconds, e->id));
    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT seconds FROM experiments WHERE id = ?", "i", e->id));
    RGM_TRY(rgmi_rows_next(master->database, rows));
    *total = rgmi_rows_number(rows, 0);
    rgmi_rows_leave(rows);
    e->seconds = 0;
    return RGM_OK;
}

static rgm_status end_search(rgm_master *master, rgmi_experiment *e, double most)
{
    char text[120];
    double total = 0;

    RGM_TRY(put_down(&total, master, e));
    if (total <= most || e->state != RGM_WORK_ACTIVE)
        return RGM_OK;
    snprintf(text, sizeof text, "its time is over: limits.search_seconds is %g", most);
    RGM_TRY(rgmi_experiment_set_state(master, e, RGM_WORK_STOPPING_COMPLETED, text));
    return rgmi_experiment_flush(master, e);
}

/* So often that a bound is met to within a hundredth, or a second. */
static rgm_status keep_search(rgm_master *master, rgmi_experiment *e, double passed)
{
    double most = rgm_search_file_settings(e->file)->limits.search_seconds;
    double often = most / 100 < PUT_DOWN_S ? most / 100 : PUT_DOWN_S;

    if (!(most > 0) || !rgmi_experiment_has_process(master, e->id))
        return RGM_OK;
    e->seconds += passed;
    if (e->seconds < often)
        return RGM_OK;
    RGM_TRY(rgmi_change_begin(master));
    return rgmi_change_end(master, end_search(master, e, most));
}

rgm_status rgmi_limits_keep(rgm_master *master)
{
    double now = rgm_now(), passed = now - master->checked;
    rgmi_experiment *e;

    if (passed < CHECK_S && master->checked > 0)
        return RGM_OK;
    passed = master->checked > 0 ? passed : 0;
    master->checked = now;
    for (int64_t i = 0; i < master->process_count; i++) {
        rgm_status status = rgmi_experiment_get(&e, master, master->processes[i].experiment);

        if (status == RGM_ERR_NOMEM || status == RGM_ERR_IO)
            return status;
        if (status == RGM_OK) /* else it is over, or cannot be read */
            RGM_TRY(keep_process(master, &master->processes[i],
                                 &rgm_search_file_settings(e->file)->limits));
    }
    for (int64_t i = master->experiment_count - 1; i >= 0; i--) /* one that ends is forgotten */
        RGM_TRY(keep_search(master, master->experiments[i], passed));
    return RGM_OK;
}
