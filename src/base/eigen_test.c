/* Eigenvalues of matrices whose values are known, and of random ones by what defines them. */
#include <check.h>

#include <float.h>
#include <math.h>

enum { MOST = 40 };

typedef struct solved {
    double a[MOST * MOST], values[MOST], vectors[MOST * MOST];
    int64_t n;
} solved;

static void solve(solved *s, const double *a, int64_t n)
{
    double work[3 * MOST], alone[MOST], destroyed[MOST * MOST];

    s->n = n;
    memcpy(s->a, a, (size_t)(n * n) * sizeof *a);
    memcpy(destroyed, a, (size_t)(n * n) * sizeof *a);
    CHECK_OK(rgm_symmetric_eigen(s->values, s->vectors, destroyed, work, n));
    memcpy(destroyed, a, (size_t)(n * n) * sizeof *a);
    CHECK_OK(rgm_symmetric_eigen(alone, NULL, destroyed, work, n));
    for (int64_t i = 0; i < n; i++)
        CHECK(alone[i] == s->values[i]);
}

/* |a x - value x|, |x . y| and the order of values, all relative to the largest value. */
static void check_definition(const solved *s)
{
    double size = fmax(fabs(s->values[0]), fabs(s->values[s->n - 1]));
    double close = 50 * DBL_EPSILON * (double)s->n * fmax(size, DBL_MIN);

    for (int64_t k = 0; k < s->n; k++) {
        const double *x = s->vectors + k * s->n;

        CHECK(k == 0 || s->values[k - 1] <= s->values[k]);
        for (int64_t i = 0; i < s->n; i++) {
            double of_row = 0, with_other = 0;

            for (int64_t j = 0; j < s->n; j++) {
                of_row += s->a[i * s->n + j] * x[j];
                with_other += s->vectors[i * s->n + j] * x[j];
            }
            CHECK_CLOSE(of_row, s->values[k] * x[i], 0, close);
            CHECK_CLOSE(with_other, i == k, 0, 1e-13);
        }
    }
}

static void values_by_hand(void **state)
{
    static const double two[] = {2, 1, 1, 2}, swap[] = {0, 1, 1, 0}, zeros[9] = {0};
    static const double diagonal[] = {3, 0, 0, 0, -1, 0, 0, 0, 2};
    static const double three[] = {2, -1, 0, -1, 2, -1, 0, -1, 2}; /* 2 - sqrt 2, 2, 2 + sqrt 2 */
    static const struct {
        const double *a;
        int64_t n;
        double values[3];
    } cases[] = {{two, 2, {1, 3}},
                 {swap, 2, {-1, 1}},
                 {diagonal, 3, {-1, 2, 3}},
                 {three, 3, {2 - 1.4142135623730951, 2, 2 + 1.4142135623730951}},
                 {zeros, 3, {0, 0, 0}},
                 {two, 1, {2}},
                 {two, 0, {0}}};
    solved s;

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        solve(&s, cases[c].a, cases[c].n);
        for (int64_t i = 0; i < s.n; i++)
            CHECK_CLOSE(s.values[i], cases[c].values[i], 0, 1e-14);
        if (s.n > 0)
            check_definition(&s);
    }
}

/* Of full rank, of rank 3, and of entries far apart in size. */
static void vectors_are_what_defines_them(void **state)
{
    rgm_rng rng = rgm_rng_stream(5, "eigen", 0);
    static solved s;
    static double a[MOST * MOST], x[MOST * MOST];

    (void)state;
    for (uint64_t i = 0; i < MOST * MOST; i++)
        x[i] = rgm_rng_normal(&rng, i);
    for (int64_t n = 1; n <= MOST; n += 3)
        for (int64_t rank = 3; rank <= n + 3; rank += n)
            for (int scaled = 0; scaled < 2; scaled++) {
                for (int64_t i = 0; i < n * n; i++) {
                    int64_t row = i / n, column = i % n;

                    a[i] = 0;
                    for (int64_t k = 0; k < rank && k < n; k++)
                        a[i] += x[row * MOST + k] * x[column * MOST + k];
                    if (scaled)
                        a[i] *= pow(10, -(double)(row + column) / 4);
                }
                solve(&s, a, n);
                check_definition(&s);
                if (rank < n)
                    CHECK(fabs(s.values[n - 4]) < 1e-13 * s.values[n - 1]);
            }
}

static void what_is_no_number_is_refused(void **state)
{
    double a[4] = {1, NAN, NAN, 1}, values[2], vectors[4], work[6];

    (void)state;
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_symmetric_eigen(values, vectors, a, work, 2));
    CHECK_MESSAGE("entry (0, 1)");
    a[1] = a[2] = INFINITY;
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_symmetric_eigen(values, NULL, a, work, 2));
}

TESTS(cmocka_unit_test(values_by_hand), cmocka_unit_test(vectors_are_what_defines_them),
      cmocka_unit_test(what_is_no_number_is_refused))
