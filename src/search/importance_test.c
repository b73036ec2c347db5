/*
 * Importance: trees against boxes worked out by hand, shares against those that are known of
 * functions. tests/oracle/importance_oracle.py compares with Optuna's.
 */
#include <check.h>

#include "samplers_internal.h"

static rgm_space *space_of(const char *text)
{
    rgm_yaml *yaml;
    rgm_space *space;

    CHECK_OK(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "test"));
    CHECK_OK(rgm_space_read(&space, rgm_yaml_root(yaml), NULL));
    rgm_yaml_release(yaml);
    return space;
}

/* The shares of `metric` by trials drawn at random. */
static rgm_status shares_of(double *shares, const rgm_space *space, int64_t trials,
                            double (*metric)(const rgm_hyper_value *values), uint32_t seed)
{
    rgm_status status = RGM_OK;
    int64_t n = rgm_space_count(space);
    rgm_hyper_value *values = NULL;
    const rgm_hyper_value **rows = NULL;
    double *keys = NULL;
    rgm_mt19937 random;

    rgm_mt19937_seed(&random, 3);
    RGM_GO(RGM_NEW(values, trials * n));
    RGM_GO(RGM_NEW(rows, trials));
    RGM_GO(RGM_NEW(keys, trials));
    for (int64_t i = 0; i < trials; i++) {
        RGM_GO(rgm_space_draw(values + i * n, space, &random));
        rows[i] = values + i * n;
        keys[i] = metric(rows[i]);
    }
    RGM_GO(rgm_space_importance(shares, space, rows, keys, trials, seed));
done:
    rgm_free(values);
    rgm_free((void *)rows);
    rgm_free(keys);
    return status;
}

static void a_tree_is_cut_where_the_error_is_smallest(void **state)
{
    const rgmi_axis axes[] = {{.kind = RGM_HYPER_DOUBLE, .low = 0, .high = 1},
                              {.kind = RGM_HYPER_CATEGORICAL, .choices = 3}};
    /* First by 0.2 | 0.6, then on the right by the choices {0, 2} | {1}; the last lacks axis 0. */
    const double x[] = {0.1, 0, 0.2, 1, 0.6, 0, 0.7, 1, 0.9, 0, NAN, 2};
    const double y[] = {0, 0, 10, 13, 10, 10};
    const rgmi_table table = {.axes = axes, .axis_count = 2, .count = 6, .x = x, .y = y};
    const int64_t rows[] = {0, 1, 2, 3, 4, 5};
    rgmi_forest_tree t;

    (void)state;
    CHECK_OK(rgmi_tree_grow(&t, &table, rows, 6));
    CHECK_INT(3, t.leaf_count);
    CHECK(t.values[0] == 0 && t.values[1] == 10 && t.values[2] == 13);
    CHECK_CLOSE(t.highs[0], 0.4, 1e-15, 0);
    CHECK(t.lows[0] == 0 && !t.lacking[0] && t.sets[0] && t.sets[1] && t.sets[2] && t.sets[3]);
    CHECK_CLOSE(t.lows[2], 0.4, 1e-15, 0);
    CHECK(t.highs[2] == 1 && t.lacking[2]);
    CHECK(t.sets[4] && !t.sets[5] && t.sets[6] && t.sets[7]);
    CHECK_CLOSE(t.lows[4], 0.4, 1e-15, 0);
    CHECK(!t.sets[8] && t.sets[9] && !t.sets[10] && !t.sets[11]);
    rgmi_tree_clear(&t);
}

static double linear(const rgm_hyper_value *v)
{
    return 3 * v[0].number + 2 * v[1].number + v[2].number;
}

static double ishigami(const rgm_hyper_value *v)
{
    double a = v[0].number, b = v[1].number, c = v[2].number;

    return sin(a) + 7 * sin(b) * sin(b) + 0.1 * c * c * c * c * sin(a);
}

