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

void rgmi_averages_copy(rgm_optimizer *optimizer, const rgm_parameters *parameters)
{
    for (int64_t i = 0; i < optimizer->count; i++) {
        rgm_tensor *average = optimizer->entries[i].average;

        if (average != NULL)
            rgm_tensor_set(average, rgm_parameters_tensor(parameters, i));
    }
}

void rgmi_averages_update(rgm_optimizer *optimizer, const rgm_parameters *parameters, int64_t n)
{
    const rgm_average *o = &optimizer->options.average;
    double k = (double)(n - o->start_step), decay = o->decay;

    if (!rgm_optimizer_has_averages(optimizer))
        return;
    if (n < o->start_step) {
        rgmi_averages_copy(optimizer, parameters);
        return;
    }
    if (o->dynamic)
        decay = fmin(decay, (1 + k) / (10 + k));
    for (int64_t i = 0; i < optimizer->count; i++) {
        const rgmi_parameter_share *e = &optimizer->entries[i];
        rgm_average_args args = {.count = e->count, .rest = 1 - decay};

        if (e->average == NULL)
            continue;
        args.average = rgm_tensor_data(e->average);
        args.w = rgm_tensor_data(rgm_parameters_tensor(parameters, i));
        e->kernels->average(&args);
    }
}

rgm_status rgm_optimizer_averages_swap(rgm_optimizer *optimizer, rgm_parameters *parameters)
{
    if (!rgm_optimizer_has_averages(optimizer))
        return RGM_OK;
    RGM_TRY(rgmi_optimizer_check_parameters(optimizer, parameters));
    for (int64_t i = 0; i < optimizer->count; i++) {
        const rgmi_parameter_share *e = &optimizer->entries[i];
        rgm_tensor *w = rgm_parameters_tensor(parameters, i);

        if (e->average != NULL)
            e->kernels->swap(&(rgm_swap_args){rgm_tensor_data(e->average), rgm_tensor_data(w),
                                              rgm_tensor_bytes(w)});
    }
    optimizer->swapped = !optimizer->swapped;
    rgm_parameters_touch(parameters);
    return RGM_OK;
}
