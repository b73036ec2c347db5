/*
 * Raw CSV files of a data set: found with or without .gz, read whole, and told apart by what is in
 * them. Tensors do not know lines, so an error that is found later reads the file again up to the
 * row to say which line it is.
 */
#include "import_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Integers in at most this many columns are categories. */
#define CATEGORY_COLUMNS 16

rgm_status rgmi_raw_find(char **path, const char *folder, const char *name)
{
    rgm_status status = RGM_OK;
    char *packed, *plain = NULL;

    *path = NULL;
    RGM_TRY(rgm_strprintf(&packed, "%s/%s.csv.gz", folder, name));
    RGM_GO(rgm_strprintf(&plain, "%s/%s.csv", folder, name));
    if (rgm_path_exists(packed) && rgm_path_exists(plain))
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s: both %s.csv.gz and %s.csv are there; remove the old one",
                        folder, name, name));
    if (rgm_path_exists(packed))
        RGM_GO(rgm_strdup(path, packed));
    else if (rgm_path_exists(plain))
        RGM_GO(rgm_strdup(path, plain));
done:
    rgm_free(packed);
    rgm_free(plain);
    return status;
}

rgm_status rgmi_raw_require(char **path, const char *folder, const char *name)
{
    RGM_TRY(rgmi_raw_find(path, folder, name));
    if (*path == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: there is no %s.csv.gz and no %s.csv", folder, name,
                        name);
    return RGM_OK;
}

/* Line of row `row`, 0 when it cannot be found out. */
static int64_t line_of(const char *path, int64_t row, bool keep_empty_lines)
{
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_reader *reader = NULL;
    const rgm_str *fields;
    int64_t count, line = 0;

    options.ragged = true;
    options.keep_empty_lines = keep_empty_lines;
    if (rgm_csv_reader_open(&reader, path, &options) == RGM_OK) {
        for (int64_t i = 0; i <= row; i++)
            if (rgm_csv_reader_next(&fields, &count, reader) != RGM_OK)
                break;
            else if (i == row)
                line = rgm_csv_reader_line(reader);
    }
    rgm_csv_reader_close(reader);
    return line;
}

rgm_status rgmi_raw_fail(rgm_status code, const char *path, int64_t row, const char *format, ...)
{
    char what[512];
    va_list arguments;
    int64_t line = line_of(path, row, false);

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return RGM_FAIL(code, "%s:%lld: %s", path, (long long)line, what);
}

rgm_status rgmi_raw_ints(rgm_tensor **out, const char *path, int64_t columns)
{
    RGM_TRY(rgm_csv_load(out, path, RGM_I64, NULL));
    if (columns > 0 && rgm_tensor_dim(*out, 0) > 0 && rgm_tensor_dim(*out, 1) != columns) {
        int64_t found = rgm_tensor_dim(*out, 1);
        rgm_tensor_release(*out);
        *out = NULL;
        return RGM_FAIL(RGM_ERR_FORMAT, "%s:1: has %lld columns, expected %lld", path,
                        (long long)found, (long long)columns);
    }
    return RGM_OK;
}

void rgmi_raw_feature_clear(rgmi_raw_feature *feature)
{
    rgm_free(feature->path);
    rgm_free(feature->starts);
    rgm_feature_clear(&feature->value);
    memset(feature, 0, sizeof *feature);
}

/* ---- what a file holds ---- */

/* As integers where every cell is one, else as f32. */
static rgm_status load_numbers(rgm_tensor **out, const char *path, bool empty_is_missing,
                               bool keep_empty_lines)
{
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_status status;

    options.empty_is_missing = empty_is_missing;
    options.keep_empty_lines = keep_empty_lines;
    status = rgm_csv_load(out, path, RGM_I64, &options);
    if (status == RGM_ERR_FORMAT) {
        rgm_error_reset();
        status = rgm_csv_load(out, path, RGM_F32, &options);
    }
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* The values of a feature: a scalar for one column, else [columns]. */
static rgm_status take_dense(rgmi_raw_feature *out, const char *name, rgm_tensor *values)
{
    int64_t columns = rgm_tensor_dim(values, 1);

    out->schema.name = (char *)name;
    out->schema.dtype = rgm_tensor_dtype(values);
    out->rows = rgm_tensor_dim(values, 0);
    if (columns == 1)
        return rgm_tensor_reshape(&out->value.values, values, 1, &out->rows);
    out->schema.rank = 1;
    out->schema.shape[0] = columns;
    out->value.values = rgm_tensor_retain(values);
    return RGM_OK;
}

/* Which columns of each row are 1. */
static rgm_status take_sparse(rgmi_raw_feature *out, rgm_tensor *values, int64_t ones)
{
    int64_t rows = rgm_tensor_dim(values, 0), columns = rgm_tensor_dim(values, 1), at = 0;
    const int64_t *cell = rgm_tensor_i64(values);
    int64_t *column, *length;

    out->schema.name = (char *)"words";
    out->schema.dtype = RGM_I64;
    out->schema.rank = 1;
    out->schema.shape[0] = -1;
    out->schema.vocabulary = columns;
    out->rows = rows;
    RGM_TRY(rgm_tensor_create(&out->value.values, RGM_I64, 1, &ones));
    RGM_TRY(rgm_tensor_create(&out->value.row_lengths[1], RGM_I64, 1, &rows));
    RGM_TRY(RGM_NEW(out->starts, rows + 1));
    column = rgm_tensor_i64(out->value.values);
    length = rgm_tensor_i64(out->value.row_lengths[1]);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t c = 0; c < columns; c++)
            if (*cell++ == 1)
                column[at++] = c;
        out->starts[r + 1] = at;
        length[r] = at - out->starts[r];
    }
    return RGM_OK;
}

