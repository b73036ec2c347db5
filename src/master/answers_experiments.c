/*
 * Experiments: lists, states, labels, deletion. How one begins is answers_create.c's.
 */
#include "requests.h"

#include <stdio.h>
#include <string.h>

#define LABELS_JSON                                                                                \
    " (SELECT json_group_array(label) FROM (SELECT label FROM labels WHERE experiment_id = e.id"   \
    " ORDER BY label)) AS 'labels:json'"
/* Few are asked for at a time, and an index has trials by experiment and state. */
#define TRIALS_JSON                                                                                \
    " metric AS 'metric:text', (SELECT count(*) FROM trials WHERE experiment_id = e.id) AS "       \
    "trials, (SELECT"                                                                              \
    " json_group_object(state, n) FROM (SELECT state, count(*) AS n FROM trials WHERE"             \
    " experiment_id = e.id GROUP BY state)) AS 'trials_by_state:json'"
#define EXPERIMENT_COLUMNS                                                                         \
    "SELECT id, state, name, description, project, owner," LABELS_JSON                             \
    ", archived AS 'archived:bool', progress, start_time AS 'start_time:time', end_time AS"        \
    " 'end_time:time', parent_id, message"

/* ---- looking -------------------------------------------------------------------------------- */

rgm_status rgmi_answer_experiments(rgmi_call *call)
{
    static const char where[] =
        "SELECT count(*) FROM experiments e WHERE (? = -1 OR archived = ?) AND (? IS NULL OR state"
        " = ?) AND (? IS NULL OR EXISTS(SELECT 1 FROM labels WHERE experiment_id = e.id AND label ="
        " ?)) AND (? IS NULL OR project = ?)";
    const char *state = rgmi_call_query(call, "state"), *label = rgmi_call_query(call, "label");
    const char *which = rgmi_call_query(call, "archived"),
               *project = rgmi_call_query(call, "project");
    int64_t limit, offset, total, archived = 0;
    rgmi_rows *rows;

    if (which != NULL && strcmp(which, "all") == 0)
        archived = -1;
    else
        RGM_TRY(rgmi_call_query_int(&archived, call, "archived", 0, 0, 1));
    RGM_TRY(rgmi_call_page(&limit, &offset, call));
    RGM_TRY(rgmi_database_int(&total, call->master->database, 0, where, "iitttttt", archived,
                              archived, state, state, label, label, project, project));
    RGM_TRY(rgmi_database_query(
        &rows, call->master->database,
        EXPERIMENT_COLUMNS
        "," TRIALS_JSON
        ", (SELECT CASE WHEN smaller_is_better THEN min(best_metric) ELSE max(best_metric) END FROM"
        " trials WHERE experiment_id = e.id) AS best_metric FROM experiments e"
        " WHERE (? = -1 OR archived = ?) AND (? IS NULL OR state = ?) AND (? IS NULL OR"
        " EXISTS(SELECT 1 FROM labels WHERE experiment_id = e.id AND label = ?)) AND (? IS NULL OR"
        " project = ?) ORDER BY id DESC LIMIT ? OFFSET ?",
        "iittttttii", archived, archived, state, state, label, label, project, project, limit,
        offset));
    return rgmi_print_page(call, "experiments", rows, total);
}

static rgm_status print_best(rgmi_call *call, int64_t smaller)
{
    static const char smallest[] =
        "SELECT id, number, best_metric, hyperparameters AS 'hyperparameters:json' FROM trials "
        "WHERE"
        " experiment_id = ? AND best_metric IS NOT NULL ORDER BY best_metric, number LIMIT 1";
    static const char largest[] =
        "SELECT id, number, best_metric, hyperparameters AS 'hyperparameters:json' FROM trials "
        "WHERE"
        " experiment_id = ? AND best_metric IS NOT NULL ORDER BY best_metric DESC, number LIMIT 1";
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(&rows, call->master->database, smaller != 0 ? smallest : largest,
                                "i", call->id));
    RGM_TRY(rgm_text_printf(call->out, ", \"best_trial\": "));
    status = rgmi_rows_next(call->master->database, rows);
    if (status == RGM_END)
        return rgm_text_printf(call->out, "null");
    RGM_TRY(status);
    status = rgmi_print_row(call->out, rows);
    rgmi_rows_leave(rows);
    return status;
}

