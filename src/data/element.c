/*
 * What flows through a pipeline. An element is immutable once others can see it, so that threads
 * share it by its count alone.
 */
#include "data_internal.h"

struct rgm_element {
    atomic_int references;
    rgm_element_kind kind;
    int64_t count;               /* bytes, tensors or items */
    rgmi_item_name *origin;      /* what it was read from                               */
    int64_t record, offset;      /* in there; record < 0: not known                     */
    _Atomic(char *) origin_text; /* all that as text, made when first asked for         */
    const rgm_element_type *type;
    void *object;
    rgm_element *like; /* of an empty list: what an item would look like; may be NULL */
    union {
        uint8_t bytes[1];
        rgm_tensor *tensors[1];
        rgm_element *items[1];
    };
};

static rgm_status create(rgm_element **out, rgm_element_kind kind, int64_t count, size_t size)
{
    rgm_element *element;

    *out = NULL;
    if (count < 0 || (size > 0 && count > (INT64_MAX - 4096) / (int64_t)size))
        return RGM_FAIL(RGM_ERR_ARG, "an element of %lld parts", (long long)count);
    element = rgm_malloc(sizeof *element + (size_t)count * size);
    if (element == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for an element of %lld parts",
                        (long long)count);
    memset(element, 0, sizeof *element);
    atomic_init(&element->references, 1);
    element->kind = kind;
    element->count = count;
    *out = element;
    return RGM_OK;
}

rgm_status rgm_element_create_bytes(rgm_element **out, const void *data, int64_t size)
{
    RGM_TRY(create(out, RGM_ELEMENT_BYTES, size, 1));
    if (size > 0)
        memcpy((*out)->bytes, data, (size_t)size);
    (*out)->bytes[size] = 0;
    return RGM_OK;
}

rgm_status rgm_element_create_tensors(rgm_element **out, rgm_tensor *const *tensors, int64_t count)
{
    RGM_TRY(create(out, RGM_ELEMENT_TENSORS, count, sizeof *tensors));
    for (int64_t i = 0; i < count; i++)
        (*out)->tensors[i] = rgm_tensor_retain(tensors[i]);
    return RGM_OK;
}

rgm_status rgm_element_create_list(rgm_element **out, rgm_element *const *items, int64_t count)
{
    RGM_TRY(create(out, RGM_ELEMENT_LIST, count, sizeof *items));
    for (int64_t i = 0; i < count; i++)
        (*out)->items[i] = rgm_element_retain(items[i]);
    return RGM_OK;
}

rgm_status rgm_element_create_empty_list(rgm_element **out, rgm_element *like)
{
    RGM_TRY(create(out, RGM_ELEMENT_LIST, 0, 0));
    (*out)->like = rgm_element_retain(like);
    return RGM_OK;
}

rgm_status rgm_element_create_pointer(rgm_element **out, const rgm_element_type *type, void *object)
{
    RGM_TRY(create(out, RGM_ELEMENT_POINTER, 0, 0));
    (*out)->type = type;
    (*out)->object = object;
    return RGM_OK;
}

rgm_element *rgm_element_retain(const rgm_element *element)
{
    rgm_element *own = (rgm_element *)element;

    if (own != NULL)
        atomic_fetch_add_explicit(&own->references, 1, memory_order_relaxed);
    return own;
}

void rgm_element_release(rgm_element *element)
{
    if (element == NULL ||
        atomic_fetch_sub_explicit(&element->references, 1, memory_order_acq_rel) > 1)
        return;
    for (int64_t i = 0; element->kind == RGM_ELEMENT_TENSORS && i < element->count; i++)
        rgm_tensor_release(element->tensors[i]);
    for (int64_t i = 0; element->kind == RGM_ELEMENT_LIST && i < element->count; i++)
        rgm_element_release(element->items[i]);
    if (element->kind == RGM_ELEMENT_POINTER && element->type->release != NULL)
        element->type->release(element->object);
    rgm_element_release(element->like);
    rgmi_name_release(element->origin);
    rgm_free(atomic_load(&element->origin_text));
    rgm_free(element);
}

rgm_element_kind rgm_element_get_kind(const rgm_element *element)
{
    return element->kind;
}

const void *rgm_element_bytes(const rgm_element *element, int64_t *size)
{
    if (element->kind != RGM_ELEMENT_BYTES) {
        *size = 0;
        return NULL;
    }
    *size = element->count;
    return element->bytes;
}

int64_t rgm_element_count(const rgm_element *element)
{
    return element->kind == RGM_ELEMENT_TENSORS || element->kind == RGM_ELEMENT_LIST
               ? element->count
               : 0;
}

rgm_tensor *rgm_element_tensor(const rgm_element *element, int64_t i)
{
    return element->kind == RGM_ELEMENT_TENSORS && i >= 0 && i < element->count
               ? element->tensors[i]
               : NULL;
}

rgm_element *rgm_element_item(const rgm_element *element, int64_t i)
{
    return element->kind == RGM_ELEMENT_LIST && i >= 0 && i < element->count ? element->items[i]
                                                                             : NULL;
}

