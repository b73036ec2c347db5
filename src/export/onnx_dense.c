/*
 * Dense ops as ONNX nodes. An op that is missing here and in onnx_sparse.c cannot be exported, and
 * the writer reports its name.
 */
#include <math.h>
#include <string.h>

#include "onnx_internal.h"

static const char *input(rgmi_writer *w, const rgm_value *y, int i)
{
    return rgmi_name_of(w, rgm_value_input(y, i));
}

/* ---- element-wise -------------------------------------------------------------------------- */

/* Codes with one ONNX node of the same meaning. */
static const char *const one_node[RGM_MAP_CODE_COUNT] = {
    [RGM_MAP_NEG] = "Neg",           [RGM_MAP_ABS] = "Abs",
    [RGM_MAP_SQRT] = "Sqrt",         [RGM_MAP_RECIPROCAL] = "Reciprocal",
    [RGM_MAP_EXP] = "Exp",           [RGM_MAP_LOG] = "Log",
    [RGM_MAP_RELU] = "Relu",         [RGM_MAP_SIGMOID] = "Sigmoid",
    [RGM_MAP_TANH] = "Tanh",         [RGM_MAP_SIGN] = "Sign",
    [RGM_MAP_SOFTPLUS] = "Softplus", [RGM_MAP_ADD] = "Add",
    [RGM_MAP_SUB] = "Sub",           [RGM_MAP_MUL] = "Mul",
    [RGM_MAP_DIV] = "Div",           [RGM_MAP_MAX] = "Max",
    [RGM_MAP_MIN] = "Min",
};

static const char *element_wise(rgmi_writer *w, rgm_map_code code, double constant, const char *a,
                                const char *b, rgm_dtype dtype)
{
    if (one_node[code] != NULL)
        return rgmi_node(w, one_node[code], a, b, NULL);
    switch (code) {
    case RGM_MAP_SQUARE:
        return rgmi_node(w, "Mul", a, a, NULL);
    case RGM_MAP_RSQRT:
        return rgmi_node(w, "Reciprocal", rgmi_node(w, "Sqrt", a, NULL, NULL), NULL, NULL);
    case RGM_MAP_LEAKY_RELU:
        return rgmi_activate(w, a, RGM_ACT_LEAKY_RELU, constant, dtype);
    case RGM_MAP_ELU:
        return rgmi_activate(w, a, RGM_ACT_ELU, 0, dtype);
    case RGM_MAP_GELU:
        return rgmi_activate(w, a, RGM_ACT_GELU, 0, dtype);
    case RGM_MAP_SILU:
        return rgmi_activate(w, a, RGM_ACT_SILU, 0, dtype);
    case RGM_MAP_GELU_TANH:
        return rgmi_activate(w, a, RGM_ACT_GELU_TANH, 0, dtype);
    case RGM_MAP_SCALE:
        return rgmi_node(w, "Mul", a, rgmi_scalar(w, dtype, constant), NULL);
    case RGM_MAP_SHIFT:
        return rgmi_node(w, "Add", a, rgmi_scalar(w, dtype, constant), NULL);
    case RGM_MAP_FLOOR:
        return rgmi_node(w, "Max", a, rgmi_scalar(w, dtype, constant), NULL);
    case RGM_MAP_IS_POSITIVE:
        return rgmi_cast(w, rgmi_node(w, "Greater", a, rgmi_scalar(w, dtype, 0), NULL), dtype);
    case RGM_MAP_GREATER:
        return rgmi_cast(w, rgmi_node(w, "Greater", a, b, NULL), dtype);
    case RGM_MAP_EQUAL:
        return rgmi_cast(w, rgmi_node(w, "Equal", a, b, NULL), dtype);
    default:
        return rgmi_fail(w, RGM_ERR_UNSUPPORTED, "op '%s' is a gradient and has no %s form",
                         w->hint, w->format);
    }
}

static void translate_map(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_attributes *a = rgm_value_attributes(y);

    name->name =
        element_wise(w, (rgm_map_code)a->integer[0], a->number[0], input(w, y, 0),
                     rgm_value_input_count(y) > 1 ? input(w, y, 1) : NULL, rgm_value_dtype(y));
}

static void translate_equal(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = rgmi_cast(w, rgmi_node(w, "Equal", input(w, y, 0), input(w, y, 1), NULL),
                           rgm_value_dtype(y));
}

static void translate_cast(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = rgmi_cast(w, input(w, y, 0), rgm_value_dtype(y));
}

/* Dropout in evaluation, stop_gradient and copies. */
static void translate_identity(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = input(w, y, 0);
}

static void translate_when_training(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = input(w, y, 1);
}

