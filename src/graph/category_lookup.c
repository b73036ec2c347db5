/*
 * Lookups: which column of a pattern the value of a feature is. Ranges, vocabularies of integers
 * and of texts, hashes, buckets.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "category_lookup.h"

/* ---- making ---------------------------------------------------------------------------------- */

static rgm_status make(rgm_lookup **out, rgmi_lookup_kind kind, int64_t columns, int64_t count)
{
    rgm_lookup *made = NULL;

    *out = NULL;
    if (columns < 1 || columns > INT32_MAX)
        return RGM_FAIL(RGM_ERR_ARG, "a lookup of %" PRId64 " columns; 1 to 2147483647 can be",
                        columns);
    RGM_TRY(RGM_NEW(made, 1));
    atomic_init(&made->references, 1);
    made->kind = kind;
    made->columns = columns;
    made->other = -1;
    made->count = count;
    *out = made;
    return RGM_OK;
}

rgm_lookup *rgm_lookup_retain(rgm_lookup *lookup)
{
    if (lookup != NULL)
        atomic_fetch_add_explicit(&lookup->references, 1, memory_order_relaxed);
    return lookup;
}

void rgm_lookup_release(rgm_lookup *lookup)
{
    if (lookup == NULL ||
        atomic_fetch_sub_explicit(&lookup->references, 1, memory_order_acq_rel) != 1)
        return;
    rgm_free(lookup->column);
    rgm_free(lookup->integers);
    rgm_free(lookup->boundaries);
    rgm_tensor_release(lookup->texts);
    rgm_free(lookup);
}

int64_t rgm_lookup_columns(const rgm_lookup *lookup)
{
    return lookup->columns;
}

rgm_status rgm_lookup_range(rgm_lookup **out, int64_t values)
{
    return make(out, RGMI_LOOKUP_RANGE, values, 0);
}

rgm_status rgm_lookup_hash(rgm_lookup **out, int64_t buckets)
{
    return make(out, RGMI_LOOKUP_HASH, buckets, 0);
}

typedef struct integer_place {
    int64_t value, column;
} integer_place;

static int by_integer(const void *a, const void *b)
{
    const integer_place *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

static rgm_status fill_integers(rgm_lookup *lookup, const int64_t *values)
{
    rgm_status status = RGM_OK;
    integer_place *places = NULL;
    int64_t count = lookup->count;

    RGM_GO(RGM_NEW(places, count));
    RGM_GO(RGM_NEW(lookup->integers, count));
    RGM_GO(RGM_NEW(lookup->column, count));
    for (int64_t i = 0; i < count; i++)
        places[i] = (integer_place){values[i], i};
    if (count > 0)
        qsort(places, (size_t)count, sizeof *places, by_integer);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && places[i].value == places[i - 1].value)
            RGM_GO(RGM_FAIL(RGM_ERR_ARG, "a vocabulary has %" PRId64 " twice", places[i].value));
        lookup->integers[i] = places[i].value;
        lookup->column[i] = places[i].column;
    }
done:
    rgm_free(places);
    return status;
}

rgm_status rgm_lookup_integers(rgm_lookup **out, const int64_t *values, int64_t count, bool other)
{
    rgm_status status;

    RGM_TRY(make(out, RGMI_LOOKUP_INTEGERS, count + (other ? 1 : 0), count));
    (*out)->other = other ? count : -1;
    status = fill_integers(*out, values);
    if (status == RGM_OK)
        return RGM_OK;
    rgm_lookup_release(*out);
    *out = NULL;
    return status;
}

typedef struct text_place {
    rgm_str text;
    int64_t column;
} text_place;

static int compare_texts(rgm_str a, rgm_str b)
{
    size_t size = (size_t)(a.size < b.size ? a.size : b.size);
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int by_text(const void *a, const void *b)
{
    return compare_texts(((const text_place *)a)->text, ((const text_place *)b)->text);
}

static rgm_status fill_texts(rgm_lookup *lookup, const rgm_str *texts)
{
    rgm_status status = RGM_OK;
    text_place *places = NULL;
    rgm_str *sorted = NULL;
    int64_t count = lookup->count;

    RGM_GO(RGM_NEW(places, count));
    RGM_GO(RGM_NEW(sorted, count));
    RGM_GO(RGM_NEW(lookup->column, count));
    for (int64_t i = 0; i < count; i++)
        places[i] = (text_place){texts[i], i};
    if (count > 0)
        qsort(places, (size_t)count, sizeof *places, by_text);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && compare_texts(places[i].text, places[i - 1].text) == 0)
            RGM_GO(RGM_FAIL(RGM_ERR_ARG, "a vocabulary has '%.*s' twice",
                            (int)(places[i].text.size < 40 ? places[i].text.size : 40),
                            places[i].text.data));
        sorted[i] = places[i].text;
        lookup->column[i] = places[i].column;
    }
    RGM_GO(rgm_tensor_create_from(&lookup->texts, RGM_STRING, 1, &count, sorted));
