/*
 * An incoming request: its headers, the decision to admit it, its body, and the lane that answers.
 */
#include "server_internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void *rgmi_exchange_begin(void *payload, const char *uri, struct MHD_Connection *connection)
{
    rgm_http *server = payload;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    rgmi_exchange *x = calloc(1, sizeof *x);

    if (x == NULL)
        return NULL;
    x->server = server;
    x->connection = connection;
    x->of = info != NULL ? info->socket_context : NULL;
    x->uri = strdup(uri);
    if (x->of != NULL)
        rgmi_connection_begin(server, x->of);
    return x;
}

void rgmi_exchange_end(void *payload, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode code)
{
    rgmi_exchange *x = *state;

    (void)payload, (void)connection, (void)code;
    *state = NULL;
    if (x == NULL)
        return;
    x->server->bodies -= x->counted;
    if (x->of != NULL)
        rgmi_connection_idle(x->server, x->of);
    rgm_response_clear(&x->response);
    rgm_text_clear(&x->body);
    free(x->uri);
    free(x->method);
    free(x);
}

/* ---- what is sent --------------------------------------------------------------------------- */

static enum MHD_Result keep_header(void *payload, enum MHD_ValueKind kind, const char *key,
                                   size_t key_size, const char *value, size_t size)
{
    rgmi_exchange *x = payload;

    (void)kind;
    if (value == NULL)
        value = "", size = 0;
    if (x->header_count == RGMI_HEADERS || strlen(key) != key_size || strlen(value) != size) {
        x->malformed = true;
        return MHD_NO;
    }
    x->headers[x->header_count++] = (rgm_header){key, value};
    return MHD_YES;
}

/* Refuse what two readers could understand in two ways: that is how requests are smuggled. */
static bool is_well_framed(const rgmi_exchange *x)
{
    static const char *const once[] = {"Host",   "Content-Length", "Transfer-Encoding",
                                       "Origin", "Authorization",  "Cookie"};
    const char *encoding = NULL, *length = NULL;

    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        int count = 0;

        for (int64_t k = 0; k < x->header_count; k++)
            count += strcasecmp(x->headers[k].name, once[i]) == 0;
        if (count > 1)
            return false;
    }
    for (int64_t k = 0; k < x->header_count; k++) {
        if (strcasecmp(x->headers[k].name, "Transfer-Encoding") == 0)
            encoding = x->headers[k].value;
        if (strcasecmp(x->headers[k].name, "Content-Length") == 0)
            length = x->headers[k].value;
    }
    return (encoding == NULL || (length == NULL && strcasecmp(encoding, "chunked") == 0)) &&
           (length == NULL || (length[0] != 0 && strspn(length, "0123456789") == strlen(length)));
}

static rgm_request request_of(const rgmi_exchange *x)
{
    return (rgm_request){.method = x->method,
                         .path = x->uri,
                         .body = x->body.data,
                         .size = x->body.size,
                         .headers = x->headers,
                         .header_count = x->header_count};
}

/* Of 503: when there may be room. */
static void ask_to_return(rgm_response *response)
{
    if (response->status == 503)
        (void)rgm_response_add_header(response, "Retry-After", "1");
}

static enum MHD_Result refuse(rgmi_exchange *x, int code, const char *message)
{
    if (x->of != NULL)
        rgmi_connection_whole(x->of);
    rgm_response_fail(&x->response, code, RGM_FAIL(RGM_ERR_ARG, "%s", message), NULL);
    ask_to_return(&x->response);
    return rgmi_reply(x->server, x->connection, &x->response, true);
}

/* Called when the headers are complete. */
static enum MHD_Result look(rgmi_exchange *x, const char *method)
{
    rgm_http *server = x->server;
    rgm_request request;

    x->begun = true;
    x->method = strdup(method);
    MHD_get_connection_values_n(x->connection, MHD_HEADER_KIND, keep_header, x);
    if (x->method == NULL)
        return MHD_NO;
    if (x->malformed || !is_well_framed(x))
        return refuse(x, 400, "the headers can be understood in two ways, or are too many");
    if (x->uri[0] != '/')
        return refuse(x, 400, "the path does not begin with '/'");
    request = request_of(x);
    if (server->service.admit == NULL ||
        server->service.admit(&x->response, &request, server->service.payload))
        return MHD_YES;
    if (x->of != NULL)
        rgmi_connection_whole(x->of);
    return rgmi_reply(server, x->connection, &x->response, true);
}

