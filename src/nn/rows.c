/*
 * Rows to transform, dense or sparse. A pattern with the numbers at its entries is passed as one
 * value, the value of an op that no kernel ever runs: every layer looks through it and gives the
 * two parts to the sparse-dense product. An op that does not know it fails by name instead of
 * losing the numbers.
 */
#include "nn_internal.h"

static rgm_status sparse_rows_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                    const rgm_attributes *attributes)
{
    const rgm_value *pattern = in[0], *weight = in[1];
    char a[128], b[128];

    (void)inputs;
    (void)attributes;
    if (!rgm_value_is_pattern(pattern) || rgm_value_is_pattern(weight) ||
        rgm_value_rank(weight) != 1 ||
        (rgm_value_dtype(weight) != RGM_F32 && rgm_value_dtype(weight) != RGM_F64))
        return RGM_FAIL(RGM_ERR_SHAPE,
                        "sparse_rows: %s with numbers %s: needs a pattern and "
                        "[entries] of f32 or f64",
                        rgm_value_describe(pattern, a, sizeof a),
                        rgm_value_describe(weight, b, sizeof b));
    out->is_pattern = true;
    out->dtype = rgm_value_dtype(weight);
    out->rank = rgm_value_rank(pattern);
    for (int i = 0; i < out->rank; i++)
        out->shape[i] = rgm_value_dim(pattern, i);
    return RGM_OK;
}

static rgm_status sparse_rows_forward(rgm_op_run *run)
{
    (void)run;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "sparse rows with numbers reached an op that takes a "
                                         "pattern or a dense value; give them to a layer");
}

static const rgm_op_type sparse_rows_op = {
    .name = "sparse_rows",
    .arity = 2,
    .infer = sparse_rows_infer,
    .forward = sparse_rows_forward,
    .no_gradient = "never run: layers use its two inputs",
};

static bool is_beside(const rgm_value *x);

rgm_value *rgm_sparse_rows(rgm_value *pattern, rgm_value *weight)
{
    static const rgm_attributes none;
    rgm_value *in[2] = {pattern, weight};

    if (pattern == NULL || weight == NULL)
        return pattern;
    return rgm_op(rgm_value_graph(pattern), &sparse_rows_op, in, 2, &none);
}

bool rgm_sparse_parts(rgm_value **pattern, rgm_value **weight, rgm_value *x)
{
    *pattern = *weight = NULL;
    if (x == NULL || !rgm_value_is_pattern(x) || is_beside(x))
        return false;
    if (rgm_value_op(x) == &sparse_rows_op) {
        *pattern = rgm_value_input(x, 0);
        *weight = rgm_value_input(x, 1);
    } else {
        *pattern = x;
    }
    return true;
}

/* Several rows side by side, not all dense: layers look through this op in the same way. */
static rgm_status beside_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                               const rgm_attributes *attributes)
{
    int64_t width = 0;
    char a[128], b[128];

    (void)attributes;
    out->is_pattern = true;
    out->dtype = rgm_value_dtype(in[0]);
    out->rank = 3;
    for (int i = 0; i < inputs; i++) {
        if (rgm_value_shape(in[i])[0] != rgm_value_shape(in[0])[0])
            return RGM_FAIL(RGM_ERR_SHAPE, "beside: rows differ: %s and %s",
                            rgm_value_describe(in[0], a, sizeof a),
                            rgm_value_describe(in[i], b, sizeof b));
        width += rgm_width(in[i]);
        if (rgm_value_is_pattern(in[i]))
            out->shape[2] = rgm_value_shape(in[i])[2];
    }
    out->shape[0] = rgm_value_shape(in[0])[0];
    out->shape[1] = width;
    return RGM_OK;
}

static const rgm_op_type beside_op = {
    .name = "beside",
    .arity = -1,
    .infer = beside_infer,
    .forward = sparse_rows_forward,
    .no_gradient = "never run: layers use its inputs",
};

static bool is_beside(const rgm_value *x)
{
    return rgm_value_is_pattern(x) && rgm_value_op(x) == &beside_op;
}

rgm_value *rgm_beside(rgm_value *const *x, int64_t count)
{
    static const rgm_attributes none;
    bool sparse = false;

    if (count < 1)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        if (x[i] == NULL || rgm_width(x[i]) < 0)
            return NULL;
        sparse |= rgm_value_is_pattern(x[i]);
    }
    if (count == 1)
        return x[0];
    if (!sparse)
        return rgm_concat(x, count, 1);
    return rgm_op(rgm_value_graph(x[0]), &beside_op, x, (int)count, &none);
}

/* Change the parts one by one and put them side by side again. */
static rgm_value *beside_map(rgm_scope *scope, rgm_value *x,
                             rgm_value *(*change)(rgm_scope *scope, rgm_value *x, double number),
                             double number)
{
    int count = rgm_value_input_count(x);
    rgm_value **part = NULL, *y;

    if (RGM_NEW(part, count) != RGM_OK)
        return rgm_cgraph_fail(rgm_value_graph(x), RGM_ERR_NOMEM, "out of memory: side by side");
    for (int i = 0; i < count; i++)
        part[i] = change(scope, rgm_value_input(x, i), number);
    y = rgm_beside(part, count);
    rgm_free(part);
    return y;
}

