/* Element-wise ONNX operators with numpy's broadcasting, and helpers that all operators share. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx_internal.h"
#include "onnx_run.h"

/* ---- helpers ------------------------------------------------------------------------------- */

rgm_status rgmi_call_fail(const rgmi_call *call, rgm_status code, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return RGM_FAIL(code, "ONNX node '%s' (%s): %s", call->node->name != NULL ? call->node->name : "",
                    call->node->op_type, text);
}

const Rgmi__Onnx__AttributeProto *rgmi_get(const rgmi_call *call, const char *name)
{
    for (size_t i = 0; i < call->node->n_attribute; i++)
        if (call->node->attribute[i]->name != NULL &&
            strcmp(call->node->attribute[i]->name, name) == 0)
            return call->node->attribute[i];
    return NULL;
}

int64_t rgmi_get_int(const rgmi_call *call, const char *name, int64_t otherwise)
{
    const Rgmi__Onnx__AttributeProto *a = rgmi_get(call, name);

    return a != NULL && a->has_i ? a->i : otherwise;
}

double rgmi_get_float(const rgmi_call *call, const char *name, double otherwise)
{
    const Rgmi__Onnx__AttributeProto *a = rgmi_get(call, name);

    return a != NULL && a->has_f ? (double)a->f : otherwise;
}

bool rgmi_get_is(const rgmi_call *call, const char *name, const char *text)
{
    const Rgmi__Onnx__AttributeProto *a = rgmi_get(call, name);

    return a != NULL && a->has_s && a->s.len == strlen(text) &&
           memcmp(a->s.data, text, a->s.len) == 0;
}

rgm_status rgmi_make_out(rgmi_call *call, rgm_dtype dtype, int rank, const int64_t *shape)
{
    int64_t count = 1;

    for (int i = 0; i < rank; i++)
        if (shape[i] < 0 || __builtin_mul_overflow(count, shape[i], &count) ||
            count > RGMI_ONNX_MAX_ELEMENTS)
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "a result of impossible size");
    return rgm_tensor_create(&call->out, dtype, rank, shape);
}

void rgmi_put(rgm_tensor *tensor, int64_t i, double value)
{
    switch (rgm_tensor_dtype(tensor)) {
    case RGM_F32:
        rgm_tensor_f32(tensor)[i] = (float)value;
        break;
    case RGM_F64:
        rgm_tensor_f64(tensor)[i] = value;
        break;
    case RGM_I32:
        rgm_tensor_i32(tensor)[i] = (int32_t)value;
        break;
    case RGM_I64:
        rgm_tensor_i64(tensor)[i] = (int64_t)value;
        break;
    default:
        rgm_tensor_bool(tensor)[i] = value != 0;
    }
}

rgm_status rgmi_read_sizes(int64_t *sizes, int *count, const rgmi_call *call, int input)
{
    const rgm_tensor *t = call->in[input];

    if (rgm_tensor_dtype(t) != RGM_I64 || rgm_tensor_rank(t) > 1 ||
        rgm_tensor_count(t) > RGM_MAX_RANK)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "input %d is not a list of up to %d sizes", input,
                              RGM_MAX_RANK);
    *count = (int)rgm_tensor_count(t);
    for (int i = 0; i < *count; i++)
        sizes[i] = rgm_tensor_i64(t)[i];
    return RGM_OK;
}

rgm_status rgmi_axis(int *out, const rgmi_call *call, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "axis %lld of rank %d", (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return RGM_OK;
}

/* ---- one operand --------------------------------------------------------------------------- */

static rgm_status each(rgmi_call *call, double (*f)(double))
{
    const rgm_tensor *x = call->in[0];

    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(x), rgm_tensor_rank(x), rgm_tensor_shape(x)));
    for (int64_t i = 0; i < rgm_tensor_count(x); i++)
        rgmi_put(call->out, i, f(rgm_tensor_at(x, i)));
    return RGM_OK;
}

