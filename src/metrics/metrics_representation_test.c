/*
 * Metrics of states against figures worked by hand, against sums over pairs and traces, which need
 * no singular values, and against matrices with chosen singular values.
 */
#include <check.h>

#include <regimen/metrics.h>

#include <math.h>

enum { MOST = 40 };

static const rgm_metric_type *const all[] = {&rgm_metric_rankme, &rgm_metric_numerical_rank,
                                             &rgm_metric_pseudo_condition_number,
                                             &rgm_metric_coherence, &rgm_metric_self_clustering};
enum { RANKME, NUMERICAL_RANK, CONDITION, COHERENCE, CLUSTERING, KINDS };

static void update(double *sums, const rgm_metric *metric, const double *x, int64_t n, int64_t d,
                   const double *w)
{
    rgm_tensor *states, *weights = NULL;

    CHECK_OK(rgm_tensor_create_from(&states, RGM_F64, 2, (int64_t[]){n, d}, x));
    if (w != NULL)
        CHECK_OK(rgm_tensor_create_from(&weights, RGM_F64, 1, &n, w));
    metric->type->update(sums, metric,
                         &(rgm_metric_batch){.predictions = states, .weights = weights});
    rgm_tensor_release(states);
    rgm_tensor_release(weights);
}

/* The metric of one batch, or of x twice as two batches. */
static double of(int kind, const double *x, int64_t n, int64_t d, const double *w, int batches)
{
    rgm_metric metric = {.type = all[kind], .outputs = d};
    double *sums, result;

    CHECK_OK(RGM_NEW(sums, metric.type->state_size(&metric)));
    for (int b = 0; b < batches; b++)
        update(sums, &metric, x, n, d, w);
    result = metric.type->result(sums, &metric);
    rgm_free(sums);
    return result;
}

static void figures_by_hand(void **state)
{
    static const double orthogonal[] = {1, 0, 0, 1}, stretched[] = {3, 0, 0, 1};
    static const double one_direction[] = {1, 2, 2, 4, -3, -6}; /* of rank 1 */
    static const double wide[] = {2, 0, 0, 0, 1, 0}, tall[] = {1, 0, 0, 1, 1, 0, 1, 0};
    static const double zeros[4] = {0}, column[] = {3, -1, 2, 5};
    const double of_31 = exp(-0.75 * log(0.75) - 0.25 * log(0.25)); /* s = 3, 1 */
    const double of_21 = exp(-2. / 3 * log(2. / 3) - 1. / 3 * log(1. / 3));
    const double r3 = 1.7320508075688772;
    const double of_r3 = exp(-r3 / (r3 + 1) * log(r3 / (r3 + 1)) - log(1 / (r3 + 1)) / (r3 + 1));
    const struct {
        const double *x;
        int64_t n, d;
        double expected[KINDS];
    } cases[] = {{orthogonal, 2, 2, {2, 2, 1, 1, -1}}, /* clustering: (2 - 3) / (4 - 3) */
                 {stretched, 2, 2, {of_31, 10. / 9, 3, 1, -1}},
                 {one_direction, 3, 2, {1, 1, 0, 3 * 45. / 70, 1}}, /* of x's 5, 20, 45 */
                 {wide, 2, 3, {of_21, 5. / 4, 2, 1, -0.5}},         /* (2 - 8/3) / (4 - 8/3) */
                 {tall, 4, 2, {of_r3, 4. / 3, r3, 2, 0}}, /* s^2 = 3, 1; (10 - 10) / (16 - 10) */
                 {zeros, 2, 2, {0, 0, 0, 0, 1}},
                 {column, 4, 1, {1, 1, 1, 4 * 25. / 39, 1}},
                 {orthogonal, 1, 2, {1, 1, 1, 1, 1}}};

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int k = 0; k < KINDS; k++) {
            double is = of(k, cases[c].x, cases[c].n, cases[c].d, NULL, 1);

            if (!(fabs(is - cases[c].expected[k]) < 1e-9))
                fail_msg("case %zu: %s is %.12g, not %.12g", c, all[k]->name, is,
                         cases[c].expected[k]);
        }
}

