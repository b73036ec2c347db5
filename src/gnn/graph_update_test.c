/*
 * Tests of next states, graph updates, the builder and the families: values against plain C, order
 * of updates, names of parameters, mistakes.
 */
#include "gnn_check.h"

/* ---- next states ---- */

static rgm_value *paper_state(world *w)
{
    return rgm_node_feature(w->value, "paper", "x");
}

static void a_dense_state_takes_state_inputs_and_context(void **state)
{
    (void)state;
    world w;
    double x[15], all[PAPER_COUNT * 8], y[10];
    rgm_dense_state_options options = RGM_DENSE_STATE_OPTIONS_INIT;

    paper_x(x);
    world_open(&w, LIBRARY);
    rgm_value *h = paper_state(&w), *twice = rgm_scale(h, 2);
    rgm_value *context = rgm_broadcast(w.value, RGM_CONTEXT, RGM_NODE_SET, "paper",
                                       rgm_context_feature(w.value, "c"));
    rgm_state_inputs inputs = {.set = "paper",
                               .state = h,
                               .count = 1,
                               .names = (const char *[]){"cites"},
                               .inputs = &twice,
                               .context = context};
    options.units = 2;
    rgm_value *out = rgm_dense_state(rgm_scope_enter(w.scope, "s"), &inputs, &options);
    set_parameters(&w);
    for (int v = 0; v < PAPER_COUNT; v++) {
        for (int k = 0; k < 3; k++) {
            all[8 * v + k] = x[3 * v + k];
            all[8 * v + 3 + k] = 2 * x[3 * v + k];
        }
        all[8 * v + 6] = 0.25;
        all[8 * v + 7] = -1;
    }
    plain_dense(y, all, PAPER_COUNT, 8, parameter(&w, "s/kernel"), parameter(&w, "s/bias"), 2);
    for (int i = 0; i < 10; i++)
        y[i] = fmax(y[i], 0);
    check_values(&w, out, y, 10);
    world_close(&w);
}

static void a_residual_state_adds_the_old_one_before_the_activation(void **state)
{
    (void)state;
    world w;
    double x[15], all[PAPER_COUNT * 6], y[15];
    rgm_dense_state_options options = RGM_DENSE_STATE_OPTIONS_INIT;

    paper_x(x);
    world_open(&w, PAPERS);
    rgm_value *h = paper_state(&w), *twice = rgm_scale(h, 2);
    rgm_state_inputs inputs = {.set = "paper",
                               .state = h,
                               .count = 1,
                               .names = (const char *[]){"cites"},
                               .inputs = &twice};
    options.units = 3;
    rgm_value *out = rgm_residual_state(rgm_scope_enter(w.scope, "s"), &inputs, &options);
    set_parameters(&w);
    for (int v = 0; v < PAPER_COUNT; v++)
        for (int k = 0; k < 3; k++) {
            all[6 * v + k] = x[3 * v + k];
            all[6 * v + 3 + k] = 2 * x[3 * v + k];
        }
    plain_dense(y, all, PAPER_COUNT, 6, parameter(&w, "s/kernel"), parameter(&w, "s/bias"), 3);
    for (int i = 0; i < 15; i++)
        y[i] = fmax(y[i] + x[i], 0);
    check_values(&w, out, y, 15);
    world_close(&w);
}

