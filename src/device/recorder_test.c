/*
 * Launches that are held back, recorded and replayed: on a driver that writes down what it runs,
 * and on OpenCL's device, where a replayed step leaves the bytes of one that is launched.
 */
#include "device_internal.h"

#include <check.h>

/* ---- a driver that writes down --------------------------------------------------------------- */

enum { MOST = 64 };

static struct fake {
    rgmi_kernel_call ran[MOST]; /* arguments: the first alone */
    rgm_argument first[MOST];
    int count, graphs, made;
    rgm_status fails_make, fails_set, fails_run;
    int set_before_failing;
} fake;

typedef struct fake_graph {
    int64_t count;
    rgmi_kernel_call launches[MOST];
    rgm_argument first[MOST];
} fake_graph;

static rgm_status ran(const rgmi_kernel_call *l, const rgm_argument *first)
{
    CHECK(fake.count < MOST);
    fake.first[fake.count] = *first;
    fake.ran[fake.count++] = *l;
    return RGM_OK;
}

static rgm_status fake_launch(void *state, void *kernel, int64_t groups, int lanes,
                              const void *flag, const rgm_argument *arguments, int count,
                              rgm_dtype real)
{
    const rgmi_kernel_call l = {kernel, groups, lanes, count, flag, arguments, real, NULL};

    (void)state;
    if (groups == 99)
        return RGM_FAIL(RGM_ERR_ARG, "99 groups");
    return ran(&l, arguments);
}

static rgm_status fake_set(void *state, void *graph, int64_t i, const rgmi_kernel_call *launch)
{
    fake_graph *g = graph;

    (void)state;
    if (fake.fails_set != RGM_OK && fake.set_before_failing-- == 0)
        return RGM_FAIL(fake.fails_set, "cannot set");
    g->launches[i] = *launch;
    g->first[i] = launch->arguments[0];
    return RGM_OK;
}

static rgm_status fake_make(void **graph, void *state, const rgmi_kernel_call *launches,
                            int64_t count)
{
    fake_graph *g;

    if (fake.fails_make != RGM_OK)
        return RGM_FAIL(fake.fails_make, "cannot make");
    RGM_TRY(RGM_NEW(g, 1));
    g->count = count;
    for (int64_t i = 0; i < count; i++)
        CHECK_OK(fake_set(state, g, i, &launches[i]));
    *graph = g;
    fake.graphs++;
    fake.made++;
    return RGM_OK;
}

static rgm_status fake_run(void *state, void *graph)
{
    const fake_graph *g = graph;

    (void)state;
    if (fake.fails_run != RGM_OK)
        return RGM_FAIL(fake.fails_run, "cannot run");
    for (int64_t i = 0; i < g->count; i++)
        CHECK_OK(ran(&g->launches[i], &g->first[i]));
    return RGM_OK;
}

static void fake_free(void *state, void *graph)
{
    (void)state;
    rgm_free(graph);
    fake.graphs--;
}

static const rgmi_driver driver = {.launch = fake_launch,
                                   .graph_make = fake_make,
                                   .graph_set = fake_set,
                                   .graph_run = fake_run,
                                   .graph_free = fake_free};
static char kernels[80]; /* their addresses are kernels */

static void add(rgmi_recorder *r, int kernel, int64_t groups, int64_t number)
{
    const rgm_argument arguments[] = {rgm_integer(number), rgm_real(0.5)};
    const rgmi_kernel_call l = {.kernel = &kernels[kernel],
                                .groups = groups,
                                .lanes = 32,
                                .count = 2,
                                .arguments = arguments,
                                .tag = &kernels[kernel]};

    CHECK_OK(rgmi_recorder_add(r, &l));
}

static rgm_status flush(rgmi_recorder *r)
{
    const rgmi_kernel_call *failed;
    rgm_status status = rgmi_recorder_flush(&failed, r);

    CHECK((failed != NULL) == (status != RGM_OK));
    rgmi_recorder_drop(r);
    return status;
}

/* Kernels 0, 1, 2 with numbers n, 7, n + 1. */
static rgm_status step(rgmi_recorder *r, int64_t n)
{
    fake.count = 0;
    for (int k = 0; k < 3; k++)
        add(r, k, 4 + k, k == 1 ? 7 : n + k / 2);
    CHECK_INT(0, fake.count); /* held back */
    return flush(r);
}

static void check_step(int64_t n)
{
    CHECK_INT(3, fake.count);
    for (int k = 0; k < 3; k++) {
        CHECK(fake.ran[k].kernel == &kernels[k] && fake.ran[k].groups == 4 + k);
        CHECK_INT(k == 1 ? 7 : n + k / 2, fake.first[k].value.integer);
    }
}

