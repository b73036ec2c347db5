/*
 * What webhooks are to be told: a row for each, in the change that it tells of. So nothing is told
 * that did not happen, and whatever happened is told, however a master ends.
 */
#include "requests.h"

#include <string.h>

/* What happened, for people and for programs. */
typedef struct happening {
    const char *event;
    int64_t experiment, trial; /* trial 0: none */
} happening;

/* ---- what is told -------------------------------------------------------------------------- */

static rgm_status print_first(rgm_text *out, rgm_master *master, rgmi_rows *rows)
{
    rgm_status status = rgmi_rows_next(master->database, rows);

    if (status == RGM_END)
        return rgm_text_add(out, "null", 4);
    RGM_TRY(status);
    status = rgmi_print_row(out, rows);
    rgmi_rows_leave(rows);
    return status;
}

static rgm_status print_experiment(rgm_text *out, rgm_master *master, int64_t id)
{
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT id, name, description, state, progress, message, metric AS 'metric:text', (SELECT"
        " CASE WHEN smaller_is_better THEN min(best_metric) ELSE max(best_metric) END FROM trials"
        " WHERE experiment_id = e.id) AS best_metric FROM experiments e WHERE id = ?",
        "i", id));
    return print_first(out, master, rows);
}

static rgm_status print_trial(rgm_text *out, rgm_master *master, int64_t id)
{
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT id, number, state, steps, batches, restarts, message, hyperparameters AS"
        " 'hyperparameters:json', (SELECT metric FROM validations WHERE trial_id = trials.id ORDER"
        " BY step_id DESC LIMIT 1) AS metric FROM trials WHERE id = ?",
        "i", id));
    return print_first(out, master, rows);
}

/* One line, under the key that chats look for. */
static rgm_status print_line(rgm_text *out, const happening *h)
{
    rgm_status status = RGM_OK;
    rgm_text line = {0};

    if (h->experiment == 0)
        RGM_GO(rgm_text_printf(&line, "regimen: a test of this webhook"));
    else if (h->trial == 0)
        RGM_GO(
            rgm_text_printf(&line, "regimen: experiment %lld is over", (long long)h->experiment));
    else
        RGM_GO(rgm_text_printf(&line, "regimen: experiment %lld, trial %lld: %s",
                               (long long)h->experiment, (long long)h->trial,
                               strcmp(h->event, "best") == 0 ? "a new best" : "it failed"));
    RGM_GO(rgm_json_print_text(out, line.data));
done:
    rgm_text_clear(&line);
    return status;
}

static rgm_status print_body(rgm_text *out, rgm_master *master, const happening *h)
{
    RGM_TRY(rgm_text_printf(out, "{\"event\": \"%s\", \"time\": ", h->event));
    RGM_TRY(rgmi_print_time(out, rgm_wall_time()));
    RGM_TRY(rgm_text_printf(out, ", \"text\": "));
    RGM_TRY(print_line(out, h));
    RGM_TRY(rgm_text_printf(out, ", \"master\": "));
    RGM_TRY(rgm_json_print_text(out, master->options.folder));
    RGM_TRY(rgm_text_printf(out, ", \"experiment\": "));
    RGM_TRY(print_experiment(out, master, h->experiment));
    RGM_TRY(rgm_text_printf(out, ", \"trial\": "));
    RGM_TRY(print_trial(out, master, h->trial));
    return rgm_text_add(out, "}", 1);
}

/* ---- who is told --------------------------------------------------------------------------- */

rgm_status rgmi_hooks_note(rgm_master *master, int64_t experiment, int64_t trial, int event)
{
    const happening h = {event == RGMI_HOOK_END    ? "end"
                         : event == RGMI_HOOK_BEST ? "best"
                                                   : "failure",
                         experiment, trial};
    rgm_status status = RGM_OK;
    rgm_text body = {0};
    int64_t count;

    RGM_TRY(rgmi_database_int(&count, master->database, 0,
                              "SELECT count(*) FROM webhooks WHERE events & ? AND"
                              " (experiment_id IS NULL OR experiment_id = ?)",
                              "ii", (int64_t)event, experiment));
    if (count == 0)
        return RGM_OK;
    RGM_GO(print_body(&body, master, &h));
    RGM_GO(rgmi_database_run(master->database,
                             "INSERT INTO deliveries(webhook_id, event, body, state, time,"
                             " next_time) SELECT id, ?, ?, " RGMI_SQL(
                                 ACTIVE) ", ?, ? FROM webhooks WHERE events & ? AND"
                                         " (experiment_id IS NULL OR experiment_id = ?) ORDER BY"
                                         " id",
                             "ttddii", h.event, body.data, rgm_wall_time(), rgm_wall_time(),
                             (int64_t)event, experiment));
    pthread_cond_broadcast(&master->hooks_wake); /* they look when the change is over */
done:
    rgm_text_clear(&body);
    return status;
}

rgm_status rgmi_hooks_try(rgm_master *master, int64_t webhook)
{
    const happening h = {"test", 0, 0};
    rgm_status status = RGM_OK;
    rgm_text body = {0};
    int64_t count;

    RGM_TRY(rgmi_database_int(&count, master->database, 0,
                              "SELECT count(*) FROM webhooks WHERE id = ?", "i", webhook));
    if (count == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no webhook %lld", (long long)webhook);
    RGM_GO(print_body(&body, master, &h));
    RGM_GO(rgmi_database_run(
        master->database,
        "INSERT INTO deliveries(webhook_id, event, body, state, time, next_time) VALUES(?, ?, ?,"
        " " RGMI_SQL(ACTIVE) ", ?, ?)",
        "ittdd", webhook, h.event, body.data, rgm_wall_time(), rgm_wall_time()));
    pthread_cond_broadcast(&master->hooks_wake);
done:
    rgm_text_clear(&body);
    return status;
}
