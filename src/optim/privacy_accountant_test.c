/*
 * The accountant against a table computed with many digits, against published values, and by what
 * must hold of any: it adds up, it falls with noise, rises with rate, steps and smaller delta.
 */
#include <check.h>

#include "optim_internal.h"

#include "privacy_reference.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

static rgm_privacy_accountant spent(double noise, double rate, int64_t steps)
{
    rgm_privacy_accountant accountant = {0};

    CHECK_OK(rgm_privacy_step(&accountant, noise, rate, steps));
    return accountant;
}

static double epsilon(double noise, double rate, int64_t steps, double delta)
{
    rgm_privacy_accountant accountant = spent(noise, rate, steps);

    return rgm_privacy_epsilon(&accountant, delta);
}

static int64_t index_of(double order)
{
    for (int64_t i = 0; i < RGM_PRIVACY_ORDERS; i++)
        if (fabs(rgmi_privacy_order(i) - order) < 1e-9)
            return i;
    return -1;
}

static void orders_are_opacus_and_some_more(void **state)
{
    (void)state;
    for (int64_t i = 1; i < RGM_PRIVACY_ORDERS; i++)
        CHECK(rgmi_privacy_order(i) > rgmi_privacy_order(i - 1));
    for (int x = 1; x < 100; x++)
        CHECK_INT(x - 1, index_of(1 + x / 10.0));
    for (int a = 11; a < 64; a++)
        CHECK_INT(99 + a - 11, index_of(a));
    CHECK_CLOSE(rgmi_privacy_order(0), 1.1, 1e-15, 0);
    CHECK_CLOSE(rgmi_privacy_order(RGM_PRIVACY_ORDERS - 1), 1024, 0, 0);
}

static void divergences_agree_with_the_integral_at_many_digits(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(divergences); i++) {
        rgm_privacy_accountant a =
            spent(divergences[i].noise_multiplier, divergences[i].sample_rate, 1);
        int64_t at = index_of(divergences[i].order);

        CHECK(at >= 0);
        CHECK_CLOSE(a.rdp[at], divergences[i].divergence, 1e-11, 0);
    }
}

static void epsilons_agree_with_many_digits(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(epsilons); i++)
        CHECK_CLOSE(epsilon(epsilons[i].noise_multiplier, epsilons[i].sample_rate,
                            epsilons[i].steps, epsilons[i].delta),
                    epsilons[i].epsilon, 1e-11, 0);
}

/* The conversion of Mironov 2017 (prop. 3), which the published values below were made with. */
static double classical_epsilon(const rgm_privacy_accountant *a, double delta)
{
    double best = INFINITY;

    for (int64_t i = 0; i < RGM_PRIVACY_ORDERS; i++)
        best = fmin(best, a->rdp[i] - log(delta) / (rgmi_privacy_order(i) - 1));
    return best;
}

static void the_table_of_tensorflow_privacys_mnist_tutorial_comes_out(void **state)
{
    (void)state;
    /* 60000 examples, batches of 256, delta 1e-5: noise 1.3, 1.1, 0.7 for 15, 60, 45 epochs. */
    const struct {
        double noise;
        int epochs;
        double epsilon;
    } rows[] = {{1.3, 15, 1.19}, {1.1, 60, 3.01}, {0.7, 45, 7.10}};

    for (int i = 0; i < COUNT(rows); i++) {
        rgm_privacy_accountant a =
            spent(rows[i].noise, 256 / 60000.0, rows[i].epochs * INT64_C(60000) / 256);
        CHECK_CLOSE(classical_epsilon(&a, 1e-5), rows[i].epsilon, 0, 0.005);
        CHECK(rgm_privacy_epsilon(&a, 1e-5) < classical_epsilon(&a, 1e-5));
    }
}

/*
 * What Opacus' own tests expect of its RDP accountant (opacus/tests/accountants_test.py): the
 * epsilon of a run, and the noise for epsilon 8, which it finds to within 0.01 of epsilon.
 */
static void the_numbers_of_opacus_come_out(void **state)
{
    (void)state;
    const struct {
        int64_t steps;
        double noise;
    } rows[] = {{2250, 1.416}, {2000, 1.3562}};
    double noise;

    CHECK_CLOSE(epsilon(1.5, 0.04, 2250, 1e-5), 7.32911117143, 1e-4, 0);
    for (int i = 0; i < COUNT(rows); i++) {
        CHECK_OK(rgm_privacy_noise_for(&noise, 8, 1e-5, 0.04, rows[i].steps));
        CHECK(noise <= rows[i].noise + 5e-5 && noise > rows[i].noise - 0.002);
    }
}

