/*
 * A model's queue, and the thread that answers it. A question waits at most max_delay for others;
 * while the model computes, those that come gather by themselves. What is answered together is of
 * one version and one width.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "answer_internal.h"

/* ---- the queue ------------------------------------------------------------------------------- */

static void refuse(rgm_response *out, const rgmi_served *model, int64_t most, bool is_over)
{
    if (is_over) { /* it came when the server was not told to end, and is here behind that */
        rgmi_answer_fail(out, 503, RGM_FAIL(RGM_ERR_BUSY, "the server ends"));
        return;
    }
    rgmi_answer_fail(out, 429,
                     RGM_FAIL(RGM_ERR_BUSY, "%lld questions wait for '%s' already", (long long)most,
                              model->name));
    (void)rgm_response_add_header(out, "Retry-After", "1");
}

bool rgmi_batch_add(rgm_response *out, rgmi_inquiry *asked)
{
    rgmi_served *model = asked->model;
    int64_t most = model->server->options.max_queue;
    bool fits, is_over;

    pthread_mutex_lock(&model->lock);
    is_over = model->ends || model->cut;
    fits = !is_over && model->waiting + asked->count <= most;
    if (fits) {
        if (model->last != NULL)
            model->last->next = asked;
        else
            model->first = asked;
        model->last = asked;
        model->waiting += asked->count;
        pthread_cond_broadcast(&model->changed);
    }
    pthread_mutex_unlock(&model->lock);
    if (!fits)
        refuse(out, model, most, is_over);
    return fits;
}

/* Out of the queue; the lock is held. `before`: the one that stands before it, or NULL. */
static void take_out(rgmi_served *model, rgmi_inquiry *before, rgmi_inquiry *asked)
{
    if (before != NULL)
        before->next = asked->next;
    else
        model->first = asked->next;
    if (model->last == asked)
        model->last = before;
    model->waiting -= asked->count;
    model->busy++;
    asked->next = NULL;
}

static void give_up(rgmi_inquiry *asked)
{
    rgmi_served *model = asked->model;
    rgm_response response = {0};

    rgmi_answer_fail(
        &response, 504,
        RGM_FAIL(RGM_ERR_BUSY, "'%s' did not begin with the request within its time", model->name));
    rgmi_inquiry_answer(asked, &response);
    pthread_mutex_lock(&model->lock);
    model->busy--;
    pthread_mutex_unlock(&model->lock);
}

void rgmi_batch_expire(rgmi_served *model, double now)
{
    rgmi_inquiry *late = NULL, *before = NULL;

    pthread_mutex_lock(&model->lock);
    for (rgmi_inquiry *a = model->first, *next; a != NULL; a = next) {
        next = a->next;
        if (a->until > now || a->joined > 0) {
            before = a;
            continue;
        }
        take_out(model, before, a);
        a->next = late;
        late = a;
    }
    pthread_mutex_unlock(&model->lock);
    for (rgmi_inquiry *a = late; a != NULL; a = late) {
        late = a->next;
        a->next = NULL;
        give_up(a);
    }
}

void rgmi_batch_hurry(rgmi_served *model)
{
    pthread_mutex_lock(&model->lock);
    pthread_cond_broadcast(&model->changed);
    pthread_mutex_unlock(&model->lock);
}

void rgmi_batch_cut(rgmi_served *model)
{
    pthread_mutex_lock(&model->lock);
    model->cut = true;
    pthread_cond_broadcast(&model->changed);
    pthread_mutex_unlock(&model->lock);
}

bool rgmi_batch_is_idle(rgmi_served *model)
{
    bool idle;

    pthread_mutex_lock(&model->lock);
    idle = model->first == NULL && model->busy == 0;
    pthread_mutex_unlock(&model->lock);
    return idle;
}

/* ---- answering ------------------------------------------------------------------------------- */

/* Requests that are answered together, in a list. */
typedef struct batch {
    rgmi_inquiry *first;
    int64_t questions;
} batch;

/* Whether two requests can be answered as one: texts, or rows of one shape. */
static bool goes_with(const rgmi_inquiry *a, const rgmi_inquiry *b)
{
    if (a->version != b->version ||
        (a->rows != NULL && rgm_tensor_rank(a->rows) != rgm_tensor_rank(b->rows)))
        return false;
    for (int i = 1; a->rows != NULL && i < rgm_tensor_rank(a->rows); i++)
        if (rgm_tensor_dim(a->rows, i) != rgm_tensor_dim(b->rows, i))
            return false;
    return true;
}

/* Room for `count` rows like others; returns the numbers of one in *width. */
static rgm_status rows_like(rgm_tensor **out, int64_t *width, const rgm_tensor *rows, int64_t count)
{
    int64_t shape[RGM_MAX_RANK];
    int rank = rgm_tensor_rank(rows);

    memcpy(shape, rgm_tensor_shape(rows), (size_t)rank * sizeof *shape);
    *width = rgm_tensor_count(rows) / shape[0];
    shape[0] = count;
    return rgm_tensor_create(out, RGM_F64, rank, shape);
}

