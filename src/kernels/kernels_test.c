/*
 * Every kernel row against the double reference over the table of cases, the same bits from any
 * number of threads, and what the table of cases cannot say: accuracy in ulp, random words, traps.
 */
#include "kernels_compare.h"

#ifdef RGM_X86
extern const rgm_kernels rgmi_emulated_f32;
#endif

/* The rows that can run here, the plain reference first. */
static int rows_here(const rgm_kernels *rows[4])
{
    int count = 0;

    rows[count++] = rgmi_kernels_named("reference", RGM_F32);
#ifdef RGM_X86
    if (rgmi_kernels_named("avx2", RGM_F32)) {
        rows[count++] = rgmi_kernels_named("avx2", RGM_F32);
        rows[count++] = &rgmi_emulated_f32;
    }
    if (rgmi_kernels_named("avx512", RGM_F32))
        rows[count++] = rgmi_kernels_named("avx512", RGM_F32);
#endif
    return count;
}

static void compare_rows(bool scarce)
{
    const rgm_kernels *rows[4], *f64 = rgm_kernels_for(rgm_device_cpu(), RGM_F64);
    int count = rows_here(rows);
    run want, got;

    for (int64_t c = 0; c < CASES; c++)
        for (int v = 0; v < kernel_cases[c].variants; v++) {
            if (scarce && v % 4 != 1)
                continue;
            run_case(&want, &kernel_cases[c], f64, v);
            for (int r = 0; r < count; r++) {
                rgmi_scratch_fail(scarce);
                run_case(&got, &kernel_cases[c], rows[r], v);
                rgmi_scratch_fail(false);
                compare(&got, &want, &kernel_cases[c]);
                run_clear(&got);
            }
            run_clear(&want);
        }
}

static void every_row_agrees_with_the_double_reference(void **state)
{
    (void)state;
    compare_rows(false);
}

static void every_row_agrees_without_scratch_memory(void **state)
{
    (void)state;
    compare_rows(true);
}

static void compare_threads(const kernel_case *c, int variant, const rgm_kernels *row, int threads)
{
    run one, many;

    rgm_threads_set(1);
    run_case(&one, c, row, variant);
    rgm_threads_set(threads);
    run_case(&many, c, row, variant);
    for (int k = 0; k < one.outs; k++)
        if (memcmp(one.out[k], many.out[k], (size_t)one.out_count[k] * 4) != 0)
            fail_msg("%s (%s) variant %d: %d threads change the bits", c->name, row->isa, variant,
                     threads);
    run_clear(&one);
    run_clear(&many);
}

static void every_row_gives_the_same_bits_on_any_number_of_threads(void **state)
{
    const rgm_kernels *rows[4];
    int count = rows_here(rows);

    (void)state;
    for (int threads = 2; threads <= 4; threads++)
        for (int64_t c = 0; c < CASES; c++)
            for (int v = threads - 2; v < kernel_cases[c].variants; v += 3)
                for (int r = 0; r < count; r++)
                    compare_threads(&kernel_cases[c], v, rows[r], threads);
    rgm_threads_set(2);
}

/* Rows by themselves, with numbers that they do not read unknown: the bits that they have among
 * all.
 */
static void cut_product(run *t, const rgm_kernels *row, int variant)
{
    rgm_spmm_args o;
    int64_t rows, cut;
    size_t bytes, first;
    char *all, *parts;

    *t = (run){.kernels = row, .variant = variant, .state = (uint64_t)variant * 4441 + 7};
    o = spmm_draw(t);
    rows = o.csr->rows;
    bytes = (size_t)(rows * o.channels) * element(t);
    if (rows < 2 || o.base == o.y)
        return;
    o.first_row = o.end_row = 0;
    all = o.y;
    row->spmm(&o);
    o.y = parts = out(t, rows * o.channels, NULL);
    memset(parts, 0x7f, bytes);
    cut = 1 + draw_below(t, rows - 1);
    first = (size_t)(cut * o.channels) * element(t);
    o.end_row = cut;
    row->spmm(&o);
    for (size_t i = first; i < bytes; i++)
        CHECK_INT(0x7f, parts[i]);
    CHECK(memcmp(all, parts, first) == 0);
    memset(parts, 0x7f, first);
    o.first_row = cut;
    o.end_row = rows;
    row->spmm(&o);
    for (size_t i = 0; i < first; i++)
        CHECK_INT(0x7f, parts[i]);
    CHECK(memcmp(all + first, parts + first, bytes - first) == 0);
}