static double neg(double x) { return -x; }
static double reciprocal(double x) { return 1 / x; }
static double relu(double x) { return x > 0 ? x : 0; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double sign(double x) { return (x > 0) - (x < 0); }
static double softplus(double x) { return fmax(x, 0) + log1p(exp(-fabs(x))); }

#define EACH(name, f)                                                                              \
    static rgm_status run_##name(rgmi_call *call)                                                  \
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

static rgm_status run_leaky_relu(rgmi_call *call)
{
    double alpha = rgmi_get_float(call, "alpha", 0.01);

    RGM_TRY(each(call, relu));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++)
        if (rgm_tensor_at(call->in[0], i) < 0)
            rgmi_put(call->out, i, alpha * rgm_tensor_at(call->in[0], i));
    return RGM_OK;
}

static rgm_status run_elu(rgmi_call *call)
{
    double alpha = rgmi_get_float(call, "alpha", 1);

    RGM_TRY(each(call, relu));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++)
        if (rgm_tensor_at(call->in[0], i) < 0)
            rgmi_put(call->out, i, alpha * expm1(rgm_tensor_at(call->in[0], i)));
    return RGM_OK;
}

static rgm_status run_identity(rgmi_call *call)
{
    call->out = rgm_tensor_retain(call->in[0]);
    return RGM_OK;
}

static rgm_status run_cast(rgmi_call *call)
{
    const rgm_tensor *x = call->in[0];
    rgm_dtype dtype;

    RGM_TRY(rgmi_onnx_dtype(&dtype, (int)rgmi_get_int(call, "to", 0)));
    RGM_TRY(rgmi_make_out(call, dtype, rgm_tensor_rank(x), rgm_tensor_shape(x)));
    for (int64_t i = 0; i < rgm_tensor_count(x); i++)
        rgmi_put(call->out, i, rgm_tensor_at(x, i));
    return RGM_OK;
}

/* ---- several operands, broadcast ----------------------------------------------------------- */

/* Shape of the broadcast of inputs [first, last). */
static rgm_status broadcast_shape(int *rank, int64_t *shape, const rgmi_call *call, int first,
                                  int last)
{
    *rank = 0;
    for (int k = first; k < last; k++)
        if (rgm_tensor_rank(call->in[k]) > *rank)
            *rank = rgm_tensor_rank(call->in[k]);
    for (int i = 0; i < *rank; i++)
        shape[i] = 1;
    for (int k = first; k < last; k++) {
        int offset = *rank - rgm_tensor_rank(call->in[k]);

        for (int i = 0; i < rgm_tensor_rank(call->in[k]); i++) {
            int64_t size = rgm_tensor_dim(call->in[k], i);

            if (size != 1 && shape[offset + i] != 1 && size != shape[offset + i])
                return rgmi_call_fail(call, RGM_ERR_SHAPE, "sizes %lld and %lld do not broadcast",
                                      (long long)size, (long long)shape[offset + i]);
            if (size != 1)
                shape[offset + i] = size;
        }
    }
    return RGM_OK;
}

/* Where element `i` of the broadcast shape stands in tensor x. */
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

static rgm_status pairs(rgmi_call *call, double (*f)(double, double), bool gives_bool)
{
    int64_t shape[RGM_MAX_RANK];
    int rank;

    if (rgm_tensor_dtype(call->in[0]) != rgm_tensor_dtype(call->in[1]))
        return rgmi_call_fail(call, RGM_ERR_DTYPE, "%s and %s",
                              rgm_dtype_name(rgm_tensor_dtype(call->in[0])),
                              rgm_dtype_name(rgm_tensor_dtype(call->in[1])));
    RGM_TRY(broadcast_shape(&rank, shape, call, 0, 2));
    RGM_TRY(rgmi_make_out(call, gives_bool ? RGM_BOOL : rgm_tensor_dtype(call->in[0]), rank, shape));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++)
        rgmi_put(call->out, i,
                 f(rgm_tensor_at(call->in[0], broadcast_index(call->in[0], i, rank, shape)),
                   rgm_tensor_at(call->in[1], broadcast_index(call->in[1], i, rank, shape))));
    return RGM_OK;
}

