#include "test_shop.h"

static const char text[] =
    "context { features { key: \"y\" value { dtype: DT_INT64 } } }\n"
    "node_sets { key: \"paper\" value { features { key: \"label\" value { dtype: DT_INT64 } }\n"
    "                                 features { key: \"name\" value { dtype: DT_STRING } } } }\n"
    "node_sets { key: \"author\" value { features { key: \"label\" value { dtype: DT_INT64 } } } "
    "}\n"
    "node_sets { key: \"_readout\" }\n"
    "node_sets { key: \"_shadow/writes\" }\n"
    "edge_sets { key: \"writes\" value { source: \"author\" target: \"paper\"\n"
    "  features { key: \"year\" value { dtype: DT_INT64 } } } }\n"
    "edge_sets { key: \"_readout/seed/1\" value { source: \"paper\" target: \"_readout\" } }\n"
    "edge_sets { key: \"_readout/seed/2\" value { source: \"author\" target: \"_readout\" } }\n"
    "edge_sets { key: \"_readout/link\" value { source: \"_shadow/writes\" target: \"_readout\" } "
    "}\n";

static rgm_schema *schema;

static int set_up(void **state)
{
    (void)state;
    schema = parse_schema(text);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rgm_schema_release(schema);
    return 0;
}

static void set_sizes(rgm_graph_builder *b, rgm_piece piece, const char *set, int64_t size)
{
    CHECK_OK(rgm_graph_builder_sizes(b, piece, set, &size));
}

static void set_edges(rgm_graph_builder *b, const char *set, rgm_tensor *source, rgm_tensor *target)
{
    CHECK_OK(rgm_graph_builder_edges(b, set, source, target));
    rgm_tensor_release(source);
    rgm_tensor_release(target);
}

/* 3 papers, 2 authors, 3 readouts: paper, author, paper. `targets` of both seed edge sets. */
static rgm_graph *library(const int64_t *of_papers, int64_t papers, const int64_t *of_authors,
                          int64_t authors, int64_t shadows)
{
    rgm_graph_builder *b;
    rgm_graph *graph;

    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    set_sizes(b, RGM_NODE_SET, "paper", 3);
    set_sizes(b, RGM_NODE_SET, "author", 2);
    set_sizes(b, RGM_NODE_SET, "_readout", 3);
    set_sizes(b, RGM_NODE_SET, "_shadow/writes", shadows);
    set_edges(b, "writes", INTS(0, 1, 1), INTS(0, 1, 2));
    set_edges(b, "_readout/seed/1", INTS(2, 0), ints(papers, of_papers));
    set_edges(b, "_readout/seed/2", INTS(1), ints(authors, of_authors));
    set_edges(b, "_readout/link", INTS(0, 2, 1), INTS(0, 1, 2));
    add_feature(b, RGM_CONTEXT_PIECE, NULL, "y", INTS(9), NULL);
    add_feature(b, RGM_NODE_SET, "paper", "label", INTS(10, 11, 12), NULL);
    add_feature(b, RGM_NODE_SET, "paper", "name", strings(3, (const char *[]){"p", "q", "r"}),
                NULL);
    add_feature(b, RGM_NODE_SET, "author", "label", INTS(20, 21), NULL);
    add_feature(b, RGM_EDGE_SET, "writes", "year", INTS(1990, 2000, 2010), NULL);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    return graph;
}

static void a_key_draws_from_several_node_sets(void **state)
{
    rgm_graph *graph = library((int64_t[]){0, 2}, 2, (int64_t[]){1}, 1, 3);
    rgm_feature value;

    (void)state;
    CHECK_OK(rgm_graph_check_readout(graph, "_readout"));
    CHECK_OK(rgm_graph_structured_readout(&value, graph, "seed", "label", "_readout"));
    CHECK_INTS(value.values, 12, 21, 10);
    rgm_feature_clear(&value);
    CHECK_OK(rgm_graph_structured_readout(&value, graph, "link", "year", "_readout"));
    CHECK_INTS(value.values, 1990, 2010, 2000); /* through the shadow: a feature of edges */
    rgm_feature_clear(&value);
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_graph_structured_readout(&value, graph, "sed", "label", "_readout"));
    CHECK_MESSAGE("no such readout key");
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_graph_structured_readout(&value, graph, "seed", "label", "_readout:b"));
    CHECK_MESSAGE("there is no readout");
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_graph_structured_readout(&value, graph, "seed", "name", "_readout"));
    CHECK_MESSAGE("node set 'author' has no feature 'name'");
    rgm_graph_release(graph);
}

