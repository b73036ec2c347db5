/*
 * BLEU (Papineni et al., 2002): the geometric mean of the precisions of 1- to 4-grams, with a
 * penalty for output that is shorter than the reference.
 */
#include "mt_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct rgm_bleu {
    rgm_bleu_options options;
    rgmi_words hypothesis, reference;
    rgmi_vocabulary vocabulary;
    rgmi_ngrams ngrams;
};

const char *const rgm_bleu_smoothing_names[] = {"exp", "floor", "add-k", "none", NULL};

rgm_status rgm_bleu_create(rgm_bleu **out, const rgm_bleu_options *options)
{
    rgm_bleu_options wanted = options != NULL ? *options : (rgm_bleu_options)RGM_BLEU_OPTIONS_INIT;

    *out = NULL;
    if (!(wanted.smooth_value >= 0 && isfinite(wanted.smooth_value)))
        return RGM_FAIL(RGM_ERR_ARG, "smooth_value is %g, but must be finite and at least 0",
                        wanted.smooth_value);
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->options = wanted;
    return RGM_OK;
}

void rgm_bleu_release(rgm_bleu *bleu)
{
    if (bleu == NULL)
        return;
    rgmi_words_clear(&bleu->hypothesis);
    rgmi_words_clear(&bleu->reference);
    rgmi_vocabulary_clear(&bleu->vocabulary);
    rgmi_ngrams_clear(&bleu->ngrams);
    rgm_free(bleu);
}

static rgm_status read_line(rgmi_words *words, const rgm_bleu *bleu, rgm_str line)
{
    return rgmi_words_read(words, bleu->options.tokenizer, bleu->options.lowercase, line);
}

/* The nearer to the hypothesis in length; of two as near, the shorter. */
static int64_t nearer_length(int64_t a, int64_t b, int64_t hypothesis)
{
    int64_t to_a = llabs(a - hypothesis), to_b = llabs(b - hypothesis);

    return to_a < to_b || (to_a == to_b && a < b) ? a : b;
}

rgm_status rgm_bleu_add(rgm_bleu_stats *stats, rgm_bleu *bleu, rgm_str hypothesis,
                        const rgm_str *references, int64_t count)
{
    int64_t matches[RGM_BLEU_ORDER], length, reference_length = 0;
    int32_t *numbers;

    RGM_TRY(rgmi_mt_check(hypothesis, references, count));
    rgmi_ngrams_reset(&bleu->ngrams);
    RGM_TRY(read_line(&bleu->hypothesis, bleu, hypothesis));
    length = bleu->hypothesis.count;
    RGM_TRY(rgmi_ngrams_add_part(&numbers, &bleu->ngrams, length));
    RGM_TRY(rgmi_vocabulary_build(numbers, &bleu->vocabulary, &bleu->hypothesis));
    for (int64_t i = 0; i < count; i++) {
        int64_t words;

        RGM_TRY(read_line(&bleu->reference, bleu, references[i]));
        words = bleu->reference.count;
        RGM_TRY(rgmi_ngrams_add_part(&numbers, &bleu->ngrams, words));
        rgmi_vocabulary_look_up(numbers, &bleu->vocabulary, &bleu->reference);
        reference_length = i == 0 ? words : nearer_length(words, reference_length, length);
    }
    RGM_TRY(rgmi_ngrams_match(matches, &bleu->ngrams, RGM_BLEU_ORDER, true));
    for (int n = 0; n < RGM_BLEU_ORDER; n++) {
        stats->matches[n] += matches[n];
        stats->totals[n] += rgmi_ngrams_total(&bleu->ngrams, 0, n + 1);
    }
    stats->hypothesis_length += length;
    stats->reference_length += reference_length;
    rgmi_mt_counts_add(&stats->counts, count);
    return RGM_OK;
}

void rgm_bleu_merge(rgm_bleu_stats *to, const rgm_bleu_stats *from)
{
    for (int n = 0; n < RGM_BLEU_ORDER; n++) {
        to->matches[n] += from->matches[n];
        to->totals[n] += from->totals[n];
    }
    to->hypothesis_length += from->hypothesis_length;
    to->reference_length += from->reference_length;
    rgmi_mt_counts_merge(&to->counts, &from->counts);
}

static double smooth_value(const rgm_bleu_options *options)
{
    if (options->smooth_value > 0)
        return options->smooth_value;
    return options->smoothing == RGM_SMOOTH_FLOOR ? 0.1 : 1;
}

/*
 * Precisions in percent, smoothed (Chen and Cherry, 2014: methods 1 to 3). Returns the orders that
 * the hypothesis is long enough to have; the others' precision is 0.
 */
static int smoothed_precisions(double *precisions, const rgm_bleu_stats *stats,
                               const rgm_bleu_options *options)
{
    double value = smooth_value(options), halved = 1;
    int orders = 0;

    for (int n = 0; n < RGM_BLEU_ORDER; n++, orders++) {
        double more = options->smoothing == RGM_SMOOTH_ADD_K && n > 0 ? value : 0;
        double matches = (double)stats->matches[n] + more, total = (double)stats->totals[n] + more;

        if (total == 0)
            break;
        if (matches > 0) {
            precisions[n] = 100 * matches / total;
        } else if (options->smoothing == RGM_SMOOTH_EXP) {
            halved *= 2;
            precisions[n] = 100 / (halved * total);
        } else if (options->smoothing == RGM_SMOOTH_FLOOR) {
            precisions[n] = 100 * value / total;
        }
    }
    return orders;
}

rgm_bleu_score rgm_bleu_result(const rgm_bleu_stats *stats, const rgm_bleu_options *options)
{
    rgm_bleu_options defaults = RGM_BLEU_OPTIONS_INIT;
    rgm_bleu_score score = {.brevity_penalty = 1};
    double length = (double)stats->hypothesis_length, wanted = (double)stats->reference_length;
    double sum = 0;
    bool any = false;
    int orders;

    options = options != NULL ? options : &defaults;
    if (length < wanted)
        score.brevity_penalty = length > 0 ? exp(1 - wanted / length) : 0;
    if (wanted > 0)
        score.ratio = length / wanted;
    for (int n = 0; n < RGM_BLEU_ORDER; n++)
        any = any || stats->matches[n] > 0;
    if (!any)
        return score;
    orders = smoothed_precisions(score.precisions, stats, options);
    if (!options->effective_order)
        orders = RGM_BLEU_ORDER;
    for (int n = 0; n < orders; n++)
        sum += log(score.precisions[n]); /* -inf for a precision of 0 makes the score 0 */
    score.score = score.brevity_penalty * exp(sum / orders);
    return score;
}

rgm_status rgm_bleu_signature(char **out, const rgm_bleu_stats *stats,
                              const rgm_bleu_options *options)
{
    rgm_bleu_options defaults = RGM_BLEU_OPTIONS_INIT;
    char value[32] = "", middle[128];

    *out = NULL;
    options = options != NULL ? options : &defaults;
    if (options->smoothing == RGM_SMOOTH_FLOOR || options->smoothing == RGM_SMOOTH_ADD_K)
        snprintf(value, sizeof value, "[%.2f]", smooth_value(options));
    snprintf(middle, sizeof middle, "case:%s|eff:%s|tok:%s|smooth:%s%s",
             options->lowercase ? "lc" : "mixed", options->effective_order ? "yes" : "no",
             rgm_mt_tokenizer_names[options->tokenizer],
             rgm_bleu_smoothing_names[options->smoothing], value);
    return rgmi_mt_signature(out, &stats->counts, middle);
}
