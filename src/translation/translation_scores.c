/*
 * Translations against their references: BLEU, chrF and TER over text, and how many are equal token
 * by token. Pairs made by a formula have no text: their tokens' numbers are the words.
 */
#include <string.h>

#include "translation_internal.h"

/* One number: a metric with its options. */
typedef struct scorer {
    const char *name; /* as asked for: "bleu_lc" */
    rgm_mt_metric metric;
    rgm_bleu_options bleu_options;
    rgm_chrf_options chrf_options;
    rgm_bleu *bleu; /* of this and the next two the metric's own */
    rgm_chrf *chrf;
    rgm_ter *ter;
    rgm_bleu_stats bleu_stats;
    rgm_chrf_stats chrf_stats;
    rgm_ter_stats ter_stats;
} scorer;

struct rgmi_translation_scores {
    scorer *scorers;
    int64_t scorer_count;
    int64_t equal, count;
    rgm_text hypothesis, reference; /* of one sentence at a time */
};

/* ---- names --------------------------------------------------------------------------------- */

/* Take `word` from the beginning of *rest, if it stands there as a whole. */
static bool take(const char **rest, const char *word)
{
    size_t size = strlen(word);

    if (strncmp(*rest, word, size) != 0 || ((*rest)[size] != '\0' && (*rest)[size] != '_'))
        return false;
    *rest += size + ((*rest)[size] == '_');
    return true;
}

/* What a name means: metric, then for bleu perhaps a tokenizer, then perhaps "lc". */
static bool parse(scorer *out, const char *name, const rgm_score_options *options)
{
    const char *rest = name;
    int metric = 0;

    while (metric < RGM_MT_METRICS && !take(&rest, rgm_mt_metric_names[metric]))
        metric++;
    if (metric == RGM_MT_METRICS)
        return false;
    *out = (scorer){.name = name,
                    .metric = (rgm_mt_metric)metric,
                    .bleu_options = RGM_BLEU_OPTIONS_INIT,
                    .chrf_options = RGM_CHRF_OPTIONS_INIT};
    out->bleu_options.tokenizer = options->tokenize;
    for (int t = 0; metric == RGM_MT_BLEU && rgm_mt_tokenizer_names[t] != NULL; t++)
        if (take(&rest, rgm_mt_tokenizer_names[t])) {
            out->bleu_options.tokenizer = (rgm_mt_tokenizer)t;
            break;
        }
    out->bleu_options.lowercase = options->lowercase;
    if (metric != RGM_MT_TER && take(&rest, "lc"))
        out->bleu_options.lowercase = true;
    out->chrf_options.lowercase = out->bleu_options.lowercase;
    return *rest == '\0' && name[strlen(name) - 1] != '_';
}

rgm_status rgmi_scores_check(const rgm_score_options *options)
{
    scorer found;

    if (options->metrics.count > RGMI_MOST_SCORES - 2)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.score.metrics: %lld scores; %d are the most",
                        (long long)options->metrics.count, RGMI_MOST_SCORES - 2);
    for (int64_t i = 0; i < options->metrics.count; i++) {
        const char *name = options->metrics.items[i];

        if (!parse(&found, name, options))
            return RGM_FAIL(
                RGM_ERR_CONFIG,
                "task.score.metrics: no '%s'%s; there are bleu, chrf, ter; bleu_lc, chrf_lc "
                "without "
                "case; bleu_13a, bleu_intl, bleu_char, bleu_none, and these with _lc",
                name, rgm_did_you_mean(name, rgm_mt_metric_names, RGM_MT_METRICS, NULL, NULL).text);
        for (int64_t k = 0; k < i; k++)
            if (strcmp(options->metrics.items[k], name) == 0)
                return RGM_FAIL(RGM_ERR_CONFIG, "task.score.metrics: '%s' stands there twice",
                                name);
    }
    return RGM_OK;
}

/* In the order of the metrics, whatever the order in which they are asked for. */
static int64_t list_scorers(scorer *out, const rgm_score_options *options)
{
    int64_t count = 0;

    for (int m = 0; m < RGM_MT_METRICS; m++)
        for (int64_t i = 0; i < options->metrics.count; i++)
            if (parse(&out[count], options->metrics.items[i], options) &&
                (int)out[count].metric == m)
                count++;
    return count;
}

void rgmi_scores_names(const char **names, const rgm_score_options *options)
{
    scorer scorers[RGMI_MOST_SCORES];
    int64_t count = list_scorers(scorers, options);

    for (int64_t i = 0; i < count; i++)
        *names++ = scorers[i].name;
    *names++ = "exact_match";
    *names = NULL;
}

/* ---- judging ------------------------------------------------------------------------------- */

static rgm_status open_scorer(scorer *s)
{
    switch (s->metric) {
    case RGM_MT_BLEU:
        return rgm_bleu_create(&s->bleu, &s->bleu_options);
    case RGM_MT_CHRF:
        return rgm_chrf_create(&s->chrf, &s->chrf_options);
    default:
        return rgm_ter_create(&s->ter, NULL);
    }
}

