/*
 * bf16 products on AMX tiles (Intel Advanced Matrix Extensions: eight registers of sixteen rows of
 * 64 bytes). A process must ask Linux for the tiles' state once; a thread sets their shape before
 * it uses them and gives the state back after, so that switching threads does not save 8 KiB for
 * good.
 */
#define LANES          16
#define BF16_MATMUL    rgmi_amx_matmul
#define BF16_PACK      rgmi_amx_pack
#define BF16_RATE      500
#define BF16_OTHERWISE rgmi_avx512_f32.matmul

#include "bf16_pack.h"

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define tile_zero(tile) _tile_zero(tile)
/* gcc's intrinsic does not say that it reads memory: what is to be read must be stored by then. */
#define tile_load(tile, at, row)                                                                   \
    do {                                                                                           \
        __asm__ volatile("" ::: "memory");                                                         \
        _tile_loadd(tile, at, (size_t)(row));                                                      \
    } while (0)
#define tile_store(tile, at, row) _tile_stored(tile, at, (size_t)(row))
#define tile_dp(c, a, b)          _tile_dpbf16ps(c, a, b)

#include "amx.h"

/* All eight tiles whole. Constant: to gcc's intrinsic only the first bytes are read. */
static const struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} whole_tiles = {.palette = 1,
                 .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                 .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

static void block_begin(void)
{
    _tile_loadconfig(&whole_tiles);
}

static void block_end(void)
{
    _tile_release();
}

#include "bf16_gemm.h"

/* The instructions, the system's consent to their state in general and to this process. */
bool rgmi_amx_ready(void)
{
    enum { TILE_CONFIG = 1 << 17, TILE_DATA = 1 << 18, AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
    enum { OSXSAVE = 1 << 27, ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_TILE_DATA = 18 };
    unsigned a, b, c, d, state, high;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE) ||
        !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & AMX_BF16) || !(d & AMX_TILE))
        return false;
    __asm__("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
    return (state & TILE_CONFIG) && (state & TILE_DATA) &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_TILE_DATA) == 0;
}
