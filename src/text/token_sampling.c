/*
 * Pairs whose segmentation is drawn anew each time. The shapes of batches are fixed beforehand. So
 * some draws measure the space for a pair, and a draw that does not fit is drawn again.
 */
#include "token_batches.h"

#include <stdatomic.h>

enum {
    MEASURED = 4,            /* draws that a pair's room is measured by                   */
    TRIES = 8,               /* draws before the usual segmentation is taken              */
    SENTENCE_NS = 10 * 1000, /* roughly, of a draw                                        */
};

/* Draw one side of a pair, its end behind it, in the place of what `ids` had. */
static rgm_status draw(rgm_ids *ids, const rgm_subword_sampling *s, int64_t pair, int side,
                       const rgm_rng *rng, uint64_t place)
{
    const rgm_tokenizer *tokenizer = side == 0 ? s->source : s->target;
    rgm_str text =
        side == 0 ? rgm_corpus_source(s->corpus, pair) : rgm_corpus_target(s->corpus, pair);
    uint32_t key[4];

    ids->count = 0;
    rgm_rng_block(rng, place, key);
    RGM_TRY(rgm_tokenizer_sample(ids, tokenizer, text.data, text.size, s->alpha,
                                 (uint64_t)key[1] << 32 | key[0]));
    RGM_TRY(RGM_RESERVE(ids->items, ids->capacity, ids->count + 1));
    ids->items[ids->count++] = rgm_tokenizer_eos_id(tokenizer);
    return RGM_OK;
}

rgm_status rgmi_sampling_draw(rgm_ids *ids, const rgm_subword_sampling *sampling, int64_t pair,
                              int side, int64_t room, const rgm_rng *rng, int64_t row)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t place = (2 * (uint64_t)row + (uint64_t)side) * TRIES + (uint64_t)i;

        RGM_TRY(draw(ids, sampling, pair, side, rng, place));
        if (ids->count <= room)
            return RGM_OK;
    }
    ids->count = 0;
    return RGM_OK;
}

/* ---- room ---------------------------------------------------------------------------------- */

typedef struct measuring {
    rgmi_room *rooms;
    const rgm_subword_sampling *sampling;
    int side;
    atomic_bool failed;
    rgm_error error; /* of who failed first */
} measuring;

static rgm_status measure(rgmi_room *room, rgm_ids *ids, const measuring *m, int64_t pair)
{
    rgm_rng rng = rgm_rng_stream((uint64_t)pair, "segmentation", (uint64_t)m->side);

    *room = (rgmi_room){0};
    for (uint64_t i = 0; i < MEASURED; i++) {
        RGM_TRY(draw(ids, m->sampling, pair, m->side, &rng, i));
        room->longest = ids->count > room->longest ? (int32_t)ids->count : room->longest;
        room->mean += (double)ids->count / MEASURED;
    }
    return RGM_OK;
}

static void measure_range(void *payload, int64_t begin, int64_t end)
{
    measuring *m = payload;
    rgm_ids ids = {0};

    for (int64_t i = begin; i < end && !m->failed; i++) {
        rgm_status status = measure(&m->rooms[i], &ids, m, i);

        if (status != RGM_OK && !atomic_exchange(&m->failed, true))
            rgm_error_save(&m->error, status);
    }
    rgm_ids_clear(&ids);
}

rgm_status rgmi_sampling_measure(rgmi_room *rooms, const rgm_subword_sampling *sampling, int side)
{
    measuring m = {.rooms = rooms, .sampling = sampling, .side = side};

    if (side == 1 && !rgm_corpus_has_target(sampling->corpus))
        return RGM_OK;
    rgm_parallel(rgm_corpus_count(sampling->corpus), MEASURED * SENTENCE_NS, measure_range, &m);
    return m.failed ? rgm_error_restore(&m.error) : RGM_OK;
}
