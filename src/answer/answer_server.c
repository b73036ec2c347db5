/*
 * The server: opened, at work, ended without losing what it accepted.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "answer_internal.h"

#include <regimen/registry.h>

enum { READERS = 2, CONNECTIONS = 1024, HEADER_BYTES = 16 << 10, ALL_BODY_BYTES = 64 << 20 };
enum { IDLE_SECONDS = 120, REQUEST_SECONDS = 30, LAST_SECONDS = 3, SHORTEST_TOKEN = 16 };

/* ---- open ------------------------------------------------------------------------------------ */

static void fill_options(rgm_answer_options *o)
{
    o->max_batch = o->max_batch > 0 ? o->max_batch : 32;
    o->max_delay = o->max_delay < 0 ? 0 : o->max_delay > 0 ? o->max_delay : 0.001;
    o->max_queue = o->max_queue > 0 ? o->max_queue : 1024;
    o->timeout = o->timeout > 0 ? o->timeout : 30;
    o->max_body = o->max_body > 0 ? o->max_body : 4 << 20;
    o->reload_seconds = o->reload_seconds > 0 ? o->reload_seconds : 1;
    o->drain_seconds = o->drain_seconds > 0 ? o->drain_seconds : 30;
}

/* What is added to a clock must stay a time. */
static rgm_status check_times(const rgm_answer_options *o)
{
    const struct {
        const char *name;
        double seconds;
    } times[] = {{"max_delay", o->max_delay},
                 {"timeout", o->timeout},
                 {"reload_seconds", o->reload_seconds},
                 {"drain_seconds", o->drain_seconds}};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (!(times[i].seconds <= RGM_ANSWER_LONGEST))
            return RGM_FAIL(RGM_ERR_ARG, "%s is %g seconds: a day (%d) is the longest",
                            times[i].name, times[i].seconds, RGM_ANSWER_LONGEST);
    return RGM_OK;
}

/* A short one could be guessed; one with other characters could not be sent. */
static rgm_status take_token(rgm_answer_server *server, const char *token)
{
    if (token == NULL)
        return rgm_random_hex(server->token);
    for (const char *c = token; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return RGM_FAIL(RGM_ERR_ARG, "the token has a space or another character that a header "
                                         "cannot have");
    if (strlen(token) < SHORTEST_TOKEN || strlen(token) >= sizeof server->token)
        return RGM_FAIL(RGM_ERR_ARG, "a token has %d to %zu characters, this one %zu",
                        SHORTEST_TOKEN, sizeof server->token - 1, strlen(token));
    snprintf(server->token, sizeof server->token, "%s", token);
    return RGM_OK;
}

static rgm_status keep_options(rgm_answer_server *server, const rgm_answer_options *options)
{
    server->options = *options;
    fill_options(&server->options);
    RGM_TRY(check_times(options));
    RGM_TRY(take_token(server, options->token));
    RGM_TRY(RGM_NEW(server->sets, options->set_count + 1));
    for (int64_t i = 0; i < options->set_count; i++)
        RGM_TRY(rgm_strdup(&server->sets[i], options->sets[i]));
    return rgm_registry_place(&server->registry, options->registry);
}

static rgm_status listen_there(rgm_answer_server *server, const rgm_answer_options *options)
{
    const char *where = options->listen != NULL ? options->listen : "127.0.0.1:8501";
    char address[64];
    int port;

    RGM_TRY(rgm_http_listen(&server->fd, where));
    RGM_TRY(rgm_http_address(address, &port, server->fd));
    if (!rgm_http_is_loopback(address) && !options->allow_remote)
        return RGM_FAIL(RGM_ERR_ARG,
                        "%s can be reached by others, and what they send is not encrypted: say "
                        "--allow-remote (allow_remote), or use a tunnel to 127.0.0.1",
                        where);
    return rgm_strprintf(&server->address, "http://%s", address);
}

static rgm_status load_models(rgm_answer_server *server, const rgm_answer_options *options)
{
    if (options->model_count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "no model is named");
    RGM_TRY(RGM_NEW(server->models, options->model_count));
    for (int64_t i = 0; i < options->model_count; i++) {
        server->model_count = i + 1;
        RGM_TRY(rgmi_served_open(&server->models[i], server, &options->models[i]));
        RGM_TRY(rgmi_batch_start(&server->models[i]));
    }
    return RGM_OK;
}

static void open_locks(rgm_answer_server *server)
{
    pthread_condattr_t clock;

    pthread_mutex_init(&server->lock, NULL);
    pthread_mutex_init(&server->reloads, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&server->changed, &clock);
    pthread_condattr_destroy(&clock);
}

rgm_status rgm_answer_open(rgm_answer_server **out, const rgm_answer_options *options)
{
    rgm_status status = RGM_OK;
    rgm_answer_server *server = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(server, 1));
    server->fd = -1;
    server->began = rgm_wall_time();
    open_locks(server);
    RGM_GO(keep_options(server, options));
    RGM_GO(listen_there(server, options));
    RGM_GO(load_models(server, options));
    *out = server;
    server = NULL;
done:
    rgm_answer_close(server);
    return status;
}

void rgm_answer_close(rgm_answer_server *server)
{
    if (server == NULL)
        return;
    if (server->fd >= 0)
        close(server->fd);
    for (int64_t i = 0; i < server->model_count; i++)
        rgmi_served_close(&server->models[i]);
    rgm_free(server->models);
    for (int64_t i = 0; server->sets != NULL && i < server->options.set_count; i++)
        rgm_free(server->sets[i]);
    rgm_free(server->sets);
    rgm_free(server->registry);
    rgm_free(server->address);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->reloads);
    pthread_mutex_destroy(&server->lock);
    rgm_free(server);
}

