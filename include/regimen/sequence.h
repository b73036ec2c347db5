/*
 * sequence: models that read and write sequences of tokens, and the search for the best sequence
 * that such a model can write. A task such as translation.h uses it, and decides what the tokens
 * are, where they come from and how a result is judged. This layer knows only ids.
 *
 *   to train  rgm_seq2seq_check(), then in build_model rgm_seq2seq_encode(), _decode(), _logits(),
 *             _losses() and _weights()
 *   to write  rgm_beam_search_create() with the same parameters, then rgm_beam_search_run()
 *   to export rgm_seq2seq_source_graph() and rgm_seq2seq_step_graph()
 *
 * Id 0 is padding, and every target begins with it, or with an id that stands for its language. The
 * task chooses the id that ends a sequence.
 */
#ifndef REGIMEN_SEQUENCE_H
#define REGIMEN_SEQUENCE_H

#include <regimen/sequence_blocks.h>
#include <regimen/sequence_compact.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the model: what it is made of ---------------------------------------------------------- */

/** Which parts of the model share one table. */
typedef enum rgm_seq2seq_embeddings {
    RGM_EMBEDDINGS_SHARED, /* source, target and output */
    RGM_EMBEDDINGS_TARGET, /* target and output         */
    RGM_EMBEDDINGS_UNTIED, /* none                      */
    RGM_EMBEDDINGS_INPUTS  /* source and target         */
} rgm_seq2seq_embeddings;
/** How the embeddings of a source's factors join that of its token. */
typedef enum rgm_factor_combine {
    RGM_FACTORS_SUM,   /* they are added; all have embedding_width                                */
    RGM_FACTORS_CONCAT /* they stand behind it; it has what of embedding_width they leave         */
} rgm_factor_combine;
/** The keys of `model.factors`, of a model with factors. */
typedef struct rgm_factor_options {
    rgm_factor_combine combine;
    int64_t width; /* of each factor's embedding, with concat */
} rgm_factor_options;
/** The keys of `model:` for a task that trains such a model. */
typedef struct rgm_seq2seq_options {
    rgm_stack_options encoder, decoder;
    int64_t embedding_width;
    double dropout_rate; /* of the sum of embeddings and positions                                */
    rgm_seq2seq_embeddings embeddings;
    rgm_factor_options factors;
    bool output_bias; /* a number for each token beside the logits                                */
    bool scale_embeddings; /* rows of tables that are read are multiplied by sqrt(width)          */
    rgm_positions positions;
    double rotary_base;        /* of rotary: turns per token are base^(-2i / depth)               */
    int64_t relative_buckets;  /* of relative: different numbers of a head                        */
    int64_t relative_distance; /* of relative: farther tokens share the last bucket               */
    int64_t max_positions;     /* longer sequences are an error                                   */
} rgm_seq2seq_options;
/** Base (6 + 6 layers of width 512, 8 heads, inner width 2048) and big (1024, 16 heads, 4096). */
void rgm_seq2seq_defaults(void *options);
void rgm_seq2seq_big_defaults(void *options);
extern const rgm_field rgm_seq2seq_fields[];

/**
 * The Transformer with its vocabularies. Tables have rgm_seq2seq_padded() rows. Logits of ids after
 * the last of the vocabulary mean nothing; readers leave them out
 * (rgm_cross_entropy_options.classes).
 *
 * Factors are numbers beside each token of a source: what kind of word it is of, say. Each number
 * from 1 to factor_values is a row of the table source_factors/table, whatever factor it is of; 0
 * says nothing, and is a row too.
 *
 * Parameters: embedding/table (or source_embedding/, target_embedding/, output/), output/bias,
 * source_factors/table, learned positions and relative/table under encoder/ and decoder/,
 * encoder/layer_<i>/{attention/{norm/,query/,key/,value/,output/},
 * ffn/{norm/,gate/,inner/,outer/}}, decoder/layer_<i>/{self_attention/,cross_attention/,ffn/},
 * encoder/norm/, decoder/norm/; those of them that the options ask for.
 */
