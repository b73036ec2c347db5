/*
 * A word by the merges of its tokenizer: the pair of the lowest rank first, of two such the left
 * one. A heap finds it, so that a word of n characters costs n log n.
 */
#include "bpe_internal.h"

#include <string.h>

/** A token of the word so far; id -1: it was merged into the one before it. */
typedef struct symbol {
    int32_t id, previous, next; /* -1: none */
} symbol;

/** A pair that may merge. */
typedef struct candidate {
    int32_t rank, at, id;
} candidate;

struct rgmi_bpe_work {
    symbol *symbols;
    int64_t count, capacity;
    candidate *heap, *skipped;
    int64_t heap_count, heap_capacity, skipped_count, skipped_capacity;
    rgm_text characters; /* of a byte-level word that is looked up whole */
};

rgm_status rgmi_bpe_work_create(rgmi_bpe_work **out)
{
    return RGM_NEW(*out, 1);
}

void rgmi_bpe_work_release(rgmi_bpe_work *work)
{
    if (work == NULL)
        return;
    rgm_free(work->symbols);
    rgm_free(work->heap);
    rgm_free(work->skipped);
    rgm_text_clear(&work->characters);
    rgm_free(work);
}

/* ---- the heap -------------------------------------------------------------------------------- */

static bool is_before(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static rgm_status push(rgmi_bpe_work *w, candidate c)
{
    int64_t at = w->heap_count;

    RGM_TRY(RGM_RESERVE(w->heap, w->heap_capacity, at + 1));
    w->heap_count++;
    while (at > 0 && is_before(&c, &w->heap[(at - 1) / 2])) {
        w->heap[at] = w->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    w->heap[at] = c;
    return RGM_OK;
}

static candidate pop(rgmi_bpe_work *w)
{
    candidate top = w->heap[0], last = w->heap[--w->heap_count];
    int64_t at = 0, child;

    while ((child = 2 * at + 1) < w->heap_count) {
        if (child + 1 < w->heap_count && is_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!is_before(&w->heap[child], &last))
            break;
        w->heap[at] = w->heap[child];
        at = child;
    }
    w->heap[at] = last;
    return top;
}

/* ---- the characters of a word ---------------------------------------------------------------- */

static rgm_status add_symbol(rgmi_bpe_work *w, int32_t id)
{
    RGM_TRY(RGM_RESERVE(w->symbols, w->capacity, w->count + 1));
    w->symbols[w->count] = (symbol){id, (int32_t)w->count - 1, -1};
    if (w->count > 0)
        w->symbols[w->count - 1].next = (int32_t)w->count;
    w->count++;
    return RGM_OK;
}

static rgm_status no_token(uint32_t code, const char *what)
{
    return RGM_FAIL(RGM_ERR_DATA,
                    "%s%04X has no token, and the tokenizer has no token for what it does not know "
                    "(model.unk_token)",
                    what, (unsigned)code);
}

static rgm_status add_bytes(rgmi_bpe_work *w, const rgmi_bpe *bpe, const char *word, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        int32_t id = bpe->byte_ids[(uint8_t)word[i]];

        if (id < 0)
            id = bpe->unk_id;
        if (id < 0)
            return no_token((uint8_t)word[i], "the byte 0x");
        if (id == bpe->unk_id && bpe->fuse_unk && w->count > 0 && w->symbols[w->count - 1].id == id)
            continue;
        RGM_TRY(add_symbol(w, id));
    }
    return RGM_OK;
}

static rgm_status add_characters(rgmi_bpe_work *w, const rgmi_bpe *bpe, const char *word,
                                 int64_t size)
{
    bool was_unknown = false;
    uint32_t code;
    int bytes;

    for (int64_t i = 0; i < size; i += bytes) {
        int32_t id;

        bytes = rgmi_code_at(&code, word, i, size);
        id = rgmi_bpe_find(bpe, word + i, bytes);
        if (id >= 0) {
            RGM_TRY(add_symbol(w, id));
        } else if (bpe->byte_fallback) {
            for (int k = 0; k < bytes; k++)
                RGM_TRY(add_symbol(w, bpe->byte_ids[(uint8_t)word[i + k]]));
        } else if (bpe->unk_id < 0) {
            return no_token(code, "the character U+");
        } else if (!(was_unknown && bpe->fuse_unk)) {
            RGM_TRY(add_symbol(w, bpe->unk_id));
        }
        was_unknown = id < 0;
    }
    return RGM_OK;
}

/* ---- merging --------------------------------------------------------------------------------- */

static rgm_status consider(rgmi_bpe_work *w, const rgmi_bpe *bpe, int32_t at)
{
    const symbol *s = at >= 0 ? &w->symbols[at] : NULL;
    const rgmi_bpe_merge *merge;

    if (s == NULL || s->next < 0)
        return RGM_OK;
    merge = rgmi_bpe_get_merge(bpe, s->id, w->symbols[s->next].id);
    return merge != NULL ? push(w, (candidate){merge->rank, at, merge->id}) : RGM_OK;
}

/* What was skipped may merge again once something else did: as HF's queue of dropouts. */
static rgm_status take_back(rgmi_bpe_work *w)
{
    for (int64_t i = 0; i < w->skipped_count; i++)
        RGM_TRY(push(w, w->skipped[i]));
    w->skipped_count = 0;
    return RGM_OK;
}

static rgm_status apply(rgmi_bpe_work *w, const rgmi_bpe *bpe, candidate c)
{
    symbol *s = &w->symbols[c.at], *right;
    const rgmi_bpe_merge *merge;

    if (s->id < 0 || s->next < 0)
        return RGM_OK;
    right = &w->symbols[s->next];
    merge = rgmi_bpe_get_merge(bpe, s->id, right->id);
    if (merge == NULL || merge->id != c.id) /* one of the two has become another */
        return RGM_OK;
    s->id = c.id;
    s->next = right->next;
    if (right->next >= 0)
        w->symbols[right->next].previous = c.at;
    right->id = -1;
    RGM_TRY(consider(w, bpe, s->previous));
    return consider(w, bpe, c.at);
}

static rgm_status merge_all(rgmi_bpe_work *w, const rgmi_bpe *bpe, rgmi_bpe_draws *draws)
{
    w->heap_count = w->skipped_count = 0;
    for (int64_t i = 0; i + 1 < w->count; i++)
        RGM_TRY(consider(w, bpe, (int32_t)i));
    while (w->heap_count > 0) {
        candidate c = pop(w);

        if (draws != NULL && rgm_rng_f64(&draws->rng, draws->next++) < draws->dropout) {
            RGM_TRY(RGM_RESERVE(w->skipped, w->skipped_capacity, w->skipped_count + 1));
            w->skipped[w->skipped_count++] = c;
            continue;
        }
        RGM_TRY(take_back(w));
        RGM_TRY(apply(w, bpe, c));
    }
    return RGM_OK;
}

/* A word that is a token itself, for ignore_merges; -1: it is none. */
static rgm_status whole_word(int32_t *id, rgmi_bpe_work *w, const rgmi_bpe *bpe, const char *word,
                             int64_t size)
{
    if (!bpe->byte_level) {
        *id = rgmi_bpe_find(bpe, word, size);
        return RGM_OK;
    }
    w->characters.size = 0;
    for (int64_t i = 0; i < size; i++) {
        char character[2];
        int bytes = rgmi_byte_character(character, (uint8_t)word[i]);
        RGM_TRY(rgm_text_add(&w->characters, character, bytes));
    }
    *id = rgmi_bpe_find(bpe, w->characters.data, w->characters.size);
    return RGM_OK;
}

rgm_status rgmi_bpe_merge_word(rgm_ids *ids, rgmi_bpe_work *work, const rgmi_bpe *bpe,
                               const char *word, int64_t size, rgmi_bpe_draws *draws)
{
    int32_t whole = -1;

    if (bpe->ignore_merges && draws == NULL)
        RGM_TRY(whole_word(&whole, work, bpe, word, size));
    work->count = 0;
    if (whole >= 0)
        RGM_TRY(add_symbol(work, whole));
    else if (bpe->byte_level)
        RGM_TRY(add_bytes(work, bpe, word, size));
    else
        RGM_TRY(add_characters(work, bpe, word, size));
    RGM_TRY(merge_all(work, bpe, draws));
    RGM_TRY(RGM_RESERVE(ids->items, ids->capacity, ids->count + work->count));
    for (int64_t i = 0; i < work->count; i++)
        if (work->symbols[i].id >= 0)
            ids->items[ids->count++] = work->symbols[i].id;
    return RGM_OK;
}
