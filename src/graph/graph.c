/*
 * The graph: counted parts, what is asked of it, and what is made of it once and then kept
 * (adjacency, membership and sparse patterns, masks). Making graphs: graph_builder.c, example.c,
 * merge.c, pad.c.
 */
#include <stdio.h>
#include <string.h>

#include "graph_file.h"

/* ---- items ---- */

rgm_status rgm_graph_check_declared(int64_t items, int64_t bytes, const char *what)
{
    const int64_t always = 65536, a_byte = 16;

    if (items <= always || (items - always) / a_byte <= bytes)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA,
                    "%s: %lld items are declared, but edges and features are there in %lld bytes "
                    "only; at most %lld items and %lld for each byte are believed",
                    what, (long long)items, (long long)bytes, (long long)always, (long long)a_byte);
}

rgm_status rgmi_items_create(rgmi_items **out, int64_t components, const int64_t *sizes,
                             int64_t real)
{
    rgmi_items *items;

    *out = NULL;
    items = rgm_calloc(1, sizeof *items + (size_t)components * sizeof items->sizes[0]);
    if (items == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: sizes of %lld components",
                        (long long)components);
    items->references = 1;
    items->components = components;
    items->real = real;
    pthread_mutex_init(&items->lock, NULL);
    for (int64_t i = 0; sizes != NULL && i < components; i++) {
        items->sizes[i] = sizes[i];
        items->total += sizes[i];
        if (i < real)
            items->real_total += sizes[i];
    }
    *out = items;
    return RGM_OK;
}

void rgmi_items_set_edges(rgmi_items *items, rgm_tensor *source, rgm_tensor *target)
{
    items->source = rgm_tensor_retain(source);
    items->target = rgm_tensor_retain(target);
}

rgmi_items *rgmi_items_retain(rgmi_items *items)
{
    atomic_fetch_add_explicit(&items->references, 1, memory_order_relaxed);
    return items;
}

void rgmi_items_release(rgmi_items *items)
{
    if (items == NULL ||
        atomic_fetch_sub_explicit(&items->references, 1, memory_order_acq_rel) != 1)
        return;
    rgmi_stored_edges_release(items->stored);
    rgm_tensor_release(items->source);
    rgm_tensor_release(items->target);
    rgm_pattern_release(items->adjacency[0]);
    rgm_pattern_release(items->adjacency[1]);
    rgm_pattern_release(items->membership);
    rgm_pattern_release(items->first);
    rgm_pattern_release(items->readout);
    rgm_pattern_release(items->numbers);
    rgm_tensor_release(items->mask);
    pthread_mutex_destroy(&items->lock);
    rgm_free(items);
}

rgm_status rgmi_column_create(rgmi_column **out, rgm_feature *value)
{
    rgmi_column *column;

    *out = NULL;
    column = rgm_calloc(1, sizeof *column);
    if (column == NULL) {
        rgm_feature_clear(value);
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: a feature");
    }
    column->references = 1;
    column->value = *value;
    memset(value, 0, sizeof *value);
    pthread_mutex_init(&column->lock, NULL);
    *out = column;
    return RGM_OK;
}

rgmi_column *rgmi_column_retain(rgmi_column *column)
{
    atomic_fetch_add_explicit(&column->references, 1, memory_order_relaxed);
    return column;
}

void rgmi_column_release(rgmi_column *column)
{
    if (column == NULL ||
        atomic_fetch_sub_explicit(&column->references, 1, memory_order_acq_rel) != 1)
        return;
    rgmi_stored_column_release(column->stored);
    rgmi_graph_file_release(column->file);
    rgm_feature_clear(&column->value);
    rgm_pattern_release(column->pattern);
    rgmi_looked_up_release(column->looked_up);
    pthread_mutex_destroy(&column->lock);
    rgm_free(column);
}

/* ---- the graph ---- */