static void check_broken(rgm_graph *graph, const char *message)
{
    rgm_feature value;

    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_check_readout(graph, "_readout"));
    CHECK_MESSAGE(message);
    if (strstr(message, "_shadow") == NULL)
        CHECK_STATUS(RGM_ERR_DATA,
                     rgm_graph_structured_readout(&value, graph, "seed", "label", "_readout"));
    rgm_graph_release(graph);
}

static void broken_readouts_are_named(void **state)
{
    (void)state;
    check_broken(library((int64_t[]){2, 0}, 2, (int64_t[]){1}, 1, 3),
                 "edge set '_readout/seed/1': targets must increase, but edge 1 has 0 after 2");
    check_broken(library((int64_t[]){0, 2}, 2, (int64_t[]){2}, 1, 3),
                 "edge set '_readout/seed/2': edge 0 points at item 2");
    check_broken(library((int64_t[]){0, 0}, 2, (int64_t[]){1}, 1, 3), "targets must increase");
    check_broken(library((int64_t[]){0, 2}, 2, (int64_t[]){0}, 1, 3), "points at item 0");
    check_broken(library((int64_t[]){0, 2}, 2, (int64_t[]){1}, 1, 4),
                 "node set '_shadow/writes' has 4 nodes in component 0, but edge set 'writes' has "
                 "3 edges");
}

static void an_item_without_an_edge_is_named(void **state)
{
    rgm_graph_builder *b;
    rgm_graph *graph;

    (void)state;
    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    set_sizes(b, RGM_NODE_SET, "paper", 3);
    set_sizes(b, RGM_NODE_SET, "_readout", 3);
    set_edges(b, "_readout/seed/1", INTS(2, 0), INTS(0, 1));
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_check_readout(graph, "_readout"));
    CHECK_MESSAGE("node set '_readout': no edge of key 'seed' points at item 2 of 3");
    rgm_graph_release(graph);
}

static void labels_move_to_the_readout_and_leave_no_trace(void **state)
{
    rgm_graph *graph = library((int64_t[]){0, 2}, 2, (int64_t[]){1}, 1, 3), *moved, *again;

    (void)state;
    CHECK_OK(rgm_graph_readout_into_feature(&moved, graph, "seed", "label", "target", true, false,
                                            "_readout"));
    CHECK_INTS(rgm_graph_feature(moved, RGM_NODE_SET, "_readout", "target")->values, 12, 21, 10);
    CHECK(rgm_graph_feature(moved, RGM_NODE_SET, "paper", "label") == NULL);
    CHECK(rgm_graph_feature(moved, RGM_NODE_SET, "author", "label") == NULL);
    CHECK(rgm_graph_feature(moved, RGM_NODE_SET, "paper", "name") != NULL);
    CHECK_OK(rgm_graph_check_complete(moved));
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_readout_into_feature(&again, moved, "link", "year",
                                                             "target", false, false, "_readout"));
    CHECK_MESSAGE("has a feature 'target' already");
    CHECK_OK(rgm_graph_readout_into_feature(&again, moved, "link", "year", "target", false, true,
                                            "_readout"));
    CHECK_INTS(rgm_graph_feature(again, RGM_NODE_SET, "_readout", "target")->values, 1990, 2010,
               2000);
    rgm_graph_release(again);
    rgm_graph_release(moved);
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_graph_context_into_readout(&moved, graph, "y", NULL, true, "_readout"));
    CHECK_MESSAGE("has 3 items in component 0, must have one");
    CHECK_OK(rgm_graph_context_into_readout(&moved, graph, "y", NULL, true, "_readout:whole"));
    CHECK_INTS(rgm_graph_feature(moved, RGM_NODE_SET, "_readout:whole", "y")->values, 9);
    CHECK_INT(0, rgm_schema_set(rgm_graph_schema(moved), 0)->feature_count);
    rgm_graph_release(moved);
    rgm_graph_release(graph);
}

