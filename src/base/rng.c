/*
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3. SC'11).
 * The counter is {block, step}, both 64 bits, low word first; the key is a hash of the stream's
 * name and seed. Element i of a kind of draw depends on nothing else.
 */
#include "base_internal.h"

#include <math.h>
#include <string.h>

#define ROUNDS 10

static const double pi = 3.14159265358979323846;

rgm_rng rgm_rng_stream(uint64_t seed, const char *name, uint64_t step)
{
    /* Two hashes in a chain: every bit of seed and name reaches every bit of the key. */
    uint64_t mix[2] = {rgm_hash64(name, strlen(name)), seed};
    uint64_t key = rgm_hash64(mix, sizeof mix);

    return (rgm_rng){{(uint32_t)key, (uint32_t)(key >> 32)}, step};
}

void rgm_rng_block(const rgm_rng *rng, uint64_t block, uint32_t out[4])
{
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
    uint32_t c2 = (uint32_t)rng->step, c3 = (uint32_t)(rng->step >> 32);
    uint32_t k0 = rng->key[0], k1 = rng->key[1];

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53 * c0, p1 = (uint64_t)0xCD9E8D57 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

uint32_t rgm_rng_u32(const rgm_rng *rng, uint64_t i)
{
    uint32_t words[4];

    rgm_rng_block(rng, i / 4, words);
    return words[i % 4];
}

/* 64 bits, element i: half of block i / 2. */
static uint64_t draw_u64(const rgm_rng *rng, uint64_t i)
{
    uint32_t words[4];

    rgm_rng_block(rng, i / 2, words);
    return (uint64_t)words[2 * (i % 2) + 1] << 32 | words[2 * (i % 2)];
}

float rgm_rng_f32(const rgm_rng *rng, uint64_t i)
{
    return (float)(rgm_rng_u32(rng, i) >> 8) * 0x1p-24f;
}

double rgm_rng_f64(const rgm_rng *rng, uint64_t i)
{
    return (double)(draw_u64(rng, i) >> 11) * 0x1p-53;
}

double rgmi_normal(const uint32_t w[4], bool second)
{
    double u = ((double)(((uint64_t)w[1] << 32 | w[0]) >> 11) + 1.0) * 0x1p-53; /* (0, 1] */
    double angle = 2.0 * pi * ((double)(((uint64_t)w[3] << 32 | w[2]) >> 11) * 0x1p-53);
    double radius = sqrt(-2.0 * log(u));

    return radius * (second ? sin(angle) : cos(angle));
}

double rgm_rng_normal(const rgm_rng *rng, uint64_t i)
{
    uint32_t words[4];

    rgm_rng_block(rng, i / 2, words); /* elements 2k and 2k + 1 are the pair of block k */
    return rgmi_normal(words, i % 2 != 0);
}

uint64_t rgm_rng_below(const rgm_rng *rng, uint64_t i, uint64_t n)
{
    /* High half of a 64 x 64 product: the bias is below n / 2^64. */
    return (uint64_t)((unsigned __int128)draw_u64(rng, i) * n >> 64);
}

void rgm_rng_permutation(const rgm_rng *rng, int64_t *order, int64_t n)
{
    for (int64_t i = 0; i < n; i++) { /* Fisher-Yates, inside out */
        int64_t j = (int64_t)rgm_rng_below(rng, (uint64_t)i, (uint64_t)i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}
