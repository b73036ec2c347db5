/* regimen master slots, drain, enable: which of this machine's slots get trials. */
#include "verb_master.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 1 << 20 };

/* "0,2-4" as a list of numbers; NULL: it is none. */
static json_t *read_slots(const char *text)
{
    json_t *list = json_array();

    while (*text != '\0') {
        char *end;
        long first = strtol(text, &end, 10), last = first;

        if (end != text && *end == '-' && end[1] >= '0' && end[1] <= '9')
            last = strtol(end + 1, &end, 10);
        if (end == text || *text < '0' || *text > '9' || (*end != ',' && *end != '\0') ||
            last < first || last > MOST_SLOTS) {
            json_decref(list);
            return NULL;
        }
        for (; first <= last; first++)
            json_array_append_new(list, json_integer(first));
        text = *end == ',' ? end + 1 : end;
    }
    return list;
}

static rgm_status slots_table(table *t, const json_t *rows)
{
    static const char *const heads[] = {"SLOT", "POOL", "STATE", "EXPERIMENT", "TRIAL"};

    for (int i = 0; i < 5; i++)
        RGM_TRY(table_add_column(t, heads[i]));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        RGM_TRY(table_add_row(t));
        table_set_count(t, 0, int_of(row, "slot"));
        RGM_TRY(table_set(t, 1, text_of(row, "pool")));
        RGM_TRY(table_set(t, 2, text_of(row, "state")));
        if (int_of(row, "trial_id") > 0) {
            table_set_count(t, 3, int_of(row, "experiment_id"));
            table_set_count(t, 4, int_of(row, "trial_id"));
        }
    }
    return RGM_OK;
}

/* answer: of any of the requests about slots. */
static rgm_status print_slots(int *code, const json_t *answer, const list_form *form)
{
    json_t *rows = json_object_get(answer, "slots");
    rgm_status status = RGM_OK;
    table t = {0};

    if (form->json) {
        *code = print_json(json_incref(rows));
        return RGM_OK;
    }
    RGM_GO(slots_table(&t, rows));
    *code = print_table(&t, form, "no slot");
done:
    table_clear(&t);
    return status;
}

/* body: taken. */
static int about_slots(const char *where, const char *method, const char *path, json_t *body,
                       const list_form *form)
{
    asked_master whom = {0};
    json_t *answer = NULL;
    rgm_status status = RGM_OK;
    int code = EXIT_DONE;

    status = master_open(&whom, where);
    if (status != RGM_OK)
        json_decref(body);
    RGM_GO(status);
    RGM_GO(ask(&answer, &whom, method, body, "%s", path));
    RGM_GO(print_slots(&code, answer, form));
done:
    if (status != RGM_OK)
        code = report(status);
    json_decref(answer);
    master_close(&whom);
    return code;
}

int master_slots(int argc, char **argv)
{
    const char *where = NULL;
    list_form form = {0};
    const argument arguments[] = {LIST_ARGUMENTS(form), MASTER_ARGUMENT(where), {0}};
    const usage how = {"master slots [--json | --csv]",
                       "The slots of the master's machine: pool, state, and whose trial has them.",
                       arguments, 0, 0};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_slots(where, "GET", "/api/v1/slots", NULL, &form);
}

/* Both verbs: SLOTS, or --pool. NULL after a message. */
static json_t *chosen_slots(const text_list *rest, const char *pool)
{
    json_t *list;

    if ((rest->count == 1) == (pool != NULL)) {
        usage_error("say which slots, as 0,2-3, or --pool NAME");
        return NULL;
    }
    if (pool != NULL)
        return json_pack("{s:s}", "pool", pool);
    list = read_slots(rest->items[0]);
    if (list == NULL)
        usage_error("'%s' is no list of slots, as 0,2-3", rest->items[0]);
    return list != NULL ? json_pack("{s:o}", "slots", list) : NULL;
}

int master_drain(int argc, char **argv)
{
    const char *where = NULL, *pool = NULL;
    list_form form = {0};
    bool stops = false;
    const argument arguments[] = {
        {"pool", ARG_TEXT, &pool, "NAME", "all slots of a pool"},
        {"stop", ARG_FLAG, &stops, NULL,
         "trials on them save and end now, and go on where there is room"},
        LIST_ARGUMENTS(form),
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {"master drain SLOTS|--pool NAME [--stop]",
                       "Slots (0,2-3) get no trial any more, until they are enabled; those that "
                       "run there go on.\n"
                       "A master that is started again knows of it.",
                       arguments, 0, 1};
    text_list rest;
    json_t *body;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    body = chosen_slots(&rest, pool);
    if (body == NULL)
        return EXIT_USAGE;
    json_object_set_new(body, "stop", json_boolean(stops));
    return about_slots(where, "POST", "/api/v1/slots/drain", body, &form);
}

int master_enable(int argc, char **argv)
{
    const char *where = NULL, *pool = NULL;
    list_form form = {0};
    const argument arguments[] = {{"pool", ARG_TEXT, &pool, "NAME", "all slots of a pool"},
                                  LIST_ARGUMENTS(form),
                                  MASTER_ARGUMENT(where),
                                  {0}};
    const usage how = {"master enable SLOTS|--pool NAME",
                       "Slots that were drained (0,2-3) get trials again.", arguments, 0, 1};
    text_list rest;
    json_t *body;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    body = chosen_slots(&rest, pool);
    return body == NULL ? EXIT_USAGE
                        : about_slots(where, "POST", "/api/v1/slots/enable", body, &form);
}
