/*
 * What training changes beside gradients: states and their updates, and values that differ between
 * training and other executors.
 */
#include "autodiff_internal.h"
#include "autodiff_check.h"

static rgm_value *make_state(lab *l, const char *name, int64_t size)
{
    return rgm_state(l->graph, name, l->dtype, 1, &size, (rgm_init){RGM_INIT_ONES, 0});
}

static void a_state_is_a_parameter_without_gradient(void **state)
{
    lab l;
    rgm_value *wrt[2], *g[2];
    rgm_tensor *result[2];
    rgm_parameters *parameters;

    (void)state;
    lab_open(&l, RGM_F64);
    wrt[0] = rgm_parameter(l.graph, "w", RGM_F64, 1, (int64_t[]){3}, (rgm_init){RGM_INIT_ONES, 0});
    wrt[1] = make_state(&l, "s", 3);
    CHECK(wrt[1] == make_state(&l, "s", 3));
    CHECK_INT(2, rgm_cgraph_parameter_count(l.graph));
    CHECK(rgm_value_is_parameter(wrt[1]) && !rgm_value_is_trainable(wrt[1]));
    CHECK(rgm_value_is_trainable(wrt[0]));
    CHECK_OK(rgm_cgraph_gradients(
        g, rgm_sum(rgm_mul(rgm_mul(wrt[0], wrt[1]), rgm_scalar(l.graph, RGM_F64, 2))), wrt, 2));
    CHECK_OK(rgm_parameters_create(&parameters, l.graph, 1));
    CHECK(rgm_parameters_trainable(parameters, 0) && !rgm_parameters_trainable(parameters, 1));
    lab_run(&l, result, g, 2, NULL, parameters);
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(rgm_tensor_f64(result[0])[i], 2, 0, 0);
        CHECK_CLOSE(rgm_tensor_f64(result[1])[i], 0, 0, 0);
    }
    rgm_tensor_release(result[0]);
    rgm_tensor_release(result[1]);
    CHECK(rgm_parameter(l.graph, "s", RGM_F64, 1, (int64_t[]){3}, (rgm_init){RGM_INIT_ONES, 0}) ==
          NULL);
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_cgraph_status(l.graph));
    CHECK_MESSAGE("'s' is there already as state f64[3]");
    rgm_parameters_release(parameters);
    lab_close(&l);
}

/* s starts at 1 and takes 2 s + x each step; the second update stands on the first. */
static void updates_move_states(void **state)
{
    lab l;
    rgm_value *next;
    rgm_tensor *fetched;
    rgm_parameters *parameters;
    rgm_executor *executor;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *s = make_state(&l, "s", 2), *x = lab_input(&l, 1, (int64_t[]){2});
    CHECK(rgm_cgraph_state_next(l.graph, s) == s);
    rgm_cgraph_update(l.graph, s, rgm_scale(s, 2));
    rgm_cgraph_update(l.graph, s, rgm_add(rgm_cgraph_state_next(l.graph, s), x));
    CHECK_OK(rgm_cgraph_status(l.graph));
    CHECK_INT(1, rgm_cgraph_update_count(l.graph));
    CHECK(rgm_cgraph_update_state(l.graph, 0) == s);
    CHECK(rgm_cgraph_update_state(l.graph, 1) == NULL);
    next = rgm_cgraph_update_next(l.graph, 0);
    CHECK_OK(rgm_parameters_create(&parameters, l.graph, 1));
    CHECK_OK(rgm_executor_create(&executor, l.graph, &next, 1, NULL));
    float want = 1, add = (float)rgm_tensor_at(l.feeds[0].tensor, 1);
    for (int step = 0; step < 4; step++) {
        CHECK_OK(rgm_executor_run(executor, &fetched, parameters, l.feeds, l.count, 1, 1));
        CHECK_OK(rgm_parameters_update(parameters, l.graph, &fetched));
        want = 2 * want + add;
        CHECK_CLOSE(rgm_tensor_at(rgm_parameters_find(parameters, "s"), 1), want, 1e-6, 0);
    }
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_parameters_update(parameters, l.graph, (rgm_tensor *[]){NULL}));
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    lab_close(&l);
}

