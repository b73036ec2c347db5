/*
 * Dense products on a device that compiles programs, where the table of cases says nothing: those
 * of the table for bf16 against the plain row that rounds, convolutions that multiply by it, and
 * packed operands, whose rows have their bits in any company. Tensor cores are tested wherever the
 * device is none that has them too: there lanes do the work of their instruction.
 *
 *     REGIMEN_DEVICE=cuda:0 gpu_matmul_test      on which device; opencl:0 otherwise
 */
#include "device_check.h"
#include "gpu/gpu_matmul.h"

static rgm_device *device;

static int open_device(void **state)
{
    (void)state;
    device = check_device();
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    rgm_device_release(device);
    return 0;
}

/* ---- operands, here and there --------------------------------------------------------------- */

typedef struct numbers {
    float *here;
    void *there;
    int64_t count;
} numbers;

static uint64_t seed;

static numbers numbers_draw(int64_t count)
{
    numbers n = {.here = rgm_malloc((size_t)(count + 1) * sizeof(float)), .count = count};

    CHECK(n.here != NULL);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        n.here[i] = (float)(seed >> 40) / (1 << 23) - 1;
    }
    CHECK_OK(rgm_device_allocate(&n.there, device, (size_t)count * sizeof(float)));
    CHECK_OK(rgm_device_copy_to(device, n.there, n.here, (size_t)count * sizeof(float)));
    return n;
}

static float *fetched(const numbers *n)
{
    float *copy = rgm_malloc((size_t)(n->count + 1) * sizeof(float));

    CHECK(copy != NULL);
    CHECK_OK(rgm_device_copy_from(device, copy, n->there, (size_t)n->count * sizeof(float)));
    return copy;
}

static void numbers_clear(numbers *n)
{
    rgm_free(n->here);
    rgm_device_free(device, n->there);
}

/* ---- bf16 ----------------------------------------------------------------------------------- */

/* What is there is what is here, but for `terms` products of numbers up to 1 that are summed up in
 * another order: far less than operands that are not rounded would give. */
static void check_near(const numbers *n, int64_t terms, const char *what)
{
    float *got = fetched(n);
    double bound = 4e-7 * (double)(terms + 16);

    for (int64_t i = 0; i < n->count; i++)
        if (!(fabs((double)got[i] - (double)n->here[i]) <= bound))
            fail_msg("%s [%lld]: %g, expected %g within %g", what, (long long)i, (double)got[i],
                     (double)n->here[i], bound);
    rgm_free(got);
}

/* A shape (m, n, k, batch), with operands either way round by v, in one way here and in another
 * there. */
static void check_shape(const int64_t *shape, int v, void (*reference)(const rgm_matmul_args *args),
                        void (*multiply)(const rgm_matmul_args *args), const char *by)
{
    rgm_matmul_args o = {.m = shape[0],
                         .n = shape[1],
                         .k = shape[2],
                         .batch = shape[3],
                         .trans_a = v & 1,
                         .trans_b = v >> 1 & 1,
                         .accumulate = v % 3 == 0,
                         .activation = v % 3 == 1 ? RGM_ACT_RELU : RGM_ACT_NONE};
    numbers a = numbers_draw(o.batch * o.m * o.k), b = numbers_draw(o.batch * o.k * o.n);
    numbers bias = numbers_draw(o.n), c = numbers_draw(o.batch * o.m * o.n);
    char what[100];
    rgm_matmul_args here;

    snprintf(what, sizeof what, "product %d by %s", v, by);
    o.lda = o.trans_a ? o.m : o.k;
    o.ldb = o.trans_b ? o.k : o.n;
    o.ldc = o.n;
    o.stride_a = o.m * o.k;
    o.stride_b = o.k * o.n;
    o.stride_c = o.m * o.n;
    here = o;
    here.a = a.here, here.b = b.here, here.bias = bias.here, here.c = c.here;
    o.a = a.there, o.b = b.there, o.bias = bias.there, o.c = c.there;
    reference(&here);
    multiply(&o);
    check_near(&c, o.k, what);
    numbers_clear(&a);
    numbers_clear(&b);
    numbers_clear(&bias);
    numbers_clear(&c);
}

