/*
 * What decoders without a source have in common, whoever made them: bounds of their sizes, their
 * tokenizer, and the sections data and task of an experiment about them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <regimen/text.h>

#include "model_import_internal.h"

/** The numbers of a table of angles for rotary positions, [positions, depth]. */
enum { MOST_ANGLES = 1 << 28 };
enum { BLOCK = 256, BATCH = 4096 };

rgm_status rgmi_import_activation(const char **out, const rgmi_import_config *config,
                                  const char *key, const char *theirs)
{
    static const char *const names[][2] = {
        {"gelu_new", "gelu_tanh"}, {"gelu_pytorch_tanh", "gelu_tanh"},
        {"gelu", "gelu"},          {"relu", "relu"},
        {"silu", "silu"},          {"swish", "silu"}};

    for (size_t i = 0; theirs != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], theirs) == 0) {
            *out = names[i][1];
            return RGM_OK;
        }
    return rgmi_import_refuse(config, key,
                              "activations here are gelu_new, gelu_pytorch_tanh, gelu, relu, silu");
}

/* ---- its tokenizer --------------------------------------------------------------------------- */

/* Its file, of the folder's two possible ones; owned. */
static rgm_status find_tokenizer(char **path, const char **name, const rgmi_import_source *source)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer.model"};

    for (int i = 0; i < 2; i++) {
        RGM_TRY(rgm_path_join(path, source->folder, names[i]));
        *name = names[i];
        if (rgm_path_exists(*path))
            return RGM_OK;
        rgm_free(*path);
        *path = NULL;
    }
    return RGM_FAIL(
        RGM_ERR_NOT_FOUND,
        "%s has neither tokenizer.json nor tokenizer.model: without them no text can be "
        "read (save_pretrained() of a fast tokenizer writes the former)",
        source->folder);
}

static rgm_status count_tokens(rgmi_import_work *work, const rgm_tokenizer *tokenizer,
                               const char *name, int64_t theirs)
{
    int64_t pieces = rgm_tokenizer_size(tokenizer);

    work->tokens = (rgm_weight_tokens){.theirs = theirs, .taken = pieces};
    if (pieces > theirs)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: vocab_size is %lld, but %s has %lld tokens",
                        work->source->config.name, (long long)theirs, name, (long long)pieces);
    if (pieces == theirs)
        return RGM_OK;
    if (!work->options->cut_vocabulary)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "%s: vocab_size is %lld, of which %s has pieces for %lld alone: "
            "--cut-vocabulary leaves the others out, which then share in no probability",
            work->source->config.name, (long long)theirs, name, (long long)pieces);
    return rgmi_import_note(work, "vocabulary: %lld of %lld tokens, as many as %s has pieces for",
                            (long long)pieces, (long long)theirs, name);
}

static bool is_ignored(const rgmi_import_work *work, const char *key)
{
    const rgm_texts *ignored = work->options->ignored;

    for (int64_t i = 0; ignored != NULL && i < ignored->count; i++)
        if (strcmp(ignored->items[i], key) == 0)
            return true;
    return false;
}

/* A special token of the configuration, which may be a list; RGM_ERR_UNSUPPORTED unless ours is
 * (one of) it. No logit changes by it, so that the user may ignore it. */
static rgm_status check_special(rgmi_import_work *work, const char *key, int32_t ours,
                                const char *name)
{
    const rgm_json *value;
    int64_t id = -1, count;
    bool found = false;
    char why[256];

    RGM_TRY(rgmi_import_value(&value, &work->source->config, key));
    count = rgm_json_count(value);
    for (int64_t i = 0; i < (count < 0 ? 1 : count); i++) {
        if (!rgm_json_int(&id, count < 0 ? value : rgm_json_at(value, i)))
            continue;
        found = found || id == ours;
    }
    if (value == NULL || found)
        return RGM_OK;
    if (is_ignored(work, key))
        return rgmi_import_note(work, "%s: token %d, as %s has it", key, ours, name);
    snprintf(why, sizeof why, "by %s it is %d (--ignore %s takes that)", name, ours, key);
    return rgmi_import_refuse(&work->source->config, key, why);
}

/* ---- where a prompt begins --------------------------------------------------------------------
 */

static bool puts_token_before_one(const rgm_json *processor)
{
    const rgm_json *first = rgm_json_at(rgm_json_find(processor, "single"), 0);

    return rgm_json_find(first, "SpecialToken") != NULL;
}

/* Whether a post-processor, or one of a sequence of them, puts a special token before a text. */
static bool puts_token_before(const rgm_json *processor)
{
    const rgm_json *several = rgm_json_find(processor, "processors");

    for (int64_t i = 0; i < rgm_json_count(several); i++)
        if (puts_token_before_one(rgm_json_at(several, i)))
            return true;
    return puts_token_before_one(processor);
}

