/*
 * adaptive_asha: brackets of asynchronous halving. Each bracket has trials by the weight
 * divisor^(rungs - 1) / rungs, so that all take about the same time.
 */
#include "search_internal.h"

#include <math.h>

typedef struct adaptive_asha_options {
    int64_t max_trials, max_rungs, max_concurrent_trials, max_steps;
    const rgm_yaml_node *max_length; /* while it is read alone */
    rgm_length length;
    int mode;
    double divisor;
    rgm_ints bracket_rungs;
    bool stop_once;
} adaptive_asha_options;

#define RGM_OPTIONS adaptive_asha_options
static const rgm_field fields[] = {
    RGM_INT_FIELD(max_trials, 1, RGMI_MOST_TRIALS, "trials of all brackets"),
    RGM_INT_FIELD(max_steps, 1, RGM_MAX_LENGTH, "of a trial that reaches the top"),
    {.name = "max_length",
     .kind = RGM_FIELD_NODE,
     .offset = offsetof(adaptive_asha_options, max_length),
     .help = "the same in any unit"},
    RGM_CHOICE_FIELD(mode, rgmi_mode_names, "how much is stopped early"),
    RGM_FLOAT_FIELD(divisor, 1 + 0x1p-20, 1e6, "of a rung's trials one in so many goes on"),
    RGM_INT_FIELD(max_rungs, 1, 62, "of the largest bracket"),
    RGM_INTS_FIELD(bracket_rungs, 1, 62, "rungs of each bracket, in place of mode and max_rungs"),
    RGM_INT_FIELD(max_concurrent_trials, 0, RGMI_MOST_TRIALS, "at a time; 0: as the plan has it"),
    RGM_BOOL_FIELD(stop_once, "a trial is stopped or not when it reports, and never goes on later"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(adaptive_asha_options *)options = (adaptive_asha_options){.divisor = 4, .max_rungs = 5};
}

static void share_trials(rgmi_tournament *t, const adaptive_asha_options *o)
{
    double weights = 0;
    int64_t left = o->max_trials;

    for (int64_t i = 0; i < t->count; i++)
        weights += rgmi_power(o->divisor, t->brackets[i].rung_count - 1) /
                   (double)t->brackets[i].rung_count;
    for (int64_t i = 0; i < t->count; i++) {
        rgmi_bracket *b = &t->brackets[i];
        double weight = rgmi_power(o->divisor, b->rung_count - 1) / (double)b->rung_count;
        int64_t trials = (int64_t)((double)o->max_trials * weight / weights);

        b->max_trials = trials > 1 ? trials : 1;
        left -= b->max_trials;
    }
    if (left > 0)
        t->brackets[0].max_trials += left;
}

static void share_concurrency(rgmi_tournament *t, const adaptive_asha_options *o)
{
    int64_t last = t->brackets[t->count - 1].max_trials, least = (int64_t)o->divisor;
    int64_t all = o->max_concurrent_trials > t->count ? o->max_concurrent_trials : t->count;

    for (int64_t i = 0; i < t->count; i++)
        t->brackets[i].concurrent = o->max_concurrent_trials == 0
                                        ? (last > least ? last : least)
                                        : all / t->count + (i < all % t->count);
}

static rgm_status plan(rgmi_tournament *t, const adaptive_asha_options *o)
{
    rgm_status status = RGM_OK;
    int64_t most = o->max_rungs, by_length, by_trials, *rungs = NULL, count;

    by_length = rgmi_log_floor(o->divisor, (double)o->length.units) + 1;
    by_trials = rgmi_log_floor(o->divisor, (double)o->max_trials) + 1;
    most = most < by_length ? most : by_length;
    most = most < by_trials ? most : by_trials;
    RGM_GO(rgmi_bracket_rungs(&rungs, &count, (rgmi_mode)o->mode, most, &o->bracket_rungs));
    RGM_GO(rgmi_tournament_create(t, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgmi_bracket_create(&t->brackets[i], o->stop_once ? RGMI_STOPS : RGMI_PROMOTES,
                                   rungs[i], o->divisor, o->length.units));
    share_trials(t, o);
    share_concurrency(t, o);
done:
    rgm_free(rungs);
    return status;
}

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    adaptive_asha_options *o = options;
    rgmi_mistakes mistakes = {0};

    (void)searcher;
    RGM_GO(rgmi_search_need(&mistakes, o->max_trials, "max_trials", section));
    RGM_GO(rgmi_mistake(&mistakes,
                        rgmi_read_max_length(&o->length, o->max_steps, o->max_length, section)));
    o->max_length = NULL;
    RGM_GO(rgmi_mistakes_tell(&mistakes));
    RGM_GO(plan(state, o));
done:
    rgm_text_clear(&mistakes.lines);
    return status;
}

static rgm_length max_length(const void *options)
{
    return ((const adaptive_asha_options *)options)->length;
}

const rgm_searcher_type rgmi_adaptive_asha_type = {
    .section = {.name = "adaptive_asha",
                .help = "brackets of asynchronous successive halving",
                .options_size = sizeof(adaptive_asha_options),
                .defaults = defaults,
                .fields = fields},
    .state_size = sizeof(rgmi_tournament),
    .prepare = prepare,
    .max_length = max_length,
    RGMI_TOURNAMENT_FUNCTIONS};