enum { SHAPES = 9 };

/* Every shape four times. */
static void check_product(int v, void (*multiply)(const rgm_matmul_args *args), const char *by)
{
    static const int64_t shapes[SHAPES][4] = {
        {200, 96, 64, 1},   {33, 7, 300, 1},   {65, 33, 5000, 1}, {5, 300, 40, 1}, {40, 31, 17, 3},
        {300, 130, 128, 1}, {64, 64, 4099, 1}, {1, 1, 1, 1},      {7, 9, 0, 1}};

    check_shape(shapes[v / 4], v, rgmi_reference_bf16_matmul, multiply, by);
}

static void products_in_bf16_round_their_operands(void **state)
{
    (void)state;
    for (int v = 0; v < 4 * SHAPES; v++)
        check_product(v, rgm_kernels_for(device, RGM_BF16)->matmul, "the table");
}

/* So large that the library of the device's maker has them, where there is one. */
static void large_products_are_those_of_the_cpu(void **state)
{
    static const int64_t shapes[][4] = {
        {700, 600, 500, 1}, {160, 130, 70, 150}, {20, 3000, 4000, 1}, {64, 72, 44000, 1}};

    (void)state;
    for (int v = 0; v < 16; v++)
        check_shape(shapes[v / 4], v, rgm_kernels_for(rgm_device_cpu(), RGM_F32)->matmul,
                    rgm_kernels_for(device, RGM_F32)->matmul, "the table of floats");
}

/* relu(c + product + bias), which only tables of devices make. */
static void a_sum_may_be_activated(void **state)
{
    static const int64_t shapes[][3] = {{70, 33, 20}, {9, 40, 3000}, {300, 5, 7}, {64, 64, 4099}};

    (void)state;
    for (int v = 0; v < 8; v++) {
        const int64_t *s = shapes[v / 2];
        bool rounds = v % 2;
        const rgm_kernels *table = rgm_kernels_for(device, rounds ? RGM_BF16 : RGM_F32);
        rgm_matmul_args o = {.m = s[0], .n = s[1], .k = s[2], .batch = 1}, here;
        numbers a = numbers_draw(o.m * o.k), b = numbers_draw(o.k * o.n);
        numbers bias = numbers_draw(o.n), c = numbers_draw(o.m * o.n);

        CHECK(table->activates_sums);
        o.lda = o.k, o.ldb = o.ldc = o.n;
        o.accumulate = true;
        here = o;
        here.a = a.here, here.b = b.here, here.bias = bias.here, here.c = c.here;
        o.a = a.there, o.b = b.there, o.bias = bias.there, o.c = c.there;
        o.activation = RGM_ACT_RELU;
        if (rounds)
            rgmi_reference_bf16_matmul(&here);
        else
            rgm_kernels_for(rgm_device_cpu(), RGM_F32)->matmul(&here);
        for (int64_t i = 0; i < c.count; i++)
            c.here[i] = c.here[i] > 0 ? c.here[i] : 0;
        table->matmul(&o);
        check_near(&c, o.k, "an activated sum");
        numbers_clear(&a);
        numbers_clear(&b);
        numbers_clear(&bias);
        numbers_clear(&c);
    }
}

/* ---- tensor cores ---------------------------------------------------------------------------- */

/* A source whose lanes do the work of the instruction, if the device has none of its own. */
static bool emulates(rgmi_gpu_source *emulated, const rgmi_gpu_source *source, const char *kernel)
{
    rgmi_gpu_kernel real = {.source = source, .name = kernel};
    char *text;

    (void)rgm_kernels_for(device, RGM_BF16);
    if (rgmi_gpu_has(&real, RGM_F32))
        return false;
    CHECK_OK(rgm_strprintf(&text, "#define EMULATE_MMA\n%s", source->text));
    emulated->text = text;
    return true;
}

