/*
 * Elements as bytes: a kind, an origin, and what the kind holds. Numbers are those of saved
 * positions; the values of tensors lie there as in memory.
 */
#include "data_internal.h"

/* ---- tensors --------------------------------------------------------------------------------- */

static rgm_status put_strings(rgm_text *out, const rgm_tensor *tensor)
{
    for (int64_t i = 0; i < rgm_tensor_count(tensor); i++)
        RGM_TRY(rgm_state_put_bytes(out, rgm_tensor_str(tensor)[i].data,
                                    rgm_tensor_str(tensor)[i].size));
    return RGM_OK;
}

rgm_status rgm_state_put_tensor(rgm_text *out, const rgm_tensor *tensor)
{
    if (rgm_tensor_device(tensor) != NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "a tensor of a device is not encoded");
    RGM_TRY(rgm_state_put_int(out, rgm_tensor_dtype(tensor)));
    RGM_TRY(rgm_state_put_int(out, rgm_tensor_rank(tensor)));
    for (int axis = 0; axis < rgm_tensor_rank(tensor); axis++)
        RGM_TRY(rgm_state_put_int(out, rgm_tensor_dim(tensor, axis)));
    if (rgm_tensor_dtype(tensor) == RGM_STRING)
        return put_strings(out, tensor);
    return rgm_text_add(out, rgm_tensor_data(tensor), (int64_t)rgm_tensor_bytes(tensor));
}

static rgm_status damaged(const rgm_state_reader *reader)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "an encoded element is damaged at byte %lld of %lld",
                    (long long)reader->at, (long long)reader->size);
}

/** A number in 0..most. */
static rgm_status get_number(int64_t *out, rgm_state_reader *reader, int64_t most)
{
    return rgm_state_get_int(out, reader) == RGM_OK && *out >= 0 && *out <= most ? RGM_OK
                                                                                 : damaged(reader);
}

static rgm_status get_part(rgm_state_reader *part, rgm_state_reader *reader)
{
    *part = (rgm_state_reader){0};
    return rgm_state_get_bytes(&part->data, &part->size, reader) == RGM_OK ? RGM_OK
                                                                           : damaged(reader);
}

static int64_t left(const rgm_state_reader *reader)
{
    return reader->size - reader->at;
}

/** Each text takes a byte at least, so the count is bounded by what is left. */
static rgm_status get_strings(rgm_tensor **out, int rank, const int64_t *shape, int64_t count,
                              rgm_state_reader *reader)
{
    rgm_str *texts;
    rgm_status status = RGM_OK;

    RGM_TRY(RGM_NEW(texts, count));
    for (int64_t i = 0; i < count; i++) {
        rgm_state_reader part;

        RGM_GO(get_part(&part, reader));
        texts[i] = (rgm_str){(const char *)part.data, part.size};
    }
    RGM_GO(rgm_tensor_create_from(out, RGM_STRING, rank, shape, texts));
done:
    rgm_free(texts);
    return status;
}

/** The elements of a shape; false: more than can be left. */
static bool count_of(int64_t *count, int rank, const int64_t *shape, int64_t most)
{
    bool empty = false, fits = true;

    *count = 1;
    for (int axis = 0; axis < rank; axis++)
        empty |= shape[axis] == 0;
    if (empty)
        *count = 0;
    for (int axis = 0; axis < rank && !empty && fits; axis++) {
        fits = *count <= most / shape[axis];
        *count *= fits ? shape[axis] : 1;
    }
    return fits && *count <= most;
}

static rgm_status get_values(rgm_tensor **out, rgm_dtype dtype, int rank, const int64_t *shape,
                             int64_t count, rgm_state_reader *reader)
{
    const uint8_t *values = reader->data + reader->at;

    for (int64_t i = 0; dtype == RGM_BOOL && i < count; i++)
        if (values[i] > 1)
            return damaged(reader);
    RGM_TRY(rgm_tensor_create(out, dtype, rank, shape));
    if (count > 0)
        memcpy(rgm_tensor_data(*out), values, (size_t)count * rgm_dtype_size(dtype));
    reader->at += count * (int64_t)rgm_dtype_size(dtype);
    return RGM_OK;
}

