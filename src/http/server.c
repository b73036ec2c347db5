/*
 * The server: one thread that polls libmicrohttpd's descriptor, its timeouts, and waking it. Work
 * that takes long is done in lanes, which are threads of their own, while the connection is
 * suspended.
 */
#include "server_internal.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { SPARE_CONNECTIONS = 64 }; /* for connections that are being closed */
#define SWEEP_SECONDS 0.5

/* ---- the thread ----------------------------------------------------------------------------- */

static int wait_time(struct MHD_Daemon *daemon, double until)
{
    unsigned long long most = 0;
    double left = until - rgm_now();
    int wait = left > 60 ? 60000 : left > 0 ? (int)(left * 1000) + 1 : 0;

    if (MHD_get_timeout(daemon, &most) == MHD_YES && most < (unsigned long long)wait)
        wait = (int)most;
    return wait;
}

static void *poll_all(void *payload)
{
    rgm_http *server = payload;
    struct pollfd fds[] = {{.fd = server->daemon_fd, .events = POLLIN},
                           {.fd = server->wake_fd, .events = POLLIN}};
    double sweep = rgm_now();
    uint64_t count;

    while (!atomic_load(&server->stops)) {
        poll(fds, 2,
             wait_time(server->daemon, server->connections != NULL ? sweep : rgm_now() + 60));
        if ((fds[1].revents & POLLIN) != 0 && read(server->wake_fd, &count, sizeof count) > 0)
            rgmi_streams_wake(server);
        MHD_run(server->daemon);
        if (rgm_now() >= sweep) {
            rgmi_connections_sweep(server, rgm_now());
            sweep = rgm_now() + SWEEP_SECONDS;
        }
    }
    return NULL;
}

/* It gets no signal, so that nobody sees the SIGPIPE of a file being sent. */
static rgm_status start_thread(rgm_http *server)
{
    int failed = rgm_thread_start(&server->thread, poll_all, server);

    if (failed != 0)
        return RGM_FAIL(RGM_ERR_IO, "no thread for requests: %s", strerror(failed));
    server->has_thread = true;
    return RGM_OK;
}

/* ---- start and stop ------------------------------------------------------------------------- */

static void fill_options(rgm_http *server)
{
    rgm_http_options *o = &server->options;

    o->connections = o->connections > 0 ? o->connections : 512;
    o->connections_per_address = o->connections_per_address > 0 ? o->connections_per_address : 0;
    o->header_bytes = o->header_bytes > 0 ? o->header_bytes : 64 << 10;
    o->body_bytes = o->body_bytes > 0 ? o->body_bytes : 16 << 20;
    o->all_body_bytes = o->all_body_bytes > 0 ? o->all_body_bytes : 64 << 20;
    o->idle_seconds = o->idle_seconds > 0 ? o->idle_seconds : 120;
    o->request_seconds = o->request_seconds > 0 ? o->request_seconds : 120;
    o->streams = o->streams > 0 ? o->streams : 128;
    o->lane_count = o->lane_count < RGMI_LANES ? o->lane_count : RGMI_LANES;
    for (int64_t i = 0; i < o->lane_count; i++)
        server->lane_threads[i] = o->lanes[i];
    o->lanes = NULL;
}

static rgm_status start_daemon(rgm_http *server, int fd)
{
    const rgm_http_options *o = &server->options;
    const union MHD_DaemonInfo *info;

    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, rgmi_exchange_handle, server,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(o->connections + SPARE_CONNECTIONS), MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        (unsigned)o->connections_per_address, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)ceil(o->idle_seconds), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)o->header_bytes, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP,
        1, MHD_OPTION_URI_LOG_CALLBACK, rgmi_exchange_begin, server, MHD_OPTION_NOTIFY_COMPLETED,
        rgmi_exchange_end, server, MHD_OPTION_NOTIFY_CONNECTION, rgmi_connection_notify, server,
        MHD_OPTION_END);
    if (server->daemon == NULL) {
        close(fd);
        return RGM_FAIL(RGM_ERR_IO, "libmicrohttpd does not start");
    }
    info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL)
        return RGM_FAIL(RGM_ERR_IO, "libmicrohttpd has no descriptor to poll");
    server->daemon_fd = info->epoll_fd;
    return RGM_OK;
}

rgm_status rgm_http_start(rgm_http **out, int fd, const rgm_http_options *options,
                          const rgm_http_service *service)
{
    rgm_status status = RGM_OK;
    rgm_http *server = NULL;

    *out = NULL;
    status = RGM_NEW(server, 1);
    if (status != RGM_OK) {
        close(fd);
        return status;
    }
    if (options != NULL)
        server->options = *options;
    fill_options(server);
    server->service = *service;
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->wake_fd < 0) {
        close(fd);
        RGM_GO(RGM_FAIL_SYSTEM("make", "eventfd"));
    }
    RGM_GO(start_daemon(server, fd));
    RGM_GO(start_thread(server));
    *out = server;
    server = NULL;
done:
    rgm_http_stop(server);
    return status;
}

void rgmi_http_count(int64_t *connections, int64_t *streams, const rgm_http *server)
{
    if (connections != NULL)
        *connections = atomic_load(&server->connection_count);
    if (streams != NULL)
        *streams = atomic_load(&server->stream_count);
}

/* Who answers them has been told by its own means that the end has come. */
static void wait_for_deferred(rgm_http *server)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    while (atomic_load(&server->deferred_count) > 0)
        nanosleep(&pause, NULL);
}

void rgm_http_stop(rgm_http *server)
{
    if (server == NULL)
        return;
    atomic_store(&server->stops, true);
    if (server->has_thread) {
        rgm_http_wake(server);
        pthread_join(server->thread, NULL);
    }
    server->options.lane_count = 0; /* new requests are refused: the server ends */
    for (int i = 0; i < RGMI_LANES; i++)
        rgm_thread_pool_release(server->lanes[i]); /* this resumes each of their connections */
    wait_for_deferred(server);
    if (server->daemon != NULL) {
        rgmi_streams_wake(server);
        /* Twice: first resumed connections are answered, then the answers are sent. */
        MHD_run(server->daemon);
        MHD_run(server->daemon);
        MHD_stop_daemon(server->daemon);
    }
    if (server->wake_fd >= 0)
        close(server->wake_fd);
    rgm_free(server);
}
