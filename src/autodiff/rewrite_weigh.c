/*
 * Values whose messages are weighed: what an op sums or reduces over the entries of a fed pattern
 * is multiplied by a weight of each entry first. The ops are built again, inputs first, over what
 * changes; the rest is shared.
 */
#include "autodiff_internal.h"

typedef struct weigher {
    rgm_cgraph *graph;
    const rgm_entry_weight *weights;
    int64_t weight_count;
    int64_t count;    /* values of the graph at the start */
    bool *needed;     /* [count] */
    rgm_value **made; /* [count] */
    rgm_value **in;   /* of the op looked at */
} weigher;

/* Of the fed pattern that p is made of; NULL: its entries are not weighed. */
static rgm_value *fed_weight(const weigher *w, const rgm_value *p)
{
    while (p->type == &rgmi_transpose_pattern_op || p->type == &rgmi_add_self_loops_op)
        p = p->in[0];
    for (int64_t i = 0; i < w->weight_count; i++)
        if (w->weights[i].pattern == p)
            return w->weights[i].weight;
    return NULL;
}

/* Whether the op reduces entries that are weighed. */
static bool is_weighed(const weigher *w, const rgm_value *v)
{
    return (v->type == &rgmi_spmm_op || v->type == &rgmi_pool_rows_op) &&
           fed_weight(w, v->in[0]) != NULL;
}

/* [count] of p's entries. */
static rgm_value *weight_of(const weigher *w, const rgm_value *p, rgm_dtype dtype)
{
    if (p->type == &rgmi_transpose_pattern_op) /* the same entries */
        return weight_of(w, p->in[0], dtype);
    if (p->type == &rgmi_add_self_loops_op) { /* what a node tells itself is no message */
        rgm_value *one = rgm_scalar(w->graph, dtype, 1);
        rgm_value *all[2] = {weight_of(w, p->in[0], dtype),
                             rgmi_broadcast_to(one, 1, &p->s.shape[0])};

        return rgm_concat(all, 2, 0);
    }
    return rgm_cast(fed_weight(w, p), dtype);
}

/* [rows] as [rows, 1, ..] beside x. */
static rgm_value *as_column(rgm_value *weight, const rgm_value *x)
{
    rgm_dim shape[RGM_MAX_RANK];

    if (weight == NULL)
        return NULL;
    shape[0] = weight->s.shape[0];
    for (int i = 1; i < x->s.rank; i++)
        shape[i] = 1;
    return rgm_reshape(weight, x->s.rank, shape);
}

static rgm_value *times(rgm_value *x, rgm_value *rows)
{
    return rows != NULL ? rgm_mul(x, as_column(rows, x)) : x;
}

/* A self loop is no entry and keeps its weight of 1: it is added by itself. */
static rgm_value *sum_weighed(const rgmi_spmm *parts, rgm_value *weight)
{
    rgmi_spmm s = *parts;
    rgm_value *sum, *own;

    s.weight = s.weight == NULL ? weight : times(s.weight, weight);
    s.self_loop = false;
    sum = rgmi_spmm_build(&s, NULL);
    if (!parts->self_loop)
        return sum;
    own = times(s.x, s.column_scale);
    own = own != NULL ? times(own, s.row_scale) : NULL;
    return rgm_add(sum, own);
}

/* The op over in[], whose entries are weighed if it reduces them. */
static rgm_value *build(const weigher *w, const rgm_value *v)
{
    rgm_value *weight = is_weighed(w, v) ? weight_of(w, v->in[0], v->s.dtype) : NULL;

    if (weight != NULL && v->type == &rgmi_spmm_op) {
        rgm_value like = *v;
        rgmi_spmm parts;

        like.in = w->in;
        rgmi_spmm_parts(&parts, &like);
        return sum_weighed(&parts, weight);
    }
    if (weight != NULL)
        w->in[1] = times(w->in[1], weight);
    return rgm_op(w->graph, v->type, w->in, v->inputs, &v->attributes);
}