done:
    rgm_free(places);
    rgm_free(sorted);
    return status;
}

rgm_status rgm_lookup_texts(rgm_lookup **out, const rgm_str *texts, int64_t count, bool other)
{
    rgm_status status;

    RGM_TRY(make(out, RGMI_LOOKUP_TEXTS, count + (other ? 1 : 0), count));
    (*out)->other = other ? count : -1;
    status = fill_texts(*out, texts);
    if (status == RGM_OK)
        return RGM_OK;
    rgm_lookup_release(*out);
    *out = NULL;
    return status;
}

static rgm_status fill_boundaries(rgm_lookup *lookup, const double *boundaries)
{
    RGM_TRY(RGM_NEW(lookup->boundaries, lookup->count));
    for (int64_t i = 0; i < lookup->count; i++) {
        if (!isfinite(boundaries[i]) || (i > 0 && boundaries[i] <= boundaries[i - 1]))
            return RGM_FAIL(RGM_ERR_ARG,
                            "boundary %" PRId64 " of buckets is %g; they are finite and ascend", i,
                            boundaries[i]);
        lookup->boundaries[i] = boundaries[i];
    }
    return RGM_OK;
}

rgm_status rgm_lookup_buckets(rgm_lookup **out, const double *boundaries, int64_t count)
{
    rgm_status status;

    RGM_TRY(make(out, RGMI_LOOKUP_BUCKETS, count + 1, count));
    status = fill_boundaries(*out, boundaries);
    if (status == RGM_OK)
        return RGM_OK;
    rgm_lookup_release(*out);
    *out = NULL;
    return status;
}

static bool same_texts(const rgm_lookup *a, const rgm_lookup *b)
{
    const rgm_str *x = rgm_tensor_data(a->texts), *y = rgm_tensor_data(b->texts);

    for (int64_t i = 0; i < a->count; i++)
        if (compare_texts(x[i], y[i]) != 0)
            return false;
    return true;
}

bool rgmi_lookup_equal(const rgm_lookup *a, const rgm_lookup *b)
{
    size_t bytes = (size_t)a->count * sizeof(int64_t);

    if (a == b)
        return true;
    if (a->kind != b->kind || a->columns != b->columns || a->other != b->other ||
        a->count != b->count)
        return false;
    if (a->count == 0)
        return true;
    return (a->column == NULL || memcmp(a->column, b->column, bytes) == 0) &&
           (a->integers == NULL || memcmp(a->integers, b->integers, bytes) == 0) &&
           (a->boundaries == NULL || memcmp(a->boundaries, b->boundaries, bytes) == 0) &&
           (a->texts == NULL || same_texts(a, b));
}

/* ---- columns of values ----------------------------------------------------------------------- */

