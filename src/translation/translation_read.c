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

/* A source without factors. */
static rgm_status read_plain(rgm_ids *ids, const rgmi_translation_task *t, rgm_str line)
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

/* Factors of the words of a line, to those of its tokens, behind those that are there. */
static rgm_status read_with_factors(rgmi_source_tokens *out, const rgmi_translation_task *t,
                                    rgm_str line)
{
    int64_t begin = out->ids.count, each = t->data.factors.count, count;
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_ids words = {0}, *factors = &out->factors;
    rgm_str plain;

    RGM_GO(rgmi_factors_split(&text, &words, &t->data.factors, line));
    plain = (rgm_str){text.size > 0 ? text.data : "", text.size};
    RGM_GO(read_plain(&out->ids, t, plain));
    count = out->ids.count - begin;
    RGM_GO(RGM_RESERVE(factors->items, factors->capacity, factors->count + count * each + 1));
    RGM_GO(rgmi_factors_place(factors->items + factors->count, &t->data, plain, words.items,
                              out->ids.items + begin, count));
    factors->count += count * each;
done:
    rgm_text_clear(&text);
    rgm_ids_clear(&words);
    return status;
}

rgm_status rgmi_read_source(rgmi_source_tokens *out, const rgmi_translation_task *t, rgm_str line)
{
    return t->data.factors.count > 0 ? read_with_factors(out, t, line)
                                     : read_plain(&out->ids, t, line);
}

void rgmi_source_tokens_clear(rgmi_source_tokens *tokens)
{
    rgm_ids_clear(&tokens->ids);
    rgm_ids_clear(&tokens->factors);
}
