/*
 * ONNX forms of the ops on images. ONNX has images as [n, channels, height, width] and kernels as
 * [out, in, height, width], so each node has transposes around it.
 */
#include "onnx_internal.h"

static const char *transposed(rgmi_writer *w, const char *x, const int64_t *perm)
{
    const char *y = rgmi_node(w, "Transpose", x, NULL, NULL);

    rgmi_write_ints(w, "perm", perm, 4);
    return y;
}

static const int64_t to_nchw[] = {0, 3, 1, 2}, to_nhwc[] = {0, 2, 3, 1}, to_oihw[] = {3, 2, 0, 1};

/* Padding before and after height and width, as in TensorFlow: the odd one comes after. */
static void write_pads(rgmi_writer *w, const rgm_value *y, const int64_t *size,
                       const int64_t *dilation)
{
    const int64_t *stride = rgm_value_attributes(y)->integer;
    int64_t pads[4] = {0};

    for (int axis = 0; axis < 2; axis++) {
        int64_t in = rgm_value_dim(rgm_value_input(y, 0), 1 + axis);
        int64_t missing = (rgm_value_dim(y, 1 + axis) - 1) * stride[axis] +
                          (size[axis] - 1) * dilation[axis] + 1 - in;
        pads[axis] = missing > 0 ? missing / 2 : 0;
        pads[2 + axis] = missing > 0 ? missing - missing / 2 : 0;
    }
    rgmi_write_ints(w, "pads", pads, 4);
    rgmi_write_ints(w, "strides", stride, 2);
}

static void translate_conv2d(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_value *kernel = rgm_value_input(y, 1);
    const int64_t *dilation = rgm_value_attributes(y)->integer + 2;
    const char *x = transposed(w, rgmi_name_of(w, rgm_value_input(y, 0)), to_nchw);
    const char *k = transposed(w, rgmi_name_of(w, kernel), to_oihw);
    const char *node = rgmi_node(w, "Conv", x, k, NULL);

    rgmi_write_ints(w, "dilations", dilation, 2);
    write_pads(w, y, rgm_value_shape(kernel), dilation);
    name->name = transposed(w, node, to_nhwc);
}

static void translate_pool(rgmi_writer *w, const rgm_value *y, rgmi_name *name, const char *type)
{
    const int64_t *size = rgm_value_attributes(y)->integer + 2, together[] = {1, 1};
    const char *x = transposed(w, rgmi_name_of(w, rgm_value_input(y, 0)), to_nchw);
    const char *node = rgmi_node(w, type, x, NULL, NULL);

    rgmi_write_ints(w, "kernel_shape", size, 2);
    write_pads(w, y, size, together);
    name->name = transposed(w, node, to_nhwc);
}

static void translate_max_pool(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    translate_pool(w, y, name, "MaxPool");
}

/* Padding does not count: ONNX's count_include_pad is 0 by default. */
static void translate_avg_pool(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    translate_pool(w, y, name, "AveragePool");
}

const rgmi_translation rgmi_image_translations[] = {
    {"conv2d", translate_conv2d},
    {"max_pool2d", translate_max_pool},
    {"avg_pool2d", translate_avg_pool},
    {NULL, NULL},
};
