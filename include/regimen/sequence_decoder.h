/*
 * sequence, the decoder without a source: what language models are made of.
 *
 *   to train    rgm_decoder_check(), then in build_model rgm_decoder_states() and _logits()
 *   to write    rgm_token_writer_create() with the same parameters, _add() prompts, _step() tokens
 *   to export   rgm_decoder_step_graph()
 *
 * Ids are 0..vocabulary-1, and none is special: with segments padding is what has segment 0.
 */
#ifndef REGIMEN_SEQUENCE_DECODER_H
#define REGIMEN_SEQUENCE_DECODER_H

#include <regimen/sequence.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the model ------------------------------------------------------------------------------ */

/** The keys of `model:` for a task that trains such a model. */
typedef struct rgm_decoder_options {
    rgm_stack_options decoder;
    int64_t embedding_width;
    double dropout_rate;   /* of embeddings with their positions                     */
    bool tied;             /* one table for tokens that are read and written         */
    bool output_bias;      /* a number for each token beside the logits              */
    bool scale_embeddings; /* embeddings times sqrt(embedding_width)                 */
    rgm_positions positions;
    double rotary_base;        /* of rotary: turns per token are base^(-2i / depth)  */
    int64_t relative_buckets;  /* of relative: different numbers of a head           */
    int64_t relative_distance; /* of relative: farther tokens share the last bucket  */
    int64_t max_positions;     /* longer sequences (and segments) are an error       */
} rgm_decoder_options;
/** A small model of today: 6 layers of width 384, 6 heads, RMS norms first, SwiGLU of 1024, rotary
 * positions, no biases, tied, no dropout. */
void rgm_decoder_defaults(void *options);
/** The sizes and blocks of GPT-2's smallest: 12 layers of width 768, 12 heads, layer norms first,
 * GELU (tanh) of 3072, learned positions, biases, tied, dropout 0.1. */
void rgm_decoder_gpt2_defaults(void *options);
extern const rgm_field rgm_decoder_fields[];

/**
 * A decoder with its vocabulary. Tables have rgm_seq2seq_padded(vocabulary) rows; logits of ids
 * behind the vocabulary mean nothing (rgm_cross_entropy_options.classes leaves them out).
 *
 * Parameters: embedding/table, unless tied output/table, with output_bias output/bias, learned
 * decoder/positions, relative decoder/relative/table [buckets, heads],
 * decoder/layer_<i>/{attention/{norm/,query/,key/,value/,output/},
 * ffn/{norm/,gate/,inner/,outer/}}, decoder/norm/. A norm has gamma and, of layer norms, beta; a
 * projection kernel [in, out] and bias.
 */
typedef struct rgm_decoder {
    rgm_decoder_options options;
    int64_t vocabulary;
} rgm_decoder;
/** RGM_ERR_CONFIG: an option out of bounds, heads that do not divide the width, a combination that
 * does not go together; the message names the keys. */
rgm_status rgm_decoder_check(const rgm_decoder *model);
/** The same of rgm_decoder_options alone, before there is a vocabulary. RGM_ERR_CONFIG. */
rgm_status rgm_decoder_options_check(const void *options);

/* ---- graphs that train it ------------------------------------------------------------------- */

/** What a batch has beside its tokens. */
typedef struct rgm_decoder_inputs {
    rgm_value *ids;       /* i32/i64 [batch, tokens]                                              */
    rgm_value *positions; /* i64 [tokens] 0, 1, .. of every row; or, of packed sequences, [batch,
                             tokens]: from 0 on in each segment                                   */
    rgm_value *segments;  /* i32/i64 [batch, tokens]: a token sees only tokens of its own segment;
                             0: padding, which nobody sees. Within a row they do not fall (1 1 2 2 2
                             3 0). NULL: each row is one sequence                                 */
} rgm_decoder_inputs;
/** States [batch tokens, width] behind the last norm: a token sees itself and those before it. */
rgm_value *rgm_decoder_states(rgm_scope *scope, const rgm_decoder *model,
                              const rgm_decoder_inputs *inputs);
