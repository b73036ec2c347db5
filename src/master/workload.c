/*
 * Workloads: what a trial's process does next, and what it tells to be done. A report is put down
 * in one change with all that follows from it.
 */
#include "master_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what is next --------------------------------------------------------------------------- */

void rgmi_next_workload(rgmi_order *order, rgm_master *master, rgmi_experiment *e,
                        rgmi_trial *trial, rgmi_process *process)
{
    rgm_workload *out = &order->workload;
    bool goes_on = trial->state == RGM_WORK_ACTIVE && e->state == RGM_WORK_ACTIVE &&
                   !master->stops && !process->stops && !rgmi_is_left(master, e->id);

    *order = (rgmi_order){.reach = rgm_sequencer_reach(trial->sequencer)};
    if (goes_on && rgm_sequencer_next(out, trial->sequencer))
        return;
    order->ends = true;
    if (trial->state == RGM_WORK_ACTIVE && rgm_sequencer_preclose(out, trial->sequencer))
        return;
    *out = (rgm_workload){.kind = RGM_TERMINATE,
                          .step = rgm_sequencer_steps(trial->sequencer),
                          .batches = rgm_sequencer_batches(trial->sequencer)};
    process->terminated = true;
}

/* ---- what is done --------------------------------------------------------------------------- */

/* Numbers by name as JSON, NaN and infinities as texts. */
static rgm_status print_numbers(rgm_text *out, const rgm_json *object)
{
    rgm_json_entry entry = {0};
    bool first = true;
    double number;
    int64_t integer;

    RGM_TRY(rgm_text_add(out, "{", 1));
    while (object != NULL && rgm_json_next(&entry, object)) {
        if (!first)
            RGM_TRY(rgm_text_add(out, ", ", 2));
        first = false;
        RGM_TRY(rgm_json_print_text(out, entry.key));
        RGM_TRY(rgm_text_add(out, ": ", 2));
        if (rgm_json_int(&integer, entry.value))
            RGM_TRY(rgm_text_printf(out, "%lld", (long long)integer));
        else if (rgm_json_number(&number, entry.value))
            RGM_TRY(rgm_json_print_number(out, number));
        else
            return RGM_FAIL(RGM_ERR_ARG, "'%s' is no number", entry.key);
    }
    return rgm_text_add(out, "}", 1);
}

/* Take what the searcher waits for; false: nothing of the kind. */
static bool take_asked(int64_t *length, rgmi_trial *trial, rgm_operation_kind kind, int64_t batches)
{
    for (int64_t i = 0; i < trial->asked_count; i++)
        if (trial->asked[i].kind == kind && trial->asked[i].batches == batches) {
            *length = trial->asked[i].length;
            memmove(&trial->asked[i], &trial->asked[i + 1],
                    (size_t)(--trial->asked_count - i) * sizeof *trial->asked);
            return true;
        }
    return false;
}

static rgm_status tell_if(bool asked, rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                          rgm_operation_kind kind, int64_t batches, const double *metrics)
{
    static const rgm_search_event_kind event[] = {[RGM_ASK_TRAIN] = RGM_TRAINED,
                                                  [RGM_ASK_VALIDATE] = RGM_VALIDATED,
                                                  [RGM_ASK_CHECKPOINT] = RGM_CHECKPOINTED};
    int64_t length;

    if (!asked)
        return RGM_OK;
    trial->sequencer_dirty = true; /* it has been told, and says so */
    if (e->state >= RGM_WORK_STOPPING_COMPLETED || !take_asked(&length, trial, kind, batches))
        return RGM_OK; /* if the search ever goes on, it is told then */
    return rgmi_experiment_tell(
        master, e,
        &(rgm_search_event){
            .kind = event[kind], .trial = trial->number, .length = length, .metrics = metrics});
}

static rgm_status take_step(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                            const rgmi_report *r, const char *metrics)
{
    bool asked;

    if (rgm_search_file_settings(e->file)->command.count > 0)
        RGM_TRY(rgm_sequencer_trained(&asked, trial->sequencer, r->workload.batches));
    else
        RGM_TRY(rgm_sequencer_completed(&asked, trial->sequencer, &r->workload, false));
    RGM_TRY(rgmi_database_run(
        master->database,
        "INSERT INTO steps(trial_id, id, state, batches, num_inputs, start_time, end_time, metrics)"
        " VALUES(?, ?, " RGMI_SQL(COMPLETED) ", ?, ?, ?, ?, ?)",
        "iiiiddt", trial->id, r->workload.step, r->workload.batches, r->num_inputs,
        rgm_wall_time() - r->seconds, rgm_wall_time(), metrics));
    trial->steps = r->workload.step;
    trial->batches = r->workload.batches;
    return tell_if(asked, master, e, trial, RGM_ASK_TRAIN, r->workload.batches, NULL);
}

