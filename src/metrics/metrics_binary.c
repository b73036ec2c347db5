/*
 * Metrics of independent 0/1 labels: logits [n, units] and as many labels. An item counts as
 * positive when its logit is above 0, that is, its probability above one half. The curves (AUC,
 * recall at a precision) count true and false positives at 200 thresholds on the probability, as in
 * Keras, so that figures can be compared.
 */
#include <math.h>

#include "metrics_internal.h"

#define THRESHOLDS 200

static void accuracy_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    (void)metric;
    for (int64_t i = 0; i < view.items; i++)
        for (int64_t u = 0; u < view.units; u++) {
            double weight = rgmi_unit_weight(&view, i, u);
            bool positive = rgmi_prediction(&view, i, u) > 0;

            if (positive == rgmi_is_one(&view, i, u))
                state[0] += weight;
            state[1] += weight;
        }
}

static void cross_entropy_update(double *state, const rgm_metric *metric,
                                 const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    (void)metric;
    for (int64_t i = 0; i < view.items; i++)
        for (int64_t u = 0; u < view.units; u++) {
            double weight = rgmi_unit_weight(&view, i, u), z = rgmi_prediction(&view, i, u);
            double y = rgm_tensor_at(view.labels, i * view.units + u);

            state[0] += weight * (fmax(z, 0) - z * y + log1p(exp(-fabs(z))));
            state[1] += weight;
        }
}

static void count_hits(double *state, const rgm_metric_batch *batch, bool of_predicted)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    for (int64_t i = 0; i < view.items; i++)
        for (int64_t u = 0; u < view.units; u++) {
            double weight = rgmi_unit_weight(&view, i, u);
            bool predicted = rgmi_prediction(&view, i, u) > 0;
            bool labelled = rgmi_is_one(&view, i, u);

            if (predicted && labelled)
                state[0] += weight;
            if (of_predicted ? predicted : labelled)
                state[1] += weight;
        }
}

static void precision_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    (void)metric;
    count_hits(state, batch, true);
}

static void recall_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    (void)metric;
    count_hits(state, batch, false);
}

/* Curve state: positives[0..T] then negatives[0..T]; slot k holds the weight of the items whose
 * probability is above exactly the first k thresholds. */
enum { CURVE = 2 * (THRESHOLDS + 1) };

static int64_t curve_size(const rgm_metric *metric)
{
    (void)metric;
    return CURVE;
}

static int64_t curves_size(const rgm_metric *metric)
{
    return metric->outputs * CURVE;
}

/* t_0 = -1e-7, t_i = i / 199, t_199 = 1 + 1e-7. */
static double threshold(int i)
{
    if (i == 0)
        return -1e-7;
    return i == THRESHOLDS - 1 ? 1 + 1e-7 : (double)i / (THRESHOLDS - 1);
}

static int thresholds_below(double probability)
{
    int k = (int)(probability * (THRESHOLDS - 1));

    if (k < 0)
        k = 0;
    if (k > THRESHOLDS - 1)
        k = THRESHOLDS - 1;
    while (k < THRESHOLDS && probability > threshold(k))
        k++;
    while (k > 0 && !(probability > threshold(k - 1)))
        k--;
    return k;
}

/* One curve over all units, or one for each unit. */
static void add_to_curves(double *state, const rgm_metric_batch *batch, bool each)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    for (int64_t i = 0; i < view.items; i++)
        for (int64_t u = 0; u < view.units; u++) {
            double p = rgmi_probability(rgmi_prediction(&view, i, u));
            double *curve = state + (each ? u * CURVE : 0);

            curve[(rgmi_is_one(&view, i, u) ? 0 : THRESHOLDS + 1) + thresholds_below(p)] +=
                rgmi_unit_weight(&view, i, u);
        }
}

static void curve_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    (void)metric;
    add_to_curves(state, batch, false);
}

static void curves_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    (void)metric;
    add_to_curves(state, batch, true);
}

/* True and false positives at each threshold, and the totals. */
typedef struct curve {
    double tp[THRESHOLDS], fp[THRESHOLDS], positives, negatives;
} curve;

