/*
 * Tests of the convolutions: each against a plain loop over edges written from its formula, with
 * every option that changes the formula, on a graph with a repeated receiver, a loop and lonely
 * nodes.
 */
#include "gnn_check.h"

/* ---- GCN ---- */

typedef struct plain_gcn {
    int norm, width, units;
    bool loops;
    const double *weight; /* NULL: ones */
} plain_gcn;

static double scale_of(int norm, bool receiver, double in, double out)
{
    switch (norm) {
    case RGM_NORM_IN:
        return receiver ? 1 / in : 1;
    case RGM_NORM_OUT:
        return receiver ? 1 : 1 / out;
    case RGM_NORM_IN_OUT:
        return receiver ? 1 / sqrt(in) : 1 / sqrt(out);
    case RGM_NORM_IN_IN:
        return 1 / sqrt(in);
    default:
        return 1;
    }
}

static void gcn_in_plain_c(double *y, const plain_gcn *o, const double *x, const double *kernel,
                           const double *bias)
{
    double in[PAPER_COUNT] = {0}, out[PAPER_COUNT] = {0}, sum[PAPER_COUNT * 8] = {0};
    int n = o->width;

    for (int e = 0; e < CITE_COUNT; e++) {
        in[cite_target[e]] += o->weight ? o->weight[e] : 1;
        out[cite_source[e]] += o->weight ? o->weight[e] : 1;
    }
    for (int v = 0; v < PAPER_COUNT; v++) {
        in[v] = o->loops ? in[v] + 1 : fmax(in[v], 1);
        out[v] = o->loops ? out[v] + 1 : fmax(out[v], 1);
    }
    for (int e = 0; e < CITE_COUNT; e++) {
        int64_t s = cite_source[e], t = cite_target[e];
        for (int k = 0; k < n; k++)
            sum[n * t + k] += (o->weight ? o->weight[e] : 1) * x[n * s + k] *
                              scale_of(o->norm, false, in[s], out[s]);
    }
    for (int v = 0; v < PAPER_COUNT; v++)
        for (int k = 0; k < n; k++) {
            if (o->loops)
                sum[n * v + k] += x[n * v + k] * scale_of(o->norm, false, in[v], out[v]);
            sum[n * v + k] *= scale_of(o->norm, true, in[v], out[v]);
        }
    plain_dense(y, sum, PAPER_COUNT, n, kernel, bias, o->units);
}

static void gcn_agrees_with_plain_c_for_every_normalization(void **state)
{
    (void)state;
    double x[15], weight[CITE_COUNT], y[PAPER_COUNT * 8];

    paper_x(x);
    for (int e = 0; e < CITE_COUNT; e++)
        weight[e] = 0.5 + 0.25 * e;
    for (int norm = RGM_NORM_NONE; norm <= RGM_NORM_IN_IN; norm++)
        for (int variant = 0; variant < 8; variant++) {
            world w;
            bool loops = variant & 1, weighted = variant & 2;
            int units = variant & 4 ? 2 : 5; /* the product on either side of the sum */
            plain_gcn plain = {norm, 3, units, loops, weighted ? weight : NULL};
            rgm_gcn_options options = RGM_GCN_OPTIONS_INIT;

            world_open(&w, PAPERS);
            options.units = units;
            options.normalization = (rgm_degree_norm)norm;
            options.self_loops = loops;
            if (weighted)
                options.edge_weight = rgm_edge_feature(w.value, "cites", "w");
            rgm_value *h = rgm_node_feature(w.value, "paper", "x");
            rgm_value *out = rgm_gcn_conv_with(w.scope, "conv", w.value, "cites", h, &options);
            set_parameters(&w);
            gcn_in_plain_c(y, &plain, x, parameter(&w, "conv/kernel"), parameter(&w, "conv/bias"));
            check_values(&w, out, y, PAPER_COUNT * units);
            world_close(&w);
        }
}

