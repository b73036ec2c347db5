/* Learning curves of runs: a legend above rows of panels, as SVG or in pixels. */
#include <math.h>
#include <regimen/data_folds.h>
#include <string.h>

#include "draw_internal.h"
#include "draw_look.h"

#define MARGIN       16.0
#define LEGEND_ROW   20.0
#define LEGEND_BELOW 10.0
#define SWATCH       30.0 /* a line and the space behind it */
#define LONGEST_NAME 60   /* letters of a legend's text     */
#define PANEL_WIDTH  310.0
#define PANEL_HEIGHT 245.0
#define BETWEEN      8.0 /* rows of panels */
#define LARGEST_PART 8   /* parts of which the legend tells */

/* ---- the figure ---------------------------------------------------------------------------- */

rgm_status rgm_figure_add_panel(rgm_panel **out, rgm_figure *f, const char *title)
{
    for (int64_t i = 0; i < f->panel_count; i++) {
        *out = &f->panels[i];
        if (strcmp((*out)->title, title) == 0)
            return RGM_OK;
    }
    RGM_TRY(RGM_RESERVE(f->panels, f->panel_capacity, f->panel_count + 1));
    *out = &f->panels[f->panel_count++];
    **out = (rgm_panel){0};
    return rgm_strdup(&(*out)->title, title);
}

rgm_status rgm_panel_add_curve(rgm_panel *panel, int64_t run, const rgm_curve *curve)
{
    for (int64_t i = 0; i < panel->count; i++)
        if (panel->curves[i].curve == curve)
            return RGM_OK;
    RGM_TRY(RGM_RESERVE(panel->curves, panel->capacity, panel->count + 1));
    panel->curves[panel->count++] = (rgm_drawn_curve){curve, run};
    return RGM_OK;
}

void rgm_figure_clear(rgm_figure *f)
{
    for (int64_t i = 0; i < f->run_count; i++)
        rgm_run_curves_clear(&f->runs[i]);
    rgm_free(f->runs);
    for (int64_t i = 0; i < f->panel_count; i++) {
        rgm_free(f->panels[i].title);
        rgm_free(f->panels[i].curves);
    }
    rgm_free(f->panels);
    *f = (rgm_figure){0};
}

/* ---- looks --------------------------------------------------------------------------------- */

/** Where everything stands, in points. */
typedef struct layout {
    const rgm_figure *figure;
    double width, height, scale; /* of the page; pixels a point */
    int64_t columns, rows;
    double panel_width, panel_height, legend_height;
    rgmi_value_range steps;
    rgmi_plane *planes;              /* [panels]   */
    const char *parts[LARGEST_PART]; /* that occur */
    int64_t part_count, items_a_row;
    double item_width;
} layout;

/* The usual parts first, in this order and these hues in every picture. */
static int part_rank(const char *part)
{
    int rank = 0;

    while (rgm_split_names[rank] != NULL && strcmp(part, rgm_split_names[rank]) != 0)
        rank++;
    return rank;
}

/* One run: a hue a part. Several: a hue a run, then dashes; the train part thin and pale. */
static rgmi_look look_of(const layout *l, int64_t run, const char *part)
{
    if (l->figure->run_count == 1)
        return (rgmi_look){.hue = part_rank(part)};
    return (rgmi_look){.hue = (int)(run % RGMI_HUES),
                       .dash = (int)(run / RGMI_HUES % RGMI_DASHES),
                       .pale = l->part_count > 1 && strcmp(part, "train") == 0};
}

static void note_part(layout *l, const char *part)
{
    int64_t at = l->part_count;

    for (int64_t i = 0; i < l->part_count; i++)
        if (strcmp(l->parts[i], part) == 0)
            return;
    if (at == LARGEST_PART)
        return;
    for (l->part_count++; at > 0 && part_rank(l->parts[at - 1]) > part_rank(part); at--)
        l->parts[at] = l->parts[at - 1];
    l->parts[at] = part;
}

/* ---- legend -------------------------------------------------------------------------------- */

/* The runs, then what tells the parts of each from another. */
static int64_t item_count(const layout *l)
{
    int64_t runs = l->figure->run_count;

    return runs + (l->part_count > 1 || runs == 1 ? l->part_count : 0);
}

/* Of one run its name alone. */
static bool is_title(const layout *l, int64_t i)
{
    return i == 0 && l->figure->run_count == 1;
}

static const char *item_text(const layout *l, int64_t i)
{
    int64_t runs = l->figure->run_count;

    return i < runs ? l->figure->runs[i].name : l->parts[i - runs];
}

