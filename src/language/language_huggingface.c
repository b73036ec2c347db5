/*
 * A language model under the names of Transformers, and as a folder that it loads: config.json,
 * model.safetensors and the tokenizer.
 */
#include <stdio.h>
#include <string.h>

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

/* ---- which of their models it is --------------------------------------------------------------
 */

typedef enum family { GPT2, LLAMA, MISTRAL, QWEN2 } family;
static const char *const types[] = {"gpt2", "llama", "mistral", "qwen2"}, *const architectures[] = {
                                                                              "GPT2LMHeadModel",
                                                                              "LlamaForCausalLM",
                                                                              "MistralForCausalLM",
                                                                              "Qwen2ForCausalLM"};

static rgm_status impossible(const char *key, const char *why)
{
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "export: no model of Transformers has this: model.%s: %s",
                    key, why);
}

/* What neither of them has. */
static rgm_status check_both(const rgm_decoder_options *o)
{
    if (!o->decoder.norm_first || !o->decoder.final_norm)
        return impossible(o->decoder.norm_first ? "decoder.final_norm" : "decoder.norm_first",
                          "norms stand before each block and behind the last one there");
    if (o->output_bias)
        return impossible("output_bias", "logits have none there");
    if (o->scale_embeddings)
        return impossible("scale_embeddings", "embeddings are read as they are there");
    return RGM_OK;
}

static rgm_status check_gpt2(const rgm_decoder_options *o)
{
    const rgm_stack_options *d = &o->decoder;

    if (d->norm != RGM_NORM_LAYER || d->gated)
        return impossible(d->gated ? "decoder.gated" : "decoder.norm",
                          "beside learned positions norms are layer norms and blocks are plain");
    if (!d->use_bias || !d->ffn_bias)
        return impossible(d->use_bias ? "decoder.ffn_bias" : "decoder.use_bias",
                          "beside learned positions every projection has a bias");
    if (d->num_key_value_heads != 0 && d->num_key_value_heads != d->num_attention_heads)
        return impossible("decoder.num_key_value_heads", "GPT-2 has as many as heads");
    if (d->attention_window > 0)
        return impossible("decoder.attention_window", "GPT-2 has none");
    return RGM_OK;
}

static rgm_status choose_family(family *out, const rgm_decoder_options *o)
{
    const rgm_stack_options *d = &o->decoder;
    bool some = d->qkv_bias && !d->use_bias;

    RGM_TRY(check_both(o));
    *out = GPT2;
    if (o->positions == RGM_POSITIONS_LEARNED)
        return check_gpt2(o);
    if (o->positions != RGM_POSITIONS_ROTARY)
        return impossible("positions", "they are learned (GPT-2) or rotary (Llama) there");
    if (d->norm != RGM_NORM_RMS || !d->gated)
        return impossible(d->gated ? "decoder.norm" : "decoder.gated",
                          "beside rotary positions norms are rms and blocks are gated");
    *out = some ? QWEN2 : d->attention_window > 0 ? MISTRAL : LLAMA;
    if (*out != LLAMA && (d->use_bias || d->ffn_bias))
        return impossible(d->ffn_bias ? "decoder.ffn_bias" : "decoder.use_bias",
                          some ? "Qwen 2 has biases of queries, keys and values alone"
                               : "with windows (Mistral) there are no biases");
    return RGM_OK;
}

/* ---- config.json ------------------------------------------------------------------------------
 */

static const char *activation_name(rgm_activation activation, family which)
{
    switch (activation) {
    case RGM_ACT_RELU:
        return "relu";
    case RGM_ACT_GELU:
        return "gelu";
    case RGM_ACT_GELU_TANH:
        return which == GPT2 ? "gelu_new" : "gelu_pytorch_tanh";
    default:
        return "silu";
    }
}

