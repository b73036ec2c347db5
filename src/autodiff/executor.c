/*
 * The executor: checks what is fed, finds the plan for its sizes, points the views at memory and
 * runs op after op. A run whose feeds have sizes seen before allocates nothing.
 */
#include "executor_internal.h"
#include <math.h>

/* ---- making and releasing ---- */

static rgm_status inputs_find(rgm_executor *executor)
{
    RGM_TRY(RGM_NEW(executor->inputs, executor->source->input_count));
    RGM_TRY(RGM_NEW(executor->input_of, executor->source->input_count));
    executor->source_inputs = executor->source->input_count;
    for (int64_t i = 0; i < executor->source_inputs; i++)
        executor->input_of[i] = -1;
    for (int64_t s = 0; s < executor->count; s++)
        if (executor->order[s]->leaf == RGMI_INPUT) {
            executor->input_of[executor->order[s]->index] = executor->input_count;
            executor->inputs[executor->input_count++] = executor->order[s];
        }
    RGM_TRY(RGM_NEW(executor->fed, executor->input_count));
    RGM_TRY(RGM_NEW(executor->now, executor->input_count));
    RGM_TRY(RGM_NEW(executor->changed, executor->input_count));
    return RGM_OK;
}

static rgm_status depends_find(rgm_executor *executor)
{
    int64_t words = executor->words = (executor->input_count + 63) / 64;

    RGM_TRY(RGM_NEW(executor->depends, executor->count * words));
    for (int64_t k = 0; k < executor->input_count; k++)
        executor->depends[executor->inputs[k]->slot * words + k / 64] |= UINT64_C(1) << (k % 64);
    for (int64_t s = 0; s < executor->count; s++)
        for (int k = 0; k < executor->order[s]->inputs; k++)
            for (int64_t w = 0; w < words; w++)
                executor->depends[s * words + w] |=
                    executor->depends[executor->order[s]->in[k]->slot * words + w];
    return RGM_OK;
}

static rgm_status buffers_create(rgm_executor *executor)
{
    int widest = 1;

    executor->plan_most = executor->options.plans > 0 ? executor->options.plans : RGMI_PLANS;
    RGM_TRY(RGM_NEW(executor->plans, executor->plan_most));
    RGM_TRY(RGM_NEW(executor->kept, executor->count));
    RGM_TRY(RGM_NEW(executor->due, executor->count));
    RGM_TRY(RGM_NEW(executor->kernels, executor->count));
    RGM_TRY(RGM_NEW(executor->seconds, executor->count));
    RGM_TRY(RGM_NEW(executor->runs, executor->count));
    RGM_TRY(RGM_NEW(executor->binding, executor->program->symbol_count));
    for (int64_t s = 0; s < executor->count; s++) {
        const rgm_value *v = executor->order[s];
        executor->kernels[s] = rgmi_kernels_of(v, executor->options.bf16);
        widest = v->inputs > widest ? v->inputs : widest;
    }
    return RGM_NEW(executor->in, widest);
}

static rgm_status fetches_check(rgm_cgraph *graph, rgm_value *const *fetches, int64_t count)
{
    RGM_TRY(rgm_cgraph_status(graph));
    for (int64_t i = 0; i < count; i++) {
        if (fetches[i] == NULL || fetches[i]->graph != graph)
            return RGM_FAIL(RGM_ERR_ARG, "fetch %lld is not a value of this graph", (long long)i);
        if (fetches[i]->s.is_pattern)
            return RGM_FAIL(RGM_ERR_ARG, "fetch %lld is a pattern: only tensors can be fetched",
                            (long long)i);
    }
    return RGM_OK;
}

rgm_status rgm_executor_create(rgm_executor **out, rgm_cgraph *graph, rgm_value *const *fetches,
                               int64_t count, const rgm_executor_options *options)
{
    rgm_status status = RGM_OK;
    rgm_executor *executor = NULL;

    *out = NULL;
    if (graph == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "graph is NULL");
    RGM_TRY(fetches_check(graph, fetches, count));
    RGM_GO(RGM_NEW(executor, 1));
    if (options != NULL)
        executor->options = *options;
    executor->source = graph;
    executor->generation = 1;
    RGM_GO(rgmi_program_create(executor, fetches, count));
    RGM_GO(rgmi_program_optimize(executor));
    RGM_GO(inputs_find(executor));
    RGM_GO(depends_find(executor));
    RGM_GO(buffers_create(executor));
    *out = executor;
    executor = NULL;
done:
    rgm_executor_release(executor);
    return status;
}

