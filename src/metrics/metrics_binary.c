/*
 * Metrics of independent 0/1 labels: logits [n, units] and as many labels. An item counts as
 * positive when its logit is above 0, that is, its probability above one half. The binned areas
 * count true and false positives at k thresholds on the probability, as Keras' AUC does, so that
 * figures can be compared; metrics_curves.c has the exact ones.
 */
#include <math.h>

#include "metrics_internal.h"

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

/* Curve state: positives[0..k] then negatives[0..k]; slot t holds the weight of the items whose
 * probability is above exactly the first t of the k thresholds. */
static int64_t curve_size(const rgm_metric *metric)
{
    return 2 * (metric->k + 1);
}

static int64_t curves_size(const rgm_metric *metric)
{
    return metric->outputs * curve_size(metric);
}

/* t_0 = -1e-7, t_i = i / (k - 1), the last 1 + 1e-7. */
static double threshold(int64_t i, int64_t k)
{
    if (i == 0)
        return -1e-7;
    return i == k - 1 ? 1 + 1e-7 : (double)i / (double)(k - 1);
}

static int64_t thresholds_below(double probability, int64_t k)
{
    int64_t below = probability > 0 ? (int64_t)(probability * (double)(k - 1)) : 0;

    if (below > k - 1)
        below = k - 1;
    while (below < k && probability > threshold(below, k))
        below++;
    while (below > 0 && !(probability > threshold(below - 1, k)))
        below--;
    return below;
}

/* One curve over all units, or one for each unit. */
static void add_to_curves(double *state, const rgm_metric *metric, const rgm_metric_batch *batch,
                          bool each)
{
    rgmi_batch_view view = rgmi_batch_open(batch);
    int64_t k = metric->k;

    for (int64_t i = 0; i < view.items; i++)
        for (int64_t u = 0; u < view.units; u++) {
            double p = rgmi_probability(rgmi_prediction(&view, i, u));
            double *curve = state + (each ? u * curve_size(metric) : 0);

            curve[(rgmi_is_one(&view, i, u) ? 0 : k + 1) + thresholds_below(p, k)] +=
                rgmi_unit_weight(&view, i, u);
        }
}

static void curve_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    add_to_curves(state, metric, batch, false);
}

static void curves_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    add_to_curves(state, metric, batch, true);
}

/* The weight of all labels that are 1, and that are 0. */
static void totals(double *positives, double *negatives, const double *state, int64_t k)
{
    *positives = *negatives = 0;
    for (int64_t t = 0; t <= k; t++) {
        *positives += state[t];
        *negatives += state[k + 1 + t];
    }
}

/* The sums of a curve go down from the highest threshold: tp and fp above it, tp0 and fp0 above the
 * next lower one. */
static double auc_roc_result(const double *state, const rgm_metric *metric)
{
    int64_t k = metric->k;
    double area = 0, tp = state[k], fp = state[k + 1 + k], positives, negatives;

    totals(&positives, &negatives, state, k);
    for (int64_t t = k - 1; t > 0; t--) {
        double tp0 = tp + state[t], fp0 = fp + state[k + 1 + t];

        area += (rgmi_ratio(fp0, negatives) - rgmi_ratio(fp, negatives)) *
                (rgmi_ratio(tp0, positives) + rgmi_ratio(tp, positives)) / 2;
        tp = tp0;
        fp = fp0;
    }
    return area;
}

/* Davis and Goadrich (2006): precision is interpolated along the true positives. */
static double auc_pr_result(const double *state, const rgm_metric *metric)
{
    int64_t k = metric->k;
    double area = 0, tp = state[k], fp = state[k + 1 + k], positives, negatives;

    totals(&positives, &negatives, state, k);
    for (int64_t t = k - 1; t > 0; t--) {
        double dtp = state[t], dp = state[t] + state[k + 1 + t];
        double slope = dp > 0 ? fmax(dtp / dp, 0) : 0;
        double intercept = tp - slope * (tp + fp);
        double p1 = tp + fp, p0 = p1 + dp;
        double ratio = p0 > 0 && p1 > 0 ? log(p0 / p1) : 0;

        area += rgmi_ratio(slope * (dtp + intercept * ratio), positives);
        tp += dtp;
        fp += state[k + 1 + t];
    }
    return area;
}

/* The mean over the units that have labels of both kinds, as in OGB; 0 if none has. */
static double mean_over_units(const double *state, const rgm_metric *metric,
                              double (*area)(const double *state, const rgm_metric *metric))
{
    double sum = 0, units = 0;

    for (int64_t u = 0; u < metric->outputs; u++) {
        const double *curve = state + u * curve_size(metric);
        double positives, negatives;

        totals(&positives, &negatives, curve, metric->k);
        if (positives > 0 && negatives > 0) {
            sum += area(curve, metric);
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

RGMI_METRIC(binary_accuracy, "binary_accuracy", false, rgmi_two, accuracy_update, rgmi_quotient);
RGMI_METRIC(binary_cross_entropy, "cross_entropy", true, rgmi_two, cross_entropy_update,
            rgmi_quotient);
RGMI_METRIC(precision, "precision", false, rgmi_two, precision_update, rgmi_quotient);
RGMI_METRIC(recall, "recall", false, rgmi_two, recall_update, rgmi_quotient);
RGMI_METRIC(auc_roc_binned, "auc_roc_binned", false, curve_size, curve_update, auc_roc_result);
RGMI_METRIC(auc_pr_binned, "auc_pr_binned", false, curve_size, curve_update, auc_pr_result);
RGMI_METRIC(auc_roc_macro_binned, "auc_roc_macro_binned", false, curves_size, curves_update,
            auc_roc_macro_result);
RGMI_METRIC(auc_pr_macro_binned, "auc_pr_macro_binned", false, curves_size, curves_update,
            auc_pr_macro_result);