rgm_status rgmi_print_ranks(rgmi_call *call, int64_t experiment)
{
    rgm_status status = RGM_OK;
    rgm_search_file *file = NULL;
    const char *config;
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_query(&rows, call->master->database,
                                "SELECT config FROM experiments WHERE id = ?", "i", experiment));
    RGM_GO(rgmi_rows_next(call->master->database, rows));
    config = rgmi_rows_text(rows, 0);
    status = rgm_search_file_glance(&file, config, (int64_t)strlen(config), "its file");
    if (rgmi_is_unreadable(status)) { /* of another version: it is shown all the same */
        rgm_error_reset();
        RGM_GO(rgm_text_printf(call->out, ", \"ranks\": null"));
        goto done;
    }
    RGM_GO(status);
    RGM_GO(rgm_text_printf(call->out, ", \"ranks\": %lld", (long long)rgm_search_file_ranks(file)));
done:
    rgm_search_file_release(file);
    rgmi_rows_leave(rows);
    return status;
}

/* Jobs that wait for their turn. */
static int64_t count_queued(const rgm_master *m, int64_t experiment)
{
    int64_t count = 0;

    for (int64_t i = 0; i < m->process_count; i++)
        count += m->processes[i].experiment == experiment && !m->processes[i].ended &&
                 !rgmi_is_at_work(&m->processes[i]);
    return count;
}

rgm_status rgmi_answer_experiment(rgmi_call *call)
{
    int64_t smaller;
    rgmi_rows *rows;

    RGM_TRY(rgmi_experiment_exists(&smaller, call));
    RGM_TRY(rgmi_database_query(
        &rows, call->master->database,
        EXPERIMENT_COLUMNS
        "," TRIALS_JSON ", smaller_is_better AS 'smaller_is_better:bool', seed, weight, priority,"
        " max_slots, slots_per_trial, slot_type, save_experiment_best, save_trial_best, "
        "save_trial_latest,"
        " working_folder, code, note, saved, saved_of, saved_unit, (SELECT count(*) FROM "
        "earlier_trials"
        " WHERE experiment_id = e.id) AS earlier, (SELECT"
        " coalesce(sum(batches), 0) FROM trials WHERE experiment_id = e.id) AS batches,"
        " max(0, (SELECT count(*) FROM trials WHERE experiment_id = e.id AND run_token IS NOT NULL)"
        " - ?) AS running FROM experiments e WHERE id = ?",
        "ii", count_queued(call->master, call->id), call->id));
    RGM_TRY(rgmi_print_one(call, rows, "experiment"));
    call->out->size--; /* the row's bracket: what follows is of the same object */
    RGM_TRY(print_best(call, smaller));
    RGM_TRY(rgmi_print_ranks(call, call->id));
    RGM_TRY(rgmi_print_waits(call));
    return rgm_text_add(call->out, "}", 1);
}

rgm_status rgmi_answer_config(rgmi_call *call)
{
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_query(&rows, call->master->database,
                                "SELECT name, config, coalesce((SELECT config FROM search_changes"
                                " WHERE experiment_id = e.id ORDER BY id LIMIT 1), config) AS"
                                " original FROM experiments e WHERE id = ?",
                                "i", call->id));
    return rgmi_print_one(call, rows, "experiment");
}

rgm_status rgmi_answer_search(rgmi_call *call)
{
    rgm_status status = RGM_OK;
    rgm_text plan = {0};
    int64_t saved, of;
    rgmi_experiment *e;

    RGM_GO(rgmi_experiment_get(&e, call->master, call->id));
    if (e->searcher == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_BUSY, "experiment %lld is %s: its search is over",
                        (long long)call->id, rgm_work_state_names[e->state]));
    RGM_GO(rgm_searcher_describe(&plan, e->searcher));
    rgm_searcher_saved(&saved, &of, e->searcher);
    RGM_GO(rgm_text_printf(call->out, "{\"name\": "));
    RGM_GO(rgm_json_print_text(call->out, rgm_searcher_name(e->searcher)));
    RGM_GO(rgm_text_printf(call->out, ", \"progress\": "));
    RGM_GO(rgm_json_print_number(call->out, rgm_searcher_progress(e->searcher)));
    RGM_GO(rgm_text_printf(call->out,
                           ", \"trials\": %lld, \"unit\": \"%s\", \"max_length\": %lld, "
                           "\"saved\": %lld, \"saved_of\": %lld, \"plan\": ",
                           (long long)rgm_searcher_trial_count(e->searcher),
                           rgm_length_unit_names[rgm_searcher_max_length(e->searcher).unit],
                           (long long)rgm_searcher_max_length(e->searcher).units, (long long)saved,
                           (long long)of));
    RGM_GO(rgm_json_print_text(call->out, plan.data != NULL ? plan.data : ""));
    RGM_GO(rgm_text_add(call->out, "}", 1));
