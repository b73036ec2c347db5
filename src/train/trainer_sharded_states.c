/*
 * runtime.shard_optimizer: each process that holds shards of a step keeps the optimizer's slots of
 * some parameters, moves these, and gets the others from those who move them (the first stage of
 * ZeRO, Rajbhandari et al. 2020). Every number is computed as by one process, so the bytes are the
 * same; checkpoints have the slots of all.
 */
#include <stdlib.h>

#include "trainer_internal.h"

/* ---- who moves what ------------------------------------------------------------------------ */

typedef struct load {
    int64_t parameter, size;
} load;

static int by_size(const void *a, const void *b)
{
    const load *x = a, *y = b;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->parameter < y->parameter ? -1 : x->parameter > y->parameter;
}

/* Whole parameters, since norms are of whole ones: the largest first, each to the rank that has
 * least so far. */
static rgm_status deal_out(int *owner, const rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_parameters_count(trainer->parameters), *held = NULL;
    int ranks = rgm_comm_size(trainer->comm);
    load *loads = NULL;

    RGM_GO(RGM_NEW(loads, count));
    RGM_GO(RGM_NEW(held, ranks));
    for (int64_t i = 0; i < count; i++)
        loads[i] = (load){i, rgm_tensor_count(rgm_parameters_form(trainer->parameters, i))};
    if (count > 0)
        qsort(loads, (size_t)count, sizeof *loads, by_size);
    for (int64_t k = 0; k < count; k++) {
        int least = 0;

        for (int r = 1; r < ranks; r++)
            least = held[r] < held[least] ? r : least;
        owner[loads[k].parameter] = least;
        if (rgm_parameters_trainable(trainer->parameters, loads[k].parameter))
            held[least] += loads[k].size;
    }
done:
    rgm_free(loads);
    rgm_free(held);
    return status;
}

/* ---- the step ------------------------------------------------------------------------------ */

/* All learn whether each could move its part, and then get what the others have moved. */
static rgm_status exchange(rgm_status status, rgm_parameters *parameters, void *payload)
{
    rgm_trainer *trainer = payload;

    RGM_TRY(rgmi_agree(trainer, status));
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        rgm_tensor *w;

        if (!rgm_parameters_trainable(parameters, i))
            continue;
        w = rgm_parameters_tensor(parameters, i);
        RGM_TRY(rgm_comm_broadcast(trainer->comm, rgm_tensor_data(w), rgm_tensor_bytes(w),
                                   trainer->owners[i]));
    }
    return RGM_OK;
}

static bool are_shared_out(const rgm_trainer *trainer)
{
    return trainer->runtime.shard_optimizer && trainer->optimizer != NULL &&
           rgm_comm_size(trainer->comm) > 1;
}

rgm_status rgmi_owners_check(const rgm_trainer *trainer)
{
    if (are_shared_out(trainer) && !rgm_device_is_host(rgm_trainer_device(trainer)))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.shard_optimizer is true, but a device computes, whose slots are "
                        "not shared out: set runtime.shard_optimizer: false");
    return RGM_OK;
}

rgm_status rgmi_owners_open(rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    int64_t count = rgm_parameters_count(trainer->parameters);
    bool *own = NULL;

    if (!are_shared_out(trainer) || trainer->owners != NULL)
        return RGM_OK;
    RGM_GO(RGM_NEW(trainer->owners, count));
    RGM_GO(RGM_NEW(own, count));
    RGM_GO(deal_out(trainer->owners, trainer));
    for (int64_t i = 0; i < count; i++)
        own[i] = trainer->owners[i] == rgm_comm_rank(trainer->comm);
    rgm_optimizer_take_part(trainer->optimizer, &(rgm_optimizer_part){own, exchange, trainer});
done:
    rgm_free(own);
    return status;
}

/* ---- a checkpoint -------------------------------------------------------------------------- */

/* Slot i goes from the process that has it to the first one, whose optimizer it is lent to. */
static rgm_status collect_slot(rgm_trainer *trainer, int64_t i, int owner)
{
    const rgm_tensor *tensor = rgm_optimizer_slot(trainer->optimizer, i).tensor;
    bool mine = rgm_comm_rank(trainer->comm) == owner;
    rgm_comm_blocks blocks = {0};
    rgm_status status = RGM_OK;

    RGM_TRY(rgm_comm_gather(&blocks, trainer->comm, mine ? rgm_tensor_data(tensor) : NULL,
                            mine ? rgm_tensor_bytes(tensor) : 0, 0));
    if (blocks.count > 0)
        status =
            rgm_optimizer_lend_slot(trainer->optimizer, i, blocks.memory + blocks.begin[owner]);
    rgm_comm_blocks_clear(&blocks);
    return status;
}

rgm_status rgmi_slots_collect(const rgm_trainer *trainer)
{
    for (int64_t i = 0; trainer->owners != NULL && i < rgm_optimizer_slot_count(trainer->optimizer);
         i++) {
        int64_t parameter = rgm_optimizer_slot_owner(trainer->optimizer, i);

        if (parameter >= 0 && trainer->owners[parameter] != 0)
            RGM_TRY(collect_slot((rgm_trainer *)trainer, i, trainer->owners[parameter]));
    }
    return RGM_OK;
}

void rgmi_slots_drop(const rgm_trainer *trainer)
{
    if (trainer->owners == NULL || rgm_comm_rank(trainer->comm) > 0)
        return;
    for (int64_t i = 0; i < rgm_optimizer_slot_count(trainer->optimizer); i++) {
        int64_t parameter = rgm_optimizer_slot_owner(trainer->optimizer, i);

        if (parameter >= 0 && trainer->owners[parameter] != 0)
            (void)rgm_optimizer_lend_slot(trainer->optimizer, i, NULL);
    }
}
