/*
 * Ops that move elements: reshape and slices of the outermost axis are views, the others copy.
 * These take any dtype. Sizes that depend on the graph's inputs travel as dims in the attributes.
 */
#include "autodiff_internal.h"

static bool always_view(const rgm_value *y)
{
    (void)y;
    return true;
}

static rgm_status no_pattern(const rgm_value *x)
{
    return x->s.is_pattern ? RGM_FAIL(RGM_ERR_ARG, "a pattern has no elements to move") : RGM_OK;
}

/* ---- reshape: shape in integer[0..], rank in integer[6] ---- */

static rgm_status reshape_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                const rgm_attributes *attributes)
{
    rgm_cgraph *graph = in[0]->graph;
    rgm_dim total = rgmi_shape_product(graph, in[0]->s.shape, in[0]->s.rank), known = 1;
    int infer = -1;
    char text[RGMI_TEXT];

    (void)inputs;
    RGM_TRY(no_pattern(in[0]));
    out->dtype = in[0]->s.dtype;
    out->rank = (int)attributes->integer[6];
    for (int i = 0; i < out->rank; i++) {
        out->shape[i] = attributes->integer[i];
        if (out->shape[i] != RGM_INFER)
            known = rgmi_dim_product(graph, known, out->shape[i]);
        else if (infer >= 0)
            return RGM_FAIL(RGM_ERR_ARG, "only one size can be inferred");
        else
            infer = i;
    }
    if (infer >= 0) {
        if (known == 0 || (known > 0 && total >= 0 && total % known != 0))
            return RGM_FAIL(RGM_ERR_SHAPE, "%s does not split evenly into parts of %lld",
                            rgmi_shape_text(text, sizeof text, in[0]), (long long)known);
        out->shape[infer] = rgmi_dim_quotient(graph, total, known);
    } else if (known != total) {
        char to[RGMI_TEXT];
        rgm_value y = {.graph = graph, .s = *out};
        return RGM_FAIL(RGM_ERR_SHAPE, "counts differ: %s to %s",
                        rgmi_shape_text(text, sizeof text, in[0]),
                        rgmi_shape_text(to, sizeof to, &y));
    }
    return RGM_OK;
}

static rgm_status view_forward(rgm_op_run *run)
{
    run->out->data = run->in[0].data;
    return RGM_OK;
}

static rgm_status reshape_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    (void)wanted;
    dx[0] = rgm_reshape(dy, y->in[0]->s.rank, y->in[0]->s.shape);
    return RGM_OK;
}

const rgm_op_type rgmi_reshape_op = {
    .name = "reshape",
    .arity = 1,
    .infer = reshape_infer,
    .forward = view_forward,
    .backward = reshape_backward,
    .is_view = always_view,
};

rgm_value *rgm_reshape(rgm_value *x, int rank, const rgm_dim *shape)
{
    rgm_attributes attributes = {.integer[6] = rank};

    if (x == NULL)
        return NULL;
    if (rank < 0 || rank > RGM_MAX_RANK)
        return rgm_cgraph_fail(x->graph, RGM_ERR_ARG, "reshape: rank %d is not in 0..%d", rank,
                               RGM_MAX_RANK);
    for (int i = 0; i < rank; i++)
        attributes.integer[i] = shape[i];
    return rgmi_op1(&rgmi_reshape_op, x, &attributes);
}

rgm_value *rgmi_expand(rgm_value *x, int axis)
{
    rgm_dim shape[RGM_MAX_RANK + 1];

    if (x == NULL)
        return NULL;
    for (int i = 0; i < axis; i++)
        shape[i] = x->s.shape[i];
    shape[axis] = 1;
    for (int i = axis; i < x->s.rank; i++)
        shape[i + 1] = x->s.shape[i];
    return rgm_reshape(x, x->s.rank + 1, shape);
}

/* ---- stop_gradient and copy ---- */

static rgm_status same_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                             const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(no_pattern(in[0]));
    return rgmi_same_shape(out, in[0]);
}

const rgm_op_type rgmi_stop_gradient_op = {
    .name = "stop_gradient",
    .arity = 1,
    .infer = same_infer,
    .forward = view_forward,
    .no_gradient = "passes none, by definition",
    .is_view = always_view,
};

rgm_value *rgm_stop_gradient(rgm_value *x)
{
    return rgmi_op1(&rgmi_stop_gradient_op, x, NULL);
}

static rgm_status copy_forward(rgm_op_run *run)
{
    rgmi_copy(run, &run->in[0]);
    return RGM_OK;
}

