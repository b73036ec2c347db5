/* Values of weighed messages, against what is built with the weights by hand, and their gradients.
 */
#include "autodiff_check.h"

enum { ROWS = 5, COLUMNS = 5, ENTRIES = 9, CHANNELS = 4 };

/* A value over the pattern p, with the weights w [ENTRIES] by hand, or as a model has it: NULL. */
typedef rgm_value *messages_fn(lab *l, rgm_value *p, rgm_value *x, rgm_value *w);

static rgm_value *column(rgm_value *w)
{
    return rgm_reshape(w, 2, (rgm_dim[]){rgm_value_dim(w, 0), 1});
}

static rgm_value *sum(lab *l, rgm_value *p, rgm_value *x, rgm_value *w)
{
    (void)l;
    return rgm_spmm(p, x, &(rgm_spmm_options){.weight = w});
}

static rgm_value *mean(lab *l, rgm_value *p, rgm_value *x, rgm_value *w)
{
    (void)l;
    return rgm_spmm(p, x, &(rgm_spmm_options){.weight = w, .mean = true});
}

static rgm_value *heads(lab *l, rgm_value *p, rgm_value *x, rgm_value *w)
{
    rgm_value *q = rgm_reshape(x, 3, (rgm_dim[]){rgm_value_dim(x, 0), 2, CHANNELS / 2});
    rgm_value *attention = rgm_softmax_rows(p, rgm_sddmm(p, q, q));

    (void)l;
    if (w != NULL)
        attention = rgm_mul(attention, column(w));
    return rgm_spmm(p, x, &(rgm_spmm_options){.weight = attention});
}

static rgm_value *turned(lab *l, rgm_value *p, rgm_value *x, rgm_value *w)
{
    return sum(l, rgm_transpose_pattern(p), x, w);
}

/* Kipf & Welling's: of the degrees that there are, whatever the weights. */
static rgm_value *scaled_with_loops(lab *l, rgm_value *p, rgm_value *x, rgm_value *w)
{
    rgm_value *degree = rgm_rsqrt(rgm_shift(rgm_degree(p, l->dtype), 1));
    rgm_spmm_options options = {
        .row_scale = degree, .column_scale = degree, .self_loop = w == NULL, .weight = w};
    rgm_value *y = rgm_spmm(p, x, &options);

    return w == NULL ? y : rgm_add(y, rgm_mul(x, column(rgm_square(degree))));
}

static rgm_value *mean_with_loops(lab *l, rgm_value *p, rgm_value *x, rgm_value *w)
{
    rgm_value *y;

    if (w == NULL)
        return rgm_spmm(p, x, &(rgm_spmm_options){.mean = true, .self_loop = true});
    y = rgm_reciprocal(rgm_shift(rgm_degree(p, l->dtype), 1));
    return rgm_mul(rgm_add(sum(l, p, x, w), x), column(y));
}

static rgm_value *loops_as_entries(lab *l, rgm_value *p, rgm_value *x, rgm_value *w)
{
    return w == NULL ? sum(l, rgm_add_self_loops(p), x, NULL) : rgm_add(sum(l, p, x, w), x);
}

static rgm_value *pooled(rgm_value *p, rgm_value *x, rgm_value *w, rgm_reduction reduction)
{
    rgm_value *messages = rgm_tanh(rgm_broadcast_columns(p, x));

    return rgm_pool_rows(p, w == NULL ? messages : rgm_mul(messages, column(w)), reduction);
}

static rgm_value *pooled_sum(lab *l, rgm_value *p, rgm_value *x, rgm_value *w)
{
    (void)l;
    return pooled(p, x, w, RGM_SUM);
}

static rgm_value *pooled_max(lab *l, rgm_value *p, rgm_value *x, rgm_value *w)
{
    (void)l;
    return pooled(p, x, w, RGM_MAX_NO_INF);
}

/* Two rounds: the second is built again over what the first became. */
static rgm_value *two_rounds(lab *l, rgm_value *p, rgm_value *x, rgm_value *w)
{
    return pooled_max(l, p, rgm_tanh(scaled_with_loops(l, p, x, w)), w);
}

static messages_fn *const cases[] = {
    sum,        mean,       heads,     turned, scaled_with_loops, mean_with_loops, loops_as_entries,
    pooled_sum, pooled_max, two_rounds};

typedef struct made {
    lab l;
    rgm_value *p, *x, *w;
} made;

static void open_made(made *m, rgm_dtype weights)
{
    static const int64_t rows[ENTRIES] = {0, 0, 1, 1, 1, 3, 3, 4, 4};
    static const int64_t columns[ENTRIES] = {1, 2, 0, 3, 4, 0, 1, 2, 3};
    rgm_pattern *pattern;
    rgm_tensor *tensor;

    lab_open(&m->l, RGM_F64);
    CHECK_OK(rgm_pattern_create(&pattern, ROWS, COLUMNS, ENTRIES, rows, columns));
    m->p = rgm_input_pattern(m->l.graph, "p", ROWS, COLUMNS, ENTRIES);
    m->l.feeds[m->l.count++] = (rgm_feed){.input = m->p, .pattern = pattern};
    m->x = lab_input(&m->l, 2, (int64_t[]){COLUMNS, CHANNELS});
    CHECK_OK(rgm_tensor_create(&tensor, weights, 1, (int64_t[]){ENTRIES}));
    for (int64_t i = 0; i < ENTRIES; i++)
        lab_set(tensor, i, 0.25 * (double)(i + 1));
    m->w =
        lab_feed(&m->l, rgm_input(m->l.graph, "w", weights, 1, (rgm_dim[]){ENTRIES}), tensor, true);
}

