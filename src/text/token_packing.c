/*
 * Documents into blocks by best-fit-decreasing: pieces from the longest to the shortest, each into
 * the block that it leaves the least room in. Blocks of equal room are interchangeable, so that a
 * list for each room and a set of the rooms that there are make it one look-up a piece.
 */
#include "token_packing.h"

#include <string.h>

const char *const rgm_packing_names[] = {"documents", "stream", NULL};

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Count pieces by length into firsts[length], and documents that are cut. */
static void count_pieces(rgmi_packing *p)
{
    int64_t length = p->options.length, begin, end, bytes;

    for (int64_t d = 0; d < p->tokens->info.documents; d++) {
        rgm_tokens_document(&begin, &end, &bytes, p->tokens, d);
        p->firsts[length] += (end - begin) / length;
        p->count += (end - begin + length - 1) / length;
        if ((end - begin) % length > 0)
            p->firsts[(end - begin) % length]++;
        p->figures.cut += end - begin > length;
    }
}

/* Counts become places, the longest first; then each piece goes to its place. */
static rgm_status list_pieces(rgmi_packing *p)
{
    int64_t length = p->options.length, before = 0, begin, end, bytes, *next;

    for (int64_t n = length; n >= 1; n--) {
        int64_t count = p->firsts[n];

        p->firsts[n] = before;
        before += count;
    }
    p->firsts[0] = before;
    RGM_TRY(RGM_NEW(next, length + 1));
    memcpy(next, p->firsts, (size_t)(length + 1) * sizeof *next);
    for (int64_t d = 0; d < p->tokens->info.documents; d++) {
        rgm_tokens_document(&begin, &end, &bytes, p->tokens, d);
        for (; begin < end; begin += length) {
            int64_t n = end - begin < length ? end - begin : length, at = next[n]++;

            p->begins[at] = begin;
            p->lengths[at] = (int32_t)n;
        }
    }
    rgm_free(next);
    return RGM_OK;
}

/* ---- packing --------------------------------------------------------------------------------- */

/** Blocks by the room that is left in them. */
typedef struct rooms {
    int64_t *head; /* [length + 1] a block with that room, -1: none       */
    int64_t *next; /* [count] the next block of the same room, -1: none   */
    uint64_t *set; /* of the rooms that a block has                       */
    int64_t words; /* of set */
} rooms;

static void add_room(rooms *r, int64_t room, int64_t block)
{
    r->next[block] = r->head[room];
    r->head[room] = block;
    r->set[room / 64] |= UINT64_C(1) << room % 64;
}

/* Take a block of the least room that is `wanted` at least; -1: there is none. */
static int64_t take_room(rooms *r, int64_t *room, int64_t wanted)
{
    int64_t word = wanted / 64, block;
    uint64_t bits = r->set[word] & ~UINT64_C(0) << wanted % 64;

    while (bits == 0 && ++word < r->words)
        bits = r->set[word];
    if (bits == 0)
        return -1;
    *room = word * 64 + __builtin_ctzll(bits);
    block = r->head[*room];
    r->head[*room] = r->next[block];
    if (r->head[*room] < 0)
        r->set[word] &= ~(UINT64_C(1) << *room % 64);
    return block;
}

/* The block of each slot; figures.blocks is their number. */
static rgm_status choose_blocks(int64_t *block_of, rgmi_packing *p)
{
    rgm_status status = RGM_OK;
    int64_t length = p->options.length, room = 0;
    rooms r = {.words = length / 64 + 1};

    RGM_GO(RGM_NEW(r.head, length + 1));
    RGM_GO(RGM_NEW(r.next, p->count));
    RGM_GO(RGM_NEW(r.set, r.words));
    for (int64_t i = 0; i <= length; i++)
        r.head[i] = -1;
    for (int64_t i = 0; i < p->count; i++) {
        int64_t block = take_room(&r, &room, p->lengths[i]);

        if (block < 0) {
            block = p->figures.blocks++;
            room = length;
        }
        block_of[i] = block;
        add_room(&r, room - p->lengths[i], block);
    }
done:
    rgm_free(r.head);
    rgm_free(r.next);
    rgm_free(r.set);
    return status;
}

