/*
 * The graph inside the compute graph: what is fed, pool, broadcast and softmax by hand and against
 * one joint edge set (values and gradients), readout, masks of padded graphs, mistakes.
 */
#include "test_shop.h"

/** A compute graph, the graph value in it, and a concrete graph to feed. */
typedef struct bench {
    rgm_cgraph *cgraph;
    rgm_graph_value *value;
    rgm_graph *graph;
} bench;

static bench bench_of(rgm_graph *graph)
{
    bench b = {.graph = graph};

    CHECK_OK(rgm_cgraph_create(&b.cgraph));
    CHECK_OK(rgm_graph_value_create(&b.value, b.cgraph, (rgm_schema *)rgm_graph_schema(graph)));
    return b;
}

static void bench_clear(bench *b)
{
    rgm_graph_value_release(b->value);
    rgm_cgraph_release(b->cgraph);
    rgm_graph_release(b->graph);
}

/* The value of `fetch` for the bench's graph, copied. */
static rgm_tensor *run(const bench *b, rgm_value *fetch)
{
    rgm_executor *executor;
    rgm_tensor *fetched, *copy;
    rgm_feed feeds[32];
    int64_t count;

    CHECK_OK(rgm_cgraph_status(b->cgraph));
    CHECK(fetch != NULL);
    CHECK_OK(rgm_graph_feeds(feeds, 32, &count, b->value, b->graph));
    CHECK_OK(rgm_executor_create(&executor, b->cgraph, &fetch, 1, NULL));
    CHECK_OK(rgm_executor_run(executor, &fetched, NULL, feeds, count, 1, 0));
    CHECK_OK(rgm_tensor_copy(&copy, fetched));
    rgm_executor_release(executor);
    return copy;
}

static void check_values(const bench *b, rgm_value *fetch, int64_t count, const double *expected)
{
    rgm_tensor *got = run(b, fetch);

    CHECK_INT(count, rgm_tensor_count(got));
    for (int64_t i = 0; i < count; i++)
        CHECK_CLOSE(rgm_tensor_at(got, i), expected[i], 1e-6, 1e-6);
    rgm_tensor_release(got);
}
#define CHECK_VALUES(b, fetch, ...)                                                                \
    check_values(b, fetch, (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)),            \
                 (double[]){__VA_ARGS__})

static void check_same_values(const bench *b, rgm_value *x, rgm_value *y)
{
    rgm_tensor *s = run(b, x), *t = run(b, y);

    CHECK_INT(rgm_tensor_count(s), rgm_tensor_count(t));
    for (int64_t i = 0; i < rgm_tensor_count(s); i++)
        CHECK_CLOSE(rgm_tensor_at(s, i), rgm_tensor_at(t, i), 1e-5, 1e-6);
    rgm_tensor_release(s);
    rgm_tensor_release(t);
}

/* ---- two edge sets and their union ---- */

static const char union_text[] =
    "node_sets { key: \"m\" value { features { key: \"x\" value { dtype: DT_FLOAT shape { dim { "
    "size: 2 "
    "} } } } } }\n"
    "node_sets { key: \"n\" }\n"
    "edge_sets { key: \"a\" value { source: \"m\" target: \"n\" features { key: \"v\" value { "
    "dtype: "
    "DT_FLOAT shape { dim { size: 2 } } } } } }\n"
    "edge_sets { key: \"b\" value { source: \"m\" target: \"n\" features { key: \"v\" value { "
    "dtype: "
    "DT_FLOAT shape { dim { size: 2 } } } } } }\n"
    "edge_sets { key: \"ab\" value { source: \"m\" target: \"n\" features { key: \"v\" value { "
    "dtype: "
    "DT_FLOAT shape { dim { size: 2 } } } } } }\n"
    "edge_sets { key: \"away\" value { source: \"m\" target: \"m\" } }\n";

static void set_edges(rgm_graph_builder *b, const char *set, rgm_tensor *source, rgm_tensor *target)
{
    CHECK_OK(rgm_graph_builder_edges(b, set, source, target));
    rgm_tensor_release(source);
    rgm_tensor_release(target);
}

