/*
 * `metrics` with bounds: how it is read, what a broken bound does to fronts, ranks, halving and
 * samplers; and nsga2, which such searches are for.
 */
#include "samplers_check.h"

#include "samplers_internal.h"

/* ---- the section --------------------------------------------------------------------------- */

static const char two[] = "a: " UNIT_DOUBLE "}\nb: " UNIT_DOUBLE "}\n";

static rgm_status read_two(rgm_searcher **out, const char *keys)
{
    rgm_space *space = space_of(two, NULL);
    rgm_status status;
    char section[600];

    snprintf(section, sizeof section, "{name: random, max_steps: 1, %s}", keys);
    status = read_searcher(out, section, space, 3);
    rgm_space_release(space);
    return status;
}

static void bounds_stand_behind_what_is_aimed_at(void **state)
{
    static const double kept[] = {5, -2, 100, 0.5}, broken[] = {5, -2, 130, 0.25};
    static const double none[] = {5, -2, NAN, 0.5};
    const rgm_objective *o;
    rgm_searcher *s;

    (void)state;
    CHECK_OK(read_two(&s, "max_trials: 3, metrics: [{name: bytes, at_most: 100}, {name: loss}, "
                          "{name: share, at_least: 0.5}, {name: gain, smaller_is_better: false}]"));
    CHECK_INT(4, rgm_searcher_objectives(&o, s));
    CHECK_INT(2, rgm_searcher_aims(s));
    CHECK_TEXT("loss", o[0].metric);
    CHECK(o[0].smaller_is_better && !o[0].is_bound);
    CHECK_TEXT("gain", o[1].metric);
    CHECK(!o[1].smaller_is_better && !o[1].is_bound);
    CHECK_TEXT("bytes", o[2].metric);
    CHECK(o[2].is_bound && o[2].smaller_is_better && o[2].bound == 100);
    CHECK_TEXT("share", o[3].metric);
    CHECK(o[3].is_bound && !o[3].smaller_is_better && o[3].bound == 0.5);
    CHECK(rgm_objectives_broken(o, 4, kept) == 0);
    CHECK(rgm_objectives_broken(o, 4, broken) == 30.25);
    CHECK(rgm_objectives_broken(o, 4, none) == INFINITY);
    CHECK_OK(rgm_searcher_begin(s));
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, 1, 1, broken}));
    CHECK(rgm_searcher_trial(s, 1)->keys[1] == 2 && rgm_searcher_trial(s, 1)->keys[2] == 30 &&
          rgm_searcher_trial(s, 1)->keys[3] == 0.25);
    CHECK(rgm_search_key(s, 1) > 1e300 && rgm_search_key(s, 1) < 2e300);
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, 2, 1, kept}));
    CHECK(rgm_search_key(s, 2) == 5);
    CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, 3, 1, none}));
    CHECK(rgm_search_key(s, 3) == INFINITY);
    rgm_searcher_release(s);
}

static void mistakes_of_metrics_are_told(void **state)
{
    static const struct {
        const char *keys, *told;
    } cases[] = {
        {"metrics: [{name: a}], metric: b", "leave these out"},
        {"metrics: [{name: a}], smaller_is_better: true", "leave these out"},
        {"metrics: {name: a}", "list of 1 to 8 maps"},
        {"metrics: []", "list of 1 to 8 maps"},
        {"metrics: [a, b]", "list of maps"},
        {"metrics: [{at_most: 3}]", "without 'name'"},
        {"metrics: [{name: a, at_mots: 3}]", "at_most"},
        {"metrics: [{name: a}, {name: a}]", "'a' twice"},
        {"metrics: [{name: a}, {name: b, at_most: 3}, {name: b, at_most: 4}]", "'b' twice"},
        {"metrics: [{name: a, at_most: 3}]", "bounds alone"},
        {"metrics: [{name: a}, {name: b, at_most: nan}]", "at_most"},
        {"metrics: [{name: a}, {name: b, at_most: 3, at_least: 2}]", "twice, once with"},
        {"metrics: [{name: a}, {name: b, at_most: 3, smaller_is_better: true}]", "bound"},
        {"metrics: [{name: a, smaller_is_better: perhaps}]", "perhaps"},
        {"metrics: [{name: a}, {name: b}], max_concurrent_trials: 1, sampler: cma",
         "one metric, and there are 2"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_searcher *s;
        char keys[500];
        snprintf(keys, sizeof keys, "max_trials: 3, %s", cases[i].keys);
        CHECK_STATUS(RGM_ERR_CONFIG, read_two(&s, keys));
        CHECK_MESSAGE(cases[i].told);
    }
}

/* ---- fronts and ranks ---------------------------------------------------------------------- */

/* Trials 2 and 4 would beat all others; a bound keeps them off. */
static void the_front_keeps_the_bounds(void **state)
{
    static const double metrics[][3] = {{3, 1, 0}, {0, 0, 0.1}, {1, 3, -5},
                                        {0, 0, 7}, {2, 2, 0},   {3, 3, 0}};
    static const int64_t want[] = {1, 3, 5};
    rgm_searcher *s;
    int64_t *front, count;

    (void)state;
    CHECK_OK(read_two(&s, "max_trials: 6, metrics: [{name: x}, {name: y}, {name: z, at_most: 0}]"));
    CHECK_OK(rgm_searcher_begin(s));
    for (int i = 0; i < 6; i++)
        CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, i + 1, 1, metrics[i]}));
    CHECK_OK(rgm_searcher_front(&front, &count, s, false));
    CHECK_INT(3, count);
    for (int i = 0; i < 3; i++)
        CHECK_INT(want[i], front[i]);
    rgm_free(front);
    rgm_searcher_release(s);
}

