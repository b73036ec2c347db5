/*
 * CSV bytes from anywhere: rows, whole matrices and columns. A matrix that loads must have as many
 * rows as the reader counts.
 */
#include <regimen/data.h>

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

/** Rows, or -1 after an error; fields are read as numbers too. */
static int64_t count_rows(const char *path, const rgm_csv_options *options)
{
    rgm_csv_reader *reader;
    const rgm_str *fields;
    int64_t count, rows = 0;
    volatile char sum = 0;
    rgm_status status;

    if (rgm_csv_reader_open(&reader, path, options) != RGM_OK)
        return -1;
    while ((status = rgm_csv_reader_next(&fields, &count, reader)) == RGM_OK) {
        for (int64_t i = 0; i < count; i++) {
            int64_t integer;
            double number;
            for (int64_t c = 0; c < fields[i].size; c++)
                sum = (char)(sum + fields[i].data[c]);
            (void)rgm_csv_reader_i64(&integer, reader, i);
            (void)rgm_csv_reader_f64(&number, reader, i);
        }
        rows++;
    }
    rgm_csv_reader_close(reader);
    return status == RGM_END ? rows : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_column columns[] = {{.name = "id", .dtype = RGM_I64},
                                {.number = 1, .dtype = RGM_STRING}};
    rgm_tensor *matrix, *out[2];
    char path[64];
    int64_t rows;
    int fd = memfd_create("csv", 0);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        __builtin_trap();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rows = count_rows(path, NULL);
    if (rgm_csv_load(&matrix, path, RGM_F64, NULL) == RGM_OK && rgm_tensor_dim(matrix, 0) != rows)
        __builtin_trap();
    rgm_tensor_release(matrix);
    options.header = true;
    options.ragged = true;
    (void)count_rows(path, &options);
    (void)rgm_csv_load_columns(out, path, columns, 2, &options);
    rgm_tensor_release(out[0]);
    rgm_tensor_release(out[1]);
    close(fd);
    return 0;
}