static void a_residual_state_skips_nothing_and_refuses_other_widths(void **state)
{
    (void)state;
    world w;
    rgm_dense_state_options options = RGM_DENSE_STATE_OPTIONS_INIT;

    world_open(&w, PAPERS);
    rgm_value *h = paper_state(&w);
    rgm_state_inputs inputs = {
        .set = "paper", .count = 1, .names = (const char *[]){"cites"}, .inputs = &h};
    inputs.state = rgm_make_empty_feature(w.scope, w.value, RGM_NODE_SET, "paper");
    options.units = 2;
    rgm_value *out = rgm_residual_state(rgm_scope_enter(w.scope, "s"), &inputs, &options);
    set_parameters(&w);
    double x[15], y[10];
    paper_x(x);
    plain_dense(y, x, PAPER_COUNT, 3, parameter(&w, "s/kernel"), parameter(&w, "s/bias"), 2);
    for (int i = 0; i < 10; i++)
        y[i] = fmax(y[i], 0);
    check_values(&w, out, y, 10);
    world_close(&w);

    world_open(&w, PAPERS);
    inputs.state = h = paper_state(&w);
    CHECK(rgm_residual_state(rgm_scope_enter(w.scope, "s"), &inputs, &options) == NULL);
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("units (2) equal to the width of the old dense state (3)");
    world_close(&w);
}

static void a_sage_state_sums_or_joins_and_normalizes(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        world w;
        double x[15], own[10], y[25];
        bool concat = variant & 1, normalize = variant & 2;
        int width = concat ? 5 : 2, other = concat ? 3 : 2;
        rgm_sage_state_options options = RGM_SAGE_STATE_OPTIONS_INIT;

        paper_x(x);
        world_open(&w, PAPERS);
        rgm_value *h = paper_state(&w), *input = concat ? h : rgm_slice(h, 1, 0, 2);
        rgm_state_inputs inputs = {.set = "paper",
                                   .state = h,
                                   .count = 1,
                                   .names = (const char *[]){"cites"},
                                   .inputs = &input};
        options.units = 2;
        options.concat = concat;
        options.l2_normalize = normalize;
        rgm_value *out = rgm_sage_state(rgm_scope_enter(w.scope, "s"), &inputs, &options);
        set_parameters(&w);
        plain_dense(own, x, PAPER_COUNT, 3, parameter(&w, "s/self/kernel"), NULL, 2);
        for (int v = 0; v < PAPER_COUNT; v++) {
            double length = 0;
            for (int u = 0; u < width; u++) {
                double value = parameter(&w, "s/bias")[u] + (u < 2 ? own[2 * v + u] : 0);
                if (concat ? u >= 2 : u < other)
                    value += x[3 * v + (concat ? u - 2 : u)];
                y[width * v + u] = fmax(value, 0);
                length += pow(y[width * v + u], 2);
            }
            for (int u = 0; u < width && normalize && length > 0; u++)
                y[width * v + u] /= sqrt(length);
        }
        check_values(&w, out, y, PAPER_COUNT * width);
        world_close(&w);
    }
}

static void a_sage_state_takes_no_context(void **state)
{
    (void)state;
    world w;
    rgm_sage_state_options options = RGM_SAGE_STATE_OPTIONS_INIT;

    world_open(&w, PAPERS);
    rgm_value *h = paper_state(&w);
    rgm_state_inputs inputs = {.set = "paper", .state = h, .context = h};
    options.units = 2;
    CHECK(rgm_sage_state(w.scope, &inputs, &options) == NULL);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("takes no context input");
    world_close(&w);
}

/* ---- updates ---- */

/* A user's own convolution: the largest difference between sender and receiver. */
static rgm_value *largest_difference(rgm_scope *scope, const rgm_conv_input *in,
                                     const void *options)
{
    rgm_value *sender = rgm_broadcast_columns(in->pattern, in->sender);
    rgm_value *receiver = rgm_broadcast_rows(in->pattern, in->receiver);

    (void)scope;
    (void)options;
    return rgm_conv_pool(in, rgm_sub(sender, receiver), "max_no_inf");
}

