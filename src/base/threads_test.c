/*
 * The worker pool and the queue: every job runs once, waiting ends when it should, nothing is lost.
 * Also run under ThreadSanitizer.
 */
#include <check.h>

#include <errno.h>
#include <pthread.h>
#include <regimen/base_condition.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_int jobs_done;

static void count_job(void *payload)
{
    atomic_fetch_add((atomic_int *)payload, 1);
    atomic_fetch_add(&jobs_done, 1);
}

static void every_job_runs_exactly_once(void **state)
{
    static atomic_int runs[5000];

    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        rgm_thread_pool *pool = NULL;
        for (int i = 0; i < 5000; i++)
            atomic_store(&runs[i], 0);
        CHECK_OK(rgm_thread_pool_create(&pool, threads));
        for (int i = 0; i < 5000; i++)
            CHECK_OK(rgm_thread_pool_submit(pool, count_job, &runs[i]));
        rgm_thread_pool_release(pool); /* waits */
        for (int i = 0; i < 5000; i++)
            CHECK_INT(1, atomic_load(&runs[i]));
    }
}

static void a_pool_may_start_and_stop_without_work(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        rgm_thread_pool *pool = NULL;
        CHECK_OK(rgm_thread_pool_create(&pool, 1 + i % 3));
        rgm_thread_pool_release(pool);
    }
    rgm_thread_pool_release(NULL);
}

static void a_pool_of_no_threads_is_refused(void **state)
{
    rgm_thread_pool *pool = NULL;

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_thread_pool_create(&pool, 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_thread_pool_create(&pool, -3));
    CHECK_STATUS(RGM_ERR_ARG, rgm_thread_pool_create(&pool, 1000000));
    CHECK(pool == NULL);
}

static rgm_status submit_some(void)
{
    static atomic_int runs[100];
    rgm_status status = RGM_OK;
    rgm_thread_pool *pool = NULL;

    RGM_GO(rgm_thread_pool_create(&pool, 2));
    for (int i = 0; i < 100; i++)
        RGM_GO(rgm_thread_pool_submit(pool, count_job, &runs[i]));
done:
    rgm_thread_pool_release(pool);
    return status;
}

static void pool_and_queue_survive_missing_memory(void **state)
{
    rgm_queue *queue = NULL;

    (void)state;
    CHECK_EVERY_OOM(submit_some(), (void)0);
    CHECK_EVERY_OOM(rgm_queue_create(&queue, 100), rgm_queue_release(queue));
}

enum { ITEMS = 20000, PRODUCERS = 3, CONSUMERS = 3 };
static int items[ITEMS];
static atomic_int taken[ITEMS];
static rgm_queue *shared;

static void *produce(void *payload)
{
    for (int i = (int)(intptr_t)payload; i < ITEMS; i += PRODUCERS)
        if (rgm_queue_push(shared, &items[i]) != RGM_OK)
            return payload;
    return NULL;
}

static void *consume(void *payload)
{
    void *item;

    (void)payload;
    while (rgm_queue_pop(shared, &item) == RGM_OK)
        atomic_fetch_add(&taken[(int *)item - items], 1);
    return item; /* NULL at the end */
}

static void items_cross_a_small_queue_once_each(void **state)
{
    pthread_t producers[PRODUCERS], consumers[CONSUMERS];
    void *result;

    (void)state;
    CHECK_OK(rgm_queue_create(&shared, 4));
    for (int i = 0; i < CONSUMERS; i++)
        CHECK_INT(0, pthread_create(&consumers[i], NULL, consume, NULL));
    for (int i = 0; i < PRODUCERS; i++)
        CHECK_INT(0, pthread_create(&producers[i], NULL, produce, (void *)(intptr_t)i));
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_join(producers[i], &result);
        CHECK(result == NULL);
    }
    rgm_queue_close(shared);
    for (int i = 0; i < CONSUMERS; i++) {
        pthread_join(consumers[i], &result);
        CHECK(result == NULL);
    }
    for (int i = 0; i < ITEMS; i++)
        CHECK_INT(1, atomic_load(&taken[i]));
    rgm_queue_release(shared);
}

