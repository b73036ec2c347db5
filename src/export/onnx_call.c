/* Shared by all operators of the interpreter: attributes, results within the budget, elements. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx_internal.h"
#include "onnx_run.h"

#define MAX_ELEMENTS (INT64_C(1) << 40)

rgm_status rgmi_call_fail(const rgmi_onnx_call *call, rgm_status code, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return RGM_FAIL(code, "ONNX node '%s' (%s): %s",
                    call->node->name != NULL ? call->node->name : "", call->node->op_type, text);
}

/* ---- attributes ---------------------------------------------------------------------------- */

const Rgmi__Onnx__AttributeProto *rgmi_get(const rgmi_onnx_call *call, const char *name)
{
    for (size_t i = 0; i < call->node->n_attribute; i++)
        if (call->node->attribute[i]->name != NULL &&
            strcmp(call->node->attribute[i]->name, name) == 0)
            return call->node->attribute[i];
    return NULL;
}

int64_t rgmi_get_int(const rgmi_onnx_call *call, const char *name, int64_t otherwise)
{
    const Rgmi__Onnx__AttributeProto *a = rgmi_get(call, name);

    return a != NULL && a->has_i ? a->i : otherwise;
}

double rgmi_get_float(const rgmi_onnx_call *call, const char *name, double otherwise)
{
    const Rgmi__Onnx__AttributeProto *a = rgmi_get(call, name);

    return a != NULL && a->has_f ? (double)a->f : otherwise;
}

/* ---- results ------------------------------------------------------------------------------- */

bool rgmi_sizes_are_sane(int rank, const int64_t *shape)
{
    int64_t count = 1;

    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0 || __builtin_mul_overflow(count, shape[i] > 0 ? shape[i] : 1, &count) ||
            count > MAX_ELEMENTS)
            return false;
    }
    return true;
}

rgm_status rgmi_count_work(rgmi_onnx_call *call, int64_t amount)
{
    if (amount > call->budget->work)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED,
                              "takes more work than inputs of this size are granted here");
    call->budget->work -= amount;
    return RGM_OK;
}

rgm_status rgmi_make_out(rgmi_onnx_call *call, rgm_dtype dtype, int rank, const int64_t *shape)
{
    int64_t count = 1, bytes;

    if (!rgmi_sizes_are_sane(rank, shape))
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "a result of impossible size");
    for (int i = 0; i < rank; i++)
        count *= shape[i];
    bytes = count * (int64_t)rgm_dtype_size(dtype);
    if (bytes > call->budget->bytes)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED,
                              "a result of %lld bytes is more than inputs of this size are granted "
                              "here",
                              (long long)bytes);
    RGM_TRY(rgmi_count_work(call, count));
    return rgm_tensor_create(&call->out, dtype, rank, shape);
}

static double within(double value, double least, double most)
{
    return isnan(value) ? 0 : value < least ? least : value > most ? most : value;
}

void rgmi_put(rgm_tensor *tensor, int64_t i, double value)
{
    switch (rgm_tensor_dtype(tensor)) {
    case RGM_F32:
        rgm_tensor_f32(tensor)[i] = (float)value;
        break;
    case RGM_F64:
        rgm_tensor_f64(tensor)[i] = value;
        break;
    case RGM_I32:
        rgm_tensor_i32(tensor)[i] = (int32_t)within(value, INT32_MIN, INT32_MAX);
        break;
    case RGM_I64: /* 2^63 is a double, 2^63 - 1 is not */
        rgm_tensor_i64(tensor)[i] =
            value >= 0x1p63 ? INT64_MAX : (int64_t)within(value, -0x1p63, 0x1p63);
        break;
    default:
        rgm_tensor_bool(tensor)[i] = value != 0;
    }
}

void rgmi_move(rgm_tensor *to, int64_t at, const rgm_tensor *from, int64_t begin, int64_t count)
{
    size_t size = rgm_dtype_size(rgm_tensor_dtype(to));

    if (count > 0)
        memcpy((char *)rgm_tensor_data(to) + (size_t)at * size,
               (const char *)rgm_tensor_data(from) + (size_t)begin * size, (size_t)count * size);
}

/* ---- inputs -------------------------------------------------------------------------------- */

rgm_status rgmi_need_index(const rgmi_onnx_call *call, int i)
{
    rgm_dtype dtype = rgm_tensor_dtype(call->in[i]);

    if (dtype != RGM_I32 && dtype != RGM_I64)
        return rgmi_call_fail(call, RGM_ERR_DTYPE, "input %d is %s, not an index", i,
                              rgm_dtype_name(dtype));
    return RGM_OK;
}

rgm_status rgmi_read_sizes(int64_t *sizes, int *count, const rgmi_onnx_call *call, int input)
{
    const rgm_tensor *t = call->in[input];

    if (rgm_tensor_dtype(t) != RGM_I64 || rgm_tensor_rank(t) > 1 ||
        rgm_tensor_count(t) > RGM_MAX_RANK)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "input %d is not a list of up to %d sizes",
                              input, RGM_MAX_RANK);
    *count = (int)rgm_tensor_count(t);
    for (int i = 0; i < *count; i++)
        sizes[i] = rgm_tensor_i64(t)[i];
    return RGM_OK;
}

rgm_status rgmi_axis_from_end(int *out, const rgmi_onnx_call *call, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "axis %lld of rank %d", (long long)axis, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return RGM_OK;
}

void rgmi_around(int64_t *outer, int64_t *inner, const rgm_tensor *x, int axis)
{
    *outer = *inner = 1;
    for (int i = 0; i < rgm_tensor_rank(x); i++) {
        if (i < axis)
            *outer *= rgm_tensor_dim(x, i);
        if (i > axis)
            *inner *= rgm_tensor_dim(x, i);
    }
}

rgm_status rgmi_proto_tensor(rgm_tensor **out, const Rgmi__Onnx__TensorProto *proto)
{
    const char *name = proto->name != NULL ? proto->name : "";
    rgm_dtype dtype;
    int64_t count = 1;

    *out = NULL;
    RGM_TRY(rgmi_onnx_dtype(&dtype, proto->data_type));
    if (proto->n_dims > RGM_MAX_RANK)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "tensor '%s' has rank %zu", name, proto->n_dims);
    if (!rgmi_sizes_are_sane((int)proto->n_dims, proto->dims))
        return RGM_FAIL(RGM_ERR_FORMAT, "tensor '%s' has an impossible shape", name);
    for (size_t i = 0; i < proto->n_dims; i++)
        count *= proto->dims[i];
    if (!proto->has_raw_data && count > 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "tensor '%s' has no raw_data, the only form known here", name);
    if (proto->raw_data.len != (size_t)count * rgm_dtype_size(dtype))
        return RGM_FAIL(RGM_ERR_FORMAT, "tensor '%s' has %zu bytes for %lld elements of %s", name,
                        proto->raw_data.len, (long long)count, rgm_dtype_name(dtype));
    if (count == 0)
        return rgm_tensor_create(out, dtype, (int)proto->n_dims, proto->dims);
    RGM_TRY(
        rgm_tensor_create_from(out, dtype, (int)proto->n_dims, proto->dims, proto->raw_data.data));
    for (int64_t i = 0; dtype == RGM_BOOL && i < count; i++)
        rgm_tensor_bool(*out)[i] = rgm_tensor_bool(*out)[i] != 0;
    return RGM_OK;
}
