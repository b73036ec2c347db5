/*
 * Sparse-dense products: spmm with weights, scales, bias and activation, its accumulating form, and
 * sddmm. Each is the other's gradient: with respect to x, spmm over the transposed pattern with the
 * scales swapped; with respect to the weights, sddmm. Attributes of spmm: integer[0] = which
 * optional inputs there are, [1] = self loop, [2] = activation; number[0] = its slope; [3] = which
 * rows, where an exchange goes on meanwhile, [4] = how many are own, [5] of spmm_rest = with a
 * base.
 */
#include "autodiff_internal.h"

static int part_count(int64_t flags)
{
    return __builtin_popcountll((unsigned long long)flags);
}

void rgmi_spmm_parts(rgmi_spmm *parts, const rgm_value *value)
{
    int64_t flags = value->attributes.integer[0];
    int at = value->type == &rgmi_spmm_add_op ? 1 : 0;

    memset(parts, 0, sizeof *parts);
    parts->p = value->in[at++];
    parts->x = value->in[at++];
    if (flags & RGMI_SPMM_WEIGHT)
        parts->weight = value->in[at++];
    if (flags & RGMI_SPMM_ROW)
        parts->row_scale = value->in[at++];
    if (flags & RGMI_SPMM_COLUMN)
        parts->column_scale = value->in[at++];
    if (flags & RGMI_SPMM_BIAS)
        parts->bias = value->in[at++];
    if (flags & RGMI_SPMM_BASE_SCALE)
        parts->base_scale = value->in[at++];
    parts->self_loop = value->attributes.integer[1] != 0;
    parts->activation = (rgm_activation)value->attributes.integer[2];
    parts->slope = value->attributes.number[0];
}

rgm_value *rgmi_spmm_build(const rgmi_spmm *parts, rgm_value *base)
{
    rgm_value *in[8], *optional[] = {parts->weight, parts->row_scale, parts->column_scale,
                                     parts->bias, parts->base_scale};
    rgm_attributes attributes = {.integer = {0, parts->self_loop, parts->activation},
                                 .number[0] = parts->slope};
    int count = 0;

    if (parts->p == NULL || parts->x == NULL)
        return NULL;
    if (base != NULL)
        in[count++] = base;
    in[count++] = parts->p;
    in[count++] = parts->x;
    for (int i = 0; i < 5; i++)
        if (optional[i] != NULL) {
            attributes.integer[0] |= 1 << i;
            in[count++] = optional[i];
        }
    return rgm_op(parts->p->graph, base != NULL ? &rgmi_spmm_add_op : &rgmi_spmm_op, in, count,
                  &attributes);
}

static rgm_status scale_check(const rgm_value *scale, const char *name, rgm_dim size,
                              rgm_dtype dtype)
{
    char text[RGMI_TEXT];

    if (scale == NULL)
        return RGM_OK;
    RGM_TRY(rgmi_need_float(scale, name));
    if (scale->s.rank != 1 || scale->s.shape[0] != size || scale->s.dtype != dtype)
        return RGM_FAIL(RGM_ERR_SHAPE, "%s does not fit: %s", name,
                        rgm_value_describe(scale, text, sizeof text));
    return RGM_OK;
}

static rgm_status weight_check(const rgmi_spmm *s)
{
    char text[RGMI_TEXT], xt[RGMI_TEXT];
    rgm_dim channels;

    if (s->weight == NULL)
        return RGM_OK;
    RGM_TRY(rgmi_need_float(s->weight, "weight"));
    channels = rgmi_shape_product(s->x->graph, s->x->s.shape + 1, s->x->s.rank - 1);
    bool fits = (s->weight->s.rank == 1 || s->weight->s.rank == 2) &&
                s->weight->s.shape[0] == s->p->s.shape[2] && s->weight->s.dtype == s->x->s.dtype;
    if (fits && s->weight->s.rank == 2) {
        rgm_dim heads = s->weight->s.shape[1];
        fits = heads > 0 && (channels < 0 || channels % heads == 0);
    }
    if (!fits)
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "weight must be [count] or [count,heads] with heads dividing x's channels: "
                        "%s for x %s",
                        rgm_value_describe(s->weight, text, sizeof text),
                        rgm_value_describe(s->x, xt, sizeof xt));
    return RGM_OK;
}

