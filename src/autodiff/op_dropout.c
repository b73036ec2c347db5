/*
 * Dropout, what differs in training, and casts. A dropout is a function of (seed, stream, step,
 * element): its gradient is the same op on dy, which draws the same mask again, so no mask is ever
 * stored. Attributes: number[0] = rate, text = stream. `dropout_add`, which the executor's passes
 * make of either dropout and a sum, has integer[0] = whether it is the one of items; so has
 * `numbered_dropout`, whose rows are drawn by the number that each has where one process has all.
 */
#include "autodiff_internal.h"
#include <stdio.h>

static rgm_status dropout_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                const rgm_attributes *attributes)
{
    double rate = attributes->number[0];

    (void)inputs;
    RGM_TRY(rgmi_need_float(in[0], "input"));
    if (!(rate >= 0 && rate < 1))
        return RGM_FAIL(RGM_ERR_ARG, "rate is %g, must be in [0, 1)", rate);
    return rgmi_same_shape(out, in[0]);
}

static rgm_dropout_args args_of(const rgm_op_run *run, bool by_item)
{
    return (rgm_dropout_args){.y = run->out->data,
                              .x = run->in[0].data,
                              .count = rgmi_view_count(run->out),
                              .group =
                                  by_item && run->out->rank > 0 ? rgmi_view_tail(run->out, 1) : 1,
                              .rate = run->training ? run->attributes->number[0] : 0};
}

static rgm_status draw(rgm_op_run *run, rgm_dropout_args args)
{
    if (args.count == 0)
        return RGM_OK;
    if (args.rate == 0 && args.residual == NULL) {
        rgmi_copy(run, &run->in[0]);
        return RGM_OK;
    }
    args.rng = rgm_rng_stream(run->seed, run->attributes->text, run->step);
    run->kernels->dropout(&args);
    return RGM_OK;
}

static rgm_status dropout_forward(rgm_op_run *run)
{
    return draw(run, args_of(run, false));
}

static rgm_status item_dropout_forward(rgm_op_run *run)
{
    return draw(run, args_of(run, true));
}

static rgm_status dropout_add_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                    const rgm_attributes *attributes)
{
    if (in[1]->s.dtype != in[0]->s.dtype || !rgmi_shapes_equal(in[0], in[1]))
        return RGM_FAIL(RGM_ERR_SHAPE, "the residual has another shape");
    return dropout_infer(out, in, inputs, attributes);
}

static rgm_status dropout_add_forward(rgm_op_run *run)
{
    rgm_dropout_args args = args_of(run, run->attributes->integer[0] != 0);

    args.residual = run->in[1].data;
    return draw(run, args);
}

static rgm_status numbered_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                 const rgm_attributes *attributes)
{
    RGM_TRY(rgmi_need_rank(in[0], "input", 1));
    if (in[1]->s.dtype != RGM_I64 || in[1]->s.rank != 1)
        return RGM_FAIL(RGM_ERR_SHAPE, "the numbers of rows are no list of int64");
    return dropout_infer(out, in, inputs, attributes);
}

static rgm_status numbered_forward(rgm_op_run *run)
{
    rgm_dropout_args args = args_of(run, run->attributes->integer[0] != 0);

    if (run->in[1].shape[0] != run->out->shape[0])
        return RGM_FAIL(RGM_ERR_SHAPE, "%lld rows, of which %lld have a number",
                        (long long)run->out->shape[0], (long long)run->in[1].shape[0]);
    args.number = run->in[1].data;
    args.width = rgmi_view_tail(run->out, 1);
    return draw(run, args);
}

static rgm_status dropout_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    (void)wanted;
    dx[0] = rgmi_op1(y->type, dy, &y->attributes);
    return RGM_OK;
}

static rgm_status numbered_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    (void)wanted;
    dx[0] = rgmi_op2(y->type, dy, y->in[1], &y->attributes);
    return RGM_OK;
}

const rgm_op_type rgmi_dropout_op = {
    .name = "dropout",
    .arity = 1,
    .infer = dropout_infer,
    .forward = dropout_forward,
    .backward = dropout_backward,
    .in_place = true,
    .random = true,
};

const rgm_op_type rgmi_item_dropout_op = {
    .name = "item_dropout",
    .arity = 1,
    .infer = dropout_infer,
    .forward = item_dropout_forward,
    .backward = dropout_backward,
    .in_place = true,
    .random = true,
};

/* inputs: x, residual */
const rgm_op_type rgmi_dropout_add_op = {
    .name = "dropout_add",
    .arity = 2,
    .infer = dropout_add_infer,
    .forward = dropout_add_forward,
    .no_gradient = "made by the executor, after gradients",
    .in_place = true,
    .random = true,
};

