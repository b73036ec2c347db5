/* Graphs made of graphs, by brute force on random ones; positions against spectra that are known.
 */
#include <math.h>

#include "edit.h"
#include "test_shop.h"

static const char text[] =
    "node_sets { key: \"n\" value {\n"
    "  features { key: \"id\" value { dtype: DT_INT64 } }\n"
    "  features { key: \"words\" value { dtype: DT_STRING shape { dim { size: -1 } } } } } }\n"
    "node_sets { key: \"m\" value { features { key: \"id\" value { dtype: DT_INT64 } } } }\n"
    "node_sets { key: \"_readout\" value { } }\n"
    "edge_sets { key: \"e\" value { source: \"n\" target: \"n\"\n"
    "  features { key: \"id\" value { dtype: DT_INT64 } }\n"
    "  features { key: \"words\" value { dtype: DT_STRING shape { dim { size: -1 } } } } } }\n"
    "edge_sets { key: \"x\" value { source: \"n\" target: \"m\"\n"
    "  features { key: \"id\" value { dtype: DT_INT64 } } } }\n"
    "edge_sets { key: \"_readout/seed\" value { source: \"n\" target: \"_readout\" } }\n";

enum { COMPONENTS = 5 };
static const int64_t nodes_of[COMPONENTS] = {4, 0, 7, 1, 5},
                     others_of[COMPONENTS] = {2, 1, 0, 0, 3};

/* Item i of a set has id i and the words "i.0", "i.1", ...: i modulo 3 of them. */
static void add_items(rgm_graph_builder *b, rgm_piece piece, const char *set, int64_t count,
                      bool words)
{
    rgm_feature id = {0}, lists = {0};
    rgm_str parts[512];
    char texts[512][16];
    int64_t n = 0;

    CHECK_OK(rgm_tensor_create(&id.values, RGM_I64, 1, &count));
    CHECK_OK(rgm_tensor_create(&lists.row_lengths[1], RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++) {
        rgm_tensor_i64(id.values)[i] = i;
        rgm_tensor_i64(lists.row_lengths[1])[i] = i % 3;
        for (int64_t k = 0; k < i % 3; k++, n++) {
            parts[n].size = snprintf(texts[n], sizeof texts[n], "%d.%d", (int)i, (int)k);
            parts[n].data = texts[n];
        }
    }
    CHECK_OK(rgm_tensor_create_from(&lists.values, RGM_STRING, 1, &n, parts));
    CHECK_OK(rgm_graph_builder_feature(b, piece, set, "id", &id));
    if (words)
        CHECK_OK(rgm_graph_builder_feature(b, piece, set, "words", &lists));
    rgm_feature_clear(&id);
    rgm_feature_clear(&lists);
}

/* `each` edges a component where it has nodes; with repeats and loops. */
static void add_edges(rgm_graph_builder *b, const char *set, const int64_t *sources,
                      const int64_t *targets, int64_t each, const rgm_rng *rng)
{
    int64_t sizes[COMPONENTS] = {0}, count = 0, first[2] = {0, 0}, source[256], target[256];
    rgm_tensor *ends[2];

    for (int c = 0; c < COMPONENTS; c++) {
        sizes[c] = sources[c] > 0 && targets[c] > 0 ? each + c : 0;
        for (int64_t i = 0; i < sizes[c]; i++, count++) {
            uint64_t at = (uint64_t)count * 2;

            source[count] = first[0] + (int64_t)rgm_rng_below(rng, at, (uint64_t)sources[c]);
            target[count] = first[1] + (int64_t)rgm_rng_below(rng, at + 1, (uint64_t)targets[c]);
        }
        first[0] += sources[c];
        first[1] += targets[c];
    }
    ends[0] = ints(count, source);
    ends[1] = ints(count, target);
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_EDGE_SET, set, sizes));
    CHECK_OK(rgm_graph_builder_edges(b, set, ends[0], ends[1]));
    add_items(b, RGM_EDGE_SET, set, count, strcmp(set, "e") == 0);
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
}