int64_t rgm_width(rgm_value *x)
{
    char shape[128];
    rgm_dim width;

    if (x == NULL)
        return -1;
    if (!rgm_value_is_pattern(x) && rgm_value_rank(x) == 0) {
        rgm_cgraph_fail(rgm_value_graph(x), RGM_ERR_SHAPE, "a scalar has no width");
        return -1;
    }
    width = rgm_value_is_pattern(x) ? rgm_value_shape(x)[1] : rgm_value_dim(x, -1);
    if (width < 0) {
        rgm_cgraph_fail(rgm_value_graph(x), RGM_ERR_SHAPE,
                        "the last dim of %s is not known before the run",
                        rgm_value_describe(x, shape, sizeof shape));
        return -1;
    }
    return width;
}

/* x [.., in] of rank above 2 is multiplied as [rows, in]. */
static rgm_value *project_high_rank(rgm_value *x, rgm_value *kernel)
{
    rgm_dim flat[2] = {RGM_INFER, rgm_width(x)}, shape[RGM_MAX_RANK];
    int rank = rgm_value_rank(x);

    for (int i = 0; i < rank - 1; i++)
        shape[i] = rgm_value_dim(x, i);
    shape[rank - 1] = rgm_value_dim(kernel, 1);
    return rgm_reshape(rgm_matmul(rgm_reshape(x, 2, flat), kernel), rank, shape);
}

rgm_value *rgm_project(rgm_value *x, rgm_value *kernel)
{
    rgm_value *pattern, *weight, *y = NULL;

    if (x == NULL || kernel == NULL)
        return NULL;
    if (is_beside(x)) {
        int64_t begin = 0;
        for (int i = 0; i < rgm_value_input_count(x); i++) {
            rgm_value *part = rgm_value_input(x, i);
            int64_t end = begin + rgm_width(part);
            rgm_value *product =
                end == begin ? NULL : rgm_project(part, rgm_slice(kernel, 0, begin, end));
            if (end > begin)
                y = begin == 0 ? product : rgm_add(y, product);
            begin = end;
        }
        return y;
    }
    if (rgm_sparse_parts(&pattern, &weight, x)) {
        rgm_spmm_options options = {.weight = weight};
        return rgm_spmm(pattern, kernel, weight != NULL ? &options : NULL);
    }
    if (rgm_value_rank(x) > 2)
        return project_high_rank(x, kernel);
    return rgm_matmul(x, kernel);
}

rgm_value *rgm_zero_rows(rgm_scope *scope, rgm_value *x, int64_t units)
{
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_tensor *tensor = NULL;
    rgm_value *pattern, *weight, *zero, *y;
    rgm_dim shape[2] = {0, 1};

    if (scope == NULL || x == NULL)
        return NULL;
    while (is_beside(x))
        x = rgm_value_input(x, 0);
    shape[0] = rgm_value_shape(x)[0];
    if (rgm_sparse_parts(&pattern, &weight, x))
        zero = rgm_degree(pattern, rgm_scope_dtype(scope));
    else
        zero = rgm_reduce(x, -1, RGM_SUM);
    zero = rgm_reshape(rgm_scale(zero, 0), 2, shape);
    if (rgm_tensor_create(&tensor, rgm_scope_dtype(scope), 1, &units) != RGM_OK)
        return rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory: zeros");
    y = rgm_add(zero, rgm_constant(graph, tensor));
    rgm_tensor_release(tensor);
    return y;
}

/* Ones [entries]; they depend only on the pattern, so they are made once. */
static rgm_value *entry_ones(rgm_scope *scope, rgm_value *pattern)
{
    rgm_value *degree = rgm_degree(pattern, rgm_scope_dtype(scope));

    return rgm_broadcast_rows(pattern, rgm_shift(rgm_scale(degree, 0), 1));
}

/* s, with 1 in place of 0: a row whose sum is 0 is left as it is. */
static rgm_value *divisor(rgm_value *s)
{
    rgm_value *zero;

    if (s == NULL)
        return NULL;
    zero = rgm_equal(s, rgm_scalar(rgm_value_graph(s), rgm_value_dtype(s), 0));
    return rgm_add(s, rgm_cast(zero, rgm_value_dtype(s)));
}

static rgm_value *normalize_part(rgm_scope *scope, rgm_value *x, double unused)
{
    (void)unused;
    return rgm_normalize_rows(scope, x);
}

