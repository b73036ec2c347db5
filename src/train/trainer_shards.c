/*
 * Steps of several shards (runtime.shards). Each shard sums the gradients of its own batches; these
 * sums, with loss, items, states and the loop's metrics, are added up in one fixed tree over the
 * shards of all processes. So a step has the same bits for any number of processes. A process goes
 * through the batches of all shards in their order, and makes and runs those of its own.
 */
#include <string.h>

#include "trainer_internal.h"

/* The numbers of a step, before the sums of the loop's metrics. */
enum { LOSS, ITEMS, WITH_BATCH, FLOPS, NUMBERS };

/* ---- opening ------------------------------------------------------------------------------- */

static rgm_status check_task(const rgm_trainer *trainer)
{
    const rgm_task *task = &trainer->task;
    bool trains = trainer->data[RGM_TRAIN] != NULL;
    long long shards = trainer->shards.count;

    if (trains && task->train_step != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.shards is %lld, but task '%s' has a train_step of its own, of "
                        "which nobody knows what each shard does: set runtime.shards: 1",
                        shards, task->name);
    if (trains && trainer->options.gradient_surgery != RGM_SURGERY_NONE)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.shards is %lld, but trainer.gradient_surgery compares gradients "
                        "batch by batch: set runtime.shards: 1",
                        shards);
    if (trains && trainer->options.privacy.clipping_norm > 0 &&
        trainer->runtime.gradient_exchange == RGM_EXCHANGE_BF16)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.gradient_exchange is bf16, but a sum that is rounded can move by "
                        "more than trainer.privacy.clipping_norm: set "
                        "runtime.gradient_exchange: f32");
    if (trainer->hooks.eval_reduce != NULL ||
        (task->aggregate_logs != NULL && task->merge_aggregates == NULL))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.shards is %lld, but what task '%s' aggregates over a validation "
                        "cannot be merged: set runtime.shards: 1",
                        shards, task->name);
    if (rgm_comm_size(trainer->comm) > 1 && task->aggregate_logs != NULL &&
        (task->save_aggregate == NULL || task->load_aggregate == NULL))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task '%s' does not say how processes exchange what it aggregates over a "
                        "validation: it trains in one process alone",
                        task->name);
    return RGM_OK;
}

/* Batches that other ranks complete are read and completed a step, or a round of a pass, at once.
 */
static rgm_status check_completed(const rgm_trainer *trainer)
{
    const rgm_trainer_hooks *hooks = &trainer->hooks;

    if (trainer->task.complete == NULL)
        return RGM_OK;
    if (trainer->shards.count == 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.shards is 1, but batches of task '%s' are completed by all "
                        "processes, several at once: set runtime.shards to 2 or more, and at least "
                        "to the number of processes",
                        trainer->task.name);
    if (trainer->options.privacy.clipping_norm > 0 || hooks->next_train_inputs != NULL ||
        hooks->next_eval_inputs != NULL || trainer->options.validation_continues)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "batches of task '%s' are completed by several processes, which %s does "
                        "not go with",
                        trainer->task.name,
                        trainer->options.privacy.clipping_norm > 0 ? "trainer.privacy"
                        : trainer->options.validation_continues    ? "trainer.validation_continues"
                                                                   : "a hook that reads batches");
    return RGM_OK;
}

/* A graph that is trained on as a whole is one batch, whatever has the others. */
static rgm_status check_data(const rgm_trainer *trainer)
{
    const rgm_dataset *data = trainer->data[RGM_TRAIN];
    int64_t pass = data != NULL ? rgm_dataset_pass(data) : -1;

    if (pass < 0 || pass >= trainer->shards.count || trainer->options.privacy.clipping_norm > 0)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "runtime.shards is %lld, but a pass over the training data is %lld %s: most "
                    "shards would never have one; set runtime.shards: 1, or make smaller batches%s",
                    (long long)trainer->shards.count, (long long)pass,
                    pass == 1 ? "batch" : "batches", pass == 1 ? " (of a graph: sample it)" : "");
}

