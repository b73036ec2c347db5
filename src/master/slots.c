/*
 * Slots of this machine: those that get no trial any more, and pools. Which are drained is in the
 * database; which are of a pool is in the master's file.
 */
#include "requests.h"

#include <stdio.h>

rgm_status rgmi_slots_load(rgm_master *master)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(&rows, master->database, "SELECT slot FROM drained_slots", ""));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK)
        if (rgmi_rows_int(rows, 0) < master->options.slots)
            master->slot_drained[rgmi_rows_int(rows, 0)] = true;
    return status == RGM_END ? RGM_OK : status;
}

int64_t rgmi_slots_of_pool(const rgm_master *master, int64_t pool)
{
    int64_t count = 0;

    for (int64_t i = 0; i < master->options.slots; i++)
        count += master->machines->pool_of[i] == pool && !master->slot_drained[i];
    return count;
}

int64_t rgmi_slots_held(const rgm_master *master, const rgmi_process *p, int64_t pool)
{
    int64_t count = 0;

    if (p->on_devices)
        return pool == RGMI_DEVICES ? p->slot_count : 0;
    for (int64_t i = 0; i < p->slot_count; i++)
        count +=
            master->machines->pool_of[p->slots[i]] == pool && !master->slot_drained[p->slots[i]];
    return count;
}

/* ---- requests ------------------------------------------------------------------------------- */

static const rgmi_process *holder_of(const rgm_master *m, int64_t slot)
{
    for (int64_t i = 0; i < m->process_count; i++)
        for (int64_t k = 0; k < m->processes[i].slot_count && !m->processes[i].on_devices; k++)
            if (m->processes[i].slots[k] == slot && !m->processes[i].ended)
                return &m->processes[i];
    return NULL;
}

static rgm_status print_slot(rgm_text *out, const rgm_master *m, int64_t slot)
{
    const rgmi_process *p = holder_of(m, slot);
    const char *state = !m->slot_drained[slot] ? (p != NULL ? "taken" : "free")
                        : p != NULL            ? "draining"
                                               : "drained";

    RGM_TRY(rgm_text_printf(out, "%s{\"slot\": %lld, \"state\": \"%s\", \"pool\": ",
                            slot > 0 ? ", " : "", (long long)slot, state));
    RGM_TRY(rgm_json_print_text(out, m->machines->pools[m->machines->pool_of[slot]].name));
    if (p == NULL)
        return rgm_text_printf(out, ", \"trial_id\": null, \"experiment_id\": null}");
    return rgm_text_printf(out, ", \"trial_id\": %lld, \"experiment_id\": %lld}",
                           (long long)p->trial, (long long)p->experiment);
}

rgm_status rgmi_answer_slots(rgmi_call *call)
{
    RGM_TRY(rgm_text_printf(call->out, "{\"slots\": ["));
    for (int64_t i = 0; i < call->master->options.slots; i++)
        RGM_TRY(print_slot(call->out, call->master, i));
    return rgm_text_printf(call->out, "]}");
}

/* The body's list of slots, or all of a pool. *chosen: rgm_free() it. */
static rgm_status read_slots(bool **chosen, rgmi_call *call)
{
    const rgm_master *m = call->master;
    const rgm_json *list = rgm_json_find(call->body, "slots");
    const char *pool = NULL;
    int64_t slot, place;

    RGM_TRY(rgmi_call_text(&pool, call, "pool"));
    if ((list == NULL) == (pool == NULL))
        return RGM_FAIL(RGM_ERR_ARG, "'slots' is a list of numbers of slots, or 'pool' names them");
    place = pool != NULL ? rgmi_machines_pool(m->machines, pool) : 0;
    if (place < 0) {
        call->status = 404;
        return rgmi_machines_no_pool(m->machines, pool);
    }
    RGM_TRY(RGM_NEW(*chosen, m->options.slots));
    for (int64_t i = 0; pool != NULL && i < m->options.slots; i++)
        (*chosen)[i] = m->machines->pool_of[i] == place;
    for (int64_t i = 0; i < rgm_json_count(list); i++) {
        if (!rgm_json_int(&slot, rgm_json_at(list, i)) || slot < 0 || slot >= m->options.slots)
            return RGM_FAIL(RGM_ERR_ARG, "'slots' has what is no slot: there are 0 to %lld",
                            (long long)m->options.slots - 1);
        (*chosen)[slot] = true;
    }
    return RGM_OK;
}

static rgm_status put_down(rgm_master *m, const bool *chosen, bool drained)
{
    for (int64_t i = 0; i < m->options.slots; i++) {
        if (!chosen[i])
            continue;
        RGM_TRY(drained ? rgmi_database_run(m->database,
                                            "INSERT OR IGNORE INTO drained_slots VALUES(?, ?)",
                                            "id", i, rgm_wall_time())
                        : rgmi_database_run(m->database, "DELETE FROM drained_slots WHERE slot = ?",
                                            "i", i));
    }
    return RGM_OK;
}

/* Trials on them save and end now; they go on where there is room. */
static void stop_on(rgm_master *m, const bool *chosen)
{
    for (int64_t i = 0; i < m->process_count; i++)
        for (int64_t k = 0; k < m->processes[i].slot_count && !m->processes[i].on_devices; k++)
            if (chosen[m->processes[i].slots[k]])
                m->processes[i].stops = true;
}

static rgm_status set_drained(rgmi_call *call, bool drained)
{
    rgm_master *m = call->master;
    bool *chosen = NULL, stops = false;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_call_bool(&stops, call, "stop"));
    RGM_GO(read_slots(&chosen, call));
    RGM_GO(rgmi_change_begin(m));
    RGM_GO(rgmi_change_end(m, put_down(m, chosen, drained)));
    for (int64_t i = 0; i < m->options.slots; i++)
        m->slot_drained[i] = chosen[i] ? drained : m->slot_drained[i];
    if (drained && stops)
        stop_on(m, chosen);
    rgmi_master_wake(m);
    RGM_GO(rgmi_answer_slots(call));
done:
    rgm_free(chosen);
    return status;
}

rgm_status rgmi_answer_drain(rgmi_call *call)
{
    static const char *const known[] = {"slots", "pool", "stop", NULL};

    RGM_TRY(rgmi_call_keys(call, known));
    return set_drained(call, true);
}

rgm_status rgmi_answer_enable(rgmi_call *call)
{
    static const char *const known[] = {"slots", "pool", NULL};

    RGM_TRY(rgmi_call_keys(call, known));
    return set_drained(call, false);
}
