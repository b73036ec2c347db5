/*
 * Sobol' points: the sequence itself as SciPy 1.17 gives it, what scrambling keeps, and searches
 * that draw by it.
 */
#include "samplers_check.h"

#include "samplers_internal.h"

static void the_first_points_are_known(void **state)
{
    static const double want[8][5] = {
        {0, 0, 0, 0, 0},
        {0.5, 0.5, 0.5, 0.5, 0.5},
        {0.75, 0.25, 0.25, 0.25, 0.75},
        {0.25, 0.75, 0.75, 0.75, 0.25},
        {0.375, 0.375, 0.625, 0.875, 0.375},
        {0.875, 0.875, 0.125, 0.375, 0.875},
        {0.625, 0.125, 0.875, 0.625, 0.625},
        {0.125, 0.625, 0.375, 0.125, 0.125},
    };
    rgmi_sobol sobol;
    double point[RGMI_SOBOL_DIMENSIONS];

    (void)state;
    rgmi_sobol_begin(&sobol, 5, false, 1);
    for (int i = 0; i < 8; i++) {
        rgmi_sobol_point(point, &sobol, (uint32_t)i);
        for (int j = 0; j < 5; j++)
            CHECK(point[j] == want[i][j]);
    }
}

static void late_points_of_high_dimensions_are_known(void **state)
{
    static const struct {
        uint32_t index;
        int dimension;
        double want;
    } cases[] = {{1000, 0, 0.2197265625},  {1000, 1, 0.0966796875},  {1000, 2, 0.5185546875},
                 {1000, 20, 0.5224609375}, {1000, 63, 0.4462890625}, {777, 7, 0.7626953125},
                 {777, 30, 0.5419921875},  {777, 40, 0.7216796875},  {777, 50, 0.0830078125},
                 {777, 62, 0.1376953125},  {5, 63, 0.625},           {100, 63, 0.6484375},
                 {1023, 63, 0.0400390625}};
    rgmi_sobol sobol;
    double point[RGMI_SOBOL_DIMENSIONS];

    (void)state;
    rgmi_sobol_begin(&sobol, 1000, false, 1);
    CHECK_INT(RGMI_SOBOL_DIMENSIONS, sobol.dimensions);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgmi_sobol_point(point, &sobol, cases[i].index);
        CHECK(point[cases[i].dimension] == cases[i].want);
    }
}

/* Of 2^k points one lies in each of 2^k intervals of every dimension, and in each box of 2^a by
 * 2^b of the first two, a + b = k: of a scrambled sequence as well. */
static void scrambled_points_are_as_even(void **state)
{
    enum { POINTS = 64 };
    static const int boxes[][2] = {{64, 1}, {1, 64}, {8, 8}, {4, 16}, {32, 2}};
    double points[POINTS][RGMI_SOBOL_DIMENSIONS];
    rgmi_sobol sobol;

    (void)state;
    for (uint32_t seed = 0; seed < 20; seed++) {
        rgmi_sobol_begin(&sobol, RGMI_SOBOL_DIMENSIONS, true, seed);
        for (uint32_t i = 0; i < POINTS; i++)
            rgmi_sobol_point(points[i], &sobol, i);
        for (int j = 0; j < RGMI_SOBOL_DIMENSIONS; j++) {
            uint64_t seen = 0;
            for (int i = 0; i < POINTS; i++)
                seen |= UINT64_C(1) << (int)(points[i][j] * POINTS);
            CHECK(seen == UINT64_MAX);
        }
        for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++) {
            uint64_t seen = 0;
            for (int i = 0; i < POINTS; i++)
                seen |= UINT64_C(1) << ((int)(points[i][0] * boxes[b][0]) * boxes[b][1] +
                                        (int)(points[i][1] * boxes[b][1]));
            CHECK(seen == UINT64_MAX);
        }
    }
}

/* A point is anywhere, by the seed: means of many seeds are the middle. */
static void seeds_scramble_differently(void **state)
{
    double sum = 0, of_pairs = 0, before = 0, point[2];

    (void)state;
    for (uint32_t seed = 0; seed < 2000; seed++) {
        rgmi_sobol sobol;
        rgmi_sobol_begin(&sobol, 2, true, seed);
        rgmi_sobol_point(point, &sobol, 0);
        sum += point[0];
        of_pairs += (point[0] - 0.5) * (point[1] - 0.5) + (point[0] - 0.5) * (before - 0.5);
        before = point[0];
    }
    CHECK_CLOSE(sum / 2000, 0.5, 0, 0.02); /* three deviations */
    CHECK_CLOSE(of_pairs / 2000, 0, 0, 0.008);
}

/* ---- searches ------------------------------------------------------------------------------ */

