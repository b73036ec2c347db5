/*
 * Sparse ops to ONNX nodes: a pattern is two vectors of indices, so a pull over rows is a Gather at
 * the columns and a ScatterND at the rows.
 */
#include <float.h>
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
    const char *rows = rgmi_node(w, "Squeeze", rgmi_size(w, rgm_value_shape(y)[0]), NULL, NULL);
    const char *loops = rgmi_node(w, "Range", rgmi_scalar(w, RGM_I64, 0), rows,
                                  rgmi_scalar(w, RGM_I64, 1));

    if (p == NULL)
        return;
    name->rows = rgmi_node(w, "Concat", p->rows, loops, NULL);
    rgmi_int(w, "axis", 0);
    name->columns = rgmi_node(w, "Concat", p->columns, loops, NULL);
    rgmi_int(w, "axis", 0);
}

static const char *entries_per_row(rgmi_writer *w, const rgm_value *p, rgm_dtype dtype)
{
    const rgmi_name *pattern = rgmi_pattern_of(w, p);
    const char *ones;

    if (pattern == NULL)
        return NULL;
    ones = rgmi_filled(w, rgmi_node(w, "Shape", pattern->rows, NULL, NULL), dtype, 1);
    return rgmi_scatter(w, rgmi_filled(w, rgmi_size(w, rgm_value_shape(p)[0]), dtype, 0),
                        pattern->rows, ones, "add");
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

/* x [n] as [n, 1, ...] of rank `rank`. */
static const char *as_column(rgmi_writer *w, const char *x, int rank)
{
    for (int i = 1; i < rank; i++)
        x = rgmi_unsqueeze(w, x, i);
    return x;
}

/* y where the row has entries, else 0. */
static const char *zero_if_empty(rgmi_writer *w, const char *y, const char *degree, int rank,
                                 rgm_dtype dtype)
{
    const char *empty = rgmi_node(w, "Equal", as_column(w, degree, rank), rgmi_scalar(w, dtype, 0),
                                  NULL);

    return rgmi_node(w, "Where", empty, rgmi_scalar(w, dtype, 0), y);
}

static void translate_pool(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    static const char *const how[] = {[RGM_SUM] = "add",        [RGM_MEAN] = "add",
                                      [RGM_MAX] = "max",        [RGM_MIN] = "min",
                                      [RGM_MAX_NO_INF] = "max", [RGM_MIN_NO_INF] = "min",
                                      [RGM_PROD] = "mul"};
    const rgm_value *p = rgm_value_input(y, 0), *x = rgm_value_input(y, 1);
    const rgmi_name *pattern = rgmi_pattern_of(w, p);
    rgm_reduction reduction = (rgm_reduction)rgm_value_attributes(y)->integer[0];
    rgm_dtype dtype = rgm_value_dtype(y);
    double most = dtype == RGM_F64 ? DBL_MAX : (double)FLT_MAX, first = 0;
    int rank = rgm_value_rank(y);
    const char *pooled, *degree;

    if (pattern == NULL)
        return;
    if (reduction == RGM_PROD)
        first = 1;
    else if (strcmp(how[reduction], "max") == 0)
        first = -most;
    else if (strcmp(how[reduction], "min") == 0)
        first = most;
    pooled = rgmi_scatter(w, row_shape(w, p, x, first), pattern->rows, input(w, y, 1),
                          how[reduction]);
    degree = entries_per_row(w, p, dtype);
    if (reduction == RGM_MEAN)
        pooled = rgmi_node(w, "Div", pooled,
                           as_column(w, rgmi_node(w, "Max", degree, rgmi_scalar(w, dtype, 1), NULL),
                                     rank),
                           NULL);
    if (reduction == RGM_MAX_NO_INF || reduction == RGM_MIN_NO_INF)
        pooled = zero_if_empty(w, pooled, degree, rank, dtype);
    name->name = pooled;
}

/* Stable: each row's largest is subtracted first. */
static void translate_softmax_rows(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_value *p = rgm_value_input(y, 0), *x = rgm_value_input(y, 1);
    const rgmi_name *pattern = rgmi_pattern_of(w, p);
    double lowest = rgm_value_dtype(y) == RGM_F64 ? -DBL_MAX : -(double)FLT_MAX;
    const char *largest, *e, *sum;

    if (pattern == NULL)
        return;
    largest = rgmi_scatter(w, row_shape(w, p, x, lowest), pattern->rows, input(w, y, 1), "max");
    e = rgmi_node(w, "Exp",
                  rgmi_node(w, "Sub", input(w, y, 1), gathered(w, largest, pattern->rows), NULL),
                  NULL, NULL);
    sum = rgmi_scatter(w, row_shape(w, p, x, 0), pattern->rows, e, "add");
    name->name = rgmi_node(w, "Div", e, gathered(w, sum, pattern->rows), NULL);
}

/* ---- products ------------------------------------------------------------------------------ */

/* messages [count, channels] times weight [count, heads], each head over its share of channels. */
static const char *weighted(rgmi_writer *w, const char *messages, const rgm_value *x,
                            const rgm_value *weight)
{
    const char *by = rgmi_name_of(w, weight);
    int rank = rgm_value_rank(x);
    int64_t heads = rgm_value_rank(weight) == 2 ? rgm_value_dim(weight, 1) : 1, channels = 1;

    if (rgm_value_rank(weight) == 1)
        return rgmi_node(w, "Mul", messages, as_column(w, by, rank), NULL);
    for (int i = 1; i < rank; i++)
        channels *= rgm_value_dim(x, i);
    if (heads < 1 || channels < 0)
        return rgmi_fail(w, RGM_ERR_UNSUPPORTED, "spmm with channels of unknown number");
    messages = rgmi_node(w, "Reshape", messages,
                         rgmi_vector(w, (int64_t[]){-1, heads, channels / heads}, 3), NULL);
    messages = rgmi_node(w, "Mul", messages, rgmi_unsqueeze(w, by, 2), NULL);
    if (rank == 3 && rgm_value_dim(x, 1) == heads)
        return messages;
    {
        int64_t shape[RGM_MAX_RANK] = {-1};

        for (int i = 1; i < rank; i++)
            shape[i] = rgm_value_dim(x, i);
        return rgmi_node(w, "Reshape", messages, rgmi_vector(w, shape, rank), NULL);
    }
}

/* Optional inputs follow pattern and x in this order; bit i of attribute 0 says whether it is there. */
enum { WEIGHT, ROW_SCALE, COLUMN_SCALE, BIAS, OPTIONAL };

static void translate_spmm(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgm_attributes *a = rgm_value_attributes(y);
    const rgm_value *p = rgm_value_input(y, 0), *x = rgm_value_input(y, 1), *part[OPTIONAL] = {NULL};
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
                           as_column(w, rgmi_name_of(w, part[COLUMN_SCALE]), rank), NULL);
    messages = gathered(w, scaled, pattern->columns);
    if (part[WEIGHT] != NULL)
        messages = weighted(w, messages, x, part[WEIGHT]);
    sum = rgmi_scatter(w, row_shape(w, p, x, 0), pattern->rows, messages, "add");
    if (a->integer[1] != 0)
        sum = rgmi_node(w, "Add", sum, scaled, NULL);
    if (part[ROW_SCALE] != NULL)
        sum = rgmi_node(w, "Mul", sum, as_column(w, rgmi_name_of(w, part[ROW_SCALE]), rank), NULL);
    if (part[BIAS] != NULL)
        sum = rgmi_node(w, "Add", sum, rgmi_name_of(w, part[BIAS]), NULL);
    name->name = rgmi_activate(w, sum, (rgm_activation)a->integer[2], a->number[0],
                               rgm_value_dtype(y));
}

