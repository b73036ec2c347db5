#include <time.h>

#include <regimen/graph_data.h>

#include "graph_internal.h"
#include "test_shop.h"

static rgm_status parse(rgm_schema **out, const char *text)
{
    return rgm_schema_parse(out, text, (int64_t)strlen(text), "s.pbtxt");
}

static void check_refused(rgm_status status, const char *text, const char *message)
{
    rgm_schema *schema;

    CHECK_STATUS(status, parse(&schema, text));
    CHECK(schema == NULL);
    CHECK_MESSAGE(message);
}

static void the_shop_parses(void **state)
{
    rgm_schema *schema = parse_schema(shop_text);
    const rgm_set_schema *set;

    (void)state;
    CHECK_INT(4, rgm_schema_set_count(schema));
    CHECK_INT(RGM_CONTEXT_PIECE, rgm_schema_set(schema, 0)->piece);
    CHECK_TEXT("user", rgm_schema_set(schema, 1)->name);
    set = rgm_schema_find(schema, RGM_EDGE_SET, "buys");
    CHECK_TEXT("user", set->source);
    CHECK_TEXT("item", set->target);
    set = rgm_schema_find(schema, RGM_NODE_SET, "user");
    CHECK_INT(RGM_STRING, rgm_set_feature(set, "tags")->dtype);
    CHECK_INT(1, rgm_set_feature(set, "tags")->rank);
    CHECK_INT(-1, rgm_set_feature(set, "tags")->shape[0]);
    CHECK_INT(0, rgm_set_feature(set, "age")->rank);
    CHECK(rgm_set_feature(set, "vec") == NULL);
    CHECK(rgm_schema_find(schema, RGM_NODE_SET, "buys") == NULL);
    rgm_schema_release(schema);
}

static const char full_text[] =
    "context { features { key: \"y\" value { dtype: DT_UINT8 } } metadata { filename: \"c.csv\" } "
    "}\n"
    "node_sets { key: \"paper\" value { description: \"what is cited\"\n"
    "  features { key: \"words\" value { dtype: DT_INT64 shape { dim { size: -1 } }\n"
    "             source: \"one_hot:1433\" description: \"of the abstract\" } }\n"
    "  features { key: \"#id\" value { dtype: DT_STRING } }\n"
    "  context: \"y\" metadata { filename: \"paper.csv\" cardinality: 2708\n"
    "                         extra { key: \"k\" value: \"v\" } } } }\n"
    "edge_sets { key: \"cites\" value { source: \"paper\" target: \"paper\"\n"
    "  metadata { extra { key: \"edge_type\" value: \"reversed\" } } } }\n"
    "info { graph_type: FULL root_set: \"paper\" }\n";

static void what_is_read_is_written_again(void **state)
{
    rgm_schema *schema = parse_schema(full_text), *again, *copy;
    rgm_text first = {0}, second = {0}, third = {0};
    const rgm_set_schema *set;

    (void)state;
    CHECK_OK(rgm_schema_print(&first, schema));
    again = parse_schema(first.data);
    CHECK_OK(rgm_schema_copy(&copy, schema));
    CHECK_OK(rgm_schema_print(&second, again));
    CHECK_OK(rgm_schema_print(&third, copy));
    CHECK_TEXT(first.data, second.data);
    CHECK_TEXT(first.data, third.data);
    set = rgm_schema_find(again, RGM_NODE_SET, "paper");
    CHECK_INT(1433, rgm_set_feature(set, "words")->vocabulary);
    CHECK_TEXT("of the abstract", rgm_set_feature(set, "words")->description);
    CHECK_TEXT("paper.csv", set->filename);
    CHECK_INT(2708, set->cardinality);
    CHECK_TEXT("y", set->context[0]);
    CHECK_TEXT("v", set->extra[0].value);
    CHECK_TEXT("DT_UINT8", rgm_set_feature(rgm_schema_set(again, 0), "y")->stored_type);
    CHECK_INT(RGM_I32, rgm_set_feature(rgm_schema_set(again, 0), "y")->dtype);
    CHECK_TEXT("reversed", rgm_schema_find(again, RGM_EDGE_SET, "cites")->extra[0].value);
    CHECK_TEXT("FULL", rgm_schema_graph_type(again));
    CHECK_TEXT("paper", rgm_schema_root_set(again, 0));
    rgm_text_clear(&first);
    rgm_text_clear(&second);
    rgm_text_clear(&third);
    rgm_schema_release(schema);
    rgm_schema_release(again);
    rgm_schema_release(copy);
}