rgm_status rgm_state_get_tensor(rgm_tensor **out, rgm_state_reader *reader)
{
    int64_t dtype, rank, shape[RGM_MAX_RANK], count, size;

    *out = NULL;
    RGM_TRY(get_number(&dtype, reader, RGM_DTYPE_COUNT - 1));
    RGM_TRY(get_number(&rank, reader, RGM_MAX_RANK));
    for (int64_t axis = 0; axis < rank; axis++)
        RGM_TRY(get_number(&shape[axis], reader, RGM_STATE_MOST));
    size = dtype == RGM_STRING ? 1 : (int64_t)rgm_dtype_size((rgm_dtype)dtype);
    if (!count_of(&count, (int)rank, shape, left(reader) / size))
        return damaged(reader);
    return dtype == RGM_STRING ? get_strings(out, (int)rank, shape, count, reader)
                               : get_values(out, (rgm_dtype)dtype, (int)rank, shape, count, reader);
}

/* ---- encoding -------------------------------------------------------------------------------- */

static rgm_status put_element(rgm_text *out, const rgm_element *element, int level);

static rgm_status put_items(rgm_text *out, const rgm_element *list, int level)
{
    int64_t count = rgm_element_count(list);
    const rgm_element *like = count == 0 ? rgm_element_item_like(list) : NULL;

    RGM_TRY(rgm_state_put_int(out, count));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(put_element(out, rgm_element_item(list, i), level + 1));
    if (count > 0)
        return RGM_OK;
    RGM_TRY(rgm_state_put_int(out, like != NULL));
    return like != NULL ? put_element(out, like, level + 1) : RGM_OK;
}

static rgm_status put_tensors(rgm_text *out, const rgm_element *element)
{
    RGM_TRY(rgm_state_put_int(out, rgm_element_count(element)));
    for (int64_t i = 0; i < rgm_element_count(element); i++)
        RGM_TRY(rgm_state_put_tensor(out, rgm_element_tensor(element, i)));
    return RGM_OK;
}

static rgm_status put_object(rgm_text *out, const rgm_element *element)
{
    const rgm_element_type *type = rgmi_element_type(element);
    rgm_status status = RGM_OK;
    rgm_text object = {0};

    if (type->encode == NULL || type->decode == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "an element of type '%s' cannot be sent to another process: the type has "
                        "no encode and decode (rgm_element_type)",
                        type->name);
    RGM_TRY(rgm_state_put_bytes(out, type->name, (int64_t)strlen(type->name)));
    RGM_GO(type->encode(&object, rgm_element_pointer(element, type)));
    RGM_GO(rgm_state_put_bytes(out, object.data, object.size));
done:
    rgm_text_clear(&object);
    return status;
}

static rgm_status put_element(rgm_text *out, const rgm_element *element, int level)
{
    const char *origin = rgm_element_origin(element);
    int64_t size;
    const void *bytes = rgm_element_bytes(element, &size);

    if (level == RGM_MOST_ELEMENT_LEVELS)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "lists deeper than %d are not encoded",
                        RGM_MOST_ELEMENT_LEVELS);
    RGM_TRY(rgm_state_put_int(out, rgm_element_get_kind(element)));
    RGM_TRY(rgm_state_put_bytes(out, origin, origin != NULL ? (int64_t)strlen(origin) : 0));
    switch (rgm_element_get_kind(element)) {
    case RGM_ELEMENT_BYTES:
        return rgm_state_put_bytes(out, bytes, size);
    case RGM_ELEMENT_TENSORS:
        return put_tensors(out, element);
    case RGM_ELEMENT_LIST:
        return put_items(out, element, level);
    default:
        return put_object(out, element);
    }
}

