/*
 * What a run of noisy steps has cost in privacy: Renyi differential privacy (Mironov 2017) of the
 * Poisson-subsampled Gaussian mechanism (Mironov, Talwar, Zhang 2019), added up over the steps at
 * each of a list of orders, and converted to (epsilon, delta) at the best of them.
 *
 * With one example more or less the sum of clipped gradients moves by at most the clipping norm. In
 * units of that norm, and with z ~ N(0, sigma^2), the divergence of order a at sample rate q is
 *
 *     log A / (a - 1),   A = E[(1 + q (L(z) - 1))^a],   L(z) = exp((2 z - 1) / (2 sigma^2)).
 *
 * A is close to 1 in all cases of interest, and 1 in floating point for small q. But E[L] = 1, so
 * A - 1 = E[(1 + x)^a - 1 - a x] with x = q (L - 1): nowhere negative, by Bernoulli's inequality,
 * and summed up in logarithms it loses nothing. For integer orders the expectation is a finite sum;
 * for others it is integrated.
 */
#include "optim_internal.h"

#include <math.h>

/* Below this no bound means anything, and A overflows any use of it: the sampling is left out. */
#define LEAST_NOISE 0.05
/* Half the width of the window, in standard deviations: e^(-w^2 / 2) is below a double's precision.
 */
#define WINDOW 9.5
/* Search for noise: between no privacy and more than anyone wants. */
#define MOST_NOISE 0x1p40

/* log(e^a + e^b) */
static double log_add(double a, double b)
{
    double high = a > b ? a : b, low = a > b ? b : a;

    return high == -INFINITY ? high : high + log1p(exp(low - high));
}

/* log(e^v - 1), v > 0 */
static double log_expm1(double v)
{
    return v < 30 ? log(expm1(v)) : v + log1p(-exp(-v));
}

double rgmi_privacy_order(int64_t i)
{
    if (i < 99)
        return 1 + (double)(i + 1) / 10; /* 1.1, 1.2, ... 10.9 */
    if (i < 152)
        return (double)(i - 99 + 11);  /* 11, 12, ... 63 */
    return (double)(128 << (i - 152)); /* 128, 256, 512, 1024 */
}

/* log(A - 1) for an integer order: the binomial expansion less its terms 0 and 1, which, with the
 * ones of the others, add up to 1 (Mironov, Talwar, Zhang 2019, section 3.3). */
static double log_excess_integer(int64_t order, double q, double sigma)
{
    double log_binomial = log((double)order), sum = -INFINITY;

    for (int64_t k = 2; k <= order; k++) {
        double v = (double)(k * (k - 1)) / (2 * sigma * sigma);

        log_binomial += log((double)(order - k + 1) / (double)k);
        sum = log_add(sum, log_binomial + (double)k * log(q) + (double)(order - k) * log1p(-q) +
                               log_expm1(v));
    }
    return sum;
}

/* (1 + x)^a - 1 - a x for |x| well below 1, by its power series. */
static double binomial_tail(double a, double x)
{
    double term = a * x, sum = 0;

    for (int k = 2; k < 200; k++) {
        term *= (a - k + 1) / k * x;
        sum += term;
        if (fabs(term) <= 1e-18 * fabs(sum))
            break;
    }
    return sum;
}

/* log((1 + x)^a - 1 - a x) for x = q (e^log_ratio - 1), also where e^log_ratio overflows. */
static double log_integrand(double a, double q, double log_ratio)
{
    bool huge = log_ratio > 700;
    double x = huge ? INFINITY : q * expm1(log_ratio);
    double log_base = huge ? log(q) + log_ratio : log1p(x), y = a * log_base;

    if (fabs(x) < 0.2)
        return log(binomial_tail(a, x));
    if (y < 30)
        return log(expm1(y) - a * x);
    return y + log1p(-(a * exp(log_base - y) + (1 - a) * exp(-y)));
}

/*
 * log(A - 1) by the trapezoidal rule over z / sigma. The integrand is analytic but for a branch
 * point pi sigma off the real line, so the error falls as exp(-2 pi^2 sigma / step) until it meets
 * the window's (Trefethen & Weideman 2014): a step of sigma / 2, at most 1 / 2, leaves 1e-14.
 * What counts lies between the noise's own middle and a / sigma, the middle of noise * L^a; where
 * x is small the integrand goes as L^2, whatever a.
 */
