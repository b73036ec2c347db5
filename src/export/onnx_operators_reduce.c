/* ONNX operators that sum: products, reductions, softmax, layer norm. */
#include <math.h>
#include <string.h>

#include "onnx_internal.h"
#include "onnx_run.h"

/* A matrix that begins at element `at`, as doubles. */
static void read_matrix(double *out, const rgm_tensor *x, int64_t at, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = rgm_tensor_at(x, at + i);
}

/* Products of matrices in doubles, with memory for b and a row of the result; every sum goes from
 * the first term to the last. */
static void multiply(rgmi_onnx_call *call, double *b, double *row, int64_t batch, int64_t m,
                     int64_t k, int64_t n)
{
    const rgm_tensor *x = call->in[0], *y = call->in[1];
    bool many_x = rgm_tensor_rank(x) > 2, many_y = rgm_tensor_rank(y) > 2;

    for (int64_t s = 0; s < batch; s++) {
        if (s == 0 || many_y)
            read_matrix(b, y, many_y ? s * k * n : 0, k * n);
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++)
                row[j] = 0;
            for (int64_t t = 0; t < k; t++) {
                double a = rgm_tensor_at(x, ((many_x ? s * m : 0) + i) * k + t);

                for (int64_t j = 0; j < n; j++)
                    row[j] += a * b[t * n + j];
            }
            for (int64_t j = 0; j < n; j++)
                rgmi_put(call->out, (s * m + i) * n + j, row[j]);
        }
    }
}

/* [.., m, k] x [.., k, n], with the same leading sizes or none on one side. */
static rgm_status run_matmul(rgmi_onnx_call *call)
{
    const rgm_tensor *a = call->in[0], *b = call->in[1];
    int ra = rgm_tensor_rank(a), rb = rgm_tensor_rank(b), rank = ra > rb ? ra : rb;
    int64_t shape[RGM_MAX_RANK], m, n, k, work, batch = 1;
    double *numbers;

    if (ra < 2 || rb < 2 || (ra != rb && ra != 2 && rb != 2) ||
        rgm_tensor_dtype(a) != rgm_tensor_dtype(b))
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "ranks %d and %d", ra, rb);
    m = rgm_tensor_dim(a, -2);
    k = rgm_tensor_dim(a, -1);
    n = rgm_tensor_dim(b, -1);
    if (rgm_tensor_dim(b, -2) != k)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "inner sizes %lld and %lld", (long long)k,
                              (long long)rgm_tensor_dim(b, -2));
    for (int i = 0; i < rank - 2; i++) {
        shape[i] = rgm_tensor_dim(ra > 2 ? a : b, i);
        if (ra == rb && rgm_tensor_dim(b, i) != shape[i])
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "leading sizes differ");
        batch *= shape[i];
    }
    shape[rank - 2] = m;
    shape[rank - 1] = n;
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(a), rank, shape));
    if (__builtin_mul_overflow(rgm_tensor_count(call->out), k, &work))
        work = INT64_MAX;
    RGM_TRY(rgmi_count_work(call, work));
    if (rgm_tensor_count(call->out) == 0)
        return RGM_OK;
    RGM_TRY(
        RGM_NEW(numbers, k * n + n)); /* less than twice the memory of the operand and the result */
    multiply(call, numbers, numbers + k * n, batch, m, k, n);
    rgm_free(numbers);
    return RGM_OK;
}

/* ---- over one axis ------------------------------------------------------------------------- */

/* Sizes around the axis and the shape without it (or with 1 in its place). */
typedef struct axis_view {
    int64_t outer, size, inner, shape[RGM_MAX_RANK];
    int rank;
} axis_view;

static axis_view view_axis(const rgm_tensor *x, int axis, bool keep)
{
    axis_view v = {.outer = 1, .size = rgm_tensor_dim(x, axis), .inner = 1};

    for (int i = 0; i < rgm_tensor_rank(x); i++) {
        if (i < axis)
            v.outer *= rgm_tensor_dim(x, i);
        if (i > axis)
            v.inner *= rgm_tensor_dim(x, i);
        if (i != axis || keep)
            v.shape[v.rank++] = i == axis ? 1 : rgm_tensor_dim(x, i);
    }
    return v;
}

