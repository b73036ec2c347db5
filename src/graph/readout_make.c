/*
 * Adding readouts to a graph: one item a component at its first node (what samplers put there), or
 * one item for each of some nodes of a whole graph.
 */
#include <inttypes.h>
#include <string.h>

#include "graph_internal.h"

/* "<readout_set>/<key>" */
static rgm_status edge_set_name(char **out, const char *readout_set, const char *key)
{
    *out = NULL;
    if (readout_set == NULL || !rgm_is_readout_set(readout_set))
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no name of a readout set (\"%s\" or \"%s:name\")",
                        readout_set == NULL ? "" : readout_set, RGM_READOUT, RGM_READOUT);
    return rgm_strprintf(out, "%s/%s", readout_set, key == NULL ? "" : key);
}

/*
 * The schema with a readout set, and an edge set to it from node_set. The same object when all is
 * there already, so that graphs asked about different nodes share it.
 */
static rgm_status schema_with_readout(rgm_schema **out, const rgm_graph *graph,
                                      const char *readout_set, const char *edge_set,
                                      const char *node_set, const char *label)
{
    const rgm_schema *old = graph->schema;
    const rgm_set_schema *readout = rgm_schema_find(old, RGM_NODE_SET, readout_set);
    const rgm_set_schema *edges = rgm_schema_find(old, RGM_EDGE_SET, edge_set);
    const rgm_feature_schema *from = NULL;
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    int64_t index;

    RGM_TRY(rgmi_set_require(&index, old, RGM_NODE_SET, node_set));
    if (label != NULL) {
        int64_t column;
        RGM_TRY(rgmi_feature_require(&column, old->sets[index], label));
        from = &old->sets[index]->features[column];
    }
    if (readout != NULL && edges != NULL && strcmp(edges->source, node_set) == 0 &&
        (label == NULL || rgm_set_feature(readout, label) != NULL)) {
        *out = rgm_schema_retain(graph->schema);
        return RGM_OK;
    }
    RGM_GO(rgm_schema_copy(&schema, old));
    if (readout == NULL)
        RGM_GO(rgm_schema_add_node_set(schema, readout_set));
    if (edges == NULL)
        RGM_GO(rgm_schema_add_edge_set(schema, edge_set, node_set, readout_set));
    if (label != NULL && (readout == NULL || rgm_set_feature(readout, label) == NULL))
        RGM_GO(rgm_schema_add_feature_copy(
            schema, rgm_schema_index(schema, RGM_NODE_SET, readout_set), label, from));
    RGM_GO(rgm_schema_check(schema));
    *out = schema;
    schema = NULL;
done:
    rgm_schema_release(schema);
    return status;
}

/* Every column of a set absent, and no items. */
static void forget_set(rgm_graph *graph, int64_t set)
{
    rgmi_items_release(graph->sets[set].items);
    graph->sets[set].items = NULL;
    for (int64_t j = 0; j < graph->schema->sets[set]->feature_count; j++) {
        rgmi_column_release(graph->sets[set].columns[j]);
        graph->sets[set].columns[j] = NULL;
    }
}

/* ---- the first node ---- */

/* A component of padding may have no nodes; then it has no edge. */
static rgm_status first_node_edges(rgmi_items **out, const rgm_graph *graph, int64_t node_set)
{
    const rgmi_items *nodes = graph->sets[node_set].items;
    rgm_status status = RGM_OK;
    rgmi_items *items = NULL;
    int64_t begin = 0, edge = 0, *sizes = NULL;

    RGM_GO(RGM_NEW(sizes, graph->components));
    for (int64_t c = 0; c < graph->components; c++) {
        sizes[c] = nodes->sizes[c] > 0;
        if (sizes[c] == 0 && c < graph->real) {
            status = RGM_FAIL(RGM_ERR_DATA,
                              "node set '%s': component %" PRId64 " has no nodes, so "
                              "no first one",
                              graph->schema->sets[node_set]->name, c);
            goto done;
        }
    }
    RGM_GO(rgmi_items_create(&items, graph->components, sizes, graph->real));
    RGM_GO(rgmi_ints(&items->source, items->total, NULL));
    RGM_GO(rgmi_ints(&items->target, items->total, NULL));
    for (int64_t c = 0; c < graph->components; c++) {
        if (sizes[c] > 0) {
            rgm_tensor_i64(items->source)[edge] = begin;
            rgm_tensor_i64(items->target)[edge++] = c;
        }
        begin += nodes->sizes[c];
    }
    *out = items;
    items = NULL;
done:
    rgmi_items_release(items);
    rgm_free(sizes);
    return status;
}

rgm_status rgm_graph_readout_from_first_node(rgm_graph **out, const rgm_graph *graph,
                                             const char *key, const char *node_set,
                                             const char *readout_set)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph *made = NULL;
    char *edge_set = NULL;
    int64_t nodes, readout, edges;

    *out = NULL;
    RGM_GO(edge_set_name(&edge_set, readout_set, key));
    RGM_GO(rgmi_graph_set(&nodes, graph, RGM_NODE_SET, node_set));
    if (rgm_schema_index(graph->schema, RGM_EDGE_SET, edge_set) >= 0) {
        status = RGM_FAIL(RGM_ERR_ARG, "there is an edge set '%s' already", edge_set);
        goto done;
    }
    RGM_GO(schema_with_readout(&schema, graph, readout_set, edge_set, node_set, NULL));
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    readout = rgm_schema_index(schema, RGM_NODE_SET, readout_set);
    edges = rgm_schema_index(schema, RGM_EDGE_SET, edge_set);
    if (made->sets[readout].items == NULL)
        RGM_GO(rgmi_items_create(&made->sets[readout].items, graph->components,
                                 graph->sets[0].items->sizes, graph->real));
    for (int64_t c = 0; c < graph->components; c++)
        if (made->sets[readout].items->sizes[c] != 1) {
            status = RGM_FAIL(RGM_ERR_DATA,
                              "node set '%s' has %" PRId64 " items in component %" PRId64
                              ", must have one",
                              readout_set, made->sets[readout].items->sizes[c], c);
            goto done;
        }
    RGM_GO(first_node_edges(&made->sets[edges].items, graph, nodes));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_schema_release(schema);
    rgm_free(edge_set);
    return status;
}

