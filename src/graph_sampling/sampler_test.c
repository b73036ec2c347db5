#include <check.h>
#include <regimen/graph_import.h>
#include <regimen/graph_sampling.h>

#include "mixed_graph_check.h"
#include "sampler_internal.h"

/* ---- graphs to sample ---- */

/* Node 0 has edges 0 .. degree-1 to nodes 1 .. degree; weights [degree] or NULL; idle nodes behind.
 */
static rgm_graph *star_with(int64_t degree, const double *weights, int64_t idle)
{
    rgm_schema *schema;
    rgm_graph_builder *builder;
    rgm_graph *graph;
    int64_t nodes = degree + 1 + idle;
    rgm_tensor *source, *target, *weight;

    CHECK_OK(rgm_schema_create(&schema));
    CHECK_OK(rgm_schema_add_node_set(schema, "n"));
    CHECK_OK(rgm_schema_add_edge_set(schema, "e", "n", "n"));
    if (weights)
        CHECK_OK(rgm_schema_add_feature(schema, RGM_EDGE_SET, "e", "weight", RGM_F64, 0, NULL));
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "n", &nodes));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, "e", &degree));
    CHECK_OK(rgm_tensor_create(&source, RGM_I64, 1, &degree));
    CHECK_OK(rgm_tensor_create(&target, RGM_I64, 1, &degree));
    for (int64_t i = 0; i < degree; i++)
        rgm_tensor_i64(target)[i] = i + 1;
    CHECK_OK(rgm_graph_builder_edges(builder, "e", source, target));
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    if (weights) {
        CHECK_OK(rgm_tensor_create_from(&weight, RGM_F64, 1, &degree, weights));
        give(builder, RGM_EDGE_SET, "e", "weight", weight);
    }
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
    return graph;
}

static rgm_graph *star(int64_t degree, const double *weights)
{
    return star_with(degree, weights, 0);
}

static rgm_sampler *sampler_of(rgm_graph *graph, const char *text, uint64_t seed)
{
    rgm_sampling_spec *spec;
    rgm_sampler *sampler;

    CHECK_OK(rgm_sampling_spec_parse(&spec, text, (int64_t)strlen(text), "spec",
                                     rgm_graph_schema(graph)));
    CHECK_OK(rgm_sampler_create(&sampler, graph, spec, seed));
    rgm_sampling_spec_release(spec);
    return sampler;
}

static const char mixed_spec[] =
    "seed_op { op_name: 'seed' node_set_name: 'a' }\n"
    "sampling_ops { op_name: 'aa1' input_op_names: 'seed' edge_set_name: 'aa' sample_size: 4 "
    "strategy: RANDOM_UNIFORM }\n"
    "sampling_ops { op_name: 'ab' input_op_names: ['seed', 'aa1'] edge_set_name: 'ab' "
    "sample_size: 3 strategy: RANDOM_UNIFORM }\n"
    "sampling_ops { op_name: 'ba' input_op_names: 'ab' edge_set_name: 'ba' sample_size: 2 "
    "strategy: RANDOM_UNIFORM }\n"
    "sampling_ops { op_name: 'aa2' input_op_names: ['ba', 'aa1'] edge_set_name: 'aa' "
    "sample_size: 3 strategy: RANDOM_WEIGHTED }\n"
    "sampling_ops { op_name: 'back' input_op_names: 'aa1' edge_set_name: '<aa' sample_size: 2 "
    "strategy: TOP_K }\n";

static const int64_t *values_of(const rgm_graph *graph, rgm_piece piece, const char *set,
                                const char *feature)
{
    const rgm_feature *f = rgm_graph_feature(graph, piece, set, feature);
    CHECK(f != NULL);
    return rgm_tensor_i64(f->values);
}

/* ---- random words ---- */

static void words_are_those_of_the_stream_for_any_count(void **state)
{
    rgm_rng rng = rgm_rng_stream(3, "words", 0x123456789abcdef0);
    const uint64_t starts[] = {0, 5, UINT64_C(0xfffffffe), UINT64_C(0xfffffffffffffffd)};

    (void)state;
    for (int s = 0; s < 4; s++) {
        for (int64_t count = 0; count <= 9; count++) {
            uint32_t words[9 * 4 + 1], block[4];
            words[count * 4] = 77;
            rgmi_random_words(words, &rng, starts[s], count);
            for (int64_t i = 0; i < count; i++) {
                rgm_rng_block(&rng, starts[s] + (uint64_t)i, block);
                CHECK(memcmp(block, words + 4 * i, sizeof block) == 0);
            }
            CHECK_INT(77, words[count * 4]);
        }
    }
}

/* ---- properties of every subgraph ---- */

static bool has_edge(const rgm_graph *graph, const char *set, int64_t s, int64_t t)
{
    const int64_t *source = rgm_tensor_i64(rgm_graph_source(graph, set));
    const int64_t *target = rgm_tensor_i64(rgm_graph_target(graph, set));

    for (int64_t i = 0; i < rgm_graph_total(graph, RGM_EDGE_SET, set); i++)
        if (source[i] == s && target[i] == t)
            return true;
    return false;
}

