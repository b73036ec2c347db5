/*
 * Floating-point operations by the sizes of a run, as papers count them: of products a
 * multiplication and an addition each, of anything else one an element. Ops that only move data or
 * find a pattern are none. What a kernel does beside that (padding, a second pass) is its own
 * affair.
 */
#include "executor_internal.h"

typedef int64_t count_fn(const rgm_value *v, const rgm_view *in, const rgm_view *out);

static int64_t none(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)v, (void)in, (void)out;
    return 0;
}

/* One an element of what is read first or of what is written, whichever is more. */
static int64_t elements(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    int64_t written = out->csr != NULL ? 0 : rgmi_view_count(out);
    int64_t read = v->inputs > 0 && in[0].csr == NULL ? rgmi_view_count(&in[0]) : 0;

    return written > read ? written : read;
}

static int64_t map(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)in;
    return rgmi_map_program(v)->steps * rgmi_view_count(out);
}

/* What is folded into a product: a bias, an activation, the sum it is added to. */
static int64_t folded(const rgm_value *v, const rgm_view *out, int extra)
{
    return (extra + (v->attributes.integer[2] != RGM_ACT_NONE)) * rgmi_view_count(out);
}

static int64_t matmul_at(const rgm_value *v, const rgm_view *a, const rgm_view *out, int extra)
{
    int64_t inner = a->shape[a->rank - (v->attributes.integer[0] != 0 ? 2 : 1)];

    return 2 * inner * rgmi_view_count(out) + folded(v, out, extra);
}

static int64_t matmul(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    return matmul_at(v, &in[0], out, v->inputs == 3);
}

static int64_t matmul_add(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    return matmul_at(v, &in[1], out, 1);
}

static int64_t conv2d(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)v;
    return 2 * rgmi_view_count(out) * in[1].shape[0] * in[1].shape[1] * in[1].shape[2];
}

static int64_t conv2d_grad_input(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)out;
    return conv2d(v, in, &in[0]);
}

static int64_t conv2d_grad_kernel(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)v;
    return 2 * rgmi_view_count(&in[1]) * out->shape[0] * out->shape[1] * out->shape[2];
}

/* Scores and their product with the values, of every pair: a mask saves none. */
static int64_t attention(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)v, (void)out;
    return 4 * rgmi_view_count(&in[0]) * in[1].shape[1];
}

/* Scores again, and the gradients of probabilities, queries, keys and values. */
static int64_t attention_grad(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)v, (void)out;
    return 10 * rgmi_view_count(&in[0]) * in[1].shape[1];
}

static int64_t attention_rows(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)v, (void)out;
    return 4 * rgmi_view_count(&in[0]) * in[3].shape[1];
}

static int64_t spmm_at(const rgm_value *v, const rgm_view *in, const rgm_view *out, int extra)
{
    int64_t entries = in[0].csr->count + (v->attributes.integer[1] != 0 ? in[0].csr->rows : 0);
    bool bias = (v->attributes.integer[0] & RGMI_SPMM_BIAS) != 0;

    return 2 * entries * rgmi_view_tail(&in[1], 1) + folded(v, out, extra + bias);
}

static int64_t spmm(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    return spmm_at(v, in, out, 0);
}

static int64_t spmm_add(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    return spmm_at(v, in + 1, out, v->attributes.integer[0] & RGMI_SPMM_BASE_SCALE ? 3 : 1);
}

static int64_t sddmm(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)v, (void)out;
    return 2 * in[0].csr->count * rgmi_view_tail(&in[1], 1);
}

/* q + v, the slope, the product with a, the sum: of each edge and channel. */
static int64_t gatv2(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)v, (void)out;
    return 4 * in[0].csr->count * rgmi_view_tail(&in[1], 1);
}

/* q + v, the slope, the sum: of each edge and channel; its products with a and q: of each row. */
static int64_t gatv2_grad(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    return gatv2(v, in, out) + 3 * rgmi_view_count(&in[1]);
}

static int64_t product_sum(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)v, (void)out;
    return 2 * rgmi_view_count(&in[0]);
}

static int64_t pool_rows(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    (void)v;
    return in[0].csr->count * rgmi_view_tail(out, 1);
}

