/*
 * regimen plot in four files: plot.c says what is drawn, plot_axis.c chooses ticks, plot_layout.c
 * places all of it, plot_draw.c draws it with PLplot.
 */
#ifndef RGM_CLI_PLOT_H
#define RGM_CLI_PLOT_H

#include <regimen/store.h>

#include "cli.h"

/* ---- plot_axis.c --------------------------------------------------------------------------- */

/** A range and where its ticks are. With `log` range and ticks are decimal logarithms. */
typedef struct plot_axis {
    bool log;
    double low, high;
    double ticks[32];
    int count;
    char labels[32][16];
} plot_axis;

/** Ticks 1, 2 or 5 times a power of ten apart, at least `least`, about `most` of them at most. */
void axis_set(plot_axis *axis, double low, double high, bool log, int most, double least);

/* ---- plot_layout.c ------------------------------------------------------------------------- */

typedef struct plot_panel_curve {
    const rgm_curve *curve;
    int64_t run;
} plot_panel_curve;

/** Curves over the same axes. */
typedef struct plot_panel {
    char *title;
    plot_panel_curve *curves;
    int64_t count, capacity;
} plot_panel;

typedef struct plot_figure {
    rgm_run_curves *runs;
    int64_t run_count;
    plot_panel *panels;
    int64_t panel_count, panel_capacity;
    long width, height; /* points of an SVG, pixels of a PNG; 0: chosen from what is in it */
    bool log, png;
} plot_figure;

/* PLplot's colour numbers: paper, text, grid, then each hue and its tint. */
enum { COLOR_PAPER, COLOR_INK, COLOR_GRID, COLOR_HUES };
#define HUES 7
#define FONT 11.0
extern const unsigned char plot_hues[HUES][3];

typedef struct plot_look {
    int color, style; /* style: PLplot's 1 is solid, 2 and more are dashes */
    double width;
} plot_look;

typedef struct plot_legend_item {
    char *text;
    bool is_title; /* text alone */
    plot_look look;
} plot_legend_item;

/** Where everything stands, in points (1/72 inch: a pixel of an SVG, one or more of a PNG). */
typedef struct plot_layout {
    const plot_figure *figure;
    double width, height, scale; /* of the page; pixels a point */
    int64_t columns, rows;
    double panel_width, panel_height; /* of the area of the curves */
    double left;                      /* room for the labels of y */
    plot_axis x, *y;                  /* y: one a plot_panel */
    const char *parts[8];             /* that occur */
    int64_t part_count;
    plot_legend_item *items;
    int64_t item_count, items_a_row;
    double item_width;
} plot_layout;

/** RGM_ERR_DATA when a panel would be empty. */
rgm_status layout_set(plot_layout *l, const plot_figure *figure);
void layout_clear(plot_layout *l);
/** Whether a value can stand on the figure's axes. */
bool is_drawn(const plot_figure *figure, double value);
plot_look look_of(const plot_layout *l, int64_t run, const char *part);
/** Corner of panel p at low x, low y; of legend item i at its left, in the middle of its height. */
void panel_place(double *x, double *y, const plot_layout *l, int64_t p);
void legend_place(double *x, double *y, const plot_layout *l, int64_t i);

/* ---- plot_draw.c --------------------------------------------------------------------------- */

/**
 * The bytes of the picture. RGM_ERR_UNSUPPORTED when PLplot lacks the driver, RGM_ERR_NOMEM also
 * when it crashed, which is told and ends a process of its own only.
 */
rgm_status figure_draw(rgm_text *picture, const plot_figure *figure);

#endif
