/*
 * A list of layers: each is held against what it gets before it is made, so that what does not fit
 * is told with the layer's number and name.
 */
#include <regimen/nn_layers.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nn_internal.h"

const char *const rgm_layer_names[] = {"dense",      "activation", "dropout", "batch_norm",
                                       "layer_norm", "conv",       "pool",    "global_pool",
                                       "flatten",    "embedding",  NULL};

/* A layer in its place. */
typedef struct place {
    rgm_scope *scope;
    const rgm_layer *layer;
    int64_t number;
    char name[96];
} place;

static bool fail(const place *p, rgm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(const place *p, rgm_status code, const char *format, ...)
{
    char text[300];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rgm_cgraph_fail(rgm_scope_graph(p->scope), code, "layer %lld, %s: %s", (long long)p->number,
                    p->name, text);
    return false;
}

static bool needs(const place *p, const rgm_value *x, bool has, const char *what)
{
    char text[96];

    return has || fail(p, RGM_ERR_SHAPE, "it takes %s, but gets %s", what,
                       rgm_value_describe(x, text, sizeof text));
}

/* ---- what a layer says by itself --------------------------------------------------------------
 */

static bool is_finite_below(double value, double most)
{
    return value >= 0 && value < most; /* false for NaN */
}

static bool check_numbers(const place *p)
{
    const rgm_layer *l = p->layer;
    bool has_units =
        l->kind == RGM_LAYER_DENSE || l->kind == RGM_LAYER_CONV || l->kind == RGM_LAYER_EMBEDDING;
    bool has_size = l->kind == RGM_LAYER_CONV || l->kind == RGM_LAYER_POOL;

    if (has_units && l->units < 1)
        return fail(p, RGM_ERR_ARG, "%lld units; at least 1 is possible", (long long)l->units);
    if (l->kind == RGM_LAYER_EMBEDDING && l->count < 1)
        return fail(p, RGM_ERR_ARG, "a table of %lld rows; at least 1 is possible",
                    (long long)l->count);
    if (has_size && (l->size[0] < 1 || l->size[1] < 0 || l->stride[0] < 0 || l->stride[1] < 0))
        return fail(p, RGM_ERR_ARG,
                    "a window of %lld rows and %lld columns with strides %lld and %lld",
                    (long long)l->size[0], (long long)l->size[1], (long long)l->stride[0],
                    (long long)l->stride[1]);
    if (l->kind == RGM_LAYER_DROPOUT && !is_finite_below(l->rate, 1))
        return fail(p, RGM_ERR_ARG, "a rate of %g; it is in [0, 1)", l->rate);
    if (l->kind == RGM_LAYER_BATCH_NORM && !is_finite_below(l->momentum, 1))
        return fail(p, RGM_ERR_ARG, "a momentum of %g; it is in [0, 1)", l->momentum);
    if (!is_finite_below(l->l2, 1e30))
        return fail(p, RGM_ERR_ARG, "l2 of %g", l->l2);
    if (l->slope != 0 && l->activation != RGM_ACT_LEAKY_RELU)
        return fail(p, RGM_ERR_ARG, "a slope of %g, which leaky_relu alone has", l->slope);
    if (!is_finite_below(l->slope, 1e30))
        return fail(p, RGM_ERR_ARG, "a slope of %g; it is above 0", l->slope);
    return true;
}

/* ---- what it gets -----------------------------------------------------------------------------
 */

static bool is_float(const rgm_value *x)
{
    return rgm_value_dtype(x) == RGM_F32 || rgm_value_dtype(x) == RGM_F64;
}

/* Whether all axes but the first have a size. */
static bool is_fixed(const rgm_value *x)
{
    for (int a = 1; a < rgm_value_rank(x); a++)
        if (rgm_value_dim(x, a) < 0)
            return false;
    return true;
}

static bool check_window(const place *p, const rgm_value *x)
{
    static const char *const axes[] = {"rows", "columns"};
    const rgm_layer *l = p->layer;

    for (int i = 0; i < 2 && l->padding == RGM_PAD_VALID; i++) {
        int64_t size = i == 1 && l->size[1] > 0 ? l->size[1] : l->size[0];

        if (rgm_value_dim(x, 1 + i) < size)
            return fail(p, RGM_ERR_SHAPE,
                        "a window of %lld %s, but its images have %lld: with padding same they are "
                        "padded",
                        (long long)size, axes[i], (long long)rgm_value_dim(x, 1 + i));
    }
    return true;
}

static bool check_input(const place *p, const rgm_value *x)
{
    int rank = rgm_value_rank(x);
    bool sized = !rgm_value_is_pattern(x) && rank > 1 && rgm_value_dim(x, -1) > 0 && is_float(x);
    rgm_dtype dtype = rgm_value_dtype(x);

    switch (p->layer->kind) {
    case RGM_LAYER_DENSE:
    case RGM_LAYER_BATCH_NORM:
    case RGM_LAYER_LAYER_NORM:
        return needs(p, x, sized, "numbers [n, .., width] whose width is fixed");
    case RGM_LAYER_CONV:
    case RGM_LAYER_POOL:
        return needs(p, x, sized && (rank == 4 || rank == 3) && is_fixed(x),
                     "images [n, rows, columns, channels]") &&
               check_window(p, x);
    case RGM_LAYER_GLOBAL_POOL:
        return needs(p, x, sized && rank > 2, "numbers [n, .., channels]");
    case RGM_LAYER_FLATTEN:
        return needs(p, x, !rgm_value_is_pattern(x) && is_float(x) && rank > 0 && is_fixed(x),
                     "numbers [n, ..] whose axes but the first are fixed");
    case RGM_LAYER_EMBEDDING:
        return needs(p, x,
                     !rgm_value_is_pattern(x) && rank > 0 && (dtype == RGM_I32 || dtype == RGM_I64),
                     "ids [n, ..], integers");
    default:
        return needs(p, x, !rgm_value_is_pattern(x) && is_float(x), "numbers");
    }
}

/* ---- layers -----------------------------------------------------------------------------------
 */

static double slope_of(const rgm_layer *l)
{
    return l->slope != 0 ? l->slope : 0.2;
}

/* [n, rows, columns] are images of one channel. */
static rgm_value *as_images(rgm_value *x)
{
    rgm_dim shape[4];

    if (rgm_value_rank(x) == 4)
        return x;
    for (int i = 0; i < 3; i++)
        shape[i] = rgm_value_dim(x, i);
    shape[3] = 1;
    return rgm_reshape(x, 4, shape);
}

static rgm_value *convolve(const place *p, rgm_value *x)
{
    const rgm_layer *l = p->layer;
    rgm_conv2d_layer_options o = RGM_CONV2D_LAYER_OPTIONS_INIT;

    o.size[0] = l->size[0];
    o.size[1] = l->size[1] > 0 ? l->size[1] : l->size[0];
    o.stride[0] = l->stride[0];
    o.stride[1] = l->stride[1] > 0 ? l->stride[1] : l->stride[0];
    o.padding = l->padding;
    o.bias = !l->no_bias;
    o.activation = l->activation;
    o.slope = slope_of(l);
    o.l2 = l->l2;
    return rgm_conv2d_layer(p->scope, p->name, as_images(x), l->units, &o);
}

static rgm_value *pool(const place *p, rgm_value *x)
{
    const rgm_layer *l = p->layer;
    const rgm_pool2d_options o = {
        .size = {l->size[0], l->size[1] > 0 ? l->size[1] : l->size[0]},
        .stride = {l->stride[0], l->stride[1] > 0 ? l->stride[1] : l->stride[0]},
        .padding = l->padding};

    return l->mean ? rgm_avg_pool2d(as_images(x), &o) : rgm_max_pool2d(as_images(x), &o);
}

static rgm_value *global_pool(const place *p, rgm_value *x)
{
    while (x != NULL && rgm_value_rank(x) > 2)
        x = rgm_reduce(x, 1, p->layer->largest ? RGM_MAX : RGM_MEAN);
    return x;
}

static rgm_value *dense(const place *p, rgm_value *x)
{
    const rgm_layer *l = p->layer;
    rgm_dense_options o = RGM_DENSE_OPTIONS_INIT;

    o.bias = !l->no_bias;
    o.activation = l->activation;
    o.slope = slope_of(l);
    o.l2 = l->l2;
    return rgm_dense_with(p->scope, p->name, x, l->units, &o);
}

/* Ids of any shape are looked up as one list. */
static rgm_value *embed(const place *p, rgm_value *ids)
{
    const rgm_layer *l = p->layer;
    int rank = rgm_value_rank(ids);
    rgm_dim shape[RGM_MAX_RANK];
    rgm_value *rows;

    if (rank + 1 > RGM_MAX_RANK) {
        fail(p, RGM_ERR_SHAPE, "ids of %d axes; at most %d are possible", rank, RGM_MAX_RANK - 1);
        return NULL;
    }
    for (int a = 0; a < rank; a++)
        shape[a] = rgm_value_dim(ids, a);
    shape[rank] = l->units;
    rows = rgm_embedding(p->scope, p->name,
                         rank == 1 ? ids : rgm_reshape(ids, 1, (rgm_dim[]){RGM_INFER}), l->count,
                         l->units);
    return rank == 1 ? rows : rgm_reshape(rows, rank + 1, shape);
}

static rgm_value *make(const place *p, rgm_value *x)
{
    const rgm_layer *l = p->layer;
    rgm_batch_norm_options norm = RGM_BATCH_NORM_OPTIONS_INIT;

    switch (l->kind) {
    case RGM_LAYER_DENSE:
        return dense(p, x);
    case RGM_LAYER_ACTIVATION:
        return rgm_activate(x, l->activation, slope_of(l));
    case RGM_LAYER_DROPOUT:
        return rgm_dropout(rgm_scope_enter(p->scope, p->name), x, l->rate);
    case RGM_LAYER_BATCH_NORM:
        norm.momentum = l->momentum > 0 ? l->momentum : norm.momentum;
        return rgm_batch_norm(p->scope, p->name, x, &norm);
    case RGM_LAYER_LAYER_NORM:
        return rgm_layer_norm(p->scope, p->name, x);
    case RGM_LAYER_CONV:
        return convolve(p, x);
    case RGM_LAYER_POOL:
        return pool(p, x);
    case RGM_LAYER_GLOBAL_POOL:
        return global_pool(p, x);
    case RGM_LAYER_FLATTEN:
        return rgm_as_rows(p->scope, x);
    default:
        return embed(p, x);
    }
}

static void name_layer(char name[96], const rgm_layer *layers, int64_t i)
{
    if (layers[i].name != NULL)
        snprintf(name, 96, "%s", layers[i].name);
    else
        snprintf(name, 96, "%s_%lld", rgm_layer_names[layers[i].kind], (long long)i);
}

/* Two layers of one name would share parameters without a word. */
static bool check_name(const place *p, const rgm_layer *layers)
{
    const char *name = p->layer->name;
    char other[sizeof p->name];

    if (name != NULL && (name[0] == '\0' || strlen(name) >= sizeof p->name))
        return fail(p, RGM_ERR_ARG, "a name has 1 to %zu bytes", sizeof p->name - 1);
    for (int64_t i = 0; i < p->number; i++) {
        name_layer(other, layers, i);
        if (strcmp(other, p->name) == 0)
            return fail(p, RGM_ERR_ARG, "layer %lld has this name, too", (long long)i);
    }
    return true;
}

rgm_value *rgm_layers(rgm_scope *scope, rgm_value *x, const rgm_layer *layers, int64_t count)
{
    for (int64_t i = 0; i < count && x != NULL; i++) {
        place p = {.scope = scope, .layer = &layers[i], .number = i};

        if ((int)layers[i].kind < 0 || layers[i].kind >= RGM_LAYER_KINDS)
            return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG,
                                   "layer %lld is of kind %d, which does not exist", (long long)i,
                                   (int)layers[i].kind);
        name_layer(p.name, layers, i);
        if (!check_name(&p, layers) || !check_numbers(&p) || !check_input(&p, x))
            return NULL;
        x = make(&p, x);
    }
    return x;
}