static void a_schema_made_by_calls_is_the_one_parsed(void **state)
{
    rgm_schema *made, *parsed = parse_schema(shop_text);
    rgm_text a = {0}, b = {0};

    (void)state;
    CHECK_OK(rgm_schema_create(&made));
    CHECK_OK(rgm_schema_add_edge_set(made, "buys", "user", "item")); /* before its node sets */
    CHECK_OK(rgm_schema_add_node_set(made, "user"));
    CHECK_OK(rgm_schema_add_node_set(made, "item"));
    CHECK_OK(rgm_schema_add_feature(made, RGM_CONTEXT_PIECE, NULL, "label", RGM_I64, 0, NULL));
    CHECK_OK(rgm_schema_add_feature(made, RGM_NODE_SET, "user", "age", RGM_F32, 0, NULL));
    CHECK_OK(
        rgm_schema_add_feature(made, RGM_NODE_SET, "user", "tags", RGM_STRING, 1, (int64_t[]){-1}));
    CHECK_OK(rgm_schema_add_feature(made, RGM_NODE_SET, "item", "vec", RGM_F32, 1, (int64_t[]){4}));
    CHECK_OK(rgm_schema_check(made));
    CHECK_OK(rgm_schema_print(&a, made));
    CHECK_OK(rgm_schema_print(&b, parsed));
    CHECK_TEXT(b.data, a.data);
    CHECK_STATUS(RGM_ERR_ARG, rgm_schema_add_node_set(made, "user"));
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_schema_add_feature(made, RGM_NODE_SET, "usr", "x", RGM_F32, 0, NULL));
    CHECK_MESSAGE("no node set 'usr'; did you mean 'user'?");
    CHECK_STATUS(RGM_ERR_ARG, rgm_schema_set_one_hot(made, RGM_NODE_SET, "user", "age", 5));
    rgm_text_clear(&a);
    rgm_text_clear(&b);
    rgm_schema_release(made);
    rgm_schema_release(parsed);
}

static void mistakes_in_the_text_have_a_place(void **state)
{
    (void)state;
    check_refused(RGM_ERR_FORMAT, "node_sets {\n  key: \"a\" value { featurs { } } }",
                  "s.pbtxt:2:");
    CHECK_MESSAGE("featurs");
    check_refused(RGM_ERR_FORMAT,
                  "node_sets { key: \"a\" value {\n features { key: \"x\" value {\n"
                  "dtype: DT_FLOTA } } } }",
                  "s.pbtxt:3:1: no such dtype for a feature: DT_FLOTA; did you mean 'DT_FLOAT'?");
    check_refused(RGM_ERR_FORMAT,
                  "context { features { key: \"x\" value { dtype: DT_FLOAT shape { dim { size: -2 "
                  "} } } } }",
                  "a dim is -2");
    check_refused(RGM_ERR_FORMAT,
                  "context { features { key: \"x\" value { dtype: DT_FLOAT shape { "
                  "unknown_rank: true } } } }",
                  "the rank of a feature must be known");
    check_refused(RGM_ERR_FORMAT,
                  "context { features { key: \"x\" value { dtype: DT_FLOAT shape { dim { name: "
                  "\"n\" } } } } }",
                  "dims cannot have names");
    check_refused(
        RGM_ERR_FORMAT,
        "context { features { key: \"x\" value { dtype: DT_INT64 shape { dim { size: -1 } "
        "} source: \"one_hot:0\" } } }",
        "one_hot");
}

