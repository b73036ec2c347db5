/* Charts over length and time: learning curves, importance, the front, slots. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw_internal.h"

/* "valid.loss (lower is better)" */
static void objective_name(char out[256], const rgm_search_report *r, int64_t objective)
{
    snprintf(out, 256, "%.200s (%s is better)", r->objectives[objective].name,
             r->objectives[objective].smaller_is_better ? "lower" : "higher");
}

/* ---- learning curves ----------------------------------------------------------------------- */

/** Numbers of points that are gathered for a range. */
typedef struct gathered {
    double *items;
    int64_t count, capacity;
} gathered;

static int compare_numbers(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

static rgm_status gather(gathered *out, const rgm_report_trial *trial)
{
    RGM_TRY(RGM_RESERVE(out->items, out->capacity, out->count + trial->point_count + 1));
    for (int64_t i = 0; i < trial->point_count; i++)
        if (isfinite(trial->points[i].metric))
            out->items[out->count++] = trial->points[i].metric;
    return RGM_OK;
}

/* All of the top trials, and the middle nine tenths of the others. */
static rgm_status curve_range(rgmi_value_range *out, const rgmi_report_view *v)
{
    rgm_status status = RGM_OK;
    gathered top = {0}, others = {0};
    int64_t skipped;
    bool log;

    for (int64_t i = 0; i < v->report->trial_count; i++)
        RGM_GO(gather(v->rank[i] >= 0 && v->rank[i] < MOST_TOP ? &top : &others,
                      &v->report->trials[i]));
    if (others.count > 0)
        qsort(others.items, (size_t)others.count, sizeof *others.items, compare_numbers);
    skipped = others.count / 20;
    RGM_GO(RGM_RESERVE(top.items, top.capacity, top.count + others.count + 1));
    for (int64_t i = skipped; i < others.count - skipped; i++)
        top.items[top.count++] = others.items[i];
    if (top.count > 0)
        qsort(top.items, (size_t)top.count, sizeof *top.items, compare_numbers);
    log = top.count > 0 && top.items[0] > 1e-300 && top.items[top.count - 1] > 30 * top.items[0];
    *out = rgmi_range_of(top.items, top.count, log, 0.05);
done:
    rgm_free(top.items);
    rgm_free(others.items);
    return status;
}

static rgmi_value_range length_range(const rgm_search_report *r)
{
    double last = 0;

    for (int64_t i = 0; i < r->trial_count; i++)
        for (int64_t k = 0; k < r->trials[i].point_count; k++)
            if (isfinite(r->trials[i].points[k].length))
                last = fmax(last, fmin(1e300, r->trials[i].points[k].length));
    return (rgmi_value_range){0, last > 0 ? last : 1, false, 1};
}

/* What is told apart, in the order of rank; as high as the chart is, on the right of it. */
static void draw_top_names(rgmi_drawing *d, const rgmi_report_view *v, double left, double room)
{
    for (int64_t i = 0; i < v->measured && i < MOST_TOP; i++) {
        const rgm_report_trial *trial = &v->report->trials[v->ranked[i]];
        double y = 34 + 20 * (double)i;

        rgmi_mark(d, "<path class=\"l w t%lld\" d=\"M%.1f %.1fh18\"/>", (long long)i, left, y - 4);
        rgmi_mark(d, "<text x=\"%.1f\" y=\"%.1f\">Trial %lld: %s</text>", left + 24, y,
                  (long long)trial->number, rgmi_number_text(4, trial->best[0]).text);
    }
    if (v->measured > MOST_TOP) {
        double y = 34 + 20.0 * MOST_TOP;

        rgmi_mark(d, "<path class=\"l n\" d=\"M%.1f %.1fh18\"/>", left, y - 4);
        rgmi_draw_text(d, left + 24, y, "start", "", room - 24, "other trials");
    }
}

void rgmi_draw_curves(rgmi_drawing *d, const rgmi_report_view *v, double width, double height)
{
    const rgm_search_report *r = v->report;
    double names = 150;
    rgmi_value_range y = {0, 1, false, 0};
    int64_t every, count;
    char name[256], metric[256] = "";
    rgmi_plane p;

    if (d->status == RGM_OK)
        d->status = curve_range(&y, v);
    p = rgmi_plane_of(width - names, height, length_range(r), y);
    snprintf(name, sizeof name, "trained %s", rgmi_report_unit(r));
    if (r->objective_count > 0)
        objective_name(metric, r, 0);
    rgmi_draw_plane(d, &p, name, metric, true);
    rgmi_draw_clip(d, &p);
    count = rgmi_view_sample(&every, v, MOST_GREY);
    for (int64_t i = 0; i < count; i++) {
        int64_t trial = v->ranked[v->sample[i]];

        if (v->sample[i] < MOST_TOP)
            continue;
        rgmi_mark(d, "<g class=\"n\">");
        rgmi_draw_title(d, v, trial);
        rgmi_draw_curve(d, &p, r->trials[trial].points, r->trials[trial].point_count, MOST_POINTS,
                        1.5, 0);
        rgmi_mark(d, "</g>\n");
    }
    for (int64_t i = (v->measured < MOST_TOP ? v->measured : MOST_TOP) - 1; i >= 0; i--) {
        const rgm_report_trial *trial = &r->trials[v->ranked[i]];

        rgmi_mark(d, "<g class=\"w t%lld\">", (long long)i);
        rgmi_draw_title(d, v, v->ranked[i]);
        rgmi_draw_curve(d, &p, trial->points, trial->point_count, MOST_POINTS, 3, 3);
        rgmi_mark(d, "</g>\n");
    }
    rgmi_mark(d, "</g>\n");
    draw_top_names(d, v, width - names + 4, names);
}

/* ---- importance ---------------------------------------------------------------------------- */

#define BAR_ROW 28.0

static int64_t importance_count(const rgmi_report_view *v)
{
    int64_t count = 0;

    while (count < v->varied_count && count < MOST_AXES &&
           isfinite(v->report->hypers[v->varied[count]].importance))
        count++;
    return count;
}

double rgmi_importance_height(const rgmi_report_view *v)
{
    return (double)importance_count(v) * BAR_ROW;
}

void rgmi_draw_importance(rgmi_drawing *d, const rgmi_report_view *v, double width)
{
    double left = fmin(200, width * 0.4), room = width - left - 60;

    for (int64_t i = 0; i < importance_count(v); i++) {
        const rgm_report_hyper *hyper = &v->report->hypers[v->varied[i]];
        double share = fmax(0, fmin(1, hyper->importance)), y = BAR_ROW * (double)i;
        char percent[32];

        snprintf(percent, sizeof percent, "%.1f %%", 100 * share);
        rgmi_draw_text(d, left - 8, y + 18, "end", "", left - 8, rgmi_short_name(v, v->varied[i]));
        rgmi_mark(d, "<rect class=\"track\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"18\"/>",
                  left, y + 5, room);
        rgmi_mark(d,
                  "<rect class=\"d t0\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"18\"><title>",
                  left, y + 5, fmax(1, room * share));
        rgmi_mark(d, "%s: %s</title></rect>", hyper->name, percent);
        rgmi_draw_text(d, left + room + 8, y + 18, "start", "", 60, percent);
    }
}

/* ---- front --------------------------------------------------------------------------------- */

static rgm_status objective_range(rgmi_value_range *out, const rgm_search_report *r,
                                  int64_t objective)
{
    rgm_status status = RGM_OK;
    double *numbers = NULL;
    rgmi_value_range plain;

    RGM_GO(RGM_NEW(numbers, r->trial_count + 1));
    for (int64_t i = 0; i < r->trial_count; i++)
        numbers[i] = r->trials[i].latest[objective];
    plain = rgmi_range_of(numbers, r->trial_count, false, 0);
    *out = rgmi_range_of(numbers, r->trial_count, plain.low > 1e-300 && plain.high > 30 * plain.low,
                         0.05);
done:
    rgm_free(numbers);
    return status;
}

static void draw_pair(rgmi_drawing *d, const rgmi_report_view *v, const rgmi_plane *p,
                      int64_t trial, int64_t other, const char *kind, double radius)
{
    const rgm_report_trial *t = &v->report->trials[trial];
    double x = rgmi_plane_x(p, t->latest[0]), y = rgmi_plane_y(p, t->latest[other]);

    if (!isfinite(x) || !isfinite(y))
        return;
    rgmi_mark(
        d,
        "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>Trial %lld: %s %s, %s %s",
        kind, x, y, radius, (long long)t->number, v->report->objectives[0].name,
        rgmi_number_text(4, t->latest[0]).text, v->report->objectives[other].name,
        rgmi_number_text(4, t->latest[other]).text);
    rgmi_mark(d, "</title></circle>\n");
}

void rgmi_draw_front(rgmi_drawing *d, const rgmi_report_view *v, int64_t other, double width,
                     double height)
{
    const rgm_search_report *r = v->report;
    rgmi_value_range x = {0, 1, false, 0}, y = {0, 1, false, 0};
    char x_name[256], y_name[256];
    int64_t every, count;
    rgmi_plane p;

    if (d->status == RGM_OK)
        d->status = objective_range(&x, r, 0);
    if (d->status == RGM_OK)
        d->status = objective_range(&y, r, other);
    p = rgmi_plane_of(width, height, x, y);
    objective_name(x_name, r, 0);
    objective_name(y_name, r, other);
    rgmi_draw_plane(d, &p, x_name, y_name, true);
    rgmi_draw_clip(d, &p);
    count = rgmi_view_sample(&every, v, MOST_DOTS);
    for (int64_t i = 0; i < count; i++)
        draw_pair(d, v, &p, v->ranked[v->sample[i]], other, "d n", 3);
    if (r->objective_count == 2 && v->front_count > 1) {
        rgmi_mark(d, "<path class=\"l best\" d=\"");
        for (int64_t i = 0; i < v->front_count; i++) {
            const rgm_report_trial *t = &r->trials[v->front[i]];

            rgmi_mark(d, i == 0 ? "M%.1f %.1f" : "H%.1fV%.1f", rgmi_plane_x(&p, t->latest[0]),
                      rgmi_plane_y(&p, t->latest[other]));
        }
        rgmi_mark(d, "\"/>\n");
    }
    for (int64_t i = 0; i < v->front_count && i < MOST_DOTS; i++)
        draw_pair(d, v, &p, v->front[i], other, "d best", 4.5);
    rgmi_mark(d, "</g>\n");
}

/* ---- timeline ------------------------------------------------------------------------------ */

typedef struct bar {
    int64_t slot, trial;
    double start, end;
} bar;

static int compare_bars(const void *one, const void *other)
{
    const bar *a = one, *b = other;

    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->trial > b->trial) - (a->trial < b->trial);
}

