/*
 * Gaussian process regression (Rasmussen & Williams 2006, chapters 2, 4, 5): Matern 5/2 with a
 * length for each column, its hyperparameters by maximum a posteriori. Inner loops go over whole
 * rows, each element by itself, so that a compiler may make vectors of them and no bit depends on
 * whether it does.
 */
#include "samplers_internal.h"

#include <math.h>
#include <string.h>

enum { BATCH = 32 }; /* points predicted side by side */

static const double sqrt_5 = 2.23606797749978969641;
static const double log_two_pi = 1.83787706640934548356;

/* ---- priors -------------------------------------------------------------------------------- */

static double prior_mean(const rgmi_gp *gp, int64_t i)
{
    if (i < gp->width)
        return sqrt(2.0) - 3.0 + 0.5 * log((double)gp->width);
    return i == gp->width ? 0.0 : -5.0;
}

static double prior_deviation(const rgmi_gp *gp, int64_t i)
{
    return i < gp->width ? sqrt(3.0) : 1.0;
}

/* Within these exp() neither overflows nor vanishes, and K keeps 1e-9 of its size on the diagonal.
 */
static double bounded(const rgmi_gp *gp, int64_t i, double x)
{
    double low = i < gp->width ? -6.0 : i == gp->width ? -6.0 : -16.0;
    double high = i < gp->width ? 12.0 : i == gp->width ? 6.0 : 3.0;

    return x < low ? low : x > high ? high : x;
}

/* ---- making one ---------------------------------------------------------------------------- */

rgm_status rgmi_gp_create(rgmi_gp *gp, const double *x, const bool *categorical, int64_t count,
                          int64_t width)
{
    *gp = (rgmi_gp){.x = x, .categorical = categorical, .count = count, .width = width};
    RGM_TRY(RGM_NEW(gp->logs, width + 2));
    RGM_TRY(RGM_NEW(gp->weights, width + 1));
    RGM_TRY(RGM_NEW(gp->upper, count * count + 1));
    RGM_TRY(RGM_NEW(gp->alpha, count + 1));
    for (int64_t i = 0; i < width + 2; i++)
        gp->logs[i] = prior_mean(gp, i);
    return RGM_OK;
}

void rgmi_gp_clear(rgmi_gp *gp)
{
    rgm_free(gp->logs);
    rgm_free(gp->weights);
    rgm_free(gp->upper);
    rgm_free(gp->alpha);
    *gp = (rgmi_gp){0};
}

/* ---- kernel -------------------------------------------------------------------------------- */

static double squared_difference(const rgmi_gp *gp, int64_t column, double a, double b)
{
    if (gp->categorical[column])
        return a != b ? 1.0 : 0.0;
    return (a - b) * (a - b);
}

static double matern(double squared)
{
    double r = sqrt_5 * sqrt(squared);

    return (1.0 + r + r * r / 3.0) * exp(-r);
}

static double distance(const rgmi_gp *gp, const double *a, const double *b)
{
    double squared = 0;

    for (int64_t c = 0; c < gp->width; c++)
        squared += squared_difference(gp, c, a[c], b[c]) * gp->weights[c];
    return squared;
}

static double covariance(const rgmi_gp *gp, double signal, const double *a, const double *b)
{
    return signal * matern(distance(gp, a, b));
}

/* ---- linear algebra ------------------------------------------------------------------------ */

/* a [n, n], its upper half, becomes U of a = U^T U; false: it is not positive definite. */
static bool factor(double *a, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        double *row = a + k * n;
        if (!(row[k] > 1e-14))
            return false;
        double pivot = sqrt(row[k]);
        row[k] = pivot;
        for (int64_t j = k + 1; j < n; j++)
            row[j] /= pivot;
        for (int64_t i = k + 1; i < n; i++) {
            double *other = a + i * n, f = row[i];
            for (int64_t j = i; j < n; j++)
                other[j] -= f * row[j];
        }
    }
    return true;
}

