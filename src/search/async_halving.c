/*
 * async_halving, PEDL's first form of successive halving: one synchronous bracket with a budget of
 * steps. (Its name says that trials of a rung need not report together.)
 */
#include "search_internal.h"

#include <math.h>

typedef struct async_halving_options {
    int64_t num_rungs, target_trial_steps, step_budget;
    double divisor;
    bool train_stragglers;
} async_halving_options;

#define RGM_OPTIONS async_halving_options
static const rgm_field fields[] = {
    RGM_INT_FIELD(num_rungs, 1, 62, "rungs"),
    RGM_INT_FIELD(target_trial_steps, 1, RGM_MAX_LENGTH, "of a trial that reaches the top"),
    RGM_INT_FIELD(step_budget, 1, RGM_MAX_LENGTH, "of all trials together, about"),
    RGM_FLOAT_FIELD(divisor, 1 + 0x1p-20, 1e6, "of a rung's trials one in so many goes on"),
    RGM_BOOL_FIELD(train_stragglers, "taken as PEDL took it: it changes nothing"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(async_halving_options *)options = (async_halving_options){.divisor = 4};
}

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    const async_halving_options *o = options;
    rgmi_tournament *t = state;
    rgmi_mistakes mistakes = {0};

    (void)searcher;
    RGM_GO(rgmi_search_need(&mistakes, o->num_rungs, "num_rungs", section));
    RGM_GO(rgmi_search_need(&mistakes, o->target_trial_steps, "target_trial_steps", section));
    RGM_GO(rgmi_search_need(&mistakes, o->step_budget, "step_budget", section));
    RGM_GO(rgmi_mistakes_tell(&mistakes));
    RGM_GO(rgmi_tournament_create(t, 1));
    RGM_GO(rgm_yaml_place(rgmi_bracket_budgeted(&t->brackets[0], o->num_rungs, o->divisor,
                                                o->target_trial_steps, o->step_budget, true),
                          section));
done:
    rgm_text_clear(&mistakes.lines);
    return status;
}

static rgm_length max_length(const void *options)
{
    return (rgm_length){.units = ((const async_halving_options *)options)->target_trial_steps};
}

const rgm_searcher_type rgmi_async_halving_type = {
    .section = {.name = "async_halving",
                .help = "one bracket of successive halving, with a budget of steps",
                .options_size = sizeof(async_halving_options),
                .defaults = defaults,
                .fields = fields},
    .state_size = sizeof(rgmi_tournament),
    .prepare = prepare,
    .max_length = max_length,
    RGMI_TOURNAMENT_FUNCTIONS};