static void a_schema_that_contradicts_itself_is_refused(void **state)
{
    (void)state;
    check_refused(RGM_ERR_DATA, "edge_sets { key: \"e\" value { source: \"a\" target: \"a\" } }",
                  "s.pbtxt: edge set 'e': source node set 'a' is not there");
    check_refused(RGM_ERR_DATA,
                  "node_sets { key: \"a\" } edge_sets { key: \"e\" value { source: \"a\" } }",
                  "edge set 'e' has no target");
    check_refused(
        RGM_ERR_DATA,
        "node_sets { key: \"a\" value { features { key: \"#size\" value { dtype: DT_INT64 "
        "} } } }",
        "reserved");
    check_refused(RGM_ERR_DATA, "node_sets { key: \"a\" value { context: \"c\" } }",
                  "context feature 'c', which is not there");
    check_refused(RGM_ERR_DATA, "info { root_set: \"p\" }", "'p' is no node set");
    check_refused(
        RGM_ERR_DATA,
        "context { features { key: \"w\" value { dtype: DT_FLOAT shape { dim { size: -1 } "
        "} source: \"one_hot:3\" } } }",
        "must be DT_INT64");
}

#define PAPER "node_sets { key: \"paper\" } node_sets { key: \"author\" } "
#define EDGES(name, source, target)                                                                \
    "edge_sets { key: \"" name "\" value { source: \"" source "\" target: \"" target "\" } } "

static void readout_sets_must_be_in_order(void **state)
{
    rgm_schema *schema;

    (void)state;
    schema = parse_schema(
        PAPER "node_sets { key: \"_readout\" } node_sets { key: \"_readout:b\" }" EDGES(
            "_readout/seed/1", "paper", "_readout") EDGES("_readout/seed/2", "author", "_readout")
            EDGES("_readout:b/x", "author", "_readout:b"));
    rgm_schema_release(schema);
    schema =
        parse_schema(PAPER "node_sets { key: \"_readout\" } node_sets { key: \"_shadow/e\" }" EDGES(
            "e", "paper", "author") EDGES("_readout/k", "_shadow/e", "_readout"));
    rgm_schema_release(schema);
    check_refused(RGM_ERR_DATA,
                  PAPER "node_sets { key: \"_readout\" }" EDGES("_readout/s", "paper", "author"),
                  "must have target '_readout'");
    check_refused(RGM_ERR_DATA,
                  PAPER "node_sets { key: \"_readout\" }" EDGES("_readout/s!", "paper", "_readout"),
                  "is named");
    check_refused(RGM_ERR_DATA,
                  PAPER "node_sets { key: \"_readout\" }" EDGES("reads", "paper", "_readout"),
                  "ends at readout set '_readout'");
    check_refused(RGM_ERR_DATA,
                  PAPER "node_sets { key: \"_readout\" }" EDGES("_readout/k/1", "paper", "_readout")
                      EDGES("_readout/k/2", "paper", "_readout"),
                  "both read node set 'paper'");
    check_refused(RGM_ERR_DATA, "node_sets { key: \"_readout-x\" }", "a readout set is named");
    check_refused(RGM_ERR_DATA, "node_sets { key: \"_shadow/e\" }", "shadow of edge set 'e'");
}

/* As protobuf reads them: enums by number, and the last of equal keys. */
static void text_is_read_as_protobuf_reads_it(void **state)
{
    rgm_schema *schema;
    const rgm_feature_schema *feature;

    (void)state;
    schema =
        parse_schema("node_sets { key: 'a' value { features { key: 'x' value { dtype: 9 } }\n"
                     "  features { key: 'x' value { dtype: 1 } } } }\n"
                     "node_sets { key: 'b' }\n"
                     "node_sets { key: 'b' value { features { key: 'y' value { dtype: 7 } } } }\n"
                     "info { graph_type: 2 }");
    CHECK_INT(3, rgm_schema_set_count(schema)); /* context, a, b */
    feature = rgm_set_feature(rgm_schema_find(schema, RGM_NODE_SET, "a"), "x");
    CHECK_INT(RGM_F32, feature->dtype);
    CHECK_TEXT("DT_FLOAT", feature->stored_type);
    CHECK(rgm_set_feature(rgm_schema_find(schema, RGM_NODE_SET, "b"), "y") != NULL);
    CHECK_TEXT("SUBGRAPH", rgm_schema_graph_type(schema));
    rgm_schema_release(schema);
    check_refused(RGM_ERR_FORMAT,
                  "node_sets { key: 'a' value { features { key: 'x' value { dtype: 99 } } } }",
                  "dtype 99 is not known");
    check_refused(RGM_ERR_FORMAT, "info { graph_type: 4 }", "graph_type 4 is not known");
}

