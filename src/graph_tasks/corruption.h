/* Shared by corruptors, losses of views and the tasks made of them. */
#ifndef RGM_GRAPH_TASKS_CORRUPTION_H
#define RGM_GRAPH_TASKS_CORRUPTION_H

#include <regimen/graph_tasks_selfsupervised.h>

/** [nodes] 1 where a view corrupted so masks a node of the set, else 0; the same draw. */
rgm_value *rgmi_masked_nodes(const rgm_graph_value *graph, const char *node_set, rgm_dtype dtype,
                             const rgm_corruption *corruption);
/** A constant [d, d]: ones on the diagonal. */
rgm_value *rgmi_diagonal(rgm_cgraph *graph, rgm_dtype dtype, int64_t d);

#endif
