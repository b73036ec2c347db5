/* ONNX operators on shapes, and those that move whole runs of elements. */
#include <limits.h>

#include "onnx_internal.h"
#include "onnx_run.h"

/* in[0] in another shape: a view. */
static rgm_status as_shape(rgmi_onnx_call *call, int rank, const int64_t *shape)
{
    int64_t count = 1;

    if (!rgmi_sizes_are_sane(rank, shape))
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "a result of impossible size");
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    if (count != rgm_tensor_count(call->in[0]))
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "%lld elements as %lld",
                              (long long)rgm_tensor_count(call->in[0]), (long long)count);
    return rgm_tensor_reshape(&call->out, call->in[0], rank, shape);
}

static rgm_status run_reshape(rgmi_onnx_call *call)
{
    const rgm_tensor *x = call->in[0];
    int64_t shape[RGM_MAX_RANK], known = 1;
    int rank, unknown = -1;
    bool zeros = rgmi_get_int(call, "allowzero", 0) != 0;

    RGM_TRY(rgmi_read_sizes(shape, &rank, call, 1));
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0 && !zeros) {
            if (i >= rgm_tensor_rank(x))
                return rgmi_call_fail(call, RGM_ERR_SHAPE, "size %d is to be kept, of rank %d", i,
                                      rgm_tensor_rank(x));
            shape[i] = rgm_tensor_dim(x, i);
        }
        if (shape[i] == -1 && unknown < 0)
            unknown = i;
        else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known))
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "size %lld", (long long)shape[i]);
    }
    if (unknown >= 0 && known == 0)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "-1 beside a size of 0");
    if (unknown >= 0)
        shape[unknown] = rgm_tensor_count(x) / known;
    return as_shape(call, rank, shape);
}

static rgm_status run_unsqueeze(rgmi_onnx_call *call)
{
    int64_t axes[RGM_MAX_RANK], shape[RGM_MAX_RANK];
    int count, rank = rgm_tensor_rank(call->in[0]), at = 0, axis, seen = 0;

    RGM_TRY(rgmi_read_sizes(axes, &count, call, 1));
    rank += count;
    if (rank > RGM_MAX_RANK)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "rank %d", rank);
    for (int i = 0; i < count; i++) {
        RGM_TRY(rgmi_axis_from_end(&axis, call, axes[i], rank));
        if (seen & 1 << axis)
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "axis %d twice", axis);
        seen |= 1 << axis;
    }
    for (int i = 0; i < rank; i++)
        shape[i] = seen & 1 << i ? 1 : rgm_tensor_dim(call->in[0], at++);
    return as_shape(call, rank, shape);
}

/* Remove all axes of size 1. */
static rgm_status run_squeeze(rgmi_onnx_call *call)
{
    int64_t shape[RGM_MAX_RANK];
    int rank = 0;

    for (int i = 0; i < rgm_tensor_rank(call->in[0]); i++)
        if (rgm_tensor_dim(call->in[0], i) != 1)
            shape[rank++] = rgm_tensor_dim(call->in[0], i);
    return as_shape(call, rank, shape);
}

/* A bound of Shape or Slice: negative counts from the end; then it is limited at both ends. */
static int64_t bound(int64_t at, int64_t size)
{
    at = at < 0 ? (at < -size ? 0 : at + size) : at;
    return at > size ? size : at;
}

static rgm_status run_shape(rgmi_onnx_call *call)
{
    int64_t rank = rgm_tensor_rank(call->in[0]);
    int64_t start = bound(rgmi_get_int(call, "start", 0), rank);
    int64_t end = bound(rgmi_get_int(call, "end", rank), rank),
            count = end > start ? end - start : 0;

    RGM_TRY(rgmi_make_out(call, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(call->out)[i] = rgm_tensor_dim(call->in[0], (int)(start + i));
    return RGM_OK;
}

/* Inputs data, starts, ends, axes; steps are 1. */
static rgm_status run_slice(rgmi_onnx_call *call)
{
    const rgm_tensor *x = call->in[0];
    int64_t starts[RGM_MAX_RANK], ends[RGM_MAX_RANK], axes[RGM_MAX_RANK], shape[RGM_MAX_RANK];
    int64_t outer, inner, size, begin;
    int count[3], axis;

    RGM_TRY(rgmi_read_sizes(starts, &count[0], call, 1));
    RGM_TRY(rgmi_read_sizes(ends, &count[1], call, 2));
    RGM_TRY(rgmi_read_sizes(axes, &count[2], call, 3));
    if (count[0] != 1 || count[1] != 1 || count[2] != 1)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "other than one axis");
    RGM_TRY(rgmi_axis_from_end(&axis, call, axes[0], rgm_tensor_rank(x)));
    for (int i = 0; i < rgm_tensor_rank(x); i++)
        shape[i] = rgm_tensor_dim(x, i);
    size = shape[axis];
    begin = bound(starts[0], size);
    shape[axis] = bound(ends[0], size) - begin;
    shape[axis] = shape[axis] > 0 ? shape[axis] : 0;
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(x), rgm_tensor_rank(x), shape));
    rgmi_around(&outer, &inner, x, axis);
    for (int64_t o = 0; o < outer && rgm_tensor_count(call->out) > 0; o++)
        rgmi_move(call->out, o * shape[axis] * inner, x, (o * size + begin) * inner,
                  shape[axis] * inner);
    return RGM_OK;
}

