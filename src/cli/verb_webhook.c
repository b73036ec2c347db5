/* regimen webhook: who is told what happens in a master's folder. */
#include "verb_experiment.h"

#include <stdio.h>
#include <string.h>

typedef struct new_hook {
    const char *events, *secret;
    int64_t experiment; /* 0: all */
} new_hook;

/* "end,best" as a list. */
static json_t *events_of(const char *text)
{
    json_t *list = json_array();

    while (*text != '\0') {
        size_t size = strcspn(text, ",");

        json_array_append_new(list, json_stringn(text, size));
        text += size + (text[size] == ',');
    }
    return list;
}

static rgm_status add_hook(int *code, const asked_master *whom, const text_list *urls,
                           const void *options)
{
    const new_hook *hook = options;
    json_t *body = json_pack("{s:s}", "url", urls->items[0]), *answer = NULL;

    (void)code;
    if (hook->events != NULL)
        json_object_set_new(body, "events", events_of(hook->events));
    if (hook->secret != NULL)
        json_object_set_new(body, "secret", json_string(hook->secret));
    if (hook->experiment > 0)
        json_object_set_new(body, "experiment_id", json_integer(hook->experiment));
    RGM_TRY(ask(&answer, whom, "POST", body, "/api/v1/webhooks"));
    say("webhook", "%lld", (long long)int_of(answer, "id"));
    say("secret", "%s, which signs what is sent; it is not told again", text_of(answer, "secret"));
    json_decref(answer);
    return RGM_OK;
}

static int webhook_add(int argc, char **argv)
{
    new_hook hook = {.events = NULL};
    const char *where = NULL;
    const argument arguments[] = {
        {"on", ARG_TEXT, &hook.events, "LIST",
         "of end, failure and best, with commas between them; default all"},
        {"secret", ARG_TEXT, &hook.secret, "TEXT", "8 to 255 bytes; default: one is drawn"},
        {"experiment", ARG_COUNT, &hook.experiment, "ID", "of this one alone; default: of all"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {
        "webhook add URL [--on end,failure,best] [--secret TEXT] [--experiment ID]",
        "Tell a URL by POST when an experiment is over, a trial has failed for good, or a metric\n"
        "is the best so far. The body is JSON, signed with HMAC-SHA256 in "
        "X-Regimen-Signature-256.\n"
        "What is not answered with 2xx is told again, after growing pauses, for a day.",
        arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_each(add_hook, where, &rest, &hook);
}

/* ---- lists --------------------------------------------------------------------------------- */

static rgm_status hooks_table(table *t, const json_t *rows)
{
    static const char *const heads[] = {"ID", "URL", "ON", "EXPERIMENT", "WAITING"};

    for (int i = 0; i < 5; i++)
        RGM_TRY(table_add_column(t, heads[i]));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i), *event;
        char events[64] = "";
        size_t at;

        json_array_foreach((json_t *)json_object_get(row, "events"), at, event)
        {
            strncat(events, at > 0 ? "," : "", sizeof events - strlen(events) - 1);
            strncat(events, json_string_value(event), sizeof events - strlen(events) - 1);
        }
        RGM_TRY(table_add_row(t));
        table_set_count(t, 0, int_of(row, "id"));
        RGM_TRY(table_set(t, 1, text_of(row, "url")));
        RGM_TRY(table_set(t, 2, events));
        table_set_count(t, 3, int_of(row, "experiment_id"));
        table_set_count(t, 4, int_of(row, "waiting"));
    }
    return RGM_OK;
}

static rgm_status deliveries_table(table *t, const json_t *rows)
{
    static const char *const heads[] = {"ID", "EVENT", "STATE", "TRIES", "TIME", "NEXT", "MESSAGE"};

    for (int i = 0; i < 7; i++)
        RGM_TRY(table_add_column(t, heads[i]));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        double next = time_of(row, "next_time");

        RGM_TRY(table_add_row(t));
        table_set_count(t, 0, int_of(row, "id"));
        RGM_TRY(table_set(t, 1, text_of(row, "event")));
        RGM_TRY(table_set(t, 2, text_of(row, "state")));
        table_set_count(t, 3, int_of(row, "tries"));
        RGM_TRY(table_set_time(t, 4, (int64_t)time_of(row, "time")));
        RGM_TRY(table_set_time(t, 5, next == next ? (int64_t)next : -1));
        RGM_TRY(table_set(t, 6, text_of(row, "message")));
    }
    return RGM_OK;
}