rgm_status rgm_element_encode(rgm_text *out, const rgm_element *element)
{
    int64_t before = out->size;
    rgm_status status = put_element(out, element, 0);

    if (status != RGM_OK)
        out->size = before;
    return status;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static rgm_status get_element(rgm_element **out, rgm_state_reader *reader,
                              const rgm_element_type *const *types, int level);

static rgm_status get_tensors(rgm_element **out, rgm_state_reader *reader)
{
    rgm_status status = RGM_OK;
    rgm_tensor **tensors = NULL;
    int64_t count;

    RGM_TRY(get_number(&count, reader, left(reader)));
    RGM_TRY(RGM_NEW(tensors, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgm_state_get_tensor(&tensors[i], reader));
    RGM_GO(rgm_element_create_tensors(out, tensors, count));
done:
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_release(tensors[i]);
    rgm_free(tensors);
    return status;
}

static rgm_status get_empty_list(rgm_element **out, rgm_state_reader *reader,
                                 const rgm_element_type *const *types, int level)
{
    rgm_element *like = NULL;
    int64_t has_like;
    rgm_status status;

    RGM_TRY(get_number(&has_like, reader, 1));
    if (has_like)
        RGM_TRY(get_element(&like, reader, types, level + 1));
    status = rgm_element_create_empty_list(out, like);
    rgm_element_release(like);
    return status;
}

static rgm_status get_items(rgm_element **out, rgm_state_reader *reader,
                            const rgm_element_type *const *types, int level)
{
    rgm_status status = RGM_OK;
    rgm_element **items = NULL;
    int64_t count;

    RGM_TRY(get_number(&count, reader, left(reader)));
    if (count == 0)
        return get_empty_list(out, reader, types, level);
    RGM_TRY(RGM_NEW(items, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(get_element(&items[i], reader, types, level + 1));
    RGM_GO(rgm_element_create_list(out, items, count));
done:
    for (int64_t i = 0; i < count; i++)
        rgm_element_release(items[i]);
    rgm_free(items);
    return status;
}

static const rgm_element_type *find_type(const rgm_element_type *const *types,
                                         const rgm_state_reader *name)
{
    for (; types != NULL && *types != NULL; types++)
        if ((int64_t)strlen((*types)->name) == name->size &&
            memcmp((*types)->name, name->data, (size_t)name->size) == 0)
            return *types;
    return NULL;
}

static rgm_status get_object(rgm_element **out, rgm_state_reader *reader,
                             const rgm_element_type *const *types)
{
    rgm_state_reader name, part;
    const rgm_element_type *type;
    void *object = NULL;
    rgm_status status;

    RGM_TRY(get_part(&name, reader));
    RGM_TRY(get_part(&part, reader));
    type = find_type(types, &name);
    if (type == NULL || type->decode == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "an encoded element is of type '%.*s', unknown here",
                        (int)(name.size < 80 ? name.size : 80), (const char *)name.data);
    RGM_TRY(type->decode(&object, part.data, part.size));
    status = rgm_element_create_pointer(out, type, object);
    if (status != RGM_OK && type->release != NULL)
        type->release(object);
    return status;
}

static rgm_status get_content(rgm_element **out, int64_t kind, rgm_state_reader *reader,
                              const rgm_element_type *const *types, int level)
{
    rgm_state_reader part;

    switch (kind) {
    case RGM_ELEMENT_BYTES:
        RGM_TRY(get_part(&part, reader));
        return rgm_element_create_bytes(out, part.data, part.size);
    case RGM_ELEMENT_TENSORS:
        return get_tensors(out, reader);
    case RGM_ELEMENT_LIST:
        return get_items(out, reader, types, level);
    default:
        return get_object(out, reader, types);
    }
}

static rgm_status set_origin(rgm_element *element, const rgm_state_reader *origin)
{
    rgmi_item_name *name = NULL;
    char *text;
    rgm_status status;

    if (origin->size == 0)
        return RGM_OK;
    RGM_TRY(rgm_strndup(&text, (const char *)origin->data, (size_t)origin->size));
    status = rgmi_name_create(&name, text);
    rgm_free(text);
    RGM_TRY(status);
    rgmi_element_set_origin(element, name, -1, 0);
    rgmi_name_release(name);
    return RGM_OK;
}

static rgm_status get_element(rgm_element **out, rgm_state_reader *reader,
                              const rgm_element_type *const *types, int level)
{
    rgm_state_reader origin;
    rgm_status status;
    int64_t kind;

    *out = NULL;
    if (level == RGM_MOST_ELEMENT_LEVELS)
        return damaged(reader);
    RGM_TRY(get_number(&kind, reader, RGM_ELEMENT_POINTER));
    RGM_TRY(get_part(&origin, reader));
    RGM_TRY(get_content(out, kind, reader, types, level));
    status = set_origin(*out, &origin);
    if (status != RGM_OK) {
        rgm_element_release(*out);
        *out = NULL;
    }
    return status;
}

rgm_status rgm_element_decode(rgm_element **out, const void *data, int64_t size,
                              const rgm_element_type *const *types)
{
    rgm_state_reader reader = {data, size, 0};

    RGM_TRY(get_element(out, &reader, types, 0));
    if (reader.at == reader.size)
        return RGM_OK;
    rgm_element_release(*out);
    *out = NULL;
    return damaged(&reader);
}

/* ---- forms ----------------------------------------------------------------------------------- */

static rgm_status check_tensors_like(const rgm_element *element, const rgm_element *like)
{
    if (rgm_element_count(element) != rgm_element_count(like))
        return RGM_FAIL(RGM_ERR_DATA, "an element has %lld tensors, others have %lld",
                        (long long)rgm_element_count(element), (long long)rgm_element_count(like));
    for (int64_t i = 0; i < rgm_element_count(like); i++) {
        const rgm_tensor *a = rgm_element_tensor(element, i), *b = rgm_element_tensor(like, i);

        if (rgm_tensor_dtype(a) != rgm_tensor_dtype(b) || rgm_tensor_rank(a) != rgm_tensor_rank(b))
            return RGM_FAIL(RGM_ERR_DATA,
                            "tensor %lld of an element is %s with %d axes, that of others %s with "
                            "%d",
                            (long long)i, rgm_dtype_name(rgm_tensor_dtype(a)), rgm_tensor_rank(a),
                            rgm_dtype_name(rgm_tensor_dtype(b)), rgm_tensor_rank(b));
    }
    return RGM_OK;
}

static rgm_status check_items_like(const rgm_element *element, const rgm_element *like)
{
    const rgm_element *item =
        rgm_element_count(like) > 0 ? rgm_element_item(like, 0) : rgm_element_item_like(like);

    for (int64_t i = 0; item != NULL && i < rgm_element_count(element); i++)
        RGM_TRY(rgm_element_check_like(rgm_element_item(element, i), item));
    return RGM_OK;
}

rgm_status rgm_element_check_like(const rgm_element *element, const rgm_element *like)
{
    const rgm_element_type *type = rgmi_element_type(like);

    if (rgm_element_get_kind(element) != rgm_element_get_kind(like) ||
        rgmi_element_type(element) != type)
        return RGM_FAIL(RGM_ERR_DATA, "an element is of another kind than others");
    switch (rgm_element_get_kind(like)) {
    case RGM_ELEMENT_BYTES:
        return RGM_OK;
    case RGM_ELEMENT_TENSORS:
        return check_tensors_like(element, like);
    case RGM_ELEMENT_LIST:
        return check_items_like(element, like);
    default:
        return type->check_like == NULL ? RGM_OK
                                        : type->check_like(rgm_element_pointer(element, type),
                                                           rgm_element_pointer(like, type));
    }
}
