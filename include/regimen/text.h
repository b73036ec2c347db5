/*
 * text: from sentences to batches of tokens, and from translations to scores. Corpora hold pairs of
 * sentences, tokenizers (SentencePiece, tokenizer.json) turn them into tokens, and token batches
 * are a dataset of pairs of similar length. BLEU, chrF and TER score sentences against references,
 * with sacrebleu's numbers. Nothing here knows about models.
 *
 *     rgm_corpus_load(&corpus, "train.de.gz", "train.en.gz", NULL);
 *     rgm_tokenizer_load(&tokenizer, "joint.model");
 *     rgm_token_pairs_encode(&pairs, corpus, tokenizer, tokenizer, 4);
 *     rgm_token_batches(&data, pairs, &options);     source [b, s], target [b, t], numbers [b]
 */
#ifndef REGIMEN_TEXT_H
#define REGIMEN_TEXT_H

#include <regimen/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- parallel corpora ----------------------------------------------------------------------- */

/**
 * Sentences in memory, in pairs or of one side only; one buffer holds the bytes of a side.
 * Immutable once it is filled, counted. Pair i is line i + 1 of both files. An empty line stays an
 * empty sentence, so that the sides stay aligned; rgm_corpus_empty() counts the pairs with an empty
 * sentence.
 */
typedef struct rgm_corpus rgm_corpus;
/**
 * Two files aligned line by line; target NULL: source sentences only. options may be NULL.
 *
 * Errors: those of the line reader; RGM_ERR_DATA when the files differ in their number of lines
 * (the message has both numbers and the first missing line); *out is then NULL.
 */
rgm_status rgm_corpus_load(rgm_corpus **out, const char *source, const char *target,
                           const rgm_line_options *options);
/** Lines "source TAB target". RGM_ERR_FORMAT "FILE:line: 3 fields ..." when a line has any other
 * number of fields. */
rgm_status rgm_corpus_load_tsv(rgm_corpus **out, const char *path, const rgm_line_options *options);
/**
 * tf.train.Examples with one text under each key, from the files that match a pattern or "name@N".
 * target_key NULL: source sentences only.
 * Errors: RGM_ERR_ARG, RGM_ERR_FORMAT, RGM_ERR_DATA, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_corpus_load_tfrecords(rgm_corpus **out, const char *pattern, const char *source_key,
                                     const char *target_key, const rgm_line_options *options);
/**
 * The pairs of several corpora, one corpus after the other.
 * Errors: RGM_ERR_ARG (some have targets, some do not), RGM_ERR_NOMEM.
 */
rgm_status rgm_corpus_join(rgm_corpus **out, rgm_corpus *const *corpora, int64_t count);
/** No sentences yet; one thread adds them, and then it is immutable. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_corpus_create(rgm_corpus **out, bool has_target);
/** Append a pair, or a sentence, whose `target` is then not used; both are copied. Errors:
 * RGM_ERR_NOMEM; nothing is appended. */
rgm_status rgm_corpus_add(rgm_corpus *corpus, rgm_str source, rgm_str target);
rgm_corpus *rgm_corpus_retain(const rgm_corpus *corpus);
void rgm_corpus_release(rgm_corpus *corpus);
int64_t rgm_corpus_count(const rgm_corpus *corpus);
bool rgm_corpus_has_target(const rgm_corpus *corpus);
/** Pairs with an empty side. */
int64_t rgm_corpus_empty(const rgm_corpus *corpus);
/** Sentence i, 0 <= i < count, borrowed; the target is empty when the corpus has no targets. */
rgm_str rgm_corpus_source(const rgm_corpus *corpus, int64_t i);
rgm_str rgm_corpus_target(const rgm_corpus *corpus, int64_t i);

/* ---- tokenizers ----------------------------------------------------------------------------- */

/** Token numbers; a growing array. `{0}` is a valid empty one. */
typedef struct rgm_ids {
    int32_t *items;
    int64_t count, capacity;
} rgm_ids;
void rgm_ids_clear(rgm_ids *ids);

