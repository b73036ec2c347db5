/*
 * train: one step and one pass. A trainer is a task (train_task.h) with its model, optimizer and
 * data, configured by options (train_options.h):
 *
 *     rgm_trainer_train()       a number of steps as one loop
 *     rgm_trainer_evaluate()    a number of batches of a mode as one pass
 *     rgm_trainer_save_state()  everything that the rest of the run depends on
 *
 * The controller (controller.h) decides how long to train and when to save, stop and recover.
 */
#ifndef REGIMEN_TRAIN_H
#define REGIMEN_TRAIN_H

#include <regimen/comm.h>
#include <regimen/store.h>
#include <regimen/train_options.h>
#include <regimen/train_task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- trainer ------------------------------------------------------------------------------- */

/** A model in training: its compute graph, parameters, optimizer, data and loops. One thread at a
 * time. */
typedef struct rgm_trainer rgm_trainer;

#define RGM_TO_END (-1) /* as a number of steps: until the data end */

/** A loop: `num_steps` steps, or RGM_TO_END. */
typedef rgm_status rgm_loop_fn(rgm_trainer *trainer, int64_t num_steps);

/**
 * What one process sees on its own: a signal, a clock, the loss of its own batch. Processes that
 * train one model together must react to it in the same way, or they wait for each other forever.
 */
typedef enum rgm_decision {
    RGM_DECIDE_STOP = 1,        /* it was asked to stop                                         */
    RGM_DECIDE_OUT_OF_TIME = 2, /* trainer.max_seconds are over                                 */
    RGM_DECIDE_SAVE = 4,        /* a checkpoint is due by time                                  */
    RGM_DECIDE_BAD_STEP = 8,    /* a loss or gradient is not finite, or the loss above its bound */
    RGM_DECIDE_FAILED = 16      /* a step failed for another reason                             */
} rgm_decision;

/** Functions by which a program replaces or extends the trainer's own; all may be NULL. */
typedef struct rgm_trainer_hooks {
    /**
     * For processes that train together: takes the bits (rgm_decision) that this process has seen
     * and returns the bits that any of them has seen. All of them call it at the same points of a
     * run. NULL: this process is alone.
     */
    unsigned (*decide)(unsigned seen, void *payload);
    /** Called first in a loop, before there is an iterator. */
    rgm_status (*train_loop_begin)(rgm_trainer *trainer, void *payload);
    /** The next batch; RGM_END ends the data. NULL: rgm_iterator_next(). */
    rgm_status (*next_train_inputs)(rgm_element **out, rgm_iterator *iterator, void *payload);
    /**
     * Called between backward and update; may change the gradients in place. They are the mean over
     * the update's items, without the loss scale and, with privacy, with noise added; clipping,
     * weight decay and the check for NaN follow. [parameters], NULL for untrained ones. Key random
     * numbers by rgm_trainer_updates(), so that a continued run draws the same ones.
     */
    rgm_status (*gradients)(rgm_tensor *const *gradients, rgm_trainer *trainer, void *payload);
    /**
     * In the place of a whole step, its batch included: see train_apart.h. RGM_END: the pass is
     * over, nothing was done; RGM_STOPPED: nothing was done yet, look at clock and signals and call
     * again.
     */
    rgm_status (*train_step)(rgm_step *step, void *payload);
    /** Called before each run of a batch's forward and backward in training; may set weights (and
     * then calls rgm_parameters_touch()). */
    rgm_status (*before_run)(rgm_trainer *trainer, const rgm_feed *feeds, int64_t count,
                             void *payload);
    /** In the place of the update of weights, by what the hook `gradients` would get. */
    rgm_status (*update)(rgm_tensor *const *gradients, rgm_trainer *trainer, void *payload);
    /** Called last when a trainer's state is saved, and when it is restored. */
    rgm_status (*save_state)(rgm_checkpoint *checkpoint, void *payload);
    rgm_status (*restore_state)(const rgm_checkpoint *checkpoint, void *payload);
    /** Called last when training goes back behind a bad step, whose data go on (trainer.recovery).
     * NULL for the checkpoint: to the beginning. */
    rgm_status (*roll_back_state)(const rgm_checkpoint *checkpoint, void *payload);
    /** Called last in a loop; may add to its logs. */
    rgm_status (*train_loop_end)(rgm_logs *logs, rgm_trainer *trainer, void *payload);
    rgm_status (*eval_begin)(rgm_trainer *trainer, rgm_mode mode, void *payload);
    /** *extra stays on the host; aggregate_logs gets it with the step's outputs (ids, texts). */
    rgm_status (*next_eval_inputs)(rgm_element **out, rgm_element **extra, rgm_iterator *iterator,
                                   void *payload);
    /** Replaces the task's aggregate_logs. */
    rgm_status (*eval_reduce)(void **aggregate, const rgm_step *step, void *payload);
    /** Called after the task's reduce_aggregated_logs; may add to the pass' logs. */
    rgm_status (*eval_end)(rgm_logs *logs, rgm_trainer *trainer, rgm_mode mode, void *payload);
    void *payload;
} rgm_trainer_hooks;

