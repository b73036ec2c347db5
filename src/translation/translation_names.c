/* What other programs call the weights of a translation model. */
#include "translation_internal.h"

/* ---- Transformers ---------------------------------------------------------------------------- */

#define MT_LINEAR(theirs, ours)                                                                    \
    {"model." theirs ".weight", ours "/kernel", RGM_WEIGHT_TURNED, 0, 0},                          \
    {                                                                                              \
        "model." theirs ".bias", ours "/bias", 0, 0, 0                                             \
    }
#define MT_NORM(theirs, ours)                                                                      \
    {"model." theirs ".weight", ours "/gamma", 0, 0, 0},                                           \
    {                                                                                              \
        "model." theirs ".bias", ours "/beta", 0, 0, 0                                             \
    }
#define MT_ATTENTION(theirs, ours)                                                                 \
    MT_LINEAR(theirs ".q_proj", ours "/query"), MT_LINEAR(theirs ".k_proj", ours "/key"),          \
        MT_LINEAR(theirs ".v_proj", ours "/value"), MT_LINEAR(theirs ".out_proj", ours "/output"), \
        MT_NORM(theirs "_layer_norm", ours "/norm")
#define MT_FEED_FORWARD(theirs, ours)                                                              \
    MT_LINEAR(theirs ".fc1", ours "/inner"), MT_LINEAR(theirs ".fc2", ours "/outer"),              \
        MT_NORM(theirs ".final_layer_norm", ours "/norm")

const rgm_weight_name rgm_translation_marianmt_names[] = {
    {"model.shared.weight", "embedding/table", RGM_WEIGHT_TOKENS, 0, 0},
    {"model.encoder.embed_tokens.weight", "source_embedding/table", RGM_WEIGHT_TOKENS, 0, 0},
    {"model.decoder.embed_tokens.weight", "target_embedding/table",
     RGM_WEIGHT_TOKENS | RGM_WEIGHT_TARGET, 0, 0},
    {"lm_head.weight", "output/table", RGM_WEIGHT_TOKENS | RGM_WEIGHT_TARGET, 0, 0},
    {"final_logits_bias", "output/bias", RGM_WEIGHT_ROW | RGM_WEIGHT_TOKENS | RGM_WEIGHT_TARGET, 0,
     0},
    MT_ATTENTION("encoder.layers.%.self_attn", "encoder/layer_%/attention"),
    MT_FEED_FORWARD("encoder.layers.%", "encoder/layer_%/ffn"),
    MT_ATTENTION("decoder.layers.%.self_attn", "decoder/layer_%/self_attention"),
    MT_ATTENTION("decoder.layers.%.encoder_attn", "decoder/layer_%/cross_attention"),
    MT_FEED_FORWARD("decoder.layers.%", "decoder/layer_%/ffn"),
    {0}};

/* ---- Marian ---------------------------------------------------------------------------------- */

#define MARIAN_LINEAR(theirs, suffix, ours)                                                        \
    {theirs "_W" suffix, ours "/kernel", 0, 0, 0},                                                 \
    {                                                                                              \
        theirs "_b" suffix, ours "/bias", RGM_WEIGHT_ROW, 0, 0                                     \
    }
#define MARIAN_NORM(theirs, place, ours)                                                           \
    {theirs "_ln_scale" place, ours "/gamma", RGM_WEIGHT_ROW, 0, 0},                               \
    {                                                                                              \
        theirs "_ln_bias" place, ours "/beta", RGM_WEIGHT_ROW, 0, 0                                \
    }
#define MARIAN_ATTENTION(theirs, place, ours)                                                      \
    MARIAN_LINEAR(theirs, "q", ours "/query"), MARIAN_LINEAR(theirs, "k", ours "/key"),            \
        MARIAN_LINEAR(theirs, "v", ours "/value"), MARIAN_LINEAR(theirs, "o", ours "/output"),     \
        MARIAN_NORM(theirs "_Wo", place, ours "/norm")
#define MARIAN_FEED_FORWARD(theirs, place, ours)                                                   \
    MARIAN_LINEAR(theirs, "1", ours "/inner"), MARIAN_LINEAR(theirs, "2", ours "/outer"),          \
        MARIAN_NORM(theirs "_ffn", place, ours "/norm")
/* place: what the names of norms before a block end with. */
#define MARIAN_NAMES(place)                                                                        \
    {                                                                                              \
        {"Wemb", "embedding/table", RGM_WEIGHT_TOKENS, 0, 0},                                      \
            {"encoder_Wemb", "source_embedding/table", RGM_WEIGHT_TOKENS, 0, 0},                   \
            {"decoder_Wemb", "target_embedding/table", RGM_WEIGHT_TOKENS | RGM_WEIGHT_TARGET, 0,   \
             0},                                                                                   \
            {"decoder_ff_logit_out_Wt", "output/table", RGM_WEIGHT_TOKENS | RGM_WEIGHT_TARGET, 0,  \
             0},                                                                                   \
            {"decoder_ff_logit_out_b", "output/bias",                                              \
             RGM_WEIGHT_ROW | RGM_WEIGHT_TOKENS | RGM_WEIGHT_TARGET, 0, 0},                        \
            MARIAN_ATTENTION("encoder_l#_self", place, "encoder/layer_%/attention"),               \
            MARIAN_FEED_FORWARD("encoder_l#_ffn", place, "encoder/layer_%/ffn"),                   \
            MARIAN_ATTENTION("decoder_l#_self", place, "decoder/layer_%/self_attention"),          \
            MARIAN_ATTENTION("decoder_l#_context", place, "decoder/layer_%/cross_attention"),      \
            MARIAN_FEED_FORWARD("decoder_l#_ffn", place, "decoder/layer_%/ffn"),                   \
            MARIAN_NORM("encoder_top", "", "encoder/norm"),                                        \
            MARIAN_NORM("decoder_top", "", "decoder/norm"),                                        \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

const rgm_weight_name rgm_translation_marian_names[] = MARIAN_NAMES("");
const rgm_weight_name rgm_translation_marian_prenorm_names[] = MARIAN_NAMES("_pre");
