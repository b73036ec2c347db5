/*
 * What translation models have in common, whoever made them: their tokenizers with one or two
 * vocabularies, which rows of their tables are which of ours, and the sections of an experiment
 * about them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model_import_internal.h"

enum { LONGEST = 64 };

/* ---- tokenizers ------------------------------------------------------------------------------ */

static rgm_status load_side(rgm_tokenizer **out, const rgmi_import_source *source,
                            const char *tokenizer, const char *vocabulary)
{
    rgm_status status = RGM_OK;
    char *model = NULL, *ids = NULL;

    RGM_GO(rgm_path_join(&model, source->folder, tokenizer));
    RGM_GO(rgm_path_join(&ids, source->folder, vocabulary));
    RGM_GO(rgm_tokenizer_load_with(out, model, ids));
done:
    rgm_free(model);
    rgm_free(ids);
    return status;
}

/* Which row of their tables each of our tokens has. */
static rgm_status map_rows(rgm_weight_tokens *tokens, int64_t **rows, rgmi_import_work *work,
                           const rgm_tokenizer *tokenizer, int64_t theirs, const char *vocabulary)
{
    int64_t count = rgm_tokenizer_size(tokenizer);
    int64_t pieces = count - (rgm_tokenizer_number(tokenizer, 0) < 0);
    const char *config = work->source->config.name;

    if (pieces > theirs)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: the vocabulary has %lld tokens, but %s names %lld",
                        config, (long long)theirs, vocabulary, (long long)pieces);
    if (pieces < theirs && !work->options->cut_vocabulary)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s: of the vocabulary's %lld tokens %s names %lld alone: --cut-vocabulary "
                        "leaves the others out, which then share in no probability",
                        config, (long long)theirs, vocabulary, (long long)pieces);
    RGM_TRY(RGM_NEW(*rows, count));
    for (int64_t i = 0; i < count; i++)
        (*rows)[i] = rgm_tokenizer_number(tokenizer, (int32_t)i);
    *tokens = (rgm_weight_tokens){.theirs = theirs, .taken = count, .from = *rows};
    if (pieces < theirs)
        return rgmi_import_note(work, "vocabulary: %lld of %lld tokens, as many as %s names",
                                (long long)pieces, (long long)theirs, vocabulary);
    return RGM_OK;
}

static rgm_status read_tokenizers(rgmi_import_work *work, const rgmi_import_translation *t)
{
    rgm_status status = RGM_OK;
    rgm_tokenizer *source = NULL, *target = NULL;
    const char *ids = t->target_vocabulary != NULL ? t->target_vocabulary : t->vocabulary;

    RGM_GO(load_side(&source, work->source, t->tokenizer, t->vocabulary));
    RGM_GO(load_side(&target, work->source, t->target_tokenizer, ids));
    RGM_GO(map_rows(&work->tokens, &work->rows[0], work, source, t->source_tokens, t->vocabulary));
    RGM_GO(map_rows(&work->target_tokens, &work->rows[1], work, target, t->target_tokens, ids));
    work->target_tokens.missing = t->missing;
    RGM_GO(rgmi_import_note(work,
                            "ids: padding is 0, its number there is %lld; the others keep "
                            "their order",
                            (long long)rgm_tokenizer_number(target, 0)));
done:
    rgm_tokenizer_release(source);
    rgm_tokenizer_release(target);
    return status;
}

rgm_status rgmi_import_check_token(rgmi_import_work *work, const char *key, const char *vocabulary,
                                   const char *piece)
{
    const rgmi_import_source *source = work->source;
    rgm_json *ids = NULL;
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    int64_t size, id = -1, said;

    RGM_GO(rgm_path_join(&path, source->folder, vocabulary));
    RGM_GO(rgm_file_load(&text, &size, path, 1 << 26));
    RGM_GO(rgm_json_parse(&ids, text, size, path));
    RGM_GO(rgmi_import_int(&said, &work->source->config, key, RGMI_NEEDED, 0, INT32_MAX));
    if (!rgm_json_int(&id, rgm_json_find(ids, piece)) || id != said)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s: %s is %lld, but by %s '%s' has the id %lld",
                        source->config.name, key, (long long)said, vocabulary, piece,
                        (long long)id));
