/*
 * Sparse ops as ONNX nodes: a pattern is two vectors of indices, so a sum over a row's entries is a
 * Gather at the columns and a ScatterElements at the rows.
 */
#include <math.h>
#include <string.h>

#include "onnx_internal.h"

static const char *input(rgmi_writer *w, const rgm_value *y, int i)
{
    return rgmi_name_of(w, rgm_value_input(y, i));
}

static const char *gathered(rgmi_writer *w, const char *x, const char *index)
{
    const char *y = rgmi_node(w, "Gather", x, index, NULL);

    rgmi_int(w, "axis", 0);
    return y;
}

/* ---- patterns ------------------------------------------------------------------------------ */

static void translate_transpose(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgmi_name *p = rgmi_pattern_of(w, rgm_value_input(y, 0));

    if (p != NULL) {
        name->rows = p->columns;
        name->columns = p->rows;
    }
}

static void translate_self_loops(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgmi_name *p = rgmi_pattern_of(w, rgm_value_input(y, 0));
    const char *loops = rgmi_range(w, rgmi_size_scalar(w, rgm_value_shape(y)[0]));

    if (p == NULL)
        return;
    name->rows = rgmi_concat(w, (const char *[]){p->rows, loops}, 2, 0);
    name->columns = rgmi_concat(w, (const char *[]){p->columns, loops}, 2, 0);
}

static const char *entries_per_row(rgmi_writer *w, const rgm_value *p, rgm_dtype dtype)
{
    const rgmi_name *pattern = rgmi_pattern_of(w, p);
    const char *ones, *key, *known;

    if (pattern == NULL)
        return NULL;
    key = rgmi_text(w, "degree:%s:%s", rgm_dtype_name(dtype), pattern->rows);
    known = rgmi_known_name(w, key);
    if (known != NULL)
        return known;
    ones = rgmi_filled(w, rgmi_node(w, "Shape", pattern->rows, NULL, NULL), dtype, 1);
    known = rgmi_scatter(w, rgmi_filled(w, rgmi_size(w, rgm_value_shape(p)[0]), dtype, 0),
                         pattern->rows, ones, 1, "add");
    return rgmi_keep(w, key, known);
}

static void translate_degree(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    name->name = entries_per_row(w, rgm_value_input(y, 0), rgm_value_dtype(y));
}

/* ---- between rows and entries -------------------------------------------------------------- */

static void translate_broadcast_rows(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgmi_name *p = rgmi_pattern_of(w, rgm_value_input(y, 0));

    if (p != NULL)
        name->name = gathered(w, input(w, y, 1), p->rows);
}

static void translate_broadcast_columns(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgmi_name *p = rgmi_pattern_of(w, rgm_value_input(y, 0));

    if (p != NULL)
        name->name = gathered(w, input(w, y, 1), p->columns);
}

/* [rows, tail of x...] filled with `value`. */
static const char *row_shape(rgmi_writer *w, const rgm_value *p, const rgm_value *x, double value)
{
    rgm_dim shape[RGM_MAX_RANK];
    int rank = rgm_value_rank(x);

    shape[0] = rgm_value_shape(p)[0];
    for (int i = 1; i < rank; i++)
        shape[i] = rgm_value_shape(x)[i];
    return rgmi_filled(w, rgmi_shape(w, shape, rank), rgm_value_dtype(x), value);
}

/* y where the row has entries, else `otherwise`. */
static const char *unless_empty(rgmi_writer *w, const char *y, const char *degree, int rank,
                                rgm_dtype dtype, double otherwise)
{
    const char *zero = rgmi_scalar(w, dtype, 0);
    const char *empty = rgmi_node(w, "Equal", rgmi_as_column(w, degree, rank), zero, NULL);

    return rgmi_node(w, "Where", empty, rgmi_scalar(w, dtype, otherwise), y);
}

/* The initial value of a row's reduction, and ONNX's name for the reduction. */
static const char *scatter_of(rgm_reduction reduction, double *first)
{
    switch (reduction) {
    case RGM_MAX:
    case RGM_MAX_NO_INF:
        *first = -INFINITY;
        return "max";
    case RGM_MIN:
    case RGM_MIN_NO_INF:
        *first = INFINITY;
        return "min";
    case RGM_PROD:
        *first = 1;
        return "mul";
    default:
        *first = 0;
        return "add";
    }
}

