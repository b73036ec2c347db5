/* Which tokens of pairs go together, one way and both ways. */
#include "sequence_internal.h"

/* The source token that each target token of a pair goes with. */
static void link_pair(int32_t *links, float *likely, int64_t *entries, const rgmi_lexicon *l,
                      const rgm_sequence_pair *pair)
{
    for (int64_t j = 0; j < pair->target_count; j++) {
        float best;

        (void)rgmi_lexicon_likely(likely, &best, entries, l, pair, j); /* at first the empty word */
        links[j] = -1;
        for (int64_t k = 0; k < pair->source_count; k++)
            if (likely[k] > best) {
                best = likely[k];
                links[j] = (int32_t)k;
            }
    }
}

rgm_status rgm_pairs_align(int32_t *links, const rgm_sequence_pair *pairs, int64_t count,
                           int64_t source_vocabulary, int64_t target_vocabulary, double diagonal)
{
    rgm_status status = RGM_OK;
    rgmi_lexicon l = {.what = "alignments are",
                      .pairs = pairs,
                      .count = count,
                      .sources = source_vocabulary,
                      .targets = target_vocabulary,
                      .diagonal = diagonal};
    int64_t *entries = NULL;
    float *likely = NULL;

    if (!(diagonal >= 0))
        return RGM_FAIL(RGM_ERR_ARG, "the diagonal of alignments is %g; it is 0 or more", diagonal);
    RGM_GO(rgmi_lexicon_learn(&l));
    RGM_GO(RGM_NEW(entries, rgmi_lexicon_longest(&l)));
    RGM_GO(RGM_NEW(likely, rgmi_lexicon_longest(&l)));
    for (int64_t i = 0; i < count; i++) {
        link_pair(links, likely, entries, &l, &pairs[i]);
        links += pairs[i].target_count;
    }
done:
    rgmi_lexicon_clear(&l);
    rgm_free(entries);
    rgm_free(likely);
    return status;
}

rgm_status rgm_pairs_align_both(int32_t *links, const rgm_sequence_pair *pairs, int64_t count,
                                int64_t source_vocabulary, int64_t target_vocabulary,
                                double diagonal)
{
    rgm_status status = RGM_OK;
    rgm_sequence_pair *turned = NULL;
    int32_t *back = NULL, *of;
    int64_t sources = 0;

    RGM_GO(rgm_pairs_align(links, pairs, count, source_vocabulary, target_vocabulary, diagonal));
    RGM_GO(RGM_NEW(turned, count));
    for (int64_t i = 0; i < count; i++) {
        turned[i] = (rgm_sequence_pair){.source = pairs[i].target,
                                        .target = pairs[i].source,
                                        .source_count = pairs[i].target_count,
                                        .target_count = pairs[i].source_count};
        sources += pairs[i].source_count;
    }
    RGM_GO(RGM_NEW(back, sources));
    RGM_GO(rgm_pairs_align(back, turned, count, target_vocabulary, source_vocabulary, diagonal));
    of = back;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < pairs[i].target_count; j++)
            if (links[j] >= 0 && of[links[j]] != j)
                links[j] = -1;
        links += pairs[i].target_count;
        of += pairs[i].source_count;
    }
done:
    rgm_free(turned);
    rgm_free(back);
    return status;
}