done:
    rgm_text_clear(&plan);
    return status;
}

rgm_status rgmi_answer_events(rgmi_call *call)
{
    static const rgmi_paged_list events = {
        .key = "events",
        .of_id = true,
        .count = "SELECT count(*) FROM searcher_events WHERE experiment_id = ?",
        .rows =
            "SELECT id, CASE kind WHEN 0 THEN 'trained' WHEN 1 THEN 'validated' WHEN 2 THEN"
            " 'checkpointed' WHEN 3 THEN 'exited' WHEN 4 THEN 'invalid' WHEN 6 THEN 'ended' ELSE "
            "'closed' END AS "
            "'kind:text',"
            " trial, length, metrics AS 'metrics:json', time AS 'time:time' FROM searcher_events "
            "WHERE"
            " experiment_id = ? ORDER BY id LIMIT ? OFFSET ?"};
    int64_t smaller;

    RGM_TRY(rgmi_experiment_exists(&smaller, call));
    return rgmi_answer_list(call, &events);
}

/* ---- states --------------------------------------------------------------------------------- */

/* One that this version cannot read can still be ended: its trials have nothing to wait for. */
static rgm_status end_unreadable(rgmi_call *call)
{
    rgm_master *m = call->master;
    char message[RGMI_REASON_ROOM];

    snprintf(message, sizeof message, "ended, since it cannot be read: %s", rgm_error_message());
    for (int64_t i = 0; i < m->process_count; i++)
        if (m->processes[i].experiment == call->id)
            rgmi_process_kill(m, &m->processes[i]);
    RGM_TRY(rgmi_database_run(
        m->database,
        "UPDATE trials SET state = " RGMI_SQL(
            CANCELED) ", end_time = ?,"
                      " wants = 0 WHERE experiment_id = ? AND state = " RGMI_SQL(ACTIVE),
        "di", rgm_wall_time(), call->id));
    RGM_TRY(rgmi_database_run(
        m->database,
        "UPDATE experiments SET state = " RGMI_SQL(CANCELED) ", end_time ="
                                                             " ?, message = ? WHERE id = ?",
        "dti", rgm_wall_time(), message, call->id));
    RGM_TRY(rgmi_hooks_note(m, call->id, 0, RGMI_HOOK_END));
    return rgmi_answer_experiment(call);
}

static rgm_status change_state(rgmi_call *call, rgm_work_state state)
{
    rgmi_experiment *e;
    rgm_status status = rgmi_experiment_get(&e, call->master, call->id);

    if (rgmi_is_unreadable(status) &&
        (state == RGM_WORK_STOPPING_KILLED || state == RGM_WORK_STOPPING_CANCELED))
        return end_unreadable(call);
    RGM_TRY(status);
    if (state == RGM_WORK_ACTIVE) { /* whoever asks has done something about it */
        rgmi_delay_forget(call->master, call->id, -1);
        rgmi_take_in(call->master, call->id);
    }
    if (e->state != state)
        RGM_TRY(rgmi_experiment_set_state(call->master, e, state, NULL));
    if (state == RGM_WORK_STOPPING_KILLED)
        for (int64_t i = 0; i < call->master->process_count; i++)
            if (call->master->processes[i].experiment == call->id)
                rgmi_process_kill(call->master, &call->master->processes[i]);
    RGM_TRY(rgmi_experiment_flush(call->master, e));
    return rgmi_answer_experiment(call);
}

static rgm_status answer_state(rgmi_call *call, rgm_work_state state)
{
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master, change_state(call, state));
}

rgm_status rgmi_answer_activate(rgmi_call *call)
{
    return answer_state(call, RGM_WORK_ACTIVE);
}

rgm_status rgmi_answer_pause(rgmi_call *call)
{
    return answer_state(call, RGM_WORK_PAUSED);
}

rgm_status rgmi_answer_cancel(rgmi_call *call)
{
    return answer_state(call, RGM_WORK_STOPPING_CANCELED);
}

rgm_status rgmi_answer_kill(rgmi_call *call)
{
    return answer_state(call, RGM_WORK_STOPPING_KILLED);
}

/* ---- what can be changed -------------------------------------------------------------------- */

