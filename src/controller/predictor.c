/*
 * A trained model that answers questions: a task's model with an export's weights, without a
 * trainer, or the model of an open run.
 */
#include <string.h>

#include "run_internal.h"

struct rgm_predictor {
    rgm_task task;
    rgm_open_run *run; /* whose task, model and weights these are; NULL: its own */
    rgm_cgraph *graph; /* its own; NULL: the run's */
    rgm_scope *scope;
    rgm_task_model own_model;
    const rgm_task_model *model;
    rgmi_outputs outputs;         /* of the model: what the executor computes */
    const rgm_export_output *own; /* of a task that answers by itself; NULL: it does not */
    int64_t own_count;
    rgm_parameters *own_parameters;
    const rgm_parameters *parameters;
    rgm_device *device;
    bool bf16, int8;                     /* int8: the weights were kept in 8 bits */
    rgm_executor_options options;        /* of the executor */
    rgm_executor *executor;              /* NULL: not yet, since the task answers by itself */
    rgm_tensor *values[RGM_MAX_OUTPUTS]; /* of the last run, owned by the executor */
    void *writing;                       /* of texts that join and leave; NULL: none yet */
    int64_t texts;                       /* of it */
    void (*release_owner)(void *owner);
    void *owner;
};

/* ---- opening --------------------------------------------------------------------------------- */

