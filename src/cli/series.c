/*
 * An experiment that is several runs: folds of a cross-validation, repeated seeds. They are trained
 * one after the other, each in a folder of its own below the run folder, where summary.json keeps
 * what those that are done came to. A run that is in it is done; who is killed goes on with the
 * next.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "run.h"
#include "runs.h"

#define SUMMARY        "summary.json"
#define LARGEST_RESULT (INT64_C(64) << 20)

/* ---- summary.json -------------------------------------------------------------------------- */

/* {"runs": {"fold-1": result, ...}, "metrics": {"test.accuracy": {"mean": ...}}}; an empty one
 * where there is none. What is no such thing is told and made anew: its runs are there. */
static rgm_status summary_load(json_t **out, const char *folder)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    int64_t size = 0;

    *out = NULL;
    RGM_GO(rgm_path_join(&path, folder, SUMMARY));
    if (rgm_path_exists(path)) {
        RGM_GO(rgm_file_load(&text, &size, path, LARGEST_RESULT));
        *out = json_loadb(text, (size_t)size, 0, NULL);
        if (!json_is_object(json_object_get(*out, "runs"))) {
            say("damaged", "%s: it is made anew", path);
            json_decref(*out);
            *out = NULL;
        }
    }
    if (*out == NULL)
        *out = json_pack("{s:{}}", "runs");
    if (*out == NULL)
        status = RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %s", SUMMARY);
done:
    rgm_free(text);
    rgm_free(path);
    return status;
}

static rgm_status summary_save(const json_t *summary, const char *folder)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = json_dumps(summary, JSON_INDENT(1) | JSON_REAL_PRECISION(17));

    if (text == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %s", SUMMARY);
    RGM_GO(rgm_path_join(&path, folder, SUMMARY));
    RGM_GO(rgm_file_save_own(path, text, (int64_t)strlen(text)));
done:
    free(text);
    rgm_free(path);
    return status;
}

rgm_status series_load(json_t **out, const char *folder)
{
    char *path;
    bool is_one;

    *out = NULL;
    RGM_TRY(rgm_path_join(&path, folder, SUMMARY));
    is_one = rgm_path_exists(path) && !rgm_run_folder_exists(folder);
    rgm_free(path);
    return is_one ? summary_load(out, folder) : RGM_OK;
}

rgm_status series_refuse(const char *folder)
{
    json_t *summary, *runs;
    rgm_status status = series_load(&summary, folder);
    const char *first;

    if (status != RGM_OK || summary == NULL)
        return status;
    runs = json_object_get(summary, "runs");
    first = json_object_iter_key(json_object_iter(runs));
    status = RGM_FAIL(RGM_ERR_CONFIG, "%s is a folder of several runs: name one of them, as %s/%s",
                      folder, folder, first != NULL ? first : "fold-1");
    json_decref(summary);
    return status;
}

/* One number over the runs that have it. */
typedef struct series_sum {
    double sum, squares, least, largest;
    int64_t count;
} series_sum;

static void sum_add(series_sum *s, double value, double mean)
{
    s->least = s->count == 0 || value < s->least ? value : s->least;
    s->largest = s->count == 0 || value > s->largest ? value : s->largest;
    s->sum += value;
    s->squares += (value - mean) * (value - mean);
    s->count++;
}

/* metrics.<part>.<name> of every run that has it; deviations from `mean`. */
static series_sum sum_runs(const json_t *runs, const char *part, const char *name, double mean)
{
    series_sum sum = {0};
    const char *key;
    json_t *run;

    json_object_foreach((json_t *)runs, key, run)
    {
        const json_t *value =
            json_object_get(json_object_get(json_object_get(run, "metrics"), part), name);

        if (json_is_number(value))
            sum_add(&sum, json_number_value(value), mean);
    }
    return sum;
}

/* "test.accuracy": {"mean": .., "deviation": .., ...}; of one run there is no deviation. */
static void set_figure(json_t *figures, const json_t *runs, const char *part, const char *name)
{
    series_sum sum = sum_runs(runs, part, name, 0);
    double mean = sum.sum / (double)sum.count;
    json_t *deviation = json_null();
    char full[256];

    if (sum.count == 0)
        return;
    sum = sum_runs(runs, part, name, mean);
    if (sum.count > 1)
        deviation = json_number(sqrt(sum.squares / (double)(sum.count - 1)));
    snprintf(full, sizeof full, "%s.%s", part, name);
    json_object_set_new(figures, full,
                        json_pack("{s:o, s:o, s:f, s:f, s:I}", "mean", json_number(mean),
                                  "deviation", deviation, "least", sum.least, "largest",
                                  sum.largest, "count", (json_int_t)sum.count));
}

/* Every metric that a run has, in the order of the first run that has it. */
static json_t *figures_of(const json_t *runs)
{
    json_t *figures = json_object(), *run, *values, *value;
    const char *key, *part, *name;
    char full[256];

    json_object_foreach((json_t *)runs, key, run)
    {
        json_object_foreach(json_object_get(run, "metrics"), part, values)
        {
            json_object_foreach(values, name, value)
            {
                snprintf(full, sizeof full, "%s.%s", part, name);
                if (json_object_get(figures, full) == NULL)
                    set_figure(figures, runs, part, name);
            }
        }
    }
    return figures;
}

rgm_status series_keep(const series_part *part, const json_t *result)
{
    rgm_status status = RGM_OK;
    json_t *summary = NULL, *runs;

    RGM_GO(summary_load(&summary, part->folder));
    runs = json_object_get(summary, "runs");
    json_object_set(runs, part->name, (json_t *)result);
    json_object_set_new(summary, "count", json_integer(part->count));
    json_object_set_new(summary, "metrics", figures_of(runs));
    RGM_GO(summary_save(summary, part->folder));
done:
    json_decref(summary);
    return status;
}