/**
 * A SentencePiece model (Kudo and Richardson, EMNLP 2018), or a tokenizer that merges pairs of
 * characters or bytes (BPE) as Hugging Face's tokenizer.json describes it. Immutable, counted,
 * usable from any thread.
 */
typedef struct rgm_tokenizer rgm_tokenizer;
/**
 * The content tells what a file is: a tokenizer.json begins with a brace. Both may come from
 * strangers, so every piece and every table is checked before it is used. A bad file is refused and
 * cannot crash the program.
 *
 * Of tokenizer.json: a BPE model with ByteLevel, with Metaspace or with neither (as the files of
 * GPT-2, Llama 2 and 3, Qwen 2), and no other normalizer, expression or decoder than docs/text.md
 * lists.
 *
 * Errors: RGM_ERR_FORMAT "FILE: what" (no tokenizer, a damaged one, over 64 MiB),
 * RGM_ERR_UNSUPPORTED (a part of tokenizer.json that is not known here, by name),
 * RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_tokenizer_load(rgm_tokenizer **out, const char *path);
/**
 * A tokenizer from the bytes of such a file, which are copied; `name` is put into messages.
 * Errors: RGM_ERR_FORMAT, RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_tokenizer_create(rgm_tokenizer **out, const void *model, int64_t size,
                                const char *name);
/**
 * A tokenizer whose ids are those of a vocabulary: pieces and their numbers, 0 to n - 1, as a JSON
 * object, such as vocab.json of Transformers' MarianMT ({"</s>": 0, "<unk>": 1, "a": 2, ..}), or as
 * YAML with a line for each, such as Marian's vocab.yml. The SentencePiece model says into which
 * pieces a text is cut, and the vocabulary which id a piece has; one that it lacks becomes its
 * "<unk>". So models of two languages can share ids. A text that begins with ">>fr<<" has that
 * piece first, where the vocabulary has pieces of this form.
 *
 * Padding has id 0, as everywhere here: "<pad>" goes to the front, or is added there, and the other
 * pieces keep their order. rgm_tokenizer_number() tells where a piece stands in the file. The file
 * of the model itself is a vocabulary, too: only padding then gets another id.
 *
 * @param path        [in] a SentencePiece model
 * @param vocabulary  [in] the file of ids; NULL: rgm_tokenizer_load()
 *
 * Errors: rgm_tokenizer_load()'s; RGM_ERR_FORMAT "FILE: what" (a number twice, missing or out of
 * range, no "</s>" or no "<unk>"), RGM_ERR_UNSUPPORTED (`path` is a tokenizer.json).
 */
rgm_status rgm_tokenizer_load_with(rgm_tokenizer **out, const char *path, const char *vocabulary);
rgm_tokenizer *rgm_tokenizer_retain(const rgm_tokenizer *tokenizer);
void rgm_tokenizer_release(rgm_tokenizer *tokenizer);
/** The bytes of the file, borrowed, to be saved beside a model that was trained with it. */
const void *rgm_tokenizer_model(const rgm_tokenizer *tokenizer, int64_t *size);

/** The same of the vocabulary's file; NULL: there is none. */
const void *rgm_tokenizer_vocabulary(const rgm_tokenizer *tokenizer, int64_t *size);
/** The number of an id in the vocabulary's file, -1 of padding that the file lacks; without a
 * vocabulary the id itself. */
int64_t rgm_tokenizer_number(const rgm_tokenizer *tokenizer, int32_t id);
/** Whether an id is the same piece in both, so that they may share a table; and whether both also
 * cut texts alike. NULL: there is none, which is only the same as none. */
bool rgm_tokenizers_share_ids(const rgm_tokenizer *a, const rgm_tokenizer *b);
bool rgm_tokenizers_are_same(const rgm_tokenizer *a, const rgm_tokenizer *b);

/** Whose ids these are: the same text for the same two models, and another one for others. */
#define RGM_TOKENIZERS_MARK 36
void rgm_tokenizers_mark(char out[RGM_TOKENIZERS_MARK], const rgm_tokenizer *source,
                         const rgm_tokenizer *target);

