/* regimen generate: texts behind prompts, with a run folder's weights. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

#include <regimen/language.h>

/* Prompts of a file that are read before any text is written. */
enum { CHUNK = 256 };

typedef struct output {
    const session *session;
    rgm_generate_options options;
    rgm_texts stops;
    bool json, lines; /* lines: one a text */
    int64_t texts, cut;
} output;

static const char *end_name(rgm_generate_end end)
{
    static const char *const names[] = {"end", "stop", "length"};

    return names[end];
}

static rgm_status print_as_json(rgm_str prompt, const rgm_language_text *t)
{
    rgm_status status = RGM_OK;
    rgm_text out = {0};
    char *asked = NULL;
    rgm_json_writer w = {.out = &out};

    RGM_GO(rgm_strndup(&asked, prompt.data, (size_t)prompt.size));
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(&w, "prompt", asked));
    RGM_GO(rgm_json_write_text(&w, "text", t->text));
    RGM_GO(rgm_json_write_int(&w, "tokens", t->tokens));
    RGM_GO(rgm_json_write_text(&w, "end", end_name(t->end)));
    RGM_GO(rgm_json_close(&w));
    puts(out.data);
done:
    rgm_free(asked);
    rgm_text_clear(&out);
    return status;
}

static rgm_status print_texts(output *o, const rgm_str *prompts, const rgm_language_text *texts,
                              int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        o->texts++;
        o->cut += texts[i].end == RGM_GENERATED_LENGTH;
        if (o->json)
            RGM_TRY(print_as_json(prompts[i], &texts[i]));
        else if (o->lines)
            print_line(texts[i].text);
        else
            puts(texts[i].text);
    }
    if (fflush(stdout) != 0 || ferror(stdout))
        return RGM_FAIL(RGM_ERR_IO, "stdout: %s", strerror(errno));
    return RGM_OK;
}

static rgm_status write_texts(output *o, const rgm_str *prompts, int64_t count)
{
    rgm_trainer *trainer = rgm_run_trainer(o->session->run);
    rgm_language_text *texts;
    rgm_status status;

    if (count == 0)
        return RGM_OK;
    RGM_TRY(RGM_NEW(texts, count));
    status = rgm_language_write(texts, rgm_trainer_task(trainer), rgm_trainer_parameters(trainer),
                                prompts, count, &o->options, &o->stops, rgm_trainer_device(trainer),
                                rgm_trainer_bf16(trainer));
    if (status == RGM_OK)
        status = print_texts(o, prompts, texts, count);
    rgm_language_texts_clear(texts, count);
    rgm_free(texts);
    o->options.first_number += count;
    return status;
}

/* The prompts of the command line. */
static rgm_status write_prompts(output *o, const text_list *list)
{
    rgm_str prompts[sizeof list->items / sizeof *list->items];

    for (int64_t i = 0; i < list->count; i++)
        prompts[i] = (rgm_str){list->items[i], (int64_t)strlen(list->items[i])};
    return write_texts(o, prompts, list->count);
}

