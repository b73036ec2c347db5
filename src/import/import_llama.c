/*
 * Llama and models of the same blocks, of Transformers: LlamaForCausalLM, MistralForCausalLM,
 * Qwen2ForCausalLM. They differ in what is otherwise where a key is missing, in biases, and in how
 * windows are said.
 */
#include <string.h>

#include <regimen/language.h>

#include "model_import_internal.h"

static const char *const types[] = {"llama", "mistral", "qwen2", NULL};

static const rgmi_import_other others[] = {
    {"*.rotary_emb.inv_freq", NULL, "angles that follow from the configuration, no weight"},
    {"lm_head.weight", "model.embed_tokens.weight", "the same table again"},
    {0}};

static const rgmi_import_fixed fixed[] = {
    {"is_encoder_decoder", "false", "a decoder without a source is read"},
    {"partial_rotary_factor", "1.0 1", "every number of a head is turned here"},
    {"rope_interleaved", "false", "a head's halves are turned against each other here"},
    {"use_mrope", "false", "a token has one position here"},
    {0}};

static const char *const free_keys[] = {"is_decoder", "is_llama_config", "pretraining_tp", NULL};

/** What a configuration of one of the types means without a key. */
typedef struct variant {
    const char *type;
    int64_t key_heads;  /* 0: as many as heads */
    int64_t window;     /* 0: none */
    bool windows_asked; /* a window counts where use_sliding_window says so, from a layer on */
    bool qkv_bias;
} variant;

static const variant variants[] = {
    {"llama", 0, 0, false, false},
    {"mistral", 8, 4096, false, false},
    {"qwen2", 32, 4096, true, true},
};

static const variant *variant_of(const char *type)
{
    for (size_t i = 1; i < sizeof variants / sizeof *variants; i++)
        if (strcmp(variants[i].type, type) == 0)
            return &variants[i];
    return &variants[0];
}

/* ---- rotary positions ------------------------------------------------------------------------ */

/* A map that may stretch positions: its kind must be the one without. Its other members are all
 * read. */
static rgm_status read_kind(const rgmi_import_config *c, const char *key, const rgm_json *map)
{
    rgm_json_entry entry = {0};

    if (!rgm_json_is_object(map))
        return rgmi_import_refuse(c, key, "it is a map");
    while (rgm_json_next(&entry, map)) {
        const char *kind = rgm_json_text(entry.value);
        double part = 0;

        if (strcmp(entry.key, "rope_type") == 0 || strcmp(entry.key, "type") == 0) {
            if (kind == NULL || strcmp(kind, "default") != 0)
                return rgmi_import_refuse(c, key, "rotary positions are not stretched here");
        } else if (strcmp(entry.key, "partial_rotary_factor") == 0) {
            if (!rgm_json_number(&part, entry.value) || part != 1)
                return rgmi_import_refuse(c, key, "every number of a head is turned here");
        } else if (strcmp(entry.key, "rope_theta") != 0) {
            return rgmi_import_refuse(c, key, "of rotary positions rope_theta alone is read");
        }
    }
    return RGM_OK;
}

/* rope_theta by itself, or in rope_parameters, as Transformers from version 5 on has it. */
static rgm_status read_rotary(double *base, rgmi_import_config *c)
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    double inside;

    RGM_TRY(rgmi_import_real(base, c, "rope_theta", 10000, 1, 1e12));
    for (int i = 0; i < 2; i++) {
        const rgm_json *map, *theta;

        RGM_TRY(rgmi_import_value(&map, c, keys[i]));
        if (map == NULL)
            continue;
        RGM_TRY(read_kind(c, keys[i], map));
        theta = rgm_json_find(map, "rope_theta");
        if (theta == NULL)
            continue;
        if (!rgm_json_number(&inside, theta) || !(inside >= 1 && inside <= 1e12))
            return rgmi_import_refuse(c, keys[i], "its rope_theta is no number from 1 to 1e12");
        if (rgm_json_find(c->json, "rope_theta") != NULL && inside != *base)
            return rgmi_import_refuse(c, keys[i], "rope_theta beside it is another number");
        *base = inside;
    }
    return RGM_OK;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* How many layers have a window, by a list with a word for each. */
static rgm_status count_windows(int64_t *windows, const rgmi_import_config *c, const rgm_json *list,
                                int64_t layers)
{
    *windows = 0;
    if (rgm_json_count(list) != layers)
        return rgmi_import_refuse(c, "layer_types", "a word for each layer is read");
    for (int64_t i = 0; i < layers; i++) {
        const char *type = rgm_json_text(rgm_json_at(list, i));

        if (type != NULL && strcmp(type, "sliding_attention") == 0)
            ++*windows;
        else if (type == NULL || strcmp(type, "full_attention") != 0)
            return rgmi_import_refuse(c, "layer_types",
                                      "full_attention and sliding_attention are to be had here");
    }
    return RGM_OK;
}

