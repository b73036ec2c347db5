/*
 * The loops of training and of evaluation (begin, steps, end), and the functions that a task or a
 * program puts in place of the defaults.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

/* ---- training ------------------------------------------------------------------------------ */

rgm_status rgm_trainer_train_loop_begin(rgm_trainer *trainer)
{
    if (trainer->data[RGM_TRAIN] == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there are no train data");
    if (trainer->loop_step >= 0)
        return RGM_FAIL(RGM_ERR_ARG, "a training loop is under way, at its step %lld",
                        (long long)trainer->loop_step);
    rgmi_sums_reset(&trainer->train_sums);
    trainer->at_end = false;
    if (trainer->hooks.train_loop_begin != NULL)
        RGM_TRY(trainer->hooks.train_loop_begin(trainer, trainer->hooks.payload));
    trainer->loop_step = 0;
    return RGM_OK;
}

/* Tell the other processes of a step that fails before its update, or whose own functions set the
 * loss. */
static rgm_status agreed_step(rgm_step *step, const rgm_task *task)
{
    rgm_trainer *trainer = step->trainer;
    bool own = task->train_step != NULL;
    rgm_status status =
        own ? task->train_step(step, task->state) : rgm_trainer_default_train_step(step);

    if (status == RGM_OK)
        status = rgmi_check_loss(trainer, step->loss);
    return !trainer->agreed || (own && !trainer->is_bad) ? rgmi_agree(trainer, status) : status;
}

static rgm_status own_step(rgm_step *step)
{
    rgm_trainer *trainer = step->trainer;
    rgm_status status = rgmi_next_train_inputs(&step->inputs, trainer);

    RGM_TRY(status < 0 ? rgmi_agree(trainer, status) : status);
    trainer->in_step = true;
    trainer->runs = 0;
    trainer->counted = trainer->has_loss = trainer->heads.seen = false;
    trainer->agreed = trainer->is_bad = false;
    RGM_TRY(agreed_step(step, &trainer->task));
    rgmi_count_step(step);
    return RGM_OK;
}

rgm_status rgm_trainer_train_step(rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    int64_t updates = trainer->updates;
    double begin;
    rgm_step step = {.mode = RGM_TRAIN,
                     .global_step = trainer->step,
                     .loss = NAN,
                     .items = 1,
                     .trainer = trainer,
                     .parameters = trainer->parameters,
                     .device = rgm_trainer_device(trainer),
                     .bf16 = rgm_trainer_bf16(trainer)};

    if (trainer->loop_step < 0)
        return RGM_FAIL(RGM_ERR_ARG, "a training step outside a loop");
    if (trainer->only_asked)
        return RGM_FAIL(RGM_ERR_ARG, "this trainer is only asked and does not train");
    RGM_TRY(rgm_comm_fail(trainer->comm, rgmi_owners_open(trainer)));
    begin = rgmi_profile_step(trainer);
    trainer->step_flops = 0;
    if (trainer->hooks.train_step != NULL)
        RGM_GO(rgmi_apart_step(&step));
    else
        RGM_GO(own_step(&step));
    rgmi_report_add(trainer, updates);
    trainer->last_loss = step.loss;
    trainer->step++;
    trainer->loop_step++;
done:
    trainer->in_step = false;
    rgmi_profile_step_end(trainer, begin, status <= 0);
    rgm_element_release(step.inputs);
    if (status < 0)
        rgm_error_prefix(status, "step %lld", (long long)trainer->step + 1);
    return status;
}

bool rgm_trainer_is_in_step(const rgm_trainer *trainer)
{
    return trainer->in_step;
}

void rgm_trainer_skip_step(rgm_trainer *trainer)
{
    trainer->step++;
    trainer->loop_step++;
}

void rgm_trainer_drop_loop(rgm_trainer *trainer)
{
    trainer->loop_step = -1;
    rgmi_sums_reset(&trainer->train_sums);
}

rgm_status rgm_trainer_train_loop_end(rgm_trainer *trainer, const rgm_logs **logs)
{
    rgmi_sums *sums = &trainer->train_sums;

    *logs = &sums->logs;
    RGM_TRY(rgmi_sums_finish(sums, trainer));
    trainer->loop_items = sums->sums[1];
    if (trainer->optimizer != NULL)
        RGM_TRY(rgm_logs_set(&sums->logs, "learning_rate",
                             rgm_optimizer_rate(trainer->optimizer, trainer->updates)));
    if (trainer->private.used)
        RGM_TRY(rgm_logs_set(&sums->logs, "privacy_epsilon", rgm_trainer_epsilon(trainer)));
    RGM_TRY(rgmi_report_finish(&sums->logs, trainer));
    rgm_trainer_drop_loop(trainer);
    if (trainer->hooks.train_loop_end != NULL)
        RGM_TRY(trainer->hooks.train_loop_end(&sums->logs, trainer, trainer->hooks.payload));
    return RGM_OK;
}

static rgm_status train_loop(rgm_trainer *trainer, int64_t num_steps)
{
    for (int64_t i = 0; num_steps == RGM_TO_END || i < num_steps; i++) {
        rgm_status status = rgm_trainer_train_step(trainer);

        if (status == RGM_END)
            break;
        if (status != RGM_OK)
            return status;
    }
    return RGM_OK;
}

rgm_loop_fn *rgm_trainer_create_train_loop_fn(rgm_trainer *trainer)
{
    (void)trainer;
    return train_loop;
}

static rgm_status check_steps(int64_t num_steps, const rgm_dataset *data, const char *what)
{
    if (num_steps < RGM_TO_END || num_steps == 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "%lld steps to %s; a number above 0 is needed, or -1: to the end "
                        "of the data",
                        (long long)num_steps, what);
    if (num_steps == RGM_TO_END && rgm_dataset_count(data) == INT64_MAX)
        return RGM_FAIL(RGM_ERR_ARG, "to %s to the end of data that never end: say how many steps",
                        what);
    return RGM_OK;
}

rgm_status rgm_trainer_train(rgm_trainer *trainer, int64_t num_steps, const rgm_logs **logs)
{
    rgm_status status;

    if (trainer->data[RGM_TRAIN] == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there are no train data");
    RGM_TRY(check_steps(num_steps, trainer->data[RGM_TRAIN], "train"));
    if (trainer->loop_step < 0) /* a restored loop goes on */
        RGM_TRY(rgm_trainer_train_loop_begin(trainer));
    status = rgm_trainer_create_train_loop_fn(trainer)(trainer, num_steps);
    if (status != RGM_OK) {
        rgm_trainer_drop_loop(trainer);
        return status;
    }
    return rgm_trainer_train_loop_end(trainer, logs);
}

/* ---- evaluation ---------------------------------------------------------------------------- */

static rgm_status swap_averages(rgm_trainer *trainer)
{
    if (trainer->optimizer == NULL || !rgm_optimizer_has_averages(trainer->optimizer))
        return RGM_OK;
    RGM_TRY(rgm_optimizer_averages_swap(trainer->optimizer, trainer->parameters));
    trainer->averaged = !trainer->averaged;
    return RGM_OK;
}

static void drop_aggregate(rgm_trainer *trainer)
{
    if (trainer->aggregate != NULL && trainer->task.release_aggregate != NULL)
        trainer->task.release_aggregate(trainer->aggregate, trainer->task.state);
    trainer->aggregate = NULL;
}

/* Where trainer.validation_continues keeps the iterator between passes like the current one. */
static rgm_iterator **kept_iterator(rgm_trainer *trainer)
{
    return trainer->eval_set >= 0 ? &trainer->sets[trainer->eval_set].iterator
                                  : &trainer->valid_iterator;
}

static rgm_dataset *pass_data(const rgm_trainer *trainer)
{
    return trainer->eval_set >= 0 ? trainer->sets[trainer->eval_set].data
                                  : trainer->data[trainer->eval_mode];
}

static rgm_status begin_pass(rgm_trainer *trainer, rgm_mode mode, int64_t set, bool continues)
{
    if (trainer->evaluating)
        return RGM_FAIL(RGM_ERR_ARG, "an evaluation on %s data is under way",
                        rgm_mode_name(trainer->eval_mode));
    trainer->eval_mode = mode;
    trainer->eval_set = set;
    trainer->eval_continues = continues;
    if (pass_data(trainer) == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there are no %s data",
                        set >= 0 ? trainer->sets[set].name : rgm_mode_name(mode));
    if (continues) { /* the pass owns it until its end */
        trainer->eval_iterator = *kept_iterator(trainer);
        *kept_iterator(trainer) = NULL;
    }
    if (trainer->eval_iterator == NULL)
        RGM_TRY(rgmi_eval_iterator_open(&trainer->eval_iterator, trainer, pass_data(trainer)));
    if (!continues && trainer->hooks.next_eval_inputs == NULL)
        RGM_TRY(rgmi_shards_share(trainer->eval_iterator, trainer, 1));
    trainer->evaluating = true;
    trainer->eval_steps = 0;
    rgmi_sums_reset(rgmi_pass_sums(trainer));
    if (rgmi_is_sharded(trainer))
        RGM_TRY(rgmi_shards_pass_begin(trainer));
    RGM_TRY(swap_averages(trainer));
    if (trainer->hooks.eval_begin != NULL)
        RGM_TRY(trainer->hooks.eval_begin(trainer, mode, trainer->hooks.payload));
    return RGM_OK;
}

rgm_status rgm_trainer_eval_begin(rgm_trainer *trainer, rgm_mode mode)
{
    return begin_pass(trainer, mode, -1, false);
}

static rgm_status next_of_pass(rgm_step *step, rgm_trainer *trainer)
{
    if (trainer->hooks.next_eval_inputs != NULL)
        return trainer->hooks.next_eval_inputs(&step->inputs, &step->extra, trainer->eval_iterator,
                                               trainer->hooks.payload);
    if (trainer->task.complete != NULL)
        return rgmi_round_next(&step->inputs, trainer);
    return rgm_iterator_next(&step->inputs, trainer->eval_iterator);
}

/* When validations continue, the beginning of the data follows their end. */
static rgm_status next_eval_inputs(rgm_step *step, rgm_trainer *trainer)
{
    rgm_status status = next_of_pass(step, trainer);

    if (status != RGM_END || !trainer->eval_continues ||
        rgm_iterator_position(trainer->eval_iterator) == 0)
        return status;
    rgm_iterator_release(trainer->eval_iterator);
    trainer->eval_iterator = NULL;
    RGM_TRY(rgmi_eval_iterator_open(&trainer->eval_iterator, trainer, pass_data(trainer)));
    return next_of_pass(step, trainer);
}

static rgm_status reduce(rgm_trainer *trainer, const rgm_step *step)
{
    const rgm_task *task = &trainer->task;

    if (trainer->hooks.eval_reduce != NULL)
        return trainer->hooks.eval_reduce(&trainer->aggregate, step, trainer->hooks.payload);
    if (task->aggregate_logs != NULL)
        return task->aggregate_logs(&trainer->aggregate, step, task->state);
    return RGM_OK;
}

rgm_status rgm_trainer_eval_step(rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    const rgm_task *task = &trainer->task;
    bool own = false; /* until it is known whose the batch is */
    double begin;
    rgm_step step = {.mode = trainer->eval_mode,
                     .eval_set = 1 + trainer->eval_set,
                     .global_step = trainer->step,
                     .loss = NAN,
                     .items = 1,
                     .trainer = trainer,
                     .parameters = trainer->parameters,
                     .device = rgm_trainer_device(trainer),
                     .bf16 = rgm_trainer_bf16(trainer)};

    if (!trainer->evaluating)
        return RGM_FAIL(RGM_ERR_ARG, "an evaluation step outside an evaluation");
    begin = rgmi_profile_batch(trainer);
    RGM_GO(next_eval_inputs(&step, trainer));
    rgmi_profile_part(trainer, "data", begin);
    trainer->eval_steps++;
    own = !rgmi_is_sharded(trainer) || rgmi_shards_pass_batch(trainer);
    if (!own)
        goto done;
    trainer->counted = trainer->has_loss = trainer->heads.seen = false;
    if (task->validation_step != NULL)
        RGM_GO(task->validation_step(&step, task->state));
    else
        RGM_GO(rgm_trainer_default_validation_step(&step));
    rgmi_count_step(&step);
    status = reduce(trainer, &step);
done:
    if (rgmi_is_sharded(trainer) && own && step.inputs != NULL)
        rgmi_shards_pass_keep(trainer);
    rgmi_profile_batch_end(trainer, begin, status == RGM_OK);
    rgm_element_release(step.inputs);
    rgm_element_release(step.extra);
    return status;
}

static rgm_status finish_pass(rgm_trainer *trainer, rgmi_sums *sums)
{
    const rgm_task *task = &trainer->task;

    if (rgmi_is_sharded(trainer))
        RGM_TRY(rgmi_shards_pass_sum(trainer));
    RGM_TRY(rgmi_sums_finish(sums, trainer));
    if (trainer->aggregate != NULL && task->reduce_aggregated_logs != NULL)
        RGM_TRY(task->reduce_aggregated_logs(&sums->logs, trainer->aggregate, trainer->step,
                                             task->state));
    if (trainer->hooks.eval_end != NULL)
        RGM_TRY(trainer->hooks.eval_end(&sums->logs, trainer, trainer->eval_mode,
                                        trainer->hooks.payload));
    return RGM_OK;
}

rgm_status rgm_trainer_eval_end(rgm_trainer *trainer, const rgm_logs **logs)
{
    rgm_status status = RGM_OK, swapped = RGM_OK;
    rgmi_sums *sums = rgmi_pass_sums(trainer);

    if (!trainer->evaluating)
        return RGM_FAIL(RGM_ERR_ARG, "the end of an evaluation that was not begun");
    if (logs != NULL) {
        *logs = &sums->logs;
        status = finish_pass(trainer, sums);
    }
    drop_aggregate(trainer);
    rgmi_shards_pass_end(trainer);
    if (trainer->averaged)
        swapped = swap_averages(trainer);
    if (trainer->eval_continues)
        *kept_iterator(trainer) = trainer->eval_iterator;
    else
        rgm_iterator_release(trainer->eval_iterator);
    trainer->eval_iterator = NULL;
    trainer->evaluating = trainer->eval_continues = false;
    return status != RGM_OK ? status : swapped;
}

rgm_status rgm_trainer_merge_pass(rgm_trainer *trainer, const rgm_trainer *other)
{
    const rgm_task *task = &trainer->task;

    if (!trainer->evaluating || !other->evaluating || trainer->eval_mode != other->eval_mode ||
        trainer->eval_set != other->eval_set)
        return RGM_FAIL(RGM_ERR_ARG, "two passes that are not under way over one set");
    if (rgmi_is_sharded(trainer) || rgmi_is_sharded(other))
        return RGM_FAIL(RGM_ERR_ARG, "passes of trainers with runtime.shards are merged by these");
    if (other->aggregate != NULL && task->merge_aggregates == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "task '%s' cannot merge what it aggregates",
                        task->name);
    RGM_TRY(rgmi_sums_merge(rgmi_pass_sums(trainer), rgmi_pass_sums((rgm_trainer *)other)));
    if (other->aggregate != NULL)
        RGM_TRY(task->merge_aggregates(&trainer->aggregate, other->aggregate, task->state));
    trainer->eval_steps += other->eval_steps;
    return RGM_OK;
}

static rgm_status eval_loop(rgm_trainer *trainer, int64_t num_steps)
{
    for (int64_t i = 0; num_steps == RGM_TO_END || i < num_steps; i++) {
        rgm_status status = rgm_trainer_eval_step(trainer);

        if (status == RGM_END)
            break;
        if (status != RGM_OK)
            return status;
    }
    return RGM_OK;
}

rgm_loop_fn *rgm_trainer_create_eval_loop_fn(rgm_trainer *trainer, bool has_state)
{
    (void)trainer;
    (void)has_state; /* one loop serves both: a pass without state has nothing to reduce */
    return eval_loop;
}

static rgm_status pass(rgm_trainer *trainer, rgm_mode mode, int64_t set, rgm_dataset *data,
                       int64_t num_steps, const rgm_logs **logs)
{
    rgm_status status = RGM_OK;
    bool state = trainer->task.aggregate_logs != NULL || trainer->hooks.eval_reduce != NULL;
    double begin = rgmi_profile_now(trainer);

    *logs = NULL;
    if (data != NULL)
        RGM_TRY(check_steps(num_steps, data, "evaluate"));
    status =
        begin_pass(trainer, mode, set,
                   trainer->options.validation_continues && mode == RGM_VALID && num_steps > 0);
    if (status == RGM_OK)
        status = rgm_trainer_create_eval_loop_fn(trainer, state)(trainer, num_steps);
    if (status == RGM_OK)
        status = rgm_trainer_eval_end(trainer, logs);
    else if (trainer->evaluating) /* the pass failed: clean up, keep its error */
        (void)rgm_trainer_eval_end(trainer, NULL);
    rgm_trainer_profile_beside(trainer, "evaluation",
                               set >= 0 ? trainer->sets[set].name : rgm_mode_name(mode), begin);
    return status;
}

rgm_status rgm_trainer_evaluate(rgm_trainer *trainer, rgm_mode mode, int64_t num_steps,
                                const rgm_logs **logs)
{
    return pass(trainer, mode, -1, trainer->data[mode], num_steps, logs);
}

rgm_status rgm_trainer_evaluate_set(rgm_trainer *trainer, int64_t set, int64_t num_steps,
                                    const rgm_logs **logs)
{
    rgm_status status;

    if (set < 0 || set >= trainer->set_count)
        return RGM_FAIL(RGM_ERR_ARG, "evaluation set %lld of %lld", (long long)set,
                        (long long)trainer->set_count);
    status =
        pass(trainer, trainer->set_list[set].mode, set, trainer->sets[set].data, num_steps, logs);
    return status < 0 ? rgm_error_prefix(status, "%s", trainer->sets[set].name) : status;
}