/* Five components, one without nodes; the readouts read the last node of each. */
static rgm_graph *random_graph(uint64_t seed)
{
    const rgm_rng rng = rgm_rng_stream(seed, "graph", 0), other = rgm_rng_stream(seed, "x", 0);
    static const int64_t asked[COMPONENTS] = {1, 0, 1, 1, 1};
    rgm_schema *schema = parse_schema(text);
    rgm_tensor *source = INTS(3, 10, 11, 16), *target = INTS(0, 1, 2, 3);
    rgm_graph_builder *b;
    rgm_graph *graph;

    CHECK_OK(rgm_graph_builder_create(&b, schema, COMPONENTS));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "n", nodes_of));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "m", others_of));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "_readout", asked));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_EDGE_SET, "_readout/seed", asked));
    CHECK_OK(rgm_graph_builder_edges(b, "_readout/seed", source, target));
    add_items(b, RGM_NODE_SET, "n", 17, true);
    add_items(b, RGM_NODE_SET, "m", 6, false);
    add_edges(b, "e", nodes_of, nodes_of, 9, &rng);
    add_edges(b, "x", nodes_of, others_of, 4, &other);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    rgm_schema_release(schema);
    return graph;
}

static const int64_t *ids(const rgm_graph *graph, rgm_piece piece, const char *set)
{
    return rgm_tensor_i64(rgm_graph_feature(graph, piece, set, "id")->values);
}
static const int64_t *ends(const rgm_graph *graph, const char *set, rgm_tag tag)
{
    return rgm_tensor_i64(tag == RGM_SOURCE ? rgm_graph_source(graph, set)
                                            : rgm_graph_target(graph, set));
}

/* Every item's words are those of its id. */
static void check_words(const rgm_graph *graph, rgm_piece piece, const char *set)
{
    const rgm_feature *words = rgm_graph_feature(graph, piece, set, "words");
    const int64_t *id = ids(graph, piece, set), count = rgm_graph_total(graph, piece, set);
    int64_t n = 0;
    char expected[32];

    CHECK_INT(count, rgm_tensor_count(words->row_lengths[1]));
    for (int64_t i = 0; i < count; i++) {
        CHECK_INT(id[i] % 3, rgm_tensor_i64(words->row_lengths[1])[i]);
        for (int64_t k = 0; k < id[i] % 3; k++, n++) {
            rgm_str got = rgm_tensor_str(words->values)[n];

            snprintf(expected, sizeof expected, "%d.%d", (int)id[i], (int)k);
            CHECK_INT(strlen(expected), got.size);
            CHECK(memcmp(expected, got.data, (size_t)got.size) == 0);
        }
    }
    CHECK_INT(n, rgm_tensor_count(words->values));
}

/* Which component an item is of. */
static int component_of(const rgm_graph *graph, rgm_piece piece, const char *set, int64_t item)
{
    const int64_t *sizes = rgm_graph_sizes(graph, piece, set);
    int c = 0;

    for (; item >= sizes[c]; c++)
        item -= sizes[c];
    return c;
}

/* ---- edges ---------------------------------------------------------------------------------- */

static void reversed_edges_are_a_set_of_their_own(void **state)
{
    rgm_graph *graph = random_graph(1), *made;

    (void)state;
    CHECK_OK(rgm_graph_reverse_edges(&made, graph, "x", NULL));
    CHECK_TEXT("m", rgm_schema_find(rgm_graph_schema(made), RGM_EDGE_SET, "x_reversed")->source);
    CHECK(rgm_tensor_equal(rgm_graph_source(graph, "x"), rgm_graph_target(made, "x_reversed")));
    CHECK(rgm_tensor_equal(rgm_graph_target(graph, "x"), rgm_graph_source(made, "x_reversed")));
    check_same_feature(rgm_graph_feature(graph, RGM_EDGE_SET, "x", "id"),
                       rgm_graph_feature(made, RGM_EDGE_SET, "x_reversed", "id"));
    CHECK(rgm_graph_source(made, "x") == rgm_graph_source(graph, "x")); /* shared, not copied */
    rgm_graph_release(made);
    CHECK_OK(rgm_graph_reverse_edges(&made, graph, "e", "back"));
    check_words(made, RGM_EDGE_SET, "back");
    rgm_graph_release(made);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_reverse_edges(&made, graph, "e", "x"));
    CHECK_MESSAGE("there is an edge set 'x' already");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_reverse_edges(&made, graph, "ee", NULL));
    rgm_graph_release(graph);
}

