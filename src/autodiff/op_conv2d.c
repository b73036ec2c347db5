/*
 * Convolution and pools over images [n, height, width, channels]. Attributes of all of them:
 * integer[0..1] = stride, [2..3] = dilation (convolution) or window (pools), [4] = padding;
 * [5..6] = what a gradient cannot read off its inputs: the images' sizes, or the kernel's.
 */
#include "autodiff_internal.h"

static const char *const axis_names[] = {"height", "width"};

/*
 * TensorFlow's rules. same: ceil(in / stride) places, what is missing is padding, half of it in
 * front, the odd one behind. valid: as many places as fit.
 */
static rgm_status axis_set(rgm_window *w, int axis, int64_t in, int64_t size,
                           const rgm_attributes *attributes, int64_t dilation)
{
    int64_t stride = attributes->integer[axis], reach = (size - 1) * dilation + 1, missing;

    if (stride < 1 || size < 1 || dilation < 1)
        return RGM_FAIL(RGM_ERR_ARG,
                        "%s: stride %lld, window %lld and dilation %lld are at least 1",
                        axis_names[axis], (long long)stride, (long long)size, (long long)dilation);
    w->in[axis] = in;
    w->size[axis] = size;
    w->stride[axis] = stride;
    w->dilation[axis] = dilation;
    w->before[axis] = 0;
    if (attributes->integer[4] == RGM_PAD_SAME) {
        w->out[axis] = (in + stride - 1) / stride;
        missing = (w->out[axis] - 1) * stride + reach - in;
        w->before[axis] = missing > 0 ? missing / 2 : 0;
        return RGM_OK;
    }
    if (in < reach)
        return RGM_FAIL(RGM_ERR_SHAPE, "%s %lld is less than the window's %lld; pad it (same)",
                        axis_names[axis], (long long)in, (long long)reach);
    w->out[axis] = (in - reach) / stride + 1;
    return RGM_OK;
}

static rgm_status images_check(const rgm_value *x, const char *what)
{
    char text[RGMI_TEXT];

    RGM_TRY(rgmi_need_float(x, what));
    if (x->s.rank != 4 || x->s.shape[1] < 1 || x->s.shape[2] < 1 || x->s.shape[3] < 0)
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "%s must be [n, height, width, channels] with static sizes but n, is %s",
                        what, rgm_value_describe(x, text, sizeof text));
    return RGM_OK;
}

static void images_set(rgm_window *w, const int64_t *shape)
{
    w->count = shape[0];
    w->channels = shape[3];
}

static void shape_set(rgm_op_shape *out, rgm_dtype dtype, rgm_dim a, rgm_dim b, rgm_dim c,
                      rgm_dim d)
{
    *out = (rgm_op_shape){.dtype = dtype, .rank = 4, .shape = {a, b, c, d}};
}

/* ---- convolution ---- */

/* images [2] sizes, kernel [2] sizes */
static rgm_status conv_window(rgm_window *w, const int64_t *images, const int64_t *kernel,
                              const rgm_attributes *a)
{
    *w = (rgm_window){.count = 0};
    for (int axis = 0; axis < 2; axis++)
        RGM_TRY(axis_set(w, axis, images[axis], kernel[axis], a, a->integer[2 + axis]));
    return RGM_OK;
}

static rgm_status kernel_check(const rgm_value *w, const rgm_value *x)
{
    char at[RGMI_TEXT], bt[RGMI_TEXT];

    RGM_TRY(rgmi_need_float(w, "kernel"));
    if (w->s.dtype != x->s.dtype)
        return RGM_FAIL(RGM_ERR_DTYPE, "dtypes differ: %s and %s", rgm_dtype_name(x->s.dtype),
                        rgm_dtype_name(w->s.dtype));
    bool fits = w->s.rank == 4;
    for (int i = 0; fits && i < 4; i++)
        fits = w->s.shape[i] >= (i < 2 ? 1 : 0);
    if (!fits)
        return RGM_FAIL(RGM_ERR_SHAPE, "kernel must be [height, width, in, out], is %s with %s",
                        rgmi_shape_text(bt, sizeof bt, w), rgmi_shape_text(at, sizeof at, x));
    return RGM_OK;
}

