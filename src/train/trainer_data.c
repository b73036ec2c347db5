/*
 * The data of a trainer: a set for each mode, the iterator over the training data, the length of a
 * pass.
 */
#include <stdio.h>
#include <string.h>

#include "trainer_internal.h"

/* ---- sets ---------------------------------------------------------------------------------- */

static rgm_status open_mode(rgm_trainer *trainer, rgm_mode mode, rgm_dataset *given, bool endless)
{
    const rgm_task *task = &trainer->task;

    if (trainer->no_data[mode])
        return RGM_OK;
    if (given != NULL) {
        trainer->data[mode] = rgm_dataset_retain(given);
        return RGM_OK;
    }
    if (task->build_inputs == NULL)
        return RGM_OK;
    return task->build_inputs(&trainer->data[mode], task->state, mode, endless);
}

/* The name of a set must be valid as a folder of event files, and as the part of a metric before
 * its dot. */
static rgm_status name_set(rgmi_eval_set *set, const rgm_eval_set *of)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

    if (of->mode == RGM_TRAIN || of->name[0] == '\0' ||
        strspn(of->name, allowed) != strlen(of->name))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the set '%.60s' of %s data: a name is letters, digits, '_' and '-'",
                        of->name, rgm_mode_name(of->mode));
    if (snprintf(set->name, sizeof set->name, "%s_%s", rgm_mode_name(of->mode), of->name) >=
        (int)sizeof set->name)
        return RGM_FAIL(RGM_ERR_CONFIG, "the name of the set '%.60s...' is longer than %d bytes",
                        of->name, (int)sizeof set->name - 7);
    return RGM_OK;
}

static rgm_status open_sets(rgm_trainer *trainer)
{
    const rgm_task *task = &trainer->task;
    int64_t count = 0;

    if (task->eval_sets == NULL)
        return RGM_OK;
    task->eval_sets(trainer->set_list, &count, task->state);
    for (int64_t i = 0; i < count; i++) {
        rgmi_eval_set *set = &trainer->sets[i];

        RGM_TRY(name_set(set, &trainer->set_list[i]));
        trainer->set_count = i + 1;
        if (trainer->no_data[trainer->set_list[i].mode])
            continue;
        if (trainer->data[trainer->set_list[i].mode] == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "%s stands beside %s data, but there are none",
                            set->name, rgm_mode_name(trainer->set_list[i].mode));
        RGM_TRY(task->build_eval_inputs(&set->data, task->state, i));
    }
    return RGM_OK;
}

rgm_status rgmi_data_open(rgm_trainer *trainer, const rgm_trainer_setup *setup)
{
    RGM_TRY(open_mode(trainer, RGM_TRAIN, setup->train_dataset, setup->endless));
    if (trainer->data[RGM_TRAIN] == NULL && !trainer->no_data[RGM_TRAIN])
        return RGM_FAIL(RGM_ERR_CONFIG, "task '%s' has no training data", trainer->task.name);
    RGM_TRY(open_mode(trainer, RGM_VALID, setup->validation_dataset, false));
    RGM_TRY(open_mode(trainer, RGM_TEST, NULL, false));
    return open_sets(trainer);
}

int64_t rgm_trainer_eval_sets(const rgm_eval_set **sets, const rgm_trainer *trainer)
{
    if (sets != NULL)
        *sets = trainer->set_list;
    return trainer->set_count;
}

const char *rgm_trainer_eval_set_name(const rgm_trainer *trainer, int64_t set)
{
    return trainer->sets[set].name;
}

const rgm_logs *rgm_trainer_eval_set_logs(const rgm_trainer *trainer, int64_t set)
{
    return &trainer->sets[set].sums.logs;
}

bool rgm_trainer_has_data(const rgm_trainer *trainer, rgm_mode mode)
{
    return trainer->data[mode] != NULL;
}

int64_t rgm_trainer_batches(const rgm_trainer *trainer, rgm_mode mode)
{
    return trainer->data[mode] != NULL ? rgm_dataset_pass(trainer->data[mode]) : 0;
}

int64_t rgm_trainer_set_batches(const rgm_trainer *trainer, int64_t set)
{
    const rgm_dataset *data = trainer->sets[set].data;

    return data != NULL ? rgm_dataset_pass(data) : 0;
}

/* A line, which is empty where there are no data. */
static rgm_status add_recipe(rgm_text *out, const rgm_dataset *data)
{
    if (data != NULL)
        RGM_TRY(rgm_dataset_print(out, data));
    return rgm_text_add(out, "\n", 1);
}

rgm_status rgm_trainer_hash_recipes(uint64_t *out, const rgm_trainer *trainer)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    for (int mode = 0; mode < 3; mode++)
        RGM_GO(add_recipe(&text, trainer->data[mode]));
    for (int64_t i = 0; i < trainer->set_count; i++)
        RGM_GO(add_recipe(&text, trainer->sets[i].data));
    *out = rgm_hash64(text.data, (size_t)text.size);
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgm_trainer_hash_recipe(uint64_t *out, const rgm_trainer *trainer, rgm_mode mode)
{
    rgm_text text = {0};
    rgm_status status = add_recipe(&text, trainer->data[mode]);

    if (status == RGM_OK)
        *out = rgm_hash64(text.data, (size_t)text.size);
    rgm_text_clear(&text);
    return status;
}

