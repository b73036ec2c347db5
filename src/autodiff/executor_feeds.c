/*
 * What a run is fed: which input gets what, whether shapes agree, which sizes the symbols have, and
 * what of the run before is no longer valid.
 */
#include "executor_internal.h"

static rgm_status feed_shape(const rgm_executor *executor, int64_t k, int64_t shape[RGM_MAX_RANK])
{
    const rgm_value *input = executor->inputs[k];
    const rgmi_fed *now = &executor->now[k];
    char want[RGMI_TEXT], got[RGMI_TEXT];

    if (input->s.is_pattern) {
        if (now->pattern == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "input '%s' is a pattern and was fed a tensor",
                            input->name);
        const rgm_csr *csr = rgm_pattern_by_row(now->pattern);
        shape[0] = csr->rows;
        shape[1] = csr->columns;
        shape[2] = csr->count;
        return RGM_OK;
    }
    if (now->tensor == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "input '%s' is a tensor and was fed a pattern", input->name);
    if (rgm_tensor_dtype(now->tensor) != input->s.dtype ||
        rgm_tensor_rank(now->tensor) != input->s.rank)
        return RGM_FAIL(
            rgm_tensor_rank(now->tensor) != input->s.rank ? RGM_ERR_SHAPE : RGM_ERR_DTYPE,
            "input '%s' is %s, fed %s", input->name, rgm_value_describe(input, want, sizeof want),
            rgm_tensor_describe(now->tensor, got, sizeof got));
    for (int i = 0; i < input->s.rank; i++)
        shape[i] = rgm_tensor_shape(now->tensor)[i];
    return RGM_OK;
}

/* Which input bound the symbol first, for the message. */
static rgm_status disagree(const rgm_executor *executor, int64_t k, int axis, int64_t size)
{
    rgm_dim dim = executor->inputs[k]->s.shape[axis];
    char name[RGMI_TEXT] = "";

    rgmi_dim_text(name, sizeof name, executor->program, dim);
    for (int64_t j = 0; j < k && dim < 0; j++)
        for (int i = 0; i < executor->inputs[j]->s.rank; i++)
            if (executor->inputs[j]->s.shape[i] == dim)
                return RGM_FAIL(RGM_ERR_SHAPE,
                                "sizes of '%s' differ: %lld from input '%s', %lld from input '%s'",
                                name, (long long)rgmi_dim_bind(dim, executor->binding),
                                executor->inputs[j]->name, (long long)size,
                                executor->inputs[k]->name);
    return RGM_FAIL(RGM_ERR_SHAPE, "axis %d of input '%s' is %lld, must be %s%s%lld", axis,
                    executor->inputs[k]->name, (long long)size, dim < 0 ? name : "",
                    dim < 0 ? " = " : "", (long long)rgmi_dim_bind(dim, executor->binding));
}

rgm_status rgmi_feeds_bind(rgm_executor *executor)
{
    const rgm_cgraph *program = executor->program;
    int64_t shape[RGM_MAX_RANK];

    for (int64_t i = 0; i < program->symbol_count; i++)
        executor->binding[i] = -1;
    for (int64_t k = 0; k < executor->input_count; k++) {
        const rgm_op_shape *s = &executor->inputs[k]->s;
        RGM_TRY(feed_shape(executor, k, shape));
        for (int i = 0; i < s->rank; i++) {
            bool is_free = s->shape[i] < 0 && program->symbols[-s->shape[i] - 1].kind == RGMI_FREE;
            if (is_free && executor->binding[-s->shape[i] - 1] < 0)
                executor->binding[-s->shape[i] - 1] = shape[i];
            else if ((is_free || s->shape[i] >= 0) &&
                     rgmi_dim_bind(s->shape[i], executor->binding) != shape[i])
                return disagree(executor, k, i, shape[i]);
        }
    }
    rgmi_symbols_derive(executor->binding, program->symbols, program->symbol_count);
    for (int64_t k = 0; k < executor->input_count; k++) { /* derived sizes of inputs */
        const rgm_op_shape *s = &executor->inputs[k]->s;
        RGM_TRY(feed_shape(executor, k, shape));
        for (int i = 0; i < s->rank; i++)
            if (rgmi_dim_bind(s->shape[i], executor->binding) != shape[i])
                return disagree(executor, k, i, shape[i]);
    }
    return RGM_OK;
}

/* A tensor of a device is used where it lies. */
static rgm_status check_place(const rgm_executor *executor, const rgm_feed *feed)
{
    rgm_device *device = feed->tensor != NULL ? rgm_tensor_device(feed->tensor) : NULL;

    return device == NULL || device == executor->device
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_ARG, "input '%s' was fed a tensor of %s, and this runs on %s",
                          feed->input->name, rgm_device_about(device),
                          rgm_device_about(executor->device));
}

rgm_status rgmi_feeds_take(const rgm_executor *executor, rgmi_fed *fed, const rgm_feed *feeds,
                           int64_t count)
{
    for (int64_t k = 0; k < executor->input_count; k++)
        fed[k] = (rgmi_fed){0};
    for (int64_t i = 0; i < count; i++) {
        const rgm_value *input = feeds[i].input;
        if (input == NULL || input->graph != executor->source || input->leaf != RGMI_INPUT)
            return RGM_FAIL(RGM_ERR_ARG, "feed %lld is not for an input of this graph",
                            (long long)i);
        int64_t k = input->index < executor->source_inputs ? executor->input_of[input->index] : -1;
        RGM_TRY(check_place(executor, &feeds[i]));
        if (k >= 0)
            fed[k] = (rgmi_fed){.tensor = feeds[i].tensor, .pattern = feeds[i].pattern};
    }
    return RGM_OK;
}

rgm_status rgmi_feeds_match(rgm_executor *executor, const rgm_feed *feeds, int64_t count,
                            bool *any_changed)
{
    char text[RGMI_TEXT];

    RGM_TRY(rgmi_feeds_take(executor, executor->now, feeds, count));
    *any_changed = false;
    for (int64_t k = 0; k < executor->input_count; k++) {
        const rgmi_fed *now = &executor->now[k], *before = &executor->fed[k];
        if (now->tensor == NULL && now->pattern == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "input '%s' %s was not fed", executor->inputs[k]->name,
                            rgm_value_describe(executor->inputs[k], text, sizeof text));
        executor->changed[k] = now->tensor != before->tensor || now->pattern != before->pattern;
        *any_changed |= executor->changed[k];
    }
    return RGM_OK;
}

void rgmi_feeds_accept(rgm_executor *executor)
{
    for (int64_t s = 0; s < executor->count; s++) {
        if (!executor->kept[s].valid)
            continue;
        for (int64_t k = 0; k < executor->input_count; k++)
            if (executor->changed[k] &&
                (executor->depends[s * executor->words + k / 64] >> (k % 64) & 1) != 0)
                executor->kept[s].valid = false;
    }
    for (int64_t k = 0; k < executor->input_count; k++) {
        rgmi_fed *fed = &executor->fed[k];
        if (!executor->changed[k])
            continue;
        if (executor->now[k].tensor != NULL)
            rgm_tensor_retain(executor->now[k].tensor);
        if (executor->now[k].pattern != NULL)
            rgm_pattern_retain(executor->now[k].pattern);
        rgm_tensor_release(fed->tensor);
        rgm_pattern_release(fed->pattern);
        *fed = executor->now[k];
    }
}