static rgm_status conv_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                             const rgm_attributes *attributes)
{
    const rgm_value *x = in[0], *w = in[1];
    char at[RGMI_TEXT], bt[RGMI_TEXT];
    rgm_window window;

    (void)inputs;
    RGM_TRY(images_check(x, "input"));
    RGM_TRY(kernel_check(w, x));
    if (w->s.shape[2] != x->s.shape[3])
        return RGM_FAIL(RGM_ERR_SHAPE, "channels differ: images %s, kernel %s",
                        rgmi_shape_text(at, sizeof at, x), rgmi_shape_text(bt, sizeof bt, w));
    RGM_TRY(conv_window(&window, x->s.shape + 1, w->s.shape, attributes));
    shape_set(out, x->s.dtype, x->s.shape[0], window.out[0], window.out[1], w->s.shape[3]);
    return RGM_OK;
}

static rgm_status conv_forward(rgm_op_run *run)
{
    const rgm_view *x = &run->in[0], *w = &run->in[1];
    rgm_conv2d_args args = {.y = run->out->data,
                            .x = x->data,
                            .w = w->data,
                            .filters = w->shape[3],
                            .matmul = run->kernels->matmul};

    RGM_TRY(conv_window(&args.window, x->shape + 1, w->shape, run->attributes));
    images_set(&args.window, x->shape);
    if (rgmi_view_count(run->out) > 0)
        run->kernels->conv2d(&args);
    return RGM_OK;
}

static rgm_status conv_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgm_value *x = y->in[0], *w = y->in[1];
    rgm_attributes attributes = y->attributes;

    for (int axis = 0; axis < 2; axis++)
        attributes.integer[5 + axis] = x->s.shape[1 + axis];
    if (wanted[0])
        dx[0] = rgmi_op2(&rgmi_conv2d_grad_input_op, dy, w, &attributes);
    for (int axis = 0; axis < 2; axis++)
        attributes.integer[5 + axis] = w->s.shape[axis];
    if (wanted[1])
        dx[1] = rgmi_op2(&rgmi_conv2d_grad_kernel_op, x, dy, &attributes);
    return RGM_OK;
}

const rgm_op_type rgmi_conv2d_op = {
    .name = "conv2d",
    .arity = 2,
    .infer = conv_infer,
    .forward = conv_forward,
    .backward = conv_backward,
};

/* inputs dy, w */
static rgm_status grad_input_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                   const rgm_attributes *attributes)
{
    (void)inputs;
    RGM_TRY(images_check(in[0], "dy"));
    RGM_TRY(kernel_check(in[1], in[0]));
    shape_set(out, in[0]->s.dtype, in[0]->s.shape[0], attributes->integer[5],
              attributes->integer[6], in[1]->s.shape[2]);
    return RGM_OK;
}

