/*
 * Gaussian process: means, variances and likelihood against those of scikit-learn 1.9 (a
 * categorical column: NumPy), the improvement against 60 digits (mpmath 1.3), gradients against
 * differences.
 */
#include <check.h>

#include "samplers_internal.h"

static const double x_known[] = {.1, .2, .4, .9, .45, .5, .8, .1, .95, .7};
static const double y_known[] = {1, -.3, -1.2, .8, -.3};
static const bool numeric[] = {false, false};
static const bool second_is_category[] = {false, true};

static void set_known(rgmi_gp *gp)
{
    gp->logs[0] = log(.4);
    gp->logs[1] = log(.9);
    gp->logs[2] = log(1.3);
    gp->logs[3] = log(.01);
}

static double normal_exponent(double x, double mean, double deviation)
{
    return -0.5 * (x - mean) * (x - mean) / (deviation * deviation);
}

static void predictions_are_those_known_from_elsewhere(void **state)
{
    const double points[] = {.5, .5, .1, .2, 0, 1};
    const double want_means[] = {-1.1782907952778652, 0.9794205849699842, 0.8972367768085114};
    const double want_variances[] = {0.02751282960138357, 0.009886494095653786, 0.7096731029610558};
    double means[3], variances[3], prior;
    rgmi_gp gp;

    (void)state;
    CHECK_OK(rgmi_gp_create(&gp, x_known, numeric, 5, 2));
    set_known(&gp);
    prior = normal_exponent(gp.logs[0], sqrt(2) + log(2) / 2 - 3, sqrt(3)) +
            normal_exponent(gp.logs[1], sqrt(2) + log(2) / 2 - 3, sqrt(3)) +
            normal_exponent(gp.logs[2], 0, 1) + normal_exponent(gp.logs[3], -5, 1);
    CHECK_CLOSE(rgmi_gp_log_posterior(&gp, y_known), -9.322466766126219 + prior, 1e-12, 0);
    CHECK_OK(rgmi_gp_predict(means, variances, &gp, points, 3));
    for (int i = 0; i < 3; i++) {
        CHECK_CLOSE(means[i], want_means[i], 1e-11, 0);
        CHECK_CLOSE(variances[i], want_variances[i], 1e-10, 0);
    }
    CHECK(gp.jitter == 0);
    rgmi_gp_clear(&gp);
}

static void categories_are_the_same_or_not(void **state)
{
    const double x[] = {.1, 0, .4, 1, .45, 1, .8, 2, .95, 0}, points[] = {.5, 1, .2, 2};
    double means[2], variances[2];
    rgmi_gp gp;

    (void)state;
    CHECK_OK(rgmi_gp_create(&gp, x, second_is_category, 5, 2));
    set_known(&gp);
    rgmi_gp_condition(&gp, y_known);
    CHECK_OK(rgmi_gp_predict(means, variances, &gp, points, 2));
    CHECK_CLOSE(means[0], -1.4804347843862649, 1e-11, 0);
    CHECK_CLOSE(means[1], 0.8285199899401121, 1e-11, 0);
    CHECK_CLOSE(variances[0], 0.03264846981694225, 1e-10, 0);
    CHECK_CLOSE(variances[1], 0.9001366505886021, 1e-10, 0);
    rgmi_gp_clear(&gp);
}

/* More points than are predicted side by side: each comes out as alone, to the last bit. */
static void points_are_predicted_as_if_alone(void **state)
{
    enum { POINTS = 77 };
    double points[2 * POINTS], means[POINTS], variances[POINTS], mean, variance;
    rgmi_gp gp;

    (void)state;
    CHECK_OK(rgmi_gp_create(&gp, x_known, numeric, 5, 2));
    rgmi_gp_condition(&gp, y_known);
    for (int i = 0; i < 2 * POINTS; i++)
        points[i] = (double)(i * 37 % 101) / 100;
    CHECK_OK(rgmi_gp_predict(means, variances, &gp, points, POINTS));
    for (int i = 0; i < POINTS; i++) {
        CHECK_OK(rgmi_gp_predict(&mean, &variance, &gp, points + 2 * i, 1));
        CHECK(mean == means[i] && variance == variances[i]);
    }
    rgmi_gp_clear(&gp);
}

static void gradients_are_those_of_differences(void **state)
{
    const double x[] = {.1, 0, .4, 1, .45, 1, .8, 2, .95, 0};
    double gradient[4];
    rgmi_gp gp;

    (void)state;
    CHECK_OK(rgmi_gp_create(&gp, x, second_is_category, 5, 2));
    set_known(&gp);
    rgmi_gp_log_posterior(&gp, y_known);
    CHECK_OK(rgmi_gp_gradient(gradient, &gp));
    for (int i = 0; i < 4; i++) {
        double at = gp.logs[i], high, low;
        gp.logs[i] = at + 1e-5;
        high = rgmi_gp_log_posterior(&gp, y_known);
        gp.logs[i] = at - 1e-5;
        low = rgmi_gp_log_posterior(&gp, y_known);
        gp.logs[i] = at;
        CHECK_CLOSE(gradient[i], (high - low) / 2e-5, 1e-6, 1e-6);
    }
    rgmi_gp_clear(&gp);
}

