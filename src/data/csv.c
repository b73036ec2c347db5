/*
 * Reading CSV rows (RFC 4180) out of the window of an input. A row's end is the first line end with
 * an even number of quotes before it; rows without any quote, the usual ones, are never looked at
 * byte by byte.
 */
#include "csv_internal.h"

#include <math.h>
#include <stdio.h>

rgm_status rgmi_csv_fail(const rgm_csv_reader *reader, int64_t at, const char *format, ...)
{
    char what[512];
    int64_t line = reader->line, column = at + 1;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    for (int64_t i = 0; i < at && i < reader->row_size; i++) {
        if (reader->row[i] == '\n') {
            line++;
            column = at - i;
        }
    }
    return RGM_FAIL(RGM_ERR_FORMAT, "%s:%lld:%lld: %s", reader->input->path, (long long)line,
                    (long long)column, what);
}

static int64_t count_byte(const char *text, int64_t size, char byte)
{
    int64_t n = 0;
    for (int64_t i = 0; i < size; i++)
        n += text[i] == byte;
    return n;
}

/** One physical row, perhaps empty, into reader->row. RGM_END when nothing is left. */
static rgm_status read_row(rgm_csv_reader *reader)
{
    rgmi_input *input = reader->input;
    int64_t scanned = 0, quotes = 0, size = -1, quote_at = 0;

    reader->line = reader->next_line;
    reader->quoted = false;
    while (size < 0) {
        const char *from, *line_end, *quote;
        int64_t span;

        if (scanned == input->available) {
            int64_t before = input->available;
            RGM_TRY(rgmi_input_fill(input, before + 1));
            if (input->available == before && before == 0)
                return RGM_END;
            if (input->available == before) {
                size = before;
                break;
            }
        }
        from = (const char *)input->data + scanned;
        line_end = memchr(from, '\n', (size_t)(input->available - scanned));
        span = line_end != NULL ? line_end - from : input->available - scanned;
        quote = memchr(from, '"', (size_t)span);
        if (quote != NULL) {
            if (quotes % 2 == 0)
                quote_at = quote - (const char *)input->data;
            quotes += count_byte(quote, span - (quote - from), '"');
        }
        scanned += span;
        if (line_end != NULL) {
            if (quotes % 2 == 0)
                size = scanned;
            else
                scanned++;
        }
        reader->row = (const char *)input->data;
        reader->row_size = scanned;
        if (scanned > reader->options.max_row_bytes)
            return rgmi_csv_fail(reader, quote_at, "the row has more than %lld bytes%s",
                                 (long long)reader->options.max_row_bytes,
                                 quotes % 2 != 0 ? "; the quote here has no end" : "");
    }
    reader->row = (const char *)input->data;
    reader->row_size = size;
    reader->quoted = quotes > 0;
    if (quotes % 2 != 0)
        return rgmi_csv_fail(reader, quote_at, "the quote here has no end");
    reader->next_line += 1 + (quotes > 0 ? count_byte(reader->row, size, '\n') : 0);
    rgmi_input_consume(input, size < input->available ? size + 1 : size);
    if (size > 0 && reader->row[size - 1] == '\r')
        reader->row_size--;
    return RGM_OK;
}

rgm_status rgmi_csv_row(rgm_csv_reader *reader)
{
    do
        RGM_TRY(read_row(reader));
    while (reader->row_size == 0 && !reader->options.keep_empty_lines);
    return RGM_OK;
}

rgm_status rgmi_csv_check_width(rgm_csv_reader *reader, int64_t count)
{
    if (reader->width < 0)
        reader->width = count;
    if (count != reader->width && !reader->options.ragged)
        return rgmi_csv_fail(reader, 0, "the row has %lld fields, those before have %lld",
                             (long long)count, (long long)reader->width);
    return RGM_OK;
}

static rgm_status add_field(rgm_csv_reader *reader, const char *text, int64_t size, int64_t start)
{
    int64_t n = reader->field_count;

    RGM_TRY(RGM_RESERVE(reader->fields, reader->field_capacity, n + 1));
    RGM_TRY(RGM_RESERVE(reader->starts, reader->start_capacity, n + 1));
    reader->fields[n] = (rgm_str){text, size};
    reader->starts[n] = start;
    reader->field_count++;
    return RGM_OK;
}

