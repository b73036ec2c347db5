/*
 * --mode continuous_train_and_eval: follow a run that another process trains, and make a run of
 * each of its checkpoints, as trainer.initialize begins one: fine-tuned, validated, tested,
 * exported, in DIR/step-00001200. summary.json beside them keeps what those that are done came to,
 * as of a series (run_series.c); who is stopped or killed goes on with the one that was under way.
 */
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
    bool waits;         /* it was told that a checkpoint is waited for */
} following;

/* A key's value as text; NULL: it has none. */
static const char *text_of(const rgm_experiment *experiment, const char *key)
{
    const rgm_experiment_value *value = rgm_experiment_find(experiment, key);

    return value != NULL && value->value != NULL ? value->value->text : NULL;
}

/* The steps of the folders step-N in a folder, in order; none where there is no such folder. */
static rgm_status steps_in(int64_t **steps, int64_t *count, const char *folder)
{
    rgm_checkpoint_store_options options = RGM_CHECKPOINT_STORE_OPTIONS_INIT;
    rgm_checkpoint_store *store = NULL;
    rgm_status status = RGM_OK;

    *steps = NULL;
    *count = 0;
    if (!rgm_path_is_folder(folder))
        return RGM_OK;
    options.read_only = true;
    RGM_GO(rgm_checkpoint_store_open(&store, folder, &options));
    RGM_GO(rgm_checkpoint_steps(steps, count, store));
done:
    rgm_checkpoint_store_close(store);
    return status;
}

/* ---- one of them --------------------------------------------------------------------------- */

/* Whether the run of a checkpoint can begin, or can go on without it. */
static rgm_status can_run(bool *can, const char *run_dir, const char *checkpoint)
{
    char *own = NULL;
    int64_t *steps = NULL, count = 0;
    rgm_status status = RGM_OK;

    *can = rgm_path_exists(checkpoint);
    if (*can)
        return RGM_OK;
    RGM_GO(rgm_path_join(&own, run_dir, "ckpt"));
    RGM_GO(steps_in(&steps, &count, own));
    *can = count > 0;
done:
    rgm_free(steps);
    rgm_free(own);
    return status;
}

/* The experiment with that checkpoint as its beginning, run as a part of a series. */
static int run_from(const following *f, const char *name, const char *checkpoint)
{
    const char *const key = "trainer.initialize.checkpoint";
    text_list sets = *f->request->sets;
    char *text = NULL;
    rgm_experiment *experiment = NULL;
    int code = EXIT_DONE;

    if (add_keys(&sets, &text, &key, &checkpoint, 1) != RGM_OK)
        return report(RGM_ERR_CONFIG);
    code = experiment_open(&experiment, f->request->name, f->request->over, &sets);
    if (code == EXIT_DONE)
        code = run_series_part(experiment, f->request,
                               &(series_part){.folder = f->request->run_dir, .name = name});
    rgm_experiment_release(experiment);
    rgm_free(text);
    return code;
}

