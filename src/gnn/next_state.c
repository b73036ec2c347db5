/*
 * Next states: from the old state, what the edge sets bring and the context, the new state of a
 * set.
 */
#include "gnn_internal.h"

static const rgm_dense_state_options dense_state_defaults = RGM_DENSE_STATE_OPTIONS_INIT;

/* W [state || inputs || context] + b with `activation`, then dropout. */
static rgm_value *block(rgm_scope *scope, const rgm_state_inputs *inputs,
                        const rgm_dense_state_options *options, rgm_activation activation)
{
    rgm_dense_options dense = {.bias = options->bias,
                               .activation = activation,
                               .slope = 0.2,
                               .l2 = options->l2,
                               .l2_bias = options->l2_bias,
                               .kernel = options->kernel};
    rgm_value **x = NULL, *y;
    int64_t count = 0;

    if (scope == NULL || !rgmi_positive(scope, options->units, "units"))
        return NULL;
    if (RGM_NEW(x, inputs->count + 2) != RGM_OK)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOMEM, "out of memory: inputs");
    if (inputs->state != NULL)
        x[count++] = inputs->state;
    for (int64_t i = 0; i < inputs->count; i++)
        x[count++] = inputs->inputs[i];
    if (inputs->context != NULL)
        x[count++] = inputs->context;
    if (count == 0)
        y = rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOT_FOUND,
                            "'%s': '%s' has neither a state nor inputs", rgm_scope_path(scope),
                            inputs->set);
    else
        y = rgm_dense_concat(scope, NULL, x, count, options->units, &dense);
    rgm_free(x);
    return rgm_dropout(scope, y, options->dropout);
}

rgm_value *rgm_dense_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *payload)
{
    const rgm_dense_state_options *options = payload != NULL ? payload : &dense_state_defaults;
    rgm_value *y = block(scope, inputs, options, options->activation);

    return options->layer_norm ? rgm_layer_norm(scope, "layer_norm", y) : y;
}

bool rgmi_fits_residual(rgm_scope *scope, const rgm_state_inputs *inputs, int64_t units)
{
    int64_t width = rgm_width(inputs->state);

    if (width == units && rgmi_is_dense(inputs->state))
        return true;
    rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_SHAPE,
                    "'%s': a residual state of '%s' needs units (%lld) equal to the width of the "
                    "old dense state (%lld)",
                    rgm_scope_path(scope), inputs->set, (long long)units, (long long)width);
    return false;
}

rgm_value *rgm_residual_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *payload)
{
    const rgm_dense_state_options *options = payload != NULL ? payload : &dense_state_defaults;
    rgm_value *y = block(scope, inputs, options, RGM_ACT_NONE);
    int64_t width = inputs->state != NULL ? rgm_width(inputs->state) : 0;

    if (y == NULL || width < 0)
        return NULL;
    if (width > 0) {
        if (!rgmi_fits_residual(scope, inputs, options->units))
            return NULL;
        y = rgm_add(y, inputs->state);
    }
    y = rgm_activate(y, options->activation, 0.2);
    return options->layer_norm ? rgm_layer_norm(scope, "layer_norm", y) : y;
}

rgm_value *rgm_single_input_state(rgm_scope *scope, const rgm_state_inputs *inputs,
                                  const void *options)
{
    (void)options;
    if (scope == NULL)
        return NULL;
    if (inputs->count != 1 || inputs->context != NULL)
        return rgm_cgraph_fail(
            rgm_scope_graph(scope), RGM_ERR_ARG,
            "'%s': a single-input state of '%s' needs exactly one edge input and "
            "no context, got %lld%s",
            rgm_scope_path(scope), inputs->set, (long long)inputs->count,
            inputs->context != NULL ? " and a context" : "");
    return inputs->inputs[0];
}
