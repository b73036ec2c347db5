/*
 * A process' signs of life: while it works, the master hears of it between two workloads too.
 */
#ifndef RGM_TRIAL_ALIVE_H
#define RGM_TRIAL_ALIVE_H

#include <regimen/trial_worker.h>

typedef struct rgmi_alive rgmi_alive;
/** Whose they are. Borrowed until rgmi_alive_stop(). */
typedef struct rgmi_life {
    const char *folder, *token; /* the master's folder, and the run's token */
    int64_t trial;
    double silent_seconds;
    const rgm_worker *worker; /* its is_alive() */
} rgmi_life;

/**
 * Tell the master of `folder` several times in `silent_seconds` that this process is at work, from
 * a thread of its own. It is where it, or a program that it has started and that has ended, has
 * used a thousandth of a processor since the last look, or where its worker says so: one that waits
 * for what never comes uses nothing, and is heard of no more.
 *
 * Errors: RGM_ERR_NOMEM, RGM_ERR_IO (no thread).
 */
rgm_status rgmi_alive_start(rgmi_alive **out, const rgmi_life *life);
/** NULL does nothing. */
void rgmi_alive_stop(rgmi_alive *alive);

#endif
