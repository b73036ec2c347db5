/*
 * How a feature is read: what the options of a model say of it, with what was learned of it.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "encoders.h"

/* An embedding alone is of a vocabulary of all values. */
rgmi_encoding rgmi_encoding_of(const rgm_input_options *o, rgm_piece piece, const char *set,
                               const char *feature)
{
    rgmi_encoding e = {.options = o, .place = -1};
    int64_t width = rgmi_feature_place(o->embeddings.names, o->embeddings.count, set, feature);

    for (int k = 0; rgmi_encoders[k] != NULL && e.encoder == NULL; k++) {
        rgm_texts names = rgmi_encoders[k]->names(o);

        e.place = rgmi_feature_place(names.items, names.count, set, feature);
        if (e.place >= 0)
            e.encoder = rgmi_encoders[k];
    }
    if (width >= 0)
        e.width = (int64_t)o->embeddings.values[width];
    if (width >= 0 && e.encoder == NULL)
        e.encoder = &rgmi_vocabulary_encoder;
    e.learned = rgmi_learned_find(o->learned, piece, set, feature);
    return e;
}

bool rgmi_is_input(const rgm_feature_schema *feature, const char *set, const rgm_input_options *o)
{
    if (feature->vocabulary > 0 ||
        rgmi_encoding_of(o, RGM_NODE_SET, set, feature->name).encoder != NULL)
        return true;
    if (feature->dtype != RGM_F32 && feature->dtype != RGM_F64)
        return false;
    for (int i = 0; i < feature->rank; i++)
        if (feature->shape[i] < 1)
            return false;
    return true;
}

bool rgmi_has_inputs(const rgm_set_schema *set, const rgm_input_options *o)
{
    for (int64_t i = 0; i < set->feature_count; i++)
        if (rgmi_is_input(&set->features[i], set->name, o))
            return true;
    return false;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* The item that value i is of. */
static int64_t item_of(const rgm_feature *feature, int64_t i, int64_t items)
{
    const rgm_tensor *lengths = feature->row_lengths[1];
    int64_t item = 0, behind = 0;

    if (lengths == NULL) /* as many in each */
        return i * items / rgm_tensor_count(feature->values);
    while ((behind += rgm_tensor_i64(lengths)[item]) <= i)
        item++;
    return item;
}

rgm_status rgm_feature_finite(const rgm_graph *graph, const rgm_set_schema *set,
                              const rgm_feature_schema *f)
{
    const rgm_feature *feature = rgm_graph_feature(graph, set->piece, set->name, f->name);
    int64_t items = rgm_graph_total(graph, set->piece, set->name);
    rgm_tensor *table, *rows;
    char number[32], title[RGM_SET_TITLE];

    if (feature == NULL || f->dtype == RGM_STRING || f->dtype == RGM_BOOL)
        return RGM_OK;
    if (rgm_tensor_picked(&table, &rows,
                          feature->values)) /* the table was asked when it was lent */
        return RGM_OK;
    for (int64_t i = 0; i < rgm_tensor_count(feature->values); i++) {
        double value = rgmi_number_of(feature->values, i);

        if (isfinite(value) && !rgm_tensor_is_missing(feature->values, i))
            continue;
        snprintf(number, sizeof number, "%g", value);
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: feature '%s': item %" PRId64 " is %s, which no model can read: fill "
                        "it in, or leave the feature out of model.input",
                        rgm_set_title(set, title, sizeof title), f->name,
                        item_of(feature, i, items), isfinite(value) ? "missing" : number);
    }
    return RGM_OK;
}

rgm_status rgm_input_features_finite(const rgm_input_options *o, const rgm_graph *graph)
{
    const rgm_schema *schema = rgm_graph_schema(graph);

    if (o->standardize.count + o->min_max.count + o->buckets.count + o->numbers.count == 0)
        return RGM_OK;
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_CONTEXT_PIECE || rgm_is_aux_set(set->name))
            continue;
        for (int64_t k = 0; k < set->feature_count; k++) {
            const rgmi_encoder *encoder =
                rgmi_encoding_of(o, set->piece, set->name, set->features[k].name).encoder;

            if (encoder != NULL && encoder->finite)
                RGM_TRY(rgm_feature_finite(graph, set, &set->features[k]));
        }
    }
    return RGM_OK;
}