const rgm_op_type rgmi_copy_op = {
    .name = "copy",
    .arity = 1,
    .infer = same_infer,
    .forward = copy_forward,
    .no_gradient = "made by the executor, after gradients",
};

/* ---- blocks: y [outer, y_axis, inner bytes] ---- */

static int64_t view_head(const rgm_view *view, int axis)
{
    int64_t product = 1;

    for (int i = 0; i < axis; i++)
        product *= view->shape[i];
    return product;
}

static size_t inner_bytes(const rgm_view *view, int axis)
{
    return (size_t)rgmi_view_tail(view, axis + 1) * rgm_dtype_size(view->dtype);
}

/* ---- permute: axes in integer[0..] ---- */

static rgm_status permute_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                const rgm_attributes *attributes)
{
    unsigned seen = 0;

    (void)inputs;
    RGM_TRY(no_pattern(in[0]));
    *out = in[0]->s;
    for (int i = 0; i < out->rank; i++) {
        int64_t axis = attributes->integer[i];
        if (axis < 0 || axis >= out->rank || (seen & 1U << axis))
            return RGM_FAIL(RGM_ERR_ARG, "axes[%d] is %lld: each of 0..%d once", i, (long long)axis,
                            out->rank - 1);
        seen |= 1U << axis;
        out->shape[i] = in[0]->s.shape[axis];
    }
    return RGM_OK;
}

static rgm_status permute_forward(rgm_op_run *run)
{
    const rgm_view *x = &run->in[0], *y = run->out;
    rgm_permute_args args = {
        .y = y->data, .x = x->data, .rank = y->rank, .size = rgm_dtype_size(y->dtype)};

    if (rgmi_view_count(y) == 0)
        return RGM_OK;
    if (y->rank == 0)
        return copy_forward(run);
    for (int i = 0; i < y->rank; i++) {
        args.shape[i] = y->shape[i];
        args.stride[i] = rgmi_view_tail(x, (int)run->attributes->integer[i] + 1);
    }
    run->kernels->permute(&args);
    return RGM_OK;
}

static rgm_status permute_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    int back[RGM_MAX_RANK];

    (void)wanted;
    for (int i = 0; i < y->s.rank; i++)
        back[y->attributes.integer[i]] = i;
    dx[0] = rgm_permute(dy, back);
    return RGM_OK;
}

const rgm_op_type rgmi_permute_op = {
    .name = "permute",
    .arity = 1,
    .infer = permute_infer,
    .forward = permute_forward,
    .backward = permute_backward,
};

rgm_value *rgm_permute(rgm_value *x, const int *axes)
{
    rgm_attributes attributes = {.text = NULL};

    if (x == NULL)
        return NULL;
    for (int i = 0; i < x->s.rank; i++)
        attributes.integer[i] = axes[i];
    return rgmi_op1(&rgmi_permute_op, x, &attributes);
}

/* ---- concat: axis in integer[0] ---- */

static rgm_status concat_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                               const rgm_attributes *attributes)
{
    int axis = (int)attributes->integer[0];
    char a[RGMI_TEXT], b[RGMI_TEXT];

    if (inputs == 0)
        return RGM_FAIL(RGM_ERR_ARG, "nothing to join");
    RGM_TRY(no_pattern(in[0]));
    *out = in[0]->s;
    if (axis < 0 || axis >= out->rank)
        return RGM_FAIL(RGM_ERR_ARG, "axis %d of %s", axis, rgm_value_describe(in[0], a, sizeof a));
    for (int k = 1; k < inputs; k++) {
        bool fits =
            !in[k]->s.is_pattern && in[k]->s.dtype == out->dtype && in[k]->s.rank == out->rank;
        for (int i = 0; fits && i < out->rank; i++)
            fits = i == axis || in[k]->s.shape[i] == out->shape[i];
        if (!fits)
            return RGM_FAIL(RGM_ERR_SHAPE, "inputs differ beside axis %d: %s and %s", axis,
                            rgm_value_describe(in[0], a, sizeof a),
                            rgm_value_describe(in[k], b, sizeof b));
        out->shape[axis] = rgmi_dim_sum(in[0]->graph, out->shape[axis], in[k]->s.shape[axis]);
    }
    return RGM_OK;
}

