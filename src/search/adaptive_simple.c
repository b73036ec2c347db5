/*
 * adaptive_simple: brackets of synchronous halving, with a number of trials in place of a budget.
 */
#include "search_internal.h"

#include <math.h>

typedef struct adaptive_simple_options {
    int64_t max_steps, max_trials, max_rungs;
    int mode;
    double divisor;
} adaptive_simple_options;

#define RGM_OPTIONS adaptive_simple_options
static const rgm_field fields[] = {
    RGM_INT_FIELD(max_steps, 1, RGM_MAX_LENGTH, "of a trial that reaches the top"),
    RGM_INT_FIELD(max_trials, 1, 2000, "trials of all brackets"),
    RGM_CHOICE_FIELD(mode, rgmi_mode_names, "how much is stopped early"),
    RGM_FLOAT_FIELD(divisor, 1 + 0x1p-20, 1e6, "of a rung's trials one in so many goes on"),
    RGM_INT_FIELD(max_rungs, 1, 62, "of the largest bracket"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(adaptive_simple_options *)options = (adaptive_simple_options){.divisor = 4, .max_rungs = 5};
}

static rgm_status plan_bracket(rgmi_bracket *b, int64_t rungs, const adaptive_simple_options *o,
                               int64_t trials)
{
    RGM_TRY(rgmi_bracket_create(b, RGMI_SYNCHRONOUS, rungs, o->divisor, o->max_steps));
    for (int64_t i = 0; i < rungs; i++) {
        rgmi_rung *rung = &b->rungs[i];
        double start = floor((double)trials / rgmi_power(o->divisor, i));

        rung->start = start > 1 ? (int64_t)start : 1;
        if (i == 0)
            continue;
        if (rung->need < rung[-1].need + 1)
            rung->need = rung[-1].need + 1;
        rung[-1].promote = rung->start;
    }
    return RGM_OK;
}

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    const adaptive_simple_options *o = options;
    const rgm_ints none = {0};
    rgmi_tournament *t = state;
    rgmi_mistakes mistakes = {0};
    int64_t *rungs = NULL, count;

    (void)searcher;
    RGM_GO(rgmi_search_need(&mistakes, o->max_steps, "max_steps", section));
    RGM_GO(rgmi_search_need(&mistakes, o->max_trials, "max_trials", section));
    RGM_GO(rgmi_mistakes_tell(&mistakes));
    RGM_GO(rgmi_bracket_rungs(&rungs, &count, (rgmi_mode)o->mode, o->max_rungs, &none));
    RGM_GO(rgmi_tournament_create(t, count));
    for (int64_t i = 0; i < count; i++) {
        int64_t trials = o->max_trials / count + (i < o->max_trials % count);

        RGM_GO(plan_bracket(&t->brackets[i], rungs[i], o, trials > 1 ? trials : 1));
    }
done:
    rgm_free(rungs);
    rgm_text_clear(&mistakes.lines);
    return status;
}

static rgm_length max_length(const void *options)
{
    return (rgm_length){.units = ((const adaptive_simple_options *)options)->max_steps};
}

const rgm_searcher_type rgmi_adaptive_simple_type = {
    .section = {.name = "adaptive_simple",
                .help = "brackets of successive halving, with a number of trials",
                .options_size = sizeof(adaptive_simple_options),
                .defaults = defaults,
                .fields = fields},
    .state_size = sizeof(rgmi_tournament),
    .prepare = prepare,
    .max_length = max_length,
    RGMI_TOURNAMENT_FUNCTIONS};
