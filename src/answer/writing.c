/*
 * Texts that a model's thread writes token by token, of predictions and of streams alike. They join
 * between two steps, as there are places, and leave when they have ended; those of one version are
 * written together. Requests take turns at the places, so that one of many prompts holds up none.
 */
#include <stdio.h>
#include <string.h>

#include "answer_internal.h"

/** A text that is being written. */
typedef struct rgmi_asked_text {
    struct rgmi_asked_text *next, *last;
    rgmi_version *version; /* counted */
    rgmi_inquiry *asked;   /* whose question `i` it is; NULL: of a stream that has begun */
    int64_t i;
    rgmi_telling *telling; /* of a stream */
    rgm_text told;         /* what the stream has of the text */
} text;

/* ---- requests -------------------------------------------------------------------------------- */

static void count_down(rgmi_served *model)
{
    pthread_mutex_lock(&model->lock);
    model->busy--;
    pthread_mutex_unlock(&model->lock);
}

static void answer_whole(rgmi_inquiry *asked)
{
    rgm_status status = RGM_OK;
    rgm_text all = {0};
    int64_t *begins = NULL;

    RGM_GO(RGM_NEW(begins, asked->count + 1));
    for (int64_t i = 0; i < asked->count; i++) {
        RGM_GO(rgm_text_add(&all, asked->predictions[i].data, asked->predictions[i].size));
        begins[i + 1] = all.size;
    }
done:
    if (status == RGM_OK)
        rgmi_inquiry_predict(asked, &all, begins);
    else
        rgmi_inquiry_fail(asked, status);
    rgm_text_clear(&all);
    rgm_free(begins);
}

/* `count` questions of a request have what they get; the last of them answers it. */
static void finish(rgmi_inquiry *asked, int64_t count, rgm_status status)
{
    rgmi_served *model = asked->model;

    if (status != RGM_OK && asked->failed == RGM_OK) {
        asked->failed = status;
        rgm_error_save(&asked->error, status);
    }
    asked->left -= count;
    if (asked->left > 0)
        return;
    if (asked->failed != RGM_OK)
        rgmi_inquiry_fail(asked, rgm_error_restore(&asked->error));
    else
        answer_whole(asked);
    count_down(model);
}

/* ---- what a text comes to -------------------------------------------------------------------- */

static const char *end_name(const rgmi_version *version, int64_t end)
{
    const rgm_export_output *about;
    int64_t count = rgm_predictor_outputs(&about, version->predictor);

    for (int64_t o = 0; o < count; o++)
        if (end < about[o].classes.count)
            return about[o].classes.items[end];
    return "";
}

