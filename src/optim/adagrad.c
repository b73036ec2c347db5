/*
 * Adagrad (Duchi et al. 2011), diagonal form: gradients over the root of the sum of their squares.
 */
#include "optim_internal.h"

#include <math.h>

static int adagrad_slots(rgm_slot *slots, const rgm_optimizer_options *options, const rgm_tensor *w)
{
    slots[0] = rgmi_slot_like("accumulator", w, options->initial_accumulator_value);
    return 1;
}

static void adagrad_step(const rgm_update *u)
{
    u->kernels->adagrad(&(rgm_adagrad_args){
        .w = u->w,
        .sum = u->slots[0],
        .gradient = u->gradient,
        .count = u->count,
        .rate = u->rate,
        .epsilon = u->options->epsilon,
        .l2 = u->weight_decay,
        .gradient_scale = u->gradient_scale,
    });
}

static void adagrad_defaults(rgm_optimizer_options *options)
{
    *options = rgm_optimizer_default(&rgmi_adagrad_type, 1e-3);
    options->initial_accumulator_value = 0.1;
    options->epsilon = 1e-7;
}

#define RGM_OPTIONS rgm_optimizer_options
static const rgm_field adagrad_fields[] = {
    RGMI_OPTIMIZER_FIELDS,
    RGMI_NUMBER(initial_accumulator_value, "sum of squares at the start"),
    RGM_FLOAT_FIELD(epsilon, RGM_ABOVE_0, INFINITY, "added to the root"),
    RGMI_NUMBER(weight_decay, "L2: weight_decay * w is added to the gradient"),
    {0},
};
#undef RGM_OPTIONS

const rgm_optimizer_type rgmi_adagrad_type = {
    .name = "adagrad",
    .help = "gradients over the root of the sum of their squares",
    .fields = adagrad_fields,
    .defaults = adagrad_defaults,
    .slots = adagrad_slots,
    .step = adagrad_step,
    .on_device = true,
};
