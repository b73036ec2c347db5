/*
 * Seeds of a graph in parts on their way through a recipe, until a step has the graphs around them.
 */
#ifndef RGM_GRAPH_TASKS_WAITING_SEEDS_H
#define RGM_GRAPH_TASKS_WAITING_SEEDS_H

#include "learning.h"

typedef struct rgmi_waiting_seeds {
    int64_t *nodes; /* [count] numbers in the whole graph */
    int64_t count;
    uint64_t epoch;
    const rgmi_pipeline *pipeline; /* that the graph around them goes through; NULL: not told yet */
} rgmi_waiting_seeds;
extern const rgm_element_type rgmi_waiting_seeds_element;

#endif
