/*
 * bf16 products by AVX-512's dot product of pairs (vdpbf16ps), for processors that do it at the
 * rate of their float multiply-add: twice the work an instruction. See rgm_kernels_for() for which.
 */
#define LANES          16
#define BF16_MATMUL    rgmi_avx512_bf16_matmul
#define BF16_PACK      rgmi_avx512_bf16_pack
#define BF16_RATE      80
#define BF16_OTHERWISE rgmi_avx512_f32.matmul

#include "bf16_pack.h"

#define ROWS 8 /* of C at a time, two strips wide: sixteen sums hide the latency */

static inline void block_begin(void)
{
}

static inline void block_end(void)
{
}

static inline __attribute__((always_inline)) void rows_product(float *c, int64_t ldc,
                                                               const uint32_t *a, const uint32_t *b,
                                                               int64_t tiles, const int across,
                                                               const bool first)
{
    const uint32_t *b1 = b + tiles * (TILE * TILE);
    vf sum[ROWS][2];

    UNROLL
    for (int i = 0; i < ROWS; i++)
        UNROLL
    for (int j = 0; j < across; j++)
        sum[i][j] = first ? v_zero() : v_load(c + i * ldc + j * TILE);
    for (int64_t t = 0; t < tiles; t++, a += TILE * TILE)
        for (int p = 0; p < TILE; p++, b += TILE, b1 += TILE) {
            __m512bh left, right[2];
            right[0] = (__m512bh)_mm512_load_si512(b);
            if (across > 1)
                right[1] = (__m512bh)_mm512_load_si512(b1);
            UNROLL
            for (int i = 0; i < ROWS; i++) {
                left = (__m512bh)_mm512_set1_epi32((int)a[i * TILE + p]);
                UNROLL
                for (int j = 0; j < across; j++)
                    sum[i][j] = _mm512_dpbf16_ps(sum[i][j], left, right[j]);
            }
        }
    UNROLL
    for (int i = 0; i < ROWS; i++)
        UNROLL
    for (int j = 0; j < across; j++)
        v_store(c + i * ldc + j * TILE, sum[i][j]);
}

/* c = (first ? 0 : c) + a b for the eights that `rows` <= 32 rows are in and `across` strips of
 * columns, 1 or 2. */
static void block_product(float *c, int64_t ldc, const uint32_t *a, const uint32_t *b,
                          int64_t tiles, int rows, int across, bool first)
{
    for (int i = 0; i < rows; i += ROWS) {
        const uint32_t *from = a + i / TILE * tiles * (TILE * TILE) + i % TILE * TILE;
        if (across > 1)
            rows_product(c + i * ldc, ldc, from, b, tiles, 2, first);
        else
            rows_product(c + i * ldc, ldc, from, b, tiles, 1, first);
    }
}

#include "bf16_gemm.h"