/* x [n, m]: U^T x' = x, then U x' = x where `both`. */
static void solve(double *x, const double *upper, int64_t n, int64_t m, bool both)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = x + i * m, pivot = upper[i * n + i];
        for (int64_t j = 0; j < m; j++)
            row[j] /= pivot;
        for (int64_t k = i + 1; k < n; k++) {
            double *below = x + k * m, f = upper[i * n + k];
            for (int64_t j = 0; j < m; j++)
                below[j] -= f * row[j];
        }
    }
    for (int64_t i = n; both && i-- > 0;) {
        double *row = x + i * m, pivot = upper[i * n + i];
        for (int64_t k = i + 1; k < n; k++) {
            const double *below = x + k * m;
            double f = upper[i * n + k];
            for (int64_t j = 0; j < m; j++)
                row[j] -= f * below[j];
        }
        for (int64_t j = 0; j < m; j++)
            row[j] /= pivot;
    }
}

void rgmi_gp_condition(rgmi_gp *gp, const double *y)
{
    int64_t n = gp->count, w = gp->width;
    double signal = exp(gp->logs[w]), noise = exp(gp->logs[w + 1]);

    for (int64_t c = 0; c < w; c++)
        gp->weights[c] = exp(-2.0 * gp->logs[c]);
    /* Positive definite in exact arithmetic; what rounding takes away, jitter gives back. With a
     * jitter as large as n * signal the diagonal dominates, which factors in any arithmetic. */
    for (gp->jitter = 0;;) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = i; j < n; j++)
                gp->upper[i * n + j] = i == j
                                           ? signal + noise + gp->jitter
                                           : covariance(gp, signal, gp->x + i * w, gp->x + j * w);
        if (factor(gp->upper, n))
            break;
        gp->jitter = gp->jitter > 0 ? 10.0 * gp->jitter : 1e-10 * signal;
    }
    memcpy(gp->alpha, y, (size_t)n * sizeof *y);
    solve(gp->alpha, gp->upper, n, 1, true);
}

/* ---- hyperparameters ----------------------------------------------------------------------- */

/* d log p(y) / d log theta = 1/2 sum_ij (alpha_i alpha_j - K^-1_ij) dK_ij / d log theta. */
static void add_likelihood_gradient(double *gradient, const rgmi_gp *gp, const double *inverse)
{
    int64_t n = gp->count, w = gp->width;
    double signal = exp(gp->logs[w]), noise = exp(gp->logs[w + 1]);

    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i; j < n; j++) {
            const double *a = gp->x + i * w, *b = gp->x + j * w;
            double weight = gp->alpha[i] * gp->alpha[j] - inverse[i * n + j];
            if (i == j) {
                gradient[w] += 0.5 * weight * signal;
                gradient[w + 1] += 0.5 * weight * noise;
                continue;
            }
            double squared = distance(gp, a, b), r = sqrt_5 * sqrt(squared);
            double slope = weight * signal * 5.0 / 3.0 * (1.0 + r) * exp(-r);
            gradient[w] += weight * signal * matern(squared);
            for (int64_t c = 0; c < w; c++)
                gradient[c] += slope * squared_difference(gp, c, a[c], b[c]) * gp->weights[c];
        }
    }
}

double rgmi_gp_log_posterior(rgmi_gp *gp, const double *y)
{
    double sum = 0;

    rgmi_gp_condition(gp, y);
    for (int64_t i = 0; i < gp->count; i++) {
        sum -= 0.5 * y[i] * gp->alpha[i] + log(gp->upper[i * gp->count + i]);
        sum -= 0.5 * log_two_pi;
    }
    for (int64_t i = 0; i < gp->width + 2; i++) {
        double z = (gp->logs[i] - prior_mean(gp, i)) / prior_deviation(gp, i);
        sum -= 0.5 * z * z;
    }
    return sum;
}