static void check_edges_exist(const rgm_graph *big, const rgm_graph *small, const char *set,
                              const char *from, const char *to)
{
    const int64_t *source = rgm_tensor_i64(rgm_graph_source(small, set));
    const int64_t *target = rgm_tensor_i64(rgm_graph_target(small, set));
    const int64_t *from_id = values_of(small, RGM_NODE_SET, from, "#id");
    const int64_t *to_id = values_of(small, RGM_NODE_SET, to, "#id");

    for (int64_t i = 0; i < rgm_graph_total(small, RGM_EDGE_SET, set); i++) {
        CHECK(source[i] >= 0 && source[i] < rgm_graph_total(small, RGM_NODE_SET, from));
        CHECK(target[i] >= 0 && target[i] < rgm_graph_total(small, RGM_NODE_SET, to));
        CHECK(has_edge(big, set, from_id[source[i]], to_id[target[i]]));
    }
}

static void check_distinct(const int64_t *values, int64_t count, int64_t below)
{
    bool *seen = test_calloc((size_t)below, sizeof *seen);
    for (int64_t i = 0; i < count; i++) {
        CHECK(values[i] >= 0 && values[i] < below && !seen[values[i]]);
        seen[values[i]] = true;
    }
    test_free(seen);
}

static void check_subgraph(const rgm_graph *big, const rgm_graph *small)
{
    int64_t a = rgm_graph_total(small, RGM_NODE_SET, "a");
    const int64_t *id = values_of(small, RGM_NODE_SET, "a", "#id");
    const rgm_feature *x = rgm_graph_feature(small, RGM_NODE_SET, "a", "x");
    const rgm_feature *tags = rgm_graph_feature(small, RGM_NODE_SET, "a", "tags");
    const rgm_feature *name = rgm_graph_feature(small, RGM_NODE_SET, "a", "name");
    const int64_t *number = values_of(small, RGM_EDGE_SET, "aa", "number");
    const int64_t *source = rgm_tensor_i64(rgm_graph_source(small, "aa"));
    int64_t tag = 0;

    check_edges_exist(big, small, "aa", "a", "a");
    check_edges_exist(big, small, "ab", "a", "b");
    check_edges_exist(big, small, "ba", "b", "a");
    check_distinct(id, a, NODES_A);
    check_distinct(values_of(small, RGM_NODE_SET, "b", "#id"),
                   rgm_graph_total(small, RGM_NODE_SET, "b"), NODES_B);
    check_distinct(number, rgm_graph_total(small, RGM_EDGE_SET, "aa"), EDGES_AA);
    for (int64_t i = 0; i < rgm_graph_total(small, RGM_EDGE_SET, "aa"); i++)
        CHECK_INT(rgm_tensor_i64(rgm_graph_source(big, "aa"))[number[i]], id[source[i]]);
    for (int64_t i = 0; i < a; i++) {
        char text[8];
        CHECK_INT(10 * id[i] + 1, rgm_tensor_f32(x->values)[2 * i + 1]);
        CHECK_INT(id[i] % 3, rgm_tensor_i64(tags->row_lengths[1])[i]);
        for (int64_t k = 0; k < id[i] % 3; k++)
            CHECK_INT(100 * id[i] + k, rgm_tensor_i64(tags->values)[tag++]);
        snprintf(text, sizeof text, "n%d", (int)id[i]);
        CHECK_INT(strlen(text), rgm_tensor_str(name->values)[i].size);
        CHECK(memcmp(text, rgm_tensor_str(name->values)[i].data, strlen(text)) == 0);
    }
    CHECK_INT(tag, rgm_tensor_count(tags->values));
    CHECK_INT(1999, values_of(small, RGM_CONTEXT_PIECE, NULL, "year")[0]);
}

static void every_subgraph_is_part_of_the_graph(void **state)
{
    rgm_graph *big = mixed_graph(), *small;
    rgm_sampler *sampler = sampler_of(big, mixed_spec, 5);

    (void)state;
    for (int64_t node = 0; node < NODES_A; node++) {
        CHECK_OK(rgm_sampler_sample(&small, sampler, node, (uint64_t)node % 4));
        CHECK_INT(node, values_of(small, RGM_NODE_SET, "a", "#id")[0]);
        CHECK(rgm_graph_schema(small) == rgm_sampler_schema(sampler));
        check_subgraph(big, small);
        rgm_graph_release(small);
    }
    rgm_sampler_release(sampler);
    rgm_graph_release(big);
}

static void a_batch_is_part_of_the_graph_with_seeds_first(void **state)
{
    rgm_graph *big = mixed_graph(), *small;
    rgm_sampler *sampler = sampler_of(big, mixed_spec, 5);
    const int64_t seeds[] = {7, 3, 7, 59, 0};
    const int64_t *id, *from, *to;

    (void)state;
    for (uint64_t epoch = 0; epoch < 20; epoch++) {
        CHECK_OK(rgm_sampler_batch(&small, sampler, seeds, 5, epoch, NULL));
        check_subgraph(big, small);
        id = values_of(small, RGM_NODE_SET, "a", "#id");
        CHECK(id[0] == 7 && id[1] == 3 && id[2] == 59 && id[3] == 0);
        CHECK_INT(5, rgm_graph_total(small, RGM_NODE_SET, "_readout"));
        CHECK_OK(rgm_graph_check_readout(small, "_readout"));
        from = rgm_tensor_i64(rgm_graph_source(small, "_readout/seed"));
        to = rgm_tensor_i64(rgm_graph_target(small, "_readout/seed"));
        for (int i = 0; i < 5; i++) {
            CHECK_INT(seeds[i], id[from[i]]);
            CHECK_INT(i, to[i]);
        }
        rgm_graph_release(small);
    }
    rgm_sampler_release(sampler);
    rgm_graph_release(big);
}