rgm_status rgm_graph_begin(rgm_graph **out, rgm_schema *schema, int64_t components, int64_t real)
{
    int64_t features = 0;
    rgmi_column **columns;
    rgm_graph *graph;

    *out = NULL;
    for (int64_t i = 0; i < schema->set_count; i++)
        features += schema->sets[i]->feature_count;
    graph = rgm_calloc(1, sizeof *graph + (size_t)schema->set_count * sizeof graph->sets[0] +
                              (size_t)features * sizeof *columns);
    if (graph == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: a graph");
    graph->references = 1;
    pthread_mutex_init(&graph->lock, NULL);
    graph->schema = rgm_schema_retain(schema);
    graph->components = components;
    graph->real = real;
    graph->set_count = schema->set_count;
    graph->sets = (rgmi_set *)(graph + 1);
    columns = (rgmi_column **)(graph->sets + graph->set_count);
    for (int64_t i = 0; i < graph->set_count; i++) {
        graph->sets[i].columns = columns;
        columns += schema->sets[i]->feature_count;
    }
    *out = graph;
    return RGM_OK;
}

rgm_status rgm_graph_begin_from(rgm_graph **out, rgm_schema *schema, const rgm_graph *graph)
{
    RGM_TRY(rgm_graph_begin(out, schema, graph->components, graph->real));
    for (int64_t i = 0; i < schema->set_count; i++) {
        const rgm_set_schema *set = schema->sets[i];
        int64_t from = rgm_schema_index(graph->schema, set->piece, set->name);
        if (from < 0)
            continue;
        (*out)->sets[i].items = rgmi_items_retain(graph->sets[from].items);
        for (int64_t j = 0; j < set->feature_count; j++) {
            int64_t k = schema == graph->schema ? j
                                                : rgm_set_feature_index(graph->schema->sets[from],
                                                                        set->features[j].name);
            if (k >= 0 && graph->sets[from].columns[k] != NULL)
                (*out)->sets[i].columns[j] = rgmi_column_retain(graph->sets[from].columns[k]);
        }
    }
    return RGM_OK;
}

void rgmi_narrowed_release(rgmi_narrowed *near)
{
    while (near != NULL) {
        rgmi_narrowed *next = near->next;

        for (int64_t i = 0; i < near->count; i++)
            rgm_pattern_release(near->patterns[i]);
        rgm_free(near);
        near = next;
    }
}

rgm_graph *rgm_graph_retain(rgm_graph *graph)
{
    atomic_fetch_add_explicit(&graph->references, 1, memory_order_relaxed);
    return graph;
}

void rgm_graph_release(rgm_graph *graph)
{
    if (graph == NULL ||
        atomic_fetch_sub_explicit(&graph->references, 1, memory_order_acq_rel) != 1)
        return;
    for (int64_t i = 0; i < graph->set_count; i++) {
        rgmi_items_release(graph->sets[i].items);
        for (int64_t j = 0; j < graph->schema->sets[i]->feature_count; j++)
            rgmi_column_release(graph->sets[i].columns[j]);
    }
    rgmi_narrowed_release(graph->near);
    pthread_mutex_destroy(&graph->lock);
    rgm_schema_release(graph->schema);
    rgm_free(graph);
}

rgm_status rgm_graph_seal(rgm_graph *graph)
{
    const rgm_schema *schema = graph->schema;

    for (int64_t i = 0; i < graph->set_count; i++) {
        const rgm_set_schema *set = schema->sets[i];
        rgmi_items **items = &graph->sets[i].items;
        if (*items == NULL) {
            RGM_TRY(rgmi_items_create(items, graph->components, NULL, graph->real));
            if (i == 0) {
                for (int64_t c = 0; c < graph->components; c++)
                    (*items)->sizes[c] = 1;
                (*items)->total = graph->components;
                (*items)->real_total = graph->real;
            }
        }
        if (set->piece == RGM_EDGE_SET && (*items)->source == NULL && (*items)->total == 0) {
            RGM_TRY(rgmi_ints(&(*items)->source, 0, NULL));
            RGM_TRY(rgmi_ints(&(*items)->target, 0, NULL));
        }
        for (int64_t j = 0; j < set->feature_count && (*items)->total == 0; j++) {
            rgm_feature empty;
            if (graph->sets[i].columns[j] != NULL)
                continue;
            RGM_TRY(rgmi_feature_empty(&empty, &set->features[j], 0));
            RGM_TRY(rgmi_column_create(&graph->sets[i].columns[j], &empty));
        }
    }
    for (int64_t i = 0; i < graph->set_count; i++) {
        const rgm_set_schema *set = schema->sets[i];
        if (set->piece != RGM_EDGE_SET || graph->sets[i].items->references > 1)
            continue; /* shared: filled in before */
        graph->sets[i].items->source_total =
            graph->sets[rgm_schema_index(schema, RGM_NODE_SET, set->source)].items->total;
        graph->sets[i].items->target_total =
            graph->sets[rgm_schema_index(schema, RGM_NODE_SET, set->target)].items->total;
    }
    return RGM_OK;
}

/* ---- asking ---- */

const rgm_schema *rgm_graph_schema(const rgm_graph *graph)
{
    return graph->schema;
}

int64_t rgm_graph_components(const rgm_graph *graph)
{
    return graph->components;
}

int64_t rgm_graph_real_components(const rgm_graph *graph)
{
    return graph->real;
}

static rgmi_items *find_items(const rgm_graph *graph, rgm_piece piece, const char *set)
{
    int64_t i = rgm_schema_index(graph->schema, piece, set);

    return i < 0 ? NULL : graph->sets[i].items;
}

int64_t rgm_graph_total(const rgm_graph *graph, rgm_piece piece, const char *set)
{
    const rgmi_items *items = find_items(graph, piece, set);

    return items == NULL ? 0 : items->total;
}

int64_t rgm_graph_real_total(const rgm_graph *graph, rgm_piece piece, const char *set)
{
    const rgmi_items *items = find_items(graph, piece, set);

    return items == NULL ? 0 : items->real_total;
}

const int64_t *rgm_graph_sizes(const rgm_graph *graph, rgm_piece piece, const char *set)
{
    const rgmi_items *items = find_items(graph, piece, set);

    return items == NULL ? NULL : items->sizes;
}

const rgmi_column *rgmi_graph_column(const rgm_graph *graph, rgm_piece piece, const char *set,
                                     const char *feature)
{
    int64_t i = rgm_schema_index(graph->schema, piece, set);
    int64_t j = i < 0 ? -1 : rgm_set_feature_index(graph->schema->sets[i], feature);

    return j < 0 ? NULL : graph->sets[i].columns[j];
}

const rgm_feature *rgm_graph_feature(const rgm_graph *graph, rgm_piece piece, const char *set,
                                     const char *feature)
{
    int64_t i = rgm_schema_index(graph->schema, piece, set), j;

    if (i < 0)
        return NULL;
    j = rgm_set_feature_index(graph->schema->sets[i], feature);
    if (j < 0 || graph->sets[i].columns[j] == NULL ||
        rgmi_column_whole(graph->sets[i].columns[j], &graph->schema->sets[i]->features[j]) < 0)
        return NULL;
    return &graph->sets[i].columns[j]->value;
}

rgm_tensor *rgm_graph_source(const rgm_graph *graph, const char *edge_set)
{
    rgmi_items *items = find_items(graph, RGM_EDGE_SET, edge_set);

    return items == NULL || rgmi_items_whole(items) < 0 ? NULL : items->source;
}

rgm_tensor *rgm_graph_target(const rgm_graph *graph, const char *edge_set)
{
    rgmi_items *items = find_items(graph, RGM_EDGE_SET, edge_set);

    return items == NULL || rgmi_items_whole(items) < 0 ? NULL : items->target;
}

rgm_status rgmi_graph_set(int64_t *index, const rgm_graph *graph, rgm_piece piece, const char *name)
{
    RGM_TRY(rgmi_set_require(index, graph->schema, piece, name));
    return RGM_OK;
}

/* ---- made once and kept ---- */

rgm_status rgm_graph_adjacency(rgm_pattern **pattern, const rgm_graph *graph, const char *edge_set,
                               rgm_tag receiver)
{
    rgm_status status = RGM_OK;
    rgmi_items *items;
    int64_t index;

    *pattern = NULL;
    RGM_TRY(rgmi_graph_set(&index, graph, RGM_EDGE_SET, edge_set));
    if (receiver != RGM_SOURCE && receiver != RGM_TARGET)
        return RGM_FAIL(RGM_ERR_ARG,
                        "edge set '%s': the receiver of an adjacency is source or "
                        "target",
                        edge_set);
    items = graph->sets[index].items;
    RGM_TRY(rgmi_items_whole(items));
    pthread_mutex_lock(&items->lock);
    if (items->adjacency[receiver] == NULL) {
        bool target = receiver == RGM_TARGET;
        status = rgm_pattern_create(
            &items->adjacency[receiver], target ? items->target_total : items->source_total,
            target ? items->source_total : items->target_total, items->total,
            rgm_tensor_i64(target ? items->target : items->source),
            rgm_tensor_i64(target ? items->source : items->target));
        if (status < 0)
            rgm_error_prefix(status, "edge set '%s'", edge_set);
    }
    *pattern = items->adjacency[receiver];
    pthread_mutex_unlock(&items->lock);
    return status;
}

static rgm_status make_membership(rgm_pattern **out, const rgmi_items *items)
{
    rgm_status status = RGM_OK;
    int64_t *column = NULL, *start = NULL;

    RGM_GO(RGM_NEW(column, items->total));
    RGM_GO(RGM_NEW(start, items->components + 1));
    for (int64_t c = 0; c < items->components; c++)
        start[c + 1] = start[c] + items->sizes[c];
    for (int64_t i = 0; i < items->total; i++)
        column[i] = i;
    RGM_GO(rgm_pattern_from_rows(out, items->components, items->total, start, column));
done:
    rgm_free(column);
    rgm_free(start);
    return status;
}

rgm_status rgm_graph_membership(rgm_pattern **pattern, const rgm_graph *graph, rgm_piece piece,
                                const char *set)
{
    rgm_status status = RGM_OK;
    rgmi_items *items;
    int64_t index;

    *pattern = NULL;
    RGM_TRY(rgmi_graph_set(&index, graph, piece, set));
    items = graph->sets[index].items;
    pthread_mutex_lock(&items->lock);
    if (items->membership == NULL)
        status = make_membership(&items->membership, items);
    *pattern = items->membership;
    pthread_mutex_unlock(&items->lock);
    return status;
}

static rgm_status make_sparse(rgm_pattern **out, const rgm_feature *feature, int64_t vocabulary)
{
    int64_t rows = rgm_tensor_count(feature->row_lengths[1]), *start;
    const int64_t *lengths = rgm_tensor_i64(feature->row_lengths[1]);
    rgm_status status;

    RGM_TRY(RGM_NEW(start, rows + 1));
    for (int64_t i = 0; i < rows; i++)
        start[i + 1] = start[i] + lengths[i];
    status = rgm_pattern_from_rows(out, rows, vocabulary, start, rgm_tensor_i64(feature->values));
    rgm_free(start);
    return status;
}

rgm_status rgm_graph_sparse(rgm_pattern **pattern, const rgm_graph *graph, rgm_piece piece,
                            const char *set, const char *feature)
{
    const rgm_feature_schema *schema;
    char title[RGM_SET_TITLE];
    rgm_status status = RGM_OK;
    rgmi_column *column;
    int64_t i, j;

    *pattern = NULL;
    RGM_TRY(rgmi_graph_set(&i, graph, piece, set));
    RGM_TRY(rgmi_feature_require(&j, graph->schema->sets[i], feature));
    rgm_set_title(graph->schema->sets[i], title, sizeof title);
    schema = &graph->schema->sets[i]->features[j];
    if (schema->vocabulary == 0)
        return RGM_FAIL(RGM_ERR_ARG, "%s: feature '%s' is not a one_hot feature", title, feature);
    column = graph->sets[i].columns[j];
    if (column == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: feature '%s' is absent from this graph", title,
                        feature);
    RGM_TRY(rgmi_column_whole(column, schema));
    pthread_mutex_lock(&column->lock);
    if (column->pattern == NULL) {
        status = make_sparse(&column->pattern, &column->value, schema->vocabulary);
        if (status < 0)
            rgm_error_prefix(status, "%s: feature '%s'", title, feature);
    }
    *pattern = column->pattern;
    pthread_mutex_unlock(&column->lock);
    return status;
}

rgm_status rgm_graph_real_mask(rgm_tensor **mask, const rgm_graph *graph, rgm_piece piece,
                               const char *set)
{
    rgm_status status = RGM_OK;
    rgmi_items *items;
    int64_t index;

    *mask = NULL;
    RGM_TRY(rgmi_graph_set(&index, graph, piece, set));
    items = graph->sets[index].items;
    pthread_mutex_lock(&items->lock);
    if (items->mask == NULL) {
        status = rgm_tensor_create(&items->mask, RGM_F32, 1, &items->total);
        for (int64_t i = 0; status == RGM_OK && i < items->real_total; i++)
            rgm_tensor_f32(items->mask)[i] = 1.0f;
    }
    *mask = items->mask;
    pthread_mutex_unlock(&items->lock);
    return status;
}

rgm_status rgmi_make_picks(rgm_pattern **out, int64_t rows, int64_t columns, const int64_t *column)
{
    rgm_status status;
    int64_t *row;

    RGM_TRY(RGM_NEW_RAW(row, rows));
    for (int64_t i = 0; i < rows; i++)
        row[i] = i;
    status = rgm_pattern_create(out, rows, columns, rows, row, column);
    rgm_free(row);
    return status;
}

static rgm_status make_first(rgm_pattern **out, const rgmi_items *items)
{
    rgm_status status;
    int64_t begin = 0, *column;

    RGM_TRY(RGM_NEW(column, items->components));
    for (int64_t c = 0; c < items->components; c++) {
        column[c] = items->sizes[c] > 0 ? begin : 0;
        begin += items->sizes[c];
    }
    status = rgmi_make_picks(out, items->components, items->total, column);
    rgm_free(column);
    return status;
}

rgm_status rgmi_graph_first(rgm_pattern **out, const rgm_graph *graph, int64_t set)
{
    rgmi_items *items = graph->sets[set].items;
    rgm_status status = RGM_OK;

    *out = NULL;
    for (int64_t c = 0; c < items->real; c++)
        if (items->sizes[c] == 0)
            return RGM_FAIL(RGM_ERR_DATA,
                            "node set '%s': component %lld has no nodes, so no first "
                            "one",
                            graph->schema->sets[set]->name, (long long)c);
    pthread_mutex_lock(&items->lock);
    if (items->first == NULL)
        status = make_first(&items->first, items);
    *out = items->first;
    pthread_mutex_unlock(&items->lock);
    return status;
}

static rgm_status make_readout(rgm_pattern **out, const rgmi_items *items)
{
    rgm_status status;
    int64_t *column;

    RGM_TRY(RGM_NEW(column, items->target_total));
    for (int64_t e = 0; e < items->total; e++)
        column[rgm_tensor_i64(items->target)[e]] = rgm_tensor_i64(items->source)[e];
    status = rgmi_make_picks(out, items->target_total, items->source_total, column);
    rgm_free(column);
    return status;
}

rgm_status rgmi_graph_readout(rgm_pattern **out, const rgm_graph *graph, int64_t set)
{
    rgmi_items *items = graph->sets[set].items;
    rgm_status status = RGM_OK;

    RGM_TRY(rgmi_items_whole(items));
    pthread_mutex_lock(&items->lock);
    if (items->readout == NULL)
        status = make_readout(&items->readout, items);
    *out = items->readout;
    pthread_mutex_unlock(&items->lock);
    return status;
}

rgm_status rgm_graph_node_degree(rgm_tensor **out, const rgm_graph *graph, const char *edge_set,
                                 rgm_tag end)
{
    rgmi_items *items;
    const int64_t *ends;
    int64_t index;

    *out = NULL;
    RGM_TRY(rgmi_graph_set(&index, graph, RGM_EDGE_SET, edge_set));
    if (end != RGM_SOURCE && end != RGM_TARGET)
        return RGM_FAIL(RGM_ERR_ARG, "edge set '%s': an end is source or target", edge_set);
    items = graph->sets[index].items;
    RGM_TRY(rgmi_items_whole(items));
    ends = rgm_tensor_i64(end == RGM_TARGET ? items->target : items->source);
    RGM_TRY(rgmi_ints(out, end == RGM_TARGET ? items->target_total : items->source_total, NULL));
    for (int64_t e = 0; e < items->total; e++)
        rgm_tensor_i64(*out)[ends[e]]++;
    return RGM_OK;
}
