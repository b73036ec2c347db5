/*
 * The content of a checkpoint in memory: named values, blobs and sets of tensors, filled one by one
 * to be saved, or standing on the files they were loaded from. Kept sorted by name, so that the
 * bytes on disk do not depend on the order in which somebody set them.
 */
#include "store_internal.h"

#include <string.h>

const char *const rgmi_set_files[RGMI_SETS] = {
    [RGMI_BEST] = "best.safetensors",
    [RGMI_SLOTS] = "slots.safetensors",
    [RGMI_WEIGHTS] = "weights.safetensors",
};

rgm_status rgm_checkpoint_create(rgm_checkpoint **out, int64_t step)
{
    *out = NULL;
    if (step < 0)
        return RGM_FAIL(RGM_ERR_ARG, "step is %lld", (long long)step);
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->step = step;
    return RGM_OK;
}

void rgm_checkpoint_release(rgm_checkpoint *checkpoint)
{
    if (checkpoint == NULL)
        return;
    for (int64_t i = 0; i < checkpoint->value_count; i++) {
        rgm_free(checkpoint->values[i].name);
        rgm_free(checkpoint->values[i].text);
    }
    for (int64_t i = 0; i < checkpoint->blob_count; i++) {
        rgm_free(checkpoint->blobs[i].name);
        rgm_free(checkpoint->blobs[i].data);
    }
    for (int s = 0; s < RGMI_SETS; s++) {
        int64_t count = checkpoint->sets[s] != NULL ? rgm_map_count(checkpoint->sets[s]) : 0;

        for (int64_t i = 0; i < count; i++)
            rgm_tensor_release(rgm_map_value(checkpoint->sets[s], i));
        rgm_map_release(checkpoint->sets[s]);
        rgm_safetensors_close(checkpoint->set_files[s]);
        rgm_free(checkpoint->set_data[s]);
    }
    rgm_free(checkpoint->values);
    rgm_free(checkpoint->blobs);
    rgm_free(checkpoint->path);
    rgm_free(checkpoint);
}

int64_t rgm_checkpoint_step(const rgm_checkpoint *checkpoint)
{
    return checkpoint->step;
}

/* ---- tensors ------------------------------------------------------------------------------- */

static rgm_status add_tensor(rgm_checkpoint *checkpoint, int set, const char *name,
                             rgm_tensor *tensor)
{
    if (checkpoint->sets[set] == NULL)
        RGM_TRY(rgm_map_create(&checkpoint->sets[set]));
    if (rgm_map_has(checkpoint->sets[set], name))
        return RGM_FAIL(RGM_ERR_ARG, "a tensor '%s' is in %s already", name, rgmi_set_files[set]);
    RGM_TRY(rgm_map_set(checkpoint->sets[set], name, tensor));
    rgm_tensor_retain(tensor);
    return RGM_OK;
}

rgm_status rgm_checkpoint_add_weight(rgm_checkpoint *checkpoint, const char *name,
                                     rgm_tensor *tensor)
{
    return add_tensor(checkpoint, RGMI_WEIGHTS, name, tensor);
}

rgm_status rgm_checkpoint_add_slot(rgm_checkpoint *checkpoint, const char *name, rgm_tensor *tensor)
{
    return add_tensor(checkpoint, RGMI_SLOTS, name, tensor);
}

rgm_status rgm_checkpoint_add_best(rgm_checkpoint *checkpoint, const char *name, rgm_tensor *tensor)
{
    return add_tensor(checkpoint, RGMI_BEST, name, tensor);
}

static rgm_status add_parameters(rgm_checkpoint *checkpoint, int set,
                                 const rgm_parameters *parameters)
{
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++)
        RGM_TRY(add_tensor(checkpoint, set, rgm_parameters_name(parameters, i),
                           rgm_parameters_tensor(parameters, i)));
    return RGM_OK;
}

rgm_status rgm_checkpoint_add_parameters(rgm_checkpoint *checkpoint,
                                         const rgm_parameters *parameters)
{
    return add_parameters(checkpoint, RGMI_WEIGHTS, parameters);
}

rgm_status rgm_checkpoint_add_best_parameters(rgm_checkpoint *checkpoint,
                                              const rgm_parameters *best)
{
    return add_parameters(checkpoint, RGMI_BEST, best);
}

const rgm_safetensors *rgm_checkpoint_weights(const rgm_checkpoint *checkpoint)
{
    return checkpoint->set_files[RGMI_WEIGHTS];
}

const rgm_safetensors *rgm_checkpoint_slots(const rgm_checkpoint *checkpoint)
{
    return checkpoint->set_files[RGMI_SLOTS];
}

const rgm_safetensors *rgm_checkpoint_best_weights(const rgm_checkpoint *checkpoint)
{
    return checkpoint->set_files[RGMI_BEST];
}

