/* Steering experiments: their states, labels and settings, copies and continuations. */
#include "verb_experiment.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- states -------------------------------------------------------------------------------- */

/** Verbs that are a POST .../<name> of each experiment. */
static const struct {
    const char *name, *text;
} posts[] = {
    {"activate", "Go on with experiments that were paused."},
    {"pause", "Each trial ends its workload, saves a checkpoint and gives its slots back."},
    {"cancel", "As pause, and then the experiment is over."},
    {"kill", "Its processes end at once, without a checkpoint, and the experiment is over."},
    {"archive", "Hide experiments that are over from lists."},
    {"unarchive", "Show archived experiments in lists again."},
};

/* The others are still asked where one fails. */
static rgm_status post_each(int *code, const asked_master *whom, const text_list *ids,
                            const void *name)
{
    for (int64_t i = 0; i < ids->count; i++) {
        json_t *answer = NULL;
        int64_t id;
        rgm_status status = read_id(&id, "experiment", ids->items[i]);

        if (status == RGM_OK)
            status = ask(&answer, whom, "POST", NULL, "/api/v1/experiments/%lld/%s", (long long)id,
                         (const char *)name);
        if (status == RGM_OK)
            say(text_of(answer, "state"), "experiment %lld", (long long)id);
        else
            *code = report(status);
        json_decref(answer);
    }
    return RGM_OK;
}

int experiment_post(int argc, char **argv)
{
    const char *where = NULL;
    char line[64];
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    usage how = {line, NULL, arguments, 1, 256};
    text_list rest;

    for (size_t i = 0; i < sizeof posts / sizeof *posts; i++)
        if (strcmp(posts[i].name, argv[0]) == 0)
            how.text = posts[i].text;
    snprintf(line, sizeof line, "experiment %s ID...", argv[0]);
    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_each(post_each, where, &rest, argv[0]);
}

static rgm_status delete_one(const asked_master *whom, const char *text, bool yes)
{
    char question[64];
    bool agreed;
    int64_t id;

    RGM_TRY(read_id(&id, "experiment", text));
    snprintf(question, sizeof question, "delete experiment %lld and all its files?", (long long)id);
    RGM_TRY(confirm(&agreed, yes, question));
    if (!agreed)
        return RGM_OK;
    RGM_TRY(ask(NULL, whom, "DELETE", NULL, "/api/v1/experiments/%lld", (long long)id));
    say("deleted", "experiment %lld", (long long)id);
    return RGM_OK;
}

static rgm_status delete_each(int *code, const asked_master *whom, const text_list *ids,
                              const void *yes)
{
    for (int64_t i = 0; i < ids->count; i++) {
        rgm_status status = delete_one(whom, ids->items[i], *(const bool *)yes);

        if (status != RGM_OK)
            *code = report(status);
    }
    return RGM_OK;
}

int experiment_delete(int argc, char **argv)
{
    const char *where = NULL;
    bool yes = false;
    const argument arguments[] = {
        {"y", ARG_FLAG, &yes, NULL, "do not ask"}, MASTER_ARGUMENT(where), {0}};
    const usage how = {"experiment delete ID... [-y]",
                       "Remove experiments that are over: rows, run folders, checkpoints, logs.",
                       arguments, 1, 256};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_each(delete_each, where, &rest, &yes);
}

/* ---- settings ------------------------------------------------------------------------------ */

static rgm_status send_patch(int *code, const asked_master *whom, int64_t id, const void *options)
{
    (void)code;
    return ask(NULL, whom, "PATCH", json_deep_copy(options), "/api/v1/experiments/%lld",
               (long long)id);
}

/* body: taken. */
static int patch(const char *experiment, const char *where, json_t *body)
{
    int code = about_experiment(send_patch, where, experiment, body);

    json_decref(body);
    return code;
}

int experiment_label(int argc, char **argv)
{
    const char *where = NULL;
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    const usage how = {"experiment label add|remove ID LABEL", "Labels choose what lists show.",
                       arguments, 3, 3};
    text_list rest;
    bool adds;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    adds = strcmp(rest.items[0], "add") == 0;
    if (!adds && strcmp(rest.items[0], "remove") != 0)
        return usage_error("experiment label '%s': add or remove", rest.items[0]);
    return patch(rest.items[1], where,
                 json_pack("{s:{s:o}}", "labels", rest.items[2], adds ? json_true() : json_null()));
}