static int64_t count_edges(const rgm_graph *graph, const char *set, int64_t source, int64_t target)
{
    int64_t count = 0;

    for (int64_t e = 0; e < rgm_graph_total(graph, RGM_EDGE_SET, set); e++)
        count +=
            ends(graph, set, RGM_SOURCE)[e] == source && ends(graph, set, RGM_TARGET)[e] == target;
    return count;
}

static void undirected_graphs_have_every_edge_both_ways(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        rgm_graph *graph = random_graph(seed), *both, *merged;

        CHECK_OK(rgm_graph_undirected(&both, graph, "e", false));
        CHECK_OK(rgm_graph_undirected(&merged, graph, "e", true));
        for (int64_t s = 0; s < 17; s++)
            for (int64_t t = 0; t < 17; t++) {
                int64_t there = count_edges(graph, "e", s, t), back = count_edges(graph, "e", t, s);

                CHECK_INT(there + back, count_edges(both, "e", s, t));
                CHECK_INT(there + back > 0, count_edges(merged, "e", s, t));
            }
        for (int c = 0; c < COMPONENTS; c++)
            CHECK_INT(2 * rgm_graph_sizes(graph, RGM_EDGE_SET, "e")[c],
                      rgm_graph_sizes(both, RGM_EDGE_SET, "e")[c]);
        check_words(both, RGM_EDGE_SET, "e");
        check_words(merged, RGM_EDGE_SET, "e");
        for (int64_t e = 0; e < rgm_graph_total(merged, RGM_EDGE_SET, "e"); e++) {
            int64_t id = ids(merged, RGM_EDGE_SET, "e")[e], s = ends(merged, "e", RGM_SOURCE)[e];

            CHECK(s == ends(graph, "e", RGM_SOURCE)[id] || s == ends(graph, "e", RGM_TARGET)[id]);
            CHECK_INT(component_of(graph, RGM_EDGE_SET, "e", id),
                      component_of(merged, RGM_EDGE_SET, "e", e));
        }
        rgm_graph_release(both);
        rgm_graph_release(merged);
        CHECK_STATUS(RGM_ERR_ARG, rgm_graph_undirected(&both, graph, "x", true));
        rgm_graph_release(graph);
    }
}

/* Every edge of `of` is in `a` or in `b`, with its ends and what else it has. */
static void masked_edges_are_kept_apart(void **state)
{
    rgm_graph *graph = random_graph(3), *made;
    int64_t count = rgm_graph_total(graph, RGM_EDGE_SET, "e"), seen = 0;
    rgm_tensor *mask;
    const char *const sets[] = {"e", "_masked/e"};

    (void)state;
    CHECK_OK(rgm_tensor_create(&mask, RGM_BOOL, 1, &count));
    for (int64_t e = 0; e < count; e++)
        rgm_tensor_bool(mask)[e] = e % 3 == 1;
    CHECK_OK(rgm_graph_mask_edges(&made, graph, "e", mask, NULL));
    for (int k = 0; k < 2; k++) {
        for (int64_t e = 0; e < rgm_graph_total(made, RGM_EDGE_SET, sets[k]); e++, seen++) {
            int64_t id = ids(made, RGM_EDGE_SET, sets[k])[e];

            CHECK_INT(k, id % 3 == 1);
            CHECK_INT(ends(graph, "e", RGM_SOURCE)[id], ends(made, sets[k], RGM_SOURCE)[e]);
            CHECK_INT(ends(graph, "e", RGM_TARGET)[id], ends(made, sets[k], RGM_TARGET)[e]);
            CHECK_INT(component_of(graph, RGM_EDGE_SET, "e", id),
                      component_of(made, RGM_EDGE_SET, sets[k], e));
        }
        check_words(made, RGM_EDGE_SET, sets[k]);
    }
    CHECK_INT(count, seen);
    rgm_graph_release(made);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_mask_edges(&made, graph, "x", mask, NULL));
    CHECK_MESSAGE("must be bool[");
    CHECK_EVERY_OOM(rgm_graph_mask_edges(&made, graph, "e", mask, NULL), rgm_graph_release(made));
    rgm_tensor_release(mask);
    rgm_graph_release(graph);
}

