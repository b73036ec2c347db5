/*
 * The figure: a legend above rows of panels. PLplot measures text by another font than the one it
 * draws with, so the room that text needs is reckoned here, from its length.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

#define LETTER       (0.57 * FONT) /* mean advance of a sans-serif letter */
#define MARGIN       16.0
#define GAP          22.0 /* between panels                   */
#define ABOVE        22.0 /* a panel's title                  */
#define BELOW        36.0 /* a panel's tick labels and "step" */
#define LEGEND_ROW   18.0
#define LEGEND_BELOW 4.0
#define SWATCH       30.0 /* a line and the space behind it */
#define LONGEST_NAME 60   /* letters of a legend's text     */
#define PANEL_WIDTH  250.0
#define PANEL_HEIGHT 175.0

/* Okabe and Ito, Color Universal Design (2008), without the yellow that white paper swallows. */
const unsigned char plot_hues[HUES][3] = {{0, 114, 178},   {213, 94, 0},  {0, 158, 115},
                                          {204, 121, 167}, {230, 159, 0}, {86, 180, 233},
                                          {0, 0, 0}};
#define BLACK (HUES - 1) /* not a run's: the legend's parts */

/* ---- looks --------------------------------------------------------------------------------- */

static int color_of(int64_t hue, bool tint)
{
    return COLOR_HUES + 2 * (int)hue + tint;
}

/* The usual parts first, in this order and these hues in every picture. */
static int64_t part_rank(const char *part)
{
    static const char *const usual[] = {"train", "valid", "test"};
    int64_t rank = 0;

    while (rank < 3 && strcmp(part, usual[rank]) != 0)
        rank++;
    return rank;
}

/* One run: a hue a part. Several: a hue a run, then dashes; the train part thin and pale. */
plot_look look_of(const plot_layout *l, int64_t run, const char *part)
{
    bool pale = l->part_count > 1 && strcmp(part, "train") == 0;

    if (l->figure->run_count == 1)
        return (plot_look){color_of(part_rank(part), false), 1, 1.5};
    return (plot_look){color_of(run % BLACK, pale), 1 + (int)(run / BLACK % 4), pale ? 1.1 : 1.5};
}

bool is_drawn(const plot_figure *figure, double value)
{
    return isfinite(value) && (!figure->log || value > 0);
}

/* ---- legend -------------------------------------------------------------------------------- */

