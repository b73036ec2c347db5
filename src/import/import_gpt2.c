/* GPT-2 of Transformers: GPT2LMHeadModel. */
#include <regimen/language.h>

#include "model_import_internal.h"

static const char *const types[] = {"gpt2", NULL};
static const char *const prefixes[] = {"transformer.", NULL};

static const rgmi_import_other others[] = {
    {"*h.*.attn.bias", NULL, "the causal mask, no weight"},
    {"*h.*.attn.masked_bias", NULL, "a constant of the mask, no weight"},
    {"lm_head.weight", "transformer.wte.weight", "the same table again"},
    {0}};

static const rgmi_import_fixed fixed[] = {
    {"scale_attn_weights", "true", "scores are divided by the root of a head's width here"},
    {"scale_attn_by_inverse_layer_idx", "false", "scores are not scaled by layer here"},
    {"is_encoder_decoder", "false", "a decoder without a source is read as gpt2"},
    {0}};

/* What a head for classes would have, how rows are computed, what n_positions was called before. */
static const char *const free_keys[] = {"gradient_checkpointing",
                                        "is_decoder",
                                        "n_ctx",
                                        "n_special",
                                        "predict_special_tokens",
                                        "reorder_and_upcast_attn",
                                        "summary_activation",
                                        "summary_first_dropout",
                                        "summary_proj_to_labels",
                                        "summary_type",
                                        "summary_use_proj",
                                        NULL};

static rgm_status write_stack(rgm_json_writer *w, rgmi_import_config *c,
                              const rgmi_import_decoder *d)
{
    const char *activation;
    double dropout, attention;

    RGM_TRY(rgmi_import_activation(&activation, c, "activation_function", d->activation));
    RGM_TRY(rgmi_import_real(&dropout, c, "resid_pdrop", 0.1, 0, 0.999));
    RGM_TRY(rgmi_import_real(&attention, c, "attn_pdrop", 0.1, 0, 0.999));
    RGM_TRY(rgm_json_open_object(w, "decoder", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_int(w, "num_layers", d->layers));
    RGM_TRY(rgm_json_write_int(w, "num_attention_heads", d->heads));
    RGM_TRY(rgm_json_write_int(w, "intermediate_size", d->inner));
    RGM_TRY(rgm_json_write_text(w, "activation", activation));
    RGM_TRY(rgm_json_write_number(w, "dropout_rate", dropout));
    RGM_TRY(rgm_json_write_number(w, "attention_dropout_rate", attention));
    RGM_TRY(rgm_json_write_number(w, "norm_epsilon", d->epsilon));
    return rgm_json_close(w);
}

static rgm_status configure(rgm_json_writer *w, rgmi_import_work *work)
{
    rgmi_import_config *c = &work->source->config;
    rgmi_import_decoder d = {0};
    double dropout;
    bool tied;

    RGM_TRY(rgmi_import_int(&d.layers, c, "n_layer", RGMI_NEEDED, 1, RGM_STACK_LAYERS));
    RGM_TRY(rgmi_import_int(&d.width, c, "n_embd", RGMI_NEEDED, 2, 65536));
    RGM_TRY(rgmi_import_int(&d.heads, c, "n_head", RGMI_NEEDED, 1, 1024));
    RGM_TRY(rgmi_import_int(&d.inner, c, "n_inner", 4 * d.width, 1, 1000000));
    RGM_TRY(rgmi_import_int(&d.positions, c, "n_positions", RGMI_NEEDED, 1, 1000000));
    RGM_TRY(rgmi_import_int(&d.vocabulary, c, "vocab_size", RGMI_NEEDED, 2, INT32_MAX));
    RGM_TRY(rgmi_import_text(&d.activation, c, "activation_function"));
    if (d.activation == NULL)
        d.activation = "gelu_new";
    RGM_TRY(rgmi_import_real(&d.epsilon, c, "layer_norm_epsilon", 1e-5, 1e-30, 1));
    RGM_TRY(rgmi_import_real(&dropout, c, "embd_pdrop", 0.1, 0, 0.999));
    RGM_TRY(rgmi_import_bool(&tied, c, "tie_word_embeddings", true));
    RGM_TRY(rgmi_import_decoder_open(w, work, &d));
    RGM_TRY(rgm_json_open_object(w, "model", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(w, "type", "decoder_transformer_gpt2"));
    RGM_TRY(rgm_json_write_int(w, "embedding_width", d.width));
    RGM_TRY(rgm_json_write_int(w, "max_positions", d.positions));
    RGM_TRY(rgm_json_write_number(w, "dropout_rate", dropout));
    RGM_TRY(rgm_json_write_bool(w, "tied", tied));
    RGM_TRY(write_stack(w, c, &d));
    return rgm_json_close(w);
}

const rgmi_import_family rgmi_import_gpt2 = {.name = "gpt2",
                                             .types = types,
                                             .prefixes = prefixes,
                                             .names = rgm_language_gpt2_names,
                                             .others = others,
                                             .fixed = fixed,
                                             .free_keys = free_keys,
                                             .configure = configure};
