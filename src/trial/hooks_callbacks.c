/*
 * Callbacks of hooks: told of a run by the trainer's hooks and the controller's actions, so that a
 * trial of a search and a run without one call them alike. What on_save writes is a blob of the
 * checkpoint.
 */
#include <stdio.h>
#include <string.h>

#include "folder_pack.h"
#include "hooks.h"

#define BLOB "callbacks"

static bool are_used(const rgm_trial_hooks *h)
{
    return h->on_begin != NULL || h->on_step_end != NULL || h->on_validation_end != NULL ||
           h->on_save != NULL || h->on_load != NULL || h->on_end != NULL;
}

rgm_status rgmi_callbacks_check(const rgm_trial_hooks *h)
{
    if ((h->on_save == NULL) == (h->on_load == NULL))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "trial '%s' has on_%s without on_%s: a trial that goes on would not have what "
                    "it had",
                    h->name, h->on_save != NULL ? "save" : "load",
                    h->on_save != NULL ? "load" : "save");
}

/* ---- one call ---------------------------------------------------------------------------------
 */

/* The moment, with all that every callback sees. */
static rgm_trial_moment moment_of(rgmi_callbacks *c, const rgm_logs *metrics, const char *folder)
{
    c->batches = rgm_trainer_global_step(c->trainer);
    return (rgm_trial_moment){.hparams = &c->task->hparams,
                              .batches = c->batches,
                              .metrics = metrics,
                              .folder = folder,
                              .trainer = c->trainer};
}

typedef rgm_status callback(const rgm_trial_moment *moment, void *state);

static rgm_status call(rgmi_callbacks *c, callback *function, const char *name,
                       const rgm_logs *metrics, const char *folder)
{
    rgm_trial_moment moment = moment_of(c, metrics, folder);

    return function != NULL ? rgmi_hook_done(c->task, function(&moment, c->state), name) : RGM_OK;
}

void rgmi_callbacks_end(rgmi_callbacks *c)
{
    rgm_trial_moment moment = {.batches = c->batches};

    if (!c->has_begun)
        return;
    c->has_begun = false;
    moment.hparams = &c->task->hparams;
    if (c->task->hooks->on_end != NULL)
        c->task->hooks->on_end(&moment, c->state);
    c->state = NULL;
    if (rgmi_hook_done(c->task, RGM_OK, "on_end") != RGM_OK) {
        rgm_log_write(RGM_LOG_WARNING, "%s", rgm_error_message());
        rgm_error_reset();
    }
}

/* ---- what on_save wrote ------------------------------------------------------------------------
 */

/* An empty folder of that place. */
static rgm_status empty_folder(const char *folder)
{
    if (rgm_path_exists(folder))
        RGM_TRY(rgm_folder_remove(folder));
    return rgm_folder_make(folder);
}

/* Remove it again; an error stays. */
static rgm_status drop_folder(const char *folder, rgm_status status)
{
    rgm_error error;

    if (status == RGM_OK)
        return rgm_folder_remove(folder);
    rgm_error_save(&error, status);
    if (rgm_path_exists(folder))
        (void)rgm_folder_remove(folder);
    return rgm_error_restore(&error);
}

static void forget_saved(rgmi_callbacks *c)
{
    rgm_text_clear(&c->saved);
    c->has_saved = false;
}

static rgm_status keep_saved(rgmi_callbacks *c, const rgm_checkpoint *checkpoint)
{
    const void *data;
    int64_t size;
    rgm_status status = rgm_checkpoint_blob(&data, &size, checkpoint, BLOB);

    forget_saved(c);
    c->restored_at = rgm_checkpoint_step(checkpoint);
    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        return RGM_OK;
    }
    RGM_TRY(status);
    c->has_saved = true;
    return rgm_text_add(&c->saved, data, size);
}

/* Give the program what it saved. */
static rgm_status load(rgmi_callbacks *c)
{
    const rgm_trial_hooks *h = c->task->hooks;
    rgm_status status = RGM_OK;

    if (!c->has_saved || h->on_load == NULL) {
        if (c->has_saved || (h->on_load != NULL && c->restored_at >= 0))
            rgm_log_write(
                RGM_LOG_WARNING,
                "trial '%s': the checkpoint at %lld batches has %s: on_load is not called", h->name,
                (long long)c->restored_at,
                c->has_saved ? "files that on_save wrote, and this trial has no on_load"
                             : "nothing that on_save wrote");
        forget_saved(c);
        return RGM_OK;
    }
    RGM_GO(empty_folder(c->folder));
    RGM_GO(rgm_error_prefix(rgmi_folder_unpack(c->folder, (rgm_str){c->saved.data, c->saved.size}),
                            "the checkpoint at %lld batches: what on_save wrote",
                            (long long)c->restored_at));
    RGM_GO(call(c, h->on_load, "on_load", NULL, c->folder));
    forget_saved(c);
done:
    return drop_folder(c->folder, status);
}

static rgm_status begin(rgmi_callbacks *c)
{
    const rgm_trial_hooks *h = c->task->hooks;
    rgm_trial_moment moment;

    if (!c->calls || c->has_begun || rgm_comm_rank(c->comm) > 0)
        return RGM_OK;
    c->has_begun = true;
    moment = moment_of(c, NULL, NULL);
    if (h->on_begin != NULL)
        RGM_TRY(rgmi_hook_done(c->task, h->on_begin(&moment, &c->state), "on_begin"));
    return load(c);
}

