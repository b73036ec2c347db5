/*
 * How pictures are made, in files that stand on each other: ticks.c says where ticks are, mark.c
 * writes marks and escapes every text, pixels.c paints the same marks for PNG, plane.c has axes. On
 * these stand curves_picture.c, graph_picture.c and the report of a search: report_view.c ranks the
 * trials and chooses which are drawn, report_charts.c and report_space.c draw a chart each,
 * report_page.c and report_picture.c put them together.
 */
#ifndef RGM_DRAW_INTERNAL_H
#define RGM_DRAW_INTERNAL_H

#include <regimen/draw.h>

/* ---- ticks.c ------------------------------------------------------------------------------- */

/** A range and where its ticks are. With `log` range and ticks are decimal logarithms. */
typedef struct rgmi_chart_axis {
    bool log;
    double low, high;
    double ticks[32];
    int count;
    char labels[32][16];
} rgmi_chart_axis;

/** Ticks 1, 2 or 5 times a power of ten apart, at least `least`, about `most` of them at most. */
void rgmi_axis_set(rgmi_chart_axis *axis, double low, double high, bool log, int most,
                   double least);

/* ---- pixels.c ------------------------------------------------------------------------------ */

/** How a line or dot looks: a hue of t0 to t5 in draw_look.h, t6 is ink. */
typedef struct rgmi_look {
    int hue, dash; /* dash 0: a whole line */
    bool pale;
} rgmi_look;
enum { RGMI_HUES = 6, RGMI_INK = 6, RGMI_DASHES = 4 };

/** A page of points, painted in `scale` pixels a point. */
typedef struct rgmi_pixels rgmi_pixels;
/** Errors: RGM_ERR_UNSUPPORTED (no font), RGM_ERR_NOMEM. */
rgm_status rgmi_pixels_create(rgmi_pixels **out, double width, double height, double scale);
void rgmi_pixels_release(rgmi_pixels *p);
/** A line through points x, y, x, y, ...; kind: a class of draw_look.h, "l" as `look` says. */
rgm_status rgmi_pixels_line(rgmi_pixels *p, const char *kind, rgmi_look look, const double *points,
                            int64_t count);
rgm_status rgmi_pixels_dot(rgmi_pixels *p, rgmi_look look, double x, double y, double radius);
/** classes: "m" (in the middle of x), "e" (before it), "h" (bold), with spaces. */
rgm_status rgmi_pixels_text(rgmi_pixels *p, double x, double y, const char *classes,
                            const char *text);
/** Append the page as a PNG. */
rgm_status rgmi_pixels_png(rgm_text *out, const rgmi_pixels *p);

/* ---- mark.c -------------------------------------------------------------------------------- */

/** Markup that grows, or a page that is painted. The first failure is kept, and what follows it
 * does nothing. */
typedef struct rgmi_drawing {
    rgm_text out;
    rgm_status status;
    int64_t ids;
    rgmi_pixels *pixels; /* NULL: markup; else only the marks below "for both" are drawn */
    rgmi_look look;      /* of lines and dots that are painted */
    double left, top;    /* where their group begins           */
} rgmi_drawing;

/**
 * Append markup. Of conversions there are %s, %d, %lld, %.Nf and %%. Every %s is a text of the data
 * or may be: it is escaped, made visible and cut. Nothing else writes texts.
 */
