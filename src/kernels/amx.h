/*
 * A block of 32 x 32 from AMX tiles: four of them sum, four hold operands. Needs before: tile_zero,
 * tile_load, tile_dp and tile_store with the meaning of Intel's TILEZERO, TILELOADD, TDPBF16PS and
 * TILESTORED (amx.c: the instructions; amx_emulated.c: plain C), block_begin and block_end.
 */

static inline __attribute__((always_inline)) void
tiles_product(float *c, int64_t ldc, const uint32_t *a, const uint32_t *b, int64_t tiles,
              const int down, const int across, const bool first)
{
    const uint32_t *a1 = a + tiles * (TILE * TILE), *b1 = b + tiles * (TILE * TILE);
    float *c1 = c + TILE * ldc;
    const int64_t row = ldc * (int64_t)sizeof *c;

#define EACH(do_)                                                                                  \
    do {                                                                                           \
        do_(0, c);                                                                                 \
        if (across > 1)                                                                            \
            do_(1, c + TILE);                                                                      \
        if (down > 1)                                                                              \
            do_(2, c1);                                                                            \
        if (down > 1 && across > 1)                                                                \
            do_(3, c1 + TILE);                                                                     \
    } while (0)
#define BEGIN_AT_ZERO(tile, at) tile_zero(tile)
#define BEGIN_AT_C(tile, at)    tile_load(tile, at, row)
#define STORE(tile, at)         tile_store(tile, at, row)
    if (first)
        EACH(BEGIN_AT_ZERO);
    else
        EACH(BEGIN_AT_C);
    for (int64_t t = 0; t < tiles; t++) {
        const int64_t at = t * (TILE * TILE), word_row = TILE * (int64_t)sizeof *a;
        tile_load(4, a + at, word_row);
        tile_load(6, b + at, word_row);
        tile_dp(0, 4, 6);
        if (across > 1) {
            tile_load(7, b1 + at, word_row);
            tile_dp(1, 4, 7);
        }
        if (down > 1) {
            tile_load(5, a1 + at, word_row);
            tile_dp(2, 5, 6);
        }
        if (down > 1 && across > 1)
            tile_dp(3, 5, 7);
    }
    EACH(STORE);
#undef EACH
#undef BEGIN_AT_ZERO
#undef BEGIN_AT_C
#undef STORE
}

/* c = (first ? 0 : c) + a b for the strips that `rows` <= 32 rows are in and `across` strips of
 * columns, 1 or 2. */
static void block_product(float *c, int64_t ldc, const uint32_t *a, const uint32_t *b,
                          int64_t tiles, int rows, int across, bool first)
{
    int down = rows > TILE ? 2 : 1;

    if (down == 2 && across == 2)
        tiles_product(c, ldc, a, b, tiles, 2, 2, first);
    else if (down == 2)
        tiles_product(c, ldc, a, b, tiles, 2, 1, first);
    else if (across == 2)
        tiles_product(c, ldc, a, b, tiles, 1, 2, first);
    else
        tiles_product(c, ldc, a, b, tiles, 1, 1, first);
}
