/*
 * translation: the task that trains a sequence-to-sequence model (sequence.h) on parallel text. It
 * evaluates the model by the scores of text.h, translates lines and exports the model.
 */
#ifndef REGIMEN_TRANSLATION_H
#define REGIMEN_TRANSLATION_H

#include <regimen/controller_run.h>
#include <regimen/sequence.h>
#include <regimen/sequence_names.h>
#include <regimen/text.h>
#include <regimen/train_teachers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the task: pairs of sentences ------------------------------------------------------------ */

/** Generated pairs instead of files: a sequence of random tokens and the same sequence backwards.
 */
typedef struct rgm_reverse_options {
    int64_t vocabulary;             /* tokens, including padding and end; 0: read files       */
    int64_t min_length, max_length; /* tokens of a sequence without its end                   */
    int64_t train, valid, test;     /* pairs                                                  */
} rgm_reverse_options;

/** `task.score`: the scores of translations in validation. The keys are named as the flags of
 * `regimen score`. */
typedef struct rgm_score_options {
    rgm_texts metrics;         /* some of bleu, chrf, ter; default bleu, chrf. The ending "_lc"
                                  ignores case. bleu may also end in "_13a", "_intl", "_char",
                                  "_none" before it: bleu_intl_lc                             */
    rgm_mt_tokenizer tokenize; /* of BLEU */
    bool lowercase;            /* BLEU and chrF ignore case (TER always does)                 */
} rgm_score_options;

/** What numbers of given alignments count. */
typedef enum rgm_alignment_units { RGM_ALIGNMENT_WORDS, RGM_ALIGNMENT_PIECES } rgm_alignment_units;
extern const char *const rgm_alignment_unit_names[]; /* "words", "pieces", NULL */
/** `task.guided_alignment`: a head of the decoder's attention to the source is taught by given
 * alignments (Chen et al. 2016). */
typedef struct rgm_guided_alignment {
    double weight;       /* of its loss beside that of the tokens; 0: nothing is taught */
    int64_t layer, head; /* as in rgm_attention_place: the last layer's first head is usual */
} rgm_guided_alignment;

/** The `data:` and `task:` keys of the task type "translation". */
typedef struct rgm_translation_options {
    const char *path; /* data: folder of the files                                        */
    rgm_texts train, valid, test; /* [source, target] aligned line by line, or one file of
                                     "source TAB target"; plain or gzip; or, with src_lang and
                                     tgt_lang, one pattern or name@shards of TFRecord files.
                                     Names of text files may be patterns, which give the files in
                                     order */
    rgm_lists train_sets; /* more sets to train on, by name, each in the same form            */
    rgm_numbers weights;  /* shares of the pairs of an epoch, by name, including `train`; a set
                             without a weight has 1. No weights: an epoch has every pair once */
    rgm_lists valid_sets, test_sets; /* more sets to evaluate on: valid_<name>.bleu           */
    const char *src_lang, *tgt_lang; /* for TFRecords of tf.train.Examples: the features that hold
                                     the source and the target, one text each; NULL: text files */
    const char *tokenizer; /* SentencePiece model of the source, and of the target unless ...  */
    const char *target_tokenizer;  /* ... it has its own          */
    const char *vocabulary;        /* file that gives the pieces of both their ids, as
                                      rgm_tokenizer_load_with() says; NULL: ids are the models' own */
    const char *target_vocabulary; /* the same of the target, where it is another file        */
    rgm_tokenizer_options train_tokenizer; /* instead of a file: train one for both sides on all
                                              training sets; vocab_size 0: no */
    const char
        *source_tag; /* a piece of the source's tokenizer that is put before each source, such
                        as the language that is wanted (Johnson et al. 2017); NULL: none  */
    const char *target_tag; /* a piece of the target's tokenizer that the decoder reads before each
                               target, in place of 0, such as the language that is wanted; no part
                               of the target. NULL: 0                                         */
    rgm_lists
        target_tags;   /* that of sets, by their names, one piece each: train, valid, test, and
                          names in train_sets, valid_sets, test_sets; target_tag of the others */
    rgm_lists factors; /* by name, the values that words of sources may have beside them: a word is
                          "word|case|pos" then, or each factor has a file of its own behind
                          [source, target] (Sennrich and Haddow 2016). All pieces of a word get its
                          values; how, rgm_seq2seq_options.factors says                        */
    const char *shortlist;  /* file of rgm_shortlist_save(): translations have no other tokens than
                               its; NULL: all tokens                                          */
    const char *alignments; /* of the pairs of `train`: a file with a line "0-0 1-2" for each; NULL:
                               none are given                                                */
    rgm_alignment_units alignment_units;
    int64_t max_length;   /* tokens of a side with its end; longer pairs are left out of training */
    int64_t batch_tokens; /* of a training batch: rows * longer side, padding included        */
    int64_t batch_shapes; /* different shapes of training batches                             */
    bool static_batch;    /* one shape for all: [batch_tokens / max_length, max_length]       */
    double subword_alpha; /* training draws new segmentations by rgm_tokenizer_sample(); 0: no */
    rgm_reverse_options reverse;
    double label_smoothing; /* task                                                             */
    rgm_guided_alignment guided_alignment;
    bool decode;             /* translate validation and test sets: scores, exact_match          */
    rgm_score_options score; /* which scores                                                     */
    int64_t samples; /* log the translations of so many pairs beside their references            */
    rgm_beam_search_options search; /* how to translate */
    rgm_distillation_options
        distillation;      /* teachers, of which only the names are read from keys                */
    rgm_teachers teachers; /* no key: those names' models, of rgm_translation; borrowed until the
                              model is built. None: nobody teaches                                */
    const char *run_dir;   /* no key: the folder of a run that has begun       */
    bool served;           /* true: there are no data, only what an export keeps              */
    bool trained;          /* true: use the run's tokenizers; false: only the one it trained  */
} rgm_translation_options;

