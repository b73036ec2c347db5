/*
 * OGB folders of one kind of node: one graph, or many graphs one after the other in the same files,
 * with their node and edge counts in num-node-list and num-edge-list. Heterogeneous ones are
 * import_hetero.c's.
 */
#include "import_internal.h"

#include <string.h>

/* All files of a homogeneous data set. */
typedef struct homogeneous {
    const char *node_set, *edge_set;
    char *edge_path, *nodes_path, *edges_path;
    rgm_tensor *pairs, *node_counts, *edge_counts;
    rgmi_raw_feature node_features, node_labels, edge_features, edge_labels, graph_labels;
    int64_t dangling; /* edges left out */
} homogeneous;

static void clear(homogeneous *raw)
{
    rgm_free(raw->edge_path);
    rgm_free(raw->nodes_path);
    rgm_free(raw->edges_path);
    rgm_tensor_release(raw->pairs);
    rgm_tensor_release(raw->node_counts);
    rgm_tensor_release(raw->edge_counts);
    rgmi_raw_feature_clear(&raw->node_features);
    rgmi_raw_feature_clear(&raw->node_labels);
    rgmi_raw_feature_clear(&raw->edge_features);
    rgmi_raw_feature_clear(&raw->edge_labels);
    rgmi_raw_feature_clear(&raw->graph_labels);
}

static rgm_status read_counts(char **path, rgm_tensor **counts, int64_t *sum, const char *folder,
                              const char *name)
{
    RGM_TRY(rgmi_raw_require(path, folder, name));
    RGM_TRY(rgmi_raw_ints(counts, *path, 1));
    *sum = 0;
    for (int64_t i = 0; i < rgm_tensor_count(*counts); i++) {
        int64_t n = rgm_tensor_i64(*counts)[i];
        if (n < 0 || n > INT32_MAX)
            return rgmi_raw_fail(RGM_ERR_DATA, *path, i, "a count of %lld", (long long)n);
        *sum += n;
    }
    return RGM_OK;
}

/* Nodes without rows of their own are but a number in num-node-list. */
static rgm_status check_nodes(const homogeneous *raw, int64_t nodes, int64_t edges)
{
    int64_t graphs = rgm_tensor_count(raw->node_counts);

    if (raw->node_features.path != NULL || raw->node_labels.path != NULL)
        return RGM_OK;
    return rgm_graph_check_declared(nodes, (2 * edges + graphs) * (int64_t)sizeof(int64_t),
                                    raw->nodes_path);
}

static rgm_status read_labels(homogeneous *raw, const char *folder,
                              const rgm_import_options *options, int64_t nodes, int64_t edges)
{
    int64_t graphs = rgm_tensor_count(raw->node_counts);

    RGM_TRY(rgmi_raw_labels(&raw->node_labels, folder, "node-label", options->relabel, nodes));
    RGM_TRY(rgmi_raw_check_rows(&raw->node_labels, nodes, "nodes (num-node-list)"));
    RGM_TRY(rgmi_raw_labels(&raw->edge_labels, folder, "edge-label", options->relabel, edges));
    RGM_TRY(rgmi_raw_check_rows(&raw->edge_labels, edges, "edges (num-edge-list)"));
    RGM_TRY(rgmi_raw_labels(&raw->graph_labels, folder, "graph-label", options->relabel, graphs));
    return rgmi_raw_check_rows(&raw->graph_labels, graphs, "graphs (num-node-list)");
}

