/* Documents as one row of tokens, in memory. */
#include "token_store.h"

#include <string.h>

const char *const rgm_documents_names[] = {"lines", "paragraphs", "files", NULL};

rgm_status rgmi_tokens_check_info(const rgm_tokens_info *info)
{
    if (info->vocabulary < 1 || info->vocabulary > INT32_MAX)
        return RGM_FAIL(RGM_ERR_ARG, "a vocabulary of %lld pieces", (long long)info->vocabulary);
    if (info->begin_id < 0 || info->begin_id >= info->vocabulary || info->end_id < 0 ||
        info->end_id >= info->vocabulary)
        return RGM_FAIL(RGM_ERR_ARG, "begin %d or end %d is no id of %lld pieces", info->begin_id,
                        info->end_id, (long long)info->vocabulary);
    return RGM_OK;
}

rgm_status rgm_tokens_create(rgm_tokens **out, const rgm_tokens_info *info)
{
    *out = NULL;
    RGM_TRY(rgmi_tokens_check_info(info));
    RGM_TRY(RGM_NEW(*out, 1));
    atomic_init(&(*out)->references, 1);
    (*out)->info = (rgm_tokens_info){.vocabulary = info->vocabulary,
                                     .tokenizer = info->tokenizer,
                                     .begin_id = info->begin_id,
                                     .end_id = info->end_id};
    (*out)->width = rgmi_token_width(info->vocabulary);
    return RGM_OK;
}

rgm_tokens *rgm_tokens_retain(const rgm_tokens *tokens)
{
    rgm_tokens *own = (rgm_tokens *)tokens;

    if (own != NULL)
        atomic_fetch_add_explicit(&own->references, 1, memory_order_relaxed);
    return own;
}

void rgm_tokens_release(rgm_tokens *tokens)
{
    if (tokens == NULL ||
        atomic_fetch_sub_explicit(&tokens->references, 1, memory_order_acq_rel) > 1)
        return;
    rgm_free(tokens->own_ids);
    rgm_free(tokens->own_documents);
    rgm_free(tokens->path);
    rgm_file_unmap(&tokens->file);
    rgm_free(tokens);
}

static void put(rgm_tokens *tokens, int64_t at, int32_t id)
{
    if (tokens->width == 2)
        ((uint16_t *)(void *)tokens->own_ids)[at] = (uint16_t)id;
    else
        ((int32_t *)(void *)tokens->own_ids)[at] = id;
}

rgm_status rgm_tokens_add(rgm_tokens *tokens, const int32_t *ids, int64_t count, int64_t bytes)
{
    rgm_tokens_info *info = &tokens->info;
    int64_t at = info->tokens;

    if (tokens->file.data != NULL || bytes < 0)
        return RGM_FAIL(RGM_ERR_ARG, "no document of %lld bytes is added to tokens of %s",
                        (long long)bytes, tokens->file.data != NULL ? tokens->path : "memory");
    for (int64_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= info->vocabulary)
            return RGM_FAIL(RGM_ERR_ARG, "id %d at place %lld of a document; there are %lld pieces",
                            ids[i], (long long)i, (long long)info->vocabulary);
    RGM_TRY(RGM_RESERVE(tokens->own_ids, tokens->id_capacity, (at + count + 1) * tokens->width));
    RGM_TRY(RGM_RESERVE(tokens->own_documents, tokens->document_capacity, info->documents + 1));
    for (int64_t i = 0; i < count; i++)
        put(tokens, at + i, ids[i]);
    put(tokens, at + count, info->end_id);
    info->tokens += count + 1;
    info->bytes += bytes + 1;
    tokens->own_documents[info->documents++] = (rgmi_document){info->tokens, bytes + 1};
    tokens->ids = tokens->own_ids;
    tokens->documents = tokens->own_documents;
    return RGM_OK;
}

void rgm_tokens_get_info(rgm_tokens_info *out, const rgm_tokens *tokens)
{
    *out = tokens->info;
}

int32_t rgm_tokens_at(const rgm_tokens *tokens, int64_t i)
{
    return tokens->width == 2 ? ((const uint16_t *)tokens->ids)[i]
                              : ((const int32_t *)tokens->ids)[i];
}

void rgm_tokens_document(int64_t *begin, int64_t *end, int64_t *bytes, const rgm_tokens *tokens,
                         int64_t i)
{
    *begin = i > 0 ? tokens->documents[i - 1].end : 0;
    *end = tokens->documents[i].end;
    *bytes = tokens->documents[i].bytes;
}

int64_t rgmi_tokens_document_of(const rgm_tokens *tokens, int64_t i)
{
    int64_t low = 0, high = tokens->info.documents - 1;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (tokens->documents[middle].end > i)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