/* How many of the sorted integers are no more than x. */
static int64_t rank_of_integer(const int64_t *sorted, int64_t count, int64_t x)
{
    int64_t low = 0, high = count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (sorted[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t rank_of_number(const double *sorted, int64_t count, double x)
{
    int64_t low = 0, high = count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (sorted[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t place_of_text(const rgm_str *sorted, int64_t count, rgm_str x)
{
    int64_t low = 0, high = count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = compare_texts(sorted[middle], x);

        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static int64_t column_of_integer(const rgm_lookup *lookup, int64_t x)
{
    char digits[24];
    int64_t rank;

    switch (lookup->kind) {
    case RGMI_LOOKUP_RANGE:
        return x >= 0 && x < lookup->columns ? x : -1;
    case RGMI_LOOKUP_HASH:
        snprintf(digits, sizeof digits, "%" PRId64, x);
        return (int64_t)(rgm_hash64(digits, strlen(digits)) % (uint64_t)lookup->columns);
    case RGMI_LOOKUP_BUCKETS:
        return rank_of_number(lookup->boundaries, lookup->count, (double)x);
    default:
        rank = rank_of_integer(lookup->integers, lookup->count, x);
        return rank > 0 && lookup->integers[rank - 1] == x ? lookup->column[rank - 1]
                                                           : lookup->other;
    }
}

static int64_t column_of_text(const rgm_lookup *lookup, rgm_str x)
{
    int64_t place;

    if (lookup->kind == RGMI_LOOKUP_HASH)
        return (int64_t)(rgm_hash64(x.size > 0 ? x.data : "", (size_t)x.size) %
                         (uint64_t)lookup->columns);
    place = place_of_text(rgm_tensor_data(lookup->texts), lookup->count, x);
    return place >= 0 ? lookup->column[place] : lookup->other;
}

static double number_at(const rgm_tensor *values, int64_t i)
{
    return rgm_tensor_dtype(values) == RGM_F32 ? (double)rgm_tensor_f32(values)[i]
                                               : rgm_tensor_f64(values)[i];
}

int64_t rgmi_lookup_column(const rgm_lookup *lookup, const rgm_tensor *values, int64_t i)
{
    double x;

    switch (rgm_tensor_dtype(values)) {
    case RGM_STRING:
        return column_of_text(lookup, ((const rgm_str *)rgm_tensor_data(values))[i]);
    case RGM_F32:
    case RGM_F64:
        x = number_at(values, i);
        return isnan(x) ? -1 : rank_of_number(lookup->boundaries, lookup->count, x);
    default:
        return column_of_integer(lookup, rgm_tensor_at_int(values, i));
    }
}

rgm_status rgmi_lookup_unknown(const rgm_lookup *lookup, const rgm_tensor *values, int64_t i,
                               int64_t item)
{
    rgm_str text;

    if (rgm_tensor_dtype(values) == RGM_STRING) {
        text = ((const rgm_str *)rgm_tensor_data(values))[i];
        return RGM_FAIL(RGM_ERR_DATA,
                        "item %" PRId64 " is '%.*s', which is not among the %" PRId64
                        " texts of its vocabulary",
                        item, (int)(text.size < 60 ? text.size : 60), text.data, lookup->count);
    }
    if (rgm_tensor_dtype(values) == RGM_F32 || rgm_tensor_dtype(values) == RGM_F64)
        return RGM_FAIL(RGM_ERR_DATA, "item %" PRId64 " is not a number, which is in no bucket",
                        item);
    if (lookup->kind == RGMI_LOOKUP_RANGE)
        return RGM_FAIL(RGM_ERR_DATA,
                        "item %" PRId64 " is %" PRId64 ", but its one-hot values are 0..%" PRId64,
                        item, rgm_tensor_at_int(values, i), lookup->columns - 1);
    return RGM_FAIL(RGM_ERR_DATA,
                    "item %" PRId64 " is %" PRId64 ", which is not among the %" PRId64
                    " numbers of its vocabulary",
                    item, rgm_tensor_at_int(values, i), lookup->count);
}

/* ---- of a feature ---------------------------------------------------------------------------- */

static bool takes(const rgm_lookup *lookup, rgm_dtype dtype)
{
    bool integers = dtype == RGM_I32 || dtype == RGM_I64;

    switch (lookup->kind) {
    case RGMI_LOOKUP_TEXTS:
        return dtype == RGM_STRING;
    case RGMI_LOOKUP_HASH:
        return integers || dtype == RGM_STRING;
    case RGMI_LOOKUP_BUCKETS:
        return integers || dtype == RGM_F32 || dtype == RGM_F64;
    default:
        return integers;
    }
}

rgm_status rgmi_lookup_width(int64_t *width, const rgm_lookup *lookup,
                             const rgm_feature_schema *schema, const char *title)
{
    static const char *const wants[] = {[RGMI_LOOKUP_RANGE] = "integers",
                                        [RGMI_LOOKUP_INTEGERS] = "integers",
                                        [RGMI_LOOKUP_TEXTS] = "texts",
                                        [RGMI_LOOKUP_HASH] = "integers or texts",
                                        [RGMI_LOOKUP_BUCKETS] = "numbers"};

    *width = lookup->columns;
    if (schema->vocabulary > 0 || !takes(lookup, schema->dtype))
        return RGM_FAIL(RGM_ERR_DTYPE, "%s: feature '%s' is not of %s", title, schema->name,
                        wants[lookup->kind]);
    if (rgm_feature_last_ragged(schema) > 0)
        return schema->rank == 1 ? RGM_OK
                                 : RGM_FAIL(RGM_ERR_UNSUPPORTED,
                                            "%s: feature '%s' is ragged in %d dims; lists of "
                                            "values can be looked up, lists of lists not",
                                            title, schema->name, schema->rank);
    for (int k = 0; k<schema->rank && * width> 0; k++)
        if (__builtin_mul_overflow(*width, schema->shape[k], width))
            *width = -1;
    if (*width < 1 || *width > INT32_MAX)
        return RGM_FAIL(RGM_ERR_ARG,
                        "%s: feature '%s' cannot be one-hot rows of %" PRId64 " values", title,
                        schema->name, lookup->columns);
    return RGM_OK;
}

void rgmi_looked_up_release(rgmi_looked_up *list)
{
    while (list != NULL) {
        rgmi_looked_up *next = list->next;

        rgm_lookup_release(list->lookup);
        rgm_pattern_release(list->pattern);
        rgm_free(list);
        list = next;
    }
}