/** A field in quotes that starts at *at; moves *at behind it. There is room in `unquoted`. */
static rgm_status split_quoted(rgm_csv_reader *reader, int64_t *at)
{
    const char *row = reader->row;
    int64_t start = *at, i = start + 1, end = reader->row_size;
    char *out = reader->unquoted.data + reader->unquoted.size, *from = out;

    for (;; i++) {
        if (i == end)
            return rgmi_csv_fail(reader, start, "the quote here has no end");
        if (row[i] == '"' && (i + 1 == end || row[i + 1] != '"'))
            break;
        i += row[i] == '"';
        *out++ = row[i];
    }
    i++;
    if (i < end && row[i] != reader->options.delimiter)
        return rgmi_csv_fail(reader, i, "text behind a closing quote");
    reader->unquoted.size += out - from;
    *at = i;
    return add_field(reader, from, out - from, start);
}

rgm_status rgmi_csv_split(rgm_csv_reader *reader)
{
    const char *row = reader->row;
    int64_t at = 0, end = reader->row_size;

    reader->field_count = 0;
    reader->unquoted.size = 0;
    if (reader->quoted)
        RGM_TRY(RGM_RESERVE(reader->unquoted.data, reader->unquoted.capacity, end + 1));
    for (;;) {
        if (reader->quoted && at < end && row[at] == '"') {
            RGM_TRY(split_quoted(reader, &at));
        } else {
            const char *delimiter = memchr(row + at, reader->options.delimiter, (size_t)(end - at));
            int64_t size = delimiter != NULL ? delimiter - (row + at) : end - at;
            const char *quote = reader->quoted ? memchr(row + at, '"', (size_t)size) : NULL;
            if (quote != NULL)
                return rgmi_csv_fail(reader, quote - row, "a quote in a field without quotes");
            RGM_TRY(add_field(reader, row + at, size, at));
            at += size;
        }
        if (at == end)
            break;
        at++;
    }
    return rgmi_csv_check_width(reader, reader->field_count);
}

static rgm_status read_header(rgm_csv_reader *reader)
{
    rgm_status status = rgmi_csv_row(reader);

    if (status == RGM_END)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s:1:1: the file is empty, a header was expected",
                        reader->input->path);
    RGM_TRY(status);
    RGM_TRY(rgmi_csv_split(reader));
    RGM_TRY(RGM_NEW(reader->columns, reader->field_count));
    RGM_TRY(rgm_map_create(&reader->by_name));
    for (int64_t i = 0; i < reader->field_count; i++) {
        intptr_t place = i + 1;

        RGM_TRY(rgm_strndup(&reader->columns[i], reader->fields[i].data,
                            (size_t)reader->fields[i].size));
        reader->column_count++;
        if (rgm_map_has(reader->by_name, reader->columns[i]))
            place = -place; /* a name that stands twice means neither */
        RGM_TRY(rgm_map_set(reader->by_name, reader->columns[i], (void *)place));
    }
    return RGM_OK;
}

rgm_status rgm_csv_reader_open(rgm_csv_reader **out, const char *path,
                               const rgm_csv_options *options)
{
    rgm_status status = RGM_OK;
    rgm_csv_reader *reader = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(reader, 1));
    reader->options = options != NULL ? *options : (rgm_csv_options)RGM_CSV_OPTIONS_INIT;
    reader->width = -1;
    reader->next_line = 1;
    if (reader->options.delimiter == '"' || reader->options.delimiter == '\n' ||
        reader->options.delimiter == '\r' || reader->options.max_row_bytes < 1)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "csv: delimiter 0x%02x, max_row_bytes %lld",
                        (unsigned char)reader->options.delimiter,
                        (long long)reader->options.max_row_bytes));
    RGM_GO(rgm_path_refuse_pipe(path)); /* a table is read more than once */
    RGM_GO(rgmi_input_open(&reader->input, path));
    reader->input->is_kept = true;
    RGM_GO(rgmi_input_detect_gzip(reader->input));
    RGM_GO(rgmi_input_fill(reader->input, 3));
    if (reader->input->available >= 3 && memcmp(reader->input->data, "\xef\xbb\xbf", 3) == 0)
        rgmi_input_consume(reader->input, 3); /* a byte order mark */
    if (reader->options.header)
        RGM_GO(read_header(reader));
    *out = reader;
    reader = NULL;
done:
    rgm_csv_reader_close(reader);
    return status;
}

void rgm_csv_reader_close(rgm_csv_reader *reader)
{
    if (reader == NULL)
        return;
    for (int64_t i = 0; i < reader->column_count; i++)
        rgm_free(reader->columns[i]);
    rgm_free(reader->columns);
    rgm_map_release(reader->by_name);
    rgmi_input_close(reader->input);
    rgm_free(reader->fields);
    rgm_free(reader->starts);
    rgm_text_clear(&reader->unquoted);
    rgm_free(reader);
}