/* Ties at n1 within a and between a and b; n3 has no edges at all, n2 only one of b. */
static bench union_bench(void)
{
    static const float v[] = {1, -2, 3, 4, 5, 0, 5, 6, 5, 6, -7, 8};
    rgm_schema *schema = parse_schema(union_text);
    rgm_graph_builder *b;
    rgm_graph *graph;

    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "m", (int64_t[]){3}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "n", (int64_t[]){4}));
    add_feature(b, RGM_NODE_SET, "m", "x",
                floats(2, (int64_t[]){3, 2}, (float[]){10, 1, 20, 2, 30, 3}), NULL);
    set_edges(b, "a", INTS(0, 1, 2, 0), INTS(0, 0, 1, 1));
    set_edges(b, "b", INTS(1, 2), INTS(1, 2));
    set_edges(b, "ab", INTS(0, 1, 2, 0, 1, 2), INTS(0, 0, 1, 1, 1, 2));
    add_feature(b, RGM_EDGE_SET, "a", "v", floats(2, (int64_t[]){4, 2}, v), NULL);
    add_feature(b, RGM_EDGE_SET, "b", "v", floats(2, (int64_t[]){2, 2}, v + 8), NULL);
    add_feature(b, RGM_EDGE_SET, "ab", "v", floats(2, (int64_t[]){6, 2}, v), NULL);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    rgm_schema_release(schema);
    return bench_of(graph);
}

static rgm_value *pool_both(const bench *b, rgm_value **v, const char *reduce_type)
{
    v[0] = rgm_edge_feature(b->value, "a", "v");
    v[1] = rgm_edge_feature(b->value, "b", "v");
    return rgm_pool(b->value, RGM_TARGET, RGM_EDGE_SET, (const char *[]){"a", "b"}, v, 2,
                    reduce_type);
}

static rgm_value *pool_union(const bench *b, rgm_value **v, const char *reduce_type)
{
    *v = rgm_edge_feature(b->value, "ab", "v");
    return rgm_pool(b->value, RGM_TARGET, RGM_EDGE_SET, (const char *[]){"ab"}, v, 1, reduce_type);
}

static void pools_are_what_one_computes_by_hand(void **state)
{
    bench b = union_bench();
    rgm_value *v[2];

    (void)state;
    CHECK_VALUES(&b, pool_both(&b, v, "sum"), 4, 2, 15, 12, -7, 8, 0, 0);
    CHECK_VALUES(&b, pool_both(&b, v, "mean"), 2, 1, 5, 4, -7, 8, 0,
                 0); /* each edge weighs the same */
    CHECK_VALUES(&b, pool_both(&b, v, "max_no_inf"), 3, 4, 5, 6, -7, 8, 0, 0);
    CHECK_VALUES(&b, pool_both(&b, v, "min_no_inf"), 1, -2, 5, 0, -7, 8, 0, 0);
    CHECK_VALUES(&b, pool_both(&b, v, "prod"), 3, -8, 125, 0, -7, 8, 1, 1);
    CHECK_VALUES(&b, pool_both(&b, v, "sum|max_no_inf"), 4, 2, 3, 4, 15, 12, 5, 6, -7, 8, -7, 8, 0,
                 0, 0, 0);
    bench_clear(&b);
}

static void several_edge_sets_pool_as_one(void **state)
{
    static const char *const types[] = {"sum",  "mean",       "max",        "min",
                                        "prod", "max_no_inf", "min_no_inf", "mean|sum|max"};

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        bench b = union_bench();
        rgm_value *v[2], *u, *y = pool_both(&b, v, types[i]), *z = pool_union(&b, &u, types[i]);
        rgm_value *dv[2], *du;

        check_same_values(&b, y, z);
        /* a loss in which every item counts differently: the squares */
        CHECK_OK(rgm_cgraph_gradients(
            dv, rgm_sum(rgm_minimum(rgm_square(y), rgm_scalar(b.cgraph, RGM_F32, 1e6))), v, 2));
        CHECK_OK(rgm_cgraph_gradients(
            &du, rgm_sum(rgm_minimum(rgm_square(z), rgm_scalar(b.cgraph, RGM_F32, 1e6))), &u, 1));
        check_same_values(&b, rgm_concat(dv, 2, 0), rgm_reshape(du, 2, (rgm_dim[]){RGM_INFER, 2}));
        bench_clear(&b);
    }
}

