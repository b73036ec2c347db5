/* The controller's parts share this: when things happen, and where a run is kept. */
#ifndef RGM_CONTROLLER_INTERNAL_H
#define RGM_CONTROLLER_INTERNAL_H

#include "trainer_internal.h"

#define RGMI_MAX_BEST 64 /* trainer.checkpoint.best.keep */

/** In <run>/continuous_eval, of an evaluator of every checkpoint: the last step it is done with. */
#define RGMI_EVALUATED_FILE "evaluated"

/** A validation among the best so far. */
typedef struct rgmi_best {
    int64_t step;
    double value;
} rgmi_best;

/** A sub-folder of the summaries with its event file, opened when first written to. */
typedef struct rgmi_event_folder {
    char *path; /* "train", "validation/task" */
    rgm_event_file *file;
} rgmi_event_folder;

/** What training came to, for rates. */
typedef struct rgmi_work {
    double steps, items, seconds;
} rgmi_work;

struct rgm_controller {
    rgm_trainer *trainer;
    rgm_trainer_options options;
    rgm_controller_hooks hooks;
    rgm_progress *progress; /* borrowed; NULL: not shown */
    bool progress_in_epochs;
    bool saves_on_request; /* rgmi_state_keep() does nothing */
    rgm_action *train_actions, *eval_actions;
    int64_t train_action_count, eval_action_count;

    /* where the run stands, beside the trainer's own state */
    int64_t epochs;         /* loops that were epochs                                       */
    bool in_epochs;         /* loops are epochs now                                         */
    int64_t looked_step;    /* at which it was last asked whether a checkpoint is due by steps */
    int64_t evaluated_step; /* of the last validation                                       */
    bool finished;          /* early stopping said so                                       */
    int64_t tries;          /* of recovery                                                  */
    bool rolled_back;       /* just now: the loop under way is another one                  */
    int64_t changes, saved_changes; /* of the state, since creation                         */
    int64_t saved_step;
    double saved_time;

    /* best validation */
    char best_name[160]; /* "valid.accuracy"; "" when nothing is chosen */
    char stop_name[160];
    bool best_is_smaller, stop_is_smaller;
    int64_t best_step, best_epoch, stale;
    double best_value, stop_value;
    bool told_not_finite;          /* that the last validation's metric was no number */
    bool told_no_metric;           /* that validation lacks the default metric */
    rgm_parameters *best_weights;  /* NULL before the first best */
    rgmi_best kept[RGMI_MAX_BEST]; /* best first */
    int64_t kept_count;

    rgm_status (*export_step)(
        void *payload); /* exports the present weights, once a step; or NULL */
    void *export_payload;

    /* the run folder; all NULL without one */
    char *run_dir;
    rgm_run_folder *folder;
    rgm_checkpoint_store *store, *best_store, *averages_store;
    bool told_waiting; /* that checkpoints wait for an evaluator that is not running */
    rgm_metrics_log *metrics_log;
    rgm_system_log *system_log; /* of this and the next NULL: could not be opened */
    rgm_tables_log *tables_log;
    bool told_system, told_tables, told_model; /* that they could not be written */
    rgm_text batch;                            /* what it was, until then        */
    int64_t first_step;                        /* of this process                */
    rgm_event_file *run_events;
    int64_t void_train, void_validation; /* first steps of older event files that are made again */
    rgmi_event_folder *events;
    int64_t event_count, event_capacity;
    const rgm_hparam *hparams; /* the setup's */
    int64_t hparam_count;

    /* rates */
    double timer_time;
    int64_t timer_step;
    double timer_items, timer_flops;
    bool told_layers, told_profile;
    rgmi_work work, told_work; /* of this process, but for the timer's; at the last figures */
    double figures_time;       /* of those by rgm_now(); 0: none yet                        */
    double seconds_before;     /* rgmi_seconds() when the log of figures was opened         */
    double items_a_step;       /* mean of the loop under way, or of the last */
    int64_t histogram_step;    /* of the last histograms; -1: none yet */
    double last_seen;          /* the last value of the best metric, for progress */

