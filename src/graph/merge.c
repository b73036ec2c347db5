/*
 * Several graphs as one with all their components, one component of a graph as a graph, and graphs
 * that differ from another in one feature. Index vectors shift by the nodes before them.
 */
#include <string.h>

#include "graph_internal.h"

static rgm_status merge_edges(rgmi_items *items, rgm_graph *const *graphs, int64_t count,
                              int64_t set)
{
    for (int end = 0; end < 2; end++) {
        rgm_tensor **out = end == 0 ? &items->source : &items->target;
        int64_t shift = 0, *to;
        RGM_TRY(rgmi_ints(out, items->total, NULL));
        to = rgm_tensor_i64(*out);
        for (int64_t g = 0; g < count; g++) {
            const rgmi_items *from = graphs[g]->sets[set].items;
            const int64_t *index = rgm_tensor_i64(end == 0 ? from->source : from->target);
            for (int64_t i = 0; i < from->total; i++)
                to[i] = index[i] + shift;
            to += from->total;
            shift += end == 0 ? from->source_total : from->target_total;
        }
    }
    return RGM_OK;
}

static rgm_status merge_items(rgm_graph *merged, rgm_graph *const *graphs, int64_t count,
                              int64_t set)
{
    rgmi_items *items;
    int64_t at = 0;

    RGM_TRY(rgmi_items_create(&merged->sets[set].items, merged->components, NULL, merged->real));
    items = merged->sets[set].items;
    for (int64_t g = 0; g < count; g++) {
        const rgmi_items *from = graphs[g]->sets[set].items;
        memcpy(items->sizes + at, from->sizes, (size_t)from->components * sizeof from->sizes[0]);
        at += from->components;
        items->total += from->total;
    }
    items->real_total = items->total;
    if (merged->schema->sets[set]->piece == RGM_EDGE_SET)
        return merge_edges(items, graphs, count, set);
    return RGM_OK;
}

/* Graphs without items of the set have no say in whether a feature is there. */
static rgm_status merge_feature(rgm_graph *merged, rgm_graph *const *graphs, int64_t count,
                                int64_t set, int64_t index, const rgm_feature **parts)
{
    const rgm_set_schema *schema = merged->schema->sets[set];
    int64_t part_count = 0, with = -1, without = -1;
    char title[RGM_SET_TITLE];
    rgm_feature joined;

    for (int64_t g = 0; g < count; g++) {
        const rgmi_column *column = graphs[g]->sets[set].columns[index];
        if (graphs[g]->sets[set].items->total == 0)
            continue;
        if (column != NULL) {
            parts[part_count++] = &column->value;
            with = g;
        } else {
            without = g;
        }
    }
    if (with < 0)
        return RGM_OK; /* absent; rgm_graph_seal() makes it empty where there are no items */
    if (without >= 0)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: feature '%s' is absent from graph %lld but not from "
                        "graph %lld",
                        rgm_set_title(schema, title, sizeof title), schema->features[index].name,
                        (long long)without, (long long)with);
    RGM_TRY(rgmi_feature_join(&joined, &schema->features[index], parts, part_count, 0));
    return rgmi_column_create(&merged->sets[set].columns[index], &joined);
}

/* Graphs come from different sources at times; then sets and features must still be the same ones.
 */
static rgm_status check_same_schema(rgm_graph *const *graphs, int64_t count)
{
    const rgm_schema *first = graphs[0]->schema;

    for (int64_t g = 1; g < count; g++) {
        const rgm_schema *other = graphs[g]->schema;
        rgm_status status;
        if (other == first)
            continue;
        status = rgm_schema_check_has(first, other);
        if (status == RGM_OK)
            status = rgm_schema_check_has(other, first);
        for (int64_t i = 0; i < first->set_count && status == RGM_OK; i++) {
            const rgm_set_schema *a = first->sets[i], *b = other->sets[i];
            if (strcmp(a->name, b->name) != 0)
                status =
                    RGM_FAIL(RGM_ERR_DATA, "sets in another order: '%s', '%s'", a->name, b->name);
            for (int64_t j = 0; j < a->feature_count && status == RGM_OK; j++)
                if (strcmp(a->features[j].name, b->features[j].name) != 0)
                    status = RGM_FAIL(RGM_ERR_DATA, "set '%s': features in another order", a->name);
        }
        if (status < 0)
            return rgm_error_prefix(status, "graphs 0 and %lld cannot merge", (long long)g);
    }
    return RGM_OK;
}

