/*
 * Products in int8 by AVX2's products of bytes (vpmaddubsw), which multiply numbers without a sign
 * by such with one and add two neighbours in 16 bits: |a| times b with a's sign. No number is above
 * 127, so two products are at most 32,258, and nothing is cut off.
 */
#define LANES          8
#define OFFSET         0
#define TILE_ROWS      3
#define TILE_PANELS    2
#define INT8_MATMUL    rgmi_avx2_int8_matmul
#define INT8_PACK      rgmi_avx2_int8_pack
#define INT8_RATE      80
#define INT8_OTHERWISE rgmi_avx2_f32

#include "kernels_internal.h"
#include "vec_math.h"

static inline vi int8_dot(vi sum, vi a, vi b)
{
    __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));

    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

static inline vi int8_max(vi a, vi b)
{
    return _mm256_max_epi32(a, b);
}

static inline void int8_narrow(uint8_t *to, vi x)
{
    __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));

    _mm_storel_epi64((__m128i *)(void *)to, _mm_packs_epi16(half, half));
}

#include "int8_gemm.h"
