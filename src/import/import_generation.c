/*
 * How a model of Transformers translates: the keys of generation_config.json as those of
 * `task.search`. What cannot be taken over is told with its value, key by key; of a decoder nothing
 * is.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model_import_internal.h"

static const char own_file[] = "generation_config.json";

/* Keys of a translation that are read below. */
static const char *const read_keys[] = {"bad_words_ids",
                                        "diversity_penalty",
                                        "do_sample",
                                        "early_stopping",
                                        "length_penalty",
                                        "max_length",
                                        "max_new_tokens",
                                        "min_length",
                                        "min_new_tokens",
                                        "no_repeat_ngram_size",
                                        "num_beam_groups",
                                        "num_beams",
                                        "num_return_sequences",
                                        "repetition_penalty",
                                        "temperature",
                                        "top_k",
                                        "top_p",
                                        NULL};

/* Keys that task.search and task.generate lack, and the values with which they change nothing. */
static const rgmi_import_fixed lacking[] = {{"begin_suppress_tokens", "[]", NULL},
                                            {"constraints", "", NULL},
                                            {"encoder_no_repeat_ngram_size", "0", NULL},
                                            {"encoder_repetition_penalty", "1 1.0", NULL},
                                            {"epsilon_cutoff", "0 0.0", NULL},
                                            {"eta_cutoff", "0 0.0", NULL},
                                            {"exponential_decay_length_penalty", "", NULL},
                                            {"force_words_ids", "", NULL},
                                            {"forced_bos_token_id", "", NULL},
                                            {"guidance_scale", "1 1.0", NULL},
                                            {"min_p", "0 0.0", NULL},
                                            {"penalty_alpha", "0 0.0", NULL},
                                            {"renormalize_logits", "false", NULL},
                                            {"sequence_bias", "", NULL},
                                            {"suppress_tokens", "[]", NULL},
                                            {"typical_p", "1 1.0", NULL},
                                            {0}};

/* Keys of generation_config.json that change no text: ids that config.json has too, what generate()
 * returns, and what makes it faster. */
static const char *const free_keys[] = {"_from_model_config",
                                        "bos_token_id",
                                        "cache_config",
                                        "cache_implementation",
                                        "compile_config",
                                        "decoder_start_token_id",
                                        "disable_compile",
                                        "eos_token_id",
                                        "forced_eos_token_id",
                                        "is_assistant",
                                        "low_memory",
                                        "output_attentions",
                                        "output_hidden_states",
                                        "output_logits",
                                        "output_scores",
                                        "pad_token_id",
                                        "remove_invalid_values",
                                        "return_dict_in_generate",
                                        "return_legacy_cache",
                                        "token_healing",
                                        "transformers_version",
                                        "use_cache",
                                        NULL};

/* Keys of a decoder beside those. */
static const rgmi_import_fixed of_decoders[] = {
    {"bad_words_ids", "[]", NULL},
    {"diversity_penalty", "0 0.0", NULL},
    {"do_sample", "true", "task.generate.temperature: 0 says it here"},
    {"early_stopping", "false", NULL},
    {"length_penalty", "1 1.0", NULL},
    {"max_length", "20", "task.generate.max_tokens says it here, without the prompt"},
    {"max_new_tokens", "", "task.generate.max_tokens says it here"},
    {"min_length", "0", NULL},
    {"min_new_tokens", "0", NULL},
    {"min_p", "0 0.0", "task.generate.min_p says it here"},
    {"no_repeat_ngram_size", "0", NULL},
    {"num_beam_groups", "1", NULL},
    {"num_beams", "1", NULL},
    {"num_return_sequences", "1", NULL},
    {"repetition_penalty", "1 1.0", "task.generate.repetition_penalty says it here"},
    {"temperature", "1 1.0", "task.generate.temperature says it here"},
    {"top_k", "0", "task.generate.top_k says it here"},
    {"top_p", "1 1.0", "task.generate.top_p says it here"},
    {0}};

typedef struct reading {
    rgmi_import_work *work;
    const rgm_json *from; /* generation_config.json, or config.json where there is none */
    const char *name;
} reading;

