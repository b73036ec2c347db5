/*
 * Requests: one table of method, path and function; the path, the query and the body taken apart;
 * the answer, or the error as {code, message, details}. Whatever changes something does it in one
 * change of the database, which is whole when the answer is written.
 */
#include "requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct request_row {
    rgm_request_type type;
    rgmi_answer *answer;
} request_row;

static rgmi_answer answer_requests;

static const request_row rows[] = {
    {{"GET", "/api/v1/master", "version, pid, slots and what runs on them"}, rgmi_answer_master},
    {{"GET", "/api/v1/requests", "this list"}, answer_requests},
    {{"GET", "/api/v1/queue", "trials that wait for slots, each with the reason"},
     rgmi_answer_queue},
    {{"GET", "/api/v1/experiments",
      "?state=, ?label=, ?archived=0|1|all, ?limit=, ?offset=: newest first"},
     rgmi_answer_experiments},
    {{"POST", "/api/v1/experiments",
      "{config: YAML, name, working_folder, description, paused, validate_only, parent_id}"},
     rgmi_answer_create},
    {{"GET", "/api/v1/experiments/{id}", "its row, with trials by state and the best"},
     rgmi_answer_experiment},
    {{"PATCH", "/api/v1/experiments/{id}",
      "{description, labels: {name: true|null}, weight, priority, max_slots, save_experiment_best, "
      "save_trial_best, save_trial_latest}"},
     rgmi_answer_patch},
    {{"DELETE", "/api/v1/experiments/{id}", "one that is over, with its folder"},
     rgmi_answer_delete},
    {{"POST", "/api/v1/experiments/{id}/activate", "go on"}, rgmi_answer_activate},
    {{"POST", "/api/v1/experiments/{id}/pause", "each trial ends its workload and checkpoints"},
     rgmi_answer_pause},
    {{"POST", "/api/v1/experiments/{id}/cancel", "the same, and then it is over"},
     rgmi_answer_cancel},
    {{"POST", "/api/v1/experiments/{id}/kill", "its processes are ended at once"},
     rgmi_answer_kill},
    {{"POST", "/api/v1/experiments/{id}/archive", "hide one that is over from lists"},
     rgmi_answer_archive},
    {{"POST", "/api/v1/experiments/{id}/unarchive", "show it again"}, rgmi_answer_unarchive},
    {{"POST", "/api/v1/experiments/{id}/fork", "{config, description, paused}: a copy, edited"},
     rgmi_answer_fork},
    {{"POST", "/api/v1/experiments/{id}/collect",
      "{preview}: remove checkpoints that its policy does not keep"},
     rgmi_answer_collect},
    {{"GET", "/api/v1/experiments/{id}/config", "the merged experiment file"}, rgmi_answer_config},
    {{"GET", "/api/v1/experiments/{id}/search", "progress and plan of its searcher"},
     rgmi_answer_search},
    {{"GET", "/api/v1/experiments/{id}/events", "what its searcher was told, in order: ?limit="},
     rgmi_answer_events},
    {{"GET", "/api/v1/experiments/{id}/trials", "?state=, ?sort=id|metric, ?limit=, ?offset="},
     rgmi_answer_trials},
    {{"GET", "/api/v1/experiments/{id}/checkpoints", "?best=N: by metric; ?limit=, ?offset="},
     rgmi_answer_experiment_checkpoints},
    {{"GET", "/api/v1/experiments/{id}/validations", "of all trials, by trial and step: ?limit="},
     rgmi_answer_experiment_validations},
    {{"GET", "/api/v1/experiments/{id}/runs",
      "which slots its trials' processes had, from when to when: ?limit="},
     rgmi_answer_runs},
    {{"GET", "/api/v1/trials/{id}", "its row"}, rgmi_answer_trial},
    {{"GET", "/api/v1/trials/{id}/steps", "?limit=, ?offset="}, rgmi_answer_steps},
    {{"GET", "/api/v1/trials/{id}/validations", "?limit=, ?offset="}, rgmi_answer_validations},
    {{"GET", "/api/v1/trials/{id}/checkpoints", "?limit=, ?offset="},
     rgmi_answer_trial_checkpoints},
    {{"GET", "/api/v1/trials/{id}/logs",
      "?offset= bytes, ?limit= bytes: text, and the offset to ask with next; ?tail=LINES"},
     rgmi_answer_logs},
    {{"POST", "/api/v1/trials/{id}/kill", "its process is ended, and it with that"},
     rgmi_answer_kill_trial},
    {{"POST", "/api/v1/trials/{id}/continue",
      "{max_length: {steps: N}, description, paused}: an experiment of one trial from its last "
      "checkpoint"},
     rgmi_answer_continue},
    {{"GET", "/api/v1/trials/{id}/run", "?run=TOKEN: what its process begins with"},
     rgmi_answer_run},
    {{"POST", "/api/v1/trials/{id}/workload",
      "{run, completed: {...}, stops}: the next, from its process; stops: it was told to end"},
     rgmi_answer_workload},
    {{"POST", "/api/v1/trials/{id}/failed",
      "{run, code, message, invalid}: its process gives up; invalid: no process could do it"},
     rgmi_answer_failed},
    {{"GET", "/api/v1/checkpoints/{uuid}", "its row, with its folder"}, rgmi_answer_checkpoint},
    {{"DELETE", "/api/v1/checkpoints/{uuid}", "its files"}, rgmi_answer_delete_checkpoint},
};
enum { ROW_COUNT = (int)(sizeof rows / sizeof *rows) };