rgm_status rgmi_scores_create(rgmi_translation_scores **out, const rgm_score_options *options)
{
    rgm_status status = RGM_OK;
    rgmi_translation_scores *s = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(s, 1));
    RGM_GO(RGM_NEW(s->scorers, RGMI_MOST_SCORES));
    s->scorer_count = list_scorers(s->scorers, options);
    for (int64_t i = 0; i < s->scorer_count; i++)
        RGM_GO(open_scorer(&s->scorers[i]));
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
    for (int64_t i = 0; i < scores->scorer_count; i++) {
        rgm_bleu_release(scores->scorers[i].bleu);
        rgm_chrf_release(scores->scorers[i].chrf);
        rgm_ter_release(scores->scorers[i].ter);
    }
    rgm_free(scores->scorers);
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

static rgm_status score_one(scorer *s, rgm_str hypothesis, rgm_str reference)
{
    switch (s->metric) {
    case RGM_MT_BLEU:
        return rgm_bleu_add(&s->bleu_stats, s->bleu, hypothesis, &reference, 1);
    case RGM_MT_CHRF:
        return rgm_chrf_add(&s->chrf_stats, s->chrf, hypothesis, &reference, 1);
    default:
        return rgm_ter_add(&s->ter_stats, s->ter, hypothesis, &reference, 1);
    }
}

static rgm_status add_one(rgmi_translation_scores *s, const rgmi_translation_data *data, int number,
                          int64_t pair, const rgm_hypothesis *h)
{
    const rgmi_translation_part *part = &data->parts[number];
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
    for (int64_t i = 0; i < s->scorer_count; i++)
        RGM_TRY(score_one(&s->scorers[i], hypothesis, reference));
    return RGM_OK;
}

rgm_status rgmi_scores_add(rgmi_translation_scores *scores, const rgmi_translation_data *data,
                           int part, const int64_t *pairs, const rgm_hypotheses *translations,
                           int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(add_one(scores, data, part, pairs[i], &translations[i].items[0]));
    return RGM_OK;
}

rgm_status rgmi_scores_merge(rgmi_translation_scores *to, const rgmi_translation_scores *from)
{
    if (to->scorer_count != from->scorer_count)
        return RGM_FAIL(RGM_ERR_ARG, "%lld scores and %lld cannot be merged",
                        (long long)to->scorer_count, (long long)from->scorer_count);
    for (int64_t i = 0; i < to->scorer_count; i++) {
        scorer *s = &to->scorers[i];

        rgm_bleu_merge(&s->bleu_stats, &from->scorers[i].bleu_stats);
        rgm_chrf_merge(&s->chrf_stats, &from->scorers[i].chrf_stats);
        rgm_ter_merge(&s->ter_stats, &from->scorers[i].ter_stats);
    }
    to->equal += from->equal;
    to->count += from->count;
    return RGM_OK;
}

/* What is told to other processes of one scorer, and of all. */
typedef struct sent {
    rgm_bleu_stats bleu;
    rgm_chrf_stats chrf;
    rgm_ter_stats ter;
} sent;

rgm_status rgmi_scores_save(rgm_text *out, const rgmi_translation_scores *scores)
{
    int64_t numbers[] = {scores->scorer_count, scores->equal, scores->count};

    RGM_TRY(rgm_text_add(out, numbers, sizeof numbers));
    for (int64_t i = 0; i < scores->scorer_count; i++) {
        const scorer *s = &scores->scorers[i];
        sent all = {s->bleu_stats, s->chrf_stats, s->ter_stats};

        RGM_TRY(rgm_text_add(out, &all, sizeof all));
    }
    return RGM_OK;
}

bool rgmi_take_bytes(void *out, int64_t size, rgm_str *bytes)
{
    if (size < 0 || bytes->size < size)
        return false;
    if (size > 0)
        memcpy(out, bytes->data, (size_t)size);
    bytes->data += size;
    bytes->size -= size;
    return true;
}

rgm_status rgmi_scores_load(rgmi_translation_scores *scores, rgm_str *bytes)
{
    int64_t numbers[3];
    bool good =
        rgmi_take_bytes(numbers, sizeof numbers, bytes) && numbers[0] == scores->scorer_count;

    for (int64_t i = 0; i < scores->scorer_count && good; i++) {
        scorer *s = &scores->scorers[i];
        sent all;

        good = rgmi_take_bytes(&all, sizeof all, bytes);
        if (!good)
            break;
        s->bleu_stats = all.bleu;
        s->chrf_stats = all.chrf;
        s->ter_stats = all.ter;
    }
    if (!good)
        return RGM_FAIL(RGM_ERR_FORMAT, "the scores of another process are damaged");
    scores->equal = numbers[1];
    scores->count = numbers[2];
    return RGM_OK;
}

static double result_of(const scorer *s)
{
    switch (s->metric) {
    case RGM_MT_BLEU:
        return rgm_bleu_result(&s->bleu_stats, &s->bleu_options).score;
    case RGM_MT_CHRF:
        return rgm_chrf_result(&s->chrf_stats, &s->chrf_options);
    default:
        return rgm_ter_result(&s->ter_stats);
    }
}

rgm_status rgmi_scores_result(rgm_logs *logs, const rgmi_translation_scores *s)
{
    for (int64_t i = 0; i < s->scorer_count; i++)
        RGM_TRY(rgm_logs_set(logs, s->scorers[i].name, result_of(&s->scorers[i])));
    return rgm_logs_set(logs, "exact_match",
                        (double)s->equal / (double)(s->count > 0 ? s->count : 1));
}
