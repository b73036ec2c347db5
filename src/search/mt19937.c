/*
 * The Mersenne Twister (Matsumoto & Nishimura, "Mersenne Twister: a 623-dimensionally
 * equidistributed uniform pseudo-random number generator", 1998) with the draws of NumPy's legacy
 * RandomState, so that samples can be had again in Python. Philox of base stays what training draws
 * from.
 */
#include "search_internal.h"

enum { WORDS = 624, MIDDLE = 397 };

void rgm_mt19937_seed(rgm_mt19937 *random, uint32_t seed)
{
    uint32_t *w = random->words;

    w[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++)
        w[i] = UINT32_C(1812433253) * (w[i - 1] ^ w[i - 1] >> 30) + i;
    random->next = WORDS;
}

static uint32_t twist(uint32_t high, uint32_t low)
{
    uint32_t y = (high & UINT32_C(0x80000000)) | (low & UINT32_C(0x7fffffff));

    return y >> 1 ^ ((low & 1) != 0 ? UINT32_C(0x9908b0df) : 0);
}

static void refill(rgm_mt19937 *random)
{
    uint32_t *w = random->words;

    for (int i = 0; i < WORDS; i++)
        w[i] = w[(i + MIDDLE) % WORDS] ^ twist(w[i], w[(i + 1) % WORDS]);
    random->next = 0;
}

uint32_t rgm_mt19937_u32(rgm_mt19937 *random)
{
    uint32_t y;

    if (random->next >= WORDS)
        refill(random);
    y = random->words[random->next++];
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9d2c5680);
    y ^= y << 15 & UINT32_C(0xefc60000);
    return y ^ y >> 18;
}

uint64_t rgm_mt19937_bounded(rgm_mt19937 *random, uint64_t most)
{
    uint64_t mask = most, value;

    if (most == 0)
        return 0;
    for (int shift = 1; shift < 64; shift *= 2)
        mask |= mask >> shift;
    do {
        value = rgm_mt19937_u32(random);
        if (most > UINT32_MAX)
            value = value << 32 | rgm_mt19937_u32(random);
        value &= mask;
    } while (value > most);
    return value;
}

double rgm_mt19937_unit(rgm_mt19937 *random)
{
    uint32_t high = rgm_mt19937_u32(random) >> 5, low = rgm_mt19937_u32(random) >> 6;

    return ((double)high * 0x1p26 + (double)low) / 0x1p53;
}

double rgm_mt19937_uniform(rgm_mt19937 *random, double low, double high)
{
    return low + (high - low) * rgm_mt19937_unit(random);
}

void rgm_mt19937_bytes(rgm_mt19937 *random, uint8_t *out, int64_t size)
{
    uint32_t word = 0;

    for (int64_t i = 0; i < size; i++, word >>= 8) {
        if (i % 4 == 0)
            word = rgm_mt19937_u32(random);
        out[i] = (uint8_t)word;
    }
}
