/*
 * Softmax over the last axis, its logarithm, and softmax cross-entropy. `masked_softmax` is what
 * the executor's passes make of softmax(scale * x + mask).
 */
#include "autodiff_internal.h"

static rgm_status softmax_run(rgm_op_run *run, const void *x, bool log)
{
    rgm_softmax_args args = {.y = run->out->data, .x = x, .log = log};

    rgmi_rows_of(&args.rows, &args.channels, run->out);
    if (args.rows > 0)
        run->kernels->softmax(&args);
    return RGM_OK;
}

static rgm_status grad_run(rgm_op_run *run, bool log)
{
    rgm_softmax_args args = {
        .y = run->out->data, .y_forward = run->in[0].data, .dy = run->in[1].data, .log = log};

    rgmi_rows_of(&args.rows, &args.channels, run->out);
    if (args.rows > 0)
        run->kernels->softmax_grad(&args);
    return RGM_OK;
}

/* An op of the rows of x, and its gradient by y and dy. */
#define ROWS(op, is_log)                                                                           \
    static rgm_status op##_forward(rgm_op_run *run)                                                \
    {                                                                                              \
        return softmax_run(run, run->in[0].data, is_log);                                          \
    }                                                                                              \
    static rgm_status op##_grad_forward(rgm_op_run *run)                                           \
    {                                                                                              \
        return grad_run(run, is_log);                                                              \
    }                                                                                              \
    static rgm_status op##_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,                   \
                                    const bool *wanted)                                            \
    {                                                                                              \
        (void)wanted;                                                                              \
        dx[0] = rgmi_op2(&rgmi_##op##_grad_op, y, dy, NULL);                                       \
        return RGM_OK;                                                                             \
    }                                                                                              \
    const rgm_op_type rgmi_##op##_op = {.name = #op,                                               \
                                        .arity = 1,                                                \
                                        .infer = rgmi_rows_infer,                                  \
                                        .forward = op##_forward,                                   \
                                        .backward = op##_backward};                                \
    const rgm_op_type rgmi_##op##_grad_op = {.name = #op "_grad",                                  \
                                             .arity = 2,                                           \
                                             .infer = rgmi_rows_infer,                             \
                                             .forward = op##_grad_forward,                         \
                                             .no_gradient = rgmi_second};
ROWS(softmax, false)
ROWS(log_softmax, true)

rgm_value *rgm_softmax(rgm_value *x)
{
    return rgmi_op1(&rgmi_softmax_op, x, NULL);
}
rgm_value *rgm_log_softmax(rgm_value *x)
{
    return rgmi_op1(&rgmi_log_softmax_op, x, NULL);
}

/* ---- softmax(number[0] x + mask): inputs x and perhaps a mask that broadcasts to it; the kernel
 * then works in y's memory ---- */

static rgm_status masked_softmax_forward(rgm_op_run *run)
{
    rgmi_program program = {.inputs = run->inputs};
    double scale = run->attributes->number[0];
    int8_t at = 0;

    if (scale != 1) {
        program.step[program.steps++] = (rgm_map_step){.code = RGM_MAP_SCALE, .constant = scale};
        at = (int8_t)run->inputs;
    }
    if (run->inputs == 2)
        program.step[program.steps++] = (rgm_map_step){.code = RGM_MAP_ADD, .a = at, .b = 1};
    if (program.steps == 0)
        return softmax_forward(run);
    rgmi_map_run(run->kernels, run->out, run->in, &program);
    return softmax_run(run, run->out->data, false);
}

const rgm_op_type rgmi_masked_softmax_op = {
    .name = "masked_softmax",
    .arity = -1,
    .infer = rgmi_rows_infer,
    .forward = masked_softmax_forward,
    .no_gradient = "made by the executor, after gradients",
    .in_place = true,
};

/* ---- softmax cross-entropy: integer[0] = classes (0: all columns), number[0] = the target of each
 * class but the label ---- */

static rgm_status logits_check(rgm_value *const *in, const rgm_attributes *attributes)
{
    int64_t columns, classes = attributes->integer[0];
    char a[RGMI_TEXT], b[RGMI_TEXT];

    RGM_TRY(rgmi_need_float(in[0], "logits"));
    if (in[0]->s.rank != 2 || in[1]->s.is_pattern || in[1]->s.rank != 1 ||
        in[1]->s.shape[0] != in[0]->s.shape[0])
        return RGM_FAIL(
            RGM_ERR_SHAPE, "needs logits [rows,classes] and labels [rows], got %s and %s",
            rgm_value_describe(in[0], a, sizeof a), rgm_value_describe(in[1], b, sizeof b));
    if (!rgmi_is_index(in[1]->s.dtype))
        return RGM_FAIL(RGM_ERR_DTYPE, "labels must be i32 or i64, are %s",
                        rgm_dtype_name(in[1]->s.dtype));
    columns = in[0]->s.shape[1];
    if ((classes != 0 || attributes->number[0] != 0) &&
        (columns < 0 || classes < 0 || classes > columns))
        return RGM_FAIL(RGM_ERR_SHAPE, "%lld classes in logits %s", (long long)classes,
                        rgm_value_describe(in[0], a, sizeof a));
    return RGM_OK;
}

