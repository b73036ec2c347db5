/*
 * Options of the search over tokens: keys and contradictions.
 */
#include "beam_internal.h"

static const char *const length_penalties[] = {"gnmt", "power", NULL};

#define RGM_OPTIONS rgm_beam_search_options
const rgm_field rgm_beam_search_fields[] = {
    RGM_INT_FIELD(beam_size, 1, RGMI_MOST_BEAMS, "hypotheses followed at once; 1: greedy"),
    RGM_INT_FIELD(n_best, 1, RGMI_MOST_BEAMS, "translations of each sentence, at most beam_size"),
    RGM_FLOAT_FIELD(alpha, 0, 10, "of length_penalty; 0: none"),
    RGM_CHOICE_FIELD(length_penalty, length_penalties,
                     "scores are divided by ((5 + length) / 6)^alpha (gnmt) or by length^alpha "
                     "(power), as Marian and Transformers do"),
    RGM_BOOL_FIELD(end_within_beam,
                   "a translation ends only where its end is among the best beam_size "
                   "continuations, as in Transformers; else among twice as many"),
    RGM_BOOL_FIELD(no_padding, "no translation has the token 0; for models from elsewhere, which "
                               "may give it"),
    RGM_FLOAT_FIELD(coverage, 0, 1000,
                    "coverage penalty: weight of the sum over source tokens of log(min(attention "
                    "that they got, 1)) in the score; 0: none"),
    RGM_GROUP_FIELD(attention, rgm_attention_place_fields,
                    "of which attention coverage and alignments are taken"),
    RGM_INT_FIELD(decode_max_length, 0, 1e6,
                  "longest translation in tokens; 0: by decode_length_factor and "
                  "extra_decode_length"),
    RGM_FLOAT_FIELD(decode_length_factor, 0, 1e6,
                    "a translation may have so many times the tokens of its source ..."),
    RGM_INT_FIELD(extra_decode_length, 0, 1e6, "... and so many more"),
    RGM_INT_FIELD(decode_min_length, 0, 1e6, "minimum tokens of a translation"),
    RGM_INT_FIELD(no_repeat_ngram, 0, 1e6,
                  "no so many tokens in a row occur twice in a translation; 0: they may"),
    RGM_FLOAT_FIELD(repetition_penalty, 1, 1e6,
                    "log-probabilities of tokens that a translation has already are multiplied by "
                    "it; 1: nothing changes"),
    RGM_INT_FIELD(diversity_groups, 1, RGMI_MOST_BEAMS,
                  "groups of beams, each of which avoids what those before it chose; 1: none"),
    RGM_FLOAT_FIELD(diversity, 0, 1e6,
                    "taken off a token's log-probability for each beam of an earlier group that "
                    "chose it in this step"),
    RGM_INT_FIELD(decode_batch_size, 1, 1e6, "sentences decoded together"),
    RGM_INT_FIELD(decode_batch_tokens, 0, 1e9,
                  "tokens of sources decoded together, padding too; 0: any number"),
    RGM_BOOL_FIELD(int8, "weights in 8 bits, on the CPU: faster, nearly the same translations"),
    RGM_BOOL_FIELD(sample, "draw each token by its probability"),
    RGM_FLOAT_FIELD(temperature, RGM_ABOVE_0, 1e6,
                    "of sampling; below 1 the probable become more so"),
    RGM_INT_FIELD(top_k, 0, 1e9, "sample among the k most probable tokens; 0: all"),
    RGM_FLOAT_FIELD(top_p, RGM_ABOVE_0, 1,
                    "sample among the fewest tokens that have this probability together"),
    RGM_INT_FIELD(seed, 0, 1e15, "of sampling"),
    {0}};
#undef RGM_OPTIONS

/* What looks at the logits of all tokens does not go with one. */
static rgm_status check_shortlist(const rgm_beam_search_options *o, const rgm_seq2seq *model)
{
    rgm_shortlist_figures f = rgm_shortlist_describe(o->shortlist);

    if (o->sample || rgmi_token_rules_any(o) || o->diversity_groups > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "a shortlist goes with plain greedy search and beams: not with %s",
                        o->sample                 ? "task.search.sample"
                        : o->requests != NULL     ? "what is asked of single translations"
                        : o->diversity_groups > 1 ? "task.search.diversity_groups"
                                                  : "no_repeat_ngram, repetition_penalty or "
                                                    "decode_min_length of task.search");
    if (f.source_vocabulary == model->source_vocabulary &&
        f.target_vocabulary == model->target_vocabulary)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "the shortlist is of vocabularies of %lld and %lld, the model's have %lld and "
                    "%lld",
                    (long long)f.source_vocabulary, (long long)f.target_vocabulary,
                    (long long)model->source_vocabulary, (long long)model->target_vocabulary);
}

rgm_status rgm_beam_search_check(const rgm_beam_search_options *o, const rgm_seq2seq *model)
{
    RGM_TRY(rgm_options_check(o, rgm_beam_search_fields, "task.search"));
    if (o->n_best > o->beam_size)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.search.n_best is %lld, above beam_size (%lld)",
                        (long long)o->n_best, (long long)o->beam_size);
    if (o->sample && o->beam_size != 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.search.sample needs beam_size: 1, it is %lld",
                        (long long)o->beam_size);
    if (o->beam_size % o->diversity_groups != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.search.diversity_groups is %lld, but must divide beam_size (%lld)",
                        (long long)o->diversity_groups, (long long)o->beam_size);
    if (o->decode_max_length > 0 && o->decode_min_length >= o->decode_max_length)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.search.decode_min_length is %lld, but decode_max_length, which "
                        "counts the end, is %lld",
                        (long long)o->decode_min_length, (long long)o->decode_max_length);
    RGM_TRY(rgm_attention_place_check(&o->attention, model, "task.search.attention"));
    if (o->shortlist != NULL)
        RGM_TRY(check_shortlist(o, model));
    if (rgmi_tokens_looked_at(o) > model->target_vocabulary)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.search.beam_size is %lld; a vocabulary of %lld allows %lld",
                        (long long)o->beam_size, (long long)model->target_vocabulary,
                        (long long)(model->target_vocabulary - o->no_padding) / 2);
    if (o->end_id < 0 || o->end_id >= model->target_vocabulary)
        return RGM_FAIL(RGM_ERR_CONFIG, "the end of sentence is %lld, but ids are 0..%lld",
                        (long long)o->end_id, (long long)model->target_vocabulary - 1);
    return RGM_OK;
}