static void gcn_of_sparse_rows_is_that_of_the_same_dense_rows(void **state)
{
    (void)state;
    world w;
    double x[25], y[PAPER_COUNT * 2];
    plain_gcn plain = {RGM_NORM_IN_OUT, 5, 2, true, NULL};

    paper_words(x);
    world_open(&w, PAPERS);
    rgm_value *words = rgm_node_sparse_feature(w.value, "paper", "words");
    rgm_value *out = rgm_gcn_conv(w.scope, "conv", w.value, "cites", words, 2);
    rgm_value *dropped =
        rgm_gcn_conv(w.scope, "conv", w.value, "cites", rgm_dropout(w.scope, words, 0.5), 2);
    set_parameters(&w);
    gcn_in_plain_c(y, &plain, x, parameter(&w, "conv/kernel"), parameter(&w, "conv/bias"));
    check_values(&w, out, y, PAPER_COUNT * 2);
    check_values(&w, dropped, y, PAPER_COUNT * 2); /* dropout is off outside training */
    world_close(&w);
}

static void gcn_without_loops_leaves_lonely_nodes_their_bias(void **state)
{
    (void)state;
    world w;
    rgm_gcn_options options = RGM_GCN_OPTIONS_INIT;

    world_open(&w, PAPERS);
    options.units = 2;
    options.self_loops = false;
    options.activation = RGM_ACT_RELU;
    rgm_value *h = rgm_node_feature(w.value, "paper", "x");
    rgm_value *out = rgm_gcn_conv_with(w.scope, "conv", w.value, "cites", h, &options);
    set_parameters(&w);
    rgm_tensor *t = run(&w, out, w.data, false);
    for (int u = 0; u < 2; u++)
        CHECK_CLOSE(rgm_tensor_f64(t)[2 * 4 + u], fmax(parameter(&w, "conv/bias")[u], 0), 0, 1e-15);
    rgm_tensor_release(t);
    world_close(&w);
}

static void gcn_heard_at_the_source_reverses_the_edges(void **state)
{
    (void)state;
    world w;
    double expected[PAPER_COUNT * 3] = {0}, x[15];
    rgm_gcn_options options = RGM_GCN_OPTIONS_INIT;

    paper_x(x);
    world_open(&w, PAPERS);
    options.units = 3;
    options.self_loops = false;
    options.bias = false;
    options.normalization = RGM_NORM_NONE;
    options.receiver = RGM_SOURCE;
    rgm_value *out = rgm_gcn_conv_with(w.scope, "conv", w.value, "cites",
                                       rgm_node_feature(w.value, "paper", "x"), &options);
    set_parameters(&w);
    double sum[PAPER_COUNT * 3] = {0};
    for (int e = 0; e < CITE_COUNT; e++)
        for (int k = 0; k < 3; k++)
            sum[3 * cite_source[e] + k] += x[3 * cite_target[e] + k];
    plain_dense(expected, sum, PAPER_COUNT, 3, parameter(&w, "conv/kernel"), NULL, 3);
    check_values(&w, out, expected, PAPER_COUNT * 3);
    CHECK_INT(1, rgm_parameters_count(w.parameters));
    world_close(&w);
}

static void gcn_refuses_two_node_sets_and_unknown_edge_sets(void **state)
{
    (void)state;
    world w;

    world_open(&w, LIBRARY);
    rgm_value *h = rgm_node_feature(w.value, "paper", "x");
    CHECK(rgm_gcn_conv(w.scope, "conv", w.value, "writes", h, 2) == NULL);
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("one node set at both ends of 'writes'");
    world_close(&w);

    world_open(&w, LIBRARY);
    h = rgm_node_feature(w.value, "paper", "x");
    CHECK(rgm_gcn_conv(w.scope, "conv", w.value, "cite", h, 2) == NULL);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("did you mean 'cites'?");
    world_close(&w);
}

/* ---- GAT v2 ---- */

typedef struct plain_gat {
    int heads, depth;
    bool loops, mean;
    int activation; /* of attention: leaky relu or tanh */
    const double *q, *v, *e,
        *a; /* [n, heads depth], [n, ..], [edges, ..] or NULL, [heads, depth] */
} plain_gat;

