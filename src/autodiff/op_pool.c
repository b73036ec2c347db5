/*
 * Values on the entries of a pattern: broadcast from rows or columns, pool into rows, softmax
 * within rows; and gather by index. Broadcast and pool are each other's gradients, so nothing
 * scatters.
 */
#include "autodiff_internal.h"

static rgm_status entries_check(rgm_value *p, rgm_value *x, int which, const char *of)
{
    char pt[RGMI_TEXT], xt[RGMI_TEXT];

    RGM_TRY(rgmi_need_pattern(p));
    RGM_TRY(rgmi_need_rank(x, "x", 1));
    if (x->s.shape[0] != p->s.shape[which])
        return RGM_FAIL(RGM_ERR_SHAPE, "x needs one row %s: %s and %s", of,
                        rgm_value_describe(p, pt, sizeof pt), rgm_value_describe(x, xt, sizeof xt));
    return RGM_OK;
}

/* ---- broadcast ---- */

static rgm_status broadcast_infer(rgm_op_shape *out, rgm_value *const *in, int which,
                                  const char *of)
{
    RGM_TRY(entries_check(in[0], in[1], which, of));
    *out = in[1]->s;
    out->shape[0] = in[0]->s.shape[2];
    return RGM_OK;
}

static rgm_status broadcast_rows_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                       const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    return broadcast_infer(out, in, 0, "a row of the pattern");
}

static rgm_status broadcast_columns_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                          const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    return broadcast_infer(out, in, 1, "a column of the pattern");
}

/* y[i] = x[index[i]] for any dtype. */
static void rows_gather(rgm_op_run *run, const rgm_view *x, const void *index, rgm_dtype dtype)
{
    rgm_gather_args args = {.y = run->out->data,
                            .x = x->data,
                            .index = index,
                            .index_dtype = dtype,
                            .count = run->out->shape[0],
                            .channels = rgmi_view_tail(x, 1)};

    if (args.count == 0 || args.channels == 0)
        return;
    if (rgmi_is_float(x->dtype)) {
        run->kernels->gather(&args);
    } else {
        args.channels *= (int64_t)rgm_dtype_size(x->dtype);
        run->kernels->gather_bytes(&args);
    }
}

static rgm_status broadcast_rows_forward(rgm_op_run *run)
{
    rows_gather(run, &run->in[1], run->in[0].row_of, RGM_I32);
    return RGM_OK;
}

static rgm_status broadcast_columns_forward(rgm_op_run *run)
{
    rows_gather(run, &run->in[1], run->in[0].column_of, RGM_I32);
    return RGM_OK;
}

static rgm_status broadcast_rows_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                          const bool *wanted)
{
    (void)wanted;
    dx[1] = rgm_pool_rows(y->in[0], dy, RGM_SUM);
    return RGM_OK;
}

static rgm_status broadcast_columns_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                             const bool *wanted)
{
    (void)wanted;
    dx[1] = rgm_pool_rows(rgm_transpose_pattern(y->in[0]), dy, RGM_SUM);
    return RGM_OK;
}

const rgm_op_type rgmi_broadcast_rows_op = {
    .name = "broadcast_rows",
    .pattern_reads = RGM_READS_ROW_OF,
    .arity = 2,
    .infer = broadcast_rows_infer,
    .forward = broadcast_rows_forward,
    .backward = broadcast_rows_backward,
};

const rgm_op_type rgmi_broadcast_columns_op = {
    .name = "broadcast_columns",
    .pattern_reads = RGM_READS_COLUMN_OF,
    .arity = 2,
    .infer = broadcast_columns_infer,
    .forward = broadcast_columns_forward,
    .backward = broadcast_columns_backward,
};

rgm_value *rgm_broadcast_rows(rgm_value *p, rgm_value *x)
{
    return rgmi_op2(&rgmi_broadcast_rows_op, p, x, NULL);
}

rgm_value *rgm_broadcast_columns(rgm_value *p, rgm_value *x)
{
    return rgmi_op2(&rgmi_broadcast_columns_op, p, x, NULL);
}

/* ---- pool: reduction in integer[0] ---- */

static rgm_status pool_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                             const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(entries_check(in[0], in[1], 2, "an entry of the pattern"));
    RGM_TRY(rgmi_need_float(in[1], "x"));
    *out = in[1]->s;
    out->shape[0] = in[0]->s.shape[0];
    return RGM_OK;
}

static rgm_status pool_forward(rgm_op_run *run)
{
    rgm_segment_args args = {.y = run->out->data,
                             .csr = run->in[0].csr,
                             .x = run->in[1].data,
                             .channels = rgmi_view_tail(run->out, 1),
                             .reduction = (rgm_reduction)run->attributes->integer[0]};

    if (rgmi_view_count(run->out) > 0)
        run->kernels->segment_reduce(&args);
    return RGM_OK;
}

static rgm_status pool_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgm_value *p = y->in[0], *inverse;
    rgm_dim shape[RGM_MAX_RANK];

    (void)wanted;
    switch ((rgm_reduction)y->attributes.integer[0]) {
    case RGM_SUM:
        dx[1] = rgm_broadcast_rows(p, dy);
        break;
    case RGM_MEAN:
        for (int i = 0; i < y->s.rank; i++)
            shape[i] = i == 0 ? y->s.shape[0] : 1;
        inverse = rgm_reshape(rgmi_inverse_degree(p, y->s.dtype, false), y->s.rank, shape);
        dx[1] = rgm_broadcast_rows(p, rgm_mul(dy, inverse));
        break;
    default:
        dx[1] = rgmi_op4(&rgmi_pool_rows_grad_op, p, y->in[1], y, dy, &y->attributes);
    }
    return RGM_OK;
}

