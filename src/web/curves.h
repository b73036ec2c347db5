/*
 * Learning curves of runs: read once, followed as they grow, thinned out for drawing.
 */
#ifndef RGM_WEB_CURVES_H
#define RGM_WEB_CURVES_H

#include <regimen/base.h>

/** Curves of the runs that were looked at last, up to some bytes. Thread-safe. */
typedef struct rgmi_curve_cache rgmi_curve_cache;
rgm_status rgmi_curve_cache_create(rgmi_curve_cache **out, int64_t bytes);
void rgmi_curve_cache_release(rgmi_curve_cache *cache);
/** Bytes that are kept at the moment, and how many lines were read so far: for tests. */
void rgmi_curve_cache_count(int64_t *bytes, int64_t *lines, rgmi_curve_cache *cache);

typedef struct rgmi_curves_query {
    const char *metrics; /* "valid.loss,train.loss"; NULL: all */
    int64_t points;      /* most of a curve, at least 4        */
    int64_t after;       /* only points of later steps; -1: all */
} rgmi_curves_query;
/**
 * The curves of a run folder as they are now, as a JSON list; and its metrics' names, a line each.
 *
 * @param best_metric  [in] "valid.accuracy" by which the run chooses, with its value then; or NULL
 * @param damage       [out] what is wrong with its files: rgm_free(); NULL: nothing
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_curves_print(rgm_text *json, rgm_text *names, char **damage,
                             rgmi_curve_cache *cache, uint64_t id, const char *folder,
                             const rgmi_curves_query *query, const char *best_metric,
                             double best_value);

/**
 * Which of `count` values to draw: of each piece its first, last, lowest and highest one, and one
 * that is not finite where there is one; all where there are no more than `points`. Ascending.
 *
 * @param chosen  [out] [points + 1]
 */
int64_t rgmi_curve_thin(int64_t *chosen, const double *values, int64_t count, int64_t points);

#endif