static void dropped_edges_are_drawn(void **state)
{
    rgm_graph *graph = random_graph(4), *made, *again;
    const rgm_rng rng = rgm_rng_stream(7, "drop", 0);
    int64_t count = rgm_graph_total(graph, RGM_EDGE_SET, "e"), total = 0;

    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        rgm_rng other = rgm_rng_stream(i, "drop", 0);

        CHECK_OK(rgm_graph_drop_edges(&made, graph, "e", 0.25, &other));
        total += rgm_graph_total(made, RGM_EDGE_SET, "e");
        check_words(made, RGM_EDGE_SET, "e");
        rgm_graph_release(made);
    }
    CHECK_CLOSE((double)total / (double)(200 * count), 0.75, 0, 0.02);
    CHECK_OK(rgm_graph_drop_edges(&made, graph, "e", 0.5, &rng));
    CHECK_OK(rgm_graph_drop_edges(&again, graph, "e", 0.5, &rng));
    check_same_graph(made, again);
    rgm_graph_release(made);
    rgm_graph_release(again);
    CHECK_OK(rgm_graph_drop_edges(&made, graph, "e", 1, &rng));
    CHECK_INT(0, rgm_graph_total(made, RGM_EDGE_SET, "e"));
    rgm_graph_release(made);
    CHECK_OK(rgm_graph_drop_edges(&made, graph, "e", 0, &rng));
    check_same_graph(graph, made);
    rgm_graph_release(made);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_drop_edges(&made, graph, "e", 1.5, &rng));
    rgm_graph_release(graph);
}

static void line_graphs_go_on_where_edges_end(void **state)
{
    (void)state;
    for (int backtrack = 0; backtrack < 2; backtrack++) {
        rgm_graph *graph = random_graph(5), *made;
        int64_t count = rgm_graph_total(graph, RGM_EDGE_SET, "e"), expected = 0;
        const int64_t *s = ends(graph, "e", RGM_SOURCE), *t = ends(graph, "e", RGM_TARGET);

        CHECK_OK(rgm_graph_add_line_graph(&made, graph, "e", "line", backtrack));
        CHECK_INT(count, rgm_graph_total(made, RGM_NODE_SET, "line"));
        check_words(made, RGM_NODE_SET, "line");
        for (int64_t a = 0; a < count; a++)
            for (int64_t b = 0; b < count; b++) {
                bool next = t[a] == s[b] && (backtrack || t[b] != s[a]);

                expected += next;
                CHECK_INT(next, count_edges(made, "line_next", a, b));
            }
        CHECK_INT(expected, rgm_graph_total(made, RGM_EDGE_SET, "line_next"));
        rgm_graph_release(made);
        CHECK_STATUS(RGM_ERR_ARG, rgm_graph_add_line_graph(&made, graph, "e", "m", backtrack));
        CHECK_EVERY_OOM(rgm_graph_add_line_graph(&made, graph, "e", NULL, backtrack),
                        rgm_graph_release(made));
        rgm_graph_release(graph);
    }
}

static void graphs_of_one_data_set_share_a_schema(void **state)
{
    rgm_graph *graph = random_graph(5), *other = random_graph(6), *made;
    rgm_schema *schema = (rgm_schema *)rgm_graph_schema(graph);

    (void)state;
    CHECK(rgm_graph_schema(other) != schema);
    CHECK_OK(rgm_graph_with_schema(&made, other, schema));
    CHECK(rgm_graph_schema(made) == schema);
    check_same_graph(other, made);
    rgm_graph_release(made);
    rgm_graph_release(other);
    CHECK_OK(rgm_graph_reverse_edges(&other, graph, "e", NULL));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_with_schema(&made, other, schema));
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_graph_with_schema(&made, graph, (rgm_schema *)rgm_graph_schema(other)));
    rgm_graph_release(other);
    rgm_graph_release(graph);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Edges of a set of `made` join the nodes, by id, that they join in `graph`. */
static void check_ends_by_id(const rgm_graph *graph, const rgm_graph *made, const char *set)
{
    const char *target = strcmp(set, "x") == 0 ? "m" : "n";

    for (int64_t e = 0; e < rgm_graph_total(made, RGM_EDGE_SET, set); e++) {
        int64_t id = ids(made, RGM_EDGE_SET, set)[e];

        CHECK_INT(ends(graph, set, RGM_SOURCE)[id],
                  ids(made, RGM_NODE_SET, "n")[ends(made, set, RGM_SOURCE)[e]]);
        CHECK_INT(ends(graph, set, RGM_TARGET)[id],
                  ids(made, RGM_NODE_SET, target)[ends(made, set, RGM_TARGET)[e]]);
    }
}

