/*
 * Reads records from CSV files into two tensors in memory, holds a part of them out, and shifts
 * images at random.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"

void rgmi_records_clear(rgmi_records *records)
{
    rgm_tensor_release(records->features);
    rgm_tensor_release(records->labels);
    *records = (rgmi_records){0};
}

/* ---- a file -------------------------------------------------------------------------------- */

/* The files being read, one after the other. */
typedef struct loading {
    const rgm_record_options *options;
    const char *path; /* of the one that is read */
    rgm_csv_reader *reader;
    int64_t classes;
    bool asked;            /* labels are not read and need not be there; the width is known */
    rgmi_columns *columns; /* of the first file; NULL: names are not compared */
    int64_t *source;       /* where each of them is in this file; NULL: in its place */
    int64_t label;         /* column; -1: none          */
    int64_t width;         /* features of a record      */
    int64_t rows;          /* of all files so far       */
    float *features;       /* [rows, width]             */
    int64_t features_capacity;
    int64_t *labels; /* [rows]                    */
    int64_t labels_capacity;
} loading;

static rgm_status find_label(loading *l, int64_t columns)
{
    const char *text = l->options->label;
    char *end;

    if (strcmp(text, "last") == 0)
        l->label = columns - 1;
    else if (strcmp(text, "first") == 0)
        l->label = 0;
    else {
        l->label = strtoll(text, &end, 10);
        if (end == text || *end != '\0')
            return RGM_FAIL(
                RGM_ERR_CONFIG,
                "data.label is '%s'; it must be first, last or a column's number from 0", text);
    }
    if (l->label < 0 || l->label >= columns)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.label is column %lld, %s has columns 0 to %lld",
                        (long long)l->label, l->path, (long long)columns - 1);
    return RGM_OK;
}

/* ---- columns by name ------------------------------------------------------------------------- */

void rgmi_columns_clear(rgmi_columns *columns)
{
    for (int64_t i = 0; i < columns->count; i++)
        rgm_free(columns->names[i]);
    rgm_free(columns->names);
    *columns = (rgmi_columns){0};
}

static rgm_status keep_columns(rgmi_columns *columns, const rgm_csv_reader *reader, int64_t count)
{
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(columns->names, count));
    for (; columns->count < count; columns->count++)
        RGM_GO(rgm_strdup(&columns->names[columns->count],
                          rgm_csv_reader_column(reader, columns->count)));
done:
    if (status != RGM_OK)
        rgmi_columns_clear(columns); /* none of them, or all */
    return status;
}

static int64_t find_column(const rgm_csv_reader *reader, int64_t count, const char *name)
{
    int64_t i = 0;

    while (i < count && strcmp(rgm_csv_reader_column(reader, i), name) != 0)
        i++;
    return i < count ? i : -1;
}

/* Columns in another order than the first file's are found by their names. */
static rgm_status match_columns(loading *l, int64_t count)
{
    rgmi_columns *columns = l->columns;
    int64_t same = 0;

    rgm_free(l->source);
    l->source = NULL;
    if (columns == NULL || !l->options->header || rgm_csv_reader_column_count(l->reader) != count)
        return RGM_OK;
    if (columns->count == 0)
        return keep_columns(columns, l->reader, count);
    while (same < count &&
           strcmp(rgm_csv_reader_column(l->reader, same), columns->names[same]) == 0)
        same++;
    if (same == count || count != columns->count)
        return RGM_OK;
    RGM_TRY(RGM_NEW(l->source, count));
    for (int64_t i = 0; i < count; i++) {
        l->source[i] = find_column(l->reader, count, columns->names[i]);
        for (int64_t k = 0; k < i && l->source[i] >= 0; k++)
            if (l->source[k] == l->source[i]) /* a name that stands twice finds nothing */
                l->source[i] = -1;
        if (l->source[i] < 0)
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: column %lld is '%s', but '%s' in the files before it, and columns "
                            "are found by their names",
                            l->path, (long long)same, rgm_csv_reader_column(l->reader, same),
                            columns->names[same]);
    }
    return RGM_OK;
}

static int64_t column_of(const loading *l, int64_t i)
{
    return l->source != NULL ? l->source[i] : i;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Each of the model's columns but the label's, by its name. */
static rgm_status find_asked(loading *l)
{
    int64_t there = rgm_csv_reader_column_count(l->reader), count = l->columns->count;

    RGM_TRY(find_label(l, count));
    rgm_free(l->source);
    l->source = NULL;
    RGM_TRY(RGM_NEW(l->source, count));
    for (int64_t i = 0; i < count; i++) {
        const char *name = l->columns->names[i];

        if (i == l->label)
            continue;
        l->source[i] = find_column(l->reader, there, name);
        if (l->source[i] < 0)
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: no column '%s', which the model was trained with; columns are "
                            "found by their names",
                            l->path, name);
        for (int64_t k = l->source[i] + 1; k < there; k++)
            if (strcmp(rgm_csv_reader_column(l->reader, k), name) == 0)
                return RGM_FAIL(RGM_ERR_DATA, "%s: two columns '%s'", l->path, name);
    }
    return RGM_OK;
}

