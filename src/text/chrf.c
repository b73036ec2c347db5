/*
 * chrF (Popovic, 2015) and, with words, chrF++ (2017): the F-score of character n-grams, averaged
 * over the orders that both texts are long enough to have. White space does not count as
 * characters.
 */
#include "mt_internal.h"

#include <math.h>
#include <stdio.h>

struct rgm_chrf {
    rgm_chrf_options options;
    rgmi_words hypothesis, reference;
    rgmi_vocabulary vocabulary;
    rgmi_ngrams characters, words;
    int64_t *character_matches, *word_matches; /* [references, order] */
    int64_t character_capacity, word_capacity;
};

rgm_status rgm_chrf_create(rgm_chrf **out, const rgm_chrf_options *options)
{
    rgm_chrf_options wanted = options != NULL ? *options : (rgm_chrf_options)RGM_CHRF_OPTIONS_INIT;

    *out = NULL;
    if (wanted.char_order < 1 || wanted.word_order < 0 ||
        wanted.char_order > RGM_CHRF_MOST_ORDERS ||
        wanted.word_order > RGM_CHRF_MOST_ORDERS - wanted.char_order)
        return RGM_FAIL(
            RGM_ERR_ARG,
            "char_order is %d and word_order %d, but must be at least 1 and 0, and at most "
            "%d together",
            wanted.char_order, wanted.word_order, RGM_CHRF_MOST_ORDERS);
    if (!(wanted.beta > 0 && isfinite(wanted.beta)))
        return RGM_FAIL(RGM_ERR_ARG, "beta is %g, but must be finite and above 0", wanted.beta);
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->options = wanted;
    return RGM_OK;
}

void rgm_chrf_release(rgm_chrf *chrf)
{
    if (chrf == NULL)
        return;
    rgmi_words_clear(&chrf->hypothesis);
    rgmi_words_clear(&chrf->reference);
    rgmi_vocabulary_clear(&chrf->vocabulary);
    rgmi_ngrams_clear(&chrf->characters);
    rgmi_ngrams_clear(&chrf->words);
    rgm_free(chrf->character_matches);
    rgm_free(chrf->word_matches);
    rgm_free(chrf);
}

static rgm_status add_characters(rgm_chrf *chrf, const rgmi_words *words)
{
    int64_t count = 0;
    int32_t *symbols;

    for (int64_t i = 0; i < words->count; i++)
        for (int64_t b = 0; b < words->items[i].size; b++)
            count += ((uint8_t)words->items[i].data[b] & 0xc0) != 0x80;
    RGM_TRY(rgmi_ngrams_add_part(&symbols, &chrf->characters, count));
    for (int64_t i = 0; i < words->count; i++) {
        const char *p = words->items[i].data, *end = p + words->items[i].size;

        while (p < end) {
            uint32_t c;

            p += rgmi_next_character(&c, p, end);
            *symbols++ = (int32_t)c;
        }
    }
    return RGM_OK;
}

/* ASCII's punctuation and symbols, whatever the locale. */
static bool is_mark(char c)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

    return c > ' ' && c < 0x7f && !letter && !(c >= '0' && c <= '9');
}

/*
 * Where chrF++ cuts a word in two: its last byte when that is ASCII punctuation, else its first; 0
 * when it stays whole. One mark at most is cut off: "(hi)" is "(hi" and ")".
 */
static int64_t cut_at(rgm_str word)
{
    if (word.size > 1 && is_mark(word.data[word.size - 1]))
        return word.size - 1;
    if (word.size > 1 && is_mark(word.data[0]))
        return 1;
    return 0;
}

static rgm_status cut_marks(rgmi_words *words)
{
    int64_t count = words->count, at;

    for (int64_t i = 0; i < words->count; i++)
        count += cut_at(words->items[i]) > 0;
    RGM_TRY(RGM_RESERVE(words->items, words->capacity, count));
    at = count;
    for (int64_t i = words->count - 1; i >= 0; i--) { /* from the end, in place */
        rgm_str word = words->items[i];
        int64_t cut = cut_at(word);

        if (cut > 0)
            words->items[--at] = (rgm_str){word.data + cut, word.size - cut};
        words->items[--at] = (rgm_str){word.data, cut > 0 ? cut : word.size};
    }
    words->count = count;
    return RGM_OK;
}

static rgm_status add_line(rgm_chrf *chrf, rgmi_words *words, rgm_str line)
{
    int32_t *numbers;

    RGM_TRY(rgmi_words_read(words, RGM_MT_TOKENIZER_NONE, chrf->options.lowercase, line));
    RGM_TRY(add_characters(chrf, words));
    if (chrf->options.word_order == 0)
        return RGM_OK;
    RGM_TRY(cut_marks(words));
    RGM_TRY(rgmi_ngrams_add_part(&numbers, &chrf->words, words->count));
    if (words == &chrf->hypothesis)
        return rgmi_vocabulary_build(numbers, &chrf->vocabulary, words);
    rgmi_vocabulary_look_up(numbers, &chrf->vocabulary, words);
    return RGM_OK;
}