/* Of all, or of one: what it was told. */
static rgm_status print_list(int *code, const asked_master *whom, const text_list *ids,
                             const void *options)
{
    const list_form *form = options;
    rgm_status status = RGM_OK;
    json_t *rows = NULL;
    table t = {0};
    int64_t id;

    if (ids->count == 0) {
        RGM_GO(ask_all(&rows, whom, "webhooks", "/api/v1/webhooks"));
    } else {
        RGM_GO(read_id(&id, "webhook", ids->items[0]));
        RGM_GO(
            ask_all(&rows, whom, "deliveries", "/api/v1/webhooks/%lld/deliveries", (long long)id));
    }
    if (form->json) {
        *code = print_json(json_incref(rows));
        goto done;
    }
    RGM_GO(ids->count == 0 ? hooks_table(&t, rows) : deliveries_table(&t, rows));
    *code = print_table(&t, form, ids->count == 0 ? "no webhooks" : "nothing was told");
done:
    table_clear(&t);
    json_decref(rows);
    return status;
}

/* list and deliveries: argv[0] says which. */
static int webhook_list(int argc, char **argv)
{
    bool of_all = strcmp(argv[0], "list") == 0;
    const char *where = NULL;
    list_form form = {0};
    const argument arguments[] = {LIST_ARGUMENTS(form), MASTER_ARGUMENT(where), {0}};
    const usage how = {
        of_all ? "webhook list [--json | --csv]" : "webhook deliveries ID [--json | --csv]",
        of_all ? "The webhooks, with how much each is yet to be told."
               : "What a webhook was told, or is yet to be told, and why it was not.",
        arguments, of_all ? 0 : 1, of_all ? 0 : 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_each(print_list, where, &rest, &form);
}

/* ---- change -------------------------------------------------------------------------------- */

static rgm_status change(int *code, const asked_master *whom, const text_list *ids,
                         const void *removes)
{
    int64_t id;

    (void)code;
    RGM_TRY(read_id(&id, "webhook", ids->items[0]));
    if (*(const bool *)removes)
        RGM_TRY(ask(NULL, whom, "DELETE", NULL, "/api/v1/webhooks/%lld", (long long)id));
    else
        RGM_TRY(ask(NULL, whom, "POST", NULL, "/api/v1/webhooks/%lld/test", (long long)id));
    say(*(const bool *)removes ? "removed" : "asked", "webhook %lld", (long long)id);
    return RGM_OK;
}

/* test and remove: argv[0] says which. */
static int webhook_change(int argc, char **argv)
{
    bool removes = strcmp(argv[0], "remove") == 0;
    const char *where = NULL;
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    const usage how = {removes ? "webhook remove ID" : "webhook test ID",
                       removes ? "Tell it nothing more, not even what waits."
                               : "Tell it something now, if a master is at work, else when one is.",
                       arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_each(change, where, &rest, &removes);
}

static const verb verbs[] = {
    {"add", webhook_add, "tell a URL of ends, failures and new bests"},
    {"list", webhook_list, "who is told"},
    {"deliveries", webhook_list, "what one was told, and what not"},
    {"test", webhook_change, "tell it something, to try it"},
    {"remove", webhook_change, "tell it nothing more"},
};

int verb_webhook(int argc, char **argv)
{
    return verb_family("webhook", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
