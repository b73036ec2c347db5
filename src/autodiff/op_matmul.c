/*
 * Matrix products. `matmul` takes an optional bias and activation, which the executor's passes fold
 * in; `matmul_add` adds to a value of the result's shape, in its memory where that is free.
 * Attributes: integer[0], [1] = transposed a, b; [2] = activation; number[0] = its slope.
 */
#include "autodiff_internal.h"

static rgm_status product_infer(rgm_op_shape *out, rgm_value *a, rgm_value *b,
                                const rgm_attributes *attributes)
{
    char at[RGMI_TEXT], bt[RGMI_TEXT];
    int rank = a->s.rank;

    RGM_TRY(rgmi_need_float(a, "a"));
    RGM_TRY(rgmi_need_float(b, "b"));
    if (a->s.dtype != b->s.dtype)
        return RGM_FAIL(RGM_ERR_DTYPE, "dtypes differ: %s and %s", rgm_dtype_name(a->s.dtype),
                        rgm_dtype_name(b->s.dtype));
    bool fits = rank >= 2 && b->s.rank == rank;
    for (int i = 0; fits && i < rank - 2; i++)
        fits = a->s.shape[i] == b->s.shape[i];
    if (!fits)
        return RGM_FAIL(RGM_ERR_SHAPE, "needs equal ranks >= 2 and equal batch sizes: %s x %s",
                        rgmi_shape_text(at, sizeof at, a), rgmi_shape_text(bt, sizeof bt, b));
    int ta = attributes->integer[0] != 0, tb = attributes->integer[1] != 0;
    rgm_dim ka = a->s.shape[rank - (ta ? 2 : 1)], kb = b->s.shape[rank - (tb ? 1 : 2)];
    if (ka != kb)
        return RGM_FAIL(RGM_ERR_SHAPE, "inner sizes differ: %s%s x %s%s",
                        rgmi_shape_text(at, sizeof at, a), ta ? "^T" : "",
                        rgmi_shape_text(bt, sizeof bt, b), tb ? "^T" : "");
    *out = a->s;
    out->shape[rank - 2] = a->s.shape[rank - (ta ? 1 : 2)];
    out->shape[rank - 1] = b->s.shape[rank - (tb ? 2 : 1)];
    return RGM_OK;
}

static rgm_status matmul_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                               const rgm_attributes *attributes)
{
    if (inputs != 2 && inputs != 3)
        return RGM_FAIL(RGM_ERR_ARG, "takes a, b and perhaps a bias, got %d inputs", inputs);
    RGM_TRY(product_infer(out, in[0], in[1], attributes));
    if (inputs == 3 && (in[2]->s.rank != 1 || in[2]->s.shape[0] != out->shape[out->rank - 1]))
        return RGM_FAIL(RGM_ERR_SHAPE, "bias does not fit the columns");
    return RGM_OK;
}

static void product_args(rgm_matmul_args *args, const rgm_op_run *run, const rgm_view *a,
                         const rgm_view *b)
{
    const rgm_attributes *attributes = run->attributes;
    const rgm_view *c = run->out;
    int rank = c->rank;

    args->c = c->data;
    args->a = a->data;
    args->b = b->data;
    args->m = c->shape[rank - 2];
    args->n = c->shape[rank - 1];
    args->trans_a = attributes->integer[0] != 0;
    args->trans_b = attributes->integer[1] != 0;
    args->k = a->shape[rank - (args->trans_a ? 2 : 1)];
    args->lda = a->shape[rank - 1];
    args->ldb = b->shape[rank - 1];
    args->ldc = args->n;
    args->batch = 1;
    for (int i = 0; i < rank - 2; i++)
        args->batch *= c->shape[i];
    args->stride_a = args->m * args->k;
    args->stride_b = args->k * args->n;
    args->stride_c = args->m * args->n;
    args->activation = (rgm_activation)attributes->integer[2];
    args->slope = attributes->number[0];
}

/* Some rows at a time, on the host. In place a block goes to scratch and from there over its own
 * rows of a; the blocks are the same when it is not, so that where memory was free changes no bit.
 */
