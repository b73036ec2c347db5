/*
 * A plan: what depends on the sizes of a run. Shapes of all values, which values are computed once
 * for unchanged feeds (kept), the sequence of ops, and who shares memory with whom; plan_offsets.c
 * then gives offsets. Made once a binding of the symbols and cached by the executor.
 */
#include "executor_internal.h"

enum { KEEP_FREELY = 1 << 16 }; /* bytes that may be kept whatever they were made from */

static bool is_view(const rgm_value *v)
{
    return v->type != NULL && v->type->is_view != NULL && v->type->is_view(v);
}

/* ---- shapes ---- */

static rgm_status view_bind(rgm_view *view, const rgm_value *v, const int64_t *symbols)
{
    int64_t count = (int64_t)rgm_dtype_size(v->s.dtype);
    char text[RGMI_TEXT];

    memset(view, 0, sizeof *view);
    view->dtype = v->s.dtype;
    view->rank = v->s.rank;
    for (int i = 0; i < v->s.rank; i++) {
        view->shape[i] = rgmi_dim_bind(v->s.shape[i], symbols);
        if (view->shape[i] < 0)
            return RGM_FAIL(
                RGM_ERR_SHAPE,
                "axis %d of %s has no size: no fed input binds it, or sizes do not divide", i,
                rgm_value_describe(v, text, sizeof text));
        if (!v->s.is_pattern && __builtin_mul_overflow(count, view->shape[i], &count))
            return RGM_FAIL(RGM_ERR_NOMEM, "%s is too large",
                            rgm_value_describe(v, text, sizeof text));
    }
    return RGM_OK;
}

static rgm_status views_bind(rgmi_plan *plan, const rgm_executor *executor)
{
    for (int64_t s = 0; s < executor->count; s++) {
        const rgm_value *v = executor->order[s];
        rgm_view *view = &plan->views[s];
        rgmi_place *place = &plan->place[s];
        RGM_TRY(view_bind(view, v, plan->symbols));
        place->root = s;
        place->begin = place->end = -1;
        if (!v->s.is_pattern)
            place->bytes = (size_t)rgmi_view_count(view) * rgm_dtype_size(view->dtype);
        if (v->type == NULL) {
            place->where = RGMI_LEAF;
            if (v->constant != NULL)
                view->data = executor->copies != NULL ? executor->copies[s].data
                                                      : rgm_tensor_data(v->constant);
        }
    }
    return RGM_OK;
}

/* ---- what is kept ---- */

static size_t pattern_bytes(const rgm_view *view)
{
    return (size_t)(view->shape[0] + view->shape[1]) * 8 + (size_t)view->shape[2] * 16;
}

/* Not when the value is much larger than the inputs that it comes from. */
static bool keepable(const rgmi_plan *plan, const rgm_executor *executor, int64_t s)
{
    const rgm_value *v = executor->order[s];
    size_t from = KEEP_FREELY;

    if (v->type != NULL && rgmi_is_packed_weight(v))
        return true;
    if (v->type == NULL || !v->fed_only || is_view(v))
        return false;
    if (v->s.is_pattern)
        return true;
    for (int64_t k = 0; k < executor->input_count; k++) {
        const rgm_value *input = executor->inputs[k];
        if ((executor->depends[s * executor->words + k / 64] >> (k % 64) & 1) == 0)
            continue;
        from += 2 * (input->s.is_pattern ? pattern_bytes(&plan->views[input->slot])
                                         : plan->place[input->slot].bytes);
    }
    return plan->place[s].bytes <= from;
}

/* A value that the main part needs: keep it, or compute it there. */
static void need_in_main(rgmi_plan *plan, const rgm_executor *executor, const rgm_value *v,
                         bool hoist)
{
    rgmi_place *place = &plan->place[v->slot];

    if (v->type == NULL || place->kept || place->main)
        return;
    if (hoist && keepable(plan, executor, v->slot))
        place->kept = place->prologue = true;
    else
        place->main = true;
}

