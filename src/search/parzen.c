/*
 * Parzen mixtures of TPE (Bergstra et al., Algorithms for hyper-parameter optimization, NIPS 2011),
 * with the bandwidths of Optuna: cut normals for numbers, integrated over each integer for ints,
 * smoothed choices for categories.
 */
#include "samplers_internal.h"

#include <math.h>
#include <stdlib.h>

static const double sqrt_half = 0.70710678118654752440;
static const double log_sqrt_two_pi = 0.91893853320467274178;

/* ---- making one ---------------------------------------------------------------------------- */

/* All weigh the same up to 25 observations; of more, the older ones ramp up linearly from 1 / n. */
static double recency(int64_t i, int64_t n)
{
    int64_t ramp = n - 25;

    if (i >= ramp)
        return 1.0;
    if (ramp == 1)
        return 1.0 / (double)n;
    return 1.0 / (double)n + (1.0 - 1.0 / (double)n) * (double)i / (double)(ramp - 1);
}

static double weight_of(const rgmi_parzen_form *form, int64_t k, int64_t n)
{
    if (k == n)
        return n == 0 ? 1.0 : form->reference ? 0.0 : form->prior_weight;
    if (form->reference)
        return 1.0;
    return form->weights != NULL ? form->weights[k] : recency(k, n);
}

static void set_weights(rgmi_parzen *p, const rgmi_parzen_form *form)
{
    int64_t n = p->kernels - 1;
    double total = 0;

    for (int64_t k = 0; k < p->kernels; k++) {
        p->weights[k] = weight_of(form, k, n);
        total += p->weights[k];
    }
    for (int64_t k = 0; k < p->kernels; k++) {
        p->weights[k] /= total;
        p->log_weights[k] = log(p->weights[k]);
    }
}

typedef struct place {
    double x;
    int64_t kernel;
} place;

static int by_x(const void *a, const void *b)
{
    const place *p = a, *q = b;

    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return p->kernel < q->kernel ? -1 : p->kernel > q->kernel;
}

/* The farther of a point's two neighbours; the outermost points have but one, a lone one the two
 * bounds. */
static void widths_by_neighbours(double *deviations, const rgmi_axis *axis, place *places,
                                 int64_t n)
{
    qsort(places, (size_t)n, sizeof *places, by_x);
    for (int64_t i = 0; i < n; i++) {
        double left = places[i].x - (i > 0 ? places[i - 1].x : axis->low);
        double right = (i + 1 < n ? places[i + 1].x : axis->high) - places[i].x;
        double wide = left > right ? left : right;
        if (n > 1 && i == 0)
            wide = right;
        else if (n > 1 && i == n - 1)
            wide = left;
        deviations[places[i].kernel] = wide;
    }
}

/* The normal reference rule: the same for all. */
static double width_by_deviation(const double *means, int64_t n, int64_t axes)
{
    double mean = 0, squares = 0;

    for (int64_t k = 0; k < n; k++)
        mean += means[k] / (double)n;
    for (int64_t k = 0; k < n; k++)
        squares += (means[k] - mean) * (means[k] - mean) / (double)n;
    return 1.06 * sqrt(squares) * pow((double)n, -1.0 / (4.0 + (double)axes));
}

static double between(double low, double high, double mean, double deviation)
{
    double a = (low - mean) / deviation, b = (high - mean) / deviation;

    if (a > 0)
        return 0.5 * (erfc(a * sqrt_half) - erfc(b * sqrt_half));
    if (b < 0)
        return 0.5 * (erfc(-b * sqrt_half) - erfc(-a * sqrt_half));
    return 0.5 * (erf(b * sqrt_half) - erf(a * sqrt_half));
}

