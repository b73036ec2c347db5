/*
 * Links: what meets at the receivers of an edge set or of the context, and the three things every
 * convolution does with it: reduce at the receivers, send from the senders, and build messages from
 * states at both ends and on the edge.
 */
#include "gnn_internal.h"

rgm_conv_input rgm_conv_along_edges(const rgm_graph_value *graph, const char *edge_set,
                                    rgm_tag receiver, rgm_value *receiver_state,
                                    rgm_value *sender_state, rgm_value *edge_state)
{
    return (rgm_conv_input){.name = edge_set,
                            .pattern = rgm_adjacency(graph, edge_set, receiver),
                            .receiver = receiver_state,
                            .sender = sender_state,
                            .edge = edge_state};
}

rgm_conv_input rgm_conv_to_context(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                                   rgm_value *context_state, rgm_value *state)
{
    return (rgm_conv_input){.name = set,
                            .pattern = rgm_membership(graph, piece, set),
                            .receiver = context_state,
                            .sender = state};
}

bool rgmi_is_linear(const char *reduce_type)
{
    return strcmp(reduce_type, "sum") == 0 || strcmp(reduce_type, "mean") == 0;
}

rgm_value *rgmi_need(rgm_scope *scope, const rgm_conv_input *in, rgm_value *x, const char *what)
{
    if (x == NULL && in->pattern != NULL)
        rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOT_FOUND,
                        "'%s': '%s' has no %s state; set " RGM_HIDDEN_STATE " first",
                        rgm_scope_path(scope), in->name, what);
    return x;
}

bool rgmi_positive(rgm_scope *scope, int64_t units, const char *what)
{
    if (units >= 1)
        return true;
    rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG, "'%s': %s is %lld; it is at least 1",
                    rgm_scope_path(scope), what, (long long)units);
    return false;
}

rgm_value *rgmi_kernel(rgm_scope *scope, const char *name, int rank, const int64_t *shape,
                       double l2)
{
    rgm_cgraph *graph = scope != NULL ? rgm_scope_graph(scope) : NULL;
    int64_t before = graph != NULL ? rgm_cgraph_parameter_count(graph) : 0;
    rgm_value *w = graph != NULL ? rgm_scope_parameter(scope, name, rank, shape,
                                                       (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0})
                                 : NULL;

    if (w != NULL && rgm_cgraph_parameter_count(graph) > before)
        rgm_scope_add_l2(scope, w, l2);
    return w;
}

rgm_value *rgmi_project_parts(rgm_value *x, rgm_value *w)
{
    enum { MOST = 128 };
    rgm_value *part[MOST];
    int64_t parts, in, units;

    if (x == NULL || w == NULL)
        return NULL;
    parts = rgm_value_dim(w, 0);
    in = rgm_value_dim(w, 1);
    units = rgm_value_dim(w, 2);
    if (parts > MOST)
        return rgm_cgraph_fail(rgm_value_graph(x), RGM_ERR_UNSUPPORTED,
                               "%lld kernels side by side; there can be %d", (long long)parts,
                               MOST);
    for (int64_t i = 0; i < parts; i++) { /* products of rank 2, which can be narrowed */
        rgm_value *own = rgm_slice(x, 1, i * in, (i + 1) * in);
        rgm_value *kernel = rgm_slice(w, 0, i, i + 1);

        part[i] = rgm_matmul(own, rgm_reshape(kernel, 2, (rgm_dim[]){in, units}));
    }
    return rgm_concat(part, parts, 1);
}

/* x [count, width] by entry, or x [senders, width] by sender, reduced at the receivers. */
static rgm_value *pool(const rgm_conv_input *in, rgm_value *x, bool by_sender,
                       rgm_reduction reduction)
{
    if (by_sender && rgm_value_rank(x) == 2 && (reduction == RGM_SUM || reduction == RGM_MEAN)) {
        rgm_spmm_options options = {.mean = reduction == RGM_MEAN};
        return rgm_spmm(in->pattern, x, &options);
    }
    if (by_sender)
        x = rgm_broadcast_columns(in->pattern, x);
    return rgm_pool_rows(in->pattern, x, reduction);
}