static void check_replays(const rgmi_recorder *r, int64_t made, int64_t runs, int64_t set)
{
    rgmi_replays have = rgmi_recorder_replays(r);

    CHECK_INT(made, have.made);
    CHECK_INT(runs, have.runs);
    CHECK_INT(set, have.set);
}

static void what_comes_again_is_a_graph_of_which_only_changes_are_set(void **state)
{
    rgmi_recorder *r;

    (void)state;
    fake = (struct fake){0};
    CHECK_OK(rgmi_recorder_create(&r, &driver, NULL));
    CHECK_OK(flush(r)); /* nothing */
    for (int64_t i = 0; i < 5; i++) {
        CHECK_OK(step(r, i < 3 ? 10 : 10 * i)); /* the same three times, then 30, 40 */
        check_step(i < 3 ? 10 : 10 * i);
    }
    check_replays(r, 1, 4, 4);
    add(r, 0, 1, 1); /* one alone, and another row: launched */
    CHECK_OK(flush(r));
    for (int i = 0; i < 2; i++)
        add(r, 5 + i, 1, 1);
    CHECK_OK(flush(r));
    check_replays(r, 1, 4, 4);
    CHECK_OK(step(r, 40)); /* the row is still there */
    check_step(40);
    check_replays(r, 1, 5, 4);
    CHECK_OK(rgmi_recorder_add(r, &(rgmi_kernel_call){.kernel = kernels, .tag = kernels}));
    rgmi_recorder_release(r); /* with what is held back */
    CHECK_INT(0, fake.graphs);
}

static void rows_that_are_not_used_make_room(void **state)
{
    rgmi_recorder *r;

    (void)state;
    fake = (struct fake){0};
    CHECK_OK(rgmi_recorder_create(&r, &driver, NULL));
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < 70; k++) {
            fake.count = 0;
            add(r, k, 1, k);
            add(r, k + 1, 1, round);
            CHECK_OK(flush(r));
            CHECK_INT(2, fake.count);
            CHECK_INT(round, fake.first[1].value.integer);
        }
    CHECK_INT(0, fake.made); /* each was gone when it came again */
    for (int k = 60; k < 70; k++) {
        add(r, k, 1, k);
        add(r, k + 1, 1, 5);
        fake.count = 0;
        CHECK_OK(flush(r));
    }
    CHECK_INT(10, fake.made);
    rgmi_recorder_release(r);
    CHECK_INT(0, fake.graphs);
}

static void what_fails_is_told_and_never_run_by_halves(void **state)
{
    rgmi_recorder *r;
    const rgmi_kernel_call *failed;

    (void)state;
    fake = (struct fake){0};
    CHECK_OK(rgmi_recorder_create(&r, &driver, NULL));
    add(r, 0, 1, 1);
    add(r, 1, 99, 1);
    add(r, 2, 1, 1);
    CHECK_STATUS(RGM_ERR_ARG, rgmi_recorder_flush(&failed, r));
    CHECK(failed->tag == &kernels[1] && fake.count == 1);
    rgmi_recorder_drop(r);
    CHECK_OK(step(r, 1));
    fake.fails_make = RGM_ERR_UNSUPPORTED; /* then it is launched as before */
    CHECK_OK(step(r, 2));
    check_step(2);
    fake.fails_make = RGM_ERR_IO;
    CHECK_STATUS(RGM_ERR_IO, step(r, 3));
    fake.fails_make = RGM_OK;
    CHECK_OK(step(r, 4));
    check_step(4);
    fake.fails_set = RGM_ERR_ARG;
    fake.set_before_failing = 1; /* one of two is set */
    CHECK_STATUS(RGM_ERR_ARG, step(r, 5));
    CHECK_INT(0, fake.graphs);
    fake.fails_set = RGM_OK;
    CHECK_OK(step(r, 4));
    check_step(4);
    fake.fails_run = RGM_ERR_IO;
    CHECK_STATUS(RGM_ERR_IO, step(r, 4));
    fake.fails_run = RGM_OK;
    CHECK_OK(step(r, 6));
    check_step(6);
    rgmi_recorder_release(r);
    CHECK_INT(0, fake.graphs);
}

