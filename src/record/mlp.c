/*
 * A multilayer perceptron on flattened records: dense layers, each followed by dropout.
 */
#include <stdio.h>
#include <string.h>

#include "records.h"

void rgm_mlp_defaults(void *options)
{
    static const int64_t hidden[] = {256, 128};

    *(rgm_mlp_options *)options =
        (rgm_mlp_options){.hidden = {hidden, 2}, .activation = RGM_ACT_RELU};
}

#define RGM_OPTIONS rgm_mlp_options
const rgm_field rgm_mlp_fields[] = {
    RGM_INTS_FIELD(hidden, 1, 1e6, "units of each hidden layer"),
    RGM_CHOICE_FIELD(activation, rgm_activation_names, "of the hidden layers"),
    RGM_FLOAT_FIELD(dropout, 0, 0.999, "rate of dropout behind each hidden layer"),
    RGM_BOOL_FIELD(batch_norm, "batch norm in place of the bias before each activation"),
    RGM_FLOAT_FIELD(l2, 0, 1e6, "coefficient of the sum of squared kernel weights in the loss"),
    {0}};
#undef RGM_OPTIONS

rgm_value *rgmi_norm_activate(rgm_scope *scope, const char *layer, rgm_value *x,
                              rgm_activation activation)
{
    /* With Keras' momentum of 0.99 the moving statistics would lag for the first hundreds of steps;
     * training on a small set has no more steps than that. */
    rgm_batch_norm_options norm = RGM_BATCH_NORM_OPTIONS_INIT;

    norm.momentum = 0.9;
    return rgm_activate(rgm_batch_norm(rgm_scope_enter(scope, layer), "norm", x, &norm), activation,
                        RGMI_SLOPE);
}

rgm_value *rgm_mlp(rgm_scope *scope, rgm_value *x, const void *options)
{
    const rgm_mlp_options *o = options;

    x = rgm_as_rows(scope, x);
    for (int64_t i = 0; i < o->hidden.count; i++) {
        rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;
        char name[32];

        snprintf(name, sizeof name, "hidden_%lld", (long long)i);
        dense.l2 = o->l2;
        dense.slope = RGMI_SLOPE;
        dense.bias = !o->batch_norm;
        if (!o->batch_norm)
            dense.activation = o->activation;
        x = rgm_dense_with(scope, name, x, o->hidden.items[i], &dense);
        if (o->batch_norm)
            x = rgmi_norm_activate(scope, name, x, o->activation);
        x = rgm_dropout(rgm_scope_enter(scope, name), x, o->dropout);
    }
    return x;
}