static rgmi_gpu_source mma = {.name = "emulated_mma"};
static rgmi_gpu_kernel mma_64x64 = {.source = &mma, .name = "mma_64x64"};
static rgmi_gpu_kernel mma_128x128 = {.source = &mma, .name = "mma_128x128"};

static void multiply_64x64(const rgm_matmul_args *args)
{
    rgmi_gpu_matmul_by(&(rgmi_gpu_tiling){&mma_64x64, 64, 64, false}, RGM_BF16, args);
}

static void multiply_128x128(const rgm_matmul_args *args)
{
    rgmi_gpu_matmul_by(&(rgmi_gpu_tiling){&mma_128x128, 128, 128, false}, RGM_BF16, args);
}

/* A device with tensor cores compiles what has the instruction, and the tests above were of them.
 */
static void tiles_for_tensor_cores_are_right_where_lanes_do_their_work(void **state)
{
    extern const rgmi_gpu_source rgmi_gpu_source_mma;

    (void)state;
    if (!emulates(&mma, &rgmi_gpu_source_mma, "mma_64x64"))
        return;
    for (int v = 0; v < 4 * SHAPES; v++) {
        check_product(v, multiply_64x64, "tiles of 64 x 64");
        check_product(v, multiply_128x128, "tiles of 128 x 128");
    }
    rgm_free((char *)(uintptr_t)mma.text);
}

extern const rgmi_gpu_source rgmi_gpu_source_split;
static rgmi_gpu_source split;
static const rgmi_gpu_source *splitting = &rgmi_gpu_source_split;

/* What a sum with its activation is, by doubles; *all: what its parts come to without their signs.
 */
static double sum_of(double *all, const rgm_matmul_args *o, const float *c, int64_t i, int64_t j)
{
    const float *a = o->a, *b = o->b, *bias = o->bias;
    double sum = bias[j], added = o->accumulate ? (double)c[i * o->ldc + j] : 0;

    *all = fabs(sum) + fabs(added);
    sum += added;
    for (int64_t l = 0; l < o->k; l++) {
        double product = (double)a[o->trans_a ? l * o->lda + i : i * o->lda + l] *
                         (double)b[o->trans_b ? j * o->ldb + l : l * o->ldb + j];
        sum += product;
        *all += fabs(product);
    }
    return o->activation == RGM_ACT_TANH                 ? tanh(sum)
           : o->activation == RGM_ACT_RELU && !(sum > 0) ? 0
                                                         : sum;
}

/* c as `multiply` makes it on the device, and what numbers of 11 bits would not: within some 2^-21
 * of what the parts of a sum come to. */
static void check_split_by(rgm_matmul_args here, void (*multiply)(const rgm_matmul_args *args))
{
    rgm_matmul_args *o = &here, there;
    int64_t rows = (o->batch - 1) * o->m;
    numbers a = numbers_draw(o->batch * o->m * o->k), b = numbers_draw(o->batch * o->k * o->n);
    numbers bias = numbers_draw(o->n), c = numbers_draw((rows + o->m) * o->ldc);
    float *got;

    o->lda = o->trans_a ? o->m : o->k;
    o->ldb = o->trans_b ? o->k : o->n;
    o->stride_a = o->m * o->k, o->stride_b = o->k * o->n, o->stride_c = o->m * o->ldc;
    there = here;
    there.a = a.there, there.b = b.there, there.c = c.there, there.bias = bias.there;
    o->bias = bias.here;
    multiply(&there);
    got = fetched(&c);
    for (int64_t p = 0; p < o->batch; p++) {
        o->a = a.here + p * o->stride_a;
        o->b = b.here + p * o->stride_b;
        for (int64_t i = 0; i < o->m; i++)
            for (int64_t j = 0; j < o->n; j++) {
                int64_t at = p * o->stride_c + i * o->ldc + j;
                double all, want = sum_of(&all, o, c.here + p * o->stride_c, i, j);
                double error = fabs((double)got[at] - want);
                if (!(error <= 5e-7 * all + (o->activation == RGM_ACT_TANH ? 1e-6 : 0)))
                    fail_msg("%lld x %lld x %lld, [%lld, %lld, %lld]: %g, expected %g: %g of %g",
                             (long long)o->m, (long long)o->n, (long long)o->k, (long long)p,
                             (long long)i, (long long)j, (double)got[at], want, error / all, all);
            }
    }
    for (int64_t at = 0; at < c.count; at++) /* between rows nothing is written */
        if (at % o->ldc >= o->n)
            CHECK(got[at] == c.here[at]);
    rgm_free(got);
    numbers_clear(&a);
    numbers_clear(&b);
    numbers_clear(&bias);
    numbers_clear(&c);
}

