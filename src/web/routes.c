/*
 * All requests of the page: one table of method, path, function and help. The path and the query
 * taken apart, the body parsed, the answer or its error.
 */
#include "web_internal.h"

#include <string.h>

/* Who answers: the thread that polls, which may not wait, or a lane. */
enum { AT_ONCE = -1, READING = RGMI_READING, COMPUTING = RGMI_COMPUTING, ASKING = RGMI_ASKING };

/** A request that there is. */
typedef struct request_type {
    const char *method;
    const char *path; /* "/api/v1/runs/{hex}" */
    const char *help; /* one line, with its query and body */
} request_type;

typedef struct route {
    request_type type;
    rgmi_web_answer *answer;
    int lane;
} route;

static const route routes[] = {
    {{"GET", "/api/v1/page", "version, read_only, folders, masters, how many runs there are"},
     rgmi_show_page,
     READING},
    {{"GET", "/api/v1/runs",
      "the table: kind, q, state, where, sort, order, columns, offset, limit, experiment, "
      "describe, archived, group and within"},
     rgmi_show_runs,
     READING},
    {{"GET", "/api/v1/groups",
      "runs put together, with mean and deviation: group=seeds or KEY,KEY, and as of runs"},
     rgmi_show_groups,
     READING},
    {{"GET", "/api/v1/bands",
      "curves of groups=ID,ID: metric (several times), points, after, until, and as of groups"},
     rgmi_show_bands,
     READING},
    {{"GET", "/api/v1/views", "saved views: a name and the query of the page each"},
     rgmi_show_views,
     READING},
    {{"POST", "/api/v1/views", "{name, query}: keep one; {name}: remove it"},
     rgmi_save_view,
     READING},
    {{"GET", "/api/v1/runs/{hex}", "one run: its row, env, damage, rate, what it has"},
     rgmi_show_run,
     READING},
    {{"GET", "/api/v1/curves",
      "learning curves of runs=ID,ID: metrics, computed (several times), points, after"},
     rgmi_show_curves,
     READING},
    {{"GET", "/api/v1/configs", "configurations of runs=ID,ID, key by key"},
     rgmi_show_configs,
     READING},
    {{"PATCH", "/api/v1/runs/{hex}",
      "{tags: [...], title, note, archived}: those that are named; \"\" takes one away"},
     rgmi_change_run,
     READING},
    {{"DELETE", "/api/v1/runs/{hex}", "its folder; not of one that trains, nor of a trial"},
     rgmi_delete_run,
     READING},
    {{"POST", "/api/v1/runs/{hex}/stop",
      "its process gets SIGTERM: it saves and ends; a trial is stopped by its master"},
     rgmi_stop_run,
     READING},
    {{"GET", "/api/v1/runs/{hex}/note", "what people wrote about it, whole"},
     rgmi_show_note,
     READING},
    {{"GET", "/api/v1/runs/{hex}/config", "its merged configuration, with sources"},
     rgmi_show_run_config,
     READING},
    {{"GET", "/api/v1/runs/{hex}/logs",
      "a part of a log: file=log|trial, offset and limit or tail; q finds lines"},
     rgmi_show_run_logs,
     READING},
    {{"GET", "/api/v1/runs/{hex}/checkpoints", "which there are, the newest, the best"},
     rgmi_show_run_checkpoints,
     READING},
    {{"GET", "/api/v1/runs/{hex}/exports", "files that were exported"},
     rgmi_show_run_exports,
     READING},
    {{"GET", "/api/v1/runs/{hex}/exports/{id}", "one of them, to be saved"},
     rgmi_show_run_export,
     READING},
    {{"GET", "/api/v1/runs/{hex}/histograms", "tags; with tag= its steps"},
     rgmi_show_run_histograms,
     READING},
    {{"GET", "/api/v1/runs/{hex}/samples", "what was generated at each validation"},
     rgmi_show_run_samples,
     READING},
    {{"GET", "/api/v1/runs/{hex}/confusion", "a confusion matrix: split, label, step"},
     rgmi_show_run_confusion,
     READING},
    {{"GET", "/api/v1/runs/{hex}/scores",
      "ROC, precision by recall, hits by k of the last validation and test"},
     rgmi_show_run_scores,
     READING},
    {{"GET", "/api/v1/runs/{hex}/explanations", "what predictions rest on; name= one of them"},
     rgmi_show_run_explanations,
     READING},
    {{"GET", "/api/v1/runs/{hex}/system", "memory, processors and rates over time"},
     rgmi_show_run_system,
     READING},
    {{"GET", "/api/v1/runs/{hex}/model", "layers, parameters, flops"},
     rgmi_show_run_model,
     READING},
    {{"GET", "/api/v1/runs/{hex}/profile", "where its time went, by op and layer"},
     rgmi_show_run_profile,
     READING},
    {{"GET", "/api/v1/events",
      "?topics=runs,run:ID,experiment:MASTER:ID,queue:MASTER: what has changed, as it does "
      "(text/event-stream)"},
     rgmi_show_events,
     AT_ONCE},
    {{"GET", "/api/v1/masters/{id}/experiments/{id}/importance",
      "how much each hyperparameter matters, by fANOVA over its trials"},
     rgmi_show_importance,
     COMPUTING},
    {{"ANY", "/api/v1/masters/{id}/{rest}", "the request of that master: its /api/v1/{rest}"},
     rgmi_show_master,
     ASKING},
    {{"GET", "/api/v1/requests", "this list"}, rgmi_show_requests, AT_ONCE},
    {{"GET", "/", "the page: all runs"}, rgmi_show_index, AT_ONCE},
    {{"GET", "/compare", "the page: some of them"}, rgmi_show_index, AT_ONCE},
    {{"GET", "/runs/{hex}", "the page: one run"}, rgmi_show_index, AT_ONCE},
    {{"GET", "/experiments/{id}/{id}", "the page: an experiment of a master"},
     rgmi_show_index,
     AT_ONCE},
    {{"GET", "/cluster", "the page: slots and who waits for them"}, rgmi_show_index, AT_ONCE},
    {{"GET", "/static/{name}", "a file of the page"}, rgmi_show_asset, AT_ONCE},
};
enum { ROUTES = sizeof routes / sizeof *routes };

