/* MarianMT of Transformers: MarianMTModel with its two SentencePiece models and its vocabulary. */
#include <stdio.h>
#include <string.h>

#include "model_import_internal.h"

/** LayerNorm's of PyTorch. */
#define EPSILON 1e-5

static const char *const types[] = {"marian", NULL};

static const rgmi_import_other others[] = {
    {"model.encoder.embed_positions.weight", NULL, "sinusoids, which are made"},
    {"model.decoder.embed_positions.weight", NULL, "sinusoids, which are made"},
    {"model.encoder.embed_tokens.weight", "model.shared.weight", "the same table again"},
    {"model.decoder.embed_tokens.weight", "model.shared.weight", "the same table again"},
    {"lm_head.weight", "model.shared.weight", "the same table again"},
    {"lm_head.weight", "model.decoder.embed_tokens.weight", "the same table again"},
    {0}};

static const rgmi_import_fixed fixed[] = {
    {"is_encoder_decoder", "true", "without its encoder it is another model"},
    {"add_bias_logits", "false", "of BART"},
    {"add_final_layer_norm", "false", "of BART: a norm behind the last layer"},
    {"normalize_before", "false", "of BART: norms before the blocks"},
    {"normalize_embedding", "false", "of BART: a norm behind the embeddings"},
    {"static_position_embeddings", "true", "of BART: learned positions"},
    {"extra_pos_embeddings", "0 1 2", "of BART"},
    {"do_blenderbot_90_layernorm", "false", "of BART"},
    {"force_bos_token_to_be_generated", "false", "translations begin with no token here"},
    {"forced_bos_token_id", "null", "translations begin with no token here"},
    {0}};

/* How it was trained, a head for classes, and what other keys say again. */
static const char *const free_keys[] = {"_num_labels",
                                        "bos_token_id",
                                        "classif_dropout",
                                        "classifier_dropout",
                                        "decoder_layerdrop",
                                        "encoder_layerdrop",
                                        "gradient_checkpointing",
                                        "init_std",
                                        "is_decoder",
                                        "num_hidden_layers",
                                        NULL};

static const char vocabulary_file[] = "vocab.json", target_vocabulary_file[] = "target_vocab.json";

static rgm_status read_stack(rgmi_import_stack *out, rgmi_import_config *c, const char *side)
{
    char key[64];

    snprintf(key, sizeof key, "%s_layers", side);
    RGM_TRY(rgmi_import_int(&out->layers, c, key, 12, 1, RGM_STACK_LAYERS));
    snprintf(key, sizeof key, "%s_attention_heads", side);
    RGM_TRY(rgmi_import_int(&out->heads, c, key, 16, 1, 1024));
    snprintf(key, sizeof key, "%s_ffn_dim", side);
    return rgmi_import_int(&out->inner, c, key, 4096, 1, 1000000);
}

static rgm_status read_sizes(rgmi_import_translation *t, rgmi_import_config *c)
{
    RGM_TRY(rgmi_import_int(&t->width, c, "d_model", RGMI_NEEDED, 2, 65536));
    RGM_TRY(read_stack(&t->encoder, c, "encoder"));
    RGM_TRY(read_stack(&t->decoder, c, "decoder"));
    RGM_TRY(rgmi_import_int(&t->positions, c, "max_position_embeddings", 1024, 1, 1000000));
    RGM_TRY(rgmi_import_int(&t->source_tokens, c, "vocab_size", RGMI_NEEDED, 2, INT32_MAX));
    RGM_TRY(rgmi_import_int(&t->target_tokens, c, "decoder_vocab_size", t->source_tokens, 2,
                            INT32_MAX));
    RGM_TRY(rgmi_import_real(&t->dropout, c, "dropout", 0.1, 0, 0.999));
    RGM_TRY(rgmi_import_real(&t->attention_dropout, c, "attention_dropout", 0, 0, 0.999));
    return rgmi_import_real(&t->inner_dropout, c, "activation_dropout", 0, 0, 0.999);
}