static rgm_value *remake(const weigher *w, rgm_value *v)
{
    bool changed;
    rgm_value *y;

    if (v->type == &rgmi_when_training_op)
        return w->made[v->in[1]->id];
    changed = is_weighed(w, v);
    for (int i = 0; i < v->inputs; i++) {
        w->in[i] = w->made[v->in[i]->id];
        changed = changed || w->in[i] != v->in[i];
    }
    if (!changed)
        return v;
    w->graph->scope = v->scope;
    y = build(w, v);
    if (y != NULL)
        y->name = v->name;
    return y;
}

static void mark(const weigher *w, const rgm_value *v)
{
    if (!w->needed[v->id])
        return;
    for (int i = 0; i < v->inputs; i++)
        if (i > 0 || v->type != &rgmi_when_training_op)
            w->needed[v->in[i]->id] = true;
}

static rgm_status weigh(const weigher *w, rgm_value **weighed, rgm_value *const *values,
                        int64_t count)
{
    const char *scope = w->graph->scope;

    for (int64_t i = 0; i < count; i++)
        w->needed[values[i]->id] = true;
    for (int64_t i = w->count - 1; i >= 0; i--)
        mark(w, w->graph->values[i]);
    for (int64_t i = 0; i < w->count && rgm_cgraph_status(w->graph) == RGM_OK; i++)
        if (w->needed[i])
            w->made[i] = remake(w, w->graph->values[i]);
    w->graph->scope = scope;
    RGM_TRY(rgm_cgraph_status(w->graph));
    for (int64_t i = 0; i < count; i++)
        weighed[i] = w->made[values[i]->id];
    return RGM_OK;
}

static rgm_status check_weight(const rgm_cgraph *graph, const rgm_entry_weight *weight)
{
    const rgm_value *p = weight->pattern, *x = weight->weight;
    char pattern[RGMI_TEXT], text[RGMI_TEXT];

    if (p == NULL || x == NULL || p->graph != graph || x->graph != graph)
        return RGM_FAIL(RGM_ERR_ARG, "weigh: a pattern or weight is of no or another graph");
    if (p->leaf != RGMI_INPUT || !p->s.is_pattern || x->s.is_pattern || x->s.rank != 1 ||
        x->s.shape[0] != p->s.shape[2] || !rgmi_is_float(x->s.dtype))
        return RGM_FAIL(RGM_ERR_SHAPE, "weigh: a number for each entry of a fed pattern: %s for %s",
                        rgm_value_describe(x, text, sizeof text),
                        rgm_value_describe(p, pattern, sizeof pattern));
    return RGM_OK;
}

rgm_status rgm_cgraph_weigh(rgm_value **weighed, rgm_value *const *values, int64_t count,
                            const rgm_entry_weight *weights, int64_t weight_count)
{
    rgm_status status = RGM_OK;
    weigher w = {.weights = weights, .weight_count = weight_count};
    int widest = 1;

    for (int64_t i = 0; i < count; i++)
        if (values[i] == NULL || values[i]->graph != values[0]->graph)
            return RGM_FAIL(RGM_ERR_ARG, "weigh: value %lld is of no or another graph",
                            (long long)i);
    if (count == 0)
        return RGM_OK;
    w.graph = values[0]->graph;
    w.count = w.graph->count;
    RGM_TRY(rgm_cgraph_status(w.graph));
    for (int64_t i = 0; i < weight_count; i++)
        RGM_TRY(check_weight(w.graph, &weights[i]));
    for (int64_t i = 0; i < w.count; i++)
        widest = w.graph->values[i]->inputs > widest ? w.graph->values[i]->inputs : widest;
    RGM_GO(RGM_NEW(w.needed, w.count));
    RGM_GO(RGM_NEW(w.made, w.count));
    RGM_GO(RGM_NEW(w.in, widest));
    RGM_GO(weigh(&w, weighed, values, count));
done:
    rgm_free(w.needed);
    rgm_free(w.made);
    rgm_free(w.in);
    return status;
}
