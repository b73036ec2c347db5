/*
 * GAT v2's attention logits (Brody et al. 2022, eq. 7) and their three gradients, each streamed
 * over the edges: what lies between, [edges, heads, depth], is never stored. Attribute number[0] =
 * slope.
 */
#include "autodiff_internal.h"

#define SECOND "a gradient itself; second derivatives of it are not provided"

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

#define GRAD_INFER(name, which)                                                                    \
    static rgm_status name(rgm_op_shape *out, rgm_value *const *in, int inputs,                    \
                           const rgm_attributes *attributes)                                       \
    {                                                                                              \
        (void)inputs, (void)attributes;                                                            \
        RGM_TRY(gatv2_check(in));                                                                  \
        return rgmi_same_shape(out, in[which]);                                                    \
    }
GRAD_INFER(grad_q_infer, 1)
GRAD_INFER(grad_v_infer, 2)
GRAD_INFER(grad_a_infer, 3)

static rgm_status gatv2_run(rgm_op_run *run, void (*kernel)(const rgm_gatv2_args *args),
                            const rgm_csr *csr)
{
    rgm_gatv2_args args = {.y = run->out->data,
                           .csr = csr,
                           .q = run->in[1].data,
                           .v = run->in[2].data,
                           .a = run->in[3].data,
                           .dy = run->inputs == 5 ? run->in[4].data : NULL,
                           .heads = run->in[3].shape[0],
                           .depth = run->in[3].shape[1],
                           .slope = run->attributes->number[0]};

    if (rgmi_view_count(run->out) > 0)
        kernel(&args);
    return RGM_OK;
}

static rgm_status score_forward(rgm_op_run *run)
{
    return gatv2_run(run, run->kernels->gatv2_score, run->in[0].csr);
}

static rgm_status grad_q_forward(rgm_op_run *run)
{
    return gatv2_run(run, run->kernels->gatv2_grad_q, run->in[0].csr);
}

static rgm_status grad_v_forward(rgm_op_run *run)
{
    return gatv2_run(run, run->kernels->gatv2_grad_v, run->in[0].csr_t);
}

static rgm_status grad_a_forward(rgm_op_run *run)
{
    return gatv2_run(run, run->kernels->gatv2_grad_a, run->in[0].csr);
}

static rgm_status score_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    static const rgm_op_type *const grads[] = {NULL, &rgmi_gatv2_grad_q_op, &rgmi_gatv2_grad_v_op,
                                               &rgmi_gatv2_grad_a_op};

    for (int i = 1; i < 4; i++)
        if (wanted[i])
            dx[i] = rgm_op(y->graph, grads[i],
                           (rgm_value *[]){y->in[0], y->in[1], y->in[2], y->in[3], dy}, 5,
                           &y->attributes);
    return RGM_OK;
}

const rgm_op_type rgmi_gatv2_score_op = {
    .name = "gatv2_score",
    .arity = 4,
    .infer = score_infer,
    .forward = score_forward,
    .backward = score_backward,
};

const rgm_op_type rgmi_gatv2_grad_q_op = {
    .name = "gatv2_grad_q",
    .arity = 5,
    .infer = grad_q_infer,
    .forward = grad_q_forward,
    .no_gradient = SECOND,
};

const rgm_op_type rgmi_gatv2_grad_v_op = {
    .name = "gatv2_grad_v",
    .arity = 5,
    .infer = grad_v_infer,
    .forward = grad_v_forward,
    .no_gradient = SECOND,
};

const rgm_op_type rgmi_gatv2_grad_a_op = {
    .name = "gatv2_grad_a",
    .arity = 5,
    .infer = grad_a_infer,
    .forward = grad_a_forward,
    .no_gradient = SECOND,
};

rgm_value *rgm_gatv2_score(rgm_value *p, rgm_value *q, rgm_value *v, rgm_value *a, double slope)
{
    rgm_attributes attributes = {.number[0] = slope};

    return rgmi_op4(&rgmi_gatv2_score_op, p, q, v, a, &attributes);
}
