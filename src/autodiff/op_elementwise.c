/*
 * Element-wise arithmetic with numpy's broadcasting. Each op is one instruction of a map program:
 * attribute integer[0] is its code, number[0] its constant. Gradients are made of the same ops.
 */
#include "autodiff_internal.h"

static rgm_status broadcast_infer(rgm_op_shape *out, rgm_value *const *in, int inputs)
{
    char a[RGMI_TEXT], b[RGMI_TEXT];

    *out = in[0]->s;
    for (int k = 1; k < inputs; k++) {
        const rgm_op_shape *y = &in[k]->s;
        int rank = out->rank > y->rank ? out->rank : y->rank;
        rgm_op_shape merged = {.dtype = out->dtype, .rank = rank};
        for (int i = 1; i <= rank; i++) {
            rgm_dim p = i <= out->rank ? out->shape[out->rank - i] : 1;
            rgm_dim q = i <= y->rank ? y->shape[y->rank - i] : 1;
            if (p != q && p != 1 && q != 1)
                return RGM_FAIL(RGM_ERR_SHAPE, "shapes do not broadcast: %s and %s",
                                rgmi_shape_text(a, sizeof a, in[0]),
                                rgmi_shape_text(b, sizeof b, in[k]));
            merged.shape[rank - i] = p == 1 ? q : p;
        }
        *out = merged;
    }
    return RGM_OK;
}

static rgm_status elementwise_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                    const rgm_attributes *attributes)
{
    (void)attributes;
    for (int i = 0; i < inputs; i++) {
        RGM_TRY(rgmi_need_float(in[i], i == 0 ? "first input" : "second input"));
        if (in[i]->s.dtype != in[0]->s.dtype)
            return RGM_FAIL(RGM_ERR_DTYPE, "dtypes differ: %s and %s",
                            rgm_dtype_name(in[0]->s.dtype), rgm_dtype_name(in[i]->s.dtype));
    }
    return broadcast_infer(out, in, inputs);
}

static rgm_status elementwise_forward(rgm_op_run *run)
{
    const rgm_attributes *a = run->attributes;
    rgmi_program program;

    program.inputs = run->inputs;
    program.steps = 1;
    program.step[0] = (rgm_map_step){
        .code = (rgm_map_code)a->integer[0], .a = 0, .b = 1, .constant = a->number[0]};
    rgmi_map_run(run->kernels, run->out, run->in, &program);
    return RGM_OK;
}

rgm_value *rgmi_map_op(const rgm_op_type *type, rgm_map_code code, rgm_value *a, rgm_value *b,
                       double constant)
{
    rgm_attributes attributes = {.number[0] = constant, .integer[0] = code};

    if (a == NULL || (type->arity == 2 && b == NULL))
        return NULL;
    return rgm_op(a->graph, type, (rgm_value *[]){a, b}, type->arity, &attributes);
}

/* dy times something, in the shape of an input that was perhaps broadcast. */
#define BACKWARD(name)                                                                             \
    static rgm_status name##_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,                 \
                                      const bool *wanted)
#define ROW(op, arity_, backward_, no_gradient_)                                                   \
    const rgm_op_type rgmi_##op##_op = {                                                           \
        .name = #op,                                                                               \
        .arity = arity_,                                                                           \
        .infer = elementwise_infer,                                                                \
        .forward = elementwise_forward,                                                            \
        .backward = backward_,                                                                     \
        .no_gradient = no_gradient_,                                                               \
        .in_place = true,                                                                          \
        .elementwise = true,                                                                       \
    }

/* ---- two operands ---- */

BACKWARD(add)
{
    for (int i = 0; i < 2; i++)
        dx[i] = wanted[i] ? rgmi_sum_to(dy, y->in[i]) : NULL;
    return RGM_OK;
}

BACKWARD(sub)
{
    dx[0] = wanted[0] ? rgmi_sum_to(dy, y->in[0]) : NULL;
    dx[1] = wanted[1] ? rgm_neg(rgmi_sum_to(dy, y->in[1])) : NULL;
    return RGM_OK;
}

BACKWARD(mul)
{
    for (int i = 0; i < 2; i++)
        dx[i] = wanted[i] ? rgmi_sum_to(rgm_mul(dy, y->in[1 - i]), y->in[i]) : NULL;
    return RGM_OK;
}

BACKWARD(div)
{
    rgm_value *a = y->in[0], *b = y->in[1], *da = rgm_div(dy, b);

    dx[0] = wanted[0] ? rgmi_sum_to(da, a) : NULL;
    dx[1] = wanted[1] ? rgm_neg(rgmi_sum_to(rgm_mul(da, y), b)) : NULL;
    return RGM_OK;
}

