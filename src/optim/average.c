/*
 * Averages of the weights over time: a slot beside each parameter that moves, one pass after each
 * update, and the exchange of the two for evaluation.
 */
#include "optim_internal.h"

#include <math.h>

#define RGM_OPTIONS rgm_average
const rgm_field rgmi_average_fields[] = {
    RGM_FLOAT_FIELD(decay, 0, RGM_BELOW_1,
                    "share of the average that an update keeps; 0: no averages"),
    RGM_INT_FIELD(start_step, 0, INFINITY, "update up to which the average is the weight"),
    RGM_BOOL_FIELD(dynamic, "keep less at first: (1 + k) / (10 + k) in update k from start_step"),
    {0}};
#undef RGM_OPTIONS

bool rgm_optimizer_has_averages(const rgm_optimizer *optimizer)
{
    return optimizer->options.average.decay > 0;
}

/* Of the optimizer's device: the average and its weight, one of which may change. */
typedef struct two {
    void *average, *w;
    int64_t count;
    size_t bytes;
    const rgm_kernels *kernels;
} two;

static rgm_status two_of(two *out, const rgm_optimizer *optimizer, int64_t i,
                         const rgm_parameters *parameters, rgm_device *device, bool swaps)
{
    const rgmi_parameter_share *e = &optimizer->entries[i];

    *out = (two){.count = e->count,
                 .bytes = (size_t)e->count * rgm_dtype_size(e->dtype),
                 .kernels = rgm_kernels_for(device, e->dtype)};
    RGM_TRY(rgm_parameters_on(&out->w, parameters, i, device, false));
    RGM_TRY(rgm_resident_on(&out->average, e->average, device, true));
    return swaps ? rgm_parameters_on(&out->w, parameters, i, device, true) : RGM_OK;
}

rgm_status rgmi_averages_copy(rgm_optimizer *optimizer, const rgm_parameters *parameters)
{
    for (int64_t i = 0; i < optimizer->count; i++) {
        two t;

        if (optimizer->entries[i].average == NULL)
            continue;
        RGM_TRY(two_of(&t, optimizer, i, parameters, optimizer->device, false));
        t.kernels->copy(&(rgm_copy_args){.y = t.average, .x = t.w, .outer = 1, .size = t.bytes});
    }
    return RGM_OK;
}

rgm_status rgmi_averages_update(rgm_optimizer *optimizer, const rgm_parameters *parameters,
                                int64_t n)
{
    const rgm_average *o = &optimizer->options.average;
    double k = (double)(n - o->start_step), decay = o->decay;

    if (!rgm_optimizer_has_averages(optimizer))
        return RGM_OK;
    if (n < o->start_step)
        return rgmi_averages_copy(optimizer, parameters);
    if (o->dynamic)
        decay = fmin(decay, (1 + k) / (10 + k));
    for (int64_t i = 0; i < optimizer->count; i++) {
        two t;

        if (optimizer->entries[i].average == NULL)
            continue;
        RGM_TRY(two_of(&t, optimizer, i, parameters, optimizer->device, false));
        t.kernels->average(&(rgm_average_args){
            .average = t.average, .w = t.w, .count = t.count, .rest = 1 - decay});
    }
    return RGM_OK;
}

void rgm_optimizer_averages_reset(rgm_optimizer *optimizer, const rgm_parameters *parameters)
{
    for (int64_t i = 0; i < optimizer->count; i++) {
        rgm_resident *average = optimizer->entries[i].average;

        if (average == NULL)
            continue;
        rgm_resident_replace(average);
        rgm_tensor_set(average->host, rgm_parameters_read(parameters, i));
    }
}

rgm_status rgm_optimizer_averages_swap(rgm_optimizer *optimizer, rgm_parameters *parameters)
{
    rgm_device *device = rgm_parameters_device(parameters);

    if (!rgm_optimizer_has_averages(optimizer))
        return RGM_OK;
    RGM_TRY(rgmi_optimizer_check_parameters(optimizer, parameters));
    for (int64_t i = 0; i < optimizer->count; i++) { /* all are there before one changes */
        void *address;

        if (optimizer->entries[i].average != NULL) {
            RGM_TRY(rgm_parameters_on(&address, parameters, i, device, false));
            RGM_TRY(rgm_resident_on(&address, optimizer->entries[i].average, device, false));
        }
    }
    for (int64_t i = 0; i < optimizer->count; i++) {
        two t;

        if (optimizer->entries[i].average == NULL)
            continue;
        RGM_TRY(two_of(&t, optimizer, i, parameters, device, true));
        t.kernels->swap(&(rgm_swap_args){t.average, t.w, t.bytes});
    }
    optimizer->swapped = !optimizer->swapped;
    return RGM_OK;
}
