/*
 * What all tasks share: names of the modes, the weighted mean of per-item losses, how
 * metrics see a step.
 */
#include <regimen/task.h>

const char *rgm_mode_name(rgm_mode mode)
{
    static const char *const names[] = {"train", "valid", "test"};

    return names[mode];
}

rgm_value *rgm_weighted_mean(rgm_value *x, rgm_value *weights)
{
    rgm_value *total;

    if (x == NULL)
        return NULL;
    if (weights == NULL)
        return rgm_mean(x);
    /* A batch of nothing but padding has total 0: its loss is 0, not NaN. */
    total = rgm_floor_at(rgm_sum(weights), 1e-12);
    return rgm_div(rgm_sum(rgm_mul(x, weights)), total);
}

rgm_status rgm_feed_tensors(rgm_feed *feeds, int64_t capacity, int64_t *count,
                            rgm_value *const *inputs, int64_t input_count, rgm_element *batch)
{
    if (capacity < input_count)
        return RGM_FAIL(RGM_ERR_ARG, "room for %lld feeds, %lld are needed", (long long)capacity,
                        (long long)input_count);
    for (int64_t i = 0; i < input_count; i++)
        feeds[i] = (rgm_feed){.input = inputs[i], .tensor = rgm_element_tensor(batch, i)};
    *count = input_count;
    return RGM_OK;
}

void rgm_metrics_update(double *const *states, const rgm_task_metric *metrics, int64_t count,
                        const rgm_step *step)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t head = metrics[i].head;
        rgm_metric_batch batch = {.predictions = step->predictions[head],
                                  .labels = step->labels[head],
                                  .weights = step->weights[head]};

        if (batch.predictions != NULL && batch.labels != NULL)
            metrics[i].metric.type->update(states[i], &metrics[i].metric, &batch);
    }
}