static void gat_in_plain_c(double *y, const plain_gat *o)
{
    int count = CITE_COUNT + (o->loops ? PAPER_COUNT : 0), width = o->heads * o->depth;

    for (int i = 0; i < PAPER_COUNT * (o->mean ? o->depth : width); i++)
        y[i] = 0;
    for (int r = 0; r < PAPER_COUNT; r++)
        for (int h = 0; h < o->heads; h++) {
            double score[CITE_COUNT + PAPER_COUNT], total = 0;
            for (int e = 0; e < count; e++) {
                int64_t s = e < CITE_COUNT ? cite_source[e] : e - CITE_COUNT;
                int64_t t = e < CITE_COUNT ? cite_target[e] : e - CITE_COUNT;
                score[e] = 0;
                if (t != r)
                    continue;
                for (int d = 0; d < o->depth; d++) {
                    int c = h * o->depth + d;
                    double z = o->q[r * width + c] + (o->v ? o->v[s * width + c] : 0) +
                               (o->e && e < CITE_COUNT ? o->e[e * width + c] : 0);
                    z = o->activation == RGM_ACT_TANH ? tanh(z) : z > 0 ? z : 0.2 * z;
                    score[e] += o->a[c] * z;
                }
                score[e] = exp(score[e]);
                total += score[e];
            }
            for (int e = 0; e < count; e++) {
                int64_t s = e < CITE_COUNT ? cite_source[e] : e - CITE_COUNT;
                int64_t t = e < CITE_COUNT ? cite_target[e] : e - CITE_COUNT;
                for (int d = 0; t == r && d < o->depth; d++) {
                    int c = h * o->depth + d;
                    double sent = (o->v ? o->v[s * width + c] : 0) +
                                  (o->e && e < CITE_COUNT ? o->e[e * width + c] : 0);
                    y[o->mean ? r * o->depth + d : r * width + c] +=
                        score[e] / total * sent / (o->mean ? o->heads : 1);
                }
            }
        }
}

static void gatv2_agrees_with_plain_c_for_every_option(void **state)
{
    (void)state;
    double x[15], edge[CITE_COUNT * 2], q[20], v[20], sent[CITE_COUNT * 4], y[20];

    paper_x(x);
    for (int e = 0; e < CITE_COUNT; e++) {
        edge[2 * e] = number(100 + e);
        edge[2 * e + 1] = number(200 + e);
    }
    for (int variant = 0; variant < 32; variant++) {
        world w;
        bool loops = variant & 1, edges = variant & 2, shared = variant & 8;
        plain_gat plain = {
            2, 2, loops, variant & 4, variant & 16 ? RGM_ACT_TANH : RGM_ACT_LEAKY_RELU,
            q, v, NULL,  NULL};
        rgm_gatv2_options options = RGM_GATV2_OPTIONS_INIT;

        world_open(&w, PAPERS);
        options.heads = 2;
        options.units = 2;
        options.self_loops = loops;
        options.mean_heads = plain.mean;
        options.share_weights = shared;
        options.attention_activation = (rgm_activation)plain.activation;
        options.attention_dropout = 0.5; /* off outside training */
        rgm_value *h = rgm_node_feature(w.value, "paper", "x");
        rgm_conv_input in =
            rgm_conv_along_edges(w.value, "cites", RGM_TARGET, h, h,
                                 edges ? rgm_edge_feature(w.value, "cites", "e") : NULL);
        rgm_value *out = rgm_gatv2_convolve(rgm_scope_enter(w.scope, "conv"), &in, &options);
        set_parameters(&w);
        plain_dense(q, x, PAPER_COUNT, 3, parameter(&w, "conv/query/kernel"),
                    parameter(&w, "conv/query/bias"), 4);
        if (shared)
            memcpy(v, q, sizeof v);
        else
            plain_dense(v, x, PAPER_COUNT, 3, parameter(&w, "conv/value/kernel"),
                        parameter(&w, "conv/value/bias"), 4);
        plain.a = parameter(&w, "conv/attention");
        if (edges) {
            plain_dense(sent, edge, CITE_COUNT, 2, parameter(&w, "conv/edge/kernel"), NULL, 4);
            plain.e = sent;
        }
        gat_in_plain_c(y, &plain);
        check_values(&w, out, y, plain.mean ? 10 : 20);
        world_close(&w);
    }
}

static void gatv2_gives_zero_where_nothing_is_heard(void **state)
{
    (void)state;
    world w;
    rgm_gatv2_options options = RGM_GATV2_OPTIONS_INIT;

    world_open(&w, PAPERS);
    options.units = 3;
    rgm_value *out = rgm_gatv2_conv(w.scope, "conv", w.value, "cites",
                                    rgm_node_feature(w.value, "paper", "x"), &options);
    set_parameters(&w);
    rgm_tensor *t = run(&w, out, w.data, false);
    for (int i = 9; i < 15; i++)
        CHECK(rgm_tensor_f64(t)[i] == 0);
    CHECK(rgm_tensor_f64(t)[0] != 0);
    rgm_tensor_release(t);
    world_close(&w);
}

