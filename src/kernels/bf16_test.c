/*
 * Products in bf16: every row against the double product of the rounded operands and of the
 * operands themselves, within stated bounds; the same bits where all sums are exact, and from any
 * number of threads; what is not a number; oneDNN as a second opinion; which row is chosen.
 */
#include <check.h>
#include "kernels_internal.h"
#include "product_check.h"

#include <float.h>
#include <oneapi/dnnl/dnnl.h>

#define CASES 60

#ifdef RGM_X86
void rgmi_emulated_bf16_matmul(const rgm_matmul_args *args);
size_t rgmi_emulated_bf16_pack(const rgm_matmul_args *args);
#endif

typedef void matmul_function(const rgm_matmul_args *args);
typedef size_t pack_function(const rgm_matmul_args *args);
enum { ROWS_MOST = 8 };
typedef struct row {
    const char *name;
    matmul_function *matmul;
    bool always;         /* rounds whatever the shape */
    pack_function *pack; /* or NULL: single products have their b packed before */
} row;

static int rows_here(row rows[ROWS_MOST])
{
    int count = 0;

    rows[count++] = (row){"reference", rgmi_reference_bf16_matmul, true, NULL};
#ifdef RGM_X86
    if (rgmi_kernels_named("avx2", RGM_F32))
        rows[count++] = (row){"amx, emulated", rgmi_emulated_bf16_matmul, true, NULL};
    if (rgmi_kernels_named("avx512_bf16", RGM_BF16))
        rows[count++] = (row){"avx512_bf16", rgmi_avx512_bf16_matmul, false, NULL};
    if (rgmi_kernels_named("amx", RGM_BF16))
        rows[count++] = (row){"amx", rgmi_amx_matmul, false, NULL};
#endif
    rows[count++] = (row){"reference, packed", rgmi_reference_bf16_matmul, true,
                          rgmi_reference_f32.matmul_pack};
#ifdef RGM_X86
    if (rgmi_kernels_named("avx2", RGM_F32))
        rows[count++] = (row){"amx, emulated, packed", rgmi_emulated_bf16_matmul, true,
                              rgmi_emulated_bf16_pack};
    if (rgmi_kernels_named("avx512_bf16", RGM_BF16))
        rows[count++] = (row){"avx512_bf16, packed", rgmi_avx512_bf16_matmul, false,
                              rgmi_kernels_named("avx512_bf16", RGM_BF16)->matmul_pack};
    if (rgmi_kernels_named("amx", RGM_BF16))
        rows[count++] = (row){"amx, packed", rgmi_amx_matmul, false,
                              rgmi_kernels_named("amx", RGM_BF16)->matmul_pack};
#endif
    return count;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void draw_shape(product *p, int variant)
{
    static const int64_t shapes[][4] = {{677, 16, 7, 1},    {16, 7, 2708, 1},   {65, 33, 5000, 1},
                                        {200, 256, 64, 1},  {130, 40, 256, 1},  {80, 40, 4099, 1},
                                        {7, 300, 600, 1},   {290, 265, 130, 1}, {64, 64, 64, 9},
                                        {48, 48, 33, 3},    {64, 140, 1030, 1}, {1, 1, 1, 1},
                                        {100, 64, 2049, 1}, {257, 257, 31, 1},  {5, 0, 3, 1},
                                        {31, 33, 0, 1},     {50, 65, 1025, 2},  {33, 530, 512, 1}};
    static const int64_t sides[] = {1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 64, 65, 100, 129};
    enum { SHAPES = sizeof shapes / sizeof *shapes, SIDES = sizeof sides / sizeof *sides };
    const int64_t *shape = shapes[variant % SHAPES];

    p->o = (rgm_matmul_args){
        .m = shape[0], .n = shape[1], .k = shape[2], .batch = shape[3], .slope = 0.3};
    if (variant >= SHAPES) {
        p->o.m = sides[draw_below(p, SIDES)];
        p->o.n = sides[draw_below(p, SIDES)];
        p->o.k = sides[draw_below(p, SIDES)] * (1 + draw_below(p, 3));
        p->o.batch = 1 + draw_below(p, 4) / 3 * 2;
    }
}

/* Integral: numbers of nine bits, of which bf16 keeps eight, times small ones: no sum is rounded.
 */
static product product_draw(int variant, bool integral)
{
    product p = {.state = (uint64_t)variant * 77773 + 999};
    rgm_matmul_args *o = &p.o;
    bool first_is_large = variant % 2 == 0;

    draw_shape(&p, variant);
    o->trans_a = variant & 1;
    o->trans_b = variant >> 1 & 1;
    o->accumulate = draw_below(&p, 3) == 0;
    o->activation = o->accumulate || integral ? RGM_ACT_NONE : (rgm_activation)draw_below(&p, 7);
    o->lda = (o->trans_a ? o->m : o->k) + draw_below(&p, 2) * 3;
    o->ldb = (o->trans_b ? o->k : o->n) + draw_below(&p, 2) * 3;
    o->ldc = o->n;
    o->stride_a = (o->trans_a ? o->k : o->m) * o->lda;
    o->stride_b = (o->trans_b ? o->n : o->k) * o->ldb;
    o->stride_c = o->m * o->ldc;
    p.a_count = o->batch * o->stride_a;
    p.b_count = o->batch * o->stride_b;
    p.c_count = o->batch * o->stride_c;
    p.a = draw_numbers(&p, p.a_count, integral, first_is_large ? 511 : 3);
    p.b = draw_numbers(&p, p.b_count, integral, first_is_large ? 3 : 511);
    p.bias = draw_numbers(&p, o->n, integral, 100);
    p.c = draw_numbers(&p, p.c_count, integral, 100);
    o->a = p.a;
    o->b = p.b;
    o->bias = draw_below(&p, 2) ? p.bias : NULL;
    return p;
}

static bool is_packed(const row *r, const product *p)
{
    return r->pack != NULL && p->o.batch == 1;
}

static void run_packed(rgm_matmul_args *o, const row *r)
{
    void *packed = packed_by(r->pack, *o);

    o->b = packed;
    o->packed = true;
    o->ldb = o->stride_b = -1;
    r->matmul(o);
    rgm_free(packed);
}

/* The row's result between guards; release with result_free(). */
static float *result_of(const product *p, const row *r)
{
    float *memory = rgm_malloc((size_t)(p->c_count + 2 * GUARD) * sizeof *memory);
    rgm_matmul_args o = p->o;

    CHECK(memory != NULL);
    for (int i = 0; i < GUARD; i++)
        memory[i] = memory[GUARD + p->c_count + i] = 77;
    memcpy(memory + GUARD, p->c, (size_t)p->c_count * sizeof *memory);
    o.c = memory + GUARD;
    if (is_packed(r, p))
        run_packed(&o, r);
    else
        r->matmul(&o);
    for (int i = 0; i < GUARD; i++)
        CHECK(memory[i] == 77 && memory[GUARD + p->c_count + i] == 77);
    return memory + GUARD;
}

static void result_free(float *result)
{
    rgm_free(result - GUARD);
}

/* ---- against double -------------------------------------------------------------------------- */

typedef double convert_function(float x);

static double itself(float x)
{
    return x;
}

static double rounded(float x)
{
    return rgm_bf16_to(rgm_bf16_from(x));
}

static double magnitude(float x)
{
    return fabsf(x);
}

static double *as_double(const float *numbers, int64_t count, convert_function *convert)
{
    double *out = rgm_malloc((size_t)(count + 1) * sizeof *out);

    CHECK(out != NULL);
    for (int64_t i = 0; i < count; i++)
        out[i] = convert(numbers[i]);
    return out;
}

/* The product in double, of operands converted by `operand`, all else by `other`. */
static double *double_product(const product *p, convert_function *operand, convert_function *other)
{
    double *a = as_double(p->a, p->a_count, operand), *b = as_double(p->b, p->b_count, operand);
    double *bias = as_double(p->bias, p->o.n, other), *c = as_double(p->c, p->c_count, other);
    rgm_matmul_args o = p->o;

    o.a = a;
    o.b = b;
    o.bias = o.bias ? bias : NULL;
    o.c = c;
    if (other == magnitude)
        o.activation = RGM_ACT_NONE;
    rgm_kernels_for(rgm_device_cpu(), RGM_F64)->matmul(&o);
    rgm_free(a);
    rgm_free(b);
    rgm_free(bias);
    return c;
}

/* The largest error as a multiple of `part` * sum |a| |b| (no activation is steeper than 1.2) and
 * of what the activation's own rounding may cost. */
static double worst(const float *got, const double *want, const double *size, int64_t count,
                    double part)
{
    double most = 0;

    for (int64_t i = 0; i < count; i++) {
        double allowed = 1.2 * part * size[i] + 1e-6 * fabs(want[i]) + 1e-30;
        most = fmax(most, isfinite(got[i]) ? fabs(got[i] - want[i]) / allowed : INFINITY);
    }
    return most;
}

static void compare_rows(bool scarce)
{
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    for (int v = 0; v < CASES; v++) {
        product p = product_draw(v, false);
        double *plain = double_product(&p, itself, itself);
        double *of_rounded = double_product(&p, rounded, itself);
        double *size = double_product(&p, magnitude, magnitude);
        double sums = (double)(p.o.k + 4) * 0x1p-23, round = 0x1p-7 + 0x1p-16;
        for (int r = 0; r < count; r++) {
            rgmi_scratch_fail(scarce);
            float *got = result_of(&p, &rows[r]);
            rgmi_scratch_fail(false);
            double near = worst(got, of_rounded, size, p.c_count, sums);
            if (!((rows[r].always && !scarce) ||
                  is_packed(&rows[r], &p))) /* one way or the other, never a mixture */
                near = fmin(near, worst(got, plain, size, p.c_count, sums));
            double far = worst(got, plain, size, p.c_count, round + sums);
            if (!(near <= 1) || !(far <= 1))
                fail_msg("%s, case %d, %lld x %lld x %lld: %g and %g of the bound", rows[r].name, v,
                         (long long)p.o.m, (long long)p.o.n, (long long)p.o.k, near, far);
            result_free(got);
        }
        rgm_free(plain);
        rgm_free(of_rounded);
        rgm_free(size);
        product_clear(&p);
    }
}

static void every_row_keeps_the_bounds(void **state)
{
    (void)state;
    compare_rows(false);
}

static void every_row_keeps_the_bounds_without_scratch_memory(void **state)
{
    (void)state;
    compare_rows(true);
}

/* Where no sum is rounded only the rounding of the operands is left, so the bits must agree. */
static void exact_sums_have_the_bits_of_the_reference(void **state)
{
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    (void)state;
    for (int v = 0; v < CASES; v++) {
        product p = product_draw(v, true);
        float *want = result_of(&p, &rows[0]);
        double *plain = double_product(&p, itself, itself);
        for (int r = 1; r < count; r++) {
            float *got = result_of(&p, &rows[r]);
            bool same = memcmp(got, want, (size_t)p.c_count * sizeof *got) == 0, exact = true;
            for (int64_t i = 0; i < p.c_count; i++)
                exact = exact && got[i] == plain[i];
            if (!same && (rows[r].always || is_packed(&rows[r], &p) || !exact))
                fail_msg("%s, case %d: other bits", rows[r].name, v);
            result_free(got);
        }
        result_free(want);
        rgm_free(plain);
        product_clear(&p);
    }
}

static void every_row_gives_the_same_bits_on_any_number_of_threads(void **state)
{
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    (void)state;
    for (int v = 0; v < CASES; v += 2)
        for (int r = 0; r < count; r++) {
            product p = product_draw(v / 2 + v % 4, false);
            rgm_threads_set(1);
            float *one = result_of(&p, &rows[r]);
            for (int threads = 2; threads <= 4; threads++) {
                rgm_threads_set(threads);
                float *many = result_of(&p, &rows[r]);
                if (memcmp(one, many, (size_t)p.c_count * sizeof *one) != 0)
                    fail_msg("%s, case %d: %d threads change the bits", rows[r].name, v, threads);
                result_free(many);
            }
            result_free(one);
            product_clear(&p);
        }
    rgm_threads_set(2);
}

/* A row's bits are its own: neither how many there are nor what the others are is seen in them. */
static void a_packed_operand_gives_a_row_the_same_bits_in_any_company(void **state)
{
    enum { M = 67, N = 49, K = 1100 };
    static float c[M * N], alone[M * N];
    product p = {.state = 3};
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    (void)state;
    p.a = draw_numbers(&p, M * K, false, 0);
    p.b = draw_numbers(&p, K * N, false, 0);
    for (int r = 0; r < count; r++)
        for (int64_t m = 1; m <= M && rows[r].pack != NULL; m += m < 40 ? 1 : 9) {
            rgm_matmul_args o = {
                .c = c, .a = p.a, .b = p.b, .m = M, .n = N, .k = K, .batch = 1, .lda = K, .ldb = N};
            o.ldc = N;
            run_packed(&o, &rows[r]);
            o = (rgm_matmul_args){
                .c = alone, .b = p.b, .n = N, .k = K, .batch = 1, .lda = K, .ldb = N};
            o.a = p.a + (M - m) * K;
            o.m = m;
            o.ldc = N;
            run_packed(&o, &rows[r]);
            if (memcmp(alone, c + (M - m) * N, (size_t)(m * N) * sizeof *c) != 0)
                fail_msg("%s: %lld of %d rows have other bits", rows[r].name, (long long)m, M);
        }
    rgm_free(p.a);
    rgm_free(p.b);
}

/* ---- what is not an ordinary number ---------------------------------------------------------- */

static void nan_infinity_and_denormals_stay_in_their_row(void **state)
{
    enum { N = 64, NOT = 3, INFINITE = 17, TINY = 33, HUGE = 50 };
    static float a[N * N], b[N * N], c[N * N];
    rgm_matmul_args o = {.c = c, .a = a, .b = b, .m = N, .n = N, .k = N, .batch = 1};
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    (void)state;
    o.lda = o.ldb = o.ldc = N;
    for (int i = 0; i < N * N; i++) {
        a[i] = b[i] = 1;
        if (i / N == TINY)
            a[i] = 0x1p-130f;
        if (i / N == HUGE)
            a[i] = 0;
    }
    a[NOT * N + 5] = NAN;
    a[INFINITE * N + 7] = -INFINITY;
    a[HUGE * N + 9] = FLT_MAX; /* nearer to infinity than to the largest bf16 */
    for (int r = 0; r < count; r++) {
        rows[r].matmul(&o);
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++) {
                float got = c[i * N + j];
                bool right = i == NOT        ? isnan(got)
                             : i == INFINITE ? got == -INFINITY
                             : i == HUGE     ? got == INFINITY
                             : i == TINY     ? got >= 0 && got <= N * 0x1p-130f
                                             : got == N;
                if (!right)
                    fail_msg("%s [%d, %d]: %g", rows[r].name, i, j, (double)got);
            }
    }
}