static void product_in_blocks(rgm_op_run *run, rgm_matmul_args *args)
{
    int64_t rows = args->m, step = rgmi_matmul_block(rows);
    size_t row = (size_t)args->n * rgm_dtype_size(run->out->dtype);
    bool in_place = args->c == args->a;
    const char *a = args->a;

    for (int64_t begin = 0; begin < rows; begin += step) {
        char *c = (char *)run->out->data + (size_t)begin * row;
        args->m = rows - begin < step ? rows - begin : step;
        args->a = a + (size_t)begin * row;
        args->c = in_place ? run->scratch : c;
        run->kernels->matmul(args);
        if (in_place)
            run->kernels->copy(&(rgm_copy_args){
                .y = c, .x = run->scratch, .outer = 1, .size = (size_t)args->m * row});
    }
}

static rgm_status matmul_forward(rgm_op_run *run)
{
    rgm_matmul_args args = {.c = NULL};

    product_args(&args, run, &run->in[0], &run->in[1]);
    args.bias = run->inputs == 3 ? run->in[2].data : NULL;
    if (args.batch == 0 || args.m == 0 || args.n == 0)
        return RGM_OK;
    if (rgmi_matmul_in_place(run->attributes, &run->in[0], run->out, run->device))
        product_in_blocks(run, &args);
    else
        run->kernels->matmul(&args);
    return RGM_OK;
}

/* A product may take a's place when rows stay as long as they were and a is so large that its
 * memory matters more than one more copy. On the host alone: a block of rows is far too small for a
 * GPU. */
bool rgmi_matmul_in_place(const rgm_attributes *attributes, const rgm_view *a, const rgm_view *y,
                          const rgm_device *device)
{
    return rgm_device_is_host(device) && y->rank == 2 && attributes->integer[0] == 0 &&
           a->shape[1] == y->shape[1] && a->shape[0] * a->shape[1] >= RGMI_IN_PLACE;
}

int64_t rgmi_matmul_block(int64_t rows)
{
    return rows < 4096 ? rows : 4096;
}

static size_t matmul_scratch(const rgm_view *in, int inputs, const rgm_view *out,
                             const rgm_attributes *attributes)
{
    (void)inputs;
    if (!rgmi_matmul_in_place(attributes, &in[0], out, rgm_device_cpu()))
        return 0;
    return (size_t)(rgmi_matmul_block(out->shape[0]) * out->shape[1]) * rgm_dtype_size(out->dtype);
}

/* y = op(a) op(b): da and db, each a product again. */
static rgm_status matmul_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgmi_matmul m;

    rgmi_matmul_parts(&m, y);
    if (wanted[0])
        dx[0] = m.trans_a ? rgm_matmul_t(m.b, dy, m.trans_b, true)
                          : rgm_matmul_t(dy, m.b, false, !m.trans_b);
    if (wanted[1])
        dx[1] = m.trans_b ? rgm_matmul_t(dy, m.a, true, m.trans_a)
                          : rgm_matmul_t(m.a, dy, !m.trans_a, false);
    return RGM_OK;
}

const rgm_op_type rgmi_matmul_op = {
    .name = "matmul",
    .arity = -1,
    .infer = matmul_infer,
    .forward = matmul_forward,
    .backward = matmul_backward,
    .scratch = matmul_scratch,
};

rgm_value *rgm_matmul_t(rgm_value *a, rgm_value *b, bool trans_a, bool trans_b)
{
    rgm_attributes attributes = {.integer = {trans_a, trans_b}};

    return rgmi_op2(&rgmi_matmul_op, a, b, &attributes);
}

rgm_value *rgm_matmul(rgm_value *a, rgm_value *b)
{
    return rgm_matmul_t(a, b, false, false);
}

/* ---- a product with a packed b: weights in use ----------------------------------------------- */

/* Attributes: integer[0] = transposed b, [1] = elements of the packed form. */
static rgm_status matmul_pack_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                    const rgm_attributes *attributes)
{
    (void)inputs;
    RGM_TRY(rgmi_need_float(in[0], "b"));
    RGM_TRY(rgmi_need_rank(in[0], "b", 2));
    *out = (rgm_op_shape){.dtype = in[0]->s.dtype, .rank = 1, .shape = {attributes->integer[1]}};
    return RGM_OK;
}