static void nodes_are_updated_from_the_same_old_states_after_the_edges(void **state)
{
    (void)state;
    world w;
    double x[15], edges[CITE_COUNT * 3], y[15] = {0}, largest[15];
    rgm_edge_input input = {
        .edge_set = "cites", .receiver = RGM_TARGET, .conv = {largest_difference, NULL}};
    rgm_edge_input pooled = {.edge_set = "cites",
                             .receiver = RGM_TARGET,
                             .conv = {rgm_pool_convolve, NULL},
                             .edge_feature = RGM_HIDDEN_STATE};
    rgm_next_state single = {rgm_single_input_state, NULL};
    rgm_edge_set_update edge_update = RGM_EDGE_SET_UPDATE_INIT;
    rgm_node_set_update node_update = {
        .node_set = "paper", .inputs = &input, .input_count = 1, .next_state = single};
    rgm_graph_update_options update = {.node_sets = &node_update, .node_set_count = 1};
    int seen[PAPER_COUNT] = {0};

    paper_x(x);
    world_open(&w, PAPERS);
    rgm_graph_value *graph = rgm_with_state(w.value, "paper", paper_state(&w));
    rgm_graph_value *after = rgm_graph_update(w.scope, "u", graph, &update);
    edge_update.edge_set = "cites";
    edge_update.next_state = single;
    edge_update.target = false;
    update.edge_sets = &edge_update;
    update.edge_set_count = 1;
    node_update.inputs = &pooled;
    rgm_graph_value *both = rgm_graph_update(w.scope, "v", graph, &update);
    set_parameters(&w);
    for (int e = 0; e < CITE_COUNT; e++) {
        int64_t s = cite_source[e], t = cite_target[e];
        for (int k = 0; k < 3; k++) {
            double difference = x[3 * s + k] - x[3 * t + k];
            edges[3 * e + k] = x[3 * s + k];
            largest[3 * t + k] = seen[t] ? fmax(largest[3 * t + k], difference) : difference;
            y[3 * t + k] += edges[3 * e + k];
        }
        seen[t] = 1;
    }
    for (int i = 0; i < 15; i++)
        largest[i] = seen[i / 3] ? largest[i] : 0;
    check_values(&w, rgm_node_feature(after, "paper", RGM_HIDDEN_STATE), largest, 15);
    check_values(&w, rgm_edge_feature(both, "cites", RGM_HIDDEN_STATE), edges, CITE_COUNT * 3);
    check_values(&w, rgm_node_feature(both, "paper", RGM_HIDDEN_STATE), y, 15);
    CHECK(!rgm_has_feature(graph, RGM_EDGE_SET, "cites", RGM_HIDDEN_STATE));
    world_close(&w);
}

static void the_context_is_updated_last(void **state)
{
    (void)state;
    world w;
    double x[15], expected[3] = {0};
    rgm_pool_options mean = {"mean"};
    rgm_edge_input input = {
        .edge_set = "cites", .receiver = RGM_TARGET, .conv = {rgm_pool_convolve, NULL}};
    rgm_next_state single = {rgm_single_input_state, NULL};
    rgm_node_set_update node_update = {
        .node_set = "paper", .inputs = &input, .input_count = 1, .next_state = single};
    rgm_context_input pooled = {RGM_NODE_SET, "paper", {rgm_pool_convolve, &mean}, NULL};
    rgm_context_update context = {.inputs = &pooled, .input_count = 1, .next_state = single};
    rgm_graph_update_options update = {
        .node_sets = &node_update, .node_set_count = 1, .context = &context};

    paper_x(x);
    world_open(&w, LIBRARY);
    rgm_graph_value *graph = rgm_with_state(w.value, "paper", paper_state(&w));
    graph = rgm_graph_update(w.scope, "u", graph, &update);
    set_parameters(&w);
    for (int e = 0; e < CITE_COUNT; e++)
        for (int k = 0; k < 3; k++)
            expected[k] += x[3 * cite_source[e] + k] / PAPER_COUNT;
    check_values(&w, rgm_context_feature(graph, RGM_HIDDEN_STATE), expected, 3);
    world_close(&w);
}

