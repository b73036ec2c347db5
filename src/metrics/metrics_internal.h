/* Reads a metric's batch of any numeric dtype; sums that become quotients. */
#ifndef RGM_METRICS_INTERNAL_H
#define RGM_METRICS_INTERNAL_H

#include <math.h>

#include <regimen/metrics.h>

/** Items, units and direct pointers of a batch. */
typedef struct rgmi_batch_view {
    int64_t items, units;
    const float *f32; /* predictions in one of the two */
    const double *f64;
    const rgm_tensor *labels, *weights;
    int64_t weight_units; /* weights for each item: 1, or one for each unit */
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
    view.weight_units =
        view.weights != NULL && view.items > 0 ? rgm_tensor_count(view.weights) / view.items : 1;
    return view;
}

static inline double rgmi_prediction(const rgmi_batch_view *view, int64_t item, int64_t unit)
{
    int64_t i = item * view->units + unit;

    return view->f32 != NULL ? (double)view->f32[i] : view->f64[i];
}

/** The weight of one label of an item, which may be missing by itself. */
static inline double rgmi_unit_weight(const rgmi_batch_view *view, int64_t item, int64_t unit)
{
    if (view->weights == NULL)
        return 1.0;
    return rgm_tensor_at(view->weights,
                         item * view->weight_units + (view->weight_units > 1 ? unit : 0));
}

static inline double rgmi_weight(const rgmi_batch_view *view, int64_t item)
{
    return rgmi_unit_weight(view, item, 0);
}

/** Whether label `unit` of an item is 1. */
static inline bool rgmi_is_one(const rgmi_batch_view *view, int64_t item, int64_t unit)
{
    return rgm_tensor_at(view->labels, item * view->units + unit) > 0.5;
}

/** 1 / (1 + exp(-z)), which does not overflow. */
static inline double rgmi_probability(double z)
{
    return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
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

/** Keep the rank of a link in the metric's scores; metrics_curves.c has these. */
void rgmi_keep_rank(double *state, const rgm_metric *metric, double rank);

/** A metric's row: its name, whether smaller is better, and its three functions. */
#define RGMI_METRIC(id, title, smaller, size, updates, results)                                    \
    const rgm_metric_type rgm_metric_##id = {.name = (title),                                      \
                                             .smaller_is_better = (smaller),                       \
                                             .state_size = (size),                                 \
                                             .update = (updates),                                  \
                                             .result = (results)}

#endif
