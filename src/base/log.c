/*
 * The log's sinks and the clocks. Calls of sinks are serialised, so that a sink needs no lock and
 * none runs after rgm_log_remove_sink() has returned.
 */
#include "base_internal.h"

#include <pthread.h>
#include <time.h>

#define MAX_SINKS 32

typedef struct log_sink {
    rgm_log_sink *sink;
    void *payload;
} log_sink;

static pthread_mutex_t sinks_lock = PTHREAD_MUTEX_INITIALIZER;
static log_sink sinks[MAX_SINKS];
static int sink_count;
static _Thread_local bool inside_sink; /* what a sink itself logs is dropped, not a deadlock */

rgm_status rgm_log_add_sink(rgm_log_sink *sink, void *payload)
{
    bool full;

    pthread_mutex_lock(&sinks_lock);
    full = sink_count == MAX_SINKS;
    if (!full)
        sinks[sink_count++] = (log_sink){sink, payload};
    pthread_mutex_unlock(&sinks_lock);
    return full ? RGM_FAIL(RGM_ERR_ARG, "more than %d receivers of the log", MAX_SINKS) : RGM_OK;
}

void rgm_log_remove_sink(rgm_log_sink *sink, void *payload)
{
    pthread_mutex_lock(&sinks_lock);
    for (int i = 0; i < sink_count; i++)
        if (sinks[i].sink == sink && sinks[i].payload == payload) {
            sinks[i] = sinks[--sink_count];
            break;
        }
    pthread_mutex_unlock(&sinks_lock);
}

void rgm_log_write(int level, const char *format, ...)
{
    char message[2048];
    va_list args;

    if (inside_sink)
        return;
    va_start(args, format);
    if (rgmi_vformat(message, sizeof message, format, args) < 0)
        message[0] = 0;
    va_end(args);
    pthread_mutex_lock(&sinks_lock);
    inside_sink = true;
    for (int i = 0; i < sink_count; i++)
        sinks[i].sink(level, message, sinks[i].payload);
    inside_sink = false;
    pthread_mutex_unlock(&sinks_lock);
}

static double read_clock(clockid_t clock)
{
    struct timespec t;

    return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : 0.0;
}

double rgm_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double rgm_wall_time(void)
{
    return read_clock(CLOCK_REALTIME);
}