static rgm_status concat_forward(rgm_op_run *run)
{
    int axis = (int)run->attributes->integer[0];
    size_t inner = inner_bytes(run->out, axis), at = 0;
    size_t step = inner * (size_t)run->out->shape[axis];

    for (int k = 0; k < run->inputs; k++) {
        size_t size = inner * (size_t)run->in[k].shape[axis];
        rgm_copy_args args = {.y = (char *)run->out->data + at,
                              .x = run->in[k].data,
                              .outer = view_head(run->out, axis),
                              .size = size,
                              .y_step = step,
                              .x_step = size};
        if (size > 0)
            run->kernels->copy(&args);
        at += size;
    }
    return RGM_OK;
}

static rgm_status concat_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    int axis = (int)y->attributes.integer[0];
    rgm_dim begin = 0;

    for (int i = 0; i < y->inputs; i++) {
        rgm_dim size = y->in[i]->s.shape[axis];
        dx[i] = wanted[i] ? rgmi_slice_dim(dy, axis, begin, size) : NULL;
        begin = rgmi_dim_sum(y->graph, begin, size);
    }
    return RGM_OK;
}

const rgm_op_type rgmi_concat_op = {
    .name = "concat",
    .arity = -1,
    .infer = concat_infer,
    .forward = concat_forward,
    .backward = concat_backward,
};

rgm_value *rgm_concat(rgm_value *const *x, int64_t count, int axis)
{
    if (count < 1 || x == NULL || x[0] == NULL)
        return NULL;
    rgm_attributes attributes = {.integer[0] = axis < 0 ? axis + x[0]->s.rank : axis};
    return rgm_op(x[0]->graph, &rgmi_concat_op, x, (int)count, &attributes);
}

/* ---- slice: axis, begin, size in integer[0..2]; its gradient also total in integer[3] ---- */

static rgm_status slice_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                              const rgm_attributes *attributes)
{
    (void)inputs;
    RGM_TRY(no_pattern(in[0]));
    *out = in[0]->s;
    out->shape[attributes->integer[0]] = attributes->integer[2];
    return RGM_OK;
}

/* Contiguous when every axis before it has size 1. */
static bool slice_is_view(const rgm_value *y)
{
    for (int i = 0; i < y->attributes.integer[0]; i++)
        if (y->in[0]->s.shape[i] != 1)
            return false;
    return true;
}

/* Where it begins; sizes that vary may ask for more than there is. */
static rgm_status slice_begin(int64_t *begin, const rgm_op_run *run)
{
    int axis = (int)run->attributes->integer[0];
    int64_t size = run->out->shape[axis], all = run->in[0].shape[axis];

    *begin = rgm_op_run_dim(run, run->attributes->integer[1]);
    if (*begin + size > all)
        return RGM_FAIL(RGM_ERR_SHAPE, "slice: [%lld,%lld) of axis %d of size %lld",
                        (long long)*begin, (long long)(*begin + size), axis, (long long)all);
    return RGM_OK;
}

static rgm_status slice_forward(rgm_op_run *run, int64_t begin)
{
    const rgm_view *x = &run->in[0];
    int axis = (int)run->attributes->integer[0];
    size_t inner = inner_bytes(x, axis);
    rgm_copy_args args = {.y = run->out->data,
                          .x = (const char *)x->data + (size_t)begin * inner,
                          .outer = view_head(x, axis),
                          .size = inner * (size_t)run->out->shape[axis],
                          .y_step = inner * (size_t)run->out->shape[axis],
                          .x_step = inner * (size_t)x->shape[axis]};

    if (args.size > 0)
        run->kernels->copy(&args);
    return RGM_OK;
}

static rgm_status slice_view_forward(rgm_op_run *run, int64_t begin)
{
    int axis = (int)run->attributes->integer[0];

    run->out->data = (char *)run->in[0].data + (size_t)begin * inner_bytes(&run->in[0], axis);
    return RGM_OK;
}

static rgm_status slice_any_forward(rgm_op_run *run)
{
    int64_t begin;

    RGM_TRY(slice_begin(&begin, run));
    return run->out->data == NULL ? slice_view_forward(run, begin) : slice_forward(run, begin);
}

static rgm_status slice_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgm_attributes attributes = y->attributes;

    (void)wanted;
    attributes.integer[3] = y->in[0]->s.shape[attributes.integer[0]];
    dx[0] = rgmi_op1(&rgmi_slice_grad_op, dy, &attributes);
    return RGM_OK;
}

const rgm_op_type rgmi_slice_op = {
    .name = "slice",
    .arity = 1,
    .infer = slice_infer,
    .forward = slice_any_forward,
    .backward = slice_backward,
    .is_view = slice_is_view,
};