/* ---- other nodes ---- */

static rgm_status check_nodes(const rgm_graph *graph, int64_t set, const rgm_tensor *nodes)
{
    const int64_t total = graph->sets[set].items->total;
    char got[64];

    if (rgm_tensor_dtype(nodes) != RGM_I64 || rgm_tensor_rank(nodes) != 1)
        return RGM_FAIL(RGM_ERR_ARG, "nodes to read are %s, must be i64[n]",
                        rgm_tensor_describe(nodes, got, sizeof got));
    for (int64_t i = 0; i < rgm_tensor_count(nodes); i++)
        if (rgm_tensor_i64(nodes)[i] < 0 || rgm_tensor_i64(nodes)[i] >= total)
            return RGM_FAIL(RGM_ERR_DATA,
                            "readout %" PRId64 " is of node %" PRId64 ", but node set "
                            "'%s' has %" PRId64 " nodes",
                            i, rgm_tensor_i64(nodes)[i], graph->schema->sets[set]->name, total);
    return RGM_OK;
}

/* The one readout edge set and the readout set are the only ones that this readout touches. */
static rgm_status check_alone(const rgm_graph *graph, const char *readout_set, const char *edge_set)
{
    for (int64_t i = rgmi_readout_next(graph->schema, 1, readout_set, NULL); i >= 0;
         i = rgmi_readout_next(graph->schema, i + 1, readout_set, NULL))
        if (strcmp(graph->schema->sets[i]->name, edge_set) != 0)
            return RGM_FAIL(RGM_ERR_ARG,
                            "edge set '%s' reads for '%s' too; other nodes can only be "
                            "asked about through one edge set",
                            graph->schema->sets[i]->name, readout_set);
    return RGM_OK;
}

static rgm_status take_label(rgm_graph *made, int64_t readout, int64_t nodes, const char *label,
                             const rgm_tensor *index)
{
    const rgm_set_schema *from = made->schema->sets[nodes];
    int64_t i = rgm_set_feature_index(from, label);
    int64_t j = rgm_set_feature_index(made->schema->sets[readout], label);
    rgm_feature taken;

    if (made->sets[nodes].columns[i] == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "node set '%s': feature '%s' is absent from this graph",
                        from->name, label);
    RGM_TRY(rgmi_column_whole(made->sets[nodes].columns[i], &from->features[i]));
    RGM_TRY(rgm_feature_take(&taken, &from->features[i], &made->sets[nodes].columns[i]->value,
                             rgm_tensor_i64(index), rgm_tensor_count(index)));
    return rgmi_column_create(&made->sets[readout].columns[j], &taken);
}

rgm_status rgm_graph_with_readout(rgm_graph **out, const rgm_graph *graph, const char *readout_set,
                                  const char *key, const char *node_set, rgm_tensor *nodes,
                                  const char *label)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph *made = NULL;
    rgm_tensor *target = NULL;
    char *edge_set = NULL;
    int64_t from, readout, edges, count = rgm_tensor_count(nodes);

    *out = NULL;
    RGM_GO(edge_set_name(&edge_set, readout_set, key));
    RGM_GO(rgmi_graph_set(&from, graph, RGM_NODE_SET, node_set));
    if (graph->components != 1) {
        status = RGM_FAIL(RGM_ERR_ARG,
                          "a graph of %" PRId64 " components; nodes of one component "
                          "can be asked about",
                          graph->components);
        goto done;
    }
    RGM_GO(check_nodes(graph, from, nodes));
    RGM_GO(check_alone(graph, readout_set, edge_set));
    RGM_GO(schema_with_readout(&schema, graph, readout_set, edge_set, node_set, label));
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    from = rgm_schema_index(schema, RGM_NODE_SET, node_set);
    readout = rgm_schema_index(schema, RGM_NODE_SET, readout_set);
    edges = rgm_schema_index(schema, RGM_EDGE_SET, edge_set);
    forget_set(made, readout);
    forget_set(made, edges);
    RGM_GO(rgm_tensor_arange(&target, count));
    RGM_GO(rgmi_items_create(&made->sets[readout].items, 1, &count, made->real));
    RGM_GO(rgmi_items_create(&made->sets[edges].items, 1, &count, made->real));
    rgmi_items_set_edges(made->sets[edges].items, nodes, target);
    if (label != NULL)
        RGM_GO(take_label(made, readout, from, label, nodes));
    RGM_GO(rgm_graph_seal(made));
    if (label != NULL)
        RGM_GO(rgmi_graph_check_feature(made, readout,
                                        rgm_set_feature_index(schema->sets[readout], label)));
    *out = made;
    made = NULL;
done:
    rgm_tensor_release(target);
    rgm_graph_release(made);
    rgm_schema_release(schema);
    rgm_free(edge_set);
    return status;
}
