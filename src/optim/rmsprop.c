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
    double *w = x[0], *square = x[1], *mean = o->centered ? x[2] : NULL;
    double *momentum = o->momentum != 0 ? x[o->centered ? 3 : 2] : NULL;

    for (int64_t i = 0; i < n; i++) {
        double variance, step;

        square[i] = o->rho * square[i] + (1 - o->rho) * (g[i] * g[i]);
        variance = square[i];
        if (mean != NULL) {
            mean[i] = o->rho * mean[i] + (1 - o->rho) * g[i];
            /* Rounding may take it just below 0. */
            variance = fmax(0, variance - mean[i] * mean[i]);
        }
        step = g[i] / (sqrt(variance) + o->epsilon);
        if (momentum != NULL)
            step = momentum[i] = o->momentum * momentum[i] + step;
        w[i] -= u->rate * step;
    }
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
    *options = rgmi_optimizer_defaults(&rgmi_rmsprop_type, 1e-3);
    options->rho = 0.9;
    options->epsilon = 1e-7;
}

static const rgm_field rmsprop_fields[] = {
    RGMI_OPTIMIZER_FIELDS,
    RGMI_FRACTION(rho, "decay of the mean of squared gradients, in [0, 1)"),
    RGMI_FRACTION(momentum, "in [0, 1); 0: none"),
    RGMI_KEY(epsilon, RGM_FIELD_FLOAT, RGM_ABOVE_0, INFINITY, "added to the root"),
    RGMI_SWITCH(centered, "divide by the variance's root, not the square's"),
    RGMI_NUMBER(weight_decay, "L2: weight_decay * w is added to the gradient"),
    {0},
};

const rgm_optimizer_type rgmi_rmsprop_type = {
    .name = "rmsprop",
    .help = "gradients over the root of their mean square",
    .fields = rmsprop_fields,
    .defaults = rmsprop_defaults,
    .slots = rmsprop_slots,
    .step = rmsprop_step,
};