void rgmi_mark(rgmi_drawing *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** A text of several lines, whole. */
void rgmi_mark_lines(rgmi_drawing *d, const char *text);
/** A text as the end of a data: link. */
void rgmi_mark_percent(rgmi_drawing *d, const char *text);
/** A text of at most so many letters (0: all), of which the middle is left out. */
void rgmi_mark_short(rgmi_drawing *d, const char *text, int64_t most);

/* For both: */

/** A group of marks that stands there; not within another. */
void rgmi_begin_at(rgmi_drawing *d, double x, double y);
void rgmi_end_at(rgmi_drawing *d);
/** A group of marks that looks like that; ended by the markup </g>. */
void rgmi_begin_look(rgmi_drawing *d, rgmi_look look);
/** A line to x2, or to y2. */
void rgmi_across(rgmi_drawing *d, const char *kind, double x, double y, double x2);
void rgmi_upright(rgmi_drawing *d, const char *kind, double x, double y, double y2);
/** A line through [count] points x, y of the look of its group. */
void rgmi_polyline(rgmi_drawing *d, const double *points, int64_t count);
void rgmi_dot(rgmi_drawing *d, double x, double y, double radius);
/** A label as it is; a text cut to what fits in so many points, of the 12 point font. */
void rgmi_label(rgmi_drawing *d, double x, double y, const char *classes, const char *text);
void rgmi_draw_text(rgmi_drawing *d, double x, double y, const char *anchor, const char *kind,
                    double room, const char *text);
#define RGMI_LETTER 7.0 /* mean advance of a letter of 12 points */
#define RGMI_BOLD   8.4
int64_t rgmi_letters_of(const char *text);

/** "0.1235"; "-" of what is not finite. */
typedef struct rgmi_short_text {
    char text[32];
} rgmi_short_text;
rgmi_short_text rgmi_number_text(int digits, double number);
/** "2 h 05 min" */
rgmi_short_text rgmi_duration_text(double seconds);
/** "12,345,678" */
rgmi_short_text rgmi_count_text(int64_t number);

/* ---- plane.c ------------------------------------------------------------------------------- */

/** Numbers of an axis: as they are, not their logarithms. */
typedef struct rgmi_value_range {
    double low, high;
    bool log;
    double least; /* ticks are at least that far apart */
} rgmi_value_range;
/** The range of finite numbers (of those above 0 with `log`), made wider by a share of itself. */
rgmi_value_range rgmi_range_of(const double *numbers, int64_t count, bool log, double share);
rgmi_value_range rgmi_range_widened(double low, double high, bool log, double share);

/** Where values stand: left, top, width and height of the area, y upward. */
typedef struct rgmi_plane {
    double left, top, width, height;
    rgmi_chart_axis x, y;
} rgmi_plane;
void rgmi_axis_of(rgmi_chart_axis *axis, rgmi_value_range range, double length, double room);
/** Of a number on an axis, in [-0.5, 1.5]; NaN: it cannot stand there. */
double rgmi_axis_share(const rgmi_chart_axis *axis, double number);
/** An axis each, in a chart of that size; labels of y decide where it begins. */
rgmi_plane rgmi_plane_of(double width, double height, rgmi_value_range x, rgmi_value_range y);
/** Let it begin further right. */
void rgmi_plane_indent(rgmi_plane *p, double left, rgmi_value_range x);
double rgmi_plane_x(const rgmi_plane *p, double number);
double rgmi_plane_y(const rgmi_plane *p, double number);
/** Grid, ticks and the names of both axes; the labels of x may be left to others. */
void rgmi_draw_plane(rgmi_drawing *d, const rgmi_plane *p, const char *x_name, const char *y_name,
                     bool x_ticks);
/** Begin what is cut off at the plane; ended by the markup </g>. */
void rgmi_draw_clip(rgmi_drawing *d, const rgmi_plane *p);
/**
 * A line through points by length; a gap where there is no number, a dot where a point is alone. Of
 * more than `most` points the lowest and highest of each group stay. end: radius of a dot at the
 * last one, 0: none.
 */
void rgmi_draw_curve(rgmi_drawing *d, const rgmi_plane *p, const rgm_report_point *points,
                     int64_t count, int64_t most, double alone, double end);

/* ---- report_view.c --------------------------------------------------------------------------- */

#define TONES 7 /* groups of equal size, 0 the worst, that colours tell apart */

/** Which trials are the best, in which order they are drawn, which hyperparameters vary. */
typedef struct rgmi_report_view {
    const rgm_search_report *report;
    int64_t *ranked; /* [measured] trials with a finite metric: the best first, then by number */
    int64_t measured;
    int64_t *rank; /* [trials] from 0; -1: no finite metric                                */
    int *tone;     /* [trials] -1: no finite metric                                        */
    double bounds[TONES + 1]; /* metrics between tones: the worst first                        */
    rgmi_value_range metric;  /* of the best metrics, without those that are far off           */
    int64_t far_off;          /* trials worse than the range                                   */
    int64_t *varied;          /* [varied_count] hyperparameters of which trials have several
                                 values, by importance, then as they are listed                */
    int64_t varied_count;
    int64_t *front; /* [front_count] trials that no other is at least as good as in all objectives
                       and better in one, by the first; of the newest validations              */
    int64_t front_count;
    int64_t *sample; /* [trials] room for rgmi_view_sample() */
} rgmi_report_view;

rgm_status rgmi_view_open(rgmi_report_view *v, const rgm_search_report *r);
void rgmi_view_close(rgmi_report_view *v);
/** Ranks of `most` trials at most, the worst first, into v->sample: the best half of `most`, and of
 * the others every k-th. *every is that k, 1 where all are drawn. */
int64_t rgmi_view_sample(int64_t *every, const rgmi_report_view *v, int64_t most);
/** Of a hyperparameter's numbers. */
rgm_status rgmi_hyper_range(rgmi_value_range *out, const rgmi_report_view *v, int64_t hyper,
                            double share);
/** "learning_rate" of "optimizer.learning_rate", unless two that vary end like that. */
const char *rgmi_short_name(const rgmi_report_view *v, int64_t hyper);
double rgmi_report_metric(const rgmi_report_view *v,
                          int64_t trial); /* of the first objective, the best */
const char *rgmi_report_unit(const rgm_search_report *r);
const char *rgmi_report_title(const rgm_search_report *r);

/** The value of a hyperparameter as people read it; borrowed. */
const char *rgmi_value_shown(rgmi_short_text *room, const rgm_report_hyper *hyper,
                             const rgm_report_value *value);
/** "Trial 7: lr 0.1, hidden 16; valid.loss 0.25" as what is shown of a mark under the pointer. */
void rgmi_draw_title(rgmi_drawing *d, const rgmi_report_view *v, int64_t trial);
/** What the tones mean; its size. */
void rgmi_draw_tones(rgmi_drawing *d, const rgmi_report_view *v);
#define TONES_WIDTH  (TONES * 52.0 + 40)
#define TONES_HEIGHT 46.0

/* ---- report_charts.c, report_space.c: a chart each, in width x height ------------------------ */

#define MOST_TOP     6    /* trials of which the learning curve is told apart */
#define MOST_GREY    150  /* curves behind them             */
#define MOST_POINTS  200  /* of a curve                     */
#define MOST_LINES   400  /* of parallel coordinates        */
#define MOST_AXES    12   /* hyperparameters that are drawn */
#define MOST_UPRIGHT 9    /* axes of parallel coordinates, the metric apart */
#define MOST_DOTS    500  /* of a slice                     */
#define MOST_BARS    4000 /* of the timeline, about         */
#define MOST_SLOTS   64   /* of the timeline                */
#define MOST_ROWS    1000 /* of the table in a page         */
#define MOST_COLUMNS 16   /* hyperparameters of that table  */

void rgmi_draw_curves(rgmi_drawing *d, const rgmi_report_view *v, double width, double height);
void rgmi_draw_importance(rgmi_drawing *d, const rgmi_report_view *v, double width);
double rgmi_importance_height(const rgmi_report_view *v); /* 0: there is nothing to draw */
/** The front in the plane of objectives 0 and `other`. */
void rgmi_draw_front(rgmi_drawing *d, const rgmi_report_view *v, int64_t other, double width,
                     double height);
void rgmi_draw_timeline(rgmi_drawing *d, const rgmi_report_view *v, double width);
double rgmi_timeline_height(const rgmi_report_view *v); /* 0: there is nothing to draw */
/** Share of the time in which slots were held; NaN: not known. */
double rgmi_report_busy(const rgm_search_report *r);

void rgmi_draw_parallel(rgmi_drawing *d, const rgmi_report_view *v, int64_t axes, double width,
                        double height);
void rgmi_draw_slice(rgmi_drawing *d, const rgmi_report_view *v, int64_t hyper, double width,
                     double height);

/* ---- report_page.c, report_picture.c ------------------------------------------------------- */

void rgmi_report_page(rgmi_drawing *d, const rgmi_report_view *v); /* HTML, one file            */
void rgmi_report_picture(rgmi_drawing *d,
                         const rgmi_report_view *v); /* SVG: an overview, in light */

#endif