/* A graph in parts is cut into shards already. A rank that has several of them has them as one. */
static rgm_status count_shards(int64_t *count, const rgm_trainer *trainer)
{
    int64_t parts = trainer->task.parts;

    *count = trainer->runtime.shards > 0 ? trainer->runtime.shards : 1;
    if (parts == 0)
        return RGM_OK;
    if (rgm_comm_size(trainer->comm) > parts)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the data are in %lld parts, and there are %d ranks, each of which needs "
                        "one at least",
                        (long long)parts, rgm_comm_size(trainer->comm));
    if (*count > 1 && *count != parts)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.shards is %lld, but the data are in %lld parts, which are the "
                        "shards of a step: leave it out",
                        (long long)*count, (long long)parts);
    if (trainer->options.accumulation_steps > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.accumulation_steps is %lld, but data in parts are "
                        "one batch",
                        (long long)trainer->options.accumulation_steps);
    if (trainer->options.validation_steps > 0) /* ranks behind it would wait for no one's rows */
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.validation_steps is %lld, but data in parts are one batch, which "
                        "is validated on as a whole: leave it out",
                        (long long)trainer->options.validation_steps);
    *count = parts;
    return RGM_OK;
}

rgm_status rgmi_shards_open(rgm_trainer *trainer, const rgm_trainer_setup *setup)
{
    rgmi_shards *shards = &trainer->shards;
    int64_t count;

    trainer->comm = setup->comm != NULL ? setup->comm : rgm_comm_self();
    RGM_TRY(count_shards(&count, trainer));
    if (count > RGMI_MOST_SHARDS)
        return RGM_FAIL(RGM_ERR_CONFIG, "runtime.shards is %lld; %d are the most", (long long)count,
                        RGMI_MOST_SHARDS);
    RGM_TRY(rgm_error_prefix(rgm_comm_shards(&shards->first, &shards->own, trainer->comm, count),
                             "runtime.shards"));
    shards->count = count;
    RGM_TRY(check_completed(trainer));
    if (!rgmi_is_sharded(trainer))
        return RGM_OK;
    RGM_TRY(check_task(trainer));
    return check_data(trainer);
}

int64_t rgmi_step_batches(const rgm_trainer *trainer)
{
    if (trainer->options.privacy.clipping_norm > 0) /* each shard has a part of one */
        return 1;
    return trainer->options.accumulation_steps * trainer->shards.count;
}

rgm_status rgmi_shards_share(rgm_iterator *iterator, const rgm_trainer *trainer, int64_t each)
{
    const rgmi_shards *shards = &trainer->shards;

    if (shards->own == shards->count)
        return RGM_OK;
    return rgm_iterator_share(iterator, shards->count * each, shards->first * each,
                              shards->own * each);
}

/* ---- the arrays ---------------------------------------------------------------------------- */

static rgmi_shared *array_for(rgmi_shards *shards, rgm_dtype dtype)
{
    return dtype == RGM_F32 ? &shards->f32 : dtype == RGM_F64 ? &shards->f64 : NULL;
}

static void *place_in(const rgmi_shared *array, rgm_dtype dtype, int64_t at)
{
    return (char *)array->values + (size_t)at * rgm_dtype_size(dtype);
}

static bool is_state(const rgm_trainer *trainer, int64_t i)
{
    const char *name = rgm_parameters_name(trainer->parameters, i);

    for (int64_t k = 0; k < rgm_cgraph_update_count(trainer->graph); k++)
        if (strcmp(rgm_value_name(rgm_cgraph_update_state(trainer->graph, k)), name) == 0)
            return true;
    return false;
}

/* Lay out what is summed; begins[i] is the place of parameter i, -1: it is not summed. */
static rgm_status lay_out(int64_t *begins, rgm_trainer *trainer)
{
    rgmi_shards *shards = &trainer->shards;

    RGM_TRY(rgmi_buckets_open(trainer, begins));
    shards->f64.size = NUMBERS + trainer->train_sums.size;
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++) {
        const rgm_tensor *w = rgm_parameters_form(trainer->parameters, i);
        rgmi_shared *array = array_for(shards, rgm_tensor_dtype(w));
        bool trained = rgm_parameters_trainable(trainer->parameters, i);

        shards->states[i] = -1;
        if (begins[i] >= 0 || (!trained && !is_state(trainer, i)))
            continue;
        if (array == NULL)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "runtime.shards is %lld, but '%s' is of dtype %s, which shards cannot "
                            "add up: set runtime.shards: 1",
                            (long long)shards->count, rgm_parameters_name(trainer->parameters, i),
                            rgm_dtype_name(rgm_tensor_dtype(w)));
        begins[i] = array->size;
        if (!trained)
            shards->states[i] = array->size;
        array->size += rgm_tensor_count(w);
    }
    return RGM_OK;
}

