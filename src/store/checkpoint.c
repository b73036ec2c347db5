/*
 * The content of a checkpoint in memory: named values, blobs and sets of tensors. They are either
 * added one by one to be saved, or backed by the files they were loaded from. Names are looked up
 * by hash, since a manifest may have as many values as it has bytes for. They are written sorted by
 * name, so that the bytes on disk do not depend on the order in which they were set.
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

static void value_release(void *item)
{
    rgmi_value *value = item;

    if (value != NULL)
        rgm_free(value->text);
    rgm_free(value);
}

static void blob_release(void *item)
{
    rgmi_blob *blob = item;

    if (blob != NULL)
        rgm_free(blob->data);
    rgm_free(blob);
}

static void tensor_release(void *item)
{
    rgm_tensor_release(item);
}

static void release_all(rgm_map *map, void (*release)(void *item))
{
    for (int64_t i = 0; map != NULL && i < rgm_map_count(map); i++)
        release(rgm_map_value(map, i));
    rgm_map_release(map);
}

void rgm_checkpoint_release(rgm_checkpoint *checkpoint)
{
    if (checkpoint == NULL)
        return;
    for (int kind = 0; kind < RGMI_VALUE_KINDS; kind++)
        release_all(checkpoint->values[kind], value_release);
    release_all(checkpoint->blobs, blob_release);
    for (int s = 0; s < RGMI_SETS; s++) {
        release_all(checkpoint->sets[s], tensor_release);
        rgm_safetensors_close(checkpoint->set_files[s]);
        rgm_free(checkpoint->set_data[s]);
    }
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
    RGM_TRY(rgm_parameters_to_host(parameters));
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++)
        RGM_TRY(add_tensor(checkpoint, set, rgm_parameters_name(parameters, i),
                           (rgm_tensor *)rgm_parameters_read(parameters, i))); /* retained */
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

#define COPY_BLOCK ((size_t)1 << 20) /* bytes of one task of a copy            */
#define COPY_NS    1e5               /* that one takes, with pages that are new */

typedef struct copy_job {
    const char *from;
    char *to;
    size_t size;
} copy_job;

static void copy_blocks(void *payload, int64_t begin, int64_t end)
{
    const copy_job *job = payload;
    size_t from = (size_t)begin * COPY_BLOCK, to = (size_t)end * COPY_BLOCK;

    if (to > job->size)
        to = job->size;
    memcpy(job->to + from, job->from + from, to - from);
}

/* By all threads, into memory that nothing else has touched: training waits for it. */
static rgm_status copy_tensor(rgm_tensor **out, const rgm_tensor *tensor)
{
    size_t size = rgm_tensor_bytes(tensor);
    void *memory = rgm_malloc(size);
    rgm_status status;

    if (memory == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a copy of %zu bytes", size);
    rgm_parallel((int64_t)((size + COPY_BLOCK - 1) / COPY_BLOCK), COPY_NS, copy_blocks,
                 &(copy_job){rgm_tensor_data(tensor), memory, size});
    status = rgm_tensor_wrap(out, rgm_tensor_dtype(tensor), rgm_tensor_rank(tensor),
                             rgm_tensor_shape(tensor), memory, rgm_free, memory);
    if (status != RGM_OK)
        rgm_free(memory);
    return status;
}

rgm_status rgm_checkpoint_detach(rgm_checkpoint *checkpoint)
{
    for (int s = 0; s < RGMI_SETS; s++) {
        rgm_map *set = checkpoint->sets[s];
        for (int64_t i = 0; set != NULL && i < rgm_map_count(set); i++) {
            rgm_tensor *own, *tensor = rgm_map_value(set, i);

            RGM_TRY(copy_tensor(&own, tensor));
            if (rgm_map_set(set, rgm_map_key(set, i), own) != RGM_OK) {
                rgm_tensor_release(own);
                return RGM_ERR_NOMEM;
            }
            rgm_tensor_release(tensor);
        }
    }
    return RGM_OK;
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
        if (rgm_parameters_number(parameters, rgm_safetensors_name(file, i)) < 0)
            return RGM_FAIL(RGM_ERR_DATA, "the checkpoint has a %s '%s', which the model has not",
                            what, rgm_safetensors_name(file, i));
    }
    return RGM_OK;
}

/* Copy a whole set into parameters of the same names, shapes and dtypes; all are checked before one
 * changes. */
