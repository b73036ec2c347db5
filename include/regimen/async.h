/*
 * async: asynchronous training. One process, the server, keeps the weights and is the run: its
 * folder, updates, validations, checkpoints. Workers are processes that come and go: each gets a
 * turn and the weights, computes the gradients of that batch, and hands them in. Nobody waits for
 * the slowest; in return gradients are made with weights that are some updates old, never more than
 * `staleness`.
 *
 *     the server                                     a worker
 *     rgm_async_server_open(&server, &options)       rgm_async_worker_find(&worker, folder, ..)
 *     options->trainer_hooks = .._server_hooks()     setup.hooks = rgm_async_worker_hooks(worker)
 *     rgm_async_server_admit(server, trainer, ..)    rgm_async_worker_run(worker, trainer, ..)
 *     train as ever
 *     rgm_async_server_stop(server, status)          rgm_async_worker_close(worker)
 *     rgm_async_server_close(server)
 *
 * Every update is made once: a turn that a worker has taken and not handed in (it died, it is
 * silent) is another's, and what comes too late is refused. So a run of N steps makes N updates, of
 * the first N batches, whichever workers there were. docs/async.md tells the rest.
 */
#ifndef REGIMEN_ASYNC_H
#define REGIMEN_ASYNC_H

#include <regimen/train_driver.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the server ------------------------------------------------------------------------------ */

typedef struct rgm_async_server rgm_async_server;

typedef struct rgm_async_options {
    int64_t staleness;  /* most updates between the weights of a gradient and its own update; 0: one
                           worker computes at a time                                             */
    const char *listen; /* where workers reach it, "192.0.2.7:0"; NULL: this host only           */
    double timeout;     /* seconds of silence after which a worker counts as gone                */
    double turn_timeout;   /* seconds after which a worker that lives loses a turn that it neither
                              hands   in nor asks for; 0: ten timeouts. Always at least twice the
                              longest turn   that was handed in, so that slow ones come to an end   */
    int64_t message_bytes; /* of a message, the most; 0: 1 GiB. So are four of all that are here */
    int64_t expected;      /* workers that are started with the server: at the end it waits until so
                              many have come or heard of it, `timeout` at most                       */
    const char *folder; /* the run's: where it leaves how to reach it, for its owner alone       */
} rgm_async_options;

/**
 * Listen. Workers that come are told to wait until rgm_async_server_admit().
 * Errors: RGM_ERR_ARG (no numeric address), RGM_ERR_BUSY (that port is taken), RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_async_server_open(rgm_async_server **out, const rgm_async_options *options);
/** For the trainer of the run: its steps are made by workers. Valid as long as the server. */
const rgm_trainer_hooks *rgm_async_server_hooks(const rgm_async_server *server);
/**
 * Let workers in as soon as the first step is to be made: the trainer has the state that it begins
 * with.
 *
 * @param trainer  [in] with the hooks above; borrowed
 * @param about    [in] lines "key: value" that a worker must have alike; copied
 *
 * Errors: RGM_ERR_CONFIG (this cannot be trained asynchronously, the message says why),
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_async_server_admit(rgm_async_server *server, rgm_trainer *trainer,
                                  const char *about);
/** Where it listens: "http://127.0.0.1:40121". Borrowed. */
const char *rgm_async_server_url(const rgm_async_server *server);
/** A process of this host has ended: if it was a worker, its turn is for others at once. Threads:
 * any. */
void rgm_async_server_forget(rgm_async_server *server, int64_t pid);
/** Nobody will come any more: the run is to save and stop, unless workers are there. Threads: any.
 */
void rgm_async_server_give_up(rgm_async_server *server, const char *why);

/** What a server has done since it was opened. */
typedef struct rgm_async_report {
    int64_t updates, workers;      /* workers: those that have ever come          */
    int64_t given_again, refused;  /* turns of lost workers; what came too late     */
    int64_t staleness, most_stale; /* the bound, and the most that there was        */
    double mean_stale;
    int64_t gradient_bytes, weight_bytes; /* bodies of requests and answers with those       */
    int64_t tables;                       /* parameters of which rows travel alone           */
    int64_t table_rows;                   /* rows of all tables                              */
    int64_t gradient_rows, weight_rows;   /* rows that have travelled                        */
} rgm_async_report;
/** A copy. Threads: any. */
void rgm_async_server_report(rgm_async_report *out, rgm_async_server *server);
/** Append the same as a line for people. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_async_describe(rgm_text *out, const rgm_async_report *report);

/** Tell the workers how the run ended (RGM_OK: whole; RGM_STOPPED: it goes on another time; else it
 * failed, with this thread's error message), wait until they know or `timeout` is over, and answer
 * no more. */
void rgm_async_server_stop(rgm_async_server *server, rgm_status outcome);
/** Takes NULL; one that was not stopped leaves its workers without a word. */
void rgm_async_server_close(rgm_async_server *server);

/* ---- a worker -------------------------------------------------------------------------------- */

typedef struct rgm_async_worker rgm_async_worker;

typedef struct rgm_async_place {
    const char *where; /* the run folder, or "http://HOST:PORT" ($REGIMEN_TOKEN is its token)     */
    double patience;   /* seconds to wait until there is a server                               */
    bool (*stopped)(void *payload); /* asked about once a second; may be NULL                   */
    void *payload;
} rgm_async_place;
/**
 * Find the server, and wait until it lets workers in. RGM_END: its run is whole already.
 * Errors: RGM_ERR_NOT_FOUND (there is none within `patience`), RGM_STOPPED, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_async_worker_find(rgm_async_worker **out, const rgm_async_place *place);
/** The run folder as the server names it. Borrowed. */
const char *rgm_async_worker_folder(const rgm_async_worker *worker);
/** For the worker's trainer. Valid as long as the worker. */
const rgm_trainer_hooks *rgm_async_worker_hooks(const rgm_async_worker *worker);
/**
 * Take turns until the run is over.
 *
 * @param trainer  [in] of the same task and data as the server's, with the hooks above
 * @param about    [in] as the server has it
 *
 * Returns RGM_OK: the run is whole; RGM_STOPPED: it stops and goes on another time, or this worker
 * was asked to stop. Errors: RGM_ERR_CONFIG (this worker's experiment is another one: the first
 * line that differs), RGM_ERR_IO (the server is gone: its host and process; or it has failed),
 * those of data and model.
 */
rgm_status rgm_async_worker_run(rgm_async_worker *worker, rgm_trainer *trainer, const char *about);
/** Whether RGM_ERR_IO of the run means that the server is gone: what it saved goes on another time.
 */
bool rgm_async_worker_is_lost(const rgm_async_worker *worker);
int64_t rgm_async_worker_updates(const rgm_async_worker *worker); /* that it has handed in */
/** Takes NULL. */
void rgm_async_worker_close(rgm_async_worker *worker);

#ifdef __cplusplus
}
#endif
#endif