rgm_element *rgm_element_item_like(const rgm_element *element)
{
    return element->kind != RGM_ELEMENT_LIST ? NULL
           : element->count > 0              ? element->items[0]
                                             : element->like;
}

void *rgm_element_pointer(const rgm_element *element, const rgm_element_type *type)
{
    return element->kind == RGM_ELEMENT_POINTER && element->type == type ? element->object : NULL;
}

const rgm_element_type *rgmi_element_type(const rgm_element *element)
{
    return element->type;
}

/* ---- origins -------------------------------------------------------------------------------- */

struct rgmi_item_name {
    atomic_int references;
    char text[];
};

rgm_status rgmi_name_create(rgmi_item_name **out, const char *text)
{
    size_t size = strlen(text) + 1;

    *out = rgm_malloc(sizeof **out + size);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a name of %zu bytes", size);
    atomic_init(&(*out)->references, 1);
    memcpy((*out)->text, text, size);
    return RGM_OK;
}

void rgmi_name_release(rgmi_item_name *name)
{
    if (name != NULL && atomic_fetch_sub_explicit(&name->references, 1, memory_order_acq_rel) == 1)
        rgm_free(name);
}

void rgmi_element_set_origin(rgm_element *element, rgmi_item_name *name, int64_t record,
                             int64_t offset)
{
    atomic_fetch_add_explicit(&name->references, 1, memory_order_relaxed);
    rgmi_name_release(element->origin);
    element->origin = name;
    element->record = record;
    element->offset = offset;
}

const char *rgm_element_origin(const rgm_element *element)
{
    rgm_element *own = (rgm_element *)element;
    char *text, *made = NULL;

    if (element->origin == NULL || element->record < 0)
        return element->origin != NULL ? element->origin->text : NULL;
    text = atomic_load(&own->origin_text);
    if (text != NULL)
        return text;
    if (rgm_strprintf(&made, "%s: record %lld at byte %lld", element->origin->text,
                      (long long)element->record, (long long)element->offset) != RGM_OK)
        return element->origin->text;
    if (atomic_compare_exchange_strong(&own->origin_text, &text, made))
        return made;
    rgm_free(made); /* another thread was faster */
    return text;
}

rgm_status rgmi_blame(rgm_status status, const rgm_element *element)
{
    if (status < 0 && element != NULL && element->origin != NULL)
        rgm_error_prefix(status, "%s", rgm_element_origin(element));
    return status;
}

/* ---- stacking ------------------------------------------------------------------------------- */

static rgm_status check_like_first(const rgm_tensor *first, const rgm_tensor *tensor, int64_t item,
                                   int64_t number)
{
    char a[96], b[96];

    if (rgm_tensor_dtype(first) != rgm_tensor_dtype(tensor))
        return RGM_FAIL(RGM_ERR_DTYPE, "tensor %lld of item %lld is %s, of item 0 %s",
                        (long long)number, (long long)item,
                        rgm_tensor_describe(tensor, a, sizeof a),
                        rgm_tensor_describe(first, b, sizeof b));
    if (rgm_tensor_rank(first) != rgm_tensor_rank(tensor) ||
        (rgm_tensor_rank(first) > 0 &&
         memcmp(rgm_tensor_shape(first), rgm_tensor_shape(tensor),
                (size_t)rgm_tensor_rank(first) * sizeof(int64_t)) != 0))
        return RGM_FAIL(RGM_ERR_SHAPE, "tensor %lld of item %lld is %s, of item 0 %s",
                        (long long)number, (long long)item,
                        rgm_tensor_describe(tensor, a, sizeof a),
                        rgm_tensor_describe(first, b, sizeof b));
    return RGM_OK;
}

/* A tensor of texts has a copy of the bytes of each item's. */
static rgm_status stack_texts(rgm_tensor **out, const rgm_element *list, int64_t number, int rank,
                              const int64_t *shape)
{
    int64_t each = rgm_tensor_count(rgm_element_item_like(list)->tensors[number]);
    rgm_status status = RGM_OK;
    rgm_str *texts = NULL;

    RGM_GO(RGM_NEW(texts, list->count * each));
    for (int64_t i = 0; each > 0 && i < list->count; i++)
        memcpy(texts + i * each, rgm_tensor_data(list->items[i]->tensors[number]),
               (size_t)each * sizeof *texts);
    RGM_GO(rgm_tensor_create_from(out, RGM_STRING, rank, shape, texts));
done:
    rgm_free(texts);
    return status;
}