rgm_value *rgmi_slice_dim(rgm_value *x, int axis, rgm_dim begin, rgm_dim size)
{
    rgm_attributes attributes = {.integer = {axis, begin, size}};

    if (x != NULL && begin == 0 && size == x->s.shape[axis])
        return x;
    return rgmi_op1(&rgmi_slice_op, x, &attributes);
}

/* The axis from one that may be negative; -1 after saying that there is none. */
static int slice_axis(rgm_value *x, int axis)
{
    int at = axis < 0 ? axis + x->s.rank : axis;
    char text[RGMI_TEXT];

    if (!x->s.is_pattern && at >= 0 && at < x->s.rank)
        return at;
    rgm_cgraph_fail(x->graph, RGM_ERR_ARG, "slice: axis %d of %s", axis,
                    rgm_value_describe(x, text, sizeof text));
    return -1;
}

rgm_value *rgm_slice(rgm_value *x, int axis, int64_t begin, int64_t end)
{
    char text[RGMI_TEXT];
    int at = x != NULL ? slice_axis(x, axis) : -1;

    if (at < 0)
        return NULL;
    if (x->s.shape[at] < 0 || begin < 0 || end < begin || end > x->s.shape[at])
        return rgm_cgraph_fail(x->graph, RGM_ERR_SHAPE, "slice: [%lld,%lld) of axis %d of %s",
                               (long long)begin, (long long)end, axis,
                               rgm_value_describe(x, text, sizeof text));
    return rgmi_slice_dim(x, at, begin, end - begin);
}

rgm_value *rgm_slice_to(rgm_value *x, int axis, rgm_dim size)
{
    char text[RGMI_TEXT];
    int at = x != NULL ? slice_axis(x, axis) : -1;

    if (at < 0)
        return NULL;
    if (x->s.shape[at] < 0 || size > x->s.shape[at])
        return rgm_cgraph_fail(x->graph, RGM_ERR_SHAPE, "slice: the first %lld of axis %d of %s",
                               (long long)size, axis, rgm_value_describe(x, text, sizeof text));
    return rgmi_slice_dim(x, at, 0, size);
}

static rgm_status slice_grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                   const rgm_attributes *attributes)
{
    (void)inputs;
    RGM_TRY(rgmi_need_float(in[0], "dy"));
    *out = in[0]->s;
    out->shape[attributes->integer[0]] = attributes->integer[3];
    return RGM_OK;
}

static rgm_status slice_grad_forward(rgm_op_run *run)
{
    const rgm_view *dy = &run->in[0], *dx = run->out;
    int axis = (int)run->attributes->integer[0];
    size_t inner = inner_bytes(dx, axis), total = inner * (size_t)dx->shape[axis];
    rgm_copy_args args = {.y = dx->data,
                          .x = dy->data,
                          .outer = view_head(dx, axis),
                          .size = inner * (size_t)dy->shape[axis],
                          .y_step = total,
                          .x_step = inner * (size_t)dy->shape[axis]};

    args.zeros_before = (size_t)rgm_op_run_dim(run, run->attributes->integer[1]) * inner;
    args.zeros_behind = total - args.zeros_before - args.size;
    if (total > 0)
        run->kernels->copy(&args);
    return RGM_OK;
}

static rgm_status slice_grad_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                      const bool *wanted)
{
    const int64_t *a = y->attributes.integer;

    (void)wanted;
    dx[0] = rgmi_slice_dim(dy, (int)a[0], a[1], a[2]);
    return RGM_OK;
}

const rgm_op_type rgmi_slice_grad_op = {
    .name = "slice_grad",
    .arity = 1,
    .infer = slice_grad_infer,
    .forward = slice_grad_forward,
    .backward = slice_grad_backward,
};

/* ---- broadcast_to: as reshape's attributes ---- */

static rgm_status broadcast_to_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                     const rgm_attributes *attributes)
{
    char text[RGMI_TEXT];

    (void)inputs;
    RGM_TRY(rgmi_need_float(in[0], "input"));
    out->dtype = in[0]->s.dtype;
    out->rank = (int)attributes->integer[6];
    for (int i = 0; i < out->rank; i++)
        out->shape[i] = attributes->integer[i];
    for (int i = 0; i < in[0]->s.rank; i++) {
        int k = i + out->rank - in[0]->s.rank;
        if (k < 0 || (in[0]->s.shape[i] != 1 && in[0]->s.shape[i] != out->shape[k]))
            return RGM_FAIL(RGM_ERR_SHAPE, "%s does not broadcast to rank %d",
                            rgmi_shape_text(text, sizeof text, in[0]), out->rank);
    }
    return RGM_OK;
}

