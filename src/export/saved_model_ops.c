/*
 * ONNX nodes as TensorFlow ops, one row for each operator that the writer uses. The differences:
 * TensorFlow is given dtypes; sums at rows take the row numbers once, not for each channel; images
 * have their channels last.
 */
#include <string.h>

#include "onnx_run.h"
#include "saved_model_internal.h"

/* ---- the node's attributes and constants ---------------------------------------------------- */

static int64_t get_int(const rgmi_onnx_node *s, const char *name, int64_t otherwise)
{
    const rgmi_onnx_call call = {.node = s->node};

    return rgmi_get_int(&call, name, otherwise);
}

static double get_float(const rgmi_onnx_node *s, const char *name)
{
    const rgmi_onnx_call call = {.node = s->node};

    return rgmi_get_float(&call, name, 0);
}

static const Rgmi__Onnx__AttributeProto *get(const rgmi_onnx_node *s, const char *name)
{
    const rgmi_onnx_call call = {.node = s->node};

    return rgmi_get(&call, name);
}

/* Up to RGM_MAX_RANK int64 of an initializer; returns how many. */
static int integers_of(int64_t *values, const rgmi_tensor *x)
{
    const ProtobufCBinaryData *raw = &x->constant->raw_data;

    memcpy(values, raw->data, raw->len);
    return (int)(raw->len / sizeof *values);
}

/* ---- element by element ---------------------------------------------------------------------- */

/* All inputs have one dtype, except perhaps a condition in front. */
static const rgmi_tensor *same(rgmi_tf *t, const rgmi_onnx_node *s)
{
    rgm_dtype dtype = s->in[s->count - 1]->dtype;
    const rgmi_tensor *y = rgmi_tf_node_of(t, s->op, dtype, s->in, s->count);

    rgmi_tf_type(t, "T", dtype);
    return y;
}

static const rgmi_tensor *compare(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *y = rgmi_tf_node_of(t, s->op, RGM_BOOL, s->in, s->count);

    rgmi_tf_type(t, "T", s->in[0]->dtype);
    return y;
}

static const rgmi_tensor *either(rgmi_tf *t, const rgmi_onnx_node *s)
{
    return rgmi_tf_node_of(t, s->op, RGM_BOOL, s->in, s->count);
}

/* Integers are truncated towards 0, as in ONNX. */
static const rgmi_tensor *divide(rgmi_tf *t, const rgmi_onnx_node *s)
{
    rgm_dtype dtype = s->in[0]->dtype;
    bool is_whole = dtype == RGM_I32 || dtype == RGM_I64;
    const rgmi_tensor *y =
        rgmi_tf_node_of(t, is_whole ? "TruncateDiv" : s->op, dtype, s->in, s->count);

    rgmi_tf_type(t, "T", dtype);
    return y;
}

static const rgmi_tensor *leaky_relu(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *y = same(t, s);

    rgmi_tf_float(t, "alpha", get_float(s, "alpha"));
    return y;
}

