/*
 * Texts of tokens: rows of a writer, each of which draws its next token by its own stream. A row
 * that has ended makes room for the next text at once.
 */
#include <math.h>
#include <string.h>

#include <regimen/sequence_generate.h>

#define RGM_OPTIONS rgm_generate_options
const rgm_field rgm_generate_fields[] = {
    RGM_FLOAT_FIELD(temperature, 0, 1e6,
                    "logits are divided by it; 0: always the most probable token"),
    RGM_INT_FIELD(top_k, 0, 1e9, "draw among the k most probable tokens; 0: all"),
    RGM_FLOAT_FIELD(top_p, RGM_ABOVE_0, 1,
                    "draw among the fewest tokens that have this probability together"),
    RGM_FLOAT_FIELD(min_p, 0, 1,
                    "leave out tokens that are less than so many times as probable as the best"),
    RGM_FLOAT_FIELD(repetition_penalty, 1e-6, 1e6,
                    "above 1: tokens that prompt or text has become less probable"),
    RGM_INT_FIELD(max_tokens, 1, 1e9, "most tokens of a text, its end included"),
    RGM_INT_FIELD(batch_size, 1, 1e6, "texts written together; changes nothing but the time"),
    RGM_INT_FIELD(seed, 0, 1e15, "of the draws; each prompt draws by its own number"),
    RGM_BOOL_FIELD(begin, "prompts are read behind the token that begins a document"),
    {0}};
#undef RGM_OPTIONS

/** A text that waits, is being written, or has ended. */
typedef struct text {
    struct text *next; /* that waits, or has ended, behind it */
    void *mine;
    rgm_generate_options options;
    int64_t number;
    int32_t *ids; /* the prompt and the text */
    int64_t prompt, count, capacity;
    rgm_rng rng;
    double log_probability;
    bool ended;
    rgm_generate_end end;
} text;

/** Texts in their order. */
typedef struct text_list {
    text *first, *last;
} text_list;

struct rgm_generation {
    rgm_token_writer *writer;
    rgm_decoder model;
    rgm_token_sampler *sampler;
    int64_t most;    /* rows */
    text **rows;     /* [most] as the writer has them */
    int64_t count;   /* of rows */
    int64_t joined;  /* texts: rows, and those of both lists */
    text_list waits; /* have not begun */
    text_list ended;
    int32_t *newest;         /* [most] */
    int64_t *going;          /* [most] */
    const int32_t **prompts; /* [most] of those that begin together */
    int64_t *lengths;        /* [most] */
};

void rgm_generated_clear(rgm_generated *texts, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        rgm_free(texts[i].ids);
        texts[i] = (rgm_generated){0};
    }
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void push(text_list *list, text *t)
{
    t->next = NULL;
    if (list->last != NULL)
        list->last->next = t;
    else
        list->first = t;
    list->last = t;
}

static text *pop(text_list *list)
{
    text *t = list->first;

    if (t == NULL)
        return NULL;
    list->first = t->next;
    if (list->first == NULL)
        list->last = NULL;
    return t;
}

static void text_release(text *t)
{
    if (t != NULL)
        rgm_free(t->ids);
    rgm_free(t);
}

void rgm_generation_clear(rgm_generation *g)
{
    for (text *t = pop(&g->waits); t != NULL; t = pop(&g->waits))
        text_release(t);
    for (text *t = pop(&g->ended); t != NULL; t = pop(&g->ended))
        text_release(t);
    for (int64_t i = 0; i < g->count; i++)
        text_release(g->rows[i]);
    g->count = g->joined = 0;
    (void)rgm_token_writer_keep(g->writer, NULL, 0);
}

/* ---- a token more ---------------------------------------------------------------------------- */

/* Of one token by the model itself, in nats. */
static double log_probability(const float *logits, int64_t vocabulary, int32_t id)
{
    double best = (double)logits[id], sum = 0;

    for (int64_t i = 0; i < vocabulary; i++)
        best = fmax(best, (double)logits[i]);
    for (int64_t i = 0; i < vocabulary; i++)
        sum += exp((double)logits[i] - best);
    return (double)logits[id] - best - log(fmax(sum, 1)); /* the best has 1 of it */
}

static void end_text(text *t, rgm_generate_end end)
{
    t->ended = true;
    t->end = end;
}