const char *rgm_answer_address(const rgm_answer_server *server)
{
    return server->address;
}

const char *rgm_answer_token(const rgm_answer_server *server)
{
    return server->token;
}

/* ---- newer versions -------------------------------------------------------------------------- */

static void reload(rgm_answer_server *server, bool at_once)
{
    pthread_mutex_lock(&server->reloads);
    for (int64_t i = 0; i < server->model_count; i++)
        rgmi_served_reload(&server->models[i], at_once);
    pthread_mutex_unlock(&server->reloads);
}

void rgm_answer_reload(rgm_answer_server *server)
{
    reload(server, true);
}

static void *reload_all(void *payload)
{
    rgm_answer_server *server = payload;

    pthread_mutex_lock(&server->lock);
    while (!server->ends) {
        double until = rgm_now() + server->options.reload_seconds;
        struct timespec at = {.tv_sec = (time_t)until,
                              .tv_nsec = (long)((until - floor(until)) * 1e9)};

        pthread_cond_timedwait(&server->changed, &server->lock, &at);
        if (server->ends || rgm_now() < until)
            continue;
        pthread_mutex_unlock(&server->lock);
        reload(server, false);
        pthread_mutex_lock(&server->lock);
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

static rgm_status start_reloader(rgm_answer_server *server)
{
    int failed = rgm_thread_start(&server->reloader, reload_all, server);

    if (failed != 0)
        return RGM_FAIL(RGM_ERR_IO, "no thread for newer versions: %s", strerror(failed));
    server->has_reloader = true;
    return RGM_OK;
}

static void stop_reloader(rgm_answer_server *server)
{
    if (!server->has_reloader)
        return;
    pthread_mutex_lock(&server->lock);
    server->ends = true;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    pthread_join(server->reloader, NULL);
    server->has_reloader = false;
}

/* ---- at work --------------------------------------------------------------------------------- */

static void pause_shortly(void)
{
    const struct timespec pause = {.tv_nsec = 50000000};

    nanosleep(&pause, NULL);
}

static void expire(rgm_answer_server *server, double now)
{
    for (int64_t i = 0; i < server->model_count; i++)
        rgmi_batch_expire(&server->models[i], now);
}

static bool is_idle(rgm_answer_server *server)
{
    for (int64_t i = 0; i < server->model_count; i++)
        if (!rgmi_batch_is_idle(&server->models[i]))
            return false;
    return true;
}

/* What was accepted is answered; what has waited too long by then is told so. */
static void drain(rgm_answer_server *server)
{
    double until = rgm_now() + server->options.drain_seconds;

    atomic_store(&server->drains, true);
    for (int64_t i = 0; i < server->model_count; i++)
        rgmi_batch_hurry(&server->models[i]);
    while (!is_idle(server) && rgm_now() < until) {
        expire(server, rgm_now());
        pause_shortly();
    }
    expire(server, INFINITY);
    for (int64_t i = 0; i < server->model_count; i++)
        rgmi_batch_cut(&server->models[i]);
    until = rgm_now() + LAST_SECONDS; /* for streams to be told so */
    while (!is_idle(server) && rgm_now() < until)
        pause_shortly();
}

static rgm_status start_http(rgm_answer_server *server)
{
    static const int lanes[] = {READERS};
    int64_t most = server->options.max_body;
    const rgm_http_options options = {.connections = CONNECTIONS,
                                      .header_bytes = HEADER_BYTES,
                                      .body_bytes = most,
                                      .all_body_bytes =
                                          most > ALL_BODY_BYTES ? most : ALL_BODY_BYTES,
                                      .idle_seconds = IDLE_SECONDS,
                                      .request_seconds = REQUEST_SECONDS,
                                      .streams = CONNECTIONS,
                                      .lanes = lanes,
                                      .lane_count = 1};
    const rgm_http_service service = {.admit = rgmi_answer_admit,
                                      .lane = rgmi_answer_lane,
                                      .answer = rgmi_answer_request,
                                      .payload = server};
    int fd = server->fd;
    rgm_status status;

    if (fd < 0)
        return RGM_FAIL(RGM_ERR_ARG, "the server was at work already");
    server->fd = -1;
    pthread_mutex_lock(&server->lock); /* a stream that begins at once is woken once it is there */
    status = rgm_http_start(&server->http, fd, &options, &service);
    pthread_mutex_unlock(&server->lock);
    return status;
}

rgm_status rgm_answer_serve(rgm_answer_server *server, bool (*done)(void *payload), void *payload)
{
    rgm_status status = RGM_OK;
    rgm_http *http;

    RGM_GO(start_http(server));
    RGM_GO(start_reloader(server));
    while (!done(payload)) {
        expire(server, rgm_now());
        pause_shortly();
    }
    drain(server);
done:
    stop_reloader(server);
    pthread_mutex_lock(&server->lock);
    http = server->http;
    server->http = NULL;
    pthread_mutex_unlock(&server->lock);
    rgm_http_stop(http);
    return status;
}

void rgm_answer_handle(rgm_response *out, rgm_answer_server *server, const rgm_request *request)
{
    memset(out, 0, sizeof *out);
    if (rgmi_answer_admit(out, request, server))
        rgmi_answer_request(out, request, server);
}
