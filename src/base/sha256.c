/*
 * SHA-256 (FIPS 180-4) and HMAC of it (RFC 2104).
 */
#include "base_internal.h"

#include <string.h>

enum { BYTES = 32 };

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void expand(uint32_t w[64], const uint8_t *block)
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
}

/* One of 64 rounds; the eight words change their names in place of their places. */
static inline void take_round(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e,
                              uint32_t f, uint32_t g, uint32_t *h, uint32_t word)
{
    uint32_t first = *h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (g ^ (e & (f ^ g))) + word;

    *d += first;
    *h = first + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) | (c & (a | b)));
}

static void take_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    uint32_t w[64];

    expand(w, block);
    for (int i = 0; i < 64; i++)
        w[i] += constants[i];
    for (int i = 0; i < 64; i += 8) {
        take_round(a, b, c, &d, e, f, g, &h, w[i]);
        take_round(h, a, b, &c, d, e, f, &g, w[i + 1]);
        take_round(g, h, a, &b, c, d, e, &f, w[i + 2]);
        take_round(f, g, h, &a, b, c, d, &e, w[i + 3]);
        take_round(e, f, g, &h, a, b, c, &d, w[i + 4]);
        take_round(d, e, f, &g, h, a, b, &c, w[i + 5]);
        take_round(c, d, e, &f, g, h, a, &b, w[i + 6]);
        take_round(b, c, d, &e, f, g, h, &a, w[i + 7]);
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void rgmi_sha256_begin(rgmi_sha256 *hash)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

    *hash = (rgmi_sha256){.size = 0};
    memcpy(hash->state, first, sizeof first);
}

void rgmi_sha256_add(rgmi_sha256 *hash, const void *data, size_t size)
{
    const uint8_t *p = data;
    size_t held = hash->size % 64;

    hash->size += size;
    if (held > 0) {
        size_t more = size < 64 - held ? size : 64 - held;

        if (more > 0)
            memcpy(hash->block + held, p, more);
        if (held + more < 64)
            return;
        take_block(hash->state, hash->block);
        p += more;
        size -= more;
    }
    for (; size >= 64; p += 64, size -= 64)
        take_block(hash->state, p);
    if (size > 0)
        memcpy(hash->block, p, size);
}

static void end(uint8_t out[BYTES], rgmi_sha256 *hash)
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = hash->size * 8;
    size_t held = hash->size % 64;
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    rgmi_sha256_add(hash, padding, held < 56 ? 56 - held : 120 - held);
    rgmi_sha256_add(hash, length, 8);
    for (int i = 0; i < BYTES; i++)
        out[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

static void print_digits(char out[RGM_SHA256_ROOM], const uint8_t hash[BYTES])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < BYTES; i++) {
        out[2 * i] = digits[hash[i] >> 4];
        out[2 * i + 1] = digits[hash[i] & 15];
    }
    out[2 * BYTES] = 0;
}

void rgmi_sha256_end(char out[RGM_SHA256_ROOM], rgmi_sha256 *hash)
{
    uint8_t bytes[BYTES];

    end(bytes, hash);
    print_digits(out, bytes);
}

static void hash_of(uint8_t out[BYTES], const void *data, size_t size)
{
    rgmi_sha256 hash;

    rgmi_sha256_begin(&hash);
    rgmi_sha256_add(&hash, data, size);
    end(out, &hash);
}

void rgm_sha256_text(char out[RGM_SHA256_ROOM], const void *data, size_t size)
{
    uint8_t bytes[BYTES];

    hash_of(bytes, data, size);
    print_digits(out, bytes);
}

void rgm_hmac_sha256_text(char out[RGM_SHA256_ROOM], const void *key, size_t key_size,
                          const void *data, size_t size)
{
    uint8_t block[64] = {0}, bytes[BYTES];
    rgmi_sha256 hash;

    if (key_size > sizeof block)
        hash_of(block, key, key_size);
    else if (key_size > 0)
        memcpy(block, key, key_size);
    for (int i = 0; i < 64; i++)
        block[i] ^= 0x36;
    rgmi_sha256_begin(&hash);
    rgmi_sha256_add(&hash, block, sizeof block);
    rgmi_sha256_add(&hash, data, size);
    end(bytes, &hash);
    for (int i = 0; i < 64; i++)
        block[i] ^= 0x36 ^ 0x5c;
    rgmi_sha256_begin(&hash);
    rgmi_sha256_add(&hash, block, sizeof block);
    rgmi_sha256_add(&hash, bytes, sizeof bytes);
    end(bytes, &hash);
    print_digits(out, bytes);
}
