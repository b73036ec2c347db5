/*
 * Reductions over one axis, argmax, and the sum that undoes a broadcast.
 */
#include "autodiff_internal.h"

/* axis in integer[0], reduction in integer[1] */
static rgm_status reduce_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                               const rgm_attributes *attributes)
{
    int axis = (int)attributes->integer[0];
    char text[RGMI_TEXT];

    (void)inputs;
    RGM_TRY(rgmi_need_float(in[0], "input"));
    if (axis < 0 || axis >= in[0]->s.rank)
        return RGM_FAIL(RGM_ERR_ARG, "axis %d of %s", axis,
                        rgm_value_describe(in[0], text, sizeof text));
    out->dtype = in[0]->s.dtype;
    out->rank = in[0]->s.rank - 1;
    for (int i = 0; i < out->rank; i++)
        out->shape[i] = in[0]->s.shape[i < axis ? i : i + 1];
    return RGM_OK;
}

static void axis_split(int64_t *outer, int64_t *size, int64_t *inner, const rgm_view *x, int axis)
{
    *outer = 1;
    for (int i = 0; i < axis; i++)
        *outer *= x->shape[i];
    *size = x->shape[axis];
    *inner = rgmi_view_tail(x, axis + 1);
}

/* Of in[0], or of in[0] times a factor. */
static rgm_status reduce_of(rgm_op_run *run, const void *factor)
{
    rgm_reduce_args args = {.y = run->out->data,
                            .x = run->in[0].data,
                            .factor = factor,
                            .reduction = (rgm_reduction)run->attributes->integer[1]};

    axis_split(&args.outer, &args.axis, &args.inner, &run->in[0], (int)run->attributes->integer[0]);
    if (args.outer > 0 && args.inner > 0)
        run->kernels->reduce(&args);
    return RGM_OK;
}

static rgm_status reduce_forward(rgm_op_run *run)
{
    return reduce_of(run, NULL);
}

/* v [.. without axis ..] back in the shape of x. */
static rgm_value *spread(rgm_value *v, rgm_value *x, int axis)
{
    return rgmi_broadcast_to(rgmi_expand(v, axis), x->s.rank, x->s.shape);
}

static rgm_status reduce_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgm_value *x = y->in[0], *tie;
    int axis = (int)y->attributes.integer[0];
    rgm_reduction reduction = (rgm_reduction)y->attributes.integer[1];

    (void)wanted;
    switch (reduction) {
    case RGM_SUM:
        dx[0] = spread(dy, x, axis);
        break;
    case RGM_MEAN:
        dx[0] =
            spread(rgm_mul(dy, rgmi_inverse_dim(y->graph, x->s.dtype, x->s.shape[axis])), x, axis);
        break;
    case RGM_PROD:
        dx[0] = rgmi_op3(&rgmi_reduce_prod_grad_op, x, y, dy, &y->attributes);
        break;
    default: /* max and min: ties share evenly */
        tie = rgm_equal(x, rgmi_expand(y, axis));
        dx[0] = rgm_mul(tie, rgmi_expand(rgm_div(dy, rgm_reduce(tie, axis, RGM_SUM)), axis));
    }
    return RGM_OK;
}

const rgm_op_type rgmi_reduce_op = {
    .name = "reduce",
    .arity = 1,
    .infer = reduce_infer,
    .forward = reduce_forward,
    .backward = reduce_backward,
};

rgm_value *rgm_reduce(rgm_value *x, int axis, rgm_reduction reduction)
{
    if (x == NULL)
        return NULL;
    rgm_attributes attributes = {.integer = {axis < 0 ? axis + x->s.rank : axis, reduction}};
    return rgmi_op1(&rgmi_reduce_op, x, &attributes);
}

bool rgm_reduction_find(rgm_reduction *out, size_t *length, const char *text)
{
    static const char *const names[] = {[RGM_SUM] = "sum",
                                        [RGM_MEAN] = "mean",
                                        [RGM_MAX] = "max",
                                        [RGM_MIN] = "min",
                                        [RGM_PROD] = "prod",
                                        [RGM_MAX_NO_INF] = "max_no_inf",
                                        [RGM_MIN_NO_INF] = "min_no_inf"};

    *length = strcspn(text, "|");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == *length && memcmp(names[i], text, *length) == 0) {
            *out = (rgm_reduction)i;
            return true;
        }
    return false;
}

static rgm_value *flat(rgm_value *x)
{
    rgm_dim infer;

    if (x == NULL || x->s.is_pattern || x->s.rank == 1)
        return x;
    infer = rgmi_shape_product(x->graph, x->s.shape, x->s.rank);
    return rgm_reshape(x, 1, &infer);
}

rgm_value *rgm_sum(rgm_value *x)
{
    return rgm_reduce(flat(x), 0, RGM_SUM);
}
rgm_value *rgm_mean(rgm_value *x)
{
    return rgm_reduce(flat(x), 0, RGM_MEAN);
}

/* dy [.., like's axes, perhaps larger] summed until it has like's shape; runs of summed axes that
 * are neighbours go as one. */
