/*
 * controller: how long a trainer trains, and when it validates, saves, stops, recovers and exports.
 *
 *     rgm_controller_run()   the modes of a run: train, eval, train_and_eval, ...
 *     rgm_action             something done between steps; rows that an experiment file can name
 *     rgm_run()-like calls   controller_run.h: a task from data to export
 *
 * The library never prints: progress goes to a callback (controller_progress.h).
 */
#ifndef REGIMEN_CONTROLLER_H
#define REGIMEN_CONTROLLER_H

#include <regimen/controller_progress.h>
#include <regimen/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- controller ---------------------------------------------------------------------------- */

typedef struct rgm_controller rgm_controller;

/** Something done between steps, given the logs of the loop or pass. A failure ends the run with
 * that error. */
typedef struct rgm_action {
    const char *name; /* before the messages of its errors; NULL: they say where they come from */
    /** NULL: always. */
    bool (*condition)(const rgm_logs *output, rgm_controller *controller, void *payload);
    rgm_status (*run)(const rgm_logs *output, rgm_controller *controller, void *payload);
    void *payload;
} rgm_action;

/** An action that an experiment file can name: one row. Its options are the payload. */
typedef struct rgm_action_type {
    rgm_section_type section; /* `type` of an entry of actions.train or .eval, the keys beside it */
    bool (*condition)(const rgm_logs *output, rgm_controller *controller, void *options);
    rgm_status (*run)(const rgm_logs *output, rgm_controller *controller, void *options);
} rgm_action_type;

/** One line of a run's history, after a loop that was an epoch. */
typedef struct rgm_epoch_logs {
    int64_t epoch, step; /* both counted from 1: how many are complete */
    bool validated;
    rgm_logs train, valid;
} rgm_epoch_logs;

typedef enum rgm_event_kind {
    RGM_EVENT_INITIALIZE, /* no checkpoint: weights initialized          */
    RGM_EVENT_RESTORE,    /* a checkpoint was restored                   */
    RGM_EVENT_LOOP_BEGIN,
    RGM_EVENT_LOOP_END, /* logs: the loop's, with rates                */
    RGM_EVENT_SUMMARY,  /* scalars of a step inside a loop             */
    RGM_EVENT_SAVE,     /* a checkpoint was written                    */
    RGM_EVENT_EVAL_BEGIN,
    RGM_EVENT_EVAL_END, /* logs: those of the pass                     */
    RGM_EVENT_NEW_BEST,
    RGM_EVENT_RECOVER, /* a bad step was skipped or rolled back       */
    RGM_EVENT_STOP     /* asked to stop, early stopping, or out of time */
} rgm_event_kind;
const char *rgm_event_name(rgm_event_kind kind); /* "loop_begin" */

/** Something that happened in a run, for observers. Valid during the call. */
typedef struct rgm_event {
    rgm_event_kind kind;
    rgm_mode mode;        /* of evaluations                                      */
    const char *set;      /* of evaluations: "valid_news"; NULL: the mode's own data */
    int64_t step;         /* of a save: the checkpoint's, which may be earlier than the trainer's */
    const rgm_logs *logs; /* or NULL */
} rgm_event;

/** What a program may do or observe while a controller runs; all may be NULL. */
typedef struct rgm_controller_hooks {
    /** Asked between steps: true saves and ends the run with RGM_STOPPED, e.g. after a signal. */
    bool (*should_stop)(void *payload);
    /** Length of the loop that begins at this step, >= 1; NULL: options.steps_per_loop. */
    int64_t (*steps_per_loop)(int64_t global_step, void *payload);
    void (*event)(const rgm_event *event, void *payload);
    /** Replaces the event files: logs of "train", "valid" or "test" at a step. */
    rgm_status (*summary)(const char *split, int64_t step, const rgm_logs *logs, void *payload);
    /** After each epoch's validation. A failure ends the run with that error. */
    rgm_status (*epoch_end)(const rgm_epoch_logs *epoch, void *payload);
    void *payload;
} rgm_controller_hooks;

/** Everything a controller is made from. */
typedef struct rgm_controller_setup {
    rgm_trainer *trainer;               /* borrowed; outlives the controller */
    const rgm_trainer_options *options; /* NULL: defaults */
    const char *run_dir; /* NULL: nothing is written (no checkpoints, no resume)               */
    const char *config;  /* text of the merged experiment file, for the run folder; may be NULL */
    const char
        *sources; /* where its values were set: rgm_run_folder_options.sources; may be NULL */
    const rgm_resume_key *resume_keys; /* which of its keys may differ when the run continues; NULL:
                                          none */
    const rgm_hparam *hparams;         /* for TensorBoard's hparams page; may be NULL */
    int64_t hparam_count;
    bool read_only;        /* look at a run: load its newest state, lock and write nothing        */
    bool saves_on_request; /* see rgm_run_options */
    const rgm_action
        *train_actions; /* in order, after each loop and before its checkpoint; copied */
    int64_t train_action_count;
    const rgm_action *eval_actions; /* after each evaluation; copied */
    int64_t eval_action_count;
    const rgm_controller_hooks *hooks; /* copied; may be NULL */
} rgm_controller_setup;

