/*
 * train_driver: functions for a driver of a trainer, such as the controller, beside training and
 * evaluating. Nothing here knows a run folder, a clock or a signal. Only the thread that trains may
 * call them.
 */
#ifndef REGIMEN_TRAIN_DRIVER_H
#define REGIMEN_TRAIN_DRIVER_H

#include <regimen/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- lengths ------------------------------------------------------------------------------- */

/** Steps of an epoch with these options; 0: known only after training. */
int64_t rgm_trainer_epoch_steps(const rgm_trainer *trainer, const rgm_trainer_options *options);
/** Steps of a whole run with these options; 0: known only after training. */
int64_t rgm_trainer_run_length(const rgm_trainer *trainer, const rgm_trainer_options *options);
/** Batches of a mode's own data; -1: known only by reading, INT64_MAX: endless, 0: there are no
 * data. */
int64_t rgm_trainer_batches(const rgm_trainer *trainer, rgm_mode mode);
/** The same of one of the task's eval_sets. */
int64_t rgm_trainer_set_batches(const rgm_trainer *trainer, int64_t set);
/**
 * A hash of how all data are put together: the steps of every dataset with their options and the
 * names of files, not what is in them. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_hash_recipes(uint64_t *out, const rgm_trainer *trainer);
/** The same of a mode's own data. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_trainer_hash_recipe(uint64_t *out, const rgm_trainer *trainer, rgm_mode mode);
/** Updates of the whole run, for schedules of that length; 0: not known. */
int64_t rgm_trainer_total_updates(const rgm_trainer *trainer);

/* ---- decisions ------------------------------------------------------------------------------- */

/** The bits (rgm_decision) that any of the processes training together has seen, given those of
 * this one: rgm_trainer_hooks.decide, or `seen` if this process is alone. Collective. */
unsigned rgm_trainer_decide(const rgm_trainer *trainer, unsigned seen);

/* ---- a step or a loop that failed ------------------------------------------------------------ */

/** Whether an update has overflowed, so that training can continue only from another state. */
bool rgm_trainer_is_spoiled(const rgm_trainer *trainer);
/** Count a failed step as done, without its update. */
void rgm_trainer_skip_step(rgm_trainer *trainer);
/** Drop a failed loop or pass as if it had not begun. */
void rgm_trainer_drop_loop(rgm_trainer *trainer);
/**
 * Like rgm_trainer_restore_state(), but the data position and the privacy spent are not restored:
 * they continue. Errors: those of rgm_trainer_restore_state().
 */
rgm_status rgm_trainer_roll_back(rgm_trainer *trainer, const rgm_checkpoint *checkpoint);
/**
 * Go back to the seed's weights and to step 0; the data continue.
 * Errors: those of rgm_trainer_initialize_weights().
 */
rgm_status rgm_trainer_reset(rgm_trainer *trainer);
/** RGM_ERR_NUMERIC "weight 'x' is not finite at step 3: it is not <what>". */
rgm_status rgm_trainer_check_weights(const rgm_trainer *trainer, const char *what);

/* ---- other data than before ------------------------------------------------------------------ */

/** From the next rgm_trainer_restore_state() on, data positions that were saved for other data,
 * such as batches of another size, are no error: these data begin a new pass, and the log says so.
 */
void rgm_trainer_accept_other_data(rgm_trainer *trainer);

/* ---- averaged weights ------------------------------------------------------------------------ */

/** Tell that weights were loaded from elsewhere: their averages start again from them. */
void rgm_trainer_reset_averages(rgm_trainer *trainer);
/** Make the averages, if the optimizer keeps them, the weights. Errors: RGM_ERR_SHAPE. */
rgm_status rgm_trainer_place_averages(rgm_trainer *trainer);
/**
 * Do `work` with the weights that an evaluation would use: while it runs, the averages, if the
 * optimizer keeps them, are the parameters.
 * Errors: those of `work`; RGM_ERR_SHAPE.
 */
rgm_status rgm_trainer_with_averages(rgm_trainer *trainer, rgm_status (*work)(void *payload),
                                     void *payload);

/* ---- what it was made of and where it stands, borrowed --------------------------------------- */

