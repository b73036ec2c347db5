/*
 * The layers themselves: dense, sparse and side-by-side dense, layer norm, embedding. Each makes
 * its parameters in a child scope of its name and reads as the formula it computes.
 */
#include "nn_internal.h"

static const rgm_dense_options dense_defaults = RGM_DENSE_OPTIONS_INIT;

static bool bad_units(rgm_scope *scope, int64_t units)
{
    if (units >= 1)
        return false;
    rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG, "'%s': units is %lld; it is at least 1",
                    rgm_scope_path(scope), (long long)units);
    return true;
}

/* act(y + bias); y [.., units]. */
static rgm_value *finish(rgm_scope *scope, rgm_value *y, int64_t units,
                         const rgm_dense_options *options)
{
    static const rgm_init start = {RGM_INIT_ZEROS, 0};

    if (options->bias) {
        rgm_value *bias = rgm_scope_parameter(scope, "bias", 1, &units, start);
        rgm_scope_add_l2(scope, bias, options->l2_bias);
        y = rgm_add(y, bias);
    }
    return rgm_activate(y, options->activation, options->slope);
}

/* The kernel of all inputs, [width, units]. */
static rgm_value *make_kernel(rgm_scope *scope, int64_t width, int64_t units,
                              const rgm_dense_options *options)
{
    rgm_value *kernel;

    kernel = rgm_scope_parameter(scope, "kernel", 2, (int64_t[]){width, units}, options->kernel);
    rgm_scope_add_l2(scope, kernel, options->l2);
    return kernel;
}

static bool sum_widths(int64_t *total, rgm_value *const *x, int64_t count)
{
    *total = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t width = rgm_width(x[i]);
        if (width < 0)
            return false;
        *total += width;
    }
    return true;
}

static rgm_value *concat_product(rgm_value *const *x, int64_t count, rgm_value *kernel,
                                 int64_t total)
{
    rgm_value *y = NULL;
    int64_t begin = 0;

    for (int64_t i = 0; i < count; i++) {
        int64_t width = rgm_width(x[i]);
        rgm_value *part, *product;

        if (width == 0)
            continue;
        part = width == total ? kernel : rgm_slice(kernel, 0, begin, begin + width);
        product = rgm_project(x[i], part);
        y = begin == 0 ? product : rgm_add(y, product);
        begin += width;
    }
    return y;
}

rgm_value *rgm_dense_concat(rgm_scope *scope, const char *name, rgm_value *const *x, int64_t count,
                            int64_t units, const rgm_dense_options *options)
{
    rgm_scope *layer = name != NULL ? rgm_scope_enter(scope, name) : scope;
    rgm_value *y;
    int64_t total;

    if (layer == NULL)
        return NULL;
    rgmi_scope_mark(layer);
    if (options == NULL)
        options = &dense_defaults;
    if (count < 1)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG, "'%s': no inputs",
                               rgm_scope_path(layer));
    if (bad_units(layer, units) || !sum_widths(&total, x, count))
        return NULL;
    y = total == 0 ? rgm_zero_rows(layer, x[0], units)
                   : concat_product(x, count, make_kernel(layer, total, units, options), total);
    y = finish(layer, y, units, options);
    rgmi_scope_mark(scope);
    return y;
}

rgm_value *rgm_dense_with(rgm_scope *scope, const char *name, rgm_value *x, int64_t units,
                          const rgm_dense_options *options)
{
    return x != NULL ? rgm_dense_concat(scope, name, &x, 1, units, options) : NULL;
}

rgm_value *rgm_dense(rgm_scope *scope, const char *name, rgm_value *x, int64_t units)
{
    return rgm_dense_with(scope, name, x, units, NULL);
}

rgm_value *rgm_dense_sparse(rgm_scope *scope, const char *name, rgm_value *pattern,
                            rgm_value *weight, int64_t units, const rgm_dense_options *options)
{
    return rgm_dense_with(scope, name, rgm_sparse_rows(pattern, weight), units, options);
}

rgm_value *rgm_layer_norm(rgm_scope *scope, const char *name, rgm_value *x)
{
    rgm_scope *layer = rgm_scope_enter(scope, name);
    rgm_value *gamma, *beta, *y;
    int64_t width = rgm_width(x);

    if (layer == NULL || width < 0)
        return NULL;
    rgmi_scope_mark(layer);
    gamma = rgm_scope_parameter(layer, "gamma", 1, &width, (rgm_init){RGM_INIT_ONES, 0});
    beta = rgm_scope_parameter(layer, "beta", 1, &width, (rgm_init){RGM_INIT_ZEROS, 0});
    y = rgm_layer_norm_op(x, gamma, beta, 1e-3);
    rgmi_scope_mark(scope);
    return y;
}

rgm_value *rgm_embedding(rgm_scope *scope, const char *name, rgm_value *ids, int64_t count,
                         int64_t width)
{
    rgm_scope *layer = rgm_scope_enter(scope, name);
    rgm_value *table, *y;

    if (layer == NULL || ids == NULL)
        return NULL;
    rgmi_scope_mark(layer);
    if (bad_units(layer, width) || bad_units(layer, count))
        return NULL;
    table = rgm_scope_parameter(layer, "table", 2, (int64_t[]){count, width},
                                (rgm_init){RGM_INIT_UNIFORM, 0.05});
    y = rgm_gather(table, ids);
    rgmi_scope_mark(scope);
    return y;
}

/* The table's row at each entry, times its number. */
static rgm_value *weighted_entries(rgm_value *pattern, rgm_value *table, rgm_value *weight)
{
    rgm_value *rows = rgm_broadcast_columns(pattern, table);
    rgm_dim shape[2] = {rgm_value_dim(pattern, 2), 1};

    return weight == NULL ? rows : rgm_mul(rows, rgm_reshape(weight, 2, shape));
}

rgm_value *rgm_embedding_bag(rgm_scope *scope, const char *name, rgm_value *pattern, int64_t width,
                             rgm_reduction reduction)
{
    rgm_scope *layer = rgm_scope_enter(scope, name);
    rgm_spmm_options options = {.mean = reduction == RGM_MEAN};
    rgm_value *table, *y, *rows = pattern;
    int64_t columns;

    if (layer == NULL || pattern == NULL)
        return NULL;
    rgmi_scope_mark(layer);
    if (!rgm_sparse_parts(&pattern, &options.weight, rows))
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG,
                               "an embedding bag is of one pattern");
    columns = rgm_width(pattern);
    if (columns < 0 || bad_units(layer, width) || bad_units(layer, columns))
        return NULL;
    table = rgm_scope_parameter(layer, "table", 2, (int64_t[]){columns, width},
                                (rgm_init){RGM_INIT_UNIFORM, 0.05});
    if (reduction == RGM_SUM || reduction == RGM_MEAN)
        y = rgm_spmm(pattern, table, &options);
    else
        y = rgm_pool_rows(pattern, weighted_entries(pattern, table, options.weight), reduction);
    rgmi_scope_mark(scope);
    return y;
}
