/*
 * Whole CSV files as tensors. Cells are read where they lie in the row; short runs of digits, which
 * is most of what graph data sets are made of, without a call.
 */
#include "csv_internal.h"

/** The rows read so far of a matrix or a column. */
typedef struct growing {
    rgm_dtype dtype;
    size_t size; /* of an element */
    char *data;
    int64_t count, capacity; /* elements */
    rgm_text text;           /* strings: their bytes; elements hold offsets into it until the end */
} growing;

static rgm_status grow(growing *g, int64_t more)
{
    if (g->count + more <= g->capacity)
        return RGM_OK;
    return rgm_array_grow(&g->data, &g->capacity, g->count + more, g->size);
}

static void store_integer(char *out, rgm_dtype dtype, int64_t v)
{
    switch (dtype) {
    case RGM_F32:
        *(float *)(void *)out = (float)v;
        break;
    case RGM_F64:
        *(double *)(void *)out = (double)v;
        break;
    case RGM_I32:
        *(int32_t *)(void *)out = (int32_t)v;
        break;
    default:
        *(int64_t *)(void *)out = v;
        break;
    }
}

/** The row's cells, numbers without quotes, appended to g; *count is how many. */
static rgm_status read_plain_row(int64_t *count, growing *g, const rgm_csv_reader *reader)
{
    const char *p = reader->row, *end = p + reader->row_size;
    char delimiter = reader->options.delimiter;
    int64_t n = 0;

    for (;; p++, n++) {
        const char *from = p;
        int64_t v = 0;
        char *out;

        RGM_TRY(grow(g, 1));
        out = g->data + g->count * (int64_t)g->size;
        /* Nine digits fit in every dtype's exact integers but float's, which rounds them rightly.
         */
        while (p < end && (unsigned)(*p - '0') <= 9 && p - from < 9)
            v = v * 10 + (*p++ - '0');
        if (p > from && (p == end || *p == delimiter)) {
            store_integer(out, g->dtype, v);
        } else {
            const char *cell_end = memchr(p, delimiter, (size_t)(end - p));
            p = cell_end != NULL ? cell_end : end;
            RGM_TRY(rgmi_csv_number(out, reader, g->dtype, from, p - from, from - reader->row));
        }
        g->count++;
        if (p == end)
            break;
    }
    *count = n + 1;
    return RGM_OK;
}

static rgm_status read_quoted_row(int64_t *count, growing *g, rgm_csv_reader *reader)
{
    RGM_TRY(rgmi_csv_split(reader));
    RGM_TRY(grow(g, reader->field_count));
    for (int64_t i = 0; i < reader->field_count; i++, g->count++)
        RGM_TRY(rgmi_csv_number(g->data + g->count * (int64_t)g->size, reader, g->dtype,
                                reader->fields[i].data, reader->fields[i].size, reader->starts[i]));
    *count = reader->field_count;
    return RGM_OK;
}

/** A tensor that takes over the data of g. */
static rgm_status become_tensor(rgm_tensor **out, growing *g, int rank, const int64_t *shape)
{
    void *fitting = rgm_realloc(g->data, (size_t)g->count * g->size);

    if (fitting != NULL)
        g->data = fitting; /* else the larger one will do */
    RGM_TRY(rgm_tensor_wrap(out, g->dtype, rank, shape, g->data, rgm_free, g->data));
    g->data = NULL;
    return RGM_OK;
}

rgm_status rgm_csv_load(rgm_tensor **out, const char *path, rgm_dtype dtype,
                        const rgm_csv_options *options)
{
    rgm_status status = RGM_OK;
    rgm_csv_reader *reader = NULL;
    growing g = {.dtype = dtype, .size = rgm_dtype_size(dtype)};
    int64_t shape[2] = {0, 0};

    *out = NULL;
    if (dtype != RGM_F32 && dtype != RGM_F64 && dtype != RGM_I32 && dtype != RGM_I64)
        return RGM_FAIL(RGM_ERR_DTYPE, "%s: numbers are f32, f64, i32 or i64, not %s", path,
                        rgm_dtype_name(dtype));
    RGM_GO(rgm_csv_reader_open(&reader, path, options));
    reader->options.ragged = false;
    for (;; shape[0]++) {
        int64_t count = 0;
        status = rgmi_csv_row(reader);
        if (status == RGM_END)
            break;
        RGM_GO(status);
        RGM_GO(reader->quoted ? read_quoted_row(&count, &g, reader)
                              : read_plain_row(&count, &g, reader));
        RGM_GO(rgmi_csv_check_width(reader, count));
        shape[1] = count;
    }
    if (shape[0] == 0)
        RGM_GO(rgm_tensor_create(out, dtype, 2, shape));
    else
        RGM_GO(become_tensor(out, &g, 2, shape));
    status = RGM_OK;
done:
    rgm_free(g.data);
    rgm_csv_reader_close(reader);
    return status;
}

