/*
 * The graph of hooks: inputs for a symbolic record, what build_graph gives held against what is
 * asked of it, and metrics as sums over batches. All scalars that are told go through one head of
 * one row, a column each, so that a batch is one evaluation.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hooks.h"

/* ---- record -------------------------------------------------------------------------------- */

int64_t rgm_record_count(const rgm_record *record)
{
    return record->count;
}

static rgm_value *give(const rgm_record *record, int64_t i)
{
    if (record->values[i] != NULL)
        return record->values[i];
    return rgm_cgraph_fail(record->graph, RGM_ERR_DTYPE,
                           "the tensor '%s' of the %s is of texts, which no graph takes: "
                           "rgm_dataset_map() makes numbers of them, and reducers see them",
                           record->names[i], record->what);
}

rgm_value *rgm_record_at(const rgm_record *record, int64_t i)
{
    if (i >= 0 && i < record->count)
        return give(record, i);
    return rgm_cgraph_fail(record->graph, RGM_ERR_NOT_FOUND,
                           "the %s has %lld tensors, none is %lld", record->what,
                           (long long)record->count, (long long)i);
}

rgm_value *rgm_record_value(const rgm_record *record, const char *name)
{
    for (int64_t i = 0; i < record->count; i++)
        if (strcmp(record->names[i], name) == 0)
            return give(record, i);
    return rgm_cgraph_fail(
        record->graph, RGM_ERR_NOT_FOUND, "the %s has no tensor '%s'%s", record->what, name,
        rgm_did_you_mean(name, record->names, record->count, NULL, "there are ").text);
}

/* The symbol of an axis that varies: that of the axis that it varies as. */
static rgm_dim symbol_of(const rgmi_hooks_task *task, rgm_cgraph *graph, int64_t tensor, int axis)
{
    int root = rgmi_axis_root(&task->form, tensor, axis);
    char name[160];

    snprintf(name, sizeof name, "%.120s/%d", task->names[root / RGM_MAX_RANK], root % RGM_MAX_RANK);
    return rgm_cgraph_symbol(graph, name);
}

/* An input for each tensor but those of texts: the axis of records is one symbol, others that vary
 * have their own. */
static void make_inputs(rgmi_hooks_task *task, rgm_cgraph *graph)
{
    rgm_dim batch = rgm_cgraph_symbol(graph, "batch");

    for (int64_t i = 0; i < task->form.count; i++) {
        const rgmi_tensor_form *f = &task->form.tensors[i];
        rgm_dim dims[RGM_MAX_RANK] = {batch};

        if (f->dtype == RGM_STRING)
            continue;
        for (int a = 1; a < f->rank; a++)
            dims[a] = f->shape[a] >= 0 ? f->shape[a] : symbol_of(task, graph, i, a);
        task->inputs[i] = rgm_input(graph, task->names[i], f->dtype, f->rank, dims);
    }
}

/* ---- outputs ------------------------------------------------------------------------------- */

static void add_output(rgm_outputs *out, const rgmi_output *output, const char *name)
{
    rgmi_output *item = &out->items[out->count];

    if (name == NULL || name[0] == '\0' || strlen(name) >= sizeof item->name) {
        rgm_cgraph_fail(out->graph, RGM_ERR_ARG, "an output's name has 1 to %zu bytes",
                        sizeof item->name - 1);
        return;
    }
    for (int64_t i = 0; i < out->count; i++)
        if (strcmp(out->items[i].name, name) == 0) {
            rgm_cgraph_fail(out->graph, RGM_ERR_ARG, "two outputs are named '%s'", name);
            return;
        }
    if (out->count == RGMI_MAX_OUTPUTS) {
        rgm_cgraph_fail(out->graph, RGM_ERR_ARG, "more than %d outputs", RGMI_MAX_OUTPUTS);
        return;
    }
    *item = *output;
    snprintf(item->name, sizeof item->name, "%s", name);
    out->count++;
}

void rgm_output_as(rgm_outputs *out, const char *name, rgm_value *scalar,
                   rgm_aggregation aggregation)
{
    add_output(out, &(rgmi_output){.value = scalar, .aggregation = aggregation}, name);
}

void rgm_output(rgm_outputs *out, const char *name, rgm_value *scalar)
{
    rgm_output_as(out, name, scalar, RGM_AGGREGATE_MEAN);
}

void rgm_output_prediction(rgm_outputs *out, const char *name, rgm_value *value,
                           rgm_output_kind kind)
{
    add_output(out, &(rgmi_output){.value = value, .is_prediction = true, .kind = kind}, name);
}

