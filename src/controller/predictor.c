/*
 * A trained model that answers requests: a task's model and an export's weights in one executor,
 * without a trainer.
 */
#include <string.h>

#include "run_internal.h"

struct rgm_predictor {
    rgm_task task;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_task_model model;
    rgmi_outputs outputs;
    rgm_parameters *parameters;
    bool int8;                             /* they were kept in 8 bits */
    rgm_executor *executor;                /* NULL: the task is asked by functions of its own */
    rgm_tensor *values[RGMI_MOST_OUTPUTS]; /* of the last run, owned by the executor */
    void (*release_owner)(void *owner);
    void *owner;
};

/* ---- opening --------------------------------------------------------------------------------- */

static rgm_status check_task(const rgm_task *task)
{
    if (task->build_model == NULL || task->feeds == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' has no model to ask", task->name);
    if (task->example_batch == NULL && task->row_batch == NULL && task->asked_by == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' takes neither Examples nor rows",
                        task->name);
    return RGM_OK;
}

static rgm_status build(rgm_predictor *p)
{
    rgm_status status;

    RGM_TRY(rgm_cgraph_create(&p->graph));
    RGM_TRY(rgm_scope_create(&p->scope, p->graph, RGM_F32));
    status = p->task.build_model(&p->model, p->scope, p->task.state);
    if (status == RGM_OK)
        status = rgm_cgraph_status(p->graph);
    if (status == RGM_OK && p->model.head_count < 1)
        status = RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' has no model to ask", p->task.name);
    return status;
}

rgm_status rgm_predictor_create(rgm_predictor **out, rgm_task *task, const char *weights)
{
    const rgm_executor_options options = {.inference = true};
    rgm_status status = RGM_OK;
    rgm_predictor *p = NULL;

    *out = NULL;
    RGM_GO(check_task(task));
    RGM_GO(RGM_NEW(p, 1));
    p->task = *task;
    *task = (rgm_task){0};
    RGM_GO(build(p));
    RGM_GO(rgmi_serving_weights_load(&p->parameters, &p->int8, p->graph, weights));
    if (p->task.asked_by == NULL) {
        rgmi_outputs_of(&p->outputs, &p->model);
        RGM_GO(rgm_executor_create(&p->executor, p->graph, p->outputs.values, p->outputs.count,
                                   &options));
    }
    *out = p;
    p = NULL;
done:
    rgm_task_release(task);
    rgm_predictor_release(p);
    return status;
}

void rgm_predictor_release(rgm_predictor *p)
{
    if (p == NULL)
        return;
    rgm_executor_release(p->executor);
    rgm_parameters_release(p->parameters);
    rgm_task_release(&p->task);
    rgm_scope_release(p->scope);
    rgm_cgraph_release(p->graph);
    if (p->release_owner != NULL)
        p->release_owner(p->owner);
    rgm_free(p);
}

void rgm_predictor_keep(rgm_predictor *p, void (*release)(void *owner), void *owner)
{
    p->release_owner = release;
    p->owner = owner;
}

const rgm_parameters *rgm_predictor_parameters(const rgm_predictor *p)
{
    return p->parameters;
}

bool rgm_predictor_int8(const rgm_predictor *p)
{
    return p->int8;
}

/* ---- asking ---------------------------------------------------------------------------------- */

int64_t rgm_predictor_outputs(const rgm_export_output **outputs, const rgm_predictor *p)
{
    *outputs = p->outputs.items;
    return p->outputs.count;
}

const rgm_task *rgm_predictor_task(const rgm_predictor *p)
{
    return &p->task;
}

/* Whether it is asked by batches. */
static rgm_status check_asked(const rgm_predictor *p)
{
    if (p->task.asked_by == NULL)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' is asked by %s", p->task.name,
                    p->task.asked_by);
}

static rgm_status run_feeds(rgm_predictor *p, const rgm_feed *feeds, int64_t count)
{
    return rgm_executor_run(p->executor, p->values, p->parameters, feeds, count, 1, 0);
}

/* Takes over the batch. */
static rgm_status run_batch(rgm_tensor **outputs, rgm_predictor *p, rgm_element *batch)
{
    rgm_status status = RGM_OK;
    rgm_feed feeds[RGM_MAX_FEEDS];
    int64_t count = 0;

    RGM_GO(p->task.feeds(feeds, RGM_MAX_FEEDS, &count, p->task.state, batch));
    RGM_GO(run_feeds(p, feeds, count));
    memcpy(outputs, p->values, (size_t)p->outputs.count * sizeof *outputs);
done:
    rgm_element_release(batch);
    return status;
}

rgm_status rgm_predictor_run_examples(rgm_tensor **outputs, rgm_predictor *p,
                                      const rgm_str *examples, int64_t count)
{
    rgm_element *batch = NULL;

    RGM_TRY(check_asked(p));
    if (p->task.example_batch == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' takes rows of numbers, no Examples",
                        p->task.name);
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "no examples");
    RGM_TRY(p->task.example_batch(&batch, p->task.state, examples, count));
    return run_batch(outputs, p, batch);
}

rgm_status rgm_predictor_run_rows(rgm_tensor **outputs, rgm_predictor *p, const rgm_tensor *rows)
{
    rgm_element *batch = NULL;

    RGM_TRY(check_asked(p));
    if (p->task.row_batch == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' takes Examples, no rows of numbers",
                        p->task.name);
    RGM_TRY(p->task.row_batch(&batch, p->task.state, rows));
    return run_batch(outputs, p, batch);
}

typedef struct answering {
    rgm_predictor *p;
    int64_t head;
    rgm_prediction_sink *sink;
    void *payload;
} answering;

static const rgm_tensor *probabilities_of(const rgm_predictor *p, int64_t head)
{
    for (int64_t i = p->outputs.heads; i < p->outputs.count; i++)
        if (p->outputs.values[i] == p->model.heads[head].probabilities)
            return p->values[i];
    return NULL;
}

static rgm_status answer_batch(rgm_element *batch, void *payload)
{
    const answering *a = payload;
    rgm_feed feeds[RGM_MAX_FEEDS];
    int64_t count = 0;

    RGM_TRY(a->p->task.feeds(feeds, RGM_MAX_FEEDS, &count, a->p->task.state, batch));
    RGM_TRY(run_feeds(a->p, feeds, count));
    return a->sink(&(rgm_prediction){batch, feeds, count, a->p->values[a->head],
                                     probabilities_of(a->p, a->head)},
                   a->payload);
}

rgm_status rgm_predictor_run_files(rgm_predictor *p, const rgm_new_data *files, int64_t head,
                                   rgm_prediction_sink *sink, void *payload)
{
    rgm_status status = RGM_OK;
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_dataset *data = NULL;
    answering all = {p, head, sink, payload};

    RGM_TRY(check_asked(p));
    if (head < 0 || head >= p->outputs.heads)
        return RGM_FAIL(RGM_ERR_ARG, "head %lld of %lld", (long long)head,
                        (long long)p->outputs.heads);
    if (p->task.build_file_inputs == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' reads no files", p->task.name);
    options.threads = rgm_threads();
    RGM_GO(p->task.build_file_inputs(&data, p->task.state, files));
    RGM_GO(rgmi_each_batch(data, &options, answer_batch, &all));
done:
    rgm_dataset_release(data);
    return status;
}