static void ties_share_the_gradient_evenly_over_all_sets(void **state)
{
    bench b = union_bench();
    rgm_value *v[2], *dv[2], *y = pool_both(&b, v, "max_no_inf");

    (void)state;
    CHECK_OK(rgm_cgraph_gradients(dv, rgm_sum(y), v, 2));
    CHECK_VALUES(&b, dv[0], 0, 0, 1, 1, 1.0 / 3, 0, 1.0 / 3, 0.5);
    CHECK_VALUES(&b, dv[1], 1.0 / 3, 0.5, 1, 1);
    bench_clear(&b);
}

static void softmax_normalises_over_all_sets(void **state)
{
    bench b = union_bench();
    rgm_value *v[2], *y[2], *u, *z, *dv[2], *du;

    (void)state;
    v[0] = rgm_scale(rgm_edge_feature(b.value, "a", "v"), 40); /* exp would overflow */
    v[1] = rgm_scale(rgm_edge_feature(b.value, "b", "v"), 40);
    u = rgm_scale(rgm_edge_feature(b.value, "ab", "v"), 40);
    CHECK_OK(
        rgm_softmax_over(y, b.value, RGM_TARGET, RGM_EDGE_SET, (const char *[]){"a", "b"}, v, 2));
    CHECK_OK(
        rgm_softmax_over(&z, b.value, RGM_TARGET, RGM_EDGE_SET, (const char *[]){"ab"}, &u, 1));
    check_same_values(&b, rgm_concat(y, 2, 0), z);
    CHECK_VALUES(&b, y[0], 0, 0, 1, 1, 1.0 / 3, 0, 1.0 / 3, 0.5);
    CHECK_OK(rgm_cgraph_gradients(dv, rgm_add(rgm_sum(rgm_square(y[0])), rgm_sum(rgm_square(y[1]))),
                                  v, 2));
    CHECK_OK(rgm_cgraph_gradients(&du, rgm_sum(rgm_square(z)), &u, 1));
    check_same_values(&b, rgm_concat(dv, 2, 0), du);
    bench_clear(&b);
}

static void broadcast_and_pool_meet_as_a_sparse_product(void **state)
{
    bench b = union_bench();
    rgm_value *x = rgm_node_feature(b.value, "m", "x"), *sent, *pooled, *y;
    rgm_executor *executor;
    rgm_text text = {0};

    (void)state;
    sent = rgm_broadcast(b.value, RGM_SOURCE, RGM_EDGE_SET, "ab", x);
    CHECK_VALUES(&b, sent, 10, 1, 20, 2, 30, 3, 10, 1, 20, 2, 30, 3);
    y = rgm_pool(b.value, RGM_TARGET, RGM_EDGE_SET, (const char *[]){"ab"}, &sent, 1, "sum");
    CHECK_VALUES(&b, y, 30, 3, 60, 6, 30, 3, 0, 0);
    CHECK_OK(rgm_executor_create(&executor, b.cgraph, &y, 1, NULL));
    CHECK_OK(rgm_executor_print(&text, executor));
    CHECK(strstr(text.data, "spmm") != NULL);
    CHECK(strstr(text.data, "broadcast") == NULL);
    rgm_executor_release(executor);
    rgm_text_clear(&text);
    /* and the other way round, from the targets' sums back to the sources */
    pooled = rgm_broadcast(b.value, RGM_TARGET, RGM_EDGE_SET, "ab", y);
    CHECK_VALUES(&b, pooled, 30, 3, 30, 3, 60, 6, 60, 6, 60, 6, 30, 3);
    y = rgm_pool(b.value, RGM_SOURCE, RGM_EDGE_SET, (const char *[]){"ab"}, &pooled, 1, "mean");
    CHECK_VALUES(&b, y, 45, 4.5, 45, 4.5, 45, 4.5);
    CHECK_OK(rgm_executor_create(&executor, b.cgraph, &y, 1, NULL));
    CHECK_OK(rgm_executor_print(&text, executor));
    CHECK(strstr(text.data, "broadcast") == NULL);
    rgm_executor_release(executor);
    rgm_text_clear(&text);
    CHECK_VALUES(&b, rgm_node_degree(b.value, "ab", RGM_TARGET, RGM_F32), 2, 3, 1, 0);
    CHECK_VALUES(&b, rgm_node_degree(b.value, "ab", RGM_SOURCE, RGM_F32), 2, 2, 2);
    bench_clear(&b);
}