rgm_value *rgm_normalize_rows(rgm_scope *scope, rgm_value *x)
{
    rgm_value *pattern, *weight, *sum;
    rgm_dim shape[2];

    if (scope == NULL || x == NULL)
        return NULL;
    rgmi_scope_mark(scope);
    if (is_beside(x))
        return beside_map(scope, x, normalize_part, 0);
    if (rgm_sparse_parts(&pattern, &weight, x)) {
        if (weight == NULL) {
            sum = rgm_floor_at(rgm_degree(pattern, rgm_scope_dtype(scope)), 1);
            return rgm_sparse_rows(pattern, rgm_broadcast_rows(pattern, rgm_reciprocal(sum)));
        }
        sum = divisor(rgm_pool_rows(pattern, rgm_abs(weight), RGM_SUM));
        return rgm_sparse_rows(pattern, rgm_div(weight, rgm_broadcast_rows(pattern, sum)));
    }
    shape[0] = rgm_value_dim(x, 0);
    shape[1] = 1;
    sum = rgm_reshape(rgm_reduce(rgm_abs(x), -1, RGM_SUM), 2, shape);
    return rgm_div(x, divisor(sum));
}

static bool bad_rate(rgm_scope *scope, double rate)
{
    if (rate >= 0 && rate < 1)
        return false;
    rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG,
                    "dropout rate is %g; it is at least 0 and below 1", rate);
    return true;
}

rgm_value *rgm_dropout(rgm_scope *scope, rgm_value *x, double rate)
{
    rgm_value *pattern, *weight;
    const char *stream;

    if (scope == NULL || x == NULL)
        return NULL;
    rgmi_scope_mark(scope);
    if (bad_rate(scope, rate))
        return NULL;
    if (rate == 0)
        return x;
    if (is_beside(x))
        return beside_map(scope, x, rgm_dropout, rate);
    stream = rgmi_scope_stream(scope, "dropout");
    if (stream == NULL)
        return NULL;
    if (!rgm_sparse_parts(&pattern, &weight, x))
        return rgm_dropout_op(x, rate, stream);
    if (weight == NULL)
        weight = entry_ones(scope, pattern);
    weight = rgm_dropout_op(weight, rate, stream);
    return weight != NULL ? rgm_sparse_rows(pattern, weight) : NULL;
}

/* Multiply every row by its number, factor [rows]. */
static rgm_value *scale_rows(rgm_scope *scope, rgm_value *x, rgm_value *factor)
{
    rgm_value *pattern, *weight;
    rgm_dim shape[RGM_MAX_RANK];

    if (x == NULL || factor == NULL)
        return NULL;
    if (is_beside(x)) {
        rgm_value *part[2], *y = NULL;
        for (int i = 0; i < rgm_value_input_count(x); i++) {
            part[0] = y;
            part[1] = scale_rows(scope, rgm_value_input(x, i), factor);
            y = i == 0 ? part[1] : rgm_beside(part, 2);
        }
        return y;
    }
    if (rgm_sparse_parts(&pattern, &weight, x)) {
        rgm_value *kept = rgm_broadcast_rows(pattern, factor);
        if (weight != NULL)
            kept = rgm_mul(kept, weight);
        return kept != NULL ? rgm_sparse_rows(pattern, kept) : NULL;
    }
    shape[0] = rgm_value_shape(x)[0];
    for (int i = 1; i < rgm_value_rank(x); i++)
        shape[i] = 1;
    return rgm_mul(x, rgm_reshape(factor, rgm_value_rank(x), shape));
}

rgm_value *rgm_item_dropout(rgm_scope *scope, rgm_value *x, double rate)
{
    rgm_value *ones;
    const char *stream;
    rgm_dim rows[1];

    if (scope == NULL || x == NULL)
        return NULL;
    rgmi_scope_mark(scope);
    if (bad_rate(scope, rate))
        return NULL;
    if (rate == 0)
        return x;
    stream = rgmi_scope_stream(scope, "item_dropout");
    if (stream == NULL)
        return NULL;
    if (!rgm_value_is_pattern(x))
        return rgm_item_dropout_op(x, rate, stream);
    /* One draw for each row, however many parts it has. */
    rows[0] = rgm_value_shape(x)[0];
    ones = rgm_shift(rgm_reshape(rgm_zero_rows(scope, x, 1), 1, rows), 1);
    return scale_rows(scope, x, rgm_item_dropout_op(ones, rate, stream));
}

rgm_value *rgm_as_rows(rgm_scope *scope, rgm_value *x)
{
    rgm_dim shape[2] = {0, 1};
    int rank;

    if (x == NULL || scope == NULL)
        return NULL;
    if (rgm_value_is_pattern(x))
        return x;
    if (rgm_value_dtype(x) != rgm_scope_dtype(scope))
        x = rgm_cast(x, rgm_scope_dtype(scope));
    if (x == NULL || rgm_value_rank(x) == 2)
        return x;
    rank = rgm_value_rank(x);
    shape[0] = rgm_value_dim(x, 0);
    for (int i = 1; i < rank; i++)
        shape[1] *= rgm_value_dim(x, i);
    return rgm_reshape(x, 2, shape);
}
