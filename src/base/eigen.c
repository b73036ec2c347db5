/*
 * Eigenvalues of symmetric matrices: reflections make a tridiagonal matrix, rotations a diagonal
 * one. Vectors are kept by rows, so that whatever is turned lies side by side in memory.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include <regimen/base.h>

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* ---- tridiagonal --------------------------------------------------------------------------- */

/* x [n] becomes v of the reflection 1 - *beta v v' that leaves x its first entry alone: the value.
 */
static double reflection(double *beta, double *x, int64_t n)
{
    double rest = dot(x + 1, x + 1, n - 1), size = sqrt(x[0] * x[0] + rest);
    double first = x[0] > 0 ? -size : size;

    *beta = 0;
    if (rest < DBL_MIN) /* nothing to be taken away */
        return x[0];
    x[0] -= first;
    *beta = 2 / (x[0] * x[0] + rest);
    return first;
}

/* a -= v w' + w v' of its rows and columns from `from` on; w [n] is made here. */
static void reflect_both_sides(double *a, double *w, const double *v, double beta, int64_t from,
                               int64_t n)
{
    double half;

    for (int64_t i = from; i < n; i++)
        w[i] = beta * dot(a + i * n + from, v + from, n - from);
    half = beta / 2 * dot(w + from, v + from, n - from);
    for (int64_t i = from; i < n; i++)
        w[i] -= half * v[i];
    for (int64_t i = from; i < n; i++)
        for (int64_t k = from; k < n; k++)
            a[i * n + k] -= v[i] * w[k] + w[i] * v[k];
}

/* d, e: the diagonals. Row i of a keeps the reflection that made it, from i + 1 on; betas its
 * factor. */
static void tridiagonalise(double *a, double *d, double *e, double *betas, double *w, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = a + i * n;

        betas[i] = e[i] = 0;
        d[i] = row[i];
        if (i + 1 == n)
            return;
        e[i] = reflection(&betas[i], row + i + 1, n - i - 1);
        if (betas[i] != 0)
            reflect_both_sides(a, w, row, betas[i], i + 1, n);
    }
}

/* The product of all reflections, transposed. From the last back each touches its own corner. */
static void join_reflections(double *vectors, const double *a, const double *betas, int64_t n)
{
    memset(vectors, 0, (size_t)(n * n) * sizeof *vectors);
    for (int64_t i = 0; i < n; i++)
        vectors[i * n + i] = 1;
    for (int64_t i = n - 2; i >= 0; i--)
        for (int64_t row = i + 1; row < n && betas[i] != 0; row++) {
            double *x = vectors + row * n;
            const double *v = a + i * n;
            double by = betas[i] * dot(x + i + 1, v + i + 1, n - i - 1);

            for (int64_t k = i + 1; k < n; k++)
                x[k] -= by * v[k];
        }
}

/* ---- diagonal ------------------------------------------------------------------------------ */

static void turn_rows(double *x, double *y, double c, double s, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        double u = x[k], v = y[k];

        x[k] = c * u - s * v;
        y[k] = s * u + c * v;
    }
}

/* A bulge is chased from `last` up to `first`, by Wilkinson's shift. */
static void chase(double *d, double *e, double *vectors, int64_t first, int64_t last, int64_t n)
{
    double ratio = (d[first + 1] - d[first]) / (2 * e[first]);
    double shift = d[first] - e[first] / (ratio + copysign(hypot(ratio, 1), ratio));
    double g = d[last] - shift, c = 1, s = 1, moved = 0;

    for (int64_t i = last - 1; i >= first; i--) {
        double f = s * e[i], b = c * e[i], size = hypot(f, g), t;

        e[i + 1] = size;
        if (size == 0) { /* it falls apart here */
            d[i + 1] -= moved;
            e[last] = 0;
            return;
        }
        s = f / size;
        c = g / size;
        g = d[i + 1] - moved;
        t = (d[i] - g) * s + 2 * c * b;
        moved = s * t;
        d[i + 1] = g + moved;
        g = c * t - b;
        if (vectors != NULL)
            turn_rows(vectors + i * n, vectors + (i + 1) * n, c, s, n);
    }
    d[first] -= moved;
    e[first] = g;
    e[last] = 0;
}

static double largest_entry(const double *d, const double *e, int64_t n)
{
    double most = 0;

    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fmax(fabs(d[i]), fabs(e[i])));
    return most;
}

static rgm_status diagonalise(double *d, double *e, double *vectors, int64_t n)
{
    enum { MOST_TURNS = 60 };
    double small = DBL_EPSILON * largest_entry(d, e, n);

    for (int64_t first = 0; first < n; first++)
        for (int turns = 0;; turns++) {
            int64_t last = first;

            while (last + 1 < n && !(fabs(e[last]) <= small))
                last++;
            if (last == first)
                break;
            if (turns == MOST_TURNS)
                return RGM_FAIL(RGM_ERR_NUMERIC,
                                "the eigenvalues of a matrix of %lld rows were not found",
                                (long long)n);
            chase(d, e, vectors, first, last, n);
        }
    return RGM_OK;
}

static void sort_pairs(double *values, double *vectors, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t least = i;
        double kept = values[i];

        for (int64_t k = i + 1; k < n; k++)
            if (values[k] < values[least])
                least = k;
        values[i] = values[least];
        values[least] = kept;
        for (int64_t k = 0; k < n && least != i && vectors != NULL; k++) {
            kept = vectors[i * n + k];
            vectors[i * n + k] = vectors[least * n + k];
            vectors[least * n + k] = kept;
        }
    }
}

rgm_status rgm_symmetric_eigen(double *values, double *vectors, double *a, double *work, int64_t n)
{
    double *e = work, *betas = work + n, *w = work + 2 * n;

    for (int64_t i = 0; i < n * n; i++)
        if (!isfinite(a[i]))
            return RGM_FAIL(RGM_ERR_NUMERIC, "entry (%lld, %lld) of a matrix is no finite number",
                            (long long)(i / n), (long long)(i % n));
    tridiagonalise(a, values, e, betas, w, n);
    if (vectors != NULL)
        join_reflections(vectors, a, betas, n);
    RGM_TRY(diagonalise(values, e, vectors, n));
    sort_pairs(values, vectors, n);
    return RGM_OK;
}
