/*
 * CMA-ES: constants and generations against those of the Python package cmaes 0.13.1, given the
 * same points; and that it finds minima.
 */
#include <check.h>

#include "samplers_internal.h"

/* ---- the same generations ------------------------------------------------------------------ */

/* The oracle draws its points by the same rule. */
static double next_unit(uint64_t *state)
{
    *state = (*state * 1103515245 + 12345) % (UINT64_C(1) << 31);
    return (double)*state / (double)(UINT64_C(1) << 31);
}

static double bowl(const double *x, int64_t n)
{
    double sum = 0;

    for (int64_t j = 0; j < n; j++) {
        double far = x[j] - 0.3 - 0.1 * (double)j;
        sum += (double)(j + 1) * far * far;
    }
    return sum;
}

/* Points around the mean, sorted by bowl(); the first that was made goes to `first`. */
static void make_generation(double *points, double *first, const rgmi_cma *m, uint64_t *state)
{
    int64_t n = m->n;
    double x[8];

    for (int64_t k = 0; k < m->population; k++) {
        int64_t at = k;
        for (int64_t j = 0; j < n; j++)
            x[j] =
                m->mean[j] + m->sigma * (next_unit(state) * 4 - 2) * ((j + k) % 2 != 0 ? 1 : 0.6);
        if (k == 0)
            memcpy(first, x, (size_t)n * sizeof *x);
        for (; at > 0 && bowl(x, n) < bowl(points + (at - 1) * n, n); at--)
            memcpy(points + at * n, points + (at - 1) * n, (size_t)n * sizeof *x);
        memcpy(points + at * n, x, (size_t)n * sizeof *x);
    }
}

static void check_all(const double *want, const double *is, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        CHECK_CLOSE(is[i], want[i], 1e-10, 1e-12);
}

static void constants_are_those_of_the_tutorial(void **state)
{
    static const double weights[] = {
        0.5299301844787792,   0.2857142857142857,  0.14285714285714282, 0.041498386949792215,
        -0.17013144983238102, -0.4645361478293983, -0.7134517732694925, -0.9290722956587966};
    const double mean[4] = {0.5, 0.5, 0.5, 0.5};
    const int64_t cells[4] = {0};
    rgmi_cma m;

    (void)state;
    CHECK_OK(rgmi_cma_create(&m, 4, 0, mean, 0.2, cells));
    CHECK_INT(8, m.population);
    CHECK_INT(4, m.parents);
    check_all(weights, m.weights, 8);
    CHECK_CLOSE(m.mu_eff, 2.6001788261131793, 1e-14, 0);
    CHECK_CLOSE(m.c1, 0.06516742738228268, 1e-14, 0);
    CHECK_CLOSE(m.c_mu, 0.05102399983259446, 1e-14, 0);
    CHECK_CLOSE(m.c_sigma, 0.39656102677983807, 1e-14, 0);
    CHECK_CLOSE(m.d_sigma, 1.396561026779838, 1e-14, 0);
    CHECK_CLOSE(m.c_c, 0.5, 1e-14, 0);
    CHECK_CLOSE(m.chi_n, 1.880952380952381, 1e-14, 0);
    rgmi_cma_clear(&m);
}

static void generations_are_those_of_cmaes(void **state)
{
    static const double mean_1[] = {0.4913242733438554, 0.4720599401804678, 0.5772502020874752,
                                    0.6310202692366438};
    static const double mean_4[] = {0.2697009279474368, 0.35941116072701906, 0.4699860188469435,
                                    0.49451101328624986};
    static const double path_sigma[] = {-1.2959656533328863, -0.5265643762721998,
                                        -0.04975648967305657, -1.1215755611008216};
    static const double path_c[] = {-1.164828657050556, -0.28682089285680235, -0.28541105151002066,
                                    -0.8851767696744114};
    static const double c[] = {
        1.2774346302766637,   -0.05585790278793805, 0.293443289957357,   0.040607253395006815,
        -0.05585790278793805, 0.7090800222908357,   -0.1255420758227902, -0.0224657611053167,
        0.293443289957357,    -0.12554207582279017, 0.9862289175848359,  0.3357166220782433,
        0.040607253395006815, -0.0224657611053167,  0.33571662207824327, 0.616940530478486};
    const double mean[4] = {0.5, 0.5, 0.5, 0.5};
    const int64_t cells[4] = {0};
    double points[8 * 4], first[4];
    uint64_t draws = 12345;
    rgmi_cma m;

    (void)state;
    CHECK_OK(rgmi_cma_create(&m, 4, 0, mean, 0.2, cells));
    for (int generation = 1; generation <= 4; generation++) {
        make_generation(points, first, &m, &draws);
        rgmi_cma_update(&m, points);
        if (generation == 1) {
            check_all(mean_1, m.mean, 4);
            CHECK_CLOSE(m.sigma, 0.17498312735552995, 1e-10, 0);
        }
    }
    check_all(mean_4, m.mean, 4);
    check_all(path_sigma, m.path_sigma, 4);
    check_all(path_c, m.path_c, 4);
    check_all(c, m.c, 16);
    CHECK_CLOSE(m.sigma, 0.1626826193585445, 1e-10, 0);
    rgmi_cma_clear(&m);
}