/**
 * Take control of a trainer. With a run folder, lock it and continue from its newest intact
 * checkpoint; without a checkpoint the weights are initialized.
 *
 * Errors: RGM_ERR_CONFIG (options that exclude each other, with both values; an unknown metric,
 * with the known ones), RGM_ERR_BUSY (another process holds the run folder), RGM_ERR_DATA and
 * others of rgm_trainer_restore_state().
 */
rgm_status rgm_controller_create(rgm_controller **out, const rgm_controller_setup *setup);
void rgm_controller_release(rgm_controller *controller);

/**
 * Train in loops until the global step is `steps` (an absolute number, not that many more), then
 * save. Training ends earlier when the training data end (without `endless`) or by early stopping.
 *
 * At each loop's end, in this order: train actions, log line with steps and examples a second,
 * summaries, checkpoint if due. A checkpoint is due when the loop has passed a multiple of
 * `every_steps`, or by time.
 *
 * Errors: RGM_STOPPED (asked to stop; state saved, the same call continues. Or the trainer's device
 * or a rank is lost: a new run of the folder continues from its last checkpoint), RGM_ERR_NUMERIC
 * (see recovery), any other; the last good checkpoint stays. Collective: every rank calls it.
 */
rgm_status rgm_controller_train(rgm_controller *controller, int64_t steps);
/**
 * Evaluate the weights in memory, then run eval actions and write summaries. Validation also
 * updates the best weights and early stopping. *logs (may be NULL) are borrowed until the next
 * pass. Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_FORMAT,
 * RGM_ERR_VERSION, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_controller_evaluate(rgm_controller *controller, rgm_mode mode, int64_t steps,
                                   const rgm_logs **logs);
/**
 * Train to `train_steps`, evaluating every `eval_interval` steps (0: at the end only) and at the
 * end; then save. *logs: those of the last evaluation, NULL when there was none.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_FORMAT,
 * RGM_ERR_VERSION, RGM_ERR_DATA, RGM_ERR_NUMERIC, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_controller_train_and_evaluate(rgm_controller *controller, int64_t train_steps,
                                             int64_t eval_steps, int64_t eval_interval,
                                             const rgm_logs **logs);
/**
 * Follow the run folder of a trainer in another process and evaluate each newest checkpoint that
 * appears. With continuous_eval_every, evaluate every checkpoint in order and once, over restarts
 * too; the trainer's retention spares those that are not evaluated yet. It ends after the
 * checkpoint of `final_step` (0: unknown), or one that was stopped early, or when `timeout` seconds
 * brought no new one and timeout_fn (NULL: yes) says to stop; timeout < 0 waits forever. The
 * controller is read_only; results go to <run>/continuous_eval (metrics.jsonl, event files).
 *
 * Errors: RGM_STOPPED (asked to stop), RGM_ERR_BUSY (another evaluator follows the run).
 */
rgm_status rgm_controller_evaluate_continuously(rgm_controller *controller, int64_t steps,
                                                int64_t final_step, double timeout,
                                                bool (*timeout_fn)(void *payload), void *payload,
                                                const rgm_logs **logs);

/**
 * Save a checkpoint now, unless this state is already saved. Without a run folder it does nothing.
 * Errors: RGM_ERR_ARG, RGM_ERR_DTYPE, RGM_ERR_FORMAT, RGM_ERR_VERSION, RGM_ERR_NOT_FOUND,
 * RGM_ERR_IO, RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_controller_save(rgm_controller *controller);
/**
 * Restore the state of a checkpoint folder; NULL: the newest, RGM_ERR_NOT_FOUND when there is none.
 * With a path the change is permanent: when the run is started again, it continues from the
 * restored state and what was trained since. The run's checkpoints of later steps are renamed to
 * step-N.rolled-back, which nothing reads. If the checkpoint belongs to the run, metrics.jsonl is
 * cut back to the point where it was saved. Errors: those of rgm_trainer_restore_state(),
 * rgm_controller_save().
 * Collective where path is NULL: all ranks restore the newest of rank 0.
 */
rgm_status rgm_controller_restore(rgm_controller *controller, const char *path);
/** Load the weights of the best validation into the trainer; RGM_ERR_NOT_FOUND if there are
 * none. */
rgm_status rgm_controller_restore_best(rgm_controller *controller);

/**
 * Load into the trainer the mean of several checkpoints' weights (of their averages, if the
 * optimizer keeps them): of the newest `count`, or of the best `count` validations.
 * RGM_ERR_NOT_FOUND: the message has how many there are and the key that keeps more.
 */
