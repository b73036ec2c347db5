/*
 * A differentially private step (Abadi et al. 2016): the clipped gradient of each example by
 * itself; the sum of these with noise, divided by the expected number of examples; then the
 * optimizer as usual. An account of what each step spends is part of the checkpoint. Noise, samples
 * and masks are functions of a secret and of the number of private steps begun, so none is drawn
 * twice.
 */
#include <math.h>
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

/* Refuse a task's own step: nobody can clip or count the examples it uses. */
static rgm_status check_steps(const rgm_trainer *trainer, const rgm_trainer_setup *setup)
{
    const rgm_task *task = &trainer->task;

    if (task->train_step != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy: task '%s' has a train_step of its own, whose gradients "
                        "would be neither clipped nor noisy",
                        task->name);
    if (trainer->train_run == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy: task '%s' has no build_model, so nothing of it can be "
                        "trained with privacy",
                        task->name);
    if (setup->train_dataset != NULL || trainer->hooks.next_train_inputs != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy: %s, but only the task's own data are known to be drawn "
                        "as its account says",
                        setup->train_dataset != NULL ? "a train_dataset is given"
                                                     : "batches come from a hook");
    return RGM_OK;
}

/* Refuse options that let one example count for more than its clipped gradient, or decide what
 * counts. */
static rgm_status check_influence(const rgm_trainer *trainer)
{
    rgm_trainer_options defaults;

    rgm_trainer_defaults(&defaults);
    RGM_TRY(rgm_options_check_rules(rgm_trainer_rules, &trainer->options, &defaults,
                                    rgm_trainer_fields, "trainer"));
    if (trainer->loss_scale.used)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "trainer.privacy (clipping_norm %g) and runtime.loss_scale (%s) exclude each "
            "other: what is clipped is the gradient itself",
            trainer->options.privacy.clipping_norm, trainer->runtime.loss_scale);
    if (rgm_cgraph_update_count(trainer->graph) > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy: the model keeps averages over examples (batch "
                        "normalisation in '%s'), which would give them away",
                        rgm_value_name(rgm_cgraph_update_state(trainer->graph, 0)));
    return RGM_OK;
}

/* An epsilon slightly above the target is rounding: the account is added up step by step. */
static bool is_above(double epsilon, double target)
{
    return epsilon > target * (1 + 1e-6);
}

static double epsilon_after(const rgm_trainer *trainer, int64_t steps)
{
    rgm_privacy_accountant accountant = trainer->private.accountant;

    (void)rgm_privacy_step(&accountant, trainer->private.noise_multiplier,
                           trainer->private.sampling.rate, steps);
    return rgm_privacy_epsilon(&accountant, trainer->options.privacy.delta);
}

/* Check that this many more steps stay within the target. */
static rgm_status check_target(const rgm_trainer *trainer, int64_t steps)
{
    double target = trainer->options.privacy.target_epsilon, epsilon;

    if (target == 0)
        return RGM_OK;
    epsilon = epsilon_after(trainer, steps);
    if (is_above(epsilon, target))
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "trainer.privacy.target_epsilon is %g: %g is spent at step %lld, and %lld "
            "more steps would make it %g; its noise is for a run of %lld steps: keep the "
            "length that it was begun with, or use another run folder",
            target, rgm_trainer_epsilon(trainer), (long long)trainer->step, (long long)steps,
            epsilon, (long long)rgm_trainer_total_updates(trainer));
    return RGM_OK;
}

rgm_status rgmi_private_resume(const rgm_trainer *trainer)
{
    int64_t left = rgm_trainer_total_updates(trainer) - trainer->step;

    return left > 0 ? check_target(trainer, left) : RGM_OK;
}