static rgm_status to_f32(rgm_tensor **out, const rgm_tensor *from)
{
    RGM_TRY(rgm_tensor_create(out, RGM_F32, 2, rgm_tensor_shape(from)));
    for (int64_t i = 0; i < rgm_tensor_count(from); i++)
        rgm_tensor_f32(*out)[i] = (float)rgm_tensor_i64(from)[i];
    return RGM_OK;
}

/* A matrix of integers: sparse words, categories, or numbers. */
static rgm_status take_integers(rgmi_raw_feature *out, rgm_tensor *values, double sparse_below)
{
    rgm_status status = RGM_OK;
    rgm_tensor *numbers = NULL;
    int64_t count = rgm_tensor_count(values), ones = 0;
    bool binary = true;

    for (int64_t i = 0; i < count; i++) {
        int64_t v = rgm_tensor_i64(values)[i];
        binary &= v == 0 || v == 1;
        ones += v == 1;
    }
    if (binary && rgm_tensor_dim(values, 1) > 1 && (double)ones < sparse_below * (double)count) {
        RGM_GO(take_sparse(out, values, ones));
    } else if (rgm_tensor_dim(values, 1) <= CATEGORY_COLUMNS) {
        RGM_GO(take_dense(out, "feat", values));
    } else {
        RGM_GO(to_f32(&numbers, values));
        RGM_GO(take_dense(out, "feat", numbers));
    }
done:
    rgm_tensor_release(numbers);
    return status;
}

double rgmi_sparse_below(const rgm_import_options *options, rgm_piece piece, const char *set)
{
    const rgm_set_schema *like =
        options->like != NULL ? rgm_schema_find(options->like, piece, set) : NULL;
    bool words = like != NULL && rgm_set_feature(like, "words") != NULL;
    bool feat = like != NULL && rgm_set_feature(like, "feat") != NULL;

    if (words == feat)
        return options->sparse_below;
    return words ? 2 : 0;
}

rgm_status rgmi_raw_features(rgmi_raw_feature *out, const char *folder, const char *name,
                             double sparse_below)
{
    rgm_status status = RGM_OK;
    rgm_tensor *values = NULL;

    memset(out, 0, sizeof *out);
    RGM_GO(rgmi_raw_find(&out->path, folder, name));
    if (out->path == NULL)
        return RGM_OK;
    RGM_GO(load_numbers(&values, out->path, false, false));
    if (rgm_tensor_dtype(values) == RGM_I64)
        RGM_GO(take_integers(out, values, sparse_below));
    else
        RGM_GO(take_dense(out, "feat", values));
done:
    rgm_tensor_release(values);
    if (status != RGM_OK)
        rgmi_raw_feature_clear(out);
    return status;
}

/* ---- labels ---- */

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* -1 marks an item without a label, as OGB and PyG have it, unless the labels are -1 and 1 alone.
 */
static bool marks_missing(const int64_t *distinct, int64_t kept)
{
    return kept > 0 && distinct[0] == -1 && !(kept == 2 && distinct[1] == 1);
}