static rgm_status broadcast_to_forward(rgm_op_run *run)
{
    rgmi_program program = {.inputs = 1, .steps = 1};

    program.step[0] = (rgm_map_step){.code = RGM_MAP_SCALE, .constant = 1};
    rgmi_map_run(run->kernels, run->out, run->in, &program);
    return RGM_OK;
}

static rgm_status broadcast_to_backward(rgm_value **dx, rgm_value *y, rgm_value *dy,
                                        const bool *wanted)
{
    (void)wanted;
    dx[0] = rgmi_sum_to(dy, y->in[0]);
    return RGM_OK;
}

const rgm_op_type rgmi_broadcast_to_op = {
    .name = "broadcast_to",
    .arity = 1,
    .infer = broadcast_to_infer,
    .forward = broadcast_to_forward,
    .backward = broadcast_to_backward,
};

rgm_value *rgmi_broadcast_to(rgm_value *x, int rank, const rgm_dim *shape)
{
    rgm_attributes attributes = {.integer[6] = rank};
    bool same;

    if (x == NULL)
        return NULL;
    same = x->s.rank == rank;
    for (int i = 0; i < rank; i++) {
        attributes.integer[i] = shape[i];
        same = same && x->s.shape[i] == shape[i];
    }
    return same ? x : rgmi_op1(&rgmi_broadcast_to_op, x, &attributes);
}

rgm_value *rgmi_zeros_like(rgm_value *x)
{
    return x == NULL
               ? NULL
               : rgmi_broadcast_to(rgm_scalar(x->graph, x->s.dtype, 0), x->s.rank, x->s.shape);
}

/* ---- inverse_dim: scalar 1 / max(size, 1); dim in integer[0], dtype in integer[1] ---- */

static rgm_status inverse_dim_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                    const rgm_attributes *attributes)
{
    (void)in, (void)inputs;
    out->dtype = (rgm_dtype)attributes->integer[1];
    return RGM_OK;
}

static rgm_status inverse_dim_forward(rgm_op_run *run)
{
    int64_t size = rgm_op_run_dim(run, run->attributes->integer[0]);

    run->kernels->fill(&(rgm_fill_args){run->out->data, 1, 1.0 / (double)(size > 0 ? size : 1)});
    return RGM_OK;
}

const rgm_op_type rgmi_inverse_dim_op = {
    .name = "inverse_dim",
    .arity = 0,
    .infer = inverse_dim_infer,
    .forward = inverse_dim_forward,
    .no_gradient = "has no inputs",
};

rgm_value *rgmi_inverse_dim(rgm_cgraph *graph, rgm_dtype dtype, rgm_dim dim)
{
    rgm_attributes attributes = {.integer = {dim, dtype}};

    return rgm_op(graph, &rgmi_inverse_dim_op, NULL, 0, &attributes);
}

/* ---- by_rows: scalar number[0] where no dim of integer[0 .. integer[6] - 1] is 0, else number[1];
 * dtype in integer[7] ---- */

static rgm_status by_rows_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                const rgm_attributes *attributes)
{
    (void)in, (void)inputs;
    out->dtype = (rgm_dtype)attributes->integer[7];
    return RGM_OK;
}

static rgm_status by_rows_forward(rgm_op_run *run)
{
    const rgm_attributes *a = run->attributes;
    bool some = true;

    for (int64_t i = 0; i < a->integer[6]; i++)
        some = some && rgm_op_run_dim(run, a->integer[i]) > 0;
    run->kernels->fill(&(rgm_fill_args){run->out->data, 1, a->number[some ? 0 : 1]});
    return RGM_OK;
}

const rgm_op_type rgmi_by_rows_op = {
    .name = "by_rows",
    .arity = 0,
    .infer = by_rows_infer,
    .forward = by_rows_forward,
    .no_gradient = "has no inputs",
};

rgm_value *rgm_by_rows(rgm_value *x, double some, double none)
{
    rgm_attributes attributes = {.number = {some, none}};

    if (x == NULL)
        return NULL;
    for (int i = 0; i < x->s.rank - 1; i++)
        attributes.integer[i] = x->s.shape[i];
    attributes.integer[6] = x->s.rank - 1;
    attributes.integer[7] = x->s.dtype;
    return rgm_op(x->graph, &rgmi_by_rows_op, NULL, 0, &attributes);
}
