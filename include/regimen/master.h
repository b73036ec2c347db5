/*
 * master: experiments with many trials. One process owns a folder: a database of experiments,
 * trials, steps, metrics and checkpoints, and a socket. It shares the slots of the machine among
 * trials, runs each as a process of its own, and takes up everything where it was when it is
 * started again, however it ended. Everything is asked of it by requests, and a program that finds
 * no master at work in a folder answers them itself: the same calls, with or without one.
 *
 *     <folder>/master.db  master.sock  master.lock  token
 *     <folder>/<experiment>/experiment.yaml  <experiment>/<trial>/   a run folder  + trial.log
 *
 *     rgm_master_open()     lock the folder, open the database
 *     rgm_master_handle()   a request: GET /api/v1/experiments, POST .../pause, ...
 *     rgm_master_serve()    requests from the socket, trials on slots, until told to stop
 *     rgm_client_call()     the same requests to whoever owns the folder
 *     rgm_worker_serve()    the other side: a trial's process asks for workloads and does them
 *
 * docs/master.md has the requests, the states and what is kept through which failure.
 */
#ifndef REGIMEN_MASTER_H
#define REGIMEN_MASTER_H

#include <regimen/http.h>
#include <regimen/trial.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- master -------------------------------------------------------------------------------- */

typedef struct rgm_master rgm_master;

/** How experiments share slots. */
typedef enum rgm_scheduling { RGM_FAIR_SHARE, RGM_PRIORITY } rgm_scheduling;
extern const char *const rgm_scheduling_names[]; /* "fair_share", "priority", ended by NULL */

typedef struct rgm_master_options {
    const char *folder;       /* made when it is not there                                     */
    int64_t slots;            /* what trials take, one or more each; 0: processors / threads   */
    int64_t threads_per_slot; /* 0: processors / slots, at least 1                             */
    /** argv of a trial's process, ended by NULL; "--master FOLDER --trial ID --run TOKEN" is put
     * behind it. NULL: this executable with "trial run". */
    const char *const *trial_command;
    rgm_scheduling scheduling;
    bool preemption;       /* priority: running trials of later experiments make room           */
    const char *listen;    /* "127.0.0.1:8080": TCP beside the socket, with the token of
                              <folder>/token; NULL: the socket alone                            */
    double stop_seconds;   /* at a stop, until a trial that does not end is killed; 0: 300      */
    double orphan_seconds; /* how long a trial's process waits for a master that went; 0: 600   */
} rgm_master_options;

/**
 * Lock a folder, open its database (made, or brought to this version), and find out what became of
 * the trials of an earlier master: those that live on are kept, others are rolled back to their
 * last checkpoints and wait for slots. Nothing runs before rgm_master_serve().
 *
 * @param out      [out, owned]
 * @param options  [in] copied
 *
 * Errors: RGM_ERR_BUSY (another process owns the folder: its pid and host are told),
 * RGM_ERR_VERSION (the database is of a later version), RGM_ERR_FORMAT (it is damaged, or none),
 * RGM_ERR_ARG, RGM_ERR_IO, RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_master_open(rgm_master **out, const rgm_master_options *options);
/** Unlocks the folder. Trials that run are left running: a next master takes them up. */
void rgm_master_close(rgm_master *master);

/**
 * Answer a request. It is done whole or not at all: 503 says that it was not (full disk, no
 * memory), and may be asked again.
 *
 * @param out  [out] cleared with rgm_response_clear(); a body even of 503, empty without memory
 *
 * Threads: any; one request is worked on at a time.
 */
void rgm_master_handle(rgm_response *out, rgm_master *master, const rgm_request *request);

/**
 * Answer requests from the socket and keep trials on the slots until `done` says so; then pause:
 * each trial ends its workload, saves a checkpoint and ends. Experiments keep their states, and a
 * next master goes on with them.
 *
 * @param done  [in] asked a few times a second, and whenever something happened; may call
 *                   rgm_master_handle()
 *
 * Errors: RGM_ERR_IO (no socket can be made), RGM_ERR_NOMEM. Threads: one call at a time.
 */
rgm_status rgm_master_serve(rgm_master *master, bool (*done)(rgm_master *master, void *payload),
                            void *payload);

/** A request that there is. */
typedef struct rgm_request_type {
    const char *method;
    const char *path; /* "/api/v1/trials/{id}/logs" */
    const char *help; /* one line, with its query and body */
} rgm_request_type;
/** Of all, in the order of their documentation, the i-th from 0; NULL: there are no more. */
const rgm_request_type *rgm_request_type_at(int64_t i);

/* ---- client -------------------------------------------------------------------------------- */

