/*
 * Differentially private gradients (Abadi et al. 2016): options, clipping of each example's
 * gradient to a global norm, and noise that is a function of a secret key, step, tensor and element
 * alone.
 * What it costs in privacy is counted in privacy_accountant.c.
 */
#include "optim_internal.h"

#include <math.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------- */

static const char *const sampling_names[] = {"poisson", "shuffle", NULL};

#define RGM_OPTIONS rgm_privacy
const rgm_field rgm_privacy_fields[] = {
    RGM_FLOAT_FIELD(clipping_norm, 0, INFINITY,
                    "largest global norm of one example's gradient; 0: no privacy"),
    RGM_FLOAT_FIELD(noise_multiplier, 0, INFINITY,
                    "standard deviation of the noise, in clipping norms"),
    RGM_FLOAT_FIELD(target_epsilon, 0, INFINITY,
                    "epsilon of the whole run, which noise_multiplier is then found for; 0: none"),
    RGM_FLOAT_FIELD(delta, RGM_ABOVE_0, RGM_BELOW_1, "of the (epsilon, delta) reported, in (0, 1)"),
    RGM_CHOICE_FIELD(sampling, sampling_names,
                     "poisson: each example by a coin of its own; shuffle: batches of fixed size"),
    RGM_INT_FIELD(noise_seed, 0, 1e15,
                  "of noise and samples, to repeat a run: private from nobody who knows it; 0: a "
                  "secret key of the system's, anew at each start"),
    {0}};
#undef RGM_OPTIONS

rgm_status rgm_privacy_check(const rgm_privacy *p)
{
    RGM_TRY(rgm_options_check(p, rgm_privacy_fields, "privacy"));
    if (p->clipping_norm == 0 && (p->noise_multiplier > 0 || p->target_epsilon > 0))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "privacy.%s is %g without a clipping_norm, "
                        "which the noise is measured in",
                        p->noise_multiplier > 0 ? "noise_multiplier" : "target_epsilon",
                        p->noise_multiplier > 0 ? p->noise_multiplier : p->target_epsilon);
    if (p->noise_multiplier > 0 && p->target_epsilon > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "privacy.noise_multiplier (%g) and privacy.target_epsilon (%g) exclude "
                        "each other: the noise is given, or found for the epsilon",
                        p->noise_multiplier, p->target_epsilon);
    if (p->target_epsilon > 0 && p->sampling != RGM_PRIVACY_POISSON)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "privacy.target_epsilon is %g, but privacy.sampling is %s: only for "
                        "poisson is the epsilon a bound",
                        p->target_epsilon, sampling_names[p->sampling]);
    return RGM_OK;
}

const char *rgm_privacy_basis(const rgm_privacy *privacy, double sample_rate)
{
    if (privacy->noise_seed > 0)
        return "no bound for who knows privacy.noise_seed, which the run folder's config.yaml has: "
               "noise and samples follow from it";
    if (sample_rate == 1)
        return "Renyi DP of the Gaussian mechanism, every example in every step; a bound for one "
               "example added or removed";
    if (privacy->sampling == RGM_PRIVACY_POISSON)
        return "Renyi DP of the Poisson-subsampled Gaussian mechanism; a bound for one example "
               "added or removed";
    return "Renyi DP as if batches were Poisson samples; customary, but not a bound for shuffled "
           "batches of fixed size";
}

/* ---- clipping ------------------------------------------------------------------------------ */

static rgm_status check_float(const char *what, int64_t i, const rgm_tensor *tensor)
{
    rgm_dtype dtype = rgm_tensor_dtype(tensor);

    if (dtype != RGM_F32 && dtype != RGM_F64)
        return RGM_FAIL(RGM_ERR_DTYPE, "%s %lld is %s, but should be f32 or f64", what,
                        (long long)i, rgm_dtype_name(dtype));
    return RGM_OK;
}

static rgm_status check_pair(int64_t i, const rgm_tensor *sum, const rgm_tensor *gradient)
{
    char a[96], b[96];

    RGM_TRY(check_float("sum", i, sum));
    RGM_TRY(check_float("gradient", i, gradient));
    if (rgm_tensor_rank(sum) != rgm_tensor_rank(gradient) ||
        (rgm_tensor_rank(sum) > 0 && memcmp(rgm_tensor_shape(sum), rgm_tensor_shape(gradient),
                                            (size_t)rgm_tensor_rank(sum) * sizeof(int64_t)) != 0))
        return RGM_FAIL(RGM_ERR_SHAPE, "gradient %lld is %s, but its sum %s", (long long)i,
                        rgm_tensor_describe(gradient, a, sizeof a),
                        rgm_tensor_describe(sum, b, sizeof b));
    return RGM_OK;
}

