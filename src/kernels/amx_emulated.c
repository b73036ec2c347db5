/*
 * bf16 products on AMX tiles in plain C, for tests only: so the code that AMX runs is checked on
 * machines without it. The sums follow the description of TDPBF16PS in Intel's manual: even and odd
 * k are summed apart, then together, then added to C, each step rounded, denormals taken for zero.
 */
#define LANES       16
#define BF16_MATMUL rgmi_emulated_bf16_matmul
#define BF16_PACK   rgmi_emulated_bf16_pack
#define BF16_RATE   0.01
#define BF16_ANY_SHAPE
#define BF16_OTHERWISE rgmi_reference_f32.matmul

#include "bf16_pack.h"

#include <float.h>
#include <math.h>
#include <string.h>

void rgmi_emulated_bf16_matmul(const rgm_matmul_args *args);
size_t rgmi_emulated_bf16_pack(const rgm_matmul_args *args);

static _Thread_local uint32_t tiles_[8][TILE][TILE];

static void tile_zero(int tile)
{
    memset(tiles_[tile], 0, sizeof tiles_[tile]);
}

static void tile_load(int tile, const void *at, int64_t row)
{
    for (int i = 0; i < TILE; i++)
        memcpy(tiles_[tile][i], (const char *)at + i * row, sizeof tiles_[tile][i]);
}

static void tile_store(int tile, void *at, int64_t row)
{
    for (int i = 0; i < TILE; i++)
        memcpy((char *)at + i * row, tiles_[tile][i], sizeof tiles_[tile][i]);
}

static float no_denormal(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

static float half(uint32_t word, int odd)
{
    return no_denormal(rgm_bf16_to((uint16_t)(word >> 16 * odd)));
}

static void tile_dp(int c, int a, int b)
{
    for (int i = 0; i < TILE; i++)
        for (int j = 0; j < TILE; j++) {
            float sum[2] = {0, 0}, old;
            for (int p = 0; p < TILE; p++)
                for (int odd = 0; odd < 2; odd++)
                    sum[odd] = no_denormal(
                        fmaf(half(tiles_[a][i][p], odd), half(tiles_[b][p][j], odd), sum[odd]));
            memcpy(&old, &tiles_[c][i][j], sizeof old);
            old = no_denormal(no_denormal(old) + no_denormal(sum[0] + sum[1]));
            memcpy(&tiles_[c][i][j], &old, sizeof old);
        }
}

static void block_begin(void)
{
}

static void block_end(void)
{
}

#include "amx.h"

#include "bf16_gemm.h"
