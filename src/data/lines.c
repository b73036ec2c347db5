/*
 * Lines of a text file. Whatever could shift two aligned files is refused or has one meaning:
 * only LF ends a line (U+2028, a lone CR and their like are characters), an empty line is a line.
 */
#include "data_internal.h"

struct rgm_line_reader {
    rgmi_input *input;
    rgm_line_options options;
    int64_t line;
};

rgm_status rgm_line_reader_open(rgm_line_reader **out, const char *path,
                                const rgm_line_options *options)
{
    static const rgm_line_options usual = RGM_LINE_OPTIONS_INIT;
    rgm_status status = RGM_OK;
    rgm_line_reader *reader = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(reader, 1));
    reader->options = options != NULL ? *options : usual;
    if (reader->options.max_line_bytes < 1)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "max_line_bytes is %lld; 1 is the least",
                        (long long)reader->options.max_line_bytes));
    RGM_GO(rgmi_input_open(&reader->input, path));
    reader->input->is_kept = true;
    RGM_GO(rgmi_input_detect_gzip(reader->input));
    RGM_GO(rgmi_input_fill(reader->input, 1));
    if (reader->input->available > 0 && reader->input->data[0] == 0xef)
        RGM_GO(rgmi_input_fill(reader->input, 3));
    if (reader->input->available >= 3 && memcmp(reader->input->data, "\xef\xbb\xbf", 3) == 0)
        rgmi_input_consume(reader->input, 3);
    *out = reader;
    reader = NULL;
done:
    rgm_line_reader_close(reader);
    return status;
}

void rgm_line_reader_close(rgm_line_reader *reader)
{
    if (reader == NULL)
        return;
    rgmi_input_close(reader->input);
    rgm_free(reader);
}

bool rgm_line_reader_ready(const rgm_line_reader *reader)
{
    const rgmi_input *input = reader->input;

    return memchr(input->data, '\n', (size_t)input->available) != NULL || rgmi_input_ready(input);
}

int64_t rgm_line_reader_line(const rgm_line_reader *reader)
{
    return reader->line;
}

static rgm_status line_fail(const rgm_line_reader *reader, int64_t byte, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s:%lld:%lld: %s", reader->input->path,
                    (long long)reader->line, (long long)byte + 1, what);
}

/** Bytes up to the next LF or the end of the file, which is then *last; more than allowed fail. */
static rgm_status find_end(int64_t *size, bool *last, rgm_line_reader *reader)
{
    rgmi_input *input = reader->input;
    int64_t scanned = 0;

    *last = false;
    for (;;) {
        const uint8_t *from = input->data + scanned;
        const uint8_t *end = memchr(from, '\n', (size_t)(input->available - scanned));
        int64_t before = input->available;

        *size = end != NULL ? end - input->data : before;
        if (*size > reader->options.max_line_bytes)
            return RGM_FAIL(RGM_ERR_FORMAT, "%s:%lld:1: the line has more than %lld bytes",
                            input->path, (long long)reader->line,
                            (long long)reader->options.max_line_bytes);
        if (end != NULL)
            return RGM_OK;
        scanned = before;
        RGM_TRY(rgmi_input_fill(input, before + 1));
        if (input->available == before) {
            *last = true;
            return RGM_OK;
        }
    }
}

rgm_status rgm_line_reader_next(rgm_str *line, rgm_line_reader *reader)
{
    const uint8_t *zero;
    int64_t size, bad;
    bool last;

    *line = (rgm_str){NULL, 0};
    reader->line++;
    RGM_TRY(find_end(&size, &last, reader));
    if (last && size == 0) {
        reader->line--;
        return RGM_END;
    }
    line->data = (const char *)reader->input->data;
    rgmi_input_consume(reader->input, last ? size : size + 1);
    if (!last && size > 0 && line->data[size - 1] == '\r')
        size--;
    zero = memchr(line->data, 0, (size_t)size);
    if (zero != NULL)
        return line_fail(reader, zero - (const uint8_t *)line->data, "a zero byte in text");
    bad = rgm_utf8_check(line->data, size);
    if (bad >= 0)
        return line_fail(reader, bad, "not UTF-8");
    line->size = size;
    return RGM_OK;
}
