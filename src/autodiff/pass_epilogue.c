/*
 * Rules that give a product what follows it: transposes as flags, bias and activation, the other
 * term of a sum as what is accumulated to; scale and mask to softmax, the residual to layer norm
 * and to dropout.
 */
#include "executor_internal.h"

/* x when v is x with its last two axes swapped. */
static rgm_value *swapped(const rgm_value *v)
{
    int rank = v->s.rank;

    if (!rgmi_is(v, &rgmi_permute_op) || rank < 2)
        return NULL;
    for (int i = 0; i < rank - 2; i++)
        if (v->attributes.integer[i] != i)
            return NULL;
    return v->attributes.integer[rank - 2] == rank - 1 ? v->in[0] : NULL;
}

rgm_value *rgmi_rule_transposed(rgm_executor *executor, rgm_value *v)
{
    rgmi_matmul m;
    rgm_value *a, *b;

    (void)executor;
    if (rgmi_is(v, &rgmi_permute_op) && swapped(v) != NULL && v->s.rank == 2 &&
        rgmi_is(v->in[0], &rgmi_matmul_op) && v->in[0]->inputs == 2 && rgmi_single(v->in[0]) &&
        v->in[0]->attributes.integer[2] == RGM_ACT_NONE) { /* (a b)^T = b^T a^T */
        rgmi_matmul_parts(&m, v->in[0]);
        return rgm_matmul_t(m.b, m.a, !m.trans_b, !m.trans_a);
    }
    if (!rgmi_is(v, &rgmi_matmul_op))
        return NULL;
    rgmi_matmul_parts(&m, v);
    a = swapped(m.a);
    b = swapped(m.b);
    if (a == NULL && b == NULL)
        return NULL;
    if (a != NULL) {
        m.a = a;
        m.trans_a = !m.trans_a;
    }
    if (b != NULL) {
        m.b = b;
        m.trans_b = !m.trans_b;
    }
    return rgmi_matmul_build(&m, NULL);
}

/* The product with the bias added, when it is one that can still take a bias; through a reshape
 * that keeps the last axis too. NULL otherwise. */
static rgm_value *take_bias(rgm_value *y, rgm_value *bias)
{
    rgmi_matmul m;
    rgmi_spmm s;

    if (!rgmi_single(y))
        return NULL;
    if (rgmi_is(y, &rgmi_reshape_op) && y->s.rank > 1 && y->in[0]->s.rank > 1 &&
        rgm_value_dim(y, -1) == rgm_value_dim(y->in[0], -1)) {
        rgm_value *inner = take_bias(y->in[0], bias);
        return inner == NULL ? NULL : rgm_reshape(inner, y->s.rank, y->s.shape);
    }
    if (rgmi_is(y, &rgmi_matmul_op) && y->inputs == 2 && y->attributes.integer[2] == RGM_ACT_NONE) {
        rgmi_matmul_parts(&m, y);
        m.bias = bias;
        return rgmi_matmul_build(&m, NULL);
    }
    if (rgmi_is(y, &rgmi_spmm_op) && y->s.rank == 2) {
        rgmi_spmm_parts(&s, y);
        if (s.bias != NULL || s.activation != RGM_ACT_NONE)
            return NULL;
        s.bias = bias;
        return rgmi_spmm_build(&s, NULL);
    }
    return NULL;
}

/* y + bias; and (y + other) + bias = (y + bias) + other, where the sum will be accumulated. */
rgm_value *rgmi_rule_bias(rgm_executor *executor, rgm_value *v)
{
    (void)executor;
    for (int k = 0; rgmi_is(v, &rgmi_add_op) && k < 2; k++) {
        rgm_value *y = v->in[k], *bias = v->in[1 - k], *taken;
        if (bias->s.rank != 1 || !rgmi_shapes_equal(y, v) || y->s.rank < 2 ||
            bias->s.shape[0] != rgm_value_dim(y, -1))
            continue;
        taken = take_bias(y, bias);
        if (taken != NULL)
            return taken;
        for (int j = 0; rgmi_is(y, &rgmi_add_op) && rgmi_single(y) && j < 2; j++) {
            if (!rgmi_shapes_equal(y->in[j], v) || !rgmi_shapes_equal(y->in[1 - j], v))
                continue;
            taken = take_bias(y->in[j], bias);
            if (taken != NULL)
                return rgm_add(taken, y->in[1 - j]);
        }
    }
    return NULL;
}

