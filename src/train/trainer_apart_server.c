/*
 * The server's half of a step whose gradients were computed in another process.
 */
#include "trainer_internal.h"

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