/* ---- components and padding ---- */

static bench shops_bench(bool padded)
{
    rgm_schema *schema = parse_schema(shop_text);
    rgm_graph *a = first_shop(schema), *b = second_shop(schema), *merged, *rooted;
    rgm_size_constraints *limit;

    CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){a, b}, 2));
    rgm_graph_release(a);
    rgm_graph_release(b);
    if (padded) {
        CHECK_OK(rgm_size_constraints_create(&limit, schema));
        CHECK_OK(rgm_size_constraints_set(limit, RGM_CONTEXT_PIECE, NULL, 3, 0));
        CHECK_OK(rgm_size_constraints_set(limit, RGM_NODE_SET, "user", 5, 1));
        CHECK_OK(rgm_size_constraints_set(limit, RGM_NODE_SET, "item", 4, 1));
        CHECK_OK(rgm_size_constraints_set(limit, RGM_EDGE_SET, "buys", 5, 0));
        CHECK_OK(rgm_graph_pad(&a, NULL, merged, limit));
        rgm_size_constraints_release(limit);
        rgm_graph_release(merged);
        merged = a;
    }
    CHECK_OK(rgm_graph_readout_from_first_node(&rooted, merged, "seed", "user", "_readout"));
    rgm_graph_release(merged);
    rgm_schema_release(schema);
    return bench_of(rooted);
}

static void components_pool_and_broadcast(void **state)
{
    bench b = shops_bench(false);
    rgm_value *age = rgm_node_feature(b.value, "user", "age"), *mean;
    rgm_value *vec = rgm_node_feature(b.value, "item", "vec");

    (void)state;
    mean = rgm_pool(b.value, RGM_CONTEXT, RGM_NODE_SET, (const char *[]){"user"}, &age, 1, "mean");
    CHECK_VALUES(&b, mean, 38, 20);
    CHECK_VALUES(&b, rgm_broadcast(b.value, RGM_CONTEXT, RGM_NODE_SET, "user", mean), 38, 38, 20);
    CHECK_VALUES(&b, rgm_broadcast(b.value, RGM_CONTEXT, RGM_EDGE_SET, "buys", mean), 38, 38, 20);
    CHECK_VALUES(
        &b, rgm_pool(b.value, RGM_CONTEXT, RGM_NODE_SET, (const char *[]){"item"}, &vec, 1, "max"),
        1, 2, 3, 4, 9, 10, 11, 12);
    CHECK_VALUES(&b, rgm_gather_first_node(b.value, "user", "age"), 31, 20);
    CHECK_VALUES(&b, rgm_structured_readout(b.value, "seed", "age", "_readout"), 31, 20);
    CHECK_VALUES(&b, rgm_cast(rgm_context_feature(b.value, "label"), RGM_F32), 1, 7);
    bench_clear(&b);
}

static void padding_has_weight_zero(void **state)
{
    bench b = shops_bench(true);
    rgm_value *age = rgm_node_feature(b.value, "user", "age"), *root, *x = age, *dx;

    (void)state;
    CHECK_VALUES(&b, rgm_real_mask(b.value, RGM_NODE_SET, "user"), 1, 1, 1, 0, 0);
    CHECK_VALUES(&b, rgm_real_mask(b.value, RGM_NODE_SET, "_readout"), 1, 1, 0);
    CHECK_VALUES(&b, rgm_real_mask(b.value, RGM_CONTEXT_PIECE, NULL), 1, 1, 0);
    root = rgm_gather_first_node(b.value, "user", "age");
    CHECK_VALUES(&b, root, 31, 20, 0);
    CHECK_OK(rgm_cgraph_gradients(
        &dx, rgm_sum(rgm_mul(root, rgm_real_mask(b.value, RGM_CONTEXT_PIECE, NULL))), &x, 1));
    CHECK_VALUES(&b, dx, 1, 0, 1, 0, 0);
    root = rgm_structured_readout(b.value, "seed", "age", NULL);
    CHECK_OK(rgm_cgraph_gradients(
        &dx, rgm_sum(rgm_mul(root, rgm_real_mask(b.value, RGM_NODE_SET, "_readout"))), &x, 1));
    CHECK_VALUES(&b, dx, 1, 0, 1, 0, 0);
    bench_clear(&b);
}

