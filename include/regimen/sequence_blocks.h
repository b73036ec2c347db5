/*
 * sequence, what a stack of blocks is made of: its sizes, norms, activation, heads, positions and
 * dropout. The encoder and the decoder of sequence.h and the decoder of sequence_decoder.h are such
 * stacks.
 *
 *   one layer  x + drop(attention(norm(x))), then x + drop(ffn(norm(x)))      norm_first
 *              norm(x + drop(attention(x))), then norm(x + drop(ffn(x)))      otherwise
 *   ffn        outer(drop(act(inner(x))))                                     plain
 *              outer(drop(act(gate(x)) * inner(x)))                           gated
 */
#ifndef REGIMEN_SEQUENCE_BLOCKS_H
#define REGIMEN_SEQUENCE_BLOCKS_H

#include <regimen/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The maximum number of layers of a stack. */
enum { RGM_STACK_LAYERS = 64 };

/** The norm of blocks, and of a stack's end. */
typedef enum rgm_norm_type {
    RGM_NORM_LAYER, /* Ba et al. 2016: "gamma" and "beta"        */
    RGM_NORM_RMS    /* Zhang & Sennrich 2019: no mean, "gamma" alone */
} rgm_norm_type;

/** How a token gets its position. */
typedef enum rgm_positions {
    RGM_POSITIONS_SINUSOIDAL, /* added to the embeddings; timescales 10000^(2i / (width - 2)),
                                 as Tensor2Tensor and the Model Garden have them              */
    RGM_POSITIONS_LEARNED,    /* added to the embeddings: a table "positions"                 */
    RGM_POSITIONS_SINUSOIDAL_PAPER, /* timescales 10000^(2i / width), as the paper and Marian */
    RGM_POSITIONS_ROTARY, /* queries and keys are turned (Su et al. 2021), halves as in Llama     */
    RGM_POSITIONS_ALIBI,  /* scores fall with the distance (Press et al. 2022)                    */
    RGM_POSITIONS_RELATIVE, /* a learned number for each head and bucket of distances is added to
                               the scores (T5, Raffel et al. 2020); one table for a stack */
    RGM_POSITIONS_NONE /* only what is causal tells an order                                   */
} rgm_positions;

/** A stack of blocks: `model.encoder` and `model.decoder`. */
typedef struct rgm_stack_options {
    int64_t num_layers, num_attention_heads, intermediate_size;
    int64_t num_key_value_heads; /* heads of keys and values, which divide the heads; 0: as many;
                                    1: multi-query attention                                     */
    rgm_activation activation;   /* of the feed-forward block: RELU, GELU, GELU_TANH or SILU     */
    bool gated; /* SILU and gated: SwiGLU; GELU and gated: GeGLU (Shazeer 2020)                  */
    double dropout_rate;           /* of the output that a block adds                            */
    double attention_dropout_rate; /* of the attention probabilities, and of the output that the
                                      encoder's attention adds, unless the next says otherwise   */
    double attention_output_dropout; /* of the output that an attention adds; -1: dropout_rate in
                                        decoders, attention_dropout_rate in encoders             */
    double intermediate_dropout;     /* inside the feed-forward block                            */
    bool use_bias;                   /* of attention's projections                               */
    bool qkv_bias;                   /* of those of queries, keys and values alone, as Qwen 2 has
                                        them, where use_bias is false                            */
    bool ffn_bias;                   /* of the feed-forward block                                */
    rgm_norm_type norm;
    bool norm_first; /* true: norm before each block; false: after its sum                       */
    bool final_norm; /* one more norm behind the last layer                                      */
    double norm_epsilon;
    int64_t attention_window; /* a token sees so many tokens before it, itself among them, and in an
                                 encoder as many behind it; 0: all                               */
} rgm_stack_options;
/** Set all rates of dropout to 0. */
void rgm_stack_without_dropout(rgm_stack_options *options);

#ifdef __cplusplus
}
#endif
#endif
