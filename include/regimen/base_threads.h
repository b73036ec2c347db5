/*
 * base: the parallel loop of the whole library; threads for jobs that wait; queues between threads.
 */
#ifndef REGIMEN_BASE_THREADS_H
#define REGIMEN_BASE_THREADS_H

#include <pthread.h>
#include <regimen/base_status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The number of processors that this process may run on: its affinity mask, as taskset and Slurm
 * set it. */
int rgm_processors(void);

/**
 * How many threads parallel loops may use from now on, >= 1, including the caller's. The default is
 * rgm_processors(). The number does not change any result. There is one pool: when several threads
 * start loops at once, a thread that finds the pool in use runs its loop alone.
 */
void rgm_threads_set(int threads);
int rgm_threads(void);

/** Items [begin, end) of some work; called from several threads at once. */
typedef void rgm_range_work(void *payload, int64_t begin, int64_t end);

/**
 * Run `work` over 0..items-1 on those threads, each item once, in any order. What an item is must
 * not depend on the number of threads, and no item may touch the result of another. `item_ns` is
 * the rough cost of one item in nanoseconds: the caller does small loops alone, where handing out
 * work would cost more than it saves. All arithmetic of the library runs in this loop; there is no
 * other pool for it.
 */
void rgm_parallel(int64_t items, double item_ns, rgm_range_work *work, void *payload);

/**
 * pthread_create() for a thread that no signal is to reach: they are the program's matter. Only
 * SIGBUS stays open, which a read of a mapped file that was cut off raises in the thread itself.
 * Returns 0 or the number of errno.
 */
int rgm_thread_start(pthread_t *thread, void *(*work)(void *payload), void *payload);
/** Call a function of a library that starts threads by itself, so that no signal reaches these
 * either. Errors: those of `work`. */
rgm_status rgm_without_signals(rgm_status (*work)(void *payload), void *payload);

/** Threads for jobs that wait for files and queues, as the input pipeline has them. Arithmetic runs
 * in rgm_parallel() instead. */
typedef struct rgm_thread_pool rgm_thread_pool;
/** A pool of `threads` threads, at least 1. Errors: RGM_ERR_ARG, RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_thread_pool_create(rgm_thread_pool **out, int threads);
/** Waits for the submitted jobs, then joins the threads. */
void rgm_thread_pool_release(rgm_thread_pool *pool);
/** Run `work(payload)` in one of the threads; jobs start in the order of submission. RGM_ERR_NOMEM.
 */
rgm_status rgm_thread_pool_submit(rgm_thread_pool *pool, void (*work)(void *payload),
                                  void *payload);

/** A bounded queue of pointers between threads. */
typedef struct rgm_queue rgm_queue;
/** Room for `capacity` items, at least 1. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_queue_create(rgm_queue **out, int64_t capacity);
/** The caller first takes out the items that are left inside. */
void rgm_queue_release(rgm_queue *queue);
/** Wait for room, or for an item. RGM_END when the queue is closed (pop: closed and empty). Each
 * never fails. */
rgm_status rgm_queue_push(rgm_queue *queue, void *item);
rgm_status rgm_queue_pop(rgm_queue *queue, void **item);
/** As pop, but returns RGM_END at once when the queue is empty; never fails. */
rgm_status rgm_queue_try_pop(rgm_queue *queue, void **item);
void rgm_queue_close(rgm_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
