/*
 * A translation model as a folder of MarianMT that Transformers loads: config.json,
 * generation_config.json, model.safetensors, its two SentencePiece models and their vocabulary.
 * What MarianMT computes is fixed, so that models with other blocks are refused by their key.
 */
#include <stdio.h>
#include <string.h>

#include "translation_internal.h"

const char rgmi_huggingface_file[] = "config.json";

/* ---- whether it is one ----------------------------------------------------------------------- */

static rgm_status impossible(const char *section, const char *key, const char *why)
{
    return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                    "export: MarianMT of Transformers has no such model: %s.%s: %s", section, key,
                    why);
}

static rgm_status check_stack(const rgm_stack_options *o, const char *section)
{
    if (o->norm != RGM_NORM_LAYER || o->norm_first || o->final_norm)
        return impossible(section,
                          o->norm != RGM_NORM_LAYER ? "norm"
                          : o->norm_first           ? "norm_first"
                                                    : "final_norm",
                          "a layer norm stands behind each block there, and none behind the last "
                          "layer");
    if (o->gated)
        return impossible(section, "gated", "feed-forward blocks are plain there");
    if (!o->use_bias || !o->ffn_bias)
        return impossible(section, o->use_bias ? "ffn_bias" : "use_bias",
                          "every projection has a bias there");
    if (o->num_key_value_heads != 0 && o->num_key_value_heads != o->num_attention_heads)
        return impossible(section, "num_key_value_heads", "there are as many as heads there");
    if (o->attention_window > 0)
        return impossible(section, "attention_window", "there is none there");
    if (o->norm_epsilon < 0.99e-5 || o->norm_epsilon > 1.01e-5)
        return impossible(section, "norm_epsilon", "it is 1e-5 there, and no key says otherwise");
    return RGM_OK;
}

/* MarianTokenizer reads SentencePiece models alone. */
static rgm_status check_tokenizers(const rgmi_translation_data *data)
{
    const rgm_tokenizer *sides[] = {data->source, data->target};

    for (int i = 0; i < 2; i++) {
        int64_t size;
        const char *model = rgm_tokenizer_model(sides[i], &size);

        if (size > 0 && model[0] == '{')
            return impossible("data", i == 0 ? "tokenizer" : "target_tokenizer",
                              "it is a SentencePiece model there, not a tokenizer.json");
    }
    return RGM_OK;
}

/* The number that the vocabulary's file gives an id; padding that it lacks comes last. */
static int64_t number_of(const rgm_tokenizer *tokenizer, int32_t id)
{
    int64_t number = rgm_tokenizer_number(tokenizer, id);

    return number >= 0 ? number : rgm_tokenizer_size(tokenizer) - 1;
}

static rgm_status check_model(const rgmi_translation_task *t)
{
    const rgm_seq2seq_options *o = &t->model.options;

    if (t->data.source == NULL)
        return impossible("data", "reverse", "its tokens have no tokenizer");
    RGM_TRY(check_tokenizers(&t->data));
    if (t->data.source_tag >= 0)
        return impossible("data", "source_tag",
                          "whoever translates would have to put it before each source");
    if (t->data.target_tag > 0)
        return impossible("data", "target_tag", "its targets begin with padding");
    if (t->data.factors.count > 0)
        return impossible("data", "factors", "its sources are tokens alone");
    RGM_TRY(check_stack(&o->encoder, "model.encoder"));
    RGM_TRY(check_stack(&o->decoder, "model.decoder"));
    if (o->positions != RGM_POSITIONS_SINUSOIDAL_PAPER)
        return impossible("model", "positions", "they are sinusoidal_paper there");
    if (!o->output_bias)
        return impossible("model", "output_bias", "every token has one there");
    if (o->encoder.activation != o->decoder.activation)
        return impossible("model.decoder", "activation", "both stacks have one there");
    if (rgm_tokenizer_vocabulary(t->data.source, &(int64_t){0}) == NULL &&
        !rgm_tokenizers_share_ids(t->data.source, t->data.target))
        return impossible("data", "target_tokenizer",
                          "two models need a vocabulary (data.vocabulary)");
    if (number_of(t->data.target, 0) >= rgm_tokenizer_size(t->data.source))
        return impossible("data", "target_vocabulary",
                          "the number of its padding is one of the source's vocabulary there: give "
                          "<pad> a smaller number in it");
    return RGM_OK;
}

