/*
 * The writer's tensors and value infos, sizes, and the combinations of nodes that translators
 * share.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "onnx_internal.h"

static char *writable(const char *text)
{
    return (char *)(uintptr_t)text; /* protobuf-c's structs are not const; packing only reads */
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

/* `value` as an element's bytes, in the arena. */
static void *element(rgmi_writer *w, rgm_dtype dtype, double value)
{
    void *bytes = rgmi_memory(w, 8);

    if (bytes == NULL)
        return NULL;
    rgm_dtype_put(bytes, dtype, value);
    return bytes;
}

static void tensor_attribute(rgmi_writer *w, const char *name, rgm_dtype dtype, double value)
{
    const int64_t one = 1;
    void *bytes = element(w, dtype, value);
    Rgmi__Onnx__AttributeProto *a = rgmi_attribute(w, name, 4);

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

/* A constant is made once for each text. */
static const char *shared(rgmi_writer *w, const char *key, rgm_dtype dtype, int rank, int64_t count,
                          const void *data)
{
    const char *name = rgmi_known_name(w, key);

    if (name != NULL || key == NULL)
        return name;
    name = rgmi_fresh(w, rgmi_text(w, "constant/%s", key));
    rgmi_add(
        w, &w->initializers,
        tensor_proto(w, name, dtype, rank, &count, data, (size_t)count * rgm_dtype_size(dtype)));
    return rgmi_keep(w, key, name);
}

const char *rgmi_scalar(rgmi_writer *w, rgm_dtype dtype, double value)
{
    char *number = NULL;
    const char *key;

    if (w->status == RGM_OK)
        w->status = rgm_strprintf(&number, "%.17g", value); /* locale-independent */
    key = rgmi_text(w, "%s:%s", rgm_dtype_name(dtype), number != NULL ? number : "");
    rgm_free(number);
    return shared(w, key, dtype, 0, 1, element(w, dtype, value));
}

const char *rgmi_vector(rgmi_writer *w, const int64_t *values, int64_t count)
{
    const char *key = rgmi_text(w, "i64[");
    int64_t *copy = rgmi_memory(w, (size_t)count * sizeof *copy);

    if (copy == NULL)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        copy[i] = values[i];
        key = rgmi_text(w, "%s%s%lld", key, i > 0 ? "," : "", (long long)values[i]);
    }
    return shared(w, rgmi_text(w, "%s]", key), RGM_I64, 1, count, copy);
}

const char *rgmi_numbers(rgmi_writer *w, rgm_dtype dtype, const void *data, int64_t count)
{
    size_t bytes = (size_t)count * rgm_dtype_size(dtype);
    void *copy = rgmi_memory(w, bytes);
    const char *name = rgmi_fresh(w, "constant/keys");

    if (copy == NULL || name == NULL)
        return NULL;
    memcpy(copy, data, bytes);
    rgmi_add(w, &w->initializers, tensor_proto(w, name, dtype, 1, &count, copy, bytes));
    return name;
}

/* The name of a derived size is its formula; a long one must not be cut to another's name. */
static void set_dim(rgmi_writer *w, Rgmi__Onnx__TensorShapeProto__Dimension *to, rgm_dim dim)
{
    char text[128];

    rgmi__onnx__tensor_shape_proto__dimension__init(to);
    if (dim >= 0) {
        to->has_dim_value = 1;
        to->dim_value = dim;
        return;
    }
    rgm_dim_describe(w->graph, dim, text, sizeof text);
    to->dim_param =
        writable(strlen(text) + 1 < sizeof text ? rgmi_text(w, "%s", text)
                                                : rgmi_text(w, "dim_%lld", (long long)-dim));
}

