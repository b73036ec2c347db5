/*
 * Seconds of training at each step, by system.jsonl. The file has a line a second and anybody may
 * have written it, so no request reads much of it: of a long part, lines at even places are enough
 * to draw by. It is read on from where it ended.
 */
#include "curve_clock.h"

#include <math.h>
#include <string.h>

#include <regimen/base.h>

#include "folder_file.h"

enum {
    WHOLE = 1 << 20,     /* bytes of which every line is read             */
    PLACES = 2000,       /* lines of more than that                       */
    MOST_TIMES = 1 << 17 /* that are kept; then every second of them goes */
};

void rgmi_clock_clear(rgmi_clock *clock)
{
    rgm_free(clock->steps);
    rgm_free(clock->seconds);
    *clock = (rgmi_clock){0};
}

/* The last one stays. */
static void thin_out(rgmi_clock *clock)
{
    int64_t kept = 0;

    for (int64_t i = (clock->count - 1) % 2; i < clock->count; i += 2) {
        clock->steps[kept] = clock->steps[i];
        clock->seconds[kept++] = clock->seconds[i];
    }
    clock->count = kept;
}

/* A line of a step that there is already is of a run that went back to an earlier checkpoint. */
static rgm_status add_time(rgmi_clock *clock, int64_t step, double seconds)
{
    while (clock->count > 0 && clock->steps[clock->count - 1] >= step)
        clock->count--;
    if (clock->count == MOST_TIMES)
        thin_out(clock);
    RGM_TRY(RGM_RESERVE(clock->steps, clock->step_capacity, clock->count + 1));
    RGM_TRY(RGM_RESERVE(clock->seconds, clock->second_capacity, clock->count + 1));
    clock->steps[clock->count] = step;
    clock->seconds[clock->count++] = seconds;
    return RGM_OK;
}

static rgm_status read_time(rgmi_clock *clock, const char *line, int64_t size)
{
    rgm_json *json;
    int64_t step = 0;
    double seconds = NAN;
    bool found;
    rgm_status status = rgm_json_parse(&json, line, size, "system.jsonl");

    if (status != RGM_OK) { /* a line that is none tells no time */
        if (status != RGM_ERR_NOMEM)
            rgm_error_reset();
        return status == RGM_ERR_NOMEM ? status : RGM_OK;
    }
    found = rgm_json_int(&step, rgm_json_find(json, "step")) &&
            rgm_json_number(&seconds, rgm_json_find(json, "seconds")) && isfinite(seconds);
    rgm_json_release(json);
    return found ? add_time(clock, step, seconds) : RGM_OK;
}

/* Every whole line from clock->offset on. */
static rgm_status read_all(rgmi_clock *clock, const rgmi_kept_file *file)
{
    int64_t size = file->size - clock->offset, at = 0;
    char *data = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(data, size + 1));
    RGM_GO(rgmi_kept_read(data, &size, file, clock->offset));
    for (const char *end; (end = memchr(data + at, '\n', (size_t)(size - at))) != NULL;) {
        RGM_GO(read_time(clock, data + at, end - (data + at)));
        at = end + 1 - data;
    }
    clock->offset += at;
done:
    rgm_free(data);
    return status;
}

static rgm_status read_places(rgmi_clock *clock, const rgmi_kept_file *file)
{
    int64_t first = clock->offset, last = 0, told = -1, begin = -1, size = 0;
    char *data = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(data, RGMI_LINE_ROOM));
    RGM_GO(rgmi_kept_last_line(&last, &size, data, file));
    for (int64_t i = 0; i < PLACES; i++) {
        int64_t part = (int64_t)((double)(last - first) / (PLACES - 1) * (double)i);

        RGM_GO(rgmi_kept_line(&begin, &size, data, file, i < PLACES - 1 ? first + part : last));
        if (begin <= told)
            continue;
        RGM_GO(read_time(clock, data, size));
        told = begin;
        clock->offset = begin + size + 1;
    }
done:
    rgm_free(data);
    return status;
}

rgm_status rgmi_clock_read(rgmi_clock *clock, const char *folder)
{
    rgmi_kept_file file;
    rgm_status status = rgmi_kept_open(&file, folder, "system.jsonl");

    if (status != RGM_OK) { /* where there is none, curves have no times */
        if (status != RGM_ERR_NOMEM)
            rgm_error_reset();
        return status == RGM_ERR_NOMEM ? status : RGM_OK;
    }
    if (file.size < clock->offset || file.inode != clock->inode || file.device != clock->device)
        clock->count = clock->offset = 0;
    clock->inode = file.inode;
    clock->device = file.device;
    status =
        file.size - clock->offset <= WHOLE ? read_all(clock, &file) : read_places(clock, &file);
    rgmi_kept_close(&file);
    if (status == RGM_OK || status == RGM_ERR_NOMEM)
        return rgm_error_trace(status, __FILE__, __LINE__, __func__);
    rgm_error_reset();
    return RGM_OK;
}

double rgmi_clock_at(const rgmi_clock *clock, int64_t step)
{
    int64_t low = 0, high = clock->count;
    double before = 0, after;
    int64_t from = 0;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (clock->steps[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == clock->count)
        return clock->seconds[low - 1];
    after = clock->seconds[low];
    if (low > 0) {
        before = clock->seconds[low - 1];
        from = clock->steps[low - 1];
    }
    if (clock->steps[low] <= from)
        return after;
    return before + (after - before) * (double)(step - from) / (double)(clock->steps[low] - from);
}