/* The readouts still read the last node of each component. */
static void check_readouts(const rgm_graph *made)
{
    static const int64_t read[] = {3, 10, 11, 16};

    CHECK_INT(4, rgm_graph_total(made, RGM_EDGE_SET, "_readout/seed"));
    for (int i = 0; i < 4; i++)
        CHECK_INT(read[i],
                  ids(made, RGM_NODE_SET, "n")[ends(made, "_readout/seed", RGM_SOURCE)[i]]);
}

static void dropped_nodes_take_their_edges_along(void **state)
{
    int64_t left = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        rgm_rng rng = rgm_rng_stream(seed, "nodes", 0);
        rgm_graph *graph = random_graph(seed), *made, *other;
        bool stays[17] = {false};
        int64_t expected[2] = {0, 0};

        CHECK_OK(rgm_graph_drop_nodes(&made, graph, "n", 0.5, seed % 2 == 0, &rng));
        for (int64_t i = 0; i < rgm_graph_total(made, RGM_NODE_SET, "n"); i++)
            stays[ids(made, RGM_NODE_SET, "n")[i]] = true;
        for (int64_t e = 0; e < rgm_graph_total(graph, RGM_EDGE_SET, "e"); e++)
            expected[0] +=
                stays[ends(graph, "e", RGM_SOURCE)[e]] && stays[ends(graph, "e", RGM_TARGET)[e]];
        for (int64_t e = 0; e < rgm_graph_total(graph, RGM_EDGE_SET, "x"); e++)
            expected[1] += stays[ends(graph, "x", RGM_SOURCE)[e]];
        CHECK_INT(expected[0], rgm_graph_total(made, RGM_EDGE_SET, "e"));
        CHECK_INT(expected[1], rgm_graph_total(made, RGM_EDGE_SET, "x"));
        check_ends_by_id(graph, made, "e");
        check_ends_by_id(graph, made, "x");
        check_words(made, RGM_NODE_SET, "n");
        check_words(made, RGM_EDGE_SET, "e");
        check_readouts(made);
        CHECK(seed % 2 == 1 || (stays[0] && stays[4] && stays[12]));
        left += rgm_graph_total(made, RGM_NODE_SET, "n");
        if (seed == 0)
            CHECK_EVERY_OOM(rgm_graph_drop_nodes(&other, graph, "n", 0.5, true, &rng),
                            rgm_graph_release(other));
        rgm_graph_release(made);
        rgm_graph_release(graph);
    }
    /* 4 of 17 are read, 2 or 3 more are first of two or of one: the others are drawn */
    CHECK(left > 900 && left < 1250);
}

static void shuffled_nodes_are_the_same_graph(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        rgm_rng rng = rgm_rng_stream(seed, "order", 0);
        rgm_graph *graph = random_graph(seed), *made;
        bool seen[17] = {false};

        CHECK_OK(rgm_graph_shuffle_nodes(&made, graph, "n", seed % 2 == 0, &rng));
        CHECK(rgm_tensor_equal(rgm_graph_feature(graph, RGM_EDGE_SET, "e", "id")->values,
                               rgm_graph_feature(made, RGM_EDGE_SET, "e", "id")->values));
        for (int64_t i = 0; i < 17; i++) {
            int64_t id = ids(made, RGM_NODE_SET, "n")[i];

            CHECK(!seen[id]);
            seen[id] = true;
            CHECK_INT(component_of(graph, RGM_NODE_SET, "n", i),
                      component_of(graph, RGM_NODE_SET, "n", id));
        }
        if (seed % 2 == 0)
            CHECK(ids(made, RGM_NODE_SET, "n")[4] == 4 && ids(made, RGM_NODE_SET, "n")[12] == 12);
        check_ends_by_id(graph, made, "e");
        check_ends_by_id(graph, made, "x");
        check_words(made, RGM_NODE_SET, "n");
        check_readouts(made);
        rgm_graph_release(made);
        rgm_graph_release(graph);
    }
}

