/*
 * Loads weights of chosen checkpoints: of one, or the mean of several (Vaswani et al. 2017, section
 * 6.1), in double, with one checkpoint in memory at a time.
 */
#include <stdio.h>
#include <string.h>

#include "controller_internal.h"

/* Choose the steps of the checkpoints: the newest, or those of the best validations. */
static rgm_status choose_steps(int64_t **out, rgm_controller *c, bool best, int64_t count)
{
    rgm_status status = RGM_OK;
    int64_t *steps = NULL, there = c->kept_count;

    *out = NULL;
    if (c->store == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no run folder with checkpoints to average");
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "the mean of %lld checkpoints", (long long)count);
    RGM_TRY(rgmi_behind_end(c));
    if (!best)
        RGM_TRY(rgm_checkpoint_steps(&steps, &there, c->store));
    if (there < count)
        RGM_GO(RGM_FAIL(
            RGM_ERR_NOT_FOUND,
            "%lld checkpoints are to be averaged, %s has %lld%s; trainer.checkpoint.%s says "
            "how many are kept",
            (long long)count, c->run_dir, (long long)there, best ? " of best validations" : "",
            best ? "best.keep" : "keep"));
    RGM_GO(RGM_NEW(*out, count));
    for (int64_t i = 0; i < count; i++)
        (*out)[i] = best ? c->kept[i].step : steps[there - count + i];
done:
    rgm_free(steps);
    return status;
}

/* The weights that an evaluation of the checkpoint would use: its averages if it has some. */
static rgm_status take_weights(rgm_parameters *weights, const rgm_checkpoint *checkpoint)
{
    const rgm_safetensors *slots = rgm_checkpoint_slots(checkpoint);

    RGM_TRY(rgm_checkpoint_restore_parameters(checkpoint, weights));
    for (int64_t i = 0; i < rgm_parameters_count(weights); i++) {
        rgm_tensor *average, *weight = rgm_parameters_tensor(weights, i);
        bool fits;

        RGM_TRY(rgm_average_look(&average, slots, rgm_parameters_name(weights, i)));
        if (average == NULL)
            continue;
        fits = rgm_tensor_is_like(average, weight);
        if (fits)
            rgm_tensor_set(weight, average);
        rgm_tensor_release(average);
        if (!fits)
            return RGM_FAIL(RGM_ERR_SHAPE, "'%s' has another size in the checkpoint",
                            rgm_parameters_name(weights, i));
    }
    return RGM_OK;
}

static rgm_status load_weights(rgm_parameters *weights, rgm_controller *c, int64_t step)
{
    rgm_checkpoint *checkpoint = NULL;
    rgm_status status;

    RGM_TRY(rgmi_behind_end(c));
    RGM_TRY(rgm_checkpoint_load_step(&checkpoint, c->store, step));
    status = take_weights(weights, checkpoint);
    rgm_checkpoint_release(checkpoint);
    return status;
}

rgm_status rgm_controller_restore_step(rgm_controller *c, int64_t step)
{
    rgm_logger *before = rgmi_enter(c);
    rgm_status status;

    if (c->store == NULL)
        status = RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no run folder with checkpoints");
    else
        status = load_weights(rgm_trainer_parameters(c->trainer), c, step);
    if (status == RGM_OK) {
        rgm_parameters_touch(rgm_trainer_parameters(c->trainer));
        rgm_trainer_reset_averages(c->trainer);
        c->placed_step = step;
        c->changes++;
    }
    return rgmi_leave(before, status);
}

static void add_weights(double *const *sums, const rgm_parameters *weights)
{
    for (int64_t i = 0; i < rgm_parameters_count(weights); i++) {
        const rgm_tensor *weight = rgm_parameters_read(weights, i);

        for (int64_t k = 0; k < rgm_tensor_count(weight); k++)
            sums[i][k] += rgm_tensor_at(weight, k);
    }
}

static void put_mean(rgm_parameters *parameters, double *const *sums, int64_t count)
{
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        rgm_tensor *to = rgm_parameters_tensor(parameters, i);

        for (int64_t k = 0; k < rgm_tensor_count(to); k++)
            if (rgm_tensor_dtype(to) == RGM_F32)
                rgm_tensor_f32(to)[k] = (float)(sums[i][k] / (double)count);
            else
                rgm_tensor_f64(to)[k] = sums[i][k] / (double)count;
    }
    rgm_parameters_touch(parameters);
}

rgm_status rgm_controller_restore_mean(rgm_controller *c, bool best, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_logger *before = rgmi_enter(c);
    rgm_parameters *parameters = rgm_trainer_parameters(c->trainer), *weights = NULL;
    int64_t *steps = NULL, parameter_count = rgm_parameters_count(parameters);
    double **sums = NULL;

    RGM_GO(choose_steps(&steps, c, best, count));
    RGM_GO(rgm_parameters_copy(&weights, parameters));
    RGM_GO(RGM_NEW(sums, parameter_count));
    for (int64_t i = 0; i < parameter_count; i++)
        RGM_GO(RGM_NEW(sums[i], rgm_tensor_count(rgm_parameters_form(parameters, i))));
    for (int64_t s = 0; s < count; s++) {
        RGM_GO(load_weights(weights, c, steps[s]));
        add_weights(sums, weights);
    }
    put_mean(parameters, sums, count);
    rgm_trainer_reset_averages(c->trainer);
    c->placed_step = -1; /* of several: that of the run is told */
    c->changes++;
done:
    for (int64_t i = 0; sums != NULL && i < parameter_count; i++)
        rgm_free(sums[i]);
    rgm_free(sums);
    rgm_parameters_release(weights);
    rgm_free(steps);
    return rgmi_leave(before, status);
}
