/*
 * Tests of the layers: formulas by hand, names and shapes of parameters, sparse rows against the
 * same rows made dense, gradients against central differences, failing allocations.
 */
#include <check.h>
#include <regimen/nn.h>

/* A compute graph with its root scope, in double. */
typedef struct net {
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_feed feeds[8];
    int64_t feed_count;
} net;

static void net_open(net *n)
{
    *n = (net){0};
    CHECK_OK(rgm_cgraph_create(&n->graph));
    CHECK_OK(rgm_scope_create(&n->scope, n->graph, RGM_F64));
}

static void net_close(net *n)
{
    for (int64_t i = 0; i < n->feed_count; i++) {
        rgm_tensor_release(n->feeds[i].tensor);
        rgm_pattern_release(n->feeds[i].pattern);
    }
    rgm_parameters_release(n->parameters);
    rgm_scope_release(n->scope);
    rgm_cgraph_release(n->graph);
}

static rgm_value *dense_input(net *n, const char *name, int64_t rows, int64_t width,
                              const double *data)
{
    int64_t shape[2] = {rows, width};
    rgm_value *x =
        rgm_input(n->graph, name, RGM_F64, 2, (rgm_dim[]){rgm_cgraph_symbol(n->graph, "n"), width});

    n->feeds[n->feed_count].input = x;
    CHECK_OK(rgm_tensor_create_from(&n->feeds[n->feed_count++].tensor, RGM_F64, 2, shape, data));
    return x;
}

static rgm_value *sparse_input(net *n, const char *name, int64_t rows, int64_t width, int64_t count,
                               const int64_t *row, const int64_t *column)
{
    rgm_value *p = rgm_input_pattern(n->graph, name, rgm_cgraph_symbol(n->graph, "n"), width,
                                     rgm_cgraph_symbol(n->graph, "entries"));

    n->feeds[n->feed_count].input = p;
    CHECK_OK(
        rgm_pattern_create(&n->feeds[n->feed_count++].pattern, rows, width, count, row, column));
    return p;
}

/* Give parameters small known numbers: element i of parameter p is sin(p + 1.7 i + 0.3). */
static void set_parameters(net *n)
{
    CHECK_OK(rgm_cgraph_status(n->graph));
    CHECK_OK(rgm_parameters_create(&n->parameters, n->graph, 7));
    for (int64_t p = 0; p < rgm_parameters_count(n->parameters); p++) {
        rgm_tensor *t = rgm_parameters_tensor(n->parameters, p);
        for (int64_t i = 0; i < rgm_tensor_count(t); i++)
            rgm_tensor_f64(t)[i] = sin((double)p + 1.7 * (double)i + 0.3);
    }
    rgm_parameters_touch(n->parameters);
}

static double *parameter(net *n, const char *name)
{
    rgm_tensor *t = rgm_parameters_find(n->parameters, name);

    if (t == NULL)
        fail_msg("no parameter '%s'", name);
    return rgm_tensor_f64(t);
}

/* Run once; returns a copy of the fetched tensor. */
static rgm_tensor *fetch_at(net *n, rgm_value *y, bool training, uint64_t step)
{
    rgm_executor_options options = {.training = training};
    rgm_executor *executor = NULL;
    rgm_tensor *fetched = NULL, *copy = NULL;

    CHECK_OK(rgm_cgraph_status(n->graph));
    CHECK_OK(rgm_executor_create(&executor, n->graph, &y, 1, &options));
    CHECK_OK(rgm_executor_run(executor, &fetched, n->parameters, n->feeds, n->feed_count, 3, step));
    CHECK_OK(rgm_tensor_copy(&copy, fetched));
    rgm_executor_release(executor);
    return copy;
}

static rgm_tensor *fetch(net *n, rgm_value *y)
{
    return fetch_at(n, y, false, 0);
}

static void check_values(net *n, rgm_value *y, const double *expected, int64_t count)
{
    rgm_tensor *t = fetch(n, y);

    CHECK_INT(count, rgm_tensor_count(t));
    for (int64_t i = 0; i < count; i++)
        CHECK_CLOSE(rgm_tensor_f64(t)[i], expected[i], 1e-12, 1e-12);
    rgm_tensor_release(t);
}

