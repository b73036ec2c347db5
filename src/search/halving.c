/*
 * The searchers of successive halving, a row each: async_halving and sync_halving, one synchronous
 * bracket; adaptive and adaptive_simple, brackets of it from few long trials to many short ones, as
 * Hyperband (Li et al. 2018); adaptive_asha, brackets of asynchronous halving. A row says which
 * keys it has and plans its brackets when it is read; from then on all of them are a tournament.
 */
#include "search_internal.h"

#include <math.h>
#include <string.h>

/* What any of the rows asks; each has some of it. */
typedef struct halving_options {
    rgmi_length_options trial; /* of one that reaches the top: max_steps, or target_trial_steps */
    int64_t num_rungs, max_rungs, max_trials, max_concurrent_trials, step_budget, budget;
    int mode, rule;
    double divisor;
    rgm_ints bracket_rungs;
    bool train_stragglers, stop_once;
} halving_options;

/* ---- keys ----------------------------------------------------------------------------------- */

#define RGM_OPTIONS  halving_options
#define LENGTH       "of a trial that reaches the top"
#define NUM_RUNGS    RGM_INT_FIELD(num_rungs, 1, 62, "rungs")
#define TARGET       RGMI_STEPS_FIELD(trial, "target_trial_steps", LENGTH)
#define STEPS        RGMI_STEPS_FIELD(trial, "max_steps", LENGTH)
#define BUDGET(most) RGM_INT_FIELD(step_budget, 1, most, "of all trials together, about")
#define TRIALS(most) RGM_INT_FIELD(max_trials, 1, most, "trials of all brackets")
#define MODE         RGM_CHOICE_FIELD(mode, rgmi_mode_names, "how much is stopped early")
#define DIVISOR                                                                                    \
    RGM_FLOAT_FIELD(divisor, 1 + 0x1p-20, 1e6, "of a rung's trials one in so many goes on")
#define MAX_RUNGS RGM_INT_FIELD(max_rungs, 1, 62, "of the largest bracket")
#define BRACKET_RUNGS                                                                              \
    RGM_INTS_FIELD(bracket_rungs, 1, 62, "rungs of each bracket, in place of mode and max_rungs")
#define STRAGGLERS RGM_BOOL_FIELD(train_stragglers, "taken as PEDL took it: it changes nothing")

static const rgm_field async_fields[] = {NUM_RUNGS, TARGET,     BUDGET(RGM_MAX_LENGTH),
                                         DIVISOR,   STRAGGLERS, {0}};
static const rgm_field sync_fields[] = {
    NUM_RUNGS,
    RGM_INT_FIELD(budget, 1, RGM_MAX_LENGTH, "of all trials together, about, in that unit"),
    DIVISOR,
    RGMI_LENGTH_FIELDS(trial, LENGTH),
    {0}};
static const rgm_field adaptive_fields[] = {TARGET,    BUDGET(50000), MODE,       DIVISOR,
                                            MAX_RUNGS, BRACKET_RUNGS, STRAGGLERS, {0}};