rgm_status rgmi_translation_check_huggingface(const rgm_parameters *parameters, void *state)
{
    (void)parameters;
    return check_model(state);
}

/* ---- numbers of tokens ----------------------------------------------------------------------- */

static rgm_status number_tokens(rgm_weight_tokens *out, int64_t **rows,
                                const rgm_tokenizer *tokenizer)
{
    int64_t count = rgm_tokenizer_size(tokenizer);

    RGM_TRY(RGM_NEW(*rows, count));
    for (int64_t i = 0; i < count; i++)
        (*rows)[i] = number_of(tokenizer, (int32_t)i);
    *out = (rgm_weight_tokens){.theirs = count, .taken = count, .from = *rows};
    return RGM_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static rgm_status save_bytes(const char *folder, const char *name, const void *data, int64_t size)
{
    char *path;
    rgm_status status;

    RGM_TRY(rgm_path_join(&path, folder, name));
    status = rgm_file_save_own(path, data, size);
    rgm_free(path);
    return status;
}

/* Pieces and their numbers, in the order of these. */
static rgm_status save_vocabulary(const char *folder, const char *name,
                                  const rgm_tokenizer *tokenizer, const int64_t *rows)
{
    int64_t count = rgm_tokenizer_size(tokenizer), *ids = NULL;
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_json_writer w = {.out = &text};

    RGM_GO(RGM_NEW(ids, count));
    for (int64_t i = 0; i < count; i++)
        ids[rows[i]] = i;
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    for (int64_t number = 0; number < count; number++)
        RGM_GO(
            rgm_json_write_int(&w, rgm_tokenizer_piece(tokenizer, (int32_t)ids[number]), number));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(save_bytes(folder, name, text.data, text.size));
done:
    rgm_free(ids);
    rgm_text_clear(&text);
    return status;
}

static rgm_status save_tokenizers(const char *folder, const rgmi_translation_task *t,
                                  int64_t *const rows[2])
{
    static const char *const models[] = {"source.spm", "target.spm"};
    const rgm_tokenizer *sides[] = {t->data.source, t->data.target};
    bool separate = !rgm_tokenizers_share_ids(sides[0], sides[1]);
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_json_writer w = {.out = &text};

    for (int i = 0; i < 2; i++) {
        int64_t size;
        const void *bytes = rgm_tokenizer_model(sides[i], &size);
        RGM_GO(save_bytes(folder, models[i], bytes, size));
    }
    RGM_GO(save_vocabulary(folder, "vocab.json", sides[0], rows[0]));
    if (separate)
        RGM_GO(save_vocabulary(folder, "target_vocab.json", sides[1], rows[1]));
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_GO(rgm_json_write_text(&w, "tokenizer_class", "MarianTokenizer"));
    RGM_GO(rgm_json_write_bool(&w, "separate_vocabs", separate));
    RGM_GO(rgm_json_write_int(&w, "model_max_length", t->model.options.max_positions));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_add(&text, "\n", 1));
    RGM_GO(save_bytes(folder, "tokenizer_config.json", text.data, text.size));
done:
    rgm_text_clear(&text);
    return status;
}

static const char *activation_name(rgm_activation activation)
{
    switch (activation) {
    case RGM_ACT_GELU:
        return "gelu";
    case RGM_ACT_GELU_TANH:
        return "gelu_new";
    case RGM_ACT_SILU:
        return "swish";
    default:
        return "relu";
    }
}

static rgm_status write_stack(rgm_json_writer *w, const char *side, const rgm_stack_options *o)
{
    static const char *const keys[] = {"layers", "attention_heads", "ffn_dim"};
    const int64_t values[] = {o->num_layers, o->num_attention_heads, o->intermediate_size};

    for (int i = 0; i < 3; i++) {
        char key[48];
        snprintf(key, sizeof key, "%s_%s", side, keys[i]);
        RGM_TRY(rgm_json_write_int(w, key, values[i]));
    }
    return RGM_OK;
}