static rgm_value *weighed_of(made *m, rgm_value *y)
{
    rgm_value *weighed;

    CHECK_OK(rgm_cgraph_weigh(&weighed, &y, 1, &(rgm_entry_weight){m->p, m->w}, 1));
    return weighed;
}

static void weights_are_as_built_by_hand(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        rgm_executor_options fused = {0};
        rgm_tensor *results[2];
        rgm_value *both[2];
        made m;

        open_made(&m, RGM_F64);
        both[0] = cases[c](&m.l, m.p, m.x, m.w);
        both[1] = weighed_of(&m, cases[c](&m.l, m.p, m.x, NULL));
        lab_run(&m.l, results, both, 2, &fused, NULL);
        for (int64_t i = 0; i < rgm_tensor_count(results[0]); i++)
            CHECK_CLOSE(rgm_tensor_at(results[1], i), rgm_tensor_at(results[0], i), 1e-12, 1e-14);
        rgm_tensor_release(results[0]);
        rgm_tensor_release(results[1]);
        lab_close(&m.l);
    }
}

static void weights_of_one_change_nothing(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        rgm_executor_options fused = {0};
        rgm_tensor *results[2];
        rgm_value *both[2];
        made m;

        open_made(&m, RGM_F32); /* of another type than the messages */
        for (int64_t i = 0; i < ENTRIES; i++)
            lab_set(m.l.feeds[2].tensor, i, 1);
        both[0] = cases[c](&m.l, m.p, m.x, NULL);
        both[1] = weighed_of(&m, both[0]);
        CHECK(both[0] != both[1]);
        lab_run(&m.l, results, both, 2, &fused, NULL);
        for (int64_t i = 0; i < rgm_tensor_count(results[0]); i++)
            CHECK_CLOSE(rgm_tensor_at(results[1], i), rgm_tensor_at(results[0], i), 1e-13, 1e-15);
        rgm_tensor_release(results[0]);
        rgm_tensor_release(results[1]);
        lab_close(&m.l);
    }
}

static void gradients_by_the_weights(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        rgm_executor_options fused = {0};
        char name[32];
        made m;

        open_made(&m, RGM_F64);
        snprintf(name, sizeof name, "case %zu", c);
        lab_check_gradient(&m.l, name,
                           lab_loss(&m.l, weighed_of(&m, cases[c](&m.l, m.p, m.x, NULL))), &fused);
        lab_close(&m.l);
    }
}

/* Explained is what runs without training compute. */
static void branches_for_training_are_left_out(void **state)
{
    rgm_value *y, *values[2], *weighed[2];
    made m;

    (void)state;
    open_made(&m, RGM_F64);
    y = sum(&m.l, m.p, m.x, NULL);
    values[0] = rgm_when_training(rgm_scale(y, 2), y);
    values[1] = rgm_tanh(m.x); /* no message reaches it */
    CHECK_OK(rgm_cgraph_weigh(weighed, values, 2, &(rgm_entry_weight){m.p, m.w}, 1));
    CHECK(strcmp(rgm_value_op(weighed[0])->name, "spmm") == 0);
    CHECK(weighed[1] == values[1]);
    lab_close(&m.l);
}

static void what_cannot_be_weighed_is_told(void **state)
{
    rgm_value *y, *out, *loops;
    made m, other;

    (void)state;
    open_made(&m, RGM_F64);
    open_made(&other, RGM_F64);
    y = sum(&m.l, m.p, m.x, NULL);
    loops = rgm_add_self_loops(m.p);
    CHECK_INT(RGM_ERR_ARG, rgm_cgraph_weigh(&out, &y, 1, &(rgm_entry_weight){other.p, m.w}, 1));
    CHECK_INT(RGM_ERR_SHAPE, rgm_cgraph_weigh(&out, &y, 1, &(rgm_entry_weight){loops, m.w}, 1));
    CHECK_INT(RGM_ERR_SHAPE, rgm_cgraph_weigh(&out, &y, 1, &(rgm_entry_weight){m.p, m.x}, 1));
    CHECK_INT(RGM_ERR_ARG, rgm_cgraph_weigh(&out, (rgm_value *[]){y, other.x}, 2,
                                            &(rgm_entry_weight){m.p, m.w}, 1));
    lab_close(&m.l);
    lab_close(&other.l);
}

static rgm_status weigh_all(void)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;
    rgm_value *p, *x, *w, *y, *out;

    RGM_GO(rgm_cgraph_create(&graph));
    p = rgm_input_pattern(graph, "p", ROWS, COLUMNS, ENTRIES);
    x = rgm_input(graph, "x", RGM_F32, 2, (rgm_dim[]){COLUMNS, CHANNELS});
    w = rgm_input(graph, "w", RGM_F32, 1, (rgm_dim[]){ENTRIES});
    y = rgm_spmm(p, x, &(rgm_spmm_options){.self_loop = true, .mean = true});
    RGM_GO(rgm_cgraph_status(graph));
    RGM_GO(rgm_cgraph_weigh(&out, &y, 1, &(rgm_entry_weight){p, w}, 1));
done:
    rgm_cgraph_release(graph);
    return status;
}

static void weighing_survives_every_failing_allocation(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(weigh_all(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_as_built_by_hand),
        cmocka_unit_test(weights_of_one_change_nothing),
        cmocka_unit_test(gradients_by_the_weights),
        cmocka_unit_test(branches_for_training_are_left_out),
        cmocka_unit_test(what_cannot_be_weighed_is_told),
        cmocka_unit_test(weighing_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
