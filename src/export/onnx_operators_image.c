/* ONNX operators on images [n, channels, height, width]: Conv, MaxPool, AveragePool. */
#include "onnx_internal.h"
#include "onnx_run.h"

#define MOST (INT64_C(1) << 31) /* of a size in an attribute */

/* A window over height and width; in and out are the images' sizes. */
typedef struct window {
    int64_t n, channels, in[2], out[2], size[2], stride[2], dilation[2], before[2], behind[2];
} window;

/* Read the attribute's `count` numbers, each in least..MOST-1; if absent, all are `otherwise`. */
static rgm_status read_ints(int64_t *out, const rgmi_onnx_call *call, const char *name,
                            size_t count, int64_t otherwise, int64_t least)
{
    const Rgmi__Onnx__AttributeProto *a = rgmi_get(call, name);

    for (size_t i = 0; i < count; i++)
        out[i] = otherwise;
    if (a == NULL)
        return RGM_OK;
    if (a->n_ints != count)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "%s has %zu numbers, not %zu", name,
                              a->n_ints, count);
    for (size_t i = 0; i < count; i++) {
        if (a->ints[i] < least || a->ints[i] >= MOST)
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "%s has a %lld", name,
                                  (long long)a->ints[i]);
        out[i] = a->ints[i];
    }
    return RGM_OK;
}

/* Read all of the window except its size, which the caller has set. */
static rgm_status read_window(window *w, const rgmi_onnx_call *call)
{
    const rgm_tensor *x = call->in[0];
    int64_t pads[4];

    if (rgm_tensor_rank(x) != 4)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "images of rank %d, not 4",
                              rgm_tensor_rank(x));
    RGM_TRY(read_ints(w->stride, call, "strides", 2, 1, 1));
    RGM_TRY(read_ints(w->dilation, call, "dilations", 2, 1, 1));
    RGM_TRY(read_ints(pads, call, "pads", 4, 0, 0));
    w->n = rgm_tensor_dim(x, 0);
    w->channels = rgm_tensor_dim(x, 1);
    for (int axis = 0; axis < 2; axis++) {
        int64_t reach, room;

        w->in[axis] = rgm_tensor_dim(x, 2 + axis);
        w->before[axis] = pads[axis];
        w->behind[axis] = pads[2 + axis];
        room = w->in[axis] + w->before[axis] + w->behind[axis];
        if (__builtin_mul_overflow(w->size[axis] - 1, w->dilation[axis], &reach) || reach >= room ||
            w->in[axis] < 1)
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "a window larger than its images");
        w->out[axis] = (room - reach - 1) / w->stride[axis] + 1;
    }
    return RGM_OK;
}

/* Make [n, channels, out] and charge the work of `each` numbers for every element. */
static rgm_status make_images(rgmi_onnx_call *call, const window *w, int64_t channels, int64_t each)
{
    int64_t work;

    RGM_TRY(rgmi_make_out(call, rgm_tensor_dtype(call->in[0]), 4,
                          (int64_t[]){w->n, channels, w->out[0], w->out[1]}));
    if (__builtin_mul_overflow(each, w->size[0], &work) ||
        __builtin_mul_overflow(work, w->size[1], &work) ||
        __builtin_mul_overflow(work, rgm_tensor_count(call->out), &work))
        work = INT64_MAX;
    return rgmi_count_work(call, work);
}

/* The position on an axis of tap `tap` for output position `out`; false: it is padding. */
static bool tap_at(int64_t *at, const window *w, int axis, int64_t out, int64_t tap)
{
    *at = out * w->stride[axis] - w->before[axis] + tap * w->dilation[axis];
    return *at >= 0 && *at < w->in[axis];
}

/* ---- Conv ---------------------------------------------------------------------------------- */

static double conv_at(const rgmi_onnx_call *call, const window *w, int64_t image, int64_t filter,
                      int64_t i, int64_t j)
{
    double sum = call->inputs > 2 && call->in[2] != NULL ? rgm_tensor_at(call->in[2], filter) : 0;
    int64_t r, c;

    for (int64_t k = 0; k < w->channels; k++)
        for (int64_t s = 0; s < w->size[0]; s++)
            for (int64_t t = 0; t < w->size[1]; t++)
                if (tap_at(&r, w, 0, i, s) && tap_at(&c, w, 1, j, t))
                    sum +=
                        rgm_tensor_at(call->in[0],
                                      ((image * w->channels + k) * w->in[0] + r) * w->in[1] + c) *
                        rgm_tensor_at(call->in[1],
                                      ((filter * w->channels + k) * w->size[0] + s) * w->size[1] +
                                          t);
    return sum;
}

