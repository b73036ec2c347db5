/*
 * Saves a trainer's state to a checkpoint and restores it: weights, optimizer slots, counters, loss
 * scale, data position and the metric sums of the current loop.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trainer_internal.h"

/* ---- what is kept -------------------------------------------------------------------------- */

enum { ROLLED_BACK = 2, COUNTERS = 4, SCALE = 2 };

/* Saving reads these places, restoring writes them; a rollback writes only the first. */
static void counters(rgm_key_place places[COUNTERS], const rgm_trainer *trainer)
{
    rgm_trainer *t = (rgm_trainer *)trainer;

    places[0] = (rgm_key_place){RGM_KEY_UPDATES, &t->updates};
    places[1] = (rgm_key_place){RGM_KEY_LOOP_STEP, &t->loop_step};
    places[2] = (rgm_key_place){RGM_KEY_PASSES, &t->passes};
    places[3] = (rgm_key_place){RGM_KEY_AT_END, &t->at_end};
}

static void dynamic_scale(rgm_key_place places[SCALE], const rgm_trainer *trainer)
{
    rgmi_loss_scale *scale = &((rgm_trainer *)trainer)->loss_scale;

    places[0] = (rgm_key_place){RGM_KEY_LOSS_SCALE, &scale->scale};
    places[1] = (rgm_key_place){RGM_KEY_LOSS_SCALE_GOOD_STEPS, &scale->good_steps};
}

/* ---- save ---------------------------------------------------------------------------------- */

static rgm_status set_blob(rgm_checkpoint *checkpoint, rgm_run_key key, const void *data,
                           int64_t size)
{
    rgm_str bytes = {data, size};

    return rgm_checkpoint_set_keys(checkpoint, &(rgm_key_place){key, &bytes}, 1);
}

/* The secret is never saved: what was drawn with it must not be drawn again. */
static rgm_status add_privacy(rgm_checkpoint *checkpoint, const rgm_trainer *trainer)
{
    const rgmi_private *p = &trainer->private;
    int64_t steps = p->steps, seed = trainer->options.privacy.noise_seed;
    const rgm_key_place places[] = {{RGM_KEY_PRIVACY_STEPS, &steps}, {RGM_KEY_PRIVACY_SEED, &seed}};

    if (!p->used)
        return RGM_OK;
    RGM_TRY(rgm_checkpoint_set_keys(checkpoint, places, 2));
    return set_blob(checkpoint, RGM_KEY_PRIVACY, p->accountant.rdp, sizeof p->accountant.rdp);
}

static rgm_status add_values(rgm_checkpoint *checkpoint, const rgm_trainer *trainer)
{
    rgm_key_place places[COUNTERS];
    int64_t seed = trainer->runtime.seed;

    RGM_TRY(rgm_checkpoint_set_keys(checkpoint, &(rgm_key_place){RGM_KEY_SEED, &seed}, 1));
    counters(places, trainer);
    RGM_TRY(rgm_checkpoint_set_keys(checkpoint, places, COUNTERS));
    RGM_TRY(add_privacy(checkpoint, trainer));
    dynamic_scale(places, trainer);
    return rgm_checkpoint_set_keys(checkpoint, places, trainer->loss_scale.dynamic ? SCALE : 0);
}

rgm_status rgm_checkpoint_add_slots(rgm_checkpoint *checkpoint, const rgm_optimizer *optimizer)
{
    RGM_TRY(rgm_optimizer_to_host(optimizer));
    for (int64_t i = 0; i < rgm_optimizer_slot_count(optimizer); i++) {
        rgm_named_tensor slot = rgm_optimizer_slot(optimizer, i);

        if (slot.tensor == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "slot '%s' is another process's: the first one saves",
                            slot.name);
        RGM_TRY(rgm_checkpoint_add_slot(checkpoint, slot.name, slot.tensor));
    }
    return RGM_OK;
}

enum { POSITION_NAME = 48 };

/* "data"; for a shard other than the first "data_1". */
static void name_position(char name[POSITION_NAME], const rgm_trainer *trainer)
{
    const char *key = rgm_run_keys[RGM_KEY_DATA].name;

    if (trainer->shard == 0)
        snprintf(name, POSITION_NAME, "%s", key);
    else
        snprintf(name, POSITION_NAME, "%s_%lld", key, (long long)trainer->shard);
}

/* Save an iterator's position; nothing between passes. */
static rgm_status set_position(rgm_checkpoint *checkpoint, const char *name,
                               const rgm_iterator *iterator)
{
    rgm_status status = RGM_OK;
    rgm_text position = {0};

    if (iterator != NULL)
        RGM_GO(rgm_iterator_save(&position, iterator));
    RGM_GO(rgm_checkpoint_set_blob(checkpoint, name, position.data, position.size));
done:
    rgm_text_clear(&position);
    return status;
}

