#include <check.h>

#include <regimen/graph_import.h>

static const char schema_text[] =
    "node_sets { key: 'n \"q\"' value { features { key: 'x' value { dtype: DT_FLOAT } }\n"
    "  features { key: 'label' value { dtype: DT_INT64 } }\n"
    "  features { key: 'tags' value { dtype: DT_STRING shape { dim { size: -1 } } } } } }\n"
    "edge_sets { key: 'e' value { source: 'n \"q\"' target: 'n \"q\"' } }\n";

static rgm_tensor *tensor_of(rgm_dtype dtype, int64_t count, const void *data)
{
    rgm_tensor *t;
    CHECK_OK(rgm_tensor_create_from(&t, dtype, 1, &count, data));
    return t;
}

/* Four nodes with values first .. first + 3 and one NaN when `broken`. */
static rgm_graph *graph_of(rgm_schema *schema, float first, bool broken)
{
    rgm_graph_builder *builder;
    rgm_graph *graph;
    float x[] = {first, first + 1, first + 2, broken ? NAN : first + 3};
    const int64_t label[] = {0, 2, 2, 5}, lengths[] = {0, 1, 2, 0}, source[] = {0, 0, 1},
                  target[] = {1, 2, 2}, nodes = 4, edges = 3;
    const rgm_str tags[] = {{"a", 1}, {"bcd", 3}, {"", 0}};
    rgm_feature feature[3] = {{0}};
    rgm_tensor *ends[2];
    const char *names[] = {"x", "label", "tags"};

    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    feature[0].values = tensor_of(RGM_F32, 4, x);
    feature[1].values = tensor_of(RGM_I64, 4, label);
    feature[2].values = tensor_of(RGM_STRING, 3, tags);
    feature[2].row_lengths[1] = tensor_of(RGM_I64, 4, lengths);
    ends[0] = tensor_of(RGM_I64, 3, source);
    ends[1] = tensor_of(RGM_I64, 3, target);
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "n \"q\"", &nodes));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "e", &edges));
    CHECK_OK(rgm_graph_builder_edges(builder, "e", ends[0], ends[1]));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(
            rgm_graph_builder_feature(builder, RGM_NODE_SET, "n \"q\"", names[i], &feature[i]));
        rgm_feature_clear(&feature[i]);
    }
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    return graph;
}

static rgm_schema *schema_of(void)
{
    rgm_schema *schema;
    CHECK_OK(rgm_schema_parse(&schema, schema_text, (int64_t)strlen(schema_text), "t"));
    return schema;
}

static void counts_and_quantiles_are_those_computed_by_hand(void **state)
{
    rgm_schema *schema = schema_of();
    rgm_graph *a = graph_of(schema, 1, false), *b = graph_of(schema, 5, true);
    rgm_stats *stats;
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_stats_create(&stats, schema));
    CHECK_OK(rgm_stats_add(stats, a));
    CHECK_OK(rgm_stats_add(stats, b));
    CHECK_OK(rgm_stats_print_json(&text, stats));
    CHECK(strstr(text.data, "{\"graphs\": 2, ") == text.data);
    /* x: 1 2 3 4 5 6 7 and a NaN */
    CHECK(strstr(text.data,
                 "\"x\": {\"dtype\": \"f32\", \"values\": {\"count\": 7, \"not_finite\": 1, "
                 "\"mean\": 4, \"deviation\": 2, \"min\": 1, \"p05\": 1, \"p25\": 2, "
                 "\"p50\": 4, \"p75\": 6, \"p95\": 7, \"max\": 7}"));
    CHECK(strstr(text.data, "\"classes\": [2, 0, 4, 0, 0, 2]"));
    /* tags: 0 1 2 0 rows each, of 1, 3 and 0 bytes */
    CHECK(strstr(text.data, "\"lengths\": {\"count\": 8, \"mean\": 0.75"));
    CHECK(strstr(text.data, "\"bytes\": {\"count\": 6, \"mean\": 1.33333333"));
    CHECK(strstr(text.data, "\"edges_a_source\": {\"count\": 8, \"mean\": 0.75"));
    CHECK(strstr(text.data,
                 "\"node_sets\": {\"n \\\"q\\\"\": {\"items\": {\"count\": 2, \"mean\": 4"));
    text.size = 0;
    CHECK_OK(rgm_stats_print(&text, stats));
    CHECK(strstr(text.data, "2 graphs") && strstr(text.data, "(1 not finite)"));
    CHECK(strstr(text.data, "of each: 0: 2 2: 4 5: 2"));
    rgm_text_clear(&text);
    rgm_stats_release(stats);
    rgm_graph_release(a);
    rgm_graph_release(b);
    rgm_schema_release(schema);
}