/* Number the distinct values 0, 1, ... in ascending order; missing ones stay what they are. */
static rgm_status renumber(int64_t *values, int64_t count)
{
    int64_t *distinct, all = 0, kept = 0, missing;

    RGM_TRY(RGM_NEW(distinct, count));
    for (int64_t i = 0; i < count; i++)
        if (values[i] != INT64_MIN)
            distinct[all++] = values[i];
    qsort(distinct, (size_t)all, sizeof *distinct, ascending);
    for (int64_t i = 0; i < all; i++)
        if (i == 0 || distinct[i] != distinct[kept - 1])
            distinct[kept++] = distinct[i];
    missing = marks_missing(distinct, kept);
    for (int64_t i = 0; i < count; i++) {
        const int64_t *found =
            bsearch(&values[i], distinct, (size_t)kept, sizeof *distinct, ascending);
        if (found != NULL) /* an empty cell stays one */
            values[i] = found - distinct - missing;
    }
    rgm_free(distinct);
    return RGM_OK;
}

/* A file of one column may have an empty line for a label that is missing; *kept: it has, since
 * there are as many lines as items. */
static rgm_status load_labels(rgm_tensor **out, bool *kept, const char *path, int64_t items)
{
    rgm_tensor *lines;

    *kept = false;
    RGM_TRY(load_numbers(out, path, true, false));
    if (rgm_tensor_dim(*out, 0) >= items || rgm_tensor_dim(*out, 1) > 1)
        return RGM_OK;
    RGM_TRY(load_numbers(&lines, path, true, true));
    *kept = rgm_tensor_dim(lines, 0) == items;
    rgm_tensor_release(*kept ? *out : lines);
    if (*kept)
        *out = lines;
    return RGM_OK;
}

rgm_status rgmi_raw_labels(rgmi_raw_feature *out, const char *folder, const char *name,
                           bool relabel, int64_t items)
{
    rgm_status status = RGM_OK;
    rgm_tensor *values = NULL;
    bool kept;

    memset(out, 0, sizeof *out);
    RGM_GO(rgmi_raw_find(&out->path, folder, name));
    if (out->path == NULL)
        return RGM_OK;
    RGM_GO(load_labels(&values, &kept, out->path, items));
    if (rgm_tensor_dtype(values) == RGM_I64) {
        int64_t *label = rgm_tensor_i64(values), columns = rgm_tensor_dim(values, 1);
        if (relabel)
            RGM_GO(renumber(label, rgm_tensor_count(values)));
        for (int64_t i = 0; i < rgm_tensor_count(values); i++)
            if (label[i] < -1 && !rgm_tensor_is_missing(values, i))
                RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                                "%s:%lld: label %lld is negative; classes count from 0, -1 is none "
                                "(relabel numbers them anew, targets of a regression have a "
                                "decimal point)",
                                out->path, (long long)line_of(out->path, i / columns, kept),
                                (long long)label[i]));
    }
    RGM_GO(take_dense(out, "label", values));
done:
    rgm_tensor_release(values);
    if (status != RGM_OK)
        rgmi_raw_feature_clear(out);
    return status;
}

/* ---- into schema and graphs ---- */

rgm_status rgmi_raw_check_rows(const rgmi_raw_feature *feature, int64_t items, const char *what)
{
    if (feature->path && feature->rows != items)
        return RGM_FAIL(RGM_ERR_DATA, "%s has %lld rows, but there are %lld %s", feature->path,
                        (long long)feature->rows, (long long)items, what);
    return RGM_OK;
}

rgm_status rgmi_raw_declare(rgm_schema *schema, rgm_piece piece, const char *set,
                            const rgmi_raw_feature *feature)
{
    if (feature->path == NULL)
        return RGM_OK;
    RGM_TRY(rgm_schema_add_feature(schema, piece, set, feature->schema.name, feature->schema.dtype,
                                   feature->schema.rank, feature->schema.shape));
    if (feature->schema.vocabulary > 0)
        RGM_TRY(rgm_schema_set_one_hot(schema, piece, set, feature->schema.name,
                                       feature->schema.vocabulary));
    return RGM_OK;
}

rgm_status rgmi_raw_slice(rgm_feature *out, const rgmi_raw_feature *feature, int64_t begin,
                          int64_t end)
{
    rgm_status status = RGM_OK;
    int64_t first = begin, last = end;

    memset(out, 0, sizeof *out);
    if (feature->starts) {
        first = feature->starts[begin];
        last = feature->starts[end];
        RGM_GO(rgm_tensor_slice(&out->row_lengths[1], feature->value.row_lengths[1], begin, end));
    }
    RGM_GO(rgm_tensor_slice(&out->values, feature->value.values, first, last));
done:
    if (status != RGM_OK)
        rgm_feature_clear(out);
    return status;
}

rgm_status rgmi_builder_take(rgm_graph_builder *builder, rgm_piece piece, const char *set,
                             const char *name, rgm_feature *value)
{
    rgm_status status = rgm_graph_builder_feature(builder, piece, set, name, value);

    rgm_feature_clear(value);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}
