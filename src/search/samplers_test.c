/*
 * Samplers that learn inside searches: what they draw keeps conditions and constraints, avoids what
 * fails, is the same again from a saved state, and goes with several objectives, lengths and trials
 * at once.
 */
#include "samplers_check.h"

#include "samplers_internal.h"

static const char *const names[] = {
    "tpe", "{type: tpe, multivariate: false}", "gp", "{type: tpe, start: sobol}",
    "{type: bohb, random_fraction: 0.1}", "{type: nsga2, population: 12}",
    /* one metric, and numbers to adapt: */
    "cma", "{type: cma, startup_trials: 6, population: 6, sigma: 0.3}"};
enum { NAMES = sizeof names / sizeof *names, SEVERAL_METRICS = NAMES - 2 };

/* ---- a searcher by hand -------------------------------------------------------------------- */

static const char mixed_space[] = "kind: {type: categorical, vals: [gcn, gat]}\n"
                                  "layers: {type: int, minval: 1, maxval: 6}\n"
                                  "rate: {type: log, base: 10, minval: -5, maxval: 0}\n"
                                  "same: {type: categorical, vals: [one]}\n"
                                  "x1: " UNIT_DOUBLE ", when: kind == gat}\n"
                                  "x2: " UNIT_DOUBLE ", when: x1 < 0.5}\n"
                                  "y: 7\n";

static rgm_searcher *searcher_of(const char *space_text, const char *constraints,
                                 const char *searcher_keys, const char *sampler)
{
    rgm_space *space = space_of(space_text, constraints);
    rgm_searcher *searcher;
    char section[400];

    snprintf(section, sizeof section, "{%s, sampler: %s}", searcher_keys, sampler);
    CHECK_OK(read_searcher(&searcher, section, space, 3));
    rgm_space_release(space);
    return searcher;
}

typedef rgm_search_event_kind metric_of(double *metrics, const rgm_hyper_value *values,
                                        int64_t length);

/* Answer the next operation; false: there is none. */
static bool answer(rgm_searcher *s, metric_of *metric, rgm_operation *o)
{
    double metrics[RGM_MAX_OBJECTIVES] = {0};
    rgm_search_event event = {.metrics = metrics};

    if (!rgm_searcher_next(o, s))
        return false;
    event.trial = o->trial;
    event.length = o->length;
    if (o->kind == RGM_ASK_VALIDATE) {
        event.kind = metric(metrics, rgm_searcher_trial(s, o->trial)->values, o->length);
        CHECK_OK(rgm_searcher_tell(s, &event));
    } else if (o->kind == RGM_ASK_CLOSE) {
        event.kind = RGM_CLOSED;
        CHECK_OK(rgm_searcher_tell(s, &event));
    }
    return true;
}

static void run(rgm_searcher *s, metric_of *metric)
{
    rgm_operation o;

    CHECK_OK(rgm_searcher_begin(s));
    while (answer(s, metric, &o))
        ;
    CHECK(rgm_searcher_is_over(s));
}

static const rgm_hyper_value *values_of(const rgm_searcher *s, int64_t trial, const char *name)
{
    return rgm_searcher_trial(s, trial)->values + rgm_space_find(rgm_searcher_space(s), name);
}

static rgm_search_event_kind some_metric(double *metrics, const rgm_hyper_value *v, int64_t length)
{
    double rate = log10(v[2].number) + 3;

    metrics[0] = rate * rate + (double)v[1].integer / (double)length;
    metrics[0] += v[0].choice == 1 ? v[4].number - 0.3 : 0;
    metrics[1] = fabs((double)v[1].integer - 4) + v[2].number;
    return RGM_VALIDATED;
}

/* ---- what is drawn ------------------------------------------------------------------------- */

