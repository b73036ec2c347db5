/*
 * Whole CSV files as tensors. Cells are read where they lie in the row; short runs of digits, which
 * is most of what graph data sets are made of, without a call.
 */
#include "csv_internal.h"

#include <math.h>

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

/* A cell of nothing but blanks where that is a number that is missing. */
static bool take_missing(void *out, rgm_dtype dtype, const char *text, int64_t size)
{
    for (int64_t i = 0; i < size; i++)
        if (text[i] != ' ' && text[i] != '\t')
            return false;
    if (dtype != RGM_F32 && dtype != RGM_F64 && dtype != RGM_I32 && dtype != RGM_I64)
        return false;
    rgm_dtype_put(out, dtype, rgm_dtype_missing(dtype));
    return true;
}

/* Where an empty cell is one that is missing, or else a number. */
static rgm_status take_number(void *out, const rgm_csv_reader *reader, rgm_dtype dtype,
                              const char *text, int64_t size, int64_t at)
{
    if (reader->options.empty_is_missing && take_missing(out, dtype, text, size))
        return RGM_OK;
    return rgmi_csv_number(out, reader, dtype, NULL, text, size, at);
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
            rgm_dtype_put_int(out, g->dtype, v);
        } else {
            const char *cell_end = memchr(p, delimiter, (size_t)(end - p));
            p = cell_end != NULL ? cell_end : end;
            RGM_TRY(take_number(out, reader, g->dtype, from, p - from, from - reader->row));
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
        RGM_TRY(take_number(g->data + g->count * (int64_t)g->size, reader, g->dtype,
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
    g->count = g->capacity = 0;
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

/** A column asked for, or several as one. */
typedef struct column {
    rgm_csv_column want;
    int64_t width;
    int64_t *cells; /* [cell_room] which of the file's columns, the first `width` */
    int64_t cell_room;
    growing values;
} column;

struct rgm_csv_columns {
    column *items;
    int64_t count;
};

rgm_status rgm_csv_reader_find(int64_t *out, const rgm_csv_reader *reader, const char *name)
{
    intptr_t place = 0;

    /* Behind a '#' only where none has the bare name. */
    for (int mark = 0; mark < 2 && place == 0 && reader->by_name != NULL; mark++) {
        char *key;
        RGM_TRY(rgm_strprintf(&key, "%s%s", mark ? "#" : "", name));
        place = (intptr_t)rgm_map_get(reader->by_name, key);
        rgm_free(key);
    }
    *out = place - 1;
    if (place > 0)
        return RGM_OK;
    if (place < 0)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s:1: two columns '%s', one of them number %lld; rename one, or take it "
                        "away",
                        reader->input->path, name, (long long)-place);
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: there is no column '%s'%s%s", reader->input->path, name,
                    rgm_did_you_mean(name, (const char *const *)reader->columns,
                                     reader->column_count, NULL, NULL)
                        .text,
                    !reader->options.header ? ": the file was read without a header" : "");
}

rgm_status rgm_csv_columns_create(rgm_csv_columns **out, const rgm_csv_column *columns,
                                  int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_csv_columns *self = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(self, 1));
    RGM_GO(RGM_NEW(self->items, count));
    for (; self->count < count; self->count++) {
        column *c = &self->items[self->count];
        c->want = columns[self->count];
        c->width = c->want.list ? c->want.width : 1;
        if ((unsigned)c->want.dtype >= RGM_DTYPE_COUNT || c->want.dtype == RGM_BF16 ||
            c->want.dtype == RGM_I8)
            RGM_GO(RGM_FAIL(RGM_ERR_DTYPE, "dtype %d of column %lld", (int)c->want.dtype,
                            (long long)self->count));
        if (c->want.name == NULL && (c->want.number < 0 || c->want.list))
            RGM_GO(RGM_FAIL(RGM_ERR_ARG, "column number %lld", (long long)c->want.number));
        c->values = (growing){.dtype = c->want.dtype, .size = rgm_dtype_size(c->want.dtype)};
    }
    *out = self;
    self = NULL;
done:
    rgm_csv_columns_release(self);
    return status;
}

void rgm_csv_columns_release(rgm_csv_columns *columns)
{
    for (int64_t i = 0; columns != NULL && i < columns->count; i++) {
        rgm_free(columns->items[i].cells);
        rgm_free(columns->items[i].values.data);
        rgm_text_clear(&columns->items[i].values.text);
    }
    if (columns != NULL)
        rgm_free(columns->items);
    rgm_free(columns);
}