int64_t rgm_tokenizer_size(const rgm_tokenizer *tokenizer); /* pieces: ids are 0 .. size-1 */
/** The id of a special piece, -1 when there is none. A SentencePiece model always has an unknown
 * piece. tokenizer.json names that one alone; of the others the special token with one of their
 * usual names is taken (docs/text.md). */
int32_t rgm_tokenizer_pad_id(const rgm_tokenizer *tokenizer);
int32_t rgm_tokenizer_unk_id(const rgm_tokenizer *tokenizer);
int32_t rgm_tokenizer_bos_id(const rgm_tokenizer *tokenizer);
int32_t rgm_tokenizer_eos_id(const rgm_tokenizer *tokenizer);
/** The text of a piece, borrowed, NULL out of range, "" of an id that no token has; and the id of a
 * piece, that of the unknown piece (or -1) if there is no such piece. */
const char *rgm_tokenizer_piece(const rgm_tokenizer *tokenizer, int32_t id);
int32_t rgm_tokenizer_find(const rgm_tokenizer *tokenizer, const char *piece);
/** The word that each token of a sentence stands in, words [count] from 0: a word begins where a
 * space does, as the pieces have it (U+2581, byte-level U+0120), and at the front. */
void rgm_tokenizer_words(int64_t *words, const rgm_tokenizer *tokenizer, const int32_t *ids,
                         int64_t count);
/**
 * Append the ids of a sentence: those that spm_encode gives, or Hugging Face's encode() with
 * add_special_tokens=False; so without begin or end. Special tokens of tokenizer.json that stand in
 * the text are found, as they are there.
 *
 * Errors: RGM_ERR_ARG (more than 16 MiB), RGM_ERR_FORMAT (of tokenizer.json: not UTF-8),
 * RGM_ERR_DATA (of tokenizer.json: a byte or character that has no token, where there is no unknown
 * piece either; Hugging Face's program leaves it out; or a normalizer that makes more than 64 KiB
 * and 16 times the text of it), RGM_ERR_NOMEM.
 */
rgm_status rgm_tokenizer_encode(rgm_ids *ids, const rgm_tokenizer *tokenizer, const char *text,
                                int64_t size);
/**
 * The same with a random segmentation, which SentencePiece's SampleEncode draws from all
 * segmentations. A BPE model of either form leaves out each merge with probability alpha
 * (BPE-dropout, Provilkov et al. 2020): 0 gives the ids of rgm_tokenizer_encode(), 1 gives single
 * characters. A unigram model draws by the probabilities of the segmentations to the power of alpha
 * (Kudo 2018). The same key draws the same segmentation.
 *
 * Errors: RGM_ERR_ARG (more than 16 MiB, alpha not in [0, 1]), RGM_ERR_UNSUPPORTED (a model of
 * words or characters), RGM_ERR_NOMEM.
 */
rgm_status rgm_tokenizer_sample(rgm_ids *ids, const rgm_tokenizer *tokenizer, const char *text,
                                int64_t size, double alpha, uint64_t key);
/** Append the text of ids; special pieces have no text. RGM_ERR_ARG names an id out of range;
 * RGM_ERR_DATA: a tokenizer.json whose decoder makes more than 64 KiB and 16 times their texts. */
rgm_status rgm_tokenizer_decode(rgm_text *text, const rgm_tokenizer *tokenizer, const int32_t *ids,
                                int64_t count);

typedef enum rgm_tokenizer_kind { RGM_TOKENIZER_UNIGRAM, RGM_TOKENIZER_BPE } rgm_tokenizer_kind;
extern const char *const rgm_tokenizer_kind_names[]; /* "unigram", "bpe", NULL */
typedef struct rgm_tokenizer_options {
    int64_t vocab_size; /* pieces in all, including the three special ones             */
    rgm_tokenizer_kind type;
    double coverage;   /* share of the text whose characters get pieces, in (0, 1]    */
    int64_t sentences; /* train on so many, drawn as spm_train draws them; 0: on all  */
    rgm_line_options lines;
} rgm_tokenizer_options;
#define RGM_TOKENIZER_OPTIONS_INIT                                                                 \
    {                                                                                              \
        .vocab_size = 8000, .type = RGM_TOKENIZER_UNIGRAM, .coverage = 0.9995, .sentences = 0,     \
        .lines = RGM_LINE_OPTIONS_INIT                                                             \
    }
