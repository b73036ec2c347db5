/*
 * Stochastic gradient descent with momentum in PyTorch's form: the buffer holds gradients, and the
 * rate multiplies it on use. (Keras' buffer holds steps; the two agree while the rate is constant.)
 * Nesterov's variant as in Sutskever et al. 2013, rewritten for the current point.
 */
#include "optim_internal.h"

#include <math.h>

static int sgd_slots(rgm_slot *slots, const rgm_optimizer_options *options, const rgm_tensor *w)
{
    slots[0] = rgmi_slot_like("momentum", w, 0);
    return options->momentum != 0 ? 1 : 0;
}

static void sgd_step(const rgm_update *u)
{
    rgm_sgd_args args = {
        .w = u->w,
        .m = u->slots[0],
        .gradient = u->gradient,
        .count = u->count,
        .rate = u->rate,
        .momentum = u->options->momentum,
        .l2 = u->weight_decay,
        .gradient_scale = u->gradient_scale,
        .nesterov = u->options->nesterov,
    };

    u->kernels->sgd(&args);
}

static void sgd_defaults(rgm_optimizer_options *options)
{
    *options = rgm_sgd(1e-2, 0);
}

#define RGM_OPTIONS rgm_optimizer_options
static const rgm_field sgd_fields[] = {
    RGMI_OPTIMIZER_FIELDS,
    RGMI_FRACTION(momentum, "in [0, 1); 0: plain gradient descent"),
    RGM_BOOL_FIELD(nesterov, "look ahead along the momentum"),
    RGMI_NUMBER(weight_decay, "L2: weight_decay * w is added to the gradient"),
    {0},
};
#undef RGM_OPTIONS

const rgm_optimizer_type rgmi_sgd_type = {
    .name = "sgd",
    .help = "gradient descent, with momentum or Nesterov momentum",
    .fields = sgd_fields,
    .defaults = sgd_defaults,
    .slots = sgd_slots,
    .step = sgd_step,
    .on_device = true,
};

rgm_optimizer_options rgm_sgd(double learning_rate, double momentum)
{
    rgm_optimizer_options options = rgm_optimizer_default(&rgmi_sgd_type, learning_rate);

    options.momentum = momentum;
    return options;
}
