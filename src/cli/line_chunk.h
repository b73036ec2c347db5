/*
 * Lines of standard input, some at a time, for verbs that answer line by line.
 */
#ifndef LINE_CHUNK_H
#define LINE_CHUNK_H

#include <regimen/data_lines.h>

/** Lines read before any is answered: enough to sort by length. */
enum { LINES_OF_CHUNK = 1024 };

typedef struct line_chunk {
    rgm_text text;
    int64_t begin[LINES_OF_CHUNK + 1];
    rgm_str items[LINES_OF_CHUNK];
    int64_t count, before; /* before: lines of earlier chunks */
} line_chunk;

/**
 * As many lines as are there, but one at least: who wrote it may wait for its answer. Those before
 * the end, or before a bad one, are there with its status too.
 */
rgm_status line_chunk_read(line_chunk *chunk, rgm_line_reader *reader);
void line_chunk_clear(line_chunk *chunk);

#endif
