/*
 * Trials that are told to end where they are: the step that is under way is the last one; it is
 * validated and saved, and the searcher is told how far the trial came. A kill is something else:
 * nothing is validated, and the trial counts as one that was lost.
 */
#include "master_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whether somebody may be at its next workload: a job of an earlier master too, of which nothing is
 * known yet. */
static bool may_work(const rgmi_process *p)
{
    return p != NULL && !p->job_over && !p->killed && (p->adopted || rgmi_is_at_work(p));
}

rgm_status rgmi_trial_end_here(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial)
{
    int64_t end;

    if (trial->state != RGM_WORK_ACTIVE)
        return RGM_FAIL(RGM_ERR_BUSY, "trial %lld is %s", (long long)trial->id,
                        rgm_work_state_names[trial->state]);
    if (e->state >= RGM_WORK_STOPPING_COMPLETED)
        return RGM_FAIL(RGM_ERR_BUSY, "experiment %lld is %s, and its trials end with it",
                        (long long)e->id, rgm_work_state_names[e->state]);
    if (trial->ending)
        return RGM_OK;
    RGM_TRY(
        rgm_sequencer_end(&end, trial->sequencer, may_work(rgmi_process_of(master, trial->id))));
    trial->asked_count = 0;
    trial->ending = trial->dirty = trial->sequencer_dirty = true;
    return RGM_OK;
}

/* ---- how far it came ------------------------------------------------------------------------ */

/* Of a row with batches and metrics; *batches stays where there is none. */
static rgm_status read_row(double *metrics, int64_t *batches, rgm_master *master,
                           const rgmi_experiment *e, rgmi_rows *rows)
{
    rgm_status status = rgmi_rows_next(master->database, rows);
    rgm_json *values = NULL;

    if (status == RGM_END)
        return RGM_OK;
    RGM_TRY(status);
    if (rgmi_rows_text(rows, 1) == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "a validation of experiment %lld has no metrics",
                        (long long)e->id));
    RGM_GO(rgm_json_parse(&values, rgmi_rows_text(rows, 1),
                          (int64_t)strlen(rgmi_rows_text(rows, 1)), "metrics"));
    RGM_GO(rgmi_objectives_read(metrics, e, values));
    *batches = rgmi_rows_int(rows, 0);
done:
    rgmi_rows_leave(rows);
    rgm_json_release(values);
    return status;
}

rgm_status rgmi_validation_read(double *metrics, bool *is_there, rgm_master *master,
                                const rgmi_experiment *e, const rgmi_trial *trial, int64_t batches)
{
    int64_t found = -1;
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT batches, metrics FROM validations WHERE trial_id = ? AND batches = ?", "ii",
        trial->id, batches));
    RGM_TRY(read_row(metrics, &found, master, e, rows));
    *is_there = found >= 0;
    return RGM_OK;
}

/* The newest validation of a trial: *batches is 0 where it has none. */
static rgm_status read_last(double *metrics, int64_t *batches, rgm_master *master,
                            const rgmi_experiment *e, int64_t number)
{
    rgmi_rows *rows;

    *batches = 0;
    RGM_TRY(
        rgmi_database_query(&rows, master->database,
                            "SELECT v.batches, v.metrics FROM trials t JOIN validations v ON"
                            " v.trial_id = t.id WHERE t.experiment_id = ? AND t.number = ? ORDER"
                            " BY v.step_id DESC LIMIT 1",
                            "ii", e->id, number));
    return read_row(metrics, batches, master, e, rows);
}

/* Whole units of the searcher: a part of one is not counted, and less than one counts as nothing.
 */
rgm_status rgmi_trial_reached(rgm_search_event *out, double *metrics, rgm_master *master,
                              const rgmi_experiment *e, int64_t number)
{
    double units = 0;
    int64_t batches;

    *out = (rgm_search_event){.kind = RGM_ENDED, .trial = number};
    RGM_TRY(read_last(metrics, &batches, master, e, number));
    if (batches > 0)
        rgm_search_file_units(&units, e->file, rgm_searcher_trial(e->searcher, number)->values,
                              (double)batches);
    out->length = (int64_t)floor(units);
    if (out->length > 0)
        out->metrics = metrics;
    return RGM_OK;
}
