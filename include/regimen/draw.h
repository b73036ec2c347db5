/*
 * draw: pictures. It draws learning curves of runs, the graph that a prediction rests on, and the
 * results of a hyperparameter search. All are drawn as SVG, curves also as PNG, a search also as an
 * HTML page. The caller says what is shown; this layer chooses axes, ticks, legends and colours.
 * The same data give the same bytes of SVG and HTML.
 */
#ifndef REGIMEN_DRAW_H
#define REGIMEN_DRAW_H

#include <regimen/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- learning curves ----------------------------------------------------------------------- */

typedef struct rgm_drawn_curve {
    const rgm_curve *curve; /* borrowed            */
    int64_t run;            /* of the figure's     */
} rgm_drawn_curve;

/** Curves over the same axes. */
typedef struct rgm_panel {
    char *title;
    rgm_drawn_curve *curves;
    int64_t count, capacity;
} rgm_panel;

/** A legend above rows of panels. Zero-initialised it is empty; rgm_figure_clear() frees it. */
typedef struct rgm_figure {
    rgm_run_curves *runs;
    int64_t run_count;
    rgm_panel *panels;
    int64_t panel_count, panel_capacity;
    int64_t width, height; /* points of an SVG, pixels of a PNG; 0: chosen from what is in it */
    bool log;              /* logarithmic values; those that are not above 0 are left out     */
} rgm_figure;

/**
 * The panel with that title; a new one is added at the end. *out: borrowed, until the next is
 * added.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_figure_add_panel(rgm_panel **out, rgm_figure *figure, const char *title);
/** Add a curve of a run to a panel, which holds it only once. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_panel_add_curve(rgm_panel *panel, int64_t run, const rgm_curve *curve);
void rgm_figure_clear(rgm_figure *figure);
/**
 * Append the figure as SVG or PNG.
 *
 * Errors: RGM_ERR_DATA (a panel would be empty), RGM_ERR_CONFIG (the size is too small for what is
 * in it), RGM_ERR_UNSUPPORTED (PNG: no font is installed), RGM_ERR_NOMEM. *out is then as it was.
 */
rgm_status rgm_figure_svg(rgm_text *out, const rgm_figure *figure);
rgm_status rgm_figure_png(rgm_text *out, const rgm_figure *figure);

/* ---- a graph ------------------------------------------------------------------------------- */

/** A node; its texts are borrowed. */
typedef struct rgm_drawn_node {
    const char *set, *name; /* set: nodes of one set have one colour */
    bool marked;
} rgm_drawn_node;

/** An edge from node `from` to node `to`; negative scores are dashed. */
typedef struct rgm_drawn_edge {
    const char *set; /* borrowed */
    int64_t from, to;
    double score;
} rgm_drawn_edge;

/**
 * Append nodes and edges as SVG, laid out so that edges pull their nodes together (Fruchterman &
 * Reingold 1991). The same graph gives the same picture.
 *
 * @param out       [out]
 * @param nodes     [in] [node_count]
 * @param edges     [in] [edge_count] by weight, the heaviest first
 * @param caption   [in] a line below it
 *
 * Errors: RGM_ERR_NOT_FOUND (there is no edge), RGM_ERR_NOMEM. *out is then as it was.
 */
rgm_status rgm_draw_graph(rgm_text *out, const rgm_drawn_node *nodes, int64_t node_count,
                          const rgm_drawn_edge *edges, int64_t edge_count, const char *caption);

/* ---- a hyperparameter search --------------------------------------------------------------- */

#define RGM_REPORT_OBJECTIVES 8 /* at most */

typedef enum rgm_report_scale {
    RGM_REPORT_LINEAR,
    RGM_REPORT_LOG,
    RGM_REPORT_CHOICE
} rgm_report_scale;

typedef struct rgm_report_hyper {
    char *name;
    rgm_report_scale scale;
    bool whole;        /* its numbers are integers                                       */
    double importance; /* share of the metric's variance, 0..1; NaN: not known           */
    char **choices;    /* [choice_count] of RGM_REPORT_CHOICE, as people read them           */
    int64_t choice_count, choice_capacity;
} rgm_report_hyper;

typedef struct rgm_report_value {
    bool is_set; /* false: its condition does not hold */
    double number;
    int64_t choice; /* of RGM_REPORT_CHOICE */
} rgm_report_value;

