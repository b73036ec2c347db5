/*
 * Experiments in memory. A searcher is the newest snapshot of its state and the events since, told
 * again in their order; operations that come out of that were put down when the events happened.
 */
#include "master_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SNAPSHOT_EVENTS = 1000 }; /* at least so many between two snapshots; see snapshot() */

static void forget(rgm_master *master, rgmi_experiment *e)
{
    for (int64_t i = 0; i < master->experiment_count; i++)
        if (master->experiments[i] == e)
            master->experiments[i] = master->experiments[--master->experiment_count];
    rgmi_experiment_release(e);
}

/* ---- load ----------------------------------------------------------------------------------- */

static void drain(rgm_searcher *searcher)
{
    rgm_operation operation;

    while (rgm_searcher_next(&operation, searcher))
        ;
}

static rgm_status restore_snapshot(rgm_master *master, rgmi_experiment *e)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT event_id, state AS searcher_state FROM searcher_snapshots WHERE experiment_id = ?",
        "i", e->id));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_END) {
        RGM_TRY(rgm_searcher_begin(e->searcher));
        drain(e->searcher);
        return RGM_OK;
    }
    RGM_TRY(status);
    e->events = e->saved_events = rgmi_rows_int(rows, 0);
    status = rgm_searcher_restore(e->searcher, rgmi_rows_text(rows, 1),
                                  (int64_t)strlen(rgmi_rows_text(rows, 1)));
    rgmi_rows_leave(rows);
    return status;
}

static rgm_status repeat_events(rgm_master *master, rgmi_experiment *e)
{
    double metrics[RGM_MAX_OBJECTIVES];
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT id, kind, trial, length, metrics FROM searcher_events WHERE"
                                " experiment_id = ? AND id > ? ORDER BY id",
                                "ii", e->id, e->saved_events));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        rgm_search_event event = {.kind = (rgm_search_event_kind)rgmi_rows_int(rows, 1),
                                  .trial = rgmi_rows_int(rows, 2),
                                  .length = rgmi_rows_int(rows, 3)};

        if (rgmi_rows_text(rows, 4) != NULL) {
            RGM_GO(rgmi_metrics_read(metrics, e, rgmi_rows_text(rows, 4)));
            event.metrics = metrics;
        }
        e->events = rgmi_rows_int(rows, 0);
        RGM_GO(rgm_searcher_tell(e->searcher, &event));
        drain(e->searcher);
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgmi_rows_leave(rows);
    return status;
}

static rgm_status read_row(const rgm_master *master, rgmi_experiment *e, uint32_t *seed,
                           rgmi_rows *rows)
{
    const char *config = rgmi_rows_text(rows, 1);

    RGM_TRY(rgmi_state_read(&e->state, rgmi_rows_text(rows, 0)));
    if (rgm_work_is_over(e->state))
        return RGM_FAIL(RGM_ERR_BUSY, "experiment %lld is %s", (long long)e->id,
                        rgm_work_state_names[e->state]);
    RGM_TRY(rgm_search_file_parse_kept(&e->file, NULL, config, (int64_t)strlen(config),
                                       rgmi_rows_text(rows, 2), master->options.subject));
    *seed = (uint32_t)rgmi_rows_int(rows, 3);
    e->best = rgmi_rows_number(rows, rgmi_objective(e->file)->smaller_is_better ? 4 : 5);
    return RGM_OK;
}

static rgm_status load(rgm_master *master, rgmi_experiment *e)
{
    rgmi_rows *rows;
    uint32_t seed = 0;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT state, config, name, seed, (SELECT min(best_metric) FROM trials WHERE experiment_id"
        " = e.id) AS smallest, (SELECT max(best_metric) FROM trials WHERE experiment_id = e.id) AS"
        " largest"
        " FROM experiments e WHERE id = ?",
        "i", e->id));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_END)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no experiment %lld", (long long)e->id);
    RGM_TRY(status);
    status = read_row(master, e, &seed, rows);
    rgmi_rows_leave(rows);
    RGM_TRY(status);
    if (e->state >= RGM_WORK_STOPPING_COMPLETED)
        return RGM_OK; /* nobody is told any more */
    RGM_TRY(rgm_search_file_searcher(&e->searcher, e->file, seed, NULL));
    return rgmi_earlier_tell(master, e, e->searcher);
}

static rgm_status enter(rgmi_experiment **out, rgm_master *master, int64_t id)
{
    rgm_status status = RGM_OK;
    rgmi_experiment *e = NULL;

    RGM_GO(RGM_RESERVE(master->experiments, master->experiment_capacity,
                       master->experiment_count + 1));
    RGM_GO(RGM_NEW(e, 1));
    e->has_garbage = true; /* an earlier master may have left some */
    e->id = id;
    RGM_GO(load(master, e));
    *out = e;
    e = NULL;
done:
    rgmi_experiment_release(e);
    return status;
}

