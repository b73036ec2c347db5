/*
 * Training with products in bf16 beside the same training in f32: near losses and gradients, f32
 * parameters, the same bits from any number of threads, and nothing but f32 products touched. What
 * the row of this CPU does is tested in the kernels layer; this program also runs as a test of its
 * own with REGIMEN_ISA=reference, whose row always rounds.
 */
#include <lab.h>

enum { ROWS = 128, WIDTH = 96, CLASSES = 6, LAYERS = 3, TENSORS = 2 * LAYERS, STEPS = 200 };

/* A perceptron of two hidden layers, smooth so that rounding moves gradients a little only; rows
 * are to be told from each other by a random direction. */
typedef struct net {
    rgm_cgraph *graph;
    rgm_value *fetches[1 + TENSORS]; /* loss, gradients */
    rgm_parameters *parameters;
    rgm_executor *executor;
    rgm_feed feeds[2];
    rgm_tensor *fetched[1 + TENSORS];
} net;

static rgm_value *dense(rgm_cgraph *graph, rgm_value *x, int layer, rgm_dtype dtype)
{
    const int64_t shape[] = {WIDTH, layer + 1 < LAYERS ? WIDTH : CLASSES};
    char weight[16], bias[16];

    snprintf(weight, sizeof weight, "w%d", layer);
    snprintf(bias, sizeof bias, "b%d", layer);
    x = rgm_matmul(
        x, rgm_parameter(graph, weight, dtype, 2, shape, (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0}));
    return rgm_add(x,
                   rgm_parameter(graph, bias, dtype, 1, shape + 1, (rgm_init){RGM_INIT_ZEROS, 0}));
}

static void feeds_create(net *n, rgm_value *x, rgm_value *labels, rgm_dtype dtype)
{
    rgm_rng rng = rgm_rng_stream(3, "rows", 0);

    n->feeds[0].input = x;
    n->feeds[1].input = labels;
    CHECK_OK(rgm_tensor_create(&n->feeds[0].tensor, dtype, 2, (int64_t[]){ROWS, WIDTH}));
    CHECK_OK(rgm_tensor_create(&n->feeds[1].tensor, RGM_I32, 1, (int64_t[]){ROWS}));
    for (int i = 0; i < ROWS; i++) {
        double along = 0;
        for (int j = 0; j < WIDTH; j++) {
            double number = rgm_rng_normal(&rng, (uint64_t)(i * WIDTH + j));
            along += j % 7 == 0 ? number : 0;
            if (dtype == RGM_F32)
                rgm_tensor_f32(n->feeds[0].tensor)[i * WIDTH + j] = (float)number;
            else
                rgm_tensor_f64(n->feeds[0].tensor)[i * WIDTH + j] = number;
        }
        rgm_tensor_i32(n->feeds[1].tensor)[i] = along > 2   ? 0
                                                : along > 0 ? 1 + i % 2
                                                            : 3 + i % (CLASSES - 3);
    }
}

static void net_open(net *n, rgm_dtype dtype, const rgm_executor_options *options)
{
    rgm_value *x, *labels, *h, *wrt[TENSORS];

    memset(n, 0, sizeof *n);
    CHECK_OK(rgm_cgraph_create(&n->graph));
    h = x = rgm_input(n->graph, "x", dtype, 2, (rgm_dim[]){ROWS, WIDTH});
    labels = rgm_input(n->graph, "labels", RGM_I32, 1, (rgm_dim[]){ROWS});
    for (int layer = 0; layer < LAYERS; layer++) {
        h = dense(n->graph, h, layer, dtype);
        h = layer + 1 < LAYERS ? rgm_tanh(h) : h;
    }
    n->fetches[0] = rgm_mean(rgm_softmax_cross_entropy(h, labels));
    for (int i = 0; i < TENSORS; i++)
        wrt[i] = rgm_cgraph_parameter(n->graph, i);
    CHECK_OK(rgm_cgraph_gradients(n->fetches + 1, n->fetches[0], wrt, TENSORS));
    CHECK_OK(rgm_parameters_create(&n->parameters, n->graph, 5));
    CHECK_OK(rgm_executor_create(&n->executor, n->graph, n->fetches, 1 + TENSORS, options));
    feeds_create(n, x, labels, dtype);
}

static void net_close(net *n)
{
    rgm_tensor_release(n->feeds[0].tensor);
    rgm_tensor_release(n->feeds[1].tensor);
    rgm_executor_release(n->executor);
    rgm_parameters_release(n->parameters);
    rgm_cgraph_release(n->graph);
}

static double net_run(net *n)
{
    CHECK_OK(rgm_executor_run(n->executor, n->fetched, n->parameters, n->feeds, 2, 1, 0));
    return rgm_tensor_at(n->fetched[0], 0);
}

/* Loss before the first and after the last step of plain gradient descent. */
static double net_train(net *n, double *first)
{
    *first = net_run(n);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < TENSORS; i++) {
            float *w = rgm_tensor_f32(rgm_parameters_tensor(n->parameters, i));
            for (int64_t k = 0; k < rgm_tensor_count(n->fetched[1 + i]); k++)
                w[k] -= 0.1F * rgm_tensor_f32(n->fetched[1 + i])[k];
        }
        rgm_parameters_touch(n->parameters);
        net_run(n);
    }
    return rgm_tensor_at(n->fetched[0], 0);
}