static double add(double a, double b) { return a + b; }
static double sub(double a, double b) { return a - b; }
static double mul(double a, double b) { return a * b; }
static double divide(double a, double b) { return a / b; }
static double greater(double a, double b) { return a > b; }
static double equal(double a, double b) { return a == b; }

#define PAIRS(name, f, gives_bool)                                                                 \
    static rgm_status run_##name(rgmi_call *call)                                                  \
    {                                                                                              \
        return pairs(call, f, gives_bool);                                                         \
    }
PAIRS(add, add, false)
PAIRS(sub, sub, false)
PAIRS(mul, mul, false)
PAIRS(div, divide, false)
PAIRS(max, fmax, false)
PAIRS(min, fmin, false)
PAIRS(greater, greater, true)
PAIRS(equal, equal, true)

static rgm_status run_where(rgmi_call *call)
{
    int64_t shape[RGM_MAX_RANK];
    int rank;

    if (rgm_tensor_dtype(call->in[0]) != RGM_BOOL ||
        rgm_tensor_dtype(call->in[1]) != rgm_tensor_dtype(call->in[2]))
        return rgmi_call_fail(call, RGM_ERR_DTYPE, "needs bool, and two of one type");
    RGM_TRY(broadcast_shape(&rank, shape, call, 0, 3));
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(call->in[1]), rank, shape));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++) {
        bool first = rgm_tensor_at(call->in[0], broadcast_index(call->in[0], i, rank, shape)) != 0;
        const rgm_tensor *from = call->in[first ? 1 : 2];

        rgmi_put(call->out, i, rgm_tensor_at(from, broadcast_index(from, i, rank, shape)));
    }
    return RGM_OK;
}

static rgm_status run_expand(rgmi_call *call)
{
    int64_t wanted[RGM_MAX_RANK], shape[RGM_MAX_RANK];
    int count, rank;
    rgm_tensor *like = NULL;
    rgmi_call both = *call;
    rgm_status status;

    RGM_TRY(rgmi_read_sizes(wanted, &count, call, 1));
    /* A header of the wanted shape, to be broadcast with; it has no elements to read. */
    RGM_TRY(rgm_tensor_wrap(&like, RGM_BOOL, count, wanted, NULL, NULL, NULL));
    both.in[1] = like;
    status = broadcast_shape(&rank, shape, &both, 0, 2);
    rgm_tensor_release(like);
    RGM_TRY(status);
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(call->in[0]), rank, shape));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++)
        rgmi_put(call->out, i,
                 rgm_tensor_at(call->in[0], broadcast_index(call->in[0], i, rank, shape)));
    return RGM_OK;
}

const rgmi_operator rgmi_elementwise_operators[] = {
    {"Neg", 1, 1, run_neg},
    {"Abs", 1, 1, run_abs},
    {"Sqrt", 1, 1, run_sqrt},
    {"Reciprocal", 1, 1, run_reciprocal},
    {"Exp", 1, 1, run_exp},
    {"Log", 1, 1, run_log},
    {"Relu", 1, 1, run_relu},
    {"Sigmoid", 1, 1, run_sigmoid},
    {"Tanh", 1, 1, run_tanh},
    {"Sign", 1, 1, run_sign},
    {"Softplus", 1, 1, run_softplus},
    {"Erf", 1, 1, run_erf},
    {"LeakyRelu", 1, 1, run_leaky_relu},
    {"Elu", 1, 1, run_elu},
    {"Identity", 1, 1, run_identity},
    {"Cast", 1, 1, run_cast},
    {"Add", 2, 2, run_add},
    {"Sub", 2, 2, run_sub},
    {"Mul", 2, 2, run_mul},
    {"Div", 2, 2, run_div},
    {"Max", 2, 2, run_max},
    {"Min", 2, 2, run_min},
    {"Greater", 2, 2, run_greater},
    {"Equal", 2, 2, run_equal},
    {"Where", 3, 3, run_where},
    {"Expand", 2, 2, run_expand},
    {NULL, 0, 0, NULL},
};