/* ---- shape --------------------------------------------------------------------------------- */

static void translate_reshape(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_value *x = rgm_value_input(y, 0);

    name->name = rgmi_reshape(w, input(w, y, 0), rgm_value_shape(x), rgm_value_rank(x),
                              rgm_value_shape(y), rgm_value_rank(y));
}

static void translate_permute(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = rgmi_node(w, "Transpose", input(w, y, 0), NULL, NULL);
    rgmi_write_ints(w, "perm", rgm_value_attributes(y)->integer, rgm_value_rank(y));
}

static void translate_concat(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    int count = rgm_value_input_count(y);
    const char **parts = rgmi_memory(w, (size_t)count * sizeof *parts);

    if (parts == NULL)
        return;
    for (int i = 0; i < count; i++)
        parts[i] = input(w, y, i);
    name->name = rgmi_concat(w, parts, count, rgm_value_attributes(y)->integer[0]);
}

static void translate_slice(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const int64_t *a = rgm_value_attributes(y)->integer; /* axis, begin, size */
    int64_t end = a[1] + a[2];
    const char *inputs[4];

    inputs[0] = input(w, y, 0);
    inputs[1] = rgmi_size(w, a[1]);
    if (a[1] >= 0 && a[2] >= 0)
        inputs[2] = rgmi_vector(w, &end, 1);
    else if (a[1] == 0)
        inputs[2] = rgmi_size(w, a[2]);
    else
        inputs[2] = rgmi_node(w, "Add", inputs[1], rgmi_size(w, a[2]), NULL);
    inputs[3] = rgmi_vector(w, &a[0], 1);
    name->name = rgmi_node_of(w, "Slice", inputs, 4);
}

static void translate_broadcast_to(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = rgmi_node(w, "Expand", input(w, y, 0),
                           rgmi_shape(w, rgm_value_shape(y), rgm_value_rank(y)), NULL);
}

/* max(size, 1) in a float dtype */
static const char *divisor(rgmi_writer *w, rgm_dim dim, rgm_dtype dtype)
{
    const char *one = rgmi_scalar(w, dtype, 1);

    return rgmi_node(w, "Max", rgmi_cast(w, rgmi_size_scalar(w, dim), dtype), one, NULL);
}

static void translate_inverse_dim(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name =
        rgmi_node(w, "Reciprocal",
                  divisor(w, rgm_value_attributes(y)->integer[0], rgm_value_dtype(y)), NULL, NULL);
}

/* ---- products and reductions --------------------------------------------------------------- */

static const char *transposed(rgmi_writer *w, const rgm_value *x, const char *name, bool swap)
{
    int64_t axes[RGM_MAX_RANK];
    int rank = rgm_value_rank(x);
    const char *y;

    if (!swap)
        return name;
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    axes[rank - 1] = rank - 2;
    axes[rank - 2] = rank - 1;
    y = rgmi_node(w, "Transpose", name, NULL, NULL);
    rgmi_write_ints(w, "perm", axes, rank);
    return y;
}

static void translate_matmul(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_attributes *a = rgm_value_attributes(y);
    const char *right = transposed(w, rgm_value_input(y, 1), input(w, y, 1), a->integer[1] != 0);
    const char *left = transposed(w, rgm_value_input(y, 0), input(w, y, 0), a->integer[0] != 0);
    const char *product = rgmi_node(w, "MatMul", left, right, NULL);

    if (rgm_value_input_count(y) > 2)
        product = rgmi_node(w, "Add", product, input(w, y, 2), NULL);
    name->name =
        rgmi_activate(w, product, (rgm_activation)a->integer[2], a->number[0], rgm_value_dtype(y));
}

/*
 * The maximum of nothing is the lowest number here and an error in some ONNX runtimes. So where the
 * axis may be empty, an infinity is appended, which changes no other result.
 */
static const char *extreme(rgmi_writer *w, const rgm_value *y, int axis, rgm_reduction reduction)
{
    const rgm_value *x = rgm_value_input(y, 0);
    bool most = reduction == RGM_MAX || reduction == RGM_MAX_NO_INF;
    const char *type = most ? "ReduceMax" : "ReduceMin", *parts[2], *found, *empty;
    rgm_dtype dtype = rgm_value_dtype(y);
    rgm_dim shape[RGM_MAX_RANK], size = rgm_value_dim(x, axis);

    if (size > 0)
        return rgmi_reduce(w, type, input(w, y, 0), axis, false);
    for (int i = 0; i < rgm_value_rank(x); i++)
        shape[i] = i == axis ? 1 : rgm_value_dim(x, i);
    parts[0] = input(w, y, 0);
    parts[1] =
        rgmi_filled(w, rgmi_shape(w, shape, rgm_value_rank(x)), dtype, most ? -INFINITY : INFINITY);
    found = rgmi_reduce(w, type, rgmi_concat(w, parts, 2, axis), axis, false);
    empty = rgmi_scalar(w, RGM_I64, 0);
    empty = rgmi_node(w, "Equal", rgmi_size_scalar(w, size), empty, NULL);
    return rgmi_node(w, "Where", empty, rgmi_scalar(w, dtype, rgmi_empty(reduction, dtype)), found);
}