static rgm_status reduce(rgmi_onnx_call *call, double first, double (*f)(double, double), bool mean)
{
    const rgm_tensor *x = call->in[0];
    int64_t axes[RGM_MAX_RANK];
    int count, axis;
    axis_view v;

    RGM_TRY(rgmi_read_sizes(axes, &count, call, 1));
    if (count != 1)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "%d axes", count);
    RGM_TRY(rgmi_axis_from_end(&axis, call, axes[0], rgm_tensor_rank(x)));
    v = view_axis(x, axis, rgmi_get_int(call, "keepdims", 1) != 0);
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(x), v.rank, v.shape));
    RGM_TRY(rgmi_count_work(call, rgm_tensor_count(x)));
    for (int64_t o = 0; o < v.outer && v.inner > 0; o++)
        for (int64_t i = 0; i < v.inner; i++) {
            double value = first;

            for (int64_t k = 0; k < v.size; k++)
                value = f(value, rgm_tensor_at(x, (o * v.size + k) * v.inner + i));
            rgmi_put(call->out, o * v.inner + i,
                     mean && v.size > 0 ? value / (double)v.size : value);
        }
    return RGM_OK;
}

static double add(double a, double b)
{
    return a + b;
}
static double mul(double a, double b)
{
    return a * b;
}
/* Unlike C's, these hand a NaN on. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}
static double smaller(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}

static rgm_status run_reduce_sum(rgmi_onnx_call *call)
{
    return reduce(call, 0, add, false);
}
static rgm_status run_reduce_mean(rgmi_onnx_call *call)
{
    return reduce(call, 0, add, true);
}
static rgm_status run_reduce_prod(rgmi_onnx_call *call)
{
    return reduce(call, 1, mul, false);
}
static rgm_status run_reduce_max(rgmi_onnx_call *call)
{
    return reduce(call, -INFINITY, larger, false);
}
static rgm_status run_reduce_min(rgmi_onnx_call *call)
{
    return reduce(call, INFINITY, smaller, false);
}

static rgm_status run_argmax(rgmi_onnx_call *call)
{
    const rgm_tensor *x = call->in[0];
    int axis;
    axis_view v;

    RGM_TRY(rgmi_axis_from_end(&axis, call, rgmi_get_int(call, "axis", 0), rgm_tensor_rank(x)));
    v = view_axis(x, axis, rgmi_get_int(call, "keepdims", 1) != 0);
    if (v.size == 0)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "the largest of none");
    RGM_TRY(rgmi_make_out(call, RGM_I64, v.rank, v.shape));
    RGM_TRY(rgmi_count_work(call, rgm_tensor_count(x)));
    for (int64_t o = 0; o < v.outer && v.inner > 0; o++)
        for (int64_t i = 0; i < v.inner; i++) {
            int64_t best = 0;

            for (int64_t k = 1; k < v.size; k++)
                if (rgm_tensor_at(x, (o * v.size + k) * v.inner + i) >
                    rgm_tensor_at(x, (o * v.size + best) * v.inner + i))
                    best = k;
            rgm_tensor_i64(call->out)[o * v.inner + i] = best;
        }
    return RGM_OK;
}

/* ---- over the last axis -------------------------------------------------------------------- */

static rgm_status last_axis(rgmi_onnx_call *call, int64_t *rows, int64_t *width)
{
    const rgm_tensor *x = call->in[0];
    int axis;

    RGM_TRY(rgmi_axis_from_end(&axis, call, rgmi_get_int(call, "axis", -1), rgm_tensor_rank(x)));
    if (axis != rgm_tensor_rank(x) - 1)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "an axis other than the last");
    *width = rgm_tensor_dim(x, axis);
    *rows = *width > 0 ? rgm_tensor_count(x) / *width : 0;
    return rgmi_make_out(call, rgm_tensor_dtype(x), rgm_tensor_rank(x), rgm_tensor_shape(x));
}

