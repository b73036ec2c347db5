/*
 * graph: functions that make a graph from a graph before a model sees it. They reverse, merge, mask
 * and drop edges; drop, shuffle and add nodes; and compute positional encodings of nodes. Every
 * function returns a new graph that shares the unchanged parts. Components never affect each other.
 * Sets are named as in graph.h; for a set that does not exist the error is RGM_ERR_NOT_FOUND with
 * the nearest name.
 */
#ifndef REGIMEN_GRAPH_EDIT_H
#define REGIMEN_GRAPH_EDIT_H

#include <regimen/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The same graph with another schema object that has the same sets and features, so that the graphs
 * of a data set share one schema. Errors: RGM_ERR_DATA (the schemas differ), those of
 * rgm_schema_check_has().
 */
rgm_status rgm_graph_with_schema(rgm_graph **out, const rgm_graph *graph, rgm_schema *schema);

/* ---- edges ---------------------------------------------------------------------------------- */

/**
 * Add an edge set with the same edges from target to source, with their features.
 *
 * @param name  of the new set; NULL: "<edge_set>_reversed"
 *
 * Errors: RGM_ERR_ARG (there is a set of that name), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_reverse_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                   const char *name);
/**
 * Add the reverse of each edge to an edge set from a node set to itself: each component has the old
 * edges first, then their reverses, with their features.
 *
 * @param merge  keep only the first of several edges with the same source and target, so that a set
 *               that has both directions already does not grow; a loop is its own reverse
 *
 * Errors: RGM_ERR_ARG (the edge set joins two node sets), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_undirected(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                bool merge);
/**
 * Move edges, with their features, from an edge set to a set of their own.
 *
 * @param masked  bool [edges]: true for the edges to move
 * @param name    of the new set; NULL: "_masked/<edge_set>", an auxiliary set that models ignore
 *
 * Errors: RGM_ERR_ARG (another dtype or shape; there is a set of that name), RGM_ERR_NOT_FOUND,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_mask_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                const rgm_tensor *masked, const char *name);
/**
 * Keep each edge with probability 1 - rate (Rong et al. 2020, DropEdge). Draw e of `rng` decides on
 * edge e. Errors: RGM_ERR_ARG (rate outside [0, 1]), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_drop_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                double rate, const rgm_rng *rng);
/**
 * Add the line graph to the graph: a node set with one node for each edge, with the edge's
 * features, and the edge set "<name>_next" from each edge to the edges that begin where it ends.
 *
 * @param name       of the new node set; NULL: "<edge_set>_line"
 * @param backtrack  also join an edge to its reverse
 *
 * Errors: RGM_ERR_ARG (the edge set has two node sets; a name is taken), RGM_ERR_UNSUPPORTED (more
 * than 2^31 pairs), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_add_line_graph(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                    const char *name, bool backtrack);

/**
 * Add an edge set with all pairs of nodes of each component, including each node with itself, for
 * attention over the whole graph. Memory grows with the square of the number of nodes.
 *
 * @param name  of the new set; NULL: "<node_set>_complete"
 *
 * Errors: RGM_ERR_ARG (there is a set of that name), RGM_ERR_UNSUPPORTED (more than 2^31 pairs),
 * RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_add_complete(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                  const char *name);

/* ---- nodes ---------------------------------------------------------------------------------- */

/**
 * Keep each node with probability 1 - rate, and the edges between nodes that stay (You et al. 2020,
 * node dropping). A node that an auxiliary edge set reads (a readout) always stays. Draw i decides
 * on node i.
 *
 * @param keep_first  the first node of each component always stays, because root tasks predict for
 *                    it
 *
 * Errors: RGM_ERR_ARG (rate outside [0, 1]), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_drop_nodes(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                double rate, bool keep_first, const rgm_rng *rng);
/**
 * Put the nodes of each component in random order. Edges and features follow, so it stays the same
 * graph (TF-GNN's shuffle_nodes). keep_first: the first of each component stays first.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_shuffle_nodes(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                   bool keep_first, const rgm_rng *rng);
/**
 * Shuffle a set's features among the items of all real components together (TF-GNN's
 * shuffle_features_globally; the corruption of Deep Graph Infomax). All features get the same
 * order.
 *
 * @param feature  the only one that is shuffled; NULL: all
 *
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_shuffle_features(rgm_graph **out, const rgm_graph *graph, rgm_piece piece,
                                      const char *set, const char *feature, const rgm_rng *rng);
/**
 * Add a virtual node that is joined to every node in both directions: a node set `name` with one
 * node per component, whose feature "one" [1] f32 is 1, and the edge sets "<node_set>_to_<name>"
 * and "<name>_to_<node_set>" (Gilmer et al. 2017, section 5.2, as a node).
 * Errors: RGM_ERR_ARG (a name is taken), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_add_virtual_node(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                      const char *name);

/* ---- where a node stands -------------------------------------------------------------------- */

/**
 * f32 [nodes, steps]: the probability that a random walk along the edges is back at its first node
 * after 1, 2, ... steps (Dwivedi et al. 2022, eq. 5). A walk ends at a node without outgoing edges.
 * The edge set goes from a node set to itself. Time is nodes * steps * edges of each component.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_random_walk(rgm_tensor **out, const rgm_graph *graph, const char *edge_set,
                                 int64_t steps);
/**
 * f32 [nodes, count]: eigenvectors of I - D^-1/2 A D^-1/2 of each component for its `count`
 * smallest eigenvalues above 0, in their order, of length 1 (Dwivedi et al. 2023). A has a 1 for
 * each edge, in either direction, and no loops. Columns are 0 where a component has fewer
 * eigenvectors. The sign is chosen so that the entry of the largest absolute value (the first of
 * several) is positive.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_UNSUPPORTED (not found to 1e-5), RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_laplacian(rgm_tensor **out, const rgm_graph *graph, const char *edge_set,
                               int64_t count);
/**
 * Multiply each of the k columns of a float feature of shape [k] by 1 or -1, drawn for each
 * component, because an eigenvector's sign means nothing (Dwivedi et al. 2023). Errors: RGM_ERR_ARG
 * (another dtype or shape), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_flip_signs(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                const char *feature, const rgm_rng *rng);

#ifdef __cplusplus
}
#endif
#endif