typedef struct rgm_seq2seq {
    rgm_seq2seq_options options;
    int64_t source_vocabulary, target_vocabulary;
    int64_t source_factors; /* numbers beside each token of a source; 0: none */
    int64_t factor_values;  /* they are 0 .. factor_values                     */
} rgm_seq2seq;
/** The rows of the table of a vocabulary: its size rounded up to a multiple of 8. */
int64_t rgm_seq2seq_padded(int64_t vocabulary);
/** RGM_ERR_CONFIG: an option out of bounds, a number of heads that does not divide the width,
 * vocabularies that cannot share a table. */
rgm_status rgm_seq2seq_check(const rgm_seq2seq *model);
/** The same of rgm_seq2seq_options alone, before there are vocabularies. RGM_ERR_CONFIG. */
rgm_status rgm_seq2seq_options_check(const void *options);

/** What is added for each position in a model with either kind of sinusoids: table [max_positions,
 * embedding_width], sines and then cosines. */
void rgm_seq2seq_sinusoids(float *table, const rgm_seq2seq_options *options);

/* ---- graphs that train it ------------------------------------------------------------------- */

/** The encoder's states [b s, width] of source ids [b, s] i32/i64, which are 0 after the end of a
 * sentence; positions [s] i64 = 0, 1, .. */
rgm_value *rgm_seq2seq_encode(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *source,
                              rgm_value *positions);
/** The same of a model with factors: [b, s, source_factors] i32/i64. NULL: the model has none. */
rgm_value *rgm_seq2seq_encode_factors(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *source,
                                      rgm_value *factors, rgm_value *positions);
/**
 * The decoder's states [b t, width] of target ids [b, t], which begin with 0 or a tag. A token
 * attends to itself and to the tokens before it. `memory` is the encoder's result for `source`;
 * positions [t] i64.
 */
rgm_value *rgm_seq2seq_decode(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *target,
                              rgm_value *positions, rgm_value *memory, rgm_value *source);
/** The logits [n, rgm_seq2seq_padded(target vocabulary)] of states [n, width]. */
rgm_value *rgm_seq2seq_logits(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *states);

/**
 * Cross-entropy [n] of logits [n, padded] with labels [n], with the label smoothing of the Model
 * Garden: the target distribution has 1 - smoothing on the label and smoothing / (V - 1) on each
 * other token. The entropy of this distribution is subtracted, so that a perfect prediction costs
 * 0. Training minimises the mean over the labels of a batch that are not 0.
 */
rgm_value *rgm_seq2seq_losses(const rgm_seq2seq *model, rgm_value *logits, rgm_value *labels,
                              double smoothing);
/** The weights [n] in the scope's dtype of labels [n] i64: 1 for a token, 0 for padding. */
rgm_value *rgm_seq2seq_weights(rgm_scope *scope, rgm_value *labels);

/* ---- what a target attends to in its source ---------------------------------------------------
 */

/** One of the decoder's attentions to the source: keys of `task.search.attention`. */
typedef struct rgm_attention_place {
    int64_t layer; /* from 0; -1: the last           */
    int64_t head;  /* from 0; -1: the mean of all    */
} rgm_attention_place;
#define RGM_ATTENTION_PLACE_INIT                                                                   \
    {                                                                                              \
        .layer = -1, .head = -1                                                                    \
    }
extern const rgm_field rgm_attention_place_fields[];
/** RGM_ERR_CONFIG: the model has no such layer or head. key: of the place, for the message. */
rgm_status rgm_attention_place_check(const rgm_attention_place *place, const rgm_seq2seq *model,
                                     const char *key);

/** What is compared there; the graph's. */
typedef struct rgm_cross_attention {
    rgm_value *queries; /* [b, t, width] of the target's tokens                     */
    rgm_value *keys;    /* [b, s, width of the decoder's keys] of the source's tokens */
} rgm_cross_attention;
/** That of the decoder that rgm_seq2seq_decode() has built in this scope. Errors: RGM_ERR_CONFIG
 * (no such layer), RGM_ERR_ARG (there is no decoder), what is wrong with the graph. */
rgm_status rgm_seq2seq_attention(rgm_cross_attention *out, rgm_scope *scope,
                                 const rgm_seq2seq *model, const rgm_attention_place *place);
/**
 * Guided alignment (Chen et al. 2016): the cross-entropy [b t] of what each token of the target
 * attends to there, without dropout, with what it is to attend to.
 *
 * @param source     [in] ids [b, s]; nobody attends to 0
 * @param alignment  [in] [b, t, s] in the scope's dtype: each row has the sum 1, or is 0 where
 *                   nothing is known, whose loss is 0
 */
