/*
 * `translate` and `back_translate`: pairs of given lines and what models make of them.
 */
#include <stdio.h>
#include <string.h>

#include "distil_internal.h"

/* ---- keys ------------------------------------------------------------------------------------ */

static const char *const nearest_names[] = {"none", "chrf", "bleu", NULL};

#define RGM_OPTIONS rgmi_translate_options
#define SEARCH                                                                                     \
    {                                                                                              \
        .name = "search", .kind = RGM_FIELD_NODE,                                                  \
        .offset = offsetof(rgmi_translate_options, search),                                        \
        .help = "keys of task.search over the first model's own"                                   \
    }
#define MODELS                                                                                     \
    RGM_TEXTS_FIELD(models, "who translates: an earlier step, the folder of a run or an export; "  \
                            "several with the same tokenizers: an ensemble")
#define LINES RGM_INT_FIELD(lines, 0, 1e12, "only so many lines from the front; 0: all")
#define SHARD RGM_INT_FIELD(shard, 1, 1e6, "lines that are saved together; changes no result")
static const rgm_field translate_fields[] = {
    MODELS,
    RGM_TEXT_FIELD(source,
                   "lines to translate: a file, plain or gzip, or an earlier step's sources"),
    RGM_TEXT_FIELD(reference, "for nearest: their translations, a file, or a step's targets"),
    RGM_CHOICE_FIELD(nearest, nearest_names,
                     "which of search.n_best translations is taken: the best, or the one nearest "
                     "the reference by sentence chrF2 or BLEU"),
    SEARCH,
    LINES,
    SHARD,
    {0}};
static const rgm_field back_fields[] = {
    MODELS,
    RGM_TEXT_FIELD(target, "lines of the target's language: a file, plain or gzip, or an earlier "
                           "step's targets"),
    RGM_TEXT_FIELD(tag, "text before every source that a model made, a space behind it"),
    SEARCH,
    LINES,
    SHARD,
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(rgmi_translate_options *)options = (rgmi_translate_options){.shard = 1000};
}

static bool is_back(const rgmi_step *step)
{
    return step->type == &rgmi_back_translate_step;
}

/* The lines that are translated. */
static const char *lines_key(const rgmi_step *step)
{
    return is_back(step) ? "target" : "source";
}

static const char *lines_of(const rgmi_step *step)
{
    const rgmi_translate_options *o = step->options;

    return is_back(step) ? o->target : o->source;
}

static rgm_status read_search(rgm_beam_search_options *search, const rgm_distil *d,
                              const rgmi_step *step)
{
    const rgmi_translate_options *o = step->options;
    char path[160];

    snprintf(path, sizeof path, "steps.%s.search", step->name);
    RGM_TRY(rgm_options_read(search, rgm_beam_search_fields, o->search, path, NULL, d->arena));
    return rgm_yaml_place(rgm_options_check(search, rgm_beam_search_fields, path), o->search);
}

static rgm_status check_nearest(const rgmi_step *step, const rgm_beam_search_options *search)
{
    const rgmi_translate_options *o = step->options;

    if ((o->nearest != RGMI_NEAREST_NONE) != (o->reference != NULL))
        return rgmi_step_fail(step, o->reference != NULL ? "reference" : "nearest",
                              "'nearest' and 'reference' go together");
    if (o->nearest != RGMI_NEAREST_NONE && search->n_best < 2)
        return rgmi_step_fail(step, "nearest",
                              "it chooses among search.n_best translations, which must be 2 at "
                              "least");
    return RGM_OK;
}

static rgm_status check(const rgm_distil *d, const rgmi_step *step)
{
    const rgmi_translate_options *o = step->options;
    rgm_beam_search_options search = RGM_BEAM_SEARCH_OPTIONS_INIT;

    if (o->models.count < 1 || o->models.count > RGM_MOST_MODELS)
        return rgmi_step_fail(step, "models", "name 1 to %d models that translate",
                              RGM_MOST_MODELS);
    for (int64_t i = 0; i < o->models.count; i++)
        RGM_TRY(rgmi_check_input(d, step, "models", o->models.items[i], RGMI_MAKES_MODEL));
    if (lines_of(step) == NULL)
        return rgmi_step_fail(step, lines_key(step), "name the lines to translate");
    RGM_TRY(rgmi_check_input(d, step, lines_key(step), lines_of(step), RGMI_MAKES_PAIRS));
    RGM_TRY(rgmi_check_input(d, step, "reference", o->reference, RGMI_MAKES_PAIRS));
    RGM_TRY(read_search(&search, d, step));
    return check_nearest(step, &search);
}

