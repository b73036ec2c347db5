/*
 * evaluate_continuously: a second process follows a run folder, restores each newest checkpoint
 * that appears, or every one in order, and evaluates it. Its results have their own folder, because
 * the run's folder belongs to the trainer. When it evaluates every one, a file `evaluated` there
 * says how far it is, and the trainer spares later checkpoints; after a kill its own log says the
 * same.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "controller_internal.h"

#define POLL_SECONDS 0.5

/* The evaluator's own files: <run>/continuous_eval, locked by it. */
typedef struct follower {
    rgm_run_folder *folder;
    rgm_metrics_log *metrics;
    rgm_event_file *events;
    char *mark;        /* when every checkpoint is evaluated: the file `evaluated`; else NULL */
    int64_t evaluated; /* the last step; -1: none yet                          */
} follower;

static rgm_status note_last(const rgm_metrics_entry *entry, void *payload)
{
    follower *f = payload;

    f->evaluated = entry->step > f->evaluated ? entry->step : f->evaluated;
    return RGM_OK;
}

static rgm_status write_mark(const follower *f)
{
    char text[32];

    if (f->mark == NULL)
        return RGM_OK;
    return rgm_file_save_own(f->mark, text,
                             snprintf(text, sizeof text, "%lld\n", (long long)f->evaluated));
}

/* When every checkpoint is evaluated, continue where an earlier evaluator stopped. */
static rgm_status begin_every(follower *f, const char *folder, const char *metrics)
{
    RGM_TRY(rgm_metrics_log_read(metrics, note_last, f));
    RGM_TRY(rgm_path_join(&f->mark, folder, RGMI_EVALUATED_FILE));
    return write_mark(f);
}

static rgm_status open_follower(follower *f, const rgm_controller *c)
{
    rgm_status status = RGM_OK;
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    char *path = NULL, *metrics = NULL;
    int64_t end;

    options.resume = RGM_RESUME_ANY;
    options.seed = (uint64_t)rgm_trainer_runtime(c->trainer)->seed;
    options.threads = rgm_threads();
    options.isa = rgm_kernels_for(rgm_trainer_device(c->trainer), RGM_F32)->isa;
    RGM_GO(rgm_path_join(&path, c->run_dir, "continuous_eval"));
    RGM_GO(rgm_path_join(&metrics, path, "metrics.jsonl"));
    RGM_GO(rgm_run_folder_open(&f->folder, path, &options));
    status = rgm_metrics_log_open(&f->metrics, metrics, -1);
    if (status == RGM_ERR_FORMAT) {
        rgm_error_reset();
        RGM_GO(rgm_metrics_log_repair(&end, metrics, -1));
        RGM_GO(rgm_metrics_log_open(&f->metrics, metrics, end));
    }
    RGM_GO(status);
    RGM_GO(rgm_event_file_create(&f->events, path, 0));
    f->evaluated = -1;
    if (c->options.continuous_eval_every)
        RGM_GO(begin_every(f, path, metrics));
done:
    rgm_free(path);
    rgm_free(metrics);
    return status;
}

static void close_follower(follower *f)
{
    rgm_event_file_close(f->events);
    rgm_metrics_log_close(f->metrics);
    rgm_run_folder_close(f->folder);
    rgm_free(f->mark);
}

/* The next step to evaluate, the newest or the one after the last; -1 when there is none. */
static int64_t next_step(rgm_controller *c, const follower *f)
{
    int64_t *steps = NULL, count = 0, next = -1;

    if (c->store == NULL && rgmi_store_open(c, true) != RGM_OK)
        rgm_error_reset();
    if (c->store == NULL)
        return -1;
    if (rgm_checkpoint_steps(&steps, &count, c->store) != RGM_OK)
        rgm_error_reset(); /* the trainer is changing the folder: look again */
    for (int64_t i = 0; i < count; i++)
        if (steps[i] > f->evaluated && (f->mark == NULL || next < 0))
            next = steps[i];
    rgm_free(steps);
    return next;
}

/* Skip a checkpoint that cannot be read. If only the newest matters, another will come; else a
 * result is missing. */
static void pass_over(follower *f, int64_t step)
{
    if (f->mark != NULL) {
        rgm_log_write(RGM_LOG_WARNING, "the checkpoint of step %lld is not evaluated: %s",
                      (long long)step, rgm_error_message());
        f->evaluated = step;
    }
    rgm_error_reset();
}

/* Restore the checkpoint of `step`, or the newest; *restored is false if it is gone, because
 * retention may have been quicker. */
static rgm_status take(rgm_controller *c, follower *f, int64_t step, bool *restored)
{
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status = f->mark != NULL ? rgm_checkpoint_load_step(&checkpoint, c->store, step)
                                        : rgm_checkpoint_load_newest(&checkpoint, c->store);
    rgm_key_place finished = {RGM_KEY_FINISHED, &c->finished};

    *restored = false;
    if (status == RGM_ERR_NOT_FOUND || status == RGM_ERR_FORMAT || status == RGM_ERR_IO) {
        pass_over(f, step);
        return RGM_OK;
    }
    if (status != RGM_OK)
        return status;
    status = rgm_trainer_restore_state(c->trainer, checkpoint);
    if (status == RGM_OK)
        status = rgm_checkpoint_get_keys(checkpoint, &finished, 1);
    rgm_checkpoint_release(checkpoint);
    if (status != RGM_OK)
        return status;
    *restored = true;
    rgmi_tell(c, RGM_EVENT_RESTORE, RGM_VALID, NULL);
    return RGM_OK;
}

