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

/*
 * The labels' spread is the difference of two sums, of squares and of the square of the sum, which
 * are nearly equal where labels are far from zero. States of shards and ranks are added element by
 * element, so that no mean can be among them; the sums are exact instead: each value is cut into
 * whole multiples of powers of 2^32, which doubles add without rounding, up to 2^21 values.
 */
enum { DIGIT_BITS = 32, LOWEST_DIGIT = -10, DIGITS = 20 }; /* 2^-320 to 2^320: squares of floats */

static void exact_add(double *digits, double value)
{
    int exponent, digit;

    if (value == 0)
        return;
    frexp(value, &exponent);
    digit = isfinite(value) ? exponent / DIGIT_BITS - LOWEST_DIGIT : DIGITS;
    digit = digit < DIGITS ? digit : DIGITS - 1;
    for (; digit >= 0 && value != 0 && isfinite(value); digit--) {
        int place = (digit + LOWEST_DIGIT) * DIGIT_BITS;
        double whole = trunc(ldexp(value, -place));

        digits[digit] += whole;
        value -= ldexp(whole, place);
    }
    if (!isfinite(value))
        digits[DIGITS - 1] += value;
}

static long double exact_sum(const double *digits)
{
    long double sum = 0;

    for (int digit = DIGITS - 1; digit >= 0; digit--)
        sum += ldexpl(digits[digit], (digit + LOWEST_DIGIT) * DIGIT_BITS);
    return sum;
}

/* state: squared errors; and exactly the weights, weighted labels and weighted squares of labels,
 * over all units. */
enum {
    ERRORS,
    WEIGHTS,
    LABELS = WEIGHTS + DIGITS,
    SQUARES = LABELS + DIGITS,
    R2_STATE = SQUARES + DIGITS
};

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
            double label;

            if (weight == 0)
                continue;
            label = rgm_tensor_at(view.labels, i * view.units + u);
            state[ERRORS] += weight * squared(label, rgmi_prediction(&view, i, u));
            exact_add(state + WEIGHTS, weight);
            exact_add(state + LABELS, weight * label);
            exact_add(state + SQUARES, weight * label * label);
        }
    }
}

/* Labels whose spread is what rounding of the squares could have made do not vary. */
static double r2_result(const double *state, const rgm_metric *metric)
{
    long double weights = exact_sum(state + WEIGHTS), labels = exact_sum(state + LABELS);
    long double squares = exact_sum(state + SQUARES), spread;

    (void)metric;
    if (weights == 0)
        return 0;
    spread = squares - labels * (labels / weights);
    if (isnan(spread))
        return NAN;
    return spread > 1e-15L * squares ? (double)(1 - state[ERRORS] / spread) : 0;
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
