/*
 * Whole models written with this layer's ops alone: a GCN, a GraphSAGE, a GAT v2 and an MPNN. Ten
 * steps of plain gradient descent lower the loss, and the gradient of all parameters agrees with
 * differences of the loss along a hundred random directions, in double, with dropout on.
 */
#include <lab.h>

enum { NODES = 60, EDGES = 240, FEATURES = 12, HIDDEN = 8, CLASSES = 3, PARAMETERS = 24 };

typedef struct model {
    lab l;
    rgm_value *p, *x, *labels, *loss;
    rgm_value *fetches[1 + PARAMETERS];
    int64_t parameter_count;
} model;

static rgm_value *weight(model *m, const char *name, int64_t rows, int64_t columns)
{
    return rgm_parameter(m->l.graph, name, RGM_F64, 2, (int64_t[]){rows, columns},
                         (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
}

static rgm_value *vector(model *m, const char *name, int64_t size)
{
    return rgm_parameter(m->l.graph, name, RGM_F64, 1, &size, (rgm_init){RGM_INIT_UNIFORM, 0.1});
}

/* Kipf & Welling: relu(D^-1/2 (A + I) D^-1/2 x W + b) */
static rgm_value *gcn_layer(model *m, rgm_value *x, const char *w, const char *b, int64_t in,
                            int64_t out)
{
    rgm_value *d = rgm_rsqrt(rgm_shift(rgm_degree(m->p, RGM_F64), 1));
    rgm_spmm_options options = {.row_scale = d, .column_scale = d, .self_loop = true};

    return rgm_add(rgm_spmm(m->p, rgm_matmul(x, weight(m, w, in, out)), &options),
                   vector(m, b, out));
}

static rgm_value *gcn(model *m)
{
    rgm_value *h = rgm_dropout_op(m->x, 0.2, "x");

    h = rgm_relu(gcn_layer(m, h, "w0", "b0", FEATURES, HIDDEN));
    return gcn_layer(m, rgm_dropout_op(h, 0.3, "h"), "w1", "b1", HIDDEN, CLASSES);
}

static rgm_value *sage(model *m)
{
    rgm_spmm_options mean = {.mean = true};
    rgm_value *h = m->x;

    for (int layer = 0; layer < 2; layer++) {
        int64_t in = layer == 0 ? FEATURES : HIDDEN, out = layer == 0 ? HIDDEN : CLASSES;
        rgm_value *near =
            rgm_matmul(rgm_spmm(m->p, h, &mean), weight(m, layer ? "n1" : "n0", in, out));
        h = rgm_add(rgm_matmul(h, weight(m, layer ? "s1" : "s0", in, out)), near);
        h = rgm_add(h, vector(m, layer ? "b1" : "b0", out));
        if (layer == 0)
            h = rgm_dropout_op(rgm_l2_normalize(rgm_relu(h)), 0.3, "h");
    }
    return h;
}

static rgm_value *gat_layer(model *m, rgm_value *x, int layer, int64_t in, int64_t heads,
                            int64_t depth)
{
    rgm_dim nodes = rgm_value_dim(x, 0);
    rgm_value *p = rgm_add_self_loops(m->p);
    rgm_value *a = weight(m, layer ? "a1" : "a0", heads, depth);
    rgm_value *q = rgm_add(rgm_matmul(x, weight(m, layer ? "q1" : "q0", in, heads * depth)),
                           vector(m, layer ? "qb1" : "qb0", heads * depth));
    rgm_value *v = rgm_matmul(x, weight(m, layer ? "v1" : "v0", in, heads * depth));
    rgm_dim split[] = {nodes, heads, depth};
    rgm_value *score =
        rgm_gatv2_score(p, rgm_reshape(q, 3, split), rgm_reshape(v, 3, split), a, 0.2);
    rgm_spmm_options options = {
        .weight = rgm_dropout_op(rgm_softmax_rows(p, score), 0.2, layer ? "1" : "0")};

    return rgm_spmm(p, v, &options);
}

static rgm_value *gat(model *m)
{
    rgm_value *h = rgm_elu(gat_layer(m, m->x, 0, FEATURES, 2, 4));

    return gat_layer(m, h, 1, HIDDEN, 1, CLASSES);
}

static rgm_value *mpnn(model *m)
{
    rgm_value *h = rgm_tanh(rgm_matmul(m->x, weight(m, "in", FEATURES, HIDDEN)));

    for (int layer = 0; layer < 2; layer++) {
        rgm_value *ends[] = {rgm_broadcast_columns(m->p, h), rgm_broadcast_rows(m->p, h)};
        rgm_value *message =
            rgm_matmul(rgm_concat(ends, 2, 1), weight(m, layer ? "m1" : "m0", 2 * HIDDEN, HIDDEN));
        message = rgm_elu(rgm_add(message, vector(m, layer ? "mb1" : "mb0", HIDDEN)));
        rgm_value *pooled =
            rgm_pool_rows(m->p, rgm_dropout_op(message, 0.1, layer ? "d1" : "d0"), RGM_MEAN);
        rgm_value *both[] = {h, pooled};
        rgm_value *next =
            rgm_matmul(rgm_concat(both, 2, 1), weight(m, layer ? "u1" : "u0", 2 * HIDDEN, HIDDEN));
        h = rgm_layer_norm_op(rgm_add(h, rgm_elu(next)), vector(m, layer ? "g1" : "g0", HIDDEN),
                              vector(m, layer ? "e1" : "e0", HIDDEN), 1e-3);
    }
    return rgm_matmul(h, weight(m, "out", HIDDEN, CLASSES));
}

static void model_open(model *m, rgm_value *(*logits)(model *))
{
    rgm_value *wrt[PARAMETERS];
    rgm_tensor *labels;
    int64_t nodes = NODES;

    memset(m, 0, sizeof *m);
    lab_open(&m->l, RGM_F64);
    rgm_dim n = rgm_cgraph_symbol(m->l.graph, "nodes");
    m->p = lab_pattern_of(&m->l, n, n, rgm_cgraph_symbol(m->l.graph, "edges"), NODES, NODES, EDGES);
    m->x = lab_input_of(&m->l, 2, (rgm_dim[]){n, FEATURES}, (int64_t[]){NODES, FEATURES}, false);
    CHECK_OK(rgm_tensor_create(&labels, RGM_I64, 1, &nodes));
    for (int i = 0; i < NODES; i++)
        rgm_tensor_i64(labels)[i] =
            rgm_tensor_at(m->l.feeds[1].tensor, i * FEATURES) > 0 ? i % 3 : 0;
    m->labels = lab_feed(&m->l, rgm_input(m->l.graph, "labels", RGM_I64, 1, &n), labels, false);
    m->loss = rgm_mean(rgm_softmax_cross_entropy(logits(m), m->labels));
    CHECK_OK(rgm_cgraph_status(m->l.graph));
    m->parameter_count = rgm_cgraph_parameter_count(m->l.graph);
    CHECK(m->parameter_count <= PARAMETERS);
    for (int64_t i = 0; i < m->parameter_count; i++)
        wrt[i] = rgm_cgraph_parameter(m->l.graph, i);
    m->fetches[0] = m->loss;
    CHECK_OK(rgm_cgraph_gradients(m->fetches + 1, m->loss, wrt, m->parameter_count));
}

static double model_run(model *m, rgm_executor *executor, rgm_tensor **fetched,
                        const rgm_parameters *parameters)
{
    CHECK_OK(rgm_executor_run(executor, fetched, parameters, m->l.feeds, m->l.count, 3, 1));
    return rgm_tensor_at(fetched[0], 0);
}

static void descend(rgm_value *(*logits)(model *), double rate)
{
    model m;
    rgm_parameters *parameters;
    rgm_executor *executor;
    rgm_executor_options options = {.training = true};
    rgm_tensor *fetched[1 + PARAMETERS];
    double first, last = 0;

    model_open(&m, logits);
    CHECK_OK(rgm_parameters_create(&parameters, m.l.graph, 5));
    CHECK_OK(rgm_executor_create(&executor, m.l.graph, m.fetches, 1 + m.parameter_count, &options));
    first = model_run(&m, executor, fetched, parameters);
    for (int step = 0; step < 10; step++) {
        for (int64_t i = 0; i < m.parameter_count; i++) {
            double *w = rgm_tensor_f64(rgm_parameters_tensor(parameters, i));
            for (int64_t k = 0; k < rgm_tensor_count(fetched[1 + i]); k++)
                w[k] -= rate * rgm_tensor_f64(fetched[1 + i])[k];
        }
        rgm_parameters_touch(parameters);
        double before = last;
        last = model_run(&m, executor, fetched, parameters);
        CHECK(step == 0 || last < before); /* the same dropout each time: plain descent */
    }
    if (!(last < 0.95 * first))
        fail_msg("ten steps took the loss from %g to %g", first, last);
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    lab_close(&m.l);
}

static void ten_steps_lower_the_loss_of_each_model(void **state)
{
    (void)state;
    descend(gcn, 0.5);
    descend(sage, 0.3);
    descend(gat, 0.5);
    descend(mpnn, 0.2);
}

/* w += scale * direction, the direction drawn anew from its number. */
static double move(rgm_parameters *parameters, int direction, double scale,
                   rgm_tensor *const *gradients)
{
    rgm_rng rng = rgm_rng_stream(9, "direction", (uint64_t)direction);
    uint64_t at = 0;
    double along = 0;

    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        double *w = rgm_tensor_f64(rgm_parameters_tensor(parameters, i));
        for (int64_t k = 0; k < rgm_tensor_count(rgm_parameters_tensor(parameters, i)); k++) {
            double d = rgm_rng_normal(&rng, at++);
            w[k] += scale * d;
            if (gradients != NULL)
                along += d * rgm_tensor_f64(gradients[i])[k];
        }
    }
    return along;
}

static void check_directions(rgm_value *(*logits)(model *), const rgm_executor_options *options)
{
    model m;
    rgm_parameters *parameters;
    rgm_executor *gradient, *loss;
    rgm_tensor *fetched[1 + PARAMETERS], *value;
    const double step = 1e-6;

    model_open(&m, logits);
    CHECK_OK(rgm_parameters_create(&parameters, m.l.graph, 5));
    CHECK_OK(rgm_executor_create(&gradient, m.l.graph, m.fetches, 1 + m.parameter_count, options));
    CHECK_OK(rgm_executor_create(&loss, m.l.graph, &m.loss, 1, options));
    model_run(&m, gradient, fetched, parameters);
    for (int direction = 0; direction < 100; direction++) {
        double along = move(parameters, direction, 0, fetched + 1), up, down;
        move(parameters, direction, step, NULL);
        up = model_run(&m, loss, &value, parameters);
        move(parameters, direction, -2 * step, NULL);
        down = model_run(&m, loss, &value, parameters);
        move(parameters, direction, step, NULL);
        CHECK_CLOSE(along, (up - down) / (2 * step), 1e-6, 1e-8);
    }
    rgm_executor_release(gradient);
    rgm_executor_release(loss);
    rgm_parameters_release(parameters);
    lab_close(&m.l);
}

static void gradients_agree_along_a_hundred_directions(void **state)
{
    rgm_executor_options fused = {.training = true}, eager = {.training = true, .eager = true};

    (void)state;
    check_directions(gcn, &fused);
    check_directions(sage, &fused);
    check_directions(gat, &fused);
    check_directions(mpnn, &fused);
    check_directions(mpnn, &eager);
}

TESTS(cmocka_unit_test(ten_steps_lower_the_loss_of_each_model),
      cmocka_unit_test(gradients_agree_along_a_hundred_directions))
