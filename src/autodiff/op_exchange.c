/*
 * Ops of values that lie with several processes (rgm_cgraph_part() makes them): `exchange`, which
 * brings rows of others' items, its gradient, and a dropout whose rows are drawn by the number that
 * each has where one process has all. Attributes: tensor = the bytes of a pointer to an
 * rgm_exchange, or the numbers; number[0] = rate, integer[0] = one draw for all of a row, text =
 * stream.
 */
#include "autodiff_internal.h"

/* ---- exchange ---- */

static rgm_status exchange_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                 const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(rgmi_need_float(in[0], "input"));
    RGM_TRY(rgmi_need_rank(in[0], "input", 1));
    return rgmi_same_shape(out, in[0]);
}

static const rgm_exchange *exchange_of(const rgm_op_run *run)
{
    const rgm_exchange *exchange;

    memcpy(&exchange, rgm_tensor_data(run->attributes->tensor), sizeof exchange);
    return exchange;
}

static rgm_status exchange_forward(rgm_op_run *run)
{
    const rgm_exchange *exchange = exchange_of(run);

    rgmi_copy(run, &run->in[0]);
    return exchange->fetch(run->out->data, run->out->dtype, rgmi_view_tail(run->out, 1),
                           exchange->payload);
}

static rgm_status exchange_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    (void)wanted;
    dx[0] = rgmi_op1(&rgmi_exchange_grad_op, dy, &y->attributes);
    return RGM_OK;
}

static rgm_status exchange_grad_forward(rgm_op_run *run)
{
    const rgm_exchange *exchange = exchange_of(run);

    rgmi_copy(run, &run->in[0]);
    return exchange->give_back(run->out->data, run->out->dtype, rgmi_view_tail(run->out, 1),
                               exchange->payload);
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

rgm_value *rgmi_exchange_rows(rgm_value *x, const rgm_exchange *exchange)
{
    const int64_t bytes = sizeof exchange;
    rgm_attributes attributes = {.integer[0] = 0};
    rgm_value *y = NULL;

    if (x == NULL)
        return NULL;
    if (rgm_tensor_create_from(&attributes.tensor, RGM_BOOL, 1, &bytes, &exchange) != RGM_OK)
        return rgm_cgraph_fail(x->graph, RGM_ERR_NOMEM, "out of memory: an exchange");
    y = rgmi_op1(&rgmi_exchange_op, x, &attributes);
    rgm_tensor_release(attributes.tensor);
    return y;
}

/* ---- numbered dropout: element i of row r as element i of row number[r] in rgmi_dropout_op ----
 */

static rgm_status numbered_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                 const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(rgmi_need_float(in[0], "input"));
    RGM_TRY(rgmi_need_rank(in[0], "input", 1));
    return rgmi_same_shape(out, in[0]);
}

typedef struct numbered {
    const rgm_op_run *run;
    const int64_t *number;
    rgm_rng rng;
    int64_t width;
    uint32_t least;
} numbered;

/* Whether the element is kept: word `draw` of the stream, as kernels draw. */
static bool keeps(const numbered *n, uint64_t draw, uint64_t *block, uint32_t words[4])
{
    if (*block != draw / 8) {
        *block = draw / 8;
        rgm_rng_block(&n->rng, *block, words);
    }
    return (words[draw % 8 / 2] >> (draw % 2 * 16) & 0xffff) >= n->least;
}

static void numbered_rows(void *payload, int64_t begin, int64_t end)
{
    const numbered *n = payload;
    const rgm_attributes *a = n->run->attributes;
    const rgm_view *x = &n->run->in[0];
    uint64_t block = UINT64_MAX;
    uint32_t words[4];

    for (int64_t r = begin; r < end; r++)
        for (int64_t i = r * n->width; i < (r + 1) * n->width; i++) {
            uint64_t draw = a->integer[0] ? (uint64_t)n->number[r]
                                          : (uint64_t)(n->number[r] * n->width + i - r * n->width);
            bool keep = keeps(n, draw, &block, words);

            if (n->run->out->dtype == RGM_F32)
                ((float *)n->run->out->data)[i] =
                    keep ? ((const float *)x->data)[i] * (float)(1 / (1 - a->number[0])) : 0;
            else
                ((double *)n->run->out->data)[i] =
                    keep ? ((const double *)x->data)[i] * (1 / (1 - a->number[0])) : 0;
        }
}

static rgm_status numbered_forward(rgm_op_run *run)
{
    const rgm_attributes *a = run->attributes;
    int64_t rows = run->out->shape[0];
    numbered n = {.run = run,
                  .number = rgm_tensor_i64(a->tensor),
                  .width = rgmi_view_tail(run->out, 1),
                  .least = (uint32_t)(a->number[0] * 65536 + 0.5)};

    if (rgm_tensor_count(a->tensor) != rows)
        return RGM_FAIL(RGM_ERR_SHAPE, "%lld rows, of which %lld have a number", (long long)rows,
                        (long long)rgm_tensor_count(a->tensor));
    if (!run->training || a->number[0] == 0) {
        rgmi_copy(run, &run->in[0]);
        return RGM_OK;
    }
    n.rng = rgm_rng_stream(run->seed, a->text, run->step);
    rgm_parallel(rows, 4 * (double)n.width, numbered_rows, &n);
    return RGM_OK;
}

static rgm_status numbered_backward(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted)
{
    (void)wanted;
    dx[0] = rgmi_op1(y->type, dy, &y->attributes);
    return RGM_OK;
}

const rgm_op_type rgmi_numbered_dropout_op = {
    .name = "numbered_dropout",
    .arity = 1,
    .infer = numbered_infer,
    .forward = numbered_forward,
    .backward = numbered_backward,
    .in_place = true,
    .random = true,
    .on_host = true,
};

rgm_value *rgmi_numbered_dropout(rgm_value *x, const rgm_attributes *like, bool by_row,
                                 rgm_tensor *numbers)
{
    rgm_attributes attributes = {
        .number[0] = like->number[0], .integer[0] = by_row, .text = like->text, .tensor = numbers};

    return rgmi_op1(&rgmi_numbered_dropout_op, x, &attributes);
}