/* The whole graph's degree of a node at the source of aa. */
static int64_t degree_of(const rgm_graph *graph, const char *set, int64_t node)
{
    const int64_t *source = rgm_tensor_i64(rgm_graph_source(graph, set));
    int64_t degree = 0;

    for (int64_t i = 0; i < rgm_graph_total(graph, RGM_EDGE_SET, set); i++)
        degree += source[i] == node;
    return degree;
}

/* The most edges of aa that start at one node of a batch of two hops, 4 and 3 wide. */
static int64_t most_edges(rgm_sampler *sampler, bool once, int64_t *edges)
{
    const int64_t seeds[] = {7, 3, 59, 0, 12, 30, 31, 32};
    int64_t degree[NODES_A] = {0}, most = 0;
    rgm_graph *small;

    rgm_sampler_set_once(sampler, once);
    CHECK_OK(rgm_sampler_batch(&small, sampler, seeds, 8, 0, NULL));
    *edges = rgm_graph_total(small, RGM_EDGE_SET, "aa");
    for (int64_t i = 0; i < *edges; i++) {
        int64_t node = rgm_tensor_i64(rgm_graph_source(small, "aa"))[i];

        degree[node]++;
        CHECK(!once || degree[node] <= (node < 8 ? 4 : 3));
        most = degree[node] > most ? degree[node] : most;
    }
    rgm_graph_release(small);
    return most;
}

static void a_node_can_be_drawn_from_once(void **state)
{
    rgm_graph *big = mixed_graph();
    rgm_sampler *sampler = sampler_of(
        big,
        "seed_op { op_name: 'seed' node_set_name: 'a' }\n"
        "sampling_ops { op_name: 'one' input_op_names: 'seed' edge_set_name: 'aa' sample_size: 4 "
        "strategy: RANDOM_UNIFORM }\n"
        "sampling_ops { op_name: 'two' input_op_names: 'one' edge_set_name: 'aa' sample_size: 3 "
        "strategy: RANDOM_WEIGHTED }\n",
        5);
    int64_t often, once;

    (void)state;
    CHECK(most_edges(sampler, false, &often) > 4); /* a seed that a seed leads to is drawn again */
    CHECK_INT(4, most_edges(sampler, true, &once));
    CHECK(once < often);
    rgm_sampler_release(sampler);
    rgm_graph_release(big);
}

static void one_hop_takes_the_smaller_of_size_and_degree(void **state)
{
    rgm_graph *big = mixed_graph(), *small;
    char text[300];

    (void)state;
    for (int64_t size = 1; size < 20; size += 3) {
        rgm_sampler *sampler;
        snprintf(text, sizeof text,
                 "seed_op { op_name: 's' node_set_name: 'a' } sampling_ops { op_name: 'h' "
                 "input_op_names: 's' edge_set_name: 'aa' sample_size: %d strategy: 1 }",
                 (int)size);
        sampler = sampler_of(big, text, 1);
        for (int64_t node = 0; node < NODES_A; node++) {
            int64_t degree = degree_of(big, "aa", node);
            CHECK_OK(rgm_sampler_sample(&small, sampler, node, 0));
            CHECK_INT(degree < size ? degree : size, rgm_graph_total(small, RGM_EDGE_SET, "aa"));
            rgm_graph_release(small);
        }
        rgm_sampler_release(sampler);
    }
    rgm_graph_release(big);
}

static void sampling_more_than_there_is_gives_the_whole_neighbourhood_once(void **state)
{
    rgm_graph *big = mixed_graph(), *small;
    rgm_sampler *sampler = sampler_of(
        big,
        "seed_op { op_name: 's' node_set_name: 'a' }"
        "sampling_ops { op_name: '1' input_op_names: 's' edge_set_name: 'aa' sample_size: 999 "
        "strategy: RANDOM_UNIFORM }"
        "sampling_ops { op_name: '2' input_op_names: ['s', '1'] edge_set_name: 'aa' sample_size: "
        "999 "
        "strategy: RANDOM_UNIFORM }"
        "sampling_ops { op_name: '3' input_op_names: ['2'] edge_set_name: '<aa' sample_size: 999 "
        "strategy: RANDOM_UNIFORM }",
        1);
    int64_t reached[3][NODES_A] = {{0}}, edges = 0;
    const int64_t *source = rgm_tensor_i64(rgm_graph_source(big, "aa"));
    const int64_t *target = rgm_tensor_i64(rgm_graph_target(big, "aa"));

    (void)state;
    /* Edges taken by hand: forward from {0}, forward from {0} + reached, backward from what that
     * hit. */
    for (int64_t i = 0; i < EDGES_AA; i++)
        if (source[i] == 0)
            reached[0][target[i]] = 1;
    for (int64_t i = 0; i < EDGES_AA; i++)
        if (source[i] == 0 || reached[0][source[i]])
            reached[1][target[i]] = 1;
    for (int64_t i = 0; i < EDGES_AA; i++)
        edges += source[i] == 0 || reached[0][source[i]] || reached[1][target[i]];
    CHECK_OK(rgm_sampler_sample(&small, sampler, 0, 9));
    CHECK_INT(edges, rgm_graph_total(small, RGM_EDGE_SET, "aa"));
    check_distinct(values_of(small, RGM_EDGE_SET, "aa", "number"), edges, EDGES_AA);
    rgm_graph_release(small);
    rgm_sampler_release(sampler);
    rgm_graph_release(big);
}

