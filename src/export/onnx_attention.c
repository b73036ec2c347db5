/*
 * Attention as ONNX nodes: split the heads, multiply, apply a softmax over the visible keys, and
 * join the heads again. Opset 18 has no node for attention. And rotary positions.
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

/* The same of keys or values, of which groups of heads share one: each as often as it is looked at.
 */
static const char *key_heads_apart(rgmi_writer *w, const rgm_value *x, const rgm_value *y,
                                   bool transposed)
{
    int64_t heads = rgm_value_attributes(y)->integer[0];
    int64_t kv_heads = rgm_value_attributes(y)->integer[3];
    const char *apart = heads_apart(w, x, kv_heads, transposed);
    int64_t *shared;

    if (heads == kv_heads)
        return apart;
    shared = rgmi_memory(w, (size_t)heads * sizeof *shared);
    if (shared == NULL)
        return NULL;
    for (int64_t h = 0; h < heads; h++)
        shared[h] = h / (heads / kv_heads);
    apart = rgmi_node(w, "Gather", apart, rgmi_vector(w, shared, heads), NULL);
    rgmi_int(w, "axis", 1);
    return apart;
}

/* ---- where keys stand ---- */

/* 0, 1, .. up to a size. */
static const char *numbers(rgmi_writer *w, rgm_dim size)
{
    const char *step = rgmi_scalar(w, RGM_I64, 1), *end = rgmi_size_scalar(w, size);

    return rgmi_node(w, "Range", rgmi_scalar(w, RGM_I64, 0), end, step);
}

/* [queries, 1]: where query i stands among the keys, at i + keys - queries. */
static const char *stands(rgmi_writer *w, const rgm_value *y)
{
    rgm_dim queries = rgm_value_dim(rgm_value_input(y, 0), 1);
    rgm_dim keys = rgm_value_dim(rgm_value_input(y, 1), 1);
    const char *size = rgmi_size_scalar(w, queries);
    const char *offset = rgmi_node(w, "Sub", rgmi_size_scalar(w, keys), size, NULL);

    return rgmi_unsqueeze(w, rgmi_node(w, "Add", numbers(w, queries), offset, NULL), 1);
}

/* [queries, keys] in the dtype of y: how far key j stands behind query i. */
static const char *distances(rgmi_writer *w, const rgm_value *y)
{
    rgm_dim keys = rgm_value_dim(rgm_value_input(y, 1), 1);
    const char *places = numbers(w, keys);

    return rgmi_cast(w, rgmi_node(w, "Sub", places, stands(w, y), NULL), rgm_value_dtype(y));
}

/* ---- masks ---- */

/* [queries, keys]: true where key j is hidden from query i for standing behind it. */
static const char *hidden_by_order(rgmi_writer *w, const rgm_value *y)
{
    const char *last = stands(w, y);

    return rgmi_node(w, "Greater", numbers(w, rgm_value_dim(rgm_value_input(y, 1), 1)), last, NULL);
}

/* [queries, keys]: true where they are `window` or more apart. */
static const char *hidden_by_window(rgmi_writer *w, const rgm_value *y, int64_t window)
{
    const char *away = rgmi_node(w, "Abs", distances(w, y), NULL, NULL);

    return rgmi_node(w, "Greater", away, rgmi_scalar(w, rgm_value_dtype(y), (double)window - 0.5),
                     NULL);
}

/* [batch, 1, 1, keys]: padding. */
static const char *hidden_by_id(rgmi_writer *w, const rgm_value *ids)
{
    const char *zero = rgmi_scalar(w, rgm_value_dtype(ids), 0);
    const char *axes = rgmi_vector(w, (int64_t[]){1, 2}, 2);

    return rgmi_node(w, "Unsqueeze", rgmi_node(w, "Equal", rgmi_name_of(w, ids), zero, NULL), axes,
                     NULL);
}

