/*
 * Rules that only take away: what does nothing (dropout outside training, reshapes of reshapes,
 * products with one), broadcasts that the next op does anyway, slices that are put together again;
 * and values that are computed twice.
 */
#include "executor_internal.h"
#include <stdlib.h>

rgm_value *rgmi_rule_drop(rgm_executor *executor, rgm_value *v)
{
    bool dropout = rgmi_is(v, &rgmi_dropout_op) || rgmi_is(v, &rgmi_item_dropout_op) ||
                   rgmi_is(v, &rgmi_numbered_dropout_op);

    if (dropout && (!executor->options.training || v->attributes.number[0] == 0))
        return v->in[0];
    return rgmi_is(v, &rgmi_stop_gradient_op) ? v->in[0] : NULL;
}

static rgm_value *permuted(rgm_value *v)
{
    rgm_value *x = v->in[0];
    int axes[RGM_MAX_RANK];
    bool identity = true;

    for (int i = 0; i < v->s.rank; i++) {
        axes[i] = (int)v->attributes.integer[i];
        identity = identity && axes[i] == i;
    }
    if (identity)
        return x;
    if (!rgmi_is(x, &rgmi_permute_op))
        return NULL;
    for (int i = 0; i < v->s.rank; i++)
        axes[i] = (int)x->attributes.integer[axes[i]];
    return rgm_permute(x->in[0], axes);
}

/* The axis of x that is `axis` of reshape(x), when the reshape only adds and drops axes of size 1.
 */
static int axis_before(const rgm_value *reshaped, int axis)
{
    const rgm_value *x = reshaped->in[0];
    int i = 0, found = -1;

    for (int k = 0; k < reshaped->s.rank; k++) {
        if (reshaped->s.shape[k] == 1)
            continue;
        while (i < x->s.rank && x->s.shape[i] == 1)
            i++;
        if (i == x->s.rank || x->s.shape[i] != reshaped->s.shape[k])
            return -1;
        if (k == axis)
            found = i;
        i++;
    }
    while (i < x->s.rank && x->s.shape[i] == 1)
        i++;
    return i == x->s.rank ? found : -1; /* with a size of 0 the counts alone say nothing */
}

/* reduce(reshape(x)) is reshape(reduce(x)) then: what follows sees the axes as they were meant. */
static rgm_value *reduced(rgm_value *v)
{
    rgm_value *x = v->in[0];
    int axis = (int)v->attributes.integer[0];

    if (x->s.shape[axis] == 1)
        return rgm_reshape(x, v->s.rank, v->s.shape);
    if (!rgmi_is(x, &rgmi_reshape_op))
        return NULL;
    axis = axis_before(x, axis);
    return axis < 0
               ? NULL
               : rgm_reshape(rgm_reduce(x->in[0], axis, (rgm_reduction)v->attributes.integer[1]),
                             v->s.rank, v->s.shape);
}

/* reshape(broadcast(P, x)) is broadcast(P, reshape(x)) when the entries stay an axis. */
static rgm_value *reshaped_entries(rgm_value *v)
{
    rgm_value *e = v->in[0];
    rgm_dim shape[RGM_MAX_RANK];

    if ((!rgmi_is(e, &rgmi_broadcast_rows_op) && !rgmi_is(e, &rgmi_broadcast_columns_op)) ||
        v->s.rank == 0 || v->s.shape[0] != e->s.shape[0])
        return NULL;
    for (int i = 0; i < v->s.rank; i++)
        shape[i] = i == 0 ? e->in[1]->s.shape[0] : v->s.shape[i];
    return rgmi_op2(e->type, e->in[0], rgm_reshape(e->in[1], v->s.rank, shape), NULL);
}