/* As many columns as a record has numbers, or the label's beside them. */
static rgm_status look_at_asked(loading *l, int64_t columns)
{
    if (l->options->header && l->columns->count == l->width + 1)
        return find_asked(l);
    l->label = -1;
    if (columns == l->width)
        return RGM_OK;
    if (columns == l->width + 1)
        return find_label(l, columns);
    return RGM_FAIL(
        RGM_ERR_DATA,
        "%s: %lld columns; the model takes %lld numbers a record, with a label's column or without",
        l->path, (long long)columns, (long long)l->width);
}

/* Learn from the first row which column is the label, and check that the others are a record. */
static rgm_status look_at_columns(loading *l, int64_t columns)
{
    const rgm_ints *shape = &l->options->shape;
    int64_t size = 1;

    if (columns < 2)
        return RGM_FAIL(RGM_ERR_DATA, "%s: one column; a record is a label and at least one number",
                        l->path);
    RGM_TRY(find_label(l, columns));
    l->width = columns - 1;
    for (int64_t i = 0; i < shape->count; i++)
        if (__builtin_mul_overflow(size, shape->items[i], &size))
            size = -1;
    if (shape->count > 0 && size != l->width)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.shape makes %lld numbers of a record, %s has %lld beside the label",
                        (long long)size, l->path, (long long)l->width);
    return RGM_OK;
}

static rgm_status read_row(loading *l, int64_t columns)
{
    long long line = (long long)rgm_csv_reader_line(l->reader);
    int64_t label;
    float *at;

    RGM_TRY(RGM_RESERVE(l->labels, l->labels_capacity, l->rows + 1));
    RGM_TRY(RGM_RESERVE(l->features, l->features_capacity, (l->rows + 1) * l->width));
    if (l->asked)
        label = 0;
    else
        RGM_TRY(rgm_csv_reader_i64(&label, l->reader, column_of(l, l->label)));
    if (!l->asked && (label < 0 || label >= l->classes))
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s:%lld: the label is %lld, but there are %lld classes, from 0", l->path,
                        line, (long long)label, (long long)l->classes);
    at = l->features + l->rows * l->width;
    if (l->asked && l->source != NULL)
        columns = l->columns->count;
    for (int64_t c = 0; c < columns; c++) {
        double number;

        if (c == l->label)
            continue;
        RGM_TRY(rgm_csv_reader_f64(&number, l->reader, column_of(l, c)));
        *at = (float)(number / l->options->scale);
        if (!isfinite(*at++))
            return RGM_FAIL(RGM_ERR_DATA, "%s:%lld: column %lld is %g, which is no finite number",
                            l->path, line, (long long)column_of(l, c), number);
    }
    l->labels[l->rows++] = label;
    return RGM_OK;
}

/* Check the first row of a file: it must have as many columns as the first file. */
static rgm_status begin_file(loading *l, int64_t columns)
{
    if (l->asked)
        return look_at_asked(l, columns);
    if (l->rows == 0)
        RGM_TRY(look_at_columns(l, columns));
    if (columns != l->width + 1)
        return RGM_FAIL(RGM_ERR_DATA, "%s: %lld columns, the files before it have %lld", l->path,
                        (long long)columns, (long long)l->width + 1);
    return match_columns(l, columns);
}

static rgm_status read_rows(loading *l)
{
    rgm_csv_options csv = RGM_CSV_OPTIONS_INIT;
    const rgm_str *fields;
    rgm_status status;
    int64_t columns, before = l->rows;

    csv.header = l->options->header;
    RGM_TRY(rgm_csv_reader_open(&l->reader, l->path, &csv));
    while ((status = rgm_csv_reader_next(&fields, &columns, l->reader)) == RGM_OK) {
        if (l->rows == before)
            RGM_TRY(begin_file(l, columns));
        RGM_TRY(read_row(l, columns));
    }
    if (status != RGM_END)
        RGM_TRY(status);
    rgm_csv_reader_close(l->reader);
    l->reader = NULL;
    if (l->rows == before)
        return RGM_FAIL(RGM_ERR_DATA, "%s: no records", l->path);
    return RGM_OK;
}

