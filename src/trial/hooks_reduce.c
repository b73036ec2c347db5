/*
 * Metrics of hooks that no sum over batches gives: reducers of the program's own, and what of
 * several shards is the least, the largest or the last. They are what the task aggregates over a
 * pass.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hooks.h"

/* ---- which there are --------------------------------------------------------------------------
 */

static void refuse(rgm_measures *m, rgm_status status)
{
    if (m->mistake.error.status == RGM_OK)
        rgm_error_save(&m->mistake.error, status);
    rgm_error_reset();
}

/* Whether a metric may have that name; else the mistake is kept. */
static bool take_name(rgm_measures *m, char out[RGM_METRIC_NAME], const char *name)
{
    if (name == NULL || name[0] == '\0' || strlen(name) >= RGM_METRIC_NAME) {
        refuse(m, RGM_FAIL(RGM_ERR_ARG, "a metric's name has 1 to %d bytes", RGM_METRIC_NAME - 1));
        return false;
    }
    memcpy(out, name, strlen(name) + 1);
    return true;
}

static void add_name(rgm_measures *m, rgmi_metric_names *list, const char *name)
{
    if (list->count == RGM_MAX_METRICS)
        refuse(m, RGM_FAIL(RGM_ERR_CONFIG, "more than %d metrics", RGM_MAX_METRICS));
    else if (take_name(m, list->texts[list->count], name))
        list->names[list->count] = list->texts[list->count], list->count++;
}

void rgm_measure_training(rgm_measures *m, const char *output)
{
    add_name(m, &m->training, output);
}

void rgm_measure_validation(rgm_measures *m, const char *output)
{
    add_name(m, &m->validation, output);
}

/* Copy the names of a reducer's inputs. */
static bool take_inputs(rgm_measures *m, rgmi_reducer *r)
{
    while (r->input_count < RGM_MAX_REDUCER_INPUTS && r->reducer.inputs[r->input_count] != NULL) {
        const char *name = r->reducer.inputs[r->input_count];

        if (strlen(name) >= sizeof r->input_texts[0]) {
            refuse(m,
                   RGM_FAIL(RGM_ERR_CONFIG, "reducer '%s': an input's name has at most %zu bytes",
                            r->name, sizeof r->input_texts[0] - 1));
            return false;
        }
        memcpy(r->input_texts[r->input_count], name, strlen(name) + 1);
        r->reducer.inputs[r->input_count] = r->input_texts[r->input_count];
        r->input_count++;
    }
    return true;
}

void rgm_measure_by(rgm_measures *m, const rgm_reducer *reducer)
{
    rgmi_reducer *r = &m->reducers[m->reducer_count];

    if (m->reducer_count == RGM_MAX_REDUCERS) {
        refuse(m, RGM_FAIL(RGM_ERR_CONFIG, "more than %d reducers", RGM_MAX_REDUCERS));
        return;
    }
    memset(r, 0, sizeof *r);
    if (!take_name(m, r->name, reducer->name))
        return;
    r->reducer = *reducer;
    r->reducer.name = r->name;
    if (reducer->add == NULL || reducer->result == NULL || reducer->counts < 0)
        refuse(m, RGM_FAIL(RGM_ERR_CONFIG, "reducer '%s' has %s", r->name,
                           reducer->counts < 0    ? "counts below 0"
                           : reducer->add == NULL ? "no `add`"
                                                  : "no `result`"));
    else if (take_inputs(m, r))
        m->reducer_count++;
}

rgm_status rgmi_measures_ask(rgmi_hooks_task *task)
{
    const rgm_trial_hooks *h = task->hooks;
    rgm_measures *m = &task->measures;
    rgm_status status = RGM_OK;

    if (h->make_metrics == NULL)
        return RGM_OK;
    status = h->make_metrics(m, &task->experiment, &task->hparams);
    if (status == RGM_OK && m->mistake.error.status != RGM_OK)
        status = rgm_error_restore(&m->mistake.error);
    if (status == RGM_OK && (rgmi_is_estimator(h) || h->build_sequential != NULL) &&
        m->training.count + m->validation.count > 0)
        status =
            RGM_FAIL(RGM_ERR_CONFIG,
                     "it names '%s', but every output of an estimator or a list of layers is a "
                     "metric: it can add reducers alone",
                     (m->training.count > 0 ? m->training : m->validation).texts[0]);
    return rgmi_hook_done(task, status, "make_metrics");
}

/* ---- what they look at ------------------------------------------------------------------------
 */

