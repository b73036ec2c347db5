/*
 * The executor: finds the plan for the sizes of what is fed, points the views at memory and runs op
 * after op. A run whose feeds have sizes seen before allocates nothing.
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

static rgm_status fetches_list(rgm_executor *executor)
{
    RGM_TRY(RGM_NEW(executor->first_fetch, executor->count));
    RGM_TRY(RGM_NEW(executor->next_fetch, executor->fetch_count));
    for (int64_t s = 0; s < executor->count; s++)
        executor->first_fetch[s] = -1;
    for (int64_t i = executor->fetch_count - 1; i >= 0; i--) {
        int64_t *first = &executor->first_fetch[executor->fetch[i]->slot];

        executor->next_fetch[i] = *first;
        *first = i;
    }
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
        executor->kernels[s] = rgmi_kernels_of(v, executor);
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

static rgm_status options_check(const rgm_executor_options *o)
{
    if (!o->int8)
        return RGM_OK;
    if (!o->inference || o->bf16)
        return RGM_FAIL(RGM_ERR_ARG, "int8 is for weights in use: with inference, without bf16");
    if (o->device != NULL && rgm_kernels_for(o->device, RGM_I8) == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "products in 8 bits are made on the CPU alone");
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
    if (options != NULL)
        RGM_TRY(options_check(options));
    RGM_GO(RGM_NEW(executor, 1));
    if (options != NULL)
        executor->options = *options;
    executor->device =
        executor->options.device != NULL ? executor->options.device : rgm_device_cpu();
    executor->source = graph;
    executor->generation = 1;
    RGM_GO(rgmi_program_create(executor, fetches, count));
    RGM_GO(rgmi_program_optimize(executor));
    RGM_GO(inputs_find(executor));
    RGM_GO(fetches_list(executor));
    RGM_GO(depends_find(executor));
    RGM_GO(buffers_create(executor));
    RGM_GO(rgmi_packs_open(executor));
    RGM_GO(rgmi_copies_create(executor));
    executor->options.stays = NULL; /* the caller's */
    executor->options.packed_with = NULL;
    *out = executor;
    executor = NULL;
done:
    rgm_executor_release(executor);
    return status;
}

void rgm_executor_watch_fetches(rgm_executor *executor, rgm_fetch_watcher *watcher, void *payload)
{
    executor->watcher = watcher;
    executor->watcher_payload = payload;
}

rgm_device *rgm_executor_device(const rgm_executor *executor)
{
    return executor->device;
}