static const char *sum_last(rgmi_writer *w, const char *x)
{
    const int64_t last = -1;
    const char *y = rgmi_node(w, "ReduceSum", x, rgmi_vector(w, &last, 1), NULL);

    rgmi_int(w, "keepdims", 0);
    return y;
}

static void translate_sddmm(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgmi_name *p = rgmi_pattern_of(w, rgm_value_input(y, 0));

    if (p != NULL)
        name->name = sum_last(w, rgmi_node(w, "Mul", gathered(w, input(w, y, 1), p->rows),
                                           gathered(w, input(w, y, 2), p->columns), NULL));
}

static void translate_gatv2(rgmi_writer *w, const rgm_value *y, rgmi_name *name)
{
    const rgmi_name *p = rgmi_pattern_of(w, rgm_value_input(y, 0));
    const char *sum;

    if (p == NULL)
        return;
    sum = rgmi_node(w, "Add", gathered(w, input(w, y, 1), p->rows),
                    gathered(w, input(w, y, 2), p->columns), NULL);
    sum = rgmi_activate(w, sum, RGM_ACT_LEAKY_RELU, rgm_value_attributes(y)->number[0],
                        rgm_value_dtype(y));
    name->name = sum_last(w, rgmi_node(w, "Mul", sum, input(w, y, 3), NULL));
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
