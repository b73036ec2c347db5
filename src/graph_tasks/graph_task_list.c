/*
 * The one list of kinds of tasks that an experiment file can name.
 */
#include <regimen/graph_tasks.h>

const rgm_section_type *const rgm_graph_tasks[] = {
    &rgm_node_classification.section,
    &rgm_node_binary_classification.section,
    &rgm_root_node_classification.section,
    &rgm_root_node_binary_classification.section,
    &rgm_graph_classification.section,
    &rgm_graph_binary_classification.section,
    &rgm_node_regression.section,
    &rgm_root_node_regression.section,
    &rgm_graph_regression.section,
    &rgm_node_ranking.section,
    &rgm_deep_graph_infomax.section,
    &rgm_barlow_twins.section,
    &rgm_vicreg.section,
    &rgm_graph_triplet.section,
    &rgm_grace.section,
    &rgm_bgrl.section,
    &rgm_masked_features.section,
    &rgm_edge_classification.section,
    &rgm_edge_binary_classification.section,
    &rgm_edge_regression.section,
    &rgm_link_prediction.section,
    NULL,
};
