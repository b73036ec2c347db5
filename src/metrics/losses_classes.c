/*
 * Losses of classes, for one class out of many and for independent 0/1 labels: cross-entropy with
 * smoothed labels, class weights and the focal factor; some labels may be missing. Keras 3 has the
 * same losses.
 */
#include <math.h>

#include <regimen/metrics.h>

rgm_value *rgm_weighted_mean(rgm_value *x, rgm_value *weights)
{
    rgm_value *total;

    if (x == NULL)
        return NULL;
    if (weights == NULL)
        return rgm_mean(x);
    /* A batch of only padding has total 0: its loss is 0, not NaN. */
    total = rgm_floor_at(rgm_sum(weights), 1e-12);
    return rgm_div(rgm_sum(rgm_mul(x, weights)), total);
}

/* ---- labels that are known ------------------------------------------------------------------ */

rgm_value *rgm_known_labels(rgm_value **known, rgm_value *labels, rgm_dtype dtype, bool classes)
{
    rgm_value *numbers = rgm_cast(labels, dtype), *zero, *none;
    rgm_dtype of = labels != NULL ? rgm_value_dtype(labels) : dtype;

    *known = NULL;
    if (numbers == NULL)
        return NULL;
    if (!classes && (of == RGM_I32 || of == RGM_I64)) {
        none = rgm_scalar(rgm_value_graph(labels), dtype, rgm_dtype_missing(of));
        *known = rgm_greater(numbers, none);
        return rgm_mul(numbers, *known);
    }
    if (!classes) { /* NaN is not itself; as the lowest number times 0 it is -0 */
        *known = rgm_equal(numbers, numbers);
        return rgm_mul(rgm_floor_at(numbers, -3e38), *known);
    }
    zero = rgm_scalar(rgm_value_graph(labels), dtype, -0.5);
    *known = rgm_greater(numbers, zero); /* of NaN 0 as well */
    return rgm_cast(rgm_floor_at(numbers, 0), rgm_value_dtype(labels));
}

/* ---- what both have -------------------------------------------------------------------------- */

/* x^power for x >= 0. */
static rgm_value *power_of(rgm_value *x, double power)
{
    return rgm_exp(rgm_scale(rgm_log(rgm_floor_at(x, 1e-30)), power));
}

/* -ln(p) (1 - p)^gamma, given -ln(p); 1 - exp(-x) = 2 t / (1 + t) with t = tanh(x / 2) does not
 * cancel where p is near 1. */
static rgm_value *focal(rgm_value *nll, double gamma)
{
    rgm_value *half, *rest;

    if (gamma == 0)
        return nll;
    half = rgm_tanh(rgm_scale(nll, 0.5));
    rest = rgm_shift(half, 1);
    rest = rgm_div(rgm_scale(half, 2), rest);
    return rgm_mul(nll, power_of(rest, gamma));
}

static rgm_value *check(rgm_value *logits, const rgm_class_loss_options *o)
{
    if (logits == NULL)
        return NULL;
    if (!(o->smoothing >= 0 && o->smoothing < 1))
        return rgm_cgraph_fail(rgm_value_graph(logits), RGM_ERR_ARG,
                               "label smoothing is %g; it must be in [0, 1)", o->smoothing);
    if (!(o->focal_gamma >= 0 && o->focal_gamma < INFINITY))
        return rgm_cgraph_fail(rgm_value_graph(logits), RGM_ERR_ARG,
                               "focal gamma is %g; it must be finite and at least 0",
                               o->focal_gamma);
    return logits;
}

/* ---- one class out of many ------------------------------------------------------------------- */

rgm_value *rgm_class_loss(rgm_value *logits, rgm_value *labels,
                          const rgm_class_loss_options *options)
{
    rgm_value *loss, *everywhere;

    if (check(logits, options) == NULL)
        return NULL;
    loss = focal(rgm_softmax_cross_entropy(logits, labels), options->focal_gamma);
    if (options->smoothing > 0 && loss != NULL) {
        everywhere = focal(rgm_neg(rgm_log_softmax(logits)), options->focal_gamma);
        everywhere = rgm_scale(rgm_reduce(everywhere, 1, RGM_MEAN), options->smoothing);
        loss = rgm_add(rgm_scale(loss, 1 - options->smoothing), everywhere);
    }
    return options->weights != NULL ? rgm_mul(loss, rgm_gather(options->weights, labels)) : loss;
}

/* ---- independent 0/1 labels ------------------------------------------------------------------ */

/* (1 - p)^gamma, where p is the probability of the label: y sigmoid(-z) + (1 - y) sigmoid(z). */
static rgm_value *binary_factor(rgm_value *logits, rgm_value *targets, double gamma)
{
    rgm_value *missed = rgm_mul(targets, rgm_sigmoid(rgm_neg(logits)));
    rgm_value *false_alarm = rgm_sigmoid(logits);

    false_alarm = rgm_mul(rgm_shift(rgm_neg(targets), 1), false_alarm);
    return power_of(rgm_add(missed, false_alarm), gamma);
}

/* w_0 + y (w_1 - w_0) */
static rgm_value *binary_weights(rgm_value *weights, rgm_value *targets)
{
    rgm_value *of_zero = rgm_slice(weights, 0, 0, 1), *more;

    more = rgm_sub(rgm_slice(weights, 0, 1, 2), of_zero);
    return rgm_add(rgm_mul(targets, more), of_zero);
}

rgm_value *rgm_binary_loss(rgm_value *logits, rgm_value *targets,
                           const rgm_class_loss_options *options)
{
    rgm_value *smooth = targets, *loss;

    if (check(logits, options) == NULL)
        return NULL;
    if (options->smoothing > 0)
        smooth = rgm_shift(rgm_scale(targets, 1 - options->smoothing), options->smoothing / 2);
    loss = rgm_sigmoid_cross_entropy(logits, smooth);
    if (options->focal_gamma > 0)
        loss = rgm_mul(loss, binary_factor(logits, smooth, options->focal_gamma));
    return options->weights != NULL ? rgm_mul(loss, binary_weights(options->weights, targets))
                                    : loss;
}