static rgm_status view_gradients(rgm_trainer *trainer, const int64_t *begins)
{
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++) {
        const rgm_tensor *w = rgm_parameters_form(trainer->parameters, i);
        rgm_dtype dtype = rgm_tensor_dtype(w);

        if (!rgm_parameters_trainable(trainer->parameters, i))
            continue;
        RGM_TRY(rgm_tensor_wrap(
            &trainer->accumulator.sums[i], dtype, rgm_tensor_rank(w), rgm_tensor_shape(w),
            place_in(dtype == RGM_F32 ? &trainer->shards.exchange.gradients : &trainer->shards.f64,
                     dtype, begins[i]),
            NULL, NULL));
    }
    return RGM_OK;
}

rgm_status rgmi_shards_accumulator_open(rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    rgmi_shards *shards = &trainer->shards;
    int64_t count = rgm_parameters_count(trainer->parameters), *begins = NULL;

    RGM_GO(RGM_NEW(begins, count));
    RGM_GO(RGM_NEW(shards->states, count));
    RGM_GO(lay_out(begins, trainer));
    RGM_GO(rgmi_shared_open(&shards->f32, RGM_F32, shards->own));
    RGM_GO(rgmi_shared_open(&shards->f64, RGM_F64, shards->own));
    if (trainer->heads.count_run != NULL)
        shards->heads.size = trainer->model.head_count;
    RGM_GO(rgmi_shared_open(&shards->heads, RGM_F64, shards->own));
    RGM_GO(view_gradients(trainer, begins));
done:
    rgm_free(begins);
    return status;
}

void rgmi_shards_close(rgm_trainer *trainer)
{
    rgmi_shards_pass_end(trainer);
    rgmi_buckets_close(&trainer->shards.exchange);
    rgmi_shared_close(&trainer->shards.f32);
    rgmi_shared_close(&trainer->shards.f64);
    rgmi_shared_close(&trainer->shards.heads);
    rgm_free(trainer->shards.states);
}

/* ---- the shards of a step ------------------------------------------------------------------ */

static double *numbers_of(const rgm_trainer *trainer)
{
    return trainer->shards.f64.values;
}

static void array_reset(rgmi_shared *array)
{
    if (array->sum != NULL)
        rgm_shard_sum_reset(array->sum);
}

void rgmi_shards_begin(rgm_trainer *trainer)
{
    rgmi_shards *shards = &trainer->shards;

    (void)rgmi_step_keep(trainer); /* of a device that is lost the runs tell */
    rgmi_buckets_reset(&shards->exchange);
    array_reset(&shards->f32);
    array_reset(&shards->f64);
    array_reset(&shards->heads);
    rgmi_sums_take(numbers_of(trainer) + NUMBERS, &trainer->train_sums);
}

void rgmi_shard_begin(rgm_trainer *trainer, int64_t shard)
{
    rgmi_shards *shards = &trainer->shards;

    shards->now = shard;
    trainer->step_flops = 0;
    if (shard > shards->first && rgm_cgraph_update_count(trainer->graph) > 0)
        rgm_parameters_set(trainer->parameters, trainer->accumulator.states);
    if (shards->f32.size > 0)
        memset(shards->f32.values, 0, (size_t)shards->f32.size * sizeof(float));
    memset(shards->f64.values, 0, (size_t)shards->f64.size * sizeof(double));
}

