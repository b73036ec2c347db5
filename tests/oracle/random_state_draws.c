/*
 * Prints draws of a seed for random_state_oracle.py: words, integers by bound, units, bytes.
 */
#include <regimen/search.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    static const uint64_t bounds[] = {1,
                                      2,
                                      99,
                                      1000,
                                      INT32_MAX,
                                      UINT32_MAX,
                                      UINT64_C(4294967296),
                                      UINT64_C(1099511640121),
                                      INT64_MAX - 1};
    static const int64_t sizes[] = {1, 3, 4, 16, 17};
    rgm_mt19937 random;
    uint8_t bytes[32];

    if (argc != 2)
        return 2;
    rgm_mt19937_seed(&random, (uint32_t)strtoul(argv[1], NULL, 10));
    for (int i = 0; i < 1500; i++)
        printf("%" PRIu32 " ", rgm_mt19937_u32(&random));
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        printf("\n");
        for (int i = 0; i < 50; i++)
            printf("%" PRIu64 " ", rgm_mt19937_bounded(&random, bounds[b]));
    }
    printf("\n");
    for (int i = 0; i < 1500; i++)
        printf("%a ", rgm_mt19937_unit(&random));
    printf("\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        rgm_mt19937_bytes(&random, bytes, sizes[i]);
        for (int64_t k = 0; k < sizes[i]; k++)
            printf("%02x", bytes[k]);
        printf(" ");
    }
    printf("\n");
    return 0;
}
