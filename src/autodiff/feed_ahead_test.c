/*
 * Feeds that are copied while the run before is under way: every run has the bits that one without
 * has, whatever was said to come, and what has come is not copied again. On a device of one queue
 * whose copies are counted, on one whose second queue is late, and on OpenCL's.
 */
#include "autodiff_check.h"
#include "far_device_check.h"

#include <regimen/device_tensor.h>

enum { BATCHES = 6, WIDTH = 40, TABLE = 500, RUNS = 14 };

/* What is fed, and what was said to come next; -1: nothing was said. Batch 4 has the pattern of
 * batch 1, batch 5 rows of a table. */
static const int fed[RUNS] = {0, 1, 2, 3, 3, 1, 4, 4, 1, 5, 2, 5, 5, 0},
                 said[RUNS] = {1, 2, 3, 3, 2, 4, 4, 1, 5, 2, 5, 5, -1, 0};

typedef struct lesson {
    rgm_cgraph *graph;
    rgm_value *x, *p, *fetches[2];
    rgm_parameters *parameters;
    rgm_tensor *table, *xs[BATCHES];
    rgm_pattern *ps[BATCHES];
    int now;
    int64_t ahead; /* bytes that were copied meanwhile */
    rgm_status status;
} lesson;

/* Other numbers of rows in each, so that memory grows. */
static int64_t rows_of(int batch)
{
    static const int64_t rows[BATCHES] = {30, 200, 61, 340, 200, 77};

    return rows[batch];
}

static rgm_tensor *numbers(int64_t rows, int batch)
{
    rgm_tensor *t;

    CHECK_OK(rgm_tensor_create(&t, RGM_F32, 2, (int64_t[]){rows, WIDTH}));
    for (int64_t i = 0; i < rows * WIDTH; i++)
        rgm_tensor_f32(t)[i] = (float)((i * 29 + batch * 7) % 101) / 101;
    return t;
}

