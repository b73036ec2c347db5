/*
 * The reference rows, written once for `REAL` and compiled for float and for double. Simple on
 * purpose: every faster row is tested against these, and they take what a faster row declines.
 */
#ifndef REAL
#error "define REAL, REAL_DTYPE, REAL_LOWEST, REAL_TABLE, REAL_ROW, PLAIN() and R() before"
#endif

#include "kernels_internal.h"

#include <math.h>
#include <string.h>

#define GELU_A R_CONST(0.70710678118654752440) /* 1 / sqrt(2)      */
#define GELU_B R_CONST(0.39894228040143267794) /* 1 / sqrt(2 pi)   */
#define GELU_C R_CONST(1.59576912160573071176) /* 2 sqrt(2 / pi)   */
#define GELU_D R_CONST(0.044715)

static inline REAL sigmoid(REAL x)
{
    return x >= 0 ? 1 / (1 + R(exp)(-x)) : R(exp)(x) / (1 + R(exp)(x));
}

static inline REAL gelu(REAL x)
{
    return R_CONST(0.5) * x * (1 + R(erf)(x * GELU_A));
}

/* 0.5 (1 + tanh(u)) is sigmoid(2 u), without a difference of near numbers. */
static inline REAL gelu_tanh(REAL x)
{
    return x * sigmoid(GELU_C * (x + GELU_D * x * x * x));
}

static inline REAL gelu_tanh_slope(REAL x)
{
    REAL u = GELU_C * (x + GELU_D * x * x * x), s = sigmoid(u);

    return s + x * s * sigmoid(-u) * GELU_C * (1 + 3 * GELU_D * x * x);
}

static inline REAL activate(REAL x, rgm_activation activation, REAL slope)
{
    switch (activation) {
    case RGM_ACT_RELU:
        return x < 0 ? 0 : x; /* NaN stays NaN */
    case RGM_ACT_LEAKY_RELU:
        return x > 0 ? x : slope * x;
    case RGM_ACT_ELU:
        return x > 0 ? x : R(expm1)(x);
    case RGM_ACT_SIGMOID:
        return sigmoid(x);
    case RGM_ACT_TANH:
        return R(tanh)(x);
    case RGM_ACT_GELU:
        return gelu(x);
    case RGM_ACT_SILU:
        return x * sigmoid(x);
    case RGM_ACT_GELU_TANH:
        return gelu_tanh(x);
    case RGM_ACT_NONE:
        break;
    }
    return x;
}

static inline int64_t index_at(const void *index, rgm_dtype dtype, int64_t i)
{
    return dtype == RGM_I32 ? ((const int32_t *)index)[i] : ((const int64_t *)index)[i];
}

#include "reference_graph.h"
#include "reference_dense.h"
#include "reference_norm.h"
#include "reference_attention.h"
#include "reference_decoding.h"
#include "reference_map.h"
#include "reference_image.h"
#include "reference_plain.h"

const rgm_kernels REAL_TABLE = {
    .isa = "reference", .dtype = REAL_DTYPE, RGM_KERNEL_LIST(RGMI_ROW, REAL_ROW, RGMI_ANY_ROW)};