static rgm_status check_task(const rgm_task *task)
{
    if (task->build_model == NULL || task->feeds == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' has no model to ask", task->name);
    if (task->example_batch == NULL && task->row_batch == NULL && task->answer_lines == NULL &&
        task->writing == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "the task '%s' takes no Examples, rows, lines or prompts", task->name);
    return RGM_OK;
}

static rgm_status build(rgm_predictor *p)
{
    rgm_status status;

    RGM_TRY(rgm_cgraph_create(&p->graph));
    RGM_TRY(rgm_scope_create(&p->scope, p->graph, RGM_F32));
    status = p->task.build_model(&p->own_model, p->scope, p->task.state);
    if (status == RGM_OK)
        status = rgm_cgraph_status(p->graph);
    if (status == RGM_OK && p->own_model.head_count < 1)
        status = RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' has no model to ask", p->task.name);
    p->model = &p->own_model;
    return status;
}

static rgm_status open_executor(rgm_predictor *p)
{
    rgm_cgraph *graph = p->run != NULL ? rgm_trainer_graph(p->run->trainer) : p->graph;

    if (p->executor != NULL)
        return RGM_OK;
    if (p->outputs.count == 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' predicts nothing", p->task.name);
    return rgm_executor_create(&p->executor, graph, p->outputs.values, p->outputs.count,
                               &p->options);
}

/* What it gives, and what computes that; a task that answers lines or prompts has both itself, and
 * needs an executor for files alone. */
static rgm_status open_outputs(rgm_predictor *p, const rgm_executor_options *options)
{
    p->options = *options;
    p->own = p->task.writing != NULL        ? p->task.writing->outputs
             : p->task.answer_lines != NULL ? p->task.line_outputs
                                            : NULL;
    while (p->own != NULL && p->own[p->own_count].name != NULL)
        p->own_count++;
    rgmi_outputs_of(&p->outputs, p->model);
    return p->own != NULL ? RGM_OK : open_executor(p);
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
    RGM_GO(rgmi_serving_weights_load(&p->own_parameters, &p->int8, p->graph, weights));
    p->parameters = p->own_parameters;
    RGM_GO(open_outputs(p, &options));
    *out = p;
    p = NULL;
done:
    rgm_task_release(task);
    rgm_predictor_release(p);
    return status;
}

rgm_status rgm_run_predictor(rgm_predictor **out, rgm_open_run *run)
{
    rgm_executor_options options = {.device = rgm_trainer_device(run->trainer)};
    rgm_status status = RGM_OK;
    rgm_predictor *p = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(p, 1));
    p->run = run;
    p->task = run->task;
    p->model = rgm_trainer_model(run->trainer);
    p->parameters = rgm_trainer_parameters(run->trainer);
    p->device = options.device;
    p->bf16 = rgm_trainer_bf16(run->trainer);
    RGM_GO(open_outputs(p, &options));
    *out = p;
    p = NULL;
done:
    rgm_predictor_release(p);
    return status;
}

void rgm_predictor_release(rgm_predictor *p)
{
    if (p == NULL)
        return;
    if (p->writing != NULL)
        p->task.writing->close(p->writing);
    rgm_executor_release(p->executor);
    rgm_parameters_release(p->own_parameters);
    if (p->run == NULL)
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
    *outputs = p->own != NULL ? p->own : p->outputs.items;
    return p->own != NULL ? p->own_count : p->outputs.count;
}

int64_t rgm_predictor_file_outputs(const rgm_export_output **outputs, const rgm_predictor *p)
{
    *outputs = p->outputs.items;
    return p->outputs.count;
}

const rgm_task *rgm_predictor_task(const rgm_predictor *p)
{
    return &p->task;
}

rgm_status rgm_predictor_form(rgm_question_form *out, const rgm_predictor *p)
{
    RGM_TRY(check_task(&p->task));
    *out = p->task.writing != NULL         ? RGM_QUESTIONS_PROMPTS
           : p->task.answer_lines != NULL  ? RGM_QUESTIONS_LINES
           : p->task.example_batch != NULL ? RGM_QUESTIONS_EXAMPLES
                                           : RGM_QUESTIONS_ROWS;
    return RGM_OK;
}

rgm_feature_kind rgm_predictor_example_kind(const rgm_predictor *p, const char *key)
{
    return p->task.example_kind != NULL ? p->task.example_kind(key, p->task.state)
                                        : RGM_FEATURE_NONE;
}

static rgm_status run_feeds(rgm_predictor *p, const rgm_feed *feeds, int64_t count)
{
    return rgm_executor_run(p->executor, p->values, p->parameters, feeds, count, 1, 0);
}

/* The head that output o is about: of probabilities the one that they are of. */
static int64_t head_of(const rgm_predictor *p, int64_t o)
{
    const rgm_head *heads;
    int64_t h = 0;

    if (o < p->outputs.heads)
        return o;
    rgm_task_model_outputs(&heads, p->model);
    while (h + 1 < p->outputs.heads && heads[h].probabilities != p->outputs.values[o])
        h++;
    return h;
}

/* What the executor holds is overwritten by its next run. */
static rgm_status keep_output(rgm_answers *out, const rgm_predictor *p, int64_t o,
                              const int64_t *items, int64_t count)
{
    rgm_status status;
    rgm_tensor *copy = NULL;

    RGM_TRY(rgm_tensor_copy(&copy, p->values[o]));
    status = rgm_answers_add(out, copy, items, count);
    return status == RGM_ERR_SHAPE ? rgm_error_prefix(status, "'%s'", p->outputs.items[o].name)
                                   : status;
}

/* Takes over the batch. texts: of Examples; NULL: rows. A task that counts no items has one of each
 * question. */
static rgm_status run_batch(rgm_answers *out, rgm_predictor *p, rgm_element *batch,
                            const rgm_str *texts, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_feed feeds[RGM_MAX_FEEDS];
    int64_t feed_count = 0, *items = NULL;
    bool counts = texts != NULL && p->task.example_items != NULL;

    out->is_single = !counts;
    if (counts)
        RGM_GO(RGM_NEW(items, count));
    RGM_GO(p->task.feeds(feeds, RGM_MAX_FEEDS, &feed_count, p->task.state, batch));
    RGM_GO(run_feeds(p, feeds, feed_count));
    for (int64_t o = 0; o < p->outputs.count; o++) {
        if (counts)
            RGM_GO(p->task.example_items(items, p->task.state, batch, head_of(p, o), texts, count));
        RGM_GO(keep_output(out, p, o, items, count));
    }
done:
    rgm_free(items);
    rgm_element_release(batch);
    return status;
}

/* The questions as the task takes them; a form that was not given has no questions. */
static rgm_status check_form(const rgm_predictor *p, const rgm_questions *q)
{
    rgm_question_form form;
    bool given;

    RGM_TRY(rgm_predictor_form(&form, p));
    given = form == RGM_QUESTIONS_ROWS ? q->rows != NULL : q->texts != NULL;
    if (!given && (q->rows != NULL || q->texts != NULL))
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' takes %s, no %s", p->task.name,
                        rgm_question_form_names[form],
                        q->rows != NULL ? "rows of numbers" : "texts");
    if (!given || q->count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "no questions");
    if (q->wishes != NULL && form != RGM_QUESTIONS_PROMPTS && form != RGM_QUESTIONS_LINES)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' grants no wishes", p->task.name);
    if (q->rows != NULL && (rgm_tensor_rank(q->rows) < 1 || rgm_tensor_dim(q->rows, 0) != q->count))
        return RGM_FAIL(RGM_ERR_SHAPE, "there are not %lld rows", (long long)q->count);
    return RGM_OK;
}

/* What was made of a run's weights goes, since they may be others the next time; after a failure so
 * do the texts. */
static rgm_status answer_prompts(rgm_answers *out, rgm_predictor *p, const rgm_questions *q)
{
    rgm_status status;

    if (p->texts > 0)
        return RGM_FAIL(RGM_ERR_BUSY, "%lld texts are being written step by step",
                        (long long)p->texts);
    if (p->writing == NULL)
        RGM_TRY(rgm_predictor_write(p, 0));
    status = rgmi_answer_prompts(out, &p->task, p->writing, q);
    if (status != RGM_OK || p->run != NULL) {
        p->task.writing->close(p->writing);
        p->writing = NULL;
    }
    return status;
}

