/*
 * Alignments of translations that a search has made: they are read once more, whole, as given pairs
 * are.
 */
#include "translation_internal.h"

static bool any_is_aligned(const rgm_translation_line *lines, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (lines[i].alignment != NULL)
            return true;
    return false;
}

/* Pairs of a source and one of its translations, in the order of both; without those that have no
 * tokens. */
static rgm_status list_pairs(rgmi_pair_tokens *pairs, const rgm_translation_line *lines,
                             const rgm_hypotheses *made, const rgmi_line_tokens *read, int64_t each,
                             int64_t n_best)
{
    for (int64_t i = 0; i < read->count; i++) {
        int64_t begin = read->begin[i];
        rgmi_token_pair pair = {.target_begin = read->target_begin[i],
                                .alignment = lines[i].alignment};
        pair.source = (rgm_token_list){read->tokens.ids.items + begin, read->begin[i + 1] - begin};
        if (each > 0)
            pair.factors = (rgm_token_list){read->tokens.factors.items + begin * each,
                                            pair.source.count * each};
        for (int64_t k = 0; k < made[i].count && k < n_best && pair.alignment != NULL; k++) {
            const rgm_hypothesis *h = &made[i].items[k];
            pair.target = (rgm_token_list){.ids = h->ids, .count = h->count};
            RGM_TRY(rgm_alignment_check(pair.alignment));
            if (h->count > 0)
                RGM_TRY(rgmi_pair_tokens_add(pairs, &pair));
        }
    }
    return RGM_OK;
}

/* A translation without tokens is aligned to nothing. */
static rgm_status take_alignments(rgm_line_translation *out, const rgm_translation_line *lines,
                                  const rgm_hypotheses *made, int64_t count, int64_t n_best,
                                  rgm_pair_score *scores)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < n_best; k++) {
            rgm_line_translation *to = &out[i * n_best + k];
            if (lines[i].alignment == NULL || to->text == NULL)
                continue;
            if (k >= made[i].count || made[i].items[k].count == 0) {
                RGM_TRY(rgm_strdup(&to->alignment, ""));
                continue;
            }
            to->alignment = scores->alignment;
            scores++->alignment = NULL;
        }
    return RGM_OK;
}

static rgm_status have_aligner(rgmi_translation_task *t, const rgm_attention_place *place)
{
    if (t->aligner != NULL && t->aligned_by.layer == place->layer &&
        t->aligned_by.head == place->head)
        return RGM_OK;
    rgm_pair_scorer_release(t->aligner);
    t->aligner = NULL;
    t->aligned_by = *place;
    return rgmi_pair_scorer_create(&t->aligner, t, t->parameters, place, t->device, t->bf16);
}

rgm_status rgmi_align_lines(rgm_line_translation *out, rgmi_translation_task *t,
                            const rgm_translation_line *lines, const rgm_hypotheses *made,
                            const rgmi_line_tokens *read, const rgm_beam_search_options *search)
{
    rgm_status status = RGM_OK;
    rgmi_pair_tokens pairs = {0};
    rgm_pair_score *scores = NULL;

    if (!any_is_aligned(lines, read->count))
        return RGM_OK;
    RGM_GO(list_pairs(&pairs, lines, made, read, t->data.factors.count, search->n_best));
    RGM_GO(RGM_NEW(scores, pairs.count));
    RGM_GO(have_aligner(t, &search->attention));
    RGM_GO(rgmi_pair_scorer_tokens(scores, t->aligner, &pairs));
    RGM_GO(take_alignments(out, lines, made, read->count, search->n_best, scores));
done:
    if (scores != NULL)
        rgm_pair_scores_clear(scores, pairs.count);
    rgm_free(scores);
    rgmi_pair_tokens_clear(&pairs);
    return status;
}