static rgm_status softmax(rgmi_onnx_call *call, bool log_of_it)
{
    int64_t rows, width;

    RGM_TRY(last_axis(call, &rows, &width));
    for (int64_t r = 0; r < rows; r++) {
        double largest = -INFINITY, sum = 0;

        for (int64_t i = 0; i < width; i++)
            largest = larger(largest, rgm_tensor_at(call->in[0], r * width + i));
        for (int64_t i = 0; i < width; i++)
            sum += exp(rgm_tensor_at(call->in[0], r * width + i) - largest);
        for (int64_t i = 0; i < width; i++) {
            double z = rgm_tensor_at(call->in[0], r * width + i) - largest;

            rgmi_put(call->out, r * width + i, log_of_it ? z - log(sum) : exp(z) / sum);
        }
    }
    return RGM_OK;
}

static rgm_status run_softmax(rgmi_onnx_call *call)
{
    return softmax(call, false);
}
static rgm_status run_log_softmax(rgmi_onnx_call *call)
{
    return softmax(call, true);
}

static rgm_status run_layer_norm(rgmi_onnx_call *call)
{
    const rgm_tensor *bias = call->inputs > 2 ? call->in[2] : NULL;
    double epsilon = rgmi_get_float(call, "epsilon", 1e-5);
    int64_t rows, width;

    RGM_TRY(last_axis(call, &rows, &width));
    if (rgm_tensor_count(call->in[1]) != width || (bias != NULL && rgm_tensor_count(bias) != width))
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "scale and bias need %lld elements",
                              (long long)width);
    for (int64_t r = 0; r < rows; r++) {
        double mean = 0, variance = 0;

        for (int64_t i = 0; i < width; i++)
            mean += rgm_tensor_at(call->in[0], r * width + i) / (double)width;
        for (int64_t i = 0; i < width; i++) {
            double d = rgm_tensor_at(call->in[0], r * width + i) - mean;

            variance += d * d / (double)width;
        }
        for (int64_t i = 0; i < width; i++) {
            double z =
                (rgm_tensor_at(call->in[0], r * width + i) - mean) / sqrt(variance + epsilon);

            rgmi_put(call->out, r * width + i,
                     z * rgm_tensor_at(call->in[1], i) +
                         (bias != NULL ? rgm_tensor_at(bias, i) : 0));
        }
    }
    return RGM_OK;
}

/* The sum of all up to each element, itself too, along an axis. */
static rgm_status run_cum_sum(rgmi_onnx_call *call)
{
    const rgm_tensor *x = call->in[0];
    int64_t outer, inner;
    int axis;

    RGM_TRY(rgmi_need_index(call, 1));
    if (rgm_tensor_count(call->in[1]) != 1)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "needs one axis");
    RGM_TRY(rgmi_axis_from_end(&axis, call, rgm_tensor_at_int(call->in[1], 0), rgm_tensor_rank(x)));
    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(x), rgm_tensor_rank(x), rgm_tensor_shape(x)));
    rgmi_around(&outer, &inner, x, axis);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            double sum = 0;

            for (int64_t k = 0; k < rgm_tensor_dim(x, axis); k++) {
                int64_t at = (o * rgm_tensor_dim(x, axis) + k) * inner + i;

                sum += rgm_tensor_at(x, at);
                rgmi_put(call->out, at, sum);
            }
        }
    return RGM_OK;
}

const rgmi_operator rgmi_reduce_operators[] = {
    {"MatMul", 2, 2, run_matmul, {NULL}},
    {"ReduceSum", 2, 2, run_reduce_sum, {"keepdims"}},
    {"ReduceMean", 2, 2, run_reduce_mean, {"keepdims"}},
    {"ReduceProd", 2, 2, run_reduce_prod, {"keepdims"}},
    {"ReduceMax", 2, 2, run_reduce_max, {"keepdims"}},
    {"ReduceMin", 2, 2, run_reduce_min, {"keepdims"}},
    {"CumSum", 2, 2, run_cum_sum, {NULL}},
    {"ArgMax", 1, 1, run_argmax, {"axis", "keepdims"}},
    {"Softmax", 1, 1, run_softmax, {"axis"}},
    {"LogSoftmax", 1, 1, run_log_softmax, {"axis"}},
    {"LayerNormalization", 2, 3, run_layer_norm, {"axis", "epsilon"}},
    {NULL, 0, 0, NULL, {NULL}},
};
