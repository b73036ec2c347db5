/*
 * controller_progress: the line that shows a person how far a run has come.
 */
#ifndef REGIMEN_CONTROLLER_PROGRESS_H
#define REGIMEN_CONTROLLER_PROGRESS_H

#include <regimen/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- progress ------------------------------------------------------------------------------ */

/**
 * Shows a person the progress of a run: on a terminal one live line, redrawn in place; elsewhere a
 * plain line every `interval` seconds, without control characters. It writes only through a
 * callback.
 */
typedef struct rgm_progress rgm_progress;
typedef void rgm_progress_write(const char *text, int64_t size, void *payload);

typedef struct rgm_progress_options {
    rgm_progress_write *write;
    void *payload;
    bool live; /* redraw one line with carriage returns                                   */
    bool color;
    int columns;      /* width of the live line; 0: 80                                           */
    double interval;  /* seconds between lines; < 0: 0.1 live, 10 otherwise                       */
    const char *unit; /* "step" or "epoch"; NULL: "step"                                         */
    double (*clock)(void); /* seconds, monotonic; NULL: rgm_now                                 */
} rgm_progress_options;
/**
 * Options for a descriptor: live on a terminal whose TERM is set and not "dumb"; columns from
 * COLUMNS or the terminal; color unless NO_COLOR. The caller sets write and payload.
 */
rgm_progress_options rgm_progress_options_for(int fd);

/** The state to show. Strings are copied. */
typedef struct rgm_progress_state {
    int64_t done, total; /* units; total 0: unknown                          */
    double loss;         /* NaN: not shown                                   */
    const char *metric;  /* "valid accuracy"; NULL: none                     */
    double value;
    int64_t checkpoint;  /* unit of the last checkpoint; < 0: none           */
    double epsilon;      /* spent by private training; 0: not shown */
    const char *items;   /* "target tokens": the rate is shown in them; NULL: in units */
    double items_a_unit; /* mean; 0: not known yet                           */
} rgm_progress_state;

/** Create a progress line with these options. RGM_ERR_NOMEM. */
rgm_status rgm_progress_create(rgm_progress **out, const rgm_progress_options *options);
/** End the live line and release. */
void rgm_progress_release(rgm_progress *progress);
/** Cheap when it is not yet time to draw: one clock reading. */
void rgm_progress_update(rgm_progress *progress, const rgm_progress_state *state);
/** Write a whole line above the live one; control characters are escaped. */
void rgm_progress_note(rgm_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Draw the last state now and end the line. A later update begins a new one. */
void rgm_progress_finish(rgm_progress *progress);
/** Units per second, smoothed; 0 at the beginning. */
double rgm_progress_rate(const rgm_progress *progress);

#ifdef __cplusplus
}
#endif
#endif
