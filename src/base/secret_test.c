/*
 * Secret random numbers: the published vectors of ChaCha20, that keys from the system differ, and
 * that the normal draws are what they say.
 */
#include <check.h>

/* RFC 8439, 2.3.2: the same state, whose nonce lies over our block's high half and the stream. */
static void chacha20_matches_the_published_vectors(void **state)
{
    static const uint32_t expected[16] = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
                                          0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
                                          0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                                          0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
    rgm_secret secret;
    uint32_t out[16];

    (void)state;
    for (uint32_t i = 0; i < 8; i++) /* bytes 00, 01, ... 1f */
        secret.key[i] = 0x03020100 + i * 0x04040404;
    rgm_secret_block(&secret, 0x4a000000, UINT64_C(0x09000000) << 32 | 1, out);
    for (int i = 0; i < 16; i++)
        CHECK_INT(expected[i], out[i]);
    /* RFC 8439, A.1, vector 1: all zeros. */
    secret = rgm_secret_from_seed(0);
    rgm_secret_block(&secret, 0, 0, out);
    CHECK_INT(0xade0b876, out[0]);
    CHECK_INT(0x8665eeb2, out[15]);
}

static void keys_of_the_system_differ_and_those_of_a_seed_do_not(void **state)
{
    rgm_secret a, b, zero = {{0}};

    (void)state;
    CHECK_OK(rgm_secret_draw(&a));
    CHECK_OK(rgm_secret_draw(&b));
    CHECK(memcmp(&a, &b, sizeof a) != 0 && memcmp(&a, &zero, sizeof a) != 0);
    a = rgm_secret_from_seed(7);
    b = rgm_secret_from_seed(7);
    CHECK(memcmp(&a, &b, sizeof a) == 0);
    b = rgm_secret_from_seed(UINT64_C(7) << 32);
    CHECK(memcmp(&a, &b, sizeof a) != 0);
}

/* Means of x, x^2 and x^4 to 5 sigma; neighbours, streams and keys do not go together. */
static void normal_draws_are_normal_and_independent(void **state)
{
    enum { BLOCKS = 25000, N = BLOCKS * RGM_SECRET_NORMALS };
    rgm_secret secret = rgm_secret_from_seed(3), other = rgm_secret_from_seed(4);
    double mean[5] = {0}, across[3] = {0}, before = 0;

    (void)state;
    for (uint64_t k = 0; k < BLOCKS; k++) {
        double x[RGM_SECRET_NORMALS], y[RGM_SECRET_NORMALS], z[RGM_SECRET_NORMALS];

        rgm_secret_normals(&secret, 1, k, x);
        rgm_secret_normals(&secret, 2, k, y);
        rgm_secret_normals(&other, 1, k, z);
        for (int i = 0; i < RGM_SECRET_NORMALS; i++) {
            for (int p = 1; p <= 4; p++)
                mean[p] += pow(x[i], p) / N;
            across[0] += x[i] * y[i] / N;
            across[1] += x[i] * z[i] / N;
            across[2] += x[i] * before / N;
            before = x[i];
        }
    }
    CHECK_CLOSE(mean[1], 0, 0, 5 / sqrt(N));
    CHECK_CLOSE(mean[2], 1, 0, 5 * sqrt(2.0 / N));
    CHECK_CLOSE(mean[3], 0, 0, 5 * sqrt(15.0 / N));
    CHECK_CLOSE(mean[4], 3, 0, 5 * sqrt(96.0 / N));
    for (int k = 0; k < 3; k++)
        CHECK_CLOSE(across[k], 0, 0, 5 / sqrt(N));
}

TESTS(cmocka_unit_test(chacha20_matches_the_published_vectors),
      cmocka_unit_test(keys_of_the_system_differ_and_those_of_a_seed_do_not),
      cmocka_unit_test(normal_draws_are_normal_and_independent))