/* A column that says nothing gets a long length, one that says all a short one; where it stops the
 * posterior is flat. */
static void a_fit_finds_which_column_matters(void **state)
{
    enum { POINTS = 60 };
    double x[2 * POINTS], y[POINTS], gradient[4];
    rgm_mt19937 random;
    rgmi_gp gp;

    (void)state;
    rgm_mt19937_seed(&random, 5);
    for (int i = 0; i < POINTS; i++) {
        x[2 * i] = rgm_mt19937_unit(&random);
        x[2 * i + 1] = rgm_mt19937_unit(&random);
        y[i] = sin(9 * x[2 * i]);
    }
    CHECK_OK(rgmi_gp_create(&gp, x, numeric, POINTS, 2));
    CHECK_OK(rgmi_gp_fit(&gp, y));
    CHECK(gp.logs[0] < 0 && gp.logs[1] > gp.logs[0] + 2);
    CHECK(gp.logs[3] < -6); /* and sees that there is no noise */
    rgmi_gp_log_posterior(&gp, y);
    CHECK_OK(rgmi_gp_gradient(gradient, &gp));
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(gradient[i], 0, 0, 0.1);
    rgmi_gp_clear(&gp);
}

/* Points on one spot and next to no noise: K is of rank 1 in any arithmetic. */
static void jitter_makes_up_for_points_on_one_spot(void **state)
{
    enum { POINTS = 120 };
    double x[2 * POINTS], y[POINTS], mean, variance;
    rgmi_gp gp;

    (void)state;
    for (int i = 0; i < POINTS; i++) {
        x[2 * i] = 0.5 + i * 1e-17;
        x[2 * i + 1] = 0.25;
        y[i] = i % 2 ? 1 : -1;
    }
    CHECK_OK(rgmi_gp_create(&gp, x, numeric, POINTS, 2));
    gp.logs[0] = gp.logs[1] = 12;
    gp.logs[2] = 6;
    gp.logs[3] = -50;
    rgmi_gp_condition(&gp, y);
    CHECK(gp.jitter > 0);
    CHECK_OK(rgmi_gp_predict(&mean, &variance, &gp, x, 1));
    CHECK_CLOSE(mean, 0, 0, 1e-3);
    CHECK(variance > 0 && variance < 1e-3);
    CHECK_OK(rgmi_gp_fit(&gp, y));
    rgmi_gp_clear(&gp);
}

static void the_improvement_is_exact_however_unlikely(void **state)
{
    static const double known[][4] = {
        {0, 0, 1, -0.918938533204672742},     {1, 0, 1, 0.08002621884930694},
        {-1, 0, 1, -2.48512102571264134},     {-4.99, 0, 1, -16.6907299967958755},
        {-5.01, 0, 1, -16.7979663277395246},  {-12, 0, 1, -77.9091005450073483},
        {-40, 0, 1, -808.29856835661996},     {-1000, 0, 1, -500014.734452091158},
        {.3, 1.1, .04, -13.4584994899847635}, {2, -1, .25, 1.09861228869416919}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        CHECK_CLOSE(rgmi_log_expected_improvement(known[i][0], known[i][1], known[i][2]),
                    known[i][3], 1e-13, 0);
    CHECK(rgmi_log_expected_improvement(0, 1e200, 1) == -INFINITY);
}

static rgm_status make(void)
{
    rgm_status status = RGM_OK;
    double mean, variance;
    rgmi_gp gp;

    RGM_GO(rgmi_gp_create(&gp, x_known, numeric, 5, 2));
    RGM_GO(rgmi_gp_fit(&gp, y_known));
    RGM_GO(rgmi_gp_predict(&mean, &variance, &gp, x_known, 1));
done:
    rgmi_gp_clear(&gp);
    return status;
}

static void every_failing_allocation_is_told(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(make(), (void)0);
}

TESTS(cmocka_unit_test(predictions_are_those_known_from_elsewhere),
      cmocka_unit_test(categories_are_the_same_or_not),
      cmocka_unit_test(points_are_predicted_as_if_alone),
      cmocka_unit_test(gradients_are_those_of_differences),
      cmocka_unit_test(a_fit_finds_which_column_matters),
      cmocka_unit_test(jitter_makes_up_for_points_on_one_spot),
      cmocka_unit_test(the_improvement_is_exact_however_unlikely),
      cmocka_unit_test(every_failing_allocation_is_told))
