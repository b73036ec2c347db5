/*
 * Lookups: columns of each kind, what has none, lists and several numbers an item, patterns that
 * are made once, nodes by their numbers.
 */
#include <check.h>

#include <regimen/graph_value.h>

static const char schema_text[] =
    "node_sets { key: 'p' value {"
    "  features { key: 'kind' value { dtype: DT_INT64 } }"
    "  features { key: 'pair' value { dtype: DT_INT32 shape { dim { size: 2 } } } }"
    "  features { key: 'word' value { dtype: DT_STRING } }"
    "  features { key: 'heat' value { dtype: DT_FLOAT } }"
    "  features { key: 'tags' value { dtype: DT_STRING shape { dim { size: -1 } } } }"
    "  features { key: 'lists' value { dtype: DT_INT64 shape { dim { size: -1 } dim { size: -1 } } "
    "} } } }";
enum { NODES = 4 };

static void give(rgm_graph_builder *b, const char *name, rgm_dtype dtype, int64_t width,
                 const void *data)
{
    rgm_feature f = {.values = NULL};

    CHECK_OK(rgm_tensor_create_from(&f.values, dtype, width > 0 ? 2 : 1, (int64_t[]){NODES, width},
                                    data));
    CHECK_OK(rgm_graph_builder_feature(b, RGM_NODE_SET, "p", name, &f));
    rgm_feature_clear(&f);
}

static void give_tags(rgm_graph_builder *b)
{
    rgm_feature f = {.values = NULL};

    CHECK_OK(rgm_tensor_create_from(&f.values, RGM_STRING, 1, (int64_t[]){4},
                                    (rgm_str[]){{"a", 1}, {"b", 1}, {"a", 1}, {"c", 1}}));
    CHECK_OK(rgm_tensor_create_from(&f.row_lengths[1], RGM_I64, 1, (int64_t[]){NODES},
                                    (int64_t[]){2, 0, 1, 1}));
    CHECK_OK(rgm_graph_builder_feature(b, RGM_NODE_SET, "p", "tags", &f));
    rgm_feature_clear(&f);
}

static rgm_graph *make_graph(int64_t components)
{
    rgm_graph_builder *b;
    rgm_schema *schema;
    rgm_graph *graph;

    CHECK_OK(rgm_schema_parse(&schema, schema_text, sizeof schema_text - 1, "schema"));
    CHECK_OK(rgm_graph_builder_create(&b, schema, components));
    CHECK_OK(rgm_graph_builder_sizes(
        b, RGM_NODE_SET, "p", components == 1 ? (int64_t[]){NODES} : (int64_t[]){1, NODES - 1}));
    give(b, "kind", RGM_I64, 0, (int64_t[]){7, -2, 7, INT64_MAX});
    give(b, "pair", RGM_I32, 2, (int32_t[]){0, 2, 1, 1, 2, 0, 0, 0});
    give(b, "word", RGM_STRING, 0, (rgm_str[]){{"the", 3}, {"", 0}, {"th", 2}, {"a\0b", 3}});
    give(b, "heat", RGM_F32, 0, (float[]){-1, 0.5f, 0.25f, 100});
    give_tags(b);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    rgm_schema_release(schema);
    return graph;
}

/* The columns of all entries, in order, and how many there are. */
static void check_columns(const rgm_graph *graph, const char *feature, rgm_lookup *lookup,
                          int64_t columns, int64_t count, const int64_t *wanted)
{
    rgm_pattern *pattern, *again;

    if (rgm_graph_lookup(&pattern, graph, RGM_NODE_SET, "p", feature, lookup) != RGM_OK)
        fail_msg("%s: %s", feature, rgm_error_text());
    CHECK_OK(rgm_graph_check_lookup(graph, RGM_NODE_SET, "p", feature, lookup));
    CHECK_INT(NODES, rgm_pattern_by_row(pattern)->rows);
    CHECK_INT(columns, rgm_pattern_by_row(pattern)->columns);
    CHECK_INT(count, rgm_pattern_by_row(pattern)->count);
    for (int64_t i = 0; i < count; i++)
        CHECK_INT(wanted[i], rgm_pattern_column_of(pattern)[i]);
    CHECK_OK(rgm_graph_lookup(&again, graph, RGM_NODE_SET, "p", feature, lookup));
    CHECK(pattern == again);
    rgm_lookup_release(lookup);
}

static rgm_lookup *integers(const int64_t *values, int64_t count, bool other)
{
    rgm_lookup *lookup;

    CHECK_OK(rgm_lookup_integers(&lookup, values, count, other));
    return lookup;
}

