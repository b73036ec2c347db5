/*
 * --mode continuous_train_and_eval: follow a run that another process trains, and make a run of
 * each of its checkpoints, as trainer.initialize begins one: fine-tuned, validated, tested,
 * exported, in DIR/step-00001200. summary.json beside them keeps what those that are done came to,
 * as of a series (run_series.c); who is stopped or killed goes on with the one that was under way.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verb_run.h"

#define POLL_S    1.0
#define STEP_NAME "step-%08lld"

typedef struct following {
    const run_request *request;
    const char *source; /* the run that is followed */
    char *checkpoints;  /* its ckpt/ */
    bool every;         /* one after the other, not the newest alone */
    double patience;    /* seconds without a new one; negative: no end */
    int64_t last;       /* step of the last that was looked at; -1: none */
} following;

/* A key's value as text; NULL: it has none. */
static const char *text_of(const rgm_experiment *experiment, const char *key)
{
    const rgm_experiment_value *value = rgm_experiment_find(experiment, key);

    return value != NULL && value->value != NULL ? value->value->text : NULL;
}

/* ---- which is next ------------------------------------------------------------------------- */

/* The first run of DIR behind `behind` that was begun and is not in the summary; -1: there is none.
 */
static rgm_status find_begun(int64_t *step, const following *f, int64_t behind)
{
    json_t *summary, *runs;
    DIR *folder = opendir(f->request->run_dir);
    struct dirent *entry;

    *step = -1;
    if (folder == NULL)
        return RGM_FAIL_SYSTEM("read", f->request->run_dir);
    if (series_summary_load(&summary, f->request->run_dir) != RGM_OK) {
        closedir(folder);
        return RGM_ERR_NOMEM;
    }
    runs = json_object_get(summary, "runs");
    while ((entry = readdir(folder)) != NULL) {
        int64_t number =
            strncmp(entry->d_name, "step-", 5) == 0 ? strtoll(entry->d_name + 5, NULL, 10) : -1;

        if (number > behind && json_object_get(runs, entry->d_name) == NULL &&
            (*step < 0 || number < *step))
            *step = number;
    }
    closedir(folder);
    json_decref(summary);
    return RGM_OK;
}

/* The next checkpoint of the run that is followed, behind the last one; -1: none yet. */
static rgm_status find_next(int64_t *step, const following *f)
{
    rgm_checkpoint_store_options options = RGM_CHECKPOINT_STORE_OPTIONS_INIT;
    rgm_checkpoint_store *store = NULL;
    int64_t *steps = NULL, count = 0;
    rgm_status status = RGM_OK;

    *step = -1;
    if (!rgm_path_is_folder(f->checkpoints))
        return RGM_OK;
    options.read_only = true;
    RGM_GO(rgm_checkpoint_store_open(&store, f->checkpoints, &options));
    RGM_GO(rgm_checkpoint_steps(&steps, &count, store));
    for (int64_t i = 0; i < count && (*step < 0 || !f->every); i++)
        if (steps[i] > f->last)
            *step = steps[i];
done:
    rgm_free(steps);
    rgm_checkpoint_store_close(store);
    return status;
}

/* ---- one of them --------------------------------------------------------------------------- */

static int tell_gone(const char *name)
{
    say("left out",
        "%s: retention took it before it was read; more are kept by "
        "trainer.checkpoint.keep of the run that is followed",
        name);
    return EXIT_DONE;
}

