/* Shared by the Transformer and its decoding: the decoder with keys and values from outside. */
#ifndef RGM_SEQ2SEQ_INTERNAL_H
#define RGM_SEQ2SEQ_INTERNAL_H

#include "models_internal.h"

/** How rows [sequences * length, width] are grouped. */
typedef struct rgmi_seq2seq_shape {
    rgm_dim sequences, length;
} rgmi_seq2seq_shape;

/** What one layer of the decoder reads and leaves behind; all [sequences, length, width]. */
typedef struct rgmi_seq2seq_layer {
    rgm_value *source_keys, *source_values; /* of the encoder's result                             */
    rgmi_seq2seq_shape source_queries;      /* sequences 0: the rows' own shape                    */
    rgm_value *past_keys, *past_values;     /* of tokens before these; NULL: there are none        */
    rgm_value *keys, *values;               /* [out] past ones and those of these tokens           */
} rgmi_seq2seq_layer;

/** Keys and values of rows for the attention in `block`. */
void rgmi_seq2seq_keys(rgm_value **keys, rgm_value **values, rgm_scope *block,
                       const rgm_seq2seq_stack *o, rgm_value *rows, const rgmi_seq2seq_shape *shape);
/** source_keys and source_values of every layer, from the encoder's rows. */
void rgmi_seq2seq_source_keys(rgmi_seq2seq_layer *layers, rgm_scope *scope, const rgm_seq2seq *model,
                              rgm_value *memory, const rgmi_seq2seq_shape *shape);
/** States of target rows; `shape` groups them for self-attention. */
rgm_value *rgmi_seq2seq_decoder(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *target,
                                rgm_value *positions, rgm_value *source, rgmi_seq2seq_layer *layers,
                                const rgmi_seq2seq_shape *shape);

/* ---- decoding ---- */

enum { RGMI_SEARCH_BEAMS = 64 };
rgm_status rgmi_search_check(const rgm_search_options *options, const rgm_seq2seq *model);

/** Sentences being decoded together: their encoded sources and the keys and values so far. */
typedef struct rgmi_decoding {
    rgm_translator *translator;
    int64_t sentences, beams;                    /* rows are sentences * beams */
    int64_t steps;                               /* tokens whose keys and values are kept */
    rgm_tensor *source;                          /* i64 [sentences, s] */
    rgm_tensor *memory[2 * RGM_SEQ2SEQ_LAYERS]; /* keys and values of it, by layer */
    rgm_tensor *past[2 * RGM_SEQ2SEQ_LAYERS];   /* [rows, steps, width] */
} rgmi_decoding;
/** Encode sources padded to the longest; one beam each. */
rgm_status rgmi_decoding_open(rgmi_decoding *decoding, rgm_translator *translator,
                              const int32_t *const *sources, const int64_t *lengths, int64_t count);
void rgmi_decoding_close(rgmi_decoding *decoding);
/**
 * One more token for each row: *log_probabilities f32 [rows, vocabulary], borrowed until the next step
 * or close. rgmi_decoding_select() must follow before the next step.
 */
rgm_status rgmi_decoding_step(const float **log_probabilities, rgmi_decoding *decoding,
                              const int32_t *ids);
/**
 * What goes on: the listed sentences (ascending; numbers within the batch), `beams` rows each, of
 * which row k takes over from row parents[k].
 */
rgm_status rgmi_decoding_select(rgmi_decoding *decoding, const int64_t *sentences, int64_t count,
                                int64_t beams, const int64_t *parents);
const rgm_seq2seq *rgmi_translator_model(const rgm_translator *translator);

#endif