typedef struct rgm_client rgm_client;
/**
 * Of a folder: requests go to the master that is at work there, else to one that is opened for each
 * call. Of "http://HOST:PORT" with the token of $REGIMEN_TOKEN: to that host.
 *
 * @param options  [in] for masters that it opens itself, with their folder; copied. NULL: defaults
 *                      in `where`
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_client_open(rgm_client **out, const char *where, const rgm_master_options *options);
void rgm_client_close(rgm_client *client);
/**
 * Ask, and wait for the answer.
 *
 * @param answer  [out, owned] its JSON; may be NULL for who does not want it
 * @param body    [in] JSON; NULL: none
 *
 * Errors: that which the answer says, with its message: RGM_ERR_CONFIG, RGM_ERR_NOT_FOUND,
 * RGM_ERR_BUSY (not in this state), ...; RGM_ERR_IO (nobody answers), RGM_ERR_NOMEM.
 * Threads: one call at a time.
 */
rgm_status rgm_client_call(rgm_json **answer, rgm_client *client, const char *method,
                           const char *path, const char *body);
/**
 * The same with the answer as it comes, of whatever status, for who hands it on.
 *
 * @param out  [out] cleared with rgm_response_clear(); empty after an error
 *
 * Errors: RGM_ERR_IO (nobody answers, or not in time), those of rgm_master_open(), RGM_ERR_NOMEM.
 */
rgm_status rgm_client_forward(rgm_response *out, rgm_client *client, const char *method,
                              const char *path, const char *body);
/**
 * Bounds of every call from now on.
 *
 * @param seconds  [in] until a call is given up; at first 600
 * @param stopped  [in] asked about once a second while a call waits: true gives it up; may be NULL
 */
void rgm_client_limit(rgm_client *client, double seconds, bool (*stopped)(void *payload),
                      void *payload);
/** Whether a master is at work there now, by asking it. */
bool rgm_client_is_served(rgm_client *client);

/* ---- worker: a trial's process ------------------------------------------------------------- */

/** What a workload gave. Texts and arrays are borrowed until the next workload. */
typedef struct rgm_worker_result {
    const rgm_named_number *metrics; /* of the step (means over batches) or the validation */
    int64_t metric_count;
    int64_t num_inputs;
    const char *checkpoint;            /* folder, relative to the trial's; of a checkpoint alone */
    const rgm_named_number *resources; /* its files with their bytes                        */
    int64_t resource_count;
} rgm_worker_result;

/** What a worker is told before its first workload. */
typedef struct rgm_worker_setup {
    int64_t trial, experiment, number;
    const char *experiment_file; /* <folder>/<experiment>/experiment.yaml             */
    const char *run_dir;         /* <folder>/<experiment>/<trial>                     */
    const char *hyperparameters; /* one line of JSON                                  */
    const char *from;            /* checkpoint folder to warm start from; NULL: none  */
    const char *at;              /* own checkpoint folder to go on from; NULL: none   */
    int64_t at_batches;          /* trained in all at that checkpoint                 */
    uint32_t seed;
    int64_t threads;
} rgm_worker_setup;

/** A trial as its process does it. A failure of any is the run's: it is told and the process ends;
 * one that rgm_trial_is_invalid() knows is the trial's end. */
typedef struct rgm_worker {
    rgm_status (*open)(const rgm_worker_setup *setup, void *payload);
    rgm_status (*work)(rgm_worker_result *result, const rgm_workload *workload, void *payload);
    void (*close)(void *payload);
    void *payload;
    /** Asked after each workload: true (SIGTERM came, as before a job's time is over) has the
     * master answer with a checkpoint and then the end; the trial goes on in another process. NULL:
     * never.
     */
    bool (*is_told_to_stop)(void *payload);
} rgm_worker;

/**
 * Ask for workloads, do them, tell their results, until told to end. Nobody answers: what is told
 * is told again until `orphan_seconds` of its setup have passed, then RGM_STOPPED.
 *
 * @param arguments  [in] what trial_command had put behind it: "--master", FOLDER, "--trial", ID,
 *                        "--run", TOKEN
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_BUSY (another process has become this trial's), those of `worker`.
 */
rgm_status rgm_worker_serve(const char *const *arguments, int64_t count, const rgm_worker *worker);

/**
 * The same with the trial itself (trial.h) as its work: all that `regimen trial run` does.
 * @param is_told_to_stop  [in] as in rgm_worker, asked with NULL; may be NULL
 *
 * Errors: those of rgm_worker_serve(), rgm_trial_open() and rgm_trial_do().
 */
rgm_status rgm_worker_run_trial(const char *const *arguments, int64_t count,
                                bool (*is_told_to_stop)(void *payload));

#ifdef __cplusplus
}
#endif
#endif