rgm_status rgm_csv_reader_next(const rgm_str **fields, int64_t *count, rgm_csv_reader *reader)
{
    *fields = NULL;
    *count = 0;
    reader->field_count = 0;
    RGM_TRY(rgmi_csv_row(reader));
    RGM_TRY(rgmi_csv_split(reader));
    *fields = reader->fields;
    *count = reader->field_count;
    return RGM_OK;
}

int64_t rgm_csv_reader_column_count(const rgm_csv_reader *reader)
{
    return reader->column_count;
}

const char *rgm_csv_reader_column(const rgm_csv_reader *reader, int64_t i)
{
    return i >= 0 && i < reader->column_count ? reader->columns[i] : NULL;
}

int64_t rgm_csv_reader_line(const rgm_csv_reader *reader)
{
    return reader->line;
}

/* A number that is written as such and has no place in its dtype; "inf" is meant as it stands. */
static bool is_beyond(rgm_dtype dtype, double number, const char *text)
{
    if (*text == '-' || *text == '+')
        text++;
    return (*text == '.' || (unsigned)(*text - '0') <= 9) &&
           isinf(dtype == RGM_F32 ? (float)number : number);
}

rgm_status rgmi_csv_number(void *out, const rgm_csv_reader *reader, rgm_dtype dtype,
                           const char *name, const char *text, int64_t size, int64_t at)
{
    bool is_float = dtype == RGM_F32 || dtype == RGM_F64;
    const char *what = is_float            ? "a number"
                       : dtype == RGM_BOOL ? "0, 1, true or false"
                                           : "an integer";
    int64_t integer = 0;
    double number = 0;
    bool good;

    for (; size > 0 && (*text == ' ' || *text == '\t'); text++, size--)
        at++;
    while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t'))
        size--;
    if (size == 0)
        return rgmi_csv_fail(reader, at, "an empty field where %s was expected", what);
    if (dtype == RGM_BOOL && ((size == 4 && memcmp(text, "true", 4) == 0) ||
                              (size == 5 && memcmp(text, "false", 5) == 0))) {
        *(uint8_t *)out = size == 4;
        return RGM_OK;
    }
    good = is_float ? rgmi_parse_f64(&number, text, size) : rgmi_parse_i64(&integer, text, size);
    if (good && dtype == RGM_BOOL && name != NULL && integer != 0 && integer != 1)
        return rgmi_csv_fail(reader, at, "'%s' is %lld, a bool is %s", name, (long long)integer,
                             what);
    if (good && dtype == RGM_BOOL)
        good = integer == 0 || integer == 1;
    if (good && dtype == RGM_I32 && integer != (int32_t)integer && name != NULL)
        return rgmi_csv_fail(reader, at, "'%s' is %lld, which is no 32-bit integer", name,
                             (long long)integer);
    if (good && dtype == RGM_I32 && integer != (int32_t)integer)
        return rgmi_csv_fail(reader, at, "%.*s does not fit in 32 bits", (int)size, text);
    if (!good)
        return rgmi_csv_fail(reader, at, "'%.*s' is not %s", (int)(size < 64 ? size : 64), text,
                             what);
    if (is_float && is_beyond(dtype, number, text))
        return rgmi_csv_fail(reader, at, "%.*s does not fit in %s", (int)(size < 64 ? size : 64),
                             text, rgm_dtype_name(dtype));
    if (is_float)
        rgm_dtype_put(out, dtype, number);
    else
        rgm_dtype_put_int(out, dtype, integer);
    return RGM_OK;
}

static rgm_status field_number(void *out, const rgm_csv_reader *reader, rgm_dtype dtype,
                               int64_t column)
{
    if (column < 0 || column >= reader->field_count)
        return RGM_FAIL(RGM_ERR_ARG, "%s:%lld: there is no field %lld, the row has %lld",
                        reader->input->path, (long long)reader->line, (long long)column,
                        (long long)reader->field_count);
    return rgmi_csv_number(out, reader, dtype, NULL, reader->fields[column].data,
                           reader->fields[column].size, reader->starts[column]);
}

rgm_status rgm_csv_reader_i64(int64_t *out, const rgm_csv_reader *reader, int64_t column)
{
    *out = 0;
    return field_number(out, reader, RGM_I64, column);
}

rgm_status rgm_csv_reader_f64(double *out, const rgm_csv_reader *reader, int64_t column)
{
    *out = 0;
    return field_number(out, reader, RGM_F64, column);
}
