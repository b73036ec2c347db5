/*
 * `filter`: the pairs that are worth to learn from, and counts of the others by reason.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "distil_internal.h"

#define RGM_OPTIONS rgmi_filter_options
static const rgm_field fields[] = {
    RGM_TEXT_FIELD(pairs, "an earlier step"),
    RGM_TEXT_FIELD(source, "instead of pairs: a file of their sources, plain or gzip"),
    RGM_TEXT_FIELD(target, "and one of their targets"),
    RGM_TEXT_FIELD(scores, "an earlier step that scored the same pairs"),
    RGM_FLOAT_FIELD(min_log_probability, -INFINITY, 0,
                    "least mean log-probability of a target's tokens, by the scores"),
    RGM_FLOAT_FIELD(max_ratio, 0, 1e9,
                    "most words of the longer side to those of the shorter; "
                    "0: any"),
    RGM_INT_FIELD(min_words, 0, 1e9, "least words of either side"),
    RGM_INT_FIELD(max_words, 0, 1e9, "most words of either side; 0: any number"),
    RGM_BOOL_FIELD(duplicates, "equal pairs stay; else the first of them alone"),
    RGM_BOOL_FIELD(copies, "pairs whose target equals the source stay"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(rgmi_filter_options *)options = (rgmi_filter_options){.min_log_probability = -INFINITY};
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool same_name(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static rgm_status check_scores(const rgm_distil *d, const rgmi_step *step)
{
    const rgmi_filter_options *o = step->options;
    const rgmi_score_options *of;

    RGM_TRY(rgmi_check_step(d, step, "scores", o->scores, RGMI_MAKES_SCORES));
    if (o->scores == NULL && isfinite(o->min_log_probability))
        return rgmi_step_fail(step, "min_log_probability",
                              "it needs 'scores': a step that scores the pairs");
    if (o->scores == NULL)
        return RGM_OK;
    of = rgmi_earlier_step(d, step, o->scores)->options;
    if (!same_name(of->pairs, o->pairs) || !same_name(of->source, o->source) ||
        !same_name(of->target, o->target))
        return rgmi_step_fail(step, "scores", "step '%s' scores other pairs than these", o->scores);
    return RGM_OK;
}

static rgm_status check(const rgm_distil *d, const rgmi_step *step)
{
    const rgmi_filter_options *o = step->options;

    RGM_TRY(rgmi_check_pairs(d, step, o->pairs, o->source, o->target));
    if (o->max_ratio > 0 && o->max_ratio < 1)
        return rgmi_step_fail(step, "max_ratio", "it is %g, but a longer side has 1 at least",
                              o->max_ratio);
    if (o->max_words > 0 && o->max_words < o->min_words)
        return rgmi_step_fail(step, "max_words", "it is %lld, below min_words (%lld)",
                              (long long)o->max_words, (long long)o->min_words);
    return check_scores(d, step);
}

static rgm_status list(rgmi_inputs *inputs, const rgmi_step_work *work)
{
    static const char *const except[] = {"pairs", "source", "target", "scores", NULL};
    const rgmi_filter_options *o = work->step->options;
    rgm_status status;
    char *path;

    RGM_TRY(rgmi_inputs_add_keys(inputs, work->step, except));
    RGM_TRY(rgmi_inputs_add_pairs(inputs, work, o->pairs, o->source, o->target));
    if (o->scores == NULL)
        return RGM_OK;
    RGM_TRY(rgmi_step_path(&path, work, o->scores, rgmi_scores_file));
    status = rgmi_inputs_add_file(inputs, "scores", path);
    rgm_free(path);
    return status;
}

/* ---- a pair ---------------------------------------------------------------------------------- */

/** Why a pair is left out: the first of these that holds. */
typedef enum reason {
    KEPT,
    EMPTY,
    COPY,
    SHORT,
    LONG,
    RATIO,
    UNSCORED,
    IMPROBABLE,
    DUPLICATE,
    REASONS
} reason;
static const char *const reason_names[REASONS] = {
    "kept",     "empty",      "copies",    "below_min_words", "above_max_words", "above_max_ratio",
    "unscored", "improbable", "duplicates"};

typedef struct filtering {
    const rgmi_filter_options *o;
    rgm_corpus *pairs;
    double *scores; /* mean log-probability of a token; NaN: none; NULL: nobody scored */
    rgm_map *seen;
    rgm_text key, source, target;
    int64_t counts[REASONS];
} filtering;

static int64_t words_of(rgm_str line)
{
    int64_t words = 0;
    bool inside = false;

    for (int64_t i = 0; i < line.size; i++) {
        bool space = line.data[i] == ' ' || line.data[i] == '\t';

        words += !space && !inside;
        inside = !space;
    }
    return words;
}

static reason judge_lengths(const rgmi_filter_options *o, rgm_str source, rgm_str target)
{
    int64_t a = words_of(source), b = words_of(target), least = a < b ? a : b, most = a < b ? b : a;

    if (least == 0)
        return EMPTY;
    if (!o->copies && source.size == target.size &&
        memcmp(source.data, target.data, (size_t)source.size) == 0)
        return COPY;
    if (least < o->min_words)
        return SHORT;
    if (o->max_words > 0 && most > o->max_words)
        return LONG;
    return o->max_ratio > 0 && (double)most > o->max_ratio * (double)least ? RATIO : KEPT;
}

