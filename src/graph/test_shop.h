/*
 * The schema and two Examples that the gnn tests share:
 * users with ragged tags, items with vectors, purchases, a label.
 */
#ifndef RGM_GRAPH_TEST_SHOP_H
#define RGM_GRAPH_TEST_SHOP_H

#include <regimen/graph_value.h>

#include <check.h>

static const char shop_text[] =
    "context { features { key: \"label\" value { dtype: DT_INT64 } } }\n"
    "node_sets { key: \"user\" value {\n"
    "  features { key: \"age\" value { dtype: DT_FLOAT } }\n"
    "  features { key: \"tags\" value { dtype: DT_STRING shape { dim { size: -1 } } } } } }\n"
    "node_sets { key: \"item\" value {\n"
    "  features { key: \"vec\" value { dtype: DT_FLOAT shape { dim { size: 4 } } } } } }\n"
    "edge_sets { key: \"buys\" value { source: \"user\" target: \"item\" } }\n";

static inline rgm_schema *parse_schema(const char *text)
{
    rgm_schema *schema;

    CHECK_OK(rgm_schema_parse(&schema, text, (int64_t)strlen(text), "test.pbtxt"));
    return schema;
}

static inline rgm_tensor *ints(int64_t count, const int64_t *numbers)
{
    rgm_tensor *tensor;

    CHECK_OK(rgm_tensor_create_from(&tensor, RGM_I64, 1, &count, numbers));
    return tensor;
}
#define INTS(...)                                                                                  \
    ints((int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__})

static inline rgm_tensor *floats(int rank, const int64_t *shape, const float *numbers)
{
    rgm_tensor *tensor;

    CHECK_OK(rgm_tensor_create_from(&tensor, RGM_F32, rank, shape, numbers));
    return tensor;
}

static inline rgm_tensor *strings(int64_t count, const char *const *texts)
{
    rgm_tensor *tensor;
    rgm_str parts[16];

    for (int64_t i = 0; i < count; i++)
        parts[i] = (rgm_str){texts[i], (int64_t)strlen(texts[i])};
    CHECK_OK(rgm_tensor_create_from(&tensor, RGM_STRING, 1, &count, parts));
    return tensor;
}

static inline void add_feature(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                               const char *name, rgm_tensor *values, rgm_tensor *lengths)
{
    rgm_feature feature = {.values = values, .row_lengths = {NULL, lengths}};

    CHECK_OK(rgm_graph_builder_feature(builder, piece, set, name, &feature));
    rgm_feature_clear(&feature);
}

/** The first Example: 2 users, 1 item, 2 purchases. */
static inline rgm_graph *first_shop(rgm_schema *schema)
{
    rgm_graph_builder *b;
    rgm_graph *graph;
    rgm_tensor *source = INTS(0, 1), *target = INTS(0, 0);

    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "user", (int64_t[]){2}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "item", (int64_t[]){1}));
    CHECK_OK(rgm_graph_builder_edges(b, "buys", source, target));
    add_feature(b, RGM_CONTEXT_PIECE, NULL, "label", INTS(1), NULL);
    add_feature(b, RGM_NODE_SET, "user", "age", floats(1, (int64_t[]){2}, (float[]){31, 45}), NULL);
    add_feature(b, RGM_NODE_SET, "user", "tags", strings(3, (const char *[]){"a", "b", "c"}),
                INTS(2, 1));
    add_feature(b, RGM_NODE_SET, "item", "vec", floats(2, (int64_t[]){1, 4}, (float[]){1, 2, 3, 4}),
                NULL);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    return graph;
}

/** The second one: 1 user, 2 items, 1 purchase from user 0 of item 1. */
static inline rgm_graph *second_shop(rgm_schema *schema)
{
    rgm_graph_builder *b;
    rgm_graph *graph;
    rgm_tensor *source = INTS(0), *target = INTS(1);

    CHECK_OK(rgm_graph_builder_create(&b, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "user", (int64_t[]){1}));
    CHECK_OK(rgm_graph_builder_sizes(b, RGM_NODE_SET, "item", (int64_t[]){2}));
    CHECK_OK(rgm_graph_builder_edges(b, "buys", source, target));
    add_feature(b, RGM_CONTEXT_PIECE, NULL, "label", INTS(7), NULL);
    add_feature(b, RGM_NODE_SET, "user", "age", floats(1, (int64_t[]){1}, (float[]){20}), NULL);
    add_feature(b, RGM_NODE_SET, "user", "tags", strings(2, (const char *[]){"d", ""}), INTS(2));
    add_feature(b, RGM_NODE_SET, "item", "vec",
                floats(2, (int64_t[]){2, 4}, (float[]){5, 6, 7, 8, 9, 10, 11, 12}), NULL);
    CHECK_OK(rgm_graph_builder_finish(&graph, b));
    rgm_graph_builder_release(b);
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    return graph;
}

static inline void check_ints(const rgm_tensor *tensor, int64_t count, const int64_t *expected)
{
    CHECK_INT(count, rgm_tensor_count(tensor));
    for (int64_t i = 0; i < count; i++)
        CHECK_INT(expected[i], rgm_tensor_at_int(tensor, i));
}
#define CHECK_INTS(tensor, ...)                                                                    \
    check_ints(tensor, (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),              \
               (int64_t[]){__VA_ARGS__})

/** Same sets, sizes, edges and features. */
static inline void check_same_feature(const rgm_feature *a, const rgm_feature *b)
{
    CHECK((a == NULL) == (b == NULL));
    if (a == NULL)
        return;
    CHECK(rgm_tensor_equal(a->values, b->values));
    for (int k = 0; k < RGM_MAX_RANK; k++) {
        CHECK((a->row_lengths[k] == NULL) == (b->row_lengths[k] == NULL));
        CHECK(a->row_lengths[k] == NULL || rgm_tensor_equal(a->row_lengths[k], b->row_lengths[k]));
    }
}

static inline void check_same_graph(const rgm_graph *a, const rgm_graph *b)
{
    const rgm_schema *schema = rgm_graph_schema(a);

    CHECK_INT(rgm_graph_components(a), rgm_graph_components(b));
    CHECK_INT(rgm_schema_set_count(schema), rgm_schema_set_count(rgm_graph_schema(b)));
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        for (int64_t c = 0; c < rgm_graph_components(a); c++)
            CHECK_INT(rgm_graph_sizes(a, set->piece, set->name)[c],
                      rgm_graph_sizes(b, set->piece, set->name)[c]);
        if (set->piece == RGM_EDGE_SET) {
            CHECK(rgm_tensor_equal(rgm_graph_source(a, set->name), rgm_graph_source(b, set->name)));
            CHECK(rgm_tensor_equal(rgm_graph_target(a, set->name), rgm_graph_target(b, set->name)));
        }
        for (int64_t j = 0; j < set->feature_count; j++)
            check_same_feature(rgm_graph_feature(a, set->piece, set->name, set->features[j].name),
                               rgm_graph_feature(b, set->piece, set->name, set->features[j].name));
    }
}

#endif