static void gatv2_edge_pool_hears_the_edges_themselves(void **state)
{
    (void)state;
    world w;
    double x[15], edge[CITE_COUNT * 2], q[20], sent[CITE_COUNT * 4], y[20];
    rgm_gatv2_options options = RGM_GATV2_OPTIONS_INIT;
    plain_gat plain = {2, 2, false, false, RGM_ACT_LEAKY_RELU, q, NULL, sent, NULL};

    paper_x(x);
    for (int e = 0; e < CITE_COUNT; e++) {
        edge[2 * e] = number(100 + e);
        edge[2 * e + 1] = number(200 + e);
    }
    world_open(&w, PAPERS);
    options.heads = 2;
    options.units = 2;
    rgm_conv_input in =
        rgm_conv_along_edges(w.value, "cites", RGM_TARGET, rgm_node_feature(w.value, "paper", "x"),
                             NULL, rgm_edge_feature(w.value, "cites", "e"));
    rgm_value *out = rgm_gatv2_edge_pool(rgm_scope_enter(w.scope, "pool"), &in, &options);
    set_parameters(&w);
    plain_dense(q, x, PAPER_COUNT, 3, parameter(&w, "pool/query/kernel"),
                parameter(&w, "pool/query/bias"), 4);
    plain_dense(sent, edge, CITE_COUNT, 2, parameter(&w, "pool/value/kernel"),
                parameter(&w, "pool/value/bias"), 4);
    plain.a = parameter(&w, "pool/attention");
    gat_in_plain_c(y, &plain);
    check_values(&w, out, y, 20);
    world_close(&w);
}

/* ---- GraphSAGE ---- */

/* reduce x [edges, width] at the targets: 's'um, 'm'ean or ma'x' with 0 for none. */
static void reduce(double *y, const double *x, int width, char how)
{
    int count[PAPER_COUNT] = {0};

    for (int i = 0; i < PAPER_COUNT * width; i++)
        y[i] = 0;
    for (int e = 0; e < CITE_COUNT; e++) {
        int64_t t = cite_target[e];
        for (int k = 0; k < width; k++) {
            double *to = &y[width * t + k], from = x[width * e + k];
            *to = how == 'x' ? (count[t] == 0 ? from : fmax(*to, from)) : *to + from;
        }
        count[t]++;
    }
    for (int t = 0; how == 'm' && t < PAPER_COUNT; t++)
        for (int k = 0; k < width; k++)
            y[width * t + k] /= count[t] > 0 ? count[t] : 1;
}

static void senders(double *y, const double *x, int width)
{
    for (int e = 0; e < CITE_COUNT; e++)
        for (int k = 0; k < width; k++)
            y[width * e + k] = x[width * cite_source[e] + k];
}

static rgm_conv_input citations(world *w)
{
    rgm_value *h = rgm_node_feature(w->value, "paper", "x");

    return rgm_conv_along_edges(w->value, "cites", RGM_TARGET, h, h,
                                rgm_edge_feature(w->value, "cites", "e"));
}

static void sage_agrees_with_plain_c(void **state)
{
    (void)state;
    static const char *const names[] = {"mean", "sum", "max_no_inf"};
    double x[15], sent[CITE_COUNT * 3], pooled[15], y[25];

    paper_x(x);
    senders(sent, x, 3);
    for (int variant = 0; variant < 12; variant++) {
        world w;
        rgm_sage_options options = RGM_SAGE_OPTIONS_INIT;

        world_open(&w, PAPERS);
        options.units = variant % 4 < 2 ? 2 : 5;
        options.dropout = variant % 2 ? 0.5 : 0; /* off outside training, but another path */
        options.reduce_type = variant < 4 ? NULL : names[variant / 4];
        rgm_conv_input in = citations(&w);
        rgm_value *out = rgm_sage_convolve(rgm_scope_enter(w.scope, "conv"), &in, &options);
        set_parameters(&w);
        CHECK_INT(1, rgm_parameters_count(w.parameters));
        reduce(pooled, sent, 3, "msx"[variant / 4]);
        plain_dense(y, pooled, PAPER_COUNT, 3, parameter(&w, "conv/kernel"), NULL, options.units);
        check_values(&w, out, y, PAPER_COUNT * options.units);
        world_close(&w);
    }
}