static void classify(rgmi_plan *plan, const rgm_executor *executor)
{
    bool hoist = !executor->options.eager && !executor->options.no_fusion;

    for (int64_t i = 0; i < executor->fetch_count; i++)
        need_in_main(plan, executor, executor->fetch[i], hoist);
    for (int64_t s = executor->count - 1; s >= 0; s--) {
        const rgm_value *v = executor->order[s];
        if (plan->place[s].main)
            for (int k = 0; k < v->inputs; k++)
                need_in_main(plan, executor, v->in[k], hoist);
    }
    for (int64_t s = executor->count - 1; s >= 0; s--) {
        const rgm_value *v = executor->order[s];
        if (plan->place[s].prologue)
            for (int k = 0; k < v->inputs; k++)
                if (v->in[k]->type != NULL) {
                    rgmi_place *from = &plan->place[v->in[k]->slot];
                    from->prologue = true;
                    from->kept |= v->in[k]->s.is_pattern && !is_view(v->in[k]) && !from->main;
                }
    }
    for (int64_t s = 0; s < executor->count; s++)
        if (plan->place[s].kept) {
            plan->place[s].where = RGMI_KEPT;
            plan->kept_bytes += executor->order[s]->s.is_pattern
                                    ? (int64_t)pattern_bytes(&plan->views[s])
                                    : (int64_t)plan->place[s].bytes;
        }
}

static rgm_status steps_list(rgmi_plan *plan, rgm_executor *executor)
{
    RGM_TRY(RGM_NEW(plan->steps, 2 * executor->count));
    for (int64_t s = 0; s < executor->count; s++)
        if (plan->place[s].prologue)
            plan->steps[plan->prologue++] = s;
    plan->step_count = plan->prologue;
    if (executor->sequence == NULL)
        RGM_TRY(rgmi_plan_sequence(executor, plan));
    for (int64_t i = 0; i < executor->count; i++)
        if (plan->place[executor->sequence[i]].main)
            plan->steps[plan->step_count++] = executor->sequence[i];
    return RGM_OK;
}

/* ---- memory ---- */

static void extend(rgmi_place *root, int64_t position)
{
    if (root->begin < 0 || position < root->begin)
        root->begin = position;
    if (position > root->end)
        root->end = position;
}

/* Where a product is made whole, it has no place to go to on the way. */
static bool has_scratch(const rgm_value *v, const rgm_executor *executor)
{
    return v->type != NULL && v->type->scratch != NULL &&
           (v->type != &rgmi_matmul_op || rgm_device_is_host(executor->device));
}

/* Views share their input's memory; everything else that is computed starts in the arena. */
static void roots_find(rgmi_plan *plan, const rgm_executor *executor)
{
    for (int64_t s = 0; s < executor->count; s++) {
        const rgm_value *v = executor->order[s];
        rgmi_place *place = &plan->place[s];
        if (is_view(v))
            place->root = plan->place[v->in[0]->slot].root;
        else if (v->type != NULL && !v->s.is_pattern && place->where != RGMI_KEPT &&
                 (place->main || place->prologue))
            place->where = RGMI_ARENA;
        if (has_scratch(v, executor) && (place->main || place->prologue)) {
            rgm_view in[16];
            int count = v->inputs < 16 ? v->inputs : 16;
            for (int k = 0; k < count; k++)
                in[k] = plan->views[v->in[k]->slot];
            place->scratch = v->type->scratch(in, count, &plan->views[s], &v->attributes);
        }
    }
}

static void lifetimes_find(rgmi_plan *plan, const rgm_executor *executor)
{
    for (int64_t i = 0; i < plan->step_count; i++) {
        const rgm_value *v = executor->order[plan->steps[i]];
        extend(&plan->place[plan->place[v->slot].root], i);
        for (int k = 0; k < v->inputs; k++)
            extend(&plan->place[plan->place[v->in[k]->slot].root], i);
    }
    for (int64_t i = 0; i < executor->fetch_count; i++)
        extend(&plan->place[plan->place[executor->fetch[i]->slot].root], plan->step_count);
}