static rgm_status spmm_check(rgm_op_shape *out, const rgmi_spmm *s)
{
    char pt[RGMI_TEXT], xt[RGMI_TEXT];
    rgm_dim channels;

    RGM_TRY(rgmi_need_pattern(s->p));
    RGM_TRY(rgmi_need_float(s->x, "x"));
    RGM_TRY(rgmi_need_rank(s->x, "x", 1));
    if (s->x->s.shape[0] != s->p->s.shape[1])
        return RGM_FAIL(RGM_ERR_SHAPE, "x needs one row a column of the pattern: %s x %s",
                        rgm_value_describe(s->p, pt, sizeof pt),
                        rgm_value_describe(s->x, xt, sizeof xt));
    if (s->self_loop && s->p->s.shape[0] != s->p->s.shape[1])
        return RGM_FAIL(RGM_ERR_SHAPE, "a self loop needs rows and columns of one set: %s",
                        rgm_value_describe(s->p, pt, sizeof pt));
    if (s->self_loop && s->weight != NULL)
        return RGM_FAIL(RGM_ERR_ARG, "a self loop has no weight: use rgm_add_self_loops()");
    RGM_TRY(weight_check(s));
    RGM_TRY(scale_check(s->row_scale, "row_scale", s->p->s.shape[0], s->x->s.dtype));
    RGM_TRY(scale_check(s->column_scale, "column_scale", s->p->s.shape[1], s->x->s.dtype));
    channels = rgmi_shape_product(s->x->graph, s->x->s.shape + 1, s->x->s.rank - 1);
    RGM_TRY(scale_check(s->bias, "bias", channels, s->x->s.dtype));
    *out = s->x->s;
    out->shape[0] = s->p->s.shape[0];
    return RGM_OK;
}

/* The parts as inputs that are not a value yet. */
static void parts_of(rgmi_spmm *parts, const rgm_op_type *type, rgm_value *const *in,
                     const rgm_attributes *attributes)
{
    rgm_value y = {.type = type, .in = (rgm_value **)(uintptr_t)in, .attributes = *attributes};

    rgmi_spmm_parts(parts, &y);
}

static rgm_status spmm_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                             const rgm_attributes *attributes)
{
    rgmi_spmm parts;

    if (inputs != 2 + part_count(attributes->integer[0]))
        return RGM_FAIL(RGM_ERR_ARG, "inputs and attributes disagree");
    parts_of(&parts, &rgmi_spmm_op, in, attributes);
    return spmm_check(out, &parts);
}

/* Kernel arguments from views in the order of inputs, `at` the first after a base. */
static void spmm_args(rgm_spmm_args *args, const rgm_op_run *run, int at)
{
    const rgm_attributes *a = run->attributes;
    const rgm_view *x = &run->in[at + 1];

    args->y = run->out->data;
    args->csr = run->in[at].csr;
    args->x = x->data;
    args->channels = rgmi_view_tail(x, 1);
    args->heads = 1;
    at += 2;
    if (a->integer[0] & RGMI_SPMM_WEIGHT) {
        args->weight = run->in[at].data;
        args->heads = run->in[at].rank == 2 ? run->in[at].shape[1] : 1;
        at++;
    }
    if (a->integer[0] & RGMI_SPMM_ROW)
        args->row_scale = run->in[at++].data;
    if (a->integer[0] & RGMI_SPMM_COLUMN)
        args->column_scale = run->in[at++].data;
    if (a->integer[0] & RGMI_SPMM_BIAS)
        args->bias = run->in[at++].data;
    if (a->integer[0] & RGMI_SPMM_BASE_SCALE)
        args->base_scale = run->in[at++].data;
    args->self_loop = a->integer[1] != 0;
    args->activation = (rgm_activation)a->integer[2];
    args->slope = a->number[0];
}

