/*
 * Rules that turn values on edges into sparse products. pool(P, broadcast(P, x)), with weights or
 * without, is spmm(P, x); the sum over depth of a product of two broadcasts is sddmm; scales of
 * rows go into the product. What would be stored for each edge is then streamed.
 */
#include "executor_internal.h"

static rgm_value *transposed(rgm_value *p)
{
    return rgm_transpose_pattern(p);
}

/* Broadcasts over a transposed pattern are the other broadcast over the pattern itself. */
rgm_value *rgmi_rule_entries(rgm_executor *executor, rgm_value *v)
{
    (void)executor;
    if (v->inputs != 2 || !rgmi_is(v->in[0], &rgmi_transpose_pattern_op))
        return NULL;
    if (rgmi_is(v, &rgmi_broadcast_rows_op))
        return rgm_broadcast_columns(v->in[0]->in[0], v->in[1]);
    if (rgmi_is(v, &rgmi_broadcast_columns_op))
        return rgm_broadcast_rows(v->in[0]->in[0], v->in[1]);
    return NULL;
}

/* x when e is x of each entry's column, as p sees rows and columns. */
static rgm_value *column_source(const rgm_value *p, const rgm_value *e)
{
    bool flipped = rgmi_is(p, &rgmi_transpose_pattern_op);
    const rgm_value *base = flipped ? p->in[0] : p;

    if (!rgmi_is(e, flipped ? &rgmi_broadcast_rows_op : &rgmi_broadcast_columns_op))
        return NULL;
    return e->in[0] == base ? e->in[1] : NULL;
}

/* A weight for each entry (and head) out of what is multiplied with x [.., channels] per entry. */
static rgm_value *entry_weight(rgm_value *w, const rgm_value *e)
{
    rgm_dim shape[2] = {e->s.shape[0], 1};
    int ones = 0;

    if (w->s.rank != e->s.rank || w->s.shape[0] != e->s.shape[0])
        return NULL;
    for (int i = 1; i < w->s.rank; i++)
        ones += w->s.shape[i] == 1;
    if (ones == w->s.rank - 1)
        return rgm_reshape(w, 1, shape);
    if (w->s.rank == 3 && w->s.shape[2] == 1 && w->s.shape[1] == e->s.shape[1] &&
        w->s.shape[1] > 0) {
        shape[1] = w->s.shape[1];
        return rgm_reshape(w, 2, shape);
    }
    return NULL;
}

static rgm_value *pooled(rgm_value *v, rgmi_spmm *parts)
{
    rgm_value *y;

    parts->p = v->in[0];
    if (v->attributes.integer[0] == RGM_MEAN)
        parts->row_scale = rgmi_inverse_degree(v->in[0], v->s.dtype, false);
    y = rgmi_spmm_build(parts, NULL);
    return y;
}

rgm_value *rgmi_rule_pool(rgm_executor *executor, rgm_value *v)
{
    rgmi_spmm parts = {.p = NULL};
    rgm_value *e;

    (void)executor;
    if (!rgmi_is(v, &rgmi_pool_rows_op) ||
        (v->attributes.integer[0] != RGM_SUM && v->attributes.integer[0] != RGM_MEAN))
        return NULL;
    e = v->in[1];
    parts.x = column_source(v->in[0], e);
    if (parts.x != NULL)
        return pooled(v, &parts);
    if (rgmi_is(e, &rgmi_reshape_op) && e->in[0]->s.rank > 0 &&
        e->in[0]->s.shape[0] == e->s.shape[0]) /* the entries stay apart: reshape afterwards */
        return rgm_reshape(
            rgm_pool_rows(v->in[0], e->in[0], (rgm_reduction)v->attributes.integer[0]), v->s.rank,
            v->s.shape);
    for (int k = 0; rgmi_is(e, &rgmi_mul_op) && k < 2; k++) {
        parts.x = column_source(v->in[0], e->in[k]);
        if (parts.x == NULL || !rgmi_shapes_equal(e, e->in[k]))
            continue;
        parts.weight = entry_weight(e->in[1 - k], e->in[k]);
        if (parts.weight != NULL)
            return pooled(v, &parts);
    }
    return NULL;
}

/* sum over the last axis of broadcast_rows(a) * broadcast_columns(b) */
rgm_value *rgmi_rule_sddmm(rgm_executor *executor, rgm_value *v)
{
    (void)executor;
    if (!rgmi_is(v, &rgmi_reduce_op) || v->attributes.integer[1] != RGM_SUM ||
        !rgmi_is(v->in[0], &rgmi_mul_op))
        return NULL;
    rgm_value *e = v->in[0];
    int rank = e->s.rank;
    if ((rank != 2 && rank != 3) || v->attributes.integer[0] != rank - 1)
        return NULL;
    for (int k = 0; k < 2; k++) {
        rgm_value *a = e->in[k], *b = e->in[1 - k];
        if (!rgmi_is(a, &rgmi_broadcast_rows_op) || !rgmi_is(b, &rgmi_broadcast_columns_op) ||
            a->in[0] != b->in[0] || !rgmi_shapes_equal(a, b))
            continue;
        rgm_value *x = a->in[1], *y = b->in[1];
        if (rank == 2) {
            x = rgmi_expand(x, 1);
            y = rgmi_expand(y, 1);
        }
        return rgm_reshape(rgm_sddmm(a->in[0], x, y), v->s.rank, v->s.shape);
    }
    return NULL;
}