static void readouts_draw_from_several_sets_and_from_edges(void **state)
{
    rgm_schema *schema = parse_schema(
        "node_sets { key: \"p\" value { features { key: \"h\" value { dtype: DT_FLOAT } } features "
        "{ "
        "key: \"id\" value { dtype: DT_INT64 } } } }\n"
        "node_sets { key: \"q\" value { features { key: \"h\" value { dtype: DT_FLOAT } } } }\n"
        "node_sets { key: \"_readout\" } node_sets { key: \"_shadow/e\" }\n"
        "edge_sets { key: \"e\" value { source: \"p\" target: \"q\" features { key: \"w\" value { "
        "dtype: DT_FLOAT } } } }\n"
        "edge_sets { key: \"_readout/k/1\" value { source: \"p\" target: \"_readout\" } }\n"
        "edge_sets { key: \"_readout/k/2\" value { source: \"q\" target: \"_readout\" } }\n"
        "edge_sets { key: \"_readout/only\" value { source: \"p\" target: \"_readout\" } }\n"
        "edge_sets { key: \"_readout/edge\" value { source: \"_shadow/e\" target: \"_readout\" } "
        "}\n");
    rgm_graph_builder *builder;
    rgm_graph_value *with;
    rgm_graph *graph;
    bench b;

    (void)state;
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "p", (int64_t[]){2}));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "q", (int64_t[]){2}));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "_readout", (int64_t[]){3}));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "_shadow/e", (int64_t[]){3}));
    set_edges(builder, "e", INTS(0, 1, 1), INTS(0, 0, 1));
    set_edges(builder, "_readout/k/1", INTS(1), INTS(1));
    set_edges(builder, "_readout/k/2", INTS(1, 0), INTS(0, 2));
    set_edges(builder, "_readout/only", INTS(1, 0, 1), INTS(0, 1, 2));
    set_edges(builder, "_readout/edge", INTS(2, 1, 0), INTS(0, 1, 2));
    add_feature(builder, RGM_NODE_SET, "p", "h", floats(1, (int64_t[]){2}, (float[]){1, 2}), NULL);
    add_feature(builder, RGM_NODE_SET, "p", "id", INTS(100, 200), NULL);
    add_feature(builder, RGM_NODE_SET, "q", "h", floats(1, (int64_t[]){2}, (float[]){3, 4}), NULL);
    add_feature(builder, RGM_EDGE_SET, "e", "w", floats(1, (int64_t[]){3}, (float[]){7, 8, 9}),
                NULL);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    b = bench_of(graph);
    CHECK_VALUES(&b, rgm_structured_readout(b.value, "k", "h", "_readout"), 4, 2, 3);
    CHECK_VALUES(&b, rgm_structured_readout(b.value, "edge", "w", NULL), 9, 8, 7);
    CHECK_VALUES(&b, rgm_structured_readout(b.value, "only", "id", NULL), 200, 100, 200);
    with = rgm_with_structured_readout(b.value, "only", "h", "state", NULL);
    CHECK_VALUES(&b, rgm_node_feature(with, "_readout", "state"), 2, 1, 2);
    bench_clear(&b);
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
}

/* ---- what is fed ---- */

static void only_what_is_asked_for_is_fed_and_always_the_same(void **state)
{
    bench b = shops_bench(false);
    rgm_feed first[8], second[8];
    rgm_graph *derived;
    rgm_feature extra = {.values = INTS(1, 2)};
    int64_t count;

    (void)state;
    CHECK_OK(rgm_graph_feeds(first, 8, &count, b.value, b.graph));
    CHECK_INT(0, count);
    rgm_node_feature(b.value, "user", "age");
    rgm_node_feature(b.value, "user", "age");
    rgm_adjacency(b.value, "buys", RGM_TARGET);
    CHECK(rgm_adjacency(b.value, "buys", RGM_SOURCE) == rgm_adjacency(b.value, "buys", RGM_SOURCE));
    rgm_real_mask(b.value, RGM_NODE_SET, "user");
    rgm_gather_first_node(b.value, "user", "age");
    CHECK_OK(rgm_graph_with_feature(&derived, b.graph, RGM_CONTEXT_PIECE, NULL, "new", &extra));
    CHECK_OK(rgm_graph_feeds(first, 8, &count, b.value, b.graph));
    CHECK_INT(4, count);
    CHECK_OK(rgm_graph_feeds(second, 8, &count, b.value, derived)); /* of another schema */
    for (int64_t i = 0; i < 4; i++)
        CHECK(first[i].tensor == second[i].tensor && first[i].pattern == second[i].pattern &&
              first[i].input == second[i].input);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_feeds(first, 3, &count, b.value, b.graph));
    rgm_graph_release(derived);
    CHECK_OK(rgm_graph_without_feature(&derived, b.graph, RGM_NODE_SET, "user", "age"));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_feeds(first, 8, &count, b.value, derived));
    CHECK_MESSAGE("node set 'user' has no feature 'age'");
    rgm_graph_release(derived);
    rgm_feature_clear(&extra);
    bench_clear(&b);
}