/** Everything a trainer is made from. */
typedef struct rgm_trainer_setup {
    const rgm_task *task;
    const rgm_trainer_options *options;     /* NULL: defaults */
    const rgm_runtime_options *runtime;     /* NULL: defaults */
    const rgm_optimizer_options *optimizer; /* NULL: none; the task's own train_step must update */
    bool no_data[3]; /* by rgm_mode: these data are not opened; without RGM_TRAIN it cannot train */
    bool endless;    /* training data repeat forever; else a pass at a time                 */
    /* It is only asked: a training step is refused, and no optimizer is made, unless it keeps
     * averages of weights, reduce_on_plateau is set or the task makes its own. */
    bool only_asked;
    rgm_dataset *train_dataset, *validation_dataset; /* replace the task's; retained */
    const rgm_trainer_hooks *hooks;                  /* copied; may be NULL */
    /* Which part of the training data this trainer draws when several train together. Its position
     * is kept, and its dropout drawn, under this number. Default 0: a trainer alone. */
    int64_t shard;
    /* Those that train together, each with a part of runtime.shards. Borrowed. NULL: this process
     * alone. */
    rgm_comm *comm;
    const rgm_maker *maker; /* makes the training batches elsewhere; borrowed. NULL: nobody */
} rgm_trainer_setup;

/**
 * Build model, metrics, optimizer and data. The weights are random, drawn with the seed: see
 * rgm_trainer_initialize_weights() and rgm_trainer_restore_state().
 *
 * Errors: of the task's functions; RGM_ERR_CONFIG (a function, data or option is missing or
 * contradicts another; the message names each).
 */
rgm_status rgm_trainer_create(rgm_trainer **out, const rgm_trainer_setup *setup);
void rgm_trainer_release(rgm_trainer *trainer);
/**
 * Set the weights of a run without a checkpoint: options.initialize, then the task's initialize.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_CONFIG, RGM_ERR_FORMAT, RGM_ERR_VERSION,
 * RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_initialize_weights(rgm_trainer *trainer);

/**
 * Train `num_steps` steps as one loop: begin, steps, end. *logs are the means and metrics of this
 * loop only ("loss", metrics, "learning_rate" of the next step), borrowed until the next loop. The
 * iterator persists from call to call; when the data end first, the loop is shorter (see
 * rgm_trainer_at_end()) and the next loop begins the next pass. RGM_TO_END: one pass.
 *
 * Errors: RGM_ERR_NUMERIC (a loss or gradient that is not finite or above its bound: step, op,
 * tensor; the step changed nothing), RGM_ERR_ARG (RGM_TO_END with endless data), those of the task.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_train(rgm_trainer *trainer, int64_t num_steps, const rgm_logs **logs);
/**
 * Evaluate the first `num_steps` batches of a mode, RGM_TO_END for all, with averaged weights when
 * the optimizer keeps them. *logs are borrowed until the next pass of that mode. Data that end
 * early make a shorter pass, not an error.
 *
 * Errors: RGM_ERR_NOT_FOUND (no such data), RGM_ERR_ARG (num_steps is 0 or below -1, or RGM_TO_END
 * with data that never end), those of the task.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_evaluate(rgm_trainer *trainer, rgm_mode mode, int64_t num_steps,
                                const rgm_logs **logs);

/**
 * The same on one of the task's eval_sets; *logs are borrowed until the next pass over that set.
 * Errors: those of rgm_trainer_evaluate(); RGM_ERR_NOT_FOUND: its mode's data are not opened.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_evaluate_set(rgm_trainer *trainer, int64_t set, int64_t num_steps,
                                    const rgm_logs **logs);
/** The task's eval_sets, borrowed (NULL: not wanted); returns their number. */
int64_t rgm_trainer_eval_sets(const rgm_eval_set **sets, const rgm_trainer *trainer);
/** The name of a set in logs and metrics: "valid_news". Borrowed. */
const char *rgm_trainer_eval_set_name(const rgm_trainer *trainer, int64_t set);
/** The numbers of the last pass over a set, borrowed; empty before the first. */
const rgm_logs *rgm_trainer_eval_set_logs(const rgm_trainer *trainer, int64_t set);

