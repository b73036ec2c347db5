/*
 * What the files of this layer share: blocks, the decoder, decoding. A model beside seq2seq.c (a
 * decoder without a source, say) is a file that puts the same blocks together.
 */
#ifndef RGM_SEQUENCE_INTERNAL_H
#define RGM_SEQUENCE_INTERNAL_H

#include <stdio.h>
#include <string.h>

#include <regimen/kernels.h>
#include <regimen/sequence.h>
#include <regimen/sequence_decoder.h>

/* ---- blocks.c: parts of a stack ---- */

/** Builds something below a scope, and makes an executor of it. */
typedef rgm_status rgmi_graph_builder(void *payload, rgm_scope *scope,
                                      const rgm_executor_options *options);
/** Make a graph and build in it; *graph is owned, also after an error. */
rgm_status rgmi_open_graph(rgm_cgraph **graph, rgmi_graph_builder *build, void *payload,
                           const rgm_executor_options *options);

/** How rows [sequences * length, width] are grouped. */
typedef struct rgmi_row_shape {
    rgm_dim sequences, length;
} rgmi_row_shape;

/** What a model says of its embeddings. */
typedef struct rgmi_embedding {
    int64_t width, max_positions;
    bool scaled; /* by sqrt(width) */
    double dropout;
    rgm_positions positions;
    double rotary_base;
    int64_t relative_buckets, relative_distance;
} rgmi_embedding;
/** Rows of ids [b, n]: [b n, width] with what positions, i64 [n] or [b, n], add; dropped out. */
rgm_value *rgmi_embed(rgm_scope *scope, const rgmi_embedding *o, rgm_value *table, rgm_value *ids,
                      rgm_value *positions);
/** The same of rows [b n, width] that were read of tables. */
rgm_value *rgmi_embed_rows(rgm_scope *scope, const rgmi_embedding *o, rgm_value *rows,
                           rgm_value *ids, rgm_value *positions);
rgm_value *rgmi_stack_norm(rgm_scope *scope, const char *name, const rgm_stack_options *o,
                           rgm_value *x);
/** What comes behind the last layer. */
rgm_value *rgmi_stack_end(rgm_scope *stack, const rgm_stack_options *o, rgm_value *x);
/** What a block reads, and its result: `made` dropped out at `rate` and added to x. */
rgm_value *rgmi_block_input(rgm_scope *block, const rgm_stack_options *o, rgm_value *x);
rgm_value *rgmi_block_output(rgm_scope *block, const rgm_stack_options *o, rgm_value *x,
                             rgm_value *made, double rate);
/** The dropout of what an attention adds; `otherwise`: where the options leave it open. */
double rgmi_attention_output_rate(const rgm_stack_options *o, double otherwise);
/** Heads and width of keys and values in a model of that width. */
int64_t rgmi_key_heads(const rgm_stack_options *o);
int64_t rgmi_key_width(const rgm_stack_options *o, int64_t width);
/** Keys and values of rows, [sequences, length, key width]. */
void rgmi_attention_keys(rgm_value **keys, rgm_value **values, rgm_scope *block,
                         const rgm_stack_options *o, rgm_value *rows, const rgmi_row_shape *shape);
/** Notes of the graph: queries and keys of rgmi_attend() and rgmi_attend_rows(), by their block. */
extern const char rgmi_cross_attention[];
/** Queries of rows x look up given keys and values, wherever those stand; rows again, through the
 * output projection. visible: ids of the keys, of which 0 is hidden, or NULL. */
rgm_value *rgmi_attend(rgm_scope *block, const rgm_stack_options *o, rgm_value *x,
                       const rgmi_row_shape *shape, rgm_value *keys, rgm_value *values,
                       rgm_value *visible);
/** The same where keys and values are rows, and `rows` lists those that each query sees. */
rgm_value *rgmi_attend_rows(rgm_scope *block, const rgm_stack_options *o, rgm_value *x,
                            const rgmi_row_shape *shape, rgm_value *keys, rgm_value *values,
                            rgm_value *rows);

