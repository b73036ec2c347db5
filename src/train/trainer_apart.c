/*
 * Steps whose gradients are computed in another process than the one that updates: a worker goes to
 * a batch that it is told and keeps its gradients. What the server does with them is in
 * trainer_apart_server.c.
 */
#include "trainer_internal.h"

/* ---- what can be done apart ---------------------------------------------------------------- */

rgm_status rgm_trainer_check_apart(const rgm_trainer *trainer)
{
    static const char key[] = "runtime.distribution is asynchronous";

    if (trainer->task.train_step != NULL)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "%s, but task '%s' has a train_step of its own, which nobody can cut in two", key,
            trainer->task.name);
    if (trainer->train_run == NULL || trainer->optimizer == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s, but task '%s' has no %s", key, trainer->task.name,
                        trainer->train_run == NULL ? "model to train" : "optimizer");
    if (trainer->private.used)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s, but training is private: its account holds for batches that one "
                        "process draws and adds noise to, one after the other",
                        key);
    if (rgmi_is_sharded(trainer))
        return RGM_FAIL(RGM_ERR_CONFIG, "%s, and runtime.shards is %lld: a batch is one worker's",
                        key, (long long)trainer->shards.count);
    if (trainer->loss_scale.dynamic)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s, but runtime.loss_scale is dynamic, and workers are not at one step: "
                        "set a number, or mixed_precision: bf16, which needs none",
                        key);
    if (trainer->options.profile.steps > 0 || trainer->options.flops)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s, and %s would tell of the server, which runs no model",
                        key, trainer->options.flops ? "trainer.flops" : "a profile");
    if (!rgm_device_is_host(rgm_trainer_device(trainer)))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s, and weights and gradients travel from the host's "
                        "memory: set runtime.device: cpu",
                        key);
    return RGM_OK;
}

int64_t rgm_trainer_turn_batches(const rgm_trainer *trainer)
{
    return rgmi_step_batches(trainer);
}

/* ---- a worker's half ----------------------------------------------------------------------- */

/* Whether reading on from where the iterator is gets to the place, and the caller knows no nearer
 * position. */
static bool is_on_the_way(const rgm_trainer *trainer, const rgm_data_place *place)
{
    return trainer->iterator != NULL && place->position_size == 0 &&
           trainer->passes == place->pass &&
           rgm_iterator_position(trainer->iterator) <= place->batch;
}

static rgm_status reopen(rgm_trainer *trainer, const rgm_data_place *place)
{
    rgm_iterator_release(trainer->iterator);
    trainer->iterator = NULL;
    trainer->passes = place->pass;
    RGM_TRY(rgmi_iterator_open(trainer));
    if (place->position_size > 0)
        RGM_TRY(rgm_iterator_restore(trainer->iterator, place->position, place->position_size));
    if (rgm_iterator_position(trainer->iterator) > place->batch)
        return RGM_FAIL(RGM_ERR_DATA, "the position is behind batch %lld", (long long)place->batch);
    return RGM_OK;
}

rgm_status rgm_trainer_go_to(rgm_trainer *trainer, const rgm_data_place *place)
{
    if (trainer->loop_step < 0)
        RGM_TRY(rgm_trainer_train_loop_begin(trainer));
    rgmi_sums_reset(&trainer->train_sums);
    trainer->at_end = false;
    trainer->step = place->step;
    if (!is_on_the_way(trainer, place))
        RGM_TRY(reopen(trainer, place));
    while (rgm_iterator_position(trainer->iterator) < place->batch) {
        rgm_element *batch;

        RGM_TRY(rgmi_next_train_inputs(&batch, trainer));
        rgm_element_release(batch);
    }
    return RGM_OK;
}

int64_t rgm_trainer_reached(const rgm_trainer *trainer)
{
    return trainer->iterator != NULL ? rgm_iterator_position(trainer->iterator)
                                     : trainer->pass_batches;
}

rgm_status rgm_trainer_position(rgm_text *out, const rgm_trainer *trainer)
{
    return trainer->iterator != NULL ? rgm_iterator_save(out, trainer->iterator) : RGM_OK;
}

rgm_status rgm_trainer_take_sums(rgm_text *out, const rgm_trainer *trainer)
{
    return rgmi_sums_save(out, &trainer->train_sums);
}