/* Constrained domination: those that keep the bounds by fronts, then the others by how much they
 * break them; equal ones among these by fronts again. */
static void trials_that_break_bounds_rank_behind(void **state)
{
    double keys[] = {0, 0, 5, 5, 4, 6, 1, 1, 2, 0.5, 9, 9};
    double broken[] = {2, 0, 0, 1, 1, 0};
    int64_t lengths[] = {1, 1, 1, 1, 1, 1}, order[6];
    bool bad[6] = {false};
    const int64_t want[] = {1, 2, 5, 3, 4, 0};
    const rgmi_history h = {.count = 6,
                            .objectives = 2,
                            .keys = keys,
                            .broken = broken,
                            .lengths = lengths,
                            .bad = bad};

    (void)state;
    CHECK_OK(rgmi_history_rank(order, &h, 1, 6));
    for (int i = 0; i < 6; i++)
        CHECK_INT(want[i], order[i]);
}

/* By hand: of the front (0,10) (1,6) (2,5) (6,1) (10,0), ranges 10 and 10, the distances are inf,
 * 2/10 + 5/10, 5/10 + 5/10, 8/10 + 5/10, inf. */
static void crowding_distances_are_those_by_hand(void **state)
{
    double keys[] = {2, 5, 0, 10, 6, 1, 10, 0, 1, 6};
    int64_t lengths[] = {1, 1, 1, 1, 1}, order[5];
    bool bad[5] = {false};
    const int64_t want[] = {1, 3, 2, 0, 4};
    const rgmi_history h = {
        .count = 5, .objectives = 2, .keys = keys, .lengths = lengths, .bad = bad};

    (void)state;
    CHECK_OK(rgmi_history_rank(order, &h, 1, 5));
    for (int i = 0; i < 5; i++)
        CHECK_INT(want[i], order[i]);
}

/* ---- searches ------------------------------------------------------------------------------ */

/* Validate and close in order; metrics by a rule over the values. */
static void run(rgm_searcher *s, void (*metrics_of)(double *metrics, const rgm_hyper_value *v))
{
    double metrics[RGM_MAX_OBJECTIVES];
    rgm_operation o;

    CHECK_OK(rgm_searcher_begin(s));
    while (rgm_searcher_next(&o, s)) {
        rgm_search_event event = {.trial = o.trial, .length = o.length, .metrics = metrics};

        event.kind = o.kind == RGM_ASK_CLOSE ? RGM_CLOSED : RGM_VALIDATED;
        if (o.kind != RGM_ASK_CLOSE && o.kind != RGM_ASK_VALIDATE)
            continue;
        metrics_of(metrics, rgm_searcher_trial(s, o.trial)->values);
        CHECK_OK(rgm_searcher_tell(s, &event));
    }
    CHECK(rgm_searcher_is_over(s));
}

/* The lowest is at a = 1, where the bound is broken. */
static void pulled_across(double *metrics, const rgm_hyper_value *v)
{
    double a = v[0].number, b = v[1].number;

    metrics[0] = (a - 1) * (a - 1) + (b - 0.5) * (b - 0.5);
    metrics[1] = a;
}

static void samplers_stay_on_the_right_side_of_a_bound(void **state)
{
    static const char *const samplers[] = {"tpe", "gp", "cma", "{type: nsga2, population: 10}",
                                           "{type: bohb, random_fraction: 0.1}"};

    (void)state;
    for (size_t k = 0; k < sizeof samplers / sizeof *samplers; k++) {
        char keys[300];
        rgm_searcher *s;
        int64_t kept = 0, near = 0;
        snprintf(keys, sizeof keys,
                 "max_trials: 100, max_concurrent_trials: 1, metrics: [{name: loss}, {name: size, "
                 "at_most: 0.3}], sampler: %s",
                 samplers[k]);
        CHECK_OK(read_two(&s, keys));
        run(s, pulled_across);
        for (int64_t t = 61; t <= 100; t++) {
            double a = rgm_searcher_trial(s, t)->values[0].number;
            kept += a <= 0.3;
            near += a > 0.1 && a < 0.5;
        }
        CHECK(kept >= 12); /* at the edge of it models fall on either side */
        CHECK(near >= 24); /* of random ones 16 */
        rgm_searcher_release(s);
    }
}