/* The one check of weights that come from a checkpoint. */
static rgm_status check_weight(const rgm_tensor *loaded, const rgm_tensor *w, const char *what,
                               const char *name)
{
    char is[96], should[96];

    if (rgm_tensor_is_like(loaded, w))
        return RGM_OK;
    return RGM_FAIL(rgm_tensor_dtype(loaded) != rgm_tensor_dtype(w) ? RGM_ERR_DTYPE : RGM_ERR_SHAPE,
                    "%s '%s' is %s in the checkpoint, %s in the model", what, name,
                    rgm_tensor_describe(loaded, is, sizeof is),
                    rgm_tensor_describe(w, should, sizeof should));
}

static rgm_status check_no_more(const rgm_safetensors *file, const rgm_parameters *parameters,
                                const char *what)
{
    for (int64_t i = 0; i < rgm_safetensors_count(file); i++) {
        if (rgm_parameters_find(parameters, rgm_safetensors_name(file, i)) == NULL)
            return RGM_FAIL(RGM_ERR_DATA, "the checkpoint has a %s '%s', which the model has not",
                            what, rgm_safetensors_name(file, i));
    }
    return RGM_OK;
}

/* All of a set into parameters of the same names, shapes and dtypes; checked before one changes. */
static rgm_status restore_set(const rgm_safetensors *file, rgm_parameters *parameters,
                              const char *what)
{
    int64_t count = rgm_parameters_count(parameters);
    rgm_tensor **loaded = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(loaded, count));
    for (int64_t i = 0; i < count; i++) {
        const char *name = rgm_parameters_name(parameters, i);

        RGM_GO(rgm_safetensors_get(&loaded[i], file, name));
        RGM_GO(check_weight(loaded[i], rgm_parameters_tensor(parameters, i), what, name));
    }
    RGM_GO(check_no_more(file, parameters, what));
    rgm_parameters_set(parameters, loaded);
done:
    for (int64_t i = 0; loaded != NULL && i < count; i++)
        rgm_tensor_release(loaded[i]);
    rgm_free(loaded);
    return status;
}

rgm_status rgm_checkpoint_restore_parameters(const rgm_checkpoint *checkpoint,
                                             rgm_parameters *parameters)
{
    if (checkpoint->set_files[RGMI_WEIGHTS] == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "the checkpoint was not loaded from a folder");
    RGM_TRY(restore_set(checkpoint->set_files[RGMI_WEIGHTS], parameters, "weight"));
    return RGM_OK;
}

rgm_status rgm_checkpoint_restore_best(const rgm_checkpoint *checkpoint, rgm_parameters *parameters)
{
    if (checkpoint->set_files[RGMI_BEST] == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "the checkpoint has no best weights");
    RGM_TRY(restore_set(checkpoint->set_files[RGMI_BEST], parameters, "best weight"));
    return RGM_OK;
}

/* ---- values -------------------------------------------------------------------------------- */

static int compare(const rgmi_value *value, rgmi_value_kind kind, const char *name)
{
    return value->kind != kind ? (value->kind > kind) - (value->kind < kind)
                               : strcmp(value->name, name);
}

/* The place of a value, present or not. */
static int64_t place_of(const rgm_checkpoint *checkpoint, rgmi_value_kind kind, const char *name)
{
    int64_t i = 0;

    while (i < checkpoint->value_count && compare(&checkpoint->values[i], kind, name) < 0)
        i++;
    return i;
}

static const rgmi_value *find_value(const rgm_checkpoint *checkpoint, rgmi_value_kind kind,
                                    const char *name)
{
    int64_t i = place_of(checkpoint, kind, name);

    return i < checkpoint->value_count && compare(&checkpoint->values[i], kind, name) == 0
               ? &checkpoint->values[i]
               : NULL;
}

/* Set a value; `value->text` is copied. */
static rgm_status set_value(rgm_checkpoint *checkpoint, const rgmi_value *value)
{
    int64_t i = place_of(checkpoint, value->kind, value->name);
    rgmi_value made = *value, *at;
    rgm_status status = RGM_OK;

    made.name = NULL;
    made.text = NULL;
    if (rgm_utf8_check(value->name, (int64_t)strlen(value->name)) >= 0 ||
        (value->text != NULL && rgm_utf8_check(value->text, (int64_t)strlen(value->text)) >= 0))
        return RGM_FAIL(RGM_ERR_ARG, "the checkpoint's value '%s' is not UTF-8", value->name);
    RGM_GO(rgm_strdup(&made.name, value->name));
    if (value->text != NULL)
        RGM_GO(rgm_strdup(&made.text, value->text));
    if (find_value(checkpoint, value->kind, value->name) == NULL) {
        RGM_GO(RGM_RESERVE(checkpoint->values, checkpoint->value_capacity,
                           checkpoint->value_count + 1));
        at = &checkpoint->values[i];
        memmove(at + 1, at, (size_t)(checkpoint->value_count - i) * sizeof *at);
        checkpoint->value_count++;
        *at = (rgmi_value){0};
    }
    at = &checkpoint->values[i];
    rgm_free(at->name);
    rgm_free(at->text);
    *at = made;
    made = (rgmi_value){0};
done:
    rgm_free(made.name);
    rgm_free(made.text);
    return status;
}