static rgm_status restore_set(const rgm_safetensors *file, rgm_parameters *parameters,
                              const char *what)
{
    int64_t count = rgm_parameters_count(parameters);
    rgm_tensor **loaded = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(loaded, count));
    for (int64_t i = 0; i < count; i++) {
        const char *name = rgm_parameters_name(parameters, i);

        RGM_GO(rgm_safetensors_look(&loaded[i], file, name));
        RGM_GO(check_weight(loaded[i], rgm_parameters_form(parameters, i), what, name));
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

static void *find_in(const rgm_map *map, const char *name)
{
    return map != NULL ? rgm_map_get(map, name) : NULL;
}

/* Put `item` under its name, replacing what was there. */
static rgm_status put_in(rgm_map **map, const char *name, void *item, void (*release)(void *item))
{
    void *before = find_in(*map, name);

    if (*map == NULL)
        RGM_TRY(rgm_map_create(map));
    RGM_TRY(rgm_map_set(*map, name, item));
    release(before);
    return RGM_OK;
}

/* Set a value; `value->text` is copied. */
static rgm_status set_value(rgm_checkpoint *checkpoint, rgmi_value_kind kind, const char *name,
                            const rgmi_value *value)
{
    rgmi_value *made = NULL;
    rgm_status status = RGM_OK;

    if (rgm_utf8_check(name, (int64_t)strlen(name)) >= 0 ||
        (value->text != NULL && rgm_utf8_check(value->text, (int64_t)strlen(value->text)) >= 0))
        return RGM_FAIL(RGM_ERR_ARG, "the checkpoint's value '%s' is not UTF-8", name);
    RGM_GO(RGM_NEW(made, 1));
    made->whole = value->whole;
    made->number = value->number;
    if (value->text != NULL)
        RGM_GO(rgm_strdup(&made->text, value->text));
    RGM_GO(put_in(&checkpoint->values[kind], name, made, value_release));
    made = NULL;
done:
    value_release(made);
    return status;
}

rgm_status rgm_checkpoint_set_int(rgm_checkpoint *checkpoint, const char *name, int64_t value)
{
    return set_value(checkpoint, RGMI_VALUE_INT, name, &(rgmi_value){.whole = value});
}

rgm_status rgm_checkpoint_set_number(rgm_checkpoint *checkpoint, const char *name, double value)
{
    return set_value(checkpoint, RGMI_VALUE_NUMBER, name, &(rgmi_value){.number = value});
}

rgm_status rgm_checkpoint_set_text(rgm_checkpoint *checkpoint, const char *name, const char *text)
{
    return set_value(checkpoint, RGMI_VALUE_TEXT, name,
                     &(rgmi_value){.text = (char *)(text ? text : "")});
}

static rgm_status missing(const rgm_checkpoint *checkpoint, const char *what, const char *name)
{
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s%scheckpoint of step %lld has no %s '%s'",
                    checkpoint->path ? checkpoint->path : "", checkpoint->path ? ": " : "",
                    (long long)checkpoint->step, what, name);
}

rgm_status rgm_checkpoint_int(int64_t *out, const rgm_checkpoint *checkpoint, const char *name)
{
    const rgmi_value *value = find_in(checkpoint->values[RGMI_VALUE_INT], name);

    *out = value != NULL ? value->whole : 0;
    return value != NULL ? RGM_OK : missing(checkpoint, "integer", name);
}

rgm_status rgm_checkpoint_number(double *out, const rgm_checkpoint *checkpoint, const char *name)
{
    const rgmi_value *value = find_in(checkpoint->values[RGMI_VALUE_NUMBER], name);

    *out = value != NULL ? value->number : 0;
    return value != NULL ? RGM_OK : missing(checkpoint, "number", name);
}

rgm_status rgm_checkpoint_text(const char **out, const rgm_checkpoint *checkpoint, const char *name)
{
    const rgmi_value *value = find_in(checkpoint->values[RGMI_VALUE_TEXT], name);

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
    rgmi_blob *made = NULL;
    rgm_status status = RGM_OK;

    if (!rgmi_is_plain_name(name, strlen(name)))
        return RGM_FAIL(RGM_ERR_ARG,
                        "blob name '%s' is not made of 1 to 64 letters, digits, '_' and '-'", name);
    RGM_GO(RGM_NEW(made, 1));
    RGM_GO(RGM_NEW(made->data, size + 1));
    made->size = size;
    if (size > 0)
        memcpy(made->data, data, (size_t)size);
    RGM_GO(put_in(&checkpoint->blobs, name, made, blob_release));
    made = NULL;
done:
    blob_release(made);
    return status;
}

rgm_status rgm_checkpoint_blob(const void **data, int64_t *size, const rgm_checkpoint *checkpoint,
                               const char *name)
{
    const rgmi_blob *blob = find_in(checkpoint->blobs, name);

    *data = blob != NULL ? blob->data : NULL;
    *size = blob != NULL ? blob->size : 0;
    return blob != NULL ? RGM_OK : missing(checkpoint, "blob", name);
}
