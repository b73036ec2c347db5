/* Shared by the controller's parts: when things happen, and where a run is kept. */
#ifndef RGM_CONTROLLER_INTERNAL_H
#define RGM_CONTROLLER_INTERNAL_H

#include <regimen/controller_run.h>
#include <regimen/train_driver.h>

/** In <run>/continuous_eval, for an evaluator of every checkpoint: the last step that it has
 * finished. */
#define RGMI_EVALUATED_FILE "evaluated"

/** A validation among the best so far. */
typedef struct rgmi_best {
    int64_t step;
    double value;
} rgmi_best;

/** A sub-folder of the summaries with its event file, which is opened at the first write. */
typedef struct rgmi_event_folder {
    char *path; /* "train", "validation/task" */
    rgm_event_file *file;
} rgmi_event_folder;

/** Amounts of training, for rates. */
typedef struct rgmi_work {
    double steps, items, seconds;
} rgmi_work;

/** Lines of a log that become rarer. */
typedef enum rgmi_line_kind {
    RGMI_LINES_LOOPS,
    RGMI_LINES_PASSES,
    RGMI_LINES_BEST,
    RGMI_LINES_SAVES,
    RGMI_LINES_EXPORTS,
    RGMI_LINE_KINDS
} rgmi_line_kind;
typedef struct rgmi_lines {
    int64_t seen;
    int told, rarer; /* every 2^rarer-th is told, `told` of them so far */
} rgmi_lines;

/** How a run ended, or that it has not. */
typedef enum rgmi_ending { RGMI_RUNNING, RGMI_STOPPED, RGMI_FINISHED, RGMI_FAILED } rgmi_ending;
/** What result.json is written from, beside the state. */
typedef struct rgmi_result {
    rgmi_ending end;
    char *reason;   /* why it failed                                              */
    double started; /* by the wall clock; 0: there is no file, or the end is told */
    bool told;      /* it was reported that the file cannot be written            */
    rgm_status (*describe)(rgm_json_writer *w, void *payload); /* writes more members; or NULL */
    void *payload;
} rgmi_result;

/** The scores of a pass whose curves are still to be made. */
typedef struct rgmi_kept_scores {
    char split[80];
    int64_t step, head;
    rgm_metric_scores scores, ranks;
    bool has_ranks;
} rgmi_kept_scores;

/** score_curves.jsonl. Making its lines means to print some thousand numbers, so it is put off
 * until they are to be written. */
typedef struct rgmi_curves {
    rgm_score_log *log; /* NULL: it could not be opened, or nothing is kept */
    rgmi_kept_scores *kept;
    int64_t count, capacity;
    double time; /* of the last writing */
    bool told;   /* it was reported that they cannot be written */
} rgmi_curves;

/** A checkpoint that a thread is writing: controller_behind.c. */
typedef struct rgmi_behind rgmi_behind;

struct rgm_controller {
    rgm_trainer *trainer;
    rgm_trainer_options options;
    rgm_controller_hooks hooks;
    rgm_progress *progress; /* borrowed; NULL: not shown */
    bool progress_in_epochs;
    bool saves_on_request; /* rgmi_state_keep() does nothing */
    rgm_action *train_actions, *eval_actions;
    int64_t train_action_count, eval_action_count;

    /* the state of the run, beside the trainer's own */
    int64_t epochs;         /* loops that were epochs                                       */
    bool in_epochs;         /* loops are epochs now                                         */
    int64_t looked_step;    /* the last step at which saving by steps was checked */
    int64_t evaluated_step; /* of the last validation                                       */
    bool finished;          /* early stopping has ended it */
    int64_t tries;          /* of recovery                                                  */
    bool rolled_back;       /* just now: the current loop is another one */
    int64_t changes, saved_changes; /* of the state, since creation                         */
    int64_t saved_step;
    double saved_time;

    /* best validation */
    char best_name[160]; /* "valid.accuracy"; "" when nothing is chosen */
    char stop_name[160];
    bool best_is_smaller, stop_is_smaller;
    int64_t best_step, best_epoch, stale;
    int64_t placed_step; /* whose weights took the place of the last ones; -1: they are the last */
    double best_value, stop_value;
    bool told_not_finite; /* it was reported that the last validation's metric is not finite */
    bool told_no_metric;  /* it was reported that validation lacks the default metric */
    rgm_parameters *best_weights; /* NULL before the first best */
    rgmi_best kept[RGM_MAX_BEST]; /* best first */
    int64_t kept_count;

