/*
 * Losses between the states of two views. Items of weight 0 count nowhere: neither in means nor in
 * variances nor as what another item is compared with.
 */
#include "corruption.h"

/* ---- moments ------------------------------------------------------------------------------- */

/* [n] of x's dtype; NULL stays NULL. */
static rgm_value *weights_of(rgm_value *weights, const rgm_value *x)
{
    return weights == NULL || x == NULL ? NULL : rgm_cast(weights, rgm_value_dtype(x));
}

/* [n, 1], or with n columns a row of them, [1, n]. */
static rgm_value *as_column(rgm_value *x)
{
    return rgm_reshape(x, 2, (rgm_dim[]){rgm_value_dim(x, 0), 1});
}

static rgm_value *as_row(rgm_value *x)
{
    return rgm_reshape(x, 2, (rgm_dim[]){1, rgm_value_dim(x, 0)});
}

static rgm_value *weighted_rows(rgm_value *x, rgm_value *weights)
{
    return weights == NULL || x == NULL ? x : rgm_mul(x, as_column(weights));
}

/* How many items there are, a scalar at least 1. */
static rgm_value *count_items(rgm_value *x, rgm_value *weights)
{
    if (weights == NULL) {
        rgm_value *column = rgm_slice(x, 1, 0, 1);

        weights = rgm_shift(rgm_greater(column, column), 1);
    }
    return rgm_floor_at(rgm_sum(weights), 1);
}

/* The mean over items, [columns]. */
static rgm_value *column_means(rgm_value *x, rgm_value *weights)
{
    rgm_value *sum = rgm_reduce(weighted_rows(x, weights), 0, RGM_SUM);

    return rgm_div(sum, count_items(x, weights));
}

static rgm_value *centred(rgm_value *x, rgm_value *weights)
{
    return rgm_sub(x, column_means(x, weights));
}

/* a' b over n, [columns, columns]. */
static rgm_value *product_over_items(rgm_value *a, rgm_value *b, rgm_value *weights)
{
    rgm_value *sum = rgm_matmul_t(weighted_rows(a, weights), b, true, false);

    return rgm_div(sum, count_items(a, weights));
}

static bool are_states(rgm_value *a, rgm_value *b)
{
    char here[128], there[128];

    if (a == NULL || b == NULL)
        return false;
    if (rgm_value_rank(a) == 2 && rgm_value_rank(b) == 2 &&
        rgm_value_dim(a, 0) == rgm_value_dim(b, 0) && rgm_value_dim(a, 1) == rgm_value_dim(b, 1) &&
        rgm_value_dim(a, 1) > 0)
        return true;
    rgm_cgraph_fail(rgm_value_graph(a), RGM_ERR_SHAPE,
                    "states of two views are of the same items and columns, not %s and %s",
                    rgm_value_describe(a, here, sizeof here),
                    rgm_value_describe(b, there, sizeof there));
    return false;
}

/* The cosine of each item's states, [n]. */
static rgm_value *cosines(rgm_value *a, rgm_value *b)
{
    a = rgm_l2_normalize(a);
    b = rgm_l2_normalize(b);
    return rgm_reduce(rgm_mul(a, b), 1, RGM_SUM);
}

/* ---- losses -------------------------------------------------------------------------------- */

