/*
 * Random numbers: the published vectors of Philox4x32-10, the layout of the counter, and that the
 * distributions are what they say.
 */
#include <check.h>

static void philox_matches_the_published_vectors(void **state)
{
    /* kat_vectors of Random123: counter, key, result. */
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t *c = cases[i].counter;
        rgm_rng rng = {{cases[i].key[0], cases[i].key[1]}, (uint64_t)c[3] << 32 | c[2]};
        uint32_t out[4];
        rgm_rng_block(&rng, (uint64_t)c[1] << 32 | c[0], out);
        for (int k = 0; k < 4; k++)
            CHECK_INT(cases[i].out[k], out[k]);
    }
}

static void draws_are_functions_of_their_index(void **state)
{
    rgm_rng rng = rgm_rng_stream(1, "dropout", 3);
    uint32_t w[4];

    (void)state;
    for (uint64_t block = 0; block < 20; block++) {
        rgm_rng_block(&rng, block, w);
        for (uint64_t k = 0; k < 4; k++) {
            CHECK_INT(w[k], rgm_rng_u32(&rng, 4 * block + k));
            CHECK(rgm_rng_f32(&rng, 4 * block + k) == (float)(w[k] >> 8) / 16777216.0f);
        }
        for (uint64_t k = 0; k < 2; k++)
            CHECK(rgm_rng_f64(&rng, 2 * block + k) ==
                  (double)(((uint64_t)w[2 * k + 1] << 32 | w[2 * k]) >> 11) / 9007199254740992.0);
    }
}

static void streams_differ_by_seed_name_and_step(void **state)
{
    rgm_rng streams[5] = {rgm_rng_stream(1, "a", 0), rgm_rng_stream(2, "a", 0),
                          rgm_rng_stream(1, "b", 0), rgm_rng_stream(1, "a", 1),
                          rgm_rng_stream(1, "", 0)};
    rgm_rng again = rgm_rng_stream(1, "a", 0);
    uint32_t words[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        words[i] = rgm_rng_u32(&streams[i], 0);
        for (int j = 0; j < i; j++)
            CHECK(words[i] != words[j]);
    }
    CHECK_INT(words[0], rgm_rng_u32(&again, 0));
}

static void uniform_numbers_fill_the_interval_evenly(void **state)
{
    enum { N = 100000, BINS = 20 };
    rgm_rng rng = rgm_rng_stream(7, "uniform", 0);
    int64_t f[BINS] = {0}, d[BINS] = {0}, k[BINS] = {0};
    double chi[3] = {0}, expected = (double)N / BINS;

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        float x = rgm_rng_f32(&rng, i);
        double y = rgm_rng_f64(&rng, i);
        uint64_t n = rgm_rng_below(&rng, i, BINS);
        CHECK(x >= 0 && x < 1 && y >= 0 && y < 1 && n < BINS);
        f[(int)(x * BINS)]++;
        d[(int)(y * BINS)]++;
        k[n]++;
    }
    for (int b = 0; b < BINS; b++) {
        chi[0] += pow((double)f[b] - expected, 2) / expected;
        chi[1] += pow((double)d[b] - expected, 2) / expected;
        chi[2] += pow((double)k[b] - expected, 2) / expected;
    }
    for (int i = 0; i < 3; i++)
        CHECK(chi[i] < 60); /* 19 degrees of freedom: exceeded once in 10^6 */
    CHECK_INT(0, rgm_rng_below(&rng, 0, 1));
}

static void normal_numbers_have_the_moments_and_tails(void **state)
{
    enum { N = 100000 };
    rgm_rng rng = rgm_rng_stream(7, "normal", 0);
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, pairs = 0;
    int64_t beyond = 0;

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        double x = rgm_rng_normal(&rng, i);
        CHECK(isfinite(x));
        m1 += x / N;
        m2 += x * x / N;
        m3 += x * x * x / N;
        m4 += x * x * x * x / N;
        beyond += fabs(x) > 2;
        if (i % 2 == 1)
            pairs += x * rgm_rng_normal(&rng, i - 1) / (N / 2);
    }
    CHECK_CLOSE(m1, 0, 0, 5 / sqrt(N));
    CHECK_CLOSE(m2, 1, 0, 5 * sqrt(2.0 / N));
    CHECK_CLOSE(m3, 0, 0, 5 * sqrt(15.0 / N));
    CHECK_CLOSE(m4, 3, 0, 5 * sqrt(96.0 / N));
    CHECK_CLOSE((double)beyond / N, 0.0455, 0, 0.0035);
    CHECK_CLOSE(pairs, 0, 0, 5 / sqrt(N / 2));
}

static void permutations_are_uniform(void **state)
{
    int64_t order[100], counts[24] = {0};
    double chi = 0;

    (void)state;
    for (uint64_t step = 0; step < 24000; step++) {
        rgm_rng rng = rgm_rng_stream(3, "shuffle", step);
        rgm_rng_permutation(&rng, order, 4);
        int64_t code = 0, seen = 0;
        for (int i = 0; i < 4; i++) {
            int64_t smaller = 0;
            seen |= 1 << order[i];
            for (int j = i + 1; j < 4; j++)
                smaller += order[j] < order[i];
            code = code * (4 - i) + smaller;
        }
        CHECK_INT(15, seen);
        counts[code]++;
    }
    for (int i = 0; i < 24; i++)
        chi += pow((double)counts[i] - 1000, 2) / 1000;
    CHECK(chi < 67); /* 23 degrees of freedom, once in 10^5 */
    rgm_rng rng = rgm_rng_stream(3, "shuffle", 0);
    rgm_rng_permutation(&rng, order, 100);
    int64_t sum = 0;
    for (int i = 0; i < 100; i++)
        sum += order[i];
    CHECK_INT(4950, sum);
    rgm_rng_permutation(&rng, order, 0);
}

static void large_ranges_reach_their_upper_half(void **state)
{
    rgm_rng rng = rgm_rng_stream(5, "below", 0);
    uint64_t n = (uint64_t)3 << 61;
    int upper = 0;

    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t x = rgm_rng_below(&rng, i, n);
        CHECK(x < n);
        upper += x >= n / 2;
    }
    CHECK(upper > 400 && upper < 600);
}

TESTS(cmocka_unit_test(philox_matches_the_published_vectors),
      cmocka_unit_test(draws_are_functions_of_their_index),
      cmocka_unit_test(streams_differ_by_seed_name_and_step),
      cmocka_unit_test(uniform_numbers_fill_the_interval_evenly),
      cmocka_unit_test(normal_numbers_have_the_moments_and_tails),
      cmocka_unit_test(permutations_are_uniform),
      cmocka_unit_test(large_ranges_reach_their_upper_half))