static double product(const rgm_hyper_value *v)
{
    return (v[0].number - 0.5) * (v[1].number - 0.5) + 0.1 * v[2].number;
}

/* kind (3), layers (1 to 12), rate: see its shares below */
static double mixed(const rgm_hyper_value *v)
{
    double rate = log10(v[2].number) + 2.5;

    return 0.5 * rate * rate + (v[0].choice == 2 ? 1.5 : 0.3 * (double)v[0].choice) +
           0.1 * fabs((double)v[1].integer - 5);
}

/* Sobol's first indices. Linear: 9, 4, 1 of 14. Ishigami with 7 and 0.1: 0.3139, 0.4424, 0. The
 * product's own parts are none: its variance 1 / 144 beside 1 / 1200. Mixed: a kind's 0.42, layers'
 * 0.041389, the rate's 0.5^2 * 2.5^4 * 4 / 45. Ishigami's waves are
 * narrower than a forest of 2,000 points follows, so it gets more room. */
static void shares_are_those_of_known_functions(void **state)
{
    static const char cube[] = "a: {type: double, minval: 0, maxval: 1}\n"
                               "b: {type: double, minval: 0, maxval: 1}\n"
                               "c: {type: double, minval: 0, maxval: 1}\n";
    static const char angles[] = "a: {type: double, minval: -3.14159265, maxval: 3.14159265}\n"
                                 "b: {type: double, minval: -3.14159265, maxval: 3.14159265}\n"
                                 "c: {type: double, minval: -3.14159265, maxval: 3.14159265}\n";
    static const char all[] = "kind: {type: categorical, vals: [gcn, gat, sage]}\n"
                              "layers: {type: int, minval: 1, maxval: 12}\n"
                              "rate: {type: log, base: 10, minval: -5, maxval: 0}\n"
                              "z: 3\n";
    const double whole = 0.42 + 0.0413889 + 0.868056;
    const struct {
        const char *space;
        double (*metric)(const rgm_hyper_value *values);
        double want[4], tolerance;
    } cases[] = {{cube, linear, {9 / 14.0, 4 / 14.0, 1 / 14.0}, 0.03},
                 {angles, ishigami, {0.3139, 0.4424, 0}, 0.1},
                 {cube, product, {0, 0, 0.107143}, 0.03},
                 {all, mixed, {0.42 / whole, 0.0413889 / whole, 0.868056 / whole, 0}, 0.03}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_space *space = space_of(cases[i].space);
        double shares[4], sum = 0;
        CHECK_OK(shares_of(shares, space, 2000, cases[i].metric, 0));
        for (int64_t j = 0; j < rgm_space_count(space); j++) {
            CHECK_CLOSE(shares[j], cases[i].want[j], 0, cases[i].tolerance);
            CHECK(shares[j] >= 0);
            sum += shares[j];
        }
        CHECK(sum <= 1 + 1e-9);
        rgm_space_release(space);
    }
}

/* kind (0: plain, 1: special), noise, special: x of variance 3 where kind is special, else 0. So
 * half of the variance, 1.5, is special's where it is there, and that is all that any has alone. */
static double conditional(const rgm_hyper_value *v)
{
    return v[2].is_set ? v[2].number : 0;
}

/* One that says nothing where it is not there: kind alone is worth 1, what lacks `special` is -1.
 */
static double by_kind(const rgm_hyper_value *v)
{
    return v[0].choice == 1 ? 1 : -1;
}

static void what_is_not_always_there_counts_where_it_is(void **state)
{
    rgm_space *space =
        space_of("kind: {type: categorical, vals: [plain, special]}\n"
                 "noise: {type: double, minval: 0, maxval: 1}\n"
                 "strength: {type: double, minval: -3, maxval: 3, when: kind == special}\n");
    double shares[3];

    (void)state;
    CHECK_INT(2, rgm_space_find(space, "strength"));
    CHECK_OK(shares_of(shares, space, 1000, conditional, 0));
    CHECK(shares[2] > 0.9 && shares[1] < 0.02);
    CHECK_OK(shares_of(shares, space, 1000, by_kind, 0));
    CHECK_CLOSE(shares[0], 1, 1e-9, 0); /* and not the one whose absence says the same */
    CHECK_CLOSE(shares[1] + shares[2], 0, 0, 1e-9);
    rgm_space_release(space);
}