static rgm_status list(rgmi_inputs *inputs, const rgmi_step_work *work)
{
    static const char *const except[] = {"models", "source", "target", "reference", "shard", NULL};
    const rgmi_translate_options *o = work->step->options;
    char key[32];

    RGM_TRY(rgmi_inputs_add_keys(inputs, work->step, except));
    for (int64_t i = 0; i < o->models.count; i++) {
        snprintf(key, sizeof key, i == 0 ? "models" : "models.%lld", (long long)i);
        RGM_TRY(rgmi_inputs_add_model(inputs, work, key, o->models.items[i]));
    }
    RGM_TRY(rgmi_inputs_add_side(inputs, work, lines_key(work->step), lines_of(work->step),
                                 is_back(work->step) ? RGMI_TARGETS : RGMI_SOURCES));
    return o->reference != NULL
               ? rgmi_inputs_add_side(inputs, work, "reference", o->reference, RGMI_TARGETS)
               : RGM_OK;
}

/* ---- work ------------------------------------------------------------------------------------ */

typedef struct translating {
    const rgmi_step_work *work;
    const rgmi_translate_options *o;
    rgm_predictor *models[RGM_MOST_MODELS];
    rgm_beam_search_options search;
    rgm_corpus *lines; /* and their references */
    rgm_chrf *chrf;
    rgm_bleu *bleu;
    rgm_text source, target; /* the pairs */
    int64_t pairs, empty, untranslated;
    char why[256]; /* the first line that was not translated */
} translating;

static const rgm_task *task_of(const translating *t)
{
    return rgm_predictor_task(t->models[0]);
}

/* The first model translates; the others join it. */
static rgm_status open_model(rgm_predictor **model, const translating *t, const char *name)
{
    rgm_status status = RGM_OK;
    char *folder = NULL;

    RGM_GO(rgmi_model_path(&folder, t->work, name));
    RGM_GO(rgm_predictor_open(model, folder, NULL, 0));
    if (rgm_predictor_task(*model)->type != &rgm_translation)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s is of another task than translation", folder));
    if (model != t->models)
        RGM_GO(rgm_error_prefix(rgm_translation_join(task_of(t), rgm_predictor_task(*model),
                                                     rgm_predictor_parameters(*model)),
                                "%s", folder));
done:
    rgm_free(folder);
    return status;
}

static rgm_status open_work(translating *t, const rgmi_step_work *work)
{
    const char *lines = lines_of(work->step);
    rgm_status status = RGM_OK;
    char *paths[2] = {NULL, NULL};

    *t = (translating){.work = work, .o = work->step->options};
    for (int64_t i = 0; i < t->o->models.count; i++)
        RGM_GO(open_model(&t->models[i], t, t->o->models.items[i]));
    t->search = *rgm_translation_search(task_of(t));
    t->search.int8 = t->search.int8 || rgm_predictor_int8(t->models[0]);
    RGM_GO(read_search(&t->search, work->distil, work->step));
    RGM_GO(
        rgmi_side_path(&paths[0], work, lines, is_back(work->step) ? RGMI_TARGETS : RGMI_SOURCES));
    if (t->o->reference != NULL)
        RGM_GO(rgmi_side_path(&paths[1], work, t->o->reference, RGMI_TARGETS));
    RGM_GO(rgm_corpus_load(&t->lines, paths[0], paths[1], NULL));
    if (t->o->nearest == RGMI_NEAREST_CHRF)
        RGM_GO(rgm_chrf_create(&t->chrf, NULL));
    if (t->o->nearest == RGMI_NEAREST_BLEU)
        RGM_GO(rgm_bleu_create(&t->bleu, NULL));
done:
    rgm_free(paths[0]);
    rgm_free(paths[1]);
    return status;
}

