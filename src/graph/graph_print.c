/*
 * A graph as text for people: sizes, the first edges, the first values of each feature.
 */
#include <inttypes.h>
#include <string.h>

#include "graph_internal.h"

/* Quoted, with what cannot be shown as \xhh. */
static rgm_status print_string(rgm_text *out, rgm_str text)
{
    RGM_TRY(rgm_text_add(out, "\"", 1));
    for (int64_t i = 0; i < text.size && i < 40; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 32 || c == 127 || c == '"' || c == '\\')
            RGM_TRY(rgm_text_printf(out, "\\x%02x", c));
        else
            RGM_TRY(rgm_text_add(out, &text.data[i], 1));
    }
    return rgm_text_printf(out, "%s\"", text.size > 40 ? "..." : "");
}

static rgm_status print_value(rgm_text *out, const rgm_tensor *values, int64_t i)
{
    switch (rgm_tensor_dtype(values)) {
    case RGM_STRING:
        return print_string(out, rgm_tensor_str(values)[i]);
    case RGM_BOOL:
        return rgm_text_printf(out, "%s", rgm_tensor_bool(values)[i] ? "true" : "false");
    case RGM_F32:
        return rgm_text_printf(out, "%.6g", (double)rgm_tensor_f32(values)[i]);
    case RGM_F64:
        return rgm_text_printf(out, "%.15g", rgm_tensor_f64(values)[i]);
    default:
        if (rgm_tensor_is_missing(values, i))
            return rgm_text_printf(out, "missing");
        return rgm_text_printf(out, "%" PRId64, rgm_tensor_at_int(values, i));
    }
}

/* Values [begin, end), at most `most` of them. */
static rgm_status print_range(rgm_text *out, const rgm_tensor *values, int64_t begin, int64_t end,
                              int64_t most)
{
    for (int64_t i = begin; i < end && i < begin + most; i++) {
        if (i > begin)
            RGM_TRY(rgm_text_printf(out, " "));
        RGM_TRY(print_value(out, values, i));
    }
    return end - begin > most ? rgm_text_printf(out, " ...") : RGM_OK;
}

/* Values of an item below dim d: the product of the lengths it has there. */
typedef struct ragged_walk {
    const rgm_feature_schema *schema;
    const rgm_feature *feature;
    int64_t at[RGM_MAX_RANK]; /* next row of each dim's lengths; [rank]: next value */
    int64_t shown;            /* values of this item */
} ragged_walk;

/* The rows of dim d (1: of an item) in brackets, as [1 2] [] [3]. Depth is the rank, at most
 * RGM_MAX_RANK - 1. */
static rgm_status print_rows(rgm_text *out, ragged_walk *walk, int d)
{
    const rgm_tensor *lengths = walk->feature->row_lengths[d];
    int64_t length =
        lengths != NULL ? rgm_tensor_at_int(lengths, walk->at[d]) : walk->schema->shape[d - 1];

    walk->at[d]++;
    RGM_TRY(rgm_text_add(out, "[", 1));
    for (int64_t i = 0; i < length; i++) {
        bool shows = walk->shown < 16;
        if (i > 0 && shows)
            RGM_TRY(rgm_text_add(out, " ", 1));
        if (d < walk->schema->rank) {
            RGM_TRY(print_rows(out, walk, d + 1));
            continue;
        }
        if (shows)
            RGM_TRY(print_value(out, walk->feature->values, walk->at[d + 1]));
        else if (walk->shown == 16)
            RGM_TRY(rgm_text_printf(out, " ..."));
        walk->at[d + 1]++;
        walk->shown++;
    }
    return rgm_text_add(out, "]", 1);
}

static rgm_status print_ragged_items(rgm_text *out, const rgm_feature_schema *schema,
                                     const rgm_feature *feature, int64_t total, int64_t max_items)
{
    ragged_walk walk = {.schema = schema, .feature = feature};

    for (int64_t i = 0; i < total && i < max_items; i++) {
        walk.shown = 0;
        RGM_TRY(rgm_text_printf(out, "    %" PRId64 ": ", i));
        RGM_TRY(print_rows(out, &walk, 1));
        RGM_TRY(rgm_text_printf(out, "\n"));
    }
    return total > max_items ? rgm_text_printf(out, "    ... %" PRId64 " more\n", total - max_items)
                             : RGM_OK;
}

