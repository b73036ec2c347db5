/*
 * What a graph file has and memory has not: edges and ragged features of a mapped graph, made and
 * checked as a whole when somebody asks for the whole, once, under the lock of their part. Samplers
 * do without (sampler_expand.c, feature_reader.c): they check each index that they draw.
 */
#include <string.h>

#include "graph_file.h"

/* ---- the file -------------------------------------------------------------------------------- */

rgmi_graph_file *rgmi_graph_file_retain(rgmi_graph_file *file)
{
    atomic_fetch_add_explicit(&file->references, 1, memory_order_relaxed);
    return file;
}

void rgmi_graph_file_release(rgmi_graph_file *file)
{
    if (file == NULL || atomic_fetch_sub_explicit(&file->references, 1, memory_order_acq_rel) != 1)
        return;
    rgm_file_unmap(&file->map);
    rgm_free(file->path);
    rgm_free(file);
}

rgm_status rgmi_graph_file_check(const rgmi_graph_file *file)
{
    if (!rgm_mapped_file_is_cut(&file->map))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_IO,
                    "%s: a part of the file was cut off, or could not be read, while it was in "
                    "use; write it again and start anew",
                    file->path);
}

void rgmi_stored_edges_release(rgmi_stored_edges *edges)
{
    if (edges != NULL)
        rgmi_graph_file_release(edges->file);
    rgm_free(edges);
}

void rgmi_stored_column_release(rgmi_stored_column *column)
{
    if (column != NULL)
        rgmi_graph_file_release(column->file);
    rgm_free(column);
}

/* ---- edges ----------------------------------------------------------------------------------- */

static rgm_status bad_rows(const rgmi_stored_edges *edges, int64_t row)
{
    RGM_TRY(rgmi_graph_file_check(edges->file));
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: no sound graph file: edges of node %lld of an edge set",
                    edges->file->path, (long long)row);
}

/* Every row and column is in range; where `near` is given, both ends of each edge go to the place
 * of its number, -1 before. */
static rgm_status look(const rgmi_stored_edges *edges, int end, int64_t *near, int64_t *far)
{
    const rgm_csr *csr = &edges->csr[end];
    int64_t before = 0;

    for (int64_t row = 0; row < csr->rows; row++) {
        int64_t first = csr->row_start[row], last = csr->row_start[row + 1];

        if (first != before || last < first || last > csr->count ||
            last - first > edges->max_degree[end])
            return bad_rows(edges, row);
        before = last;
        for (int64_t p = first; p < last; p++) {
            int64_t column = csr->column[p], e = csr->entry != NULL ? csr->entry[p] : p;

            if (column < 0 || column >= csr->columns || e < 0 || e >= csr->count ||
                (near != NULL && near[e] >= 0))
                return bad_rows(edges, row);
            if (near == NULL)
                continue;
            near[e] = row;
            far[e] = column;
        }
    }
    if (before != csr->count)
        return bad_rows(edges, csr->rows - 1);
    return rgmi_graph_file_check(edges->file);
}

rgm_status rgmi_stored_edges_check(const rgmi_stored_edges *edges, int end)
{
    return look(edges, end, NULL, NULL);
}

/* Both ends of every edge, in the order of their numbers. */
static rgm_status unpack(int64_t *near, int64_t *far, const rgmi_stored_edges *edges, int end)
{
    for (int64_t e = 0; e < edges->csr[end].count; e++)
        near[e] = -1;
    return look(edges, end, near, far);
}

rgm_status rgmi_items_whole(rgmi_items *items)
{
    rgm_status status = RGM_OK;
    rgm_tensor *ends[2] = {NULL, NULL};
    int end;

    if (items->stored == NULL)
        return RGM_OK;
    pthread_mutex_lock(&items->lock);
    if (items->source == NULL) {
        end = items->stored->has[RGM_TARGET] ? RGM_TARGET : RGM_SOURCE;
        RGM_GO(rgmi_ints(&ends[0], items->total, NULL));
        RGM_GO(rgmi_ints(&ends[1], items->total, NULL));
        RGM_GO(
            unpack(rgm_tensor_i64(ends[end]), rgm_tensor_i64(ends[1 - end]), items->stored, end));
        items->source = rgm_tensor_retain(ends[RGM_SOURCE]);
        items->target = rgm_tensor_retain(ends[RGM_TARGET]);
    }
done:
    pthread_mutex_unlock(&items->lock);
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    return status;
}

/* ---- features -------------------------------------------------------------------------------- */

rgm_status rgmi_stored_column_broken(const rgmi_stored_column *stored,
                                     const rgm_feature_schema *schema)
{
    RGM_TRY(rgmi_graph_file_check(stored->file));
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: no sound graph file: the lists of feature '%s'",
                    stored->file->path, schema->name);
}