static rgm_status take_validation(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                                  const rgmi_report *r, const char *metrics)
{
    double values[RGM_MAX_OBJECTIVES], metric;
    bool asked, is_best;

    RGM_TRY(rgmi_objectives_read(values, e, r->metrics));
    metric = rgmi_metric_of(e, values);
    is_best = rgmi_is_better(e, metric, e->best);
    RGM_TRY(rgm_sequencer_completed(&asked, trial->sequencer, &r->workload, is_best));
    RGM_TRY(rgmi_database_run(
        master->database,
        "INSERT INTO validations(trial_id, step_id, state, batches, num_inputs, start_time,"
        " end_time, metric, metrics) VALUES(?, ?, " RGMI_SQL(
            COMPLETED) ", ?, ?, ?, ?, ?, ?) ON CONFLICT(trial_id, step_id) DO UPDATE SET end_time ="
                       " excluded.end_time", /* once more, by the next process: the same */
        "iiiidddt", trial->id, r->workload.step, r->workload.batches, r->num_inputs,
        rgm_wall_time() - r->seconds, rgm_wall_time(), metric, metrics));
    trial->sequencer_dirty = true;
    trial->metric = metric;
    if (rgmi_is_better(e, metric, trial->best_metric))
        trial->best_metric = metric;
    if (is_best) {
        e->best = metric;
        RGM_TRY(rgmi_hooks_note(master, e->id, trial->id, RGMI_HOOK_BEST));
    }
    return tell_if(asked, master, e, trial, RGM_ASK_VALIDATE, r->workload.batches, values);
}

/* A version 4 UUID of the system's random source. */
static rgm_status make_uuid(char out[37])
{
    char hex[33];

    RGM_TRY(rgm_random_hex(hex));
    hex[12] = '4';
    hex[16] = "89ab"[(hex[16] <= '9' ? hex[16] - '0' : hex[16] - 'a' + 10) & 3];
    snprintf(out, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
    return RGM_OK;
}

static rgm_status take_checkpoint(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                                  const rgmi_report *r)
{
    rgm_status status = RGM_OK;
    rgm_text resources = {0};
    char uuid[37];
    bool asked;

    if (!rgmi_is_inner_path(r->checkpoint))
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "'%s' is no folder of a checkpoint, below its trial's",
                        r->checkpoint != NULL ? r->checkpoint : ""));
    RGM_GO(rgm_sequencer_completed(&asked, trial->sequencer, &r->workload, false));
    RGM_GO(print_numbers(&resources, r->resources));
    RGM_GO(make_uuid(uuid));
    RGM_GO(rgmi_database_run(
        master->database,
        "INSERT INTO checkpoints(trial_id, step_id, uuid, state, batches, folder, start_time,"
        " end_time, resources) VALUES(?, ?, ?, " RGMI_SQL(
            COMPLETED) ", ?, ?, ?, ?, ?) ON CONFLICT(trial_id, step_id) DO UPDATE SET state ="
                       " excluded.state, end_time = excluded.end_time, resources ="
                       " excluded.resources",
        "iititddt", trial->id, r->workload.step, uuid, r->workload.batches, r->checkpoint,
        rgm_wall_time() - r->seconds, rgm_wall_time(), resources.data));
    trial->sequencer_dirty = true;
    RGM_GO(tell_if(asked, master, e, trial, RGM_ASK_CHECKPOINT, r->workload.batches, NULL));
done:
    rgm_text_clear(&resources);
    return status;
}

rgm_status rgmi_report_take(rgm_master *master, rgmi_experiment *e, rgmi_trial *trial,
                            const rgmi_report *r)
{
    rgm_status status = RGM_OK;
    rgm_text metrics = {0};

    if (trial->last_kind == (int64_t)r->workload.kind && trial->last_step == r->workload.step)
        return RGM_OK; /* told already: its answer was lost */
    if (trial->state != RGM_WORK_ACTIVE)
        return RGM_OK; /* over meanwhile: the next workload tells it to end */
    RGM_GO(print_numbers(&metrics, r->metrics));
    if (r->workload.kind == RGM_RUN_STEP)
        RGM_GO(take_step(master, e, trial, r, metrics.data));
    else if (r->workload.kind == RGM_COMPUTE_VALIDATION_METRICS)
        RGM_GO(take_validation(master, e, trial, r, metrics.data));
    else if (r->workload.kind == RGM_CHECKPOINT_MODEL)
        RGM_GO(take_checkpoint(master, e, trial, r));
    else
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "nothing to be done of kind %d", (int)r->workload.kind));
    trial->last_kind = (int64_t)r->workload.kind;
    trial->last_step = r->workload.step;
    trial->dirty = true;
    if (r->workload.kind != RGM_RUN_STEP)
        e->has_garbage = true;
    if (r->workload.kind == RGM_CHECKPOINT_MODEL) /* what could not be written before can be now */
        rgmi_delay_forget(master, e->id, 0);
done:
    rgm_text_clear(&metrics);
    return status;
}
