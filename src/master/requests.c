/*
 * Requests: one table of method, path and function; the path, the query and the body taken apart;
 * the answer, or the error as {code, message, details}. Whatever changes something does it in one
 * change of the database, which is whole when the answer is written.
 */
#include "requests.h"

#include <regimen/http_client.h>
#include <string.h>

typedef struct request_row {
    rgm_request_type type;
    rgmi_answer *answer;
    const char *const *query; /* the keys that its query may have, ended by NULL; NULL: none */
} request_row;

static const char *const page[] = {"limit", "offset", NULL};
static const char *const experiments[] = {"state", "label",  "project", "archived",
                                          "limit", "offset", NULL};
static const char *const trials[] = {"state", "sort", "limit", "offset", NULL};
static const char *const checkpoints[] = {"best", "limit", "offset", NULL};
static const char *const logs[] = {"offset", "limit", "tail", "grep", NULL};
static const char *const run[] = {"run", NULL};

static rgmi_answer answer_requests;

static const request_row rows[] = {
    {{"GET", "/api/v1/master", "version, pid, slots and how many are taken"},
     rgmi_answer_master,
     NULL},
    {{"GET", "/api/v1/requests", "this list"}, answer_requests, NULL},
    {{"GET", "/api/v1/queue", "trials that wait for slots, each with the reason"},
     rgmi_answer_queue,
     page},
    {{"GET", "/api/v1/running", "trials' processes and jobs: slots, since when, Slurm's word"},
     rgmi_answer_running,
     page},
    {{"GET", "/api/v1/shares",
      "experiments that are not over: slots held, waited for, and the fair share"},
     rgmi_answer_shares,
     page},
    {{"GET", "/api/v1/slots", "slots of this machine: state, pool, and whose trial has them"},
     rgmi_answer_slots,
     NULL},
    {{"POST", "/api/v1/slots/drain",
      "{slots: [N], or pool: NAME, stop}: they get no trial any more; stop: those on them save and "
      "end now"},
     rgmi_answer_drain,
     NULL},
    {{"POST", "/api/v1/slots/enable", "{slots: [N], or pool: NAME}: they get trials again"},
     rgmi_answer_enable,
     NULL},
    {{"GET", "/api/v1/experiments",
      "?state=, ?label=, ?project=, ?archived=0|1|all, ?limit=, ?offset=: newest first"},
     rgmi_answer_experiments,
     experiments},
    {{"POST", "/api/v1/experiments",
      "{config: YAML, name, working_folder, description, paused, validate_only, parent_id}"},
     rgmi_answer_create,
     NULL},
    {{"GET", "/api/v1/experiments/{id}", "its row, with trials by state and the best"},
     rgmi_answer_experiment,
     NULL},
    {{"PATCH", "/api/v1/experiments/{id}",
      "{description, note, project, labels: {name: true|null}, weight, priority, max_slots, "
      "save_experiment_best, "
      "save_trial_best, save_trial_latest}"},
     rgmi_answer_patch,
     NULL},
    {{"DELETE", "/api/v1/experiments/{id}", "one that is over, with its folder"},
     rgmi_answer_delete,
     NULL},
    {{"POST", "/api/v1/experiments/{id}/activate", "go on"}, rgmi_answer_activate, NULL},
    {{"POST", "/api/v1/experiments/{id}/pause", "each trial ends its workload and checkpoints"},
     rgmi_answer_pause,
     NULL},
    {{"POST", "/api/v1/experiments/{id}/cancel", "the same, and then it is over"},
     rgmi_answer_cancel,
     NULL},
    {{"POST", "/api/v1/experiments/{id}/kill", "its processes are ended at once"},
     rgmi_answer_kill,
     NULL},
    {{"POST", "/api/v1/experiments/{id}/archive", "hide one that is over from lists"},
     rgmi_answer_archive,
     NULL},
    {{"POST", "/api/v1/experiments/{id}/unarchive", "show it again"}, rgmi_answer_unarchive, NULL},
    {{"POST", "/api/v1/experiments/{id}/fork", "{config, description, paused}: a copy, edited"},
     rgmi_answer_fork,
     NULL},
    {{"POST", "/api/v1/experiments/{id}/collect",
      "{preview, save_experiment_best, save_trial_best, save_trial_latest}: remove checkpoints "
      "that "
      "its policy does not keep; preview: list them, of another policy too"},
     rgmi_answer_collect,
     NULL},
    {{"POST", "/api/v1/experiments/{id}/change",
      "{set: {key: YAML}}: of its file, while it goes on or after its end, which then goes on: "
      "searcher.max_trials and what else its searcher lets be changed, hyperparameters' bounds, "
      "constraints, limits, max_restarts"},
     rgmi_answer_change,
     NULL},
    {{"POST", "/api/v1/experiments/{id}/try",
      "{values: {name: value}, like: NUMBER}: a point to try next; what is not given is as in that "
      "trial, or in the best one"},
     rgmi_answer_try,
     NULL},
    {{"GET", "/api/v1/experiments/{id}/changes", "what was changed of it: ?limit=, ?offset="},
     rgmi_answer_changes,
     page},
    {{"GET", "/api/v1/experiments/{id}/config",
      "the merged experiment file; original: as it was before it was changed"},
     rgmi_answer_config,
     NULL},
    {{"GET", "/api/v1/experiments/{id}/code",
      "the files of its code with their hashes, the folder and git commit that they came from, and "
      "where they are kept"},
     rgmi_answer_code,
     NULL},
    {{"GET", "/api/v1/experiments/{id}/search", "progress and plan of its searcher"},
     rgmi_answer_search,
     NULL},
    {{"GET", "/api/v1/experiments/{id}/events", "what its searcher was told, in order: ?limit="},
     rgmi_answer_events,
     page},
    {{"GET", "/api/v1/experiments/{id}/trials", "?state=, ?sort=id|metric, ?limit=, ?offset="},
     rgmi_answer_trials,
     trials},
    {{"GET", "/api/v1/experiments/{id}/checkpoints", "?best=N: by metric; ?limit=, ?offset="},
     rgmi_answer_experiment_checkpoints,
     checkpoints},
    {{"GET", "/api/v1/experiments/{id}/validations", "of all trials, by trial and step: ?limit="},
     rgmi_answer_experiment_validations,
     page},
    {{"GET", "/api/v1/experiments/{id}/runs",
      "which slots its trials' processes had, from when to when: ?limit="},
     rgmi_answer_runs,
     page},
    {{"GET", "/api/v1/trials/{id}", "its row"}, rgmi_answer_trial, NULL},
    {{"PATCH", "/api/v1/trials/{id}", "{note}: what people write about it"},
     rgmi_answer_patch_trial,
     NULL},
    {{"GET", "/api/v1/trials/{id}/steps", "?limit=, ?offset="}, rgmi_answer_steps, page},
    {{"GET", "/api/v1/trials/{id}/validations", "?limit=, ?offset="},
     rgmi_answer_validations,
     page},
    {{"GET", "/api/v1/trials/{id}/checkpoints", "?limit=, ?offset="},
     rgmi_answer_trial_checkpoints,
     page},
    {{"GET", "/api/v1/trials/{id}/logs",
      "?offset= bytes, ?limit= bytes: text, and the offset to ask with next; ?tail=LINES; "
      "?grep=PATTERN: the lines that fit, of the next 4 MiB"},
     rgmi_answer_logs,
     logs},
    {{"POST", "/api/v1/trials/{id}/kill", "its process is ended, and it with that"},
     rgmi_answer_kill_trial,
     NULL},
    {{"POST", "/api/v1/trials/{id}/stop",
      "it ends its step, validates, saves, and is over, counted as what it reached"},
     rgmi_answer_stop_trial,
     NULL},
    {{"POST", "/api/v1/trials/{id}/continue",
      "{max_length: {steps: N}, description, paused}: an experiment of one trial from its last "
      "checkpoint"},
     rgmi_answer_continue,
     NULL},
    {{"GET", "/api/v1/trials/{id}/run", "?run=TOKEN: what its process begins with"},
     rgmi_answer_run,
     run},
    {{"POST", "/api/v1/trials/{id}/workload",
      "{run, completed: {...}, stops}: the next, from its process; stops: it was told to end"},
     rgmi_answer_workload,
     NULL},
    {{"POST", "/api/v1/trials/{id}/alive", "{run}: its process is at work, between two workloads"},
     rgmi_answer_alive,
     NULL},
    {{"POST", "/api/v1/trials/{id}/failed",
      "{run, code, message, invalid, fault}: its process gives up; invalid: no process could do "
      "it; fault: trial, hopeless, machine, checkpoint"},
     rgmi_answer_failed,
     NULL},
    {{"GET", "/api/v1/models",
      "the models of its registry, with their versions: ?limit=, ?offset="},
     rgmi_answer_models,
     page},
    {{"GET", "/api/v1/tokens", "who may ask over TCP beside the owner: ?limit=, ?offset="},
     rgmi_answer_tokens,
     page},
    {{"POST", "/api/v1/tokens", "{name, scope: read|write, days}: a token, told once"},
     rgmi_answer_create_token,
     NULL},
    {{"DELETE", "/api/v1/tokens/{id}", "it is good for nothing from now on"},
     rgmi_answer_revoke_token,
     NULL},
    {{"GET", "/api/v1/webhooks", "who is told what happens: ?limit=, ?offset="},
     rgmi_answer_webhooks,
     page},
    {{"POST", "/api/v1/webhooks",
      "{url, events: [end, failure, best], secret, experiment_id}: tell a URL"},
     rgmi_answer_add_webhook,
     NULL},
    {{"DELETE", "/api/v1/webhooks/{id}", "tell it nothing more"}, rgmi_answer_remove_webhook, NULL},
    {{"POST", "/api/v1/webhooks/{id}/test", "tell it something, to try it"},
     rgmi_answer_try_webhook,
     NULL},
    {{"GET", "/api/v1/webhooks/{id}/deliveries", "what it was told, the newest first: ?limit="},
     rgmi_answer_deliveries,
     page},
    {{"GET", "/api/v1/checkpoints/{uuid}", "its row, with its folder"},
     rgmi_answer_checkpoint,
     NULL},
    {{"DELETE", "/api/v1/checkpoints/{uuid}", "its files"}, rgmi_answer_delete_checkpoint, NULL},
};
enum { ROW_COUNT = (int)(sizeof rows / sizeof *rows), BETWEEN_REFUSALS_S = 30 };

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