/* The lowest integer says that a label is missing: no figure counts it. */
static void missing_integers_are_counted_apart(void **state)
{
    rgm_schema *schema = schema_of();
    rgm_graph *graph = graph_of(schema, 1, false);
    rgm_stats *stats;
    rgm_text text = {0};

    (void)state;
    rgm_tensor_i64(rgm_graph_feature(graph, RGM_NODE_SET, "n \"q\"", "label")->values)[1] =
        INT64_MIN;
    CHECK_OK(rgm_stats_create(&stats, schema));
    CHECK_OK(rgm_stats_add(stats, graph));
    CHECK_OK(rgm_stats_print_json(&text, stats));
    CHECK(strstr(text.data, "\"label\": {\"dtype\": \"i64\", \"values\": {\"count\": 3, "));
    CHECK(strstr(text.data, "\"missing\": 1"));
    text.size = 0;
    CHECK_OK(rgm_stats_print(&text, stats));
    CHECK(strstr(text.data, "    missing: 1\n"));
    text.size = 0;
    CHECK_OK(rgm_graph_print(&text, graph, 10));
    CHECK(strstr(text.data, " missing "));
    rgm_text_clear(&text);
    rgm_stats_release(stats);
    rgm_graph_release(graph);
    rgm_schema_release(schema);
}

/* Seconds since 1970 one after the other: squares of such numbers are multiples of 512. */
static void a_deviation_is_of_distances_however_large_numbers_are(void **state)
{
    rgm_schema *schema = schema_of();
    rgm_graph *graph = graph_of(schema, 1, false);
    rgm_tensor *label = rgm_graph_feature(graph, RGM_NODE_SET, "n \"q\"", "label")->values;
    rgm_stats *stats;
    rgm_text text = {0};

    (void)state;
    for (int i = 0; i < 4; i++)
        rgm_tensor_i64(label)[i] = 1700000000 + i;
    CHECK_OK(rgm_stats_create(&stats, schema));
    CHECK_OK(rgm_stats_add(stats, graph));
    CHECK_OK(rgm_stats_print_json(&text, stats));
    CHECK(strstr(text.data, "\"label\": {\"dtype\": \"i64\", \"values\": {\"count\": 4, "
                            "\"mean\": 1.7e+09, \"deviation\": 1.11803399, "));
    rgm_text_clear(&text);
    rgm_stats_release(stats);
    rgm_graph_release(graph);
    rgm_schema_release(schema);
}

static void quantiles_of_many_values_come_from_a_fair_sample(void **state)
{
    rgm_citation_options o = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data s;
    rgm_stats *stats;
    rgm_text text = {0};
    const char *at;
    double mean = 0, median = 0;

    (void)state;
    o.nodes = 20000;
    o.edges = 30000;
    o.dense = 8;
    o.noise = 1;
    CHECK_OK(rgm_generate_citation(&s, &o));
    CHECK_OK(rgm_stats_create(&stats, s.schema));
    CHECK_OK(rgm_stats_add(stats, s.graphs[0]));
    CHECK_OK(rgm_stats_print_json(&text, stats));
    at = strstr(text.data, "\"feat\"");
    CHECK(at != NULL && strstr(at, "\"count\": 160000"));
    mean = strtod(strstr(at, "\"mean\": ") + 8, NULL);
    median = strtod(strstr(at, "\"p50\": ") + 7, NULL);
    /* About normal: sd 1.06; of 8,192 values the median's own deviation is 0.015. */
    CHECK_CLOSE(mean, median, 0, 0.08);
    rgm_text_clear(&text);
    rgm_stats_release(stats);
    rgm_graph_data_clear(&s);
}

static rgm_status make_text(rgm_text *text, rgm_schema *schema, const rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    rgm_stats *stats = NULL;

    RGM_GO(rgm_stats_create(&stats, schema));
    RGM_GO(rgm_stats_add(stats, graph));
    RGM_GO(rgm_stats_print(text, stats));
    RGM_GO(rgm_stats_print_json(text, stats));
done:
    rgm_stats_release(stats);
    if (status != RGM_OK)
        rgm_text_clear(text);
    return status;
}

static void statistics_survive_failing_allocations(void **state)
{
    rgm_schema *schema = schema_of();
    rgm_graph *graph = graph_of(schema, 1, false);
    rgm_text text = {0};

    (void)state;
    CHECK_OK(make_text(&text, schema, graph)); /* what the graph keeps is made */
    rgm_text_clear(&text);
    CHECK_EVERY_OOM(make_text(&text, schema, graph), rgm_text_clear(&text));
    rgm_graph_release(graph);
    rgm_schema_release(schema);
}

TESTS(cmocka_unit_test(counts_and_quantiles_are_those_computed_by_hand),
      cmocka_unit_test(missing_integers_are_counted_apart),
      cmocka_unit_test(a_deviation_is_of_distances_however_large_numbers_are),
      cmocka_unit_test(quantiles_of_many_values_come_from_a_fair_sample),
      cmocka_unit_test(statistics_survive_failing_allocations))