static const char mixed[] = "kind: {type: categorical, vals: [a, b, c, d]}\n"
                            "layers: {type: int, minval: 1, maxval: 8}\n"
                            "rate: {type: log, base: 10, minval: -4, maxval: 0}\n"
                            "x: " UNIT_DOUBLE ", when: kind == a}\n"
                            "y: 7\n";

static rgm_searcher *begun(const char *constraints, const char *sampler, int trials, uint32_t seed)
{
    rgm_space *space = space_of(mixed, constraints);
    rgm_searcher *searcher;
    char section[300];

    snprintf(section, sizeof section,
             "{name: random, metric: loss, max_trials: %d, max_steps: 1, sampler: %s}", trials,
             sampler);
    CHECK_OK(read_searcher(&searcher, section, space, seed));
    CHECK_OK(rgm_searcher_begin(searcher));
    rgm_space_release(space);
    return searcher;
}

/* Of 16 trials each choice has four, each integer two, each quarter of the exponents four. All
 * begin at once: max_concurrent_trials is not asked for. */
static void a_search_is_spread_evenly(void **state)
{
    static const char *const samplers[] = {"sobol", "{type: sobol, scramble: false}"};

    (void)state;
    for (int k = 0; k < 2; k++) {
        rgm_searcher *s = begun(NULL, samplers[k], 16, 7);
        int kinds[4] = {0}, layers[8] = {0}, rates[4] = {0};
        CHECK_INT(16, rgm_searcher_trial_count(s));
        for (int64_t t = 1; t <= 16; t++) {
            const rgm_hyper_value *v = rgm_searcher_trial(s, t)->values;
            kinds[v[0].choice]++;
            layers[v[1].integer - 1]++;
            rates[(int)(log10(v[2].number) + 4)]++;
            CHECK(v[4].is_set && v[3].is_set == (v[0].choice == 0));
        }
        for (int i = 0; i < 8; i++)
            CHECK(layers[i] == 2 && kinds[i / 2] == 4 && rates[i / 2] == 4);
        rgm_searcher_release(s);
    }
}

static bool same_rate(const rgm_searcher *a, int64_t i, const rgm_searcher *b, int64_t j)
{
    return rgm_searcher_trial(a, i)->values[2].number == rgm_searcher_trial(b, j)->values[2].number;
}

/* With constraints the points that keep them, in order, none twice; where hardly any does, and the
 * first 16,384 points have but some 40, the space's own draws behind these. */
static void points_that_break_constraints_are_passed_over(void **state)
{
    rgm_searcher *all = begun(NULL, "sobol", 64, 3),
                 *some = begun("- layers > 5\n", "sobol", 20, 3);
    rgm_searcher *few = begun("- kind == a\n- rate < 0.0002\n- layers == 8\n", "sobol", 70, 3);
    int64_t at = 0;

    (void)state;
    for (int64_t t = 1; t <= 20; t++) {
        CHECK(rgm_searcher_trial(some, t)->values[1].integer > 5);
        do
            at++;
        while (at <= 64 && rgm_searcher_trial(all, at)->values[1].integer <= 5);
        CHECK(at <= 64 && same_rate(some, t, all, at));
    }
    for (int64_t t = 1; t <= 70; t++)
        CHECK(rgm_space_holds(rgm_searcher_space(few), rgm_searcher_trial(few, t)->values, NULL));
    rgm_searcher_release(all);
    rgm_searcher_release(some);
    rgm_searcher_release(few);
}

/* `start: sobol` of a model's first trials: the points of the sampler, whatever the model is. */
static void models_begin_with_it(void **state)
{
    static const char *const samplers[] = {
        "{type: tpe, start: sobol, startup_trials: 8}, max_concurrent_trials: 8",
        "{type: gp, start: sobol, startup_trials: 8}, max_concurrent_trials: 8"};
    rgm_searcher *points = begun(NULL, "sobol", 8, 5), *random;

    (void)state;
    for (int k = 0; k < 2; k++) {
        rgm_searcher *s = begun(NULL, samplers[k], 8, 5);
        for (int64_t t = 1; t <= 8; t++)
            CHECK(same_rate(points, t, s, t));
        rgm_searcher_release(s);
    }
    random = begun(NULL, "{type: tpe}, max_concurrent_trials: 8", 8, 5);
    CHECK(!same_rate(points, 1, random, 1));
    rgm_searcher_release(random);
    rgm_searcher_release(points);
}

TESTS(cmocka_unit_test(the_first_points_are_known),
      cmocka_unit_test(late_points_of_high_dimensions_are_known),
      cmocka_unit_test(scrambled_points_are_as_even), cmocka_unit_test(seeds_scramble_differently),
      cmocka_unit_test(a_search_is_spread_evenly),
      cmocka_unit_test(points_that_break_constraints_are_passed_over),
      cmocka_unit_test(models_begin_with_it))
