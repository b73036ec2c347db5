/*
 * Building an ONNX graph: nodes, attributes, constants, and the few compositions that translators share.
 * Once something failed every function does nothing, so that translators read as algebra.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx_internal.h"

int rgmi_onnx_type(rgm_dtype dtype)
{
    static const int types[] = {[RGM_F32] = ONNX_FLOAT, [RGM_F64] = ONNX_DOUBLE,
                                [RGM_I32] = ONNX_INT32, [RGM_I64] = ONNX_INT64,
                                [RGM_BOOL] = ONNX_BOOL};

    return dtype < RGM_STRING ? types[dtype] : 0;
}

rgm_status rgmi_onnx_dtype(rgm_dtype *out, int type)
{
    for (int dtype = 0; dtype < RGM_STRING; dtype++)
        if (rgmi_onnx_type((rgm_dtype)dtype) == type) {
            *out = (rgm_dtype)dtype;
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "ONNX element type %d is not supported", type);
}

/* ---- memory and failure -------------------------------------------------------------------- */

const char *rgmi_fail(rgmi_writer *w, rgm_status code, const char *format, ...)
{
    char text[512];
    va_list args;

    if (w->status != RGM_OK)
        return NULL;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    w->status = RGM_FAIL(code, "%s", text);
    return NULL;
}

void *rgmi_memory(rgmi_writer *w, size_t size)
{
    void *memory = w->status == RGM_OK ? rgm_arena_alloc(w->arena, size > 0 ? size : 1) : NULL;

    if (memory == NULL)
        rgmi_fail(w, RGM_ERR_NOMEM, "out of memory for the ONNX graph");
    return memory;
}

const char *rgmi_text(rgmi_writer *w, const char *format, ...)
{
    char text[512];
    va_list args;
    char *copy;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    copy = rgmi_memory(w, strlen(text) + 1);
    if (copy != NULL)
        memcpy(copy, text, strlen(text) + 1);
    return copy;
}

