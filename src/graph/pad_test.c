#include "test_shop.h"

static rgm_schema *schema;
static rgm_graph *merged; /* users 2+1, items 1+2, purchases 2+1 */

static int set_up(void **state)
{
    rgm_graph *a, *b;

    (void)state;
    schema = parse_schema(shop_text);
    a = first_shop(schema);
    b = second_shop(schema);
    CHECK_OK(rgm_graph_merge(&merged, (rgm_graph *[]){a, b}, 2));
    rgm_graph_release(a);
    rgm_graph_release(b);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    rgm_graph_release(merged);
    rgm_schema_release(schema);
    return 0;
}

static rgm_size_constraints *limits(int64_t components, int64_t users, int64_t min_users,
                                    int64_t items, int64_t buys)
{
    rgm_size_constraints *limit;

    CHECK_OK(rgm_size_constraints_create(&limit, schema));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_CONTEXT_PIECE, NULL, components, 0));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_NODE_SET, "user", users, min_users));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_NODE_SET, "item", items, 0));
    CHECK_OK(rgm_size_constraints_set(limit, RGM_EDGE_SET, "buys", buys, 0));
    return limit;
}

static void check_sizes(const rgm_graph *graph, rgm_piece piece, const char *set,
                        const int64_t *expected)
{
    for (int64_t c = 0; c < rgm_graph_components(graph); c++)
        CHECK_INT(expected[c], rgm_graph_sizes(graph, piece, set)[c]);
}

static void padding_goes_into_the_first_fake_component(void **state)
{
    rgm_size_constraints *limit = limits(4, 10, 1, 5, 8);
    rgm_tensor *mask;
    rgm_graph *padded, *part;
    int64_t real;

    (void)state;
    CHECK(rgm_graph_fits(merged, limit));
    CHECK_OK(rgm_graph_pad(&padded, &real, merged, limit));
    CHECK_INT(2, real);
    CHECK_INT(2, rgm_graph_real_components(padded));
    check_sizes(padded, RGM_NODE_SET, "user", (int64_t[]){2, 1, 6, 1});
    check_sizes(padded, RGM_NODE_SET, "item", (int64_t[]){1, 2, 2, 0});
    check_sizes(padded, RGM_EDGE_SET, "buys", (int64_t[]){2, 1, 5, 0});
    check_sizes(padded, RGM_CONTEXT_PIECE, NULL, (int64_t[]){1, 1, 1, 1});
    /* users 3..8 are the first fake component's, evenly over 5 edges; items 3..4 */
    CHECK_INTS(rgm_graph_source(padded, "buys"), 0, 1, 2, 3, 4, 6, 7, 8);
    CHECK_INTS(rgm_graph_target(padded, "buys"), 0, 0, 2, 3, 3, 4, 4, 4);
    CHECK_INTS(rgm_graph_feature(padded, RGM_CONTEXT_PIECE, NULL, "label")->values, 1, 7, 0, 0);
    CHECK_INTS(rgm_graph_feature(padded, RGM_NODE_SET, "user", "tags")->row_lengths[1], 2, 1, 2, 0,
               0, 0, 0, 0, 0, 0);
    CHECK_CLOSE(
        0, rgm_tensor_at(rgm_graph_feature(padded, RGM_NODE_SET, "item", "vec")->values, 19), 0, 0);
    CHECK_OK(rgm_graph_real_mask(&mask, padded, RGM_NODE_SET, "user"));
    CHECK_INT(10, rgm_tensor_count(mask));
    CHECK(rgm_tensor_f32(mask)[2] == 1 && rgm_tensor_f32(mask)[3] == 0);
    CHECK_OK(rgm_graph_real_mask(&mask, padded, RGM_CONTEXT_PIECE, NULL));
    CHECK(rgm_tensor_f32(mask)[1] == 1 && rgm_tensor_f32(mask)[2] == 0);
    CHECK_INT(3, rgm_graph_real_total(padded, RGM_EDGE_SET, "buys"));
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_merge(&part, (rgm_graph *[]){padded, padded}, 2));
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_pad(&part, &real, padded, limit));
    CHECK_OK(rgm_graph_component(&part, padded, 2));
    CHECK_INT(0, rgm_graph_real_components(part));
    rgm_graph_release(part);
    rgm_graph_release(padded);
    rgm_size_constraints_release(limit);
}