/* A line an item: its values, or its rows where there are ragged dims. */
static rgm_status print_items(rgm_text *out, const rgm_feature_schema *schema,
                              const rgm_feature *feature, int64_t total, int64_t max_items)
{
    bool lengths = schema->rank == 1 && schema->shape[0] < 0;
    int64_t count = rgm_tensor_count(feature->values), at = 0;
    int64_t each = total > 0 ? count / total : 0;

    if (schema->rank == 0) {
        RGM_TRY(rgm_text_printf(out, ": "));
        RGM_TRY(print_range(out, feature->values, 0, count, max_items));
        return rgm_text_printf(out, "\n");
    }
    RGM_TRY(rgm_text_printf(out, "\n"));
    if (rgm_feature_last_ragged(schema) > 0 && !lengths)
        return print_ragged_items(out, schema, feature, total, max_items);
    for (int64_t i = 0; i < total && i < max_items; i++) {
        int64_t size = lengths ? rgm_tensor_i64(feature->row_lengths[1])[i] : each;
        RGM_TRY(rgm_text_printf(out, "    %" PRId64 ": ", i));
        RGM_TRY(print_range(out, feature->values, at, at + size, 16));
        RGM_TRY(rgm_text_printf(out, "\n"));
        at += size;
    }
    return total > max_items ? rgm_text_printf(out, "    ... %" PRId64 " more\n", total - max_items)
                             : RGM_OK;
}

static rgm_status print_feature(rgm_text *out, const rgm_feature_schema *schema,
                                const rgmi_column *column, int64_t total, int64_t max_items)
{
    RGM_TRY(rgm_text_printf(out, "  %s %s[", schema->name, rgm_dtype_name(schema->dtype)));
    for (int i = 0; i < schema->rank; i++)
        RGM_TRY(rgm_text_printf(out, "%s%" PRId64, i > 0 ? "," : "", schema->shape[i]));
    RGM_TRY(rgm_text_printf(out, "]"));
    if (schema->vocabulary > 0)
        RGM_TRY(rgm_text_printf(out, " one_hot:%" PRId64, schema->vocabulary));
    if (column == NULL)
        return rgm_text_printf(out, ": absent\n");
    return print_items(out, schema, &column->value, total, max_items);
}

static rgm_status print_sizes(rgm_text *out, const rgmi_items *items, int64_t max_items)
{
    if (items->components == 1)
        return RGM_OK;
    RGM_TRY(rgm_text_printf(out, " ("));
    for (int64_t c = 0; c < items->components && c < max_items; c++)
        RGM_TRY(rgm_text_printf(out, "%s%" PRId64, c > 0 ? " + " : "", items->sizes[c]));
    return rgm_text_printf(out, "%s)", items->components > max_items ? " + ..." : "");
}

static rgm_status print_edges(rgm_text *out, const rgmi_items *items, int64_t max_items)
{
    RGM_TRY(rgm_text_printf(out, "  "));
    for (int64_t e = 0; e < items->total && e < max_items; e++)
        RGM_TRY(rgm_text_printf(out, "%s%" PRId64 "->%" PRId64, e > 0 ? " " : "",
                                rgm_tensor_i64(items->source)[e],
                                rgm_tensor_i64(items->target)[e]));
    return rgm_text_printf(out, "%s\n", items->total > max_items ? " ..." : "");
}

static rgm_status print_set(rgm_text *out, const rgm_graph *graph, int64_t i, int64_t max_items)
{
    const rgm_set_schema *set = graph->schema->sets[i];
    const rgmi_items *items = graph->sets[i].items;
    char title[RGM_SET_TITLE];

    RGM_TRY(rgm_text_printf(out, "%s", rgm_set_title(set, title, sizeof title)));
    if (set->piece == RGM_EDGE_SET)
        RGM_TRY(rgm_text_printf(out, " %s -> %s", set->source, set->target));
    if (set->piece != RGM_CONTEXT_PIECE) {
        RGM_TRY(rgm_text_printf(out, ": %" PRId64 " %s", items->total,
                                set->piece == RGM_NODE_SET ? "nodes" : "edges"));
        RGM_TRY(print_sizes(out, items, max_items));
    }
    RGM_TRY(rgm_text_printf(out, "\n"));
    if (set->piece == RGM_EDGE_SET && items->total > 0)
        RGM_TRY(print_edges(out, items, max_items));
    for (int64_t j = 0; j < set->feature_count; j++)
        RGM_TRY(print_feature(out, &set->features[j], graph->sets[i].columns[j], items->total,
                              max_items));
    return RGM_OK;
}

rgm_status rgm_graph_print(rgm_text *out, const rgm_graph *graph, int64_t max_items)
{
    RGM_TRY(rgmi_graph_whole(graph));
    RGM_TRY(rgm_text_printf(out, "graph of %" PRId64 " component%s", graph->components,
                            graph->components == 1 ? "" : "s"));
    if (graph->real != graph->components)
        RGM_TRY(rgm_text_printf(out, ", of which %" PRId64 " padding",
                                graph->components - graph->real));
    RGM_TRY(rgm_text_printf(out, "\n"));
    for (int64_t i = 0; i < graph->set_count; i++)
        if (i > 0 || graph->schema->sets[0]->feature_count > 0)
            RGM_TRY(print_set(out, graph, i, max_items));
    return RGM_OK;
}
