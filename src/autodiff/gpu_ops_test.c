/*
 * Every op and its gradient on a device that compiles its kernels, against the CPU in double: fused
 * and not, op by op, and the same bits in two runs. REGIMEN_DEVICE=cuda:0 says on which; opencl:0
 * otherwise. RGM_CASES=all: every variant, not a third.
 */
#include "op_cases_check.h"
#include "device_check.h"

static rgm_device *device;

static void run(rgm_tensor **results, lab *l, rgm_value *const *fetches, int64_t count,
                const rgm_executor_options *options)
{
    rgm_executor *executor;
    rgm_tensor *borrowed[LAB_MAX];

    CHECK_OK(rgm_executor_create(&executor, l->graph, fetches, count, options));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rgm_executor_run(executor, borrowed, NULL, l->feeds, l->count, 3, 5));
        for (int64_t k = 0; k < count && i == 1; k++)
            if (!rgm_tensor_equal(results[k], borrowed[k]))
                fail_msg("fetch %d: another run has other bits", (int)k);
        for (int64_t k = 0; k < count && i == 0; k++)
            CHECK_OK(rgm_tensor_copy(&results[k], borrowed[k]));
    }
    rgm_executor_release(executor);
}

static double number(const rgm_tensor *t, int64_t i)
{
    return rgm_tensor_dtype(t) == RGM_F64 ? ((const double *)rgm_tensor_data(t))[i]
                                          : ((const float *)rgm_tensor_data(t))[i];
}

/* The squared error in parts of the square; of what is 0 but for rounding, in parts of a small one.
 */
static double distance(const rgm_tensor *here, const rgm_tensor *there)
{
    double error = 0, size = 0, least = 1e-5 * (double)rgm_tensor_count(here);

    CHECK_INT(rgm_tensor_count(here), rgm_tensor_count(there));
    if (rgm_tensor_dtype(here) != RGM_F64 && rgm_tensor_dtype(here) != RGM_F32)
        return rgm_tensor_equal(here, there) ? 0 : INFINITY;
    for (int64_t i = 0; i < rgm_tensor_count(here); i++) {
        double want = number(here, i), got = number(there, i);
        if (want == got || (isnan(want) && isnan(got)))
            continue;
        error += (got - want) * (got - want);
        size += want * want;
    }
    return error > 0 ? error / fmax(size, least) : 0;
}

static void check_close(const char *what, lab *l, rgm_value *const *fetches, int64_t count,
                        rgm_executor_options options, double bound)
{
    rgm_tensor *here[LAB_MAX], *there[LAB_MAX];

    run(here, l, fetches, count, &options);
    options.device = device;
    run(there, l, fetches, count, &options);
    for (int64_t i = 0; i < count; i++) {
        double error = distance(here[i], there[i]);
        if (!(error <= bound))
            fail_msg("%s: fetch %d is off by %.3g, bound %.3g", what, (int)i, error, bound);
        rgm_tensor_release(here[i]);
        rgm_tensor_release(there[i]);
    }
}

/* Every third variant, unless all are asked for. */
static bool is_left_out(int variant)
{
    const char *all = getenv("RGM_CASES");

    return variant % 3 != 0 && (all == NULL || strcmp(all, "all") != 0);
}

/* The value of a case and its gradients; false: there is no such variant. */
static bool case_check(int c, int variant, rgm_dtype dtype, rgm_executor_options options)
{
    rgm_value *wrt[LAB_MAX] = {NULL}, *fetches[LAB_MAX], *loss;
    char what[64];
    int64_t n = 0;
    lab l;

    lab_open(&l, dtype);
    fetches[0] = cases[c].build(&l, variant);
    CHECK_OK(rgm_cgraph_status(l.graph));
    loss = fetches[0] != NULL && !is_left_out(variant) ? lab_loss(&l, fetches[0]) : NULL;
    if (loss != NULL) {
        for (int64_t i = 0; i < l.count; i++)
            if (l.differentiable[i])
                wrt[n++] = l.feeds[i].input;
        CHECK_OK(rgm_cgraph_gradients(fetches + 1, loss, wrt, n));
        snprintf(what, sizeof what, "%s, variant %d", cases[c].op, variant);
        check_close(what, &l, fetches, n + 1, options, dtype == RGM_F64 ? 1e-16 : 1e-6);
    }
    bool more = fetches[0] != NULL;
    lab_close(&l);
    return more;
}

static void every_op_and_gradient_has_the_cpus_numbers(void **state)
{
    static const rgm_executor_options ways[] = {{.training = true},
                                                {.training = true, .no_fusion = true},
                                                {.training = true, .eager = true}};

    (void)state;
    for (int c = 0; c < CASES; c++)
        for (int variant = 0; case_check(c, variant, RGM_F64, ways[variant / 3 % 3]); variant++)
            continue;
}

static void so_it_has_in_single_precision(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++)
        for (int variant = 0;
             case_check(c, variant, RGM_F32, (rgm_executor_options){.training = true}); variant++)
            continue;
}

/* act(x w1) w2 of 8,192 rows: 32 MiB each of x, of what is between and of the result. */
static void memory_that_is_spent_says_what_wanted_it(void **state)
{
    const int64_t side[] = {1024, 1024}, rows[] = {8192, 1024};
    const rgm_executor_options options = {.device = device};
    rgm_parameters *parameters;
    rgm_executor *executor;
    rgm_tensor *fetched;
    rgm_cgraph *graph;
    rgm_value *y;
    rgm_feed feed = {0};
    size_t held;

    (void)state;
    rgm_device_limit(device, 1); /* what is held and free goes back */
    held = rgm_device_memory_of(device).held;
    rgm_device_limit(device, 0);
    CHECK_OK(rgm_cgraph_create(&graph));
    feed.input = rgm_input(graph, "x", RGM_F32, 2, rows);
    y = rgm_relu(rgm_matmul(
        feed.input, rgm_parameter(graph, "w1", RGM_F32, 2, side, (rgm_init){RGM_INIT_ZEROS, 0})));
    y = rgm_matmul(y, rgm_parameter(graph, "w2", RGM_F32, 2, side, (rgm_init){RGM_INIT_ZEROS, 0}));
    CHECK_OK(rgm_parameters_create(&parameters, graph, 1));
    CHECK_OK(rgm_executor_create(&executor, graph, &y, 1, &options));
    CHECK_OK(rgm_tensor_create(&feed.tensor, RGM_F32, 2, rows));
    for (int i = 0; i < 2; i++) {
        rgm_device_limit(device, held + ((size_t)(i == 0 ? 20 : 80) << 20));
        CHECK_STATUS(RGM_ERR_NOMEM,
                     rgm_executor_run(executor, &fetched, parameters, &feed, 1, 1, 0));
        CHECK_MESSAGE(i == 0 ? "the arena: out of memory on " : "input 'x': out of memory on ");
        CHECK_MESSAGE(" MiB wanted; ");
        CHECK_MESSAGE(" MiB would fit");
    }
    rgm_device_limit(device, 0); /* nothing is lost by it */
    CHECK_OK(rgm_executor_run(executor, &fetched, parameters, &feed, 1, 1, 0));
    CHECK(rgm_tensor_at(fetched, 0) == 0);
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    rgm_tensor_release(feed.tensor);
    rgm_cgraph_release(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_and_gradient_has_the_cpus_numbers),
        cmocka_unit_test(so_it_has_in_single_precision),
        cmocka_unit_test(memory_that_is_spent_says_what_wanted_it),
    };
    int failed;

    device = check_device();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    rgm_device_release(device);
    return failed;
}
