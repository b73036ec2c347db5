/* regimen runs: the run folders below a folder, with where they stand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verb_runs.h"
#include "table.h"

#define DEEPEST      4 /* levels of folders below the one that was named */
#define MOST_FOREIGN 5 /* folders without a run that are named */

/* ---- find ---------------------------------------------------------------------------------- */

/* JSON and terminals take no other text. */
static const char *reason_of(const rgm_run_look *look)
{
    return rgm_utf8_check(look->reason, (int64_t)strlen(look->reason)) < 0 ? look->reason
                                                                           : "unreadable";
}

static rgm_status add_run(run_list *runs, const char *path)
{
    rgm_trainer_options defaults;
    rgm_metrics_place checked = {0};
    listed_run *run;

    rgm_trainer_defaults(&defaults);
    RGM_TRY(RGM_RESERVE(runs->items, runs->capacity, runs->count + 1));
    run = &runs->items[runs->count];
    *run = (listed_run){0};
    RGM_TRY(rgm_run_look_load(&run->look, path, defaults.epochs));
    runs->count++;
    RGM_TRY(rgm_run_look_check(&run->look, &checked, path, INT64_MAX));
    RGM_TRY(rgm_strdup(&run->path, path));
    RGM_TRY(printable(&run->name, path));
    if (run->look.state == RGM_RUN_DAMAGED)
        say("damaged", "%s: %s", run->name, reason_of(&run->look));
    return RGM_OK;
}

static void runs_clear(run_list *runs)
{
    for (int64_t i = 0; i < runs->count; i++) {
        rgm_run_look_clear(&runs->items[i].look);
        rgm_free(runs->items[i].name);
        rgm_free(runs->items[i].path);
    }
    rgm_free(runs->items);
    json_decref(runs->series);
    rgm_text_clear(&runs->foreigners);
}

/* If the folder is one of several runs, what they came to. */
static rgm_status note_series(run_list *runs, const char *path)
{
    char *name = NULL;
    json_t *summary = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(series_load(&summary, path));
    if (summary == NULL)
        goto done;
    RGM_GO(printable(&name, path));
    if (runs->series == NULL)
        runs->series = json_array();
    json_object_set_new(summary, "run_dir", json_string(name));
    json_object_set_new(
        summary, "done",
        json_integer((json_int_t)json_object_size(json_object_get(summary, "runs"))));
    json_object_del(summary, "runs");
    json_array_append(runs->series, summary);
done:
    json_decref(summary);
    rgm_free(name);
    return status;
}

static rgm_status find_runs(run_list *runs, const char *path, int depth);

/* What is no run folder and has none below is named: somebody may take it for one. */
static rgm_status find_below(run_list *runs, const char *path, int depth)
{
    int64_t before = runs->count;

    RGM_TRY(find_runs(runs, path, depth));
    if (depth > 1 || runs->count > before)
        return RGM_OK;
    if (runs->foreign++ < MOST_FOREIGN)
        RGM_TRY(rgm_text_printf(&runs->foreigners, "%s%s", runs->foreigners.size > 0 ? ", " : "",
                                path));
    return RGM_OK;
}

/* All in one line, however many there are. */
static void tell_foreign(const run_list *runs)
{
    char *shown = NULL;

    if (runs->foreign == 0 || printable(&shown, runs->foreigners.data) != RGM_OK)
        return;
    say("foreign", "%s%s: %s (.lock, metrics.jsonl)", shown,
        runs->foreign > MOST_FOREIGN ? " and others" : "",
        runs->foreign == 1 ? "neither it nor a folder in it is a run folder"
                           : "neither they nor folders in them are run folders");
    rgm_free(shown);
}

static rgm_status find_runs(run_list *runs, const char *path, int depth)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *below = NULL;
    int64_t count = 0;

    if (rgm_run_folder_exists(path))
        return add_run(runs, path);
    if (depth == DEEPEST)
        return RGM_OK;
    RGM_TRY(note_series(runs, path));
    status = rgm_folder_list(&names, &count, path);
    if (status != RGM_OK && status != RGM_ERR_NOMEM && depth > 0) {
        say("foreign", "%s", rgm_error_message());
        return RGM_OK;
    }
    RGM_GO(status);
    for (int64_t i = 0; i < count; i++) {
        if (names[i][0] == '.')
            continue;
        RGM_GO(rgm_path_join(&below, path, names[i]));
        if (rgm_path_is_folder(below))
            RGM_GO(find_below(runs, below, depth + 1));
        rgm_free(below);
        below = NULL;
    }
done:
    rgm_free(below);
    rgm_names_release(names, count);
    return status;
}

