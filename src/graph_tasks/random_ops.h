/* Values drawn anew in each run, and patterns picked by them: what corruptors are made of. */
#ifndef RGM_GRAPH_TASKS_RANDOM_OPS_H
#define RGM_GRAPH_TASKS_RANDOM_OPS_H

#include <regimen/autodiff.h>

/* Each draw is a function of the run's seed, the stream's name, the step and the place alone, in
 * training and in validation. The same stream twice in a graph is the same draw. */

/** 1 with probability 1 - rate, else 0, of a float dtype and a shape of at most 4 axes. */
rgm_value *rgmi_draw_mask(rgm_cgraph *graph, rgm_dtype dtype, int rank, const rgm_dim *shape,
                          double rate, const char *stream);
/**
 * i64 [n]: each item's place in an order in which ceil(rate m) of m items, drawn by chance, change
 * places by chance and all others stay. The m items are those of real [n] that are not 0, all
 * together or, with a membership [components, n], those of each component by themselves.
 */
rgm_value *rgmi_draw_order(rgm_value *real, rgm_value *membership, double rate, const char *stream);
/** i64 [kept]: of the entries of a pattern those that stay when floor(rate count), drawn by chance,
 * go; in their order. */
rgm_value *rgmi_draw_entries(rgm_value *pattern, double rate, const char *stream);

/** The pattern whose row i is row order[i] of a pattern; `order` names each row once. */
rgm_value *rgmi_pattern_rows(rgm_value *pattern, rgm_value *order);
/** The pattern of the entries that an index names. */
rgm_value *rgmi_pattern_entries(rgm_value *pattern, rgm_value *index);

#endif