static rgm_status match(rgm_chrf *chrf, int64_t references)
{
    const rgm_chrf_options *options = &chrf->options;

    RGM_TRY(RGM_RESERVE(chrf->character_matches, chrf->character_capacity,
                        references * options->char_order));
    RGM_TRY(
        rgmi_ngrams_match(chrf->character_matches, &chrf->characters, options->char_order, false));
    if (options->word_order == 0)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(chrf->word_matches, chrf->word_capacity, references * options->word_order));
    return rgmi_ngrams_match(chrf->word_matches, &chrf->words, options->word_order, false);
}

/* What the hypothesis comes to against one reference. */
static rgm_chrf_stats stats_against(const rgm_chrf *chrf, int64_t reference)
{
    const rgm_chrf_options *options = &chrf->options;
    rgm_chrf_stats stats = {0};

    for (int k = 0; k < options->char_order + options->word_order; k++) {
        bool by_word = k >= options->char_order;
        const rgmi_ngrams *ngrams = by_word ? &chrf->words : &chrf->characters;
        int order = by_word ? options->word_order : options->char_order;
        int n = by_word ? k - options->char_order : k;

        stats.references[k] = rgmi_ngrams_total(ngrams, reference + 1, n + 1);
        /* An order that the reference is too short for is not held against the hypothesis. */
        if (stats.references[k] > 0)
            stats.hypotheses[k] = rgmi_ngrams_total(ngrams, 0, n + 1);
        stats.matches[k] =
            (by_word ? chrf->word_matches : chrf->character_matches)[reference * order + n];
    }
    return stats;
}

rgm_status rgm_chrf_add(rgm_chrf_stats *stats, rgm_chrf *chrf, rgm_str hypothesis,
                        const rgm_str *references, int64_t count)
{
    rgm_chrf_stats best = {0};
    double best_score = -1;

    RGM_TRY(rgmi_mt_check(hypothesis, references, count));
    rgmi_ngrams_reset(&chrf->characters);
    rgmi_ngrams_reset(&chrf->words);
    RGM_TRY(add_line(chrf, &chrf->hypothesis, hypothesis));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(add_line(chrf, &chrf->reference, references[i]));
    RGM_TRY(match(chrf, count));
    for (int64_t i = 0; i < count; i++) {
        rgm_chrf_stats one = stats_against(chrf, i);
        double score = rgm_chrf_result(&one, &chrf->options);

        if (score > best_score) {
            best_score = score;
            best = one;
        }
    }
    rgmi_mt_counts_add(&best.counts, count);
    rgm_chrf_merge(stats, &best);
    return RGM_OK;
}

void rgm_chrf_merge(rgm_chrf_stats *to, const rgm_chrf_stats *from)
{
    for (int k = 0; k < RGM_CHRF_MOST_ORDERS; k++) {
        to->hypotheses[k] += from->hypotheses[k];
        to->references[k] += from->references[k];
        to->matches[k] += from->matches[k];
    }
    rgmi_mt_counts_merge(&to->counts, &from->counts);
}

double rgm_chrf_result(const rgm_chrf_stats *stats, const rgm_chrf_options *options)
{
    rgm_chrf_options defaults = RGM_CHRF_OPTIONS_INIT;
    double precision = 0, recall = 0, weight;
    int orders = 0;

    options = options != NULL ? options : &defaults;
    for (int k = 0; k < options->char_order + options->word_order; k++) {
        if (stats->hypotheses[k] == 0 || stats->references[k] == 0)
            continue;
        precision += (double)stats->matches[k] / (double)stats->hypotheses[k];
        recall += (double)stats->matches[k] / (double)stats->references[k];
        orders++;
    }
    if (precision + recall == 0)
        return 0;
    precision /= orders;
    recall /= orders;
    weight = options->beta * options->beta;
    return 100 * (1 + weight) * precision * recall / (weight * precision + recall);
}

rgm_status rgm_chrf_signature(char **out, const rgm_chrf_stats *stats,
                              const rgm_chrf_options *options)
{
    rgm_chrf_options defaults = RGM_CHRF_OPTIONS_INIT;
    char middle[128];

    *out = NULL;
    options = options != NULL ? options : &defaults;
    snprintf(middle, sizeof middle, "case:%s|eff:yes|nc:%d|nw:%d|space:no",
             options->lowercase ? "lc" : "mixed", options->char_order, options->word_order);
    return rgmi_mt_signature(out, &stats->counts, middle);
}