rgm_status rgmi_gp_gradient(double *gradient, const rgmi_gp *gp)
{
    double *inverse;
    int64_t n = gp->count;

    RGM_TRY(RGM_NEW(inverse, n * n + 1));
    for (int64_t i = 0; i < n; i++)
        inverse[i * n + i] = 1.0;
    solve(inverse, gp->upper, n, n, true);
    for (int64_t i = 0; i < gp->width + 2; i++)
        gradient[i] =
            (prior_mean(gp, i) - gp->logs[i]) / prior_deviation(gp, i) / prior_deviation(gp, i);
    add_likelihood_gradient(gradient, gp, inverse);
    rgm_free(inverse);
    return RGM_OK;
}

/* ---- BFGS ---------------------------------------------------------------------------------- */

typedef struct bfgs {
    int64_t n;
    double value;         /* to be made as high as it goes                   */
    double *x, *gradient; /* [n] where it is                                 */
    double *direction, *product, *change, *fall, *new_gradient; /* [n]       */
    double *inverse; /* [n, n] of minus the Hessian, as far as is known */
} bfgs;

static rgm_status bfgs_create(bfgs *b, int64_t n)
{
    double **vectors[] = {&b->x,      &b->gradient, &b->direction,   &b->product,
                          &b->change, &b->fall,     &b->new_gradient};

    *b = (bfgs){.n = n};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        RGM_TRY(RGM_NEW(*vectors[i], n));
    RGM_TRY(RGM_NEW(b->inverse, n * n));
    return RGM_OK;
}

static void bfgs_clear(bfgs *b)
{
    rgm_free(b->x);
    rgm_free(b->gradient);
    rgm_free(b->direction);
    rgm_free(b->product);
    rgm_free(b->change);
    rgm_free(b->fall);
    rgm_free(b->new_gradient);
    rgm_free(b->inverse);
}

