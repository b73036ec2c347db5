/*
 * Convolution and batch norm: formulas against plain loops, parameters by name and shape, moving
 * statistics over training steps and their use in evaluation, gradients through the batch's
 * statistics against central differences, failing allocations.
 */
#include <check.h>
#include <regimen/nn.h>

#include <string.h>

enum { MAX = 16, N = 3, H = 4, W = 3, C = 2 };
#define PIXELS (N * H * W)

/* A graph in double with one input of images [batch, H, W, C]. */
typedef struct net {
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_feed feed;
    rgm_value *x;
} net;

/* Element i of the images of a step. */
static double pixel(int64_t i, int step)
{
    return sin(1.3 * (double)i + 0.7 * step) + 0.4 * (double)(i % C) + 0.1 * step;
}

static void feed_step(net *n, int step)
{
    rgm_tensor_release(n->feed.tensor);
    CHECK_OK(rgm_tensor_create(&n->feed.tensor, RGM_F64, 4, (int64_t[]){N, H, W, C}));
    for (int64_t i = 0; i < PIXELS * C; i++)
        rgm_tensor_f64(n->feed.tensor)[i] = pixel(i, step);
}

static void net_open(net *n)
{
    *n = (net){0};
    CHECK_OK(rgm_cgraph_create(&n->graph));
    CHECK_OK(rgm_scope_create(&n->scope, n->graph, RGM_F64));
    n->x = rgm_input(n->graph, "x", RGM_F64, 4,
                     (rgm_dim[]){rgm_cgraph_symbol(n->graph, "batch"), H, W, C});
    n->feed.input = n->x;
    feed_step(n, 0);
}

static void net_close(net *n)
{
    rgm_tensor_release(n->feed.tensor);
    rgm_parameters_release(n->parameters);
    rgm_scope_release(n->scope);
    rgm_cgraph_release(n->graph);
}

static double *parameter(net *n, const char *name)
{
    rgm_tensor *t = rgm_parameters_find(n->parameters, name);

    if (t == NULL)
        fail_msg("no parameter '%s'", name);
    return rgm_tensor_f64(t);
}

/* Element i of parameter p is sin(p + 1.7 i + 0.3); states keep their initial values. */
static void set_parameters(net *n)
{
    CHECK_OK(rgm_cgraph_status(n->graph));
    CHECK_OK(rgm_parameters_create(&n->parameters, n->graph, 7));
    for (int64_t p = 0; p < rgm_parameters_count(n->parameters); p++)
        for (int64_t i = 0; rgm_parameters_trainable(n->parameters, p) &&
                            i < rgm_tensor_count(rgm_parameters_tensor(n->parameters, p));
             i++)
            rgm_tensor_f64(rgm_parameters_tensor(n->parameters, p))[i] =
                sin((double)p + 1.7 * (double)i + 0.3);
    rgm_parameters_touch(n->parameters);
}

/* Run once; returns a copy of the fetched tensor. */
static rgm_tensor *fetch(net *n, rgm_value *y, bool training)
{
    rgm_executor_options options = {.training = training};
    rgm_executor *executor;
    rgm_tensor *fetched, *copy;

    CHECK_OK(rgm_executor_create(&executor, n->graph, &y, 1, &options));
    CHECK_OK(rgm_executor_run(executor, &fetched, n->parameters, &n->feed, 1, 3, 0));
    CHECK_OK(rgm_tensor_copy(&copy, fetched));
    rgm_executor_release(executor);
    return copy;
}

static void conv_is_a_sum_over_taps(void **state)
{
    net n;
    rgm_conv2d_layer_options options = RGM_CONV2D_LAYER_OPTIONS_INIT;

    (void)state;
    options.activation = RGM_ACT_RELU;
    options.l2 = 0.5;
    net_open(&n);
    rgm_value *y = rgm_conv2d_layer(n.scope, "c", n.x, 5, &options);
    CHECK_INT(4, rgm_value_rank(y));
    CHECK_INT(H, rgm_value_dim(y, 1));
    CHECK_INT(5, rgm_value_dim(y, 3));
    CHECK(rgm_scope_loss(n.scope) != NULL);
    set_parameters(&n);
    CHECK_INT(3 * 3 * C * 5 + 5, rgm_parameters_total(n.parameters));
    const double *w = parameter(&n, "c/kernel"), *b = parameter(&n, "c/bias");
    rgm_tensor *result = fetch(&n, y, false);
    for (int p = 0; p < PIXELS; p++)
        for (int f = 0; f < 5; f++) {
            double sum = b[f];
            for (int t = 0; t < 9 * C; t++) {
                int r = p / W % H + t / C / 3 - 1, c = p % W + t / C % 3 - 1;
                if (r >= 0 && r < H && c >= 0 && c < W)
                    sum += w[t * 5 + f] * pixel(((p / W / H * H + r) * W + c) * C + t % C, 0);
            }
            CHECK_CLOSE(rgm_tensor_f64(result)[p * 5 + f], fmax(sum, 0), 1e-12, 1e-12);
        }
    rgm_tensor_release(result);
    net_close(&n);
}

