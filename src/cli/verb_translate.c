/* regimen translate: lines of stdin to lines of stdout, in their order, with the weights of a run
 * folder or of an export. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alignment_choice.h"
#include "cli.h"
#include "line_chunk.h"

#include <regimen/translation.h>

typedef struct lines {
    line_chunk chunk;
    rgm_translation_line items[LINES_OF_CHUNK];
    rgm_translation_request requests[LINES_OF_CHUNK]; /* where lines are JSON */
} lines;

/* How lines come and go. */
typedef struct form {
    bool json, scores;
    int64_t n_best;
    int64_t mbr; /* samples of each line; 0: its best is searched for */
    alignment_choice alignment;
} form;

enum { TOLD_LINES = 8 }; /* numbers of lines that a remark has at most */

/* What a reader of the output cannot see in it. */
typedef struct remarks {
    int64_t cut_lines[TOLD_LINES], cut_line_count, last_cut_line; /* with one that was cut */
    int64_t translations, cut, lines, short_lists; /* short_lists: fewer than n_best */
    int64_t missing, banned;                       /* translations that lack, or have, such texts */
} remarks;

static void clear_requests(lines *l)
{
    for (int64_t i = 0; i < LINES_OF_CHUNK; i++)
        rgm_translation_request_clear(&l->requests[i]);
}

/* Lines that are objects; those behind a bad one are left out, with its error. */
static rgm_status read_requests(lines *l, rgm_status read, const form *f)
{
    char name[64];

    clear_requests(l);
    for (int64_t i = 0; i < l->chunk.count; i++) {
        rgm_status status;
        snprintf(name, sizeof name, "/dev/stdin:%lld", (long long)(l->chunk.before + i + 1));
        status = rgm_translation_request_read(&l->requests[i], l->chunk.items[i], name);
        if (status != RGM_OK) {
            l->chunk.count = i;
            return status == RGM_ERR_DATA ? rgm_error_prefix(status, "%s", name) : status;
        }
        l->items[i] = l->requests[i].line;
        if (f->alignment.wanted && l->items[i].alignment == NULL)
            l->items[i].alignment = &f->alignment.options;
    }
    return read;
}

/* Those before the end, or before a bad one, are there with its status too. */
static rgm_status read_lines(lines *l, rgm_line_reader *reader, const form *f)
{
    rgm_status status = line_chunk_read(&l->chunk, reader);

    if (f->json)
        return read_requests(l, status, f);
    for (int64_t i = 0; i < l->chunk.count; i++)
        l->items[i] =
            (rgm_translation_line){.text = l->chunk.items[i],
                                   .alignment = f->alignment.wanted ? &f->alignment.options : NULL};
    return status;
}

/* n-best lists begin with the number of their line, from 1. */
static void print_texts(int64_t line, const rgm_line_translation *made, const form *f)
{
    for (int64_t k = 0; k < f->n_best && made[k].text != NULL; k++) {
        if (f->n_best > 1)
            printf("%lld\t", (long long)line);
        if (f->scores)
            printf("%.6f\t", made[k].score);
        if (f->alignment.wanted)
            printf("%s\t", made[k].alignment);
        print_line(made[k].text);
    }
}

static rgm_status print_lines(const lines *l, const rgm_line_translation *made, int64_t count,
                              const form *f)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    for (int64_t i = 0; i < count && status == RGM_OK; i++) {
        text.size = 0;
        if (!f->json)
            print_texts(l->chunk.before + i + 1, &made[i * f->n_best], f);
        else if ((status = rgm_translation_result_print(&text, &made[i * f->n_best], f->n_best)) ==
                 RGM_OK)
            puts(text.data);
    }
    rgm_text_clear(&text);
    RGM_TRY(status);
    if (fflush(stdout) != 0 || ferror(stdout))
        return RGM_FAIL(RGM_ERR_IO, "stdout: %s", strerror(errno));
    return RGM_OK;
}

/* What has nothing to translate gives one empty line, and misses none. */
static bool is_blank(rgm_str line)
{
    for (int64_t i = 0; i < line.size; i++)
        if (!isspace((unsigned char)line.data[i]))
            return false;
    return true;
}

static void note_cut(remarks *r, int64_t line)
{
    r->cut++;
    if (r->last_cut_line == line)
        return;
    if (r->cut_line_count < TOLD_LINES)
        r->cut_lines[r->cut_line_count] = line;
    r->cut_line_count++;
    r->last_cut_line = line;
}

