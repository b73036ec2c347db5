/*
 * Several heads with their own losses: each loss is a mean over its own head's items, and batches
 * may have different shares of these. So each head's loss is summed separately over a loop or pass,
 * and in an update of several batches each batch's head has the share of its items among all of
 * them.
 */
#include <stdio.h>

#include "trainer_internal.h"

/* ---- what a run gave ----------------------------------------------------------------------- */

static bool has_loss(const rgm_trainer *trainer, int64_t h)
{
    return trainer->model.heads[h].loss != NULL;
}

/* Heads of a task that adds up its losses itself count as one. */
bool rgmi_heads_are_apart(const rgm_trainer *trainer)
{
    int64_t count = 0;

    for (int64_t h = 0; h < trainer->model.head_count; h++)
        count += has_loss(trainer, h);
    return count > 1 && trainer->task.build_losses == NULL;
}

bool rgmi_heads_are_shared(const rgm_trainer *trainer)
{
    if (trainer->options.privacy.clipping_norm > 0) /* single examples are each complete */
        return false;
    if (trainer->task.parts > 1) /* gradients go to the other parts: all are of one whole */
        return trainer->task.build_losses == NULL;
    return trainer->heads.apart &&
           (trainer->options.accumulation_steps > 1 || rgmi_is_sharded(trainer));
}

static double count_items(const rgm_tensor *weights, const rgm_tensor *rows)
{
    double items = 0;

    if (weights == NULL)
        return rows != NULL ? (double)rgm_tensor_dim(rows, 0) : 1;
    for (int64_t i = 0; i < rgm_tensor_count(weights); i++)
        items += rgm_tensor_at(weights, i);
    return items;
}

double rgmi_head_items(const rgm_step *step, const rgmi_fetches *fetches, int64_t h)
{
    return fetches->loss_items[h] >= 0 ? rgm_tensor_at(fetches->tensors[fetches->loss_items[h]], 0)
                                       : count_items(step->weights[h], step->predictions[h]);
}

bool rgmi_items_so_far(double *items, const rgmi_fetches *fetches)
{
    const int64_t needed[] = {fetches->weights[0], fetches->predictions[0]};
    rgm_tensor *found[2] = {NULL};

    if (fetches->loss_items[0] >= 0) {
        const rgm_tensor *count = fetches->tensors[fetches->loss_items[0]];

        *items = count != NULL ? rgm_tensor_at(count, 0) : 0;
        return count != NULL;
    }
    for (int k = 0; k < 2; k++) {
        found[k] = needed[k] >= 0 ? fetches->tensors[needed[k]] : NULL;
        if (needed[k] >= 0 && found[k] == NULL)
            return false;
    }
    *items = count_items(found[0], found[1]);
    return true;
}

void rgmi_heads_take(rgm_trainer *trainer, const rgmi_fetches *fetches, const rgm_step *step)
{
    rgmi_heads *heads = &trainer->heads;

    heads->seen = heads->apart && fetches->loss >= 0;
    for (int64_t h = 0; h < trainer->model.head_count; h++) {
        heads->losses[h] = 0;
        if (fetches->head_losses[h] < 0)
            continue;
        heads->losses[h] = trainer->model.heads[h].loss_weight *
                           rgm_tensor_at(fetches->tensors[fetches->head_losses[h]], 0);
        heads->items[h] = rgmi_head_items(step, fetches, h);
    }
}

/* ---- sums of a loop or pass ---------------------------------------------------------------- */

double rgmi_heads_add(double *sums, const rgm_trainer *trainer, double loss)
{
    const rgmi_heads *heads = &trainer->heads;

    for (int64_t h = 0; h < trainer->model.head_count && heads->seen; h++) {
        if (!has_loss(trainer, h))
            continue;
        sums[2 * h] += heads->losses[h] * heads->items[h];
        sums[2 * h + 1] += heads->items[h];
        loss -= heads->losses[h];
    }
    return loss;
}

double rgmi_heads_sum(const double *sums, const rgm_trainer *trainer)
{
    double loss = 0;

    for (int64_t h = 0; h < trainer->model.head_count; h++)
        if (sums[2 * h + 1] > 0)
            loss += sums[2 * h] / sums[2 * h + 1];
    return loss;
}

/* ---- shares of the batches of an update ------------------------------------------------------ */

