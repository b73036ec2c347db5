/*
 * Graphs as elements in bytes: what is decoded is the graph, with padding and without a feature;
 * bytes that are cut or changed are refused or sound.
 */
#include "test_shop.h"
#include "element_bytes_check.h"

#include <regimen/graph_parts.h>

static const rgm_element_type *const types[] = {&rgm_graph_element, NULL};

static rgm_element *element_of(rgm_graph *graph)
{
    rgm_element *element;

    CHECK_OK(rgm_element_create_pointer(&element, &rgm_graph_element, graph));
    return element;
}

/** Two shops in one graph, padded to three components, with one feature missing. */
static rgm_graph *padded_shops(void)
{
    rgm_schema *schema = parse_schema(shop_text);
    rgm_graph *shops[2] = {first_shop(schema), second_shop(schema)}, *both, *padded, *lacking;
    rgm_size_constraints *sizes;
    int64_t real;

    CHECK_OK(rgm_graph_merge(&both, shops, 2));
    CHECK_OK(rgm_size_constraints_create(&sizes, schema));
    CHECK_OK(rgm_size_constraints_set(sizes, RGM_CONTEXT_PIECE, NULL, 3, 0));
    CHECK_OK(rgm_size_constraints_set(sizes, RGM_NODE_SET, "user", 5, 1));
    CHECK_OK(rgm_size_constraints_set(sizes, RGM_NODE_SET, "item", 6, 1));
    CHECK_OK(rgm_size_constraints_set(sizes, RGM_EDGE_SET, "buys", 7, 0));
    CHECK_OK(rgm_graph_pad(&padded, &real, both, sizes));
    CHECK_OK(rgm_graph_without_feature(&lacking, padded, RGM_NODE_SET, "user", "age"));
    rgm_size_constraints_release(sizes);
    rgm_graph_release(shops[0]);
    rgm_graph_release(shops[1]);
    rgm_graph_release(both);
    rgm_graph_release(padded);
    rgm_schema_release(schema);
    return lacking;
}

static void check_there_and_back(rgm_graph *graph)
{
    rgm_element *from = element_of(graph), *to;
    rgm_text bytes = {0}, again = {0};
    const rgm_graph *got;

    CHECK_OK(rgm_element_encode(&bytes, from));
    CHECK_OK(rgm_element_decode(&to, bytes.data, bytes.size, types));
    got = rgm_element_pointer(to, &rgm_graph_element);
    check_same_graph(graph, got);
    CHECK_INT(rgm_graph_components(graph), rgm_graph_components(got));
    CHECK_INT(rgm_graph_real_components(graph), rgm_graph_real_components(got));
    CHECK_INT(rgm_graph_real_total(graph, RGM_NODE_SET, "item"),
              rgm_graph_real_total(got, RGM_NODE_SET, "item"));
    CHECK_OK(rgm_element_encode(&again, to));
    CHECK(again.size == bytes.size && memcmp(again.data, bytes.data, (size_t)bytes.size) == 0);
    rgm_element_release(from);
    rgm_element_release(to);
    rgm_text_clear(&bytes);
    rgm_text_clear(&again);
}

static void what_is_decoded_is_the_graph(void **state)
{
    rgm_schema *schema = parse_schema(shop_text);

    (void)state;
    check_there_and_back(first_shop(schema));
    check_there_and_back(second_shop(schema));
    check_there_and_back(padded_shops());
    rgm_schema_release(schema);
}

static void a_graph_of_another_schema_has_another_form(void **state)
{
    rgm_schema *schema = parse_schema(shop_text), *other;
    rgm_element *a = element_of(first_shop(schema)), *b = element_of(second_shop(schema)), *c;
    rgm_graph *graph;

    (void)state;
    other = parse_schema("node_sets { key: \"user\" value {} }\n");
    CHECK_OK(rgm_graph_begin(&graph, other, 0, 0));
    c = element_of(graph);
    CHECK_OK(rgm_element_check_like(a, b));
    CHECK_STATUS(RGM_ERR_DATA, rgm_element_check_like(c, a));
    CHECK_MESSAGE("another schema");
    rgm_element_release(a);
    rgm_element_release(b);
    rgm_element_release(c);
    rgm_schema_release(schema);
    rgm_schema_release(other);
}

static void bytes_that_are_cut_or_changed_are_refused_or_sound(void **state)
{
    rgm_element *from = element_of(padded_shops());

    (void)state;
    check_damaged_bytes(from, types, 5);
    rgm_element_release(from);
}

static void an_edge_to_nowhere_is_refused(void **state)
{
    rgm_schema *schema = parse_schema(shop_text);
    rgm_element *from = element_of(second_shop(schema)), *to;
    rgm_text bytes = {0};
    int64_t one = 1, nine = 9, at = -1;

    (void)state;
    CHECK_OK(rgm_element_encode(&bytes, from));
    /* the last i64 in the bytes that is 1: the target of the only edge */
    for (int64_t i = 0; i + 8 <= bytes.size; i++)
        if (memcmp(bytes.data + i, &one, 8) == 0)
            at = i;
    CHECK(at > 0);
    memcpy(bytes.data + at, &nine, 8);
    CHECK_STATUS(RGM_ERR_DATA, rgm_element_decode(&to, bytes.data, bytes.size, types));
    CHECK_MESSAGE("node set 'item' has 2 nodes");
    rgm_element_release(from);
    rgm_text_clear(&bytes);
    rgm_schema_release(schema);
}

static rgm_status there_and_back(const rgm_element *from)
{
    rgm_element *to = NULL;
    rgm_text bytes = {0};
    rgm_status status = rgm_element_encode(&bytes, from);

    if (status == RGM_OK)
        status = rgm_element_decode(&to, bytes.data, bytes.size, types);
    rgm_element_release(to);
    rgm_text_clear(&bytes);
    return status;
}

static void allocations_that_fail_are_errors(void **state)
{
    rgm_element *from = element_of(padded_shops());

    (void)state;
    CHECK_EVERY_OOM(there_and_back(from), (void)0);
    rgm_element_release(from);
}

TESTS(cmocka_unit_test(what_is_decoded_is_the_graph),
      cmocka_unit_test(a_graph_of_another_schema_has_another_form),
      cmocka_unit_test(bytes_that_are_cut_or_changed_are_refused_or_sound),
      cmocka_unit_test(an_edge_to_nowhere_is_refused),
      cmocka_unit_test(allocations_that_fail_are_errors))