/* ---- columns -------------------------------------------------------------------------------- */

static rgm_status find_column(int64_t *out, const rgm_csv_reader *reader,
                              const rgm_csv_column *column)
{
    *out = column->number;
    if (column->name == NULL) {
        if (column->number < 0)
            return RGM_FAIL(RGM_ERR_ARG, "%s: column number %lld", reader->input->path,
                            (long long)column->number);
        return RGM_OK;
    }
    for (*out = 0; *out < reader->column_count; ++*out)
        if (strcmp(reader->columns[*out], column->name) == 0)
            return RGM_OK;
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: there is no column '%s'%s%s", reader->input->path,
                    column->name,
                    rgm_did_you_mean(column->name, (const char *const *)reader->columns,
                                     reader->column_count, NULL, NULL)
                        .text,
                    reader->column_count == 0 ? ": the file was read without a header" : "");
}

static rgm_status read_cell(growing *g, const rgm_csv_reader *reader, int64_t column)
{
    const rgm_str *cell;
    char *out;

    if (column >= reader->field_count)
        return rgmi_csv_fail(reader, 0, "there is no field %lld, the row has %lld",
                             (long long)column, (long long)reader->field_count);
    cell = &reader->fields[column];
    RGM_TRY(grow(g, 1));
    out = g->data + g->count * (int64_t)g->size;
    if (g->dtype == RGM_STRING) {
        rgm_str text = {.size = cell->size};
        memcpy(&text.data, &g->text.size, sizeof text.data);
        memcpy(out, &text, sizeof text);
        RGM_TRY(rgm_text_add(&g->text, cell->data, cell->size));
    } else {
        RGM_TRY(
            rgmi_csv_number(out, reader, g->dtype, cell->data, cell->size, reader->starts[column]));
    }
    g->count++;
    return RGM_OK;
}

static rgm_status column_tensor(rgm_tensor **out, growing *g)
{
    rgm_str *strings = (rgm_str *)(void *)g->data;

    if (g->count == 0)
        return rgm_tensor_create(out, g->dtype, 1, &g->count);
    if (g->dtype != RGM_STRING)
        return become_tensor(out, g, 1, &g->count);
    for (int64_t i = 0; i < g->count; i++) {
        int64_t offset;
        memcpy(&offset, &strings[i].data, sizeof offset);
        strings[i].data = strings[i].size > 0 ? g->text.data + offset : "";
    }
    return rgm_tensor_create_from(out, RGM_STRING, 1, &g->count, strings);
}

rgm_status rgm_csv_load_columns(rgm_tensor **out, const char *path, const rgm_csv_column *columns,
                                int64_t count, const rgm_csv_options *options)
{
    rgm_status status = RGM_OK;
    rgm_csv_reader *reader = NULL;
    growing *g = NULL;
    int64_t *number = NULL;

    for (int64_t i = 0; i < count; i++)
        out[i] = NULL;
    RGM_GO(RGM_NEW(g, count));
    RGM_GO(RGM_NEW(number, count));
    RGM_GO(rgm_csv_reader_open(&reader, path, options));
    for (int64_t i = 0; i < count; i++) {
        if ((unsigned)columns[i].dtype >= RGM_DTYPE_COUNT || columns[i].dtype == RGM_BF16)
            RGM_GO(RGM_FAIL(RGM_ERR_DTYPE, "%s: dtype %d of column %lld", path,
                            (int)columns[i].dtype, (long long)i));
        g[i].dtype = columns[i].dtype;
        g[i].size = rgm_dtype_size(columns[i].dtype);
        RGM_GO(find_column(&number[i], reader, &columns[i]));
    }
    while ((status = rgmi_csv_row(reader)) == RGM_OK) {
        RGM_GO(rgmi_csv_split(reader));
        for (int64_t i = 0; i < count; i++)
            RGM_GO(read_cell(&g[i], reader, number[i]));
    }
    if (status != RGM_END)
        RGM_GO(status);
    status = RGM_OK;
    for (int64_t i = 0; i < count; i++)
        RGM_GO(column_tensor(&out[i], &g[i]));
done:
    for (int64_t i = 0; status != RGM_OK && i < count; i++) {
        rgm_tensor_release(out[i]);
        out[i] = NULL;
    }
    for (int64_t i = 0; g != NULL && i < count; i++) {
        rgm_free(g[i].data);
        rgm_text_clear(&g[i].text);
    }
    rgm_free(g);
    rgm_free(number);
    rgm_csv_reader_close(reader);
    return status;
}
