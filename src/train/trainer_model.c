/*
 * The model of a trainer: the task's compute graph with its loss, gradients and state updates, the
 * optimizer, and the three executors (train, evaluate, infer) with what each fetches.
 */
#include <string.h>

#include "trainer_internal.h"

/* ---- loss ---------------------------------------------------------------------------------- */

/* The default of build_losses: the heads' weighted losses, and the losses that layers added. */
static rgm_value *sum_losses(const rgm_task_model *model, rgm_value *aux)
{
    rgm_value *sum = aux;

    for (int64_t h = 0; h < model->head_count; h++) {
        const rgm_head *head = &model->heads[h];
        rgm_value *loss = head->loss;

        if (loss == NULL)
            continue;
        if (head->loss_weight != 1)
            loss = rgm_scale(loss, head->loss_weight);
        sum = sum == NULL ? loss : rgm_add(loss, sum);
    }
    return sum;
}

static rgm_status build_loss(rgm_trainer *trainer)
{
    const rgm_task *task = &trainer->task;
    rgm_value *aux = rgm_scope_loss(trainer->scope);

    trainer->model.loss = task->build_losses != NULL
                              ? task->build_losses(&trainer->model, aux, task->state)
                              : sum_losses(&trainer->model, aux);
    RGM_TRY(rgm_cgraph_status(trainer->graph));
    if (trainer->model.loss == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the model of task '%s' has no loss: no head has one and "
                        "there is no build_losses",
                        task->name);
    if (rgm_value_name(trainer->model.loss) == NULL)
        rgm_value_set_name(trainer->model.loss, "loss");
    return RGM_OK;
}

/* ---- fetches ------------------------------------------------------------------------------- */

static int64_t fetch(rgmi_fetches *fetches, rgm_value *value)
{
    if (value == NULL)
        return -1;
    fetches->values[fetches->count] = value;
    return fetches->count++;
}

static rgm_status fetches_open(rgmi_fetches *fetches, const rgm_trainer *trainer, bool loss,
                               rgm_value *const *gradients)
{
    int64_t parameters = gradients != NULL ? rgm_cgraph_parameter_count(trainer->graph) : 0;
    int64_t updates = gradients != NULL ? rgm_cgraph_update_count(trainer->graph) : 0;
    int64_t most = 1 + 6 * trainer->model.head_count + parameters + updates;
    bool each = loss && (trainer->heads.apart || rgmi_heads_are_shared(trainer));

    RGM_TRY(RGM_NEW(fetches->values, most));
    RGM_TRY(RGM_NEW(fetches->tensors, most));
    fetches->loss = fetch(fetches, loss ? trainer->model.loss : NULL);
    for (int64_t h = 0; h < trainer->model.head_count; h++) {
        const rgm_head *head = &trainer->model.heads[h];

        fetches->predictions[h] =
            fetch(fetches, gradients != NULL && head->is_of_passes ? NULL : head->predictions);
        fetches->labels[h] = fetch(fetches, head->labels);
        fetches->weights[h] = fetch(fetches, head->weights);
        fetches->lists[h] = fetch(fetches, head->lists);
        fetches->loss_items[h] = fetch(fetches, loss ? head->loss_items : NULL);
        fetches->head_losses[h] = fetch(fetches, each ? head->loss : NULL);
    }
    fetches->gradients = fetches->count;
    for (int64_t i = 0; i < parameters; i++)
        if (gradients[i] != NULL)
            fetch(fetches, gradients[i]);
    fetches->updates = fetches->count;
    for (int64_t i = 0; i < updates; i++)
        fetch(fetches, rgm_cgraph_update_next(trainer->graph, i));
    return RGM_OK;
}

static void fetches_close(rgmi_fetches *fetches)
{
    rgm_free(fetches->values);
    rgm_free(fetches->tensors);
}

/* ---- executors ----------------------------------------------------------------------------- */

static rgm_executor_options executor_options(const rgm_trainer *trainer, bool training)
{
    return (rgm_executor_options){.training = training,
                                  .eager = trainer->options.run_eagerly,
                                  .bf16 = rgm_trainer_bf16(trainer),
                                  .device = trainer->options.device,
                                  .fixed_feeds = true};
}

