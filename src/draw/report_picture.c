/* The charts as one picture in SVG, in light colours: an overview. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw_internal.h"
#include "draw_look.h"

#define PICTURE_WIDTH 1200.0
#define INSIDE        (PICTURE_WIDTH - 60)

static void begin_part(rgmi_drawing *d, double x, double y, const char *name)
{
    rgmi_mark(
        d, "<g transform=\"translate(%.0f %.0f)\"><text class=\"h s\" x=\"0\" y=\"0\">%s</text>\n",
        x, y, name);
    rgmi_mark(d, "<g transform=\"translate(0 20)\">\n");
}

static void end_part(rgmi_drawing *d)
{
    rgmi_mark(d, "</g></g>\n");
}

static double draw_top(rgmi_drawing *d, const rgmi_report_view *v, double y)
{
    double right = rgmi_importance_height(v) > 0 ? 380 : 0;

    begin_part(d, 30, y, "Learning curves");
    rgmi_draw_curves(d, v, INSIDE - right, 330);
    end_part(d);
    if (right > 0) {
        begin_part(d, 30 + INSIDE - right + 30, y, "Importance (fANOVA)");
        rgmi_draw_importance(d, v, right - 30);
        if (v->report->importance_over != NULL)
            rgmi_draw_text(d, 0, rgmi_importance_height(v) + 20, "start", "", right - 30,
                           v->report->importance_over);
        end_part(d);
    }
    return y + 390;
}

/* The front, where there is one, and the slices of what is most important. */
static double draw_middle(rgmi_drawing *d, const rgmi_report_view *v, double y)
{
    int64_t fronts = v->front_count > 0 ? 1 : 0, next = 0;
    double width = (INSIDE - 40) / 3;

    for (int64_t i = 0; i < 3 && i < v->varied_count + fronts; i++) {
        double x = 30 + (width + 20) * (double)i;

        begin_part(d, x, y,
                   i == 0 && fronts > 0 ? "Pareto front"
                   : i == fronts        ? "Hyperparameters one by one"
                                        : "");
        if (i < fronts)
            rgmi_draw_front(d, v, 1, width, 260);
        else
            rgmi_draw_slice(d, v, v->varied[next++], width, 260);
        end_part(d);
    }
    return v->varied_count + fronts > 0 ? y + 320 : y;
}

static double draw_parts(rgmi_drawing *d, const rgmi_report_view *v)
{
    int64_t axes = v->varied_count < MOST_UPRIGHT ? v->varied_count : MOST_UPRIGHT;
    double y = 130;

    if (v->measured == 0) {
        rgmi_mark(d, "<text x=\"30\" y=\"130\">%s</text>\n",
                  v->report->trial_count == 0 ? "There is no trial yet."
                                              : "No trial has a finite metric.");
        y += 40;
    } else {
        y = draw_top(d, v, y);
    }
    if (v->measured > 0 && axes > 0) {
        begin_part(d, 30, y, "Hyperparameters together");
        rgmi_draw_parallel(d, v, axes, INSIDE, 360);
        end_part(d);
        y = draw_middle(d, v, y + 420);
    }
    if (rgmi_timeline_height(v) > 0) {
        begin_part(d, 30, y, "Slots over time");
        rgmi_draw_timeline(d, v, INSIDE);
        end_part(d);
        y += rgmi_timeline_height(v) + 50;
    }
    return y;
}

/* One rule for all charts, which draw at most MOST_LINES or some like it. */
static void put_sampling(rgmi_drawing *d, const rgmi_report_view *v)
{
    if (v->measured > MOST_GREY)
        rgmi_mark(
            d,
            "<text x=\"30\" y=\"88\">Charts draw %d to %d trials: half of them the best, half "
            "spread evenly over the ranks of the others.</text>\n",
            MOST_GREY, MOST_DOTS);
}

void rgmi_report_picture(rgmi_drawing *d, const rgmi_report_view *v)
{
    const rgm_search_report *r = v->report;
    rgmi_drawing parts = {.status = d->status};
    double height = draw_parts(&parts, v);

    d->status = parts.status;
    rgmi_mark(d,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
              "height=\"%.0f\" role=\"img\" aria-label=\"%s\">\n<style>" MARKS LIGHT
              ".s{font-size:14px}.x{font-size:20px}</style>\n"
              "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
              PICTURE_WIDTH, height, PICTURE_WIDTH, height, rgmi_report_title(r));
    rgmi_draw_text(d, 30, 44, "start", "h x", INSIDE * 0.5, rgmi_report_title(r));
    rgmi_mark(d, "<text x=\"30\" y=\"68\">%s trials; %s", rgmi_count_text(r->trial_count).text,
              v->measured > 0 ? "the best is trial " : "none has a finite metric");
    if (v->measured > 0)
        rgmi_mark(d, "%lld with %s %s", (long long)r->trials[v->ranked[0]].number,
                  r->objectives[0].name,
                  rgmi_number_text(4, rgmi_report_metric(v, v->ranked[0])).text);
    rgmi_mark(d, "</text>\n");
    put_sampling(d, v);
    if (v->measured > 0) {
        rgmi_mark(d, "<g transform=\"translate(%.0f 28)\">\n",
                  PICTURE_WIDTH - 30 - TONES_WIDTH + 10);
        rgmi_draw_tones(d, v);
        rgmi_mark(d, "</g>\n");
    }
    if (d->status == RGM_OK && parts.out.size > 0)
        d->status = rgm_text_add(&d->out, parts.out.data, parts.out.size);
    rgm_text_clear(&parts.out);
    rgmi_mark(d, "</svg>\n");
}