static void unknown_sets_and_wrong_ends_are_named(void **state)
{
    (void)state;
    world w;
    rgm_next_state single = {rgm_single_input_state, NULL};
    rgm_edge_input input = {
        .edge_set = "cites", .receiver = RGM_TARGET, .conv = {rgm_pool_convolve, NULL}};
    rgm_node_set_update node_update = {
        .node_set = "papers", .inputs = &input, .input_count = 1, .next_state = single};
    rgm_graph_update_options update = {.node_sets = &node_update, .node_set_count = 1};

    world_open(&w, LIBRARY);
    CHECK(rgm_graph_update(w.scope, "u", w.value, &update) == NULL);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("unknown node set 'papers'; did you mean 'paper'?");
    world_close(&w);

    world_open(&w, LIBRARY);
    node_update.node_set = "author";
    CHECK(rgm_graph_update(w.scope, "u", w.value, &update) == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("edge set 'cites' has node set 'paper' at its target, not 'author'");
    world_close(&w);

    world_open(&w, LIBRARY);
    input.edge_set = "cited";
    CHECK(rgm_graph_update(w.scope, "u", w.value, &update) == NULL);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("unknown edge set 'cited'; did you mean 'cites'?");
    world_close(&w);
}

/* ---- families ---- */

static rgm_graph_value *library(world *w)
{
    rgm_graph_value *graph;

    world_open(w, LIBRARY);
    graph = rgm_with_state(w->value, "paper", paper_state(w));
    return rgm_with_state(graph, "author",
                          rgm_make_empty_feature(w->scope, w->value, RGM_NODE_SET, "author"));
}

static void mpnn_agrees_with_plain_c_over_several_edge_sets(void **state)
{
    (void)state;
    world w;
    double x[15], pair[CITE_COUNT * 6], m[CITE_COUNT * 4], own[WRITE_COUNT * 3];
    double all[PAPER_COUNT * 11] = {0}, y[10];
    rgm_mpnn_options options = RGM_MPNN_OPTIONS_INIT;
    static const char *const names[] = {
        "u/nodes/paper/cites/kernel",      "u/nodes/paper/cites/bias",
        "u/nodes/paper/writes/kernel",     "u/nodes/paper/writes/bias",
        "u/nodes/paper/next_state/kernel", "u/nodes/paper/next_state/bias"};

    paper_x(x);
    rgm_graph_value *graph = library(&w);
    options.units = 2;
    options.message_dim = 4;
    graph = rgm_vanilla_mpnn_update(w.scope, "u", graph, &options);
    rgm_value *out = rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE);
    set_parameters(&w);
    check_names(&w, names, 6);
    for (int v = 0; v < PAPER_COUNT; v++)
        memcpy(all + 11 * v, x + 3 * v, 3 * sizeof *x);
    for (int e = 0; e < CITE_COUNT; e++) {
        memcpy(pair + 6 * e, x + 3 * cite_source[e], 3 * sizeof *x);
        memcpy(pair + 6 * e + 3, x + 3 * cite_target[e], 3 * sizeof *x);
    }
    plain_dense(m, pair, CITE_COUNT, 6, parameter(&w, names[0]), parameter(&w, names[1]), 4);
    for (int i = 0; i < CITE_COUNT * 4; i++)
        all[11 * cite_target[i / 4] + 3 + i % 4] += fmax(m[i], 0);
    for (int e = 0; e < WRITE_COUNT; e++) /* latent authors: only the receiver speaks */
        memcpy(own + 3 * e, x + 3 * write_target[e], 3 * sizeof *x);
    plain_dense(m, own, WRITE_COUNT, 3, parameter(&w, names[2]), parameter(&w, names[3]), 4);
    for (int i = 0; i < WRITE_COUNT * 4; i++)
        all[11 * write_target[i / 4] + 7 + i % 4] += fmax(m[i], 0);
    plain_dense(y, all, PAPER_COUNT, 11, parameter(&w, names[4]), parameter(&w, names[5]), 2);
    for (int i = 0; i < 10; i++)
        y[i] = fmax(y[i], 0);
    check_values(&w, out, y, 10);
    CHECK_INT(0, rgm_width(rgm_node_feature(graph, "author", RGM_HIDDEN_STATE)));
    world_close(&w);
}