static void auxiliary_names_have_their_prefix(void **state)
{
    char buffer[64];

    (void)state;
    CHECK_TEXT("_readout", rgm_aux_prefix("_readout", buffer, sizeof buffer));
    CHECK_TEXT("_readout", rgm_aux_prefix("_readout:train", buffer, sizeof buffer));
    CHECK_TEXT("_shadow", rgm_aux_prefix("_shadow/cites", buffer, sizeof buffer));
    CHECK_TEXT("~x9", rgm_aux_prefix("~x9-y", buffer, sizeof buffer));
    CHECK_TEXT("_rea", rgm_aux_prefix("_readout", buffer, 5));
    CHECK(rgm_aux_prefix("paper_readout", buffer, sizeof buffer) == NULL);
    CHECK(rgm_aux_prefix("", buffer, sizeof buffer) == NULL);
}

static void one_schema_has_what_another_requires(void **state)
{
    rgm_schema *all = parse_schema(shop_text), *some, *other;

    (void)state;
    some = parse_schema("node_sets { key: \"user\" value { features { key: \"age\" value { dtype: "
                        "DT_FLOAT } } } }");
    other = parse_schema("node_sets { key: \"user\" value { features { key: \"age\" value { dtype: "
                         "DT_INT64 } } } }");
    CHECK_OK(rgm_schema_check_has(all, some));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_schema_check_has(some, all));
    CHECK_STATUS(RGM_ERR_DATA, rgm_schema_check_has(other, some));
    CHECK_MESSAGE("feature 'age' is i64, expected f32");
    rgm_schema_release(all);
    rgm_schema_release(some);
    rgm_schema_release(other);
}

static void a_file_round_trip_keeps_the_schema(void **state)
{
    const char *folder = check_folder();
    rgm_schema *schema = parse_schema(full_text), *loaded;
    rgm_text a = {0}, b = {0};
    char *path;

    (void)state;
    CHECK_OK(rgm_path_join(&path, folder, "schema.pbtxt"));
    CHECK_OK(rgm_schema_save(schema, path));
    CHECK_OK(rgm_schema_load(&loaded, path));
    CHECK_OK(rgm_schema_print(&a, schema));
    CHECK_OK(rgm_schema_print(&b, loaded));
    CHECK_TEXT(a.data, b.data);
    rgm_schema_release(loaded);
    CHECK_OK(rgm_file_save(path, "node_sets { kye: 1 }", 20));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_schema_load(&loaded, path));
    CHECK_MESSAGE(path);
    rgm_text_clear(&a);
    rgm_text_clear(&b);
    rgm_schema_release(schema);
    rgm_free(path);
    CHECK_OK(rgm_folder_remove(folder));
}

/* The check asked every set about every other: seconds for a file of a megabyte. */
static void many_sets_are_read_in_little_time(void **state)
{
    enum { SETS = 8000 };
    rgm_text text = {0};
    rgm_schema *schema;
    clock_t begin;

    (void)state;
    CHECK_OK(rgm_text_printf(&text, "node_sets { key: \"_readout\" value { } }\n"));
    for (int i = 0; i < SETS; i++)
        CHECK_OK(rgm_text_printf(&text,
                                 "node_sets { key: \"n%d\" value { } } edge_sets { key: "
                                 "\"_readout/k%d\" value { source: \"n%d\" target: "
                                 "\"_readout\" } } info { root_set: \"n%d\" }\n",
                                 i, i, SETS - 1 - i, i));
    begin = clock();
    CHECK_OK(parse(&schema, text.data));
    CHECK((double)(clock() - begin) < 2.0 * CLOCKS_PER_SEC);
    CHECK_INT(2 + 2 * SETS, rgm_schema_set_count(schema));
    CHECK_TEXT("n7999", rgm_schema_find(schema, RGM_EDGE_SET, "_readout/k0")->source);
    CHECK_OK(rgm_schema_add_node_set(schema, "late"));
    CHECK_TEXT("n7999", rgm_schema_find(schema, RGM_EDGE_SET, "_readout/k0")->source);
    CHECK(rgm_schema_find(schema, RGM_NODE_SET, "late") == rgm_schema_set(schema, 2 + SETS));
    rgm_schema_release(schema);
    rgm_text_clear(&text);
}