int64_t rgm_trainer_pass_steps(const rgm_trainer *trainer)
{
    int64_t batches =
        trainer->data[RGM_TRAIN] != NULL ? rgm_dataset_count(trainer->data[RGM_TRAIN]) : 0;
    int64_t each = rgmi_step_batches(trainer);

    if (batches == INT64_MAX)
        return batches;
    return batches > 0 ? (batches + each - 1) / each : 0;
}

int64_t rgm_trainer_epoch_steps(const rgm_trainer *trainer, const rgm_trainer_options *options)
{
    int64_t pass = rgm_trainer_pass_steps(trainer);

    if (options->steps_per_epoch > 0)
        return options->steps_per_epoch;
    return pass < INT64_MAX ? pass : 0;
}

int64_t rgm_trainer_run_length(const rgm_trainer *trainer, const rgm_trainer_options *options)
{
    int64_t epoch = rgm_trainer_epoch_steps(trainer, options);

    if (options->train_steps > 0)
        return options->train_steps;
    if (options->epochs < 1) /* the check of the options refuses this */
        return 0;
    return epoch <= INT64_MAX / options->epochs ? epoch * options->epochs : INT64_MAX;
}

rgm_status rgm_trainer_set_train_dataset(rgm_trainer *trainer, rgm_dataset *dataset)
{
    if (dataset == NULL || trainer->data[RGM_TRAIN] == NULL)
        return RGM_FAIL(RGM_ERR_ARG, dataset == NULL ? "the training data set is NULL"
                                                     : "this trainer was made to evaluate only");
    if (trainer->private.used)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.privacy: the training data cannot be exchanged: only the task's "
                        "own are known to be drawn as its account says");
    rgm_dataset_retain(dataset);
    rgm_dataset_release(trainer->data[RGM_TRAIN]);
    rgm_iterator_release(trainer->iterator);
    trainer->iterator = NULL;
    trainer->data[RGM_TRAIN] = dataset;
    return RGM_OK;
}

rgm_status rgm_trainer_set_validation_dataset(rgm_trainer *trainer, rgm_dataset *dataset)
{
    if (dataset == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "the validation data set is NULL");
    rgm_dataset_retain(dataset);
    rgm_dataset_release(trainer->data[RGM_VALID]);
    rgm_iterator_release(trainer->valid_iterator);
    trainer->valid_iterator = NULL;
    trainer->data[RGM_VALID] = dataset;
    return RGM_OK;
}

/* ---- the next batch ------------------------------------------------------------------------ */

rgm_status rgmi_train_share(rgm_trainer *trainer)
{
    /* The parts of a private step are of one batch; a hook reads for itself. */
    if (trainer->options.privacy.clipping_norm > 0 || trainer->hooks.next_train_inputs != NULL)
        return RGM_OK;
    return rgmi_shards_share(trainer->iterator, trainer, trainer->options.accumulation_steps);
}

rgm_status rgmi_iterator_open(rgm_trainer *trainer)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;

    /* Endless data make all passes with one iterator. */
    options.seed = rgmi_data_seed(trainer);
    options.secret = trainer->private.used;
    options.epoch = trainer->endless ? 0 : (uint64_t)trainer->passes;
    options.threads = (int)trainer->runtime.threads;
    options.maker = trainer->maker;
    return rgm_iterator_create(&trainer->iterator, trainer->data[RGM_TRAIN], &options);
}

rgm_status rgmi_eval_iterator_open(rgm_iterator **out, const rgm_trainer *trainer,
                                   rgm_dataset *data)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;

    options.seed = (uint64_t)trainer->runtime.seed;
    options.threads = (int)trainer->runtime.threads;
    return rgm_iterator_create(out, data, &options);
}

rgm_status rgmi_next_train_inputs(rgm_element **out, rgm_trainer *trainer)
{
    double begin = rgmi_profile_now(trainer);
    rgm_status status;

    *out = NULL;
    if (trainer->at_end) /* until the next loop begins */
        return RGM_END;
    if (trainer->iterator == NULL) {
        RGM_TRY(rgmi_iterator_open(trainer));
        RGM_TRY(rgmi_train_share(trainer));
    }
    status = trainer->hooks.next_train_inputs != NULL
                 ? trainer->hooks.next_train_inputs(out, trainer->iterator, trainer->hooks.payload)
                 : rgm_iterator_next(out, trainer->iterator);
    if (status == RGM_OK)
        rgmi_profile_part(trainer, "data", begin);
    if (status != RGM_END)
        return status;
    if (rgm_iterator_position(trainer->iterator) == 0)
        return RGM_FAIL(RGM_ERR_DATA, "the training data are empty");
    trainer->pass_batches = rgm_iterator_position(trainer->iterator);
    rgm_iterator_release(trainer->iterator);
    trainer->iterator = NULL;
    trainer->passes++;
    trainer->at_end = true;
    return RGM_END;
}
