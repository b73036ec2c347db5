/*
 * Which checkpoints of an experiment go: all but the best of the experiment, the best and the
 * latest of each trial, and those that somebody needs. A pure function; who removes them asks it
 * again after a failure, and gets what is still to be done. What it lets go while a search is at
 * work, it lets go at the end too: one that is among the best no more is never among them again.
 */
#ifndef RGM_MASTER_GARBAGE_H
#define RGM_MASTER_GARBAGE_H

#include <regimen/base.h>

/** How many are kept, each 0 or more (checkpoint_storage's save_*). */
typedef struct rgmi_keeping {
    int64_t experiment_best, trial_best, trial_latest;
    bool smaller_is_better;
} rgmi_keeping;

/** One that is whole. */
typedef struct rgmi_kept_checkpoint {
    int64_t id, trial, step;
    double metric;  /* of the searcher; NaN: not validated; what is not finite is never the best */
    bool is_needed; /* a trial was warm-started from it                                       */
    int64_t newest; /* so many of the newest of its trial are needed: it may go back to them, or
                       another begin with them                                                */
} rgmi_kept_checkpoint;

/** Why one is kept; 0: it goes. */
enum {
    RGMI_KEPT_EXPERIMENT_BEST = 1,
    RGMI_KEPT_TRIAL_BEST = 2,
    RGMI_KEPT_TRIAL_LATEST = 4,
    RGMI_KEPT_NEEDED = 8
};

/**
 * @param why          [out] [count] sum of RGMI_KEPT_..., 0: it goes
 * @param checkpoints  [in] [count] all of one experiment that are whole, in any order
 *
 * Errors: RGM_ERR_ARG (a counter below 0), RGM_ERR_NOMEM.   Cost: O(n log n).
 */
rgm_status rgmi_garbage(unsigned *why, const rgmi_keeping *keeping,
                        const rgmi_kept_checkpoint *checkpoints, int64_t count);

#endif
