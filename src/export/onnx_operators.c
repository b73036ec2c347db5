/* Element-wise ONNX operators with numpy's broadcasting. */
#include <math.h>
#include <string.h>

#include "onnx_internal.h"
#include "onnx_run.h"

/* ---- one operand --------------------------------------------------------------------------- */

static rgm_status each(rgmi_onnx_call *call, double (*f)(double))
{
    const rgm_tensor *x = call->in[0];

    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(x), rgm_tensor_rank(x), rgm_tensor_shape(x)));
    for (int64_t i = 0; i < rgm_tensor_count(x); i++)
        rgmi_put(call->out, i, f(rgm_tensor_at(x, i)));
    return RGM_OK;
}

static double neg(double x)
{
    return -x;
}
static double reciprocal(double x)
{
    return 1 / x;
}
static double relu(double x)
{
    return x < 0 ? 0 : x;
}
static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static double sign(double x)
{
    return (x > 0) - (x < 0);
}
static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

#define EACH(name, f)                                                                              \
    static rgm_status run_##name(rgmi_onnx_call *call)                                             \
    {                                                                                              \
        return each(call, f);                                                                      \
    }
EACH(neg, neg)
EACH(abs, fabs)
EACH(sqrt, sqrt)
EACH(reciprocal, reciprocal)
EACH(exp, exp)
EACH(log, log)
EACH(relu, relu)
EACH(sigmoid, sigmoid)
EACH(tanh, tanh)
EACH(sign, sign)
EACH(softplus, softplus)
EACH(erf, erf)

static rgm_status run_leaky_relu(rgmi_onnx_call *call)
{
    double alpha = rgmi_get_float(call, "alpha", 0.01);

    RGM_TRY(each(call, relu));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++)
        if (rgm_tensor_at(call->in[0], i) < 0)
            rgmi_put(call->out, i, alpha * rgm_tensor_at(call->in[0], i));
    return RGM_OK;
}

static rgm_status run_elu(rgmi_onnx_call *call)
{
    double alpha = rgmi_get_float(call, "alpha", 1);

    RGM_TRY(each(call, relu));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++)
        if (rgm_tensor_at(call->in[0], i) < 0)
            rgmi_put(call->out, i, alpha * expm1(rgm_tensor_at(call->in[0], i)));
    return RGM_OK;
}

static rgm_status run_identity(rgmi_onnx_call *call)
{
    call->out = rgm_tensor_retain(call->in[0]);
    return RGM_OK;
}

static rgm_status run_cast(rgmi_onnx_call *call)
{
    const rgm_tensor *x = call->in[0];
    rgm_dtype dtype;

    RGM_TRY(rgmi_onnx_dtype(&dtype, rgmi_get_int(call, "to", 0)));
    RGM_TRY(rgmi_make_out(call, dtype, rgm_tensor_rank(x), rgm_tensor_shape(x)));
    if (dtype == rgm_tensor_dtype(x)) { /* identifiers do not fit a double */
        rgmi_move(call->out, 0, x, 0, rgm_tensor_count(x));
        return RGM_OK;
    }
    for (int64_t i = 0; i < rgm_tensor_count(x); i++)
        rgmi_put(call->out, i, rgm_tensor_at(x, i));
    return RGM_OK;
}

/* ---- several operands, broadcast ----------------------------------------------------------- */

/* shape [rank] becomes its broadcast with sizes [count]. */
static rgm_status broadcast_with(int *rank, int64_t *shape, const rgmi_onnx_call *call, int count,
                                 const int64_t *sizes)
{
    int offset;

    if (count > *rank) {
        memmove(shape + (count - *rank), shape, (size_t)*rank * sizeof *shape);
        for (int i = 0; i < count - *rank; i++)
            shape[i] = 1;
        *rank = count;
    }
    offset = *rank - count;
    for (int i = 0; i < count; i++) {
        if (sizes[i] < 0 ||
            (sizes[i] != 1 && shape[offset + i] != 1 && sizes[i] != shape[offset + i]))
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "sizes %lld and %lld do not broadcast",
                                  (long long)shape[offset + i], (long long)sizes[i]);
        if (sizes[i] != 1)
            shape[offset + i] = sizes[i];
    }
    return RGM_OK;
}