/** Keys and values of a stack's own tokens. */
typedef struct rgmi_kept_keys {
    rgm_value *past_keys, *past_values; /* of tokens before these, [sequences, length, key width];
                                           NULL: there are none        */
    rgm_value *keys, *values;           /* [out] past ones and those of these tokens           */
    /* Unless NULL, past ones are [n, key width] and these, i64 [rows, steps], say which rows of
     * them a row's token sees (negative: none); keys and values [rows, key width] are then those of
     * the new tokens alone. */
    rgm_value *past_rows;
} rgmi_kept_keys;
/** What of them a token sees: see rgm_attention_options. */
typedef struct rgmi_seen {
    rgm_value *key, *query;
    bool causal;
} rgmi_seen;
struct rgmi_token_places;
/** Rows x look up each other and what is kept. */
rgm_value *rgmi_attend_self(rgm_scope *block, const rgm_stack_options *o, rgm_value *x,
                            const rgmi_row_shape *shape, const struct rgmi_token_places *places,
                            const rgmi_seen *seen, rgmi_kept_keys *kept);
/** The whole block "ffn" of a layer. */
rgm_value *rgmi_feed_forward(rgm_scope *layer, const rgm_stack_options *o, rgm_value *x);
/** "layer_<i>" of a stack. */
rgm_scope *rgmi_stack_layer(rgm_scope *stack, int64_t i);
/** states table^T, with "output/bias" where there is one. */
rgm_value *rgmi_logits(rgm_scope *scope, rgm_value *states, rgm_value *table, bool bias);

/* ---- positions.c ---- */

/** What the attention of a stack's own tokens needs to know of their positions. */
typedef struct rgmi_token_places {
    rgm_value *at;           /* i64 [n] of the rows, again and again */
    rgm_value *angles;       /* rotary: [max_positions, depth]; else NULL  */
    rgm_value *slope, *bias; /* see rgm_attention_options; NULL: none      */
} rgmi_token_places;
/** positions: as rgmi_embed() has them. */
void rgmi_places_make(rgmi_token_places *out, rgm_scope *stack, const rgmi_embedding *o,
                      const rgm_stack_options *blocks, rgm_value *positions, bool causal);
/** Rows of `heads` heads, turned where that is how they get their positions; places may be NULL. */
rgm_value *rgmi_places_turn(const rgmi_token_places *places, rgm_value *rows, int64_t heads);
bool rgmi_positions_are_added(rgm_positions positions);
/** What sinusoids add at each position: [max_positions, width]. */
void rgmi_sinusoids_write(float *table, const rgmi_embedding *o);
/** What is added at positions i64 [n], [n, width]. */
rgm_value *rgmi_positions_of(rgm_scope *scope, const rgmi_embedding *o, rgm_value *positions);

/* ---- blocks_options.c ---- */

extern const rgm_field rgmi_stack_fields[];
extern const char *const rgmi_position_names[];
/** The keys of both models' embeddings that concern positions, within RGM_OPTIONS. */
#define RGMI_POSITION_FIELDS                                                                       \
    RGM_CHOICE_FIELD(positions, rgmi_position_names, "what tells a token its place"),              \
        RGM_FLOAT_FIELD(rotary_base, 1, 1e12, "of rotary positions: the slowest turn"),            \
        RGM_INT_FIELD(relative_buckets, 2, 1e5, "of relative positions: numbers of a head"),       \
        RGM_INT_FIELD(relative_distance, 2, 1e5,                                                   \
                      "of relative positions: farther tokens share the last bucket")
/** Contradictions of a stack, whose key is `name`, in a model whose embeddings are `e`. */
rgm_status rgmi_stack_check(const rgm_stack_options *o, const char *name, const rgmi_embedding *e,
                            bool causal);
/** Contradictions of the embeddings. */
rgm_status rgmi_embedding_check(const rgmi_embedding *e);

/* ---- seq2seq.c: the decoder with keys and values from outside ---- */