static rgm_status stack_one(rgm_tensor **out, const rgm_element *list, int64_t number)
{
    const rgm_tensor *like = rgm_element_item_like(list)->tensors[number];
    int64_t shape[RGM_MAX_RANK];
    int rank = rgm_tensor_rank(like);
    size_t size;

    if (rank == RGM_MAX_RANK)
        return RGM_FAIL(RGM_ERR_SHAPE, "tensor %lld has rank %d already", (long long)number, rank);
    for (int64_t i = 1; i < list->count; i++)
        RGM_TRY(check_like_first(like, list->items[i]->tensors[number], i, number));
    shape[0] = list->count;
    for (int axis = 0; axis < rank; axis++)
        shape[axis + 1] = rgm_tensor_shape(like)[axis];
    if (rgm_tensor_dtype(like) == RGM_STRING)
        return stack_texts(out, list, number, rank + 1, shape);
    RGM_TRY(rgm_tensor_create(out, rgm_tensor_dtype(like), rank + 1, shape));
    size = rgm_tensor_bytes(like);
    for (int64_t i = 0; size > 0 && i < list->count; i++)
        memcpy((char *)rgm_tensor_data(*out) + (size_t)i * size,
               rgm_tensor_data(list->items[i]->tensors[number]), size);
    return RGM_OK;
}

/* Elements of bytes, such as lines, become one tensor of texts [n]. */
static rgm_status stack_bytes(rgm_element **out, const rgm_element *list)
{
    rgm_status status = RGM_OK;
    rgm_tensor *tensor = NULL;
    rgm_str *texts = NULL;

    RGM_GO(RGM_NEW(texts, list->count));
    for (int64_t i = 0; i < list->count; i++) {
        texts[i].data = rgm_element_bytes(list->items[i], &texts[i].size);
        if (texts[i].data == NULL)
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "stack: item %lld is no element of bytes", (long long)i));
    }
    RGM_GO(rgm_tensor_create_from(&tensor, RGM_STRING, 1, (int64_t[]){list->count}, texts));
    RGM_GO(rgm_element_create_tensors(out, &tensor, 1));
done:
    rgm_tensor_release(tensor);
    rgm_free(texts);
    return status;
}

rgm_status rgm_element_stack(rgm_element **out, const rgm_element *list,
                             const struct rgm_map_call *call, void *payload)
{
    rgm_status status = RGM_OK;
    const rgm_element *like = rgm_element_item_like(list);
    rgm_tensor **tensors = NULL;
    int64_t count = 0;

    (void)call;
    (void)payload;
    *out = NULL;
    if (like != NULL && like->kind == RGM_ELEMENT_BYTES)
        return stack_bytes(out, list);
    if (like == NULL || like->kind != RGM_ELEMENT_TENSORS)
        return RGM_FAIL(RGM_ERR_DATA,
                        "stack takes a list of elements of tensors, or of bytes, as batch makes");
    for (int64_t i = 0; i < list->count; i++)
        if (list->items[i]->kind != RGM_ELEMENT_TENSORS || list->items[i]->count != like->count)
            return RGM_FAIL(RGM_ERR_DATA, "stack: item %lld is no element of %lld tensors",
                            (long long)i, (long long)like->count);
    count = like->count;
    RGM_GO(RGM_NEW(tensors, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(stack_one(&tensors[i], list, i));
    RGM_GO(rgm_element_create_tensors(out, tensors, count));
done:
    for (int64_t i = 0; tensors != NULL && i < count; i++)
        rgm_tensor_release(tensors[i]);
    rgm_free(tensors);
    return status;
}

static rgm_status check_rows(const rgm_element *batch, int64_t row)
{
    int64_t rows = -1;

    if (batch->kind != RGM_ELEMENT_TENSORS)
        return RGM_FAIL(RGM_ERR_DATA, "a row is taken of an element of tensors, as stack makes");
    for (int64_t i = 0; i < batch->count; i++) {
        if (rgm_tensor_rank(batch->tensors[i]) == 0)
            return RGM_FAIL(RGM_ERR_DATA, "tensor %lld is a scalar, which has no rows",
                            (long long)i);
        if (i == 0)
            rows = rgm_tensor_dim(batch->tensors[0], 0);
        if (rgm_tensor_dim(batch->tensors[i], 0) != rows)
            return RGM_FAIL(RGM_ERR_SHAPE, "tensor %lld has %lld rows, tensor 0 has %lld",
                            (long long)i, (long long)rgm_tensor_dim(batch->tensors[i], 0),
                            (long long)rows);
    }
    if (row < 0 || row >= rows)
        return RGM_FAIL(RGM_ERR_ARG, "row %lld of a batch of %lld", (long long)row,
                        (long long)(rows < 0 ? 0 : rows));
    return RGM_OK;
}

rgm_status rgm_element_row(rgm_element **out, const rgm_element *batch, int64_t row)
{
    rgm_status status = RGM_OK;
    rgm_tensor **tensors = NULL;

    *out = NULL;
    RGM_TRY(check_rows(batch, row));
    RGM_GO(RGM_NEW(tensors, batch->count));
    for (int64_t i = 0; i < batch->count; i++)
        RGM_GO(rgm_tensor_slice(&tensors[i], batch->tensors[i], row, row + 1));
    RGM_GO(rgm_element_create_tensors(out, tensors, batch->count));
done:
    for (int64_t i = 0; tensors != NULL && i < batch->count; i++)
        rgm_tensor_release(tensors[i]);
    rgm_free(tensors);
    return status;
}
