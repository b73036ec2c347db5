/*
 * The graph itself: builders pass failures on and say what was wrong, symbols compute, names are
 * unique, parameters start as documented, and no allocation that fails is overlooked.
 */
#include "autodiff_internal.h"
#include <lab.h>

#define FAILS(code, part, expression)                                                              \
    do {                                                                                           \
        lab l_;                                                                                    \
        lab_open(&l_, RGM_F32);                                                                    \
        rgm_cgraph *g = l_.graph;                                                                  \
        rgm_value *x = rgm_input(g, "x", RGM_F32, 2, (rgm_dim[]){32, 128});                        \
        rgm_value *p = rgm_input_pattern(g, "p", rgm_cgraph_symbol(g, "rows"), 32,                 \
                                         rgm_cgraph_symbol(g, "entries"));                         \
        rgm_value *k = rgm_input(g, "k", RGM_I64, 1, (rgm_dim[]){32});                             \
        (void)x, (void)p, (void)k;                                                                 \
        CHECK((expression) == NULL);                                                               \
        CHECK_STATUS(code, rgm_cgraph_status(g));                                                  \
        CHECK_MESSAGE(part);                                                                       \
        lab_close(&l_);                                                                            \
    } while (0)

static void builders_say_what_was_wrong(void **state)
{
    (void)state;
    FAILS(RGM_ERR_SHAPE, "matmul: inner sizes differ: [32,128] x [64,10] (in scope 'head/dense')",
          (rgm_cgraph_set_scope(g, "head/dense"),
           rgm_matmul(x, rgm_input(g, "w", RGM_F32, 2, (rgm_dim[]){64, 10}))));
    FAILS(RGM_ERR_SHAPE, "add: shapes do not broadcast: [32,128] and [3]",
          rgm_add(x, rgm_input(g, "b", RGM_F32, 1, (rgm_dim[]){3})));
    FAILS(RGM_ERR_DTYPE, "mul: dtypes differ: f32 and f64", rgm_mul(x, rgm_scalar(g, RGM_F64, 2)));
    FAILS(RGM_ERR_DTYPE, "exp: first input must be f32 or f64, is i64[32]", rgm_exp(k));
    FAILS(RGM_ERR_SHAPE,
          "spmm: x needs one row a column of the pattern: pattern[rows,32,entries] x",
          rgm_spmm(p, rgm_input(g, "h", RGM_F32, 2, (rgm_dim[]){31, 4}), NULL));
    FAILS(RGM_ERR_ARG, "first input must be a pattern", rgm_spmm(x, x, NULL));
    FAILS(RGM_ERR_SHAPE, "reshape: counts differ: [32,128] to [5]",
          rgm_reshape(x, 1, (rgm_dim[]){5}));
    FAILS(RGM_ERR_SHAPE, "slice: [3,200) of axis 1", rgm_slice(x, 1, 3, 200));
    FAILS(RGM_ERR_SHAPE, "slice: the first 129 of axis 1 of f32[32,128]", rgm_slice_to(x, 1, 129));
    FAILS(RGM_ERR_ARG, "slice: axis 2 of f32[32,128]",
          rgm_slice_to(x, 2, rgm_cgraph_symbol(g, "entries")));
    FAILS(RGM_ERR_ARG, "reduce: axis 2 of f32[32,128]", rgm_reduce(x, 2, RGM_SUM));
    FAILS(RGM_ERR_ARG, "dropout: rate is 1.5, must be in [0, 1)", rgm_dropout_op(x, 1.5, NULL));
    FAILS(RGM_ERR_SHAPE, "dropout_add: the residual has another shape",
          rgmi_op2(&rgmi_dropout_add_op, x, rgm_slice(x, 0, 0, 1), &(rgm_attributes){.text = "d"}));
    FAILS(RGM_ERR_ARG, "permute: axes[1] is 0", rgm_permute(x, (int[]){0, 0}));
    FAILS(RGM_ERR_SHAPE, "softmax_cross_entropy: needs logits",
          rgm_softmax_cross_entropy(x, rgm_reshape(k, 2, (rgm_dim[]){4, 8})));
    FAILS(RGM_ERR_SHAPE, "'x' is there already as input f32[32,128]",
          rgm_input(g, "x", RGM_F32, 1, (rgm_dim[]){32}));
    FAILS(RGM_ERR_SHAPE, "self loop needs rows and columns of one set",
          rgm_spmm(p, x, &(rgm_spmm_options){.self_loop = true}));
    FAILS(RGM_ERR_SHAPE, "heads dividing x's channels",
          rgm_spmm(p, x,
                   &(rgm_spmm_options){
                       .weight = rgm_input(g, "w", RGM_F32, 2,
                                           (rgm_dim[]){rgm_cgraph_symbol(g, "entries"), 3})}));
}

