/*
 * A graph as bytes, exactly as it is in memory, padding and features that are absent included: its
 * schema's text, its components, and of each set sizes, ends of edges and features. (Example
 * encoding is for files: it has no padding, and widens what the format has no type for.)
 */
#include "graph_internal.h"

#include <string.h>

/* ---- encoding ---- */

static rgm_status put_feature(rgm_text *out, const rgmi_column *column,
                              const rgm_feature_schema *schema)
{
    RGM_TRY(rgm_state_put_int(out, column != NULL));
    if (column == NULL)
        return RGM_OK;
    RGM_TRY(rgm_state_put_tensor(out, column->value.values));
    for (int k = 1; k <= schema->rank; k++)
        if (schema->shape[k - 1] < 0)
            RGM_TRY(rgm_state_put_tensor(out, column->value.row_lengths[k]));
    return RGM_OK;
}

static rgm_status put_set(rgm_text *out, const rgmi_set *set, const rgm_set_schema *schema)
{
    for (int64_t c = 0; c < set->items->components; c++)
        RGM_TRY(rgm_state_put_int(out, set->items->sizes[c]));
    if (schema->piece == RGM_EDGE_SET) {
        RGM_TRY(rgm_state_put_tensor(out, set->items->source));
        RGM_TRY(rgm_state_put_tensor(out, set->items->target));
    }
    for (int64_t j = 0; j < schema->feature_count; j++)
        RGM_TRY(put_feature(out, set->columns[j], &schema->features[j]));
    return RGM_OK;
}

static rgm_status put_graph(rgm_text *out, const void *object)
{
    const rgm_graph *graph = object;
    rgm_status status = RGM_OK;
    rgm_text schema = {0};

    RGM_GO(rgmi_graph_whole(graph));
    RGM_GO(rgm_schema_print(&schema, graph->schema));
    RGM_GO(rgm_state_put_bytes(out, schema.data, schema.size));
    RGM_GO(rgm_state_put_int(out, graph->components));
    RGM_GO(rgm_state_put_int(out, graph->real));
    for (int64_t i = 0; i < graph->set_count; i++)
        RGM_GO(put_set(out, &graph->sets[i], graph->schema->sets[i]));
done:
    rgm_text_clear(&schema);
    return status;
}

/* ---- decoding ---- */

static rgm_status get_feature(rgmi_column **out, const rgm_feature_schema *schema,
                              rgm_state_reader *reader)
{
    rgm_feature feature = {0};
    rgm_status status = RGM_OK;
    int64_t is_there;

    RGM_TRY(rgm_state_get_count(&is_there, reader, 1, "a feature"));
    if (!is_there)
        return RGM_OK;
    RGM_GO(rgm_state_get_tensor(&feature.values, reader));
    for (int k = 1; k <= schema->rank; k++)
        if (schema->shape[k - 1] < 0)
            RGM_GO(rgm_state_get_tensor(&feature.row_lengths[k], reader));
    return rgmi_column_create(out, &feature);
done:
    rgm_feature_clear(&feature);
    return status;
}

static rgm_status get_ends(rgmi_items *items, rgm_state_reader *reader)
{
    rgm_tensor *ends[2] = {NULL, NULL};
    rgm_status status = RGM_OK;

    for (int i = 0; i < 2; i++) {
        RGM_GO(rgm_state_get_tensor(&ends[i], reader));
        if (rgm_tensor_dtype(ends[i]) != RGM_I64 || rgm_tensor_rank(ends[i]) != 1)
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "an encoded graph has edges that are not i64[edges]"));
    }
    rgmi_items_set_edges(items, ends[0], ends[1]);
done:
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    return status;
}

static rgm_status get_set(rgm_graph *graph, int64_t i, rgm_state_reader *reader)
{
    const rgm_set_schema *schema = graph->schema->sets[i];
    rgmi_set *set = &graph->sets[i];
    rgm_status status = RGM_OK;
    int64_t *sizes, total = 0;

    RGM_TRY(RGM_NEW(sizes, graph->components));
    for (int64_t c = 0; c < graph->components; c++) {
        RGM_GO(rgm_state_get_count(&sizes[c], reader,
                                   schema->piece == RGM_CONTEXT_PIECE ? 1 : RGMI_MOST_ITEMS,
                                   "the size of a set"));
        total += sizes[c];
        if (total > RGMI_MOST_ITEMS || (schema->piece == RGM_CONTEXT_PIECE && sizes[c] != 1))
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "an encoded graph has %lld items in a component",
                            (long long)sizes[c]));
    }
    RGM_GO(rgm_graph_check_declared(total, reader->size, "an encoded graph"));
    RGM_GO(rgmi_items_create(&set->items, graph->components, sizes, graph->real));
    if (schema->piece == RGM_EDGE_SET)
        RGM_GO(get_ends(set->items, reader));
    for (int64_t j = 0; j < schema->feature_count; j++)
        RGM_GO(get_feature(&set->columns[j], &schema->features[j], reader));
done:
    rgm_free(sizes);
    return status;
}

static rgm_status get_graph(rgm_graph **out, rgm_schema *schema, rgm_state_reader *reader)
{
    int64_t components, real;

    RGM_TRY(rgm_state_get_count(&components, reader, reader->size - reader->at, "the components"));
    RGM_TRY(rgm_state_get_count(&real, reader, components, "the real components"));
    RGM_TRY(rgm_graph_begin(out, schema, components, real));
    for (int64_t i = 0; i < schema->set_count; i++)
        RGM_TRY(get_set(*out, i, reader));
    RGM_TRY(rgm_graph_seal(*out));
    RGM_TRY(rgmi_graph_check(*out));
    return reader->at == reader->size
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_FORMAT, "an encoded graph has %lld bytes too many",
                          (long long)(reader->size - reader->at));
}

static rgm_status decode_graph(void **out, const void *data, int64_t size)
{
    rgm_state_reader reader = {data, size, 0}, text = {0};
    rgm_schema *schema = NULL;
    rgm_graph *graph = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(rgm_state_get_bytes(&text.data, &text.size, &reader));
    RGM_GO(rgm_schema_parse(&schema, (const char *)text.data, text.size, "an encoded graph"));
    RGM_GO(get_graph(&graph, schema, &reader));
    *out = graph;
    graph = NULL;
done:
    rgm_graph_release(graph);
    rgm_schema_release(schema);
    return status;
}

static void release_graph(void *object)
{
    rgm_graph_release(object);
}

static rgm_status check_like(const void *object, const void *like)
{
    const rgm_graph *graph = object, *other = like;
    rgm_status status = RGM_OK;
    rgm_text a = {0}, b = {0};

    RGM_GO(rgm_schema_print(&a, graph->schema));
    RGM_GO(rgm_schema_print(&b, other->schema));
    if (a.size != b.size || memcmp(a.data, b.data, (size_t)a.size) != 0)
        status = RGM_FAIL(RGM_ERR_DATA, "a graph has another schema than others");
done:
    rgm_text_clear(&a);
    rgm_text_clear(&b);
    return status;
}

const rgm_element_type rgm_graph_element = {.name = "graph",
                                            .release = release_graph,
                                            .encode = put_graph,
                                            .decode = decode_graph,
                                            .check_like = check_like};
