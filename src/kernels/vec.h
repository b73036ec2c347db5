/*
 * The vector type of the fast rows: LANES floats, 8 (AVX2) or 16 (AVX-512), behind one set of
 * inline functions, so that every fast kernel is written once. With 16 lanes and no AVX-512 at
 * compile time, two AVX2 registers make one vector: slow, and how a machine without AVX-512 tests
 * the code for 16 lanes.
 */
#ifndef RGM_KERNELS_VEC_H
#define RGM_KERNELS_VEC_H

#include <immintrin.h>
#include <stdint.h>

/* Sanitizers see each unrolled access: minutes of compiling for nothing. */
#ifdef RGM_NO_UNROLL
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#if LANES == 8
typedef __m256 vf;  /* floats                       */
typedef __m256 vm;  /* a truth per lane             */
typedef __m256i vi; /* 32-bit integers              */
typedef __m256d vd; /* doubles, half as many        */
#define V(name) v_##name
#define VF      vf
#define VM      vm
#define VI      vi
#define VD      vd
#include "vec8.h"
#elif defined(__AVX512F__)
#include "vec16.h"
#else
#include "vec16_pairs.h"
#endif

static inline vf v_zero(void)
{
    return v_set1(0);
}
/* Lanes behind the first n are `fill`. */
static inline vf v_load_or(const float *p, int64_t n, vf fill)
{
    return n >= LANES ? v_load(p) : v_select(v_first(n), v_load_n(p, n), fill);
}
static inline vf v_neg(vf x)
{
    return v_from_bits(v_int_xor(v_bits(x), v_int_set1(INT32_MIN)));
}
static inline vf v_abs(vf x)
{
    return v_from_bits(v_int_and(v_bits(x), v_int_set1(INT32_MAX)));
}
/* The magnitude of x with the sign of s. */
static inline vf v_with_sign(vf x, vf s)
{
    return v_from_bits(v_int_or(v_int_and(v_bits(x), v_int_set1(INT32_MAX)),
                                v_int_and(v_bits(s), v_int_set1(INT32_MIN))));
}

#endif