/* What counts a batch's items, without running the model where possible. */
static rgm_value *rows_of(const rgm_head *head)
{
    if (head->loss_items != NULL)
        return head->loss_items;
    if (head->weights != NULL)
        return head->weights;
    return head->labels != NULL ? head->labels : head->predictions;
}

static rgm_value *share_input(rgm_trainer *trainer, int64_t h)
{
    char name[32];

    snprintf(name, sizeof name, "share_%lld", (long long)h);
    return trainer->heads.inputs[h] = rgm_input(trainer->graph, name, RGM_F32, 0, NULL);
}

rgm_value *rgmi_heads_shared_loss(rgm_trainer *trainer)
{
    const rgm_task_model *model = &trainer->model;
    rgm_value *aux = rgm_scope_loss(trainer->scope), *sum = NULL;

    if (aux != NULL)
        sum = rgm_mul(aux, share_input(trainer, model->head_count));
    for (int64_t h = 0; h < model->head_count; h++) {
        rgm_value *loss, *share;

        if (!has_loss(trainer, h))
            continue;
        share = share_input(trainer, h);
        loss = rgm_mul(rgm_scale(model->heads[h].loss, model->heads[h].loss_weight), share);
        sum = sum == NULL ? loss : rgm_add(sum, loss);
    }
    return sum;
}

rgm_status rgmi_heads_open(rgm_trainer *trainer)
{
    rgmi_heads *heads = &trainer->heads;
    rgm_executor_options options = {0};
    rgm_value *values[RGM_MAX_HEADS];

    for (int64_t h = 0; h < trainer->model.head_count; h++)
        values[h] = rows_of(&trainer->model.heads[h]);
    return rgm_executor_create(&heads->count_run, trainer->graph, values, trainer->model.head_count,
                               &options);
}

void rgmi_heads_close(rgmi_heads *heads)
{
    rgm_executor_release(heads->count_run);
    for (int64_t h = 0; h <= RGM_MAX_HEADS; h++)
        rgm_tensor_release(heads->shares[h]);
}

rgm_status rgmi_heads_count(double items[RGM_MAX_HEADS], rgm_trainer *trainer,
                            const rgm_feed *feeds, int64_t count)
{
    rgm_tensor *rows[RGM_MAX_HEADS];

    RGM_TRY(rgm_executor_run(trainer->heads.count_run, rows, trainer->parameters, feeds, count,
                             (uint64_t)trainer->runtime.seed, (uint64_t)trainer->step));
    for (int64_t h = 0; h < trainer->model.head_count; h++) {
        const rgm_head *head = &trainer->model.heads[h];

        items[h] = head->loss_items != NULL
                       ? rgm_tensor_at(rows[h], 0)
                       : count_items(head->weights != NULL ? rows[h] : NULL, rows[h]);
    }
    return RGM_OK;
}

static rgm_status set_share(rgmi_heads *heads, int64_t h, double share)
{
    rgm_tensor_release(
        heads->shares[h]); /* a tensor that was fed must not change: make a new one */
    RGM_TRY(rgm_tensor_create(&heads->shares[h], RGM_F32, 0, NULL));
    rgm_tensor_f32(heads->shares[h])[0] = (float)share;
    return RGM_OK;
}

rgm_status rgmi_heads_share(rgm_trainer *trainer, const double *items, const double *all)
{
    rgmi_heads *heads = &trainer->heads;
    int64_t count = trainer->model.head_count;

    for (int64_t h = 0; h <= count; h++) /* losses that layers add go with the first head */
        RGM_TRY(set_share(heads, h, all[h % count] > 0 ? items[h % count] / all[h % count] : 0));
    return RGM_OK;
}

void rgmi_heads_feed(rgm_feed *feeds, int64_t *count, const rgm_trainer *trainer)
{
    const rgmi_heads *heads = &trainer->heads;

    for (int64_t h = 0; h <= trainer->model.head_count; h++)
        if (heads->inputs[h] != NULL)
            feeds[(*count)++] = (rgm_feed){.input = heads->inputs[h], .tensor = heads->shares[h]};
}

double rgmi_heads_shared(const rgm_trainer *trainer, double loss)
{
    const rgmi_heads *heads = &trainer->heads;
    double sum = 0;

    for (int64_t h = 0; h < trainer->model.head_count; h++) {
        sum += rgm_tensor_at(heads->shares[h], 0) * heads->losses[h];
        loss -= heads->losses[h];
    }
    return sum + rgm_tensor_at(heads->shares[trainer->model.head_count], 0) * loss;
}