static void check_mixed(const rgm_searcher *s, int64_t trial)
{
    const rgm_hyper_value *kind = values_of(s, trial, "kind"), *x1 = values_of(s, trial, "x1");
    const rgm_hyper_value *x2 = values_of(s, trial, "x2");
    int64_t layers = values_of(s, trial, "layers")->integer;
    double rate = values_of(s, trial, "rate")->number;

    CHECK(kind->is_set && (kind->choice == 0 || kind->choice == 1));
    CHECK(layers >= 1 && layers <= 6 && rate >= 1e-5 && rate < 1);
    CHECK(values_of(s, trial, "same")->is_set && values_of(s, trial, "same")->choice == 0);
    CHECK(values_of(s, trial, "y")->is_set);
    CHECK(x1->is_set == (kind->choice == 1));
    CHECK(x2->is_set == (x1->is_set && x1->number < 0.5));
    CHECK(!x1->is_set || (x1->number >= 0 && x1->number < 1));
    CHECK(!x2->is_set || (x2->number >= 0 && x2->number < 1));
    CHECK(rgm_space_holds(rgm_searcher_space(s), rgm_searcher_trial(s, trial)->values, NULL));
}

static void conditions_and_constraints_hold_for_every_trial(void **state)
{
    static const char *const rules[] = {NULL, "- layers >= 3\n- rate < x1\n",
                                        "- layers == 5\n- x2 < x1\n"};

    (void)state;
    for (int i = 0; i < NAMES; i++) {
        for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
            rgm_searcher *s = searcher_of(mixed_space, rules[k],
                                          "name: random, metric: loss, max_trials: 50, "
                                          "max_steps: 1, max_concurrent_trials: 1",
                                          names[i]);
            run(s, some_metric);
            CHECK_INT(50, rgm_searcher_trial_count(s));
            for (int64_t t = 1; t <= 50; t++)
                check_mixed(s, t);
            rgm_searcher_release(s);
        }
    }
}

static rgm_search_event_kind fails_above_half(double *metrics, const rgm_hyper_value *v,
                                              int64_t length)
{
    static const double none[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    double x = v[0].number;

    (void)length;
    metrics[0] = x > 0.5 ? none[(int)(x * 1000) % 3] : x;
    return x > 0.9 ? RGM_EXITED : x > 0.8 ? RGM_INVALID : RGM_VALIDATED;
}

/* The larger the worse, and above the middle nothing that can be compared. */
static void what_fails_is_avoided(void **state)
{
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        rgm_searcher *s = searcher_of("a: " UNIT_DOUBLE "}\nb: " UNIT_DOUBLE "}\n", NULL,
                                      "name: random, metric: loss, max_trials: 60, max_steps: 1, "
                                      "max_concurrent_trials: 1",
                                      names[i]);
        int64_t low = 0, count;
        run(s, fails_above_half);
        count = rgm_searcher_trial_count(s);
        for (int64_t t = count - 29; t <= count; t++)
            low += values_of(s, t, "a")->number < 0.3;
        CHECK(low >= 20);
        rgm_searcher_release(s);
    }
}

static rgm_search_event_kind all_fail(double *metrics, const rgm_hyper_value *v, int64_t length)
{
    (void)v;
    (void)length;
    metrics[0] = (double)NAN;
    return RGM_VALIDATED;
}

static rgm_search_event_kind all_same(double *metrics, const rgm_hyper_value *v, int64_t length)
{
    (void)v;
    (void)length;
    metrics[0] = 1e300;
    return RGM_VALIDATED;
}

static rgm_search_event_kind huge(double *metrics, const rgm_hyper_value *v, int64_t length)
{
    (void)length;
    metrics[0] = v[1].integer % 2 ? 1.7e308 : -1.7e308;
    return RGM_VALIDATED;
}

static void metrics_that_say_nothing_do_no_harm(void **state)
{
    metric_of *const metrics[] = {all_fail, all_same, huge};

    (void)state;
    for (int i = 0; i < NAMES; i++) {
        for (size_t k = 0; k < sizeof metrics / sizeof *metrics; k++) {
            rgm_searcher *s = searcher_of(mixed_space, NULL,
                                          "name: random, metric: loss, max_trials: 30, "
                                          "max_steps: 1, max_concurrent_trials: 2",
                                          names[i]);
            run(s, metrics[k]);
            for (int64_t t = 1; t <= 30; t++)
                check_mixed(s, t);
            rgm_searcher_release(s);
        }
    }
}

