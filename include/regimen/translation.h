/*
 * translation: sequence to sequence. The Transformer and its search on ids of tokens; a task that
 * trains it on parallel text, judges it by the scores of text.h, translates lines and exports it.
 */
#ifndef REGIMEN_TRANSLATION_H
#define REGIMEN_TRANSLATION_H

#include <regimen/nn.h>
#include <regimen/train.h>
#include <regimen/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the Transformer ------------------------------------------------------------------------ */

/** Which tables are one. */
typedef enum rgm_seq2seq_embeddings {
    RGM_EMBEDDINGS_SHARED, /* source, target and output */
    RGM_EMBEDDINGS_TARGET, /* target and output         */
    RGM_EMBEDDINGS_UNTIED  /* none                      */
} rgm_seq2seq_embeddings;
/** What tells a token its place. */
typedef enum rgm_seq2seq_positions {
    RGM_POSITIONS_SINUSOIDAL,
    RGM_POSITIONS_LEARNED
} rgm_seq2seq_positions;

/** One of the two stacks: `model.encoder` and `model.decoder`. */
typedef struct rgm_seq2seq_stack {
    int64_t num_layers, num_attention_heads, intermediate_size;
    rgm_activation activation; /* RGM_ACT_RELU or RGM_ACT_GELU */
    double dropout_rate;       /* of what a block adds                                         */
    double
        attention_dropout_rate;  /* of attention's probabilities, and of what the encoder's adds */
    double intermediate_dropout; /* inside the feed-forward block                                */
    bool use_bias;               /* of attention's projections                                   */
    bool norm_first;             /* norm before each block, else behind its sum                  */
    double norm_epsilon;
} rgm_seq2seq_stack;

/** `model:` of a translation task. */
typedef struct rgm_seq2seq_options {
    rgm_seq2seq_stack encoder, decoder;
    int64_t embedding_width;
    double dropout_rate; /* of embeddings with their positions                                    */
    rgm_seq2seq_embeddings embeddings;
    rgm_seq2seq_positions positions;
    int64_t max_positions; /* longer sequences are an error */
} rgm_seq2seq_options;
/** Base (6 + 6 layers of 512, 8 heads, 2048 inside) and big (1024, 16 heads, 4096). */
void rgm_seq2seq_defaults(void *options);
void rgm_seq2seq_big_defaults(void *options);
extern const rgm_field rgm_seq2seq_fields[];

/**
 * The Transformer with its vocabularies. Id 0 is padding, and what a target begins with. Tables
 * have rgm_seq2seq_padded() rows; logits behind the vocabulary mean nothing: whoever reads them
 * leaves them out (rgm_cross_entropy_options.classes).
 *
 * Parameters: embedding/table (or source_embedding/, target_embedding/, output/), positions below
 * encoder/ and decoder/ if learned,
 * encoder/layer_<i>/{attention/{norm/,query/,key/,value/,output/}, ffn/{norm/,inner/,outer/}},
 * decoder/layer_<i>/{self_attention/,cross_attention/,ffn/}, encoder/norm/, decoder/norm/.
 */
typedef struct rgm_seq2seq {
    rgm_seq2seq_options options;
    int64_t source_vocabulary, target_vocabulary;
} rgm_seq2seq;
/** Rows of a vocabulary's table: rounded up to a multiple of 8. */
int64_t rgm_seq2seq_padded(int64_t vocabulary);
/** RGM_ERR_CONFIG: bounds, heads that do not divide the width, vocabularies that cannot be shared.
 */
rgm_status rgm_seq2seq_check(const rgm_seq2seq *model);
/** ids [b, s] i32/i64, 0 behind a sentence; positions [s] i64 = 0, 1, .. -> [b s, width]. */
rgm_value *rgm_seq2seq_encode(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *source,
                              rgm_value *positions);
/**
 * States [b t, width] of target ids [b, t], which begin with 0 and see themselves and what is
 * before them; memory: the encoder's result for `source`; positions [t] i64.
 */
rgm_value *rgm_seq2seq_decode(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *target,
                              rgm_value *positions, rgm_value *memory, rgm_value *source);
/** [n, rgm_seq2seq_padded(target vocabulary)] from states [n, width]. */
rgm_value *rgm_seq2seq_logits(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *states);