static const rgm_field simple_fields[] = {STEPS, TRIALS(2000), MODE, DIVISOR, MAX_RUNGS, {0}};
static const rgm_field asha_fields[] = {
    TRIALS(RGMI_MOST_TRIALS),
    RGMI_LENGTH_FIELDS(trial, LENGTH),
    MODE,
    DIVISOR,
    MAX_RUNGS,
    BRACKET_RUNGS,
    RGM_INT_FIELD(max_concurrent_trials, 0, RGMI_MOST_TRIALS, "at a time; 0: as the plan has it"),
    RGM_CHOICE_FIELD(
        rule, rgmi_rule_names,
        "who goes on: the best of a rung, at least one; as PEDL 0.12; decided at once"),
    RGM_BOOL_FIELD(stop_once, "Determined's name: true is rule: stop, false is rule: pedl"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(halving_options *)options = (halving_options){.divisor = 4, .max_rungs = 5};
}

/* One bracket: at equal work several of them find less (docs/search.md). */
static void asha_defaults(void *options)
{
    defaults(options);
    ((halving_options *)options)->mode = RGMI_AGGRESSIVE;
}

/* The divisor of its paper, and of its brackets the one that stops most: the others take most of
 * the epochs and find less (docs/search.md). Its points come from a model, so not all begin at
 * once. */
static void bohb_defaults(void *options)
{
    defaults(options);
    ((halving_options *)options)->divisor = 3;
    ((halving_options *)options)->mode = RGMI_AGGRESSIVE;
    ((halving_options *)options)->max_concurrent_trials = 16;
}

/* ---- plans ---------------------------------------------------------------------------------- */

static rgm_status plan_async(rgmi_tournament *t, const halving_options *o)
{
    RGM_TRY(rgmi_tournament_create(t, 1));
    return rgmi_bracket_budgeted(&t->brackets[0], o->num_rungs, o->divisor, o->trial.length.units,
                                 o->step_budget, true);
}

/* Unlike async_halving two rungs may have the same length. */
static rgm_status plan_sync(rgmi_tournament *t, const halving_options *o)
{
    RGM_TRY(rgmi_tournament_create(t, 1));
    return rgmi_bracket_budgeted(&t->brackets[0], o->num_rungs, o->divisor, o->trial.length.units,
                                 o->budget, false);
}

/* Each bracket with an equal share of the budget. */
static rgm_status plan_adaptive(rgmi_tournament *t, const halving_options *o)
{
    rgm_status status = RGM_OK;
    int64_t *rungs = NULL, count, length = o->trial.length.units;

    if (o->step_budget <= length)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG,
                        "'searcher.step_budget' is %lld, but must be above target_trial_steps, "
                        "which is %lld",
                        (long long)o->step_budget, (long long)length));
    RGM_GO(rgmi_bracket_rungs(&rungs, &count, (rgmi_mode)o->mode, o->max_rungs, &o->bracket_rungs));
    RGM_GO(rgmi_tournament_create(t, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgmi_bracket_budgeted(&t->brackets[i], rungs[i], o->divisor, length,
                                     o->step_budget / count, true));
done:
    rgm_free(rungs);
    return status;
}