static void close_work(translating *t)
{
    for (int64_t i = 0; i < RGM_MOST_MODELS; i++)
        rgm_predictor_release(t->models[i]);
    rgm_corpus_release(t->lines);
    rgm_chrf_release(t->chrf);
    rgm_bleu_release(t->bleu);
    rgm_text_clear(&t->source);
    rgm_text_clear(&t->target);
}

/* ---- a line ---------------------------------------------------------------------------------- */

static rgm_status likeness(double *out, const translating *t, rgm_str hypothesis, rgm_str reference)
{
    const rgm_chrf_options chrf = RGM_CHRF_OPTIONS_INIT;
    const rgm_bleu_options bleu = {
        .tokenizer = RGM_MT_TOKENIZER_13A, .smoothing = RGM_SMOOTH_EXP, .effective_order = true};
    rgm_chrf_stats as_chrf = {0};
    rgm_bleu_stats as_bleu = {0};

    if (t->chrf != NULL) {
        RGM_TRY(rgm_chrf_add(&as_chrf, t->chrf, hypothesis, &reference, 1));
        *out = rgm_chrf_result(&as_chrf, &chrf);
        return RGM_OK;
    }
    RGM_TRY(rgm_bleu_add(&as_bleu, t->bleu, hypothesis, &reference, 1));
    *out = rgm_bleu_result(&as_bleu, &bleu).score;
    return RGM_OK;
}

/* The number of the translation to take: of equally near ones the more probable. */
static rgm_status choose(int64_t *out, const translating *t, const rgm_line_translation *made,
                         rgm_str reference)
{
    double best = -1, score = 0;

    *out = 0;
    if (t->o->nearest == RGMI_NEAREST_NONE)
        return RGM_OK;
    for (int64_t k = 0; k < t->search.n_best && made[k].text != NULL; k++) {
        rgm_str text = {.data = made[k].text, .size = (int64_t)strlen(made[k].text)};

        if (rgm_utf8_check(text.data, text.size) >= 0)
            continue;
        RGM_TRY(likeness(&score, t, text, reference));
        if (score > best) {
            best = score;
            *out = k;
        }
    }
    return RGM_OK;
}

/* "T" and a translation, or "X" and why there is none. A line end in it, as a tokenizer with pieces
 * for bytes can make it, becomes a space. */