/* The sum of all rows of pool(P, x) is that of x: each entry is in one row. */
rgm_value *rgmi_rule_pooled_sum(rgm_executor *executor, rgm_value *v)
{
    rgm_value *pool = v->inputs == 1 ? v->in[0] : NULL;

    (void)executor;
    if (!rgmi_is(v, &rgmi_reduce_op) || v->attributes.integer[0] != 0 ||
        v->attributes.integer[1] != RGM_SUM || !rgmi_is(pool, &rgmi_pool_rows_op) ||
        pool->attributes.integer[0] != RGM_SUM)
        return NULL;
    return rgm_reduce(pool->in[1], 0, RGM_SUM);
}

/* [n] out of [n, 1, ..] when `of` has n rows. */
static rgm_value *row_factor(rgm_value *w, const rgm_value *of)
{
    if (w->s.rank != of->s.rank || w->s.rank == 0 || w->s.shape[0] != of->s.shape[0])
        return NULL;
    for (int i = 1; i < w->s.rank; i++)
        if (w->s.shape[i] != 1)
            return NULL;
    return w->s.rank == 1 && of->s.rank == 1 ? w : rgm_reshape(w, 1, &of->s.shape[0]);
}

/* spmm(P, x * s[:, 1]) and s[:, 1] * spmm(P, x): the scales are the product's. */
rgm_value *rgmi_rule_scales(rgm_executor *executor, rgm_value *v)
{
    rgmi_spmm parts;

    (void)executor;
    if (rgmi_is(v, &rgmi_spmm_op)) {
        rgm_value *x = v->in[1];
        rgmi_spmm_parts(&parts, v);
        for (int k = 0; rgmi_is(x, &rgmi_mul_op) && rgmi_single(x) && k < 2; k++) {
            rgm_value *factor = rgmi_shapes_equal(x->in[k], x) && x->in[k]->s.rank > 1
                                    ? row_factor(x->in[1 - k], x)
                                    : NULL;
            if (factor == NULL)
                continue;
            parts.x = x->in[k];
            parts.column_scale =
                parts.column_scale != NULL ? rgm_mul(parts.column_scale, factor) : factor;
            return rgmi_spmm_build(&parts, NULL);
        }
        return NULL;
    }
    for (int k = 0; rgmi_is(v, &rgmi_mul_op) && k < 2; k++) {
        rgm_value *y = v->in[k], *factor;
        if (!rgmi_is(y, &rgmi_spmm_op) || !rgmi_single(y) || !rgmi_shapes_equal(y, v) ||
            y->s.rank < 2)
            continue;
        factor = row_factor(v->in[1 - k], y);
        rgmi_spmm_parts(&parts, y);
        if (factor == NULL || parts.bias != NULL || parts.activation != RGM_ACT_NONE)
            continue;
        parts.row_scale = parts.row_scale != NULL ? rgm_mul(parts.row_scale, factor) : factor;
        return rgmi_spmm_build(&parts, NULL);
    }
    return NULL;
}

/* ---- which side of the weight ---- */

static bool linear_rows(const rgmi_spmm *s)
{
    return s->bias == NULL && s->activation == RGM_ACT_NONE && s->x->s.rank == 2 &&
           (s->weight == NULL || s->weight->s.rank == 1);
}

static bool plain_product(const rgm_value *v)
{
    return rgmi_is(v, &rgmi_matmul_op) && v->inputs == 2 && v->s.rank == 2 &&
           v->attributes.integer[2] == RGM_ACT_NONE;
}

/*
 * Rows and columns of one set. Between two sets the dense product costs as much as the side it is
 * on has rows, and which side has more is not known here (a sampled block has ten times as many
 * senders as receivers): such a program stays in the order in which it was written.
 */
static bool of_one_set(const rgm_value *p)
{
    return p->s.shape[0] == p->s.shape[1];
}

static bool gives_rows_back(const rgm_executor *executor)
{
    for (int64_t s = 0; s < executor->count; s++)
        if (rgmi_is(executor->order[s], &rgmi_exchange_grad_op))
            return true;
    return false;
}

/*
 * spmm(P, x) W = spmm(P, x W): the sparse product on the narrower side, since it moves bytes in
 * proportion to its width; first, when both are as wide, but where rows are given back: of the last
 * of the two some rows may be computed meanwhile if it is the sparse one. A product of fed values
 * alone stays: it is computed once.
 */
