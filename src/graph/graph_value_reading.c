/*
 * Views of a graph that are read in another way: a change on the chain that every feature and
 * adjacency passes when it is asked for, so that what no model reads is neither fed nor changed.
 */
#include <string.h>

#include "graph_value_internal.h"

static bool is_aux(const rgm_set_schema *set)
{
    char prefix[64];

    return set->name != NULL && rgm_aux_prefix(set->name, prefix, sizeof prefix) != NULL;
}

/* What one change makes of x, once. */
static rgm_value *read_through(rgm_graph_value *link, const rgm_set_schema *set,
                               const char *feature, rgm_value *x)
{
    const rgm_graph_reading *reading = &link->reading;
    rgmi_read *read;

    if (feature != NULL ? reading->feature == NULL : reading->edges == NULL)
        return x;
    for (read = link->reads; read != NULL; read = read->next)
        if (read->from == x)
            return read->to;
    read = rgm_arena_alloc(link->root->arena, sizeof *read);
    if (read == NULL)
        return rgm_cgraph_fail(link->root->cgraph, RGM_ERR_NOMEM, "out of memory: a graph value");
    read->from = x;
    read->to = feature != NULL ? reading->feature(link->parent, set, feature, x, reading->payload)
                               : reading->edges(link->parent, set, x, reading->payload);
    read->next = link->reads;
    link->reads = read;
    return read->to;
}

/* The oldest change first: as deep as views were made of views. */
rgm_value *rgmi_value_read(const rgm_graph_value *graph, const rgm_graph_value *until, int64_t set,
                           const char *feature, rgm_value *x)
{
    const rgm_set_schema *s = graph->root->schema->sets[set];

    while (graph != until && graph->change != CHANGE_READING)
        graph = graph->parent;
    if (graph == until || x == NULL || is_aux(s))
        return x;
    x = rgmi_value_read(graph->parent, until, set, feature, x);
    return x == NULL ? NULL : read_through((rgm_graph_value *)graph, s, feature, x);
}

bool rgmi_value_loses_edges(const rgm_graph_value *graph, int64_t set)
{
    const rgm_set_schema *s = graph->root->schema->sets[set];

    if (s->piece != RGM_EDGE_SET || is_aux(s))
        return false;
    for (; graph->parent != NULL; graph = graph->parent)
        if (graph->change == CHANGE_READING && graph->reading.edges != NULL)
            return true;
    return false;
}