/* Lines have no zero byte and no line end, so both sides make a key. */
static rgm_status find_seen(bool *seen, filtering *f, rgm_str source, rgm_str target)
{
    f->key.size = 0;
    RGM_TRY(rgm_text_add(&f->key, source.data, source.size));
    RGM_TRY(rgm_text_add(&f->key, "\n", 1));
    RGM_TRY(rgm_text_add(&f->key, target.data, target.size));
    *seen = rgm_map_has(f->seen, f->key.data);
    return *seen ? RGM_OK : rgm_map_set(f->seen, f->key.data, f);
}

static rgm_status judge(reason *out, filtering *f, int64_t i)
{
    rgm_str source = rgm_corpus_source(f->pairs, i), target = rgm_corpus_target(f->pairs, i);
    bool seen = false;

    *out = judge_lengths(f->o, source, target);
    if (*out != KEPT)
        return RGM_OK;
    if (f->scores != NULL && isnan(f->scores[i]))
        *out = UNSCORED;
    else if (f->scores != NULL && f->scores[i] < f->o->min_log_probability)
        *out = IMPROBABLE;
    if (*out != KEPT || f->o->duplicates)
        return RGM_OK;
    RGM_TRY(find_seen(&seen, f, source, target));
    *out = seen ? DUPLICATE : KEPT;
    return RGM_OK;
}

static rgm_status add_pair(filtering *f, int64_t i)
{
    rgm_str sides[] = {rgm_corpus_source(f->pairs, i), rgm_corpus_target(f->pairs, i)};
    rgm_text *texts[] = {&f->source, &f->target};

    for (int side = 0; side < 2; side++) {
        RGM_TRY(rgm_text_add(texts[side], sides[side].data, sides[side].size));
        RGM_TRY(rgm_text_add(texts[side], "\n", 1));
    }
    return RGM_OK;
}

/* ---- work ------------------------------------------------------------------------------------ */

static rgm_status load_scores(filtering *f, const rgmi_step_work *work)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_corpus_count(f->pairs), i = 0;
    rgm_line_reader *reader = NULL;
    char *path = NULL;
    rgm_str line;

    RGM_GO(RGM_NEW(f->scores, count));
    RGM_GO(rgmi_step_path(&path, work, f->o->scores, rgmi_scores_file));
    RGM_GO(rgm_line_reader_open(&reader, path, NULL));
    while ((status = rgm_line_reader_next(&line, reader)) == RGM_OK) {
        char numbers[80], *end;
        double score;
        long long tokens;

        snprintf(numbers, sizeof numbers, "%.*s", (int)(line.size > 79 ? 79 : line.size),
                 line.data);
        score = strtod(numbers, &end);
        tokens = strtoll(end, &end, 10);
        if (*end != '\0' || end == numbers || i == count)
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s:%lld: no score of one of %lld pairs", path,
                            (long long)rgm_line_reader_line(reader), (long long)count));
        f->scores[i++] = tokens > 0 ? score / (double)tokens : NAN;
    }
    status = status == RGM_END ? RGM_OK : status;
    if (status == RGM_OK && i < count)
        status = RGM_FAIL(RGM_ERR_FORMAT, "%s has %lld scores of %lld pairs", path, (long long)i,
                          (long long)count);
done:
    rgm_line_reader_close(reader);
    rgm_free(path);
    return status;
}

static rgm_status finish(filtering *f, rgmi_step_work *work)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;
    int64_t all = rgm_corpus_count(f->pairs);

    work->figures = (rgmi_step_figures){.count = 0};
    for (int r = KEPT; r < REASONS; r++) {
        work->figures.names[work->figures.count] = reason_names[r];
        work->figures.values[work->figures.count++] = f->counts[r];
        if (r != KEPT && f->counts[r] > 0)
            RGM_GO(rgm_text_printf(&text, "%s%lld %s", text.size > 0 ? ", " : "",
                                   (long long)f->counts[r], reason_names[r]));
    }
    if (f->counts[KEPT] == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "no pair is left of %lld: %s", (long long)all,
                        text.size > 0 ? text.data : "there were none"));
    RGM_GO(rgmi_pairs_save(work, &f->source, &f->target));
    rgmi_say(work, "kept", "%lld of %lld pairs%s%s", (long long)f->counts[KEPT], (long long)all,
             text.size > 0 ? "; left out: " : "", text.size > 0 ? text.data : "");
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status run(rgmi_step_work *work)
{
    rgm_status status = RGM_OK;
    filtering f = {.o = work->step->options};
    reason why;

    RGM_GO(rgm_map_create(&f.seen));
    RGM_GO(rgmi_pairs_load(&f.pairs, work, f.o->pairs, f.o->source, f.o->target));
    if (f.o->scores != NULL)
        RGM_GO(load_scores(&f, work));
    for (int64_t i = 0; i < rgm_corpus_count(f.pairs); i++) {
        RGM_GO(judge(&why, &f, i));
        f.counts[why]++;
        if (why == KEPT)
            RGM_GO(add_pair(&f, i));
    }
    RGM_GO(finish(&f, work));
done:
    rgm_map_release(f.seen);
    rgm_corpus_release(f.pairs);
    rgm_free(f.scores);
    rgm_text_clear(&f.key);
    rgm_text_clear(&f.source);
    rgm_text_clear(&f.target);
    return status;
}

const rgmi_step_type rgmi_filter_step = {
    .section = {.name = "filter",
                .help = "pairs without those that are improbable, of unlike length, equal, ...",
                .options_size = sizeof(rgmi_filter_options),
                .defaults = defaults,
                .fields = fields},
    .product = RGMI_MAKES_PAIRS,
    .check = check,
    .list = list,
    .run = run,
};