rgm_value *rgmi_rule_narrow(rgm_executor *executor, rgm_value *v)
{
    rgmi_spmm s;
    rgmi_matmul m;

    if (plain_product(v) && v->attributes.integer[0] == 0 && rgmi_is(v->in[0], &rgmi_spmm_op)) {
        rgmi_matmul_parts(&m, v);
        rgmi_spmm_parts(&s, m.a);
        rgm_dim before = s.x->s.shape[1], after = v->s.shape[1];
        if (!linear_rows(&s) || !of_one_set(s.p) || before < 0 || after < 0 || after >= before ||
            m.a->fed_only)
            return NULL;
        m.a = s.x;
        s.x = rgmi_matmul_build(&m, NULL);
        return rgmi_spmm_build(&s, NULL);
    }
    if (rgmi_is(v, &rgmi_spmm_op) && plain_product(v->in[1]) && rgmi_single(v->in[1]) &&
        v->in[1]->attributes.integer[0] == 0) {
        rgmi_spmm_parts(&s, v);
        rgmi_matmul_parts(&m, s.x);
        rgm_dim before = m.a->s.shape[1], after = v->s.shape[1];
        if (!linear_rows(&s) || !of_one_set(s.p) || before < 0 || after < 0 || before > after ||
            (before == after && !m.a->fed_only && gives_rows_back(executor)))
            return NULL;
        s.x = m.a;
        m.a = rgmi_spmm_build(&s, NULL);
        return rgmi_matmul_build(&m, NULL);
    }
    return NULL;
}

static void flip(rgmi_spmm *s)
{
    rgm_value *scale = s->row_scale;

    s->p = transposed(s->p);
    s->row_scale = s->column_scale;
    s->column_scale = scale;
}

/* Does the program compute the same already? */
static bool is_there(const rgm_executor *executor, const rgm_value *v)
{
    return v != NULL && rgmi_program_find(executor, v->type, v->in, v->inputs, &v->attributes);
}

/*
 * The weight's gradient, spmm(P, x)^T dy = x^T spmm(P^T, dy): with the sparse product on dy when
 * that is narrower (the gradient by x needs it too), or on x when the forward pass has it already.
 */
rgm_value *rgmi_rule_narrow_grad(rgm_executor *executor, rgm_value *v)
{
    rgmi_spmm s;
    rgm_value *other;

    if (!plain_product(v) || v->attributes.integer[0] == 0 || v->attributes.integer[1] != 0)
        return NULL;
    if (rgmi_is(v->in[0], &rgmi_spmm_op)) {
        rgmi_spmm_parts(&s, v->in[0]);
        rgm_dim x = s.x->s.shape[s.x->s.rank - 1], dy = v->in[1]->s.shape[1];
        if (linear_rows(&s) && of_one_set(s.p) && x >= 0 && dy >= 0 && dy <= x &&
            !v->in[0]->fed_only) {
            other = s.x;
            flip(&s);
            s.x = v->in[1];
            rgm_value *t = rgmi_spmm_build(&s, NULL);
            if (dy < x || is_there(executor, t)) /* as wide: only if nothing is added by it */
                return rgm_matmul_t(other, t, true, false);
        }
    }
    if (rgmi_is(v->in[1], &rgmi_spmm_op)) {
        rgmi_spmm_parts(&s, v->in[1]);
        rgm_dim x = v->in[0]->s.shape[1], dy = s.x->s.shape[s.x->s.rank - 1];
        if (!linear_rows(&s) || x < 0 || dy < 0 || (of_one_set(s.p) && x >= dy))
            return NULL;
        other = s.x;
        flip(&s);
        s.x = v->in[0];
        rgm_value *again = rgmi_spmm_build(&s, NULL);
        return is_there(executor, again) ? rgm_matmul_t(again, other, true, false) : NULL;
    }
    return NULL;
}

/*
 * Products with values on entries move to the rows or columns they come from, which are fewer:
 * broadcast(x) W = broadcast(x W); broadcast(x)^T dy = x^T pool(dy); pool(dy W) = pool(dy) W. What
 * picks some of the columns stays before the product: there the entries are fewer.
 */
rgm_value *rgmi_rule_entry_product(rgm_executor *executor, rgm_value *v)
{
    rgmi_matmul m;
    rgm_value *e;

    (void)executor;
    if (rgmi_is(v, &rgmi_pool_rows_op) && v->attributes.integer[0] == RGM_SUM &&
        of_one_set(v->in[0]) && plain_product(v->in[1]) && rgmi_single(v->in[1]) &&
        v->in[1]->attributes.integer[0] == 0) {
        rgmi_matmul_parts(&m, v->in[1]);
        m.a = rgm_pool_rows(v->in[0], m.a, RGM_SUM);
        return rgmi_matmul_build(&m, NULL);
    }
    if (!plain_product(v))
        return NULL;
    rgmi_matmul_parts(&m, v);
    e = m.a;
    bool rows = rgmi_is(e, &rgmi_broadcast_rows_op),
         columns = rgmi_is(e, &rgmi_broadcast_columns_op);
    if ((!rows && !columns) || (columns && e->in[0]->picks))
        return NULL;
    if (m.trans_a && !m.trans_b)
        return rgm_matmul_t(e->in[1],
                            rgm_pool_rows(rows ? e->in[0] : transposed(e->in[0]), m.b, RGM_SUM),
                            true, false);
    if (m.trans_a)
        return NULL;
    m.a = e->in[1];
    return rgmi_op2(e->type, e->in[0], rgmi_matmul_build(&m, NULL), NULL);
}