static int64_t letters(const char *text)
{
    int64_t count = 0;

    for (; *text != '\0'; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

/* A long name ends in an ellipsis. */
static void shorten(char *name)
{
    int64_t count = 0;

    for (char *at = name; *at != '\0'; at++) {
        count += (*at & 0xc0) != 0x80;
        if (count == LONGEST_NAME && strlen(at) > 3) {
            memcpy(at, "\xe2\x80\xa6", 4);
            return;
        }
    }
}

static rgm_status add_item(plot_layout *l, const char *text, bool is_title, plot_look look)
{
    plot_legend_item *item = &l->items[l->item_count++];
    double width;

    *item = (plot_legend_item){.is_title = is_title, .look = look};
    RGM_TRY(printable(&item->text, text));
    shorten(item->text);
    width = (double)letters(item->text) * LETTER + (is_title ? 0 : SWATCH) + 16;
    l->item_width = fmax(l->item_width, width);
    return RGM_OK;
}

static void note_part(plot_layout *l, const char *part)
{
    int64_t at = l->part_count;

    for (int64_t i = 0; i < l->part_count; i++)
        if (strcmp(l->parts[i], part) == 0)
            return;
    if (at == (int64_t)(sizeof l->parts / sizeof *l->parts))
        return;
    for (l->part_count++; at > 0 && part_rank(l->parts[at - 1]) > part_rank(part); at--)
        l->parts[at] = l->parts[at - 1];
    l->parts[at] = part;
}

/* The runs, then what tells the parts of each from another. */
static rgm_status set_legend(plot_layout *l)
{
    const plot_figure *f = l->figure;

    for (int64_t p = 0; p < f->panel_count; p++)
        for (int64_t i = 0; i < f->panels[p].count; i++)
            note_part(l, f->panels[p].curves[i].curve->split);
    RGM_TRY(RGM_NEW(l->items, f->run_count + l->part_count));
    for (int64_t r = 0; r < f->run_count; r++)
        RGM_TRY(add_item(l, f->runs[r].name, f->run_count == 1, look_of(l, r, "")));
    for (int64_t i = 0; i < l->part_count && (l->part_count > 1 || f->run_count == 1); i++) {
        plot_look part = look_of(l, 0, l->parts[i]);

        if (f->run_count > 1)
            part.color = color_of(BLACK, part.color == color_of(0, true));
        RGM_TRY(add_item(l, l->parts[i], false, part));
    }
    l->items_a_row = (int64_t)fmax(1, floor((l->width - 2 * MARGIN) / l->item_width));
    return RGM_OK;
}

static double legend_height(const plot_layout *l)
{
    int64_t rows = (l->item_count + l->items_a_row - 1) / l->items_a_row;

    return (double)rows * LEGEND_ROW + LEGEND_BELOW;
}

void legend_place(double *x, double *y, const plot_layout *l, int64_t i)
{
    *x = MARGIN + (double)(i % l->items_a_row) * l->item_width;
    *y = l->height - MARGIN - LEGEND_ROW * ((double)(i / l->items_a_row) + 0.5);
}

/* ---- axes ---------------------------------------------------------------------------------- */

static rgm_status set_value_axis(plot_layout *l, int64_t p)
{
    const plot_panel *panel = &l->figure->panels[p];
    bool log = l->figure->log;
    double low = INFINITY, high = -INFINITY, room;

    for (int64_t i = 0; i < panel->count; i++)
        for (int64_t k = 0; k < panel->curves[i].curve->count; k++) {
            double value = panel->curves[i].curve->points[k].value;

            if (is_drawn(l->figure, value)) {
                low = fmin(low, log ? log10(value) : value);
                high = fmax(high, log ? log10(value) : value);
            }
        }
    if (low > high)
        return RGM_FAIL(RGM_ERR_DATA, "%s has no finite value%s: there is nothing to draw",
                        panel->title, log ? " above 0" : "");
    room = high - low > 1e-12 * fabs(high) ? 0.04 * (high - low) : fmax(0.05 * fabs(high), 1e-3);
    axis_set(&l->y[p], low - room, high + room, log, (int)fmax(2, l->panel_height / 25), 0);
    for (int i = 0; i < l->y[p].count; i++)
        l->left = fmax(l->left, (double)strlen(l->y[p].labels[i]) * LETTER + 6);
    return RGM_OK;
}

/* Steps are the same for all panels, so that one can look across. */
static void set_step_axis(plot_layout *l)
{
    double first = INFINITY, last = -INFINITY;

    for (int64_t p = 0; p < l->figure->panel_count; p++)
        for (int64_t i = 0; i < l->figure->panels[p].count; i++) {
            const rgm_curve *c = l->figure->panels[p].curves[i].curve;

            for (int64_t k = 0; k < c->count; k++) {
                first = fmin(first, (double)c->points[k].step);
                last = fmax(last, (double)c->points[k].step);
            }
        }
    if (first == last) {
        first -= 1;
        last += 1;
    } else if (first < 0.2 * last) {
        first = 0;
    }
    axis_set(&l->x, first, last, false, (int)fmax(2, l->panel_width / 48), 1);
}

/* ---- page ---------------------------------------------------------------------------------- */

void panel_place(double *x, double *y, const plot_layout *l, int64_t p)
{
    double column = (double)(p % l->columns), row = (double)(p / l->columns);

    *x = MARGIN + column * (l->left + l->panel_width + GAP) + l->left;
    *y =
        l->height - MARGIN - legend_height(l) - (row + 1) * (ABOVE + l->panel_height) - row * BELOW;
}

/* The page by default has panels of one size; a page of a given size is shared among them. */
static void set_page(plot_layout *l)
{
    const plot_figure *f = l->figure;
    double width = 2 * MARGIN + (double)l->columns * (PANEL_WIDTH + 40 + GAP) - GAP;

    l->scale = 1;
    l->width = width;
    if (f->png) /* the same picture in finer pixels */
        l->scale = f->width > 0 ? fmax(1, (double)f->width / width) : 2;
    if (f->width > 0)
        l->width = (double)f->width / l->scale;
}

static rgm_status set_panels(plot_layout *l)
{
    const plot_figure *f = l->figure;
    double other = 2 * MARGIN + legend_height(l) + (double)l->rows * (ABOVE + BELOW) - 0.5 * MARGIN;

    l->height =
        f->height > 0 ? (double)f->height / l->scale : other + (double)l->rows * PANEL_HEIGHT;
    l->panel_height = (l->height - other) / (double)l->rows;
    for (int64_t p = 0; p < f->panel_count; p++)
        RGM_TRY(set_value_axis(l, p));
    l->panel_width = (l->width - 2 * MARGIN + GAP) / (double)l->columns - GAP - l->left;
    if (l->panel_height < 40 || l->panel_width < 60)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "--size is too small for %lld panels and a legend of %lld entries",
                        (long long)f->panel_count, (long long)l->item_count);
    set_step_axis(l);
    return RGM_OK;
}

rgm_status layout_set(plot_layout *l, const plot_figure *figure)
{
    int64_t count = figure->panel_count;

    *l = (plot_layout){.figure = figure};
    l->columns = count <= 3 ? count : count == 4 ? 2 : 3;
    l->rows = (count + l->columns - 1) / l->columns;
    RGM_TRY(RGM_NEW(l->y, count));
    set_page(l);
    RGM_TRY(set_legend(l));
    return set_panels(l);
}

void layout_clear(plot_layout *l)
{
    for (int64_t i = 0; i < l->item_count; i++)
        rgm_free(l->items[i].text);
    rgm_free(l->items);
    rgm_free(l->y);
    *l = (plot_layout){0};
}
