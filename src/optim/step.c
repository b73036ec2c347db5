/*
 * One update of all parameters: are the gradients numbers, how far are they clipped, then each
 * parameter in one sweep by its optimizer's row. Nothing has moved before all of it is known to be
 * possible; only what an update comes to is known behind it: on the CPU it is looked at while it is
 * in the cache, elsewhere when all parameters have moved, since a device answers late.
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
                                    gradients[i], rgm_parameters_form(parameters, i)));
    }
    return RGM_OK;
}

static bool is_updated(const rgmi_parameter_share *e)
{
    return e->gradient != NULL;
}

/* The norms; they also find what is not finite, at the price of one read of the gradients. */
static rgm_status measure(rgm_optimizer *optimizer, const rgm_parameters *parameters, int64_t step)
{
    const double *squares = optimizer->squares.sums;
    double sum = 0;

    rgmi_squares_clear(&optimizer->squares);
    for (int64_t i = 0; i < optimizer->count; i++) {
        rgmi_parameter_share *e = &optimizer->entries[i];

        e->norm = e->measured = 0;
        if (is_updated(e))
            rgmi_squares_ask(&optimizer->squares, e->kernels, e->gradient, e->count);
    }
    RGM_TRY(rgmi_squares_read(optimizer));
    for (int64_t i = 0; i < optimizer->count; i++) {
        rgmi_parameter_share *e = &optimizer->entries[i];

        if (!is_updated(e))
            continue;
        if (!isfinite(*squares))
            return RGM_FAIL(RGM_ERR_NUMERIC, "the gradient of '%s' %s at step %lld",
                            rgm_parameters_name(parameters, i),
                            e->kernels->all_finite(&(rgm_flat_args){e->gradient, e->count})
                                ? "is so large that its norm overflows"
                                : "has a NaN or infinity",
                            (long long)step);
        e->norm = e->measured = sqrt(*squares);
        sum += *squares++;
    }
    optimizer->gradient_norm = sqrt(sum);
    return RGM_OK;
}

/* ---- clipping: value, then each norm or the norm of all ------------------------------------- */

/* The gradient's elements within clip_value, in a place that lasts until the next call. */
static const void *clip_elements(const rgm_optimizer *optimizer, const rgmi_parameter_share *e)
{
    rgm_clip_args args = {
        .x = e->gradient, .count = e->count, .limit = optimizer->options.clip_value};

    if (args.limit <= 0)
        return args.x;
    args.y =
        rgmi_is_far(optimizer) ? rgm_tensor_data(optimizer->clipped_there) : optimizer->clipped;
    e->kernels->clip(&args);
    return args.y;
}

/* Norms are of what clip_value leaves. With it, the elements are clipped a second time in the
   update: cheaper than a copy of all gradients. */
static rgm_status measure_clipped(double *norm, rgm_optimizer *optimizer)
{
    const double *squares = optimizer->squares.sums;
    double sum = 0;

    rgmi_squares_clear(&optimizer->squares);
    for (int64_t i = 0; i < optimizer->count; i++) {
        const rgmi_parameter_share *e = &optimizer->entries[i];

        if (!is_updated(e))
            continue;
        rgmi_squares_ask(&optimizer->squares, e->kernels, clip_elements(optimizer, e), e->count);
        rgmi_squares_begin(optimizer); /* before the next one is in its place */
    }
    RGM_TRY(rgmi_squares_read(optimizer));
    for (int64_t i = 0; i < optimizer->count; i++) {
        if (!is_updated(&optimizer->entries[i]))
            continue;
        optimizer->entries[i].norm = sqrt(*squares);
        sum += *squares++;
    }
    *norm = sqrt(sum);
    return RGM_OK;
}

static rgm_status global_scale(double *scale, rgm_optimizer *optimizer)
{
    const rgm_optimizer_options *o = &optimizer->options;
    double norm = optimizer->gradient_norm;

    if (o->clip_value > 0 && (o->clip_norm > 0 || o->clip_global_norm > 0))
        RGM_TRY(measure_clipped(&norm, optimizer));
    *scale = o->clip_global_norm > 0 && norm > o->clip_global_norm ? o->clip_global_norm / norm : 1;
    return RGM_OK;
}

