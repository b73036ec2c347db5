/*
 * A prompt as tokens, and what is wished of its text: an object of a request's JSON, such as
 * {"tokens": 40, "temperature": 0.7, "stop": ["\n"]}.
 */
#include <stddef.h>
#include <string.h>

#include "language_internal.h"

enum { MOST_STOPS = 16, LONGEST_STOP = 256 };

/* ---- wishes ---------------------------------------------------------------------------------- */

/** A wish that is a number. */
typedef struct wish {
    const char *name;
    size_t place;            /* of rgm_generate_options */
    bool is_whole, is_above; /* is_above: `low` itself is not allowed */
    double low, high;
} wish;

#define PLACE(member) offsetof(rgm_generate_options, member)
static const wish wishes_known[] = {
    {"tokens", PLACE(max_tokens), true, false, 1, 1e9},
    {"temperature", PLACE(temperature), false, false, 0, 1e6},
    {"top_k", PLACE(top_k), true, false, 0, 1e9},
    {"top_p", PLACE(top_p), false, true, 0, 1},
    {"min_p", PLACE(min_p), false, false, 0, 1},
    {"repetition", PLACE(repetition_penalty), false, false, 1e-6, 1e6},
    {"seed", PLACE(seed), true, false, 0, 1e15},
};
enum { WISHES = sizeof wishes_known / sizeof *wishes_known };

static rgm_status wrong_number(const wish *w)
{
    return RGM_FAIL(RGM_ERR_DATA, "'%s' is a %snumber in %s%g, %g]", w->name,
                    w->is_whole ? "whole " : "", w->is_above ? "(" : "[", w->low, w->high);
}

static rgm_status read_number(rgm_generate_options *out, const wish *w, const rgm_json *value)
{
    void *place = (char *)out + w->place;
    double number;

    if (rgm_json_text(value) != NULL || !rgm_json_number(&number, value) || !(number >= w->low) ||
        !(number <= w->high) || (w->is_above && number == w->low))
        return wrong_number(w);
    if (!w->is_whole)
        *(double *)place = number;
    else if (!rgm_json_int((int64_t *)place, value))
        return wrong_number(w);
    return RGM_OK;
}

static rgm_status add_stop(rgmi_language_request *r, const char *text)
{
    RGM_TRY(rgm_strdup(&r->stops[r->stop_count], text));
    r->stop_count++;
    return RGM_OK;
}

/* A text, or a list of them, in the place of the task's. */
static rgm_status read_stops(rgmi_language_request *r, const rgm_json *value)
{
    int64_t count = rgm_json_count(value);
    bool alone = rgm_json_text(value) != NULL;

    for (int64_t i = 0; i < r->stop_count; i++)
        rgm_free(r->stops[i]);
    r->stop_count = 0;
    rgm_free(r->stops);
    RGM_TRY(RGM_NEW(r->stops, MOST_STOPS));
    count = alone ? 1 : count;
    if (count < 0 || count > MOST_STOPS)
        return RGM_FAIL(RGM_ERR_DATA, "'stop' is a text, or a list of at most %d", MOST_STOPS);
    for (int64_t i = 0; i < count; i++) {
        const char *text = rgm_json_text(alone ? value : rgm_json_at(value, i));

        if (text == NULL || text[0] == '\0' || strlen(text) > LONGEST_STOP)
            return RGM_FAIL(RGM_ERR_DATA, "what stops a text is a text of 1 to %d bytes",
                            LONGEST_STOP);
        RGM_TRY(add_stop(r, text));
    }
    return RGM_OK;
}

static rgm_status unknown(const char *name)
{
    const char *names[WISHES + 2] = {"prompt", "stop"};

    for (int i = 0; i < WISHES; i++)
        names[2 + i] = wishes_known[i].name;
    return RGM_FAIL(RGM_ERR_DATA, "'%.60s' cannot be wished%s", name,
                    rgm_did_you_mean(name, names, WISHES + 2, NULL, "there are ").text);
}

static rgm_status read_wishes(rgmi_language_request *r, const rgm_json *wishes)
{
    if (!rgm_json_is_object(wishes))
        return RGM_FAIL(RGM_ERR_DATA, "wishes are an object, such as {\"tokens\": 20}");
    for (rgm_json_entry e = {0}; rgm_json_next(&e, wishes);) {
        int i = 0;

        if (strcmp(e.key, "prompt") == 0)
            continue;
        while (i < WISHES && strcmp(wishes_known[i].name, e.key) != 0)
            i++;
        if (i < WISHES)
            RGM_TRY(read_number(&r->options, &wishes_known[i], e.value));
        else if (strcmp(e.key, "stop") == 0)
            RGM_TRY(read_stops(r, e.value));
        else
            return unknown(e.key);
        r->has_seed |= strcmp(e.key, "seed") == 0;
    }
    return RGM_OK;
}

/* ---- prompts --------------------------------------------------------------------------------- */

static rgm_status read_prompt(rgmi_language_request *r, const rgmi_language_task *t, rgm_str prompt)
{
    const rgm_tokenizer *tokenizer = t->data.tokenizer;
    int32_t begin = rgm_tokenizer_bos_id(tokenizer);
    int64_t most = t->model.options.max_positions;

    RGM_TRY(RGM_RESERVE(r->ids.items, r->ids.capacity, 1));
    if (r->options.begin)
        r->ids.items[r->ids.count++] = begin >= 0 ? begin : rgm_tokenizer_eos_id(tokenizer);
    RGM_TRY(rgm_tokenizer_encode(&r->ids, tokenizer, prompt.data, prompt.size));
    if (r->ids.count == 0)
        return RGM_FAIL(RGM_ERR_DATA, "it is empty, and with task.generate.begin false there is "
                                      "nothing to go on from");
    if (r->ids.count > most)
        return RGM_FAIL(RGM_ERR_DATA, "%lld tokens%s, but model.max_positions is %lld",
                        (long long)r->ids.count, r->options.begin ? " with its begin" : "",
                        (long long)most);
    return RGM_OK;
}

rgm_status rgmi_language_request_create(rgmi_language_request **out, const rgmi_language_task *task,
                                        rgm_str prompt, const rgm_generate_options *options,
                                        const rgm_texts *stops, const rgm_json *wishes)
{
    rgm_status status = RGM_OK;
    rgmi_language_request *r = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(r, 1));
    r->options = *options;
    RGM_GO(RGM_NEW(r->stops, stops->count + 1));
    for (int64_t i = 0; i < stops->count; i++)
        RGM_GO(add_stop(r, stops->items[i]));
    if (wishes != NULL)
        RGM_GO(read_wishes(r, wishes));
    RGM_GO(read_prompt(r, task, prompt));
    *out = r;
    r = NULL;
done:
    rgmi_language_request_release(r);
    return status;
}

void rgmi_language_request_release(rgmi_language_request *r)
{
    if (r == NULL)
        return;
    for (int64_t i = 0; i < r->stop_count; i++)
        rgm_free(r->stops[i]);
    rgm_free(r->stops);
    rgm_ids_clear(&r->ids);
    rgm_free(r);
}
