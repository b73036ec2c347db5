/*
 * The coverage penalty (Wu et al. 2016, equation 14): how much of its source the tokens of a
 * hypothesis have attended to, with the one that ends it.
 */
#include <math.h>

#include "beam_internal.h"

static const double LEAST = 1e-10; /* what a token counts that nobody attended to */

rgm_status rgmi_coverage_open(rgmi_search *s, int64_t rows)
{
    if (!(s->options->coverage > 0))
        return RGM_OK;
    for (int64_t i = 0; i < s->count; i++)
        if (s->sentences[i].sources > s->coverage_width)
            s->coverage_width = s->sentences[i].sources;
    RGM_TRY(RGM_NEW(s->coverage, rows * s->coverage_width)); /* zeros */
    return RGM_NEW(s->spare_coverage, rows * s->coverage_width);
}

void rgmi_coverage_close(rgmi_search *s)
{
    rgm_free(s->coverage);
    rgm_free(s->spare_coverage);
    s->coverage = s->spare_coverage = NULL;
}

rgm_status rgmi_coverage_step(rgmi_search *s)
{
    for (int64_t i = 0; i < s->models; i++)
        RGM_TRY(rgmi_decoding_attended(s->coverage, s->coverage_width, 1 / (double)s->models,
                                       &s->decodings[i]));
    return RGM_OK;
}

double rgmi_coverage_penalty(const rgmi_search *s, const rgmi_sentence *t, int64_t row)
{
    const double *got = s->coverage + row * s->coverage_width;
    double sum = 0;

    for (int64_t i = 0; i < t->sources; i++)
        if (got[i] < 1)
            sum += log(got[i] > LEAST ? got[i] : LEAST);
    return s->options->coverage * sum;
}

void rgmi_coverage_select(rgmi_search *s, const int64_t *parents, int64_t count)
{
    double *from = s->coverage;

    for (int64_t k = 0; k < count; k++)
        memcpy(s->spare_coverage + k * s->coverage_width, from + parents[k] * s->coverage_width,
               (size_t)s->coverage_width * sizeof *from);
    s->coverage = s->spare_coverage;
    s->spare_coverage = from;
}
