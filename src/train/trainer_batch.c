/*
 * The parts of steps: forward and backward of one batch, only forward, and the update. A loss or
 * gradient that is not finite ends a training step before anything is updated; the step is then run
 * again op by op to name the op and tensor that it came from.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer_internal.h"

/* ---- running ------------------------------------------------------------------------------- */

bool rgm_trainer_bf16(const rgm_trainer *trainer)
{
    return trainer->runtime.mixed_precision == RGM_MIXED_BF16;
}

/* Space for a loss scale, and for the shares of heads. */
#define OWN_FEEDS (2 + RGM_MAX_HEADS + 1)

rgm_status rgmi_feed(rgm_feed *feeds, int64_t *count, rgm_trainer *trainer, rgm_element *inputs)
{
    return trainer->task.feeds(feeds, RGM_MAX_FEEDS - OWN_FEEDS, count, trainer->task.state,
                               inputs);
}

static rgm_tensor *fetched(const rgmi_fetches *fetches, int64_t index)
{
    return index >= 0 ? fetches->tensors[index] : NULL;
}

static rgm_tensor *host_only(rgm_tensor *tensor)
{
    return tensor != NULL && rgm_tensor_device(tensor) != NULL ? NULL : tensor;
}

static void take_outputs(rgm_step *step, const rgmi_fetches *fetches, int64_t heads)
{
    for (int64_t h = 0; h < heads; h++) {
        step->predictions[h] = fetched(fetches, fetches->predictions[h]);
        step->labels[h] = fetched(fetches, fetches->labels[h]);
        step->weights[h] = fetched(fetches, fetches->weights[h]);
        step->lists[h] = fetched(fetches, fetches->lists[h]);
    }
    step->items = rgmi_head_items(step, fetches, 0);
    step->trainer->has_loss = fetches->loss >= 0;
    if (step->trainer->has_loss)
        step->loss = rgm_tensor_at(fetches->tensors[fetches->loss], 0);
    rgmi_heads_take(step->trainer, fetches, step);
    for (int64_t h = 0; h < heads; h++) { /* of what stays on a device only the form was needed */
        step->predictions[h] = host_only(step->predictions[h]);
        step->labels[h] = host_only(step->labels[h]);
        step->lists[h] = host_only(step->lists[h]);
    }
}

rgm_status rgmi_explain_nan(rgm_trainer *trainer, const rgm_feed *feeds, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_executor *eager = NULL;
    rgm_executor_options options = {.training = true,
                                    .eager = true,
                                    .bf16 = rgm_trainer_bf16(trainer),
                                    .device = trainer->options.device};
    rgmi_fetches *fetches = &trainer->train_fetches;

    if (trainer->task.parts > 0) /* the others would have to run it as well */
        return RGM_FAIL(RGM_ERR_NUMERIC, "the loss or a gradient is not finite");
    RGM_GO(rgm_executor_create(&eager, trainer->graph, fetches->values, fetches->count, &options));
    status = rgm_executor_run(eager, fetches->tensors, trainer->parameters, feeds, count,
                              rgmi_mask_seed(trainer), (uint64_t)trainer->draw);
    if (status == RGM_OK)
        status = RGM_FAIL(RGM_ERR_NUMERIC, "the loss or a gradient is not finite");
done:
    rgm_executor_release(eager);
    return status;
}

/* ---- loss scale ---------------------------------------------------------------------------- */

#define GROWTH_STEPS 2000
#define FIRST_SCALE  32768.0

rgm_status rgmi_scale_open(rgm_trainer *trainer)
{
    const char *text = trainer->runtime.loss_scale;
    rgmi_loss_scale *scale = &trainer->loss_scale;
    char *end;

    if (text == NULL || strcmp(text, "none") == 0)
        return RGM_OK;
    scale->used = true;
    scale->dynamic = strcmp(text, "dynamic") == 0;
    scale->scale = scale->dynamic ? FIRST_SCALE : strtod(text, &end);
    if (!scale->dynamic && (*end != '\0' || !(scale->scale > 0) || isinf(scale->scale)))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.loss_scale is '%s'; it is none, dynamic or a number above 0",
                        text);
    return RGM_OK;
}

static rgm_status make_scalar(rgm_tensor **out, double value)
{
    rgm_tensor_release(*out); /* a tensor that was fed must not change: make a new one */
    RGM_TRY(rgm_tensor_create(out, RGM_F32, 0, NULL));
    rgm_tensor_f32(*out)[0] = (float)value;
    return RGM_OK;
}

static rgm_status feed_scale(rgm_feed *feeds, int64_t *count, rgm_trainer *trainer)
{
    rgmi_loss_scale *scale = &trainer->loss_scale;

    if (!scale->used)
        return RGM_OK;
    if (scale->tensor == NULL) {
        RGM_TRY(make_scalar(&scale->tensor, scale->scale));
        RGM_TRY(make_scalar(&scale->inverse, 1 / scale->scale));
    }
    feeds[(*count)++] = (rgm_feed){.input = scale->input, .tensor = scale->tensor};
    feeds[(*count)++] = (rgm_feed){.input = scale->inverse_input, .tensor = scale->inverse};
    return RGM_OK;
}

