/*
 * Parts put into a graph that is being made, and rows of edges as a graph has them: the face that
 * other layers see of items and columns.
 */
#include "graph_file.h"

rgm_status rgm_graph_put_items(rgm_graph *graph, int64_t set, int64_t count, rgm_tensor *source,
                               rgm_tensor *target)
{
    rgmi_items **items = &graph->sets[set].items;

    RGM_TRY(rgmi_items_create(items, 1, &count, 1));
    if (source != NULL)
        rgmi_items_set_edges(*items, source, target);
    return RGM_OK;
}

rgm_status rgm_graph_put_feature(rgm_graph *graph, int64_t set, int64_t feature, rgm_feature *value)
{
    return rgmi_column_create(&graph->sets[set].columns[feature], value);
}

bool rgm_graph_has_feature(const rgm_graph *graph, rgm_piece piece, const char *set,
                           const char *feature)
{
    return rgmi_graph_column(graph, piece, set, feature) != NULL;
}

rgm_status rgm_graph_edge_rows(rgm_edge_rows *out, const rgm_graph *graph, const char *edge_set,
                               rgm_tag end)
{
    const rgmi_stored_edges *stored;
    rgm_pattern *pattern;
    int64_t set;

    *out = (rgm_edge_rows){.csr = NULL};
    RGM_TRY(rgmi_graph_set(&set, graph, RGM_EDGE_SET, edge_set));
    stored = graph->sets[set].items->stored;
    if (stored != NULL && stored->has[end]) {
        *out = (rgm_edge_rows){
            .csr = &stored->csr[end], .max_degree = stored->max_degree[end], .doubted = true};
        return RGM_OK;
    }
    RGM_TRY(rgm_graph_adjacency(&pattern, graph, edge_set, end));
    out->csr = rgm_pattern_by_row(pattern);
    for (int64_t row = 0; row < out->csr->rows; row++) {
        int64_t degree = out->csr->row_start[row + 1] - out->csr->row_start[row];
        if (degree > out->max_degree)
            out->max_degree = degree;
    }
    return RGM_OK;
}

rgm_status rgm_graph_check_edge_rows(const rgm_graph *graph, const char *edge_set, rgm_tag end)
{
    const rgmi_stored_edges *stored;
    int64_t set;

    RGM_TRY(rgmi_graph_set(&set, graph, RGM_EDGE_SET, edge_set));
    stored = graph->sets[set].items->stored;
    return stored != NULL && stored->has[end] ? rgmi_stored_edges_check(stored, (int)end) : RGM_OK;
}

rgm_status rgm_graph_read_edges(const rgm_graph *graph)
{
    for (int64_t i = 0; i < graph->set_count; i++)
        RGM_TRY(rgmi_items_whole(graph->sets[i].items));
    return RGM_OK;
}

rgm_status rgm_graph_check_uncut(const rgm_graph *graph)
{
    const rgmi_graph_file *file = rgmi_graph_file_of(graph);

    return file != NULL ? rgmi_graph_file_check(file) : RGM_OK;
}