static rgm_status run_constant_of_shape(rgmi_onnx_call *call)
{
    const Rgmi__Onnx__AttributeProto *a = rgmi_get(call, "value");
    rgm_tensor *value = NULL;
    int64_t shape[RGM_MAX_RANK];
    rgm_status status;
    double number = 0;
    rgm_dtype dtype = RGM_F32;
    int rank;

    RGM_TRY(rgmi_read_sizes(shape, &rank, call, 0));
    if (a != NULL && a->t != NULL) {
        RGM_TRY(rgmi_proto_tensor(&value, a->t));
        dtype = rgm_tensor_dtype(value);
        status = rgm_tensor_count(value) == 1
                     ? RGM_OK
                     : rgmi_call_fail(call, RGM_ERR_FORMAT, "a value that is not one element");
        number = status == RGM_OK ? rgm_tensor_at(value, 0) : 0;
        rgm_tensor_release(value);
        RGM_TRY(status);
    }
    status = rgmi_make_out(call, dtype, rank, shape);
    for (int64_t i = 0; status == RGM_OK && i < rgm_tensor_count(call->out); i++)
        rgmi_put(call->out, i, number);
    return status;
}

static rgm_status run_range(rgmi_onnx_call *call)
{
    int64_t begin, end, count;

    for (int i = 0; i < 3; i++)
        if (rgm_tensor_dtype(call->in[i]) != RGM_I64 || rgm_tensor_count(call->in[i]) != 1)
            return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "takes int64 scalars here");
    begin = rgm_tensor_i64(call->in[0])[0];
    end = rgm_tensor_i64(call->in[1])[0];
    if (rgm_tensor_i64(call->in[2])[0] != 1)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "a step other than 1");
    if (__builtin_sub_overflow(end, begin, &count))
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "a range of impossible size");
    count = count > 0 ? count : 0;
    RGM_TRY(rgmi_make_out(call, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(call->out)[i] = begin + i;
    return RGM_OK;
}

static rgm_status run_transpose(rgmi_onnx_call *call)
{
    const Rgmi__Onnx__AttributeProto *perm = rgmi_get(call, "perm");
    const rgm_tensor *x = call->in[0];
    int rank = rgm_tensor_rank(x);
    int64_t shape[RGM_MAX_RANK], stride[RGM_MAX_RANK], seen = 0;

    if (perm == NULL || perm->n_ints != (size_t)rank)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "perm needs %d axes", rank);
    for (int i = 0; i < rank; i++) {
        int axis;

        RGM_TRY(rgmi_axis_from_end(&axis, call, perm->ints[i], rank));
        seen |= 1 << axis;
        shape[i] = rgm_tensor_dim(x, axis);
        stride[i] = 1;
        for (int k = axis + 1; k < rank; k++)
            stride[i] *= rgm_tensor_dim(x, k);
    }
    if (seen != (1 << rank) - 1)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "perm repeats an axis");
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(x), rank, shape));
    for (int64_t i = 0; i < rgm_tensor_count(call->out); i++) {
        int64_t rest = i, from = 0;

        for (int axis = rank - 1; axis >= 0; axis--) {
            from += rest % shape[axis] * stride[axis];
            rest /= shape[axis];
        }
        rgmi_move(call->out, i, x, from, 1);
    }
    return RGM_OK;
}

static rgm_status run_concat(rgmi_onnx_call *call)
{
    int64_t shape[RGM_MAX_RANK], outer, inner, at = 0;
    int rank = rgm_tensor_rank(call->in[0]), axis;

    RGM_TRY(rgmi_axis_from_end(&axis, call, rgmi_get_int(call, "axis", 0), rank));
    for (int i = 0; i < rank; i++)
        shape[i] = rgm_tensor_dim(call->in[0], i);
    for (int k = 1; k < call->inputs; k++) {
        if (rgm_tensor_rank(call->in[k]) != rank ||
            rgm_tensor_dtype(call->in[k]) != rgm_tensor_dtype(call->in[0]))
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "input %d has another rank or type", k);
        for (int i = 0; i < rank; i++)
            if (i != axis && rgm_tensor_dim(call->in[k], i) != shape[i])
                return rgmi_call_fail(call, RGM_ERR_SHAPE, "input %d has another size", k);
        if (__builtin_add_overflow(shape[axis], rgm_tensor_dim(call->in[k], axis), &shape[axis]))
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "a result of impossible size");
    }
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(call->in[0]), rank, shape));
    rgmi_around(&outer, &inner, call->out, axis);
    for (int64_t o = 0; o < outer && rgm_tensor_count(call->out) > 0; o++)
        for (int k = 0; k < call->inputs; k++) {
            int64_t run = rgm_tensor_dim(call->in[k], axis) * inner;

            rgmi_move(call->out, at, call->in[k], o * run, run);
            at += run;
        }
    return RGM_OK;
}

const rgmi_operator rgmi_shape_operators[] = {
    {"Reshape", 2, 2, run_reshape, {"allowzero"}},
    {"Unsqueeze", 2, 2, run_unsqueeze, {NULL}},
    {"Squeeze", 1, 1, run_squeeze, {NULL}},
    {"Shape", 1, 1, run_shape, {"start", "end"}},
    {"Slice", 4, 4, run_slice, {NULL}},
    {"ConstantOfShape", 1, 1, run_constant_of_shape, {"value"}},
    {"Range", 3, 3, run_range, {NULL}},
    {"Transpose", 1, 1, run_transpose, {"perm"}},
    {"Concat", 1, INT_MAX, run_concat, {"axis"}},
    {NULL, 0, 0, NULL, {NULL}},
};