/* A set of `names` features, and half as many context features that it speaks of. */
static void print_wide_schema(rgm_text *out, int names)
{
    out->size = 0;
    CHECK_OK(rgm_text_printf(out, "context {\n"));
    for (int i = 0; i < names / 2; i++)
        CHECK_OK(rgm_text_printf(out, "features { key: \"c%d\" value { dtype: DT_INT64 } }\n", i));
    CHECK_OK(rgm_text_printf(out, "}\nnode_sets { key: \"n\" value {\n"));
    for (int i = 0; i < names; i++)
        CHECK_OK(rgm_text_printf(out, "features { key: \"x%d\" value { dtype: DT_INT64 } }\n", i));
    for (int i = 0; i < names / 2; i++)
        CHECK_OK(rgm_text_printf(out, "context: \"c%d\"\n", i));
    CHECK_OK(rgm_text_printf(out, "} }\n"));
}

/* A graph of one node, as an Example and back, looked at feature by feature. */
static void use_wide_schema(rgm_schema *schema)
{
    const rgm_set_schema *set = rgm_schema_find(schema, RGM_NODE_SET, "n");
    const int64_t one = 1;
    rgm_text encoded = {0};
    rgm_graph_builder *builder;
    rgm_feature value = {0};
    rgm_graph *graph, *read;
    rgm_stats *stats;

    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "n", &one));
    CHECK_OK(rgm_tensor_create(&value.values, RGM_I64, 1, &one));
    for (int64_t i = 0; i < set->feature_count; i++)
        CHECK_OK(
            rgm_graph_builder_feature(builder, RGM_NODE_SET, "n", set->features[i].name, &value));
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    CHECK_OK(rgm_graph_encode(&encoded, graph, NULL));
    CHECK_OK(rgm_graph_decode(&read, schema, encoded.data, encoded.size, NULL, NULL));
    for (int64_t i = 0; i < set->feature_count; i++)
        CHECK(rgm_graph_feature(read, RGM_NODE_SET, "n", set->features[i].name) != NULL);
    CHECK_OK(rgm_stats_create(&stats, schema));
    CHECK_OK(rgm_stats_add(stats, read));
    rgm_stats_release(stats);
    rgm_text_clear(&encoded);
    rgm_feature_clear(&value);
    rgm_graph_builder_release(builder);
    rgm_graph_release(graph);
    rgm_graph_release(read);
}

/* Processor time for all that is done with a schema of so many names, the least of three. */
static double time_of_names(int names)
{
    rgm_text text = {0}, printed = {0};
    double least = INFINITY;

    print_wide_schema(&text, names);
    for (int i = 0; i < 3; i++) {
        clock_t begin = clock();
        rgm_schema *schema, *copy;

        CHECK_OK(parse(&schema, text.data));
        printed.size = 0;
        CHECK_OK(rgm_schema_print(&printed, schema));
        CHECK_OK(rgm_schema_copy(&copy, schema));
        CHECK_OK(rgm_schema_check_has(copy, schema));
        use_wide_schema(copy);
        rgm_schema_release(copy);
        rgm_schema_release(schema);
        least = fmin(least, (double)(clock() - begin) / CLOCKS_PER_SEC);
    }
    rgm_text_clear(&text);
    rgm_text_clear(&printed);
    return least;
}

/* Every feature was compared with all before it, and moved with all of them: 16 times the time of a
 * quarter as many. */