/* ---- sort ---------------------------------------------------------------------------------- */

typedef struct sorted_run {
    listed_run run;
    double number; /* NaN: last in either direction */
} sorted_run;

static double number_of(const rgm_run_look *look, const char *key)
{
    double number = strcmp(key, "name") == 0   ? 0
                    : strcmp(key, "time") == 0 ? (double)look->modified
                    : strcmp(key, "step") == 0 ? (double)look->step
                    : strcmp(key, "best") == 0 ? look->best_value
                                               : rgm_run_look_last(look, key);

    return isfinite(number) ? number : NAN;
}

/* seed-2 before seed-10. */
static int compare(const void *a, const void *b, void *reverse)
{
    const sorted_run *x = a, *y = b;
    int sign = *(bool *)reverse ? -1 : 1, order;

    if (isnan(x->number) != isnan(y->number))
        return isnan(x->number) ? 1 : -1;
    order = (x->number > y->number) - (x->number < y->number);
    if (order == 0)
        order = strverscmp(x->run.name, y->run.name);
    return sign * order;
}

static rgm_status sort_runs(run_list *runs, const char *key, bool reverse)
{
    sorted_run *order = NULL;

    RGM_TRY(RGM_NEW(order, runs->count));
    for (int64_t i = 0; i < runs->count; i++)
        order[i] = (sorted_run){runs->items[i], number_of(&runs->items[i].look, key)};
    qsort_r(order, (size_t)runs->count, sizeof *order, compare, &reverse);
    for (int64_t i = 0; i < runs->count; i++)
        runs->items[i] = order[i].run;
    rgm_free(order);
    return RGM_OK;
}

/* ---- metrics ------------------------------------------------------------------------------- */

/* Every name among the last values, each once. */
static rgm_status metric_names(rgm_map *names, const run_list *runs)
{
    for (int64_t i = 0; i < runs->count; i++)
        for (int64_t k = 0; k < runs->items[i].look.last_count; k++)
            RGM_TRY(rgm_map_set(names, runs->items[i].look.last[k].name, NULL));
    return RGM_OK;
}

static bool is_listed(const text_list *list, const char *name)
{
    for (int64_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], name) == 0)
            return true;
    return false;
}

/* What the best weights of each run, by "valid.accuracy", have on test data: "test.accuracy". */
static void show_tests(text_list *metrics, const run_list *runs)
{
    for (int64_t i = 0; i < runs->count && metrics->count < 256; i++) {
        const rgm_run_look *look = &runs->items[i].look;
        const char *dot = look->best_metric != NULL ? strchr(look->best_metric, '.') : NULL;

        for (int64_t k = 0; k < look->last_count && dot != NULL; k++)
            if (strncmp(look->last[k].name, "test.", 5) == 0 &&
                strcmp(look->last[k].name + 4, dot) == 0 && !is_listed(metrics, look->last[k].name))
                metrics->items[metrics->count++] = look->last[k].name;
    }
}

/* A name of a metric by which is sorted is shown, and those which are usual when none is asked for.
 */
static rgm_status choose_metrics(text_list *metrics, const char *sort, const run_list *runs)
{
    static const char *const keys[] = {"name", "time", "step", "best"};
    static const char *const usual[] = {"train.loss", "valid.loss"};
    bool asked = metrics->count > 0, by_metric = true;
    rgm_status status = RGM_OK;
    rgm_map *names = NULL;

    RGM_GO(rgm_map_create(&names));
    RGM_GO(metric_names(names, runs));
    for (int64_t i = 0; i < metrics->count && runs->count > 0; i++)
        if (!rgm_map_has(names, metrics->items[i]))
            RGM_GO(unknown_metric("--metric", metrics->items[i], names));
    for (int i = 0; i < 4; i++)
        by_metric = by_metric && strcmp(sort, keys[i]) != 0;
    if (by_metric && runs->count > 0 && !rgm_map_has(names, sort))
        RGM_GO(unknown_metric("--sort", sort, names));
    for (int i = 0; i < 2 && !asked; i++)
        if (rgm_map_has(names, usual[i]))
            metrics->items[metrics->count++] = usual[i];
    if (!asked)
        show_tests(metrics, runs);
    if (by_metric && !is_listed(metrics, sort) && metrics->count < 256)
        metrics->items[metrics->count++] = sort;
done:
    rgm_map_release(names);
    return status;
}

/* ---- print --------------------------------------------------------------------------------- */