/* The device that has the tensors; NULL: the host. */
static rgm_status device_of(rgm_device **out, rgm_tensor *const *tensors, int64_t count)
{
    bool any = false;

    *out = NULL;
    for (int64_t i = 0; i < count; i++) {
        if (tensors[i] == NULL)
            continue;
        if (any && rgm_tensor_device(tensors[i]) != *out)
            return RGM_FAIL(RGM_ERR_ARG, "tensor %lld is on another device than those before it",
                            (long long)i);
        any = true;
        *out = rgm_tensor_device(tensors[i]);
    }
    return RGM_OK;
}

static rgm_status add_squares(double *sum, double squares, int64_t i)
{
    *sum += squares;
    if (isfinite(*sum))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_NUMERIC,
                    "gradient %lld of an example has a NaN or infinity, or its norm "
                    "overflows",
                    (long long)i);
}

static rgm_status global_norm(double *norm, rgm_tensor *const *gradients, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++) {
        const rgm_tensor *g = gradients[i];

        if (g == NULL)
            continue;
        rgm_flat_args elements = {rgm_tensor_data(g), rgm_tensor_count(g)};
        const rgm_kernels *kernels = rgm_kernels_for(rgm_device_cpu(), rgm_tensor_dtype(g));
        RGM_TRY(add_squares(&sum, kernels->sum_of_squares(&elements), i));
    }
    *norm = sqrt(sum);
    return RGM_OK;
}

/* The same on a device: one wait for the squares of all. */
static rgm_status global_norm_on(double *norm, rgm_device *device, rgm_tensor *const *gradients,
                                 int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_tensor *there = NULL, *here = NULL;
    double sum = 0;

    RGM_GO(rgm_tensor_create(&here, RGM_F64, 1, &count));
    RGM_GO(rgm_device_tensor_create(&there, device, RGM_F64, 1, &count));
    RGM_GO(rgm_device_tensor_set(there, here));
    for (int64_t i = 0; i < count; i++) {
        const rgm_tensor *g = gradients[i];

        if (g == NULL)
            continue;
        const void *x = rgm_tensor_data(g);
        int64_t n = rgm_tensor_count(g);
        rgm_kernels_for(device, rgm_tensor_dtype(g))
            ->squares(&(rgm_squares_args){(double *)rgm_tensor_data(there) + i, &x, &n, 1});
    }
    RGM_GO(rgm_device_tensor_set(here, there));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(add_squares(&sum, rgm_tensor_f64(here)[i], i));
    *norm = sqrt(sum);
done:
    rgm_tensor_release(there);
    rgm_tensor_release(here);
    return status;
}

typedef struct add_work {
    rgm_tensor *sum;
    const rgm_tensor *gradient;
    double scale;
} add_work;

static double element(const rgm_tensor *tensor, int64_t i)
{
    return rgm_tensor_dtype(tensor) == RGM_F32 ? (double)rgm_tensor_f32(tensor)[i]
                                               : rgm_tensor_f64(tensor)[i];
}

static void set_element(rgm_tensor *tensor, int64_t i, double value)
{
    if (rgm_tensor_dtype(tensor) == RGM_F32)
        rgm_tensor_f32(tensor)[i] = (float)value;
    else
        rgm_tensor_f64(tensor)[i] = value;
}

static void add_scaled(void *payload, int64_t begin, int64_t end)
{
    const add_work *w = payload;

    for (int64_t i = begin; i < end; i++)
        set_element(w->sum, i, element(w->sum, i) + w->scale * element(w->gradient, i));
}

/* w -= length * direction, in double, is what the row does without the rest of its arguments. */
static void add_on(rgm_device *device, rgm_tensor *sum, const rgm_tensor *gradient, double scale)
{
    rgm_adafactor_move_args args = {.w = rgm_tensor_data(sum),
                                    .direction = rgm_tensor_data(gradient),
                                    .count = rgm_tensor_count(sum),
                                    .length = -scale};

    rgm_kernels_for(device, rgm_tensor_dtype(sum))->adafactor_move(&args);
}

/* All on one device, or all on the host; there in one dtype. */
static rgm_status check_places(rgm_device **device, rgm_tensor *const *sums,
                               rgm_tensor *const *gradients, int64_t count)
{
    rgm_device *other;

    RGM_TRY(device_of(device, gradients, count));
    RGM_TRY(device_of(&other, sums, count));
    if (*device != other)
        return RGM_FAIL(RGM_ERR_ARG, "gradients and sums are on different devices");
    for (int64_t i = 0; i < count && *device != NULL; i++)
        if (gradients[i] != NULL && rgm_tensor_dtype(gradients[i]) != rgm_tensor_dtype(sums[i]))
            return RGM_FAIL(RGM_ERR_DTYPE,
                            "gradient %lld and its sum are of two dtypes, which "
                            "only the host adds",
                            (long long)i);
    return RGM_OK;
}

rgm_status rgm_privacy_clip_add(rgm_tensor *const *sums, rgm_tensor *const *gradients,
                                int64_t count, double clipping_norm, double *norm)
{
    rgm_device *device;
    double length = 0, scale = 1;

    if (!(clipping_norm > 0))
        return RGM_FAIL(RGM_ERR_ARG, "clipping to a norm of %g", clipping_norm);
    for (int64_t i = 0; i < count; i++)
        if (gradients[i] != NULL)
            RGM_TRY(check_pair(i, sums[i], gradients[i]));
    RGM_TRY(check_places(&device, sums, gradients, count));
    RGM_TRY(device != NULL ? global_norm_on(&length, device, gradients, count)
                           : global_norm(&length, gradients, count));
    if (length > clipping_norm)
        scale = clipping_norm / length;
    for (int64_t i = 0; i < count; i++) {
        add_work work = {sums[i], gradients[i], scale};

        if (gradients[i] != NULL && device != NULL)
            add_on(device, sums[i], gradients[i], scale);
        else if (gradients[i] != NULL)
            rgm_parallel(rgm_tensor_count(gradients[i]), 4, add_scaled, &work);
    }
    if (norm != NULL)
        *norm = length;
    return RGM_OK;
}

/* ---- noise --------------------------------------------------------------------------------- */

/* Tensors lie this many blocks apart in a step's stream of noise. */
#define TENSOR_BLOCKS (UINT64_C(1) << 40)

typedef struct noise_work {
    rgm_tensor *sum;
    const rgm_secret *secret;
    uint64_t step, first_block;
    double sigma, scale;
} noise_work;

static void add_noise(void *payload, int64_t begin, int64_t end)
{
    const noise_work *w = payload;
    double z[RGM_SECRET_NORMALS] = {0};

    for (int64_t i = begin; i < end; i++) {
        int64_t at = i % RGM_SECRET_NORMALS;

        if (w->sigma > 0 && (at == 0 || i == begin))
            rgm_secret_normals(w->secret, w->step,
                               w->first_block + (uint64_t)(i / RGM_SECRET_NORMALS), z);
        set_element(w->sum, i, (element(w->sum, i) + w->sigma * z[at]) * w->scale);
    }
}

/* The secret stays on the host: a sum that is on a device goes there and back. */
static rgm_status noise_one(noise_work *work, rgm_tensor *sum)
{
    rgm_status status = RGM_OK;
    rgm_tensor *here = NULL;

    if (rgm_tensor_device(sum) != NULL) {
        RGM_GO(rgm_tensor_create(&here, rgm_tensor_dtype(sum), rgm_tensor_rank(sum),
                                 rgm_tensor_shape(sum)));
        RGM_GO(rgm_device_tensor_set(here, sum));
    }
    work->sum = here != NULL ? here : sum;
    rgm_parallel(rgm_tensor_count(sum), work->sigma > 0 ? 60 : 4, add_noise, work);
    if (here != NULL)
        RGM_GO(rgm_device_tensor_set(sum, here));
done:
    rgm_tensor_release(here);
    return status;
}

rgm_status rgm_privacy_noise(rgm_tensor *const *sums, int64_t count, double sigma, double scale,
                             const rgm_secret *secret, int64_t step)
{
    if (!(sigma >= 0 && scale >= 0) || isinf(sigma) || isinf(scale) || step < 0)
        return RGM_FAIL(RGM_ERR_ARG, "noise of deviation %g, scaled by %g, at step %lld", sigma,
                        scale, (long long)step);
    for (int64_t i = 0; i < count; i++)
        if (sums[i] != NULL)
            RGM_TRY(check_float("sum", i, sums[i]));
    for (int64_t i = 0; i < count; i++) {
        noise_work work = {.secret = secret,
                           .step = (uint64_t)step,
                           .first_block = (uint64_t)i * TENSOR_BLOCKS,
                           .sigma = sigma,
                           .scale = scale};

        if (sums[i] != NULL)
            RGM_TRY(noise_one(&work, sums[i]));
    }
    return RGM_OK;
}