/* Ids that both files say: of padding, with which a translation begins, and of its end. */
static rgm_status write_tokens(rgm_json_writer *w, const int64_t *rows, int32_t end)
{
    RGM_TRY(rgm_json_write_int(w, "pad_token_id", rows[0]));
    RGM_TRY(rgm_json_write_int(w, "decoder_start_token_id", rows[0]));
    RGM_TRY(rgm_json_write_int(w, "eos_token_id", rows[end]));
    return rgm_json_write_printed(w, "forced_eos_token_id", "null");
}

static rgm_status write_config(rgm_json_writer *w, const rgmi_translation_task *t,
                               const int64_t *rows)
{
    const rgm_seq2seq_options *o = &t->model.options;
    bool shared = o->embeddings == RGM_EMBEDDINGS_SHARED || o->embeddings == RGM_EMBEDDINGS_INPUTS;
    bool tied = o->embeddings == RGM_EMBEDDINGS_SHARED || o->embeddings == RGM_EMBEDDINGS_TARGET;

    RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_open_list(w, "architectures", RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(w, NULL, "MarianMTModel"));
    RGM_TRY(rgm_json_close(w));
    RGM_TRY(rgm_json_write_text(w, "model_type", "marian"));
    RGM_TRY(rgm_json_write_text(w, "torch_dtype", "float32"));
    RGM_TRY(rgm_json_write_bool(w, "is_encoder_decoder", true));
    RGM_TRY(rgm_json_write_int(w, "d_model", o->embedding_width));
    RGM_TRY(write_stack(w, "encoder", &o->encoder));
    RGM_TRY(write_stack(w, "decoder", &o->decoder));
    RGM_TRY(rgm_json_write_text(w, "activation_function", activation_name(o->encoder.activation)));
    RGM_TRY(rgm_json_write_number(w, "dropout", o->decoder.dropout_rate));
    RGM_TRY(rgm_json_write_number(w, "attention_dropout", o->decoder.attention_dropout_rate));
    RGM_TRY(rgm_json_write_number(w, "activation_dropout", o->decoder.intermediate_dropout));
    RGM_TRY(rgm_json_write_bool(w, "scale_embedding", o->scale_embeddings));
    RGM_TRY(rgm_json_write_int(w, "max_position_embeddings", o->max_positions));
    RGM_TRY(rgm_json_write_int(w, "vocab_size", t->model.source_vocabulary));
    RGM_TRY(rgm_json_write_int(w, "decoder_vocab_size", t->model.target_vocabulary));
    RGM_TRY(rgm_json_write_bool(w, "share_encoder_decoder_embeddings", shared));
    RGM_TRY(rgm_json_write_bool(w, "tie_word_embeddings", tied));
    RGM_TRY(write_tokens(w, rows, t->data.end_id));
    return rgm_json_close(w);
}

static rgm_status write_sampling(rgm_json_writer *w, const rgm_beam_search_options *o)
{
    RGM_TRY(rgm_json_write_bool(w, "do_sample", true));
    RGM_TRY(rgm_json_write_number(w, "temperature", o->temperature));
    RGM_TRY(rgm_json_write_int(w, "top_k", o->top_k));
    return rgm_json_write_number(w, "top_p", o->top_p);
}