static rgm_status set_archived(rgmi_call *call, int64_t archived)
{
    int64_t over;

    RGM_TRY(rgmi_database_int(&over, call->master->database, -1,
                              "SELECT state IN " RGMI_SQL_OVER " AS is_over FROM experiments"
                              " WHERE id = ?",
                              "i", call->id));
    if (over < 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no experiment %lld", (long long)call->id);
    if (over == 0)
        return RGM_FAIL(RGM_ERR_BUSY, "experiment %lld is not over", (long long)call->id);
    RGM_TRY(rgmi_change_begin(call->master));
    rgm_status status = rgmi_database_run(call->master->database,
                                          "UPDATE experiments SET archived = ? WHERE id = ?", "ii",
                                          archived, call->id);
    if (status == RGM_OK)
        status = rgmi_answer_experiment(call);
    return rgmi_change_end(call->master, status);
}

rgm_status rgmi_answer_archive(rgmi_call *call)
{
    return set_archived(call, 1);
}

rgm_status rgmi_answer_unarchive(rgmi_call *call)
{
    return set_archived(call, 0);
}

static rgm_status patch_labels(rgmi_call *call, const rgm_json *labels)
{
    rgm_json_entry entry = {0};
    bool is_set;

    if (labels != NULL && !rgm_json_is_object(labels))
        return RGM_FAIL(RGM_ERR_ARG, "'labels' is no object of names to true or null");
    while (labels != NULL && rgm_json_next(&entry, labels)) {
        bool adds = rgm_json_bool(&is_set, entry.value) && is_set;

        if (entry.key[0] == 0 || strlen(entry.key) > 255)
            return RGM_FAIL(RGM_ERR_ARG, "a label has 1 to 255 bytes");
        RGM_TRY(adds ? rgmi_database_run(call->master->database,
                                         "INSERT OR IGNORE INTO labels VALUES(?, ?)", "it",
                                         call->id, entry.key)
                     : rgmi_database_run(call->master->database,
                                         "DELETE FROM labels WHERE experiment_id = ? AND label = ?",
                                         "it", call->id, entry.key));
    }
    return RGM_OK;
}

static rgm_status patch_numbers(rgmi_call *call)
{
    static const struct {
        const char *key, *sql;
        int64_t low, high;
    } numbers[] = {
        {"priority", "UPDATE experiments SET priority = ? WHERE id = ?", 1, 99},
        {"max_slots", "UPDATE experiments SET max_slots = ? WHERE id = ?", 0, 1 << 20},
        {"save_experiment_best", "UPDATE experiments SET save_experiment_best = ? WHERE id = ?", 0,
         1 << 30},
        {"save_trial_best", "UPDATE experiments SET save_trial_best = ? WHERE id = ?", 0, 1 << 30},
        {"save_trial_latest", "UPDATE experiments SET save_trial_latest = ? WHERE id = ?", 0,
         1 << 30},
    };
    double weight = 0;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t value = -1;

        RGM_TRY(rgmi_call_int(&value, call, numbers[i].key, numbers[i].low, numbers[i].high));
        if (value >= 0)
            RGM_TRY(
                rgmi_database_run(call->master->database, numbers[i].sql, "ii", value, call->id));
    }
    RGM_TRY(rgmi_call_number(&weight, call, "weight"));
    if (rgm_json_find(call->body, "weight") == NULL)
        return RGM_OK;
    if (!(weight > 0 && weight <= 1e9))
        return RGM_FAIL(RGM_ERR_ARG, "'weight' is not above 0, or above 1e9");
    return rgmi_database_run(call->master->database,
                             "UPDATE experiments SET weight = ? WHERE id = ?", "di", weight,
                             call->id);
}

static rgm_status patch_texts(rgmi_call *call)
{
    static const struct {
        const char *key, *sql;
        size_t most;
    } texts[] = {
        {"description", "UPDATE experiments SET description = ? WHERE id = ?", RGMI_BODY_LIMIT},
        {"note", "UPDATE experiments SET note = ? WHERE id = ?", RGMI_NOTE_BYTES},
        {"project", "UPDATE experiments SET project = ? WHERE id = ?", 255},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = NULL;

        RGM_TRY(rgmi_call_text(&text, call, texts[i].key));
        if (text == NULL)
            continue;
        if (strlen(text) > texts[i].most)
            return RGM_FAIL(RGM_ERR_ARG, "'%s' has more than %zu bytes", texts[i].key,
                            texts[i].most);
        RGM_TRY(rgmi_database_run(call->master->database, texts[i].sql, "ti", text, call->id));
    }
    return RGM_OK;
}

static rgm_status patch(rgmi_call *call)
{
    RGM_TRY(patch_texts(call));
    RGM_TRY(patch_labels(call, rgm_json_find(call->body, "labels")));
    RGM_TRY(patch_numbers(call));
    return rgmi_answer_experiment(call);
}

