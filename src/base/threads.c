/*
 * Threads for work that waits: workers with one list of jobs, and a bounded queue between threads.
 * A plain mutex and condition are enough: a job here is a record batch or a file and costs
 * thousands of times as much as a lock. The pool of loops (parallel.c) is separate, because its
 * workers must never wait: a job that waits for room in a queue would take a thread from every loop
 * until another thread makes room.
 */
#include "base_internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define MOST_THREADS 1024

typedef struct job {
    void (*work)(void *payload);
    void *payload;
    rgm_logger *log; /* of whoever submitted it; retained */
} job;

struct rgm_thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t *threads;
    int thread_count;
    job *jobs; /* ring: `count` jobs from `first` */
    int64_t first, count, capacity;
    bool closing;
};

static void *work_loop(void *argument)
{
    rgm_thread_pool *pool = argument;

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        job next;
        while (pool->count == 0 && !pool->closing)
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->count == 0)
            break;
        next = pool->jobs[pool->first];
        pool->first = (pool->first + 1) % pool->capacity;
        pool->count--;
        pthread_mutex_unlock(&pool->lock);
        rgm_logger_enter(next.log);
        next.work(next.payload);
        rgm_logger_enter(NULL);
        rgm_logger_release(next.log);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void hold(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* blocked, it would end the process past its handler: file_guard.c */
    pthread_sigmask(SIG_SETMASK, &all, before);
}

int rgm_thread_start(pthread_t *thread, void *(*work)(void *payload), void *payload)
{
    sigset_t old;
    int error;

    hold(&old);
    error = pthread_create(thread, NULL, work, payload);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return error;
}

rgm_status rgm_without_signals(rgm_status (*work)(void *payload), void *payload)
{
    sigset_t old;
    rgm_status status;

    hold(&old);
    status = work(payload);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return status;
}

static rgm_status start_threads(rgm_thread_pool *pool, int threads)
{
    int error = 0;

    while (error == 0 && pool->thread_count < threads) {
        error = rgm_thread_start(&pool->threads[pool->thread_count], work_loop, pool);
        if (error == 0)
            pool->thread_count++;
    }
    if (error != 0)
        return RGM_FAIL(error == ENOMEM ? RGM_ERR_NOMEM : RGM_ERR_IO,
                        "cannot start thread %d of %d: %s", pool->thread_count + 1, threads,
                        strerror(error));
    return RGM_OK;
}

rgm_status rgm_thread_pool_create(rgm_thread_pool **out, int threads)
{
    rgm_status status = RGM_OK;
    rgm_thread_pool *pool = NULL;

    *out = NULL;
    if (threads < 1 || threads > MOST_THREADS)
        return RGM_FAIL(RGM_ERR_ARG, "%d threads asked for; 1 to %d are possible", threads,
                        MOST_THREADS);
    RGM_GO(RGM_NEW(pool, 1));
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    RGM_GO(RGM_NEW(pool->threads, threads));
    RGM_GO(start_threads(pool, threads));
    *out = pool;
    pool = NULL;
done:
    rgm_thread_pool_release(pool);
    return status;
}

void rgm_thread_pool_release(rgm_thread_pool *pool)
{
    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    rgm_free(pool->threads);
    rgm_free(pool->jobs);
    rgm_free(pool);
}

static rgm_status grow_ring(rgm_thread_pool *pool)
{
    int64_t capacity = pool->capacity == 0 ? 16 : 2 * pool->capacity;
    job *jobs;

    RGM_TRY(RGM_NEW(jobs, capacity));
    for (int64_t i = 0; i < pool->count; i++)
        jobs[i] = pool->jobs[(pool->first + i) % pool->capacity];
    rgm_free(pool->jobs);
    pool->jobs = jobs;
    pool->capacity = capacity;
    pool->first = 0;
    return RGM_OK;
}

rgm_status rgm_thread_pool_submit(rgm_thread_pool *pool, void (*work)(void *payload), void *payload)
{
    rgm_status status = RGM_OK;

    pthread_mutex_lock(&pool->lock);
    if (pool->count == pool->capacity)
        RGM_GO(grow_ring(pool));
    pool->jobs[(pool->first + pool->count) % pool->capacity] =
        (job){work, payload, rgm_logger_retain(rgm_logger_current())};
    pool->count++;
    pthread_cond_signal(&pool->wake);
done:
    pthread_mutex_unlock(&pool->lock);
    return status;
}

struct rgm_queue {
    pthread_mutex_t lock;
    pthread_cond_t room, item;
    void **items;
    int64_t first, count, capacity;
    bool closed;
};

rgm_status rgm_queue_create(rgm_queue **out, int64_t capacity)
{
    rgm_status status = RGM_OK;
    rgm_queue *queue = NULL;

    *out = NULL;
    if (capacity < 1)
        return RGM_FAIL(RGM_ERR_ARG, "queue capacity is %lld", (long long)capacity);
    RGM_GO(RGM_NEW(queue, 1));
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->room, NULL);
    pthread_cond_init(&queue->item, NULL);
    queue->capacity = capacity;
    RGM_GO(RGM_NEW(queue->items, capacity));
    *out = queue;
    queue = NULL;
done:
    rgm_queue_release(queue);
    return status;
}

void rgm_queue_release(rgm_queue *queue)
{
    if (queue == NULL)
        return;
    pthread_cond_destroy(&queue->item);
    pthread_cond_destroy(&queue->room);
    pthread_mutex_destroy(&queue->lock);
    rgm_free(queue->items);
    rgm_free(queue);
}

rgm_status rgm_queue_push(rgm_queue *queue, void *item)
{
    rgm_status status = RGM_END;

    pthread_mutex_lock(&queue->lock);
    while (queue->count == queue->capacity && !queue->closed)
        pthread_cond_wait(&queue->room, &queue->lock);
    if (!queue->closed) {
        queue->items[(queue->first + queue->count) % queue->capacity] = item;
        queue->count++;
        pthread_cond_signal(&queue->item);
        status = RGM_OK;
    }
    pthread_mutex_unlock(&queue->lock);
    return status;
}

static rgm_status take_item(rgm_queue *queue, void **item, bool wait)
{
    rgm_status status = RGM_END;

    *item = NULL;
    pthread_mutex_lock(&queue->lock);
    while (wait && queue->count == 0 && !queue->closed)
        pthread_cond_wait(&queue->item, &queue->lock);
    if (queue->count > 0) {
        *item = queue->items[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
        pthread_cond_signal(&queue->room);
        status = RGM_OK;
    }
    pthread_mutex_unlock(&queue->lock);
    return status;
}

rgm_status rgm_queue_pop(rgm_queue *queue, void **item)
{
    return take_item(queue, item, true);
}

rgm_status rgm_queue_try_pop(rgm_queue *queue, void **item)
{
    return take_item(queue, item, false);
}

void rgm_queue_close(rgm_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->room);
    pthread_cond_broadcast(&queue->item);
    pthread_mutex_unlock(&queue->lock);
}
