/*
 * Ops whose value is a sparse pattern, and the degree. A pattern is immutable and knows both
 * directions; its transpose is a view. Patterns made here are owned by the executor. They are made
 * on the host whatever the device is, and their indices checked, by rgm_pattern_create().
 */
#include "autodiff_internal.h"

static bool always_view(const rgm_value *y)
{
    (void)y;
    return true;
}

static void pattern_shape(rgm_op_shape *out, rgm_dim rows, rgm_dim columns, rgm_dim count)
{
    *out = (rgm_op_shape){
        .is_pattern = true, .dtype = RGM_I32, .rank = 3, .shape = {rows, columns, count}};
}

/* ---- transpose ---- */

static rgm_status transpose_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                  const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(rgmi_need_pattern(in[0]));
    pattern_shape(out, in[0]->s.shape[1], in[0]->s.shape[0], in[0]->s.shape[2]);
    return RGM_OK;
}

static rgm_status transpose_forward(rgm_op_run *run)
{
    run->out->pattern = run->in[0].pattern;
    run->out->csr = run->in[0].csr_t;
    run->out->csr_t = run->in[0].csr;
    run->out->row_of = run->in[0].column_of;
    run->out->column_of = run->in[0].row_of;
    return RGM_OK;
}

const rgm_op_type rgmi_transpose_pattern_op = {
    .name = "transpose_pattern",
    .arity = 1,
    .infer = transpose_infer,
    .forward = transpose_forward,
    .no_gradient = "gives a pattern",
    .is_view = always_view,
};

rgm_value *rgm_transpose_pattern(rgm_value *p)
{
    if (p == NULL || p->type == &rgmi_transpose_pattern_op)
        return p == NULL ? NULL : p->in[0];
    if (p->transposed == NULL || p->transposed->replacement != NULL)
        p->transposed = rgmi_op1(&rgmi_transpose_pattern_op, p, NULL);
    return p->transposed;
}

/* ---- self loops ---- */

static rgm_status self_loops_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                   const rgm_attributes *attributes)
{
    char text[RGMI_TEXT];

    (void)inputs, (void)attributes;
    RGM_TRY(rgmi_need_pattern(in[0]));
    if (in[0]->s.shape[0] != in[0]->s.shape[1])
        return RGM_FAIL(RGM_ERR_SHAPE, "rows and columns must be the same set: %s",
                        rgm_value_describe(in[0], text, sizeof text));
    pattern_shape(out, in[0]->s.shape[0], in[0]->s.shape[1],
                  rgmi_dim_sum(in[0]->graph, in[0]->s.shape[2], in[0]->s.shape[0]));
    return RGM_OK;
}

/* Make run->out a new pattern from entries. */
static rgm_status pattern_set(rgm_op_run *run, int64_t count, const int64_t *row,
                              const int64_t *column)
{
    rgm_view *out = run->out;

    return rgm_pattern_create(&out->pattern, out->shape[0], out->shape[1], count, row, column);
}

static rgm_status self_loops_forward(rgm_op_run *run)
{
    rgm_status status = RGM_OK;
    const rgm_view *p = &run->in[0];
    const int32_t *rows = p->row_of, *columns = p->column_of;
    int64_t old = p->shape[2], count = run->out->shape[2], *row = NULL, *column;

    RGM_GO(RGM_NEW(row, 2 * count));
    column = row + count;
    for (int64_t i = 0; i < count; i++) {
        row[i] = i < old ? rows[i] : i - old;
        column[i] = i < old ? columns[i] : i - old;
    }
    RGM_GO(pattern_set(run, count, row, column));
done:
    rgm_free(row);
    return status;
}

const rgm_op_type rgmi_add_self_loops_op = {
    .name = "add_self_loops",
    .arity = 1,
    .infer = self_loops_infer,
    .forward = self_loops_forward,
    .on_host = true,
    .no_gradient = "gives a pattern",
};

rgm_value *rgm_add_self_loops(rgm_value *p)
{
    return rgmi_op1(&rgmi_add_self_loops_op, p, NULL);
}

/* ---- the pattern [rows, count] with one entry (index[i], i) for each i; rows in integer[0] ----
 */

static rgm_status from_index_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                   const rgm_attributes *attributes)
{
    (void)inputs;
    if (in[0]->s.is_pattern || !rgmi_is_index(in[0]->s.dtype) || in[0]->s.rank != 1)
        return RGM_FAIL(RGM_ERR_DTYPE, "needs an i32 or i64 index [count]");
    pattern_shape(out, attributes->integer[0], in[0]->s.shape[0], in[0]->s.shape[0]);
    return RGM_OK;
}

static rgm_status from_index_forward(rgm_op_run *run)
{
    rgm_status status = RGM_OK;
    const rgm_view *index = &run->in[0];
    int64_t count = index->shape[0], *row = NULL, *column;

    RGM_GO(RGM_NEW(row, 2 * count));
    column = row + count;
    for (int64_t i = 0; i < count; i++) {
        row[i] = index->dtype == RGM_I64 ? ((const int64_t *)index->data)[i]
                                         : ((const int32_t *)index->data)[i];
        column[i] = i;
    }
    RGM_GO(pattern_set(run, count, row, column));
done:
    rgm_free(row);
    return status;
}

const rgm_op_type rgmi_pattern_from_index_op = {
    .name = "pattern_from_index",
    .arity = 1,
    .infer = from_index_infer,
    .forward = from_index_forward,
    .on_host = true,
    .no_gradient = "gives a pattern",
};

rgm_value *rgmi_pattern_from_index(rgm_value *index, rgm_dim rows)
{
    rgm_attributes attributes = {.integer[0] = rows};

    return rgmi_op1(&rgmi_pattern_from_index_op, index, &attributes);
}

/* ---- degree: dtype in integer[0] ---- */

static rgm_status degree_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                               const rgm_attributes *attributes)
{
    (void)inputs;
    RGM_TRY(rgmi_need_pattern(in[0]));
    if (attributes->integer[0] < 0 || attributes->integer[0] >= RGM_BOOL)
        return RGM_FAIL(RGM_ERR_DTYPE, "dtype must be f32, f64, i32 or i64");
    out->dtype = (rgm_dtype)attributes->integer[0];
    out->rank = 1;
    out->shape[0] = in[0]->s.shape[0];
    return RGM_OK;
}

static rgm_status degree_forward(rgm_op_run *run)
{
    rgm_degree_args args = {.y = run->out->data, .csr = run->in[0].csr, .dtype = run->out->dtype};

    run->kernels->degree(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_degree_op = {
    .name = "degree",
    .pattern_reads = RGM_READS_CSR,
    .arity = 1,
    .infer = degree_infer,
    .forward = degree_forward,
    .no_gradient = "depends on a pattern alone",
};

rgm_value *rgm_degree(rgm_value *p, rgm_dtype dtype)
{
    rgm_attributes attributes = {.integer[0] = dtype};

    return rgmi_op1(&rgmi_degree_op, p, &attributes);
}

/* [rows] 1 / number of entries, 1 for none: what is divided by it is then 0 anyway. */
rgm_value *rgmi_inverse_degree(rgm_value *p, rgm_dtype dtype, bool self_loop)
{
    rgm_value *degree = rgm_degree(p, dtype);

    if (self_loop)
        degree = rgm_shift(degree, 1);
    return rgm_reciprocal(rgm_floor_at(degree, 1));
}