/** Logits [n, rgm_seq2seq_padded(vocabulary)] of states [n, width]. */
rgm_value *rgm_decoder_logits(rgm_scope *scope, const rgm_decoder *model, rgm_value *states);

/* ---- a graph that goes on from kept keys and values, for exports ------------------------------
 */

/** Some tokens more of each row. The keys of layer i are at [2 i] of an array, its values at
 * [2 i + 1]. */
typedef struct rgm_decoder_step {
    rgm_value *ids;       /* input "ids" i64 [batch, tokens]: the newest                          */
    rgm_value *positions; /* input "positions" i64 [tokens]: how many tokens came before each     */
    rgm_value *past[2 * RGM_STACK_LAYERS];    /* inputs "past_keys_0", "past_values_0", ..
                                                 [batch, past, key and value heads * depth]       */
    rgm_value *logits;                        /* [batch, tokens, vocabulary]                      */
    rgm_value *present[2 * RGM_STACK_LAYERS]; /* [batch, past + tokens, ..]                       */
} rgm_decoder_step;
/** Errors: rgm_decoder_check()'s and the graph's: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE,
 * RGM_ERR_CONFIG, RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM. */
rgm_status rgm_decoder_step_graph(rgm_decoder_step *out, rgm_scope *scope,
                                  const rgm_decoder *model);

/* ---- writing tokens -------------------------------------------------------------------------- */

/**
 * Writes with the weights of a model, one token at a time for any number of rows. The keys and
 * values of what a row has read are kept on the device, and stay where they were first put: when a
 * row goes on from another one, or leaves, only lists change. A row's logits have the same bits
 * alone, beside any other rows, and on any number of threads.
 */
typedef struct rgm_token_writer rgm_token_writer;
/**
 * @param parameters  [in] borrowed; may change while there are no rows
 * @param device      [in] computes; keys and values stay in its memory. NULL: the CPU
 * @param bf16        [in] as rgm_executor_options.bf16
 * Errors: rgm_decoder_check()'s, RGM_ERR_ARG, RGM_ERR_DTYPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_token_writer_create(rgm_token_writer **out, const rgm_decoder *model,
                                   const rgm_parameters *parameters, rgm_device *device, bool bf16);
void rgm_token_writer_release(rgm_token_writer *writer);
/** Rows that are being written, and how many tokens row i has read. */
int64_t rgm_token_writer_rows(const rgm_token_writer *writer);
int64_t rgm_token_writer_length(const rgm_token_writer *writer, int64_t row);
/**
 * Read `count` prompts at once and append a row for each.
 *
 * @param logits  [out] f32 [count, padded vocabulary] of what follows each prompt's last token;
 *                borrowed until the next call
 * Errors: RGM_ERR_DATA (an empty prompt, an id outside the vocabulary, more than max_positions
 * tokens): no row is added. RGM_ERR_NOMEM, RGM_ERR_IO (the device is lost).
 */
rgm_status rgm_token_writer_add(const float **logits, rgm_token_writer *writer,
                                const int32_t *const *prompts, const int64_t *lengths,
                                int64_t count);
/**
 * One token more for each row: ids [rows]. logits [out] f32 [rows, padded vocabulary], borrowed
 * until the next call. Errors: as _add()'s; no row has read its token then.
 */
rgm_status rgm_token_writer_step(const float **logits, rgm_token_writer *writer,
                                 const int32_t *ids);
/** Rows that go on: row i is from now on what row rows[i] was. One may be named several times
 * (beams, samples of one prompt), or not at all. count 0: all leave. RGM_ERR_ARG: there is no such
 * row; RGM_ERR_NOMEM. */
rgm_status rgm_token_writer_keep(rgm_token_writer *writer, const int64_t *rows, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