/* Outputs are found first, then tensors of the record. */
static rgm_status find_input(rgmi_reducer_source *out, rgmi_hooks_task *task, const char *reducer,
                             const char *name)
{
    const char *names[RGMI_MAX_OUTPUTS + RGMI_MAX_TENSORS] = {NULL};
    int64_t count = 0;

    for (int64_t i = 0; i < task->outputs.count; i++) {
        rgmi_output *o = &task->outputs.items[i];

        if (!o->is_values)
            continue;
        if (strcmp(o->name, name) == 0) {
            o->is_reduced = true;
            *out = (rgmi_reducer_source){.output = o};
            return RGM_OK;
        }
        names[count++] = o->name;
    }
    for (int64_t i = 0; i < task->form.count; i++) {
        if (strcmp(task->names[i], name) == 0) {
            *out = (rgmi_reducer_source){.tensor = i};
            return RGM_OK;
        }
        names[count++] = task->names[i];
    }
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "reducer '%s' looks at '%s', which neither rgm_output_values() gives nor the "
                    "record has%s",
                    reducer, name, rgm_did_you_mean(name, names, count, NULL, "there are ").text);
}

/* An output whose batches are not added up over shards is told as one reducer more. */
static bool is_ordered(rgm_aggregation how)
{
    return how == RGM_AGGREGATE_MIN || how == RGM_AGGREGATE_MAX || how == RGM_AGGREGATE_LAST;
}

static rgm_status refuse_ordered(const rgmi_output *o, int64_t shards)
{
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "the training metric '%s' is the %s over batches, which does not add up over "
                    "runtime.shards: %lld; a mean, a weighted mean or a sum does",
                    o->name,
                    o->aggregation == RGM_AGGREGATE_MIN   ? "least"
                    : o->aggregation == RGM_AGGREGATE_MAX ? "largest"
                                                          : "last",
                    (long long)shards);
}

static rgm_status bind_ordered(rgmi_hooks_task *task)
{
    rgm_measures *m = &task->measures;
    int64_t column = 1; /* column 0 is the loss */

    for (int64_t i = 0; i < task->outputs.count; i++) {
        rgmi_output *o = &task->outputs.items[i];

        if (!rgmi_output_is_told(o))
            continue;
        if (is_ordered(o->aggregation) && o->trains)
            return refuse_ordered(o, task->shards);
        if (is_ordered(o->aggregation)) {
            m->ordered[m->ordered_count++] = (rgmi_ordered){o, column};
            m->names[m->name_count++] = o->name;
        }
        column++;
    }
    return RGM_OK;
}

static rgm_status check_name(const rgmi_hooks_task *task, int64_t r)
{
    const rgm_measures *m = &task->measures;
    const char *name = m->reducers[r].name;
    bool twice = strcmp(name, "loss") == 0;

    for (int64_t i = 0; i < r; i++)
        twice = twice || strcmp(m->reducers[i].name, name) == 0;
    for (int64_t i = 0; i < task->outputs.count; i++)
        twice = twice || (task->outputs.items[i].validates &&
                          strcmp(task->outputs.items[i].name, name) == 0);
    return twice ? RGM_FAIL(RGM_ERR_CONFIG, "two metrics are named '%s'", name) : RGM_OK;
}

rgm_status rgmi_reducers_bind(rgmi_hooks_task *task)
{
    rgm_measures *m = &task->measures;

    for (int64_t r = 0; r < m->reducer_count; r++) {
        RGM_TRY(check_name(task, r));
        for (int64_t i = 0; i < m->reducers[r].input_count; i++)
            RGM_TRY(find_input(&m->reducers[r].sources[i], task, m->reducers[r].name,
                               m->reducers[r].reducer.inputs[i]));
    }
    for (int64_t r = 0; r < m->reducer_count; r++)
        m->names[m->name_count++] = m->reducers[r].name;
    return task->shards > 1 ? bind_ordered(task) : RGM_OK;
}

bool rgmi_is_reduced(const rgmi_hooks_task *task, const rgmi_output *output)
{
    const rgm_measures *m = &task->measures;

    for (int64_t i = 0; i < m->ordered_count; i++)
        if (m->ordered[i].output == output)
            return true;
    return false;
}

/* ---- what is gathered -------------------------------------------------------------------------
 */

struct rgm_gathered {
    double *counts;
    double *list;
    int64_t size, list_count, list_capacity;
};

