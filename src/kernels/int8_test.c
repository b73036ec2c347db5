/*
 * Products in 8 bits: every row has the bits of the plain one, which are those of sums of integers
 * and within the stated bound of the double product; in any company, on any number of threads,
 * without scratch memory; what is not a number; what was kept is kept as it is.
 */
#include <check.h>
#include "int8.h"
#include "product_check.h"

#define CASES 60

#ifdef RGM_X86
void rgmi_emulated_int8_matmul(const rgm_matmul_args *args);
size_t rgmi_emulated_int8_pack(const rgm_matmul_args *args);
#endif

enum { ROWS_MOST = 8 };
typedef struct row {
    const char *name;
    void (*matmul)(const rgm_matmul_args *args);
    size_t (*pack)(const rgm_matmul_args *args);
} row;

/* The plain one first. */
static int rows_here(row rows[ROWS_MOST])
{
    static const char *const names[] = {"reference", "avx2", "avx512", "avx512_vnni"};
    int count = 0;

    for (int i = 0; i < 4; i++) {
        const rgm_kernels *table = rgmi_kernels_named(names[i], RGM_I8);
        if (table != NULL)
            rows[count++] = (row){names[i], table->matmul, table->matmul_pack};
    }
#ifdef RGM_X86
    if (rgmi_kernels_named("avx2", RGM_I8))
        rows[count++] =
            (row){"avx512_vnni, emulated", rgmi_emulated_int8_matmul, rgmi_emulated_int8_pack};
#endif
    return count;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void draw_shape(product *p, int variant)
{
    static const int64_t shapes[][3] = {{1, 1, 1},     {1, 256, 256}, {7, 100, 33},  {32, 64, 256},
                                        {6, 65, 1025}, {13, 31, 4},   {300, 70, 30}, {5, 0, 3},
                                        {31, 33, 0},   {0, 4, 4},     {2, 17, 2050}, {8, 129, 67}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    const int64_t *shape = shapes[variant % SHAPES];

    p->o = (rgm_matmul_args){.m = shape[0], .n = shape[1], .k = shape[2], .batch = 1, .slope = 0.3};
    if (variant >= SHAPES) {
        p->o.m = 1 + draw_below(p, 20);
        p->o.n = 1 + draw_below(p, 150);
        p->o.k = 1 + draw_below(p, 300);
    }
}

/* Integral: -127..127, with steps of 1 as soon as a row has 127 in it. */
static product product_draw(int variant, bool integral)
{
    product p = {.state = (uint64_t)variant * 77773 + 999};
    rgm_matmul_args *o = &p.o;

    draw_shape(&p, variant);
    o->trans_a = variant % 5 == 1;
    o->trans_b = variant >> 1 & 1;
    o->accumulate = draw_below(&p, 3) == 0;
    o->activation = integral || o->accumulate || variant % 3 ? RGM_ACT_NONE : RGM_ACT_RELU;
    o->lda = (o->trans_a ? o->m : o->k) + draw_below(&p, 2) * 3;
    o->ldb = (o->trans_b ? o->k : o->n) + draw_below(&p, 2) * 3;
    o->ldc = o->n + draw_below(&p, 2) * 5;
    p.a_count = (o->trans_a ? o->k : o->m) * o->lda;
    p.b_count = (o->trans_b ? o->n : o->k) * o->ldb;
    p.c_count = o->m * o->ldc;
    p.a = draw_numbers(&p, p.a_count, integral, 127);
    p.b = draw_numbers(&p, p.b_count, integral, 127);
    p.c = draw_numbers(&p, p.c_count, integral, 127);
    if (draw_below(&p, 2))
        p.bias = draw_numbers(&p, o->n, integral, 127);
    o->a = p.a;
    o->b = p.b;
    o->bias = p.bias;
    return p;
}

/* c as the row makes it of what p has there; nothing else is written. */
static float *result_of(const row *r, const product *p)
{
    rgm_matmul_args o = p->o;
    int64_t count = p->c_count + GUARD;
    float *c = rgm_malloc((size_t)count * sizeof *c);
    void *packed = packed_by(r->pack, o);

    CHECK(c != NULL);
    for (int64_t i = 0; i < count; i++)
        c[i] = i < p->c_count ? p->c[i] : 77;
    o.c = c;
    o.b = packed;
    o.packed = true;
    r->matmul(&o);
    rgm_free(packed);
    for (int64_t i = 0; i < count; i++)
        if (i >= p->c_count || i % o.ldc >= o.n)
            CHECK(c[i] == (i < p->c_count ? p->c[i] : 77));
    return c;
}

static float a_at(const product *p, int64_t i, int64_t x)
{
    return p->a[p->o.trans_a ? x * p->o.lda + i : i * p->o.lda + x];
}

static float b_at(const product *p, int64_t x, int64_t j)
{
    return p->b[p->o.trans_b ? j * p->o.ldb + x : x * p->o.ldb + j];
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void check_bound(const product *p, int64_t i, int64_t j, float got)
{
    float row_step = rgmi_int8_step_of(p->a + (p->o.trans_a ? i : i * p->o.lda),
                                       p->o.trans_a ? p->o.lda : 1, p->o.k);
    float column_step = rgmi_int8_step_of(p->b + (p->o.trans_b ? j * p->o.ldb : j),
                                          p->o.trans_b ? 1 : p->o.ldb, p->o.k);
    double want = p->bias != NULL ? p->bias[j] : 0, bound = 1e-5;

    for (int64_t x = 0; x < p->o.k; x++) {
        double a = a_at(p, i, x), b = b_at(p, x, j);
        want += a * b;
        bound += (fabs(a) * column_step + fabs(b) * row_step + row_step * column_step / 2) / 2;
        bound += fabs(a * b) * 1e-6;
    }
    want += p->o.accumulate ? p->c[i * p->o.ldc + j] : 0;
    if (p->o.activation == RGM_ACT_RELU)
        want = want < 0 ? 0 : want;
    CHECK_CLOSE(want, got, 0, bound);
}

static void the_plain_row_keeps_the_bound(void **state)
{
    row rows[ROWS_MOST];

    (void)state;
    rows_here(rows);
    for (int v = 0; v < CASES; v++) {
        product p = product_draw(v, false);
        float *c = result_of(&rows[0], &p);
        for (int64_t i = 0; i < p.o.m; i++)
            for (int64_t j = 0; j < p.o.n; j++)
                check_bound(&p, i, j, c[i * p.o.ldc + j]);
        rgm_free(c);
        product_clear(&p);
    }
}

/* Numbers of -127..127, whose steps are made 1: the sums are those of integers. */
static void sums_are_those_of_integers(void **state)
{
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    (void)state;
    for (int v = 0; v < CASES; v++) {
        product p = product_draw(v, true);
        for (int64_t i = 0; i < p.o.m && p.o.k > 0; i++)
            p.a[p.o.trans_a ? i : i * p.o.lda] = i % 2 ? 127 : -127;
        for (int64_t j = 0; j < p.o.n && p.o.k > 0; j++)
            p.b[p.o.trans_b ? j * p.o.ldb : j] = j % 2 ? 127 : -127;
        for (int r = 0; r < count; r++) {
            float *c = result_of(&rows[r], &p);
            for (int64_t i = 0; i < p.o.m; i++)
                for (int64_t j = 0; j < p.o.n; j++) {
                    int64_t sum = 0;
                    for (int64_t x = 0; x < p.o.k; x++)
                        sum += (int64_t)a_at(&p, i, x) * (int64_t)b_at(&p, x, j);
                    sum += p.bias != NULL ? (int64_t)p.bias[j] : 0;
                    sum += p.o.accumulate ? (int64_t)p.c[i * p.o.ldc + j] : 0;
                    CHECK(c[i * p.o.ldc + j] == (float)sum);
                }
            rgm_free(c);
        }
        product_clear(&p);
    }
}

static void compare_rows(bool scarce)
{
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    for (int v = 0; v < CASES; v++) {
        product p = product_draw(v, false);
        float *want = result_of(&rows[0], &p);
        for (int r = 1; r < count; r++) {
            float *got;
            rgmi_scratch_fail(scarce);
            got = result_of(&rows[r], &p);
            rgmi_scratch_fail(false);
            if (memcmp(want, got, (size_t)p.c_count * sizeof *got) != 0)
                fail_msg("%s: product %d has other bits than the plain row's", rows[r].name, v);
            rgm_free(got);
        }
        rgm_free(want);
        product_clear(&p);
    }
}

static void every_row_has_the_bits_of_the_plain_one(void **state)
{
    (void)state;
    compare_rows(false);
}

static void every_row_has_them_without_scratch_memory(void **state)
{
    (void)state;
    compare_rows(true);
}

static void every_row_has_them_on_any_number_of_threads(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        rgm_threads_set(threads);
        compare_rows(false);
    }
    rgm_threads_set(2);
}

static void activations_follow(void **state)
{
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    (void)state;
    for (int act = RGM_ACT_RELU; act <= RGM_ACT_GELU; act++) {
        product p = product_draw(13, false);
        float *plain, *want;
        p.o.accumulate = false;
        p.o.activation = RGM_ACT_NONE;
        plain = result_of(&rows[0], &p);
        p.o.activation = (rgm_activation)act;
        want = result_of(&rows[0], &p);
        for (int64_t i = 0; act == RGM_ACT_LEAKY_RELU && i < p.c_count; i++)
            if (i % p.o.ldc < p.o.n)
                CHECK(want[i] == (plain[i] > 0 ? plain[i] : 0.3f * plain[i]));
        for (int r = 1; r < count; r++) {
            float *got = result_of(&rows[r], &p);
            for (int64_t i = 0; i < p.c_count; i++)
                CHECK_CLOSE(want[i], got[i], 1e-6, 1e-6);
            rgm_free(got);
        }
        rgm_free(plain);
        rgm_free(want);
        product_clear(&p);
    }
}

static void a_row_has_the_same_bits_in_any_company(void **state)
{
    enum { M = 67, N = 49, K = 300 };
    static float all[M * N], alone[M * N];
    product p = {.state = 3};
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    (void)state;
    p.a = draw_numbers(&p, M * K, false, 127);
    p.b = draw_numbers(&p, K * N, false, 127);
    for (int r = 0; r < count; r++) {
        rgm_matmul_args o = {.a = p.a, .b = p.b, .m = M, .n = N, .k = K, .batch = 1, .lda = K};
        o.ldb = o.ldc = N;
        o.b = packed_by(rows[r].pack, o);
        o.packed = true;
        o.c = all;
        rows[r].matmul(&o);
        o.c = alone;
        for (o.m = 1; o.m <= M; o.m++) {
            o.a = p.a + (M - o.m) * K;
            rows[r].matmul(&o);
            CHECK(memcmp(alone, all + (M - o.m) * N, (size_t)(o.m * N) * sizeof *all) == 0);
        }
        rgm_free((void *)(uintptr_t)o.b);
    }
    product_clear(&p);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void steps_reach_the_largest_and_are_kept_as_they_are(void **state)
{
    product p = {.state = 5};

    (void)state;
    CHECK(rgm_int8_step(0) == 0);
    CHECK(rgm_int8_step(1e-31f) == 0);
    CHECK(rgm_int8_step(127) == 1);
    CHECK(isnan(rgm_int8_step(INFINITY)));
    CHECK(isnan(rgm_int8_step(NAN)));
    for (int v = 0; v < 20000; v++) {
        float most = (float)exp((double)draw_below(&p, 1 << 20) / (1 << 20) * 150 - 68);
        float step = rgm_int8_step(most), inverse = rgmi_int8_inverse(step);
        CHECK(step >= most / 127 && step <= most / 127 * (1 + 0x1p-15f));
        CHECK_INT(127, rgmi_int8_round(most, inverse));
        CHECK_INT(-127, rgmi_int8_round(-most, inverse));
        CHECK(rgm_int8_step(127 * step) == step);
        for (int x = -127; x <= 127; x += 9) {
            CHECK((double)((float)x * step) == (double)x * (double)step);
            CHECK_INT(x, rgmi_int8_round((float)x * step, inverse));
        }
    }
}

static void what_is_no_number_stays_in_its_row_and_column(void **state)
{
    enum { M = 8, N = 40, K = 24, NOT = 3, INFINITE = 17, TINY = 5 };
    float a[M * K], b[K * N], c[M * N];
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    (void)state;
    for (int i = 0; i < M * K; i++)
        a[i] = i / K == TINY ? 1e-38f : 1;
    for (int i = 0; i < K * N; i++)
        b[i] = 2;
    a[NOT * K + 7] = NAN;
    b[9 * N + INFINITE] = -INFINITY;
    for (int r = 0; r < count; r++) {
        rgm_matmul_args o = {.a = a, .b = b, .m = M, .n = N, .k = K, .batch = 1, .lda = K};
        o.ldb = o.ldc = N;
        o.b = packed_by(rows[r].pack, o);
        o.packed = true;
        o.c = c;
        rows[r].matmul(&o);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++)
                if (i == NOT || j == INFINITE)
                    CHECK(isnan(c[i * N + j]));
                else
                    CHECK_CLOSE(i == TINY ? 0 : 2 * K, c[i * N + j], 1e-4, 0);
        rgm_free((void *)(uintptr_t)o.b);
    }
}

/* A sum that 32 bits might not hold, and a b that was not packed: the product in f32. */
static void what_is_too_long_or_not_packed_is_multiplied_in_f32(void **state)
{
    enum { LONG = RGMI_INT8_K + 1 };
    float *numbers = rgm_malloc(LONG * sizeof *numbers), c = 0;
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    (void)state;
    CHECK(numbers != NULL);
    for (int i = 0; i < LONG; i++)
        numbers[i] = i == 0 ? 1000 : 0.5f; /* 8 bits would lose all but the first */
    for (int r = 0; r < count; r++)
        for (int packed = 0; packed < 2; packed++) {
            rgm_matmul_args o = {.a = numbers, .b = numbers, .m = 1, .n = 1, .batch = 1, .ldb = 1};
            o.k = o.lda = packed ? LONG : 100;
            o.ldc = 1;
            o.b = packed ? packed_by(rows[r].pack, o) : numbers;
            o.packed = packed;
            o.c = &c;
            rows[r].matmul(&o);
            CHECK_CLOSE(1e6 + 0.25 * (double)(o.k - 1), c, 1e-5, 0);
            if (packed)
                rgm_free((void *)(uintptr_t)o.b);
        }
    rgm_free(numbers);
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void the_environment_chooses_the_row(void **state)
{
    static const char *const names[] = {"avx512_vnni", "avx512", "avx2", "reference"};

    (void)state;
    for (int i = 0; i < 4; i++)
        if (rgmi_kernels_named(names[i], RGM_I8) != NULL)
            CHECK_TEXT(names[i], rgmi_kernels_choose(names[i]).int8->isa);
    CHECK_TEXT("reference", rgmi_kernels_choose("no such row").int8->isa);
    CHECK(rgmi_kernels_choose("").int8 == rgm_kernels_for(rgm_device_cpu(), RGM_I8) ||
          getenv("REGIMEN_ISA"));
    if (rgmi_kernels_named("avx512_vnni", RGM_I8) != NULL)
        CHECK_TEXT("avx512_vnni", rgmi_kernels_choose("amx").int8->isa);
}

static void all_but_the_product_is_the_f32_table(void **state)
{
    (void)state;
    check_all_but_the_product_is_of_f32(RGM_I8);
}

TESTS(cmocka_unit_test(the_plain_row_keeps_the_bound), cmocka_unit_test(sums_are_those_of_integers),
      cmocka_unit_test(every_row_has_the_bits_of_the_plain_one),
      cmocka_unit_test(every_row_has_them_without_scratch_memory),
      cmocka_unit_test(every_row_has_them_on_any_number_of_threads),
      cmocka_unit_test(activations_follow),
      cmocka_unit_test(a_row_has_the_same_bits_in_any_company),
      cmocka_unit_test(steps_reach_the_largest_and_are_kept_as_they_are),
      cmocka_unit_test(what_is_no_number_stays_in_its_row_and_column),
      cmocka_unit_test(what_is_too_long_or_not_packed_is_multiplied_in_f32),
      cmocka_unit_test(the_environment_chooses_the_row),
      cmocka_unit_test(all_but_the_product_is_the_f32_table))
