/*
 * `score`: how probable the targets of pairs are by a model, a line a pair as regimen score-pairs
 * writes it.
 */
#include <stdio.h>
#include <string.h>

#include "distil_internal.h"

#define RGM_OPTIONS rgmi_score_options
static const rgm_field fields[] = {
    RGM_TEXT_FIELD(model, "an earlier step, the folder of a run or an export"),
    RGM_TEXT_FIELD(pairs, "an earlier step"),
    RGM_TEXT_FIELD(source, "instead of pairs: a file of their sources, plain or gzip"),
    RGM_TEXT_FIELD(target, "and one of their targets"),
    RGM_INT_FIELD(shard, 1, 1e6, "pairs that are saved together; changes no result"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(rgmi_score_options *)options = (rgmi_score_options){.shard = 1000};
}

static rgm_status check(const rgm_distil *d, const rgmi_step *step)
{
    const rgmi_score_options *o = step->options;

    if (o->model == NULL)
        return rgmi_step_fail(step, "model", "name the model that scores");
    RGM_TRY(rgmi_check_input(d, step, "model", o->model, RGMI_MAKES_MODEL));
    return rgmi_check_pairs(d, step, o->pairs, o->source, o->target);
}

static rgm_status list(rgmi_inputs *inputs, const rgmi_step_work *work)
{
    static const char *const except[] = {"model", "pairs", "source", "target", "shard", NULL};
    const rgmi_score_options *o = work->step->options;

    RGM_TRY(rgmi_inputs_add_keys(inputs, work->step, except));
    RGM_TRY(rgmi_inputs_add_model(inputs, work, "model", o->model));
    return rgmi_inputs_add_pairs(inputs, work, o->pairs, o->source, o->target);
}

typedef struct scoring {
    rgm_predictor *model;
    rgm_pair_scorer *scorer;
    rgm_corpus *pairs;
    rgm_text text; /* the lines of all pairs */
    int64_t scored, unscored;
    double log_probability;
    int64_t tokens; /* of those that were scored */
    char why[256];  /* the first that was not */
} scoring;

static rgm_status open_work(scoring *s, const rgmi_step_work *work)
{
    const rgmi_score_options *o = work->step->options;
    rgm_status status = RGM_OK;
    char *folder = NULL;

    *s = (scoring){.model = NULL};
    RGM_GO(rgmi_model_path(&folder, work, o->model));
    RGM_GO(rgm_predictor_open(&s->model, folder, NULL, 0));
    if (rgm_predictor_task(s->model)->type != &rgm_translation)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s is of another task than translation", folder));
    RGM_GO(rgm_pair_scorer_create(&s->scorer, rgm_predictor_task(s->model),
                                  rgm_predictor_parameters(s->model), NULL, false));
    RGM_GO(rgmi_pairs_load(&s->pairs, work, o->pairs, o->source, o->target));
done:
    rgm_free(folder);
    return status;
}

static void close_work(scoring *s)
{
    rgm_pair_scorer_release(s->scorer);
    rgm_predictor_release(s->model);
    rgm_corpus_release(s->pairs);
    rgm_text_clear(&s->text);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Pairs up to the first that cannot be scored, and that one; *done says how many. */
static rgm_status score_some(rgm_text *out, int64_t *done, scoring *s, rgm_pair_score *scores,
                             const rgm_text_pair *pairs, int64_t count)
{
    rgm_status status = rgm_pair_scorer_run(scores, done, s->scorer, pairs, count);
    rgm_status written = RGM_OK;
    rgm_error error;

    rgm_error_save(&error, status);
    for (int64_t i = 0; i < *done && written == RGM_OK; i++)
        written = rgm_text_printf(out, "T%.9g\t%lld\n", scores[i].log_probability,
                                  (long long)scores[i].count);
    rgm_pair_scores_clear(scores, *done);
    RGM_TRY(written);
    if (status == RGM_OK)
        return RGM_OK;
    RGM_TRY(status == RGM_ERR_DATA ? RGM_OK : rgm_error_restore(&error));
    ++*done;
    return rgm_text_printf(out, "X%s\n", error.message);
}

static rgm_status make_lines(rgm_text *out, int64_t from, int64_t count, void *payload)
{
    rgm_status status = RGM_OK;
    scoring *s = payload;
    rgm_pair_score *scores = NULL;
    rgm_text_pair *pairs = NULL;
    int64_t done;

    RGM_GO(RGM_NEW(scores, count));
    RGM_GO(RGM_NEW(pairs, count));
    for (int64_t i = 0; i < count; i++)
        pairs[i] = (rgm_text_pair){rgm_corpus_source(s->pairs, from + i),
                                   rgm_corpus_target(s->pairs, from + i)};
    for (int64_t at = 0; at < count; at += done)
        RGM_GO(score_some(out, &done, s, scores, pairs + at, count - at));
done:
    rgm_free(scores);
    rgm_free(pairs);
    return status;
}

static rgm_status take_line(int64_t number, rgm_str line, void *payload)
{
    scoring *s = payload;
    char numbers[80];
    double log_probability;
    long long tokens;

    snprintf(numbers, sizeof numbers, "%.*s", (int)(line.size > 70 ? 70 : line.size), line.data);
    if (numbers[0] == 'X')
        line = (rgm_str){.data = line.data + 1, .size = line.size - 1};
    if (numbers[0] != 'T' || sscanf(numbers + 1, "%lf\t%lld", &log_probability, &tokens) != 2) {
        if (s->unscored++ == 0)
            snprintf(s->why, sizeof s->why, "pair %lld: %.*s", (long long)number + 1,
                     line.size > 200 ? 200 : (int)line.size, line.data);
        return rgm_text_printf(&s->text, "nan\t0\n");
    }
    s->scored++;
    s->log_probability += log_probability;
    s->tokens += tokens;
    return rgm_text_printf(&s->text, "%s\n", numbers + 1);
}

static rgm_status finish(scoring *s, rgmi_step_work *work)
{
    rgm_status status;
    char *path;

    if (s->scored == 0)
        return RGM_FAIL(RGM_ERR_DATA, "no pair can be scored%s%s", s->unscored > 0 ? ": " : "",
                        s->why);
    RGM_TRY(rgm_path_join(&path, work->folder, rgmi_scores_file));
    status = rgm_file_save_own(path, s->text.data, s->text.size);
    rgm_free(path);
    RGM_TRY(status);
    if (s->unscored > 0)
        rgmi_say(work, "unscored", "%lld of %lld pairs have no score; %s", (long long)s->unscored,
                 (long long)(s->scored + s->unscored), s->why);
    rgmi_say(work, "scores", "%lld pairs, log-probability %.4f a token", (long long)s->scored,
             s->log_probability / (double)s->tokens);
    work->figures = (rgmi_step_figures){.names = {"scored", "unscored", "tokens"},
                                        .values = {s->scored, s->unscored, s->tokens},
                                        .count = 3};
    return RGM_OK;
}

static rgm_status run(rgmi_step_work *work)
{
    const rgmi_score_options *o = work->step->options;
    rgm_status status = RGM_OK;
    rgmi_line_shards shards;
    scoring s;

    RGM_GO(open_work(&s, work));
    shards = (rgmi_line_shards){.count = rgm_corpus_count(s.pairs),
                                .shard = o->shard,
                                .make = make_lines,
                                .take = take_line,
                                .payload = &s};
    RGM_GO(rgmi_shards_run(work, &shards));
    RGM_GO(finish(&s, work));
done:
    close_work(&s);
    return status;
}

const rgmi_step_type rgmi_score_step = {
    .section = {.name = "score",
                .help = "how probable the targets of pairs are by a model",
                .options_size = sizeof(rgmi_score_options),
                .defaults = defaults,
                .fields = fields},
    .product = RGMI_MAKES_SCORES,
    .check = check,
    .list = list,
    .run = run,
};
