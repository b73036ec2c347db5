/*
 * Decoding among the tokens of a shortlist. One product gives the logits of all tokens that any
 * sentence of the batch may have; of those each sentence looks at its own alone, so that its result
 * does not depend on the others. What is multiplied is packed once a batch.
 */
#include "sequence_internal.h"

enum { WORD = 64, COLUMNS = 16 }; /* bits of a word; the product's columns are a multiple */

static void set_bit(uint64_t *bits, int64_t i)
{
    bits[i / WORD] |= UINT64_C(1) << (i % WORD);
}

static bool has_bit(const uint64_t *bits, int64_t i)
{
    return bits[i / WORD] >> (i % WORD) & 1;
}

static int64_t bit_count(const uint64_t *bits, int64_t words)
{
    int64_t count = 0;

    for (int64_t w = 0; w < words; w++)
        count += __builtin_popcountll(bits[w]);
    return count;
}

/* Ids of the bits that are set, ascending; their number. */
static int64_t list_bits(int32_t *ids, const uint64_t *bits, int64_t words)
{
    int64_t count = 0;

    for (int64_t w = 0; w < words; w++)
        for (uint64_t rest = bits[w]; rest != 0; rest &= rest - 1)
            ids[count++] = (int32_t)(w * WORD + __builtin_ctzll(rest));
    return count;
}

/* What a sentence may be translated by: its tokens' and the frequent, the end, and more of the
 * frequent if these are too few for the search. */
static void sentence_bits(uint64_t *bits, const rgm_shortlist *list, const int32_t *source,
                          int64_t length, int32_t end_id, int64_t least)
{
    rgm_shortlist_figures f = rgm_shortlist_describe(list);
    const int32_t *tokens, *frequent = rgmi_shortlist_frequent(list);
    int64_t words = (f.target_vocabulary + WORD - 1) / WORD, count;

    for (int64_t i = 0; i < f.first; i++)
        set_bit(bits, frequent[i]);
    for (int64_t i = 0; i < length; i++) {
        count = rgm_shortlist_tokens(&tokens, list, source[i]);
        for (int64_t k = 0; k < count; k++)
            set_bit(bits, tokens[k]);
    }
    set_bit(bits, end_id);
    count = bit_count(bits, words);
    for (int64_t i = f.first; i < 2 * f.target_vocabulary && count < least; i++) {
        int64_t id = i < f.target_vocabulary ? frequent[i] : i - f.target_vocabulary;
        count += !has_bit(bits, id);
        set_bit(bits, id);
    }
}

/* Room that grows, NULL without memory; what it held is lost. */
static void *grown(void *memory, size_t *room, size_t bytes)
{
    if (memory != NULL && *room >= bytes)
        return memory;
    rgm_free(memory);
    *room = bytes;
    return rgm_malloc(bytes > 0 ? bytes : 1);
}