/** What one layer of the decoder reads and leaves behind; all [sequences, length, key width]. */
typedef struct rgmi_seq2seq_layer {
    rgm_value *source_keys, *source_values; /* of the encoder's result */
    rgmi_row_shape source_queries;          /* sequences 0: the rows' own shape              */
    rgm_value *source_rows; /* unless NULL the source's are [n, key width], and this lists those
                               that a sentence's beams see: [sentences, length]              */
    rgmi_kept_keys kept;
} rgmi_seq2seq_layer;

/** Width of the table that a source's tokens are read of: what factors behind them leave. */
int64_t rgmi_source_width(const rgm_seq2seq *model);
/** The name of the parameter whose rows give the logits. */
const char *rgmi_output_table(const rgm_seq2seq *model);
/** source_keys and source_values of every layer, from the encoder's rows. */
void rgmi_seq2seq_source_keys(rgmi_seq2seq_layer *layers, rgm_scope *scope,
                              const rgm_seq2seq *model, rgm_value *memory,
                              const rgmi_row_shape *shape);
/** States of target rows; `shape` groups them for self-attention. */
rgm_value *rgmi_seq2seq_decoder(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *target,
                                rgm_value *positions, rgm_value *source, rgmi_seq2seq_layer *layers,
                                const rgmi_row_shape *shape);

/* ---- decoder.c: the decoder without a source ---- */

rgmi_embedding rgmi_decoder_embedding(const rgm_decoder_options *o);
/** States of the inputs' tokens; kept: of each layer. */
rgm_value *rgmi_decoder_stack(rgm_scope *scope, const rgm_decoder *model,
                              const rgm_decoder_inputs *inputs, rgmi_kept_keys *kept);
/** An input of keys (even i) or values of layer i / 2. */
rgm_value *rgmi_keys_input(rgm_cgraph *graph, const char *what, int64_t i, int rank,
                           const rgm_dim *shape);
/** Prompts, read at once. */
typedef struct rgmi_decoder_prompt {
    rgm_value *ids, *positions; /* inputs: i64 [prompts, tokens], i64 [tokens]                 */
    rgm_value *last;            /* input: i64 [prompts], rows of the last tokens               */
    rgm_value *logits;          /* [prompts, padded vocabulary] behind those                   */
    rgm_value *keys[2 * RGM_STACK_LAYERS]; /* [prompts, tokens, key width]                     */
} rgmi_decoder_prompt;
rgm_status rgmi_decoder_prompt_graph(rgmi_decoder_prompt *out, rgm_scope *scope,
                                     const rgm_decoder *model);
/** One token more of each row, see past_rows of rgmi_kept_keys. */
typedef struct rgmi_decoder_rows {
    rgm_value *ids, *positions; /* inputs: i64 [rows, 1]                                       */
    rgm_value *past_rows;       /* input: i64 [rows, steps]                                    */
    rgm_value *past[2 * RGM_STACK_LAYERS];   /* inputs: [kept_rows, key width]                 */
    rgm_value *logits;                       /* [rows, padded vocabulary]                      */
    rgm_value *newest[2 * RGM_STACK_LAYERS]; /* [rows, key width]                              */
} rgmi_decoder_rows;
rgm_status rgmi_decoder_rows_graph(rgmi_decoder_rows *out, rgm_scope *scope,
                                   const rgm_decoder *model);

/* ---- seq2seq_graphs.c, beam_decoding.c: one token at a time ---- */

enum { RGMI_MOST_BEAMS = 64 };

/**
 * One token more for each row, as rgm_seq2seq_step has it, but with keys and values that stay where
 * they were put: see past_rows of rgmi_kept_keys.
 */
typedef struct rgmi_seq2seq_rows {
    rgm_value *ids, *position;          /* inputs: i64 [sentences, beams], i64 [1]            */
    rgm_value *source_rows, *past_rows; /* inputs: i64 [sentences, length], i64 [rows, steps] */
    rgm_value *memory[2 * RGM_SEQ2SEQ_LAYERS]; /* inputs: [memory_rows, key width] */
    rgm_value *past[2 * RGM_SEQ2SEQ_LAYERS];   /* inputs: [kept_rows, key width]   */
    rgm_value *states; /* [rows, width], from which the logits are made      */
    rgm_value *logits; /* [rows, padded target vocabulary]                   */
    rgm_value *newest[2 * RGM_SEQ2SEQ_LAYERS]; /* [rows, key width] */
} rgmi_seq2seq_rows;
rgm_status rgmi_seq2seq_rows_graph(rgmi_seq2seq_rows *out, rgm_scope *scope,
                                   const rgm_seq2seq *model);