static void sparse_features_are_patterns(void **state)
{
    rgm_schema *schema =
        parse_schema("node_sets { key: \"p\" value { features { key: \"w\" value { "
                     "dtype: DT_INT64 shape { dim { size: -1 } } source: "
                     "\"one_hot:3\" } } } }");
    float weight[] = {1, 10, 100};
    rgm_tensor *w = floats(2, (int64_t[]){3, 1}, weight);
    rgm_graph_builder *builder;
    rgm_graph *graph;
    bench b;

    (void)state;
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "p", (int64_t[]){2}));
    add_feature(builder, RGM_NODE_SET, "p", "w", INTS(0, 2, 1), INTS(2, 1));
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    b = bench_of(graph);
    CHECK_VALUES(
        &b, rgm_spmm(rgm_node_sparse_feature(b.value, "p", "w"), rgm_constant(b.cgraph, w), NULL),
        101, 10);
    CHECK(rgm_node_feature(b.value, "p", "w") == NULL);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_cgraph_status(b.cgraph));
    CHECK_MESSAGE("is one_hot");
    bench_clear(&b);
    rgm_tensor_release(w);
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
}

/* Two nodes with a kind each, and a pair of numbers each. */
static bench kinds_bench(void)
{
    rgm_schema *schema = parse_schema(
        "node_sets { key: \"p\" value { features { key: \"kind\" value { dtype: DT_INT64 } }\n"
        "  features { key: \"pair\" value { dtype: DT_INT64 shape { dim { size: 2 } } } }\n"
        "  features { key: \"x\" value { dtype: DT_FLOAT } } } }");
    rgm_graph_builder *builder;
    rgm_graph *graph;
    rgm_feature pair = {0};
    bench b;

    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "p", (int64_t[]){2}));
    add_feature(builder, RGM_NODE_SET, "p", "kind", INTS(2, 0), NULL);
    CHECK_OK(rgm_tensor_create_from(&pair.values, RGM_I64, 2, (int64_t[]){2, 2},
                                    (int64_t[]){0, 1, 1, 1}));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "p", "pair", &pair));
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    b = bench_of(graph);
    rgm_tensor_release(pair.values);
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
    return b;
}

static rgm_status one_hot_of(const bench *b, const char *feature, int64_t values)
{
    rgm_feed feeds[4];
    int64_t count;

    rgm_one_hot(b->value, RGM_NODE_SET, "p", feature, values);
    RGM_TRY(rgm_cgraph_status(b->cgraph));
    return rgm_graph_feeds(feeds, 4, &count, b->value, b->graph);
}

