/*
 * What a searcher asks for becomes trials, and lengths of their sequencers. What a trial has done
 * of itself before it was asked is told to the searcher at once.
 */
#include "master_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a new trial ---------------------------------------------------------------------------- */

static rgm_status to_batches(int64_t *out, const rgmi_experiment *e, int64_t number,
                             rgm_length length)
{
    rgm_batches batches = {0};

    *out = 0;
    if (length.units == 0)
        return RGM_OK;
    RGM_TRY(rgm_search_file_batches(&batches, e->file,
                                    rgm_searcher_trial(e->searcher, number)->values, length));
    *out = batches.batches;
    return RGM_OK;
}

static rgm_status make_sequencer(rgmi_trial *trial, const rgmi_experiment *e)
{
    const rgm_search_settings *o = rgm_search_file_settings(e->file);
    rgm_sequencer_options options = {.batches_per_step = o->batches_per_step,
                                     .initial_validation = o->perform_initial_validation,
                                     .policy = o->checkpoint_policy};

    RGM_TRY(to_batches(&options.validation_period, e, trial->number, o->min_validation_period));
    RGM_TRY(to_batches(&options.checkpoint_period, e, trial->number, o->min_checkpoint_period));
    return rgm_sequencer_create(&trial->sequencer, &options);
}

static void print_uuid(char out[37], const uint8_t bytes[16])
{
    for (int i = 0, at = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[at++] = '-';
        at += snprintf(out + at, (size_t)(37 - at), "%02x", bytes[i]);
    }
}

/* With the newest checkpoint of another trial of the search, or that of the experiment's source. */
static rgm_status insert_trial(rgm_master *master, const rgmi_experiment *e,
                               const rgm_operation *operation, const char *hyperparameters)
{
    char request_id[37];

    print_uuid(request_id, operation->request_id);
    RGM_TRY(rgmi_database_run(
        master->database,
        "INSERT INTO trials(experiment_id, number, state, hyperparameters, request_id, seed,"
        " start_time) VALUES(?, ?, " RGMI_SQL(ACTIVE) ", ?, ?, ?, ?)",
        "iittid", e->id, operation->trial, hyperparameters, request_id, (int64_t)operation->seed,
        rgm_wall_time()));
    int64_t id = rgmi_database_last_id(master->database);
    if (operation->from > 0)
        return rgmi_database_run(
            master->database,
            "UPDATE trials SET source_checkpoint_id = (SELECT c.id FROM checkpoints c JOIN trials t"
            " ON t.id = c.trial_id WHERE t.experiment_id = ? AND t.number = ? AND c.state ="
            " " RGMI_SQL(COMPLETED) " ORDER BY c.step_id DESC LIMIT 1) WHERE id = ?",
            "iii", e->id, operation->from, id);
    return rgmi_database_run(
        master->database,
        "UPDATE trials SET (source_checkpoint_id, source_checkpoint) = (SELECT"
        " source_checkpoint_id, source_checkpoint FROM experiments WHERE id = ?) WHERE id = ?",
        "ii", e->id, id);
}

static rgm_status create(rgm_master *master, rgmi_experiment *e, const rgm_operation *operation)
{
    rgm_status status = RGM_OK;
    rgm_text values = {0};
    rgmi_trial *trial;

    RGM_GO(rgm_space_print_json(&values, rgm_search_file_space(e->file), operation->values));
    RGM_GO(insert_trial(master, e, operation, values.data));
    int64_t id = rgmi_database_last_id(master->database);
    RGM_GO(rgmi_trial_enter(&trial, e, operation->trial));
    trial->id = id;
    RGM_GO(make_sequencer(trial, e));
    trial->dirty = trial->sequencer_dirty = true;
done:
    rgm_text_clear(&values);
    return status;
}

/* ---- lengths -------------------------------------------------------------------------------- */

static rgm_status note(rgmi_trial *trial, rgm_operation_kind kind, int64_t batches, int64_t length)
{
    RGM_TRY(RGM_RESERVE(trial->asked, trial->asked_capacity, trial->asked_count + 1));
    trial->asked[trial->asked_count++] =
        (rgmi_asked_length){.kind = kind, .batches = batches, .length = length};
    trial->dirty = trial->sequencer_dirty = true;
    return RGM_OK;
}

/* To be told to the searcher when all that it asked for was put down. */
static rgm_status tell_later(rgmi_told **out, rgmi_experiment *e, rgm_search_event_kind kind,
                             int64_t trial, int64_t length)
{
    RGM_TRY(RGM_RESERVE(e->told, e->told_capacity, e->told_count + 1));
    *out = &e->told[e->told_count++];
    (*out)->event = (rgm_search_event){.kind = kind, .trial = trial, .length = length};
    return RGM_OK;
}

/* What a validation that was made of itself came to. */
static rgm_status tell_validation(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                                  int64_t batches, int64_t length)
{
    rgmi_told *told;
    bool is_there;

    RGM_TRY(tell_later(&told, e, RGM_VALIDATED, trial->number, length));
    RGM_TRY(rgmi_validation_read(told->metrics, &is_there, master, e, trial, batches));
    return is_there ? RGM_OK
                    : RGM_FAIL(RGM_ERR_DATA, "trial %lld has no validation at %lld batches",
                               (long long)trial->id, (long long)batches);
}

static rgm_status ask(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                      const rgm_operation *operation)
{
    const rgm_length length = {operation->length, rgm_searcher_max_length(e->searcher).unit};
    bool done = false;
    int64_t batches;

    RGM_TRY(to_batches(&batches, e, trial->number, length));
    if (operation->kind == RGM_ASK_TRAIN) {
        if (batches <= rgm_sequencer_target(trial->sequencer))
            return RGM_OK; /* two lengths that are the same number of batches */
        RGM_TRY(rgm_sequencer_train(trial->sequencer, batches));
    } else if (operation->kind == RGM_ASK_VALIDATE) {
        RGM_TRY(rgm_sequencer_validate(&done, trial->sequencer, batches));
    } else {
        RGM_TRY(rgm_sequencer_checkpoint(&done, trial->sequencer, batches));
    }
    trial->dirty = trial->sequencer_dirty = true;
    if (!done)
        return note(trial, operation->kind, batches, operation->length);
    if (operation->kind == RGM_ASK_VALIDATE)
        return tell_validation(master, e, trial, batches, operation->length);
    return tell_later(&(rgmi_told *){NULL}, e, RGM_CHECKPOINTED, trial->number, operation->length);
}

rgm_status rgmi_operations_apply(rgm_master *master, rgmi_experiment *e)
{
    rgm_operation operation;
    rgmi_trial *trial;

    while (e->searcher != NULL && rgm_searcher_next(&operation, e->searcher)) {
        if (operation.kind == RGM_ASK_SHUTDOWN) {
            if (rgmi_state_follows(e->state, RGM_WORK_STOPPING_COMPLETED))
                RGM_TRY(rgmi_experiment_set_state(master, e, RGM_WORK_STOPPING_COMPLETED, NULL));
            continue;
        }
        if (operation.kind == RGM_ASK_CREATE) {
            RGM_TRY(create(master, e, &operation));
            continue;
        }
        RGM_TRY(rgmi_trial_get(&trial, master, e, operation.trial));
        if (trial->state != RGM_WORK_ACTIVE || trial->ending)
            continue;
        if (operation.kind == RGM_ASK_CLOSE)
            trial->closing = trial->dirty = true;
        else
            RGM_TRY(ask(master, e, trial, &operation));
    }
    return RGM_OK;
}