static void check_misfit(rgm_size_constraints *limit, rgm_status status, const char *message)
{
    rgm_graph *padded;
    int64_t real;

    CHECK(!rgm_graph_fits(merged, limit));
    CHECK_STATUS(status, rgm_graph_pad(&padded, &real, merged, limit));
    CHECK(padded == NULL);
    CHECK_MESSAGE(message);
    rgm_size_constraints_release(limit);
}

static void what_does_not_fit_is_named(void **state)
{
    rgm_size_constraints *limit;
    rgm_graph *padded;
    int64_t real;

    (void)state;
    check_misfit(limits(3, 2, 0, 5, 8), RGM_ERR_DATA,
                 "node set 'user': 3 items and room for 1 more");
    check_misfit(limits(1, 9, 0, 5, 8), RGM_ERR_DATA, "context: 2 components");
    check_misfit(limits(2, 3, 0, 5, 3), RGM_ERR_DATA, "all 2 components are in use");
    check_misfit(limits(4, 4, 1, 5, 3), RGM_ERR_DATA, "room for 2 more do not fit a total of 4");
    check_misfit(limits(3, 4, 1, 3, 4), RGM_ERR_DATA, "node set 'item': 3 items and room for 1");
    CHECK_OK(rgm_size_constraints_create(&limit, schema));
    check_misfit(limit, RGM_ERR_ARG, "no size constraint for the context");
    limit = limits(2, 3, 1, 3, 3); /* an exact fit needs no room */
    CHECK_OK(rgm_graph_pad(&padded, &real, merged, limit));
    check_same_graph(merged, padded);
    rgm_graph_release(padded);
    CHECK_STATUS(RGM_ERR_ARG, rgm_size_constraints_set(limit, RGM_EDGE_SET, "buys", 3, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_size_constraints_set(limit, RGM_NODE_SET, "user", -1, 0));
    CHECK_INT(3, rgm_size_constraints_get(limit, RGM_NODE_SET, "user"));
    rgm_size_constraints_release(limit);
}

/* ---- learned ---- */

/* `count` graphs; graph i has 1 + i % 5 users and items, and as many purchases. */
static rgm_dataset *varied(int64_t count)
{
    rgm_element *elements[64] = {NULL};
    rgm_dataset *dataset;

    for (int64_t i = 0; i < count; i++) {
        int64_t size = 1 + i % 5;
        rgm_graph_builder *b;
        rgm_graph *graph;
        rgm_tensor *end = ints(size, (int64_t[]){0, 1, 2, 3, 4});
        CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
        CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "user", &size));
        CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "item", &size));
        CHECK_OK(rgm_graph_builder_edges(b, "buys", end, end));
        CHECK_OK(rgm_graph_builder_finish(&graph, b));
        CHECK_OK(rgm_element_create_pointer(&elements[i], &rgm_graph_element, graph));
        rgm_graph_builder_release(b);
        rgm_tensor_release(end);
    }
    CHECK_OK(rgm_dataset_from_elements(&dataset, elements, count));
    for (int64_t i = 0; i < count; i++)
        rgm_element_release(elements[i]);
    return dataset;
}

static void check_every_batch(rgm_dataset *graphs, const rgm_size_constraints *limit,
                              int64_t batch_size, double *share)
{
    rgm_iterator *iterator;
    rgm_element *list;
    int64_t batches = 0, fit = 0;

    CHECK_OK(rgm_dataset_batch(&graphs, batch_size, false));
    CHECK_OK(rgm_iterator_create(&iterator, graphs, NULL));
    while (rgm_iterator_next(&list, iterator) == RGM_OK) {
        rgm_graph *parts[16], *one, *padded;
        for (int64_t i = 0; i < rgm_element_count(list); i++)
            parts[i] = rgm_element_pointer(rgm_element_item(list, i), &rgm_graph_element);
        CHECK_OK(rgm_graph_merge(&one, parts, rgm_element_count(list)));
        batches++;
        if (rgm_graph_fits(one, limit)) {
            fit++;
            CHECK_OK(rgm_graph_pad(&padded, NULL, one, limit));
            CHECK_INT(rgm_size_constraints_get(limit, RGM_NODE_SET, "user"),
                      rgm_graph_total(padded, RGM_NODE_SET, "user"));
            rgm_graph_release(padded);
        }
        rgm_graph_release(one);
        rgm_element_release(list);
    }
    *share = (double)fit / (double)batches;
    rgm_iterator_release(iterator);
    rgm_dataset_release(graphs);
}