static rgm_activation activation_of(const rgm_value *v)
{
    static const struct {
        const rgm_op_type *type;
        rgm_activation activation;
    } table[] = {{&rgmi_relu_op, RGM_ACT_RELU}, {&rgmi_leaky_relu_op, RGM_ACT_LEAKY_RELU},
                 {&rgmi_elu_op, RGM_ACT_ELU},   {&rgmi_sigmoid_op, RGM_ACT_SIGMOID},
                 {&rgmi_tanh_op, RGM_ACT_TANH}, {&rgmi_gelu_op, RGM_ACT_GELU},
                 {&rgmi_silu_op, RGM_ACT_SILU}, {&rgmi_gelu_tanh_op, RGM_ACT_GELU_TANH}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (v->type == table[i].type)
            return table[i].activation;
    return RGM_ACT_NONE;
}

/* A batch norm that relu follows, or its gradient by `dy` behind that relu. */
static rgm_value *with_relu(const rgm_value *norm, int inputs, rgm_value *dy)
{
    rgm_value *in[5] = {norm->in[0], norm->in[1], norm->in[2], norm->in[3], dy};
    rgm_attributes attributes = norm->attributes;

    attributes.integer[0] = RGM_ACT_RELU;
    return rgm_op(norm->graph, norm->type, in, inputs, &attributes);
}

static rgm_value *take_activation(rgm_value *y, rgm_activation activation, double slope)
{
    rgmi_matmul m;
    rgmi_spmm s;

    if (!rgmi_single(y))
        return NULL;
    if (rgmi_is(y, &rgmi_reshape_op)) {
        rgm_value *inner = take_activation(y->in[0], activation, slope);
        return inner == NULL ? NULL : rgm_reshape(inner, y->s.rank, y->s.shape);
    }
    if (rgmi_is(y, &rgmi_matmul_op) && y->attributes.integer[2] == RGM_ACT_NONE) {
        rgmi_matmul_parts(&m, y);
        m.activation = activation;
        m.slope = slope;
        return rgmi_matmul_build(&m, NULL);
    }
    if (rgmi_is(y, &rgmi_matmul_add_op) && y->attributes.integer[2] == RGM_ACT_NONE) {
        rgmi_matmul_parts(&m, y);
        m.activation = activation;
        m.slope = slope;
        return rgmi_matmul_build(&m, y->in[0]);
    }
    if (rgmi_is(y, &rgmi_spmm_op) && y->attributes.integer[2] == RGM_ACT_NONE) {
        rgmi_spmm_parts(&s, y);
        s.activation = activation;
        s.slope = slope;
        return rgmi_spmm_build(&s, NULL);
    }
    if (rgmi_is(y, &rgmi_batch_norm_op) && activation == RGM_ACT_RELU)
        return with_relu(y, y->inputs, NULL);
    return NULL;
}

rgm_value *rgmi_rule_activation(rgm_executor *executor, rgm_value *v)
{
    rgm_activation activation = activation_of(v);

    (void)executor;
    return activation == RGM_ACT_NONE
               ? NULL
               : take_activation(v->in[0], activation, v->attributes.number[0]);
}

/* The gradient of a batch norm by relu_grad(dy, y), where y is that norm with its relu: positive
 * exactly where the norm is, which its gradient sees by itself. */
rgm_value *rgmi_rule_norm_relu_grad(rgm_executor *executor, rgm_value *v)
{
    const rgm_value *dz, *y;

    (void)executor;
    if (!rgmi_is(v, &rgmi_batch_norm_grad_op) || v->attributes.integer[0] != RGM_ACT_NONE)
        return NULL;
    dz = v->in[4];
    if (!rgmi_is(dz, &rgmi_relu_grad_op) || !rgmi_single(dz))
        return NULL;
    y = dz->in[1];
    if (!rgmi_is(y, &rgmi_batch_norm_op) || y->attributes.integer[0] != RGM_ACT_RELU ||
        y->attributes.number[0] != v->attributes.number[0])
        return NULL;
    for (int k = 0; k < y->inputs; k++)
        if (y->in[k] != v->in[k])
            return NULL;
    return with_relu(v, v->inputs, dz->in[0]);
}

static bool plain_inputs(const rgm_value *y, rgmi_matmul *m)
{
    if (!rgmi_is(y, &rgmi_matmul_op) || y->inputs != 2 || y->attributes.integer[2] != RGM_ACT_NONE)
        return false;
    rgmi_matmul_parts(m, y);
    return true;
}

/* base + product: the product is added in base's memory. */
rgm_value *rgmi_rule_accumulate(rgm_executor *executor, rgm_value *v)
{
    rgmi_matmul m;
    rgmi_spmm s;

    (void)executor;
    for (int k = 1; rgmi_is(v, &rgmi_add_op) && k >= 0; k--) {
        rgm_value *y = v->in[k], *base = v->in[1 - k];
        if (!rgmi_has_shape(base, v) || !rgmi_has_shape(y, v) || !rgmi_single(y) || y == base ||
            base->fed_only || y->fed_only || base->type == NULL || !rgmi_single(base))
            continue;
        if (plain_inputs(y, &m))
            return rgmi_matmul_build(&m, base);
        if (rgmi_is(y, &rgmi_spmm_op)) {
            rgmi_spmm_parts(&s, y);
            if (s.bias == NULL && s.activation == RGM_ACT_NONE)
                return rgmi_spmm_build(&s, base);
        }
    }
    return NULL;
}

/* e of product = x e, where e is one number; NULL: it is something else. */
static rgm_value *factor_of(const rgm_value *product, const rgm_value *x)
{
    for (int j = 0; rgmi_is(product, &rgmi_mul_op) && rgmi_single(product) && j < 2; j++) {
        rgm_value *e = product->in[1 - j];
        if (product->in[j] == x && rgmi_shape_product(e->graph, e->s.shape, e->s.rank) == 1)
            return e;
    }
    return NULL;
}

/* term[i] + term[j] + the sparse sum term[k], where one of the first two is a multiple of the
 * other. */
static rgm_value *scaled_base(rgm_value *const *term, int i, int j, int k)
{
    rgm_value *e = factor_of(term[j], term[i]);
    rgmi_spmm s;

    if (e == NULL || !rgmi_is(term[k], &rgmi_spmm_op) || !rgmi_single(term[k]) ||
        !rgmi_has_shape(term[k], term[i]))
        return NULL;
    rgmi_spmm_parts(&s, term[k]);
    if (s.bias != NULL || s.activation != RGM_ACT_NONE)
        return NULL;
    s.base_scale = rgm_shift(e, 1);
    return rgmi_spmm_build(&s, term[i]);
}

/* x + x e + what is summed over neighbours, GIN's, in any order: x is scaled as it is added. */
rgm_value *rgmi_rule_base_scale(rgm_executor *executor, rgm_value *v)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    (void)executor;
    for (int k = 0; rgmi_is(v, &rgmi_add_op) && k < 2; k++) {
        const rgm_value *inner = v->in[k];
        if (!rgmi_is(inner, &rgmi_add_op) || !rgmi_single(inner) || !rgmi_has_shape(inner, v))
            continue;
        rgm_value *term[3] = {inner->in[0], inner->in[1], v->in[1 - k]};
        for (int o = 0; o < 6; o++) {
            const int *at = orders[o];
            rgm_value *y =
                rgmi_has_shape(term[at[0]], v) ? scaled_base(term, at[0], at[1], at[2]) : NULL;
            if (y != NULL)
                return y;
        }
    }
    return NULL;
}

