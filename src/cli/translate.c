/* regimen translate: lines of stdin to lines of stdout, in their order, with a run folder's weights. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Lines read before any is translated: enough to sort by length. Fewer when no more have come yet. */
enum { CHUNK = 1024 };

typedef struct lines {
    rgm_text text;
    int64_t begin[CHUNK + 1];
    rgm_str items[CHUNK];
    int64_t count, before; /* before: lines of earlier chunks */
} lines;

/* The next line, if it can be translated. */
static rgm_status read_line(rgm_str *line, rgm_line_reader *reader, const rgm_task *task)
{
    rgm_status status;

    RGM_TRY(rgm_line_reader_next(line, reader));
    status = rgm_translation_check_line(task, *line);
    if (status != RGM_OK)
        return rgm_error_prefix(status, "/dev/stdin:%lld", (long long)rgm_line_reader_line(reader));
    return RGM_OK;
}

/*
 * As many lines as are there, but one at least: who wrote it may wait for its translation. Those before the
 * end, or before a bad one, are there with its status too.
 */
static rgm_status read_chunk(lines *l, rgm_line_reader *reader, const rgm_task *task)
{
    rgm_status status = RGM_OK;
    rgm_str line;

    l->before += l->count;
    l->count = l->text.size = 0;
    while (l->count < CHUNK && (l->count == 0 || rgm_line_reader_ready(reader)) &&
           (status = read_line(&line, reader, task)) == RGM_OK) {
        l->begin[l->count] = l->text.size;
        if ((status = rgm_text_add(&l->text, line.data, line.size)) != RGM_OK)
            break;
        l->count++;
    }
    l->begin[l->count] = l->text.size;
    for (int64_t i = 0; i < l->count; i++)
        l->items[i] = (rgm_str){.data = l->text.data + l->begin[i], .size = l->begin[i + 1] - l->begin[i]};
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
static rgm_status print_chunk(const lines *l, const rgm_line_translation *made, int64_t n_best, bool scores)
{
    for (int64_t i = 0; i < l->count; i++)
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

static rgm_status translate_chunk(lines *l, rgm_line_translation *made, const session *s,
                                  const rgm_search_options *search, bool scores)
{
    rgm_trainer *trainer = rgm_run_trainer(s->run);
    rgm_search_options own = *search;
    rgm_status status;

    own.first_number = l->before;
    RGM_TRY(rgm_translation_lines(made, rgm_trainer_task(trainer), rgm_trainer_parameters(trainer), l->items,
                                  l->count, &own, rgm_trainer_bf16(trainer)));
    status = print_chunk(l, made, search->n_best, scores);
    rgm_line_translations_clear(made, l->count * search->n_best);
    return status;
}

static rgm_status translate_all(const session *s, const rgm_search_options *search, bool scores)
{
    const rgm_task *task = rgm_trainer_task(rgm_run_trainer(s->run));
    rgm_status status = RGM_OK, end = RGM_OK;
    rgm_line_reader *reader = NULL;
    rgm_line_translation *made = NULL;
    lines *l = NULL;
    rgm_error bad;

    RGM_GO(RGM_NEW(l, 1));
    RGM_GO(RGM_NEW(made, CHUNK * search->n_best));
    RGM_GO(rgm_line_reader_open(&reader, "/dev/stdin", NULL));
    while (end == RGM_OK) {
        end = read_chunk(l, reader, task);
        if (end < 0)
            rgm_error_save(&bad, end);
        RGM_GO(translate_chunk(l, made, s, search, scores));
    }
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

int verb_translate(int argc, char **argv)
{
    text_list sets = {.count = 0}, rest;
    int64_t beam = 0, n_best = 1, threads = 0;
    char threads_key[64];
    double alpha = -1;
    bool scores = false;
    weights_choice weights = {.last = false};
    const argument arguments[] = {
        {"beam", ARG_INT, &beam, "N", "hypotheses followed at once, 1: greedy; default task.search.beam_size"},
        {"n-best", ARG_INT, &n_best, "N", "translations of each line, each behind the line's number"},
        {"alpha", ARG_FLOAT, &alpha, "X", "length penalty; default task.search.alpha"},
        {"scores", ARG_FLAG, &scores, NULL, "the score before each translation"},
        {"threads", ARG_INT, &threads, "N", "default runtime.threads; changes nothing but the time"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. runtime.threads=1"},
        {0}};
    const usage how = {"translate RUN_DIR [--beam N] [--n-best N] [--scores] [--threads N] [--average N] < IN > OUT",
                       "Translate lines of stdin to lines of stdout, in their order, as they come, up to 1024\n"
                       "at a time. The run's data need not be there.", arguments, 1, 1};
    const data_choice none = {.modes = {false}};
    rgm_search_options search;
    session s;
    rgm_status status;
    int code = arguments_read(&rest, &how, argc, argv);

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    if (n_best < 1 || beam < 0 || threads < 0)
        return usage_error("--n-best, --beam and --threads are 1 or more");
    if (threads > 0) {
        snprintf(threads_key, sizeof threads_key, "runtime.threads=%lld", (long long)threads);
        if (sets.count == (int64_t)(sizeof sets.items / sizeof *sets.items))
            return usage_error("--set was given %lld times: no room for --threads", (long long)sets.count);
        sets.items[sets.count++] = threads_key;
    }
    status = session_open(&s, rest.items[0], &sets, &weights, &none);
    if (status == RGM_OK && strcmp(rgm_trainer_task(rgm_run_trainer(s.run))->name, rgm_translation.name) != 0)
        status = RGM_FAIL(RGM_ERR_CONFIG, "%s is a run of another task than translation", rest.items[0]);
    if (status == RGM_OK) {
        search = *rgm_translation_search(rgm_trainer_task(rgm_run_trainer(s.run)));
        search.beams = beam > 0 ? beam : search.beams;
        search.n_best = n_best;
        search.alpha = alpha >= 0 ? alpha : search.alpha;
        if (n_best > search.beams)
            status = RGM_FAIL(RGM_ERR_CONFIG, "--n-best is %lld, but only %lld hypotheses are followed: --beam N",
                              (long long)n_best, (long long)search.beams);
        else
            status = translate_all(&s, &search, scores);
    }
    code = status == RGM_OK ? print_text("") : report(status);
    session_close(&s);
    return code;
}