/**
 * Sequence to sequence with the Transformer (`model.type` seq2seq_transformer). The loss is the
 * mean over the tokens of a batch of the cross-entropy with smoothed labels, in training mixed with
 * rgm_distillation_losses() where there are teachers; it is exact however an update is divided into
 * batches. The task also computes "perplexity" and "token_accuracy" from the
 * labels without smoothing. Validation computes all of these. When it translates, it also computes
 * the scores "bleu", "chrf" and "ter" of the whole set, as rgm_bleu_add() and the others do, and
 * "exact_match", the share of translations that equal their reference token by token.
 *
 * A batch has six tensors, all i64: source [b, s], target [b, t] (what the decoder reads: 0 or a
 * tag, then the labels without the last), labels [b, t], positions 0.. [s] and [t], and the numbers
 * of the pairs [b]. Where there are factors, the next is i64 [b, s, factors]: those of each token
 * of the source, numbers of their values from 1, over all factors in their order, 0 at a tag, the
 * end and padding. Where alignments are taught, training batches have one more behind it, f32 [b,
 * t, s]: what each label is aligned to, with the sum 1, or 0 where nothing is given. The user may
 * provide training batches of that form (rgm_trainer_setup.train_dataset).
 *
 * The task reads the tokenizers when it is created, and a part of the data when the batches of that
 * part are first requested. The tokenizers are the task's files: "tokenizer.model" and, if the
 * target has its own, "target_tokenizer.model"; "vocabulary.yml" and "target_vocabulary.yml" are
 * their vocabularies, and "factors.yml" says which numbers values of factors have.
 */
extern const rgm_task_type rgm_translation;
/** options: rgm_translation_options. */
void rgm_translation_defaults(void *options);
/**
 * Create the task from C; rgm_task_release() releases it. The texts of the options are borrowed.
 *
 * Errors: RGM_ERR_CONFIG (options that contradict each other or the files), and those of reading
 * tokenizers.
 */
rgm_status rgm_translation_create(rgm_task *out, const rgm_translation_options *options,
                                  const rgm_seq2seq_options *model, uint64_t seed, int threads);

/* ---- other programs' weights ------------------------------------------------------------------
 */

/** What Transformers calls the weights of MarianMTModel, and what Marian calls those of its
 * transformer with norms behind blocks and before them; each ended by {0}. */
extern const rgm_weight_name rgm_translation_marianmt_names[], rgm_translation_marian_names[],
    rgm_translation_marian_prenorm_names[];

/* ---- lines ----------------------------------------------------------------------------------- */

/**
 * Word alignments in the form of Pharaoh, "0-0 1-2": pairs of numbers from 0, of the source and of
 * the target, ascending. They come from one attention of the decoder to the source
 * (`task.search.attention`), which is computed for the whole target at once, in f32 or bf16: each
 * piece of the target goes with the one of the source that it attends to most, both without their
 * ends.
 */