/* Of a pass, or of a shard's part of it. */
typedef struct aggregate {
    rgm_gathered reductions[RGM_MAX_REDUCERS];
    double ordered[RGM_MAX_METRICS]; /* the least, the largest or the last so far */
    int64_t most;                    /* batches, of the shard that has most of them */
} aggregate;

double *rgm_gathered_counts(rgm_gathered *gathered)
{
    return gathered->counts;
}

rgm_status rgm_gathered_append(rgm_gathered *r, const double *numbers, int64_t count)
{
    if (count < 0)
        return RGM_FAIL(RGM_ERR_ARG, "%lld numbers to append", (long long)count);
    RGM_TRY(RGM_RESERVE(r->list, r->list_capacity, r->list_count + count));
    if (count > 0)
        memcpy(r->list + r->list_count, numbers, (size_t)count * sizeof *numbers);
    r->list_count += count;
    return RGM_OK;
}

const double *rgm_gathered_list(const rgm_gathered *gathered, int64_t *count)
{
    *count = gathered->list_count;
    return gathered->list_count > 0 ? gathered->list : NULL;
}

static void release(void *payload, void *state)
{
    aggregate *a = payload;

    (void)state;
    for (int64_t r = 0; a != NULL && r < RGM_MAX_REDUCERS; r++) {
        rgm_free(a->reductions[r].counts);
        rgm_free(a->reductions[r].list);
    }
    rgm_free(a);
}

static rgm_status create(aggregate **out, const rgm_measures *m)
{
    rgm_status status = RGM_OK;
    aggregate *a = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(a, 1));
    for (int64_t r = 0; r < m->reducer_count; r++) {
        a->reductions[r].size = m->reducers[r].reducer.counts;
        RGM_GO(RGM_NEW(a->reductions[r].counts, a->reductions[r].size));
    }
    *out = a;
    a = NULL;
done:
    release(a, NULL);
    return status;
}

/* Join what a later batch or a later shard has. Batches go to shards in turn, so of two shards with
 * as many the later one has the last. */
static void join(double *value, double other, int64_t most, int64_t others, rgm_aggregation how)
{
    bool is_other = how == RGM_AGGREGATE_LAST  ? others >= most
                    : isnan(*value)            ? false
                    : how == RGM_AGGREGATE_MIN ? other < *value || isnan(other)
                                               : other > *value || isnan(other);

    if (most == 0 || is_other)
        *value = other;
}

static rgm_status add_batch(rgmi_hooks_task *task, aggregate *a, const rgm_step *step)
{
    const rgm_measures *m = &task->measures;

    for (int64_t r = 0; r < m->reducer_count; r++) {
        const rgmi_reducer *reducer = &m->reducers[r];
        rgm_tensor *values[RGM_MAX_REDUCER_INPUTS];
        rgm_status status;

        for (int64_t i = 0; i < reducer->input_count; i++)
            values[i] = reducer->sources[i].output != NULL
                            ? step->predictions[reducer->sources[i].output->head]
                            : rgm_element_tensor(step->inputs, reducer->sources[i].tensor);
        status = reducer->reducer.add(&a->reductions[r], &reducer->reducer, values, &task->hparams);
        RGM_TRY(rgmi_hook_done(task, status, reducer->name));
    }
    for (int64_t i = 0; i < m->ordered_count; i++)
        join(&a->ordered[i], rgm_tensor_at(step->predictions[0], m->ordered[i].column), a->most,
             a->most + 1, m->ordered[i].output->aggregation);
    a->most++;
    return RGM_OK;
}

static rgm_status add(void **payload, const rgm_step *step, void *state)
{
    rgmi_hooks_task *task = state;
    aggregate *a = *payload;

    if (a == NULL) {
        RGM_TRY(create(&a, &task->measures));
        *payload = a;
    }
    return add_batch(task, a, step);
}

static rgm_status merge(void **payload, const void *payload_of_other, void *state)
{
    const rgmi_hooks_task *task = state;
    const rgm_measures *m = &task->measures;
    const aggregate *other = payload_of_other;
    aggregate *a = *payload;

    if (a == NULL) {
        RGM_TRY(create(&a, m));
        *payload = a;
    }
    for (int64_t r = 0; r < m->reducer_count; r++) {
        const rgm_gathered *from = &other->reductions[r];

        for (int64_t i = 0; i < from->size; i++)
            a->reductions[r].counts[i] += from->counts[i];
        RGM_TRY(rgm_gathered_append(&a->reductions[r], from->list, from->list_count));
    }
    for (int64_t i = 0; i < m->ordered_count; i++)
        join(&a->ordered[i], other->ordered[i], a->most, other->most,
             m->ordered[i].output->aggregation);
    if (other->most > a->most)
        a->most = other->most;
    return RGM_OK;
}