static rgm_status read_files(homogeneous *raw, const char *folder,
                             const rgm_import_options *options)
{
    int64_t nodes, edges, graphs;

    RGM_TRY(read_counts(&raw->nodes_path, &raw->node_counts, &nodes, folder, "num-node-list"));
    RGM_TRY(read_counts(&raw->edges_path, &raw->edge_counts, &edges, folder, "num-edge-list"));
    graphs = rgm_tensor_count(raw->node_counts);
    if (rgm_tensor_count(raw->edge_counts) != graphs)
        return RGM_FAIL(RGM_ERR_DATA, "%s speaks of %lld graphs, %s of %lld", raw->nodes_path,
                        (long long)graphs, raw->edges_path,
                        (long long)rgm_tensor_count(raw->edge_counts));
    RGM_TRY(rgmi_raw_require(&raw->edge_path, folder, "edge"));
    RGM_TRY(rgmi_raw_ints(&raw->pairs, raw->edge_path, 2));
    if (rgm_tensor_dim(raw->pairs, 0) != edges)
        return RGM_FAIL(RGM_ERR_DATA, "%s has %lld rows, but the counts in %s add up to %lld",
                        raw->edge_path, (long long)rgm_tensor_dim(raw->pairs, 0), raw->edges_path,
                        (long long)edges);
    RGM_TRY(rgmi_raw_features(&raw->node_features, folder, "node-feat",
                              rgmi_sparse_below(options, RGM_NODE_SET, raw->node_set)));
    RGM_TRY(rgmi_raw_check_rows(&raw->node_features, nodes, "nodes (num-node-list)"));
    RGM_TRY(rgmi_raw_features(&raw->edge_features, folder, "edge-feat",
                              rgmi_sparse_below(options, RGM_EDGE_SET, raw->edge_set)));
    RGM_TRY(rgmi_raw_check_rows(&raw->edge_features, edges, "edges (num-edge-list)"));
    if (!options->new_data)
        RGM_TRY(read_labels(raw, folder, options, nodes, edges));
    return check_nodes(raw, nodes, edges);
}

static rgm_status make_schema(rgm_schema **out, const homogeneous *raw, bool undirected)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;

    RGM_GO(rgm_schema_create(&schema));
    RGM_GO(rgm_schema_add_node_set(schema, raw->node_set));
    RGM_GO(rgm_schema_add_edge_set(schema, raw->edge_set, raw->node_set, raw->node_set));
    if (!undirected) /* new folders are then read likewise */
        RGM_GO(rgm_schema_add_extra(schema, RGM_EDGE_SET, raw->edge_set, "directed", "true"));
    RGM_GO(rgmi_raw_declare(schema, RGM_CONTEXT_PIECE, NULL, &raw->graph_labels));
    RGM_GO(rgmi_raw_declare(schema, RGM_NODE_SET, raw->node_set, &raw->node_features));
    RGM_GO(rgmi_raw_declare(schema, RGM_NODE_SET, raw->node_set, &raw->node_labels));
    RGM_GO(rgmi_raw_declare(schema, RGM_EDGE_SET, raw->edge_set, &raw->edge_features));
    RGM_GO(rgmi_raw_declare(schema, RGM_EDGE_SET, raw->edge_set, &raw->edge_labels));
    RGM_GO(rgm_schema_check(schema));
    *out = schema;
    schema = NULL;
done:
    rgm_schema_release(schema);
    return status;
}

/* Items begin .. end-1 of a feature that may not be there. */
static rgm_status give_slice(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                             const rgmi_raw_feature *feature, int64_t begin, int64_t end)
{
    rgm_feature value;

    if (feature->path == NULL)
        return RGM_OK;
    RGM_TRY(rgmi_raw_slice(&value, feature, begin, end));
    return rgmi_builder_take(builder, piece, set, feature->schema.name, &value);
}

/* Features of edges, in the order the edges have come into. */
static rgm_status give_edge_feature(rgm_graph_builder *builder, const char *set,
                                    const rgmi_raw_feature *feature, const rgmi_raw_edges *edges,
                                    int64_t begin, int64_t end)
{
    rgm_status status;
    rgm_feature slice, ordered;

    if (feature->path == NULL)
        return RGM_OK;
    RGM_TRY(rgmi_raw_slice(&slice, feature, begin, end));
    status = rgm_feature_take(&ordered, &feature->schema, &slice, edges->rows, edges->count);
    rgm_feature_clear(&slice);
    RGM_TRY(status);
    return rgmi_builder_take(builder, RGM_EDGE_SET, set, feature->schema.name, &ordered);
}

