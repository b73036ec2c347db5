/*
 * Graphs on their way to a model: which processors there are still to be asked, and what they did.
 */
#ifndef RGM_GRAPH_TASKS_PROCESSORS_H
#define RGM_GRAPH_TASKS_PROCESSORS_H

#include <regimen/graph_tasks.h>
#include <regimen/graph_edit.h>

/** What a processor did to the graphs it was asked about once: items before and behind it. */
typedef struct rgmi_processed {
    int64_t nodes[2], edges[2]; /* of sets that are not auxiliary */
} rgmi_processed;

/** How many processors there are before the first that draws. */
int64_t rgmi_processors_fixed(const rgm_graph_processor *processors, int64_t count);
/** rgm_graph_process(), adding up what each did in told [count]; NULL: nobody asks. */
rgm_status rgmi_graph_process(rgm_graph **out, rgm_graph *graph,
                              const rgm_graph_processor *processors, int64_t count,
                              const rgm_rng *rng, rgmi_processed *told);
/** The schema behind the processors, of a graph without components. */
rgm_status rgmi_processors_schema(rgm_schema **out, rgm_schema *schema,
                                  const rgm_graph_processor *processors, int64_t count);
/** A provider of graphs in memory whose graphs were processed; of others it is retained. */
rgm_status rgmi_provider_process(rgm_provider **out, rgm_provider *provider,
                                 const rgm_graph_processor *processors, int64_t count,
                                 rgmi_processed *told);

/* For rows of processors. */

/** The set that is named, or the only one that is not auxiliary. RGM_ERR_CONFIG, RGM_ERR_NOT_FOUND.
 */
rgm_status rgmi_processed_set(const char **out, const rgm_graph *graph, rgm_piece piece,
                              const char *wanted);
/** Whether the processor is self_loops, of that edge set (NULL: the only one). */
bool rgmi_adds_loops(const char **edge_set, const rgm_graph_processor *processor);
/** Whether nodes have other numbers behind the processor, of that node set (NULL: the only one). */
bool rgmi_moves_nodes(const char **node_set, const rgm_graph_processor *processor);
/** Whether the processor gives edges of that set (NULL: the only one) their reverse. */
bool rgmi_turns_edges(const char **edge_set, const rgm_graph_processor *processor);
/** Replace *graph by its successor, which is owned. */
static inline void rgmi_step_to(rgm_graph **graph, rgm_graph *next)
{
    rgm_graph_release(*graph);
    *graph = next;
}

extern const rgm_graph_processor_type rgmi_reverse_edges_processor, rgmi_undirected_processor,
    rgmi_self_loops_processor, rgmi_mask_edges_processor, rgmi_drop_edges_processor,
    rgmi_line_graph_processor, rgmi_drop_nodes_processor, rgmi_shuffle_nodes_processor,
    rgmi_shuffle_features_processor, rgmi_virtual_node_processor, rgmi_degree_processor,
    rgmi_complete_processor, rgmi_random_walk_processor, rgmi_laplacian_processor,
    rgmi_random_signs_processor, rgmi_first_node_readout_processor, rgmi_readout_feature_processor,
    rgmi_context_to_readout_processor;

#endif