rgm_value *rgm_infomax_loss(rgm_scope *scope, rgm_value *clean, rgm_value *corrupted,
                            rgm_value *weights, bool sigmoid)
{
    rgm_value *w = weights_of(weights, clean), *summary, *kernel, *logits[2], *losses[2];
    int64_t width;

    if (!are_states(clean, corrupted))
        return NULL;
    width = rgm_value_dim(clean, 1);
    kernel = rgm_scope_parameter(rgm_scope_enter(scope, "summary"), "kernel", 2,
                                 (int64_t[]){width, width}, (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
    summary = column_means(clean, w);
    if (sigmoid)
        summary = rgm_sigmoid(summary);
    summary = rgm_matmul_t(kernel, as_row(summary), false, true); /* [d, 1] */
    logits[0] = rgm_matmul(clean, summary);
    logits[1] = rgm_matmul(corrupted, summary);
    for (int i = 0; i < 2; i++) {
        rgm_value *target = rgm_shift(rgm_greater(logits[i], logits[i]), i);

        losses[i] = rgm_reduce(rgm_sigmoid_cross_entropy(logits[i], target), 1, RGM_SUM);
    }
    return rgm_weighted_mean(rgm_scale(rgm_add(losses[0], losses[1]), 0.5), w);
}

static rgm_value *standard(rgm_value *x, rgm_value *weights)
{
    rgm_value *d = centred(x, weights);

    return rgm_mul(d, rgm_rsqrt(rgm_shift(column_means(rgm_square(d), weights), 1e-6)));
}

rgm_value *rgmi_diagonal(rgm_cgraph *graph, rgm_dtype dtype, int64_t d)
{
    rgm_tensor *tensor = NULL;
    rgm_value *value;
    rgm_status status = rgm_tensor_create(&tensor, dtype, 2, (int64_t[]){d, d});

    if (status != RGM_OK)
        return rgm_cgraph_fail(graph, status, "out of memory: a diagonal of %lld", (long long)d);
    for (int64_t i = 0; i < d; i++)
        rgm_dtype_put((char *)rgm_tensor_data(tensor) +
                          (size_t)(i * (d + 1)) * rgm_dtype_size(dtype),
                      dtype, 1);
    value = rgm_constant(graph, tensor);
    rgm_tensor_release(tensor);
    return value;
}

rgm_value *rgm_barlow_twins_loss(rgm_value *a, rgm_value *b, rgm_value *weights, double lambda,
                                 bool normalize)
{
    rgm_value *w = weights_of(weights, a), *c, *ones, *all, *on;
    int64_t d;

    if (!are_states(a, b))
        return NULL;
    d = rgm_value_dim(a, 1);
    if (lambda == 0)
        lambda = 1 / (double)d;
    if (normalize) {
        a = standard(a, w);
        b = standard(b, w);
    }
    c = product_over_items(a, b, w);
    if (c == NULL)
        return NULL;
    ones = rgmi_diagonal(rgm_value_graph(c), rgm_value_dtype(c), d);
    all = rgm_square(rgm_sub(c, ones));
    on = rgm_scale(rgm_sum(rgm_mul(all, ones)), 1 - lambda);
    return rgm_add(on, rgm_scale(rgm_sum(all), lambda));
}

/* What one view adds: columns that vary too little, and that vary together. */
static rgm_value *view_terms(rgm_value *x, rgm_value *weights, const rgm_vicreg_options *o,
                             rgm_value *sum)
{
    rgm_value *d = centred(x, weights), *term;
    int64_t width = rgm_value_dim(x, 1);

    if (o->variance != 0) {
        term = rgm_sqrt(rgm_shift(column_means(rgm_square(d), weights), 1e-4));
        term = rgm_mean(rgm_relu(rgm_shift(rgm_neg(term), 1)));
        sum = rgm_add(sum, rgm_scale(term, o->variance));
    }
    if (o->covariance != 0) {
        rgm_value *c = product_over_items(d, d, weights);
        rgm_value *off =
            rgm_shift(rgm_neg(rgmi_diagonal(rgm_value_graph(x), rgm_value_dtype(x), width)), 1);

        term = rgm_sum(rgm_square(rgm_mul(c, off)));
        sum = rgm_add(sum, rgm_scale(term, o->covariance / (double)width));
    }
    return sum;
}

rgm_value *rgm_vicreg_loss(rgm_value *a, rgm_value *b, rgm_value *weights,
                           const rgm_vicreg_options *options)
{
    static const rgm_vicreg_options defaults = RGM_VICREG_OPTIONS_INIT;
    const rgm_vicreg_options *o = options != NULL ? options : &defaults;
    rgm_value *w = weights_of(weights, a), *sum;

    if (!are_states(a, b))
        return NULL;
    sum = rgm_scalar(rgm_value_graph(a), rgm_value_dtype(a), 0);
    if (o->similarity != 0)
        sum = rgm_scale(rgm_weighted_mean(rgm_reduce(rgm_square(rgm_sub(a, b)), 1, RGM_MEAN), w),
                        o->similarity);
    sum = view_terms(a, w, o, sum);
    return view_terms(b, w, o, sum);
}

static rgm_value *distances(rgm_value *a, rgm_value *b)
{
    return rgm_reduce(rgm_square(rgm_sub(a, b)), 1, RGM_MEAN);
}

rgm_value *rgm_triplet_loss(rgm_value *anchor, rgm_value *positive, rgm_value *negative,
                            rgm_value *weights, double margin)
{
    rgm_value *near, *far;

    if (!are_states(anchor, positive) || !are_states(anchor, negative))
        return NULL;
    near = distances(anchor, positive);
    far = distances(anchor, negative);
    near = rgm_relu(rgm_shift(rgm_sub(near, far), margin));
    return rgm_weighted_mean(near, weights_of(weights, anchor));
}

/* ---- all items but oneself: [n, n] of 1, and 0 on the diagonal ---- */

static rgm_status others_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                               const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    out->dtype = rgm_value_dtype(in[0]);
    out->rank = 2;
    out->shape[0] = out->shape[1] = rgm_value_dim(in[0], 0);
    return RGM_OK;
}

static rgm_status others_forward(rgm_op_run *run)
{
    int64_t n = run->out->shape[0];

    for (int64_t i = 0; i < n * n; i++) {
        bool other = i % (n + 1) != 0;

        if (run->out->dtype == RGM_F64)
            ((double *)run->out->data)[i] = other;
        else
            ((float *)run->out->data)[i] = (float)other;
    }
    return RGM_OK;
}

static const rgm_op_type others_op = {
    .name = "others",
    .arity = 1,
    .infer = others_infer,
    .forward = others_forward,
    .on_host = true,
    .no_gradient = "depends on the number of items alone",
};

static rgm_value *others_of(rgm_value *x)
{
    return rgm_op(rgm_value_graph(x), &others_op, &x, 1, NULL);
}

/* ---- one item against all ---- */

/* x where `allowed` is above 0, far below all else where it is not. */
static rgm_value *only(rgm_value *x, rgm_value *allowed)
{
    rgm_value *none = rgm_scalar(rgm_value_graph(x), rgm_value_dtype(x), 0);

    return rgm_add(x, rgm_scale(rgm_shift(rgm_greater(allowed, none), -1), 1e30));
}

/* exp(x - most), those of weight 0 being nobody's; summed over each row, [n]. */
static rgm_value *sum_of_exp(rgm_value *x, rgm_value *most, rgm_value *weights)
{
    rgm_value *e = rgm_exp(rgm_sub(x, as_column(most)));

    return rgm_reduce(weights == NULL ? e : rgm_mul(e, as_row(weights)), 1, RGM_SUM);
}

/* Of each item of a: its other self against all else, [n]. Exponentials are of the distance from
 * the largest, so none is too large or all too small, whatever the temperature. */
static rgm_value *against_all(rgm_value *a, rgm_value *b, rgm_value *weights, double temperature)
{
    rgm_value *self = rgm_scale(rgm_reduce(rgm_mul(a, b), 1, RGM_SUM), 1 / temperature);
    rgm_value *between = rgm_scale(rgm_matmul_t(a, b, false, true), 1 / temperature);
    rgm_value *inside = rgm_scale(rgm_matmul_t(a, a, false, true), 1 / temperature);
    rgm_value *most, *sum;

    if (between == NULL || inside == NULL)
        return NULL;
    inside = only(inside, others_of(a));
    if (weights != NULL) {
        between = only(between, as_row(weights));
        inside = only(inside, as_row(weights));
    }
    most = rgm_reduce(between, 1, RGM_MAX);
    most = rgm_stop_gradient(rgm_maximum(most, rgm_reduce(inside, 1, RGM_MAX)));
    sum = sum_of_exp(between, most, weights);
    sum = rgm_log(rgm_floor_at(rgm_add(sum, sum_of_exp(inside, most, weights)), 1e-30));
    return rgm_add(sum, rgm_sub(most, self));
}

rgm_value *rgm_grace_loss(rgm_value *a, rgm_value *b, rgm_value *weights, double temperature)
{
    rgm_value *w = weights_of(weights, a), *sum;

    if (!are_states(a, b))
        return NULL;
    a = rgm_l2_normalize(a);
    b = rgm_l2_normalize(b);
    sum = against_all(a, b, w, temperature);
    sum = rgm_add(sum, against_all(b, a, w, temperature));
    return rgm_weighted_mean(rgm_scale(sum, 0.5), w);
}

rgm_value *rgm_bootstrap_loss(rgm_value *a, rgm_value *b, rgm_value *weights)
{
    rgm_value *error;

    if (!are_states(a, b))
        return NULL;
    error = rgm_shift(rgm_scale(cosines(a, rgm_stop_gradient(b)), -2), 2);
    return rgm_weighted_mean(error, weights_of(weights, a));
}

rgm_value *rgm_scaled_cosine_loss(rgm_value *a, rgm_value *b, rgm_value *weights, int64_t exponent)
{
    rgm_value *error, *power;

    if (!are_states(a, b))
        return NULL;
    error = power = rgm_shift(rgm_neg(cosines(a, b)), 1);
    for (int64_t i = 1; i < exponent; i++)
        power = rgm_mul(power, error);
    return rgm_weighted_mean(power, weights_of(weights, a));
}
