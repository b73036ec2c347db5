/*
 * Where an update is computed: on the device that has the gradients or the weights, with its
 * kernels, on addresses of its memory. What it needs is brought there before anything changes, and
 * then stays; of the CPU nothing is copied. A device answers late, so norms are asked for one by
 * one and read together.
 */
#include "optim_internal.h"

/* ---- the device ---------------------------------------------------------------------------- */

/* A row that touches elements itself can do so on the host alone. */
static rgm_device *choose(const rgm_optimizer *optimizer, const rgm_parameters *parameters,
                          rgm_tensor *const *gradients)
{
    if (!optimizer->options.type->on_device)
        return rgm_device_cpu();
    for (int64_t i = 0; i < optimizer->count; i++)
        if (gradients[i] != NULL && optimizer->entries[i].moves &&
            rgm_tensor_device(gradients[i]) != NULL)
            return rgm_tensor_device(gradients[i]);
    return rgm_parameters_device(parameters);
}

void rgmi_place_close(rgm_optimizer *optimizer)
{
    for (int64_t i = 0; i < optimizer->count; i++) {
        rgmi_parameter_share *e = &optimizer->entries[i];

        rgm_tensor_release(e->staged);
        rgm_tensor_release(e->direction);
        e->staged = e->direction = NULL;
    }
    rgm_tensor_release(optimizer->squares.there);
    rgm_tensor_release(optimizer->clipped_there);
    optimizer->squares.there = optimizer->clipped_there = NULL;
}

/* ---- what is there ------------------------------------------------------------------------- */

static rgm_status about(rgm_status status, const char *what, const char *name)
{
    return status == RGM_OK ? RGM_OK : rgm_error_prefix(status, "%s '%s'", what, name);
}

static rgm_status make_there(rgm_tensor **out, const rgm_optimizer *optimizer, rgm_dtype dtype,
                             int64_t count)
{
    return *out != NULL ? RGM_OK
                        : rgm_device_tensor_create(out, optimizer->device, dtype, 1, &count);
}

/* The gradient's elements on the device; those that lie elsewhere are copied. */
static rgm_status bring_gradient(rgm_optimizer *optimizer, rgmi_parameter_share *e,
                                 const rgm_tensor *gradient)
{
    rgm_device *lies_on = rgm_tensor_device(gradient);

    e->gradient = rgm_tensor_data(gradient);
    if (lies_on == (rgmi_is_far(optimizer) ? optimizer->device : NULL))
        return RGM_OK;
    RGM_TRY(make_there(&e->staged, optimizer, e->dtype, e->count));
    e->gradient = rgm_tensor_data(e->staged);
    return rgm_device_tensor_set(e->staged, gradient);
}

static rgm_status bring_one(rgm_optimizer *optimizer, int64_t i, const rgm_parameters *parameters,
                            const rgm_tensor *gradient)
{
    rgmi_parameter_share *e = &optimizer->entries[i];
    int64_t slots = e->slot_count + (e->average != NULL);
    void *address;

    e->gradient = NULL;
    if (!e->moves)
        return RGM_OK;
    RGM_TRY(rgm_parameters_on(&address, parameters, i, optimizer->device, false));
    for (int64_t s = e->first_slot + (e->away ? e->slot_count : 0); s < e->first_slot + slots; s++)
        RGM_TRY(
            about(rgm_resident_on(&address, &optimizer->slots[s].value, optimizer->device, false),
                  "slot", optimizer->slots[s].name));
    if (gradient == NULL)
        return RGM_OK;
    if (rgmi_needs_scratch(optimizer) && rgmi_is_far(optimizer))
        RGM_TRY(about(make_there(&e->direction, optimizer, e->dtype, e->count), "the direction of",
                      rgm_parameters_name(parameters, i)));
    return about(bring_gradient(optimizer, e, gradient), "the gradient of",
                 rgm_parameters_name(parameters, i));
}

rgm_status rgmi_place_open(rgm_optimizer *optimizer, const rgm_parameters *parameters,
                           rgm_tensor *const *gradients)
{
    rgm_device *device = choose(optimizer, parameters, gradients);

    if (device != optimizer->device) {
        rgmi_place_close(optimizer);
        optimizer->device = device;
        for (int64_t i = 0; i < optimizer->count; i++)
            optimizer->entries[i].kernels = rgm_kernels_for(device, optimizer->entries[i].dtype);
    }
    for (int64_t i = 0; i < optimizer->count; i++)
        RGM_TRY(bring_one(optimizer, i, parameters, gradients[i]));
    if (!rgmi_is_far(optimizer))
        return RGM_OK;
    RGM_TRY(make_there(&optimizer->squares.there, optimizer, RGM_F64, optimizer->squares.most));
    if (optimizer->options.clip_value > 0)
        RGM_TRY(make_there(&optimizer->clipped_there, optimizer, RGM_F64, optimizer->most));
    return RGM_OK;
}

void *rgmi_slot_address(rgm_optimizer *optimizer, int64_t s)
{
    void *address;

    (void)rgm_resident_on(&address, &optimizer->slots[s].value, optimizer->device, true);
    return address;
}

/* ---- sums of squares ----------------------------------------------------------------------- */

rgm_status rgmi_squares_open(rgmi_squares *squares, int64_t most)
{
    squares->most = most;
    RGM_TRY(RGM_NEW(squares->x, most));
    RGM_TRY(RGM_NEW(squares->counts, most));
    RGM_TRY(RGM_NEW(squares->kernels, most));
    return RGM_NEW(squares->sums, most);
}

void rgmi_squares_clear(rgmi_squares *squares)
{
    squares->asked = squares->begun = 0;
}

void rgmi_squares_ask(rgmi_squares *squares, const rgm_kernels *kernels, const void *x,
                      int64_t count)
{
    squares->kernels[squares->asked] = kernels;
    squares->counts[squares->asked] = count;
    squares->x[squares->asked++] = x;
}

void rgmi_squares_begin(rgm_optimizer *optimizer)
{
    rgmi_squares *q = &optimizer->squares;
    double *y = rgmi_is_far(optimizer) ? rgm_tensor_data(q->there) : q->sums;

    while (q->begun < q->asked) {
        rgm_squares_args args = {
            .y = y + q->begun, .x = q->x + q->begun, .count = q->counts + q->begun};
        const rgm_kernels *kernels = q->kernels[q->begun];

        for (; q->begun < q->asked && q->kernels[q->begun] == kernels; q->begun++)
            args.arrays++;
        kernels->squares(&args);
    }
}

rgm_status rgmi_squares_read(rgm_optimizer *optimizer)
{
    rgmi_squares *q = &optimizer->squares;

    rgmi_squares_begin(optimizer);
    if (!rgmi_is_far(optimizer))
        return RGM_OK;
    return rgm_device_copy_from(optimizer->device, q->sums, rgm_tensor_data(q->there),
                                (size_t)q->asked * sizeof *q->sums);
}
