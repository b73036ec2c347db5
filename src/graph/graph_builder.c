/*
 * Making a graph from sizes, edges and features given in any order, and the checks that every graph
 * passes that comes from outside: nothing behind them needs to doubt a size or an index.
 */
#include <inttypes.h>
#include <string.h>

#include "graph_internal.h"

/* ---- checks ---- */

static const char *end_name(int end)
{
    return end == 0 ? "source" : "target";
}

/* Edge e breaks a rule: say which. */
static rgm_status bad_edge(const rgm_graph *graph, int64_t set, int end, int64_t e, int64_t node,
                           int64_t component)
{
    const rgm_set_schema *edges = graph->schema->sets[set];
    const char *node_set = end == 0 ? edges->source : edges->target;
    const rgmi_items *nodes =
        graph->sets[rgm_schema_index(graph->schema, RGM_NODE_SET, node_set)].items;
    int64_t at = 0, other = 0;

    if (node < 0 || node >= nodes->total)
        return RGM_FAIL(RGM_ERR_DATA,
                        "edge set '%s': %s of edge %" PRId64 " is %" PRId64
                        ", but node set '%s' has %" PRId64 " nodes",
                        edges->name, end_name(end), e, node, node_set, nodes->total);
    while (node >= at + nodes->sizes[other])
        at += nodes->sizes[other++];
    return RGM_FAIL(RGM_ERR_DATA,
                    "edge set '%s': %s of edge %" PRId64 " of component %" PRId64 " is %" PRId64
                    ", a node of '%s' in component %" PRId64,
                    edges->name, end_name(end), e, component, node, node_set, other);
}

static rgm_status check_end(const rgm_graph *graph, int64_t set, int end)
{
    const rgmi_items *edges = graph->sets[set].items;
    const rgm_set_schema *schema = graph->schema->sets[set];
    const rgmi_items *nodes =
        graph
            ->sets[rgm_schema_index(graph->schema, RGM_NODE_SET,
                                    end == 0 ? schema->source : schema->target)]
            .items;
    const rgm_tensor *tensor = end == 0 ? edges->source : edges->target;
    int64_t count = tensor == NULL ? 0 : rgm_tensor_count(tensor), e = 0, low = 0;
    const int64_t *node;

    if (count != edges->total)
        return RGM_FAIL(RGM_ERR_DATA, "edge set '%s': %" PRId64 " %s indices for %" PRId64 " edges",
                        schema->name, count, end_name(end), edges->total);
    if (count == 0)
        return RGM_OK;
    node = rgm_tensor_i64(tensor);
    for (int64_t c = 0; c < edges->components; c++) {
        uint64_t limit = (uint64_t)nodes->sizes[c];
        int64_t last = e + edges->sizes[c];
        int bad = 0;
        for (int64_t i = e; i < last; i++)
            bad |= (uint64_t)node[i] - (uint64_t)low >= limit;
        for (; bad && e < last; e++)
            if ((uint64_t)node[e] - (uint64_t)low >= limit)
                return bad_edge(graph, set, end, e, node[e], c);
        e = last;
        low += nodes->sizes[c];
    }
    return RGM_OK;
}

rgm_status rgmi_graph_check_edges(const rgm_graph *graph, int64_t set)
{
    RGM_TRY(check_end(graph, set, 0));
    return check_end(graph, set, 1);
}

/* Lengths of ragged dim k for `positions` rows; adds them up. */
static rgm_status check_lengths(int64_t *sum, const char *title, const rgm_feature_schema *schema,
                                const rgm_tensor *lengths, int k, int64_t positions)
{
    if (lengths == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s': row lengths of ragged dim %d are missing",
                        title, schema->name, k);
    if (rgm_tensor_dtype(lengths) != RGM_I64)
        return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s': row lengths of dim %d are not i64", title,
                        schema->name, k);
    if (rgm_tensor_count(lengths) != positions)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: feature '%s': %" PRId64 " row lengths of dim %d, "
                        "expected %" PRId64,
                        title, schema->name, rgm_tensor_count(lengths), k, positions);
    *sum = 0;
    for (int64_t i = 0; i < positions; i++) {
        int64_t length = rgm_tensor_i64(lengths)[i];
        if (length < 0 || length > RGMI_MOST_ITEMS || (*sum += length) > RGMI_MOST_ITEMS)
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: feature '%s': row %" PRId64 " of dim %d has length %" PRId64,
                            title, schema->name, i, k, length);
    }
    return RGM_OK;
}

static rgm_status check_one_hot(const char *title, const rgm_feature_schema *schema,
                                const rgm_feature *feature)
{
    const int64_t *values = rgm_tensor_i64(feature->values);
    const int64_t *lengths = rgm_tensor_i64(feature->row_lengths[1]);
    int64_t count = rgm_tensor_count(feature->values), row = 0, begin = 0;

    for (int64_t i = 0; i < count; i++) {
        if ((uint64_t)values[i] < (uint64_t)schema->vocabulary)
            continue;
        while (i >= begin + lengths[row])
            begin += lengths[row++];
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: feature '%s': item %" PRId64 " lists column %" PRId64
                        ", but there are %" PRId64,
                        title, schema->name, row, values[i], schema->vocabulary);
    }
    return RGM_OK;
}