void rgmi_add(rgmi_writer *w, rgmi_list *list, void *item)
{
    if (w->status != RGM_OK || item == NULL)
        return;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        void **items = rgmi_memory(w, capacity * sizeof *items);

        if (items == NULL)
            return;
        if (list->count > 0)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static char *writable(const char *text)
{
    return (char *)(uintptr_t)text; /* protobuf-c's structs are not const; packing only reads */
}

const char *rgmi_node(rgmi_writer *w, const char *type, const char *a, const char *b, const char *c)
{
    Rgmi__Onnx__NodeProto *node;
    const char *given[3] = {a, b, c}, *name;

    if (w->status != RGM_OK || a == NULL)
        return NULL;
    node = rgmi_memory(w, sizeof *node);
    if (node == NULL)
        return NULL;
    rgmi__onnx__node_proto__init(node);
    node->input = rgmi_memory(w, sizeof given);
    node->output = rgmi_memory(w, sizeof *node->output);
    name = rgmi_text(w, "%s/%s_%lld", w->hint, type, (long long)w->next++);
    if (w->status != RGM_OK)
        return NULL;
    for (int i = 0; i < 3 && given[i] != NULL; i++)
        node->input[node->n_input++] = writable(given[i]);
    node->output[node->n_output++] = writable(name);
    node->name = writable(name);
    node->op_type = writable(type);
    rgmi_add(w, &w->nodes, node);
    return name;
}

static Rgmi__Onnx__AttributeProto *attribute(rgmi_writer *w, const char *name, int32_t type)
{
    Rgmi__Onnx__NodeProto *node;
    Rgmi__Onnx__AttributeProto *made = rgmi_memory(w, sizeof *made), **all;

    if (made == NULL || w->nodes.count == 0)
        return NULL;
    node = w->nodes.items[w->nodes.count - 1];
    all = rgmi_memory(w, (node->n_attribute + 1) * sizeof *all);
    if (all == NULL)
        return NULL;
    if (node->n_attribute > 0)
        memcpy(all, node->attribute, node->n_attribute * sizeof *all);
    rgmi__onnx__attribute_proto__init(made);
    made->name = writable(name);
    made->has_type = 1;
    made->type = type;
    all[node->n_attribute++] = made;
    node->attribute = all;
    return made;
}

void rgmi_int(rgmi_writer *w, const char *name, int64_t value)
{
    Rgmi__Onnx__AttributeProto *a = attribute(w, name, 2);

    if (a != NULL) {
        a->has_i = 1;
        a->i = value;
    }
}

void rgmi_float(rgmi_writer *w, const char *name, double value)
{
    Rgmi__Onnx__AttributeProto *a = attribute(w, name, 1);

    if (a != NULL) {
        a->has_f = 1;
        a->f = (float)value;
    }
}

void rgmi_write_ints(rgmi_writer *w, const char *name, const int64_t *values, int64_t count)
{
    Rgmi__Onnx__AttributeProto *a = attribute(w, name, 7);
    int64_t *copy = rgmi_memory(w, (size_t)count * sizeof *copy);

    if (a == NULL || copy == NULL)
        return;
    memcpy(copy, values, (size_t)count * sizeof *copy);
    a->ints = copy;
    a->n_ints = (size_t)count;
}

void rgmi_string(rgmi_writer *w, const char *name, const char *value)
{
    Rgmi__Onnx__AttributeProto *a = attribute(w, name, 3);

    if (a != NULL) {
        a->has_s = 1;
        a->s.data = (uint8_t *)writable(value);
        a->s.len = strlen(value);
    }
}

/* ---- tensors ------------------------------------------------------------------------------- */

static Rgmi__Onnx__TensorProto *tensor_proto(rgmi_writer *w, const char *name, rgm_dtype dtype,
                                             int rank, const int64_t *shape, const void *data,
                                             size_t bytes)
{
    Rgmi__Onnx__TensorProto *proto = rgmi_memory(w, sizeof *proto);
    int64_t *dims = rgmi_memory(w, (size_t)rank * sizeof *dims);

    if (proto == NULL || dims == NULL)
        return NULL;
    rgmi__onnx__tensor_proto__init(proto);
    if (rank > 0)
        memcpy(dims, shape, (size_t)rank * sizeof *dims);
    proto->dims = dims;
    proto->n_dims = (size_t)rank;
    proto->has_data_type = 1;
    proto->data_type = rgmi_onnx_type(dtype);
    proto->name = writable(name);
    proto->has_raw_data = 1;
    proto->raw_data.data = (uint8_t *)(uintptr_t)data;
    proto->raw_data.len = bytes;
    return proto;
}

/* `value` as the bytes of an element, in the arena. */
static void *element(rgmi_writer *w, rgm_dtype dtype, double value)
{
    void *bytes = rgmi_memory(w, 8);

    if (bytes == NULL)
        return NULL;
    switch (dtype) {
    case RGM_F32:
        *(float *)bytes = (float)value;
        break;
    case RGM_F64:
        *(double *)bytes = value;
        break;
    case RGM_I32:
        *(int32_t *)bytes = (int32_t)value;
        break;
    case RGM_I64:
        *(int64_t *)bytes = (int64_t)value;
        break;
    default:
        *(uint8_t *)bytes = value != 0;
    }
    return bytes;
}

void rgmi_tensor_attribute(rgmi_writer *w, const char *name, rgm_dtype dtype, double value)
{
    const int64_t one = 1;
    void *bytes = element(w, dtype, value);
    Rgmi__Onnx__AttributeProto *a = attribute(w, name, 4);

    if (a != NULL && bytes != NULL)
        a->t = tensor_proto(w, "value", dtype, 1, &one, bytes, rgm_dtype_size(dtype));
}

void rgmi_initializer(rgmi_writer *w, const char *name, const rgm_tensor *tensor)
{
    rgmi_add(w, &w->initializers,
             tensor_proto(w, name, rgm_tensor_dtype(tensor), rgm_tensor_rank(tensor),
                          rgm_tensor_shape(tensor), rgm_tensor_data(tensor),
                          rgm_tensor_bytes(tensor)));
}

/* A constant of that text is made once. */
static const char *shared(rgmi_writer *w, const char *key, rgm_dtype dtype, int rank, int64_t count,
                          const void *data)
{
    const char *name = key != NULL ? rgm_map_get(w->constants, key) : NULL;

    if (name != NULL || key == NULL)
        return name;
    name = rgmi_text(w, "constant/%s", key);
    rgmi_add(w, &w->initializers,
             tensor_proto(w, name, dtype, rank, &count, data,
                          (size_t)count * rgm_dtype_size(dtype)));
    if (w->status == RGM_OK)
        w->status = rgm_map_set(w->constants, key, writable(name));
    return w->status == RGM_OK ? name : NULL;
}

const char *rgmi_scalar(rgmi_writer *w, rgm_dtype dtype, double value)
{
    return shared(w, rgmi_text(w, "%s:%.17g", rgm_dtype_name(dtype), value), dtype, 0, 1,
                  element(w, dtype, value));
}

const char *rgmi_vector(rgmi_writer *w, const int64_t *values, int64_t count)
{
    char key[256] = "i64[";
    size_t at = 4;
    int64_t *copy = rgmi_memory(w, (size_t)count * sizeof *copy);

    if (copy == NULL)
        return NULL;
    if (count > 0)
        memcpy(copy, values, (size_t)count * sizeof *copy);
    for (int64_t i = 0; i < count && at < sizeof key; i++)
        at += (size_t)snprintf(key + at, sizeof key - at, "%s%lld", i > 0 ? "," : "",
                               (long long)values[i]);
    return shared(w, rgmi_text(w, "%s]", key), RGM_I64, 1, count, copy);
}

void rgmi_input(rgmi_writer *w, const char *name, rgm_dtype dtype, int rank, const rgm_dim *shape)
{
    Rgmi__Onnx__ValueInfoProto *info = rgmi_memory(w, sizeof *info);
    Rgmi__Onnx__TypeProto *type = rgmi_memory(w, sizeof *type);
    Rgmi__Onnx__TypeProto__Tensor *tensor = rgmi_memory(w, sizeof *tensor);
    Rgmi__Onnx__TensorShapeProto *proto = rgmi_memory(w, sizeof *proto);
    Rgmi__Onnx__TensorShapeProto__Dimension *dims = rgmi_memory(w, (size_t)rank * sizeof *dims),
                                            **list = rgmi_memory(w, (size_t)rank * sizeof *list);

    if (w->status != RGM_OK)
        return;
    rgmi__onnx__value_info_proto__init(info);
    rgmi__onnx__type_proto__init(type);
    rgmi__onnx__type_proto__tensor__init(tensor);
    rgmi__onnx__tensor_shape_proto__init(proto);
    for (int i = 0; i < rank; i++) {
        rgmi__onnx__tensor_shape_proto__dimension__init(&dims[i]);
        list[i] = &dims[i];
        if (shape[i] >= 0) {
            dims[i].has_dim_value = 1;
            dims[i].dim_value = shape[i];
        } else {
            const char *symbol = rgm_cgraph_symbol_name(w->graph, shape[i]);

            dims[i].dim_param = writable(symbol != NULL ? symbol
                                                        : rgmi_text(w, "dim_%lld",
                                                                    (long long)-shape[i]));
        }
    }
    proto->dim = list;
    proto->n_dim = (size_t)rank;
    tensor->has_elem_type = 1;
    tensor->elem_type = rgmi_onnx_type(dtype);
    tensor->shape = proto;
    type->tensor_type = tensor;
    info->name = writable(name);
    info->type = type;
    rgmi_add(w, &w->inputs, info);
}

/* ---- sizes --------------------------------------------------------------------------------- */

const char *rgmi_size(rgmi_writer *w, rgm_dim dim)
{
    const int64_t axis = 0;
    const char *symbol, *name;

    if (dim >= 0)
        return rgmi_vector(w, &dim, 1);
    symbol = rgm_cgraph_symbol_name(w->graph, dim);
    if (symbol == NULL)
        return rgmi_fail(w, RGM_ERR_UNSUPPORTED,
                         "op '%s': a size that is computed from others has no ONNX form", w->hint);
    name = rgmi_text(w, "%s.#size", symbol);
    if (name != NULL && !rgm_map_has(w->sizes, name)) {
        rgmi_input(w, name, RGM_I64, 0, NULL);
        if (w->status == RGM_OK)
            w->status = rgm_map_set(w->sizes, name, writable(name));
    }
    return rgmi_node(w, "Unsqueeze", name, rgmi_vector(w, &axis, 1), NULL);
}

const char *rgmi_shape(rgmi_writer *w, const rgm_dim *shape, int rank)
{
    const char *parts = NULL;
    bool is_static = true, inferred = false;

    for (int i = 0; i < rank; i++)
        is_static &= shape[i] >= 0;
    if (is_static)
        return rgmi_vector(w, shape, rank);
    for (int i = 0; i < rank; i++) {
        const int64_t infer = -1;
        bool derived = shape[i] < 0 && rgm_cgraph_symbol_name(w->graph, shape[i]) == NULL;
        const char *part = derived && !inferred ? rgmi_vector(w, &infer, 1)
                                                : rgmi_size(w, shape[i]);

        inferred |= derived;
        if (parts == NULL) {
            parts = part;
        } else {
            parts = rgmi_node(w, "Concat", parts, part, NULL);
            rgmi_int(w, "axis", 0);
        }
    }
    return parts;
}

/* ---- compositions -------------------------------------------------------------------------- */

const char *rgmi_cast(rgmi_writer *w, const char *x, rgm_dtype dtype)
{
    const char *y = rgmi_node(w, "Cast", x, NULL, NULL);

    rgmi_int(w, "to", rgmi_onnx_type(dtype));
    return y;
}

const char *rgmi_unsqueeze(rgmi_writer *w, const char *x, int64_t axis)
{
    return rgmi_node(w, "Unsqueeze", x, rgmi_vector(w, &axis, 1), NULL);
}

const char *rgmi_filled(rgmi_writer *w, const char *shape, rgm_dtype dtype, double value)
{
    const char *y = rgmi_node(w, "ConstantOfShape", shape, NULL, NULL);

    rgmi_tensor_attribute(w, "value", dtype, value);
    return y;
}

const char *rgmi_scatter(rgmi_writer *w, const char *data, const char *index, const char *updates,
                         const char *reduction)
{
    const char *y = rgmi_node(w, "ScatterND", data, rgmi_unsqueeze(w, index, 1), updates);

    rgmi_string(w, "reduction", reduction);
    return y;
}

/* 0.5 x (1 + erf(x / sqrt 2)) */
static const char *gelu(rgmi_writer *w, const char *x, rgm_dtype dtype)
{
    const char *erf = rgmi_node(
        w, "Erf", rgmi_node(w, "Mul", x, rgmi_scalar(w, dtype, 0.70710678118654752440), NULL), NULL,
        NULL);
    const char *phi = rgmi_node(w, "Add", erf, rgmi_scalar(w, dtype, 1), NULL);

    return rgmi_node(w, "Mul", rgmi_node(w, "Mul", x, rgmi_scalar(w, dtype, 0.5), NULL), phi, NULL);
}

const char *rgmi_activate(rgmi_writer *w, const char *x, rgm_activation activation, double slope,
                          rgm_dtype dtype)
{
    const char *y;

    switch (activation) {
    case RGM_ACT_NONE:
        return x;
    case RGM_ACT_RELU:
        return rgmi_node(w, "Relu", x, NULL, NULL);
    case RGM_ACT_LEAKY_RELU:
        y = rgmi_node(w, "LeakyRelu", x, NULL, NULL);
        rgmi_float(w, "alpha", slope);
        return y;
    case RGM_ACT_ELU:
        y = rgmi_node(w, "Elu", x, NULL, NULL);
        rgmi_float(w, "alpha", 1);
        return y;
    case RGM_ACT_SIGMOID:
        return rgmi_node(w, "Sigmoid", x, NULL, NULL);
    case RGM_ACT_TANH:
        return rgmi_node(w, "Tanh", x, NULL, NULL);
    default:
        return gelu(w, x, dtype);
    }
}