static rgm_lookup *texts(const rgm_str *values, int64_t count, bool other)
{
    rgm_lookup *lookup;

    CHECK_OK(rgm_lookup_texts(&lookup, values, count, other));
    return lookup;
}

static rgm_lookup *bounds(const double *values, int64_t count)
{
    rgm_lookup *lookup;

    CHECK_OK(rgm_lookup_buckets(&lookup, values, count));
    return lookup;
}

static void each_value_has_its_column(void **state)
{
    rgm_graph *graph = make_graph(1);
    rgm_lookup *range;

    (void)state;
    check_columns(graph, "kind", integers((int64_t[]){INT64_MAX, 7}, 2, true), 3, 4,
                  (int64_t[]){1, 2, 1, 0});
    check_columns(graph, "kind", integers((int64_t[]){7, INT64_MAX, -2}, 3, false), 3, 4,
                  (int64_t[]){0, 2, 0, 1});
    check_columns(graph, "kind", integers(NULL, 0, true), 1, 4, (int64_t[]){0, 0, 0, 0});
    check_columns(graph, "word", texts((rgm_str[]){{"the", 3}, {"a\0b", 3}, {"", 0}}, 3, true), 4,
                  4, (int64_t[]){0, 2, 3, 1});
    check_columns(graph, "heat", bounds((double[]){-1, 0.5}, 2), 3, 4, (int64_t[]){1, 2, 1, 2});
    check_columns(graph, "kind", bounds((double[]){0}, 1), 2, 4, (int64_t[]){1, 0, 1, 1});
    CHECK_OK(rgm_lookup_range(&range, 3));
    check_columns(graph, "pair", range, 6, 8, (int64_t[]){0, 5, 1, 4, 2, 3, 0, 3});
    check_columns(graph, "tags", texts((rgm_str[]){{"b", 1}, {"a", 1}}, 2, true), 3, 4,
                  (int64_t[]){1, 0, 1, 2});
    rgm_graph_release(graph);
}

static void hashes_are_xxh3_of_the_bytes(void **state)
{
    rgm_graph *graph = make_graph(1);
    rgm_lookup *lookup;
    int64_t wanted[NODES];

    (void)state;
    wanted[0] = (int64_t)(rgm_hash64("the", 3) % 1000);
    wanted[1] = (int64_t)(rgm_hash64("", 0) % 1000);
    wanted[2] = (int64_t)(rgm_hash64("th", 2) % 1000);
    wanted[3] = (int64_t)(rgm_hash64("a\0b", 3) % 1000);
    CHECK_OK(rgm_lookup_hash(&lookup, 1000));
    check_columns(graph, "word", lookup, 1000, 4, wanted);
    wanted[0] = wanted[2] = (int64_t)(rgm_hash64("7", 1) % 1000);
    wanted[1] = (int64_t)(rgm_hash64("-2", 2) % 1000);
    wanted[3] = (int64_t)(rgm_hash64("9223372036854775807", 19) % 1000);
    CHECK_OK(rgm_lookup_hash(&lookup, 1000));
    check_columns(graph, "kind", lookup, 1000, 4, wanted);
    rgm_graph_release(graph);
}

static void check_refused(const rgm_graph *graph, const char *feature, rgm_lookup *lookup,
                          rgm_status status, const char *message)
{
    rgm_pattern *pattern;

    CHECK_STATUS(status, rgm_graph_lookup(&pattern, graph, RGM_NODE_SET, "p", feature, lookup));
    CHECK_MESSAGE(message);
    CHECK(pattern == NULL);
    CHECK_STATUS(status, rgm_graph_check_lookup(graph, RGM_NODE_SET, "p", feature, lookup));
    rgm_lookup_release(lookup);
}

static void values_without_a_column_are_told(void **state)
{
    rgm_graph *graph = make_graph(1);
    rgm_tensor *heat = rgm_graph_feature(graph, RGM_NODE_SET, "p", "heat")->values;

    (void)state;
    check_refused(graph, "kind", integers((int64_t[]){7}, 1, false), RGM_ERR_DATA,
                  "node set 'p': feature 'kind': item 1 is -2, which is not among the 1 numbers of "
                  "its vocabulary");
    check_refused(graph, "word", texts((rgm_str[]){{"the", 3}, {"", 0}}, 2, false), RGM_ERR_DATA,
                  "item 2 is 'th', which is not among the 2 texts");
    check_refused(graph, "tags", texts((rgm_str[]){{"a", 1}, {"b", 1}}, 2, false), RGM_ERR_DATA,
                  "item 3 is 'c'");
    rgm_tensor_f32(heat)[2] = NAN;
    check_refused(graph, "heat", bounds((double[]){0}, 1), RGM_ERR_DATA,
                  "item 2 is not a number, which is in no bucket");
    check_refused(graph, "word", integers((int64_t[]){7}, 1, true), RGM_ERR_DTYPE,
                  "'word' is not of integers");
    check_refused(graph, "kind", texts((rgm_str[]){{"7", 1}}, 1, true), RGM_ERR_DTYPE,
                  "'kind' is not of texts");
    check_refused(graph, "lists", integers((int64_t[]){7}, 1, true), RGM_ERR_UNSUPPORTED,
                  "ragged in 2 dims");
    check_refused(graph, "hat", bounds((double[]){0}, 1), RGM_ERR_NOT_FOUND, "heat");
    rgm_graph_release(graph);
}