/* Shape of the broadcast of all inputs. */
static rgm_status broadcast_shape(int *rank, int64_t *shape, const rgmi_onnx_call *call)
{
    *rank = 0;
    for (int k = 0; k < call->inputs; k++)
        RGM_TRY(broadcast_with(rank, shape, call, rgm_tensor_rank(call->in[k]),
                               rgm_tensor_shape(call->in[k])));
    return RGM_OK;
}

/* The index in tensor x of element `i` of the broadcast shape. */
static int64_t broadcast_index(const rgm_tensor *x, int64_t i, int rank, const int64_t *shape)
{
    int64_t index = 0, stride = 1;

    for (int axis = rank - 1; axis >= 0; axis--) {
        int own = axis - (rank - rgm_tensor_rank(x));
        int64_t at = i % shape[axis];

        i /= shape[axis];
        if (own < 0)
            break;
        if (rgm_tensor_dim(x, own) != 1)
            index += at * stride;
        stride *= rgm_tensor_dim(x, own);
    }
    return index;
}

static rgm_status pairs(rgmi_onnx_call *call, double (*f)(double, double), bool gives_bool)
{
    int64_t shape[RGM_MAX_RANK];
    int rank;

    if (rgm_tensor_dtype(call->in[0]) != rgm_tensor_dtype(call->in[1]))
        return rgmi_call_fail(call, RGM_ERR_DTYPE, "%s and %s",
                              rgm_dtype_name(rgm_tensor_dtype(call->in[0])),
                              rgm_dtype_name(rgm_tensor_dtype(call->in[1])));
    RGM_TRY(broadcast_shape(&rank, shape, call));
    RGM_TRY(
        rgmi_make_out(call, gives_bool ? RGM_BOOL : rgm_tensor_dtype(call->in[0]), rank, shape));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++)
        rgmi_put(call->out, i,
                 f(rgm_tensor_at(call->in[0], broadcast_index(call->in[0], i, rank, shape)),
                   rgm_tensor_at(call->in[1], broadcast_index(call->in[1], i, rank, shape))));
    return RGM_OK;
}

static double add(double a, double b)
{
    return a + b;
}
static double sub(double a, double b)
{
    return a - b;
}
static double mul(double a, double b)
{
    return a * b;
}
/* Unlike C's functions, these propagate a NaN. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}
static double smaller(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}
static double divide(double a, double b)
{
    return a / b;
}
static double either(double a, double b)
{
    return a != 0 || b != 0;
}

#define PAIRS(name, f)                                                                             \
    static rgm_status run_##name(rgmi_onnx_call *call)                                             \
    {                                                                                              \
        return pairs(call, f, false);                                                              \
    }
PAIRS(add, add)
PAIRS(sub, sub)
PAIRS(mul, mul)
PAIRS(div, divide)
PAIRS(max, larger)
PAIRS(min, smaller)

static rgm_status run_or(rgmi_onnx_call *call)
{
    if (rgm_tensor_dtype(call->in[0]) != RGM_BOOL)
        return rgmi_call_fail(call, RGM_ERR_DTYPE, "needs bool");
    return pairs(call, either, true);
}

/* Integers are compared as integers, as identifiers are. */
static rgm_status compare(rgmi_onnx_call *call, bool (*floats)(double, double),
                          bool (*integers)(int64_t, int64_t))
{
    const rgm_tensor *a = call->in[0], *b = call->in[1];
    rgm_dtype dtype = rgm_tensor_dtype(a);
    bool is_float = dtype == RGM_F32 || dtype == RGM_F64;
    int64_t shape[RGM_MAX_RANK];
    int rank;

    if (dtype != rgm_tensor_dtype(b))
        return rgmi_call_fail(call, RGM_ERR_DTYPE, "%s and %s", rgm_dtype_name(dtype),
                              rgm_dtype_name(rgm_tensor_dtype(b)));
    RGM_TRY(broadcast_shape(&rank, shape, call));
    RGM_TRY(rgmi_make_out(call, RGM_BOOL, rank, shape));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++) {
        int64_t p = broadcast_index(a, i, rank, shape), q = broadcast_index(b, i, rank, shape);

        rgm_tensor_bool(call->out)[i] =
            is_float ? floats(rgm_tensor_at(a, p), rgm_tensor_at(b, q))
                     : integers(rgm_tensor_at_int(a, p), rgm_tensor_at_int(b, q));
    }
    return RGM_OK;
}

