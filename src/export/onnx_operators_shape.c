/* ONNX operators that move elements: shapes, indices, gather and scatter. */
#include <math.h>
#include <string.h>

#include "onnx_internal.h"
#include "onnx_run.h"

/* Sizes before, at and after an axis. */
static void split(int64_t *outer, int64_t *inner, const rgm_tensor *x, int axis)
{
    *outer = *inner = 1;
    for (int i = 0; i < rgm_tensor_rank(x); i++) {
        if (i < axis)
            *outer *= rgm_tensor_dim(x, i);
        if (i > axis)
            *inner *= rgm_tensor_dim(x, i);
    }
}

static rgm_status as_shape(rgmi_call *call, int rank, const int64_t *shape)
{
    rgm_status status = rgm_tensor_reshape(&call->out, call->in[0], rank, shape);

    return status == RGM_OK ? RGM_OK : rgm_error_prefix(status, "ONNX node '%s'", call->node->name);
}

static rgm_status run_reshape(rgmi_call *call)
{
    int64_t shape[RGM_MAX_RANK], known = 1;
    int rank, unknown = -1;
    bool zeros = rgmi_get_int(call, "allowzero", 0) != 0;

    RGM_TRY(rgmi_read_sizes(shape, &rank, call, 1));
    for (int i = 0; i < rank; i++) {
        if (shape[i] == 0 && !zeros && i < rgm_tensor_rank(call->in[0]))
            shape[i] = rgm_tensor_dim(call->in[0], i);
        if (shape[i] == -1)
            unknown = i;
        else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known))
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "size %lld", (long long)shape[i]);
    }
    if (unknown >= 0)
        shape[unknown] = known > 0 ? rgm_tensor_count(call->in[0]) / known : 0;
    return as_shape(call, rank, shape);
}

static rgm_status run_unsqueeze(rgmi_call *call)
{
    int64_t axes[RGM_MAX_RANK], shape[RGM_MAX_RANK];
    int count, rank = rgm_tensor_rank(call->in[0]), at = 0, axis;

    RGM_TRY(rgmi_read_sizes(axes, &count, call, 1));
    if (count != 1 || rank == RGM_MAX_RANK)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "more than one axis");
    RGM_TRY(rgmi_axis(&axis, call, axes[0], rank + 1));
    for (int i = 0; i <= rank; i++)
        shape[i] = i == axis ? 1 : rgm_tensor_dim(call->in[0], at++);
    return as_shape(call, rank + 1, shape);
}

/* All axes of size 1. */
static rgm_status run_squeeze(rgmi_call *call)
{
    int64_t shape[RGM_MAX_RANK];
    int rank = 0;

    for (int i = 0; i < rgm_tensor_rank(call->in[0]); i++)
        if (rgm_tensor_dim(call->in[0], i) != 1)
            shape[rank++] = rgm_tensor_dim(call->in[0], i);
    return as_shape(call, rank, shape);
}

static rgm_status run_shape(rgmi_call *call)
{
    const int64_t rank = rgm_tensor_rank(call->in[0]);

    RGM_TRY(rgmi_make_out(call, RGM_I64, 1, &rank));
    for (int64_t i = 0; i < rank; i++)
        rgm_tensor_i64(call->out)[i] = rgm_tensor_dim(call->in[0], (int)i);
    return RGM_OK;
}

static rgm_status run_constant_of_shape(rgmi_call *call)
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
        number = rgm_tensor_count(value) > 0 ? rgm_tensor_at(value, 0) : 0;
        rgm_tensor_release(value);
    }
    status = rgmi_make_out(call, dtype, rank, shape);
    for (int64_t i = 0; status == RGM_OK && i < rgm_tensor_count(call->out); i++)
        rgmi_put(call->out, i, number);
    return status;
}

static rgm_status run_range(rgmi_call *call)
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

static rgm_status run_transpose(rgmi_call *call)
{
    const Rgmi__Onnx__AttributeProto *perm = rgmi_get(call, "perm");
    const rgm_tensor *x = call->in[0];
    int rank = rgm_tensor_rank(x);
    int64_t shape[RGM_MAX_RANK], stride[RGM_MAX_RANK], seen = 0;

    if (perm == NULL || perm->n_ints != (size_t)rank)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "perm needs %d axes", rank);
    for (int i = 0; i < rank; i++) {
        int axis;

        RGM_TRY(rgmi_axis(&axis, call, perm->ints[i], rank));
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
        rgmi_put(call->out, i, rgm_tensor_at(x, from));
    }
    return RGM_OK;
}

