/*
 * Memory, growing arrays and the arena: alignment, counting, the fault hook.
 */
#include <check.h>

#include <pthread.h>

static void memory_is_aligned_and_counted(void **state)
{
    int64_t before = rgm_memory_used();
    size_t sizes[] = {0, 1, 63, 64, 65, 4096, 1000000, 5 << 20};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *p = rgm_malloc(sizes[i]);
        CHECK(p != NULL && (uintptr_t)p % 64 == 0);
        CHECK(rgm_memory_used() >= before + (int64_t)sizes[i]);
        memset(p, 1, sizes[i]);
        rgm_free(p);
        CHECK_INT(before, rgm_memory_used());
    }
    rgm_free(NULL);
}

static void large_blocks_are_aligned_for_huge_pages(void **state)
{
    char *p = rgm_malloc(4 << 20), *q;

    (void)state;
    CHECK(p != NULL && (uintptr_t)p % (2 << 20) == 0);
    p[0] = 'a';
    p[(4 << 20) - 1] = 'z';
    q = rgm_realloc(p, 16 << 20);
    CHECK(q != NULL && (uintptr_t)q % (2 << 20) == 0 && q[0] == 'a' && q[(4 << 20) - 1] == 'z');
    rgm_free(q);
}

static void calloc_is_zeroed_and_refuses_overflow(void **state)
{
    char *p = rgm_malloc(1000);
    int64_t before;

    (void)state;
    memset(p, 255, 1000);
    rgm_free(p);
    before = rgm_memory_used();
    p = rgm_calloc(10, 100);
    for (int i = 0; i < 1000; i++)
        CHECK_INT(0, p[i]);
    rgm_free(p);
    CHECK(rgm_calloc(-1, 1) == NULL);
    CHECK(rgm_calloc(INT64_MAX, 16) == NULL);
    CHECK(rgm_calloc(INT64_MAX, 1) == NULL);
    CHECK(rgm_malloc(SIZE_MAX) == NULL);
    CHECK_INT(before, rgm_memory_used());
}

static rgm_status new_raw(int64_t **out, int64_t count)
{
    return RGM_NEW_RAW(*out, count);
}

static void arrays_that_are_not_zeroed_refuse_overflow_too(void **state)
{
    int64_t before = rgm_memory_used(), *p = NULL;

    (void)state;
    CHECK_OK(new_raw(&p, 100));
    CHECK((uintptr_t)p % 64 == 0 && rgm_memory_used() >= before + 800);
    memset(p, 1, 800);
    rgm_free(p);
    CHECK_OK(new_raw(&p, 0));
    CHECK(p != NULL);
    rgm_free(p);
    CHECK_STATUS(RGM_ERR_NOMEM, new_raw(&p, -1));
    CHECK_STATUS(RGM_ERR_NOMEM, new_raw(&p, INT64_MAX / 4));
    CHECK_MESSAGE("x 8 bytes");
    CHECK(rgm_malloc_array(INT64_MAX, 16) == NULL);
    CHECK_INT(before, rgm_memory_used());
}

static void realloc_keeps_content_and_alignment(void **state)
{
    unsigned char *p = NULL;
    size_t size = 1;

    (void)state;
    for (; size < 100000; size = size * 3 + 1) {
        unsigned char *q = rgm_realloc(p, size);
        CHECK(q != NULL && (uintptr_t)q % 64 == 0);
        for (size_t i = 0; i < size / 3; i++)
            CHECK_INT(i % 251, q[i]);
        for (size_t i = 0; i < size; i++)
            q[i] = (unsigned char)(i % 251);
        p = q;
    }
    p = rgm_realloc(p, 10);
    for (int i = 0; i < 10; i++)
        CHECK_INT(i, p[i]);
    rgm_free(p);
}

static void the_peak_is_remembered_until_reset(void **state)
{
    void *p = rgm_malloc(1000000);
    int64_t peak;

    (void)state;
    rgm_free(p);
    peak = rgm_memory_peak();
    CHECK(peak >= rgm_memory_used() + 1000000);
    rgm_memory_reset_peak();
    CHECK_INT(rgm_memory_used(), rgm_memory_peak());
}

static void the_system_tells_the_resident_set(void **state)
{
    (void)state;
    CHECK(rgm_memory_resident() > 100000);
    CHECK(rgm_memory_resident_peak() > 100000);
}

static void the_fault_hook_fails_the_nth_allocation(void **state)
{
    int64_t before = rgm_memory_used();

    (void)state;
    for (int persistent = 0; persistent < 2; persistent++)
        for (int n = 0; n < 5; n++) {
            void *p[5];
            rgm_memory_fail_at(n, persistent);
            for (int i = 0; i < 5; i++)
                p[i] = rgm_malloc(8);
            CHECK_INT(persistent ? 5 - n : 1, rgm_memory_failures());
            rgm_memory_fail_at(-1, false);
            for (int i = 0; i < 5; i++) {
                CHECK((p[i] == NULL) == (i == n || (persistent && i > n)));
                rgm_free(p[i]);
            }
        }
    CHECK_INT(before, rgm_memory_used());
}