/* Validation needs no gradients, so its executor is compiled before there are any. */
static rgm_status eval_open(rgm_trainer *trainer)
{
    rgm_executor_options options = executor_options(trainer, false);

    RGM_TRY(fetches_open(&trainer->eval_fetches, trainer, true, NULL));
    return rgm_executor_create(&trainer->eval_run, trainer->graph, trainer->eval_fetches.values,
                               trainer->eval_fetches.count, &options);
}

rgm_status rgmi_infer_open(rgm_trainer *trainer)
{
    rgm_executor_options options = executor_options(trainer, false);

    if (trainer->infer_run != NULL)
        return RGM_OK;
    RGM_TRY(fetches_open(&trainer->infer_fetches, trainer, false, NULL));
    return rgm_executor_create(&trainer->infer_run, trainer->graph, trainer->infer_fetches.values,
                               trainer->infer_fetches.count, &options);
}

/* The loss that is differentiated, and the factor that turns its gradients back into the loss'. */
static rgm_value *scaled_loss(rgm_trainer *trainer)
{
    rgmi_loss_scale *scale = &trainer->loss_scale;
    rgm_value *loss =
        rgmi_heads_are_shared(trainer) ? rgmi_heads_shared_loss(trainer) : trainer->model.loss;

    if (!scale->used)
        return loss;
    scale->input = rgm_input(trainer->graph, "loss_scale", RGM_F32, 0, NULL);
    scale->inverse_input = rgm_input(trainer->graph, "loss_scale_inverse", RGM_F32, 0, NULL);
    return rgm_mul(loss, scale->input);
}

/* Blocks that gradients compute again, where that is asked for. */
static rgm_status blocks_open(const rgm_trainer *trainer)
{
    bool again = trainer->options.activation_checkpointing;

    rgm_cgraph_recompute(trainer->graph, again);
    if (again && rgm_cgraph_blocks(trainer->graph) == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.activation_checkpointing: this model has no blocks that could be "
                        "computed again, as the layers of a Transformer are: leave it out");
    return RGM_OK;
}

static rgm_status gradients_open(rgm_value **gradients, rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_cgraph_parameter_count(trainer->graph), wanted = 0;
    rgm_value **parameters = NULL, **found = NULL, *loss = scaled_loss(trainer);

    RGM_GO(rgm_cgraph_status(trainer->graph));
    RGM_GO(blocks_open(trainer));
    RGM_GO(RGM_NEW(parameters, count));
    RGM_GO(RGM_NEW(found, count));
    for (int64_t i = 0; i < count; i++)
        if (rgm_value_is_trainable(rgm_cgraph_parameter(trainer->graph, i)))
            parameters[wanted++] = rgm_cgraph_parameter(trainer->graph, i);
    if (trainer->options.gradient_surgery == RGM_SURGERY_PCGRAD)
        RGM_GO(rgmi_surgery_gradients(found, trainer,
                                      trainer->loss_scale.used ? trainer->loss_scale.input : NULL,
                                      parameters, wanted));
    else
        RGM_GO(rgm_cgraph_gradients(found, loss, parameters, wanted));
    for (int64_t i = 0, at = 0; i < count; i++) {
        gradients[i] = NULL;
        if (!rgm_value_is_trainable(rgm_cgraph_parameter(trainer->graph, i)))
            continue;
        gradients[i] = found[at++];
        if (trainer->loss_scale.used)
            gradients[i] = rgm_mul(gradients[i], trainer->loss_scale.inverse_input);
    }
    status = rgm_cgraph_status(trainer->graph);
done:
    rgm_free(parameters);
    rgm_free(found);
    return status;
}

/* Whether the sums of a training loop read what a head gives, beside its items. */
static bool is_counted(const rgm_trainer *trainer, int64_t h)
{
    const rgmi_sums *sums = &trainer->train_sums;
    const rgm_task *task = &trainer->task;

    if (sums->count > 0 &&
        (task->process_compiled_metrics != NULL || task->process_metrics != NULL))
        return true;
    for (int64_t i = 0; i < sums->count; i++)
        if (sums->metrics[i].head == h)
            return true;
    return sums->confusion[h] != NULL;
}

