/*
 * Draws that nobody may predict: the ChaCha20 stream (Bernstein 2008) of a key of 256 bits. Words
 * 12 and 13 of its state are the block, 14 and 15 the stream, low word first. Philox (rng.c) is
 * several times as fast, but its key has 64 bits and nobody claims that it keeps a secret.
 */
#include "base_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define DOUBLE_ROUNDS 10

rgm_status rgm_secret_draw(rgm_secret *out)
{
    uint8_t bytes[sizeof out->key];
    size_t size = 0;

    *out = (rgm_secret){{0}};
    while (size < sizeof bytes) {
        ssize_t got = getrandom(bytes + size, sizeof bytes - size, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return RGM_FAIL(RGM_ERR_IO, "the system gives no random numbers: %s", strerror(errno));
        size += (size_t)got;
    }
    memcpy(out->key, bytes, sizeof bytes);
    explicit_bzero(bytes, sizeof bytes);
    return RGM_OK;
}

rgm_secret rgm_secret_from_seed(uint64_t seed)
{
    return (rgm_secret){{(uint32_t)seed, (uint32_t)(seed >> 32)}};
}

static uint32_t rotate(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static void quarter_round(uint32_t x[16], int a, int b, int c, int d)
{
    x[a] += x[b];
    x[d] = rotate(x[d] ^ x[a], 16);
    x[c] += x[d];
    x[b] = rotate(x[b] ^ x[c], 12);
    x[a] += x[b];
    x[d] = rotate(x[d] ^ x[a], 8);
    x[c] += x[d];
    x[b] = rotate(x[b] ^ x[c], 7);
}

void rgm_secret_block(const rgm_secret *secret, uint64_t stream, uint64_t block, uint32_t out[16])
{
    const uint32_t *k = secret->key;
    const uint32_t start[16] = {0x61707865,
                                0x3320646e,
                                0x79622d32,
                                0x6b206574, /* "expand 32-by" */
                                k[0],
                                k[1],
                                k[2],
                                k[3],
                                k[4],
                                k[5],
                                k[6],
                                k[7],
                                (uint32_t)block,
                                (uint32_t)(block >> 32),
                                (uint32_t)stream,
                                (uint32_t)(stream >> 32)};

    memcpy(out, start, sizeof start);
    for (int i = 0; i < DOUBLE_ROUNDS; i++) {
        for (int column = 0; column < 4; column++)
            quarter_round(out, column, 4 + column, 8 + column, 12 + column);
        for (int column = 0; column < 4; column++)
            quarter_round(out, column, 4 + (column + 1) % 4, 8 + (column + 2) % 4,
                          12 + (column + 3) % 4);
    }
    for (int i = 0; i < 16; i++)
        out[i] += start[i];
}

void rgm_secret_normals(const rgm_secret *secret, uint64_t stream, uint64_t block,
                        double out[RGM_SECRET_NORMALS])
{
    uint32_t words[16];

    rgm_secret_block(secret, stream, block, words);
    for (int i = 0; i < RGM_SECRET_NORMALS; i++)
        out[i] = rgmi_normal(words + 4 * (i / 2), i % 2 != 0);
}