#define TIMELINE_TOP 6.0

/* When everything that is known had ended. */
static double last_end(const rgm_search_report *r)
{
    double last = isfinite(r->seconds) ? r->seconds : 0;

    for (int64_t i = 0; i < r->trial_count; i++)
        for (int64_t k = 0; k < r->trials[i].interval_count; k++) {
            const rgm_report_interval *at = &r->trials[i].intervals[k];

            last = isfinite(at->start) ? fmax(last, fmin(at->start, 1e12)) : last;
            last = isfinite(at->end) ? fmax(last, fmin(at->end, 1e12)) : last;
        }
    return last;
}

static int64_t slot_count(const rgm_search_report *r)
{
    int64_t count = 0;

    for (int64_t i = 0; i < r->trial_count; i++)
        for (int64_t k = 0; k < r->trials[i].interval_count; k++)
            if (r->trials[i].intervals[k].slot >= count)
                count = r->trials[i].intervals[k].slot + 1;
    return count > r->slots ? count : r->slots;
}

/* Of all slots, by slot and start; what cannot be drawn is left out. */
static rgm_status gather_bars(bar **out, int64_t *count, const rgm_search_report *r)
{
    double last = last_end(r);
    int64_t capacity = 0;

    for (int64_t i = 0; i < r->trial_count; i++)
        for (int64_t k = 0; k < r->trials[i].interval_count; k++) {
            const rgm_report_interval *at = &r->trials[i].intervals[k];
            double end = isfinite(at->end) ? at->end : last;

            if (at->slot < 0 || !isfinite(at->start) || at->start < 0 || end < at->start)
                continue;
            RGM_TRY(RGM_RESERVE(*out, capacity, *count + 1));
            (*out)[(*count)++] = (bar){at->slot, i, fmin(at->start, 1e12), fmin(end, 1e12)};
        }
    if (*count > 0)
        qsort(*out, (size_t)*count, sizeof **out, compare_bars);
    return RGM_OK;
}