/* Graph i, whose nodes and edges start at these rows of the files. */
static rgm_status make_graph(rgm_graph **out, rgm_schema *schema, homogeneous *raw, int64_t i,
                             int64_t node, int64_t edge, const rgm_import_options *options)
{
    rgm_status status = RGM_OK;
    int64_t nodes = rgm_tensor_i64(raw->node_counts)[i];
    int64_t edges_end = edge + rgm_tensor_i64(raw->edge_counts)[i];
    rgmi_edge_form form = {.path = raw->edge_path,
                           .edge_set = raw->edge_set,
                           .source_set = raw->node_set,
                           .target_set = raw->node_set,
                           .source_total = nodes,
                           .target_total = nodes,
                           .undirected = options->undirected,
                           .sort = options->sort_edges};
    rgmi_raw_edges edges = {0};
    rgm_graph_builder *builder = NULL;

    form.dangling = options->skip_dangling ? &raw->dangling : NULL;
    RGM_GO(rgm_graph_builder_create(&builder, schema, 1));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_NODE_SET, raw->node_set, &nodes));
    RGM_GO(rgmi_raw_edges_make(&edges, raw->pairs, edge, edges_end, &form));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, raw->edge_set, &edges.count));
    RGM_GO(rgm_graph_builder_edges(builder, raw->edge_set, edges.source, edges.target));
    RGM_GO(give_slice(builder, RGM_CONTEXT_PIECE, NULL, &raw->graph_labels, i, i + 1));
    RGM_GO(
        give_slice(builder, RGM_NODE_SET, raw->node_set, &raw->node_features, node, node + nodes));
    RGM_GO(give_slice(builder, RGM_NODE_SET, raw->node_set, &raw->node_labels, node, node + nodes));
    RGM_GO(give_edge_feature(builder, raw->edge_set, &raw->edge_features, &edges, edge, edges_end));
    RGM_GO(give_edge_feature(builder, raw->edge_set, &raw->edge_labels, &edges, edge, edges_end));
    RGM_GO(rgm_graph_builder_finish(out, builder));
done:
    rgmi_raw_edges_clear(&edges);
    rgm_graph_builder_release(builder);
    return status;
}

/* Of many graphs, or of one graph's nodes. */
static rgm_status read_split(rgm_graph_data *out, const char *node_set, int64_t nodes,
                             const char *path, const char *split)
{
    bool has_lists, of_nodes;

    RGM_TRY(rgmi_split_check(&has_lists, path, split, out->schema));
    RGM_TRY(rgmi_split_speaks_of(&of_nodes, path, split, node_set));
    if (of_nodes && out->graph_count != 1)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: the split is of nodes of '%s', but there are %lld graphs", path,
                        node_set, (long long)out->graph_count);
    if (out->graph_count != 1)
        return rgmi_read_split(out, path, split, NULL, out->graph_count, NULL);
    RGM_TRY(rgm_strdup(&out->split_set, node_set));
    return rgmi_read_split(out, path, split, node_set, nodes, NULL);
}

rgm_status rgmi_import_homogeneous(rgm_graph_data *out, const char *path, const char *folder,
                                   const rgm_import_options *options)
{
    rgm_status status = RGM_OK;
    homogeneous raw = {.node_set = options->node_set ? options->node_set : "nodes",
                       .edge_set = options->edge_set ? options->edge_set : "edges"};
    int64_t node = 0, edge = 0;

    RGM_GO(read_files(&raw, folder, options));
    RGM_GO(make_schema(&out->schema, &raw, options->undirected));
    out->graph_count = rgm_tensor_count(raw.node_counts);
    RGM_GO(RGM_NEW(out->graphs, out->graph_count));
    for (int64_t i = 0; i < out->graph_count; i++) {
        RGM_GO(make_graph(&out->graphs[i], out->schema, &raw, i, node, edge, options));
        node += rgm_tensor_i64(raw.node_counts)[i];
        edge += rgm_tensor_i64(raw.edge_counts)[i];
    }
    rgmi_tell_dangling(raw.edge_path, raw.edge_set, raw.dangling);
    if (!options->new_data)
        RGM_GO(read_split(out, raw.node_set, node, path, options->split));
done:
    clear(&raw);
    return status;
}

rgm_status rgm_import_ogb(rgm_graph_data *out, const char *path, const rgm_import_options *options)
{
    rgm_import_options defaults = RGM_IMPORT_OPTIONS_INIT;
    rgm_status status = RGM_OK;
    char *folder = NULL, *counts = NULL;

    memset(out, 0, sizeof *out);
    if (options == NULL)
        options = &defaults;
    RGM_GO(rgm_path_join(&folder, path, "raw"));
    if (!rgm_path_is_folder(folder)) {
        status =
            RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: %s; an OGB data set has a folder 'raw' of CSV files",
                     path, rgm_path_exists(path) ? "there is no 'raw' in it" : "no such folder");
        goto done;
    }
    RGM_GO(rgmi_raw_find(&counts, folder, "num-node-dict"));
    if (counts)
        RGM_GO(rgmi_import_heterogeneous(out, path, folder, options));
    else
        RGM_GO(rgmi_import_homogeneous(out, path, folder, options));
done:
    rgm_free(counts);
    rgm_free(folder);
    if (status != RGM_OK)
        rgm_graph_data_clear(out);
    return status;
}