static void multiply_split(const rgm_matmul_args *args)
{
    rgmi_gpu_kernel kernel = {.source = splitting,
                              .name = args->trans_a   ? "split_tn"
                                      : args->trans_b ? "split_nt"
                                                      : "split_nn"};

    rgmi_gpu_matmul_by(&(rgmi_gpu_tiling){&kernel, 128, 64, true}, RGM_F32, args);
}

static void check_split(int64_t m, int64_t n, int64_t k, bool trans_a, bool trans_b, bool adds)
{
    check_split_by((rgm_matmul_args){.m = m,
                                     .n = n,
                                     .k = k,
                                     .ldc = n,
                                     .batch = 1,
                                     .trans_a = trans_a,
                                     .trans_b = trans_b,
                                     .accumulate = adds,
                                     .activation = k % 3 ? RGM_ACT_NONE : RGM_ACT_RELU},
                   multiply_split);
}

/* Asked for by its key it is the table's, on a device that has the instruction. */
static void multiply_by_key(const rgm_matmul_args *args)
{
    setenv("REGIMEN_SPLIT", "1", 1);
    rgm_kernels_for(device, RGM_F32)->matmul(args);
    unsetenv("REGIMEN_SPLIT");
}

static void split_floats_have_the_digits_of_floats(void **state)
{
    (void)state;
    if (emulates(&split, &rgmi_gpu_source_split, "split_nn")) {
        split.name = "emulated_split";
        splitting = &split;
    }
    check_split(130, 40, 36, false, false, true); /* four at once */
    check_split(131, 64, 37, false, true, false);
    check_split(129, 33, 50, true, false, true);
    check_split(70, 130, 24, false, true, true);
    check_split(136, 132, 24, true, false, false);
    check_split(9, 72, 1401, true, false, true); /* slices */
    check_split(5, 66, 1, false, false, true);
    check_split(5, 66, 0, false, false, true);
    check_split_by((rgm_matmul_args){.m = 20,
                                     .n = 36,
                                     .k = 600,
                                     .ldc = 36,
                                     .batch = 3,
                                     .accumulate = true,
                                     .activation = RGM_ACT_RELU},
                   multiply_split); /* slices of each */
    check_split_by((rgm_matmul_args){.m = 130,
                                     .n = 35,
                                     .k = 40,
                                     .ldc = 39,
                                     .batch = 2,
                                     .trans_b = true,
                                     .activation = RGM_ACT_TANH},
                   multiply_split);
    check_split_by((rgm_matmul_args){.m = 2048, .n = 1024, .k = 100, .ldc = 1024, .batch = 1},
                   multiply_by_key);
    rgm_free((char *)(uintptr_t)split.text);
}

