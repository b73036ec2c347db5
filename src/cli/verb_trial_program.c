/*
 * regimen trial next, report, checkpoint, should-stop, invalid: what a script that is a trial's
 * program says, each a line over the trial's socket (docs/programs.md).
 */
#include "verb_trial.h"

#include <regimen/trial_program.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a line and its answer ------------------------------------------------------------------ */

/* "train 16", "validate 16", "save FOLDER", "stop", for a script's `case`. */
static int print_order(const rgm_json *order)
{
    const char *what = rgm_json_text(rgm_json_find(order, "do"));
    const char *folder = rgm_json_text(rgm_json_find(order, "folder"));
    int64_t step = 0;

    rgm_json_int(&step, rgm_json_find(order, "step"));
    rgm_json_int(&step, rgm_json_find(order, "to"));
    if (what == NULL)
        return report(RGM_FAIL(RGM_ERR_FORMAT, "the trial does not say what is to be done"));
    if (strcmp(what, "stop") == 0)
        printf("stop\n");
    else if (folder != NULL)
        printf("save %s\n", folder);
    else
        printf("%s %lld\n", what, (long long)step);
    return print_text("");
}

/* A message that is done with; its answer is not wanted, but that it was taken. */
static rgm_status tell(const rgm_text *message)
{
    rgm_json *answer;

    RGM_TRY(rgm_program_ask(&answer, message->data));
    rgm_json_release(answer);
    return RGM_OK;
}

int trial_next(int argc, char **argv)
{
    bool json = false;
    const argument arguments[] = {{"json", ARG_FLAG, &json, NULL, "the answer as it is"}, {0}};
    const usage how = {
        "trial next [--json]",
        "In a program that is a trial: what it is to do. Prints `train N` (to step N in all),\n"
        "`validate N`, `save FOLDER` (a checkpoint, written there) or `stop`.",
        arguments, 0, 0};
    rgm_json *answer = NULL;
    const char *folder;
    text_list rest;
    int64_t number;
    bool stop = false;
    rgm_status status;
    int code;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    status = rgm_program_ask(&answer, "{\"type\": \"next\"}");
    if (status != RGM_OK)
        return report(status);
    if (!json) {
        code = print_order(answer);
        rgm_json_release(answer);
        return code;
    }
    json_t *out = json_pack("{s:s*}", "do", rgm_json_text(rgm_json_find(answer, "do")));
    if (rgm_json_int(&number, rgm_json_find(answer, "step")))
        json_object_set_new(out, "step", json_integer(number));
    if (rgm_json_int(&number, rgm_json_find(answer, "to")))
        json_object_set_new(out, "to", json_integer(number));
    folder = rgm_json_text(rgm_json_find(answer, "folder"));
    if (folder != NULL)
        json_object_set_new(out, "folder", json_string(folder));
    rgm_json_bool(&stop, rgm_json_find(answer, "stop"));
    json_object_set_new(out, "stop", json_boolean(stop));
    rgm_json_release(answer);
    return print_json(out);
}

/* ---- metrics -------------------------------------------------------------------------------- */

/* NAME=NUMBER; "nan" and "inf" are numbers as well. */
static rgm_status write_metric(rgm_json_writer *w, const char *text)
{
    const char *equals = strchr(text, '=');
    rgm_status status;
    double number;
    char *name, *end;

    if (equals == NULL || equals == text)
        return RGM_FAIL(RGM_ERR_CONFIG, "'%s' is not NAME=NUMBER", text);
    number = strtod(equals + 1, &end);
    if (end == equals + 1 || *end != '\0')
        return RGM_FAIL(RGM_ERR_CONFIG, "'%s' is not NAME=NUMBER", text);
    RGM_TRY(rgm_strndup(&name, text, (size_t)(equals - text)));
    status = rgm_json_write_number(w, name, number);
    rgm_free(name);
    return status;
}

static rgm_status write_message(rgm_text *out, const char *type, int64_t step,
                                const text_list *metrics)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(&w, "type", type));
    RGM_TRY(rgm_json_write_int(&w, "step", step));
    if (metrics != NULL) {
        RGM_TRY(rgm_json_open_object(&w, "metrics", RGM_JSON_SPACED));
        for (int64_t i = 0; i < metrics->count; i++)
            RGM_TRY(write_metric(&w, metrics->items[i]));
        RGM_TRY(rgm_json_close(&w));
    }
    return rgm_json_close(&w);
}

