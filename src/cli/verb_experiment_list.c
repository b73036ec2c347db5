/* Looking at experiments: lists, descriptions, the best trial. */
#include "verb_experiment.h"
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables -------------------------------------------------------------------------------- */

static rgm_status add_columns(table *t, const char *const *heads)
{
    for (; *heads != NULL; heads++)
        RGM_TRY(table_add_column(t, *heads));
    return RGM_OK;
}

static rgm_status set_when(table *t, int64_t column, const json_t *row, const char *key)
{
    double time = time_of(row, key);

    return table_set_time(t, column, isfinite(time) ? (int64_t)time : -1);
}

int64_t trials_over(const json_t *counts)
{
    int64_t count = 0;

    for (int i = 0; rgm_work_state_names[i] != NULL; i++) {
        int64_t here = int_of(counts, rgm_work_state_names[i]);

        count += rgm_work_is_over((rgm_work_state)i) && here > 0 ? here : 0;
    }
    return count;
}

static rgm_status add_experiment(table *t, const json_t *row)
{
    const json_t *counts = json_object_get(row, "trials_by_state");
    const json_t *best = json_object_get(row, "best_trial"); /* of one that was asked for alone */
    char progress[16];

    RGM_TRY(table_add_row(t));
    table_set_count(t, 0, int_of(row, "id"));
    RGM_TRY(table_set(t, 1, text_of(row, "name")));
    RGM_TRY(table_set(t, 2, text_of(row, "state")));
    snprintf(progress, sizeof progress, "%.1f%%", 100 * number_of(row, "progress"));
    RGM_TRY(table_set(t, 3, progress));
    table_set_done(t, 4, trials_over(counts), int_of(row, "trials"));
    RGM_TRY(table_set(t, 5, text_of(row, "metric")));
    table_set_number(t, 6, number_of(best != NULL ? best : row, "best_metric"));
    RGM_TRY(set_when(t, 7, row, "start_time"));
    RGM_TRY(set_when(t, 8, row, "end_time"));
    RGM_TRY(table_set(t, 9, text_of(row, "owner")));
    if (bool_of(row, "archived"))
        RGM_TRY(table_set(t, 10, "archived"));
    RGM_TRY(table_set(t, 11, text_of(row, "description")));
    return table_set(t, 12, text_of(row, "project"));
}

static rgm_status experiments_table(table *t, const json_t *experiments)
{
    static const char *const heads[] = {
        "ID",          "NAME",      "STATE", "PROGRESS", "TRIALS",      "METRIC",  "BEST",
        "START (UTC)", "END (UTC)", "OWNER", "ARCHIVED", "DESCRIPTION", "PROJECT", NULL};

    RGM_TRY(add_columns(t, heads));
    for (size_t i = 0; i < json_array_size(experiments); i++)
        RGM_TRY(add_experiment(t, json_array_get(experiments, i)));
    return RGM_OK;
}

/* With what only the whole answer about one says. */
static rgm_status described_table(table *t, const json_t *experiments)
{
    static const char *const heads[] = {
        "ID",      "NAME",        "STATE",     "PROGRESS", "TRIALS",   "METRIC",
        "BEST",    "START (UTC)", "END (UTC)", "OWNER",    "ARCHIVED", "DESCRIPTION",
        "PROJECT", "SLOT TYPE",   "SLOTS",     "RANKS",    NULL};

    RGM_TRY(add_columns(t, heads));
    for (size_t i = 0; i < json_array_size(experiments); i++) {
        const json_t *e = json_array_get(experiments, i);

        RGM_TRY(add_experiment(t, e));
        RGM_TRY(table_set(t, 13, text_of(e, "slot_type")));
        table_set_count(t, 14, int_of(e, "slots_per_trial"));
        table_set_count(t, 15, int_of(e, "ranks"));
    }
    return RGM_OK;
}