/* ---- as bytes, for another process ------------------------------------------------------------
 */

static rgm_status save(rgm_text *out, const void *payload, void *state)
{
    const rgmi_hooks_task *task = state;
    const aggregate *a = payload;

    for (int64_t r = 0; r < task->measures.reducer_count; r++) {
        const rgm_gathered *from = &a->reductions[r];

        RGM_TRY(rgm_text_add(out, from->counts, from->size * (int64_t)sizeof *from->counts));
        RGM_TRY(rgm_text_add(out, &from->list_count, sizeof from->list_count));
        RGM_TRY(rgm_text_add(out, from->list, from->list_count * (int64_t)sizeof *from->list));
    }
    RGM_TRY(rgm_text_add(out, a->ordered, sizeof a->ordered));
    return rgm_text_add(out, &a->most, sizeof a->most);
}

static bool take(void *to, rgm_str *bytes, int64_t size)
{
    if (size > bytes->size)
        return false;
    if (size > 0)
        memcpy(to, bytes->data, (size_t)size);
    bytes->data += size;
    bytes->size -= size;
    return true;
}

static rgm_status take_reduction(rgm_gathered *r, rgm_str *bytes)
{
    const int64_t each = (int64_t)sizeof *r->list;
    int64_t count = 0;

    if (!take(r->counts, bytes, r->size * each) || !take(&count, bytes, sizeof count) ||
        count < 0 || count > bytes->size / each)
        return RGM_FAIL(RGM_ERR_FORMAT, "what another process has gathered is damaged");
    RGM_TRY(RGM_RESERVE(r->list, r->list_capacity, count));
    (void)take(r->list, bytes, count * each);
    r->list_count = count;
    return RGM_OK;
}

static rgm_status load(void **payload, rgm_str bytes, void *state)
{
    const rgmi_hooks_task *task = state;
    rgm_status status = RGM_OK;
    aggregate *a = NULL;

    *payload = NULL;
    RGM_GO(create(&a, &task->measures));
    for (int64_t r = 0; r < task->measures.reducer_count; r++)
        RGM_GO(take_reduction(&a->reductions[r], &bytes));
    if (!take(a->ordered, &bytes, sizeof a->ordered) || !take(&a->most, &bytes, sizeof a->most) ||
        bytes.size > 0)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "what another process has gathered is damaged"));
    *payload = a;
    a = NULL;
done:
    release(a, NULL);
    return status;
}

/* ---- the end ----------------------------------------------------------------------------------
 */

static rgm_status finish(rgm_logs *logs, void *payload, int64_t global_step, void *state)
{
    rgmi_hooks_task *task = state;
    const rgm_measures *m = &task->measures;
    aggregate *a = payload;

    (void)global_step;
    for (int64_t r = 0; r < m->reducer_count; r++) {
        const rgmi_reducer *reducer = &m->reducers[r];
        double number = NAN;
        rgm_status status =
            reducer->reducer.result(&number, &a->reductions[r], &reducer->reducer, &task->hparams);

        RGM_TRY(rgmi_hook_done(task, status, reducer->name));
        RGM_TRY(rgm_logs_set(logs, reducer->name, number));
    }
    for (int64_t i = 0; i < m->ordered_count; i++)
        RGM_TRY(rgm_logs_set(logs, m->ordered[i].output->name, a->ordered[i]));
    return RGM_OK;
}

static const char *const *names(void *state)
{
    return ((rgmi_hooks_task *)state)->measures.names;
}

static bool smaller_is_better(const char *name, void *state)
{
    const rgm_measures *m = &((rgmi_hooks_task *)state)->measures;

    for (int64_t r = 0; r < m->reducer_count; r++)
        if (strcmp(m->reducers[r].name, name) == 0)
            return m->reducers[r].reducer.smaller_is_better;
    return false;
}

void rgmi_reducers_attach(rgm_task *out, const rgmi_hooks_task *task)
{
    if (task->measures.reducer_count == 0 && task->shards < 2)
        return;
    out->aggregate_logs = add;
    out->merge_aggregates = merge;
    out->save_aggregate = save;
    out->load_aggregate = load;
    out->reduce_aggregated_logs = finish;
    out->release_aggregate = release;
    out->reduced_names = names;
    out->smaller_is_better = smaller_is_better;
}
