/*
 * LARS (You et al. 2017): momentum with a rate for each parameter in proportion to its norm over
 * its gradient's. Classic momentum (the paper's) gathers steps, so that a rate holds for the
 * gradient it was made for; otherwise the buffer gathers gradients, and the ratio is that of the
 * whole update.
 */
#include "optim_internal.h"

static int lars_slots(rgm_slot *slots, const rgm_optimizer_options *options, const rgm_tensor *w)
{
    slots[0] = rgmi_slot_like("momentum", w, 0);
    return options->momentum != 0 ? 1 : 0;
}

/* Whether the buffer is a part of the direction. */
static bool gathers(const rgm_optimizer_options *o)
{
    return o->momentum != 0 && !o->classic_momentum;
}

/* The gradient with its decay, and without classic momentum the buffer, into the scratch array. */
static bool lars_direction(const rgm_update *u)
{
    const rgm_optimizer_options *o = u->options;

    u->kernels->lars_direction(&(rgm_lars_args){
        .y = u->scratch,
        .m = gathers(o) ? u->slots[0] : NULL,
        .w = u->w,
        .gradient = u->gradient,
        .count = u->count,
        .momentum = o->momentum,
        .nesterov = o->nesterov,
        .l2 = u->weight_decay,
        .gradient_scale = u->gradient_scale,
    });
    return u->layer_adaptation;
}

static void lars_step(const rgm_update *u)
{
    const rgm_optimizer_options *o = u->options;
    rgm_sgd_args move = {.w = u->w, .gradient = u->scratch, .count = u->count};
    double ratio = 1;

    if (u->layer_adaptation && u->w_norm > 0 && u->direction_norm > 0)
        ratio = o->trust_coefficient * u->w_norm / u->direction_norm;
    /* v = momentum v + rate ratio g; w -= v: the kernel's momentum with the rate at the gradient.
     */
    move.rate = 1;
    move.gradient_scale = u->rate * ratio;
    if (!gathers(o)) {
        move.m = u->slots[0];
        move.momentum = o->momentum;
        move.nesterov = o->nesterov;
    }
    u->kernels->sgd(&move);
}

static void lars_defaults(rgm_optimizer_options *options)
{
    *options = rgm_optimizer_default(&rgmi_lars_type, 0.1);
    options->momentum = 0.9;
    options->trust_coefficient = 1e-3;
    options->classic_momentum = true;
}

#define RGM_OPTIONS rgm_optimizer_options
static const rgm_field lars_fields[] = {
    RGMI_OPTIMIZER_FIELDS,
    RGMI_FRACTION(momentum, "in [0, 1)"),
    RGM_BOOL_FIELD(nesterov, "look ahead along the momentum"),
    RGM_BOOL_FIELD(classic_momentum, "the buffer holds steps, not gradients"),
    RGM_FLOAT_FIELD(trust_coefficient, RGM_ABOVE_0, INFINITY,
                    "length of a step over the parameter's norm, at rate 1"),
    RGMI_NUMBER(weight_decay, "L2: weight_decay * w is added to the gradient"),
    RGM_TEXTS_FIELD(layer_adaptation_except,
                    "patterns of parameters whose trust ratio is 1; left out: weight_decay_except"),
    {0},
};
#undef RGM_OPTIONS

const rgm_optimizer_type rgmi_lars_type = {
    .name = "lars",
    .help = "momentum with steps in proportion to each parameter's norm",
    .fields = lars_fields,
    .defaults = lars_defaults,
    .slots = lars_slots,
    .direction = lars_direction,
    .step = lars_step,
    .on_device = true,
};
