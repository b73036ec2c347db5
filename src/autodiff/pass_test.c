/*
 * Each pass on the smallest program that shows it: fewer ops, the ops expected, and the same values
 * and gradients as without passes. Then random programs, fused, unfused and eager.
 */
#include "executor_internal.h"
#include "autodiff_check.h"

static const rgm_executor_options fused = {.training = true};
static const rgm_executor_options plain = {.training = true, .no_fusion = true};
static const rgm_executor_options eager = {.training = true, .eager = true};

static int64_t ops_of(const rgm_executor *executor, const char *name)
{
    int64_t count = 0;

    for (int64_t s = 0; s < executor->count; s++)
        count +=
            executor->order[s]->type != NULL && strcmp(executor->order[s]->type->name, name) == 0;
    return count;
}

static void results_agree(lab *l, rgm_value *const *fetches, int64_t count,
                          const rgm_executor_options *a, const rgm_executor_options *b,
                          double tolerance)
{
    rgm_tensor *x[LAB_MAX], *y[LAB_MAX];

    lab_run(l, x, fetches, count, a, NULL);
    lab_run(l, y, fetches, count, b, NULL);
    for (int64_t i = 0; i < count; i++) {
        double largest = 1;
        CHECK_INT(rgm_tensor_count(x[i]), rgm_tensor_count(y[i]));
        for (int64_t k = 0; k < rgm_tensor_count(x[i]); k++)
            largest = fmax(largest, fabs(rgm_tensor_at(y[i], k)));
        for (int64_t k = 0; k < rgm_tensor_count(x[i]); k++)
            CHECK_CLOSE(rgm_tensor_at(x[i], k), rgm_tensor_at(y[i], k), 0, tolerance * largest);
        rgm_tensor_release(x[i]);
        rgm_tensor_release(y[i]);
    }
}

/* Loss of y and its gradients by all inputs, [0] the loss. */
static int64_t loss_and_gradients(lab *l, rgm_value **fetches, rgm_value *y)
{
    rgm_value *wrt[LAB_MAX];
    int64_t n = 0;

    fetches[0] = lab_loss(l, y);
    for (int64_t i = 0; i < l->count; i++)
        if (l->differentiable[i])
            wrt[n++] = l->feeds[i].input;
    CHECK_OK(rgm_cgraph_gradients(fetches + 1, fetches[0], wrt, n));
    return n + 1;
}

/* The same values with fewer ops; `executor` is the fused one. */
static rgm_executor *fewer_ops(lab *l, rgm_value *const *fetches, int64_t count)
{
    rgm_executor *with, *without;

    results_agree(l, fetches, count, &fused, &plain, 1e-12);
    CHECK_OK(rgm_executor_create(&with, l->graph, fetches, count, &fused));
    CHECK_OK(rgm_executor_create(&without, l->graph, fetches, count, &plain));
    if (rgmi_executor_op_count(with) >= rgmi_executor_op_count(without))
        fail_msg("%d ops with passes, %d without", (int)rgmi_executor_op_count(with),
                 (int)rgmi_executor_op_count(without));
    rgm_executor_release(without);
    return with;
}

static void has_ops(const rgm_executor *executor, const char *name, int64_t count)
{
    rgm_text text = {0};

    if (ops_of(executor, name) == count)
        return;
    CHECK_OK(rgm_executor_print(&text, executor));
    fail_msg("%d ops '%s', expected %d:\n%s", (int)ops_of(executor, name), name, (int)count,
             text.data);
}

static void common_subexpressions_are_computed_once(void **state)
{
    lab l;

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){3, 4}), *w = lab_input(&l, 2, (int64_t[]){4, 4});
    rgm_value *a = rgm_matmul(x, w), *b = rgm_matmul(x, w);
    rgm_value *unused = rgm_exp(x);
    rgm_value *y = rgm_mul(rgm_softmax(a), rgm_softmax(b));
    CHECK(unused != NULL);
    rgm_executor *executor = fewer_ops(&l, &y, 1);
    has_ops(executor, "matmul", 1);
    has_ops(executor, "softmax", 1);
    has_ops(executor, "exp", 0);
    rgm_executor_release(executor);
    lab_close(&l);
}

static void dropout_vanishes_outside_training(void **state)
{
    lab l;
    rgm_executor *executor;
    rgm_executor_options evaluate = {.training = false};
    rgm_executor_options evaluate_plain = {.training = false, .no_fusion = true};

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){3, 4});
    rgm_value *y = rgm_softmax(rgm_item_dropout_op(rgm_dropout_op(x, 0.5, "a"), 0.5, "b"));
    CHECK_OK(rgm_executor_create(&executor, l.graph, &y, 1, &evaluate));
    has_ops(executor, "dropout", 0);
    has_ops(executor, "item_dropout", 0);
    CHECK_INT(1, rgmi_executor_op_count(executor));
    results_agree(&l, &y, 1, &evaluate, &evaluate_plain, 0);
    rgm_executor_release(executor);
    lab_close(&l);
}

