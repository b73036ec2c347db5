/*
 * CMA-ES as Hansen's tutorial (arXiv 1604.00772) has it, equation numbers in brackets, with
 * negative weights (active CMA); integers by CMA-ES with Margin (Hamano, Saito, Nomura, Shirakawa,
 * GECCO 2022). Constants and steps are those of the Python package `cmaes`, so that tests can hold
 * one against the other.
 */
#include "samplers_internal.h"

#include <math.h>
#include <string.h>

static const double sqrt_half = 0.70710678118654752440;

/* ---- constants ----------------------------------------------------------------------------- */

/* (49)..(53) */
static void set_weights(rgmi_cma *m)
{
    double positive = 0, negative = 0, squares = 0, of_negative = 0, n = (double)m->n, alpha;
    double *w = m->weights;

    for (int64_t i = 0; i < m->population; i++) {
        w[i] = log(((double)m->population + 1) / 2) - log((double)(i + 1));
        if (i < m->parents) {
            positive += w[i];
            squares += w[i] * w[i];
        } else {
            negative += w[i];
            of_negative += w[i] * w[i];
        }
    }
    m->mu_eff = positive * positive / squares;
    double mu_eff_minus = negative * negative / of_negative;
    m->c1 = 2 / ((n + 1.3) * (n + 1.3) + m->mu_eff);
    m->c_mu = fmin(1 - m->c1 - 1e-8,
                   2 * (m->mu_eff - 2 + 1 / m->mu_eff) / ((n + 2) * (n + 2) + m->mu_eff));
    alpha = fmin(1 + m->c1 / m->c_mu, 1 + 2 * mu_eff_minus / (m->mu_eff + 2));
    alpha = fmin(alpha, (1 - m->c1 - m->c_mu) / (n * m->c_mu));
    positive = negative = 0;
    for (int64_t i = 0; i < m->population; i++)
        *(w[i] > 0 ? &positive : &negative) += fabs(w[i]);
    for (int64_t i = 0; i < m->population; i++)
        w[i] *= w[i] >= 0 ? 1 / positive : alpha / negative;
}

/* (55), (56) and the expected length of a normal vector */
static void set_rates(rgmi_cma *m)
{
    double n = (double)m->n, mu = m->mu_eff;

    m->c_sigma = (mu + 2) / (n + mu + 5);
    m->d_sigma = 1 + 2 * fmax(0, sqrt((mu - 1) / (n + 1)) - 1) + m->c_sigma;
    m->c_c = (4 + mu / n) / (n + 4 + 2 * mu / n);
    m->chi_n = sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
    m->margin = 1 / (n * (double)m->population);
}

rgm_status rgmi_cma_create(rgmi_cma *out, int64_t n, int64_t population, const double *mean,
                           double sigma, const int64_t *cells)
{
    rgmi_cma *m = out;

    if (population == 0)
        population = 4 + (int64_t)floor(3 * log((double)n));
    *m = (rgmi_cma){.n = n, .population = population, .parents = population / 2, .sigma = sigma};
    RGM_TRY(RGM_NEW(m->weights, population));
    RGM_TRY(RGM_NEW(m->cells, n));
    RGM_TRY(RGM_NEW(m->mean, n));
    RGM_TRY(RGM_NEW(m->path_sigma, n));
    RGM_TRY(RGM_NEW(m->path_c, n));
    RGM_TRY(RGM_NEW(m->a, n));
    RGM_TRY(RGM_NEW(m->c, n * n));
    RGM_TRY(RGM_NEW(m->b, n * n));
    RGM_TRY(RGM_NEW(m->d, n));
    RGM_TRY(RGM_NEW(m->scratch, population * n + 3 * n + n * n));
    set_weights(m);
    set_rates(m);
    memcpy(m->mean, mean, (size_t)n * sizeof *mean);
    memcpy(m->cells, cells, (size_t)n * sizeof *cells);
    for (int64_t i = 0; i < n; i++)
        m->c[i * n + i] = m->b[i * n + i] = m->d[i] = m->a[i] = 1;
    return RGM_OK;
}

void rgmi_cma_clear(rgmi_cma *cma)
{
    rgm_free(cma->weights);
    rgm_free(cma->cells);
    rgm_free(cma->mean);
    rgm_free(cma->path_sigma);
    rgm_free(cma->path_c);
    rgm_free(cma->a);
    rgm_free(cma->c);
    rgm_free(cma->b);
    rgm_free(cma->d);
    rgm_free(cma->scratch);
    *cma = (rgmi_cma){0};
}

/* ---- eigenvectors -------------------------------------------------------------------------- */