/* Compared with numpy 2's svd of the same matrix. */
static void figures_are_those_of_an_svd(void **state)
{
    static const double x[] = {1.5,  -2, 0.25,  0.5, 1,    3,   -1,   2,
                               0.75, 2,  0.125, -1,  0.25, 0.5, -0.75};
    static const double expected[KINDS] = {2.88970009582097, 1.81497755584302, 1.99422575939554,
                                           1.53498815812805, -0.14633549759119};

    (void)state;
    for (int k = 0; k < KINDS; k++)
        CHECK_CLOSE(of(k, x, 5, 3, NULL, 1), expected[k], 1e-13, 0);
}

/* X = sum s_k u_k v_k' of columns u and v of Hadamard's matrix of 4. */
static void singular_values_are_those_that_were_chosen(void **state)
{
    static const double h[4][4] = {{1, 1, 1, 1}, {1, -1, 1, -1}, {1, 1, -1, -1}, {1, -1, -1, 1}};
    static const double s[2][4] = {{8, 4, 2, 2}, {5, 5, 1, 0}};

    (void)state;
    for (int c = 0; c < 2; c++) {
        double x[16] = {0}, sum = 0, squares = 0, entropy = 0;

        for (int k = 0; k < 4; k++) {
            for (int i = 0; i < 16; i++)
                x[i] += s[c][k] * h[i / 4][k] * h[i % 4][(k + 1) % 4] / 4;
            sum += s[c][k];
            squares += s[c][k] * s[c][k];
        }
        for (int k = 0; k < 4; k++)
            entropy -= s[c][k] > 0 ? s[c][k] / sum * log(s[c][k] / sum) : 0;
        CHECK_CLOSE(of(RANKME, x, 4, 4, NULL, 1), exp(entropy), 1e-9, 0);
        CHECK_CLOSE(of(NUMERICAL_RANK, x, 4, 4, NULL, 1), squares / (s[c][0] * s[c][0]), 1e-12, 0);
        CHECK_CLOSE(of(CONDITION, x, 4, 4, NULL, 1), c == 0 ? 4 : 0, 1e-9, 1e-12);
        CHECK_CLOSE(of(COHERENCE, x, 4, 4, NULL, 1), 1, 1e-9, 0); /* all items weigh the same */
    }
}

static double squared_cosines(const double *x, int64_t n, int64_t d)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n; k++) {
            double xy = 0, xx = 0, yy = 0;

            for (int64_t c = 0; c < d; c++) {
                xy += x[i * d + c] * x[k * d + c];
                xx += x[i * d + c] * x[i * d + c];
                yy += x[k * d + c] * x[k * d + c];
            }
            sum += xy * xy / (xx * yy);
        }
    return sum;
}

/* Neither the scale of all states, nor a rotation of their axes, nor their order changes a metric;
 * and |X|^2 / s_0^2 and the sum over pairs equal their definitions. */
static void metrics_agree_with_sums_over_entries(void **state)
{
    rgm_rng rng = rgm_rng_stream(3, "states", 0);
    double x[MOST * 6], changed[MOST * 6];

    (void)state;
    for (int64_t n = 2; n <= MOST; n += 5) {
        double expected = (double)n + (double)(n * (n - 1)) / 6, squares = 0, largest;

        for (int64_t i = 0; i < n * 6; i++) {
            int64_t row = i / 6, c = i % 6, to = (n - 1 - row) * 6;

            x[i] = rgm_rng_normal(&rng, (uint64_t)i);
            squares += x[i] * x[i];
            changed[to + (c + 1) % 6] = c < 2 ? 0 : 3 * x[i];
            if (c == 1) { /* the first two columns are turned */
                changed[to + 1] = 3 * (0.6 * x[i - 1] - 0.8 * x[i]);
                changed[to + 2] = 3 * (0.8 * x[i - 1] + 0.6 * x[i]);
            }
        }
        for (int k = 0; k < KINDS; k++)
            CHECK_CLOSE(of(k, changed, n, 6, NULL, 1), of(k, x, n, 6, NULL, 1), 1e-7, 1e-12);
        CHECK_CLOSE(of(CLUSTERING, x, n, 6, NULL, 1),
                    (squared_cosines(x, n, 6) - expected) / ((double)(n * n) - expected), 1e-9,
                    1e-12);
        largest = squares / of(NUMERICAL_RANK, x, n, 6, NULL, 1);
        CHECK(largest <= squares && largest >= squares / fmin((double)n, 6));
        CHECK(of(RANKME, x, n, 6, NULL, 1) <= fmin((double)n, 6) + 1e-9);
        CHECK(of(COHERENCE, x, n, 6, NULL, 1) >= 1 - 1e-9);
        CHECK(of(COHERENCE, x, n, 6, NULL, 1) <= fmax(1, (double)n / 6) + 1e-9);
    }
}

