/*
 * Texts behind prompts: tokens by a generation, the text of each as it grows, and stop strings,
 * which are looked for in what is new of it, since a string may end inside a token.
 */
#include <string.h>

#include "language_internal.h"

/** A text that has joined. */
typedef struct member {
    struct member *next, *last;
    struct writing *of;
    rgmi_language_request *request; /* its ids grow with the text */
    int64_t prompt;                 /* of these */
    void *mine;
    rgmi_growing growing;
    bool has_begun, is_new; /* is_new: a token came since it was told */
    bool is_stopped;        /* growing.text ends before the stop */
    bool is_unwanted;
} member;

typedef struct writing {
    const rgmi_language_task *task;
    rgm_parameters *merged; /* NULL: the weights are as they were given */
    rgm_token_writer *writer;
    rgm_generation *generation;
    member *first;
    rgm_text text, prompt; /* of a text that has ended */
} writing;

/* ---- members --------------------------------------------------------------------------------- */

static void member_release(member *m)
{
    if (m == NULL)
        return;
    rgmi_language_request_release(m->request);
    rgmi_growing_clear(&m->growing);
    rgm_free(m);
}

static void take_in(writing *w, member *m)
{
    m->next = w->first;
    if (w->first != NULL)
        w->first->last = m;
    w->first = m;
}

static void let_go(writing *w, member *m)
{
    *(m->last != NULL ? &m->last->next : &w->first) = m->next;
    if (m->next != NULL)
        m->next->last = m->last;
    member_release(m);
}

static rgm_texts stops_of(const member *m)
{
    return (rgm_texts){(const char *const *)m->request->stops, m->request->stop_count};
}

/* rgm_generate_options.stop: a token more of a text. */
static rgm_status hear(bool *stop, const int32_t *ids, int64_t count, int64_t number, void *payload)
{
    member *m = payload;
    rgm_ids *all = &m->request->ids;
    rgm_texts stops = stops_of(m);
    int64_t before, at;

    (void)number;
    if (!m->has_begun)
        RGM_TRY(
            rgmi_growing_begin(&m->growing, m->of->task->data.tokenizer, all->items, m->prompt));
    m->has_begun = m->is_new = true;
    RGM_TRY(RGM_RESERVE(all->items, all->capacity, all->count + 1));
    all->items[all->count++] = ids[count - 1];
    before = m->growing.text.size;
    RGM_TRY(rgmi_growing_add(&m->growing, all->items, all->count));
    at = rgmi_stop_find(&stops, &m->growing.text, before);
    if (at >= 0) {
        m->growing.text.size = at;
        m->is_stopped = true;
    }
    *stop = m->is_stopped || m->is_unwanted;
    return RGM_OK;
}

/* ---- what is told ---------------------------------------------------------------------------- */

/*
 * The text that all tokens add to their prompt: what both make together without what the prompt
 * makes, since a first piece has its space only behind others. Into w->text.
 */
static rgm_status text_behind(writing *w, const member *m)
{
    const rgm_tokenizer *tokenizer = w->task->data.tokenizer;
    const rgm_ids *all = &m->request->ids;

    w->text.size = w->prompt.size = 0;
    RGM_TRY(rgm_tokenizer_decode(&w->prompt, tokenizer, all->items, m->prompt));
    RGM_TRY(rgm_tokenizer_decode(&w->text, tokenizer, all->items, all->count));
    if (w->text.size >= w->prompt.size && w->prompt.size > 0 &&
        memcmp(w->text.data, w->prompt.data, (size_t)w->prompt.size) == 0) {
        w->text.size -= w->prompt.size;
        memmove(w->text.data, w->text.data + w->prompt.size, (size_t)w->text.size);
    } else if (w->prompt.size > 0) { /* the prompt ends inside a character */
        w->text.size = 0;
        RGM_TRY(rgm_tokenizer_decode(&w->text, tokenizer, all->items + m->prompt,
                                     all->count - m->prompt));
    }
    return RGM_OK;
}

static rgm_str view(const rgm_text *text, int64_t size)
{
    return (rgm_str){text->size > 0 ? text->data : "", size};
}