const rgm_op_type rgmi_pool_rows_op = {
    .name = "pool_rows",
    .pattern_reads = RGM_READS_CSR,
    .arity = 2,
    .infer = pool_infer,
    .forward = pool_forward,
    .backward = pool_backward,
};

rgm_value *rgm_pool_rows(rgm_value *p, rgm_value *x, rgm_reduction reduction)
{
    rgm_attributes attributes = {.integer[0] = reduction};

    return rgmi_op2(&rgmi_pool_rows_op, p, x, &attributes);
}

static rgm_status pool_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                  const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    return rgmi_same_shape(out, in[1]);
}

static rgm_status pool_grad_forward(rgm_op_run *run)
{
    rgm_segment_args args = {.y = run->out->data,
                             .csr = run->in[0].csr,
                             .x = run->in[1].data,
                             .y_forward = run->in[2].data,
                             .dy = run->in[3].data,
                             .channels = rgmi_view_tail(run->out, 1),
                             .reduction = (rgm_reduction)run->attributes->integer[0]};

    if (rgmi_view_count(run->out) > 0)
        run->kernels->segment_reduce_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_pool_rows_grad_op = {
    .name = "pool_rows_grad",
    .pattern_reads = RGM_READS_CSR,
    .arity = 4,
    .infer = pool_grad_infer,
    .forward = pool_grad_forward,
    .no_gradient = rgmi_second,
};

/* ---- softmax within rows ---- */

static rgm_status softmax_rows_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                     const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(entries_check(in[0], in[1], 2, "an entry of the pattern"));
    RGM_TRY(rgmi_need_float(in[1], "x"));
    return rgmi_same_shape(out, in[1]);
}

static rgm_status softmax_rows_forward(rgm_op_run *run)
{
    rgm_segment_softmax_args args = {.y = run->out->data,
                                     .csr = run->in[0].csr,
                                     .x = run->in[1].data,
                                     .channels = rgmi_view_tail(run->out, 1)};

    if (rgmi_view_count(run->out) > 0)
        run->kernels->segment_softmax(&args);
    return RGM_OK;
}

static rgm_status softmax_rows_grad_forward(rgm_op_run *run)
{
    rgm_segment_softmax_args args = {.y = run->out->data,
                                     .csr = run->in[0].csr,
                                     .y_forward = run->in[1].data,
                                     .dy = run->in[2].data,
                                     .channels = rgmi_view_tail(run->out, 1)};

    if (rgmi_view_count(run->out) > 0)
        run->kernels->segment_softmax_grad(&args);
    return RGM_OK;
}

static rgm_status softmax_rows_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                        const bool *wanted)
{
    (void)wanted;
    dx[1] = rgmi_op3(&rgmi_softmax_rows_grad_op, y->in[0], y, dy, NULL);
    return RGM_OK;
}

const rgm_op_type rgmi_softmax_rows_op = {
    .name = "softmax_rows",
    .pattern_reads = RGM_READS_CSR,
    .arity = 2,
    .infer = softmax_rows_infer,
    .forward = softmax_rows_forward,
    .backward = softmax_rows_backward,
};

const rgm_op_type rgmi_softmax_rows_grad_op = {
    .name = "softmax_rows_grad",
    .pattern_reads = RGM_READS_CSR,
    .arity = 3,
    .infer = softmax_rows_infer,
    .forward = softmax_rows_grad_forward,
    .no_gradient = rgmi_second,
};

rgm_value *rgm_softmax_rows(rgm_value *p, rgm_value *x)
{
    return rgmi_op2(&rgmi_softmax_rows_op, p, x, NULL);
}

/* ---- gather ---- */

static rgm_status gather_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                               const rgm_attributes *attributes)
{
    char text[RGMI_TEXT];

    (void)inputs, (void)attributes;
    RGM_TRY(rgmi_need_rank(in[0], "x", 1));
    if (in[1]->s.is_pattern || !rgmi_is_index(in[1]->s.dtype) || in[1]->s.rank != 1)
        return RGM_FAIL(RGM_ERR_DTYPE, "index must be i32 or i64 [count], is %s",
                        rgm_value_describe(in[1], text, sizeof text));
    *out = in[0]->s;
    out->shape[0] = in[1]->s.shape[0];
    return RGM_OK;
}

static rgm_status gather_forward(rgm_op_run *run)
{
    const rgm_view *x = &run->in[0], *index = &run->in[1];

    RGM_TRY(rgmi_need_rows(run, index, 0, x->shape[0]));
    rows_gather(run, x, index->data, index->dtype);
    return RGM_OK;
}

/* Rows taken several times sum, in the order of the index. */
static rgm_status gather_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    if (wanted[0])
        dx[0] = rgm_pool_rows(rgmi_pattern_from_index(y->in[1], y->in[0]->s.shape[0]), dy, RGM_SUM);
    return RGM_OK;
}

const rgm_op_type rgmi_gather_op = {
    .name = "gather",
    .arity = 2,
    .infer = gather_infer,
    .forward = gather_forward,
    .backward = gather_backward,
};

rgm_value *rgm_gather(rgm_value *x, rgm_value *index)
{
    return rgmi_op2(&rgmi_gather_op, x, index, NULL);
}