static void sizes_that_nobody_can_count_are_refused(void **state)
{
    const rgm_dim many = INT64_C(4000000000);

    (void)state;
    FAILS(RGM_ERR_SHAPE, "parameter 'w', f32[4000000000,4000000000], is too large",
          rgm_parameter(g, "w", RGM_F32, 2, (rgm_dim[]){many, many}, (rgm_init){RGM_INIT_ONES, 0}));
    FAILS(RGM_ERR_SHAPE, "a size is too large: above 2^63 (in scope 'here')",
          (rgm_cgraph_set_scope(g, "here"),
           rgm_sum(rgm_input(g, "huge", RGM_F32, 3, (rgm_dim[]){many, many, 1}))));
    FAILS(RGM_ERR_SHAPE, "a size is too large: above 2^63",
          rgm_reshape(rgm_input(g, "rows", RGM_F32, 3,
                                (rgm_dim[]){rgm_cgraph_symbol(g, "rows"), many, many}),
                      1, (rgm_dim[]){RGM_INFER}));
    FAILS(RGM_ERR_SHAPE, "a size is too large: above 2^63",
          (x = rgm_input(g, "half", RGM_F32, 1, (rgm_dim[]){INT64_MAX / 2 + 1}),
           rgm_concat((rgm_value *[]){x, x}, 2, 0)));
}

static void the_first_failure_is_kept_and_passed_on(void **state)
{
    lab l;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){2, 3});
    rgm_value *y = rgm_relu(rgm_add(rgm_matmul(x, x), x));
    CHECK(y == NULL);
    CHECK(rgm_add(NULL, x) == NULL && rgm_add(x, NULL) == NULL && rgm_concat(&y, 1, 0) == NULL);
    CHECK(rgm_spmm(NULL, x, NULL) == NULL && rgm_gather(x, NULL) == NULL);
    rgm_cgraph_fail(l.graph, RGM_ERR_ARG, "later");
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_cgraph_status(l.graph));
    CHECK_MESSAGE("matmul: inner sizes differ: [2,3] x [2,3]");
    CHECK(rgm_scale(x, 2) == NULL); /* a failed graph builds nothing more */
    lab_close(&l);
}

static void symbols_compute(void **state)
{
    lab l;
    char text[RGMI_TEXT];

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_dim n = rgm_cgraph_symbol(l.graph, "n"), m = rgm_cgraph_symbol(l.graph, "m");
    CHECK(n == rgm_cgraph_symbol(l.graph, "n") && n != m);
    CHECK(rgm_cgraph_symbol(l.graph, NULL) != rgm_cgraph_symbol(l.graph, NULL));
    CHECK_INT(rgmi_dim_sum(l.graph, n, m), rgmi_dim_sum(l.graph, m, n));
    CHECK_INT(rgmi_dim_sum(l.graph, rgmi_dim_sum(l.graph, n, 2), rgmi_dim_sum(l.graph, m, 3)),
              rgmi_dim_sum(l.graph, 5, rgmi_dim_sum(l.graph, n, m)));
    CHECK_INT(7, rgmi_dim_sum(l.graph, 3, 4));
    CHECK_INT(n, rgmi_dim_quotient(l.graph, rgmi_dim_product(l.graph, 6, n), 6));
    CHECK_INT(6, rgmi_dim_quotient(l.graph, rgmi_dim_product(l.graph, 6, n), n));
    rgm_value *x = rgm_input(l.graph, "x", RGM_F32, 3, (rgm_dim[]){n, 4, 6});
    rgm_value *y = rgm_reshape(x, 2, (rgm_dim[]){n, RGM_INFER});
    CHECK_TEXT("f32[n,24]", rgm_value_describe(y, text, sizeof text));
    y = rgm_reshape(y, 2, (rgm_dim[]){RGM_INFER, 6});
    CHECK_TEXT("f32[(n*4),6]", rgm_value_describe(y, text, sizeof text));
    y = rgm_reshape(y, 3, (rgm_dim[]){RGM_INFER, 4, 6});
    CHECK_INT(n, rgm_value_dim(y, 0));
    y = rgm_concat((rgm_value *[]){x, x}, 2, 0);
    CHECK_TEXT("f32[(n+n),4,6]", rgm_value_describe(y, text, sizeof text));
    CHECK_OK(rgm_cgraph_status(l.graph));
    lab_close(&l);
}

