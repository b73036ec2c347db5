/*
 * service: batches that other processes, input workers, make for a trainer. The trainer's side
 * hands out the numbers of batches; a worker runs the same recipe, passes over what others make,
 * and sends what it was asked for. What a batch holds follows from recipe, seed and number, so it
 * does not matter who makes it: the trainer gets each number once, and the number of a worker that
 * dies goes to another one.
 *
 *     the trainer                                      a worker
 *     rgm_service_open(&service, &setup);              rgm_input_worker_serve(&worker);
 *     options.maker = rgm_service_maker(service);
 *     rgm_iterator_create(&iterator, data, &options);
 *     while (rgm_iterator_next(&batch, iterator) == RGM_OK) ...
 *     rgm_iterator_release(iterator);
 *     rgm_service_close(service);
 *
 * ZeroMQ carries the messages, with CURVE, which encrypts them and lets nobody in without the key.
 */
#ifndef REGIMEN_SERVICE_H
#define REGIMEN_SERVICE_H

#include <regimen/base.h>
#include <regimen/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/** In which order the trainer gets the batches. */
typedef enum rgm_service_order {
    RGM_SERVICE_RECIPE, /* the recipe's: the same training as without workers, byte for byte   */
    RGM_SERVICE_ARRIVAL /* first come, first served: each once, in an order that nobody knows  */
} rgm_service_order;

/** Field names are the keys of `runtime.input_workers`. */
typedef struct rgm_service_options {
    const char *address; /* "HOST:PORT" of the trainer, who listens there; "*" as HOST: on all its
                            addresses; PORT 0: any that is free. NULL: there are no workers       */
    const char *key;     /* file of rgm_service_key_create(), the same for trainer and workers    */
    rgm_service_order order;
    int64_t ahead;   /* batches that are under way or wait, the most; default 16               */
    double silence;  /* seconds without a word after which a worker is given up; default 20    */
    double patience; /* seconds that the trainer waits without any worker, and a worker without a
                        trainer, before that is an error; default 600                         */
} rgm_service_options;
void rgm_service_defaults(rgm_service_options *options);
extern const rgm_field rgm_service_fields[];
/** RGM_ERR_CONFIG: an address that is none, or an address without a key. Nothing is opened. */
rgm_status rgm_service_check(const rgm_service_options *options);

/**
 * Write a new key, which only its owner may read. Whoever has a copy of the file gets batches, or
 * may send some.
 * Errors: RGM_ERR_BUSY (there is a file; it stays), RGM_ERR_IO, RGM_ERR_UNSUPPORTED (no ZeroMQ).
 */
rgm_status rgm_service_key_create(const char *path);
/**
 * Append which ZeroMQ there is, "ZeroMQ 4.3.4, CURVE". Errors: RGM_ERR_UNSUPPORTED (there is none,
 * or one without CURVE: what to install), RGM_ERR_NOMEM.
 */
rgm_status rgm_service_describe(rgm_text *out);

/* ---- the trainer's side ---------------------------------------------------------------------- */

/** A trainer that takes batches from workers: a thread of its own talks with them. */
typedef struct rgm_service rgm_service;

/** Everything is borrowed and outlives the service. */
typedef struct rgm_service_setup {
    const rgm_service_options *options;
    /** What a worker must have as well, line by line "key: value", so that its batches are the
     * trainer's. A worker with another line is refused, and told which. NULL: nothing. */
    const char *identity;
    const rgm_element_type *const *types; /* of pointers in batches, ended by NULL; may be NULL  */
    const char *report; /* file that says once a second who works and who waits; NULL: none.
                           {"state": .., "trainer_waited": .., "batches": {..}, "workers": [..]} */
    /** Asked about ten times a second while the trainer waits: true ends the wait, RGM_STOPPED. */
    bool (*should_stop)(void *payload);
    void *payload;
} rgm_service_setup;

/**
 * Listen. Workers may come from now on; they get work once an iterator wants batches.
 * Errors: RGM_ERR_CONFIG (address, key), RGM_ERR_UNSUPPORTED (no ZeroMQ), RGM_ERR_BUSY (the port is
 * taken), RGM_ERR_NOT_FOUND (no such host, no key file), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_service_open(rgm_service **out, const rgm_service_setup *setup);
/** Tell the workers that no more is wanted, and end. No iterator may use it any more. Takes NULL.
 */
void rgm_service_close(rgm_service *service);
/** Write setup.report there from now on; copied. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_service_report_to(rgm_service *service, const char *path);
/** Where it listens, "tcp://192.0.2.1:7700"; borrowed. */
const char *rgm_service_address(const rgm_service *service);
/**
 * For rgm_iterator_options.maker of one iterator at a time; borrowed. Its next returns what
 * rgm_element_decode() returns, RGM_STOPPED, and RGM_ERR_IO when no worker came within `patience`.
 * It makes the first batch of all itself: each worker must make the same one before it gets work.
 */
const rgm_maker *rgm_service_maker(rgm_service *service);

/** Counts since the service was opened. */
typedef struct rgm_service_counts {
    int64_t given;   /* batches that the trainer got                             */
    int64_t again;   /* numbers that were handed out once more, as their worker had gone   */
    int64_t doubles; /* batches that came twice, and were dropped                */
    int64_t workers, joined, gone, refused; /* now at work; ever                 */
    double waited; /* seconds that the trainer waited                          */
} rgm_service_counts;
void rgm_service_count(rgm_service_counts *out, rgm_service *service);

/* ---- a worker ---------------------------------------------------------------------------------
 */

/** Everything is borrowed. */
typedef struct rgm_input_worker {
    const rgm_service_options *options; /* address, key, patience */
    const char *identity;               /* as rgm_service_setup.identity */
    const rgm_dataset *dataset;         /* the recipe that the trainer has, too */
    int threads;                        /* batches made at once, each by a thread; at least 1 */
    bool stays; /* when a trainer ends, wait for the next one instead of returning */
    bool (*should_stop)(void *payload); /* asked about ten times a second: leave the trainer */
    void *payload;
} rgm_input_worker;

/**
 * Make batches until the trainer wants no more. A trainer that is not there yet, or no longer, is
 * waited for. *made (may be NULL) is how many batches were sent.
 *
 * Errors: RGM_STOPPED, RGM_ERR_DATA (the trainer refuses this worker: its message), RGM_ERR_IO (no
 * trainer within `patience`), RGM_ERR_CONFIG, RGM_ERR_UNSUPPORTED (no ZeroMQ), RGM_ERR_NOT_FOUND,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_input_worker_serve(int64_t *made, const rgm_input_worker *worker);

#ifdef __cplusplus
}
#endif
#endif