void rgm_output_values(rgm_outputs *out, const char *name, rgm_value *value)
{
    add_output(out, &(rgmi_output){.value = value, .is_values = true}, name);
}

static rgmi_output *find_output(rgm_outputs *out, const char *name)
{
    for (int64_t i = 0; i < out->count; i++)
        if (strcmp(out->items[i].name, name) == 0)
            return &out->items[i];
    return NULL;
}

/* ---- checks -------------------------------------------------------------------------------- */

static rgm_status check_outputs(rgm_outputs *out)
{
    for (int64_t i = 0; i < out->count; i++) {
        const rgmi_output *o = &out->items[i];
        char text[96];

        if (o->value == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "the output '%s' is NULL", o->name);
        if ((int)o->aggregation < RGM_AGGREGATE_MEAN || (int)o->aggregation > RGM_AGGREGATE_LAST)
            return RGM_FAIL(RGM_ERR_ARG, "the output '%s' has aggregation %d", o->name,
                            (int)o->aggregation);
        if (o->is_values && rgm_value_is_pattern(o->value))
            return RGM_FAIL(RGM_ERR_SHAPE, "the output '%s' is a pattern, no dense tensor",
                            o->name);
        if (!o->is_prediction && !o->is_values &&
            (rgm_value_is_pattern(o->value) || rgm_value_rank(o->value) != 0))
            return RGM_FAIL(RGM_ERR_SHAPE,
                            "the output '%s' is %s, but a loss or metric is one number a batch: "
                            "rgm_mean() makes one of it",
                            o->name, rgm_value_describe(o->value, text, sizeof text));
    }
    return RGM_OK;
}

static rgm_status check_loss(rgm_outputs *out)
{
    const rgmi_output *loss = find_output(out, "loss");

    if (loss == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "there is no output 'loss': rgm_output(out, \"loss\", ...) "
                                        "says what is minimised");
    if (loss->is_prediction || loss->is_values)
        return RGM_FAIL(RGM_ERR_CONFIG, "'loss' is a %s; rgm_output() makes it a loss",
                        loss->is_prediction ? "prediction" : "tensor for reducers");
    if (rgm_value_dtype(loss->value) != RGM_F32 && rgm_value_dtype(loss->value) != RGM_F64)
        return RGM_FAIL(RGM_ERR_DTYPE, "the loss is %s, but has to be a floating-point number",
                        rgm_dtype_name(rgm_value_dtype(loss->value)));
    return RGM_OK;
}

static rgm_status mark(rgm_outputs *out, const char *const *names, bool validates, const char *what)
{
    for (int64_t i = 0; i < RGM_MAX_METRICS && names[i] != NULL; i++) {
        rgmi_output *o = find_output(out, names[i]);
        const char *all[RGMI_MAX_OUTPUTS];

        if (o == NULL || o->is_prediction || o->is_values) {
            for (int64_t k = 0; k < out->count; k++)
                all[k] = out->items[k].name;
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "%s has '%s', which is no scalar that build_graph "
                            "gives%s",
                            what, names[i],
                            rgm_did_you_mean(names[i], all, out->count, NULL, "there are ").text);
        }
        *(validates ? &o->validates : &o->trains) = true;
    }
    return RGM_OK;
}

/* An estimator and a list of layers tell all that they have, in training and in validation. */
static rgm_status mark_metrics(rgmi_hooks_task *task)
{
    rgm_outputs *out = &task->outputs;

    if (!rgmi_is_estimator(task->hooks) && task->hooks->build_sequential == NULL) {
        RGM_TRY(mark(out, task->hooks->validation_metrics, true, "validation_metrics"));
        RGM_TRY(mark(out, task->hooks->training_metrics, false, "training_metrics"));
        RGM_TRY(mark(out, task->measures.validation.names, true, "make_metrics"));
        return mark(out, task->measures.training.names, false, "make_metrics");
    }
    for (int64_t i = 0; i < out->count; i++)
        out->items[i].validates = out->items[i].trains =
            !out->items[i].is_prediction && !out->items[i].is_values;
    return RGM_OK;
}

