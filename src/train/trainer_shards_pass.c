/*
 * Evaluation by shards (runtime.shards): batch i of a pass belongs to shard i modulo their number.
 * What the batches of one shard add up to stays apart until the end of the pass. Then it is summed
 * over the shards of all processes in the same tree as a step's gradients, and what a task
 * aggregates is merged in the order of shards.
 */
#include <string.h>

#include "trainer_internal.h"

static bool aggregates(const rgm_trainer *trainer)
{
    return trainer->task.aggregate_logs != NULL;
}

rgm_status rgmi_shards_pass_begin(rgm_trainer *trainer)
{
    rgmi_shards *shards = &trainer->shards;
    int64_t size = rgmi_pass_sums(trainer)->size;

    shards->drawn = 0;
    RGM_TRY(RGM_NEW(shards->passes, shards->own));
    for (int64_t s = 0; s < shards->own; s++)
        RGM_TRY(RGM_NEW(shards->passes[s].sums, size));
    RGM_TRY(RGM_NEW(shards->added, size));
    if (trainer->task.complete != NULL)
        RGM_TRY(RGM_NEW(shards->round, shards->count));
    return rgm_shard_sum_create(&shards->pass_sum, RGM_F64, size, shards->own);
}

/* ---- batches that are completed together --------------------------------------------------- */

/* A batch of each shard, or as many as are left; those of this process are completed. */
static rgm_status read_round(rgm_trainer *trainer)
{
    rgmi_shards *shards = &trainer->shards;

    shards->round_at = shards->round_count = 0;
    while (shards->round_count < shards->count) {
        rgm_status status =
            rgm_iterator_next(&shards->round[shards->round_count], trainer->eval_iterator);

        if (status == RGM_END)
            break;
        RGM_TRY(status);
        shards->round_count++;
    }
    if (shards->round_count == 0)
        return RGM_END;
    return trainer->task.complete(shards->round + shards->first, shards->own, trainer->task.state);
}

rgm_status rgmi_round_next(rgm_element **out, rgm_trainer *trainer)
{
    rgmi_shards *shards = &trainer->shards;

    *out = NULL;
    if (shards->round_at == shards->round_count) {
        rgm_status status = read_round(trainer);

        if (status != RGM_OK) /* the others wait in the exchange */
            return rgm_comm_fail(trainer->comm, status);
    }
    *out = shards->round[shards->round_at];
    shards->round[shards->round_at++] = NULL;
    return RGM_OK;
}

static void clear_round(rgmi_shards *shards)
{
    for (int64_t i = 0; i < shards->count && shards->round != NULL; i++)
        rgm_element_release(shards->round[i]);
    rgm_free(shards->round);
    shards->round = NULL;
    shards->round_at = shards->round_count = 0;
}

/* ---- a pass -------------------------------------------------------------------------------- */

/* The shard of the batch that was read last, counted from this process's first. */
static int64_t shard_now(const rgmi_shards *shards)
{
    return (shards->drawn - 1) % shards->count - shards->first;
}

bool rgmi_shard_has_batch(const rgm_trainer *trainer, int64_t shard)
{
    return trainer->task.parts == 0 || shard == trainer->shards.first;
}

bool rgmi_shards_pass_batch(rgm_trainer *trainer)
{
    rgmi_shards *shards = &trainer->shards;
    int64_t shard;

    shards->drawn++;
    shard = shard_now(shards);
    if (shard < 0 || shard >= shards->own || !rgmi_shard_has_batch(trainer, shards->first + shard))
        return false;
    trainer->aggregate = shards->passes[shard].aggregate;
    return true;
}

void rgmi_shards_pass_keep(rgm_trainer *trainer)
{
    rgmi_shards *shards = &trainer->shards;
    rgmi_shard_pass *pass = &shards->passes[shard_now(shards)];
    rgmi_sums *sums = rgmi_pass_sums(trainer);
    double *added = shards->added;

    pass->aggregate = trainer->aggregate;
    trainer->aggregate = NULL;
    rgmi_sums_take(added, sums);
    for (int64_t i = 0; i < sums->size; i++)
        pass->sums[i] += added[i];
}

/* ---- the end ------------------------------------------------------------------------------- */

