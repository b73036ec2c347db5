#include <pthread.h>

#include "test_shop.h"

static rgm_schema *schema;

static int set_up(void **state)
{
    (void)state;
    schema = parse_schema(shop_text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rgm_schema_release(schema);
    return 0;
}

static void a_graph_holds_what_it_was_built_of(void **state)
{
    rgm_graph *graph = first_shop(schema);
    const rgm_feature *tags = rgm_graph_feature(graph, RGM_NODE_SET, "user", "tags");
    rgm_text text = {0};

    (void)state;
    CHECK_INT(1, rgm_graph_components(graph));
    CHECK_INT(2, rgm_graph_total(graph, RGM_NODE_SET, "user"));
    CHECK_INT(1, rgm_graph_total(graph, RGM_CONTEXT_PIECE, NULL));
    CHECK_INT(1, rgm_graph_sizes(graph, RGM_CONTEXT_PIECE, NULL)[0]);
    CHECK_INTS(rgm_graph_source(graph, "buys"), 0, 1);
    CHECK_INTS(rgm_graph_target(graph, "buys"), 0, 0);
    CHECK_INTS(tags->row_lengths[1], 2, 1);
    CHECK_INT(1, rgm_tensor_str(tags->values)[2].size);
    CHECK_INT('c', rgm_tensor_str(tags->values)[2].data[0]);
    CHECK(rgm_graph_feature(graph, RGM_NODE_SET, "user", "vec") == NULL);
    CHECK_OK(rgm_graph_check_complete(graph));
    CHECK_OK(rgm_graph_print(&text, graph, 10));
    CHECK_TEXT("graph of 1 component\n"
               "context\n"
               "  label i64[]: 1\n"
               "node set 'user': 2 nodes\n"
               "  age f32[]: 31 45\n"
               "  tags string[-1]\n"
               "    0: \"a\" \"b\"\n"
               "    1: \"c\"\n"
               "node set 'item': 1 nodes\n"
               "  vec f32[4]\n"
               "    0: 1 2 3 4\n"
               "edge set 'buys' user -> item: 2 edges\n"
               "  0->0 1->0\n",
               text.data);
    rgm_text_clear(&text);
    rgm_graph_release(graph);
}

static void ends_of_i32_are_taken_as_those_of_i64(void **state)
{
    rgm_graph_builder *b;
    rgm_graph *graph;
    rgm_tensor *ends, *numbers = floats(1, (int64_t[]){2}, (float[]){0, 1});

    (void)state;
    CHECK_OK(rgm_tensor_create_from(&ends, RGM_I32, 1, (int64_t[]){2}, (int32_t[]){0, 1}));
    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "user", (int64_t[]){2}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "item", (int64_t[]){2}));
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_builder_edges(b, "buys", ends, numbers));
    CHECK_MESSAGE("edge set 'buys': target is f32[2], must be i64[edges] or i32[edges]");
    CHECK_OK(rgm_graph_builder_edges(b, "buys", ends, ends));
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    CHECK_INTS(rgm_graph_source(graph, "buys"), 0, 1);
    CHECK_INTS(rgm_graph_target(graph, "buys"), 0, 1);
    rgm_graph_builder_release(b);
    rgm_graph_release(graph);
    rgm_tensor_release(ends);
    rgm_tensor_release(numbers);
}

static void sets_that_are_not_given_are_empty(void **state)
{
    rgm_graph_builder *b;
    rgm_graph *graph;

    (void)state;
    CHECK_OK(rgm_graph_builder_create(&b, schema, 3));
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_builder_sizes(b, RGM_NODE_SET, "user", (int64_t[]){1}));
    rgm_graph_builder_release(b);
    CHECK_INT(3, rgm_graph_components(graph));
    CHECK_INT(3, rgm_graph_total(graph, RGM_CONTEXT_PIECE, NULL));
    CHECK_INT(0, rgm_graph_total(graph, RGM_EDGE_SET, "buys"));
    CHECK_INT(0, rgm_tensor_count(rgm_graph_source(graph, "buys")));
    CHECK_INT(4, rgm_tensor_dim(rgm_graph_feature(graph, RGM_NODE_SET, "item", "vec")->values, 1));
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_check_complete(graph)); /* context items, no label */
    CHECK_MESSAGE("context: feature 'label' is absent, with 3 items");
    rgm_graph_release(graph);
}

