/*
 * Translations against their references: BLEU, chrF and TER over text, and how many are equal token
 * by token. Pairs made by a formula have no text: their tokens' numbers are the words.
 */
#include <string.h>

#include "translation_internal.h"

struct rgmi_translation_scores {
    rgm_bleu *bleu; /* this and the next two are NULL when they are not asked for */
    rgm_chrf *chrf;
    rgm_ter *ter;
    rgm_bleu_options bleu_options;
    rgm_chrf_options chrf_options;
    rgm_bleu_stats bleu_stats;
    rgm_chrf_stats chrf_stats;
    rgm_ter_stats ter_stats;
    int64_t equal, count;
    rgm_text hypothesis, reference; /* of one sentence at a time */
};

static bool wanted(const rgm_score_options *options, int metric)
{
    for (int64_t i = 0; i < options->metrics.count; i++)
        if (strcmp(options->metrics.items[i], rgm_mt_metric_names[metric]) == 0)
            return true;
    return false;
}

rgm_status rgmi_scores_check(const rgm_score_options *options)
{
    for (int64_t i = 0; i < options->metrics.count; i++) {
        const char *name = options->metrics.items[i];
        bool known = false;

        for (int m = 0; m < RGM_MT_METRICS; m++)
            known |= strcmp(name, rgm_mt_metric_names[m]) == 0;
        if (known)
            continue;
        return RGM_FAIL(
            RGM_ERR_CONFIG, "task.score.metrics: no '%s'%s; there are bleu, chrf, ter", name,
            rgm_did_you_mean(name, rgm_mt_metric_names, RGM_MT_METRICS, NULL, NULL).text);
    }
    return RGM_OK;
}

void rgmi_scores_names(const char **names, const rgm_score_options *options)
{
    for (int m = 0; m < RGM_MT_METRICS; m++)
        if (wanted(options, m))
            *names++ = rgm_mt_metric_names[m];
    *names++ = "exact_match";
    *names = NULL;
}

rgm_status rgmi_scores_create(rgmi_translation_scores **out, const rgm_score_options *options)
{
    rgm_status status = RGM_OK;
    rgmi_translation_scores *s = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(s, 1));
    s->bleu_options = (rgm_bleu_options)RGM_BLEU_OPTIONS_INIT;
    s->bleu_options.tokenizer = options->tokenize;
    s->bleu_options.lowercase = options->lowercase;
    s->chrf_options = (rgm_chrf_options)RGM_CHRF_OPTIONS_INIT;
    s->chrf_options.lowercase = options->lowercase;
    if (wanted(options, RGM_MT_BLEU))
        RGM_GO(rgm_bleu_create(&s->bleu, &s->bleu_options));
    if (wanted(options, RGM_MT_CHRF))
        RGM_GO(rgm_chrf_create(&s->chrf, &s->chrf_options));
    if (wanted(options, RGM_MT_TER))
        RGM_GO(rgm_ter_create(&s->ter, NULL));
    *out = s;
    s = NULL;
done:
    rgmi_scores_release(s);
    return status;
}

void rgmi_scores_release(rgmi_translation_scores *scores)
{
    if (scores == NULL)
        return;
    rgm_bleu_release(scores->bleu);
    rgm_chrf_release(scores->chrf);
    rgm_ter_release(scores->ter);
    rgm_text_clear(&scores->hypothesis);
    rgm_text_clear(&scores->reference);
    rgm_free(scores);
}

rgm_status rgmi_write_text(rgm_text *out, const rgm_tokenizer *tokenizer, const int32_t *ids,
                           int64_t count)
{
    out->size = 0;
    if (tokenizer != NULL)
        return rgm_tokenizer_decode(out, tokenizer, ids, count);
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(rgm_text_printf(out, i > 0 ? " %d" : "%d", (int)ids[i]));
    return RGM_OK;
}

static rgm_str text_of(const rgm_text *text)
{
    return (rgm_str){.data = text->size > 0 ? text->data : "", .size = text->size};
}

static rgm_status add_one(rgmi_translation_scores *s, const rgmi_parallel_data *data, rgm_mode mode,
                          int64_t pair, const rgm_hypothesis *h)
{
    const rgmi_parallel *part = &data->parts[mode];
    int64_t length;
    const int32_t *ids = rgm_token_pairs_target(part->pairs, pair, &length);
    rgm_str reference, hypothesis;

    length--; /* its end */
    s->count++;
    s->equal += h->count == length &&
                (length == 0 || memcmp(h->ids, ids, (size_t)length * sizeof *ids) == 0);
    RGM_TRY(rgmi_write_text(&s->hypothesis, data->target, h->ids, h->count));
    hypothesis = text_of(&s->hypothesis);
    if (part->corpus != NULL) {
        reference = rgm_corpus_target(part->corpus, pair);
    } else {
        RGM_TRY(rgmi_write_text(&s->reference, NULL, ids, length));
        reference = text_of(&s->reference);
    }
    if (s->bleu != NULL)
        RGM_TRY(rgm_bleu_add(&s->bleu_stats, s->bleu, hypothesis, &reference, 1));
    if (s->chrf != NULL)
        RGM_TRY(rgm_chrf_add(&s->chrf_stats, s->chrf, hypothesis, &reference, 1));
    return s->ter != NULL ? rgm_ter_add(&s->ter_stats, s->ter, hypothesis, &reference, 1) : RGM_OK;
}

rgm_status rgmi_scores_add(rgmi_translation_scores *scores, const rgmi_parallel_data *data,
                           rgm_mode mode, const int64_t *pairs, const rgm_hypotheses *translations,
                           int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(add_one(scores, data, mode, pairs[i], &translations[i].items[0]));
    return RGM_OK;
}

rgm_status rgmi_scores_result(rgm_logs *logs, const rgmi_translation_scores *s)
{
    if (s->bleu != NULL)
        RGM_TRY(rgm_logs_set(logs, rgm_mt_metric_names[RGM_MT_BLEU],
                             rgm_bleu_result(&s->bleu_stats, &s->bleu_options).score));
    if (s->chrf != NULL)
        RGM_TRY(rgm_logs_set(logs, rgm_mt_metric_names[RGM_MT_CHRF],
                             rgm_chrf_result(&s->chrf_stats, &s->chrf_options)));
    if (s->ter != NULL)
        RGM_TRY(rgm_logs_set(logs, rgm_mt_metric_names[RGM_MT_TER], rgm_ter_result(&s->ter_stats)));
    return rgm_logs_set(logs, "exact_match",
                        (double)s->equal / (double)(s->count > 0 ? s->count : 1));
}
