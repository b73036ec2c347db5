/*
 * Parts of a step: what a batch, of several in a step, adds to it.
 */
#include <string.h>

#include "trainer_internal.h"

rgm_status rgmi_step_keep(rgm_trainer *trainer)
{
    memcpy(trainer->accumulator.kept, trainer->train_sums.sums,
           (size_t)trainer->train_sums.size * sizeof(double));
    return rgmi_states_copy(trainer, false);
}

rgm_status rgmi_step_undo(rgm_trainer *trainer, rgm_status status)
{
    rgm_error error;

    if (status == RGM_OK)
        return RGM_OK;
    rgm_error_save(&error, status);
    memcpy(trainer->train_sums.sums, trainer->accumulator.kept,
           (size_t)trainer->train_sums.size * sizeof(double));
    (void)rgmi_states_copy(trainer,
                           true); /* fails of a lost device alone, of which there is more */
    return rgm_error_restore(&error);
}

rgm_status rgmi_update_states(rgm_trainer *trainer)
{
    return rgm_parameters_update(trainer->parameters, trainer->graph,
                                 trainer->train_fetches.tensors + trainer->train_fetches.updates);
}

rgm_status rgmi_add_batch(rgm_step *step, rgm_feed *feeds, int64_t *count, rgm_element *inputs,
                          const double *all, int64_t k, rgmi_part *part)
{
    rgm_trainer *trainer = step->trainer;
    rgm_element *first = step->inputs; /* which its caller releases */
    bool shared = trainer->heads.count_run != NULL;
    double items[RGM_MAX_HEADS];
    rgm_status status;

    *count = 0;
    if (shared) {
        RGM_TRY(rgmi_feed(feeds, count, trainer, inputs));
        RGM_TRY(rgmi_heads_count(items, trainer, feeds, *count));
        RGM_TRY(rgmi_heads_share(trainer, items, all));
        *count = 0;
    }
    rgmi_buckets_watch(trainer, k);
    status = rgmi_run_batch(step, feeds, count, inputs,
                            trainer->step * trainer->options.accumulation_steps + k);
    rgmi_buckets_unwatch(trainer);
    RGM_TRY(status);
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
        if (trainer->gradients[i] != NULL && !rgmi_buckets_has(trainer, i))
            rgmi_add_scaled(trainer->accumulator.sums[i], trainer->gradients[i],
                            shared ? 1 : step->items, k == 0);
    trainer->counted = false; /* each batch counts, and is what the task's metrics look at */
    step->inputs = inputs;
    rgmi_count_step(step);
    step->inputs = first;
    part->loss += shared ? rgmi_heads_shared(trainer, step->loss) : step->loss * step->items;
    part->items += step->items;
    return rgmi_update_states(trainer);
}

void rgmi_divide_gradients(rgm_trainer *trainer, double items)
{
    if (trainer->heads.count_run != NULL) /* their shares are parts of the whole */
        return;
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
        if (trainer->accumulator.sums[i] != NULL)
            rgmi_add_scaled(trainer->accumulator.sums[i], trainer->accumulator.sums[i],
                            items > 0 ? 1 / items : 1, true);
}

void rgmi_set_part(rgm_step *step, const rgmi_part *part)
{
    bool shared = step->trainer->heads.count_run != NULL;

    if (shared || part->items > 0)
        step->loss = shared ? part->loss : part->loss / part->items;
    step->items = part->items;
}