static void padding_counts_nowhere(void **state)
{
    static const double x[] = {1, 2, 3, -1, 99, -70, 0.5, 4, 60, 60};
    static const double real[] = {1, 2, 3, -1, 0.5, 4}, weights[] = {1, 1, 0, 1, 0};
    static const double none[5] = {0};

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        CHECK(of(k, x, 5, 2, weights, 1) == of(k, real, 3, 2, NULL, 1));
        CHECK(of(k, x, 5, 2, weights, 1) != of(k, x, 5, 2, NULL, 1));
        CHECK(of(k, x, 5, 2, none, 1) == 0);
        CHECK(of(k, real, 3, 2, NULL, 2) == of(k, real, 3, 2, NULL, 1));
    }
}

/* The mean of batches, one of which is only padding; NaN if a state is NaN. */
static void batches_are_averaged(void **state)
{
    static const double one[] = {1, 0, 0, 1}, other[] = {3, 0, 0, 1}, none[2] = {0};
    static const double broken[] = {1, NAN, 0, 1};

    (void)state;
    for (int k = 0; k < KINDS; k++) {
        rgm_metric metric = {.type = all[k], .outputs = 2};
        double *sums, mean;

        CHECK_OK(RGM_NEW(sums, metric.type->state_size(&metric)));
        CHECK(metric.type->result(sums, &metric) == 0);
        update(sums, &metric, one, 2, 2, NULL);
        update(sums, &metric, one, 2, 2, none);
        update(sums, &metric, other, 2, 2, NULL);
        update(sums, &metric, one, 1, 4,
               NULL); /* another number of columns than the metric was made for */
        mean = (of(k, one, 2, 2, NULL, 1) + of(k, other, 2, 2, NULL, 1)) / 2;
        CHECK_CLOSE(metric.type->result(sums, &metric), mean, 1e-12, 0);
        update(sums, &metric, broken, 2, 2, NULL);
        CHECK(isnan(metric.type->result(sums, &metric)));
        rgm_free(sums);
    }
}

/* Above the bound every second row is used: those between may be anything. */
static void many_rows_are_thinned(void **state)
{
    enum { N = RGM_MOST_REPRESENTED_ROWS };
    double *every, *second;

    (void)state;
    CHECK_OK(RGM_NEW(every, 4 * N));
    CHECK_OK(RGM_NEW(second, 2 * N));
    for (int64_t i = 0; i < N; i++) {
        second[2 * i] = every[4 * i] = (double)(i % 7) - 3;
        second[2 * i + 1] = every[4 * i + 1] = (double)(i % 5) - 1;
        every[4 * i + 2] = 1000;
        every[4 * i + 3] = -(double)i;
    }
    for (int k = 0; k < KINDS; k++)
        CHECK(of(k, every, 2 * N, 2, NULL, 1) == of(k, second, N, 2, NULL, 1));
    rgm_free(every);
    rgm_free(second);
}

TESTS(cmocka_unit_test(figures_by_hand), cmocka_unit_test(figures_are_those_of_an_svd),
      cmocka_unit_test(singular_values_are_those_that_were_chosen),
      cmocka_unit_test(metrics_agree_with_sums_over_entries),
      cmocka_unit_test(padding_counts_nowhere), cmocka_unit_test(batches_are_averaged),
      cmocka_unit_test(many_rows_are_thinned))