static rgm_status choose_noise(rgm_trainer *trainer)
{
    const rgm_privacy *privacy = &trainer->options.privacy;
    int64_t steps = rgm_trainer_total_updates(trainer);
    rgm_status status;

    trainer->private.noise_multiplier = privacy->noise_multiplier;
    if (privacy->target_epsilon == 0)
        return RGM_OK;
    if (steps == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy.target_epsilon is %g, but how many steps the run has is "
                        "not known: set trainer.train_steps or trainer.steps_per_epoch",
                        privacy->target_epsilon);
    status = rgm_privacy_noise_for(&trainer->private.noise_multiplier, privacy->target_epsilon,
                                   privacy->delta, trainer->private.sampling.rate, steps);
    return rgm_error_prefix(status, "trainer.privacy.target_epsilon");
}

rgm_status rgmi_private_open(rgm_trainer *trainer, const rgm_trainer_setup *setup)
{
    const rgm_privacy *privacy = &trainer->options.privacy;
    const rgm_task *task = &trainer->task;

    RGM_TRY(rgm_privacy_check(privacy));
    if (privacy->clipping_norm == 0 || trainer->data[RGM_TRAIN] == NULL)
        return RGM_OK;
    RGM_TRY(rgm_task_type_check_privacy(task->type, privacy));
    RGM_TRY(check_steps(trainer, setup));
    if (task->sampling == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy: task '%s' does not say how its examples are drawn",
                        task->name);
    RGM_TRY(check_influence(trainer));
    RGM_TRY(task->sampling(&trainer->private.sampling, task->state));
    RGM_TRY(rgmi_secret_open(trainer));
    trainer->private.used = true;
    RGM_TRY(check_sampling(trainer));
    return choose_noise(trainer);
}

/* ---- a step -------------------------------------------------------------------------------- */

static void clear_sums(rgm_trainer *trainer)
{
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
        if (trainer->accumulator.sums[i] != NULL)
            rgmi_clear(trainer->accumulator.sums[i]);
}

#define MOST_EXAMPLES (INT64_C(1) << 32)

/*
 * Add the clipped gradient of example i of the batch. Its dropout masks are its own, never drawn
 * twice and from a secret key. Which of the batch's masks it gets depends on the other examples, so
 * with known masks one example would affect the gradients of all examples after it.
 */
static rgm_status add_example(rgm_step *step, int64_t i, int64_t private_step)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = step->trainer;
    int64_t parameters = rgm_parameters_count(trainer->parameters);
    rgm_element *example = NULL;
    rgm_feed feeds[RGM_MAX_FEEDS];
    int64_t feed_count = 0;

    RGM_GO(rgm_element_row(&example, step->inputs, i));
    RGM_GO(rgmi_run_batch(step, feeds, &feed_count, example, private_step * MOST_EXAMPLES + i));
    RGM_GO(rgm_privacy_clip_add(trainer->accumulator.sums, trainer->gradients, parameters,
                                trainer->options.privacy.clipping_norm, NULL));
    trainer->counted = false; /* each example counts */
    rgmi_count_step(step);
done:
    rgm_element_release(example);
    return status;
}

/* The number of examples of a batch; 0 is possible with Poisson sampling. */
static int64_t count_examples(const rgm_element *inputs)
{
    if (rgm_element_get_kind(inputs) != RGM_ELEMENT_TENSORS || rgm_element_count(inputs) == 0)
        return -1;
    return rgm_tensor_dim(rgm_element_tensor(inputs, 0), 0);
}

static rgm_status add_examples(rgmi_part *part, rgm_step *step, int64_t begin, int64_t end,
                               int64_t private_step)
{
    for (int64_t i = begin; i < end; i++) {
        RGM_TRY(add_example(step, i, private_step));
        part->loss += step->loss * step->items;
        part->items += step->items;
    }
    return RGM_OK;
}

/* Each shard of this process has a part of the batch's examples. */
static rgm_status add_shards(rgm_step *step, int64_t count, int64_t private_step)
{
    rgm_trainer *trainer = step->trainer;
    const rgmi_shards *shards = &trainer->shards;

    for (int64_t s = shards->first; s < shards->first + shards->own; s++) {
        int64_t begin = count * s / shards->count, end = count * (s + 1) / shards->count;
        rgmi_part part = {0};

        rgmi_shard_begin(trainer, s);
        clear_sums(trainer);
        RGM_TRY(add_examples(&part, step, begin, end, private_step));
        rgmi_shard_end(trainer, &part, end > begin);
    }
    return RGM_OK;
}

