/*
 * The database of a master: one connection, one writer. Statements are prepared once, found again
 * by their text's address; what fails is told with the file's path. SQLite, WAL, synchronous =
 * NORMAL: a commit survives the death of any process; a power cut may take the newest commits back,
 * as a whole and in order.
 */
#ifndef RGM_MASTER_DATABASE_H
#define RGM_MASTER_DATABASE_H

#include "columns.h"

typedef struct rgmi_database rgmi_database;
/** A row that a query stands at, every value of it checked (columns.h). */
typedef struct rgmi_rows {
    sqlite3_stmt *statement;
    const rgmi_column_rule **columns; /* [sqlite3_column_count()] */
} rgmi_rows;

/**
 * Open, make, or bring to this version. Errors: RGM_ERR_VERSION (of a later one), RGM_ERR_FORMAT
 * (no database, or damaged), RGM_ERR_BUSY, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_database_open(rgmi_database **out, const char *path);
void rgmi_database_close(rgmi_database *database);

/** What is written between begin and commit is kept whole or not at all. */
rgm_status rgmi_database_begin(rgmi_database *database);
rgm_status rgmi_database_commit(rgmi_database *database);
void rgmi_database_rollback(rgmi_database *database); /* nothing begun: nothing done */

/**
 * Run a statement that gives no rows. `format` has a letter for each value: i int64_t, d double
 * (NaN becomes NULL), t text or NULL.
 * Errors: RGM_ERR_IO (disk full, read-only, ...), RGM_ERR_FORMAT (damaged), RGM_ERR_NOMEM.
 */
rgm_status rgmi_database_run(rgmi_database *database, const char *sql, const char *format, ...);
/** The same for one that gives rows: *rows stands before the first. No other query of the same
 * text, and no commit, until it has ended or was left. */
rgm_status rgmi_database_query(rgmi_rows **rows, rgmi_database *database, const char *sql,
                               const char *format, ...);
/** To the next row; RGM_END: there is none, and the query has ended. RGM_ERR_FORMAT: it has what
 * may not stand in its column, and the query has ended too. */
rgm_status rgmi_rows_next(rgmi_database *database, rgmi_rows *rows);
/** End a query before its end. NULL is fine. */
void rgmi_rows_leave(rgmi_rows *rows);
int64_t rgmi_rows_int(rgmi_rows *rows, int column);
double rgmi_rows_number(rgmi_rows *rows, int column);    /* NaN: NULL */
const char *rgmi_rows_text(rgmi_rows *rows, int column); /* until the next row; NULL: none */
/** The first column of the only row, `otherwise` where there is no row or a NULL. */
rgm_status rgmi_database_int(int64_t *out, rgmi_database *database, int64_t otherwise,
                             const char *sql, const char *format, ...);
int64_t rgmi_database_last_id(rgmi_database *database);

#endif