static rgm_status list_slots(rgmi_packing *p, const int64_t *block_of)
{
    RGM_TRY(RGM_NEW(p->block_end, p->figures.blocks + 1));
    for (int64_t i = 0; i < p->count; i++)
        p->block_end[block_of[i] + 1]++;
    for (int64_t b = 1; b <= p->figures.blocks; b++)
        p->block_end[b] += p->block_end[b - 1]; /* where block b begins, and when filled ends */
    for (int64_t i = 0; i < p->count; i++)
        p->slots[p->block_end[block_of[i]]++] = i;
    return RGM_OK;
}

static rgm_status pack(rgmi_packing *p)
{
    rgm_status status = RGM_OK;
    int64_t *block_of = NULL;

    RGM_GO(RGM_NEW(p->firsts, p->options.length + 2));
    count_pieces(p);
    RGM_GO(RGM_NEW(p->begins, p->count));
    RGM_GO(RGM_NEW(p->lengths, p->count));
    RGM_GO(RGM_NEW(p->slots, p->count));
    RGM_GO(list_pieces(p));
    RGM_GO(RGM_NEW(block_of, p->count));
    RGM_GO(choose_blocks(block_of, p));
    RGM_GO(list_slots(p, block_of));
    p->figures.labels = p->tokens->info.tokens;
done:
    rgm_free(block_of);
    return status;
}

/* ---- either ---------------------------------------------------------------------------------- */

/* In training as many whole blocks as fit behind any beginning; else all. */
static void cut_stream(rgmi_packing *p)
{
    int64_t tokens = p->tokens->info.tokens, length = p->options.length;
    rgm_token_block_figures *f = &p->figures;

    f->blocks = p->options.training ? (tokens - length + 1) / length : 0;
    f->labels = f->blocks * length;
    if (f->blocks < 1) {
        f->blocks = (tokens + length - 1) / length;
        f->labels = tokens;
    }
    f->unseen = tokens - f->labels;
}

static rgm_status check(const rgm_tokens *tokens, const rgm_token_block_options *o)
{
    if (o->length < 1 || o->length > 1 << 20 || o->rows < 1 || o->rows > 1 << 20 ||
        o->rows * o->length > 1 << 30)
        return RGM_FAIL(RGM_ERR_ARG, "batches of %lld blocks of %lld tokens", (long long)o->rows,
                        (long long)o->length);
    if (tokens->info.tokens == 0)
        return RGM_FAIL(RGM_ERR_DATA, "there are no tokens");
    return RGM_OK;
}

rgm_status rgmi_packing_create(rgmi_packing **out, const rgm_tokens *tokens,
                               const rgm_token_block_options *options)
{
    rgm_status status = RGM_OK;
    rgmi_packing *p = NULL;
    rgm_token_block_figures *f;

    *out = NULL;
    RGM_TRY(check(tokens, options));
    RGM_GO(RGM_NEW(p, 1));
    p->tokens = rgm_tokens_retain(tokens);
    p->options = *options;
    if (options->packing == RGM_PACKING_STREAM)
        cut_stream(p);
    else
        RGM_GO(pack(p));
    f = &p->figures;
    f->documents = tokens->info.documents;
    f->batches = (f->blocks + options->rows - 1) / options->rows;
    f->places = f->batches * options->rows * options->length;
    RGM_GO(rgm_tokens_check(tokens));
    *out = p;
    p = NULL;
done:
    rgmi_packing_release(p);
    return status;
}

void rgmi_packing_release(rgmi_packing *packing)
{
    if (packing == NULL)
        return;
    rgm_tokens_release(packing->tokens);
    rgm_free(packing->begins);
    rgm_free(packing->lengths);
    rgm_free(packing->firsts);
    rgm_free(packing->slots);
    rgm_free(packing->block_end);
    rgm_free(packing);
}