/* Gradients, next values of states and what nobody reads stay on the device. */
static rgm_status choose_stays(bool **out, const rgm_trainer *trainer)
{
    const rgmi_fetches *fetches = &trainer->train_fetches;

    *out = NULL;
    if (rgm_device_is_host(rgmi_gradient_device(trainer)))
        return RGM_OK;
    RGM_TRY(RGM_NEW(*out, fetches->count));
    for (int64_t i = fetches->gradients; i < fetches->count; i++)
        (*out)[i] = true;
    for (int64_t h = 0; h < trainer->model.head_count; h++) {
        const int64_t read[] = {fetches->predictions[h], fetches->labels[h], fetches->lists[h]};

        for (int k = 0; k < 3; k++)
            if (read[k] >= 0)
                (*out)[read[k]] = !is_counted(trainer, h);
    }
    return RGM_OK;
}

static rgm_status train_open(rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    rgm_value **gradients = NULL;
    bool *stays = NULL;
    rgm_executor_options options = executor_options(trainer, true);

    RGM_GO(RGM_NEW(gradients, rgm_cgraph_parameter_count(trainer->graph)));
    RGM_GO(RGM_NEW(trainer->gradients, rgm_cgraph_parameter_count(trainer->graph)));
    RGM_GO(gradients_open(gradients, trainer));
    RGM_GO(fetches_open(&trainer->train_fetches, trainer, true, gradients));
    if (rgmi_heads_are_shared(trainer))
        RGM_GO(rgmi_heads_open(trainer));
    RGM_GO(choose_stays(&stays, trainer));
    options.stays = stays;
    options.meanwhile = rgmi_feed_ahead;
    options.meanwhile_payload = trainer;
    RGM_GO(rgm_executor_create(&trainer->train_run, trainer->graph, trainer->train_fetches.values,
                               trainer->train_fetches.count, &options));
done:
    rgm_free(gradients);
    rgm_free(stays);
    return status;
}

rgm_status rgmi_accumulator_open(rgm_trainer *trainer)
{
    int64_t count = rgm_parameters_count(trainer->parameters);

    if (trainer->train_run != NULL && trainer->hooks.gradients != NULL)
        RGM_TRY(RGM_NEW(trainer->hooked, count));
    if (trainer->train_run == NULL || (trainer->options.accumulation_steps < 2 &&
                                       !trainer->private.used && !rgmi_is_sharded(trainer)))
        return RGM_OK;
    RGM_TRY(RGM_NEW(trainer->accumulator.sums, count));
    RGM_TRY(RGM_NEW(trainer->accumulator.kept, trainer->train_sums.size));
    RGM_TRY(RGM_NEW(trainer->accumulator.states, count));
    for (int64_t i = 0; i < count; i++) {
        bool trained = rgm_parameters_trainable(trainer->parameters, i);

        if (trained && rgmi_is_sharded(trainer))
            continue;
        const rgm_tensor *w = rgm_parameters_form(trainer->parameters, i);
        RGM_TRY(rgm_device_tensor_create(trained ? &trainer->accumulator.sums[i]
                                                 : &trainer->accumulator.states[i],
                                         rgmi_gradient_device(trainer), rgm_tensor_dtype(w),
                                         rgm_tensor_rank(w), rgm_tensor_shape(w)));
    }
    return rgmi_is_sharded(trainer) ? rgmi_shards_accumulator_open(trainer) : RGM_OK;
}

/* ---- all of it ----------------------------------------------------------------------------- */

rgm_status rgmi_model_open(rgm_trainer *trainer)
{
    const rgm_task *task = &trainer->task;

    RGM_TRY(rgm_cgraph_create(&trainer->graph));
    RGM_TRY(rgm_scope_create(&trainer->scope, trainer->graph, RGM_F32));
    if (task->build_model != NULL) {
        if (task->feeds == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "task '%s' has a model but no function `feeds`",
                            task->name);
        RGM_TRY(task->build_model(&trainer->model, trainer->scope, task->state));
        RGM_TRY(rgm_cgraph_status(trainer->graph));
        RGM_TRY(build_loss(trainer));
        trainer->heads.apart = rgmi_heads_are_apart(trainer);
    }
    RGM_TRY(rgmi_report_open(trainer));
    RGM_TRY(rgmi_sums_open(&trainer->train_sums, trainer, true));
    for (int mode = 0; mode < 3; mode++)
        RGM_TRY(rgmi_sums_open(&trainer->eval_sums[mode], trainer, false));
    for (int64_t i = 0; i < trainer->set_count; i++)
        RGM_TRY(rgmi_sums_open(&trainer->sets[i].sums, trainer, false));
    RGM_TRY(rgm_parameters_create(&trainer->parameters, trainer->graph,
                                  (uint64_t)trainer->runtime.seed));
    if (task->build_model == NULL)
        return RGM_OK;
    RGM_TRY(eval_open(trainer));
    if (trainer->data[RGM_TRAIN] == NULL)
        return RGM_OK;
    return train_open(trainer);
}

