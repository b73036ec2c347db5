/*
 * Texts to tokens: by the tokenizer, or numbers where there is none.
 */
#include "translation_internal.h"

/* Numbers between spaces. */
static rgm_status read_numbers(rgm_ids *ids, rgm_str line, int64_t vocabulary)
{
    int64_t i = 0;

    while (i < line.size) {
        int64_t number = 0, begin = i;
        while (i < line.size && line.data[i] != ' ') {
            char c = line.data[i++];
            if (c < '0' || c > '9' || (number = 10 * number + (c - '0')) >= vocabulary)
                return RGM_FAIL(RGM_ERR_DATA, "'%.*s' is no token: they are numbers from 0 to %lld",
                                (int)(i - begin > 40 ? 40 : i - begin), line.data + begin,
                                (long long)vocabulary - 1);
        }
        if (i > begin) {
            RGM_TRY(RGM_RESERVE(ids->items, ids->capacity, ids->count + 1));
            ids->items[ids->count++] = (int32_t)number;
        }
        i++;
    }
    return RGM_OK;
}

rgm_status rgmi_read_tokens(rgm_ids *ids, const rgm_tokenizer *tokenizer, rgm_str text,
                            int64_t vocabulary)
{
    return tokenizer != NULL ? rgm_tokenizer_encode(ids, tokenizer, text.data, text.size)
                             : read_numbers(ids, text, vocabulary);
}

rgm_status rgmi_read_source(rgm_ids *ids, const rgmi_translation_task *t, rgm_str line)
{
    int64_t begin = ids->count, tagged = rgmi_source_begin(&t->data);

    if (tagged > 0) {
        RGM_TRY(RGM_RESERVE(ids->items, ids->capacity, ids->count + 1));
        ids->items[ids->count++] = t->data.source_tag;
    }
    RGM_TRY(rgmi_read_tokens(ids, t->data.source, line, t->data.source_vocabulary));
    if (ids->count - begin >= t->model.options.max_positions)
        return RGM_FAIL(RGM_ERR_DATA, "%lld tokens and an end, but model.max_positions is %lld",
                        (long long)(ids->count - begin), (long long)t->model.options.max_positions);
    if (ids->count == begin + tagged) { /* nothing to translate */
        ids->count = begin;
        return RGM_OK;
    }
    RGM_TRY(RGM_RESERVE(ids->items, ids->capacity, ids->count + 1));
    ids->items[ids->count++] = rgmi_source_end(&t->data);
    return RGM_OK;
}