static int run_one(following *f, int64_t step)
{
    char name[40], *checkpoint = NULL, *run_dir = NULL;
    rgm_status status = RGM_OK;
    int code = EXIT_DONE;
    bool can;

    snprintf(name, sizeof name, STEP_NAME, (long long)step);
    f->last = step > f->last ? step : f->last;
    RGM_GO(rgm_path_join(&checkpoint, f->checkpoints, name));
    RGM_GO(rgm_path_join(&run_dir, f->request->run_dir, name));
    RGM_GO(can_run(&can, run_dir, checkpoint));
    if (can)
        code = run_from(f, name, checkpoint);
    else
        say("left out", "%s is no longer there; trainer.checkpoint.keep of %s keeps more",
            checkpoint, f->source);
done:
    rgm_free(checkpoint);
    rgm_free(run_dir);
    return status == RGM_OK ? code : report(status);
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Those that were begun or are done: each is compared with what is asked for now. */
static int go_on(following *f)
{
    int64_t *steps, count;
    int code = EXIT_DONE;

    if (steps_in(&steps, &count, f->request->run_dir) != RGM_OK)
        return report(RGM_ERR_IO);
    for (int64_t i = 0; i < count && code == EXIT_DONE; i++) {
        code = run_one(f, steps[i]);
        if (code == EXIT_DONE && console_is_stopped(NULL))
            code = EXIT_CONTINUE;
    }
    rgm_free(steps);
    return code;
}

/* The next checkpoint of the run that is followed, behind the last one; -1: none yet. */
static rgm_status find_next(int64_t *step, const following *f)
{
    int64_t *steps, count;

    *step = -1;
    RGM_TRY(steps_in(&steps, &count, f->checkpoints));
    for (int64_t i = 0; i < count && (*step < 0 || !f->every); i++)
        if (steps[i] > f->last)
            *step = steps[i];
    rgm_free(steps);
    return RGM_OK;
}

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

static void wait_for_one(following *f)
{
    if (!f->waits)
        say("waits", "for %s checkpoint of %s", f->last < 0 ? "a" : "the next", f->source);
    f->waits = true;
    console_sleep(POLL_S);
}

static int follow(following *f)
{
    double since = rgm_now();

    for (;;) {
        bool over = is_over(f); /* asked before: its last checkpoint may come meanwhile */
        int64_t step;
        int code;

        if (find_next(&step, f) != RGM_OK)
            return report(RGM_ERR_IO);
        if (console_is_stopped(NULL))
            return EXIT_CONTINUE;
        if (step < 0) {
            if (over || (f->patience >= 0 && rgm_now() - since >= f->patience))
                return EXIT_DONE;
            wait_for_one(f);
            continue;
        }
        code = run_one(f, step);
        if (code != EXIT_DONE)
            return code;
        f->waits = false;
        since = rgm_now();
    }
}

/* Something, and no run. A folder without anything may be one whose run begins at this moment. */
static bool is_no_run(const char *path)
{
    int64_t count = 0;
    char **names;

    if (!rgm_path_exists(path))
        return false;
    if (rgm_path_is_folder(path) && rgm_folder_list(&names, &count, path) == RGM_OK) {
        rgm_names_release(names, count);
        if (count == 0)
            return false;
    }
    rgm_error_reset();
    return !rgm_run_folder_exists(path);
}

static int check(const following *f, const rgm_experiment *experiment)
{
    if (f->source == NULL)
        return usage_error("--mode continuous_train_and_eval needs trainer.initialize.checkpoint: "
                           "the run folder whose checkpoints are fine-tuned");
    if (is_no_run(f->source))
        return usage_error("trainer.initialize.checkpoint: %s is no run folder, whose checkpoints "
                           "could be followed",
                           f->source);
    if (rgm_run_folder_exists(f->request->run_dir))
        return usage_error("%s is a run: --run-dir is a folder for the runs of all checkpoints",
                           f->request->run_dir);
    if (rgm_experiment_part_count(experiment) > 1)
        return usage_error("trainer.folds and runtime.seeds are several runs, and there is one for "
                           "each checkpoint: set trainer.fold, or runtime.seed");
    return EXIT_DONE;
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
    int code = check(&f, experiment);

    if (code != EXIT_DONE)
        return code;
    one.mode = RUN_TRAIN_AND_EVAL;
    console_catch_signals();
    if (rgm_path_join(&f.checkpoints, f.source, "ckpt") != RGM_OK ||
        rgm_folder_make(one.run_dir) != RGM_OK)
        code = report(RGM_ERR_IO);
    else
        code = go_on(&f);
    if (code == EXIT_DONE)
        code = follow(&f);
    if (code == EXIT_DONE && f.last < 0)
        say("runs", "none: no checkpoint of %s came", f.source);
    rgm_free(f.checkpoints);
    return code == EXIT_DONE ? print_series(one.run_dir, one.json) : code;
}