rgm_value *rgmi_sum_to(rgm_value *dy, rgm_value *like)
{
    if (dy == NULL || like == NULL)
        return NULL;
    int front = dy->s.rank - like->s.rank, axis = dy->s.rank - 1;
    rgm_value *y = dy;

    while (axis >= 0) {
        bool summed = axis < front || (like->s.shape[axis - front] == 1 && dy->s.shape[axis] != 1);
        int low = axis;
        if (!summed) {
            axis--;
            continue;
        }
        while (low > 0 && (low - 1 < front ||
                           (like->s.shape[low - 1 - front] == 1 && dy->s.shape[low - 1] != 1)))
            low--;
        if (y == dy && low == axis) { /* the usual case, in a form that passes know */
            y = rgm_reduce(dy, axis--, RGM_SUM);
            continue;
        }
        rgm_dim shape[3] = {rgmi_shape_product(dy->graph, dy->s.shape, low),
                            rgmi_shape_product(dy->graph, dy->s.shape + low, axis - low + 1), 1};
        for (int i = axis + 1; i < dy->s.rank; i++)
            shape[2] =
                rgmi_dim_product(dy->graph, shape[2],
                                 i >= front && like->s.shape[i - front] == 1 ? 1 : dy->s.shape[i]);
        y = rgm_reduce(rgm_reshape(y, 3, shape), 1, RGM_SUM);
        axis = low - 1;
    }
    return y == dy && front == 0 ? y : rgm_reshape(y, like->s.rank, like->s.shape);
}

/* ---- gradient of a product: dx_i = dy * product of the others, right with zeros too ---- */

static rgm_status prod_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                  const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    return rgmi_same_shape(out, in[0]);
}

static rgm_status prod_grad_forward(rgm_op_run *run)
{
    rgm_reduce_args args = {
        .y = run->out->data, .x = run->in[0].data, .dy = run->in[2].data, .reduction = RGM_PROD};

    axis_split(&args.outer, &args.axis, &args.inner, &run->in[0], (int)run->attributes->integer[0]);
    run->kernels->reduce_prod_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_reduce_prod_grad_op = {
    .name = "reduce_prod_grad",
    .arity = 3,
    .infer = prod_grad_infer,
    .forward = prod_grad_forward,
    .no_gradient = rgmi_second,
};

/* ---- sum of squares of everything, to a scalar: what the passes make of sum(square(x)) ---- */

static rgm_status sum_squares_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                    const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(rgmi_need_float(in[0], "input"));
    out->dtype = in[0]->s.dtype;
    return RGM_OK;
}

static rgm_status sum_squares_forward(rgm_op_run *run)
{
    double sum = run->kernels->sum_of_squares(
        &(rgm_flat_args){run->in[0].data, rgmi_view_count(&run->in[0])});

    run->kernels->fill(&(rgm_fill_args){run->out->data, 1, sum});
    return RGM_OK;
}

const rgm_op_type rgmi_sum_squares_op = {
    .name = "sum_squares",
    .arity = 1,
    .infer = sum_squares_infer,
    .forward = sum_squares_forward,
    .no_gradient = "made by the executor, after gradients",
};

/* ---- sum of a product over an axis: what the passes make of reduce(mul(x, z)) ---- */

/* axis in integer[0] */
static rgm_status product_sum_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                    const rgm_attributes *attributes)
{
    char a[RGMI_TEXT], b[RGMI_TEXT];

    if (in[1]->s.dtype != in[0]->s.dtype || !rgmi_shapes_equal(in[0], in[1]))
        return RGM_FAIL(RGM_ERR_SHAPE, "product_sum of %s and %s",
                        rgm_value_describe(in[0], a, sizeof a),
                        rgm_value_describe(in[1], b, sizeof b));
    return reduce_infer(out, in, inputs, attributes);
}

static rgm_status product_sum_forward(rgm_op_run *run)
{
    return reduce_of(run, run->in[1].data);
}

const rgm_op_type rgmi_product_sum_op = {
    .name = "product_sum",
    .arity = 2,
    .infer = product_sum_infer,
    .forward = product_sum_forward,
    .no_gradient = "made by the executor, after gradients",
};

/* ---- argmax over the last axis ---- */

static rgm_status argmax_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                               const rgm_attributes *attributes)
{
    char text[RGMI_TEXT];

    (void)inputs, (void)attributes;
    RGM_TRY(rgmi_need_float(in[0], "input"));
    RGM_TRY(rgmi_need_rank(in[0], "input", 1));
    *out = in[0]->s;
    out->dtype = RGM_I64;
    out->rank--;
    out->shape[out->rank] = 0;
    if (in[0]->s.shape[out->rank] == 0)
        return RGM_FAIL(RGM_ERR_SHAPE, "no largest of none: %s",
                        rgm_value_describe(in[0], text, sizeof text));
    return RGM_OK;
}

static rgm_status argmax_forward(rgm_op_run *run)
{
    const rgm_view *x = &run->in[0];
    rgm_argmax_args args = {.y = run->out->data,
                            .x = x->data,
                            .rows = rgmi_view_count(run->out),
                            .channels = x->shape[x->rank - 1]};

    if (args.rows > 0 && args.channels == 0)
        return RGM_FAIL(RGM_ERR_SHAPE, "argmax over an axis of size 0");
    run->kernels->argmax(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_argmax_op = {
    .name = "argmax",
    .arity = 1,
    .infer = argmax_infer,
    .forward = argmax_forward,
    .no_gradient = "gives an integer",
};

rgm_value *rgm_argmax(rgm_value *x)
{
    return rgmi_op1(&rgmi_argmax_op, x, NULL);
}
