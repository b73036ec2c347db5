/* regimen translate: lines of stdin to lines of stdout, in their order, with a run folder's weights. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* Lines read before any is translated: enough to sort by length. One at a time for a person. */
enum { CHUNK = 1024 };

typedef struct lines {
    rgm_text text;
    int64_t begin[CHUNK + 1];
    rgm_str items[CHUNK];
    int64_t count, before; /* before: lines of earlier chunks */
} lines;

static rgm_status read_chunk(lines *l, rgm_line_reader *reader, int64_t most)
{
    rgm_status status = RGM_OK;
    rgm_str line;

    l->before += l->count;
    l->count = l->text.size = 0;
    while (l->count < most && (status = rgm_line_reader_next(&line, reader)) == RGM_OK) {
        l->begin[l->count++] = l->text.size;
        RGM_TRY(rgm_text_add(&l->text, line.data, line.size));
    }
    l->begin[l->count] = l->text.size;
    for (int64_t i = 0; i < l->count; i++)
        l->items[i] = (rgm_str){.data = l->text.data + l->begin[i], .size = l->begin[i + 1] - l->begin[i]};
    return status;
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
            printf("%s\n", t->text);
        }
    if (fflush(stdout) != 0)
        return RGM_FAIL(RGM_ERR_IO, "stdout: cannot be written");
    return RGM_OK;
}

static rgm_status translate_all(const session *s, const rgm_search_options *search, bool scores)
{
    rgm_trainer *trainer = rgm_run_trainer(s->run);
    rgm_status status = RGM_OK, end = RGM_OK;
    rgm_line_reader *reader = NULL;
    rgm_line_translation *made = NULL;
    lines *l = NULL;

    RGM_GO(RGM_NEW(l, 1));
    RGM_GO(RGM_NEW(made, CHUNK * search->n_best));
    RGM_GO(rgm_line_reader_open(&reader, "/dev/stdin", NULL));
    while (end == RGM_OK) {
        end = read_chunk(l, reader, isatty(STDIN_FILENO) ? 1 : CHUNK);
        if (end != RGM_OK && end != RGM_END)
            RGM_GO(end);
        status = rgm_translation_lines(made, rgm_trainer_task(trainer), rgm_trainer_parameters(trainer),
                                       l->items, l->count, search);
        if (status != RGM_OK) {
            if (l->before > 0)
                rgm_error_prefix(status, "counted behind line %lld", (long long)l->before);
            goto done;
        }
        status = print_chunk(l, made, search->n_best, scores);
        rgm_line_translations_clear(made, l->count * search->n_best);
        RGM_GO(status);
    }
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
    int64_t beam = 0, n_best = 1;
    double alpha = -1;
    bool scores = false;
    weights_choice weights = {.last = false};
    const argument arguments[] = {
        {"beam", ARG_INT, &beam, "N", "hypotheses followed at once, 1: greedy; default task.search.beam_size"},
        {"n-best", ARG_INT, &n_best, "N", "translations of each line, each behind the line's number"},
        {"alpha", ARG_FLOAT, &alpha, "X", "length penalty; default task.search.alpha"},
        {"scores", ARG_FLAG, &scores, NULL, "the score before each translation"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. runtime.threads=1"},
        {0}};
    const usage how = {"translate RUN_DIR [--beam N] [--n-best N] [--scores] [--average N] < IN > OUT",
                       "Translate lines of stdin to lines of stdout, in their order.", arguments, 1, 1};
    const data_choice none = {.modes = {false}};
    rgm_search_options search;
    session s;
    rgm_status status;
    int code = arguments_read(&rest, &how, argc, argv);

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    if (n_best < 1 || beam < 0)
        return usage_error("--n-best is 1 or more, --beam too");
    status = session_open(&s, rest.items[0], &sets, &weights, &none);
    if (status == RGM_OK && strcmp(rgm_trainer_task(rgm_run_trainer(s.run))->name, rgm_translation.name) != 0)
        status = RGM_FAIL(RGM_ERR_CONFIG, "%s is a run of another task than translation", rest.items[0]);
    if (status == RGM_OK) {
        search = *rgm_translation_search(rgm_trainer_task(rgm_run_trainer(s.run)));
        search.beams = beam > 0 ? beam : search.beams;
        search.n_best = n_best;
        search.alpha = alpha >= 0 ? alpha : search.alpha;
        status = translate_all(&s, &search, scores);
    }
    code = status == RGM_OK ? print_text("") : report(status);
    session_close(&s);
    return code;
}
