/* regimen trial describe, logs, kill, continue; and the process of a trial. */
#include "verb_trial.h"

#include <stdio.h>
#include <string.h>

/* ---- looking -------------------------------------------------------------------------------- */

int trial_describe(int argc, char **argv)
{
    const char *where = NULL;
    bool metrics = false;
    list_form form = {0};
    const argument arguments[] = {
        {"metrics", ARG_FLAG, &metrics, NULL, "a column for each metric of steps and validations"},
        LIST_ARGUMENTS(form),
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {
        "trial describe ID [--metrics] [--json | --csv]",
        "A trial (12, or 3/5 for trial 5 of experiment 3), and its steps with their\n"
        "validations and checkpoints.",
        arguments, 1, 1};
    asked_master whom = {0};
    json_t *trial = NULL, *trials = NULL;
    table t = {0}, steps = {0};
    rgm_status status = RGM_OK;
    text_list rest;
    int64_t id;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    trials = json_array();
    RGM_GO(master_open(&whom, where));
    RGM_GO(find_trial(&id, &whom, rest.items[0]));
    RGM_GO(ask(&trial, &whom, "GET", NULL, "/api/v1/trials/%lld", (long long)id));
    json_array_append(trials, trial);
    if (form.json) {
        RGM_GO(add_steps(trial, &whom));
        code = print_json(json_incref(trial));
        goto done;
    }
    RGM_GO(trials_table(&t, trials));
    RGM_GO(steps_table(&steps, &whom, trials, metrics));
    if (!form.csv)
        code = print_table(&t, &form, "no trial");
    if (code == EXIT_DONE && !form.csv)
        code = print_text("\n");
    if (code == EXIT_DONE)
        code = print_table(&steps, &form, "no steps");
done:
    if (status != RGM_OK)
        code = report(status);
    table_clear(&t);
    table_clear(&steps);
    json_decref(trial);
    json_decref(trials);
    master_close(&whom);
    return code;
}

/* ---- logs ----------------------------------------------------------------------------------- */

/* Lines, each behind `prefix`; what could steer a terminal is shown. */
static int print_lines(const char *prefix, const char *text)
{
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");
        char *line = NULL;
        int code;

        if (rgm_strprintf(&line, "%s%.*s\n", prefix, (int)size, text) != RGM_OK)
            return report(RGM_ERR_NOMEM);
        code = print_text(line);
        rgm_free(line);
        if (code != EXIT_DONE)
            return code;
        text += size + (text[size] == '\n');
    }
    return EXIT_DONE;
}

/* "&grep=...", every byte that is no letter or digit as %XX; "": all lines are wanted. */
static rgm_status print_grep(char **out, const char *pattern)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    *out = NULL;
    RGM_GO(rgm_text_printf(&text, "%s", pattern != NULL ? "&grep=" : ""));
    for (; pattern != NULL && *pattern != '\0'; pattern++)
        RGM_GO(rgm_text_printf(&text, "%%%02X", (unsigned)(unsigned char)*pattern));
    *out = text.data;
    text.data = NULL;
done:
    rgm_text_clear(&text);
    return status;
}

/* From *next on; *over: no more will come. grep: of print_grep(). */
static rgm_status print_log(int *code, int64_t *next, bool *over, const asked_master *whom,
                            int64_t trial, const char *prefix, int64_t tail, const char *grep)
{
    rgm_status status = RGM_OK;
    json_t *part = NULL;
    bool is_end = false;

    while (!is_end && *code == EXIT_DONE) {
        if (tail > 0)
            RGM_GO(ask(&part, whom, "GET", NULL, "/api/v1/trials/%lld/logs?tail=%lld",
                       (long long)trial, (long long)tail));
        else
            RGM_GO(ask(&part, whom, "GET", NULL, "/api/v1/trials/%lld/logs?offset=%lld%s",
                       (long long)trial, (long long)*next, grep));
        *code = print_lines(prefix, text_of(part, "text"));
        is_end = int_of(part, "next") == *next && tail == 0;
        *next = int_of(part, "next");
        *over = bool_of(part, "over");
        tail = 0;
        json_decref(part);
        part = NULL;
    }
done:
    json_decref(part);
    return status;
}