/* One axis of two integers, where one of them is always at the edge, a real one, one of ten. */
static void integers_keep_a_margin_as_in_cmaes(void **state)
{
    static const double mean_1[] = {0.48435501289014654, 0.4946291660370707, 0.5030546001695554};
    static const double mean_4[] = {0.4464025698412403, 0.4454729429929252, 0.5140452137279717};
    static const double a[] = {1.0, 1.0, 2.9400330600256543};
    static const int64_t integers[4][2] = {{1, 5}, {0, 5}, {0, 5}, {0, 5}}; /* of the first point */
    const double mean[3] = {0.5, 0.5, 0.5};
    const int64_t cells[3] = {2, 0, 10};
    double points[7 * 3], first[3];
    uint64_t draws = 12345;
    rgmi_cma m;

    (void)state;
    CHECK_OK(rgmi_cma_create(&m, 3, 0, mean, 0.02, cells));
    for (int generation = 0; generation < 4; generation++) {
        make_generation(points, first, &m, &draws);
        CHECK_INT(integers[generation][0], rgmi_cma_cell(&m, 0, first[0]));
        CHECK_INT(integers[generation][1], rgmi_cma_cell(&m, 2, first[2]));
        rgmi_cma_update(&m, points);
        if (generation == 0)
            check_all(mean_1, m.mean, 3);
    }
    check_all(mean_4, m.mean, 3);
    check_all(a, m.a, 3);
    CHECK_CLOSE(m.sigma, 0.027823129028422666, 1e-10, 0);
    rgmi_cma_clear(&m);
}

/* C = B D^2 B^T, and B's columns are of length 1 and at right angles; a point of normals lies as
 * far from the mean as they are long. */
static void the_matrix_is_decomposed(void **state)
{
    const double mean[3] = {0.5, 0.5, 0.5}, normals[3] = {1, -2, 2};
    const int64_t cells[3] = {0};
    double points[7 * 3], first[3], x[3];
    uint64_t draws = 7;
    rgmi_cma m;

    (void)state;
    CHECK_OK(rgmi_cma_create(&m, 3, 0, mean, 0.2, cells));
    for (int generation = 1; generation <= 30; generation++) {
        make_generation(points, first, &m, &draws);
        rgmi_cma_update(&m, points);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double c = 0, dot = 0;
            for (int k = 0; k < 3; k++) {
                c += m.b[i * 3 + k] * m.d[k] * m.d[k] * m.b[j * 3 + k];
                dot += m.b[k * 3 + i] * m.b[k * 3 + j];
            }
            CHECK_CLOSE(c, m.c[i * 3 + j], 1e-12, 1e-14);
            CHECK_CLOSE(dot, i == j, 1e-12, 1e-14);
        }
    rgmi_cma_point(x, &m, normals);
    CHECK_CLOSE(rgmi_cma_distance(&m, x), 3, 1e-12, 0);
    rgmi_cma_clear(&m);
}

/* ---- minima -------------------------------------------------------------------------------- */

/* A narrow valley that lies across the axes, by a factor of 1000. */
static double valley(const double *x, int64_t n)
{
    double along = 0, across = 0;

    for (int64_t j = 0; j < n; j++)
        along += x[j] - 0.37;
    for (int64_t j = 1; j < n; j++)
        across += (x[j] - x[j - 1]) * (x[j] - x[j - 1]);
    return along * along + 1e6 * across;
}

static void a_narrow_valley_is_followed(void **state)
{
    enum { N = 6, MOST = 400 };
    const double mean[N] = {0.9, 0.1, 0.8, 0.3, 0.5, 0.7};
    const int64_t cells[N] = {0};
    double points[16 * N], x[N], normals[N];
    rgm_mt19937 random;
    rgmi_cma m;

    (void)state;
    rgm_mt19937_seed(&random, 5);
    CHECK_OK(rgmi_cma_create(&m, N, 0, mean, 0.2, cells));
    for (int g = 0; g < MOST && !rgmi_cma_is_over(&m); g++) {
        for (int64_t k = 0; k < m.population; k++) {
            int64_t at = k;
            for (int j = 0; j < N; j++)
                normals[j] = rgmi_draw_normal(&random);
            rgmi_cma_point(x, &m, normals);
            for (; at > 0 && valley(x, N) < valley(points + (at - 1) * N, N); at--)
                memcpy(points + at * N, points + (at - 1) * N, sizeof x);
            memcpy(points + at * N, x, sizeof x);
        }
        rgmi_cma_update(&m, points);
    }
    CHECK(valley(m.mean, N) < 1e-12);
    for (int j = 0; j < N; j++)
        CHECK_CLOSE(m.mean[j], 0.37, 0, 1e-6);
    rgmi_cma_clear(&m);
}

static rgm_status create_once(rgmi_cma *m)
{
    const double mean[2] = {0.5, 0.5};
    const int64_t cells[2] = {0, 4};

    rgm_status status = rgmi_cma_create(m, 2, 0, mean, 0.2, cells);

    if (status != RGM_OK)
        rgmi_cma_clear(m);
    return status;
}

static void every_failing_allocation_is_told(void **state)
{
    rgmi_cma m;

    (void)state;
    CHECK_EVERY_OOM(create_once(&m), rgmi_cma_clear(&m));
}

TESTS(cmocka_unit_test(constants_are_those_of_the_tutorial),
      cmocka_unit_test(generations_are_those_of_cmaes),
      cmocka_unit_test(integers_keep_a_margin_as_in_cmaes),
      cmocka_unit_test(the_matrix_is_decomposed), cmocka_unit_test(a_narrow_valley_is_followed),
      cmocka_unit_test(every_failing_allocation_is_told))