static void bias_and_activation_ride_on_the_product(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    for (int which = 0; which < 3; which++) {
        lab_open(&l, RGM_F64);
        rgm_value *x = lab_input(&l, 2, (int64_t[]){5, 4}), *y;
        rgm_value *w = lab_input(&l, 2, (int64_t[]){4, 3}),
                  *bias = lab_input(&l, 1, (int64_t[]){3});
        rgm_value *p = lab_pattern(&l, 5, 4, 9);
        if (which == 0)
            y = rgm_relu(rgm_add(rgm_matmul(x, w), bias));
        else if (which == 1)
            y = rgm_elu(rgm_add(bias, rgm_spmm(p, w, NULL)));
        else /* a third axis in between */
            y = rgm_tanh(rgm_add(rgm_reshape(rgm_matmul(x, w), 3, (rgm_dim[]){1, 5, 3}), bias));
        rgm_executor *executor = fewer_ops(&l, &y, 1);
        CHECK_INT(1, rgmi_executor_op_count(executor));
        rgm_executor_release(executor);
        int64_t n = loss_and_gradients(&l, fetches, y);
        rgm_executor_release(fewer_ops(&l, fetches, n));
        lab_close(&l);
    }
}

static void scale_and_mask_go_into_softmax(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    for (int which = 0; which < 4; which++) {
        lab_open(&l, RGM_F64);
        rgm_value *x = lab_input(&l, 3, (int64_t[]){2, 3, 4});
        rgm_value *mask = lab_input(&l, 2, (int64_t[]){1, 4}), *y = x;
        if (which != 1)
            y = rgm_scale(y, 0.3);
        if (which == 3)
            y = rgm_add(mask, y);
        else if (which != 0)
            y = rgm_add(y, mask);
        y = rgm_softmax(y);
        rgm_executor *executor = fewer_ops(&l, &y, 1);
        has_ops(executor, "masked_softmax", 1);
        CHECK_INT(1, rgmi_executor_op_count(executor));
        rgm_executor_release(executor);
        rgm_executor_release(fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y)));
        lab_close(&l);
    }
}

static void a_residual_goes_into_layer_norm(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){3, 5}), *r = lab_input(&l, 2, (int64_t[]){3, 5});
    rgm_value *gamma = lab_input(&l, 1, (int64_t[]){5}), *beta = lab_input(&l, 1, (int64_t[]){5});
    rgm_value *y = rgm_layer_norm_op(rgm_add(rgm_exp(x), r), gamma, beta, 1e-3);
    rgm_executor *executor = fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y));
    has_ops(executor, "add", 0);
    rgm_executor_release(executor);
    lab_close(&l);
}

/* Its relu goes into a batch norm and into that one's gradient, its moments are taken once, and a
 * bias in front of it has no gradient, to the last bit. */
static void a_batch_norm_takes_its_relu_and_drops_a_bias(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX], *wrt[5];
    rgm_tensor *results[LAB_MAX];
    int64_t width = 5;

    (void)state;
    for (int which = 0; which < 2; which++) {
        lab_open(&l, which ? RGM_F32 : RGM_F64);
        rgm_value *x = wrt[0] = lab_input(&l, 2, (int64_t[]){40, 4});
        rgm_value *w = wrt[1] = lab_input(&l, 2, (int64_t[]){4, width});
        rgm_value *bias = wrt[2] = lab_input(&l, 1, &width);
        rgm_value *y = rgm_add(rgm_matmul(rgm_tanh(x), w), bias);
        for (int k = 3; k < 5; k++)
            wrt[k] = lab_input(&l, 1, &width);
        fetches[0] = rgm_relu(rgm_batch_norm_op(y, wrt[3], wrt[4], 1e-3));
        fetches[1] = rgm_batch_moments(y);
        CHECK_OK(rgm_cgraph_gradients(fetches + 2, lab_loss(&l, rgm_square(fetches[0])), wrt, 5));
        rgm_executor *executor;
        CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, 7, &fused));
        has_ops(executor, "batch_moments", 1);
        has_ops(executor, "batch_norm", 1);
        has_ops(executor, "batch_norm_grad", 1);
        has_ops(executor, "relu", 0);
        has_ops(executor, "relu_grad", 0);
        has_ops(executor, "reduce", 0);
        rgm_executor_release(executor);
        results_agree(&l, fetches, 7, &fused, &plain, which ? 1e-5 : 1e-12);
        lab_run(&l, results, fetches, 7, &fused, NULL);
        for (int64_t c = 0; c < width; c++)
            CHECK(rgm_tensor_at(results[4], c) == 0);
        for (int i = 0; i < 7; i++)
            rgm_tensor_release(results[i]);
        lab_close(&l);
    }
}