/**
 * Cross-entropy [n] of logits [n, padded] with labels [n], label smoothing as the Model Garden has
 * it: 1 - smoothing on the label, smoothing / (V - 1) on the others, less the entropy of that
 * target, so that a perfect prediction costs 0. What a batch minimises is their mean over the
 * labels that are not 0.
 */
rgm_value *rgm_seq2seq_losses(const rgm_seq2seq *model, rgm_value *logits, rgm_value *labels,
                              double smoothing);
/** [n] in the scope's dtype: 1 for labels [n] i64 that are tokens, 0 for padding. */
rgm_value *rgm_seq2seq_weights(rgm_scope *scope, rgm_value *labels);

/** Most layers that a decoder may have. */
enum { RGM_SEQ2SEQ_LAYERS = 64 };

/*
 * The two graphs that decode one token at a time, as an export writes them; rgm_translator runs the
 * first, and the second in a form that copies no keys. Keys of the decoder's layer i stand at [2 i]
 * of an array, its values at [2 i + 1].
 */

/** Sources read: what the decoder's layers look up in them. */
typedef struct rgm_seq2seq_source {
    rgm_value *ids;                            /* [sentences, length] i64, 0 behind a sentence */
    rgm_value *memory[2 * RGM_SEQ2SEQ_LAYERS]; /* [sentences, length, width] */
} rgm_seq2seq_source;
/**
 * @param positions [length] i64 = 0, 1, ..; errors: rgm_seq2seq_check()'s and the graph's.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_UNSUPPORTED,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_seq2seq_source_graph(rgm_seq2seq_source *out, rgm_scope *scope,
                                    const rgm_seq2seq *model, rgm_value *ids, rgm_value *positions);

/** One token more for each row; rows are sentences * beams, a sentence's beams one behind the
 * other. */
typedef struct rgm_seq2seq_step {
    rgm_value *ids;      /* input "ids" i64 [sentences, beams]: the newest tokens, 0 at first */
    rgm_value *position; /* input "position" i64 [1]: how many came before them              */
    rgm_value *source;   /* as given: where it is 0 nothing is looked up                     */
    rgm_value *memory[2 * RGM_SEQ2SEQ_LAYERS];  /* inputs "memory_keys_0", "memory_values_0", .. */
    rgm_value *past[2 * RGM_SEQ2SEQ_LAYERS];    /* inputs "past_keys_0", .. [rows, steps, width] */
    rgm_value *log_probabilities;               /* [rows, target_vocabulary]                     */
    rgm_value *present[2 * RGM_SEQ2SEQ_LAYERS]; /* [rows, steps + 1, width]                      */
} rgm_seq2seq_step;
/**
 * @param source [sentences, length] i64; errors: rgm_seq2seq_check()'s and the graph's.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_UNSUPPORTED,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_seq2seq_step_graph(rgm_seq2seq_step *out, rgm_scope *scope, const rgm_seq2seq *model,
                                  rgm_value *source);

/** How translations are searched for. */
typedef struct rgm_search_options {
    int64_t beam_size; /* 1: greedy                                                             */
    int64_t n_best;    /* hypotheses of each sentence, at most beam_size                        */
    double alpha;      /* score = log-probability / ((5 + length) / 6)^alpha (Wu et al. 2016)   */
    int64_t decode_max_length; /* tokens of a translation, its end included; 0:
                                  extra_decode_length more than the source has */
    int64_t extra_decode_length;
    int64_t decode_batch_size; /* sentences decoded together */
    bool sample;        /* draw each token instead (beam_size is 1)                              */
    double temperature; /* of sampling: logits are divided by it; > 0                            */
    int64_t top_k;      /* among the k most probable tokens; 0: all                              */
    double top_p;       /* among the fewest most probable ones that have this much together      */
    int64_t seed;       /* of sampling; sentence i draws from a stream of its own, that of number
                           first_number + numbers[i]: in whatever parts a text is translated, its
                           sentences are drawn the same                                          */
    int64_t first_number;
    const int64_t *numbers; /* [count] borrowed; NULL: 0, 1, .. */
    int32_t end_id; /* end of sentence                                                       */
} rgm_search_options;
#define RGM_SEARCH_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .beam_size = 4, .n_best = 1, .alpha = 0.6, .extra_decode_length = 50,                      \
        .decode_batch_size = 64, .temperature = 1, .top_p = 1, .end_id = 1                         \
    }
