/* The CSV reader's inside, for the loaders in csv_load.c. */
#ifndef RGMI_CSV_INTERNAL_H
#define RGMI_CSV_INTERNAL_H

#include "data_internal.h"

struct rgm_csv_reader {
    rgmi_input *input;
    rgm_csv_options options;
    int64_t next_line; /* of the row to come                                     */
    int64_t line;      /* of the row that was read                               */
    const char *row;   /* its bytes, without the line end; until the next one    */
    int64_t row_size;
    bool quoted;   /* a quote is somewhere in it                             */
    int64_t width; /* fields of a row, -1 before the first                   */
    rgm_str *fields;
    int64_t *starts; /* where each field starts in the row                     */
    int64_t field_count;
    int64_t field_capacity, start_capacity;
    rgm_text unquoted; /* fields with doubled quotes                             */
    char **columns;
    int64_t column_count;
    rgm_map *by_name; /* a column's place + 1, of a name that stands twice below 0; NULL without a
                         header */
};

/** Find the next row that is not empty. RGM_END. */
rgm_status rgmi_csv_row(rgm_csv_reader *reader);
/** Split it into fields. */
rgm_status rgmi_csv_split(rgm_csv_reader *reader);
/** "FILE:line:column: what" for byte `at` of the row. */
rgm_status rgmi_csv_fail(const rgm_csv_reader *reader, int64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** The row has `count` fields: is that right? The first row decides. */
rgm_status rgmi_csv_check_width(rgm_csv_reader *reader, int64_t count);
/** Write a cell as a number; `at` is where it starts in the row. `name`: what is read, or NULL. */
rgm_status rgmi_csv_number(void *out, const rgm_csv_reader *reader, rgm_dtype dtype,
                           const char *name, const char *text, int64_t size, int64_t at);

#endif