    double seconds,
        stretch_time; /* of training before the stretch under way, and when that began */
    bool in_stretch;
    bool out_of_time; /* trainer.max_seconds are over */

    /* trainer.reduce_on_plateau */
    char plateau_name[160];
    bool plateau_is_smaller;
    double plateau_value, rate_factor;
    int64_t plateau_wait, plateau_cooldown;

    rgm_epoch_logs *history;
    int64_t history_count, history_capacity;
};

/* options.c */
rgm_status rgmi_controller_check(const rgm_controller *c);

/* actions.c */
rgm_status rgmi_run_actions(rgm_controller *c, const rgm_action *actions, int64_t count,
                            const rgm_logs *logs);

/** Export the weights of the present step, if the run exports on the way. */
rgm_status rgmi_export_step(const rgm_controller *c);

/* controller_loop.c */
/**
 * Run (or go on with) one loop of `steps` steps, RGM_TO_END for a pass. *done: it came to its end,
 * and *logs are its. Not done, with RGM_OK: a rollback, so that another loop is under way, or data
 * that had ended before the first step.
 */
rgm_status rgmi_run_loop(rgm_controller *c, int64_t steps, bool *done, const rgm_logs **logs);
rgm_status rgmi_save_if_due(rgm_controller *c);
/** Training begins (again) at the present step: rates and intervals are counted from here. */
void rgmi_begin_stretch(rgm_controller *c);
bool rgmi_is_asked_to_stop(const rgm_controller *c);

/* controller_epochs.c */
void rgmi_epoch_logs_clear(rgm_epoch_logs *epoch);
rgm_status rgmi_train_epochs(rgm_controller *c, bool validate, const rgm_logs **logs);

/* controller_best.c */
/** The best metric by its name in the numbers there: "loss", of a set "valid_news.loss". */
const char *rgmi_best_number(const rgm_controller *c);
/** <run>/best with the best weights and these numbers, when it is asked for. */
rgm_status rgmi_save_best(rgm_controller *c, const rgm_logs *logs);
/** <run>/averages, behind a validation of these logs, if the options ask for it. */
rgm_status rgmi_save_averages(rgm_controller *c, const rgm_logs *logs);

/* controller_time.c */
/** From here on, or until here, seconds are of training; both may be said twice. */
void rgmi_start_clock(rgm_controller *c);
void rgmi_stop_clock(rgm_controller *c);
/** Seconds of training so far, over all starts. */
double rgmi_seconds(const rgm_controller *c);
/** What this process has trained, the timer's present stretch with it. */
rgmi_work rgmi_work_so_far(const rgm_controller *c);
/** The timer begins anew: what it has seen goes into c->work. */
void rgmi_take_work(rgm_controller *c);
/** Whether trainer.max_seconds are over; told in the log when they have just gone. */
bool rgmi_is_out_of_time(rgm_controller *c);

/* controller_profile.c */
/** Write the profile, and go on with what the work came to; an error of it stands before others. */
rgm_status rgmi_profile_finish(rgm_controller *c, rgm_status status);

/* controller.c */
/** rgm_controller_run() for who writes the profile when there is more to it. */
rgm_status rgmi_controller_run(rgm_controller *c, rgm_run_mode mode, const rgm_logs **logs);

/* controller_plateau.c */
/** A validation of the metric: perhaps a smaller rate from now on. */
void rgmi_plateau_judge(rgm_controller *c, double value);
/** Let the optimizer have the factor of the state. */
void rgmi_plateau_apply(rgm_controller *c);

/* controller_eval.c */
rgm_status rgmi_choose_metrics(rgm_controller *c);
/** One pass over a set, or with -1 over the mode's own data: nothing is told. */
rgm_status rgmi_run_pass(rgm_controller *c, rgm_mode mode, int64_t set, int64_t steps,
                         const rgm_logs **logs);
