/*
 * master: experiments with many trials. One process owns a folder: a database of experiments,
 * trials, steps, metrics and checkpoints, and a socket. It shares the slots of the machine among
 * trials and runs each as a process of its own. When it is started again, it resumes everything
 * where it was, however it ended. Users and trials reach it by requests. A program that finds no
 * master at work in a folder answers its requests itself: the calls are the same with or without a
 * master.
 *
 *     <folder>/master.db  master.sock  master.lock  token
 *     <folder>/<experiment>/experiment.yaml  <experiment>/<trial>/   a run folder  + trial.log
 *
 *     rgm_master_open()     lock the folder, open the database
 *     rgm_master_handle()   a request: GET /api/v1/experiments, POST .../pause, ...
 *     rgm_master_serve()    requests from the socket, trials on slots, until told to stop
 *     rgm_client_call()     the same requests to whoever owns the folder
 *
 * trial_worker.h has the other side, the process of a trial: a master knows no trainer.
 * docs/master.md has the requests, the states and what is kept through which failure.
 */
#ifndef REGIMEN_MASTER_H
#define REGIMEN_MASTER_H

#include <regimen/http.h>
#include <regimen/search_file.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- states --------------------------------------------------------------------------------- */

/**
 * The state of work. Experiments may have any; trials are ACTIVE until they are over; steps,
 * validations and checkpoints are COMPLETED, and a checkpoint may be DELETED later.
 */
typedef enum rgm_work_state {
    RGM_WORK_ACTIVE,
    RGM_WORK_PAUSED,
    RGM_WORK_STOPPING_COMPLETED,
    RGM_WORK_STOPPING_CANCELED,
    RGM_WORK_STOPPING_KILLED, /* its processes are being ended */
    RGM_WORK_STOPPING_ERROR,
    RGM_WORK_COMPLETED, /* from here on it is over */
    RGM_WORK_CANCELED,
    RGM_WORK_ERROR,
    RGM_WORK_DELETED
} rgm_work_state;
/** The names in the database and in answers: "ACTIVE", ..., "DELETED", ended by NULL. */
extern const char *const rgm_work_state_names[];
/** Find the state with a name; false: there is none, and *out is unchanged. NULL names none. */
bool rgm_work_state_find(rgm_work_state *out, const char *name);
/** Whether an experiment or a trial in this state has ended for good. */
bool rgm_work_is_over(rgm_work_state state);

/* ---- master --------------------------------------------------------------------------------- */

typedef struct rgm_master rgm_master;

/** How experiments share slots. */
typedef enum rgm_scheduling { RGM_FAIR_SHARE, RGM_PRIORITY } rgm_scheduling;
extern const char *const rgm_scheduling_names[]; /* "fair_share", "priority", ended by NULL */

typedef struct rgm_master_options {
    const char *folder; /* made when it is not there                                     */
    int64_t slots;      /* what trials take, one or more each; 0: processors / threads   */
    int64_t
        threads_per_slot; /* 0: processors / slots, at least 1; of a device: processors / devices */
    /**
     * Which devices the slots of searches with resources.slot_type: gpu are: "cuda:0,cuda:2",
     * "opencl"; they are looked for when the master is opened. NULL: "gpu", looked for when the
     * first such search comes. A device that is named is there, or the master is not opened.
     */
    const char *devices;
    /**
     * argv of a trial's process, ended by NULL; "--master FOLDER --trial ID --run TOKEN" is
     * appended. NULL: this executable with "trial run".
     */
    const char *const *trial_command;
    rgm_scheduling scheduling;
    bool preemption;       /* priority: running trials of later experiments make room           */
    const char *listen;    /* "127.0.0.1:8080": TCP beside the socket, with the token of
                              <folder>/token; NULL: the socket alone                            */
    bool allow_remote;     /* ... an address that others can reach: refused without             */
    double stop_seconds;   /* until a trial that was told to end and does not is killed; 0: 300  */
    double orphan_seconds; /* how long a trial's process waits for a master that went; 0: 600   */
    /** Bytes that stay free on the folder's disk: with less, no trial is started. 0: 1 GiB, or a
     * hundredth of the disk where that is less; -1: none. */
    int64_t keep_free;
    int64_t log_bytes; /* of a trial's log, whose oldest lines then go; 0: 256 MiB; -1: no bound */
    double log_days;   /* after an experiment's end its trials' logs go; 0: they stay           */
    /**
     * What the searches are over; it decides which search files are accepted: &rgm_trial_subject
     * (trial.h) for experiments; borrowed. NULL: every file that a searcher can be made from.
     */
    const rgm_search_subject *subject;
} rgm_master_options;