/** The setup's communicator, or rgm_comm_self(). */
rgm_comm *rgm_trainer_comm(const rgm_trainer *trainer);
/** The setup's options, or their defaults. */
const rgm_runtime_options *rgm_trainer_runtime(const rgm_trainer *trainer);
/** The setup's optimizer options; zeros if it had none. */
const rgm_optimizer_options *rgm_trainer_optimizer_options(const rgm_trainer *trainer);
/** The setup's hooks; members that it left out are NULL. */
const rgm_trainer_hooks *rgm_trainer_hooks_of(const rgm_trainer *trainer);
/** Whether the data of a mode are not opened (rgm_trainer_setup.no_data). */
bool rgm_trainer_leaves_data(const rgm_trainer *trainer, rgm_mode mode);
/** Whether a checkpoint's slots are read: where the setup is only_asked, there is no optimizer and
 * no hook restores a state, only for averages of weights, whose optimizer then is missing. */
bool rgm_trainer_reads_slots(const rgm_trainer *trainer);
/** The executor of the training steps (RGM_TRAIN), or of a pass' batches; NULL: not created. */
rgm_executor *rgm_trainer_executor(const rgm_trainer *trainer, rgm_mode mode);
/**
 * The last update's gradient of parameter i, before clipping, as a tensor of the host.
 * @param out  [out, owned] NULL: it is not trained, or there is none any more
 * Errors: RGM_ERR_NOMEM, RGM_ERR_IO (the device is lost).
 */
rgm_status rgm_trainer_last_gradient(rgm_tensor **out, const rgm_trainer *trainer, int64_t i);
double rgm_trainer_loop_items(const rgm_trainer *trainer); /* so far in the current loop          */
double rgm_trainer_loop_flops(const rgm_trainer *trainer); /* the same, floating-point operations */
int64_t rgm_trainer_eval_steps(const rgm_trainer *trainer); /* batches of the last pass */
/** The factor on the loss (1 without a loss scale); *good_steps: steps since it last changed. */
double rgm_trainer_loss_scale(int64_t *good_steps, const rgm_trainer *trainer);
/** Predictions of a head counted by label in the last pass over a mode's own data (set -1) or over
 * an eval set: [classes, classes], classes = rgm_head.confusion; NULL: not counted. */
const int64_t *rgm_trainer_confusion(const rgm_trainer *trainer, rgm_mode mode, int64_t set,
                                     int64_t head);
/** The scores that the same pass kept for curves of a head (rgm_head.curves), or the ranks of links
 * (rgm_head.ranks_links), in the order of the pass; valid until the next one. NULL: none are kept.
 * Every rank has all of them. */
const rgm_metric_scores *rgm_trainer_scores(const rgm_trainer *trainer, rgm_mode mode, int64_t set,
                                            int64_t head, bool ranks);

/* ---- descriptions ---------------------------------------------------------------------------- */

/** From the next step on, describe each batch's tables in `text`, replacing its content; NULL:
 * stop. Borrowed. */
void rgm_trainer_describe_batches(rgm_trainer *trainer, rgm_text *text);
/**
 * Append model.json: the model's ops, layers and outputs.
 *
 * @param batch  [in] what rgm_trainer_describe_batches() said of the last batch trained on; NULL:
 * there was none, and operations are left out
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_describe_model(rgm_text *out, const rgm_trainer *trainer, const char *batch);
/** With trainer.flops: append parameters and operations by layer of the last run, one line each.
 * Errors: RGM_ERR_NOMEM. */
rgm_status rgm_trainer_describe_layers(rgm_text *out, const rgm_trainer *trainer);

/* ---- the profile (trainer.profile) ----------------------------------------------------------- */

/** The time now while a profile records; else 0, which as `begin` below does nothing. */
double rgm_trainer_profile_now(const rgm_trainer *trainer);
/** Record that work outside the steps, such as "checkpoint", ends; of: which one, for the trace, or
 * NULL. */
void rgm_trainer_profile_beside(const rgm_trainer *trainer, const char *name, const char *of,
                                double begin);
/** Whether something was recorded since _profile_written(); whether all steps are recorded. */
bool rgm_trainer_profile_is_new(const rgm_trainer *trainer);
bool rgm_trainer_profile_is_full(const rgm_trainer *trainer);
/** Tell that everything recorded so far is written. */
void rgm_trainer_profile_written(const rgm_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif
