/*
 * Private gradients: one example moves a sum by the clipping norm at most, the noise is normal and
 * independent from step to step and tensor to tensor, threads change no bit, and without clipping
 * and noise what comes out is the plain mean.
 */
#include <check.h>

#include <regimen/optim.h>

enum { TENSORS = 3 };

typedef struct set {
    rgm_tensor *of[TENSORS];
} set;

/* As an argument of one call. */
static const rgm_secret *key(uint64_t seed)
{
    static rgm_secret secret;

    secret = rgm_secret_from_seed(seed);
    return &secret;
}

/* Tensors [rows, 7], [5] and a scalar. */
static set make(rgm_dtype dtype, int64_t rows)
{
    set s;

    CHECK_OK(rgm_tensor_create(&s.of[0], dtype, 2, (int64_t[]){rows, 7}));
    CHECK_OK(rgm_tensor_create(&s.of[1], dtype, 1, (int64_t[]){5}));
    CHECK_OK(rgm_tensor_create(&s.of[2], dtype, 0, NULL));
    return s;
}

static void release(set *s)
{
    for (int t = 0; t < TENSORS; t++)
        rgm_tensor_release(s->of[t]);
}

static void put(rgm_tensor *t, int64_t i, double value)
{
    if (rgm_tensor_dtype(t) == RGM_F32)
        rgm_tensor_f32(t)[i] = (float)value;
    else
        rgm_tensor_f64(t)[i] = value;
}

/* The gradients of example `example`, each of standard deviation `size`. */
static void fill(set *s, int64_t example, double size)
{
    for (int t = 0; t < TENSORS; t++) {
        rgm_rng rng = rgm_rng_stream((uint64_t)t, "example", (uint64_t)example);
        for (int64_t i = 0; i < rgm_tensor_count(s->of[t]); i++)
            put(s->of[t], i, size * rgm_rng_normal(&rng, (uint64_t)i));
    }
}

static double norm_of(const set *s)
{
    double sum = 0;

    for (int t = 0; t < TENSORS; t++)
        for (int64_t i = 0; i < rgm_tensor_count(s->of[t]); i++)
            sum += rgm_tensor_at(s->of[t], i) * rgm_tensor_at(s->of[t], i);
    return sqrt(sum);
}

static bool same(const set *a, const set *b)
{
    for (int t = 0; t < TENSORS; t++)
        if (!rgm_tensor_equal(a->of[t], b->of[t]))
            return false;
    return true;
}

static void one_example_moves_the_sum_by_the_clipping_norm_at_most(void **state)
{
    (void)state;
    for (double size = 1e-6; size < 1e12; size *= 10)
        for (int wide = 0; wide < 2; wide++) {
            set g = make(wide ? RGM_F64 : RGM_F32, 11), sum = make(RGM_F64, 11);
            double norm, before;

            fill(&g, 3, size);
            before = norm_of(&g);
            CHECK_OK(rgm_privacy_clip_add(sum.of, g.of, TENSORS, 0.75, &norm));
            CHECK_CLOSE(norm, before, 1e-12, 0);
            CHECK_CLOSE(norm_of(&sum), before > 0.75 ? 0.75 : before, 1e-14, 0);
            /* The direction stays. */
            CHECK_CLOSE(rgm_tensor_at(sum.of[1], 2) * before,
                        rgm_tensor_at(g.of[1], 2) * norm_of(&sum), 1e-12, 0);
            release(&g);
            release(&sum);
        }
}

static void without_noise_and_with_a_huge_norm_it_is_the_plain_mean(void **state)
{
    (void)state;
    enum { EXAMPLES = 9 };
    for (int wide = 0; wide < 2; wide++) {
        set g = make(RGM_F32, 4), sum = make(wide ? RGM_F64 : RGM_F32, 4);
        double plain[TENSORS][28] = {0};

        for (int e = 0; e < EXAMPLES; e++) {
            fill(&g, e, 1 + e);
            for (int t = 0; t < TENSORS; t++)
                for (int64_t i = 0; i < rgm_tensor_count(g.of[t]); i++) {
                    plain[t][i] += rgm_tensor_at(g.of[t], i);
                    if (!wide)
                        plain[t][i] = (float)plain[t][i];
                }
            CHECK_OK(rgm_privacy_clip_add(sum.of, g.of, TENSORS, 1e30, NULL));
        }
        CHECK_OK(rgm_privacy_noise(sum.of, TENSORS, 0, 1.0 / EXAMPLES, key(7), 0));
        for (int t = 0; t < TENSORS; t++)
            for (int64_t i = 0; i < rgm_tensor_count(sum.of[t]); i++) {
                double mean = plain[t][i] * (1.0 / EXAMPLES);
                CHECK(rgm_tensor_at(sum.of[t], i) == (wide ? mean : (double)(float)mean));
            }
        release(&g);
        release(&sum);
    }
}

static void a_missing_gradient_adds_nothing_and_gets_noise_all_the_same(void **state)
{
    (void)state;
    set g = make(RGM_F32, 2), sum = make(RGM_F64, 2);
    rgm_tensor *some[TENSORS] = {g.of[0], NULL, g.of[2]};

    fill(&g, 1, 1);
    CHECK_OK(rgm_privacy_clip_add(sum.of, some, TENSORS, 1e9, NULL));
    CHECK(rgm_tensor_at(sum.of[1], 0) == 0 && rgm_tensor_at(sum.of[2], 0) != 0);
    CHECK_OK(rgm_privacy_noise(sum.of, TENSORS, 1, 1, key(7), 0));
    CHECK(rgm_tensor_at(sum.of[1], 0) != 0);
    release(&g);
    release(&sum);
}

/* Mean, variance, skewness and kurtosis of x [n] are those of N(0, deviation^2), to 5 sigma. */
static void check_normal(const double *x, int n, double deviation)
{
    double m[5] = {0};

    for (int i = 0; i < n; i++)
        for (int k = 1; k <= 4; k++)
            m[k] += pow(x[i] / deviation, k) / n;
    CHECK_CLOSE(m[1], 0, 0, 5 / sqrt(n));
    CHECK_CLOSE(m[2], 1, 0, 5 * sqrt(2.0 / n));
    CHECK_CLOSE(m[3], 0, 0, 5 * sqrt(15.0 / n));
    CHECK_CLOSE(m[4], 3, 0, 5 * sqrt(96.0 / n));
}

static void check_uncorrelated(const double *x, const double *y, int n, double deviation)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i] * y[i] / (deviation * deviation);
    CHECK_CLOSE(sum / n, 0, 0, 5 / sqrt(n));
}

static void noise_is_normal_and_independent_across_elements_tensors_steps_and_keys(void **state)
{
    (void)state;
    enum { N = 200000 };
    const double deviation = 2.5;
    /* Two tensors of one size, of step 4, step 5, and step 4 of another key. */
    const struct {
        uint64_t seed;
        int64_t step;
    } runs[] = {{7, 4}, {7, 5}, {8, 4}};
    rgm_tensor *x[6];

    for (int r = 0; r < 3; r++) {
        for (int t = 0; t < 2; t++)
            CHECK_OK(rgm_tensor_create(&x[2 * r + t], RGM_F64, 1, (int64_t[]){N}));
        CHECK_OK(rgm_privacy_noise(&x[2 * r], 2, deviation, 1, key(runs[r].seed), runs[r].step));
    }
    for (int a = 0; a < 6; a++) {
        const double *z = rgm_tensor_f64(x[a]);
        check_normal(z, N, deviation);
        check_uncorrelated(z, z + 1, N - 1, deviation);
        for (int b = a + 1; b < 6; b++)
            check_uncorrelated(z, rgm_tensor_f64(x[b]), N, deviation);
    }
    for (int a = 0; a < 6; a++)
        rgm_tensor_release(x[a]);
}

static void noise_is_added_before_the_scale(void **state)
{
    (void)state;
    set plain = make(RGM_F64, 3), noisy = make(RGM_F64, 3), zero = make(RGM_F64, 3);

    fill(&plain, 2, 1);
    fill(&noisy, 2, 1);
    CHECK_OK(rgm_privacy_noise(noisy.of, TENSORS, 3, 0.125, key(9), 2));
    CHECK_OK(rgm_privacy_noise(zero.of, TENSORS, 3, 1, key(9), 2));
    for (int t = 0; t < TENSORS; t++)
        for (int64_t i = 0; i < rgm_tensor_count(plain.of[t]); i++)
            CHECK(rgm_tensor_at(noisy.of[t], i) ==
                  (rgm_tensor_at(plain.of[t], i) + rgm_tensor_at(zero.of[t], i)) * 0.125);
    release(&plain);
    release(&noisy);
    release(&zero);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    int before = rgm_threads();
    set first = {{NULL}};

    for (int threads = 1; threads <= 4; threads++) {
        set g = make(RGM_F32, 20011), sum = make(RGM_F32, 20011);

        rgm_threads_set(threads);
        for (int e = 0; e < 3; e++) {
            fill(&g, e, 1);
            CHECK_OK(rgm_privacy_clip_add(sum.of, g.of, TENSORS, 5, NULL));
        }
        CHECK_OK(rgm_privacy_noise(sum.of, TENSORS, 0.5, 1.0 / 3, key(11), 6));
        release(&g);
        if (threads == 1)
            first = sum;
        else {
            CHECK(same(&first, &sum));
            release(&sum);
        }
    }
    release(&first);
    rgm_threads_set(before);
}

static void what_cannot_be_clipped_or_noised_changes_nothing(void **state)
{
    (void)state;
    set g = make(RGM_F32, 2), sum = make(RGM_F32, 2), zero = make(RGM_F32, 2);
    set other = make(RGM_F32, 3), whole = make(RGM_I64, 2);

    fill(&g, 0, 1);
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_clip_add(sum.of, g.of, TENSORS, 0, NULL));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_clip_add(sum.of, g.of, TENSORS, NAN, NULL));
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_privacy_clip_add(sum.of, other.of, TENSORS, 1, NULL));
    CHECK_MESSAGE("gradient 0 is f32[3,7], but its sum f32[2,7]");
    CHECK_STATUS(RGM_ERR_DTYPE, rgm_privacy_clip_add(sum.of, whole.of, TENSORS, 1, NULL));
    rgm_tensor_f32(g.of[1])[3] = INFINITY;
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_privacy_clip_add(sum.of, g.of, TENSORS, 1, NULL));
    CHECK_MESSAGE("gradient 1 of an example");
    CHECK(same(&sum, &zero));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_noise(sum.of, TENSORS, -1, 1, key(0), 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_noise(sum.of, TENSORS, 1, NAN, key(0), 0));
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_noise(sum.of, TENSORS, 1, 1, key(0), -1));
    CHECK_STATUS(RGM_ERR_DTYPE, rgm_privacy_noise(whole.of, TENSORS, 1, 1, key(0), 0));
    CHECK(same(&sum, &zero));
    release(&g);
    release(&sum);
    release(&zero);
    release(&other);
    release(&whole);
}

static rgm_status read_options(rgm_privacy *privacy, const char *text)
{
    rgm_yaml *yaml = NULL;
    rgm_arena *arena = NULL;
    rgm_status status = RGM_OK;

    *privacy = (rgm_privacy)RGM_PRIVACY_INIT;
    RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "x.yaml"));
    RGM_GO(rgm_arena_create(&arena));
    RGM_GO(
        rgm_options_read(privacy, rgm_privacy_fields, rgm_yaml_root(yaml), "privacy", NULL, arena));
    RGM_GO(rgm_privacy_check(privacy));
done:
    rgm_yaml_release(yaml);
    rgm_arena_release(arena);
    return status;
}