/* 1 where a wins, 0 where b does, 1/2 for ties. */
static rgm_value *share(rgm_value *a, rgm_value *b)
{
    rgm_value *lost = rgm_greater(b, a);

    return rgm_scale(rgm_shift(rgm_sub(rgm_greater(a, b), lost), 1), 0.5);
}

BACKWARD(maximum)
{
    for (int i = 0; i < 2; i++)
        dx[i] =
            wanted[i] ? rgmi_sum_to(rgm_mul(dy, share(y->in[i], y->in[1 - i])), y->in[i]) : NULL;
    return RGM_OK;
}

BACKWARD(minimum)
{
    for (int i = 0; i < 2; i++)
        dx[i] =
            wanted[i] ? rgmi_sum_to(rgm_mul(dy, share(y->in[1 - i], y->in[i])), y->in[i]) : NULL;
    return RGM_OK;
}

ROW(add, 2, add_backward, NULL);
ROW(sub, 2, sub_backward, NULL);
ROW(mul, 2, mul_backward, NULL);
ROW(div, 2, div_backward, NULL);
ROW(maximum, 2, maximum_backward, NULL);
ROW(minimum, 2, minimum_backward, NULL);
ROW(greater, 2, NULL, "a step function");
ROW(relu_grad, 2, NULL, rgmi_second);
ROW(leaky_relu_grad, 2, NULL, rgmi_second);
ROW(elu_grad, 2, NULL, rgmi_second);
ROW(sigmoid_grad, 2, NULL, rgmi_second);
ROW(tanh_grad, 2, NULL, rgmi_second);

rgm_value *rgm_add(rgm_value *a, rgm_value *b)
{
    return rgmi_map_op(&rgmi_add_op, RGM_MAP_ADD, a, b, 0);
}
rgm_value *rgm_sub(rgm_value *a, rgm_value *b)
{
    return rgmi_map_op(&rgmi_sub_op, RGM_MAP_SUB, a, b, 0);
}
rgm_value *rgm_mul(rgm_value *a, rgm_value *b)
{
    return rgmi_map_op(&rgmi_mul_op, RGM_MAP_MUL, a, b, 0);
}
rgm_value *rgm_div(rgm_value *a, rgm_value *b)
{
    return rgmi_map_op(&rgmi_div_op, RGM_MAP_DIV, a, b, 0);
}
rgm_value *rgm_maximum(rgm_value *a, rgm_value *b)
{
    return rgmi_map_op(&rgmi_maximum_op, RGM_MAP_MAX, a, b, 0);
}
rgm_value *rgm_minimum(rgm_value *a, rgm_value *b)
{
    return rgmi_map_op(&rgmi_minimum_op, RGM_MAP_MIN, a, b, 0);
}
rgm_value *rgm_greater(rgm_value *a, rgm_value *b)
{
    return rgmi_map_op(&rgmi_greater_op, RGM_MAP_GREATER, a, b, 0);
}
rgm_value *rgmi_relu_grad(rgm_value *dy, rgm_value *y)
{
    return rgmi_map_op(&rgmi_relu_grad_op, RGM_MAP_RELU_GRAD, dy, y, 0);
}

/* ---- one operand ---- */

BACKWARD(scale)
{
    (void)wanted;
    dx[0] = rgm_scale(dy, y->attributes.number[0]);
    return RGM_OK;
}

BACKWARD(shift)
{
    (void)y, (void)wanted;
    dx[0] = dy;
    return RGM_OK;
}

BACKWARD(neg)
{
    (void)y, (void)wanted;
    dx[0] = rgm_neg(dy);
    return RGM_OK;
}

BACKWARD(abs)
{
    (void)wanted;
    dx[0] = rgm_mul(dy, rgmi_map_op(&rgmi_sign_op, RGM_MAP_SIGN, y->in[0], NULL, 0));
    return RGM_OK;
}

BACKWARD(square)
{
    (void)wanted;
    dx[0] = rgm_mul(dy, rgm_scale(y->in[0], 2));
    return RGM_OK;
}

BACKWARD(sqrt)
{
    (void)wanted;
    dx[0] = rgm_div(rgm_scale(dy, 0.5), y);
    return RGM_OK;
}

BACKWARD(rsqrt)
{
    rgm_value *cube = rgm_mul(y, rgm_square(y));

    (void)wanted;
    dx[0] = rgm_mul(rgm_scale(dy, -0.5), cube);
    return RGM_OK;
}