static void some_rows_of_a_sparse_product_have_the_bits_of_all(void **state)
{
    const rgm_kernels *rows[4];
    int count = rows_here(rows);

    (void)state;
    for (int r = 0; r < count; r++)
        for (int v = 1; v < 120; v++) {
            run t;

            cut_product(&t, rows[r], v);
            run_clear(&t);
        }
}

static void every_kernel_of_the_table_has_a_case_and_is_set(void **state)
{
#define ENTRY(result, name, arguments) {#name, offsetof(rgm_kernels, name)},
    static const struct {
        const char *name;
        size_t at;
    } entries[] = {RGM_KERNEL_LIST(ENTRY, ENTRY, ENTRY)};
#undef ENTRY
    const rgm_kernels *rows[4];
    int count = rows_here(rows);

    (void)state;
    CHECK_INT(sizeof entries / sizeof *entries, CASES);
    for (int64_t k = 0; k < CASES; k++) {
        int cases = 0;
        for (int64_t c = 0; c < CASES; c++)
            cases += kernel_cases[c].entry == entries[k].at;
        if (cases != 1)
            fail_msg("%d cases for %s", cases, entries[k].name);
        for (int r = 0; r < count; r++) {
            void (*entry)(void);
            memcpy(&entry, (const char *)rows[r] + entries[k].at, sizeof entry);
            CHECK(entry != NULL);
        }
    }
}

/* A row's bits are its own: neither how many there are nor what the others are is seen in them. */
static void a_packed_operand_gives_a_row_the_same_bits_in_any_company(void **state)
{
    enum { M = 300, N = 130, K = 2100 };
    static const int64_t few[] = {1, 2, 11, 13, 14, 64, 119, 121, 257};
    static float a[M * K], b[K * N], c[M * N], alone[M * N];
    static _Alignas(64) unsigned char packed[4 * K * (N + 32)];
    const rgm_kernels *rows[4];
    int count = rows_here(rows);

    (void)state;
    for (int i = 0; i < M * K; i++)
        a[i] = (float)((int64_t)i * 7919 % 1009) / 1009 - 0.5F;
    for (int i = 0; i < K * N; i++)
        b[i] = (float)((int64_t)i * 6007 % 997) / 997 - 0.5F;
    for (int r = 0; r < count; r++) {
        rgm_matmul_args o = {.c = c,
                             .a = a,
                             .b = b,
                             .m = M,
                             .n = N,
                             .k = K,
                             .lda = K,
                             .ldb = N,
                             .ldc = N,
                             .batch = 1};
        o.c = NULL;
        CHECK(rows[r]->matmul_pack(&o) <= sizeof packed);
        o.c = packed;
        rows[r]->matmul_pack(&o);
        o.c = c;
        o.b = packed;
        o.packed = true;
        rows[r]->matmul(&o);
        for (size_t k = 0; k < sizeof few / sizeof *few; k++) {
            o.c = alone;
            o.m = few[k];
            o.a = a + (M - o.m) * K;
            rows[r]->matmul(&o);
            if (memcmp(alone, c + (M - o.m) * N, (size_t)(o.m * N) * sizeof *c) != 0)
                fail_msg("%s: %lld of %d rows have other bits", rows[r]->isa, (long long)o.m, M);
        }
    }
}

/* ---- accuracy of the functions --------------------------------------------------------------- */

static double gelu_tanh_slope(double x)
{
    double c = 1.59576912160573071176, s = 1 / (1 + exp(-c * (x + 0.044715 * x * x * x)));

    return s + x * s * (1 - s) * c * (1 + 3 * 0.044715 * x * x);
}

static double exact(rgm_map_code code, double x)
{
    switch (code) {
    case RGM_MAP_EXP:
        return exp(x);
    case RGM_MAP_LOG:
        return log(x);
    case RGM_MAP_TANH:
        return tanh(x);
    case RGM_MAP_SIGMOID:
        return 1 / (1 + exp(-x));
    case RGM_MAP_ELU:
        return x > 0 ? x : expm1(x);
    case RGM_MAP_SOFTPLUS:
        return fmax(x, 0) + log1p(exp(-fabs(x)));
    case RGM_MAP_SILU:
        return x / (1 + exp(-x));
    case RGM_MAP_SILU_SLOPE:
        return (1 + x / (1 + exp(x))) / (1 + exp(-x));
    case RGM_MAP_GELU_TANH:
        return x / (1 + exp(-1.59576912160573071176 * (x + 0.044715 * x * x * x)));
    case RGM_MAP_GELU_TANH_SLOPE:
        return gelu_tanh_slope(x);
    default: /* gelu, where it does not cancel */
        return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    }
}