static bool greater(double a, double b)
{
    return a > b;
}
static bool greater_int(int64_t a, int64_t b)
{
    return a > b;
}
static bool equal(double a, double b)
{
    return a == b;
}
static bool equal_int(int64_t a, int64_t b)
{
    return a == b;
}

static rgm_status run_greater(rgmi_onnx_call *call)
{
    return compare(call, greater, greater_int);
}

static rgm_status run_equal(rgmi_onnx_call *call)
{
    return compare(call, equal, equal_int);
}

static rgm_status run_where(rgmi_onnx_call *call)
{
    int64_t shape[RGM_MAX_RANK];
    int rank;

    if (rgm_tensor_dtype(call->in[0]) != RGM_BOOL ||
        rgm_tensor_dtype(call->in[1]) != rgm_tensor_dtype(call->in[2]))
        return rgmi_call_fail(call, RGM_ERR_DTYPE, "needs bool, and two of one type");
    RGM_TRY(broadcast_shape(&rank, shape, call));
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(call->in[1]), rank, shape));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++) {
        bool first = rgm_tensor_at(call->in[0], broadcast_index(call->in[0], i, rank, shape)) != 0;
        const rgm_tensor *from = call->in[first ? 1 : 2];

        rgmi_move(call->out, i, from, broadcast_index(from, i, rank, shape), 1);
    }
    return RGM_OK;
}

static rgm_status run_expand(rgmi_onnx_call *call)
{
    int64_t wanted[RGM_MAX_RANK], shape[RGM_MAX_RANK];
    int count, rank = rgm_tensor_rank(call->in[0]);

    RGM_TRY(rgmi_read_sizes(wanted, &count, call, 1));
    for (int i = 0; i < rank; i++)
        shape[i] = rgm_tensor_dim(call->in[0], i);
    RGM_TRY(broadcast_with(&rank, shape, call, count, wanted));
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(call->in[0]), rank, shape));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++)
        rgmi_move(call->out, i, call->in[0], broadcast_index(call->in[0], i, rank, shape), 1);
    return RGM_OK;
}

const rgmi_operator rgmi_elementwise_operators[] = {
    {"Neg", 1, 1, run_neg, {NULL}},
    {"Abs", 1, 1, run_abs, {NULL}},
    {"Sqrt", 1, 1, run_sqrt, {NULL}},
    {"Reciprocal", 1, 1, run_reciprocal, {NULL}},
    {"Exp", 1, 1, run_exp, {NULL}},
    {"Log", 1, 1, run_log, {NULL}},
    {"Relu", 1, 1, run_relu, {NULL}},
    {"Sigmoid", 1, 1, run_sigmoid, {NULL}},
    {"Tanh", 1, 1, run_tanh, {NULL}},
    {"Sign", 1, 1, run_sign, {NULL}},
    {"Softplus", 1, 1, run_softplus, {NULL}},
    {"Erf", 1, 1, run_erf, {NULL}},
    {"LeakyRelu", 1, 1, run_leaky_relu, {"alpha"}},
    {"Elu", 1, 1, run_elu, {"alpha"}},
    {"Identity", 1, 1, run_identity, {NULL}},
    {"Cast", 1, 1, run_cast, {"to"}},
    {"Add", 2, 2, run_add, {NULL}},
    {"Sub", 2, 2, run_sub, {NULL}},
    {"Mul", 2, 2, run_mul, {NULL}},
    {"Div", 2, 2, run_div, {NULL}},
    {"Max", 2, 2, run_max, {NULL}},
    {"Min", 2, 2, run_min, {NULL}},
    {"Greater", 2, 2, run_greater, {NULL}},
    {"Equal", 2, 2, run_equal, {NULL}},
    {"Or", 2, 2, run_or, {NULL}},
    {"Where", 3, 3, run_where, {NULL}},
    {"Expand", 2, 2, run_expand, {NULL}},
    {NULL, 0, 0, NULL, {NULL}},
};
