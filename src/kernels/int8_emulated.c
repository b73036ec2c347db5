/*
 * The row for AVX-512 VNNI over pairs of AVX2 registers and a dot product in plain C, for tests
 * only: so its code is checked on machines without it.
 */
#define LANES          16
#define OFFSET         128
#define TILE_ROWS      6
#define TILE_PANELS    4
#define INT8_MATMUL    rgmi_emulated_int8_matmul
#define INT8_PACK      rgmi_emulated_int8_pack
#define INT8_RATE      0.1
#define INT8_OTHERWISE rgmi_reference_f32

#include "kernels_internal.h"
#include "vec_math.h"

#include <string.h>

void rgmi_emulated_int8_matmul(const rgm_matmul_args *args);
size_t rgmi_emulated_int8_pack(const rgm_matmul_args *args);

/* As Intel's manual says of VPDPBUSD: four products are added without a limit. */
static vi int8_dot(vi sum, vi a, vi b)
{
    const uint8_t *left = (const uint8_t *)&a;
    const int8_t *right = (const int8_t *)&b;
    uint32_t words[LANES];

    memcpy(words, &sum, sizeof words);
    for (int i = 0; i < 4 * LANES; i++)
        words[i / 4] += (uint32_t)(left[i] * right[i]);
    memcpy(&sum, words, sizeof words);
    return sum;
}

static vi int8_max(vi a, vi b)
{
    return (vi){_mm256_max_epi32(a.a, b.a), _mm256_max_epi32(a.b, b.b)};
}

static void int8_narrow(uint8_t *to, vi x)
{
    int32_t words[LANES];

    memcpy(words, &x, sizeof words);
    for (int i = 0; i < LANES; i++)
        to[i] = (uint8_t)(words[i] + OFFSET);
}

#include "int8_gemm.h"
