/*
 * The whole graph as samplers of subgraphs see it: the nodes of all sets numbered one set behind
 * the other, who is whose neighbour along any edge set either way, and graphs of chosen nodes.
 */
#ifndef RGM_GRAPH_SAMPLING_WHOLE_GRAPH_H
#define RGM_GRAPH_SAMPLING_WHOLE_GRAPH_H

#include <regimen/graph_sampling.h>

#include "sampler_internal.h"

/** Neighbours of each node: once each, ascending, no node its own. */
typedef struct rgmi_sampled_neighbours {
    int64_t nodes;
    int64_t *row_start; /* [nodes + 1] */
    int32_t *column;
} rgmi_sampled_neighbours;
/** first [node sets]: what each node set of the schema's order is numbered from; -1: left out. */
rgm_status rgmi_neighbours_make(rgmi_sampled_neighbours *out, const rgm_graph *graph,
                                const int64_t *first, int64_t nodes);
void rgmi_neighbours_clear(rgmi_sampled_neighbours *neighbours);
static inline int64_t rgmi_degree(const rgmi_sampled_neighbours *of, int64_t node)
{
    return of->row_start[node + 1] - of->row_start[node];
}

/** Where each set's numbers begin, first [sets of the schema], and how many nodes there are.
 * Errors: RGM_ERR_ARG (that many parts, or that balance, cannot be). */
rgm_status rgmi_partition_number(int64_t *nodes, int64_t *first, const rgm_graph *graph,
                                 int64_t parts, double balance);
/** What was found: part [nodes]. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_partition_report(rgm_partition *out, const int32_t *part,
                                 const rgmi_sampled_neighbours *near, int64_t parts);
/** By METIS: part [nodes] i32. Errors: those of rgm_graph_partition_by(). */
rgm_status rgmi_metis_partition(int32_t *part, const rgmi_sampled_neighbours *near, int64_t parts,
                                double balance, uint64_t seed);

typedef struct rgmi_whole_graph {
    rgm_sampler *sampler; /* of all sets that edges touch; the seeds' is its node set 0 */
    rgmi_sampled_neighbours neighbours;
    int64_t *first;    /* [node sets + 1] where the numbers of each set of the sampler begin */
    rgm_tensor *seeds; /* retained */
    bool *is_seed;     /* [nodes of the seeds' set] */
    char *node_set, *label;
    uint64_t seed;
} rgmi_whole_graph;
rgm_status rgmi_whole_graph_open(rgmi_whole_graph *whole, const rgm_subgraph_source *from);
void rgmi_whole_graph_close(rgmi_whole_graph *whole);
/**
 * The graph of distinct nodes [count] by their numbers here, each set's in the order given, and all
 * edges among them; asked about those nodes `asked` [n] of the seeds' set, which are there.
 */
rgm_status rgmi_whole_graph_cut(rgm_graph **out, const rgmi_whole_graph *whole,
                                const int32_t *nodes, int64_t count, const int64_t *asked,
                                int64_t asked_count);
/** What a draw's random numbers are keyed by. */
rgm_rng rgmi_whole_graph_rng(const rgmi_whole_graph *whole, const char *name, uint64_t epoch,
                             int64_t unit);

/** Nodes in the order in which they were added, each once; found by hash. */
typedef struct rgmi_node_list {
    int32_t *nodes;
    int64_t count, room;
    int32_t *table; /* [size] place + 1, 0: free */
    int64_t size;
} rgmi_node_list;
/** *place of the node, which is added if it is new. */
rgm_status rgmi_node_list_add(rgmi_node_list *list, int64_t *place, int32_t node);
void rgmi_node_list_clear(rgmi_node_list *list);
void rgmi_sort_nodes(int32_t *nodes, int64_t count);

#endif