static rgm_status print_prediction(rgm_text *out, const text *t, const rgm_written *w)
{
    rgm_status status = RGM_OK;
    rgm_json_writer json = {.out = out};
    char *written = NULL;

    RGM_GO(rgm_strndup(&written, w->text.data, (size_t)w->text.size));
    RGM_GO(rgm_json_open_object(&json, NULL, RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(&json, "text", written));
    RGM_GO(rgm_json_write_int(&json, "tokens", w->tokens));
    RGM_GO(rgm_json_write_number(&json, "log_probability", w->log_probability));
    RGM_GO(rgm_json_write_text(&json, "end", end_name(t->version, w->end)));
    RGM_GO(rgm_json_close(&json));
done:
    rgm_free(written);
    return status;
}

/* What is new of a text since the last event; nothing if it is another one by now. */
static rgm_status print_piece(rgm_text *out, text *t, const rgm_written *w)
{
    rgm_status status = RGM_OK;
    rgm_json_writer json = {.out = out};
    char *piece = NULL;
    int64_t before = t->told.size;

    if (w->text.size <= before ||
        (before > 0 && memcmp(w->text.data, t->told.data, (size_t)before) != 0))
        return RGM_OK;
    RGM_GO(rgm_strndup(&piece, w->text.data + before, (size_t)(w->text.size - before)));
    RGM_GO(rgm_text_add(&t->told, w->text.data + before, w->text.size - before));
    RGM_GO(rgm_json_open_object(&json, NULL, RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(&json, "text", piece));
    RGM_GO(rgm_json_write_int(&json, "tokens", w->tokens));
    RGM_GO(rgm_json_close(&json));
done:
    rgm_free(piece);
    return status;
}

/* ---- streams --------------------------------------------------------------------------------- */

/* The answer is the stream from now on. */
static void begin_stream(text *t)
{
    rgm_response response = {.status = 200};
    rgmi_inquiry *asked = t->asked;
    char number[32];
    rgm_status status;

    t->asked = NULL;
    snprintf(number, sizeof number, "%lld", (long long)t->version->number);
    status = rgm_response_add_header(&response, "X-Model-Version", number);
    if (status == RGM_OK)
        response.stream = rgmi_telling_reader(t->telling);
    else
        rgmi_answer_fail(&response, 0, status);
    rgmi_served *model = asked->model;
    rgmi_inquiry_answer(asked, &response);
    if (status != RGM_OK) {
        rgmi_telling_end(t->telling);
        t->telling = NULL;
        count_down(model);
    }
}

static void tell_failure(text *t, rgm_status status)
{
    rgm_text data = {0};

    if (rgmi_failure_print(&data, status) == RGM_OK)
        rgmi_telling_add(t->telling, "error", &data);
    rgm_text_clear(&data);
}

/* Events of what is new of a text, and of its end. */
static void tell(text *t, const rgm_written *w)
{
    rgm_status status = RGM_OK;
    rgm_text data = {0};

    RGM_GO(print_piece(&data, t, w));
    if (data.size > 0)
        rgmi_telling_add(t->telling, NULL, &data);
    if (w->end >= 0) {
        data.size = 0;
        RGM_GO(print_prediction(&data, t, w));
        rgmi_telling_add(t->telling, "end", &data);
    }
done:
    if (status != RGM_OK)
        tell_failure(t, status);
    rgm_text_clear(&data);
    if (t->asked != NULL)
        begin_stream(t);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* It is not being written any more; what it came to is still to be told. */
static void leave(rgmi_writing *w, text *t)
{
    *(t->last != NULL ? &t->last->next : &w->first) = t->next;
    if (t->next != NULL)
        t->next->last = t->last;
    w->count--;
    pthread_mutex_lock(&w->model->lock);
    w->model->texts = w->count;
    pthread_mutex_unlock(&w->model->lock);
}

static void text_release(text *t)
{
    rgmi_telling_end(t->telling);
    rgmi_version_release(t->version);
    rgm_text_clear(&t->told);
    rgm_free(t);
}

/* A text fails, and leaves. */
static void fail(rgmi_writing *w, text *t, rgm_status status)
{
    leave(w, t);
    if (t->telling != NULL && t->asked == NULL)
        tell_failure(t, status);
    else if (t->asked != NULL)
        finish(t->asked, 1, status);
    text_release(t);
}

/* rgm_written_sink: a text has a token more, or its end. */
static bool hear(const rgm_written *written, void *payload)
{
    rgmi_writing *w = payload;
    text *t = written->mine;
    rgm_status status = RGM_OK;

    if (written->end >= 0) {
        leave(w, t);
        pthread_mutex_lock(&w->model->lock);
        w->model->figures.questions++;
        w->model->figures.tokens += written->tokens;
        pthread_mutex_unlock(&w->model->lock);
    }
    if (t->telling != NULL)
        tell(t, written);
    if (written->end < 0)
        return t->asked != NULL || (t->telling != NULL && !rgmi_telling_is_gone(t->telling));
    if (t->asked != NULL) {
        status = print_prediction(&t->asked->predictions[t->i], t, written);
        finish(t->asked, 1, status);
    }
    text_release(t);
    return true;
}

/* ---- joining --------------------------------------------------------------------------------- */

bool rgmi_writing_is_next(const rgmi_served *model)
{
    return model->first != NULL && model->first->version->form == RGM_QUESTIONS_PROMPTS;
}

/* The next question: one of the first request, which then stands behind the others with the rest of
 * them. The lock is held. */
static rgmi_inquiry *take_question(rgmi_served *model, int64_t *i)
{
    rgmi_inquiry *asked = model->first;

    *i = asked->joined++;
    model->waiting--;
    if (*i == 0) {
        model->busy++;
        rgmi_observe_seconds(&model->figures.waited, rgm_now() - asked->came);
    }
    model->first = asked->next;
    if (model->first == NULL)
        model->last = NULL;
    asked->next = NULL;
    if (asked->joined == asked->count)
        return asked;
    *(model->last != NULL ? &model->last->next : &model->first) = asked;
    model->last = asked;
    return asked;
}

static void add_version(rgmi_writing *w, rgmi_version *version)
{
    if (version->writes)
        return;
    version->writes = true;
    version->next = w->versions;
    w->versions = version;
    atomic_fetch_add(&version->references, 1);
}

static void join(rgmi_writing *w, rgmi_inquiry *asked, int64_t i)
{
    rgm_status status = RGM_OK;
    void *prepared = asked->prepared[i];
    rgmi_version *version = asked->version;
    text *t = NULL;

    RGM_GO(RGM_NEW(t, 1));
    asked->prepared[i] = NULL;
    RGM_GO(rgm_predictor_join(version->predictor, prepared, w->model->asked++, t));
    *t = (text){.version = version, .asked = asked, .i = i, .telling = asked->telling};
    asked->telling = NULL; /* of a stream, which has no other question */
    atomic_fetch_add(&version->references, 1);
    add_version(w, version);
    t->next = w->first;
    if (w->first != NULL)
        w->first->last = t;
    w->first = t;
    w->count++;
    t = NULL;
done:
    rgm_free(t);
    if (status != RGM_OK)
        finish(asked, 1, status);
}

void rgmi_writing_join(rgmi_writing *w)
{
    rgmi_served *model = w->model;

    while (w->count < model->server->options.max_batch) {
        rgmi_inquiry *asked = NULL;
        int64_t i = 0;

        pthread_mutex_lock(&model->lock);
        if (rgmi_writing_is_next(model))
            asked = take_question(model, &i);
        pthread_mutex_unlock(&model->lock);
        if (asked == NULL)
            return;
        join(w, asked, i);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void fail_version(rgmi_writing *w, const rgmi_version *version, rgm_status status)
{
    for (text *t = w->first, *next; t != NULL; t = next) {
        next = t->next;
        if (t->version == version)
            fail(w, t, status);
    }
}

/* One that has nothing to write is not looked at any more. */
static void drop_idle(rgmi_writing *w)
{
    for (rgmi_version **at = &w->versions; *at != NULL;) {
        rgmi_version *version = *at;

        if (rgm_predictor_texts(version->predictor) > 0) {
            at = &version->next;
            continue;
        }
        *at = version->next;
        version->writes = false;
        rgmi_version_release(version);
    }
}

void rgmi_writing_step(rgmi_writing *w)
{
    rgmi_served *model = w->model;

    if (w->count == 0)
        return;
    pthread_mutex_lock(&model->lock);
    model->texts = w->count;
    rgmi_observe_size(&model->figures.batches, w->count);
    pthread_mutex_unlock(&model->lock);
    for (rgmi_version *v = w->versions; v != NULL; v = v->next) {
        rgm_status status = rgm_predictor_step(v->predictor, hear, w);

        if (status != RGM_OK)
            fail_version(w, v, status);
    }
    drop_idle(w);
    rgmi_answer_wake(model->server);
}

/* ---- the end --------------------------------------------------------------------------------- */

static rgm_status the_end(void)
{
    return RGM_FAIL(RGM_ERR_BUSY, "the server ends");
}

void rgmi_writing_cut(rgmi_writing *w)
{
    rgmi_served *model = w->model;

    rgmi_inquiry *first;

    pthread_mutex_lock(&model->lock);
    first = model->first;
    model->first = model->last = NULL;
    model->waiting = 0;
    pthread_mutex_unlock(&model->lock);
    for (rgmi_inquiry *a = first, *next; a != NULL; a = next) {
        int64_t rest = a->count - a->joined;
        bool begun = a->joined > 0;

        next = a->next;
        a->next = NULL;
        if (begun)
            finish(a, rest, the_end());
        else
            rgmi_inquiry_fail(a, the_end());
    }
    while (w->first != NULL)
        fail(w, w->first, the_end());
    while (w->versions != NULL) {
        rgmi_version *version = w->versions;

        w->versions = version->next;
        version->writes = false;
        rgmi_version_release(version);
    }
    rgmi_answer_wake(model->server);
}
