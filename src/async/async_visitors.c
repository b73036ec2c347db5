/*
 * The server's list of workers, and those that go: that leave, end, are silent, or hang.
 */
#include "async_server_internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define FORGIVEN  10.0 /* timeouts without any worker, then the run saves and stops */
#define LONGEST_S 60.0 /* between two lines of the log about waiting */

void rgmi_server_drop_visitor(rgm_async_server *server, int64_t at)
{
    server->visitor_count--;
    memmove(&server->visitors[at], &server->visitors[at + 1],
            (size_t)(server->visitor_count - at) * sizeof *server->visitors);
    if (server->visitor_count == 0)
        server->alone_since = rgm_now();
}

static rgm_status forget(rgm_async_server *server, int64_t at)
{
    RGM_TRY(rgmi_ledger_forget(&server->ledger, server->visitors[at].id));
    rgmi_server_drop_visitor(server, at);
    pthread_cond_broadcast(&server->for_workers);
    pthread_cond_broadcast(&server->for_run); /* which at the end waits for all that are there */
    return RGM_OK;
}

static bool has_ended(const rgmi_visitor *v)
{
    return v->is_here && kill((pid_t)v->pid, 0) != 0 && errno == ESRCH;
}

/* Seconds that a worker which lives may have a turn. */
static double turn_bound(const rgm_async_server *server)
{
    double bound = server->options.turn_timeout > 0 ? server->options.turn_timeout
                                                    : FORGIVEN * server->options.timeout;

    return bound > 2 * server->longest ? bound : 2 * server->longest;
}

/* A sign of life is another thread's: the one that computes may wait for ever, for a disk or a
 * lock. What it hands in after all is too late for this turn, and it gets another. */
static rgm_status look_at_turn(rgm_async_server *server, rgmi_visitor *v)
{
    double since = rgm_now() - v->worked;

    if (v->hangs || since <= turn_bound(server))
        return RGM_OK;
    v->hangs = true;
    rgm_log_write(RGM_LOG_WARNING,
                  "worker %lld on %s (process %lld) lives, but has done nothing for %.0f s: its "
                  "batch is another's",
                  (long long)v->id, v->host, (long long)v->pid, since);
    RGM_TRY(rgmi_ledger_forget(&server->ledger, v->id));
    pthread_cond_broadcast(&server->for_workers);
    return RGM_OK;
}

bool rgmi_server_has_workers(const rgm_async_server *server)
{
    for (int64_t i = 0; i < server->visitor_count; i++)
        if (!server->visitors[i].hangs)
            return true;
    return false;
}

rgm_status rgmi_server_forget_lost(rgm_async_server *server)
{
    server->looked = rgm_now();
    for (int64_t i = server->visitor_count - 1; i >= 0; i--) {
        rgmi_visitor *v = &server->visitors[i];
        bool ended = has_ended(v);

        if (!ended && rgm_now() - v->seen <= server->options.timeout) {
            RGM_TRY(look_at_turn(server, v));
            continue;
        }
        if (ended)
            rgm_log_write(RGM_LOG_WARNING,
                          "worker %lld on %s (process %lld) has ended without a word: its batch is "
                          "another's",
                          (long long)v->id, v->host, (long long)v->pid);
        else
            rgm_log_write(RGM_LOG_WARNING,
                          "worker %lld on %s (process %lld) has been silent for %g s: its batch is "
                          "another's",
                          (long long)v->id, v->host, (long long)v->pid, server->options.timeout);
        RGM_TRY(forget(server, i));
    }
    return RGM_OK;
}

void rgm_async_server_forget(rgm_async_server *server, int64_t pid)
{
    pthread_mutex_lock(&server->lock);
    for (int64_t i = server->visitor_count - 1; i >= 0; i--)
        if (server->visitors[i].pid == pid && server->visitors[i].is_here)
            (void)forget(server, i); /* else its silence tells */
    pthread_mutex_unlock(&server->lock);
    rgm_error_reset();
}

void rgm_async_server_give_up(rgm_async_server *server, const char *why)
{
    pthread_mutex_lock(&server->lock);
    if (!server->gave_up)
        (void)rgm_strdup(&server->why, why); /* else without a reason */
    server->gave_up = true;
    pthread_cond_broadcast(&server->for_run);
    pthread_mutex_unlock(&server->lock);
    rgm_error_reset();
}

void rgmi_server_look_for_workers(rgm_async_server *server)
{
    double alone;

    if (rgmi_server_has_workers(server))
        server->alone_since = rgm_now();
    alone = rgm_now() - server->alone_since;
    if (rgmi_server_has_workers(server) || server->abandoned)
        return;
    if (server->gave_up || alone > FORGIVEN * server->options.timeout) {
        server->abandoned = true;
        if (server->gave_up)
            rgm_log_write(RGM_LOG_WARNING, "the run stops: %s",
                          server->why != NULL ? server->why : "no worker comes any more");
        else
            rgm_log_write(RGM_LOG_WARNING, "the run stops: no worker has been there for %.0f s",
                          alone);
        return;
    }
    if (rgm_now() - server->told_alone < LONGEST_S ||
        alone < (server->told_alone > 0 ? LONGEST_S : 1))
        return;
    server->told_alone = rgm_now();
    rgm_log_write(RGM_LOG_INFO, "no worker is there: regimen run FILE --join %s", server->folder);
}