/** `data.train_tokenizer`, in which vocab_size 0 trains none. */
extern const rgm_field rgm_tokenizer_fields[];
/**
 * Train on the lines of text files. Ids: 0 padding, 1 end of sentence, 2 unknown, no begin.
 * Training has no randomness: the same lines and options give the same bytes, and the pieces of
 * spm_train. Lines with only spaces and control characters are skipped.
 *
 * Errors: RGM_ERR_ARG (an option), RGM_ERR_DATA (no text; too little text for so many pieces, with
 * SentencePiece's message; a word of more than 32,000 characters, or more than 2e9 characters in
 * all: on these SentencePiece would end the process), and those of the line reader.
 */
rgm_status rgm_tokenizer_train(rgm_tokenizer **out, const char *const *paths, int64_t count,
                               const rgm_tokenizer_options *options);
/**
 * The same on all sources of a corpus and then all its targets. The result equals that of training
 * on two files with the same lines.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_FORMAT (not UTF-8), RGM_ERR_NOMEM.
 */
rgm_status rgm_tokenizer_train_corpus(rgm_tokenizer **out, const rgm_corpus *corpus,
                                      const rgm_tokenizer_options *options);

/* ---- pairs of token sequences, and batches of them ------------------------------------------- */

/** Pairs of id sequences in one buffer. Counted; one thread fills it, and then it is immutable. */
typedef struct rgm_token_pairs rgm_token_pairs;
/** No pairs yet. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_token_pairs_create(rgm_token_pairs **out);
rgm_token_pairs *rgm_token_pairs_retain(const rgm_token_pairs *pairs);
void rgm_token_pairs_release(rgm_token_pairs *pairs);
/**
 * Append a pair of sequences, each with its end of sentence; target_count 0: the pair has no
 * target.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_token_pairs_add(rgm_token_pairs *pairs, const int32_t *source, int64_t source_count,
                               const int32_t *target, int64_t target_count);
/**
 * Encode a corpus. Each side ends with the end of sentence, so an empty sentence is only its end.
 * The result is the same for any number of threads (0 or 1: the calling thread does the work).
 *
 * @param target  may be `source`; not used when the corpus has no targets
 *
 * Errors: RGM_ERR_DATA when a tokenizer has no end of sentence.
 */
rgm_status rgm_token_pairs_encode(rgm_token_pairs **out, const rgm_corpus *corpus,
                                  const rgm_tokenizer *source, const rgm_tokenizer *target,
                                  int threads);
int64_t rgm_token_pairs_count(const rgm_token_pairs *pairs);
/** The ids of pair i, borrowed; *count is their number. */
const int32_t *rgm_token_pairs_source(const rgm_token_pairs *pairs, int64_t i, int64_t *count);
const int32_t *rgm_token_pairs_target(const rgm_token_pairs *pairs, int64_t i, int64_t *count);

/** A number of pairs, and how often each of them is in an epoch of training. 2.5 means twice, and
 * once more for half of the pairs, which are drawn anew each epoch. */
typedef struct rgm_token_batch_set {
    int64_t pairs;
    double times; /* >= 0 */
} rgm_token_batch_set;

/** Text whose segmentation is drawn anew each time the model is trained on a pair. */
typedef struct rgm_subword_sampling {
    double alpha;             /* of rgm_tokenizer_sample(); 0: no sampling   */
    const rgm_corpus *corpus; /* retained; the pairs were encoded from it with these tokenizers */
    const rgm_tokenizer *source, *target;
} rgm_subword_sampling;