/* a times a stored matrix: that one is packed, apart from the runs. */
rgm_value *rgmi_rule_pack(rgm_executor *executor, rgm_value *v)
{
    rgmi_matmul m;

    if (!rgmi_is(v, &rgmi_matmul_op) || v->s.rank != 2)
        return NULL;
    rgmi_matmul_parts(&m, v);
    if (!rgmi_is_stored(m.b->leaf) || m.trans_a)
        return NULL;
    return rgmi_matmul_pack(&m, rgmi_kernels_of(v, executor));
}

/* ---- softmax(scale * x + mask) ---- */

static rgm_value *scaled(double *factor, rgm_value *x)
{
    if (!rgmi_is(x, &rgmi_scale_op) || !rgmi_single(x))
        return x;
    *factor = x->attributes.number[0];
    return x->in[0];
}

rgm_value *rgmi_rule_masked_softmax(rgm_executor *executor, rgm_value *v)
{
    rgm_attributes attributes = {.number[0] = 1};
    rgm_value *x, *mask = NULL;

    (void)executor;
    if (!rgmi_is(v, &rgmi_softmax_op))
        return NULL;
    x = v->in[0];
    if (rgmi_is(x, &rgmi_add_op) && rgmi_single(x)) {
        int k = rgmi_shapes_equal(x->in[0], x) &&
                        (rgmi_is(x->in[0], &rgmi_scale_op) || !rgmi_is(x->in[1], &rgmi_scale_op))
                    ? 0
                    : 1;
        if (!rgmi_shapes_equal(x->in[k], x))
            return NULL;
        mask = x->in[1 - k];
        x = x->in[k];
    }
    x = scaled(&attributes.number[0], x);
    if (x == v->in[0])
        return NULL;
    return mask != NULL ? rgmi_op2(&rgmi_masked_softmax_op, x, mask, &attributes)
                        : rgmi_op1(&rgmi_masked_softmax_op, x, &attributes);
}