static void count_remarks(remarks *r, const lines *l, const rgm_line_translation *made,
                          int64_t count, int64_t n_best)
{
    for (int64_t i = 0; i < count; i++) {
        const rgm_line_translation *of = &made[i * n_best];

        r->lines++;
        r->short_lists += of[n_best - 1].text == NULL && !is_blank(l->items[i].text);
        for (int64_t k = 0; k < n_best && of[k].text != NULL; k++) {
            r->translations++;
            if (of[k].cut)
                note_cut(r, l->chunk.before + i + 1);
            r->missing += of[k].missing > 0;
            r->banned += of[k].banned > 0;
        }
    }
}

static void tell_cut(const remarks *r)
{
    char numbers[24 * TOLD_LINES] = "";
    size_t size = 0;

    for (int64_t i = 0; i < r->cut_line_count && i < TOLD_LINES; i++)
        size += (size_t)snprintf(numbers + size, sizeof numbers - size, "%s%lld", i > 0 ? ", " : "",
                                 (long long)r->cut_lines[i]);
    say("cut",
        "%s of %s translations at their maximum length (task.search.decode_max_length, "
        "decode_length_factor, extra_decode_length), of the line%s %s%s",
        grouped(r->cut), grouped(r->translations), r->cut_line_count > 1 ? "s" : "", numbers,
        r->cut_line_count > TOLD_LINES ? " and others" : "");
}

static void tell_remarks(const remarks *r, int64_t n_best)
{
    if (r->cut > 0)
        tell_cut(r);
    if (r->missing > 0)
        say("missing", "%s of %s translations lack a required text: they were cut before it came",
            grouped(r->missing), grouped(r->translations));
    if (r->banned > 0)
        say("banned",
            "%s of %s translations have a banned text all the same, in other pieces or in their "
            "prefix",
            grouped(r->banned), grouped(r->translations));
    if (r->short_lists > 0)
        say("fewer", "%s of %s lines have less than %lld translations: the search ended with those",
            grouped(r->short_lists), grouped(r->lines), (long long)n_best);
}

/* Who translates: a run, or an export. */
typedef struct translator {
    const rgm_task *task;
    const rgm_parameters *parameters;
    rgm_device *device;
    bool bf16;
} translator;

/* Those before a line that cannot be translated are out with its error. */
static rgm_status translate_chunk(remarks *r, lines *l, rgm_line_translation *made,
                                  const translator *t, const rgm_beam_search_options *search,
                                  const form *f)
{
    rgm_beam_search_options own = *search;
    rgm_status status, printed;
    int64_t done;

    own.first_number = l->chunk.before;
    status = f->mbr > 0 ? rgm_translation_mbr(made, &done, t->task, t->parameters, l->items,
                                              l->chunk.count, f->mbr, &own, t->device, t->bf16)
                        : rgm_translation_lines(made, &done, t->task, t->parameters, l->items,
                                                l->chunk.count, &own, t->device, t->bf16);
    if (status == RGM_ERR_DATA)
        status =
            rgm_error_prefix(status, "/dev/stdin:%lld", (long long)(l->chunk.before + done + 1));
    printed = print_lines(l, made, done, f);
    count_remarks(r, l, made, done, f->n_best);
    rgm_line_translations_clear(made, done * f->n_best);
    return printed != RGM_OK ? printed : status;
}