rgm_status rgmi_graph_check_feature(const rgm_graph *graph, int64_t set, int64_t index)
{
    const rgm_feature_schema *schema = &graph->schema->sets[set]->features[index];
    const rgm_feature *feature = &graph->sets[set].columns[index]->value;
    int64_t positions = graph->sets[set].items->total, shape[RGM_MAX_RANK];
    int rank = rgm_tensor_rank(feature->values);
    char title[RGM_SET_TITLE], got[64];
    bool fits = true;

    rgm_set_title(graph->schema->sets[set], title, sizeof title);
    if (rgm_tensor_dtype(feature->values) != schema->dtype)
        return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s' is %s, the schema says %s", title,
                        schema->name, rgm_dtype_name(rgm_tensor_dtype(feature->values)),
                        rgm_dtype_name(schema->dtype));
    for (int k = 1; k <= rgm_feature_last_ragged(schema); k++) {
        if (schema->shape[k - 1] < 0)
            RGM_TRY(
                check_lengths(&positions, title, schema, feature->row_lengths[k], k, positions));
        else if (__builtin_mul_overflow(positions, schema->shape[k - 1], &positions))
            return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s' is too large", title, schema->name);
    }
    fits = rank == rgm_feature_values_shape(shape, schema, positions);
    for (int k = 0; fits && k < rank; k++)
        fits = rgm_tensor_dim(feature->values, k) == shape[k];
    if (!fits)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: feature '%s' is %s, expected %" PRId64 " rows of %" PRId64 " values",
                        title, schema->name, rgm_tensor_describe(feature->values, got, sizeof got),
                        positions, rgmi_inner_count(schema));
    return schema->vocabulary > 0 ? check_one_hot(title, schema, feature) : RGM_OK;
}

rgm_status rgmi_graph_check(const rgm_graph *graph)
{
    for (int64_t i = 0; i < graph->set_count; i++) {
        if (graph->schema->sets[i]->piece == RGM_EDGE_SET)
            RGM_TRY(rgmi_graph_check_edges(graph, i));
        for (int64_t j = 0; j < graph->schema->sets[i]->feature_count; j++)
            if (graph->sets[i].columns[j] != NULL)
                RGM_TRY(rgmi_graph_check_feature(graph, i, j));
    }
    return RGM_OK;
}

rgm_status rgm_graph_check_complete(const rgm_graph *graph)
{
    char title[RGM_SET_TITLE];

    for (int64_t i = 0; i < graph->set_count; i++)
        for (int64_t j = 0; j < graph->schema->sets[i]->feature_count; j++)
            if (graph->sets[i].columns[j] == NULL)
                return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s' is absent, with %" PRId64 " items",
                                rgm_set_title(graph->schema->sets[i], title, sizeof title),
                                graph->schema->sets[i]->features[j].name,
                                graph->sets[i].items->total);
    return RGM_OK;
}

/* ---- the builder ---- */

struct rgm_graph_builder {
    rgm_graph *graph; /* NULL once finished */
    int64_t set_count;
    rgm_tensor *(*ends)[2]; /* [set_count]; edges may come before their sizes */
};

rgm_status rgm_graph_builder_create(rgm_graph_builder **out, rgm_schema *schema, int64_t components)
{
    rgm_status status = RGM_OK;
    rgm_graph_builder *builder = NULL;

    *out = NULL;
    if (components < 0)
        return RGM_FAIL(RGM_ERR_ARG, "a graph of %lld components", (long long)components);
    RGM_GO(rgm_schema_check(schema));
    RGM_GO(RGM_NEW(builder, 1));
    RGM_GO(rgm_graph_begin(&builder->graph, schema, components, components));
    RGM_GO(RGM_NEW(builder->ends, schema->set_count));
    builder->set_count = schema->set_count;
    *out = builder;
    builder = NULL;
done:
    rgm_graph_builder_release(builder);
    return status;
}

void rgm_graph_builder_release(rgm_graph_builder *builder)
{
    if (builder == NULL)
        return;
    for (int64_t i = 0; builder->ends != NULL && i < builder->set_count; i++) {
        rgm_tensor_release(builder->ends[i][0]);
        rgm_tensor_release(builder->ends[i][1]);
    }
    rgm_free(builder->ends);
    rgm_graph_release(builder->graph);
    rgm_free(builder);
}

static rgm_status is_open(const rgm_graph_builder *builder)
{
    return builder->graph == NULL
               ? RGM_FAIL(RGM_ERR_ARG, "the builder is finished and can only be released")
               : RGM_OK;
}