static void set_numeric(rgmi_parzen *p, int64_t j, const double *points,
                        const rgmi_parzen_form *form, place *places)
{
    const rgmi_axis *axis = p->axes[j];
    double *means = p->means + j * p->kernels, *deviations = p->deviations + j * p->kernels;
    double *log_scales = p->log_scales + j * p->kernels, range = axis->high - axis->low;
    int64_t n = p->kernels - 1;
    double least = range / (double)(n + 2 < 100 ? n + 2 : 100); /* Bergstra's "magic clip" */

    for (int64_t k = 0; k < n; k++) {
        means[k] = points[k * p->axis_count + j];
        places[k] = (place){means[k], k};
    }
    widths_by_neighbours(deviations, axis, places, n);
    if (form->reference) {
        double same = width_by_deviation(means, n, p->axis_count);
        least = 1e-3 * range;
        for (int64_t k = 0; k < n; k++)
            deviations[k] = same > least ? same : least;
    }
    means[n] = 0.5 * (axis->low + axis->high);
    deviations[n] = range;
    for (int64_t k = 0; k <= n; k++) {
        deviations[k] *= k < n ? form->width : 1.0;
        deviations[k] = deviations[k] < least ? least : deviations[k];
        deviations[k] = deviations[k] > range ? range : deviations[k];
        log_scales[k] = -log(between(axis->low, axis->high, means[k], deviations[k]));
        if (axis->kind != RGM_HYPER_INT)
            log_scales[k] -= log_sqrt_two_pi + log(deviations[k]);
    }
}

static void set_categorical(rgmi_parzen *p, int64_t j, const double *points)
{
    for (int64_t k = 0; k + 1 < p->kernels; k++)
        p->means[j * p->kernels + k] = points[k * p->axis_count + j];
    p->means[j * p->kernels + p->kernels - 1] = -1;
}

rgm_status rgmi_parzen_create(rgmi_parzen *p, const rgmi_axis *const *axes, int64_t axis_count,
                              const double *points, int64_t count, const rgmi_parzen_form *form)
{
    rgm_status status = RGM_OK;
    place *places = NULL;

    *p = (rgmi_parzen){.axes = axes,
                       .axis_count = axis_count,
                       .kernels = count + 1,
                       .prior_weight = form->prior_weight};
    RGM_GO(RGM_NEW(places, p->kernels));
    RGM_GO(RGM_NEW(p->weights, p->kernels));
    RGM_GO(RGM_NEW(p->log_weights, p->kernels));
    RGM_GO(RGM_NEW(p->scratch, p->kernels));
    RGM_GO(RGM_NEW(p->means, p->kernels * axis_count));
    RGM_GO(RGM_NEW(p->deviations, p->kernels * axis_count));
    RGM_GO(RGM_NEW(p->log_scales, p->kernels * axis_count));
    set_weights(p, form);
    for (int64_t j = 0; j < axis_count; j++) {
        if (axes[j]->kind == RGM_HYPER_CATEGORICAL)
            set_categorical(p, j, points);
        else
            set_numeric(p, j, points, form, places);
    }
done:
    rgm_free(places);
    return status;
}

void rgmi_parzen_clear(rgmi_parzen *p)
{
    rgm_free(p->weights);
    rgm_free(p->log_weights);
    rgm_free(p->scratch);
    rgm_free(p->means);
    rgm_free(p->deviations);
    rgm_free(p->log_scales);
    *p = (rgmi_parzen){0};
}

/* ---- drawing ------------------------------------------------------------------------------- */

static double draw_choice(const rgmi_parzen *p, int64_t j, double observed, rgm_mt19937 *random)
{
    double spread = p->prior_weight / (double)p->kernels, n = (double)p->axes[j]->choices;
    double u = rgm_mt19937_unit(random);

    if (observed < 0)
        return floor(u * n) < n ? floor(u * n) : n - 1;
    u *= 1.0 + spread * n;
    if (u < 1.0)
        return observed;
    u = floor((u - 1.0) / spread);
    return u < n ? u : n - 1;
}

/* By rejection: a mean lies within the bounds and no deviation is wider than they are apart, so at
 * least a third of the draws fall inside. */
