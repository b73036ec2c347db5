/* regimen generate: texts behind prompts, with the weights of a run or of an export. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

#include <regimen/language.h>

/* Prompts of a file that are read before any text is written. */
enum { CHUNK = 256 };

typedef struct output {
    const rgm_task *task;
    const rgm_parameters *parameters;
    rgm_device *device;
    bool bf16;
    rgm_generate_options options;
    rgm_texts stops;
    bool json, lines; /* lines: one a text */
    int64_t texts, cut, bad;
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
    if (t->error != NULL) {
        RGM_GO(rgm_json_write_text(&w, "error", t->error));
    } else {
        RGM_GO(rgm_json_write_text(&w, "text", t->text));
        RGM_GO(rgm_json_write_int(&w, "tokens", t->tokens));
        RGM_GO(rgm_json_write_number(&w, "log_probability", t->log_probability));
        RGM_GO(rgm_json_write_text(&w, "end", end_name(t->end)));
    }
    RGM_GO(rgm_json_close(&w));
    puts(out.data);
done:
    rgm_free(asked);
    rgm_text_clear(&out);
    return status;
}

/* A prompt that cannot be read: its line stays empty, so that those behind it keep their places. */
static void tell_bad(output *o, const rgm_language_text *text)
{
    o->bad++;
    say("left out", "prompt %lld: %s", (long long)o->texts, text->error);
    if (!o->json)
        puts("");
}

static rgm_status print_texts(output *o, const rgm_str *prompts, const rgm_language_text *texts,
                              int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        o->texts++;
        if (texts[i].error != NULL)
            tell_bad(o, &texts[i]);
        o->cut += texts[i].error == NULL && texts[i].end == RGM_GENERATED_LENGTH;
        if (texts[i].error != NULL && !o->json)
            continue;
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
    rgm_language_text *texts;
    rgm_status status;

    if (count == 0)
        return RGM_OK;
    RGM_TRY(RGM_NEW(texts, count));
    status = rgm_language_write(texts, o->task, o->parameters, prompts, count, &o->options,
                                &o->stops, o->device, o->bf16);
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
enum { TEMPERATURE, TOP_K, TOP_P, MIN_P, PENALTY, TOKENS, SEED, BEGIN, THREADS, KEYS };
static const char *const keys[KEYS] = {"task.generate.temperature",
                                       "task.generate.top_k",
                                       "task.generate.top_p",
                                       "task.generate.min_p",
                                       "task.generate.repetition_penalty",
                                       "task.generate.max_tokens",
                                       "task.generate.seed",
                                       "task.generate.begin",
                                       "runtime.threads"};

typedef struct generate_arguments {
    text_list prompts, stops, sets;
    const char *values[KEYS], *input;
    bool json, alone;
    weights_choice weights;
} generate_arguments;

/* All prompts. What cannot be read is the failure at the end, when the others have their texts. */
static rgm_status write_all(output *o, const generate_arguments *a)
{
    RGM_TRY(a->prompts.count > 0 ? write_prompts(o, &a->prompts)
                                 : write_lines(o, a->input != NULL ? a->input : "/dev/stdin"));
    if (o->cut > 0)
        say("cut",
            "%s of %s texts at their maximum length (task.generate.max_tokens, "
            "model.max_positions)",
            grouped(o->cut), grouped(o->texts));
    return o->bad == 0 ? RGM_OK
                       : RGM_FAIL(RGM_ERR_DATA, "%lld of %lld prompts could not be read",
                                  (long long)o->bad, (long long)o->texts);
}

static rgm_status check_task(const rgm_task *task, const char *folder, const char *what)
{
    return task->type == &rgm_language_model
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "%s is %s of another task than language_model", folder,
                          what);
}

static rgm_status generate_run(output *o, const char *run_dir, const generate_arguments *a)
{
    const data_choice none = {.modes = {false}};
    rgm_status status = RGM_OK;
    rgm_trainer *trainer;
    session s;

    RGM_GO(session_open(&s, run_dir, &a->sets, &a->weights, &none));
    trainer = rgm_run_trainer(s.run);
    o->task = rgm_run_task(s.run);
    RGM_GO(check_task(o->task, run_dir, "a run"));
    o->parameters = rgm_trainer_parameters(trainer);
    o->device = rgm_trainer_device(trainer);
    o->bf16 = rgm_trainer_bf16(trainer);
    o->options = *rgm_language_generating(o->task);
    o->options.scored = o->json;
    RGM_GO(write_all(o, a));
done:
    session_close(&s);
    return status;
}

