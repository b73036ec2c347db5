/*
 * train_apart: a training step whose two halves are made in two processes. A server's trainer keeps
 * weights, optimizer, counters and checkpoints; workers' trainers compute the gradients of batches
 * with weights that they get from it. What travels and when is the business of whoever sets the
 * hooks (the layer async); here is what a trainer lets them do.
 *
 *     a worker's trainer                            the server's trainer
 *     rgm_trainer_go_to()          the batch        hooks.train_step()      waits for a half, and
 *     rgm_trainer_train_step()                      rgm_trainer_apply_apart()  makes the update
 *       hooks.before_run()         the weights
 *       hooks.update()             the gradients
 *     rgm_trainer_take_sums()      the metrics
 */
#ifndef REGIMEN_TRAIN_APART_H
#define REGIMEN_TRAIN_APART_H

#include <regimen/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Whether the steps of this trainer can be made in two halves.
 * Errors: RGM_ERR_CONFIG (private training, shards, a task's own train_step, a dynamic loss scale,
 * a device, a profile; the message says which and what to set).
 */
rgm_status rgm_trainer_check_apart(const rgm_trainer *trainer);

/** The batches of one update. */
int64_t rgm_trainer_turn_batches(const rgm_trainer *trainer);

/* ---- a worker's half ------------------------------------------------------------------------- */

/** A place in the training data: the batches of the update that is to come. */
typedef struct rgm_data_place {
    int64_t pass;          /* over the data, from 0; 0 for data that never end        */
    int64_t batch;         /* of the pass, from 0                                     */
    int64_t step;          /* number under which dropout and negatives are drawn      */
    const void *position;  /* rgm_trainer_position() of an earlier place of that pass */
    int64_t position_size; /* 0: none is known                                       */
} rgm_data_place;
/**
 * Let the next step read from that place on: from `position` if there is one, else from where the
 * trainer is, or from the beginning of the pass if that is behind it; what lies between is read and
 * dropped. The sums of metrics begin at 0.
 *
 * Errors: RGM_END (the pass has not as many batches; rgm_trainer_reached() tells how many), those
 * of the data.
 */
rgm_status rgm_trainer_go_to(rgm_trainer *trainer, const rgm_data_place *place);
/** Batches of the current pass that were read, or of the last one where it has ended. */
int64_t rgm_trainer_reached(const rgm_trainer *trainer);
/** Append the position behind the last batch that was read, for other trainers of the same data.
 * Errors: RGM_ERR_NOMEM. */
rgm_status rgm_trainer_position(rgm_text *out, const rgm_trainer *trainer);
/** Append the sums of the metrics since rgm_trainer_go_to(). Errors: RGM_ERR_NOMEM. */
rgm_status rgm_trainer_take_sums(rgm_text *out, const rgm_trainer *trainer);

/* ---- the server's half ----------------------------------------------------------------------- */

/** What a worker has made of a batch; borrowed for the call. */
typedef struct rgm_half_step {
    rgm_tensor *const *gradients; /* [parameters] of their shapes, the host's; NULL: not trained */
    rgm_str sums;                 /* rgm_trainer_take_sums()                                     */
    double loss;
} rgm_half_step;
/**
 * Make the update of a half step and add its metrics to the loop's: for hooks.train_step.
 *
 * Errors: RGM_ERR_NUMERIC (loss or gradient; nothing is then changed), RGM_ERR_DATA (sums of other
 * metrics), those of rgm_optimizer_step().
 */
rgm_status rgm_trainer_apply_apart(rgm_step *step, const rgm_half_step *half);

#ifdef __cplusplus
}
#endif
#endif