rgm_status rgm_checkpoint_set_int(rgm_checkpoint *checkpoint, const char *name, int64_t value)
{
    return set_value(checkpoint,
                     &(rgmi_value){.name = (char *)name, .kind = RGMI_VALUE_INT, .whole = value});
}

rgm_status rgm_checkpoint_set_number(rgm_checkpoint *checkpoint, const char *name, double value)
{
    return set_value(
        checkpoint,
        &(rgmi_value){.name = (char *)name, .kind = RGMI_VALUE_NUMBER, .number = value});
}

rgm_status rgm_checkpoint_set_text(rgm_checkpoint *checkpoint, const char *name, const char *text)
{
    return set_value(checkpoint, &(rgmi_value){.name = (char *)name,
                                               .kind = RGMI_VALUE_TEXT,
                                               .text = (char *)(text ? text : "")});
}

static rgm_status missing(const rgm_checkpoint *checkpoint, const char *what, const char *name)
{
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s%scheckpoint of step %lld has no %s '%s'",
                    checkpoint->path ? checkpoint->path : "", checkpoint->path ? ": " : "",
                    (long long)checkpoint->step, what, name);
}

rgm_status rgm_checkpoint_int(int64_t *out, const rgm_checkpoint *checkpoint, const char *name)
{
    const rgmi_value *value = find_value(checkpoint, RGMI_VALUE_INT, name);

    *out = value != NULL ? value->whole : 0;
    return value != NULL ? RGM_OK : missing(checkpoint, "integer", name);
}

rgm_status rgm_checkpoint_number(double *out, const rgm_checkpoint *checkpoint, const char *name)
{
    const rgmi_value *value = find_value(checkpoint, RGMI_VALUE_NUMBER, name);

    *out = value != NULL ? value->number : 0;
    return value != NULL ? RGM_OK : missing(checkpoint, "number", name);
}

rgm_status rgm_checkpoint_text(const char **out, const rgm_checkpoint *checkpoint, const char *name)
{
    const rgmi_value *value = find_value(checkpoint, RGMI_VALUE_TEXT, name);

    *out = value != NULL ? value->text : NULL;
    return value != NULL ? RGM_OK : missing(checkpoint, "text", name);
}

/* ---- blobs --------------------------------------------------------------------------------- */

bool rgmi_is_plain_name(const char *name, size_t size)
{
    if (size < 1 || size > 64)
        return false;
    for (size_t i = 0; i < size; i++) {
        char c = name[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            return false;
    }
    return true;
}

rgm_status rgm_checkpoint_set_blob(rgm_checkpoint *checkpoint, const char *name, const void *data,
                                   int64_t size)
{
    rgmi_blob made = {.size = size}, *at;
    rgm_status status = RGM_OK;
    int64_t i = 0;

    if (!rgmi_is_plain_name(name, strlen(name)))
        return RGM_FAIL(RGM_ERR_ARG,
                        "blob name '%s' is not made of 1 to 64 letters, digits, '_' and '-'", name);
    while (i < checkpoint->blob_count && strcmp(checkpoint->blobs[i].name, name) < 0)
        i++;
    RGM_GO(rgm_strdup(&made.name, name));
    RGM_GO(RGM_NEW(made.data, size + 1));
    if (size > 0)
        memcpy(made.data, data, (size_t)size);
    if (i == checkpoint->blob_count || strcmp(checkpoint->blobs[i].name, name) != 0) {
        RGM_GO(
            RGM_RESERVE(checkpoint->blobs, checkpoint->blob_capacity, checkpoint->blob_count + 1));
        at = &checkpoint->blobs[i];
        memmove(at + 1, at, (size_t)(checkpoint->blob_count - i) * sizeof *at);
        checkpoint->blob_count++;
        *at = (rgmi_blob){0};
    }
    at = &checkpoint->blobs[i];
    rgm_free(at->name);
    rgm_free(at->data);
    *at = made;
    made = (rgmi_blob){0};
done:
    rgm_free(made.name);
    rgm_free(made.data);
    return status;
}

rgm_status rgm_checkpoint_blob(const void **data, int64_t *size, const rgm_checkpoint *checkpoint,
                               const char *name)
{
    *data = NULL;
    *size = 0;
    for (int64_t i = 0; i < checkpoint->blob_count; i++) {
        if (strcmp(checkpoint->blobs[i].name, name) == 0) {
            *data = checkpoint->blobs[i].data;
            *size = checkpoint->blobs[i].size;
            return RGM_OK;
        }
    }
    return missing(checkpoint, "blob", name);
}