static double broken_metric;
static double broken(const rgm_hyper_value *v)
{
    return v[0].number < 0.5 ? v[0].number : broken_metric;
}

/* NaN and infinite are as bad as the worst number; numbers may be as large as there are. */
static void keys_that_are_no_numbers_count_as_the_worst(void **state)
{
    rgm_space *space = space_of("a: {type: double, minval: 0, maxval: 1}\n"
                                "b: {type: double, minval: 0, maxval: 1}\n");
    const double metrics[] = {0.5, (double)INFINITY, (double)NAN, 1e308, -1e308};
    double shares[2], first = 0;

    (void)state;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        broken_metric = metrics[i];
        CHECK_OK(shares_of(shares, space, 200, broken, 1));
        CHECK(shares[0] > 0.9 && shares[1] < 0.05);
        first = i == 1 ? shares[0] : first;
        CHECK(i != 2 || shares[0] == first);
    }
    rgm_space_release(space);
}

static double same(const rgm_hyper_value *v)
{
    (void)v;
    return 2;
}

static void trials_that_do_not_differ_are_refused(void **state)
{
    rgm_space *space = space_of("a: {type: double, minval: 0, maxval: 1}\n");
    double shares[1] = {7};

    (void)state;
    CHECK_STATUS(RGM_ERR_DATA, shares_of(shares, space, 20, same, 0));
    CHECK_MESSAGE("no two differ");
    CHECK_STATUS(RGM_ERR_DATA, shares_of(shares, space, 0, same, 0));
    CHECK(shares[0] == 0);
    rgm_space_release(space);
    space = space_of("a: 3\n"); /* nothing varies, so nothing has a share */
    CHECK_OK(
        rgm_space_importance(shares, space,
                             (const rgm_hyper_value *const[]){&(rgm_hyper_value){.is_set = true},
                                                              &(rgm_hyper_value){.is_set = true}},
                             (const double[]){1, 2}, 2, 0));
    CHECK(shares[0] == 0);
    rgm_space_release(space);
}

static void the_same_seed_gives_the_same_bits(void **state)
{
    rgm_space *space = space_of("kind: {type: categorical, vals: [a, b, c]}\n"
                                "layers: {type: int, minval: 1, maxval: 12}\n"
                                "rate: {type: log, base: 10, minval: -5, maxval: 0}\n");
    double a[3], b[3], c[3];

    (void)state;
    CHECK_OK(shares_of(a, space, 100, mixed, 5));
    CHECK_OK(shares_of(b, space, 100, mixed, 5));
    CHECK_OK(shares_of(c, space, 100, mixed, 6));
    CHECK(memcmp(a, b, sizeof a) == 0 && memcmp(a, c, sizeof a) != 0);
    rgm_space_release(space);
}

/* Halving of 64 trials at 1, 4, 16 and 64: at 1 the rate decides, among the survivors, whose rates
 * are alike, the smoothing does. */
static int64_t halve(rgm_validated *out, const rgm_hyper_value *values, int64_t n)
{
    int64_t count = 0, left[64], trials = 64;

    for (int64_t i = 0; i < 64; i++)
        left[i] = i;
    for (int64_t length = 1; length <= 64; length *= 4, trials /= 4) {
        rgm_validated *level = out + count;
        for (int64_t i = 0; i < trials; i++) {
            double rate = values[left[i] * n].number, smoothing = values[left[i] * n + 1].number;
            rgm_validated v = {left[i], (double)length * (i % 2 == 0 ? 1 : 0.99),
                               fabs(rate - 0.5) + 0.02 * smoothing};
            int64_t at = i;
            for (; at > 0 && level[at - 1].key > v.key; at--)
                level[at] = level[at - 1];
            level[at] = v;
        }
        for (int64_t i = 0; i < trials; i++)
            left[i] = level[i].trial;
        count += trials;
    }
    return count;
}