    rgm_status (*export_step)(void *payload); /* exports the current weights; or NULL */
    void *export_payload;
    int64_t exported_step;     /* of the last one; -1: none of this course by this process */
    rgm_checkpoint_fill *fill; /* what the current weights' checkpoint has beside them; or NULL */
    void *fill_payload;

    /* the run folder; all NULL without one */
    char *run_dir;
    bool keeps;             /* this process, or the first of those that train together, writes it */
    rgm_run_folder *folder; /* of that process; NULL of the others */
    rgm_checkpoint_store *store, *best_store, *averages_store;
    rgmi_behind *behind; /* a checkpoint that a thread is writing into `store`; NULL: none */
    bool told_waiting; /* it was reported that checkpoints wait for an evaluator that is not running
                        */
    rgm_metrics_log *metrics_log;
    rgm_system_log *system_log; /* of this and the next NULL: could not be opened */
    rgm_tables_log *tables_log;
    rgmi_curves curves;
    bool told_system, told_tables, told_model; /* it was reported that they cannot be written */
    rgm_text batch; /* what rgm_trainer_describe_batches() says, while `describes` */
    bool describes;
    int64_t first_step; /* of this process                */
    rgm_event_file *run_events;
    int64_t void_train,
        void_validation; /* first steps of older event files that are written again */
    rgmi_event_folder *events;
    int64_t event_count, event_capacity;
    const rgm_hparam *hparams; /* the setup's */
    int64_t hparam_count;

    bool was_tested; /* an earlier start has tested the final weights: that is cut off */
    rgmi_result result;
    rgmi_lines lines[RGMI_LINE_KINDS];
    bool told_pass; /* the current validation is one that the log tells of */

    /* rates */
    double timer_time;
    int64_t timer_step;
    double timer_items, timer_flops;
    bool told_layers, told_profile;
    rgmi_work work, told_work; /* of this process, without the timer's; at the last figures */
    double figures_time;       /* of those by rgm_now(); 0: none yet                        */
    double seconds_before;     /* rgmi_seconds() when the log of figures was opened */
    double items_a_step;       /* mean of the current loop, or of the last */
    int64_t histogram_step;    /* of the last histograms; -1: none yet */
    double last_seen;          /* the last value of the best metric, for progress */

    double seconds, stretch_time; /* of training before the current stretch, and when that began */
    bool in_stretch;
    bool out_of_time; /* trainer.max_seconds are over */
    bool is_timed;    /* this start or an earlier one has that key: checkpoints have the seconds */

    /* trainer.reduce_on_plateau */
    char plateau_name[160];
    bool plateau_is_smaller;
    double plateau_value, rate_factor;
    int64_t plateau_wait, plateau_cooldown;

    rgm_epoch_logs *history;
    int64_t history_count, history_capacity;
};

/* controller_ranks.c */
/** This process's number among those that train the run together; 0 keeps the run folder. */
int rgmi_rank(const rgm_controller *c);
typedef rgm_status rgmi_open_fn(rgm_controller *c, const rgm_controller_setup *setup);
/** Let the first rank open the run folder, then the others, then rgmi_ranks_compare(). */
rgm_status rgmi_ranks_open(rgm_controller *c, const rgm_controller_setup *setup,
                           rgmi_open_fn *open_folder);
/** RGM_ERR_CONFIG, on all ranks: one begins with another step, other data or other weights. */
rgm_status rgmi_ranks_compare(const rgm_controller *c, const rgm_controller_setup *setup);

/* controller_check.c */
rgm_status rgmi_controller_check(const rgm_controller *c);

/* controller_decide.c */
/** Whether this process, or another that trains with it, sees the condition `about`: one of
 * RGM_DECIDE_STOP, _SAVE, _OUT_OF_TIME. Collective. */
bool rgmi_decide(const rgm_controller *c, rgm_decision about);
/** Whether trainer.max_seconds are over; the log reports it when it becomes true. */
bool rgmi_is_out_of_time(rgm_controller *c);

/* actions.c */
rgm_status rgmi_run_actions(rgm_controller *c, const rgm_action *actions, int64_t count,
                            const rgm_logs *logs);

/* controller_fill.c */
/** Save a checkpoint of these weights (NULL: the trainer's, or its averages) with what the run's
 * checkpoints have beside them. */