/* Predictions are what exports and `predict` give; the head of metrics is for measuring alone. */
static rgm_status take_predictions(rgmi_hooks_task *task)
{
    for (int64_t i = 0; i < task->outputs.count; i++) {
        const rgmi_output *o = &task->outputs.items[i];
        rgm_head *head = &task->served[task->served_count];

        if (!o->is_prediction || (task->is_asked && !rgmi_hooks_gives(task, o)))
            continue;
        if (task->served_count == RGM_MAX_HEADS)
            return RGM_FAIL(RGM_ERR_CONFIG, "more than %d predictions", RGM_MAX_HEADS);
        if (strlen(o->name) >= sizeof head->name)
            return RGM_FAIL(RGM_ERR_CONFIG, "the prediction '%s': a name has at most %zu bytes",
                            o->name, sizeof head->name - 1);
        RGM_TRY(rgmi_hooks_check_prediction(task, o));
        RGM_TRY(rgmi_hooks_needs(task->asked_for, task, o));
        *head = (rgm_head){.predictions = o->value, .is_number = o->kind != RGM_OUTPUT_LOGITS};
        memcpy(head->name, o->name, strlen(o->name) + 1);
        task->served_count++;
    }
    return RGM_OK;
}

static rgm_status check_all(rgmi_hooks_task *task)
{
    int64_t told = 0;

    RGM_TRY(rgm_cgraph_status(task->outputs.graph));
    RGM_TRY(check_outputs(&task->outputs));
    RGM_TRY(check_loss(&task->outputs));
    RGM_TRY(mark_metrics(task));
    for (int64_t i = 0; i < task->outputs.count; i++)
        told += rgmi_output_is_told(&task->outputs.items[i]);
    if (told > RGM_MAX_METRICS) /* of which there is room for what reducers take */
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld metrics, but at most %d are possible",
                        (long long)told, RGM_MAX_METRICS);
    RGM_TRY(rgmi_reducers_bind(task));
    return take_predictions(task);
}

/* ---- model --------------------------------------------------------------------------------- */

static void call_hook(rgmi_hooks_task *task, rgm_scope *scope, rgm_value *is_training)
{
    rgm_cgraph *graph = rgm_scope_graph(scope);
    int64_t features = task->form.count - task->label_count;
    rgm_record record = {.graph = graph,
                         .what = "record",
                         .names = task->names,
                         .values = task->inputs,
                         .count = task->form.count};
    rgm_record first = record, last = record;

    if (task->graph != NULL) {
        task->graph(task, scope, &record);
        return;
    }
    if (!rgmi_is_estimator(task->hooks)) {
        task->hooks->build_graph(&task->outputs, scope, &record, is_training, &task->hparams);
        return;
    }
    first.what = "features";
    first.count = features;
    last.what = "labels";
    last.names += features;
    last.values += features;
    last.count = task->label_count;
    task->estimator.model_fn(&task->outputs, scope, &first, &last, is_training, &task->hparams);
}

/* A column of the head; what only one of training and validation tells is not computed in the
 * other. */
static rgm_value *column(rgm_scope *scope, const rgmi_output *o)
{
    rgm_value *value = rgm_cast(o->value, rgm_scope_dtype(scope));
    rgm_value *nothing = rgm_scalar(rgm_scope_graph(scope), rgm_scope_dtype(scope), 0);

    if (!o->trains)
        value = rgm_when_training(nothing, value);
    if (!o->validates)
        value = rgm_when_training(value, nothing);
    return rgm_reshape(value, 2, (rgm_dim[]){1, 1});
}

/* What reducers look at, each in a head of its own. */
static rgm_status add_reduced(rgm_task_model *out, rgmi_hooks_task *task)
{
    for (int64_t i = 0; i < task->outputs.count; i++) {
        rgmi_output *o = &task->outputs.items[i];

        if (!o->is_reduced)
            continue;
        if (out->head_count == RGM_MAX_HEADS)
            return RGM_FAIL(RGM_ERR_CONFIG, "reducers look at more than %d outputs",
                            RGM_MAX_HEADS - 1);
        o->head = out->head_count++;
        out->heads[o->head] =
            (rgm_head){.predictions = o->value, .is_number = true, .is_of_passes = true};
        snprintf(out->heads[o->head].name, sizeof out->heads[0].name, "%.63s", o->name);
    }
    return RGM_OK;
}

