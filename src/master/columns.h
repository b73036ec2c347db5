/*
 * What may stand in a column of the database. The file may be another program's, or damaged: every
 * row is looked at where it enters, in rgmi_rows_next(), by the names of its columns.
 */
#ifndef RGM_MASTER_COLUMNS_H
#define RGM_MASTER_COLUMNS_H

#include <regimen/base.h>
#include <sqlite3.h>

#define RGMI_MOST_COUNT (INT64_C(1) << 53) /* of counts and ids: exact in JSON as well */

/** What values of a column may be. Static. */
typedef struct rgmi_column_rule rgmi_column_rule;

/** The column of a statement by its name, "metrics" of "metrics:json" too; NULL: nobody said what
 * may stand there. */
const rgmi_column_rule *rgmi_column_find(const char *name);

/** Whether what a statement stands at may be in that column; *out says what should,
 * rgm_text_clear() it. Errors: RGM_ERR_NOMEM, RGM_ERR_FORMAT (it may not). */
rgm_status rgmi_column_check(rgm_text *out, const rgmi_column_rule *column, sqlite3_stmt *statement,
                             int number);

/** A name below a folder that cannot lead out of it: "ckpt/step-00000010". At most 255 bytes; no
 * part of it is empty or begins with a dot. NULL is none. */
bool rgmi_is_inner_path(const char *path);

#endif
