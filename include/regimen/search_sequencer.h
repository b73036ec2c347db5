/*
 * search: the sequencer. A searcher asks for lengths; a trial does workloads, one after the other:
 * train a step, validate, write a checkpoint. A trial's sequencer turns lengths into workloads, and
 * knows what a failure undoes.
 *
 *     rgm_sequencer_train(sequencer, 400);                     the searcher asks for 400 batches
 *     while (rgm_sequencer_next(&workload, sequencer)) {
 *         ...                                                  the trial does the workload
 *         rgm_sequencer_completed(&asked, sequencer, &workload, is_best);
 *     }
 */
#ifndef REGIMEN_SEARCH_SEQUENCER_H
#define REGIMEN_SEARCH_SEQUENCER_H

#include <regimen/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** After which validations a checkpoint is made unasked. */
typedef enum rgm_checkpoint_policy {
    RGM_POLICY_BEST, /* those that are the best of the whole search so far */
    RGM_POLICY_ALL,
    RGM_POLICY_NONE
} rgm_checkpoint_policy;

typedef enum rgm_workload_kind {
    RGM_RUN_STEP,
    RGM_COMPUTE_VALIDATION_METRICS,
    RGM_CHECKPOINT_MODEL,
    RGM_TERMINATE /* never asked for by a sequencer: for protocols of who drives trials */
} rgm_workload_kind;
extern const char *const rgm_workload_names[]; /* "RUN_STEP", ..., ended by NULL */

/** One piece of work on a trial. */
typedef struct rgm_workload {
    rgm_workload_kind kind;
    int64_t step;    /* RUN_STEP: the number that it has, from 1; others: of the step done last; 0:
                        before the first */
    int64_t batches; /* trained in all when it is done, warm start not counted                    */
} rgm_workload;

typedef struct rgm_sequencer_options {
    int64_t batches_per_step;                     /* >= 1 */
    int64_t validation_period, checkpoint_period; /* batches; 0: none */
    bool initial_validation;                      /* validate before the first step */
    rgm_checkpoint_policy policy;
} rgm_sequencer_options;

/**
 * What a trial does next: a pure state machine without clock or I/O. A step is batches_per_step
 * batches, or fewer where a requested length or a period ends it. It keeps its number when it is
 * run again. Lengths are the batches in all since the trial's beginning.
 */
typedef struct rgm_sequencer rgm_sequencer;
/** Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_sequencer_create(rgm_sequencer **out, const rgm_sequencer_options *options);
void rgm_sequencer_release(rgm_sequencer *sequencer);

/**
 * Ask, on the searcher's behalf, for training until `batches` are done in all, for a validation at
 * that many batches, for a checkpoint at that many.
 *
 * @param done  [out] it has been done already, unasked: tell the searcher the result, since the
 *                    trial will not be asked for it again; NULL: not wanted
 *
 * Errors: RGM_ERR_ARG (the length to train is no longer than was asked before; the point to
 * validate or save at has passed, is in the middle of the step under way, or is beyond the training
 * that was asked for); nothing is then changed. RGM_ERR_NOMEM.
 */
rgm_status rgm_sequencer_train(rgm_sequencer *sequencer, int64_t batches);
rgm_status rgm_sequencer_validate(bool *done, rgm_sequencer *sequencer, int64_t batches);
rgm_status rgm_sequencer_checkpoint(bool *done, rgm_sequencer *sequencer, int64_t batches);

/** The workload to do now; the same until it is completed. false: the trial is up to date. */
bool rgm_sequencer_next(rgm_workload *out, rgm_sequencer *sequencer);
/** All that was asked for is done: the trial waits for the searcher. */
bool rgm_sequencer_is_up_to_date(const rgm_sequencer *sequencer);
/** The checkpoint to make before the trial stops for a while or for good; false: none is needed.
 * One that was made before a validation of the same step is made again, so that it knows of it. */
bool rgm_sequencer_preclose(rgm_workload *out, const rgm_sequencer *sequencer);
/**
 * Tell the sequencer that a workload is done. A checkpoint may be of any step that was done,
 * asked for or not.
 *
 * @param asked    [out] the searcher asked for it and has not been told: tell it now. For a step:
 *                       whether a requested length ends with it. May be NULL.
 * @param is_best  [in] of a validation: it is better than every earlier one of the search (a tie is
 *                      not); the policy `best` needs this
 *
 * Errors: RGM_ERR_ARG (it is not what was to be done; nothing is changed), RGM_ERR_NOMEM.
 */
rgm_status rgm_sequencer_completed(bool *asked, rgm_sequencer *sequencer,
                                   const rgm_workload *workload, bool is_best);
/**
 * Tell the sequencer that a step is done which ended where the trial says, not where it was planned
 * to: of a program, which counts for itself.
 *
 * @param asked    [out] as rgm_sequencer_completed() has it
 * @param batches  [in] trained in all; above rgm_sequencer_batches(), at most rgm_sequencer_reach()
 *
 * Errors: RGM_ERR_ARG (no step is to be done, or it ends elsewhere; nothing is changed),
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_sequencer_trained(bool *asked, rgm_sequencer *sequencer, int64_t batches);
/** How far the trial may train before anything else is due, however long steps are; where nothing
 * is to be trained, where it stands. */
int64_t rgm_sequencer_reach(const rgm_sequencer *sequencer);
/**
 * The trial failed, or was opened again: go back to its newest checkpoint of at most `most` batches
 * (INT64_MAX: of all), or to 0 if there is none. What was asked for stays asked. What the searcher
 * was told stays told: it is done again, and the searcher is not told again. So is a validation
 * that came behind the checkpoint. Returns where the trial now stands.
 */
rgm_workload rgm_sequencer_rollback(rgm_sequencer *sequencer, int64_t most);
/**
 * The trial ends where it is: the step that is under way is its last one, is validated, and what
 * was asked for behind it is forgotten. The searcher is told of nothing that was asked for before.
 *
 * @param end         [out] how far it comes, in batches; 0: it has done nothing and does nothing
 * @param is_running  [in] somebody may be at its next workload
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_sequencer_end(int64_t *end, rgm_sequencer *sequencer, bool is_running);
/** Where the trial stands: steps and batches done. */
int64_t rgm_sequencer_steps(const rgm_sequencer *sequencer);
int64_t rgm_sequencer_batches(const rgm_sequencer *sequencer);
/** How far it was asked to train. */
int64_t rgm_sequencer_target(const rgm_sequencer *sequencer);

/** Append everything as one line of JSON. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_sequencer_save(rgm_text *out, const rgm_sequencer *sequencer);
/**
 * Make a sequencer that goes on as the saved one would have. Errors: RGM_ERR_FORMAT, RGM_ERR_NOMEM.
 */
rgm_status rgm_sequencer_restore(rgm_sequencer **out, const char *text, int64_t size);

#ifdef __cplusplus
}
#endif
#endif