/* A prompt a line. */
static rgm_status write_lines(output *o, const char *path)
{
    rgm_status status = RGM_OK, end = RGM_OK;
    rgm_line_reader *reader = NULL;
    rgm_text text = {0};
    rgm_str line, prompts[CHUNK];
    int64_t begins[CHUNK + 1];
    rgm_error bad;

    RGM_GO(rgm_line_reader_open(&reader, path, NULL));
    while (end == RGM_OK) {
        int64_t count = 0;

        text.size = 0;
        while (count < CHUNK && (count == 0 || rgm_line_reader_ready(reader)) &&
               (end = rgm_line_reader_next(&line, reader)) == RGM_OK) {
            begins[count++] = text.size;
            RGM_GO(rgm_text_add(&text, line.data, line.size));
        }
        if (end < 0)
            rgm_error_save(&bad, end);
        begins[count] = text.size;
        for (int64_t i = 0; i < count; i++)
            prompts[i] = (rgm_str){text.data + begins[i], begins[i + 1] - begins[i]};
        RGM_GO(write_texts(o, prompts, count));
    }
    if (end < 0) /* what came before is out */
        status = rgm_error_restore(&bad);
done:
    rgm_line_reader_close(reader);
    rgm_text_clear(&text);
    return status;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Options that are keys of the run: set as --set does, so that they are checked as keys are. */
enum { TEMPERATURE, TOP_K, TOP_P, MIN_P, PENALTY, TOKENS, SEED, THREADS, KEYS };
static const char *const keys[KEYS] = {"task.generate.temperature",
                                       "task.generate.top_k",
                                       "task.generate.top_p",
                                       "task.generate.min_p",
                                       "task.generate.repetition_penalty",
                                       "task.generate.max_tokens",
                                       "task.generate.seed",
                                       "runtime.threads"};

typedef struct generate_arguments {
    text_list prompts, stops, sets;
    const char *values[KEYS], *input;
    bool json;
    weights_choice weights;
} generate_arguments;

static rgm_status generate_run(const char *run_dir, const generate_arguments *a)
{
    const data_choice none = {.modes = {false}};
    rgm_status status = RGM_OK;
    const rgm_task *task;
    session s;
    output o = {.session = &s,
                .stops = {a->stops.items, a->stops.count},
                .json = a->json,
                .lines = a->prompts.count == 0};

    RGM_GO(session_open(&s, run_dir, &a->sets, &a->weights, &none));
    task = rgm_run_task(s.run);
    if (task->type != &rgm_language_model)
        RGM_GO(
            RGM_FAIL(RGM_ERR_CONFIG, "%s is a run of another task than language_model", run_dir));
    o.options = *rgm_language_generating(task);
    RGM_GO(a->prompts.count > 0 ? write_prompts(&o, &a->prompts)
                                : write_lines(&o, a->input != NULL ? a->input : "/dev/stdin"));
    if (o.cut > 0)
        say("cut",
            "%s of %s texts at their maximum length (task.generate.max_tokens, "
            "model.max_positions)",
            grouped(o.cut), grouped(o.texts));
done:
    session_close(&s);
    return status;
}

int verb_generate(int argc, char **argv)
{
    generate_arguments a = {.input = NULL};
    char *texts[KEYS] = {NULL}, *folder = NULL;
    text_list rest;
    const argument arguments[] = {
        {"prompt", ARG_LIST, &a.prompts, "TEXT", "a text behind this; may be given several times"},
        {"input", ARG_TEXT, &a.input, "FILE", "a text behind each line; default: of stdin"},
        {"temperature", ARG_TEXT, &a.values[TEMPERATURE], "X",
         "0: always the most probable token; default task.generate.temperature"},
        {"top-k", ARG_TEXT, &a.values[TOP_K], "N", "draw among so many; task.generate.top_k"},
        {"top-p", ARG_TEXT, &a.values[TOP_P], "X", "within this probability; task.generate.top_p"},
        {"min-p", ARG_TEXT, &a.values[MIN_P], "X",
         "at least so many times as probable as the best; task.generate.min_p"},
        {"repetition-penalty", ARG_TEXT, &a.values[PENALTY], "X",
         "above 1: against repetition; task.generate.repetition_penalty"},
        {"max-tokens", ARG_TEXT, &a.values[TOKENS], "N", "of a text; task.generate.max_tokens"},
        {"seed", ARG_TEXT, &a.values[SEED], "N", "of the draws; task.generate.seed"},
        {"stop", ARG_LIST, &a.stops, "TEXT", "ends a text, and is no part of it; several times"},
        {"json", ARG_FLAG, &a.json, NULL, "a line of JSON each: prompt, text, tokens, end"},
        {"threads", ARG_TEXT, &a.values[THREADS], "N",
         "default runtime.threads; changes nothing but the time"},
        WEIGHTS_ARGUMENTS(a.weights),
        {"set", ARG_LIST, &a.sets, "KEY=VALUE", "override a key of the run"},
        {0}};
    const usage how = {
        "generate RUN_DIR|model:NAME [--prompt TEXT]... [--input FILE] [options]",
        "Texts behind prompts: each as it is, or with --input a line each, in which\n"
        "line ends are spaces. The run's data need not be there.",
        arguments, 1, 1};
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (a.prompts.count > 0 && a.input != NULL)
        return usage_error("--prompt and --input do not go together");
    status = model_folder(&folder, rest.items[0]);
    if (status == RGM_OK)
        status = add_keys(&a.sets, texts, keys, a.values, KEYS);
    if (status == RGM_OK)
        status = generate_run(folder, &a);
    rgm_free(folder);
    for (int k = 0; k < KEYS; k++)
        rgm_free(texts[k]);
    return status == RGM_OK ? print_text("") : report(status);
}