/* A convolution of 1 x 1 is a product of the images as they are. */
static void a_convolution_rounds_where_its_product_does(void **state)
{
    rgm_conv2d_args o = {.window = {.count = 3,
                                    .channels = 40,
                                    .in = {5, 7},
                                    .out = {5, 7},
                                    .size = {1, 1},
                                    .stride = {1, 1},
                                    .dilation = {1, 1}},
                         .filters = 24,
                         .matmul = rgm_kernels_for(device, RGM_BF16)->matmul};
    numbers x = numbers_draw(105 * 40), w = numbers_draw(40 * 24), y = numbers_draw(105 * 24);
    rgm_matmul_args here = {.a = x.here,
                            .b = w.here,
                            .c = y.here,
                            .m = 105,
                            .n = 24,
                            .k = 40,
                            .lda = 40,
                            .ldb = 24,
                            .ldc = 24,
                            .batch = 1};
    float *plain;

    (void)state;
    o.x = x.there, o.w = w.there, o.y = y.there;
    rgmi_reference_bf16_matmul(&here);
    rgm_kernels_for(device, RGM_F32)->conv2d(&o);
    check_near(&y, 40, "convolution");
    o.matmul = NULL;
    rgm_kernels_for(device, RGM_F32)->conv2d(&o);
    plain = fetched(&y);
    CHECK(memcmp(plain, y.here, sizeof(float) * 105 * 24) != 0);
    rgm_free(plain);
    numbers_clear(&x);
    numbers_clear(&w);
    numbers_clear(&y);
}

/* ---- packed operands ------------------------------------------------------------------------ */

/* The last `rows` of m by themselves. */
static void check_alone(const rgm_kernels *kernels, const rgm_matmul_args *all, const float *want,
                        int64_t rows)
{
    rgm_matmul_args o = *all;
    numbers alone = numbers_draw(rows * o.n);
    float *got;

    o.m = rows;
    o.a = (const char *)all->a + (size_t)((all->m - rows) * o.k) * sizeof(float);
    o.c = alone.there;
    kernels->matmul(&o);
    got = fetched(&alone);
    if (memcmp(got, want + (all->m - rows) * o.n, (size_t)alone.count * sizeof(float)) != 0)
        fail_msg("%s: %lld of %lld rows have other bits", kernels->isa, (long long)rows,
                 (long long)all->m);
    rgm_free(got);
    numbers_clear(&alone);
}

static void a_packed_operand_gives_a_row_the_same_bits_in_any_company(void **state)
{
    enum { M = 300, N = 130, K = 2100 };
    static const int64_t few[] = {1, 2, 11, 16, 17, 64, 119, 257};
    const rgm_dtype dtypes[] = {RGM_F32, RGM_BF16};
    numbers a = numbers_draw(M * K), b = numbers_draw(K * N), c = numbers_draw(M * N);
    numbers packed = numbers_draw(K * N);

    (void)state;
    for (int t = 0; t < 2; t++) {
        const rgm_kernels *kernels = rgm_kernels_for(device, dtypes[t]);
        rgm_matmul_args o = {.b = b.there, .m = M, .n = N, .k = K, .ldb = N, .batch = 1};
        float *all;

        CHECK_INT(K * N * sizeof(float), kernels->matmul_pack(&o));
        o.c = packed.there;
        kernels->matmul_pack(&o);
        o.a = a.there;
        o.b = packed.there;
        o.c = c.there;
        o.lda = K;
        o.ldc = N;
        o.packed = true;
        kernels->matmul(&o);
        all = fetched(&c);
        for (size_t k = 0; k < sizeof few / sizeof *few; k++)
            check_alone(kernels, &o, all, few[k]);
        rgm_free(all);
    }
    numbers_clear(&a);
    numbers_clear(&b);
    numbers_clear(&c);
    numbers_clear(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_in_bf16_round_their_operands),
        cmocka_unit_test(large_products_are_those_of_the_cpu),
        cmocka_unit_test(a_sum_may_be_activated),
        cmocka_unit_test(tiles_for_tensor_cores_are_right_where_lanes_do_their_work),
        cmocka_unit_test(split_floats_have_the_digits_of_floats),
        cmocka_unit_test(a_convolution_rounds_where_its_product_does),
        cmocka_unit_test(a_packed_operand_gives_a_row_the_same_bits_in_any_company)};

    return cmocka_run_group_tests(tests, open_device, close_device);
}
