/*
 * Low-rank adapters: their keys, and weights with their adapters in them. (scope.c makes them.)
 */
#include <string.h>

#include "nn_internal.h"

#define RGM_OPTIONS rgm_lora_options
const rgm_field rgm_lora_fields[] = {
    RGM_INT_FIELD(rank, 0, 65536, "of the product that is added to a kernel; 0: no adapters"),
    RGM_FLOAT_FIELD(alpha, RGM_ABOVE_0, 1e6, "the product counts alpha / rank"),
    RGM_TEXTS_FIELD(targets, "names of layers, or patterns of their paths; none: every kernel"),
    {0}};
#undef RGM_OPTIONS

/* ---- merging --------------------------------------------------------------------------------- */

/* One side of a kernel's adapter; *out is NULL when it has none. */
static rgm_status find_adapter(rgm_tensor **out, const rgm_parameters *from, const char *kernel,
                               const char *side)
{
    int64_t size = (int64_t)strlen(kernel) - (int64_t)strlen("kernel");
    char *name;

    *out = NULL;
    if (size < 0 || strcmp(kernel + size, "kernel") != 0)
        return RGM_OK;
    RGM_TRY(rgm_strprintf(&name, "%.*s%s", (int)size, kernel, side));
    *out = rgm_parameters_find(from, name);
    rgm_free(name);
    return RGM_OK;
}

static void add_product(rgm_tensor *kernel, const rgm_tensor *a, const rgm_tensor *b, double scale)
{
    int64_t rank = rgm_tensor_dim(a, 1), width = rgm_tensor_dim(b, 1);
    float *w = rgm_tensor_f32(kernel);

    for (int64_t i = 0; i < rgm_tensor_dim(a, 0); i++)
        for (int64_t j = 0; j < width; j++) {
            double sum = 0;

            for (int64_t k = 0; k < rank; k++)
                sum += (double)rgm_tensor_f32(a)[i * rank + k] *
                       (double)rgm_tensor_f32(b)[k * width + j];
            w[i * width + j] += (float)(scale * sum);
        }
}

static bool has_shape(const rgm_tensor *tensor, int64_t rows, int64_t columns)
{
    return tensor != NULL && rgm_tensor_dtype(tensor) == RGM_F32 && rgm_tensor_rank(tensor) == 2 &&
           rgm_tensor_dim(tensor, 0) == rows && rgm_tensor_dim(tensor, 1) == columns;
}

/* Both sides or none, of the rank that the options say. */
static rgm_status check_adapter(const char *name, const rgm_tensor *kernel, const rgm_tensor *a,
                                const rgm_tensor *b, int64_t rank)
{
    if (a == NULL && b == NULL)
        return RGM_OK;
    if (rgm_tensor_rank(kernel) != 2 || !has_shape(a, rgm_tensor_dim(kernel, 0), rank) ||
        !has_shape(b, rank, rgm_tensor_dim(kernel, 1)))
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "merging adapters: '%s' has %s, not lora_a and lora_b of rank %lld for its "
                        "own shape",
                        name,
                        a == NULL   ? "no lora_a"
                        : b == NULL ? "no lora_b"
                                    : "others",
                        (long long)rank);
    return RGM_OK;
}

/* An adapter that no kernel of `to` takes would change nothing without a word. */
static rgm_status check_all_fit(const rgm_parameters *to, const rgm_parameters *from)
{
    for (int64_t i = 0; i < rgm_parameters_count(from); i++) {
        const char *name = rgm_parameters_name(from, i), *slash = strrchr(name, '/');
        char *kernel;
        bool fits;

        if (slash == NULL || (strcmp(slash, "/lora_a") != 0 && strcmp(slash, "/lora_b") != 0))
            continue;
        RGM_TRY(rgm_strprintf(&kernel, "%.*s/kernel", (int)(slash - name), name));
        fits = rgm_parameters_number(to, kernel) >= 0;
        rgm_free(kernel);
        if (!fits)
            return RGM_FAIL(RGM_ERR_SHAPE,
                            "merging adapters: '%s' is of no kernel that the model has", name);
    }
    return RGM_OK;
}

static bool same_shape(const rgm_tensor *a, const rgm_tensor *b)
{
    if (rgm_tensor_dtype(a) != rgm_tensor_dtype(b) || rgm_tensor_rank(a) != rgm_tensor_rank(b))
        return false;
    for (int axis = 0; axis < rgm_tensor_rank(a); axis++)
        if (rgm_tensor_dim(a, axis) != rgm_tensor_dim(b, axis))
            return false;
    return true;
}

static rgm_status merge_one(rgm_parameters *to, int64_t i, const rgm_parameters *from,
                            const rgm_lora_options *lora)
{
    const char *name = rgm_parameters_name(to, i);
    rgm_tensor *kernel = rgm_parameters_tensor(to, i), *own = rgm_parameters_find(from, name), *a,
               *b;

    RGM_TRY(find_adapter(&a, from, name, "lora_a"));
    RGM_TRY(find_adapter(&b, from, name, "lora_b"));
    if (own == NULL || kernel == NULL || !same_shape(own, kernel) ||
        rgm_tensor_dtype(own) != RGM_F32)
        return RGM_FAIL(RGM_ERR_SHAPE, "merging adapters: '%s' is lacking or of another shape",
                        name);
    RGM_TRY(check_adapter(name, kernel, a, b, lora->rank));
    memcpy(rgm_tensor_data(kernel), rgm_tensor_data(own), rgm_tensor_bytes(own));
    if (a != NULL)
        add_product(kernel, a, b, lora->alpha / (double)lora->rank);
    return RGM_OK;
}

rgm_status rgm_lora_merge(rgm_parameters **out, const rgm_cgraph *graph, const rgm_parameters *from,
                          const rgm_lora_options *lora)
{
    rgm_status status = RGM_OK;
    rgm_parameters *made = NULL;

    *out = NULL;
    RGM_TRY(rgm_parameters_to_host(from));
    RGM_GO(rgm_parameters_create(&made, graph, 0));
    RGM_GO(check_all_fit(made, from));
    for (int64_t i = 0; i < rgm_parameters_count(made); i++)
        RGM_GO(merge_one(made, i, from, lora));
    rgm_parameters_touch(made);
    *out = made;
    made = NULL;
done:
    rgm_parameters_release(made);
    return status;
}
