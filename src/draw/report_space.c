/* Charts over hyperparameters: parallel coordinates and slices. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw_internal.h"

static double choice_share(const rgm_report_hyper *hyper, int64_t choice)
{
    return ((double)choice + 0.5) / (double)hyper->choice_count;
}

/* Trials of one choice stand beside each other: by their numbers, evenly (golden ratio). */
static double choice_spread(const rgm_report_hyper *hyper, const rgm_report_trial *trial,
                            int64_t choice)
{
    double turns = (double)(trial->number % 100000) * 0.6180339887498949;
    double aside = turns - floor(turns) - 0.5;

    return choice_share(hyper, choice) + 0.6 * aside / (double)hyper->choice_count;
}

/* ---- parallel coordinates ------------------------------------------------------------------ */

/** An axis that stands upright: a hyperparameter, or the metric where that is NULL. */
typedef struct upright {
    const rgm_report_hyper *hyper;
    int64_t index; /* of the hyperparameter */
    rgmi_chart_axis axis;
    double x;
} upright;

#define ABOVE 44.0
#define BELOW 34.0 /* where what is not set stands */

static double upright_y(const upright *u, const rgmi_report_view *v, int64_t trial, double height)
{
    double room = height - ABOVE - BELOW, share;

    if (u->hyper == NULL) {
        share = rgmi_axis_share(&u->axis, rgmi_report_metric(v, trial));
    } else {
        const rgm_report_value *value = &v->report->trials[trial].values[u->index];

        if (!value->is_set)
            return height - 10;
        share = u->hyper->scale == RGM_REPORT_CHOICE
                    ? choice_spread(u->hyper, &v->report->trials[trial], value->choice)
                    : rgmi_axis_share(&u->axis, value->number);
    }
    if (!isfinite(share)) /* of a logarithmic axis what is not above 0 */
        return height - 10;
    return ABOVE + room * (1 - fmax(0, fmin(1, share)));
}

static void draw_upright(rgmi_drawing *d, const upright *u, const char *name, bool is_first,
                         bool any, double step, double height)
{
    double room = height - ABOVE - BELOW;

    rgmi_upright(d, "a", u->x, ABOVE, ABOVE + room);
    rgmi_draw_text(d, u->x, 20, is_first ? "start" : "middle", "h", step, name);
    for (int i = 0; i < u->axis.count && (u->hyper == NULL || u->hyper->scale != RGM_REPORT_CHOICE);
         i++) {
        double share = (u->axis.ticks[i] - u->axis.low) / (u->axis.high - u->axis.low);
        double y = ABOVE + room * (1 - share);

        rgmi_mark(d, "<path class=\"a\" d=\"M%.1f %.1fh5\"/>", u->x, y);
        rgmi_mark(d, "<text class=\"o\" x=\"%.1f\" y=\"%.1f\">%s</text>", u->x + 8, y + 4,
                  u->axis.labels[i]);
    }
    if (u->hyper != NULL && u->hyper->scale == RGM_REPORT_CHOICE) {
        int64_t every = (int64_t)ceil((double)u->hyper->choice_count * 16 / room);

        for (int64_t i = 0; i < u->hyper->choice_count; i += every) {
            double y = ABOVE + room * (1 - choice_share(u->hyper, i));

            rgmi_mark(d, "<path class=\"a\" d=\"M%.1f %.1fh5\"/>", u->x, y);
            rgmi_draw_text(d, u->x + 8, y + 4, "start", "o", step - 12, u->hyper->choices[i]);
        }
    }
    if (any)
        rgmi_mark(d, "<text class=\"o\" x=\"%.1f\" y=\"%.1f\">not set</text>", u->x + 8,
                  height - 6);
}

static void draw_line(rgmi_drawing *d, const rgmi_report_view *v, const upright *axes,
                      int64_t count, int64_t rank, double height)
{
    int64_t trial = v->ranked[rank];

    if (rank == 0)
        rgmi_mark(d, "<g class=\"best b\">");
    else
        rgmi_mark(d, "<g class=\"c%d\">", v->tone[trial]);
    rgmi_draw_title(d, v, trial);
    rgmi_mark(d, "<polyline class=\"l\" points=\"");
    for (int64_t i = 0; i < count; i++)
        rgmi_mark(d, "%.1f,%.1f ", axes[i].x, upright_y(&axes[i], v, trial, height));
    rgmi_mark(d, "\"/></g>\n");
}

static bool any_unset(const rgmi_report_view *v, const upright *u)
{
    for (int64_t i = 0; i < v->report->trial_count && u->hyper != NULL; i++)
        if (v->rank[i] >= 0 && !v->report->trials[i].values[u->index].is_set)
            return true;
    return false;
}