static void a_space_where_nothing_varies_is_drawn_from(void **state)
{
    (void)state;
    for (int i = 0; i < SEVERAL_METRICS; i++) {
        rgm_searcher *s = searcher_of("a: 3\nb: {type: categorical, vals: [x]}\n"
                                      "c: {type: log, base: 1, minval: -5, maxval: 0}\n",
                                      NULL,
                                      "name: random, metric: loss, max_trials: 15, max_steps: 1, "
                                      "max_concurrent_trials: 1",
                                      names[i]);
        run(s, all_same);
        for (int64_t t = 1; t <= 15; t++)
            CHECK(values_of(s, t, "b")->is_set && values_of(s, t, "c")->number == 1);
        rgm_searcher_release(s);
    }
}

static rgm_search_event_kind bowl(double *metrics, const rgm_hyper_value *v, int64_t length)
{
    double x = v[0].number - 0.6, y = v[1].number - 0.3;

    (void)length;
    metrics[0] = x * x + y * y;
    return RGM_VALIDATED;
}

/* Trials that all begin before any is done: each looks elsewhere, not all at the one best place. By
 * then bohb, whose kernels shrink with the spread of the best, draws within a hundredth of it. */
static void trials_at_once_do_not_crowd(void **state)
{
    (void)state;
    for (int i = 0; i < NAMES; i++) {
        rgm_searcher *s = searcher_of("a: " UNIT_DOUBLE "}\nb: " UNIT_DOUBLE "}\n", NULL,
                                      "name: random, metric: loss, max_trials: 64, max_steps: 1, "
                                      "max_concurrent_trials: 16",
                                      names[i]);
        int64_t near = 0;
        run(s, bowl);
        for (int64_t t = 50; t <= 64; t++) {
            for (int64_t u = 49; u < t; u++) {
                double a = values_of(s, t, "a")->number - values_of(s, u, "a")->number;
                double b = values_of(s, t, "b")->number - values_of(s, u, "b")->number;
                near += hypot(a, b) < 1e-3;
            }
        }
        CHECK(near <= 3 || strstr(names[i], "bohb") != NULL);
        rgm_searcher_release(s);
    }
}

/* ---- several objectives, several lengths --------------------------------------------------- */

static rgm_search_event_kind two_aims(double *metrics, const rgm_hyper_value *v, int64_t length)
{
    double x = v[0].number, y = v[1].number;

    (void)length;
    metrics[0] = (x - 0.2) * (x - 0.2) + y * y;
    metrics[1] = -((x - 0.6) * (x - 0.6) + y * y); /* larger is better */
    return RGM_VALIDATED;
}

/* Nothing is better in both than y = 0 with x from 0.2 to 0.6: models find that strip, along all of
 * its length, where random draws fall by chance, 3 of 100. */
static void several_objectives_are_searched_between(void **state)
{
    (void)state;
    for (int i = 0; i < SEVERAL_METRICS; i++) {
        rgm_searcher *s = searcher_of("a: " UNIT_DOUBLE "}\nb: " UNIT_DOUBLE "}\n", NULL,
                                      "name: random, metric: [cost, gain], smaller_is_better: "
                                      "[true, false], max_trials: 100, max_steps: 1, "
                                      "max_concurrent_trials: 1",
                                      names[i]);
        int64_t strip = 0, left = 0;
        run(s, two_aims);
        for (int64_t t = 1; t <= 100; t++) {
            double a = values_of(s, t, "a")->number, b = values_of(s, t, "b")->number;
            bool inside = b < 0.1 && a > 0.15 && a < 0.65;
            strip += inside;
            left += inside && a < 0.4;
        }
        CHECK(strip >= 20 && left >= 5 && strip - left >= 5);
        rgm_searcher_release(s);
    }
}

static void halving_goes_with_models(void **state)
{
    static const char *const searchers[] = {
        "name: median, metric: loss, max_trials: 60, max_length: {batches: 16}, interval: 4, "
        "max_concurrent_trials: 4",
        "name: adaptive_asha, metric: loss, max_trials: 60, max_length: {batches: 16}, "
        "max_rungs: 3, divisor: 4, max_concurrent_trials: 4"};

    (void)state;
    for (int i = 0; i < NAMES; i++) {
        for (size_t k = 0; k < sizeof searchers / sizeof *searchers; k++) {
            rgm_searcher *s = searcher_of(mixed_space, NULL, searchers[k], names[i]);
            int64_t good = 0, count;
            run(s, some_metric);
            count = rgm_searcher_trial_count(s);
            CHECK_INT(60, count);
            for (int64_t t = 1; t <= count; t++) {
                double rate = log10(values_of(s, t, "rate")->number);
                check_mixed(s, t);
                good += rate > -4 && rate < -2;
            }
            CHECK(good >= 36); /* of random ones 24, give or take 4 */
            rgm_searcher_release(s);
        }
    }
}

