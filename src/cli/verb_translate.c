/* regimen translate: lines of stdin to lines of stdout, in their order, with a run folder's
 * weights. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

#include <regimen/translation.h>

/* Lines read before any is translated: enough to sort by length. Fewer when no more have come yet.
 */
enum { CHUNK = 1024 };

typedef struct lines {
    rgm_text text;
    int64_t begin[CHUNK + 1];
    rgm_str items[CHUNK];
    int64_t count, before; /* before: lines of earlier chunks */
} lines;

/* What a reader of the output cannot see in it. */
typedef struct remarks {
    int64_t translations, cut, lines, short_lists; /* short_lists: fewer than n_best */
} remarks;

/*
 * As many lines as are there, but one at least: who wrote it may wait for its translation. Those
 * before the end, or before a bad one, are there with its status too.
 */
static rgm_status read_chunk(lines *l, rgm_line_reader *reader)
{
    rgm_status status = RGM_OK;
    rgm_str line;

    l->before += l->count;
    l->count = l->text.size = 0;
    while (l->count < CHUNK && (l->count == 0 || rgm_line_reader_ready(reader)) &&
           (status = rgm_line_reader_next(&line, reader)) == RGM_OK) {
        l->begin[l->count] = l->text.size;
        if ((status = rgm_text_add(&l->text, line.data, line.size)) != RGM_OK)
            break;
        l->count++;
    }
    l->begin[l->count] = l->text.size;
    for (int64_t i = 0; i < l->count; i++)
        l->items[i] =
            (rgm_str){.data = l->text.data + l->begin[i], .size = l->begin[i + 1] - l->begin[i]};
    return status;
}

/* A tokenizer with pieces for bytes can make a line end, which would shift all lines behind it. */
static void print_line(char *text)
{
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    puts(text);
}

/* n-best lists begin with the number of their line, from 1. */
static rgm_status print_lines(const lines *l, const rgm_line_translation *made, int64_t count,
                              int64_t n_best, bool scores)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < n_best; k++) {
            const rgm_line_translation *t = &made[i * n_best + k];
            if (t->text == NULL)
                continue;
            if (n_best > 1)
                printf("%lld\t", (long long)(l->before + i + 1));
            if (scores)
                printf("%.6f\t", t->score);
            print_line(t->text);
        }
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

static void count_remarks(remarks *r, const lines *l, const rgm_line_translation *made,
                          int64_t count, int64_t n_best)
{
    for (int64_t i = 0; i < count; i++) {
        const rgm_line_translation *of = &made[i * n_best];

        r->lines++;
        r->short_lists += of[n_best - 1].text == NULL && !is_blank(l->items[i]);
        for (int64_t k = 0; k < n_best && of[k].text != NULL; k++) {
            r->translations++;
            r->cut += of[k].cut;
        }
    }
}

static void tell_remarks(const remarks *r, int64_t n_best)
{
    if (r->cut > 0)
        say("cut",
            "%s of %s translations at their maximum length (task.search.decode_max_length, "
            "extra_decode_length)",
            grouped(r->cut), grouped(r->translations));
    if (r->short_lists > 0)
        say("fewer", "%s of %s lines have less than %lld translations: the search found no more",
            grouped(r->short_lists), grouped(r->lines), (long long)n_best);
}

/* Those before a line that cannot be translated are out with its error. */
static rgm_status translate_chunk(remarks *r, lines *l, rgm_line_translation *made,
                                  const session *s, const rgm_beam_search_options *search,
                                  bool scores)
{
    rgm_trainer *trainer = rgm_run_trainer(s->run);
    rgm_beam_search_options own = *search;
    rgm_status status, printed;
    int64_t done;

    own.first_number = l->before;
    status = rgm_translation_lines(made, &done, rgm_trainer_task(trainer),
                                   rgm_trainer_parameters(trainer), l->items, l->count, &own,
                                   rgm_trainer_device(trainer), rgm_trainer_bf16(trainer));
    if (status == RGM_ERR_DATA)
        status = rgm_error_prefix(status, "/dev/stdin:%lld", (long long)(l->before + done + 1));
    printed = print_lines(l, made, done, search->n_best, scores);
    count_remarks(r, l, made, done, search->n_best);
    rgm_line_translations_clear(made, done * search->n_best);
    return printed != RGM_OK ? printed : status;
}

