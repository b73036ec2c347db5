/*
 * score_curves.jsonl: the curves of the last pass over each split. Every validation's would be
 * megabytes of what nobody looks at, so the file is not appended to but written anew.
 */
#include "store_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 64 << 20 };

struct rgm_score_log {
    char *path;
    rgm_text lines, line;
    bool is_old; /* the file has something else */
};

/* ---- lines --------------------------------------------------------------------------------- */

/* What is behind the step of a line. */
static const char *behind_step(const char *line, const char *end)
{
    const char *comma = memchr(line, ',', (size_t)(end - line));

    return comma != NULL ? comma : end;
}

/* Whether a line is of the same split and label as one that `of` (without its step) begins. */
static bool is_of(const char *line, const char *end, const rgm_text *of)
{
    const char *at = behind_step(line, end);

    return of != NULL && end - at >= of->size && memcmp(at, of->data, (size_t)of->size) == 0;
}

/* Leave out lines that are void, of the split and label, or none of ours. */
static void leave_out(rgm_score_log *log, const rgmi_void_lines *v, const rgm_text *of)
{
    char *data = log->lines.data;
    int64_t kept = 0, at = 0;

    while (at < log->lines.size) {
        const char *line = data + at, *end = memchr(line, '\n', (size_t)(log->lines.size - at));
        int64_t step, size;

        if (end == NULL)
            break;
        step = rgmi_line_step(line, end);
        size = end + 1 - line;
        if (step >= 0 && (v == NULL || !rgmi_line_is_void(v, step, line, end)) &&
            !is_of(line, end, of)) {
            memmove(data + kept, line, (size_t)size);
            kept += size;
        }
        at += size;
    }
    log->is_old |= kept < log->lines.size;
    log->lines.size = kept;
}

static rgm_status put_number(rgm_text *line, const char *before, double number)
{
    RGM_TRY(rgm_text_printf(line, "%s", before));
    return number - number == 0 ? rgm_json_print_number(line, number)
                                : rgm_text_add(line, "null", 4);
}

/* Seven digits: more than a picture has pixels, and as many as a float score has. */
static rgm_status put_short(rgm_text *line, const char *before, double number)
{
    return number - number == 0 ? rgm_text_printf(line, "%s%.7g", before, number)
                                : rgm_text_printf(line, "%snull", before);
}

static rgm_status put_name(rgm_text *line, const char *before, const char *name)
{
    RGM_TRY(rgm_text_printf(line, "%s", before));
    return name != NULL ? rgm_json_print_text(line, name) : rgm_text_add(line, "null", 4);
}

static rgm_status put_curve(rgm_text *line, const rgm_score_curve *c)
{
    RGM_TRY(put_name(line, "{\"name\":", c->name));
    RGM_TRY(put_number(line, ",\"positives\":", c->positives));
    RGM_TRY(put_number(line, ",\"negatives\":", c->negatives));
    RGM_TRY(put_number(line, ",\"roc_area\":", c->roc_area));
    RGM_TRY(put_number(line, ",\"average_precision\":", c->average_precision));
    RGM_TRY(rgm_text_printf(line, ",\"points\":["));
    for (int64_t i = 0; i < c->point_count; i++) {
        RGM_TRY(put_short(line, i > 0 ? ",[" : "[", c->points[i].threshold));
        RGM_TRY(put_short(line, ",", c->points[i].false_positives));
        RGM_TRY(put_short(line, ",", c->points[i].true_positives));
        RGM_TRY(put_short(line, ",", c->points[i].precision));
        RGM_TRY(rgm_text_add(line, "]", 1));
    }
    return rgm_text_add(line, "]}", 2);
}