/* (1 + e) x + the sum over neighbours: one pass over x, of the gradient too. */
static void a_scaled_base_rides_on_the_sparse_sum(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];
    const int64_t one = 1;

    (void)state;
    for (int which = 0; which < 4; which++) {
        lab_open(&l, RGM_F64);
        rgm_value *p = lab_pattern(&l, 6, 6, 13), *x = lab_input(&l, 2, (int64_t[]){6, 5});
        rgm_value *e = which & 1 ? lab_input(&l, 1, &one) : lab_input(&l, 0, NULL);
        rgm_value *h = rgm_dropout_op(x, 0.3, "h"), *own = rgm_mul(h, rgm_tanh(e));
        own = which & 2 ? rgm_add(own, h) : rgm_add(h, own);
        rgm_value *y = rgm_tanh(rgm_add(own, rgm_spmm(p, h, NULL)));
        rgm_executor *executor = fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y));
        has_ops(executor, "spmm_add", 2);
        has_ops(executor, "spmm", 0);
        has_ops(executor, "add", 0);
        rgm_executor_release(executor);
        lab_close(&l);
    }
}

/* x + dropout(y), which: bit 0 item dropout, bit 1 the other way round. */
static rgm_value *dropped_sum(rgm_value **d, rgm_value *x, rgm_value *y, int which)
{
    *d = which & 1 ? rgm_item_dropout_op(y, 0.4, "d") : rgm_dropout_op(y, 0.4, "d");
    return which & 2 ? rgm_add(*d, x) : rgm_add(x, *d);
}

static void a_residual_goes_into_dropout(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX], *d;

    (void)state;
    for (int which = 0; which < 4; which++) {
        lab_open(&l, RGM_F64);
        rgm_value *x = lab_input(&l, 2, (int64_t[]){7, 5}),
                  *y = lab_input(&l, 2, (int64_t[]){7, 5});
        rgm_value *s = dropped_sum(&d, rgm_softmax(x), rgm_softmax(y), which);
        s = rgm_add(s, rgm_dropout_op(rgm_softmax(s), 0.3, "e"));
        s = rgm_matmul(s, rgm_permute(s, (int[]){1, 0}));
        rgm_executor *executor = fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, s));
        has_ops(executor, "dropout_add", 2);
        has_ops(executor, "dropout", which & 1 ? 1 : 2); /* what is left is the gradients' */
        has_ops(executor, "item_dropout", which & 1);
        rgm_executor_release(executor);
        lab_close(&l);
    }
}

static void a_dropped_sum_has_the_bits_of_both_ops(void **state)
{
    lab l;
    rgm_value *fetches[3];
    rgm_tensor *one[3], *two[3];

    (void)state;
    for (int which = 0; which < 16; which++) {
        lab_open(&l, which & 4 ? RGM_F32 : RGM_F64);
        int64_t shape[] = {which & 8 ? 1 : 301, 37};
        rgm_value *x = lab_input(&l, 2, shape), *y = lab_input(&l, 2, shape);
        fetches[0] = dropped_sum(&fetches[2], x, rgm_softmax(y), which);
        fetches[1] = rgm_softmax(fetches[0]);
        rgm_executor *executor = fewer_ops(&l, fetches, 2);
        has_ops(executor, "dropout_add", 1);
        rgm_executor_release(executor);
        results_agree(&l, fetches, 2, &fused, &plain, 0);
        lab_run(&l, one, fetches, 2, &fused, NULL);
        lab_run(&l, two, fetches, 3, &fused, NULL); /* what is fetched is not taken in */
        for (int i = 0; i < 2; i++)
            CHECK(rgm_tensor_equal(one[i], two[i]));
        CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, 3, &fused));
        has_ops(executor, "dropout_add", 0);
        rgm_executor_release(executor);
        for (int i = 0; i < 3; i++) {
            rgm_tensor_release(i < 2 ? one[i] : NULL);
            rgm_tensor_release(two[i]);
        }
        lab_close(&l);
    }
}

static void a_dropped_sum_stays_with_whom_it_costs_less(void **state)
{
    static const struct {
        const char *op;
        int64_t dropout_add;
    } want[] = {{"map", 0}, {"matmul_add", 0}, {"layer_norm", 1}, {"add", 0}, {"add", 0}};

    (void)state;
    for (int which = 0; which < 5; which++) {
        lab l;
        lab_open(&l, RGM_F64);
        rgm_value *x = rgm_item_dropout_op(lab_input(&l, 2, (int64_t[]){4, 4}), 0.1, "x");
        rgm_value *y = rgm_softmax(x); /* drawn, so not computed once for unchanged feeds */
        rgm_value *gamma = lab_input(&l, 1, (int64_t[]){4});
        rgm_value *d = rgm_dropout_op(y, 0.5, "d");
        rgm_value *narrow = rgm_dropout_op(gamma, 0.5, "n");
        rgm_value *z[] = {rgm_tanh(rgm_add(x, d)), rgm_add(rgm_matmul(y, rgm_softmax(y)), d),
                          rgm_layer_norm_op(rgm_add(y, d), gamma, gamma, 1e-3),
                          rgm_add(rgm_softmax(d), d), rgm_add(x, narrow)};
        rgm_executor *executor;
        CHECK_OK(rgm_executor_create(&executor, l.graph, &z[which], 1, &fused));
        has_ops(executor, want[which].op, 1);
        has_ops(executor, "dropout_add", want[which].dropout_add);
        rgm_executor_release(executor);
        results_agree(&l, &z[which], 1, &fused, &plain, 1e-12);
        lab_close(&l);
    }
}