/* ---- beam_search.c ---- */

/** How many of `rest` sentences are decoded together, of which the first, the longest, has that
 * many tokens. */
int64_t rgmi_beam_batch(const rgm_beam_search_options *options, int64_t longest, int64_t rest);

/* ---- attention.c: what targets attend to in their sources ---- */

/** Number of the layer that a place means. */
int64_t rgmi_attention_layer(const rgm_attention_place *place, const rgm_seq2seq *model);
/**
 * As rgm_attention_weights() of one token, with keys at rows [sources] of `keys` (NULL: 0, 1, ..):
 * add `share` of its weights to `sum`. scores [sources] is room.
 */
void rgmi_attention_add(double *sum, double share, float *scores, const float *query,
                        const float *keys, const int64_t *rows, int64_t sources,
                        const rgm_seq2seq *model, const rgm_attention_place *place);

/** The decoder's width of keys and values. */
int64_t rgmi_seq2seq_key_width(const rgm_seq2seq *model);
/** What a model says of its embeddings. */
rgmi_embedding rgmi_seq2seq_embedding(const rgm_seq2seq_options *o);

/** Sentences being decoded together, one batch of a search at a time. */
typedef struct rgmi_decoding {
    rgm_beam_search *search;
    int64_t sentences, beams;                  /* rows are sentences * beams */
    int64_t steps;                             /* tokens whose keys and values are kept */
    rgm_tensor *ids, *source_rows, *past_rows; /* over the search's memory, of the sizes of now */
} rgmi_decoding;
/** Sources of a batch, each in its own array; all borrowed. */
typedef struct rgmi_sources {
    const int32_t *const *ids;     /* [count] */
    const int32_t *const *factors; /* [count] as in rgm_beam_search_options; NULL: none */
    const int64_t *lengths;        /* [count] */
    int64_t count;
} rgmi_sources;
/** Encode sources padded to the longest; one beam each, later at most `beams`. */
rgm_status rgmi_decoding_open(rgmi_decoding *decoding, rgm_beam_search *search,
                              const rgmi_sources *sources, int64_t beams);
void rgmi_decoding_close(rgmi_decoding *decoding);
/** One more token for each row. rgmi_decoding_select() must follow before the next step. */
rgm_status rgmi_decoding_step(rgmi_decoding *decoding, const int32_t *ids);
/** Behind a step: the `count` most probable continuations of each row, as rgm_top_args has them:
 * both [rows, count]. */
rgm_status rgmi_decoding_top(float *log_probabilities, int64_t *ids, const rgmi_decoding *decoding,
                             int64_t count);
/** Behind a step of a search whose options have coverage: add `share` of what each row's newest
 * token attends to in its source to sum [rows, width]. RGM_ERR_NOMEM, RGM_ERR_IO. */
rgm_status rgmi_decoding_attended(double *sum, int64_t width, double share,
                                  const rgmi_decoding *decoding);
/** Behind a step: *logits f32 [rows, padded target vocabulary], borrowed until the next step or
 * close. */
rgm_status rgmi_decoding_logits(const float **logits, const rgmi_decoding *decoding);
/**
 * What goes on: the listed sentences (ascending; numbers within the batch), `beams` rows each, of
 * which row k takes over from row parents[k].
 */
rgm_status rgmi_decoding_select(rgmi_decoding *decoding, const int64_t *sentences, int64_t count,
                                int64_t beams, const int64_t *parents);
const rgm_seq2seq *rgmi_beam_search_model(const rgm_beam_search *search);
/** The search itself, then those that were joined to it; NULL: there are no more. */
rgm_beam_search *rgmi_beam_search_member(rgm_beam_search *search, int64_t i);
/** Before a batch: graphs and weights as the options want them. RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgmi_beam_search_ready(rgm_beam_search *search, const rgm_beam_search_options *options);

/* ---- lexicon.c: what translates what ---- */

