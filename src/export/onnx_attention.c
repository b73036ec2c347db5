/*
 * Attention as ONNX nodes: split the heads, multiply, apply a softmax over the visible keys, and
 * join the heads again. Opset 18 has no node for attention.
 */
#include <float.h>

#include "onnx_internal.h"

/* [batch, n, width] as heads [batch, heads, n, depth], or [batch, heads, depth, n]. */
static const char *heads_apart(rgmi_writer *w, const rgm_value *x, int64_t heads, bool transposed)
{
    const rgm_dim *from = rgm_value_shape(x);
    rgm_dim to[4] = {from[0], from[1], heads, from[2] / heads};
    const char *y = rgmi_reshape(w, rgmi_name_of(w, x), from, 3, to, 4);

    y = rgmi_node(w, "Transpose", y, NULL, NULL);
    rgmi_write_ints(w, "perm", transposed ? (int64_t[]){0, 2, 3, 1} : (int64_t[]){0, 2, 1, 3}, 4);
    return y;
}

/* 0, 1, .. up to a size. */
static const char *numbers(rgmi_writer *w, rgm_dim size)
{
    const char *step = rgmi_scalar(w, RGM_I64, 1), *end = rgmi_size_scalar(w, size);

    return rgmi_node(w, "Range", rgmi_scalar(w, RGM_I64, 0), end, step);
}

/* [queries, keys]: true where key j is hidden from query i, which is where j > i + keys -
 * queries. */
static const char *hidden_by_order(rgmi_writer *w, rgm_dim queries, rgm_dim keys)
{
    const char *size = rgmi_size_scalar(w, queries);
    const char *offset = rgmi_node(w, "Sub", rgmi_size_scalar(w, keys), size, NULL);
    const char *last = rgmi_node(w, "Add", numbers(w, queries), offset, NULL);

    last = rgmi_unsqueeze(w, last, 1);
    return rgmi_node(w, "Greater", numbers(w, keys), last, NULL);
}

/* [batch, 1, 1, keys]: padding. */
static const char *hidden_by_id(rgmi_writer *w, const rgm_value *ids)
{
    const char *zero = rgmi_scalar(w, rgm_value_dtype(ids), 0);
    const char *axes = rgmi_vector(w, (int64_t[]){1, 2}, 2);

    return rgmi_node(w, "Unsqueeze", rgmi_node(w, "Equal", rgmi_name_of(w, ids), zero, NULL), axes,
                     NULL);
}

/*
 * The mask of hidden keys, in booleans that broadcast with scores [batch, heads, queries, keys];
 * NULL: no key is hidden. The single query of a causal attention is the last one and sees every
 * key.
 */
static const char *hidden_keys(rgmi_writer *w, const rgm_value *y)
{
    rgm_dim queries = rgm_value_dim(rgm_value_input(y, 0), 1);
    rgm_dim keys = rgm_value_dim(rgm_value_input(y, 1), 1);
    bool causal = rgm_value_attributes(y)->integer[1] != 0 && queries != 1;
    const char *hidden = NULL;

    if (rgm_value_input_count(y) > 3)
        hidden = hidden_by_id(w, rgm_value_input(y, 3));
    if (causal && hidden == NULL)
        hidden = hidden_by_order(w, queries, keys);
    else if (causal)
        hidden = rgmi_node(w, "Or", hidden, hidden_by_order(w, queries, keys), NULL);
    return hidden;
}

/*
 * The scores of hidden keys are set to the lowest number, not to -inf, since the softmax of a row
 * with only hidden keys would then be NaN. Their probabilities are set to 0 afterwards, which is
 * right for such a row too.
 */
static const char *probabilities(rgmi_writer *w, const rgm_value *y, const char *scores)
{
    rgm_dtype dtype = rgm_value_dtype(y);
    const char *hidden = hidden_keys(w, y), *p = scores;
    double lowest = dtype == RGM_F64 ? -DBL_MAX : -(double)FLT_MAX;

    if (hidden != NULL)
        p = rgmi_node(w, "Where", hidden, rgmi_scalar(w, dtype, lowest), scores);
    p = rgmi_node(w, "Softmax", p, NULL, NULL);
    rgmi_int(w, "axis", -1);
    return hidden != NULL ? rgmi_node(w, "Where", hidden, rgmi_scalar(w, dtype, 0), p) : p;
}

void rgmi_translate_attention(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_attributes *a = rgm_value_attributes(y);
    const rgm_value *q = rgm_value_input(y, 0), *k = rgm_value_input(y, 1),
                    *v = rgm_value_input(y, 2);
    int64_t heads = a->integer[0];
    const rgm_dim *to = rgm_value_shape(y), from[4] = {to[0], to[1], heads, to[2] / heads};
    const char *scale = rgmi_scalar(w, rgm_value_dtype(y), a->number[0]);
    const char *scaled = rgmi_node(w, "Mul", heads_apart(w, q, heads, false), scale, NULL);
    const char *scores = rgmi_node(w, "MatMul", scaled, heads_apart(w, k, heads, true), NULL);
    const char *values = heads_apart(w, v, heads, false);
    const char *mixed = rgmi_node(w, "MatMul", probabilities(w, y, scores), values, NULL);

    mixed = rgmi_node(w, "Transpose", mixed, NULL, NULL);
    rgmi_write_ints(w, "perm", (int64_t[]){0, 2, 1, 3}, 4);
    name->name = rgmi_reshape(w, mixed, from, 4, to, 3);
}
