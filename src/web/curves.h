/*
 * Learning curves of runs: read once, followed as they grow, thinned out for drawing.
 */
#ifndef RGM_WEB_CURVES_H
#define RGM_WEB_CURVES_H

#include "expression.h"

/** Curves of the runs that were looked at last, up to some bytes. Thread-safe. */
typedef struct rgmi_curve_cache rgmi_curve_cache;
rgm_status rgmi_curve_cache_create(rgmi_curve_cache **out, int64_t bytes);
void rgmi_curve_cache_release(rgmi_curve_cache *cache);
/** Reading logs ends soon, for good: before a server ends. */
void rgmi_curve_cache_stop(rgmi_curve_cache *cache);
/** Bytes that are kept at the moment, and how many lines were read so far: for tests. */
void rgmi_curve_cache_count(int64_t *bytes, int64_t *lines, rgmi_curve_cache *cache);

typedef struct rgmi_curves_query {
    const char *metrics; /* "valid.loss,train.loss"; NULL: all                             */
    int64_t points;      /* most of a curve, at least 4                                    */
    int64_t after;       /* only points of later steps; -1: all                            */
    int64_t until;       /* only points of steps up to this one                            */
    int64_t skip;        /* of those, how many to leave out at the beginning               */
    bool whole;          /* the first `points` of what is left and none between left out   */
    double seconds;      /* that may be taken to read what is new in the log; 0: unlimited */
    rgmi_expression *const *computed; /* [computed_count] curves that are computed, too     */
    int64_t computed_count;
} rgmi_curves_query;
/** Of a run, as its files are now. */
typedef struct rgmi_curves_told {
    rgm_text json;  /* a list of curves                                 */
    rgm_text names; /* of all metrics, a line each                      */
    char *damage;   /* what is wrong with the files; NULL: nothing      */
    bool more;      /* the log goes on, and the next call reads further */
} rgmi_curves_told;
void rgmi_curves_told_clear(rgmi_curves_told *told);
/**
 * The curves of a run folder.
 *
 * @param best_metric  [in] "valid.accuracy" by which the run chooses, with its value then; or NULL
 * @param out          [out] rgmi_curves_told_clear(), also after an error
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_curves_print(rgmi_curves_told *out, rgmi_curve_cache *cache, uint64_t id,
                             const char *folder, const rgmi_curves_query *query,
                             const char *best_metric, double best_value);

/** How far a run is known. */
typedef struct rgmi_curves_state {
    double end;         /* [in] rgm_now() when reading ends             */
    bool more, damaged; /* [out] as in rgmi_curves_told                 */
} rgmi_curves_state;
/** What is done with a run's curves; they are found by find(.., curves) during the call alone. */
typedef rgm_status rgmi_curves_user(rgmi_find_points *find, const void *curves, void *payload);
/** Read what is new of a run, and use it. Errors: RGM_ERR_NOMEM, those of `use`. */
rgm_status rgmi_curves_use(rgmi_curves_state *state, rgmi_curve_cache *cache, uint64_t id,
                           const char *folder, rgmi_curves_user *use, void *payload);

/**
 * Which of `count` values to draw: of each piece its first, last, lowest and highest one, and one
 * that is not finite where there is one; all where there are no more than `points`. Ascending.
 *
 * @param chosen  [out] [points + 1]
 */
int64_t rgmi_curve_thin(int64_t *chosen, const double *values, int64_t count, int64_t points);

#endif