static void first_nodes_become_readouts(void **state)
{
    rgm_schema *shop = parse_schema(shop_text);
    rgm_graph *a = first_shop(shop), *b = second_shop(shop), *merged, *rooted, *moved, *none;
    rgm_graph_builder *builder;

    (void)state;
    CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){a, b, a}, 3));
    CHECK_OK(rgm_graph_readout_from_first_node(&rooted, merged, "seed", "user", "_readout"));
    CHECK_INTS(rgm_graph_source(rooted, "_readout/seed"), 0, 2, 3);
    CHECK_INTS(rgm_graph_target(rooted, "_readout/seed"), 0, 1, 2);
    CHECK_OK(rgm_graph_check_readout(rooted, "_readout"));
    CHECK_OK(rgm_graph_readout_into_feature(&moved, rooted, "seed", "tags", NULL, true, false,
                                            "_readout")); /* ragged strings too */
    CHECK_INTS(rgm_graph_feature(moved, RGM_NODE_SET, "_readout", "tags")->row_lengths[1], 2, 2, 2);
    CHECK_INT('d',
              rgm_tensor_str(rgm_graph_feature(moved, RGM_NODE_SET, "_readout", "tags")->values)[2]
                  .data[0]);
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_graph_readout_from_first_node(&none, rooted, "seed", "item", "_readout"));
    CHECK_MESSAGE("there is an edge set '_readout/seed' already");
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_graph_readout_from_first_node(&none, merged, "seed", "user", "readout"));
    rgm_graph_release(rooted);
    rgm_graph_release(moved);
    rgm_graph_release(merged);
    CHECK_OK(rgm_graph_builder_create(&builder, shop, 1));
    CHECK_OK(rgm_graph_builder_finish(&merged, builder));
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_graph_readout_from_first_node(&none, merged, "seed", "user", "_readout"));
    CHECK_MESSAGE("node set 'user': component 0 has no nodes, so no first one");
    rgm_graph_builder_release(builder);
    rgm_graph_release(merged);
    rgm_graph_release(a);
    rgm_graph_release(b);
    rgm_schema_release(shop);
}

static void padded_readouts_need_no_edge_and_have_no_weight(void **state)
{
    rgm_schema *shop = parse_schema(shop_text);
    rgm_graph *a = first_shop(shop), *rooted, *padded, *late;
    rgm_size_constraints *limit;
    rgm_feature value;
    rgm_tensor *mask;

    (void)state;
    CHECK_OK(rgm_graph_readout_from_first_node(&rooted, a, "seed", "user", "_readout"));
    CHECK_OK(rgm_size_constraints_create(&limit, rgm_graph_schema(rooted)));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_CONTEXT_PIECE, NULL, 3, 0));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_NODE_SET, "user", 5, 0));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_NODE_SET, "item", 5, 0));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_NODE_SET, "_readout", 4, 1));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_EDGE_SET, "buys", 5, 0));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_EDGE_SET, "_readout/seed", 2, 0));
    CHECK_OK(rgm_graph_pad(&padded, NULL, rooted, limit));
    CHECK_OK(rgm_graph_check_readout(padded, "_readout"));
    CHECK_OK(rgm_graph_structured_readout(&value, padded, "seed", "age", "_readout"));
    CHECK_CLOSE(31, rgm_tensor_at(value.values, 0), 0, 0);
    CHECK_CLOSE(0, rgm_tensor_at(value.values, 3), 0, 0);
    rgm_feature_clear(&value);
    CHECK_OK(
        rgm_graph_real_mask(&mask, padded, RGM_NODE_SET, "_readout")); /* 4 items, 3 components */
    CHECK_INT(4, rgm_tensor_count(mask));
    CHECK(rgm_tensor_f32(mask)[0] == 1 && rgm_tensor_f32(mask)[1] == 0 &&
          rgm_tensor_f32(mask)[3] == 0);
    rgm_graph_release(padded);
    rgm_size_constraints_release(limit);
    CHECK_OK(rgm_size_constraints_create(&limit, shop)); /* readouts added after padding */
    CHECK_OK(rgm_size_constraints_set(limit, RGM_CONTEXT_PIECE, NULL, 3, 0));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_NODE_SET, "user", 5, 0));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_NODE_SET, "item", 1, 0));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_EDGE_SET, "buys", 2, 0));
    CHECK_OK(rgm_graph_pad(&padded, NULL, a, limit));
    CHECK_OK(rgm_graph_readout_from_first_node(&late, padded, "seed", "user", "_readout"));
    CHECK_OK(rgm_graph_check_readout(late, "_readout"));
    CHECK_INT(1, rgm_graph_real_total(late, RGM_NODE_SET, "_readout"));
    rgm_graph_release(late);
    rgm_graph_release(padded);
    rgm_size_constraints_release(limit);
    rgm_graph_release(a);
    rgm_graph_release(rooted);
    rgm_schema_release(shop);
}