static void lookups_that_cannot_be_are_refused(void **state)
{
    rgm_lookup *lookup;

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_lookup_range(&lookup, 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_lookup_hash(&lookup, INT64_C(1) << 31));
    CHECK_STATUS(RGM_ERR_ARG, rgm_lookup_integers(&lookup, NULL, 0, false));
    CHECK_STATUS(RGM_ERR_ARG, rgm_lookup_integers(&lookup, (int64_t[]){3, 1, 3}, 3, true));
    CHECK_MESSAGE("a vocabulary has 3 twice");
    CHECK(lookup == NULL);
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_lookup_texts(&lookup, (rgm_str[]){{"ab", 2}, {"ab", 2}}, 2, true));
    CHECK_MESSAGE("has 'ab' twice");
    CHECK_STATUS(RGM_ERR_ARG, rgm_lookup_buckets(&lookup, (double[]){1, 1}, 2));
    CHECK_STATUS(RGM_ERR_ARG, rgm_lookup_buckets(&lookup, (double[]){NAN}, 1));
    CHECK_MESSAGE("boundary 0 of buckets is nan");
}

static void nodes_are_numbered_in_one_graph_alone(void **state)
{
    rgm_graph *one = make_graph(1), *two = make_graph(2);
    rgm_pattern *pattern, *again;

    (void)state;
    CHECK_OK(rgm_graph_numbers(&pattern, one, "p", NODES));
    for (int64_t i = 0; i < NODES; i++)
        CHECK_INT(i, rgm_pattern_column_of(pattern)[i]);
    CHECK_OK(rgm_graph_numbers(&again, one, "p", NODES));
    CHECK(pattern == again);
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_numbers(&pattern, one, "p", NODES + 1));
    CHECK_MESSAGE("a graph of 4 nodes, but they are known by their numbers in one of 5");
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_numbers(&pattern, two, "p", NODES));
    CHECK_MESSAGE("2 graphs together");
    rgm_graph_release(one);
    rgm_graph_release(two);
}

/* On a copy: what is made stays with a graph. */
static rgm_status make_all(const rgm_graph *of)
{
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL;
    rgm_lookup *words = NULL, *kinds = NULL, *heats = NULL;
    rgm_pattern *pattern;

    RGM_GO(rgm_graph_component(&graph, of, 0));
    RGM_GO(rgm_lookup_texts(&words, (rgm_str[]){{"the", 3}, {"a", 1}}, 2, true));
    RGM_GO(rgm_lookup_integers(&kinds, (int64_t[]){7, 3}, 2, true));
    RGM_GO(rgm_lookup_buckets(&heats, (double[]){0}, 1));
    RGM_GO(rgm_graph_lookup(&pattern, graph, RGM_NODE_SET, "p", "tags", words));
    RGM_GO(rgm_graph_lookup(&pattern, graph, RGM_NODE_SET, "p", "kind", kinds));
    RGM_GO(rgm_graph_check_lookup(graph, RGM_NODE_SET, "p", "heat", heats));
    RGM_GO(rgm_graph_numbers(&pattern, graph, "p", NODES));
done:
    rgm_lookup_release(words);
    rgm_lookup_release(kinds);
    rgm_lookup_release(heats);
    rgm_graph_release(graph);
    return status;
}

static void nothing_leaks_where_memory_runs_out(void **state)
{
    rgm_graph *graph = make_graph(1);

    (void)state;
    CHECK_EVERY_OOM(make_all(graph), (void)0);
    rgm_graph_release(graph);
}

TESTS(cmocka_unit_test(each_value_has_its_column), cmocka_unit_test(hashes_are_xxh3_of_the_bytes),
      cmocka_unit_test(values_without_a_column_are_told),
      cmocka_unit_test(lookups_that_cannot_be_are_refused),
      cmocka_unit_test(nodes_are_numbered_in_one_graph_alone),
      cmocka_unit_test(nothing_leaks_where_memory_runs_out))