/* Two users and one item in each of two components; edges as given. */
static rgm_status two_components(const int64_t *source, const int64_t *target, int64_t count,
                                 const int64_t *edge_sizes)
{
    rgm_status status;
    rgm_graph_builder *b;
    rgm_graph *graph = NULL;
    rgm_tensor *s = ints(count, source), *t = ints(count, target);

    CHECK_OK(rgm_graph_builder_create(&b, schema, 2));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "user", (int64_t[]){2, 2}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "item", (int64_t[]){1, 1}));
    if (edge_sizes != NULL)
        CHECK_OK(rgm_graph_builder_sizes(b, RGM_EDGE_SET, "buys", edge_sizes));
    CHECK_OK(rgm_graph_builder_edges(b, "buys", s, t));
    status = rgm_graph_builder_finish(&graph, b);
    CHECK((status == RGM_OK) == (graph != NULL));
    rgm_graph_release(graph);
    rgm_graph_builder_release(b);
    rgm_tensor_release(s);
    rgm_tensor_release(t);
    return status;
}

static void dangling_negative_and_crossing_edges_are_named(void **state)
{
    static const int64_t sizes[] = {1, 2};

    (void)state;
    CHECK_OK(two_components((int64_t[]){1, 2, 3}, (int64_t[]){0, 1, 1}, 3, sizes));
    CHECK_STATUS(RGM_ERR_DATA,
                 two_components((int64_t[]){1, 2, 4}, (int64_t[]){0, 1, 1}, 3, sizes));
    CHECK_MESSAGE("edge set 'buys': source of edge 2 is 4, but node set 'user' has 4 nodes");
    CHECK_STATUS(RGM_ERR_DATA,
                 two_components((int64_t[]){1, 2, 3}, (int64_t[]){0, -1, 1}, 3, sizes));
    CHECK_MESSAGE("edge set 'buys': target of edge 1 is -1, but node set 'item' has 2 nodes");
    CHECK_STATUS(RGM_ERR_DATA,
                 two_components((int64_t[]){1, 1, 3}, (int64_t[]){0, 1, 1}, 3, sizes));
    CHECK_MESSAGE("edge set 'buys': source of edge 1 of component 1 is 1, a node of 'user' in "
                  "component 0");
    CHECK_STATUS(RGM_ERR_DATA, two_components((int64_t[]){1, 2}, (int64_t[]){0, 1}, 2, sizes));
    CHECK_MESSAGE("2 source indices for 3 edges");
    CHECK_STATUS(RGM_ERR_DATA, two_components((int64_t[]){1, 2}, (int64_t[]){0, 1}, 2, NULL));
    CHECK_MESSAGE("has 2 edges but no sizes");
}

/* A graph of one feature of three items or users is refused; takes both tensors over. */
static void check_feature_refused(const char *set, const char *feature, rgm_tensor *values,
                                  rgm_tensor *lengths, const char *message)
{
    rgm_graph_builder *b;
    rgm_graph *graph;

    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, set, (int64_t[]){3}));
    add_feature(b, RGM_NODE_SET, set, feature, values, lengths);
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_builder_finish(&graph, b));
    CHECK(graph == NULL);
    CHECK_MESSAGE(message);
    rgm_graph_builder_release(b);
}