/* Leaves of nested groups, by their dotted names, each once and in order. */
static rgm_status hyperparameter_names(rgm_map *names, const json_t *values, const char *prefix)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)values, key, value)
    {
        rgm_status status = RGM_OK;
        char *name = NULL;

        RGM_TRY(rgm_strprintf(&name, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", key));
        status = json_is_object(value) ? hyperparameter_names(names, value, name)
                                       : rgm_map_set(names, name, NULL);
        rgm_free(name);
        RGM_TRY(status);
    }
    return RGM_OK;
}

/* By a dotted name. */
static const json_t *hyperparameter(const json_t *values, const char *name)
{
    size_t size = strcspn(name, ".");
    const json_t *found = json_object_get(values, name);
    char key[256];

    if (found != NULL || name[size] == '\0' || size >= sizeof key)
        return found;
    snprintf(key, sizeof key, "%.*s", (int)size, name);
    return hyperparameter(json_object_get(values, key), name + size + 1);
}

static rgm_status set_json(table *t, int64_t column, const json_t *value)
{
    rgm_status status;
    char *text;

    if (value == NULL || json_is_null(value))
        return RGM_OK;
    if (json_is_real(value)) {
        table_set_number(t, column, json_real_value(value));
        return RGM_OK;
    }
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        table_set_count(t, column, json_integer_value(value));
        return RGM_OK;
    }
    if (json_is_string(value))
        return table_set(t, column, json_string_value(value));
    text = json_dumps(value, JSON_ENCODE_ANY);
    status = table_set(t, column, text);
    free(text);
    return status;
}

enum {
    TRIAL_ID,
    TRIAL_NUMBER,
    TRIAL_STATE,
    TRIAL_STEPS,
    TRIAL_BATCHES,
    TRIAL_BEST,
    TRIAL_LAST,
    TRIAL_RESTARTS,
    TRIAL_VALUES
};

static rgm_status add_trial(table *t, const json_t *row, const rgm_map *names)
{
    const json_t *values = json_object_get(row, "hyperparameters");
    int64_t behind = TRIAL_VALUES + rgm_map_count(names);

    RGM_TRY(table_add_row(t));
    table_set_count(t, TRIAL_ID, int_of(row, "id"));
    table_set_count(t, TRIAL_NUMBER, int_of(row, "number"));
    RGM_TRY(table_set(t, TRIAL_STATE, text_of(row, "state")));
    table_set_count(t, TRIAL_STEPS, int_of(row, "steps"));
    table_set_count(t, TRIAL_BATCHES, int_of(row, "batches"));
    table_set_number(t, TRIAL_BEST, number_of(row, "best_metric"));
    table_set_number(t, TRIAL_LAST, number_of(row, "metric"));
    table_set_count(t, TRIAL_RESTARTS, int_of(row, "restarts"));
    for (int64_t i = 0; i < rgm_map_count(names); i++)
        RGM_TRY(set_json(t, TRIAL_VALUES + i, hyperparameter(values, rgm_map_key(names, i))));
    RGM_TRY(set_when(t, behind, row, "start_time"));
    RGM_TRY(set_when(t, behind + 1, row, "end_time"));
    return table_set(t, behind + 2, json_string_value(json_object_get(row, "message")));
}

rgm_status trials_table(table *t, const json_t *trials)
{
    static const char *const before[] = {"ID",   "TRIAL", "STATE",    "STEPS", "BATCHES",
                                         "BEST", "LAST",  "RESTARTS", NULL};
    static const char *const behind[] = {"START (UTC)", "END (UTC)", "MESSAGE", NULL};
    rgm_status status = RGM_OK;
    rgm_map *names = NULL;

    RGM_GO(rgm_map_create(&names));
    for (size_t i = 0; i < json_array_size(trials); i++)
        RGM_GO(hyperparameter_names(
            names, json_object_get(json_array_get(trials, i), "hyperparameters"), ""));
    RGM_GO(add_columns(t, before));
    for (int64_t i = 0; i < rgm_map_count(names); i++)
        RGM_GO(table_add_column(t, rgm_map_key(names, i)));
    RGM_GO(add_columns(t, behind));
    for (size_t i = 0; i < json_array_size(trials); i++)
        RGM_GO(add_trial(t, json_array_get(trials, i), names));
done:
    rgm_map_release(names);
    return status;
}

static int64_t bytes_of(const json_t *resources)
{
    const char *key;
    json_t *value;
    int64_t bytes = 0;

    json_object_foreach((json_t *)resources, key, value) bytes += json_integer_value(value);
    return bytes;
}

