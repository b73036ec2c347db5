/*
 * Every trial by itself, from the whole space.
 */
#include "search_internal.h"

static rgm_status draw(rgm_hyper_value *values, const rgm_searcher *searcher, const void *options,
                       rgm_mt19937 *random)
{
    (void)options;
    return rgm_space_draw(values, rgm_searcher_space(searcher), random);
}

const rgm_sampler_type rgmi_random_sampler_type = {
    .section = {.name = "random", .help = "every trial by itself, from the whole space"},
    .draw = draw,
    .blind = true};
