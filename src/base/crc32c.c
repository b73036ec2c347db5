/*
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78). With SSE4.2 the crc32 instruction takes 8
 * bytes a cycle but 3 cycles until its result, so three neighbouring blocks are summed at once and
 * joined. The sum of A|B is that of A, moved past as many zero bytes as B has, ^ that of B. Moving
 * past n bytes is a product with x^(8n) modulo the polynomial: one carry-less multiplication with a
 * constant, and the crc32 instruction reduces it. Without these instructions: eight tables, eight
 * bytes a turn.
 */
#include "base_internal.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_FAST_PATH 1
#endif

#define POLYNOMIAL  0x82f63b78u
#define BLOCK_WORDS 1024 /* 8-byte words that one of three streams takes in a turn, at most */
#define SMALL       96   /* bytes below which joining costs more than it saves */

static uint32_t byte_table[8][256];
static uint32_t move_table[2 * BLOCK_WORDS + 1]; /* [n]: constant that moves past n words */
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    uint32_t power = 1;

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
    /* The product of two reflected 32-bit numbers has a factor x too many, the crc32 instruction
     * multiplies by x^32: so x^(64n - 33), and x^31 in reflected order is the number 1. */
    for (int n = 1; n <= 2 * BLOCK_WORDS; n++) {
        move_table[n] = power;
        for (int byte = 0; byte < 8; byte++)
            power = power >> 8 ^ byte_table[0][power & 255];
    }
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

#ifdef HAVE_FAST_PATH
static inline uint64_t load64(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
    return word;
}

/* Three streams of `words` words each, from `crc` on. */
__attribute__((target("sse4.2,pclmul"))) static uint64_t sum_three(uint64_t crc, const uint8_t *p,
                                                                   size_t words)
{
    const uint8_t *q = p + 8 * words, *r = q + 8 * words;
    uint64_t a = crc, b = 0, c = 0;
    __m128i move_a, move_b;

    for (size_t i = 0; i < 8 * words; i += 8) {
        a = _mm_crc32_u64(a, load64(p + i));
        b = _mm_crc32_u64(b, load64(q + i));
        c = _mm_crc32_u64(c, load64(r + i));
    }
    move_a = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)a),
                                  _mm_cvtsi32_si128((int)move_table[2 * words]), 0);
    move_b = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)b),
                                  _mm_cvtsi32_si128((int)move_table[words]), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(_mm_xor_si128(move_a, move_b))) ^ c;
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t crc_by_sse42(uint32_t start,
                                                                      const uint8_t *p, size_t size)
{
    uint64_t crc = start;

    while (size >= SMALL) {
        size_t words = size / 24 < BLOCK_WORDS ? size / 24 : BLOCK_WORDS;
        crc = sum_three(crc, p, words);
        p += 24 * words;
        size -= 24 * words;
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
#ifdef HAVE_FAST_PATH
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
        return ~crc_by_sse42(~crc, data, size);
#endif
    return ~crc_by_table(~crc, data, size);
}
