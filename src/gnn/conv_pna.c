/*
 * PNA (Corso et al. 2020): the mean, the largest, the least and the standard deviation of what
 * neighbours say, each as it is, amplified and attenuated by how many they are. Log degrees are
 * measured by their mean over the training part, which is learned as it goes by: a state, as a
 * batch norm's.
 */
#include "gnn_internal.h"

static rgm_value *ones_like(rgm_value *x)
{
    return rgm_shift(rgm_scale(x, 0), 1);
}

/* x [] as [1]. */
static rgm_value *single(rgm_value *x)
{
    return rgm_reshape(x, 1, (rgm_dim[]){1});
}

/* The mean of `logs` [rows] of all that was trained on, which training moves: exactly that of the
 * rows so far, and beyond MOST of them with the weight of the last MOST. */
static rgm_value *mean_log_degree(rgm_scope *scope, rgm_value *logs)
{
    const double most = 1e6;
    const int64_t one = 1;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_value *delta, *seen, *here, *total, *share, *mean, *next;

    if (logs == NULL)
        return NULL;
    delta = rgm_scope_state(scope, "delta", 1, &one, (rgm_init){RGM_INIT_ONES, 0});
    seen = rgm_scope_state(scope, "nodes", 1, &one, (rgm_init){RGM_INIT_ZEROS, 0});
    here = single(rgm_sum(ones_like(logs)));
    total = rgm_add(rgm_cgraph_state_next(graph, seen), here);
    share = rgm_div(here, rgm_floor_at(total, 1));
    mean = single(rgm_sum(logs));
    mean = rgm_div(mean, rgm_floor_at(here, 1));
    next = rgm_cgraph_state_next(graph, delta);
    next = rgm_add(next, rgm_mul(share, rgm_sub(mean, next)));
    rgm_cgraph_update(graph, delta, next);
    rgm_cgraph_update(graph, seen,
                      rgm_minimum(total, rgm_scalar(graph, rgm_value_dtype(total), most)));
    return rgm_when_training(next, delta);
}

/* How much neighbours of a count are amplified; the other scaler is 1 over it. [rows, 1] */
static rgm_value *amplification(rgm_scope *scope, const rgm_conv_input *in, rgm_dtype dtype)
{
    rgm_value *degree = rgm_floor_at(rgm_degree(in->pattern, dtype), 1);
    rgm_value *logs = rgm_log(rgm_shift(degree, 1));
    rgm_value *delta = mean_log_degree(scope, logs);

    return rgm_reshape(rgm_div(logs, delta), 2, (rgm_dim[]){RGM_INFER, 1});
}

/* sqrt(max(E x^2 - (E x)^2, 0) + 1e-5) at the receivers */
static rgm_value *deviation(const rgm_conv_input *in, rgm_value *x, rgm_value *mean)
{
    rgm_value *squares = rgm_conv_pool(in, rgm_square(x), "mean");
    rgm_value *variance = rgm_relu(rgm_sub(squares, rgm_square(mean)));

    return rgm_sqrt(rgm_shift(variance, 1e-5));
}

/* One tower: messages of `depth`, four aggregators, three scalers. [rows, units] */
static rgm_value *tower(rgm_scope *scope, const rgm_conv_input *in, rgm_value *scale, int64_t depth,
                        int64_t units, double l2)
{
    rgm_dense_options dense = {.bias = true, .l2 = l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_value *message, *parts[4], *all, *y;

    message = rgm_conv_messages(rgm_scope_enter(scope, "message"), in, depth, &dense);
    parts[0] = rgm_conv_pool(in, message, "mean");
    parts[1] = rgm_conv_pool(in, message, "max_no_inf");
    parts[2] = rgm_conv_pool(in, message, "min_no_inf");
    parts[3] = deviation(in, message, parts[0]);
    all = rgm_concat(parts, 4, 1);
    y = rgm_dense_with(scope, "identity", all, units, &dense);
    dense.bias = false;
    y = rgm_add(y, rgm_mul(rgm_dense_with(scope, "amplification", all, units, &dense), scale));
    return rgm_add(y, rgm_div(rgm_dense_with(scope, "attenuation", all, units, &dense), scale));
}

/* The t-th of equal parts of a state's columns; of one whose columns cannot be parted, all. */
static rgm_value *part_of(rgm_value *x, int64_t t, int64_t towers)
{
    int64_t width;

    if (x == NULL || towers == 1 || !rgmi_is_dense(x) || rgm_width(x) % towers != 0)
        return x;
    width = rgm_width(x) / towers;
    return rgm_slice(x, 1, t * width, (t + 1) * width);
}

rgm_value *rgm_pna_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *payload)
{
    const rgm_pna_options *o = payload;
    enum { MOST_TOWERS = 64 };
    rgm_value *parts[MOST_TOWERS], *scale, *sender = rgmi_need(scope, in, in->sender, "sender");

    if (scope == NULL || in->pattern == NULL || sender == NULL ||
        !rgmi_positive(scope, o->units, "units") || !rgmi_positive(scope, o->towers, "towers"))
        return NULL;
    if (o->towers > MOST_TOWERS || o->units % o->towers != 0)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG,
                               "'%s': units %lld is not a multiple of towers %lld, or there are "
                               "more than %d",
                               rgm_scope_path(scope), (long long)o->units, (long long)o->towers,
                               MOST_TOWERS);
    scale = amplification(scope, in, rgm_scope_dtype(scope));
    for (int64_t t = 0; t < o->towers; t++) {
        rgm_conv_input own = *in;
        char name[32];

        snprintf(name, sizeof name, "tower_%lld", (long long)t);
        own.sender = part_of(sender, t, o->towers);
        own.receiver = part_of(in->receiver, t, o->towers);
        parts[t] = tower(rgm_scope_enter(scope, name), &own, scale, o->units / o->towers,
                         o->units / o->towers, o->l2);
    }
    return o->towers > 1 ? rgm_concat(parts, o->towers, 1) : parts[0];
}