static rgm_status grad_input_forward(rgm_op_run *run)
{
    const rgm_view *dy = &run->in[0], *w = &run->in[1];
    rgm_conv2d_args args = {.y = run->out->data,
                            .dy = dy->data,
                            .w = w->data,
                            .filters = w->shape[3],
                            .matmul = run->kernels->matmul};

    RGM_TRY(conv_window(&args.window, run->out->shape + 1, w->shape, run->attributes));
    images_set(&args.window, run->out->shape);
    if (rgmi_view_count(run->out) > 0)
        run->kernels->conv2d_grad_input(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_conv2d_grad_input_op = {
    .name = "conv2d_grad_input",
    .arity = 2,
    .infer = grad_input_infer,
    .forward = grad_input_forward,
    .no_gradient = rgmi_second,
};

/* inputs x, dy */
static rgm_status grad_kernel_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                    const rgm_attributes *attributes)
{
    (void)inputs;
    RGM_TRY(images_check(in[0], "input"));
    RGM_TRY(images_check(in[1], "dy"));
    shape_set(out, in[0]->s.dtype, attributes->integer[5], attributes->integer[6],
              in[0]->s.shape[3], in[1]->s.shape[3]);
    return RGM_OK;
}

static rgm_status grad_kernel_forward(rgm_op_run *run)
{
    const rgm_view *x = &run->in[0], *dy = &run->in[1];
    rgm_conv2d_args args = {.y = run->out->data,
                            .x = x->data,
                            .dy = dy->data,
                            .filters = dy->shape[3],
                            .matmul = run->kernels->matmul};

    RGM_TRY(conv_window(&args.window, x->shape + 1, run->out->shape, run->attributes));
    images_set(&args.window, x->shape);
    if (rgmi_view_count(run->out) > 0)
        run->kernels->conv2d_grad_kernel(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_conv2d_grad_kernel_op = {
    .name = "conv2d_grad_kernel",
    .arity = 2,
    .infer = grad_kernel_infer,
    .forward = grad_kernel_forward,
    .no_gradient = rgmi_second,
};

static int64_t or_one(int64_t number)
{
    return number == 0 ? 1 : number;
}

rgm_value *rgm_conv2d(rgm_value *x, rgm_value *w, const rgm_conv2d_options *options)
{
    static const rgm_conv2d_options defaults;
    rgm_attributes attributes = {.integer = {0}};

    if (options == NULL)
        options = &defaults;
    for (int axis = 0; axis < 2; axis++) {
        attributes.integer[axis] = or_one(options->stride[axis]);
        attributes.integer[2 + axis] = or_one(options->dilation[axis]);
    }
    attributes.integer[4] = options->padding;
    return rgmi_op2(&rgmi_conv2d_op, x, w, &attributes);
}

/* ---- pools ---- */

static rgm_status pool_window(rgm_window *w, const int64_t *images, const rgm_attributes *a)
{
    *w = (rgm_window){.count = 0};
    for (int axis = 0; axis < 2; axis++)
        RGM_TRY(axis_set(w, axis, images[axis], a->integer[2 + axis], a, 1));
    return RGM_OK;
}

static rgm_status pool_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                             const rgm_attributes *attributes)
{
    rgm_window window;

    (void)inputs;
    RGM_TRY(images_check(in[0], "input"));
    RGM_TRY(pool_window(&window, in[0]->s.shape + 1, attributes));
    shape_set(out, in[0]->s.dtype, in[0]->s.shape[0], window.out[0], window.out[1],
              in[0]->s.shape[3]);
    return RGM_OK;
}

static rgm_status pool_args(rgm_pool2d_args *args, const rgm_op_run *run, const int64_t *images)
{
    RGM_TRY(pool_window(&args->window, images + 1, run->attributes));
    images_set(&args->window, images);
    args->y = run->out->data;
    return RGM_OK;
}

static rgm_status max_pool_forward(rgm_op_run *run)
{
    rgm_pool2d_args args = {.x = run->in[0].data};

    RGM_TRY(pool_args(&args, run, run->in[0].shape));
    if (rgmi_view_count(run->out) > 0)
        run->kernels->max_pool2d(&args);
    return RGM_OK;
}

static rgm_status max_pool_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    (void)wanted;
    dx[0] = rgmi_op3(&rgmi_max_pool2d_grad_op, y->in[0], y, dy, &y->attributes);
    return RGM_OK;
}

const rgm_op_type rgmi_max_pool2d_op = {
    .name = "max_pool2d",
    .arity = 1,
    .infer = pool_infer,
    .forward = max_pool_forward,
    .backward = max_pool_backward,
};

/* inputs x, y, dy */
static rgm_status max_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                 const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(images_check(in[0], "input"));
    if (!rgmi_shapes_equal(in[1], in[2]))
        return RGM_FAIL(RGM_ERR_SHAPE, "y and dy differ");
    return rgmi_same_shape(out, in[0]);
}