int64_t rgm_trainer_total_updates(const rgm_trainer *trainer)
{
    if (trainer->options.train_steps == 0 && trainer->no_data[RGM_TRAIN])
        return 1; /* nothing is updated, so any rate will do */
    return rgm_trainer_run_length(trainer, &trainer->options);
}

/* How long an epoch is, for a schedule that counts them. */
static void set_epoch(rgm_schedule *schedule, const rgm_trainer *trainer)
{
    const rgm_dataset *data = trainer->data[RGM_TRAIN];
    int64_t steps = data != NULL ? rgm_trainer_epoch_steps(trainer, &trainer->options) : 1;

    schedule->update_batches = 1;
    schedule->pass_batches = steps;
    if (steps > 0 || rgm_dataset_pass(data) < 1 || rgm_dataset_pass(data) == INT64_MAX)
        return;
    schedule->pass_batches = rgm_dataset_pass(data); /* which repeat without an end */
    schedule->update_batches = rgmi_step_batches(trainer);
}

/* Slots take as much memory as the weights, or twice as much. */
static bool wants_optimizer(const rgm_trainer *trainer)
{
    return !trainer->only_asked || trainer->optimizer_options.average.decay > 0 ||
           trainer->options.reduce_on_plateau.patience > 0 ||
           trainer->task.create_optimizer != NULL;
}

rgm_status rgmi_optimizer_open(rgm_trainer *trainer)
{
    const rgm_task *task = &trainer->task;
    rgm_optimizer_options *options = &trainer->optimizer_options;

    if (options->type == NULL)
        return RGM_OK;
    set_epoch(&options->learning_rate, trainer);
    RGM_TRY(rgm_optimizer_options_resolve(options, rgm_trainer_total_updates(trainer)));
    if (trainer->data[RGM_TRAIN] != NULL)
        RGM_TRY(rgm_schedule_check_run(NULL, &options->learning_rate,
                                       rgm_trainer_total_updates(trainer)));
    if (!wants_optimizer(trainer))
        return RGM_OK;
    if (task->create_optimizer != NULL)
        return task->create_optimizer(&trainer->optimizer, options, trainer->parameters,
                                      task->state);
    return rgm_optimizer_create(&trainer->optimizer, options, trainer->parameters);
}

void rgmi_model_close(rgm_trainer *trainer)
{
    rgm_executor_release(trainer->train_run);
    rgm_executor_release(trainer->eval_run);
    rgm_executor_release(trainer->infer_run);
    rgmi_heads_close(&trainer->heads);
    fetches_close(&trainer->train_fetches);
    fetches_close(&trainer->eval_fetches);
    fetches_close(&trainer->infer_fetches);
    for (int64_t i = 0;
         trainer->parameters != NULL && i < rgm_parameters_count(trainer->parameters); i++) {
        if (trainer->accumulator.sums != NULL)
            rgm_tensor_release(trainer->accumulator.sums[i]);
        if (trainer->accumulator.states != NULL)
            rgm_tensor_release(trainer->accumulator.states[i]);
        if (trainer->hooked != NULL)
            rgm_tensor_release(trainer->hooked[i]);
    }
    rgm_free(trainer->hooked);
    rgm_free(trainer->accumulator.states);
    rgm_free(trainer->accumulator.sums);
    rgm_free(trainer->accumulator.kept);
    rgm_free(trainer->gradients);
    rgm_tensor_release(trainer->loss_scale.tensor);
    rgm_tensor_release(trainer->loss_scale.inverse);
    rgmi_layers_close(&trainer->layers);
    rgmi_sums_close(&trainer->train_sums);
    rgmi_sums_close(&trainer->half_sums);
    for (int mode = 0; mode < 3; mode++)
        rgmi_sums_close(&trainer->eval_sums[mode]);
    for (int64_t i = 0; i < trainer->set_count; i++)
        rgmi_sums_close(&trainer->sets[i].sums);
    rgm_optimizer_release(trainer->optimizer);
    rgm_parameters_release(trainer->parameters);
    rgm_scope_release(trainer->scope);
    rgm_cgraph_release(trainer->graph);
}