void rgm_executor_release(rgm_executor *executor)
{
    if (executor == NULL)
        return;
    for (int64_t i = 0; i < executor->plan_count; i++)
        rgmi_plan_release(executor->plans[i], executor);
    for (int64_t s = 0; executor->kept != NULL && s < executor->count; s++) {
        rgm_free(executor->kept[s].data);
        rgm_pattern_release(executor->kept[s].pattern);
    }
    for (int64_t k = 0; executor->fed != NULL && k < executor->input_count; k++) {
        rgm_tensor_release(executor->fed[k].tensor);
        rgm_pattern_release(executor->fed[k].pattern);
    }
    rgm_free(executor->plans);
    rgm_free(executor->arena);
    rgm_free(executor->order);
    rgm_free(executor->sequence);
    rgm_free(executor->fetch);
    rgm_free(executor->inputs);
    rgm_free(executor->input_of);
    rgm_free(executor->fed);
    rgm_free(executor->now);
    rgm_free(executor->changed);
    rgm_free(executor->depends);
    rgm_free(executor->kept);
    rgm_free(executor->due);
    rgm_free((void *)(uintptr_t)executor->kernels);
    rgm_free(executor->seconds);
    rgm_free(executor->runs);
    rgm_free(executor->binding);
    rgm_free(executor->in);
    rgm_cgraph_release(executor->program);
    rgm_free(executor);
}

/* ---- feeds ---- */

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

static rgm_status symbols_bind(rgm_executor *executor)
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

