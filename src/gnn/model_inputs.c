/*
 * What models start from, and which sets a model of one node set and one edge set is of.
 */
#include "model_fields.h"

const char *const rgmi_receiver_names[] = {"source", "target", "both", NULL};
const char *const rgmi_l2_layer_names[] = {"first", "all", NULL};

bool rgmi_hom_sets(const char **node_set, const char **edge_set, const rgm_graph_value *graph,
                   const char *wanted_node_set, const char *wanted_edge_set)
{
    const rgm_set_schema *edges = wanted_edge_set != NULL
                                      ? rgm_require_set(graph, RGM_EDGE_SET, wanted_edge_set)
                                      : rgm_only_set(graph, RGM_EDGE_SET);
    const char *nodes = wanted_node_set;

    if (edges == NULL)
        return false;
    if (nodes == NULL)
        nodes = edges->target;
    if (rgm_require_set(graph, RGM_NODE_SET, nodes) == NULL)
        return false;
    if (strcmp(edges->source, nodes) != 0 || strcmp(edges->target, nodes) != 0) {
        rgm_cgraph_fail(
            rgm_graph_value_cgraph(graph), RGM_ERR_ARG,
            "edge set '%s' goes from '%s' to '%s'; this model needs one node set, '%s', "
            "at both ends",
            edges->name, edges->source, edges->target, nodes);
        return false;
    }
    *node_set = nodes;
    *edge_set = edges->name;
    return true;
}

rgm_graph_value *rgmi_no_input(const rgm_graph_value *graph, const char *node_set)
{
    rgm_cgraph_fail(
        rgm_graph_value_cgraph(graph), RGM_ERR_NOT_FOUND,
        "node set '%s' has no float or one_hot feature to start from; integers go in by "
        "model.input.one_hot or model.input.numbers, texts by model.input.vocabulary, nodes by "
        "themselves by model.input.latent",
        node_set);
    return NULL;
}

bool rgmi_one_receiver(rgm_scope *scope, rgm_receivers receiver)
{
    if (receiver != RGM_AT_BOTH)
        return true;
    rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG,
                    "this model's receiver is source or target, not both");
    return false;
}

rgm_value *rgmi_hom_input(const char **node_set, const char **edge_set, rgm_scope *scope,
                          const rgm_graph_value *graph, const char *wanted_node_set,
                          const char *wanted_edge_set, rgm_receivers receiver,
                          const rgm_input_options *input, const char *edge_feature)
{
    rgm_value *h;

    if (scope == NULL || graph == NULL || !rgm_check_inputs(graph, input, edge_feature) ||
        !rgmi_hom_sets(node_set, edge_set, graph, wanted_node_set, wanted_edge_set) ||
        !rgmi_one_receiver(scope, receiver))
        return NULL;
    h = rgm_node_input(scope, graph, *node_set, input);
    if (h == NULL)
        rgmi_no_input(graph, *node_set);
    return h;
}