/* Counts by label are whole numbers, which doubles add up without rounding. */
static rgm_status sum_confusion(rgmi_sums *sums, rgm_comm *comm)
{
    for (int h = 0; h < RGM_MAX_HEADS; h++) {
        rgm_status status = RGM_OK;
        int64_t cells = sums->classes[h] * sums->classes[h];
        double *counts;

        if (cells == 0 || rgm_comm_size(comm) == 1)
            continue;
        RGM_TRY(RGM_NEW(counts, cells + 1));
        for (int64_t i = 0; i < cells && sums->confused[h]; i++)
            counts[i] = (double)sums->confusion[h][i];
        counts[cells] = sums->confused[h];
        status = rgm_comm_sum(comm, counts, cells + 1, RGM_F64);
        sums->confused[h] = counts[cells] > 0;
        for (int64_t i = 0; i < cells && sums->confused[h]; i++)
            sums->confusion[h][i] = (int64_t)counts[i];
        rgm_free(counts);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status sum_sums(rgm_trainer *trainer)
{
    rgmi_shards *shards = &trainer->shards;
    rgmi_sums *sums = rgmi_pass_sums(trainer);
    double *all = shards->passes[shards->own - 1].sums, *zeros = shards->added;

    for (int64_t s = 0; s < shards->own; s++)
        rgm_shard_sum_add(shards->pass_sum, shards->passes[s].sums);
    RGM_TRY(rgm_comm_sum(trainer->comm, all, sums->size, RGM_F64));
    memset(zeros, 0, (size_t)sums->size * sizeof *zeros);
    RGM_TRY(rgmi_scores_gather(sums, NULL, trainer->comm));
    rgmi_sums_put(sums, zeros, all);
    return sum_confusion(sums, trainer->comm);
}

/* Merge into trainer->aggregate what shard s of this process has, or what another process sent. */
static rgm_status merge(rgm_trainer *trainer, void *aggregate)
{
    const rgm_task *task = &trainer->task;

    return aggregate != NULL ? task->merge_aggregates(&trainer->aggregate, aggregate, task->state)
                             : RGM_OK;
}

/* The aggregates of this process's shards, each as its size and its bytes; a size of -1: none. */
static rgm_status save_aggregates(rgm_text *out, const rgm_trainer *trainer)
{
    const rgm_task *task = &trainer->task;
    rgm_status status = RGM_OK;
    rgm_text one = {0};

    for (int64_t s = 0; s < trainer->shards.own; s++) {
        const void *aggregate = trainer->shards.passes[s].aggregate;
        int64_t size;

        one.size = 0;
        if (aggregate != NULL)
            RGM_GO(task->save_aggregate(&one, aggregate, task->state));
        size = aggregate != NULL ? one.size : -1;
        RGM_GO(rgm_text_add(out, &size, sizeof size));
        RGM_GO(rgm_text_add(out, one.data, one.size));
    }
done:
    rgm_text_clear(&one);
    return status;
}

/* Merge what a process has sent of its shards. */
static rgm_status merge_block(rgm_trainer *trainer, rgm_str block)
{
    const rgm_task *task = &trainer->task;

    while (block.size > 0) {
        void *aggregate = NULL;
        int64_t size = -1;
        rgm_status status;

        if (block.size >= (int64_t)sizeof size)
            memcpy(&size, block.data, sizeof size);
        block.data += sizeof size;
        block.size -= (int64_t)sizeof size;
        if (block.size < size || size < -1)
            return RGM_FAIL(RGM_ERR_FORMAT, "what another process aggregated is damaged");
        if (size < 0)
            continue;
        status = task->load_aggregate(&aggregate, (rgm_str){block.data, size}, task->state);
        if (status == RGM_OK)
            status = merge(trainer, aggregate);
        if (aggregate != NULL && task->release_aggregate != NULL)
            task->release_aggregate(aggregate, task->state);
        RGM_TRY(status);
        block.data += size;
        block.size -= size;
    }
    return RGM_OK;
}

static rgm_status gather_aggregates(rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    rgm_comm_blocks blocks = {0};
    rgm_text own = {0};

    RGM_GO(save_aggregates(&own, trainer));
    RGM_GO(rgm_comm_gather(&blocks, trainer->comm, own.data, (size_t)own.size, RGM_COMM_ALL));
    for (int k = 0; k < blocks.count; k++)
        RGM_GO(merge_block(trainer, (rgm_str){blocks.memory + blocks.begin[k],
                                              (int64_t)(blocks.begin[k + 1] - blocks.begin[k])}));
done:
    rgm_comm_blocks_clear(&blocks);
    rgm_text_clear(&own);
    return status;
}

rgm_status rgmi_shards_pass_sum(rgm_trainer *trainer)
{
    RGM_TRY(sum_sums(trainer));
    if (!aggregates(trainer))
        return RGM_OK;
    if (rgm_comm_size(trainer->comm) > 1)
        return gather_aggregates(trainer);
    for (int64_t s = 0; s < trainer->shards.own; s++)
        RGM_TRY(merge(trainer, trainer->shards.passes[s].aggregate));
    return RGM_OK;
}

void rgmi_shards_pass_end(rgm_trainer *trainer)
{
    rgmi_shards *shards = &trainer->shards;
    const rgm_task *task = &trainer->task;

    for (int64_t s = 0; s < shards->own && shards->passes != NULL; s++) {
        if (shards->passes[s].aggregate != NULL && task->release_aggregate != NULL)
            task->release_aggregate(shards->passes[s].aggregate, task->state);
        rgm_free(shards->passes[s].sums);
    }
    rgm_free(shards->passes);
    rgm_free(shards->added);
    shards->passes = NULL;
    shards->added = NULL;
    rgm_shard_sum_release(shards->pass_sum);
    shards->pass_sum = NULL;
    clear_round(shards);
}
