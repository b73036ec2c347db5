/*
 * sequence, made small and fast for use: weights in 8 bits, and shortlists of what a source may be
 * translated by. Both change results a little, so whoever takes them says by how much: BLEU with
 * and without (`regimen eval`, the exporter predictor).
 *
 *     rgm_beam_search_options.int8       products in 8 bits, made when the search reads the weights
 *     rgm_shortlist_learn()              a shortlist from pairs of token sequences, and its files
 *     rgm_beam_search_options.shortlist  a search among its tokens alone
 *     rgm_pairs_align()                  which tokens of pairs go together, by the same statistics
 */
#ifndef REGIMEN_SEQUENCE_COMPACT_H
#define REGIMEN_SEQUENCE_COMPACT_H

#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- weights in 8 bits ----------------------------------------------------------------------- */

/**
 * How a parameter of a rgm_seq2seq is kept in 8 bits: 0, with a step for each row (a table of
 * embeddings), 1, with one for each column (a matrix that rows are multiplied with); -1: not at
 * all (biases, norms, learned positions).
 *
 * @param tensor  [in] of its shape; the elements are not read
 */
int rgm_seq2seq_int8_axis(const char *name, const rgm_tensor *tensor);

/* ---- shortlists ------------------------------------------------------------------------------ */

/** A pair to learn from, both sides with their ends; borrowed. */
typedef struct rgm_sequence_pair {
    const int32_t *source, *target;
    int64_t source_count, target_count;
} rgm_sequence_pair;
typedef struct rgm_shortlist_options {
    int64_t first;    /* so many of the most frequent target tokens may stand in each translation */
    int64_t best;     /* and so many of the most probable ones of each source token               */
    const char *mark; /* borrowed text that a file keeps, such as whose ids these are; NULL: none */
    const int32_t *copies; /* [source_vocabulary] borrowed: the target token with the same text,
                              which may stand in a translation of the source token too: a name that
                              no pair has; -1: there is none. NULL: of no token */
} rgm_shortlist_options;
#define RGM_SHORTLIST_OPTIONS_INIT                                                                 \
    {                                                                                              \
        .first = 200, .best = 100                                                                  \
    }

/** For each source token the target tokens that may translate it. Immutable. */
typedef struct rgm_shortlist rgm_shortlist;
/**
 * Learn one: the probability of a target token given a source token is that of IBM's model 1 (Brown
 * et al. 1993) with an empty source word, five rounds of EM over all pairs. Memory: 12 bytes for
 * each two tokens that stand in a pair together. The same pairs give the same bytes.
 *
 * Errors: RGM_ERR_ARG (vocabularies, options out of range, no pair), RGM_ERR_DATA (an id outside
 * the vocabularies, with its pair), RGM_ERR_NOMEM.
 */
rgm_status rgm_shortlist_learn(rgm_shortlist **out, const rgm_sequence_pair *pairs, int64_t count,
                               int64_t source_vocabulary, int64_t target_vocabulary,
                               const rgm_shortlist_options *options);
/**
 * A safetensors file with a checksum, in the place of what was there; loading one reads everything
 * and checks it.
 * Errors: RGM_ERR_FORMAT (not a shortlist, damaged, of another version), RGM_ERR_NOT_FOUND,
 * RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_shortlist_save(const char *path, const rgm_shortlist *shortlist);
rgm_status rgm_shortlist_load(rgm_shortlist **out, const char *path);
void rgm_shortlist_release(rgm_shortlist *shortlist);

typedef struct rgm_shortlist_figures {
    int64_t source_vocabulary, target_vocabulary, first, best;
    int64_t pairs;    /* learned from */
    int64_t entries;  /* target tokens of all source tokens together */
    const char *mark; /* as in the options, "" for none; the shortlist's */
} rgm_shortlist_figures;
/** What it is made of. */
rgm_shortlist_figures rgm_shortlist_describe(const rgm_shortlist *shortlist);
/** The target tokens of a source token, ascending, without those of `first`; returns their number.
 * Borrowed. */
int64_t rgm_shortlist_tokens(const int32_t **tokens, const rgm_shortlist *shortlist,
                             int32_t source);

/* ---- which tokens of pairs go together ------------------------------------------------------- */

/**
 * Learn from pairs which tokens of each go together, as fast_align does (Dyer et al. 2013): the
 * probability of a target token given a source token is that of IBM's model 1, and places that are
 * alike count more. The same pairs give the same links.
 *
 * @param links     [out] for each target token of each pair, one behind the other, the place of the
 *                  source token that it goes with, from 0; -1: with none
 * @param diagonal  [in] how much places count: a source token at k of n is exp(-diagonal |k/n -
 *                  j/m|) times as likely for the target token at j of m. 0: places do not count,
 * and this is model 1. fast_align begins with 4
 *
 * Errors: RGM_ERR_ARG (vocabularies, no pair, a diagonal below 0), RGM_ERR_DATA (an id outside the
 * vocabularies, with its pair), RGM_ERR_NOMEM.
 */
rgm_status rgm_pairs_align(int32_t *links, const rgm_sequence_pair *pairs, int64_t count,
                           int64_t source_vocabulary, int64_t target_vocabulary, double diagonal);
/** The same both ways: a link stays only where the pairs turned round have it too. Errors: those of
 * rgm_pairs_align(). */
rgm_status rgm_pairs_align_both(int32_t *links, const rgm_sequence_pair *pairs, int64_t count,
                                int64_t source_vocabulary, int64_t target_vocabulary,
                                double diagonal);

#ifdef __cplusplus
}
#endif
#endif