static rgm_status translate_all(const session *s, const rgm_beam_search_options *search,
                                bool scores)
{
    rgm_status status = RGM_OK, end = RGM_OK;
    rgm_line_reader *reader = NULL;
    rgm_line_translation *made = NULL;
    lines *l = NULL;
    remarks r = {0};
    rgm_error bad;

    RGM_GO(RGM_NEW(l, 1));
    RGM_GO(RGM_NEW(made, CHUNK * search->n_best));
    RGM_GO(rgm_line_reader_open(&reader, "/dev/stdin", NULL));
    while (end == RGM_OK) {
        end = read_chunk(l, reader);
        if (end < 0)
            rgm_error_save(&bad, end);
        RGM_GO(translate_chunk(&r, l, made, s, search, scores));
    }
    tell_remarks(&r, search->n_best);
    if (end < 0) /* what came before is out */
        status = rgm_error_restore(&bad);
done:
    rgm_line_reader_close(reader);
    rgm_free(made);
    if (l != NULL)
        rgm_text_clear(&l->text);
    rgm_free(l);
    return status;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Options that are keys of the run: set as --set does, so that they are checked as keys are. */
enum { BEAM, N_BEST, ALPHA, THREADS, KEYS };
static const char *const keys[KEYS] = {"task.search.beam_size", "task.search.n_best",
                                       "task.search.alpha", "runtime.threads"};

/* texts: to be freed by the caller. */
static rgm_status add_keys(text_list *sets, char **texts, const char *const *values)
{
    for (int k = 0; k < KEYS; k++) {
        if (values[k] == NULL)
            continue;
        if (sets->count == (int64_t)(sizeof sets->items / sizeof *sets->items))
            return RGM_FAIL(RGM_ERR_CONFIG, "--set was given %lld times: no room for %s",
                            (long long)sets->count, keys[k]);
        RGM_TRY(rgm_strprintf(&texts[k], "%s=%s", keys[k], values[k]));
        sets->items[sets->count++] = texts[k];
    }
    return RGM_OK;
}

static rgm_status translate_run(const char *run_dir, const text_list *sets,
                                const weights_choice *weights, bool scores)
{
    const data_choice none = {.modes = {false}};
    rgm_status status = RGM_OK;
    const rgm_task *task;
    session s;

    RGM_GO(session_open(&s, run_dir, sets, weights, &none));
    task = rgm_run_task(s.run);
    if (task->type != &rgm_translation)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s is a run of another task than translation", run_dir));
    RGM_GO(translate_all(&s, rgm_translation_search(task), scores));
done:
    session_close(&s);
    return status;
}

int verb_translate(int argc, char **argv)
{
    text_list sets = {.count = 0}, rest;
    const char *values[KEYS] = {NULL};
    char *texts[KEYS] = {NULL};
    bool scores = false;
    weights_choice weights = {.last = false};
    const argument arguments[] = {
        {"beam", ARG_TEXT, &values[BEAM], "N",
         "hypotheses followed at once, 1: greedy; default task.search.beam_size"},
        {"n-best", ARG_TEXT, &values[N_BEST], "N",
         "more than 1: so many of each line, behind its number; default task.search.n_best"},
        {"alpha", ARG_TEXT, &values[ALPHA], "X", "length penalty; default task.search.alpha"},
        {"scores", ARG_FLAG, &scores, NULL, "the score before each translation"},
        {"threads", ARG_TEXT, &values[THREADS], "N",
         "default runtime.threads; changes nothing but the time"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. runtime.threads=1"},
        {0}};
    const usage how = {
        "translate RUN_DIR|model:NAME [--beam N] [--n-best N] [--scores] [--threads N] [--average "
        "N] < IN > "
        "OUT",
        "Translate lines of stdin to lines of stdout, in their order, as they come, up to 1024\n"
        "at a time. The run's data need not be there.",
        arguments, 1, 1};
    char *folder = NULL;
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    status = model_folder(&folder, rest.items[0]);
    if (status == RGM_OK)
        status = add_keys(&sets, texts, values);
    if (status == RGM_OK)
        status = translate_run(folder, &sets, &weights, scores);
    rgm_free(folder);
    for (int k = 0; k < KEYS; k++)
        rgm_free(texts[k]);
    return status == RGM_OK ? print_text("") : report(status);
}