static json_t *json_text(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

static json_t *run_json(const listed_run *run)
{
    const rgm_run_look *look = &run->look;
    json_t *best = json_null(), *last = json_object(), *json;
    char modified[32];

    time_text(modified, look->modified);
    if (look->best_metric != NULL)
        best = json_pack("{s:s, s:o, s:I}", "metric", look->best_metric, "value",
                         json_number(look->best_value), "step", (json_int_t)look->best_step);
    for (int64_t i = 0; i < look->last_count; i++)
        json_object_set_new(last, look->last[i].name, json_number(look->last[i].value));
    json = json_pack(
        "{s:s, s:s, s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "run_dir",
        run->name, "state", rgm_run_state_names[look->state], "description",
        json_text(look->description), "model", json_text(look->model), "epoch",
        (json_int_t)look->epoch, "epochs",
        look->epochs >= 0 ? json_integer(look->epochs) : json_null(), "step",
        (json_int_t)look->step, "steps", look->steps >= 0 ? json_integer(look->steps) : json_null(),
        "best", best, "last", last, "modified", json_text(modified[0] != '\0' ? modified : NULL),
        "seconds", json_number(look->seconds), "result", run_file_json(run->path, RGM_RESULT_FILE),
        "input", run_file_json(run->path, "input_workers.json"));
    if (look->reason != NULL)
        json_object_set_new(json, "reason", json_string(reason_of(look)));
    else if (look->state == RGM_RUN_FAILED)
        json_object_set_new(json, "reason", json_text(look->failure));
    return json;
}

static int print_runs_json(const run_list *runs)
{
    json_t *all = json_array();

    for (int64_t i = 0; i < runs->count; i++)
        json_array_append_new(all, run_json(&runs->items[i]));
    json_array_extend(all, runs->series);
    return print_json(all);
}

/* ---- the verb ------------------------------------------------------------------------------ */

static int print_runs(const run_list *runs, const text_list *metrics)
{
    rgm_text text = {0};
    rgm_status status = runs_table(&text, runs, metrics, line_width());
    int code;

    for (int64_t i = 0; status == RGM_OK && i < runs->count; i++)
        status = runs_input(&text, &runs->items[i]);
    for (size_t i = 0; status == RGM_OK && i < json_array_size(runs->series); i++)
        status = series_table(&text, json_array_get(runs->series, i), line_width());
    code = status == RGM_OK ? print_text(text.data) : report(status);
    rgm_text_clear(&text);
    return code;
}

static rgm_status list_runs(run_list *runs, const text_list *folders, text_list *metrics,
                            const char *sort, bool reverse)
{
    for (int64_t i = 0; i < folders->count; i++) {
        if (!rgm_path_is_folder(folders->items[i]))
            return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no folder '%s'", folders->items[i]);
        RGM_TRY(find_runs(runs, folders->items[i], 0));
    }
    tell_foreign(runs);
    RGM_TRY(choose_metrics(metrics, sort, runs));
    return sort_runs(runs, sort, reverse);
}

int verb_runs(int argc, char **argv)
{
    const char *sort = "name";
    text_list metrics = {.count = 0}, rest;
    bool reverse = false, json = false;
    const argument arguments[] = {
        {"sort", ARG_TEXT, &sort, "KEY",
         "name (default), time, step, best or a metric's last value"},
        {"reverse", ARG_FLAG, &reverse, NULL, "largest or latest first"},
        {"metric", ARG_LIST, &metrics, "NAME", "a last value to show, e.g. valid.accuracy; repeat"},
        {"json", ARG_FLAG, &json, NULL, "as an array of objects on stdout, every last value in it"},
        {0}};
    const usage how = {"runs [DIR...] [--sort KEY] [--reverse] [--metric NAME]... [--json]",
                       "The run folders below each DIR (default: runs): state, epoch, step, the "
                       "best value so far, "
                       "last\n"
                       "values with those on test data, time of training, warnings of the last "
                       "start. Folders that "
                       "are\n"
                       "damaged or no run folders are named. Of folds and seeds the mean and the "
                       "deviation of their\n"
                       "final metrics follow, and of runs at work that have input workers who they "
                       "are and who waits.\n"
                       "--json has also what result.json and input_workers.json have.",
                       arguments, 0, 256};
    run_list runs = {0};
    rgm_status status;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (rest.count == 0)
        rest.items[rest.count++] = "runs";
    status = list_runs(&runs, &rest, &metrics, sort, reverse);
    if (status != RGM_OK)
        code = report(status);
    else if (json)
        code = print_runs_json(&runs);
    else if (runs.count == 0)
        say("runs", "none");
    else
        code = print_runs(&runs, &metrics);
    runs_clear(&runs);
    return code;
}