/* Which rows [first_row, end_row) an op is to compute; false: none. */
static bool rows_of(rgm_spmm_args *args, const rgm_op_run *run, const rgm_view *p)
{
    rgmi_spmm_rows which = (rgmi_spmm_rows)run->attributes->integer[3];
    int64_t own = run->attributes->integer[4], rows = args->csr->rows, cut = own;

    if (which == RGMI_INNER_ROWS || which == RGMI_OUTER_ROWS)
        cut = rgm_pattern_rows_below(p->pattern, p->csr, own);
    if (args->self_loop && cut > own) /* a row reads its own of x as well */
        cut = own;
    if (cut > rows)
        cut = rows;
    args->first_row = which == RGMI_OUTER_ROWS || which == RGMI_COPIED_ROWS ? cut : 0;
    args->end_row = which == RGMI_INNER_ROWS || which == RGMI_OWN_ROWS ? cut : rows;
    return args->channels > 0 && args->first_row < args->end_row;
}

static rgm_status spmm_forward(rgm_op_run *run)
{
    rgm_spmm_args args = {.y = NULL};

    spmm_args(&args, run, 0);
    if (rows_of(&args, run, &run->in[0]))
        run->kernels->spmm(&args);
    return RGM_OK;
}

/* [n] as [n, 1, ..] to scale rows of x. */
static rgm_value *rows_scaled(rgm_value *x, rgm_value *scale)
{
    rgm_dim shape[RGM_MAX_RANK];

    if (scale == NULL || x == NULL)
        return x;
    for (int i = 0; i < x->s.rank; i++)
        shape[i] = i == 0 ? scale->s.shape[0] : 1;
    return rgm_mul(x, rgm_reshape(scale, x->s.rank, shape));
}

static rgm_value *as_rank(rgm_value *x, int rank, rgm_dim heads)
{
    rgm_dim shape[3];

    if (x == NULL)
        return NULL;
    shape[0] = x->s.shape[0];
    shape[1] = rank == 2 ? rgmi_shape_product(x->graph, x->s.shape + 1, x->s.rank - 1) : heads;
    shape[2] = rgmi_dim_quotient(
        x->graph, rgmi_shape_product(x->graph, x->s.shape + 1, x->s.rank - 1), heads);
    return rgm_reshape(x, rank, shape);
}

static rgm_value *weight_grad(const rgmi_spmm *s, rgm_value *dy)
{
    rgm_dim heads = s->weight->s.rank == 2 ? s->weight->s.shape[1] : 1;
    rgm_value *a = as_rank(rows_scaled(dy, s->row_scale), 3, heads);
    rgm_value *b = as_rank(rows_scaled(s->x, s->column_scale), 3, heads);

    return rgm_reshape(rgm_sddmm(s->p, a, b), s->weight->s.rank, s->weight->s.shape);
}

static rgm_status spmm_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgmi_spmm s, back, plain;
    int at = 2;

    rgmi_spmm_parts(&s, y);
    back = s;
    back.p = rgm_transpose_pattern(s.p);
    back.x = dy;
    back.row_scale = s.column_scale;
    back.column_scale = s.row_scale;
    if (wanted[1])
        dx[1] = rgmi_spmm_build(&back, NULL);
    if (s.weight != NULL) {
        dx[at] = wanted[at] ? weight_grad(&s, dy) : NULL;
        at++;
    }
    if (s.row_scale != NULL) { /* sum over channels of dy * (y without row_scale) */
        plain = s;
        plain.row_scale = NULL;
        if (wanted[at])
            dx[at] =
                rgm_reduce(as_rank(rgm_mul(dy, rgmi_spmm_build(&plain, NULL)), 2, 1), 1, RGM_SUM);
        at++;
    }
    if (s.column_scale != NULL && wanted[at]) {
        plain = back;
        plain.row_scale = NULL;
        dx[at] = rgm_reduce(as_rank(rgm_mul(s.x, rgmi_spmm_build(&plain, NULL)), 2, 1), 1, RGM_SUM);
    }
    return RGM_OK;
}