rgm_value *rgmi_rule_movement(rgm_executor *executor, rgm_value *v)
{
    (void)executor;
    if (rgmi_is(v, &rgmi_reshape_op)) {
        if (rgmi_shapes_equal(v, v->in[0]))
            return v->in[0];
        if (rgmi_is(v->in[0], &rgmi_reshape_op))
            return rgm_reshape(v->in[0]->in[0], v->s.rank, v->s.shape);
        return reshaped_entries(v);
    }
    if (rgmi_is(v, &rgmi_permute_op))
        return permuted(v);
    if (rgmi_is(v, &rgmi_broadcast_to_op) || rgmi_is(v, &rgmi_slice_op))
        return rgmi_shapes_equal(v, v->in[0]) ? v->in[0] : NULL;
    if (rgmi_is(v, &rgmi_concat_op) && v->inputs == 1)
        return v->in[0];
    if (rgmi_is(v, &rgmi_cast_op) && v->s.dtype == v->in[0]->s.dtype)
        return v->in[0];
    if (rgmi_is(v, &rgmi_reduce_op))
        return reduced(v);
    if (rgmi_is(v, &rgmi_transpose_pattern_op) && rgmi_is(v->in[0], &rgmi_transpose_pattern_op))
        return v->in[0]->in[0];
    return NULL;
}

static rgm_value *with_inputs(rgm_value *v, rgm_value *const *in)
{
    return rgm_op(v->graph, v->type, in, v->inputs, &v->attributes);
}

/* A number broadcast has no shape of its own; f(broadcast(a), b) is f(a, b) where b has the full
 * shape; f(broadcast(a)) is broadcast(f(a)). */
rgm_value *rgmi_rule_broadcast(rgm_executor *executor, rgm_value *v)
{
    (void)executor;
    if (rgmi_is(v, &rgmi_reshape_op) && rgmi_is(v->in[0], &rgmi_broadcast_to_op) &&
        rgmi_shape_product(v->graph, v->in[0]->in[0]->s.shape, v->in[0]->in[0]->s.rank) == 1)
        return rgmi_broadcast_to(rgm_reshape(v->in[0]->in[0], 0, NULL), v->s.rank, v->s.shape);
    if (rgmi_is(v, &rgmi_broadcast_to_op) && rgmi_is(v->in[0], &rgmi_broadcast_to_op))
        return rgmi_broadcast_to(v->in[0]->in[0], v->s.rank, v->s.shape);
    if (v->type == NULL || !v->type->elementwise || !rgmi_is_float(v->in[0]->s.dtype))
        return NULL;
    if (v->inputs == 1 && rgmi_is(v->in[0], &rgmi_broadcast_to_op))
        return rgmi_broadcast_to(with_inputs(v, v->in[0]->in), v->s.rank, v->s.shape);
    for (int k = 0; v->inputs == 2 && k < 2; k++) {
        rgm_value *in[2] = {v->in[0], v->in[1]};
        if (!rgmi_is(in[k], &rgmi_broadcast_to_op) || !rgmi_shapes_equal(in[1 - k], v))
            continue;
        in[k] = in[k]->in[0];
        return with_inputs(v, in);
    }
    if (v->inputs == 2 && rgmi_is(v->in[0], &rgmi_broadcast_to_op) &&
        rgmi_is(v->in[1], &rgmi_broadcast_to_op) && rgmi_has_shape(v->in[0], v->in[1])) {
        rgm_value *in[2] = {v->in[0]->in[0], v->in[1]->in[0]};
        return rgmi_broadcast_to(with_inputs(v, in), v->s.rank, v->s.shape);
    }
    return NULL;
}

static rgm_value *product(rgm_value *v)
{
    double number;

    for (int k = 0; k < 2; k++) {
        rgm_value *x = v->in[1 - k];
        if (!rgmi_is_number(&number, v->in[k]) || !rgmi_shapes_equal(x, v))
            continue;
        return number == 1 ? x : rgm_scale(x, number);
    }
    return NULL;
}

