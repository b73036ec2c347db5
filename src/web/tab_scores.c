/* Curves over all thresholds of the last validation and test, out of score_curves.jsonl. */
#include <math.h>
#include <string.h>

#include <regimen/store.h>

#include "tab.h"

enum { LARGEST = 16 << 20, MOST_OUTPUTS = 100 };

/* A list of lists of so many numbers each; null in the place of what is none. */
static rgm_status put_points(rgm_text *out, const rgm_json *points, int width)
{
    int64_t count = rgm_json_count(points);

    RGM_TRY(rgm_text_printf(out, ",\"points\":["));
    for (int64_t i = 0; i < count && i < RGM_MOST_CURVE_POINTS; i++) {
        const rgm_json *point = rgm_json_at(points, i);

        for (int k = 0; k < width; k++) {
            double number = NAN;

            (void)rgm_json_number(&number, rgm_json_at(point, k));
            RGM_TRY(rgm_text_printf(out, "%s", k > 0 ? "," : i > 0 ? ",[" : "["));
            RGM_TRY(rgmi_put_number(out, number));
        }
        RGM_TRY(rgm_text_add(out, "]", 1));
    }
    return rgm_text_add(out, "]}", 2);
}

static rgm_status put_numbers(rgm_text *out, const rgm_json *object, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        double number = NAN;

        (void)rgm_json_number(&number, rgm_json_find(object, *keys));
        RGM_TRY(rgm_text_printf(out, ",\"%s\":", *keys));
        RGM_TRY(rgmi_put_number(out, number));
    }
    return RGM_OK;
}

static rgm_status put_curves(rgm_text *out, const rgm_json *curves)
{
    static const char *const keys[] = {"positives", "negatives", "roc_area", "average_precision",
                                       NULL};
    int64_t count = rgm_json_count(curves);

    RGM_TRY(rgm_text_printf(out, ",\"curves\":["));
    for (int64_t i = 0; i < count && i < RGM_MOST_CURVES; i++) {
        const rgm_json *curve = rgm_json_at(curves, i);

        RGM_TRY(rgm_text_printf(out, "%s{\"name\":", i > 0 ? "," : ""));
        RGM_TRY(rgmi_put_name(out, rgm_json_text(rgm_json_find(curve, "name"))));
        RGM_TRY(put_numbers(out, curve, keys));
        RGM_TRY(put_points(out, rgm_json_find(curve, "points"), 4));
    }
    return rgm_text_add(out, "]", 1);
}

static rgm_status put_hits(rgm_text *out, const rgm_json *hits)
{
    static const char *const keys[] = {"mean_reciprocal_rank", NULL};
    double links = NAN;

    RGM_TRY(rgm_text_printf(out, ",\"hits\":"));
    if (!rgm_json_is_object(hits))
        return rgm_text_add(out, "null", 4);
    (void)rgm_json_number(&links, rgm_json_find(hits, "links"));
    RGM_TRY(rgm_text_printf(out, "{\"links\":"));
    RGM_TRY(rgmi_put_number(out, links));
    RGM_TRY(put_numbers(out, hits, keys));
    return put_points(out, rgm_json_find(hits, "points"), 2);
}

/* One output of a split; *told false: the line is none of ours. */
static rgm_status put_line(rgm_text *out, bool *told, const rgm_json *line, bool is_first)
{
    const char *split = rgm_json_text(rgm_json_find(line, "split"));
    const char *label = rgm_json_text(rgm_json_find(line, "label"));
    int64_t step;

    *told = split != NULL && label != NULL && rgm_json_int(&step, rgm_json_find(line, "step"));
    if (!*told)
        return RGM_OK;
    RGM_TRY(
        rgm_text_printf(out, "%s{\"step\":%lld,\"split\":", is_first ? "" : ",", (long long)step));
    RGM_TRY(rgmi_put_name(out, split));
    RGM_TRY(rgm_text_printf(out, ",\"label\":"));
    RGM_TRY(rgmi_put_name(out, label));
    RGM_TRY(put_curves(out, rgm_json_find(line, "curves")));
    RGM_TRY(put_hits(out, rgm_json_find(line, "hits")));
    RGM_TRY(rgm_text_printf(out, ",\"left_out\":"));
    RGM_TRY(rgmi_put_name(out, rgm_json_text(rgm_json_find(line, "left_out"))));
    return rgm_text_add(out, "}", 1);
}

/* Returns how many lines are damaged, in *bad. */
static rgm_status put_lines(rgm_text *out, int64_t *bad, const char *data, int64_t size)
{
    int64_t count = 0;

    *bad = 0;
    for (const char *at = data, *end = data + size, *stop; at < end; at = stop + 1) {
        rgm_json *line = NULL;
        rgm_status status;
        bool told = false;

        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        if (count == MOST_OUTPUTS)
            break;
        status = rgm_json_parse(&line, at, stop - at, "a line of score_curves.jsonl");
        if (status == RGM_OK)
            status = put_line(out, &told, line, count == 0);
        else if (status != RGM_ERR_NOMEM)
            status = RGM_OK;
        rgm_json_release(line);
        RGM_TRY(status);
        count += told;
        *bad += !told;
    }
    return RGM_OK;
}

rgm_status rgmi_tell_scores(rgm_text *out, const char *folder)
{
    char *data = NULL, *damage = NULL;
    int64_t size = 0, bad = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_note(&damage, rgmi_kept_load(&data, &size, folder, "score_curves.jsonl", LARGEST)));
    RGM_GO(rgm_text_printf(out, "{\"outputs\":["));
    if (data != NULL)
        RGM_GO(put_lines(out, &bad, data, size));
    if (bad > 0 && damage == NULL)
        RGM_GO(rgm_strprintf(&damage, "score_curves.jsonl: %lld lines are damaged and not shown",
                             (long long)bad));
    RGM_GO(rgm_text_add(out, "]", 1));
    RGM_GO(rgmi_put_end(out, damage));
done:
    rgm_free(data);
    rgm_free(damage);
    return status;
}
