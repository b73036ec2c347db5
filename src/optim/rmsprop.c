/*
 * RMSprop (Hinton 2012, lecture 6e; centered: Graves 2013, eq. 38-45) in PyTorch's form: epsilon
 * beside the root with momentum and without, and the momentum's buffer without the rate.
 */
#include "optim_internal.h"

#include <math.h>

static int rmsprop_slots(rgm_slot *slots, const rgm_optimizer_options *options, const rgm_tensor *w)
{
    int count = 0;

    slots[count++] = rgmi_slot_like("square", w, 0);
    if (options->centered)
        slots[count++] = rgmi_slot_like("mean", w, 0);
    if (options->momentum != 0)
        slots[count++] = rgmi_slot_like("momentum", w, 0);
    return count;
}

static void rmsprop_rule(double *const *x, const double *g, int64_t n, const void *constants)
{
    const rgm_update *u = constants;
    const rgm_optimizer_options *o = u->options;
    const double rho = o->rho, kept = o->momentum, epsilon = o->epsilon, rate = u->rate;
    double *restrict w = x[0], *restrict square = x[1];
    double *restrict mean = x[2], *restrict momentum = x[o->centered ? 3 : 2];
    double variance[RGMI_SWEEP_BLOCK], step[RGMI_SWEEP_BLOCK];

    for (int64_t i = 0; i < n; i++)
        variance[i] = square[i] = rho * square[i] + (1 - rho) * (g[i] * g[i]);
    for (int64_t i = 0; o->centered && i < n; i++) {
        mean[i] = rho * mean[i] + (1 - rho) * g[i];
        variance[i] -= mean[i] * mean[i];
        /* Rounding may take it just below 0. */
        variance[i] = variance[i] > 0 ? variance[i] : 0;
    }
    for (int64_t i = 0; i < n; i++)
        step[i] = g[i] / (sqrt(variance[i]) + epsilon);
    for (int64_t i = 0; kept != 0 && i < n; i++)
        step[i] = momentum[i] = kept * momentum[i] + step[i];
    for (int64_t i = 0; i < n; i++)
        w[i] -= rate * step[i];
}

static void rmsprop_step(const rgm_update *u)
{
    rgmi_sweep_run(&(rgmi_sweep){
        .update = u,
        .rule = rmsprop_rule,
        .constants = u,
        .l2 = u->weight_decay,
        .arrays = {u->w, u->slots[0], u->slots[1], u->slots[2]},
        .array_count = 2 + u->options->centered + (u->options->momentum != 0),
    });
}

static void rmsprop_defaults(rgm_optimizer_options *options)
{
    *options = rgm_optimizer_default(&rgmi_rmsprop_type, 1e-3);
    options->rho = 0.9;
    options->epsilon = 1e-7;
}

#define RGM_OPTIONS rgm_optimizer_options
static const rgm_field rmsprop_fields[] = {
    RGMI_OPTIMIZER_FIELDS,
    RGMI_FRACTION(rho, "decay of the mean of squared gradients, in [0, 1)"),
    RGMI_FRACTION(momentum, "in [0, 1); 0: none"),
    RGM_FLOAT_FIELD(epsilon, RGM_ABOVE_0, INFINITY, "added to the root"),
    RGM_BOOL_FIELD(centered, "divide by the variance's root, not the square's"),
    RGMI_NUMBER(weight_decay, "L2: weight_decay * w is added to the gradient"),
    {0},
};
#undef RGM_OPTIONS

const rgm_optimizer_type rgmi_rmsprop_type = {
    .name = "rmsprop",
    .help = "gradients over the root of their mean square",
    .fields = rmsprop_fields,
    .defaults = rmsprop_defaults,
    .slots = rmsprop_slots,
    .step = rmsprop_step,
};
