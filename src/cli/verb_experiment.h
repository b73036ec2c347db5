/* The verbs of experiments, trials and checkpoints, by file. */
#ifndef RGM_CLI_VERB_EXPERIMENT_H
#define RGM_CLI_VERB_EXPERIMENT_H

#include "ask.h"

/* ---- verb_experiment_list.c: looking --------------------------------------------------------- */

int experiment_list(int argc, char **argv);
int experiment_describe(int argc, char **argv);
int experiment_trials(int argc, char **argv);
int experiment_checkpoints(int argc, char **argv);
int experiment_config(int argc, char **argv);
int experiment_best(int argc, char **argv);
int experiment_report(int argc, char **argv);

/** Trials that are over, of trials_by_state. */
int64_t trials_over(const json_t *counts);
/** The trials of an experiment as a table: its hyperparameters are columns. */
rgm_status trials_table(table *t, const json_t *trials);
/** Checkpoints as a table. */
rgm_status checkpoints_table(table *t, const json_t *checkpoints);
/** Steps of trials with their validations and checkpoints, a row each, as describe prints them. */
rgm_status steps_table(table *t, const asked_master *whom, const json_t *trials, bool metrics);

/** Into a trial's row, for --json: "step_rows", "validation_rows" and "checkpoint_rows". */
rgm_status add_steps(json_t *trial, const asked_master *whom);

/** The trial with the best validation, and its run folder (may be NULL). RGM_ERR_NOT_FOUND: there
 * is none yet. */
rgm_status best_trial(json_t **out, char **folder, const asked_master *whom, int64_t experiment);

/* ---- verb_experiment_code.c ------------------------------------------------------------------ */

int experiment_code(int argc, char **argv);

/* ---- verb_experiment_run.c: making and following --------------------------------------------- */

int experiment_create(int argc, char **argv);
int experiment_run(int argc, char **argv);
int experiment_wait(int argc, char **argv);
/** Show it on stderr until it is over, paused or the user ends it; its state then. */
rgm_status experiment_follow(char state[32], const asked_master *whom, int64_t id);

/* ---- verb_experiment_change.c: steering ------------------------------------------------------ */

/** activate, pause, cancel, kill, archive, unarchive: argv[0] says which. */
int experiment_post(int argc, char **argv);
int experiment_delete(int argc, char **argv);
int experiment_label(int argc, char **argv);
int experiment_set(int argc, char **argv);
int experiment_note(int argc, char **argv);
/** The note of a trial. */
int trial_note(int argc, char **argv);
int experiment_fork(int argc, char **argv);
int experiment_continue(int argc, char **argv);
int experiment_export(int argc, char **argv);

/* ---- verb_experiment_live.c: a search while it goes on --------------------------------------- */

int experiment_try(int argc, char **argv);
int experiment_changes(int argc, char **argv);
/** Set keys of an experiment's file; words: its number, then KEY=VALUE. */
int experiment_change(const char *where, const text_list *words);

/* ---- verb_trial_steer.c: a trial goes on ----------------------------------------------------- */

/** What is asked of a trial that is trained further, as an experiment of its own. */
typedef struct continuation {
    int64_t steps, trial; /* trial: the number in its experiment; 0: the best */
    const char *description;
    bool paused;
} continuation;
#define CONTINUATION_ARGUMENTS(c)                                                                  \
    {"steps", ARG_COUNT, &(c).steps, "N", "how many more to train (needed)"},                      \
        {"description", ARG_TEXT, &(c).description, "TEXT", "of the new experiment"},              \
    {                                                                                              \
        "paused", ARG_FLAG, &(c).paused, NULL, "not to begin before it is activated"               \
    }
/** A verb_about() a trial; options: a continuation. */
rgm_status continue_trial(int *code, const asked_master *whom, int64_t id, const void *options);

/* ---- verb_trial.c, verb_checkpoint.c --------------------------------------------------------- */

int experiment_logs(int argc, char **argv);

/** List the checkpoints that a policy does not keep, ask, and remove them. policy: counters that
 * become the experiment's, borrowed; NULL: those that it has. */
rgm_status checkpoints_collect(int *code, const asked_master *whom, int64_t id,
                               const json_t *policy, bool yes);

/* ---- verb_master_token.c --------------------------------------------------------------------- */

int master_token(int argc, char **argv);

/* ---- verb_experiment_view.c: the live table -------------------------------------------------- */

typedef struct live_view live_view;
/** On a terminal a table that is drawn again, else a line for what happened. Errors: RGM_ERR_NOMEM.
 */
rgm_status live_view_create(live_view **out, int64_t experiment);
void live_view_release(live_view *view);
/** Look, and draw what changed. *state (of 32 bytes): the experiment's. */
rgm_status live_view_update(char state[32], live_view *view, const asked_master *whom);

#endif