static void tight_padding_fits_every_batch(void **state)
{
    rgm_dataset *graphs = varied(22);
    rgm_size_constraints *limit;
    double share;

    (void)state;
    CHECK_OK(rgm_tight_padding(&limit, schema, graphs, 4, 1));
    CHECK_INT(5, rgm_size_constraints_get(limit, RGM_CONTEXT_PIECE, NULL));
    CHECK_INT(5 * 4 + 1, rgm_size_constraints_get(limit, RGM_NODE_SET, "user"));
    CHECK_INT(5 * 4, rgm_size_constraints_get(limit, RGM_EDGE_SET, "buys"));
    check_every_batch(rgm_dataset_retain(graphs), limit, 4, &share); /* the last is not full */
    CHECK_CLOSE(1, share, 0, 0);
    rgm_size_constraints_release(limit);
    CHECK_STATUS(RGM_ERR_ARG, rgm_tight_padding(&limit, schema, graphs, 0, 1));
    rgm_dataset_release(graphs);
}

static void fit_or_skip_cuts_what_varies(void **state)
{
    rgm_dataset *graphs = varied(50);
    rgm_size_constraints *tight, *all, *most, *again, *none;
    double share;

    (void)state;
    CHECK_OK(rgm_tight_padding(&tight, schema, graphs, 8, 1));
    CHECK_OK(rgm_fit_or_skip_padding(&all, schema, graphs, 8, 1, 500, 1.0, 3));
    CHECK_OK(rgm_fit_or_skip_padding(&most, schema, graphs, 8, 1, 500, 0.7, 3));
    CHECK_OK(rgm_fit_or_skip_padding(&again, schema, graphs, 8, 1, 500, 0.7, 3));
    CHECK(rgm_size_constraints_get(all, RGM_NODE_SET, "user") <=
          rgm_size_constraints_get(tight, RGM_NODE_SET, "user"));
    CHECK(rgm_size_constraints_get(most, RGM_NODE_SET, "user") <
          rgm_size_constraints_get(all, RGM_NODE_SET, "user"));
    CHECK_INT(rgm_size_constraints_get(again, RGM_NODE_SET, "user"),
              rgm_size_constraints_get(most, RGM_NODE_SET, "user"));
    CHECK_INT(9, rgm_size_constraints_get(most, RGM_CONTEXT_PIECE, NULL)); /* does not vary */
    check_every_batch(rgm_dataset_retain(graphs), most, 8, &share);
    CHECK(share > 0.5);
    CHECK_STATUS(RGM_ERR_ARG, rgm_fit_or_skip_padding(&none, schema, graphs, 8, 1, 0, 1, 3));
    CHECK(none == NULL);
    rgm_size_constraints_release(all);
    rgm_size_constraints_release(tight);
    rgm_size_constraints_release(most);
    rgm_size_constraints_release(again);
    rgm_dataset_release(graphs);
}

static void every_failing_allocation_is_survived(void **state)
{
    rgm_dataset *graphs = varied(5);
    rgm_size_constraints *limit = limits(4, 10, 1, 5, 8), *learned;
    rgm_graph *padded;

    (void)state;
    CHECK_EVERY_OOM(rgm_graph_pad(&padded, NULL, merged, limit), rgm_graph_release(padded));
    CHECK_EVERY_OOM(rgm_tight_padding(&learned, schema, graphs, 2, 1),
                    rgm_size_constraints_release(learned));
    CHECK_EVERY_OOM(rgm_fit_or_skip_padding(&learned, schema, graphs, 2, 1, 10, 0.9, 1),
                    rgm_size_constraints_release(learned));
    rgm_size_constraints_release(limit);
    rgm_dataset_release(graphs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
TESTS(TEST(padding_goes_into_the_first_fake_component), TEST(what_does_not_fit_is_named),
      TEST(tight_padding_fits_every_batch), TEST(fit_or_skip_cuts_what_varies),
      TEST(every_failing_allocation_is_survived))
