/*
 * What BLEU, chrF and TER share: from a line to its words, words as numbers, and the counting of
 * n-grams that a hypothesis has in common with its references.
 */
#ifndef RGM_TEXT_MT_INTERNAL_H
#define RGM_TEXT_MT_INTERNAL_H

#include <regimen/text.h>

/* ---- mt_text.c ------------------------------------------------------------------------------- */

/** White space as it divides words: Unicode's White_Space and the four separators U+001C..1F. */
bool rgmi_is_white(uint32_t c);
/** The character at p < end of valid UTF-8; returns its bytes. */
int rgmi_next_character(uint32_t *c, const char *p, const char *end);
/** RGM_ERR_ARG without a reference; RGM_ERR_FORMAT naming the text and the byte that is not UTF-8.
 */
rgm_status rgmi_mt_check(rgm_str hypothesis, const rgm_str *references, int64_t count);
/** The text in lower case, by Unicode's full mapping (final sigma too). */
rgm_status rgmi_lower(rgm_text *out, rgm_str text);
/** One more sentence of `references` references. */
void rgmi_mt_counts_add(rgm_mt_counts *counts, int64_t references);
void rgmi_mt_counts_merge(rgm_mt_counts *to, const rgm_mt_counts *from);
/** "nrefs:1|<middle>|version:regimen-0.1" */
rgm_status rgmi_mt_signature(char **out, const rgm_mt_counts *counts, const char *middle);

/* ---- mt_tokenize.c --------------------------------------------------------------------------- */

/** The words of one line, and the texts they lie in. Zero-initialised it is empty. */
typedef struct rgmi_words {
    rgm_str *items; /* borrowed from `text`, until the next read */
    int64_t count, capacity;
    rgm_text lowered, text, spare;
} rgmi_words;
void rgmi_words_clear(rgmi_words *words);
/** Tokenize a line of valid UTF-8. */
rgm_status rgmi_words_read(rgmi_words *words, rgm_mt_tokenizer tokenizer, bool lowercase,
                           rgm_str line);

/* ---- mt_ngrams.c ----------------------------------------------------------------------------- */

/** The distinct words of a hypothesis, numbered from 0 as they first occur. */
typedef struct rgmi_vocabulary {
    rgm_str *words;
    int64_t count, capacity;
    int32_t *slots; /* [slot_count], a power of two: number + 1, 0 empty */
    int64_t slot_count, slot_capacity;
} rgmi_vocabulary;
void rgmi_vocabulary_clear(rgmi_vocabulary *vocabulary);
/** Empty it and number the words: numbers [words->count]. The words are borrowed. */
rgm_status rgmi_vocabulary_build(int32_t *numbers, rgmi_vocabulary *vocabulary,
                                 const rgmi_words *words);
/** The numbers of other words, -1 for those that the hypothesis has not. */
void rgmi_vocabulary_look_up(int32_t *numbers, const rgmi_vocabulary *vocabulary,
                             const rgmi_words *words);

/**
 * The symbols of a hypothesis (part 0) and of its references, one after another, to be compared by
 * their n-grams. A symbol is a character or the number of a word; those below 0 match nothing.
 */
typedef struct rgmi_ngrams {
    int32_t *symbols;
    int64_t symbol_count, symbol_capacity;
    int64_t *ends; /* [part_count] */
    int64_t part_count, part_capacity;
    int32_t *prefixes; /* [symbol_count]: the n-gram before the last symbol, by where it starts */
    int64_t prefix_capacity;
    struct rgmi_ngram *grams;
    int64_t gram_count, gram_capacity;
    int32_t *slots;
    int64_t slot_count, slot_capacity;
} rgmi_ngrams;
void rgmi_ngrams_clear(rgmi_ngrams *ngrams);
/** Forget the parts; memory stays. */
void rgmi_ngrams_reset(rgmi_ngrams *ngrams);
/** A new part of `size` symbols, for the caller to fill in before the next call. */
rgm_status rgmi_ngrams_add_part(int32_t **symbols, rgmi_ngrams *ngrams, int64_t size);
/** n-grams of a part: max(0, symbols - n + 1). */
int64_t rgmi_ngrams_total(const rgmi_ngrams *ngrams, int64_t part, int n);
/**
 * Matches of orders 1..order. `together`: an n-gram counts as often as the hypothesis has it, but
 * at most as often as that reference which has it most; matches [order]. Otherwise each reference
 * by itself: matches [references, order].
 */
rgm_status rgmi_ngrams_match(int64_t *matches, rgmi_ngrams *ngrams, int order, bool together);

/* ---- ter_edit.c ------------------------------------------------------------------------------ */

/** Working memory of rgmi_ter_edits(). Zero-initialised it is empty. */
typedef struct rgmi_ter_work rgmi_ter_work;
rgm_status rgmi_ter_work_create(rgmi_ter_work **out);
void rgmi_ter_work_release(rgmi_ter_work *work);
/**
 * Least edits (as Tercom searches) that make a reference of a hypothesis: insert, delete, replace
 * or shift words. Words are numbers; a reference's word that is below 0 occurs in no hypothesis.
 */
rgm_status rgmi_ter_edits(int64_t *edits, rgmi_ter_work *work, const int32_t *hypothesis,
                          int64_t hypothesis_length, const int32_t *reference,
                          int64_t reference_length);

#endif
