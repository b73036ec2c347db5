/*
 * adaptive: brackets of synchronous halving from few long trials to many short ones, as Hyperband
 * (Li et al. 2018), each with an equal share of a budget of steps.
 */
#include "search_internal.h"

typedef struct adaptive_options {
    int64_t target_trial_steps, step_budget, max_rungs;
    int mode;
    double divisor;
    rgm_ints bracket_rungs;
    bool train_stragglers;
} adaptive_options;

#define RGM_OPTIONS adaptive_options
static const rgm_field fields[] = {
    RGM_INT_FIELD(target_trial_steps, 1, RGM_MAX_LENGTH, "of a trial that reaches the top"),
    RGM_INT_FIELD(step_budget, 1, 50000, "of all trials together, about"),
    RGM_CHOICE_FIELD(mode, rgmi_mode_names, "how much is stopped early"),
    RGM_FLOAT_FIELD(divisor, 1 + 0x1p-20, 1e6, "of a rung's trials one in so many goes on"),
    RGM_INT_FIELD(max_rungs, 1, 62, "of the largest bracket"),
    RGM_INTS_FIELD(bracket_rungs, 1, 62, "rungs of each bracket, in place of mode and max_rungs"),
    RGM_BOOL_FIELD(train_stragglers, "taken as PEDL took it: it changes nothing"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(adaptive_options *)options = (adaptive_options){.divisor = 4, .max_rungs = 5};
}

static rgm_status plan(rgmi_tournament *t, const adaptive_options *o)
{
    rgm_status status = RGM_OK;
    int64_t *rungs = NULL, count;

    RGM_GO(rgmi_bracket_rungs(&rungs, &count, (rgmi_mode)o->mode, o->max_rungs, &o->bracket_rungs));
    RGM_GO(rgmi_tournament_create(t, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgmi_bracket_budgeted(&t->brackets[i], rungs[i], o->divisor, o->target_trial_steps,
                                     o->step_budget / count, true));
done:
    rgm_free(rungs);
    return status;
}

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    const adaptive_options *o = options;
    rgmi_mistakes mistakes = {0};

    (void)searcher;
    RGM_GO(rgmi_search_need(&mistakes, o->target_trial_steps, "target_trial_steps", section));
    RGM_GO(rgmi_search_need(&mistakes, o->step_budget, "step_budget", section));
    if (mistakes.count == 0 && o->step_budget <= o->target_trial_steps)
        RGM_GO(rgmi_mistake(
            &mistakes, rgm_yaml_fail(section,
                                     "'searcher.step_budget' is %lld, but must be above "
                                     "target_trial_steps, which is %lld",
                                     (long long)o->step_budget, (long long)o->target_trial_steps)));
    RGM_GO(rgmi_mistakes_tell(&mistakes));
    RGM_GO(rgm_yaml_place(plan(state, o), section));
done:
    rgm_text_clear(&mistakes.lines);
    return status;
}

static rgm_length max_length(const void *options)
{
    return (rgm_length){.units = ((const adaptive_options *)options)->target_trial_steps};
}

const rgm_searcher_type rgmi_adaptive_type = {
    .section = {.name = "adaptive",
                .help = "brackets of successive halving, with a budget of steps",
                .options_size = sizeof(adaptive_options),
                .defaults = defaults,
                .fields = fields},
    .state_size = sizeof(rgmi_tournament),
    .prepare = prepare,
    .max_length = max_length,
    RGMI_TOURNAMENT_FUNCTIONS};