static void draw_item(rgmi_drawing *d, const layout *l, int64_t i)
{
    int64_t runs = l->figure->run_count;
    double x = MARGIN + (double)(i % l->items_a_row) * l->item_width;
    double y = MARGIN + LEGEND_ROW * ((double)(i / l->items_a_row) + 0.5);
    rgmi_look look = i < runs ? look_of(l, i, "") : look_of(l, 0, l->parts[i - runs]);

    if (is_title(l, i)) {
        rgmi_draw_text(d, x, y + 4, "start", "h", (LONGEST_NAME + 1) * RGMI_BOLD, item_text(l, i));
        return;
    }
    if (i >= runs && runs > 1)
        look.hue = RGMI_INK;
    rgmi_begin_look(d, look);
    rgmi_across(d, "l", x, y, x + 22);
    rgmi_mark(d, "</g>");
    rgmi_draw_text(d, x + SWATCH, y + 4, "start", "", (LONGEST_NAME + 1) * RGMI_LETTER,
                   item_text(l, i));
}

/* For an item's text as it is shown. */
static rgm_status make_room(layout *l, int64_t i)
{
    rgm_text shown = {0};
    double letters, width;

    RGM_TRY(rgm_text_add_visible(&shown, item_text(l, i)));
    letters = shown.data != NULL ? (double)rgmi_letters_of(shown.data) : 0;
    rgm_text_clear(&shown);
    letters = fmin(LONGEST_NAME, letters);
    width = is_title(l, i) ? letters * RGMI_BOLD : letters * RGMI_LETTER + SWATCH;
    l->item_width = fmax(l->item_width, width + 18);
    return RGM_OK;
}

static rgm_status set_legend(layout *l)
{
    const rgm_figure *f = l->figure;
    int64_t count;

    for (int64_t p = 0; p < f->panel_count; p++)
        for (int64_t i = 0; i < f->panels[p].count; i++)
            note_part(l, f->panels[p].curves[i].curve->split);
    count = item_count(l);
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(make_room(l, i));
    l->items_a_row = (int64_t)fmax(1, floor((l->width - 2 * MARGIN) / l->item_width));
    l->legend_height =
        (double)((count + l->items_a_row - 1) / l->items_a_row) * LEGEND_ROW + LEGEND_BELOW;
    return RGM_OK;
}

/* ---- panels -------------------------------------------------------------------------------- */

static rgm_status value_range(rgmi_value_range *out, const rgm_figure *f, const rgm_panel *panel)
{
    double low = INFINITY, high = -INFINITY;

    for (int64_t i = 0; i < panel->count; i++)
        for (int64_t k = 0; k < panel->curves[i].curve->count; k++) {
            double value = panel->curves[i].curve->points[k].value;

            if (isfinite(value) && (!f->log || value >= 1e-300)) {
                low = fmin(low, value);
                high = fmax(high, value);
            }
        }
    if (low > high)
        return RGM_FAIL(RGM_ERR_DATA, "%s has no finite value%s: there is nothing to draw",
                        panel->title, f->log ? " above 0" : "");
    *out = rgmi_range_widened(low, high, f->log, 0.04);
    return RGM_OK;
}

/* Steps are the same for all panels, so that one can look across. */
static rgmi_value_range step_range(const rgm_figure *f)
{
    double first = INFINITY, last = -INFINITY;

    for (int64_t p = 0; p < f->panel_count; p++)
        for (int64_t i = 0; i < f->panels[p].count; i++) {
            const rgm_curve *c = f->panels[p].curves[i].curve;

            for (int64_t k = 0; k < c->count; k++) {
                first = fmin(first, (double)c->points[k].step);
                last = fmax(last, (double)c->points[k].step);
            }
        }
    if (first == last)
        return (rgmi_value_range){first - 1, last + 1, false, 1};
    return (rgmi_value_range){first < 0.2 * last ? 0 : first, last, false, 1};
}

/* Areas of one size, as far to the right as the longest label of all asks for. */
static rgm_status set_panels(layout *l)
{
    const rgm_figure *f = l->figure;
    double left = 0;

    l->steps = step_range(f);
    RGM_TRY(RGM_NEW(l->planes, f->panel_count));
    for (int64_t p = 0; p < f->panel_count; p++) {
        rgmi_value_range values;

        RGM_TRY(value_range(&values, f, &f->panels[p]));
        l->planes[p] = rgmi_plane_of(l->panel_width, l->panel_height, l->steps, values);
        left = fmax(left, l->planes[p].left);
    }
    for (int64_t p = 0; p < f->panel_count; p++)
        rgmi_plane_indent(&l->planes[p], left, l->steps);
    return RGM_OK;
}