rgm_value *rgmi_rule_arithmetic(rgm_executor *executor, rgm_value *v)
{
    rgm_value *x = v->inputs > 0 ? v->in[0] : NULL;
    double number, factor = v->attributes.number[0];

    (void)executor;
    if (rgmi_is(v, &rgmi_mul_op))
        return product(v);
    if (rgmi_is(v, &rgmi_scale_op) && factor == 1)
        return x;
    if (rgmi_is(v, &rgmi_scale_op) && rgmi_is(x, &rgmi_scale_op))
        return rgm_scale(x->in[0], x->attributes.number[0] * factor);
    if (rgmi_is(v, &rgmi_neg_op) && rgmi_is(x, &rgmi_neg_op))
        return x->in[0];
    if (rgmi_is(v, &rgmi_shift_op) && factor == 0)
        return x;
    for (int k = 0; rgmi_is(v, &rgmi_add_op) && k < 2; k++)
        if (rgmi_is_number(&number, v->in[k]) && number == 0 && rgmi_shapes_equal(v->in[1 - k], v))
            return v->in[1 - k];
    return NULL;
}

/* The columns of a batch norm's dx sum to 0, so that a bias in front of the norm has no gradient:
 * arithmetic would leave it one of rounding alone, which Adam makes steps of full length of. */
rgm_value *rgmi_rule_norm_sum(rgm_executor *executor, rgm_value *v)
{
    const rgm_value *dx, *grad;
    int64_t channels;

    (void)executor;
    if (!rgmi_is(v, &rgmi_reduce_op) || v->attributes.integer[0] != 0 ||
        v->attributes.integer[1] != RGM_SUM || v->s.rank != 1)
        return NULL;
    dx = v->in[0];
    while (rgmi_is(dx, &rgmi_reshape_op))
        dx = dx->in[0];
    if (!rgmi_is(dx, &rgmi_slice_op) || !rgmi_is(dx->in[0], &rgmi_batch_norm_grad_op))
        return NULL;
    grad = dx->in[0];
    if (!rgmi_is(grad->in[1], &rgmi_batch_moments_op) || grad->in[1]->in[0] != grad->in[0])
        return NULL; /* moments of something else */
    channels = rgm_value_dim(grad->in[0], -1);
    return v->s.shape[0] == channels && dx->attributes.integer[1] == 2 * rgmi_padded(channels)
               ? rgmi_zeros_like(v)
               : NULL;
}

/* Gradients of slices: zeros around a part. Parts that meet become one, and a part that is the
 * whole is itself: what came from a concatenation or a shared kernel is put together by copying. */
rgm_value *rgmi_rule_slices(rgm_executor *executor, rgm_value *v)
{
    (void)executor;
    if (rgmi_is(v, &rgmi_slice_grad_op))
        return rgmi_shapes_equal(v, v->in[0]) ? v->in[0] : NULL;
    if (!rgmi_is(v, &rgmi_add_op) || !rgmi_is(v->in[0], &rgmi_slice_grad_op) ||
        !rgmi_is(v->in[1], &rgmi_slice_grad_op) || !rgmi_has_shape(v->in[0], v->in[1]))
        return NULL;
    for (int k = 0; k < 2; k++) {
        const rgm_value *a = v->in[k], *b = v->in[1 - k];
        const int64_t *p = a->attributes.integer, *q = b->attributes.integer;
        if (p[0] != q[0] || rgmi_dim_sum(v->graph, p[1], p[2]) != q[1])
            continue;
        rgm_value *both = rgm_concat((rgm_value *[]){a->in[0], b->in[0]}, 2, (int)p[0]);
        rgm_attributes attributes = a->attributes;
        attributes.integer[2] = rgmi_dim_sum(v->graph, p[2], q[2]);
        return rgmi_op1(&rgmi_slice_grad_op, both, &attributes);
    }
    return NULL;
}

/*
 * relu_grad(dropout(dy), y), where d = dropout(y) exists with the same mask: d is positive exactly
 * where y is and the element was kept, and elsewhere dropout(dy) is 0 already. So d does instead of
 * y, which then need not be kept, and instead of drawing the mask again: what is left of the
 * dropout is its factor.
 */
