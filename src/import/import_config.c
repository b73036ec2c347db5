/*
 * A foreign configuration. Every key is asked for, or has the one value that our model computes
 * with, or is known to change no function; any other is refused with its value, since what it
 * changes would be missing without a word.
 */
#include <stdio.h>
#include <string.h>

#include "model_import_internal.h"

rgm_status rgmi_import_config_open(rgmi_import_config *out, const char *text, int64_t size,
                                   const char *name)
{
    RGM_TRY(rgm_strdup(&out->name, name));
    RGM_TRY(rgm_map_create(&out->asked));
    RGM_TRY(rgm_json_parse_relaxed(&out->json, text, size, name));
    if (!rgm_json_is_object(out->json))
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: it is no object of JSON", name);
    return RGM_OK;
}

void rgmi_import_config_clear(rgmi_import_config *config)
{
    rgm_json_release(config->json);
    rgm_map_release(config->asked);
    rgm_free(config->name);
    *config = (rgmi_import_config){0};
}

rgm_status rgmi_import_load_json(rgm_json **out, const char *folder, const char *name)
{
    enum { MOST = 1 << 26 };
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    int64_t size;

    *out = NULL;
    RGM_GO(rgm_path_join(&path, folder, name));
    if (!rgm_path_exists(path))
        goto done;
    RGM_GO(rgm_file_load(&text, &size, path, MOST));
    RGM_GO(rgm_json_parse_relaxed(out, text, size, path));
done:
    rgm_free(path);
    rgm_free(text);
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

rgm_status rgmi_import_print_value(char *out, size_t size, const rgm_json *value)
{
    rgm_text text = {0};
    rgm_status status;
    double number;

    /* A fraction as people write it: 0.6, not 0.59999999999999998. */
    if (rgm_json_text(value) == NULL && !rgm_json_int(&(int64_t){0}, value) &&
        rgm_json_number(&number, value))
        status = rgm_json_print_number(&text, number);
    else
        status = rgm_json_print(&text, value);

    snprintf(out, size, "%.*s%s", (int)(text.size > 120 ? 120 : text.size),
             text.data != NULL ? text.data : "", text.size > 120 ? ".." : "");
    rgm_text_clear(&text);
    return status;
}

bool rgmi_import_is_null(const rgm_json *value)
{
    char text[160];

    return value == NULL || (rgmi_import_print_value(text, sizeof text, value) == RGM_OK &&
                             strcmp(text, "null") == 0);
}

rgm_status rgmi_import_refuse(const rgmi_import_config *config, const char *key, const char *why)
{
    const rgm_json *value = rgm_json_find(config->json, key);
    char text[160] = "missing";

    if (value != NULL)
        RGM_TRY(rgmi_import_print_value(text, sizeof text, value));
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: %s is %s: %s", config->name, key, text, why);
}

static rgm_status mistyped(const rgmi_import_config *config, const char *key, const char *what)
{
    char text[160];

    RGM_TRY(rgmi_import_print_value(text, sizeof text, rgm_json_find(config->json, key)));
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: %s is %s and not %s", config->name, key, text, what);
}

static rgm_status lacks(const rgmi_import_config *config, const char *key)
{
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s lacks %s", config->name, key);
}

/* NULL also for null. */
static rgm_status ask(const rgm_json **out, rgmi_import_config *config, const char *key)
{
    *out = rgm_json_find(config->json, key);
    if (rgmi_import_is_null(*out))
        *out = NULL;
    return rgm_map_set(config->asked, key, config);
}

rgm_status rgmi_import_int(int64_t *out, rgmi_import_config *config, const char *key,
                           int64_t otherwise, int64_t least, int64_t most)
{
    const rgm_json *value;
    char why[128];

    RGM_TRY(ask(&value, config, key));
    if (value == NULL && otherwise == RGMI_NEEDED)
        return lacks(config, key);
    *out = otherwise;
    if (value != NULL && !rgm_json_int(out, value))
        return mistyped(config, key, "a whole number");
    if (value == NULL || (*out >= least && *out <= most))
        return RGM_OK;
    snprintf(why, sizeof why, "%lld to %lld are possible here", (long long)least, (long long)most);
    return rgmi_import_refuse(config, key, why);
}

rgm_status rgmi_import_real(double *out, rgmi_import_config *config, const char *key,
                            double otherwise, double least, double most)
{
    const rgm_json *value;
    char why[128];

    RGM_TRY(ask(&value, config, key));
    if (value == NULL && otherwise == RGMI_NEEDED_REAL)
        return lacks(config, key);
    *out = otherwise;
    if (value != NULL && !rgm_json_number(out, value))
        return mistyped(config, key, "a number");
    if (value == NULL || (*out >= least && *out <= most))
        return RGM_OK;
    snprintf(why, sizeof why, "%g to %g are possible here", least, most);
    return rgmi_import_refuse(config, key, why);
}

rgm_status rgmi_import_bool(bool *out, rgmi_import_config *config, const char *key, bool otherwise)
{
    const rgm_json *value;

    RGM_TRY(ask(&value, config, key));
    *out = otherwise;
    if (value != NULL && !rgm_json_bool(out, value))
        return mistyped(config, key, "true or false");
    return RGM_OK;
}

rgm_status rgmi_import_text(const char **out, rgmi_import_config *config, const char *key)
{
    const rgm_json *value;

    *out = NULL;
    RGM_TRY(ask(&value, config, key));
    *out = rgm_json_text(value);
    if (value != NULL && *out == NULL)
        return mistyped(config, key, "a text");
    return RGM_OK;
}

rgm_status rgmi_import_value(const rgm_json **out, rgmi_import_config *config, const char *key)
{
    return ask(out, config, key);
}

/* ---- what nobody asked for ------------------------------------------------------------------- */

/* Keys that Transformers writes for every model, and that change no logit: what the file is, how it
 * was trained, what its forward pass also returns, and (of versions before 4.50) how texts are
 * written. */
static const char *const free_of_all[] = {"_name_or_path",
                                          "_attn_implementation_autoset",
                                          "_commit_hash",
                                          "_num_labels",
                                          "architectures",
                                          "auto_map",
                                          "bad_words_ids",
                                          "begin_suppress_tokens",
                                          "chunk_size_feed_forward",
                                          "decoder_start_token_id",
                                          "diversity_penalty",
                                          "do_sample",
                                          "dtype",
                                          "early_stopping",
                                          "encoder_no_repeat_ngram_size",
                                          "exponential_decay_length_penalty",
                                          "finetuning_task",
                                          "forced_bos_token_id",
                                          "forced_eos_token_id",
                                          "id2label",
                                          "initializer_range",
                                          "keys_to_ignore_at_inference",
                                          "label2id",
                                          "length_penalty",
                                          "max_length",
                                          "min_length",
                                          "model_type",
                                          "no_repeat_ngram_size",
                                          "num_beam_groups",
                                          "num_beams",
                                          "num_labels",
                                          "num_return_sequences",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "output_scores",
                                          "pad_token_id",
                                          "prefix",
                                          "problem_type",
                                          "remove_invalid_values",
                                          "repetition_penalty",
                                          "return_dict",
                                          "return_dict_in_generate",
                                          "sep_token_id",
                                          "suppress_tokens",
                                          "task_specific_params",
                                          "temperature",
                                          "tf_legacy_loss",
                                          "tie_encoder_decoder",
                                          "tokenizer_class",
                                          "top_k",
                                          "top_p",
                                          "torch_dtype",
                                          "torchscript",
                                          "transformers.js_config",
                                          "transformers_version",
                                          "typical_p",
                                          "unk_token_id",
                                          "use_bfloat16",
                                          "use_cache",
                                          NULL};

/* Of all models, too. */
static const rgmi_import_fixed fixed_of_all[] = {
    {"pruned_heads", "{}", "layers of different numbers of heads are not to be had here"},
    {"quantization_config", "null", "weights are read in f32, f16 and bf16"},
    {"add_cross_attention", "false", "a decoder that also looks at a source is another model"},
    {"cross_attention_hidden_size", "null",
     "a decoder that also looks at a source is another model"},
    {0}};

static bool listed(const char *const *names, const char *name)
{
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

bool rgmi_import_is_one_of(const char *values, const char *value)
{
    size_t size = strlen(value);

    for (const char *at = values; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, value, size) == 0 && (at[size] == ' ' || at[size] == '\0'))
            return true;
    }
    return false;
}

