/*
 * trial: the process of a trial. A master starts it; it asks the master for its next workload with
 * the result of the last one, does it, and ends when it is told to.
 *
 *     rgm_worker_run_trial()   all that `regimen trial run` does
 *     rgm_worker_serve()       the same with other work than a trial's
 */
#ifndef REGIMEN_TRIAL_WORKER_H
#define REGIMEN_TRIAL_WORKER_H

#include <regimen/search_code.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a workload gave. Texts and arrays are borrowed until the next workload. */
typedef struct rgm_worker_result {
    const rgm_named_number *metrics; /* of the step (means over batches) or the validation */
    int64_t metric_count;
    int64_t num_inputs;
    const char *checkpoint;            /* folder, relative to the trial's; of a checkpoint alone */
    const rgm_named_number *resources; /* its files with their bytes                        */
    int64_t resource_count;
    const rgm_workload *done; /* what was done in the place of what was to be: of programs, which
                                 say themselves where a step ends; NULL: what was to be */
} rgm_worker_result;

/** What a worker is told before its first workload. */
typedef struct rgm_worker_setup {
    int64_t trial, experiment, number;
    const char *experiment_file; /* <folder>/<experiment>/experiment.yaml             */
    const char *run_dir;         /* <folder>/<experiment>/<trial>                     */
    const char *entrypoint; /* the master's copy of the file's; NULL: it has none, or no copy */
    const char *code_dir;   /* the folder of the experiment's code; NULL: it has none of its own */
    const rgm_code *code;   /* the files that are to be there, without their bytes               */
    const char *hyperparameters; /* one line of JSON                                  */
    const char *from;            /* checkpoint folder to warm start from; NULL: none  */
    const char *at;              /* own checkpoint folder to go on from; NULL: none   */
    int64_t at_batches;          /* trained in all at that checkpoint                 */
    uint32_t seed;
    int64_t threads;       /* of each process */
    const char *device;    /* of this process, for runtime.device; NULL: as the file says */
    struct rgm_comm *comm; /* of the processes that train the trial together; rgm_comm_self() */
} rgm_worker_setup;

/**
 * The functions with which a process does a trial. If one of them fails, the run has failed: the
 * master is told and the process ends. An error that rgm_trial_is_invalid() recognises ends the
 * trial.
 */
typedef struct rgm_worker {
    rgm_status (*open)(const rgm_worker_setup *setup, void *payload);
    rgm_status (*work)(rgm_worker_result *result, const rgm_workload *workload, void *payload);
    void (*close)(void *payload);
    void *payload;
    /** Called when a workload was given, also when it is the end: how far it may train before
     * anything else is due, and whether it ends behind this workload. NULL: not wanted. */
    void (*see)(const rgm_workload *workload, int64_t reach, bool ends, void *payload);
    /** Whether it has been heard of since this was asked last, and seconds of processors that
     * others than this process have used for it; called by another thread. NULL: this process does
     * all. */
    bool (*is_alive)(double *used, void *payload);
    /**
     * Called after each workload. After true (SIGTERM came, as before a job's time is over) the
     * master answers with a checkpoint and then the end; the trial goes on in another process.
     * NULL: never.
     */
    bool (*is_told_to_stop)(void *payload);
} rgm_worker;

/**
 * Ask for workloads, do them and tell their results, until told to end. If nobody answers, the
 * worker repeats what it tells until `orphan_seconds` of its setup have passed, then returns
 * RGM_STOPPED.
 *
 * A trial whose slots are ranks has several processes, started by mpirun: each calls this, and each
 * has the same workloads. The first one (rgm_comm_rank() 0) talks to the master, and its results
 * are those of the trial; the others return RGM_OK, however it ends. A failure of one, or its
 * SIGTERM, is all of theirs. mpirun passes no SIGTERM on, so where one process is sent that, ranks
 * have SIGUSR1.
 *
 * @param arguments  [in] what the master appended to trial_command: "--master", FOLDER, "--trial",
 *                        ID, "--run", TOKEN
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_BUSY (another process has become this trial's), those of `worker`.
 */
rgm_status rgm_worker_serve(const char *const *arguments, int64_t count, const rgm_worker *worker);

/**
 * The same with a trial (trial.h) as its work: all that `regimen trial run` does.
 * @param is_told_to_stop  [in] as in rgm_worker, called with NULL; may be NULL
 *
 * Errors: those of rgm_worker_serve(), rgm_trial_open() and rgm_trial_do().
 */
rgm_status rgm_worker_run_trial(const char *const *arguments, int64_t count,
                                bool (*is_told_to_stop)(void *payload));

#ifdef __cplusplus
}
#endif
#endif
