#include "test_shop.h"

static rgm_schema *schema;
static rgm_graph *first, *second;

static int set_up(void **state)
{
    (void)state;
    schema = parse_schema(shop_text);
    first = first_shop(schema);
    second = second_shop(schema);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rgm_graph_release(first);
    rgm_graph_release(second);
    rgm_schema_release(schema);
    return 0;
}

static void index_vectors_shift_and_sizes_stay_apart(void **state)
{
    rgm_graph *merged;
    const rgm_feature *tags;

    (void)state;
    CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){first, second}, 2));
    CHECK_INT(2, rgm_graph_components(merged));
    CHECK_INT(2, rgm_graph_sizes(merged, RGM_NODE_SET, "user")[0]);
    CHECK_INT(1, rgm_graph_sizes(merged, RGM_NODE_SET, "user")[1]);
    CHECK_INT(2, rgm_graph_sizes(merged, RGM_NODE_SET, "item")[1]);
    CHECK_INT(1, rgm_graph_sizes(merged, RGM_EDGE_SET, "buys")[1]);
    CHECK_INTS(rgm_graph_source(merged, "buys"), 0, 1, 2);
    CHECK_INTS(rgm_graph_target(merged, "buys"), 0, 0, 2);
    CHECK_INTS(rgm_graph_feature(merged, RGM_CONTEXT_PIECE, NULL, "label")->values, 1, 7);
    tags = rgm_graph_feature(merged, RGM_NODE_SET, "user", "tags");
    CHECK_INTS(tags->row_lengths[1], 2, 1, 2);
    CHECK_INT('d', rgm_tensor_str(tags->values)[3].data[0]);
    CHECK_INT(0, rgm_tensor_str(tags->values)[4].size);
    CHECK_CLOSE(12,
                rgm_tensor_at(rgm_graph_feature(merged, RGM_NODE_SET, "item", "vec")->values, 11),
                0, 0);
    rgm_graph_release(merged);
}

static void components_are_the_graphs_again(void **state)
{
    rgm_graph *merged, *part, *twice;

    (void)state;
    CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){first, second}, 2));
    CHECK_OK(rgm_graph_merge(&twice, (rgm_graph *[]){merged, second}, 2));
    CHECK_INT(3, rgm_graph_components(twice)); /* sizes are not summed */
    CHECK_OK(rgm_graph_component(&part, twice, 0));
    check_same_graph(first, part);
    rgm_graph_release(part);
    CHECK_OK(rgm_graph_component(&part, twice, 2));
    check_same_graph(second, part);
    rgm_graph_release(part);
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_component(&part, twice, 3));
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_component(&part, twice, -1));
    rgm_graph_release(merged);
    rgm_graph_release(twice);
}

static void the_result_outlives_its_sources(void **state)
{
    rgm_graph *a = first_shop(schema), *b = second_shop(schema), *merged, *part;

    (void)state;
    CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){a, b}, 2));
    rgm_graph_release(a);
    rgm_graph_release(b);
    CHECK_OK(rgm_graph_component(&part, merged, 1));
    rgm_graph_release(merged);
    check_same_graph(second, part);
    rgm_graph_release(part);
}

static void an_absent_feature_must_be_absent_everywhere(void **state)
{
    rgm_graph_builder *b;
    rgm_graph *bare, *nothing, *merged;

    (void)state;
    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "user", (int64_t[]){1}));
    CHECK_OK(rgm_graph_builder_finish(&bare, b));
    rgm_graph_builder_release(b);
    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_finish(&nothing, b));
    rgm_graph_builder_release(b);
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_merge(&merged, (rgm_graph *[]){first, bare}, 2));
    CHECK_MESSAGE("feature 'label' is absent from graph 1 but not from graph 0");
    /* a graph without users has no say about their age */
    CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){nothing, bare}, 2));
    CHECK(rgm_graph_feature(merged, RGM_NODE_SET, "user", "age") == NULL);
    rgm_graph_release(merged);
    rgm_graph_release(bare);
    rgm_graph_release(nothing);
}

static void graphs_of_different_schemas_do_not_merge(void **state)
{
    rgm_schema *same = parse_schema(shop_text);
    rgm_graph *twin = second_shop(same), *other, *merged;

    (void)state;
    CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){first, twin}, 2));
    rgm_graph_release(merged);
    CHECK_OK(rgm_graph_without_feature(&other, second, RGM_NODE_SET, "user", "age"));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_graph_merge(&merged, (rgm_graph *[]){first, other}, 2));
    CHECK_MESSAGE("graphs 0 and 1 cannot merge: node set 'user' has no feature 'age'");
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_merge(&merged, NULL, 0));
    rgm_graph_release(other);
    rgm_graph_release(twin);
    rgm_schema_release(same);
}

static rgm_status merge_and_part(void)
{
    rgm_status status = RGM_OK;
    rgm_graph *merged = NULL, *part = NULL;

    RGM_GO(rgm_graph_merge(&merged, (rgm_graph *[]){first, second}, 2));
    RGM_GO(rgm_graph_component(&part, merged, 1));
done:
    rgm_graph_release(merged);
    rgm_graph_release(part);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(merge_and_part(), (void)0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
TESTS(TEST(index_vectors_shift_and_sizes_stay_apart), TEST(components_are_the_graphs_again),
      TEST(the_result_outlives_its_sources), TEST(an_absent_feature_must_be_absent_everywhere),
      TEST(graphs_of_different_schemas_do_not_merge), TEST(every_failing_allocation_is_survived))