static void check_equal(net *n, rgm_value *a, rgm_value *b)
{
    rgm_tensor *t = fetch(n, b);

    check_values(n, a, rgm_tensor_f64(t), rgm_tensor_count(t));
    rgm_tensor_release(t);
}

static const double x23[6] = {1, -2, 3, 0.5, 0, -1};
/* Sparse rows [3, 4]: row 0 {1, 3}, row 1 empty, row 2 {0, 1, 2}. */
static const int64_t sparse_row[5] = {0, 0, 2, 2, 2}, sparse_column[5] = {1, 3, 0, 1, 2};
static const double sparse_dense[12] = {0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 0};

/* A layer with weights that were trained in another graph: the same numbers, and no parameter. */
static void held_weights_are_constants(void **state)
{
    net trained, n;
    rgm_scope *held;
    rgm_value *y;
    rgm_tensor *expected;

    (void)state;
    net_open(&trained);
    y = rgm_dense(rgm_scope_enter(trained.scope, "a"), "b", dense_input(&trained, "x", 2, 3, x23),
                  2);
    set_parameters(&trained);
    expected = fetch(&trained, y);
    net_open(&n);
    y = dense_input(&n, "x", 2, 3, x23);
    CHECK_OK(rgm_scope_create(&held, n.graph, RGM_F64));
    rgm_scope_hold(held, trained.parameters);
    (void)rgm_dense(rgm_scope_enter(n.scope, "a"), "b", y, 2); /* its own, of the same name */
    y = rgm_dense(rgm_scope_enter(held, "a"), "b", y, 2);
    CHECK_INT(2, rgm_cgraph_parameter_count(n.graph));
    set_parameters(&n);
    rgm_parameters_release(trained.parameters); /* the graph has the tensors */
    trained.parameters = NULL;
    check_values(&n, y, rgm_tensor_f64(expected), 4);
    rgm_tensor_release(expected);
    rgm_scope_release(held);
    net_close(&n);
    net_close(&trained);
}

static void held_weights_that_do_not_fit_are_told(void **state)
{
    static const struct {
        const char *scope, *message;
        int64_t units;
        rgm_dtype dtype;
        rgm_status status;
    } cases[] = {{"c", "have no 'c/kernel'", 2, RGM_F64, RGM_ERR_NOT_FOUND},
                 {"b", "'b/kernel' has another shape", 4, RGM_F64, RGM_ERR_SHAPE},
                 {"b", "'b/kernel' is f64, not f32", 2, RGM_F32, RGM_ERR_DTYPE}};
    net trained;

    (void)state;
    net_open(&trained);
    (void)rgm_dense(trained.scope, "b", dense_input(&trained, "x", 2, 3, x23), 2);
    set_parameters(&trained);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_scope *held;
        rgm_value *x;
        net n;

        net_open(&n);
        CHECK_OK(rgm_scope_create(&held, n.graph, cases[i].dtype));
        rgm_scope_hold(held, trained.parameters);
        x = rgm_input(n.graph, "x", cases[i].dtype, 2, (rgm_dim[]){2, 3});
        CHECK(rgm_dense(held, cases[i].scope, x, cases[i].units) == NULL);
        CHECK_STATUS(cases[i].status, rgm_cgraph_status(n.graph));
        CHECK_MESSAGE(cases[i].message);
        rgm_scope_release(held);
        net_close(&n);
    }
    net_close(&trained);
}

static void dense_is_x_w_plus_b_and_names_its_parameters(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_value *x = dense_input(&n, "x", 2, 3, x23);
    rgm_value *y = rgm_dense(rgm_scope_enter(n.scope, "head"), "hidden", x, 2);
    rgm_dense_options relu = RGM_DENSE_OPTIONS_INIT;
    relu.activation = RGM_ACT_RELU;
    rgm_value *z = rgm_dense_with(rgm_scope_enter(n.scope, "head"), "hidden", x, 2, &relu);

    set_parameters(&n);
    CHECK_INT(2, rgm_parameters_count(n.parameters));
    CHECK_TEXT("head/hidden/kernel", rgm_parameters_name(n.parameters, 0));
    CHECK_TEXT("head/hidden/bias", rgm_parameters_name(n.parameters, 1));
    const double *w = parameter(&n, "head/hidden/kernel"), *b = parameter(&n, "head/hidden/bias");
    double expected[4], positive[4];
    for (int r = 0; r < 2; r++)
        for (int u = 0; u < 2; u++) {
            double sum = b[u];
            for (int k = 0; k < 3; k++)
                sum += x23[3 * r + k] * w[2 * k + u];
            expected[2 * r + u] = sum;
            positive[2 * r + u] = sum > 0 ? sum : 0;
        }
    check_values(&n, y, expected, 4);
    check_values(&n, z, positive, 4);
    net_close(&n);
}

