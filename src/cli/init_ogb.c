/* What an OGB folder has, as the importer reads it. */
#include "init_look.h"

#include <string.h>

bool seen_is_ogb(const char *folder)
{
    char *raw = NULL;
    bool is = rgm_path_join(&raw, folder, "raw") == RGM_OK && rgm_path_is_folder(raw);

    rgm_free(raw);
    return is;
}

static rgm_status note_values(seen_column *column, const rgm_feature *value)
{
    const rgm_tensor *values = value->values;
    bool integer = rgm_tensor_dtype(values) == RGM_I64;

    for (int64_t i = 0; i < rgm_tensor_count(values); i++) {
        if (rgm_tensor_is_missing(values, i))
            column->empty++;
        else
            RGM_TRY(seen_note_number(column, rgm_tensor_at(values, i), integer));
    }
    return RGM_OK;
}

static rgm_status look_at_feature(seen_set *set, const rgm_set_schema *from,
                                  const rgm_feature_schema *feature, const rgm_graph_data *data)
{
    seen_column *column;

    RGM_TRY(seen_add_column(&column, set, feature->name));
    column->width = feature->rank > 0 ? feature->shape[0] : 0;
    for (int64_t g = 0; g < data->graph_count && feature->vocabulary == 0; g++) {
        const rgm_feature *value =
            rgm_graph_feature(data->graphs[g], from->piece, from->name, feature->name);

        if (value != NULL)
            RGM_TRY(note_values(column, value));
    }
    if (feature->vocabulary > 0)
        column->kind = SEEN_WORDS;
    return RGM_OK;
}

rgm_status seen_look_at_ogb(seen_folder *seen)
{
    rgm_status status = RGM_OK;
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data data = {0};

    RGM_GO(seen_look_at_split(seen));
    /* Of several splits any will do: only nodes, edges and features are looked at. */
    options.split = seen->split.first;
    RGM_GO(rgm_import_ogb(&data, seen->folder, &options));
    seen->graphs = data.graph_count;
    for (int64_t i = 0; i < rgm_schema_set_count(data.schema); i++) {
        const rgm_set_schema *from = rgm_schema_set(data.schema, i);
        seen_set *set;

        RGM_GO(seen_add_set(&set, seen, from->piece == RGM_CONTEXT_PIECE ? "graph" : from->name,
                            NULL, from->piece));
        for (int64_t g = 0; g < data.graph_count; g++)
            set->rows += rgm_graph_total(data.graphs[g], from->piece, from->name);
        for (int64_t k = 0; k < from->feature_count; k++)
            RGM_GO(look_at_feature(set, from, &from->features[k], &data));
        if (from->piece == RGM_EDGE_SET) {
            RGM_GO(rgm_strdup(&set->source, from->source));
            RGM_GO(rgm_strdup(&set->target, from->target));
        }
    }
done:
    rgm_graph_data_clear(&data);
    return status;
}