static rgm_status cross_entropy_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                      const rgm_attributes *attributes)
{
    (void)inputs;
    RGM_TRY(logits_check(in, attributes));
    out->dtype = in[0]->s.dtype;
    out->rank = 1;
    out->shape[0] = in[0]->s.shape[0];
    return RGM_OK;
}

static rgm_status labels_check(const rgm_op_run *run, int64_t classes)
{
    rgm_index_flag outside;

    if (rgm_op_run_index(&outside, run, &run->in[1], 0, classes))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA, "label[%lld] is %lld, classes are 0..%lld", (long long)outside.at,
                    (long long)outside.index, (long long)classes - 1);
}

static rgm_cross_entropy_args cross_entropy_args(const rgm_op_run *run)
{
    const rgm_view *x = &run->in[0], *label = &run->in[1];
    int64_t classes = run->attributes->integer[0];

    return (rgm_cross_entropy_args){.y = run->out->data,
                                    .x = x->data,
                                    .label = label->data,
                                    .label_dtype = label->dtype,
                                    .rows = x->shape[0],
                                    .channels = x->shape[1],
                                    .classes = classes > 0 ? classes : x->shape[1],
                                    .spread = run->attributes->number[0]};
}

static rgm_status cross_entropy_forward(rgm_op_run *run)
{
    rgm_cross_entropy_args args = cross_entropy_args(run);

    RGM_TRY(labels_check(run, args.classes));
    if (args.rows > 0)
        run->kernels->cross_entropy(&args);
    return RGM_OK;
}

static rgm_status cross_entropy_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                         const bool *wanted)
{
    if (wanted[0])
        dx[0] = rgmi_op3(&rgmi_cross_entropy_grad_op, y->in[0], y->in[1], dy, &y->attributes);
    return RGM_OK;
}

const rgm_op_type rgmi_cross_entropy_op = {
    .name = "softmax_cross_entropy",
    .arity = 2,
    .infer = cross_entropy_infer,
    .forward = cross_entropy_forward,
    .backward = cross_entropy_backward,
};

rgm_value *rgm_softmax_cross_entropy(rgm_value *logits, rgm_value *labels)
{
    return rgm_softmax_cross_entropy_with(logits, labels,
                                          &(rgm_cross_entropy_options){.classes = 0});
}

rgm_value *rgm_softmax_cross_entropy_with(rgm_value *logits, rgm_value *labels,
                                          const rgm_cross_entropy_options *options)
{
    rgm_attributes attributes = {.integer[0] = options->classes};
    int64_t classes = options->classes;

    if (logits == NULL)
        return NULL;
    if (!(options->smoothing >= 0 && options->smoothing < 1))
        return rgm_cgraph_fail(logits->graph, RGM_ERR_ARG,
                               "softmax_cross_entropy: smoothing is %g, must be in [0, 1)",
                               options->smoothing);
    if (classes == 0 && logits->s.rank > 0)
        classes = logits->s.shape[logits->s.rank - 1];
    if (options->smoothing > 0 && classes < 2)
        return rgm_cgraph_fail(
            logits->graph, RGM_ERR_ARG,
            "softmax_cross_entropy: smoothing needs a static number of classes, two or "
            "more");
    if (options->smoothing > 0)
        attributes.number[0] = options->smoothing / (double)(classes - 1);
    return rgmi_op2(&rgmi_cross_entropy_op, logits, labels, &attributes);
}

static rgm_status cross_entropy_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                           const rgm_attributes *attributes)
{
    (void)inputs;
    RGM_TRY(logits_check(in, attributes));
    return rgmi_same_shape(out, in[0]);
}

/* Checks the labels again: a run that fetches only gradients has not computed the loss. */
static rgm_status cross_entropy_grad_forward(rgm_op_run *run)
{
    rgm_cross_entropy_args args = cross_entropy_args(run);

    args.dloss = run->in[2].data;
    RGM_TRY(labels_check(run, args.classes));
    if (args.rows > 0)
        run->kernels->cross_entropy_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_cross_entropy_grad_op = {
    .name = "softmax_cross_entropy_grad",
    .arity = 3,
    .infer = cross_entropy_grad_infer,
    .forward = cross_entropy_grad_forward,
    .no_gradient = rgmi_second,
    .in_place = true, /* logits over a vocabulary: the largest value of a step, not kept twice */
};
