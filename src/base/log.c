/*
 * The log sink and the clocks. Calls of the sink are serialised, so that a sink needs no lock and
 * none runs after rgm_log_set_sink() has returned.
 */
#include "base_internal.h"

#include <pthread.h>
#include <time.h>

static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static rgm_log_sink *current_sink;
static void *current_payload;
static _Thread_local bool inside_sink; /* what a sink itself logs is dropped, not a deadlock */

void rgm_log_set_sink(rgm_log_sink *sink, void *payload)
{
    pthread_mutex_lock(&sink_lock);
    current_sink = sink;
    current_payload = payload;
    pthread_mutex_unlock(&sink_lock);
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
    pthread_mutex_lock(&sink_lock);
    if (current_sink != NULL) {
        inside_sink = true;
        current_sink(level, message, current_payload);
        inside_sink = false;
    }
    pthread_mutex_unlock(&sink_lock);
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