rgm_status rgm_controller_restore_mean(rgm_controller *controller, bool best, int64_t count);
/**
 * Load into the trainer the weights of the checkpoint of one step (their averages, if the optimizer
 * keeps them). Counters stay, so this is for looking at the weights, not for continuing the run.
 * Errors: RGM_ERR_NOT_FOUND (names the steps that exist), RGM_ERR_FORMAT, RGM_ERR_VERSION,
 * RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_DATA, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_controller_restore_step(rgm_controller *controller, int64_t step);
/**
 * Load into the trainer the weights that a finished run leaves for use: the best weights if there
 * are some and restore_best_weights is not false, else the averages if the optimizer keeps them.
 * Errors: RGM_ERR_SHAPE, RGM_ERR_NOT_FOUND.
 */
rgm_status rgm_controller_place_final_weights(rgm_controller *controller);

/** The controller's trainer, borrowed. */
rgm_trainer *rgm_controller_trainer(const rgm_controller *controller);
/** The run's log, for other work on the run; without a run folder the caller's log. */
rgm_logger *rgm_controller_logger(const rgm_controller *controller);
int64_t rgm_controller_epochs(const rgm_controller *controller);    /* complete ones          */
int64_t rgm_controller_best_step(const rgm_controller *controller); /* -1: no best yet        */
double rgm_controller_best_value(const rgm_controller *controller);
/** "valid.accuracy"; "" none */
const char *rgm_controller_best_metric(const rgm_controller *controller);
/** the run has its full length, was stopped early, or is out of time (trainer.max_seconds) */
bool rgm_controller_finished(const rgm_controller *controller);
#define RGM_HISTORY_EPOCHS 1000
/**
 * The last epochs of this process, at least RGM_HISTORY_EPOCHS if there were so many; borrowed
 * until the next epoch. metrics.jsonl has all of them, and the hook epoch_end sees each.
 */
int64_t rgm_controller_history(const rgm_epoch_logs **epochs, const rgm_controller *controller);

#define RGM_PROFILE_FILE "profile.json"
/**
 * Write <run>/profile.json, whole or not at all, if something was recorded since the last call; the
 * first call also writes the table to the log. The controller calls it by itself when the requested
 * steps are recorded, at the end of rgm_controller_run() and rgm_run_complete(), successful or not,
 * and when rgm_controller_train() stops or fails.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_controller_write_profile(rgm_controller *controller);

/** Show progress from now on, in epochs or in steps; NULL: no more. Borrowed. */
void rgm_controller_show_progress(rgm_controller *controller, rgm_progress *progress,
                                  bool in_epochs);

/** The values of `--mode`. */
typedef enum rgm_run_mode {
    RGM_RUN_TRAIN,
    RGM_RUN_EVAL,
    RGM_RUN_TRAIN_AND_EVAL,
    RGM_RUN_TRAIN_AND_POST_EVAL,
    RGM_RUN_CONTINUOUS_EVAL
} rgm_run_mode;
extern const char *const rgm_run_mode_names[]; /* "train", ..., ended by NULL */
/**
 * Run a mode with the controller's options: train in steps or in epochs, then
 * rgm_controller_place_final_weights(). *logs: of the last evaluation, or NULL.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_FORMAT,
 * RGM_ERR_VERSION, RGM_ERR_DATA, RGM_ERR_NUMERIC, RGM_ERR_NOT_FOUND, RGM_ERR_BUSY, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 * Collective: every rank calls it.
 */
rgm_status rgm_controller_run(rgm_controller *controller, rgm_run_mode mode, const rgm_logs **logs);

/* ---- actions ------------------------------------------------------------------------------- */

/**
 * Detects that a metric is strictly better than ever before. Use test as the condition and [export,
 * commit] as the actions, so that a failed export does not lose the best. NaN and infinities are
 * never best.
 */
typedef struct rgm_new_best rgm_new_best;
/**
 * @param metric  [in] a name in the logs ("accuracy", "task/bleu"); copied
 * @param file    [in] JSON file that keeps the best value over restarts; it is written atomically
 * and its folder is created. NULL: none
 * Errors: RGM_ERR_FORMAT, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_new_best_create(rgm_new_best **out, const char *metric, bool higher_is_better,
                               const char *file);
void rgm_new_best_release(rgm_new_best *best);
/** RGM_ERR_NOT_FOUND when the logs lack the metric; the message names those they have. */
rgm_status rgm_new_best_test(bool *is_best, const rgm_new_best *best, const rgm_logs *logs);
/** Test and record. Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_new_best_commit(bool *is_best, rgm_new_best *best, const rgm_logs *logs);
double rgm_new_best_value(const rgm_new_best *best); /* NaN before the first */

#ifdef __cplusplus
}
#endif
#endif