static void shuffled_features_are_those_of_others(void **state)
{
    rgm_rng rng = rgm_rng_stream(3, "features", 0);
    rgm_graph *graph = random_graph(6), *made;
    bool seen[17] = {false};
    int64_t moved = 0;

    (void)state;
    CHECK_OK(rgm_graph_shuffle_features(&made, graph, RGM_NODE_SET, "n", NULL, &rng));
    CHECK(rgm_graph_source(made, "e") == rgm_graph_source(graph, "e"));
    check_words(made, RGM_NODE_SET, "n"); /* all in one order */
    for (int64_t i = 0; i < 17; i++) {
        seen[ids(made, RGM_NODE_SET, "n")[i]] = true;
        moved += ids(made, RGM_NODE_SET, "n")[i] != i;
    }
    for (int64_t i = 0; i < 17; i++)
        CHECK(seen[i]);
    CHECK(moved > 10);
    rgm_graph_release(made);
    CHECK_OK(rgm_graph_shuffle_features(&made, graph, RGM_NODE_SET, "n", "id", &rng));
    check_same_feature(rgm_graph_feature(graph, RGM_NODE_SET, "n", "words"),
                       rgm_graph_feature(made, RGM_NODE_SET, "n", "words"));
    rgm_graph_release(made);
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_graph_shuffle_features(&made, graph, RGM_NODE_SET, "n", "idd", &rng));
    CHECK_EVERY_OOM(rgm_graph_shuffle_features(&made, graph, RGM_NODE_SET, "n", NULL, &rng),
                    rgm_graph_release(made));
    rgm_graph_release(graph);
}

static void a_virtual_node_hears_all_of_its_component(void **state)
{
    rgm_graph *graph = random_graph(8), *made;

    (void)state;
    CHECK_OK(rgm_graph_add_virtual_node(&made, graph, "n", "all"));
    CHECK_INT(COMPONENTS, rgm_graph_total(made, RGM_NODE_SET, "all"));
    CHECK_INT(17, rgm_graph_total(made, RGM_EDGE_SET, "n_to_all"));
    for (int64_t i = 0; i < 17; i++) {
        int c = component_of(graph, RGM_NODE_SET, "n", i);

        CHECK_INT(1, count_edges(made, "n_to_all", i, c));
        CHECK_INT(1, count_edges(made, "all_to_n", c, i));
    }
    for (int64_t c = 0; c < COMPONENTS; c++)
        CHECK(rgm_tensor_f32(rgm_graph_feature(made, RGM_NODE_SET, "all", "one")->values)[c] == 1);
    rgm_graph_release(made);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_add_virtual_node(&made, graph, "n", "m"));
    CHECK_EVERY_OOM(rgm_graph_add_virtual_node(&made, graph, "n", "all"), rgm_graph_release(made));
    rgm_graph_release(graph);
}

static void complete_sets_have_all_pairs_of_a_component(void **state)
{
    rgm_graph *graph = random_graph(8), *made;
    int64_t expected = 0;

    (void)state;
    CHECK_OK(rgm_graph_add_complete(&made, graph, "n", NULL));
    for (int64_t i = 0; i < 17; i++)
        for (int64_t k = 0; k < 17; k++) {
            bool together = component_of(graph, RGM_NODE_SET, "n", i) ==
                            component_of(graph, RGM_NODE_SET, "n", k);

            expected += together;
            CHECK_INT(together, count_edges(made, "n_complete", i, k));
        }
    CHECK_INT(expected, rgm_graph_total(made, RGM_EDGE_SET, "n_complete"));
    rgm_graph_release(made);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_add_complete(&made, graph, "n", "x"));
    CHECK_EVERY_OOM(rgm_graph_add_complete(&made, graph, "n", NULL), rgm_graph_release(made));
    rgm_graph_release(graph);
}

/* ---- positions ------------------------------------------------------------------------------ */