const rgm_request_type *rgm_request_type_at(int64_t i)
{
    return i >= 0 && i < ROW_COUNT ? &rows[i].type : NULL;
}

static rgm_status answer_requests(rgmi_call *call)
{
    const rgm_request_type *type;

    RGM_TRY(rgm_text_printf(call->out, "{\"requests\": ["));
    for (int64_t i = 0; (type = rgm_request_type_at(i)) != NULL; i++) {
        RGM_TRY(rgm_text_printf(call->out, "%s{\"method\": \"%s\", \"path\": \"%s\", \"help\": ",
                                i > 0 ? ", " : "", type->method, type->path));
        RGM_TRY(rgm_json_print_text(call->out, type->help));
        RGM_TRY(rgm_text_add(call->out, "}", 1));
    }
    return rgm_text_printf(call->out, "]}");
}

/* ---- the path ------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* In place. No NUL: what is read is what was sent. */
static rgm_status decode(char *text)
{
    char *out = text;

    for (; *text != 0; text++) {
        if (*text == '+') {
            *out++ = ' ';
        } else if (*text == '%') {
            int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);
            if (low < 0 || high * 16 + low == 0)
                return RGM_FAIL(RGM_ERR_ARG, "a bad %% in the query");
            *out++ = (char)(high * 16 + low);
            text += 2;
        } else {
            *out++ = *text;
        }
    }
    *out = 0;
    return RGM_OK;
}

/* text: of the caller, taken to pieces. */
static rgm_status read_query(rgmi_call *call, char *text)
{
    char *rest = text;

    while (rest != NULL && *rest != 0) {
        char *pair = rest, *value;

        rest = strchr(pair, '&');
        if (rest != NULL)
            *rest++ = 0;
        value = strchr(pair, '=');
        if (value == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "'%s' in the query has no value", pair);
        *value++ = 0;
        if (call->query_count == RGMI_QUERY_ROOM)
            return RGM_FAIL(RGM_ERR_ARG, "more than %d values in the query", (int)RGMI_QUERY_ROOM);
        RGM_TRY(decode(pair));
        RGM_TRY(decode(value));
        call->query[call->query_count].key = pair;
        call->query[call->query_count++].value = value;
    }
    return RGM_OK;
}

static bool read_id(int64_t *out, const char *text, size_t size)
{
    int64_t id = 0;

    if (size == 0 || size > 15 || text[0] == '0')
        return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        id = id * 10 + (text[i] - '0');
    }
    *out = id;
    return true;
}

static bool is_uuid(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-' : hex_digit(text[i]) < 0)
            return false;
    return size == 36;
}