static void translate_reduce(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_attributes *a = rgm_value_attributes(y);
    int axis = (int)a->integer[0];
    const char *x = input(w, y, 0), *by;

    switch ((rgm_reduction)a->integer[1]) {
    case RGM_SUM:
        name->name = rgmi_reduce(w, "ReduceSum", x, axis, false);
        break;
    case RGM_PROD:
        name->name = rgmi_reduce(w, "ReduceProd", x, axis, false);
        break;
    case RGM_MEAN: /* of nothing: 0, where ReduceMean gives NaN */
        by = divisor(w, rgm_value_dim(rgm_value_input(y, 0), axis), rgm_value_dtype(y));
        name->name = rgmi_node(w, "Div", rgmi_reduce(w, "ReduceSum", x, axis, false), by, NULL);
        break;
    default:
        name->name = extreme(w, y, axis, (rgm_reduction)a->integer[1]);
    }
}

static void translate_argmax(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = rgmi_node(w, "ArgMax", input(w, y, 0), NULL, NULL);
    rgmi_int(w, "axis", rgm_value_rank(rgm_value_input(y, 0)) - 1);
    rgmi_int(w, "keepdims", 0);
}

static void translate_softmax(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = rgmi_node(w, "Softmax", input(w, y, 0), NULL, NULL);
    rgmi_int(w, "axis", -1);
}

static void translate_log_softmax(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = rgmi_node(w, "LogSoftmax", input(w, y, 0), NULL, NULL);
    rgmi_int(w, "axis", -1);
}

/* LayerNormalization is defined in float; doubles are normalised step by step. */
static const char *normalised(rgmi_writer *w, const char *x, const rgm_value *y, double epsilon)
{
    int64_t channels = rgm_value_dim(y, -1), last = rgm_value_rank(y) - 1;
    const char *divided = rgmi_scalar(w, RGM_F64, (double)(channels > 0 ? channels : 1));
    const char *mean =
        rgmi_node(w, "Div", rgmi_reduce(w, "ReduceSum", x, last, true), divided, NULL);
    const char *z = rgmi_node(w, "Sub", x, mean, NULL);
    const char *square = rgmi_reduce(w, "ReduceSum", rgmi_node(w, "Mul", z, z, NULL), last, true);
    const char *least = rgmi_scalar(w, RGM_F64, epsilon);
    const char *variance =
        rgmi_node(w, "Add", rgmi_node(w, "Div", square, divided, NULL), least, NULL);

    return rgmi_node(w, "Div", z, rgmi_node(w, "Sqrt", variance, NULL, NULL), NULL);
}

static void translate_layer_norm(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const char *x = input(w, y, 0), *gamma = input(w, y, 1), *beta = input(w, y, 2);
    double epsilon = rgm_value_attributes(y)->number[0];

    if (rgm_value_input_count(y) > 3)
        x = rgmi_node(w, "Add", x, input(w, y, 3), NULL);
    if (rgm_value_dtype(y) == RGM_F64) {
        x = rgmi_node(w, "Mul", normalised(w, x, y, epsilon), gamma, NULL);
        name->name = rgmi_node(w, "Add", x, beta, NULL);
        return;
    }
    name->name = rgmi_node(w, "LayerNormalization", x, gamma, beta);
    rgmi_int(w, "axis", -1);
    rgmi_float(w, "epsilon", epsilon);
}

/* Opset 18 has no node for it. */
static void translate_rms_norm(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    rgm_dtype dtype = rgm_value_dtype(y);
    int64_t channels = rgm_value_dim(y, -1), last = rgm_value_rank(y) - 1;
    const char *x = input(w, y, 0),
               *divided = rgmi_scalar(w, dtype, (double)(channels > 0 ? channels : 1));
    const char *square = rgmi_reduce(w, "ReduceSum", rgmi_node(w, "Mul", x, x, NULL), last, true);
    const char *least = rgmi_scalar(w, dtype, rgm_value_attributes(y)->number[0]);
    const char *mean = rgmi_node(w, "Add", rgmi_node(w, "Div", square, divided, NULL), least, NULL);
    const char *z = rgmi_node(w, "Div", x, rgmi_node(w, "Sqrt", mean, NULL, NULL), NULL);

    name->name = rgmi_node(w, "Mul", z, input(w, y, 1), NULL);
}

