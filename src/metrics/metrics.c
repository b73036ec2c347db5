/*
 * Metrics of one class out of many: accuracy, cross-entropy, precision and recall of a class.
 * Predictions are logits [n, classes], labels [n]. Each state is two sums.
 */
#include <math.h>

#include "metrics_internal.h"

static void accuracy_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    (void)metric;
    for (int64_t i = 0; i < view.items; i++) {
        double weight = rgmi_weight(&view, i);

        if (rgmi_argmax(&view, i) == rgm_tensor_at_int(view.labels, i))
            state[0] += weight;
        state[1] += weight;
    }
}

/* How many classes rank before the label's; all, if the label's logit is NaN. */
static int64_t rank_of(const rgmi_batch_view *view, int64_t item, int64_t label)
{
    double at = rgmi_prediction(view, item, label);
    int64_t before = 0;

    for (int64_t c = 0; c < view->units; c++)
        before += c < label ? !(rgmi_prediction(view, item, c) < at)
                            : !(rgmi_prediction(view, item, c) <= at);
    return before;
}

static void top_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    for (int64_t i = 0; i < view.items; i++) {
        double weight = rgmi_weight(&view, i);

        if (rank_of(&view, i, rgm_tensor_at_int(view.labels, i)) < metric->k)
            state[0] += weight;
        state[1] += weight;
    }
}

static double row_cross_entropy(const rgmi_batch_view *view, int64_t item, int64_t label)
{
    double largest = rgmi_prediction(view, item, rgmi_argmax(view, item)), sum = 0;

    for (int64_t c = 0; c < view->units; c++)
        sum += exp(rgmi_prediction(view, item, c) - largest);
    return largest + log(sum) - rgmi_prediction(view, item, label);
}

static void cross_entropy_update(double *state, const rgm_metric *metric,
                                 const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    (void)metric;
    for (int64_t i = 0; i < view.items; i++) {
        double weight = rgmi_weight(&view, i);

        if (weight != 0)
            state[0] += weight * row_cross_entropy(&view, i, rgm_tensor_at_int(view.labels, i));
        state[1] += weight;
    }
}

/* Of the items with the class by `condition` (0: predicted, 1: labelled), count those with both. */
static void class_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch,
                         int condition)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    for (int64_t i = 0; i < view.items; i++) {
        double weight = rgmi_weight(&view, i);
        bool predicted = rgmi_argmax(&view, i) == metric->class_id;
        bool labelled = rgm_tensor_at_int(view.labels, i) == metric->class_id;

        if (predicted && labelled)
            state[0] += weight;
        if (condition == 0 ? predicted : labelled)
            state[1] += weight;
    }
}

static void class_precision_update(double *state, const rgm_metric *metric,
                                   const rgm_metric_batch *batch)
{
    class_update(state, metric, batch, 0);
}

static void class_recall_update(double *state, const rgm_metric *metric,
                                const rgm_metric_batch *batch)
{
    class_update(state, metric, batch, 1);
}

RGMI_METRIC(accuracy, "accuracy", false, rgmi_two, accuracy_update, rgmi_quotient);
RGMI_METRIC(top, "top", false, rgmi_two, top_update, rgmi_quotient);
RGMI_METRIC(cross_entropy, "cross_entropy", true, rgmi_two, cross_entropy_update, rgmi_quotient);
RGMI_METRIC(class_precision, "class_precision", false, rgmi_two, class_precision_update,
            rgmi_quotient);
RGMI_METRIC(class_recall, "class_recall", false, rgmi_two, class_recall_update, rgmi_quotient);