static rgm_status translate_all(const translator *t, const rgm_beam_search_options *search, form *f)
{
    rgm_status status = RGM_OK, end = RGM_OK;
    rgm_line_reader *reader = NULL;
    rgm_line_translation *made = NULL;
    lines *l = NULL;
    remarks r = {0};
    rgm_error bad;

    f->n_best = f->mbr > 0 ? 1 : search->n_best;
    RGM_GO(RGM_NEW(l, 1));
    RGM_GO(RGM_NEW(made, LINES_OF_CHUNK * f->n_best));
    RGM_GO(rgm_line_reader_open(&reader, "/dev/stdin", NULL));
    while (end == RGM_OK) {
        end = read_lines(l, reader, f);
        if (end < 0)
            rgm_error_save(&bad, end);
        RGM_GO(translate_chunk(&r, l, made, t, search, f));
    }
    tell_remarks(&r, f->n_best);
    if (end < 0) /* what came before is out */
        status = rgm_error_restore(&bad);
done:
    rgm_line_reader_close(reader);
    rgm_free(made);
    if (l != NULL) {
        clear_requests(l);
        line_chunk_clear(&l->chunk);
    }
    rgm_free(l);
    return status;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Options that are keys of the run: set as --set does, so that they are checked as keys are. */
enum { BEAM, N_BEST, ALPHA, COVERAGE, THREADS, INT8, SHORTLIST, KEYS };
static const char *const keys[KEYS] = {
    "task.search.beam_size", "task.search.n_best", "task.search.alpha", "task.search.coverage",
    "runtime.threads",       "task.search.int8",   "data.shortlist"};

/* The run, and those whose models translate beside its own. */
typedef struct sessions {
    session items[RGM_MOST_MODELS];
    int64_t count;
} sessions;

static rgm_status open_run(sessions *all, const char *name, const text_list *sets,
                           const weights_choice *weights)
{
    const data_choice none = {.modes = {false}};
    rgm_status status = RGM_OK;
    session *s = &all->items[all->count];
    char *folder = NULL;

    RGM_GO(model_folder(&folder, name));
    RGM_GO(session_open(s, folder, sets, weights, &none));
    all->count++;
    if (rgm_run_task(s->run)->type != &rgm_translation)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s is a run of another task than translation", name));
done:
    rgm_free(folder);
    return status;
}

/* Whether it says what all models read. */
static bool sets_tag(const char *set)
{
    return strncmp(set, "data.source_tag=", 16) == 0 || strncmp(set, "data.target_tag=", 16) == 0;
}

/* The run of another model; its weights are used, and the search is the first's. */
static rgm_status join_run(sessions *all, const char *name, const text_list *sets,
                           const weights_choice *weights)
{
    text_list tags = {.count = 0};
    rgm_trainer *trainer;

    if (all->count == RGM_MOST_MODELS)
        return RGM_FAIL(RGM_ERR_CONFIG, "--with %s: at most %d models translate together", name,
                        RGM_MOST_MODELS);
    for (int64_t i = 0; i < sets->count; i++)
        if (sets_tag(sets->items[i]))
            tags.items[tags.count++] = sets->items[i];
    RGM_TRY(open_run(all, name, &tags, weights));
    trainer = rgm_run_trainer(all->items[all->count - 1].run);
    return rgm_error_prefix(rgm_translation_join(rgm_run_task(all->items[0].run),
                                                 rgm_trainer_task(trainer),
                                                 rgm_trainer_parameters(trainer)),
                            "--with %s", name);
}

static rgm_status translate_run(const char *name, const text_list *with, const text_list *sets,
                                const weights_choice *weights, form *f)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer;
    sessions *all;
    translator t;

    RGM_TRY(RGM_NEW(all, 1));
    RGM_GO(open_run(all, name, sets, weights));
    for (int64_t i = 0; i < with->count; i++)
        RGM_GO(join_run(all, with->items[i], sets, weights));
    trainer = rgm_run_trainer(all->items[0].run);
    t = (translator){rgm_trainer_task(trainer), rgm_trainer_parameters(trainer),
                     rgm_trainer_device(trainer), rgm_trainer_bf16(trainer)};
    RGM_GO(translate_all(&t, rgm_translation_search(t.task), f));
done:
    while (all->count > 0)
        session_close(&all->items[--all->count]);
    rgm_free(all);
    return status;
}

/* The options of an export's search, as those of a run are keys. */
static rgm_status set_search(rgm_beam_search_options *o, const char *const *values)
{
    double number;

    if (values[BEAM] != NULL) {
        RGM_TRY(read_number(&number, values[BEAM], "beam", true));
        o->beam_size = (int64_t)number;
    }
    if (values[N_BEST] != NULL) {
        RGM_TRY(read_number(&number, values[N_BEST], "n-best", true));
        o->n_best = (int64_t)number;
    }
    if (values[ALPHA] != NULL)
        RGM_TRY(read_number(&o->alpha, values[ALPHA], "alpha", false));
    if (values[COVERAGE] != NULL)
        RGM_TRY(read_number(&o->coverage, values[COVERAGE], "coverage", false));
    RGM_TRY(set_threads(values[THREADS]));
    o->int8 = o->int8 || values[INT8] != NULL;
    return rgm_options_check(o, rgm_beam_search_fields, "task.search");
}

static rgm_status translate_export(const char *folder, const char *const *values, form *f)
{
    rgm_status status = RGM_OK;
    rgm_predictor *predictor = NULL;
    rgm_shortlist *shortlist = NULL;
    rgm_beam_search_options search;
    translator t = {.device = NULL};

    RGM_GO(rgm_predictor_open(&predictor, folder, NULL, 0));
    t.task = rgm_predictor_task(predictor);
    t.parameters = rgm_predictor_parameters(predictor);
    if (t.task->type != &rgm_translation)
        RGM_GO(
            RGM_FAIL(RGM_ERR_CONFIG, "%s is an export of another task than translation", folder));
    search = *rgm_translation_search(t.task);
    search.int8 = search.int8 || rgm_predictor_int8(predictor);
    RGM_GO(set_search(&search, values));
    if (values[SHORTLIST] != NULL) {
        RGM_GO(rgm_shortlist_load(&shortlist, values[SHORTLIST]));
        RGM_GO(rgm_translation_check_shortlist(t.task, shortlist, values[SHORTLIST]));
        search.shortlist = shortlist;
    }
    RGM_GO(translate_all(&t, &search, f));
done:
    rgm_predictor_release(predictor);
    rgm_shortlist_release(shortlist);
    return status;
}