static void features_that_do_not_fit_are_refused(void **state)
{
    static const char *const abc[] = {"a", "b", "c"};
    rgm_graph_builder *b;

    (void)state;
    check_feature_refused(
        "item", "vec", floats(2, (int64_t[]){2, 4}, (float[8]){0}), NULL,
        "node set 'item': feature 'vec' is f32[2,4], expected 3 rows of 4 values");
    check_feature_refused("item", "vec", INTS(1, 2, 3), NULL, "is i64, the schema says f32");
    check_feature_refused("user", "tags", strings(3, abc), NULL, "row lengths of ragged dim 1");
    check_feature_refused("user", "tags", strings(3, abc), INTS(2, 2, 0),
                          "feature 'tags' is string[3], expected 4 rows");
    check_feature_refused("user", "tags", strings(3, abc), INTS(4, -1, 0),
                          "row 1 of dim 1 has length -1");
    check_feature_refused("user", "tags", strings(3, abc), INTS(2, 1),
                          "2 row lengths of dim 1, expected 3");
    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_builder_sizes(b, RGM_NODE_SET, "user", (int64_t[]){-2}));
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_graph_builder_sizes(b, RGM_NODE_SET, "usr", (int64_t[]){1}));
    rgm_graph_builder_release(b);
}

static void patterns_are_made_once_and_shared(void **state)
{
    rgm_graph *graph = first_shop(schema), *labelled, *bare;
    rgm_pattern *first, *second, *reverse, *members;
    rgm_feature extra = {.values = INTS(5, 6)};

    (void)state;
    CHECK_OK(rgm_graph_adjacency(&first, graph, "buys", RGM_TARGET));
    CHECK_OK(rgm_graph_with_feature(&labelled, graph, RGM_NODE_SET, "user", "extra", &extra));
    CHECK_OK(rgm_graph_without_feature(&bare, graph, RGM_NODE_SET, "user", "age"));
    CHECK_OK(rgm_graph_adjacency(&second, labelled, "buys", RGM_TARGET));
    CHECK(first == second);
    CHECK_OK(rgm_graph_adjacency(&second, bare, "buys", RGM_TARGET));
    CHECK(first == second);
    CHECK_INT(1, rgm_pattern_by_row(first)->rows);
    CHECK_INT(2, rgm_pattern_by_row(first)->columns);
    CHECK_INT(1, rgm_pattern_column_of(first)[1]);
    CHECK_OK(rgm_graph_adjacency(&reverse, graph, "buys", RGM_SOURCE));
    CHECK_INT(2, rgm_pattern_by_row(reverse)->rows);
    CHECK_OK(rgm_graph_membership(&members, graph, RGM_NODE_SET, "user"));
    CHECK_INT(1, rgm_pattern_by_row(members)->rows);
    CHECK_INT(2, rgm_pattern_by_row(members)->count);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_adjacency(&first, graph, "buys", RGM_CONTEXT));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_adjacency(&first, graph, "bys", RGM_TARGET));
    CHECK(rgm_graph_feature(bare, RGM_NODE_SET, "user", "age") == NULL);
    CHECK_INTS(rgm_graph_feature(labelled, RGM_NODE_SET, "user", "extra")->values, 5, 6);
    CHECK(rgm_graph_feature(labelled, RGM_NODE_SET, "user", "age")->values ==
          rgm_graph_feature(graph, RGM_NODE_SET, "user", "age")->values);
    rgm_feature_clear(&extra);
    rgm_graph_release(graph);
    rgm_graph_release(labelled);
    rgm_graph_release(bare);
}

static void *ask(void *payload)
{
    rgm_pattern *pattern = NULL;

    rgm_graph_adjacency(&pattern, payload, "buys", RGM_TARGET);
    return pattern;
}

