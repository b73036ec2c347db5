/*
 * Making a graph of a graph: sets of items that are written anew, whose features come along.
 */
#include <string.h>

#include "edit.h"

rgm_status rgm_graph_with_schema(rgm_graph **out, const rgm_graph *graph, rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_graph *made = NULL;

    *out = NULL;
    RGM_GO(rgm_schema_check_has(graph->schema, schema));
    RGM_GO(rgm_schema_check_has(schema, graph->schema));
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    return status;
}

rgm_status rgmi_edit_init(rgmi_edit *edit, int64_t components, int64_t most, bool edges)
{
    *edit = (rgmi_edit){.components = components};
    RGM_TRY(RGM_NEW(edit->sizes, components));
    RGM_TRY(RGM_NEW(edit->from, most));
    if (!edges)
        return RGM_OK;
    RGM_TRY(RGM_NEW(edit->source, most));
    return RGM_NEW(edit->target, most);
}

void rgmi_edit_clear(rgmi_edit *edit)
{
    rgm_free(edit->from);
    rgm_free(edit->source);
    rgm_free(edit->target);
    rgm_free(edit->sizes);
    *edit = (rgmi_edit){0};
}

/* The columns of the written items; what the old set lacks stays absent. */
static rgm_status put_columns(rgm_graph *made, int64_t to, const rgmi_edit *edit,
                              const rgm_graph *graph, int64_t set)
{
    const rgm_set_schema *schema = made->schema->sets[to], *old = graph->schema->sets[set];

    for (int64_t j = 0; j < schema->feature_count; j++) {
        int64_t i = rgm_set_feature_index(old, schema->features[j].name);
        rgmi_column **column = &made->sets[to].columns[j];
        const rgmi_column *was = i >= 0 ? graph->sets[set].columns[i] : NULL;
        rgm_feature taken;

        if (was == NULL)
            continue;
        RGM_TRY(rgm_feature_take(&taken, &old->features[i], &was->value, edit->from, edit->count));
        rgmi_column_release(*column);
        *column = NULL;
        RGM_TRY(rgmi_column_create(column, &taken));
    }
    return RGM_OK;
}

rgm_status rgmi_edit_put(rgm_graph *made, int64_t to, const rgmi_edit *edit, const rgm_graph *graph,
                         int64_t set)
{
    rgmi_items *items;

    rgmi_items_release(made->sets[to].items);
    made->sets[to].items = NULL;
    RGM_TRY(rgmi_items_create(&made->sets[to].items, edit->components, edit->sizes, made->real));
    items = made->sets[to].items;
    if (edit->source != NULL) {
        RGM_TRY(rgmi_ints(&items->source, edit->count, edit->source));
        RGM_TRY(rgmi_ints(&items->target, edit->count, edit->target));
    }
    return put_columns(made, to, edit, graph, set);
}

rgm_status rgmi_edit_finish(rgm_graph **out, const rgm_graph *graph, int64_t set,
                            const rgmi_edit *edit)
{
    rgm_status status = RGM_OK;
    rgm_graph *made = NULL;

    RGM_GO(rgm_graph_begin_from(&made, graph->schema, graph));
    RGM_GO(rgmi_edit_put(made, set, edit, graph, set));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    return status;
}

rgm_status rgmi_edit_new_name(const rgm_schema *schema, rgm_piece piece, const char *name)
{
    if (rgm_schema_index(schema, piece, name) < 0)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_ARG, "there is %s set '%s' already; the new one needs another name",
                    piece == RGM_NODE_SET ? "a node" : "an edge", name);
}

rgm_status rgmi_edit_add_set(rgm_schema *schema, rgm_piece piece, const char *name,
                             const char *source, const char *target, const rgm_set_schema *like)
{
    int64_t set;

    RGM_TRY(rgmi_edit_new_name(schema, piece, name));
    RGM_TRY(piece == RGM_NODE_SET ? rgm_schema_add_node_set(schema, name)
                                  : rgm_schema_add_edge_set(schema, name, source, target));
    set = rgm_schema_index(schema, piece, name);
    for (int64_t j = 0; like != NULL && j < like->feature_count; j++)
        RGM_TRY(
            rgm_schema_add_feature_copy(schema, set, like->features[j].name, &like->features[j]));
    return RGM_OK;
}

rgm_status rgmi_edit_loop_set(int64_t *index, const rgm_graph *graph, const char *edge_set,
                              const char *why)
{
    const rgm_set_schema *schema;

    RGM_TRY(rgmi_graph_set(index, graph, RGM_EDGE_SET, edge_set));
    schema = graph->schema->sets[*index];
    if (strcmp(schema->source, schema->target) != 0)
        return RGM_FAIL(RGM_ERR_ARG, "edge set '%s' goes from '%s' to '%s'; %s one node set",
                        edge_set, schema->source, schema->target, why);
    return RGM_OK;
}

rgm_status rgmi_edit_check_rate(double rate)
{
    if (rate >= 0 && rate <= 1)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_ARG, "the rate is %g, must be in [0, 1]", rate);
}
