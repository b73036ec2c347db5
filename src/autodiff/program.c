/*
 * The executor's private graph: a copy of what the fetches need, in which passes may replace
 * values. Values keep the place they had in the program as written (order), so that the sequence of
 * the whole stays the author's where nothing speaks against it.
 */
#include "executor_internal.h"
#include <stdlib.h>

static rgm_status leaf_copy(rgm_value **out, rgm_cgraph *program, const rgm_value *v)
{
    rgm_value *copy = rgmi_value_new(program);

    *out = copy;
    if (copy == NULL)
        return rgm_cgraph_status(program);
    copy->leaf = v->leaf;
    copy->s = v->s;
    copy->index = v->index;
    copy->picks = v->picks;
    copy->constant = v->constant != NULL ? rgm_tensor_retain(v->constant) : NULL;
    return RGM_OK;
}

/* The branch that this executor takes: `a` of when_training(a, b) while training, else `b`. */
static int branch(const rgm_executor *executor)
{
    return executor->options.training ? 0 : 1;
}

/* Which values of the source are needed, by id. */
static void mark_needed(bool *needed, const rgm_executor *executor)
{
    const rgm_cgraph *source = executor->source;

    for (int64_t i = source->count - 1; i >= 0; i--) {
        const rgm_value *v = source->values[i];
        if (needed[i] && v->type == &rgmi_when_training_op) {
            needed[v->in[branch(executor)]->id] = true;
            continue;
        }
        for (int k = 0; needed[i] && k < v->inputs; k++)
            needed[v->in[k]->id] = true;
    }
}

static rgm_status value_copy(rgm_value **copies, rgm_value **in, rgm_cgraph *program, rgm_value *v)
{
    rgm_value *copy;

    program->order = v->id;
    program->scope = v->scope;
    program->again = v->again;
    if (v->type == NULL) {
        RGM_TRY(leaf_copy(&copy, program, v));
    } else {
        for (int k = 0; k < v->inputs; k++)
            in[k] = copies[v->in[k]->id];
        copy = rgm_op(program, v->type, in, v->inputs, &v->attributes);
        RGM_TRY(rgm_cgraph_status(program));
    }
    if (copy->type == &rgmi_transpose_pattern_op)
        copy->in[0]->transposed = copy;
    copy->name = v->name;
    copy->original = v;
    copies[v->id] = copy;
    return RGM_OK;
}

static rgm_status copy_all(rgm_executor *executor, bool *needed, rgm_value **copies, rgm_value **in)
{
    const rgm_cgraph *source = executor->source;

    for (int64_t i = 0; i < source->count; i++) {
        rgm_value *v = source->values[i];
        if (needed[i] && v->type == &rgmi_when_training_op)
            copies[i] = copies[v->in[branch(executor)]->id];
        else if (needed[i])
            RGM_TRY(value_copy(copies, in, executor->program, v));
    }
    for (int64_t i = 0; i < executor->fetch_count; i++) {
        executor->fetch[i] = copies[executor->fetch[i]->id];
        executor->fetch[i]->fetched = true;
    }
    return RGM_OK;
}

rgm_status rgmi_program_create(rgm_executor *executor, rgm_value *const *fetches, int64_t count)
{
    rgm_status status = RGM_OK;
    const rgm_cgraph *source = executor->source;
    bool *needed = NULL;
    rgm_value **copies = NULL, **in = NULL;
    int widest = 1;

    RGM_GO(rgmi_cgraph_create_like(&executor->program, source));
    RGM_GO(RGM_NEW(executor->fetch, count));
    RGM_GO(RGM_NEW(needed, source->count));
    RGM_GO(RGM_NEW(copies, source->count));
    executor->fetch_count = count;
    for (int64_t i = 0; i < count; i++) {
        executor->fetch[i] = fetches[i];
        needed[fetches[i]->id] = true;
    }
    mark_needed(needed, executor);
    for (int64_t i = 0; i < source->count; i++)
        widest = source->values[i]->inputs > widest ? source->values[i]->inputs : widest;
    RGM_GO(RGM_NEW(in, widest));
    RGM_GO(copy_all(executor, needed, copies, in));
    executor->program->again = 0;
done:
    if (status != RGM_OK)
        executor->fetch_count = 0;
    rgm_free(needed);
    rgm_free(copies);
    rgm_free(in);
    return status;
}

