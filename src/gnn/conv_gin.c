/*
 * GIN (Xu et al. 2019) and GINE (Hu et al. 2020): plain sums of what neighbours are, and a next
 * state that tells one multiset of them from another.
 */
#include "gnn_internal.h"

rgm_value *rgm_gin_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    static const rgm_gin_conv_options defaults = {0};
    const rgm_gin_conv_options *options = payload != NULL ? payload : &defaults;
    rgm_value *h = rgmi_need(scope, in, in->sender, "sender"), *y;
    rgm_dense_options dense = {.l2 = options->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};

    if (scope == NULL || in->pattern == NULL || h == NULL)
        return NULL;
    if (in->edge != NULL) { /* h_s + W_e x_e + b of every edge, never a product of edges and h */
        rgm_dense_options own = {.bias = true, .l2 = options->l2, .kernel = dense.kernel};
        rgm_value *edge = rgm_dense_with(scope, "edge", in->edge, rgm_width(h), &own);

        y = rgm_add(rgm_broadcast_columns(in->pattern, h), edge);
        y = rgm_pool_rows(in->pattern, rgm_relu(y), RGM_SUM);
    } else {
        y = rgm_spmm(in->pattern, h, NULL);
    }
    return options->units > 0 ? rgm_dense_with(scope, NULL, y, options->units, &dense) : y;
}

rgm_value *rgm_gin_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *payload)
{
    static const rgm_gin_state_options defaults = RGM_GIN_STATE_OPTIONS_INIT;
    const rgm_gin_state_options *options = payload != NULL ? payload : &defaults;
    const rgm_init zeros = {RGM_INIT_ZEROS, 0};
    const int64_t one = 1;
    rgm_dense_options dense = {
        .bias = true, .l2 = options->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_value *x = inputs->state;

    if (scope == NULL || !rgmi_positive(scope, options->units, "units") ||
        !rgmi_positive(scope, options->mlp_layers, "mlp_layers"))
        return NULL;
    if (x != NULL && options->train_epsilon)
        x = rgm_add(x, rgm_mul(x, rgm_scope_parameter(scope, "epsilon", 1, &one, zeros)));
    else if (x != NULL && options->epsilon != 0)
        x = rgm_scale(x, 1 + options->epsilon);
    for (int64_t i = 0; i < inputs->count; i++)
        x = x != NULL ? rgm_add(x, inputs->inputs[i]) : inputs->inputs[i];
    if (x == NULL)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOT_FOUND,
                               "'%s': '%s' has neither a state nor inputs", rgm_scope_path(scope),
                               inputs->set);
    for (int64_t i = 0; i < options->mlp_layers; i++) {
        char name[32], norm[32];

        snprintf(name, sizeof name, "dense_%lld", (long long)i);
        snprintf(norm, sizeof norm, "norm_%lld", (long long)i);
        x = rgm_dense_with(scope, name, x, options->units, &dense);
        x = rgm_activate(rgmi_normalise(scope, norm, x, options->norm, options->momentum),
                         options->activation, 0.2);
    }
    return rgm_dropout(scope, x, options->dropout);
}