static void updates_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        static const rgm_status code[] = {RGM_ERR_SHAPE, RGM_ERR_ARG, RGM_ERR_SHAPE};
        lab l;
        lab_open(&l, RGM_F64);
        rgm_value *s = make_state(&l, "s", 2), *x = lab_input(&l, 1, (int64_t[]){3});
        rgm_cgraph_update(l.graph, i == 1 ? x : s, i == 2 ? s : rgm_neg(x));
        CHECK_STATUS(code[i], rgm_cgraph_status(l.graph));
        CHECK_INT(0, rgm_cgraph_update_count(l.graph));
        lab_close(&l);
    }
}

/* In every mode the branch alone is run: the other one would give a NaN, and its input is not fed.
 */
static void an_executor_computes_one_branch(void **state)
{
    static const rgm_executor_options modes[] = {{0}, {.eager = true}, {.no_fusion = true}};

    (void)state;
    for (int mode = 0; mode < 6; mode++) {
        rgm_executor_options options = modes[mode / 2];
        lab l;
        rgm_tensor *result;
        options.training = mode % 2;
        lab_open(&l, RGM_F64);
        rgm_value *x = lab_positive(&l, 1, (int64_t[]){3});
        rgm_value *absent = rgm_input(l.graph, "absent", RGM_F64, 1, (rgm_dim[]){3});
        rgm_value *good = rgm_scale(x, 3), *bad = rgm_add(rgm_log(rgm_neg(x)), absent);
        rgm_value *y =
            options.training ? rgm_when_training(good, bad) : rgm_when_training(bad, good);
        y = rgm_shift(rgm_when_training(y, y), 1);
        lab_run(&l, &result, &y, 1, &options, NULL);
        for (int i = 0; i < 3; i++)
            CHECK_CLOSE(rgm_tensor_f64(result)[i], 1 + 3 * rgm_tensor_at(l.feeds[0].tensor, i),
                        1e-15, 0);
        rgm_tensor_release(result);
        lab_close(&l);
    }
}

static void branches_must_agree(void **state)
{
    lab l;

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *x = lab_input(&l, 1, (int64_t[]){3}), *y = lab_input(&l, 1, (int64_t[]){4});
    CHECK(rgm_when_training(x, NULL) == NULL);
    CHECK_OK(rgm_cgraph_status(l.graph));
    CHECK(rgm_when_training(x, y) == NULL);
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_cgraph_status(l.graph));
    CHECK_MESSAGE("when_training: the branches differ: f64[3] and f64[4]");
    lab_close(&l);
}

static void notes_are_found_again(void **state)
{
    char path[] = "layer/one";
    lab l;

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *x = lab_input(&l, 1, (int64_t[]){3}), *y = rgm_exp(x);
    CHECK_INT(0, rgm_cgraph_note_count(l.graph));
    for (int i = 0; i < 9; i++) {
        path[6] = (char)('a' + i); /* the graph keeps its own */
        rgm_note note = {.what = "test", .where = path, .value = i == 8 ? NULL : y, .into = x};
        rgm_cgraph_note(l.graph, &note);
    }
    CHECK_INT(8, rgm_cgraph_note_count(l.graph));
    for (int64_t i = 0; i < 8; i++) {
        const rgm_note *note = rgm_cgraph_note_at(l.graph, i);
        CHECK_TEXT("test", note->what);
        CHECK(note->where[6] == (char)('a' + i) && strlen(note->where) == strlen(path));
        CHECK(note->value == y && note->of == NULL && note->into == x);
    }
    lab_close(&l);
}

static rgm_status note_once(void)
{
    rgm_note note = {.what = "test", .where = "here"};
    rgm_cgraph *graph;
    rgm_dim three = 3;
    rgm_status status;

    RGM_TRY(rgm_cgraph_create(&graph));
    note.value = rgm_input(graph, "x", RGM_F64, 1, &three);
    rgm_cgraph_note(graph, &note);
    status = rgm_cgraph_status(graph);
    CHECK_INT(status == RGM_OK, rgm_cgraph_note_count(graph));
    rgm_cgraph_release(graph);
    return status;
}

static void notes_survive_every_failing_allocation(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(note_once(), (void)0);
}

TESTS(cmocka_unit_test(a_state_is_a_parameter_without_gradient),
      cmocka_unit_test(updates_move_states), cmocka_unit_test(updates_that_do_not_fit_are_refused),
      cmocka_unit_test(an_executor_computes_one_branch), cmocka_unit_test(branches_must_agree),
      cmocka_unit_test(notes_are_found_again),
      cmocka_unit_test(notes_survive_every_failing_allocation))
