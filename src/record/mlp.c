/*
 * A multilayer perceptron: dense layers with dropout behind each, on records laid flat.
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

#define AT(member) offsetof(rgm_mlp_options, member)
const rgm_field rgm_mlp_fields[] = {
    {.name = "hidden",
     .kind = RGM_FIELD_INTS,
     .offset = AT(hidden),
     .min = 1,
     .max = 1e6,
     .help = "units of each hidden layer"},
    {.name = "activation",
     .kind = RGM_FIELD_CHOICE,
     .offset = AT(activation),
     .choices = rgm_activation_names,
     .help = "of the hidden layers"},
    {.name = "dropout",
     .kind = RGM_FIELD_FLOAT,
     .offset = AT(dropout),
     .min = 0,
     .max = 0.999,
     .help = "rate of dropout behind each hidden layer"},
    {.name = "batch_norm",
     .kind = RGM_FIELD_BOOL,
     .offset = AT(batch_norm),
     .help = "batch norm in place of the bias before each activation"},
    {.name = "l2",
     .kind = RGM_FIELD_FLOAT,
     .offset = AT(l2),
     .min = 0,
     .max = 1e6,
     .help = "coefficient of the sum of squared kernel weights in the loss"},
    {0},
};

rgm_value *rgmi_norm_activate(rgm_scope *scope, const char *layer, rgm_value *x,
                              rgm_activation activation)
{
    /* Keras' momentum of 0.99 would leave the moving statistics behind for the first hundreds of
     * steps, which are all there are of a small set. */
    rgm_batch_norm_options norm = RGM_BATCH_NORM_OPTIONS_INIT;

    norm.momentum = 0.9;
    return rgm_activate(rgm_batch_norm(rgm_scope_enter(scope, layer), "norm", x, &norm), activation,
                        RGMI_SLOPE);
}

rgm_value *rgm_mlp(rgm_scope *scope, rgm_value *x, const void *options)
{
    const rgm_mlp_options *o = options;
    rgm_activation activation = (rgm_activation)o->activation;

    x = rgm_as_rows(scope, x);
    for (int64_t i = 0; i < o->hidden.count; i++) {
        rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;
        char name[32];

        snprintf(name, sizeof name, "hidden_%lld", (long long)i);
        dense.l2 = o->l2;
        dense.slope = RGMI_SLOPE;
        dense.no_bias = o->batch_norm;
        if (!o->batch_norm)
            dense.activation = activation;
        x = rgm_dense_with(scope, name, x, o->hidden.items[i], &dense);
        if (o->batch_norm)
            x = rgmi_norm_activate(scope, name, x, activation);
        x = rgm_dropout(rgm_scope_enter(scope, name), x, o->dropout);
    }
    return x;
}