BACKWARD(reciprocal)
{
    (void)wanted;
    dx[0] = rgm_neg(rgm_mul(dy, rgm_square(y)));
    return RGM_OK;
}

BACKWARD(exp)
{
    (void)wanted;
    dx[0] = rgm_mul(dy, y);
    return RGM_OK;
}

BACKWARD(log)
{
    (void)wanted;
    dx[0] = rgm_div(dy, y->in[0]);
    return RGM_OK;
}

BACKWARD(softplus)
{
    (void)wanted;
    dx[0] = rgm_mul(dy, rgm_sigmoid(y->in[0]));
    return RGM_OK;
}

BACKWARD(floor_at)
{
    (void)wanted;
    dx[0] = rgmi_relu_grad(dy, rgm_shift(y->in[0], -y->attributes.number[0]));
    return RGM_OK;
}

BACKWARD(relu)
{
    (void)wanted;
    dx[0] = rgmi_relu_grad(dy, y);
    return RGM_OK;
}

/* With a positive slope y has x's sign, so that x need not be kept. */
BACKWARD(leaky_relu)
{
    double slope = y->attributes.number[0];

    (void)wanted;
    dx[0] = rgmi_map_op(&rgmi_leaky_relu_grad_op, RGM_MAP_LEAKY_GRAD, dy, slope > 0 ? y : y->in[0],
                        slope);
    return RGM_OK;
}

BACKWARD(elu)
{
    (void)wanted;
    dx[0] = rgmi_map_op(&rgmi_elu_grad_op, RGM_MAP_ELU_GRAD, dy, y, 0);
    return RGM_OK;
}

BACKWARD(sigmoid)
{
    (void)wanted;
    dx[0] = rgmi_map_op(&rgmi_sigmoid_grad_op, RGM_MAP_SIGMOID_GRAD, dy, y, 0);
    return RGM_OK;
}

BACKWARD(tanh)
{
    (void)wanted;
    dx[0] = rgmi_map_op(&rgmi_tanh_grad_op, RGM_MAP_TANH_GRAD, dy, y, 0);
    return RGM_OK;
}

BACKWARD(gelu)
{
    (void)wanted;
    dx[0] = rgm_mul(dy, rgmi_map_op(&rgmi_gelu_slope_op, RGM_MAP_GELU_SLOPE, y->in[0], NULL, 0));
    return RGM_OK;
}

BACKWARD(silu)
{
    (void)wanted;
    dx[0] = rgm_mul(dy, rgmi_map_op(&rgmi_silu_slope_op, RGM_MAP_SILU_SLOPE, y->in[0], NULL, 0));
    return RGM_OK;
}

BACKWARD(gelu_tanh)
{
    rgm_value *slope =
        rgmi_map_op(&rgmi_gelu_tanh_slope_op, RGM_MAP_GELU_TANH_SLOPE, y->in[0], NULL, 0);

    (void)wanted;
    dx[0] = rgm_mul(dy, slope);
    return RGM_OK;
}

ROW(scale, 1, scale_backward, NULL);
ROW(shift, 1, shift_backward, NULL);
ROW(neg, 1, neg_backward, NULL);
ROW(abs, 1, abs_backward, NULL);
ROW(square, 1, square_backward, NULL);
ROW(sqrt, 1, sqrt_backward, NULL);
ROW(rsqrt, 1, rsqrt_backward, NULL);
ROW(reciprocal, 1, reciprocal_backward, NULL);
ROW(exp, 1, exp_backward, NULL);
ROW(log, 1, log_backward, NULL);
ROW(softplus, 1, softplus_backward, NULL);
ROW(floor_at, 1, floor_at_backward, NULL);
ROW(sign, 1, NULL, "a step function");
ROW(relu, 1, relu_backward, NULL);
ROW(leaky_relu, 1, leaky_relu_backward, NULL);
ROW(elu, 1, elu_backward, NULL);
ROW(sigmoid, 1, sigmoid_backward, NULL);
ROW(tanh, 1, tanh_backward, NULL);
ROW(gelu, 1, gelu_backward, NULL);
ROW(gelu_slope, 1, NULL, rgmi_second);
ROW(silu, 1, silu_backward, NULL);
ROW(silu_slope, 1, NULL, rgmi_second);
ROW(gelu_tanh, 1, gelu_tanh_backward, NULL);
ROW(gelu_tanh_slope, 1, NULL, rgmi_second);