/* The search, as far as it is one there; tell_search() tells what is not. */
static rgm_status write_generation(rgm_json_writer *w, const rgmi_translation_task *t,
                                   const int64_t *rows)
{
    const rgm_beam_search_options *o = &t->options.search;
    int64_t positions = t->model.options.max_positions;
    int64_t longest = o->decode_max_length > 0 ? o->decode_max_length : positions;

    RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_int(w, "num_beams", o->beam_size));
    if (o->n_best > 1)
        RGM_TRY(rgm_json_write_int(w, "num_return_sequences", o->n_best));
    RGM_TRY(rgm_json_write_number(w, "length_penalty", o->alpha));
    RGM_TRY(rgm_json_write_text(w, "early_stopping", "never"));
    RGM_TRY(rgm_json_write_int(w, "max_length", longest < positions ? longest + 1 : positions));
    if (o->decode_min_length > 0) /* with the token that the decoder begins with, as max_length */
        RGM_TRY(rgm_json_write_int(w, "min_length", o->decode_min_length + 1));
    RGM_TRY(rgm_json_write_int(w, "no_repeat_ngram_size", o->no_repeat_ngram));
    if (o->repetition_penalty > 1)
        RGM_TRY(rgm_json_write_number(w, "repetition_penalty", o->repetition_penalty));
    if (o->sample)
        RGM_TRY(write_sampling(w, o));
    RGM_TRY(rgm_json_open_list(w, "bad_words_ids", RGM_JSON_SPACED));
    RGM_TRY(rgm_json_open_list(w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_int(w, NULL, rows[0]));
    RGM_TRY(rgm_json_close(w));
    RGM_TRY(rgm_json_close(w));
    RGM_TRY(write_tokens(w, rows, t->data.end_id));
    return rgm_json_close(w);
}

typedef rgm_status write_file(rgm_json_writer *w, const rgmi_translation_task *t,
                              const int64_t *rows);

static rgm_status save_json(const char *folder, const char *name, write_file *write,
                            const rgmi_translation_task *t, const int64_t *rows)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_json_writer w = {.out = &text};

    RGM_GO(write(&w, t, rows));
    RGM_GO(rgm_text_add(&text, "\n", 1));
    RGM_GO(save_bytes(folder, name, text.data, text.size));
done:
    rgm_text_clear(&text);
    return status;
}

static void tell_search(const rgm_beam_search_options *o)
{
    const rgm_beam_search_options usual = RGM_BEAM_SEARCH_OPTIONS_INIT;
    const struct {
        bool is_lost;
        const char *key, *there;
    } keys[] = {
        {o->alpha != 0 && o->length_penalty != RGM_LENGTH_POWER, "length_penalty is gnmt",
         "divides by the length to the power of alpha, so that its beams may choose others"},
        {!o->end_within_beam && o->beam_size > 1, "end_within_beam is false",
         "ends a translation only where its end is among the best num_beams continuations"},
        {o->coverage > 0, "coverage is set", "has no such penalty"},
        {o->diversity_groups > 1, "diversity_groups is above 1",
         "has groups of beams in no version from 5 on, and none are written"},
        {o->repetition_penalty > 1 && o->beam_size == 1, "repetition_penalty is set",
         "multiplies logits with one beam, not log-probabilities"},
        {o->decode_max_length == 0 && (o->decode_length_factor != usual.decode_length_factor ||
                                       o->extra_decode_length != usual.extra_decode_length),
         "decode_length_factor or extra_decode_length is set",
         "has no bound by the length of the source"},
    };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].is_lost)
            rgm_log_write(RGM_LOG_WARNING, "export: task.search.%s: Transformers %s", keys[i].key,
                          keys[i].there);
}

/* config.json comes last: when it exists, all of it does. */
rgm_status rgmi_translation_save_huggingface(const char *folder, const rgm_parameters *parameters,
                                             void *state)
{
    const rgmi_translation_task *t = state;
    rgm_weight_tokens tokens, target;
    int64_t *rows[2] = {NULL, NULL};
    rgm_status status = RGM_OK;

    RGM_GO(check_model(t));
    RGM_GO(number_tokens(&tokens, &rows[0], t->data.source));
    RGM_GO(number_tokens(&target, &rows[1], t->data.target));
    RGM_GO(rgm_weights_save(folder, parameters, rgm_translation_marianmt_names, &tokens, &target));
    RGM_GO(save_tokenizers(folder, t, rows));
    tell_search(&t->options.search);
    RGM_GO(save_json(folder, "generation_config.json", write_generation, t, rows[1]));
    RGM_GO(save_json(folder, rgmi_huggingface_file, write_config, t, rows[1]));
done:
    rgm_free(rows[0]);
    rgm_free(rows[1]);
    return status;
}
