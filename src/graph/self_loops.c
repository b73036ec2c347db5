/*
 * An edge set with one loop for each node, whether it has a loop already or not (as TF-GNN does):
 * in each component the old edges come first, then the loops.
 */
#include <string.h>

#include "graph_internal.h"

/* Sizes and ends; from[e] is the old edge that new edge e was, -1 for a loop. */
static rgm_status loop_items(rgmi_items **out, int64_t **from, const rgm_graph *graph, int64_t set,
                             const rgmi_items *nodes)
{
    const rgmi_items *old = graph->sets[set].items;
    rgm_status status = RGM_OK;
    rgmi_items *items = NULL;
    int64_t *sizes = NULL, edge = 0, node = 0, at = 0;

    RGM_GO(RGM_NEW(sizes, old->components));
    for (int64_t c = 0; c < old->components; c++)
        sizes[c] = old->sizes[c] + nodes->sizes[c];
    RGM_GO(rgmi_items_create(&items, old->components, sizes, old->real));
    RGM_GO(rgmi_ints(&items->source, items->total, NULL));
    RGM_GO(rgmi_ints(&items->target, items->total, NULL));
    RGM_GO(RGM_NEW(*from, items->total));
    for (int64_t c = 0; c < old->components; c++) {
        for (int64_t i = 0; i < old->sizes[c]; i++, at++, edge++) {
            rgm_tensor_i64(items->source)[at] = rgm_tensor_i64(old->source)[edge];
            rgm_tensor_i64(items->target)[at] = rgm_tensor_i64(old->target)[edge];
            (*from)[at] = edge;
        }
        for (int64_t i = 0; i < nodes->sizes[c]; i++, at++, node++) {
            rgm_tensor_i64(items->source)[at] = rgm_tensor_i64(items->target)[at] = node;
            (*from)[at] = -1;
        }
    }
    *out = items;
    items = NULL;
done:
    rgmi_items_release(items);
    rgm_free(sizes);
    return status;
}

rgm_status rgm_graph_add_self_loops(rgm_graph **out, const rgm_graph *graph, const char *edge_set)
{
    const rgm_set_schema *schema;
    rgm_status status = RGM_OK;
    rgmi_items *items = NULL;
    rgm_graph *made = NULL;
    int64_t set, nodes, *from = NULL;

    *out = NULL;
    RGM_GO(rgmi_graph_set(&set, graph, RGM_EDGE_SET, edge_set));
    schema = graph->schema->sets[set];
    if (strcmp(schema->source, schema->target) != 0) {
        status = RGM_FAIL(RGM_ERR_ARG,
                          "edge set '%s' goes from '%s' to '%s'; loops need one node "
                          "set",
                          edge_set, schema->source, schema->target);
        goto done;
    }
    nodes = rgmi_set_index(graph->schema, RGM_NODE_SET, schema->source);
    RGM_GO(loop_items(&items, &from, graph, set, graph->sets[nodes].items));
    RGM_GO(rgmi_graph_derive(&made, graph->schema, graph));
    rgmi_items_release(made->sets[set].items);
    made->sets[set].items = items;
    items = NULL;
    for (int64_t j = 0; j < schema->feature_count; j++) {
        rgmi_column **column = &made->sets[set].columns[j];
        rgm_feature taken;
        if (*column == NULL)
            continue;
        RGM_GO(rgmi_feature_take(&taken, &schema->features[j], &(*column)->value, from,
                                 made->sets[set].items->total));
        rgmi_column_release(*column);
        *column = NULL;
        RGM_GO(rgmi_column_create(column, &taken));
    }
    RGM_GO(rgmi_graph_fill(made));
    *out = made;
    made = NULL;
done:
    rgmi_items_release(items);
    rgm_graph_release(made);
    rgm_free(from);
    return status;
}
