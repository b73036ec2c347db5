/*
 * Metrics of how well predicted probabilities match outcomes: the expected calibration error over
 * bins of equal width, and the Brier score.
 */
#include "metrics_internal.h"

/* ---- expected calibration error -------------------------------------------------------------- */

/* Of a bin: the weight of its predictions, the sum of their probabilities, how many were right. A
 * NaN probability goes into the first bin, which makes that bin and so the metric NaN. */
enum { WEIGHT, SURE, RIGHT, ROW };

static int64_t bins_size(const rgm_metric *metric)
{
    return ROW * metric->k;
}

static void put(double *state, const rgm_metric *metric, double probability, bool right,
                double weight)
{
    double last = ceil(probability * (double)metric->k); /* (b / k, (b + 1) / k] */
    int64_t bin = isnan(last) ? 0 : (int64_t)last - 1;

    if (weight == 0)
        return;
    bin = bin < 0 ? 0 : bin >= metric->k ? metric->k - 1 : bin;
    state[ROW * bin + WEIGHT] += weight;
    state[ROW * bin + SURE] += weight * probability;
    state[ROW * bin + RIGHT] += right ? weight : 0;
}

/* exp(z_c), and the sum over the classes, both divided by exp(largest). */
static double exponent(const rgmi_batch_view *view, int64_t item, int64_t of, double largest)
{
    return exp(rgmi_prediction(view, item, of) - largest);
}

static double sum_of_exponents(const rgmi_batch_view *view, int64_t item, double largest)
{
    double sum = 0;

    for (int64_t c = 0; c < view->units; c++)
        sum += exponent(view, item, c, largest);
    return sum;
}

/* The probability of the predicted class, and whether it was the label (Guo et al. 2017). */
static void class_bins_update(double *state, const rgm_metric *metric,
                              const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    for (int64_t i = 0; i < view.items; i++) {
        int64_t given = rgmi_argmax(&view, i);
        double sum = sum_of_exponents(&view, i, rgmi_prediction(&view, i, given));

        put(state, metric, 1 / sum, given == rgm_tensor_at_int(view.labels, i),
            rgmi_weight(&view, i));
    }
}

/* The probability of 1, and whether the label was 1 (Naeini et al. 2015). */
static void binary_bins_update(double *state, const rgm_metric *metric,
                               const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    for (int64_t i = 0; i < view.items; i++)
        for (int64_t u = 0; u < view.units; u++)
            put(state, metric, rgmi_probability(rgmi_prediction(&view, i, u)),
                rgmi_is_one(&view, i, u), rgmi_unit_weight(&view, i, u));
}

static double bins_result(const double *state, const rgm_metric *metric)
{
    double apart = 0, weight = 0;

    for (int64_t b = 0; b < metric->k; b++) {
        apart += fabs(state[ROW * b + SURE] - state[ROW * b + RIGHT]);
        weight += state[ROW * b + WEIGHT];
    }
    return rgmi_ratio(apart, weight);
}

/* ---- Brier (1950) ---------------------------------------------------------------------------- */

/* Squared distances of the probabilities of all classes from 1 for the label and 0 for others. */
static void class_brier_update(double *state, const rgm_metric *metric,
                               const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    (void)metric;
    for (int64_t i = 0; i < view.items; i++) {
        double weight = rgmi_weight(&view, i), squares = 0;
        double largest = rgmi_prediction(&view, i, rgmi_argmax(&view, i));
        double sum = sum_of_exponents(&view, i, largest);

        for (int64_t c = 0; c < view.units && weight != 0; c++) {
            double off =
                exponent(&view, i, c, largest) / sum - (c == rgm_tensor_at_int(view.labels, i));

            squares += off * off;
        }
        state[0] += weight * squares;
        state[1] += weight;
    }
}

static void binary_brier_update(double *state, const rgm_metric *metric,
                                const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    (void)metric;
    for (int64_t i = 0; i < view.items; i++)
        for (int64_t u = 0; u < view.units; u++) {
            double weight = rgmi_unit_weight(&view, i, u);
            double off = rgmi_probability(rgmi_prediction(&view, i, u)) - rgmi_is_one(&view, i, u);

            state[0] += weight * off * off;
            state[1] += weight;
        }
}

RGMI_METRIC(calibration_error, "calibration_error", true, bins_size, class_bins_update,
            bins_result);
RGMI_METRIC(binary_calibration_error, "calibration_error", true, bins_size, binary_bins_update,
            bins_result);
RGMI_METRIC(brier_score, "brier_score", true, rgmi_two, class_brier_update, rgmi_quotient);
RGMI_METRIC(binary_brier_score, "brier_score", true, rgmi_two, binary_brier_update, rgmi_quotient);
