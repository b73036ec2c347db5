/*
 * What functions that make a graph of a graph share: a schema with more sets, and the items of a
 * set written anew with the features of those that they were.
 */
#ifndef RGM_GRAPH_EDIT_INTERNAL_H
#define RGM_GRAPH_EDIT_INTERNAL_H

#include <regimen/graph_edit.h>

#include "graph_internal.h"

/** Items of a set being written, component by component. */
typedef struct rgmi_edit {
    int64_t *from;            /* [count] which old item each was, -1: none, its features are 0 */
    int64_t *source, *target; /* [count] of edges                                              */
    int64_t *sizes;           /* [components]                                                  */
    int64_t count, components;
} rgmi_edit;

/** Room for `most` items. Errors: RGM_ERR_NOMEM; to be cleared then too. */
rgm_status rgmi_edit_init(rgmi_edit *edit, int64_t components, int64_t most, bool edges);
void rgmi_edit_clear(rgmi_edit *edit);
static inline void rgmi_edit_add(rgmi_edit *edit, int64_t component, int64_t from)
{
    edit->from[edit->count++] = from;
    edit->sizes[component]++;
}
static inline void rgmi_edit_add_edge(rgmi_edit *edit, int64_t component, int64_t from,
                                      int64_t source, int64_t target)
{
    edit->source[edit->count] = source;
    edit->target[edit->count] = target;
    rgmi_edit_add(edit, component, from);
}
/**
 * Set `to` of a graph that nobody has seen becomes what was written; its features are those of the
 * same name of set `set` of `graph`. rgm_graph_seal() is still to be called.
 */
rgm_status rgmi_edit_put(rgm_graph *made, int64_t to, const rgmi_edit *edit, const rgm_graph *graph,
                         int64_t set);
/** The same of a graph derived from `graph` by its own schema, whole. */
rgm_status rgmi_edit_finish(rgm_graph **out, const rgm_graph *graph, int64_t set,
                            const rgmi_edit *edit);

/** RGM_ERR_ARG: a set of that name is there already. */
rgm_status rgmi_edit_new_name(const rgm_schema *schema, rgm_piece piece, const char *name);
/** A set added to a copy of a schema, with the features of set `like` (-1: none). Edge sets have
 * ends. */
rgm_status rgmi_edit_add_set(rgm_schema *schema, rgm_piece piece, const char *name,
                             const char *source, const char *target, const rgm_set_schema *like);
/** An edge set from a node set to itself: its place; `why` ends the message. RGM_ERR_ARG. */
rgm_status rgmi_edit_loop_set(int64_t *index, const rgm_graph *graph, const char *edge_set,
                              const char *why);
/** RGM_ERR_ARG unless 0 <= rate <= 1. */
rgm_status rgmi_edit_check_rate(double rate);

/** A's neighbours of each node of a component, both directions, each once. */
typedef struct rgmi_laplacian_graph {
    int64_t n;
    int64_t *start; /* [n + 1] */
    int64_t *node;  /* [start[n]] */
} rgmi_laplacian_graph;
/**
 * The `count` smallest eigenvalues above 0 of the normalised Laplacian: vectors [count, n], values
 * [count]; *found of them. A component of more than `dense` nodes is worked on by filtered subspace
 * iteration. RGM_ERR_UNSUPPORTED when that does not settle.
 */
rgm_status rgmi_spectrum(double *values, double *vectors, int64_t *found,
                         const rgmi_laplacian_graph *graph, int64_t count, int64_t dense);

#endif
