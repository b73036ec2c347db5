/*
 * An experiment that is several runs: folds of a cross-validation, repeated seeds. They are trained
 * one after the other, each in a folder of its own below the run folder, where summary.json keeps
 * what those that are done came to. A run that is in it is done; who is killed goes on with the
 * next.
 */
#include <string.h>
#include <unistd.h>

#include "verb_run.h"
#include "verb_runs.h"

/* ---- its runs ------------------------------------------------------------------------------ */

/* Whether a run of the summary was validated or tested, as --mode train leaves to others. */
static bool has_numbers(const json_t *run)
{
    const char *part;
    json_t *values;

    json_object_foreach(json_object_get(run, "metrics"), part, values)
    {
        if (json_object_size(values) > 0)
            return true;
    }
    return false;
}

/* Whether it is in the summary with what the mode makes, and its folder is there and of this very
 * experiment. */
static rgm_status is_done(bool *done, const series_part *part, const char *run_dir,
                          const rgm_experiment *experiment, run_mode mode)
{
    rgm_status status = RGM_OK;
    json_t *summary = NULL, *run;

    *done = false;
    RGM_GO(series_summary_load(&summary, part->folder));
    run = json_object_get(json_object_get(summary, "runs"), part->name);
    if (run != NULL && (mode == RUN_TRAIN || has_numbers(run)))
        RGM_GO(series_is_of(done, run, run_dir, experiment));
done:
    json_decref(summary);
    return status;
}

int run_series_part(rgm_experiment *experiment, const run_request *request, const series_part *part)
{
    run_request one = *request;
    char *run_dir = NULL;
    bool done = false;
    int code = EXIT_DONE;
    rgm_status status = rgm_path_join(&run_dir, part->folder, part->name);

    if (status == RGM_OK)
        status = is_done(&done, part, run_dir, experiment, request->mode);
    if (status != RGM_OK)
        code = report(status);
    else {
        if (part->all != NULL)
            say("run", "%s of %s: %s%s", grouped(part->number),
                grouped(rgm_experiment_part_count(part->all)), run_dir, done ? " is done" : "");
        else
            say("run", "%s%s", run_dir, done ? " is done" : "");
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
    series_part part = {.folder = request->run_dir, .number = i + 1, .all = experiment};
    rgm_experiment *one;
    char *name;
    int code;

    if (rgm_experiment_part(&one, &name, experiment, i) != RGM_OK)
        return report(RGM_ERR_CONFIG);
    part.name = name;
    code = run_series_part(one, request, &part);
    rgm_experiment_release(one);
    rgm_free(name);
    return code;
}

/* ---- what they came to --------------------------------------------------------------------- */

int print_series(const char *folder, bool json)
{
    rgm_text text = {0};
    json_t *summary = NULL;
    rgm_status status = series_summary_load(&summary, folder);
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

    RGM_GO(series_summary_load(&summary, folder));
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
        json_object_set_new(summary, "metrics", series_figures(runs));
        RGM_GO(series_summary_save(summary, folder));
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
                           "trainer.fold=N, or with --set runtime.seed=N and runtime.seeds=~",
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
