/* Planes: axes with grid, ticks and names, and curves on them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw_internal.h"

#define LARGEST 1e300 /* ranges of what is larger would be infinite */

/* ---- ranges -------------------------------------------------------------------------------- */

static double bounded(double number)
{
    return fmax(-LARGEST, fmin(LARGEST, number));
}

rgmi_value_range rgmi_range_widened(double low, double high, bool log, double share)
{
    double room;

    if (log) {
        double ratio = high > low ? pow(high / low, share) : 2;

        return (rgmi_value_range){fmax(low / ratio, 1e-300), bounded(high * ratio), true, 0};
    }
    room = high - low > 1e-12 * fabs(high) ? share * (high - low) : fmax(0.05 * fabs(high), 1e-3);
    return (rgmi_value_range){bounded(low - room), bounded(high + room), false, 0};
}

rgmi_value_range rgmi_range_of(const double *numbers, int64_t count, bool log, double share)
{
    double low = INFINITY, high = -INFINITY;

    for (int64_t i = 0; i < count; i++)
        if (isfinite(numbers[i]) && (!log || numbers[i] >= 1e-300)) {
            low = fmin(low, bounded(numbers[i]));
            high = fmax(high, bounded(numbers[i]));
        }
    if (low > high)
        return log ? (rgmi_value_range){0.1, 1, true, 0} : (rgmi_value_range){0, 1, false, 0};
    return rgmi_range_widened(low, high, log, share);
}

/* ---- axes ---------------------------------------------------------------------------------- */

void rgmi_axis_of(rgmi_chart_axis *axis, rgmi_value_range range, double length, double room)
{
    double low = range.log ? log10(range.low) : range.low;
    double high = range.log ? log10(range.high) : range.high;

    rgmi_axis_set(axis, low, high, range.log, (int)fmax(2, length / room), range.least);
}

double rgmi_axis_share(const rgmi_chart_axis *axis, double number)
{
    if (!isfinite(number) || (axis->log && number < 1e-300))
        return NAN;
    number = axis->log ? log10(number) : fmax(-1e300, fmin(1e300, number));
    return fmax(-0.5, fmin(1.5, (number - axis->low) / (axis->high - axis->low)));
}

void rgmi_plane_indent(rgmi_plane *p, double left, rgmi_value_range x)
{
    p->width -= left - p->left;
    p->left = left;
    rgmi_axis_of(&p->x, x, p->width, x.log ? 42 : 62);
}

rgmi_plane rgmi_plane_of(double width, double height, rgmi_value_range x, rgmi_value_range y)
{
    rgmi_plane p = {.left = 0, .top = 26, .height = height - 26 - 44};
    size_t longest = 1;

    rgmi_axis_of(&p.y, y, p.height, y.log ? 24 : 34);
    for (int i = 0; i < p.y.count; i++)
        longest = strlen(p.y.labels[i]) > longest ? strlen(p.y.labels[i]) : longest;
    p.width = width - 16;
    rgmi_plane_indent(&p, 14 + (double)longest * RGMI_LETTER, x);
    return p;
}

double rgmi_plane_x(const rgmi_plane *p, double number)
{
    return p->left + p->width * rgmi_axis_share(&p->x, number);
}

double rgmi_plane_y(const rgmi_plane *p, double number)
{
    return p->top + p->height * (1 - rgmi_axis_share(&p->y, number));
}

static double tick_at(const rgmi_chart_axis *axis, int i)
{
    return (axis->ticks[i] - axis->low) / (axis->high - axis->low);
}

void rgmi_draw_plane(rgmi_drawing *d, const rgmi_plane *p, const char *x_name, const char *y_name,
                     bool x_ticks)
{
    double right = p->left + p->width, low = p->top + p->height;

    for (int i = 0; i < p->y.count; i++) {
        double y = low - p->height * tick_at(&p->y, i);

        rgmi_across(d, "g", p->left, y, right);
        rgmi_label(d, p->left - 6, y + 4, "e", p->y.labels[i]);
    }
    for (int i = 0; i < p->x.count && x_ticks; i++) {
        double x = p->left + p->width * tick_at(&p->x, i);

        rgmi_upright(d, "g", x, p->top, low);
        rgmi_label(d, x, low + 16, "m", p->x.labels[i]);
    }
    rgmi_across(d, "a", p->left, low, right);
    rgmi_mark(d, "\n");
    rgmi_draw_text(d, 0, 12, "start", "h", right, y_name);
    rgmi_draw_text(d, p->left + p->width / 2, low + 34, "middle", "", p->width + p->left, x_name);
}

void rgmi_draw_clip(rgmi_drawing *d, const rgmi_plane *p)
{
    d->ids++;
    rgmi_mark(
        d,
        "<clipPath id=\"clip%lld\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
        "</clipPath><g clip-path=\"url(#clip%lld)\">\n",
        (long long)d->ids, p->left - 5, p->top - 5, p->width + 10, p->height + 10,
        (long long)d->ids);
}

/* ---- curves -------------------------------------------------------------------------------- */

/* More points than can be told apart: of each group the lowest and the highest stay. */
static void draw_path(rgmi_drawing *d, const rgmi_plane *p, const rgm_report_point *points,
                      int64_t count, int64_t most)
{
    int64_t size = count > most ? (2 * count + most - 1) / most : 1, kept = 0;
    double *places = NULL;

    if (d->status == RGM_OK)
        d->status = RGM_NEW(places, 2 * count);
    for (int64_t from = 0; from < count && d->status == RGM_OK; from += size) {
        int64_t to = from + size < count ? from + size : count, low = from, high = from;

        for (int64_t i = from; i < to; i++) {
            low = points[i].metric < points[low].metric ? i : low;
            high = points[i].metric > points[high].metric ? i : high;
        }
        for (int pass = 0; pass < (low == high ? 1 : 2); pass++) {
            const rgm_report_point *at = &points[(pass == 0) == (low < high) ? low : high];

            places[2 * kept] = rgmi_plane_x(p, at->length);
            places[2 * kept++ + 1] = rgmi_plane_y(p, at->metric);
        }
    }
    rgmi_polyline(d, places, kept);
    rgm_free(places);
}

static bool stands(const rgmi_plane *p, const rgm_report_point *point)
{
    return isfinite(rgmi_axis_share(&p->x, point->length)) &&
           isfinite(rgmi_axis_share(&p->y, point->metric));
}

void rgmi_draw_curve(rgmi_drawing *d, const rgmi_plane *p, const rgm_report_point *points,
                     int64_t count, int64_t most, double alone, double end)
{
    int64_t from = 0;

    while (from < count) {
        int64_t to = from;

        while (to < count && stands(p, &points[to]))
            to++;
        if (to - from > 1)
            draw_path(d, p, points + from, to - from, most);
        if (to - from == 1 || (to > from && end > 0 && to == count))
            rgmi_dot(d, rgmi_plane_x(p, points[to - 1].length),
                     rgmi_plane_y(p, points[to - 1].metric), end > 0 ? end : alone);
        from = to + 1;
    }
}