/* What is wished of texts, NULL of none. */
static rgm_status gather_wishes(const char ***out, const batch *b)
{
    bool any = false;
    int64_t at = 0;

    for (const rgmi_inquiry *a = b->first; a != NULL; a = a->next)
        any |= a->wishes != NULL;
    if (!any)
        return RGM_OK;
    RGM_TRY(RGM_NEW(*out, b->questions));
    for (const rgmi_inquiry *a = b->first; a != NULL; a = a->next) {
        for (int64_t i = 0; a->wishes != NULL && i < a->count; i++)
            (*out)[at + i] = a->wishes[i];
        at += a->count;
    }
    return RGM_OK;
}

/* All rows, or all texts, of the list, for its predictor. `rows`, `texts` and `wishes` are the
 * caller's to release. */
static rgm_status gather(rgm_questions *out, rgm_tensor **rows, rgm_str **texts,
                         const char ***wishes, const batch *b)
{
    int64_t at = 0, width;

    *out = (rgm_questions){.count = b->questions};
    if (b->first->rows != NULL) {
        RGM_TRY(rows_like(rows, &width, b->first->rows, b->questions));
        for (const rgmi_inquiry *a = b->first; a != NULL; a = a->next) {
            memcpy((double *)rgm_tensor_data(*rows) + at * width, rgm_tensor_data(a->rows),
                   (size_t)(a->count * width) * sizeof(double));
            at += a->count;
        }
        out->rows = *rows;
        return RGM_OK;
    }
    RGM_TRY(RGM_NEW(*texts, b->questions));
    for (const rgmi_inquiry *a = b->first; a != NULL; a = a->next) {
        memcpy(*texts + at, a->texts, (size_t)a->count * sizeof **texts);
        at += a->count;
    }
    RGM_TRY(gather_wishes(wishes, b));
    out->texts = *texts;
    out->wishes = *wishes;
    return RGM_OK;
}

/* Some of the questions of one request that is larger than a batch. */
static rgm_status part_of(rgm_questions *out, rgm_tensor **rows, const rgm_questions *all,
                          int64_t first, int64_t count)
{
    int64_t width;

    *out = (rgm_questions){.count = count, .first = all->first + first};
    if (all->texts != NULL) {
        out->texts = all->texts + first;
        out->wishes = all->wishes != NULL ? all->wishes + first : NULL;
        return RGM_OK;
    }
    RGM_TRY(rows_like(rows, &width, all->rows, count));
    memcpy(rgm_tensor_data(*rows), (const double *)rgm_tensor_data(all->rows) + first * width,
           (size_t)(count * width) * sizeof(double));
    out->rows = *rows;
    return RGM_OK;
}

/* What a question's message says of its place: the task counts within what it was given. */
static rgm_status place_error(rgm_status status, const rgm_answers *got, rgm_question_form form,
                              int64_t first)
{
    if (form == RGM_QUESTIONS_LINES && got->texts != NULL) /* it is one of them, and no search */
        return rgm_error_prefix(status, "instances[%lld]", (long long)(first + got->count));
    if (first > 0 && status != RGM_ERR_NOMEM)
        return rgm_error_prefix(status, "of the instances from %lld on", (long long)first);
    return status;
}

/* Ask in parts of max_batch at most, and append a prediction after the other. `begins` [questions +
 * 1]: where each begins in `out`. */
static rgm_status ask(rgm_text *out, int64_t *begins, rgmi_served *model, rgmi_version *version,
                      const rgm_questions *all)
{
    rgm_status status = RGM_OK;
    int64_t most = model->server->options.max_batch;
    rgm_answers got = {0};
    rgm_tensor *rows = NULL;

    for (int64_t first = 0; first < all->count; first += most) {
        int64_t count = all->count - first < most ? all->count - first : most;
        rgm_questions part;

        RGM_GO(part_of(&part, &rows, all, first, count));
        status = rgm_predictor_ask(&got, version->predictor, &part);
        if (status != RGM_OK)
            RGM_GO(place_error(status, &got, version->form, first));
        for (int64_t i = 0; i < count; i++) {
            begins[first + i] = out->size;
            RGM_GO(rgmi_answer_print(out, &got, version, i));
        }
        rgm_answers_clear(&got);
        rgm_tensor_release(rows);
        rows = NULL;
    }
    begins[all->count] = out->size;
done:
    rgm_answers_clear(&got);
    rgm_tensor_release(rows);
    return status;
}

static void count_batch(rgmi_served *model, const batch *b, double now)
{
    pthread_mutex_lock(&model->lock);
    rgmi_observe_size(&model->figures.batches, b->questions);
    for (const rgmi_inquiry *a = b->first; a != NULL; a = a->next)
        rgmi_observe_seconds(&model->figures.waited, now - a->came);
    pthread_mutex_unlock(&model->lock);
}