/* ---- distributions ---- */

#define STAR_SPEC                                                                                  \
    "seed_op { op_name: 's' node_set_name: 'n' } sampling_ops { op_name: 'h' "                     \
    "input_op_names: 's' edge_set_name: 'e' sample_size: %d strategy: %s }"

static rgm_sampler *star_sampler(rgm_graph *graph, int size, const char *strategy)
{
    char text[300];

    snprintf(text, sizeof text, STAR_SPEC, size, strategy);
    return sampler_of(graph, text, 77);
}

/* Upper 1e-6 quantile of chi-square with n degrees of freedom (Wilson and Hilferty). */
static double chi_limit(double n)
{
    double z = 4.7534, a = 2 / (9 * n);
    return n * pow(1 - a + z * sqrt(a), 3);
}

/* How often each neighbour was taken in `rounds` epochs. */
static void count_taken(int64_t *taken, int64_t degree, const rgm_sampler *sampler, int64_t rounds,
                        int64_t expected)
{
    memset(taken, 0, (size_t)(degree + 1) * sizeof *taken);
    for (int64_t r = 0; r < rounds; r++) {
        rgm_graph *small;
        const int64_t *id;
        int64_t count;
        CHECK_OK(rgm_sampler_sample(&small, sampler, 0, (uint64_t)r));
        id = values_of(small, RGM_NODE_SET, "n", "#id");
        count = rgm_graph_total(small, RGM_NODE_SET, "n");
        CHECK_INT(expected, count - 1);
        for (int64_t i = 1; i < count; i++)
            taken[id[i]]++;
        rgm_graph_release(small);
    }
}

static void uniform_draws_take_every_neighbour_equally_often(void **state)
{
    /* In one word, few of many, many of many. */
    const struct {
        int64_t degree;
        int size;
    } cases[] = {{13, 5}, {64, 63}, {64, 1}, {65, 5}, {300, 20}, {200, 50}, {129, 100}};

    (void)state;
    for (int c = 0; c < 7; c++) {
        int64_t degree = cases[c].degree, rounds = 6000, taken[302];
        double p = (double)cases[c].size / (double)degree, sum = 0;
        double mean = p * (double)rounds, variance = mean * (1 - p);
        rgm_graph *graph = star(degree, NULL);
        rgm_sampler *sampler = star_sampler(graph, cases[c].size, "RANDOM_UNIFORM");

        count_taken(taken, degree, sampler, rounds, cases[c].size);
        for (int64_t i = 1; i <= degree; i++)
            sum += ((double)taken[i] - mean) * ((double)taken[i] - mean);
        /* Draws without replacement are negatively correlated: (d - 1) / d of the variance. */
        sum *= (double)(degree - 1) / (double)degree / variance;
        CHECK(sum < chi_limit((double)(degree - 1)));
        CHECK(degree < 10 || cases[c].size == 1 || sum > 0.2 * (double)degree || degree < 20);
        rgm_sampler_release(sampler);
        rgm_graph_release(graph);
    }
}

static void uniform_draws_take_every_pair_equally_often(void **state)
{
    int64_t pairs[7][7] = {{0}}, rounds = 15000;
    rgm_graph *graph = star(6, NULL), *small;
    rgm_sampler *sampler = star_sampler(graph, 2, "RANDOM_UNIFORM");
    double sum = 0, mean = (double)rounds / 15;

    (void)state;
    for (int64_t r = 0; r < rounds; r++) {
        const int64_t *id;
        CHECK_OK(rgm_sampler_sample(&small, sampler, 0, (uint64_t)r));
        id = values_of(small, RGM_NODE_SET, "n", "#id");
        pairs[id[1]][id[2]]++;
        rgm_graph_release(small);
    }
    for (int a = 1; a <= 6; a++)
        for (int b = a + 1; b <= 6; b++)
            sum += ((double)pairs[a][b] - mean) * ((double)pairs[a][b] - mean) / mean;
    CHECK(sum < chi_limit(14));
    rgm_sampler_release(sampler);
    rgm_graph_release(graph);
}

