/*
 * Every op's gradient against central differences in double, over shapes with sizes 0 and 1 among
 * them. The test walks the list of ops: one that has a gradient and no case here fails, as does one
 * without a gradient that does not say why.
 */
#include "op_cases_check.h"

static int case_run(const char *op, build_fn *build, const rgm_executor_options *options)
{
    int variant = 0;

    for (;; variant++) {
        char what[64];
        lab l;
        lab_open(&l, RGM_F64);
        snprintf(what, sizeof what, "%s, variant %d", op, variant);
        rgm_value *y = build(&l, variant);
        CHECK_OK(rgm_cgraph_status(l.graph));
        if (y == NULL) {
            lab_close(&l);
            return variant;
        }
        lab_check_gradient(&l, what, lab_loss(&l, y), options);
        lab_close(&l);
    }
}

static void every_gradient_agrees_with_central_differences(void **state)
{
    rgm_executor_options plain = {.no_fusion = true, .training = true};

    (void)state;
    for (int i = 0; i < CASES; i++)
        CHECK(case_run(cases[i].op, cases[i].build, &plain) > 0);
}

static void every_gradient_agrees_after_the_passes_too(void **state)
{
    rgm_executor_options fused = {.training = true};

    (void)state;
    for (int i = 0; i < CASES; i++)
        CHECK(case_run(cases[i].op, cases[i].build, &fused) > 0);
}

static void every_op_has_a_gradient_with_a_case_or_says_why_not(void **state)
{
    int64_t count;
    const rgm_op_type *const *types = rgm_op_types(&count);

    (void)state;
    CHECK(count > 60);
    for (int64_t t = 0; t < count; t++) {
        bool has_case = false;
        for (int i = 0; i < CASES; i++)
            has_case |= strcmp(cases[i].op, types[t]->name) == 0;
        if (types[t]->backward == NULL && (types[t]->no_gradient == NULL || has_case))
            fail_msg("%s has no gradient and does not say why", types[t]->name);
        if (types[t]->backward != NULL && (types[t]->no_gradient != NULL || !has_case))
            fail_msg("%s has a gradient and no case", types[t]->name);
        for (int64_t u = 0; u < t; u++)
            CHECK(strcmp(types[u]->name, types[t]->name) != 0);
    }
    for (int i = 0; i < CASES; i++) {
        bool is_listed = false;
        for (int64_t t = 0; t < count; t++)
            is_listed |= strcmp(cases[i].op, types[t]->name) == 0;
        if (!is_listed)
            fail_msg("%s has a case and is not in op_list.c", cases[i].op);
    }
}

/* Hand-computed: ties share evenly, and a value used twice gets both gradients. */
static void ties_share_and_uses_sum(void **state)
{
    lab l;
    rgm_value *x, *g;
    rgm_tensor *tensor, *result;
    rgm_executor_options plain = {.no_fusion = true};
    double numbers[] = {3, 3, 1, 3};

    (void)state;
    lab_open(&l, RGM_F64);
    x = rgm_input(l.graph, "x", RGM_F64, 1, (rgm_dim[]){4});
    CHECK_OK(rgm_tensor_create_from(&tensor, RGM_F64, 1, (int64_t[]){4}, numbers));
    lab_feed(&l, x, tensor, true);
    rgm_value *loss = rgm_add(rgm_scale(rgm_reduce(x, 0, RGM_MAX), 6),
                              rgm_sum(rgm_maximum(x, rgm_scalar(l.graph, RGM_F64, 3))));
    CHECK_OK(rgm_cgraph_gradients(&g, loss, &x, 1));
    lab_run(&l, &result, &g, 1, &plain, NULL);
    CHECK_CLOSE(rgm_tensor_f64(result)[0], 2.5, 0, 1e-15); /* 6 / 3 and 1 / 2 */
    CHECK_CLOSE(rgm_tensor_f64(result)[2], 0, 0, 0);
    rgm_tensor_release(result);
    lab_close(&l);
}

static void what_the_loss_does_not_need_has_gradient_zero(void **state)
{
    lab l;
    rgm_value *g[3], *wrt[3];
    rgm_tensor *result[3];

    (void)state;
    lab_open(&l, RGM_F32);
    wrt[0] = lab_input(&l, 2, (int64_t[]){2, 3});
    wrt[1] = lab_input(&l, 1, (int64_t[]){3});
    wrt[2] = lab_input(&l, 1, (int64_t[]){3});
    rgm_value *loss = rgm_sum(rgm_mul(rgm_stop_gradient(wrt[1]), wrt[2]));
    CHECK_OK(rgm_cgraph_gradients(g, loss, wrt, 3));
    lab_run(&l, result, g, 3, NULL, NULL);
    CHECK_INT(6, rgm_tensor_count(result[0]));
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(rgm_tensor_f32(result[0])[i], 0, 0, 0);
        CHECK_CLOSE(rgm_tensor_f32(result[1])[i], 0, 0, 0);
        CHECK_CLOSE(rgm_tensor_f32(result[2])[i], rgm_tensor_at(l.feeds[1].tensor, i), 0, 0);
    }
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(result[i]);
    lab_close(&l);
}

/* A penalty on a gradient: through ordinary ops it is differentiated again, through a gradient that
 * an op computes by itself it is refused, not lost. */
static void second_derivatives_are_right_or_refused(void **state)
{
    rgm_executor_options plain = {.no_fusion = true, .training = true};
    int64_t width = 3;

    (void)state;
    for (int which = 0; which < 3; which++) {
        lab l;
        lab_open(&l, RGM_F64);
        rgm_value *x = lab_input(&l, 2, (int64_t[]){4, width}), *g, *again;
        rgm_value *gamma = lab_input(&l, 1, &width), *beta = lab_input(&l, 1, &width);
        rgm_value *y = which == 0   ? rgm_square(rgm_mul(x, gamma))
                       : which == 1 ? rgm_batch_norm_op(x, gamma, beta, 1e-3)
                                    : rgm_layer_norm_op(x, gamma, beta, 1e-3);
        CHECK_OK(rgm_cgraph_gradients(&g, lab_loss(&l, y), &x, 1));
        g = rgm_sum(rgm_square(g));
        if (which == 0) {
            lab_check_gradient(&l, "second derivative", g, &plain);
        } else {
            CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_cgraph_gradients(&again, g, &x, 1));
            CHECK_MESSAGE(which == 1 ? "op 'batch_norm_grad'" : "op 'layer_norm_grad'");
        }
        lab_close(&l);
    }
}

TESTS(cmocka_unit_test(second_derivatives_are_right_or_refused),
      cmocka_unit_test(every_op_has_a_gradient_with_a_case_or_says_why_not),
      cmocka_unit_test(every_gradient_agrees_with_central_differences),
      cmocka_unit_test(every_gradient_agrees_after_the_passes_too),
      cmocka_unit_test(ties_share_and_uses_sum),
      cmocka_unit_test(what_the_loss_does_not_need_has_gradient_zero))
