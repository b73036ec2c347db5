/*
 * Steps whose gradients are computed in another process than the one that updates: a worker goes to
 * a batch that it is told and keeps its gradients; the server applies what it is handed.
 */
#include <math.h>
#include <string.h>

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

/* Whether reading on from where the iterator is gets to the place, and nothing is nearer. */
static bool is_on_the_way(const rgm_trainer *trainer, const rgm_data_place *place)
{
    return trainer->iterator != NULL && trainer->passes == place->pass &&
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

/* ---- the server's half --------------------------------------------------------------------- */

/* The sums of a half step, read into a set of their own. */
static rgm_status read_sums(rgm_trainer *trainer, rgm_str bytes)
{
    if (trainer->half_sums.sums == NULL)
        RGM_TRY(rgmi_sums_open(&trainer->half_sums, trainer, true));
    return rgmi_sums_restore(&trainer->half_sums, bytes);
}

rgm_status rgm_trainer_apply_apart(rgm_step *step, const rgm_half_step *half)
{
    rgm_trainer *trainer = step->trainer;

    trainer->counted = true;
    step->loss = half->loss;
    RGM_TRY(rgmi_check_loss(trainer, half->loss));
    RGM_TRY(read_sums(trainer, half->sums));
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
        trainer->gradients[i] = half->gradients[i];
    RGM_TRY(rgmi_update(trainer, trainer->gradients, NULL, 0));
    return rgmi_sums_merge(&trainer->train_sums, &trainer->half_sums);
}

rgm_status rgmi_apart_step(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;
    rgm_status status;

    if (trainer->at_end) /* until the next loop begins */
        return RGM_END;
    trainer->agreed = trainer->is_bad = false;
    status = trainer->hooks.train_step(step, trainer->hooks.payload);
    if (status == RGM_END) {
        trainer->passes++;
        trainer->at_end = true;
    }
    return status;
}