/* The experiment with that checkpoint as its beginning, run as a part of a series. */
static int run_one(following *f, int64_t step)
{
    text_list sets = *f->request->sets;
    char name[40], *path = NULL, *key = NULL;
    rgm_experiment *experiment = NULL;
    int code;

    snprintf(name, sizeof name, STEP_NAME, (long long)step);
    f->last = step > f->last ? step : f->last;
    if (rgm_path_join(&path, f->checkpoints, name) != RGM_OK ||
        add_keys(&sets, &key, (const char *const[]){"trainer.initialize.checkpoint"},
                 (const char *const[]){path}, 1) != RGM_OK)
        code = report(RGM_ERR_CONFIG);
    else
        code = experiment_open(&experiment, f->request->name, f->request->over, &sets);
    if (code == EXIT_DONE) {
        series_part part = {.folder = f->request->run_dir, .name = name};

        code = run_series_part(experiment, f->request, &part);
        if (code != EXIT_DONE && code != EXIT_CONTINUE && !rgm_path_exists(path))
            code = tell_gone(name);
    }
    rgm_experiment_release(experiment);
    rgm_free(path);
    rgm_free(key);
    return code;
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Whether the run that is followed will have no more checkpoints. */
static bool is_over(const following *f)
{
    rgm_run_look look;
    bool over;

    if (rgm_run_look_load(&look, f->source, 1) != RGM_OK)
        return false;
    over = look.state == RGM_RUN_FINISHED;
    rgm_run_look_clear(&look);
    return over;
}

static int follow(following *f)
{
    double since = rgm_now();
    int code = EXIT_DONE;
    int64_t step;

    for (;;) {
        bool over = is_over(f); /* asked before: its last checkpoint may come meanwhile */

        if (find_next(&step, f) != RGM_OK)
            return report(RGM_ERR_IO);
        if (console_is_stopped(NULL))
            return EXIT_CONTINUE;
        if (step >= 0) {
            code = run_one(f, step);
            if (code != EXIT_DONE)
                return code;
            since = rgm_now();
        } else if (over || (f->patience >= 0 && rgm_now() - since >= f->patience)) {
            return EXIT_DONE;
        } else {
            console_sleep(POLL_S);
        }
    }
}

/* Behind what was done, and what was begun. */
static int go_on(following *f)
{
    json_t *summary, *run;
    const char *name;
    int64_t step, behind = -1;

    if (series_summary_load(&summary, f->request->run_dir) != RGM_OK)
        return report(RGM_ERR_NOMEM);
    json_object_foreach(json_object_get(summary, "runs"), name, run)
    {
        if (strncmp(name, "step-", 5) == 0 && (step = strtoll(name + 5, NULL, 10)) > f->last)
            f->last = step;
    }
    json_decref(summary);
    for (;; behind = step) {
        int code;

        if (find_begun(&step, f, behind) != RGM_OK)
            return report(RGM_ERR_IO);
        if (step < 0)
            return EXIT_DONE;
        code = run_one(f, step);
        if (code != EXIT_DONE)
            return code;
    }
}

int run_each_checkpoint(const rgm_experiment *experiment, const run_request *request)
{
    const char *patience = text_of(experiment, "trainer.continuous_eval_timeout");
    const char *every = text_of(experiment, "trainer.continuous_eval_every");
    run_request one = *request;
    following f = {.request = &one,
                   .source = text_of(experiment, "trainer.initialize.checkpoint"),
                   .every = every != NULL && strcmp(every, "true") == 0,
                   .patience = patience != NULL ? strtod(patience, NULL) : -1,
                   .last = -1};
    int code;

    if (f.source == NULL)
        return usage_error("--mode continuous_train_and_eval needs trainer.initialize.checkpoint: "
                           "the run folder whose checkpoints are fine-tuned");
    if (rgm_path_exists(f.source) && !rgm_run_folder_exists(f.source))
        return usage_error("trainer.initialize.checkpoint: %s is no run folder, whose checkpoints "
                           "could be followed",
                           f.source);
    if (rgm_run_folder_exists(request->run_dir))
        return usage_error("%s is a run: --run-dir is a folder for the runs of all checkpoints",
                           request->run_dir);
    if (rgm_experiment_part_count(experiment) > 1)
        return usage_error("trainer.folds and runtime.seeds are several runs, and there is one for "
                           "each checkpoint: set trainer.fold, or runtime.seed");
    one.mode = RUN_TRAIN_AND_EVAL;
    console_catch_signals();
    if (rgm_path_join(&f.checkpoints, f.source, "ckpt") != RGM_OK ||
        rgm_folder_make(request->run_dir) != RGM_OK)
        code = report(RGM_ERR_IO);
    else
        code = go_on(&f);
    if (code == EXIT_DONE)
        code = follow(&f);
    rgm_free(f.checkpoints);
    return code == EXIT_DONE ? print_series(request->run_dir, request->json) : code;
}