double rgmi_report_busy(const rgm_search_report *r)
{
    double busy = 0, last = last_end(r);

    for (int64_t i = 0; i < r->trial_count; i++)
        for (int64_t k = 0; k < r->trials[i].interval_count; k++) {
            const rgm_report_interval *at = &r->trials[i].intervals[k];

            if (isfinite(at->start))
                busy += fmax(0, (isfinite(at->end) ? at->end : last) - at->start);
        }
    return busy > 0 && last > 0 ? busy / last / (double)slot_count(r) : NAN;
}

static int64_t shown_slots(const rgmi_report_view *v)
{
    int64_t count = slot_count(v->report);

    return count < MOST_SLOTS ? count : MOST_SLOTS;
}

static double slot_row(const rgmi_report_view *v)
{
    return shown_slots(v) <= 16 ? 26 : 14;
}

double rgmi_timeline_height(const rgmi_report_view *v)
{
    for (int64_t i = 0; i < v->report->trial_count; i++)
        if (v->report->trials[i].interval_count > 0)
            return TIMELINE_TOP + 44 + slot_row(v) * (double)shown_slots(v);
    return 0;
}

/* The largest unit of which there are three or more. */
static const char *time_unit(double *seconds, double whole)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"days", 86400}, {"hours", 3600}, {"minutes", 60}, {"seconds", 1}};

    for (size_t i = 0; i < 3; i++)
        if (whole >= 3 * units[i].seconds) {
            *seconds = units[i].seconds;
            return units[i].name;
        }
    *seconds = 1;
    return units[3].name;
}

