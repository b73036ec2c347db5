/* The parallel loop: each item once, whoever calls, nested, from many threads, after a fork.
 */
#include <check.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#define COSTLY 1e5 /* nanoseconds an item, so that work is handed out */

static void count_items(void *payload, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        ((int *)payload)[i]++;
}

/* Runs jobs of many sizes; 0 when each item was done once. */
static int rounds_of_work(int rounds)
{
    int done[300], wrong = 0;

    for (int r = 0; r < rounds; r++) {
        int64_t items = (r * 37) % 300;
        memset(done, 0, sizeof done);
        rgm_parallel(items, COSTLY, count_items, done);
        for (int i = 0; i < 300; i++)
            wrong += done[i] != (i < items);
    }
    return wrong;
}

static void each_item_is_done_once_for_any_number_of_threads(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 6; threads++) {
        rgm_threads_set(threads);
        CHECK_INT(threads, rgm_threads());
        CHECK_INT(0, rounds_of_work(400));
    }
    rgm_threads_set(2);
}

static void *caller(void *payload)
{
    *(int *)payload = rounds_of_work(600);
    return NULL;
}

static void several_threads_may_call_at_once(void **state)
{
    pthread_t thread[3];
    int wrong[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        CHECK_INT(0, pthread_create(&thread[i], NULL, caller, &wrong[i]));
    for (int i = 0; i < 3; i++) {
        pthread_join(thread[i], NULL);
        CHECK_INT(0, wrong[i]);
    }
}

static void call_again(void *payload, int64_t begin, int64_t end)
{
    int(*done)[16] = payload;

    for (int64_t i = begin; i < end; i++)
        rgm_parallel(16, COSTLY, count_items, done[i]);
}

static void a_loop_may_run_a_loop(void **state)
{
    int done[40][16] = {{0}};

    (void)state;
    rgm_parallel(40, COSTLY, call_again, done);
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 16; k++)
            CHECK_INT(1, done[i][k]);
}

static void a_forked_child_can_work(void **state)
{
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    SKIP("the thread sanitizer cannot follow a child that starts threads");
#endif
#endif
    (void)state;
    rounds_of_work(10); /* the workers are there */
    for (int i = 0; i < 5; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(rounds_of_work(50) == 0 ? 0 : 1);
        CHECK_INT(child, waitpid(child, &status, 0));
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void sleeping_workers_are_woken_and_not_waited_for(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        usleep(3000); /* longer than a worker waits awake */
        CHECK_INT(0, rounds_of_work(3));
    }
}

/* Who works in a loop of some milliseconds: the caller alone, or workers too. */
typedef struct visitors {
    pthread_t caller;
    atomic_int others;
    int stall_us; /* of a worker, in the middle of its range */
} visitors;

static void visit(void *payload, int64_t begin, int64_t end)
{
    visitors *seen = payload;

    (void)begin;
    (void)end;
    if (pthread_equal(pthread_self(), seen->caller))
        usleep(1000); /* time for others to come */
    else if (atomic_fetch_add(&seen->others, 1) == 0)
        usleep((useconds_t)seen->stall_us);
}

static int others_in_a_loop(int stall_us)
{
    visitors seen = {.caller = pthread_self(), .stall_us = stall_us};

    rgm_parallel(20, COSTLY, visit, &seen);
    return atomic_load(&seen.others);
}

static bool workers_come_within(double seconds, int stall_us)
{
    double until = rgm_now() + seconds;

    while (rgm_now() < until)
        if (others_in_a_loop(stall_us) > 0)
            return true;
    return false;
}

/* As when another program takes the worker's processor. */
static void a_worker_that_stalls_is_left_alone_for_as_long_and_comes_back(void **state)
{
    double returned;
    int others;

    (void)state;
    if (rgm_processors() < 2)
        SKIP("needs two processors");
    rgm_threads_set(2);
    CHECK(workers_come_within(10, 200000)); /* lost: 0.2 s, less what the caller did meanwhile */
    returned = rgm_now();
    others = others_in_a_loop(0);
    if (rgm_now() - returned < 0.1)
        CHECK_INT(0, others);
    CHECK(workers_come_within(10, 0));
}

static void loops_begin_with_the_processors_there_are(void **state)
{
    cpu_set_t mask, one;

    (void)state;
    CHECK_INT(0, sched_getaffinity(0, sizeof mask, &mask));
    CHECK_INT(CPU_COUNT(&mask), rgm_processors());
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &mask))
            CPU_SET(i, &one);
    CHECK_INT(0, sched_setaffinity(0, sizeof one, &one));
    CHECK_INT(1, rgm_processors());
    CHECK_INT(0, sched_setaffinity(0, sizeof mask, &mask));
}

TESTS(cmocka_unit_test(each_item_is_done_once_for_any_number_of_threads),
      cmocka_unit_test(several_threads_may_call_at_once), cmocka_unit_test(a_loop_may_run_a_loop),
      cmocka_unit_test(a_forked_child_can_work),
      cmocka_unit_test(sleeping_workers_are_woken_and_not_waited_for),
      cmocka_unit_test(a_worker_that_stalls_is_left_alone_for_as_long_and_comes_back),
      cmocka_unit_test(loops_begin_with_the_processors_there_are))