int trial_report(int argc, char **argv)
{
    int64_t step = -1;
    bool validation = false;
    const argument arguments[] = {
        {"step", ARG_INT, &step, "N", "how far the trial is trained in all (needed)"},
        {"validation", ARG_FLAG, &validation, NULL, "metrics of a validation; else of training"},
        {0}};
    const usage how = {
        "trial report --step N [--validation] [NAME=NUMBER]...",
        "In a program that is a trial: metrics of training since the last report, or of a\n"
        "validation. The searcher's metric is among those of a validation.",
        arguments, 0, 256};
    rgm_status status = RGM_OK;
    rgm_text message = {0};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (step < 0)
        return usage_error("trial report needs --step N, 0 or more");
    RGM_GO(write_message(&message, validation ? "validation" : "report", step, &rest));
    RGM_GO(tell(&message));
done:
    rgm_text_clear(&message);
    return report(status);
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

static rgm_status copy_file(const char *from, const char *to)
{
    rgm_status status = RGM_OK;
    rgm_mapped_file file = {0};

    RGM_TRY(rgm_file_map(&file, from));
    RGM_GO(rgm_file_create(to, file.data, file.size));
done:
    rgm_file_unmap(&file);
    return status;
}

static rgm_status copy_path(const char *from, const char *folder, int depth)
{
    const char *slash = strrchr(from, '/');
    rgm_status status = RGM_OK;
    char **names = NULL, *to = NULL, *inside = NULL;
    int64_t count = 0;

    if (depth > 32)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s is more than 32 folders deep", from);
    RGM_GO(rgm_path_join(&to, folder, slash != NULL ? slash + 1 : from));
    if (!rgm_path_is_folder(from)) {
        RGM_GO(copy_file(from, to));
        goto done;
    }
    RGM_GO(rgm_folder_make(to));
    RGM_GO(rgm_folder_list(&names, &count, from));
    for (int64_t i = 0; i < count; i++) {
        rgm_free(inside);
        inside = NULL;
        RGM_GO(rgm_path_join(&inside, from, names[i]));
        RGM_GO(copy_path(inside, to, depth + 1));
    }
done:
    rgm_names_release(names, count);
    rgm_free(to);
    rgm_free(inside);
    return status;
}

int trial_checkpoint(int argc, char **argv)
{
    int64_t step = -1;
    const argument arguments[] = {
        {"step", ARG_INT, &step, "N", "how far the trial is trained in all (needed)"}, {0}};
    const usage how = {
        "trial checkpoint --step N [FILE|FOLDER]...",
        "In a program that is a trial: what is in $REGIMEN_SAVE, with copies of the files and\n"
        "folders that are named, is its checkpoint of that step. $REGIMEN_SAVE is empty then.",
        arguments, 0, 256};
    const char *save = getenv(RGM_PROGRAM_SAVE);
    rgm_status status = RGM_OK;
    rgm_text message = {0};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (step < 0)
        return usage_error("trial checkpoint needs --step N, 0 or more");
    for (int64_t i = 0; i < rest.count && save != NULL; i++)
        RGM_GO(copy_path(rest.items[i], save, 0));
    RGM_GO(write_message(&message, "checkpoint", step, NULL));
    RGM_GO(tell(&message));
done:
    rgm_text_clear(&message);
    return report(status);
}

/* ---- the end -------------------------------------------------------------------------------- */

int trial_should_stop(int argc, char **argv)
{
    const argument arguments[] = {{0}};
    const usage how = {
        "trial should-stop",
        "In a program that is a trial: exit status 0 where it is to end, after a checkpoint if\n"
        "the step that it stands at has none; 1 where it is to go on; 2 where it is no trial.",
        arguments, 0, 0};
    rgm_json *answer;
    rgm_status status;
    text_list rest;
    bool stop = false;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    status = rgm_program_ask(&answer, "{\"type\": \"next\"}");
    if (status != RGM_OK) { /* 1 would say that it is to go on */
        report(status);
        return EXIT_USAGE;
    }
    rgm_json_bool(&stop, rgm_json_find(answer, "stop"));
    rgm_json_release(answer);
    return stop ? EXIT_DONE : EXIT_FAILED;
}

int trial_invalid(int argc, char **argv)
{
    const argument arguments[] = {{0}};
    const usage how = {
        "trial invalid REASON",
        "In a program that is a trial: its hyperparameters cannot be. The trial ends, and its\n"
        "searcher puts another one in its place.",
        arguments, 1, 1};
    rgm_status status = RGM_OK;
    rgm_text message = {0};
    rgm_json_writer w = {.out = &message};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(&w, "type", "invalid"));
    RGM_GO(rgm_json_write_text(&w, "reason", rest.items[0]));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(tell(&message));
done:
    rgm_text_clear(&message);
    return report(status);
}