static void one_thread_sees_the_order_of_pushing(void **state)
{
    rgm_queue *queue = NULL;
    void *item;
    int x[3];

    (void)state;
    CHECK_OK(rgm_queue_create(&queue, 3));
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 3; i++)
            CHECK_OK(rgm_queue_push(queue, &x[i]));
        for (int i = 0; i < 3; i++) {
            CHECK_OK(i % 2 ? rgm_queue_pop(queue, &item) : rgm_queue_try_pop(queue, &item));
            CHECK(item == &x[i]);
        }
        CHECK_STATUS(RGM_END, rgm_queue_try_pop(queue, &item));
        CHECK(item == NULL);
    }
    CHECK_OK(rgm_queue_push(queue, &x[0]));
    rgm_queue_close(queue);
    CHECK_STATUS(RGM_END, rgm_queue_push(queue, &x[1]));
    CHECK_OK(rgm_queue_pop(queue, &item)); /* what is inside still comes out */
    CHECK(item == &x[0]);
    CHECK_STATUS(RGM_END, rgm_queue_pop(queue, &item));
    rgm_queue_release(queue);
    rgm_queue_release(NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_queue_create(&queue, 0));
}

static void *push_until_closed(void *payload)
{
    rgm_queue *queue = payload;
    static int x;

    while (rgm_queue_push(queue, &x) == RGM_OK)
        continue;
    return NULL;
}

static void closing_wakes_those_who_wait_for_room(void **state)
{
    rgm_queue *queue = NULL;
    pthread_t threads[3];

    (void)state;
    for (int round = 0; round < 50; round++) {
        CHECK_OK(rgm_queue_create(&queue, 2));
        for (int i = 0; i < 3; i++)
            CHECK_INT(0, pthread_create(&threads[i], NULL, push_until_closed, queue));
        rgm_queue_close(queue);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        rgm_queue_release(queue);
    }
}

static void a_wait_ends_at_its_deadline(void **state)
{
    static const double seconds[] = {-1.25, 0, 0.01};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;

    (void)state;
    rgm_condition_init(&condition);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 3; i++) {
        double begin = rgm_now();
        struct timespec until;
        int code = 0;

        rgm_deadline(&until, seconds[i]);
        CHECK(until.tv_nsec >= 0 && until.tv_nsec < 1000000000);
        while (code == 0)
            code = pthread_cond_timedwait(&condition, &lock, &until);
        CHECK_INT(ETIMEDOUT, code);
        CHECK(rgm_now() - begin >= seconds[i] - 1e-6);
    }
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&condition);
}

static void *look_at_mask(void *payload)
{
    sigset_t *mask = payload;

    pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

static rgm_status start_another(void *payload)
{
    pthread_t thread;

    CHECK_INT(0, pthread_create(&thread, NULL, look_at_mask, payload));
    pthread_join(thread, NULL);
    return RGM_END;
}

static void check_mask(const sigset_t *mask)
{
    CHECK_INT(1, sigismember(mask, SIGTERM));
    CHECK_INT(1, sigismember(mask, SIGINT));
    CHECK_INT(0, sigismember(mask, SIGBUS));
}

/* Of those that this library starts, and those that another one starts meanwhile. */
static void threads_get_no_signal_but_that_of_a_mapped_file(void **state)
{
    sigset_t mask, after;
    pthread_t thread;

    (void)state;
    CHECK_INT(0, rgm_thread_start(&thread, look_at_mask, &mask));
    pthread_join(thread, NULL);
    check_mask(&mask);
    sigemptyset(&mask);
    CHECK_STATUS(RGM_END, rgm_without_signals(start_another, &mask));
    check_mask(&mask);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    CHECK_INT(0, sigismember(&after, SIGTERM));
}

TESTS(cmocka_unit_test(every_job_runs_exactly_once),
      cmocka_unit_test(a_pool_may_start_and_stop_without_work),
      cmocka_unit_test(a_pool_of_no_threads_is_refused),
      cmocka_unit_test(pool_and_queue_survive_missing_memory),
      cmocka_unit_test(items_cross_a_small_queue_once_each),
      cmocka_unit_test(one_thread_sees_the_order_of_pushing),
      cmocka_unit_test(closing_wakes_those_who_wait_for_room),
      cmocka_unit_test(a_wait_ends_at_its_deadline),
      cmocka_unit_test(threads_get_no_signal_but_that_of_a_mapped_file))
