/*
 * A differentially private step (Abadi et al. 2016): the gradient of each example by itself,
 * clipped; their sum with noise, over the expected number of examples; then the optimizer as ever.
 * What each step spends is kept in an account that is part of the checkpoint.
 */
#include <string.h>

#include "trainer_internal.h"

static rgm_status check_sampling(const rgm_trainer *trainer)
{
    const rgm_privacy *privacy = &trainer->options.privacy;
    const rgm_sampling *sampling = &trainer->private.sampling;
    bool poisson = privacy->sampling == RGM_PRIVACY_POISSON;

    if (sampling->poisson != poisson)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy.sampling is %s, but the data of task '%s' come %s",
                        poisson ? "poisson" : "shuffle", trainer->task.name,
                        sampling->poisson ? "by Poisson sampling" : "in shuffled batches");
    if (privacy->delta * (double)sampling->examples >= 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy.delta is %g; it must be below 1 / %lld, the number of "
                        "training examples",
                        privacy->delta, (long long)sampling->examples);
    return RGM_OK;
}

rgm_status rgmi_private_open(rgm_trainer *trainer)
{
    const rgm_privacy *privacy = &trainer->options.privacy;
    const rgm_task *task = &trainer->task;

    RGM_TRY(rgm_privacy_check(privacy));
    if (privacy->clipping_norm == 0)
        return RGM_OK;
    if (task->sampling == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy: task '%s' does not say how its examples are drawn",
                        task->name);
    if (trainer->options.accumulation_steps > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy (clipping_norm %g) and trainer.accumulation_steps (%lld) "
                        "exclude each other",
                        privacy->clipping_norm, (long long)trainer->options.accumulation_steps);
    if (trainer->loss_scale.used)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "trainer.privacy (clipping_norm %g) and runtime.loss_scale (%s) exclude each "
            "other: what is clipped is the gradient itself",
            privacy->clipping_norm, trainer->runtime.loss_scale);
    if (rgm_cgraph_update_count(trainer->graph) > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy: the model keeps averages over examples (batch "
                        "normalisation in '%s'), which would give them away",
                        rgm_value_name(rgm_cgraph_update_state(trainer->graph, 0)));
    RGM_TRY(task->sampling(&trainer->private.sampling, task->state));
    trainer->private.used = true;
    return check_sampling(trainer);
}

static void clear_sums(rgm_trainer *trainer)
{
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
        if (trainer->accumulator.sums[i] != NULL)
            memset(rgm_tensor_data(trainer->accumulator.sums[i]), 0,
                   rgm_tensor_bytes(trainer->accumulator.sums[i]));
}

/* Add the clipped gradient of example i of the batch; its dropout is its own. */
static rgm_status add_example(rgm_step *step, int64_t i, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = step->trainer;
    int64_t parameters = rgm_parameters_count(trainer->parameters);
    rgm_element *example = NULL;
    rgm_feed feeds[RGMI_MAX_FEEDS];
    int64_t feed_count = 0;

    RGM_GO(rgm_element_row(&example, step->inputs, i));
    RGM_GO(rgmi_run_batch(step, feeds, &feed_count, example, trainer->step * count + i));
    RGM_GO(rgm_privacy_clip_add(trainer->accumulator.sums, trainer->gradients, parameters,
                                trainer->options.privacy.clipping_norm, NULL));
    trainer->counted = false; /* each example counts */
    rgmi_count_step(step);
done:
    rgm_element_release(example);
    return status;
}

/* Examples of a batch; 0 is possible with Poisson sampling. */
static int64_t count_examples(const rgm_element *inputs)
{
    if (rgm_element_get_kind(inputs) != RGM_ELEMENT_TENSORS || rgm_element_count(inputs) == 0)
        return -1;
    return rgm_tensor_dim(rgm_element_tensor(inputs, 0), 0);
}

rgm_status rgmi_private_step(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;
    const rgm_privacy *privacy = &trainer->options.privacy;
    const rgm_sampling *sampling = &trainer->private.sampling;
    int64_t count = count_examples(step->inputs);
    double loss = 0, items = 0;

    if (count < 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy: the batches of task '%s' are no tensors of "
                        "examples",
                        trainer->task.name);
    clear_sums(trainer);
    for (int64_t i = 0; i < count; i++) {
        RGM_TRY(add_example(step, i, count));
        loss += step->loss * step->items;
        items += step->items;
    }
    RGM_TRY(rgm_privacy_noise(trainer->accumulator.sums, rgm_parameters_count(trainer->parameters),
                              privacy->noise_multiplier * privacy->clipping_norm,
                              1 / (sampling->rate * (double)sampling->examples),
                              (uint64_t)trainer->runtime.seed, trainer->step));
    RGM_TRY(rgm_privacy_step(&trainer->private.accountant, privacy->noise_multiplier,
                             sampling->rate, 1));
    RGM_TRY(rgmi_update(trainer, trainer->accumulator.sums, NULL, 0));
    step->loss =
        items > 0 ? loss / items : 0; /* an empty draw has no loss, and counts for nothing */
    step->items = items;
    trainer->counted = true;
    return RGM_OK;
}
