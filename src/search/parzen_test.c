/*
 * Parzen mixtures: densities against those that Optuna 5.0 gives for the same observations (and
 * SciPy 1.17 where it has another bandwidth), draws against the densities.
 */
#include <check.h>

#include "samplers_internal.h"

static const rgmi_axis unit = {.kind = RGM_HYPER_DOUBLE, .low = 0, .high = 1};
static const rgmi_axis wide = {.kind = RGM_HYPER_DOUBLE, .low = -2, .high = 6};
static const rgmi_axis small_int = {.kind = RGM_HYPER_INT, .low = 0.5, .high = 8.5};
static const rgmi_axis large_int = {.kind = RGM_HYPER_INT, .low = 0.5, .high = 1000000.5};
static const rgmi_axis three = {.kind = RGM_HYPER_CATEGORICAL, .choices = 3};

static const rgmi_parzen_form optuna = {.prior_weight = 1, .width = 1};

typedef struct sample {
    const rgmi_axis *axes[2];
    int64_t axis_count, count, asked;
    double points[16], at[6], want[3];
} sample;

static const sample samples[] = {
    {{&unit},
     1,
     3,
     3,
     {.2, .9, .5},
     {0, .47, .95},
     {-0.26608249715327736, 0.10644206761366881, -0.16871026094972474}},
    {{&wide},
     1,
     1,
     3,
     {3},
     {-2, 3, 5.5},
     {-2.3012670092630487, -2.0028034450960837, -2.1098661926862063}},
    {{&wide},
     1,
     0,
     3,
     {0},
     {-2, 3, 5.5},
     {-2.1634637411888864, -2.0462762411888864, -2.1341668661888864}},
    {{&small_int},
     1,
     4,
     3,
     {2, 7, 3, 3},
     {1, 3, 8},
     {-2.012489853524519, -1.6698161818794717, -2.6552871116653303}},
    {{&large_int},
     1,
     3,
     3,
     {10, 11, 900000},
     {1, 11, 500000},
     {-13.28273327820768, -13.282731466149205, -14.00956273821179}},
    {{&three},
     1,
     3,
     3,
     {0, 0, 2},
     {0, 1, 2},
     {-0.7419373447293773, -1.6582280766035324, -1.0986122886681098}},
    {{&unit, &three},
     2,
     3,
     2,
     {.2, 0, .9, 0, .5, 2},
     {.1, 0, .6, 1},
     {-0.7969722544387857, -1.5982063778769569}},
};

static void densities_are_those_known_from_elsewhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const sample *s = &samples[i];
        rgmi_parzen p;
        CHECK_OK(rgmi_parzen_create(&p, s->axes, s->axis_count, s->points, s->count, &optuna));
        for (int64_t k = 0; k < s->asked; k++)
            CHECK_CLOSE(rgmi_parzen_log_density(&p, s->at + k * s->axis_count), s->want[k], 1e-9,
                        1e-12);
        rgmi_parzen_clear(&p);
    }
}

/* More than 25 observations: the older ones weigh less. */
static void old_observations_weigh_less(void **state)
{
    static const double at[] = {0, .31, .99};
    static const struct {
        int64_t count;
        double want[3];
    } cases[] = {{26, {-0.8846465243483341, 0.037120760487879156, -0.7032455307632188}},
                 {40, {-0.851138878130131, 0.09010609364067523, -0.4369805057087633}}};
    const rgmi_axis *axes[] = {&unit};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        double points[40];
        rgmi_parzen p;
        for (int64_t k = 0; k < cases[i].count; k++)
            points[k] = (double)(k * 7 % cases[i].count) / (double)cases[i].count;
        CHECK_OK(rgmi_parzen_create(&p, axes, 1, points, cases[i].count, &optuna));
        for (int64_t k = 0; k < 3; k++)
            CHECK_CLOSE(rgmi_parzen_log_density(&p, &at[k]), cases[i].want[k], 1e-9, 1e-12);
        rgmi_parzen_clear(&p);
    }
}

/* Of all integers and choices the mass is 1, of numbers the integral. */
static void densities_sum_to_one(void **state)
{
    const rgmi_axis *axes[] = {&small_int, &three}, *numbers[] = {&wide};
    const double pairs[] = {2, 0, 7, 1, 3, 1}, points[] = {-2, 5.9, 1};
    double sum = 0;
    rgmi_parzen p;

    (void)state;
    CHECK_OK(rgmi_parzen_create(&p, axes, 2, pairs, 3,
                                &(rgmi_parzen_form){.prior_weight = 0.5, .width = 1}));
    for (int i = 1; i <= 8; i++)
        for (int k = 0; k < 3; k++)
            sum += exp(rgmi_parzen_log_density(&p, (const double[]){i, k}));
    CHECK_CLOSE(sum, 1.0, 1e-12, 0);
    rgmi_parzen_clear(&p);
    CHECK_OK(rgmi_parzen_create(&p, numbers, 1, points, 3, &optuna));
    sum = 0;
    for (int i = 0; i < 80000; i++)
        sum += exp(rgmi_parzen_log_density(&p, (const double[]){-2 + (i + 0.5) * 1e-4})) * 1e-4;
    CHECK_CLOSE(sum, 1.0, 1e-6, 0);
    rgmi_parzen_clear(&p);
}