static void integers_are_read_as_one_hot_rows(void **state)
{
    static const struct {
        const char *feature;
        int64_t values;
        rgm_status status;
        const char *message;
    } wrong[] = {
        {"kind", 2, RGM_ERR_DATA, "feature 'kind': item 0 is 2, but its one-hot values are 0..1"},
        {"x", 2, RGM_ERR_DTYPE, "feature 'x' is not of integers"},
        {"kind", 0, RGM_ERR_ARG, "a lookup of 0 columns"},
        {"knd", 2, RGM_ERR_NOT_FOUND, "kind"}};
    rgm_tensor *w = floats(2, (int64_t[]){4, 1}, (float[]){1, 10, 100, 1000});
    bench b = kinds_bench();
    rgm_value *kernel = rgm_constant(b.cgraph, w);

    (void)state;
    CHECK(!rgm_reads_feature(b.value, RGM_NODE_SET, "p", "kind"));
    CHECK_VALUES(&b, rgm_spmm(rgm_one_hot(b.value, RGM_NODE_SET, "p", "kind", 4), kernel, NULL),
                 100, 1);
    CHECK_VALUES(&b, rgm_spmm(rgm_one_hot(b.value, RGM_NODE_SET, "p", "pair", 2), kernel, NULL),
                 1001, 1010);
    CHECK(rgm_reads_feature(b.value, RGM_NODE_SET, "p", "kind"));
    CHECK(!rgm_reads_feature(b.value, RGM_NODE_SET, "p", "x"));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, one_hot_of(&b, "kind", 5));
    CHECK_MESSAGE("is one-hot with 4 columns elsewhere, not 5");
    bench_clear(&b);
    rgm_tensor_release(w);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        b = kinds_bench();
        CHECK_STATUS(wrong[i].status, one_hot_of(&b, wrong[i].feature, wrong[i].values));
        CHECK_MESSAGE(wrong[i].message);
        bench_clear(&b);
    }
}

/* ---- changes and mistakes ---- */

static void changes_leave_the_original_alone(void **state)
{
    bench b = shops_bench(false);
    rgm_value *age = rgm_node_feature(b.value, "user", "age"), *other;
    rgm_graph_value *changed, *hidden, *bare;

    (void)state;
    other = rgm_scale(age, 2);
    changed = rgm_with_state(b.value, "user", other);
    CHECK(rgm_has_feature(changed, RGM_NODE_SET, "user", RGM_HIDDEN_STATE));
    CHECK(!rgm_has_feature(b.value, RGM_NODE_SET, "user", RGM_HIDDEN_STATE));
    CHECK(rgm_node_feature(changed, "user", RGM_HIDDEN_STATE) == other);
    changed = rgm_with_feature(changed, RGM_NODE_SET, "user", "age", other);
    CHECK(rgm_node_feature(changed, "user", "age") == other);
    CHECK(rgm_node_feature(b.value, "user", "age") == age);
    bare = rgm_without_feature(changed, RGM_NODE_SET, "user", "age");
    CHECK(!rgm_has_feature(bare, RGM_NODE_SET, "user", "age"));
    CHECK(rgm_has_feature(changed, RGM_NODE_SET, "user", "age"));
    changed = rgm_with_feature(bare, RGM_NODE_SET, "user", "age", age);
    CHECK(rgm_node_feature(changed, "user", "age") == age);
    hidden = rgm_with_feature(changed, RGM_NODE_SET, "_readout", "label",
                              rgm_structured_readout(changed, "seed", "age", NULL));
    CHECK(rgm_has_feature(hidden, RGM_NODE_SET, "_readout", "label"));
    hidden = rgm_without_aux_features(hidden);
    CHECK(!rgm_has_feature(hidden, RGM_NODE_SET, "_readout", "label"));
    CHECK(rgm_has_feature(hidden, RGM_NODE_SET, "user", "age"));
    CHECK_OK(rgm_cgraph_status(b.cgraph));
    CHECK(rgm_node_feature(bare, "user", "age") == NULL);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_cgraph_status(b.cgraph));
    CHECK_MESSAGE("feature 'age' was taken away");
    bench_clear(&b);
}