static rgm_status write_line(rgm_text *out, const char *text, bool translated)
{
    int64_t begin;

    if (translated && rgm_utf8_check(text, (int64_t)strlen(text)) >= 0)
        return write_line(out, "the translation is not UTF-8", false);
    RGM_TRY(rgm_text_printf(out, translated ? "T" : "X"));
    begin = out->size;
    RGM_TRY(rgm_text_printf(out, "%s", text));
    for (int64_t i = begin; i < out->size; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r')
            out->data[i] = ' ';
    return rgm_text_add(out, "\n", 1);
}

/* Lines up to the first that cannot be translated, and that one; *done says how many. */
static rgm_status translate_some(rgm_text *out, int64_t *done, translating *t,
                                 rgm_line_translation *made, const rgm_translation_line *lines,
                                 int64_t from, int64_t count)
{
    rgm_status status, written = RGM_OK;
    rgm_error error;

    t->search.first_number = from;
    status = rgm_translation_lines(made, done, task_of(t), rgm_predictor_parameters(t->models[0]),
                                   lines, count, &t->search, NULL, false);
    rgm_error_save(&error, status);
    for (int64_t i = 0; i < *done && written == RGM_OK; i++) {
        const rgm_line_translation *of = &made[i * t->search.n_best];
        int64_t k;

        written = choose(&k, t, of, rgm_corpus_target(t->lines, from + i));
        if (written == RGM_OK)
            written = write_line(out, of[k].text, true);
    }
    rgm_line_translations_clear(made, *done * t->search.n_best);
    RGM_TRY(written);
    if (status == RGM_OK)
        return RGM_OK;
    RGM_TRY(status == RGM_ERR_DATA ? RGM_OK : rgm_error_restore(&error));
    ++*done;
    return write_line(out, error.message, false);
}

static rgm_status make_lines(rgm_text *out, int64_t from, int64_t count, void *payload)
{
    rgm_status status = RGM_OK;
    translating *t = payload;
    rgm_line_translation *made = NULL;
    rgm_translation_line *lines = NULL;
    int64_t done;

    RGM_GO(RGM_NEW(made, count * t->search.n_best));
    RGM_GO(RGM_NEW(lines, count));
    for (int64_t i = 0; i < count; i++)
        lines[i].text = rgm_corpus_source(t->lines, from + i);
    for (int64_t at = 0; at < count; at += done)
        RGM_GO(translate_some(out, &done, t, made, lines + at, from + at, count - at));
done:
    rgm_free(made);
    rgm_free(lines);
    return status;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

static rgm_status add_line(rgm_text *out, const char *tag, rgm_str line)
{
    if (tag != NULL)
        RGM_TRY(rgm_text_printf(out, "%s ", tag));
    RGM_TRY(rgm_text_add(out, line.data, line.size));
    return rgm_text_add(out, "\n", 1);
}

static rgm_status take_line(int64_t number, rgm_str line, void *payload)
{
    translating *t = payload;
    rgm_str given = rgm_corpus_source(t->lines, number);
    rgm_str made = {.data = line.data + 1, .size = line.size > 0 ? line.size - 1 : 0};
    bool back = is_back(t->work->step);

    if (line.size < 1 || line.data[0] != 'T') {
        if (t->untranslated++ == 0)
            snprintf(t->why, sizeof t->why, "line %lld: %.*s", (long long)number + 1,
                     (int)(made.size > 200 ? 200 : made.size), made.data);
        return RGM_OK;
    }
    if (made.size == 0 || given.size == 0) {
        t->empty++;
        return RGM_OK;
    }
    t->pairs++;
    RGM_TRY(add_line(&t->source, back ? t->o->tag : NULL, back ? made : given));
    return add_line(&t->target, NULL, back ? given : made);
}

static rgm_status finish(translating *t, rgmi_step_work *work, int64_t lines)
{
    if (t->pairs == 0)
        return RGM_FAIL(RGM_ERR_DATA, "no line of %s has a translation%s%s", lines_of(work->step),
                        t->untranslated > 0 ? ": " : "", t->why);
    if (t->untranslated > 0)
        rgmi_say(work, "left out", "%lld of %lld lines that cannot be translated; %s",
                 (long long)t->untranslated, (long long)lines, t->why);
    RGM_TRY(rgmi_pairs_save(work, &t->source, &t->target));
    work->figures = (rgmi_step_figures){.names = {"lines", "pairs", "empty", "untranslated"},
                                        .values = {lines, t->pairs, t->empty, t->untranslated},
                                        .count = 4};
    rgmi_say(work, "pairs", "%lld of %lld lines%s", (long long)t->pairs, (long long)lines,
             t->empty > 0 ? ", without those that are empty" : "");
    return RGM_OK;
}

static rgm_status run(rgmi_step_work *work)
{
    rgm_status status = RGM_OK;
    rgmi_line_shards shards;
    int64_t lines;
    translating t;

    RGM_GO(open_work(&t, work));
    lines = rgm_corpus_count(t.lines);
    if (t.o->lines > 0 && t.o->lines < lines)
        lines = t.o->lines;
    shards = (rgmi_line_shards){
        .count = lines, .shard = t.o->shard, .make = make_lines, .take = take_line, .payload = &t};
    RGM_GO(rgmi_shards_run(work, &shards));
    RGM_GO(finish(&t, work, lines));
done:
    close_work(&t);
    return status;
}

const rgmi_step_type rgmi_translate_step = {
    .section = {.name = "translate",
                .help = "pairs of given lines and their translations by models",
                .options_size = sizeof(rgmi_translate_options),
                .defaults = defaults,
                .fields = translate_fields},
    .product = RGMI_MAKES_PAIRS,
    .check = check,
    .list = list,
    .run = run,
};

const rgmi_step_type rgmi_back_translate_step = {
    .section = {.name = "back_translate",
                .help = "pairs of what reverse models make of lines, and those lines",
                .options_size = sizeof(rgmi_translate_options),
                .defaults = defaults,
                .fields = back_fields},
    .product = RGMI_MAKES_PAIRS,
    .check = check,
    .list = list,
    .run = run,
};
