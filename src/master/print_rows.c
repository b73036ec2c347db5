/*
 * Rows as JSON: what a column is called says how it is told.
 */
#include "requests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

rgm_status rgmi_print_time(rgm_text *out, double time)
{
    struct tm parts;
    time_t seconds = (time_t)floor(time);
    char text[80];

    if (isnan(time) || gmtime_r(&seconds, &parts) == NULL)
        return rgm_text_add(out, "null", 4);
    int size = snprintf(text, sizeof text, "\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\"",
                        parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                        parts.tm_min, parts.tm_sec, (int)((time - floor(time)) * 1000));
    return rgm_text_add(out, text, size);
}

static rgm_status print_int(rgm_text *out, int64_t value)
{
    char text[32];

    return rgm_text_add(out, text, snprintf(text, sizeof text, "%lld", (long long)value));
}

static rgm_status print_value(rgm_text *out, rgmi_rows *rows, int column, const char *kind)
{
    switch (sqlite3_column_type(rows->statement, column)) {
    case SQLITE_NULL:
        return rgm_text_add(out, "null", 4);
    case SQLITE_INTEGER:
        if (strcmp(kind, ":bool") == 0)
            return rgm_text_printf(out, "%s", rgmi_rows_int(rows, column) != 0 ? "true" : "false");
        if (strcmp(kind, ":time") != 0)
            return print_int(out, rgmi_rows_int(rows, column));
        return rgmi_print_time(out, rgmi_rows_number(rows, column));
    case SQLITE_FLOAT:
        if (strcmp(kind, ":time") == 0)
            return rgmi_print_time(out, rgmi_rows_number(rows, column));
        return rgm_json_print_number(out, rgmi_rows_number(rows, column));
    default:
        if (rgmi_rows_text(rows, column) == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory reading a row");
        if (strcmp(kind, ":json") == 0)
            return rgm_text_add(out, rgmi_rows_text(rows, column),
                                sqlite3_column_bytes(rows->statement, column));
        return rgm_json_print_text(out, rgmi_rows_text(rows, column));
    }
}

rgm_status rgmi_print_row(rgm_text *out, rgmi_rows *rows)
{
    int count = sqlite3_column_count(rows->statement);

    for (int i = 0; i < count; i++) {
        const char *name = sqlite3_column_name(rows->statement, i);
        const char *kind = name != NULL ? strchr(name, ':') : NULL;

        if (name == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory reading a row");
        RGM_TRY(rgm_text_add(out, i == 0 ? "{\"" : ", \"", i == 0 ? 2 : 3));
        RGM_TRY(rgm_text_add(out, name, kind != NULL ? kind - name : (int64_t)strlen(name)));
        RGM_TRY(rgm_text_add(out, "\": ", 3));
        RGM_TRY(print_value(out, rows, i, kind != NULL ? kind : ""));
    }
    return rgm_text_add(out, "}", 1);
}

/* print: of each row, with `call`; NULL: rgmi_print_row(). */
static rgm_status print_list(rgm_text *out, rgm_master *master, rgmi_rows *rows, int64_t *count,
                             rgmi_row_printer *print, rgmi_call *call)
{
    rgm_status status = RGM_OK;
    int64_t printed = 0;

    RGM_GO(rgm_text_add(out, "[", 1));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        if (printed++ > 0)
            RGM_GO(rgm_text_add(out, ", ", 2));
        RGM_GO(print != NULL ? print(call, rows) : rgmi_print_row(out, rows));
    }
    if (status == RGM_END)
        status = rgm_text_add(out, "]", 1);
    if (count != NULL)
        *count = printed;
done:
    rgmi_rows_leave(rows);
    return status;
}

rgm_status rgmi_print_rows(rgm_text *out, rgm_master *master, rgmi_rows *rows, int64_t *count)
{
    return print_list(out, master, rows, count, NULL, NULL);
}

static rgm_status print_page(rgmi_call *call, const char *key, rgmi_rows *rows, int64_t total,
                             rgmi_row_printer *print)
{
    int64_t limit, offset;

    rgm_status status = rgm_text_printf(call->out, "{\"%s\": ", key);
    if (status != RGM_OK) {
        rgmi_rows_leave(rows);
        return status;
    }
    RGM_TRY(print_list(call->out, call->master, rows, NULL, print, call));
    RGM_TRY(rgmi_call_page(&limit, &offset, call));
    return rgm_text_printf(call->out, ", \"offset\": %lld, \"limit\": %lld, \"total\": %lld}",
                           (long long)offset, (long long)limit, (long long)total);
}

rgm_status rgmi_print_page(rgmi_call *call, const char *key, rgmi_rows *rows, int64_t total)
{
    return print_page(call, key, rows, total, NULL);
}

rgm_status rgmi_answer_list(rgmi_call *call, const rgmi_paged_list *l)
{
    rgmi_database *database = call->master->database;
    int64_t limit, offset, total;
    rgmi_rows *rows;

    RGM_TRY(rgmi_call_page(&limit, &offset, call));
    RGM_TRY(l->of_id ? rgmi_database_int(&total, database, 0, l->count, "i", call->id)
                     : rgmi_database_int(&total, database, 0, l->count, ""));
    RGM_TRY(l->of_id ? rgmi_database_query(&rows, database, l->rows, "iii", call->id, limit, offset)
                     : rgmi_database_query(&rows, database, l->rows, "ii", limit, offset));
    return print_page(call, l->key, rows, total, l->print);
}

rgm_status rgmi_print_one(rgmi_call *call, rgmi_rows *rows, const char *what)
{
    rgm_status status = rgmi_rows_next(call->master->database, rows);

    if (status == RGM_END)
        return call->name != NULL
                   ? RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no %s %s", what, call->name)
                   : RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no %s %lld", what, (long long)call->id);
    RGM_TRY(status);
    status = rgmi_print_row(call->out, rows);
    rgmi_rows_leave(rows);
    return status;
}

rgm_status rgmi_experiment_exists(int64_t *smaller, const rgmi_call *call)
{
    RGM_TRY(rgmi_database_int(smaller, call->master->database, -1,
                              "SELECT smaller_is_better FROM experiments WHERE id = ?", "i",
                              call->id));
    return *smaller >= 0
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no experiment %lld", (long long)call->id);
}
