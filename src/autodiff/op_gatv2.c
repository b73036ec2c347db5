/*
 * GAT v2's attention logits (Brody et al. 2022, eq. 7) and their gradient, streamed over the edges:
 * what lies between, [edges, heads, depth], is never stored. The gradient is taken side by side,
 * each one flat value [dq | q's share of da] with two views. Attribute number[0] = slope.
 */
#include "autodiff_internal.h"

/* in: pattern, q [rows,h,d], v [columns,h,d], a [h,d] */
static rgm_status gatv2_check(rgm_value *const *in)
{
    char text[4][RGMI_TEXT];
    const rgm_op_shape *q = &in[1]->s, *v = &in[2]->s, *a = &in[3]->s;

    RGM_TRY(rgmi_need_pattern(in[0]));
    for (int i = 1; i < 4; i++)
        RGM_TRY(rgmi_need_float(in[i], "q, v and a"));
    bool fits = q->rank == 3 && v->rank == 3 && a->rank == 2 && q->shape[0] == in[0]->s.shape[0] &&
                v->shape[0] == in[0]->s.shape[1] && q->dtype == v->dtype && q->dtype == a->dtype;
    for (int i = 0; fits && i < 2; i++)
        fits = q->shape[i + 1] == a->shape[i] && v->shape[i + 1] == a->shape[i];
    if (!fits)
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "%s needs q [rows,heads,depth], v [columns,heads,depth], a [heads,depth]; "
                        "got %s, %s, %s",
                        rgm_value_describe(in[0], text[0], RGMI_TEXT),
                        rgm_value_describe(in[1], text[1], RGMI_TEXT),
                        rgm_value_describe(in[2], text[2], RGMI_TEXT),
                        rgm_value_describe(in[3], text[3], RGMI_TEXT));
    return RGM_OK;
}

static rgm_status score_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                              const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(gatv2_check(in));
    out->dtype = in[1]->s.dtype;
    out->rank = 2;
    out->shape[0] = in[0]->s.shape[2];
    out->shape[1] = in[1]->s.shape[1];
    return RGM_OK;
}

static rgm_gatv2_args gatv2_args(const rgm_op_run *run)
{
    return (rgm_gatv2_args){.y = run->out->data,
                            .csr = run->in[0].csr,
                            .q = run->in[1].data,
                            .v = run->in[2].data,
                            .a = run->in[3].data,
                            .heads = run->in[3].shape[0],
                            .depth = run->in[3].shape[1],
                            .slope = run->attributes->number[0]};
}

static rgm_status score_forward(rgm_op_run *run)
{
    rgm_gatv2_args args = gatv2_args(run);

    if (rgmi_view_count(run->out) > 0)
        run->kernels->gatv2_score(&args);
    return RGM_OK;
}

/* The rows of p hear its columns: those of its transpose are v's, which hear q. */
static rgm_status score_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    rgm_cgraph *graph = y->graph;
    rgm_value *p = y->in[0], *q = y->in[1], *v = y->in[2], *a = y->in[3];
    rgm_value *in[2][5] = {{p, q, v, a, dy}, {NULL, v, q, a, dy}}, *share[2];
    rgm_dim width = rgmi_shape_product(graph, a->s.shape, 2);

    in[1][0] = rgm_transpose_pattern(p);
    for (int i = 0; i < 2; i++) {
        rgm_value *own = in[i][1],
                  *all = rgm_op(graph, &rgmi_gatv2_grad_op, in[i], 5, &y->attributes);
        rgm_dim size = rgmi_shape_product(graph, own->s.shape, 3);
        if (wanted[i + 1])
            dx[i + 1] = rgm_reshape(rgmi_slice_dim(all, 0, 0, size), 3, own->s.shape);
        share[i] = rgmi_slice_dim(all, 0, size, width);
    }
    if (wanted[3])
        dx[3] = rgm_reshape(rgm_add(share[0], share[1]), 2, a->s.shape);
    return RGM_OK;
}

const rgm_op_type rgmi_gatv2_score_op = {
    .name = "gatv2_score",
    .pattern_reads = RGM_READS_CSR,
    .arity = 4,
    .infer = score_infer,
    .forward = score_forward,
    .backward = score_backward,
};

/* inputs: pattern, q, v, a, dy */
static rgm_status grad_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                             const rgm_attributes *attributes)
{
    rgm_cgraph *graph = in[0]->graph;
    rgm_dim width;

    (void)inputs, (void)attributes;
    RGM_TRY(gatv2_check(in));
    out->dtype = in[1]->s.dtype;
    out->rank = 1;
    width = rgmi_shape_product(graph, in[3]->s.shape, 2);
    out->shape[0] = rgmi_dim_sum(graph, rgmi_shape_product(graph, in[1]->s.shape, 3), width);
    return RGM_OK;
}

static rgm_status grad_forward(rgm_op_run *run)
{
    rgm_gatv2_args args = gatv2_args(run);

    args.dy = run->in[4].data;
    args.da = (char *)run->out->data +
              (size_t)rgmi_view_count(&run->in[1]) * rgm_dtype_size(run->out->dtype);
    if (rgmi_view_count(run->out) > 0)
        run->kernels->gatv2_grad(&args);
    return RGM_OK;
}

const rgm_op_type rgmi_gatv2_grad_op = {
    .name = "gatv2_grad",
    .pattern_reads = RGM_READS_CSR,
    .arity = 5,
    .infer = grad_infer,
    .forward = grad_forward,
    .no_gradient = rgmi_second,
};

rgm_value *rgm_gatv2_score(rgm_value *p, rgm_value *q, rgm_value *v, rgm_value *a, double slope)
{
    rgm_attributes attributes = {.number[0] = slope};

    return rgmi_op4(&rgmi_gatv2_score_op, p, q, v, a, &attributes);
}