static void both_ends_can_hear_and_latent_sets_get_a_state(void **state)
{
    (void)state;
    world w;
    rgm_mpnn_options options = RGM_MPNN_OPTIONS_INIT;
    static const char *const names[] = {
        "u/nodes/paper/cites/kernel",          "u/nodes/paper/cites/bias",
        "u/nodes/paper/cites@source/kernel",   "u/nodes/paper/cites@source/bias",
        "u/nodes/paper/writes/kernel",         "u/nodes/paper/writes/bias",
        "u/nodes/paper/next_state/kernel",     "u/nodes/paper/next_state/bias",
        "u/nodes/author/writes@source/kernel", "u/nodes/author/writes@source/bias",
        "u/nodes/author/next_state/kernel",    "u/nodes/author/next_state/bias"};

    rgm_graph_value *graph = library(&w);
    options.units = 2;
    options.message_dim = 4;
    options.receivers = RGM_AT_BOTH;
    options.l2 = 0.1;
    graph = rgm_vanilla_mpnn_update(w.scope, "u", graph, &options);
    set_parameters(&w);
    check_names(&w, names, 12);
    CHECK_INT(2, rgm_width(rgm_node_feature(graph, "author", RGM_HIDDEN_STATE)));
    double sum = 0;
    for (int64_t i = 0; i < rgm_parameters_count(w.parameters); i++) {
        rgm_tensor *t = rgm_parameters_tensor(w.parameters, i);
        for (int64_t k = 0; k < rgm_tensor_count(t); k++) /* biases count too */
            sum += 0.1 * pow(rgm_tensor_f64(t)[k], 2);
    }
    check_values(&w, rgm_scope_loss(w.scope), &sum, 1);
    world_close(&w);
}

static void named_node_sets_are_updated_even_without_edges(void **state)
{
    (void)state;
    world w;
    static const char *const sets[] = {"author", "paper"};
    rgm_mpnn_options options = RGM_MPNN_OPTIONS_INIT;

    rgm_graph_value *graph = library(&w);
    options.units = 2;
    options.message_dim = 4;
    options.node_sets = sets;
    options.node_set_count = 2;
    graph = rgm_vanilla_mpnn_update(w.scope, "u", graph, &options);
    rgm_value *author = rgm_node_feature(graph, "author", RGM_HIDDEN_STATE);
    set_parameters(&w);
    double expected[AUTHOR_COUNT * 2];
    for (int i = 0; i < AUTHOR_COUNT * 2; i++)
        expected[i] = fmax(parameter(&w, "u/nodes/author/next_state/bias")[i % 2], 0);
    check_values(&w, author, expected, AUTHOR_COUNT * 2);
    world_close(&w);
}

static void gatv2_mpnn_divides_message_dim_by_heads(void **state)
{
    (void)state;
    world w;
    rgm_gatv2_mpnn_options options = RGM_GATV2_MPNN_OPTIONS_INIT;

    rgm_graph_value *graph = library(&w);
    options.units = 2;
    options.message_dim = 6;
    CHECK(rgm_gatv2_mpnn_update(w.scope, "u", graph, &options) == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("message_dim 6 is not a multiple of heads 4");
    world_close(&w);

    graph = library(&w);
    options.message_dim = 8;
    options.l2 = 0.1;
    graph = rgm_gatv2_mpnn_update(w.scope, "u", graph, &options);
    CHECK_INT(2, rgm_width(rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE)));
    check_gradients(&w, rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE), 10);
    parameter(&w, "u/nodes/paper/cites/query/kernel");
    parameter(&w, "u/nodes/paper/next_state/kernel");
    /* the trap: l2 reaches the convolution's kernels */
    rgm_tensor *loss = run(&w, rgm_scope_loss(w.scope), w.data, false);
    double sum = 0;
    for (int64_t i = 0; i < rgm_parameters_count(w.parameters); i++) {
        rgm_tensor *t = rgm_parameters_tensor(w.parameters, i);
        if (strstr(rgm_parameters_name(w.parameters, i), "bias") == NULL)
            for (int64_t k = 0; k < rgm_tensor_count(t); k++)
                sum += 0.1 * pow(rgm_tensor_f64(t)[k], 2);
    }
    CHECK_CLOSE(rgm_tensor_f64(loss)[0], sum, 1e-12, 0);
    rgm_tensor_release(loss);
    world_close(&w);
}

