/*
 * One training step and one validation pass: what is fetched, fed and looked at. A loss that is not
 * finite stops the step before anything is updated, and the step is run again op by op to name the op
 * and tensor it came from.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

static int64_t fetch(rgmi_fetches *fetches, rgm_value *value)
{
    if (value == NULL)
        return -1;
    fetches->values[fetches->count] = value;
    return fetches->count++;
}

static rgm_status choose_fetches(rgmi_fetches *fetches, const rgm_trainer *trainer,
                                 rgm_value *const *gradients, int64_t gradient_count)
{
    int64_t updates = gradients != NULL ? rgm_cgraph_update_count(trainer->graph) : 0;
    int64_t most = 1 + 3 * trainer->model.head_count + gradient_count + updates;

    RGM_TRY(RGM_NEW(fetches->values, most));
    RGM_TRY(RGM_NEW(fetches->tensors, most));
    fetch(fetches, trainer->model.loss);
    for (int64_t h = 0; h < trainer->model.head_count; h++) {
        const rgm_head *head = &trainer->model.heads[h];

        fetches->predictions[h] = fetch(fetches, head->predictions);
        fetches->labels[h] = fetch(fetches, head->labels);
        fetches->weights[h] = fetch(fetches, head->weights);
    }
    fetches->gradients = fetches->count;
    for (int64_t i = 0; i < gradient_count; i++)
        fetch(fetches, gradients[i]);
    fetches->updates = fetches->count;
    for (int64_t i = 0; i < updates; i++)
        fetch(fetches, rgm_cgraph_update_next(trainer->graph, i));
    return RGM_OK;
}

rgm_status rgmi_step_open(rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_cgraph_parameter_count(trainer->graph);
    rgm_value **parameters = NULL, **gradients = NULL;
    rgm_executor_options train = {.training = true, .eager = trainer->options.run_eagerly};
    rgm_executor_options eval = {.eager = trainer->options.run_eagerly};

    RGM_GO(RGM_NEW(parameters, count));
    RGM_GO(RGM_NEW(gradients, count));
    for (int64_t i = 0; i < count; i++)
        parameters[i] = rgm_cgraph_parameter(trainer->graph, i);
    /* Validation needs no gradients: compiled first, it never sees them. */
    RGM_GO(choose_fetches(&trainer->eval_fetches, trainer, NULL, 0));
    RGM_GO(rgm_executor_create(&trainer->eval_run, trainer->graph, trainer->eval_fetches.values,
                               trainer->eval_fetches.count, &eval));
    RGM_GO(rgm_cgraph_gradients(gradients, trainer->model.loss, parameters, count));
    RGM_GO(choose_fetches(&trainer->train_fetches, trainer, gradients, count));
    RGM_GO(rgm_executor_create(&trainer->train_run, trainer->graph, trainer->train_fetches.values,
                               trainer->train_fetches.count, &train));
done:
    rgm_free(parameters);
    rgm_free(gradients);
    return status;
}

void rgmi_step_close(rgm_trainer *trainer)
{
    rgm_executor_release(trainer->train_run);
    rgm_executor_release(trainer->eval_run);
    rgm_free(trainer->train_fetches.values);
    rgm_free(trainer->train_fetches.tensors);
    rgm_free(trainer->eval_fetches.values);
    rgm_free(trainer->eval_fetches.tensors);
}

/* The step again, op by op: its failure names the first op that made a number that is none. */
static rgm_status explain_nan(rgm_trainer *trainer, const rgm_feed *feeds, int64_t feed_count)
{
    rgm_status status = RGM_OK;
    rgm_executor *eager = NULL;
    rgm_executor_options options = {.training = true, .eager = true};
    rgmi_fetches *fetches = &trainer->train_fetches;
    long long step = (long long)trainer->step + 1;

    RGM_GO(rgm_executor_create(&eager, trainer->graph, fetches->values, fetches->count, &options));
    status = rgm_executor_run(eager, fetches->tensors, trainer->parameters, feeds, feed_count,
                              trainer->seed, (uint64_t)trainer->step);
    if (status == RGM_OK)
        status = RGM_FAIL(RGM_ERR_NUMERIC, "the loss is not finite");
    rgm_error_prefix(status, "step %lld", step);
done:
    rgm_executor_release(eager);
    return status;
}

rgm_status rgmi_train_step(rgm_trainer *trainer, rgm_element *batch)
{
    rgm_feed feeds[RGMI_MAX_FEEDS];
    int64_t count = 0;
    rgmi_fetches *fetches = &trainer->train_fetches;
    rgm_status status;

    RGM_TRY(trainer->task.feeds(feeds, RGMI_MAX_FEEDS, &count, trainer->task.state, batch));
    status = rgm_executor_run(trainer->train_run, fetches->tensors, trainer->parameters, feeds,
                              count, trainer->seed, (uint64_t)trainer->step);
    if (status != RGM_OK)
        return rgm_error_prefix(status, "step %lld", (long long)trainer->step + 1);
    trainer->last_loss = rgm_tensor_at(fetches->tensors[0], 0);
    if (!isfinite(trainer->last_loss))
        return explain_nan(trainer, feeds, count);
    status = rgm_optimizer_step(trainer->optimizer, trainer->parameters,
                                fetches->tensors + fetches->gradients, trainer->step);
    if (status == RGM_ERR_NUMERIC)
        return explain_nan(trainer, feeds, count);
    if (status != RGM_OK)
        return status;
    RGM_TRY(rgm_parameters_update(trainer->parameters, trainer->graph,
                                  fetches->tensors + fetches->updates));
    rgmi_sums_add(&trainer->train_sums, trainer, fetches);
    return RGM_OK;
}

static rgm_status eval_step(rgm_trainer *trainer, rgm_element *batch, rgmi_sums *sums)
{
    rgm_feed feeds[RGMI_MAX_FEEDS];
    int64_t count = 0;
    rgmi_fetches *fetches = &trainer->eval_fetches;

    RGM_TRY(trainer->task.feeds(feeds, RGMI_MAX_FEEDS, &count, trainer->task.state, batch));
    RGM_TRY(rgm_executor_run(trainer->eval_run, fetches->tensors, trainer->parameters, feeds, count,
                             trainer->seed, (uint64_t)trainer->step));
    rgmi_sums_add(sums, trainer, fetches);
    return RGM_OK;
}

rgm_status rgmi_evaluate(rgm_trainer *trainer, rgm_mode mode, int64_t max_steps,
                         rgm_metric_values *out)
{
    rgm_status status = RGM_OK;
    rgm_iterator *iterator = NULL;
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_element *batch = NULL;
    rgmi_sums *sums = &trainer->eval_sums[mode];

    *out = (rgm_metric_values){0};
    if (trainer->data[mode] == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there are no %s data", rgm_mode_name(mode));
    options.seed = trainer->seed;
    options.threads = trainer->threads;
    RGM_GO(rgm_iterator_create(&iterator, trainer->data[mode], &options));
    rgmi_sums_reset(sums);
    for (int64_t i = 0; max_steps <= 0 || i < max_steps; i++) {
        status = rgm_iterator_next(&batch, iterator);
        if (status == RGM_END)
            break;
        RGM_GO(status);
        RGM_GO(eval_step(trainer, batch, sums));
        rgm_element_release(batch);
        batch = NULL;
    }
    status = RGM_OK;
    *out = rgmi_sums_finish(sums, trainer);
done:
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    return status;
}