/** Evaluate the mode's own data and its sets and, on validation data, judge. */
rgm_status rgmi_evaluate(rgm_controller *c, rgm_mode mode, int64_t steps, const rgm_logs **logs);

/* controller_state.c */
rgm_status rgmi_state_open(rgm_controller *c, const rgm_controller_setup *setup);
void rgmi_state_close(rgm_controller *c);
/** Parameters for the best weights, unless there are some. */
rgm_status rgmi_best_weights_open(rgm_controller *c);
/** <run>/ckpt; read-only where there is none yet: store stays NULL. */
rgm_status rgmi_store_open(rgm_controller *c, bool read_only);
rgm_status rgmi_state_save(rgm_controller *c);
/** The same where the run itself finds it time to, unless it only saves on request. */
rgm_status rgmi_state_keep(rgm_controller *c);
/** Weights and counters of the newest checkpoint, or of the start; the data go on. */
rgm_status rgmi_roll_back(rgm_controller *c);

/* controller_figures.c */
/** Logs behind metrics_open(). */
rgm_status rgmi_figures_open(rgm_controller *c);
void rgmi_figures_close(rgm_controller *c);
/** A line of system.jsonl when the last is a second old; at_end: when there were steps since. */
rgm_status rgmi_log_figures(rgm_controller *c, bool at_end);
/** model.json once a batch has been trained on twice, or at_end once. */
rgm_status rgmi_log_model(rgm_controller *c, bool at_end);
/** What a pass came to in tables.jsonl. */
rgm_status rgmi_log_tables(rgm_controller *c, const char *split, const rgmi_sums *sums,
                           const rgm_logs *logs);
rgm_status rgmi_tables_flush(rgm_controller *c);
/** Cut off what is of later steps than the present state; all: everything. */
rgm_status rgmi_tables_cut(rgm_controller *c, bool all);

/* controller_log.c */
/** Of the loop under way, or of the last one: what metrics.jsonl has as "epoch". */
int64_t rgmi_epoch_now(const rgm_controller *c);
/** Work for the run's log; the log before goes to rgmi_leave() with what the work came to. */
rgm_logger *rgmi_enter(const rgm_controller *c);
rgm_status rgmi_leave(rgm_logger *before, rgm_status status);
/** The same of an evaluation of a set by its name; NULL: of the mode's own data. */
void rgmi_tell_pass(rgm_controller *c, rgm_event_kind kind, rgm_mode mode, const char *set,
                    const rgm_logs *logs);
void rgmi_tell(rgm_controller *c, rgm_event_kind kind, rgm_mode mode, const rgm_logs *logs);
rgm_status rgmi_log_metrics(rgm_controller *c, const char *split, const rgm_logs *logs);
/** What private training will do, at its beginning. */
rgm_status rgmi_log_privacy(const rgm_controller *c);
/** With trainer.flops, once: the table by layer. */
rgm_status rgmi_log_layers(rgm_controller *c);
/** A line for people in the log. */
void rgmi_log_line(const rgm_controller *c, const char *what, const rgm_logs *logs);
/** The texts of a pass, in the log. */
void rgmi_log_texts(const rgm_controller *c, const char *split, const rgm_logs *logs);
/** Scalars of a loop ("train") or pass ("valid", "test") at the present step. */
rgm_status rgmi_summarize(rgm_controller *c, const char *split, const rgm_logs *logs);
/** Scalars inside a loop, when they are due. */
rgm_status rgmi_summarize_step(rgm_controller *c);
rgm_status rgmi_summarize_weights(rgm_controller *c);
rgm_status rgmi_events_open(rgm_controller *c);
rgm_status rgmi_events_flush(rgm_controller *c);
rgm_status rgmi_events_end(rgm_controller *c);
/** The next scalar opens new files, behind which readers drop the present step and later ones. */
void rgmi_events_restart(rgm_controller *c);
void rgmi_events_close(rgm_controller *c);
void rgmi_show_progress(rgm_controller *c, double value);

#endif
