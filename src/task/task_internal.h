/*
 * What the files of this layer share: reading a metric's batch of any numeric dtype; classes and
 * how a head that predicts them is judged.
 */
#ifndef RGM_TASK_INTERNAL_H
#define RGM_TASK_INTERNAL_H

#include <regimen/task.h>

/** Items, units and direct pointers of a batch. */
typedef struct rgmi_batch_view {
    int64_t items, units;
    const float *f32; /* predictions in one of the two */
    const double *f64;
    const rgm_tensor *labels, *weights;
} rgmi_batch_view;

static inline rgmi_batch_view rgmi_batch_open(const rgm_metric_batch *batch)
{
    rgmi_batch_view view = {0};

    view.items = rgm_tensor_dim(batch->predictions, 0);
    view.units = view.items > 0 ? rgm_tensor_count(batch->predictions) / view.items : 0;
    if (rgm_tensor_dtype(batch->predictions) == RGM_F32)
        view.f32 = rgm_tensor_f32(batch->predictions);
    else
        view.f64 = rgm_tensor_f64(batch->predictions);
    view.labels = batch->labels;
    view.weights = batch->weights;
    return view;
}

static inline double rgmi_prediction(const rgmi_batch_view *view, int64_t item, int64_t unit)
{
    int64_t i = item * view->units + unit;

    return view->f32 != NULL ? (double)view->f32[i] : view->f64[i];
}

static inline double rgmi_weight(const rgmi_batch_view *view, int64_t item)
{
    return view->weights == NULL ? 1.0 : rgm_tensor_at(view->weights, item);
}

static inline int64_t rgmi_argmax(const rgmi_batch_view *view, int64_t item)
{
    int64_t best = 0;

    for (int64_t c = 1; c < view->units; c++)
        if (rgmi_prediction(view, item, c) > rgmi_prediction(view, item, best))
            best = c;
    return best;
}

/** numerator / denominator, 0 when the denominator is. */
static inline double rgmi_ratio(double numerator, double denominator)
{
    return denominator > 0 ? numerator / denominator : 0.0;
}

/** State of the metrics that are a quotient of two sums. */
static inline int64_t rgmi_two(const rgm_metric *metric)
{
    (void)metric;
    return 2;
}

static inline double rgmi_quotient(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return rgmi_ratio(state[0], state[1]);
}

/* ---- one class out of many ------------------------------------------------------------------ */

/** What tasks that predict a class have in common. */
typedef struct rgmi_classes {
    int64_t num_classes; /* this or names */
    rgm_texts names;
    bool statistics;  /* precision and recall of each class too */
    double smoothing; /* of labels, in the loss alone           */
} rgmi_classes;

static inline int64_t rgmi_class_count(const rgmi_classes *classes)
{
    return classes->names.count > 0 ? classes->names.count : classes->num_classes;
}
/** RGM_ERR_CONFIG: both or none of num_classes and class_names, or more statistics than fit. */
rgm_status rgmi_check_classes(const rgmi_classes *classes);
/** Loss (mean over the items) and metrics of a head whose predictions, labels and weights are set.
 */
void rgmi_judge_classes(rgm_head *head, const rgmi_classes *classes);
/** One more metric, by the name of its type. */
rgm_metric *rgmi_add_metric(rgm_head *head, const rgm_metric_type *type);

#endif