/* ---- oneDNN ---------------------------------------------------------------------------------- */

/* c = a b by oneDNN, of row-major bf16; false where it has no such product. */
static bool onednn_product(float *c, uint16_t *a, uint16_t *b, int64_t m, int64_t n, int64_t k)
{
    dnnl_memory_desc_t descriptions[3];
    dnnl_memory_t memory[3];
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    void *data[] = {a, b, c};
    const dnnl_dims_t dims[] = {{m, k}, {k, n}, {m, n}};
    static const dnnl_data_type_t types[] = {dnnl_bf16, dnnl_bf16, dnnl_f32};
    static const int names[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_exec_arg_t args[3];
    bool can;

    CHECK_INT(dnnl_success, dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK_INT(dnnl_success, dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    for (int i = 0; i < 3; i++) {
        dnnl_memory_desc_init_by_tag(&descriptions[i], 2, dims[i], types[i], dnnl_ab);
        dnnl_memory_create(&memory[i], &descriptions[i], engine, data[i]);
        args[i] = (dnnl_exec_arg_t){names[i], memory[i]};
    }
    dnnl_matmul_desc_init(&matmul, &descriptions[0], &descriptions[1], NULL, &descriptions[2]);
    can = dnnl_primitive_desc_create(&description, &matmul, NULL, engine, NULL) == dnnl_success;
    if (can) {
        CHECK_INT(dnnl_success, dnnl_primitive_create(&primitive, description));
        CHECK_INT(dnnl_success, dnnl_primitive_execute(primitive, stream, 3, args));
        dnnl_stream_wait(stream);
        dnnl_primitive_destroy(primitive);
        dnnl_primitive_desc_destroy(description);
    }
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(memory[i]);
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return can;
}

static void onednn_agrees(void **state)
{
    enum { M = 96, N = 112, K = 300 };
    static float a[M * K], b[K * N], want[M * N], got[M * N];
    static uint16_t half_a[M * K], half_b[K * N];
    rgm_matmul_args o = {.c = got, .a = a, .b = b, .m = M, .n = N, .k = K, .batch = 1};
    product p = {.state = 5};
    row rows[ROWS_MOST];
    int count = rows_here(rows);

    (void)state;
    o.lda = K;
    o.ldb = o.ldc = N;
    for (int i = 0; i < M * K; i++)
        half_a[i] = rgm_bf16_from(a[i] = draw_number(&p, false, 0));
    for (int i = 0; i < K * N; i++)
        half_b[i] = rgm_bf16_from(b[i] = draw_number(&p, false, 0));
    if (!onednn_product(want, half_a, half_b, M, N, K))
        SKIP("oneDNN has no bf16 product on this CPU");
    for (int r = 0; r < count; r++) {
        rows[r].matmul(&o);
        for (int i = 0; i < M * N; i++)
            CHECK_CLOSE(want[i], got[i], 0, K * K * 0x1p-24);
    }
}

/* ---- the choice ------------------------------------------------------------------------------ */

static void the_environment_chooses_the_row(void **state)
{
    static const char *const names[] = {"avx512", "avx2", "reference"};
    rgmi_kernels_choice choice;

    (void)state;
    for (int i = 0; i < 3; i++) {
        if (rgmi_kernels_named(names[i], RGM_F32) == NULL)
            continue;
        choice = rgmi_kernels_choose(names[i]);
        CHECK_TEXT(names[i], choice.f32->isa);
        CHECK_TEXT(names[i], choice.bf16->isa);
        CHECK((choice.f32->matmul == choice.bf16->matmul) == (i < 2)); /* the reference rounds */
    }
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "amx" : "avx512_bf16";
        if (rgmi_kernels_named(name, RGM_BF16) == NULL)
            continue;
        choice = rgmi_kernels_choose(name);
        CHECK_TEXT("avx512", choice.f32->isa);
        CHECK_TEXT(name, choice.bf16->isa);
    }
    choice = rgmi_kernels_choose("no such row");
    CHECK_TEXT("reference", choice.f32->isa);
    choice = rgmi_kernels_choose("");
    CHECK(choice.f32 == rgm_kernels_for(rgm_device_cpu(), RGM_F32) || getenv("REGIMEN_ISA"));
    CHECK(rgmi_kernels_named("avx2", RGM_BF16) == NULL);
}

static void all_but_the_product_is_the_f32_table(void **state)
{
    (void)state;
    check_all_but_the_product_is_of_f32(RGM_BF16);
}

TESTS(cmocka_unit_test(every_row_keeps_the_bounds),
      cmocka_unit_test(every_row_keeps_the_bounds_without_scratch_memory),
      cmocka_unit_test(exact_sums_have_the_bits_of_the_reference),
      cmocka_unit_test(every_row_gives_the_same_bits_on_any_number_of_threads),
      cmocka_unit_test(a_packed_operand_gives_a_row_the_same_bits_in_any_company),
      cmocka_unit_test(nan_infinity_and_denormals_stay_in_their_row),
      cmocka_unit_test(onednn_agrees), cmocka_unit_test(the_environment_chooses_the_row),
      cmocka_unit_test(all_but_the_product_is_the_f32_table))
