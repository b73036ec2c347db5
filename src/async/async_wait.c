/*
 * What the server's threads share: waiting for each other, and the list of workers.
 */
#include "async_server_internal.h"

#include <string.h>
#include <time.h>

void rgmi_server_init_waiting(rgm_async_server *server)
{
    pthread_condattr_t attributes;

    pthread_mutex_init(&server->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->for_run, &attributes);
    pthread_cond_init(&server->for_workers, &attributes);
    pthread_condattr_destroy(&attributes);
}

void rgmi_server_wait(rgm_async_server *server, pthread_cond_t *condition, double seconds)
{
    struct timespec until;
    int64_t ns;

    clock_gettime(CLOCK_MONOTONIC, &until);
    ns = until.tv_nsec + (int64_t)(seconds * 1e9);
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    (void)pthread_cond_timedwait(condition, &server->lock, &until);
}

void rgmi_server_drop_visitor(rgm_async_server *server, int64_t at)
{
    server->visitor_count--;
    memmove(&server->visitors[at], &server->visitors[at + 1],
            (size_t)(server->visitor_count - at) * sizeof *server->visitors);
    if (server->visitor_count == 0)
        server->alone_since = rgm_now();
}