/* Validation's own data are saved under the key's name, each of its sets under the set's. */
static rgm_status set_valid_positions(rgm_checkpoint *checkpoint, const rgm_trainer *trainer)
{
    if (!trainer->options.validation_continues)
        return RGM_OK;
    RGM_TRY(set_position(checkpoint, rgm_run_keys[RGM_KEY_VALID].name, trainer->valid_iterator));
    for (int64_t i = 0; i < trainer->set_count; i++)
        if (trainer->set_list[i].mode == RGM_VALID)
            RGM_TRY(set_position(checkpoint, trainer->sets[i].name, trainer->sets[i].iterator));
    return RGM_OK;
}

rgm_status rgm_trainer_save_position(rgm_checkpoint *checkpoint, const rgm_trainer *trainer)
{
    char name[POSITION_NAME];

    name_position(name, trainer);
    return set_position(checkpoint, name, trainer->iterator);
}

rgm_status rgm_trainer_save_state(rgm_checkpoint *checkpoint, const rgm_trainer *trainer)
{
    rgm_text sums = {0};
    rgm_status status;

    RGM_TRY(rgmi_slots_collect(trainer));
    if (checkpoint == NULL)
        return RGM_OK;
    RGM_TRY(rgm_checkpoint_add_parameters(checkpoint, trainer->parameters));
    if (trainer->optimizer != NULL)
        RGM_TRY(rgm_checkpoint_add_slots(checkpoint, trainer->optimizer));
    rgmi_slots_drop(trainer); /* the checkpoint has them */
    RGM_TRY(add_values(checkpoint, trainer));
    RGM_TRY(rgm_trainer_save_position(checkpoint, trainer));
    RGM_TRY(set_valid_positions(checkpoint, trainer));
    status = rgmi_sums_save(&sums, &trainer->train_sums);
    if (status == RGM_OK)
        status = set_blob(checkpoint, RGM_KEY_SUMS, sums.data, sums.size);
    rgm_text_clear(&sums);
    if (status == RGM_OK && trainer->hooks.save_state != NULL)
        status = trainer->hooks.save_state(checkpoint, trainer->hooks.payload);
    return status;
}

/* ---- restore ------------------------------------------------------------------------------- */

static rgm_status get(void *value, rgm_run_key key, const rgm_checkpoint *checkpoint)
{
    return rgm_checkpoint_get_keys(checkpoint, &(rgm_key_place){key, value}, 1);
}

/* Read and check; a forged count of steps would overflow in the first step. */
static rgm_status get_counters(const rgm_key_place *places, int64_t count,
                               const rgm_checkpoint *checkpoint)
{
    RGM_TRY(rgm_checkpoint_get_keys(checkpoint, places, count));
    return rgm_key_places_check_counts(places, count);
}

static rgm_status check_seed(const rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    int64_t seed;

    RGM_TRY(get(&seed, RGM_KEY_SEED, checkpoint));
    if (seed != trainer->runtime.seed)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the run was begun with seed %lld and cannot go on with seed %lld; use "
                        "another run folder",
                        (long long)seed, (long long)trainer->runtime.seed);
    return RGM_OK;
}

static rgm_status read_loss_scale(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    rgmi_loss_scale *scale = &trainer->loss_scale;
    rgm_key_place places[SCALE];

    if (!scale->dynamic)
        return RGM_OK;
    dynamic_scale(places, trainer);
    RGM_TRY(get_counters(places, SCALE, checkpoint));
    rgm_tensor_release(scale->tensor);
    rgm_tensor_release(scale->inverse);
    scale->tensor = scale->inverse = NULL;
    return RGM_OK;
}

/* Between loops nothing will read the sums: those of other metrics or reports may be there. */
static rgm_status read_sums(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    rgm_str sums;
    rgm_status status;

    RGM_TRY(get(&sums, RGM_KEY_SUMS, checkpoint));
    status = rgmi_sums_restore(&trainer->train_sums, sums);
    if (status != RGM_ERR_DATA || trainer->loop_step >= 0)
        return status;
    rgm_error_reset(); /* the sums are empty */
    return RGM_OK;
}

/* One secret step does not make up for one whose noise is known. */
static rgm_status read_private_steps(int64_t *steps, const rgm_trainer *trainer,
                                     const rgm_checkpoint *checkpoint)
{
    int64_t seed, own = trainer->options.privacy.noise_seed;
    const rgm_key_place places[] = {{RGM_KEY_PRIVACY_STEPS, steps}, {RGM_KEY_PRIVACY_SEED, &seed}};
    rgm_status status = get_counters(places, 2, checkpoint);

    if (status == RGM_ERR_NOT_FOUND)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the run was begun by a version whose private noise followed from "
                        "runtime.seed, which its files have; use another run folder");
    if (status == RGM_OK && seed != own)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the run was begun with trainer.privacy.noise_seed %lld and cannot go on "
                        "with %lld; use another run folder",
                        (long long)seed, (long long)own);
    return status;
}