static void translate_pool(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_value *p = rgm_value_input(y, 0), *x = rgm_value_input(y, 1);
    const rgmi_name *pattern = rgmi_pattern_of(w, p);
    rgm_reduction reduction = (rgm_reduction)rgm_value_attributes(y)->integer[0];
    rgm_dtype dtype = rgm_value_dtype(y);
    int rank = rgm_value_rank(y);
    double first;
    const char *how = scatter_of(reduction, &first), *pooled, *count;

    if (pattern == NULL)
        return;
    pooled = rgmi_scatter(w, row_shape(w, p, x, first), pattern->rows, input(w, y, 1), rank, how);
    if (reduction == RGM_MEAN) {
        count = rgmi_scalar(w, dtype, 1);
        count = rgmi_node(w, "Max", entries_per_row(w, p, dtype), count, NULL);
        pooled = rgmi_node(w, "Div", pooled, rgmi_as_column(w, count, rank), NULL);
    }
    if (isinf(first))
        pooled = unless_empty(w, pooled, entries_per_row(w, p, dtype), rank, dtype,
                              rgmi_empty(reduction, dtype));
    name->name = pooled;
}

/* Stable: each row's largest is subtracted first; a row of only -inf gives zeros. */
static void translate_softmax_rows(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_value *p = rgm_value_input(y, 0), *x = rgm_value_input(y, 1);
    const rgmi_name *pattern = rgmi_pattern_of(w, p);
    rgm_dtype dtype = rgm_value_dtype(y);
    int rank = rgm_value_rank(y);
    const char *largest, *e, *sum, *none;

    if (pattern == NULL)
        return;
    largest = rgmi_scatter(w, row_shape(w, p, x, rgmi_empty(RGM_MAX, dtype)), pattern->rows,
                           input(w, y, 1), rank, "max");
    largest = gathered(w, largest, pattern->rows);
    e = rgmi_node(w, "Exp", rgmi_node(w, "Sub", input(w, y, 1), largest, NULL), NULL, NULL);
    sum = rgmi_scatter(w, row_shape(w, p, x, 0), pattern->rows, e, rank, "add");
    none = rgmi_node(w, "Equal", sum, rgmi_scalar(w, dtype, 0), NULL);
    sum = rgmi_node(w, "Where", none, rgmi_scalar(w, dtype, 1), sum);
    name->name = rgmi_node(w, "Div", e, gathered(w, sum, pattern->rows), NULL);
}

/* ---- products ------------------------------------------------------------------------------ */

/* messages [count, ...] times weight [count, heads], each head multiplying its share of
 * channels. */
static const char *weighted(rgmi_writer *w, const char *messages, const rgm_value *p,
                            const rgm_value *x, const rgm_value *weight)
{
    const char *by = rgmi_name_of(w, weight);
    rgm_dim shape[RGM_MAX_RANK], split[3];
    int64_t heads = rgm_value_rank(weight) == 2 ? rgm_value_dim(weight, 1) : 1, channels = 1;
    int rank = rgm_value_rank(x);

    if (heads == 1) {
        if (rgm_value_rank(weight) == 2)
            by = rgmi_reshape(w, by, rgm_value_shape(weight), 2, rgm_value_shape(weight), 1);
        return rgmi_node(w, "Mul", messages, rgmi_as_column(w, by, rank), NULL);
    }
    shape[0] = rgm_value_shape(p)[2];
    for (int i = 1; i < rank; i++) {
        shape[i] = rgm_value_dim(x, i);
        if (shape[i] < 0)
            return rgmi_fail(w, RGM_ERR_UNSUPPORTED,
                             "op 'spmm' with channels that vary has no %s form", w->format);
        channels *= shape[i];
    }
    split[0] = shape[0];
    split[1] = heads;
    split[2] = channels / heads;
    messages = rgmi_reshape(w, messages, shape, rank, split, 3);
    messages = rgmi_node(w, "Mul", messages, rgmi_unsqueeze(w, by, 2), NULL);
    return rgmi_reshape(w, messages, split, 3, shape, rank);
}