/* The level is the longest length that enough reached; of shorter ones the longer is the better,
 * whatever their keys say; bad ones come last. */
static void trials_are_ranked_by_length_then_key(void **state)
{
    double keys[] = {0.5, 0.1, 0.9, 0.3, (double)INFINITY, 0.2};
    int64_t lengths[] = {4, 1, 16, 4, 16, 1}, order[6], level;
    bool bad[] = {false, false, false, false, true, false};
    const rgmi_history h = {
        .count = 6, .objectives = 1, .keys = keys, .lengths = lengths, .bad = bad};
    const int64_t want[] = {3, 0, 2, 1, 5, 4};

    (void)state;
    CHECK_OK(rgmi_history_level(&level, &h, 3));
    CHECK_INT(4, level);
    CHECK_OK(rgmi_history_rank(order, &h, level, 6));
    for (int i = 0; i < 6; i++)
        CHECK_INT(want[i], order[i]);
    CHECK_OK(rgmi_history_level(&level, &h, 1));
    CHECK_INT(16, level);
    CHECK_OK(rgmi_history_level(&level, &h, 100));
    CHECK_INT(1, level);
}

/* Fronts in order, within a front the ends and then the loneliest. */
static void several_objectives_are_ranked_by_fronts(void **state)
{
    double keys[] = {3, 3, 0, 4, 1, 2, 1.1, 1.9, 4, 0, 5, 5, 2, 1};
    int64_t lengths[] = {1, 1, 1, 1, 1, 1, 1}, order[7];
    bool bad[7] = {false};
    const rgmi_history h = {
        .count = 7, .objectives = 2, .keys = keys, .lengths = lengths, .bad = bad};

    (void)state;
    CHECK_OK(rgmi_history_rank(order, &h, 1, 7));
    CHECK(order[0] == 1 && order[1] == 4); /* the ends of the first front, 1 2 3 4 6 of trials */
    CHECK(order[2] == 6 && order[3] == 2 && order[4] == 3);
    CHECK(order[5] == 0 && order[6] == 5);
}

/* ---- the same again ------------------------------------------------------------------------ */

static bool same_operation(const rgm_operation *a, const rgm_operation *b, int64_t count)
{
    if (a->kind != b->kind || a->trial != b->trial || a->length != b->length || a->seed != b->seed)
        return false;
    for (int64_t i = 0; a->kind == RGM_ASK_CREATE && i < count; i++)
        if (a->values[i].is_set != b->values[i].is_set ||
            a->values[i].choice != b->values[i].choice ||
            a->values[i].integer != b->values[i].integer ||
            memcmp(&a->values[i].number, &b->values[i].number, sizeof(double)) != 0)
            return false;
    return true;
}

/* Saved when nothing is left to give and restored into another, every few trials: both go on with
 * the same operations to the last bit. */
static void a_restored_search_draws_the_same(void **state)
{
    static const char keys[] = "name: adaptive_asha, metric: loss, max_trials: 40, max_length: "
                               "{batches: 16}, max_rungs: 3, divisor: 4, max_concurrent_trials: 3";

    (void)state;
    for (int i = 0; i < NAMES; i++) {
        rgm_searcher *a = searcher_of(mixed_space, NULL, keys, names[i]);
        rgm_searcher *b = searcher_of(mixed_space, NULL, keys, names[i]);
        rgm_operation of_a, of_b;
        int64_t count = rgm_space_count(rgm_searcher_space(a)), step = 0;
        CHECK_OK(rgm_searcher_begin(a));
        CHECK_OK(rgm_searcher_begin(b));
        for (;; step++) {
            bool more = answer(a, some_metric, &of_a);
            CHECK(more == answer(b, some_metric, &of_b));
            if (!more)
                break;
            CHECK(same_operation(&of_a, &of_b, count));
            if (step % 23 == 22) {
                rgm_text saved = {0};
                CHECK_OK(rgm_searcher_save(&saved, b));
                rgm_searcher_release(b);
                b = searcher_of(mixed_space, NULL, keys, names[i]);
                CHECK_OK(rgm_searcher_restore(b, saved.data, saved.size));
                rgm_text_clear(&saved);
            }
        }
        CHECK(rgm_searcher_is_over(a) && rgm_searcher_is_over(b) && step > 100);
        rgm_searcher_release(a);
        rgm_searcher_release(b);
    }
}

