/*
 * Texts behind prompts: prompts to tokens, tokens to texts, and stop strings, which are looked for
 * in the text of all tokens so far, since a string may end inside a token.
 */
#include <string.h>

#include "language_internal.h"

void rgm_language_texts_clear(rgm_language_text *texts, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        rgm_free(texts[i].text);
        texts[i] = (rgm_language_text){0};
    }
}

const rgm_generate_options *rgm_language_generating(const rgm_task *task)
{
    return &((const rgmi_language_task *)task->state)->options.generate;
}

/** Prompts as tokens, and what is needed to read texts of tokens. */
typedef struct writing {
    const rgmi_language_task *task;
    const rgm_texts *stops;
    rgm_ids ids;     /* of all prompts, each behind the document's begin */
    int64_t *begins; /* [count + 1] */
    rgm_text text, prompt;
} writing;

static rgm_status read_prompt(writing *w, rgm_str prompt)
{
    const rgm_tokenizer *tokenizer = w->task->data.tokenizer;
    int32_t begin = rgm_tokenizer_bos_id(tokenizer);
    int64_t before = w->ids.count, most = w->task->model.options.max_positions;

    RGM_TRY(RGM_RESERVE(w->ids.items, w->ids.capacity, w->ids.count + 1));
    w->ids.items[w->ids.count++] = begin >= 0 ? begin : rgm_tokenizer_eos_id(tokenizer);
    RGM_TRY(rgm_tokenizer_encode(&w->ids, tokenizer, prompt.data, prompt.size));
    if (w->ids.count - before > most)
        return RGM_FAIL(RGM_ERR_DATA, "%lld tokens with its begin, but model.max_positions is %lld",
                        (long long)(w->ids.count - before), (long long)most);
    return RGM_OK;
}

static rgm_status read_prompts(writing *w, const rgm_str *prompts, int64_t count, int64_t first)
{
    RGM_TRY(RGM_NEW(w->begins, count + 1));
    for (int64_t i = 0; i < count; i++) {
        rgm_status status = read_prompt(w, prompts[i]);

        if (status != RGM_OK)
            return rgm_error_prefix(status, "prompt %lld", (long long)(first + i) + 1);
        w->begins[i + 1] = w->ids.count;
    }
    return RGM_OK;
}

/*
 * The text that tokens add to their prompt: what both make together without what the prompt makes,
 * since a first piece has its space only behind others. Into w->text.
 */
static rgm_status text_behind(writing *w, int64_t number, const int32_t *ids, int64_t count)
{
    rgm_status status = RGM_OK;
    const rgm_tokenizer *tokenizer = w->task->data.tokenizer;
    int64_t begin = w->begins[number], length = w->begins[number + 1] - begin;
    rgm_ids all = {0};

    w->text.size = w->prompt.size = 0;
    RGM_GO(RGM_RESERVE(all.items, all.capacity, length + count));
    memcpy(all.items, w->ids.items + begin, (size_t)length * sizeof *ids);
    memcpy(all.items + length, ids, (size_t)count * sizeof *ids);
    RGM_GO(rgm_tokenizer_decode(&w->prompt, tokenizer, all.items, length));
    RGM_GO(rgm_tokenizer_decode(&w->text, tokenizer, all.items, length + count));
    if (w->text.size >= w->prompt.size && w->prompt.size > 0 &&
        memcmp(w->text.data, w->prompt.data, (size_t)w->prompt.size) == 0) {
        w->text.size -= w->prompt.size;
        memmove(w->text.data, w->text.data + w->prompt.size, (size_t)w->text.size);
    } else if (w->prompt.size > 0) { /* the prompt ends inside a character */
        w->text.size = 0;
        RGM_GO(rgm_tokenizer_decode(&w->text, tokenizer, ids, count));
    }
done:
    rgm_ids_clear(&all);
    return status;
}

/* Where the first stop string in w->text begins, -1: there is none. */
static int64_t find_stop(const writing *w)
{
    int64_t found = -1;

    for (int64_t i = 0; i < w->stops->count; i++) {
        const char *at = w->text.size > 0 ? memmem(w->text.data, (size_t)w->text.size,
                                                   w->stops->items[i], strlen(w->stops->items[i]))
                                          : NULL;

        if (at != NULL && (found < 0 || at - w->text.data < found))
            found = at - w->text.data;
    }
    return found;
}