static void change_scale(rgmi_loss_scale *scale, double factor)
{
    scale->scale *= factor;
    scale->good_steps = 0;
    rgm_tensor_release(scale->tensor);
    rgm_tensor_release(scale->inverse);
    scale->tensor = scale->inverse = NULL;
}

/* ---- training ------------------------------------------------------------------------------ */

/* Take the gradients of a run's fetched tensors by parameter, NULL for those that are not
 * trained. */
static void take_gradients(rgm_trainer *trainer)
{
    int64_t at = trainer->train_fetches.gradients;

    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
        trainer->gradients[i] = rgm_parameters_trainable(trainer->parameters, i)
                                    ? trainer->train_fetches.tensors[at++]
                                    : NULL;
}

rgm_status rgmi_check_loss(const rgm_trainer *trainer, double loss)
{
    const rgm_trainer_recovery *recovery = &trainer->options.recovery;

    if (!isfinite(loss))
        return RGM_FAIL(RGM_ERR_NUMERIC, "the loss is %g", loss);
    if (trainer->step >= recovery->begin_steps && loss > recovery->loss_upper_bound)
        return RGM_FAIL(RGM_ERR_NUMERIC,
                        "the loss is %g, above trainer.recovery.loss_upper_bound "
                        "(%g)",
                        loss, recovery->loss_upper_bound);
    return RGM_OK;
}

/* Forward and backward of one batch; the loss must be a number. Its bound is one of a whole step's,
 * which the caller knows. */
rgm_status rgmi_run_batch(rgm_step *step, rgm_feed *feeds, int64_t *count, rgm_element *inputs,
                          int64_t draw)
{
    rgm_trainer *trainer = step->trainer;
    rgmi_fetches *fetches = &trainer->train_fetches;
    double begin;

    trainer->applied = NULL; /* the run overwrites them */
    RGM_TRY(rgmi_feed(feeds, count, trainer, inputs));
    if (trainer->hooks.before_run != NULL)
        RGM_TRY(trainer->hooks.before_run(trainer, feeds, *count, trainer->hooks.payload));
    if (trainer->batch != NULL)
        RGM_TRY(rgmi_describe_batch(trainer->batch, feeds, *count));
    RGM_TRY(feed_scale(feeds, count, trainer));
    rgmi_heads_feed(feeds, count, trainer);
    trainer->draw = draw;
    begin = rgmi_profile_now(trainer);
    RGM_TRY(rgm_executor_run(trainer->train_run, fetches->tensors, trainer->parameters, feeds,
                             *count, rgmi_mask_seed(trainer), (uint64_t)draw));
    rgmi_profile_part(trainer, "model", begin);
    if (trainer->options.flops)
        trainer->step_flops += rgm_executor_flops(trainer->train_run);
    take_outputs(step, fetches, trainer->model.head_count);
    take_gradients(trainer);
    return isfinite(step->loss) ? RGM_OK : rgmi_explain_nan(trainer, feeds, *count);
}

/* A hook changes copies, since the executor may return one tensor for two gradients. */
static rgm_status hooked(rgm_tensor *const **out, rgm_trainer *trainer,
                         rgm_tensor *const *gradients)
{
    *out = gradients;
    if (trainer->hooks.gradients == NULL)
        return RGM_OK;
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++) {
        rgm_tensor **own = &trainer->hooked[i];

        if (gradients[i] == NULL) {
            rgm_tensor_release(*own);
            *own = NULL;
        } else if (*own == NULL) {
            RGM_TRY(rgmi_host_copy(own, gradients[i]));
        } else {
            RGM_TRY(rgm_device_tensor_set(*own, gradients[i]));
        }
    }
    *out = trainer->hooked;
    return trainer->hooks.gradients(trainer->hooked, trainer, trainer->hooks.payload);
}

/* Whether the gradients stay valid until the next run; those of a task's own step may not. */
static bool are_kept(const rgm_trainer *trainer, rgm_tensor *const *gradients)
{
    return gradients == trainer->gradients || gradients == trainer->hooked ||
           gradients == trainer->accumulator.sums;
}

bool rgm_trainer_is_spoiled(const rgm_trainer *trainer)
{
    return trainer->optimizer != NULL && rgm_optimizer_is_spoiled(trainer->optimizer);
}