static void parameters_start_by_glorot_with_zero_bias(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_dense(n.scope, "a", dense_input(&n, "x", 2, 3, x23), 21);
    CHECK_OK(rgm_parameters_create(&n.parameters, n.graph, 1));
    const double *w = parameter(&n, "a/kernel"), *b = parameter(&n, "a/bias");
    double largest = 0;
    for (int i = 0; i < 63; i++)
        largest = fmax(largest, fabs(w[i]));
    CHECK(largest <= 0.5 && largest > 0.4); /* sqrt(6 / 24) = 0.5 */
    for (int i = 0; i < 21; i++)
        CHECK(b[i] == 0);
    net_close(&n);
}

static void dense_of_higher_rank_works_on_the_last_axis(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_value *x = dense_input(&n, "x", 2, 6, (double[]){1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1});
    rgm_dim three[3] = {rgm_value_dim(x, 0), 2, 3}, two[2] = {RGM_INFER, 3}, four[2];
    rgm_value *y = rgm_dense(n.scope, "a", rgm_reshape(x, 3, three), 2);
    rgm_value *z = rgm_dense(n.scope, "a", rgm_reshape(x, 2, two), 2);

    CHECK_INT(3, rgm_value_rank(y));
    CHECK_INT(2, rgm_value_dim(y, 2));
    four[0] = RGM_INFER, four[1] = 2;
    set_parameters(&n);
    check_equal(&n, rgm_reshape(y, 2, four), z);
    net_close(&n);
}

static void sparse_rows_give_what_the_same_dense_rows_give(void **state)
{
    (void)state;
    net n;
    double expected[12];
    net_open(&n);
    rgm_value *p = sparse_input(&n, "p", 3, 4, 5, sparse_row, sparse_column);
    rgm_value *d = dense_input(&n, "d", 3, 4, sparse_dense);
    rgm_value *weight = rgm_input(n.graph, "w", RGM_F64, 1, &(rgm_dim){rgm_value_shape(p)[2]});
    double numbers[5] = {0.5, -1, 2, 3, 0.25};
    n.feeds[n.feed_count].input = weight;
    CHECK_OK(rgm_tensor_create_from(&n.feeds[n.feed_count++].tensor, RGM_F64, 1, (int64_t[]){5},
                                    numbers));
    rgm_value *plain = rgm_dense(n.scope, "a", p, 3);
    rgm_value *dense = rgm_dense(n.scope, "a", d, 3);
    rgm_value *weighted = rgm_dense_sparse(n.scope, "a", p, weight, 3, NULL);

    set_parameters(&n);
    check_equal(&n, plain, dense);
    const double *w = parameter(&n, "a/kernel"), *b = parameter(&n, "a/bias");
    for (int r = 0; r < 3; r++)
        for (int u = 0; u < 3; u++)
            expected[3 * r + u] = b[u];
    for (int e = 0; e < 5; e++)
        for (int u = 0; u < 3; u++)
            expected[3 * sparse_row[e] + u] += numbers[e] * w[3 * sparse_column[e] + u];
    check_values(&n, weighted, expected, 9);
    net_close(&n);
}

static void concat_dense_is_the_dense_of_the_concat(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_value *p = sparse_input(&n, "p", 3, 4, 5, sparse_row, sparse_column);
    rgm_value *d = dense_input(&n, "d", 3, 4, sparse_dense);
    rgm_value *x = dense_input(&n, "x", 3, 2, x23);
    rgm_value *none = rgm_slice(x, 1, 0, 0);
    rgm_value *y = rgm_dense_concat(n.scope, "a", (rgm_value *[]){x, none, p}, 3, 2, NULL);
    rgm_value *beside = rgm_dense(n.scope, "a", rgm_beside((rgm_value *[]){x, p}, 2), 2);
    rgm_value *together = rgm_dense(n.scope, "a", rgm_concat((rgm_value *[]){x, d}, 2, 1), 2);

    set_parameters(&n);
    CHECK_INT(2, rgm_parameters_count(n.parameters));
    check_equal(&n, y, together);
    check_equal(&n, beside, together);
    net_close(&n);
}

