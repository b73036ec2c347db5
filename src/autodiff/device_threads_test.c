/*
 * Two executors of one device on two threads: an index outside in the one is its error, and stops
 * no kernel of the other. Each waits where the other's kernels are queued, so that it comes about
 * in every run of the test.
 */
#include "device_check.h"

#include <pthread.h>
#include <regimen/autodiff.h>

enum { ROWS = 6, WIDTH = 5, PICKED = 4 };

static rgm_device *device;

/* exp(x[index]) of a parameter x, and its executor. */
typedef struct lesson {
    rgm_cgraph *graph;
    rgm_value *y;
    rgm_feed feed;
    rgm_parameters *parameters;
    rgm_executor *executor;
} lesson;

static void open_lesson(lesson *l, int32_t last, const rgm_executor_options *options)
{
    static const int64_t shape[] = {ROWS, WIDTH}, picked[] = {PICKED};
    rgm_value *x;

    *l = (lesson){.graph = NULL};
    CHECK_OK(rgm_cgraph_create(&l->graph));
    x = rgm_parameter(l->graph, "x", RGM_F32, 2, shape, (rgm_init){RGM_INIT_ONES, 0});
    l->feed.input = rgm_input(l->graph, "index", RGM_I32, 1, picked);
    l->y = rgm_exp(rgm_gather(x, l->feed.input));
    CHECK_OK(rgm_cgraph_status(l->graph));
    CHECK_OK(rgm_parameters_create(&l->parameters, l->graph, 1));
    for (int64_t i = 0; i < ROWS * WIDTH; i++)
        rgm_tensor_f32(rgm_parameters_tensor(l->parameters, 0))[i] = (float)i / 10;
    CHECK_OK(rgm_executor_create(&l->executor, l->graph, &l->y, 1, options));
    CHECK_OK(rgm_tensor_create(&l->feed.tensor, RGM_I32, 1, picked));
    for (int32_t i = 0; i < PICKED; i++)
        rgm_tensor_i32(l->feed.tensor)[i] = i < PICKED - 1 ? i + 1 : last;
}

static void close_lesson(lesson *l)
{
    rgm_executor_release(l->executor);
    rgm_parameters_release(l->parameters);
    rgm_tensor_release(l->feed.tensor);
    rgm_cgraph_release(l->graph);
}

static rgm_status run(lesson *l, rgm_tensor **y)
{
    return rgm_executor_run(l->executor, y, l->parameters, &l->feed, 1, 1, 0);
}

/* ---- the one with the index outside ---------------------------------------------------------- */

typedef struct meeting {
    lesson wrong;
    pthread_t thread;
    pthread_barrier_t queued, done; /* its kernels are queued; the other one has what it computed */
    bool begun;
} meeting;

static void wait_for_other(rgm_executor *executor, void *payload)
{
    meeting *m = payload;

    (void)executor;
    pthread_barrier_wait(&m->queued);
    pthread_barrier_wait(&m->done);
}

static void *run_wrong(void *payload)
{
    static char told[512];
    meeting *m = payload;
    rgm_tensor *y;
    rgm_status status = run(&m->wrong, &y);

    snprintf(told, sizeof told, "%s: %s", rgm_status_name(status),
             status != RGM_OK ? rgm_error_message() : "");
    return told;
}

/* The other has checked its indices, and has yet to compute with them. */
static void begin_wrong(const rgm_op_event *event, void *payload)
{
    meeting *m = payload;

    if (strcmp(event->op, "gather") != 0 || m->begun)
        return;
    m->begun = true;
    CHECK(pthread_create(&m->thread, NULL, run_wrong, m) == 0);
    pthread_barrier_wait(&m->queued);
}

static void an_index_outside_is_no_matter_of_another_thread(void **state)
{
    meeting m = {.begun = false};
    const rgm_executor_options plain = {.device = device}, waits = {.device = device,
                                                                    .meanwhile = wait_for_other,
                                                                    .meanwhile_payload = &m};
    rgm_tensor *y;
    lesson right;
    void *told;

    (void)state;
    CHECK(pthread_barrier_init(&m.queued, NULL, 2) == 0);
    CHECK(pthread_barrier_init(&m.done, NULL, 2) == 0);
    open_lesson(&m.wrong, ROWS, &waits); /* one too many */
    open_lesson(&right, 0, &plain);
    rgm_executor_observe(right.executor, begin_wrong, &m);
    CHECK_OK(run(&right, &y));
    CHECK(m.begun);
    for (int64_t i = 0; i < PICKED; i++)
        for (int64_t k = 0; k < WIDTH; k++) {
            int64_t row = i < PICKED - 1 ? i + 1 : 0;
            CHECK_CLOSE(exp((double)(row * WIDTH + k) / 10), rgm_tensor_f32(y)[i * WIDTH + k], 1e-5,
                        0);
        }
    pthread_barrier_wait(&m.done);
    CHECK(pthread_join(m.thread, &told) == 0);
    if (strstr(told, "RGM_ERR_DATA") == NULL || strstr(told, "gather") == NULL)
        fail_msg("the other thread was told %s", (char *)told);
    rgm_executor_observe(right.executor, NULL, NULL);
    CHECK_OK(run(&right, &y));
    close_lesson(&right);
    close_lesson(&m.wrong);
    pthread_barrier_destroy(&m.queued);
    pthread_barrier_destroy(&m.done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_outside_is_no_matter_of_another_thread),
    };
    int failed;

    device = check_device();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rgm_device_release(device);
    return failed;
}