typedef struct rgm_report_point {
    double length, metric; /* NaN: validated, and no number */
} rgm_report_point;

/** When a trial held a slot, in seconds since the search began; end NaN: it still does. */
typedef struct rgm_report_interval {
    int64_t slot;
    double start, end;
} rgm_report_interval;

typedef struct rgm_report_trial {
    int64_t number;
    char *state;              /* "COMPLETED"                                              */
    rgm_report_value *values; /* [hyper_count]                                            */
    double best[RGM_REPORT_OBJECTIVES];   /* all objectives at the validation that is best by the
                                             first; NaN: none */
    double latest[RGM_REPORT_OBJECTIVES]; /* at the newest validation */
    rgm_report_point *points;             /* of the first objective, by length */
    int64_t point_count, point_capacity;
    rgm_report_interval *intervals;
    int64_t interval_count, interval_capacity;
    double seconds;  /* on slots; NaN: not known */
    int64_t trained; /* units; -1: not known     */
} rgm_report_trial;

typedef struct rgm_report_objective {
    char *name;
    bool smaller_is_better;
} rgm_report_objective;

/** "items": "140 train, 500 valid, 1000 test of 2708 paper". */
typedef struct rgm_report_fact {
    char *name, *text;
} rgm_report_fact;

/** Zero-initialised it is a search of no trials; rgm_search_report_clear() frees everything. */
typedef struct rgm_search_report {
    int64_t id;
    char *name, *state, *searcher; /* each may be NULL                                     */
    char *unit;                    /* of lengths: "batches"; NULL: "steps"                 */
    double seconds;                /* since it began, to its end or now; NaN: not known    */
    int64_t slots;                 /* that it may use; 0: as many as its trials were on    */
    rgm_report_objective objectives[RGM_REPORT_OBJECTIVES];
    int64_t objective_count; /* at least 1 where there are trials */
    rgm_report_hyper *hypers;
    int64_t hyper_count, hyper_capacity;
    rgm_report_trial *trials;
    int64_t trial_count, trial_capacity;
    char *importance_note; /* why there is none; NULL: there is */
    char *importance_over; /* "64 of 64 trials after 1 of 64 epochs": what it was computed over;
                              NULL: none */
    char *best_file;       /* experiment file of the best trial; NULL: none */
    rgm_report_fact *best_facts; /* what its run found out */
    int64_t best_fact_count, best_fact_capacity;
} rgm_search_report;

/**
 * Append a hyperparameter; call it before the first trial is added. *out: borrowed, until the next
 * is added. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_report_add_hyper(rgm_report_hyper **out, rgm_search_report *r, const char *name,
                                rgm_report_scale scale);
/** The place of a text in a hyperparameter's choices; adds it if needed. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_report_add_choice(int64_t *out, rgm_report_hyper *hyper, const char *text);
/**
 * Append a trial of which only the number is known; call it after all hyperparameters are added.
 * *out: borrowed, until the next is added. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_report_add_trial(rgm_report_trial **out, rgm_search_report *r, int64_t number);
/** Add a validation of a trial; add a time in which it held a slot. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_report_add_point(rgm_report_trial *trial, double length, double metric);
rgm_status rgm_report_add_interval(rgm_report_trial *trial, int64_t slot, double start, double end);
/** Append to best_facts. Both are copied. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_report_add_fact(rgm_search_report *r, const char *name, const char *text);
void rgm_search_report_clear(rgm_search_report *r);

/**
 * Rank the trials by the first objective. rank: [trials] from 0; -1: no finite metric.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_search_report_rank(int64_t *rank, const rgm_search_report *r);
/**
 * The trials that no other is at least as good as in all objectives and better in one, at their
 * newest validations: places in `trials`, by the first objective. None of a search for one
 * objective. The caller frees *out. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_search_report_front(int64_t **out, int64_t *count, const rgm_search_report *r);
/**
 * Append a self-contained HTML page: no network, no script. Errors: RGM_ERR_NOMEM; *out is then as
 * it was.
 */
rgm_status rgm_search_report_page(rgm_text *out, const rgm_search_report *r);
/** Append its charts as one picture, an overview, in SVG. Errors: RGM_ERR_NOMEM; *out is then as it
 * was. */
rgm_status rgm_search_report_picture(rgm_text *out, const rgm_search_report *r);

#ifdef __cplusplus
}
#endif
#endif