/**
 * Lock a folder, open its database (it is created, or upgraded to this version), and find out what
 * became of the trials of an earlier master. Trials that still run are kept; others are rolled back
 * to their last checkpoints and wait for slots. Nothing runs before rgm_master_serve().
 *
 * @param out      [out, owned]
 * @param options  [in] copied
 *
 * Errors: RGM_ERR_BUSY (another process owns the folder: the message has its pid and host),
 * RGM_ERR_VERSION (the database is of a later version), RGM_ERR_FORMAT (it is damaged, or not a
 * database), RGM_ERR_CONFIG (there are no such devices), RGM_ERR_ARG, RGM_ERR_IO, RGM_ERR_NOMEM;
 * *out is then NULL.
 */
rgm_status rgm_master_open(rgm_master **out, const rgm_master_options *options);
/** Unlocks the folder. Running trials are left running: the next master takes them over. */
void rgm_master_close(rgm_master *master);

/**
 * Answer a request. It is done entirely or not at all: 503 says that it was not (full disk, no
 * memory), and the request may be sent again.
 *
 * @param out  [out] cleared with rgm_response_clear(); has a body even with 503, an empty one
 *                   without memory
 *
 * Threads: any; one request is worked on at a time.
 */
void rgm_master_handle(rgm_response *out, rgm_master *master, const rgm_request *request);

/**
 * Answer requests from the socket and keep trials on the slots until `done` returns true; then
 * pause: each trial ends its workload, saves a checkpoint and ends. Experiments keep their states,
 * and the next master goes on with them.
 *
 * @param done  [in] called a few times a second, and whenever something happened; may call
 *                   rgm_master_handle()
 *
 * Errors: RGM_ERR_IO (no socket can be made), RGM_ERR_NOMEM. Threads: one call at a time.
 */
rgm_status rgm_master_serve(rgm_master *master, bool (*done)(rgm_master *master, void *payload),
                            void *payload);

/**
 * Leave every experiment that is not over as it is, apart from one: their trials are not started,
 * and those that run save and end. For a program that serves one search in a folder that has
 * others. A request that activates one of them takes it in again; those that are created later are
 * served. Holds until the master is closed.
 *
 * @param left   [out, owned] [*count] numbers of those that are left and not paused; rgm_free()
 * @param count  [out]
 *
 * Errors: those of the database, RGM_ERR_NOMEM; nothing is left then.
 */
rgm_status rgm_master_serve_alone(int64_t **left, int64_t *count, rgm_master *master,
                                  int64_t experiment);

/** A kind of request. */
typedef struct rgm_request_type {
    const char *method;
    const char *path; /* "/api/v1/trials/{id}/logs" */
    const char *help; /* one line, with its query and body */
} rgm_request_type;
/** The i-th of all kinds, from 0, in the order of their documentation; NULL: there are no more. */
const rgm_request_type *rgm_request_type_at(int64_t i);

/* ---- client --------------------------------------------------------------------------------- */

typedef struct rgm_client rgm_client;
/**
 * Open a client. If `where` is a folder, requests go to the master that is at work there, else to
 * one that is opened for each call. If it is "http://HOST:PORT", they go to that host with the
 * token of $REGIMEN_TOKEN.
 *
 * @param options  [in] for masters that it opens itself, with their folder; copied. NULL: defaults
 *                      in `where`
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_client_open(rgm_client **out, const char *where, const rgm_master_options *options);
void rgm_client_close(rgm_client *client);
/**
 * Send a request and wait for the answer.
 *
 * @param answer  [out, owned] its JSON; NULL: not wanted
 * @param body    [in] JSON; NULL: none
 *
 * Errors: the error of the answer, with its message: RGM_ERR_CONFIG, RGM_ERR_NOT_FOUND,
 * RGM_ERR_BUSY (not in this state), ...; RGM_ERR_IO (nobody answers), RGM_ERR_NOMEM. Threads: one
 * call at a time.
 */
rgm_status rgm_client_call(rgm_json **answer, rgm_client *client, const char *method,
                           const char *path, const char *body);
/**
 * The same, but gives the answer as it comes, whatever its status, for callers that pass it on.
 *
 * @param out  [out] cleared with rgm_response_clear(); empty after an error
 *
 * Errors: RGM_ERR_IO (nobody answers, or not in time), those of rgm_master_open(), RGM_ERR_NOMEM.
 */
rgm_status rgm_client_forward(rgm_response *out, rgm_client *client, const char *method,
                              const char *path, const char *body);
/**
 * Set the bounds of every call from now on.
 *
 * @param seconds  [in] until a call is given up; at first 600
 * @param stopped  [in] called about once a second while a call waits: true gives it up; may be NULL
 */
void rgm_client_limit(rgm_client *client, double seconds, bool (*stopped)(void *payload),
                      void *payload);
/** Ask whether a master is at work there now. */
bool rgm_client_is_served(rgm_client *client);

#ifdef __cplusplus
}
#endif
#endif
