/*
 * Some translations of a validation, for a person to read: of pairs that lie evenly over the set,
 * the same ones every time. Each is scored by itself, as sacrebleu's sentence_bleu and
 * sentence_chrf do: BLEU with exponential smoothing and effective order, tokens and case as
 * task.score says.
 */
#include <stdio.h>
#include <string.h>

#include "translation_internal.h"

enum { SOURCE, TRANSLATION, REFERENCE, SIDES };
enum { BLEU, CHRF, SCORES };

/** One pair; sides[TRANSLATION] NULL: it was not translated. */
typedef struct told {
    char *sides[SIDES];
    rgm_named_number scores[SCORES];
    int64_t score_count;
} told;

struct rgmi_samples {
    told *told; /* [count] */
    int64_t count, pairs;
    rgm_bleu_options bleu_options;
    rgm_chrf_options chrf_options;
    rgm_bleu *bleu;
    rgm_chrf *chrf;
};

rgm_status rgmi_samples_create(rgmi_samples **out, int64_t count, int64_t pairs,
                               const rgm_score_options *options)
{
    rgm_status status = RGM_OK;
    rgmi_samples *samples = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(samples, 1));
    samples->pairs = pairs;
    samples->count = count < pairs ? count : pairs;
    samples->bleu_options = (rgm_bleu_options)RGM_BLEU_OPTIONS_INIT;
    samples->bleu_options.tokenizer = options->tokenize;
    samples->bleu_options.effective_order = true;
    samples->chrf_options = (rgm_chrf_options)RGM_CHRF_OPTIONS_INIT;
    samples->bleu_options.lowercase = samples->chrf_options.lowercase = options->lowercase;
    RGM_GO(RGM_NEW(samples->told, samples->count));
    RGM_GO(rgm_bleu_create(&samples->bleu, &samples->bleu_options));
    RGM_GO(rgm_chrf_create(&samples->chrf, &samples->chrf_options));
    *out = samples;
    samples = NULL;
done:
    rgmi_samples_release(samples);
    return status;
}

static void clear(told *t)
{
    for (int s = 0; s < SIDES; s++)
        rgm_free(t->sides[s]);
    *t = (told){.score_count = 0};
}

void rgmi_samples_release(rgmi_samples *samples)
{
    if (samples == NULL)
        return;
    for (int64_t k = 0; samples->told != NULL && k < samples->count; k++)
        clear(&samples->told[k]);
    rgm_free(samples->told);
    rgm_bleu_release(samples->bleu);
    rgm_chrf_release(samples->chrf);
    rgm_free(samples);
}

static int64_t pair_of(const rgmi_samples *samples, int64_t k)
{
    return k * samples->pairs / samples->count;
}

/* A side as it was read; of made pairs their tokens' numbers. */
static rgm_status read_side(char **out, const rgmi_translation_part *part, int64_t pair,
                            bool source)
{
    rgm_status status = RGM_OK;
    rgm_text numbers = {0};
    const int32_t *ids;
    int64_t length;
    rgm_str text;

    if (part->corpus != NULL) {
        text =
            source ? rgm_corpus_source(part->corpus, pair) : rgm_corpus_target(part->corpus, pair);
        return rgm_strndup(out, text.data, (size_t)text.size);
    }
    ids = source ? rgm_token_pairs_source(part->pairs, pair, &length)
                 : rgm_token_pairs_target(part->pairs, pair, &length);
    RGM_GO(rgmi_write_text(&numbers, NULL, ids, length - 1));
    RGM_GO(rgm_strdup(out, numbers.size > 0 ? numbers.data : ""));
done:
    rgm_text_clear(&numbers);
    return status;
}

/* ---- scores -------------------------------------------------------------------------------- */

static rgm_status score(rgmi_samples *samples, told *t)
{
    rgm_str given = {t->sides[TRANSLATION], (int64_t)strlen(t->sides[TRANSLATION])};
    rgm_str wanted = {t->sides[REFERENCE], (int64_t)strlen(t->sides[REFERENCE])};
    rgm_bleu_stats bleu = {0};
    rgm_chrf_stats chrf = {0};

    RGM_TRY(rgm_bleu_add(&bleu, samples->bleu, given, &wanted, 1));
    RGM_TRY(rgm_chrf_add(&chrf, samples->chrf, given, &wanted, 1));
    t->scores[BLEU] =
        (rgm_named_number){"bleu", rgm_bleu_result(&bleu, &samples->bleu_options).score};
    t->scores[CHRF] = (rgm_named_number){"chrf", rgm_chrf_result(&chrf, &samples->chrf_options)};
    t->score_count = SCORES;
    return RGM_OK;
}

/* ---- samples ------------------------------------------------------------------------------- */