static rgm_status ask(rgm_answers *out, rgm_predictor *p, const rgm_questions *q)
{
    const rgm_asked_with with = {p->parameters, p->device, p->bf16, p->int8};
    rgm_element *batch = NULL;

    RGM_TRY(check_form(p, q));
    if (p->task.writing != NULL)
        return answer_prompts(out, p, q);
    if (p->task.answer_lines != NULL)
        return p->task.answer_lines(out, p->task.state, &with, q);
    if (p->task.example_batch != NULL) {
        RGM_TRY(p->task.example_batch(&batch, p->task.state, q->texts, q->count));
        return run_batch(out, p, batch, q->texts, q->count);
    }
    RGM_TRY(p->task.row_batch(&batch, p->task.state, q->rows));
    return run_batch(out, p, batch, NULL, q->count);
}

/* What is told while it works is told to the run's log. */
static rgm_logger *enter(const rgm_predictor *p)
{
    return p->run != NULL ? rgmi_enter(p->run->controller) : NULL;
}

static rgm_status leave(const rgm_predictor *p, rgm_logger *before, rgm_status status)
{
    return p->run != NULL ? rgmi_leave(before, status) : status;
}

rgm_status rgm_predictor_ask(rgm_answers *out, rgm_predictor *p, const rgm_questions *questions)
{
    rgm_logger *before = enter(p);
    rgm_status status;

    *out = (rgm_answers){0};
    status = leave(p, before, ask(out, p, questions));
    if (status != RGM_OK && (status != RGM_ERR_DATA || out->texts == NULL))
        rgm_answers_clear(out);
    return status;
}

/* ---- texts, a token at a time ----------------------------------------------------------------
 */

static rgm_status check_writing(const rgm_predictor *p)
{
    return p->task.writing != NULL
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' writes no texts behind prompts",
                          p->task.name);
}

rgm_status rgm_predictor_prepare(void **out, const rgm_predictor *p, rgm_str prompt,
                                 const rgm_json *wishes)
{
    *out = NULL;
    RGM_TRY(check_writing(p));
    return p->task.writing->prepare(out, p->task.state, prompt, wishes);
}

void rgm_predictor_discard(const rgm_predictor *p, void *prepared)
{
    if (prepared != NULL)
        p->task.writing->discard(prepared);
}

rgm_status rgm_predictor_write(rgm_predictor *p, int64_t most)
{
    const rgm_asked_with with = {p->parameters, p->device, p->bf16, p->int8};

    RGM_TRY(check_writing(p));
    if (p->writing != NULL)
        return RGM_FAIL(RGM_ERR_ARG, "texts are written already");
    return p->task.writing->open(&p->writing, p->task.state, &with, most);
}

rgm_status rgm_predictor_join(rgm_predictor *p, void *prepared, int64_t number, void *mine)
{
    rgm_logger *before = enter(p);
    rgm_status status = p->writing == NULL ? rgm_predictor_write(p, 0) : RGM_OK;

    if (status == RGM_OK) {
        status = p->task.writing->join(p->writing, prepared, number, mine);
        p->texts += status == RGM_OK;
    } else {
        rgm_predictor_discard(p, prepared);
    }
    return leave(p, before, status);
}

int64_t rgm_predictor_texts(const rgm_predictor *p)
{
    return p->texts;
}

typedef struct stepping {
    rgm_predictor *p;
    rgm_written_sink *sink;
    void *payload;
} stepping;

static bool count_told(const rgm_written *text, void *payload)
{
    const stepping *s = payload;

    s->p->texts -= text->end >= 0;
    return s->sink(text, s->payload);
}

rgm_status rgm_predictor_step(rgm_predictor *p, rgm_written_sink *sink, void *payload)
{
    stepping s = {p, sink, payload};
    rgm_logger *before;
    rgm_status status;

    if (p->writing == NULL)
        return RGM_OK;
    before = enter(p);
    status = p->task.writing->step(p->writing, count_told, &s);
    if (status != RGM_OK)
        p->texts = 0;
    return leave(p, before, status);
}

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct answering {
    rgm_predictor *p;
    int64_t head;
    rgm_prediction_sink *sink;
    void *payload;
} answering;

static const rgm_tensor *probabilities_of(const rgm_predictor *p, int64_t head)
{
    for (int64_t i = p->outputs.heads; i < p->outputs.count; i++)
        if (head_of(p, i) == head)
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
    rgm_logger *before;

    if (p->task.build_file_inputs == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the task '%s' reads no files but its own data",
                        p->task.name);
    if (head < 0 || head >= p->outputs.heads)
        return RGM_FAIL(RGM_ERR_ARG, "head %lld of %lld", (long long)head,
                        (long long)p->outputs.heads);
    options.threads = rgm_threads();
    if (p->run != NULL) {
        options.seed = (uint64_t)p->run->options.runtime.seed;
        options.threads = (int)p->run->options.runtime.threads;
    }
    RGM_GO(open_executor(p));
    RGM_GO(p->task.build_file_inputs(&data, p->task.state, files));
    before = enter(p);
    RGM_GO(leave(p, before, rgmi_each_batch(data, &options, answer_batch, &all)));
done:
    rgm_dataset_release(data);
    return status;
}