rgm_status rgmi_experiment_get(rgmi_experiment **out, rgm_master *master, int64_t id)
{
    rgmi_experiment *e = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    for (int64_t i = 0; i < master->experiment_count; i++)
        if (master->experiments[i]->id == id) {
            *out = master->experiments[i];
            return RGM_OK;
        }
    RGM_TRY(enter(&e, master, id));
    if (e->searcher != NULL) {
        RGM_GO(restore_snapshot(master, e));
        RGM_GO(repeat_events(master, e));
    }
    master->experiments[master->experiment_count++] = *out = e;
    e = NULL;
done:
    rgmi_experiment_release(e);
    return status;
}

/* ---- events --------------------------------------------------------------------------------- */

static rgm_status keep_event(rgm_master *master, rgmi_experiment *e, const rgm_search_event *event)
{
    rgm_status status = RGM_OK;
    rgm_text metrics = {0};
    const rgm_objective *objectives;
    int64_t count = rgm_searcher_objectives(&objectives, e->searcher);

    if (event->metrics != NULL)
        RGM_GO(rgmi_metrics_print(&metrics, event->metrics, count));
    RGM_GO(rgmi_database_run(master->database,
                             "INSERT INTO searcher_events(experiment_id, id, kind, trial, length,"
                             " metrics, time) VALUES(?, ?, ?, ?, ?, ?, ?)",
                             "iiiiitd", e->id, ++e->events, (int64_t)event->kind, event->trial,
                             event->length, metrics.data, rgm_wall_time()));
done:
    rgm_text_clear(&metrics);
    return status;
}

static rgm_status save_snapshot(rgm_master *master, rgmi_experiment *e)
{
    rgm_status status = RGM_OK;
    rgm_text state = {0};

    RGM_GO(rgm_searcher_save(&state, e->searcher));
    RGM_GO(rgmi_database_run(master->database,
                             "INSERT INTO searcher_snapshots(experiment_id, event_id, state)"
                             " VALUES(?, ?, ?) ON CONFLICT(experiment_id) DO UPDATE SET event_id ="
                             " excluded.event_id, state = excluded.state",
                             "iit", e->id, e->events, state.data));
    e->saved_events = e->events;
done:
    rgm_text_clear(&state);
    return status;
}

/* So rarely that writing states takes no more than a part of what events take. */
static rgm_status snapshot(rgm_master *master, rgmi_experiment *e)
{
    int64_t most = 4 * rgm_searcher_trial_count(e->searcher);

    if (rgm_searcher_is_told_once(e->searcher))
        return save_snapshot(master, e);
    if (e->events - e->saved_events < (most > SNAPSHOT_EVENTS ? most : SNAPSHOT_EVENTS))
        return RGM_OK;
    return save_snapshot(master, e);
}

/* It cannot go on: the experiment ends with the reason. */
static rgm_status give_up(rgm_master *master, rgmi_experiment *e, rgm_status status)
{
    char message[RGMI_REASON_ROOM];

    if (status == RGM_ERR_NOMEM || status == RGM_ERR_IO)
        return status;
    snprintf(message, sizeof message, "searcher: %s", rgm_error_message());
    rgm_searcher_release(e->searcher);
    e->searcher = NULL;
    return rgmi_experiment_set_state(master, e, RGM_WORK_STOPPING_ERROR, message);
}

static rgm_status tell_one(rgm_master *master, rgmi_experiment *e, const rgm_search_event *event)
{
    rgm_status status;

    if (e->searcher == NULL || e->state >= RGM_WORK_STOPPING_COMPLETED)
        return RGM_OK;
    RGM_TRY(keep_event(master, e, event));
    status = rgm_searcher_tell(e->searcher, event);
    if (status != RGM_OK)
        return give_up(master, e, status);
    return rgmi_operations_apply(master, e);
}

/* What trials had done before it was asked of them. */
static rgm_status tell_noted(rgm_master *master, rgmi_experiment *e)
{
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < e->told_count && status == RGM_OK; i++) {
        rgmi_told told = e->told[i]; /* more may be noted, and the array move */

        if (told.event.kind == RGM_VALIDATED)
            told.event.metrics = told.metrics;
        status = tell_one(master, e, &told.event);
    }
    e->told_count = 0;
    return status;
}