static void weighted_draws_follow_the_weights(void **state)
{
    const double weights[] = {1, 2, 0, 4, 8, 5};
    int64_t taken[7], rounds = 20000, pairs = 0;
    rgm_graph *graph = star(6, weights);
    rgm_sampler *one = star_sampler(graph, 1, "RANDOM_WEIGHTED");
    rgm_sampler *two = star_sampler(graph, 2, "RANDOM_WEIGHTED");
    rgm_sampler *all = star_sampler(graph, 6, "RANDOM_WEIGHTED");
    double sum = 0, expected;

    (void)state;
    count_taken(taken, 6, one, rounds, 1);
    CHECK_INT(0, taken[3]);
    for (int i = 0; i < 6; i++) {
        double mean = weights[i] / 20 * (double)rounds;
        if (weights[i] > 0)
            sum += ((double)taken[i + 1] - mean) * ((double)taken[i + 1] - mean) / mean;
    }
    CHECK(sum < chi_limit(4));
    /* Without replacement: node 1 is in a pair when drawn first, or second after j. */
    count_taken(taken, 6, two, rounds, 2);
    expected = 1.0 / 20;
    for (int j = 1; j < 6; j++)
        expected += weights[j] / 20 * 1 / (20 - weights[j]);
    pairs = taken[1];
    CHECK_CLOSE((double)pairs / (double)rounds, expected, 0,
                4.9 * sqrt(expected * (1 - expected) / (double)rounds));
    count_taken(taken, 6, all, 10, 5); /* an edge of weight 0 is never taken */
    CHECK_INT(0, taken[3]);
    rgm_sampler_release(one);
    rgm_sampler_release(two);
    rgm_sampler_release(all);
    rgm_graph_release(graph);
}

static void top_k_takes_the_largest_and_of_equals_the_first(void **state)
{
    const double weights[] = {3, -1, 7, 7, 3, 7, 0.5};
    const int64_t expected[][3] = {{3, 0, 0}, {3, 4, 0}, {3, 4, 6}, {1, 3, 4}};
    rgm_graph *graph = star(7, weights), *small;

    (void)state;
    for (int size = 1; size <= 4; size++) {
        rgm_sampler *sampler = star_sampler(graph, size, "TOP_K");
        const int64_t *id;
        CHECK_OK(rgm_sampler_sample(&small, sampler, 0, 3));
        id = values_of(small, RGM_NODE_SET, "n", "#id");
        CHECK_INT(size + 1, rgm_graph_total(small, RGM_NODE_SET, "n"));
        for (int i = 0; i < (size < 3 ? size : 3); i++)
            CHECK_INT(expected[size - 1][i], id[i + 1]);
        if (size == 4)
            CHECK_INT(6, id[4]);
        rgm_graph_release(small);
        rgm_sampler_release(sampler);
    }
    rgm_graph_release(graph);
}

/* ---- the same result, however it is asked for ---- */

static bool same_graph(const rgm_graph *a, const rgm_graph *b)
{
    rgm_text x = {0}, y = {0};
    bool same;

    CHECK_OK(rgm_graph_encode(&x, a, ""));
    CHECK_OK(rgm_graph_encode(&y, b, ""));
    same = x.size == y.size && memcmp(x.data, y.data, (size_t)x.size) == 0;
    rgm_text_clear(&x);
    rgm_text_clear(&y);
    return same;
}

static void a_subgraph_depends_on_seed_epoch_and_node_alone(void **state)
{
    rgm_graph *big = mixed_graph(), *first[8], *again;
    rgm_sampler *sampler = sampler_of(big, mixed_spec, 5), *other = sampler_of(big, mixed_spec, 6);
    int differ_by_epoch = 0, differ_by_seed = 0;

    (void)state;
    for (int64_t i = 0; i < 8; i++)
        CHECK_OK(rgm_sampler_sample(&first[i], sampler, i, 2));
    for (int64_t i = 7; i >= 0; i--) {
        CHECK_OK(rgm_sampler_sample(&again, sampler, i, 2));
        CHECK(same_graph(first[i], again));
        rgm_graph_release(again);
        CHECK_OK(rgm_sampler_sample(&again, sampler, i, 3));
        differ_by_epoch += !same_graph(first[i], again);
        rgm_graph_release(again);
        CHECK_OK(rgm_sampler_sample(&again, other, i, 2));
        differ_by_seed += !same_graph(first[i], again);
        rgm_graph_release(again);
        rgm_graph_release(first[i]);
    }
    CHECK(differ_by_epoch > 5 && differ_by_seed > 5);
    rgm_sampler_release(sampler);
    rgm_sampler_release(other);
    rgm_graph_release(big);
}

/* A generated graph large enough that every stage runs in parallel. */
static rgm_sampler *large_sampler(rgm_graph_data *data, int64_t nodes)
{
    rgm_citation_options options = RGM_CITATION_OPTIONS_INIT;
    const char *const sets[] = {"edges", "edges", "edges"};
    const int64_t sizes[] = {5, 10, 15};
    rgm_sampling_spec *spec;
    rgm_sampler *sampler;

    options.nodes = nodes;
    options.edges = nodes * 7;
    CHECK_OK(rgm_generate_citation(data, &options));
    CHECK_OK(
        rgm_sampling_spec_create(&spec, data->schema, "nodes", sets, sizes, 3, RGM_SAMPLE_UNIFORM));
    CHECK_OK(rgm_sampler_create(&sampler, data->graphs[0], spec, 1));
    rgm_sampling_spec_release(spec);
    return sampler;
}