static const rgmi_tensor *cast(rgmi_tf *t, const rgmi_onnx_node *s)
{
    rgm_dtype dtype;
    const rgmi_tensor *y;

    t->w.status = rgmi_onnx_dtype(&dtype, get_int(s, "to", 0));
    if (t->w.status != RGM_OK)
        return NULL;
    y = rgmi_tf_node_of(t, s->op, dtype, s->in, s->count);
    rgmi_tf_type(t, "SrcT", s->in[0]->dtype);
    rgmi_tf_type(t, "DstT", dtype);
    return y;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static const rgmi_tensor *shape(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *all = rgmi_tf_shape_of(t, s->in[0]), *begin, *end;
    int64_t first = get_int(s, "start", 0), last = get_int(s, "end", -1);

    if (last < 0)
        return all;
    begin = rgmi_tf_vector(t, &first, 1);
    end = rgmi_tf_vector(t, &last, 1);
    return rgmi_tf_slice(t, all, begin, end, 0);
}

/* Sizes that stay (0 in ONNX) are taken from x. */
static const rgmi_tensor *with_kept_sizes(rgmi_tf *t, const rgmi_tensor *x, const int64_t *sizes,
                                          int rank)
{
    const rgmi_tensor *from = rgmi_tf_shape_of(t, x), *parts[RGM_MAX_RANK];

    for (int i = 0; i < rank; i++) {
        const int64_t at = i, behind = i + 1;
        const rgmi_tensor *begin, *end;

        if (sizes[i] != 0) {
            parts[i] = rgmi_tf_vector(t, &sizes[i], 1);
            continue;
        }
        begin = rgmi_tf_vector(t, &at, 1);
        end = rgmi_tf_vector(t, &behind, 1);
        parts[i] = rgmi_tf_slice(t, from, begin, end, 0);
    }
    return rank == 1 ? parts[0] : rgmi_tf_concat(t, parts, rank, 0);
}

static const rgmi_tensor *reshape(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *to = s->in[1];
    int64_t sizes[RGM_MAX_RANK];
    bool keeps = false;

    if (to->constant != NULL && get_int(s, "allowzero", 0) == 0) {
        int rank = integers_of(sizes, to);

        for (int i = 0; i < rank; i++)
            keeps |= sizes[i] == 0;
        if (keeps)
            to = with_kept_sizes(t, s->in[0], sizes, rank);
    }
    return rgmi_tf_reshape(t, s->in[0], to);
}

static const rgmi_tensor *unsqueeze(rgmi_tf *t, const rgmi_onnx_node *s)
{
    int64_t axes[RGM_MAX_RANK];
    int count = integers_of(axes, s->in[1]);
    const rgmi_tensor *y = s->in[0];

    for (int i = 0; i < count; i++) {
        y = rgmi_tf_node(t, s->op, s->in[0]->dtype, y, rgmi_tf_number(t, axes[i]), NULL);
        rgmi_tf_type(t, "T", s->in[0]->dtype);
        rgmi_tf_type(t, "Tdim", RGM_I64);
    }
    return y;
}

static const rgmi_tensor *transposed(rgmi_tf *t, const rgmi_tensor *x, const int64_t *order,
                                     int rank)
{
    const rgmi_tensor *y;

    if (x == NULL)
        return NULL;
    y = rgmi_tf_node(t, "Transpose", x->dtype, x, rgmi_tf_vector(t, order, rank), NULL);
    rgmi_tf_type(t, "T", x->dtype);
    rgmi_tf_type(t, "Tperm", RGM_I64);
    return y;
}

static const rgmi_tensor *transpose(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const Rgmi__Onnx__AttributeProto *order = get(s, "perm");

    return transposed(t, s->in[0], order->ints, (int)order->n_ints);
}

static const rgmi_tensor *concat(rgmi_tf *t, const rgmi_onnx_node *s)
{
    return rgmi_tf_concat(t, s->in, s->count, get_int(s, "axis", 0));
}

/* A slice along one axis. */
static const rgmi_tensor *slice(rgmi_tf *t, const rgmi_onnx_node *s)
{
    int64_t axis[RGM_MAX_RANK];

    (void)integers_of(axis, s->in[3]);
    return rgmi_tf_slice(t, s->in[0], s->in[1], s->in[2], axis[0]);
}

static const rgmi_tensor *expand(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *y = rgmi_tf_node_of(t, s->op, s->in[0]->dtype, s->in, s->count);

    rgmi_tf_type(t, "T", s->in[0]->dtype);
    rgmi_tf_type(t, "Tidx", RGM_I64);
    return y;
}

static const rgmi_tensor *filled(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const Rgmi__Onnx__TensorProto *value = get(s, "value")->t;
    const rgmi_tensor *element, *y;
    rgm_dtype dtype;

    t->w.status = rgmi_onnx_dtype(&dtype, value->data_type);
    if (t->w.status != RGM_OK)
        return NULL;
    element = rgmi_tf_constant(t, "constant/value", dtype, 0, NULL, value->raw_data.data,
                               value->raw_data.len);
    y = rgmi_tf_node(t, s->op, dtype, s->in[0], element, NULL);
    rgmi_tf_type(t, "T", dtype);
    rgmi_tf_type(t, "index_type", RGM_I64);
    return y;
}

static const rgmi_tensor *range(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *y = rgmi_tf_node_of(t, s->op, s->in[0]->dtype, s->in, s->count);

    rgmi_tf_type(t, "Tidx", s->in[0]->dtype);
    return y;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static const rgmi_tensor *reduced(rgmi_tf *t, const char *op, const rgmi_tensor *x,
                                  const rgmi_tensor *axes, bool keep)
{
    const rgmi_tensor *y;

    if (x == NULL)
        return NULL;
    y = rgmi_tf_node(t, op, x->dtype, x, axes, NULL);
    rgmi_tf_type(t, "T", x->dtype);
    rgmi_tf_type(t, "Tidx", RGM_I64);
    rgmi_tf_bool(t, "keep_dims", keep);
    return y;
}

static const rgmi_tensor *reduce(rgmi_tf *t, const rgmi_onnx_node *s)
{
    return reduced(t, s->op, s->in[0], s->in[1], get_int(s, "keepdims", 1) != 0);
}

static const rgmi_tensor *argmax(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *axis = rgmi_tf_number(t, get_int(s, "axis", 0));
    const rgmi_tensor *y = rgmi_tf_node(t, s->op, RGM_I64, s->in[0], axis, NULL);

    rgmi_tf_type(t, "T", s->in[0]->dtype);
    rgmi_tf_type(t, "Tidx", RGM_I64);
    rgmi_tf_type(t, "output_type", RGM_I64);
    return y;
}

static const rgmi_tensor *running_sum(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *y = rgmi_tf_node_of(t, s->op, s->in[0]->dtype, s->in, s->count);

    rgmi_tf_type(t, "T", s->in[0]->dtype);
    rgmi_tf_type(t, "Tidx", s->in[1]->dtype);
    return y;
}

/* An op on two tensors of one dtype. */
static const rgmi_tensor *both(rgmi_tf *t, const char *op, const rgmi_tensor *a,
                               const rgmi_tensor *b)
{
    const rgmi_tensor *y;

    if (a == NULL || b == NULL)
        return NULL;
    y = rgmi_tf_node(t, op, a->dtype, a, b, NULL);
    rgmi_tf_type(t, "T", a->dtype);
    return y;
}

/* Only float32, over the last axis: z / sqrt(mean(z * z) + epsilon) with z = x - mean(x). */
static const rgmi_tensor *layer_norm(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const int64_t last = -1;
    float *epsilon = rgmi_memory(&t->w, sizeof *epsilon);
    const rgmi_tensor *axes = rgmi_tf_vector(t, &last, 1), *mean, *z, *variance, *root, *y;

    if (epsilon == NULL)
        return NULL;
    *epsilon = (float)get_float(s, "epsilon");
    mean = reduced(t, "Mean", s->in[0], axes, true);
    z = both(t, "Sub", s->in[0], mean);
    variance = reduced(t, "Mean", both(t, "Mul", z, z), axes, true);
    root = rgmi_tf_constant(t, "constant/epsilon", RGM_F32, 0, NULL, epsilon, sizeof *epsilon);
    variance = both(t, "AddV2", variance, root);
    root = rgmi_tf_node(t, "Sqrt", RGM_F32, variance, NULL, NULL);
    rgmi_tf_type(t, "T", RGM_F32);
    y = both(t, "RealDiv", z, root);
    y = both(t, "Mul", y, s->in[1]);
    return both(t, "AddV2", y, s->in[2]);
}

/* ---- at indices ------------------------------------------------------------------------------ */

/* Gather along an axis. */
static const rgmi_tensor *gather(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *axis = rgmi_tf_number(t, get_int(s, "axis", 0));
    const rgmi_tensor *y = rgmi_tf_node(t, s->op, s->in[0]->dtype, s->in[0], s->in[1], axis);

    rgmi_tf_type(t, "Tparams", s->in[0]->dtype);
    rgmi_tf_type(t, "Tindices", s->in[1]->dtype);
    rgmi_tf_type(t, "Taxis", RGM_I64);
    return y;
}

/* TensorFlow has no product at rows, and its segment product has only as many rows as occur. */
static const rgmi_tensor *scattered_product(rgmi_tf *t, const rgmi_tensor *data,
                                            const rgmi_tensor *index, const rgmi_tensor *updates)
{
    const int64_t none = 0, one = 1, all = -1;
    const rgmi_tensor *begin = rgmi_tf_vector(t, &none, 1), *end = rgmi_tf_vector(t, &one, 1);
    const rgmi_tensor *rows = rgmi_tf_slice(t, rgmi_tf_shape_of(t, data), begin, end, 0);
    const rgmi_tensor *product;

    rows = rgmi_tf_reshape(t, rows, rgmi_tf_vector(t, NULL, 0));
    index = rgmi_tf_reshape(t, index, rgmi_tf_vector(t, &all, 1));
    product = rgmi_tf_node(t, "UnsortedSegmentProd", data->dtype, updates, index, rows);
    rgmi_tf_type(t, "T", data->dtype);
    rgmi_tf_type(t, "Tindices", RGM_I64);
    rgmi_tf_type(t, "Tnumsegments", RGM_I64);
    return both(t, "Mul", data, product);
}

/* The writer repeats row numbers over all channels; here the original ones are needed. */
static const rgmi_tensor *scatter(rgmi_tf *t, const rgmi_onnx_node *s)
{
    static const char *const ops[][2] = {{"add", "TensorScatterAdd"},
                                         {"max", "TensorScatterMax"},
                                         {"min", "TensorScatterMin"},
                                         {"none", "TensorScatterUpdate"}};
    const Rgmi__Onnx__AttributeProto *how = get(s, "reduction");
    const Rgmi__Onnx__NodeProto *stretched = s->in[1]->node;
    const int64_t column[] = {-1, 1};
    const rgmi_tensor *index = s->in[1], *y;
    const char *op = NULL;

    if (stretched != NULL && strcmp(stretched->op_type, "Expand") == 0)
        index = rgm_map_get(t->tensors, stretched->input[0]);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strlen(ops[i][0]) == how->s.len && memcmp(ops[i][0], how->s.data, how->s.len) == 0)
            op = ops[i][1];
    if (op == NULL)
        return scattered_product(t, s->in[0], index, s->in[2]);
    index = rgmi_tf_reshape(t, index, rgmi_tf_vector(t, column, 2));
    y = rgmi_tf_node(t, op, s->in[0]->dtype, s->in[0], index, s->in[2]);
    rgmi_tf_type(t, "T", s->in[0]->dtype);
    rgmi_tf_type(t, "Tindices", RGM_I64);
    return y;
}

/* ---- images ---------------------------------------------------------------------------------- */

static const int64_t to_nhwc[] = {0, 2, 3, 1}, to_nchw[] = {0, 3, 1, 2}, to_hwio[] = {2, 3, 1, 0};

/* Write four numbers, for batch, height, width and channels, from a node's list of two. */
static void write_pair(rgmi_tf *t, const char *name, const Rgmi__Onnx__AttributeProto *pair)
{
    const int64_t all[] = {1, pair->ints[0], pair->ints[1], 1};

    rgmi_tf_ints(t, name, all, 4);
}

/* The writer knows only TensorFlow's paddings; use TensorFlow's names here. */
static void write_padding(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const Rgmi__Onnx__AttributeProto *pads = get(s, "pads");
    bool padded = false;

    for (size_t i = 0; i < pads->n_ints; i++)
        padded |= pads->ints[i] != 0;
    rgmi_tf_text(t, "padding", padded ? "SAME" : "VALID");
    write_pair(t, "strides", get(s, "strides"));
}

static const rgmi_tensor *convolve(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *x = transposed(t, s->in[0], to_nhwc, 4);
    const rgmi_tensor *kernel = transposed(t, s->in[1], to_hwio, 4), *y;

    y = both(t, s->op, x, kernel);
    write_padding(t, s);
    write_pair(t, "dilations", get(s, "dilations"));
    return transposed(t, y, to_nchw, 4);
}

static const rgmi_tensor *pool(rgmi_tf *t, const rgmi_onnx_node *s)
{
    const rgmi_tensor *x = transposed(t, s->in[0], to_nhwc, 4), *y;

    y = rgmi_tf_node(t, s->op, s->in[0]->dtype, x, NULL, NULL);
    rgmi_tf_type(t, "T", s->in[0]->dtype);
    write_padding(t, s);
    write_pair(t, "ksize", get(s, "kernel_shape"));
    return transposed(t, y, to_nchw, 4);
}

/* ---- rows ------------------------------------------------------------------------------------ */

const rgmi_tf_row rgmi_tf_rows[] = {
    {"Abs", "Abs", same},
    {"Add", "AddV2", same},
    {"ArgMax", "ArgMax", argmax},
    {"AveragePool", "AvgPool", pool},
    {"Cast", "Cast", cast},
    {"Concat", "ConcatV2", concat},
    {"ConstantOfShape", "Fill", filled},
    {"Conv", "Conv2D", convolve},
    {"CumSum", "Cumsum", running_sum},
    {"Div", "RealDiv", divide},
    {"Elu", "Elu", same},
    {"Equal", "Equal", compare},
    {"Erf", "Erf", same},
    {"Exp", "Exp", same},
    {"Expand", "BroadcastTo", expand},
    {"Gather", "GatherV2", gather},
    {"Greater", "Greater", compare},
    {"Identity", "Identity", same},
    {"LayerNormalization", "Sqrt", layer_norm},
    {"LeakyRelu", "LeakyRelu", leaky_relu},
    {"Log", "Log", same},
    {"LogSoftmax", "LogSoftmax", same},
    {"MatMul", "BatchMatMulV2", same},
    {"Max", "Maximum", same},
    {"MaxPool", "MaxPool", pool},
    {"Min", "Minimum", same},
    {"Mul", "Mul", same},
    {"Neg", "Neg", same},
    {"Or", "LogicalOr", either},
    {"Range", "Range", range},
    {"Reciprocal", "Reciprocal", same},
    {"ReduceMax", "Max", reduce},
    {"ReduceMin", "Min", reduce},
    {"ReduceProd", "Prod", reduce},
    {"ReduceSum", "Sum", reduce},
    {"Relu", "Relu", same},
    {"Reshape", "Reshape", reshape},
    {"ScatterElements", "TensorScatterUpdate", scatter},
    {"Shape", "Shape", shape},
    {"Sigmoid", "Sigmoid", same},
    {"Sign", "Sign", same},
    {"Slice", "StridedSlice", slice},
    {"Softmax", "Softmax", same},
    {"Softplus", "Softplus", same},
    {"Sqrt", "Sqrt", same},
    {"Squeeze", "Squeeze", same},
    {"Sub", "Sub", same},
    {"Tanh", "Tanh", same},
    {"Transpose", "Transpose", transpose},
    {"Unsqueeze", "ExpandDims", unsqueeze},
    {"Where", "SelectV2", same},
    {NULL, NULL, NULL},
};