/* A text that has ended is told, and goes. */
static rgm_status tell_end(writing *w, member *m, const rgm_generated *made, rgm_written_sink *sink,
                           void *payload)
{
    rgm_status status = RGM_OK;
    rgm_texts stops = stops_of(m);
    rgm_written told = {.mine = m->mine,
                        .tokens = made->count,
                        .end = (int64_t)made->end,
                        .log_probability = made->log_probability};
    int64_t at = -1;

    if (m->is_stopped) {
        told.text = view(&m->growing.text, m->growing.text.size);
    } else {
        RGM_GO(text_behind(w, m));
        at = rgmi_stop_find(&stops, &w->text, m->growing.text.size);
        told.text = view(&w->text, at >= 0 ? at : w->text.size);
    }
    sink(&told, payload);
done:
    let_go(w, m);
    return status;
}

static void tell(const writing *w, rgm_written_sink *sink, void *payload)
{
    for (member *m = w->first; m != NULL; m = m->next) {
        rgm_texts stops = stops_of(m);
        int64_t size = m->growing.text.size - rgmi_stop_begun(&stops, &m->growing.text);
        rgm_written told = {.mine = m->mine,
                            .text = view(&m->growing.text, size),
                            .tokens = m->request->ids.count - m->prompt,
                            .end = -1};

        if (m->is_new && !sink(&told, payload))
            m->is_unwanted = true;
        m->is_new = false;
    }
}

/* ---- rgm_task_writing ------------------------------------------------------------------------ */

static rgm_status prepare(void **out, void *state, rgm_str prompt, const rgm_json *wishes)
{
    static const rgm_texts none = {0};
    const rgmi_language_task *t = state;
    rgm_generate_options options = t->options.generate;
    rgmi_language_request *request;

    *out = NULL;
    options.scored = true;
    RGM_TRY(rgmi_language_request_create(&request, t, prompt, &options, &none, wishes));
    *out = request;
    return RGM_OK;
}

static void discard(void *prepared)
{
    rgmi_language_request_release(prepared);
}

static void close_writing(void *payload)
{
    writing *w = payload;

    if (w == NULL)
        return;
    while (w->first != NULL)
        let_go(w, w->first);
    rgm_generation_release(w->generation);
    rgm_token_writer_release(w->writer);
    rgm_parameters_release(w->merged);
    rgm_text_clear(&w->text);
    rgm_text_clear(&w->prompt);
    rgm_free(w);
}

static rgm_status open_writing(void **out, void *state, const rgm_asked_with *with, int64_t most)
{
    rgm_status status = RGM_OK;
    const rgm_parameters *parameters;
    writing *w = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(w, 1));
    w->task = state;
    most = most > 0 ? most : w->task->options.generate.batch_size;
    RGM_GO(rgmi_language_weights(&parameters, &w->merged, w->task, with->parameters));
    RGM_GO(
        rgm_token_writer_create(&w->writer, &w->task->model, parameters, with->device, with->bf16));
    RGM_GO(rgm_generation_create(&w->generation, w->writer, &w->task->model, most));
    *out = w;
    w = NULL;
done:
    close_writing(w);
    return status;
}

static rgm_status join(void *writing_, void *prepared, int64_t number, void *mine)
{
    rgm_status status = RGM_OK;
    writing *w = writing_;
    member *m = NULL;
    rgmi_language_request *request = prepared;
    rgm_generate_options options = request->options;

    RGM_GO(RGM_NEW(m, 1));
    *m = (member){.of = w, .request = request, .prompt = request->ids.count, .mine = mine};
    request = NULL;
    options.end_id = rgm_tokenizer_eos_id(w->task->data.tokenizer);
    options.stop = hear;
    options.payload = m;
    RGM_GO(rgm_generation_join(w->generation, m->request->ids.items, m->prompt, &options,
                               m->request->has_seed ? 0 : number, m));
    take_in(w, m);
    m = NULL;
done:
    rgmi_language_request_release(request);
    member_release(m);
    return status;
}