void rgmi_value_info(rgmi_writer *w, rgmi_list *list, const char *name, rgm_dtype dtype, int rank,
                     const rgm_dim *shape, const char *doc)
{
    Rgmi__Onnx__ValueInfoProto *info = rgmi_memory(w, sizeof *info);
    Rgmi__Onnx__TypeProto *type = rgmi_memory(w, sizeof *type);
    Rgmi__Onnx__TypeProto__Tensor *tensor = rgmi_memory(w, sizeof *tensor);
    Rgmi__Onnx__TensorShapeProto *proto = rgmi_memory(w, sizeof *proto);
    Rgmi__Onnx__TensorShapeProto__Dimension *dims = rgmi_memory(w, (size_t)rank * sizeof *dims),
                                            **pointers =
                                                rgmi_memory(w, (size_t)rank * sizeof *pointers);

    if (w->status != RGM_OK)
        return;
    rgmi__onnx__value_info_proto__init(info);
    rgmi__onnx__type_proto__init(type);
    rgmi__onnx__type_proto__tensor__init(tensor);
    rgmi__onnx__tensor_shape_proto__init(proto);
    for (int i = 0; i < rank; i++) {
        set_dim(w, &dims[i], shape[i]);
        pointers[i] = &dims[i];
    }
    proto->dim = pointers;
    proto->n_dim = (size_t)rank;
    tensor->has_elem_type = 1;
    tensor->elem_type = rgmi_onnx_type(dtype);
    tensor->shape = proto;
    type->tensor_type = tensor;
    info->name = writable(name);
    info->type = type;
    info->doc_string = writable(doc);
    rgmi_add(w, list, info);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool is_same(const rgm_onnx_table *a, const rgm_onnx_table *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

const char *rgmi_table_name(rgmi_writer *w, const rgm_onnx_table *table)
{
    const char *name;

    for (size_t i = 0; i < w->tables.count; i++) {
        const rgm_onnx_table *known = w->tables.items[i];

        if (strcmp(known->name, table->name) != 0)
            continue;
        if (!is_same(known, table))
            return rgmi_fail(w, RGM_ERR_ARG, "the table '%s' is asked for in two shapes",
                             table->name);
        return known->name;
    }
    if (rgmi_onnx_type(table->dtype) == 0)
        return rgmi_fail(w, RGM_ERR_UNSUPPORTED, "input '%s' is text, which has no %s form here",
                         table->name, w->format);
    name = rgmi_claim(w, table->name, "input");
    rgmi_value_info(w, &w->inputs, name, table->dtype, table->rank, table->shape, table->doc);
    rgmi_add(w, &w->tables, (void *)(uintptr_t)table);
    return name;
}

/* ---- sizes --------------------------------------------------------------------------------- */

/* [1]: the size of axis `axis` of x. */
static const char *size_of(rgmi_writer *w, const char *x, int64_t axis)
{
    const char *y = rgmi_node(w, "Shape", x, NULL, NULL);

    rgmi_int(w, "start", axis);
    rgmi_int(w, "end", axis + 1);
    return y;
}

/* Take the size from a table or value that has it; NULL if there is none yet. */
static const char *size_in_graph(rgmi_writer *w, rgm_dim dim)
{
    for (size_t k = 0; k < w->tables.count; k++) {
        const rgm_onnx_table *table = w->tables.items[k];

        for (int i = 0; i < table->rank; i++)
            if (table->shape[i] == dim)
                return size_of(w, table->name, i);
    }
    for (size_t k = 0; k < w->translated.count; k++) {
        const rgmi_name *name = w->translated.items[k];
        const rgm_dim *shape = rgm_value_shape(name->value);

        if (name->rows != NULL && shape[2] == dim)
            return size_of(w, name->rows, 0);
        for (int i = 0; name->name != NULL && i < rgm_value_rank(name->value); i++)
            if (shape[i] == dim)
                return size_of(w, name->name, i);
    }
    return NULL;
}

/* Take the size from options->sizes; NULL: it is not there. */
static const char *size_of_table(rgmi_writer *w, rgm_dim dim)
{
    for (int64_t i = 0; w->options != NULL && i < w->options->size_count; i++) {
        const rgm_onnx_size *size = &w->options->sizes[i];
        const char *table;

        if (size->dim != dim)
            continue;
        table = rgmi_table_name(w, &size->table);
        return size->is_count ? rgmi_node(w, "Shape", table, NULL, NULL)
                              : rgmi_reduce(w, "ReduceSum", table, 0, true);
    }
    return NULL;
}

static const char *size_as_input(rgmi_writer *w, rgm_dim dim)
{
    const char *symbol = rgm_cgraph_symbol_name(w->graph, dim), *name;

    if (symbol == NULL)
        return rgmi_fail(w, RGM_ERR_UNSUPPORTED,
                         "op '%s': a size that is computed from others and that no value has",
                         w->hint);
    name = rgmi_claim(w, rgmi_text(w, "%s.#size", symbol), "size");
    rgmi_value_info(w, &w->inputs, name, RGM_I64, 0, NULL, NULL);
    return rgmi_unsqueeze(w, name, 0);
}

const char *rgmi_size(rgmi_writer *w, rgm_dim dim)
{
    const char *key, *name;

    if (dim >= 0)
        return rgmi_vector(w, &dim, 1);
    key = rgmi_text(w, "size:%lld", (long long)dim);
    name = rgmi_known_name(w, key);
    if (name == NULL && w->status == RGM_OK)
        name = size_in_graph(w, dim);
    if (name == NULL && w->status == RGM_OK)
        name = size_of_table(w, dim);
    if (name == NULL && w->status == RGM_OK)
        name = size_as_input(w, dim);
    return rgmi_keep(w, key, name);
}

const char *rgmi_size_scalar(rgmi_writer *w, rgm_dim dim)
{
    if (dim >= 0)
        return rgmi_scalar(w, RGM_I64, (double)dim);
    return rgmi_node(w, "Squeeze", rgmi_size(w, dim), NULL, NULL);
}

const char *rgmi_shape(rgmi_writer *w, const rgm_dim *shape, int rank)
{
    const char *parts[RGM_MAX_RANK];
    bool is_static = true;

    for (int i = 0; i < rank; i++)
        is_static &= shape[i] >= 0;
    if (is_static)
        return rgmi_vector(w, shape, rank);
    for (int i = 0; i < rank; i++)
        parts[i] = rgmi_size(w, shape[i]);
    return rank == 1 ? parts[0] : rgmi_concat(w, parts, rank, 0);
}

/*
 * For ONNX, -1 is the rest, which is ambiguous beside a size of 0; and 0 keeps a size, unless
 * "allowzero" makes it a size of 0. Where neither works, the sizes are computed.
 */
const char *rgmi_reshape(rgmi_writer *w, const char *x, const rgm_dim *from, int from_rank,
                         const rgm_dim *to, int rank)
{
    int64_t plain[RGM_MAX_RANK];
    int unknown = 0, moved = 0;
    bool zero = false;
    const char *y, *shape;

    for (int i = 0; i < rank; i++) {
        bool stays = i < from_rank && from[i] == to[i];

        zero |= to[i] == 0;
        unknown += to[i] < 0;
        moved += to[i] < 0 && !stays;
        plain[i] = to[i] >= 0 ? to[i] : 0;
    }
    if (unknown == 1 && !zero)
        for (int i = 0; i < rank; i++)
            plain[i] = to[i] < 0 ? -1 : to[i];
    if (unknown == 0 || (!zero && (unknown == 1 || moved == 0)))
        shape = rgmi_vector(w, plain, rank);
    else
        shape = rgmi_shape(w, to, rank);
    y = rgmi_node(w, "Reshape", x, shape, NULL);
    if (zero || (unknown > 1 && moved > 0))
        rgmi_int(w, "allowzero", 1);
    return y;
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

const char *rgmi_as_column(rgmi_writer *w, const char *x, int rank)
{
    int64_t axes[RGM_MAX_RANK];

    for (int i = 1; i < rank; i++)
        axes[i - 1] = i;
    return rank < 2 ? x : rgmi_node(w, "Unsqueeze", x, rgmi_vector(w, axes, rank - 1), NULL);
}

const char *rgmi_reduce(rgmi_writer *w, const char *type, const char *x, int64_t axis, bool keep)
{
    const char *y = rgmi_node(w, type, x, rgmi_vector(w, &axis, 1), NULL);

    rgmi_int(w, "keepdims", keep);
    return y;
}

const char *rgmi_concat(rgmi_writer *w, const char *const *x, int count, int64_t axis)
{
    const char *y = rgmi_node_of(w, "Concat", x, count);

    rgmi_int(w, "axis", axis);
    return y;
}

const char *rgmi_range(rgmi_writer *w, const char *end)
{
    const char *start = rgmi_scalar(w, RGM_I64, 0), *step = rgmi_scalar(w, RGM_I64, 1);

    return rgmi_node(w, "Range", start, end, step);
}

const char *rgmi_filled(rgmi_writer *w, const char *shape, rgm_dtype dtype, double value)
{
    const char *y = rgmi_node(w, "ConstantOfShape", shape, NULL, NULL);

    tensor_attribute(w, "value", dtype, value);
    return y;
}

/* The index is repeated for each channel: onnxruntime's ScatterND, which does not need that, has a
 * data race. */
const char *rgmi_scatter(rgmi_writer *w, const char *data, const char *index, const char *updates,
                         int rank, const char *reduction)
{
    const char *each = index, *y;

    if (rank > 1) {
        const char *shape = rgmi_node(w, "Shape", updates, NULL, NULL);
        each = rgmi_node(w, "Expand", rgmi_as_column(w, index, rank), shape, NULL);
    }
    y = rgmi_node(w, "ScatterElements", data, each, updates);
    rgmi_int(w, "axis", 0);
    rgmi_string(w, "reduction", reduction);
    return y;
}

/* 0.5 x (1 + erf(x / sqrt 2)) */
static const char *gelu(rgmi_writer *w, const char *x, rgm_dtype dtype)
{
    const char *scaled =
        rgmi_node(w, "Mul", x, rgmi_scalar(w, dtype, 0.70710678118654752440), NULL);
    const char *one = rgmi_scalar(w, dtype, 1);
    const char *phi = rgmi_node(w, "Add", rgmi_node(w, "Erf", scaled, NULL, NULL), one, NULL);

    return rgmi_node(w, "Mul", rgmi_node(w, "Mul", x, rgmi_scalar(w, dtype, 0.5), NULL), phi, NULL);
}

/* 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), as x sigmoid(2 u) */
static const char *gelu_tanh(rgmi_writer *w, const char *x, rgm_dtype dtype)
{
    const char *square = rgmi_node(w, "Mul", x, x, NULL);
    const char *scaled = rgmi_node(w, "Mul", square, rgmi_scalar(w, dtype, 0.044715), NULL);
    const char *inner = rgmi_node(w, "Add", scaled, rgmi_scalar(w, dtype, 1), NULL);

    inner = rgmi_node(w, "Mul", inner, rgmi_scalar(w, dtype, 1.59576912160573071176), NULL);
    inner = rgmi_node(w, "Mul", x, inner, NULL);
    return rgmi_node(w, "Mul", x, rgmi_node(w, "Sigmoid", inner, NULL, NULL), NULL);
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
    case RGM_ACT_SILU:
        return rgmi_node(w, "Mul", x, rgmi_node(w, "Sigmoid", x, NULL, NULL), NULL);
    case RGM_ACT_GELU_TANH:
        return gelu_tanh(w, x, dtype);
    default:
        return gelu(w, x, dtype);
    }
}

double rgmi_empty(rgm_reduction reduction, rgm_dtype dtype)
{
    double most = dtype == RGM_F64 ? DBL_MAX : (double)FLT_MAX;

    switch (reduction) {
    case RGM_MAX:
        return -most;
    case RGM_MIN:
        return most;
    case RGM_PROD:
        return 1;
    default:
        return 0;
    }
}
