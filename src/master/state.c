/*
 * States of experiments and which follows which: PEDL's, and STOPPING_KILLED.
 */
#include "master_internal.h"

#include <string.h>

const char *const rgmi_state_names[] = {"ACTIVE",
                                        "PAUSED",
                                        "STOPPING_COMPLETED",
                                        "STOPPING_CANCELED",
                                        "STOPPING_KILLED",
                                        "STOPPING_ERROR",
                                        "COMPLETED",
                                        "CANCELED",
                                        "ERROR",
                                        NULL};

enum {
    ACTIVE = 1 << RGMI_ACTIVE,
    PAUSED = 1 << RGMI_PAUSED,
    STOPPING = 1 << RGMI_STOPPING_COMPLETED | 1 << RGMI_STOPPING_CANCELED |
               1 << RGMI_STOPPING_KILLED | 1 << RGMI_STOPPING_ERROR
};

static const int following[RGMI_STATE_COUNT] = {
    [RGMI_ACTIVE] = PAUSED | STOPPING,
    [RGMI_PAUSED] = ACTIVE | STOPPING,
    [RGMI_STOPPING_COMPLETED] = 1 << RGMI_COMPLETED | 1 << RGMI_STOPPING_ERROR,
    [RGMI_STOPPING_CANCELED] =
        1 << RGMI_CANCELED | 1 << RGMI_STOPPING_ERROR | 1 << RGMI_STOPPING_KILLED,
    [RGMI_STOPPING_KILLED] = 1 << RGMI_CANCELED | 1 << RGMI_STOPPING_ERROR,
    [RGMI_STOPPING_ERROR] = 1 << RGMI_ERROR | 1 << RGMI_STOPPING_KILLED,
};

bool rgmi_state_follows(rgmi_state from, rgmi_state to)
{
    return (following[from] >> to & 1) != 0;
}

rgm_status rgmi_state_read(rgmi_state *out, const char *name)
{
    for (int i = 0; i < RGMI_STATE_COUNT && name != NULL; i++)
        if (strcmp(rgmi_state_names[i], name) == 0) {
            *out = (rgmi_state)i;
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_DATA, "the database has a state '%s'", name != NULL ? name : "");
}

/* Trials without a process have nothing to wait for. */
static rgm_status cancel_idle_trials(rgm_master *master, const rgmi_experiment *e)
{
    for (int64_t i = 0; i < e->trial_count; i++)
        if (e->trials[i]->state == RGMI_ACTIVE &&
            rgmi_process_of(master, e->trials[i]->id) == NULL) {
            e->trials[i]->state = RGMI_CANCELED;
            e->trials[i]->dirty = true;
        }
    return rgmi_database_run(master->database,
                             "UPDATE trials SET state = 'CANCELED', end_time = ?, wants = 0 WHERE"
                             " experiment_id = ? AND state = 'ACTIVE' AND run_token IS NULL",
                             "di", rgm_wall_time(), e->id);
}

rgm_status rgmi_experiment_set_state(rgm_master *master, rgmi_experiment *e, rgmi_state state,
                                     const char *message)
{
    if (!rgmi_state_follows(e->state, state))
        return RGM_FAIL(RGM_ERR_BUSY, "experiment %lld is %s: it cannot become %s",
                        (long long)e->id, rgmi_state_names[e->state], rgmi_state_names[state]);
    e->state = state;
    RGM_TRY(rgmi_database_run(master->database,
                              "UPDATE experiments SET state = ?, message = coalesce(?, message)"
                              " WHERE id = ?",
                              "tti", rgmi_state_names[state], message, e->id));
    return state >= RGMI_STOPPING_COMPLETED ? cancel_idle_trials(master, e) : RGM_OK;
}