static void threads_get_the_same_pattern(void **state)
{
    rgm_graph *graph = first_shop(schema);
    pthread_t thread[8];
    void *pattern[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        CHECK_INT(0, pthread_create(&thread[i], NULL, ask, graph));
    for (int i = 0; i < 8; i++)
        CHECK_INT(0, pthread_join(thread[i], &pattern[i]));
    for (int i = 0; i < 8; i++)
        CHECK(pattern[i] != NULL && pattern[i] == pattern[0]);
    rgm_graph_release(graph);
}

static void one_hot_rows_become_a_pattern(void **state)
{
    rgm_schema *words = parse_schema("node_sets { key: \"p\" value { features { key: \"w\" value { "
                                     "dtype: DT_INT64 shape { dim { size: -1 } } source: "
                                     "\"one_hot:5\" } } } }");
    rgm_graph_builder *b;
    rgm_graph *graph;
    rgm_pattern *pattern, *again;

    (void)state;
    CHECK_OK(rgm_graph_builder_create(&b, words, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "p", (int64_t[]){3}));
    add_feature(b, RGM_NODE_SET, "p", "w", INTS(0, 4, 5), INTS(2, 0, 1));
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_builder_finish(&graph, b));
    CHECK_MESSAGE("node set 'p': feature 'w': item 2 lists column 5, but there are 5");
    rgm_graph_builder_release(b);
    CHECK_OK(rgm_graph_builder_create(&b, words, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "p", (int64_t[]){3}));
    add_feature(b, RGM_NODE_SET, "p", "w", INTS(0, 4, 2), INTS(2, 0, 1));
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    CHECK_OK(rgm_graph_sparse(&pattern, graph, RGM_NODE_SET, "p", "w"));
    CHECK_INT(5, rgm_pattern_by_row(pattern)->columns);
    CHECK_INT(2, rgm_pattern_by_row(pattern)->row_start[2]);
    CHECK_INT(2, rgm_pattern_by_row(pattern)->column[2]);
    CHECK_OK(rgm_graph_sparse(&again, graph, RGM_NODE_SET, "p", "w"));
    CHECK(pattern == again);
    rgm_graph_builder_release(b);
    rgm_graph_release(graph);
    rgm_schema_release(words);
}

static void self_loops_come_behind_the_edges_of_their_component(void **state)
{
    rgm_schema *s = parse_schema("node_sets { key: \"n\" } edge_sets { key: \"e\" value { source: "
                                 "\"n\" target: \"n\" features { key: \"w\" value { dtype: "
                                 "DT_FLOAT } } } }");
    rgm_tensor *source = INTS(0, 2), *target = INTS(0, 2), *degree;
    rgm_graph_builder *b;
    rgm_graph *graph, *looped;
    const float *weight;

    (void)state;
    CHECK_OK(rgm_graph_builder_create(&b, s, 2));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "n", (int64_t[]){2, 1}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_EDGE_SET, "e", (int64_t[]){1, 1}));
    CHECK_OK(rgm_graph_builder_edges(b, "e", source, target));
    add_feature(b, RGM_EDGE_SET, "e", "w", floats(1, (int64_t[]){2}, (float[]){7, 8}), NULL);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    CHECK_OK(rgm_graph_add_self_loops(&looped, graph, "e"));
    CHECK_INTS(rgm_graph_source(looped, "e"), 0, 0, 1, 2, 2); /* also where there was a loop */
    CHECK_INTS(rgm_graph_target(looped, "e"), 0, 0, 1, 2, 2);
    CHECK_INT(3, rgm_graph_sizes(looped, RGM_EDGE_SET, "e")[0]);
    weight = rgm_tensor_f32(rgm_graph_feature(looped, RGM_EDGE_SET, "e", "w")->values);
    CHECK(weight[0] == 7 && weight[1] == 0 && weight[2] == 0 && weight[3] == 8 && weight[4] == 0);
    CHECK_OK(rgm_graph_node_degree(&degree, looped, "e", RGM_TARGET));
    CHECK_INTS(degree, 2, 1, 2);
    rgm_tensor_release(degree);
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    rgm_graph_builder_release(b);
    rgm_graph_release(graph);
    rgm_graph_release(looped);
    rgm_schema_release(s);
    graph = first_shop(schema);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_add_self_loops(&looped, graph, "buys"));
    CHECK_MESSAGE("loops need one node set");
    rgm_graph_release(graph);
}