/* Whether y may take over the memory of its input k, whose last reader it is. */
static bool may_take(const rgmi_plan *plan, const rgm_value *y, int k, int64_t position)
{
    const rgm_value *x = y->in[k];
    int64_t root = plan->place[x->slot].root;
    const rgmi_place *from = &plan->place[root], *to = &plan->place[y->slot];

    if (from->where != RGMI_ARENA || from->end != position || from->begin >= position ||
        from->bytes != to->bytes || plan->place[x->slot].bytes != to->bytes ||
        rgm_dtype_size(x->s.dtype) != rgm_dtype_size(y->s.dtype))
        return false;
    for (int j = 0; j < y->inputs; j++) /* another reader of the same memory must be x itself */
        if (j != k && plan->place[y->in[j]->slot].root == root && y->in[j] != x)
            return false;
    return true;
}

/* Only values of the main part: those of the prologue may be run without their inputs. */
static void share_in_place(rgmi_plan *plan, const rgm_executor *executor)
{
    for (int64_t i = plan->prologue; i < plan->step_count; i++) {
        const rgm_value *y = executor->order[plan->steps[i]];
        rgmi_place *place = &plan->place[y->slot];
        int last = rgmi_plan_in_place(plan, y, executor);
        if (place->where != RGMI_ARENA || place->root != y->slot || place->begin != i)
            continue;
        for (int k = 0; k < last; k++) {
            bool twice = false; /* matmul_add(x, x, w): the base must not be read as well */
            for (int j = 0; j < y->inputs; j++)
                twice |= j != k && y->in[j] == y->in[k];
            if ((twice && !rgmi_any_input(y->type)) || !may_take(plan, y, k, i))
                continue;
            int64_t root = plan->place[y->in[k]->slot].root;
            int64_t end = place->end;
            for (int64_t s = y->slot; s < executor->count; s++) /* y and its views */
                if (plan->place[s].root == y->slot)
                    plan->place[s].root = root;
            plan->place[root].end = end;
            break;
        }
    }
}

/* ---- fetched tensors ---- */

void rgmi_plan_release(rgmi_plan *plan, const rgm_executor *executor)
{
    if (plan == NULL)
        return;
    for (int64_t i = 0; plan->fetched != NULL && i < executor->fetch_count; i++)
        rgm_tensor_release(plan->fetched[i]);
    rgm_free(plan->fetched);
    rgm_free(plan->symbols);
    rgm_free(plan->views);
    rgm_free(plan->place);
    rgm_free(plan->steps);
    rgm_free(plan);
}

rgm_status rgmi_plan_create(rgmi_plan **out, rgm_executor *executor, const int64_t *symbols)
{
    rgm_status status = RGM_OK;
    int64_t symbol_count = executor->program->symbol_count;
    rgmi_plan *plan = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(plan, 1));
    RGM_GO(RGM_NEW(plan->symbols, symbol_count));
    if (symbol_count > 0)
        memcpy(plan->symbols, symbols, (size_t)symbol_count * sizeof *symbols);
    RGM_GO(RGM_NEW(plan->views, executor->count));
    RGM_GO(RGM_NEW(plan->place, executor->count));
    RGM_GO(RGM_NEW(plan->fetched, executor->fetch_count));
    RGM_GO(views_bind(plan, executor));
    classify(plan, executor);
    RGM_GO(steps_list(plan, executor));
    roots_find(plan, executor);
    lifetimes_find(plan, executor);
    if (!executor->options.eager)
        share_in_place(plan, executor);
    RGM_GO(rgmi_plan_place(plan, executor));
    *out = plan;
    plan = NULL;
done:
    rgmi_plan_release(plan, executor);
    return status;
}
