/*
 * How the server's threads wait for each other.
 */
#include "async_server_internal.h"

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
