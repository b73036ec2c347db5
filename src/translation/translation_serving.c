/*
 * A translation model that is asked without its run: what an export keeps for that beside weights
 * and tokenizers, and what weights in 8 bits and a shortlist change, measured on the validation
 * set.
 */
#include <stdio.h>
#include <string.h>

#include "translation_internal.h"

const char rgmi_shortlist_file[] = "shortlist.safetensors";

/* ---- files ----------------------------------------------------------------------------------- */

/* What stands before sentences and beside words. */
static rgm_status write_tags(rgm_text *out, const rgmi_translation_data *data)
{
    if (data->source_tag >= 0) {
        RGM_TRY(rgm_text_printf(out, "  source_tag: "));
        RGM_TRY(rgmi_write_quoted(out, rgm_tokenizer_piece(data->source, data->source_tag)));
        RGM_TRY(rgm_text_printf(out, "\n"));
    }
    if (data->target_tag > 0) {
        RGM_TRY(rgm_text_printf(out, "  target_tag: "));
        RGM_TRY(rgmi_write_quoted(out, rgm_tokenizer_piece(data->target, data->target_tag)));
        RGM_TRY(rgm_text_printf(out, "\n"));
    }
    if (data->factors.count == 0)
        return RGM_OK;
    RGM_TRY(rgm_text_printf(out, "  factors:\n"));
    return rgmi_factors_write(out, &data->factors, "    ");
}

rgm_status rgmi_translation_save_serving(rgm_text *data, const char *folder, void *state)
{
    const rgmi_translation_task *t = state;
    rgm_task_file files[RGM_MAX_TASK_FILES];
    rgm_status status;
    char *path;
    int64_t count;

    rgmi_translation_files(files, &count, &t->data);
    for (int64_t i = 0; i < count; i++)
        if (files[i].name != rgmi_factors_file) /* which says what their key says */
            RGM_TRY(rgm_text_printf(data, "  %.*s: %s\n", (int)strcspn(files[i].name, "."),
                                    files[i].name, files[i].name)); /* named as their keys */
    if (t->data.source == NULL)
        RGM_TRY(rgm_text_printf(data, "  reverse: {vocabulary: %lld}\n",
                                (long long)t->data.source_vocabulary));
    RGM_TRY(write_tags(data, &t->data));
    if (t->shortlist == NULL)
        return RGM_OK;
    RGM_TRY(rgm_path_join(&path, folder, rgmi_shortlist_file));
    status = rgm_shortlist_save(path, t->shortlist);
    rgm_free(path);
    RGM_TRY(status);
    return rgm_text_printf(data, "  shortlist: %s\n", rgmi_shortlist_file);
}

rgm_status rgm_translation_check_shortlist(const rgm_task *task, const rgm_shortlist *shortlist,
                                           const char *name)
{
    const rgmi_translation_task *t = task->state;
    rgm_shortlist_figures f = rgm_shortlist_describe(shortlist);
    char mark[RGM_TOKENIZERS_MARK] = "";

    if (t->data.source != NULL)
        rgm_tokenizers_mark(mark, t->data.source, t->data.target);
    if (f.source_vocabulary == t->data.source_vocabulary &&
        f.target_vocabulary == t->data.target_vocabulary && strcmp(f.mark, mark) == 0)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG, "%s was learned with other tokenizers than the model's", name);
}

/* ---- what it costs --------------------------------------------------------------------------- */

enum { CHUNK = 512, WAYS = 4 };

/* A way to search, and the scores of its translations. */
typedef struct way {
    const char *name;
    bool int8, shortened;
    rgm_logs scores;
} way;

/* The pairs from..from + count translated and judged. */
static rgm_status judge_chunk(rgmi_translation_scores *scores, rgm_beam_search *search,
                              const rgm_beam_search_options *options,
                              const rgmi_translation_task *t, int64_t from, int64_t count)
{
    rgm_status status = RGM_OK;
    int64_t numbers[CHUNK];
    rgm_hypotheses *translations = NULL;

    RGM_GO(RGM_NEW(translations, count));
    for (int64_t i = 0; i < count; i++)
        numbers[i] = from + i;
    RGM_GO(
        rgmi_translate_pairs(translations, search, options, &t->data, RGM_VALID, numbers, count));
    RGM_GO(rgmi_scores_add(scores, &t->data, RGM_VALID, numbers, translations, count));
done:
    for (int64_t i = 0; translations != NULL && i < count; i++)
        rgm_hypotheses_clear(&translations[i]);
    rgm_free(translations);
    return status;
}