rgm_status rgm_graph_builder_sizes(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                                   const int64_t *sizes)
{
    char title[RGM_SET_TITLE];
    int64_t index, total = 0;
    rgm_graph *graph = builder->graph;

    RGM_TRY(is_open(builder));
    RGM_TRY(rgmi_graph_set(&index, graph, piece, set));
    rgm_set_title(graph->schema->sets[index], title, sizeof title);
    for (int64_t c = 0; c < graph->components; c++) {
        if (sizes[c] < 0 || sizes[c] > RGMI_MOST_ITEMS || (total += sizes[c]) > RGMI_MOST_ITEMS)
            return RGM_FAIL(RGM_ERR_DATA, "%s: size of component %lld is %lld", title, (long long)c,
                            (long long)sizes[c]);
        if (piece == RGM_CONTEXT_PIECE && sizes[c] != 1)
            return RGM_FAIL(RGM_ERR_DATA, "context: size of component %lld is %lld, must be 1",
                            (long long)c, (long long)sizes[c]);
    }
    rgmi_items_release(graph->sets[index].items);
    return rgmi_items_create(&graph->sets[index].items, graph->components, sizes, graph->real);
}

/* i64 [edges]: the tensor itself, or the numbers of an i32 one. */
static rgm_status wide_end(rgm_tensor **out, rgm_tensor *end)
{
    if (rgm_tensor_dtype(end) == RGM_I64) {
        *out = rgm_tensor_retain(end);
        return RGM_OK;
    }
    RGM_TRY(rgmi_ints(out, rgm_tensor_count(end), NULL));
    for (int64_t e = 0; e < rgm_tensor_count(end); e++)
        rgm_tensor_i64(*out)[e] = rgm_tensor_i32(end)[e];
    return RGM_OK;
}

rgm_status rgm_graph_builder_edges(rgm_graph_builder *builder, const char *edge_set,
                                   rgm_tensor *source, rgm_tensor *target)
{
    rgm_tensor *ends[2] = {source, target};
    int64_t index;

    RGM_TRY(is_open(builder));
    RGM_TRY(rgmi_graph_set(&index, builder->graph, RGM_EDGE_SET, edge_set));
    for (int i = 0; i < 2; i++) {
        rgm_dtype dtype = rgm_tensor_dtype(ends[i]);
        char got[64];

        if ((dtype != RGM_I64 && dtype != RGM_I32) || rgm_tensor_rank(ends[i]) != 1)
            return RGM_FAIL(RGM_ERR_DATA,
                            "edge set '%s': %s is %s, must be i64[edges] or i32[edges]", edge_set,
                            end_name(i), rgm_tensor_describe(ends[i], got, sizeof got));
    }
    for (int i = 0; i < 2; i++) {
        rgm_tensor *end;

        RGM_TRY(wide_end(&end, ends[i]));
        rgm_tensor_release(builder->ends[index][i]);
        builder->ends[index][i] = end;
    }
    return RGM_OK;
}

rgm_status rgm_graph_builder_feature(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                                     const char *feature, const rgm_feature *value)
{
    rgm_feature copy;
    rgmi_column *column;
    int64_t i, j;

    RGM_TRY(is_open(builder));
    RGM_TRY(rgmi_graph_set(&i, builder->graph, piece, set));
    RGM_TRY(rgmi_feature_require(&j, builder->graph->schema->sets[i], feature));
    if (value->values == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "feature '%s' without values", feature);
    rgm_feature_retain(&copy, value);
    RGM_TRY(rgmi_column_create(&column, &copy));
    rgmi_column_release(builder->graph->sets[i].columns[j]);
    builder->graph->sets[i].columns[j] = column;
    return RGM_OK;
}

static rgm_status take_edges(rgm_graph *graph, rgm_tensor *ends[2], int64_t set)
{
    rgmi_items **items = &graph->sets[set].items;
    int64_t count = rgm_tensor_count(ends[0]);

    if (*items == NULL && graph->components == 1)
        RGM_TRY(rgmi_items_create(items, 1, &count, 1));
    if (*items == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "edge set '%s' has %" PRId64 " edges but no sizes",
                        graph->schema->sets[set]->name, count);
    rgmi_items_set_edges(*items, ends[0], ends[1]);
    return RGM_OK;
}

rgm_status rgm_graph_builder_finish(rgm_graph **out, rgm_graph_builder *builder)
{
    rgm_graph *graph = builder->graph;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_TRY(is_open(builder));
    builder->graph = NULL;
    for (int64_t i = 0; i < graph->set_count; i++)
        if (builder->ends[i][0] != NULL)
            RGM_GO(take_edges(graph, builder->ends[i], i));
    RGM_GO(rgm_graph_seal(graph));
    RGM_GO(rgmi_graph_check(graph));
    *out = graph;
    graph = NULL;
done:
    rgm_graph_release(graph);
    return status;
}