static rgm_status record_some(void)
{
    rgm_status status = RGM_OK;
    const rgmi_kernel_call *failed;
    rgmi_recorder *r = NULL;

    RGM_GO(rgmi_recorder_create(&r, &driver, NULL));
    for (int i = 0; i < 3; i++) {
        const rgm_argument argument = rgm_integer(i);
        fake.count = 0;
        for (int k = 0; k < 2; k++)
            RGM_GO(rgmi_recorder_add(
                r, &(rgmi_kernel_call){.kernel = kernels, .count = 1, .arguments = &argument}));
        RGM_GO(rgmi_recorder_flush(&failed, r));
        rgmi_recorder_drop(r);
    }
done:
    rgmi_recorder_release(r);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fake = (struct fake){0};
    CHECK_EVERY_OOM(record_some(), (void)0);
    CHECK_INT(0, fake.graphs);
}

/* ---- OpenCL ------------------------------------------------------------------------------------
 */

static const char source[] =
    "KERNEL void axpy(FLAG, MEMORY(y), MEMORY(x), long count, REAL factor)\n"
    "{\n"
    "    STOP_IF_RAISED;\n"
    "    for (long i = GROUP * LANES + LANE; i < count; i += GROUPS * LANES)\n"
    "        AT(REAL, y)[i] = fma(factor, AT(const REAL, x)[i], AT(REAL, y)[i]);\n"
    "}\n";

enum { NUMBERS = 1000, STEPS = 6 };

static void axpy(rgm_device *device, void *y, const void *x, double factor)
{
    const rgm_argument arguments[] = {rgm_memory(y), rgm_memory(x), rgm_integer(NUMBERS),
                                      rgm_real(factor)};
    rgm_program *program;
    rgm_device_kernel *kernel;

    CHECK_OK(rgm_device_program(&program, device, "axpy", source, RGM_F32));
    CHECK_OK(rgm_program_find(&kernel, device, program, "axpy"));
    rgm_device_launch(device, kernel, 4, 32, arguments, 4);
}

/* Steps of four launches, in turn by copies; another factor in each, and other memory in the last.
 */
static rgmi_replays run_steps(float out[3][NUMBERS])
{
    float host[NUMBERS];
    rgm_device *device;
    rgmi_replays replays;
    void *m[3];

    CHECK_OK(rgmi_accelerator_open(&device, &rgmi_opencl, 0));
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < NUMBERS; i++)
            host[i] = (float)((i * 7 + k) % 13);
        CHECK_OK(rgm_device_allocate(&m[k], device, sizeof host));
        CHECK_OK(rgm_device_copy_to(device, m[k], host, sizeof host));
    }
    for (int s = 0; s < STEPS; s++) {
        void *last = s + 1 < STEPS ? m[2] : m[0];
        axpy(device, m[0], m[1], 0.5 / (s + 1));
        axpy(device, m[1], m[0], -0.25);
        axpy(device, m[2], m[1], 1);
        axpy(device, m[1], last, 1.0 / 3);
        CHECK_OK(rgm_device_copy_from(device, host, m[0], sizeof host));
        host[s] += 1;
        CHECK_OK(rgm_device_copy_to(device, m[0], host, sizeof host));
    }
    for (int k = 0; k < 3; k++)
        CHECK_OK(rgm_device_copy_from(device, out[k], m[k], sizeof host));
    replays = rgmi_accelerator_replays(device);
    rgm_device_release(device);
    return replays;
}

static void a_replayed_step_has_the_bytes_of_a_launched_one(void **state)
{
    static float plain[3][NUMBERS], replayed[3][NUMBERS];
    rgmi_replays replays;
    int devices;

    (void)state;
    if (rgmi_opencl.count(&devices) != RGM_OK || devices == 0)
        SKIP(rgm_error_message());
    unsetenv("REGIMEN_DEVICE_REPLAY");
    replays = run_steps(plain);
    CHECK_INT(0, replays.made + replays.runs);
    setenv("REGIMEN_DEVICE_REPLAY", "1", 1);
    replays = run_steps(replayed);
    unsetenv("REGIMEN_DEVICE_REPLAY");
    CHECK_INT(1, replays.made);
    CHECK_INT(STEPS - 1, replays.runs);
    CHECK_INT(STEPS - 2 + 1, replays.set); /* a factor in each, and once memory */
    CHECK(memcmp(plain, replayed, sizeof plain) == 0);
}

TESTS(cmocka_unit_test(what_comes_again_is_a_graph_of_which_only_changes_are_set),
      cmocka_unit_test(rows_that_are_not_used_make_room),
      cmocka_unit_test(what_fails_is_told_and_never_run_by_halves),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(a_replayed_step_has_the_bytes_of_a_launched_one))