static void dense_of_nothing_is_the_bias(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_value *none = rgm_slice(dense_input(&n, "x", 3, 2, x23), 1, 0, 0);
    rgm_value *y = rgm_dense(n.scope, "a", none, 2);

    set_parameters(&n);
    CHECK_INT(1, rgm_parameters_count(n.parameters));
    const double *b = parameter(&n, "a/bias");
    check_values(&n, y, (double[]){b[0], b[1], b[0], b[1], b[0], b[1]}, 6);
    net_close(&n);
}

static void normalized_rows_sum_to_one_and_zero_rows_stay(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_value *x = dense_input(&n, "x", 3, 2, (double[]){1, 3, 0, 0, -2, 2});
    rgm_value *p = sparse_input(&n, "p", 3, 4, 5, sparse_row, sparse_column);
    rgm_value *y = rgm_normalize_rows(n.scope, x), *once = rgm_normalize_rows(n.scope, p);
    rgm_value *twice = rgm_normalize_rows(n.scope, once), *pattern, *weight;

    set_parameters(&n);
    check_values(&n, y, (double[]){0.25, 0.75, 0, 0, -0.5, 0.5}, 6);
    CHECK(rgm_sparse_parts(&pattern, &weight, once) && pattern == p);
    check_values(&n, weight, (double[]){0.5, 0.5, 1. / 3, 1. / 3, 1. / 3}, 5);
    CHECK(rgm_sparse_parts(&pattern, &weight, twice) && pattern == p);
    check_values(&n, weight, (double[]){0.5, 0.5, 1. / 3, 1. / 3, 1. / 3}, 5);
    net_close(&n);
}

static void dropout_of_sparse_rows_drops_stored_numbers(void **state)
{
    (void)state;
    net n;
    int64_t row[4000], column[4000];
    for (int i = 0; i < 4000; i++)
        row[i] = i / 40, column[i] = i % 40;
    net_open(&n);
    rgm_value *p = sparse_input(&n, "p", 100, 40, 4000, row, column);
    rgm_value *pattern, *weight;
    rgm_value *dropped = rgm_dropout(rgm_scope_enter(n.scope, "a"), p, 0.75);

    CHECK(rgm_dropout(n.scope, p, 0) == p);
    CHECK(rgm_sparse_parts(&pattern, &weight, dropped) && pattern == p);
    set_parameters(&n);
    rgm_tensor *off = fetch(&n, weight), *on = fetch_at(&n, weight, true, 1);
    rgm_tensor *again = fetch_at(&n, weight, true, 1), *later = fetch_at(&n, weight, true, 2);
    int64_t kept = 0;
    for (int i = 0; i < 4000; i++) {
        CHECK(rgm_tensor_f64(off)[i] == 1);
        CHECK(rgm_tensor_f64(on)[i] == 0 || rgm_tensor_f64(on)[i] == 4);
        kept += rgm_tensor_f64(on)[i] != 0;
    }
    CHECK(kept > 880 && kept < 1120); /* 1000 +- 4.4 sigma */
    CHECK(rgm_tensor_equal(on, again) && !rgm_tensor_equal(on, later));
    rgm_tensor_release(off);
    rgm_tensor_release(on);
    rgm_tensor_release(again);
    rgm_tensor_release(later);
    net_close(&n);
}