static curve curve_make(const double *state)
{
    curve c = {.positives = state[0], .negatives = state[THRESHOLDS + 1]};
    double tp = 0, fp = 0;

    for (int t = THRESHOLDS - 1; t >= 0; t--) {
        tp += state[t + 1];
        fp += state[THRESHOLDS + 1 + t + 1];
        c.tp[t] = tp;
        c.fp[t] = fp;
    }
    c.positives += tp;
    c.negatives += fp;
    return c;
}

static double auc_roc_result(const double *state, const rgm_metric *metric)
{
    curve c = curve_make(state);
    double area = 0;

    (void)metric;
    for (int t = 0; t + 1 < THRESHOLDS; t++) {
        double width = rgmi_ratio(c.fp[t], c.negatives) - rgmi_ratio(c.fp[t + 1], c.negatives);
        double height = rgmi_ratio(c.tp[t], c.positives) + rgmi_ratio(c.tp[t + 1], c.positives);

        area += width * height / 2;
    }
    return area;
}

/* Davis and Goadrich (2006): precision is interpolated along the true positives. */
static double auc_pr_result(const double *state, const rgm_metric *metric)
{
    curve c = curve_make(state);
    double area = 0;

    (void)metric;
    for (int t = 0; t + 1 < THRESHOLDS; t++) {
        double p0 = c.tp[t] + c.fp[t], p1 = c.tp[t + 1] + c.fp[t + 1];
        double dtp = c.tp[t] - c.tp[t + 1], dp = p0 - p1;
        double slope = dp > 0 ? fmax(dtp / dp, 0) : 0;
        double intercept = c.tp[t + 1] - slope * p1;
        double ratio = p0 > 0 && p1 > 0 ? log(p0 / p1) : 0;

        area += rgmi_ratio(slope * (dtp + intercept * ratio), c.positives);
    }
    return area;
}

/* The mean over the units that have labels of both kinds, as in OGB; 0 if none has. */
static double mean_over_units(const double *state, const rgm_metric *metric,
                              double (*area)(const double *state, const rgm_metric *metric))
{
    double sum = 0, units = 0;

    for (int64_t u = 0; u < metric->outputs; u++) {
        curve c = curve_make(state + u * CURVE);

        if (c.positives > 0 && c.negatives > 0) {
            sum += area(state + u * CURVE, metric);
            units++;
        }
    }
    return rgmi_ratio(sum, units);
}

static double auc_roc_macro_result(const double *state, const rgm_metric *metric)
{
    return mean_over_units(state, metric, auc_roc_result);
}

static double auc_pr_macro_result(const double *state, const rgm_metric *metric)
{
    return mean_over_units(state, metric, auc_pr_result);
}

static double recall_at_precision_result(const double *state, const rgm_metric *metric)
{
    curve c = curve_make(state);
    double best = 0;

    for (int t = 0; t < THRESHOLDS; t++)
        if (rgmi_ratio(c.tp[t], c.tp[t] + c.fp[t]) >= metric->precision)
            best = fmax(best, rgmi_ratio(c.tp[t], c.positives));
    return best;
}

RGMI_METRIC(binary_accuracy, "binary_accuracy", false, rgmi_two, accuracy_update, rgmi_quotient);
RGMI_METRIC(binary_cross_entropy, "cross_entropy", true, rgmi_two, cross_entropy_update,
            rgmi_quotient);
RGMI_METRIC(precision, "precision", false, rgmi_two, precision_update, rgmi_quotient);
RGMI_METRIC(recall, "recall", false, rgmi_two, recall_update, rgmi_quotient);
RGMI_METRIC(auc_roc, "auc_roc", false, curve_size, curve_update, auc_roc_result);
RGMI_METRIC(auc_pr, "auc_pr", false, curve_size, curve_update, auc_pr_result);
RGMI_METRIC(auc_roc_macro, "auc_roc_macro", false, curves_size, curves_update,
            auc_roc_macro_result);
RGMI_METRIC(auc_pr_macro, "auc_pr_macro", false, curves_size, curves_update, auc_pr_macro_result);
RGMI_METRIC(recall_at_precision, "recall_at_precision", false, curve_size, curve_update,
            recall_at_precision_result);
