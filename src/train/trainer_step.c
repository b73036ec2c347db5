/*
 * The default steps: forward, backward and update, of one batch, of several or of single examples;
 * forward and loss; forward alone.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

/* ---- training ------------------------------------------------------------------------------ */

/* sum += factor * x (or sum = factor * x), both of the parameter's dtype. */
static void add_scaled(rgm_tensor *sum, const rgm_tensor *x, double factor, bool first)
{
    int64_t n = rgm_tensor_count(sum);

    if (rgm_tensor_dtype(sum) == RGM_F32) {
        float *to = rgm_tensor_f32(sum), f = (float)factor;
        const float *from = rgm_tensor_data((rgm_tensor *)x);

        for (int64_t i = 0; i < n; i++)
            to[i] = first ? f * from[i] : to[i] + f * from[i];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double *to = rgm_tensor_f64(sum);
        const double *from = rgm_tensor_data((rgm_tensor *)x);

        to[i] = first ? factor * from[i] : to[i] + factor * from[i];
    }
}

/* State such as moving averages takes its next value, of each batch. */
static rgm_status update_states(rgm_trainer *trainer)
{
    return rgm_parameters_update(trainer->parameters, trainer->graph,
                                 trainer->train_fetches.tensors + trainer->train_fetches.updates);
}

static rgm_status train_one_batch(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;
    rgm_feed feeds[RGMI_MAX_FEEDS];
    int64_t count = 0;

    RGM_TRY(rgmi_run_batch(step, feeds, &count, step->inputs, trainer->step));
    RGM_TRY(rgmi_update(trainer, trainer->gradients, feeds, count));
    RGM_TRY(update_states(trainer));
    rgmi_count_step(step);
    return RGM_OK;
}

/* Metric sums and states as they are before a step of several batches; `back` undoes what they
 * took. */
static void keep(rgm_trainer *trainer, bool back)
{
    rgmi_accumulator *a = &trainer->accumulator;
    rgmi_sums *sums = &trainer->train_sums;

    memcpy(back ? sums->sums : a->kept, back ? a->kept : sums->sums,
           (size_t)sums->size * sizeof(double));
    if (back)
        rgm_parameters_set(trainer->parameters, a->states);
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters) && !back; i++)
        if (a->states[i] != NULL)
            rgm_tensor_set(a->states[i], rgm_parameters_tensor(trainer->parameters, i));
}

/*
 * Several batches for one update: the gradient of the mean loss over all their items, however many
 * each batch has. Data that end before make the update from those there are.
 */
static rgm_status train_batches(rgm_step *step)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = step->trainer;
    int64_t batches = trainer->options.accumulation_steps;
    int64_t parameters = rgm_parameters_count(trainer->parameters);
    rgm_element *inputs = rgm_element_retain(step->inputs);
    rgm_feed feeds[RGMI_MAX_FEEDS];
    double loss = 0, items = 0;
    int64_t count = 0;

    keep(trainer, false);
    for (int64_t k = 0; k < batches; k++) {
        if (k > 0) {
            rgm_element *next;

            status = rgmi_next_train_inputs(&next, trainer);
            if (status == RGM_END) /* the feeds still are the last batch's */
                break;
            RGM_GO(status);
            rgm_element_release(inputs);
            inputs = next;
        }
        count = 0;
        RGM_GO(rgmi_run_batch(step, feeds, &count, inputs, trainer->step * batches + k));
        for (int64_t i = 0; i < parameters; i++)
            if (trainer->gradients[i] != NULL)
                add_scaled(trainer->accumulator.sums[i], trainer->gradients[i], step->items,
                           k == 0);
        trainer->counted = false; /* each batch counts */
        rgmi_count_step(step);
        RGM_GO(update_states(trainer));
        loss += step->loss * step->items;
        items += step->items;
    }
    for (int64_t i = 0; i < parameters; i++)
        if (trainer->accumulator.sums[i] != NULL)
            add_scaled(trainer->accumulator.sums[i], trainer->accumulator.sums[i],
                       items > 0 ? 1 / items : 1, true);
    RGM_GO(rgmi_update(trainer, trainer->accumulator.sums, feeds, count));
    step->loss = items > 0 ? loss / items : step->loss;
    step->items = items;
    status = RGM_OK;
done:
    if (status != RGM_OK)
        keep(trainer, true);
    rgm_element_release(inputs);
    return status;
}

rgm_status rgm_trainer_default_train_step(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;

    if (trainer->train_run == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "task '%s' has no model and no train_step of its own",
                        trainer->task.name);
    if (trainer->private.used)
        return rgmi_private_step(step);
    return trainer->accumulator.sums != NULL ? train_batches(step) : train_one_batch(step);
}

/* ---- evaluation ---------------------------------------------------------------------------- */

rgm_status rgm_trainer_default_inference_step(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;

    if (trainer->eval_run == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "task '%s' has no model and no inference_step of its own",
                        trainer->task.name);
    if (trainer->evaluating) /* the pass wants the loss of the same run */
        return rgmi_run_forward(step, trainer->eval_run, &trainer->eval_fetches);
    RGM_TRY(rgmi_infer_open(trainer));
    return rgmi_run_forward(step, trainer->infer_run, &trainer->infer_fetches);
}

/* What an inference_step of one's own has not set, it having gone its own way: the model's loss,
 * and what to judge its predictions by. */
static rgm_status add_loss(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;
    rgm_step model = *step;

    if (!isnan(step->loss) || trainer->eval_run == NULL)
        return RGM_OK;
    RGM_TRY(rgmi_run_forward(&model, trainer->eval_run, &trainer->eval_fetches));
    for (int64_t h = 0; h < trainer->model.head_count; h++) {
        if (step->predictions[h] != NULL)
            model.predictions[h] = step->predictions[h];
        if (step->labels[h] != NULL)
            model.labels[h] = step->labels[h];
        if (step->weights[h] != NULL)
            model.weights[h] = step->weights[h];
    }
    *step = model;
    return RGM_OK;
}

rgm_status rgm_trainer_default_validation_step(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;

    if (trainer->task.inference_step != NULL) {
        RGM_TRY(trainer->task.inference_step(step, trainer->task.state));
        RGM_TRY(add_loss(step));
    } else if (trainer->eval_run == NULL) {
        return RGM_FAIL(RGM_ERR_ARG, "task '%s' has no model and no validation_step of its own",
                        trainer->task.name);
    } else {
        RGM_TRY(rgmi_run_forward(step, trainer->eval_run, &trainer->eval_fetches));
    }
    rgmi_count_step(step);
    return RGM_OK;
}
