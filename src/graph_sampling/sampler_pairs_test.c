#include <check.h>
#include <regimen/graph_sampling.h>

enum { NODES = 30, EDGES = 120 };

/* Edge set "e" among nodes "n", edge e has "number" e. */
static rgm_graph *random_graph(uint64_t seed)
{
    rgm_rng rng = rgm_rng_stream(seed, "pairs", 0);
    int64_t nodes = NODES, edges = EDGES;
    rgm_schema *schema;
    rgm_graph_builder *builder;
    rgm_graph *graph;
    rgm_feature number = {0};
    rgm_tensor *ends[2];

    CHECK_OK(rgm_schema_create(&schema));
    CHECK_OK(rgm_schema_add_node_set(schema, "n"));
    CHECK_OK(rgm_schema_add_edge_set(schema, "e", "n", "n"));
    CHECK_OK(rgm_schema_add_feature(schema, RGM_EDGE_SET, "e", "number", RGM_I64, 0, NULL));
    CHECK_OK(rgm_graph_builder_create(&builder, schema, 1));
    CHECK_OK(rgm_graph_builder_sizes(builder, RGM_NODE_SET, "n", &nodes));
    for (int k = 0; k < 2; k++) {
        CHECK_OK(rgm_tensor_create(&ends[k], RGM_I64, 1, &edges));
        for (int64_t e = 0; e < EDGES; e++)
            rgm_tensor_i64(ends[k])[e] = (int64_t)rgm_rng_below(&rng, (uint64_t)(2 * e + k), NODES);
    }
    CHECK_OK(rgm_graph_builder_edges(builder, "e", ends[0], ends[1]));
    CHECK_OK(rgm_tensor_arange(&number.values, EDGES));
    CHECK_OK(rgm_graph_builder_feature(builder, RGM_EDGE_SET, "e", "number", &number));
    CHECK_OK(rgm_graph_builder_finish(&graph, builder));
    rgm_graph_builder_release(builder);
    rgm_feature_clear(&number);
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    rgm_schema_release(schema);
    return graph;
}

/* Two hops there and one back. */
static rgm_sampler *sampler_of(rgm_graph *graph)
{
    const char *edge_sets[] = {"e", "e", "<e"};
    rgm_sampling_spec *spec;
    rgm_sampler *sampler;

    CHECK_OK(rgm_sampling_spec_create(&spec, rgm_graph_schema(graph), "n", edge_sets,
                                      (int64_t[]){3, 2, 2}, 3, RGM_SAMPLE_UNIFORM));
    CHECK_OK(rgm_sampler_create(&sampler, graph, spec, 5));
    rgm_sampling_spec_release(spec);
    return sampler;
}

static const int64_t *numbers_of(const rgm_graph *graph)
{
    return rgm_tensor_i64(rgm_graph_feature(graph, RGM_EDGE_SET, "e", "number")->values);
}

