/*
 * A study in memory: its searcher, and what became of each piece of work. study_events.c
 * changes it, study_file.c keeps it on disk, study.c is what programs call.
 */
#ifndef RGM_SEARCH_STUDY_INTERNAL_H
#define RGM_SEARCH_STUDY_INTERNAL_H

#include <regimen/search_study.h>

#include "search_internal.h"

/* A trial's piece of work. */
typedef enum rgmi_study_place {
    RGMI_PIECE_IDLE, /* nothing is asked of the trial */
    RGMI_PIECE_READY,
    RGMI_PIECE_OUT, /* somebody is at it */
    RGMI_PIECE_STATES
} rgmi_study_place;

typedef struct rgmi_study_trial {
    int64_t from, to; /* trained, and asked to be          */
    int64_t source, seed;
    rgmi_study_place state;
    double since; /* when it was given out, in seconds since 1970                     */
    char *holder; /* the process that goes back on it when it ends; NULL: none is known */
} rgmi_study_trial;

struct rgm_study {
    char *path;    /* NULL: it is in memory alone */
    int fd;        /* of the file that was read; -1: none */
    int64_t base;  /* bytes of its first part, the study as it was when that was written */
    int64_t size;  /* bytes of it that are in memory: the log behind it, too */
    double replay; /* seconds that what the log says has taken */
    double saving; /* ... that the newest first part took to write */
    double synced; /* when a result was synced last; rgm_now() */
    bool is_stale; /* memory is not what the file says: it is read again before it is used */
    char *holder;  /* this process, if it holds what it is given; NULL */
    rgm_search_file *file;
    rgm_searcher *searcher;
    int64_t seed;
    rgmi_study_trial *trials; /* [count] by number - 1 */
    int64_t count, capacity;
    int64_t *closed; /* [closed_count] by the last result */
    int64_t closed_count, closed_capacity;
};

/** What happens to a study: a line of its log. */
typedef enum rgmi_study_event_kind { RGMI_GIVEN, RGMI_TOLD, RGMI_BACK } rgmi_study_event_kind;
typedef struct rgmi_study_event {
    rgmi_study_event_kind kind;
    int64_t trial;
    double at;                  /* given: when                          */
    const char *holder;         /* given: to whom; NULL                  */
    rgm_search_event_kind came; /* told                                  */
    int64_t length;             /* told RGM_ENDED: at which; else the piece's */
    double metrics[RGM_MAX_OBJECTIVES];
} rgmi_study_event;

/* ---- study_events.c
 * -------------------------------------------------------------------------------- */

/** Let it happen, in memory. Errors: RGM_ERR_FORMAT (it cannot, where it stands), those of
 * rgm_searcher_tell(); the study is stale then. */
rgm_status rgmi_study_apply(rgm_study *study, const rgmi_study_event *event);
/** Whether that can come of a trial now: of one that waits for others its end alone. */
bool rgmi_study_may_come(const rgm_study *study, int64_t trial, rgm_search_event_kind came);
/** Whether such a result has metrics. */
bool rgmi_study_has_metrics(rgm_search_event_kind came);
/** Take what the searcher asks for. */
rgm_status rgmi_study_take_all(rgm_study *study);
/** A new one's searcher, which has begun. */
rgm_status rgmi_study_begin(rgm_study *study, const rgm_search_file *file);
/** Free what it says: everything but where it lies, and whose it is. */
void rgmi_study_forget(rgm_study *study);

/* ---- study_file.c --------------------------------------------------------------------------- */

/** Lock the file, and read what others have written since; a new study is begun with `file`. Where
 * that fails, the file is not locked. */
rgm_status rgmi_study_enter(rgm_study *study, const rgm_search_file *file);
/** Unlock it. */
void rgmi_study_leave(rgm_study *study);
/** Let it happen, in memory and on disk, or neither. Between enter and leave. */
rgm_status rgmi_study_commit(rgm_study *study, const rgmi_study_event *event);

#endif