extern const rgm_field rgm_search_fields[];
/** RGM_ERR_CONFIG: bounds, options that exclude each other, more beams than half the target's
 * vocabulary. */
rgm_status rgm_search_check(const rgm_search_options *options, const rgm_seq2seq *model);

/** Tokens without start and end, with sum of log-probabilities (of the end too) and score. */
typedef struct rgm_hypothesis {
    int32_t *ids;
    int64_t count;
    double log_probability, score;
    bool finished; /* false: cut at the longest length, and the score is the log-probability */
} rgm_hypothesis;
/** The best hypotheses of a sentence, best first. */
typedef struct rgm_hypotheses {
    rgm_hypothesis *items;
    int64_t count;
} rgm_hypotheses;
void rgm_hypotheses_clear(rgm_hypotheses *hypotheses);

/** Decodes with a model's weights: executors for the encoder and for one step of the decoder. */
typedef struct rgm_translator rgm_translator;
/**
 * @param parameters  [in] borrowed; may change between runs. bf16: as rgm_executor_options.bf16.
 * Errors: RGM_ERR_ARG, RGM_ERR_DTYPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_translator_create(rgm_translator **out, const rgm_seq2seq *model,
                                 const rgm_parameters *parameters, bool bf16);
void rgm_translator_release(rgm_translator *translator);
/**
 * Translate `count` sentences of ids, each with its end. Sentences of similar length go together,
 * keys and values of earlier tokens are kept, and who is finished leaves the batch; a sentence's
 * result does not depend on its batch mates, on padding or on the number of threads.
 *
 * Beam search: of beam_size * vocabulary continuations the best 2 * beam_size are looked at; those
 * that end are hypotheses, of which the best beam_size are kept, the best others go on. A sentence
 * ends at its longest length, or when its worst hypothesis so far scores above what the best open
 * one could reach at that length. If none has ended the open ones are returned.
 *
 * @param out  [out] [count], cleared by the caller; nothing to clear after an error
 *
 * Errors: RGM_ERR_CONFIG (options), RGM_ERR_DATA (an id outside the vocabulary, an empty sentence,
 * one longer than max_positions), RGM_ERR_NOMEM.
 */
rgm_status rgm_translate(rgm_hypotheses *out, rgm_translator *translator,
                         const int32_t *const *sources, const int64_t *lengths, int64_t count,
                         const rgm_search_options *options);

/* ---- the task: pairs of sentences ------------------------------------------------------------ */

/** Pairs made by a formula instead of files: a sequence of random tokens and the same backwards. */
typedef struct rgm_reverse_options {
    int64_t vocabulary;             /* tokens, padding and end among them; 0: there are files */
    int64_t min_length, max_length; /* tokens of a sequence without its end                   */
    int64_t train, valid, test;     /* pairs                                                  */
} rgm_reverse_options;

/** `task.score`: what translations are judged by in validation; keys as the flags of `regimen
 * score`. */
typedef struct rgm_score_options {
    rgm_texts metrics;         /* of bleu, chrf, ter; default bleu, chrf. With "_lc" behind it
                                  without case, bleu also with "_13a", "_intl", "_char", "_none":
                                  bleu_intl_lc                                                */
    rgm_mt_tokenizer tokenize; /* of BLEU */
    bool lowercase;            /* BLEU and chrF without case (TER never sees it)              */
} rgm_score_options;

