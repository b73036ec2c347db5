/*
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78). With SSE4.2 the crc32 instruction takes 8
 * bytes a cycle but 3 cycles until its result, so three neighbouring blocks are summed at once and
 * joined: the crc of A|B is shift(crc(A)) ^ crc(B), where shift() feeds as many zero bytes as B has.
 * Shifting is linear over the bits, hence a table of 4 x 256 words for each block length. Without
 * SSE4.2: eight tables, eight bytes a turn.
 */
#include "base_internal.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define HAVE_SSE42_PATH 1
#endif

#define POLYNOMIAL 0x82f63b78u
#define TIERS 3

static const size_t tier_size[TIERS] = {8192, 1024, 128}; /* bytes a stream, multiples of 8 */

static uint32_t byte_table[8][256];
static uint32_t shift_table[TIERS][4][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_byte_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        byte_table[0][i] = crc;
    }
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++) {
            uint32_t crc = byte_table[k - 1][i];
            byte_table[k][i] = crc >> 8 ^ byte_table[0][crc & 255];
        }
}

static void make_tables(void)
{
    make_byte_tables();
    for (int t = 0; t < TIERS; t++) {
        uint32_t basis[32]; /* what each single bit becomes after tier_size zero bytes */
        for (int bit = 0; bit < 32; bit++) {
            uint32_t crc = (uint32_t)1 << bit;
            for (size_t i = 0; i < tier_size[t]; i++)
                crc = crc >> 8 ^ byte_table[0][crc & 255];
            basis[bit] = crc;
        }
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 256; i++) {
                uint32_t crc = 0;
                for (int bit = 0; bit < 8; bit++)
                    if (i >> bit & 1)
                        crc ^= basis[8 * k + bit];
                shift_table[t][k][i] = crc;
            }
    }
}

static uint64_t load64(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *p, size_t size)
{
    for (; size >= 8; p += 8, size -= 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                              (uint32_t)p[3] << 24);
        crc = byte_table[7][low & 255] ^ byte_table[6][low >> 8 & 255] ^
              byte_table[5][low >> 16 & 255] ^ byte_table[4][low >> 24] ^ byte_table[3][p[4]] ^
              byte_table[2][p[5]] ^ byte_table[1][p[6]] ^ byte_table[0][p[7]];
    }
    for (; size > 0; size--)
        crc = crc >> 8 ^ byte_table[0][(crc ^ *p++) & 255];
    return crc;
}

#ifdef HAVE_SSE42_PATH
static uint64_t shift(const uint32_t table[4][256], uint64_t crc)
{
    return table[0][crc & 255] ^ table[1][crc >> 8 & 255] ^ table[2][crc >> 16 & 255] ^
           table[3][crc >> 24 & 255];
}

__attribute__((target("sse4.2"))) static uint32_t crc_by_sse42(uint32_t start, const uint8_t *p,
                                                               size_t size)
{
    uint64_t crc = start;

    for (int t = 0; t < TIERS; t++) {
        size_t n = tier_size[t];
        for (; size >= 3 * n; p += 3 * n, size -= 3 * n) {
            uint64_t b = 0, c = 0;
            for (size_t i = 0; i < n; i += 8) {
                crc = _mm_crc32_u64(crc, load64(p + i));
                b = _mm_crc32_u64(b, load64(p + n + i));
                c = _mm_crc32_u64(c, load64(p + 2 * n + i));
            }
            crc = shift(shift_table[t], crc) ^ b;
            crc = shift(shift_table[t], crc) ^ c;
        }
    }
    for (; size >= 8; p += 8, size -= 8)
        crc = _mm_crc32_u64(crc, load64(p));
    for (; size > 0; size--)
        crc = _mm_crc32_u8((uint32_t)crc, *p++);
    return (uint32_t)crc;
}
#endif

uint32_t rgmi_crc32c_table(uint32_t crc, const void *data, size_t size)
{
    pthread_once(&tables_once, make_tables);
    return ~crc_by_table(~crc, data, size);
}

uint32_t rgm_crc32c(uint32_t crc, const void *data, size_t size)
{
    pthread_once(&tables_once, make_tables);
#ifdef HAVE_SSE42_PATH
    if (__builtin_cpu_supports("sse4.2"))
        return ~crc_by_sse42(~crc, data, size);
#endif
    return ~crc_by_table(~crc, data, size);
}