static rgm_status save(rgm_checkpoint *checkpoint, rgmi_callbacks *c)
{
    rgm_status status = RGM_OK;
    rgm_text bytes = {0};

    RGM_GO(empty_folder(c->folder));
    RGM_GO(call(c, c->task->hooks->on_save, "on_save", NULL, c->folder));
    RGM_GO(rgmi_hook_done(c->task, rgmi_folder_pack(&bytes, c->folder, RGM_MAX_SAVED), "on_save"));
    RGM_GO(rgm_checkpoint_set_blob(checkpoint, BLOB, bytes.data, bytes.size));
done:
    rgm_text_clear(&bytes);
    return drop_folder(c->folder, status);
}

/* ---- what a run tells -------------------------------------------------------------------------
 */

static rgm_status loop_begin(rgm_trainer *trainer, void *payload)
{
    ((rgmi_callbacks *)payload)->trainer = trainer;
    return begin(payload);
}

static rgm_status eval_begin(rgm_trainer *trainer, rgm_mode mode, void *payload)
{
    rgmi_callbacks *c = payload;

    c->trainer = trainer;
    c->mode = mode;
    return mode == RGM_VALID ? begin(c) : RGM_OK;
}

static rgm_status step_end(const rgm_logs *output, rgm_controller *controller, void *payload)
{
    rgmi_callbacks *c = payload;

    c->trainer = rgm_controller_trainer(controller);
    RGM_TRY(begin(c));
    return call(c, c->task->hooks->on_step_end, "on_step_end", output, NULL);
}

static rgm_status validation_end(const rgm_logs *output, rgm_controller *controller, void *payload)
{
    rgmi_callbacks *c = payload;

    c->trainer = rgm_controller_trainer(controller);
    return c->mode == RGM_VALID
               ? call(c, c->task->hooks->on_validation_end, "on_validation_end", output, NULL)
               : RGM_OK;
}

/* What was restored and has not gone on stays what it is. */
static rgm_status save_state(rgm_checkpoint *checkpoint, void *payload)
{
    rgmi_callbacks *c = payload;
    bool goes_on = c->trainer != NULL && rgm_trainer_global_step(c->trainer) != c->restored_at;

    if (goes_on)
        RGM_TRY(begin(c));
    if (!c->has_begun && c->has_saved)
        return rgm_checkpoint_set_blob(checkpoint, BLOB, c->saved.data, c->saved.size);
    return c->has_begun && c->task->hooks->on_save != NULL ? save(checkpoint, c) : RGM_OK;
}

static rgm_status restore_state(const rgm_checkpoint *checkpoint, void *payload)
{
    rgmi_callbacks *c = payload;

    if (rgm_comm_rank(c->comm) > 0)
        return RGM_OK;
    RGM_TRY(keep_saved(c, checkpoint));
    return c->has_begun ? load(c) : RGM_OK;
}

static rgm_status roll_back_state(const rgm_checkpoint *checkpoint, void *payload)
{
    rgmi_callbacks *c = payload;

    if (checkpoint != NULL)
        return restore_state(checkpoint, payload);
    forget_saved(c);
    c->restored_at = -1;
    rgmi_callbacks_end(c);
    return begin(c);
}

/* ---- the run they are attached to --------------------------------------------------------------
 */

/* Behind the actions that a run's program gave. */
static rgm_status add_action(rgm_action **list, const rgm_action **actions, int64_t *count,
                             rgm_action last)
{
    RGM_TRY(RGM_NEW(*list, *count + 1));
    for (int64_t i = 0; i < *count; i++)
        (*list)[i] = (*actions)[i];
    (*list)[(*count)++] = last;
    *actions = *list;
    return RGM_OK;
}

rgm_status rgmi_callbacks_attach(rgm_run_options *options, rgmi_hooks_task *task,
                                 const char *run_dir, rgm_comm *comm, bool calls)
{
    rgmi_callbacks *c = &task->callbacks;

    if (!are_used(task->hooks))
        return RGM_OK;
    if (options->trainer_hooks != NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "trial '%s' has callbacks, which are trainer_hooks of its run: it takes no "
                        "others beside them",
                        task->hooks->name);
    rgmi_callbacks_release(c); /* of a run before */
    c->task = task;
    c->comm = comm != NULL ? comm : rgm_comm_self();
    c->calls = calls;
    c->restored_at = -1;
    if (run_dir != NULL)
        RGM_TRY(rgm_strprintf(&c->folder, "%s/callbacks.partial", run_dir));
    c->hooks = (rgm_trainer_hooks){.train_loop_begin = loop_begin,
                                   .eval_begin = eval_begin,
                                   .save_state = save_state,
                                   .restore_state = restore_state,
                                   .roll_back_state = roll_back_state,
                                   .payload = c};
    options->trainer_hooks = &c->hooks;
    if (!calls)
        return RGM_OK;
    RGM_TRY(add_action(&c->train_actions, &options->train_actions, &options->train_action_count,
                       (rgm_action){.run = step_end, .payload = c}));
    return add_action(&c->eval_actions, &options->eval_actions, &options->eval_action_count,
                      (rgm_action){.run = validation_end, .payload = c});
}

rgm_status rgmi_callbacks_opened(rgmi_hooks_task *task, const rgm_open_run *run)
{
    rgmi_callbacks *c = &task->callbacks;

    if (c->task == NULL)
        return RGM_OK;
    c->trainer = rgm_run_trainer(run);
    return rgm_trainer_loop_step(c->trainer) >= 0 ? begin(c) : RGM_OK; /* its begin is over */
}

void rgmi_callbacks_release(rgmi_callbacks *c)
{
    rgmi_callbacks_end(c);
    forget_saved(c);
    rgm_free(c->folder);
    rgm_free(c->train_actions);
    rgm_free(c->eval_actions);
    c->folder = NULL;
    c->train_actions = c->eval_actions = NULL;
}