void rgm_executor_release(rgm_executor *executor)
{
    if (executor == NULL)
        return;
    for (int64_t i = 0; i < executor->plan_count; i++)
        rgmi_plan_release(executor->plans[i], executor);
    for (int64_t s = 0; executor->kept != NULL && s < executor->count; s++) {
        if (executor->pack == NULL || executor->pack[s] == NULL)
            rgm_device_free(executor->device, executor->kept[s].data);
        rgm_pattern_release(executor->kept[s].pattern);
    }
    rgmi_packs_close(executor);
    for (int64_t k = 0; executor->fed != NULL && k < executor->input_count; k++) {
        rgm_tensor_release(executor->fed[k].tensor);
        rgm_pattern_release(executor->fed[k].pattern);
    }
    rgmi_ahead_release(executor);
    rgmi_copies_release(executor);
    rgm_free(executor->plans);
    rgm_device_free(executor->device, executor->arena);
    rgm_free(executor->order);
    rgm_free(executor->sequence);
    rgm_free(executor->fetch);
    rgm_free(executor->first_fetch);
    rgm_free(executor->next_fetch);
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

static rgm_status memory_allocate(void **out, const rgm_executor *executor, size_t bytes,
                                  const char *what)
{
    rgm_status status = rgm_device_allocate(out, executor->device, bytes);

    return status == RGM_OK ? RGM_OK : rgm_error_prefix(status, "%s", what);
}

static rgm_status memory_reserve(rgm_executor *executor, const rgmi_plan *plan)
{
    if (plan->arena_bytes > executor->arena_bytes) {
        rgm_device_free(executor->device, executor->arena);
        executor->arena_bytes = 0;
        executor->generation++;
        RGM_TRY(memory_allocate(&executor->arena, executor, plan->arena_bytes, "the arena"));
        executor->arena_bytes = plan->arena_bytes;
    }
    for (int64_t i = 0; i < plan->prologue; i++) {
        int64_t s = plan->steps[i];
        rgmi_kept *kept = &executor->kept[s];
        size_t need = plan->place[s].bytes > 0 ? plan->place[s].bytes : 1;
        if (executor->pack[s] != NULL)
            RGM_TRY(rgmi_pack_reserve(executor, s, need));
        if (executor->pack[s] != NULL || plan->place[s].where != RGMI_KEPT ||
            executor->order[s]->s.is_pattern || kept->capacity >= need)
            continue;
        executor->generation++;
        kept->capacity = 0;
        kept->valid = false;
        rgm_device_free(executor->device, kept->data);
        RGM_TRY(memory_allocate(&kept->data, executor, need, "what depends on feeds alone"));
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
            plan->views[s].data = (char *)executor->arena + place->offset;
        else if (place->where == RGMI_KEPT && !executor->order[s]->s.is_pattern)
            plan->views[s].data = executor->kept[s].data;
    }
    for (int64_t i = 0; executor->copies == NULL && i < executor->fetch_count; i++) {
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

/* -1: there is none. */
static int64_t number_of(const rgm_parameters *parameters, const rgm_value *v)
{
    if (v->index < rgm_parameters_count(parameters) &&
        strcmp(rgm_parameters_name(parameters, v->index), v->name) == 0)
        return v->index;
    return rgm_parameters_number(parameters, v->name);
}

/* Point a view at a pattern: at the host's arrays, or at the device's copy of them. */
static rgm_status view_pattern(rgm_executor *executor, rgm_view *view, int64_t s,
                               rgm_pattern *pattern)
{
    view->pattern = pattern;
    if (executor->copies != NULL)
        return rgmi_copies_pattern(executor, view, s);
    view->csr = rgm_pattern_by_row(pattern);
    view->csr_t = rgm_pattern_by_column(pattern);
    view->row_of = rgm_pattern_row_of(pattern);
    view->column_of = rgm_pattern_column_of(pattern);
    return RGM_OK;
}

/* What is fed: where it lies, or the device's copy of it. */
static rgm_status feed_set(rgm_executor *executor, rgmi_plan *plan, const rgm_value *v,
                           rgm_tensor *tensor)
{
    if (executor->copies != NULL)
        return rgmi_copies_leaf(executor, &plan->views[v->slot], v, tensor);
    plan->views[v->slot].data = rgm_tensor_data(tensor);
    return RGM_OK;
}

/* A parameter, where the device has it. */
static rgm_status parameter_set(rgm_executor *executor, rgmi_plan *plan, const rgm_value *v,
                                const rgm_parameters *parameters)
{
    int64_t number = parameters != NULL ? number_of(parameters, v) : -1;

    if (number < 0)
        return RGM_FAIL(RGM_ERR_ARG, "parameter '%s' has no value: %s", v->name,
                        parameters == NULL ? "parameters is NULL"
                                           : "these parameters were made without it");
    RGM_TRY(rgmi_parameter_fits(v, rgm_parameters_form(parameters, number)));
    return rgm_parameters_on(&plan->views[v->slot].data, parameters, number, executor->device,
                             false);
}

static rgm_status leaves_set(rgm_executor *executor, rgmi_plan *plan,
                             const rgm_parameters *parameters)
{
    for (int64_t k = 0; k < executor->input_count; k++) {
        const rgm_value *input = executor->inputs[k];
        if (input->s.is_pattern)
            RGM_TRY(view_pattern(executor, &plan->views[input->slot], input->slot,
                                 executor->now[k].pattern));
        else
            RGM_TRY(feed_set(executor, plan, input, executor->now[k].tensor));
    }
    for (int64_t s = 0; s < executor->count; s++)
        if (rgmi_is_stored(executor->order[s]->leaf))
            RGM_TRY(parameter_set(executor, plan, executor->order[s], parameters));
    return RGM_OK;
}

/* ---- running ---- */

/* The first element that is no number, of a view that has one. */
static rgm_status not_finite(rgm_executor *executor, const rgm_view *view, const rgm_value *value)
{
    int64_t count = rgmi_view_count(view), i = 0;
    size_t bytes = (size_t)count * rgm_dtype_size(view->dtype);
    char text[RGMI_TEXT];
    void *memory = rgm_malloc(bytes);
    double x;

    if (memory == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes", bytes);
    if (rgm_device_copy_from(executor->device, memory, view->data, bytes) != RGM_OK) {
        rgm_free(memory);
        return RGM_ERR_IO;
    }
    while (isfinite(x = view->dtype == RGM_F64 ? ((const double *)memory)[i]
                                               : (double)((const float *)memory)[i]))
        i++;
    rgm_free(memory);
    return RGM_FAIL(RGM_ERR_NUMERIC, "%s%s%s%s %s%s%s has %s at element %lld",
                    value->type != NULL ? "op " : "", value->type != NULL ? value->type->name : "",
                    value->type == NULL ? "value" : "", value->type != NULL ? " gave" : "",
                    value->name != NULL ? value->name : "", value->name != NULL ? " " : "",
                    rgm_value_describe(value, text, sizeof text), isnan(x) ? "NaN" : "infinity",
                    (long long)i);
}

/* RGM_ERR_NUMERIC unless all elements are finite. */
static rgm_status check_finite(rgm_executor *executor, const rgm_view *view, const rgm_value *value)
{
    rgm_flat_args elements = {view->data, rgmi_view_count(view)};

    if (value->s.is_pattern || !rgmi_is_float(view->dtype) || elements.count == 0 ||
        executor->kernels[value->slot]->all_finite(&elements))
        return RGM_OK;
    return not_finite(executor, view, value);
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

static rgm_status forward(rgm_executor *executor, rgm_op_run *run, int64_t s)
{
    const rgm_value *v = executor->order[s];
    bool makes_pattern = v->s.is_pattern && v->type->is_view == NULL;
    rgm_status status;

    if (makes_pattern) {
        rgm_pattern_release(executor->kept[s].pattern);
        executor->kept[s].pattern = run->out->pattern = NULL;
    }
    if (executor->copies != NULL && v->type->on_host)
        status = rgmi_copies_run_on_host(executor, run, v);
    else
        status = v->type->forward(run);
    if (!makes_pattern)
        return status;
    executor->kept[s].pattern = run->out->pattern;
    return status == RGM_OK ? view_pattern(executor, run->out, s, run->out->pattern) : status;
}

static rgm_status step_run(rgm_executor *executor, rgmi_plan *plan, int64_t s, uint64_t seed,
                           uint64_t step)
{
    const rgm_value *v = executor->order[s];
    const rgm_index_watch watch = {.flag = executor->flag, .op = s};
    rgm_op_run run = rgmi_op_run(executor, plan, s, &watch);

    run.seed = seed;
    run.step = step;
    if (plan->place[s].where == RGMI_NOWHERE && !v->s.is_pattern)
        run.out->data = NULL;
    bool timed = executor->profile || executor->observer != NULL;
    double begin = timed ? rgm_now() : 0;
    rgm_status status = forward(executor, &run, s);
    if (timed && status == RGM_OK)
        status = rgm_device_wait(executor->device);
    if (timed)
        tell_time(executor, s, begin, rgm_now(), status);
    if (status == RGM_OK && executor->options.eager && executor->copies != NULL)
        status = rgmi_copies_look(executor); /* what was not computed need not be finite */
    if (status == RGM_OK && executor->options.eager)
        status = check_finite(executor, run.out, v);
    return status == RGM_OK ? RGM_OK : rgmi_in_context(status, v);
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

static void set_kept(rgm_executor *executor, int64_t s, bool is_made)
{
    executor->kept[s].valid = is_made;
    if (executor->pack[s] != NULL)
        rgmi_pack_set(executor, s, is_made);
}

static rgm_status prologue_run(rgm_executor *executor, rgmi_plan *plan)
{
    for (int64_t i = 0; i < plan->prologue; i++) { /* kept patterns of this plan */
        int64_t s = plan->steps[i];
        if (plan->place[s].kept && executor->order[s]->s.is_pattern && executor->kept[s].valid)
            RGM_TRY(view_pattern(executor, &plan->views[s], s, executor->kept[s].pattern));
    }
    due_find(executor, plan);
    for (int64_t i = 0; i < plan->prologue; i++) {
        int64_t s = plan->steps[i];
        if (!executor->due[s])
            continue;
        set_kept(executor, s, false);
        RGM_TRY(step_run(executor, plan, s, 0, 0));
        set_kept(executor, s, plan->place[s].kept);
    }
    return RGM_OK;
}

static rgm_status leaves_check(rgm_executor *executor, const rgmi_plan *plan)
{
    for (int64_t s = 0; s < executor->count; s++)
        if (executor->order[s]->type == NULL)
            RGM_TRY(check_finite(executor, &plan->views[s], executor->order[s]));
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

/* Its tensor of the host, brought up to date. */
static rgm_status fetched_parameter(rgm_tensor **out, const rgm_parameters *parameters,
                                    const rgm_value *v)
{
    int64_t number = number_of(parameters, v);
    void *address;

    RGM_TRY(rgm_parameters_on(&address, parameters, number, rgm_device_cpu(), false));
    *out = (rgm_tensor *)rgm_parameters_read(parameters, number);
    return RGM_OK;
}

static rgm_status result_give(rgm_executor *executor, rgmi_plan *plan, int64_t i,
                              rgm_tensor **fetched, const rgm_parameters *parameters)
{
    const rgm_value *v = executor->fetch[i];

    if (executor->copies == NULL && plan->place[v->slot].where == RGMI_NOWHERE)
        RGM_TRY(fetched_view(plan, i, &plan->views[v->slot]));
    fetched[i] = plan->fetched[i];
    if (executor->stays != NULL && executor->stays[i])
        return RGM_OK;
    if (v->leaf == RGMI_INPUT)
        fetched[i] = executor->now[executor->input_of[v->index]].tensor;
    else if (rgmi_is_stored(v->leaf))
        RGM_TRY(fetched_parameter(&fetched[i], parameters, v));
    else if (v->leaf == RGMI_CONSTANT)
        fetched[i] = v->constant;
    return RGM_OK;
}

/* What one run is given and gives. */
typedef struct run_call {
    rgm_tensor **fetched;
    const rgm_parameters *parameters;
    uint64_t seed, step;
} run_call;

/* Tell of the fetches that are slot s, which is final. */
static rgm_status tell_fetches(rgm_executor *executor, rgmi_plan *plan, int64_t s,
                               const run_call *call)
{
    for (int64_t i = executor->first_fetch[s]; i >= 0; i = executor->next_fetch[i]) {
        RGM_TRY(result_give(executor, plan, i, call->fetched, call->parameters));
        executor->watcher(i, call->fetched, executor->watcher_payload);
    }
    return RGM_OK;
}

/* All that are not to come, or to come, in the main part. */
static rgm_status tell_all(rgm_executor *executor, rgmi_plan *plan, const run_call *call,
                           bool of_main)
{
    for (int64_t s = 0; s < executor->count; s++)
        if (plan->place[s].main == of_main)
            RGM_TRY(tell_fetches(executor, plan, s, call));
    return RGM_OK;
}

static rgm_status steps_run(rgm_executor *executor, rgmi_plan *plan, const run_call *call)
{
    bool tells = executor->watcher != NULL && executor->copies == NULL;

    if (executor->options.eager)
        RGM_TRY(leaves_check(executor, plan));
    RGM_TRY(prologue_run(executor, plan));
    if (tells)
        RGM_TRY(tell_all(executor, plan, call, false));
    for (int64_t i = plan->prologue; i < plan->step_count; i++) {
        RGM_TRY(step_run(executor, plan, plan->steps[i], call->seed, call->step));
        if (tells)
            RGM_TRY(tell_fetches(executor, plan, plan->steps[i], call));
    }
    return RGM_OK;
}

/* What was not told of on the way. */
static rgm_status results_give(rgm_executor *executor, rgmi_plan *plan, const run_call *call)
{
    for (int64_t i = 0; i < executor->fetch_count; i++)
        RGM_TRY(result_give(executor, plan, i, call->fetched, call->parameters));
    if (executor->watcher == NULL || executor->copies == NULL)
        return RGM_OK;
    RGM_TRY(tell_all(executor, plan, call, false));
    return tell_all(executor, plan, call, true);
}

rgm_status rgm_executor_run(rgm_executor *executor, rgm_tensor **fetched,
                            const rgm_parameters *parameters, const rgm_feed *feeds,
                            int64_t feed_count, uint64_t seed, uint64_t step)
{
    const run_call call = {fetched, parameters, seed, step};
    bool any_changed;
    rgm_status status;

    for (int64_t i = 0; i < executor->fetch_count; i++)
        fetched[i] = NULL;
    RGM_TRY(rgmi_feeds_match(executor, feeds, feed_count, &any_changed));
    if (any_changed || executor->current == NULL) {
        RGM_TRY(rgmi_feeds_bind(executor));
        RGM_TRY(plan_find(executor));
        rgmi_feeds_accept(executor);
    }
    rgmi_plan *plan = executor->current;
    plan->used = ++executor->clock;
    RGM_TRY(memory_reserve(executor, plan));
    if (plan->generation != executor->generation)
        RGM_TRY(plan_rebase(executor, plan));
    if (executor->copies != NULL)
        RGM_TRY(rgmi_ahead_take(executor));
    RGM_TRY(leaves_set(executor, plan, parameters));
    rgmi_packs_accept(executor, parameters != NULL ? rgm_parameters_version(parameters) : 0);
    status = steps_run(executor, plan, &call);
    if (status == RGM_OK && executor->copies != NULL)
        rgmi_ahead_meanwhile(executor);
    if (executor->copies != NULL)
        status = rgmi_copies_check_indices(executor, plan, status);
    if (status == RGM_OK && executor->copies != NULL)
        status = rgmi_copies_fetch(executor, plan);
    return status != RGM_OK ? status : results_give(executor, plan, &call);
}
