/*
 * Rotary positions: rows of heads turned by the angles of their positions. integer[0] = heads,
 * integer[1]: turned back, which is the gradient.
 */
#include "autodiff_internal.h"

/* inputs: x [rows, heads depth], table [places, depth], position i64 [n], of which rows is a
 * multiple */
static rgm_status rotary_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                               const rgm_attributes *attributes)
{
    const rgm_value *x = in[0], *table = in[1], *position = in[2];
    int64_t heads = attributes->integer[0];
    char a[RGMI_TEXT], b[RGMI_TEXT], c[RGMI_TEXT];

    (void)inputs;
    RGM_TRY(rgmi_need_float(x, "input"));
    RGM_TRY(rgmi_need_float(table, "table"));
    if (x->s.rank != 2 || table->s.rank != 2 || x->s.dtype != table->s.dtype || heads < 1 ||
        x->s.shape[1] < 1 || table->s.shape[1] < 2 || table->s.shape[1] % 2 != 0 ||
        x->s.shape[1] != heads * table->s.shape[1])
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "needs rows [n,heads depth] and a table [places,depth] with an even depth, "
                        "got %s, %s and %lld heads",
                        rgm_value_describe(x, a, sizeof a), rgm_value_describe(table, b, sizeof b),
                        (long long)heads);
    if (position->s.is_pattern || position->s.dtype != RGM_I64 || position->s.rank != 1)
        return RGM_FAIL(RGM_ERR_SHAPE, "needs positions i64 [n], got %s",
                        rgm_value_describe(position, c, sizeof c));
    return rgmi_same_shape(out, in[0]);
}

static rgm_status rotary_forward(rgm_op_run *run)
{
    const rgm_view *x = &run->in[0], *position = &run->in[2];
    rgm_rotary_args args = {.y = run->out->data,
                            .x = x->data,
                            .table = run->in[1].data,
                            .position = position->data,
                            .rows = x->shape[0],
                            .positions = position->shape[0],
                            .heads = run->attributes->integer[0],
                            .depth = run->in[1].shape[1],
                            .back = run->attributes->integer[1] != 0};

    if (args.rows == 0)
        return RGM_OK;
    if (args.positions == 0 || args.rows % args.positions != 0)
        return RGM_FAIL(RGM_ERR_SHAPE, "%lld positions do not repeat in %lld rows",
                        (long long)args.positions, (long long)args.rows);
    RGM_TRY(rgmi_need_rows(run, position, 0, run->in[1].shape[0]));
    run->kernels->rotary(&args);
    return RGM_OK;
}

static rgm_status rotary_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgm_attributes back = y->attributes;

    back.integer[1] = !back.integer[1];
    if (wanted[0])
        dx[0] = rgmi_op3(&rgmi_rotary_op, dy, y->in[1], y->in[2], &back);
    if (wanted[1])
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the table of rotary positions is not learned");
    return RGM_OK;
}

const rgm_op_type rgmi_rotary_op = {
    .name = "rotary",
    .arity = 3,
    .infer = rotary_infer,
    .forward = rotary_forward,
    .backward = rotary_backward,
    .in_place = true,
};

rgm_value *rgm_rotary(rgm_value *x, rgm_value *table, rgm_value *positions, int64_t heads)
{
    rgm_attributes attributes = {.integer = {heads}};

    return rgmi_op3(&rgmi_rotary_op, x, table, positions, &attributes);
}