/* [batch, 1, queries, keys]: true where both have the same number; NULL: nobody asks. */
static const char *same_segment(rgmi_writer *w, const rgm_value *y)
{
    const rgm_value *query = rgm_attention_extra_of(y, RGM_ATTENTION_QUERY);
    const char *of_query, *of_key;

    if (query == NULL)
        return NULL;
    of_query = rgmi_node(w, "Unsqueeze", rgmi_name_of(w, query),
                         rgmi_vector(w, (int64_t[]){1, 3}, 2), NULL);
    of_key =
        rgmi_node(w, "Unsqueeze", rgmi_name_of(w, rgm_attention_extra_of(y, RGM_ATTENTION_KEY)),
                  rgmi_vector(w, (int64_t[]){1, 2}, 2), NULL);
    return rgmi_node(w, "Equal", of_query, of_key, NULL);
}

static const char *either(rgmi_writer *w, const char *a, const char *b)
{
    return a == NULL ? b : rgmi_node(w, "Or", a, b, NULL);
}

/*
 * The mask of hidden keys, in booleans that broadcast with scores [batch, heads, queries, keys];
 * NULL: no key is hidden. The single query of a causal attention is the last one and sees every
 * key.
 */
static const char *hidden_keys(rgmi_writer *w, const rgm_value *y)
{
    rgm_dim queries = rgm_value_dim(rgm_value_input(y, 0), 1);
    const rgm_value *key = rgm_attention_extra_of(y, RGM_ATTENTION_KEY);
    const rgm_attributes *a = rgm_value_attributes(y);
    const char *hidden = NULL;

    if (key != NULL)
        hidden = hidden_by_id(w, key);
    if (a->integer[1] != 0 && queries != 1)
        hidden = either(w, hidden, hidden_by_order(w, y));
    if (a->integer[4] > 0)
        hidden = either(w, hidden, hidden_by_window(w, y, a->integer[4]));
    return hidden;
}

/* ---- scores ---- */

/* Scores with what distances add to them, [heads, queries, keys]. */
static const char *with_distances(rgmi_writer *w, const rgm_value *y, const char *scores)
{
    const rgm_value *slope = rgm_attention_extra_of(y, RGM_ATTENTION_SLOPE);
    const rgm_value *bias = rgm_attention_extra_of(y, RGM_ATTENTION_BIAS);
    rgm_dtype dtype = rgm_value_dtype(y);
    const char *away;

    if (slope != NULL) {
        const char *steep = rgmi_node(w, "Unsqueeze", rgmi_name_of(w, slope),
                                      rgmi_vector(w, (int64_t[]){1, 2}, 2), NULL);
        away = rgmi_node(w, "Abs", distances(w, y), NULL, NULL);
        scores = rgmi_node(w, "Sub", scores, rgmi_node(w, "Mul", steep, away, NULL), NULL);
    }
    if (bias != NULL) {
        double reach = (double)(rgm_value_dim(bias, 1) / 2);
        away = distances(w, y);
        away = rgmi_node(w, "Max", away, rgmi_scalar(w, dtype, -reach), NULL);
        away = rgmi_node(w, "Min", away, rgmi_scalar(w, dtype, reach), NULL);
        away = rgmi_node(w, "Add", away, rgmi_scalar(w, dtype, reach), NULL);
        away = rgmi_cast(w, away, RGM_I64);
        away = rgmi_node(w, "Gather", rgmi_name_of(w, bias), away, NULL);
        rgmi_int(w, "axis", 1);
        scores = rgmi_node(w, "Add", scores, away, NULL);
    }
    return scores;
}

/*
 * The scores of hidden keys are set to the lowest number, not to -inf, since the softmax of a row
 * with only hidden keys would then be NaN. Their probabilities are set to 0 afterwards, which is
 * right for such a row too.
 */