static enum MHD_Result take(rgmi_exchange *x, const char *data, size_t *size)
{
    rgm_http *server = x->server;
    int64_t count = (int64_t)*size;

    *size = 0;
    if (x->refused != 0)
        return MHD_YES;
    if (x->body.size + count > server->options.body_bytes)
        x->refused = 413;
    else if (server->bodies + count > server->options.all_body_bytes ||
             rgm_text_add(&x->body, data, count) != RGM_OK)
        x->refused = 503; /* there is room when others have been answered */
    if (x->refused != 0) {
        rgm_text_clear(&x->body);
        server->bodies -= x->counted;
        x->counted = 0;
        return MHD_YES;
    }
    server->bodies += count;
    x->counted += count;
    return MHD_YES;
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* From here on x belongs to the polling thread. */
static void resume(rgmi_exchange *x)
{
    rgm_http *server = x->server;

    x->answered = true;
    MHD_resume_connection(x->connection);
    rgm_http_wake(server); /* we poll, so libmicrohttpd cannot wake us itself */
}

/* The lane's thread and the one that answers are done with it, in either order. */
static void settle(rgmi_exchange *x)
{
    rgm_http *server = x->server;

    if (atomic_fetch_sub(&x->waits, 1) > 1)
        return;
    resume(x);
    atomic_fetch_sub(&server->deferred_count, 1); /* the last: the server may be waiting for it */
}

rgm_http_later *rgm_http_defer(const rgm_request *request)
{
    rgmi_exchange *x = request->later;

    if (x == NULL)
        return NULL;
    atomic_init(&x->waits, 2);
    atomic_fetch_add(&x->server->deferred_count, 1);
    x->deferred = true;
    return x;
}

void rgm_http_answer(rgm_http_later *later, rgm_response *response)
{
    later->response = *response;
    *response = (rgm_response){0};
    settle(later);
}

static void work(void *payload)
{
    rgmi_exchange *x = payload;
    rgm_http *server = x->server;
    rgm_request request = request_of(x);
    rgm_response response = {0};

    request.later = x;
    if (atomic_load(&server->stops))
        rgm_response_fail(&response, 503, RGM_FAIL(RGM_ERR_BUSY, "the server ends"), NULL);
    else
        server->service.answer(&response, &request, server->service.payload);
    if (x->deferred) {
        rgm_response_clear(&response);
        settle(x);
        return;
    }
    x->response = response;
    resume(x);
}

static enum MHD_Result hand_out(rgmi_exchange *x, int64_t lane)
{
    rgm_http *server = x->server;

    if (server->lanes[lane] == NULL &&
        rgm_thread_pool_create(&server->lanes[lane], server->lane_threads[lane]) != RGM_OK)
        return refuse(x, 503, "no thread can be had");
    MHD_suspend_connection(x->connection);
    if (rgm_thread_pool_submit(server->lanes[lane], work, x) == RGM_OK)
        return MHD_YES;
    rgm_response_fail(&x->response, 503, RGM_ERR_NOMEM, NULL);
    x->answered = true;
    MHD_resume_connection(x->connection);
    return MHD_YES;
}

static enum MHD_Result finish(rgmi_exchange *x)
{
    rgm_http *server = x->server;
    rgm_request request = request_of(x);
    int64_t lane;

    if (x->answered)
        return rgmi_reply(server, x->connection, &x->response, false);
    if (x->of != NULL)
        rgmi_connection_whole(x->of);
    if (x->refused != 0)
        return refuse(x, x->refused,
                      x->refused == 413 ? "the body is too large"
                                        : "there is no room for the body now, but may be later");
    if (atomic_load(&server->stops))
        return refuse(x, 503, "the server ends");
    lane =
        server->service.lane != NULL ? server->service.lane(&request, server->service.payload) : -1;
    if (lane >= 0 && lane < server->options.lane_count)
        return hand_out(x, lane);
    server->service.answer(&x->response, &request, server->service.payload);
    return rgmi_reply(server, x->connection, &x->response, false);
}

enum MHD_Result rgmi_exchange_handle(void *payload, struct MHD_Connection *connection,
                                     const char *url, const char *method, const char *version,
                                     const char *data, size_t *size, void **state)
{
    rgmi_exchange *x = *state;

    (void)payload, (void)url, (void)version, (void)connection;
    if (x == NULL || x->uri == NULL)
        return MHD_NO;
    if (!x->begun)
        return look(x, method);
    if (*size > 0)
        return take(x, data, size);
    return finish(x);
}