typedef struct rgm_alignment_options {
    double threshold; /* above 0: with all pieces of the source that get so much of its attention at
                         least, which may be none or several */
    bool pieces;      /* of pieces; false: of words, between which any of their pieces links */
} rgm_alignment_options;
/** RGM_ERR_CONFIG: a threshold that is not in [0, 1]. */
rgm_status rgm_alignment_check(const rgm_alignment_options *options);

/** A line to translate; all borrowed. */
typedef struct rgm_translation_line {
    rgm_str text;
    const char *target_tag; /* a piece in the place of data.target_tag; NULL: that */
    const char *prefix;     /* the translation begins with this text; NULL: with any */
    rgm_texts required; /* each of these texts occurs in it, in the pieces that the tokenizer makes
                           of it at the beginning of a word; needs a search of 2 beams at least */
    rgm_texts banned;   /* none of these texts occurs in it behind the prefix, in those pieces   */
    const rgm_alignment_options *alignment; /* its translations are aligned; NULL: they are not  */
} rgm_translation_line;
/** A translation of a line. */
typedef struct rgm_line_translation {
    char *text;      /* owned; NULL: the search found fewer than n_best translations */
    char *alignment; /* owned; NULL: it was not asked for */
    double score, log_probability;
    bool cut; /* it reached the maximum length without an end; score is then the log-probability */
    int64_t tokens, longest; /* pieces that it has, and could have at most with its end          */
    int64_t missing;         /* required texts that the text lacks: of a translation that was cut */
    int64_t banned; /* banned texts that it has all the same, in other pieces or in its prefix */
} rgm_line_translation;
void rgm_line_translations_clear(rgm_line_translation *translations, int64_t count);
/** The search options of a task that rgm_translation made. */
const rgm_beam_search_options *rgm_translation_search(const rgm_task *task);
/** RGM_ERR_CONFIG: the shortlist, `name` in messages, is of other vocabularies than the task's, or
 * was learned with other tokenizers. */
rgm_status rgm_translation_check_shortlist(const rgm_task *task, const rgm_shortlist *shortlist,
                                           const char *name);
/**
 * Translate with another model too (an ensemble): the probability of a token is the mean of those
 * that all of them give it. From then on lines are translated so; validation, scores of pairs and
 * alignments are not.
 *
 * @param other       [in] of rgm_translation, with the same tokenizers; borrowed as long as `task`
 *                    translates, as its parameters are
 *
 * Errors: RGM_ERR_CONFIG (other tokenizers, tags or factors, more than RGM_MOST_MODELS models).
 */
rgm_status rgm_translation_join(const rgm_task *task, const rgm_task *other,
                                const rgm_parameters *parameters);
/**
 * Translate lines of text with the given weights, in their order. With data.factors each word has
 * its values behind it, "word|case|pos". Without a tokenizer (data.reverse) the words are token
 * ids. A line without tokens gives an empty translation.
 *
 * @param out     [out] [count * search->n_best], the translations of each line, best first
 * @param done    [out] how many lines were translated: all, those before the first bad one, or none
 * @param search  [in] its numbers are those of the lines, counted from first_number
 * @param device  [in] as in rgm_beam_search_create(), and bf16
 *
 * Errors: RGM_ERR_DATA (line *done is longer than max_positions of one of the models, has a number
 * that is no token or a word without its factors, or asks for what its translation cannot have; the
 * lines before it are in `out`), RGM_ERR_CONFIG (the search), RGM_ERR_NOMEM. Lines that were not
 * translated need no clearing.
 */
rgm_status rgm_translation_lines(rgm_line_translation *out, int64_t *done, const rgm_task *task,
                                 const rgm_parameters *parameters,
                                 const rgm_translation_line *lines, int64_t count,
                                 const rgm_beam_search_options *search, rgm_device *device,
                                 bool bf16);

/**
 * Minimum Bayes risk over samples (Eikema and Aziz 2020): draw translations of each line, and take
 * the one that is most like all of them by sentence chrF2. Of equal ones the more probable is
 * taken.
 *
 * @param out      [out] [count]; score is the mean chrF2 against the samples, 0 to 100
 * @param samples  [in] of each line, 1 to 2^20; line i draws with the numbers (first_number + i) *
 *                 samples and those that follow
 * @param search   [in] its temperature, top_k, top_p, seed, lengths and rules; beams and n_best do
 *                 not count
 *
 * The other parameters and the errors are those of rgm_translation_lines(). RGM_ERR_ARG: samples.
 */
