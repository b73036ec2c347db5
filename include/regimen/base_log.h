/*
 * base: logs with sinks of their own, and the clock.
 */
#ifndef REGIMEN_BASE_LOG_H
#define REGIMEN_BASE_LOG_H

#include <regimen/base_status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RGM_LOG_ERROR, RGM_LOG_WARNING, RGM_LOG_INFO, RGM_LOG_DEBUG };
/** Where messages go, one call at a time, from any thread. */
typedef void rgm_log_sink(int level, const char *message, void *payload);
/**
 * A log with its own sinks. Each run has one, so that two runs of one process do not write into
 * each other's files. NULL means the log of the process; its sinks get what every thread writes.
 */
typedef struct rgm_logger rgm_logger;
/** Create a log without sinks. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_logger_create(rgm_logger **out);
rgm_logger *rgm_logger_retain(rgm_logger *log);
void rgm_logger_release(rgm_logger *log);
/** When rgm_logger_remove_sink() returns, no call of that sink is still running. RGM_ERR_ARG: more
 * than 32 sinks. */
rgm_status rgm_logger_add_sink(rgm_logger *log, rgm_log_sink *sink, void *payload);
void rgm_logger_remove_sink(rgm_logger *log, rgm_log_sink *sink, void *payload);
/**
 * From now on this thread writes to `log`. Returns the log it wrote to before; enter that one to
 * switch back. Work that is handed to other threads (a pool, a pipeline) keeps the log of the
 * thread that hands it over.
 */
rgm_logger *rgm_logger_enter(rgm_logger *log);
rgm_logger *rgm_logger_current(void);
/** Write to the sinks of this thread's log and of the process; without sinks the message is lost. A
 * message may have any length. */
void rgm_log_write(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Write to the sinks of `log` alone, what the process was told before that log began. */
void rgm_logger_tell(rgm_logger *log, int level, const char *message);
/** Log each line of a text at RGM_LOG_INFO, after `prefix`; a text that is NULL logs nothing. */
void rgm_log_lines(const char *prefix, const char *text);

/** Warnings of this thread, and of the threads that work for it, from before a run has its log; the
 * first 100. Zero-initialised there are none. */
typedef struct rgm_log_notes {
    rgm_logger *log; /* while they are collected */
    char **texts;
    int64_t count, capacity;
} rgm_log_notes;
/** Begin to collect; sinks of the process get the messages as well. Nothing is collected while the
 * thread writes to a log of its own. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_log_notes_begin(rgm_log_notes *notes);
/** No longer collect. Errors: it returns `status`, that of the work meanwhile, and has none of its
 * own. */
rgm_status rgm_log_notes_end(rgm_log_notes *notes, rgm_status status);
/** Write them to the sinks of `log` alone. */
void rgm_log_notes_tell(const rgm_log_notes *notes, rgm_logger *log);
void rgm_log_notes_clear(rgm_log_notes *notes);

double rgm_now(void);       /* seconds, monotonic            */
double rgm_wall_time(void); /* seconds since 1970, wall clock */

#ifdef __cplusplus
}
#endif
#endif