static double ulps(float got, double want)
{
    int exponent;

    if (isnan(want) || isinf((float)want))
        return isnan(want) ? !isnan(got) : got != (float)want;
    if (fabs(want) < 1.1755e-38 && got == 0)
        return 0; /* no denormals, by choice */
    frexp(want, &exponent);
    return fabs(got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static void functions_are_accurate_to_a_few_ulp(void **state)
{
    static const struct {
        rgm_map_code code;
        float low, high;
        double bound;
    } ranges[] = {
        {RGM_MAP_EXP, -110, 95, 2},
        {RGM_MAP_EXP, -1, 1, 1.5},
        {RGM_MAP_LOG, 0, 100, 2},
        {RGM_MAP_LOG, 0, 1e-37f, 2},
        {RGM_MAP_LOG, 0, 3e38f, 2},
        {RGM_MAP_LOG, 0.5, 2, 2},
        {RGM_MAP_TANH, -12, 12, 3},
        {RGM_MAP_TANH, -1e-3f, 1e-3f, 2},
        {RGM_MAP_SIGMOID, -80, 80, 3},
        {RGM_MAP_ELU, -20, 1, 3},
        {RGM_MAP_ELU, -1e-3f, 0, 2},
        {RGM_MAP_SOFTPLUS, -80, 80, 3},
        {RGM_MAP_GELU, -0.5, 10, 4},
        {RGM_MAP_SILU, -80, 80, 4},
        {RGM_MAP_SILU_SLOPE, -1, 20, 6},
        {RGM_MAP_GELU_TANH, -1, 10, 6},
        {RGM_MAP_GELU_TANH_SLOPE, -0.5, 10, 6},
    };
    enum { N = 40000 };
    static float x[N], y[N];
    const rgm_kernels *rows[4];
    int count = rows_here(rows);

    (void)state;
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
        for (int r = 1; r < count; r++) {
            rgm_map_args o = {.y = y,
                              .rank = 1,
                              .shape = {N},
                              .inputs = 1,
                              .steps = 1,
                              .input = {x},
                              .stride = {{1}},
                              .step = {{.code = ranges[k].code}}};
            for (int i = 0; i < N; i++)
                x[i] = ranges[k].low + (ranges[k].high - ranges[k].low) * (float)i / (N - 1);
            rows[r]->map(&o);
            for (int i = 0; i < N; i++)
                if (!(ulps(y[i], exact(ranges[k].code, x[i])) <= ranges[k].bound))
                    fail_msg("code %d (%s): f(%.9g) = %.9g, expected %.9g: %.2f ulp",
                             ranges[k].code, rows[r]->isa, (double)x[i], (double)y[i],
                             exact(ranges[k].code, x[i]), ulps(y[i], exact(ranges[k].code, x[i])));
        }
}

static void functions_keep_infinities_and_nan(void **state)
{
    static const struct {
        rgm_map_code code;
        float x, y;
    } points[] = {
        {RGM_MAP_EXP, INFINITY, INFINITY},
        {RGM_MAP_EXP, -INFINITY, 0},
        {RGM_MAP_EXP, NAN, NAN},
        {RGM_MAP_EXP, 88.8f, INFINITY},
        {RGM_MAP_EXP, 0, 1},
        {RGM_MAP_LOG, 0, -INFINITY},
        {RGM_MAP_LOG, -1, NAN},
        {RGM_MAP_LOG, INFINITY, INFINITY},
        {RGM_MAP_LOG, NAN, NAN},
        {RGM_MAP_LOG, 1, 0},
        {RGM_MAP_TANH, NAN, NAN},
        {RGM_MAP_TANH, INFINITY, 1},
        {RGM_MAP_TANH, -INFINITY, -1},
        {RGM_MAP_SIGMOID, -INFINITY, 0},
        {RGM_MAP_SIGMOID, INFINITY, 1},
        {RGM_MAP_SIGMOID, NAN, NAN},
        {RGM_MAP_RELU, NAN, NAN},
        {RGM_MAP_RELU, -INFINITY, 0},
        {RGM_MAP_GELU, NAN, NAN},
        {RGM_MAP_GELU, 1e4f, 1e4f},
        {RGM_MAP_SILU, NAN, NAN},
        {RGM_MAP_SILU, 1e4f, 1e4f},
        {RGM_MAP_SILU, -1e4f, 0},
        {RGM_MAP_SILU_SLOPE, 1e4f, 1},
        {RGM_MAP_GELU_TANH, NAN, NAN},
        {RGM_MAP_GELU_TANH, 1e4f, 1e4f},
        {RGM_MAP_GELU_TANH, -1e4f, 0},
        {RGM_MAP_ELU, -INFINITY, -1},
        {RGM_MAP_SOFTPLUS, 1e4f, 1e4f},
        {RGM_MAP_SOFTPLUS, -1e4f, 0},
    };
    const rgm_kernels *rows[4];
    int count = rows_here(rows);

    (void)state;
    for (size_t k = 0; k < sizeof points / sizeof *points; k++)
        for (int r = 0; r < count; r++) {
            float x = points[k].x, y = -7;
            rgm_map_args o = {.y = &y,
                              .inputs = 1,
                              .steps = 1,
                              .input = {&x},
                              .step = {{.code = points[k].code}}};
            rows[r]->map(&o);
            if (isnan(points[k].y) ? !isnan(y) : y != points[k].y)
                fail_msg("code %d (%s): f(%g) = %g, expected %g", points[k].code, rows[r]->isa,
                         (double)x, (double)y, (double)points[k].y);
        }
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void dropout_keeps_by_the_words_of_the_stream(void **state)
{
    enum { N = 3000 };
    static float x[N], y[N];
    const rgm_kernels *rows[4];
    int count = rows_here(rows);
    rgm_dropout_args o = {.y = y, .x = x, .count = N, .group = 1, .rate = 0.3};
    uint32_t least = (uint32_t)lround(0.3 * 65536);

    (void)state;
    o.rng = rgm_rng_stream(7, "conv1", (uint64_t)1 << 40 | 3);
    for (int i = 0; i < N; i++)
        x[i] = 1;
    for (int r = 0; r < count; r++) {
        rows[r]->dropout(&o);
        for (int64_t i = 0; i < N; i++) {
            uint32_t words[4];
            rgm_rng_block(&o.rng, (uint64_t)(i / 8), words);
            CHECK_CLOSE(y[i], (words[i % 8 / 2] >> (i % 2 * 16) & 0xffff) >= least ? 1 / 0.7 : 0,
                        1e-6, 0);
        }
    }
}

/* Part of a matrix, its rows in another order, has what the whole has there. */
static void rows_with_numbers_are_dropped_as_in_the_whole(void **state)
{
    enum { ROWS = 90, WIDTH = 21, HERE = 40 };
    static float x[ROWS * WIDTH], whole[ROWS * WIDTH], part[HERE * WIDTH];
    int64_t number[HERE];
    const rgm_kernels *rows[4];
    int count = rows_here(rows);

    (void)state;
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = 1;
    for (int r = 0; r < HERE; r++)
        number[r] = (r * 37 + 11) % ROWS;
    for (int k = 0; k < count; k++)
        for (int group = 1; group <= WIDTH; group += WIDTH - 1) {
            rgm_dropout_args o = {
                .y = whole, .x = x, .count = ROWS * WIDTH, .group = group, .rate = 0.3};

            o.rng = rgm_rng_stream(7, "nodes", 3);
            rows[k]->dropout(&o);
            o.y = part;
            o.count = HERE * WIDTH;
            o.number = number;
            o.width = WIDTH;
            rows[k]->dropout(&o);
            for (int i = 0; i < HERE * WIDTH; i++)
                CHECK(part[i] == whole[number[i / WIDTH] * WIDTH + i % WIDTH]);
        }
}

static void a_row_of_masked_logits_gives_zeros(void **state)
{
    float x[9], y[9];
    int64_t start[] = {0, 9};
    int32_t column[9] = {0};
    rgm_csr csr = {.rows = 1, .columns = 1, .count = 9, .row_start = start, .column = column};
    rgm_softmax_args dense = {.y = y, .x = x, .rows = 1, .channels = 9};
    rgm_segment_softmax_args segment = {.y = y, .x = x, .csr = &csr, .channels = 1};
    const rgm_kernels *rows[4];
    int count = rows_here(rows);

    (void)state;
    for (int i = 0; i < 9; i++)
        x[i] = -INFINITY;
    for (int r = 0; r < count; r++)
        for (int k = 0; k < 2; k++) {
            memset(y, 0xff, sizeof y);
            if (k)
                rows[r]->softmax(&dense);
            else
                rows[r]->segment_softmax(&segment);
            for (int i = 0; i < 9; i++)
                CHECK(y[i] == 0);
        }
}

static void empty_segments_give_what_their_reduction_says(void **state)
{
    static const float want[] = {0, 0, -FLT_MAX, FLT_MAX, 0, 0, 1};
    int64_t start[] = {0, 0};
    rgm_csr csr = {.rows = 1, .columns = 1, .row_start = start};
    const rgm_kernels *rows[4];
    int count = rows_here(rows);

    (void)state;
    for (int r = 0; r < count; r++)
        for (int k = 0; k < 7; k++) {
            float y[3] = {9, 9, 9};
            rgm_segment_args o = {
                .y = y, .csr = &csr, .channels = 3, .reduction = (rgm_reduction)k};
            rgm_reduce_args dense = {.y = y, .outer = 1, .inner = 3, .reduction = (rgm_reduction)k};
            rows[r]->segment_reduce(&o);
            for (int c = 0; c < 3; c++)
                CHECK(y[c] == want[k]);
            y[0] = y[1] = y[2] = 9;
            rows[r]->reduce(&dense);
            for (int c = 0; c < 3; c++)
                CHECK(y[c] == want[k]);
        }
}

static void tables_are_found_by_name_and_dtype(void **state)
{
    (void)state;
    CHECK_TEXT("reference", rgm_kernels_for(rgm_device_cpu(), RGM_F64)->isa);
    CHECK_INT(RGM_F64, rgm_kernels_for(rgm_device_cpu(), RGM_F64)->dtype);
    CHECK_INT(RGM_F32, rgm_kernels_for(rgm_device_cpu(), RGM_F32)->dtype);
    CHECK(rgm_kernels_for(rgm_device_cpu(), RGM_I32) == NULL);
    CHECK(rgmi_kernels_named("avx1024", RGM_F32) == NULL);
    CHECK(rgmi_kernels_named("avx2", RGM_F64) == NULL);
}

static void clearing_the_cache_between_calls_changes_nothing(void **state)
{
    run one, two;

    (void)state;
    for (int v = 0; v < 8; v++) {
        run_case(&one, &kernel_cases[0], rgm_kernels_for(rgm_device_cpu(), RGM_F32), v);
        rgmi_scratch_clear();
        run_case(&two, &kernel_cases[0], rgm_kernels_for(rgm_device_cpu(), RGM_F32), v);
        CHECK(memcmp(one.out[0], two.out[0], (size_t)one.out_count[0] * 4) == 0);
        run_clear(&one);
        run_clear(&two);
    }
    rgmi_scratch_clear();
}

TESTS(cmocka_unit_test(every_kernel_of_the_table_has_a_case_and_is_set),
      cmocka_unit_test(a_packed_operand_gives_a_row_the_same_bits_in_any_company),
      cmocka_unit_test(some_rows_of_a_sparse_product_have_the_bits_of_all),
      cmocka_unit_test(functions_are_accurate_to_a_few_ulp),
      cmocka_unit_test(functions_keep_infinities_and_nan),
      cmocka_unit_test(dropout_keeps_by_the_words_of_the_stream),
      cmocka_unit_test(rows_with_numbers_are_dropped_as_in_the_whole),
      cmocka_unit_test(a_row_of_masked_logits_gives_zeros),
      cmocka_unit_test(empty_segments_give_what_their_reduction_says),
      cmocka_unit_test(tables_are_found_by_name_and_dtype),
      cmocka_unit_test(every_row_agrees_with_the_double_reference),
      cmocka_unit_test(every_row_agrees_without_scratch_memory),
      cmocka_unit_test(every_row_gives_the_same_bits_on_any_number_of_threads),
      cmocka_unit_test(clearing_the_cache_between_calls_changes_nothing))