static void steps_add_up_in_any_portions(void **state)
{
    (void)state;
    rgm_privacy_accountant a = {0}, both = {0}, first, second;

    for (int i = 0; i < 100; i++)
        CHECK_OK(rgm_privacy_step(&a, 1.2, 0.02, 1));
    CHECK_CLOSE(rgm_privacy_epsilon(&a, 1e-5), epsilon(1.2, 0.02, 100, 1e-5), 1e-12, 0);
    first = spent(1.2, 0.02, 70);
    second = spent(0.8, 0.01, 30);
    CHECK_OK(rgm_privacy_step(&both, 1.2, 0.02, 50));
    CHECK_OK(rgm_privacy_step(&both, 0.8, 0.01, 30)); /* another mechanism in between */
    CHECK_OK(rgm_privacy_step(&both, 1.2, 0.02, 20));
    for (int i = 0; i < RGM_PRIVACY_ORDERS; i++)
        CHECK_CLOSE(both.rdp[i], first.rdp[i] + second.rdp[i], 1e-12, 0);
    {
        rgm_privacy_accountant restored = {0}; /* rdp alone, as from a checkpoint */
        memcpy(restored.rdp, both.rdp, sizeof both.rdp);
        CHECK_OK(rgm_privacy_step(&restored, 1.2, 0.02, 5));
        CHECK_OK(rgm_privacy_step(&both, 1.2, 0.02, 5));
        CHECK(memcmp(restored.rdp, both.rdp, sizeof both.rdp) == 0);
    }
}

static void the_bound_moves_the_right_way(void **state)
{
    (void)state;
    double last = INFINITY;

    for (double noise = 0.03; noise < 300; noise *= 1.3) {
        double e = epsilon(noise, 0.01, 1000, 1e-5);
        CHECK(e < last || (e == 0 && last == 0));
        last = e;
    }
    last = 0;
    for (double rate = 1e-7; rate <= 1; rate *= 10) {
        double e = epsilon(1, rate * (1 - 1e-9), 10000, 1e-5), next;
        CHECK(e > last || e == 0);
        next = epsilon(1, rate, 10000, 1e-5); /* exact at 1, and no jump towards it */
        CHECK_CLOSE(e, next, 1e-6, 0);
        last = e;
    }
    CHECK(epsilon(1, 0.01, 100, 1e-6) > epsilon(1, 0.01, 100, 1e-5));
    CHECK(epsilon(1, 0.01, 101, 1e-5) > epsilon(1, 0.01, 100, 1e-5));
}

static void the_ends_of_the_scale_are_nothing_and_everything(void **state)
{
    (void)state;
    rgm_privacy_accountant none = {0};

    CHECK(rgm_privacy_epsilon(&none, 1e-5) == 0);
    CHECK(epsilon(0, 0.5, 0, 1e-5) == 0);
    CHECK(epsilon(0, 0, 10, 1e-5) == 0);
    CHECK(isinf(epsilon(0, 0.5, 1, 1e-5)));
    CHECK(isinf(rgm_privacy_epsilon(&none, 0)));
    CHECK_CLOSE(spent(2, 1, 3).rdp[index_of(2)], 3 * 2 / 8.0, 1e-14, 0);
    CHECK(epsilon(0.0499, 0.001, 1, 1e-5) > epsilon(0.05, 0.001, 1, 1e-5));
    CHECK(isfinite(epsilon(0.05, 1e-12, 1, 1e-5)) && isfinite(epsilon(1e-8, 1e-12, 1, 1e-5)));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_step(&none, -1, 0.5, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_step(&none, NAN, 0.5, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_step(&none, 1, 1.5, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_step(&none, 1, NAN, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_step(&none, 1, 0.5, -1));
    CHECK(none.rdp[0] == 0);
}

static void noise_is_found_for_a_target(void **state)
{
    (void)state;
    const double targets[] = {0.02, 0.5, 1, 8, 100};
    double noise;

    for (int i = 0; i < COUNT(targets); i++) {
        CHECK_OK(rgm_privacy_noise_for(&noise, targets[i], 1e-5, 0.01, 2000));
        CHECK(epsilon(noise, 0.01, 2000, 1e-5) <= targets[i]);
        CHECK(epsilon(noise * (1 - 1e-6), 0.01, 2000, 1e-5) > targets[i]);
    }
    CHECK_OK(rgm_privacy_noise_for(&noise, 1e9, 1e-5, 0.01, 1));
    CHECK_CLOSE(noise, 0.05, 0, 0);
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_noise_for(&noise, 0, 1e-5, 0.01, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_noise_for(&noise, 1, 1, 0.01, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_noise_for(&noise, 1, 1e-5, 0, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_noise_for(&noise, 1, 1e-5, 0.01, 0));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                 rgm_privacy_noise_for(&noise, 1e-6, 1e-300, 1, INT64_C(1) << 50));
}

TESTS(cmocka_unit_test(orders_are_opacus_and_some_more),
      cmocka_unit_test(divergences_agree_with_the_integral_at_many_digits),
      cmocka_unit_test(epsilons_agree_with_many_digits),
      cmocka_unit_test(the_table_of_tensorflow_privacys_mnist_tutorial_comes_out),
      cmocka_unit_test(the_numbers_of_opacus_come_out),
      cmocka_unit_test(steps_add_up_in_any_portions),
      cmocka_unit_test(the_bound_moves_the_right_way),
      cmocka_unit_test(the_ends_of_the_scale_are_nothing_and_everything),
      cmocka_unit_test(noise_is_found_for_a_target))