static void a_dropped_sum_drops_nothing_at_rate_0_and_outside_training(void **state)
{
    static const rgm_executor_options evaluate = {.no_fusion = true};

    (void)state;
    for (int which = 0; which < 3; which++) {
        lab l;
        rgm_tensor *result[2];
        lab_open(&l, RGM_F32);
        rgm_value *x = lab_input(&l, 2, (int64_t[]){50, 30}),
                  *r = lab_input(&l, 2, (int64_t[]){50, 30});
        rgm_attributes attributes = {
            .number[0] = which == 0 ? 0 : 0.5, .integer[0] = which == 2, .text = "d"};
        rgm_value *fetches[] = {rgmi_op2(&rgmi_dropout_add_op, x, r, &attributes), rgm_add(r, x)};
        lab_run(&l, result, fetches, 2, which == 0 ? &plain : &evaluate, NULL);
        CHECK(rgm_tensor_equal(result[0], result[1]));
        rgm_tensor_release(result[0]);
        rgm_tensor_release(result[1]);
        lab_close(&l);
    }
}

/* Either input's memory will do: the one that nobody reads any more. */
static void a_dropped_sum_goes_over_an_input(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        lab l;
        rgm_value *fetches[3], *d;
        rgm_executor *executor;
        rgm_tensor *result[3];
        int found = 0;
        lab_open(&l, RGM_F32);
        rgm_value *w = lab_input(&l, 2, (int64_t[]){40, 50});
        rgm_value *r = rgm_softmax(rgm_dropout_op(w, 0.1, "r")),
                  *y = rgm_l2_normalize(rgm_dropout_op(w, 0.1, "y"));
        fetches[0] = dropped_sum(&d, r, y, 0);
        fetches[1] = which == 0 ? r : y;
        fetches[2] = r;
        int64_t count = which == 2 ? 3 : 2; /* what dies: y, r, neither */
        results_agree(&l, fetches, count, &fused, &plain, 0);
        CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, count, &fused));
        has_ops(executor, "dropout_add", 1);
        CHECK_OK(rgm_executor_run(executor, result, NULL, l.feeds, l.count, 3, 5));
        const rgmi_place *place = executor->current->place;
        for (int64_t s = 0; s < executor->count; s++) {
            const rgm_value *v = executor->order[s];
            if (!rgmi_is(v, &rgmi_dropout_add_op))
                continue;
            for (int k = 0; k < 2; k++)
                CHECK_INT(k == which, place[s].offset == place[v->in[k]->slot].offset);
            found++;
        }
        CHECK_INT(1, found);
        rgm_executor_release(executor);
        lab_close(&l);
    }
}

/* As queries and keys are, which a product has just written and nobody else reads. */
static void rows_are_turned_where_they_stand(void **state)
{
    lab l;
    rgm_executor *executor;
    rgm_tensor *result;
    int found = 0;

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){6, 8}), *w = lab_input(&l, 2, (int64_t[]){8, 8});
    rgm_value *table = lab_input(&l, 2, (int64_t[]){3, 4});
    rgm_value *rows = rgm_matmul(rgm_dropout_op(x, 0.1, "x"), w);
    rgm_value *y = rgm_softmax(rgm_rotary(rows, table, lab_index(&l, RGM_I64, 3, 3), 2));
    results_agree(&l, &y, 1, &fused, &eager, 0);
    CHECK_OK(rgm_executor_create(&executor, l.graph, &y, 1, &fused));
    CHECK_OK(rgm_executor_run(executor, &result, NULL, l.feeds, l.count, 3, 5));
    const rgmi_place *place = executor->current->place;
    for (int64_t s = 0; s < executor->count; s++) {
        const rgm_value *v = executor->order[s];
        if (!rgmi_is(v, &rgmi_rotary_op))
            continue;
        CHECK_INT(place[v->in[0]->slot].offset, place[s].offset);
        found++;
    }
    CHECK_INT(1, found);
    rgm_executor_release(executor);
    lab_close(&l);
}

static void chains_of_elementwise_ops_become_one(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){6, 5}), *b = lab_input(&l, 1, (int64_t[]){5});
    rgm_value *c = lab_input(&l, 2, (int64_t[]){6, 1});
    rgm_value *y = rgm_mul(rgm_sigmoid(rgm_add(x, b)), rgm_tanh(rgm_sub(x, c)));
    y = rgm_sub(rgm_square(y), rgm_scale(y, 0.5)); /* y is used twice: it ends a chain */
    rgm_executor *executor = fewer_ops(&l, &y, 1);
    CHECK_INT(2, rgmi_executor_op_count(executor));
    has_ops(executor, "map", 2);
    rgm_executor_release(executor);
    rgm_executor_release(fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y)));
    lab_close(&l);
}