static double draw_number(const rgmi_parzen *p, int64_t j, int64_t kernel, rgm_mt19937 *random)
{
    const rgmi_axis *axis = p->axes[j];
    double mean = p->means[j * p->kernels + kernel];

    for (int i = 0; i < 1000; i++) {
        double x = mean + p->deviations[j * p->kernels + kernel] * rgmi_draw_normal(random);
        if (x >= axis->low && x < axis->high)
            return axis->kind == RGM_HYPER_INT ? nearbyint(x) : x;
    }
    return mean;
}

void rgmi_parzen_draw(double *point, const rgmi_parzen *p, rgm_mt19937 *random)
{
    double u = rgm_mt19937_unit(random);
    int64_t kernel = 0;

    for (; kernel + 1 < p->kernels && u >= p->weights[kernel]; kernel++)
        u -= p->weights[kernel];
    for (int64_t j = 0; j < p->axis_count; j++) {
        if (p->axes[j]->kind == RGM_HYPER_CATEGORICAL)
            point[j] = draw_choice(p, j, p->means[j * p->kernels + kernel], random);
        else
            point[j] = draw_number(p, j, kernel, random);
    }
}

/* ---- densities ----------------------------------------------------------------------------- */

static void add_numbers(const rgmi_parzen *p, int64_t j, double x)
{
    const double *means = p->means + j * p->kernels, *deviations = p->deviations + j * p->kernels;
    const double *log_scales = p->log_scales + j * p->kernels;

    for (int64_t k = 0; k < p->kernels; k++) {
        double z = (x - means[k]) / deviations[k];
        p->scratch[k] += log_scales[k] - 0.5 * z * z;
    }
}

/* log of the mass over an integer. Where that is far narrower than the kernel, the density in its
 * middle: the difference of erf()s would be noise. */
static double log_mass(double x, double mean, double deviation)
{
    double z = (x - mean) / deviation;

    if (1.0 / deviation < 1e-5)
        return -0.5 * z * z - log_sqrt_two_pi - log(deviation);
    return log(between(x - 0.5, x + 0.5, mean, deviation));
}

static void add_ints(const rgmi_parzen *p, int64_t j, double x)
{
    const double *means = p->means + j * p->kernels, *deviations = p->deviations + j * p->kernels;
    const double *log_scales = p->log_scales + j * p->kernels;

    for (int64_t k = 0; k < p->kernels; k++)
        p->scratch[k] += log_scales[k] + log_mass(x, means[k], deviations[k]);
}

static void add_choices(const rgmi_parzen *p, int64_t j, double x)
{
    const double *means = p->means + j * p->kernels;
    double n = (double)p->axes[j]->choices, spread = p->prior_weight / (double)p->kernels;
    double same = log((1.0 + spread) / (1.0 + spread * n)),
           other = log(spread / (1.0 + spread * n));

    for (int64_t k = 0; k < p->kernels; k++)
        p->scratch[k] += means[k] < 0 ? -log(n) : means[k] == x ? same : other;
}

double rgmi_parzen_log_density(const rgmi_parzen *p, const double *point)
{
    double most = -INFINITY, sum = 0;

    for (int64_t k = 0; k < p->kernels; k++)
        p->scratch[k] = p->log_weights[k];
    for (int64_t j = 0; j < p->axis_count; j++) {
        if (p->axes[j]->kind == RGM_HYPER_CATEGORICAL)
            add_choices(p, j, point[j]);
        else if (p->axes[j]->kind == RGM_HYPER_INT)
            add_ints(p, j, point[j]);
        else
            add_numbers(p, j, point[j]);
    }
    for (int64_t k = 0; k < p->kernels; k++)
        most = p->scratch[k] > most ? p->scratch[k] : most;
    if (most == -INFINITY)
        return most;
    for (int64_t k = 0; k < p->kernels; k++)
        if (p->scratch[k] > most - 60) /* e^-60 is nothing beside 1 in a double */
            sum += exp(p->scratch[k] - most);
    return most + log(sum);
}