rgm_status checkpoints_table(table *t, const json_t *checkpoints)
{
    static const char *const heads[] = {"TRIAL", "STEP", "BATCHES", "STATE", "METRIC",
                                        "BYTES", "UUID", "FOLDER",  NULL};

    RGM_TRY(add_columns(t, heads));
    for (size_t i = 0; i < json_array_size(checkpoints); i++) {
        const json_t *row = json_array_get(checkpoints, i);

        RGM_TRY(table_add_row(t));
        table_set_count(t, 0, int_of(row, "trial_id"));
        table_set_count(t, 1, int_of(row, "step_id"));
        table_set_count(t, 2, int_of(row, "batches"));
        RGM_TRY(table_set(t, 3, text_of(row, "state")));
        table_set_number(t, 4, number_of(row, "metric"));
        table_set_count(t, 5, bytes_of(json_object_get(row, "resources")));
        RGM_TRY(table_set(t, 6, text_of(row, "uuid")));
        RGM_TRY(table_set(t, 7, text_of(row, "folder")));
    }
    return RGM_OK;
}

/* ---- steps --------------------------------------------------------------------------------- */

/** What there is of one trial. */
typedef struct trial_rows {
    json_t *steps, *validations, *checkpoints;
} trial_rows;

static rgm_status load_rows(trial_rows *rows, const asked_master *whom, int64_t trial)
{
    RGM_TRY(ask_all(&rows->steps, whom, "steps", "/api/v1/trials/%lld/steps", (long long)trial));
    RGM_TRY(ask_all(&rows->validations, whom, "validations", "/api/v1/trials/%lld/validations",
                    (long long)trial));
    return ask_all(&rows->checkpoints, whom, "checkpoints", "/api/v1/trials/%lld/checkpoints",
                   (long long)trial);
}

static void clear_rows(trial_rows *rows, int64_t count)
{
    for (int64_t i = 0; rows != NULL && i < count; i++) {
        json_decref(rows[i].steps);
        json_decref(rows[i].validations);
        json_decref(rows[i].checkpoints);
    }
    rgm_free(rows);
}

rgm_status add_steps(json_t *trial, const asked_master *whom)
{
    trial_rows rows = {0};
    rgm_status status = load_rows(&rows, whom, int_of(trial, "id"));

    if (status == RGM_OK) {
        json_object_set(trial, "step_rows", rows.steps);
        json_object_set(trial, "validation_rows", rows.validations);
        json_object_set(trial, "checkpoint_rows", rows.checkpoints);
    }
    json_decref(rows.steps);
    json_decref(rows.validations);
    json_decref(rows.checkpoints);
    return status;
}

static const json_t *row_of_step(const json_t *rows, int64_t step)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (int_of(json_array_get(rows, i), "step_id") == step)
            return json_array_get(rows, i);
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of scalar metrics, sorted. They belong to the rows. */
static rgm_status metric_columns(const char ***names, int64_t *count, const trial_rows *rows,
                                 int64_t trials, bool validations)
{
    rgm_status status = RGM_OK;
    rgm_map *seen = NULL;
    const char *key;
    json_t *value;
    int64_t capacity = 0;

    *names = NULL;
    *count = 0;
    RGM_GO(rgm_map_create(&seen));
    for (int64_t i = 0; i < trials; i++) {
        const json_t *list = validations ? rows[i].validations : rows[i].steps;

        for (size_t k = 0; k < json_array_size(list); k++)
            json_object_foreach(json_object_get(json_array_get(list, k), "metrics"), key, value)
            {
                if (!json_is_number(value) || rgm_map_has(seen, key))
                    continue;
                RGM_GO(rgm_map_set(seen, key, NULL));
                RGM_GO(RGM_RESERVE(*names, capacity, *count + 1));
                (*names)[(*count)++] = key;
            }
    }
    if (*count > 0)
        qsort(*names, (size_t)*count, sizeof **names, by_name);
done:
    rgm_map_release(seen);
    return status;
}

