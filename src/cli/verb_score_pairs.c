/* regimen score-pairs: how probable given translations are by a run folder's weights. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alignment_choice.h"
#include "cli.h"
#include "line_chunk.h"

#include <regimen/translation.h>

/* "source TAB target". */
static rgm_status split(rgm_text_pair *out, rgm_str line)
{
    const char *tab = memchr(line.data, '\t', (size_t)line.size);

    if (tab == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "no TAB between a source and a target");
    out->source = (rgm_str){.data = line.data, .size = tab - line.data};
    out->target = (rgm_str){.data = tab + 1, .size = line.data + line.size - (tab + 1)};
    if (memchr(out->target.data, '\t', (size_t)out->target.size) != NULL)
        return RGM_FAIL(RGM_ERR_DATA, "more than one TAB");
    return RGM_OK;
}

static rgm_status write_score(rgm_text *out, const rgm_pair_score *score, const rgm_task *task)
{
    rgm_json_writer w = {.out = out};
    char room[24];

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_number(&w, "log_probability", score->log_probability));
    RGM_TRY(rgm_json_open_list(&w, "tokens", RGM_JSON_SPACED));
    for (int64_t i = 0; i < score->count; i++) {
        RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(&w, "piece", rgm_translation_piece(room, task, score->ids[i])));
        RGM_TRY(rgm_json_write_number(&w, "log_probability", (double)score->log_probabilities[i]));
        RGM_TRY(rgm_json_close(&w));
    }
    RGM_TRY(rgm_json_close(&w));
    if (score->alignment != NULL)
        RGM_TRY(rgm_json_write_text(&w, "alignment", score->alignment));
    return rgm_json_close(&w);
}

static rgm_status print_scores(const rgm_pair_score *scores, int64_t count, const rgm_task *task,
                               bool json)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    for (int64_t i = 0; i < count && status == RGM_OK; i++) {
        text.size = 0;
        if (!json)
            printf("%.6f\t%lld%s%s\n", scores[i].log_probability, (long long)scores[i].count,
                   scores[i].alignment != NULL ? "\t" : "",
                   scores[i].alignment != NULL ? scores[i].alignment : "");
        else if ((status = write_score(&text, &scores[i], task)) == RGM_OK)
            puts(text.data);
    }
    rgm_text_clear(&text);
    RGM_TRY(status);
    if (fflush(stdout) != 0 || ferror(stdout))
        return RGM_FAIL(RGM_ERR_IO, "stdout: %s", strerror(errno));
    return RGM_OK;
}

typedef struct work {
    line_chunk chunk;
    rgm_text_pair pairs[LINES_OF_CHUNK];
    rgm_pair_score scores[LINES_OF_CHUNK];
} work;

/* Those before a line that cannot be scored are out with its error. */
static rgm_status score_chunk(work *w, rgm_pair_scorer *scorer, const rgm_task *task, bool json)
{
    rgm_status bad = RGM_OK, status, printed;
    int64_t count = 0, done;
    rgm_error error;

    while (count < w->chunk.count &&
           (bad = split(&w->pairs[count], w->chunk.items[count])) == RGM_OK)
        count++;
    rgm_error_save(&error, bad);
    status = rgm_pair_scorer_run(w->scores, &done, scorer, w->pairs, count);
    if (status == RGM_OK && bad != RGM_OK)
        status = rgm_error_restore(&error);
    if (status == RGM_ERR_DATA)
        status =
            rgm_error_prefix(status, "/dev/stdin:%lld", (long long)(w->chunk.before + done + 1));
    printed = print_scores(w->scores, done, task, json);
    rgm_pair_scores_clear(w->scores, done);
    return printed != RGM_OK ? printed : status;
}

static rgm_status score_all(const session *s, const alignment_choice *alignment, bool json)
{
    rgm_status status = RGM_OK, end = RGM_OK;
    rgm_trainer *trainer = rgm_run_trainer(s->run);
    const rgm_task *task = rgm_trainer_task(trainer);
    rgm_line_reader *reader = NULL;
    rgm_pair_scorer *scorer = NULL;
    work *w = NULL;
    rgm_error bad;

    RGM_GO(RGM_NEW(w, 1));
    RGM_GO(rgm_pair_scorer_create(&scorer, task, rgm_trainer_parameters(trainer),
                                  rgm_trainer_device(trainer), rgm_trainer_bf16(trainer)));
    if (alignment->wanted)
        RGM_GO(rgm_pair_scorer_align(scorer, &alignment->options));
    RGM_GO(rgm_line_reader_open(&reader, "/dev/stdin", NULL));
    while (end == RGM_OK) {
        end = line_chunk_read(&w->chunk, reader);
        if (end < 0)
            rgm_error_save(&bad, end);
        RGM_GO(score_chunk(w, scorer, task, json));
    }
    if (end < 0) /* what came before is out */
        status = rgm_error_restore(&bad);
done:
    rgm_line_reader_close(reader);
    rgm_pair_scorer_release(scorer);
    if (w != NULL)
        line_chunk_clear(&w->chunk);
    rgm_free(w);
    return status;
}

static rgm_status score_run(const char *run_dir, const text_list *sets,
                            const weights_choice *weights, const alignment_choice *alignment,
                            bool json)
{
    const data_choice none = {.modes = {false}};
    rgm_status status = RGM_OK;
    session s;

    RGM_GO(session_open(&s, run_dir, sets, weights, &none));
    if (rgm_run_task(s.run)->type != &rgm_translation)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s is a run of another task than translation", run_dir));
    RGM_GO(score_all(&s, alignment, json));
done:
    session_close(&s);
    return status;
}

int verb_score_pairs(int argc, char **argv)
{
    text_list sets = {.count = 0}, rest;
    weights_choice weights = {.last = false};
    alignment_choice alignment = {.wanted = false};
    bool json = false;
    const argument arguments[] = {
        ALIGNMENT_ARGUMENTS(alignment),
        {"json", ARG_FLAG, &json, NULL,
         "an object for each pair, with each token's log-probability"},
        WEIGHTS_ARGUMENTS(weights),
        {"set", ARG_LIST, &sets, "KEY=VALUE", "override a key of the run, e.g. runtime.threads=1"},
        {0}};
    const usage how = {
        "score-pairs RUN_DIR|model:NAME [--alignment] [--json] [--average N] < PAIRS > SCORES",
        "Lines \"source TAB target\" of stdin to lines \"log-probability TAB tokens\": how\n"
        "probable the target is, given the source, with its end. With --alignment\n"
        "\"TAB 0-0 1-2 ..\" follows. The run's data need not be there.",
        arguments, 1, 1};
    char *folder = NULL;
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    status = alignment_choice_check(&alignment);
    if (status == RGM_OK)
        status = model_folder(&folder, rest.items[0]);
    if (status == RGM_OK)
        status = score_run(folder, &sets, &weights, &alignment, json);
    rgm_free(folder);
    return status == RGM_OK ? print_text("") : report(status);
}
