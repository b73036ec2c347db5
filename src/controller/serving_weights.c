/*
 * The weights of an export: a safetensors file with a tensor for each parameter, and its reading.
 * In 8 bits a matrix is numbers under its own name and their steps beside it. A file may come from
 * anybody, so it is compared with the model's needs before memory for the model is allocated.
 */
#include <string.h>

#include "run_internal.h"

/* What the steps of a matrix are called, by axis. */
static const char *const step_names[] = {".row_steps", ".column_steps"};

/* ---- saving ---------------------------------------------------------------------------------- */

/* Tensors of a file: those of parameters borrowed, what was made of them in `made`. */
typedef struct saving {
    rgm_named_tensor *named;
    int64_t count, made_count;
    rgm_tensor **made;
    char **names; /* of steps, in pairs with made */
} saving;

static void saving_clear(saving *s)
{
    for (int64_t i = 0; s->made != NULL && i < s->made_count; i++) {
        rgm_tensor_release(s->made[i]);
        rgm_free(s->names[i]);
    }
    rgm_free(s->made);
    rgm_free(s->names);
    rgm_free(s->named);
}

static rgm_status add_matrix(saving *s, const char *name, const rgm_tensor *matrix, int axis)
{
    rgm_tensor *numbers, *steps;
    rgm_status status = rgm_int8_from(&numbers, &steps, matrix, axis);

    if (status != RGM_OK)
        return rgm_error_prefix(status, "%s in 8 bits", name);
    s->made[s->made_count++] = numbers;
    s->made[s->made_count++] = steps;
    RGM_TRY(rgm_strprintf(&s->names[s->made_count - 1], "%s%s", name, step_names[axis]));
    s->named[s->count++] = (rgm_named_tensor){name, numbers};
    s->named[s->count++] = (rgm_named_tensor){s->names[s->made_count - 1], steps};
    return RGM_OK;
}

static rgm_status collect(saving *s, const rgm_parameters *parameters,
                          int (*int8_axis)(const char *name, const rgm_tensor *tensor))
{
    int64_t count = rgm_parameters_count(parameters);

    RGM_TRY(rgm_parameters_to_host(parameters));
    RGM_TRY(RGM_NEW(s->named, 2 * count));
    RGM_TRY(RGM_NEW(s->made, 2 * count));
    RGM_TRY(RGM_NEW(s->names, 2 * count));
    for (int64_t i = 0; i < count; i++) {
        const char *name = rgm_parameters_name(parameters, i);
        rgm_tensor *tensor = (rgm_tensor *)rgm_parameters_read(parameters, i);
        int axis = int8_axis != NULL ? int8_axis(name, tensor) : -1;
        if (axis >= 0)
            RGM_TRY(add_matrix(s, name, tensor, axis));
        else
            s->named[s->count++] = (rgm_named_tensor){name, tensor};
    }
    return RGM_OK;
}

rgm_status rgmi_serving_weights_save(const char *folder, const rgm_parameters *parameters,
                                     int (*int8_axis)(const char *name, const rgm_tensor *tensor))
{
    rgm_status status = RGM_OK;
    saving s = {0};
    char *path = NULL, *beside = NULL;

    RGM_GO(collect(&s, parameters, int8_axis));
    RGM_GO(rgm_path_join(&path, folder, RGM_SERVING_WEIGHTS));
    RGM_GO(rgm_file_beside(&beside, path));
    status = rgm_safetensors_save(beside, s.named, s.count, NULL, 0);
    RGM_GO(rgm_file_publish(beside, path, status));
done:
    saving_clear(&s);
    rgm_free(path);
    rgm_free(beside);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool has_tensor(const rgm_safetensors *file, const char *name)
{
    for (int64_t i = 0; i < rgm_safetensors_count(file); i++)
        if (strcmp(rgm_safetensors_name(file, i), name) == 0)
            return true;
    return false;
}

/* A matrix that is kept in 8 bits, in the place of its numbers. */
static rgm_status from_8_bits(rgm_tensor **weight, const rgm_safetensors *file, const char *name)
{
    rgm_status status = RGM_OK;
    rgm_tensor *numbers = *weight, *steps = NULL;
    char *beside = NULL;
    int axis = 0;

    *weight = NULL;
    for (;; axis++) {
        RGM_GO(rgm_strprintf(&beside, "%s%s", name, step_names[axis]));
        if (axis == 1 || has_tensor(file, beside))
            break;
        rgm_free(beside);
        beside = NULL;
    }
    RGM_GO(rgm_safetensors_get(&steps, file, beside));
    RGM_GO(rgm_int8_to(weight, numbers, steps, axis));
done:
    rgm_tensor_release(numbers);
    rgm_tensor_release(steps);
    rgm_free(beside);
    return status;
}

/* The weights of a parameter, with the parameter's shape; *int8 becomes true if they were in 8
 * bits. */
static rgm_status find_weight(rgm_tensor **out, int64_t *int8, const rgm_value *parameter,
                              const rgm_safetensors *file, const char *path)
{
    const char *name = rgm_value_name(parameter);
    char here[128], there[96];
    bool in_8_bits, fits;

    RGM_TRY(rgm_safetensors_get(out, file, name));
    in_8_bits = rgm_tensor_dtype(*out) == RGM_I8 && rgm_value_dtype(parameter) == RGM_F32;
    fits = (rgm_tensor_dtype(*out) == rgm_value_dtype(parameter) || in_8_bits) &&
           rgm_tensor_rank(*out) == rgm_value_rank(parameter);
    for (int i = 0; fits && i < rgm_value_rank(parameter); i++)
        fits = rgm_tensor_dim(*out, i) == rgm_value_dim(parameter, i);
    if (!fits)
        return RGM_FAIL(RGM_ERR_SHAPE, "%s: '%s' is %s, the model has %s", path, name,
                        rgm_tensor_describe(*out, there, sizeof there),
                        rgm_value_describe(parameter, here, sizeof here));
    *int8 += in_8_bits;
    return in_8_bits ? from_8_bits(out, file, name) : RGM_OK;
}

rgm_status rgmi_serving_weights_load(rgm_parameters **out, bool *int8, const rgm_cgraph *graph,
                                     const char *path)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_cgraph_parameter_count(graph), matrices = 0;
    rgm_safetensors *file = NULL;
    rgm_tensor **found = NULL;

    *out = NULL;
    RGM_GO(rgm_safetensors_open(&file, path));
    RGM_GO(RGM_NEW(found, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(find_weight(&found[i], &matrices, rgm_cgraph_parameter(graph, i), file, path));
    if (rgm_safetensors_count(file) != count + matrices)
        RGM_GO(RGM_FAIL(RGM_ERR_SHAPE, "%s has %lld tensors, the model %lld parameters", path,
                        (long long)rgm_safetensors_count(file), (long long)(count + matrices)));
    RGM_GO(rgm_parameters_of(out, graph, found));
    *int8 = matrices > 0;
done:
    for (int64_t i = 0; found != NULL && i < count; i++)
        rgm_tensor_release(found[i]);
    rgm_free(found);
    rgm_safetensors_close(file);
    return status;
}
