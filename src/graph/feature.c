/*
 * Features of all items of a set, dense or ragged: taking items, joining several, empty ones. An
 * item's values are contiguous at every level, so all of it is copying ranges.
 */
#include <string.h>

#include "graph_internal.h"

rgm_status rgmi_ints(rgm_tensor **out, int64_t count, const int64_t *numbers)
{
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 1, &count));
    if (numbers != NULL && count > 0)
        memcpy(rgm_tensor_data(*out), numbers, (size_t)count * sizeof *numbers);
    return RGM_OK;
}

int rgm_feature_last_ragged(const rgm_feature_schema *schema)
{
    for (int k = schema->rank; k > 0; k--)
        if (schema->shape[k - 1] < 0)
            return k;
    return 0;
}

int64_t rgmi_inner_count(const rgm_feature_schema *schema)
{
    int64_t count = 1;

    for (int k = rgm_feature_last_ragged(schema); k < schema->rank; k++)
        count *= schema->shape[k];
    return count;
}

int rgm_feature_values_shape(int64_t shape[RGM_MAX_RANK], const rgm_feature_schema *schema,
                             int64_t rows)
{
    int rank = 0;

    shape[rank++] = rows;
    for (int k = rgm_feature_last_ragged(schema); k < schema->rank; k++)
        shape[rank++] = schema->shape[k];
    return rank;
}

void rgm_feature_retain(rgm_feature *out, const rgm_feature *feature)
{
    *out = *feature;
    if (out->values != NULL)
        rgm_tensor_retain(out->values);
    for (int k = 0; k < RGM_MAX_RANK; k++)
        if (out->row_lengths[k] != NULL)
            rgm_tensor_retain(out->row_lengths[k]);
}

void rgm_feature_clear(rgm_feature *feature)
{
    if (feature == NULL)
        return;
    rgm_tensor_release(feature->values);
    for (int k = 0; k < RGM_MAX_RANK; k++)
        rgm_tensor_release(feature->row_lengths[k]);
    memset(feature, 0, sizeof *feature);
}

/* A tensor to fill; strings are filled as an array of rgm_str and copied by finish_values(). */
static rgm_status create_values(rgm_tensor **out, const rgm_feature_schema *schema, int64_t rows)
{
    int64_t shape[RGM_MAX_RANK];
    int rank = rgm_feature_values_shape(shape, schema, rows);

    return rgm_tensor_create(out, schema->dtype, rank, shape);
}

/* The texts that a string tensor points to become its own. */
static rgm_status own_strings(rgm_tensor **values)
{
    rgm_tensor *copy, *old = *values;

    if (rgm_tensor_dtype(old) != RGM_STRING)
        return RGM_OK;
    RGM_TRY(rgm_tensor_create_from(&copy, RGM_STRING, rgm_tensor_rank(old), rgm_tensor_shape(old),
                                   rgm_tensor_data(old)));
    rgm_tensor_release(old);
    *values = copy;
    return RGM_OK;
}

rgm_status rgmi_feature_empty(rgm_feature *out, const rgm_feature_schema *schema, int64_t items)
{
    rgm_status status = RGM_OK;
    rgm_feature made = {0};
    int64_t positions = items;

    memset(out, 0, sizeof *out);
    for (int k = 1; k <= rgm_feature_last_ragged(schema); k++) {
        if (schema->shape[k - 1] >= 0) {
            positions *= schema->shape[k - 1];
            continue;
        }
        RGM_GO(rgmi_ints(&made.row_lengths[k], positions, NULL));
        positions = 0;
    }
    RGM_GO(create_values(&made.values, schema, positions));
    *out = made;
    memset(&made, 0, sizeof made);
done:
    rgm_feature_clear(&made);
    return status;
}

/* ---- taking ---- */

/* Where each position of a level begins in the next one, for ragged levels: prefix sums of lengths.
 */
typedef struct offsets {
    int64_t *at[RGM_MAX_RANK];
} offsets;

static void offsets_clear(offsets *o)
{
    for (int k = 0; k < RGM_MAX_RANK; k++)
        rgm_free(o->at[k]);
}

static rgm_status offsets_make(offsets *o, const rgm_feature_schema *schema,
                               const rgm_feature *feature)
{
    for (int k = 1; k <= rgm_feature_last_ragged(schema); k++) {
        int64_t count;
        const int64_t *lengths;
        if (feature->row_lengths[k] == NULL)
            continue;
        count = rgm_tensor_count(feature->row_lengths[k]);
        lengths = rgm_tensor_i64(feature->row_lengths[k]);
        RGM_TRY(RGM_NEW(o->at[k], count + 1));
        for (int64_t i = 0; i < count; i++)
            o->at[k][i + 1] = o->at[k][i] + lengths[i];
    }
    return RGM_OK;
}