static rgm_status judge_way(way *w, const rgmi_translation_task *t, rgm_beam_search *search,
                            int64_t pairs)
{
    rgm_status status = RGM_OK;
    rgm_beam_search_options options = t->options.search;
    rgmi_translation_scores *scores = NULL;

    options.int8 = w->int8;
    options.shortlist = w->shortened ? t->shortlist : NULL;
    RGM_GO(rgmi_scores_create(&scores, &t->options.score));
    for (int64_t from = 0; from < pairs; from += CHUNK)
        RGM_GO(judge_chunk(scores, search, &options, t, from,
                           pairs - from < CHUNK ? pairs - from : CHUNK));
    RGM_GO(rgmi_scores_result(&w->scores, scores));
done:
    rgmi_scores_release(scores);
    return status;
}

static rgm_status write_way(rgm_json_writer *out, const way *w, const rgm_logs *plain)
{
    RGM_TRY(rgm_json_open_object(out, w->name, RGM_JSON_SPACED));
    for (int64_t i = 0; i < w->scores.count; i++) {
        const rgm_named_number *score = &w->scores.items[i];
        char name[96];
        RGM_TRY(rgm_json_write_number(out, score->name, score->value));
        if (plain == &w->scores)
            continue;
        snprintf(name, sizeof name, "%s_difference", score->name);
        RGM_TRY(rgm_json_write_number(out, name, score->value - rgm_logs_get(plain, score->name)));
    }
    return rgm_json_close(out);
}

/* why: nothing was measured; else the ways of `pairs` pairs. */
static rgm_status write_quality(rgm_text *text, const char *why, const way *ways, int count,
                                int64_t pairs, const rgm_beam_search_options *search)
{
    rgm_json_writer out = {.out = text};

    RGM_TRY(rgm_json_open_object(&out, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(&out, "data", why == NULL ? "valid" : NULL));
    if (why != NULL)
        RGM_TRY(rgm_json_write_text(&out, "why", why));
    for (int i = 0; i < count && why == NULL; i++) {
        if (i == 0) {
            RGM_TRY(rgm_json_write_int(&out, "pairs", pairs));
            RGM_TRY(rgm_json_write_int(&out, "beam_size", search->beam_size));
        }
        RGM_TRY(write_way(&out, &ways[i], &ways[0].scores));
    }
    RGM_TRY(rgm_json_close(&out));
    return rgm_text_add(text, "\n", 1);
}

rgm_status rgmi_translation_judge_int8(rgm_text *out, const rgm_parameters *parameters, void *state)
{
    rgm_status status = RGM_OK;
    rgmi_translation_task *t = state;
    way ways[WAYS] = {{.name = "f32"},
                      {.name = "int8", .int8 = true},
                      {.name = "f32_shortlist", .shortened = true},
                      {.name = "int8_shortlist", .int8 = true, .shortened = true}};
    int count = t->shortlist != NULL ? WAYS : 2;
    const rgm_token_pairs *pairs;
    rgm_beam_search *search = NULL;

    if (rgmi_translation_pairs(&pairs, &t->data, RGM_VALID) == RGM_ERR_NOT_FOUND)
        return write_quality(out, "the validation data are not there", NULL, 0, 0, NULL);
    RGM_TRY(rgmi_translation_pairs(&pairs, &t->data, RGM_VALID));
    if (pairs == NULL)
        return write_quality(out, "the experiment has no validation data", NULL, 0, 0, NULL);
    RGM_GO(rgm_beam_search_create(&search, &t->model, parameters, NULL, false));
    for (int i = 0; i < count; i++)
        RGM_GO(judge_way(&ways[i], t, search, rgm_token_pairs_count(pairs)));
    RGM_GO(write_quality(out, NULL, ways, count, rgm_token_pairs_count(pairs), &t->options.search));
done:
    for (int i = 0; i < WAYS; i++)
        rgm_logs_clear(&ways[i].scores);
    rgm_beam_search_release(search);
    return status;
}