static double log_excess_real(double a, double q, double sigma)
{
    const double half_log_two_pi = 0.91893853320467274178;
    double step = (sigma < 1 ? sigma : 1) / 2, end = (a > 2 ? a : 2) / sigma + WINDOW;
    int64_t points = (int64_t)ceil((end + WINDOW) / step);
    double sum = -INFINITY;

    for (int64_t i = 0; i <= points; i++) {
        double t = (double)i * step - WINDOW;
        double log_ratio = t / sigma - 1 / (2 * sigma * sigma);

        sum = log_add(sum, log_integrand(a, q, log_ratio) - t * t / 2);
    }
    return sum + log(step) - half_log_two_pi;
}

/* The Renyi divergence of order a of one step. */
static double divergence(double a, double sigma, double q)
{
    if (q == 0)
        return 0;
    if (sigma == 0)
        return INFINITY;
    if (q == 1 || sigma < LEAST_NOISE)
        return a / (2 * sigma * sigma); /* the Gaussian mechanism itself (Mironov 2017, cor. 3) */
    return log_add(0, a == floor(a) ? log_excess_integer((int64_t)a, q, sigma)
                                    : log_excess_real(a, q, sigma)) /
           (a - 1);
}

rgm_status rgm_privacy_step(rgm_privacy_accountant *accountant, double noise_multiplier,
                            double sample_rate, int64_t steps)
{
    rgm_privacy_accountant *a = accountant;

    if (!(noise_multiplier >= 0) || isinf(noise_multiplier))
        return RGM_FAIL(RGM_ERR_ARG, "a noise multiplier of %g; it is 0 or more", noise_multiplier);
    if (!(sample_rate >= 0 && sample_rate <= 1))
        return RGM_FAIL(RGM_ERR_ARG, "a sample rate of %g; it is in [0, 1]", sample_rate);
    if (steps < 0)
        return RGM_FAIL(RGM_ERR_ARG, "%lld steps", (long long)steps);
    if (steps == 0)
        return RGM_OK;
    if (a->noise_multiplier != noise_multiplier || a->sample_rate != sample_rate) {
        for (int64_t i = 0; i < RGM_PRIVACY_ORDERS; i++)
            a->each[i] = divergence(rgmi_privacy_order(i), noise_multiplier, sample_rate);
        a->noise_multiplier = noise_multiplier;
        a->sample_rate = sample_rate;
    }
    for (int64_t i = 0; i < RGM_PRIVACY_ORDERS; i++)
        a->rdp[i] += (double)steps * a->each[i];
    return RGM_OK;
}

double rgm_privacy_epsilon(const rgm_privacy_accountant *accountant, double delta)
{
    double best = INFINITY;

    if (!(delta > 0))
        return INFINITY;
    for (int64_t i = 0; i < RGM_PRIVACY_ORDERS; i++) {
        double a = rgmi_privacy_order(i), rdp = accountant->rdp[i], epsilon;

        /* Total variation <= sqrt(1 - e^-rdp) (Bretagnolle & Huber 1979): (0, delta) already. */
        if (-expm1(-rdp) <= delta * delta)
            return 0;
        epsilon = rdp + log1p(-1 / a) - (log(delta) + log(a)) / (a - 1);
        if (epsilon < best)
            best = epsilon;
    }
    return best > 0 ? best : 0;
}

static double epsilon_of(double noise_multiplier, double delta, double sample_rate, int64_t steps)
{
    rgm_privacy_accountant accountant = {0};

    (void)rgm_privacy_step(&accountant, noise_multiplier, sample_rate, steps);
    return rgm_privacy_epsilon(&accountant, delta);
}

rgm_status rgm_privacy_noise_for(double *noise_multiplier, double epsilon, double delta,
                                 double sample_rate, int64_t steps)
{
    double low = LEAST_NOISE, high = LEAST_NOISE;

    *noise_multiplier = 0;
    if (!(epsilon > 0) || isinf(epsilon) || !(delta > 0 && delta < 1))
        return RGM_FAIL(RGM_ERR_ARG,
                        "noise for epsilon %g, delta %g; epsilon is above 0 and delta in (0, 1)",
                        epsilon, delta);
    if (!(sample_rate > 0 && sample_rate <= 1) || steps < 1)
        return RGM_FAIL(RGM_ERR_ARG, "noise for %lld steps at a sample rate of %g",
                        (long long)steps, sample_rate);
    while (epsilon_of(high, delta, sample_rate, steps) > epsilon) {
        low = high;
        high *= 2;
        if (high > MOST_NOISE)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "no noise gives epsilon %g, delta %g after %lld steps at a sample "
                            "rate of %g",
                            epsilon, delta, (long long)steps, sample_rate);
    }
    while (high - low > 1e-9 * high) {
        double middle = low + (high - low) / 2;

        if (epsilon_of(middle, delta, sample_rate, steps) > epsilon)
            low = middle;
        else
            high = middle;
    }
    *noise_multiplier = high;
    return RGM_OK;
}
