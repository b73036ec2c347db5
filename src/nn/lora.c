/*
 * Low-rank adapters. The kernel that a layer multiplies with is a value of the graph, the sum of
 * the kernel that stays and of a thin product, so that every layer can have one and none knows of
 * it.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn_internal.h"

#define RGM_OPTIONS rgm_lora_options
const rgm_field rgm_lora_fields[] = {
    RGM_INT_FIELD(rank, 0, 65536, "of the product that is added to a kernel; 0: no adapters"),
    RGM_FLOAT_FIELD(alpha, RGM_ABOVE_0, 1e6, "the product counts alpha / rank"),
    RGM_TEXTS_FIELD(targets, "names of layers, or patterns of their paths; none: every kernel"),
    {0}};
#undef RGM_OPTIONS

static bool is_target(const rgm_lora_options *lora, uint64_t *met, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    bool any = lora->targets.count == 0;

    for (int64_t i = 0; i < lora->targets.count; i++)
        if (fnmatch(lora->targets.items[i], name, 0) == 0 ||
            fnmatch(lora->targets.items[i], path, 0) == 0) {
            *met |= UINT64_C(1) << i % 64;
            any = true;
        }
    return any;
}

rgm_value *rgmi_adapted(rgm_scope *scope, const rgm_lora_options *lora, uint64_t *met,
                        rgm_value *kernel, const int64_t *shape)
{
    const int64_t down[2] = {shape[0], lora->rank}, up[2] = {lora->rank, shape[1]};
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dtype dtype = rgm_scope_dtype(scope);
    rgm_value *a, *b;
    char name[512];

    if (kernel == NULL || !is_target(lora, met, rgm_scope_path(scope)))
        return kernel;
    snprintf(name, sizeof name, "%s/lora_a", rgm_scope_path(scope));
    a = rgm_parameter(graph, name, dtype, 2, down,
                      (rgm_init){RGM_INIT_NORMAL, 1 / sqrt((double)shape[0])});
    snprintf(name, sizeof name, "%s/lora_b", rgm_scope_path(scope));
    b = rgm_parameter(graph, name, dtype, 2, up, (rgm_init){RGM_INIT_ZEROS, 0});
    return rgm_add(kernel, rgm_scale(rgm_matmul(a, b), lora->alpha / (double)lora->rank));
}

/* ---- merging --------------------------------------------------------------------------------- */

static rgm_tensor *adapter_of(const rgm_parameters *from, const char *kernel, char side)
{
    int64_t size = (int64_t)strlen(kernel) - (int64_t)strlen("kernel");
    char name[512];

    if (size < 0 || strcmp(kernel + size, "kernel") != 0)
        return NULL;
    snprintf(name, sizeof name, "%.*slora_%c", (int)size, kernel, side);
    return rgm_parameters_find(from, name);
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

static rgm_status merge_one(rgm_parameters *to, int64_t i, const rgm_parameters *from,
                            const rgm_lora_options *lora)
{
    const char *name = rgm_parameters_name(to, i);
    rgm_tensor *kernel = rgm_parameters_tensor(to, i), *own = rgm_parameters_find(from, name),
               *a = adapter_of(from, name, 'a'), *b = adapter_of(from, name, 'b');

    if (own == NULL || kernel == NULL || rgm_tensor_bytes(own) != rgm_tensor_bytes(kernel) ||
        rgm_tensor_dtype(own) != RGM_F32)
        return RGM_FAIL(RGM_ERR_SHAPE, "merging adapters: '%s' is lacking or of another shape",
                        name);
    memcpy(rgm_tensor_data(kernel), rgm_tensor_data(own), rgm_tensor_bytes(own));
    if (a != NULL && b != NULL)
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
    for (int64_t i = 0; i < rgm_parameters_count(made); i++)
        RGM_GO(merge_one(made, i, from, lora));
    rgm_parameters_touch(made);
    *out = made;
    made = NULL;
done:
    rgm_parameters_release(made);
    return status;
}