static rgm_status step(void *writing_, rgm_written_sink *sink, void *payload)
{
    rgm_status status = RGM_OK;
    writing *w = writing_;
    rgm_generated made;
    void *m;

    RGM_GO(rgm_generation_step(w->generation));
    while (rgm_generation_take(&made, &m, w->generation)) {
        status = tell_end(w, m, &made, sink, payload);
        rgm_generated_clear(&made, 1);
        RGM_GO(status);
    }
    tell(w, sink, payload);
done:
    if (status != RGM_OK)
        rgm_generation_clear(w->generation);
    while (status != RGM_OK && w->first != NULL)
        let_go(w, w->first);
    return status;
}

static const char *const end_names[] = {"end", "stop", "length"};
static const rgm_export_output outputs[] = {{.name = "tokens", .kind = RGM_OUTPUT_NUMBERS},
                                            {.name = "log_probability", .kind = RGM_OUTPUT_NUMBERS},
                                            {.name = "end", .classes = {end_names, 3}},
                                            {.name = NULL}};

const rgm_task_writing rgmi_language_writing = {.prepare = prepare,
                                                .discard = discard,
                                                .open = open_writing,
                                                .close = close_writing,
                                                .join = join,
                                                .step = step,
                                                .outputs = outputs};

/* ---- rgm_language_write() -------------------------------------------------------------------- */

void rgm_language_texts_clear(rgm_language_text *texts, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        rgm_free(texts[i].text);
        rgm_free(texts[i].error);
        texts[i] = (rgm_language_text){0};
    }
}

const rgm_generate_options *rgm_language_generating(const rgm_task *task)
{
    return &((const rgmi_language_task *)task->state)->options.generate;
}

static rgm_status check_stops(const rgm_texts *stops)
{
    for (int64_t i = 0; i < stops->count; i++)
        if (stops->items[i][0] == '\0')
            return RGM_FAIL(RGM_ERR_CONFIG, "a stop string is empty: no text would be written");
    return RGM_OK;
}

/* What a text comes to; payload: the first failure. */
static bool keep(const rgm_written *told, void *payload)
{
    rgm_language_text *out = told->mine;
    rgm_status *status = payload;

    if (told->end < 0)
        return true;
    out->size = told->text.size;
    out->tokens = told->tokens;
    out->end = (rgm_generate_end)told->end;
    out->log_probability = told->log_probability;
    if (*status == RGM_OK)
        *status = rgm_strndup(&out->text, told->text.data, (size_t)told->text.size);
    return true;
}

/* A prompt that cannot be read says so in the place of its text. */
static rgm_status join_prompt(rgm_language_text *out, writing *w, rgm_str prompt,
                              const rgm_generate_options *options, const rgm_texts *stops,
                              int64_t number)
{
    rgmi_language_request *request;
    rgm_status status =
        rgmi_language_request_create(&request, w->task, prompt, options, stops, NULL);

    if (status == RGM_OK)
        return join(w, request, number, out);
    return status == RGM_ERR_NOMEM ? status : rgm_strdup(&out->error, rgm_error_message());
}

rgm_status rgm_language_write(rgm_language_text *out, const rgm_task *task,
                              const rgm_parameters *parameters, const rgm_str *prompts,
                              int64_t count, const rgm_generate_options *options,
                              const rgm_texts *stops, rgm_device *device, bool bf16)
{
    static const rgm_texts none = {0};
    const rgm_asked_with with = {.parameters = parameters, .device = device, .bf16 = bf16};
    rgm_status status = RGM_OK, kept = RGM_OK;
    void *opened = NULL;
    writing *w;

    memset(out, 0, (size_t)count * sizeof *out);
    stops = stops != NULL ? stops : &none;
    RGM_GO(check_stops(stops));
    RGM_GO(open_writing(&opened, task->state, &with,
                        options->batch_size < count ? options->batch_size : count));
    w = opened;
    for (int64_t i = 0; i < count; i++)
        RGM_GO(join_prompt(&out[i], w, prompts[i], options, stops, i));
    while (rgm_generation_count(w->generation) > 0 && kept == RGM_OK)
        RGM_GO(step(w, keep, &kept));
    status = kept;
done:
    close_writing(opened);
    if (status != RGM_OK)
        rgm_language_texts_clear(out, count);
    return status;
}
