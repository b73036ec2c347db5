/*
 * The pattern that a feature of a graph becomes by a lookup, made once and kept with the feature;
 * and nodes by their numbers.
 */
#include <inttypes.h>

#include "category_lookup.h"

/* Numbers of an item, where all have as many. */
static int64_t numbers_each(const rgm_feature_schema *schema)
{
    int64_t each = 1;

    for (int k = 0; k < schema->rank; k++)
        each *= schema->shape[k];
    return each;
}

/* Where each item's values begin, [items + 1]. */
static rgm_status starts(int64_t **out, const rgm_feature_schema *schema,
                         const rgm_feature *feature, int64_t items)
{
    bool ragged = rgm_feature_last_ragged(schema) > 0;
    int64_t each = ragged ? 0 : numbers_each(schema);

    RGM_TRY(RGM_NEW(*out, items + 1));
    for (int64_t i = 0; i < items; i++)
        (*out)[i + 1] = (*out)[i] + (ragged ? rgm_tensor_i64(feature->row_lengths[1])[i] : each);
    return RGM_OK;
}

/* column NULL: only whether each value has one. */
static rgm_status look_up(int64_t *column, const rgm_lookup *lookup,
                          const rgm_feature_schema *schema, const rgm_feature *feature,
                          const int64_t *start, int64_t items)
{
    bool ragged = rgm_feature_last_ragged(schema) > 0;

    for (int64_t item = 0; item < items; item++)
        for (int64_t i = start[item]; i < start[item + 1]; i++) {
            int64_t found = rgmi_lookup_column(lookup, feature->values, i);

            if (found < 0)
                return rgmi_lookup_unknown(lookup, feature->values, i, item);
            if (column != NULL)
                column[i] = found + (ragged ? 0 : (i - start[item]) * lookup->columns);
        }
    return RGM_OK;
}

static rgm_status make_pattern(rgm_pattern **out, const rgm_lookup *lookup,
                               const rgm_feature_schema *schema, const rgm_feature *feature,
                               int64_t items, int64_t width)
{
    rgm_status status = RGM_OK;
    int64_t *start = NULL, *column = NULL;

    RGM_GO(starts(&start, schema, feature, items));
    RGM_GO(RGM_NEW(column, start[items]));
    RGM_GO(look_up(column, lookup, schema, feature, start, items));
    RGM_GO(rgm_pattern_from_rows(out, items, width, start, column));
done:
    rgm_free(start);
    rgm_free(column);
    return status;
}

/* With the column's lock held. */
static rgm_status add_pattern(rgm_pattern **pattern, rgmi_column *column, rgm_lookup *lookup,
                              const rgm_feature_schema *schema, int64_t items, int64_t width)
{
    rgm_status status = RGM_OK;
    rgmi_looked_up *made = NULL;

    RGM_GO(RGM_NEW(made, 1));
    RGM_GO(make_pattern(&made->pattern, lookup, schema, &column->value, items, width));
    made->lookup = rgm_lookup_retain(lookup);
    made->next = column->looked_up;
    column->looked_up = made;
    *pattern = made->pattern;
    made = NULL;
done:
    rgm_free(made);
    return status;
}

/* What is looked up, with its place for messages. */
typedef struct subject {
    const rgm_feature_schema *schema;
    rgmi_column *column;
    int64_t items, width;
    char title[RGM_SET_TITLE];
} subject;

static rgm_status find(subject *s, const rgm_graph *graph, rgm_piece piece, const char *set,
                       const char *feature, const rgm_lookup *lookup)
{
    int64_t i, j;

    RGM_TRY(rgmi_graph_set(&i, graph, piece, set));
    RGM_TRY(rgmi_feature_require(&j, graph->schema->sets[i], feature));
    rgm_set_title(graph->schema->sets[i], s->title, sizeof s->title);
    s->schema = &graph->schema->sets[i]->features[j];
    RGM_TRY(rgmi_lookup_width(&s->width, lookup, s->schema, s->title));
    s->column = graph->sets[i].columns[j];
    s->items = graph->sets[i].items->total;
    if (s->column == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: feature '%s' is absent from this graph", s->title,
                        feature);
    return rgmi_column_whole(s->column, s->schema);
}

