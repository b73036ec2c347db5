/*
 * Ops of values that lie with several processes (rgm_cgraph_part() makes them): `exchange`, which
 * begins to bring rows of others' items, and `arrived`, behind which they are there; between them
 * other ops run. The gradient is of the same two: `exchange_grad` gives back. Attributes: tensor =
 * the bytes of an exchange_state.
 */
#include "autodiff_internal.h"

/* ---- exchange ---- */

/* What the op that begins leaves for the one that ends. */
typedef struct exchange_state {
    const rgm_exchange *exchange;
    void *under_way;
} exchange_state;

static rgm_status exchange_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                 const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(rgmi_need_float(in[0], "input"));
    RGM_TRY(rgmi_need_rank(in[0], "input", 1));
    return rgmi_same_shape(out, in[0]);
}

static exchange_state *state_of(const rgm_op_run *run)
{
    return rgm_tensor_data(run->attributes->tensor);
}

static rgm_status end(exchange_state *state)
{
    void *under_way = state->under_way;

    state->under_way = NULL;
    return under_way != NULL ? state->exchange->end(under_way, state->exchange->payload) : RGM_OK;
}

/* Rows of a device are a copy here, which is the device's again when this returns. */
static rgm_status begin(rgm_op_run *run, bool back)
{
    exchange_state *state = state_of(run);
    const rgm_exchange_rows rows = {run->out->data, run->out->dtype, rgmi_view_tail(run->out, 1),
                                    back};

    rgmi_copy(run, &run->in[0]);
    RGM_TRY(end(state)); /* of a run that failed in between */
    RGM_TRY(state->exchange->begin(&state->under_way, &rows, state->exchange->payload));
    return run->device != rgm_device_cpu() ? end(state) : RGM_OK;
}

static rgm_status exchange_forward(rgm_op_run *run)
{
    return begin(run, false);
}

static rgm_status exchange_grad_forward(rgm_op_run *run)
{
    return begin(run, true);
}

static rgm_status arrived_forward(rgm_op_run *run)
{
    run->out->data = run->in[0].data;
    return end(state_of(run));
}

static bool arrived_is_view(const rgm_value *y)
{
    (void)y;
    return true;
}

/* The two ops of an exchange of their own. */
static rgm_value *exchange_by(const rgm_op_type *type, rgm_value *x, const rgm_exchange *exchange)
{
    const exchange_state state = {exchange, NULL};
    const int64_t bytes = sizeof state;
    rgm_attributes attributes = {.integer[0] = 0};
    rgm_value *y;

    if (rgm_tensor_create_from(&attributes.tensor, RGM_BOOL, 1, &bytes, &state) != RGM_OK)
        return rgm_cgraph_fail(x->graph, RGM_ERR_NOMEM, "out of memory: an exchange");
    y = rgmi_op1(&rgmi_arrived_op, rgmi_op1(type, x, &attributes), &attributes);
    rgm_tensor_release(attributes.tensor);
    return y;
}

static rgm_status exchange_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    const exchange_state *state = rgm_tensor_data(y->attributes.tensor);

    (void)wanted;
    dx[0] = exchange_by(&rgmi_exchange_grad_op, dy, state->exchange);
    return RGM_OK;
}

static rgm_status arrived_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    (void)y, (void)wanted;
    dx[0] = dy;
    return RGM_OK;
}

const rgm_op_type rgmi_exchange_op = {
    .name = "exchange",
    .arity = 1,
    .infer = exchange_infer,
    .forward = exchange_forward,
    .backward = exchange_backward,
    .in_place = true,
    .on_host = true,
    .in_turn = true,
};

const rgm_op_type rgmi_exchange_grad_op = {
    .name = "exchange_grad",
    .arity = 1,
    .infer = exchange_infer,
    .forward = exchange_grad_forward,
    .no_gradient = "of a gradient",
    .in_place = true,
    .on_host = true,
    .in_turn = true,
};

const rgm_op_type rgmi_arrived_op = {
    .name = "arrived",
    .arity = 1,
    .infer = exchange_infer,
    .forward = arrived_forward,
    .backward = arrived_backward,
    .is_view = arrived_is_view,
    .late = true,
};

const rgm_exchange *rgmi_exchange_of(const rgm_value *v)
{
    return ((const exchange_state *)rgm_tensor_data(v->attributes.tensor))->exchange;
}

rgm_value *rgmi_exchange_rows(rgm_value *x, const rgm_exchange *exchange)
{
    return x != NULL ? exchange_by(&rgmi_exchange_op, x, exchange) : NULL;
}
