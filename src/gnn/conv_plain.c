/*
 * The two plain convolutions: a message for each edge reduced at the receiver, and pooling of
 * states that are there already.
 */
#include "gnn_internal.h"

static const rgm_simple_conv_options simple_defaults = RGM_SIMPLE_CONV_OPTIONS_INIT;

/* The states of each edge put together: [count, width]. */
static rgm_value *together(rgm_scope *scope, const rgm_conv_input *in, bool add)
{
    rgm_value *part[3], *y = NULL;
    int64_t count = 0;

    if (in->edge != NULL)
        part[count++] = in->edge;
    if (in->sender != NULL)
        part[count++] = rgm_broadcast_columns(in->pattern, in->sender);
    if (in->receiver != NULL)
        part[count++] = rgm_broadcast_rows(in->pattern, in->receiver);
    if (count == 0)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOT_FOUND,
                               "'%s': '%s' has no state at all; set " RGM_HIDDEN_STATE " first",
                               rgm_scope_path(scope), in->name);
    if (!add)
        return count == 1 ? part[0] : rgm_concat(part, count, -1);
    for (int64_t i = 0; i < count; i++)
        y = i == 0 ? part[0] : rgm_add(y, part[i]);
    return y;
}

rgm_value *rgm_simple_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    const rgm_simple_conv_options *options = payload != NULL ? payload : &simple_defaults;
    rgm_dense_options dense = {.bias = true,
                               .activation = options->activation,
                               .slope = 0.2,
                               .l2 = options->l2,
                               .l2_bias = options->l2_bias,
                               .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    const char *reduce = options->reduce_type != NULL ? options->reduce_type : "sum";
    rgm_conv_input used = *in;
    rgm_value *message;

    if (scope == NULL || in->pattern == NULL)
        return NULL;
    if (!options->sender)
        used.sender = NULL;
    if (!options->receiver)
        used.receiver = NULL;
    if (!options->edge)
        used.edge = NULL;
    if (options->message == NULL && options->dropout == 0 && options->edge_dropout == 0 &&
        used.sender != NULL && used.edge == NULL &&
        used.receiver == NULL) /* nothing is made for each edge */
        return rgmi_pool_senders(
            &used, rgm_dense_with(scope, NULL, used.sender, options->units, &dense), reduce);
    if (options->message != NULL)
        message =
            options->message(scope, together(scope, &used, options->add_states), options->payload);
    else if (options->add_states)
        message = rgm_dense_with(scope, NULL, together(scope, &used, true), options->units, &dense);
    else
        message = rgm_conv_messages(scope, &used, options->units, &dense);
    message = rgm_dropout(scope, message, options->dropout);
    message = rgm_item_dropout(scope, message, options->edge_dropout);
    return rgm_conv_pool(&used, message, reduce);
}

rgm_value *rgm_pool_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    const rgm_pool_options *options = payload;
    const char *reduce =
        options != NULL && options->reduce_type != NULL ? options->reduce_type : "sum";

    if (scope == NULL || in->pattern == NULL)
        return NULL;
    if (in->edge != NULL)
        return rgm_conv_pool(in, in->edge, reduce);
    return rgmi_pool_senders(in, rgmi_need(scope, in, in->sender, "sender"), reduce);
}