/* A gated unit: the gate's activation is read by the product and by its gradient. */
static void a_function_that_two_programs_read_is_computed_in_both(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    for (int others = 0; others < 2; others++) {
        lab_open(&l, others == 0 ? RGM_F32 : RGM_F64); /* in f32 the same bits */
        rgm_value *g = lab_input(&l, 2, (int64_t[]){6, 5}),
                  *u = lab_input(&l, 2, (int64_t[]){6, 5});
        rgm_value *w = lab_input(&l, 2, (int64_t[]){5, 3}), *gate = rgm_silu(g);
        rgm_value *y = rgm_matmul(rgm_mul(gate, u), w);
        if (others == 1) /* a third reader, and one that is no program */
            y = rgm_add(y, rgm_matmul(gate, w));
        int64_t count = loss_and_gradients(&l, fetches, y);
        rgm_executor *executor = fewer_ops(&l, fetches, count);
        has_ops(executor, "silu", others);
        has_ops(executor, "map", others == 0 ? 3 : 2);
        rgm_executor_release(executor);
        lab_close(&l);
    }
}

static void a_chain_longer_than_a_program_is_split(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX], *y, *x[8];

    (void)state;
    lab_open(&l, RGM_F64);
    y = lab_input(&l, 2, (int64_t[]){3, 4});
    for (int i = 0; i < 8; i++)
        x[i] = lab_input(&l, 2, (int64_t[]){3, 4});
    for (int i = 0; i < 24; i++)
        y = i % 3 == 0 ? rgm_add(y, x[i / 3]) : i % 3 == 1 ? rgm_tanh(y) : rgm_scale(y, 1.1);
    rgm_executor *executor = fewer_ops(&l, &y, 1);
    CHECK(rgmi_executor_op_count(executor) <= 3);
    rgm_executor_release(executor);
    rgm_executor_release(fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y)));
    lab_close(&l);
}

/* A graph with symbols for its sizes: nodes 7, edges 15. */
static rgm_value *edges(lab *l)
{
    rgm_dim nodes = rgm_cgraph_symbol(l->graph, "nodes");

    return lab_pattern_of(l, nodes, nodes, rgm_cgraph_symbol(l->graph, "edges"), 7, 7, 15);
}

static rgm_value *states(lab *l, int64_t width)
{
    return lab_input_of(l, 2, (rgm_dim[]){rgm_cgraph_symbol(l->graph, "nodes"), width},
                        (int64_t[]){7, width}, false);
}

static void pooled_broadcasts_become_sparse_products(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    for (int which = 0; which < 6; which++) {
        lab_open(&l, RGM_F64);
        rgm_value *p = edges(&l), *x = states(&l, 6), *y, *w;
        rgm_dim count = rgm_cgraph_symbol(l.graph, "edges");
        rgm_value *e = rgm_broadcast_columns(p, x);
        if (which == 1) {
            w = lab_input_of(&l, 2, (rgm_dim[]){count, 1}, (int64_t[]){15, 1}, false);
            e = rgm_mul(e, w);
        } else if (which == 2) { /* heads */
            w = lab_input_of(&l, 3, (rgm_dim[]){count, 3, 1}, (int64_t[]){15, 3, 1}, false);
            e = rgm_mul(w, rgm_broadcast_columns(
                               p, rgm_reshape(x, 3, (rgm_dim[]){rgm_value_dim(x, 0), 3, 2})));
            e = rgm_reshape(e, 2, (rgm_dim[]){count, 6});
        } else if (which == 3) {
            p = rgm_transpose_pattern(p);
            e = rgm_broadcast_columns(p, x);
        } else if (which == 5) {
            e = rgm_broadcast_rows(rgm_transpose_pattern(p), x);
        }
        y = rgm_pool_rows(p, e, which == 4 ? RGM_MEAN : RGM_SUM);
        rgm_executor *executor = fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y));
        has_ops(executor, "pool_rows", 0);
        has_ops(executor, "broadcast_columns", 0);
        has_ops(executor, "broadcast_rows", 0);
        has_ops(executor, "spmm", 2);
        has_ops(executor, "sddmm", which == 1 || which == 2);
        rgm_executor_release(executor);
        lab_close(&l);
    }
}

/* As the gradient of a bias behind which some rows are read: the sum of what is pooled. */
static void a_sum_over_pooled_rows_is_one_over_entries(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *p = edges(&l);
    rgm_value *x = lab_input_of(&l, 2, (rgm_dim[]){rgm_cgraph_symbol(l.graph, "edges"), 3},
                                (int64_t[]){15, 3}, true);
    rgm_value *y = rgm_reduce(rgm_pool_rows(p, x, RGM_SUM), 0, RGM_SUM);
    rgm_executor *executor = fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y));
    has_ops(executor, "pool_rows", 0);
    rgm_executor_release(executor);
    y = rgm_reduce(rgm_pool_rows(p, x, RGM_MEAN), 0, RGM_SUM); /* another value */
    results_agree(&l, fetches, loss_and_gradients(&l, fetches, y), &fused, &plain, 1e-12);
    lab_close(&l);
}

/* The rows that a sparse product of the program moves, as a sum over products. */
static int64_t sparse_width(const rgm_executor *executor)
{
    int64_t width = 0;

    for (int64_t s = 0; s < executor->count; s++)
        if (rgmi_is(executor->order[s], &rgmi_spmm_op) ||
            rgmi_is(executor->order[s], &rgmi_spmm_add_op))
            width += rgm_value_dim(executor->order[s], 1);
    return width;
}