static rgm_status note_progress(rgm_master *master, const rgmi_experiment *e)
{
    return rgmi_database_run(master->database, "UPDATE experiments SET progress = ? WHERE id = ?",
                             "di", rgm_searcher_progress(e->searcher), e->id);
}

rgm_status rgmi_experiment_tell(rgm_master *master, rgmi_experiment *e,
                                const rgm_search_event *event)
{
    RGM_TRY(tell_one(master, e, event));
    RGM_TRY(tell_noted(master, e));
    if (e->searcher == NULL)
        return RGM_OK;
    RGM_TRY(note_progress(master, e));
    return snapshot(master, e);
}

rgm_status rgmi_experiment_note(rgm_master *master, rgmi_experiment *e,
                                const rgm_search_event *event)
{
    RGM_TRY(keep_event(master, e, event));
    return rgm_searcher_tell(e->searcher, event);
}

rgm_status rgmi_experiment_go_on(rgm_master *master, rgmi_experiment *e)
{
    RGM_TRY(rgmi_operations_apply(master, e));
    RGM_TRY(tell_noted(master, e));
    if (e->searcher == NULL)
        return RGM_OK;
    RGM_TRY(note_progress(master, e));
    return save_snapshot(master, e);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static rgm_search_event_kind event_of(rgm_work_state state)
{
    return state == RGM_WORK_COMPLETED ? RGM_CLOSED : RGM_EXITED;
}

rgm_status rgmi_trial_end_as(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                             rgm_work_state state, rgm_search_event_kind kind, const char *message)
{
    return rgmi_trial_end_with(master, e, trial, state,
                               &(rgm_search_event){.kind = kind, .trial = trial->number}, message);
}

rgm_status rgmi_trial_end_with(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                               rgm_work_state state, const rgm_search_event *event,
                               const char *message)
{
    trial->state = state;
    trial->dirty = true;
    RGM_TRY(rgmi_database_run(master->database,
                              "UPDATE trials SET end_time = ?, message = ? WHERE id = ?", "dti",
                              rgm_wall_time(), message, trial->id));
    if (state == RGM_WORK_ERROR)
        RGM_TRY(rgmi_hooks_note(master, e->id, trial->id, RGMI_HOOK_FAILURE));
    return rgmi_experiment_tell(master, e, event);
}

rgm_status rgmi_trial_end(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                          rgm_work_state state, const char *message)
{
    return rgmi_trial_end_as(master, e, trial, state, event_of(state), message);
}

/* Told to end where it is, it has: counted as what it reached. */
static rgm_status end_here(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial)
{
    int64_t batches = rgm_sequencer_batches(trial->sequencer);
    double metrics[RGM_MAX_OBJECTIVES];
    rgm_search_event event = {.kind = RGM_ENDED, .trial = trial->number};
    char text[100];

    if (e->searcher != NULL)
        RGM_TRY(rgmi_trial_reached(&event, metrics, master, e, trial->number));
    snprintf(text, sizeof text, "stopped on request at %lld batches", (long long)batches);
    return rgmi_trial_end_with(master, e, trial,
                               batches > 0 ? RGM_WORK_COMPLETED : RGM_WORK_CANCELED, &event, text);
}

/* ---- what follows --------------------------------------------------------------------------- */

/* Trials that the searcher closed, or that were told to end, and that have nothing left to do, the
 * last checkpoint included. */
static rgm_status close_trials(bool *any, rgm_master *master, rgmi_experiment *e)
{
    rgm_workload workload;

    *any = false;
    for (int64_t i = 0; i < e->trial_count; i++) {
        rgmi_trial *trial = e->trials[i];

        if ((trial->closing || trial->ending) && trial->state == RGM_WORK_ACTIVE &&
            rgm_sequencer_is_up_to_date(trial->sequencer) &&
            !rgm_sequencer_preclose(&workload, trial->sequencer)) {
            *any = true;
            RGM_TRY(trial->ending ? end_here(master, e, trial)
                                  : rgmi_trial_end(master, e, trial, RGM_WORK_COMPLETED, NULL));
        }
    }
    return RGM_OK;
}

static rgm_status count_trials(int64_t *active, int64_t *done, int64_t *failed, rgm_master *master,
                               int64_t id)
{
    const char *sql = "SELECT count(*) FROM trials WHERE experiment_id = ? AND state = ?";

    RGM_TRY(rgmi_database_int(active, master->database, 0, sql, "it", id, RGMI_NAME_ACTIVE));
    RGM_TRY(rgmi_database_int(done, master->database, 0, sql, "it", id, RGMI_NAME_COMPLETED));
    return rgmi_database_int(failed, master->database, 0, sql, "it", id, RGMI_NAME_ERROR);
}

/* Why none succeeded: by the first that says why. */
static rgm_status explain_failure(rgm_master *master, const rgmi_experiment *e, int64_t failed)
{
    return rgmi_database_run(
        master->database,
        "UPDATE experiments SET message = coalesce(message, (SELECT 'none of its trials succeeded,"
        " and ' || ? || ' failed; trial ' || number || ': ' || message FROM trials WHERE"
        " experiment_id = experiments.id AND state = " RGMI_SQL(
            ERROR) " AND message IS NOT NULL"
                   " ORDER BY number LIMIT 1)) WHERE id = ?",
        "ii", failed, e->id);
}

/* The searcher goes with the experiment: what it saved is put down. */
static rgm_status note_saved(rgm_master *master, const rgmi_experiment *e)
{
    int64_t saved, of;

    if (e->searcher == NULL)
        return RGM_OK;
    rgm_searcher_saved(&saved, &of, e->searcher);
    return rgmi_database_run(
        master->database,
        "UPDATE experiments SET saved = ?, saved_of = ?, saved_unit = ? WHERE id = ?", "iiti",
        saved, of, rgm_length_unit_names[rgm_searcher_max_length(e->searcher).unit], e->id);
}

/* When the last trial is over, so is the experiment. COMPLETED if one succeeded. */
static rgm_status end_experiment(rgm_master *master, rgmi_experiment *e)
{
    int64_t active, done, failed;
    rgm_work_state end = e->state == RGM_WORK_STOPPING_COMPLETED ? RGM_WORK_COMPLETED
                         : e->state == RGM_WORK_STOPPING_ERROR   ? RGM_WORK_ERROR
                                                                 : RGM_WORK_CANCELED;

    if (e->state < RGM_WORK_STOPPING_COMPLETED || rgmi_experiment_has_process(master, e->id))
        return RGM_OK;
    RGM_TRY(count_trials(&active, &done, &failed, master, e->id));
    if (active > 0)
        return RGM_OK;
    if (end == RGM_WORK_COMPLETED && done == 0)
        end = failed > 0 ? RGM_WORK_ERROR : RGM_WORK_CANCELED;
    if (end == RGM_WORK_ERROR && failed > 0)
        RGM_TRY(explain_failure(master, e, failed));
    RGM_TRY(note_saved(master, e));
    e->state = end;
    RGM_TRY(rgmi_database_run(
        master->database,
        "UPDATE experiments SET state = ?, end_time = ?, progress = CASE WHEN"
        " ? = " RGMI_SQL(COMPLETED) " THEN 1.0 ELSE progress END WHERE id = ?",
        "tdti", rgm_work_state_names[end], rgm_wall_time(), rgm_work_state_names[end], e->id));
    RGM_TRY(rgmi_hooks_note(master, e->id, 0, RGMI_HOOK_END));
    /* The searcher of a file that was changed cannot be had by all of its events. */
    return rgmi_database_run(master->database,
                             "DELETE FROM searcher_snapshots WHERE experiment_id = ? AND NOT EXISTS"
                             "(SELECT 1 FROM search_changes c WHERE c.experiment_id ="
                             " searcher_snapshots.experiment_id)",
                             "i", e->id);
}

static void drop_idle_trials(rgm_master *master, rgmi_experiment *e)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < e->trial_count; i++) {
        rgmi_trial *trial = e->trials[i];

        if (trial->state == RGM_WORK_ACTIVE && rgmi_process_of(master, trial->id) != NULL) {
            e->trials[kept++] = trial;
        } else {
            e->by_number[trial->number - 1] = NULL;
            rgmi_trial_forget(trial);
        }
    }
    e->trial_count = kept;
}

rgm_status rgmi_experiment_flush(rgm_master *master, rgmi_experiment *e)
{
    bool any;

    do
        RGM_TRY(close_trials(&any, master, e));
    while (any);
    for (int64_t i = 0; i < e->trial_count; i++)
        RGM_TRY(rgmi_trial_write(master, e->trials[i]));
    RGM_TRY(end_experiment(master, e));
    drop_idle_trials(master, e);
    if (rgm_work_is_over(e->state))
        forget(master, e);
    return RGM_OK;
}

rgm_status rgmi_experiment_begin(rgm_master *master, int64_t id)
{
    rgmi_experiment *e = NULL;

    RGM_TRY(enter(&e, master, id));
    master->experiments[master->experiment_count++] = e;
    RGM_TRY(rgm_searcher_begin(e->searcher));
    RGM_TRY(rgmi_operations_apply(master, e));
    RGM_TRY(tell_noted(master, e));
    return rgmi_experiment_flush(master, e);
}