/* The sum of the clipped gradients of all examples. */
static rgm_status add_all(rgmi_part *all, rgm_step *step, int64_t count, int64_t private_step)
{
    if (!rgmi_is_sharded(step->trainer)) {
        clear_sums(step->trainer);
        return add_examples(all, step, 0, count, private_step);
    }
    rgmi_shards_begin(step->trainer);
    return rgmi_shards_sum(all, step->trainer, add_shards(step, count, private_step));
}

rgm_status rgmi_private_step(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;
    const rgm_privacy *privacy = &trainer->options.privacy;
    const rgm_sampling *sampling = &trainer->private.sampling;
    int64_t count = count_examples(step->inputs), now = trainer->private.steps++;
    rgmi_part all = {0};

    if (count < 0 || count >= MOST_EXAMPLES)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy: the batches of task '%s' are no tensors of "
                        "examples",
                        trainer->task.name);
    RGM_TRY(check_target(trainer, 1));
    RGM_TRY(add_all(&all, step, count, now));
    RGM_TRY(rgm_privacy_noise(trainer->accumulator.sums, rgm_parameters_count(trainer->parameters),
                              trainer->private.noise_multiplier * privacy->clipping_norm,
                              1 / (sampling->rate * (double)sampling->examples),
                              &trainer->private.secret, now));
    RGM_TRY(rgm_privacy_step(&trainer->private.accountant, trainer->private.noise_multiplier,
                             sampling->rate, 1));
    RGM_TRY(rgmi_update(trainer, trainer->accumulator.sums, NULL, 0));
    step->loss = 0; /* an empty draw has no loss, and counts for nothing */
    rgmi_set_part(step, &all);
    trainer->counted = true;
    return RGM_OK;
}

/* ---- what can be asked --------------------------------------------------------------------- */

double rgm_trainer_epsilon(const rgm_trainer *trainer)
{
    return trainer->private.used
               ? rgm_privacy_epsilon(&trainer->private.accountant, trainer->options.privacy.delta)
               : 0;
}

bool rgm_trainer_privacy(rgm_privacy_report *out, const rgm_trainer *trainer)
{
    const rgm_privacy *privacy = &trainer->options.privacy;
    double rate = trainer->private.sampling.rate;

    *out = (rgm_privacy_report){.planned = NAN};
    if (!trainer->private.used)
        return false;
    *out = (rgm_privacy_report){.noise_multiplier = trainer->private.noise_multiplier,
                                .clipping_norm = privacy->clipping_norm,
                                .sample_rate = rate,
                                .delta = privacy->delta,
                                .epsilon = rgm_trainer_epsilon(trainer),
                                .steps = rgm_trainer_total_updates(trainer),
                                .planned = NAN,
                                .basis = rgm_privacy_basis(privacy, rate)};
    if (out->steps > 0)
        out->planned =
            epsilon_after(trainer, out->steps > trainer->step ? out->steps - trainer->step : 0);
    return true;
}

rgm_status rgm_trainer_describe_privacy(rgm_text *out, const rgm_trainer *trainer)
{
    rgm_privacy_report r;

    if (!rgm_trainer_privacy(&r, trainer))
        return RGM_OK;
    RGM_TRY(rgm_text_printf(out, "noise multiplier %.4g, clipping norm %g, sample rate %.4g; ",
                            r.noise_multiplier, r.clipping_norm, r.sample_rate));
    if (r.steps > 0)
        RGM_TRY(rgm_text_printf(out, "epsilon %.4g at delta %g after %lld steps: ", r.planned,
                                r.delta, (long long)r.steps));
    return rgm_text_printf(out, "%s", r.basis);
}