/* The mean of x, shaped as `like`, over all axes but the last, which stay as axes of 1; 0 for
 * none. */
static const char *column_mean(rgmi_writer *w, const char *x, const rgm_value *like)
{
    const char *y = x;

    for (int i = 0; i < rgm_value_rank(like) - 1; i++) {
        const char *count = divisor(w, rgm_value_dim(like, i), rgm_value_dtype(like));
        y = rgmi_node(w, "Div", rgmi_reduce(w, "ReduceSum", y, i, true), count, NULL);
    }
    return y;
}

static void translate_batch_moments(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_value *of = rgm_value_input(y, 0);
    const char *x = input(w, y, 0), *mean = column_mean(w, x, of), *parts[2];
    const char *z = rgmi_node(w, "Sub", x, mean, NULL);
    int rank = rgm_value_rank(of);
    rgm_dim kept[RGM_MAX_RANK];

    for (int i = 0; i < rank; i++)
        kept[i] = i + 1 < rank ? 1 : rgm_value_dim(of, -1);
    parts[0] = mean;
    parts[1] = column_mean(w, rgmi_node(w, "Mul", z, z, NULL), of);
    for (int i = 0; i < 2; i++)
        parts[i] = rgmi_reshape(w, parts[i], kept, rank, kept + rank - 2, 2);
    name->name = rgmi_concat(w, parts, 2, 0);
}

static void translate_batch_norm(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const char *x = input(w, y, 0), *moments = input(w, y, 1), *part[2];
    const char *least = rgmi_scalar(w, rgm_value_dtype(y), rgm_value_attributes(y)->number[0]);

    for (int i = 0; i < 2; i++) {
        part[i] = rgmi_node(w, "Gather", moments, rgmi_scalar(w, RGM_I64, i), NULL);
        rgmi_int(w, "axis", 0);
    }
    part[1] = rgmi_node(w, "Sqrt", rgmi_node(w, "Add", part[1], least, NULL), NULL, NULL);
    x = rgmi_node(w, "Div", rgmi_node(w, "Sub", x, part[0], NULL), part[1], NULL);
    x = rgmi_node(w, "Mul", x, input(w, y, 2), NULL);
    name->name = rgmi_node(w, "Add", x, input(w, y, 3), NULL);
}

/* x / |x|, and 0 where |x| is 0: the norm there is replaced by 1. */
static void translate_l2_normalize(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    rgm_dtype dtype = rgm_value_dtype(y);
    const char *x = input(w, y, 0), *norm, *zero;

    norm =
        rgmi_reduce(w, "ReduceSum", rgmi_node(w, "Mul", x, x, NULL), rgm_value_rank(y) - 1, true);
    norm = rgmi_node(w, "Sqrt", norm, NULL, NULL);
    zero = rgmi_node(w, "Equal", norm, rgmi_scalar(w, dtype, 0), NULL);
    norm = rgmi_node(w, "Where", zero, rgmi_scalar(w, dtype, 1), norm);
    name->name = rgmi_node(w, "Div", x, norm, NULL);
}

static void translate_gather(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = rgmi_node(w, "Gather", input(w, y, 0), input(w, y, 1), NULL);
    rgmi_int(w, "axis", 0);
}

const rgmi_translation rgmi_dense_translations[] = {
    {"(element-wise)", translate_map},
    {"equal", translate_equal},
    {"cast", translate_cast},
    {"dropout", translate_identity},
    {"item_dropout", translate_identity},
    {"stop_gradient", translate_identity},
    {"when_training", translate_when_training},
    {"copy", translate_identity},
    {"reshape", translate_reshape},
    {"permute", translate_permute},
    {"concat", translate_concat},
    {"slice", translate_slice},
    {"broadcast_to", translate_broadcast_to},
    {"inverse_dim", translate_inverse_dim},
    {"matmul", translate_matmul},
    {"reduce", translate_reduce},
    {"argmax", translate_argmax},
    {"softmax", translate_softmax},
    {"log_softmax", translate_log_softmax},
    {"layer_norm", translate_layer_norm},
    {"rms_norm", translate_rms_norm},
    {"rotary", rgmi_translate_rotary},
    {"batch_moments", translate_batch_moments},
    {"batch_norm", translate_batch_norm},
    {"l2_normalize", translate_l2_normalize},
    {"gather", translate_gather},
    {"attention", rgmi_translate_attention},
    {NULL, NULL},
};