/* The body that sets `name`; NULL after a message. */
static json_t *setting(const char *name, const text_list *values)
{
    static const char *const names[] = {"description", "project",  "max-slots",
                                        "weight",      "priority", "gc-policy"};
    static const char *const keys[] = {"description", "project", "max_slots", "weight", "priority"};
    static const char *const counters[] = {"save_experiment_best", "save_trial_best",
                                           "save_trial_latest"};
    bool is_policy = strcmp(name, "gc-policy") == 0;
    json_t *body = json_object();

    if (values->count - 2 != (is_policy ? 3 : 1)) {
        usage_error(is_policy
                        ? "gc-policy takes three counts: best of the experiment, best and latest "
                          "of a trial"
                        : "experiment set ID %s takes one value",
                    name);
        json_decref(body);
        return NULL;
    }
    for (int i = 0; i < (is_policy ? 3 : 5); i++) {
        const char *value = values->items[is_policy ? 2 + i : 2];
        double number;

        if (!is_policy && strcmp(name, names[i]) != 0)
            continue;
        if (!is_policy && i < 2)
            json_object_set_new(body, keys[i], json_string(value));
        else if (!rgm_number_parse(&number, value)) {
            usage_error("'%s' is no number", value);
            json_decref(body);
            return NULL;
        } else if (number == (double)(int64_t)number)
            json_object_set_new(body, is_policy ? counters[i] : keys[i],
                                json_integer((json_int_t)number));
        else
            json_object_set_new(body, is_policy ? counters[i] : keys[i], json_real(number));
    }
    if (json_object_size(body) == 0) {
        usage_error("nothing called '%s'%s", name,
                    rgm_did_you_mean(name, names, 6, NULL, "there are ").text);
        json_decref(body);
        return NULL;
    }
    return body;
}

/** A policy, and whether to ask before it removes anything. */
typedef struct new_policy {
    const json_t *counters;
    bool yes;
} new_policy;

static rgm_status set_policy(int *code, const asked_master *whom, int64_t id, const void *options)
{
    const new_policy *policy = options;

    return checkpoints_collect(code, whom, id, policy->counters, policy->yes);
}

int experiment_set(int argc, char **argv)
{
    const char *where = NULL;
    bool yes = false;
    const argument arguments[] = {
        {"y", ARG_FLAG, &yes, NULL, "gc-policy: do not ask"}, MASTER_ARGUMENT(where), {0}};
    const usage how = {
        "experiment set ID description|project|max-slots|weight|priority|gc-policy VALUE...\n"
        "       regimen experiment set ID KEY=VALUE...",
        "Change an experiment, while it runs too. gc-policy takes three counts: checkpoints to "
        "keep\n"
        "of the best of the experiment, of the best of each trial, of the latest of each trial; "
        "what\n"
        "it does not keep is listed, and removed when you agree. KEY is one of its file: "
        "searcher.max_trials,\n"
        "searcher.max_concurrent_trials, searcher.sampler, hyperparameters.NAME.minval, "
        ".maxval, .vals,\n"
        "constraints, limits.*, max_restarts. A search that is over goes on where that leaves it "
        "something\n"
        "to try.",
        arguments, 2, 40};
    text_list rest;
    json_t *body;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (strchr(rest.items[1], '=') != NULL)
        return experiment_change(where, &rest);
    body = setting(rest.items[1], &rest);
    if (body == NULL)
        return EXIT_USAGE;
    if (strcmp(rest.items[1], "gc-policy") == 0) {
        int code = about_experiment(set_policy, where, rest.items[0],
                                    &(new_policy){.counters = body, .yes = yes});

        json_decref(body);
        return code;
    }
    return patch(rest.items[0], where, body);
}

/* ---- copies -------------------------------------------------------------------------------- */

/* The file of an experiment with keys set. */
static rgm_status edited(rgm_text *out, const char *config, const text_list *sets)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    char *key = NULL;

    RGM_GO(rgm_yaml_parse(&yaml, config, (int64_t)strlen(config), "the experiment's file"));
    for (int64_t i = 0; i < sets->count; i++) {
        const char *equals = strchr(sets->items[i], '=');

        if (equals == NULL || equals == sets->items[i])
            RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "--set: '%s' is not key=value", sets->items[i]));
        RGM_GO(rgm_strndup(&key, sets->items[i], (size_t)(equals - sets->items[i])));
        RGM_GO(rgm_yaml_set(yaml, key, equals + 1, "--set"));
        rgm_free(key);
        key = NULL;
    }
    RGM_GO(rgm_yaml_print(out, rgm_yaml_root(yaml)));
done:
    rgm_free(key);
    rgm_yaml_release(yaml);
    return status;
}