static const char *probabilities(rgmi_writer *w, const rgm_value *y, const char *scores)
{
    rgm_dtype dtype = rgm_value_dtype(y);
    const char *hidden = hidden_keys(w, y), *same = same_segment(w, y), *p = scores;
    double lowest = dtype == RGM_F64 ? -DBL_MAX : -(double)FLT_MAX;

    if (hidden != NULL)
        p = rgmi_node(w, "Where", hidden, rgmi_scalar(w, dtype, lowest), p);
    if (same != NULL)
        p = rgmi_node(w, "Where", same, p, rgmi_scalar(w, dtype, lowest));
    p = rgmi_node(w, "Softmax", p, NULL, NULL);
    rgmi_int(w, "axis", -1);
    if (hidden != NULL)
        p = rgmi_node(w, "Where", hidden, rgmi_scalar(w, dtype, 0), p);
    return same != NULL ? rgmi_node(w, "Where", same, p, rgmi_scalar(w, dtype, 0)) : p;
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
    const char *scores = rgmi_node(w, "MatMul", scaled, key_heads_apart(w, k, y, true), NULL);
    const char *values = key_heads_apart(w, v, y, false), *mixed;

    scores = with_distances(w, y, scores);
    mixed = rgmi_node(w, "MatMul", probabilities(w, y, scores), values, NULL);
    mixed = rgmi_node(w, "Transpose", mixed, NULL, NULL);
    rgmi_write_ints(w, "perm", (int64_t[]){0, 2, 1, 3}, 4);
    name->name = rgmi_reshape(w, mixed, from, 4, to, 3);
}

/* ---- rotary positions ---- */

/* Half number `which` of a's last axis but one, [.., 2, depth / 2]. */
static const char *half_of(rgmi_writer *w, const char *a, int64_t which, int64_t axis)
{
    const char *y = rgmi_node(w, "Gather", a, rgmi_scalar(w, RGM_I64, (double)which), NULL);

    rgmi_int(w, "axis", axis);
    return y;
}

/*
 * Rows [n, heads depth] as [n / m, m, heads, 2, depth / 2] for m positions, which the angles of
 * [m, 1, depth / 2] fit.
 */
void rgmi_translate_rotary(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_attributes *a = rgm_value_attributes(y);
    const rgm_value *table = rgm_value_input(y, 1), *position = rgm_value_input(y, 2);
    int64_t heads = a->integer[0], half = rgm_value_dim(table, 1) / 2, one = 1, rest = -1;
    rgm_dim places = rgm_value_dim(position, 0), rows = rgm_value_dim(y, 0);
    const char *x, *angles, *cosine, *sine, *parts[2], *sizes[3];

    sizes[0] = rgmi_vector(w, rows == places ? &one : &rest, 1);
    sizes[1] = rgmi_size(w, places);
    sizes[2] = rgmi_vector(w, (int64_t[]){heads, 2, half}, 3);
    x = rgmi_node(w, "Reshape", rgmi_name_of(w, rgm_value_input(y, 0)), rgmi_concat(w, sizes, 3, 0),
                  NULL);
    rgmi_int(w, "allowzero", rows == places);
    angles = rgmi_node(w, "Gather", rgmi_name_of(w, table), rgmi_name_of(w, position), NULL);
    rgmi_int(w, "axis", 0);
    angles = rgmi_reshape(w, angles, (rgm_dim[]){places, 2 * half}, 2,
                          (rgm_dim[]){places, 1, 2, half}, 4);
    cosine = half_of(w, angles, 0, 2);
    sine = half_of(w, angles, 1, 2);
    if (a->integer[1] != 0)
        sine = rgmi_node(w, "Neg", sine, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        const char *mine = rgmi_node(w, "Mul", half_of(w, x, i, 3), cosine, NULL);
        const char *other = rgmi_node(w, "Mul", half_of(w, x, 1 - i, 3), sine, NULL);
        parts[i] = rgmi_node(w, i == 0 ? "Sub" : "Add", mine, other, NULL);
    }
    x = rgmi_concat(w, parts, 2, 3);
    sizes[0] = rgmi_size(w, rows);
    sizes[1] = rgmi_vector(w, (int64_t[]){2 * half * heads}, 1);
    name->name = rgmi_node(w, "Reshape", x, rgmi_concat(w, sizes, 2, 0), NULL);
    rgmi_int(w, "allowzero", 1);
}
