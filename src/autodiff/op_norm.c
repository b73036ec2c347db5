/*
 * Layer norm (with a residual when the executor's passes fold one in), the same without a mean, and
 * Euclidean normalisation.
 * A norm's kernel gives three gradients at once, so its gradient is one flat value
 * [dgamma | dbeta | dx], each part padded to 16 elements, of which the three are views.
 */
#include "autodiff_internal.h"

/* ---- what norms share ---- */

void rgmi_norm_grad_shape(rgm_op_shape *out, const rgm_value *x)
{
    rgm_dim count = rgmi_shape_product(x->graph, x->s.shape, x->s.rank);

    out->dtype = x->s.dtype;
    out->rank = 1;
    out->shape[0] = rgmi_dim_sum(x->graph, count, 2 * rgmi_padded(rgm_value_dim(x, -1)));
}

void rgmi_norm_grad_parts(void **dgamma, void **dbeta, void **dx, const rgm_op_run *run,
                          int64_t channels)
{
    size_t part = (size_t)rgmi_padded(channels) * rgm_dtype_size(run->out->dtype);
    char *out = run->out->data;

    run->kernels->copy(&(rgm_copy_args){.y = out, .outer = 1, .zeros_before = 2 * part});
    *dgamma = out;
    *dbeta = out + part;
    *dx = out + 2 * part;
}

void rgmi_norm_grad_values(rgm_value **dx, int gamma, rgm_value *all, const rgm_value *x,
                           const bool *wanted)
{
    int64_t channels = rgm_value_dim(x, -1), part = rgmi_padded(channels);
    rgm_dim count = rgmi_shape_product(x->graph, x->s.shape, x->s.rank);

    if (wanted[0])
        dx[0] = rgm_reshape(rgmi_slice_dim(all, 0, 2 * part, count), x->s.rank, x->s.shape);
    if (wanted[gamma])
        dx[gamma] = rgmi_slice_dim(all, 0, 0, channels);
    if (wanted[gamma + 1])
        dx[gamma + 1] = rgmi_slice_dim(all, 0, part, channels);
}

/* ---- layer norm ---- */

static rgm_status norm_check(rgm_value *x, rgm_value *gamma)
{
    char a[RGMI_TEXT], b[RGMI_TEXT];

    RGM_TRY(rgmi_need_float(x, "input"));
    RGM_TRY(rgmi_need_float(gamma, "gamma and beta"));
    RGM_TRY(rgmi_need_rank(x, "input", 1));
    if (gamma->s.rank != 1 || gamma->s.shape[0] != rgm_value_dim(x, -1) ||
        gamma->s.dtype != x->s.dtype || gamma->s.shape[0] < 0)
        return RGM_FAIL(RGM_ERR_SHAPE, "input %s needs gamma and beta of its last axis, static: %s",
                        rgm_value_describe(x, a, sizeof a), rgm_value_describe(gamma, b, sizeof b));
    return RGM_OK;
}

/* inputs: x, gamma, beta and perhaps a residual; number[0] = epsilon */
static rgm_status layer_norm_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                   const rgm_attributes *attributes)
{
    (void)attributes;
    if (inputs != 3 && inputs != 4)
        return RGM_FAIL(RGM_ERR_ARG, "takes x, gamma, beta and perhaps a residual");
    RGM_TRY(norm_check(in[0], in[1]));
    RGM_TRY(norm_check(in[0], in[2]));
    if (inputs == 4 && !rgmi_shapes_equal(in[0], in[3]))
        return RGM_FAIL(RGM_ERR_SHAPE, "the residual has another shape");
    return rgmi_same_shape(out, in[0]);
}

static rgm_status layer_norm_forward(rgm_op_run *run)
{
    const rgm_view *x = &run->in[0];
    rgm_layer_norm_args args = {.y = run->out->data,
                                .x = x->data,
                                .gamma = run->in[1].data,
                                .beta = run->in[2].data,
                                .residual = run->inputs == 4 ? run->in[3].data : NULL,
                                .epsilon = run->attributes->number[0]};

    rgmi_rows_of(&args.rows, &args.channels, x);
    if (args.rows > 0)
        run->kernels->layer_norm(&args);
    return RGM_OK;
}

static rgm_status layer_norm_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                      const bool *wanted)
{
    rgm_value *all = rgmi_op3(&rgmi_layer_norm_grad_op, y->in[0], y->in[1], dy, &y->attributes);

    rgmi_norm_grad_values(dx, 1, all, y->in[0], wanted);
    return RGM_OK;
}

const rgm_op_type rgmi_layer_norm_op = {
    .name = "layer_norm",
    .arity = -1,
    .infer = layer_norm_infer,
    .forward = layer_norm_forward,
    .backward = layer_norm_backward,
};

rgm_value *rgm_layer_norm_op(rgm_value *x, rgm_value *gamma, rgm_value *beta, double epsilon)
{
    rgm_attributes attributes = {.number[0] = epsilon};

    return rgmi_op3(&rgmi_layer_norm_op, x, gamma, beta, &attributes);
}

/* inputs: x, gamma, dy and perhaps a residual */
static rgm_status layer_norm_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                        const rgm_attributes *attributes)
{
    (void)attributes;
    if (inputs != 3 && inputs != 4)
        return RGM_FAIL(RGM_ERR_ARG, "takes x, gamma, dy and perhaps a residual");
    RGM_TRY(norm_check(in[0], in[1]));
    rgmi_norm_grad_shape(out, in[0]);
    return RGM_OK;
}

