/*
 * TER, translation edit rate (Snover et al., 2006): how many words of the hypothesis must be
 * inserted, deleted, replaced or shifted to have a reference, per word of the reference.
 */
#include "mt_internal.h"

#include <stdio.h>

struct rgm_ter {
    rgm_ter_options options;
    rgmi_words hypothesis, reference;
    rgmi_vocabulary vocabulary;
    int32_t *hypothesis_numbers, *reference_numbers;
    int64_t hypothesis_capacity, reference_capacity;
    rgmi_ter_work *work;
};

rgm_status rgm_ter_create(rgm_ter **out, const rgm_ter_options *options)
{
    rgm_status status = RGM_OK;
    rgm_ter *ter = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(ter, 1));
    if (options != NULL)
        ter->options = *options;
    RGM_GO(rgmi_ter_work_create(&ter->work));
    *out = ter;
    ter = NULL;
done:
    rgm_ter_release(ter);
    return status;
}

void rgm_ter_release(rgm_ter *ter)
{
    if (ter == NULL)
        return;
    rgmi_words_clear(&ter->hypothesis);
    rgmi_words_clear(&ter->reference);
    rgmi_vocabulary_clear(&ter->vocabulary);
    rgm_free(ter->hypothesis_numbers);
    rgm_free(ter->reference_numbers);
    rgmi_ter_work_release(ter->work);
    rgm_free(ter);
}

rgm_status rgm_ter_add(rgm_ter_stats *stats, rgm_ter *ter, rgm_str hypothesis,
                       const rgm_str *references, int64_t count)
{
    rgmi_words *words = &ter->hypothesis, *wanted = &ter->reference;
    bool lowercase = !ter->options.case_sensitive;
    int64_t least = INT64_MAX, length = 0;

    RGM_TRY(rgmi_mt_check(hypothesis, references, count));
    RGM_TRY(rgmi_words_read(words, RGM_MT_TOKENIZER_NONE, lowercase, hypothesis));
    RGM_TRY(RGM_RESERVE(ter->hypothesis_numbers, ter->hypothesis_capacity, words->count));
    RGM_TRY(rgmi_vocabulary_build(ter->hypothesis_numbers, &ter->vocabulary, words));
    for (int64_t i = 0; i < count; i++) {
        int64_t edits;

        RGM_TRY(rgmi_words_read(wanted, RGM_MT_TOKENIZER_NONE, lowercase, references[i]));
        RGM_TRY(RGM_RESERVE(ter->reference_numbers, ter->reference_capacity, wanted->count));
        rgmi_vocabulary_look_up(ter->reference_numbers, &ter->vocabulary, wanted);
        RGM_TRY(rgmi_ter_edits(&edits, ter->work, ter->hypothesis_numbers, words->count,
                               ter->reference_numbers, wanted->count));
        least = edits < least ? edits : least;
        length += wanted->count;
    }
    stats->edits += least;
    stats->reference_length += (double)length / (double)count;
    rgmi_mt_counts_add(&stats->counts, count);
    return RGM_OK;
}

void rgm_ter_merge(rgm_ter_stats *to, const rgm_ter_stats *from)
{
    to->edits += from->edits;
    to->reference_length += from->reference_length;
    rgmi_mt_counts_merge(&to->counts, &from->counts);
}

double rgm_ter_result(const rgm_ter_stats *stats)
{
    if (stats->reference_length > 0)
        return 100 * ((double)stats->edits / stats->reference_length);
    return stats->edits > 0 ? 100 : 0;
}

rgm_status rgm_ter_signature(char **out, const rgm_ter_stats *stats, const rgm_ter_options *options)
{
    char middle[128];

    *out = NULL;
    snprintf(middle, sizeof middle, "case:%s|tok:tercom|norm:no|punct:yes|asian:no",
             options != NULL && options->case_sensitive ? "mixed" : "lc");
    return rgmi_mt_signature(out, &stats->counts, middle);
}