/* All that halving promotes keeps the bound, where the trials that break it have lower metrics. */
static void halving_promotes_what_keeps_the_bound(void **state)
{
    rgm_searcher *s;
    rgm_space *space = space_of(two, NULL);

    (void)state;
    CHECK_OK(read_searcher(&s,
                           "{name: adaptive_asha, max_trials: 64, max_steps: 16, "
                           "max_concurrent_trials: 64, metrics: [{name: loss}, {name: size, "
                           "at_most: 0.5}]}",
                           space, 3));
    run(s, pulled_across);
    for (int64_t t = 1; t <= 64; t++)
        CHECK(rgm_searcher_trial(s, t)->length < 16 ||
              rgm_searcher_trial(s, t)->values[0].number <= 0.5);
    rgm_space_release(space);
    rgm_searcher_release(s);
}

/* ---- nsga2 --------------------------------------------------------------------------------- */

/* ZDT1 in two dimensions: the front is b = 0. */
static void zdt1(double *metrics, const rgm_hyper_value *v)
{
    double g = 1 + 9 * v[1].number;

    metrics[0] = v[0].number;
    metrics[1] = g * (1 - sqrt(v[0].number / g));
}

/* What is left of the area below (1.1, 6) by the front, whose own is 6.267. */
static double area_of(const rgm_searcher *s)
{
    int64_t *front, count;
    double area = 0, last = 6;

    CHECK_OK(rgm_searcher_front(&front, &count, s, false));
    for (double x = 0; x < 1.1; x += 0.001) {
        for (int64_t i = 0; i < count; i++) {
            const double *keys = rgm_searcher_trial(s, front[i])->keys;
            if (keys[0] <= x && keys[1] < last)
                last = keys[1];
        }
        area += 0.001 * (6 - last);
    }
    rgm_free(front);
    return area;
}

static void nsga2_finds_a_front_that_chance_does_not(void **state)
{
    static const char *const samplers[] = {
        "random", "{type: nsga2, population: 20}",
        "{type: nsga2, population: 20, crossover: uniform, start: sobol}"};
    double area[3] = {0};

    (void)state;
    for (int k = 0; k < 3; k++) {
        char keys[300];
        rgm_searcher *s;
        snprintf(keys, sizeof keys,
                 "max_trials: 200, max_concurrent_trials: 4, metrics: [{name: x}, {name: y}], "
                 "sampler: %s",
                 samplers[k]);
        CHECK_OK(read_two(&s, keys));
        run(s, zdt1);
        area[k] = area_of(s);
        rgm_searcher_release(s);
    }
    CHECK(area[1] > area[0] + 0.05 && area[2] > area[0] + 0.05);
    CHECK(area[1] > 6.15 && area[1] < 6.268);
}

/* The same point is not tried again while there are others: of 4 x 3, twelve trials try all. */
static void few_points_are_not_tried_twice(void **state)
{
    rgm_space *space = space_of("a: {type: int, minval: 1, maxval: 4}\n"
                                "b: {type: categorical, vals: [x, y, z]}\n",
                                NULL);
    rgm_searcher *s;
    bool seen[12] = {false};
    int count = 0;

    (void)state;
    CHECK_OK(
        read_searcher(&s,
                      "{name: random, max_trials: 40, max_steps: 1, max_concurrent_trials: 1, "
                      "metrics: [{name: x}, {name: y}], "
                      "sampler: {type: nsga2, population: 4, mutation_probability: 0.5, eta: 0.5}}",
                      space, 1));
    CHECK_OK(rgm_searcher_begin(s));
    for (rgm_operation o; rgm_searcher_next(&o, s);) {
        double metrics[2] = {0};
        if (o.kind == RGM_ASK_CLOSE)
            CHECK_OK(
                rgm_searcher_tell(s, &(rgm_search_event){.kind = RGM_CLOSED, .trial = o.trial}));
        if (o.kind != RGM_ASK_VALIDATE)
            continue;
        const rgm_hyper_value *v = rgm_searcher_trial(s, o.trial)->values;
        seen[(v[0].integer - 1) * 3 + v[1].choice] = true;
        metrics[0] = (double)v[0].integer;
        metrics[1] = (double)v[1].choice;
        CHECK_OK(rgm_searcher_tell(s, &(rgm_search_event){RGM_VALIDATED, o.trial, 1, metrics}));
    }
    for (int i = 0; i < 12; i++)
        count += seen[i];
    CHECK_INT(12, count);
    rgm_space_release(space);
    rgm_searcher_release(s);
}

TESTS(cmocka_unit_test(bounds_stand_behind_what_is_aimed_at),
      cmocka_unit_test(mistakes_of_metrics_are_told), cmocka_unit_test(the_front_keeps_the_bounds),
      cmocka_unit_test(trials_that_break_bounds_rank_behind),
      cmocka_unit_test(crowding_distances_are_those_by_hand),
      cmocka_unit_test(samplers_stay_on_the_right_side_of_a_bound),
      cmocka_unit_test(halving_promotes_what_keeps_the_bound),
      cmocka_unit_test(nsga2_finds_a_front_that_chance_does_not),
      cmocka_unit_test(few_points_are_not_tried_twice))
