/* What an import did: rows, notes, a table for people and JSON for programs. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model_import_internal.h"

rgm_status rgmi_import_note(rgmi_import_work *work, const char *format, ...)
{
    char line[512];
    va_list values;

    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    return rgm_text_printf(&work->report->notes, "%s\n", line);
}

static void row_clear(rgm_model_import_row *row)
{
    rgm_free(row->from);
    rgm_free(row->shape);
    rgm_free(row->how);
    rgm_free(row->to);
    *row = (rgm_model_import_row){0};
}

rgm_status rgmi_import_row_add(rgmi_import_work *work, const char *from, const rgm_tensor *tensor,
                               const char *how, const char *to)
{
    rgm_model_import_report *report = work->report;
    rgm_model_import_row *row;
    char shape[96];

    RGM_TRY(RGM_RESERVE(report->rows, report->capacity, report->count + 1));
    row = &report->rows[report->count++]; /* cleared with the report, also when a text fails */
    *row = (rgm_model_import_row){0};
    if (from != NULL)
        RGM_TRY(rgm_strdup(&row->from, from));
    if (tensor != NULL) {
        rgm_tensor_describe(tensor, shape, sizeof shape);
        RGM_TRY(rgm_strdup(&row->shape, shape));
    }
    if (to != NULL)
        RGM_TRY(rgm_strdup(&row->to, to));
    return rgm_strdup(&row->how, how);
}

void rgm_model_import_report_clear(rgm_model_import_report *report)
{
    for (int64_t i = 0; i < report->count; i++)
        row_clear(&report->rows[i]);
    rgm_free(report->rows);
    rgm_text_clear(&report->notes);
    *report = (rgm_model_import_report){0};
}

/* ---- printing -------------------------------------------------------------------------------- */

static const char *or_dash(const char *text)
{
    return text != NULL ? text : "-";
}

static int widest(int width, const char *text)
{
    int size = (int)strlen(or_dash(text));

    return size > width ? size : width;
}

rgm_status rgm_model_import_report_print(rgm_text *out, const rgm_model_import_report *report)
{
    int from = 4, shape = 5, how = 3;

    for (int64_t i = 0; i < report->count; i++) {
        from = widest(from, report->rows[i].from);
        shape = widest(shape, report->rows[i].shape);
        how = widest(how, report->rows[i].how);
    }
    for (int64_t i = 0; i < report->count; i++) {
        const rgm_model_import_row *row = &report->rows[i];

        RGM_TRY(rgm_text_printf(out, "%-*s  %-*s  %-*s  %s\n", from, or_dash(row->from), shape,
                                or_dash(row->shape), how, or_dash(row->how), or_dash(row->to)));
    }
    return rgm_text_add(out, report->notes.data, report->notes.size);
}

static rgm_status print_notes(rgm_json_writer *w, const char *notes)
{
    RGM_TRY(rgm_json_open_list(w, "notes", RGM_JSON_LINES));
    while (notes != NULL && *notes != '\0') {
        const char *end = strchr(notes, '\n');
        rgm_text line = {0};
        rgm_status status = rgm_text_add(&line, notes, end - notes);

        if (status == RGM_OK)
            status = rgm_json_write_text(w, NULL, line.data);
        rgm_text_clear(&line);
        RGM_TRY(status);
        notes = end + 1;
    }
    return rgm_json_close(w);
}

rgm_status rgm_model_import_report_print_json(rgm_text *out, const rgm_model_import_report *report)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(&w, "source", report->source));
    RGM_TRY(rgm_json_write_text(&w, "family", report->family));
    RGM_TRY(rgm_json_write_int(&w, "parameters", report->parameters));
    RGM_TRY(rgm_json_open_list(&w, "weights", RGM_JSON_LINES));
    for (int64_t i = 0; i < report->count; i++) {
        const rgm_model_import_row *row = &report->rows[i];

        RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(&w, "from", row->from));
        RGM_TRY(rgm_json_write_text(&w, "shape", row->shape));
        RGM_TRY(rgm_json_write_text(&w, "how", row->how));
        RGM_TRY(rgm_json_write_text(&w, "to", row->to));
        RGM_TRY(rgm_json_close(&w));
    }
    RGM_TRY(rgm_json_close(&w));
    RGM_TRY(print_notes(&w, report->notes.data));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_add(out, "\n", 1);
}