static rgm_status read_function(rgmi_import_translation *t, rgmi_import_config *c)
{
    const char *activation;
    bool shared, tied;

    RGM_TRY(rgmi_import_text(&activation, c, "activation_function"));
    RGM_TRY(rgmi_import_activation(&t->activation, c, "activation_function",
                                   activation != NULL ? activation : "gelu"));
    RGM_TRY(rgmi_import_bool(&t->scaled, c, "scale_embedding", false));
    RGM_TRY(rgmi_import_bool(&shared, c, "share_encoder_decoder_embeddings", true));
    RGM_TRY(rgmi_import_bool(&tied, c, "tie_word_embeddings", true));
    t->embeddings = shared ? (tied ? "shared" : "inputs") : (tied ? "target" : "untied");
    t->position_kind = "sinusoidal_paper";
    t->epsilon = EPSILON;
    if (shared && t->source_tokens != t->target_tokens)
        return rgmi_import_refuse(c, "decoder_vocab_size",
                                  "source and target share a table, of vocab_size rows");
    return RGM_OK;
}

/* ---- its tokenizers -------------------------------------------------------------------------- */

static rgm_status find_files(rgmi_import_translation *t, const rgmi_import_source *source)
{
    static const char *const names[] = {"source.spm", "target.spm", vocabulary_file};
    rgm_status status = RGM_OK;
    char *path = NULL;

    for (int i = 0; i < 3; i++) {
        rgm_free(path);
        RGM_GO(rgm_path_join(&path, source->folder, names[i]));
        if (!rgm_path_exists(path))
            RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND,
                            "%s has no %s: a folder of MarianMT has source.spm, target.spm and "
                            "vocab.json, as save_pretrained() of its tokenizer writes them",
                            source->folder, names[i]));
    }
    t->tokenizer = names[0];
    t->target_tokenizer = names[1];
    t->vocabulary = names[2];
    rgm_free(path);
    RGM_GO(rgm_path_join(&path, source->folder, target_vocabulary_file));
    if (rgm_path_exists(path))
        t->target_vocabulary = target_vocabulary_file;
done:
    rgm_free(path);
    return status;
}

static rgm_status check_tokens(rgmi_import_work *work, const rgmi_import_translation *t)
{
    rgmi_import_config *c = &work->source->config;
    const char *ids = t->target_vocabulary != NULL ? t->target_vocabulary : t->vocabulary;
    int64_t pad, start;

    RGM_TRY(rgmi_import_check_token(work, "pad_token_id", ids, "<pad>"));
    RGM_TRY(rgmi_import_check_token(work, "eos_token_id", ids, "</s>"));
    RGM_TRY(rgmi_import_int(&pad, c, "pad_token_id", RGMI_NEEDED, 0, INT32_MAX));
    RGM_TRY(rgmi_import_int(&start, c, "decoder_start_token_id", pad, 0, INT32_MAX));
    if (start != pad)
        return rgmi_import_refuse(c, "decoder_start_token_id",
                                  "translations begin with padding here, pad_token_id");
    return RGM_OK;
}

static rgm_status configure(rgm_json_writer *w, rgmi_import_work *work)
{
    rgmi_import_config *c = &work->source->config;
    rgmi_import_translation t = {.search = RGMI_IMPORT_SEARCH_INIT};

    RGM_TRY(read_sizes(&t, c));
    RGM_TRY(read_function(&t, c));
    RGM_TRY(find_files(&t, work->source));
    RGM_TRY(check_tokens(work, &t));
    RGM_TRY(rgmi_import_generation(&t.search, work, t.positions));
    return rgmi_import_translation_open(w, work, &t);
}

const rgmi_import_family rgmi_import_marianmt = {.name = "marian",
                                                 .types = types,
                                                 .names = rgm_translation_marianmt_names,
                                                 .others = others,
                                                 .fixed = fixed,
                                                 .free_keys = free_keys,
                                                 .configure = configure};