rgm_status rgmi_hooks_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    rgmi_hooks_task *task = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dtype dtype = rgm_scope_dtype(scope);
    rgm_value *columns[RGM_MAX_METRICS + 1], *one, *zero, *loss;
    rgm_head *head = &out->heads[0];
    int64_t count = 0;
    const char *hook = rgmi_is_estimator(task->hooks)          ? "model_fn"
                       : task->hooks->build_sequential != NULL ? "build_sequential"
                                                               : "build_graph";

    *out =
        (rgm_task_model){.head_count = 1, .heads = {{.name = "outputs"}}, .served = task->served};
    task->outputs.graph = graph;
    make_inputs(task, graph);
    one = rgm_scalar(graph, dtype, 1);
    zero = rgm_scalar(graph, dtype, 0);
    call_hook(task, scope, rgm_when_training(one, zero));
    RGM_TRY(rgmi_hook_done(task, check_all(task), hook));
    loss = find_output(&task->outputs, "loss")->value;
    columns[count++] = rgm_reshape(rgm_cast(rgm_stop_gradient(loss), dtype), 2, (rgm_dim[]){1, 1});
    for (int64_t i = 0; i < task->outputs.count; i++)
        if (rgmi_output_is_told(&task->outputs.items[i]))
            columns[count++] = column(scope, &task->outputs.items[i]);
    head->predictions = rgm_concat(columns, count, 1);
    out->served_count = task->served_count;
    head->is_number = true;
    head->loss = loss;
    head->loss_weight = 1;
    out->loss = loss;
    RGM_TRY(add_reduced(out, task));
    return rgm_cgraph_status(graph);
}

/* ---- metrics ------------------------------------------------------------------------------- */

/* The state of each: what was gathered, its weight, batches. */
enum { GATHERED, WEIGHT, BATCHES, STATE };

static int64_t state_size(const rgm_metric *metric)
{
    (void)metric;
    return STATE;
}

static double result(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return state[WEIGHT] > 0 ? state[GATHERED] / state[WEIGHT] : 0;
}

static double gathered(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return state[GATHERED];
}

/* By rgm_aggregation; batches are counted by rgmi_hooks_count(). */
static const rgm_metric_type types[] = {
    [RGM_AGGREGATE_MEAN] = {.name = "mean", .state_size = state_size, .result = result},
    [RGM_AGGREGATE_WEIGHTED_MEAN] = {.name = "weighted mean",
                                     .state_size = state_size,
                                     .result = result},
    [RGM_AGGREGATE_SUM] = {.name = "sum", .state_size = state_size, .result = gathered},
    [RGM_AGGREGATE_MIN] = {.name = "min", .state_size = state_size, .result = gathered},
    [RGM_AGGREGATE_MAX] = {.name = "max", .state_size = state_size, .result = gathered},
    [RGM_AGGREGATE_LAST] = {.name = "last", .state_size = state_size, .result = gathered},
};

rgm_status rgmi_hooks_metrics(rgm_task_metric *out, int64_t *count, const rgm_task_model *model,
                              bool training, void *state)
{
    rgmi_hooks_task *task = state;
    int64_t at = 1; /* column 0 is the loss */

    (void)model;
    *count = 0;
    for (int64_t i = 0; i < task->outputs.count; i++) {
        const rgmi_output *o = &task->outputs.items[i];
        rgm_task_metric *m = &out[*count];

        if (!rgmi_output_is_told(o))
            continue;
        if (training ? o->trains : o->validates && !rgmi_is_reduced(task, o)) {
            *m = (rgm_task_metric){.metric = {.type = &types[o->aggregation], .class_id = at}};
            snprintf(m->metric.name, sizeof m->metric.name, "%s", o->name);
            (*count)++;
        }
        at++;
    }
    return RGM_OK;
}

static void count_one(double *state, rgm_aggregation how, double value, double records)
{
    bool first = state[BATCHES] == 0;

    state[BATCHES]++;
    switch (how) {
    case RGM_AGGREGATE_MEAN:
        state[GATHERED] += value;
        state[WEIGHT]++;
        break;
    case RGM_AGGREGATE_WEIGHTED_MEAN:
        state[GATHERED] += value * records;
        state[WEIGHT] += records;
        break;
    case RGM_AGGREGATE_SUM:
        state[GATHERED] += value;
        break;
    case RGM_AGGREGATE_MIN:
        state[GATHERED] =
            first || value < state[GATHERED] || isnan(value) ? value : state[GATHERED];
        break;
    case RGM_AGGREGATE_MAX:
        state[GATHERED] =
            first || value > state[GATHERED] || isnan(value) ? value : state[GATHERED];
        break;
    case RGM_AGGREGATE_LAST:
        state[GATHERED] = value;
        break;
    }
}

void rgmi_hooks_count(double *const *states, const rgm_task_metric *metrics, int64_t count,
                      const rgm_step *step, void *state)
{
    double records = (double)rgm_tensor_dim(rgm_element_tensor(step->inputs, 0), 0);

    (void)state;
    for (int64_t i = 0; i < count; i++)
        count_one(states[i], (rgm_aggregation)(metrics[i].metric.type - types),
                  rgm_tensor_at(step->predictions[0], metrics[i].metric.class_id), records);
}