static void a_batch_is_the_same_for_any_number_of_threads(void **state)
{
    rgm_graph_data data;
    rgm_sampler *sampler = large_sampler(&data, 30000);
    rgm_graph *alone, *together;
    int64_t seeds[512];

    (void)state;
    for (int i = 0; i < 512; i++)
        seeds[i] = i * 53 % 30000;
    CHECK_OK(rgm_sampler_batch(&alone, sampler, seeds, 512, 4, "label"));
    CHECK(rgm_graph_total(alone, RGM_EDGE_SET, "edges") > 40000);
    for (int threads = 2; threads <= 4; threads++) {
        rgm_sampler_set_threads(sampler, threads);
        CHECK_OK(rgm_sampler_batch(&together, sampler, seeds, 512, 4, "label"));
        CHECK(same_graph(alone, together));
        rgm_graph_release(together);
    }
    rgm_graph_release(alone);
    rgm_sampler_release(sampler);
    rgm_graph_data_clear(&data);
}

static void listing_and_scanning_find_the_same_nodes(void **state)
{
    /* Idle nodes change nothing but the way in which the reached ones are found. */
    rgm_graph *few = star(300, NULL), *many = star_with(300, NULL, 100000), *scanned, *listed;
    rgm_sampler *scanning = star_sampler(few, 50, "RANDOM_UNIFORM");
    rgm_sampler *listing = star_sampler(many, 50, "RANDOM_UNIFORM");

    (void)state;
    for (uint64_t epoch = 0; epoch < 5; epoch++) {
        CHECK_OK(rgm_sampler_sample(&scanned, scanning, 0, epoch));
        CHECK_OK(rgm_sampler_sample(&listed, listing, 0, epoch));
        CHECK_INT(51, rgm_graph_total(listed, RGM_NODE_SET, "n"));
        CHECK(same_graph(scanned, listed));
        rgm_graph_release(scanned);
        rgm_graph_release(listed);
    }
    rgm_sampler_release(scanning);
    rgm_sampler_release(listing);
    rgm_graph_release(few);
    rgm_graph_release(many);
}

static void new_nodes_come_by_hop_and_then_by_number(void **state)
{
    rgm_graph_data data;
    rgm_sampler *sampler = large_sampler(&data, 3000);
    rgm_graph *graph;
    rgmi_workspace *work;
    const int64_t seeds[] = {5, 900, 17}, *id;
    int64_t falls = 0, count;

    (void)state;
    CHECK_OK(rgm_sampler_batch(&graph, sampler, seeds, 3, 0, NULL));
    id = values_of(graph, RGM_NODE_SET, "nodes", "#id");
    count = rgm_graph_total(graph, RGM_NODE_SET, "nodes");
    CHECK(count > 500);
    for (int64_t i = 4; i < count; i++)
        falls += id[i] < id[i - 1];
    CHECK(falls <= 2); /* three hops */
    CHECK_OK(rgmi_sampler_borrow(&work, sampler));
    for (int64_t i = 0; i < 3000; i++)
        CHECK_INT(0, work->known[0].state[i]); /* left clean */
    rgmi_sampler_give_back(sampler, work, true);
    rgm_graph_release(graph);
    rgm_sampler_release(sampler);
    rgm_graph_data_clear(&data);
}

typedef struct collected {
    rgm_text all;
    int64_t next, fail_at;
} collected;

static rgm_status collect(void *payload, int64_t i, rgm_graph *graph, const rgm_text *example)
{
    collected *self = payload;

    CHECK_INT(self->next, i);
    self->next++;
    CHECK(graph != NULL && example != NULL);
    if (i == self->fail_at)
        return RGM_FAIL(RGM_ERR_IO, "no room for subgraph %d", (int)i);
    return rgm_text_add(&self->all, example->data, example->size);
}

static void a_run_writes_the_same_for_any_number_of_threads(void **state)
{
    rgm_graph *big = mixed_graph();
    rgm_sampler *sampler = sampler_of(big, mixed_spec, 5);
    rgm_sampler_run_options options = RGM_SAMPLER_RUN_OPTIONS_INIT;
    collected first = {.fail_at = -1};
    int64_t nodes[NODES_A];

    (void)state;
    options.encode = true;
    for (int64_t i = 0; i < NODES_A; i++)
        nodes[i] = (i * 7) % NODES_A;
    for (options.threads = 1; options.threads <= 4; options.threads++) {
        collected now = {.fail_at = -1};
        CHECK_OK(rgm_sampler_run(sampler, nodes, NODES_A, &options, collect, &now));
        CHECK_INT(NODES_A, now.next);
        if (options.threads == 1) {
            first = now;
            continue;
        }
        CHECK_INT(first.all.size, now.all.size);
        CHECK(memcmp(first.all.data, now.all.data, (size_t)now.all.size) == 0);
        rgm_text_clear(&now.all);
    }
    rgm_text_clear(&first.all);
    rgm_sampler_release(sampler);
    rgm_graph_release(big);
}

