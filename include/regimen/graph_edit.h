/*
 * graph: graphs made of a graph, before anything is computed of it: edges turned round, joined,
 * masked and dropped, nodes dropped, shuffled and added, and where a node stands in its graph as
 * numbers. Every function gives a new graph that shares what it leaves as it was. A component never
 * hears of another. Names of sets are those of graph.h, a set that is not there is
 * RGM_ERR_NOT_FOUND with the nearest name.
 */
#ifndef REGIMEN_GRAPH_EDIT_H
#define REGIMEN_GRAPH_EDIT_H

#include <regimen/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The same graph of another schema with the same sets and features, so that the graphs of a data
 * set share one. RGM_ERR_DATA: they differ; those of rgm_schema_check_has().
 */
rgm_status rgm_graph_with_schema(rgm_graph **out, const rgm_graph *graph, rgm_schema *schema);

/* ---- edges ---------------------------------------------------------------------------------- */

/**
 * A new edge set of the same edges from target to source, with their features.
 *
 * @param name  of the new set; NULL: "<edge_set>_reversed"
 *
 * Errors: RGM_ERR_ARG (there is a set of that name), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_reverse_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                   const char *name);
/**
 * An edge set from a node set to itself with the reverse of each edge: in each component the old
 * edges, then their reverses, with their features.
 *
 * @param merge  of edges with the same source and target only the first stays, so that a set that
 *               has both directions does not grow; a loop is its own reverse
 *
 * Errors: RGM_ERR_ARG (two node sets), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_undirected(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                bool merge);
/**
 * Edges taken out of an edge set and put into a set of their own with their features.
 *
 * @param masked  bool [edges]: which
 * @param name    of the new set; NULL: "_masked/<edge_set>", an auxiliary set that models pass over
 *
 * Errors: RGM_ERR_ARG (another dtype or shape; there is a set of that name), RGM_ERR_NOT_FOUND,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_mask_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                const rgm_tensor *masked, const char *name);
/**
 * Each edge stays with probability 1 - rate (Rong et al. 2020, DropEdge). Draw e of `rng` is edge
 * e's. Errors: RGM_ERR_ARG (rate outside [0, 1]), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_drop_edges(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                double rate, const rgm_rng *rng);
/**
 * The line graph beside the graph: a node set of one node an edge, with its features, and the edge
 * set "<name>_next" from each edge to those that go on where it ends.
 *
 * @param name       of the new node set; NULL: "<edge_set>_line"
 * @param backtrack  also from an edge to the one straight back
 *
 * Errors: RGM_ERR_ARG (the edge set has two node sets; a name is taken), RGM_ERR_UNSUPPORTED (more
 * than 2^31 pairs), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_add_line_graph(rgm_graph **out, const rgm_graph *graph, const char *edge_set,
                                    const char *name, bool backtrack);

/**
 * All pairs of the nodes of each component, each with itself too, as a new edge set: who attends to
 * whom in a whole graph. Memory is the square of the nodes.
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
 * Each node stays with probability 1 - rate, and with it the edges between those that stay (You et
 * al. 2020, node dropping). A node that an auxiliary edge set reads (a readout) stays. Draw i is
 * node i's.
 *
 * @param keep_first  the first node of each component stays: tasks on roots ask about it
 *
 * Errors: RGM_ERR_ARG (rate outside [0, 1]), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_drop_nodes(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                double rate, bool keep_first, const rgm_rng *rng);
/**
 * The nodes of each component in another order; edges and features go with them, so that it is the
 * same graph (TF-GNN's shuffle_nodes). keep_first: the first of each component stays first.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_shuffle_nodes(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                   bool keep_first, const rgm_rng *rng);
/**
 * A set's features on other items than their own, of all real components together (TF-GNN's
 * shuffle_features_globally; the corruption of Deep Graph Infomax): one order for all of them.
 *
 * @param feature  the only one that is shuffled; NULL: all
 *
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_shuffle_features(rgm_graph **out, const rgm_graph *graph, rgm_piece piece,
                                      const char *set, const char *feature, const rgm_rng *rng);
/**
 * A node that everybody hears and that hears everybody: a node set `name` with one node a
 * component, whose feature "one" [1] f32 is 1, and the edge sets "<node_set>_to_<name>" and
 * "<name>_to_<node_set>" (Gilmer et al. 2017, section 5.2, as a node).
 * Errors: RGM_ERR_ARG (a name is taken), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_add_virtual_node(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                      const char *name);

/* ---- where a node stands -------------------------------------------------------------------- */

/**
 * f32 [nodes, steps]: how probably a random walk along the edges is back where it began after 1, 2,
 * ... steps (Dwivedi et al. 2022, eq. 5). A walk without a way on ends. An edge set from a node set
 * to itself; time is nodes * steps * edges of each component.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_random_walk(rgm_tensor **out, const rgm_graph *graph, const char *edge_set,
                                 int64_t steps);
/**
 * f32 [nodes, count]: eigenvectors of I - D^-1/2 A D^-1/2 of each component for its `count`
 * smallest eigenvalues above 0, in their order, of length 1 (Dwivedi et al. 2023). A has a 1 where
 * an edge is, in whichever direction, and no loops; what a component has not is 0. The entry of the
 * largest size is positive, the first of several.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_UNSUPPORTED (not found to 1e-5), RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_laplacian(rgm_tensor **out, const rgm_graph *graph, const char *edge_set,
                               int64_t count);
/**
 * A float feature of shape [k] of each component's nodes times 1 or -1, drawn for each of the k:
 * an eigenvector's sign means nothing (Dwivedi et al. 2023). Errors: RGM_ERR_ARG (another dtype or
 * shape), RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_flip_signs(rgm_graph **out, const rgm_graph *graph, const char *node_set,
                                const char *feature, const rgm_rng *rng);

#ifdef __cplusplus
}
#endif
#endif