rgm_status rgmi_show_requests(rgmi_web_call *call)
{
    rgm_text *out = &call->out->body;

    RGM_TRY(rgm_text_printf(out, "{\"requests\": ["));
    for (int64_t i = 0; i < ROUTES; i++) {
        RGM_TRY(rgm_text_printf(out, "%s{\"method\": \"%s\", \"path\": \"%s\", \"help\": ",
                                i > 0 ? ", " : "", routes[i].type.method, routes[i].type.path));
        RGM_TRY(rgm_json_print_text(out, routes[i].type.help));
        RGM_TRY(rgm_text_add(out, "}", 1));
    }
    return rgm_text_printf(out, "]}");
}

/* ---- which row ------------------------------------------------------------------------------ */

/* HEAD is a GET whose body is left out by whoever sends it. */
static bool is_method(const char *pattern, const char *method)
{
    return strcmp(pattern, "ANY") == 0 ||
           strcmp(pattern, strcmp(method, "HEAD") == 0 ? "GET" : method) == 0;
}

bool rgmi_route_is_page(const char *path)
{
    rgm_path_values values;
    rgm_target target = {0};
    bool is_page = false;

    (void)rgm_target_read(&target, path);
    for (int i = 0; i < ROUTES && target.path != NULL && !is_page; i++)
        is_page = routes[i].answer == rgmi_show_index &&
                  rgm_path_fits(&values, routes[i].type.path, target.path);
    rgm_target_clear(&target);
    return is_page;
}

static rgm_status find_route(const route **out, rgmi_web_call *call)
{
    const rgm_request *request = call->request;
    char allow[64] = "";

    *out = NULL;
    for (int i = 0; i < ROUTES; i++) {
        if (!rgm_path_fits(&call->values, routes[i].type.path, call->target.path))
            continue;
        if (is_method(routes[i].type.method, request->method)) {
            *out = &routes[i];
            return RGM_OK;
        }
        strncat(allow, allow[0] != 0 ? ", " : "", sizeof allow - strlen(allow) - 1);
        strncat(allow, routes[i].type.method, sizeof allow - strlen(allow) - 1);
        if (strcmp(routes[i].type.method, "GET") == 0)
            strncat(allow, ", HEAD", sizeof allow - strlen(allow) - 1);
    }
    call->out->status = allow[0] != 0 ? 405 : 404;
    if (allow[0] != 0)
        RGM_TRY(rgm_response_add_header(call->out, "Allow", allow));
    return RGM_FAIL(RGM_ERR_NOT_FOUND,
                    "there is no %s %s; GET /api/v1/requests lists what there is", request->method,
                    call->target.path);
}

int64_t rgmi_route_lane(const rgm_request *request, void *payload)
{
    rgm_path_values values;
    size_t size = strcspn(request->path, "?");
    char path[512];

    (void)payload;
    if (size >= sizeof path)
        return AT_ONCE; /* no row has so long a path */
    memcpy(path, request->path, size);
    path[size] = 0;
    for (int i = 0; i < ROUTES; i++)
        if (is_method(routes[i].type.method, request->method) &&
            rgm_path_fits(&values, routes[i].type.path, path))
            return routes[i].lane != ASKING
                       ? routes[i].lane
                       : ASKING + values.ids[0] % (RGMI_WEB_LANES - RGMI_ASKING);
    return AT_ONCE;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static rgm_status answer(rgmi_web_call *call)
{
    const rgm_request *request = call->request;
    const route *row = NULL;
    rgm_status query = rgm_target_read(&call->target, request->path);

    if (call->target.path != NULL)
        RGM_TRY(find_route(&row, call));
    RGM_TRY(query);
    call->hex = call->values.hex[0] != 0 ? call->values.hex : NULL;
    call->id = call->values.ids[0];
    if (request->body != NULL && request->size > 0) {
        rgm_status body = rgm_json_parse(&call->body, request->body, request->size, "body");

        if (body == RGM_ERR_FORMAT)
            call->out->status = 400;
        RGM_TRY(body);
        if (!rgm_json_is_object(call->body))
            return RGM_FAIL(RGM_ERR_ARG, "the body is no JSON object");
    }
    return row->answer(call);
}

void rgmi_route_answer(rgm_response *out, const rgm_request *request, void *payload)
{
    rgmi_web_call call = {.web = payload, .request = request, .out = out};
    rgm_status status;

    memset(out, 0, sizeof *out);
    out->status = 200;
    status = answer(&call);
    if (status != RGM_OK) {
        int code = out->status >= 400 ? out->status : 0;
        char allow[64] = "";

        for (int64_t i = 0; i < out->header_count && code == 405; i++)
            if (strcmp(out->headers[i].name, "Allow") == 0)
                strncat(allow, out->headers[i].value, sizeof allow - 1);
        rgm_response_fail(out, code, status, NULL);
        if (allow[0] != 0)
            (void)rgm_response_add_header(out, "Allow", allow);
    }
    rgm_json_release(call.body);
    rgm_target_clear(&call.target);
}