/* set: "valid_news", a prefix of the names in the event file; NULL: validation's own data. */
static rgm_status write_logs(follower *f, const rgm_controller *c, const char *set,
                             const rgm_logs *logs)
{
    int64_t step = rgm_trainer_global_step(c->trainer);
    char tag[256];

    RGM_TRY(rgm_metrics_log_add(f->metrics, set != NULL ? set : rgm_mode_name(RGM_VALID), step,
                                rgm_trainer_passes(c->trainer), logs->items, logs->count));
    for (int64_t i = 0; i < logs->count; i++) {
        snprintf(tag, sizeof tag, "%s%s%s", set != NULL ? set : "", set != NULL ? "/" : "",
                 logs->items[i].name);
        RGM_TRY(rgm_event_file_scalar(f->events, tag, step, logs->items[i].value));
    }
    return RGM_OK;
}

/* Make one pass for a checkpoint; set -1: over validation's own data. */
static rgm_status evaluate_part(rgm_controller *c, follower *f, int64_t set, int64_t steps,
                                const rgm_logs **logs)
{
    const char *name = set >= 0 ? rgm_trainer_eval_set_name(c->trainer, set) : NULL;

    rgmi_tell_pass(c, RGM_EVENT_EVAL_BEGIN, RGM_VALID, name, NULL);
    RGM_TRY(rgmi_run_pass(c, RGM_VALID, set, steps, logs));
    if (name == NULL)
        RGM_TRY(rgmi_run_actions(c, c->eval_actions, c->eval_action_count, *logs));
    RGM_TRY(write_logs(f, c, name, *logs));
    rgmi_tell_pass(c, RGM_EVENT_EVAL_END, RGM_VALID, name, *logs);
    return RGM_OK;
}

static rgm_status evaluate_step(rgm_controller *c, follower *f, int64_t step, int64_t steps,
                                const rgm_logs **logs)
{
    const rgm_eval_set *sets;
    int64_t count = rgm_trainer_eval_sets(&sets, c->trainer);
    const rgm_logs *of_set;
    int64_t offset;
    bool restored;

    RGM_TRY(take(c, f, step, &restored));
    if (!restored)
        return write_mark(f);
    RGM_TRY(evaluate_part(c, f, -1, steps, logs));
    for (int64_t i = 0; i < count; i++)
        if (sets[i].mode == RGM_VALID)
            RGM_TRY(evaluate_part(c, f, i, steps, &of_set));
    RGM_TRY(rgm_metrics_log_commit(&offset, f->metrics)); /* all of a step, or nothing */
    RGM_TRY(rgm_event_file_flush(f->events));
    f->evaluated = rgm_trainer_global_step(c->trainer);
    RGM_TRY(write_mark(f));
    return RGM_OK;
}

static void wait_a_little(void)
{
    struct timespec pause = {.tv_nsec = (long)(POLL_SECONDS * 1e9)};

    (void)nanosleep(&pause, NULL); /* a signal may cut it short: should_stop is asked next */
}

static rgm_status follow(rgm_controller *c, follower *f, int64_t steps, int64_t final_step,
                         double timeout, bool (*timeout_fn)(void *payload), void *payload,
                         const rgm_logs **logs)
{
    double waiting_since = rgm_now();

    while (final_step <= 0 || f->evaluated < final_step) {
        int64_t before = f->evaluated, next = next_step(c, f);

        if (rgmi_decide(c, RGM_DECIDE_STOP))
            return RGM_STOPPED;
        if (next >= 0)
            RGM_TRY(evaluate_step(c, f, next, steps, logs));
        else if (c->finished && f->evaluated >= 0) /* stopped early: no more will come */
            return RGM_OK;
        if (f->evaluated > before) {
            waiting_since = rgm_now();
            continue;
        }
        if (timeout >= 0 && rgm_now() - waiting_since >= timeout) {
            if (timeout_fn == NULL || timeout_fn(payload))
                return RGM_OK;
            waiting_since = rgm_now();
        }
        wait_a_little();
    }
    return RGM_OK;
}

rgm_status rgm_controller_evaluate_continuously(rgm_controller *c, int64_t steps,
                                                int64_t final_step, double timeout,
                                                bool (*timeout_fn)(void *payload), void *payload,
                                                const rgm_logs **logs)
{
    follower f = {0};
    rgm_status status = RGM_OK;
    rgm_logger *before = rgm_logger_current();

    *logs = NULL;
    if (c->run_dir == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "there is no run folder to follow");
    if (c->folder != NULL)
        return RGM_FAIL(RGM_ERR_ARG, "a run is followed read_only: its trainer holds the folder");
    RGM_GO(open_follower(&f, c));
    rgm_logger_enter(rgm_run_folder_logger(f.folder));
    RGM_GO(follow(c, &f, steps, final_step, timeout, timeout_fn, payload, logs));
    if (f.mark != NULL) /* there will be no more */
        (void)unlink(f.mark);
done:
    rgm_logger_enter(before);
    close_follower(&f);
    return status;
}
