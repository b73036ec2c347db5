/*
 * Batches of blocks of tokens. All that does not depend on the epoch is decided once, with the
 * recipe (token_packing.c). An epoch draws which pieces of a length stand where, the order of the
 * blocks, and where a stream begins; so a position is one number.
 */
#include "token_packing.h"

#include <string.h>

typedef struct token_blocks_options {
    rgmi_packing *packing;
} token_blocks_options;

typedef struct token_blocks_state {
    int64_t *begins; /* of the piece in each slot, as drawn; NULL: the packing's */
    int64_t *order;  /* of blocks; NULL: as they stand                           */
    int64_t offset;  /* where a stream begins */
    int64_t given;
} token_blocks_state;

static const rgmi_packing *packing_of(const rgm_dataset *dataset)
{
    return ((const token_blocks_options *)rgm_dataset_options(dataset))->packing;
}

/* ---- a batch --------------------------------------------------------------------------------- */

enum { IDS, LABELS, POSITIONS, SEGMENTS, BYTES, TENSORS };

/** Put tokens begin .. begin + count - 1 as labels from place `at` of the batch on. */
static void fill(rgm_tensor *const t[TENSORS], int64_t at, const rgmi_packing *p, int64_t begin,
                 int64_t count, int64_t segment)
{
    int64_t d = rgmi_tokens_document_of(p->tokens, begin), first, end, bytes;
    bool stream = p->options.packing == RGM_PACKING_STREAM;
    int32_t read;

    rgm_tokens_document(&first, &end, &bytes, p->tokens, d);
    read = begin == 0 || (!stream && begin == first) ? p->tokens->info.begin_id
                                                     : rgm_tokens_at(p->tokens, begin - 1);
    for (int64_t i = 0; i < count; i++) {
        int32_t label = rgm_tokens_at(p->tokens, begin + i);

        if (begin + i == end)
            rgm_tokens_document(&first, &end, &bytes, p->tokens, ++d);
        rgm_tensor_i64(t[IDS])[at + i] = read;
        rgm_tensor_i64(t[LABELS])[at + i] = label;
        rgm_tensor_i64(t[POSITIONS])[at + i] = i;
        rgm_tensor_i64(t[SEGMENTS])[at + i] = segment;
        rgm_tensor_f32(t[BYTES])[at + i] = (float)((double)bytes / (double)(end - first));
        read = label;
    }
}

static void fill_row(rgm_tensor *const t[TENSORS], int64_t row, const rgmi_packing *p,
                     const token_blocks_state *s, int64_t block)
{
    int64_t length = p->options.length, at = row * length, begin = s->offset + block * length;
    const int64_t *begins = s->begins != NULL ? s->begins : p->begins;

    if (p->options.packing == RGM_PACKING_STREAM) {
        int64_t left = p->tokens->info.tokens - begin;

        fill(t, at, p, begin, left < length ? left : length, 1);
        return;
    }
    for (int64_t i = block > 0 ? p->block_end[block - 1] : 0, segment = 1; i < p->block_end[block];
         i++, segment++) {
        int64_t slot = p->slots[i];

        fill(t, at, p, begins[slot], p->lengths[slot], segment);
        at += p->lengths[slot];
    }
}

static rgm_status make_batch(rgm_element **out, rgm_stage *stage, int64_t i)
{
    rgm_status status = RGM_OK;
    const rgmi_packing *p = packing_of(rgm_stage_dataset(stage));
    const token_blocks_state *s = rgm_stage_state(stage);
    rgm_tensor *t[TENSORS] = {NULL};

    for (int k = 0; k < TENSORS; k++) {
        RGM_GO(rgm_tensor_create(&t[k], k == BYTES ? RGM_F32 : RGM_I64, 2,
                                 (int64_t[]){p->options.rows, p->options.length}));
        memset(rgm_tensor_data(t[k]), 0, rgm_tensor_bytes(t[k]));
    }
    for (int64_t row = 0; row < p->options.rows; row++) {
        int64_t block = i * p->options.rows + row;

        if (block < p->figures.blocks)
            fill_row(t, row, p, s, s->order != NULL ? s->order[block] : block);
    }
    RGM_GO(rgm_tokens_check(p->tokens));
    RGM_GO(rgm_element_create_tensors(out, t, TENSORS));
done:
    for (int k = 0; k < TENSORS; k++)
        rgm_tensor_release(t[k]);
    return status;
}

/* ---- the op ---------------------------------------------------------------------------------- */

/* Draw which piece of each length stands in which slot of that length. */
static rgm_status draw_pieces(rgm_stage *stage, const rgmi_packing *p, token_blocks_state *s)
{
    RGM_TRY(RGM_NEW(s->begins, p->count));
    for (int64_t n = 1; n <= p->options.length; n++) {
        int64_t first = p->firsts[n], count = p->firsts[n - 1] - first;
        rgm_rng rng = rgm_stage_rng(stage, (uint64_t)n);

        if (count == 0)
            continue;
        rgm_rng_permutation(&rng, s->begins + first, count);
        for (int64_t i = first; i < first + count; i++)
            s->begins[i] = p->begins[first + s->begins[i]];
    }
    return RGM_OK;
}