done:
    rgm_json_release(ids);
    rgm_free(path);
    rgm_free(text);
    return status;
}

/* ---- sections -------------------------------------------------------------------------------- */

static rgm_status write_data(rgm_json_writer *w, const char *folder,
                             const rgmi_import_translation *t)
{
    char *whole = realpath(folder, NULL);
    rgm_status status = RGM_OK;

    if (whole == NULL)
        return RGM_FAIL_SYSTEM("find", folder);
    RGM_GO(rgm_json_open_object(w, "data", RGM_JSON_LINES));
    RGM_GO(rgm_json_write_text(w, "path", whole));
    RGM_GO(rgm_json_write_text(w, "tokenizer", t->tokenizer));
    RGM_GO(rgm_json_write_text(w, "target_tokenizer", t->target_tokenizer));
    RGM_GO(rgm_json_write_text(w, "vocabulary", t->vocabulary));
    if (t->target_vocabulary != NULL)
        RGM_GO(rgm_json_write_text(w, "target_vocabulary", t->target_vocabulary));
    RGM_GO(rgm_json_write_int(w, "max_length", t->positions < LONGEST ? t->positions : LONGEST));
    RGM_GO(rgm_json_close(w));
done:
    free(whole);
    return status;
}

/* A whole number, unless it is what it is anyway. */
static rgm_status write_other(rgm_json_writer *w, const char *key, int64_t value, int64_t otherwise)
{
    return value != otherwise ? rgm_json_write_int(w, key, value) : RGM_OK;
}