static void walks_come_back_as_matrix_powers_say(void **state)
{
    enum { N = 17, STEPS = 6 };
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        rgm_graph *graph = random_graph(seed);
        double p[N][N] = {{0}}, power[N][N] = {{0}}, next[N][N];
        rgm_tensor *walk;

        for (int64_t e = 0; e < rgm_graph_total(graph, RGM_EDGE_SET, "e"); e++)
            p[ends(graph, "e", RGM_SOURCE)[e]][ends(graph, "e", RGM_TARGET)[e]] += 1;
        for (int i = 0; i < N; i++) {
            double sum = 0;
            for (int j = 0; j < N; j++)
                sum += p[i][j];
            for (int j = 0; j < N && sum > 0; j++)
                p[i][j] /= sum;
            power[i][i] = 1;
        }
        CHECK_OK(rgm_graph_random_walk(&walk, graph, "e", STEPS));
        for (int k = 0; k < STEPS; k++) {
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
                    next[i][j] = 0;
                    for (int m = 0; m < N; m++)
                        next[i][j] += power[i][m] * p[m][j];
                }
            memcpy(power, next, sizeof power);
            for (int i = 0; i < N; i++)
                CHECK_CLOSE(rgm_tensor_f32(walk)[i * STEPS + k], power[i][i], 1e-6, 1e-7);
        }
        rgm_tensor_release(walk);
        CHECK_STATUS(RGM_ERR_ARG, rgm_graph_random_walk(&walk, graph, "x", 2));
        CHECK_STATUS(RGM_ERR_ARG, rgm_graph_random_walk(&walk, graph, "e", 0));
        rgm_graph_release(graph);
    }
}

typedef enum kind { PATH, CYCLE, COMPLETE } kind;

static void simple_graph(rgmi_laplacian_graph *g, int64_t n, kind of)
{
    int64_t count = 0;

    g->n = n;
    CHECK_OK(RGM_NEW(g->start, n + 1));
    CHECK_OK(RGM_NEW(g->node, n * n));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++)
            if (j != i && (of == COMPLETE || j == i - 1 || j == i + 1 ||
                           (of == CYCLE && (j + n - i) % n % (n - 2) == 1)))
                g->node[count++] = j;
        g->start[i + 1] = count;
    }
}

/* Ascending eigenvalues above 0: paths 1 - cos(pi k / (n - 1)), cycles 1 - cos(2 pi k / n) twice
 * each, complete graphs n / (n - 1) always (Chung 1997, examples 1.1 to 1.4). */
static double known(kind of, int64_t n, int64_t k)
{
    const double pi = acos(-1);

    if (of == COMPLETE)
        return (double)n / (double)(n - 1);
    return 1 - cos(of == PATH ? pi * (double)(k + 1) / (double)(n - 1)
                              : 2 * pi * (double)(k / 2 + 1) / (double)n);
}

/* Each is an eigenvector of length 1, and orthogonal to those before. */
static void check_vectors(const rgmi_laplacian_graph *g, const double *values,
                          const double *vectors, int64_t found)
{
    for (int64_t k = 0; k < found; k++) {
        const double *x = vectors + k * g->n;

        for (int64_t i = 0; i < g->n; i++) {
            double y = x[i], di = (double)(g->start[i + 1] - g->start[i]);

            for (int64_t e = g->start[i]; e < g->start[i + 1]; e++) {
                int64_t j = g->node[e];
                y -= x[j] / sqrt(di * (double)(g->start[j + 1] - g->start[j]));
            }
            CHECK_CLOSE(y, values[k] * x[i], 0, 2e-5);
        }
        for (int64_t j = 0; j <= k; j++) {
            double sum = 0;
            for (int64_t i = 0; i < g->n; i++)
                sum += x[i] * vectors[j * g->n + i];
            CHECK_CLOSE(sum, j == k, 0, 1e-6);
        }
    }
}

/* `dense` of 0 sends small graphs through the iteration too. */
static void check_spectrum(kind of, int64_t n, int64_t count, int64_t dense)
{
    rgmi_laplacian_graph g = {0};
    double *values, *vectors;
    int64_t found;

    simple_graph(&g, n, of);
    CHECK_OK(RGM_NEW(values, count));
    CHECK_OK(RGM_NEW(vectors, count * n));
    CHECK_OK(rgmi_spectrum(values, vectors, &found, &g, count, dense));
    CHECK_INT(count < n - 1 ? count : n - 1, found);
    for (int64_t k = 0; k < found; k++)
        CHECK_CLOSE(values[k], known(of, n, k), 0, 1e-8);
    check_vectors(&g, values, vectors, found);
    rgm_free(values);
    rgm_free(vectors);
    rgm_free(g.start);
    rgm_free(g.node);
}