/* ---- its runs ------------------------------------------------------------------------------ */

/* Whether it is in the summary, and its folder is there and of this very experiment. */
static rgm_status is_done(bool *done, const series_part *part, const char *run_dir,
                          const rgm_experiment *experiment)
{
    rgm_status status = RGM_OK;
    json_t *summary = NULL;
    char *config = NULL;
    int64_t size = 0;

    *done = false;
    RGM_GO(summary_load(&summary, part->folder));
    if (json_object_get(json_object_get(summary, "runs"), part->name) == NULL ||
        !rgm_run_folder_exists(run_dir))
        goto done;
    RGM_GO(rgm_run_folder_config(&config, &size, run_dir));
    *done = strcmp(config, rgm_experiment_text(experiment)) == 0;
done:
    json_decref(summary);
    rgm_free(config);
    return status;
}

static int run_part(rgm_experiment *experiment, const run_request *request, const series_part *part)
{
    run_request one = *request;
    char *run_dir = NULL;
    bool done = false;
    int code = EXIT_DONE;
    rgm_status status = rgm_path_join(&run_dir, part->folder, part->name);

    if (status == RGM_OK)
        status = is_done(&done, part, run_dir, experiment);
    if (status != RGM_OK)
        code = report(status);
    else {
        say("run", "%s of %s: %s%s", grouped(part->number), grouped(part->count), run_dir,
            done ? " is done" : "");
        one.run_dir = run_dir;
        one.of = part;
        if (!done)
            code = one.restarts > 0 ? run_with_restarts(experiment, &one)
                                    : run_experiment(experiment, &one);
    }
    rgm_free(run_dir);
    return code;
}

/* Run i; the experiment of it is made and let go. */
static int make_and_run(const rgm_experiment *experiment, const run_request *request, int64_t i)
{
    series_part part = {.folder = request->run_dir,
                        .number = i + 1,
                        .count = rgm_experiment_part_count(experiment)};
    rgm_experiment *one;
    char *name;
    int code;

    if (rgm_experiment_part(&one, &name, experiment, i) != RGM_OK)
        return report(RGM_ERR_CONFIG);
    part.name = name;
    code = run_part(one, request, &part);
    rgm_experiment_release(one);
    rgm_free(name);
    return code;
}

/* ---- what they came to --------------------------------------------------------------------- */

static int print_series(const char *folder, bool json)
{
    rgm_text text = {0};
    json_t *summary = NULL;
    rgm_status status = summary_load(&summary, folder);
    int code;

    if (status != RGM_OK)
        return report(status);
    json_object_set_new(summary, "run_dir", json_string(folder));
    if (json)
        return print_json(summary);
    status = series_table(&text, summary, 0);
    code = status == RGM_OK ? print_text(text.data) : report(status);
    rgm_text_clear(&text);
    json_decref(summary);
    return code;
}

/* The names of its runs, as keys. */
static rgm_status names_of(json_t **out, const rgm_experiment *experiment)
{
    *out = json_object();
    for (int64_t i = 0; i < rgm_experiment_part_count(experiment); i++) {
        rgm_experiment *one;
        char *name;

        RGM_TRY(rgm_experiment_part(&one, &name, experiment, i));
        json_object_set_new(*out, name, json_true());
        rgm_experiment_release(one);
        rgm_free(name);
    }
    return RGM_OK;
}

/* Runs of the summary that are none of this experiment, as of more seeds before: they stay in their
 * folders, and means are without them. */
static rgm_status leave_others(const rgm_experiment *experiment, const char *folder)
{
    rgm_status status = RGM_OK;
    json_t *summary = NULL, *names = NULL, *runs, *run;
    const char *name;
    size_t before;
    void *next;

    RGM_GO(summary_load(&summary, folder));
    RGM_GO(names_of(&names, experiment));
    runs = json_object_get(summary, "runs");
    before = json_object_size(runs);
    json_object_foreach_safe(runs, next, name, run)
    {
        if (json_object_get(names, name) != NULL)
            continue;
        say("left out", "%s/%s is no run of these: what they come to is without it", folder, name);
        json_object_del(runs, name);
    }
    if (json_object_size(runs) < before) {
        json_object_set_new(summary, "metrics", figures_of(runs));
        RGM_GO(summary_save(summary, folder));
    }
done:
    json_decref(summary);
    json_decref(names);
    return status;
}

int run_series(rgm_experiment *experiment, const run_request *request)
{
    int64_t count = rgm_experiment_part_count(experiment);
    pid_t self = getpid();
    int code = EXIT_DONE;

    if (!trains(request->mode))
        return usage_error("%s is %s runs: name one of them, by --run-dir %s/NAME with --set "
                           "trainer.fold=N or runtime.seeds=~",
                           request->run_dir, grouped(count), request->run_dir);
    if (rgm_folder_make(request->run_dir) != RGM_OK)
        return report(RGM_ERR_IO);
    if (leave_others(experiment, request->run_dir) != RGM_OK)
        return report(RGM_ERR_CONFIG);
    for (int64_t i = 0; code == EXIT_DONE && i < count; i++) {
        code = make_and_run(experiment, request, i);
        if (getpid() != self) /* the process of a run that may be started again */
            return code;
        if (code == EXIT_DONE && i + 1 < count && console_is_stopped(NULL))
            code = EXIT_CONTINUE;
    }
    return code == EXIT_DONE ? print_series(request->run_dir, request->json) : code;
}
