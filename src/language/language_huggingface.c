/*
 * A language model under the names of Transformers, and as a folder that it loads: config.json,
 * model.safetensors and the tokenizer.
 */
#include "language_internal.h"

/* ---- names ----------------------------------------------------------------------------------- */

/* Conv1D's weights lie as ours do, [inputs, outputs]. */
#define GPT2_FUSED(part, name)                                                                     \
    {"transformer.h.%.attn.c_attn.weight", "decoder/layer_%/attention/" name "/kernel", 0, part,   \
     3},                                                                                           \
    {                                                                                              \
        "transformer.h.%.attn.c_attn.bias", "decoder/layer_%/attention/" name "/bias", 0, part, 3  \
    }
#define GPT2_PAIR(theirs, ours, weight, bias)                                                      \
    {"transformer." theirs ".weight", "decoder/" ours "/" weight, 0, 0, 0},                        \
    {                                                                                              \
        "transformer." theirs ".bias", "decoder/" ours "/" bias, 0, 0, 0                           \
    }

const rgm_weight_name rgm_language_gpt2_names[] = {
    {"transformer.wte.weight", "embedding/table", RGM_WEIGHT_TOKENS, 0, 0},
    {"lm_head.weight", "output/table", RGM_WEIGHT_TOKENS, 0, 0},
    {"transformer.wpe.weight", "decoder/positions", 0, 0, 0},
    GPT2_PAIR("h.%.ln_1", "layer_%/attention/norm", "gamma", "beta"),
    GPT2_FUSED(0, "query"),
    GPT2_FUSED(1, "key"),
    GPT2_FUSED(2, "value"),
    GPT2_PAIR("h.%.attn.c_proj", "layer_%/attention/output", "kernel", "bias"),
    GPT2_PAIR("h.%.ln_2", "layer_%/ffn/norm", "gamma", "beta"),
    GPT2_PAIR("h.%.mlp.c_fc", "layer_%/ffn/inner", "kernel", "bias"),
    GPT2_PAIR("h.%.mlp.c_proj", "layer_%/ffn/outer", "kernel", "bias"),
    GPT2_PAIR("ln_f", "norm", "gamma", "beta"),
    {0}};

#define LLAMA_LINEAR(theirs, ours)                                                                 \
    {"model.layers.%." theirs ".weight", "decoder/layer_%/" ours "/kernel", RGM_WEIGHT_TURNED, 0,  \
     0},                                                                                           \
    {                                                                                              \
        "model.layers.%." theirs ".bias", "decoder/layer_%/" ours "/bias", 0, 0, 0                 \
    }

const rgm_weight_name rgm_language_llama_names[] = {
    {"model.embed_tokens.weight", "embedding/table", RGM_WEIGHT_TOKENS, 0, 0},
    {"lm_head.weight", "output/table", RGM_WEIGHT_TOKENS, 0, 0},
    {"model.layers.%.input_layernorm.weight", "decoder/layer_%/attention/norm/gamma", 0, 0, 0},
    LLAMA_LINEAR("self_attn.q_proj", "attention/query"),
    LLAMA_LINEAR("self_attn.k_proj", "attention/key"),
    LLAMA_LINEAR("self_attn.v_proj", "attention/value"),
    LLAMA_LINEAR("self_attn.o_proj", "attention/output"),
    {"model.layers.%.post_attention_layernorm.weight", "decoder/layer_%/ffn/norm/gamma", 0, 0, 0},
    LLAMA_LINEAR("mlp.gate_proj", "ffn/gate"),
    LLAMA_LINEAR("mlp.up_proj", "ffn/inner"),
    LLAMA_LINEAR("mlp.down_proj", "ffn/outer"),
    {"model.norm.weight", "decoder/norm/gamma", 0, 0, 0},
    {0}};