static void new_and_reserve_record_an_error(void **state)
{
    int64_t capacity = 0, *p = NULL;

    (void)state;
    rgm_memory_fail_at(0, false);
    CHECK_STATUS(RGM_ERR_NOMEM, RGM_NEW(p, 3));
    rgm_memory_fail_at(-1, false);
    CHECK_MESSAGE("3 x 8 bytes");
    CHECK_STATUS(RGM_ERR_NOMEM, RGM_NEW(p, -3));
    CHECK_STATUS(RGM_ERR_NOMEM, RGM_RESERVE(p, capacity, INT64_MAX));
    CHECK_STATUS(RGM_ERR_NOMEM, RGM_RESERVE(p, capacity, INT64_MAX / 4));
    CHECK(p == NULL && capacity == 0);
}

static void an_array_grows_geometrically(void **state)
{
    int64_t capacity = 0, moves = 0, *array = NULL;

    (void)state;
    for (int64_t n = 0; n < 100000; n++) {
        int64_t had = capacity;
        CHECK_OK(RGM_RESERVE(array, capacity, n + 1));
        CHECK(capacity > n);
        moves += capacity != had;
        array[n] = n;
    }
    for (int64_t n = 0; n < 100000; n++)
        CHECK_INT(n, array[n]);
    CHECK(moves < 20);
    rgm_memory_fail_at(0, true);
    CHECK_STATUS(RGM_ERR_NOMEM, RGM_RESERVE(array, capacity, capacity + 1));
    rgm_memory_fail_at(-1, false);
    CHECK_INT(99999, array[99999]);
    rgm_free(array);
}

static rgm_status fill_arena(void)
{
    rgm_status status = RGM_OK;
    rgm_arena *arena = NULL;

    RGM_GO(rgm_arena_create(&arena));
    for (int i = 0; i < 3000; i++)
        if (rgm_arena_alloc(arena, (size_t)i) == NULL)
            RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "arena"));
done:
    rgm_arena_release(arena);
    return status;
}

static void an_arena_gives_zeroed_separate_aligned_memory(void **state)
{
    static unsigned char *p[2000];
    rgm_arena *arena = NULL;
    size_t size;

    (void)state;
    CHECK_OK(rgm_arena_create(&arena));
    for (size_t i = 0; i < 2000; i++) {
        size = i * 37 % 3001;
        p[i] = rgm_arena_alloc(arena, size);
        CHECK(p[i] != NULL && (uintptr_t)p[i] % 16 == 0);
        for (size_t j = 0; j < size; j++)
            CHECK_INT(0, p[i][j]);
        memset(p[i], (int)(i % 255) + 1, size);
    }
    for (size_t i = 0; i < 2000; i++)
        for (size_t j = 0; j < i * 37 % 3001; j++)
            CHECK_INT(i % 255 + 1, p[i][j]);
    CHECK_TEXT("Cora", rgm_arena_strdup(arena, "Cora"));
    CHECK(rgm_arena_alloc(arena, SIZE_MAX) == NULL);
    CHECK(rgm_arena_alloc(arena, SIZE_MAX - 8) == NULL);
    rgm_arena_release(arena);
    rgm_arena_release(NULL);
    CHECK_EVERY_OOM(fill_arena(), (void)0);
}

static void *churn(void *payload)
{
    (void)payload;
    for (int i = 1; i < 2000; i++)
        rgm_free(rgm_malloc((size_t)i));
    return NULL;
}

static void counting_is_exact_with_threads(void **state)
{
    int64_t before = rgm_memory_used();
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, churn, NULL));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(before, rgm_memory_used());
}

TESTS(cmocka_unit_test(memory_is_aligned_and_counted),
      cmocka_unit_test(large_blocks_are_aligned_for_huge_pages),
      cmocka_unit_test(calloc_is_zeroed_and_refuses_overflow),
      cmocka_unit_test(arrays_that_are_not_zeroed_refuse_overflow_too),
      cmocka_unit_test(realloc_keeps_content_and_alignment),
      cmocka_unit_test(the_peak_is_remembered_until_reset),
      cmocka_unit_test(the_system_tells_the_resident_set),
      cmocka_unit_test(the_fault_hook_fails_the_nth_allocation),
      cmocka_unit_test(new_and_reserve_record_an_error),
      cmocka_unit_test(an_array_grows_geometrically),
      cmocka_unit_test(an_arena_gives_zeroed_separate_aligned_memory),
      cmocka_unit_test(counting_is_exact_with_threads))