static const struct {
    const rgm_op_type *type;
    count_fn *count;
} counts[] = {
    {&rgmi_matmul_op, matmul},
    {&rgmi_matmul_packed_op, matmul},
    {&rgmi_matmul_add_op, matmul_add},
    {&rgmi_conv2d_op, conv2d},
    {&rgmi_conv2d_grad_input_op, conv2d_grad_input},
    {&rgmi_conv2d_grad_kernel_op, conv2d_grad_kernel},
    {&rgmi_attention_op, attention},
    {&rgmi_attention_grad_op, attention_grad},
    {&rgmi_attention_rows_op, attention_rows},
    {&rgmi_spmm_op, spmm},
    {&rgmi_spmm_add_op, spmm_add},
    {&rgmi_spmm_rest_op, none}, /* the product of the first rows counts all */
    {&rgmi_sddmm_op, sddmm},
    {&rgmi_gatv2_score_op, gatv2},
    {&rgmi_gatv2_grad_op, gatv2_grad},
    {&rgmi_product_sum_op, product_sum},
    {&rgmi_pool_rows_op, pool_rows},
    {&rgmi_pool_rows_grad_op, pool_rows},
    {&rgmi_map_op_type, map},
    {&rgmi_reshape_op, none},
    {&rgmi_permute_op, none},
    {&rgmi_concat_op, none},
    {&rgmi_slice_op, none},
    {&rgmi_slice_grad_op, none},
    {&rgmi_broadcast_to_op, none},
    {&rgmi_broadcast_rows_op, none},
    {&rgmi_broadcast_columns_op, none},
    {&rgmi_inverse_dim_op, none},
    {&rgmi_by_rows_op, none},
    {&rgmi_copy_op, none},
    {&rgmi_cast_op, none},
    {&rgmi_gather_op, none},
    {&rgmi_stop_gradient_op, none},
    {&rgmi_when_training_op, none},
    {&rgmi_matmul_pack_op, none},
    {&rgmi_transpose_pattern_op, none},
    {&rgmi_add_self_loops_op, none},
    {&rgmi_pattern_from_index_op, none},
    {&rgmi_degree_op, none},
};

int64_t rgmi_flops(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].type == v->type)
            return counts[i].count(v, in, out);
    return elements(v, in, out);
}

static int64_t size_of(const rgm_view *view)
{
    const rgm_csr *csr = view->csr;

    if (csr != NULL)
        return (csr->rows + 1) * (int64_t)sizeof *csr->row_start +
               csr->count * (int64_t)sizeof *csr->column;
    return rgmi_view_count(view) * (int64_t)rgm_dtype_size(view->dtype);
}

int64_t rgmi_bytes(const rgm_value *v, const rgm_view *in, const rgm_view *out)
{
    int64_t sum = size_of(out);

    if (v->type->is_view != NULL && v->type->is_view(v))
        return 0;
    if (v->type == &rgmi_gather_op || v->type == &rgmi_slice_op)
        return 2 * sum;
    for (int k = 0; k < v->inputs; k++)
        sum += size_of(&in[k]);
    return sum;
}

/* The op at a slot with its inputs as they stand in the plan. */
static rgm_op_event event_at(rgm_executor *executor, int64_t s)
{
    const rgm_value *v = executor->order[s];
    const rgm_view *views = executor->current->views;

    for (int k = 0; k < v->inputs; k++)
        executor->in[k] = views[v->in[k]->slot];
    return (rgm_op_event){.op = v->type->name,
                          .scope = v->scope,
                          .backward = v->order >= rgm_cgraph_forward_count(executor->source),
                          .flops = rgmi_flops(v, executor->in, &views[s]),
                          .bytes = rgmi_bytes(v, executor->in, &views[s])};
}

void rgm_executor_visit(rgm_executor *executor, rgm_op_observer *observer, void *payload)
{
    const rgmi_plan *plan = executor->current;

    for (int64_t i = 0; plan != NULL && i < plan->step_count; i++) {
        rgm_op_event event;

        if (i < plan->prologue && !executor->due[plan->steps[i]])
            continue; /* kept from an earlier run */
        event = event_at(executor, plan->steps[i]);
        observer(&event, payload);
    }
}

static void add(const rgm_op_event *event, void *payload)
{
    *(int64_t *)payload += event->flops;
}

int64_t rgm_executor_flops(rgm_executor *executor)
{
    int64_t sum = 0;

    rgm_executor_visit(executor, add, &sum);
    return sum;
}

void rgm_executor_observe(rgm_executor *executor, rgm_op_observer *observer, void *payload)
{
    executor->observer = observer;
    executor->observer_payload = payload;
}
