/*
 * LAMB (You et al. 2020, algorithm 2): Adam's direction, with decay, as long as the rate times the
 * parameter's own norm. Epsilon stands inside the bias correction, as in the paper.
 */
#include "optim_internal.h"

#include <math.h>

static int lamb_slots(rgm_slot *slots, const rgm_optimizer_options *options, const rgm_tensor *w)
{
    (void)options;
    slots[0] = rgmi_slot_like("m", w, 0);
    slots[1] = rgmi_slot_like("v", w, 0);
    return 2;
}

/* Moments, and the direction into the scratch array. */
static bool lamb_direction(const rgm_update *u)
{
    const rgm_optimizer_options *o = u->options;
    double t = (double)u->step + 1;

    u->kernels->lamb_direction(&(rgm_lamb_args){
        .y = u->scratch,
        .m = u->slots[0],
        .v = u->slots[1],
        .w = u->w,
        .gradient = u->gradient,
        .count = u->count,
        .beta1 = o->beta_1,
        .beta2 = o->beta_2,
        .m_correction = 1 / (1 - pow(o->beta_1, t)),
        .v_correction = 1 / (1 - pow(o->beta_2, t)),
        .epsilon = o->epsilon,
        .weight_decay = u->weight_decay,
        .gradient_scale = u->gradient_scale,
    });
    return u->layer_adaptation;
}

static void lamb_step(const rgm_update *u)
{
    double ratio = 1;

    if (u->layer_adaptation && u->w_norm > 0 && u->direction_norm > 0)
        ratio = u->w_norm / u->direction_norm;
    u->kernels->sgd(&(rgm_sgd_args){.w = u->w,
                                    .gradient = u->scratch,
                                    .count = u->count,
                                    .rate = u->rate * ratio,
                                    .gradient_scale = 1});
}

static void lamb_defaults(rgm_optimizer_options *options)
{
    *options = rgm_optimizer_default(&rgmi_lamb_type, 1e-3);
    options->beta_1 = 0.9;
    options->beta_2 = 0.999;
    options->epsilon = 1e-6;
}

#define RGM_OPTIONS rgm_optimizer_options
static const rgm_field lamb_fields[] = {
    RGMI_OPTIMIZER_FIELDS,
    RGMI_FRACTION(beta_1, "decay of the mean of gradients, in [0, 1)"),
    RGMI_FRACTION(beta_2, "decay of the mean of squared gradients, in [0, 1)"),
    RGM_FLOAT_FIELD(epsilon, RGM_ABOVE_0, INFINITY,
                    "added to the root of the corrected mean of squares"),
    RGMI_NUMBER(weight_decay, "weight_decay * w is added to the direction"),
    RGM_TEXTS_FIELD(layer_adaptation_except,
                    "patterns of parameters whose trust ratio is 1; left out: weight_decay_except"),
    {0},
};
#undef RGM_OPTIONS

const rgm_optimizer_type rgmi_lamb_type = {
    .name = "lamb",
    .help = "Adam with steps in proportion to each parameter's norm",
    .fields = lamb_fields,
    .defaults = lamb_defaults,
    .slots = lamb_slots,
    .direction = lamb_direction,
    .step = lamb_step,
    .on_device = true,
};