/* One rotation of Jacobi's: s[p, q] becomes 0. Columns of vectors turn along. */
static void rotate(double *s, double *vectors, int64_t n, int64_t p, int64_t q)
{
    double theta = (s[q * n + q] - s[p * n + p]) / (2 * s[p * n + q]);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
    double cosine = 1 / sqrt(t * t + 1), sine = t * cosine;

    for (int64_t k = 0; k < n; k++) {
        double x = s[k * n + p], y = s[k * n + q];
        s[k * n + p] = cosine * x - sine * y;
        s[k * n + q] = sine * x + cosine * y;
    }
    for (int64_t k = 0; k < n; k++) {
        double x = s[p * n + k], y = s[q * n + k];
        s[p * n + k] = cosine * x - sine * y;
        s[q * n + k] = sine * x + cosine * y;
    }
    for (int64_t k = 0; k < n; k++) {
        double x = vectors[k * n + p], y = vectors[k * n + q];
        vectors[k * n + p] = cosine * x - sine * y;
        vectors[k * n + q] = sine * x + cosine * y;
    }
}

/* Sweeps over all pairs, until what is beside the diagonal is nothing. */
static void diagonalise(double *s, double *vectors, int64_t n)
{
    enum { SWEEPS = 30 };

    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        bool turned = false;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                double least = 1e-17 * sqrt(fabs(s[p * n + p] * s[q * n + q]));
                if (!(fabs(s[p * n + q]) > least))
                    continue;
                rotate(s, vectors, n, p, q);
                turned = true;
            }
        if (!turned)
            return;
    }
}

/* B and D of C, which is made symmetric; what rounding took below 0 counts as 1e-8. */
static void decompose(rgmi_cma *m)
{
    int64_t n = m->n;
    double *s = m->scratch + m->population * n + 3 * n;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double x = (m->c[i * n + j] + m->c[j * n + i]) / 2;
            m->c[i * n + j] = m->c[j * n + i] = s[i * n + j] = s[j * n + i] = x;
        }
    memset(m->b, 0, (size_t)(n * n) * sizeof *m->b);
    for (int64_t i = 0; i < n; i++)
        m->b[i * n + i] = 1;
    diagonalise(s, m->b, n);
    bool negative = false;
    for (int64_t i = 0; i < n; i++) {
        negative = negative || s[i * n + i] < 0;
        m->d[i] = sqrt(s[i * n + i] < 0 ? 1e-8 : s[i * n + i]);
    }
    for (int64_t i = 0; i < n && negative; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++)
                sum += m->b[i * n + k] * m->d[k] * m->d[k] * m->b[j * n + k];
            m->c[i * n + j] = sum;
        }
}

/* ---- points -------------------------------------------------------------------------------- */

void rgmi_cma_point(double *x, const rgmi_cma *cma, const double *normals)
{
    int64_t n = cma->n;

    for (int64_t i = 0; i < n; i++) {
        double y = 0;
        for (int64_t k = 0; k < n; k++)
            y += cma->b[i * n + k] * cma->d[k] * normals[k];
        x[i] = cma->mean[i] + cma->sigma * y;
    }
}

static double bounded(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Of a value on an axis, as it is. A border belongs to the cell below it. */
static int64_t cell_at(const rgmi_cma *m, int64_t axis, double x)
{
    double cells = (double)m->cells[axis];

    return (int64_t)bounded(ceil(x * cells) - 1, 0, cells - 1);
}

int64_t rgmi_cma_cell(const rgmi_cma *cma, int64_t axis, double x)
{
    double mean = cma->mean[axis];

    return cell_at(cma, axis, mean + (x - mean) * cma->a[axis]);
}

/* C^-1/2 y = B D^-1 B^T y; scratch [n] */
static void whiten(double *out, const rgmi_cma *m, const double *y, double *scratch)
{
    int64_t n = m->n;

    for (int64_t k = 0; k < n; k++) {
        scratch[k] = 0;
        for (int64_t i = 0; i < n; i++)
            scratch[k] += m->b[i * n + k] * y[i];
        scratch[k] /= m->d[k];
    }
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int64_t k = 0; k < n; k++)
            out[i] += m->b[i * n + k] * scratch[k];
    }
}