static void sage_pooling_takes_the_largest_of_transformed_neighbours(void **state)
{
    (void)state;
    double x[15], hidden[20], sent[CITE_COUNT * 4], pooled[20], y[10];

    paper_x(x);
    for (int variant = 0; variant < 2; variant++) {
        world w;
        rgm_sage_options options = RGM_SAGE_OPTIONS_INIT;

        world_open(&w, PAPERS);
        options.units = 2;
        options.hidden_units = 4;
        options.dropout = variant ? 0.5 : 0;
        rgm_conv_input in = citations(&w);
        rgm_value *out = rgm_sage_pool_convolve(rgm_scope_enter(w.scope, "conv"), &in, &options);
        set_parameters(&w);
        plain_dense(hidden, x, PAPER_COUNT, 3, parameter(&w, "conv/hidden/kernel"),
                    parameter(&w, "conv/hidden/bias"), 4);
        for (int i = 0; i < 20; i++)
            hidden[i] = fmax(hidden[i], 0);
        senders(sent, hidden, 4);
        reduce(pooled, sent, 4, 'x');
        plain_dense(y, pooled, PAPER_COUNT, 4, parameter(&w, "conv/kernel"), NULL, 2);
        check_values(&w, out, y, 10);
        world_close(&w);
    }
}

static void sparse_states_take_no_dropout_for_each_edge(void **state)
{
    (void)state;
    world w;
    rgm_sage_options options = RGM_SAGE_OPTIONS_INIT;

    world_open(&w, PAPERS);
    rgm_conv_input in =
        rgm_conv_along_edges(w.value, "cites", RGM_TARGET, NULL,
                             rgm_node_sparse_feature(w.value, "paper", "words"), NULL);
    options.units = 2;
    options.dropout = 0.5;
    CHECK(rgm_sage_convolve(rgm_scope_enter(w.scope, "conv"), &in, &options) == NULL);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("drop the states before the convolution");
    world_close(&w);
}

/* ---- messages ---- */

static rgm_value *times_two(rgm_scope *scope, rgm_value *x, void *payload)
{
    (void)scope;
    (void)payload;
    return rgm_scale(x, 2);
}

/* [edge || sender || receiver] of each edge, [7, 8] */
static void put_together(double *y)
{
    double x[15];

    paper_x(x);
    for (int e = 0; e < CITE_COUNT; e++) {
        y[8 * e] = number(100 + e);
        y[8 * e + 1] = number(200 + e);
        for (int k = 0; k < 3; k++) {
            y[8 * e + 2 + k] = x[3 * cite_source[e] + k];
            y[8 * e + 5 + k] = x[3 * cite_target[e] + k];
        }
    }
}

static void messages_are_the_dense_layer_of_edge_sender_and_receiver(void **state)
{
    (void)state;
    double together[56], message[CITE_COUNT * 4], y[40];
    world w;
    rgm_simple_conv_options options = RGM_SIMPLE_CONV_OPTIONS_INIT;

    world_open(&w, PAPERS);
    options.units = 4;
    options.reduce_type = "mean|max_no_inf";
    rgm_conv_input in = citations(&w);
    rgm_value *out = rgm_simple_convolve(rgm_scope_enter(w.scope, "conv"), &in, &options);
    set_parameters(&w);
    put_together(together);
    plain_dense(message, together, CITE_COUNT, 8, parameter(&w, "conv/kernel"),
                parameter(&w, "conv/bias"), 4);
    for (int i = 0; i < CITE_COUNT * 4; i++)
        message[i] = fmax(message[i], 0);
    double mean[20], largest[20];
    reduce(mean, message, 4, 'm');
    reduce(largest, message, 4, 'x');
    for (int v = 0; v < PAPER_COUNT; v++)
        for (int u = 0; u < 4; u++) {
            y[8 * v + u] = mean[4 * v + u];
            y[8 * v + 4 + u] = largest[4 * v + u];
        }
    check_values(&w, out, y, 40);
    world_close(&w);
}