/* ---- cma ----------------------------------------------------------------------------------- */

/* Results that come in any order, of eight trials at once, in which points are of older
 * distributions: the minimum is found all the same. */
static void cma_learns_from_trials_at_once(void **state)
{
    rgm_searcher *s = searcher_of("a: " UNIT_DOUBLE "}\nb: " UNIT_DOUBLE "}\n", NULL,
                                  "name: random, metric: loss, max_trials: 240, max_steps: 1, "
                                  "max_concurrent_trials: 8",
                                  "cma");
    rgm_operation waiting[64], o;
    rgm_mt19937 order;
    int64_t count = 0;
    double best = 1;

    (void)state;
    rgm_mt19937_seed(&order, 1);
    CHECK_OK(rgm_searcher_begin(s));
    for (;;) {
        rgm_search_event event = {.kind = RGM_CLOSED};
        double metrics[1];
        while (rgm_searcher_next(&o, s))
            if (o.kind == RGM_ASK_VALIDATE || o.kind == RGM_ASK_CLOSE)
                waiting[count++] = o;
        if (count == 0)
            break;
        int64_t at = (int64_t)rgm_mt19937_bounded(&order, (uint64_t)count - 1);
        o = waiting[at];
        waiting[at] = waiting[--count];
        if (o.kind == RGM_ASK_VALIDATE) {
            event.kind = bowl(metrics, rgm_searcher_trial(s, o.trial)->values, 1);
            event.metrics = metrics;
            best = metrics[0] < best ? metrics[0] : best;
        }
        event.trial = o.trial;
        event.length = o.length;
        CHECK_OK(rgm_searcher_tell(s, &event));
    }
    CHECK(rgm_searcher_is_over(s) && best < 1e-6);
    rgm_searcher_release(s);
}

static rgm_search_event_kind slope(double *metrics, const rgm_hyper_value *v, int64_t length)
{
    (void)length;
    metrics[0] = fabs(v[0].number - 0.7);
    return RGM_VALIDATED;
}

/* Once it has found a minimum to nine digits it begins somewhere else. */
static void cma_begins_anew_where_nothing_spreads_any_more(void **state)
{
    rgm_searcher *s = searcher_of("a: " UNIT_DOUBLE "}\n", NULL,
                                  "name: random, metric: loss, max_trials: 400, max_steps: 1, "
                                  "max_concurrent_trials: 1",
                                  "cma");
    int64_t found = 0, far = 0;

    (void)state;
    run(s, slope);
    for (int64_t t = 1; t <= 400; t++) {
        double off = fabs(values_of(s, t, "a")->number - 0.7);
        if (found == 0 && off < 1e-8)
            found = t;
        far += found > 0 && off > 0.05;
    }
    CHECK(found > 0 && found < 300 && far > 3);
    rgm_searcher_release(s);
}

static rgm_search_event_kind by_steps(double *metrics, const rgm_hyper_value *v, int64_t length)
{
    double x = v[2].number - 0.4;

    (void)length;
    metrics[0] = fabs((double)v[0].integer - 17) + fabs((double)v[1].integer - 2) + x * x;
    return RGM_VALIDATED;
}

/* Integers of 40, of 3, and a real number. */
static void cma_finds_integers(void **state)
{
    rgm_searcher *s = searcher_of("a: {type: int, minval: 1, maxval: 40}\n"
                                  "b: {type: int, minval: 1, maxval: 3}\nc: " UNIT_DOUBLE "}\n",
                                  NULL,
                                  "name: random, metric: loss, max_trials: 200, max_steps: 1, "
                                  "max_concurrent_trials: 1",
                                  "cma");
    double best = 100;

    (void)state;
    run(s, by_steps);
    for (int64_t t = 1; t <= 200; t++)
        best = fmin(best, rgm_searcher_trial(s, t)->best_key);
    CHECK(best < 0.01);
    rgm_searcher_release(s);
}