/* The message of the first process whose step is bad, on all. */
static rgm_status same_message(rgm_trainer *trainer, rgm_status status)
{
    rgm_comm_blocks blocks = {0};
    const char *own = status == RGM_ERR_NUMERIC ? rgm_error_message() : "";
    rgm_status gathered = rgm_comm_gather(&blocks, trainer->comm, own, strlen(own), RGM_COMM_ALL);

    for (int k = 0; k < blocks.count && gathered == RGM_OK; k++) {
        int size = (int)(blocks.begin[k + 1] - blocks.begin[k]);

        if (size > 0)
            gathered = RGM_FAIL(RGM_ERR_NUMERIC, "%.*s", size, blocks.memory + blocks.begin[k]);
    }
    rgm_comm_blocks_clear(&blocks);
    return gathered;
}

/* The same over a communicator, where a failure that ends the run is told at once. */
static rgm_status agree(rgm_trainer *trainer, rgm_status status)
{
    uint64_t any = status == RGM_ERR_NUMERIC ? RGM_DECIDE_BAD_STEP : 0;

    trainer->agreed = trainer->is_bad = true;
    if (status < 0 && status != RGM_ERR_NUMERIC)
        return rgm_comm_fail(trainer->comm, status);
    RGM_TRY(rgm_comm_decide(trainer->comm, &any, NULL));
    trainer->is_bad = any != 0;
    return any != 0 ? same_message(trainer, status) : status;
}

rgm_status rgmi_agree(rgm_trainer *trainer, rgm_status status)
{
    unsigned seen = status == RGM_ERR_NUMERIC ? RGM_DECIDE_BAD_STEP
                    : status < 0              ? RGM_DECIDE_FAILED
                                              : 0;
    unsigned decided;

    if (rgm_comm_size(trainer->comm) > 1)
        return agree(trainer, status);
    decided = rgm_trainer_decide(trainer, seen);
    trainer->agreed = true;
    trainer->is_bad = decided != 0;
    if (status < 0 || decided == 0)
        return status;
    if (decided & RGM_DECIDE_FAILED)
        return RGM_FAIL(RGM_ERR_IO, "another process of the run failed in this step");
    return RGM_FAIL(RGM_ERR_NUMERIC, "the loss or a gradient of another process is bad");
}

/* Lower the scale when gradients have overflowed, raise it when they have not for a long time. */
static rgm_status judge_update(rgm_trainer *trainer, rgm_status status)
{
    rgmi_loss_scale *scale = &trainer->loss_scale;

    if (status == RGM_ERR_NUMERIC && scale->dynamic && scale->scale > 1) {
        rgm_error_reset(); /* the gradients have overflowed, not the model */
        trainer->is_bad = false;
        change_scale(scale, 0.5);
        return RGM_END;
    }
    if (status == RGM_OK && scale->dynamic && ++scale->good_steps >= GROWTH_STEPS &&
        scale->scale < 1e30)
        change_scale(scale, 2);
    return status;
}

rgm_status rgmi_update(rgm_trainer *trainer, rgm_tensor *const *gradients, const rgm_feed *feeds,
                       int64_t feed_count)
{
    rgm_tensor *const *changed;
    rgm_status status = RGM_OK;
    double begin;

    trainer->applied = NULL;
    if (trainer->hooks.update != NULL)
        return trainer->hooks.update(gradients, trainer, trainer->hooks.payload);
    if (!rgmi_is_sharded(trainer)) /* else they agreed before the sum; each update of a step asks */
        RGM_TRY(rgmi_agree(trainer, RGM_OK));
    RGM_TRY(hooked(&changed, trainer, gradients));
    begin = rgmi_profile_now(trainer);
    if (trainer->optimizer != NULL)
        status =
            rgm_optimizer_step(trainer->optimizer, trainer->parameters, changed, trainer->updates);
    rgmi_profile_part(trainer, "update", begin);
    status = rgmi_agree(trainer, status);
    if (rgm_trainer_is_spoiled(trainer))
        return status;
    status = judge_update(trainer, status);
    if (status == RGM_END) /* no update, and no error */
        return RGM_OK;
    if (status == RGM_ERR_NUMERIC && feeds != NULL)
        return rgmi_explain_nan(trainer, feeds, feed_count);
    if (status != RGM_OK)
        return status;
    trainer->updates++;
    if (are_kept(trainer, changed))
        trainer->applied = changed;
    return RGM_OK;
}

/* ---- forward alone ------------------------------------------------------------------------- */

rgm_status rgmi_run_forward(rgm_step *step, rgm_executor *executor, rgmi_fetches *fetches)
{
    rgm_trainer *trainer = step->trainer;
    rgm_feed feeds[RGM_MAX_FEEDS];
    int64_t count = 0;
    double begin;

    RGM_TRY(rgmi_feed(feeds, &count, trainer, step->inputs));
    begin = rgmi_profile_now(trainer);
    RGM_TRY(rgm_executor_run(executor, fetches->tensors, trainer->parameters, feeds, count,
                             (uint64_t)trainer->runtime.seed, (uint64_t)trainer->step));
    rgmi_profile_part(trainer, "model", begin);
    take_outputs(step, fetches, trainer->model.head_count);
    return RGM_OK;
}