static void messages_leave_absent_states_out(void **state)
{
    (void)state;
    double x[15], sent[CITE_COUNT * 3], message[CITE_COUNT * 2], y[10];

    paper_x(x);
    for (int variant = 0; variant < 4; variant++) {
        world w;
        bool sender = variant & 1, dropped = variant & 2;
        rgm_simple_conv_options options = RGM_SIMPLE_CONV_OPTIONS_INIT;

        world_open(&w, PAPERS);
        options.units = 2;
        options.edge = false;
        options.sender = sender;
        options.receiver = !sender;
        options.dropout = dropped ? 0.5 : 0; /* off outside training, but another path */
        rgm_conv_input in = citations(&w);
        rgm_value *out = rgm_simple_convolve(rgm_scope_enter(w.scope, "conv"), &in, &options);
        set_parameters(&w);
        for (int e = 0; e < CITE_COUNT; e++)
            memcpy(sent + 3 * e, x + 3 * (sender ? cite_source[e] : cite_target[e]), 3 * sizeof *x);
        plain_dense(message, sent, CITE_COUNT, 3, parameter(&w, "conv/kernel"),
                    parameter(&w, "conv/bias"), 2);
        for (int i = 0; i < CITE_COUNT * 2; i++)
            message[i] = fmax(message[i], 0);
        reduce(y, message, 2, 's');
        check_values(&w, out, y, 10);
        world_close(&w);
    }
}

static void messages_from_states_of_width_zero_are_the_bias(void **state)
{
    (void)state;
    world w;
    rgm_simple_conv_options options = RGM_SIMPLE_CONV_OPTIONS_INIT;
    double expected[10] = {0};

    world_open(&w, PAPERS);
    options.units = 2;
    options.activation = RGM_ACT_NONE;
    rgm_value *none = rgm_make_empty_feature(w.scope, w.value, RGM_NODE_SET, "paper");
    CHECK_INT(0, rgm_width(none));
    rgm_conv_input in = rgm_conv_along_edges(w.value, "cites", RGM_TARGET, none, none, NULL);
    rgm_value *out = rgm_simple_convolve(rgm_scope_enter(w.scope, "conv"), &in, &options);
    set_parameters(&w);
    CHECK_INT(1, rgm_parameters_count(w.parameters));
    for (int e = 0; e < CITE_COUNT; e++)
        for (int u = 0; u < 2; u++)
            expected[2 * cite_target[e] + u] += parameter(&w, "conv/bias")[u];
    check_values(&w, out, expected, 10);
    world_close(&w);
}

static void a_message_function_sees_the_states_put_together(void **state)
{
    (void)state;
    double together[56], y[40];
    world w;
    rgm_simple_conv_options options = RGM_SIMPLE_CONV_OPTIONS_INIT;

    world_open(&w, PAPERS);
    options.message = times_two;
    rgm_conv_input in = citations(&w);
    rgm_value *out = rgm_simple_convolve(rgm_scope_enter(w.scope, "conv"), &in, &options);
    set_parameters(&w);
    put_together(together);
    for (int i = 0; i < 56; i++)
        together[i] *= 2;
    reduce(y, together, 8, 's');
    check_values(&w, out, y, 40);
    world_close(&w);
}

static void the_context_hears_nodes_by_the_same_convolutions(void **state)
{
    (void)state;
    double x[15], mean[3] = {0}, y[4];
    world w;
    rgm_sage_options options = RGM_SAGE_OPTIONS_INIT;

    paper_x(x);
    world_open(&w, LIBRARY);
    options.units = 4;
    rgm_conv_input in = rgm_conv_to_context(w.value, RGM_NODE_SET, "paper", NULL,
                                            rgm_node_feature(w.value, "paper", "x"));
    rgm_value *out = rgm_sage_convolve(rgm_scope_enter(w.scope, "conv"), &in, &options);
    set_parameters(&w);
    for (int i = 0; i < 15; i++)
        mean[i % 3] += x[i] / PAPER_COUNT;
    plain_dense(y, mean, 1, 3, parameter(&w, "conv/kernel"), NULL, 4);
    check_values(&w, out, y, 4);
    world_close(&w);
}