static void homogeneous_updates_replace_the_state(void **state)
{
    (void)state;
    world w;
    rgm_gcn_options gcn = RGM_GCN_OPTIONS_INIT;
    rgm_gatv2_options gat = RGM_GATV2_OPTIONS_INIT;

    world_open(&w, PAPERS);
    rgm_graph_value *graph = rgm_with_state(w.value, "paper", paper_state(&w));
    gcn.units = 4;
    gat.units = 2;
    graph = rgm_gcn_hom_update(w.scope, "a", graph, &gcn);
    rgm_value *direct =
        rgm_gcn_conv(w.scope, "a/nodes/paper/cites", w.value, "cites", paper_state(&w), 4);
    rgm_value *updated = rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE);
    graph = rgm_gatv2_hom_update(w.scope, "b", graph, &gat);
    CHECK_INT(2, rgm_width(rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE)));
    set_parameters(&w);
    rgm_tensor *t = run(&w, direct, w.data, false);
    check_values(&w, updated, rgm_tensor_f64(t), 20);
    rgm_tensor_release(t);
    world_close(&w);

    graph = library(&w);
    CHECK(rgm_gcn_hom_update(w.scope, "a", graph, &gcn) == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(w.graph));
    CHECK_MESSAGE("there are 2: 'cites', 'writes'");
    world_close(&w);
}

static void the_sage_update_needs_only_units(void **state)
{
    (void)state;
    world w;
    rgm_sage_update_options options = RGM_SAGE_UPDATE_OPTIONS_INIT;
    static const char *const names[] = {"u/nodes/paper/cites/kernel", "u/nodes/paper/writes/kernel",
                                        "u/nodes/paper/next_state/self/kernel",
                                        "u/nodes/paper/next_state/bias"};

    world_open(&w, LIBRARY);
    rgm_graph_value *graph = rgm_with_state(w.value, "paper", paper_state(&w));
    rgm_value *h = rgm_dense(
        w.scope, "author",
        rgm_zero_rows(w.scope,
                      rgm_transpose_pattern(rgm_membership(w.value, RGM_NODE_SET, "author")), 1),
        3);
    graph = rgm_with_state(graph, "author", h);
    options.units = 2;
    options.pooling = true; /* the trap: hidden_units need not be given with it */
    rgm_graph_value *pooled = rgm_sage_update(w.scope, "p", graph, &options);
    options.pooling = false;
    graph = rgm_sage_update(w.scope, "u", graph, &options);
    CHECK_INT(2, rgm_width(rgm_node_feature(pooled, "paper", RGM_HIDDEN_STATE)));
    set_parameters(&w);
    for (int i = 0; i < 4; i++)
        parameter(&w, names[i]);
    rgm_tensor *t = run(&w, rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE), w.data, false);
    for (int v = 0; v < PAPER_COUNT; v++) { /* rows have length 1, or 0 behind relu */
        double length = hypot(rgm_tensor_f64(t)[2 * v], rgm_tensor_f64(t)[2 * v + 1]);
        CHECK(fabs(length - 1) < 1e-9 || length == 0);
    }
    rgm_tensor_release(t);
    world_close(&w);
}