const rgm_op_type rgmi_spmm_op = {
    .name = "spmm",
    .pattern_reads = RGM_READS_CSR,
    .arity = -1,
    .infer = spmm_infer,
    .forward = spmm_forward,
    .backward = spmm_backward,
};

rgm_value *rgm_spmm(rgm_value *p, rgm_value *x, const rgm_spmm_options *options)
{
    rgmi_spmm parts = {.p = p, .x = x};

    if (p == NULL || x == NULL)
        return NULL;
    if (options != NULL) {
        parts.weight = options->weight;
        parts.row_scale = options->row_scale;
        parts.column_scale = options->column_scale;
        parts.self_loop = options->self_loop;
        if (options->mean) {
            rgm_value *inverse = rgmi_inverse_degree(p, x->s.dtype, options->self_loop);
            parts.row_scale = parts.row_scale != NULL ? rgm_mul(parts.row_scale, inverse) : inverse;
            if (parts.row_scale == NULL)
                return NULL;
        }
    }
    return rgmi_spmm_build(&parts, NULL);
}

/* ---- base + spmm ---- */

static rgm_status spmm_add_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                 const rgm_attributes *attributes)
{
    rgm_value y = {.graph = in[0]->graph};
    rgmi_spmm parts;

    if (inputs != 3 + part_count(attributes->integer[0]))
        return RGM_FAIL(RGM_ERR_ARG, "inputs and attributes disagree");
    parts_of(&parts, &rgmi_spmm_add_op, in, attributes);
    RGM_TRY(spmm_check(out, &parts));
    y.s = *out;
    if (parts.base_scale != NULL &&
        (parts.base_scale->s.dtype != out->dtype ||
         rgmi_shape_product(y.graph, parts.base_scale->s.shape, parts.base_scale->s.rank) != 1))
        return RGM_FAIL(RGM_ERR_SHAPE, "what scales the base is one number of its dtype");
    if (!rgmi_shapes_equal(&y, in[0]) || in[0]->s.dtype != out->dtype)
        return RGM_FAIL(RGM_ERR_SHAPE, "what is added to has another shape");
    return RGM_OK;
}

