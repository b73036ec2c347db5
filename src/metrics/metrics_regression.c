/*
 * Metrics of predicted numbers [n, units] against labels of the same shape: means over items and
 * units, and the share of the labels' variance that is explained.
 */
#include <math.h>

#include "metrics_internal.h"

#define KERAS_EPSILON 1e-7

/* state: the weighted sum of `error`'s values for (label, prediction), and the weights. */
static void add_errors(double *state, const rgm_metric_batch *batch,
                       double (*error)(double label, double prediction))
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    for (int64_t i = 0; i < view.items; i++) {
        for (int64_t u = 0; u < view.units; u++) {
            double weight = rgmi_unit_weight(&view, i, u);

            if (weight == 0)
                continue;
            state[0] += weight * error(rgm_tensor_at(view.labels, i * view.units + u),
                                       rgmi_prediction(&view, i, u));
            state[1] += weight;
        }
    }
}

static double squared(double label, double prediction)
{
    return (label - prediction) * (label - prediction);
}

static double absolute(double label, double prediction)
{
    return fabs(label - prediction);
}

static double percentage(double label, double prediction)
{
    return 100 * fabs(label - prediction) / fmax(fabs(label), KERAS_EPSILON);
}

static double logarithmic(double label, double prediction)
{
    double d = log1p(fmax(label, KERAS_EPSILON)) - log1p(fmax(prediction, KERAS_EPSILON));

    return d * d;
}

#define UPDATE(id)                                                                                 \
    static void id##_update(double *state, const rgm_metric *metric,                               \
                            const rgm_metric_batch *batch)                                         \
    {                                                                                              \
        (void)metric;                                                                              \
        add_errors(state, batch, id);                                                              \
    }
UPDATE(squared)
UPDATE(absolute)
UPDATE(percentage)
UPDATE(logarithmic)

/* state: weights, squared errors, and the labels' mean and squared distances from it, by Welford's
 * update, which does not cancel. One mean over all units. */
enum { WEIGHTS, ERRORS, MEAN, SPREAD, R2_STATE };

static int64_t r2_size(const rgm_metric *metric)
{
    (void)metric;
    return R2_STATE;
}

static void r2_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    (void)metric;
    for (int64_t i = 0; i < view.items; i++) {
        for (int64_t u = 0; u < view.units; u++) {
            double weight = rgmi_unit_weight(&view, i, u);
            double label, from;

            if (weight == 0)
                continue;
            label = rgm_tensor_at(view.labels, i * view.units + u);
            from = label - state[MEAN];
            state[WEIGHTS] += weight;
            state[ERRORS] += weight * squared(label, rgmi_prediction(&view, i, u));
            state[MEAN] += from * weight / state[WEIGHTS];
            state[SPREAD] += weight * from * (label - state[MEAN]);
        }
    }
}

static double r2_result(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return state[SPREAD] > 0 ? 1 - state[ERRORS] / state[SPREAD] : 0;
}

RGMI_METRIC(mean_squared_error, "mean_squared_error", true, rgmi_two, squared_update,
            rgmi_quotient);
RGMI_METRIC(mean_absolute_error, "mean_absolute_error", true, rgmi_two, absolute_update,
            rgmi_quotient);
RGMI_METRIC(mean_absolute_percentage_error, "mean_absolute_percentage_error", true, rgmi_two,
            percentage_update, rgmi_quotient);
RGMI_METRIC(mean_squared_logarithmic_error, "mean_squared_logarithmic_error", true, rgmi_two,
            logarithmic_update, rgmi_quotient);
RGMI_METRIC(r2, "r2", false, r2_size, r2_update, r2_result);
