/*
 * exp, log, tanh, erf and what is made of them, on vectors, in own polynomials: the same bits from
 * any compiler and C library. Errors are about 1 ulp for exp and log and under 3 ulp for the rest.
 * Coefficients: exp, log, tanh after Moshier's Cephes; erf after Juffa (both minimax in float).
 */
#ifndef RGM_KERNELS_VEC_MATH_H
#define RGM_KERNELS_VEC_MATH_H

#include <regimen/kernels.h>
#include "vec.h"

/* x = n ln 2 + r: n comes back as integers, r through *r. */
static inline vi exp_split(vf *r, vf x)
{
    vi n = v_round_int(v_mul(x, v_set1(1.44269504088896341f)));
    vf fn = v_from_int(n);

    *r = v_fnma(fn, v_set1(0.693359375f), x);
    *r = v_fnma(fn, v_set1(-2.12194440e-4f), *r);
    return n;
}

/* exp(r) - 1 for |r| <= ln 2 / 2. */
static inline vf expm1_poly(vf r)
{
    vf p = v_set1(1.9875691500e-4f);

    p = v_fma(p, r, v_set1(1.3981999507e-3f));
    p = v_fma(p, r, v_set1(8.3334519073e-3f));
    p = v_fma(p, r, v_set1(4.1665795894e-2f));
    p = v_fma(p, r, v_set1(1.6666665459e-1f));
    p = v_fma(p, r, v_set1(5.0000001201e-1f));
    return v_fma(v_mul(r, r), p, r);
}

static inline vf power_of_two(vi n)
{
    return v_from_bits(v_shift_left_23(v_int_add(n, v_int_set1(127))));
}

/*
 * Up to infinity; what would be below the smallest normal number is 0, since making denormals costs
 * a hundred cycles on many CPUs and softmax would make them by the row. NaN stays: so says the
 * order of operands of the clamps.
 */
static inline vf v_exp(vf x)
{
    const vf lowest = v_set1(-87.3365f);
    vm vanishes = v_gt(lowest, x);
    vf r, y;
    vi n, half;

    x = v_max(lowest, x);
    x = v_min(v_set1(89.f), x);
    n = exp_split(&r, x);
    half = v_half(n); /* 2^n alone would overflow at the upper end */
    y = v_add(v_set1(1.f), expm1_poly(r));
    y = v_mul(v_mul(y, power_of_two(half)), power_of_two(v_int_sub(n, half)));
    return v_select(vanishes, v_zero(), y);
}

/* exp(x) - 1 without cancellation, for x <= 0 (what elu needs). */
static inline vf v_expm1_negative(vf x)
{
    vf r, scale;
    vi n;

    x = v_max(v_set1(-40.f), x);
    n = exp_split(&r, x);
    scale = power_of_two(n);
    return v_fma(scale, expm1_poly(r), v_sub(scale, v_set1(1.f)));
}

static inline vf v_log(vf x)
{
    const vf one = v_set1(1.f), least = v_set1(1.17549435e-38f),
             infinity = v_set1(__builtin_inff());
    vm tiny = v_gt(least, x), below;
    vf y, z, m, e, scaled = v_select(tiny, v_mul(x, v_set1(8388608.f)), x);
    vi bits = v_bits(scaled);

    e = v_from_int(v_int_sub(v_shift_right_23(bits), v_int_set1(126)));
    e = v_select(tiny, v_sub(e, v_set1(23.f)), e);
    m = v_from_bits(v_int_or(v_int_and(bits, v_int_set1(0x007fffff)), v_int_set1(0x3f000000)));
    below = v_gt(v_set1(0.707106781186547524f), m);
    e = v_select(below, v_sub(e, one), e);
    m = v_sub(v_select(below, v_add(m, m), m), one);
    z = v_mul(m, m);
    y = v_set1(7.0376836292e-2f);
    y = v_fma(y, m, v_set1(-1.1514610310e-1f));
    y = v_fma(y, m, v_set1(1.1676998740e-1f));
    y = v_fma(y, m, v_set1(-1.2420140846e-1f));
    y = v_fma(y, m, v_set1(1.4249322787e-1f));
    y = v_fma(y, m, v_set1(-1.6668057665e-1f));
    y = v_fma(y, m, v_set1(2.0000714765e-1f));
    y = v_fma(y, m, v_set1(-2.4999993993e-1f));
    y = v_fma(y, m, v_set1(3.3333331174e-1f));
    y = v_mul(v_mul(y, m), z);
    y = v_fma(e, v_set1(-2.12194440e-4f), y);
    y = v_fma(z, v_set1(-0.5f), y);
    y = v_fma(e, v_set1(0.693359375f), v_add(m, y));
    y = v_select(v_eq(x, infinity), infinity, y);
    y = v_select(v_eq(x, v_zero()), v_set1(-__builtin_inff()), y);
    y = v_select(v_gt(v_zero(), x), v_set1(__builtin_nanf("")), y);
    return v_select(v_eq(x, x), y, x);
}

/* log(1 + u) for u in [0, 1]: what rounding took from 1 + u is given back. */
static inline vf v_log1p_unit(vf u)
{
    vf w = v_add(v_set1(1.f), u);

    return v_add(v_log(w), v_div(v_sub(u, v_sub(w, v_set1(1.f))), w));
}