/* A run, a registered model, or an export's folder. */
static rgm_status translate_named(const char *name, const text_list *with, text_list *sets,
                                  const weights_choice *weights, const char *const *values,
                                  char **texts, form *f)
{
    rgm_status status = RGM_OK;
    char *folder = NULL;
    bool exported;

    RGM_GO(model_folder(&folder, name));
    exported = rgm_model_folder_kind(folder) == RGM_FOLDER_EXPORT;
    if (exported && (sets->count > 0 || with->count > 0 || weights_chosen(weights)))
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG,
                        "%s is an export: it has one set of weights and no keys to set", name));
    if (exported) {
        RGM_GO(translate_export(folder, values, f));
    } else {
        RGM_GO(add_keys(sets, texts, keys, values, KEYS));
        RGM_GO(translate_run(name, with, sets, weights, f));
    }
done:
    rgm_free(folder);
    return status;
}

static rgm_status check_form(const form *f, const char *const *values)
{
    static const char *const names[] = {"beam", "n-best", "alpha", "coverage"};

    for (int k = BEAM; k <= COVERAGE; k++)
        if (f->mbr > 0 && values[k] != NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "--mbr draws and takes one of each line: no --%s",
                            names[k]);
    return alignment_choice_check(&f->alignment);
}

int verb_translate(int argc, char **argv)
{
    text_list sets = {.count = 0}, with = {.count = 0}, rest;
    const char *values[KEYS] = {NULL};
    char *texts[KEYS] = {NULL};
    form f = {0};
    const char *shortlist = NULL;
    bool int8 = false;
    weights_choice weights = {.last = false};
    const argument arguments[] = {
        {"beam", ARG_TEXT, &values[BEAM], "N",
         "hypotheses followed at once, 1: greedy; default task.search.beam_size"},
        {"n-best", ARG_TEXT, &values[N_BEST], "N",
         "more than 1: so many of each line, behind its number; default task.search.n_best"},
        {"alpha", ARG_TEXT, &values[ALPHA], "X", "length penalty; default task.search.alpha"},
        {"coverage", ARG_TEXT, &values[COVERAGE], "X",
         "weight of what of the source was not attended to; default task.search.coverage"},
        {"scores", ARG_FLAG, &f.scores, NULL, "the score before each translation"},
        ALIGNMENT_ARGUMENTS(f.alignment),
        {"with", ARG_LIST, &with, "RUN_DIR",
         "a run with the same tokenizers, whose model translates too: probabilities are averaged"},
        {"mbr", ARG_COUNT, &f.mbr, "N",
         "draw N translations of each line and take the one that is most like all of them (chrF)"},
        {"json", ARG_FLAG, &f.json, NULL,
         "each line is an object {\"text\": ..} with what is asked of its translation (\"prefix\", "
         "\"required\", \"banned\", \"alignment\"), and gives one with its translations"},
        {"int8", ARG_FLAG, &int8, NULL,
         "weights in 8 bits: faster, nearly the same translations; as task.search.int8"},
        {"shortlist", ARG_TEXT, &shortlist, "FILE",
         "search among the tokens that it has for a source (regimen text train-shortlist)"},
        {"threads", ARG_TEXT, &values[THREADS], "N",
         "default runtime.threads; changes nothing but the time"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. runtime.threads=1"},
        {0}};
    const usage how = {
        "translate RUN_DIR|EXPORT|model:NAME [--beam N] [--n-best N] [--with RUN_DIR]... [--scores]"
        " [--alignment] [--json] [--int8] [--shortlist FILE] [--threads N] [--average N] < IN > "
        "OUT",
        "Translate lines of stdin to lines of stdout, in their order, as they come, up to 1024\n"
        "at a time. Words of a run with data.factors have their values behind them:\n"
        "word|case|pos. The run's data need not be there.",
        arguments, 1, 1};
    char *here = NULL;
    rgm_status status = RGM_OK;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    values[INT8] = int8 ? "true" : NULL;
    if (shortlist != NULL) /* the key's would be in data.path */
        values[SHORTLIST] = here = realpath(shortlist, NULL);
    if (shortlist != NULL && here == NULL)
        status = RGM_FAIL_SYSTEM("open", shortlist);
    if (status == RGM_OK)
        status = check_form(&f, values);
    if (status == RGM_OK)
        status = translate_named(rest.items[0], &with, &sets, &weights, values, texts, &f);
    free(here);
    for (int k = 0; k < KEYS; k++)
        rgm_free(texts[k]);
    return status == RGM_OK ? print_text("") : report(status);
}
