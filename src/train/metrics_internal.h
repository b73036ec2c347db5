/* Reading a metric's batch of any numeric dtype; sums that become quotients. */
#ifndef RGM_TRAIN_METRICS_INTERNAL_H
#define RGM_TRAIN_METRICS_INTERNAL_H

#include <regimen/train.h>

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

/** A metric's row: what it is called, whether smaller is better, and its three functions. */
#define RGMI_METRIC(id, title, smaller, size, updates, results)                                    \
    const rgm_metric_type rgm_metric_##id = {.name = (title),                                      \
                                             .smaller_is_better = (smaller),                       \
                                             .state_size = (size),                                 \
                                             .update = (updates),                                  \
                                             .result = (results)}

#endif