/* ---- the answer ----------------------------------------------------------------------------- */

static rgm_status find_row(const request_row **out, rgmi_call *call, rgm_path_values *values,
                           const char *method)
{
    const char *path = call->target.path;
    bool is_there = false;

    for (int i = 0; i < ROW_COUNT; i++)
        if (rgm_path_fits(values, rows[i].type.path, path)) {
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

/* A key that no request of the kind reads would be asked for in vain. */
static rgm_status check_query(rgmi_call *call, const request_row *row)
{
    const rgm_target *target = &call->target;
    int64_t known = 0;

    if (target->query_count > RGMI_QUERY_ROOM)
        return RGM_FAIL(RGM_ERR_ARG, "more than %d values in the query", (int)RGMI_QUERY_ROOM);
    while (row->query != NULL && row->query[known] != NULL)
        known++;
    for (int64_t i = 0; i < target->query_count; i++) {
        const char *key = target->query[i].key;
        int64_t k = 0;

        while (k < known && strcmp(row->query[k], key) != 0)
            k++;
        if (k < known)
            continue;
        return RGM_FAIL(
            RGM_ERR_ARG, "%s %s knows no '%s=' in its query%s", row->type.method, row->type.path,
            key,
            rgm_did_you_mean(key, row->query, known, NULL, known > 0 ? "there are " : NULL).text);
    }
    return RGM_OK;
}

static rgm_status read_body(rgmi_call *call, const rgm_request *request)
{
    rgm_status status = rgm_json_parse(&call->body, request->body, request->size, "body");

    if (status == RGM_OK && !rgm_json_is_object(call->body))
        status = RGM_FAIL(RGM_ERR_ARG, "the body is no JSON object");
    if (status != RGM_OK && status != RGM_ERR_NOMEM)
        call->status = 400;
    return status;
}

/* What cannot be is in the file or the report that the request brings, or in what is kept. */
static int code_of_cause(const rgmi_call *call, rgm_status status)
{
    bool brings = rgm_json_find(call->body, "config") != NULL ||
                  rgm_json_find(call->body, "completed") != NULL;

    if (status != RGM_ERR_CONFIG && status != RGM_ERR_UNSUPPORTED)
        return call->status;
    return brings ? 422 : 500;
}

static rgm_status answer(rgmi_call *call, const rgm_request *request)
{
    const request_row *row = NULL;
    rgm_path_values values;
    rgm_status status;
    rgm_status query = rgm_target_read(&call->target, request->path);

    if (call->target.path != NULL)
        RGM_TRY(find_row(&row, call, &values, request->method));
    RGM_TRY(query);
    call->id = values.ids[0];
    call->name = values.uuid[0] != 0 ? values.uuid : NULL;
    RGM_TRY(check_query(call, row));
    if (request->size > RGMI_BODY_LIMIT) {
        call->status = 413;
        return RGM_FAIL(RGM_ERR_ARG, "a body of %lld bytes; at most %d are taken",
                        (long long)request->size, (int)RGMI_BODY_LIMIT);
    }
    if (request->body != NULL && request->size > 0) {
        RGM_TRY(read_body(call, request));
    }
    status = row->answer(call);
    if (call->status < 400)
        call->status = code_of_cause(call, status);
    return status;
}

/* Who asks, as a trial with its report, asks again by itself and in silence; and a full disk that
 * nothing but the database writes to would be waited for without a word. */
static void tell_that_one_is_put_off(rgm_master *master, const rgm_response *r)
{
    double now = rgm_now();

    if (!rgm_response_is_for_later(r) ||
        (master->refusal_told_at > 0 && now < master->refusal_told_at + BETWEEN_REFUSALS_S))
        return;
    master->refusal_told_at = now;
    rgm_log_write(RGM_LOG_WARNING, "requests are put off: %s", rgm_error_message());
}

void rgm_master_handle(rgm_response *out, rgm_master *master, const rgm_request *request)
{
    rgmi_call call = {.master = master, .status = 200, .out = &out->body};
    rgm_status status;

    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&master->lock);
    status = answer(&call, request);
    out->status = call.status;
    if (status != RGM_OK)
        rgm_response_fail(out, call.status >= 400 ? call.status : 0, status, call.details.data);
    tell_that_one_is_put_off(master, out);
    rgm_text_clear(&call.details);
    rgm_json_release(call.body);
    rgm_target_clear(&call.target);
    pthread_mutex_unlock(&master->lock);
}