static void kernels_start_by_the_fans_of_their_taps(void **state)
{
    net n;
    double most = 0;

    (void)state;
    net_open(&n);
    rgm_conv2d_layer_options options = RGM_CONV2D_LAYER_OPTIONS_INIT;
    options.bias = false;
    rgm_conv2d_layer(n.scope, "c", n.x, 4, &options);
    CHECK_OK(rgm_cgraph_status(n.graph));
    CHECK_OK(rgm_parameters_create(&n.parameters, n.graph, 1));
    CHECK_INT(1, rgm_parameters_count(n.parameters));
    for (int i = 0; i < 9 * C * 4; i++)
        most = fmax(most, fabs(parameter(&n, "c/kernel")[i]));
    CHECK(most <= sqrt(6.0 / 54) && most > 0.9 * sqrt(6.0 / 54)); /* 9 * (2 + 4) */
    net_close(&n);
}

/* Mean and biased variance of channel c of a step's images. */
static void statistics(double *mean, double *variance, int c, int step)
{
    *mean = *variance = 0;
    for (int p = 0; p < PIXELS; p++)
        *mean += pixel(p * C + c, step) / PIXELS;
    for (int p = 0; p < PIXELS; p++)
        *variance += pow(pixel(p * C + c, step) - *mean, 2) / PIXELS;
}

/* Compare either form of y, in training and in evaluation, with the formula. */
static void check_normed(net *n, rgm_value *y, bool training, const double *mean,
                         const double *variance, double epsilon, int step)
{
    const double *gamma = parameter(n, "norm/gamma"), *beta = parameter(n, "norm/beta");
    rgm_tensor *result = fetch(n, y, training);

    for (int i = 0; i < PIXELS * C; i++) {
        int c = i % C;
        double want = (pixel(i, step) - mean[c]) / sqrt(variance[c] + epsilon) * gamma[c] + beta[c];
        CHECK_CLOSE(rgm_tensor_f64(result)[i], want, 1e-10, 1e-12);
    }
    rgm_tensor_release(result);
}

static void update(net *n, rgm_executor *training)
{
    rgm_tensor *fetched[MAX];

    CHECK_OK(rgm_executor_run(training, fetched, n->parameters, &n->feed, 1, 3, 0));
    CHECK_OK(rgm_parameters_update(n->parameters, n->graph, fetched));
}

static void train_step(net *n, rgm_executor *training, int step)
{
    feed_step(n, step);
    update(n, training);
}

static rgm_executor *open_training(net *n)
{
    rgm_value *next[MAX];
    rgm_executor *executor;
    rgm_executor_options options = {.training = true};
    int64_t count = rgm_cgraph_update_count(n->graph);

    for (int64_t i = 0; i < count; i++)
        next[i] = rgm_cgraph_update_next(n->graph, i);
    CHECK_OK(rgm_executor_create(&executor, n->graph, next, count, &options));
    return executor;
}

/* Images and the same numbers as rows. */
static void statistics_move_in_training_and_serve_evaluation(void **state)
{
    const rgm_batch_norm_options options = {.momentum = 0.9, .epsilon = 0.01};

    (void)state;
    for (int form = 0; form < 2; form++) {
        net n;
        double mean[C] = {0, 0}, variance[C] = {1, 1}, m[C], v[C];
        net_open(&n);
        rgm_value *x = form ? rgm_reshape(n.x, 2, (rgm_dim[]){RGM_INFER, C}) : n.x;
        rgm_value *y = rgm_batch_norm(n.scope, "norm", x, &options);
        set_parameters(&n);
        CHECK_INT(4, rgm_parameters_count(n.parameters));
        CHECK_INT(2, rgm_cgraph_update_count(n.graph));
        rgm_executor *training = open_training(&n);
        for (int step = 0; step < 5; step++) {
            train_step(&n, training, step);
            for (int c = 0; c < C; c++) {
                statistics(&m[c], &v[c], c, step);
                mean[c] = 0.9 * mean[c] + 0.1 * m[c];
                variance[c] = 0.9 * variance[c] + 0.1 * v[c];
                CHECK_CLOSE(parameter(&n, "norm/moving_mean")[c], mean[c], 1e-12, 1e-14);
                CHECK_CLOSE(parameter(&n, "norm/moving_variance")[c], variance[c], 1e-12, 0);
            }
            check_normed(&n, y, true, m, v, 0.01, step);
            check_normed(&n, y, false, mean, variance, 0.01, step);
        }
        rgm_executor_release(training);
        net_close(&n);
    }
}

