/*
 * What is computed of a run's curves, point by point: "train.loss / valid.loss".
 *
 * Names of metrics have letters, digits and _.@:%; any other stands in braces: {valid.odd name}.
 * Numbers, + - * /, parentheses, and log, log10, exp, sqrt and abs of something.
 */
#ifndef RGM_WEB_EXPRESSION_H
#define RGM_WEB_EXPRESSION_H

#include <regimen/base.h>

/** Points of a curve, borrowed; steps ascend. */
typedef struct rgmi_points {
    const int64_t *steps;
    const double *values; /* NaN and infinities too */
    int64_t count;
} rgmi_points;

/** The value at a step: of the last point there, else on the line between its two neighbours; NaN
 * before the first and behind the last. *from: where the step before was found, 0 at first. */
double rgmi_points_at(const rgmi_points *points, int64_t step, int64_t *from);

typedef struct rgmi_expression rgmi_expression;
/** Errors: RGM_ERR_ARG (what is wrong, and at which character), RGM_ERR_NOMEM. */
rgm_status rgmi_expression_read(rgmi_expression **out, const char *text);
void rgmi_expression_release(rgmi_expression *expression);
/** As it was written. */
const char *rgmi_expression_text(const rgmi_expression *expression);

/** The curve of a metric; false: there is none. */
typedef bool rgmi_find_points(rgmi_points *out, const char *metric, const void *payload);
/** Points that are computed. */
typedef struct rgmi_made_points {
    int64_t *steps;
    double *values;
    int64_t count;
} rgmi_made_points;
/**
 * The expression at the steps of that of its metrics which has the fewest points; of the others on
 * the lines between their points. No points where a metric has none.
 *
 * @param out  [out] rgmi_made_points_clear()
 */
rgm_status rgmi_expression_points(rgmi_made_points *out, const rgmi_expression *expression,
                                  rgmi_find_points *find, const void *payload);
void rgmi_made_points_clear(rgmi_made_points *points);

#endif
