/*
 * Trials in memory and what becomes of them. The sequencer's text is written when something was
 * asked for or a checkpoint or validation is done; steps since then are done again from their rows.
 */
#include "master_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "2 1000 10;": kind, batches, length. */
static rgm_status read_asked(rgmi_trial *trial, const char *text)
{
    int kind, used;
    rgmi_asked_length asked;

    for (; *text != 0; text += used) {
        if (sscanf(text, "%d %" SCNd64 " %" SCNd64 ";%n", &kind, &asked.batches, &asked.length,
                   &used) != 3 ||
            kind < RGM_ASK_TRAIN || kind > RGM_ASK_CHECKPOINT || asked.batches < 0 ||
            asked.length < 0)
            return RGM_FAIL(RGM_ERR_DATA, "trial %lld: what was asked is '%s'",
                            (long long)trial->id, text);
        asked.kind = (rgm_operation_kind)kind;
        RGM_TRY(RGM_RESERVE(trial->asked, trial->asked_capacity, trial->asked_count + 1));
        trial->asked[trial->asked_count++] = asked;
    }
    return RGM_OK;
}

static rgm_status read_row(rgmi_trial *trial, rgmi_rows *rows)
{
    const char *asked = rgmi_rows_text(rows, 11), *sequencer = rgmi_rows_text(rows, 10);

    trial->ending = rgmi_rows_int(rows, 12) != 0;
    trial->id = rgmi_rows_int(rows, 0);
    RGM_TRY(rgmi_state_read(&trial->state, rgmi_rows_text(rows, 1)));
    trial->closing = rgmi_rows_int(rows, 2) != 0;
    trial->restarts = rgmi_rows_int(rows, 3);
    trial->steps = rgmi_rows_int(rows, 4);
    trial->batches = rgmi_rows_int(rows, 5);
    trial->last_kind = rgmi_rows_int(rows, 6);
    trial->last_step = rgmi_rows_int(rows, 7);
    trial->metric = rgmi_rows_number(rows, 8);
    trial->best_metric = rgmi_rows_number(rows, 9);
    if (sequencer == NULL || asked == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "trial %lld has no sequencer", (long long)trial->id);
    RGM_TRY(read_asked(trial, asked));
    return rgm_sequencer_restore(&trial->sequencer, sequencer, (int64_t)strlen(sequencer));
}

/* Steps that were done since the sequencer was written. */
static rgm_status repeat_steps(rgm_master *master, const rgmi_experiment *e, rgmi_trial *trial)
{
    bool says_itself = rgm_search_file_settings(e->file)->command.count > 0; /* where steps end */
    rgmi_rows *rows;
    rgm_workload next;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT id, batches FROM steps WHERE trial_id = ? AND id > ? ORDER BY id", "ii", trial->id,
        rgm_sequencer_steps(trial->sequencer)));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        if (!rgm_sequencer_next(&next, trial->sequencer) || next.kind != RGM_RUN_STEP ||
            next.step != rgmi_rows_int(rows, 0) ||
            (next.batches != rgmi_rows_int(rows, 1) && !says_itself)) {
            rgmi_rows_leave(rows);
            return RGM_FAIL(RGM_ERR_DATA, "trial %lld: its steps are not those of its sequencer",
                            (long long)trial->id);
        }
        status = says_itself ? rgm_sequencer_trained(NULL, trial->sequencer, rgmi_rows_int(rows, 1))
                             : rgm_sequencer_completed(NULL, trial->sequencer, &next, false);
        if (status != RGM_OK) {
            rgmi_rows_leave(rows);
            return status;
        }
    }
    return status == RGM_END ? RGM_OK : status;
}

static void drop(rgmi_experiment *e, rgmi_trial *trial)
{
    for (int64_t i = 0; i < e->trial_count; i++)
        if (e->trials[i] == trial)
            e->trials[i] = e->trials[--e->trial_count];
    e->by_number[trial->number - 1] = NULL;
    rgmi_trial_forget(trial);
}

