/*
 * Adam (Kingma & Ba 2015, algorithm 1, in the form of its section 2 and of Keras: the bias
 * correction is folded into the rate, epsilon stands outside it), AMSGrad (Reddi et al. 2018, the
 * root of the largest v so far) and AdamW (Loshchilov & Hutter 2019, decoupled decay scaled by the
 * scheduled rate).
 */
#include "optim_internal.h"

#include <math.h>

static int adam_slots(rgm_slot *slots, const rgm_optimizer_options *options, const rgm_tensor *w)
{
    slots[0] = rgmi_slot_like("m", w, 0);
    slots[1] = rgmi_slot_like("v", w, 0);
    slots[2] = rgmi_slot_like("v_max", w, 0);
    return options->amsgrad ? 3 : 2;
}

/* What both rows hand to the kernel; they differ in where the decay goes. */
static rgm_adam_args adam_args(const rgm_update *u)
{
    const rgm_optimizer_options *o = u->options;
    double t = (double)u->step + 1;

    return (rgm_adam_args){
        .w = u->w,
        .m = u->slots[0],
        .v = u->slots[1],
        .v_max = u->slots[2],
        .gradient = u->gradient,
        .count = u->count,
        .rate = u->rate * sqrt(1 - pow(o->beta_2, t)) / (1 - pow(o->beta_1, t)),
        .beta1 = o->beta_1,
        .beta2 = o->beta_2,
        .epsilon = o->epsilon,
        .gradient_scale = u->gradient_scale,
    };
}

static void run(const rgm_update *u, const rgm_adam_args *args)
{
    if (u->options->amsgrad)
        u->kernels->amsgrad(args);
    else
        u->kernels->adam(args);
}

static void adam_step(const rgm_update *u)
{
    rgm_adam_args args = adam_args(u);

    args.l2 = u->weight_decay;
    run(u, &args);
}

static void adamw_step(const rgm_update *u)
{
    rgm_adam_args args = adam_args(u);

    args.weight_decay_rate = u->rate * u->weight_decay;
    run(u, &args);
}

static void adam_defaults(rgm_optimizer_options *options)
{
    *options = rgm_adam(1e-3);
}

static void adamw_defaults(rgm_optimizer_options *options)
{
    *options = rgm_adamw(1e-3, 4e-3);
}

#define ADAM_FIELDS                                                                                \
    RGMI_OPTIMIZER_FIELDS, RGMI_FRACTION(beta_1, "decay of the mean of gradients, in [0, 1)"),     \
        RGMI_FRACTION(beta_2, "decay of the mean of squared gradients, in [0, 1)"),                \
        RGMI_NUMBER(epsilon, "added to the root of the mean of squares"),                          \
        RGM_BOOL_FIELD(amsgrad, "divide by the largest mean of squares so far")

#define RGM_OPTIONS rgm_optimizer_options
static const rgm_field adam_fields[] = {
    ADAM_FIELDS,
    RGMI_NUMBER(weight_decay, "L2: weight_decay * w is added to the gradient"),
    {0},
};

static const rgm_field adamw_fields[] = {
    ADAM_FIELDS,
    RGMI_NUMBER(weight_decay, "decoupled: w -= learning_rate * weight_decay * w"),
    {0},
};
#undef RGM_OPTIONS

const rgm_optimizer_type rgmi_adam_type = {
    .name = "adam",
    .help = "Adam; weight decay is L2 in the gradient",
    .fields = adam_fields,
    .defaults = adam_defaults,
    .slots = adam_slots,
    .step = adam_step,
    .on_device = true,
};

const rgm_optimizer_type rgmi_adamw_type = {
    .name = "adamw",
    .help = "Adam with decoupled weight decay",
    .fields = adamw_fields,
    .defaults = adamw_defaults,
    .slots = adam_slots,
    .step = adamw_step,
    .on_device = true,
};

rgm_optimizer_options rgm_adam(double learning_rate)
{
    rgm_optimizer_options options = rgm_optimizer_default(&rgmi_adam_type, learning_rate);

    options.beta_1 = 0.9;
    options.beta_2 = 0.999;
    options.epsilon = 1e-7;
    return options;
}

rgm_optimizer_options rgm_adamw(double learning_rate, double weight_decay)
{
    rgm_optimizer_options options = rgm_adam(learning_rate);

    options.type = &rgmi_adamw_type;
    options.weight_decay = weight_decay;
    return options;
}