int trial_logs(int argc, char **argv)
{
    const char *where = NULL, *pattern = NULL;
    int64_t tail = 0, id, next = 0;
    bool follow = false, over = false;
    char *grep = NULL;
    const argument arguments[] = {
        {"f", ARG_FLAG, &follow, NULL, "go on until the trial is over"},
        {"tail", ARG_COUNT, &tail, "N", "only the last N lines, and what follows"},
        {"grep", ARG_TEXT, &pattern, "PATTERN",
         "only lines that fit an extended regular expression"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {"trial logs ID [-f] [--tail N | --grep PATTERN]",
                       "What a trial's processes printed.", arguments, 1, 1};
    asked_master whom = {0};
    rgm_status status = RGM_OK;
    text_list rest;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (tail > 0 && pattern != NULL)
        return usage_error("--tail and --grep exclude each other");
    console_catch_signals();
    RGM_GO(print_grep(&grep, pattern));
    RGM_GO(master_open(&whom, where));
    RGM_GO(find_trial(&id, &whom, rest.items[0]));
    for (;;) {
        RGM_GO(print_log(&code, &next, &over, &whom, id, "", tail, grep));
        tail = 0;
        if (!follow || over || code != EXIT_DONE || console_is_stopped(NULL))
            break;
        console_sleep(0.3);
    }
done:
    if (status != RGM_OK)
        code = report(status);
    rgm_free(grep);
    master_close(&whom);
    return code;
}

int experiment_logs(int argc, char **argv)
{
    const char *where = NULL, *pattern = NULL;
    int64_t tail = 0, id;
    char *grep = NULL;
    const argument arguments[] = {
        {"tail", ARG_COUNT, &tail, "N", "only the last N lines of each trial"},
        {"grep", ARG_TEXT, &pattern, "PATTERN",
         "only lines that fit an extended regular expression"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {
        "experiment logs ID [--tail N | --grep PATTERN]",
        "What the processes of all its trials printed, the trial's number before each "
        "line.",
        arguments, 1, 1};
    asked_master whom = {0};
    json_t *trials = NULL;
    rgm_status status = RGM_OK;
    text_list rest;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (tail > 0 && pattern != NULL)
        return usage_error("--tail and --grep exclude each other");
    RGM_GO(print_grep(&grep, pattern));
    RGM_GO(read_id(&id, "experiment", rest.items[0]));
    RGM_GO(master_open(&whom, where));
    RGM_GO(ask_all(&trials, &whom, "trials", "/api/v1/experiments/%lld/trials", (long long)id));
    for (size_t i = 0; i < json_array_size(trials) && code == EXIT_DONE; i++) {
        const json_t *trial = json_array_get(trials, i);
        int64_t next = 0;
        char prefix[32];
        bool over;

        snprintf(prefix, sizeof prefix, "%lld: ", (long long)int_of(trial, "number"));
        RGM_GO(print_log(&code, &next, &over, &whom, int_of(trial, "id"), prefix, tail, grep));
    }
done:
    if (status != RGM_OK)
        code = report(status);
    json_decref(trials);
    rgm_free(grep);
    master_close(&whom);
    return code;
}

/* ---- steering ------------------------------------------------------------------------------- */

static rgm_status kill_trial(int *code, const asked_master *whom, int64_t id, const void *options)
{
    (void)code;
    (void)options;
    RGM_TRY(ask(NULL, whom, "POST", NULL, "/api/v1/trials/%lld/kill", (long long)id));
    say("killed", "trial %lld", (long long)id);
    return RGM_OK;
}

int trial_kill(int argc, char **argv)
{
    const char *where = NULL;
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    const usage how = {"trial kill ID", "End a trial's process, and the trial with it.", arguments,
                       1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_trial(kill_trial, where, rest.items[0], NULL);
}

rgm_status continue_trial(int *code, const asked_master *whom, int64_t id, const void *options)
{
    const continuation *c = options;
    json_t *made = NULL;

    RGM_TRY(ask(&made, whom, "POST",
                json_pack("{s:{s:I}, s:s*, s:b}", "max_length", "steps", (json_int_t)c->steps,
                          "description", c->description, "paused", c->paused),
                "/api/v1/trials/%lld/continue", (long long)id));
    printf("Created experiment %lld\n", (long long)int_of(made, "id"));
    json_decref(made);
    *code = print_text("");
    return RGM_OK;
}

int trial_continue(int argc, char **argv)
{
    const char *where = NULL;
    continuation c = {0};
    const argument arguments[] = {CONTINUATION_ARGUMENTS(c), MASTER_ARGUMENT(where), {0}};
    const usage how = {
        "trial continue ID --steps N",
        "A new experiment of one trial, with this one's hyperparameters and from its last\n"
        "checkpoint.",
        arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (c.steps == 0)
        return usage_error("trial continue needs --steps N");
    return about_trial(continue_trial, where, rest.items[0], &c);
}