static rgm_status run_concat(rgmi_call *call)
{
    int64_t shape[RGM_MAX_RANK], outer, inner, at = 0;
    int rank = rgm_tensor_rank(call->in[0]), axis;

    RGM_TRY(rgmi_axis(&axis, call, rgmi_get_int(call, "axis", 0), rank));
    for (int i = 0; i < rank; i++)
        shape[i] = rgm_tensor_dim(call->in[0], i);
    for (int k = 1; k < call->inputs; k++) {
        if (rgm_tensor_rank(call->in[k]) != rank ||
            rgm_tensor_dtype(call->in[k]) != rgm_tensor_dtype(call->in[0]))
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "input %d has another rank or type", k);
        for (int i = 0; i < rank; i++)
            if (i != axis && rgm_tensor_dim(call->in[k], i) != shape[i])
                return rgmi_call_fail(call, RGM_ERR_SHAPE, "input %d has another size", k);
        shape[axis] += rgm_tensor_dim(call->in[k], axis);
    }
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(call->in[0]), rank, shape));
    split(&outer, &inner, call->out, axis);
    for (int64_t o = 0; o < outer; o++)
        for (int k = 0; k < call->inputs; k++) {
            int64_t run = rgm_tensor_dim(call->in[k], axis) * inner;

            for (int64_t i = 0; i < run; i++)
                rgmi_put(call->out, at++, rgm_tensor_at(call->in[k], o * run + i));
        }
    return RGM_OK;
}

static rgm_status run_gather(rgmi_call *call)
{
    const rgm_tensor *x = call->in[0], *index = call->in[1];
    int64_t shape[RGM_MAX_RANK], outer, inner, size, count = rgm_tensor_count(index);
    int rank = 0, axis;

    RGM_TRY(rgmi_axis(&axis, call, rgmi_get_int(call, "axis", 0), rgm_tensor_rank(x)));
    if (rgm_tensor_rank(x) - 1 + rgm_tensor_rank(index) > RGM_MAX_RANK)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "a result of too high a rank");
    for (int i = 0; i < axis; i++)
        shape[rank++] = rgm_tensor_dim(x, i);
    for (int i = 0; i < rgm_tensor_rank(index); i++)
        shape[rank++] = rgm_tensor_dim(index, i);
    for (int i = axis + 1; i < rgm_tensor_rank(x); i++)
        shape[rank++] = rgm_tensor_dim(x, i);
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(x), rank, shape));
    split(&outer, &inner, x, axis);
    size = rgm_tensor_dim(x, axis);
    for (int64_t k = 0; k < count; k++) {
        int64_t from = rgm_tensor_at_int(index, k);

        from = from < 0 ? from + size : from;
        if (from < 0 || from >= size)
            return rgmi_call_fail(call, RGM_ERR_DATA, "index %lld of %lld", (long long)from,
                                  (long long)size);
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < inner; i++)
                rgmi_put(call->out, (o * count + k) * inner + i,
                         rgm_tensor_at(x, (o * size + from) * inner + i));
    }
    return RGM_OK;
}

/* indices [count, 1]: whole rows of data are updated, one after the other. */
static rgm_status run_scatter_nd(rgmi_call *call)
{
    const rgm_tensor *index = call->in[1], *updates = call->in[2];
    int64_t rows, width, count;
    int how = rgmi_get_is(call, "reduction", "add")   ? 1
              : rgmi_get_is(call, "reduction", "mul") ? 2
              : rgmi_get_is(call, "reduction", "max") ? 3
              : rgmi_get_is(call, "reduction", "min") ? 4
                                                      : 0;

    if (rgm_tensor_rank(index) != 2 || rgm_tensor_dim(index, 1) != 1 ||
        rgm_tensor_rank(call->in[0]) < 1)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "takes indices [count, 1] here");
    rows = rgm_tensor_dim(call->in[0], 0);
    count = rgm_tensor_dim(index, 0);
    split(&count, &width, call->in[0], 0);
    count = rgm_tensor_dim(index, 0);
    if (rgm_tensor_count(updates) != count * width)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "%lld updates for %lld rows of %lld",
                              (long long)rgm_tensor_count(updates), (long long)count,
                              (long long)width);
    RGM_TRY(rgm_tensor_copy(&call->out, call->in[0]));
    for (int64_t k = 0; k < count; k++) {
        int64_t row = rgm_tensor_at_int(index, k);

        if (row < 0 || row >= rows)
            return rgmi_call_fail(call, RGM_ERR_DATA, "index %lld of %lld rows", (long long)row,
                                  (long long)rows);
        for (int64_t i = 0; i < width; i++) {
            double new = rgm_tensor_at(updates, k * width + i);
            double old = rgm_tensor_at(call->out, row * width + i);

            rgmi_put(call->out, row * width + i,
                     how == 1   ? old + new
                     : how == 2 ? old * new
                     : how == 3 ? fmax(old, new)
                     : how == 4 ? fmin(old, new)
                                : new);
        }
    }
    return RGM_OK;
}

const rgmi_operator rgmi_shape_operators[] = {
    {"Reshape", 2, 2, run_reshape},
    {"Unsqueeze", 2, 2, run_unsqueeze},
    {"Squeeze", 1, 1, run_squeeze},
    {"Shape", 1, 1, run_shape},
    {"ConstantOfShape", 1, 1, run_constant_of_shape},
    {"Range", 3, 3, run_range},
    {"Transpose", 1, 1, run_transpose},
    {"Concat", 1, RGMI_ONNX_MAX_INPUTS, run_concat},
    {"Gather", 2, 2, run_gather},
    {"ScatterND", 3, 3, run_scatter_nd},
    {NULL, 0, 0, NULL},
};
