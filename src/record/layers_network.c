/*
 * A network that an experiment file lists layer by layer.
 */
#include <regimen/nn_layers.h>

#include "records.h"

static void set_defaults(void *options)
{
    static const char *const layers[] = {"flatten", "dense 128 relu"};

    *(rgm_layers_network_options *)options = (rgm_layers_network_options){.layers = {layers, 2}};
}

#define RGM_OPTIONS rgm_layers_network_options
const rgm_field rgm_layers_network_fields[] = {
    RGM_TEXTS_FIELD(layers,
                    "one behind the other: [conv 32 3 relu, pool 2, flatten, dense 64 relu, "
                    "dropout 0.5]"),
    {0}};
#undef RGM_OPTIONS

static rgm_status check(const void *options)
{
    const rgm_layers_network_options *o = options;
    rgm_layer layers[RGM_MAX_LAYERS];
    int64_t count;

    if (o->layers.count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "model.layers lists no layer");
    return rgm_error_prefix(rgm_layers_parse(layers, &count, &o->layers), "model.layers");
}

static rgm_value *build(rgm_scope *scope, rgm_value *x, const void *options)
{
    const rgm_layers_network_options *o = options;
    rgm_layer layers[RGM_MAX_LAYERS];
    rgm_status status;
    int64_t count;
    char text[96];

    status = rgm_layers_parse(layers, &count, &o->layers);
    if (status != RGM_OK)
        return rgm_cgraph_fail(rgm_scope_graph(scope), status, "model.layers: %s",
                               rgm_error_message());
    x = rgm_layers(scope, x, layers, count);
    if (x != NULL && (rgm_value_rank(x) != 2 || rgm_value_dim(x, 1) < 0))
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_CONFIG,
                               "model.layers: the last layer gives %s: flatten or global_pool make "
                               "rows of it",
                               rgm_value_describe(x, text, sizeof text));
    return x;
}

const rgm_record_network rgm_layers_network = {
    .section = {.name = "layers",
                .help = "a list of layers, from dense to convolutions",
                .options_size = sizeof(rgm_layers_network_options),
                .defaults = set_defaults,
                .fields = rgm_layers_network_fields,
                .check = check},
    .build = build,
};