/* As many elements for a member of a rgmi_shortened. */
#define ROOM(s, member, count)                                                                     \
    (((s)->member =                                                                                \
          grown((s)->member, &(s)->member##_room, (size_t)(count) * sizeof *(s)->member)) != NULL  \
         ? RGM_OK                                                                                  \
         : RGM_FAIL(RGM_ERR_NOMEM, "out of memory: a shortlist"))

/* Ids of the union, and for each sentence where its own stand among them. bits [sentences + 1]
 * [words]: the union's last. */
static rgm_status list_places(rgmi_shortened *s, const uint64_t *bits, int64_t sentences,
                              int64_t words)
{
    const uint64_t *all = bits + sentences * words;
    int64_t sum = 0, *start;
    int32_t *rank, *place;

    RGM_TRY(ROOM(s, ids, bit_count(all, words) + words * WORD));
    s->count = list_bits(s->ids, all, words);
    rank = s->ids + s->count; /* [words * WORD] by id */
    for (int64_t i = 0; i < s->count; i++)
        rank[s->ids[i]] = (int32_t)i;
    RGM_TRY(ROOM(s, start, sentences + 1));
    start = s->start;
    for (int64_t i = 0; i < sentences; i++)
        sum += bit_count(bits + i * words, words);
    RGM_TRY(ROOM(s, places, sum));
    place = s->places;
    start[0] = 0;
    for (int64_t i = 0; i < sentences; i++) {
        int64_t count = list_bits(place, bits + i * words, words);
        for (int64_t k = 0; k < count; k++)
            place[k] = rank[place[k]];
        place += count;
        start[i + 1] = start[i] + count;
    }
    return RGM_OK;
}

/* The rows of the table that stand for them, as the product reads them. */
static rgm_status pack_rows(rgmi_shortened *s, const float *table, const float *bias, int64_t width)
{
    rgm_matmul_args o = {.k = width, .ldb = width, .trans_b = true};
    int64_t padded = (s->count + COLUMNS - 1) / COLUMNS * COLUMNS;

    s->padded = o.n = padded;
    RGM_TRY(ROOM(s, rows, padded * width));
    RGM_TRY(ROOM(s, packed, s->product->matmul_pack(&o)));
    for (int64_t i = 0; i < padded; i++)
        if (i < s->count)
            memcpy(s->rows + i * width, table + s->ids[i] * width, (size_t)width * sizeof *table);
        else
            memset(s->rows + i * width, 0, (size_t)width * sizeof *table);
    o.b = s->rows;
    o.c = s->packed;
    s->product->matmul_pack(&o);
    s->has_bias = bias != NULL;
    if (bias == NULL)
        return RGM_OK;
    RGM_TRY(ROOM(s, bias, padded));
    for (int64_t i = 0; i < padded; i++)
        s->bias[i] = i < s->count ? bias[s->ids[i]] : 0;
    return RGM_OK;
}

rgm_status rgmi_shortened_open(rgmi_shortened *s, const int32_t *const *sources,
                               const int64_t *lengths, int64_t sentences, const float *table,
                               const float *bias, int64_t width)
{
    int64_t words = (rgm_shortlist_describe(s->list).target_vocabulary + WORD - 1) / WORD;
    rgm_status status = RGM_OK;
    uint64_t *bits = NULL;

    RGM_GO(RGM_NEW(bits, (sentences + 1) * words));
    for (int64_t i = 0; i < sentences; i++) {
        sentence_bits(bits + i * words, s->list, sources[i], lengths[i], s->end_id, s->least);
        for (int64_t w = 0; w < words; w++)
            bits[sentences * words + w] |= bits[i * words + w];
    }
    RGM_GO(list_places(s, bits, sentences, words));
    RGM_GO(pack_rows(s, table, bias, width));
    s->width = width;
done:
    rgm_free(bits);
    return status;
}

void rgmi_shortened_clear(rgmi_shortened *s)
{
    rgm_free(s->ids);
    rgm_free(s->start);
    rgm_free(s->places);
    rgm_free(s->rows);
    rgm_free(s->bias);
    rgm_free(s->packed);
    rgm_free(s->logits);
    rgm_free(s->own);
    *s = (rgmi_shortened){0};
}

/* The best of a sentence's rows, whose logits of all tokens stand at `logits`. */
static void sentence_top(float *log_probabilities, int64_t *ids, rgmi_shortened *s,
                         const float *logits, int64_t sentence, int64_t rows, int64_t count)
{
    const int32_t *place = s->places + s->start[sentence];
    int64_t classes = s->start[sentence + 1] - s->start[sentence];
    rgm_top_args top = {.y = log_probabilities,
                        .index = ids,
                        .x = s->own,
                        .rows = rows,
                        .channels = classes,
                        .classes = classes,
                        .count = count};

    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < classes; c++)
            s->own[r * classes + c] = logits[r * s->padded + place[c]];
    s->kernels->top_log_softmax(&top);
    for (int64_t i = 0; i < rows * count; i++)
        ids[i] = s->ids[place[ids[i]]];
}

rgm_status rgmi_shortened_top(float *log_probabilities, int64_t *ids, rgmi_shortened *s,
                              const float *states, const int64_t *sentences, int64_t count,
                              int64_t beams, int64_t top)
{
    int64_t rows = count * beams;
    rgm_matmul_args o = {.a = states,
                         .b = s->packed,
                         .bias = s->has_bias ? s->bias : NULL,
                         .m = rows,
                         .n = s->padded,
                         .k = s->width,
                         .lda = s->width,
                         .ldc = s->padded,
                         .batch = 1,
                         .packed = true};

    RGM_TRY(ROOM(s, logits, rows * s->padded));
    RGM_TRY(ROOM(s, own, beams * s->padded));
    o.c = s->logits;
    s->product->matmul(&o);
    for (int64_t i = 0; i < count; i++)
        sentence_top(log_probabilities + i * beams * top, ids + i * beams * top, s,
                     s->logits + i * beams * s->padded, sentences[i], beams, top);
    return RGM_OK;
}