/* ---- options and memory -------------------------------------------------------------------- */

static void options_are_checked(void **state)
{
    static const struct {
        const char *sampler, *told;
    } cases[] = {{"{type: tpe, gamma: -0.1}", "gamma"},
                 {"{type: tpe, gamma: 1.5}", "gamma"},
                 {"{type: tpe, gamma: nan}", "gamma"},
                 {"{type: tpe, prior_weight: -1}", "prior_weight"},
                 {"{type: tpe, candidates: 0}", "candidates"},
                 {"{type: tpe, startup_trials: -3}", "startup_trials"},
                 {"{type: tpe, multivariate: perhaps}", "multivariate"},
                 {"{type: tpe, candidate: 4}", "candidates"},
                 {"{type: gp, most_trials: 7}", "most_trials"},
                 {"{type: gp, most_trials: 1000000}", "most_trials"},
                 {"{type: gp, gamma: 0.1}", "gamma"},
                 {"{type: cma, population: 1}", "population"},
                 {"{type: cma, sigma: 0}", "sigma"},
                 {"{type: nsga2, population: 1}", "population"},
                 {"{type: bohb, random_fraction: 2}", "random_fraction"},
                 {"{type: sobol, scramble: perhaps}", "scramble"},
                 {"{type: tpe, start: halton}", "start"},
                 {"gpe", "gp"}};
    rgm_space *space = space_of(mixed_space, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_searcher *s;
        char section[300];
        snprintf(section, sizeof section,
                 "{name: random, metric: loss, max_trials: 3, max_steps: 1, "
                 "max_concurrent_trials: 1, sampler: %s}",
                 cases[i].sampler);
        CHECK_STATUS(RGM_ERR_CONFIG, read_searcher(&s, section, space, 1));
        CHECK_MESSAGE(cases[i].told);
    }
    rgm_space_release(space);
}

/* What each searcher creates before one of its trials is over; told NULL: it is taken. */
static void a_sampler_that_learns_has_results_to_learn_from(void **state)
{
    static const char turns[] = "give 'max_concurrent_trials'", never[] = "take sampler random or";
    static const struct {
        const char *keys, *told;
    } cases[] = {
        {"name: random, max_trials: 3, max_steps: 1, sampler: tpe", turns},
        {"name: adaptive_asha, max_trials: 64, max_steps: 40, sampler: tpe", turns},
        {"name: adaptive_asha, max_trials: 64, max_steps: 40, sampler: gp, bracket_rungs: [3, 3]",
         turns},
        {"name: median, max_trials: 20, max_steps: 9, max_concurrent_trials: 0, sampler: gp",
         turns},
        {"name: median, max_trials: 16, max_steps: 9, sampler: nsga2", turns},
        {"name: bohb, max_trials: 12, max_steps: 27", turns},
        {"name: sync_halving, num_rungs: 3, max_steps: 90, budget: 400, sampler: tpe", never},
        {"name: async_halving, num_rungs: 4, target_trial_steps: 800, step_budget: 480, "
         "sampler: tpe",
         never},
        {"name: adaptive, target_trial_steps: 16, step_budget: 160, sampler: cma", never},
        {"name: adaptive_simple, max_steps: 32, max_trials: 14, sampler: bohb", never},
        {"name: pbt, population_size: 5, num_rounds: 4, steps_per_round: 3, sampler: tpe", never},
        {"name: pbt, population_size: 5, num_rounds: 4, steps_per_round: 3, sampler: sobol", NULL},
        {"name: sync_halving, num_rungs: 3, max_steps: 90, budget: 400, sampler: tpe, "
         "source_experiment: 1",
         NULL},
        {"name: adaptive_asha, max_trials: 64, max_steps: 64, mode: standard, sampler: tpe", NULL},
        {"name: adaptive_asha, max_trials: 64, max_steps: 40, max_concurrent_trials: 64, "
         "sampler: tpe",
         NULL},
        {"name: median, max_trials: 20, max_steps: 9, sampler: tpe", NULL},
        {"name: single, max_steps: 1, sampler: tpe", NULL},
        {"name: bohb, max_trials: 64, max_steps: 27", NULL}};
    rgm_space *space = space_of(mixed_space, NULL);
    rgm_searcher *s = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char section[300];
        snprintf(section, sizeof section, "{metric: loss, %s}", cases[i].keys);
        rgm_searcher_release(s);
        CHECK_STATUS(cases[i].told != NULL ? RGM_ERR_CONFIG : RGM_OK,
                     read_searcher(&s, section, space, 1));
        if (cases[i].told != NULL)
            CHECK_MESSAGE(cases[i].told);
    }
    CHECK_OK(rgm_searcher_begin(s)); /* bohb */
    CHECK_INT(16, rgm_searcher_trial_count(s));
    rgm_searcher_release(s);
    rgm_space_release(space);
}

