/* Layers of image networks: convolution, and batch norm, which also works on rows of numbers. */
#include "nn_internal.h"

static bool wrong(rgm_scope *layer, bool is_wrong, const char *what, double got)
{
    if (is_wrong)
        rgm_cgraph_fail(rgm_scope_graph(layer), RGM_ERR_ARG, "'%s': %s, got %g",
                        rgm_scope_path(layer), what, got);
    return is_wrong;
}

rgm_value *rgm_conv2d_layer(rgm_scope *scope, const char *name, rgm_value *x, int64_t filters,
                            const rgm_conv2d_layer_options *options)
{
    static const rgm_conv2d_layer_options defaults = RGM_CONV2D_LAYER_OPTIONS_INIT;
    rgm_scope *layer = rgm_scope_enter(scope, name);
    rgm_value *kernel, *y;
    int64_t channels = rgm_width(x);

    if (layer == NULL || channels < 0)
        return NULL;
    rgmi_scope_mark(layer);
    if (options == NULL)
        options = &defaults;
    if (wrong(layer, filters < 1, "filters is at least 1", (double)filters))
        return NULL;
    kernel = rgm_scope_parameter(layer, "kernel", 4,
                                 (int64_t[]){options->size[0], options->size[1], channels, filters},
                                 options->kernel);
    rgm_scope_add_l2(layer, kernel, options->l2);
    y = rgm_conv2d(x, kernel,
                   &(rgm_conv2d_options){.stride = {options->stride[0], options->stride[1]},
                                         .dilation = {options->dilation[0], options->dilation[1]},
                                         .padding = options->padding});
    if (options->bias)
        y = rgm_add(y,
                    rgm_scope_parameter(layer, "bias", 1, &filters, (rgm_init){RGM_INIT_ZEROS, 0}));
    y = rgm_activate(y, options->activation, options->slope);
    rgmi_scope_mark(scope);
    return y;
}

/* The moving average of row `row` of the moments of x, which training updates. A layer called twice
 * updates it twice. A batch without rows, whose moments are 0, leaves it as it is. */
static rgm_value *moving(rgm_scope *layer, const char *name, rgm_value *x, rgm_value *moments,
                         int64_t row, rgm_init_kind start, double momentum)
{
    rgm_cgraph *graph = rgm_scope_graph(layer);
    int64_t width;
    rgm_value *state, *next, *before, *share;

    if (moments == NULL)
        return NULL;
    width = rgm_value_dim(moments, 1);
    state = rgm_scope_state(layer, name, 1, &width, (rgm_init){start, 0});
    next = rgm_reshape(rgm_slice(moments, 0, row, row + 1), 1, &width);
    share = rgm_by_rows(x, 1 - momentum, 0);
    next = rgm_mul(next, share);
    share = rgm_by_rows(x, momentum, 1);
    before = rgm_mul(rgm_cgraph_state_next(graph, state), share);
    next = rgm_add(before, next);
    rgm_cgraph_update(graph, state, next);
    return state;
}

rgm_value *rgm_batch_norm(rgm_scope *scope, const char *name, rgm_value *x,
                          const rgm_batch_norm_options *options)
{
    static const rgm_batch_norm_options defaults = RGM_BATCH_NORM_OPTIONS_INIT;
    rgm_scope *layer = rgm_scope_enter(scope, name);
    rgm_value *gamma, *beta, *moments, *mean, *variance, *y;
    int64_t width = rgm_width(x);

    if (layer == NULL || width < 0)
        return NULL;
    rgmi_scope_mark(layer);
    if (options == NULL)
        options = &defaults;
    if (wrong(layer, !(options->momentum >= 0 && options->momentum <= 1), "momentum is in [0, 1]",
              options->momentum) ||
        wrong(layer, !(options->epsilon > 0), "epsilon is above 0", options->epsilon) ||
        wrong(layer, rgm_value_rank(x) < 2, "the rank of the input is at least 2",
              rgm_value_rank(x)))
        return NULL;
    gamma = rgm_scope_parameter(layer, "gamma", 1, &width, (rgm_init){RGM_INIT_ONES, 0});
    beta = rgm_scope_parameter(layer, "beta", 1, &width, (rgm_init){RGM_INIT_ZEROS, 0});
    moments = rgm_batch_moments(x);
    mean = moving(layer, "moving_mean", x, moments, 0, RGM_INIT_ZEROS, options->momentum);
    variance = moving(layer, "moving_variance", x, moments, 1, RGM_INIT_ONES, options->momentum);
    y = rgm_mul(rgm_rsqrt(rgm_shift(variance, options->epsilon)), gamma);
    y = rgm_add(rgm_mul(rgm_sub(x, mean), y), beta);
    y = rgm_when_training(rgm_batch_norm_op(x, gamma, beta, options->epsilon), y);
    rgmi_scope_mark(scope);
    return y;
}