/* Whether the tokenizer there puts a begin before a text: by tokenizer_config.json, else by the
 * post-processor of tokenizer.json; SentencePiece's files do not say, and those of Llama have one.
 */
static rgm_status read_begin(bool *out, const char *folder, const char *name)
{
    rgm_status status = RGM_OK;
    rgm_json *config = NULL, *file = NULL;

    *out = true;
    RGM_GO(rgmi_import_load_json(&config, folder, "tokenizer_config.json"));
    if (rgm_json_bool(out, rgm_json_find(config, "add_bos_token")) ||
        strcmp(name, "tokenizer.json") != 0)
        goto done;
    RGM_GO(rgmi_import_load_json(&file, folder, name));
    *out = puts_token_before(rgm_json_find(file, "post_processor"));
done:
    rgm_json_release(config);
    rgm_json_release(file);
    return status;
}

static rgm_status tell_begin(rgmi_import_work *work, const rgm_tokenizer *tokenizer, int32_t token,
                             bool begin)
{
    const char *piece = token >= 0 ? rgm_tokenizer_piece(tokenizer, token) : "";

    if (begin)
        return rgmi_import_note(work, "prompts and documents are read behind the token '%s'",
                                piece);
    return rgmi_import_note(
        work,
        "prompts are read alone, as there (task.generate.begin: false), documents behind '%s'",
        piece);
}

static rgm_status check_tokenizer(bool *behind_begin, rgmi_import_work *work, const char *path,
                                  const char *name, int64_t theirs)
{
    rgm_status status = RGM_OK;
    rgm_tokenizer *tokenizer = NULL;
    int32_t begin, end;

    RGM_GO(rgm_tokenizer_load(&tokenizer, path));
    RGM_GO(count_tokens(work, tokenizer, name, theirs));
    end = rgm_tokenizer_eos_id(tokenizer);
    begin = rgm_tokenizer_bos_id(tokenizer) >= 0 ? rgm_tokenizer_bos_id(tokenizer) : end;
    RGM_GO(check_special(work, "eos_token_id", end, name));
    RGM_GO(check_special(work, "bos_token_id", begin, name));
    RGM_GO(read_begin(behind_begin, work->source->folder, name));
    RGM_GO(tell_begin(work, tokenizer, begin, *behind_begin));
    RGM_GO(rgmi_import_tell_generation(work, end));
done:
    rgm_tokenizer_release(tokenizer);
    return status;
}

/* ---- sections -------------------------------------------------------------------------------- */

static rgm_status write_data(rgm_json_writer *w, const char *folder, const char *tokenizer,
                             int64_t positions)
{
    int64_t block = positions < BLOCK ? positions : BLOCK;
    char *whole = realpath(folder, NULL);
    rgm_status status = RGM_OK;

    if (whole == NULL)
        return RGM_FAIL_SYSTEM("find", folder);
    RGM_GO(rgm_json_open_object(w, "data", RGM_JSON_LINES));
    RGM_GO(rgm_json_write_text(w, "path", whole));
    RGM_GO(rgm_json_write_text(w, "tokenizer", tokenizer));
    RGM_GO(rgm_json_write_int(w, "block_length", block));
    RGM_GO(rgm_json_write_int(w, "batch_tokens", BATCH / block * block));
    RGM_GO(rgm_json_close(w));
done:
    free(whole);
    return status;
}

/* No product of these leaves 64 bits: each was bounded when it was read. */
static rgm_status check_sizes(rgmi_import_work *work, const rgmi_import_decoder *d)
{
    const rgmi_import_config *config = &work->source->config;

    if (d->width % d->heads != 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: %lld heads do not divide the width %lld",
                        config->name, (long long)d->heads, (long long)d->width);
    if (d->width / d->heads * d->positions > MOST_ANGLES)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s: %lld positions of heads of the width %lld are more than can be had "
                        "here",
                        config->name, (long long)d->positions, (long long)(d->width / d->heads));
    work->numbers = d->vocabulary * d->width + 2 * d->layers * d->width * (d->width + d->inner);
    return RGM_OK;
}

rgm_status rgmi_import_decoder_open(rgm_json_writer *file, rgmi_import_work *work,
                                    const rgmi_import_decoder *decoder)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    const char *name;
    bool begin;

    RGM_GO(check_sizes(work, decoder));
    RGM_GO(find_tokenizer(&path, &name, work->source));
    RGM_GO(check_tokenizer(&begin, work, path, name, decoder->vocabulary));
    RGM_GO(write_data(file, work->source->folder, name, decoder->positions));
    RGM_GO(rgm_json_open_object(file, "task", RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(file, "type", "language_model"));
    if (!begin) {
        RGM_GO(rgm_json_open_object(file, "generate", RGM_JSON_SPACED));
        RGM_GO(rgm_json_write_bool(file, "begin", false));
        RGM_GO(rgm_json_close(file));
    }
    RGM_GO(rgm_json_close(file));
done:
    rgm_free(path);
    return status;
}