static rgm_status write_gpt2(rgm_json_writer *w, const rgm_decoder_options *o)
{
    const rgm_stack_options *d = &o->decoder;

    RGM_TRY(rgm_json_write_int(w, "n_embd", o->embedding_width));
    RGM_TRY(rgm_json_write_int(w, "n_layer", d->num_layers));
    RGM_TRY(rgm_json_write_int(w, "n_head", d->num_attention_heads));
    RGM_TRY(rgm_json_write_int(w, "n_inner", d->intermediate_size));
    RGM_TRY(rgm_json_write_int(w, "n_positions", o->max_positions));
    RGM_TRY(rgm_json_write_text(w, "activation_function", activation_name(d->activation, GPT2)));
    RGM_TRY(rgm_json_write_number(w, "layer_norm_epsilon", d->norm_epsilon));
    RGM_TRY(rgm_json_write_number(w, "embd_pdrop", o->dropout_rate));
    RGM_TRY(rgm_json_write_number(w, "resid_pdrop", d->dropout_rate));
    return rgm_json_write_number(w, "attn_pdrop", d->attention_dropout_rate);
}

/* Both spellings of rotary positions: that of Transformers from version 5 on, and that of before.
 */
static rgm_status write_rotary(rgm_json_writer *w, double base)
{
    RGM_TRY(rgm_json_write_number(w, "rope_theta", base));
    RGM_TRY(rgm_json_open_object(w, "rope_parameters", RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(w, "rope_type", "default"));
    RGM_TRY(rgm_json_write_number(w, "rope_theta", base));
    return rgm_json_close(w);
}

/* Each of the three says windows in its way. */
static rgm_status write_window(rgm_json_writer *w, int64_t window, family which)
{
    if (which == LLAMA)
        return RGM_OK;
    if (window > 0)
        RGM_TRY(rgm_json_write_int(w, "sliding_window", window));
    else
        RGM_TRY(rgm_json_write_printed(w, "sliding_window", "null"));
    if (which == MISTRAL)
        return RGM_OK;
    RGM_TRY(rgm_json_write_bool(w, "use_sliding_window", window > 0));
    return rgm_json_write_int(w, "max_window_layers", 0);
}

static rgm_status write_llama(rgm_json_writer *w, const rgm_decoder_options *o, family which)
{
    const rgm_stack_options *d = &o->decoder;
    int64_t key_heads =
        d->num_key_value_heads > 0 ? d->num_key_value_heads : d->num_attention_heads;

    RGM_TRY(rgm_json_write_int(w, "hidden_size", o->embedding_width));
    RGM_TRY(rgm_json_write_int(w, "num_hidden_layers", d->num_layers));
    RGM_TRY(rgm_json_write_int(w, "num_attention_heads", d->num_attention_heads));
    RGM_TRY(rgm_json_write_int(w, "num_key_value_heads", key_heads));
    RGM_TRY(rgm_json_write_int(w, "intermediate_size", d->intermediate_size));
    RGM_TRY(rgm_json_write_int(w, "max_position_embeddings", o->max_positions));
    RGM_TRY(rgm_json_write_text(w, "hidden_act", activation_name(d->activation, which)));
    RGM_TRY(rgm_json_write_number(w, "rms_norm_eps", d->norm_epsilon));
    RGM_TRY(rgm_json_write_number(w, "attention_dropout", d->attention_dropout_rate));
    RGM_TRY(write_rotary(w, o->rotary_base));
    if (which == LLAMA) {
        RGM_TRY(rgm_json_write_bool(w, "attention_bias", d->use_bias));
        RGM_TRY(rgm_json_write_bool(w, "mlp_bias", d->ffn_bias));
    }
    return write_window(w, d->attention_window, which);
}

static rgm_status write_config(rgm_text *out, const rgmi_language_task *t, family which)
{
    const rgm_decoder_options *o = &t->model.options;
    int32_t begin = rgm_tokenizer_bos_id(t->data.tokenizer),
            end = rgm_tokenizer_eos_id(t->data.tokenizer);
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_open_list(&w, "architectures", RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(&w, NULL, architectures[which]));
    RGM_TRY(rgm_json_close(&w));
    RGM_TRY(rgm_json_write_text(&w, "model_type", types[which]));
    RGM_TRY(rgm_json_write_text(&w, "torch_dtype", "float32"));
    RGM_TRY(rgm_json_write_int(&w, "vocab_size", t->model.vocabulary));
    RGM_TRY(rgm_json_write_int(&w, "bos_token_id", begin >= 0 ? begin : end));
    RGM_TRY(rgm_json_write_int(&w, "eos_token_id", end));
    RGM_TRY(rgm_json_write_bool(&w, "tie_word_embeddings", o->tied));
    RGM_TRY(which == GPT2 ? write_gpt2(&w, o) : write_llama(&w, o, which));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_add(out, "\n", 1);
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static rgm_status save_text(const char *folder, const char *name, const rgm_text *text)
{
    char *path = NULL;
    rgm_status status;

    RGM_TRY(rgm_path_join(&path, folder, name));
    status = rgm_file_save_own(path, text->data, text->size);
    rgm_free(path);
    return status;
}

static rgm_status save_tokenizer(const char *folder, const rgmi_language_task *t)
{
    rgm_status status = RGM_OK;
    const rgm_tokenizer *tokenizer = t->data.tokenizer;
    int32_t begin = rgm_tokenizer_bos_id(tokenizer), end = rgm_tokenizer_eos_id(tokenizer);
    rgm_text text = {0};
    rgm_json_writer w = {.out = &text};

    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_GO(rgm_json_write_text(&w, "tokenizer_class", "PreTrainedTokenizerFast"));
    RGM_GO(rgm_json_write_text(&w, "bos_token",
                               rgm_tokenizer_piece(tokenizer, begin >= 0 ? begin : end)));
    RGM_GO(rgm_json_write_text(&w, "eos_token", rgm_tokenizer_piece(tokenizer, end)));
    RGM_GO(rgm_json_write_bool(&w, "add_bos_token", t->options.generate.begin));
    RGM_GO(rgm_json_write_int(&w, "model_max_length", t->model.options.max_positions));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_add(&text, "\n", 1));
    RGM_GO(save_text(folder, "tokenizer_config.json", &text));
done:
    rgm_text_clear(&text);
    return status;
}

/* AutoTokenizer takes words apart as Qwen does for every model of the type, whatever tokenizer.json
 * says. */
static void tell_tokenizer(const rgmi_language_task *t, family which)
{
    static const char qwens[] = "|\\\\p{N}| ?[^";
    int64_t size;
    const void *model = rgm_tokenizer_model(t->data.tokenizer, &size);

    if (which == QWEN2 && memmem(model, (size_t)size, qwens, sizeof qwens - 1) == NULL)
        rgm_log_write(RGM_LOG_WARNING,
                      "export: AutoTokenizer of Transformers takes text apart as Qwen's tokenizer "
                      "does for every Qwen2ForCausalLM; PreTrainedTokenizerFast.from_pretrained() "
                      "reads this model's own");
}

rgm_status rgmi_language_check_huggingface(const rgm_parameters *parameters, void *state)
{
    const rgmi_language_task *t = state;
    family which;

    (void)parameters;
    return choose_family(&which, &t->model.options);
}

/* config.json comes last: when it exists, all of it does. */
rgm_status rgmi_language_save_huggingface(const char *folder, const rgm_parameters *parameters,
                                          void *state)
{
    rgm_status status = RGM_OK;
    const rgmi_language_task *t = state;
    rgm_parameters *merged = NULL;
    rgm_text config = {0};
    family which;

    RGM_GO(choose_family(&which, &t->model.options));
    RGM_GO(rgmi_language_weights(&parameters, &merged, t, parameters));
    RGM_GO(rgm_weights_save(
        folder, parameters, which == GPT2 ? rgm_language_gpt2_names : rgm_language_llama_names,
        &(const rgm_weight_tokens){.theirs = t->model.vocabulary, .taken = t->model.vocabulary},
        NULL));
    RGM_GO(save_tokenizer(folder, t));
    tell_tokenizer(t, which);
    RGM_GO(write_config(&config, t, which));
    RGM_GO(save_text(folder, "config.json", &config));
done:
    rgm_text_clear(&config);
    rgm_parameters_release(merged);
    return status;
}
