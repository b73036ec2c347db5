/*
 * data: files of lines, plain or gzip: CSV, and lines of text.
 */
#ifndef REGIMEN_DATA_LINES_H
#define REGIMEN_DATA_LINES_H

#include <regimen/base.h>
#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- CSV ----------------------------------------------------------------------------------- */

/** CSV by RFC 4180: quotes, doubled quotes, line ends inside quotes; LF or CRLF; plain or gzip. */
typedef struct rgm_csv_options {
    char delimiter;
    bool header;           /* the first line names the columns                        */
    bool ragged;           /* rows may differ in their number of fields               */
    bool empty_is_missing; /* rgm_csv_load(): an empty field is rgm_dtype_missing()   */
    bool keep_empty_lines; /* an empty line is a row of one empty field, not skipped  */
    int64_t max_row_bytes; /* a longer row is an error                                */
} rgm_csv_options;
#define RGM_CSV_OPTIONS_INIT                                                                       \
    {                                                                                              \
        .delimiter = ',', .header = false, .ragged = false, .max_row_bytes = INT64_C(1) << 26      \
    }

/** Reads rows one by one. Not shared between threads. */
typedef struct rgm_csv_reader rgm_csv_reader;
/**
 * options may be NULL. The header, if there is one, is read at once.
 * Errors: RGM_ERR_FORMAT, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_csv_reader_open(rgm_csv_reader **out, const char *path,
                               const rgm_csv_options *options);
void rgm_csv_reader_close(rgm_csv_reader *reader);
/**
 * The fields of the next row, borrowed until the next call; empty lines are skipped unless they are
 * kept.
 *
 * Errors: RGM_END; RGM_ERR_FORMAT "FILE:line:column: what" (column = byte in the line, from 1).
 */
rgm_status rgm_csv_reader_next(const rgm_str **fields, int64_t *count, rgm_csv_reader *reader);
/** The names of the header's columns; the count is 0 without a header. */
int64_t rgm_csv_reader_column_count(const rgm_csv_reader *reader);
const char *rgm_csv_reader_column(const rgm_csv_reader *reader, int64_t i);
/** Line of the last row, from 1. */
int64_t rgm_csv_reader_line(const rgm_csv_reader *reader);
/** Field `column` of the last row as a number. Errors: RGM_ERR_FORMAT "FILE:line:column: what". */
rgm_status rgm_csv_reader_i64(int64_t *out, const rgm_csv_reader *reader, int64_t column);
rgm_status rgm_csv_reader_f64(double *out, const rgm_csv_reader *reader, int64_t column);
/**
 * The number of the column with that name in the header, or of "#name" when no column has the name
 * (TF-GNN's tables have "#id", "#source", "#target", "#weight"). RGM_ERR_NOT_FOUND names the
 * nearest column; RGM_ERR_FORMAT: two have the name.
 */
rgm_status rgm_csv_reader_find(int64_t *out, const rgm_csv_reader *reader, const char *name);

/**
 * Load a whole file of numbers.
 *
 * @param out    [out, owned] [rows, columns] of dtype RGM_F32, RGM_F64, RGM_I32 or RGM_I64; [0, 0]
 *               for a file without rows
 *
 * Errors: RGM_ERR_FORMAT "FILE:line:column: what" (not a number, out of range, wrong field count).
 */
rgm_status rgm_csv_load(rgm_tensor **out, const char *path, rgm_dtype dtype,
                        const rgm_csv_options *options);

/** A column to load: by its name in the header, or by its number when name is NULL. */
typedef struct rgm_csv_column {
    const char *name;
    int64_t number;  /* from 0, where name is NULL            */
    rgm_dtype dtype; /* RGM_F32, F64, I32, I64, BOOL or STRING */
    bool list;       /* the `width` columns name.0, name.1, ... as one [rows, width] */
    int64_t width;
    bool empty_is_missing; /* an empty field is rgm_dtype_missing(), else an error       */
} rgm_csv_column;
/**
 * Load some columns of a file.
 *
 * @param out   [out, owned] [count] tensors, each [rows] or [rows, width]; all NULL on error
 *
 * Errors: as rgm_csv_load(), and RGM_ERR_NOT_FOUND, which names the nearest column.
 */
rgm_status rgm_csv_load_columns(rgm_tensor **out, const char *path, const rgm_csv_column *columns,
                                int64_t count, const rgm_csv_options *options);

/** Columns that grow row by row, from one file or several, for a caller that looks at each row. */
typedef struct rgm_csv_columns rgm_csv_columns;
/**
 * @param columns [in] [count] copied; their names are borrowed.
 * Errors: RGM_ERR_ARG, RGM_ERR_DTYPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_csv_columns_create(rgm_csv_columns **out, const rgm_csv_column *columns,
                                  int64_t count);
void rgm_csv_columns_release(rgm_csv_columns *columns);
/** Find the columns in a file before reading it. Errors: RGM_ERR_NOT_FOUND, which names the nearest
 * column. */
rgm_status rgm_csv_columns_find(rgm_csv_columns *columns, const rgm_csv_reader *reader);
/** Append the reader's last row. RGM_ERR_FORMAT "FILE:line:column: what". */
rgm_status rgm_csv_columns_add(rgm_csv_columns *columns, const rgm_csv_reader *reader);
/** The bytes of the rows that are not taken yet: the numbers, and each text with its size and its
 * place. */
int64_t rgm_csv_columns_bytes(const rgm_csv_columns *columns);
/**
 * Take column i out: the rows added since it was last taken, as a tensor [rows] of the form that
 * rgm_csv_load_columns() gives.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_csv_columns_take(rgm_tensor **out, rgm_csv_columns *columns, int64_t i);

/* ---- lines of text -------------------------------------------------------------------------- */

typedef struct rgm_line_options {
    int64_t max_line_bytes; /* a longer line is an error, never held whole in memory */
} rgm_line_options;
#define RGM_LINE_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .max_line_bytes = INT64_C(1) << 20                                                         \
    }

/** Reads the lines of a file, plain or gzip (its first bytes tell which). Not shared between
 * threads. */
typedef struct rgm_line_reader rgm_line_reader;
/** options may be NULL. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM; *out is then NULL. */
rgm_status rgm_line_reader_open(rgm_line_reader **out, const char *path,
                                const rgm_line_options *options);
void rgm_line_reader_close(rgm_line_reader *reader);
/**
 * The next line without its end, borrowed until the next call. Only LF or CRLF ends a line; other
 * Unicode separators are characters of the line. An empty line is a line. A byte order mark before
 * the first line is dropped.
 *
 * Errors: RGM_END; RGM_ERR_FORMAT "FILE:line:byte: what" (not UTF-8, a zero byte, too long).
 */
rgm_status rgm_line_reader_next(rgm_str *line, rgm_line_reader *reader);
/**
 * Whether there is more to read without waiting, even if only part of a line; false: the writer of
 * the pipe or the terminal must write first.
 */
bool rgm_line_reader_ready(const rgm_line_reader *reader);
/** Number of the last line, from 1. */
int64_t rgm_line_reader_line(const rgm_line_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
