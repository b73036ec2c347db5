/*
 * The requests: who may ask, and what each is answered. The names are those of TensorFlow Serving's
 * REST interface.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "answer_internal.h"

/* ---- the table ------------------------------------------------------------------------------- */

typedef rgm_status answer_function(rgm_response *out, rgm_answer_server *server,
                                   rgmi_served *model);

static rgmi_served *find_model(rgm_answer_server *server, const char *name)
{
    for (int64_t i = 0; i < server->model_count; i++)
        if (strcmp(server->models[i].name, name) == 0)
            return &server->models[i];
    return NULL;
}

static rgm_status health(rgm_response *out, rgm_answer_server *server, rgmi_served *model)
{
    (void)server, (void)model;
    out->type = "text/plain; charset=utf-8";
    return rgm_text_printf(&out->body, "ok\n");
}

/* Whoever shares out requests sends no more before the server ends. */
static rgm_status readiness(rgm_response *out, rgm_answer_server *server, rgmi_served *model)
{
    (void)model;
    out->type = "text/plain; charset=utf-8";
    if (!atomic_load(&server->drains))
        return rgm_text_printf(&out->body, "ok\n");
    out->status = 503;
    return rgm_text_printf(&out->body, "the server ends\n");
}

static rgm_status metrics(rgm_response *out, rgm_answer_server *server, rgmi_served *model)
{
    (void)model;
    out->type = "text/plain; version=0.0.4; charset=utf-8";
    return rgmi_figures_print(&out->body, server);
}

/* "model_version_status", as TensorFlow Serving answers for a model. */
static rgm_status write_status(rgm_json_writer *w, rgmi_served *model)
{
    rgm_status status = RGM_OK;
    char number[32], *reason = NULL;

    pthread_mutex_lock(&model->lock);
    snprintf(number, sizeof number, "%lld", (long long)model->version->number);
    if (model->reason != NULL)
        status = rgm_strdup(&reason, model->reason);
    pthread_mutex_unlock(&model->lock);
    RGM_GO(status);
    RGM_GO(rgm_json_open_list(w, "model_version_status", RGM_JSON_SPACED));
    RGM_GO(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(w, "version", number));
    RGM_GO(rgm_json_write_text(w, "state", "AVAILABLE"));
    RGM_GO(rgm_json_open_object(w, "status", RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(w, "error_code", reason == NULL ? "OK" : "FAILED_PRECONDITION"));
    RGM_GO(rgm_json_write_text(w, "error_message", reason == NULL ? "" : reason));
    RGM_GO(rgm_json_close(w));
    RGM_GO(rgm_json_close(w));
    RGM_GO(rgm_json_close(w));
done:
    rgm_free(reason);
    return status;
}

static rgm_status list_models(rgm_response *out, rgm_answer_server *server, rgmi_served *model)
{
    rgm_json_writer w = {.out = &out->body};

    (void)model;
    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_open_list(&w, "models", RGM_JSON_SPACED));
    for (int64_t i = 0; i < server->model_count; i++) {
        RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(&w, "name", server->models[i].name));
        RGM_TRY(write_status(&w, &server->models[i]));
        RGM_TRY(rgm_json_close(&w));
    }
    RGM_TRY(rgm_json_close(&w));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_printf(&out->body, "\n");
}

static rgm_status show_model(rgm_response *out, rgm_answer_server *server, rgmi_served *model)
{
    rgm_json_writer w = {.out = &out->body};

    (void)server;
    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(write_status(&w, model));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_printf(&out->body, "\n");
}