/* By slot; those that would be too narrow are drawn together, with the colour of the best. */
static void draw_bars(rgmi_drawing *d, const rgmi_report_view *v, const rgmi_plane *p,
                      const bar *bars, int64_t count, double unit)
{
    double least = fmax(0.8, p->width * (double)shown_slots(v) / MOST_BARS);

    for (int64_t i = 0; i < count;) {
        double x = rgmi_plane_x(p, bars[i].start / unit), end = rgmi_plane_x(p, bars[i].end / unit);
        double y = p->top + slot_row(v) * (double)bars[i].slot + 2;
        int64_t next = i + 1;
        int tone = v->tone[bars[i].trial];

        for (; next < count && bars[next].slot == bars[i].slot &&
               rgmi_plane_x(p, bars[next].start / unit) - x < least;
             next++) {
            end = fmax(end, rgmi_plane_x(p, bars[next].end / unit));
            tone = v->tone[bars[next].trial] > tone ? v->tone[bars[next].trial] : tone;
        }
        rgmi_mark(d, "<rect class=\"d ");
        if (tone < 0)
            rgmi_mark(d, "n");
        else
            rgmi_mark(d, "c%d", tone);
        rgmi_mark(d, "\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">", x, y,
                  fmax(least, end - x - (end - x > 3 ? 0.6 : 0)), slot_row(v) - 4);
        if (next - i == 1)
            rgmi_draw_title(d, v, bars[i].trial);
        else
            rgmi_mark(d, "<title>%lld times of trials</title>", (long long)(next - i));
        rgmi_mark(d, "</rect>\n");
        i = next;
    }
}

void rgmi_draw_timeline(rgmi_drawing *d, const rgmi_report_view *v, double width)
{
    double unit, last = last_end(v->report), row = slot_row(v);
    const char *name = time_unit(&unit, last);
    int64_t count = 0, shown = 0;
    bar *bars = NULL;
    char label[64];
    rgmi_plane p = rgmi_plane_of(width, rgmi_timeline_height(v),
                                 (rgmi_value_range){0, fmax(last / unit, 1e-9), false, 0},
                                 (rgmi_value_range){0, 1, false, 0});

    p.y.count = 0;
    p.height += p.top - TIMELINE_TOP;
    p.top = TIMELINE_TOP;
    rgmi_plane_indent(&p, 62, (rgmi_value_range){0, fmax(last / unit, 1e-9), false, 0});
    snprintf(label, sizeof label, "%s since the search began", name);
    rgmi_draw_plane(d, &p, label, "", true);
    for (int64_t i = 0; i < shown_slots(v); i++)
        rgmi_mark(d, "<text class=\"e\" x=\"56\" y=\"%.1f\">slot %lld</text>\n",
                  p.top + row * ((double)i + 0.5) + 4, (long long)i);
    if (d->status == RGM_OK)
        d->status = gather_bars(&bars, &count, v->report);
    while (shown < count && bars[shown].slot < shown_slots(v))
        shown++;
    if (d->status == RGM_OK)
        draw_bars(d, v, &p, bars, shown, unit);
    rgm_free(bars);
}