static void mistakes_are_kept_in_the_compute_graph(void **state)
{
    bench b = union_bench();
    rgm_value *v[2], *x = rgm_node_feature(b.value, "m", "x");

    (void)state;
#define MISTAKE(make_bench, status, message, call)                                                 \
    do {                                                                                           \
        bench_clear(&b);                                                                           \
        b = make_bench;                                                                            \
        CHECK((call) == NULL);                                                                     \
        CHECK_STATUS(status, rgm_cgraph_status(b.cgraph));                                         \
        CHECK_MESSAGE(message);                                                                    \
    } while (0)
    (void)x;
    MISTAKE(shops_bench(false), RGM_ERR_NOT_FOUND, "did you mean 'age'?",
            rgm_node_feature(b.value, "user", "aeg"));
    MISTAKE(shops_bench(false), RGM_ERR_UNSUPPORTED, "feature 'tags' is ragged",
            rgm_node_feature(b.value, "user", "tags"));
    MISTAKE(shops_bench(false), RGM_ERR_NOT_FOUND, "no edge set 'by'",
            rgm_adjacency(b.value, "by", RGM_TARGET));
    MISTAKE(shops_bench(false), RGM_ERR_NOT_FOUND, "no such readout key",
            rgm_structured_readout(b.value, "sed", "age", NULL));
    MISTAKE(shops_bench(false), RGM_ERR_SHAPE, "needs one row an item",
            rgm_with_state(b.value, "item", rgm_node_feature(b.value, "user", "age")));
    MISTAKE(union_bench(), RGM_ERR_ARG, "reduce_type 'sum|avg' is not one",
            pool_both(&b, v, "sum|avg"));
    v[0] = v[1] = NULL;
    MISTAKE(union_bench(), RGM_ERR_SHAPE, "so values need rank 2",
            rgm_pool(b.value, RGM_TARGET, RGM_EDGE_SET, (const char *[]){"ab"},
                     (rgm_value *[]){rgm_reduce(rgm_edge_feature(b.value, "ab", "v"), 1, RGM_SUM)},
                     1, "sum|max"));
    MISTAKE(
        union_bench(), RGM_ERR_ARG, "only edges have a source",
        rgm_broadcast(b.value, RGM_SOURCE, RGM_NODE_SET, "m", rgm_node_feature(b.value, "m", "x")));
    MISTAKE(union_bench(), RGM_ERR_ARG, "different receiving node sets",
            rgm_pool(b.value, RGM_TARGET, RGM_EDGE_SET, (const char *[]){"ab", "away"},
                     (rgm_value *[]){rgm_edge_feature(b.value, "ab", "v"),
                                     rgm_broadcast(b.value, RGM_SOURCE, RGM_EDGE_SET, "away",
                                                   rgm_node_feature(b.value, "m", "x"))},
                     2, "sum"));
    CHECK(rgm_node_feature(NULL, "m", "x") == NULL); /* NULL passes through */
    CHECK(rgm_with_state(NULL, "m", NULL) == NULL);
    bench_clear(&b);
}

static rgm_status build_and_feed(rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *cgraph = NULL;
    rgm_graph_value *value = NULL, *changed;
    rgm_value *age, *pooled;
    rgm_feed feeds[8];
    int64_t count;

    RGM_GO(rgm_cgraph_create(&cgraph));
    RGM_GO(rgm_graph_value_create(&value, cgraph, (rgm_schema *)rgm_graph_schema(graph)));
    age = rgm_node_feature(value, "user", "age");
    changed = rgm_with_state(value, "user", age);
    pooled = rgm_broadcast(changed, RGM_SOURCE, RGM_EDGE_SET, "buys",
                           rgm_node_feature(changed, "user", RGM_HIDDEN_STATE));
    rgm_pool(changed, RGM_TARGET, RGM_EDGE_SET, (const char *[]){"buys"}, &pooled, 1, "mean");
    RGM_GO(rgm_cgraph_status(cgraph));
    RGM_GO(rgm_graph_feeds(feeds, 8, &count, value, graph));
done:
    rgm_graph_value_release(value);
    rgm_cgraph_release(cgraph);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    bench b = shops_bench(false);

    (void)state;
    CHECK_OK(build_and_feed(b.graph)); /* the graph's own patterns are made, and stay */
    CHECK_EVERY_OOM(build_and_feed(b.graph), (void)0);
    bench_clear(&b);
}

TESTS(cmocka_unit_test(pools_are_what_one_computes_by_hand),
      cmocka_unit_test(several_edge_sets_pool_as_one),
      cmocka_unit_test(ties_share_the_gradient_evenly_over_all_sets),
      cmocka_unit_test(softmax_normalises_over_all_sets),
      cmocka_unit_test(broadcast_and_pool_meet_as_a_sparse_product),
      cmocka_unit_test(components_pool_and_broadcast), cmocka_unit_test(padding_has_weight_zero),
      cmocka_unit_test(readouts_draw_from_several_sets_and_from_edges),
      cmocka_unit_test(only_what_is_asked_for_is_fed_and_always_the_same),
      cmocka_unit_test(sparse_features_are_patterns),
      cmocka_unit_test(integers_are_read_as_one_hot_rows),
      cmocka_unit_test(changes_leave_the_original_alone),
      cmocka_unit_test(mistakes_are_kept_in_the_compute_graph),
      cmocka_unit_test(every_failing_allocation_is_survived))