static double length_of(const double *x, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

double rgmi_cma_distance(const rgmi_cma *cma, const double *x)
{
    int64_t n = cma->n;
    double sum = 0;

    for (int64_t k = 0; k < n; k++) {
        double along = 0;
        for (int64_t i = 0; i < n; i++)
            along += cma->b[i * n + k] * (x[i] - cma->mean[i]);
        along /= cma->d[k] * cma->sigma;
        sum += along * along;
    }
    return sqrt(sum);
}

/* ---- a generation -------------------------------------------------------------------------- */

/* (41), (43), (44): the new mean and step; *h_sigma: whether the path of C goes on (p. 28). */
static void move(rgmi_cma *m, const double *y, bool *h_sigma)
{
    int64_t n = m->n;
    double *step = m->scratch + m->population * n, *white = step + n, *scratch = white + n;
    double keep = 1 - m->c_sigma, gain = sqrt(m->c_sigma * (2 - m->c_sigma) * m->mu_eff), length;

    memset(step, 0, (size_t)n * sizeof *step);
    for (int64_t i = 0; i < m->parents; i++)
        for (int64_t j = 0; j < n; j++)
            step[j] += m->weights[i] * y[i * n + j];
    whiten(white, m, step, scratch);
    for (int64_t j = 0; j < n; j++) {
        m->mean[j] += m->sigma * step[j];
        m->path_sigma[j] = keep * m->path_sigma[j] + gain * white[j];
    }
    length = length_of(m->path_sigma, n);
    m->sigma = fmin(m->sigma * exp(m->c_sigma / m->d_sigma * (length / m->chi_n - 1)), 1e32);
    *h_sigma = length / sqrt(1 - pow(keep, 2 * (double)(m->generation + 1))) <
               (1.4 + 2 / ((double)n + 1)) * m->chi_n;
    for (int64_t j = 0; j < n; j++)
        m->path_c[j] = (1 - m->c_c) * m->path_c[j] +
                       (*h_sigma ? sqrt(m->c_c * (2 - m->c_c) * m->mu_eff) * step[j] : 0);
}

/* (46), (47) */
static void adapt(rgmi_cma *m, const double *y, bool h_sigma)
{
    int64_t n = m->n;
    double *white = m->scratch + m->population * n, *scratch = white + n, sum = 0;
    double lost = h_sigma ? 0 : m->c_c * (2 - m->c_c);

    for (int64_t i = 0; i < m->population; i++)
        sum += m->weights[i];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            m->c[i * n + j] = (1 + m->c1 * lost - m->c1 - m->c_mu * sum) * m->c[i * n + j] +
                              m->c1 * m->path_c[i] * m->path_c[j];
    for (int64_t k = 0; k < m->population; k++) {
        const double *row = y + k * n;
        double weight = m->weights[k];
        if (weight < 0) {
            whiten(white, m, row, scratch);
            double length = length_of(white, n);
            weight *= (double)n / (length * length + 1e-8);
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                m->c[i * n + j] += m->c_mu * weight * row[i] * row[j];
    }
}

/* ---- integers ------------------------------------------------------------------------------ */

/* How many deviations above its mean a normal is with probability p, 0 < p <= 1/2. */
static double deviations_of(double p)
{
    double low = 0, high = 40;

    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        *(0.5 * erfc(middle * sqrt_half) > p ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* So that both neighbours of a middle cell keep at least half the margin. */
static void widen(rgmi_cma *m, int64_t j, double low_border, double high_border, double low,
                  double high)
{
    double half = m->margin / 2, middle = 1 - (low + high), p, q, spread;

    low = fmax(low, half);
    high = fmax(high, half);
    spread = (1 - low - high - middle) / (low + middle + high - 3 * half);
    p = deviations_of(bounded(low + spread * (low - half), 1e-10, 0.5 - 1e-10));
    q = deviations_of(bounded(high + spread * (high - half), 1e-10, 0.5 - 1e-10));
    m->a[j] = (high_border - low_border) / ((p + q) * m->sigma * sqrt(m->c[j * m->n + j]));
    m->mean[j] = (low_border * q + high_border * p) / (p + q);
}

static void keep_margin(rgmi_cma *m, int64_t j)
{
    double cells = (double)m->cells[j], mean = m->mean[j];
    double at = (double)cell_at(m, j, mean), deviation, low, high;
    double low_border = bounded(at, 1, cells - 1) / cells;
    double high_border = bounded(at + 1, 1, cells - 1) / cells;

    deviation = m->sigma * m->a[j] * sqrt(m->c[j * m->n + j]);
    low = 0.5 * erfc((mean - low_border) / deviation * sqrt_half);
    high = 1 - 0.5 * erfc((mean - high_border) / deviation * sqrt_half);
    if (low <= 0.5 && high <= 0.5 && low_border < high_border)
        widen(m, j, low_border, high_border, low, high);
    else if (fmin(low, high) < m->margin)
        m->mean[j] = high_border + (mean > high_border   ? 1
                                    : mean < high_border ? -1
                                                         : 0) *
                                       deviation * deviations_of(m->margin);
}

void rgmi_cma_update(rgmi_cma *cma, const double *points)
{
    int64_t n = cma->n;
    double *y = cma->scratch;
    bool h_sigma;

    cma->generation++;
    for (int64_t i = 0; i < cma->population; i++)
        for (int64_t j = 0; j < n; j++)
            y[i * n + j] = (points[i * n + j] - cma->mean[j]) / cma->sigma;
    move(cma, y, &h_sigma);
    adapt(cma, y, h_sigma);
    for (int64_t j = 0; j < n; j++)
        if (cma->cells[j] > 0)
            keep_margin(cma, j);
    decompose(cma);
}

bool rgmi_cma_is_over(const rgmi_cma *cma)
{
    double most = 0, least = INFINITY;

    for (int64_t i = 0; i < cma->n; i++) {
        most = fmax(most, cma->d[i]);
        least = fmin(least, cma->d[i]);
    }
    return !(cma->sigma * most > 1e-9) || !(most < 1e7 * least);
}
