/*
 * tables.jsonl: confusion matrices and samples of each validation. A line begins with its step, so
 * that a continued run can cut off what it will write again without reading the lines' content.
 */
#include "store_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BEGIN RGMI_LINE_BEGIN

struct rgm_tables_log {
    rgmi_append_file file;
    rgm_text line;
};

/* ---- what of a file stays ------------------------------------------------------------------ */

int64_t rgmi_line_step(const char *line, const char *end)
{
    const char *at = line + sizeof BEGIN - 1;
    int64_t step = 0;

    if (end - line < (int64_t)sizeof BEGIN || memcmp(line, BEGIN, sizeof BEGIN - 1) != 0 ||
        *at < '0' || *at > '9')
        return -1;
    for (; at < end && *at >= '0' && *at <= '9' && step < INT64_MAX / 100; at++)
        step = 10 * step + (*at - '0');
    return step;
}

bool rgmi_line_is_void(const rgmi_void_lines *v, int64_t step, const char *line, const char *end)
{
    char begin[80];
    int size;

    if (v->split == NULL)
        return step >= v->step;
    if (step != v->step)
        return false;
    size = snprintf(begin, sizeof begin, BEGIN "%" PRId64 ",\"split\":\"%s", step, v->split);
    return size < (int)sizeof begin && end - line > size && memcmp(line, begin, (size_t)size) == 0;
}

/* Find where the last line that is not void ends. */
static rgm_status find_end(int64_t *end, const char *path, const rgmi_void_lines *v)
{
    rgm_mapped_file file;
    rgm_status status = rgm_file_map(&file, path);
    const char *data;

    *end = 0;
    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        return RGM_OK;
    }
    RGM_TRY(status);
    data = (const char *)file.data;
    for (int64_t at = 0; at < file.size;) {
        const char *stop = memchr(data + at, '\n', (size_t)(file.size - at));
        int64_t step;
        bool stays;

        if (stop == NULL)
            break;
        step = rgmi_line_step(data + at, stop);
        stays = step >= 0 && !rgmi_line_is_void(v, step, data + at, stop);
        at = stop + 1 - data;
        if (stays)
            *end = at;
    }
    rgm_file_unmap(&file);
    return RGM_OK;
}

/* ---- open and close ------------------------------------------------------------------------ */

rgm_status rgm_tables_log_open(rgm_tables_log **out, const char *path, int64_t first_void)
{
    rgm_status status = RGM_OK;
    rgm_tables_log *log = NULL;
    int64_t end;

    *out = NULL;
    RGM_GO(RGM_NEW(log, 1));
    log->file.fd = -1;
    RGM_GO(find_end(&end, path, &(rgmi_void_lines){.step = first_void}));
    RGM_GO(rgmi_append_open(&log->file, path, end, false));
    *out = log;
    log = NULL;
done:
    rgm_tables_log_close(log);
    return status;
}

void rgm_tables_log_close(rgm_tables_log *log)
{
    if (log == NULL)
        return;
    rgmi_append_close(&log->file);
    rgm_text_clear(&log->line);
    rgm_free(log);
}

rgm_status rgm_tables_log_flush(rgm_tables_log *log)
{
    return rgmi_append_flush(&log->file);
}

static rgm_status cut(rgm_tables_log *log, const rgmi_void_lines *v)
{
    int64_t end;

    RGM_TRY(rgmi_append_flush(&log->file));
    RGM_TRY(find_end(&end, log->file.path, v));
    return rgmi_append_truncate(&log->file, end);
}

rgm_status rgm_tables_log_cut(rgm_tables_log *log, int64_t first_void)
{
    return cut(log, &(rgmi_void_lines){.step = first_void});
}

rgm_status rgm_tables_log_cut_split(rgm_tables_log *log, const char *split, int64_t step)
{
    return cut(log, &(rgmi_void_lines){.step = step, .split = split});
}

/* ---- lines --------------------------------------------------------------------------------- */

rgm_status rgmi_begin_line(rgm_text *line, const char *split, int64_t step, const char *kind)
{
    line->size = 0;
    RGM_TRY(rgm_text_printf(line, BEGIN "%" PRId64 ",\"split\":", step));
    RGM_TRY(rgm_json_print_text(line, split));
    return rgm_text_printf(line, ",\"kind\":\"%s\"", kind);
}

static rgm_status end_line(rgm_tables_log *log, const char *end)
{
    RGM_TRY(rgm_text_printf(&log->line, "%s}\n", end));
    return rgmi_append_add(&log->file, log->line.data, log->line.size);
}

static rgm_status print_classes(rgm_text *line, const rgm_confusion *t)
{
    if (t->classes == NULL)
        return rgm_text_add(line, "null", 4);
    for (int64_t c = 0; c < t->count; c++) {
        RGM_TRY(rgm_text_add(line, c == 0 ? "[" : ",", 1));
        RGM_TRY(rgm_json_print_text(line, t->classes[c]));
    }
    return rgm_text_add(line, "]", 1);
}

rgm_status rgm_tables_log_confusion(rgm_tables_log *log, const char *split, int64_t step,
                                    const rgm_confusion *table)
{
    rgm_text *line = &log->line;
    int64_t n = table->count;

    RGM_TRY(rgmi_begin_line(line, split, step, "confusion"));
    RGM_TRY(rgm_text_printf(line, ",\"label\":"));
    RGM_TRY(rgm_json_print_text(line, table->label));
    RGM_TRY(rgm_text_printf(line, ",\"classes\":"));
    RGM_TRY(print_classes(line, table));
    RGM_TRY(rgm_text_printf(line, ",\"counts\":["));
    for (int64_t i = 0; i < n * n; i++)
        RGM_TRY(rgm_text_printf(line, "%s%" PRId64 "%s", i % n > 0 ? "," : (i > 0 ? ",[" : "["),
                                table->counts[i], i % n == n - 1 ? "]" : ""));
    return end_line(log, "]");
}

static rgm_status print_sample(rgm_text *line, const rgm_sample *s)
{
    RGM_TRY(rgm_text_printf(line, "{\"source\":"));
    RGM_TRY(rgm_json_print_text(line, s->source));
    RGM_TRY(rgm_text_printf(line, ",\"translation\":"));
    RGM_TRY(rgm_json_print_text(line, s->translation));
    RGM_TRY(rgm_text_printf(line, ",\"reference\":"));
    RGM_TRY(rgm_json_print_text(line, s->reference));
    RGM_TRY(rgm_text_printf(line, ",\"scores\":{"));
    for (int64_t i = 0; i < s->score_count; i++) {
        RGM_TRY(rgm_text_add(line, ",", i > 0));
        RGM_TRY(rgm_json_print_text(line, s->scores[i].name));
        RGM_TRY(rgm_text_add(line, ":", 1));
        RGM_TRY(rgm_json_print_number(line, s->scores[i].value));
    }
    return rgm_text_add(line, "}}", 2);
}

rgm_status rgm_tables_log_samples(rgm_tables_log *log, const char *split, int64_t step,
                                  const rgm_sample *samples, int64_t count)
{
    RGM_TRY(rgmi_begin_line(&log->line, split, step, "samples"));
    RGM_TRY(rgm_text_printf(&log->line, ",\"samples\":["));
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(rgm_text_add(&log->line, ",", i > 0));
        RGM_TRY(print_sample(&log->line, &samples[i]));
    }
    return end_line(log, "]");
}
