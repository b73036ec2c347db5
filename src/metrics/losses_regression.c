/*
 * Losses of predicted numbers, each item's mean over its units. Keras' losses are as in Keras 2.15,
 * with the same constants.
 */
#include <regimen/metrics.h>

const char *const rgm_regression_loss_names[] = {"mean_squared_error",
                                                 "mean_absolute_error",
                                                 "mean_absolute_percentage_error",
                                                 "mean_squared_logarithmic_error",
                                                 "mean_squared_log_scaled_error",
                                                 "cosine_similarity",
                                                 "huber",
                                                 "log_cosh",
                                                 "quantile",
                                                 "poisson",
                                                 NULL};

/* The smallest number in a logarithm or a quotient, as in Keras. */
#define KERAS_EPSILON 1e-7

static rgm_value *error_of(rgm_value *predictions, rgm_value *labels)
{
    return rgm_sub(labels, predictions);
}

/* ln(1 + max(x, epsilon)) */
static rgm_value *log1p_of(rgm_value *x)
{
    return rgm_log(rgm_shift(rgm_floor_at(x, KERAS_EPSILON), 1));
}

static rgm_value *log_error(rgm_value *predictions, rgm_value *labels)
{
    rgm_value *of_labels = log1p_of(labels);

    return rgm_square(rgm_sub(of_labels, log1p_of(predictions)));
}

static rgm_value *percentage_error(rgm_value *predictions, rgm_value *labels)
{
    rgm_value *error = rgm_abs(error_of(predictions, labels));

    return rgm_scale(rgm_div(error, rgm_floor_at(rgm_abs(labels), KERAS_EPSILON)), 100);
}

static rgm_value *log_scaled_error(rgm_value *predictions, rgm_value *labels, double alpha,
                                   double epsilon)
{
    rgm_value *squares = rgm_square(error_of(predictions, labels));
    rgm_value *of_predictions = rgm_log(rgm_shift(predictions, epsilon));
    rgm_value *of_labels = rgm_log(rgm_shift(labels, epsilon));

    return rgm_add(squares, rgm_scale(rgm_square(rgm_sub(of_predictions, of_labels)), alpha));
}

/* x / |x| for each row; a row of zeros stays one. */
static rgm_value *unit_rows(rgm_value *x)
{
    rgm_value *squares = rgm_reduce(rgm_square(x), 1, RGM_SUM);
    rgm_dim shape[2];

    if (squares == NULL)
        return NULL;
    shape[0] = rgm_value_dim(squares, 0);
    shape[1] = 1;
    return rgm_mul(x, rgm_reshape(rgm_rsqrt(rgm_floor_at(squares, 1e-12)), 2, shape));
}

/* e^2 / 2 within delta, delta (|e| - delta / 2) beyond: q (|e| - q / 2) with q = min(|e|,
 * delta). */
static rgm_value *huber(rgm_value *predictions, rgm_value *labels, double delta)
{
    rgm_value *size = rgm_abs(error_of(predictions, labels));
    rgm_value *inner = rgm_neg(rgm_floor_at(rgm_neg(size), -delta));
    rgm_value *rest = rgm_sub(size, rgm_scale(inner, 0.5));

    return rgm_mul(inner, rest);
}

/* ln(cosh(e)) = e + softplus(-2 e) - ln 2, which does not overflow. */
static rgm_value *log_cosh(rgm_value *predictions, rgm_value *labels)
{
    rgm_value *error = error_of(predictions, labels);
    rgm_value *rest = rgm_softplus(rgm_scale(error, -2));

    return rgm_shift(rgm_add(error, rest), -0.69314718055994531);
}

/* max(q e, (q - 1) e) */
static rgm_value *pinball(rgm_value *predictions, rgm_value *labels, double quantile)
{
    rgm_value *error = error_of(predictions, labels);
    rgm_value *above = rgm_scale(error, quantile);

    return rgm_maximum(above, rgm_scale(error, quantile - 1));
}

/* rate - label ln(rate): the negative log likelihood without the term that has only the label. */
static rgm_value *poisson(rgm_value *predictions, rgm_value *labels)
{
    rgm_value *logarithm = rgm_log(rgm_shift(predictions, KERAS_EPSILON));

    return rgm_sub(predictions, rgm_mul(labels, logarithm));
}

rgm_value *rgm_regression_unit_loss(rgm_regression_loss_type type, rgm_value *predictions,
                                    rgm_value *labels, const rgm_regression_loss_options *options)
{
    switch (type) {
    case RGM_LOSS_MEAN_SQUARED_ERROR:
        return rgm_square(error_of(predictions, labels));
    case RGM_LOSS_MEAN_ABSOLUTE_ERROR:
        return rgm_abs(error_of(predictions, labels));
    case RGM_LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR:
        return percentage_error(predictions, labels);
    case RGM_LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR:
        return log_error(predictions, labels);
    case RGM_LOSS_MEAN_SQUARED_LOG_SCALED_ERROR:
        return log_scaled_error(predictions, labels, options->alpha, options->epsilon);
    case RGM_LOSS_COSINE_SIMILARITY:
        break;
    case RGM_LOSS_HUBER:
        return huber(predictions, labels, options->delta);
    case RGM_LOSS_LOG_COSH:
        return log_cosh(predictions, labels);
    case RGM_LOSS_QUANTILE:
        return pinball(predictions, labels, options->quantile);
    case RGM_LOSS_POISSON:
        return poisson(predictions, labels);
    }
    return predictions == NULL ? NULL
                               : rgm_cgraph_fail(rgm_value_graph(predictions), RGM_ERR_ARG,
                                                 "cosine_similarity is a loss of whole rows");
}

rgm_value *rgm_regression_loss(rgm_regression_loss_type type, rgm_value *predictions,
                               rgm_value *labels, const rgm_regression_loss_options *options)
{
    rgm_value *unit;

    if (type != RGM_LOSS_COSINE_SIMILARITY)
        return rgm_reduce(rgm_regression_unit_loss(type, predictions, labels, options), 1,
                          RGM_MEAN);
    unit = unit_rows(predictions);
    return rgm_neg(rgm_reduce(rgm_mul(unit, unit_rows(labels)), 1, RGM_SUM));
}