/* inputs: x, the numbers of its rows [rows] */
const rgm_op_type rgmi_numbered_dropout_op = {
    .name = "numbered_dropout",
    .arity = 2,
    .infer = numbered_infer,
    .forward = numbered_forward,
    .backward = numbered_backward,
    .in_place = true,
    .random = true,
};

static rgm_value *dropout_build(const rgm_op_type *type, rgm_value *x, double rate,
                                const char *stream)
{
    rgm_attributes attributes = {.number[0] = rate, .text = stream};
    char name[256];

    if (x == NULL || rate == 0)
        return x;
    if (stream == NULL) {
        snprintf(name, sizeof name, "%s/dropout_%lld", x->graph->scope ? x->graph->scope : "",
                 (long long)x->graph->count);
        attributes.text = name;
    }
    return rgmi_op1(type, x, &attributes);
}

rgm_value *rgm_dropout_op(rgm_value *x, double rate, const char *stream)
{
    return dropout_build(&rgmi_dropout_op, x, rate, stream);
}

rgm_value *rgm_item_dropout_op(rgm_value *x, double rate, const char *stream)
{
    return dropout_build(&rgmi_item_dropout_op, x, rate, stream);
}

rgm_value *rgmi_numbered_dropout(rgm_value *x, const rgm_attributes *like, bool by_item,
                                 rgm_tensor *numbers)
{
    rgm_attributes attributes = {
        .number[0] = like->number[0], .integer[0] = by_item, .text = like->text};

    if (x == NULL)
        return NULL;
    return rgmi_op2(&rgmi_numbered_dropout_op, x, rgm_constant(x->graph, numbers), &attributes);
}

/* ---- when_training: no forward, since executors take one branch as they copy (program.c) ----- */

static rgm_status when_training_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                      const rgm_attributes *attributes)
{
    char a[RGMI_TEXT], b[RGMI_TEXT];

    (void)inputs, (void)attributes;
    if (in[0]->s.is_pattern || in[1]->s.is_pattern)
        return RGM_FAIL(RGM_ERR_ARG, "takes dense values, not patterns");
    if (in[0]->s.dtype != in[1]->s.dtype || !rgmi_shapes_equal(in[0], in[1]))
        return RGM_FAIL(RGM_ERR_SHAPE, "the branches differ: %s and %s",
                        rgm_value_describe(in[0], a, sizeof a),
                        rgm_value_describe(in[1], b, sizeof b));
    return rgmi_same_shape(out, in[0]);
}

static rgm_status when_training_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                         const bool *wanted)
{
    (void)y, (void)wanted;
    dx[0] = dy;
    return RGM_OK;
}

const rgm_op_type rgmi_when_training_op = {
    .name = "when_training",
    .arity = 2,
    .infer = when_training_infer,
    .backward = when_training_backward,
};

rgm_value *rgm_when_training(rgm_value *a, rgm_value *b)
{
    return rgmi_op2(&rgmi_when_training_op, a, b, NULL);
}

/* ---- cast: dtype in integer[0] ---- */

static rgm_status cast_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                             const rgm_attributes *attributes)
{
    (void)inputs;
    if (in[0]->s.is_pattern || attributes->integer[0] < 0 || attributes->integer[0] >= RGM_STRING)
        return RGM_FAIL(RGM_ERR_DTYPE, "only between f32, f64, i32, i64 and bool");
    *out = in[0]->s;
    out->dtype = (rgm_dtype)attributes->integer[0];
    return RGM_OK;
}

static rgm_status cast_forward(rgm_op_run *run)
{
    rgm_cast_args args = {.y = run->out->data,
                          .x = run->in[0].data,
                          .to = run->out->dtype,
                          .from = run->in[0].dtype,
                          .count = rgmi_view_count(run->out)};

    run->kernels->cast(&args);
    return RGM_OK;
}

static rgm_status cast_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    (void)wanted;
    if (rgmi_is_float(y->in[0]->s.dtype) && rgmi_is_float(y->s.dtype))
        dx[0] = rgm_cast(dy, y->in[0]->s.dtype);
    return RGM_OK;
}

const rgm_op_type rgmi_cast_op = {
    .name = "cast",
    .arity = 1,
    .infer = cast_infer,
    .forward = cast_forward,
    .backward = cast_backward,
};

rgm_value *rgm_cast(rgm_value *x, rgm_dtype dtype)
{
    rgm_attributes attributes = {.integer[0] = dtype};

    if (x != NULL && !x->s.is_pattern && x->s.dtype == dtype)
        return x;
    return rgmi_op1(&rgmi_cast_op, x, &attributes);
}
