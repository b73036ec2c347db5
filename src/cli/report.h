/*
 * What a hyperparameter search came to, as one page, picture or table. report_load.c asks the
 * master for it, report_view.c ranks the trials and chooses which are drawn, report_draw.c writes
 * marks and escapes every text, report_charts.c and report_space.c draw a chart each,
 * report_page.c and report_picture.c put them together and report.c writes the file. Only
 * report_load.c knows of a master; the same data give the same bytes.
 */
#ifndef RGM_CLI_REPORT_H
#define RGM_CLI_REPORT_H

#include "cli.h"
#include "plot.h"

#define REPORT_OBJECTIVES 8 /* at most */

/* ---- what is shown ------------------------------------------------------------------------- */

typedef enum report_scale { REPORT_LINEAR, REPORT_LOG, REPORT_CHOICE } report_scale;

typedef struct report_hyper {
    char *name;
    report_scale scale;
    bool whole;        /* its numbers are integers                                       */
    double importance; /* share of the metric's variance, 0..1; NaN: not known           */
    char **choices;    /* [choice_count] of REPORT_CHOICE, as people read them           */
    int64_t choice_count, choice_capacity;
} report_hyper;

typedef struct report_value {
    bool is_set; /* false: its condition does not hold */
    double number;
    int64_t choice; /* of REPORT_CHOICE */
} report_value;

typedef struct report_point {
    double length, metric; /* NaN: validated, and no number */
} report_point;

/** When a trial held a slot, in seconds since the search began; end NaN: it still does. */
typedef struct report_interval {
    int64_t slot;
    double start, end;
} report_interval;

typedef struct report_trial {
    int64_t number;
    char *state;                      /* "COMPLETED"                                              */
    report_value *values;             /* [hyper_count]                                            */
    double best[REPORT_OBJECTIVES];   /* all objectives at the validation that is best by the
                                             first; NaN: none */
    double latest[REPORT_OBJECTIVES]; /* at the newest validation */
    report_point *points;             /* of the first objective, by length */
    int64_t point_count, point_capacity;
    report_interval *intervals;
    int64_t interval_count, interval_capacity;
    double seconds;  /* on slots; NaN: not known */
    int64_t trained; /* units; -1: not known     */
} report_trial;

typedef struct report_objective {
    char *name;
    bool smaller_is_better;
} report_objective;

/** Zero-initialised it is a search of no trials; search_report_clear() gives everything back. */
typedef struct search_report {
    int64_t id;
    char *name, *state, *searcher; /* each may be NULL                                     */
    char *unit;                    /* of lengths: "batches"; NULL: "steps"                 */
    double seconds;                /* since it began, to its end or now; NaN: not known    */
    int64_t slots;                 /* that it may use; 0: as many as its trials were on    */
    report_objective objectives[REPORT_OBJECTIVES];
    int64_t objective_count; /* at least 1 where there are trials */
    report_hyper *hypers;
    int64_t hyper_count, hyper_capacity;
    report_trial *trials;
    int64_t trial_count, trial_capacity;
    char *importance_note; /* why there is none; NULL: there is */
    char *best_file;       /* experiment file of the best trial; NULL: none */
} search_report;

/* ---- report.c ------------------------------------------------------------------------------ */

/** A trial behind the others, of which nothing is known but its number; after all hyperparameters.
 * Borrowed, until the next is added. */
rgm_status report_add_trial(report_trial **out, search_report *r, int64_t number);
/** A hyperparameter behind the others; before the first trial. */
rgm_status report_add_hyper(report_hyper **out, search_report *r, const char *name,
                            report_scale scale);
/** The place of a text in a hyperparameter's choices, where it is added. */
rgm_status report_choice(int64_t *out, report_hyper *hyper, const char *text);
rgm_status report_add_point(report_trial *trial, double length, double metric);
rgm_status report_add_interval(report_trial *trial, int64_t slot, double start, double end);
void search_report_clear(search_report *r);

/** 0 when the path ends in .html, .svg or .csv; else a usage error was told: its exit code. */
int search_report_check_path(const char *path);
/** The file that its ending says, complete or not at all. Errors: RGM_ERR_NOMEM, RGM_ERR_IO. */
rgm_status search_report_write(const search_report *r, const char *path);

/* ---- report_load.c ------------------------------------------------------------------------- */

/**
 * A search as its master tells it, which may be under way. *out is empty after an error.
 *
 * Errors: those of its answers, RGM_ERR_CONFIG (its file is of another version), RGM_ERR_NOMEM.
 */
struct asked_master;
rgm_status search_report_load(search_report *out, const struct asked_master *whom,
                              int64_t experiment);

/* ---- report_view.c ------------------------------------------------------------------------- */

#define TONES 7 /* groups of equal size, 0 the worst, that colours tell apart */

/** Numbers of an axis: as they are, not their logarithms. */
typedef struct value_range {
    double low, high;
    bool log;
    double least; /* ticks are at least that far apart */
} value_range;