static void the_gcn_variant_of_sage_averages_over_all_edge_sets_and_self(void **state)
{
    (void)state;
    static const char *const sets[] = {"cites", "writes"};

    for (int variant = 0; variant < 8; variant++) {
        world w;
        double x[15], a[15], own[10], cited[10], written[6], y[10], terms[PAPER_COUNT];
        bool share = variant & 1, self = !(variant & 2), mean = !(variant & 4);
        rgm_sage_gcn_options options = RGM_SAGE_GCN_OPTIONS_INIT;
        rgm_node_set_update nodes = {
            .node_set = "paper", .update = rgm_sage_gcn_node_update, .options = &options};
        rgm_graph_update_options update = {.node_sets = &nodes, .node_set_count = 1};

        paper_x(x);
        world_open(&w, LIBRARY);
        rgm_graph_value *graph = rgm_with_state(w.value, "paper", paper_state(&w));
        rgm_value *zero = rgm_zero_rows(
            w.scope, rgm_transpose_pattern(rgm_membership(w.value, RGM_NODE_SET, "author")), 3);
        graph = rgm_with_state(graph, "author", rgm_shift(zero, 0.5));
        options.edge_sets = sets;
        options.edge_set_count = 2;
        options.units = 2;
        options.share_weights = share;
        options.self = self;
        options.sum = !mean;
        options.activation = RGM_ACT_NONE;
        graph = rgm_graph_update(w.scope, "u", graph, &update);
        set_parameters(&w);
        for (int i = 0; i < 9; i++)
            a[i] = 0.5;
        plain_dense(
            own, x, PAPER_COUNT, 3,
            !self ? x : parameter(&w, share ? "u/nodes/paper/kernel" : "u/nodes/paper/self/kernel"),
            NULL, 2);
        plain_dense(cited, x, PAPER_COUNT, 3,
                    parameter(&w, share ? "u/nodes/paper/kernel" : "u/nodes/paper/cites/kernel"),
                    NULL, 2);
        plain_dense(written, a, AUTHOR_COUNT, 3,
                    parameter(&w, share ? "u/nodes/paper/kernel" : "u/nodes/paper/writes/kernel"),
                    NULL, 2);
        for (int v = 0; v < PAPER_COUNT; v++) {
            terms[v] = self;
            for (int u = 0; u < 2; u++)
                y[2 * v + u] = self ? own[2 * v + u] : 0;
        }
        for (int e = 0; e < CITE_COUNT; e++) {
            terms[cite_target[e]]++;
            for (int u = 0; u < 2; u++)
                y[2 * cite_target[e] + u] += cited[2 * cite_source[e] + u];
        }
        for (int e = 0; e < WRITE_COUNT; e++) {
            terms[write_target[e]]++;
            for (int u = 0; u < 2; u++)
                y[2 * write_target[e] + u] += written[2 * write_source[e] + u];
        }
        for (int i = 0; mean && i < 10; i++)
            y[i] /= fmax(terms[i / 2], 1);
        check_values(&w, rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE), y, 10);
        world_close(&w);
    }
}

/* ---- map features ---- */

static rgm_value *encode_nodes(rgm_scope *scope, const rgm_graph_value *graph, const char *set,
                               void *payload)
{
    (void)payload;
    if (strcmp(set, "author") == 0)
        return rgm_make_empty_feature(scope, graph, RGM_NODE_SET, set);
    return rgm_dense(scope, "encode", rgm_node_feature(graph, set, "x"), 2);
}