static rgm_status write_search(rgm_json_writer *w, const rgm_beam_search_options *o)
{
    RGM_TRY(rgm_json_open_object(w, "search", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_int(w, "beam_size", o->beam_size));
    RGM_TRY(rgm_json_write_number(w, "alpha", o->alpha));
    RGM_TRY(rgm_json_write_text(w, "length_penalty", "power"));
    RGM_TRY(rgm_json_write_bool(w, "end_within_beam", o->end_within_beam));
    RGM_TRY(rgm_json_write_bool(w, "no_padding", o->no_padding));
    RGM_TRY(write_other(w, "n_best", o->n_best, 1));
    RGM_TRY(write_other(w, "decode_max_length", o->decode_max_length, 0));
    if (o->decode_length_factor > 0) { /* Marian's alone, and nothing more */
        RGM_TRY(rgm_json_write_number(w, "decode_length_factor", o->decode_length_factor));
        RGM_TRY(rgm_json_write_int(w, "extra_decode_length", 0));
    }
    RGM_TRY(write_other(w, "decode_min_length", o->decode_min_length, 0));
    RGM_TRY(write_other(w, "no_repeat_ngram", o->no_repeat_ngram, 0));
    if (o->repetition_penalty > 1)
        RGM_TRY(rgm_json_write_number(w, "repetition_penalty", o->repetition_penalty));
    if (o->diversity_groups > 1) {
        RGM_TRY(rgm_json_write_int(w, "diversity_groups", o->diversity_groups));
        RGM_TRY(rgm_json_write_number(w, "diversity", o->diversity));
    }
    if (o->sample) {
        RGM_TRY(rgm_json_write_bool(w, "sample", true));
        RGM_TRY(rgm_json_write_number(w, "temperature", o->temperature));
        RGM_TRY(rgm_json_write_int(w, "top_k", o->top_k));
        RGM_TRY(rgm_json_write_number(w, "top_p", o->top_p));
    }
    return rgm_json_close(w);
}

static rgm_status write_task(rgm_json_writer *w, const rgmi_import_translation *t)
{
    RGM_TRY(rgm_json_open_object(w, "task", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(w, "type", "translation"));
    RGM_TRY(write_search(w, &t->search));
    return rgm_json_close(w);
}

static rgm_status write_stack(rgm_json_writer *w, const char *name, const rgmi_import_stack *s,
                              const rgmi_import_translation *t)
{
    RGM_TRY(rgm_json_open_object(w, name, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_int(w, "num_layers", s->layers));
    RGM_TRY(rgm_json_write_int(w, "num_attention_heads", s->heads));
    RGM_TRY(rgm_json_write_int(w, "intermediate_size", s->inner));
    RGM_TRY(rgm_json_write_text(w, "activation", t->activation));
    RGM_TRY(rgm_json_write_number(w, "dropout_rate", t->dropout));
    RGM_TRY(rgm_json_write_number(w, "attention_dropout_rate", t->attention_dropout));
    RGM_TRY(rgm_json_write_number(w, "attention_output_dropout", t->dropout));
    RGM_TRY(rgm_json_write_number(w, "intermediate_dropout", t->inner_dropout));
    RGM_TRY(rgm_json_write_bool(w, "use_bias", true));
    RGM_TRY(rgm_json_write_bool(w, "norm_first", t->norm_first));
    RGM_TRY(rgm_json_write_bool(w, "final_norm", t->final_norm));
    RGM_TRY(rgm_json_write_number(w, "norm_epsilon", t->epsilon));
    return rgm_json_close(w);
}

static rgm_status write_model(rgm_json_writer *w, const rgmi_import_translation *t)
{
    RGM_TRY(rgm_json_open_object(w, "model", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(w, "type", "seq2seq_transformer"));
    RGM_TRY(rgm_json_write_int(w, "embedding_width", t->width));
    RGM_TRY(rgm_json_write_number(w, "dropout_rate", t->dropout));
    RGM_TRY(rgm_json_write_text(w, "embeddings", t->embeddings));
    RGM_TRY(rgm_json_write_bool(w, "output_bias", true));
    RGM_TRY(rgm_json_write_bool(w, "scale_embeddings", t->scaled));
    RGM_TRY(rgm_json_write_text(w, "positions", t->position_kind));
    RGM_TRY(rgm_json_write_int(w, "max_positions", t->positions));
    RGM_TRY(write_stack(w, "encoder", &t->encoder, t));
    RGM_TRY(write_stack(w, "decoder", &t->decoder, t));
    return rgm_json_close(w);
}

/* No product of these leaves 64 bits: each was bounded when it was read. */
static rgm_status check_sizes(rgmi_import_work *work, const rgmi_import_translation *t)
{
    const rgmi_import_stack *stacks[] = {&t->encoder, &t->decoder};
    const char *config = work->source->config.name;

    for (int i = 0; i < 2; i++)
        if (t->width % stacks[i]->heads != 0)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: %lld heads do not divide the width %lld",
                            config, (long long)stacks[i]->heads, (long long)t->width);
    if (t->width % 2 != 0 || t->width * t->positions > 1 << 28)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s: sinusoids of the width %lld at %lld positions are not to be had here",
                        config, (long long)t->width, (long long)t->positions);
    work->numbers = t->target_tokens * t->width;
    for (int i = 0; i < 2; i++)
        work->numbers += 2 * stacks[i]->layers * t->width * (2 * t->width + stacks[i]->inner);
    return RGM_OK;
}

rgm_status rgmi_import_translation_open(rgm_json_writer *file, rgmi_import_work *work,
                                        const rgmi_import_translation *translation)
{
    RGM_TRY(check_sizes(work, translation));
    RGM_TRY(read_tokenizers(work, translation));
    RGM_TRY(write_data(file, work->source->folder, translation));
    RGM_TRY(write_task(file, translation));
    return write_model(file, translation);
}