/* Optional inputs follow pattern and x in this order; bit i of attribute 0 says whether input i is
 * present. */
enum { WEIGHT, ROW_SCALE, COLUMN_SCALE, BIAS, OPTIONAL };

/* bias [channels] in the shape of x without its rows. */
static const char *bias_of(rgmi_writer *w, const rgm_value *x, const rgm_value *bias)
{
    const char *name = rgmi_name_of(w, bias);

    if (rgm_value_rank(x) == 2)
        return name;
    return rgmi_reshape(w, name, rgm_value_shape(bias), 1, rgm_value_shape(x) + 1,
                        rgm_value_rank(x) - 1);
}

static void translate_spmm(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_attributes *a = rgm_value_attributes(y);
    const rgm_value *p = rgm_value_input(y, 0), *x = rgm_value_input(y, 1),
                    *part[OPTIONAL] = {NULL};
    const rgmi_name *pattern = rgmi_pattern_of(w, p);
    const char *scaled = input(w, y, 1), *messages, *sum;
    int rank = rgm_value_rank(x), at = 2;

    if (pattern == NULL)
        return;
    for (int i = 0; i < OPTIONAL; i++)
        if (a->integer[0] & (1 << i))
            part[i] = rgm_value_input(y, at++);
    if (part[COLUMN_SCALE] != NULL)
        scaled = rgmi_node(w, "Mul", scaled,
                           rgmi_as_column(w, rgmi_name_of(w, part[COLUMN_SCALE]), rank), NULL);
    messages = gathered(w, scaled, pattern->columns);
    if (part[WEIGHT] != NULL)
        messages = weighted(w, messages, p, x, part[WEIGHT]);
    sum = rgmi_scatter(w, row_shape(w, p, x, 0), pattern->rows, messages, rank, "add");
    if (a->integer[1] != 0)
        sum = rgmi_node(w, "Add", sum, scaled, NULL);
    if (part[ROW_SCALE] != NULL)
        sum = rgmi_node(w, "Mul", sum, rgmi_as_column(w, rgmi_name_of(w, part[ROW_SCALE]), rank),
                        NULL);
    if (part[BIAS] != NULL)
        sum = rgmi_node(w, "Add", sum, bias_of(w, x, part[BIAS]), NULL);
    name->name =
        rgmi_activate(w, sum, (rgm_activation)a->integer[2], a->number[0], rgm_value_dtype(y));
}

static void translate_sddmm(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgmi_name *p = rgmi_pattern_of(w, rgm_value_input(y, 0));
    const char *product;

    if (p == NULL)
        return;
    product = gathered(w, input(w, y, 2), p->columns);
    product = rgmi_node(w, "Mul", gathered(w, input(w, y, 1), p->rows), product, NULL);
    name->name = rgmi_reduce(w, "ReduceSum", product, 2, false);
}

static void translate_gatv2(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgmi_name *p = rgmi_pattern_of(w, rgm_value_input(y, 0));
    const char *sum;

    if (p == NULL)
        return;
    sum = gathered(w, input(w, y, 2), p->columns);
    sum = rgmi_node(w, "Add", gathered(w, input(w, y, 1), p->rows), sum, NULL);
    sum = rgmi_activate(w, sum, RGM_ACT_LEAKY_RELU, rgm_value_attributes(y)->number[0],
                        rgm_value_dtype(y));
    name->name =
        rgmi_reduce(w, "ReduceSum", rgmi_node(w, "Mul", sum, input(w, y, 3), NULL), 2, false);
}

const rgmi_translation rgmi_sparse_translations[] = {
    {"transpose_pattern", translate_transpose},
    {"add_self_loops", translate_self_loops},
    {"degree", translate_degree},
    {"broadcast_rows", translate_broadcast_rows},
    {"broadcast_columns", translate_broadcast_columns},
    {"pool_rows", translate_pool},
    {"softmax_rows", translate_softmax_rows},
    {"spmm", translate_spmm},
    {"sddmm", translate_sddmm},
    {"gatv2_score", translate_gatv2},
    {NULL, NULL},
};
