/*
 * Packing for products in bf16: float operands, rounded, in tiles of 1 KiB: sixteen rows of A by
 * sixteen pairs of k, sixteen pairs of k by sixteen columns of B, zeros behind. A pair is a 32-bit
 * word, the even k in its low half. A strip is the tiles of sixteen rows or columns one after
 * another along k.
 */
#ifndef RGM_KERNELS_BF16_PACK_H
#define RGM_KERNELS_BF16_PACK_H

#include "kernels_internal.h"
#include "vec_math.h"

#define TILE      16            /* rows, columns or pairs of a tile */
#define TILE_K    (2 * TILE)    /* k of a tile                      */
#define TILE_SIZE (TILE * TILE) /* words of a tile                  */

static inline int64_t strips_of(int64_t count)
{
    return rgmi_blocks(count, TILE);
}

/*
 * tile_along: from `lines` lines of `count` <= 32 numbers that lie along k: word [line][pair].
 * tile_across: from `count` <= 32 lines, one a k, of `lines` numbers each: word [pair][line].
 */
#ifdef __AVX512BF16__
/* 32 floats as 16 pairs; rounds to the nearest, ties to even, and takes denormals for zero. */
static inline __m512i pairs(__m512 low, __m512 high)
{
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

static void tile_along(uint32_t *dst, const float *src, int64_t ld, int64_t lines, int64_t count)
{
    for (int64_t i = 0; i < TILE; i++, src += ld, dst += TILE) {
        int64_t n = i < lines ? count : 0;
        _mm512_storeu_si512(
            dst, n == TILE_K ? pairs(v_load(src), v_load(src + TILE))
                             : (n == 0 ? _mm512_setzero_si512()
                                       : pairs(v_load_n(src, n), v_load_n(src + TILE, n - TILE))));
    }
}

static void tile_across(uint32_t *dst, const float *src, int64_t ld, int64_t lines, int64_t count)
{
    /* The halves of `pairs` interleaved: word i is element i of either. */
    const __m512i order =
        _mm512_add_epi32(_mm512_set1_epi32(16 << 16),
                         _mm512_mullo_epi32(_mm512_set1_epi32(0x00010001),
                                            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                                              12, 13, 14, 15)));

    for (int64_t p = 0; p < TILE; p++, src += 2 * ld, dst += TILE) {
        vf low = 2 * p < count ? v_load_n(src, lines) : v_zero();
        vf high = 2 * p + 1 < count ? v_load_n(src + ld, lines) : v_zero();
        _mm512_storeu_si512(dst, _mm512_permutexvar_epi16(order, pairs(low, high)));
    }
}

static void tile_transpose(uint32_t *dst, const uint32_t *src)
{
    vf row[TILE];

    UNROLL
    for (int i = 0; i < TILE; i++)
        row[i] = v_load((const float *)src + i * TILE);
    v_transpose(row);
    UNROLL
    for (int i = 0; i < TILE; i++)
        v_store((float *)dst + i * TILE, row[i]);
}
#else
static inline uint32_t pair(float low, float high)
{
    return rgm_bf16_from(low) | (uint32_t)rgm_bf16_from(high) << 16;
}

static void tile_along(uint32_t *dst, const float *src, int64_t ld, int64_t lines, int64_t count)
{
    for (int64_t i = 0; i < TILE; i++)
        for (int64_t p = 0; p < TILE; p++)
            dst[i * TILE + p] =
                i >= lines || 2 * p >= count
                    ? 0
                    : pair(src[i * ld + 2 * p], 2 * p + 1 < count ? src[i * ld + 2 * p + 1] : 0);
}

static void tile_across(uint32_t *dst, const float *src, int64_t ld, int64_t lines, int64_t count)
{
    for (int64_t p = 0; p < TILE; p++)
        for (int64_t i = 0; i < TILE; i++)
            dst[p * TILE + i] =
                i >= lines || 2 * p >= count
                    ? 0
                    : pair(src[2 * p * ld + i], 2 * p + 1 < count ? src[(2 * p + 1) * ld + i] : 0);
}

static void tile_transpose(uint32_t *dst, const uint32_t *src)
{
    for (int i = 0; i < TILE; i++)
        for (int j = 0; j < TILE; j++)
            dst[j * TILE + i] = src[i * TILE + j];
}
#endif

/*
 * Strips of `count` rows or columns over k. Along: a row's (column's) numbers lie side by side
 * along k; otherwise those of one k do. Tiles are made in the order in which `src` lies in memory.
 * Turned: the tile wanted is the other way round than it is read.
 */
static void pack_strips(uint32_t *dst, const float *src, int64_t ld, bool along, bool turned,
                        int64_t count, int64_t k)
{
    int64_t tiles = rgmi_blocks(k, TILE_K), strips = strips_of(count);
    _Alignas(64) uint32_t read[TILE_SIZE];

    for (int64_t i = 0; i < strips * tiles; i++) {
        int64_t s = along ? i / tiles : i % strips, t = along ? i % tiles : i / strips;
        uint32_t *tile = dst + (s * tiles + t) * TILE_SIZE, *to = turned ? read : tile;
        int64_t lines = rgmi_min(TILE, count - s * TILE);
        int64_t depth = rgmi_min(TILE_K, k - t * TILE_K);
        if (along)
            tile_along(to, src + s * TILE * ld + t * TILE_K, ld, lines, depth);
        else
            tile_across(to, src + t * TILE_K * ld + s * TILE, ld, lines, depth);
        if (turned)
            tile_transpose(tile, read);
    }
}

#endif