/* sum(square(x)) over everything: a weight's penalty. */
rgm_value *rgmi_rule_sum_squares(rgm_executor *executor, rgm_value *v)
{
    rgm_value *x;

    (void)executor;
    if (!rgmi_is(v, &rgmi_reduce_op) || v->attributes.integer[1] != RGM_SUM || v->s.rank != 0)
        return NULL;
    x = v->in[0];
    while (rgmi_is(x, &rgmi_reshape_op) && rgmi_single(x))
        x = x->in[0];
    return rgmi_is(x, &rgmi_square_op) && rgmi_single(x)
               ? rgmi_op1(&rgmi_sum_squares_op, x->in[0], NULL)
               : NULL;
}

/* sum(x z) and sum(square(x)) over an axis: the product is nowhere stored. Variances of a batch and
 * gradients of scales are such sums. */
rgm_value *rgmi_rule_product_sum(rgm_executor *executor, rgm_value *v)
{
    rgm_value *x, *in[2];
    rgm_value *shaped;

    (void)executor;
    if (!rgmi_is(v, &rgmi_reduce_op) || v->attributes.integer[1] != RGM_SUM)
        return NULL;
    shaped = v->in[0];
    x = rgmi_is(shaped, &rgmi_reshape_op) && rgmi_single(shaped) ? shaped->in[0] : shaped;
    if ((!rgmi_is(x, &rgmi_mul_op) && !rgmi_is(x, &rgmi_square_op)) || !rgmi_single(x) ||
        x->fed_only)
        return NULL;
    for (int k = 0; k < 2; k++) {
        in[k] = x->in[k < x->inputs ? k : 0];
        if (!rgmi_has_shape(in[k], x))
            return NULL;
        if (x != shaped)
            in[k] = rgm_reshape(in[k], shaped->s.rank, shaped->s.shape);
    }
    return rgmi_op2(&rgmi_product_sum_op, in[0], in[1], &v->attributes);
}

/* ---- residual + dropout(x) ---- */

/* A dropout that only a sum reads, of the sum's shape. */
static bool dropped(const rgm_value *x, const rgm_value *sum)
{
    return (rgmi_is(x, &rgmi_dropout_op) || rgmi_is(x, &rgmi_item_dropout_op)) && rgmi_single(x) &&
           rgmi_has_shape(x, sum);
}

/* After products, which accumulate, and element-wise programs, where a sum costs no pass. */
rgm_value *rgmi_rule_dropped_sum(rgm_executor *executor, rgm_value *v)
{
    (void)executor;
    for (int k = 1; rgmi_is(v, &rgmi_add_op) && k >= 0; k--) {
        rgm_value *y = v->in[k], *residual = v->in[1 - k];
        if (!dropped(y, v) || !rgmi_has_shape(residual, v))
            continue;
        rgm_attributes attributes = y->attributes;
        attributes.integer[0] = rgmi_is(y, &rgmi_item_dropout_op);
        return rgmi_op2(&rgmi_dropout_add_op, y->in[0], residual, &attributes);
    }
    return NULL;
}

/* ---- layer_norm(x + residual) and its gradient, when they alone need the sum; the sum with a
 * dropout is the dropout's, and read once by each ---- */

static bool norms_alone(const rgm_executor *executor, const rgm_value *sum)
{
    int64_t reads = 0;

    for (int64_t s = 0; s < executor->count; s++) {
        const rgm_value *v = executor->order[s];
        if ((rgmi_is(v, &rgmi_layer_norm_op) || rgmi_is(v, &rgmi_layer_norm_grad_op)) &&
            v->inputs == 3 && v->in[0] == sum && v->in[2] != sum)
            reads++;
    }
    return !sum->fetched && reads == sum->uses;
}

rgm_value *rgmi_rule_residual(rgm_executor *executor, rgm_value *v)
{
    rgm_value *sum;

    if ((!rgmi_is(v, &rgmi_layer_norm_op) && !rgmi_is(v, &rgmi_layer_norm_grad_op)) ||
        v->inputs != 3 || !rgmi_is(v->in[0], &rgmi_add_op))
        return NULL;
    sum = v->in[0];
    if (!rgmi_has_shape(sum->in[0], sum) || !rgmi_has_shape(sum->in[1], sum) ||
        dropped(sum->in[0], sum) || dropped(sum->in[1], sum) || !norms_alone(executor, sum))
        return NULL;
    return rgmi_op4(v->type, sum->in[0], v->in[1], v->in[2], sum->in[1], &v->attributes);
}
