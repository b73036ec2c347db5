/*
 * A trainer's parts and state, for its driver (train_driver.h).
 */
#include "trainer_internal.h"

unsigned rgm_trainer_decide(const rgm_trainer *trainer, unsigned seen)
{
    const rgm_trainer_hooks *hooks = &trainer->hooks;
    uint64_t any = seen;

    if (hooks->decide != NULL)
        return hooks->decide(seen, hooks->payload);
    if (rgm_comm_decide(trainer->comm, &any, NULL) != RGM_OK) { /* the next call tells it again */
        rgm_error_reset();
        return seen | RGM_DECIDE_FAILED;
    }
    return (unsigned)any;
}

rgm_comm *rgm_trainer_comm(const rgm_trainer *trainer)
{
    return trainer->comm;
}

const rgm_runtime_options *rgm_trainer_runtime(const rgm_trainer *trainer)
{
    return &trainer->runtime;
}

const rgm_optimizer_options *rgm_trainer_optimizer_options(const rgm_trainer *trainer)
{
    return &trainer->optimizer_options;
}

const rgm_trainer_hooks *rgm_trainer_hooks_of(const rgm_trainer *trainer)
{
    return &trainer->hooks;
}

bool rgm_trainer_leaves_data(const rgm_trainer *trainer, rgm_mode mode)
{
    return trainer->no_data[mode];
}

bool rgm_trainer_reads_slots(const rgm_trainer *trainer)
{
    return !trainer->only_asked || trainer->optimizer != NULL ||
           trainer->hooks.restore_state != NULL;
}

rgm_executor *rgm_trainer_executor(const rgm_trainer *trainer, rgm_mode mode)
{
    return mode == RGM_TRAIN ? trainer->train_run : trainer->eval_run;
}

double rgm_trainer_loop_items(const rgm_trainer *trainer)
{
    return trainer->train_sums.sums[1];
}

int64_t rgm_trainer_eval_steps(const rgm_trainer *trainer)
{
    return trainer->eval_steps;
}

double rgm_trainer_loss_scale(int64_t *good_steps, const rgm_trainer *trainer)
{
    *good_steps = trainer->loss_scale.good_steps;
    return trainer->loss_scale.used ? trainer->loss_scale.scale : 1;
}

const int64_t *rgm_trainer_confusion(const rgm_trainer *trainer, rgm_mode mode, int64_t set,
                                     int64_t head)
{
    const rgmi_sums *sums = set >= 0 ? &trainer->sets[set].sums : &trainer->eval_sums[mode];

    return sums->confused[head] ? sums->confusion[head] : NULL;
}

void rgm_trainer_describe_batches(rgm_trainer *trainer, rgm_text *text)
{
    trainer->batch = text;
}

double rgm_trainer_profile_now(const rgm_trainer *trainer)
{
    return rgmi_profile_now(trainer);
}