static rgm_status spmm_add_forward(rgm_op_run *run)
{
    rgm_spmm_args args = {.base = run->in[0].data};

    spmm_args(&args, run, 1);
    args.activation = RGM_ACT_NONE;
    if (run->attributes->integer[3] != RGMI_ALL_ROWS) { /* the rest is added to there */
        rgmi_copy(run, &run->in[0]);
        args.base = args.y;
    }
    if (rows_of(&args, run, &run->in[1]))
        run->kernels->spmm(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_spmm_add_op = {
    .name = "spmm_add",
    .pattern_reads = RGM_READS_CSR,
    .arity = -1,
    .infer = spmm_add_infer,
    .forward = spmm_add_forward,
    .no_gradient = "made by the executor, after gradients",
    .in_place = true,
};

/* ---- some rows first, and the rest ---- */

static rgm_status spmm_rest_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                  const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    return rgmi_same_shape(out, in[0]);
}

static rgm_status spmm_rest_forward(rgm_op_run *run)
{
    rgm_spmm_args args = {.y = NULL};

    run->out->data = run->in[0].data;
    spmm_args(&args, run, 1);
    if (run->attributes->integer[5]) {
        args.base = args.y;
        args.activation = RGM_ACT_NONE;
    }
    if (rows_of(&args, run, &run->in[1]))
        run->kernels->spmm(&args);
    return RGM_OK;
}

static bool spmm_rest_is_view(const rgm_value *y)
{
    (void)y;
    return true;
}

const rgm_op_type rgmi_spmm_rest_op = {
    .name = "spmm_rest",
    .pattern_reads = RGM_READS_CSR,
    .arity = -1,
    .infer = spmm_rest_infer,
    .forward = spmm_rest_forward,
    .no_gradient = "made by the executor, after gradients",
    .is_view = spmm_rest_is_view,
};

enum { MOST_INPUTS = 8 };

rgm_value *rgmi_spmm_first(rgm_value *product, rgm_value *x, rgmi_spmm_rows rows, int64_t own)
{
    rgm_attributes attributes = product->attributes;
    rgm_value *in[MOST_INPUTS];

    memcpy(in, product->in, (size_t)product->inputs * sizeof *in);
    in[product->type == &rgmi_spmm_add_op ? 2 : 1] = x;
    attributes.integer[3] = rows;
    attributes.integer[4] = own;
    return rgm_op(product->graph, product->type, in, product->inputs, &attributes);
}

rgm_value *rgmi_spmm_rest(rgm_value *first, rgm_value *product, rgmi_spmm_rows rows, int64_t own)
{
    bool base = product->type == &rgmi_spmm_add_op;
    rgm_attributes attributes = product->attributes;
    int count = product->inputs - (base ? 1 : 0);
    rgm_value *in[1 + MOST_INPUTS];

    if (first == NULL)
        return NULL;
    in[0] = first;
    memcpy(in + 1, product->in + (base ? 1 : 0), (size_t)count * sizeof *in);
    attributes.integer[3] = rows;
    attributes.integer[4] = own;
    attributes.integer[5] = base;
    return rgm_op(product->graph, &rgmi_spmm_rest_op, in, 1 + count, &attributes);
}

/* ---- sddmm ---- */

static rgm_status sddmm_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                              const rgm_attributes *attributes)
{
    char text[3][RGMI_TEXT];
    const rgm_op_shape *a = &in[1]->s, *b = &in[2]->s;

    (void)inputs, (void)attributes;
    RGM_TRY(rgmi_need_pattern(in[0]));
    RGM_TRY(rgmi_need_float(in[1], "a"));
    RGM_TRY(rgmi_need_float(in[2], "b"));
    if (a->rank != 3 || b->rank != 3 || a->shape[0] != in[0]->s.shape[0] ||
        b->shape[0] != in[0]->s.shape[1] || a->shape[1] != b->shape[1] ||
        a->shape[2] != b->shape[2] || a->dtype != b->dtype)
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "%s needs a [rows,heads,depth] and b [columns,heads,depth], got %s and %s",
                        rgm_value_describe(in[0], text[0], RGMI_TEXT),
                        rgm_value_describe(in[1], text[1], RGMI_TEXT),
                        rgm_value_describe(in[2], text[2], RGMI_TEXT));
    out->dtype = a->dtype;
    out->rank = 2;
    out->shape[0] = in[0]->s.shape[2];
    out->shape[1] = a->shape[1];
    return RGM_OK;
}

static rgm_status sddmm_forward(rgm_op_run *run)
{
    rgm_sddmm_args args = {.y = run->out->data,
                           .csr = run->in[0].csr,
                           .a = run->in[1].data,
                           .b = run->in[2].data,
                           .heads = run->in[1].shape[1],
                           .depth = run->in[1].shape[2]};

    if (rgmi_view_count(run->out) > 0)
        run->kernels->sddmm(&args);
    return RGM_OK;
}

static rgm_status sddmm_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgmi_spmm rows = {.p = y->in[0], .x = y->in[2], .weight = dy};
    rgmi_spmm columns = {.p = rgm_transpose_pattern(y->in[0]), .x = y->in[1], .weight = dy};

    dx[1] = wanted[1] ? rgmi_spmm_build(&rows, NULL) : NULL;
    dx[2] = wanted[2] ? rgmi_spmm_build(&columns, NULL) : NULL;
    return RGM_OK;
}

const rgm_op_type rgmi_sddmm_op = {
    .name = "sddmm",
    .pattern_reads = RGM_READS_CSR,
    .arity = 3,
    .infer = sddmm_infer,
    .forward = sddmm_forward,
    .backward = sddmm_backward,
};

rgm_value *rgm_sddmm(rgm_value *p, rgm_value *a, rgm_value *b)
{
    return rgmi_op3(&rgmi_sddmm_op, p, a, b, NULL);
}
