/* Requests of verbs, and reading their answers. */
#include "ask.h"

#include <regimen/http_client.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE 1000 /* rows of an answer */

/* ---- whom ---------------------------------------------------------------------------------- */

const char *master_place(const char *where)
{
    const char *set = getenv("REGIMEN_MASTER");

    if (where != NULL)
        return where;
    return set != NULL && set[0] != '\0' ? set : "experiments";
}

rgm_status master_open(asked_master *out, const char *where)
{
    const char *place = master_place(where);

    *out = (asked_master){0};
    if (strstr(place, "://") == NULL && !rgm_path_is_folder(place))
        return RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "there are no experiments in '%s': no such folder; --master DIR or "
                        "$REGIMEN_MASTER says where they are",
                        place);
    return rgm_client_open(&out->client, place,
                           &(rgm_master_options){.subject = &rgm_trial_subject});
}

void master_close(asked_master *whom)
{
    rgm_client_close(whom->client);
    *whom = (asked_master){0};
}

/* ---- ask ----------------------------------------------------------------------------------- */

/* A master of this process answers as it does others. */
static rgm_status ask_own(json_t **answer, rgm_master *master, const rgm_request *request)
{
    rgm_response response = {0};
    rgm_status status = RGM_OK;
    rgm_json *json = NULL;

    rgm_master_handle(&response, master, request);
    if (response.body.size > 0)
        RGM_GO(rgm_json_parse(&json, response.body.data, response.body.size, "answer"));
    RGM_GO(rgm_response_status(&response)); /* the error that a client would get */
    *answer = (json_t *)json;               /* a rgm_json is jansson's */
    json = NULL;
done:
    rgm_json_release(json);
    rgm_response_clear(&response);
    return status;
}

static rgm_status ask_path(json_t **answer, const asked_master *whom, const char *method,
                           const json_t *body, const char *path)
{
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    rgm_status status;

    *answer = NULL;
    if (body != NULL && text == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a request");
    if (whom->master != NULL)
        status = ask_own(answer, whom->master,
                         &(rgm_request){.method = method,
                                        .path = path,
                                        .body = text,
                                        .size = text != NULL ? (int64_t)strlen(text) : 0});
    else
        status = rgm_client_call((rgm_json **)answer, whom->client, method, path, text);
    free(text);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

static rgm_status print_path(char **out, const char *format, va_list arguments)
{
    char path[1024];
    int size = vsnprintf(path, sizeof path, format, arguments);

    if (size < 0 || size >= (int)sizeof path)
        return RGM_FAIL(RGM_ERR_ARG, "a request of %d characters", size);
    return rgm_strdup(out, path);
}

rgm_status ask(json_t **answer, const asked_master *whom, const char *method, json_t *body,
               const char *format, ...)
{
    va_list arguments;
    json_t *got = NULL;
    char *path = NULL;
    rgm_status status;

    va_start(arguments, format);
    status = print_path(&path, format, arguments);
    va_end(arguments);
    if (status == RGM_OK)
        status = ask_path(&got, whom, method, body, path);
    json_decref(body);
    rgm_free(path);
    if (answer != NULL)
        *answer = got;
    else
        json_decref(got);
    return status;
}

rgm_status ask_all(json_t **rows, const asked_master *whom, const char *key, const char *format,
                   ...)
{
    rgm_status status = RGM_OK;
    va_list arguments;
    char *first = NULL, *path = NULL;
    json_t *page = NULL;
    int64_t total = 1;

    *rows = json_array();
    va_start(arguments, format);
    status = print_path(&first, format, arguments);
    va_end(arguments);
    RGM_GO(status);
    while ((int64_t)json_array_size(*rows) < total) {
        rgm_free(path);
        path = NULL;
        RGM_GO(rgm_strprintf(&path, "%s%climit=%d&offset=%zu", first,
                             strchr(first, '?') != NULL ? '&' : '?', PAGE, json_array_size(*rows)));
        RGM_GO(ask_path(&page, whom, "GET", NULL, path));
        total = int_of(page, "total");
        if (json_array_size(json_object_get(page, key)) == 0)
            break;
        json_array_extend(*rows, json_object_get(page, key));
        json_decref(page);
        page = NULL;
    }
done:
    json_decref(page);
    rgm_free(first);
    rgm_free(path);
    if (status != RGM_OK) {
        json_decref(*rows);
        *rows = NULL;
    }
    return status;
}

/* ---- fields -------------------------------------------------------------------------------- */

bool is_in_state(const json_t *row, rgm_work_state state)
{
    return strcmp(text_of(row, "state"), rgm_work_state_names[state]) == 0;
}

const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

int64_t int_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? json_integer_value(value) : -1;
}

double number_of(const json_t *object, const char *key)
{
    double number = NAN;

    rgm_json_number(&number, (const rgm_json *)json_object_get(object, key));
    return number;
}

bool bool_of(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

double time_of(const json_t *object, const char *key)
{
    struct tm when = {0};
    double seconds;

    if (sscanf(text_of(object, key), "%d-%d-%dT%d:%d:%lf", &when.tm_year, &when.tm_mon,
               &when.tm_mday, &when.tm_hour, &when.tm_min, &seconds) != 6)
        return NAN;
    when.tm_year -= 1900;
    when.tm_mon -= 1;
    return (double)timegm(&when) + seconds;
}

/* ---- ids ----------------------------------------------------------------------------------- */

rgm_status read_id(int64_t *id, const char *what, const char *text)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "'%s' is no %s: a number from 1", text, what);
    *id = number;
    return RGM_OK;
}

