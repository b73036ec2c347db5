/*
 * Gradient as graph (reverse mode): walk the program backwards from the loss, let each op build the
 * gradients of its inputs, sum where a value was used several times.
 */
#include "autodiff_internal.h"

typedef struct tape {
    rgm_value **gradient; /* by id of the value                          */
    bool *depends;        /* value lies between wrt and the loss          */
    rgm_value **dx;       /* for one op                                  */
    bool *wanted;
    int64_t capacity;
} tape;

static void tape_clear(tape *t)
{
    rgm_free(t->gradient);
    rgm_free(t->depends);
    rgm_free(t->dx);
    rgm_free(t->wanted);
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

static rgm_status op_backward(tape *t, rgm_value *y)
{
    bool any = false;

    for (int k = 0; k < y->inputs; k++) {
        t->dx[k] = NULL;
        t->wanted[k] = t->depends[y->in[k]->id];
        any |= t->wanted[k];
    }
    if (!any)
        return RGM_OK;
    y->graph->scope = y->scope;
    if (y->type->backward == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "no gradient goes through op '%s': %s", y->type->name,
                        rgmi_second);
    RGM_TRY(y->type->backward(t->dx, y, t->gradient[y->id], t->wanted));
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