static void options_are_read_and_checked(void **state)
{
    (void)state;
    rgm_privacy p;

    CHECK_OK(read_options(&p, ""));
    CHECK(p.clipping_norm == 0 && p.sampling == RGM_PRIVACY_POISSON);
    CHECK_OK(read_options(
        &p, "{clipping_norm: 1.5, noise_multiplier: 1.1, delta: 1e-6, sampling: shuffle}"));
    CHECK(p.clipping_norm == 1.5 && p.noise_multiplier == 1.1 && p.delta == 1e-6);
    CHECK_INT(RGM_PRIVACY_SHUFFLE, p.sampling);
    CHECK(strstr(rgm_privacy_basis(&p, 0.01), "not a bound") != NULL);
    CHECK(strstr(rgm_privacy_basis(&p, 1), "not a bound") == NULL);
    p.sampling = RGM_PRIVACY_POISSON;
    CHECK(strstr(rgm_privacy_basis(&p, 0.01), "Poisson-subsampled") != NULL);
    CHECK_STATUS(RGM_ERR_CONFIG, read_options(&p, "{clipping_norm: -1}"));
    CHECK_STATUS(RGM_ERR_CONFIG, read_options(&p, "{noise_multiplier: 1}"));
    CHECK_MESSAGE("without a clipping_norm");
    CHECK_STATUS(RGM_ERR_CONFIG, read_options(&p, "{target_epsilon: 2}"));
    CHECK_MESSAGE("privacy.target_epsilon is 2 without a clipping_norm");
    CHECK_STATUS(RGM_ERR_CONFIG, read_options(&p, "{clipping_norm: 1, noise_multiplier: 1, "
                                                  "target_epsilon: 2}"));
    CHECK_MESSAGE("exclude each other");
    CHECK_STATUS(RGM_ERR_CONFIG, read_options(&p, "{clipping_norm: 1, target_epsilon: 2, "
                                                  "sampling: shuffle}"));
    CHECK_MESSAGE("only for poisson is the epsilon a bound");
    CHECK_OK(read_options(&p, "{clipping_norm: 1, target_epsilon: 2, noise_seed: 3}"));
    CHECK(strstr(rgm_privacy_basis(&p, 0.01), "no bound for who knows") != NULL);
    CHECK_STATUS(RGM_ERR_CONFIG, read_options(&p, "{clipping_norm: 1, delta: 0}"));
    CHECK_STATUS(RGM_ERR_CONFIG, read_options(&p, "{clipping_norm: 1, delta: 1}"));
    CHECK_STATUS(RGM_ERR_CONFIG, read_options(&p, "{sampling: poison}"));
    p = (rgm_privacy)RGM_PRIVACY_INIT;
    CHECK_OK(rgm_privacy_check(&p));
    p.clipping_norm = INFINITY;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_privacy_check(&p));
    CHECK_MESSAGE("privacy.clipping_norm");
    p = (rgm_privacy)RGM_PRIVACY_INIT;
    p.delta = NAN;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_privacy_check(&p));
    p.delta = 1e-5;
    p.sampling = (rgm_privacy_sampling)7;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_privacy_check(&p));
    CHECK_MESSAGE("privacy.sampling is 7, which does not exist");
}

TESTS(cmocka_unit_test(one_example_moves_the_sum_by_the_clipping_norm_at_most),
      cmocka_unit_test(without_noise_and_with_a_huge_norm_it_is_the_plain_mean),
      cmocka_unit_test(a_missing_gradient_adds_nothing_and_gets_noise_all_the_same),
      cmocka_unit_test(noise_is_normal_and_independent_across_elements_tensors_steps_and_keys),
      cmocka_unit_test(noise_is_added_before_the_scale), cmocka_unit_test(threads_change_no_bit),
      cmocka_unit_test(what_cannot_be_clipped_or_noised_changes_nothing),
      cmocka_unit_test(options_are_read_and_checked))
