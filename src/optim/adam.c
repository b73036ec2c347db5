/*
 * Adam (Kingma & Ba 2015, algorithm 1, in the form of its section 2 and of Keras: the bias
 * correction is folded into the rate, epsilon stands outside it) and AdamW (Loshchilov & Hutter
 * 2019, decoupled decay scaled by the scheduled rate).
 */
#include "optim_internal.h"

#include <math.h>

static const char *const adam_slot_names[] = {"m", "v", NULL};

static const char *const *adam_slots(const rgm_optimizer_options *options)
{
    (void)options;
    return adam_slot_names;
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
        .gradient = u->gradient,
        .count = u->count,
        .rate = u->rate * sqrt(1 - pow(o->beta_2, t)) / (1 - pow(o->beta_1, t)),
        .beta1 = o->beta_1,
        .beta2 = o->beta_2,
        .epsilon = o->epsilon,
        .gradient_scale = u->gradient_scale,
    };
}

static void adam_step(const rgm_update *u)
{
    rgm_adam_args args = adam_args(u);

    args.l2 = u->weight_decay;
    u->kernels->adam(&args);
}

static void adamw_step(const rgm_update *u)
{
    rgm_adam_args args = adam_args(u);

    args.weight_decay_rate = u->rate * u->weight_decay;
    u->kernels->adam(&args);
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
    {.name = "beta_1",                                                                             \
     .kind = RGM_FIELD_FLOAT,                                                                      \
     .offset = offsetof(rgm_optimizer_options, beta_1),                                            \
     .max = 1,                                                                                     \
     .help = "decay of the mean of gradients, in [0, 1)"},                                         \
        {.name = "beta_2",                                                                         \
         .kind = RGM_FIELD_FLOAT,                                                                  \
         .offset = offsetof(rgm_optimizer_options, beta_2),                                        \
         .max = 1,                                                                                 \
         .help = "decay of the mean of squared gradients, in [0, 1)"},                             \
    {                                                                                              \
        .name = "epsilon", .kind = RGM_FIELD_FLOAT,                                                \
        .offset = offsetof(rgm_optimizer_options, epsilon), .max = INFINITY,                       \
        .help = "added to the root of the mean of squares"                                         \
    }

static const rgm_field adam_fields[] = {
    RGMI_OPTIMIZER_FIELDS,
    ADAM_FIELDS,
    {.name = "weight_decay",
     .kind = RGM_FIELD_FLOAT,
     .offset = offsetof(rgm_optimizer_options, weight_decay),
     .max = INFINITY,
     .help = "L2: weight_decay * w is added to the gradient"},
    {0},
};

static const rgm_field adamw_fields[] = {
    RGMI_OPTIMIZER_FIELDS,
    ADAM_FIELDS,
    {.name = "weight_decay",
     .kind = RGM_FIELD_FLOAT,
     .offset = offsetof(rgm_optimizer_options, weight_decay),
     .max = INFINITY,
     .help = "decoupled: w -= learning_rate * weight_decay * w"},
    {0},
};

const rgm_optimizer_type rgmi_adam_type = {
    .name = "adam",
    .help = "Adam; weight decay is L2 in the gradient",
    .fields = adam_fields,
    .defaults = adam_defaults,
    .slots = adam_slots,
    .step = adam_step,
};

const rgm_optimizer_type rgmi_adamw_type = {
    .name = "adamw",
    .help = "Adam with decoupled weight decay",
    .fields = adamw_fields,
    .defaults = adamw_defaults,
    .slots = adam_slots,
    .step = adamw_step,
};

rgm_optimizer_options rgm_adam(double learning_rate)
{
    return (rgm_optimizer_options){.type = &rgmi_adam_type,
                                   .learning_rate = rgm_schedule_constant(learning_rate),
                                   .beta_1 = 0.9,
                                   .beta_2 = 0.999,
                                   .epsilon = 1e-7};
}

rgm_optimizer_options rgm_adamw(double learning_rate, double weight_decay)
{
    rgm_optimizer_options options = rgm_adam(learning_rate);

    options.type = &rgmi_adamw_type;
    options.weight_decay = weight_decay;
    return options;
}