static void item_dropout_drops_whole_rows_dense_and_sparse_alike(void **state)
{
    (void)state;
    net n;
    int64_t row[200], column[200];
    double ones[300];
    for (int i = 0; i < 200; i++)
        row[i] = i / 2, column[i] = i % 2;
    for (int i = 0; i < 300; i++)
        ones[i] = 1;
    net_open(&n);
    rgm_value *p = sparse_input(&n, "p", 100, 2, 200, row, column);
    rgm_value *x = dense_input(&n, "x", 100, 3, ones);
    rgm_value *pattern, *weight;
    rgm_value *a = rgm_item_dropout(rgm_scope_enter(n.scope, "a"), p, 0.5);
    rgm_value *b = rgm_item_dropout(rgm_scope_enter(n.scope, "b"), x, 0.5);

    set_parameters(&n);
    CHECK(rgm_sparse_parts(&pattern, &weight, a));
    rgm_tensor *sparse = fetch_at(&n, weight, true, 1), *dense = fetch_at(&n, b, true, 1);
    int64_t kept = 0;
    for (int i = 0; i < 100; i++) {
        CHECK(rgm_tensor_f64(sparse)[2 * i] == rgm_tensor_f64(sparse)[2 * i + 1]);
        CHECK(rgm_tensor_f64(dense)[3 * i] == rgm_tensor_f64(dense)[3 * i + 2]);
        kept += rgm_tensor_f64(dense)[3 * i] == 2;
    }
    CHECK(kept > 25 && kept < 75);
    rgm_tensor_release(sparse);
    rgm_tensor_release(dense);
    net_close(&n);
}

static void layer_norm_has_keras_epsilon(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_value *y = rgm_layer_norm(n.scope, "norm", dense_input(&n, "x", 1, 2, (double[]){1, 3}));

    CHECK_OK(rgm_parameters_create(&n.parameters, n.graph, 1));
    CHECK_TEXT("norm/gamma", rgm_parameters_name(n.parameters, 0));
    CHECK_TEXT("norm/beta", rgm_parameters_name(n.parameters, 1));
    double z = 1 / sqrt(1.001); /* mean 2, variance 1 */
    check_values(&n, y, (double[]){-z, z}, 2);
    net_close(&n);
}

static void embedding_picks_rows(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_value *ids =
        rgm_input(n.graph, "ids", RGM_I64, 1, &(rgm_dim){rgm_cgraph_symbol(n.graph, "n")});
    rgm_value *y = rgm_embedding(n.scope, "words", ids, 5, 2);
    n.feeds[0].input = ids;
    n.feed_count = 1;
    CHECK_OK(rgm_tensor_create_from(&n.feeds[0].tensor, RGM_I64, 1, (int64_t[]){3},
                                    (int64_t[]){4, 0, 4}));
    CHECK_OK(rgm_parameters_create(&n.parameters, n.graph, 1));
    const double *t = parameter(&n, "words/table");
    for (int i = 0; i < 10; i++)
        CHECK(fabs(t[i]) <= 0.05);
    check_values(&n, y, (double[]){t[8], t[9], t[0], t[1], t[8], t[9]}, 6);
    net_close(&n);
}

static void l2_is_counted_once_for_a_shared_parameter(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_dense_options options = RGM_DENSE_OPTIONS_INIT;
    rgm_value *x = dense_input(&n, "x", 2, 3, x23);
    double sum = 0;

    CHECK(rgm_scope_loss(n.scope) == NULL);
    options.l2 = 0.5;
    options.l2_bias = 0.25;
    rgm_dense_with(n.scope, "a", x, 2, &options);
    rgm_dense_with(n.scope, "a", x, 2, &options);
    set_parameters(&n);
    for (int i = 0; i < 6; i++)
        sum += 0.5 * pow(parameter(&n, "a/kernel")[i], 2);
    for (int i = 0; i < 2; i++)
        sum += 0.25 * pow(parameter(&n, "a/bias")[i], 2);
    check_values(&n, rgm_scope_loss(rgm_scope_enter(n.scope, "elsewhere")), &sum, 1);
    net_close(&n);
}

static void scopes_have_paths_and_are_found_again(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_scope *a = rgm_scope_enter(n.scope, "a"), *b = rgm_scope_enter(a, "b");

    CHECK_TEXT("", rgm_scope_path(n.scope));
    CHECK_TEXT("a/b", rgm_scope_path(b));
    CHECK(rgm_scope_enter(a, "b") == b && rgm_scope_enter(n.scope, "b") != b);
    CHECK(rgm_scope_enter(NULL, "b") == NULL);
    CHECK(rgm_scope_dtype(b) == RGM_F64 && rgm_scope_graph(b) == n.graph);
    net_close(&n);
}

