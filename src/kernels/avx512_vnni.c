/*
 * Products in int8 by AVX-512's dot product of bytes (vpdpbusd): four products and their sum in
 * each of sixteen lanes. It multiplies numbers without a sign by such with one, so rows of a are
 * moved up by 128, and 128 times the sum of a column is taken off again.
 */
#define LANES          16
#define OFFSET         128
#define TILE_ROWS      6
#define TILE_PANELS    4
#define INT8_MATMUL    rgmi_avx512_int8_matmul
#define INT8_PACK      rgmi_avx512_int8_pack
#define INT8_RATE      250
#define INT8_OTHERWISE rgmi_avx512_f32

#include "kernels_internal.h"
#include "vec_math.h"

static inline vi int8_dot(vi sum, vi a, vi b)
{
    return _mm512_dpbusd_epi32(sum, a, b);
}

static inline vi int8_max(vi a, vi b)
{
    return _mm512_max_epi32(a, b);
}

static inline void int8_narrow(uint8_t *to, vi x)
{
    x = _mm512_add_epi32(x, _mm512_set1_epi32(OFFSET));
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8(x));
}

#include "int8_gemm.h"
