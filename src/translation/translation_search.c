/*
 * Pairs of the data translated: what a search is given of them.
 */
#include "translation_internal.h"

rgm_status rgmi_translate_pairs(rgm_hypotheses *out, rgm_beam_search *beam_search,
                                const rgm_beam_search_options *options,
                                const rgmi_translation_data *data, int part, const int64_t *pairs,
                                int64_t count)
{
    rgm_status status = RGM_OK;
    const int32_t **sources = NULL, **factors = NULL;
    int32_t *begins = NULL;
    int64_t *lengths = NULL;
    rgm_beam_search_options search = *options;

    search.numbers = pairs;
    RGM_GO(RGM_NEW(sources, count));
    RGM_GO(RGM_NEW(factors, count));
    RGM_GO(RGM_NEW(begins, count));
    RGM_GO(RGM_NEW(lengths, count));
    for (int64_t i = 0; i < count; i++) {
        sources[i] = rgm_token_pairs_source(data->parts[part].pairs, pairs[i], &lengths[i]);
        begins[i] = rgmi_target_begin(data, part, pairs[i]);
        if (data->factors.count > 0)
            factors[i] = rgmi_factors_of(data, part, pairs[i]);
    }
    search.begins = begins;
    search.factors = data->factors.count > 0 ? factors : NULL;
    RGM_GO(rgm_beam_search_run(out, beam_search, sources, lengths, count, &search));
done:
    rgm_free(sources);
    rgm_free(factors);
    rgm_free(begins);
    rgm_free(lengths);
    return status;
}
