/* Bytes as lines, and as tab-separated pairs: what is read is UTF-8 without line ends and zeros. */
#include <regimen/text.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

static void check(rgm_str line)
{
    if (line.size > 0 && (memchr(line.data, '\n', (size_t)line.size) != NULL ||
                          memchr(line.data, 0, (size_t)line.size) != NULL ||
                          rgm_utf8_check(line.data, line.size) >= 0))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_line_options options = {.max_line_bytes = 300};
    rgm_line_reader *reader;
    rgm_corpus *corpus;
    rgm_str line;
    char path[64];
    int64_t lines = 0;
    int fd = memfd_create("lines", 0);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        __builtin_trap();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (rgm_line_reader_open(&reader, path, &options) == RGM_OK) {
        rgm_status status;

        while ((status = rgm_line_reader_next(&line, reader)) == RGM_OK) {
            check(line);
            lines++;
        }
        if (status == RGM_END && rgm_line_reader_line(reader) != lines)
            __builtin_trap();
        rgm_line_reader_close(reader);
        if (rgm_corpus_load(&corpus, path, path, &options) == RGM_OK &&
            (status != RGM_END || rgm_corpus_count(corpus) != lines))
            __builtin_trap();
        rgm_corpus_release(corpus);
    }
    if (rgm_corpus_load_tsv(&corpus, path, &options) == RGM_OK)
        for (int64_t i = 0; i < rgm_corpus_count(corpus); i++) {
            check(rgm_corpus_source(corpus, i));
            check(rgm_corpus_target(corpus, i));
        }
    rgm_corpus_release(corpus);
    close(fd);
    return 0;
}