/* Items go one after the other through the levels. With out == NULL only counts: need[k], need[0].
 */
static void take_items(rgm_feature *out, int64_t need[RGM_MAX_RANK],
                       const rgm_feature_schema *schema, const rgm_feature *feature,
                       const offsets *o, const int64_t *items, int64_t count)
{
    int last = rgm_feature_last_ragged(schema);
    size_t row = rgm_dtype_size(schema->dtype) * (size_t)rgmi_inner_count(schema);

    memset(need, 0, RGM_MAX_RANK * sizeof need[0]);
    for (int64_t i = 0; i < count; i++) {
        bool zero = items[i] < 0;
        int64_t begin = zero ? 0 : items[i], end = zero ? 1 : items[i] + 1;
        for (int k = 1; k <= last; k++) {
            if (schema->shape[k - 1] >= 0) {
                begin *= schema->shape[k - 1];
                end *= schema->shape[k - 1];
                continue;
            }
            if (out != NULL && !zero)
                memcpy(rgm_tensor_i64(out->row_lengths[k]) + need[k],
                       rgm_tensor_i64(feature->row_lengths[k]) + begin,
                       (size_t)(end - begin) * sizeof(int64_t));
            need[k] += end - begin;
            begin = zero ? 0 : o->at[k][begin];
            end = zero ? 0 : o->at[k][end];
        }
        if (out != NULL && !zero && end > begin)
            memcpy((char *)rgm_tensor_data(out->values) + (size_t)need[0] * row,
                   (const char *)rgm_tensor_data(feature->values) + (size_t)begin * row,
                   (size_t)(end - begin) * row);
        need[0] += end - begin;
    }
}

rgm_status rgm_feature_take(rgm_feature *out, const rgm_feature_schema *schema,
                            const rgm_feature *feature, const int64_t *items, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_feature made = {0};
    offsets o = {{NULL}};
    int64_t need[RGM_MAX_RANK];

    memset(out, 0, sizeof *out);
    RGM_GO(offsets_make(&o, schema, feature));
    take_items(NULL, need, schema, feature, &o, items, count);
    for (int k = 1; k <= schema->rank; k++)
        if (schema->shape[k - 1] < 0)
            RGM_GO(rgmi_ints(&made.row_lengths[k], need[k], NULL));
    RGM_GO(create_values(&made.values, schema, need[0]));
    take_items(&made, need, schema, feature, &o, items, count);
    RGM_GO(own_strings(&made.values));
    *out = made;
    memset(&made, 0, sizeof made);
done:
    offsets_clear(&o);
    rgm_feature_clear(&made);
    return status;
}

/* ---- joining ---- */

static rgm_status join_lengths(rgm_tensor **out, int k, const rgm_feature *const *features,
                               int64_t count, int64_t padding)
{
    int64_t total = padding, at = 0;

    for (int64_t i = 0; i < count; i++)
        total += rgm_tensor_count(features[i]->row_lengths[k]);
    RGM_TRY(rgmi_ints(out, total, NULL));
    for (int64_t i = 0; i < count; i++) {
        int64_t part = rgm_tensor_count(features[i]->row_lengths[k]);
        memcpy(rgm_tensor_i64(*out) + at, rgm_tensor_i64(features[i]->row_lengths[k]),
               (size_t)part * sizeof(int64_t));
        at += part;
    }
    return RGM_OK;
}

rgm_status rgmi_feature_join(rgm_feature *out, const rgm_feature_schema *schema,
                             const rgm_feature *const *features, int64_t count, int64_t padding)
{
    rgm_status status = RGM_OK;
    rgm_feature made = {0};
    int64_t rows;
    char *at;

    memset(out, 0, sizeof *out);
    for (int k = 1; k <= rgm_feature_last_ragged(schema); k++) {
        if (schema->shape[k - 1] >= 0) {
            padding *= schema->shape[k - 1];
            continue;
        }
        RGM_GO(join_lengths(&made.row_lengths[k], k, features, count, padding));
        padding = 0; /* padded rows are empty, so nothing is below them */
    }
    rows = padding;
    for (int64_t i = 0; i < count; i++)
        rows += rgm_tensor_dim(features[i]->values, 0);
    RGM_GO(create_values(&made.values, schema, rows));
    at = rgm_tensor_data(made.values);
    for (int64_t i = 0; i < count; i++) {
        size_t bytes =
            rgm_dtype_size(schema->dtype) * (size_t)rgm_tensor_count(features[i]->values);
        if (bytes > 0)
            memcpy(at, rgm_tensor_data(features[i]->values), bytes);
        at += bytes;
    }
    RGM_GO(own_strings(&made.values));
    *out = made;
    memset(&made, 0, sizeof made);
done:
    rgm_feature_clear(&made);
    return status;
}