/** Draw 0 is the order of blocks, n the pieces of n tokens, or 1 where a stream begins. */
static rgm_status token_blocks_open(rgm_stage *stage)
{
    const rgmi_packing *p = packing_of(rgm_stage_dataset(stage));
    token_blocks_state *s = rgm_stage_state(stage);
    rgm_rng rng = rgm_stage_rng(stage, 0);

    if (!p->options.training)
        return RGM_OK;
    RGM_TRY(RGM_NEW(s->order, p->figures.blocks));
    rgm_rng_permutation(&rng, s->order, p->figures.blocks);
    if (p->options.packing == RGM_PACKING_DOCUMENTS)
        return draw_pieces(stage, p, s);
    rng = rgm_stage_rng(stage, 1);
    if (p->figures.unseen >= p->options.length - 1)
        s->offset = (int64_t)rgm_rng_below(&rng, 0, (uint64_t)p->options.length);
    return RGM_OK;
}

static rgm_status token_blocks_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    int64_t batches = packing_of(rgm_stage_dataset(stage))->figures.batches;

    if (i < 0 || i >= batches)
        return RGM_FAIL(RGM_ERR_ARG, "batch %lld of %lld", (long long)i, (long long)batches);
    return make_batch(out, stage, i);
}

static rgm_status token_blocks_next(rgm_element **out, rgm_stage *stage)
{
    token_blocks_state *s = rgm_stage_state(stage);

    if (s->given >= packing_of(rgm_stage_dataset(stage))->figures.batches)
        return RGM_END;
    return make_batch(out, stage, s->given++);
}

static rgm_status token_blocks_skip(rgm_stage *stage)
{
    token_blocks_state *s = rgm_stage_state(stage);

    if (s->given >= packing_of(rgm_stage_dataset(stage))->figures.batches)
        return RGM_END;
    s->given++;
    return RGM_OK;
}

static rgm_status token_blocks_save(rgm_text *out, const rgm_stage *stage)
{
    return rgm_state_put_int(out, ((const token_blocks_state *)rgm_stage_state(stage))->given);
}

static rgm_status token_blocks_restore(rgm_stage *stage, rgm_state_reader *state)
{
    token_blocks_state *s = rgm_stage_state(stage);

    return rgm_state_get_count(
        &s->given, state, packing_of(rgm_stage_dataset(stage))->figures.batches, "token blocks");
}

static void token_blocks_close(rgm_stage *stage)
{
    token_blocks_state *s = rgm_stage_state(stage);

    rgm_free(s->begins);
    rgm_free(s->order);
}

static int64_t token_blocks_count(const rgm_dataset *dataset)
{
    return packing_of(dataset)->figures.batches;
}

static void token_blocks_clear(void *options)
{
    rgmi_packing_release(((token_blocks_options *)options)->packing);
}

/** With the data's size, since a position in other blocks would be worth nothing. */
static rgm_status token_blocks_print(rgm_text *out, const void *options)
{
    const rgmi_packing *p = ((const token_blocks_options *)options)->packing;

    return rgm_text_printf(out, "%s, %s, %lld x %lld tokens, %lld documents of %lld tokens",
                           p->options.training ? "training" : "evaluation",
                           rgm_packing_names[p->options.packing], (long long)p->options.rows,
                           (long long)p->options.length, (long long)p->figures.documents,
                           (long long)p->tokens->info.tokens);
}

static const rgm_dataset_type token_blocks_type = {
    .name = "token_blocks",
    .options_size = sizeof(token_blocks_options),
    .state_size = sizeof(token_blocks_state),
    .open = token_blocks_open,
    .next = token_blocks_next,
    .skip = token_blocks_skip,
    .save = token_blocks_save,
    .restore = token_blocks_restore,
    .close = token_blocks_close,
    .count = token_blocks_count,
    .at = token_blocks_at,
    .clear = token_blocks_clear,
    .print = token_blocks_print,
};

rgm_status rgm_token_blocks(rgm_dataset **out, const rgm_tokens *tokens,
                            const rgm_token_block_options *options)
{
    static const rgm_token_block_options usual = RGM_TOKEN_BLOCK_OPTIONS_INIT;
    rgm_status status = RGM_OK;
    token_blocks_options o = {NULL};

    *out = NULL;
    RGM_TRY(rgmi_packing_create(&o.packing, tokens, options != NULL ? options : &usual));
    RGM_GO(rgm_dataset_create(out, &token_blocks_type, &o, NULL, 0));
    o.packing = NULL;
done:
    rgmi_packing_release(o.packing);
    return status;
}

rgm_status rgm_token_blocks_figures(rgm_token_block_figures *out, const rgm_dataset *blocks)
{
    *out = (rgm_token_block_figures){0};
    if (rgm_dataset_get_type(blocks) != &token_blocks_type)
        return RGM_FAIL(RGM_ERR_ARG, "%s is not made by rgm_token_blocks()",
                        rgm_dataset_get_type(blocks)->name);
    *out = packing_of(blocks)->figures;
    return RGM_OK;
}
