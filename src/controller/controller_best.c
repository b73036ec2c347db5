/*
 * Checkpoints of only weights, for other programs: <run>/best has those of the best validation with
 * its numbers, <run>/averages the averages of each of the newest validations. The run itself
 * continues from its own checkpoints.
 */
#include <string.h>

#include "controller_internal.h"

const char *rgmi_best_number(const rgm_controller *c)
{
    static const char own[] = "valid.";
    size_t size = sizeof own - 1;

    return strncmp(c->best_name, own, size) == 0 ? c->best_name + size : c->best_name;
}

/* Save a checkpoint of only weights, with the numbers of their validation. */
static rgm_status save_weights(const rgm_controller *c, rgm_checkpoint_store *store, int64_t step,
                               const rgm_parameters *weights, const rgm_logs *logs)
{
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_checkpoint_create(&checkpoint, step));
    RGM_GO(rgm_checkpoint_add_parameters(checkpoint, weights));
    for (int64_t i = 0; i < logs->count; i++)
        RGM_GO(rgm_checkpoint_set_number(checkpoint, logs->items[i].name, logs->items[i].value));
    RGM_GO(store == c->best_store ? rgmi_save_filled(c, store, checkpoint, weights)
                                  : rgm_checkpoint_save(store, checkpoint));
done:
    rgm_checkpoint_release(checkpoint);
    return status;
}

/* Save the checkpoint first, then info.json, which names it. */
rgm_status rgmi_save_best(rgm_controller *c, const rgm_logs *logs)
{
    rgm_status status = RGM_OK;
    rgm_text info = {0};
    char *path = NULL;

    if (c->best_store == NULL)
        return RGM_OK;
    RGM_GO(save_weights(c, c->best_store, c->best_step, c->best_weights, logs));
    RGM_GO(rgm_text_printf(&info, "{\n"));
    for (int64_t i = 0; i < logs->count; i++) {
        RGM_GO(rgm_text_printf(&info, "    "));
        RGM_GO(rgm_json_print_text(&info, logs->items[i].name));
        RGM_GO(rgm_text_printf(&info, ": "));
        RGM_GO(rgm_json_print_number(&info, logs->items[i].value));
        RGM_GO(rgm_text_printf(&info, ",\n"));
    }
    RGM_GO(rgm_text_printf(&info, "    \"best_step\": %lld\n}\n", (long long)c->best_step));
    RGM_GO(rgm_strprintf(&path, "%s/best/info.json", c->run_dir));
    RGM_GO(rgm_file_save_own(path, info.data, info.size));
done:
    rgm_text_clear(&info);
    rgm_free(path);
    return status;
}

typedef struct validated {
    rgm_controller *controller;
    const rgm_logs *logs;
} validated;

static rgm_status save_averages(void *payload)
{
    const validated *v = payload;
    const rgm_trainer *trainer = v->controller->trainer;

    return save_weights(v->controller, v->controller->averages_store,
                        rgm_trainer_global_step(trainer), rgm_trainer_parameters(trainer), v->logs);
}

rgm_status rgmi_save_averages(rgm_controller *c, const rgm_logs *logs)
{
    validated v = {c, logs};

    return c->averages_store != NULL ? rgm_trainer_with_averages(c->trainer, save_averages, &v)
                                     : RGM_OK;
}