/** "translation": its `data:` and `task:` keys. */
typedef struct rgm_translation_options {
    const char *path; /* data: folder of the files                                        */
    rgm_texts train, valid, test; /* [source, target] aligned line by line, or one file of
                                     "source TAB target"; plain or gzip; or, with src_lang and
                                     tgt_lang, one pattern or name@shards of TFRecord files.
                                     Names of text files may be patterns: files in order */
    rgm_lists train_sets; /* more to train on, each by a name and in the same form            */
    rgm_numbers weights;  /* shares of an epoch's pairs by name, that of `train` too; not named:
                             1. None at all: every pair stands once                           */
    rgm_lists valid_sets, test_sets; /* more to evaluate on: valid_<name>.bleu                */
    const char *src_lang, *tgt_lang; /* TFRecords of tf.train.Examples: the features, one text each,
                                     with the source and the target sentence; NULL: text files */
    const char *tokenizer; /* SentencePiece model of the source, and of the target unless ...  */
    const char *target_tokenizer;          /* ... it has its own          */
    rgm_tokenizer_options train_tokenizer; /* instead: one for both, trained on all that is
                                              trained on; vocab_size 0: no */
    int64_t max_length;   /* tokens of a side with its end: longer ones are not trained on    */
    int64_t batch_tokens; /* of a training batch: rows * longer side, padding included        */
    int64_t batch_shapes; /* different shapes of training batches                             */
    bool static_batch;    /* one shape for all: [batch_tokens / max_length, max_length]       */
    double subword_alpha; /* training draws segmentations anew: rgm_tokenizer_sample(); 0: no  */
    rgm_reverse_options reverse;
    double label_smoothing;  /* task                                                             */
    bool decode;             /* translate validation and test sets: scores, exact_match          */
    rgm_score_options score; /* which                                                            */
    int64_t samples; /* translations of so many pairs are told beside their references           */
    rgm_search_options search; /* how */
    const char *run_dir;       /* no key, the folder of a run that was begun       */
    bool trained;              /* its tokenizers are used; false: the one that it trained         */
} rgm_translation_options;

/**
 * Sequence to sequence with the Transformer (`model.type` seq2seq_transformer): the mean over a
 * batch's tokens of the cross-entropy with smoothed labels, exact whatever the batches of an update
 * hold. Beside it stand, of labels as they are, "perplexity" and "token_accuracy". Validation gives
 * these and, translating, scores of the whole set, "bleu", "chrf" and "ter", as rgm_bleu_add() and
 * the others make them, and "exact_match", the share of translations that are equal to their
 * reference token by token.
 *
 * A batch has six tensors, all i64: source [b, s], target [b, t] (what the decoder reads: 0, then
 * the labels without the last), labels [b, t], positions 0.. [s] and [t], and the numbers of the
 * pairs [b]. Training batches of that form may come from elsewhere
 * (rgm_trainer_setup.train_dataset).
 *
 * Tokenizers are read when the task is created, a part of the data when its batches are first asked
 * for. The tokenizers are the task's files: "tokenizer.model" and, if the target has its own,
 * "target_tokenizer.model".
 */
extern const rgm_task_type rgm_translation;
/** options: rgm_translation_options. */
void rgm_translation_defaults(void *options);
/**
 * The same from C; rgm_task_release() gives it back. Texts of options are borrowed.
 *
 * Errors: RGM_ERR_CONFIG (options that contradict each other or the files), those of reading
 * tokenizers.
 */
rgm_status rgm_translation_create(rgm_task *out, const rgm_translation_options *options,
                                  const rgm_seq2seq_options *model, uint64_t seed, int threads);

/** A translation of a line. */
typedef struct rgm_line_translation {
    char *text; /* owned; NULL: there are fewer translations than were asked for */
    double score;
} rgm_line_translation;
void rgm_line_translations_clear(rgm_line_translation *translations, int64_t count);
/** The search that a task made by rgm_translation was configured with. */
const rgm_search_options *rgm_translation_search(const rgm_task *task);
/**
 * Translate lines of text with given weights, in their order. Without a tokenizer (data.reverse)
 * the words are tokens' numbers. A line without a token becomes an empty one.
 *
 * @param out     [out] [count * search->n_best], a line's translations best first
 * @param done    [out] lines that were translated: all, those before the first bad one, or none
 * @param search  [in] numbers are the lines', behind first_number
 * @param bf16    [in] as rgm_translator_create() has it
 *
 * Errors: RGM_ERR_DATA (line *done is longer than max_positions, or has a number that is no token;
 * those before it are in `out`), RGM_ERR_CONFIG (the search), RGM_ERR_NOMEM; what is not done needs
 * no clearing.
 */
rgm_status rgm_translation_lines(rgm_line_translation *out, int64_t *done, const rgm_task *task,
                                 const rgm_parameters *parameters, const rgm_str *lines,
                                 int64_t count, const rgm_search_options *search, bool bf16);

#ifdef __cplusplus
}
#endif
#endif