static bool listed(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static rgm_status tell(reading *r, const char *key, const char *why)
{
    char value[160];

    RGM_TRY(rgmi_import_print_value(value, sizeof value, rgm_json_find(r->from, key)));
    return rgmi_import_note(r->work, "%s: %s is %s: %s", r->name, key, value, why);
}

/* ---- one key --------------------------------------------------------------------------------- */

static bool has(const reading *r, const char *key)
{
    return !rgmi_import_is_null(rgm_json_find(r->from, key));
}

static bool is_true(const reading *r, const char *key)
{
    bool value = false;

    return rgm_json_bool(&value, rgm_json_find(r->from, key)) && value;
}

/* *out stays where the key is missing, null, or beyond what task.search can have. */
static rgm_status take(double *out, reading *r, const char *key, double least, double most)
{
    double number;

    if (!has(r, key))
        return RGM_OK;
    if (!rgm_json_number(&number, rgm_json_find(r->from, key)) ||
        !(number >= least && number <= most))
        return tell(r, key, "beyond what task.search can have; left out");
    *out = number;
    return RGM_OK;
}

static rgm_status take_int(int64_t *out, reading *r, const char *key, int64_t least, int64_t most)
{
    double number = (double)*out;

    RGM_TRY(take(&number, r, key, (double)least, (double)most));
    if (number != floor(number))
        return tell(r, key, "no whole number; left out");
    *out = (int64_t)number;
    return RGM_OK;
}

/* ---- the search ------------------------------------------------------------------------------ */

enum { MOST_BEAMS = 64, MOST = 1000000 };

static rgm_status read_beams(rgm_beam_search_options *o, reading *r)
{
    int64_t groups = 1;

    RGM_TRY(take_int(&o->beam_size, r, "num_beams", 1, MOST_BEAMS));
    RGM_TRY(take_int(&o->n_best, r, "num_return_sequences", 1, o->beam_size));
    RGM_TRY(take(&o->alpha, r, "length_penalty", 0, 10));
    if (is_true(r, "early_stopping"))
        RGM_TRY(tell(r, "early_stopping", "a search ends here when no better one can come"));
    RGM_TRY(take_int(&groups, r, "num_beam_groups", 1, MOST_BEAMS));
    if (groups == 1)
        return RGM_OK;
    if (o->beam_size % groups != 0)
        return tell(r, "num_beam_groups", "does not divide num_beams; left out");
    o->diversity_groups = groups;
    o->diversity = 0;
    RGM_TRY(take(&o->diversity, r, "diversity_penalty", 0, MOST));
    return tell(r, "num_beam_groups",
                "here the penalty is for the choice alone, and no part of the scores");
}

/* The first token, with which the decoder begins, is counted there and not here. */
static rgm_status read_lengths(rgm_beam_search_options *o, reading *r, int64_t positions)
{
    int64_t longest = 0, shortest = 0;

    RGM_TRY(take_int(&longest, r, "max_length", 1, INT32_MAX));
    longest -= longest > 0;
    RGM_TRY(take_int(&longest, r, "max_new_tokens", 1, INT32_MAX));
    o->decode_max_length = longest > positions ? positions : longest;
    RGM_TRY(take_int(&shortest, r, "min_length", 0, MOST));
    shortest -= shortest > 0;
    RGM_TRY(take_int(&shortest, r, "min_new_tokens", 0, MOST));
    if (o->decode_max_length > 0 && shortest >= o->decode_max_length)
        return tell(r, has(r, "min_new_tokens") ? "min_new_tokens" : "min_length",
                    "as long as the longest translation; left out");
    o->decode_min_length = shortest;
    return RGM_OK;
}

static rgm_status read_rules(rgm_beam_search_options *o, reading *r)
{
    char padding[32], banned[160];
    int64_t pad = 0;

    RGM_TRY(take_int(&o->no_repeat_ngram, r, "no_repeat_ngram_size", 0, MOST));
    RGM_TRY(take(&o->repetition_penalty, r, "repetition_penalty", 1, MOST));
    if (o->repetition_penalty > 1 && o->beam_size == 1)
        RGM_TRY(tell(r, "repetition_penalty",
                     "with one beam logits are multiplied there, log-probabilities here"));
    if (!has(r, "bad_words_ids"))
        return RGM_OK;
    (void)rgm_json_int(&pad, rgm_json_find(r->work->source->config.json, "pad_token_id"));
    snprintf(padding, sizeof padding, "[] [[%lld]]", (long long)pad);
    RGM_TRY(
        rgmi_import_print_value(banned, sizeof banned, rgm_json_find(r->from, "bad_words_ids")));
    return rgmi_import_is_one_of(padding, banned)
               ? RGM_OK
               : tell(r, "bad_words_ids", "of these, padding alone is never written here");
}

static rgm_status read_sampling(rgm_beam_search_options *o, reading *r)
{
    if (!is_true(r, "do_sample"))
        return RGM_OK;
    if (o->beam_size > 1)
        return tell(r, "do_sample", "beams are not drawn here; they are searched for");
    o->sample = true;
    o->top_k = 50; /* as there, where no key says otherwise */
    RGM_TRY(take(&o->temperature, r, "temperature", 1e-6, MOST));
    RGM_TRY(take_int(&o->top_k, r, "top_k", 0, MOST));
    return take(&o->top_p, r, "top_p", 1e-6, 1);
}

/* ---- what else there is ---------------------------------------------------------------------- */

static const rgmi_import_fixed *find_row(const rgmi_import_fixed *row, const char *key)
{
    while (row->key != NULL && strcmp(row->key, key) != 0)
        row++;
    return row->key != NULL ? row : NULL;
}

/* Keys that are not read. One of config.json that is not of generation is looked at elsewhere. */
static rgm_status tell_others(reading *r, bool decoder)
{
    const char *otherwise = decoder ? "task.generate has no such key; left out"
                                    : "task.search has no such key; left out";
    rgm_json_entry entry = {0};
    char value[160];

    while (rgm_json_next(&entry, r->from)) {
        const rgmi_import_fixed *row = decoder ? find_row(of_decoders, entry.key) : NULL;

        row = row != NULL ? row : find_row(lacking, entry.key);
        if (rgmi_import_is_null(entry.value) || (!decoder && listed(read_keys, entry.key)) ||
            (row == NULL && (r->name != own_file || listed(free_keys, entry.key))))
            continue;
        RGM_TRY(rgmi_import_print_value(value, sizeof value, entry.value));
        if (row == NULL || !rgmi_import_is_one_of(row->values, value))
            RGM_TRY(tell(r, entry.key, row != NULL && row->why != NULL ? row->why : otherwise));
    }
    return RGM_OK;
}

/* A text ends here with one token, there with any of a list. The one of config.json was checked. */
static rgm_status tell_ends(reading *r, int64_t ours)
{
    const rgm_json *ends = rgm_json_find(r->from, "eos_token_id");
    int64_t count = rgm_json_count(ends), id;
    bool others = false;
    char why[96];

    if (count < 0 && r->name != own_file)
        return RGM_OK;
    for (int64_t i = 0; i < (count < 0 ? 1 : count); i++)
        if (rgm_json_int(&id, count < 0 ? ends : rgm_json_at(ends, i)))
            others = others || id != ours;
    snprintf(why, sizeof why, "that ends a text there; here %lld alone does", (long long)ours);
    return others ? tell(r, "eos_token_id", why) : RGM_OK;
}

rgm_status rgmi_import_generation(rgm_beam_search_options *search, rgmi_import_work *work,
                                  int64_t positions)
{
    rgm_status status = RGM_OK;
    reading r = {work, work->source->config.json, "config.json"};
    int64_t end = 0;
    rgm_json *own;

    (void)rgm_json_int(&end, rgm_json_find(r.from, "eos_token_id"));
    RGM_TRY(rgmi_import_load_json(&own, work->source->folder, own_file));
    if (own != NULL) /* versions before 4.27 have none */
        r = (reading){work, own, own_file};
    RGM_GO(read_beams(search, &r));
    RGM_GO(read_lengths(search, &r, positions));
    RGM_GO(read_rules(search, &r));
    RGM_GO(read_sampling(search, &r));
    RGM_GO(tell_ends(&r, end));
    RGM_GO(tell_others(&r, false));
done:
    rgm_json_release(own);
    return status;
}

/* ---- of a decoder ---------------------------------------------------------------------------- */

rgm_status rgmi_import_tell_generation(rgmi_import_work *work, int64_t end)
{
    rgm_status status = RGM_OK;
    reading config = {work, work->source->config.json, "config.json"}, r = config;
    rgm_json *own;

    RGM_TRY(rgmi_import_load_json(&own, work->source->folder, own_file));
    if (own != NULL)
        r = (reading){work, own, own_file};
    RGM_GO(tell_ends(has(&r, "eos_token_id") ? &r : &config, end));
    RGM_GO(tell_others(&r, true));
done:
    rgm_json_release(own);
    return status;
}