static rgm_status feeds_match(rgm_executor *executor, const rgm_feed *feeds, int64_t count,
                              bool *any_changed)
{
    char text[RGMI_TEXT];

    for (int64_t k = 0; k < executor->input_count; k++)
        executor->now[k] = (rgmi_fed){0};
    for (int64_t i = 0; i < count; i++) {
        const rgm_value *input = feeds[i].input;
        if (input == NULL || input->graph != executor->source || input->leaf != RGMI_INPUT)
            return RGM_FAIL(RGM_ERR_ARG, "feed %lld is not for an input of this graph",
                            (long long)i);
        int64_t k = input->index < executor->source_inputs ? executor->input_of[input->index] : -1;
        if (k >= 0)
            executor->now[k] = (rgmi_fed){.tensor = feeds[i].tensor, .pattern = feeds[i].pattern};
    }
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

/* Remember what is fed; what was kept and depends on a changed input is no longer valid. */
static void feeds_accept(rgm_executor *executor)
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

/* Packed weights of other parameters, or of what these were before, are no longer valid. */
static void parameters_accept(rgm_executor *executor, const rgm_parameters *parameters)
{
    uint64_t version = parameters != NULL ? rgmi_parameters_version(parameters) : 0;

    for (int64_t s = 0; s < executor->count && version != executor->version; s++)
        if (rgmi_is_packed_weight(executor->order[s]))
            executor->kept[s].valid = false;
    executor->version = version;
}

/* ---- plan ---- */

/* In the place of the one that was not used for longest, when all are taken. */
static rgm_status plan_add(rgmi_plan **out, rgm_executor *executor)
{
    rgmi_plan *plan;
    int64_t at = executor->plan_count;

    RGM_TRY(rgmi_plan_create(&plan, executor, executor->binding));
    if (at < executor->plan_most) {
        executor->plan_count++;
    } else {
        at = 0;
        for (int64_t i = 1; i < executor->plan_most; i++)
            if (executor->plans[i]->used < executor->plans[at]->used)
                at = i;
        if (executor->current == executor->plans[at])
            executor->current = NULL;
        rgmi_plan_release(executor->plans[at], executor);
    }
    *out = executor->plans[at] = plan;
    return RGM_OK;
}

static rgm_status plan_find(rgm_executor *executor)
{
    size_t bytes = (size_t)executor->program->symbol_count * sizeof *executor->binding;
    rgmi_plan *plan = NULL;

    for (int64_t i = 0; plan == NULL && i < executor->plan_count; i++)
        if (bytes == 0 || memcmp(executor->plans[i]->symbols, executor->binding, bytes) == 0)
            plan = executor->plans[i];
    if (plan == NULL)
        RGM_TRY(plan_add(&plan, executor));
    if (executor->current != plan) /* what is kept may depend on sizes alone */
        for (int64_t s = 0; s < executor->count; s++)
            executor->kept[s].valid &= rgmi_is_packed_weight(executor->order[s]);
    executor->current = plan;
    return RGM_OK;
}

static rgm_status memory_reserve(rgm_executor *executor, const rgmi_plan *plan)
{
    if (plan->arena_bytes > executor->arena_bytes) {
        rgm_free(executor->arena);
        executor->arena_bytes = 0;
        executor->generation++;
        executor->arena = rgm_malloc(plan->arena_bytes);
        if (executor->arena == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes for the arena",
                            plan->arena_bytes);
        executor->arena_bytes = plan->arena_bytes;
    }
    for (int64_t i = 0; i < plan->prologue; i++) {
        int64_t s = plan->steps[i];
        rgmi_kept *kept = &executor->kept[s];
        size_t need = plan->place[s].bytes > 0 ? plan->place[s].bytes : 1;
        if (plan->place[s].where != RGMI_KEPT || executor->order[s]->s.is_pattern ||
            kept->capacity >= need)
            continue;
        executor->generation++;
        kept->capacity = 0;
        kept->valid = false;
        rgm_free(kept->data);
        kept->data = rgm_malloc(need);
        if (kept->data == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes to keep", need);
        kept->capacity = need;
    }
    return RGM_OK;
}

/* Point the plan's views and fetched tensors at the memory as it lies now. */
static rgm_status plan_rebase(rgm_executor *executor, rgmi_plan *plan)
{
    for (int64_t s = 0; s < executor->count; s++) {
        const rgmi_place *place = &plan->place[s];
        if (place->where == RGMI_ARENA)
            plan->views[s].data = executor->arena + place->offset;
        else if (place->where == RGMI_KEPT && !executor->order[s]->s.is_pattern)
            plan->views[s].data = executor->kept[s].data;
    }
    for (int64_t i = 0; i < executor->fetch_count; i++) {
        int64_t s = executor->fetch[i]->slot;
        const rgm_view *view = &plan->views[s];
        rgm_tensor_release(plan->fetched[i]);
        plan->fetched[i] = NULL;
        if (executor->order[s]->type == NULL)
            continue;
        void *data = view->data;
        if (plan->place[s].where == RGMI_NOWHERE) /* a view: the address comes when it has run */
            continue;
        RGM_TRY(rgm_tensor_wrap(&plan->fetched[i], view->dtype, view->rank, view->shape, data, NULL,
                                NULL));
    }
    plan->generation = executor->generation;
    return RGM_OK;
}

static rgm_tensor *parameter_of(const rgm_parameters *parameters, const rgm_value *v)
{
    if (v->index < rgm_parameters_count(parameters) &&
        strcmp(rgm_parameters_name(parameters, v->index), v->name) == 0)
        return rgm_parameters_tensor(parameters, v->index);
    return rgm_parameters_find(parameters, v->name);
}

static rgm_status leaves_set(rgm_executor *executor, rgmi_plan *plan,
                             const rgm_parameters *parameters)
{
    for (int64_t k = 0; k < executor->input_count; k++) {
        rgm_view *view = &plan->views[executor->inputs[k]->slot];
        if (executor->inputs[k]->s.is_pattern) {
            view->pattern = executor->now[k].pattern;
            view->csr = rgm_pattern_by_row(view->pattern);
            view->csr_t = rgm_pattern_by_column(view->pattern);
        } else {
            view->data = rgm_tensor_data(executor->now[k].tensor);
        }
    }
    for (int64_t s = 0; s < executor->count; s++) {
        const rgm_value *v = executor->order[s];
        char want[RGMI_TEXT], got[RGMI_TEXT];
        if (!rgmi_is_stored(v->leaf))
            continue;
        rgm_tensor *tensor = parameters != NULL ? parameter_of(parameters, v) : NULL;
        if (tensor == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "parameter '%s' has no value: %s", v->name,
                            parameters == NULL ? "parameters is NULL"
                                               : "these parameters were made without it");
        bool fits = rgm_tensor_dtype(tensor) == v->s.dtype && rgm_tensor_rank(tensor) == v->s.rank;
        for (int i = 0; fits && i < v->s.rank; i++)
            fits = rgm_tensor_shape(tensor)[i] == v->s.shape[i];
        if (!fits)
            return RGM_FAIL(RGM_ERR_SHAPE, "parameter '%s' is %s, its value is %s", v->name,
                            rgm_value_describe(v, want, sizeof want),
                            rgm_tensor_describe(tensor, got, sizeof got));
        plan->views[s].data = rgm_tensor_data(tensor);
    }
    return RGM_OK;
}

/* ---- running ---- */

rgm_status rgmi_check_finite(const rgm_view *view, const rgm_kernels *kernels,
                             const rgm_value *value)
{
    int64_t count = rgmi_view_count(view), i = 0;
    char text[RGMI_TEXT];

    if (value->s.is_pattern || !rgmi_is_float(view->dtype) || count == 0 ||
        kernels->all_finite(view->data, count))
        return RGM_OK;
    while (i < count && isfinite(view->dtype == RGM_F64 ? ((const double *)view->data)[i]
                                                        : ((const float *)view->data)[i]))
        i++;
    double x =
        view->dtype == RGM_F64 ? ((const double *)view->data)[i] : ((const float *)view->data)[i];
    return RGM_FAIL(RGM_ERR_NUMERIC, "%s%s%s%s %s%s%s has %s at element %lld",
                    value->type != NULL ? "op " : "", value->type != NULL ? value->type->name : "",
                    value->type == NULL ? "value" : "", value->type != NULL ? " gave" : "",
                    value->name != NULL ? value->name : "", value->name != NULL ? " " : "",
                    rgm_value_describe(value, text, sizeof text), isnan(x) ? "NaN" : "infinity",
                    (long long)i);
}

static rgm_status in_context(rgm_status status, const rgm_value *v)
{
    if (v->scope != NULL)
        return rgm_error_prefix(status, "%s (in scope '%s')", v->type->name, v->scope);
    return rgm_error_prefix(status, "%s", v->type->name);
}

/* What an op took, for the profile and for who watches. */
static void tell_time(rgm_executor *executor, int64_t s, double begin, double end,
                      rgm_status status)
{
    const rgm_value *v = executor->order[s];
    rgm_op_event event = {.op = v->type->name,
                          .scope = v->scope,
                          .backward = v->order >= rgm_cgraph_forward_count(executor->source),
                          .begin = begin,
                          .end = end};

    if (executor->profile) {
        executor->seconds[s] += end - begin;
        executor->runs[s]++;
    }
    if (executor->observer == NULL || status != RGM_OK)
        return;
    event.flops = rgmi_flops(v, executor->in, &executor->current->views[s]);
    event.bytes = rgmi_bytes(v, executor->in, &executor->current->views[s]);
    executor->observer(&event, executor->observer_payload);
}

static rgm_status step_run(rgm_executor *executor, rgmi_plan *plan, int64_t s, uint64_t seed,
                           uint64_t step)
{
    const rgm_value *v = executor->order[s];
    rgm_view *out = &plan->views[s];
    rgm_op_run run = {.in = executor->in,
                      .inputs = v->inputs,
                      .out = out,
                      .attributes = &v->attributes,
                      .kernels = executor->kernels[s],
                      .seed = seed,
                      .step = step,
                      .training = executor->options.training,
                      .scratch = executor->arena + plan->place[s].scratch_offset,
                      .symbols = plan->symbols};

    for (int k = 0; k < v->inputs; k++)
        executor->in[k] = plan->views[v->in[k]->slot];
    if (plan->place[s].where == RGMI_NOWHERE && !v->s.is_pattern)
        out->data = NULL;
    bool owned = v->s.is_pattern && v->type->is_view == NULL;
    if (owned) {
        rgm_pattern_release(executor->kept[s].pattern);
        executor->kept[s].pattern = NULL;
        out->pattern = NULL;
    }
    bool timed = executor->profile || executor->observer != NULL;
    double begin = timed ? rgm_now() : 0;
    rgm_status status = v->type->forward(&run);
    if (timed)
        tell_time(executor, s, begin, rgm_now(), status);
    if (owned)
        executor->kept[s].pattern = out->pattern;
    if (status == RGM_OK && executor->options.eager)
        status = rgmi_check_finite(out, executor->kernels[s], v);
    return status == RGM_OK ? RGM_OK : in_context(status, v);
}

/* Steps of the prologue whose kept result is not valid, and what they need. */
static void due_find(rgm_executor *executor, const rgmi_plan *plan)
{
    for (int64_t i = 0; i < plan->prologue; i++)
        executor->due[plan->steps[i]] = false;
    for (int64_t i = plan->prologue - 1; i >= 0; i--) {
        int64_t s = plan->steps[i];
        const rgm_value *v = executor->order[s];
        if (plan->place[s].kept && !executor->kept[s].valid)
            executor->due[s] = true;
        if (!executor->due[s])
            continue;
        for (int k = 0; k < v->inputs; k++)
            if (v->in[k]->type != NULL && !plan->place[v->in[k]->slot].kept)
                executor->due[v->in[k]->slot] = true;
    }
}

static rgm_status prologue_run(rgm_executor *executor, rgmi_plan *plan)
{
    for (int64_t i = 0; i < plan->prologue; i++) { /* kept patterns of this plan */
        int64_t s = plan->steps[i];
        rgm_pattern *pattern = executor->kept[s].pattern;
        if (plan->place[s].kept && executor->order[s]->s.is_pattern && executor->kept[s].valid) {
            plan->views[s].pattern = pattern;
            plan->views[s].csr = rgm_pattern_by_row(pattern);
            plan->views[s].csr_t = rgm_pattern_by_column(pattern);
        }
    }
    due_find(executor, plan);
    for (int64_t i = 0; i < plan->prologue; i++) {
        int64_t s = plan->steps[i];
        if (!executor->due[s])
            continue;
        executor->kept[s].valid = false;
        RGM_TRY(step_run(executor, plan, s, 0, 0));
        executor->kept[s].valid = plan->place[s].kept;
    }
    return RGM_OK;
}

static rgm_status leaves_check(const rgm_executor *executor, const rgmi_plan *plan)
{
    for (int64_t s = 0; s < executor->count; s++)
        if (executor->order[s]->type == NULL)
            RGM_TRY(rgmi_check_finite(&plan->views[s], executor->kernels[s], executor->order[s]));
    return RGM_OK;
}

/* A fetched view of a computed value: its tensor is made again when its address has changed. */
static rgm_status fetched_view(rgmi_plan *plan, int64_t i, const rgm_view *view)
{
    if (plan->fetched[i] != NULL && rgm_tensor_data(plan->fetched[i]) == view->data)
        return RGM_OK;
    rgm_tensor_release(plan->fetched[i]);
    plan->fetched[i] = NULL;
    return rgm_tensor_wrap(&plan->fetched[i], view->dtype, view->rank, view->shape, view->data,
                           NULL, NULL);
}

static rgm_status results_give(rgm_executor *executor, rgmi_plan *plan, rgm_tensor **fetched,
                               const rgm_parameters *parameters)
{
    for (int64_t i = 0; i < executor->fetch_count; i++) {
        const rgm_value *v = executor->fetch[i];
        if (plan->place[v->slot].where == RGMI_NOWHERE)
            RGM_TRY(fetched_view(plan, i, &plan->views[v->slot]));
        fetched[i] = plan->fetched[i];
        if (v->leaf == RGMI_INPUT)
            fetched[i] = executor->now[executor->input_of[v->index]].tensor;
        else if (rgmi_is_stored(v->leaf))
            fetched[i] = parameter_of(parameters, v);
        else if (v->leaf == RGMI_CONSTANT)
            fetched[i] = v->constant;
    }
    return RGM_OK;
}

rgm_status rgm_executor_run(rgm_executor *executor, rgm_tensor **fetched,
                            const rgm_parameters *parameters, const rgm_feed *feeds,
                            int64_t feed_count, uint64_t seed, uint64_t step)
{
    bool any_changed;

    for (int64_t i = 0; i < executor->fetch_count; i++)
        fetched[i] = NULL;
    RGM_TRY(feeds_match(executor, feeds, feed_count, &any_changed));
    if (any_changed || executor->current == NULL) {
        RGM_TRY(symbols_bind(executor));
        RGM_TRY(plan_find(executor));
        feeds_accept(executor);
    }
    rgmi_plan *plan = executor->current;
    plan->used = ++executor->clock;
    RGM_TRY(memory_reserve(executor, plan));
    if (plan->generation != executor->generation)
        RGM_TRY(plan_rebase(executor, plan));
    RGM_TRY(leaves_set(executor, plan, parameters));
    parameters_accept(executor, parameters);
    if (executor->options.eager)
        RGM_TRY(leaves_check(executor, plan));
    RGM_TRY(prologue_run(executor, plan));
    for (int64_t i = plan->prologue; i < plan->step_count; i++)
        RGM_TRY(step_run(executor, plan, plan->steps[i], seed, step));
    return results_give(executor, plan, fetched, parameters);
}