/* All of the list, if none of it is wrong: then nobody is answered, and *out says so. */
static rgm_status answer_together(rgmi_served *model, batch *b)
{
    rgm_status status = RGM_OK;
    rgm_text predictions = {0};
    rgm_questions questions;
    rgm_tensor *rows = NULL;
    rgm_str *texts = NULL;
    const char **wishes = NULL;
    int64_t *begins = NULL, at = 0;

    RGM_GO(RGM_NEW(begins, b->questions + 1));
    RGM_GO(gather(&questions, &rows, &texts, &wishes, b));
    questions.first = model->asked;
    RGM_GO(ask(&predictions, begins, model, b->first->version, &questions));
    model->asked += b->questions;
    pthread_mutex_lock(&model->lock);
    model->figures.questions += b->questions;
    pthread_mutex_unlock(&model->lock);
    for (rgmi_inquiry *a = b->first, *next; a != NULL; a = next) {
        int64_t count = a->count;

        next = a->next;
        rgmi_inquiry_predict(a, &predictions, begins + at);
        at += count;
    }
    b->first = NULL;
done:
    rgm_text_clear(&predictions);
    rgm_tensor_release(rows);
    rgm_free(texts);
    rgm_free(wishes);
    rgm_free(begins);
    return status;
}

/* One wrong question is not to be the failure of others that came with it. */
static void answer(rgmi_served *model, batch *b)
{
    int64_t requests = 0;
    rgm_status status;

    for (const rgmi_inquiry *a = b->first; a != NULL; a = a->next)
        requests++;
    count_batch(model, b, rgm_now());
    status = answer_together(model, b);
    if (status != RGM_OK && requests == 1)
        rgmi_inquiry_fail(b->first, status);
    for (rgmi_inquiry *a = status != RGM_OK && requests > 1 ? b->first : NULL, *next; a != NULL;
         a = next) {
        batch alone = {.first = a, .questions = a->count};

        next = a->next;
        a->next = NULL;
        status = answer_together(model, &alone);
        if (status != RGM_OK)
            rgmi_inquiry_fail(a, status);
    }
    pthread_mutex_lock(&model->lock);
    model->busy -= requests;
    pthread_mutex_unlock(&model->lock);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void wait_until(rgmi_served *model, double until)
{
    struct timespec at = {.tv_sec = (time_t)until, .tv_nsec = (long)((until - floor(until)) * 1e9)};

    pthread_cond_timedwait(&model->changed, &model->lock, &at);
}

/* Wait for a request, and then for its company; not at all while texts are being written. false:
 * there is nothing and nothing will come, or nothing is to be answered any more. */
static bool wait_for_some(rgmi_served *model, const rgmi_writing *writing)
{
    const rgm_answer_options *o = &model->server->options;
    double until = 0;

    while (true) {
        bool writes = writing->count > 0;

        if (model->cut || (model->ends && (model->first == NULL || writes)))
            return false;
        if (writes)
            return true;
        if (model->first == NULL) {
            pthread_cond_wait(&model->changed, &model->lock);
            continue;
        }
        until = model->first->came + o->max_delay;
        if (model->ends || atomic_load(&model->server->drains) || model->waiting >= o->max_batch ||
            rgm_now() >= until)
            return true; /* near the end no company comes */
        wait_until(model, until);
    }
}

/* The first of the queue, with those that can go with it. */
static batch take(rgmi_served *model)
{
    int64_t most = model->server->options.max_batch;
    batch out = {.first = model->first, .questions = model->first->count};
    rgmi_inquiry *last = model->first;

    take_out(model, NULL, last);
    while (model->first != NULL && goes_with(model->first, last) &&
           out.questions + model->first->count <= most) {
        rgmi_inquiry *next = model->first;

        take_out(model, NULL, next);
        last->next = next;
        last = next;
        out.questions += next->count;
    }
    return out;
}

static void *work(void *payload)
{
    rgmi_served *model = payload;
    rgmi_writing writing = {.model = model};

    pthread_mutex_lock(&model->lock);
    while (wait_for_some(model, &writing)) {
        batch some = {0};

        pthread_mutex_unlock(&model->lock);
        rgmi_batch_expire(model, rgm_now());
        pthread_mutex_lock(&model->lock);
        if (model->first != NULL && !rgmi_writing_is_next(model))
            some = take(model);
        pthread_mutex_unlock(&model->lock);
        if (some.first != NULL)
            answer(model, &some);
        rgmi_writing_join(&writing);
        rgmi_writing_step(&writing);
        pthread_mutex_lock(&model->lock);
    }
    pthread_mutex_unlock(&model->lock);
    rgmi_writing_cut(&writing);
    return NULL;
}

rgm_status rgmi_batch_start(rgmi_served *model)
{
    int failed = rgm_thread_start(&model->thread, work, model);

    if (failed != 0)
        return RGM_FAIL(RGM_ERR_IO, "no thread for a model: %s", strerror(failed));
    model->has_thread = true;
    return RGM_OK;
}