static rgm_status plan_of_trials(rgmi_bracket *b, int64_t rungs, const halving_options *o,
                                 int64_t trials)
{
    RGM_TRY(rgmi_bracket_create(b, RGMI_SYNCHRONOUS, rungs, o->divisor, o->trial.length.units));
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

/* A number of trials in place of a budget. */
static rgm_status plan_simple(rgmi_tournament *t, const halving_options *o)
{
    rgm_status status = RGM_OK;
    int64_t *rungs = NULL, count;

    RGM_GO(rgmi_bracket_rungs(&rungs, &count, (rgmi_mode)o->mode, o->max_rungs, &o->bracket_rungs));
    RGM_GO(rgmi_tournament_create(t, count));
    for (int64_t i = 0; i < count; i++) {
        int64_t trials = o->max_trials / count + (i < o->max_trials % count);

        RGM_GO(plan_of_trials(&t->brackets[i], rungs[i], o, trials > 1 ? trials : 1));
    }
done:
    rgm_free(rungs);
    return status;
}

/* By the weight divisor^(rungs - 1) / rungs, so that all brackets take about the same time. */
static void share_trials(rgmi_tournament *t, const halving_options *o)
{
    double weights = 0;
    int64_t left = o->max_trials;

    for (int64_t i = 0; i < t->count; i++)
        weights += rgmi_power(o->divisor, t->brackets[i].rung_count - 1) /
                   (double)t->brackets[i].rung_count;
    for (int64_t i = 0; i < t->count; i++) {
        rgmi_bracket *b = &t->brackets[i];
        double weight = rgmi_power(o->divisor, b->rung_count - 1) / (double)b->rung_count;
        int64_t trials = (int64_t)rgmi_floor((double)o->max_trials * weight / weights);

        b->max_trials = trials > 1 ? trials : 1;
        left -= b->max_trials;
    }
    if (left > 0)
        t->brackets[0].max_trials += left;
}

static void share_concurrency(rgmi_tournament *t, const halving_options *o)
{
    int64_t last = rgmi_trials_at_once(0, t->brackets[t->count - 1].max_trials),
            least = (int64_t)o->divisor;
    int64_t all = o->max_concurrent_trials > t->count ? o->max_concurrent_trials : t->count;

    for (int64_t i = 0; i < t->count; i++)
        t->brackets[i].concurrent = o->max_concurrent_trials == 0
                                        ? (last > least ? last : least)
                                        : all / t->count + (i < all % t->count);
}

static rgm_status plan_asha(rgmi_tournament *t, const halving_options *o)
{
    rgm_status status = RGM_OK;
    int64_t most = o->max_rungs, by_length, by_trials, *rungs = NULL, count;

    by_length = rgmi_log_floor(o->divisor, (double)o->trial.length.units) + 1;
    by_trials = rgmi_log_floor(o->divisor, (double)o->max_trials) + 1;
    most = most < by_length ? most : by_length;
    most = most < by_trials ? most : by_trials;
    RGM_GO(rgmi_bracket_rungs(&rungs, &count, (rgmi_mode)o->mode, most, &o->bracket_rungs));
    RGM_GO(rgmi_tournament_create(t, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgmi_bracket_create(&t->brackets[i], (rgmi_bracket_kind)o->rule, rungs[i],
                                   o->divisor, o->trial.length.units));
    share_trials(t, o);
    share_concurrency(t, o);
done:
    rgm_free(rungs);
    return status;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* What a row asks for, and how it plans. */
typedef struct halving_rule {
    const rgm_searcher_type *type;
    const char *needs[4]; /* keys that must be given, ended by NULL */
    bool any_unit;        /* max_length may stand for max_steps     */
    bool in_turns;        /* max_concurrent_trials is a key         */
    rgm_status (*plan)(rgmi_tournament *t, const halving_options *o);
} halving_rule;

static const halving_rule rules[] = {
    {&rgmi_async_halving_type,
     {"num_rungs", "target_trial_steps", "step_budget"},
     false,
     false,
     plan_async},
    {&rgmi_sync_halving_type, {"num_rungs", "budget"}, true, false, plan_sync},
    {&rgmi_adaptive_type, {"target_trial_steps", "step_budget"}, false, false, plan_adaptive},
    {&rgmi_adaptive_simple_type, {"max_steps", "max_trials"}, false, false, plan_simple},
    {&rgmi_adaptive_asha_type, {"max_trials"}, true, true, plan_asha},
    {&rgmi_bohb_type, {"max_trials"}, true, true, plan_asha},
};

/* How many trials of a plan begin together: of several brackets each has some of them. */
static int64_t count_begin(const rgmi_tournament *t)
{
    int64_t begin = 0;

    for (int64_t i = 0; i < t->count; i++) {
        const rgmi_bracket *b = &t->brackets[i];

        begin += b->concurrent < b->max_trials ? b->concurrent : b->max_trials;
    }
    return begin;
}

static int64_t count_trials(const rgmi_tournament *t)
{
    int64_t count = 0;

    for (int64_t i = 0; i < t->count; i++)
        count += t->brackets[i].kind == RGMI_SYNCHRONOUS ? t->brackets[i].rungs[0].start
                                                         : t->brackets[i].max_trials;
    return count;
}

static int64_t value_of(const halving_options *o, const rgm_field *field, const char *key)
{
    while (strcmp(field->name, key) != 0)
        field++;
    return *(const int64_t *)(const void *)((const char *)o + field->offset);
}

/* `stop_once` is another name for two of the rules. */
static rgm_status settle_rule(halving_options *o, const rgm_yaml_node *section)
{
    const rgm_yaml_node *once = rgm_yaml_find(section, "stop_once");

    if (once == NULL)
        return RGM_OK;
    if (rgm_yaml_find(section, "rule") != NULL)
        return rgm_yaml_fail(once, "'searcher.stop_once' and 'searcher.rule' exclude each other: "
                                   "stop_once is rule: stop, or rule: pedl where it is false");
    o->rule = o->stop_once ? RGMI_STOPS : RGMI_PEDL;
    return RGM_OK;
}

/* What a search was by default before `rule` was a key: states of then go on by that. */
static rgm_status plan_as_before(rgmi_tournament *t, const halving_options *o,
                                 const rgm_yaml_node *section)
{
    halving_options old = *o;

    if (rgm_yaml_find(section, "rule") != NULL)
        return RGM_OK;
    if (rgm_yaml_find(section, "mode") == NULL)
        old.mode = RGMI_STANDARD;
    if (rgm_yaml_find(section, "stop_once") == NULL)
        old.rule = RGMI_PEDL;
    RGM_TRY(RGM_NEW(t->before, 1));
    return plan_asha(t->before, &old);
}

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    const halving_rule *rule = rules;
    halving_options *o = options;
    rgmi_mistakes mistakes = {0};
    rgm_status status = RGM_OK;

    while (rule->type != searcher->type)
        rule++;
    for (int i = 0; rule->needs[i] != NULL; i++)
        RGM_GO(rgmi_search_need(&mistakes, value_of(o, rule->type->section.fields, rule->needs[i]),
                                rule->needs[i], section));
    if (rule->any_unit)
        RGM_GO(rgmi_mistake(&mistakes, rgmi_length_options_read(&o->trial, section)));
    else
        o->trial.length.units = o->trial.max_steps;
    RGM_GO(rgmi_mistake(&mistakes, settle_rule(o, section)));
    if (!rule->in_turns)
        RGM_GO(rgmi_search_need_blind(&mistakes, searcher, section));
    RGM_GO(rgmi_mistakes_tell(&mistakes));
    RGM_GO(rgm_yaml_place(rule->plan(state, o), section));
    searcher->most_points = count_trials(state);
    if (rule->in_turns)
        RGM_GO(rgmi_search_need_turns(&mistakes, searcher, count_begin(state), o->max_trials,
                                      section));
    RGM_GO(rgmi_mistakes_tell(&mistakes));
    if (rule->type == &rgmi_adaptive_asha_type)
        RGM_GO(plan_as_before(state, o, section));
done:
    rgm_text_clear(&mistakes.lines);
    return status;
}

static const char *const asha_live_keys[] = {"max_trials", "max_concurrent_trials", "bracket_rungs",
                                             NULL};
static const rgm_searcher_live asha_live = {.keys = asha_live_keys,
                                            .extend = rgmi_tournament_extend,
                                            .left = rgmi_tournament_left,
                                            .print_plan = rgmi_tournament_print_plan};

/* All of them go as tournaments. */
#define HALVING(key, text, values, table, changes, points)                                         \
    {                                                                                              \
        .section = {.name = (key),                                                                 \
                    .help = (text),                                                                \
                    .options_size = sizeof(halving_options),                                       \
                    .defaults = (values),                                                          \
                    .fields = (table)},                                                            \
        .state_size = sizeof(rgmi_tournament), .stops_early = true, .sampler = (points),           \
        .prepare = prepare, .max_length = rgmi_length_of, .begin = rgmi_tournament_begin,          \
        .validated = rgmi_tournament_validated, .exited = rgmi_tournament_exited,                  \
        .closed = rgmi_tournament_closed, .progress = rgmi_tournament_progress,                    \
        .describe = rgmi_tournament_describe, .archive = rgmi_tournament_archive,                  \
        .clear = rgmi_tournament_clear, .live = (changes)                                          \
    }

/* PEDL's first form; its name says that trials of a rung need not report together. */
const rgm_searcher_type rgmi_async_halving_type =
    HALVING("async_halving", "one bracket of successive halving, with a budget of steps", defaults,
            async_fields, NULL, NULL);
const rgm_searcher_type rgmi_sync_halving_type =
    HALVING("sync_halving", "one bracket of successive halving, with a budget in any unit",
            defaults, sync_fields, NULL, NULL);
const rgm_searcher_type rgmi_adaptive_type =
    HALVING("adaptive", "brackets of successive halving, with a budget of steps", defaults,
            adaptive_fields, NULL, NULL);
const rgm_searcher_type rgmi_adaptive_simple_type =
    HALVING("adaptive_simple", "brackets of successive halving, with a number of trials", defaults,
            simple_fields, NULL, NULL);
const rgm_searcher_type rgmi_adaptive_asha_type =
    HALVING("adaptive_asha", "brackets of asynchronous successive halving", asha_defaults,
            asha_fields, &asha_live, NULL);
/* Falkner, Klein, Hutter 2018. Several brackets go side by side; in the paper they follow each
 * other. */
const rgm_searcher_type rgmi_bohb_type =
    HALVING("bohb", "asynchronous halving, with points from a model of each length (BOHB)",
            bohb_defaults, asha_fields, &asha_live, "tpe");
