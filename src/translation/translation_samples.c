/*
 * Some translations of a validation, for a person to read: of pairs that lie evenly over the set,
 * the same ones every time.
 */
#include <stdio.h>

#include "translation_internal.h"

struct rgmi_samples {
    char **texts; /* [count]; NULL: its pair was not translated */
    int64_t count, pairs;
};

rgm_status rgmi_samples_create(rgmi_samples **out, int64_t count, int64_t pairs)
{
    rgm_status status = RGM_OK;
    rgmi_samples *samples = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(samples, 1));
    samples->pairs = pairs;
    samples->count = count < pairs ? count : pairs;
    RGM_GO(RGM_NEW(samples->texts, samples->count));
    *out = samples;
    samples = NULL;
done:
    rgmi_samples_release(samples);
    return status;
}

void rgmi_samples_release(rgmi_samples *samples)
{
    if (samples == NULL)
        return;
    for (int64_t k = 0; samples->texts != NULL && k < samples->count; k++)
        rgm_free(samples->texts[k]);
    rgm_free(samples->texts);
    rgm_free(samples);
}

static int64_t pair_of(const rgmi_samples *samples, int64_t k)
{
    return k * samples->pairs / samples->count;
}

/* A side as it was read; of made pairs their tokens' numbers. */
static rgm_status add_side(rgm_text *out, const char *what, const rgmi_parallel *part, int64_t pair,
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
        return rgm_text_printf(out, "%s%.*s\n", what, (int)text.size, text.data);
    }
    ids = source ? rgm_token_pairs_source(part->pairs, pair, &length)
                 : rgm_token_pairs_target(part->pairs, pair, &length);
    RGM_GO(rgmi_write_text(&numbers, NULL, ids, length - 1));
    RGM_GO(rgm_text_printf(out, "%s%s\n", what, numbers.size > 0 ? numbers.data : ""));
done:
    rgm_text_clear(&numbers);
    return status;
}

static rgm_status make_text(char **out, const rgmi_parallel_data *data, const rgmi_parallel *part,
                            int64_t pair, const rgm_hypothesis *h)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0}, translation = {0};

    RGM_GO(add_side(&text, "source: ", part, pair, true));
    RGM_GO(rgmi_write_text(&translation, data->target, h->ids, h->count));
    RGM_GO(
        rgm_text_printf(&text, "translation: %s\n", translation.size > 0 ? translation.data : ""));
    RGM_GO(add_side(&text, "reference: ", part, pair, false));
    rgm_free(*out);
    *out = NULL;
    RGM_GO(rgm_strndup(out, text.data, (size_t)text.size - 1));
done:
    rgm_text_clear(&text);
    rgm_text_clear(&translation);
    return status;
}

rgm_status rgmi_samples_add(rgmi_samples *samples, const rgmi_parallel_data *data, int part,
                            const int64_t *pairs, const rgm_hypotheses *translations, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < samples->count; k++)
            if (pair_of(samples, k) == pairs[i])
                RGM_TRY(make_text(&samples->texts[k], data, &data->parts[part], pairs[i],
                                  &translations[i].items[0]));
    return RGM_OK;
}

rgm_status rgmi_samples_result(rgm_logs *logs, const rgmi_samples *samples)
{
    char name[32];

    for (int64_t k = 0; k < samples->count; k++) {
        if (samples->texts[k] == NULL)
            continue;
        snprintf(name, sizeof name, "pair_%lld", (long long)pair_of(samples, k) + 1);
        RGM_TRY(rgm_logs_set_text(logs, name, samples->texts[k]));
    }
    return RGM_OK;
}