static void parameters_start_as_documented(void **state)
{
    rgm_cgraph *graph;
    rgm_parameters *p, *q;
    const int64_t shape[] = {300, 200}, five = 5;

    (void)state;
    CHECK_OK(rgm_cgraph_create(&graph));
    rgm_value *w =
        rgm_parameter(graph, "w", RGM_F32, 2, shape, (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
    CHECK(w == rgm_parameter(graph, "w", RGM_F32, 2, shape, (rgm_init){RGM_INIT_ZEROS, 0}));
    rgm_parameter(graph, "one", RGM_F64, 1, &five, (rgm_init){RGM_INIT_ONES, 0});
    rgm_parameter(graph, "n", RGM_F64, 2, shape, (rgm_init){RGM_INIT_NORMAL, 0.3});
    CHECK_OK(rgm_parameters_create(&p, graph, 11));
    rgm_parameter(graph, "more", RGM_F32, 1, &five, (rgm_init){RGM_INIT_UNIFORM, 0.05});
    CHECK_OK(rgm_parameters_create(&q, graph, 11));
    CHECK_INT(3, rgm_parameters_count(p));
    CHECK_INT(60000 + 5 + 60000 + 5, rgm_parameters_total(q));
    for (int i = 0; i < 3; i++) /* one more parameter changes no other */
        CHECK(rgm_tensor_equal(rgm_parameters_tensor(p, i), rgm_parameters_tensor(q, i)));
    CHECK_TEXT("one", rgm_parameters_name(p, 1));
    double limit = sqrt(6.0 / 500), squares = 0, most = 0;
    for (int64_t i = 0; i < 60000; i++) {
        most = fmax(most, fabs(rgm_tensor_at(rgm_parameters_find(p, "w"), i)));
        squares += pow(rgm_tensor_at(rgm_parameters_find(p, "n"), i), 2);
    }
    CHECK(most <= limit && most > 0.99 * limit);
    CHECK_CLOSE(sqrt(squares / 60000), 0.3, 0.02, 0);
    CHECK(rgm_parameters_find(p, "more") == NULL);
    rgm_parameters_release(p);
    rgm_parameters_release(q);
    rgm_cgraph_release(graph);
}

static rgm_status build_everything(rgm_cgraph **out)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;
    rgm_value *g[2], *wrt[2];

    *out = NULL;
    RGM_GO(rgm_cgraph_create(&graph));
    rgm_cgraph_set_scope(graph, "a/b");
    rgm_dim n = rgm_cgraph_symbol(graph, "n");
    rgm_value *x = rgm_input(graph, "x", RGM_F32, 2, (rgm_dim[]){n, 3});
    rgm_value *p = rgm_input_pattern(graph, "p", n, n, rgm_cgraph_symbol(graph, "m"));
    wrt[0] = rgm_parameter(graph, "w", RGM_F32, 2, (int64_t[]){3, 3}, (rgm_init){RGM_INIT_ONES, 0});
    wrt[1] = rgm_parameter(graph, "b", RGM_F32, 1, (int64_t[]){3}, (rgm_init){RGM_INIT_ONES, 0});
    rgm_value *y = rgm_relu(rgm_add(rgm_matmul(rgm_spmm(p, x, NULL), wrt[0]), wrt[1]));
    y = rgm_layer_norm_op(rgm_dropout_op(y, 0.5, NULL), wrt[1], wrt[1], 1e-3);
    y = rgm_mean(rgm_pool_rows(rgm_add_self_loops(p), rgm_broadcast_rows(rgm_add_self_loops(p), y),
                               RGM_MEAN));
    RGM_GO(rgm_cgraph_status(graph));
    RGM_GO(rgm_cgraph_gradients(g, y, wrt, 2));
    rgm_value_set_name(y, "loss");
    RGM_GO(rgm_cgraph_status(graph));
    *out = graph;
    graph = NULL;
done:
    rgm_cgraph_release(graph);
    return status;
}

/* Parameters of copies of the values that `from` has. */
static rgm_status parameters_of_copies(rgm_parameters **out, const rgm_cgraph *graph,
                                       const rgm_parameters *from)
{
    rgm_status status = RGM_OK;
    rgm_tensor *values[2] = {NULL};

    *out = NULL;
    for (int64_t i = 0; i < 2; i++)
        RGM_GO(rgm_tensor_copy(&values[i], rgm_parameters_read(from, i)));
    RGM_GO(rgm_parameters_of(out, graph, values));
    CHECK(values[0] == NULL && values[1] == NULL);
done:
    for (int64_t i = 0; i < 2; i++)
        rgm_tensor_release(values[i]);
    return status;
}

static void values_that_are_there_become_parameters(void **state)
{
    rgm_cgraph *graph;
    rgm_parameters *drawn, *taken;
    rgm_tensor *wrong[2];

    (void)state;
    CHECK_OK(build_everything(&graph));
    CHECK_OK(rgm_parameters_create(&drawn, graph, 1));
    CHECK_OK(parameters_of_copies(&taken, graph, drawn));
    CHECK_INT(2, rgm_parameters_count(taken));
    for (int64_t i = 0; i < 2; i++) {
        CHECK(rgm_tensor_equal(rgm_parameters_read(drawn, i), rgm_parameters_read(taken, i)));
        CHECK_TEXT(rgm_parameters_name(drawn, i), rgm_parameters_name(taken, i));
        CHECK(rgm_parameters_trainable(taken, i));
    }
    CHECK_INT(1, rgm_parameters_number(taken, "b"));
    CHECK(rgm_parameters_version(taken) != rgm_parameters_version(drawn));
    rgm_parameters_release(taken);
    CHECK_OK(rgm_tensor_create(&wrong[0], RGM_F32, 2, (int64_t[]){3, 3}));
    CHECK_OK(rgm_tensor_create(&wrong[1], RGM_F32, 1, (int64_t[]){4}));
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_parameters_of(&taken, graph, wrong));
    CHECK_MESSAGE("parameter 'b' is f32[3], its value is f32[4]");
    CHECK(taken == NULL && wrong[0] != NULL && wrong[1] != NULL);
    rgm_tensor_release(wrong[1]);
    wrong[1] = NULL;
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_parameters_of(&taken, graph, wrong));
    CHECK_MESSAGE("parameter 'b' is f32[3], its value is NULL");
    rgm_tensor_release(wrong[0]);
    rgm_parameters_release(drawn);
    rgm_cgraph_release(graph);
}