static inline vf v_tanh(vf x)
{
    vf t = v_abs(x), z = v_mul(x, x), small, large, clamped = v_min(v_set1(10.f), t);

    small = v_set1(-5.70498872745e-3f);
    small = v_fma(small, z, v_set1(2.06390887954e-2f));
    small = v_fma(small, z, v_set1(-5.37397155531e-2f));
    small = v_fma(small, z, v_set1(1.33314422036e-1f));
    small = v_fma(small, z, v_set1(-3.33332819422e-1f));
    small = v_fma(v_mul(small, z), x, x);
    large = v_div(v_set1(2.f), v_add(v_exp(v_add(clamped, clamped)), v_set1(1.f)));
    large = v_with_sign(v_sub(v_set1(1.f), large), x);
    return v_select(v_gt(v_set1(0.625f), t), small, large);
}

static inline vf v_erf(vf x)
{
    vf t = v_abs(x), z = v_mul(x, x), small, large, u;

    small = v_set1(-5.96761703e-4f);
    small = v_fma(small, z, v_set1(4.99119423e-3f));
    small = v_fma(small, z, v_set1(-2.67681349e-2f));
    small = v_fma(small, z, v_set1(1.12819925e-1f));
    small = v_fma(small, z, v_set1(-3.76125336e-1f));
    small = v_fma(small, z, v_set1(1.28379166e-1f));
    small = v_fma(small, x, x);
    t = v_min(v_set1(4.f), t); /* erf(4) is 1 in float; keeps the polynomial from overflow */
    z = v_mul(t, t);
    large = v_fma(v_set1(-1.72853470e-5f), t, v_set1(3.83197126e-4f));
    u = v_fma(v_set1(-3.88396438e-3f), t, v_set1(2.42546219e-2f));
    large = v_fma(large, z, u);
    large = v_fma(large, t, v_set1(-1.06777877e-1f));
    large = v_fma(large, t, v_set1(-6.34846687e-1f));
    large = v_fma(large, t, v_set1(-1.28717512e-1f));
    large = v_fma(large, t, v_neg(t));
    large = v_with_sign(v_sub(v_set1(1.f), v_exp(large)), x);
    return v_select(v_gt(v_abs(x), v_set1(0.927734375f)), large, small);
}

static inline vf v_sigmoid(vf x)
{
    return v_div(v_set1(1.f), v_add(v_set1(1.f), v_exp(v_neg(x))));
}

static inline vf v_gelu(vf x)
{
    vf half = v_mul(v_set1(0.5f), x);

    return v_fma(half, v_erf(v_mul(x, v_set1(0.70710678118654752440f))), half);
}

static inline vf v_gelu_slope(vf x)
{
    vf half = v_set1(0.5f), density;

    density = v_exp(v_mul(v_mul(x, x), v_set1(-0.5f)));
    density = v_mul(density, v_set1(0.39894228040143267794f));
    return v_fma(x, density, v_fma(half, v_erf(v_mul(x, v_set1(0.70710678118654752440f))), half));
}

static inline vf v_silu(vf x)
{
    return v_div(x, v_add(v_set1(1.f), v_exp(v_neg(x))));
}

static inline vf v_silu_slope(vf x)
{
    return v_mul(v_sigmoid(x), v_fma(x, v_sigmoid(v_neg(x)), v_set1(1.f)));
}

/* 2 sqrt(2 / pi) (x + 0.044715 x^3): 0.5 (1 + tanh(u)) is sigmoid(2 u). */
static inline vf v_gelu_tanh_inner(vf x)
{
    vf x2 = v_mul(x, x);

    return v_mul(x, v_fma(x2, v_set1(0.07135481282638152f), v_set1(1.5957691216057308f)));
}

static inline vf v_gelu_tanh(vf x)
{
    return v_mul(x, v_sigmoid(v_gelu_tanh_inner(x)));
}

static inline vf v_gelu_tanh_slope(vf x)
{
    vf u = v_gelu_tanh_inner(x), s = v_sigmoid(u), x2 = v_mul(x, x), inner;

    inner = v_fma(x2, v_set1(0.21406443847914456f), v_set1(1.5957691216057308f));
    return v_fma(v_mul(v_mul(x, s), v_sigmoid(v_neg(u))), inner, s);
}

static inline vf v_softplus(vf x)
{
    return v_add(v_max(x, v_zero()), v_log1p_unit(v_exp(v_neg(v_abs(x)))));
}

/* NaN stays NaN: v_max() gives its second operand then. */
static inline vf v_relu(vf x)
{
    return v_max(v_zero(), x);
}

static inline vf v_leaky(vf x, vf slope)
{
    return v_select(v_gt(x, v_zero()), x, v_mul(slope, x));
}

static inline vf v_elu(vf x)
{
    return v_select(v_gt(x, v_zero()), x, v_expm1_negative(x));
}

static inline vf v_activate(vf x, rgm_activation activation, vf slope)
{
    switch (activation) {
    case RGM_ACT_RELU:
        return v_relu(x);
    case RGM_ACT_LEAKY_RELU:
        return v_leaky(x, slope);
    case RGM_ACT_ELU:
        return v_elu(x);
    case RGM_ACT_SIGMOID:
        return v_sigmoid(x);
    case RGM_ACT_TANH:
        return v_tanh(x);
    case RGM_ACT_GELU:
        return v_gelu(x);
    case RGM_ACT_SILU:
        return v_silu(x);
    case RGM_ACT_GELU_TANH:
        return v_gelu_tanh(x);
    case RGM_ACT_NONE:
        break;
    }
    return x;
}

#endif
