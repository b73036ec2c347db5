/*
 * Checkpoints of weights alone, for other programs: <run>/best has those of the best validation
 * with its numbers, <run>/averages the averages of each of the newest validations. What a run
 * itself goes on from is in its checkpoints.
 */
#include <string.h>

#include "controller_internal.h"

const char *rgmi_best_number(const rgm_controller *c)
{
    static const char own[] = "valid.";
    size_t size = sizeof own - 1;

    return strncmp(c->best_name, own, size) == 0 ? c->best_name + size : c->best_name;
}

/* A checkpoint of the weights alone, then info.json, which names it. */
rgm_status rgmi_save_best(rgm_controller *c, const rgm_logs *logs)
{
    rgm_status status = RGM_OK;
    rgm_checkpoint *checkpoint = NULL;
    rgm_text info = {0};
    char *path = NULL;

    if (c->best_store == NULL)
        return RGM_OK;
    RGM_GO(rgm_checkpoint_create(&checkpoint, c->best_step));
    RGM_GO(rgm_checkpoint_add_parameters(checkpoint, c->best_weights));
    for (int64_t i = 0; i < logs->count; i++)
        RGM_GO(rgm_checkpoint_set_number(checkpoint, logs->items[i].name, logs->items[i].value));
    RGM_GO(rgm_checkpoint_save(c->best_store, checkpoint));
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
    rgm_checkpoint_release(checkpoint);
    rgm_text_clear(&info);
    rgm_free(path);
    return status;
}

/* The averages are in the parameters' place. */
static rgm_status save_weights(rgm_controller *c, const rgm_logs *logs)
{
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_checkpoint_create(&checkpoint, rgm_trainer_global_step(c->trainer)));
    RGM_GO(rgm_checkpoint_add_parameters(checkpoint, rgm_trainer_parameters(c->trainer)));
    for (int64_t i = 0; i < logs->count; i++)
        RGM_GO(rgm_checkpoint_set_number(checkpoint, logs->items[i].name, logs->items[i].value));
    RGM_GO(rgm_checkpoint_save(c->averages_store, checkpoint));
done:
    rgm_checkpoint_release(checkpoint);
    return status;
}

rgm_status rgmi_save_averages(rgm_controller *c, const rgm_logs *logs)
{
    rgm_optimizer *optimizer = rgm_trainer_optimizer(c->trainer);
    rgm_parameters *parameters = rgm_trainer_parameters(c->trainer);
    rgm_status status, swapped;
    rgm_error error;

    if (c->averages_store == NULL)
        return RGM_OK;
    RGM_TRY(rgm_optimizer_averages_swap(optimizer, parameters));
    status = save_weights(c, logs);
    if (status != RGM_OK)
        rgm_error_save(&error, status);
    swapped = rgm_optimizer_averages_swap(optimizer, parameters);
    return status != RGM_OK ? rgm_error_restore(&error) : swapped;
}
