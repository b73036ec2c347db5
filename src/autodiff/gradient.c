/*
 * Gradient as graph (reverse mode): walk the program backwards from the loss, let each op build the
 * gradients of its inputs, sum where a value was used several times. Where blocks are recomputed,
 * an op of one looks at values that are made again from what the block reads, and not at those of
 * the forward pass: nothing then keeps these.
 */
#include "autodiff_internal.h"

typedef struct tape {
    rgm_value **gradient; /* by id of the value                          */
    bool *depends;        /* value lies between wrt and the loss          */
    rgm_value **dx;       /* for one op                                  */
    bool *wanted;
    rgm_value **again; /* by id: what stands for it in gradients, or NULL */
    int64_t block;     /* whose values were made again last               */
    int64_t capacity;
} tape;

static void tape_clear(tape *t)
{
    rgm_free(t->gradient);
    rgm_free(t->depends);
    rgm_free(t->dx);
    rgm_free(t->wanted);
    rgm_free(t->again);
}

static rgm_status tape_init(tape *t, const rgm_cgraph *graph, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (graph->values[i]->inputs > t->capacity)
            t->capacity = graph->values[i]->inputs;
    RGM_TRY(RGM_NEW(t->gradient, count));
    RGM_TRY(RGM_NEW(t->depends, count));
    RGM_TRY(RGM_NEW(t->dx, t->capacity));
    RGM_TRY(RGM_NEW(t->wanted, t->capacity));
    RGM_TRY(RGM_NEW(t->again, count));
    return RGM_OK;
}

/* Whether a gradient goes through v, or would have to: other ops pass none by what they are. */
static bool is_passed(const rgm_value *v)
{
    return v->type != NULL && (v->type->backward != NULL || v->type->no_gradient == rgmi_second);
}

/* Values are built after their inputs, so one sweep in order is enough. */
static void mark_depends(tape *t, const rgm_cgraph *graph, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const rgm_value *v = graph->values[i];
        if (!is_passed(v))
            continue;
        for (int k = 0; k < v->inputs; k++)
            t->depends[i] |= t->depends[v->in[k]->id];
    }
}

/* v over again, on what is made again of its inputs. */
static rgm_status value_again(tape *t, rgm_value *v)
{
    rgm_cgraph *graph = v->graph;

    for (int k = 0; k < v->inputs; k++) {
        rgm_value *again = t->again[v->in[k]->id];
        t->dx[k] = again != NULL ? again : v->in[k];
    }
    graph->scope = v->scope;
    graph->again = v->block;
    t->again[v->id] = rgm_op(graph, v->type, t->dx, v->inputs, &v->attributes);
    graph->again = 0;
    if (t->again[v->id] != NULL)
        t->again[v->id]->name = v->name;
    return rgm_cgraph_status(graph);
}

/* The ops of y's block up to y, the last that a gradient goes through. Patterns stay, and what
 * several processes do in turn. */
static rgm_status block_again(tape *t, rgm_value *y)
{
    rgm_cgraph *graph = y->graph;
    int64_t first = y->id;

    while (first > 0 && graph->values[first - 1]->block == y->block)
        first--;
    for (int64_t i = first; i <= y->id; i++) {
        rgm_value *v = graph->values[i];
        if (v->type != NULL && !v->s.is_pattern && !v->type->in_turn)
            RGM_TRY(value_again(t, v));
    }
    t->block = y->block;
    return RGM_OK;
}

static rgm_status op_backward(tape *t, rgm_value *y)
{
    rgm_value *seen = y;
    bool any = false;

    for (int k = 0; k < y->inputs; k++) {
        t->wanted[k] = t->depends[y->in[k]->id];
        any |= t->wanted[k];
    }
    if (!any)
        return RGM_OK;
    if (y->graph->recompute && y->block > 0 && y->block != t->block)
        RGM_TRY(block_again(t, y));
    if (t->again[y->id] != NULL)
        seen = t->again[y->id];
    y->graph->scope = y->scope;
    if (y->type->backward == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "no gradient goes through op '%s': %s", y->type->name,
                        rgmi_second);
    for (int k = 0; k < y->inputs; k++)
        t->dx[k] = NULL;
    RGM_TRY(y->type->backward(t->dx, seen, t->gradient[y->id], t->wanted));
    RGM_TRY(rgm_cgraph_status(y->graph));
    for (int k = 0; k < y->inputs; k++) {
        rgm_value **sum = &t->gradient[y->in[k]->id];
        if (t->wanted[k] && t->dx[k] != NULL)
            *sum = *sum == NULL ? t->dx[k] : rgm_add(*sum, t->dx[k]);
    }
    return rgm_cgraph_status(y->graph);
}

static rgm_status walk(tape *t, rgm_value **gradients, rgm_value *loss, rgm_value *const *wrt,
                       int64_t count)
{
    rgm_cgraph *graph = loss->graph;
    int64_t last = loss->id;

    t->gradient[last] = rgm_scalar(graph, loss->s.dtype, 1);
    for (int64_t i = last; i >= 0; i--) {
        rgm_value *y = graph->values[i];
        if (t->gradient[i] != NULL && t->depends[i] && is_passed(y))
            RGM_TRY(op_backward(t, y));
    }
    for (int64_t i = 0; i < count; i++) {
        rgm_value *dx = wrt[i]->id <= last ? t->gradient[wrt[i]->id] : NULL;
        gradients[i] = dx != NULL ? dx : rgmi_zeros_like(wrt[i]);
    }
    return rgm_cgraph_status(graph);
}

rgm_status rgm_cgraph_gradients(rgm_value **gradients, rgm_value *loss, rgm_value *const *wrt,
                                int64_t count)
{
    rgm_status status = RGM_OK;
    tape t = {.capacity = 1};
    const char *scope;
    char text[RGMI_TEXT];

    for (int64_t i = 0; i < count; i++)
        gradients[i] = NULL;
    if (loss == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "loss is NULL: see rgm_cgraph_status()");
    RGM_TRY(rgm_cgraph_status(loss->graph));
    if (loss->s.is_pattern || loss->s.rank != 0 || !rgmi_is_float(loss->s.dtype))
        return RGM_FAIL(RGM_ERR_SHAPE, "a loss is a scalar f32 or f64, this is %s",
                        rgm_value_describe(loss, text, sizeof text));
    scope = loss->graph->scope;
    if (loss->graph->forward_count == 0)
        loss->graph->forward_count = loss->graph->count;
    RGM_GO(tape_init(&t, loss->graph, loss->id + 1));
    for (int64_t i = 0; i < count; i++) {
        if (wrt[i] == NULL || wrt[i]->graph != loss->graph || !rgmi_is_float(wrt[i]->s.dtype)) {
            status = RGM_FAIL(RGM_ERR_ARG, "wrt[%lld] is not a float value of the loss's graph",
                              (long long)i);
            goto done;
        }
        if (wrt[i]->id <= loss->id && wrt[i]->leaf != RGMI_STATE)
            t.depends[wrt[i]->id] = true;
    }
    mark_depends(&t, loss->graph, loss->id + 1);
    RGM_GO(walk(&t, gradients, loss, wrt, count));
done:
    loss->graph->scope = scope;
    tape_clear(&t);
    return status;
}