/* The page by default has panels of one size; a page of a given size is shared among them. */
static rgm_status lay_out(layout *l, const rgm_figure *f, bool png)
{
    int64_t count = f->panel_count;
    double width, above;

    *l = (layout){.figure = f, .scale = 1};
    l->columns = count <= 3 ? count : count == 4 ? 2 : 3;
    l->rows = (count + l->columns - 1) / l->columns;
    l->width = width = 2 * MARGIN + (double)l->columns * PANEL_WIDTH;
    if (png) /* the same picture in finer pixels */
        l->scale = f->width > 0 ? fmax(1, (double)f->width / width) : 2;
    if (f->width > 0)
        l->width = (double)f->width / l->scale;
    RGM_TRY(set_legend(l));
    above = MARGIN + l->legend_height;
    l->height = f->height > 0 ? (double)f->height / l->scale
                              : above + (double)l->rows * (PANEL_HEIGHT + BETWEEN);
    l->panel_width = (l->width - 2 * MARGIN) / (double)l->columns;
    l->panel_height = (l->height - above) / (double)l->rows - BETWEEN;
    if (l->panel_height >= 110 && l->panel_width >= 120)
        return set_panels(l);
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "--size is too small for %lld panels and a legend of %lld entries",
                    (long long)count, (long long)item_count(l));
}

/* ---- marks --------------------------------------------------------------------------------- */

static rgm_status points_of(rgm_report_point **out, const rgm_curve *c)
{
    RGM_TRY(RGM_NEW(*out, c->count));
    for (int64_t i = 0; i < c->count; i++)
        (*out)[i] = (rgm_report_point){(double)c->points[i].step, c->points[i].value};
    return RGM_OK;
}

/* What is pale first, so that it lies behind. */
static rgm_status draw_panel(rgmi_drawing *d, const layout *l, int64_t p)
{
    const rgm_panel *panel = &l->figure->panels[p];
    const rgmi_plane *plane = &l->planes[p];

    rgmi_begin_at(d, MARGIN + (double)(p % l->columns) * l->panel_width,
                  MARGIN + l->legend_height +
                      (double)(p / l->columns) * (l->panel_height + BETWEEN));
    rgmi_draw_plane(d, plane, "step", panel->title, true);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < panel->count; i++) {
            const rgm_curve *c = panel->curves[i].curve;
            rgm_report_point *points;

            if ((strcmp(c->split, "train") == 0) != (pass == 0))
                continue;
            RGM_TRY(points_of(&points, c));
            rgmi_begin_look(d, look_of(l, panel->curves[i].run, c->split));
            rgmi_draw_curve(d, plane, points, c->count, 2 * (int64_t)plane->width, 2.2, 0);
            rgmi_mark(d, "</g>\n");
            rgm_free(points);
        }
    rgmi_end_at(d);
    return d->status;
}

static rgm_status draw_page(rgmi_drawing *d, const layout *l)
{
    rgmi_mark(
        d,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
        "height=\"%.0f\" role=\"img\" aria-label=\"Learning curves\">\n<style>" MARKS LIGHT CURVES
        "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        l->width, l->height, l->width, l->height);
    for (int64_t i = 0; i < item_count(l); i++)
        draw_item(d, l, i);
    for (int64_t p = 0; p < l->figure->panel_count; p++)
        RGM_TRY(draw_panel(d, l, p));
    rgmi_mark(d, "</svg>\n");
    return d->status;
}

rgm_status rgm_figure_svg(rgm_text *out, const rgm_figure *f)
{
    rgm_status status = RGM_OK;
    rgmi_drawing d = {0};
    layout l = {0};

    RGM_GO(lay_out(&l, f, false));
    RGM_GO(draw_page(&d, &l));
    RGM_GO(rgm_text_add(out, d.out.data, d.out.size));
done:
    rgm_free(l.planes);
    rgm_text_clear(&d.out);
    return status;
}

rgm_status rgm_figure_png(rgm_text *out, const rgm_figure *f)
{
    rgm_status status = RGM_OK;
    rgm_text png = {0};
    rgmi_drawing d = {0};
    layout l = {0};

    RGM_GO(lay_out(&l, f, true));
    RGM_GO(rgmi_pixels_create(&d.pixels, l.width, l.height, l.scale));
    RGM_GO(draw_page(&d, &l));
    RGM_GO(rgmi_pixels_png(&png, d.pixels));
    RGM_GO(rgm_text_add(out, png.data, png.size));
done:
    rgm_free(l.planes);
    rgm_text_clear(&png);
    rgmi_pixels_release(d.pixels);
    return status;
}