static void bfgs_reset(bfgs *b)
{
    memset(b->inverse, 0, (size_t)(b->n * b->n) * sizeof *b->inverse);
    for (int64_t i = 0; i < b->n; i++)
        b->inverse[i * b->n + i] = 1.0;
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void multiply(double *out, const double *matrix, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = dot(matrix + i * n, x, n);
}

/* Uphill, and no coordinate farther than a factor e^2. */
static void bfgs_direct(bfgs *b)
{
    double longest = 0;

    multiply(b->direction, b->inverse, b->gradient, b->n);
    if (dot(b->direction, b->gradient, b->n) <= 0) {
        bfgs_reset(b);
        memcpy(b->direction, b->gradient, (size_t)b->n * sizeof *b->gradient);
    }
    for (int64_t i = 0; i < b->n; i++)
        longest = fabs(b->direction[i]) > longest ? fabs(b->direction[i]) : longest;
    for (int64_t i = 0; i < b->n && longest > 2.0; i++)
        b->direction[i] *= 2.0 / longest;
}

/* With s the change of x and u how much the gradient fell (Nocedal & Wright 2006, 6.17). */
static void bfgs_update(bfgs *b)
{
    int64_t n = b->n;
    const double *s = b->change, *u = b->fall;
    double su = dot(s, u, n), uhu;

    if (!(su > 1e-10))
        return;
    multiply(b->product, b->inverse, u, n);
    uhu = dot(u, b->product, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            b->inverse[i * n + j] += (1.0 + uhu / su) * s[i] * s[j] / su -
                                     (b->product[i] * s[j] + s[i] * b->product[j]) / su;
}

/* A step uphill by halving (Armijo); *moved is false where there is none worth it. */
static rgm_status bfgs_step(bool *moved, bfgs *b, rgmi_gp *gp, const double *y)
{
    double slope, step = 1.0, value = b->value;
    bool higher = false;

    bfgs_direct(b);
    slope = dot(b->direction, b->gradient, b->n);
    for (int i = 0; i < 12 && !higher; i++, step *= 0.5) {
        for (int64_t j = 0; j < b->n; j++)
            gp->logs[j] = bounded(gp, j, b->x[j] + step * b->direction[j]);
        value = rgmi_gp_log_posterior(gp, y);
        higher = value >= b->value + 1e-4 * step * slope;
    }
    *moved = higher && value - b->value > 1e-4;
    if (!higher)
        return RGM_OK;
    RGM_TRY(rgmi_gp_gradient(b->new_gradient, gp));
    for (int64_t j = 0; j < b->n; j++) {
        b->change[j] = gp->logs[j] - b->x[j];
        b->x[j] = gp->logs[j];
        b->fall[j] = b->gradient[j] - b->new_gradient[j];
        b->gradient[j] = b->new_gradient[j];
    }
    b->value = value;
    bfgs_update(b);
    return RGM_OK;
}

rgm_status rgmi_gp_fit(rgmi_gp *gp, const double *y)
{
    enum { STEPS = 50 };
    rgm_status status = RGM_OK;
    bfgs b = {0};
    bool moved = true;

    RGM_GO(bfgs_create(&b, gp->width + 2));
    bfgs_reset(&b);
    for (int64_t i = 0; i < b.n; i++)
        b.x[i] = gp->logs[i] = prior_mean(gp, i);
    b.value = rgmi_gp_log_posterior(gp, y);
    RGM_GO(rgmi_gp_gradient(b.gradient, gp));
    for (int i = 0; i < STEPS && moved; i++)
        RGM_GO(bfgs_step(&moved, &b, gp, y));
    memcpy(gp->logs, b.x, (size_t)b.n * sizeof *b.x);
    rgmi_gp_condition(gp, y);
done:
    bfgs_clear(&b);
    return status;
}

/* ---- prediction ---------------------------------------------------------------------------- */

/* Up to BATCH points; `k` has room for [count, BATCH]. */
static void predict_batch(double *means, double *variances, const rgmi_gp *gp, const double *points,
                          int64_t batch, double *k)
{
    double signal = exp(gp->logs[gp->width]);

    for (int64_t b = 0; b < batch; b++) {
        means[b] = 0;
        variances[b] = signal;
    }
    for (int64_t i = 0; i < gp->count; i++)
        for (int64_t b = 0; b < BATCH; b++)
            k[i * BATCH + b] =
                b < batch ? covariance(gp, signal, gp->x + i * gp->width, points + b * gp->width)
                          : 0.0;
    for (int64_t i = 0; i < gp->count; i++)
        for (int64_t b = 0; b < batch; b++)
            means[b] += gp->alpha[i] * k[i * BATCH + b];
    solve(k, gp->upper, gp->count, BATCH, false);
    for (int64_t i = 0; i < gp->count; i++)
        for (int64_t b = 0; b < batch; b++)
            variances[b] -= k[i * BATCH + b] * k[i * BATCH + b];
    for (int64_t b = 0; b < batch; b++)
        variances[b] = variances[b] > 1e-12 * signal ? variances[b] : 1e-12 * signal;
}

rgm_status rgmi_gp_predict(double *means, double *variances, const rgmi_gp *gp,
                           const double *points, int64_t count)
{
    double *k;

    RGM_TRY(RGM_NEW(k, gp->count * BATCH + 1));
    for (int64_t i = 0; i < count; i += BATCH)
        predict_batch(means + i, variances + i, gp, points + i * gp->width,
                      count - i < BATCH ? count - i : BATCH, k);
    rgm_free(k);
    return RGM_OK;
}

/* ---- expected improvement ------------------------------------------------------------------ */

/* 1 - t R(t) of Mills' ratio R(t) = 1 / (t + 1 / (t + 2 / (t + ...))), t >= 5, by the fraction
 * itself: nothing cancels. 40 terms are exact to the last digits there. */
static double one_less_mills(double t)
{
    double rest = 0;

    for (int i = 40; i >= 1; i--)
        rest = (double)i / (t + rest);
    return rest / (t + rest);
}

double rgmi_log_expected_improvement(double best, double mean, double variance)
{
    double deviation = sqrt(variance), z = (best - mean) / deviation;

    /* E max(0, best - x) = deviation * (phi(z) + z Phi(z)) */
    if (z > -5.0)
        return log(deviation) + log(exp(-0.5 * z * z - 0.5 * log_two_pi) +
                                    z * 0.5 * erfc(-z * 0.70710678118654752440));
    return log(deviation) - 0.5 * z * z - 0.5 * log_two_pi + log(one_less_mills(-z));
}