/* The value of a state in the arrays; NULL: parameter i is none. */
static void *state_place(const rgm_trainer *trainer, int64_t i)
{
    rgm_dtype dtype = rgm_tensor_dtype(rgm_parameters_form(trainer->parameters, i));
    int64_t at = trainer->shards.states[i];

    return at >= 0 ? place_in(array_for((rgmi_shards *)&trainer->shards, dtype), dtype, at) : NULL;
}

void rgmi_shard_end(rgm_trainer *trainer, const rgmi_part *part, bool any)
{
    rgmi_shards *shards = &trainer->shards;
    double *numbers = numbers_of(trainer);

    numbers[LOSS] = part->loss;
    numbers[ITEMS] = part->items;
    numbers[WITH_BATCH] = any;
    numbers[FLOPS] = (double)trainer->step_flops;
    rgmi_sums_take(numbers + NUMBERS, &trainer->train_sums);
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters) && any; i++) {
        const rgm_tensor *w = rgm_parameters_form(trainer->parameters, i);

        if (shards->states[i] >= 0 && rgm_tensor_bytes(w) > 0)
            memcpy(state_place(trainer, i),
                   rgm_tensor_data(rgm_parameters_read(trainer->parameters, i)),
                   rgm_tensor_bytes(w));
    }
    if (!any)
        rgmi_buckets_clear(&shards->exchange);
    if (rgmi_is_last_shard(trainer))
        rgmi_buckets_begin(trainer);
    else
        rgmi_buckets_add(&shards->exchange);
    if (shards->f32.sum != NULL)
        rgm_shard_sum_add(shards->f32.sum, shards->f32.values);
    rgm_shard_sum_add(shards->f64.sum, shards->f64.values);
}

/* States become the mean over the shards that had a batch. */
static void take_states(rgm_trainer *trainer, double shards)
{
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++) {
        const void *sum = state_place(trainer, i);
        rgm_tensor *w;

        if (sum == NULL)
            continue;
        w = rgm_parameters_tensor(trainer->parameters, i);
        for (int64_t k = 0; k < rgm_tensor_count(w); k++) {
            if (rgm_tensor_dtype(w) == RGM_F32)
                rgm_tensor_f32(w)[k] = ((const float *)sum)[k] / (float)shards;
            else
                rgm_tensor_f64(w)[k] = ((const double *)sum)[k] / shards;
        }
    }
    rgm_parameters_touch(trainer->parameters);
}

static rgm_status sum(rgmi_part *all, rgm_trainer *trainer)
{
    rgmi_shards *shards = &trainer->shards;
    double *numbers = numbers_of(trainer);

    if (shards->f32.size > 0)
        RGM_TRY(rgm_comm_sum(trainer->comm, shards->f32.values, shards->f32.size, RGM_F32));
    RGM_TRY(rgm_comm_sum(trainer->comm, numbers, shards->f64.size, RGM_F64));
    RGM_TRY(rgmi_scores_gather(&trainer->train_sums, trainer->accumulator.kept, trainer->comm));
    rgmi_sums_put(&trainer->train_sums, trainer->accumulator.kept, numbers + NUMBERS);
    *all = (rgmi_part){numbers[LOSS], numbers[ITEMS]};
    trainer->step_flops = (int64_t)numbers[FLOPS];
    if (numbers[WITH_BATCH] > 0 && rgm_cgraph_update_count(trainer->graph) > 0)
        take_states(trainer, numbers[WITH_BATCH]);
    return RGM_OK;
}

/* All come to the end of the exchange, since each step has one, and then know whether it counts. */
static rgm_status agree_on_exchange(rgm_trainer *trainer, rgm_status status)
{
    rgm_error error;

    rgmi_buckets_begin(trainer);
    status = rgmi_agree(trainer, status);
    if (status == RGM_OK)
        return rgmi_buckets_wait(trainer);
    rgm_error_save(&error, status);
    (void)rgmi_buckets_wait(trainer);
    return rgm_error_restore(&error);
}

rgm_status rgmi_shards_sum(rgmi_part *all, rgm_trainer *trainer, rgm_status status)
{
    status = agree_on_exchange(trainer, status);
    if (status == RGM_OK)
        status = sum(all, trainer);
    return rgmi_step_undo(trainer, status);
}