/* Neither spending nor drawing is undone: going back takes nothing of either back. */
static rgm_status read_privacy(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    double *rdp = trainer->private.accountant.rdp, saved;
    int64_t steps;
    rgm_str spent;

    if (!trainer->private.used)
        return RGM_OK;
    RGM_TRY(get(&spent, RGM_KEY_PRIVACY, checkpoint));
    if (spent.size != (int64_t)sizeof trainer->private.accountant.rdp)
        return RGM_FAIL(RGM_ERR_VERSION, "the checkpoint's privacy account has another length");
    for (int64_t i = 0; i < RGM_PRIVACY_ORDERS; i++) {
        memcpy(&saved, spent.data + i * (int64_t)sizeof saved, sizeof saved);
        if (!(saved >= 0))
            return RGM_FAIL(RGM_ERR_FORMAT, "the checkpoint's privacy account is damaged");
        rdp[i] = fmax(rdp[i], saved);
    }
    RGM_TRY(read_private_steps(&steps, trainer, checkpoint));
    if (steps > trainer->private.steps)
        trainer->private.steps = steps;
    return rgmi_private_resume(trainer);
}

/* Who is only asked has no optimizer, but must not take weights for their averages. */
static rgm_status restore_slots(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    const rgm_safetensors *slots = rgm_checkpoint_slots(checkpoint);

    if (trainer->optimizer != NULL)
        return rgm_optimizer_restore(trainer->optimizer, slots);
    if (trainer->only_asked && trainer->optimizer_options.type != NULL && slots != NULL &&
        rgm_safetensors_has_prefix(slots, RGM_AVERAGE_PREFIX))
        return RGM_FAIL(RGM_ERR_DATA,
                        "checkpoint %lld has averages of the weights, which optimizer.average "
                        "would have to name",
                        (long long)rgm_checkpoint_step(checkpoint));
    return RGM_OK;
}

static rgm_status roll_back(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    rgm_key_place places[COUNTERS];

    RGM_TRY(check_seed(trainer, checkpoint));
    RGM_TRY(rgm_checkpoint_restore_parameters(checkpoint, trainer->parameters));
    RGM_TRY(restore_slots(trainer, checkpoint));
    counters(places, trainer);
    RGM_TRY(get_counters(places, ROLLED_BACK, checkpoint));
    RGM_TRY(read_loss_scale(trainer, checkpoint));
    RGM_TRY(read_sums(trainer, checkpoint));
    trainer->step = rgm_checkpoint_step(checkpoint);
    return RGM_OK;
}

rgm_status rgm_trainer_roll_back(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    RGM_TRY(roll_back(trainer, checkpoint));
    return trainer->hooks.roll_back_state != NULL
               ? trainer->hooks.roll_back_state(checkpoint, trainer->hooks.payload)
               : RGM_OK;
}

rgm_status rgm_trainer_warm_start(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    rgm_key_place places[COUNTERS];

    if (trainer->step > 0 || trainer->loop_step >= 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "a warm start comes before the first step, not behind step %lld",
                        (long long)trainer->step);
    if (trainer->private.used)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "private training cannot begin with another run's weights: what that spent "
                        "would be missing from its account");
    RGM_TRY(rgm_checkpoint_restore_parameters(checkpoint, trainer->parameters));
    RGM_TRY(restore_slots(trainer, checkpoint));
    counters(places, trainer);
    RGM_TRY(get_counters(places, 1, checkpoint)); /* updates, the first place */
    return read_loss_scale(trainer, checkpoint);
}

void rgm_trainer_accept_other_data(rgm_trainer *trainer)
{
    trainer->accepts_other_data = true;
}

static rgm_status restore_position(rgm_iterator *iterator, const rgm_trainer *trainer,
                                   const void *position, int64_t size)
{
    rgm_status status = rgm_iterator_restore(iterator, position, size);

    if (status != RGM_ERR_DATA || !trainer->accepts_other_data)
        return status;
    rgm_log_write(RGM_LOG_WARNING, "the data begin a new pass: %s", rgm_error_message());
    rgm_error_reset();
    return rgm_iterator_begin_after(iterator, position, size);
}

/* A run that did not continue its validations until now begins with the first batch; so does a new
 * set. */