rgm_value *rgm_seq2seq_alignment_losses(const rgm_cross_attention *attention,
                                        const rgm_seq2seq *model, const rgm_attention_place *place,
                                        rgm_value *source, rgm_value *alignment);
/**
 * How much each token of one target attends to each token of its source: weights [targets, sources]
 * with the sum 1 for each target, the same bits whatever padding or other sentences were beside
 * them.
 *
 * @param queries  [in] [targets, width], fetched of rgm_cross_attention
 * @param keys     [in] [sources, width of keys]
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_attention_weights(float *weights, const float *queries, int64_t targets,
                                 const float *keys, int64_t sources, const rgm_seq2seq *model,
                                 const rgm_attention_place *place);

/* ---- graphs that write one token at a time --------------------------------------------------- */

/*
 * An export writes these two graphs. rgm_beam_search runs the first, and the second in a form that
 * does not copy the keys. The keys of decoder layer i are at [2 i] of an array, its values at
 * [2 i + 1].
 */

/** The maximum number of decoder layers. */
enum { RGM_SEQ2SEQ_LAYERS = RGM_STACK_LAYERS };

/** What the decoder layers attend to in the sources. */
typedef struct rgm_seq2seq_source {
    rgm_value *ids;     /* [sentences, length] i64, 0 after the end of a sentence */
    rgm_value *factors; /* input "source_factors" i64 [sentences, length, source_factors]; NULL: the
                           model has none */
    rgm_value
        *memory[2 * RGM_SEQ2SEQ_LAYERS]; /* [sentences, length, key and value heads * depth] */
} rgm_seq2seq_source;
/**
 * @param positions [length] i64 = 0, 1, ..; errors: rgm_seq2seq_check()'s and the graph's.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_CONFIG, RGM_ERR_UNSUPPORTED,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_seq2seq_source_graph(rgm_seq2seq_source *out, rgm_scope *scope,
                                    const rgm_seq2seq *model, rgm_value *ids, rgm_value *positions);

/** One more token for each row. There are sentences * beams rows; the beams of a sentence are
 * consecutive. */