/* Draw the next token of a text, and see whether it ends with it. */
static rgm_status draw(rgm_generation *g, text *t, const float *logits)
{
    const rgm_generate_options *o = &t->options;
    int64_t written = t->count - t->prompt;
    bool stop = false;
    int32_t id;

    RGM_TRY(rgm_token_sampler_draw(&id, g->sampler, logits, o, t->ids, t->count,
                                   rgm_rng_f64(&t->rng, (uint64_t)written)));
    if (o->scored)
        t->log_probability += log_probability(logits, g->model.vocabulary, id);
    if (id == o->end_id) {
        end_text(t, RGM_GENERATED_END);
        return RGM_OK;
    }
    RGM_TRY(RGM_RESERVE(t->ids, t->capacity, t->count + 1));
    t->ids[t->count++] = id;
    written++;
    if (o->stop != NULL)
        RGM_TRY(o->stop(&stop, t->ids + t->prompt, written, t->number, o->payload));
    if (stop)
        end_text(t, RGM_GENERATED_STOP);
    else if (written >= o->max_tokens || t->count >= g->model.options.max_positions)
        end_text(t, RGM_GENERATED_LENGTH);
    return RGM_OK;
}

/* Rows that have ended leave. */
static rgm_status leave(rgm_generation *g)
{
    int64_t kept = 0, before = g->count;

    for (int64_t i = 0; i < before; i++) {
        text *t = g->rows[i];

        g->rows[i] = NULL;
        if (t->ended) {
            push(&g->ended, t);
            continue;
        }
        g->going[kept] = i;
        g->rows[kept++] = t;
    }
    g->count = kept;
    return kept == before ? RGM_OK : rgm_token_writer_keep(g->writer, g->going, kept);
}

static rgm_status step_rows(rgm_generation *g)
{
    int64_t padded = rgm_seq2seq_padded(g->model.vocabulary);
    const float *logits;

    for (int64_t i = 0; i < g->count; i++)
        g->newest[i] = g->rows[i]->ids[g->rows[i]->count - 1];
    RGM_TRY(rgm_token_writer_step(&logits, g->writer, g->newest));
    for (int64_t i = 0; i < g->count; i++)
        RGM_TRY(draw(g, g->rows[i], logits + i * padded));
    return leave(g);
}

/* Those that wait get places, in their order; the writer reads their prompts together, padded. */
static rgm_status begin_rows(rgm_generation *g)
{
    int64_t before = g->count, longest = 0, padded = rgm_seq2seq_padded(g->model.vocabulary);
    const float *logits;

    while (g->waits.first != NULL && g->count < g->most) {
        int64_t length = g->waits.first->prompt, rows = g->count - before + 1;

        longest = length > longest ? length : longest;
        if (rows > 1 && rows * longest > RGM_GENERATION_READS)
            break;
        g->prompts[rows - 1] = g->waits.first->ids;
        g->lengths[rows - 1] = length;
        g->rows[g->count++] = pop(&g->waits);
    }
    if (g->count == before)
        return RGM_OK;
    RGM_TRY(rgm_token_writer_add(&logits, g->writer, g->prompts, g->lengths, g->count - before));
    for (int64_t i = before; i < g->count; i++)
        RGM_TRY(draw(g, g->rows[i], logits + (i - before) * padded));
    return leave(g);
}

/* ---- texts that come and go ------------------------------------------------------------------ */

rgm_status rgm_generation_create(rgm_generation **out, rgm_token_writer *writer,
                                 const rgm_decoder *model, int64_t most)
{
    rgm_status status = RGM_OK;
    rgm_generation *g = NULL;

    *out = NULL;
    if (most < 1)
        return RGM_FAIL(RGM_ERR_ARG, "%lld texts are to be written together", (long long)most);
    RGM_GO(RGM_NEW(g, 1));
    g->writer = writer;
    g->model = *model;
    g->most = most;
    RGM_GO(RGM_NEW(g->rows, most));
    RGM_GO(RGM_NEW(g->newest, most));
    RGM_GO(RGM_NEW(g->going, most));
    RGM_GO(RGM_NEW(g->prompts, most));
    RGM_GO(RGM_NEW(g->lengths, most));
    RGM_GO(rgm_token_sampler_create(&g->sampler, model->vocabulary));
    *out = g;
    g = NULL;
done:
    rgm_generation_release(g);
    return status;
}