void rgmi_draw_parallel(rgmi_drawing *d, const rgmi_report_view *v, int64_t most, double width,
                        double height)
{
    upright axes[MOST_UPRIGHT + 1];
    int64_t count = v->varied_count < most ? v->varied_count : most, every, lines;
    double step = (width - 90) / (double)count;

    for (int64_t i = 0; i <= count; i++) {
        rgmi_value_range range = v->metric;
        upright *u = &axes[i];

        *u = (upright){.index = i < count ? v->varied[i] : -1, .x = 10 + step * (double)i};
        if (i < count) {
            u->hyper = &v->report->hypers[u->index];
            if (d->status == RGM_OK)
                d->status = rgmi_hyper_range(&range, v, u->index, 0);
        }
        rgmi_axis_of(&u->axis, range, height - ABOVE - BELOW, 34);
    }
    lines = rgmi_view_sample(&every, v, MOST_LINES);
    rgmi_mark(d, "<g class=\"p%d\">", lines > 200 ? 3 : lines > 60 ? 2 : 1);
    for (int64_t i = 0; i < lines; i++)
        draw_line(d, v, axes, count + 1, v->sample[i], height);
    rgmi_mark(d, "</g>\n");
    for (int64_t i = 0; i <= count; i++)
        draw_upright(d, &axes[i],
                     i < count ? rgmi_short_name(v, axes[i].index) : v->report->objectives[0].name,
                     i == 0, any_unset(v, &axes[i]), step, height);
}

/* ---- slices -------------------------------------------------------------------------------- */

/* Ticks of a choice axis from left to right: every k-th where there is no room for all. */
static void draw_choices(rgmi_drawing *d, const rgmi_plane *p, const rgm_report_hyper *hyper)
{
    int64_t every = (int64_t)ceil((double)hyper->choice_count * 70 / p->width);

    for (int64_t i = 0; i < hyper->choice_count; i += every) {
        double x = p->left + p->width * choice_share(hyper, i), low = p->top + p->height;

        rgmi_upright(d, "g", x, p->top, low);
        rgmi_draw_text(d, x, low + 16, "middle", "",
                       p->width / (double)hyper->choice_count * (double)every, hyper->choices[i]);
    }
}

static void draw_dot(rgmi_drawing *d, const rgmi_report_view *v, const rgmi_plane *p, int64_t hyper,
                     int64_t rank)
{
    int64_t trial = v->ranked[rank];
    const rgm_report_hyper *h = &v->report->hypers[hyper];
    const rgm_report_value *value = &v->report->trials[trial].values[hyper];
    double y =
        fmax(p->top, fmin(p->top + p->height, rgmi_plane_y(p, rgmi_report_metric(v, trial))));
    double x = NAN;

    if (!value->is_set)
        return;
    if (h->scale == RGM_REPORT_CHOICE)
        x = p->left + p->width * choice_spread(h, &v->report->trials[trial], value->choice);
    else
        x = rgmi_plane_x(p, value->number);
    if (!isfinite(x) || !isfinite(y))
        return;
    rgmi_mark(d, "<circle cx=\"%.1f\" cy=\"%.1f\" ", x, y);
    if (rank == 0)
        rgmi_mark(d, "r=\"5\" class=\"d best\">");
    else
        rgmi_mark(d, "r=\"3\" class=\"d c%d\">", v->tone[trial]);
    rgmi_draw_title(d, v, trial);
    rgmi_mark(d, "</circle>\n");
}

void rgmi_draw_slice(rgmi_drawing *d, const rgmi_report_view *v, int64_t hyper, double width,
                     double height)
{
    const rgm_report_hyper *h = &v->report->hypers[hyper];
    rgmi_value_range x = {0, 1, false, 0};
    int64_t every, count = rgmi_view_sample(&every, v, MOST_DOTS);
    rgmi_plane p;

    if (d->status == RGM_OK && h->scale != RGM_REPORT_CHOICE)
        d->status = rgmi_hyper_range(&x, v, hyper, 0.04);
    p = rgmi_plane_of(width, height, x, v->metric);
    rgmi_draw_plane(d, &p, h->name, v->report->objectives[0].name, h->scale != RGM_REPORT_CHOICE);
    if (h->scale == RGM_REPORT_CHOICE)
        draw_choices(d, &p, h);
    rgmi_draw_clip(d, &p);
    for (int64_t i = 0; i < count; i++)
        draw_dot(d, v, &p, hyper, v->sample[i]);
    rgmi_mark(d, "</g>\n");
}