typedef struct rgm_seq2seq_step {
    rgm_value *ids;      /* input "ids" i64 [sentences, beams]: the newest tokens, 0 or a tag at
                            first */
    rgm_value *position; /* input "position" i64 [1]: how many tokens came before them       */
    rgm_value *source;   /* as given: positions where it is 0 get no attention               */
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

/* ---- search over tokens ---------------------------------------------------------------------- */

/** Tokens in a row; borrowed. */
typedef struct rgm_token_list {
    const int32_t *ids;
    int64_t count;
} rgm_token_list;
/** The maximum number of token lists that one result can be asked to contain. */
enum { RGM_MOST_REQUIRED = 32 };
/** What is asked of the result of one source. All zero: nothing. */
typedef struct rgm_target_request {
    rgm_token_list prefix;          /* the result begins with these */
    const rgm_token_list *required; /* each of these occurs in the result, also inside the prefix;
                                       beam_size must be 2 at least */
    int64_t required_count;         /* RGM_MOST_REQUIRED at most */
    const rgm_token_list *banned;   /* none of these ends behind the prefix */
    int64_t banned_count;
} rgm_target_request;

/** What the log-probability of a finished hypothesis is divided by; its length counts the end. */
typedef enum rgm_length_penalty {
    RGM_LENGTH_GNMT, /* ((5 + length) / 6)^alpha (Wu et al. 2016)                              */
    RGM_LENGTH_POWER /* length^alpha: Marian's --normalize, Transformers' length_penalty       */
} rgm_length_penalty;

/** Beam search, greedy search (one beam) or sampling: the keys of `task.search`. */
typedef struct rgm_beam_search_options {
    int64_t beam_size; /* 1: greedy                                                             */
    int64_t n_best;    /* hypotheses to return for each sentence, at most beam_size             */
    double alpha;      /* of length_penalty; 0: the score is the log-probability               */
    rgm_length_penalty length_penalty;
    bool no_padding; /* no result has token 0, which a model that was never trained to leave it out
                        may give; its probability stays with it                              */
    bool end_within_beam; /* a hypothesis ends only where its end is among the best beam_size
                             continuations, as in Transformers; false: among the best twice as many.
                             Not where lists are required                                     */
    double coverage; /* a finished hypothesis' score gets so many times the sum, over the tokens of
                        its source, of log(min(what all of its tokens attended to there, 1)) (Wu
                        et al. 2016); 0: nothing                                              */
    rgm_attention_place attention; /* of which attention that is                                */
    int64_t decode_max_length;     /* maximum tokens of a result, its end included; 0: by the next
                                      two                                                       */
    double decode_length_factor;   /* so many times as many as the source has with its end ..   */
    int64_t extra_decode_length;   /* .. and so many more                                       */
    int64_t decode_min_length;     /* minimum tokens of a result, its end not included */
    int64_t no_repeat_ngram;   /* no so many tokens in a row occur twice in a result; 0: they may */
    double repetition_penalty; /* the log-probabilities of tokens that a hypothesis has already are
                                  multiplied by it (Keskar et al. 2019); 1: nothing changes, >= 1 */
    int64_t diversity_groups;  /* beams are divided into so many groups, each of which searches by
                                  itself and avoids what the groups before it chose in the same
                                  step (Vijayakumar et al. 2018); 1: no groups                  */
    double diversity; /* taken off a token's log-probability, for the choice alone, for each beam of
                         an earlier group that chose it in this step */
    int64_t decode_batch_size;   /* sentences decoded together at most .. */
    int64_t decode_batch_tokens; /* .. and tokens of their sources, with their ends and padded to
                                    the longest, unless one sentence has more; 0: any number */
    bool int8; /* on the CPU: weights in 8 bits, and what they are multiplied with: faster, nearly
                  the same results. See rgm_int8_step(); tables are rounded row by row            */
    const rgm_shortlist *shortlist; /* on the CPU, of one model, without sampling, groups, rules and
                                       requests: a translation has no other tokens than those of its
                                       source, and probabilities are among them; borrowed. NULL: all
                                       tokens */
    bool sample;        /* sample each token instead of searching (beam_size is 1)               */
    double temperature; /* of sampling: logits are divided by it; > 0                            */
    int64_t top_k;      /* sample among the k most probable tokens; 0: among all                 */
    double top_p;       /* sample among the fewest most probable tokens with this total
                           probability                                                           */
    int64_t seed;       /* of sampling. Sentence i has its own random stream, with the number
                           first_number + numbers[i]. So the results of a text do not depend on
                           how it is divided into calls                                          */
    int64_t first_number;
    const int64_t *numbers;             /* [count] borrowed; NULL: 0, 1, .. */
    const rgm_target_request *requests; /* [count] borrowed; NULL: nothing is asked */
    const int32_t *begins; /* [count] what each result begins with, in place of 0; not a part of its
                              ids; borrowed. NULL: 0 */
    const int32_t *const *factors; /* [count] of each source [length, source_factors], borrowed;
                                      NULL: the model has none */
    int32_t end_id; /* end of sentence                                                       */
} rgm_beam_search_options;
#define RGM_BEAM_SEARCH_OPTIONS_INIT                                                               \
    {                                                                                              \
        .beam_size = 4, .n_best = 1, .alpha = 0.6, .attention = RGM_ATTENTION_PLACE_INIT,          \
        .decode_length_factor = 1, .extra_decode_length = 50, .repetition_penalty = 1,             \
        .diversity_groups = 1, .diversity = 0.5, .decode_batch_size = 64, .temperature = 1,        \
        .top_p = 1, .end_id = 1                                                                    \
    }
extern const rgm_field rgm_beam_search_fields[];
/** RGM_ERR_CONFIG: an option out of bounds, options that exclude each other, more beams than half
 * the target vocabulary. */
rgm_status rgm_beam_search_check(const rgm_beam_search_options *options, const rgm_seq2seq *model);
/** Tokens that the result of a source of that length may have at most, its end included. What a
 * request asks for at once must be fewer.
 *
 * @param positions  [in] max_positions of the model; the fewest of several
 */
int64_t rgm_beam_search_longest(const rgm_beam_search_options *options, int64_t positions,
                                int64_t source_length);

/** A result: its tokens without start and end, the sum of the log-probabilities including that of
 * the end, and the score. */
typedef struct rgm_hypothesis {
    int32_t *ids;
    int64_t count;
    double log_probability, score;
    bool finished;   /* false: cut at the maximum length, or nothing that was allowed could follow;
                        the   score is then the log-probability */
    int64_t longest; /* tokens that it could have at most, its end included */
    int64_t missing; /* required lists of its request that it lacks: 0 unless it was cut */
} rgm_hypothesis;
/** The best hypotheses of a sentence, best first. */
typedef struct rgm_hypotheses {
    rgm_hypothesis *items;
    int64_t count;
} rgm_hypotheses;
void rgm_hypotheses_clear(rgm_hypotheses *hypotheses);

/**
 * Searches with the weights of a model. It holds executors for the encoder and for one decoder
 * step, and the keys and values of the sentences that are being decoded.
 */
typedef struct rgm_beam_search rgm_beam_search;
/**
 * @param parameters  [in] borrowed; may change between runs
 * @param device      [in] computes; keys and values stay in its memory. NULL: the CPU
 * @param bf16        [in] as rgm_executor_options.bf16; a search with int8 does without
 * Errors: RGM_ERR_ARG, RGM_ERR_DTYPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_beam_search_create(rgm_beam_search **out, const rgm_seq2seq *model,
                                  const rgm_parameters *parameters, rgm_device *device, bool bf16);
void rgm_beam_search_release(rgm_beam_search *search);
/** The maximum number of models that decode together. */
enum { RGM_MOST_MODELS = 8 };
/**
 * Search with other models too: the probability of a token is the mean of the probabilities that
 * all of them give it. Replaces those that were joined before.
 *
 * @param others  [in] borrowed as long as `search` runs; their own runs do not disturb it
 * @param count   [in] 0: none; RGM_MOST_MODELS - 1 at most
 *
 * Errors: RGM_ERR_CONFIG (other vocabularies or factors, too many of them).
 */
rgm_status rgm_beam_search_join(rgm_beam_search *search, rgm_beam_search *const *others,
                                int64_t count);
/**
 * Find the best targets of each of `count` sources, which are ids with their end. Sources of
 * similar length are decoded together, keys and values of earlier tokens are kept, and a sentence
 * that has ended leaves the batch. A result depends on neither the other sentences of its batch,
 * nor the padding, nor the number of threads.
 *
 * Beam search looks at the best 2 * beam_size of the beam_size * vocabulary continuations. Those
 * that end become finished hypotheses; the best beam_size of them are kept. The best of the others
 * go on. The search of a sentence ends at its maximum length, or when its worst finished hypothesis
 * scores above what the best open one could reach at that length. If no hypothesis has finished,
 * the open ones are returned. Coverage takes part in the scores of what has finished: open
 * hypotheses, which have not read their sources to the end, go on by their log-probability.
 *
 * What is forbidden is left out, and the probabilities of the rest stay the model's: they are not
 * scaled up, so that a score says how probable the result is without any request. With required
 * lists, hypotheses compete only with those that have as many of the required tokens as they have,
 * and the beams are shared out among these banks (Post and Vilar 2018), so that a result with all
 * of them is found although each step towards it is improbable.
 *
 * @param out  [out] [count]; the caller clears them. After an error there is nothing to clear
 *
 * Errors: RGM_ERR_ARG (a model with factors, and none given, or the other way round),
 * RGM_ERR_CONFIG (options, a request that they do not go with), RGM_ERR_UNSUPPORTED (int8 or a
 * shortlist on another device than the CPU), RGM_ERR_DATA (an id outside the vocabulary, a factor
 * or a begin that there is not, an empty sentence, a sentence longer than max_positions, a request
 * that contradicts itself or the length), RGM_ERR_NOMEM, RGM_ERR_IO (the device is lost).
 */
rgm_status rgm_beam_search_run(rgm_hypotheses *out, rgm_beam_search *search,
                               const int32_t *const *sources, const int64_t *lengths, int64_t count,
                               const rgm_beam_search_options *options);

/**
 * The order in which sequences of like length come together: numbers [count] of 0 .. count - 1, the
 * longest first, equal ones in their order. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_longest_first(int64_t *numbers, const int64_t *lengths, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