/* ---- the update of one parameter ------------------------------------------------------------ */

/* What the row gets: everything is there already, so that nothing here can fail. */
static rgm_update describe(rgm_optimizer *optimizer, const rgm_parameters *parameters, int64_t i,
                           const rgm_update *update)
{
    const rgmi_parameter_share *e = &optimizer->entries[i];
    const rgm_optimizer_options *o = update->options;
    const rgm_tensor *form = rgm_parameters_form(parameters, i);
    rgm_update u = *update;

    u.kernels = e->kernels;
    u.dtype = e->dtype;
    u.rank = rgm_tensor_rank(form);
    u.shape = rgm_tensor_shape(form);
    u.count = e->count;
    (void)rgm_parameters_on(&u.w, parameters, i, optimizer->device, true);
    for (int s = 0; s < e->slot_count; s++)
        u.slots[s] = rgmi_slot_address(optimizer, e->first_slot + s);
    u.scratch = e->direction != NULL ? rgm_tensor_data(e->direction) : optimizer->scratch;
    u.rate *= e->rate_scale;
    if (o->clip_norm > 0 && e->norm > o->clip_norm)
        u.gradient_scale = o->clip_norm / e->norm;
    u.weight_decay = e->decays ? o->weight_decay : 0;
    u.layer_adaptation = e->layer_adaptation;
    return u;
}

/* Squares of gradients are kept too: they can overflow only where the square of the norm does. */
static bool may_overflow(const rgmi_parameter_share *e, const rgm_update *u)
{
    double largest_square = u->dtype == RGM_F32 ? FLT_MAX : DBL_MAX;

    return e->norm * u->gradient_scale > sqrt(largest_square);
}

static bool slots_are_finite(const rgm_optimizer *optimizer, const rgmi_parameter_share *e,
                             const rgm_update *u)
{
    bool finite = true;

    for (int s = 0; s < e->slot_count && finite; s++) {
        const rgm_tensor *slot = optimizer->slots[e->first_slot + s].value.host;
        finite = u->kernels->all_finite(&(rgm_flat_args){u->slots[s], rgm_tensor_count(slot)});
    }
    return finite;
}

static rgm_status overflows(rgm_optimizer *optimizer, const rgm_parameters *parameters, int64_t i,
                            const rgm_update *u)
{
    optimizer->spoiled = true;
    return RGM_FAIL(RGM_ERR_NUMERIC,
                    "the update of '%s' overflows: its rate is %g and the norm of its gradient "
                    "%g; take a smaller learning_rate, or clip",
                    rgm_parameters_name(parameters, i), u->rate, optimizer->entries[i].norm);
}

/* ---- of all parameters ---------------------------------------------------------------------- */

static double norm_of(const rgm_update *u, const void *x)
{
    return sqrt(u->kernels->sum_of_squares(&(rgm_flat_args){x, u->count}));
}

/* On the CPU each in turn; RGM_ERR_NUMERIC at the first one that is no longer finite. */
static rgm_status update_here(rgm_optimizer *optimizer, const rgm_parameters *parameters,
                              const rgm_update *update)
{
    const rgm_optimizer_type *type = optimizer->options.type;

    for (int64_t i = 0; i < optimizer->count; i++) {
        rgmi_parameter_share *e = &optimizer->entries[i];
        rgm_update u;

        if (!is_updated(e) || e->away || e->count == 0)
            continue;
        u = describe(optimizer, parameters, i, update);
        u.gradient = clip_elements(optimizer, e);
        if (type->direction != NULL && type->direction(&u)) {
            u.w_norm = norm_of(&u, u.w);
            u.direction_norm = norm_of(&u, u.scratch);
        }
        type->step(&u);
        if (!u.kernels->all_finite(&(rgm_flat_args){u.w, u.count}) ||
            (may_overflow(e, &u) && !slots_are_finite(optimizer, e, &u)))
            return overflows(optimizer, parameters, i, &u);
    }
    return RGM_OK;
}

/* All directions, and then the norms of weights and directions at once: squares.sums has two for
 * each parameter that is updated. */
