/*
 * The translation that is most like many that were drawn.
 */
#include <string.h>

#include "translation_internal.h"

enum { MOST_SAMPLES = 1 << 20 };

/* The mean chrF of a text against all samples. */
static rgm_status mean_chrf(double *out, rgm_chrf *chrf, const rgm_chrf_options *options,
                            const char *text, const rgm_line_translation *samples, int64_t count)
{
    rgm_str given = {.data = text, .size = (int64_t)strlen(text)};
    double sum = 0;

    for (int64_t i = 0; i < count; i++) {
        rgm_str other = {.data = samples[i].text, .size = (int64_t)strlen(samples[i].text)};
        rgm_chrf_stats stats = {0};
        RGM_TRY(rgm_chrf_add(&stats, chrf, given, &other, 1));
        sum += rgm_chrf_result(&stats, options);
    }
    *out = sum / (double)count;
    return RGM_OK;
}

static bool is_repeated(const rgm_line_translation *samples, int64_t at)
{
    for (int64_t i = 0; i < at; i++)
        if (strcmp(samples[i].text, samples[at].text) == 0)
            return true;
    return false;
}

/* The best of a line's samples moves to `out`. */
static rgm_status choose(rgm_line_translation *out, rgm_chrf *chrf, const rgm_chrf_options *options,
                         rgm_line_translation *samples, int64_t count)
{
    double best_score = -1;
    int64_t best = 0;

    for (int64_t i = 0; i < count; i++) {
        double score = 0;
        if (is_repeated(samples, i))
            continue;
        RGM_TRY(mean_chrf(&score, chrf, options, samples[i].text, samples, count));
        if (score > best_score ||
            (score == best_score && samples[i].log_probability > samples[best].log_probability)) {
            best_score = score;
            best = i;
        }
    }
    *out = samples[best];
    out->score = best_score;
    samples[best].text = samples[best].alignment = NULL;
    return RGM_OK;
}

rgm_status rgm_translation_mbr(rgm_line_translation *out, int64_t *done, const rgm_task *task,
                               const rgm_parameters *parameters, const rgm_translation_line *lines,
                               int64_t count, int64_t samples,
                               const rgm_beam_search_options *search, rgm_device *device, bool bf16)
{
    const rgm_chrf_options options = RGM_CHRF_OPTIONS_INIT;
    rgm_status status = RGM_OK, bad = RGM_OK;
    rgm_beam_search_options own = *search;
    rgm_translation_line *repeated = NULL;
    rgm_line_translation *drawn = NULL;
    rgm_chrf *chrf = NULL;
    int64_t made = 0;
    rgm_error error;

    *done = 0;
    memset(out, 0, (size_t)count * sizeof *out);
    if (samples < 1 || samples > MOST_SAMPLES)
        return RGM_FAIL(RGM_ERR_ARG, "%lld samples of each line; 1 to %d are possible",
                        (long long)samples, MOST_SAMPLES);
    own.sample = true;
    own.beam_size = own.n_best = own.diversity_groups = 1;
    own.coverage = 0; /* of scores that nobody reads */
    own.first_number = search->first_number * samples;
    RGM_GO(RGM_NEW(repeated, count * samples));
    RGM_GO(RGM_NEW(drawn, count * samples));
    RGM_GO(rgm_chrf_create(&chrf, &options));
    for (int64_t i = 0; i < count * samples; i++)
        repeated[i] = lines[i / samples];
    bad = rgm_translation_lines(drawn, &made, task, parameters, repeated, count * samples, &own,
                                device, bf16);
    rgm_error_save(&error, bad);
    for (int64_t i = 0; i < made / samples; i++)
        RGM_GO(choose(&out[i], chrf, &options, drawn + i * samples, samples));
    *done = made / samples;
    if (bad != RGM_OK)
        status = rgm_error_restore(&error);
done:
    if (*done == 0)
        rgm_line_translations_clear(out, count);
    if (drawn != NULL)
        rgm_line_translations_clear(drawn, made);
    rgm_chrf_release(chrf);
    rgm_free(repeated);
    rgm_free(drawn);
    return status;
}