static void mistakes_name_the_layer(void **state)
{
    (void)state;
    net n;
    net_open(&n);
    rgm_value *x = dense_input(&n, "x", 2, 3, x23);
    CHECK(rgm_dense(rgm_scope_enter(n.scope, "head"), "hidden", x, 0) == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(n.graph));
    CHECK_MESSAGE("'head/hidden': units is 0");
    net_close(&n);

    net_open(&n);
    x = dense_input(&n, "x", 2, 3, x23);
    CHECK(rgm_dropout(n.scope, x, 1) == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(n.graph));
    CHECK_MESSAGE("dropout rate is 1");
    net_close(&n);

    net_open(&n);
    x = dense_input(&n, "x", 2, 3, x23);
    rgm_dense(n.scope, "a", x, 2);
    rgm_dense(n.scope, "a", x, 4);
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_cgraph_status(n.graph));
    CHECK_MESSAGE("a/kernel");
    net_close(&n);
}

static void sparse_rows_in_a_strangers_hands_fail_by_name(void **state)
{
    (void)state;
    net n;
    rgm_executor *executor = NULL;
    rgm_tensor *fetched;
    rgm_executor_options options = {0};
    net_open(&n);
    rgm_value *p = sparse_input(&n, "p", 3, 4, 5, sparse_row, sparse_column);
    rgm_value *rows = rgm_normalize_rows(n.scope, p);
    rgm_value *kernel =
        rgm_scope_parameter(n.scope, "k", 2, (int64_t[]){4, 2}, (rgm_init){RGM_INIT_ONES, 0});
    rgm_value *y = rgm_spmm(rows, kernel, NULL);

    set_parameters(&n);
    rgm_status status = rgm_executor_create(&executor, n.graph, &y, 1, &options);
    if (status == RGM_OK)
        status = rgm_executor_run(executor, &fetched, n.parameters, n.feeds, n.feed_count, 1, 1);
    CHECK_INT(RGM_ERR_UNSUPPORTED, status);
    CHECK_MESSAGE("give them to a layer");
    rgm_executor_release(executor);
    net_close(&n);
}

/* All layers together: the derivative of their loss by all parameters along 100 random
 * directions. */
static void gradients_agree_with_central_differences(void **state)
{
    (void)state;
    net n;
    rgm_value *wrt[32], *fetches[33];
    rgm_executor *executor = NULL;
    rgm_executor_options eval = {0};
    rgm_tensor *fetched[33];
    net_open(&n);
    rgm_value *p = sparse_input(&n, "p", 3, 4, 5, sparse_row, sparse_column);
    rgm_value *x = dense_input(&n, "x", 3, 2, x23);
    rgm_dense_options tanh_options = RGM_DENSE_OPTIONS_INIT;
    tanh_options.activation = RGM_ACT_TANH;
    tanh_options.l2 = 0.1;
    rgm_value *rows = rgm_beside((rgm_value *[]){x, rgm_normalize_rows(n.scope, p)}, 2);
    rgm_value *h = rgm_dense_with(n.scope, "a", rows, 3, &tanh_options);
    h = rgm_layer_norm(n.scope, "norm", h);
    h = rgm_dense_concat(n.scope, "b", (rgm_value *[]){h, p, x}, 3, 2, &tanh_options);
    rgm_value *loss = rgm_add(rgm_sum(rgm_square(h)), rgm_scope_loss(n.scope));
    int64_t count = rgm_cgraph_parameter_count(n.graph);

    set_parameters(&n);
    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(n.graph, i);
    fetches[0] = loss;
    CHECK_OK(rgm_cgraph_gradients(fetches + 1, loss, wrt, count));
    CHECK_OK(rgm_executor_create(&executor, n.graph, fetches, count + 1, &eval));
    for (int trial = 0; trial < 100; trial++) {
        rgm_rng rng = rgm_rng_stream(5, "direction", (uint64_t)trial);
        double slope = 0, value[2], step = 1e-5;
        for (int side = 0; side < 2; side++) {
            uint64_t at = 0;
            if (side == 0) {
                CHECK_OK(
                    rgm_executor_run(executor, fetched, n.parameters, n.feeds, n.feed_count, 1, 1));
                for (int64_t i = 0; i < count; i++)
                    for (int64_t k = 0; k < rgm_tensor_count(fetched[i + 1]); k++)
                        slope += rgm_tensor_f64(fetched[i + 1])[k] * rgm_rng_normal(&rng, at++);
            }
            at = 0;
            for (int64_t i = 0; i < count; i++) {
                rgm_tensor *t = rgm_parameters_tensor(n.parameters, i);
                for (int64_t k = 0; k < rgm_tensor_count(t); k++)
                    rgm_tensor_f64(t)[k] +=
                        (side == 0 ? step : -2 * step) * rgm_rng_normal(&rng, at++);
            }
            rgm_parameters_touch(n.parameters);
            CHECK_OK(
                rgm_executor_run(executor, fetched, n.parameters, n.feeds, n.feed_count, 1, 1));
            value[side] = rgm_tensor_f64(fetched[0])[0];
        }
        CHECK_CLOSE(slope, (value[0] - value[1]) / (2 * step), 1e-6, 1e-8);
        uint64_t at = 0;
        for (int64_t i = 0; i < count; i++) {
            rgm_tensor *t = rgm_parameters_tensor(n.parameters, i);
            for (int64_t k = 0; k < rgm_tensor_count(t); k++)
                rgm_tensor_f64(t)[k] += step * rgm_rng_normal(&rng, at++);
        }
        rgm_parameters_touch(n.parameters);
    }
    rgm_executor_release(executor);
    net_close(&n);
}