typedef struct rgm_token_batch_options {
    int64_t tokens;     /* limit on rows * max(source, target) of a batch, with padding      */
    int64_t max_length; /* of a side, end of sentence included                               */
    bool training;      /* true: longer pairs are dropped, seed and epoch give a random order; */
                        /* false: longer sides are cut but keep their end; order by length   */
    int64_t max_rows;   /* of a batch; 0: only the budget decides                            */
    int64_t max_shapes; /* how many different batch shapes there may be, at least 2          */
    bool one_shape;     /* all batches are [tokens / max_length, max_length]: see below      */
    int32_t pad_id;
    rgm_dtype dtype; /* of the ids: RGM_I32 or RGM_I64                                    */
    const rgm_token_batch_set *sets; /* [set_count] the sets in order; together all the pairs  */
    int64_t set_count;               /* 0: every pair is in an epoch once                      */
    rgm_subword_sampling sampling;   /* only in training */
} rgm_token_batch_options;
#define RGM_TOKEN_BATCH_OPTIONS_INIT                                                               \
    {                                                                                              \
        .tokens = 4096, .max_length = 64, .training = true, .max_rows = 0, .max_shapes = 32,       \
        .pad_id = 0, .dtype = RGM_I32                                                              \
    }
/**
 * Batches of pairs of similar length. An element is three tensors: source [b, s] and target [b, t],
 * padded at the end, and the numbers of the pairs [b] i64. Every pair is in one batch per epoch.
 *
 * The budget counts what is computed: b * max(s, t) <= tokens, with padding. (fairseq counts the
 * longest pair without rounding; TF Model Garden counts b * the bucket's exclusive bound.) Pairs
 * are sorted into max_shapes / 2 classes by both lengths. The classes are chosen over the whole set
 * so that there is little padding. Each class is cut into batches that differ by at most one row.
 * So the shapes are the same in every epoch, and an executor that keeps a plan for each shape makes
 * no new plan after the first epoch. Each epoch draws anew which pairs share a batch and in which
 * order the batches come. Indexed; saved: one number.
 *
 * one_shape: a single shape for compilers and machines that need one. Rows without a pair have the
 * number -1. Their source is one id, the end of sentence, so that attention has a key to see.
 *
 * With sampling, the space for a pair fits the longest of four segmentations that are drawn
 * beforehand. A segmentation that is too long for its batch is drawn again, up to eight times; then
 * the usual segmentation is taken. Seed, epoch and place are the key of a draw, so shapes, resuming
 * and threads are as without sampling.
 *
 * Errors: RGM_ERR_ARG (options; tokens < max_length), RGM_ERR_DATA (no pair is short enough).
 */
rgm_status rgm_token_batches(rgm_dataset **out, const rgm_token_pairs *pairs,
                             const rgm_token_batch_options *options);

/** What an epoch of token batches contains. The share of padding is 1 - real / padded. */
typedef struct rgm_token_batch_figures {
    int64_t pairs;        /* rows of all batches of an epoch; a repeated pair counts each time */
    int64_t dropped, cut; /* pairs that are left out as too long; pairs with a side cut     */
    int64_t batches, shapes;
    int64_t real_tokens, padded_tokens; /* ids, and elements of the tensors; both sides */
} rgm_token_batch_figures;
/** RGM_ERR_ARG unless the recipe was made by rgm_token_batches(). */
rgm_status rgm_token_batches_figures(rgm_token_batch_figures *out, const rgm_dataset *batches);

/* ---- scores of machine translation ---------------------------------------------------------- */

/*
 * BLEU, chrF and TER each have three parts: a scorer holds options and working memory; add() adds
 * one sentence to statistics that the caller owns; result() computes the score of the statistics.
 * Statistics start as {0}. merge() adds the statistics of several parts of a corpus. The statistics
 * of a single sentence give its own score. The numbers equal sacrebleu's (Post, 2018) up to
 * rounding.
 *
 * Lines are UTF-8 without their line end. A NUL is a character like others, and an empty line has
 * no words. Errors of add(): RGM_ERR_ARG without a reference, RGM_ERR_FORMAT "reference 2: byte 17
 * (0xff) is not UTF-8", RGM_ERR_NOMEM, RGM_ERR_UNSUPPORTED for a line of more than 500 million
 * words or characters; the statistics are then unchanged. One thread at a time uses a scorer.
 * signature() gives one line to print beside every score,
 * "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:regimen-0.1"; the caller owns it. NULL
 * options are the defaults.
 */