rgm_status rgmi_save_filled(const rgm_controller *c, rgm_checkpoint_store *store,
                            const rgm_checkpoint *checkpoint, const rgm_parameters *weights);
/** Export the weights of the current step, once, if the run exports during training. */
rgm_status rgmi_export_step(rgm_controller *c);

/* controller_loop.c */
/**
 * Run (or continue) one loop of `steps` steps, RGM_TO_END for a pass. *done: it reached its end,
 * and *logs are its logs. Not done, with RGM_OK: after a rollback, so that the current loop is
 * another one; the time is over, or early stopping has ended the run inside it; or the data had
 * ended before the first step.
 */
rgm_status rgmi_run_loop(rgm_controller *c, int64_t steps, bool *done, const rgm_logs **logs);
/** RGM_STOPPED in the place of an error that a lost device or a lost rank has made, when the run's
 * folder has what it goes on from: said in its log. Every other status as it is. */
rgm_status rgmi_when_lost(rgm_controller *c, rgm_status status);
rgm_status rgmi_save_if_due(rgm_controller *c);
/** Training begins (again) at the current step: rates and intervals count from here. */
void rgmi_begin_stretch(rgm_controller *c);

/* controller_epochs.c */
void rgmi_epoch_logs_clear(rgm_epoch_logs *epoch);
rgm_status rgmi_train_epochs(rgm_controller *c, bool validate, const rgm_logs **logs);

/* controller_best.c */
/** The best metric's name in those logs: "loss", or for a set "valid_news.loss". */
const char *rgmi_best_number(const rgm_controller *c);
/** Save the best weights with these numbers in <run>/best, if the options ask for it. */
rgm_status rgmi_save_best(rgm_controller *c, const rgm_logs *logs);
/** Save in <run>/averages, after a validation with these logs, if the options ask for it. */
rgm_status rgmi_save_averages(rgm_controller *c, const rgm_logs *logs);

/* controller_time.c */
/** The current epoch, or the last one: "epoch" in metrics.jsonl. */
int64_t rgmi_epoch_now(const rgm_controller *c);
/** Count seconds as training from here on, or until here; repeated calls do no harm. */
void rgmi_start_clock(rgm_controller *c);
void rgmi_stop_clock(rgm_controller *c);
/** Seconds of training so far, over all starts. */
double rgmi_seconds(const rgm_controller *c);
/** The same with those of starts without trainer.max_seconds, by system.jsonl. */
double rgmi_run_seconds(const rgm_controller *c);
/** The work of this process so far, including the timer's current stretch. */
rgmi_work rgmi_work_so_far(const rgm_controller *c);
/** Restart the timer; its amounts go into c->work. */
void rgmi_take_work(rgm_controller *c);

/* controller_profile.c */
/** Write the profile and return the work's status; an error of the work precedes the profile's. */
rgm_status rgmi_profile_finish(rgm_controller *c, rgm_status status);

/* controller.c */
/** rgm_controller_run() for callers that write the profile later. */
rgm_status rgmi_controller_run(rgm_controller *c, rgm_run_mode mode, const rgm_logs **logs);

/* controller_plateau.c */
/** Log that a schedule by epochs has moved the rate since there were `before` updates. */
void rgmi_rate_tell(const rgm_controller *c, int64_t before);
/** Watch for a plateau as if no validation had been; the rate stays where it is. */
void rgmi_plateau_forget(rgm_controller *c);
/** Judge the metric of a validation, which may reduce the rate. */
void rgmi_plateau_judge(rgm_controller *c, double value);
/** Give the state's factor to the optimizer. */
void rgmi_plateau_apply(rgm_controller *c);

/* controller_eval.c */
rgm_status rgmi_choose_metrics(rgm_controller *c);
/** Make one pass over a set, or with -1 over the mode's own data, without reports. */
rgm_status rgmi_run_pass(rgm_controller *c, rgm_mode mode, int64_t set, int64_t steps,
                         const rgm_logs **logs);
/**
 * Keep the numbers of the finished run on a test set, or with -1 on the test data: in log,
 * metrics.jsonl, tables.jsonl and event files, at the step where the run ended. They stand after
 * the last checkpoint's lines, so that a run that is started again writes the same once more.
 */