int experiment_fork(int argc, char **argv)
{
    const char *where = NULL, *description = NULL;
    bool paused = false;
    text_list sets = {.count = 0}, rest;
    const argument arguments[] = {
        {"set", ARG_LIST, &sets, "KEY=VALUE", "change a key of the copy's file"},
        {"description", ARG_TEXT, &description, "TEXT", "of the copy"},
        {"paused", ARG_FLAG, &paused, NULL, "not to begin before it is activated"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {"experiment fork ID [--set KEY=VALUE]... [--description TEXT] [--paused]",
                       "A new experiment from the file of one, with changes; its parent is noted.",
                       arguments, 1, 1};
    asked_master whom = {0};
    json_t *answer = NULL, *made = NULL;
    rgm_text text = {0};
    rgm_status status = RGM_OK;
    int64_t id;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    RGM_GO(read_id(&id, "experiment", rest.items[0]));
    RGM_GO(master_open(&whom, where));
    RGM_GO(ask(&answer, &whom, "GET", NULL, "/api/v1/experiments/%lld/config", (long long)id));
    RGM_GO(edited(&text, text_of(answer, "config"), &sets));
    RGM_GO(ask(&made, &whom, "POST",
               json_pack("{s:s, s:s*, s:b}", "config", text.data, "description", description,
                         "paused", paused),
               "/api/v1/experiments/%lld/fork", (long long)id));
    printf("Created experiment %lld\n", (long long)int_of(made, "id"));
    code = print_text("");
done:
    if (status != RGM_OK)
        code = report(status);
    rgm_text_clear(&text);
    json_decref(answer);
    json_decref(made);
    master_close(&whom);
    return code;
}

static rgm_status continue_best(int *code, const asked_master *whom, int64_t id,
                                const void *options)
{
    const continuation *c = options;
    json_t *trial = NULL;
    int64_t trial_id;

    if (c->trial > 0) {
        char name[64];

        snprintf(name, sizeof name, "%lld/%lld", (long long)id, (long long)c->trial);
        RGM_TRY(find_trial(&trial_id, whom, name));
    } else {
        RGM_TRY(best_trial(&trial, NULL, whom, id));
        trial_id = int_of(trial, "id");
        json_decref(trial);
    }
    return continue_trial(code, whom, trial_id, c);
}

int experiment_continue(int argc, char **argv)
{
    const char *where = NULL;
    continuation c = {0};
    const argument arguments[] = {
        CONTINUATION_ARGUMENTS(c),
        {"trial", ARG_COUNT, &c.trial, "N", "that one of its trials (default: the best)"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {
        "experiment continue ID --steps N [--trial N]",
        "A new experiment of one trial, with the hyperparameters of a trial and from its\n"
        "last checkpoint.",
        arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (c.steps == 0)
        return usage_error("experiment continue needs --steps N");
    return about_experiment(continue_best, where, rest.items[0], &c);
}

int experiment_export(int argc, char **argv)
{
    const char *where = NULL, *to = NULL;
    const argument arguments[] = {
        {"to", ARG_TEXT, &to, "DIR", "folder for the files; default: <run>/export"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {"experiment export ID [--to DIR]",
                       "The model of the trial with the best validation, at that validation's\n"
                       "checkpoint, for other programs, as regimen export of its run folder.",
                       arguments, 1, 1};
    asked_master whom = {0};
    json_t *trial = NULL, *page = NULL;
    const json_t *saved;
    char *folder = NULL, step[32];
    rgm_status status = RGM_OK;
    text_list rest;
    int64_t id;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    RGM_GO(read_id(&id, "experiment", rest.items[0]));
    RGM_GO(master_open(&whom, where));
    RGM_GO(best_trial(&trial, &folder, &whom, id));
    RGM_GO(ask(&page, &whom, "GET", NULL, "/api/v1/experiments/%lld/checkpoints?best=1",
               (long long)id));
    saved = json_array_get(json_object_get(page, "checkpoints"), 0);
    if (saved == NULL || int_of(saved, "trial_id") != int_of(trial, "id"))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "the best trial, %lld/%lld, has no checkpoint of its best validation; "
                        "checkpoint_policy and checkpoint_storage say which are kept",
                        (long long)id, (long long)int_of(trial, "number")));
    snprintf(step, sizeof step, "%lld", (long long)int_of(saved, "batches"));
    master_close(&whom); /* the run folder is all that is needed from here */
    {
        char *words[] = {"export", folder, "--step", step, "--to", (char *)to, NULL};

        code = verb_export(to != NULL ? 6 : 4, words);
    }
done:
    if (status != RGM_OK)
        code = report(status);
    json_decref(trial);
    json_decref(page);
    rgm_free(folder);
    master_close(&whom);
    return code;
}