static rgm_status add_metric_columns(table *t, const char *kind, const char **names, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        char *head = NULL;
        rgm_status status;

        RGM_TRY(rgm_strprintf(&head, "%s Metric: %s", kind, names[i]));
        status = table_add_column(t, head);
        rgm_free(head);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static void set_metrics(table *t, int64_t column, const json_t *row, const char **names,
                        int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        table_set_number(t, column + i, number_of(json_object_get(row, "metrics"), names[i]));
}

/** The columns of metrics. */
typedef struct metric_names {
    const char **train, **valid;
    int64_t train_count, valid_count;
} metric_names;

static rgm_status add_step(table *t, const json_t *trial, const json_t *step,
                           const trial_rows *rows, const metric_names *names)
{
    int64_t id = int_of(step, "id"), at = 5;
    const json_t *saved = row_of_step(rows->checkpoints, id);
    const json_t *validated = row_of_step(rows->validations, id);

    RGM_TRY(table_add_row(t));
    table_set_count(t, 0, int_of(trial, "id"));
    table_set_count(t, 1, id);
    RGM_TRY(table_set(t, 2, text_of(step, "state")));
    RGM_TRY(set_when(t, 3, step, "start_time"));
    RGM_TRY(set_when(t, 4, step, "end_time"));
    set_metrics(t, at, step, names->train, names->train_count);
    at += names->train_count;
    if (saved != NULL)
        RGM_TRY(table_set(t, at, text_of(saved, "state")));
    RGM_TRY(set_when(t, at + 1, saved, "end_time"));
    if (validated != NULL)
        RGM_TRY(table_set(t, at + 2, text_of(validated, "state")));
    RGM_TRY(set_when(t, at + 3, validated, "end_time"));
    set_metrics(t, at + 4, validated, names->valid, names->valid_count);
    return RGM_OK;
}

rgm_status steps_table(table *t, const asked_master *whom, const json_t *trials, bool metrics)
{
    static const char *const first[] = {"TRIAL", "STEP", "STATE", "START (UTC)", "END (UTC)", NULL};
    static const char *const then[] = {"CHECKPOINT", "CHECKPOINT END (UTC)", "VALIDATION",
                                       "VALIDATION END (UTC)", NULL};
    int64_t count = (int64_t)json_array_size(trials);
    rgm_status status = RGM_OK;
    metric_names names = {0};
    trial_rows *rows = NULL;

    RGM_GO(RGM_NEW(rows, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(load_rows(&rows[i], whom, int_of(json_array_get(trials, (size_t)i), "id")));
    if (metrics) {
        RGM_GO(metric_columns(&names.train, &names.train_count, rows, count, false));
        RGM_GO(metric_columns(&names.valid, &names.valid_count, rows, count, true));
    }
    RGM_GO(add_columns(t, first));
    RGM_GO(add_metric_columns(t, "Training", names.train, names.train_count));
    RGM_GO(add_columns(t, then));
    RGM_GO(add_metric_columns(t, "Validation", names.valid, names.valid_count));
    for (int64_t i = 0; i < count; i++)
        for (size_t k = 0; k < json_array_size(rows[i].steps); k++)
            RGM_GO(add_step(t, json_array_get(trials, (size_t)i), json_array_get(rows[i].steps, k),
                            &rows[i], &names));
done:
    rgm_free(names.train);
    rgm_free(names.valid);
    clear_rows(rows, count);
    return status;
}

/* ---- list ---------------------------------------------------------------------------------- */

/* Rows that a master lists, as a table. */
typedef rgm_status rows_table(table *t, const json_t *rows);

static int print_rows(const char *where, const char *key, const char *none, rows_table *make,
                      const list_form *form, const char *path)
{
    asked_master whom = {0};
    json_t *rows = NULL;
    table t = {0};
    rgm_status status = RGM_OK;
    int code = EXIT_DONE;

    RGM_GO(master_open(&whom, where));
    RGM_GO(ask_all(&rows, &whom, key, "%s", path));
    if (form->json) {
        code = print_json(json_incref(rows));
        goto done;
    }
    RGM_GO(make(&t, rows));
    code = print_table(&t, form, none);
done:
    table_clear(&t);
    json_decref(rows);
    master_close(&whom);
    return status != RGM_OK ? report(status) : code;
}

/* Of one experiment. */
static int print_rows_of(const char *experiment, const char *where, const char *key,
                         const char *query, rows_table *make, const list_form *form)
{
    char path[128];
    int64_t id;
    rgm_status status = read_id(&id, "experiment", experiment);

    if (status != RGM_OK)
        return report(status);
    snprintf(path, sizeof path, "/api/v1/experiments/%lld/%s%s", (long long)id, key, query);
    return print_rows(where, key, key, make, form, path);
}

/* "&key=value" of a query; value NULL: nothing. */
static rgm_status add_query(rgm_text *path, const char *key, const char *value)
{
    if (value == NULL)
        return RGM_OK;
    RGM_TRY(rgm_text_printf(path, "&%s=", key));
    for (; *value != '\0'; value++)
        RGM_TRY(rgm_text_printf(path, "%%%02X", (unsigned)(unsigned char)*value));
    return RGM_OK;
}

int experiment_list(int argc, char **argv)
{
    const char *where = NULL, *state = NULL, *project = NULL, *label = NULL;
    bool all = false;
    list_form form = {0};
    const argument arguments[] = {{"all", ARG_FLAG, &all, NULL, "archived ones too"},
                                  {"state", ARG_TEXT, &state, "STATE", "only those: ACTIVE, ..."},
                                  {"project", ARG_TEXT, &project, "NAME", "only those of it"},
                                  {"label", ARG_TEXT, &label, "NAME", "only those that have it"},
                                  LIST_ARGUMENTS(form),
                                  MASTER_ARGUMENT(where),
                                  {0}};
    const usage how = {"experiment list [--all] [--state STATE] [--project NAME] [--label NAME]",
                       "The experiments there are, newest first.", arguments, 0, 0};
    text_list rest;
    rgm_text path = {0};
    rgm_status status;
    int code;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    status = rgm_text_printf(&path, "/api/v1/experiments?archived=%s", all ? "all" : "0");
    if (status == RGM_OK)
        status = add_query(&path, "state", state);
    if (status == RGM_OK)
        status = add_query(&path, "project", project);
    if (status == RGM_OK)
        status = add_query(&path, "label", label);
    code = status != RGM_OK ? report(status)
                            : print_rows(where, "experiments", "no experiments", experiments_table,
                                         &form, path.data);
    rgm_text_clear(&path);
    return code;
}

int experiment_trials(int argc, char **argv)
{
    const char *where = NULL, *sort = "id";
    list_form form = {0};
    const argument arguments[] = {
        {"sort", ARG_TEXT, &sort, "KEY", "id (default) or metric: best first"},
        LIST_ARGUMENTS(form),
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {"experiment trials ID [--sort id|metric] [--json | --csv]",
                       "The trials of an experiment with their hyperparameters and metrics.",
                       arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (strcmp(sort, "id") != 0 && strcmp(sort, "metric") != 0)
        return usage_error("--sort '%s' is neither id nor metric", sort);
    return print_rows_of(rest.items[0], where, "trials",
                         strcmp(sort, "id") == 0 ? "" : "?sort=metric", trials_table, &form);
}

int experiment_checkpoints(int argc, char **argv)
{
    const char *where = NULL;
    int64_t best = 0;
    list_form form = {0};
    char query[48] = "";
    const argument arguments[] = {
        {"best", ARG_COUNT, &best, "N", "the N best by the searcher's metric"},
        LIST_ARGUMENTS(form),
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {"experiment checkpoints ID [--best N] [--json | --csv]",
                       "The checkpoints of an experiment's trials.", arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (best > 0)
        snprintf(query, sizeof query, "?best=%lld", (long long)best);
    return print_rows_of(rest.items[0], where, "checkpoints", query, checkpoints_table, &form);
}

/* ---- describe ------------------------------------------------------------------------------ */

/** The three tables of describe. */
typedef struct description {
    table experiments, trials, steps, front; /* front: of one search for several metrics */
    rgm_text notes;                          /* those that there are, each with whose it is */
} description;

static rgm_status add_notes(rgm_text *out, const char *what, const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        if (text_of(row, "note")[0] != '\0')
            RGM_TRY(rgm_text_printf(out, "\nnote of %s %lld:\n%s\n", what,
                                    (long long)int_of(row, "id"), text_of(row, "note")));
    }
    return RGM_OK;
}

static rgm_status describe(description *d, json_t **json, const asked_master *whom,
                           const text_list *ids, bool metrics)
{
    rgm_status status = RGM_OK;
    json_t *experiments = json_array(), *trials = json_array(), *rows = NULL, *one = NULL;

    for (int64_t i = 0; i < ids->count; i++) {
        int64_t id;

        RGM_GO(read_id(&id, "experiment", ids->items[i]));
        RGM_GO(ask(&one, whom, "GET", NULL, "/api/v1/experiments/%lld", (long long)id));
        json_array_append_new(experiments, one);
        RGM_GO(ask_all(&rows, whom, "trials", "/api/v1/experiments/%lld/trials", (long long)id));
        json_array_extend(trials, rows);
        json_object_set_new(one, "trial_rows", rows);
        for (size_t k = 0; json != NULL && k < json_array_size(rows); k++)
            RGM_GO(add_steps(json_array_get(rows, k), whom));
        rows = NULL;
    }
    if (json != NULL) {
        *json = json_incref(experiments);
    } else {
        RGM_GO(described_table(&d->experiments, experiments));
        RGM_GO(trials_table(&d->trials, trials));
        RGM_GO(steps_table(&d->steps, whom, trials, metrics));
        if (ids->count == 1)
            RGM_GO(front_table(&d->front, whom, int_of(json_array_get(experiments, 0), "id")));
        RGM_GO(add_notes(&d->notes, "experiment", experiments));
        RGM_GO(add_notes(&d->notes, "trial", trials));
    }
done:
    json_decref(rows);
    json_decref(experiments);
    json_decref(trials);
    return status;
}

static rgm_status save_csv(const char *folder, const char *name, const table *t)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, folder, name));
    RGM_GO(table_print_csv(&text, t));
    RGM_GO(rgm_file_save(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    return status;
}

static int print_description(const description *d, const char *folder, const list_form *form)
{
    rgm_status status = RGM_OK;
    int code = EXIT_DONE;

    if (folder != NULL) {
        RGM_GO(rgm_folder_make(folder));
        RGM_GO(save_csv(folder, "experiments.csv", &d->experiments));
        RGM_GO(save_csv(folder, "trials.csv", &d->trials));
        RGM_GO(save_csv(folder, "steps.csv", &d->steps));
        say("wrote", "%s/experiments.csv, trials.csv, steps.csv", folder);
        return EXIT_DONE;
    }
    code = print_table(&d->experiments, form, "no experiments");
    if (code == EXIT_DONE)
        code = print_text("\n");
    if (code == EXIT_DONE)
        code = print_table(&d->trials, form, "no trials");
    if (code == EXIT_DONE)
        code = print_text("\n");
    if (code == EXIT_DONE)
        code = print_table(&d->steps, form, "no steps");
    if (code == EXIT_DONE && d->front.columns > 0)
        code = print_text("\n");
    if (code == EXIT_DONE && d->front.columns > 0)
        code = print_table(&d->front, form, "no trial is on the front yet");
    if (code == EXIT_DONE && d->notes.size > 0 && !form->csv)
        code = print_text(d->notes.data);
done:
    return status != RGM_OK ? report(status) : code;
}

int experiment_describe(int argc, char **argv)
{
    const char *where = NULL, *folder = NULL;
    bool metrics = false;
    list_form form = {0};
    const argument arguments[] = {
        {"metrics", ARG_FLAG, &metrics, NULL, "a column for each metric of steps and validations"},
        {"outdir", ARG_TEXT, &folder, "DIR", "experiments.csv, trials.csv and steps.csv in there"},
        LIST_ARGUMENTS(form),
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {"experiment describe ID... [--metrics] [--outdir DIR] [--json | --csv]",
                       "Experiments, their trials, and the trials' steps: a table each. SLOTS are "
                       "those\nof a trial, RANKS the processes that share them.",
                       arguments, 1, 256};
    asked_master whom = {0};
    description d = {0};
    json_t *json = NULL;
    text_list rest;
    rgm_status status;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (folder != NULL && form.json)
        return usage_error("--outdir DIR writes three CSV files, --json one object on stdout: take "
                           "one of the two");
    status = master_open(&whom, where);
    if (status == RGM_OK)
        status = describe(&d, form.json ? &json : NULL, &whom, &rest, metrics);
    if (status != RGM_OK)
        code = report(status);
    else
        code = form.json ? print_json(json) : print_description(&d, folder, &form);
    table_clear(&d.experiments);
    table_clear(&d.trials);
    table_clear(&d.steps);
    rgm_text_clear(&d.notes);
    table_clear(&d.front);
    master_close(&whom);
    return code;
}

/* ---- config and best ------------------------------------------------------------------------ */

static rgm_status print_config(int *code, const asked_master *whom, int64_t id, const void *options)
{
    json_t *answer = NULL;

    (void)options;
    RGM_TRY(ask(&answer, whom, "GET", NULL, "/api/v1/experiments/%lld/config", (long long)id));
    *code = print_exact(text_of(answer, "config"));
    json_decref(answer);
    return RGM_OK;
}

int experiment_config(int argc, char **argv)
{
    const char *where = NULL;
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    const usage how = {"experiment config ID",
                       "The experiment file as it was merged, for run or create.", arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_experiment(print_config, where, rest.items[0], NULL);
}

/* <folder of the master>/<experiment>/<number>: a run folder. */
static rgm_status run_folder(char **out, const asked_master *whom, const json_t *trial)
{
    json_t *master = NULL;
    rgm_status status;

    *out = NULL;
    RGM_TRY(ask(&master, whom, "GET", NULL, "/api/v1/master"));
    status = rgm_strprintf(out, "%s/%lld/%lld", text_of(master, "folder"),
                           (long long)int_of(trial, "experiment_id"),
                           (long long)int_of(trial, "number"));
    json_decref(master);
    return status;
}

rgm_status best_trial(json_t **out, char **folder, const asked_master *whom, int64_t experiment)
{
    rgm_status status = RGM_OK;
    json_t *page = NULL;

    *out = NULL;
    RGM_TRY(ask(&page, whom, "GET", NULL, "/api/v1/experiments/%lld/trials?sort=metric&limit=1",
                (long long)experiment));
    *out = json_incref(json_array_get(json_object_get(page, "trials"), 0));
    json_decref(page);
    if (*out == NULL || !isfinite(number_of(*out, "best_metric"))) {
        json_decref(*out);
        *out = NULL;
        return RGM_FAIL(
            RGM_ERR_NOT_FOUND,
            "no trial of experiment %lld was validated yet, to a metric that is a number",
            (long long)experiment);
    }
    status = folder != NULL ? run_folder(folder, whom, *out) : RGM_OK;
    if (status != RGM_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

/* The object of "../code/moons.so:NAME" beside a file, from anywhere. */
static rgm_status absolute_object(char **out, const char *entrypoint, const char *file)
{
    const char *slash = strrchr(file, '/'), *colon = strrchr(entrypoint, ':');
    int size = colon != NULL ? (int)(colon - entrypoint) : (int)strlen(entrypoint);
    rgm_status status = RGM_OK;
    char *path = NULL, *whole = NULL;

    RGM_GO(rgm_strprintf(&path, "%.*s%.*s", slash != NULL ? (int)(slash + 1 - file) : 0, file, size,
                         entrypoint));
    whole = realpath(path, NULL);
    if (whole == NULL)
        RGM_GO(RGM_FAIL_SYSTEM("find", path));
    RGM_GO(rgm_strprintf(out, "%s%s", whole, colon != NULL ? colon : ""));
done:
    free(whole);
    rgm_free(path);
    return status;
}

/* The file of a trial, whose own code is found from wherever the copy lies. */
static rgm_status copy_file(const char *to, const char *from)
{
    rgm_status status = RGM_OK;
    char *data = NULL, *object = NULL;
    int64_t size;

    rgm_yaml_node *entrypoint;
    rgm_text text = {0};
    rgm_yaml *yaml = NULL;

    RGM_TRY(rgm_file_load(&data, &size, from, 1 << 20));
    RGM_GO(rgm_yaml_parse(&yaml, data, size, from));
    entrypoint = rgm_yaml_find(rgm_yaml_root(yaml), "entrypoint");
    if (entrypoint != NULL && entrypoint->kind == RGM_YAML_LIST) /* of a program: where it lies */
        entrypoint = rgm_yaml_find(rgm_yaml_root(yaml), "code_folder");
    if (entrypoint != NULL && entrypoint->kind == RGM_YAML_SCALAR && entrypoint->text[0] != '/') {
        RGM_GO(absolute_object(&object, entrypoint->text, from));
        entrypoint->text = object;
        RGM_GO(rgm_yaml_print(&text, rgm_yaml_root(yaml)));
        RGM_GO(rgm_file_save(to, text.data, text.size));
    } else {
        RGM_GO(rgm_file_save(to, data, size));
    }
done:
    rgm_text_clear(&text);
    rgm_yaml_release(yaml);
    rgm_free(object);
    rgm_free(data);
    return status;
}

static rgm_status print_best(const json_t *trial, const char *metric, const char *folder)
{
    rgm_status status = RGM_OK;
    rgm_map *names = NULL;
    const json_t *values = json_object_get(trial, "hyperparameters");

    printf("trial    %lld/%lld (%s)\n", (long long)int_of(trial, "experiment_id"),
           (long long)int_of(trial, "number"), text_of(trial, "state"));
    printf("best     %s %.6g\n", metric, number_of(trial, "best_metric"));
    RGM_GO(rgm_map_create(&names));
    RGM_GO(hyperparameter_names(names, values, ""));
    for (int64_t i = 0; i < rgm_map_count(names); i++) {
        char *text = json_dumps(hyperparameter(values, rgm_map_key(names, i)), JSON_ENCODE_ANY);
        char *shown = NULL;

        status = printable(&shown, text != NULL ? text : "?");
        free(text);
        RGM_GO(status);
        printf("  %s: %s\n", rgm_map_key(names, i), shown);
        rgm_free(shown);
    }
    printf("run      %s\n", folder);
done:
    rgm_map_release(names);
    return status;
}

/* Of a search for several metrics. */
static rgm_status print_front(int *code, const asked_master *whom, int64_t experiment)
{
    table front = {0};
    rgm_status status = front_table(&front, whom, experiment);

    if (status == RGM_OK && front.columns > 0)
        *code = print_table(&front, &(list_form){0}, "no trial is on the front yet");
    table_clear(&front);
    return status;
}

int experiment_best(int argc, char **argv)
{
    const char *where = NULL, *to = NULL;
    bool json = false;
    const argument arguments[] = {
        {"o", ARG_TEXT, &to, "FILE.yaml", "write the trial's experiment file, for regimen run"},
        {"json", ARG_FLAG, &json, NULL, "the trial as JSON"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {
        "experiment best ID [-o FILE.yaml] [--json]",
        "The trial with the best validation, its hyperparameters, its run folder, and its\n"
        "experiment file: the search's with the values in place.",
        arguments, 1, 1};
    asked_master whom = {0};
    json_t *experiment = NULL, *trial = NULL;
    char *folder = NULL, *from = NULL;
    text_list rest;
    rgm_status status = RGM_OK;
    int64_t id;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    RGM_GO(read_id(&id, "experiment", rest.items[0]));
    RGM_GO(master_open(&whom, where));
    RGM_GO(ask(&experiment, &whom, "GET", NULL, "/api/v1/experiments/%lld", (long long)id));
    RGM_GO(best_trial(&trial, &folder, &whom, id));
    if (to != NULL) {
        RGM_GO(rgm_path_join(&from, folder, "config.yaml"));
        RGM_GO(copy_file(to, from));
    }
    if (json) {
        code = print_json(json_incref(trial));
    } else {
        RGM_GO(print_best(trial, text_of(experiment, "metric"), folder));
        code = print_text("");
        if (code == EXIT_DONE)
            RGM_GO(print_front(&code, &whom, id));
    }
    if (to != NULL)
        say("wrote", "%s", to);
done:
    if (status != RGM_OK)
        code = report(status);
    json_decref(experiment);
    json_decref(trial);
    rgm_free(folder);
    rgm_free(from);
    master_close(&whom);
    return code;
}

/* ---- report --------------------------------------------------------------------------------- */

static rgm_status write_report(int *code, const asked_master *whom, int64_t id, const void *options)
{
    rgm_status status = RGM_OK;
    rgm_search_report r = {0};

    (void)code;
    RGM_GO(report_load(&r, whom, id));
    RGM_GO(report_write(&r, options));
    say("wrote", "%s", (const char *)options);
done:
    rgm_search_report_clear(&r);
    return status;
}

int experiment_report(int argc, char **argv)
{
    const char *where = NULL, *to = "report.html";
    const argument arguments[] = {
        {"o", ARG_TEXT, &to, "FILE", "report.html (default), or a name that ends in .svg or .csv"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {
        "experiment report ID [-o FILE.html|svg|csv]",
        "What a search came to, also while it runs: the best trial with its experiment file, "
        "learning\n"
        "curves, importance of hyperparameters, parallel coordinates, slices, the Pareto front of\n"
        "several objectives, slots over time, and the table of trials. One file, without script.",
        arguments, 1, 1};
    text_list rest;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    code = report_check_path(to);
    return code == EXIT_DONE ? about_experiment(write_report, where, rest.items[0], to) : code;
}