rgm_status rgmi_keep_test(rgm_controller *c, int64_t set, const rgm_logs *logs);
/** Evaluate the mode's own data and its sets and, for validation, judge. */
rgm_status rgmi_evaluate(rgm_controller *c, rgm_mode mode, int64_t steps, const rgm_logs **logs);

/* controller_folder.c */
/** Open the run folder, if there is one, and restore its newest state; without a folder or a state,
 * initialize the weights. */
rgm_status rgmi_state_open(rgm_controller *c, const rgm_controller_setup *setup);
void rgmi_state_close(rgm_controller *c);
/** Open <run>/ckpt; with read_only and no such folder yet, store stays NULL. */
rgm_status rgmi_store_open(rgm_controller *c, bool read_only);

/* controller_state.c */
rgm_status rgmi_state_save(rgm_controller *c);
/** Save when the run itself finds it due, unless it only saves on request; it is on disk then. */
rgm_status rgmi_state_keep(rgm_controller *c);
/** The same where training goes on: with trainer.checkpoint.asynchronous a thread writes it. */
rgm_status rgmi_state_keep_on_the_way(rgm_controller *c);
rgm_status rgmi_state_initialize(rgm_controller *c);
/** Restore the newest checkpoint, or the state that a run begins with. *offset: where its
 * metrics.jsonl ends. */
rgm_status rgmi_state_restore_newest(rgm_controller *c, int64_t *offset);
/** Go back to weights and counters of the newest checkpoint (that of rank 0), or of the start; the
 * data continue. */
rgm_status rgmi_roll_back(rgm_controller *c);

/* controller_behind.c */
/** Let a thread write the checkpoint, which it owns from then on. False after a warning: there is
 * no memory for it, and the checkpoint is still the caller's. */
bool rgmi_behind_start(rgm_controller *c, rgm_checkpoint *checkpoint);
/** Wait until the thread, if there is one, has written its checkpoint. Errors: those of the save.
 */
rgm_status rgmi_behind_end(rgm_controller *c);
/** The same behind work that ended with `status`, whose error precedes the save's. */
rgm_status rgmi_behind_finish(rgm_controller *c, rgm_status status);
/** rgmi_behind_end() if the thread is done, otherwise nothing. */
rgm_status rgmi_behind_look(rgm_controller *c);

/* controller_keys.c */
/** Save the controller's part of a checkpoint, except the offset of metrics.jsonl. */
rgm_status rgmi_keys_save(rgm_checkpoint *checkpoint, rgm_controller *c);
rgm_status rgmi_counters_restore(rgm_controller *c, const rgm_checkpoint *checkpoint,
                                 int64_t *offset);
/** Restore the best validations and the state of plateaus. seconds_too: a rollback does not take
 * back the time spent. */
rgm_status rgmi_keys_restore(rgm_controller *c, const rgm_checkpoint *checkpoint, bool seconds_too);
/** Make parameters for the best weights, unless there are some. */
rgm_status rgmi_best_weights_open(rgm_controller *c);

/* controller_retention.c */
/** Tell the store of checkpoints which of them stay, however old they get. */
rgm_status rgmi_spare(rgm_controller *c);

/* controller_result.c */
/** The step of the current weights: of the best, or of a chosen checkpoint, where these were
 * placed. */
int64_t rgmi_weights_step(const rgm_controller *c);
/** Report an error once and drop it, unless memory is out, which concerns everybody. */
rgm_status rgmi_told_once(bool *told, rgm_status status);
/** Write result.json of a run that begins; called after its logs are open. */
rgm_status rgmi_result_open(rgm_controller *c);
/** Write it as the run is now. */
rgm_status rgmi_result_save(rgm_controller *c);
/** Log how the run ended, write that, and return `outcome`, the status of the run's work, with its
 * error. Nothing is told twice. */
rgm_status rgmi_result_end(rgm_controller *c, rgm_status outcome);

/* controller_figures.c */
/** Open the other logs; called after metrics_open(). */
rgm_status rgmi_figures_open(rgm_controller *c);
void rgmi_figures_close(rgm_controller *c);
/** Sync metrics.jsonl and write the other logs out, at the end of a run. */
rgm_status rgmi_logs_flush(rgm_controller *c);
/** Add a line to system.jsonl when the last is a second old; at_end: when there were steps
 * since. */