/* Row lengths of ragged dims, and the texts. The ends of the offsets were checked when the file was
 * opened; between them they must ascend. */
static rgm_status make_lengths(rgm_feature *out, const rgmi_stored_column *stored,
                               const rgm_feature_schema *schema)
{
    for (int k = 1; k <= schema->rank; k++) {
        const int64_t *offsets = stored->offsets[k];

        if (offsets == NULL)
            continue;
        RGM_TRY(rgmi_ints(&out->row_lengths[k], stored->rows[k], NULL));
        if (offsets[stored->rows[k]] != stored->total[k])
            return rgmi_stored_column_broken(stored, schema);
        for (int64_t i = 0; i < stored->rows[k]; i++) {
            rgm_tensor_i64(out->row_lengths[k])[i] = offsets[i + 1] - offsets[i];
            if (offsets[i + 1] < offsets[i])
                return rgmi_stored_column_broken(stored, schema);
        }
    }
    return RGM_OK;
}

static rgm_status make_texts(rgm_feature *out, const rgmi_stored_column *stored,
                             const rgm_feature_schema *schema)
{
    int64_t shape[RGM_MAX_RANK], inner = rgmi_inner_count(schema);
    rgm_status status;
    rgm_str *texts;
    int rank;

    if (schema->dtype != RGM_STRING)
        return RGM_OK;
    RGM_TRY(RGM_NEW(texts, stored->texts));
    for (int64_t i = 0; i < stored->texts; i++)
        if (!rgmi_stored_text(&texts[i], stored, i)) {
            rgm_free(texts);
            return rgmi_stored_column_broken(stored, schema);
        }
    rank = rgm_feature_values_shape(shape, schema, inner > 0 ? stored->texts / inner : 0);
    status = rgm_tensor_create_from(&out->values, RGM_STRING, rank, shape, texts);
    rgm_free(texts);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* Values that are there stay where they are: samplers read them without the lock. */
static void keep(rgmi_column *column, rgm_feature *made)
{
    for (int k = 1; k < RGM_MAX_RANK; k++) {
        column->value.row_lengths[k] = made->row_lengths[k];
        made->row_lengths[k] = NULL;
    }
    if (made->values != NULL)
        column->value.values = made->values;
    made->values = NULL;
    column->stored->is_whole = true;
}

rgm_status rgmi_column_whole(rgmi_column *column, const rgm_feature_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_feature made = {0};

    if (column == NULL || column->stored == NULL)
        return RGM_OK;
    pthread_mutex_lock(&column->lock);
    if (!column->stored->is_whole) {
        RGM_GO(make_lengths(&made, column->stored, schema));
        RGM_GO(make_texts(&made, column->stored, schema));
        RGM_GO(rgmi_graph_file_check(column->stored->file));
        keep(column, &made);
    }
done:
    pthread_mutex_unlock(&column->lock);
    rgm_feature_clear(&made);
    return status;
}

rgm_status rgmi_set_whole(const rgm_graph *graph, int64_t set)
{
    const rgm_set_schema *schema = graph->schema->sets[set];

    RGM_TRY(rgmi_items_whole(graph->sets[set].items));
    for (int64_t j = 0; j < schema->feature_count; j++)
        RGM_TRY(rgmi_column_whole(graph->sets[set].columns[j], &schema->features[j]));
    return RGM_OK;
}

rgm_status rgmi_graph_whole(const rgm_graph *graph)
{
    for (int64_t i = 0; i < graph->set_count; i++)
        RGM_TRY(rgmi_set_whole(graph, i));
    return RGM_OK;
}

rgmi_graph_file *rgmi_graph_file_of(const rgm_graph *graph)
{
    for (int64_t i = 0; i < graph->set_count; i++) {
        const rgmi_set *set = &graph->sets[i];

        if (set->items->stored != NULL)
            return set->items->stored->file;
        for (int64_t j = 0; j < graph->schema->sets[i]->feature_count; j++)
            if (set->columns[j] != NULL && set->columns[j]->file != NULL)
                return set->columns[j]->file;
    }
    return NULL;
}

rgm_status rgm_graph_broken(const rgm_graph *graph)
{
    const rgmi_graph_file *file = rgmi_graph_file_of(graph);

    if (file == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "rows of a graph that are none");
    RGM_TRY(rgmi_graph_file_check(file)); /* zeros are no rows */
    return RGM_FAIL(RGM_ERR_FORMAT,
                    "%s: no sound graph file: edges that lead outside (regimen data validate tells "
                    "where)",
                    file->path);
}
