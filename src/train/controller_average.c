/*
 * The mean of several checkpoints' weights (Vaswani et al. 2017, section 6.1), in double, one
 * checkpoint in memory at a time.
 */
#include <stdio.h>
#include <string.h>

#include "controller_internal.h"

/* The steps whose checkpoints are meant: the newest, or those of the best validations. */
static rgm_status choose_steps(int64_t **out, rgm_controller *c, bool best, int64_t count)
{
    rgm_status status = RGM_OK;
    int64_t *steps = NULL, there = c->kept_count;

    *out = NULL;
    if (c->store == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no run folder with checkpoints to average");
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "the mean of %lld checkpoints", (long long)count);
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

/* What an evaluation of that checkpoint would use: its averaged weight when it has one. */
static rgm_status take_weight(rgm_tensor **out, const rgm_checkpoint *checkpoint, const char *name)
{
    const rgm_safetensors *slots = rgm_checkpoint_slots(checkpoint);
    char average[256];

    snprintf(average, sizeof average, "average/%s", name);
    if (slots != NULL && rgm_safetensors_get(out, slots, average) == RGM_OK)
        return RGM_OK;
    rgm_error_reset();
    return rgm_safetensors_get(out, rgm_checkpoint_weights(checkpoint), name);
}

static rgm_status add_weights(double **sums, const rgm_parameters *parameters,
                              const rgm_checkpoint *checkpoint)
{
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        const char *name = rgm_parameters_name(parameters, i);
        int64_t count = rgm_tensor_count(rgm_parameters_tensor(parameters, i));
        rgm_tensor *weight = NULL;

        RGM_TRY(take_weight(&weight, checkpoint, name));
        if (rgm_tensor_count(weight) != count) {
            rgm_tensor_release(weight);
            return RGM_FAIL(RGM_ERR_SHAPE, "'%s' has another size in the checkpoint", name);
        }
        for (int64_t k = 0; k < count; k++)
            sums[i][k] += rgm_tensor_at(weight, k);
        rgm_tensor_release(weight);
    }
    return RGM_OK;
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
    rgm_parameters *parameters = rgm_trainer_parameters(c->trainer);
    int64_t *steps = NULL, parameter_count = rgm_parameters_count(parameters);
    double **sums = NULL;

    RGM_GO(choose_steps(&steps, c, best, count));
    RGM_GO(RGM_NEW(sums, parameter_count));
    for (int64_t i = 0; i < parameter_count; i++)
        RGM_GO(RGM_NEW(sums[i], rgm_tensor_count(rgm_parameters_tensor(parameters, i))));
    for (int64_t s = 0; s < count; s++) {
        rgm_checkpoint *checkpoint = NULL;

        RGM_GO(rgm_checkpoint_load_step(&checkpoint, c->store, steps[s]));
        status = add_weights(sums, parameters, checkpoint);
        rgm_checkpoint_release(checkpoint);
        RGM_GO(status);
    }
    put_mean(parameters, sums, count);
    rgmi_averages_reset(c->trainer);
    c->changes++;
done:
    for (int64_t i = 0; sums != NULL && i < parameter_count; i++)
        rgm_free(sums[i]);
    rgm_free(sums);
    rgm_free(steps);
    return rgmi_leave(before, status);
}