static void a_run_ends_at_the_first_error_in_order(void **state)
{
    rgm_graph *big = mixed_graph();
    rgm_sampler *sampler = sampler_of(big, mixed_spec, 5);
    rgm_sampler_run_options options = RGM_SAMPLER_RUN_OPTIONS_INIT;
    int64_t nodes[NODES_A] = {0};

    (void)state;
    options.encode = true;
    for (options.threads = 1; options.threads <= 3; options.threads++) {
        collected now = {.fail_at = 20};
        CHECK_STATUS(RGM_ERR_IO, rgm_sampler_run(sampler, nodes, NODES_A, &options, collect, &now));
        CHECK_MESSAGE("subgraph 20");
        rgm_text_clear(&now.all);
        nodes[30] = NODES_A;
        now = (collected){.fail_at = -1};
        CHECK_STATUS(RGM_ERR_DATA,
                     rgm_sampler_run(sampler, nodes, NODES_A, &options, collect, &now));
        CHECK_MESSAGE("node 60 of node set 'a', which has 60");
        CHECK_INT(30, now.next);
        rgm_text_clear(&now.all);
        nodes[30] = 0;
    }
    rgm_sampler_release(sampler);
    rgm_graph_release(big);
}

/* ---- errors and memory ---- */

static void a_label_moves_to_the_readout(void **state)
{
    rgm_graph_data data;
    rgm_sampler *sampler = large_sampler(&data, 2000);
    rgm_graph *graph, *again;
    const int64_t *label = values_of(data.graphs[0], RGM_NODE_SET, "nodes", "label");
    const int64_t seeds[] = {400, 3};

    (void)state;
    CHECK_OK(rgm_sampler_batch(&graph, sampler, seeds, 2, 0, "label"));
    CHECK_INT(label[400], values_of(graph, RGM_NODE_SET, "_readout", "label")[0]);
    CHECK_INT(label[3], values_of(graph, RGM_NODE_SET, "_readout", "label")[1]);
    CHECK(rgm_graph_feature(graph, RGM_NODE_SET, "nodes", "label") == NULL);
    CHECK_OK(rgm_sampler_batch(&again, sampler, seeds, 2, 0, "label")); /* from the schema kept */
    CHECK(same_graph(graph, again));
    CHECK(rgm_graph_schema(graph) == rgm_graph_schema(again));
    CHECK_OK(rgm_graph_check_readout(again, "_readout"));
    rgm_graph_release(again);
    rgm_graph_release(graph);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_sampler_batch(&graph, sampler, seeds, 2, 0, "lable"));
    CHECK(graph == NULL);
    rgm_sampler_release(sampler);
    rgm_graph_data_clear(&data);
}

static void large_results_share_memory_and_outlive_the_sampler(void **state)
{
    rgm_graph_data data;
    rgm_sampler *sampler = large_sampler(&data, 30000);
    rgm_graph *first, *second, *third;
    const int64_t *kept, *used;
    int64_t before = rgm_memory_used(), seeds[512];

    (void)state;
    for (int i = 0; i < 512; i++)
        seeds[i] = i * 53 % 30000;
    CHECK_OK(rgm_sampler_batch(&first, sampler, seeds, 512, 4, "label"));
    CHECK_OK(rgm_sampler_batch(&second, sampler, seeds, 512, 5, "label"));
    kept = rgm_tensor_i64(rgm_graph_source(first, "edges"));
    used = rgm_tensor_i64(rgm_graph_source(second, "edges"));
    CHECK(kept != used);
    rgm_graph_release(second);
    CHECK_OK(rgm_sampler_batch(&third, sampler, seeds, 512, 4, "label"));
    CHECK(same_graph(first, third)); /* whatever was in the memory before */
    CHECK(rgm_tensor_i64(rgm_graph_source(third, "edges")) != kept);
    rgm_graph_release(third);
    rgm_sampler_release(sampler);
    CHECK(rgm_graph_total(first, RGM_EDGE_SET, "edges") > 40000);
    check_distinct(values_of(first, RGM_NODE_SET, "nodes", "#id"),
                   rgm_graph_total(first, RGM_NODE_SET, "nodes"), 30000);
    rgm_graph_release(first);
    rgm_graph_data_clear(&data);
    CHECK(rgm_memory_used() < before);
}

static void bad_weights_are_named_with_set_row_and_value(void **state)
{
    const struct {
        double weight;
        const char *strategy, *message;
    } cases[] = {{-0.5, "RANDOM_WEIGHTED", "edge set 'e': feature 'weight': row 1 is -0.5"},
                 {INFINITY, "RANDOM_WEIGHTED", "row 1 is inf"},
                 {NAN, "RANDOM_WEIGHTED", "row 1 is"},
                 {NAN, "TOP_K", "TOP_K cannot rank it"}};

    (void)state;
    for (int c = 0; c < 4; c++) {
        double weights[] = {1, cases[c].weight, 2};
        rgm_graph *graph = star(3, weights);
        rgm_sampling_spec *spec;
        rgm_sampler *sampler;
        char text[300];
        snprintf(text, sizeof text, STAR_SPEC, 2, cases[c].strategy);
        CHECK_OK(rgm_sampling_spec_parse(&spec, text, (int64_t)strlen(text), "t",
                                         rgm_graph_schema(graph)));
        CHECK_STATUS(RGM_ERR_DATA, rgm_sampler_create(&sampler, graph, spec, 0));
        CHECK_MESSAGE(cases[c].message);
        CHECK(sampler == NULL);
        rgm_sampling_spec_release(spec);
        rgm_graph_release(graph);
    }
}

