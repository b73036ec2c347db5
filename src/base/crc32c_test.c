/*
 * CRC-32C: published values, and the fast path against a bit-by-bit sum at every length around the
 * block sizes and every alignment.
 */
#include "base_internal.h"
#include <check.h>

static uint32_t slow_crc(uint32_t crc, const uint8_t *p, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
    }
    return ~crc;
}

static void published_values_come_out(void **state)
{
    uint8_t data[32];

    (void)state;
    CHECK_INT(0xe3069283, rgm_crc32c(0, "123456789", 9));
    memset(data, 0, 32); /* RFC 3720, B.4 */
    CHECK_INT(0x8a9136aa, rgm_crc32c(0, data, 32));
    memset(data, 0xff, 32);
    CHECK_INT(0x62a8ab43, rgm_crc32c(0, data, 32));
    for (int i = 0; i < 32; i++)
        data[i] = (uint8_t)i;
    CHECK_INT(0x46dd794e, rgm_crc32c(0, data, 32));
    for (int i = 0; i < 32; i++)
        data[i] = (uint8_t)(31 - i);
    CHECK_INT(0x113fdb5c, rgm_crc32c(0, data, 32));
    CHECK_INT(0, rgm_crc32c(0, NULL, 0));
}

static void both_paths_agree_at_all_lengths_and_alignments(void **state)
{
    static uint8_t data[60000];
    static const size_t lengths[] = {383,  384,  385,  511,   768,   3071,  3072,  3073,
                                     4096, 8191, 8192, 24575, 24576, 24577, 28041, 50000};
    rgm_rng rng = rgm_rng_stream(1, "crc", 0);

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)rgm_rng_u32(&rng, i);
    for (size_t align = 0; align < 9; align++)
        for (size_t size = 0; size < 500; size++) {
            uint32_t want = slow_crc(7, data + align, size);
            CHECK_INT(want, rgm_crc32c(7, data + align, size));
            CHECK_INT(want, rgmi_crc32c_table(7, data + align, size));
        }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t align = 0; align < 8; align += 3) {
            uint32_t want = slow_crc(0, data + align, lengths[i]);
            CHECK_INT(want, rgm_crc32c(0, data + align, lengths[i]));
            CHECK_INT(want, rgmi_crc32c_table(0, data + align, lengths[i]));
        }
}

static void a_sum_may_be_continued(void **state)
{
    static uint8_t data[30000];
    uint32_t whole, crc = 0;

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * i >> 3);
    whole = rgm_crc32c(0, data, sizeof data);
    for (size_t at = 0, n = 1; at < sizeof data; at += n, n = n * 2 + 1) {
        if (n > sizeof data - at)
            n = sizeof data - at;
        crc = rgm_crc32c(crc, data + at, n);
    }
    CHECK_INT(whole, crc);
}

TESTS(cmocka_unit_test(published_values_come_out),
      cmocka_unit_test(both_paths_agree_at_all_lengths_and_alignments),
      cmocka_unit_test(a_sum_may_be_continued))