static void many_features_of_one_set_take_time_as_they_are_many(void **state)
{
    (void)state;
    double few = time_of_names(4000), many = time_of_names(16000);

    print_message("4,000 names: %.3f s, 16,000: %.3f s\n", few, many);
    CHECK(many < 10 * few);
}

static void a_feature_of_many_is_found_behind_one_that_went(void **state)
{
    rgm_schema *schema;
    rgm_text text = {0};

    (void)state;
    print_wide_schema(&text, 40);
    CHECK_OK(parse(&schema, text.data));
    rgmi_schema_drop_feature(schema, 1, 7);
    CHECK(rgm_set_feature(rgm_schema_set(schema, 1), "x7") == NULL);
    for (int i = 8; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        CHECK_TEXT(name, rgm_set_feature(rgm_schema_set(schema, 1), name)->name);
    }
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_schema_add_feature(schema, RGM_NODE_SET, "n", "x39", RGM_I64, 0, NULL));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_NODE_SET, "n", "x7", RGM_F32, 0, NULL));
    CHECK_INT(RGM_F32, rgm_set_feature(rgm_schema_set(schema, 1), "x7")->dtype);
    rgm_schema_release(schema);
    rgm_text_clear(&text);
}

static rgm_status parse_and_copy_wide(const rgm_text *text)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL, *copy = NULL;

    RGM_GO(parse(&schema, text->data));
    RGM_GO(rgm_schema_copy(&copy, schema));
done:
    rgm_schema_release(copy);
    rgm_schema_release(schema);
    return status;
}

static void many_features_survive_every_failing_allocation(void **state)
{
    rgm_text text = {0};

    (void)state;
    print_wide_schema(&text, 40);
    CHECK_EVERY_OOM(parse_and_copy_wide(&text), (void)0);
    rgm_text_clear(&text);
}

static void items_have_a_width_that_memory_is_taken_for(void **state)
{
    (void)state;
    check_refused(RGM_ERR_DATA,
                  "node_sets { key: \"a\" value { features { key: \"x\" value { dtype: DT_FLOAT "
                  "shape { dim { size: 4294967296 } dim { size: 4294967296 } } } } } }",
                  "node set 'a': feature 'x': its dims make more than 16777216 values an item");
    check_refused(RGM_ERR_DATA,
                  "context { features { key: \"x\" value { dtype: DT_FLOAT "
                  "shape { dim { size: 200000000 } } } } }",
                  "context: feature 'x': its dims make more than 16777216 values an item");
}

static void parsing_and_copying_survive_every_failing_allocation(void **state)
{
    rgm_schema *schema = parse_schema(full_text), *out;
    rgm_text text = {0};

    (void)state;
    CHECK_EVERY_OOM(parse(&out, full_text), rgm_schema_release(out));
    CHECK_EVERY_OOM(rgm_schema_copy(&out, schema), rgm_schema_release(out));
    rgm_schema_release(schema);
    rgm_text_clear(&text);
}

TESTS(cmocka_unit_test(the_shop_parses), cmocka_unit_test(what_is_read_is_written_again),
      cmocka_unit_test(a_schema_made_by_calls_is_the_one_parsed),
      cmocka_unit_test(mistakes_in_the_text_have_a_place),
      cmocka_unit_test(a_schema_that_contradicts_itself_is_refused),
      cmocka_unit_test(readout_sets_must_be_in_order),
      cmocka_unit_test(text_is_read_as_protobuf_reads_it),
      cmocka_unit_test(auxiliary_names_have_their_prefix),
      cmocka_unit_test(one_schema_has_what_another_requires),
      cmocka_unit_test(a_file_round_trip_keeps_the_schema),
      cmocka_unit_test(many_sets_are_read_in_little_time),
      cmocka_unit_test(many_features_of_one_set_take_time_as_they_are_many),
      cmocka_unit_test(a_feature_of_many_is_found_behind_one_that_went),
      cmocka_unit_test(many_features_survive_every_failing_allocation),
      cmocka_unit_test(items_have_a_width_that_memory_is_taken_for),
      cmocka_unit_test(parsing_and_copying_survive_every_failing_allocation))