static rgm_status check_kernel(const rgmi_onnx_call *call)
{
    const rgm_tensor *x = call->in[0], *kernel = call->in[1];
    const rgm_tensor *bias = call->inputs > 2 ? call->in[2] : NULL;

    if (rgm_tensor_rank(x) != 4 || rgm_tensor_rank(kernel) != 4 ||
        rgm_tensor_dtype(x) != rgm_tensor_dtype(kernel))
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED, "needs images and kernel of rank 4");
    if (rgm_tensor_dim(kernel, 1) != rgm_tensor_dim(x, 1) || rgm_tensor_dim(kernel, 2) < 1 ||
        rgm_tensor_dim(kernel, 3) < 1)
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "a kernel for %lld channels, images with %lld",
                              (long long)rgm_tensor_dim(kernel, 1),
                              (long long)rgm_tensor_dim(x, 1));
    if (bias != NULL && (rgm_tensor_dtype(bias) != rgm_tensor_dtype(x) ||
                         rgm_tensor_count(bias) != rgm_tensor_dim(kernel, 0)))
        return rgmi_call_fail(call, RGM_ERR_SHAPE, "a bias that does not fit the kernel");
    return RGM_OK;
}

static rgm_status run_conv(rgmi_onnx_call *call)
{
    window w;
    int64_t filters, at = 0;

    RGM_TRY(check_kernel(call));
    filters = rgm_tensor_dim(call->in[1], 0);
    for (int axis = 0; axis < 2; axis++)
        w.size[axis] = rgm_tensor_dim(call->in[1], 2 + axis);
    RGM_TRY(read_window(&w, call));
    RGM_TRY(make_images(call, &w, filters, w.channels));
    for (int64_t image = 0; image < w.n; image++)
        for (int64_t f = 0; f < filters; f++)
            for (int64_t i = 0; i < w.out[0]; i++)
                for (int64_t j = 0; j < w.out[1]; j++)
                    rgmi_put(call->out, at++, conv_at(call, &w, image, f, i, j));
    return RGM_OK;
}

/* ---- pools --------------------------------------------------------------------------------- */

/* The maximum of the taps that are not padding, or their mean; plane: image and channel. */
static double pool_at(const rgmi_onnx_call *call, const window *w, int64_t plane, int64_t i,
                      int64_t j, bool mean)
{
    double sum = 0, most = 0;
    int64_t inside = 0, r, c;

    for (int64_t s = 0; s < w->size[0]; s++)
        for (int64_t t = 0; t < w->size[1]; t++) {
            if (!tap_at(&r, w, 0, i, s) || !tap_at(&c, w, 1, j, t))
                continue;
            double x = rgm_tensor_at(call->in[0], (plane * w->in[0] + r) * w->in[1] + c);
            sum += x;
            most = inside == 0 || x > most ? x : most;
            inside++;
        }
    return mean ? sum / (double)inside : most;
}

static rgm_status pool(rgmi_onnx_call *call, bool mean)
{
    window w;
    int64_t at = 0;

    RGM_TRY(read_ints(w.size, call, "kernel_shape", 2, 1, 1));
    RGM_TRY(read_window(&w, call));
    for (int axis = 0; axis < 2; axis++) /* so that every window covers at least one pixel */
        if (w.before[axis] >= w.size[axis] || w.behind[axis] >= w.size[axis])
            return rgmi_call_fail(call, RGM_ERR_SHAPE, "padding as large as the window");
    RGM_TRY(make_images(call, &w, w.channels, 1));
    for (int64_t plane = 0; plane < w.n * w.channels; plane++)
        for (int64_t i = 0; i < w.out[0]; i++)
            for (int64_t j = 0; j < w.out[1]; j++)
                rgmi_put(call->out, at++, pool_at(call, &w, plane, i, j, mean));
    return RGM_OK;
}

static rgm_status run_max_pool(rgmi_onnx_call *call)
{
    return pool(call, false);
}

static rgm_status run_average_pool(rgmi_onnx_call *call)
{
    return pool(call, true);
}

const rgmi_operator rgmi_image_operators[] = {
    {"Conv", 2, 3, run_conv, {"strides", "dilations", "pads"}},
    {"MaxPool", 1, 1, run_max_pool, {"strides", "pads", "kernel_shape"}},
    {"AveragePool", 1, 1, run_average_pool, {"strides", "pads", "kernel_shape"}},
    {NULL, 0, 0, NULL, {NULL}},
};
