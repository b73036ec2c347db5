#include "line_chunk.h"

rgm_status line_chunk_read(line_chunk *c, rgm_line_reader *reader)
{
    rgm_status status = RGM_OK;
    rgm_str line;

    c->before += c->count;
    c->count = c->text.size = 0;
    while (c->count < LINES_OF_CHUNK && (c->count == 0 || rgm_line_reader_ready(reader)) &&
           (status = rgm_line_reader_next(&line, reader)) == RGM_OK) {
        c->begin[c->count] = c->text.size;
        if ((status = rgm_text_add(&c->text, line.data, line.size)) != RGM_OK)
            break;
        c->count++;
    }
    c->begin[c->count] = c->text.size;
    for (int64_t i = 0; i < c->count; i++)
        c->items[i] =
            (rgm_str){.data = c->text.data + c->begin[i], .size = c->begin[i + 1] - c->begin[i]};
    return status;
}

void line_chunk_clear(line_chunk *c)
{
    rgm_text_clear(&c->text);
}