static void the_sparse_product_stands_on_the_narrower_side(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX], *wrt[3];

    (void)state;
    for (int which = 0; which < 4; which++) {
        rgm_executor *executor;
        bool sum_first = which & 1, widens = which & 2;
        int64_t in = widens ? 3 : 8, out = widens ? 8 : 3;
        lab_open(&l, RGM_F64);
        rgm_value *p = edges(&l), *x = rgm_exp(states(&l, in)), *y;
        rgm_value *w = rgm_tanh(lab_input(&l, 2, (int64_t[]){in, out}));
        x = rgm_dropout_op(x, 0.3, "d"); /* else it depends on fed values alone */
        rgm_spmm_options options = {.mean = true};
        y = sum_first ? rgm_matmul(rgm_spmm(p, x, &options), w)
                      : rgm_spmm(p, rgm_matmul(x, w), &options);
        y = rgm_tanh(y);
        fetches[0] = lab_loss(&l, y);
        wrt[0] = x, wrt[1] = w;
        CHECK_OK(rgm_cgraph_gradients(fetches + 1, fetches[0], wrt, 2));
        results_agree(&l, fetches, 3, &fused, &plain, 1e-12);
        CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, 3, &fused));
        CHECK_INT(6, sparse_width(executor)); /* 3 forward, 3 backward */
        rgm_executor_release(executor);
        lab_close(&l);
    }
}

static void products_with_edge_values_move_to_the_nodes(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *p = edges(&l), *x = states(&l, 4);
    rgm_value *u = lab_input(&l, 2, (int64_t[]){4, 3}), *v = lab_input(&l, 2, (int64_t[]){4, 3});
    rgm_value *m = rgm_relu(rgm_add(rgm_matmul(rgm_broadcast_columns(p, x), u),
                                    rgm_matmul(rgm_broadcast_rows(p, x), v)));
    rgm_value *y = rgm_pool_rows(p, m, RGM_SUM);
    rgm_executor *executor = fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y));
    for (int64_t s = 0; s < executor->count; s++) /* none is [edges, ..] */
        if (rgmi_is(executor->order[s], &rgmi_matmul_op) ||
            rgmi_is(executor->order[s], &rgmi_matmul_add_op))
            CHECK(rgm_value_dim(executor->order[s], 0) != rgm_cgraph_symbol(l.graph, "edges"));
    rgm_executor_release(executor);
    lab_close(&l);
}

/* The first of some rows, as a narrowed graph picks them. */
static void products_with_picked_rows_stay_with_them(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *p = edges(&l), *x = states(&l, 4), *w = lab_input(&l, 2, (int64_t[]){4, 3});
    int of_picked = 0;
    p->picks = true; /* what is fed has columns twice: right all the same */
    rgm_value *y = rgm_matmul(rgm_broadcast_columns(p, x), w);
    int64_t count = loss_and_gradients(&l, fetches, y);
    rgm_executor *executor;
    results_agree(&l, fetches, count, &fused, &plain, 1e-12);
    CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, count, &fused));
    for (int64_t s = 0; s < executor->count; s++)
        if (rgmi_is(executor->order[s], &rgmi_matmul_op))
            of_picked += rgmi_is(executor->order[s]->in[0], &rgmi_broadcast_columns_op);
    CHECK_INT(2, of_picked); /* forward, and the weight's gradient */
    rgm_executor_release(executor);
    lab_close(&l);
}

static void transposes_become_flags_and_sums_accumulate(void **state)
{
    static const int swap[] = {1, 0};
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *a = lab_input(&l, 2, (int64_t[]){4, 3}), *b = lab_input(&l, 2, (int64_t[]){5, 4});
    rgm_value *c = lab_input(&l, 2, (int64_t[]){3, 2}), *d = lab_input(&l, 2, (int64_t[]){2, 5});
    rgm_value *bias = lab_input(&l, 1, (int64_t[]){5});
    rgm_value *y = rgm_add(
        rgm_add(rgm_matmul(rgm_permute(rgm_dropout_op(a, 0.1, "a"), swap), rgm_permute(b, swap)),
                rgm_matmul(rgm_dropout_op(c, 0.1, "c"), d)),
        bias);
    y = rgm_permute(rgm_relu(y), swap);
    rgm_executor *executor = fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y));
    has_ops(executor, "add", 0);
    has_ops(executor, "relu", 0);
    has_ops(executor, "matmul_add", 1);
    rgm_executor_release(executor);
    lab_close(&l);
}

static void parts_of_a_shared_kernel_are_put_together(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){4, 3}), *k = lab_input(&l, 2, (int64_t[]){9, 2});
    rgm_value *y = rgm_matmul(x, rgm_slice(k, 0, 0, 3));
    y = rgm_add(y, rgm_matmul(rgm_exp(x), rgm_slice(k, 0, 3, 6)));
    y = rgm_add(y, rgm_matmul(rgm_square(x), rgm_slice(k, 0, 6, 9)));
    rgm_executor *executor = fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y));
    has_ops(executor, "slice_grad", 0);
    rgm_executor_release(executor);
    lab_close(&l);
}

