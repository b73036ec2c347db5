/*
 * One update of all parameters: are the gradients numbers, how far are they clipped, then each
 * parameter in one sweep by its optimizer's row. Nothing has moved before all of it is known to be
 * possible; only what an update comes to is known behind it, and looked at while it is in the
 * cache.
 */
#include "optim_internal.h"

#include <float.h>
#include <math.h>

/* ---- checks -------------------------------------------------------------------------------- */

static rgm_status check_gradients(const rgm_optimizer *optimizer, const rgm_parameters *parameters,
                                  rgm_tensor *const *gradients, int64_t step)
{
    if (step < 0 || step == INT64_MAX) /* one behind it is no number any more */
        return RGM_FAIL(RGM_ERR_ARG, "step is %lld", (long long)step);
    if (optimizer->swapped)
        return RGM_FAIL(RGM_ERR_ARG, "the parameters hold their averages; swap them back before a "
                                     "step, see rgm_optimizer_averages_swap()");
    RGM_TRY(rgmi_optimizer_check_parameters(optimizer, parameters));
    for (int64_t i = 0; i < optimizer->count; i++) {
        if (gradients[i] != NULL && optimizer->entries[i].moves)
            RGM_TRY(rgmi_check_same("the gradient of", rgm_parameters_name(parameters, i),
                                    gradients[i], rgm_parameters_tensor(parameters, i)));
    }
    return RGM_OK;
}

/* The norms; they also find what is not finite, at the price of one read of the gradients. */
static rgm_status measure(rgm_optimizer *optimizer, const rgm_parameters *parameters,
                          rgm_tensor *const *gradients, int64_t step)
{
    double sum = 0;

    for (int64_t i = 0; i < optimizer->count; i++) {
        rgmi_parameter_share *e = &optimizer->entries[i];
        rgm_flat_args g = {.count = e->count};
        double squares;

        e->norm = e->measured = 0;
        if (gradients[i] == NULL || !e->moves)
            continue;
        g.x = rgm_tensor_data(gradients[i]);
        squares = e->kernels->sum_of_squares(&g);
        if (!isfinite(squares))
            return RGM_FAIL(RGM_ERR_NUMERIC, "the gradient of '%s' %s at step %lld",
                            rgm_parameters_name(parameters, i),
                            e->kernels->all_finite(&g) ? "is so large that its norm overflows"
                                                       : "has a NaN or infinity",
                            (long long)step);
        e->norm = e->measured = sqrt(squares);
        sum += squares;
    }
    optimizer->gradient_norm = sqrt(sum);
    return RGM_OK;
}

/* ---- clipping: value, then each norm or the norm of all ------------------------------------- */

/* The gradient's elements within clip_value, in a place that lasts until the next call. */
static const void *clip_elements(const rgm_optimizer *optimizer, const rgmi_parameter_share *e,
                                 const rgm_tensor *gradient)
{
    rgm_clip_args args = {.y = optimizer->clipped,
                          .x = rgm_tensor_data(gradient),
                          .count = e->count,
                          .limit = optimizer->options.clip_value};

    if (args.limit <= 0)
        return args.x;
    e->kernels->clip(&args);
    return args.y;
}

/* Norms are of what clip_value leaves. With it, the elements are clipped a second time in the
   update: cheaper than a copy of all gradients. */
static double global_scale(rgm_optimizer *optimizer, rgm_tensor *const *gradients)
{
    const rgm_optimizer_options *o = &optimizer->options;
    double norm = optimizer->gradient_norm;

    if (o->clip_value > 0 && (o->clip_norm > 0 || o->clip_global_norm > 0)) {
        double sum = 0;

        for (int64_t i = 0; i < optimizer->count; i++) {
            rgmi_parameter_share *e = &optimizer->entries[i];
            rgm_flat_args g = {.count = e->count};
            double squares;

            if (gradients[i] == NULL || !e->moves)
                continue;
            g.x = clip_elements(optimizer, e, gradients[i]);
            squares = e->kernels->sum_of_squares(&g);
            e->norm = sqrt(squares);
            sum += squares;
        }
        norm = sqrt(sum);
    }
    return o->clip_global_norm > 0 && norm > o->clip_global_norm ? o->clip_global_norm / norm : 1;
}