/**
 * The parts of rgm_trainer_train() and _evaluate(), for a caller's own loops: begin, steps, end.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND.
 */
rgm_status rgm_trainer_train_loop_begin(rgm_trainer *trainer);
/**
 * One step; RGM_END when the data have ended (nothing was done).
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_DATA, RGM_ERR_NUMERIC,
 * RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_train_step(rgm_trainer *trainer);
rgm_status rgm_trainer_train_loop_end(rgm_trainer *trainer, const rgm_logs **logs);
rgm_status rgm_trainer_eval_begin(rgm_trainer *trainer, rgm_mode mode);
/**
 * One step, aggregated; RGM_END when the data have ended.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_NUMERIC, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_eval_step(rgm_trainer *trainer);
/**
 * End the pass and put the trained weights back, also after a failure; logs may be NULL then.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_trainer_eval_end(rgm_trainer *trainer, const rgm_logs **logs);
/**
 * Add the results so far of another trainer's current pass to this trainer's current pass over the
 * same set: sums of loss and metrics, counts by label, and the task's aggregates
 * (rgm_task.merge_aggregates). Both have the same task. The other pass continues unaffected.
 * Errors: RGM_ERR_ARG (no such pass, another task's, or runtime.shards), RGM_ERR_UNSUPPORTED (the
 * task aggregates what it cannot merge), RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_merge_pass(rgm_trainer *trainer, const rgm_trainer *other);
/** The loops that rgm_trainer_train() and _evaluate() run between begin and end. */
rgm_loop_fn *rgm_trainer_create_train_loop_fn(rgm_trainer *trainer);
rgm_loop_fn *rgm_trainer_create_eval_loop_fn(rgm_trainer *trainer, bool has_state);

/**
 * The default steps, which a task's own step functions may call.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_DATA, RGM_ERR_NUMERIC,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_default_train_step(rgm_step *step);
rgm_status rgm_trainer_default_validation_step(rgm_step *step);
rgm_status rgm_trainer_default_inference_step(rgm_step *step);

/**
 * Parts for a task's own train_step: draw another batch, compute gradients without updating,
 * update. (rgm_trainer_default_train_step() is one of each.)
 *
 * @param out  [out, owned] the next batch of the training data
 *
 * Errors: RGM_END (the data have ended), those of the data.
 */
rgm_status rgm_trainer_next_inputs(rgm_element **out, rgm_trainer *trainer);
/**
 * Forward and backward of a batch: fills in the step's loss, items and outputs. States (moving
 * averages) take their next values with the update.
 *
 * @param gradients  [out, borrowed] [parameters], NULL for untrained ones; until the next call
 *
 * Errors: RGM_ERR_ARG (no model), RGM_ERR_NUMERIC (a loss that is not finite or above its bound),
 * those of the task's feeds.
 */
rgm_status rgm_trainer_compute_gradients(rgm_step *step, rgm_element *inputs,
                                         rgm_tensor *const **gradients);
/**
 * Update weights and states once, as the default step does: hooks, loss scale, optimizer. At most
 * once a step.
 *
 * @param gradients  [in] [parameters] of the parameters' dtypes and shapes; NULL: unchanged
 *
 * Errors: RGM_ERR_ARG (no optimizer), those of rgm_optimizer_step().
 */
rgm_status rgm_trainer_apply_gradients(rgm_step *step, rgm_tensor *const *gradients);

/**
 * Use another training set from the next step on, from its beginning; retained.
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG (training is private).
 */
rgm_status rgm_trainer_set_train_dataset(rgm_trainer *trainer, rgm_dataset *dataset);
rgm_status rgm_trainer_set_validation_dataset(rgm_trainer *trainer, rgm_dataset *dataset);