static rgm_status find_cell(int64_t *out, const column *c, int64_t k, const rgm_csv_reader *reader)
{
    char *name = NULL;
    rgm_status status;

    *out = c->want.number;
    if (c->want.name == NULL)
        return RGM_OK;
    if (!c->want.list)
        return rgm_csv_reader_find(out, reader, c->want.name);
    RGM_TRY(rgm_strprintf(&name, "%s.%lld", c->want.name, (long long)k));
    status = rgm_csv_reader_find(out, reader, name);
    rgm_free(name);
    return status;
}

rgm_status rgm_csv_columns_find(rgm_csv_columns *columns, const rgm_csv_reader *reader)
{
    for (int64_t i = 0; i < columns->count; i++) {
        column *c = &columns->items[i];

        for (int64_t k = 0; k < c->width; k++) { /* room as they are found: a width is but a word */
            RGM_TRY(RGM_RESERVE(c->cells, c->cell_room, k + 1));
            RGM_TRY(find_cell(&c->cells[k], c, k, reader));
        }
    }
    return RGM_OK;
}

static rgm_status read_cell(column *c, const rgm_csv_reader *reader, int64_t number)
{
    growing *g = &c->values;
    const rgm_str *cell;
    char *out;

    if (number >= reader->field_count)
        return rgmi_csv_fail(reader, 0, "there is no field %lld, the row has %lld",
                             (long long)number, (long long)reader->field_count);
    cell = &reader->fields[number];
    RGM_TRY(grow(g, 1));
    out = g->data + g->count * (int64_t)g->size;
    if (g->dtype == RGM_STRING) {
        rgm_str text = {.size = cell->size};
        memcpy(&text.data, &g->text.size, sizeof text.data);
        memcpy(out, &text, sizeof text);
        RGM_TRY(rgm_text_add(&g->text, cell->data, cell->size));
    } else if (!(c->want.empty_is_missing && take_missing(out, g->dtype, cell->data, cell->size))) {
        RGM_TRY(rgmi_csv_number(out, reader, g->dtype, c->want.name, cell->data, cell->size,
                                reader->starts[number]));
    }
    g->count++;
    return RGM_OK;
}

rgm_status rgm_csv_columns_add(rgm_csv_columns *columns, const rgm_csv_reader *reader)
{
    for (int64_t i = 0; i < columns->count; i++)
        for (int64_t k = 0; k < columns->items[i].width; k++)
            RGM_TRY(read_cell(&columns->items[i], reader, columns->items[i].cells[k]));
    return RGM_OK;
}

int64_t rgm_csv_columns_bytes(const rgm_csv_columns *columns)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < columns->count; i++) {
        const growing *g = &columns->items[i].values;

        bytes += g->count * (int64_t)g->size + g->text.size;
    }
    return bytes;
}

rgm_status rgm_csv_columns_take(rgm_tensor **out, rgm_csv_columns *columns, int64_t i)
{
    column *c = &columns->items[i];
    growing *g = &c->values;
    int rank = c->want.list ? 2 : 1;
    int64_t shape[2] = {c->width > 0 ? g->count / c->width : 0, c->width};
    rgm_str *strings = (rgm_str *)(void *)g->data;

    if (g->count == 0)
        return rgm_tensor_create(out, g->dtype, rank, shape);
    if (g->dtype != RGM_STRING)
        return become_tensor(out, g, rank, shape);
    for (int64_t k = 0; k < g->count; k++) {
        int64_t offset;
        memcpy(&offset, &strings[k].data, sizeof offset);
        strings[k].data = strings[k].size > 0 ? g->text.data + offset : "";
    }
    RGM_TRY(rgm_tensor_create_from(out, RGM_STRING, rank, shape, strings));
    g->count = g->text.size = 0;
    return RGM_OK;
}

rgm_status rgm_csv_load_columns(rgm_tensor **out, const char *path, const rgm_csv_column *columns,
                                int64_t count, const rgm_csv_options *options)
{
    rgm_status status = RGM_OK;
    rgm_csv_reader *reader = NULL;
    rgm_csv_columns *made = NULL;
    const rgm_str *fields;
    int64_t field_count;

    for (int64_t i = 0; i < count; i++)
        out[i] = NULL;
    RGM_GO(rgm_csv_columns_create(&made, columns, count));
    RGM_GO(rgm_csv_reader_open(&reader, path, options));
    RGM_GO(rgm_csv_columns_find(made, reader));
    while ((status = rgm_csv_reader_next(&fields, &field_count, reader)) == RGM_OK)
        RGM_GO(rgm_csv_columns_add(made, reader));
    if (status != RGM_END)
        RGM_GO(status);
    status = RGM_OK;
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgm_csv_columns_take(&out[i], made, i));
done:
    for (int64_t i = 0; status != RGM_OK && i < count; i++) {
        rgm_tensor_release(out[i]);
        out[i] = NULL;
    }
    rgm_csv_columns_release(made);
    rgm_csv_reader_close(reader);
    return status;
}
