/*
 * A process' signs of life: while it works, the master hears of it between two workloads too.
 */
#ifndef RGM_TRIAL_ALIVE_H
#define RGM_TRIAL_ALIVE_H

#include <regimen/base.h>

typedef struct rgmi_alive rgmi_alive;

/**
 * Tell the master of `folder` several times in `silent_seconds` that this process is at work, from
 * a thread of its own. It is where it, or a program that it has started and that has ended, has
 * used a thousandth of a processor since the last look: one that waits for what never comes uses
 * nothing, and is heard of no more.
 *
 * @param folder, token  [in] borrowed until rgmi_alive_stop()
 *
 * Errors: RGM_ERR_NOMEM, RGM_ERR_IO (no thread).
 */
rgm_status rgmi_alive_start(rgmi_alive **out, const char *folder, const char *token, int64_t trial,
                            double silent_seconds);
/** NULL does nothing. */
void rgmi_alive_stop(rgmi_alive *alive);

#endif