static void importance_is_over_all_trials_and_not_the_survivors(void **state)
{
    rgm_space *space = space_of("rate: {type: double, minval: 0, maxval: 1}\n"
                                "smoothing: {type: double, minval: 0, maxval: 1}\n");
    rgm_hyper_value values[64 * 2];
    const rgm_hyper_value *rows[64];
    rgm_validated all[100];
    rgm_common_length common;
    double shares[2];
    rgm_mt19937 random;
    int64_t count;

    (void)state;
    rgm_mt19937_seed(&random, 5);
    for (int64_t i = 0; i < 64; i++) {
        CHECK_OK(rgm_space_draw(values + 2 * i, space, &random));
        rows[i] = values + 2 * i;
    }
    count = halve(all, values, 2);
    CHECK_INT(85, count);
    CHECK_OK(
        rgm_space_importance_at_common_length(shares, &common, space, rows, 64, all, count, 0));
    CHECK(shares[0] > 0.8 && shares[1] < 0.1);
    CHECK_INT(64, common.trials);
    CHECK_INT(64, common.of);
    CHECK(common.length == 1);
    /* of the 16 that went on alone it would be another story */
    CHECK_OK(
        rgm_space_importance_at_common_length(shares, &common, space, rows, 64, all + 64, 16, 0));
    CHECK(shares[0] < 0.8);
    CHECK_INT(16, common.trials);
    /* Two trials that are behind do not hold up the others, and what is untrained is not looked at.
     */
    for (int64_t i = 0; i < 20; i++) {
        all[2 * i] = (rgm_validated){i, 0, 1};
        all[2 * i + 1] = (rgm_validated){i, i < 2 ? 4 : 8, rows[i][0].number};
    }
    CHECK_OK(rgm_space_importance_at_common_length(shares, &common, space, rows, 64, all, 40, 0));
    CHECK(common.length == 8);
    CHECK_INT(18, common.trials);
    CHECK_INT(20, common.of);
    CHECK_STATUS(RGM_ERR_DATA, rgm_space_importance_at_common_length(shares, &common, space, rows,
                                                                     64, all, 6, 0));
    CHECK_INT(3, common.of);
    CHECK_STATUS(RGM_ERR_DATA, rgm_space_importance_at_common_length(shares, &common, space, rows,
                                                                     64, NULL, 0, 0));
    CHECK(common.length == 0);
    rgm_space_release(space);
}

static rgm_space *oom_space;
static double oom_shares[3];

static void every_failing_allocation_is_told(void **state)
{
    (void)state;
    oom_space = space_of("kind: {type: categorical, vals: [a, b, c]}\n"
                         "layers: {type: int, minval: 1, maxval: 12}\n"
                         "rate: {type: log, base: 10, minval: -5, maxval: 0}\n");
    CHECK_EVERY_OOM(shares_of(oom_shares, oom_space, 10, mixed, 0), (void)0);
    rgm_space_release(oom_space);
}

TESTS(cmocka_unit_test(a_tree_is_cut_where_the_error_is_smallest),
      cmocka_unit_test(shares_are_those_of_known_functions),
      cmocka_unit_test(what_is_not_always_there_counts_where_it_is),
      cmocka_unit_test(keys_that_are_no_numbers_count_as_the_worst),
      cmocka_unit_test(trials_that_do_not_differ_are_refused),
      cmocka_unit_test(the_same_seed_gives_the_same_bits),
      cmocka_unit_test(importance_is_over_all_trials_and_not_the_survivors),
      cmocka_unit_test(every_failing_allocation_is_told))
