/* A graph of one node set and one edge set of plain tensors: what C programs have before they have
 * a schema. */
#include "graph_internal.h"

/* One piece of the graph: its set and the features that go there. */
typedef struct part {
    rgm_piece piece;
    const char *set;
    const rgm_named_tensor *features;
    int64_t count;
} part;

static rgm_status declare(rgm_schema *schema, const part *to)
{
    for (int64_t i = 0; i < to->count; i++) {
        const rgm_named_tensor *feature = &to->features[i];

        if (rgm_tensor_rank(feature->tensor) < 1)
            return RGM_FAIL(RGM_ERR_DATA, "feature '%s' is one value, must be [items, ...]",
                            feature->name);
        RGM_TRY(rgm_schema_add_feature(
            schema, to->piece, to->set, feature->name, rgm_tensor_dtype(feature->tensor),
            rgm_tensor_rank(feature->tensor) - 1, rgm_tensor_shape(feature->tensor) + 1));
    }
    return RGM_OK;
}

static rgm_status fill(rgm_graph_builder *builder, const part *to)
{
    for (int64_t i = 0; i < to->count; i++)
        RGM_TRY(rgm_graph_builder_feature(builder, to->piece, to->set, to->features[i].name,
                                          &(rgm_feature){.values = to->features[i].tensor}));
    return RGM_OK;
}

/* The nodes of each component: as given, or those that a feature of the only one has. */
static rgm_status find_sizes(const int64_t **sizes, int64_t *rows, const rgm_homogeneous *from)
{
    *sizes = from->node_sizes;
    if (from->components > 1 && (from->node_sizes == NULL || from->edge_sizes == NULL))
        return RGM_FAIL(RGM_ERR_ARG,
                        "%lld components need node_sizes and edge_sizes, how many each has",
                        (long long)from->components);
    if (*sizes != NULL)
        return RGM_OK;
    if (from->node_feature_count == 0)
        return RGM_FAIL(RGM_ERR_ARG, "node_sizes is needed where no node feature says how many "
                                     "nodes there are");
    *rows = rgm_tensor_dim(from->node_features[0].tensor, 0);
    *sizes = rows;
    return RGM_OK;
}

rgm_status rgm_graph_homogeneous(rgm_graph **out, const rgm_homogeneous *from)
{
    rgm_status status = RGM_OK;
    const char *node_set = from->node_set != NULL ? from->node_set : "nodes";
    const char *edge_set = from->edge_set != NULL ? from->edge_set : "edges";
    const part parts[] = {
        {RGM_CONTEXT_PIECE, NULL, from->context_features, from->context_feature_count},
        {RGM_NODE_SET, node_set, from->node_features, from->node_feature_count},
        {RGM_EDGE_SET, edge_set, from->edge_features, from->edge_feature_count},
    };
    const int64_t *node_sizes;
    int64_t rows;
    rgm_schema *schema = NULL;
    rgm_graph_builder *builder = NULL;

    *out = NULL;
    RGM_GO(find_sizes(&node_sizes, &rows, from));
    RGM_GO(rgm_schema_create(&schema));
    RGM_GO(rgm_schema_add_node_set(schema, node_set));
    RGM_GO(rgm_schema_add_edge_set(schema, edge_set, node_set, node_set));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        RGM_GO(declare(schema, &parts[i]));
    RGM_GO(rgm_graph_builder_create(&builder, schema, from->components > 0 ? from->components : 1));
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_NODE_SET, node_set, node_sizes));
    if (from->edge_sizes != NULL)
        RGM_GO(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, edge_set, from->edge_sizes));
    RGM_GO(rgm_graph_builder_edges(builder, edge_set, from->source, from->target));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        RGM_GO(fill(builder, &parts[i]));
    RGM_GO(rgm_graph_builder_finish(out, builder));
done:
    rgm_graph_builder_release(builder);
    rgm_schema_release(schema);
    return status;
}