static rgm_status tell(rgmi_samples *samples, int64_t k, const rgmi_translation_data *data,
                       const rgmi_translation_part *part, const rgm_hypothesis *h)
{
    rgm_status status = RGM_OK;
    rgm_text translation = {0};
    int64_t pair = pair_of(samples, k);
    told *t = &samples->told[k];

    clear(t);
    RGM_GO(read_side(&t->sides[SOURCE], part, pair, true));
    RGM_GO(read_side(&t->sides[REFERENCE], part, pair, false));
    RGM_GO(rgmi_write_text(&translation, data->target, h->ids, h->count));
    RGM_GO(rgm_strdup(&t->sides[TRANSLATION], translation.size > 0 ? translation.data : ""));
    status = score(samples, t);
    if (status == RGM_ERR_FORMAT) { /* not UTF-8: shown without scores */
        rgm_error_reset();
        status = RGM_OK;
    }
done:
    rgm_text_clear(&translation);
    return status;
}

rgm_status rgmi_samples_add(rgmi_samples *samples, const rgmi_translation_data *data, int part,
                            const int64_t *pairs, const rgm_hypotheses *translations, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < samples->count; k++)
            if (pair_of(samples, k) == pairs[i])
                RGM_TRY(tell(samples, k, data, &data->parts[part], &translations[i].items[0]));
    return RGM_OK;
}

rgm_status rgmi_samples_merge(rgmi_samples *to, const rgmi_samples *from)
{
    for (int64_t k = 0; k < to->count && k < from->count; k++) {
        const told *t = &from->told[k];

        if (t->sides[TRANSLATION] == NULL)
            continue;
        clear(&to->told[k]);
        for (int s = 0; s < SIDES; s++)
            RGM_TRY(rgm_strdup(&to->told[k].sides[s], t->sides[s]));
        memcpy(to->told[k].scores, t->scores, sizeof t->scores);
        to->told[k].score_count = t->score_count;
    }
    return RGM_OK;
}

rgm_status rgmi_samples_save(rgm_text *out, const rgmi_samples *samples)
{
    for (int64_t k = 0; k < samples->count; k++) {
        const told *t = &samples->told[k];
        double scores[SCORES] = {t->scores[BLEU].value, t->scores[CHRF].value};

        for (int s = 0; s < SIDES; s++) {
            int64_t size = t->sides[s] != NULL ? (int64_t)strlen(t->sides[s]) : -1;

            RGM_TRY(rgm_text_add(out, &size, sizeof size));
            RGM_TRY(rgm_text_add(out, t->sides[s], size > 0 ? size : 0));
        }
        RGM_TRY(rgm_text_add(out, &t->score_count, sizeof t->score_count));
        RGM_TRY(rgm_text_add(out, scores, sizeof scores));
    }
    return RGM_OK;
}

/* One side of a pair; *good: the bytes were those of one. */
static rgm_status load_side(bool *good, char **side, rgm_str *bytes)
{
    int64_t size;

    *good = rgmi_take_bytes(&size, sizeof size, bytes) && size >= -1 && size <= bytes->size;
    if (!*good || size < 0)
        return RGM_OK;
    RGM_TRY(rgm_strndup(side, bytes->data, (size_t)size));
    bytes->data += size;
    bytes->size -= size;
    return RGM_OK;
}

rgm_status rgmi_samples_load(rgmi_samples *samples, rgm_str *bytes)
{
    bool good = true;

    for (int64_t k = 0; k < samples->count && good; k++) {
        told *t = &samples->told[k];
        double scores[SCORES] = {0};

        for (int s = 0; s < SIDES && good; s++)
            RGM_TRY(load_side(&good, &t->sides[s], bytes));
        good = good && rgmi_take_bytes(&t->score_count, sizeof t->score_count, bytes) &&
               (t->score_count == 0 || t->score_count == SCORES) &&
               rgmi_take_bytes(scores, sizeof scores, bytes);
        t->scores[BLEU] = (rgm_named_number){"bleu", scores[BLEU]};
        t->scores[CHRF] = (rgm_named_number){"chrf", scores[CHRF]};
    }
    return good ? RGM_OK
                : RGM_FAIL(RGM_ERR_FORMAT, "the translations of another process are damaged");
}

static rgm_status add_text(rgm_logs *logs, const told *t, int64_t pair)
{
    char name[32];
    rgm_text text = {0};
    rgm_status status =
        rgm_text_printf(&text, "source: %s\ntranslation: %s\nreference: %s", t->sides[SOURCE],
                        t->sides[TRANSLATION], t->sides[REFERENCE]);

    snprintf(name, sizeof name, "pair_%lld", (long long)pair + 1);
    if (status == RGM_OK)
        status = rgm_logs_set_text(logs, name, text.data);
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_samples_result(rgm_logs *logs, const rgmi_samples *samples)
{
    for (int64_t k = 0; k < samples->count; k++) {
        const told *t = &samples->told[k];
        rgm_sample sample = {.source = t->sides[SOURCE],
                             .translation = t->sides[TRANSLATION],
                             .reference = t->sides[REFERENCE],
                             .scores = t->scores,
                             .score_count = t->score_count};

        if (sample.translation == NULL)
            continue;
        RGM_TRY(add_text(logs, t, pair_of(samples, k)));
        RGM_TRY(rgm_logs_add_sample(logs, &sample));
    }
    return RGM_OK;
}