rgm_status rgmi_answer_patch(rgmi_call *call)
{
    static const char *const known[] = {"description",
                                        "note",
                                        "project",
                                        "labels",
                                        "weight",
                                        "priority",
                                        "max_slots",
                                        "save_experiment_best",
                                        "save_trial_best",
                                        "save_trial_latest",
                                        NULL};
    int64_t smaller;

    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_experiment_exists(&smaller, call));
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master, patch(call));
}

rgm_status rgmi_answer_collect(rgmi_call *call)
{
    static const char *const known[] = {"preview", "save_experiment_best", "save_trial_best",
                                        "save_trial_latest", NULL};
    int64_t counters[] = {-1, -1, -1};
    bool preview = false;

    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_call_bool(&preview, call, "preview"));
    for (int i = 0; i < 3; i++) {
        RGM_TRY(rgmi_call_int(&counters[i], call, known[1 + i], 0, 1 << 30));
        if (counters[i] >= 0 && !preview)
            return RGM_FAIL(RGM_ERR_ARG, "'%s' is for a preview; PATCH sets it", known[1 + i]);
    }
    return rgmi_collect(call->out, call->master, call->id, preview, counters);
}

/* ---- deletion ------------------------------------------------------------------------------- */

static rgm_status check_deletable(rgmi_call *call)
{
    int64_t over, users;

    RGM_TRY(rgmi_database_int(&over, call->master->database, -1,
                              "SELECT state IN " RGMI_SQL_OVER " AS is_over FROM experiments"
                              " WHERE id = ?",
                              "i", call->id));
    RGM_TRY(rgmi_database_int(
        &users, call->master->database, 0,
        "SELECT o.experiment_id FROM trials o JOIN checkpoints c ON c.id = o.source_checkpoint_id"
        " JOIN trials t ON t.id = c.trial_id WHERE t.experiment_id = ? AND o.experiment_id <>"
        " t.experiment_id AND o.state = " RGMI_SQL(
            ACTIVE) " UNION ALL SELECT o.id FROM experiments o JOIN checkpoints c ON c.id ="
                    " o.source_checkpoint_id JOIN trials t ON t.id = c.trial_id WHERE"
                    " t.experiment_id = ? AND o.state NOT IN " RGMI_SQL_OVER " LIMIT 1",
        "ii", call->id, call->id));
    if (over < 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no experiment %lld", (long long)call->id);
    if (over == 0)
        return RGM_FAIL(RGM_ERR_BUSY, "experiment %lld is not over: cancel or kill it first",
                        (long long)call->id);
    return users == 0 ? RGM_OK
                      : RGM_FAIL(RGM_ERR_BUSY, "experiment %lld begins with its checkpoints",
                                 (long long)users);
}

/* Others that began with its checkpoints keep the path of each: its number may become another's. */
static rgm_status release_checkpoints(rgmi_call *call)
{
    rgm_status status;
    rgmi_rows *rows;

    for (;;) {
        int64_t checkpoint, number;

        RGM_TRY(rgmi_database_query(
            &rows, call->master->database,
            "SELECT c.id, t.number FROM (SELECT source_checkpoint_id AS source FROM experiments"
            " UNION SELECT source_checkpoint_id FROM trials WHERE experiment_id <> ?) JOIN"
            " checkpoints c ON c.id = source JOIN trials t ON t.id = c.trial_id WHERE"
            " t.experiment_id = ? LIMIT 1",
            "ii", call->id, call->id));
        status = rgmi_rows_next(call->master->database, rows);
        if (status != RGM_OK)
            return status == RGM_END ? RGM_OK : status;
        checkpoint = rgmi_rows_int(rows, 0);
        number = rgmi_rows_int(rows, 1);
        rgmi_rows_leave(rows);
        RGM_TRY(rgmi_checkpoint_release(call->master, call->id, number, checkpoint));
    }
}

/* The folder first: what is interrupted can be asked for again. */
rgm_status rgmi_answer_delete(rgmi_call *call)
{
    rgm_status status;
    char *folder;

    RGM_TRY(check_deletable(call));
    RGM_TRY(rgmi_master_path(&folder, call->master, call->id, 0, NULL));
    status = rgm_folder_remove(folder);
    rgm_free(folder);
    if (status != RGM_ERR_NOT_FOUND)
        RGM_TRY(status);
    RGM_TRY(rgm_text_printf(call->out, "{\"id\": %lld, \"deleted\": true}", (long long)call->id));
    RGM_TRY(rgmi_change_begin(call->master));
    status = release_checkpoints(call);
    if (status == RGM_OK)
        status = rgmi_database_run(call->master->database, "DELETE FROM experiments WHERE id = ?",
                                   "i", call->id);
    return rgmi_change_end(call->master, status);
}
