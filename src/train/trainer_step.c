/*
 * The default steps: forward, backward and update, of one batch, of several or of single examples;
 * forward and loss; only forward.
 */
#include <math.h>

#include "trainer_internal.h"

/* ---- training ------------------------------------------------------------------------------ */

static rgm_status train_one_batch(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;
    rgm_feed feeds[RGM_MAX_FEEDS];
    int64_t count = 0;

    RGM_TRY(rgmi_run_batch(step, feeds, &count, step->inputs, trainer->step));
    RGM_TRY(rgmi_check_loss(trainer, step->loss));
    RGM_TRY(rgmi_update(trainer, trainer->gradients, feeds, count));
    RGM_TRY(rgmi_update_states(trainer));
    rgmi_count_step(step);
    return RGM_OK;
}

/* The batches of an update that were read ahead; the first is the step's. */
typedef struct batches {
    rgm_element **inputs; /* [count]; NULL after the first: read when needed */
    int64_t count, capacity;
    double all[RGM_MAX_HEADS]; /* items of each head in all of them */
} batches;

static void batches_release(batches *b)
{
    for (int64_t k = 0; k < b->count; k++)
        rgm_element_release(b->inputs[k]);
    rgm_free(b->inputs);
}

static rgm_status batches_add(batches *b, rgm_element *inputs)
{
    RGM_TRY(RGM_RESERVE(b->inputs, b->capacity, b->count + 1));
    b->inputs[b->count++] = rgm_element_retain(inputs);
    return RGM_OK;
}

/* Heads with means over their own items need the total number of their items first. */
static rgm_status read_ahead(batches *b, rgm_trainer *trainer)
{
    rgm_feed feeds[RGM_MAX_FEEDS];
    double items[RGM_MAX_HEADS];

    while (b->count < trainer->options.accumulation_steps) {
        rgm_element *next;
        rgm_status status = rgmi_next_train_inputs(&next, trainer);

        if (status == RGM_END)
            break;
        RGM_TRY(status);
        status = batches_add(b, next);
        rgm_element_release(next);
        RGM_TRY(status);
    }
    for (int64_t k = 0; k < b->count; k++) {
        int64_t count = 0;

        RGM_TRY(rgmi_feed(feeds, &count, trainer, b->inputs[k]));
        RGM_TRY(rgmi_heads_count(items, trainer, feeds, count));
        for (int64_t h = 0; h < trainer->model.head_count; h++)
            b->all[h] += items[h];
    }
    return RGM_OK;
}

/* Batch k, borrowed; RGM_END when the data ended before it. */
static rgm_status batch_at(rgm_element **out, batches *b, rgm_trainer *trainer, int64_t k)
{
    rgm_element *next;
    rgm_status status;

    if (trainer->heads.count_run == NULL && k > 0) {
        RGM_TRY(rgmi_next_train_inputs(&next, trainer));
        rgm_element_release(b->inputs[0]); /* one at a time */
        b->inputs[0] = next;
        k = 0;
    }
    status = k < b->count ? RGM_OK : RGM_END;
    *out = status == RGM_OK ? b->inputs[k] : NULL;
    return status;
}

/*
 * Several batches for one update: the gradient of the mean loss over all their items, for each head
 * over its own, however many each batch has. If the data end before, the update uses the batches
 * read.
 */
static rgm_status train_batches(rgm_step *step)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = step->trainer;
    batches b = {0};
    rgm_feed feeds[RGM_MAX_FEEDS];
    rgmi_part all = {0};
    int64_t count = 0;

    RGM_GO(rgmi_step_keep(trainer));
    RGM_GO(batches_add(&b, step->inputs));
    if (trainer->heads.count_run != NULL)
        RGM_GO(read_ahead(&b, trainer));
    for (int64_t k = 0; k < trainer->options.accumulation_steps; k++) {
        rgm_element *inputs = NULL;

        status = batch_at(&inputs, &b, trainer, k);
        if (status == RGM_END) /* the feeds are still the last batch's */
            break;
        RGM_GO(status);
        RGM_GO(rgmi_add_batch(step, feeds, &count, inputs, b.all, k, &all));
    }
    rgmi_set_part(step, &all);
    RGM_GO(rgmi_check_loss(trainer, step->loss));
    rgmi_divide_gradients(trainer, all.items);
    RGM_GO(rgmi_update(trainer, trainer->accumulator.sums, feeds, count));
done:
    batches_release(&b);
    return rgmi_step_undo(trainer, status);
}

rgm_status rgm_trainer_default_train_step(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;

    if (trainer->train_run == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "task '%s' has no model and no train_step of its own",
                        trainer->task.name);
    if (trainer->private.used)
        return rgmi_private_step(step);
    if (rgmi_is_sharded(trainer))
        return rgmi_shards_step(step);
    return trainer->accumulator.sums != NULL ? train_batches(step) : train_one_batch(step);
}

/* ---- pieces for steps of a task's own ------------------------------------------------------- */

rgm_status rgm_trainer_next_inputs(rgm_element **out, rgm_trainer *trainer)
{
    return rgmi_next_train_inputs(out, trainer);
}

rgm_status rgm_trainer_compute_gradients(rgm_step *step, rgm_element *inputs,
                                         rgm_tensor *const **gradients)
{
    const int runs_at = 40; /* bit position in a draw: steps are below it */
    rgm_trainer *trainer = step->trainer;
    rgm_feed feeds[RGM_MAX_FEEDS];
    int64_t count = 0;

    if (trainer->train_run == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "task '%s' has no model to take gradients of",
                        trainer->task.name);
    RGM_TRY(
        rgmi_run_batch(step, feeds, &count, inputs, trainer->step + (trainer->runs++ << runs_at)));
    RGM_TRY(rgmi_check_loss(trainer, step->loss)); /* what else a step has is not known */
    *gradients = trainer->gradients;
    return RGM_OK;
}

rgm_status rgm_trainer_apply_gradients(rgm_step *step, rgm_tensor *const *gradients)
{
    rgm_trainer *trainer = step->trainer;

    if (trainer->optimizer == NULL || trainer->train_run == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "task '%s' has no %s to update", trainer->task.name,
                        trainer->train_run == NULL ? "model" : "optimizer");
    RGM_TRY(rgmi_update(trainer, gradients, NULL, 0));
    return trainer->runs > 0 ? rgmi_update_states(trainer) : RGM_OK;
}

/* ---- evaluation ---------------------------------------------------------------------------- */

rgm_status rgm_trainer_default_inference_step(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;

    if (trainer->eval_run == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "task '%s' has no model and no inference_step of its own",
                        trainer->task.name);
    if (trainer->evaluating) /* the pass needs the loss of the same run */
        return rgmi_run_forward(step, trainer->eval_run, &trainer->eval_fetches);
    RGM_TRY(rgmi_infer_open(trainer));
    return rgmi_run_forward(step, trainer->infer_run, &trainer->infer_fetches);
}

/* Fill in what a task's own inference_step has not set: the model's loss, and the tensors by which
 * to judge its predictions. */
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
        if (step->lists[h] != NULL)
            model.lists[h] = step->lists[h];
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