rgm_value *rgmi_rule_dropped_relu(rgm_executor *executor, rgm_value *v)
{
    rgm_value *dy, *d;

    if (!rgmi_is(v, &rgmi_relu_grad_op) || !executor->options.training)
        return NULL;
    dy = v->in[0];
    if (!rgmi_is(dy, &rgmi_dropout_op) && !rgmi_is(dy, &rgmi_item_dropout_op))
        return NULL;
    d = rgmi_program_find(executor, dy->type, &v->in[1], 1, &dy->attributes);
    if (d == NULL || d == dy)
        return NULL;
    return rgmi_relu_grad(rgm_scale(dy->in[0], 1 / (1 - dy->attributes.number[0])), d);
}

/* ---- values computed twice ---- */

typedef struct entry {
    uint64_t hash;
    rgm_value *value;
} entry;

static uint64_t value_hash(const rgm_value *v)
{
    uint64_t words[4 + 8 + 4] = {(uint64_t)(uintptr_t)v->type, (uint64_t)v->inputs};
    uint64_t hash;

    if (v->attributes.text != NULL)
        words[2] = rgm_hash64(v->attributes.text, strlen(v->attributes.text));
    memcpy(words + 4, v->attributes.integer, sizeof v->attributes.integer);
    memcpy(words + 12, v->attributes.number, sizeof v->attributes.number);
    hash = rgm_hash64(words, sizeof words);
    for (int k = 0; k < v->inputs; k++)
        hash = (hash ^ (uint64_t)v->in[k]->id) * UINT64_C(0x9E3779B97F4A7C15);
    return hash;
}

static bool same_constant(const rgm_value *a, const rgm_value *b)
{
    return a->constant == b->constant ||
           (rgm_tensor_count(a->constant) <= 16 && rgm_tensor_equal(a->constant, b->constant));
}

static bool same_value(const rgm_value *a, const rgm_value *b)
{
    if (a->type != b->type || a->inputs != b->inputs || a->leaf != b->leaf || a->again != b->again)
        return false; /* what is computed again would be kept else */
    if (a->type == NULL)
        return a->leaf == RGMI_CONSTANT && same_constant(a, b);
    if (a->type->random && a->attributes.text == NULL)
        return false;
    for (int k = 0; k < a->inputs; k++)
        if (a->in[k] != b->in[k])
            return false;
    return rgmi_attributes_equal(&a->attributes, &b->attributes);
}

rgm_status rgmi_pass_common(rgm_executor *executor)
{
    rgm_status status = RGM_OK;
    entry *table = NULL;
    int64_t size = 16;

    RGM_GO(rgmi_program_order(executor));
    while (size < 2 * executor->count)
        size *= 2;
    RGM_GO(RGM_NEW(table, size));
    for (int64_t s = 0; s < executor->count; s++) {
        rgm_value *v = executor->order[s];
        for (int k = 0; k < v->inputs; k++)
            if (v->in[k]->replacement != NULL)
                v->in[k] = v->in[k]->replacement;
        uint64_t hash = v->type != NULL ? value_hash(v) : (uint64_t)v->leaf;
        int64_t at = (int64_t)(hash & (uint64_t)(size - 1));
        while (table[at].value != NULL &&
               !(table[at].hash == hash && same_value(table[at].value, v)))
            at = (at + 1) & (size - 1);
        if (table[at].value != NULL)
            v->replacement = table[at].value;
        else
            table[at] = (entry){hash, v};
    }
    for (int64_t i = 0; i < executor->fetch_count; i++)
        if (executor->fetch[i]->replacement != NULL)
            executor->fetch[i] = executor->fetch[i]->replacement;
    RGM_GO(rgmi_program_order(executor));
done:
    rgm_free(table);
    return status;
}