/** Add all slots of an optimizer. Errors: RGM_ERR_NOMEM, RGM_ERR_ARG (another process has one). */
rgm_status rgm_checkpoint_add_slots(rgm_checkpoint *checkpoint, const rgm_optimizer *optimizer);
/**
 * Save everything that the rest of the run depends on: weights, slots, averages, counters, loss
 * scale, data position, metric sums of the current loop. A restored trainer continues bit for bit.
 * With runtime.shard_optimizer every rank calls it, and the first one's has all slots.
 *
 * @param checkpoint  NULL: this rank saves nothing, and hands in what it alone has
 *
 * Errors: RGM_ERR_NOMEM; with several ranks those of rgm_comm_gather().
 */
rgm_status rgm_trainer_save_state(rgm_checkpoint *checkpoint, const rgm_trainer *trainer);
/** Save only the position of this trainer's shard of the training data, for the checkpoint of the
 * trainer of shard 0. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_trainer_save_position(rgm_checkpoint *checkpoint, const rgm_trainer *trainer);
/** Restore that state. RGM_ERR_CONFIG, RGM_ERR_NOT_FOUND, RGM_ERR_SHAPE, ...: another model,
 * optimizer or seed made it. */
rgm_status rgm_trainer_restore_state(rgm_trainer *trainer, const rgm_checkpoint *checkpoint);

/**
 * Start with what another run of the same model and optimizer has learned: its weights and
 * optimizer state, so that moments, bias corrections and schedule continue from its updates. Steps
 * count from 0, the data start at their beginning, and the seed stays the trainer's own. After an
 * error the trainer is unusable. Errors: RGM_ERR_ARG (a step was done), RGM_ERR_CONFIG (training is
 * private), RGM_ERR_NOT_FOUND, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_DATA: made by another model or
 * optimizer.
 */
rgm_status rgm_trainer_warm_start(rgm_trainer *trainer, const rgm_checkpoint *checkpoint);

/** The trainer's parts and position; borrowed. */
const rgm_task *rgm_trainer_task(const rgm_trainer *trainer);
rgm_cgraph *rgm_trainer_graph(const rgm_trainer *trainer);
const rgm_task_model *rgm_trainer_model(const rgm_trainer *trainer);
rgm_parameters *rgm_trainer_parameters(const rgm_trainer *trainer);
rgm_device *rgm_trainer_device(const rgm_trainer *trainer); /* never NULL: the CPU by default */
bool rgm_trainer_bf16(const rgm_trainer *trainer);          /* runtime.mixed_precision is bf16 */
rgm_optimizer *rgm_trainer_optimizer(const rgm_trainer *trainer); /* NULL: none, or only asked */
int64_t rgm_trainer_global_step(const rgm_trainer *trainer);      /* steps done      */
int64_t rgm_trainer_updates(const rgm_trainer *trainer);          /* steps that moved the weights */
/** steps done in the current loop; -1: there is none */
int64_t rgm_trainer_loop_step(const rgm_trainer *trainer);
/** Whether a step has taken batches and is not done: what is saved now would lack them. */
bool rgm_trainer_is_in_step(const rgm_trainer *trainer);
int64_t rgm_trainer_passes(const rgm_trainer *trainer);   /* whole passes over the training data  */
bool rgm_trainer_at_end(const rgm_trainer *trainer);      /* the last loop ended with the data    */
double rgm_trainer_last_loss(const rgm_trainer *trainer); /* of the last step; NaN before         */
/** Number of items that the last loop (RGM_TRAIN) or pass averages over; 0 before. */
double rgm_trainer_items(const rgm_trainer *trainer, rgm_mode mode);
/** Whether there are data for that mode. */
bool rgm_trainer_has_data(const rgm_trainer *trainer, rgm_mode mode);
/** Steps of one pass over the training data; 0: known only by reading; INT64_MAX: endless. */
int64_t rgm_trainer_pass_steps(const rgm_trainer *trainer);
/** Names of the numbers that evaluating a mode gives, without those of reduce_aggregated_logs. */
int64_t rgm_trainer_metric_count(const rgm_trainer *trainer, rgm_mode mode);
const char *rgm_trainer_metric_name(const rgm_trainer *trainer, rgm_mode mode, int64_t i);
bool rgm_trainer_smaller_is_better(const rgm_trainer *trainer, const char *metric);
/** The epsilon spent by private training at trainer.privacy.delta; 0: training is not private. */
double rgm_trainer_epsilon(const rgm_trainer *trainer);
/** What private training does and what it guarantees. */
typedef struct rgm_privacy_report {
    double noise_multiplier; /* as given, or found for target_epsilon                      */
    double clipping_norm, sample_rate, delta;
    double epsilon;    /* spent so far                                               */
    int64_t steps;     /* of the whole run; 0: not known                             */
    double planned;    /* epsilon at the end of the whole run; NaN: not known        */
    const char *basis; /* rgm_privacy_basis()                                        */
} rgm_privacy_report;
/** Whether training is private; *out is then filled in. */
bool rgm_trainer_privacy(rgm_privacy_report *out, const rgm_trainer *trainer);
/** Append the same as a line for people; nothing when training is not private. RGM_ERR_NOMEM. */
rgm_status rgm_trainer_describe_privacy(rgm_text *out, const rgm_trainer *trainer);
/** Bytes of the training and validation arenas so far. */
int64_t rgm_trainer_arena_bytes(const rgm_trainer *trainer);