/** Which trials are the best, in which order they are drawn, which hyperparameters vary. */
typedef struct report_view {
    const search_report *report;
    int64_t *ranked; /* [measured] trials with a finite metric: the best first, then by number */
    int64_t measured;
    int64_t *rank; /* [trials] from 0; -1: no finite metric                                */
    int *tone;     /* [trials] -1: no finite metric                                        */
    double bounds[TONES + 1]; /* metrics between tones: the worst first                        */
    value_range metric;       /* of the best metrics, without those that are far off           */
    int64_t far_off;          /* trials worse than the range                                   */
    int64_t *varied;          /* [varied_count] hyperparameters of which trials have several
                                 values, by importance, then as they are listed                */
    int64_t varied_count;
    int64_t *front; /* [front_count] trials that no other is at least as good as in all objectives
                       and better in one, by the first; of the newest validations              */
    int64_t front_count;
    int64_t *sample; /* [trials] room for view_sample() */
} report_view;

rgm_status view_open(report_view *v, const search_report *r);
void view_close(report_view *v);
/** Ranks of `most` trials at most, the worst first, into v->sample: the best half of `most`, and of
 * the others every k-th. *every is that k, 1 where all are drawn. */
int64_t view_sample(int64_t *every, const report_view *v, int64_t most);
/** The range of finite numbers (of those above 0 with `log`), made wider by a share of itself. */
value_range range_of(const double *numbers, int64_t count, bool log, double share);
/** Of a hyperparameter's numbers. */
rgm_status hyper_range(value_range *out, const report_view *v, int64_t hyper, double share);
/** "learning_rate" of "optimizer.learning_rate", unless two that vary end like that. */
const char *short_name(const report_view *v, int64_t hyper);
double report_metric(const report_view *v, int64_t trial); /* of the first objective, the best */
const char *report_unit(const search_report *r);
const char *report_title(const search_report *r);

/* ---- report_draw.c ------------------------------------------------------------------------- */

/** Markup that grows. The first failure is kept, and what follows it does nothing. */
typedef struct drawing {
    rgm_text out;
    rgm_status status;
    int64_t ids;
} drawing;

/**
 * Append markup. Of conversions there are %s, %d, %lld, %.Nf and %%. Every %s is a text of the data
 * or may be: it is escaped, made visible and cut. Nothing else writes texts.
 */
void mark(drawing *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** A text of several lines, whole. */
void mark_lines(drawing *d, const char *text);
/** A text as the end of a data: link. */
void mark_percent(drawing *d, const char *text);

/** "0.1235"; "-" of what is not finite. */
typedef struct short_text {
    char text[32];
} short_text;
short_text number_text(double number);
/** "2 h 05 min" */
short_text duration_text(double seconds);
/** The value of a hyperparameter as people read it; borrowed. */
typedef struct value_text {
    short_text number;
    const char *text;
} value_text;
const char *value_shown(value_text *room, const report_hyper *hyper, const report_value *value);

/** Where values stand: left, top, width and height of the area, y upward. */
typedef struct plane {
    double left, top, width, height;
    plot_axis x, y;
} plane;
void axis_of(plot_axis *axis, value_range range, double length, double room);
/** Of a number on an axis, in [-0.5, 1.5]; NaN: it cannot stand there. */
double axis_share(const plot_axis *axis, double number);
/** An axis each, in a chart of that size; labels of y decide where it begins. */
plane plane_of(double width, double height, value_range x, value_range y);
double plane_x(const plane *p, double number);
double plane_y(const plane *p, double number);
/** Grid, ticks and the names of both axes; the labels of x may be left to others. */
void draw_plane(drawing *d, const plane *p, const char *x_name, const char *y_name, bool x_ticks);
/** Begin what is cut off at the plane; end with </g>. */
void draw_clip(drawing *d, const plane *p);
/** Ticks of a choice axis from left to right: every k-th where there is no room for all. */
void draw_choices(drawing *d, const plane *p, const report_hyper *hyper);
double choice_share(const report_hyper *hyper, int64_t choice);
/** A text cut to what fits in so many points, of the 12 point font. */
void draw_text(drawing *d, double x, double y, const char *anchor, const char *kind, double room,
               const char *text);
/** "Trial 7: lr 0.1, hidden 16; valid.loss 0.25" as what is shown of a mark under the pointer. */
void draw_title(drawing *d, const report_view *v, int64_t trial);
/** What the tones mean; its size. */
void draw_tones(drawing *d, const report_view *v);
#define TONES_WIDTH  (TONES * 52.0 + 40)
#define TONES_HEIGHT 46.0

/* ---- report_charts.c, report_space.c: a chart each, in width x height ----------------------- */

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

void draw_curves(drawing *d, const report_view *v, double width, double height);
void draw_importance(drawing *d, const report_view *v, double width);
double importance_height(const report_view *v); /* 0: there is nothing to draw */
/** The front in the plane of objectives 0 and `other`. */
void draw_front(drawing *d, const report_view *v, int64_t other, double width, double height);
void draw_timeline(drawing *d, const report_view *v, double width);
double timeline_height(const report_view *v); /* 0: there is nothing to draw */
/** Share of the time in which slots were held; NaN: not known. */
double report_busy(const search_report *r);

void draw_parallel(drawing *d, const report_view *v, int64_t axes, double width, double height);
void draw_slice(drawing *d, const report_view *v, int64_t hyper, double width, double height);

/* ---- report_page.c, report_picture.c ------------------------------------------------------- */

void report_page(drawing *d, const report_view *v);    /* HTML, one file            */
void report_picture(drawing *d, const report_view *v); /* SVG, the overview alone   */

#endif