static void a_pairs_own_edges_are_left_out_and_no_others(void **state)
{
    const char *without[] = {"e"};
    int64_t left_out = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        rgm_graph *graph = random_graph(seed), *all, *asked;
        rgm_sampler *sampler = sampler_of(graph);
        const int64_t *source = rgm_tensor_i64(rgm_graph_source(graph, "e"));
        const int64_t *target = rgm_tensor_i64(rgm_graph_target(graph, "e"));
        int64_t ends[2][4], seeds[8], at = 0;

        for (int i = 0; i < 4; i++) { /* three edges, one the other way round, and no edge */
            int64_t e = (int64_t)seed % 20 + 7 * i;
            seeds[2 * i] = ends[0][i] = i == 1 ? target[e] : source[e];
            seeds[2 * i + 1] = ends[1][i] = i == 1 ? source[e] : i == 3 ? source[e + 1] : target[e];
        }
        CHECK_OK(rgm_sampler_batch(&all, sampler, seeds, 8, seed, NULL));
        CHECK_OK(rgm_sampler_pairs(&asked, sampler, ends[0], ends[1], 4, seed, without, 1));
        CHECK_INT(rgm_graph_total(all, RGM_NODE_SET, "n"),
                  rgm_graph_total(asked, RGM_NODE_SET, "n"));
        for (int64_t e = 0; e < rgm_graph_total(all, RGM_EDGE_SET, "e"); e++) {
            int64_t number = numbers_of(all)[e];
            bool of_pair = false;

            for (int i = 0; i < 4; i++)
                of_pair = of_pair ||
                          (source[number] == ends[0][i] && target[number] == ends[1][i]) ||
                          (source[number] == ends[1][i] && target[number] == ends[0][i]);
            left_out += of_pair;
            if (!of_pair)
                CHECK_INT(number, numbers_of(asked)[at++]);
        }
        CHECK_INT(at, rgm_graph_total(asked, RGM_EDGE_SET, "e"));
        rgm_graph_release(all);
        rgm_graph_release(asked);
        rgm_sampler_release(sampler);
        rgm_graph_release(graph);
    }
    CHECK(left_out > 100);
}

static void each_pair_is_an_item_of_the_readout(void **state)
{
    rgm_graph *graph = random_graph(1), *asked;
    rgm_sampler *sampler = sampler_of(graph);
    const int64_t sources[] = {3, 3, 9}, targets[] = {7, 8, 9};

    (void)state;
    for (int again = 0; again < 2; again++) { /* the schema is made once */
        const int64_t *id;

        CHECK_OK(rgm_sampler_pairs(&asked, sampler, sources, targets, 3, 0, NULL, 0));
        CHECK_INT(3, rgm_graph_total(asked, RGM_NODE_SET, "_readout"));
        CHECK_OK(rgm_graph_check_readout(asked, "_readout"));
        id = rgm_tensor_i64(rgm_graph_feature(asked, RGM_NODE_SET, "n", "#id")->values);
        for (int i = 0; i < 3; i++) {
            CHECK_INT(sources[i],
                      id[rgm_tensor_i64(rgm_graph_source(asked, "_readout/source"))[i]]);
            CHECK_INT(targets[i],
                      id[rgm_tensor_i64(rgm_graph_source(asked, "_readout/target"))[i]]);
        }
        rgm_graph_release(asked);
    }
    rgm_sampler_release(sampler);
    rgm_graph_release(graph);
}

static void mistakes_and_failing_allocations_are_told(void **state)
{
    rgm_graph *graph = random_graph(1), *asked;
    rgm_sampler *sampler = sampler_of(graph);
    const int64_t sources[] = {3, 30}, targets[] = {7, 8};
    const char *without[] = {"e"}, *unknown[] = {"f"};

    (void)state;
    CHECK_STATUS(RGM_ERR_DATA, rgm_sampler_pairs(&asked, sampler, sources, targets, 2, 0, NULL, 0));
    CHECK_MESSAGE("node 30 of node set 'n', which has 30");
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_sampler_pairs(&asked, sampler, sources, targets, 1, 0, unknown, 1));
    CHECK_MESSAGE("no sampling op follows it");
    /* Workspaces and the schema stay with the sampler once they are made. */
    CHECK_OK(rgm_sampler_pairs(&asked, sampler, sources, targets, 1, 0, without, 1));
    rgm_graph_release(asked);
    CHECK_EVERY_OOM(rgm_sampler_pairs(&asked, sampler, sources, targets, 1, 0, without, 1),
                    rgm_graph_release(asked));
    rgm_sampler_release(sampler);
    rgm_graph_release(graph);
}

TESTS(cmocka_unit_test(a_pairs_own_edges_are_left_out_and_no_others),
      cmocka_unit_test(each_pair_is_an_item_of_the_readout),
      cmocka_unit_test(mistakes_and_failing_allocations_are_told))
