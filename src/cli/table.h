/* Texts and numbers in rows and columns, for people (aligned) and for programs (CSV). */
#ifndef RGM_CLI_TABLE_H
#define RGM_CLI_TABLE_H

#include "cli.h"

typedef enum cell_kind { CELL_EMPTY, CELL_TEXT, CELL_NUMBER, CELL_COUNT, CELL_DONE } cell_kind;

typedef struct table_cell {
    cell_kind kind;
    char *text;
    double number;
    int64_t count, of;
} table_cell;

/** Zero-initialised it is empty. Every row has a cell for each column of the head. */
typedef struct table {
    char **head; /* [columns] */
    int64_t columns;
    table_cell *cells; /* [rows, columns] */
    int64_t rows, capacity;
} table;

/** A column behind the others; before the first row. The text is copied. */
rgm_status table_add_column(table *t, const char *head);
void table_clear(table *t);
/** One more row of empty cells; the calls below are about the last row. */
rgm_status table_add_row(table *t);
/** NULL leaves the cell empty. What could steer a terminal is shown when it is printed. */
rgm_status table_set(table *t, int64_t column, const char *text);
/** A number that is not finite leaves it empty. */
void table_set_number(table *t, int64_t column, double number);
/** A count below 0 leaves it empty. */
void table_set_count(table *t, int64_t column, int64_t count);
/** "22/40", of which `of` may be unknown: < 0. */
void table_set_done(table *t, int64_t column, int64_t done, int64_t of);
/** 2026-11-21T23:08:44Z, for people without the seconds; below 0 leaves it empty. */
rgm_status table_set_time(table *t, int64_t column, int64_t seconds);

/** Aligned columns, numbers to the right, "-" in empty cells, cut at `width` characters unless it
 * is 0. */
rgm_status table_print(rgm_text *out, const table *t, int64_t width);
/** Comma-separated values (RFC 4180 with LF): texts and numbers exactly, empty cells empty. */
rgm_status table_print_csv(rgm_text *out, const table *t);
/** Characters of a line: COLUMNS, or those of the terminal; 0 where lines may be long. */
int64_t line_width(void);

#endif