/* Ids are numbers that are looked up, never parts of a path. */
static bool path_fits(rgmi_call *call, char *uuid, const char *pattern, const char *path)
{
    while (*pattern != 0) {
        size_t size = strcspn(path, "/");

        if (*pattern != '{') {
            if (*pattern++ != *path++)
                return false;
        } else if (pattern[1] == 'i') {
            if (!read_id(&call->id, path, size))
                return false;
            pattern += strlen("{id}");
            path += size;
        } else {
            if (!is_uuid(path, size))
                return false;
            memcpy(uuid, path, size);
            uuid[size] = 0;
            call->name = uuid;
            pattern += strlen("{uuid}");
            path += size;
        }
    }
    return *path == 0;
}

static rgm_status find_row(const request_row **out, rgmi_call *call, char *uuid, const char *method,
                           const char *path)
{
    bool is_there = false;

    for (int i = 0; i < ROW_COUNT; i++)
        if (path_fits(call, uuid, rows[i].type.path, path)) {
            is_there = true;
            if (strcmp(rows[i].type.method, method) == 0) {
                *out = &rows[i];
                return RGM_OK;
            }
        }
    call->status = is_there ? 405 : 404;
    return RGM_FAIL(RGM_ERR_NOT_FOUND,
                    "there is no %s %s; GET /api/v1/requests lists what there is", method, path);
}

/* ---- the answer ----------------------------------------------------------------------------- */

static int status_of(rgm_status status)
{
    switch (status) {
    case RGM_ERR_NOT_FOUND:
        return 404;
    case RGM_ERR_BUSY:
        return 409;
    case RGM_ERR_IO:
    case RGM_ERR_NOMEM:
        return 503;
    default:
        return 400;
    }
}

static void print_error(rgm_response *out, rgm_status status, int code, const char *details)
{
    out->status = code;
    out->body.size = 0;
    if (rgm_text_printf(&out->body, "{\"code\": \"%s\", \"message\": ", rgm_status_name(status)) !=
            RGM_OK ||
        rgm_json_print_text(&out->body, rgm_error_message()) != RGM_OK ||
        rgm_text_printf(&out->body, ", \"details\": ") != RGM_OK ||
        (details != NULL ? rgm_json_print_text(&out->body, details)
                         : rgm_text_printf(&out->body, "null")) != RGM_OK ||
        rgm_text_printf(&out->body, "}") != RGM_OK)
        rgm_text_clear(&out->body); /* 503 and nothing to say it with */
}

static rgm_status answer(rgmi_call *call, const rgm_request *request, char *path)
{
    const request_row *row = NULL;
    char uuid[37], *query = strchr(path, '?');

    if (query != NULL)
        *query++ = 0;
    RGM_TRY(find_row(&row, call, uuid, request->method, path));
    RGM_TRY(read_query(call, query));
    if (request->size > RGMI_BODY_LIMIT) {
        call->status = 413;
        return RGM_FAIL(RGM_ERR_ARG, "a body of %lld bytes; at most %d are taken",
                        (long long)request->size, (int)RGMI_BODY_LIMIT);
    }
    if (request->body != NULL && request->size > 0) {
        RGM_TRY(rgm_json_parse(&call->body, request->body, request->size, "body"));
        if (!rgm_json_is_object(call->body))
            return RGM_FAIL(RGM_ERR_ARG, "the body is no JSON object");
    }
    return row->answer(call);
}

void rgm_master_handle(rgm_response *out, rgm_master *master, const rgm_request *request)
{
    rgmi_call call = {.master = master, .status = 200, .out = &out->body};
    rgm_status status;
    char *path = NULL;

    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&master->lock);
    status = rgm_strdup(&path, request->path);
    if (status == RGM_OK)
        status = answer(&call, request, path);
    out->status = call.status;
    if (status != RGM_OK)
        print_error(out, status, call.status >= 400 ? call.status : status_of(status),
                    call.details.data);
    rgm_text_clear(&call.details);
    rgm_json_release(call.body);
    rgm_free(path);
    pthread_mutex_unlock(&master->lock);
}

void rgm_response_clear(rgm_response *response)
{
    rgm_text_clear(&response->body);
}
