/*
 * Samplers that learn from trials that are over: they need some of them before the last is drawn.
 */
#include "search_internal.h"

#include <regimen/search_live.h>

bool rgm_searcher_learns(const rgm_searcher *searcher)
{
    return !searcher->sampler->blind && searcher->sampler != &rgmi_cma_sampler_type;
}

static bool says_how_many(const rgm_yaml_node *section)
{
    const rgm_yaml_node *node = rgm_yaml_find(section, "max_concurrent_trials");
    int64_t count = 0;

    return node != NULL && rgm_yaml_int(&count, node) == RGM_OK && count > 0;
}

rgm_status rgmi_search_need_turns(rgmi_mistakes *mistakes, const rgm_searcher *searcher,
                                  int64_t begin, int64_t trials, const rgm_yaml_node *section)
{
    if (searcher->is_kept || searcher->sampler->blind || trials < 2 || begin < trials ||
        says_how_many(section))
        return RGM_OK;
    return rgmi_mistake(
        mistakes,
        rgm_yaml_fail(section,
                      "sampler '%s' learns from trials that are over, and all %lld begin at once: "
                      "give 'max_concurrent_trials', how many at a time",
                      searcher->sampler->section.name, (long long)trials));
}

rgm_status rgmi_search_need_blind(rgmi_mistakes *mistakes, const rgm_searcher *searcher,
                                  const rgm_yaml_node *section)
{
    const rgm_yaml_node *node = rgm_yaml_find(section, "sampler");

    if (searcher->is_kept || searcher->sampler->blind ||
        (rgm_searcher_learns(searcher) && rgm_yaml_find(section, "source_experiment") != NULL))
        return RGM_OK;
    return rgmi_mistake(
        mistakes,
        rgm_yaml_fail(node != NULL ? node : section,
                      "sampler '%s' learns from trials that are over, and '%s' draws all of its "
                      "trials before one is: take sampler random or sobol, or searcher random, "
                      "median, adaptive_asha or bohb with 'max_concurrent_trials'",
                      searcher->sampler->section.name, searcher->type->section.name));
}