static void features_are_mapped_set_by_set(void **state)
{
    (void)state;
    world w;
    double x[15], y[10];
    rgm_map_features_options options = {.node_set = encode_nodes};

    paper_x(x);
    world_open(&w, LIBRARY);
    rgm_graph_value *graph = rgm_map_features(w.scope, "input", w.value, &options);
    set_parameters(&w);
    plain_dense(y, x, PAPER_COUNT, 3, parameter(&w, "input/nodes/paper/encode/kernel"),
                parameter(&w, "input/nodes/paper/encode/bias"), 2);
    check_values(&w, rgm_node_feature(graph, "paper", RGM_HIDDEN_STATE), y, 10);
    CHECK_INT(0, rgm_width(rgm_node_feature(graph, "author", RGM_HIDDEN_STATE)));
    CHECK(!rgm_has_feature(graph, RGM_EDGE_SET, "cites", RGM_HIDDEN_STATE));
    world_close(&w);
}

static rgm_status build_update(rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;
    rgm_graph_value *root = NULL, *next;
    rgm_scope *scope = NULL;
    rgm_map_features_options map = {.node_set = encode_nodes};
    rgm_mpnn_options mpnn = RGM_MPNN_OPTIONS_INIT;
    rgm_gatv2_mpnn_options gat = RGM_GATV2_MPNN_OPTIONS_INIT;
    rgm_sage_update_options sage = RGM_SAGE_UPDATE_OPTIONS_INIT;

    mpnn.units = gat.units = sage.units = 4;
    mpnn.message_dim = gat.message_dim = 8;
    mpnn.receivers = RGM_AT_BOTH;
    mpnn.edge_feature = "e";
    mpnn.l2 = mpnn.dropout = 0.1;
    sage.hidden_units = 3;
    RGM_GO(rgm_cgraph_create(&graph));
    RGM_GO(rgm_graph_value_create(&root, graph, schema));
    RGM_GO(rgm_scope_create(&scope, graph, RGM_F64));
    next = rgm_map_features(scope, "input", root, &map);
    next = rgm_vanilla_mpnn_update(scope, "a", next, &mpnn);
    next = rgm_gatv2_mpnn_update(scope, "b", next, &gat);
    next = rgm_sage_update(scope, "c", next, &sage);
    rgm_scope_loss(scope);
    status = rgm_cgraph_status(graph);
done:
    rgm_scope_release(scope);
    rgm_graph_value_release(root);
    rgm_cgraph_release(graph);
    return status;
}

static void updates_survive_every_failing_allocation(void **state)
{
    (void)state;
    rgm_schema *schema = NULL;

    CHECK_OK(rgm_schema_parse(&schema, LIBRARY, (int64_t)strlen(LIBRARY), "test"));
    CHECK_EVERY_OOM(build_update(schema), (void)0);
    rgm_schema_release(schema);
}

TESTS(cmocka_unit_test(a_dense_state_takes_state_inputs_and_context),
      cmocka_unit_test(a_residual_state_adds_the_old_one_before_the_activation),
      cmocka_unit_test(a_residual_state_skips_nothing_and_refuses_other_widths),
      cmocka_unit_test(a_sage_state_sums_or_joins_and_normalizes),
      cmocka_unit_test(a_sage_state_takes_no_context),
      cmocka_unit_test(nodes_are_updated_from_the_same_old_states_after_the_edges),
      cmocka_unit_test(the_context_is_updated_last),
      cmocka_unit_test(unknown_sets_and_wrong_ends_are_named),
      cmocka_unit_test(mpnn_agrees_with_plain_c_over_several_edge_sets),
      cmocka_unit_test(both_ends_can_hear_and_latent_sets_get_a_state),
      cmocka_unit_test(named_node_sets_are_updated_even_without_edges),
      cmocka_unit_test(gatv2_mpnn_divides_message_dim_by_heads),
      cmocka_unit_test(homogeneous_updates_replace_the_state),
      cmocka_unit_test(the_sage_update_needs_only_units),
      cmocka_unit_test(the_gcn_variant_of_sage_averages_over_all_edge_sets_and_self),
      cmocka_unit_test(features_are_mapped_set_by_set),
      cmocka_unit_test(updates_survive_every_failing_allocation))
