/*
 * system.jsonl: the state of a run's process, one line now and then. It has times, so it is neither
 * compared nor cut when a run continues; only the seconds of training are read back from it.
 */
#include "store_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#define TAIL 8192 /* bytes read back from the end: a line has about 250 */

struct rgm_system_log {
    rgmi_append_file file;
    rgm_text line;
    double seconds; /* of training, before it was opened */
};

/* The seconds in a line; `before` if it is not one of our lines. */
static double seconds_in(const char *line, int64_t size, double before)
{
    rgm_json *root;
    double seconds = before;

    if (rgm_json_parse(&root, line, size, "a line") != RGM_OK) {
        rgm_error_reset();
        return before;
    }
    if (!rgm_json_number(&seconds, rgm_json_find(root, "seconds")) || !(seconds >= 0))
        seconds = before;
    rgm_json_release(root);
    return seconds;
}

/* Find where the last whole line ends, and its seconds. */
static rgm_status find_end(int64_t *end, double *seconds, const char *path)
{
    char *data = NULL;
    int64_t size, start;
    rgm_status status;

    *end = 0;
    status = rgmi_load_end(&data, &size, &start, path, TAIL);
    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        return RGM_OK;
    }
    RGM_TRY(status);
    for (int64_t at = 0; at < size;) {
        const char *stop = memchr(data + at, '\n', (size_t)(size - at));

        if (stop == NULL)
            break;
        *seconds = seconds_in(data + at, stop - (data + at), *seconds);
        at = stop + 1 - data;
        *end = start + at;
    }
    rgm_free(data);
    return RGM_OK;
}

rgm_status rgm_system_log_open(rgm_system_log **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_system_log *log = NULL;
    int64_t end;

    *out = NULL;
    RGM_GO(RGM_NEW(log, 1));
    log->file.fd = -1;
    RGM_GO(find_end(&end, &log->seconds, path));
    RGM_GO(rgmi_append_open(&log->file, path, end, false));
    *out = log;
    log = NULL;
done:
    rgm_system_log_close(log);
    return status;
}

void rgm_system_log_close(rgm_system_log *log)
{
    if (log == NULL)
        return;
    rgmi_append_close(&log->file);
    rgm_text_clear(&log->line);
    rgm_free(log);
}

double rgm_system_log_seconds(const rgm_system_log *log)
{
    return log->seconds;
}

static double in_seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* "name":number, or null where there is none. */
static rgm_status add_number(rgm_text *line, const char *name, double value)
{
    RGM_TRY(rgm_text_printf(line, ",\"%s\":", name));
    return isfinite(value) ? rgm_json_print_number(line, value) : rgm_text_add(line, "null", 4);
}

/* A rate of what is not examples does not have their name. */
static rgm_status add_items(rgm_text *line, const rgm_system_figures *f)
{
    if (f->items == NULL)
        return add_number(line, "examples_per_second", f->items_per_second);
    RGM_TRY(rgm_text_printf(line, ",\"items\":"));
    RGM_TRY(rgm_json_print_text(line, f->items));
    return add_number(line, "items_per_second", f->items_per_second);
}

static rgm_status print_line(rgm_text *line, const rgm_system_figures *f, double seconds)
{
    struct rusage usage;
    double cpu = NAN;

    if (getrusage(RUSAGE_SELF, &usage) == 0)
        cpu = round((in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime)) * 1e6) / 1e6;
    line->size = 0;
    RGM_TRY(rgm_text_printf(line, "{\"time\":"));
    RGM_TRY(rgm_json_print_number(line, round(rgm_wall_time() * 1000) / 1000));
    RGM_TRY(rgm_text_printf(line, ",\"step\":%" PRId64 ",\"epoch\":%" PRId64, f->step, f->epoch));
    RGM_TRY(add_number(line, "seconds", round(seconds * 1e6) / 1e6));
    RGM_TRY(add_number(line, "steps_per_second", f->steps_per_second));
    RGM_TRY(add_items(line, f));
    RGM_TRY(rgm_text_printf(line, ",\"rss\":%" PRId64, rgm_memory_resident()));
    RGM_TRY(add_number(line, "cpu_seconds", cpu));
    return rgm_text_printf(line, ",\"threads\":%d}\n", f->threads);
}

rgm_status rgm_system_log_add(rgm_system_log *log, const rgm_system_figures *figures)
{
    rgm_status status = print_line(&log->line, figures, log->seconds + figures->seconds);

    if (status == RGM_OK)
        status = rgmi_append_add(&log->file, log->line.data, log->line.size);
    if (status == RGM_OK)
        status = rgmi_append_flush(&log->file);
    if (status != RGM_OK)
        log->file.buffer.size = 0; /* the line will be out of date when there is space for it */
    return status;
}