static void a_weights_penalty_is_one_op(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){3, 4});
    rgm_value *y = rgm_sum(rgm_square(rgm_dropout_op(x, 0.1, "x")));
    rgm_executor *executor = fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y));
    has_ops(executor, "sum_squares", 1);
    has_ops(executor, "square", 0);
    rgm_executor_release(executor);
    lab_close(&l);
}

/* Over rows, over channels, and over everything behind a reshape; not where somebody else reads the
 * product, nor where it is of another shape than its factors. */
static void a_sum_of_products_stores_no_product(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *x = rgm_dropout_op(lab_input(&l, 2, (int64_t[]){5, 4}), 0.1, "x");
    rgm_value *z = rgm_dropout_op(lab_input(&l, 2, (int64_t[]){5, 4}), 0.1, "z");
    rgm_value *shared = rgm_mul(rgm_exp(x), z);
    rgm_value *row = rgm_dropout_op(lab_input(&l, 1, (int64_t[]){4}), 0.1, "row");
    fetches[0] = rgm_reduce(rgm_square(x), 0, RGM_SUM);
    fetches[1] = rgm_reduce(rgm_mul(x, z), 1, RGM_SUM);
    fetches[2] = rgm_sum(rgm_mul(z, rgm_relu(x)));
    fetches[3] = rgm_add(rgm_reduce(shared, 0, RGM_SUM), rgm_reduce(shared, 0, RGM_MAX));
    fetches[4] = rgm_reduce(rgm_mul(z, row), 0, RGM_SUM);
    fetches[5] = rgm_reduce(rgm_mul(x, x), 0, RGM_MEAN);
    rgm_executor *executor = fewer_ops(&l, fetches, 6);
    has_ops(executor, "product_sum", 3);
    has_ops(executor, "reduce", 4);
    rgm_executor_release(executor);
    lab_close(&l);
}

/* Large enough that products go over their own input, some rows at a time. */
static void large_products_in_place_are_the_same(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F32);
    int64_t rows = RGMI_IN_PLACE / 64 + 77;
    rgm_value *x = rgm_dropout_op(lab_input(&l, 2, (int64_t[]){rows, 64}), 0.1, "x");
    rgm_value *w = rgm_scale(lab_input(&l, 2, (int64_t[]){64, 64}), 0.1);
    rgm_value *b = lab_input(&l, 1, (int64_t[]){64});
    fetches[0] = rgm_matmul(rgm_relu(rgm_add(rgm_matmul(x, w), b)), w);
    fetches[0] = rgm_relu(rgm_add(rgm_matmul(rgm_exp(rgm_scale(fetches[0], 0.01)), w),
                                  rgm_matmul(rgm_dropout_op(x, 0.2, "y"), w)));
    rgm_executor *executor;
    rgm_tensor *result;
    results_agree(&l, fetches, 1, &fused, &plain, 1e-5);
    results_agree(&l, fetches, 1, &eager, &plain, 0); /* nothing in place: the same bits */
    CHECK_OK(rgm_executor_create(&executor, l.graph, fetches, 1, &fused));
    CHECK_OK(rgm_executor_run(executor, &result, NULL, l.feeds, l.count, 3, 5));
    CHECK(rgm_executor_arena_bytes(executor) < 3 * rows * 64 * 4); /* dropout, x, scratch */
    rgm_executor_release(executor);
    lab_close(&l);
}

static void a_dropped_relu_needs_only_the_dropped_value(void **state)
{
    lab l;
    rgm_value *fetches[LAB_MAX];

    (void)state;
    lab_open(&l, RGM_F64);
    rgm_value *x = lab_input(&l, 2, (int64_t[]){8, 4}), *w = lab_input(&l, 2, (int64_t[]){4, 4});
    rgm_value *y = rgm_relu(rgm_matmul(x, w));
    y = rgm_matmul(rgm_dropout_op(y, 0.5, "d"), w);
    rgm_executor *executor = fewer_ops(&l, fetches, loss_and_gradients(&l, fetches, y));
    for (int64_t s = 0; s < executor->count; s++) /* the matmul with relu feeds the dropout alone */
        if (rgmi_is(executor->order[s], &rgmi_matmul_op) &&
            executor->order[s]->attributes.integer[2] == RGM_ACT_RELU)
            CHECK_INT(1, executor->order[s]->uses);
    has_ops(executor, "dropout", 1); /* the gradient draws no mask */
    rgm_executor_release(executor);
    lab_close(&l);
}

/* ---- random programs ---- */