static rgm_status max_grad_forward(rgm_op_run *run)
{
    rgm_pool2d_args args = {
        .x = run->in[0].data, .y_forward = run->in[1].data, .dy = run->in[2].data};

    RGM_TRY(pool_args(&args, run, run->out->shape));
    if (rgmi_view_count(run->out) > 0)
        run->kernels->max_pool2d_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_max_pool2d_grad_op = {
    .name = "max_pool2d_grad",
    .arity = 3,
    .infer = max_grad_infer,
    .forward = max_grad_forward,
    .no_gradient = rgmi_second,
};

static rgm_status avg_pool_forward(rgm_op_run *run)
{
    rgm_pool2d_args args = {.x = run->in[0].data};

    RGM_TRY(pool_args(&args, run, run->in[0].shape));
    if (rgmi_view_count(run->out) > 0)
        run->kernels->avg_pool2d(&args);
    return RGM_OK;
}

static rgm_status avg_pool_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgm_attributes attributes = y->attributes;

    (void)wanted;
    for (int axis = 0; axis < 2; axis++)
        attributes.integer[5 + axis] = y->in[0]->s.shape[1 + axis];
    dx[0] = rgmi_op1(&rgmi_avg_pool2d_grad_op, dy, &attributes);
    return RGM_OK;
}

const rgm_op_type rgmi_avg_pool2d_op = {
    .name = "avg_pool2d",
    .arity = 1,
    .infer = pool_infer,
    .forward = avg_pool_forward,
    .backward = avg_pool_backward,
};

static rgm_status avg_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                 const rgm_attributes *attributes)
{
    (void)inputs;
    RGM_TRY(images_check(in[0], "dy"));
    shape_set(out, in[0]->s.dtype, in[0]->s.shape[0], attributes->integer[5],
              attributes->integer[6], in[0]->s.shape[3]);
    return RGM_OK;
}

static rgm_status avg_grad_forward(rgm_op_run *run)
{
    rgm_pool2d_args args = {.dy = run->in[0].data};

    RGM_TRY(pool_args(&args, run, run->out->shape));
    if (rgmi_view_count(run->out) > 0)
        run->kernels->avg_pool2d_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_avg_pool2d_grad_op = {
    .name = "avg_pool2d_grad",
    .arity = 1,
    .infer = avg_grad_infer,
    .forward = avg_grad_forward,
    .no_gradient = rgmi_second,
};

static rgm_value *pool_build(const rgm_op_type *type, rgm_value *x,
                             const rgm_pool2d_options *options)
{
    static const rgm_pool2d_options defaults = {.size = {2, 2}};
    rgm_attributes attributes = {.integer = {0}};

    if (options == NULL)
        options = &defaults;
    for (int axis = 0; axis < 2; axis++) {
        int64_t size = options->size[axis], stride = options->stride[axis];
        attributes.integer[axis] = stride == 0 ? size : stride;
        attributes.integer[2 + axis] = size;
    }
    attributes.integer[4] = options->padding;
    return rgmi_op1(type, x, &attributes);
}

rgm_value *rgm_max_pool2d(rgm_value *x, const rgm_pool2d_options *options)
{
    return pool_build(&rgmi_max_pool2d_op, x, options);
}

rgm_value *rgm_avg_pool2d(rgm_value *x, const rgm_pool2d_options *options)
{
    return pool_build(&rgmi_avg_pool2d_op, x, options);
}

rgm_value *rgm_global_avg_pool2d(rgm_value *x)
{
    if (x == NULL)
        return NULL;
    if (x->s.is_pattern || x->s.rank != 4 || x->s.shape[1] < 0 || x->s.shape[2] < 0) {
        char text[RGMI_TEXT];
        return rgm_cgraph_fail(x->graph, RGM_ERR_SHAPE,
                               "global_avg_pool2d: takes [n, height, width, channels], got %s",
                               rgm_value_describe(x, text, sizeof text));
    }
    x = rgm_reshape(x, 3, (rgm_dim[]){x->s.shape[0], x->s.shape[1] * x->s.shape[2], x->s.shape[3]});
    return rgm_reduce(x, 1, RGM_MEAN);
}