/* How often each integer and choice is drawn is its mass, within 6 deviations of a count; no draw
 * leaves the axis. */
static void draws_follow_the_density(void **state)
{
    enum { DRAWS = 200000 };
    const rgmi_axis *axes[] = {&small_int, &three};
    const double points[] = {2, 0, 7, 1, 3, 1, 8, 1};
    int64_t counts[9][3] = {{0}};
    rgm_mt19937 random;
    rgmi_parzen p;

    (void)state;
    rgm_mt19937_seed(&random, 7);
    CHECK_OK(rgmi_parzen_create(&p, axes, 2, points, 4, &optuna));
    for (int i = 0; i < DRAWS; i++) {
        double point[2];
        rgmi_parzen_draw(point, &p, &random);
        CHECK(point[0] >= 1 && point[0] <= 8 && point[0] == floor(point[0]));
        CHECK(point[1] == 0 || point[1] == 1 || point[1] == 2);
        counts[(int)point[0]][(int)point[1]]++;
    }
    for (int i = 1; i <= 8; i++) {
        for (int k = 0; k < 3; k++) {
            double mass = exp(rgmi_parzen_log_density(&p, (const double[]){i, k}));
            CHECK_CLOSE((double)counts[i][k], DRAWS * mass, 0, 6 * sqrt(DRAWS * mass * (1 - mass)));
        }
    }
    rgmi_parzen_clear(&p);
}

/* Bandwidths never vanish: observations on one spot, at the bounds, of a huge or a tiny range. */
static void extreme_observations_have_densities(void **state)
{
    static const rgmi_axis axes[] = {{.kind = RGM_HYPER_DOUBLE, .low = -1e300, .high = 1e300},
                                     {.kind = RGM_HYPER_DOUBLE, .low = 1, .high = 1 + 0x1p-52},
                                     {.kind = RGM_HYPER_INT, .low = -0.5, .high = 0x1p53},
                                     {.kind = RGM_HYPER_LOG, .low = -300, .high = 300, .base = 10}};
    rgm_mt19937 random;

    (void)state;
    rgm_mt19937_seed(&random, 1);
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        const rgmi_axis *axis = &axes[i];
        double low = axis->low + (axis->kind == RGM_HYPER_INT ? 0.5 : 0), points[200], x;
        rgmi_parzen p;
        for (int k = 0; k < 200; k++)
            points[k] = k % 2 ? low : axis->high;
        CHECK_OK(rgmi_parzen_create(&p, &axis, 1, points, 200,
                                    &(rgmi_parzen_form){.prior_weight = 1e-6, .width = 1}));
        for (int k = 0; k < 100; k++) {
            rgmi_parzen_draw(&x, &p, &random);
            CHECK(x >= axis->low && x <= axis->high);
            CHECK(isfinite(rgmi_parzen_log_density(&p, &x)));
        }
        rgmi_parzen_clear(&p);
    }
}

static rgm_status make(void)
{
    const rgmi_axis *axes[] = {&unit, &three};
    const double points[] = {.2, 0, .9, 2};
    rgmi_parzen p;
    rgm_status status = rgmi_parzen_create(&p, axes, 2, points, 2, &optuna);

    rgmi_parzen_clear(&p);
    return status;
}

static void every_failing_allocation_is_told(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(make(), (void)0);
}

static void weights_and_width_are_of_the_observations(void **state)
{
    const rgmi_axis *axes[] = {&wide};
    const double points[] = {0, 3, 5}, weights[] = {2, 1, 0};
    rgmi_parzen own, plain;

    (void)state;
    CHECK_OK(rgmi_parzen_create(&plain, axes, 1, points, 3, &optuna));
    CHECK_OK(rgmi_parzen_create(
        &own, axes, 1, points, 3,
        &(rgmi_parzen_form){.prior_weight = 1, .width = 0.7, .weights = weights}));
    CHECK_CLOSE(own.weights[0], 0.5, 1e-15, 0);
    CHECK_CLOSE(own.weights[1], 0.25, 1e-15, 0);
    CHECK(own.weights[2] == 0);
    CHECK_CLOSE(own.weights[3], 0.25, 1e-15, 0);
    CHECK_CLOSE(own.deviations[0], 0.7 * plain.deviations[0], 1e-15, 0);
    CHECK(plain.deviations[2] == 2 &&
          own.deviations[2] == 8 / 5.0);             /* the narrowest there may be */
    CHECK(own.deviations[3] == plain.deviations[3]); /* the prior's */
    CHECK(isfinite(rgmi_parzen_log_density(&own, (const double[]){5})));
    rgmi_parzen_clear(&own);
    rgmi_parzen_clear(&plain);
}

TESTS(cmocka_unit_test(weights_and_width_are_of_the_observations),
      cmocka_unit_test(densities_are_those_known_from_elsewhere),
      cmocka_unit_test(old_observations_weigh_less), cmocka_unit_test(densities_sum_to_one),
      cmocka_unit_test(draws_follow_the_density),
      cmocka_unit_test(extreme_observations_have_densities),
      cmocka_unit_test(every_failing_allocation_is_told))