static void spectra_of_known_graphs_are_found(void **state)
{
    (void)state;
    for (kind of = PATH; of <= COMPLETE; of++) {
        check_spectrum(of, 5, 8, 128); /* fewer than asked for */
        check_spectrum(of, 24, 6, 128);
        check_spectrum(of, 60, 7, 0);
    }
    check_spectrum(PATH, 400, 5, 128);
    check_spectrum(CYCLE, 300, 6, 128);
}

static void eigenvectors_are_of_each_component(void **state)
{
    rgm_graph *graph = random_graph(2), *part, *placed;
    rgm_rng rng = rgm_rng_stream(2, "sign", 0);
    rgm_tensor *all, *one, *drawn;
    rgm_feature value = {0};
    int64_t first = 0, turned = 0;

    (void)state;
    CHECK_OK(rgm_graph_laplacian(&all, graph, "e", 3));
    value.values = all;
    CHECK_OK(rgm_graph_with_feature(&placed, graph, RGM_NODE_SET, "n", "place", &value));
    CHECK_OK(rgm_graph_flip_signs(&part, placed, "n", "place", &rng));
    drawn = rgm_tensor_retain(rgm_graph_feature(part, RGM_NODE_SET, "n", "place")->values);
    rgm_graph_release(part);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_flip_signs(&part, placed, "n", "words", &rng));
    CHECK_MESSAGE("as DT_FLOAT of shape [k]");
    CHECK_EVERY_OOM(rgm_graph_flip_signs(&part, placed, "n", "place", &rng),
                    rgm_graph_release(part));
    rgm_graph_release(placed);
    for (int c = 0; c < COMPONENTS; first += nodes_of[c++]) {
        CHECK_OK(rgm_graph_component(&part, graph, c));
        CHECK_OK(rgm_graph_laplacian(&one, part, "e", 3));
        for (int64_t i = 0; i < 3 * nodes_of[c]; i++) {
            float x = rgm_tensor_f32(all)[3 * first + i], y = rgm_tensor_f32(drawn)[3 * first + i];

            CHECK_CLOSE(x, rgm_tensor_f32(one)[i], 0, 1e-6);
            CHECK(x == y || x == -y);
            turned += x != y;
        }
        for (int k = 0; k < 3; k++) { /* the largest entry is positive */
            double most = 0, least = 0;
            for (int64_t i = 0; i < nodes_of[c]; i++) {
                double x = rgm_tensor_f32(one)[3 * i + k];
                most = x > most ? x : most;
                least = x < least ? x : least;
            }
            CHECK(most >= -least - 1e-5);
        }
        rgm_tensor_release(one);
        rgm_graph_release(part);
    }
    CHECK(turned > 0);
    rgm_tensor_release(all);
    rgm_tensor_release(drawn);
    CHECK_EVERY_OOM(rgm_graph_laplacian(&all, graph, "e", 2), rgm_tensor_release(all));
    rgm_graph_release(graph);
}

/* What the iteration over subspaces allocates fails cleanly too. */
static void iterations_fail_cleanly(void **state)
{
    rgmi_laplacian_graph g = {0};
    double values[2], vectors[2 * 40];
    int64_t found;

    (void)state;
    simple_graph(&g, 40, PATH);
    CHECK_EVERY_OOM(rgmi_spectrum(values, vectors, &found, &g, 2, 0), (void)0);
    rgm_free(g.start);
    rgm_free(g.node);
}

TESTS(cmocka_unit_test(reversed_edges_are_a_set_of_their_own),
      cmocka_unit_test(undirected_graphs_have_every_edge_both_ways),
      cmocka_unit_test(masked_edges_are_kept_apart), cmocka_unit_test(dropped_edges_are_drawn),
      cmocka_unit_test(line_graphs_go_on_where_edges_end),
      cmocka_unit_test(graphs_of_one_data_set_share_a_schema),
      cmocka_unit_test(dropped_nodes_take_their_edges_along),
      cmocka_unit_test(shuffled_nodes_are_the_same_graph),
      cmocka_unit_test(shuffled_features_are_those_of_others),
      cmocka_unit_test(a_virtual_node_hears_all_of_its_component),
      cmocka_unit_test(complete_sets_have_all_pairs_of_a_component),
      cmocka_unit_test(walks_come_back_as_matrix_powers_say),
      cmocka_unit_test(spectra_of_known_graphs_are_found),
      cmocka_unit_test(eigenvectors_are_of_each_component),
      cmocka_unit_test(iterations_fail_cleanly))
