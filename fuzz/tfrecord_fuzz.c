/*
 * TFRecord bytes from anywhere: read to the end with and without a budget for bad records. Sound
 * records written again must read back as the same ones.
 */
#include <regimen/data.h>

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

/** Read all; how many records, and a hash of them in their order. */
static int64_t read_all(uint64_t *hash, const char *path, int64_t budget)
{
    rgm_tfrecord_options options = RGM_TFRECORD_OPTIONS_INIT;
    rgm_tfrecord_reader *reader;
    int64_t count = 0, offset = -1;
    rgm_status status = RGM_OK;

    options.max_bad_records = budget;
    *hash = 0;
    if (rgm_tfrecord_reader_open(&reader, path, &options) != RGM_OK)
        __builtin_trap();
    while (status != RGM_END) {
        const uint8_t *record;
        int64_t length;
        status = rgm_tfrecord_reader_next(&record, &length, reader);
        if (status < 0 && (budget > 0 || rgm_tfrecord_reader_offset(reader) == offset))
            break; /* it does not get on */
        offset = rgm_tfrecord_reader_offset(reader);
        if (status == RGM_OK) {
            *hash = *hash * 31 + rgm_hash64(record, (size_t)length);
            count++;
        }
    }
    rgm_tfrecord_reader_close(reader);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    uint64_t hash;
    int64_t strict, lenient;
    int fd = memfd_create("tfrecord", 0);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        __builtin_trap();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    strict = read_all(&hash, path, 0);
    lenient = read_all(&hash, path, INT64_MAX);
    if (lenient < strict)
        __builtin_trap();
    close(fd);
    return 0;
}