rgm_status rgm_graph_lookup(rgm_pattern **pattern, const rgm_graph *graph, rgm_piece piece,
                            const char *set, const char *feature, rgm_lookup *lookup)
{
    rgm_status status = RGM_OK;
    subject s;

    *pattern = NULL;
    RGM_TRY(find(&s, graph, piece, set, feature, lookup));
    pthread_mutex_lock(&s.column->lock);
    for (rgmi_looked_up *at = s.column->looked_up; at != NULL && *pattern == NULL; at = at->next)
        if (rgmi_lookup_equal(at->lookup, lookup))
            *pattern = at->pattern;
    if (*pattern == NULL)
        status = add_pattern(pattern, s.column, lookup, s.schema, s.items, s.width);
    pthread_mutex_unlock(&s.column->lock);
    return status == RGM_OK ? RGM_OK
                            : rgm_error_prefix(status, "%s: feature '%s'", s.title, feature);
}

rgm_status rgm_graph_check_lookup(const rgm_graph *graph, rgm_piece piece, const char *set,
                                  const char *feature, const rgm_lookup *lookup)
{
    rgm_status status;
    int64_t *start = NULL;
    subject s;

    RGM_TRY(find(&s, graph, piece, set, feature, lookup));
    status = starts(&start, s.schema, &s.column->value, s.items);
    if (status == RGM_OK)
        status = look_up(NULL, lookup, s.schema, &s.column->value, start, s.items);
    rgm_free(start);
    return status == RGM_OK ? RGM_OK
                            : rgm_error_prefix(status, "%s: feature '%s'", s.title, feature);
}

/* ---- nodes by their numbers ------------------------------------------------------------------ */

static rgm_status make_numbers(rgm_pattern **out, int64_t nodes)
{
    int64_t *number;
    rgm_status status;

    RGM_TRY(RGM_NEW(number, nodes));
    for (int64_t i = 0; i < nodes; i++)
        number[i] = i;
    status = rgmi_make_picks(out, nodes, nodes, number);
    rgm_free(number);
    return status;
}

rgm_status rgm_graph_check_numbers(const rgm_graph *graph, const char *node_set, int64_t nodes)
{
    const rgmi_items *items;
    int64_t index;

    RGM_TRY(rgmi_graph_set(&index, graph, RGM_NODE_SET, node_set));
    items = graph->sets[index].items;
    if (items->components != 1)
        return RGM_FAIL(RGM_ERR_DATA,
                        "node set '%s': %" PRId64 " graphs together (or padding), but each of its "
                        "nodes is known by its number in one graph, which stays the same",
                        node_set, items->components);
    if (items->total != nodes)
        return RGM_FAIL(RGM_ERR_DATA,
                        "node set '%s': a graph of %" PRId64 " nodes, but they are known by their "
                        "numbers in one of %" PRId64,
                        node_set, items->total, nodes);
    return RGM_OK;
}

rgm_status rgm_graph_numbers(rgm_pattern **pattern, const rgm_graph *graph, const char *node_set,
                             int64_t nodes)
{
    rgm_status status = RGM_OK;
    rgmi_items *items;
    int64_t index;

    *pattern = NULL;
    RGM_TRY(rgm_graph_check_numbers(graph, node_set, nodes));
    RGM_TRY(rgmi_graph_set(&index, graph, RGM_NODE_SET, node_set));
    items = graph->sets[index].items;
    pthread_mutex_lock(&items->lock);
    if (items->numbers == NULL)
        status = make_numbers(&items->numbers, nodes);
    *pattern = items->numbers;
    pthread_mutex_unlock(&items->lock);
    return status;
}
