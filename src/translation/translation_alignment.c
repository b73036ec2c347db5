/*
 * Word alignments from attention: which pieces, or words, of a source and of its target go
 * together.
 */
#include "translation_internal.h"

rgm_status rgm_alignment_check(const rgm_alignment_options *options)
{
    if (options->threshold >= 0 && options->threshold <= 1)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG, "the threshold of an alignment is %g; it is in [0, 1]",
                    options->threshold);
}

/* The unit that each token is part of; how many there are. */
static int64_t list_units(int64_t *units, const rgm_tokenizer *tokenizer,
                          const rgm_token_list *tokens, bool pieces)
{
    int64_t most = -1;

    if (tokenizer != NULL && !pieces)
        rgm_tokenizer_words(units, tokenizer, tokens->ids, tokens->count);
    for (int64_t i = 0; i < tokens->count; i++) {
        if (tokenizer == NULL || pieces)
            units[i] = i;
        most = units[i] > most ? units[i] : most;
    }
    return most + 1;
}

/* Links of one token of the target to linked [source units]. */
static void link_token(bool *linked, const int64_t *units, const float *weights, int64_t sources,
                       double threshold)
{
    int64_t best = 0;

    for (int64_t i = 0; i < sources; i++) {
        if (threshold > 0 && (double)weights[i] >= threshold)
            linked[units[i]] = true;
        if (weights[i] > weights[best])
            best = i;
    }
    if (!(threshold > 0) && sources > 0)
        linked[units[best]] = true;
}

static rgm_status write_links(char **out, const bool *linked, int64_t sources, int64_t targets)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    for (int64_t s = 0; s < sources; s++)
        for (int64_t t = 0; t < targets; t++)
            if (linked[t * sources + s])
                RGM_GO(rgm_text_printf(&text, "%s%lld-%lld", text.size > 0 ? " " : "", (long long)s,
                                       (long long)t));
    RGM_GO(rgm_strndup(out, text.size > 0 ? text.data : "", (size_t)text.size));
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_alignment_write(char **out, const rgmi_translation_task *t,
                                const rgm_token_list *source, const rgm_token_list *target,
                                const float *weights, const rgm_alignment_options *o)
{
    rgm_status status = RGM_OK;
    int64_t begin = rgmi_source_begin(&t->data);
    rgm_token_list words = {.ids = source->ids + begin,
                            .count = source->count - begin - 1}; /* without tag and end */
    int64_t *units = NULL, *target_units = NULL, sources, targets;
    bool *linked = NULL;

    RGM_GO(RGM_NEW(units, source->count));
    RGM_GO(RGM_NEW(target_units, target->count + 1));
    sources = list_units(units, t->data.source, &words, o->pieces);
    targets = list_units(target_units, t->data.target, target, o->pieces);
    RGM_GO(RGM_NEW(linked, sources * targets + 1));
    for (int64_t i = 0; i < target->count; i++)
        link_token(linked + target_units[i] * sources, units, weights + i * source->count + begin,
                   words.count, o->threshold);
    RGM_GO(write_links(out, linked, sources, targets));
done:
    rgm_free(units);
    rgm_free(target_units);
    rgm_free(linked);
    return status;
}