static void no_failing_allocation_is_overlooked(void **state)
{
    rgm_cgraph *graph;
    rgm_parameters *parameters, *copy;
    rgm_text text = {0};

    (void)state;
    CHECK_EVERY_OOM(rgm_cgraph_create(&graph), rgm_cgraph_release(graph));
    CHECK_EVERY_OOM(build_everything(&graph), rgm_cgraph_release(graph));
    CHECK_OK(build_everything(&graph));
    CHECK_EVERY_OOM(rgm_parameters_create(&parameters, graph, 1),
                    rgm_parameters_release(parameters));
    CHECK_OK(rgm_parameters_create(&parameters, graph, 1));
    CHECK_EVERY_OOM(rgm_parameters_copy(&copy, parameters), rgm_parameters_release(copy));
    CHECK_EVERY_OOM(parameters_of_copies(&copy, graph, parameters), rgm_parameters_release(copy));
    rgm_parameters_release(parameters);
    CHECK_OK(rgm_cgraph_print(&text, graph));
    CHECK(strstr(text.data, "matmul %4, %2 : f32[n,3] (a/b)") != NULL);
    CHECK(strstr(text.data, "'loss'") != NULL);
    rgm_text_clear(&text);
    rgm_cgraph_release(graph);
}

static void reductions_are_found_by_name_one_after_another(void **state)
{
    const char *text = "mean|max_no_inf|median";
    rgm_reduction reduction;
    size_t length;

    (void)state;
    CHECK(rgm_reduction_find(&reduction, &length, text) && reduction == RGM_MEAN);
    text += length + 1;
    CHECK(rgm_reduction_find(&reduction, &length, text) && reduction == RGM_MAX_NO_INF);
    text += length + 1;
    CHECK(!rgm_reduction_find(&reduction, &length, text));
    CHECK_INT(6, length);
    CHECK(!rgm_reduction_find(&reduction, &length, "") && length == 0);
}

TESTS(cmocka_unit_test(builders_say_what_was_wrong),
      cmocka_unit_test(sizes_that_nobody_can_count_are_refused),
      cmocka_unit_test(the_first_failure_is_kept_and_passed_on), cmocka_unit_test(symbols_compute),
      cmocka_unit_test(parameters_start_as_documented),
      cmocka_unit_test(values_that_are_there_become_parameters),
      cmocka_unit_test(no_failing_allocation_is_overlooked),
      cmocka_unit_test(reductions_are_found_by_name_one_after_another))