static rgm_status read_valid_position(rgm_iterator **iterator, const rgm_trainer *trainer,
                                      rgm_dataset *data, const char *name,
                                      const rgm_checkpoint *checkpoint)
{
    const void *position;
    int64_t size;
    rgm_status status;

    rgm_iterator_release(*iterator);
    *iterator = NULL;
    if (!trainer->options.validation_continues || data == NULL)
        return RGM_OK;
    status = rgm_checkpoint_blob(&position, &size, checkpoint, name);
    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        return RGM_OK;
    }
    RGM_TRY(status);
    if (size == 0)
        return RGM_OK;
    RGM_TRY(rgmi_eval_iterator_open(iterator, trainer, data));
    return restore_position(*iterator, trainer, position, size);
}

static rgm_status read_valid_positions(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    RGM_TRY(read_valid_position(&trainer->valid_iterator, trainer, trainer->data[RGM_VALID],
                                rgm_run_keys[RGM_KEY_VALID].name, checkpoint));
    for (int64_t i = 0; i < trainer->set_count; i++) {
        rgmi_eval_set *set = &trainer->sets[i];

        if (trainer->set_list[i].mode == RGM_VALID)
            RGM_TRY(read_valid_position(&set->iterator, trainer, set->data, set->name, checkpoint));
    }
    return RGM_OK;
}

static rgm_status restore(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    rgm_key_place places[COUNTERS];
    char name[POSITION_NAME];
    const void *position;
    int64_t size;

    RGM_TRY(roll_back(trainer, checkpoint));
    counters(places, trainer);
    RGM_TRY(get_counters(places + ROLLED_BACK, COUNTERS - ROLLED_BACK, checkpoint));
    RGM_TRY(read_privacy(trainer, checkpoint));
    RGM_TRY(read_valid_positions(trainer, checkpoint));
    name_position(name, trainer);
    RGM_TRY(rgm_checkpoint_blob(&position, &size, checkpoint, name));
    rgm_iterator_release(trainer->iterator);
    trainer->iterator = NULL;
    if (size == 0 || trainer->data[RGM_TRAIN] == NULL || trainer->only_asked)
        return RGM_OK; /* between passes, or only evaluating */
    RGM_TRY(rgmi_iterator_open(trainer));
    RGM_TRY(restore_position(trainer->iterator, trainer, position, size));
    return rgmi_train_share(trainer);
}

rgm_status rgm_trainer_restore_state(rgm_trainer *trainer, const rgm_checkpoint *checkpoint)
{
    RGM_TRY(restore(trainer, checkpoint));
    return trainer->hooks.restore_state != NULL
               ? trainer->hooks.restore_state(checkpoint, trainer->hooks.payload)
               : RGM_OK;
}

rgm_status rgm_trainer_check_weights(const rgm_trainer *trainer, const char *what)
{
    const rgm_parameters *parameters = trainer->parameters;

    RGM_TRY(rgm_parameters_to_host(parameters));
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        const rgm_tensor *w = rgm_parameters_read(parameters, i);
        rgm_dtype dtype = rgm_tensor_dtype(w);

        rgm_flat_args elements = {rgm_tensor_data(w), rgm_tensor_count(w)};

        if ((dtype == RGM_F32 || dtype == RGM_F64) &&
            !rgm_kernels_for(rgm_device_cpu(), dtype)->all_finite(&elements))
            return RGM_FAIL(RGM_ERR_NUMERIC,
                            "weight '%s' has a NaN or infinity at step %lld: it is not %s",
                            rgm_parameters_name(parameters, i), (long long)trainer->step, what);
    }
    return RGM_OK;
}

void rgm_trainer_reset_averages(rgm_trainer *trainer)
{
    if (trainer->optimizer != NULL)
        rgm_optimizer_averages_reset(trainer->optimizer, trainer->parameters);
}

rgm_status rgm_trainer_place_averages(rgm_trainer *trainer)
{
    if (trainer->optimizer == NULL || !rgm_optimizer_has_averages(trainer->optimizer) ||
        trainer->updates == 0)
        return RGM_OK;
    RGM_TRY(rgm_optimizer_averages_swap(trainer->optimizer, trainer->parameters));
    rgm_trainer_reset_averages(
        trainer); /* weights and averages are now equal, so exchanging them back changes nothing */
    return rgm_optimizer_averages_swap(trainer->optimizer, trainer->parameters);
}

rgm_status rgm_trainer_with_averages(rgm_trainer *trainer, rgm_status (*work)(void *payload),
                                     void *payload)
{
    rgm_status status, swapped;
    rgm_error error;

    if (trainer->optimizer == NULL || !rgm_optimizer_has_averages(trainer->optimizer))
        return work(payload);
    RGM_TRY(rgm_optimizer_averages_swap(trainer->optimizer, trainer->parameters));
    status = work(payload);
    if (status != RGM_OK)
        rgm_error_save(&error, status);
    swapped = rgm_optimizer_averages_swap(trainer->optimizer, trainer->parameters);
    return status != RGM_OK ? rgm_error_restore(&error) : swapped;
}