static void extreme_options_draw_all_the_same(void **state)
{
    static const char *const samplers[] = {
        "{type: tpe, startup_trials: 1, candidates: 1, gamma: 1, most_best: 1, prior_weight: 1e-6}",
        "{type: tpe, startup_trials: 1, gamma: 1e-300, prior_weight: 1e6, constant_liar: false}",
        "{type: gp, startup_trials: 1, candidates: 1, most_trials: 8}"};

    (void)state;
    for (size_t i = 0; i < sizeof samplers / sizeof *samplers; i++) {
        rgm_searcher *s = searcher_of(mixed_space, "- layers >= 2\n",
                                      "name: random, metric: loss, max_trials: 40, max_steps: 1, "
                                      "max_concurrent_trials: 3",
                                      samplers[i]);
        run(s, some_metric);
        for (int64_t t = 1; t <= 40; t++)
            check_mixed(s, t);
        rgm_searcher_release(s);
    }
}

static const rgm_sampler_type *row;
static void *row_options;
static rgm_searcher *row_searcher;

static rgm_status draw_once(void)
{
    rgm_hyper_value values[7];
    rgm_mt19937 random;

    rgm_mt19937_seed(&random, 1);
    return row->draw(values, row_searcher, row_options, &random);
}

static void every_failing_allocation_of_a_draw_is_told(void **state)
{
    (void)state;
    row_searcher = searcher_of(mixed_space, NULL,
                               "name: random, metric: [loss, cost], max_trials: 20, max_steps: 1, "
                               "max_concurrent_trials: 4",
                               "random");
    CHECK_OK(rgm_searcher_begin(row_searcher));
    for (rgm_operation o; rgm_searcher_trial_count(row_searcher) < 18;)
        CHECK(answer(row_searcher, some_metric, &o));
    for (int i = 0; rgm_sampler_types[i] != NULL; i++) {
        row = rgm_sampler_types[i];
        row_options = calloc(1, row->section.options_size + 1);
        if (row->section.defaults != NULL)
            row->section.defaults(row_options);
        CHECK_EVERY_OOM(draw_once(), (void)0);
        free(row_options);
    }
    rgm_searcher_release(row_searcher);
}

TESTS(cmocka_unit_test(conditions_and_constraints_hold_for_every_trial),
      cmocka_unit_test(what_fails_is_avoided),
      cmocka_unit_test(metrics_that_say_nothing_do_no_harm),
      cmocka_unit_test(a_space_where_nothing_varies_is_drawn_from),
      cmocka_unit_test(trials_at_once_do_not_crowd),
      cmocka_unit_test(several_objectives_are_searched_between),
      cmocka_unit_test(halving_goes_with_models),
      cmocka_unit_test(trials_are_ranked_by_length_then_key),
      cmocka_unit_test(several_objectives_are_ranked_by_fronts),
      cmocka_unit_test(a_restored_search_draws_the_same),
      cmocka_unit_test(cma_learns_from_trials_at_once),
      cmocka_unit_test(cma_begins_anew_where_nothing_spreads_any_more),
      cmocka_unit_test(cma_finds_integers), cmocka_unit_test(options_are_checked),
      cmocka_unit_test(a_sampler_that_learns_has_results_to_learn_from),
      cmocka_unit_test(extreme_options_draw_all_the_same),
      cmocka_unit_test(every_failing_allocation_of_a_draw_is_told))