static rgm_status write_outputs(rgm_json_writer *w, const rgm_predictor *predictor)
{
    const rgm_export_output *about;
    int64_t count = rgm_predictor_outputs(&about, predictor);

    RGM_TRY(rgm_json_open_list(w, "outputs", RGM_JSON_SPACED));
    for (int64_t o = 0; o < count; o++) {
        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(w, "name", about[o].name));
        RGM_TRY(rgm_json_write_text(w, "kind", rgm_output_kind_names[about[o].kind]));
        if (about[o].classes.count > 0) {
            RGM_TRY(rgm_json_open_list(w, "classes", RGM_JSON_SPACED));
            for (int64_t i = 0; i < about[o].classes.count; i++)
                RGM_TRY(rgm_json_write_text(w, NULL, about[o].classes.items[i]));
            RGM_TRY(rgm_json_close(w));
        }
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

static rgm_status describe_model(rgm_response *out, rgm_answer_server *server, rgmi_served *model)
{
    rgmi_version *version = rgmi_served_version(model);
    rgm_json_writer w = {.out = &out->body};
    rgm_status status = RGM_OK;
    char number[32];

    (void)server;
    snprintf(number, sizeof number, "%lld", (long long)version->number);
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_GO(rgm_json_open_object(&w, "model_spec", RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(&w, "name", model->name));
    RGM_GO(rgm_json_write_text(&w, "version", number));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_json_open_object(&w, "metadata", RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(&w, "instances", rgm_question_form_names[version->form]));
    RGM_GO(write_outputs(&w, version->predictor));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_printf(&out->body, "\n"));
done:
    rgmi_version_release(version);
    return status;
}

/* `open` needs no token: it says nothing but that the server is there. */
static const struct route {
    const char *method, *pattern;
    answer_function *answer; /* NULL: a prediction */
    bool open, streams;      /* streams: a prediction that is told as it grows */
} routes[] = {
    {"GET", "/healthz", health, true, false},
    {"GET", "/readyz", readiness, true, false},
    {"GET", "/metrics", metrics, false, false},
    {"GET", "/v1/models", list_models, false, false},
    {"GET", "/v1/models/{name}", show_model, false, false},
    {"GET", "/v1/models/{name}/metadata", describe_model, false, false},
    {"POST", "/v1/models/{name}:predict", NULL, false, false},
    {"POST", "/v1/models/{name}:stream", NULL, false, true},
};
enum { ROUTES = sizeof routes / sizeof *routes };

/* By its path alone; without a query, which no request has. */
static const struct route *find_route(rgm_path_values *values, const char *path)
{
    for (int i = 0; i < ROUTES; i++)
        if (rgm_path_fits(values, routes[i].pattern, path))
            return &routes[i];
    return NULL;
}

static bool has_method(const struct route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

/* ---- who may ask ----------------------------------------------------------------------------- */

static bool refuse(rgm_response *out, int code, const char *message)
{
    rgmi_answer_fail(out, code, RGM_FAIL(RGM_ERR_ARG, "%s", message));
    return false;
}

static bool has_token(const rgm_request *request, const char *token)
{
    const char *header = rgm_request_header(request, "Authorization");

    return header != NULL && strncasecmp(header, "Bearer ", 7) == 0 &&
           rgm_same_secret(header + 7, token);
}

/* No browser sends the header of a token by itself, so neither cookies nor names that are bound to
 * another address let anybody in; a page that asks all the same is another origin's. */
bool rgmi_answer_admit(rgm_response *out, const rgm_request *request, void *payload)
{
    rgm_answer_server *server = payload;
    rgm_path_values values;
    const struct route *route = find_route(&values, request->path);

    if (route != NULL && route->open && has_method(route, request->method))
        return true;
    if (rgm_request_header(request, "Origin") != NULL)
        return refuse(out, 403, "this server answers programs, not pages of a browser");
    if (!has_token(request, server->token)) {
        refuse(out, 401, "the token is missing or wrong: send 'Authorization: Bearer TOKEN'");
        (void)rgm_response_add_header(out, "WWW-Authenticate", "Bearer");
        return false;
    }
    if (route == NULL)
        return refuse(out, 404, "there is no such request; docs/answer.md has those there are");
    if (!has_method(route, request->method)) {
        refuse(out, 405, "the request has another method");
        (void)rgm_response_add_header(out, "Allow",
                                      route->method[0] == 'G' ? "GET, HEAD" : route->method);
        return false;
    }
    if (strstr(route->pattern, "{name}") != NULL && find_model(server, values.name) == NULL) {
        rgmi_answer_fail(out, 404,
                         RGM_FAIL(RGM_ERR_NOT_FOUND,
                                  "there is no model '%s'; GET /v1/models lists them",
                                  values.name));
        return false;
    }
    if (route->answer == NULL && atomic_load(&server->drains))
        return refuse(out, 503, "the server ends");
    return true;
}

int64_t rgmi_answer_lane(const rgm_request *request, void *payload)
{
    rgm_path_values values;
    const struct route *route = find_route(&values, request->path);

    (void)payload;
    return route != NULL && route->answer == NULL ? 0 : -1;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Without a socket nobody answers later: wait here. */
static void wait_for_answer(rgm_response *out, rgmi_inquiry *asked)
{
    rgmi_served *model = asked->model;

    asked->response = out;
    if (!rgmi_batch_add(out, asked)) {
        rgmi_served_count(model, out->status, 0);
        rgmi_inquiry_release(asked);
        return;
    }
    pthread_mutex_lock(&model->lock);
    while (!asked->answered)
        pthread_cond_wait(&model->changed, &model->lock);
    pthread_mutex_unlock(&model->lock);
    rgmi_inquiry_release(asked);
}

static void predict(rgm_response *out, rgmi_served *model, const rgm_request *request, bool streams)
{
    rgm_response refusal = {0};
    rgmi_inquiry *asked;
    rgm_status status = rgmi_inquiry_read(&asked, model, request, streams);

    if (status != RGM_OK) {
        rgmi_answer_fail(out, 0, status);
        rgmi_served_count(model, out->status, 0);
        return;
    }
    asked->later = rgm_http_defer(request);
    if (asked->later == NULL) {
        wait_for_answer(out, asked);
        return;
    }
    if (!rgmi_batch_add(&refusal, asked))
        rgmi_inquiry_answer(asked, &refusal);
}

void rgmi_answer_request(rgm_response *out, const rgm_request *request, void *payload)
{
    rgm_answer_server *server = payload;
    rgm_path_values values;
    const struct route *route = find_route(&values, request->path);
    rgmi_served *model = route != NULL ? find_model(server, values.name) : NULL;
    rgm_status status;

    out->status = 200;
    if (route == NULL) { /* admit() knows it */
        refuse(out, 404, "there is no such request");
    } else if (route->answer == NULL) {
        predict(out, model, request, route->streams);
    } else {
        status = route->answer(out, server, model);
        if (status != RGM_OK)
            rgmi_answer_fail(out, 0, status);
    }
}