static rgm_status put_hits(rgm_text *line, const rgm_hits_curve *h)
{
    if (h == NULL)
        return rgm_text_add(line, "null", 4);
    RGM_TRY(put_number(line, "{\"links\":", h->links));
    RGM_TRY(put_number(line, ",\"mean_reciprocal_rank\":", h->mean_reciprocal_rank));
    RGM_TRY(rgm_text_printf(line, ",\"points\":["));
    for (int64_t i = 0; i < h->point_count; i++) {
        RGM_TRY(rgm_text_printf(line, "%s[%" PRId64, i > 0 ? "," : "", h->k[i]));
        RGM_TRY(put_short(line, ",", h->share[i]));
        RGM_TRY(rgm_text_add(line, "]", 1));
    }
    return rgm_text_add(line, "]}", 2);
}

rgm_status rgm_score_log_set(rgm_score_log *log, const char *split, int64_t step,
                             const rgm_score_curves *curves)
{
    rgm_text *line = &log->line;
    const char *at;
    rgm_text of;

    RGM_TRY(rgmi_begin_line(line, split, step, "score_curves"));
    RGM_TRY(put_name(line, ",\"label\":", curves->label));
    RGM_TRY(rgm_text_add(line, ",", 1));
    at = behind_step(line->data, line->data + line->size);
    of = (rgm_text){.data = (char *)at, .size = line->data + line->size - at};
    leave_out(log, NULL, &of);
    RGM_TRY(rgm_text_printf(line, "\"curves\":["));
    for (int64_t i = 0; i < curves->count; i++) {
        RGM_TRY(rgm_text_add(line, ",", i > 0));
        RGM_TRY(put_curve(line, &curves->curves[i]));
    }
    RGM_TRY(rgm_text_printf(line, "],\"hits\":"));
    RGM_TRY(put_hits(line, curves->hits));
    RGM_TRY(put_name(line, ",\"left_out\":", curves->left_out));
    RGM_TRY(rgm_text_printf(line, "}\n"));
    log->is_old = true;
    return rgm_text_add(&log->lines, line->data, line->size);
}

void rgm_score_log_cut(rgm_score_log *log, int64_t first_void)
{
    leave_out(log, &(rgmi_void_lines){.step = first_void}, NULL);
}

void rgm_score_log_cut_split(rgm_score_log *log, const char *split, int64_t step)
{
    leave_out(log, &(rgmi_void_lines){.step = step, .split = split}, NULL);
}

/* ---- the file ------------------------------------------------------------------------------ */

static rgm_status load(rgm_score_log *log)
{
    char *data = NULL;
    int64_t size;
    rgm_status status = rgm_file_load(&data, &size, log->path, LARGEST);

    if (status == RGM_ERR_NOT_FOUND || status == RGM_ERR_FORMAT) { /* none, or none of ours */
        log->is_old = status == RGM_ERR_FORMAT;
        rgm_error_reset();
        return RGM_OK;
    }
    if (status == RGM_OK)
        status = rgm_text_add(&log->lines, data, size);
    rgm_free(data);
    return status;
}

rgm_status rgm_score_log_open(rgm_score_log **out, const char *path, int64_t first_void)
{
    rgm_status status = RGM_OK;
    rgm_score_log *log = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(log, 1));
    RGM_GO(rgm_strdup(&log->path, path));
    RGM_GO(load(log));
    rgm_score_log_cut(log, first_void);
    *out = log;
    log = NULL;
done:
    rgm_score_log_close(log);
    return status;
}

void rgm_score_log_close(rgm_score_log *log)
{
    if (log == NULL)
        return;
    rgm_free(log->path);
    rgm_text_clear(&log->lines);
    rgm_text_clear(&log->line);
    rgm_free(log);
}

rgm_status rgm_score_log_flush(rgm_score_log *log)
{
    if (!log->is_old)
        return RGM_OK;
    if (log->lines.size > 0)
        RGM_TRY(rgm_file_save_own(log->path, log->lines.data, log->lines.size));
    else if (unlink(log->path) != 0 && errno != ENOENT)
        return RGM_FAIL(RGM_ERR_IO, "%s: %s", log->path, strerror(errno));
    log->is_old = false;
    return RGM_OK;
}
