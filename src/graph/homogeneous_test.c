#include "test_shop.h"

static rgm_tensor *column(int64_t rows, int64_t width, const float *numbers)
{
    return floats(2, (int64_t[]){rows, width}, numbers);
}

/* A path 0 -> 1 -> 2 whose nodes have two numbers and whose edges one. */
static rgm_status path(rgm_graph **out, int64_t components, const int64_t *node_sizes,
                       const int64_t *edge_sizes)
{
    rgm_tensor *source = INTS(0, 1), *target = INTS(1, 2);
    rgm_tensor *x = column(3, 2, (float[]){0, 1, 2, 3, 4, 5});
    rgm_tensor *w = floats(1, (int64_t[]){2}, (float[]){7, 8});
    rgm_status status =
        rgm_graph_homogeneous(out, &(rgm_homogeneous){
                                       .source = source,
                                       .target = target,
                                       .node_features = (rgm_named_tensor[]){{"x", x}},
                                       .node_feature_count = 1,
                                       .edge_features = (rgm_named_tensor[]){{"w", w}},
                                       .edge_feature_count = 1,
                                       .components = components,
                                       .node_sizes = node_sizes,
                                       .edge_sizes = edge_sizes,
                                   });

    rgm_tensor_release(source);
    rgm_tensor_release(target);
    rgm_tensor_release(x);
    rgm_tensor_release(w);
    return status;
}

static void tensors_make_a_graph_and_its_schema(void **state)
{
    rgm_graph *graph;
    const rgm_set_schema *nodes;

    (void)state;
    CHECK_OK(path(&graph, 0, NULL, NULL));
    CHECK_INT(3, rgm_graph_total(graph, RGM_NODE_SET, "nodes"));
    CHECK_INTS(rgm_graph_source(graph, "edges"), 0, 1);
    CHECK_INTS(rgm_graph_target(graph, "edges"), 1, 2);
    nodes = rgm_schema_find(rgm_graph_schema(graph), RGM_NODE_SET, "nodes");
    CHECK_INT(1, rgm_set_feature(nodes, "x")->rank);
    CHECK_INT(2, rgm_set_feature(nodes, "x")->shape[0]);
    CHECK_CLOSE(5, rgm_tensor_at(rgm_graph_feature(graph, RGM_NODE_SET, "nodes", "x")->values, 5),
                0, 0);
    CHECK_CLOSE(8, rgm_tensor_at(rgm_graph_feature(graph, RGM_EDGE_SET, "edges", "w")->values, 1),
                0, 0);
    CHECK_OK(rgm_graph_check_complete(graph));
    rgm_graph_release(graph);
}

static void components_have_sizes_and_context(void **state)
{
    rgm_tensor *source = INTS(0, 3), *target = INTS(1, 2);
    rgm_tensor *label = INTS(4, 5);
    rgm_homogeneous from = {
        .source = source,
        .target = target,
        .context_features = (rgm_named_tensor[]){{"label", label}},
        .context_feature_count = 1,
        .components = 2,
        .node_sizes = (int64_t[]){2, 2},
        .edge_sizes = (int64_t[]){1, 1},
        .node_set = "atom",
        .edge_set = "bond",
    };
    rgm_graph *graph;

    (void)state;
    CHECK_OK(rgm_graph_homogeneous(&graph, &from));
    CHECK_INT(2, rgm_graph_components(graph));
    CHECK_INT(4, rgm_graph_total(graph, RGM_NODE_SET, "atom"));
    CHECK_INTS(rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, "label")->values, 4, 5);
    rgm_graph_release(graph);
    from.edge_sizes = NULL;
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_homogeneous(&graph, &from));
    CHECK_MESSAGE("2 components need node_sizes and edge_sizes");
    from.edge_sizes = (int64_t[]){2, 0};
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_homogeneous(&graph, &from));
    rgm_tensor_release(source);
    rgm_tensor_release(target);
    rgm_tensor_release(label);
}

static void what_does_not_fit_is_refused(void **state)
{
    rgm_tensor *source = INTS(0, 1), *target = INTS(1, 9);
    rgm_homogeneous from = {.source = source, .target = target};
    rgm_graph *graph;

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_graph_homogeneous(&graph, &from));
    CHECK_MESSAGE("node_sizes is needed where no node feature says how many");
    from.node_sizes = (int64_t[]){3};
    CHECK_STATUS(RGM_ERR_DATA, rgm_graph_homogeneous(&graph, &from));
    CHECK(graph == NULL);
    CHECK_STATUS(RGM_ERR_DATA, path(&graph, 0, (int64_t[]){4}, NULL));
    rgm_tensor_release(source);
    rgm_tensor_release(target);
}

static void every_failing_allocation_is_survived(void **state)
{
    rgm_tensor *source = INTS(0, 1), *target = INTS(1, 2);
    rgm_homogeneous from = {.source = source, .target = target, .node_sizes = (int64_t[]){3}};
    rgm_graph *graph;

    (void)state;
    CHECK_EVERY_OOM(rgm_graph_homogeneous(&graph, &from), rgm_graph_release(graph));
    rgm_tensor_release(source);
    rgm_tensor_release(target);
}

TESTS(cmocka_unit_test(tensors_make_a_graph_and_its_schema),
      cmocka_unit_test(components_have_sizes_and_context),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(every_failing_allocation_is_survived))