/* Read one file, or all that a pattern matches, in `folder`; NULL: where the name says. */
static rgm_status read_files(loading *l, const char *folder, const char *name)
{
    rgm_status status = RGM_OK;
    char **paths = NULL, *path = NULL;
    int64_t count = 0;

    RGM_GO(folder != NULL ? rgm_path_in(&path, folder, name) : rgm_strdup(&path, name));
    if (rgm_path_exists(path) || strpbrk(name, "*?[") == NULL) {
        l->path = path;
        RGM_GO(read_rows(l));
        goto done;
    }
    RGM_GO(rgm_glob(&paths, &count, path));
    for (int64_t i = 0; i < count; i++) {
        l->path = paths[i];
        RGM_GO(read_rows(l));
    }
done:
    rgm_names_release(paths, count);
    rgm_free(path);
    l->path = NULL;
    return status;
}

/* The tensors take over the memory that was read into. */
static rgm_status make_tensors(rgmi_records *out, loading *l)
{
    const rgm_ints *shape = &l->options->shape;
    int64_t dims[RGM_MAX_RANK] = {l->rows, l->width};
    int rank = 2;

    if (shape->count > 0) {
        memcpy(dims + 1, shape->items, (size_t)shape->count * sizeof *dims);
        rank = (int)shape->count + 1;
    }
    RGM_TRY(
        rgm_tensor_wrap(&out->features, RGM_F32, rank, dims, l->features, rgm_free, l->features));
    l->features = NULL;
    RGM_TRY(rgm_tensor_wrap(&out->labels, RGM_I64, 1, &l->rows, l->labels, rgm_free, l->labels));
    l->labels = NULL;
    return RGM_OK;
}

/* Ends a loading that went well or did not. */
static rgm_status finish_loading(rgmi_records *out, loading *l, rgm_status status)
{
    if (status == RGM_OK)
        status = make_tensors(out, l);
    if (status != RGM_OK)
        rgmi_records_clear(out);
    rgm_csv_reader_close(l->reader);
    rgm_free(l->features);
    rgm_free(l->labels);
    rgm_free(l->source);
    return status;
}

rgm_status rgmi_records_load(rgmi_records *out, const rgm_texts *names,
                             const rgm_record_options *options, int64_t classes,
                             rgmi_columns *columns)
{
    rgm_status status = RGM_OK;
    loading l = {.options = options, .classes = classes, .columns = columns};

    *out = (rgmi_records){0};
    if (options->shape.count >= RGM_MAX_RANK)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.shape has %lld numbers, at most %d are possible",
                        (long long)options->shape.count, RGM_MAX_RANK - 1);
    for (int64_t i = 0; i < names->count && status == RGM_OK; i++)
        status = read_files(&l, options->path, names->items[i]);
    return finish_loading(out, &l, status);
}

rgm_status rgmi_records_load_asked(rgmi_records *out, const char *pattern,
                                   const rgm_record_options *options, rgmi_columns *columns,
                                   int64_t width)
{
    loading l = {.options = options, .asked = true, .columns = columns, .width = width};

    *out = (rgmi_records){0};
    return finish_loading(out, &l, read_files(&l, NULL, pattern));
}

/* ---- holding out --------------------------------------------------------------------------- */

/* The rows of a tensor that belong to a part, `count` of them, in order. */
static rgm_status pick_rows(rgm_tensor **out, const rgm_tensor *in, const rgm_fold_part *parts,
                            rgm_fold_part part, int64_t count)
{
    int64_t shape[RGM_MAX_RANK], rows = rgm_tensor_dim(in, 0);
    size_t size = rgm_tensor_bytes(in) / (size_t)rows;
    const char *from = rgm_tensor_data(in);
    char *to;

    memcpy(shape, rgm_tensor_shape(in), (size_t)rgm_tensor_rank(in) * sizeof *shape);
    shape[0] = count;
    RGM_TRY(rgm_tensor_create(out, rgm_tensor_dtype(in), rgm_tensor_rank(in), shape));
    to = rgm_tensor_data(*out);
    for (int64_t i = 0; i < rows; i++, from += size)
        if (parts[i] == part) {
            memcpy(to, from, size);
            to += size;
        }
    return RGM_OK;
}

/* Empty if the part has no records. */
static rgm_status pick(rgmi_records *out, const rgmi_records *in, const rgm_fold_part *parts,
                       rgm_fold_part part)
{
    int64_t count = 0, rows = rgm_tensor_dim(in->labels, 0);

    for (int64_t i = 0; i < rows; i++)
        count += parts[i] == part;
    if (count == 0)
        return RGM_OK;
    RGM_TRY(pick_rows(&out->features, in->features, parts, part, count));
    return pick_rows(&out->labels, in->labels, parts, part, count);
}