static rgm_tensor *rows_of_table(rgm_tensor *table, int64_t count)
{
    rgm_tensor *rows, *some;

    CHECK_OK(rgm_tensor_create(&rows, RGM_I32, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i32(rows)[i] = (int32_t)(i * 13 % TABLE);
    CHECK_OK(rgm_tensor_create(&some, RGM_F32, 2, (int64_t[]){count, WIDTH}));
    rgm_tensor_pick(some, table, rows);
    rgm_tensor_release(rows);
    return some;
}

static rgm_pattern *ring(int64_t rows, int batch)
{
    rgm_pattern *p;
    int64_t from[3 * 400], to[3 * 400];

    for (int64_t i = 0; i < 3 * rows; i++) {
        from[i] = i / 3;
        to[i] = (i * 17 + batch + i % 3) % rows;
    }
    CHECK_OK(rgm_pattern_create(&p, rows, rows, 3 * rows, from, to));
    return p;
}

/* Part of it depends on feeds alone, and is kept while they stay. */
static void open_lesson(lesson *l)
{
    rgm_value *w, *h;

    *l = (lesson){.now = 0};
    CHECK_OK(rgm_cgraph_create(&l->graph));
    rgm_dim n = rgm_cgraph_symbol(l->graph, "n"), m = rgm_cgraph_symbol(l->graph, "m");
    l->x = rgm_input(l->graph, "x", RGM_F32, 2, (rgm_dim[]){n, WIDTH});
    l->p = rgm_input_pattern(l->graph, "p", n, n, m);
    w = rgm_parameter(l->graph, "w", RGM_F32, 2, (int64_t[]){WIDTH, 8},
                      (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
    h = rgm_add(rgm_matmul(rgm_tanh(l->x), w), rgm_matmul(rgm_spmm(l->p, l->x, NULL), w));
    h = rgm_spmm(rgm_transpose_pattern(l->p), h, NULL);
    l->fetches[0] = rgm_mean(rgm_square(h));
    CHECK_OK(rgm_cgraph_gradients(&l->fetches[1], l->fetches[0], &w, 1));
    CHECK_OK(rgm_parameters_create(&l->parameters, l->graph, 1));
    l->table = numbers(TABLE, 9);
    for (int b = 0; b < BATCHES; b++) {
        l->xs[b] = b == 5 ? rows_of_table(l->table, rows_of(b)) : numbers(rows_of(b), b);
        l->ps[b] = b == 4 ? rgm_pattern_retain(l->ps[1]) : ring(rows_of(b), b);
    }
}

static void close_lesson(lesson *l)
{
    for (int b = 0; b < BATCHES; b++) {
        rgm_tensor_release(l->xs[b]);
        rgm_pattern_release(l->ps[b]);
    }
    rgm_tensor_release(l->table);
    rgm_parameters_release(l->parameters);
    rgm_cgraph_release(l->graph);
}

static void feeds_of(rgm_feed feeds[2], const lesson *l, int batch)
{
    feeds[0] = (rgm_feed){.input = l->x, .tensor = l->xs[batch]};
    feeds[1] = (rgm_feed){.input = l->p, .pattern = l->ps[batch]};
}

static void tell_next(rgm_executor *executor, void *payload)
{
    lesson *l = payload;
    int64_t before = far.copied;
    rgm_feed feeds[2];

    if (said[l->now] < 0)
        return;
    feeds_of(feeds, l, said[l->now]);
    l->status = rgm_executor_feed_ahead(executor, feeds, 2);
    l->ahead += far.copied - before;
}

/* All runs; results [RUNS][2] to be released, copied [RUNS]: bytes but for those ahead. */
static rgm_status run_all(rgm_tensor *results[][2], int64_t *copied, lesson *l, rgm_device *device,
                          bool ahead)
{
    const rgm_executor_options options = {.device = device,
                                          .fixed_feeds = true,
                                          .meanwhile = ahead ? tell_next : NULL,
                                          .meanwhile_payload = l};
    rgm_status status = RGM_OK;
    rgm_executor *executor = NULL;
    rgm_tensor *fetched[2];
    rgm_feed feeds[2];

    RGM_GO(rgm_executor_create(&executor, l->graph, l->fetches, 2, &options));
    for (l->now = 0; l->now < RUNS; l->now++) {
        int64_t before = far.copied - l->ahead;

        feeds_of(feeds, l, fed[l->now]);
        RGM_GO(rgm_executor_run(executor, fetched, l->parameters, feeds, 2, 1, 1));
        RGM_GO(l->status);
        copied[l->now] = far.copied - l->ahead - before;
        for (int k = 0; results != NULL && k < 2; k++)
            RGM_GO(rgm_tensor_copy(&results[l->now][k], fetched[k]));
    }
done:
    rgm_executor_release(executor);
    return status;
}

static void check_same(rgm_tensor *a[][2], rgm_tensor *b[][2])
{
    for (int r = 0; r < RUNS; r++)
        for (int k = 0; k < 2; k++) {
            if (!rgm_tensor_equal(a[r][k], b[r][k]))
                fail_msg("run %d, fetch %d: other bits than without", r, k);
            rgm_tensor_release(b[r][k]);
        }
}

static void release_all(rgm_tensor *a[][2])
{
    for (int r = 0; r < 2 * RUNS; r++)
        rgm_tensor_release(a[r / 2][r % 2]);
}

/* What comes back: the flag, the loss and the gradient. */
static const int64_t answer = sizeof(rgm_index_flag) + 4 + WIDTH * 8 * 4;

static void what_has_come_is_not_copied_again(void **state)
{
    rgm_tensor *here[RUNS][2], *there[RUNS][2];
    int64_t plain[RUNS], copied[RUNS], all[RUNS];
    bool stays;
    lesson l;

    (void)state;
    far_open();
    open_lesson(&l);
    CHECK_OK(run_all(here, plain, &l, NULL, false));
    for (int lent = 0; lent < 2; lent++) {
        if (lent)
            CHECK_OK(rgm_device_lend(&stays, far.device, l.table, SIZE_MAX));
        CHECK_OK(run_all(there, all, &l, far.device, false));
        check_same(here, there);
        CHECK_OK(run_all(there, copied, &l, far.device, true));
        check_same(here, there);
        for (int r = 1; r < RUNS; r++) {
            if (said[r - 1] == fed[r])
                CHECK_INT(answer, copied[r]);
            CHECK(copied[r] <= all[r]);
        }
        CHECK(copied[10] == answer && all[10] > answer && copied[13] > answer);
    }
    rgm_tensor_take_back(l.table);
    release_all(here);
    close_lesson(&l);
    far_close();
}

/* ---- a second queue that is as late as it may be ------------------------------------------------
 */

static struct late {
    struct {
        void *to, *bytes;
        size_t size;
    } copies[64];
    int count, marks, arrived;
} late;

static rgm_status late_copy(rgm_device *device, void *to, const void *from, size_t bytes)
{
    void *kept = malloc(bytes);

    (void)device;
    CHECK(late.count < 64 && kept != NULL);
    memcpy(kept, from, bytes);
    late.copies[late.count].to = to;
    late.copies[late.count].bytes = kept;
    late.copies[late.count++].size = bytes;
    return RGM_OK;
}

static rgm_status late_mark(void **mark, rgm_device *device, rgm_device_queue queue)
{
    (void)device;
    *mark = &late.copies[queue];
    late.marks++;
    return RGM_OK;
}

/* Only when kernels wait for them do copies arrive. */
static rgm_status late_follow(rgm_device *device, rgm_device_queue queue, void *mark)
{
    for (int i = 0; queue == RGM_DEVICE_KERNELS && i < late.count; i++) {
        CHECK(mark == &late.copies[RGM_DEVICE_COPIES]);
        CHECK_OK(rgm_device_copy_to(device, late.copies[i].to, late.copies[i].bytes,
                                    late.copies[i].size));
        free(late.copies[i].bytes);
        late.arrived++;
    }
    if (queue == RGM_DEVICE_KERNELS)
        late.count = 0;
    return RGM_OK;
}

static void late_forget(rgm_device *device, void *mark)
{
    (void)device, (void)mark;
    late.marks--;
}

static void kernels_wait_for_what_is_under_way(void **state)
{
    static const rgm_device_ahead ahead = {late_copy, late_mark, late_follow, late_forget};
    rgm_tensor *here[RUNS][2], *there[RUNS][2];
    int64_t copied[RUNS];
    rgm_device_type type;
    rgm_device *device;
    bool stays;
    lesson l;

    (void)state;
    far_open();
    late = (struct late){.count = 0};
    type = *rgm_device_kind(far.device);
    type.ahead = &ahead;
    CHECK_OK(rgm_device_create(&device, &type, NULL));
    open_lesson(&l);
    CHECK_OK(run_all(here, copied, &l, NULL, false));
    for (int lent = 0; lent < 2; lent++) {
        if (lent)
            CHECK_OK(rgm_device_lend(&stays, device, l.table, SIZE_MAX));
        CHECK_OK(run_all(there, copied, &l, device, true));
        check_same(here, there);
        CHECK_INT(0, late.count);
        CHECK_INT(0, late.marks);
    }
    CHECK(late.arrived > 40);
    rgm_tensor_take_back(l.table);
    release_all(here);
    close_lesson(&l);
    rgm_device_release(device);
    far_close();
}

/* A device that compiles its kernels; REGIMEN_DEVICE=cuda:0 says which. */
static bool open_real(rgm_device **device, bool replays)
{
    const char *name = getenv("REGIMEN_DEVICE");

    setenv("REGIMEN_DEVICE_REPLAY", replays ? "1" : "0", 1);
    return rgm_device_open(device, name != NULL ? name : "opencl:0") == RGM_OK;
}

static void copies_ahead_and_replays_change_no_bit(void **state)
{
    rgm_tensor *plain[RUNS][2], *there[RUNS][2];
    int64_t copied[RUNS];
    rgm_device *device;
    bool stays;
    lesson l;

    (void)state;
    if (!open_real(&device, false))
        SKIP(rgm_error_message());
    open_lesson(&l);
    CHECK_OK(run_all(plain, copied, &l, device, false));
    for (int replays = 0; replays < 2; replays++) {
        for (int k = 0; k < 4; k++) {
            if (k == 2)
                CHECK_OK(rgm_device_lend(&stays, device, l.table, SIZE_MAX));
            CHECK_OK(run_all(there, copied, &l, device, k > 0));
            check_same(plain, there);
        }
        rgm_tensor_take_back(l.table);
        if (replays == 0) {
            close_lesson(&l);
            rgm_device_release(device);
            CHECK(open_real(&device, true));
            open_lesson(&l);
        }
    }
    release_all(plain);
    close_lesson(&l);
    rgm_device_release(device);
    unsetenv("REGIMEN_DEVICE_REPLAY");
}

static void elsewhere_it_is_an_error_and_memory_may_lack(void **state)
{
    const rgm_executor_options options = {.fixed_feeds = true};
    int64_t copied[RUNS];
    rgm_executor *executor;
    rgm_feed feeds[2];
    lesson l;

    (void)state;
    far_open();
    open_lesson(&l);
    feeds_of(feeds, &l, 0);
    CHECK_OK(rgm_executor_create(&executor, l.graph, l.fetches, 2, &options));
    CHECK_STATUS(RGM_ERR_ARG, rgm_executor_feed_ahead(executor, feeds, 2));
    CHECK_MESSAGE("outside of options.meanwhile");
    rgm_executor_release(executor);
    CHECK_OK(
        run_all(NULL, copied, &l, far.device, true)); /* weights and patterns keep what is theirs */
    CHECK_EVERY_OOM(run_all(NULL, copied, &l, far.device, true), (void)0);
    close_lesson(&l);
    far_close();
}

TESTS(cmocka_unit_test(kernels_wait_for_what_is_under_way),
      cmocka_unit_test(what_has_come_is_not_copied_again),
      cmocka_unit_test(copies_ahead_and_replays_change_no_bit),
      cmocka_unit_test(elsewhere_it_is_an_error_and_memory_may_lack))
