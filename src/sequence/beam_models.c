/*
 * The models of a search: one, or several whose probabilities are averaged.
 */
#include <math.h>

#include "beam_internal.h"

#include <regimen/kernels.h>

rgm_status rgmi_models_open(rgmi_search *s, rgm_beam_search *search, const rgmi_sources *sources)
{
    int64_t beams = s->options->beam_size;
    rgm_beam_search *member;

    while ((member = rgmi_beam_search_member(search, s->models)) != NULL) {
        RGM_TRY(rgmi_decoding_open(&s->decodings[s->models], member, sources, beams));
        s->models++;
    }
    if (s->models == 1)
        return RGM_OK;
    return RGM_NEW(s->mixed, s->count * beams * rgm_seq2seq_padded(s->vocabulary));
}

void rgmi_models_close(rgmi_search *s)
{
    for (int64_t i = 0; i < s->models; i++)
        rgmi_decoding_close(&s->decodings[i]);
    s->models = 0;
}

/* ---- the mean of several ---- */

typedef struct mix_work {
    rgmi_search *s;
    const float *logits; /* of one model */
    double weight;
    bool first, last;
} mix_work;

/* Each row of the sum gets the model's probabilities; the last model makes logarithms of it. */
static void mix_rows(void *payload, int64_t begin, int64_t end)
{
    const mix_work *w = payload;
    int64_t padded = rgm_seq2seq_padded(w->s->vocabulary), n = w->s->vocabulary;

    for (int64_t row = begin; row < end; row++) {
        const float *x = w->logits + row * padded;
        float *y = w->s->mixed + row * padded, most = x[0];
        double sum = 0;
        for (int64_t v = 1; v < n; v++)
            most = x[v] > most ? x[v] : most;
        for (int64_t v = 0; v < n; v++)
            sum += (double)expf(x[v] - most);
        for (int64_t v = 0; v < n; v++) {
            float p = (float)(w->weight / sum) * expf(x[v] - most);
            y[v] = w->first ? p : y[v] + p;
        }
        for (int64_t v = 0; v < n && w->last; v++)
            y[v] = logf(y[v] > 1e-37F ? y[v] : 1e-37F);
    }
}

static rgm_status mix(rgmi_search *s)
{
    int64_t rows = s->count * rgmi_rows_each(s);
    rgm_top_args top = {.y = s->top_log_probabilities,
                        .index = s->top_ids,
                        .x = s->mixed,
                        .rows = rows,
                        .channels = rgm_seq2seq_padded(s->vocabulary),
                        .classes = s->vocabulary,
                        .count = s->top};

    for (int64_t i = 0; i < s->models; i++) {
        mix_work work = {
            .s = s, .weight = 1 / (double)s->models, .first = i == 0, .last = i == s->models - 1};
        RGM_TRY(rgmi_decoding_logits(&work.logits, &s->decodings[i]));
        rgm_parallel(rows, 10.0 * (double)s->vocabulary, mix_rows, &work);
    }
    rgm_kernels_for(rgm_device_cpu(), RGM_F32)->top_log_softmax(&top);
    return RGM_OK;
}

/* ---- a step ---- */

rgm_status rgmi_models_step(const float **logits, rgmi_search *s)
{
    int64_t rows = s->count * rgmi_rows_each(s), padded = rgm_seq2seq_padded(s->vocabulary);

    *logits = NULL;
    for (int64_t i = 0; i < s->models; i++)
        RGM_TRY(rgmi_decoding_step(&s->decodings[i], s->ids));
    if (s->coverage != NULL)
        RGM_TRY(rgmi_coverage_step(s));
    if (s->models > 1)
        RGM_TRY(mix(s));
    else
        RGM_TRY(rgmi_decoding_top(s->top_log_probabilities, s->top_ids, &s->decodings[0], s->top));
    if (s->log_sums == NULL)
        return RGM_OK;
    *logits = s->mixed;
    if (s->models == 1)
        RGM_TRY(rgmi_decoding_logits(logits, &s->decodings[0]));
    for (int64_t row = 0; row < rows; row++)
        s->log_sums[row] = (double)(*logits)[row * padded + s->top_ids[row * s->top]] -
                           (double)s->top_log_probabilities[row * s->top];
    return RGM_OK;
}

rgm_status rgmi_models_select(rgmi_search *s, int64_t count)
{
    if (s->coverage != NULL)
        rgmi_coverage_select(s, s->parents, count * s->options->beam_size);
    for (int64_t i = 0; i < s->models; i++)
        RGM_TRY(rgmi_decoding_select(&s->decodings[i], s->survivors, count, s->options->beam_size,
                                     s->parents));
    return RGM_OK;
}
