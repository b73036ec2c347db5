/*
 * The list of samplers. A new one is a file with a row, and a line here.
 */
#include "search_internal.h"

const rgm_sampler_type *const rgm_sampler_types[] = {
    &rgmi_random_sampler_type, &rgmi_sobol_sampler_type,
    &rgmi_tpe_sampler_type,    &rgmi_gp_sampler_type,
    &rgmi_cma_sampler_type,    &rgmi_bohb_sampler_type,
    &rgmi_nsga2_sampler_type,  NULL};
