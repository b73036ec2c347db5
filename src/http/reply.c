/*
 * An outgoing answer: a body, a constant, a file, or a stream of events that stays open.
 */
#include "server_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- streams -------------------------------------------------------------------------------- */

static ssize_t read_stream(void *payload, uint64_t position, char *data, size_t room)
{
    rgmi_stream *stream = payload;
    int64_t count;

    (void)position;
    count = atomic_load(&stream->server->stops)
                ? -1
                : stream->source.read(data, (int64_t)room, stream->source.payload);
    if (count < 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (count == 0) {
        stream->sleeps = true;
        MHD_suspend_connection(stream->connection);
    }
    return (ssize_t)count;
}

static void close_stream(void *payload)
{
    rgmi_stream *stream = payload;
    rgm_http *server = stream->server;

    *(stream->last != NULL ? &stream->last->next : &server->streams) = stream->next;
    if (stream->next != NULL)
        stream->next->last = stream->last;
    atomic_fetch_sub(&server->stream_count, 1);
    stream->source.close(stream->source.payload);
    free(stream);
}

void rgm_http_wake(rgm_http *server)
{
    uint64_t one = 1;

    if (write(server->wake_fd, &one, sizeof one) < 0)
        return; /* full: it wakes anyway */
}

void rgmi_streams_wake(rgm_http *server)
{
    bool stops = atomic_load(&server->stops);

    for (rgmi_stream *s = server->streams; s != NULL; s = s->next)
        if (s->sleeps && (stops || s->source.is_ready(s->source.payload))) {
            s->sleeps = false;
            MHD_resume_connection(s->connection);
        }
}

/* NULL: no memory; `response` still has its source. */
static struct MHD_Response *make_stream(rgm_http *server, struct MHD_Connection *connection,
                                        rgm_response *response)
{
    rgmi_stream *stream = calloc(1, sizeof *stream);
    struct MHD_Response *made;

    if (stream == NULL)
        return NULL;
    made = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, stream,
                                             close_stream);
    if (made == NULL) {
        free(stream);
        return NULL;
    }
    *stream = (rgmi_stream){.next = server->streams,
                            .server = server,
                            .connection = connection,
                            .source = response->stream};
    response->stream.payload = NULL;
    if (server->streams != NULL)
        server->streams->last = stream;
    server->streams = stream;
    atomic_fetch_add(&server->stream_count, 1);
    return made;
}

/* ---- others --------------------------------------------------------------------------------- */

static struct MHD_Response *make_body(int *code, rgm_response *response)
{
    static const char none[] = "{\"code\": \"RGM_ERR_NOMEM\", \"message\": \"out of memory\", "
                               "\"details\": null}";
    struct MHD_Response *made;

    if (response->body.size == 0 && (*code < 300 || *code >= 400) && *code != 204) {
        *code = 503;
        return MHD_create_response_from_buffer(sizeof none - 1, (void *)(uintptr_t)none,
                                               MHD_RESPMEM_PERSISTENT);
    }
    made = MHD_create_response_from_buffer(
        (size_t)response->body.size,
        response->body.size > 0 ? response->body.data : (void *)(uintptr_t)none,
        response->body.size > 0 ? MHD_RESPMEM_MUST_COPY : MHD_RESPMEM_PERSISTENT);
    return made;
}

static struct MHD_Response *make(int *code, rgm_http *server, struct MHD_Connection *connection,
                                 rgm_response *response)
{
    struct MHD_Response *made;

    if (response->stream.payload != NULL) {
        if (atomic_load(&server->stream_count) >= server->options.streams) {
            rgm_response_fail(response, 503,
                              RGM_FAIL(RGM_ERR_BUSY, "too many streams are open: %lld",
                                       (long long)server->options.streams),
                              NULL);
            *code = response->status;
            return make_body(code, response);
        }
        return make_stream(server, connection, response);
    }
    if (response->fd > 0) {
        made = MHD_create_response_from_fd64((uint64_t)response->fd_size, response->fd);
        if (made != NULL)
            response->fd = 0;
        return made;
    }
    if (response->constant != NULL)
        return MHD_create_response_from_buffer((size_t)response->constant_size,
                                               (void *)(uintptr_t)response->constant,
                                               MHD_RESPMEM_PERSISTENT);
    return make_body(code, response);
}

static bool has_header(const rgm_response *response, const char *name)
{
    for (int64_t i = 0; i < response->header_count; i++)
        if (strcasecmp(response->headers[i].name, name) == 0)
            return true;
    return false;
}

enum MHD_Result rgmi_reply(rgm_http *server, struct MHD_Connection *connection,
                           rgm_response *response, bool ends)
{
    int code = response->status;
    bool is_stream = response->stream.payload != NULL;
    struct MHD_Response *made = make(&code, server, connection, response);
    enum MHD_Result result;

    if (made == NULL)
        return MHD_NO;
    is_stream = is_stream && response->stream.payload == NULL && code < 400;
    MHD_add_response_header(made, "Content-Type",
                            is_stream                ? "text/event-stream"
                            : response->type != NULL ? response->type
                                                     : "application/json");
    MHD_add_response_header(made, "X-Content-Type-Options", "nosniff");
    if (!has_header(response, "Cache-Control"))
        MHD_add_response_header(made, "Cache-Control", "no-store");
    for (int64_t i = 0; i < server->service.header_count; i++)
        MHD_add_response_header(made, server->service.headers[i].name,
                                server->service.headers[i].value);
    for (int64_t i = 0; i < response->header_count; i++)
        MHD_add_response_header(made, response->headers[i].name, response->headers[i].value);
    if (ends)
        MHD_add_response_header(made, "Connection", "close");
    result = MHD_queue_response(connection, (unsigned)code, made);
    MHD_destroy_response(made);
    return result;
}