/* As in Keras, each call updates the averages, the second from where the first left them. */
static void a_layer_called_twice_moves_its_statistics_twice(void **state)
{
    net n;
    double m, v;

    (void)state;
    net_open(&n);
    rgm_batch_norm(n.scope, "norm", n.x, NULL);
    rgm_batch_norm(n.scope, "norm", rgm_scale(n.x, 2), NULL);
    set_parameters(&n);
    CHECK_INT(2, rgm_cgraph_update_count(n.graph));
    rgm_executor *training = open_training(&n);
    train_step(&n, training, 1);
    for (int c = 0; c < C; c++) {
        statistics(&m, &v, c, 1);
        CHECK_CLOSE(parameter(&n, "norm/moving_mean")[c], 0.99 * 0.01 * m + 0.01 * 2 * m, 1e-12,
                    1e-14);
        CHECK_CLOSE(parameter(&n, "norm/moving_variance")[c],
                    0.99 * (0.99 + 0.01 * v) + 0.01 * 4 * v, 1e-12, 0);
    }
    rgm_executor_release(training);
    net_close(&n);
}

/* As a subgraph's that reaches no node of a set. One with rows counts to the last bit. */
static void a_batch_without_rows_leaves_the_statistics(void **state)
{
    static const char *const names[] = {"norm/moving_mean", "norm/moving_variance"};
    const int64_t none[] = {0, H, W, C};

    (void)state;
    for (int form = 0; form < 2; form++) {
        net n;
        double before[2][C];
        net_open(&n);
        rgm_value *x = form ? rgm_reshape(n.x, 2, (rgm_dim[]){RGM_INFER, C}) : n.x;
        rgm_value *moments = rgm_batch_moments(x);
        rgm_batch_norm(n.scope, "norm", x, NULL);
        set_parameters(&n);
        rgm_executor *training = open_training(&n);
        train_step(&n, training, 1);
        for (int i = 0; i < 2; i++)
            memcpy(before[i], parameter(&n, names[i]), sizeof before[i]);
        rgm_tensor_release(n.feed.tensor);
        CHECK_OK(rgm_tensor_create(&n.feed.tensor, RGM_F64, 4, none));
        update(&n, training);
        for (int i = 0; i < 2; i++)
            CHECK(memcmp(before[i], parameter(&n, names[i]), sizeof before[i]) == 0);
        train_step(&n, training, 2);
        rgm_tensor *m = fetch(&n, moments, true);
        for (int i = 0; i < 2 * C; i++)
            CHECK(parameter(&n, names[i / C])[i % C] ==
                  0.99 * before[i / C][i % C] + (1 - 0.99) * rgm_tensor_f64(m)[i]);
        rgm_tensor_release(m);
        rgm_executor_release(training);
        net_close(&n);
    }
}

/* The loss of a small network at parameters moved along a direction. */
static double loss_along(net *n, rgm_executor *executor, rgm_tensor **fetched, int trial,
                         double step)
{
    rgm_rng rng = rgm_rng_stream(5, "direction", (uint64_t)trial);
    uint64_t at = 0;

    for (int64_t i = 0; i < rgm_parameters_count(n->parameters); i++) {
        rgm_tensor *t = rgm_parameters_tensor(n->parameters, i);
        for (int64_t k = 0; rgm_parameters_trainable(n->parameters, i) && k < rgm_tensor_count(t);
             k++)
            rgm_tensor_f64(t)[k] += step * rgm_rng_normal(&rng, at++);
    }
    rgm_parameters_touch(n->parameters);
    CHECK_OK(rgm_executor_run(executor, fetched, n->parameters, &n->feed, 1, 1, 1));
    return rgm_tensor_f64(fetched[0])[0];
}

/* The derivative of the loss along the direction, from its gradients. */
static double slope_along(net *n, rgm_tensor *const *gradients, int trial)
{
    rgm_rng rng = rgm_rng_stream(5, "direction", (uint64_t)trial);
    uint64_t at = 0;
    double slope = 0;

    for (int64_t i = 0; i < rgm_parameters_count(n->parameters); i++)
        for (int64_t k = 0;
             rgm_parameters_trainable(n->parameters, i) && k < rgm_tensor_count(gradients[i]); k++)
            slope += rgm_tensor_f64(gradients[i])[k] * rgm_rng_normal(&rng, at++);
    return slope;
}