/** How a line becomes words. */
typedef enum rgm_mt_tokenizer {
    RGM_MT_TOKENIZER_13A, /* NIST's mteval-v13a: splits off ASCII punctuation, not between digits */
    RGM_MT_TOKENIZER_INTL, /* mteval-v14, international: punctuation and symbols by Unicode category
                            */
    RGM_MT_TOKENIZER_CHAR, /* each character is a word, without white space */
    RGM_MT_TOKENIZER_NONE  /* split at white space */
} rgm_mt_tokenizer;
extern const char *const rgm_mt_tokenizer_names[]; /* "13a", "intl", "char", "none", NULL */

typedef enum rgm_mt_metric { RGM_MT_BLEU, RGM_MT_CHRF, RGM_MT_TER, RGM_MT_METRICS } rgm_mt_metric;
extern const char *const rgm_mt_metric_names[]; /* "bleu", "chrf", "ter", NULL */
/**
 * Append the words of a line to `out`, with one space between two words.
 *
 * Errors: RGM_ERR_FORMAT "byte 17 (0xff) is not UTF-8"; RGM_ERR_NOMEM.   Cost: O(line).
 */
rgm_status rgm_mt_tokenize(rgm_text *out, rgm_mt_tokenizer tokenizer, rgm_str line);

/** How many sentences the statistics cover, and how many references these had. */
typedef struct rgm_mt_counts {
    int64_t sentences, least_references, most_references;
} rgm_mt_counts;

#define RGM_BLEU_ORDER 4

/** What a precision without a match becomes (Chen and Cherry, 2014). */
typedef enum rgm_bleu_smoothing {
    RGM_SMOOTH_EXP,   /* the k-th such order counts 1 / 2^k of a match    */
    RGM_SMOOTH_FLOOR, /* it counts smooth_value of a match                */
    RGM_SMOOTH_ADD_K, /* orders 2..4: smooth_value is added to matches and totals */
    RGM_SMOOTH_NONE   /* it is 0, and so is the score                     */
} rgm_bleu_smoothing;
extern const char *const rgm_bleu_smoothing_names[]; /* "exp", "floor", "add-k", "none", NULL */

typedef struct rgm_bleu_options {
    rgm_mt_tokenizer tokenizer;
    bool lowercase;
    rgm_bleu_smoothing smoothing;
    double smooth_value; /* 0: 0.1 for floor, 1 for add-k                                         */
    bool effective_order; /* for single sentences: skip orders longer than the hypotheses */
} rgm_bleu_options;
#define RGM_BLEU_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .tokenizer = RGM_MT_TOKENIZER_13A, .smoothing = RGM_SMOOTH_EXP                             \
    }

typedef struct rgm_bleu_stats {
    int64_t matches[RGM_BLEU_ORDER]; /* n-grams of hypotheses that a reference has */
    int64_t totals[RGM_BLEU_ORDER];  /* n-grams of hypotheses                      */
    int64_t hypothesis_length;       /* words                                      */
    int64_t reference_length;        /* words of the reference nearest in length   */
    rgm_mt_counts counts;
} rgm_bleu_stats;

typedef struct rgm_bleu_score {
    double score;                      /* 0..100                             */
    double precisions[RGM_BLEU_ORDER]; /* percent, smoothed                  */
    double brevity_penalty;            /* 0..1                               */
    double ratio;                      /* of the lengths; 0 when the references have no word */
} rgm_bleu_score;