static rgm_value *random_step(lab *l, rgm_value *p, rgm_value *const *pool, int count)
{
    rgm_value *a = pool[(int)(lab_uniform(l) * count)], *b = pool[(int)(lab_uniform(l) * count)];

    switch ((int)(lab_uniform(l) * 19)) {
    case 0:
        return rgm_add(a, b);
    case 1:
        return rgm_mul(rgm_tanh(a), b);
    case 2:
        return rgm_relu(a);
    case 3:
        return rgm_sub(a, rgm_mean(b));
    case 4:
        return rgm_spmm(p, a, NULL);
    case 5:
        return rgm_pool_rows(p, rgm_broadcast_columns(p, a), RGM_MEAN);
    case 6:
        return rgm_pool_rows(
            p, rgm_relu(rgm_add(rgm_broadcast_columns(p, a), rgm_broadcast_rows(p, b))), RGM_SUM);
    case 7:
        return rgm_matmul(a, pool[-1]);
    case 8:
        return rgm_tanh(rgm_add(rgm_matmul(a, pool[-1]), pool[-2]));
    case 9:
        return rgm_add(rgm_matmul(a, pool[-1]), rgm_spmm(p, rgm_matmul(b, pool[-1]), NULL));
    case 10:
        return rgm_dropout_op(rgm_relu(a), 0.5, NULL);
    case 11:
        return rgm_softmax(rgm_add(rgm_scale(a, 0.7), b));
    case 12:
        return rgm_l2_normalize(a);
    case 13:
        return rgm_layer_norm_op(rgm_add(a, b), pool[-2], pool[-2], 1e-3);
    case 14:
        return rgm_maximum(a, rgm_neg(b));
    case 15:
        return rgm_concat((rgm_value *[]){rgm_slice(a, 1, 2, 4), rgm_slice(b, 1, 0, 2)}, 2, 1);
    case 16:
        return rgm_pool_rows(rgm_transpose_pattern(p), rgm_broadcast_rows(p, a), RGM_MAX_NO_INF);
    case 17:
        return rgm_add(a, rgm_dropout_op(rgm_softmax(b), 0.5, NULL));
    default:
        return rgm_sigmoid(rgm_scale(rgm_add(a, b), 0.5));
    }
}

static void random_programs_agree_in_every_mode(void **state)
{
    (void)state;
    for (int trial = 0; trial < 300; trial++) {
        lab l;
        rgm_value *values[2 + 16], **pool = values + 2, *fetches[LAB_MAX];
        int count = 2;
        bool single = trial % 2; /* f32: the fast kernels, also in place */
        lab_open(&l, single ? RGM_F32 : RGM_F64);
        l.draws = (uint64_t)trial * 100000;
        rgm_value *p = edges(&l);
        values[0] = lab_input(&l, 1, (int64_t[]){4});
        values[1] = rgm_scale(lab_input(&l, 2, (int64_t[]){4, 4}), 0.5);
        pool[0] = states(&l, 4);
        pool[1] = states(&l, 4);
        while (count < 3 + trial / 2 % 13) {
            pool[count] = random_step(&l, p, pool, count);
            CHECK_OK(rgm_cgraph_status(l.graph));
            count++;
        }
        int64_t n = loss_and_gradients(&l, fetches, rgm_add(pool[count - 1], pool[count / 2]));
        results_agree(&l, fetches, n, &fused, &plain, single ? 1e-3 : 1e-10);
        results_agree(&l, fetches, n, &eager, &plain, 0);
        lab_close(&l);
    }
}

TESTS(cmocka_unit_test(common_subexpressions_are_computed_once),
      cmocka_unit_test(dropout_vanishes_outside_training),
      cmocka_unit_test(bias_and_activation_ride_on_the_product),
      cmocka_unit_test(scale_and_mask_go_into_softmax),
      cmocka_unit_test(a_residual_goes_into_layer_norm),
      cmocka_unit_test(a_batch_norm_takes_its_relu_and_drops_a_bias),
      cmocka_unit_test(a_scaled_base_rides_on_the_sparse_sum),
      cmocka_unit_test(a_residual_goes_into_dropout),
      cmocka_unit_test(a_dropped_sum_has_the_bits_of_both_ops),
      cmocka_unit_test(a_dropped_sum_stays_with_whom_it_costs_less),
      cmocka_unit_test(a_dropped_sum_drops_nothing_at_rate_0_and_outside_training),
      cmocka_unit_test(a_dropped_sum_goes_over_an_input),
      cmocka_unit_test(rows_are_turned_where_they_stand),
      cmocka_unit_test(chains_of_elementwise_ops_become_one),
      cmocka_unit_test(a_function_that_two_programs_read_is_computed_in_both),
      cmocka_unit_test(a_chain_longer_than_a_program_is_split),
      cmocka_unit_test(pooled_broadcasts_become_sparse_products),
      cmocka_unit_test(a_sum_over_pooled_rows_is_one_over_entries),
      cmocka_unit_test(the_sparse_product_stands_on_the_narrower_side),
      cmocka_unit_test(products_with_edge_values_move_to_the_nodes),
      cmocka_unit_test(products_with_picked_rows_stay_with_them),
      cmocka_unit_test(transposes_become_flags_and_sums_accumulate),
      cmocka_unit_test(parts_of_a_shared_kernel_are_put_together),
      cmocka_unit_test(a_weights_penalty_is_one_op),
      cmocka_unit_test(a_sum_of_products_stores_no_product),
      cmocka_unit_test(large_products_in_place_are_the_same),
      cmocka_unit_test(a_dropped_relu_needs_only_the_dropped_value),
      cmocka_unit_test(random_programs_agree_in_every_mode))