rgm_status rgm_graph_merge(rgm_graph **out, rgm_graph *const *graphs, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_graph *merged = NULL;
    const rgm_feature **parts = NULL;
    int64_t components = 0;

    *out = NULL;
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "%lld graphs to merge", (long long)count);
    RGM_TRY(check_same_schema(graphs, count));
    for (int64_t g = 0; g < count; g++) {
        RGM_TRY(rgmi_graph_whole(graphs[g]));
        if (graphs[g]->real != graphs[g]->components)
            return RGM_FAIL(RGM_ERR_ARG, "graph %lld is padded; merge first, then pad",
                            (long long)g);
        components += graphs[g]->components;
    }
    if (count == 1) {
        *out = rgm_graph_retain(graphs[0]);
        return RGM_OK;
    }
    RGM_GO(RGM_NEW(parts, count));
    RGM_GO(rgm_graph_begin(&merged, graphs[0]->schema, components, components));
    for (int64_t i = 0; i < merged->set_count; i++) {
        RGM_GO(merge_items(merged, graphs, count, i));
        for (int64_t j = 0; j < merged->schema->sets[i]->feature_count; j++)
            RGM_GO(merge_feature(merged, graphs, count, i, j, parts));
    }
    RGM_GO(rgm_graph_seal(merged));
    *out = merged;
    merged = NULL;
done:
    rgm_graph_release(merged);
    rgm_free((void *)parts);
    return status;
}

/* ---- one component ---- */

static rgm_status take_range(rgm_feature *out, const rgm_feature_schema *schema,
                             const rgm_feature *feature, int64_t begin, int64_t count)
{
    rgm_status status;
    int64_t *items;

    if (rgm_feature_last_ragged(schema) == 0) {
        memset(out, 0, sizeof *out);
        return rgm_tensor_slice(&out->values, feature->values, begin, begin + count);
    }
    RGM_TRY(RGM_NEW(items, count));
    for (int64_t i = 0; i < count; i++)
        items[i] = begin + i;
    status = rgm_feature_take(out, schema, feature, items, count);
    rgm_free(items);
    return status;
}

static int64_t sum(const int64_t *sizes, int64_t count)
{
    int64_t total = 0;

    for (int64_t i = 0; i < count; i++)
        total += sizes[i];
    return total;
}

static rgm_status component_set(rgm_graph *out, const rgm_graph *graph, int64_t set, int64_t c)
{
    const rgm_set_schema *schema = graph->schema->sets[set];
    const rgmi_items *items = graph->sets[set].items;
    int64_t begin = sum(items->sizes, c), count = items->sizes[c];

    RGM_TRY(rgmi_items_create(&out->sets[set].items, 1, &count, out->real));
    for (int end = 0; schema->piece == RGM_EDGE_SET && end < 2; end++) {
        const char *node_set = end == 0 ? schema->source : schema->target;
        int64_t nodes = rgm_schema_index(graph->schema, RGM_NODE_SET, node_set);
        int64_t shift = sum(graph->sets[nodes].items->sizes, c);
        rgm_tensor **to = end == 0 ? &out->sets[set].items->source : &out->sets[set].items->target;
        RGM_TRY(
            rgmi_ints(to, count, rgm_tensor_i64(end == 0 ? items->source : items->target) + begin));
        for (int64_t e = 0; e < count; e++)
            rgm_tensor_i64(*to)[e] -= shift;
    }
    for (int64_t j = 0; j < schema->feature_count; j++) {
        rgm_feature part;
        if (graph->sets[set].columns[j] == NULL)
            continue;
        RGM_TRY(take_range(&part, &schema->features[j], &graph->sets[set].columns[j]->value, begin,
                           count));
        RGM_TRY(rgmi_column_create(&out->sets[set].columns[j], &part));
    }
    return RGM_OK;
}

rgm_status rgm_graph_component(rgm_graph **out, const rgm_graph *graph, int64_t i)
{
    rgm_status status = RGM_OK;
    rgm_graph *made = NULL;

    *out = NULL;
    if (i < 0 || i >= graph->components)
        return RGM_FAIL(RGM_ERR_ARG, "component %lld of %lld", (long long)i,
                        (long long)graph->components);
    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgm_graph_begin(&made, graph->schema, 1, i < graph->real ? 1 : 0));
    for (int64_t set = 0; set < graph->set_count; set++)
        RGM_GO(component_set(made, graph, set, i));
    RGM_GO(rgm_graph_seal(made));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    return status;
}

