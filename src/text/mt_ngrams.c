/*
 * Words as numbers, and n-grams that two texts have in common. The number of the (n-1)-gram at its
 * start and its last symbol identify an n-gram. So comparing is exact, and every n-gram costs one
 * lookup in a table, however long it is. The orders use the same table one after another, so memory
 * is linear in the line.
 */
#include "mt_internal.h"

#include <string.h>

struct rgmi_ngram {
    uint64_t key;    /* prefix << 32 | symbol              */
    int32_t count;   /* in the hypothesis                  */
    int32_t matched; /* of these, how many a reference has */
    int32_t seen;    /* in part `part` so far              */
    int64_t part;
};

/* Slots for `most` entries that are at least half empty, cleared. */
static rgm_status clear_slots(int32_t **slots, int64_t *slot_count, int64_t *capacity, int64_t most)
{
    int64_t count = 16;

    if (most > INT32_MAX / 4)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "a line of %lld symbols is too long to be scored",
                        (long long)most);
    while (count < 2 * most)
        count *= 2;
    RGM_TRY(RGM_RESERVE(*slots, *capacity, count));
    memset(*slots, 0, (size_t)count * sizeof **slots);
    *slot_count = count;
    return RGM_OK;
}

/* ---- words ----------------------------------------------------------------------------------- */

void rgmi_vocabulary_clear(rgmi_vocabulary *vocabulary)
{
    rgm_free(vocabulary->words);
    rgm_free(vocabulary->slots);
    *vocabulary = (rgmi_vocabulary){0};
}

/* The slot of a word: the one that has it, or the empty one where it would go. */
static int32_t *word_slot(const rgmi_vocabulary *vocabulary, rgm_str word)
{
    uint64_t mask = (uint64_t)vocabulary->slot_count - 1;
    uint64_t at = rgm_hash64(word.data, (size_t)word.size) & mask;

    for (;; at = (at + 1) & mask) {
        int32_t *slot = &vocabulary->slots[at];
        const rgm_str *known;

        if (*slot == 0)
            return slot;
        known = &vocabulary->words[*slot - 1];
        if (known->size == word.size && memcmp(known->data, word.data, (size_t)word.size) == 0)
            return slot;
    }
}

rgm_status rgmi_vocabulary_build(int32_t *numbers, rgmi_vocabulary *vocabulary,
                                 const rgmi_words *words)
{
    vocabulary->count = 0;
    RGM_TRY(RGM_RESERVE(vocabulary->words, vocabulary->capacity, words->count));
    RGM_TRY(clear_slots(&vocabulary->slots, &vocabulary->slot_count, &vocabulary->slot_capacity,
                        words->count));
    for (int64_t i = 0; i < words->count; i++) {
        int32_t *slot = word_slot(vocabulary, words->items[i]);

        if (*slot == 0) {
            vocabulary->words[vocabulary->count++] = words->items[i];
            *slot = (int32_t)vocabulary->count;
        }
        numbers[i] = *slot - 1;
    }
    return RGM_OK;
}

void rgmi_vocabulary_look_up(int32_t *numbers, const rgmi_vocabulary *vocabulary,
                             const rgmi_words *words)
{
    for (int64_t i = 0; i < words->count; i++)
        numbers[i] = *word_slot(vocabulary, words->items[i]) - 1;
}

/* ---- n-grams --------------------------------------------------------------------------------- */

void rgmi_ngrams_clear(rgmi_ngrams *ngrams)
{
    rgm_free(ngrams->symbols);
    rgm_free(ngrams->ends);
    rgm_free(ngrams->prefixes);
    rgm_free(ngrams->grams);
    rgm_free(ngrams->slots);
    *ngrams = (rgmi_ngrams){0};
}

void rgmi_ngrams_reset(rgmi_ngrams *ngrams)
{
    ngrams->symbol_count = ngrams->part_count = 0;
}

rgm_status rgmi_ngrams_add_part(int32_t **symbols, rgmi_ngrams *ngrams, int64_t size)
{
    int64_t end = ngrams->symbol_count + size;

    RGM_TRY(RGM_RESERVE(ngrams->symbols, ngrams->symbol_capacity, end + 1)); /* never NULL */
    RGM_TRY(RGM_RESERVE(ngrams->ends, ngrams->part_capacity, ngrams->part_count + 1));
    *symbols = ngrams->symbols + ngrams->symbol_count;
    ngrams->symbol_count = end;
    ngrams->ends[ngrams->part_count++] = end;
    return RGM_OK;
}

