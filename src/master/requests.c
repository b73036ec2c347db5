/*
 * Requests: one table of method, path and function; the path, the query and the body taken apart;
 * the answer, or the error as {code, message, details}. Whatever changes something does it in one
 * change of the database, which is whole when the answer is written.
 */
#include "requests.h"

#include <string.h>

typedef struct request_row {
    rgm_request_type type;
    rgmi_answer *answer;
} request_row;

static rgmi_answer answer_requests;

static const request_row rows[] = {
    {{"GET", "/api/v1/master", "version, pid, slots and how many are taken"}, rgmi_answer_master},
    {{"GET", "/api/v1/requests", "this list"}, answer_requests},
    {{"GET", "/api/v1/queue", "trials that wait for slots, each with the reason"},
     rgmi_answer_queue},
    {{"GET", "/api/v1/running", "trials' processes and jobs: slots, since when, Slurm's word"},
     rgmi_answer_running},
    {{"GET", "/api/v1/shares",
      "experiments that are not over: slots held, waited for, and the fair share"},
     rgmi_answer_shares},
    {{"GET", "/api/v1/slots", "slots of this machine: state, pool, and whose trial has them"},
     rgmi_answer_slots},
    {{"POST", "/api/v1/slots/drain",
      "{slots: [N], or pool: NAME, stop}: they get no trial any more; stop: those on them save and "
      "end now"},
     rgmi_answer_drain},
    {{"POST", "/api/v1/slots/enable", "{slots: [N], or pool: NAME}: they get trials again"},
     rgmi_answer_enable},
    {{"GET", "/api/v1/experiments",
      "?state=, ?label=, ?project=, ?archived=0|1|all, ?limit=, ?offset=: newest first"},
     rgmi_answer_experiments},
    {{"POST", "/api/v1/experiments",
      "{config: YAML, name, working_folder, description, paused, validate_only, parent_id}"},
     rgmi_answer_create},
    {{"GET", "/api/v1/experiments/{id}", "its row, with trials by state and the best"},
     rgmi_answer_experiment},
    {{"PATCH", "/api/v1/experiments/{id}",
      "{description, note, project, labels: {name: true|null}, weight, priority, max_slots, "
      "save_experiment_best, "
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
      "{preview, save_experiment_best, save_trial_best, save_trial_latest}: remove checkpoints "
      "that "
      "its policy does not keep; preview: list them, of another policy too"},
     rgmi_answer_collect},
    {{"POST", "/api/v1/experiments/{id}/change",
      "{set: {key: YAML}}: of its file, while it goes on or after its end, which then goes on: "
      "searcher.max_trials and what else its searcher lets be changed, hyperparameters' bounds, "
      "constraints, limits, max_restarts"},
     rgmi_answer_change},
    {{"POST", "/api/v1/experiments/{id}/try",
      "{values: {name: value}, like: NUMBER}: a point to try next; what is not given is as in that "
      "trial, or in the best one"},
     rgmi_answer_try},
    {{"GET", "/api/v1/experiments/{id}/changes", "what was changed of it: ?limit=, ?offset="},
     rgmi_answer_changes},
    {{"GET", "/api/v1/experiments/{id}/config",
      "the merged experiment file; original: as it was before it was changed"},
     rgmi_answer_config},
    {{"GET", "/api/v1/experiments/{id}/code",
      "the files of its code with their hashes, the folder and git commit that they came from, and "
      "where they are kept"},
     rgmi_answer_code},
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
    {{"PATCH", "/api/v1/trials/{id}", "{note}: what people write about it"},
     rgmi_answer_patch_trial},
    {{"GET", "/api/v1/trials/{id}/steps", "?limit=, ?offset="}, rgmi_answer_steps},
    {{"GET", "/api/v1/trials/{id}/validations", "?limit=, ?offset="}, rgmi_answer_validations},
    {{"GET", "/api/v1/trials/{id}/checkpoints", "?limit=, ?offset="},
     rgmi_answer_trial_checkpoints},
    {{"GET", "/api/v1/trials/{id}/logs",
      "?offset= bytes, ?limit= bytes: text, and the offset to ask with next; ?tail=LINES"},
     rgmi_answer_logs},
    {{"POST", "/api/v1/trials/{id}/kill", "its process is ended, and it with that"},
     rgmi_answer_kill_trial},
    {{"POST", "/api/v1/trials/{id}/stop",
      "it ends its step, validates, saves, and is over, counted as what it reached"},
     rgmi_answer_stop_trial},
    {{"POST", "/api/v1/trials/{id}/continue",
      "{max_length: {steps: N}, description, paused}: an experiment of one trial from its last "
      "checkpoint"},
     rgmi_answer_continue},
    {{"GET", "/api/v1/trials/{id}/run", "?run=TOKEN: what its process begins with"},
     rgmi_answer_run},
    {{"POST", "/api/v1/trials/{id}/workload",
      "{run, completed: {...}, stops}: the next, from its process; stops: it was told to end"},
     rgmi_answer_workload},
    {{"POST", "/api/v1/trials/{id}/alive", "{run}: its process is at work, between two workloads"},
     rgmi_answer_alive},
    {{"POST", "/api/v1/trials/{id}/failed",
      "{run, code, message, invalid, fault}: its process gives up; invalid: no process could do "
      "it; fault: trial, hopeless, machine, checkpoint"},
     rgmi_answer_failed},
    {{"GET", "/api/v1/tokens", "who may ask over TCP beside the owner: ?limit=, ?offset="},
     rgmi_answer_tokens},
    {{"POST", "/api/v1/tokens", "{name, scope: read|write, days}: a token, told once"},
     rgmi_answer_create_token},
    {{"DELETE", "/api/v1/tokens/{id}", "it is good for nothing from now on"},
     rgmi_answer_revoke_token},
    {{"GET", "/api/v1/webhooks", "who is told what happens: ?limit=, ?offset="},
     rgmi_answer_webhooks},
    {{"POST", "/api/v1/webhooks",
      "{url, events: [end, failure, best], secret, experiment_id}: tell a URL"},
     rgmi_answer_add_webhook},
    {{"DELETE", "/api/v1/webhooks/{id}", "tell it nothing more"}, rgmi_answer_remove_webhook},
    {{"POST", "/api/v1/webhooks/{id}/test", "tell it something, to try it"},
     rgmi_answer_try_webhook},
    {{"GET", "/api/v1/webhooks/{id}/deliveries", "what it was told, the newest first: ?limit="},
     rgmi_answer_deliveries},
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
    if (call->target.query_count > RGMI_QUERY_ROOM)
        return RGM_FAIL(RGM_ERR_ARG, "more than %d values in the query", (int)RGMI_QUERY_ROOM);
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
    rgm_text_clear(&call.details);
    rgm_json_release(call.body);
    rgm_target_clear(&call.target);
    pthread_mutex_unlock(&master->lock);
}
