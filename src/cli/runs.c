/* regimen runs: the run folders below a folder, with where they stand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runs.h"

#define DEEPEST 4 /* levels of folders below the one that was named */

/* ---- find ---------------------------------------------------------------------------------- */

static rgm_status add_run(json_t *runs, const char *path)
{
    json_t *run = run_read(path);
    const char *reason;

    if (run == NULL || json_array_append(runs, run) != 0) {
        json_decref(run);
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory reading '%s'", path);
    }
    reason = json_string_value(json_object_get(run, "reason"));
    if (reason != NULL)
        say("damaged", "%s: %s", json_string_value(json_object_get(run, "run_dir")), reason);
    json_decref(run);
    return RGM_OK;
}

static rgm_status find_runs(json_t *runs, const char *path, int depth);

/* What is no run folder and has none below is named: somebody may take it for one. */
static rgm_status find_below(json_t *runs, const char *path, int depth)
{
    size_t before = json_array_size(runs);
    char *shown = NULL;

    RGM_TRY(find_runs(runs, path, depth));
    if (depth > 1 || json_array_size(runs) > before)
        return RGM_OK;
    RGM_TRY(printable(&shown, path));
    say("foreign", "%s: neither it nor a folder in it is a run folder (.lock, metrics.jsonl)",
        shown);
    rgm_free(shown);
    return RGM_OK;
}

static rgm_status find_runs(json_t *runs, const char *path, int depth)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *below = NULL;
    int64_t count = 0;

    if (is_run_folder(path))
        return add_run(runs, path);
    if (depth == DEEPEST)
        return RGM_OK;
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
    json_t *run; /* borrowed */
    const char *name, *text;
    double number; /* NaN: last in either direction */
} sorted_run;

static const char *text_at(const json_t *run, const char *key)
{
    const char *text = json_string_value(json_object_get(run, key));

    return text != NULL ? text : "";
}

static double number_at(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static sorted_run by_key(json_t *run, const char *key)
{
    sorted_run s = {.run = run, .name = text_at(run, "run_dir"), .text = ""};

    if (strcmp(key, "time") == 0)
        s.text = text_at(run, "modified");
    else if (strcmp(key, "step") == 0)
        s.number = number_at(run, "step");
    else if (strcmp(key, "best") == 0)
        s.number = number_at(json_object_get(run, "best"), "value");
    else if (strcmp(key, "name") != 0)
        s.number = number_at(json_object_get(run, "last"), key);
    return s;
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
        order = strcmp(x->text, y->text);
    if (order == 0)
        order = strverscmp(x->name, y->name);
    return sign * order;
}

static rgm_status sort_runs(json_t **runs, const char *key, bool reverse)
{
    size_t count = json_array_size(*runs);
    sorted_run *order = NULL;
    json_t *sorted = json_array();

    RGM_TRY(RGM_NEW(order, (int64_t)count));
    for (size_t i = 0; i < count; i++)
        order[i] = by_key(json_array_get(*runs, i), key);
    qsort_r(order, count, sizeof *order, compare, &reverse);
    for (size_t i = 0; i < count; i++)
        json_array_append(sorted, order[i].run);
    rgm_free(order);
    json_decref(*runs);
    *runs = sorted;
    return RGM_OK;
}

/* ---- metrics ------------------------------------------------------------------------------- */

/* Every name among the last values, each once. */
static rgm_status metric_names(rgm_map *names, const json_t *runs)
{
    size_t i;
    json_t *run, *value;
    const char *key;

    json_array_foreach(runs, i, run)
    {
        json_object_foreach(json_object_get(run, "last"), key, value)
        {
            RGM_TRY(rgm_map_set(names, key, value));
        }
    }
    return RGM_OK;
}

static bool is_listed(const text_list *list, const char *name)
{
    for (int64_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], name) == 0)
            return true;
    return false;
}

/* A name of a metric by which is sorted is shown, and those which are usual when none is asked for.
 */
static rgm_status choose_metrics(text_list *metrics, const char *sort, const json_t *runs)
{
    static const char *const keys[] = {"name", "time", "step", "best"};
    static const char *const usual[] = {"train.loss", "valid.loss"};
    bool asked = metrics->count > 0, by_metric = true;
    rgm_status status = RGM_OK;
    rgm_map *names = NULL;

    RGM_GO(rgm_map_create(&names));
    RGM_GO(metric_names(names, runs));
    for (int64_t i = 0; i < metrics->count && json_array_size(runs) > 0; i++)
        if (!rgm_map_has(names, metrics->items[i]))
            RGM_GO(unknown_metric("--metric", metrics->items[i], names));
    for (int i = 0; i < 4; i++)
        by_metric = by_metric && strcmp(sort, keys[i]) != 0;
    if (by_metric && json_array_size(runs) > 0 && !rgm_map_has(names, sort))
        RGM_GO(unknown_metric("--sort", sort, names));
    for (int i = 0; i < 2 && !asked; i++)
        if (rgm_map_has(names, usual[i]))
            metrics->items[metrics->count++] = usual[i];
    if (by_metric && !is_listed(metrics, sort) && metrics->count < 256)
        metrics->items[metrics->count++] = sort;
done:
    rgm_map_release(names);
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------ */

/* Characters of a line: COLUMNS, or those of the terminal; 0 where lines may be long. */
static int64_t line_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    char *end;
    long width;

    if (columns != NULL && columns[0] != '\0') {
        width = strtol(columns, &end, 10);
        if (*end == '\0' && width >= 10)
            return width;
    }
    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static int print_runs(const json_t *runs, const text_list *metrics)
{
    rgm_text text = {0};
    rgm_status status = runs_table(&text, runs, metrics, line_width());
    int code = status == RGM_OK ? print_text(text.data) : report(status);

    rgm_text_clear(&text);
    return code;
}

static rgm_status list_runs(json_t **runs, const text_list *folders, text_list *metrics,
                            const char *sort, bool reverse)
{
    for (int64_t i = 0; i < folders->count; i++) {
        if (!rgm_path_is_folder(folders->items[i]))
            return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no folder '%s'", folders->items[i]);
        RGM_TRY(find_runs(*runs, folders->items[i], 0));
    }
    RGM_TRY(choose_metrics(metrics, sort, *runs));
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
    const usage how = {
        "runs [DIR...] [--sort KEY] [--reverse] [--metric NAME]... [--json]",
        "The run folders below each DIR (default: runs): state, epoch, step, the best value by "
        "the\n"
        "newest checkpoint, last values. Folders that are damaged or no run folders are named.",
        arguments, 0, 256};
    json_t *runs;
    rgm_status status;
    int code = arguments_read(&rest, &how, argc, argv);

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    if (rest.count == 0)
        rest.items[rest.count++] = "runs";
    runs = json_array();
    status = list_runs(&runs, &rest, &metrics, sort, reverse);
    if (status != RGM_OK)
        code = report(status);
    else if (json)
        return print_json(runs);
    else if (json_array_size(runs) == 0)
        say("runs", "none");
    else
        code = print_runs(runs, &metrics);
    json_decref(runs);
    return code;
}
