/*
 * What the server's threads share: waiting for each other, and the list of workers.
 */
#include "async_server_internal.h"

#include <string.h>
#include <regimen/base_condition.h>

void rgmi_server_init_waiting(rgm_async_server *server)
{
    pthread_mutex_init(&server->lock, NULL);
    rgm_condition_init(&server->for_run);
    rgm_condition_init(&server->for_workers);
}

void rgmi_server_wait(rgm_async_server *server, pthread_cond_t *condition, double seconds)
{
    struct timespec until;

    rgm_deadline(&until, seconds);
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
