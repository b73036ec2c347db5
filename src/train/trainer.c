/*
 * The trainer as an object: creation from a task, and its properties. Data are in trainer_data.c,
 * the model in trainer_model.c, the step in trainer_step.c on trainer_batch.c, the loops in
 * trainer_loop.c.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

/* ---- creation ------------------------------------------------------------------------------ */

static rgm_status check_task(const rgm_task *task, const rgm_trainer_setup *setup)
{
    const bool *none = setup->no_data;

    if (task->build_model == NULL && !none[RGM_TRAIN] && task->train_step == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task '%s' has neither build_model nor train_step",
                        task->name);
    if (task->build_model == NULL && !(none[RGM_VALID] && none[RGM_TEST]) &&
        task->validation_step == NULL && none[RGM_TRAIN])
        return RGM_FAIL(RGM_ERR_CONFIG, "task '%s' has neither build_model nor validation_step",
                        task->name);
    if (task->build_inputs == NULL && setup->train_dataset == NULL &&
        setup->validation_dataset == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task '%s' has no build_inputs and no data set is given",
                        task->name);
    if (task->eval_sets != NULL && task->build_eval_inputs == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task '%s' has eval_sets but no build_eval_inputs",
                        task->name);
    if (task->aggregate_logs != NULL && task->reduce_aggregated_logs == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task '%s' has aggregate_logs but no reduce_aggregated_logs", task->name);
    return RGM_OK;
}

rgm_status rgm_trainer_create(rgm_trainer **out, const rgm_trainer_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = NULL;

    *out = NULL;
    if (setup->task == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "a trainer needs a task");
    RGM_TRY(check_task(setup->task, setup));
    RGM_GO(RGM_NEW(trainer, 1));
    trainer->task = *setup->task;
    rgm_trainer_defaults(&trainer->options);
    rgm_runtime_defaults(&trainer->runtime);
    if (setup->options != NULL)
        trainer->options = *setup->options;
    if (trainer->options.accumulation_steps < 1)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "trainer.accumulation_steps is %lld, at least 1 is needed",
                        (long long)trainer->options.accumulation_steps));
    if (setup->runtime != NULL)
        trainer->runtime = *setup->runtime;
    if (setup->optimizer != NULL)
        trainer->optimizer_options = *setup->optimizer;
    if (setup->hooks != NULL)
        trainer->hooks = *setup->hooks;
    trainer->endless = setup->endless;
    trainer->only_asked = setup->only_asked;
    trainer->shard = setup->shard;
    trainer->maker = setup->maker;
    memcpy(trainer->no_data, setup->no_data, sizeof trainer->no_data);
    trainer->loop_step = trainer->eval_set = -1;
    trainer->last_loss = NAN;
    RGM_GO(rgmi_scale_open(trainer));
    RGM_GO(rgmi_data_open(trainer, setup));
    RGM_GO(rgmi_shards_open(trainer, setup));
    RGM_GO(rgmi_model_open(trainer));
    RGM_GO(rgmi_private_open(trainer, setup));
    RGM_GO(rgmi_accumulator_open(trainer));
    RGM_GO(rgmi_optimizer_open(trainer));
    RGM_GO(rgmi_owners_check(trainer));
    RGM_GO(rgmi_data_place(trainer));
    RGM_GO(rgmi_profile_open(trainer));
    *out = trainer;
    trainer = NULL;
done:
    rgm_trainer_release(trainer);
    return status;
}

void rgm_trainer_release(rgm_trainer *trainer)
{
    if (trainer == NULL)
        return;
    if (trainer->evaluating)
        (void)rgm_trainer_eval_end(trainer, NULL);
    rgm_iterator_release(trainer->iterator);
    rgm_iterator_release(trainer->valid_iterator);
    rgmi_profile_close(trainer);
    rgmi_shards_close(trainer);
    rgm_free(trainer->owners);
    rgmi_model_close(trainer);
    for (int mode = 0; mode < 3; mode++)
        rgm_dataset_release(trainer->data[mode]);
    for (int64_t i = 0; i < trainer->set_count; i++) {
        rgm_iterator_release(trainer->sets[i].iterator);
        rgm_dataset_release(trainer->sets[i].data);
    }
    rgmi_data_take_back(trainer);
    rgm_free(trainer);
}

/* ---- what can be asked --------------------------------------------------------------------- */

const rgm_task *rgm_trainer_task(const rgm_trainer *trainer)
{
    return &trainer->task;
}

rgm_cgraph *rgm_trainer_graph(const rgm_trainer *trainer)
{
    return trainer->graph;
}

const rgm_task_model *rgm_trainer_model(const rgm_trainer *trainer)
{
    return &trainer->model;
}

rgm_parameters *rgm_trainer_parameters(const rgm_trainer *trainer)
{
    return trainer->parameters;
}

rgm_optimizer *rgm_trainer_optimizer(const rgm_trainer *trainer)
{
    return trainer->optimizer;
}

int64_t rgm_trainer_global_step(const rgm_trainer *trainer)
{
    return trainer->step;
}

int64_t rgm_trainer_updates(const rgm_trainer *trainer)
{
    return trainer->updates;
}

double rgm_trainer_items(const rgm_trainer *trainer, rgm_mode mode)
{
    const rgmi_sums *sums = &trainer->eval_sums[mode];

    if (mode == RGM_TRAIN)
        return trainer->loop_items;
    return sums->sums != NULL ? sums->sums[1] : 0;
}

int64_t rgm_trainer_loop_step(const rgm_trainer *trainer)
{
    return trainer->loop_step;
}

int64_t rgm_trainer_passes(const rgm_trainer *trainer)
{
    return trainer->passes;
}

bool rgm_trainer_at_end(const rgm_trainer *trainer)
{
    return trainer->at_end;
}

double rgm_trainer_last_loss(const rgm_trainer *trainer)
{
    return trainer->last_loss;
}

int64_t rgm_trainer_arena_bytes(const rgm_trainer *trainer)
{
    if (trainer->eval_run == NULL)
        return 0;
    return rgm_executor_arena_bytes(trainer->eval_run) +
           rgm_executor_hoisted_bytes(trainer->eval_run) +
           (trainer->train_run != NULL ? rgm_executor_arena_bytes(trainer->train_run) +
                                             rgm_executor_hoisted_bytes(trainer->train_run)
                                       : 0);
}