/* *known: a row is about the key, and its value is one of the row's. */
static rgm_status check_fixed(bool *known, const rgmi_import_config *config,
                              const rgmi_import_fixed *fixed, const rgm_json_entry *entry)
{
    char value[160];

    *known = false;
    for (; fixed != NULL && fixed->key != NULL; fixed++) {
        if (strcmp(fixed->key, entry->key) != 0)
            continue;
        RGM_TRY(rgmi_import_print_value(value, sizeof value, entry->value));
        if (!rgmi_import_is_one_of(fixed->values, value))
            return rgmi_import_refuse(config, entry->key, fixed->why);
        *known = true;
    }
    return RGM_OK;
}

rgm_status rgmi_import_config_done(rgmi_import_config *config, const rgmi_import_family *family,
                                   const rgm_texts *ignored)
{
    rgm_json_entry entry = {0};

    while (rgm_json_next(&entry, config->json)) {
        bool known;

        if (rgm_map_has(config->asked, entry.key))
            continue;
        RGM_TRY(check_fixed(&known, config, family->fixed, &entry));
        if (!known)
            RGM_TRY(check_fixed(&known, config, fixed_of_all, &entry));
        if (known || listed(free_of_all, entry.key) || listed(family->free_keys, entry.key))
            continue;
        for (int64_t i = 0; ignored != NULL && i < ignored->count && !known; i++)
            known = strcmp(ignored->items[i], entry.key) == 0;
        if (!known)
            return rgmi_import_refuse(
                config, entry.key,
                "not known of this family, so that what it changes would be missing (--ignore KEY: "
                "it is known to change nothing)");
    }
    return RGM_OK;
}