rgm_status rgmi_log_figures(rgm_controller *c, bool at_end);
/** Write model.json after two training runs of a batch, or at_end after one. */
rgm_status rgmi_log_model(rgm_controller *c, bool at_end);
/** Write a pass' tables, over a mode's own data (set -1) or an eval set, to tables.jsonl, and keep
 * what its curves are made of. */
rgm_status rgmi_log_tables(rgm_controller *c, const char *split, rgm_mode mode, int64_t set,
                           const rgm_logs *logs);
rgm_status rgmi_tables_flush(rgm_controller *c);
/** Cut off lines of later steps than the current state's; all: all lines. */
rgm_status rgmi_tables_cut(rgm_controller *c, bool all);
/** Cut off the tables of test data at the current step, which are to be written again. */
rgm_status rgmi_tables_cut_tests(rgm_controller *c);

/* controller_curves.c */
/** Open score_curves.jsonl without the lines of first_void and later steps. */
rgm_status rgmi_curves_open(rgm_controller *c, int64_t first_void);
void rgmi_curves_close(rgm_controller *c);
/** Keep the scores of a pass for its curves, which are written when the last ones are a second old,
 * or by rgmi_curves_flush(). */
rgm_status rgmi_log_curves(rgm_controller *c, const char *split, rgm_mode mode, int64_t set);
rgm_status rgmi_curves_flush(rgm_controller *c);
rgm_status rgmi_curves_cut(rgm_controller *c, int64_t first_void);
/** As rgmi_tables_cut_tests(). */
rgm_status rgmi_curves_cut_tests(rgm_controller *c);

/* controller_story.c */
/** Whether the next line of a kind is written: all at first, then ever fewer. */
bool rgmi_is_told(rgm_controller *c, rgmi_line_kind kind);
/** Log numbers for people. */
void rgmi_log_line(const rgm_controller *c, const char *what, const rgm_logs *logs);
/** Log what an epoch has spent of the privacy budget. */
void rgmi_log_epsilon(const rgm_controller *c, const rgm_logs *logs);
/** Log the texts of a pass. */
void rgmi_log_texts(const rgm_controller *c, const char *split, const rgm_logs *logs);
/** Log an event of a run with a folder, if it is one for its log. */
void rgmi_log_event(rgm_controller *c, rgm_event_kind kind, rgm_mode mode);
/** Log that the weights were exported to a folder. */
void rgmi_log_export(const rgm_controller *c, const char *folder);
/** Log what begins, and how it ended: "finished", "failed: ...". */
void rgmi_log_begin(const rgm_controller *c);
void rgmi_log_end(const rgm_controller *c, const char *how);

/* controller_log.c */
/** Begin work that writes to the run's log; give the returned log and the work's status to
 * rgmi_leave(). */
rgm_logger *rgmi_enter(const rgm_controller *c);
rgm_status rgmi_leave(rgm_logger *before, rgm_status status);
/** Report an event of an evaluation of a set by its name; NULL: of the mode's own data. */
void rgmi_tell_pass(rgm_controller *c, rgm_event_kind kind, rgm_mode mode, const char *set,
                    const rgm_logs *logs);
void rgmi_tell(rgm_controller *c, rgm_event_kind kind, rgm_mode mode, const rgm_logs *logs);
/** Note and tell that the checkpoint of `step` is on disk. */
void rgmi_tell_saved(rgm_controller *c, int64_t step);
rgm_status rgmi_log_metrics(rgm_controller *c, const char *split, const rgm_logs *logs);
/** Log what private training will do, at its beginning. */
rgm_status rgmi_log_privacy(const rgm_controller *c);
/** With trainer.flops, log the table by layer, once. */
rgm_status rgmi_log_layers(rgm_controller *c);
/** Write scalars of a loop ("train") or pass ("valid", "test") at the current step. */
rgm_status rgmi_summarize(rgm_controller *c, const char *split, const rgm_logs *logs);
/** Write scalars inside a loop, when they are due. */
rgm_status rgmi_summarize_step(rgm_controller *c);
rgm_status rgmi_summarize_weights(rgm_controller *c);
rgm_status rgmi_events_open(rgm_controller *c);
rgm_status rgmi_events_flush(rgm_controller *c);
rgm_status rgmi_events_end(rgm_controller *c);
/** The next scalar opens new files; readers then drop older scalars of the current step and
 * later. */
void rgmi_events_restart(rgm_controller *c);
void rgmi_events_close(rgm_controller *c);
void rgmi_show_progress(rgm_controller *c, double value);

#endif