typedef struct rgm_bleu rgm_bleu;
/** RGM_ERR_ARG for a smooth_value below 0 or not finite. */
rgm_status rgm_bleu_create(rgm_bleu **out, const rgm_bleu_options *options);
void rgm_bleu_release(rgm_bleu *bleu);
/** Cost: O(length of all lines). Errors: RGM_ERR_FORMAT, RGM_ERR_NOMEM. */
rgm_status rgm_bleu_add(rgm_bleu_stats *stats, rgm_bleu *bleu, rgm_str hypothesis,
                        const rgm_str *references, int64_t count);
void rgm_bleu_merge(rgm_bleu_stats *to, const rgm_bleu_stats *from);
rgm_bleu_score rgm_bleu_result(const rgm_bleu_stats *stats, const rgm_bleu_options *options);
rgm_status rgm_bleu_signature(char **out, const rgm_bleu_stats *stats,
                              const rgm_bleu_options *options);

#define RGM_CHRF_MOST_ORDERS 16

/** chrF2; with word_order 2 chrF2++. */
typedef struct rgm_chrf_options {
    int char_order, word_order; /* at most RGM_CHRF_MOST_ORDERS together       */
    double beta;                /* recall counts beta times as much as precision */
    bool lowercase;
} rgm_chrf_options;
#define RGM_CHRF_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .char_order = 6, .word_order = 0, .beta = 2                                                \
    }

/** Counts of n-grams by order: first those of characters, then those of words. With several
 * references, the counts of the best one. */
typedef struct rgm_chrf_stats {
    int64_t hypotheses[RGM_CHRF_MOST_ORDERS];
    int64_t references[RGM_CHRF_MOST_ORDERS];
    int64_t matches[RGM_CHRF_MOST_ORDERS];
    rgm_mt_counts counts;
} rgm_chrf_stats;

typedef struct rgm_chrf rgm_chrf;
/** RGM_ERR_ARG for orders or a beta out of range. */
rgm_status rgm_chrf_create(rgm_chrf **out, const rgm_chrf_options *options);
void rgm_chrf_release(rgm_chrf *chrf);
/** Cost: O(length of all lines). Errors: RGM_ERR_FORMAT, RGM_ERR_NOMEM. */
rgm_status rgm_chrf_add(rgm_chrf_stats *stats, rgm_chrf *chrf, rgm_str hypothesis,
                        const rgm_str *references, int64_t count);
void rgm_chrf_merge(rgm_chrf_stats *to, const rgm_chrf_stats *from);
double rgm_chrf_result(const rgm_chrf_stats *stats, const rgm_chrf_options *options); /* 0..100 */
rgm_status rgm_chrf_signature(char **out, const rgm_chrf_stats *stats,
                              const rgm_chrf_options *options);

/** TER as Tercom computes it, without normalisation. */
typedef struct rgm_ter_options {
    bool case_sensitive;
} rgm_ter_options;

typedef struct rgm_ter_stats {
    int64_t edits;           /* against the reference with the fewest   */
    double reference_length; /* words, the mean over the references     */
    rgm_mt_counts counts;
} rgm_ter_stats;

typedef struct rgm_ter rgm_ter;
/** The scorer of rgm_ter_add(); options may be NULL. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_ter_create(rgm_ter **out, const rgm_ter_options *options);
void rgm_ter_release(rgm_ter *ter);
/**
 * Memory: O(length of the lines). Cost: words * 50 for the distance, and about 100 * 50 more for
 * each shift (Tercom's limits: it tries 1000 shifts per sentence).
 * Errors: RGM_ERR_FORMAT, RGM_ERR_NOMEM.
 */
rgm_status rgm_ter_add(rgm_ter_stats *stats, rgm_ter *ter, rgm_str hypothesis,
                       const rgm_str *references, int64_t count);
void rgm_ter_merge(rgm_ter_stats *to, const rgm_ter_stats *from);
/** Edits per 100 words: 0 is perfect, above 100 is possible. 100 when there are edits but no
 * reference words. */
double rgm_ter_result(const rgm_ter_stats *stats);
/** The settings of the score as text, to print beside it; free it with rgm_free(). Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgm_ter_signature(char **out, const rgm_ter_stats *stats,
                             const rgm_ter_options *options);

#ifdef __cplusplus
}
#endif
#endif
