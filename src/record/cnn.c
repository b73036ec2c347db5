/*
 * A convolutional network on images: blocks of convolutions and a pool, followed by a perceptron.
 */
#include <stdio.h>
#include <string.h>

#include "records.h"

void rgm_cnn_defaults(void *options)
{
    static const int64_t channels[] = {32, 64}, hidden[] = {128};

    *(rgm_cnn_options *)options = (rgm_cnn_options){
        .channels = {channels, 2},
        .kernel = 3,
        .depth = 1,
        .pool = 2,
        .hidden = {hidden, 1},
        .activation = RGM_ACT_RELU,
    };
}

#define RGM_OPTIONS rgm_cnn_options
const rgm_field rgm_cnn_fields[] = {
    RGM_INTS_FIELD(channels, 1, 1e6, "channels of each block's convolutions"),
    RGM_INT_FIELD(kernel, 1, 1e3, "rows and columns of a convolution's window"),
    RGM_INT_FIELD(depth, 1, 1e3, "convolutions of a block"),
    RGM_INT_FIELD(pool, 1, 1e3, "rows and columns that a block's max pool makes one of; 1: none"),
    RGM_INTS_FIELD(hidden, 1, 1e6, "units of each dense layer behind the blocks"),
    RGM_CHOICE_FIELD(activation, rgm_activation_names, "of convolutions and dense layers"),
    RGM_FLOAT_FIELD(dropout, 0, 0.999,
                    "rate of dropout behind the blocks and behind each dense layer"),
    RGM_BOOL_FIELD(batch_norm, "batch norm in place of the bias before each activation"),
    RGM_FLOAT_FIELD(l2, 0, 1e6, "coefficient of the sum of squared kernel weights in the loss"),
    {0}};
#undef RGM_OPTIONS

/* [n, rows, columns] has one channel; any other shape than an image's is a failure. */
static rgm_value *as_images(rgm_scope *scope, rgm_value *x)
{
    rgm_dim shape[4] = {0, 0, 0, 1};
    char buffer[96];

    if (x == NULL || rgm_value_rank(x) == 4)
        return x;
    if (rgm_value_rank(x) != 3)
        return rgm_cgraph_fail(
            rgm_scope_graph(scope), RGM_ERR_CONFIG,
            "cnn: %s are no images: data.shape must be [rows, columns, channels]",
            rgm_value_describe(x, buffer, sizeof buffer));
    for (int i = 0; i < 3; i++)
        shape[i] = rgm_value_dim(x, i);
    return rgm_reshape(x, 4, shape);
}

static rgm_value *convolution(rgm_scope *scope, rgm_value *x, int64_t i, int64_t channels,
                              const rgm_cnn_options *o)
{
    rgm_conv2d_layer_options conv = RGM_CONV2D_LAYER_OPTIONS_INIT;
    char name[32];

    snprintf(name, sizeof name, "conv_%lld", (long long)i);
    conv.size[0] = conv.size[1] = o->kernel;
    conv.l2 = o->l2;
    conv.slope = RGMI_SLOPE;
    conv.bias = !o->batch_norm;
    if (!o->batch_norm)
        conv.activation = o->activation;
    x = rgm_conv2d_layer(scope, name, x, channels, &conv);
    return o->batch_norm ? rgmi_norm_activate(scope, name, x, o->activation) : x;
}

rgm_value *rgm_cnn(rgm_scope *scope, rgm_value *x, const void *options)
{
    const rgm_cnn_options *o = options;
    rgm_pool2d_options pool = {.size = {o->pool, o->pool}};
    rgm_mlp_options dense = {.hidden = o->hidden,
                             .activation = o->activation,
                             .dropout = o->dropout,
                             .batch_norm = o->batch_norm,
                             .l2 = o->l2};

    x = as_images(scope, x);
    for (int64_t block = 0; block < o->channels.count; block++) {
        for (int64_t i = 0; i < o->depth; i++)
            x = convolution(scope, x, block * o->depth + i, o->channels.items[block], o);
        if (o->pool > 1)
            x = rgm_max_pool2d(x, &pool);
    }
    x = rgm_dropout(scope, rgm_as_rows(scope, x), o->dropout);
    return rgm_mlp(scope, x, &dense);
}