static void gradients_go_through_the_statistics_of_the_batch(void **state)
{
    static const rgm_executor_options modes[] = {{.training = true},
                                                 {.training = true, .no_fusion = true}};
    net n;
    rgm_value *wrt[MAX], *fetches[MAX];
    rgm_tensor *fetched[MAX];
    rgm_executor *executor;

    (void)state;
    net_open(&n);
    rgm_value *h = rgm_tanh(
        rgm_batch_norm(n.scope, "norm", rgm_conv2d_layer(n.scope, "c", n.x, 3, NULL), NULL));
    h = rgm_batch_norm(n.scope, "rows", rgm_global_avg_pool2d(rgm_max_pool2d(h, NULL)), NULL);
    rgm_value *loss = rgm_sum(rgm_square(rgm_dense(n.scope, "d", rgm_tanh(h), 2)));
    int64_t count = rgm_cgraph_parameter_count(n.graph);
    CHECK_INT(12, count);
    fetches[0] = loss;
    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(n.graph, i);
    set_parameters(&n);
    CHECK_OK(rgm_cgraph_gradients(fetches + 1, loss, wrt, count));
    for (int mode = 0; mode < 2; mode++) {
        CHECK_OK(rgm_executor_create(&executor, n.graph, fetches, count + 1, &modes[mode]));
        for (int trial = 0; trial < 40; trial++) {
            const double step = 1e-5;
            loss_along(&n, executor, fetched, trial, 0);
            double slope = slope_along(&n, fetched + 1, trial);
            double up = loss_along(&n, executor, fetched, trial, step);
            double down = loss_along(&n, executor, fetched, trial, -2 * step);
            CHECK_CLOSE(slope, (up - down) / (2 * step), 1e-6, 1e-7);
            loss_along(&n, executor, fetched, trial, step);
        }
        rgm_executor_release(executor);
    }
    net_close(&n);
}

static void mistakes_name_the_layer(void **state)
{
    static const rgm_batch_norm_options fast = {.momentum = 1.5, .epsilon = 1e-3};
    rgm_conv2d_layer_options none = RGM_CONV2D_LAYER_OPTIONS_INIT;

    (void)state;
    none.size[0] = 0;
    for (int i = 0; i < 4; i++) {
        static const char *const part[] = {
            "'c': filters is at least 1, got 0", "'norm': momentum is in [0, 1], got 1.5",
            "'norm': the rank of the input is at least 2, got 1", "(in scope 'c')"};
        net n;
        net_open(&n);
        if (i == 0)
            rgm_conv2d_layer(n.scope, "c", n.x, 0, NULL);
        else if (i == 3)
            rgm_conv2d_layer(n.scope, "c", n.x, 2, &none);
        else
            rgm_batch_norm(
                n.scope, "norm",
                i == 1 ? n.x
                       : rgm_reduce(rgm_reshape(n.x, 2, (rgm_dim[]){RGM_INFER, C}), 0, RGM_SUM),
                i == 1 ? &fast : NULL);
        CHECK(rgm_cgraph_status(n.graph) != RGM_OK);
        CHECK_MESSAGE(part[i]);
        net_close(&n);
    }
}

static rgm_status build_everything(void)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;
    rgm_scope *scope = NULL;
    rgm_value *x;

    RGM_GO(rgm_cgraph_create(&graph));
    RGM_GO(rgm_scope_create(&scope, graph, RGM_F32));
    x = rgm_input(graph, "x", RGM_F32, 4, (rgm_dim[]){rgm_cgraph_symbol(graph, "n"), 8, 8, 3});
    x = rgm_batch_norm(scope, "norm", rgm_conv2d_layer(scope, "c", x, 4, NULL), NULL);
    x = rgm_global_avg_pool2d(rgm_avg_pool2d(rgm_max_pool2d(x, NULL), NULL));
    status = rgm_cgraph_status(graph);
    CHECK(status != RGM_OK || x != NULL);
done:
    rgm_scope_release(scope);
    rgm_cgraph_release(graph);
    return status;
}

static void building_survives_every_failing_allocation(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(build_everything(), (void)0);
}

TESTS(cmocka_unit_test(conv_is_a_sum_over_taps),
      cmocka_unit_test(kernels_start_by_the_fans_of_their_taps),
      cmocka_unit_test(statistics_move_in_training_and_serve_evaluation),
      cmocka_unit_test(a_layer_called_twice_moves_its_statistics_twice),
      cmocka_unit_test(a_batch_without_rows_leaves_the_statistics),
      cmocka_unit_test(gradients_go_through_the_statistics_of_the_batch),
      cmocka_unit_test(mistakes_name_the_layer),
      cmocka_unit_test(building_survives_every_failing_allocation))
