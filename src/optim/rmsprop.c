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

static void rmsprop_step(const rgm_update *u)
{
    const rgm_optimizer_options *o = u->options;

    u->kernels->rmsprop(&(rgm_rmsprop_args){
        .w = u->w,
        .square = u->slots[0],
        .mean = o->centered ? u->slots[1] : NULL,
        .momentum = o->momentum != 0 ? u->slots[o->centered ? 2 : 1] : NULL,
        .gradient = u->gradient,
        .count = u->count,
        .rate = u->rate,
        .rho = o->rho,
        .momentum_kept = o->momentum,
        .epsilon = o->epsilon,
        .l2 = u->weight_decay,
        .gradient_scale = u->gradient_scale,
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
    .on_device = true,
};