static void mistakes_of_convolutions_are_named(void **state)
{
    (void)state;
    world w;
    rgm_simple_conv_options simple = RGM_SIMPLE_CONV_OPTIONS_INIT;
    rgm_sage_options sage = RGM_SAGE_OPTIONS_INIT;

    world_open(&w, PAPERS);
    rgm_conv_input in = citations(&w);
    simple.units = 2;
    simple.reduce_type = "mean|median";
    CHECK(rgm_simple_convolve(rgm_scope_enter(w.scope, "conv"), &in, &simple) == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("unknown reduce_type 'median' in 'mean|median'");
    world_close(&w);

    world_open(&w, LIBRARY);
    in = rgm_conv_along_edges(w.value, "writes", RGM_TARGET, NULL, NULL, NULL);
    sage.units = 2;
    CHECK(rgm_sage_convolve(rgm_scope_enter(w.scope, "conv"), &in, &sage) == NULL);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("'writes' has no sender state");
    world_close(&w);
}

/* softmax over what comes in of a . leaky(q_r + v_s), for each of two heads. */
static void attention_is_the_softmax_by_hand(void **state)
{
    enum { HEADS = 2, UNITS = 3, WIDTH = HEADS * UNITS };
    rgm_gatv2_options options = RGM_GATV2_OPTIONS_INIT;
    rgm_edge_attention found[2];
    double x[PAPER_COUNT * 3], q[PAPER_COUNT * WIDTH] = {0}, v[PAPER_COUNT * WIDTH] = {0};
    double expected[(CITE_COUNT + PAPER_COUNT) * HEADS], total[PAPER_COUNT][HEADS] = {{0}};
    world w;

    (void)state;
    world_open(&w, PAPERS);
    options.heads = HEADS;
    options.units = UNITS;
    options.self_loops = true;
    CHECK_INT(0, rgm_edge_attention_of(found, 2, w.value));
    CHECK(rgm_gatv2_conv(w.scope, "attend", w.value, "cites",
                         rgm_node_feature(w.value, "paper", "x"), &options) != NULL);
    set_parameters(&w);
    CHECK_INT(1, rgm_edge_attention_of(found, 2, w.value));
    CHECK_TEXT("attend", found[0].layer);
    CHECK_TEXT("cites", found[0].edge_set);
    CHECK(found[0].receiver == RGM_TARGET && found[0].self_loops);
    paper_x(x);
    plain_dense(q, x, PAPER_COUNT, 3, parameter(&w, "attend/query/kernel"),
                parameter(&w, "attend/query/bias"), WIDTH);
    plain_dense(v, x, PAPER_COUNT, 3, parameter(&w, "attend/value/kernel"),
                parameter(&w, "attend/value/bias"), WIDTH);
    for (int pass = 0; pass < 2; pass++)
        for (int e = 0; e < CITE_COUNT + PAPER_COUNT; e++)
            for (int h = 0; h < HEADS; h++) {
                int64_t from = e < CITE_COUNT ? cite_source[e] : e - CITE_COUNT;
                int64_t to = e < CITE_COUNT ? cite_target[e] : e - CITE_COUNT;
                double score = 0;

                for (int u = h * UNITS; u < (h + 1) * UNITS; u++) {
                    double z = q[to * WIDTH + u] + v[from * WIDTH + u];
                    score += parameter(&w, "attend/attention")[u] * (z > 0 ? z : 0.2 * z);
                }
                if (pass == 0)
                    total[to][h] += exp(score);
                else
                    expected[e * HEADS + h] = exp(score) / total[to][h];
            }
    check_values(&w, found[0].weights, expected, (CITE_COUNT + PAPER_COUNT) * HEADS);
    world_close(&w);
}

TESTS(cmocka_unit_test(attention_is_the_softmax_by_hand),
      cmocka_unit_test(gcn_agrees_with_plain_c_for_every_normalization),
      cmocka_unit_test(gcn_of_sparse_rows_is_that_of_the_same_dense_rows),
      cmocka_unit_test(gcn_without_loops_leaves_lonely_nodes_their_bias),
      cmocka_unit_test(gcn_heard_at_the_source_reverses_the_edges),
      cmocka_unit_test(gcn_refuses_two_node_sets_and_unknown_edge_sets),
      cmocka_unit_test(gatv2_agrees_with_plain_c_for_every_option),
      cmocka_unit_test(gatv2_gives_zero_where_nothing_is_heard),
      cmocka_unit_test(gatv2_edge_pool_hears_the_edges_themselves),
      cmocka_unit_test(sage_agrees_with_plain_c),
      cmocka_unit_test(sage_pooling_takes_the_largest_of_transformed_neighbours),
      cmocka_unit_test(sparse_states_take_no_dropout_for_each_edge),
      cmocka_unit_test(messages_are_the_dense_layer_of_edge_sender_and_receiver),
      cmocka_unit_test(messages_leave_absent_states_out),
      cmocka_unit_test(messages_from_states_of_width_zero_are_the_bias),
      cmocka_unit_test(a_message_function_sees_the_states_put_together),
      cmocka_unit_test(the_context_hears_nodes_by_the_same_convolutions),
      cmocka_unit_test(mistakes_of_convolutions_are_named))