/* Split records[RGM_FOLD_TRAIN] into its parts, which were empty. */
static rgm_status part(rgmi_records *records, const rgm_fold_part *parts)
{
    rgm_status status = RGM_OK;
    rgmi_records made[3] = {{0}};

    for (int k = RGM_FOLD_TRAIN; k <= RGM_FOLD_TEST; k++)
        RGM_GO(pick(&made[k], &records[RGM_FOLD_TRAIN], parts, (rgm_fold_part)k));
    for (int k = RGM_FOLD_TRAIN; k <= RGM_FOLD_TEST; k++)
        if (made[k].labels != NULL) {
            rgmi_records_clear(&records[k]);
            records[k] = made[k];
            made[k] = (rgmi_records){0};
        }
done:
    for (int k = 0; k < 3; k++)
        rgmi_records_clear(&made[k]);
    return status;
}

rgm_status rgmi_records_hold_out(rgmi_records *records, double fraction, uint64_t seed)
{
    rgm_status status = RGM_OK;
    int64_t rows = rgm_tensor_dim(records->labels, 0), held = llround(fraction * (double)rows);
    rgm_rng rng = rgm_rng_stream(seed, "data/valid_fraction", 0);
    rgm_fold_part *parts = NULL;
    int64_t *order = NULL;

    if (held < 1 || held >= rows)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "data.valid_fraction is %g: of %lld records that holds out %lld; leave at least "
            "one on each side",
            fraction, (long long)rows, (long long)held);
    RGM_GO(RGM_NEW(order, rows));
    RGM_GO(RGM_NEW(parts, rows));
    rgm_rng_permutation(&rng, order, rows);
    for (int64_t i = 0; i < rows; i++)
        parts[order[i]] = i < held ? RGM_FOLD_VALID : RGM_FOLD_TRAIN;
    RGM_GO(part(records, parts));
done:
    rgm_free(order);
    rgm_free(parts);
    return status;
}

rgm_status rgmi_records_fold(rgmi_records *records, const rgm_folds *folds)
{
    rgm_status status = RGM_OK;
    int64_t rows = rgm_tensor_dim(records->labels, 0);
    rgm_fold_part *parts = NULL;
    double *labels = NULL;

    RGM_GO(RGM_NEW(labels, rows));
    RGM_GO(RGM_NEW(parts, rows));
    for (int64_t i = 0; i < rows; i++)
        labels[i] = rgm_tensor_at(records->labels, i);
    RGM_GO(rgm_folds_parts(parts, labels, rows, folds));
    RGM_GO(part(records, parts));
done:
    rgm_free(labels);
    rgm_free(parts);
    return status;
}

/* ---- augmentation -------------------------------------------------------------------------- */

/* to[y, x] = from[y - down, x - right] where that is inside the image; `to` starts as zeros. A
 * pixel has `depth` numbers. */
static void move_image(float *to, const float *from, const int64_t *shape, int64_t depth,
                       int64_t down, int64_t right)
{
    int64_t height = shape[0], width = shape[1];
    int64_t first = right > 0 ? right : 0, last = width + (right < 0 ? right : 0);

    for (int64_t y = 0; y < height; y++)
        if (y - down >= 0 && y - down < height && first < last)
            memcpy(to + (y * width + first) * depth,
                   from + ((y - down) * width + first - right) * depth,
                   (size_t)((last - first) * depth) * sizeof *to);
}

rgm_status rgmi_records_shift(rgm_element **out, const rgm_element *record,
                              const rgm_map_call *call, void *payload)
{
    rgm_status status = RGM_OK;
    rgm_tensor *image = rgm_element_tensor(record, 0);
    const int64_t *shape = rgm_tensor_shape(image);
    int64_t most = *(const int64_t *)payload;
    int64_t down = (int64_t)rgm_rng_below(&call->rng, 0, (uint64_t)(2 * most + 1)) - most;
    int64_t right = (int64_t)rgm_rng_below(&call->rng, 1, (uint64_t)(2 * most + 1)) - most;
    rgm_tensor *parts[2] = {NULL, rgm_element_tensor(record, 1)};

    RGM_GO(rgm_tensor_create(&parts[0], RGM_F32, rgm_tensor_rank(image), shape));
    move_image(rgm_tensor_f32(parts[0]), rgm_tensor_f32(image), shape,
               rgm_tensor_rank(image) == 3 ? shape[2] : 1, down, right);
    RGM_GO(rgm_element_create_tensors(out, parts, 2));
done:
    rgm_tensor_release(parts[0]);
    return status;
}