static rgm_status build_everything(void)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;
    rgm_scope *scope = NULL;
    rgm_dense_options options = RGM_DENSE_OPTIONS_INIT;
    rgm_value *x, *p, *y;
    rgm_dim n;

    options.l2 = 0.1;
    RGM_GO(rgm_cgraph_create(&graph));
    RGM_GO(rgm_scope_create(&scope, graph, RGM_F32));
    n = rgm_cgraph_symbol(graph, "n");
    x = rgm_input(graph, "x", RGM_F32, 2, (rgm_dim[]){n, 3});
    p = rgm_input_pattern(graph, "p", n, 4, rgm_cgraph_symbol(graph, "e"));
    y = rgm_dropout(scope, rgm_normalize_rows(scope, rgm_beside((rgm_value *[]){x, p}, 2)), 0.5);
    y = rgm_dense_with(rgm_scope_enter(scope, "s"), "a", y, 4, &options);
    y = rgm_item_dropout(scope, rgm_layer_norm(scope, "norm", y), 0.5);
    y = rgm_dense_concat(scope, "c", (rgm_value *[]){y, rgm_zero_rows(scope, p, 2)}, 2, 2,
                         &options);
    rgm_scope_add_loss(scope, rgm_sum(y));
    rgm_scope_loss(scope);
    status = rgm_cgraph_status(graph);
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

TESTS(cmocka_unit_test(dense_is_x_w_plus_b_and_names_its_parameters),
      cmocka_unit_test(parameters_start_by_glorot_with_zero_bias),
      cmocka_unit_test(dense_of_higher_rank_works_on_the_last_axis),
      cmocka_unit_test(sparse_rows_give_what_the_same_dense_rows_give),
      cmocka_unit_test(concat_dense_is_the_dense_of_the_concat),
      cmocka_unit_test(dense_of_nothing_is_the_bias),
      cmocka_unit_test(normalized_rows_sum_to_one_and_zero_rows_stay),
      cmocka_unit_test(dropout_of_sparse_rows_drops_stored_numbers),
      cmocka_unit_test(item_dropout_drops_whole_rows_dense_and_sparse_alike),
      cmocka_unit_test(layer_norm_has_keras_epsilon), cmocka_unit_test(embedding_picks_rows),
      cmocka_unit_test(l2_is_counted_once_for_a_shared_parameter),
      cmocka_unit_test(scopes_have_paths_and_are_found_again),
      cmocka_unit_test(held_weights_are_constants),
      cmocka_unit_test(held_weights_that_do_not_fit_are_told),
      cmocka_unit_test(mistakes_name_the_layer),
      cmocka_unit_test(sparse_rows_in_a_strangers_hands_fail_by_name),
      cmocka_unit_test(gradients_agree_with_central_differences),
      cmocka_unit_test(building_survives_every_failing_allocation))
