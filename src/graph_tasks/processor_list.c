/*
 * The one list of processors that an experiment file can name.
 */
#include "processors.h"

const rgm_section_type *const rgm_graph_processors[] = {
    &rgmi_reverse_edges_processor.section,
    &rgmi_undirected_processor.section,
    &rgmi_self_loops_processor.section,
    &rgmi_mask_edges_processor.section,
    &rgmi_drop_edges_processor.section,
    &rgmi_line_graph_processor.section,
    &rgmi_drop_nodes_processor.section,
    &rgmi_shuffle_nodes_processor.section,
    &rgmi_shuffle_features_processor.section,
    &rgmi_virtual_node_processor.section,
    &rgmi_complete_processor.section,
    &rgmi_degree_processor.section,
    &rgmi_random_walk_processor.section,
    &rgmi_laplacian_processor.section,
    &rgmi_random_signs_processor.section,
    &rgmi_first_node_readout_processor.section,
    &rgmi_readout_feature_processor.section,
    &rgmi_context_to_readout_processor.section,
    NULL,
};
