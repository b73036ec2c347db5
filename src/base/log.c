/*
 * Logs and the clocks. Every message goes to the sinks of the log that its thread works for and to
 * those of the process. Calls of a log's sinks are serialised, so that a sink needs no lock and
 * none runs after rgm_logger_remove_sink() has returned.
 */
#include "base_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define MAX_SINKS 32

typedef struct log_sink {
    rgm_log_sink *sink;
    void *payload;
} log_sink;

struct rgm_logger {
    pthread_mutex_t lock;
    log_sink sinks[MAX_SINKS];
    int count;
    atomic_int references;
};

static rgm_logger process_log = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local rgm_logger *current; /* NULL: the process' alone */
static _Thread_local bool inside_sink;    /* what a sink itself logs is dropped, not a deadlock */

rgm_status rgm_logger_create(rgm_logger **out)
{
    RGM_TRY(RGM_NEW(*out, 1));
    pthread_mutex_init(&(*out)->lock, NULL);
    atomic_init(&(*out)->references, 1);
    return RGM_OK;
}

rgm_logger *rgm_logger_retain(rgm_logger *log)
{
    if (log != NULL)
        atomic_fetch_add(&log->references, 1);
    return log;
}

void rgm_logger_release(rgm_logger *log)
{
    if (log == NULL || atomic_fetch_sub(&log->references, 1) > 1)
        return;
    pthread_mutex_destroy(&log->lock);
    rgm_free(log);
}

rgm_logger *rgm_logger_enter(rgm_logger *log)
{
    rgm_logger *before = current;

    current = log;
    return before;
}

rgm_logger *rgm_logger_current(void)
{
    return current;
}

rgm_status rgm_logger_add_sink(rgm_logger *log, rgm_log_sink *sink, void *payload)
{
    rgm_logger *to = log != NULL ? log : &process_log;
    bool full;

    pthread_mutex_lock(&to->lock);
    full = to->count == MAX_SINKS;
    if (!full)
        to->sinks[to->count++] = (log_sink){sink, payload};
    pthread_mutex_unlock(&to->lock);
    return full ? RGM_FAIL(RGM_ERR_ARG, "more than %d receivers of the log", MAX_SINKS) : RGM_OK;
}

void rgm_logger_remove_sink(rgm_logger *log, rgm_log_sink *sink, void *payload)
{
    rgm_logger *from = log != NULL ? log : &process_log;

    pthread_mutex_lock(&from->lock);
    for (int i = 0; i < from->count; i++)
        if (from->sinks[i].sink == sink && from->sinks[i].payload == payload) {
            from->sinks[i] = from->sinks[--from->count];
            break;
        }
    pthread_mutex_unlock(&from->lock);
}

static void call_sinks(rgm_logger *log, int level, const char *message)
{
    pthread_mutex_lock(&log->lock);
    inside_sink = true;
    for (int i = 0; i < log->count; i++)
        log->sinks[i].sink(level, message, log->sinks[i].payload);
    inside_sink = false;
    pthread_mutex_unlock(&log->lock);
}

#define ROOM 2048 /* for a message without memory of its own */

/* What does not fit, for want of memory, is cut visibly. */
static void mark_cut(char *end)
{
    static const char mark[] = " ... (cut: out of memory)";

    memcpy(end - sizeof mark, mark, sizeof mark);
}

void rgm_log_write(int level, const char *format, ...)
{
    char room[ROOM], *message = room;
    va_list args, again;
    int size;

    if (inside_sink)
        return;
    va_start(args, format);
    va_copy(again, args);
    size = rgmi_vformat(room, sizeof room, format, args);
    if (size < 0)
        room[0] = 0;
    if (size >= ROOM && (message = rgm_malloc((size_t)size + 1)) != NULL)
        rgmi_vformat(message, (size_t)size + 1, format, again);
    if (message == NULL) {
        message = room;
        mark_cut(room + sizeof room);
    }
    va_end(again);
    va_end(args);
    call_sinks(&process_log, level, message);
    if (current != NULL)
        call_sinks(current, level, message);
    if (message != room)
        rgm_free(message);
}

void rgm_logger_tell(rgm_logger *log, int level, const char *message)
{
    if (!inside_sink)
        call_sinks(log != NULL ? log : &process_log, level, message);
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

void rgm_log_lines(const char *prefix, const char *text)
{
    for (const char *line = text; line != NULL && *line != '\0';) {
        int size = (int)strcspn(line, "\n");

        rgm_log_write(RGM_LOG_INFO, "%s%.*s", prefix, size, line);
        line += size + (line[size] == '\n');
    }
}
