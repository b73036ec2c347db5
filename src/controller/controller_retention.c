/*
 * Which checkpoints retention spares: those of the best validations, and those that an evaluator of
 * every checkpoint, in another process, has yet to see.
 */
#include <stdlib.h>

#include "controller_internal.h"

/* *evaluated: how far an evaluator of every checkpoint is; INT64_MAX when there is none. */
static rgm_status ask_evaluator(int64_t *evaluated, rgm_controller *c)
{
    char *folder = NULL, *path = NULL, *text = NULL;
    int64_t size = 0;
    bool running = true;
    rgm_status status = RGM_OK;

    *evaluated = INT64_MAX;
    RGM_GO(rgm_path_join(&folder, c->run_dir, "continuous_eval"));
    RGM_GO(rgm_path_join(&path, folder, RGMI_EVALUATED_FILE));
    if (!rgm_path_exists(path))
        goto done;
    status = rgm_file_load(&text, &size, path, 64);
    *evaluated = text != NULL ? strtoll(text, NULL, 10) : -1; /* not readable: spare all */
    if (status == RGM_ERR_NOMEM)
        goto done;
    status = rgm_run_folder_in_use(&running, folder);
    if (status == RGM_OK && !running && !c->told_waiting) {
        c->told_waiting = true;
        rgm_log_write(RGM_LOG_WARNING,
                      "checkpoints behind step %lld are kept for an evaluator of every one, which "
                      "is not running: start it again, or remove %s",
                      (long long)*evaluated, path);
    }
done:
    rgm_free(text);
    rgm_free(path);
    rgm_free(folder);
    if (status != RGM_ERR_NOMEM && status != RGM_OK) {
        rgm_error_reset();
        status = RGM_OK;
    }
    return status;
}

/* Spare the best validations, and those that an evaluator of every checkpoint has yet to see. */
rgm_status rgmi_spare(rgm_controller *c)
{
    int64_t *there = NULL, *spared = NULL, count = 0, evaluated;
    rgm_status status = RGM_OK;

    RGM_GO(ask_evaluator(&evaluated, c));
    if (evaluated < INT64_MAX)
        RGM_GO(rgm_checkpoint_steps(&there, &count, c->store));
    RGM_GO(RGM_NEW(spared, c->kept_count + count));
    for (int64_t i = 0; i < c->kept_count; i++)
        spared[i] = c->kept[i].step;
    for (int64_t i = 0; i < count; i++)
        spared[c->kept_count + i] = there[i] > evaluated ? there[i] : -1;
    RGM_GO(rgm_checkpoint_store_spare(c->store, spared, c->kept_count + count));
done:
    rgm_free(there);
    rgm_free(spared);
    return status;
}