static rgm_status directions_there(rgm_optimizer *optimizer, const rgm_parameters *parameters,
                                   const rgm_update *update)
{
    rgmi_squares_clear(&optimizer->squares);
    for (int64_t i = 0; i < optimizer->count; i++) {
        rgmi_parameter_share *e = &optimizer->entries[i];
        rgm_update u;

        if (!is_updated(e))
            continue;
        u = describe(optimizer, parameters, i, update);
        u.gradient = clip_elements(optimizer, e);
        if (e->count > 0)
            optimizer->options.type->direction(&u);
        rgmi_squares_ask(&optimizer->squares, e->kernels, u.w, e->count);
        rgmi_squares_ask(&optimizer->squares, e->kernels, u.scratch, e->count);
    }
    return rgmi_squares_read(optimizer);
}

/* Whether all that has moved is finite: one wait unless something is not, or is very large. */
static rgm_status check_there(rgm_optimizer *optimizer, const rgm_parameters *parameters,
                              const rgm_update *update)
{
    const double *squares = optimizer->squares.sums;

    rgmi_squares_clear(&optimizer->squares);
    for (int64_t i = 0; i < optimizer->count; i++) {
        const rgmi_parameter_share *e = &optimizer->entries[i];

        if (is_updated(e))
            rgmi_squares_ask(&optimizer->squares, e->kernels,
                             describe(optimizer, parameters, i, update).w, e->count);
    }
    RGM_TRY(rgmi_squares_read(optimizer));
    for (int64_t i = 0; i < optimizer->count; i++) {
        const rgmi_parameter_share *e = &optimizer->entries[i];
        rgm_update u;

        if (!is_updated(e))
            continue;
        u = describe(optimizer, parameters, i, update);
        if ((!isfinite(*squares++) && !u.kernels->all_finite(&(rgm_flat_args){u.w, u.count})) ||
            (may_overflow(e, &u) && !slots_are_finite(optimizer, e, &u)))
            return overflows(optimizer, parameters, i, &u);
    }
    return RGM_OK;
}

/* On a device: nothing is waited for between two parameters. */
static rgm_status update_there(rgm_optimizer *optimizer, const rgm_parameters *parameters,
                               const rgm_update *update)
{
    const rgm_optimizer_type *type = optimizer->options.type;
    const double *squares = optimizer->squares.sums;

    if (type->direction != NULL)
        RGM_TRY(directions_there(optimizer, parameters, update));
    for (int64_t i = 0; i < optimizer->count; i++) {
        rgmi_parameter_share *e = &optimizer->entries[i];
        rgm_update u;

        if (!is_updated(e))
            continue;
        u = describe(optimizer, parameters, i, update);
        if (type->direction != NULL) {
            u.w_norm = sqrt(*squares++);
            u.direction_norm = sqrt(*squares++);
        } else {
            u.gradient = clip_elements(optimizer, e);
        }
        if (e->count > 0)
            type->step(&u);
    }
    return check_there(optimizer, parameters, update);
}

rgm_status rgm_optimizer_step(rgm_optimizer *optimizer, rgm_parameters *parameters,
                              rgm_tensor *const *gradients, int64_t step)
{
    rgm_update update = {.options = &optimizer->options, .step = step};
    rgm_status status;

    RGM_TRY(check_gradients(optimizer, parameters, gradients, step));
    RGM_TRY(rgmi_place_open(optimizer, parameters, gradients));
    RGM_TRY(measure(optimizer, parameters, step));
    update.rate = rgm_optimizer_rate(optimizer, step);
    RGM_TRY(global_scale(&update.gradient_scale, optimizer));
    if (step == 0)
        RGM_TRY(rgmi_averages_copy(optimizer, parameters));
    status = rgmi_is_far(optimizer) ? update_there(optimizer, parameters, &update)
                                    : update_here(optimizer, parameters, &update);
    if (optimizer->part.exchange != NULL) {
        status = optimizer->part.exchange(status, parameters, optimizer->part.payload);
        optimizer->spoiled = optimizer->spoiled || status != RGM_OK;
    }
    if (status == RGM_OK)
        status = rgmi_averages_update(optimizer, parameters, step + 1);
    if (status != RGM_OK && rgmi_is_far(optimizer))
        optimizer->spoiled = true; /* how far the device came nobody knows */
    return status;
}
