/*
 * How the process of a run did over time. A line a second makes 600,000 in a week, so of a long
 * file lines are taken at places that lie evenly in it, without reading the others.
 */
#include <math.h>
#include <string.h>

#include "tab.h"

enum { WHOLE = 1 << 20, LARGEST_INPUT = 4 << 20 };

static const char *const keys[] = {"time",        "seconds", "rss",
                                   "cpu_seconds", "threads", "steps_per_second"};

typedef struct points {
    rgm_text *out, items; /* items: what items_per_second counts; empty: examples */
    int64_t count, bad;
} points;

/* Items a second, and what they are: examples have a key of their own. */
static rgm_status tell_items(points *p, const rgm_json *root)
{
    const char *items = rgm_json_text(rgm_json_find(root, "items"));
    double number = NAN;

    (void)rgm_json_number(
        &number, rgm_json_find(root, items != NULL ? "items_per_second" : "examples_per_second"));
    p->items.size = 0;
    if (items != NULL)
        RGM_TRY(rgm_text_add(&p->items, items, (int64_t)strlen(items)));
    RGM_TRY(rgm_text_printf(p->out, ",\"items_per_second\":"));
    return rgmi_put_number(p->out, number);
}

/* A line; one that is none of ours is counted. */
static rgm_status tell_point(points *p, const char *line, int64_t size)
{
    rgm_json *root = NULL;
    int64_t step;
    rgm_status status = rgm_json_parse(&root, line, size, "a line");

    if (status == RGM_ERR_NOMEM)
        return status;
    if (status != RGM_OK || !rgm_json_int(&step, rgm_json_find(root, "step"))) {
        rgm_error_reset();
        rgm_json_release(root);
        p->bad++;
        return RGM_OK;
    }
    status = RGM_OK;
    RGM_GO(rgm_text_printf(p->out, "%s{\"step\":%lld", p->count++ > 0 ? "," : "", (long long)step));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        double number = NAN;

        (void)rgm_json_number(&number, rgm_json_find(root, keys[k]));
        RGM_GO(rgm_text_printf(p->out, ",\"%s\":", keys[k]));
        RGM_GO(rgmi_put_number(p->out, number));
    }
    RGM_GO(tell_items(p, root));
    RGM_GO(rgm_text_add(p->out, "}", 1));
done:
    rgm_json_release(root);
    return status;
}

static int64_t count_lines(const char *data, int64_t size)
{
    int64_t count = 0;

    for (const char *at = data, *end = data + size;
         (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        count++;
    return count;
}

/* Of a file that is not long: lines by their numbers. */
static rgm_status tell_whole(points *p, bool *thinned, const rgmi_kept_file *file)
{
    int64_t size = file->size, count, told = 0, line = 0;
    char *data = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(data, size + 1));
    RGM_GO(rgmi_kept_read(data, &size, file, 0));
    count = count_lines(data, size);
    *thinned = count > RGMI_TOLD_POINTS;
    for (int64_t at = 0; told < count && told < RGMI_TOLD_POINTS; line++) {
        const char *end = memchr(data + at, '\n', (size_t)(size - at));

        if (end == NULL)
            break;
        if (line == rgmi_spread(told, count, RGMI_TOLD_POINTS)) {
            RGM_GO(tell_point(p, data + at, end - (data + at)));
            told++;
        }
        at = end + 1 - data;
    }
done:
    rgm_free(data);
    return status;
}

static rgm_status tell_places(points *p, const rgmi_kept_file *file)
{
    int64_t last = 0, told = -1, begin = -1, size = 0;
    char *data = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(data, RGMI_LINE_ROOM));
    RGM_GO(rgmi_kept_last_line(&last, &size, data, file));
    for (int64_t i = 0; i < RGMI_TOLD_POINTS; i++) {
        int64_t offset = (int64_t)((double)last / (RGMI_TOLD_POINTS - 1) * (double)i);

        offset = i == RGMI_TOLD_POINTS - 1 ? last : offset;
        RGM_GO(rgmi_kept_line(&begin, &size, data, file, offset));
        if (begin <= told)
            continue;
        RGM_GO(tell_point(p, data, size));
        told = begin;
    }
done:
    rgm_free(data);
    return status;
}

/* Who makes the run's batches, if not the run. */
static rgm_status tell_input(rgm_text *out, char **damage, const char *folder)
{
    char *text = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_note(damage,
                     rgmi_load_object(&text, &size, folder, "input_workers.json", LARGEST_INPUT)));
    RGM_GO(rgm_text_printf(out, ",\"input\":"));
    RGM_GO(text != NULL ? rgm_text_add(out, text, size) : rgm_text_printf(out, "null"));
done:
    rgm_free(text);
    return status;
}

rgm_status rgmi_tell_system(rgm_text *out, const char *folder)
{
    points p = {.out = out};
    rgmi_kept_file file = {.fd = -1};
    char *damage = NULL;
    bool thinned = false;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_note(&damage, rgmi_kept_open(&file, folder, "system.jsonl")));
    RGM_GO(rgm_text_printf(out, "{\"points\":["));
    if (file.fd >= 0 && file.size <= WHOLE) {
        RGM_GO(rgmi_note(&damage, tell_whole(&p, &thinned, &file)));
    } else if (file.fd >= 0) {
        RGM_GO(rgmi_note(&damage, tell_places(&p, &file)));
        thinned = true;
    }
    if (p.bad > 0 && damage == NULL)
        RGM_GO(rgm_strprintf(&damage, "system.jsonl: %lld lines are damaged and not shown",
                             (long long)p.bad));
    RGM_GO(rgm_text_printf(out, "],\"total_bytes\":%lld,\"down_sampled\":%s", (long long)file.size,
                           thinned ? "true" : "false"));
    RGM_GO(rgm_text_printf(out, ",\"items\":"));
    RGM_GO(p.items.size > 0 ? rgmi_put_text(out, p.items.data, p.items.size)
                            : rgm_text_printf(out, "\"examples\""));
    RGM_GO(tell_input(out, &damage, folder));
    RGM_GO(rgmi_put_end(out, damage));
done:
    rgm_text_clear(&p.items);
    rgmi_kept_close(&file);
    rgm_free(damage);
    return status;
}
