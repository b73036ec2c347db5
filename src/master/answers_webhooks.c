/*
 * Webhooks: who is told, of what, and what was told.
 */
#include "requests.h"

#include <regimen/http_client.h>

#include <stdio.h>
#include <string.h>

static const char *const events[] = {"end", "failure", "best", NULL};

/* "events": a list of their names; experiment_id as of others' columns, but it may be NULL. */
#define WEBHOOK_COLUMNS                                                                            \
    "SELECT id, url, events, experiment_id AS hook_experiment, time AS 'time:time', (SELECT"       \
    " count(*) FROM deliveries WHERE webhook_id = w.id AND state = " RGMI_SQL(                     \
        ACTIVE) ") AS waiting FROM webhooks w"

static rgm_status print_webhook(rgmi_call *call, rgmi_rows *rows)
{
    int64_t which = rgmi_rows_int(rows, 2);
    bool any = false;

    RGM_TRY(
        rgm_text_printf(call->out, "{\"id\": %lld, \"url\": ", (long long)rgmi_rows_int(rows, 0)));
    RGM_TRY(rgm_json_print_text(call->out, rgmi_rows_text(rows, 1)));
    RGM_TRY(rgm_text_printf(call->out, ", \"events\": ["));
    for (int i = 0; events[i] != NULL; i++)
        if ((which >> i & 1) != 0) {
            RGM_TRY(rgm_text_printf(call->out, "%s\"%s\"", any ? ", " : "", events[i]));
            any = true;
        }
    RGM_TRY(rgm_text_printf(call->out, "], \"experiment_id\": "));
    if (rgmi_rows_int(rows, 3) > 0)
        RGM_TRY(rgm_text_printf(call->out, "%lld", (long long)rgmi_rows_int(rows, 3)));
    else
        RGM_TRY(rgm_text_printf(call->out, "null"));
    RGM_TRY(rgm_text_printf(call->out, ", \"time\": "));
    RGM_TRY(rgmi_print_time(call->out, rgmi_rows_number(rows, 4)));
    return rgm_text_printf(call->out, ", \"waiting\": %lld}", (long long)rgmi_rows_int(rows, 5));
}

rgm_status rgmi_answer_webhooks(rgmi_call *call)
{
    static const rgmi_paged_list webhooks = {.key = "webhooks",
                                             .count = "SELECT count(*) FROM webhooks",
                                             .rows =
                                                 WEBHOOK_COLUMNS " ORDER BY id LIMIT ? OFFSET ?",
                                             .print = print_webhook};

    return rgmi_answer_list(call, &webhooks);
}

static rgm_status read_events(int64_t *out, const rgmi_call *call)
{
    const rgm_json *list = rgm_json_find(call->body, "events");

    *out = list == NULL ? 7 : 0;
    if (list != NULL && rgm_json_count(list) < 1)
        return RGM_FAIL(RGM_ERR_ARG, "'events' is no list of end, failure, best");
    for (int64_t i = 0; i < rgm_json_count(list); i++) {
        const char *name = rgm_json_text(rgm_json_at(list, i));
        int at = 0;

        while (events[at] != NULL && (name == NULL || strcmp(events[at], name) != 0))
            at++;
        if (events[at] == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "there is no event '%s'%s", name != NULL ? name : "",
                            rgm_did_you_mean(name, events, 3, NULL, "there are ").text);
        *out |= INT64_C(1) << at;
    }
    return RGM_OK;
}

/* The secret is told in this answer and never again. */
static rgm_status insert_webhook(rgmi_call *call, const char *url, const char *secret,
                                 int64_t which, int64_t experiment)
{
    rgm_status status;
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_run(call->master->database,
                              "INSERT INTO webhooks(url, secret, events, experiment_id, time)"
                              " VALUES(?, ?, ?, nullif(?, 0), ?)",
                              "ttiid", url, secret, which, experiment, rgm_wall_time()));
    RGM_TRY(rgmi_database_query(&rows, call->master->database, WEBHOOK_COLUMNS " WHERE id = ?", "i",
                                rgmi_database_last_id(call->master->database)));
    RGM_TRY(rgmi_rows_next(call->master->database, rows));
    status = print_webhook(call, rows);
    rgmi_rows_leave(rows);
    RGM_TRY(status);
    call->out->size--;
    RGM_TRY(rgm_text_printf(call->out, ", \"secret\": "));
    RGM_TRY(rgm_json_print_text(call->out, secret));
    call->status = 201;
    return rgm_text_add(call->out, "}", 1);
}

rgm_status rgmi_answer_add_webhook(rgmi_call *call)
{
    static const char *const known[] = {"url", "events", "secret", "experiment_id", NULL};
    const char *url = NULL, *secret = NULL;
    int64_t which, experiment = 0, is_there = 1;
    char drawn[33];

    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_call_text(&url, call, "url"));
    RGM_TRY(rgmi_call_text(&secret, call, "secret"));
    RGM_TRY(rgmi_call_int(&experiment, call, "experiment_id", 1, INT64_MAX));
    RGM_TRY(read_events(&which, call));
    if (url == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "'url' is missing");
    RGM_TRY(rgm_http_check_url(url));
    if (secret != NULL && (strlen(secret) < 8 || strlen(secret) > 255))
        return RGM_FAIL(RGM_ERR_ARG, "'secret' has 8 to 255 bytes; without it one is drawn");
    if (secret == NULL) {
        RGM_TRY(rgm_random_hex(drawn));
        secret = drawn;
    }
    if (experiment > 0)
        RGM_TRY(rgmi_database_int(&is_there, call->master->database, 0,
                                  "SELECT count(*) FROM experiments WHERE id = ?", "i",
                                  experiment));
    if (is_there == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no experiment %lld", (long long)experiment);
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master, insert_webhook(call, url, secret, which, experiment));
}

static rgm_status exists(const rgmi_call *call)
{
    int64_t count;

    RGM_TRY(rgmi_database_int(&count, call->master->database, 0,
                              "SELECT count(*) FROM webhooks WHERE id = ?", "i", call->id));
    return count > 0 ? RGM_OK
                     : RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no webhook %lld", (long long)call->id);
}

rgm_status rgmi_answer_remove_webhook(rgmi_call *call)
{
    RGM_TRY(exists(call));
    RGM_TRY(rgm_text_printf(call->out, "{\"id\": %lld, \"deleted\": true}", (long long)call->id));
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master,
                           rgmi_database_run(call->master->database,
                                             "DELETE FROM webhooks WHERE id = ?", "i", call->id));
}

rgm_status rgmi_answer_try_webhook(rgmi_call *call)
{
    RGM_TRY(exists(call));
    RGM_TRY(rgm_text_printf(call->out, "{\"id\": %lld, \"asked\": true}", (long long)call->id));
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master, rgmi_hooks_try(call->master, call->id));
}

rgm_status rgmi_answer_deliveries(rgmi_call *call)
{
    static const rgmi_paged_list deliveries = {
        .key = "deliveries",
        .of_id = true,
        .count = "SELECT count(*) FROM deliveries WHERE webhook_id = ?",
        .rows =
            "SELECT id, event, state, tries, time AS 'time:time', next_time AS 'next_time:time',"
            " message, body AS 'body:json' FROM deliveries WHERE webhook_id = ? ORDER BY id DESC "
            "LIMIT"
            " ? OFFSET ?"};

    RGM_TRY(exists(call));
    return rgmi_answer_list(call, &deliveries);
}