/** One kind of work in a profile. */
typedef struct rgm_profile_row {
    const char *name; /* an op; "data", "update", "other"; outside the steps "evaluation", ...    */
    double seconds;
    int64_t calls;
    int64_t flops, bytes; /* for ops: see rgm_op_event                                            */
} rgm_profile_row;

/** What a profile has recorded (trainer.profile). */
typedef struct rgm_profile_report {
    int64_t first_step, steps; /* number of the first recorded training step, from 1; how many    */
    double seconds;            /* of these steps; the sum of the rows                             */
    const rgm_profile_row *rows; /* [row_count] most time first: ops, "data" (waiting for a batch),
                                    "update" (the optimizer) and "other" (all else); borrowed     */
    int64_t row_count;
    const rgm_profile_row *beside; /* [beside_count] work outside the steps, in order of first
                                      occurrence; nested work counts in both rows; borrowed       */
    int64_t beside_count;
    int64_t events, dropped; /* kept for the trace; dropped beyond trainer.profile.max_events     */
} rgm_profile_report;
/** What has been recorded so far; false: there is no profile. The rows are valid until the next
 * step. */
bool rgm_trainer_profile(rgm_profile_report *out, const rgm_trainer *trainer);
/**
 * Append the profile as a table for people: time, share and calls of a step, GFLOP/s and GB/s of
 * ops, then the work outside the steps. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_profile_table(rgm_text *out, const rgm_trainer *trainer);
/**
 * Append the profile as JSON in Chrome's trace event format, which chrome://tracing and
 * ui.perfetto.dev open: complete events ("X") with ts and dur in microseconds since the trainer was
 * created. Nothing without a profile. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_trainer_profile_trace(rgm_text *out, const rgm_trainer *trainer);

/** The result of initializing from other weights. */
typedef struct rgm_initialize_report {
    int64_t matched;   /* parameters copied                                        */
    int64_t left;      /* parameters of the model that stay random                 */
    int64_t unused;    /* tensors of the file that no parameter took               */
    const char *which; /* "best ", "newest " of a run folder; "" of a file       */
    rgm_text text;     /* a line for each parameter that was not copied, with the reason, and with
                          names, turn or adapt for each that was, with what became of it; owned */
} rgm_initialize_report;
/**
 * The run folder that weights belong to: `path` is the folder, its ckpt/, a checkpoint's or a
 * folder beside ckpt/, or a file in one of these. *out: NULL where none of these folders is a run's
 * with a config.yaml. The caller frees it with rgm_free(). Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_run_of_weights(char **out, const char *path);
/**
 * Copy weights from elsewhere. `only` and `except` choose parameters; names and shapes must agree,
 * unless `names`, `turn` and `adapt` say otherwise.
 *
 * Errors: RGM_ERR_NOT_FOUND (no such checkpoint, or nothing matched: the message has names of both
 * sides), RGM_ERR_SHAPE (both shapes), those of rgm_parameters_check_wanted() and of reading the
 * file; nothing is then changed.
 */
rgm_status rgm_parameters_initialize(rgm_initialize_report *report, rgm_parameters *parameters,
                                     const rgm_trainer_initialize *options);
/** Whether the shell patterns `only` and `except` choose a parameter; no `only`: all but
 * `except`. */
bool rgm_parameters_is_wanted(const rgm_texts *only, const rgm_texts *except, const char *name);
/** rgm_pattern_check() of all of both lists, keys of `section` ("trainer.initialize"). Errors:
 * RGM_ERR_CONFIG, RGM_ERR_NOMEM. */
rgm_status rgm_parameters_check_wanted(const rgm_texts *only, const rgm_texts *except,
                                       const rgm_parameters *parameters, const char *section);

#ifdef __cplusplus
}
#endif
#endif
