/*
 * Checkpoints that are written while training goes on (trainer.checkpoint.asynchronous): the state
 * is copied, and a thread writes the copy. There is one at a time. Whoever saves, restores or lists
 * checkpoints waits for it first, so that nothing else ever meets the store while it is written.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "controller_internal.h"

struct rgmi_behind {
    pthread_t thread;
    rgm_checkpoint *checkpoint; /* the thread's, and all that it holds is its own */
    rgm_checkpoint_store *store;
    int64_t step;
    rgm_logger *log;
    atomic_bool is_done;
    rgm_status status; /* of the thread, and its error */
    rgm_error error;
};

static void *write_checkpoint(void *payload)
{
    rgmi_behind *behind = payload;

    rgm_logger_enter(behind->log);
    behind->status = rgm_checkpoint_save(behind->store, behind->checkpoint);
    if (behind->status != RGM_OK)
        rgm_error_save(&behind->error, behind->status);
    rgm_checkpoint_release(behind->checkpoint);
    atomic_store(&behind->is_done, true);
    return NULL;
}

static rgm_status start(rgmi_behind **out, const rgm_controller *c, rgm_checkpoint *checkpoint)
{
    rgmi_behind *behind = NULL;

    RGM_TRY(rgm_checkpoint_detach(checkpoint));
    RGM_TRY(RGM_NEW(behind, 1));
    behind->checkpoint = checkpoint;
    behind->store = c->store;
    behind->step = rgm_checkpoint_step(checkpoint);
    behind->log = rgm_logger_current();
    if (rgm_thread_start(&behind->thread, write_checkpoint, behind) != 0) {
        rgm_free(behind);
        return RGM_FAIL(RGM_ERR_NOMEM, "no thread to write it");
    }
    *out = behind;
    return RGM_OK;
}

bool rgmi_behind_start(rgm_controller *c, rgm_checkpoint *checkpoint)
{
    if (start(&c->behind, c, checkpoint) == RGM_OK)
        return true;
    rgm_log_write(RGM_LOG_WARNING, "checkpoint %lld is written before the next step: %s",
                  (long long)rgm_checkpoint_step(checkpoint), rgm_error_message());
    rgm_error_reset();
    return false;
}

rgm_status rgmi_behind_end(rgm_controller *c)
{
    rgmi_behind *behind = c->behind;
    rgm_status status = RGM_OK;

    if (behind == NULL)
        return RGM_OK;
    c->behind = NULL;
    pthread_join(behind->thread, NULL);
    if (behind->status == RGM_OK) {
        rgmi_tell_saved(c, behind->step);
    } else {
        c->saved_changes = -1; /* whoever saves next tries it again */
        status = rgm_error_prefix(rgm_error_restore(&behind->error), "checkpoint %lld",
                                  (long long)behind->step);
    }
    rgm_free(behind);
    return status;
}

rgm_status rgmi_behind_finish(rgm_controller *c, rgm_status status)
{
    rgm_error error;
    rgm_status written;

    if (c->behind == NULL)
        return status;
    if (status != RGM_OK)
        rgm_error_save(&error, status);
    written = rgmi_behind_end(c);
    if (status == RGM_OK || status == RGM_STOPPED)
        return written != RGM_OK ? written : status;
    if (written != RGM_OK)
        rgm_log_write(RGM_LOG_WARNING, "%s", rgm_error_message());
    return rgm_error_restore(&error);
}

rgm_status rgmi_behind_look(rgm_controller *c)
{
    return c->behind != NULL && atomic_load(&c->behind->is_done) ? rgmi_behind_end(c) : RGM_OK;
}