/* ---- other features ---- */

/* What a tensor says of itself becomes its feature's schema. Ragged dims: where row lengths are. */
static rgm_status schema_of(rgm_feature_schema *out, const char *title, const char *name,
                            const rgm_feature *value)
{
    int last = 0, rank = rgm_tensor_rank(value->values);

    for (int k = 1; k < RGM_MAX_RANK; k++)
        if (value->row_lengths[k] != NULL)
            last = k;
    if (rank < 1 || last + rank - 1 > RGM_MAX_RANK - 1)
        return RGM_FAIL(RGM_ERR_SHAPE, "%s: feature '%s': values of rank %d with %d ragged dims",
                        title, name, rank, last);
    for (int k = 1; k <= last; k++) {
        if (value->row_lengths[k] == NULL)
            return RGM_FAIL(RGM_ERR_ARG,
                            "%s: feature '%s': dim %d before a ragged one must be "
                            "declared in the schema",
                            title, name, k);
        out->shape[k - 1] = -1;
    }
    for (int k = 1; k < rank; k++)
        out->shape[last + k - 1] = rgm_tensor_dim(value->values, k);
    out->rank = last + rank - 1;
    out->dtype = rgm_tensor_dtype(value->values);
    return RGM_OK;
}

static bool same_feature(const rgm_feature_schema *a, const rgm_feature_schema *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

/* A schema in which the set has the feature: the same one if it has it already. */
static rgm_status schema_with(rgm_schema **out, int64_t *index, const rgm_graph *graph, int64_t set,
                              const char *name, const rgm_feature *value)
{
    const rgm_set_schema *of = graph->schema->sets[set];
    rgm_feature_schema described = {.rank = 0};
    char title[RGM_SET_TITLE];
    rgm_status status;

    *index = rgm_set_feature_index(of, name);
    if (*index >= 0 && rgm_feature_last_ragged(&of->features[*index]) > 0) {
        *out = rgm_schema_retain(graph->schema); /* the check that follows tells whether it fits */
        return RGM_OK;
    }
    RGM_TRY(schema_of(&described, rgm_set_title(of, title, sizeof title), name, value));
    if (*index >= 0 && same_feature(&described, &of->features[*index])) {
        *out = rgm_schema_retain(graph->schema);
        return RGM_OK;
    }
    RGM_TRY(rgm_schema_copy(out, graph->schema));
    if (*index >= 0)
        rgmi_schema_drop_feature(*out, set, *index);
    status = rgm_schema_add_feature(*out, of->piece, of->name, name, described.dtype,
                                    described.rank, described.shape);
    *index = (*out)->sets[set]->feature_count - 1;
    if (status == RGM_OK)
        status = rgm_schema_check(*out);
    if (status < 0) {
        rgm_schema_release(*out);
        *out = NULL;
    }
    return status;
}

rgm_status rgm_graph_with_feature(rgm_graph **out, const rgm_graph *graph, rgm_piece piece,
                                  const char *set, const char *feature, const rgm_feature *value)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph *made = NULL;
    rgm_feature copy;
    int64_t i, j;

    *out = NULL;
    if (feature == NULL || value == NULL || value->values == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "a feature needs a name and values");
    RGM_GO(rgmi_graph_set(&i, graph, piece, set));
    RGM_GO(schema_with(&schema, &j, graph, i, feature, value));
    RGM_GO(rgm_graph_begin_from(&made, schema, graph));
    rgmi_column_release(made->sets[i].columns[j]);
    made->sets[i].columns[j] = NULL;
    rgm_feature_retain(&copy, value);
    RGM_GO(rgmi_column_create(&made->sets[i].columns[j], &copy));
    RGM_GO(rgmi_graph_check_feature(made, i, j));
    *out = made;
    made = NULL;
done:
    rgm_graph_release(made);
    rgm_schema_release(schema);
    return status;
}

rgm_status rgm_graph_without_feature(rgm_graph **out, const rgm_graph *graph, rgm_piece piece,
                                     const char *set, const char *feature)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    int64_t i, j;

    *out = NULL;
    RGM_GO(rgmi_graph_set(&i, graph, piece, set));
    RGM_GO(rgmi_feature_require(&j, graph->schema->sets[i], feature));
    RGM_GO(rgm_schema_copy(&schema, graph->schema));
    rgmi_schema_drop_feature(schema, i, j);
    RGM_GO(rgm_graph_begin_from(out, schema, graph));
done:
    rgm_schema_release(schema);
    return status;
}