void rgm_generation_release(rgm_generation *g)
{
    if (g == NULL)
        return;
    rgm_generation_clear(g);
    rgm_token_sampler_release(g->sampler);
    rgm_free(g->rows);
    rgm_free(g->newest);
    rgm_free(g->going);
    rgm_free(g->prompts);
    rgm_free(g->lengths);
    rgm_free(g);
}

int64_t rgm_generation_count(const rgm_generation *g)
{
    return g->joined;
}

static rgm_status check_prompt(const rgm_decoder *model, const int32_t *prompt, int64_t length)
{
    int64_t most = model->options.max_positions;

    if (length < 1)
        return RGM_FAIL(RGM_ERR_DATA, "it is empty: begin it with a token of its own");
    if (length > most)
        return RGM_FAIL(RGM_ERR_DATA, "%lld tokens, but model.max_positions is %lld",
                        (long long)length, (long long)most);
    for (int64_t i = 0; i < length; i++)
        if (prompt[i] < 0 || prompt[i] >= model->vocabulary)
            return RGM_FAIL(RGM_ERR_DATA, "it has the id %d, but ids are 0..%lld", prompt[i],
                            (long long)model->vocabulary - 1);
    return RGM_OK;
}

rgm_status rgm_generation_join(rgm_generation *g, const int32_t *prompt, int64_t length,
                               const rgm_generate_options *options, int64_t number, void *mine)
{
    rgm_status status = RGM_OK;
    text *t = NULL;

    RGM_TRY(rgm_options_check(options, rgm_generate_fields, "task.generate"));
    RGM_TRY(check_prompt(&g->model, prompt, length));
    RGM_GO(RGM_NEW(t, 1));
    *t = (text){.mine = mine, .options = *options, .number = number};
    t->rng = rgm_rng_stream((uint64_t)options->seed, "generate",
                            (uint64_t)(options->first_number + number));
    RGM_GO(RGM_RESERVE(t->ids, t->capacity, length + 1));
    memcpy(t->ids, prompt, (size_t)length * sizeof *prompt);
    t->prompt = t->count = length;
    if (length == g->model.options.max_positions)
        end_text(t, RGM_GENERATED_LENGTH);
    push(t->ended ? &g->ended : &g->waits, t);
    g->joined++;
    t = NULL;
done:
    text_release(t);
    return status;
}

rgm_status rgm_generation_step(rgm_generation *g)
{
    rgm_status status = g->count > 0 ? step_rows(g) : RGM_OK;

    if (status == RGM_OK)
        status = begin_rows(g);
    if (status != RGM_OK)
        rgm_generation_clear(g);
    return status;
}

bool rgm_generation_take(rgm_generated *out, void **mine, rgm_generation *g)
{
    text *t = pop(&g->ended);

    if (t == NULL)
        return false;
    *out = (rgm_generated){.ids = t->ids,
                           .count = t->count - t->prompt,
                           .end = t->end,
                           .log_probability = t->log_probability};
    *mine = t->mine;
    memmove(out->ids, out->ids + t->prompt, (size_t)out->count * sizeof *out->ids);
    t->ids = NULL;
    text_release(t);
    g->joined--;
    return true;
}

/* ---- all at once ----------------------------------------------------------------------------- */

rgm_status rgm_generate(rgm_generated *out, rgm_token_writer *writer, const rgm_decoder *model,
                        const int32_t *const *prompts, const int64_t *lengths, int64_t count,
                        const rgm_generate_options *options)
{
    rgm_status status = RGM_OK;
    rgm_generation *g = NULL;
    rgm_generated made;
    void *mine;

    memset(out, 0, (size_t)count * sizeof *out);
    RGM_TRY(rgm_options_check(options, rgm_generate_fields, "task.generate"));
    RGM_GO(rgm_generation_create(
        &g, writer, model, options->batch_size < count || count < 1 ? options->batch_size : count));
    for (int64_t i = 0; i < count; i++) {
        status = rgm_generation_join(g, prompts[i], lengths[i], options, i, &out[i]);
        if (status != RGM_OK && status != RGM_ERR_NOMEM)
            rgm_error_prefix(status, "prompt %lld", (long long)i);
        RGM_GO(status);
    }
    while (rgm_generation_count(g) > 0) {
        RGM_GO(rgm_generation_step(g));
        while (rgm_generation_take(&made, &mine, g))
            *(rgm_generated *)mine = made;
    }
done:
    if (status != RGM_OK)
        rgm_generated_clear(out, count);
    rgm_generation_release(g);
    return status;
}
