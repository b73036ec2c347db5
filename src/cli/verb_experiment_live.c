/* A search while it goes on: keys of its file, a point to try, the end of one trial, what was
 * changed. */
#include "verb_experiment.h"
#include "verb_trial.h"

#include <stdio.h>
#include <string.h>

/* {"searcher.max_trials": "64"} of KEY=VALUE words; NULL after a message. */
static json_t *assignments(const text_list *words, int64_t from, const char *option)
{
    json_t *set = json_object();

    for (int64_t i = from; i < words->count; i++) {
        const char *word = words->items[i], *equals = strchr(word, '=');
        char *key = NULL;

        if (equals == NULL || equals == word || equals - word > 255) {
            usage_error("%s'%s' is not KEY=VALUE", option, word);
            json_decref(set);
            return NULL;
        }
        if (rgm_strndup(&key, word, (size_t)(equals - word)) != RGM_OK)
            key = NULL;
        json_object_set_new(set, key != NULL ? key : "", json_string(equals + 1));
        rgm_free(key);
    }
    return set;
}

static rgm_status send_change(int *code, const asked_master *whom, int64_t id, const void *options)
{
    json_t *answer = NULL;

    (void)code;
    RGM_TRY(ask(&answer, whom, "POST", json_pack("{s:O}", "set", options),
                "/api/v1/experiments/%lld/change", (long long)id));
    say(text_of(answer, "state"), "experiment %lld, %lld trials so far", (long long)id,
        (long long)int_of(answer, "trials"));
    json_decref(answer);
    return RGM_OK;
}

int experiment_change(const char *where, const text_list *words)
{
    json_t *set = assignments(words, 1, "");
    int code = EXIT_USAGE;

    if (set != NULL)
        code = about_experiment(send_change, where, words->items[0], set);
    json_decref(set);
    return code;
}

/* ---- a point -------------------------------------------------------------------------------- */

static rgm_status send_point(int *code, const asked_master *whom, int64_t id, const void *options)
{
    json_t *answer = NULL;

    (void)code;
    RGM_TRY(ask(&answer, whom, "POST", json_deep_copy(options), "/api/v1/experiments/%lld/try",
                (long long)id));
    if (int_of(answer, "number") > 0)
        say("try", "experiment %lld: trial %lld, before those that wait", (long long)id,
            (long long)int_of(answer, "number"));
    else
        say("try", "experiment %lld: the next trial that it creates", (long long)id);
    json_decref(answer);
    return RGM_OK;
}

int experiment_try(int argc, char **argv)
{
    const char *where = NULL;
    text_list sets = {.count = 0}, rest;
    int64_t like = 0;
    const argument arguments[] = {
        {"set", ARG_LIST, &sets, "NAME=VALUE", "the value of a hyperparameter"},
        {"like", ARG_COUNT, &like, "N",
         "what is not set is as in trial N (default: as in the best one so far)"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {"experiment try ID --set NAME=VALUE... [--like N]",
                       "A point that a search tries next, as one of its trials. A search that is "
                       "over goes on with\n"
                       "it; where no trial is left to be created, it gets one more.",
                       arguments, 1, 1};
    json_t *values;
    int code;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (sets.count == 0 && like == 0)
        return usage_error("experiment try needs --set NAME=VALUE, or --like N");
    values = assignments(&sets, 0, "--set ");
    if (values == NULL)
        return EXIT_USAGE;
    values = json_pack("{s:o}", "values", values);
    if (like > 0)
        json_object_set_new(values, "like", json_integer((json_int_t)like));
    code = about_experiment(send_point, where, rest.items[0], values);
    json_decref(values);
    return code;
}

/* ---- what was changed ----------------------------------------------------------------------- */

static rgm_status changes_table(table *t, const json_t *rows)
{
    static const char *const heads[] = {"TIME", "KEY", "VALUE"};
    const char *key;
    json_t *value;

    for (int i = 0; i < 3; i++)
        RGM_TRY(table_add_column(t, heads[i]));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        json_object_foreach(json_object_get(row, "what"), key, value)
        {
            RGM_TRY(table_add_row(t));
            RGM_TRY(table_set(t, 0, text_of(row, "time")));
            RGM_TRY(table_set(t, 1, key));
            RGM_TRY(table_set(t, 2, json_string_value(value)));
        }
    }
    return RGM_OK;
}

static rgm_status print_changes(int *code, const asked_master *whom, int64_t id,
                                const void *options)
{
    const list_form *form = options;
    rgm_status status = RGM_OK;
    json_t *rows = NULL;
    table t = {0};

    RGM_GO(ask_all(&rows, whom, "changes", "/api/v1/experiments/%lld/changes", (long long)id));
    if (form->json) {
        *code = print_json(json_incref(rows));
        goto done;
    }
    RGM_GO(changes_table(&t, rows));
    *code = print_table(&t, form, "nothing was changed");
done:
    table_clear(&t);
    json_decref(rows);
    return status;
}

int experiment_changes(int argc, char **argv)
{
    const char *where = NULL;
    list_form form = {0};
    const argument arguments[] = {LIST_ARGUMENTS(form), MASTER_ARGUMENT(where), {0}};
    const usage how = {"experiment changes ID [--json | --csv]",
                       "What was changed of a search since it began, by 'set' and 'try'.",
                       arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_experiment(print_changes, where, rest.items[0], &form);
}

/* ---- one trial ------------------------------------------------------------------------------ */

static rgm_status stop_trial(int *code, const asked_master *whom, int64_t id, const void *options)
{
    json_t *trial = NULL;

    (void)code;
    (void)options;
    RGM_TRY(ask(&trial, whom, "POST", NULL, "/api/v1/trials/%lld/stop", (long long)id));
    if (is_in_state(trial, RGM_WORK_ACTIVE))
        say("stops", "trial %lld ends its step, validates and saves", (long long)id);
    else
        say("stopped", "trial %lld is %s", (long long)id, text_of(trial, "state"));
    json_decref(trial);
    return RGM_OK;
}

int trial_stop(int argc, char **argv)
{
    const char *where = NULL;
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    const usage how = {"trial stop ID",
                       "A trial ends its step, validates, saves, and is over. It counts as what it "
                       "reached, where\n"
                       "one that is killed counts as lost.",
                       arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_trial(stop_trial, where, rest.items[0], NULL);
}