#define UNARY(name, code)                                                                          \
    rgm_value *rgm_##name(rgm_value *x)                                                            \
    {                                                                                              \
        return rgmi_map_op(&rgmi_##name##_op, code, x, NULL, 0);                                   \
    }
#define UNARY_WITH(name, code)                                                                     \
    rgm_value *rgm_##name(rgm_value *x, double constant)                                           \
    {                                                                                              \
        return rgmi_map_op(&rgmi_##name##_op, code, x, NULL, constant);                            \
    }

UNARY_WITH(scale, RGM_MAP_SCALE)
UNARY_WITH(shift, RGM_MAP_SHIFT)
UNARY_WITH(floor_at, RGM_MAP_FLOOR)
UNARY_WITH(leaky_relu, RGM_MAP_LEAKY_RELU)
UNARY(neg, RGM_MAP_NEG)
UNARY(abs, RGM_MAP_ABS)
UNARY(square, RGM_MAP_SQUARE)
UNARY(sqrt, RGM_MAP_SQRT)
UNARY(rsqrt, RGM_MAP_RSQRT)
UNARY(reciprocal, RGM_MAP_RECIPROCAL)
UNARY(exp, RGM_MAP_EXP)
UNARY(log, RGM_MAP_LOG)
UNARY(softplus, RGM_MAP_SOFTPLUS)
UNARY(relu, RGM_MAP_RELU)
UNARY(elu, RGM_MAP_ELU)
UNARY(sigmoid, RGM_MAP_SIGMOID)
UNARY(tanh, RGM_MAP_TANH)
UNARY(gelu, RGM_MAP_GELU)
UNARY(silu, RGM_MAP_SILU)
UNARY(gelu_tanh, RGM_MAP_GELU_TANH)

rgm_value *rgm_activate(rgm_value *x, rgm_activation activation, double slope)
{
    switch (activation) {
    case RGM_ACT_NONE:
        return x;
    case RGM_ACT_RELU:
        return rgm_relu(x);
    case RGM_ACT_LEAKY_RELU:
        return rgm_leaky_relu(x, slope);
    case RGM_ACT_ELU:
        return rgm_elu(x);
    case RGM_ACT_SIGMOID:
        return rgm_sigmoid(x);
    case RGM_ACT_TANH:
        return rgm_tanh(x);
    case RGM_ACT_GELU:
        return rgm_gelu(x);
    case RGM_ACT_SILU:
        return rgm_silu(x);
    case RGM_ACT_GELU_TANH:
        return rgm_gelu_tanh(x);
    }
    return x == NULL ? NULL
                     : rgm_cgraph_fail(x->graph, RGM_ERR_ARG, "activation %d is unknown",
                                       (int)activation);
}

const char *const rgm_activation_names[] = {"linear", "relu", "leaky_relu", "elu",       "sigmoid",
                                            "tanh",   "gelu", "silu",       "gelu_tanh", NULL};

/* max(z,0) - z t + log(1 + exp(-|z|)) = softplus(z) - z t. */
rgm_value *rgm_sigmoid_cross_entropy(rgm_value *logits, rgm_value *targets)
{
    rgm_value *product = rgm_mul(logits, targets);

    return rgm_sub(rgm_softplus(logits), product);
}

/* ---- equal: any dtype ---- */

static rgm_status equal_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                              const rgm_attributes *attributes)
{
    (void)attributes;
    if (in[0]->s.is_pattern || in[1]->s.is_pattern || in[0]->s.dtype != in[1]->s.dtype)
        return RGM_FAIL(RGM_ERR_DTYPE, "dtypes differ: %s and %s", rgm_dtype_name(in[0]->s.dtype),
                        rgm_dtype_name(in[1]->s.dtype));
    RGM_TRY(broadcast_infer(out, in, inputs));
    out->dtype = rgmi_is_float(in[0]->s.dtype) ? in[0]->s.dtype : RGM_F32;
    return RGM_OK;
}

static rgm_status equal_forward(rgm_op_run *run)
{
    rgm_equal_args args = {.y = run->out->data,
                           .a = run->in[0].data,
                           .b = run->in[1].data,
                           .dtype = run->in[0].dtype,
                           .rank = run->out->rank};

    if (rgmi_is_float(run->in[0].dtype))
        return elementwise_forward(run);
    memcpy(args.shape, run->out->shape, sizeof args.shape);
    for (int k = 0; k < 2; k++)
        rgmi_strides_of(args.stride[k], &run->in[k], run->out);
    run->kernels->equal(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_equal_op = {
    .name = "equal",
    .arity = 2,
    .infer = equal_infer,
    .forward = equal_forward,
    .no_gradient = "a step function",
    .elementwise = true,
};

rgm_value *rgm_equal(rgm_value *a, rgm_value *b)
{
    return rgmi_map_op(&rgmi_equal_op, RGM_MAP_EQUAL, a, b, 0);
}