/* Whether the product of this CPU rounds at all. */
static bool rounds(void)
{
    return rgm_kernels_for(rgm_device_cpu(), RGM_BF16)->matmul !=
           rgm_kernels_for(rgm_device_cpu(), RGM_F32)->matmul;
}

static void two_hundred_steps_reach_the_loss_of_f32(void **state)
{
    const rgm_executor_options options = {.training = true, .bf16 = true};
    net f32, bf16;
    double first, other, last, got;

    (void)state;
    net_open(&f32, RGM_F32, NULL);
    net_open(&bf16, RGM_F32, &options);
    last = net_train(&f32, &first);
    got = net_train(&bf16, &other);
    CHECK(last < 0.2 * first);
    CHECK_CLOSE(other, first, 0.01, 0);
    CHECK_CLOSE(got, last, 0.05, 0.01);
    CHECK((got != last) == rounds());
    for (int i = 0; i < TENSORS; i++)
        CHECK_INT(RGM_F32, rgm_tensor_dtype(rgm_parameters_tensor(bf16.parameters, i)));
    net_close(&f32);
    net_close(&bf16);
}

/* Two rounded operands, three layers deep: a few times 2^-8 of each gradient's length. */
static void gradients_are_near_those_of_f32(void **state)
{
    const rgm_executor_options modes[] = {{.bf16 = true}, {.bf16 = true, .eager = true}};
    net f32, bf16;

    (void)state;
    net_open(&f32, RGM_F32, NULL);
    net_run(&f32);
    for (int mode = 0; mode < 2; mode++) {
        net_open(&bf16, RGM_F32, &modes[mode]);
        net_run(&bf16);
        for (int i = 0; i <= TENSORS; i++) {
            double error = 0, size = 0;
            for (int64_t k = 0; k < rgm_tensor_count(f32.fetched[i]); k++) {
                double want = rgm_tensor_at(f32.fetched[i], k);
                double off = rgm_tensor_at(bf16.fetched[i], k) - want;
                error += off * off;
                size += want * want;
            }
            if (!(sqrt(error) <= 0x1p-6 * sqrt(size)))
                fail_msg("fetch %d: off by %g of %g", i, sqrt(error), sqrt(size));
        }
        net_close(&bf16);
    }
    net_close(&f32);
}

static void check_same_bits(net *a, net *b)
{
    for (int i = 0; i <= TENSORS; i++)
        CHECK(rgm_tensor_equal(a->fetched[i], b->fetched[i]));
}

static void the_number_of_threads_changes_no_bit(void **state)
{
    const rgm_executor_options options = {.bf16 = true};
    net one, many;
    int before = rgm_threads();

    (void)state;
    net_open(&one, RGM_F32, &options);
    net_open(&many, RGM_F32, &options);
    rgm_threads_set(1);
    net_run(&one);
    for (int threads = 2; threads <= 4; threads++) {
        rgm_threads_set(threads);
        net_run(&many);
        check_same_bits(&one, &many);
    }
    rgm_threads_set(before);
    net_close(&one);
    net_close(&many);
}

static void double_is_computed_in_double(void **state)
{
    const rgm_executor_options options = {.bf16 = true};
    net plain, bf16;

    (void)state;
    net_open(&plain, RGM_F64, NULL);
    net_open(&bf16, RGM_F64, &options);
    net_run(&plain);
    net_run(&bf16);
    check_same_bits(&plain, &bf16);
    net_close(&plain);
    net_close(&bf16);
}

/* A convolution multiplies with the table's product too; the reference's goes tap by tap in f32. */
static void convolutions_take_the_same_products(void **state)
{
    const int64_t image[] = {2, 14, 14, 32}, kernel[] = {3, 3, 32, 64};
    const rgm_executor_options modes[] = {{.bf16 = false}, {.bf16 = true}};
    rgm_tensor *got[2][2];
    rgm_executor *executor[2];
    double error = 0, size = 0;
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *w = lab_input(&l, 4, kernel);
    rgm_value *y = rgm_conv2d(lab_input(&l, 4, image), w, &(rgm_conv2d_options){0});
    rgm_value *fetches[] = {y, NULL};
    CHECK_OK(rgm_cgraph_gradients(&fetches[1], rgm_mean(rgm_square(y)), &w, 1));
    for (int mode = 0; mode < 2; mode++) {
        CHECK_OK(rgm_executor_create(&executor[mode], l.graph, fetches, 2, &modes[mode]));
        CHECK_OK(rgm_executor_run(executor[mode], got[mode], NULL, l.feeds, l.count, 1, 0));
    }
    for (int i = 0; i < 2; i++) {
        for (int64_t k = 0; k < rgm_tensor_count(got[0][i]); k++) {
            double want = rgm_tensor_at(got[0][i], k), off = rgm_tensor_at(got[1][i], k) - want;
            error += off * off;
            size += want * want;
        }
        CHECK(sqrt(error) <= 0x1p-7 * sqrt(size));
        CHECK((error > 0) == (rounds() && strcmp(rgm_kernels_for(rgm_device_cpu(), RGM_BF16)->isa,
                                                 "reference") != 0));
    }
    rgm_executor_release(executor[0]);
    rgm_executor_release(executor[1]);
    lab_close(&l);
}

TESTS(cmocka_unit_test(convolutions_take_the_same_products),
      cmocka_unit_test(two_hundred_steps_reach_the_loss_of_f32),
      cmocka_unit_test(gradients_are_near_those_of_f32),
      cmocka_unit_test(the_number_of_threads_changes_no_bit),
      cmocka_unit_test(double_is_computed_in_double))