static int64_t part_start(const rgmi_ngrams *ngrams, int64_t part)
{
    return part == 0 ? 0 : ngrams->ends[part - 1];
}

int64_t rgmi_ngrams_total(const rgmi_ngrams *ngrams, int64_t part, int n)
{
    int64_t total = ngrams->ends[part] - part_start(ngrams, part) - n + 1;

    return total > 0 ? total : 0;
}

static uint64_t mixed(uint64_t key)
{
    key = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15u;
    key = (key ^ (key >> 29)) * 0xbf58476d1ce4e5b9u;
    return key ^ (key >> 32);
}

static int32_t *gram_slot(const rgmi_ngrams *ngrams, int32_t prefix, int32_t symbol, uint64_t *key)
{
    uint64_t mask = (uint64_t)ngrams->slot_count - 1, at;

    *key = (uint64_t)(uint32_t)prefix << 32 | (uint32_t)symbol;
    for (at = mixed(*key) & mask;; at = (at + 1) & mask) {
        int32_t *slot = &ngrams->slots[at];

        if (*slot == 0 || ngrams->grams[*slot - 1].key == *key)
            return slot;
    }
}

/* Fill the table with the hypothesis' n-grams; its prefixes become these n-grams. */
static void count_hypothesis(rgmi_ngrams *ngrams, int n)
{
    int64_t total = rgmi_ngrams_total(ngrams, 0, n);

    ngrams->gram_count = 0;
    for (int64_t i = 0; i < total; i++) {
        uint64_t key;
        int32_t *slot = gram_slot(ngrams, ngrams->prefixes[i], ngrams->symbols[i + n - 1], &key);

        if (*slot == 0) {
            ngrams->grams[ngrams->gram_count] = (struct rgmi_ngram){.key = key};
            *slot = (int32_t)++ngrams->gram_count;
        }
        ngrams->grams[*slot - 1].count++;
        ngrams->prefixes[i] = *slot;
    }
}

/* Matches of one reference that were not there before. A prefix of 0 marks what matches nothing. */
static int64_t match_reference(rgmi_ngrams *ngrams, int64_t part, int n, bool together)
{
    int64_t start = part_start(ngrams, part), total = rgmi_ngrams_total(ngrams, part, n);
    int64_t matches = 0;

    for (int64_t i = start; i < start + total; i++) {
        uint64_t key;
        struct rgmi_ngram *gram;

        if (ngrams->prefixes[i] == 0)
            continue;
        ngrams->prefixes[i] =
            *gram_slot(ngrams, ngrams->prefixes[i], ngrams->symbols[i + n - 1], &key);
        if (ngrams->prefixes[i] == 0)
            continue;
        gram = &ngrams->grams[ngrams->prefixes[i] - 1];
        if (gram->part != part) {
            gram->part = part;
            gram->seen = 0;
            if (!together)
                gram->matched = 0;
        }
        gram->seen++;
        if (gram->seen > gram->matched && gram->matched < gram->count) {
            gram->matched++;
            matches++;
        }
    }
    return matches;
}

rgm_status rgmi_ngrams_match(int64_t *matches, rgmi_ngrams *ngrams, int order, bool together)
{
    int64_t rows = together ? 1 : ngrams->part_count - 1, most = rgmi_ngrams_total(ngrams, 0, 1);

    memset(matches, 0, (size_t)(rows * order) * sizeof *matches);
    RGM_TRY(RGM_RESERVE(ngrams->prefixes, ngrams->prefix_capacity, ngrams->symbol_count));
    RGM_TRY(RGM_RESERVE(ngrams->grams, ngrams->gram_capacity, most));
    for (int64_t i = 0; i < ngrams->symbol_count; i++)
        ngrams->prefixes[i] = 1; /* the empty n-gram */
    for (int n = 1; n <= order; n++) {
        RGM_TRY(clear_slots(&ngrams->slots, &ngrams->slot_count, &ngrams->slot_capacity, most));
        count_hypothesis(ngrams, n);
        for (int64_t part = 1; part < ngrams->part_count; part++)
            matches[(together ? 0 : part - 1) * order + n - 1] +=
                match_reference(ngrams, part, n, together);
    }
    return RGM_OK;
}