/* The window that all layers have; 0: none has one. */
static rgm_status read_window(int64_t *window, rgmi_import_config *c, const variant *v,
                              int64_t layers)
{
    const rgm_json *types_by_layer;
    int64_t without = 0, windows = layers;
    bool used = true;

    /* A null is a value here: it means that there is none. */
    RGM_TRY(rgmi_import_int(window, c, "sliding_window",
                            rgm_json_find(c->json, "sliding_window") != NULL ? 0 : v->window, 1,
                            1000000000));
    if (v->windows_asked) {
        RGM_TRY(rgmi_import_bool(&used, c, "use_sliding_window", false));
        RGM_TRY(rgmi_import_int(&without, c, "max_window_layers", 28, 0, 1000000));
        windows = without < layers ? layers - without : 0;
    }
    RGM_TRY(rgmi_import_value(&types_by_layer, c, "layer_types"));
    if (types_by_layer != NULL)
        RGM_TRY(count_windows(&windows, c, types_by_layer, layers));
    if (*window == 0 || !used || windows == 0) {
        *window = 0;
        return RGM_OK;
    }
    if (windows < layers)
        return rgmi_import_refuse(c, types_by_layer != NULL ? "layer_types" : "max_window_layers",
                                  "windows of some layers alone are not to be had here");
    return RGM_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static rgm_status read_sizes(rgmi_import_decoder *d, rgmi_import_config *c, const variant *v)
{
    int64_t depth;

    RGM_TRY(rgmi_import_int(&d->layers, c, "num_hidden_layers", RGMI_NEEDED, 1, RGM_STACK_LAYERS));
    RGM_TRY(rgmi_import_int(&d->width, c, "hidden_size", RGMI_NEEDED, 2, 65536));
    RGM_TRY(rgmi_import_int(&d->heads, c, "num_attention_heads", RGMI_NEEDED, 1, 1024));
    RGM_TRY(rgmi_import_int(&d->key_heads, c, "num_key_value_heads",
                            v->key_heads > 0 ? v->key_heads : d->heads, 1, 1024));
    RGM_TRY(rgmi_import_int(&d->inner, c, "intermediate_size", RGMI_NEEDED, 1, 1000000));
    RGM_TRY(rgmi_import_int(&d->positions, c, "max_position_embeddings", RGMI_NEEDED, 1, 1000000));
    RGM_TRY(rgmi_import_int(&d->vocabulary, c, "vocab_size", RGMI_NEEDED, 2, INT32_MAX));
    RGM_TRY(rgmi_import_int(&depth, c, "head_dim", d->width / d->heads, 1, 65536));
    if (depth * d->heads != d->width)
        return rgmi_import_refuse(c, "head_dim",
                                  "heads of hidden_size / num_attention_heads are "
                                  "to be had here");
    RGM_TRY(rgmi_import_real(&d->epsilon, c, "rms_norm_eps", 1e-6, 1e-30, 1));
    return rgmi_import_text(&d->activation, c, "hidden_act");
}

static rgm_status write_stack(rgm_json_writer *w, rgmi_import_config *c,
                              const rgmi_import_decoder *d, const variant *v)
{
    const char *activation;
    int64_t window;
    double dropout;
    bool bias, ffn_bias;

    RGM_TRY(rgmi_import_activation(&activation, c, "hidden_act",
                                   d->activation != NULL ? d->activation : "silu"));
    RGM_TRY(rgmi_import_real(&dropout, c, "attention_dropout", 0, 0, 0.999));
    RGM_TRY(rgmi_import_bool(&bias, c, "attention_bias", false));
    RGM_TRY(rgmi_import_bool(&ffn_bias, c, "mlp_bias", false));
    if (strcmp(v->type, "llama") != 0 && (bias || ffn_bias))
        return rgmi_import_refuse(c, bias ? "attention_bias" : "mlp_bias",
                                  "models of this type have no such key");
    RGM_TRY(read_window(&window, c, v, d->layers));
    RGM_TRY(rgm_json_open_object(w, "decoder", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_int(w, "num_layers", d->layers));
    RGM_TRY(rgm_json_write_int(w, "num_attention_heads", d->heads));
    RGM_TRY(rgm_json_write_int(w, "num_key_value_heads", d->key_heads));
    RGM_TRY(rgm_json_write_int(w, "intermediate_size", d->inner));
    RGM_TRY(rgm_json_write_text(w, "activation", activation));
    RGM_TRY(rgm_json_write_number(w, "attention_dropout_rate", dropout));
    RGM_TRY(rgm_json_write_bool(w, "use_bias", bias));
    RGM_TRY(rgm_json_write_bool(w, "qkv_bias", v->qkv_bias));
    RGM_TRY(rgm_json_write_bool(w, "ffn_bias", ffn_bias));
    RGM_TRY(rgm_json_write_number(w, "norm_epsilon", d->epsilon));
    RGM_TRY(rgm_json_write_int(w, "attention_window", window));
    return rgm_json_close(w);
}

static rgm_status configure(rgm_json_writer *w, rgmi_import_work *work)
{
    rgmi_import_config *c = &work->source->config;
    const variant *v = variant_of(work->source->type);
    rgmi_import_decoder d = {0};
    double base;
    bool tied;

    RGM_TRY(read_sizes(&d, c, v));
    RGM_TRY(read_rotary(&base, c));
    RGM_TRY(rgmi_import_bool(&tied, c, "tie_word_embeddings", false));
    RGM_TRY(rgmi_import_decoder_open(w, work, &d));
    RGM_TRY(rgm_json_open_object(w, "model", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(w, "type", "decoder_transformer"));
    RGM_TRY(rgm_json_write_int(w, "embedding_width", d.width));
    RGM_TRY(rgm_json_write_int(w, "max_positions", d.positions));
    RGM_TRY(rgm_json_write_number(w, "rotary_base", base));
    RGM_TRY(rgm_json_write_bool(w, "tied", tied));
    RGM_TRY(write_stack(w, c, &d, v));
    return rgm_json_close(w);
}

const rgmi_import_family rgmi_import_llama = {.name = "llama",
                                              .types = types,
                                              .names = rgm_language_llama_names,
                                              .others = others,
                                              .fixed = fixed,
                                              .free_keys = free_keys,
                                              .configure = configure};