static rgm_status layer_norm_grad_forward(rgm_op_run *run)
{
    const rgm_view *x = &run->in[0];
    rgm_layer_norm_args args = {.x = x->data,
                                .gamma = run->in[1].data,
                                .dy = run->in[2].data,
                                .residual = run->inputs == 4 ? run->in[3].data : NULL,
                                .epsilon = run->attributes->number[0]};

    rgmi_rows_of(&args.rows, &args.channels, x);
    rgmi_norm_grad_parts(&args.dgamma, &args.dbeta, &args.y, run, args.channels);
    if (args.rows > 0)
        run->kernels->layer_norm_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_layer_norm_grad_op = {
    .name = "layer_norm_grad",
    .arity = -1,
    .infer = layer_norm_grad_infer,
    .forward = layer_norm_grad_forward,
    .no_gradient = rgmi_second,
};

/* ---- without a mean ---- */

/* inputs: x, gamma; number[0] = epsilon */
static rgm_status rms_norm_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                 const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(norm_check(in[0], in[1]));
    return rgmi_same_shape(out, in[0]);
}

static rgm_status rms_norm_forward(rgm_op_run *run)
{
    const rgm_view *x = &run->in[0];
    rgm_layer_norm_args args = {.y = run->out->data,
                                .x = x->data,
                                .gamma = run->in[1].data,
                                .epsilon = run->attributes->number[0],
                                .rms = true};

    rgmi_rows_of(&args.rows, &args.channels, x);
    if (args.rows > 0)
        run->kernels->layer_norm(&args);
    return RGM_OK;
}

static rgm_status rms_norm_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgm_value *all = rgmi_op3(&rgmi_rms_norm_grad_op, y->in[0], y->in[1], dy, &y->attributes);
    bool which[3] = {wanted[0], wanted[1], false};

    rgmi_norm_grad_values(dx, 1, all, y->in[0], which);
    return RGM_OK;
}

const rgm_op_type rgmi_rms_norm_op = {
    .name = "rms_norm",
    .arity = 2,
    .infer = rms_norm_infer,
    .forward = rms_norm_forward,
    .backward = rms_norm_backward,
};

rgm_value *rgm_rms_norm_op(rgm_value *x, rgm_value *gamma, double epsilon)
{
    rgm_attributes attributes = {.number[0] = epsilon};

    return x == NULL || gamma == NULL
               ? NULL
               : rgm_op(x->graph, &rgmi_rms_norm_op, (rgm_value *[]){x, gamma}, 2, &attributes);
}

/* inputs: x, gamma, dy */
static rgm_status rms_norm_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                      const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(norm_check(in[0], in[1]));
    rgmi_norm_grad_shape(out, in[0]);
    return RGM_OK;
}

static rgm_status rms_norm_grad_forward(rgm_op_run *run)
{
    const rgm_view *x = &run->in[0];
    void *no_beta;
    rgm_layer_norm_args args = {.x = x->data,
                                .gamma = run->in[1].data,
                                .dy = run->in[2].data,
                                .epsilon = run->attributes->number[0],
                                .rms = true};

    rgmi_rows_of(&args.rows, &args.channels, x);
    rgmi_norm_grad_parts(&args.dgamma, &no_beta, &args.y, run, args.channels);
    if (args.rows > 0)
        run->kernels->layer_norm_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_rms_norm_grad_op = {
    .name = "rms_norm_grad",
    .arity = 3,
    .infer = rms_norm_grad_infer,
    .forward = rms_norm_grad_forward,
    .no_gradient = rgmi_second,
};

/* ---- rows divided by their length ---- */

static void l2_args(rgm_l2_normalize_args *args, const rgm_op_run *run)
{
    args->y = run->out->data;
    args->x = run->in[0].data;
    rgmi_rows_of(&args->rows, &args->channels, &run->in[0]);
}

static rgm_status l2_forward(rgm_op_run *run)
{
    rgm_l2_normalize_args args = {.y = NULL};

    l2_args(&args, run);
    run->kernels->l2_normalize(&args);
    return RGM_OK;
}

static rgm_status l2_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    (void)wanted;
    dx[0] = rgmi_op3(&rgmi_l2_normalize_grad_op, y->in[0], y, dy, NULL);
    return RGM_OK;
}

const rgm_op_type rgmi_l2_normalize_op = {
    .name = "l2_normalize",
    .arity = 1,
    .infer = rgmi_rows_infer,
    .forward = l2_forward,
    .backward = l2_backward,
};

rgm_value *rgm_l2_normalize(rgm_value *x)
{
    return rgmi_op1(&rgmi_l2_normalize_op, x, NULL);
}

static rgm_status l2_grad_forward(rgm_op_run *run)
{
    rgm_l2_normalize_args args = {.y_forward = run->in[1].data, .dy = run->in[2].data};

    l2_args(&args, run);
    run->kernels->l2_normalize_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_l2_normalize_grad_op = {
    .name = "l2_normalize_grad",
    .arity = 3,
    .infer = rgmi_rows_infer,
    .forward = l2_grad_forward,
    .no_gradient = rgmi_second,
};