static void a_feature_that_changes_shape_changes_the_schema(void **state)
{
    rgm_graph *graph = first_shop(schema), *changed;
    rgm_feature value = {.values = INTS(1, 2)}, rag = {.values = INTS(1, 2, 3)};
    const rgm_set_schema *set;

    (void)state;
    CHECK_OK(rgm_graph_with_feature(&changed, graph, RGM_NODE_SET, "user", "age", &value));
    set = rgm_schema_find(rgm_graph_schema(changed), RGM_NODE_SET, "user");
    CHECK_INT(RGM_I64, rgm_set_feature(set, "age")->dtype);
    CHECK_TEXT("DT_INT64", rgm_set_feature(set, "age")->stored_type);
    rgm_graph_release(changed);
    rag.row_lengths[1] = INTS(3, 0);
    CHECK_OK(rgm_graph_with_feature(&changed, graph, RGM_NODE_SET, "user", "new", &rag));
    set = rgm_schema_find(rgm_graph_schema(changed), RGM_NODE_SET, "user");
    CHECK_INT(-1, rgm_set_feature(set, "new")->shape[0]);
    rgm_graph_release(changed);
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_graph_with_feature(&changed, graph, RGM_NODE_SET, "item", "x", &value));
    CHECK(changed == NULL);
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_graph_without_feature(&changed, graph, RGM_NODE_SET, "user", "agee"));
    rgm_feature_clear(&value);
    rgm_feature_clear(&rag);
    rgm_graph_release(graph);
}

static rgm_status build(rgm_graph **out)
{
    rgm_status status = RGM_OK;
    rgm_graph_builder *b = NULL;
    rgm_tensor *source = NULL, *target = NULL;
    rgm_feature age = {.values = NULL};

    *out = NULL;
    RGM_GO(rgm_tensor_create(&source, RGM_I64, 1, (int64_t[]){2}));
    RGM_GO(rgm_tensor_create(&target, RGM_I64, 1, (int64_t[]){2}));
    RGM_GO(rgm_tensor_create(&age.values, RGM_F32, 1, (int64_t[]){2}));
    RGM_GO(rgm_graph_builder_create(&b, schema, 1));
    RGM_GO(rgm_graph_builder_sizes(b, RGM_NODE_SET, "user", (int64_t[]){2}));
    RGM_GO(rgm_graph_builder_sizes(b, RGM_NODE_SET, "item", (int64_t[]){1}));
    RGM_GO(rgm_graph_builder_edges(b, "buys", source, target));
    RGM_GO(rgm_graph_builder_feature(b, RGM_NODE_SET, "user", "age", &age));
    RGM_GO(rgm_graph_builder_finish(out, b));
done:
    rgm_graph_builder_release(b);
    rgm_feature_clear(&age);
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    return status;
}

static rgm_status use(void)
{
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL, *other = NULL, *looped = NULL;
    rgm_pattern *pattern;
    rgm_tensor *mask;

    RGM_GO(build(&graph));
    RGM_GO(rgm_graph_adjacency(&pattern, graph, "buys", RGM_TARGET));
    RGM_GO(rgm_graph_membership(&pattern, graph, RGM_NODE_SET, "user"));
    RGM_GO(rgm_graph_real_mask(&mask, graph, RGM_NODE_SET, "user"));
    RGM_GO(rgm_graph_without_feature(&other, graph, RGM_NODE_SET, "user", "age"));
    RGM_GO(rgm_graph_component(&looped, graph, 0));
done:
    rgm_graph_release(graph);
    rgm_graph_release(other);
    rgm_graph_release(looped);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    rgm_graph *graph;

    (void)state;
    CHECK_EVERY_OOM(build(&graph), rgm_graph_release(graph));
    CHECK_EVERY_OOM(use(), (void)0);
}

TESTS(cmocka_unit_test_setup_teardown(a_graph_holds_what_it_was_built_of, set_up, tear_down),
      cmocka_unit_test_setup_teardown(ends_of_i32_are_taken_as_those_of_i64, set_up, tear_down),
      cmocka_unit_test_setup_teardown(sets_that_are_not_given_are_empty, set_up, tear_down),
      cmocka_unit_test_setup_teardown(dangling_negative_and_crossing_edges_are_named, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(features_that_do_not_fit_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(patterns_are_made_once_and_shared, set_up, tear_down),
      cmocka_unit_test_setup_teardown(threads_get_the_same_pattern, set_up, tear_down),
      cmocka_unit_test(one_hot_rows_become_a_pattern),
      cmocka_unit_test_setup_teardown(self_loops_come_behind_the_edges_of_their_component, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(a_feature_that_changes_shape_changes_the_schema, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(every_failing_allocation_is_survived, set_up, tear_down))
