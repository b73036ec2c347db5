/* The tables of a tokenizer that merges: ids by their texts, merges by their pairs, bytes as
 * characters. */
#include "bpe_internal.h"

#include <string.h>

/* The slot of a text: the one with its id, or the free one where it would go. */
static int32_t *text_slot(const rgmi_bpe *bpe, const char *text, int64_t size)
{
    uint64_t mask = (uint64_t)bpe->slot_count - 1, at = rgm_hash64(text, (size_t)size) & mask;

    for (;; at = (at + 1) & mask) {
        int32_t *slot = &bpe->slots[at];
        const rgmi_bpe_token *token;

        if (*slot < 0)
            return slot;
        token = &bpe->tokens[*slot];
        if (token->size == size && memcmp(bpe->bytes + token->at, text, (size_t)size) == 0)
            return slot;
    }
}

int32_t rgmi_bpe_find(const rgmi_bpe *bpe, const char *text, int64_t size)
{
    return size > 0 && bpe->slot_count > 0 ? *text_slot(bpe, text, size) : -1;
}

rgm_status rgmi_bpe_index(rgmi_bpe *bpe, int64_t merges)
{
    bpe->slot_count = bpe->merge_slots = 16;
    while (bpe->slot_count < 2 * bpe->count)
        bpe->slot_count *= 2;
    while (bpe->merge_slots < 2 * merges)
        bpe->merge_slots *= 2;
    RGM_TRY(RGM_NEW(bpe->slots, bpe->slot_count));
    RGM_TRY(RGM_NEW(bpe->merges, bpe->merge_slots));
    for (int64_t i = 0; i < bpe->slot_count; i++)
        bpe->slots[i] = -1;
    for (int64_t i = 0; i < bpe->merge_slots; i++)
        bpe->merges[i].id = -1;
    for (int64_t id = 0; id < bpe->count; id++) {
        const rgmi_bpe_token *token = &bpe->tokens[id];

        if (token->size > 0) {
            int32_t *slot = text_slot(bpe, bpe->bytes + token->at, token->size);
            if (*slot < 0)
                *slot = (int32_t)id;
        }
    }
    return RGM_OK;
}

static rgmi_bpe_merge *merge_slot(const rgmi_bpe *bpe, uint64_t pair)
{
    uint64_t mask = (uint64_t)bpe->merge_slots - 1;
    uint64_t at = (pair * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & mask;

    while (bpe->merges[at].id >= 0 && bpe->merges[at].pair != pair)
        at = (at + 1) & mask;
    return &bpe->merges[at];
}

static uint64_t pair_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

void rgmi_bpe_put_merge(rgmi_bpe *bpe, int32_t left, int32_t right, int32_t rank, int32_t id)
{
    uint64_t pair = pair_of(left, right);

    *merge_slot(bpe, pair) = (rgmi_bpe_merge){.pair = pair, .rank = rank, .id = id};
}

const rgmi_bpe_merge *rgmi_bpe_get_merge(const rgmi_bpe *bpe, int32_t left, int32_t right)
{
    const rgmi_bpe_merge *merge = merge_slot(bpe, pair_of(left, right));

    return merge->id >= 0 ? merge : NULL;
}

/* ---- bytes as characters (GPT-2): printable ones stand for themselves, others from 256 on ---- */

static bool stands_for_itself(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The others in their order: 0 to 32, 127 to 160, 173. */
static int number_of_other(int byte)
{
    return byte <= 32 ? byte : (byte <= 160 ? 33 + byte - 127 : 67);
}

int rgmi_byte_character(char out[2], uint8_t byte)
{
    int code = stands_for_itself(byte) ? byte : 256 + number_of_other(byte);

    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    out[0] = (char)(0xc0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3f));
    return 2;
}

int rgmi_character_byte(uint32_t code)
{
    int other = (int)code - 256;

    if (code < 256)
        return stands_for_itself((int)code) ? (int)code : -1;
    if (code > 256 + 67)
        return -1;
    return other <= 32 ? other : (other < 67 ? 127 + other - 33 : 173);
}
