/* The sum over a rank's shards against a tree that is built whole. */
#include <check.h>
#include <regimen/comm.h>

#define SIZE 9001 /* more than two blocks, and odd */

/* What shard i holds: numbers whose sums round. */
static float number(int64_t shard, int64_t i)
{
    return (float)sin((double)(shard * 977 + i) * 0.37) * (i % 7 == 0 ? 1e6F : 1.0F);
}

/* The tree itself: shards [begin, begin + count). */
static float tree(int64_t begin, int64_t count, int64_t i)
{
    if (count == 1)
        return number(begin, i);
    float low = tree(begin, count / 2, i), high = tree(begin + count / 2, count / 2, i);
    return low + high;
}

static double tree_f64(int64_t begin, int64_t count, int64_t i)
{
    if (count == 1)
        return (double)number(begin, i) / 3;
    double low = tree_f64(begin, count / 2, i), high = tree_f64(begin + count / 2, count / 2, i);
    return low + high;
}

static void f32_has_the_bits_of_the_tree(void **state)
{
    static float values[SIZE];

    (void)state;
    for (int64_t shards = 1; shards <= 16; shards *= 2) {
        rgm_shard_sum *sum;

        CHECK_OK(rgm_shard_sum_create(&sum, RGM_F32, SIZE, shards));
        for (int round = 0; round < 2; round++) { /* the second begins again */
            for (int64_t shard = 0; shard < shards; shard++) {
                for (int64_t i = 0; i < SIZE; i++)
                    values[i] = number(shard, i);
                CHECK_INT(shard == shards - 1, rgm_shard_sum_add(sum, values));
            }
            for (int64_t i = 0; i < SIZE; i++)
                if (values[i] != tree(0, shards, i))
                    fail_msg("%lld shards: number %lld differs", (long long)shards, (long long)i);
        }
        rgm_shard_sum_release(sum);
    }
}

static void f64_is_added_in_double(void **state)
{
    static double values[SIZE];
    rgm_shard_sum *sum;

    (void)state;
    CHECK_OK(rgm_shard_sum_create(&sum, RGM_F64, SIZE, 8));
    for (int64_t shard = 0; shard < 8; shard++) {
        for (int64_t i = 0; i < SIZE; i++)
            values[i] = (double)number(shard, i) / 3;
        rgm_shard_sum_add(sum, values);
    }
    for (int64_t i = 0; i < SIZE; i++)
        if (values[i] != tree_f64(0, 8, i))
            fail_msg("number %lld differs", (long long)i);
    rgm_shard_sum_release(sum);
}

/* The tree of bf16: each sum of two is rounded. */
static float tree_bf16(int64_t begin, int64_t count, int64_t i)
{
    float sum = count == 1
                    ? number(begin, i)
                    : tree_bf16(begin, count / 2, i) + tree_bf16(begin + count / 2, count / 2, i);

    return rgm_bf16_to(rgm_bf16_from(sum));
}

static void bf16_is_rounded_at_each_sum(void **state)
{
    static uint16_t values[SIZE];

    (void)state;
    for (int64_t shards = 1; shards <= 8; shards *= 2) {
        rgm_shard_sum *sum;

        CHECK_OK(rgm_shard_sum_create(&sum, RGM_BF16, SIZE, shards));
        for (int64_t shard = 0; shard < shards; shard++) {
            for (int64_t i = 0; i < SIZE; i++)
                values[i] = rgm_bf16_from(number(shard, i));
            rgm_shard_sum_add(sum, values);
        }
        for (int64_t i = 0; i < SIZE; i++)
            if (rgm_bf16_to(values[i]) != tree_bf16(0, shards, i))
                fail_msg("%lld shards: number %lld differs", (long long)shards, (long long)i);
        rgm_shard_sum_release(sum);
    }
}