rgm_status rgmi_trial_get(rgmi_trial **out, rgm_master *master, rgmi_experiment *e, int64_t number)
{
    rgmi_rows *rows;
    rgmi_trial *trial;
    rgm_status status;

    *out = number >= 1 && number <= e->number_capacity ? e->by_number[number - 1] : NULL;
    if (*out != NULL)
        return RGM_OK;
    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT t.id, t.state, closing, restarts, steps, batches, last_kind, last_step, metric,"
        " best_metric, s.state AS sequencer, asked, ending FROM trials t JOIN sequencers s ON "
        "s.trial_id = "
        "t.id"
        " WHERE experiment_id = ? AND number = ?",
        "ii", e->id, number));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_END)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "experiment %lld has no trial %lld", (long long)e->id,
                        (long long)number);
    RGM_TRY(status);
    status = rgmi_trial_enter(&trial, e, number);
    if (status == RGM_OK)
        status = read_row(trial, rows);
    rgmi_rows_leave(rows);
    if (status == RGM_OK)
        status = repeat_steps(master, e, trial);
    if (status != RGM_OK && trial != NULL)
        drop(e, trial);
    *out = status == RGM_OK ? trial : NULL;
    return status;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static rgm_status write_sequencer(rgm_master *master, rgmi_trial *trial)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(rgm_sequencer_save(&text, trial->sequencer));
    RGM_GO(rgmi_database_run(master->database,
                             "INSERT INTO sequencers(trial_id, state) VALUES(?, ?)"
                             " ON CONFLICT(trial_id) DO UPDATE SET state = excluded.state",
                             "it", trial->id, text.data));
    trial->sequencer_dirty = false;
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_trial_write(rgm_master *master, rgmi_trial *trial)
{
    rgm_status status = RGM_OK;
    rgm_text asked = {0};
    bool wants = trial->state == RGM_WORK_ACTIVE && !rgm_sequencer_is_up_to_date(trial->sequencer);

    if (trial->sequencer_dirty)
        RGM_GO(write_sequencer(master, trial));
    if (!trial->dirty)
        goto done;
    RGM_GO(rgm_text_printf(&asked, "%s", ""));
    for (int64_t i = 0; i < trial->asked_count; i++)
        RGM_GO(rgm_text_printf(&asked, "%d %" PRId64 " %" PRId64 ";", (int)trial->asked[i].kind,
                               trial->asked[i].batches, trial->asked[i].length));
    RGM_GO(rgmi_database_run(
        master->database,
        "UPDATE trials SET state = ?, closing = ?, ending = ?, wants = ?, restarts = ?, steps = ?, "
        "batches = ?,"
        " last_kind = ?, last_step = ?, metric = ?, best_metric = ?, asked = ? WHERE id = ?",
        "tiiiiiiiiddti", rgm_work_state_names[trial->state], (int64_t)trial->closing,
        (int64_t)trial->ending, (int64_t)wants, trial->restarts, trial->steps, trial->batches,
        trial->last_kind, trial->last_step, trial->metric, trial->best_metric, asked.data,
        trial->id));
    trial->dirty = false;
done:
    rgm_text_clear(&asked);
    return status;
}

rgm_status rgmi_trial_rollback(rgm_master *master, rgmi_trial *trial, int64_t most)
{
    rgm_workload at = rgm_sequencer_rollback(trial->sequencer, most);

    RGM_TRY(rgmi_database_run(master->database, "DELETE FROM steps WHERE trial_id = ? AND id > ?",
                              "ii", trial->id, at.step));
    RGM_TRY(rgmi_database_run(master->database,
                              "DELETE FROM validations WHERE trial_id = ? AND step_id > ?", "ii",
                              trial->id, at.step));
    RGM_TRY(rgmi_database_run(master->database,
                              "DELETE FROM checkpoints WHERE trial_id = ? AND step_id > ?", "ii",
                              trial->id, at.step));
    trial->steps = at.step;
    trial->batches = at.batches;
    trial->last_kind = -1;
    trial->dirty = trial->sequencer_dirty = true;
    return RGM_OK;
}
