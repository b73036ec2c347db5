/* What the verbs that run an experiment share. */
#ifndef RGM_CLI_VERB_RUN_H
#define RGM_CLI_VERB_RUN_H

#include "cli.h"

/** What --mode says; all but the last two are rgm_run_mode. */
typedef enum run_mode {
    RUN_TRAIN = RGM_RUN_TRAIN,
    RUN_EVAL = RGM_RUN_EVAL,
    RUN_TRAIN_AND_EVAL = RGM_RUN_TRAIN_AND_EVAL,
    RUN_TRAIN_AND_POST_EVAL = RGM_RUN_TRAIN_AND_POST_EVAL,
    RUN_CONTINUOUS_EVAL = RGM_RUN_CONTINUOUS_EVAL,
    RUN_EXPORT,
    RUN_EACH_CHECKPOINT, /* continuous_train_and_eval */
    RUN_MODES
} run_mode;
static inline bool trains(run_mode mode)
{
    return mode == RUN_TRAIN || mode == RUN_TRAIN_AND_EVAL || mode == RUN_TRAIN_AND_POST_EVAL;
}

typedef struct run_request {
    run_mode mode;
    const char *run_dir;
    bool last, json, profile;
    int64_t restarts;             /* 0: the run is this process */
    const struct series_part *of; /* NULL: it stands alone      */
    rgm_comm *comm;               /* those that train together  */
    const char *name;             /* what was given: the experiment with its layers */
    const text_list *over, *sets;
    const char *join; /* the server that this process works for; NULL: it is the run */
    int64_t beside;   /* workers that a launcher has started with it               */
    int place;        /* of such a worker among its processes; 0: it is none       */
    double patience;  /* seconds to wait for that server; 0: a minute                */
} run_request;
/* ---- run_experiment.c, run_restart.c --------------------------------------------------------- */

/** Exit code. */
int run_experiment(rgm_experiment *experiment, const run_request *request);
/** The same of a program's own model. */
int run_own(rgm_trial_task *own, const run_request *request);

/**
 * The same in a process of its own, which is started again when it is killed, crashes, is preempted
 * or, having got further, fails; until so many starts in a row as `restarts` and one brought no
 * newer checkpoint. The last one's exit code, 128 + n of one that signal n ended. Returns in the
 * child too.
 */
int run_with_restarts(rgm_experiment *experiment, const run_request *request);

/** A run as its hooks see it. */
typedef struct run_view {
    rgm_experiment *experiment; /* or */
    rgm_trial_task *own;
    const char *run_dir;
    const rgm_run_options *options;
    run_mode mode;
    json_t *evaluations;          /* continuous_eval with --json; else NULL */
    const struct series_part *of; /* as the request has it                  */
} run_view;

/* ---- run_async.c ----------------------------------------------------------------------------- */

/** The server of an asynchronous run, with the workers that it starts. */
typedef struct async_run async_run;
/** Before the run is opened; *out stays NULL where the run is none. */
rgm_status async_open(async_run **out, rgm_run_options *options, const run_request *request);
/** When it is open; takes NULL. */
rgm_status async_begin(async_run *run, const rgm_open_run *open, const rgm_run_options *options,
                       const rgm_experiment *experiment, const run_request *request);
/** When it has ended so; takes NULL. This thread's error stays. */
void async_close(async_run *run, rgm_status outcome);
/** Work for the server that the request joins until its run is over. Exit code. */
int run_as_worker(rgm_experiment *experiment, const run_request *request);

/* ---- run_series.c ---------------------------------------------------------------------------- */

/** One of the runs of a file that asks for several (rgm_experiment_part_count). */
typedef struct series_part {
    const char *folder;        /* of all                                */
    const char *name;          /* "fold-3"                              */
    int64_t number;            /* from 1                                */
    const rgm_experiment *all; /* the file's; NULL: there may come more */
} series_part;
/** Run all that there are, one after the other; those that are done are kept. Exit code. */
int run_series(rgm_experiment *experiment, const run_request *request);
/** Run one of them, unless it is done. Exit code. */
int run_series_part(rgm_experiment *experiment, const run_request *request,
                    const series_part *part);
/** Print what those that are done came to, on average. Exit code. */
int print_series(const char *folder, bool json);

/* ---- run_each.c ------------------------------------------------------------------------------ */

/** --mode continuous_train_and_eval of this experiment. Exit code. */
int run_each_checkpoint(const rgm_experiment *experiment, const run_request *request);

/* ---- series_summary.c ------------------------------------------------------------------------ */

/**
 * {"runs": {"fold-1": result, ...}, "metrics": {"test.accuracy": {"mean": ...}}}; an empty one
 * where there is none. What is no such thing is told and made anew: its runs are there.
 */
rgm_status series_summary_load(json_t **out, const char *folder);
rgm_status series_summary_save(const json_t *summary, const char *folder);
/** "metrics" of "runs": every metric that a run has, in the order of the first run that has it. */
json_t *series_figures(const json_t *runs);
/** Whether a run of the summary, in this folder, was made by this very experiment. */
rgm_status series_is_of(bool *is, const json_t *run, const char *run_dir,
                        const rgm_experiment *one);
/**
 * Keep what a run came to in its series' summary; `result` also gets a hash of its experiment
 * `one`. Others that today's file did not make are left out: they would be means of two files.
 */
rgm_status series_keep(const series_part *part, const rgm_experiment *one, json_t *result);

/* ---- run_result.c ---------------------------------------------------------------------------- */

/**
 * The next line of a plan (rgm_run_plan), cut into its word and what it says; *rest begins as the
 * plan's text, which is written into. False: there is none.
 */
bool plan_line(char **word, char **text, char **rest);
/** Tell how a run ended; exit code. */
int run_finish(rgm_status status, const rgm_open_run *run, const run_view *view, double seconds,
               bool json);

#endif