rgm_status rgm_translation_mbr(rgm_line_translation *out, int64_t *done, const rgm_task *task,
                               const rgm_parameters *parameters, const rgm_translation_line *lines,
                               int64_t count, int64_t samples,
                               const rgm_beam_search_options *search, rgm_device *device,
                               bool bf16);

/* ---- scores of given translations ------------------------------------------------------------ */

/** A source and its target; both borrowed. */
typedef struct rgm_text_pair {
    rgm_str source, target;
} rgm_text_pair;
/** How probable a target is, given its source; natural logarithms. */
typedef struct rgm_pair_score {
    double log_probability;   /* of all of its tokens */
    int64_t count;            /* tokens with the end  */
    int32_t *ids;             /* [count] owned        */
    float *log_probabilities; /* [count] owned: of each token, given those before it */
    char *alignment;          /* owned; NULL: it was not asked for */
} rgm_pair_score;
void rgm_pair_scores_clear(rgm_pair_score *scores, int64_t count);
/** Scores pairs with the weights of a model: one pass of the decoder over all tokens of a target.
 */
typedef struct rgm_pair_scorer rgm_pair_scorer;
/**
 * @param task  [in] of rgm_translation, borrowed; parameters, device and bf16 as in
 *              rgm_beam_search_create()
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_DTYPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_pair_scorer_create(rgm_pair_scorer **out, const rgm_task *task,
                                  const rgm_parameters *parameters, rgm_device *device, bool bf16);
/**
 * Align the pairs too, from now on.
 *
 * Errors: RGM_ERR_CONFIG (the options, an attention that the model has not), RGM_ERR_NOMEM.
 */
rgm_status rgm_pair_scorer_align(rgm_pair_scorer *scorer, const rgm_alignment_options *options);
void rgm_pair_scorer_release(rgm_pair_scorer *scorer);
/**
 * Score pairs, in their order; pairs of similar length go through the model together, and a score
 * does not depend on the others. An empty target is its end alone.
 *
 * @param out   [out] [count]
 * @param done  [out] how many were scored: all, or those before the first bad one
 *
 * Errors: RGM_ERR_DATA (pair *done has a side that is longer than max_positions, a source without
 * tokens, a word without its factors, or a number that is no token; those before it are in `out`),
 * RGM_ERR_NOMEM, RGM_ERR_IO (the device is lost).
 */
rgm_status rgm_pair_scorer_run(rgm_pair_score *out, int64_t *done, rgm_pair_scorer *scorer,
                               const rgm_text_pair *pairs, int64_t count);
/** The text of a target's token as its tokenizer has it; its number where there is none, printed to
 * `room`. */
const char *rgm_translation_piece(char room[24], const rgm_task *task, int32_t id);

/* ---- lines as JSON --------------------------------------------------------------------------- */

/** A line to translate, read from JSON; begins as {0}. */
typedef struct rgm_translation_request {
    rgm_translation_line line; /* borrows from the others */
    rgm_json *json;
    const char **texts;
    rgm_alignment_options alignment;
} rgm_translation_request;
/**
 * Read {"text": .., "target_tag": .., "prefix": .., "required": [..], "banned": [..], "alignment":
 * "words"}, of which only "text" must be there; alignment may also be "pieces".
 *
 * @param name  [in] of the input, for messages
 *
 * Errors: RGM_ERR_FORMAT (no JSON), RGM_ERR_DATA (another key, another kind of value),
 * RGM_ERR_NOMEM; nothing needs clearing then.
 */
rgm_status rgm_translation_request_read(rgm_translation_request *out, rgm_str json,
                                        const char *name);
void rgm_translation_request_clear(rgm_translation_request *request);
/**
 * Append the translations of a line as JSON without a line end: {"translations": [{"text": ..,
 * "score": .., "log_probability": .., "cut": .., "tokens": .., "longest": .., "missing": ..,
 * "banned": .., "alignment": ".."}, ..]}, the last where it was asked for.
 *
 * @param n_best  [in] of the search; translations without a text are left out
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_translation_result_print(rgm_text *out, const rgm_line_translation *translations,
                                        int64_t n_best);

#ifdef __cplusplus
}
#endif
#endif
