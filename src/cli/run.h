/* What the verbs that run an experiment share. */
#ifndef RGM_CLI_RUN_H
#define RGM_CLI_RUN_H

#include "cli.h"

/** What --mode says; all but the last are rgm_run_mode. */
typedef enum run_mode {
    RUN_TRAIN = RGM_RUN_TRAIN,
    RUN_EVAL = RGM_RUN_EVAL,
    RUN_TRAIN_AND_EVAL = RGM_RUN_TRAIN_AND_EVAL,
    RUN_TRAIN_AND_POST_EVAL = RGM_RUN_TRAIN_AND_POST_EVAL,
    RUN_CONTINUOUS_EVAL = RGM_RUN_CONTINUOUS_EVAL,
    RUN_EXPORT
} run_mode;
bool trains(run_mode mode);

typedef struct run_request {
    run_mode mode;
    const char *run_dir;
    bool last, json, profile;
    int64_t restarts; /* 0: the run is this process */
} run_request;
/** Exit code. */
int run_experiment(rgm_experiment *experiment, const run_request *request);

/**
 * The same in a process of its own, which is started again when it is killed, crashes, is preempted
 * or, having got further, fails; until so many starts in a row as `restarts` and one brought no
 * newer checkpoint. The last one's exit code, 128 + n of one that signal n ended. Returns in the
 * child too.
 */
int run_with_restarts(rgm_experiment *experiment, const run_request *request);

/** A run as its hooks see it. */
typedef struct run_view {
    rgm_experiment *experiment;
    const char *run_dir;
    const rgm_run_options *options;
    run_mode mode;
    json_t *evaluations; /* continuous_eval with --json; else NULL */
} run_view;

/**
 * The next line of a plan (rgm_run_plan), cut into its word and what it says; *rest begins as the
 * plan's text, which is written into. False: there is none.
 */
bool plan_line(char **word, char **text, char **rest);

/* ---- run_result.c ---- */

/** Tell how a run ended; exit code. */
int run_finish(rgm_status status, const rgm_open_run *run, const run_view *view, double seconds,
               bool json);

#endif
