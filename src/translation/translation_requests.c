/*
 * What is asked of translations, text by text, as lists of tokens.
 */
#include <string.h>

#include "translation_internal.h"

/* One list more: the tokens of a text as they begin a word. */
static rgm_status add_list(rgmi_requests *r, const rgmi_translation_task *t, const char *what,
                           const char *text)
{
    const rgm_tokenizer *tokenizer = t->data.target;
    int64_t begin = r->ids.count;

    RGM_TRY(rgmi_read_tokens(&r->ids, tokenizer,
                             (rgm_str){.data = text, .size = (int64_t)strlen(text)},
                             t->data.target_vocabulary));
    if (r->ids.count == begin)
        return RGM_FAIL(RGM_ERR_DATA, "the %s text '%s' has no tokens", what, text);
    for (int64_t i = begin; i < r->ids.count; i++) {
        if (tokenizer != NULL && r->ids.items[i] == rgm_tokenizer_unk_id(tokenizer))
            return RGM_FAIL(RGM_ERR_DATA,
                            "the %s text '%s' has a character that the tokenizer does not know",
                            what, text);
        if (r->ids.items[i] == t->data.end_id)
            return RGM_FAIL(RGM_ERR_DATA, "the %s text '%s' has the end of a translation in it",
                            what, text);
    }
    RGM_TRY(RGM_RESERVE(r->ends, r->end_capacity, r->list_count + 1));
    r->ends[r->list_count++] = r->ids.count;
    return RGM_OK;
}

/* The same of a text that the translation is to have: one of `most` tokens at most. */
static rgm_status add_wanted(rgmi_requests *r, const rgmi_translation_task *t, const char *what,
                             const char *text, int64_t most)
{
    int64_t begin = r->ids.count;

    RGM_TRY(add_list(r, t, what, text));
    if (r->ids.count - begin <= most)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA,
                    "the %s text has %lld tokens, but a translation of this line has %lld at most "
                    "(task.search.decode_max_length, decode_length_factor, extra_decode_length)",
                    what, (long long)(r->ids.count - begin), (long long)most);
}

/* A search would tell of it as of a sentence; here it is a line. */
static rgm_status check_counts(const rgm_translation_line *line)
{
    if (line->required.count > RGM_MOST_REQUIRED)
        return RGM_FAIL(RGM_ERR_DATA, "%lld texts are required; at most %d are possible",
                        (long long)line->required.count, RGM_MOST_REQUIRED);
    return RGM_OK;
}

rgm_status rgmi_requests_add(rgmi_requests *r, const rgmi_translation_task *t,
                             const rgm_translation_line *line, int64_t most)
{
    rgm_target_request *item;

    RGM_TRY(check_counts(line));
    RGM_TRY(RGM_RESERVE(r->items, r->capacity, r->count + 1));
    if (line->prefix != NULL)
        RGM_TRY(add_wanted(r, t, "prefix", line->prefix, most));
    for (int64_t i = 0; i < line->required.count; i++)
        RGM_TRY(add_wanted(r, t, "required", line->required.items[i], most));
    for (int64_t i = 0; i < line->banned.count; i++)
        RGM_TRY(add_list(r, t, "banned", line->banned.items[i]));
    item = &r->items[r->count++];
    *item = (rgm_target_request){.prefix.count = line->prefix != NULL,
                                 .required_count = line->required.count,
                                 .banned_count = line->banned.count};
    r->any |= line->prefix != NULL || line->required.count > 0 || line->banned.count > 0;
    return RGM_OK;
}

rgm_status rgmi_requests_close(rgmi_requests *r)
{
    int64_t list = 0;

    RGM_TRY(RGM_NEW(r->lists, r->list_count));
    for (int64_t i = 0; i < r->list_count; i++) {
        int64_t begin = i > 0 ? r->ends[i - 1] : 0;
        r->lists[i] = (rgm_token_list){.ids = r->ids.items + begin, .count = r->ends[i] - begin};
    }
    for (int64_t i = 0; i < r->count; i++) {
        rgm_target_request *item = &r->items[i];
        if (item->prefix.count > 0)
            item->prefix = r->lists[list++];
        item->required = item->required_count > 0 ? r->lists + list : NULL;
        list += item->required_count;
        item->banned = item->banned_count > 0 ? r->lists + list : NULL;
        list += item->banned_count;
    }
    return RGM_OK;
}

void rgmi_requests_clear(rgmi_requests *r)
{
    rgm_ids_clear(&r->ids);
    rgm_free(r->ends);
    rgm_free(r->lists);
    rgm_free(r->items);
    *r = (rgmi_requests){0};
}