/* reduce_type may be several names with '|' between: their results side by side. */
static rgm_value *pool_by_name(const rgm_conv_input *in, rgm_value *x, bool by_sender,
                               const char *reduce_type)
{
    enum { MOST = 16 };
    rgm_value *part[MOST];
    const char *name = reduce_type;
    int64_t count = 0;

    if (in->pattern == NULL || x == NULL)
        return NULL;
    for (;;) {
        size_t size;
        rgm_reduction reduction;

        if (!rgm_reduction_find(&reduction, &size, name) || count == MOST)
            return rgm_cgraph_fail(rgm_value_graph(x), RGM_ERR_ARG,
                                   "'%s': unknown reduce_type '%.*s' in '%s'; known "
                                   "are " RGM_REDUCTION_NAMES ", and several with |",
                                   in->name, (int)size, name, reduce_type);
        part[count++] = pool(in, x, by_sender, reduction);
        if (name[size] == '\0')
            break;
        name += size + 1;
    }
    return count == 1 ? part[0] : rgm_concat(part, count, -1);
}

rgm_value *rgm_conv_pool(const rgm_conv_input *in, rgm_value *x, const char *reduce_type)
{
    return pool_by_name(in, x, false, reduce_type);
}

rgm_value *rgmi_pool_senders(const rgm_conv_input *in, rgm_value *x, const char *reduce_type)
{
    return pool_by_name(in, x, true, reduce_type);
}

/* The next rows of the kernel times x; NULL for a state that is absent or has width 0. */
static rgm_value *next_product(rgm_value *x, rgm_value *kernel, int64_t *begin)
{
    int64_t width = x != NULL ? rgm_width(x) : 0;
    rgm_value *part = kernel;

    if (width <= 0)
        return NULL;
    if (kernel != NULL && rgm_value_dim(kernel, 0) != width)
        part = rgm_slice(kernel, 0, *begin, *begin + width);
    *begin += width;
    return rgm_project(x, part);
}

static rgm_value *plus(rgm_value *a, rgm_value *b)
{
    return a == NULL ? b : b == NULL ? a : rgm_add(a, b);
}

rgm_value *rgmi_messages(rgm_scope *scope, const rgm_conv_input *in, const rgmi_context *context,
                         int64_t units, const rgm_dense_options *options)
{
    rgm_value *states[4] = {in->edge, in->sender, in->receiver,
                            context != NULL ? context->state : NULL};
    rgm_value *kernel = NULL, *bias = NULL, *edge, *sender, *receiver, *all, *message;
    int64_t total = 0, begin = 0;

    if (scope == NULL || in->pattern == NULL || !rgmi_positive(scope, units, "units"))
        return NULL;
    for (int i = 0; i < 4; i++) {
        int64_t width = states[i] != NULL ? rgm_width(states[i]) : 0;
        if (width < 0)
            return NULL;
        total += width;
    }
    if (total > 0) {
        kernel =
            rgm_scope_parameter(scope, "kernel", 2, (int64_t[]){total, units}, options->kernel);
        rgm_scope_add_l2(scope, kernel, options->l2);
    }
    if (options->bias) {
        bias = rgm_scope_parameter(scope, "bias", 1, &units, (rgm_init){RGM_INIT_ZEROS, 0});
        rgm_scope_add_l2(scope, bias, options->l2_bias);
    }
    edge = next_product(in->edge, kernel, &begin);
    sender = next_product(in->sender, kernel, &begin);
    receiver = next_product(in->receiver, kernel, &begin);
    all = next_product(states[3], kernel, &begin);
    if (all != NULL)
        all = rgm_broadcast(context->graph, RGM_CONTEXT, RGM_EDGE_SET, in->name, all);
    /* The bias rides on the side with the fewest rows: receivers, else senders, else edges. */
    if (receiver == NULL && sender == NULL && edge == NULL)
        receiver = rgm_zero_rows(scope, in->pattern, units);
    if (bias != NULL && receiver != NULL)
        receiver = rgm_add(receiver, bias);
    else if (bias != NULL && sender != NULL)
        sender = rgm_add(sender, bias);
    else if (bias != NULL)
        edge = rgm_add(edge, bias);
    if (edge == NULL && receiver == NULL &&
        all == NULL) /* one activation for each sender, not for each edge */
        return rgm_broadcast_columns(in->pattern,
                                     rgm_activate(sender, options->activation, options->slope));
    message = plus(edge, all);
    if (sender != NULL)
        message = plus(message, rgm_broadcast_columns(in->pattern, sender));
    if (receiver != NULL)
        message = plus(message, rgm_broadcast_rows(in->pattern, receiver));
    return rgm_activate(message, options->activation, options->slope);
}

rgm_value *rgm_conv_messages(rgm_scope *scope, const rgm_conv_input *in, int64_t units,
                             const rgm_dense_options *options)
{
    static const rgm_dense_options defaults = RGM_DENSE_OPTIONS_INIT;

    return rgmi_messages(scope, in, NULL, units, options != NULL ? options : &defaults);
}