static rgm_status stop_at(bool *stop, const int32_t *ids, int64_t count, int64_t number,
                          void *payload)
{
    writing *w = payload;

    RGM_TRY(text_behind(w, number, ids, count));
    *stop = find_stop(w) >= 0;
    return RGM_OK;
}

static rgm_status finish_text(rgm_language_text *out, writing *w, int64_t number,
                              const rgm_generated *made)
{
    int64_t end;

    RGM_TRY(text_behind(w, number, made->ids, made->count));
    end = find_stop(w);
    out->size = end >= 0 ? end : w->text.size;
    out->tokens = made->count;
    out->end = made->end;
    return rgm_strndup(&out->text, w->text.size > 0 ? w->text.data : "", (size_t)out->size);
}

static rgm_status check_stops(const rgm_texts *stops)
{
    for (int64_t i = 0; i < stops->count; i++)
        if (stops->items[i][0] == '\0')
            return RGM_FAIL(RGM_ERR_CONFIG, "a stop string is empty: no text would be written");
    return RGM_OK;
}

rgm_status rgmi_language_weights(const rgm_parameters **out, rgm_parameters **owned,
                                 const rgmi_language_task *task, const rgm_parameters *parameters)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;
    rgm_scope *scope = NULL;
    rgm_decoder_step step;

    *out = parameters;
    *owned = NULL;
    if (task->options.lora.rank == 0)
        return RGM_OK;
    RGM_GO(rgm_cgraph_create(&graph));
    RGM_GO(rgm_scope_create(&scope, graph, RGM_F32));
    RGM_GO(rgm_decoder_step_graph(&step, scope, &task->model));
    RGM_GO(rgm_lora_merge(owned, graph, parameters, &task->options.lora));
    *out = *owned;
done:
    rgm_scope_release(scope);
    rgm_cgraph_release(graph);
    return status;
}

/* The tokens of each text, by a writer of its own. */
static rgm_status generate(rgm_generated *made, writing *w, const rgm_parameters *parameters,
                           int64_t count, const rgm_generate_options *options, rgm_device *device,
                           bool bf16)
{
    rgm_status status = RGM_OK;
    rgm_generate_options own = *options;
    rgm_token_writer *writer = NULL;
    const int32_t **prompts = NULL;
    int64_t *lengths = NULL;
    rgm_parameters *merged = NULL;

    own.end_id = rgm_tokenizer_eos_id(w->task->data.tokenizer);
    own.stop = w->stops->count > 0 ? stop_at : NULL;
    own.payload = w;
    RGM_GO(RGM_NEW(prompts, count));
    RGM_GO(RGM_NEW(lengths, count));
    for (int64_t i = 0; i < count; i++) {
        prompts[i] = w->ids.items + w->begins[i];
        lengths[i] = w->begins[i + 1] - w->begins[i];
    }
    RGM_GO(rgmi_language_weights(&parameters, &merged, w->task, parameters));
    RGM_GO(rgm_token_writer_create(&writer, &w->task->model, parameters, device, bf16));
    RGM_GO(rgm_generate(made, writer, &w->task->model, prompts, lengths, count, &own));
done:
    rgm_token_writer_release(writer);
    rgm_parameters_release(merged);
    rgm_free(prompts);
    rgm_free(lengths);
    return status;
}

rgm_status rgm_language_write(rgm_language_text *out, const rgm_task *task,
                              const rgm_parameters *parameters, const rgm_str *prompts,
                              int64_t count, const rgm_generate_options *options,
                              const rgm_texts *stops, rgm_device *device, bool bf16)
{
    rgm_status status = RGM_OK;
    static const rgm_texts none = {0};
    writing w = {.task = task->state, .stops = stops != NULL ? stops : &none};
    rgm_generated *made = NULL;

    memset(out, 0, (size_t)count * sizeof *out);
    RGM_GO(check_stops(w.stops));
    RGM_GO(read_prompts(&w, prompts, count, options->first_number));
    RGM_GO(RGM_NEW(made, count));
    RGM_GO(generate(made, &w, parameters, count, options, device, bf16));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(finish_text(&out[i], &w, i, &made[i]));
done:
    if (made != NULL)
        rgm_generated_clear(made, count);
    if (status != RGM_OK)
        rgm_language_texts_clear(out, count);
    rgm_free(made);
    rgm_ids_clear(&w.ids);
    rgm_free(w.begins);
    rgm_text_clear(&w.text);
    rgm_text_clear(&w.prompt);
    return status;
}