rgm_status find_trial(int64_t *id, const asked_master *whom, const char *text)
{
    const char *slash = strchr(text, '/');
    int64_t experiment, number;
    char first[24];
    json_t *page;
    const json_t *row;

    if (slash == NULL)
        return read_id(id, "trial (12, or 3/5 for trial 5 of experiment 3)", text);
    snprintf(first, sizeof first, "%.*s", (int)(slash - text), text);
    RGM_TRY(read_id(&experiment, "experiment", first));
    RGM_TRY(read_id(&number, "trial of an experiment", slash + 1));
    RGM_TRY(ask(&page, whom, "GET", NULL, "/api/v1/experiments/%lld/trials?limit=1&offset=%lld",
                (long long)experiment, (long long)number - 1));
    row = json_array_get(json_object_get(page, "trials"), 0);
    *id = int_of(row, "id");
    number = int_of(page, "total");
    json_decref(page);
    if (*id < 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "experiment %lld has %lld trials, no %s",
                        (long long)experiment, (long long)number, slash + 1);
    return RGM_OK;
}

int about_each(verb_at_master *act, const char *where, const text_list *names, const void *options)
{
    asked_master whom = {0};
    int code = EXIT_DONE;
    rgm_status status = master_open(&whom, where);

    if (status == RGM_OK)
        status = act(&code, &whom, names, options);
    master_close(&whom);
    return status != RGM_OK ? report(status) : code;
}

/** What is done with the one that is named. */
typedef struct about_one {
    verb_about *act;
    bool is_trial;
    int64_t id; /* of an experiment */
    const void *options;
} about_one;

static rgm_status do_about(int *code, const asked_master *whom, const text_list *names,
                           const void *about)
{
    const about_one *one = about;
    int64_t id = one->id;

    if (one->is_trial)
        RGM_TRY(find_trial(&id, whom, names->items[0]));
    return one->act(code, whom, id, one->options);
}

int about_experiment(verb_about *act, const char *where, const char *text, const void *options)
{
    about_one one = {act, false, 0, options};
    text_list names = {{text}, 1};
    rgm_status status = read_id(&one.id, "experiment", text);

    return status != RGM_OK ? report(status) : about_each(do_about, where, &names, &one);
}

int about_trial(verb_about *act, const char *where, const char *text, const void *options)
{
    about_one one = {act, true, 0, options};
    text_list names = {{text}, 1};

    return about_each(do_about, where, &names, &one);
}

/* ---- print --------------------------------------------------------------------------------- */

int print_table(const table *t, const list_form *form, const char *none)
{
    rgm_text text = {0};
    rgm_status status;
    int code;

    if (t->rows == 0 && !form->csv) {
        say("none", "%s", none);
        return EXIT_DONE;
    }
    status = form->csv ? table_print_csv(&text, t) : table_print(&text, t, line_width());
    if (status != RGM_OK)
        code = report(status);
    else
        code = form->csv ? print_exact(text.data) : print_text(text.data);
    rgm_text_clear(&text);
    return code;
}
