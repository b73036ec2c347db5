/*
 * A graph of two node sets and three edge sets, with features of every form, that tests sample.
 */
#ifndef RGM_MIXED_GRAPH_CHECK_H
#define RGM_MIXED_GRAPH_CHECK_H

#include <check.h>
#include <regimen/graph.h>

#include <stdio.h>

static inline rgm_tensor *ints(int64_t count, const int64_t *values)
{
    rgm_tensor *t;
    CHECK_OK(rgm_tensor_create_from(&t, RGM_I64, 1, &count, values));
    return t;
}

static inline void give(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                        const char *name, rgm_tensor *values)
{
    rgm_feature feature = {.values = values};
    CHECK_OK(rgm_graph_builder_feature(builder, piece, set, name, &feature));
    rgm_tensor_release(values);
}

static inline rgm_tensor *random_ints(const rgm_rng *rng, uint64_t *at, int64_t count,
                                      int64_t below)
{
    rgm_tensor *t;
    CHECK_OK(rgm_tensor_create(&t, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(t)[i] = (int64_t)rgm_rng_below(rng, (*at)++, (uint64_t)below);
    return t;
}

#define NODES_A  60
#define NODES_B  40
#define EDGES_AB 300
#define EDGES_AA 500

static inline void give_lists_and_names(rgm_graph_builder *builder)
{
    int64_t nodes = NODES_A, tag_count = 0;
    char names[NODES_A][8];
    rgm_feature tags = {0};
    rgm_str text[NODES_A];
    rgm_tensor *name;

    CHECK_OK(rgm_tensor_create(&tags.row_lengths[1], RGM_I64, 1, &nodes));
    for (int64_t i = 0; i < NODES_A; i++)
        tag_count += rgm_tensor_i64(tags.row_lengths[1])[i] = i % 3;
    CHECK_OK(rgm_tensor_create(&tags.values, RGM_I64, 1, &tag_count));
    for (int64_t i = 0, t = 0; i < NODES_A; i++)
        for (int64_t k = 0; k < i % 3; k++)
            rgm_tensor_i64(tags.values)[t++] = 100 * i + k;
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_NODE_SET, "a", "tags", &tags));
    rgm_feature_clear(&tags);
    for (int i = 0; i < NODES_A; i++)
        text[i] = (rgm_str){names[i], snprintf(names[i], sizeof names[i], "n%d", i)};
    CHECK_OK(rgm_tensor_create_from(&name, RGM_STRING, 1, &nodes, text));
    give(builder, RGM_NODE_SET, "a", "name", name);
}

/*
 * Node sets a (feature "x" = 10 * node, "tags" ragged: node % 3 of them, each 100 * node + k,
 * "name") and b; edge sets ab, ba (from b to a), aa with "weight" = edge % 7 and "number" = edge.
 */
static inline rgm_graph *mixed_graph(void)
{
    rgm_schema *schema;
    rgm_graph_builder *builder;
    rgm_graph *graph;
    rgm_rng rng = rgm_rng_stream(11, "mixed", 0);
    uint64_t at = 0;
    int64_t sizes[] = {NODES_A, NODES_B, EDGES_AB, EDGES_AB, EDGES_AA};
    const char *edge_sets[] = {"ab", "ba", "aa"},
               *ends[3][2] = {{"a", "b"}, {"b", "a"}, {"a", "a"}};
    rgm_tensor *x, *weight, *number;

    CHECK_OK(rgm_schema_create(&schema));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_CONTEXT_PIECE, NULL, "year", RGM_I64, 0, NULL));
    CHECK_OK(rgm_schema_add_node_set(schema, "a"));
    CHECK_OK(rgm_schema_add_node_set(schema, "b"));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_NODE_SET, "a", "x", RGM_F32, 1, (int64_t[]){2}));
    CHECK_OK(
        rgm_schema_add_feature(schema, RGM_NODE_SET, "a", "tags", RGM_I64, 1, (int64_t[]){-1}));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_NODE_SET, "a", "name", RGM_STRING, 0, NULL));
    for (int i = 0; i < 3; i++)
        CHECK_OK(rgm_schema_add_edge_set(schema, edge_sets[i], ends[i][0], ends[i][1]));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_EDGE_SET, "aa", "weight", RGM_F32, 0, NULL));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_EDGE_SET, "aa", "number", RGM_I64, 0, NULL));

    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    give(builder, RGM_CONTEXT_PIECE, NULL, "year", ints(1, (int64_t[]){1999}));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "a", &sizes[0]));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "b", &sizes[1]));
    CHECK_OK(rgm_tensor_create(&x, RGM_F32, 2, (int64_t[]){NODES_A, 2}));
    for (int64_t i = 0; i < 2 * NODES_A; i++)
        rgm_tensor_f32(x)[i] = (float)(10 * (i / 2) + i % 2);
    give(builder, RGM_NODE_SET, "a", "x", x);
    give_lists_and_names(builder);
    for (int i = 0; i < 3; i++) {
        int64_t count = sizes[2 + i];
        rgm_tensor *s = random_ints(&rng, &at, count, i == 1 ? NODES_B : NODES_A);
        rgm_tensor *t = random_ints(&rng, &at, count, i == 0 ? NODES_B : NODES_A);
        CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, edge_sets[i], &count));
        CHECK_OK(rgm_graph_builder_edges(builder, edge_sets[i], s, t));
        rgm_tensor_release(s);
        rgm_tensor_release(t);
    }
    CHECK_OK(rgm_tensor_create(&weight, RGM_F32, 1, (int64_t[]){EDGES_AA}));
    CHECK_OK(rgm_tensor_create(&number, RGM_I64, 1, (int64_t[]){EDGES_AA}));
    for (int64_t i = 0; i < EDGES_AA; i++) {
        rgm_tensor_f32(weight)[i] = (float)(i % 7);
        rgm_tensor_i64(number)[i] = i;
    }
    give(builder, RGM_EDGE_SET, "aa", "weight", weight);
    give(builder, RGM_EDGE_SET, "aa", "number", number);
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
    return graph;
}

#endif