/* The options of an export's texts, as those of a run are keys. */
static rgm_status set_options(rgm_generate_options *o, const char *const *values)
{
    const struct {
        int value;
        const char *name;
        double *number;
        int64_t *whole;
    } options[] = {{TEMPERATURE, "temperature", &o->temperature, NULL},
                   {TOP_K, "top-k", NULL, &o->top_k},
                   {TOP_P, "top-p", &o->top_p, NULL},
                   {MIN_P, "min-p", &o->min_p, NULL},
                   {PENALTY, "repetition-penalty", &o->repetition_penalty, NULL},
                   {TOKENS, "max-tokens", NULL, &o->max_tokens},
                   {SEED, "seed", NULL, &o->seed}};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *text = values[options[i].value];
        double number;

        if (text == NULL)
            continue;
        RGM_TRY(read_number(&number, text, options[i].name, options[i].whole != NULL));
        if (options[i].whole != NULL)
            *options[i].whole = (int64_t)number;
        else
            *options[i].number = number;
    }
    o->begin = o->begin && values[BEGIN] == NULL;
    RGM_TRY(set_threads(values[THREADS]));
    return rgm_options_check(o, rgm_generate_fields, "task.generate");
}

static rgm_status generate_export(output *o, const char *folder, const generate_arguments *a)
{
    rgm_status status = RGM_OK;
    rgm_predictor *predictor = NULL;

    if (a->sets.count > 0 || weights_chosen(&a->weights))
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG,
                        "%s is an export: it has one set of weights and no keys to set", folder));
    RGM_GO(rgm_predictor_open(&predictor, folder, NULL, 0));
    o->task = rgm_predictor_task(predictor);
    RGM_GO(check_task(o->task, folder, "an export"));
    o->parameters = rgm_predictor_parameters(predictor);
    o->options = *rgm_language_generating(o->task);
    o->options.scored = o->json;
    RGM_GO(set_options(&o->options, a->values));
    RGM_GO(write_all(o, a));
done:
    rgm_predictor_release(predictor);
    return status;
}

/* A run, a registered model, or an export's folder. */
static rgm_status generate_named(const char *name, generate_arguments *a)
{
    rgm_status status = RGM_OK;
    char *folder = NULL, *texts[KEYS] = {NULL};
    output o = {
        .stops = {a->stops.items, a->stops.count}, .json = a->json, .lines = a->prompts.count == 0};
    bool exported;

    RGM_GO(model_folder(&folder, name));
    exported = rgm_model_folder_kind(folder) == RGM_FOLDER_EXPORT;
    if (!exported)
        RGM_GO(add_keys(&a->sets, texts, keys, a->values, KEYS));
    RGM_GO(exported ? generate_export(&o, folder, a) : generate_run(&o, folder, a));
done:
    rgm_free(folder);
    for (int k = 0; k < KEYS; k++)
        rgm_free(texts[k]);
    return status;
}

int verb_generate(int argc, char **argv)
{
    generate_arguments a = {.input = NULL};
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
        {"no-begin", ARG_FLAG, &a.alone, NULL,
         "read prompts alone, not behind the token that begins a document; task.generate.begin"},
        {"stop", ARG_LIST, &a.stops, "TEXT", "ends a text, and is no part of it; several times"},
        {"json", ARG_FLAG, &a.json, NULL,
         "a line of JSON each: prompt, text, tokens, log_probability, end"},
        {"threads", ARG_TEXT, &a.values[THREADS], "N",
         "default runtime.threads; changes nothing but the time"},
        WEIGHTS_ARGUMENTS(a.weights),
        {"set", ARG_LIST, &a.sets, "KEY=VALUE", "override a key of the run"},
        {0}};
    const usage how = {
        "generate RUN_DIR|EXPORT|model:NAME [--prompt TEXT]... [--input FILE] [options]",
        "Texts behind prompts: each as it is, or with --input a line each, in which\n"
        "line ends are spaces. The run's data need not be there. A prompt that cannot\n"
        "be read is told by its number and gets an empty line; the command then fails.",
        arguments, 1, 1};
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (a.prompts.count > 0 && a.input != NULL)
        return usage_error("--prompt and --input do not go together");
    if (a.alone)
        a.values[BEGIN] = "false";
    status = generate_named(rest.items[0], &a);
    return status == RGM_OK ? print_text("") : report(status);
}