/* The last shard by parts, from the end of the array to its beginning. */
static void parts_of_the_last_shard_have_the_bits_of_the_whole(void **state)
{
    static float values[SIZE];
    rgm_shard_sum *sum;

    (void)state;
    CHECK_OK(rgm_shard_sum_create(&sum, RGM_F32, SIZE, 4));
    for (int round = 0; round < 2; round++) {
        for (int64_t shard = 0; shard < 4; shard++) {
            for (int64_t i = 0; i < SIZE; i++)
                values[i] = number(shard, i);
            if (shard < 3)
                CHECK(!rgm_shard_sum_add(sum, values));
        }
        for (int64_t to = SIZE; to > 0; to -= to < 1000 ? to : 1000)
            rgm_shard_sum_add_part(sum, values, to < 1000 ? 0 : to - 1000, to);
        rgm_shard_sum_add_part(sum, values, SIZE, SIZE);
        for (int64_t i = 0; i < SIZE; i++)
            if (values[i] != tree(0, 4, i))
                fail_msg("round %d: number %lld differs", round, (long long)i);
        rgm_shard_sum_reset(sum);
    }
    rgm_shard_sum_release(sum);
}

static void two_ranks_have_the_bits_of_one(void **state)
{
    float low[5], high[5], whole[5];
    rgm_shard_sum *half, *all;

    (void)state;
    CHECK_OK(rgm_shard_sum_create(&half, RGM_F32, 5, 4));
    CHECK_OK(rgm_shard_sum_create(&all, RGM_F32, 5, 8));
    for (int64_t shard = 0; shard < 8; shard++) {
        float *mine = shard < 4 ? low : high;

        for (int64_t i = 0; i < 5; i++)
            mine[i] = whole[i] = number(shard, i);
        rgm_shard_sum_add(half, mine);
        rgm_shard_sum_add(all, whole);
    }
    for (int64_t i = 0; i < 5; i++)
        CHECK(low[i] + high[i] == whole[i]);
    rgm_shard_sum_release(half);
    rgm_shard_sum_release(all);
}

static void a_step_that_is_given_up_leaves_nothing(void **state)
{
    double value = 1;
    rgm_shard_sum *sum;

    (void)state;
    CHECK_OK(rgm_shard_sum_create(&sum, RGM_F64, 1, 4));
    rgm_shard_sum_add(sum, &value);
    rgm_shard_sum_reset(sum);
    for (int shard = 0; shard < 4; shard++) {
        value = shard * 10;
        rgm_shard_sum_add(sum, &value);
    }
    CHECK(value == 60);
    rgm_shard_sum_release(sum);
    CHECK_OK(rgm_shard_sum_create(&sum, RGM_F32, 0, 4)); /* of no numbers */
    CHECK(!rgm_shard_sum_add(sum, NULL));
    rgm_shard_sum_release(sum);
}

static void mistakes_are_told(void **state)
{
    rgm_shard_sum *sum;

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_shard_sum_create(&sum, RGM_I32, 4, 2));
    CHECK(sum == NULL);
    CHECK_MESSAGE("i32");
    CHECK_STATUS(RGM_ERR_ARG, rgm_shard_sum_create(&sum, RGM_F32, 4, 3));
    CHECK_MESSAGE("power of two");
    CHECK_STATUS(RGM_ERR_ARG, rgm_shard_sum_create(&sum, RGM_F32, 4, 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_shard_sum_create(&sum, RGM_F32, -1, 2));
    CHECK_EVERY_OOM(rgm_shard_sum_create(&sum, RGM_F32, 4, 4), rgm_shard_sum_release(sum));
    rgm_shard_sum_release(NULL);
}

TESTS(cmocka_unit_test(f32_has_the_bits_of_the_tree), cmocka_unit_test(f64_is_added_in_double),
      cmocka_unit_test(bf16_is_rounded_at_each_sum),
      cmocka_unit_test(parts_of_the_last_shard_have_the_bits_of_the_whole),
      cmocka_unit_test(two_ranks_have_the_bits_of_one),
      cmocka_unit_test(a_step_that_is_given_up_leaves_nothing), cmocka_unit_test(mistakes_are_told))