static rgm_matmul_args pack_args(const void *b, const int64_t *shape, bool trans)
{
    return (rgm_matmul_args){.b = b,
                             .k = shape[trans ? 1 : 0],
                             .n = shape[trans ? 0 : 1],
                             .ldb = shape[1],
                             .trans_b = trans};
}

static rgm_status matmul_pack_forward(rgm_op_run *run)
{
    const rgm_view *b = &run->in[0];
    rgm_matmul_args args = pack_args(b->data, b->shape, run->attributes->integer[0] != 0);

    args.c = run->out->data;
    if (rgmi_view_count(run->out) > 0)
        run->kernels->matmul_pack(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_matmul_pack_op = {
    .name = "matmul_pack",
    .arity = 1,
    .infer = matmul_pack_infer,
    .forward = matmul_pack_forward,
    .no_gradient = "made by the executor, after gradients",
};

/* Inputs: a, the packed b, perhaps a bias. Attributes as of matmul; [3] = columns of b. */
static rgm_status matmul_packed_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                      const rgm_attributes *attributes)
{
    if (inputs != 2 && inputs != 3)
        return RGM_FAIL(RGM_ERR_ARG, "takes a, a packed b and perhaps a bias, got %d inputs",
                        inputs);
    RGM_TRY(rgmi_need_float(in[0], "a"));
    RGM_TRY(rgmi_need_rank(in[0], "a", 2));
    *out = in[0]->s;
    out->shape[1] = attributes->integer[3];
    return RGM_OK;
}

static rgm_status matmul_packed_forward(rgm_op_run *run)
{
    const rgm_attributes *attributes = run->attributes;
    const rgm_view *a = &run->in[0], *c = run->out;
    rgm_matmul_args args = {.c = c->data,
                            .a = a->data,
                            .b = run->in[1].data,
                            .bias = run->inputs == 3 ? run->in[2].data : NULL,
                            .m = c->shape[0],
                            .n = c->shape[1],
                            .k = a->shape[1],
                            .lda = a->shape[1],
                            .ldc = c->shape[1],
                            .batch = 1,
                            .packed = true,
                            .activation = (rgm_activation)attributes->integer[2],
                            .slope = attributes->number[0]};

    if (args.m > 0 && args.n > 0)
        run->kernels->matmul(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_matmul_packed_op = {
    .name = "matmul_packed",
    .arity = -1,
    .infer = matmul_packed_infer,
    .forward = matmul_packed_forward,
    .no_gradient = "made by the executor, after gradients",
};

rgm_value *rgmi_matmul_pack(const rgmi_matmul *parts, const rgm_kernels *kernels)
{
    rgm_matmul_args args = pack_args(NULL, parts->b->s.shape, parts->trans_b);
    rgm_attributes pack = {.integer = {parts->trans_b}};
    rgm_attributes product = {.integer = {false, false, parts->activation, args.n},
                              .number[0] = parts->slope};
    rgm_value *in[3] = {parts->a, NULL, parts->bias};

    pack.integer[1] = (int64_t)(kernels->matmul_pack(&args) / rgm_dtype_size(parts->b->s.dtype));
    in[1] = rgmi_op1(&rgmi_matmul_pack_op, parts->b, &pack);
    return rgm_op(parts->a->graph, &rgmi_matmul_packed_op, in, parts->bias != NULL ? 3 : 2,
                  &product);
}

/* ---- base + op(a) op(b): inputs base, a, b ---- */

static rgm_status matmul_add_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                   const rgm_attributes *attributes)
{
    rgm_value y = {.graph = in[0]->graph};

    (void)inputs;
    RGM_TRY(product_infer(out, in[1], in[2], attributes));
    y.s = *out;
    if (!rgmi_shapes_equal(&y, in[0]) || in[0]->s.dtype != out->dtype)
        return RGM_FAIL(RGM_ERR_SHAPE, "what is added to has another shape");
    return RGM_OK;
}

static void activate(const rgm_op_run *run, void *rows, int64_t count)
{
    static const rgm_map_code codes[] = {
        [RGM_ACT_RELU] = RGM_MAP_RELU, [RGM_ACT_LEAKY_RELU] = RGM_MAP_LEAKY_RELU,
        [RGM_ACT_ELU] = RGM_MAP_ELU,   [RGM_ACT_SIGMOID] = RGM_MAP_SIGMOID,
        [RGM_ACT_TANH] = RGM_MAP_TANH, [RGM_ACT_GELU] = RGM_MAP_GELU,
        [RGM_ACT_SILU] = RGM_MAP_SILU, [RGM_ACT_GELU_TANH] = RGM_MAP_GELU_TANH};
    rgmi_program program = {.inputs = 1, .steps = 1};
    rgm_view view = {.dtype = run->out->dtype, .rank = 1, .shape = {count}, .data = rows};

    program.step[0] = (rgm_map_step){.code = codes[run->attributes->integer[2]],
                                     .constant = run->attributes->number[0]};
    rgmi_map_run(run->kernels, &view, &view, &program);
}

/* The activation follows each block of rows while that is in the cache, or is part of the product.
 */
static void product_activated(rgm_op_run *run, rgm_matmul_args *args)
{
    bool whole = args->batch > 1 || args->trans_a || !rgm_device_is_host(run->device);
    int64_t rows = args->m, step = whole ? rows : rgmi_matmul_block(rows);
    size_t size = rgm_dtype_size(run->out->dtype);
    const char *a = args->a;
    char *c = args->c;

    if (run->kernels->activates_sums && args->k > 0) {
        args->activation = (rgm_activation)run->attributes->integer[2];
        run->kernels->matmul(args);
        return;
    }
    for (int64_t begin = 0; begin < rows; begin += step) {
        args->m = rows - begin < step ? rows - begin : step;
        args->a = whole ? a : a + (size_t)(begin * args->lda) * size;
        args->c = c + (size_t)(begin * args->n) * size;
        if (args->k > 0)
            run->kernels->matmul(args);
        activate(run, args->c, args->batch * args->m * args->n);
    }
}

static rgm_status matmul_add_forward(rgm_op_run *run)
{
    rgm_matmul_args args = {.accumulate = true};

    if (rgmi_view_count(run->out) == 0)
        return RGM_OK;
    rgmi_copy(run, &run->in[0]);
    product_args(&args, run, &run->in[1], &run->in[2]);
    args.activation = RGM_ACT_NONE;
    if (run->attributes->integer[2] != RGM_ACT_NONE)
        product_activated(run, &args);
    else if (args.k > 0)
        run->kernels->matmul(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_matmul_add_op = {
    .name = "matmul_add",
    .arity = 3,
    .infer = matmul_add_infer,
    .forward = matmul_add_forward,
    .no_gradient = "made by the executor, after gradients",
    .in_place = true,
};

void rgmi_matmul_parts(rgmi_matmul *parts, const rgm_value *value)
{
    int at = value->type == &rgmi_matmul_add_op ? 1 : 0;

    *parts = (rgmi_matmul){
        .a = value->in[at],
        .b = value->in[at + 1],
        .bias = at == 0 && value->inputs == 3 ? value->in[2] : NULL,
        .trans_a = value->attributes.integer[0] != 0,
        .trans_b = value->attributes.integer[1] != 0,
        .activation = (rgm_activation)value->attributes.integer[2],
        .slope = value->attributes.number[0],
    };
}

rgm_value *rgmi_matmul_build(const rgmi_matmul *parts, rgm_value *base)
{
    rgm_attributes attributes = {.integer = {parts->trans_a, parts->trans_b, parts->activation},
                                 .number[0] = parts->slope};

    if (base != NULL)
        return rgmi_op3(&rgmi_matmul_add_op, base, parts->a, parts->b, &attributes);
    if (parts->bias != NULL)
        return rgmi_op3(&rgmi_matmul_op, parts->a, parts->b, parts->bias, &attributes);
    return rgmi_op2(&rgmi_matmul_op, parts->a, parts->b, &attributes);
}