static int by_order(const void *a, const void *b)
{
    const rgm_value *x = *(rgm_value *const *)a, *y = *(rgm_value *const *)b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Emit v after its inputs. Depth is bounded by an explicit stack: chains can be long. */
static void emit(rgm_value *v, rgm_value **order, int64_t *count, rgm_value **stack)
{
    int64_t depth = 0;

    if (v->slot != -2)
        return;
    stack[depth++] = v;
    v->slot = -3; /* being visited */
    while (depth > 0) {
        rgm_value *top = stack[depth - 1], *next = NULL;
        for (int k = 0; next == NULL && k < top->inputs; k++)
            if (top->in[k]->slot == -2)
                next = top->in[k];
        if (next != NULL) {
            next->slot = -3;
            stack[depth++] = next;
            continue;
        }
        top->slot = *count;
        order[(*count)++] = top;
        depth--;
    }
}

static void mark_reachable(rgm_executor *executor, rgm_value **stack)
{
    int64_t depth = 0;

    for (int64_t i = 0; i < executor->program->count; i++)
        executor->program->values[i]->slot = -1;
    for (int64_t i = 0; i < executor->fetch_count; i++)
        if (executor->fetch[i]->slot == -1) {
            executor->fetch[i]->slot = -2;
            stack[depth++] = executor->fetch[i];
        }
    while (depth > 0) {
        rgm_value *v = stack[--depth];
        for (int k = 0; k < v->inputs; k++)
            if (v->in[k]->slot == -1) {
                v->in[k]->slot = -2;
                stack[depth++] = v->in[k];
            }
    }
}

static void count_uses(rgm_executor *executor)
{
    for (int64_t i = 0; i < executor->count; i++) {
        rgm_value *v = executor->order[i];
        v->uses = 0;
        v->fetched = false;
        v->fed_only = v->leaf == RGMI_INPUT || v->leaf == RGMI_CONSTANT ||
                      (v->type != NULL && !v->type->random && !v->type->in_turn);
        for (int k = 0; k < v->inputs; k++) {
            v->in[k]->uses++;
            v->fed_only = v->fed_only && v->in[k]->fed_only;
        }
    }
    for (int64_t i = 0; i < executor->fetch_count; i++) {
        executor->fetch[i]->uses++;
        executor->fetch[i]->fetched = true;
    }
}

rgm_status rgmi_program_order(rgm_executor *executor)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *program = executor->program;
    rgm_value **sorted = NULL, **stack = NULL, **order = NULL;
    int64_t needed = 0, count = 0;

    RGM_GO(RGM_NEW(sorted, program->count));
    RGM_GO(RGM_NEW(stack, program->count));
    RGM_GO(RGM_NEW(order, program->count));
    mark_reachable(executor, stack);
    for (int64_t i = 0; i < program->count; i++)
        if (program->values[i]->slot == -2)
            sorted[needed++] = program->values[i];
    if (needed > 0)
        qsort(sorted, (size_t)needed, sizeof *sorted, by_order);
    for (int64_t i = 0; i < needed; i++)
        emit(sorted[i], order, &count, stack);
    rgm_free(executor->order);
    executor->order = order;
    executor->count = count;
    order = NULL;
    count_uses(executor);
done:
    rgm_free(sorted);
    rgm_free(stack);
    rgm_free(order);
    return status;
}

const rgm_kernels *rgmi_kernels_of(const rgm_value *v, const rgm_executor *executor)
{
    rgm_dtype dtype = RGM_F32;

    if (!v->s.is_pattern && rgmi_is_float(v->s.dtype)) {
        dtype = v->s.dtype;
    } else {
        for (int k = v->inputs - 1; k >= 0; k--)
            if (!v->in[k]->s.is_pattern && rgmi_is_float(v->in[k]->s.dtype))
                dtype = v->in[k]->s.dtype;
    }
    if (executor->options.bf16 && dtype == RGM_F32)
        dtype = RGM_BF16;
    if (executor->options.int8 && dtype == RGM_F32)
        dtype = RGM_I8;
    return rgm_kernels_for(executor->device, dtype);
}