static void a_missing_weight_feature_is_an_error(void **state)
{
    rgm_graph *graph = star(3, NULL);
    rgm_sampling_spec *spec;
    rgm_sampler *sampler;

    (void)state;
    CHECK_OK(rgm_sampling_spec_create(&spec, rgm_graph_schema(graph), "n", (const char *[]){"e"},
                                      (int64_t[]){2}, 1, RGM_SAMPLE_WEIGHTED));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_sampler_create(&sampler, graph, spec, 0));
    CHECK_MESSAGE("edge set 'e' has no feature 'weight'");
    rgm_sampling_spec_release(spec);
    rgm_graph_release(graph);
}

static void seeds_out_of_range_are_an_error(void **state)
{
    rgm_graph *graph = star(3, NULL), *small;
    rgm_sampler *sampler = star_sampler(graph, 2, "RANDOM_UNIFORM");

    (void)state;
    CHECK_STATUS(RGM_ERR_DATA, rgm_sampler_sample(&small, sampler, -1, 0));
    CHECK_MESSAGE("node -1 of node set 'n', which has 4");
    CHECK_STATUS(RGM_ERR_DATA, rgm_sampler_batch(&small, sampler, (int64_t[]){0, 4}, 2, 0, NULL));
    CHECK_MESSAGE("seed 1 is node 4");
    CHECK_OK(rgm_sampler_batch(&small, sampler, NULL, 0, 0, NULL));
    CHECK_INT(0, rgm_graph_total(small, RGM_NODE_SET, "n"));
    rgm_graph_release(small);
    rgm_sampler_release(sampler);
    rgm_graph_release(graph);
}

/* A workspace that a failed call has grown is kept, so each try has a sampler of its own. */
static rgm_status sample_anew(rgm_graph **out, rgm_graph *big, const rgm_sampling_spec *spec)
{
    rgm_sampler *sampler;
    rgm_status status;

    *out = NULL;
    RGM_TRY(rgm_sampler_create(&sampler, big, spec, 0));
    status = rgm_sampler_batch(out, sampler, (int64_t[]){1, 2, 3}, 3, 0, NULL);
    rgm_sampler_release(sampler);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    rgm_graph *big = mixed_graph(), *small;
    rgm_sampling_spec *spec;
    rgm_sampler *sampler;

    (void)state;
    CHECK_OK(rgm_sampling_spec_parse(&spec, mixed_spec, (int64_t)strlen(mixed_spec), "t",
                                     rgm_graph_schema(big)));
    CHECK_OK(
        rgm_sampler_create(&sampler, big, spec, 0)); /* the graph keeps its patterns from here */
    rgm_sampler_release(sampler);
    CHECK_EVERY_OOM(rgm_sampler_create(&sampler, big, spec, 0), rgm_sampler_release(sampler));
    CHECK_EVERY_OOM(sample_anew(&small, big, spec), rgm_graph_release(small));
    rgm_sampling_spec_release(spec);
    rgm_graph_release(big);
}

TESTS(cmocka_unit_test(words_are_those_of_the_stream_for_any_count),
      cmocka_unit_test(every_subgraph_is_part_of_the_graph),
      cmocka_unit_test(a_batch_is_part_of_the_graph_with_seeds_first),
      cmocka_unit_test(a_node_can_be_drawn_from_once),
      cmocka_unit_test(one_hop_takes_the_smaller_of_size_and_degree),
      cmocka_unit_test(sampling_more_than_there_is_gives_the_whole_neighbourhood_once),
      cmocka_unit_test(uniform_draws_take_every_neighbour_equally_often),
      cmocka_unit_test(uniform_draws_take_every_pair_equally_often),
      cmocka_unit_test(weighted_draws_follow_the_weights),
      cmocka_unit_test(top_k_takes_the_largest_and_of_equals_the_first),
      cmocka_unit_test(a_subgraph_depends_on_seed_epoch_and_node_alone),
      cmocka_unit_test(a_batch_is_the_same_for_any_number_of_threads),
      cmocka_unit_test(listing_and_scanning_find_the_same_nodes),
      cmocka_unit_test(new_nodes_come_by_hop_and_then_by_number),
      cmocka_unit_test(a_run_writes_the_same_for_any_number_of_threads),
      cmocka_unit_test(a_run_ends_at_the_first_error_in_order),
      cmocka_unit_test(a_label_moves_to_the_readout),
      cmocka_unit_test(large_results_share_memory_and_outlive_the_sampler),
      cmocka_unit_test(bad_weights_are_named_with_set_row_and_value),
      cmocka_unit_test(a_missing_weight_feature_is_an_error),
      cmocka_unit_test(seeds_out_of_range_are_an_error),
      cmocka_unit_test(every_allocation_may_fail))
