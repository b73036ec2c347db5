/* The reference interpreter of element-wise programs: one element at a time. Part of reference.h.
 */

static REAL map_unary(rgm_map_code code, REAL a, REAL constant)
{
    switch (code) {
    case RGM_MAP_NEG:
        return -a;
    case RGM_MAP_ABS:
        return R(fabs)(a);
    case RGM_MAP_SQUARE:
        return a * a;
    case RGM_MAP_SQRT:
        return R(sqrt)(a);
    case RGM_MAP_RSQRT:
        return 1 / R(sqrt)(a);
    case RGM_MAP_RECIPROCAL:
        return 1 / a;
    case RGM_MAP_EXP:
        return R(exp)(a);
    case RGM_MAP_LOG:
        return R(log)(a);
    case RGM_MAP_RELU:
        return activate(a, RGM_ACT_RELU, 0);
    case RGM_MAP_LEAKY_RELU:
        return activate(a, RGM_ACT_LEAKY_RELU, constant);
    case RGM_MAP_ELU:
        return activate(a, RGM_ACT_ELU, 0);
    case RGM_MAP_SIGMOID:
        return sigmoid(a);
    case RGM_MAP_TANH:
        return R(tanh)(a);
    case RGM_MAP_GELU:
        return gelu(a);
    case RGM_MAP_SIGN:
        return (REAL)((a > 0) - (a < 0));
    case RGM_MAP_IS_POSITIVE:
        return a > 0;
    case RGM_MAP_GELU_SLOPE:
        return R_CONST(0.5) * (1 + R(erf)(a * GELU_A)) + a * GELU_B * R(exp)(R_CONST(-0.5) * a * a);
    case RGM_MAP_SILU:
        return a * sigmoid(a);
    case RGM_MAP_SILU_SLOPE:
        return sigmoid(a) * (1 + a * sigmoid(-a));
    case RGM_MAP_GELU_TANH:
        return gelu_tanh(a);
    case RGM_MAP_GELU_TANH_SLOPE:
        return gelu_tanh_slope(a);
    case RGM_MAP_SCALE:
        return a * constant;
    case RGM_MAP_SHIFT:
        return a + constant;
    case RGM_MAP_SOFTPLUS:
        return (a > 0 ? a : 0) + R(log1p)(R(exp)(-R(fabs)(a)));
    default: /* RGM_MAP_FLOOR */
        return a > constant ? a : constant;
    }
}

static REAL map_binary(rgm_map_code code, REAL a, REAL b, REAL constant)
{
    switch (code) {
    case RGM_MAP_ADD:
        return a + b;
    case RGM_MAP_SUB:
        return a - b;
    case RGM_MAP_MUL:
        return a * b;
    case RGM_MAP_DIV:
        return a / b;
    case RGM_MAP_MAX:
        return a > b ? a : b;
    case RGM_MAP_MIN:
        return a < b ? a : b;
    case RGM_MAP_GREATER:
        return a > b;
    case RGM_MAP_EQUAL:
        return a == b;
    case RGM_MAP_RELU_GRAD:
        return b > 0 ? a : 0;
    case RGM_MAP_LEAKY_GRAD:
        return b > 0 ? a : constant * a;
    case RGM_MAP_ELU_GRAD:
        return b > 0 ? a : a * (b + 1);
    case RGM_MAP_SIGMOID_GRAD:
        return a * b * (1 - b);
    default: /* RGM_MAP_TANH_GRAD */
        return a * (1 - b * b);
    }
}

static void map_range(void *payload, int64_t begin, int64_t end)
{
    const rgm_map_args *o = payload;
    REAL value[RGM_MAP_INPUTS + RGM_MAP_STEPS];

    for (int64_t i = begin; i < end; i++) {
        for (int k = 0; k < o->inputs; k++) {
            int64_t rest = i, at = 0;
            for (int axis = o->rank - 1; axis >= 0; axis--) {
                at += rest % o->shape[axis] * o->stride[k][axis];
                rest /= o->shape[axis];
            }
            value[k] = ((const REAL *)o->input[k])[at];
        }
        for (int s = 0; s < o->steps; s++) {
            const rgm_map_step *step = &o->step[s];
            REAL a = value[(int)step->a], constant = (REAL)step->constant;
            value[o->inputs + s] = step->code < RGM_MAP_ADD
                                       ? map_unary(step->code, a, constant)
                                       : map_binary(step->code, a, value[(int)step->b], constant);
        }
        ((REAL *)o->y)[i] = value[o->inputs + o->steps - 1];
    }
}

static void map(const rgm_map_args *args)
{
    int64_t count = 1;

    for (int axis = 0; axis < args->rank; axis++)
        count *= args->shape[axis];
    rgm_parallel(count, 10 + 10 * args->steps, map_range, (void *)args);
}
