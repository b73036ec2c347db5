/*
 * What the files of this layer share: blocks, the decoder, decoding. A model beside seq2seq.c (a
 * decoder without a source, say) is a file that puts the same blocks together.
 */
#ifndef RGM_SEQUENCE_INTERNAL_H
#define RGM_SEQUENCE_INTERNAL_H

#include <stdio.h>
#include <string.h>

#include <regimen/sequence.h>

/* ---- blocks.c: parts of a stack ---- */

/** How rows [sequences * length, width] are grouped. */
typedef struct rgmi_row_shape {
    rgm_dim sequences, length;
} rgmi_row_shape;

/** Rows of ids [b, n]: [b n, width], scaled, with positions [n] added, dropped out. */
rgm_value *rgmi_embed(rgm_scope *scope, const rgm_seq2seq_options *options, rgm_value *table,
                      rgm_value *ids, rgm_value *positions);
rgm_value *rgmi_stack_norm(rgm_scope *scope, const char *name, rgm_value *x, double epsilon);
/** What a block reads, and its result: `made` dropped out at `rate` and added to x. */
rgm_value *rgmi_block_input(rgm_scope *block, const rgm_seq2seq_stack *o, rgm_value *x);
rgm_value *rgmi_block_output(rgm_scope *block, const rgm_seq2seq_stack *o, rgm_value *x,
                             rgm_value *made, double rate);
/** Rows through one of attention's square kernels: "query", "key", "value", "output". */
rgm_value *rgmi_project(rgm_scope *block, const char *name, const rgm_seq2seq_stack *o,
                        rgm_value *rows);
/** Keys and values of rows, [sequences, length, width]. */
void rgmi_attention_keys(rgm_value **keys, rgm_value **values, rgm_scope *block,
                         const rgm_seq2seq_stack *o, rgm_value *rows, const rgmi_row_shape *shape);
/** Queries of rows x look up given keys and values; rows again, through the output projection.
 * visible: ids of the keys, of which 0 is hidden, or NULL. causal: a query sees no later key. */
rgm_value *rgmi_attend(rgm_scope *block, const rgm_seq2seq_stack *o, rgm_value *x,
                       const rgmi_row_shape *shape, rgm_value *keys, rgm_value *values,
                       rgm_value *visible, bool causal);
/** The same where keys and values are rows, `rows` lists those that each query sees, and the newest
 * key and value (or NULL) come behind them. */
rgm_value *rgmi_attend_rows(rgm_scope *block, const rgm_seq2seq_stack *o, rgm_value *x,
                            const rgmi_row_shape *shape, rgm_value *keys, rgm_value *values,
                            rgm_value *rows, rgm_value *newest_key, rgm_value *newest_value);
/** The whole block "ffn" of a layer. */
rgm_value *rgmi_feed_forward(rgm_scope *layer, const rgm_seq2seq_stack *o, rgm_value *x);
/** "layer_<i>" of a stack. */
rgm_scope *rgmi_stack_layer(rgm_scope *stack, int64_t i);

/* ---- seq2seq.c: the decoder with keys and values from outside ---- */

/** What one layer of the decoder reads and leaves behind; all [sequences, length, width]. */
typedef struct rgmi_seq2seq_layer {
    rgm_value *source_keys, *source_values; /* of the encoder's result */
    rgmi_row_shape source_queries;      /* sequences 0: the rows' own shape                    */
    rgm_value *past_keys, *past_values; /* of tokens before these; NULL: there are none        */
    rgm_value *keys, *values;           /* [out] past ones and those of these tokens           */
    /* Unless NULL, past and source are [n, width] and these, i64, say which rows of them a row's
     * token [rows, steps] and a sentence's beams [sentences, length] see (negative: none); keys and
     * values [rows, width] are then those of the new tokens alone. */
    rgm_value *past_rows, *source_rows;
} rgmi_seq2seq_layer;

/** source_keys and source_values of every layer, from the encoder's rows. */
void rgmi_seq2seq_source_keys(rgmi_seq2seq_layer *layers, rgm_scope *scope,
                              const rgm_seq2seq *model, rgm_value *memory,
                              const rgmi_row_shape *shape);
/** States of target rows; `shape` groups them for self-attention. */
rgm_value *rgmi_seq2seq_decoder(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *target,
                                rgm_value *positions, rgm_value *source, rgmi_seq2seq_layer *layers,
                                const rgmi_row_shape *shape);

/* ---- seq2seq_graphs.c, beam_decoding.c: one token at a time ---- */

enum { RGMI_MOST_BEAMS = 64 };

/**
 * One token more for each row, as rgm_seq2seq_step has it, but with keys and values that stay where
 * they were put: see past_rows of rgmi_seq2seq_layer.
 */
typedef struct rgmi_seq2seq_rows {
    rgm_value *ids, *position;          /* inputs: i64 [sentences, beams], i64 [1]            */
    rgm_value *source_rows, *past_rows; /* inputs: i64 [sentences, length], i64 [rows, steps] */
    rgm_value *memory[2 * RGM_SEQ2SEQ_LAYERS]; /* inputs: [memory_rows, width] */
    rgm_value *past[2 * RGM_SEQ2SEQ_LAYERS];   /* inputs: [kept_rows, width]   */
    rgm_value *logits; /* [rows, padded target vocabulary]                   */
    rgm_value *newest[2 * RGM_SEQ2SEQ_LAYERS]; /* [rows, width] */
} rgmi_seq2seq_rows;
rgm_status rgmi_seq2seq_rows_graph(rgmi_seq2seq_rows *out, rgm_scope *scope,
                                   const rgm_seq2seq *model);

/** Sentences being decoded together, one batch of a search at a time. */
typedef struct rgmi_decoding {
    rgm_beam_search *search;
    int64_t sentences, beams;                  /* rows are sentences * beams */
    int64_t steps;                             /* tokens whose keys and values are kept */
    rgm_tensor *ids, *source_rows, *past_rows; /* over the search's memory, of the sizes of now */
} rgmi_decoding;
/** Encode sources padded to the longest; one beam each, later at most `beams`. */
rgm_status rgmi_decoding_open(rgmi_decoding *decoding, rgm_beam_search *search,
                              const int32_t *const *sources, const int64_t *lengths, int64_t count,
                              int64_t beams);
void rgmi_decoding_close(rgmi_decoding *decoding);
/** One more token for each row. rgmi_decoding_select() must follow before the next step. */
rgm_status rgmi_decoding_step(rgmi_decoding *decoding, const int32_t *ids);
/** Behind a step: the `count` most probable continuations of each row, as rgm_top_args has them:
 * both [rows, count]. */
rgm_status rgmi_decoding_top(float *log_probabilities, int64_t *ids, const rgmi_decoding *decoding,
                             int64_t count);
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

#endif
