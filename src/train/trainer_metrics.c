/*
 * Sums of a pass and the metrics they result in. The loss of a pass is the mean of its batches' losses
 * weighted by their items. The state is an array of doubles, so a checkpoint in the middle of an epoch
 * keeps it as it is.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

static rgm_status name_metrics(rgm_trainer *trainer)
{
    const rgm_task_model *model = &trainer->model;
    int64_t count = 1, at = 0;

    for (int64_t h = 0; h < model->head_count; h++)
        count += model->heads[h].metric_count;
    RGM_TRY(RGM_NEW(trainer->metric_names, count));
    trainer->metric_count = count;
    RGM_TRY(rgm_strdup(&trainer->metric_names[at++], "loss"));
    for (int64_t h = 0; h < model->head_count; h++)
        for (int64_t m = 0; m < model->heads[h].metric_count; m++)
            RGM_TRY(rgm_strprintf(&trainer->metric_names[at++], "%s%s%s",
                                  model->head_count > 1 ? model->heads[h].name : "",
                                  model->head_count > 1 ? "_" : "",
                                  model->heads[h].metrics[m].name));
    return RGM_OK;
}

rgm_status rgmi_sums_create(rgmi_sums *sums, const rgm_trainer *trainer)
{
    const rgm_task_model *model = &trainer->model;
    int64_t size = 2;

    for (int64_t h = 0; h < model->head_count; h++)
        for (int64_t m = 0; m < model->heads[h].metric_count; m++)
            size += model->heads[h].metrics[m].type->state_size(&model->heads[h].metrics[m]);
    sums->size = size;
    RGM_TRY(RGM_NEW(sums->state, size));
    return RGM_NEW(sums->values, trainer->metric_count);
}

void rgmi_sums_clear(rgmi_sums *sums)
{
    rgm_free(sums->state);
    rgm_free(sums->values);
    *sums = (rgmi_sums){0};
}

void rgmi_sums_reset(rgmi_sums *sums)
{
    memset(sums->state, 0, (size_t)sums->size * sizeof *sums->state);
}

rgm_status rgmi_metrics_open(rgm_trainer *trainer)
{
    RGM_TRY(name_metrics(trainer));
    RGM_TRY(rgmi_sums_create(&trainer->train_sums, trainer));
    for (int mode = 0; mode < 3; mode++)
        RGM_TRY(rgmi_sums_create(&trainer->eval_sums[mode], trainer));
    return RGM_OK;
}

void rgmi_metrics_close(rgm_trainer *trainer)
{
    rgmi_sums_clear(&trainer->train_sums);
    for (int mode = 0; mode < 3; mode++)
        rgmi_sums_clear(&trainer->eval_sums[mode]);
    if (trainer->metric_names != NULL)
        for (int64_t i = 0; i < trainer->metric_count; i++)
            rgm_free(trainer->metric_names[i]);
    rgm_free(trainer->metric_names);
}

/* Items of a batch by its first head: the sum of weights, or the number of predictions. */
static double batch_items(const rgmi_fetches *fetches)
{
    double items = 0;

    if (fetches->weights[0] >= 0) {
        const rgm_tensor *weights = fetches->tensors[fetches->weights[0]];

        for (int64_t i = 0; i < rgm_tensor_count(weights); i++)
            items += rgm_tensor_at(weights, i);
        return items;
    }
    if (fetches->predictions[0] >= 0)
        return (double)rgm_tensor_dim(fetches->tensors[fetches->predictions[0]], 0);
    return 1;
}

void rgmi_sums_add(rgmi_sums *sums, const rgm_trainer *trainer, const rgmi_fetches *fetches)
{
    double *state = sums->state, items = batch_items(fetches);

    state[0] += rgm_tensor_at(fetches->tensors[0], 0) * items;
    state[1] += items;
    state += 2;
    for (int64_t h = 0; h < trainer->model.head_count; h++) {
        const rgm_head *head = &trainer->model.heads[h];
        rgm_metric_batch batch = {
            .predictions = fetches->tensors[fetches->predictions[h]],
            .labels = fetches->tensors[fetches->labels[h]],
            .weights = fetches->weights[h] >= 0 ? fetches->tensors[fetches->weights[h]] : NULL,
        };

        for (int64_t m = 0; m < head->metric_count; m++) {
            head->metrics[m].type->update(state, &head->metrics[m], &batch);
            state += head->metrics[m].type->state_size(&head->metrics[m]);
        }
    }
}

rgm_metric_values rgmi_sums_finish(rgmi_sums *sums, const rgm_trainer *trainer)
{
    const double *state = sums->state + 2;
    int64_t at = 0;

    sums->values[at++] = sums->state[1] > 0 ? sums->state[0] / sums->state[1] : NAN;
    for (int64_t h = 0; h < trainer->model.head_count; h++) {
        const rgm_head *head = &trainer->model.heads[h];

        for (int64_t m = 0; m < head->metric_count; m++) {
            sums->values[at++] = head->metrics[m].type->result(state, &head->metrics[m]);
            state += head->metrics[m].type->state_size(&head->metrics[m]);
        }
    }
    return (rgm_metric_values){.count = trainer->metric_count,
                               .names = (const char *const *)trainer->metric_names,
                               .values = sums->values};
}

int64_t rgmi_metric_index(const rgm_trainer *trainer, const char *name)
{
    for (int64_t i = 0; i < trainer->metric_count; i++)
        if (strcmp(trainer->metric_names[i], name) == 0)
            return i;
    return -1;
}

bool rgmi_metric_smaller_is_better(const rgm_trainer *trainer, int64_t index)
{
    int64_t at = 1;

    if (index == 0)
        return true;
    for (int64_t h = 0; h < trainer->model.head_count; h++)
        for (int64_t m = 0; m < trainer->model.heads[h].metric_count; m++)
            if (at++ == index)
                return trainer->model.heads[h].metrics[m].type->smaller_is_better;
    return false;
}

double rgm_metric_values_get(const rgm_metric_values *values, const char *name)
{
    for (int64_t i = 0; i < values->count; i++)
        if (strcmp(values->names[i], name) == 0)
            return values->values[i];
    return NAN;
}