/** A sparse table: for each source token the targets that stand in a pair with it. */
typedef struct rgmi_lexicon {
    const char *what; /* "a shortlist is": what is learned, for messages */
    const rgm_sequence_pair *pairs;
    int64_t count, sources, targets;
    double diagonal;  /* a source token at k of n is exp(-diagonal |k/n - j/m|) times as likely for
                         the target at j of m, before it is known which they are; 0: all are alike */
    int64_t *start;   /* [sources + 1]                              */
    int32_t *target;  /* [entries] ascending for each source        */
    float *p, *share; /* [entries] probability; what EM counts      */
    int64_t entries, target_room;
    float *empty_p, *empty_share; /* [targets] of the empty source word */
    int64_t *frequency;           /* [targets] */
} rgmi_lexicon;
/** Learn it of the pairs; pairs, vocabularies and diagonal are set. RGM_ERR_ARG, RGM_ERR_DATA,
 * RGM_ERR_NOMEM. */
rgm_status rgmi_lexicon_learn(rgmi_lexicon *lexicon);
void rgmi_lexicon_clear(rgmi_lexicon *lexicon);
/** Tokens of the longest source. */
int64_t rgmi_lexicon_longest(const rgmi_lexicon *lexicon);
/** How likely each source token [source_count] is to have made target j of its pair, and the empty
 * word; their sum. entries [source_count]: where the tokens stand in the table. */
double rgmi_lexicon_likely(float *likely, float *empty, int64_t *entries,
                           const rgmi_lexicon *lexicon, const rgm_sequence_pair *pair, int64_t j);

/* ---- beam_shortlist.c: decoding among some tokens ---- */

/** All target tokens, the most frequent first. */
const int32_t *rgmi_shortlist_frequent(const rgm_shortlist *shortlist);
/** The tokens of a batch of sentences, and room that is kept from batch to batch. */
typedef struct rgmi_shortened {
    const rgm_shortlist *list;    /* borrowed; NULL: none                         */
    const rgm_kernels *kernels;   /* f32                                          */
    const rgm_kernels *product;   /* of the same device: what multiplies          */
    int32_t end_id;               /* may stand in every translation               */
    int64_t least;                /* tokens that each sentence has at least       */
    int64_t count, padded, width; /* tokens of the batch; columns of the product */
    int32_t *ids;                 /* [count] ascending                            */
    int64_t *start;               /* [sentences + 1] in places                    */
    int32_t *places;              /* of each sentence's tokens among ids          */
    float *rows, *bias, *logits, *own;
    char *packed;
    bool has_bias;
    size_t ids_room, start_room, places_room, rows_room, bias_room, packed_room, logits_room,
        own_room;
} rgmi_shortened;
/** The tokens of these sources; table [target vocabulary, width] gives their logits, and bias
 * [target vocabulary], unless NULL, is added. RGM_ERR_NOMEM. */
rgm_status rgmi_shortened_open(rgmi_shortened *shortened, const int32_t *const *sources,
                               const int64_t *lengths, int64_t sentences, const float *table,
                               const float *bias, int64_t width);
void rgmi_shortened_clear(rgmi_shortened *shortened);
/** As rgmi_decoding_top(), of states [count * beams, width] of the sentences with these numbers
 * among the sources. RGM_ERR_NOMEM. */
rgm_status rgmi_shortened_top(float *log_probabilities, int64_t *ids, rgmi_shortened *shortened,
                              const float *states, const int64_t *sentences, int64_t count,
                              int64_t beams, int64_t top);

/* ---- eight_bits.c ---- */

/** Whether 8 bits keep the tables of embeddings as they are, as of a model that was kept so.
 * RGM_ERR_NOMEM, those of rgm_parameters_to_host(). */
rgm_status rgmi_tables_are_rounded(bool *out, const rgm_parameters *parameters);
/** Round each row of each table of embeddings to what 8 bits keep of it. */
void rgmi_round_tables(rgm_parameters *parameters);

#endif