static void one_graph_is_asked_about_different_nodes(void **state)
{
    rgm_schema *papers =
        parse_schema("node_sets { key: \"paper\" value { features { key: \"label\" value { dtype: "
                     "DT_INT64 } } } }\n"
                     "edge_sets { key: \"cites\" value { source: \"paper\" target: \"paper\" } }");
    rgm_tensor *source = INTS(0, 1), *target = INTS(1, 2), *train = INTS(2, 0), *valid = INTS(1),
               *wrong = INTS(0, 3);
    rgm_graph_builder *b;
    rgm_graph *graph, *a, *c, *d;
    rgm_pattern *p, *q;

    (void)state;
    CHECK_OK(rgm_graph_builder_create(&b, papers, 1));
    set_sizes(b, RGM_NODE_SET, "paper", 3);
    CHECK_OK(rgm_graph_builder_edges(b, "cites", source, target));
    add_feature(b, RGM_NODE_SET, "paper", "label", INTS(10, 11, 12), NULL);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    CHECK_OK(rgm_graph_with_readout(&a, graph, "_readout", "seed", "paper", train, "label"));
    CHECK_OK(rgm_graph_with_readout(&c, graph, "_readout", "seed", "paper", valid, "label"));
    CHECK_OK(rgm_graph_with_readout(&d, a, "_readout", "seed", "paper", valid, "label"));
    CHECK_INTS(rgm_graph_feature(a, RGM_NODE_SET, "_readout", "label")->values, 12, 10);
    CHECK_INTS(rgm_graph_feature(c, RGM_NODE_SET, "_readout", "label")->values, 11);
    CHECK_OK(rgm_graph_check_readout(a, "_readout"));
    CHECK(rgm_graph_schema(d) == rgm_graph_schema(a)); /* asked again: the same schema */
    check_same_graph(c, d);
    CHECK_OK(rgm_graph_adjacency(&p, a, "cites", RGM_TARGET));
    CHECK_OK(rgm_graph_adjacency(&q, d, "cites", RGM_TARGET));
    CHECK(p == q);
    rgm_graph_release(d);
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_graph_with_readout(&d, graph, "_readout", "seed", "paper", wrong, NULL));
    CHECK_MESSAGE("readout 1 is of node 3, but node set 'paper' has 3 nodes");
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_graph_with_readout(&d, a, "_readout", "other", "paper", valid, NULL));
    CHECK_EVERY_OOM(rgm_graph_with_readout(&d, graph, "_readout", "seed", "paper", train, "label"),
                    rgm_graph_release(d));
    rgm_graph_release(a);
    rgm_graph_release(c);
    rgm_graph_release(graph);
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    rgm_tensor_release(train);
    rgm_tensor_release(valid);
    rgm_tensor_release(wrong);
    rgm_schema_release(papers);
}

static void every_failing_allocation_is_survived(void **state)
{
    rgm_graph *graph = library((int64_t[]){0, 2}, 2, (int64_t[]){1}, 1, 3), *out;

    (void)state;
    CHECK_EVERY_OOM(
        rgm_graph_readout_into_feature(&out, graph, "seed", "label", "t", true, false, "_readout"),
        rgm_graph_release(out));
    CHECK_EVERY_OOM(
        rgm_graph_readout_from_first_node(&out, graph, "first", "paper", "_readout:first"),
        rgm_graph_release(out));
    CHECK_EVERY_OOM(rgm_graph_context_into_readout(&out, graph, "y", "z", true, "_readout:whole"),
                    rgm_graph_release(out));
    rgm_graph_release(graph);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
TESTS(TEST(a_key_draws_from_several_node_sets), TEST(broken_readouts_are_named),
      TEST(an_item_without_an_edge_is_named), TEST(labels_move_to_the_readout_and_leave_no_trace),
      TEST(first_nodes_become_readouts), TEST(padded_readouts_need_no_edge_and_have_no_weight),
      TEST(one_graph_is_asked_about_different_nodes), TEST(every_failing_allocation_is_survived))
