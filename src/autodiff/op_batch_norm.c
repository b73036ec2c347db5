/*
 * Batch norm as training does it: with the moments of the batch itself. They are a value of their
 * own, since moving averages are made of them; the gradient goes through them all the same, at once
 * (`batch_norm_grad`: flat, [dgamma | dbeta | dx], the first two padded). Runs without training
 * have the moving averages and ordinary arithmetic: see rgm_batch_norm().
 */
#include "autodiff_internal.h"

static rgm_status channels_check(const rgm_value *x)
{
    char text[RGMI_TEXT];

    RGM_TRY(rgmi_need_float(x, "input"));
    RGM_TRY(rgmi_need_rank(x, "input", 2));
    if (rgm_value_dim(x, -1) < 0)
        return RGM_FAIL(RGM_ERR_SHAPE, "input %s needs a last axis of fixed size",
                        rgm_value_describe(x, text, sizeof text));
    return RGM_OK;
}

static rgm_batch_norm_args norm_args(const rgm_op_run *run)
{
    const rgm_view *x = &run->in[0];
    rgm_batch_norm_args args = {.x = x->data};

    rgmi_rows_of(&args.rows, &args.channels, x);
    if (run->inputs < 4)
        return args;
    args.moments = run->in[1].data;
    args.gamma = run->in[2].data;
    args.beta = run->in[3].data;
    args.epsilon = run->attributes->number[0];
    args.relu = run->attributes->integer[0] == RGM_ACT_RELU;
    return args;
}

/* ---- moments ---- */

static rgm_status batch_moments_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                      const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(channels_check(in[0]));
    *out =
        (rgm_op_shape){.dtype = in[0]->s.dtype, .rank = 2, .shape = {2, rgm_value_dim(in[0], -1)}};
    return RGM_OK;
}

static rgm_status batch_moments_forward(rgm_op_run *run)
{
    rgm_batch_norm_args args = norm_args(run);

    args.y = run->out->data;
    if (args.channels > 0)
        run->kernels->batch_moments(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_batch_moments_op = {
    .name = "batch_moments",
    .arity = 1,
    .infer = batch_moments_infer,
    .forward = batch_moments_forward,
    .no_gradient = "for moving averages; the gradient of batch_norm goes through them by itself",
};

rgm_value *rgm_batch_moments(rgm_value *x)
{
    return rgmi_op1(&rgmi_batch_moments_op, x, NULL);
}

/* ---- the norm ---- */

static rgm_status norm_check(rgm_value *const *in)
{
    char a[RGMI_TEXT], b[RGMI_TEXT];

    RGM_TRY(channels_check(in[0]));
    for (int k = 1; k < 4; k++)
        if (in[k]->s.dtype != in[0]->s.dtype || in[k]->s.rank != (k == 1 ? 2 : 1) ||
            rgm_value_dim(in[k], -1) != rgm_value_dim(in[0], -1))
            return RGM_FAIL(
                RGM_ERR_SHAPE, "input %s needs moments, gamma and beta of its width: %s",
                rgm_value_describe(in[0], a, sizeof a), rgm_value_describe(in[k], b, sizeof b));
    return RGM_OK;
}

/* inputs: x, moments, gamma, beta; number[0] = epsilon, integer[0] = the activation: none or relu,
 * which passes put in */
static rgm_status batch_norm_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                   const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(norm_check(in));
    return rgmi_same_shape(out, in[0]);
}

static rgm_status batch_norm_forward(rgm_op_run *run)
{
    rgm_batch_norm_args args = norm_args(run);

    args.y = run->out->data;
    if (args.rows > 0)
        run->kernels->batch_norm(&args);
    return RGM_OK;
}

static rgm_status batch_norm_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                      const bool *wanted)
{
    rgm_value *in[5] = {y->in[0], y->in[1], y->in[2], y->in[3], dy};
    rgm_value *all = rgm_op(y->graph, &rgmi_batch_norm_grad_op, in, 5, &y->attributes);

    rgmi_norm_grad_values(dx, 2, all, y->in[0], wanted);
    return RGM_OK;
}

const rgm_op_type rgmi_batch_norm_op = {
    .name = "batch_norm",
    .arity = 4,
    .infer = batch_norm_infer,
    .forward = batch_norm_forward,
    .backward = batch_norm_backward,
};

rgm_value *rgm_batch_norm_op(rgm_value *x, rgm_value *gamma, rgm_value *beta, double epsilon)
{
    rgm_attributes attributes = {.number[0] = epsilon, .integer[0] = RGM_ACT_NONE};

    return rgmi_op4(&rgmi_batch_norm_op, x, rgm_batch_moments(x), gamma, beta, &attributes);
}

/* ---- its gradient ---- */

/* inputs: x, moments, gamma, beta, dy */
static rgm_status batch_norm_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                        const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(norm_check(in));
    if (!rgmi_shapes_equal(in[0], in[4]))
        return RGM_FAIL(RGM_ERR_SHAPE, "x and dy have different shapes");
    rgmi_norm_grad_shape(out, in[0]);
    return RGM_OK;
}

static rgm_status batch_norm_grad_forward(rgm_op_run *run)
{
    rgm_batch_norm_args args = norm_args(run);

    args.dy = run->in[4].data;
    rgmi_norm_grad_parts(&args.dgamma, &args.dbeta, &args.y, run, args.channels);
    if (args.rows > 0)
        run->kernels->batch_norm_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_batch_norm_grad_op = {
    .name = "batch_norm_grad",
    .arity = 5,
    .infer = batch_norm_grad_infer,
    .forward = batch_norm_grad_forward,
    .no_gradient = rgmi_second,
};