/* ---- the update ---------------------------------------------------------------------------- */

/* Squares of gradients are kept too: they can overflow only where the square of the norm does. */
static bool is_finite(const rgm_optimizer *optimizer, const rgmi_parameter_share *e,
                      const rgm_update *u)
{
    double largest_square = u->dtype == RGM_F32 ? FLT_MAX : DBL_MAX;
    bool finite = u->kernels->all_finite(&(rgm_flat_args){u->w, u->count});

    if (e->norm * u->gradient_scale <= sqrt(largest_square))
        return finite;
    for (int s = 0; s < e->slot_count && finite; s++) {
        const rgm_tensor *slot = optimizer->slots[e->first_slot + s].tensor;
        finite = u->kernels->all_finite(&(rgm_flat_args){u->slots[s], rgm_tensor_count(slot)});
    }
    return finite;
}

/* Returns whether weights and slots are numbers behind it. */
static bool update_one(rgm_optimizer *optimizer, rgmi_parameter_share *e, const rgm_tensor *w,
                       const rgm_tensor *gradient, rgm_update *update)
{
    const rgm_optimizer_options *o = update->options;
    rgm_update u = *update;

    u.kernels = e->kernels;
    u.dtype = e->dtype;
    u.rank = rgm_tensor_rank(w);
    u.shape = rgm_tensor_shape(w);
    u.count = e->count;
    u.w = rgm_tensor_data(w);
    u.gradient = clip_elements(optimizer, e, gradient);
    for (int s = 0; s < e->slot_count; s++)
        u.slots[s] = rgm_tensor_data(optimizer->slots[e->first_slot + s].tensor);
    u.rate *= e->rate_scale;
    if (o->clip_norm > 0 && e->norm > o->clip_norm)
        u.gradient_scale = o->clip_norm / e->norm;
    u.weight_decay = e->decays ? o->weight_decay : 0;
    u.layer_adaptation = e->layer_adaptation;
    o->type->step(&u);
    return is_finite(optimizer, e, &u);
}

/* Every parameter in turn; RGM_ERR_NUMERIC at the first one that is no longer finite. */
static rgm_status update_all(rgm_optimizer *optimizer, rgm_parameters *parameters,
                             rgm_tensor *const *gradients, rgm_update *update)
{
    for (int64_t i = 0; i < optimizer->count; i++) {
        rgmi_parameter_share *e = &optimizer->entries[i];

        if (gradients[i] == NULL || !e->moves || e->count == 0 ||
            update_one(optimizer, e, rgm_parameters_tensor(parameters, i), gradients[i], update))
            continue;
        optimizer->spoiled = true;
        return RGM_FAIL(RGM_ERR_NUMERIC,
                        "the update of '%s' overflows: its rate is %g and the norm of its gradient "
                        "%g; take a smaller learning_rate, or clip",
                        rgm_parameters_name(parameters, i), update->rate * e->rate_scale, e->norm);
    }
    return RGM_OK;
}

rgm_status rgm_optimizer_step(rgm_optimizer *optimizer, rgm_parameters *parameters,
                              rgm_tensor *const *gradients, int64_t step)
{
    rgm_update update = {
        .options = &optimizer->options, .step = step, .scratch = optimizer->scratch};
    rgm_status status;

    RGM_TRY(check_gradients(optimizer, parameters, gradients, step));
    RGM_TRY(measure(optimizer, parameters, gradients, step));
    update.rate = rgm_optimizer_rate(optimizer, step);
    update.gradient_scale = global_scale(optimizer, gradients);
    if (step == 0)
        rgmi_averages_copy(optimizer, parameters);
    status = update_all(optimizer, parameters, gradients, &update);
    if (status == RGM_OK)
        rgmi_averages_update(optimizer, parameters, step + 1);
    rgm_parameters_touch(parameters);
    return status;
}
